"""A chapter's numbers, found: the cells of an exhibit by line and column, and which way an interval points.

What papers a number is of and whose run it is are two things. The first decides the column, for a number of invented papers
is no answer to a question about real ones; the second is said where the number is pointed at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scirep_core.results import PRINT, Result
from scirep_core.results.published import Printed, lookup
from scirep_core.results.statistics import holm

Number = Result | Printed
Cells = Mapping[tuple[Any, Any], Number]
Of = str | Callable[[Any], Any]
"""What is read of a number: a field by name, or a function of it; a number of which it is None has no place."""
PRINTED, REAL, OWN, INVENTED = "printed", "real papers", "your papers", "invented papers"
COUNTED, MEASURED = "counted", "measured"
"""Of no papers at all: what follows from a model's shape, and what a machine took."""
_PAPERS = {"real": REAL, "open": REAL, "abstracts": REAL, "checkpoint": REAL,
           "embedded": INVENTED, "drawn": INVENTED}  # fmt: skip
"""Source of a row -> its papers: `drawn` are random tokens. Others are folders."""
RECORDED = ", recorded"


def read(number: Number, of: Of) -> Any:
    """Return a field of a number, or what a function makes of it."""
    return getattr(number, of) if isinstance(of, str) else of(number)


def cells(numbers: Iterable[Number], line: Of, column: Of, **where: Any) -> dict[tuple[Any, Any], Any]:
    """Return numbers by (line, column), the last one of a cell; `where`: what fields must be, a value or a collection of them."""
    found = {}
    for number in numbers:
        if all(_fits(getattr(number, name), wanted) for name, wanted in where.items()):
            key = (read(number, line), read(number, column))
            if None not in key:
                found[key] = number
    return found


def _fits(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, set | tuple | list | dict) else bool(value == wanted)


def papers_of(row: Result) -> str:
    """Return what papers a row is of: REAL, INVENTED, or OWN, a folder of the reader's."""
    return papers_are(row.source)


def papers_are(data: str) -> str:
    """Return what papers a chapter's parameter `data` names, for a code cell that prints a number of them."""
    return _PAPERS.get(data, OWN)


def way(row: Result | None, bound: float = 0.0) -> int:
    """Return 1 where the whole 95 % interval lies above a bound, -1 below, 0 where it holds the bound or there is none."""
    if row is None or row.low is None or row.high is None:
        return 0
    return int(row.low > bound) - int(row.high < bound)


def ways(rows: Sequence[Result]) -> list[int]:
    """Return 1 or -1 for each difference that is significant after Holm's correction over all of them, else 0.

    p of a row is that of a normal distribution with its value and 95 % interval: 1,000 bootstrap draws give no p below 0.002, too
    coarse for a correction over many tests.
    """
    spreads = [(row.high - row.low) / (2 * 1.959964) if way(row) else 0.0 for row in rows]  # type: ignore[operator]
    both = zip(rows, spreads, strict=True)
    p = [math.erfc(abs(row.value) / spread / math.sqrt(2)) if spread else 1.0 for row, spread in both]
    return [way(row) if one < 0.05 else 0 for row, one in zip(rows, holm(p), strict=True)]


@dataclass(frozen=True)
class Exhibit:
    """The cells of an exhibit: `printed`, and `ours` by what papers they are of. Columns without numbers are not there.

    Where this run and the recorded one are of the same data they are one column, in which this run's numbers win; else the
    recorded numbers stand beside them, and no column mixes two data.
    """

    printed: Cells = field(default_factory=dict)
    ours: Mapping[str, Cells] = field(default_factory=dict)

    @classmethod
    def of(
        cls, rows: Iterable[Result], recorded_rows: Iterable[Result], exhibits: Iterable[str], line: Of, column: Of,
        printed: tuple[Of, Of], **where: Any,
    ) -> Exhibit:  # fmt: skip
        """Return the exhibit of this run's rows, recorded rows and printed exhibits by id; `printed` places printed numbers."""
        quoted = cells((number for name in exhibits for number in lookup(name).values() if number.value), *printed)
        ours: dict[str, Cells] = {}
        both = [[row for row in each if row.source != PRINT] for each in (rows, recorded_rows)]
        for papers in (REAL, OWN, INVENTED):
            live, old = ([row for row in each if papers_of(row) == papers] for each in both)
            data = {row.task: row.data_hash for row in live}
            alike = [row for row in old if data.get(row.task) == row.data_hash]
            if len(alike) == len([row for row in old if row.task in data]) and (alike or not live):
                live, old = [*old, *live], []
            for name, found in ((papers, live), (papers + RECORDED, old)):
                if placed := cells(found, line, column, **where):
                    ours[name] = placed
        return cls(quoted, ours)

    @property
    def real(self) -> Cells:
        """Our numbers of real papers, this run's or recorded ones; {} where there are none."""
        return next((cells for name, cells in self.ours.items() if name.startswith(REAL)), {})

    @property
    def open(self) -> dict[str, Cells]:
        """The columns a page shows openly: what is printed, and ours of papers that exist."""
        shown = {name: cells for name, cells in self.ours.items() if not name.startswith(INVENTED)}
        return ({PRINTED: self.printed} if self.printed else {}) | shown

    @property
    def folded(self) -> dict[str, Cells]:
        """The columns a page folds: ours of invented papers."""
        return {name: cells for name, cells in self.ours.items() if name.startswith(INVENTED)}

    def axis(self, which: int) -> list[Any]:
        """Return the lines (0) or columns (1) that have numbers, in the order in which they first appear."""
        return list(dict.fromkeys(key[which] for found in (self.printed, *self.ours.values()) for key in found))
