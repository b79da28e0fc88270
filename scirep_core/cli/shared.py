"""What commands share: how their words are declared, and one bar on standard error for whatever they are at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.terminal import bar

Show = Callable[[str, int, int, str], None]


def argument(says: str, **more: Any) -> Any:
    """Return typer's argument with its line of help."""
    return typer.Argument(help=says, **more)


def option(says: str, *names: str, **more: Any) -> Any:
    """Return typer's option with its line of help; `names` where they are not the parameter's own."""
    return typer.Option(*names, help=says, **more)


def one_of(name: str, value: str | None, valid: Iterable[str]) -> None:
    """Refuse a value of an option that is none of the valid ones, with the nearest; None is no value."""
    if value is not None and value not in valid:
        raise ConfigError(f"--{name} {value!r}: {nearest(value, valid)}")


def words_of(text: str) -> tuple[str, ...]:
    """Return what stands between commas, without blanks."""
    return tuple(word for word in map(str.strip, text.split(",")) if word)


@contextmanager
def showing() -> Iterator[Show]:
    """Show one bar: what is being done, how much of it is, of how much, and in which unit."""
    shown = bar(total=0, leave=False, dynamic_ncols=True)

    def show(what: str, done: int, total: int, unit: str) -> None:
        if shown.disable:
            return
        if done < shown.n or (total, f" {unit}") != (shown.total, shown.unit):  # another thing: its rate begins anew
            shown.unit = f" {unit}"
            shown.reset(total)
        shown.n = done
        shown.set_description(what)

    try:
        yield show
    finally:
        shown.close()


def of_scoring(show: Show) -> Callable[[str, int, int], None]:
    """Return what scoring calls: with `texts` as they are encoded, else with the task it is at."""

    def progress(what: str, done: int, total: int) -> None:
        encoding = what == "texts"
        show("encoding" if encoding else what, done, total, "texts" if encoding else "tasks")

    return progress
