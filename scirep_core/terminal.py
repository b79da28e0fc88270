"""What commands share at the terminal: a line to standard error, now or every ten seconds; JSON and tables to standard output."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from scirep_core.errors import legible

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def say(line: str) -> None:
    """Print progress, a warning or an error to standard error, each line of it escaped and cut: values are of strangers."""
    shown = "\n".join(legible(part) for part in line.split("\n"))
    sys.stderr.write(f"{shown}\n")  # one call: chapters report from several threads
    sys.stderr.flush()


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


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table: first column left, the others right."""
    from rich.console import Console
    from rich.table import Table

    drawn = Table(title=title, title_justify="left", box=None, header_style="bold")
    for i, column in enumerate(columns):
        drawn.add_column(column, justify="left" if i == 0 else "right", no_wrap=i == 0)
    for row in rows:
        drawn.add_row(*row)
    # a pipe has no width of its own: give the table room instead of cutting cells
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(drawn)
