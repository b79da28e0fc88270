"""What the three chapters on the 32 neighbours measure alike: rows of every encoder, paired differences, exact bounds.

    difference   of two rows of one collection, seed and evaluator: their bootstrap values draw the same papers, so the
                 difference has an interval of its own
    all of n     where every one of n papers is found (or none), resampling says nothing; the bound is then the exact one,
                 0.025^(1/n), below which so clean a result has a chance of less than 2.5 %

A row's split is a code, a category, or `A - B`; its encoder a name, or `A - B`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np

from scirep_core.data.perturbations import CATEGORIES
from scirep_core.encoders import Encoder
from scirep_core.exhibits import neighbours_shared as shared
from scirep_core.exhibits.neighbours_shared import Subject
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, provenance
from scirep_core.results.differences import difference_of, versus

EXACT = "all alike: exact bound"
THIRDS = ("T_ADelQ1", "T_ADelQ2", "T_ADelQ3")
SPACE, AS_WRITTEN = "T_A_WS", ", literal"
"""White space, and what follows a code in a split where it is the public code's own reading."""
SHARES = ("nn1_ret", "nn10_ret", "aop@")
"""Metrics that are percentages of papers, or means of such."""


def measure(
    chapter: Chapter, found: Sequence[Subject], of: Callable[[Subject, Encoder], Iterable[Result]], across: Sequence[str]
) -> list[Result]:  # fmt: skip
    """Record the rows of every encoder on every collection, and the differences of encoders by category.

    Args:
        of: rows of one encoder; they need not name it.
        across: metrics compared between encoders.
    """
    rows: list[Result] = []
    for subject in found:
        by_encoder = {}
        for encoder in shared.encoders(chapter, subject):
            own = [edged(row, len(subject.chosen)) for row in of(subject, encoder)]
            by_encoder[encoder.name] = shared.signed(own, encoder)
        rows += [row for own in by_encoder.values() for row in own]
        for first, second in permutations(by_encoder, 2):
            theirs = {(r.metric, r.split): r for r in by_encoder[second]}
            for row in by_encoder[first]:
                if row.metric in across and row.split in CATEGORIES and (row.metric, row.split) in theirs:
                    named = versus(first, second)
                    rows += difference(row, theirs[row.metric, row.split], second, encoder=named)
    return [replace(row, replicates=None) for row in chapter.record(rows)]


def difference(
    first: Result, second: Result, against: str, metric: str = "", split: str = "", encoder: str = ""
) -> list[Result]:
    """Return first minus second as a row with the interval of the paired draws; none where a side has no draws.

    `against` is what the second is called.

    Both must be of one collection, one seed and the same altered papers: `measure` sees to that.
    """
    if first.replicates is None or second.replicates is None or len(first.replicates) != len(second.replicates):
        return []
    drawn = first.replicates.astype(np.float64) - second.replicates.astype(np.float64)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return [
        Result(
            first.task, split or first.split, difference_of(metric or first.metric), first.protocol, first.value - second.value,
            min(first.n, second.n), encoder=encoder, against=against, low=float(low), high=float(high), source=first.source,
            data_hash=first.data_hash, similarity=first.similarity, pool=first.pool, coverage=first.coverage, seed=first.seed,
            provenance=provenance(), note="paired: both sides draw the same papers",
        )
    ]  # fmt: skip


def differences(rows: Sequence[Result], metric: str, pairs: Iterable[tuple[str, str]]) -> list[Result]:
    """Return the differences between codes or categories of one encoder that are there, with split `A - B`."""
    by_split = {row.split: row for row in rows if row.metric == metric}
    return [
        row
        for a, b in pairs
        if a in by_split and b in by_split
        for row in difference(by_split[a], by_split[b], b, split=versus(a, b))
    ]


def edged(row: Result, papers: int) -> Result:
    """Return a share of 0 or 100 % with the exact bound instead of an interval without width."""
    alike = row.metric.startswith(SHARES) and row.value in (0.0, 100.0) and row.low == row.high
    if not alike:
        return row
    slack = 100 * (1 - 0.025 ** (1 / max(1, min(row.n, papers))))
    low, high = (100.0 - slack, 100.0) if row.value else (0.0, slack)
    return replace(row, low=low, high=high, note="; ".join(part for part in (row.note, EXACT) if part))


def settled(row: Result | None, bound: float = 0.0) -> int:
    """Return 1 where a row's interval lies above a bound, -1 below, 0 where it holds it or is not known."""
    if row is None or row.low is None or row.high is None:
        return 0
    return 1 if row.low > bound else -1 if row.high < bound else 0


def listed(items: Sequence[str], nothing: str = "none") -> str:
    """Return `a, b and c`."""
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items) or nothing
