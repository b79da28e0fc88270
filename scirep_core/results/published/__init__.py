"""The papers' tables as data: `<paper>/<exhibit>.csv`, one number a line, and the inventory of all exhibits.

Values are quoted as printed, misprints included (said in `note`), so a value is a string here and `number` turns it into a
float where it is one. `what` says what a number is, in a word of `WHATS`. A score has its place in our names: task, metric,
split, and its system as printed. Where a table does not say which of a task's numbers it shows, or its average is of other
units than ours, these names say so, and nothing of ours meets it.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.records import read_csv

FOLDER = Path(__file__).resolve().parent
WHATS = {
    "score": "scores of systems on tasks",
    "bound": "ranges and lines that are no system’s in tables of scores",
    "count": "sizes and counts of collections",
    "agreement": "agreement of annotators",
    "text": "lists, texts, settings and costs",
    "difference": "differences, ratios and correlations of scores",
    "statement": "bounds and statements in running text",
}
"""What a printed number is -> all such numbers, in words."""


UNITS = {"x": 1.0, "k": 1e3, "M": 1e6}
"""What stands behind a printed number: times, thousands, millions."""


class Printed(NamedTuple):
    """One number of a paper, as printed, and whose score on what it is."""

    paper: str
    exhibit: str
    row: str
    column: str
    value: str
    std: str
    note: str
    what: str = ""
    task: str = ""
    metric: str = ""
    split: str = ""
    system: str = ""

    @property
    def id(self) -> str:
        """Stable name of the number, the form `scirep explain` takes."""
        return f"published:{self.paper}:{self.exhibit}:{self.row}:{self.column}"

    @property
    def unit(self) -> float:
        """What the printed digits count: 1, or that of `UNITS`."""
        return UNITS.get(self.value[-1:], 1.0)

    @property
    def number(self) -> float:
        """The value as a float. Raises ValueError for a printed range."""
        return float(self.value.rstrip("".join(UNITS))) * self.unit

    @property
    def decimals(self) -> int:
        """Decimals printed."""
        return len(self.value.rstrip("".join(UNITS)).partition(".")[2])

    def equals(self, value: float) -> bool:
        """Return whether a value, rounded as the paper rounds, is the printed one.

        >>> Printed("", "", "", "", "22M", "", "").equals(22_146_624), Printed("", "", "", "", "1.42x", "", "").equals(1.43)
        (True, False)
        """
        return f"{value / self.unit:.{self.decimals}f}" == f"{self.number / self.unit:.{self.decimals}f}"

    def cuts(self, value: float) -> bool:
        """Return whether a value is the printed one only if its digits are cut instead of rounded.

        >>> [Printed("", "", "", "", "0.45", "", "").cuts(value) for value in (0.4549, 0.4553, 0.4603)]
        [False, True, False]
        """
        scale = 10.0**self.decimals
        return not self.equals(value) and int(value * scale + 1e-9) == round(self.number * scale)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest count that a rounded statement such as `58.3k` can stand for."""
        digits, thousands = self.value.replace(",", "").removesuffix("k"), self.value.endswith("k")
        half = 500.0 / 10 ** len(digits.partition(".")[2]) if thousands else 0.0
        middle = float(digits) * (1000 if thousands else 1)
        return middle - half, middle + half


@functools.cache
def table(exhibit: str) -> tuple[Printed, ...]:
    """Return the printed numbers of one exhibit, e.g. `CS-T3`. Raises ConfigError naming the nearest exhibit."""
    paths = {path.stem: path for path in FOLDER.glob("*/*.csv")}
    if exhibit not in paths:
        raise ConfigError(f"no published numbers for exhibit {exhibit!r}; {nearest(exhibit, paths)}")
    return tuple(Printed(**row) for _, row in read_csv(paths[exhibit], Printed._fields))


def lookup(exhibit: str) -> dict[tuple[str, str], Printed]:
    """Return the printed numbers of an exhibit by (row, column)."""
    return {(printed.row, printed.column): printed for printed in table(exhibit)}


def everything() -> list[Printed]:
    """Return every printed number at hand."""
    return [printed for path in sorted(FOLDER.glob("*/*.csv")) for printed in table(path.stem)]
