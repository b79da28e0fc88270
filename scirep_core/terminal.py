"""What commands share at the terminal: a line to standard error, JSON and tables to standard output."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def say(line: str) -> None:
    """Print one line of progress or warning to standard error."""
    sys.stderr.write(f"{line}\n")  # one call: chapters report from several threads
    sys.stderr.flush()


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
