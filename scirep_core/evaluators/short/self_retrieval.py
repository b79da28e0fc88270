"""A paper asked for by its title alone, and again with normalised vectors (section 5, Table 3; appendix D.1, Table 9).

    query     T(p), the vector of a title; at most 1,000 papers of a collection ask
    Task I    R = X, title + abstract of all papers: X(p) is sought
    Task II   R = X and the titles of all OTHER papers
    rank      1 + candidates strictly more similar by cosine
    MRR       mean of 1 / rank, from 0 to 1 as printed        T100   % of ranks up to 100

1 / MRR is the harmonic mean of the ranks, which a few first places decide; the median and the mean rank stand beside it.
T100 depends on how many candidates there are: with N of them chance alone gives 10,000 / N. So that a sample of a
collection can be held against print, ranks are also stretched to its printed size M: 1 + (rank - 1) (M - 1) / (N - 1), as if
papers that are not here were as near as those that are. Who is first stays first by that, which flatters MRR more than T100.

    L2               v / ||v||: a cosine divides by the lengths anyway, so that no rank can change
    standardisation  (v - mu) / sigma in each dimension (Timkey and van Schijndel 2021), then cosine; mu and sigma of X and T
                     together, of X alone, or of each kind by its own: the paper does not say which
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scirep_core.evaluators import neighbours
from scirep_core.evaluators.neighbourhoods import standardised
from scirep_core.evaluators.rows import Floats, draws, interval, sentence, unit
from scirep_core.evaluators.short import Texts
from scirep_core.results import Result

ONE, TWO = "task-I", "task-II"
MRR, T100, MEDIAN, MEAN, HARMONIC = "mrr, 0 to 1", "t100", "median_rank", "mean_rank", "1/mrr"
MEASURES: dict[str, Callable[[Floats], Floats]] = {
    MRR: lambda ranks: np.mean(1 / ranks, axis=-1),
    T100: lambda ranks: 100 * np.mean(ranks <= 100, axis=-1),
    MEDIAN: lambda ranks: np.median(ranks, axis=-1),
    MEAN: lambda ranks: np.mean(ranks, axis=-1),
    HARMONIC: lambda ranks: 1 / np.mean(1 / ranks, axis=-1),
}
"""Metric -> what it is of (..., queries) ranks."""
WITHIN = (1, 3, 10, 30, 100, 300, 1000, 3000)
SCALED = ", at the printed size"
AS_IS, L2, STRETCHED, SELF = "as they are", "L2", "stretched", "X asked with X"
STANDARDISED = ("standardised on X and T", "standardised on X", "each standardised by its own")
CHANGED, SPREAD = "ranks that L2 changes", "sd of 1/rank, share of the most it can be"
STRETCH_CHANGED = "ranks that random lengths change"


def ranks_of(texts: Texts) -> dict[str, tuple[Floats, Floats]]:
    """Return by task the (optimistic, pessimistic) ranks of the papers that ask."""
    pools = {ONE: (texts.whole,), TWO: (texts.whole, texts.titles)}
    return {split: neighbours.ranks(texts.titles, pool, texts.chosen, "cosine") for split, pool in pools.items()}


def rank_rows(texts: Texts, best: Floats, worst: Floats, split: str, metrics: Iterable[str] = MEASURES) -> list[Result]:
    """Return one row a measure of ranks, with its interval over the papers that ask.

    Args:
        best: (n,) ranks with every tie won; `worst` with every tie lost, which the note gives where it differs.
    """
    rows = []
    n, papers = len(best), len(texts.whole)
    for metric in metrics:
        of = MEASURES[metric]
        value, lost = float(of(best)), float(of(worst))
        spread = np.concatenate([of(best[picks]) for picks in draws(texts.asked, n)])
        rows.append(texts.row(
            metric, value, n, split, replicates=spread, ties="optimistic: strictly more similar",
            pool=f"{papers if split != TWO else 2 * papers - 1} texts of {papers} papers",
            note=sentence(f"with every tie lost: {lost:.6g}" if lost != value else "", f"{n} queries drawn" if n < papers else ""),
        ))  # fmt: skip
    return rows


def measure(texts: Texts, printed_size: int = 0) -> list[Result]:
    """Return both tasks' measures, shares found within a rank, and Task II minus Task I.

    Args:
        printed_size: papers of the printed collection that a real sample is stretched to; 0 for none.
    """
    rows: list[Result] = []
    n = len(texts.whole)
    for split, (best, worst) in ranks_of(texts).items():
        rows += rank_rows(texts, best, worst, split)
        count = n if split == ONE else 2 * n - 1
        rows += [_within(texts, best, k, split) for k in WITHIN if k <= count]
        if texts.task.source != "embedded" and n < printed_size:
            more = printed_size if split == ONE else 2 * printed_size - 1
            near, far = (1 + (ranks - 1) * (more - 1) / (count - 1) for ranks in (best, worst))
            note = f"an estimate: ranks among {count} candidates stretched to {more}"
            made = rank_rows(texts, near, far, split, (MRR, T100, MEDIAN))
            rows += [replace(row, metric=f"{row.metric}{SCALED}", note=note) for row in made]
    by = {(row.metric, row.split): row for row in rows}
    return [*rows, *(difference(by[m, TWO], by[m, ONE], f"{m}, Task II minus Task I", "Task I") for m in (MRR, T100))]


def _within(texts: Texts, ranks: Floats, k: int, split: str) -> Result:
    hits = 100.0 * (ranks <= k)
    spread = np.concatenate([hits[picks].mean(axis=1) for picks in draws(texts.asked, len(hits))])
    return texts.row(f"found within rank {k}, %", float(hits.mean()), len(hits), split, replicates=spread)


def difference(first: Result, second: Result, metric: str, against: str) -> Result:
    """Return first minus second as a row of `first`'s system: their draws took the same papers."""
    assert first.replicates is not None
    assert second.replicates is not None
    spread = first.replicates.astype(np.float64) - second.replicates.astype(np.float64)
    return replace(first, metric=metric, against=against, value=first.value - second.value,
                   note="paired: the same queries", replicates=None, **interval(spread))  # fmt: skip


# ---- normalised vectors ----------------------------------------------------------------------------------------------


def variants(texts: Texts) -> Iterator[tuple[str, tuple[NDArray[np.floating], NDArray[np.floating]]]]:
    """Yield (variant, (title vectors, whole vectors)) of everything Table 9 asks about, and of two checks."""
    titles, whole = texts.titles, texts.whole
    both = np.concatenate([whole, titles])
    yield AS_IS, (titles, whole)
    yield L2, (unit(titles), unit(whole))
    yield STANDARDISED[0], (standardised(titles, both), standardised(whole, both))
    yield STANDARDISED[1], (standardised(titles, whole), standardised(whole, whole))
    yield STANDARDISED[2], (standardised(titles), standardised(whole))
    yield SELF, (whole, whole)
    factors = np.random.default_rng(texts.seed).lognormal(0, 1, (2, len(titles), 1))
    yield STRETCHED, (titles * factors[0], whole * factors[1])


def normalised(texts: Texts) -> list[Result]:
    """Return Task I by variant, its difference from the vectors as they are, and how many ranks change."""
    ranks: dict[str, Floats] = {}
    by: dict[tuple[str, str], Result] = {}
    for name, (titles, whole) in variants(texts):
        best, worst = neighbours.ranks(titles, (whole,), texts.chosen, "cosine")
        ranks[name] = best
        if name != STRETCHED:
            by |= {(name, r.metric): r for r in rank_rows(texts, best, worst, f"{ONE}, {name}", (MRR, T100, MEDIAN))}
    rows = [row for (name, _), row in by.items() if name != AS_IS]  # as they are: `measure` has them
    rows += [
        difference(by[name, metric], by[AS_IS, metric], f"{metric}, minus as they are", "as they are")
        for name in STANDARDISED
        for metric in (MRR, T100)
    ]
    n = len(texts.chosen)
    for metric, name in ((CHANGED, L2), (STRETCH_CHANGED, STRETCHED)):
        rows.append(texts.row(metric, float((ranks[name] != ranks[AS_IS]).sum()), n, ONE))
    inverse = 1 / ranks[AS_IS]
    most = float(np.sqrt(inverse.mean() * (1 - inverse.mean())))
    return rows + ([texts.row(SPREAD, float(inverse.std()) / most, n, ONE)] if most > 0 else [])
