"""Ranking metrics as data: a name in the paper's notation and a function of the ratings in ranked order.

CSFCube sections 5 and F, exactly as the published `ranking_eval.py` computes them (facts in the test collection's
repository, not in the paper):

    relevant          rating >= 2; rating 1 counts only inside NDCG
    p@k               relevant among the first k, divided by k even when the list is shorter
    r@k               relevant among the first k, divided by all relevant in the list
    r_precision       R relevant in all; precision at rank R (the standard definition)
    r_precision_published   R / rank of the last relevant one: what the published script calls R-Precision
    map, mrr          average precision and reciprocal rank over the list
    ndcg@k, ndcg%p    sum of rating / discount(rank), discount 1 at ranks 1 and 2, then log2(rank) (Jarvelin and
                      Kekalainen 2000), over the same sum for the ideal order; ndcg%p cuts at k = int(p/100 * n),
                      truncated; 0 where the ideal is 0

n is the length of the ranking handed in, so a left-out candidate changes k, the ideal and the totals: the reader of
rankings warns about it. Values are on [0, 1]; Result rows carry them times 100.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.errors import ConfigError, nearest

RELEVANT = 2
"""Lowest rating that counts as relevant in every metric but NDCG."""

Ratings = NDArray[np.int64]


def precision(ratings: Ratings, k: int) -> float:
    """Return the relevant share of the first k ranks."""
    return float((ratings[:k] >= RELEVANT).sum()) / k


def recall(ratings: Ratings, k: int) -> float:
    """Return the share of all relevant candidates that stand in the first k ranks; 0 if there is none."""
    relevant = ratings >= RELEVANT
    total = relevant.sum()
    return float(relevant[:k].sum() / total) if total else 0.0


def r_precision(ratings: Ratings) -> float:
    """Return precision at rank R, R = number of relevant candidates; 0 if there is none."""
    total = int((ratings >= RELEVANT).sum())
    return precision(ratings, total) if total else 0.0


def r_precision_published(ratings: Ratings) -> float:
    """Return R / rank of the last relevant candidate, the form behind CSFCube's printed R-Precision."""
    ranks = np.flatnonzero(ratings >= RELEVANT) + 1
    return float(len(ranks) / ranks[-1]) if len(ranks) else 0.0


def average_precision(ratings: Ratings) -> float:
    """Return the mean, over relevant candidates, of precision at their rank; 0 if there is none."""
    ranks = np.flatnonzero(ratings >= RELEVANT) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else 0.0


def reciprocal_rank(ratings: Ratings) -> float:
    """Return 1 / rank of the first relevant candidate; 0 if there is none."""
    ranks = np.flatnonzero(ratings >= RELEVANT)
    return float(1.0 / (ranks[0] + 1)) if len(ranks) else 0.0


def dcg(ratings: Ratings) -> float:
    """Return discounted cumulative gain: linear gain, ranks 1 and 2 undiscounted, then log2(rank)."""
    ranks = np.arange(1, len(ratings) + 1)
    return float(np.sum(ratings / np.log2(np.maximum(ranks, 2))))


def ndcg(ratings: Ratings, k: int) -> float:
    """Return DCG of the first k ranks over DCG of the first k of the ideal order; 0 if that is 0."""
    ideal = dcg(np.sort(ratings)[::-1][:k])
    return dcg(ratings[:k]) / ideal if ideal else 0.0


class Metric(NamedTuple):
    """One metric: base name, whether it takes `@k`, whether it takes `%p`, function of (ratings, k), description."""

    name: str
    at: bool
    percent: bool
    function: Callable[[Ratings, int], float]
    text: str


METRICS: dict[str, Metric] = {
    "r_precision_published": Metric(
        "r_precision_published", False, False, lambda r, k: r_precision_published(r), "R / rank of last relevant"
    ),
    "r_precision": Metric("r_precision", False, False, lambda r, k: r_precision(r), "precision at rank R"),
    "p": Metric("p", True, False, precision, "precision at k"),
    "r": Metric("r", True, False, recall, "recall at k"),
    "recall": Metric("recall", True, False, recall, "recall at k"),
    "map": Metric("map", False, False, lambda r, k: average_precision(r), "mean average precision"),
    "mrr": Metric("mrr", False, False, lambda r, k: reciprocal_rank(r), "mean reciprocal rank"),
    "ndcg": Metric("ndcg", True, True, ndcg, "NDCG, linear gain, ranks 1 and 2 undiscounted"),
}

FACET_METRICS: tuple[str, ...] = (
    "r_precision_published", "r_precision", "p@20", "r@20", "ndcg%20", "ndcg%100", "map", "mrr",
)  # fmt: skip
"""The metrics of CSFCube Tables 3 and 4, plus the standard R-precision, MAP and MRR that later papers use."""

_NOTATION = re.compile(r"(?P<base>[a-z_]+)(?:(?P<sign>[@%])(?P<value>\d+))?")


def score(name: str, ratings: Sequence[int] | Ratings) -> float:
    """Return one metric of one ranking, in [0, 1].

    Args:
        name: notation of the papers, for example `ndcg%20`, `p@20`, `map`.
        ratings: integer ratings in ranked order, best first.

    >>> score("r_precision_published", [3, 0, 2, 0])
    0.6666666666666666
    """
    values = np.asarray(ratings, dtype=np.int64)
    metric, sign, value = parse(name)
    if sign == "%":
        cut = int(value / 100 * len(values))
    elif sign == "@":
        cut = value
    else:
        cut = len(values)
    return metric.function(values, cut)


@functools.cache
def parse(name: str) -> tuple[Metric, str, int]:
    """Return (metric, sign, value) of a name such as `ndcg%20`; sign is "", "@" or "%". Raises ConfigError."""
    match = _NOTATION.fullmatch(name)
    metric = METRICS.get(match["base"]) if match else None
    if match is None or metric is None:
        raise ConfigError(f"unknown metric {name!r}; {nearest(name, examples())}")
    sign, value = match["sign"] or "", int(match["value"] or 0)
    needs = metric.at and not metric.percent and not sign
    wrong = (sign == "@" and not metric.at) or (sign == "%" and not metric.percent) or needs
    if wrong or (sign and value < 1) or (sign == "%" and value > 100):
        raise ConfigError(f"metric {name!r} has no such cut-off; write it like one of {', '.join(examples())}")
    return metric, sign, value


def examples() -> list[str]:
    """Return one spelling of every metric."""
    return [f"{m.name}%20" if m.percent else f"{m.name}@20" if m.at else m.name for m in METRICS.values()]
