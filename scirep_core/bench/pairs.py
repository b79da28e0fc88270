"""Systems held against each other on many tasks: the score a task is looked at by, and the difference of every two systems.

    d = score(first) - score(second), 95 % interval and two-sided p from bootstrap values that both share

References come first in the rows, so what is newer is compared to what is older. Draws that never vary (one block drawn again
and again) give the difference alone, without interval and without p.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from scirep_core.bench.suites import main_metric
from scirep_core.kit.records import grouped
from scirep_core.results import Result, provenance
from scirep_core.results.comparison import paired_bootstrap
from scirep_core.results.differences import difference_of, versus

P = "p of the "
Place = tuple[str, str, str, str]
"""(task, split, metric, protocol): what scores of two systems must share to be compared."""


def main_rows(rows: Sequence[Result]) -> list[Result]:
    """Return the scores in the main metric of each task, on its test split, or its first where it has none."""
    results: list[Result] = []
    for task, found in grouped((row for row in rows if not row.against), lambda row: row.task).items():
        metric, splits = main_metric(task) or found[0].metric, [row.split for row in found]
        results += [r for r in found if (r.metric, r.split) == (metric, "test" if "test" in splits else splits[0])]
    return results


def by_place(rows: Sequence[Result]) -> dict[Place, dict[str, Result]]:
    """Return main scores by what they must share to be compared, then by system."""
    found = grouped(main_rows(rows), lambda row: (row.task, row.split, row.metric, row.protocol))
    return {place: {row.encoder: row for row in of} for place, of in found.items()}


def varies(row: Result) -> bool:
    """Return whether a row has an interval of some width."""
    return row.low is not None and row.high is not None and row.high > row.low


def plain(row: Result) -> Result:
    """Return a row without an interval of no width."""
    return row if varies(row) else replace(row, low=None, high=None)


def difference(first: Result, second: Result, metric: str = "", label: str = "", against: str = "") -> Iterator[Result]:
    """Yield the paired difference of two rows as a row; nothing where they cannot be paired (other units, no draws).

    Args:
        metric, label, against: what the row says of metric, system and other side, unless they are the rows'.
    """
    if set(first.by_query) != set(second.by_query) and first.metric == "average":
        return
    if first.replicates is None or second.replicates is None or len(first.replicates) != len(second.replicates):
        return
    gap = paired_bootstrap(first, second)
    yield replace(
        _row(first, second, difference_of(metric or first.metric), gap.value, f"paired bootstrap, two-sided p = {gap.p:.3g}"),
        low=gap.low, high=gap.high, encoder=label or versus(first.encoder, second.encoder), against=against or second.encoder,
    )  # fmt: skip


def differences(rows: Sequence[Result]) -> Iterator[Result]:
    """Yield difference and p of every two systems on every main score; none where a row has no bootstrap values."""
    for found in by_place(rows).values():
        systems = [row for name, row in found.items() if name != "oracle"]
        for second, first in combinations(systems, 2):
            if first.replicates is None or second.replicates is None:
                continue
            gap = paired_bootstrap(first, second)
            note = f"paired bootstrap, {len(first.replicates)} draws that both systems share"
            points = _row(first, second, difference_of(first.metric), gap.value, note)
            points = plain(replace(points, low=gap.low, high=gap.high))
            yield points
            if varies(points):
                yield _row(first, second, difference_of(first.metric, P), gap.p, note)


def _row(first: Result, second: Result, metric: str, value: float, note: str) -> Result:
    return Result(
        first.task, first.split, metric, first.protocol, value, first.n, versus(first.encoder, second.encoder), note=note,
        against=second.encoder, source=first.source, data_hash=first.data_hash, seed=first.seed, provenance=provenance(),
    )  # fmt: skip
