"""A paper's statements held against systems of ours: a line each, decided where an interval leaves out the bound.

    Claim("TN-C7:two", "SPECTER", "only these two are found below {{ bound|n }} %", below("nn1_ret", two, but=others))

    below(metric, splits, but)      every one lies below the printed bound, and those of `but` above it
    above(metric, splits, but)      the other way round
    ordered(metric, pairs)          of each pair the first lies above the second, by their paired difference
    level(metric, splits, within)   every one lies within so much of the bound; of pairs, the two sides of each other
    helps(metric, splits, but)      a difference is above 0 for every one, and not for those of `but`

    chapter.claims(caption, exhibit, claims)   the table; `decide` gives the same verdicts before the table is shown

An exhibit of claims has rows by (metric, split) as lines and systems as columns; a pair of splits stands for their difference,
whose bound is 0. A statement holds where all of it is decided so, does not hold where one part is decided against it, and is
open else. What was not measured decides nothing; where nothing of it was measured, a statement has no verdict.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from scirep_core.page import report
from scirep_core.page.blocks import Labels, badge, fold, kind_of
from scirep_core.page.rows import PRINTED, Cells, Exhibit, way
from scirep_core.page.say import listed, sentences
from scirep_core.results import Result
from scirep_core.results.differences import difference_of, versus
from scirep_core.results.published import Printed, lookup

if TYPE_CHECKING:
    from scirep_core.page.chapter import Chapter

Split = str | tuple[str, str]
Rows = Mapping[tuple[str, str], Result]
DETAIL = """{% if rows|length == 1 %}{{ rows[0]|n(1, sign=rows[0].against != "") }}{% else %}{{ so|length }} of {{ rows|length }}
{%- if so and against %}; not {{ named(against) }}{% endif %}
{%- if undecided|length not in (0, rows|length) %}; open: {{ named(undecided) }}{% endif %}{% endif %}"""


class Verdict(NamedTuple):
    """What became of a statement: 1 holds, -1 does not hold, 0 open; of each of its parts the same, and the row."""

    way: int
    parts: Mapping[Split, tuple[int, Result | None]]


Test = Callable[[Rows, float], Verdict | None]


class Claim(NamedTuple):
    """What a paper `says` (a template over `bound`) and `of` whom, and the test of it.

    `exhibit` is the id of what prints its bound in a row that `of` names, with a word of the bound's column after a colon where
    there are several; "" where no bound is printed.
    """

    exhibit: str
    of: str
    says: str
    test: Test

    @property
    def bound(self) -> Printed | None:
        """The printed bound; None where none is printed. Raises IndexError where the exhibit has no such number."""
        name, _, word = self.exhibit.partition(":")
        return (
            [p for (row, column), p in lookup(name).items() if row in self.of and word in column][0] if name else None
        )


# ---- tests -----------------------------------------------------------------------------------------------------------


def _all(metric: str, expected: Mapping[Split, Callable[[Result, float], int]]) -> Test:
    def test(rows: Rows, bound: float) -> Verdict | None:
        parts: dict[Split, tuple[int, Result | None]] = {}
        for split, side in expected.items():
            pair = isinstance(split, tuple)
            row = rows.get((difference_of(metric), versus(*split)) if isinstance(split, tuple) else (metric, split))
            parts[split] = side(row, 0.0 if pair else bound) if row else 0, row
        measured = any(row for _, row in parts.values())
        return Verdict(min(side for side, _ in parts.values()), parts) if measured else None

    return test


def above(metric: str, splits: Iterable[Split], but: Iterable[Split] = ()) -> Test:
    """Test whether splits lie above the bound, and those of `but` below it."""
    return _all(metric, dict.fromkeys(splits, way) | dict.fromkeys(but, lambda row, bound: -way(row, bound)))


def below(metric: str, splits: Iterable[Split], but: Iterable[Split] = ()) -> Test:
    """Test whether splits lie below the bound, and those of `but` above it."""
    return above(metric, but, splits)


def ordered(metric: str, pairs: Iterable[tuple[str, str]]) -> Test:
    """Test whether the first of each pair lies above the second."""
    return above(metric, pairs)


def level(metric: str, splits: Iterable[Split], within: float = 0.0) -> Test:
    """Test whether splits lie within so much of the bound; that nothing lies between two sides (0) can be refuted alone."""

    def near(row: Result, bound: float) -> int:
        high, low = way(row, bound + within), way(row, bound - within)
        return -1 if high == 1 or low == -1 else int((high, low) == (-1, 1))

    return _all(metric, dict.fromkeys(splits, near))


def helps(metric: str, splits: Iterable[str], but: Iterable[str] = ()) -> Test:
    """Test whether a difference is above 0 for splits, and for those of `but` is not."""

    def idle(row: Result, bound: float) -> int:
        return 0 if row.low is None else 1 - 2 * (way(row, bound) == 1)

    return _all(difference_of(metric), dict.fromkeys(splits, way) | dict.fromkeys(but, idle))


# ---- showing ---------------------------------------------------------------------------------------------------------


def decide(stated: Sequence[Claim], cells: Cells) -> dict[tuple[Claim, Any], Verdict]:
    """Return the verdicts by claim and system, of rows by ((metric, split), system)."""
    systems: dict[Any, dict[tuple[str, str], Any]] = {}
    for (key, system), row in cells.items():
        systems.setdefault(system, {})[key] = row
    bounds = [(claim, claim.bound.number if claim.bound else 0.0) for claim in stated]
    found = {(claim, name): claim.test(rows, bound) for claim, bound in bounds for name, rows in systems.items()}
    return {key: verdict for key, verdict in found.items() if verdict}


def claims(
    chapter: Chapter, caption: str, exhibit: Exhibit, stated: Sequence[Claim], labels: Labels | None = None
) -> dict[tuple[Claim, Any], Verdict]:  # fmt: skip
    """Show statements as lines and our systems as columns, invented papers folded; return the verdicts of real papers.

    `labels` has words for systems and splits (HTML), as `caption` is.
    """
    words = labels or {}
    for papers, cells in exhibit.ours.items():
        verdicts = decide(stated, cells)
        systems = list(dict.fromkeys(system for _, system in verdicts))
        body = [
            [f'<div class="text">{said}</div>', html.escape(claim.of),
             *(_cell(chapter, verdicts.get((claim, system)), words) for system in systems)]
            for claim in stated
            for said in sentences(chapter.number, [claim.says], {"bound": claim.bound})
        ]  # fmt: skip
        heads = [f'<span class="text">{head}</span>' for head in ("of", *(_word(system, words) for system in systems))]
        classes = [["", "text published", *[f"text {kind_of(papers)}"] * len(systems)]] * len(body)
        shown = report.table(["The paper says", *heads], body, f"{caption} ({papers})", classes)
        if systems:
            chapter.show(fold(f"The same of {papers}", shown) if papers in exhibit.folded else shown)
    return decide(stated, exhibit.real)


def _word(key: Split, words: Labels) -> Markup:
    if isinstance(key, tuple) and key not in words:
        return Markup(" over ").join(_word(one, words) for one in key)
    return Markup(words.get(key, html.escape(str(key))))


def _cell(chapter: Chapter, verdict: Verdict | None, words: Labels) -> str:
    if verdict is None:
        return ""
    so, against, undecided = ([split for split, (side, _) in verdict.parts.items() if side == at] for at in (1, -1, 0))
    detail = sentences(chapter.number, [DETAIL], {
        "rows": [row for _, row in verdict.parts.values()], "so": so, "against": against, "undecided": undecided,
        "named": lambda splits: listed(_word(s, words) for s in splits) if len(splits) < 3 else len(splits),
    })  # fmt: skip
    return f"{badge(verdict.way)} {detail[0]}"
