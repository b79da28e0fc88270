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
                      Kekalainen 2000), over the same sum for the ideal order; ndcg%p cuts at k = int(p / 100 * n),
                      truncated in floating point, as published; 0 where the ideal is 0

n is the length of the ranking handed in, so a left-out candidate changes k, the ideal and the totals: the reader of
rankings warns about it. Values are on [0, 1]; Result rows carry them times 100.

The other papers' metrics follow below: trec_eval's (SciRepEval, SciMult) by name and from ranks, and `ACCEPTED`, which
says what each type of task can be asked for. A row of `METRICS` that is made `by_ranks` is a metric of CSFCube and of
every other task that ranks; one of `PREDICTED` is for classification or regression.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import ConfigError, UnknownName, nearest

RELEVANT = 2
"""Lowest rating that counts as relevant in every metric but NDCG."""

Ratings = NDArray[np.int64]
Ranks = NDArray[np.float64]
"""(relevant,) 1-based ranks of what is relevant, ascending; inf for what is never found."""


def r_precision_published(ratings: Ratings) -> float:
    """Return R / rank of the last relevant candidate, the form behind CSFCube's printed R-Precision."""
    ranks = np.flatnonzero(ratings >= RELEVANT) + 1
    return float(len(ranks) / ranks[-1]) if len(ranks) else 0.0


def precision(ranks: Ranks, k: int) -> float:
    """Return the relevant share of the first k ranks."""
    return float(np.sum(ranks <= k)) / k


def recall(ranks: Ranks, k: int) -> float:
    """Return the share of all that is relevant that stands in the first k ranks."""
    return float(np.sum(ranks <= k)) / len(ranks)


def average_precision(ranks: Ranks) -> float:
    """Return the mean, over what is relevant, of precision at its rank."""
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks))


def expected_average_precision(relevant: int, n: int) -> float:
    """Return the mean of average precision over all orders of n candidates, some of them relevant; 0 where none is."""
    harmonic = sum(1 / rank for rank in range(1, n + 1))
    return (harmonic + (relevant - 1) * (n - harmonic) / max(1, n - 1)) / n if relevant else 0.0


def expected_ndcg(grades: Sequence[int], k: int, n: int = 0) -> float:
    """Return the mean of trec_eval's nDCG@k over all orders of n candidates; 0 where no grade is above 0.

    Args:
        grades: of the judged candidates; those not judged have grade 0.
        n: how many candidates there are; 0: the judged ones.

    >>> round(expected_ndcg([1], 10, 1000), 5), expected_ndcg([2, 2], 5)
    (0.00454, 1.0)
    """
    discounts, n = 1 / np.log2(np.arange(2, k + 2)), n or len(grades)
    best = np.sort(np.maximum(grades, 0))[::-1][:k]
    ideal = float(best @ discounts[: len(best)]) if len(best) else 0.0
    return float(np.maximum(grades, 0).sum() / n * discounts[:n].sum()) / ideal if ideal else 0.0


def dcg(ratings: Ratings) -> float:
    """Return discounted cumulative gain: linear gain, ranks 1 and 2 undiscounted, then log2(rank)."""
    ranks = np.arange(1, len(ratings) + 1)
    return float(np.sum(ratings / np.log2(np.maximum(ranks, 2))))


def ndcg(ratings: Ratings, k: int) -> float:
    """Return DCG of the first k ranks over DCG of the first k of the ideal order; 0 if that is 0."""
    ideal = dcg(np.sort(ratings)[::-1][:k])
    return dcg(ratings[:k]) / ideal if ideal else 0.0


class Metric(NamedTuple):
    """One metric: base name, whether it takes `@k`, whether it takes `%p`, function of (ratings, k), description.

    `of_ranks` gives it to all tasks that rank; without it, it is trec_eval's nDCG or CSFCube's alone.
    """

    name: str
    at: bool
    percent: bool
    function: Callable[[Ratings, int], float]
    text: str
    of_ranks: Callable[[Ranks, int], float] | None = None

    @property
    def ours(self) -> bool:
        """Whether every task that ranks can be asked for it and trec_eval does not know it."""
        return self.of_ranks is not None and self.name not in TREC


def by_ranks(name: str, function: Callable[[Ranks, int], float], text: str, at: bool = False) -> Metric:
    """Return a metric that depends on the ranks of what is relevant alone, for every task that ranks.

    Args:
        function: of (ranks, k), with at least one rank, in [0, 1]; where nothing is relevant the metric is 0. k is the
            cut-off of a metric with `at`, and says nothing otherwise.
    """

    def of_ratings(ratings: Ratings, k: int) -> float:
        ranks = (np.flatnonzero(ratings >= RELEVANT) + 1).astype(np.float64)
        return function(ranks, k) if len(ranks) else 0.0

    return Metric(name, at, False, of_ratings, text, function)


METRICS: dict[str, Metric] = {
    "r_precision_published": Metric(
        "r_precision_published", False, False, lambda r, k: r_precision_published(r), "R / rank of last relevant"
    ),
    "r_precision": by_ranks("r_precision", lambda ranks, k: precision(ranks, len(ranks)), "precision at rank R"),
    "p": by_ranks("p", precision, "precision at k", at=True),
    "r": by_ranks("r", recall, "recall at k", at=True),
    "recall": by_ranks("recall", recall, "recall at k", at=True),
    "map": by_ranks("map", lambda ranks, k: average_precision(ranks), "mean average precision"),
    "mrr": by_ranks("mrr", lambda ranks, k: float(1 / ranks[0]), "mean reciprocal rank"),
    "ndcg": Metric("ndcg", True, True, ndcg, "NDCG, linear gain, ranks 1 and 2 undiscounted"),
}
TREC = {
    "map": "map", "mrr": "recip_rank", "r_precision": "Rprec", "p": "P", "r": "recall", "recall": "recall", "ndcg": "ndcg",
}  # fmt: skip
"""Metric -> what trec_eval calls it."""

FACET_METRICS: tuple[str, ...] = (
    "r_precision_published", "r_precision", "p@20", "r@20", "ndcg%20", "ndcg%100", "map", "mrr",
)  # fmt: skip
"""The metrics of CSFCube Tables 3 and 4, plus the standard R-precision, MAP and MRR that later papers use."""

_NOTATION = re.compile(r"(?P<base>[a-z_]+)(?:(?P<sign>[@%])(?P<value>\d+))?")


def score(name: str, ratings: Sequence[int] | Ratings) -> float:
    """Return one metric of one ranking, in [0, 1].

    Args:
        name: notation of the papers, for example `ndcg%20`, `p@20`, `map`.
        ratings: (n,) whole numbers in ranked order, best first; of none every metric is 0.

    Raises ConfigError for an unknown metric or ratings that are no list of whole numbers.

    >>> score("r_precision_published", [3, 0, 2, 0])
    0.6666666666666666
    """
    metric, sign, value = parse(name)
    given = np.asarray(ratings, dtype=np.float64)
    if given.ndim != 1 or not np.isfinite(given).all() or (given % 1).any():
        raise ConfigError(f"ratings in ranked order are a list of whole numbers, not {ratings!r:.60}")
    values = given.astype(np.int64)
    cut = {"%": int(value / 100 * len(values)), "@": value, "": len(values)}[sign]
    return metric.function(values, cut)


@functools.cache
def parse(name: str) -> tuple[Metric, str, int]:
    """Return (metric, sign, value) of a name such as `ndcg%20`; sign is "", "@" or "%". Raises ConfigError."""
    match = _NOTATION.fullmatch(name)
    metric = METRICS.get(match["base"]) if match else None
    if match is None or metric is None:
        raise UnknownName("metric", name, examples())
    sign, value = match["sign"] or "", int(match["value"] or 0)
    needs = metric.at and not metric.percent and not sign
    wrong = (sign == "@" and not metric.at) or (sign == "%" and not metric.percent) or needs
    if wrong or (sign and value < 1) or (sign == "%" and value > 100):
        raise ConfigError(f"metric {name!r} has no such cut-off; write it like one of {', '.join(examples())}")
    return metric, sign, value


def examples() -> list[str]:
    """Return one spelling of every metric."""
    return [f"{m.name}%20" if m.percent else f"{m.name}@20" if m.at else m.name for m in METRICS.values()]


# ------------------------------------------------------------------------- the other papers' metrics, by task type


def trec_measure(name: str) -> tuple[str, str]:
    """Return (measure to ask of pytrec_eval, key of its answer) for a name such as `ndcg@10` or `map`.

    Raises ConfigError for a metric trec_eval does not know: CSFCube's own forms, percentages.
    """
    metric, sign, value = parse(name)
    measure = TREC.get(metric.name)
    if measure and not sign:
        return measure, measure
    if measure and sign == "@":
        measure = "ndcg_cut" if measure == "ndcg" else measure
        return f"{measure}.{value}", f"{measure}_{value}"
    raise ConfigError(f"metric {name!r} is CSFCube's own; here take one of {', '.join(ACCEPTED['proximity'])}")


def from_ranks(name: str, ranks: NDArray[np.float64], grades: NDArray[np.int64]) -> float:
    """Return a trec_eval metric from the ranks of the judged papers alone, in [0, 1]; 0 if nothing is relevant.

    Args:
        name: map, mrr, ndcg, ndcg@k, p@k, r@k, recall@k, r_precision, or a metric made `by_ranks`.
        ranks: (judged,) 1-based ranks in the whole pool, inf for what is not ranked.
        grades: (judged,) gains; relevant means above 0. Linear gain over log2(rank + 1).
    """
    metric, _, value = parse(name)
    if metric.of_ranks is None:
        trec_measure(name)
    hits = np.sort(ranks[grades > 0])
    if not len(hits):
        return 0.0
    if metric.of_ranks is not None:
        return metric.of_ranks(hits, value)
    gained = float(np.sum(np.where(ranks <= (value or np.inf), grades / np.log2(ranks + 1), 0.0)))
    ideal = np.sort(grades)[::-1][: value or None]
    return gained / float(np.sum(ideal / np.log2(np.arange(len(ideal)) + 2)))


class Predicted(NamedTuple):
    """A metric of predictions: the type of task, function of (gold, predicted), description.

    The function gets (n,) classes or (n, labels) of 0 and 1, of regression (n,) numbers that are not all equal; 1 is best.
    """

    type: str
    function: Callable[[NDArray[Any], NDArray[Any]], float]
    text: str


PREDICTED: dict[str, Predicted] = {
    # one of your own: CONTRIBUTING.md
}
"""Metrics of predictions beside F1, accuracy, Kendall's tau and Pearson's r, which `evaluators/labels/scores.py` computes."""
_OF = {
    type: tuple(name for name, one in PREDICTED.items() if one.type == type)
    for type in ("classification", "regression")
}
_OWN = tuple(f"{m.name}@k" if m.at else m.name for m in METRICS.values() if m.ours)
_RANKED = ("map", "mrr", "ndcg", "ndcg@k", "recall@k", "r@k", "p@k", "r_precision", *_OWN)
ACCEPTED: dict[str, tuple[str, ...]] = {
    "classification": ("f1", "f1_macro", "f1_micro", "accuracy", *_OF["classification"]),
    "regression": ("kendall_tau", "pearson", *_OF["regression"]),
    "proximity": _RANKED,
    "adhoc_search": _RANKED,
    "retrieval": _RANKED,
    "label_ranking": (*_RANKED, *(f"{name}_name_match" for name in _RANKED), "f1_macro", "f1_micro", "accuracy"),
    "reviewer_matching": ("hard_p@k", "soft_p@k", "mean_of_four", "pairs_ordered"),
    "author_disambiguation": ("b3_f1", "b3_p", "b3_r"),
    "alternative_self": ("mrr", "median_rank", "t100"),
    "triplets": ("accuracy",),
}
"""Metrics a task of each type can be asked for; @k stands for any cut-off."""


def check_metrics(names: Sequence[str], task_type: str | None = None) -> None:
    """Raise ConfigError, naming the nearest, for a metric that no task (of this type) has."""
    valid = ACCEPTED[task_type] if task_type else (*{n: 0 for names_ in ACCEPTED.values() for n in names_},)
    for name in names:
        if re.sub(r"@[1-9]\d*", "@k", name, count=1) not in valid or name.endswith("@k"):
            if task_type is None:
                parse(name)  # a facet metric, or the error that lists those
                continue
            raise ConfigError(f"a {task_type} task has no metric {name!r}; {nearest(name, valid)} (k a number)")
