"""How far a command is: one bar on standard error for whatever it is at, and nothing where nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scirep_core.kit.terminal import bar

Show = Callable[[str, int, int, str], None]


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
