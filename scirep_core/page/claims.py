"""A paper's statements held against systems of ours: a line each, decided where an interval leaves out the bound.

    Claim("TN-C7:two", "SPECTER", "only these two are found below {{ bound|n }} %", below("nn1_ret", two, but=others))
    chapter.claims(caption, exhibit, claims)   the table; `decide` gives its verdicts before it is shown

The exhibit has rows by (metric, split) as lines and systems as columns; a pair of splits stands for their difference, whose
bound is 0. A statement holds where all its parts are decided so, does not hold where one is decided against it, and is open
else. What was not measured decides nothing; a statement of which nothing was measured has no verdict.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scirep_core.page import report
from scirep_core.page.blocks import Labels, fold, kind_of, label
from scirep_core.page.rows import Cells, Exhibit, way
from scirep_core.page.say import sentences
from scirep_core.results import Result
from scirep_core.results.differences import difference_of, versus
from scirep_core.results.published import Printed, lookup

if TYPE_CHECKING:
    from scirep_core.page.chapter import Chapter

Split = str | tuple[str, str]
Rows = Mapping[tuple[str, str], Result]
Side = Callable[[Result, float], int]


class Verdict(NamedTuple):
    """What became of a statement: 1 holds, -1 does not hold, 0 open; of each of its parts the same, and the row."""

    way: int
    parts: Mapping[Split, tuple[int, Result | None]]


Test = Callable[[Rows, float], Verdict | None]


class Claim(NamedTuple):
    """What a paper `says` (a template over `bound`), `of` whom, and what tests it.

    `exhibit` prints the bound in a row that `of` names: its id, after a colon a word of the column where there are several, ""
    where no bound is printed. `unit` is that of its rows, and `each` what its parts are, for the numbers below a verdict.
    """

    exhibit: str
    of: str
    says: str
    test: Test
    unit: str = ""
    each: str = "changes"

    @property
    def bound(self) -> Printed | None:
        """The printed bound. Raises StopIteration where the exhibit has no such number."""
        name, _, word = self.exhibit.partition(":")
        found = (p for (row, column), p in (lookup(name) if name else {}).items() if row in self.of and word in column)
        return next(found) if name else None


def _all(metric: str, expected: Mapping[Split, Side]) -> Test:
    def test(rows: Rows, bound: float) -> Verdict | None:
        parts: dict[Split, tuple[int, Result | None]] = {}
        for split, side in expected.items():
            row = rows.get((metric, split) if isinstance(split, str) else (difference_of(metric), versus(*split)))
            parts[split] = side(row, bound if isinstance(split, str) else 0.0) if row else 0, row
        return Verdict(min(at for at, _ in parts.values()), parts) if any(row for _, row in parts.values()) else None

    return test


def above(metric: str, splits: Iterable[Split], but: Iterable[Split] = ()) -> Test:
    """Test whether splits lie above the bound, and those of `but` below it; of a pair, the first above the second."""
    return _all(metric, dict.fromkeys(splits, way) | dict.fromkeys(but, lambda row, bound: -way(row, bound)))


def below(metric: str, splits: Iterable[Split], but: Iterable[Split] = ()) -> Test:
    """Test whether splits lie below the bound, and those of `but` above it."""
    return above(metric, but, splits)


def level(metric: str, splits: Iterable[Split], within: float = 0.0) -> Test:
    """Test whether splits lie within so much of the bound; that two sides are equal (within 0) can only be refuted."""

    def near(row: Result, bound: float) -> int:
        high, low = way(row, bound + within), way(row, bound - within)
        return -1 if high == 1 or low == -1 else int((high, low) == (-1, 1))

    return _all(metric, dict.fromkeys(splits, near))


def helps(metric: str, splits: Iterable[str], but: Iterable[str] = ()) -> Test:
    """Test whether a difference is above 0 for splits, and for those of `but` is not."""

    def more(row: Result, _: float) -> int:
        return way(row)

    def idle(row: Result, _: float) -> int:
        return 0 if row.low is None else 1 - 2 * (way(row) == 1)

    return _all(difference_of(metric), {**dict.fromkeys(splits, more), **dict.fromkeys(but, idle)})


def decide(stated: Sequence[Claim], cells: Cells) -> dict[tuple[Claim, Any], Verdict]:
    """Return the verdicts by claim and system, of rows by ((metric, split), system)."""
    systems: dict[Any, Any] = {name: {key: row for (key, s), row in cells.items() if s == name} for _, name in cells}
    bounds = [(claim, claim.bound.number if claim.bound else 0.0) for claim in stated]
    found = {(claim, name): claim.test(rows, bound) for claim, bound in bounds for name, rows in systems.items()}
    return {key: verdict for key, verdict in found.items() if verdict}


def claims(
    chapter: Chapter, caption: str, exhibit: Exhibit, stated: Sequence[Claim], labels: Labels | None = None, summary: str = "",
) -> dict[tuple[Claim, Any], Verdict]:  # fmt: skip
    """Show statements as lines and our systems as columns, invented papers folded, all with `summary`; return the real verdicts."""
    said = {claim: sentences(chapter.number, [claim.says], {"bound": claim.bound}) for claim in stated}
    statements = [(claim, text) for claim in stated for text in said[claim]]
    for papers, cells in exhibit.ours.items():
        found = decide(stated, cells)
        systems = list(dict.fromkeys(system for _, system in found))
        parts = [[_parts(chapter, c, found.get((c, s)), labels) for s in systems] for c, _ in statements]
        names = [label(labels, system) for system in systems]
        if len(systems) == 1:  # its verdicts can be read down
            columns = [list(one) for (one,) in parts]
            names = [f"{names[0]}: does it hold?", "holds or fails on", "lowest to highest"]
        else:
            columns = [[_joined(*one) for one in of] for of in parts]
        several = len({claim.of for claim in stated}) > 1  # else the caption says about whom
        names_ = [[f'<div class="text">{text}</div>', *[html.escape(claim.of)] * several] for claim, text in statements]
        body = [[*of, *verdicts] for of, verdicts in zip(names_, columns, strict=True)]
        kinds = [*["text brief published"] * several, *[f"text brief {kind_of(papers)}"] * len(names)]
        heads = ["The paper says", *["about"] * several, *names]
        shown = report.table(heads, body, f"{caption} ({papers})", [["", *kinds]] * len(body))
        head = f"{summary or 'The same statements'}, on {papers}" if papers in exhibit.folded else summary
        if systems and body:
            chapter.show(fold(head, shown) if head else shown)
    return decide(stated, exhibit.real)


_SAME = {1: "yes", 0: "open", -1: "no"}
"""Whether what a paper says of its systems holds for ours: no verdict about the paper, so not in a verdict's colours."""


def _parts(chapter: Chapter, claim: Claim, verdict: Verdict | None, labels: Labels | None) -> tuple[str, str, str]:
    """Return a verdict, and what decided it: the one number, or how many of how many, and these from the lowest to the highest."""
    if verdict is None:
        return "", "", ""
    first, *more = parts = [split for split, (side, _) in verdict.parts.items() if side == verdict.way]
    rows = sorted((row for split in parts if (row := verdict.parts[split][1])), key=lambda row: row.value)
    ends, places = rows[:: max(len(rows) - 1, 1)], 1 if any(abs(row.value) >= 2 for row in rows) else 2
    ends = ends[:1] if len({f"{row.value:.{places}f}" for row in ends}) == 1 else ends
    compared = not isinstance(first, str)
    unit = "points" if compared and claim.unit == "%" else claim.unit
    sizes = " to ".join(chapter.number(row, places, bool(row.against)) for row in ends)
    sizes = f"each {sizes}" if len(rows) > len(ends) == 1 else sizes
    which = f"{'fails on ' * (verdict.way < 0)}{len(parts)} of {len(verdict.parts)} {'comparisons' if compared else claim.each}"
    if verdict.way < 1 and not more and not compared:
        which = label(labels, first)
    scope = which + " undecided" * (verdict.way == 0) if len(verdict.parts) > 1 else ""
    sizes = f"{sizes} {unit}".strip() + "; intervals cross the bound" * (verdict.way == 0)
    return f"<strong>{_SAME[verdict.way]}</strong>", scope, sizes if rows else ""


def _joined(verdict: str, scope: str, sizes: str) -> str:
    """Return a verdict with what decided it below, in one cell."""
    return f"{verdict}<br>{': '.join(part for part in (scope, sizes) if part)}" if verdict else ""
