"""What commands share at the terminal: lines and bars to standard error, none with --quiet; JSON and tables to standard output."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from scirep_core.kit.errors import legible

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


_hushed = False


@contextmanager
def hushed() -> Iterator[None]:
    """Print no progress inside, in whatever thread: `scirep --quiet`."""
    global _hushed
    _hushed = True
    try:
        yield
    finally:
        _hushed = False


def is_hushed() -> bool:
    """Return whether progress is printed nowhere."""
    return _hushed


def say(line: str) -> None:
    """Print progress to standard error, each line of it escaped and cut: values are of strangers. Nothing with --quiet."""
    if not _hushed:
        warn(line)


def warn(line: str) -> None:
    """Print to standard error, with --quiet too: a warning, or why there is no result."""
    shown = "\n".join(legible(part) for part in line.split("\n"))
    sys.stderr.write(f"{shown}\n")  # one call: chapters report from several threads
    sys.stderr.flush()


def bar(over: Iterable[Any] | None = None, what: str | None = None, **more: Any) -> Any:
    """Return tqdm's bar on standard error; it shows itself only where somebody watches, and never with --quiet."""
    from tqdm import tqdm

    hidden = True if _hushed else more.pop("disable", None)
    return tqdm(over, what, file=sys.stderr, **(more | {"disable": hidden}))


@contextmanager
def repeatedly(tell: Callable[[], None], every: float = 10.0) -> Iterator[None]:
    """Call `tell` every so many seconds while something lasts."""
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(every):
            tell()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def print_json(value: Any) -> None:
    """Print JSON to standard output."""
    print(json.dumps(value, indent=1, allow_nan=False))


def table(title: str, columns: list[str], rows: list[list[str]], words: bool = False) -> None:
    """Print a table: first column left, the others right; of words all left."""
    from rich.console import Console
    from rich.table import Table

    drawn = Table(title=title, title_justify="left", box=None, header_style="bold")
    for i, column in enumerate(columns):
        drawn.add_column(column, justify="left" if words or i == 0 else "right", no_wrap=i == 0)
    for row in rows:
        drawn.add_row(*row)
    # a pipe has no width of its own: give the table room instead of cutting cells
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(drawn)
