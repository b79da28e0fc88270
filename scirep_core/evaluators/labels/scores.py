"""Scores of predictions, and their bootstrap: F1, accuracy, Kendall's tau-b, Pearson's r (SciRepEval A.3, A.4).

    F1 of a class = 2 hits / (2 hits + false alarms + misses), 0 where undefined, as scikit-learn has it

`metrics.PREDICTED` may hold more, functions of gold and predictions, which are simply called for every sample.

Every bootstrap value is the metric on n test rows drawn with replacement, from the draws all encoders and metrics of a
task share. Counts of the drawn rows are enough for it, so that a thousand samples cost a few matrix products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.evaluators.rows import NORMAL, Asked, Floats, draws, replicated, sentence
from scirep_core.results import Result
from scirep_core.results.metrics import PREDICTED
from scirep_core.results.statistics import counts_of, kendall_of_counts

MOST = 20_000
"""Above this many test rows Kendall's tau has no interval (all pairs of rows are compared), nor has a metric of `PREDICTED`."""
Labels = NDArray[Any]
"""(n,) classes, or (n, labels) of 0 and 1."""


def label_score(metric: str, gold: Labels, predicted: Labels) -> float:
    """Return f1 (positive class 1), f1_macro, f1_micro or accuracy in [0, 1]: scikit-learn's, undefined F1 is 0."""
    if metric in PREDICTED:
        return float(PREDICTED[metric].function(gold, predicted))
    return float(_of_samples([metric], gold, predicted, [np.arange(len(gold))[None]])[metric][0])


def correlation(metric: str, gold: Floats, predicted: Floats) -> float:
    """Return Kendall's tau-b, Pearson's r or a metric of `PREDICTED`; 0 where one side is constant."""
    from scipy import stats

    if len(np.unique(gold)) < 2 or len(np.unique(predicted)) < 2:
        return 0.0
    if metric in PREDICTED:
        return float(PREDICTED[metric].function(gold, predicted))
    function = stats.kendalltau if metric == "kendall_tau" else stats.pearsonr
    # the last bits of a perfect correlation depend on the order of a sum
    return round(float(function(gold, predicted).statistic), 12)


def label_rows(asked: Asked, metrics: Sequence[str], gold: Labels, predicted: Labels, **more: Any) -> list[Result]:
    """Return the rows of one set of predictions, with replicates and interval from resampled test rows."""
    score = label_score
    if asked.task.type == "regression":
        score = correlation
        constant = ("constant predictions" if len(np.unique(predicted)) == 1 else "",
                    "constant targets" if len(np.unique(gold)) == 1 else "")  # fmt: skip
        more["note"] = sentence(str(more.get("note", "")), *constant)
    spread = score_replicates(asked, metrics, gold, predicted)
    rows = []
    for metric in metrics:
        drawn = 100 * spread[metric] if metric in spread else None
        note = sentence(str(more.get("note", "")), "" if metric in spread else "too many rows for an interval")
        value = 100 * score(metric, gold, predicted)
        rows.append(asked.row(metric, value, len(gold), replicates=drawn, **(more | {"note": note})))
    return rows


def score_replicates(asked: Asked, metrics: Sequence[str], gold: Labels, predicted: Labels) -> dict[str, Floats]:
    """Return metric -> (resamples,) bootstrap values; a metric that has none for so many rows is absent."""
    n, score = len(gold), correlation if asked.task.type == "regression" else label_score

    def called(metric: str) -> Callable[[NDArray[np.int64]], Floats]:
        return lambda picks: np.array([score(metric, gold[line], predicted[line]) for line in picks])

    ways: dict[str, tuple[int, Callable[[NDArray[np.int64]], Floats]]] = {
        "kendall_tau": (MOST, lambda picks: kendall_of_counts(gold, predicted, counts_of(picks, n))),
        "pearson": (NORMAL - 1, lambda picks: _pearson(gold[picks], predicted[picks])),
        **{metric: (MOST, called(metric)) for metric in PREDICTED},
    }
    found = {name: replicated(asked, n, ways[name][1]) for name in metrics if name in ways and n <= ways[name][0]}
    counted = [metric for metric in metrics if metric not in ways]
    return found | (_of_samples(counted, gold, predicted, draws(asked, n)) if counted and n < NORMAL else {})


def _pearson(first: Floats, second: Floats) -> Floats:
    """Return Pearson's r of each line of two (lines, n) arrays, 0 where a side is constant."""
    a, b = (side - side.mean(axis=1, keepdims=True) for side in (first, second))
    sizes = np.sqrt(np.einsum("rn,rn->r", a, a) * np.einsum("rn,rn->r", b, b))
    fixed = (np.ptp(first, axis=1) == 0) | (np.ptp(second, axis=1) == 0)
    return np.asarray(np.divide(np.einsum("rn,rn->r", a, b), sizes, out=np.zeros(len(a)), where=~fixed))


def _of_samples(
    metrics: Sequence[str], gold: Labels, predicted: Labels, samples: Iterable[NDArray[np.int64]]
) -> dict[str, Floats]:
    """Return metric -> the values of samples, given in blocks (lines, n) of row numbers."""
    parts: dict[str, list[Floats]] = {metric: [] for metric in metrics}
    several = gold.ndim == 2
    count = _many_labels if several else _one_label
    right = (gold == predicted).reshape(len(gold), -1).all(axis=1).astype(np.float64)
    classes = np.arange(gold.shape[1]) if several else np.unique(np.concatenate([gold, predicted]))
    for picks in samples:
        hits, either = count(gold, predicted, classes, picks)
        for metric, values in parts.items():
            if metric == "accuracy":
                values.append(right[picks].mean(axis=1))
            elif metric == "f1":
                values.append(_f1(metric, hits[:, classes == 1], either[:, classes == 1], True))
            else:  # scikit-learn leaves a class absent from a sample out of the mean over classes, a label it does not
                values.append(_f1(metric, hits, either, several))
    return {metric: np.concatenate(values) for metric, values in parts.items()}


def _one_label(gold: Labels, predicted: Labels, classes: Labels, picks: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return (lines, classes): twice the hits of each class, and how often it stands in gold plus in predictions."""
    size = len(classes)
    truth, guess = np.searchsorted(classes, gold), np.searchsorted(classes, predicted)
    hit = np.where(truth == guess, truth, size)
    either = counts_of(truth[picks], size) + counts_of(guess[picks], size)
    return 2 * counts_of(hit[picks], size + 1)[:, :size], either


def _many_labels(gold: Labels, predicted: Labels, classes: Labels, picks: NDArray[np.int64]) -> tuple[Floats, Floats]:
    weights = counts_of(picks, len(gold))
    return 2 * weights @ (gold & predicted), weights @ (gold.astype(np.int64) + predicted)


def _f1(metric: str, hits: Floats, either: Floats, every: bool) -> Floats:
    """Return (lines,) F1 of doubled hits and occurrences (lines, classes); `every`: absent classes count, with 0."""
    if metric == "f1_micro":
        hits, either = (m.sum(axis=1, keepdims=True) for m in (hits, either))
    f1 = np.divide(hits, either, out=np.zeros(either.shape), where=either > 0)
    return np.asarray(f1.sum(axis=1) / (max(f1.shape[1], 1) if every else np.maximum((either > 0).sum(axis=1), 1)))
