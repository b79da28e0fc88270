"""Probes as the published evaluation code fits them (SciRepEval A.3, A.4), its oddities kept and named.

    two or more classes   LinearSVC, squared hinge, random state 42, C from 1e-2 .. 1e2 (5)
    several labels        one search per label: LinearSVC, hinge, 10,000 iterations, C from 1e-2 .. 1e2 (5)
    targets               LinearSVR (epsilon 0), targets as they are, random state 42, C from 1e-4 .. 1e2 (7)

What is odd about it, and kept:
- C is chosen by accuracy (of each label) or R2, on 3 stratified (targets: plain) folds in file order, not shuffled; the
  task's own metric, F1 or Kendall's tau, plays no part;
- features are neither centred nor scaled; solvers stop at their limit of iterations, converged or not (counted in notes);
- k-shot means k examples IN TOTAL: the training set is cut into ceil(N / k) unshuffled stratified folds, each fold is a
  training set once, C = 1, no search; there are at most as many repeats as folds. A fold of a single class stops the
  published code; here it is left out and said;
- k-shot of several labels means k positives PER LABEL, drawn by numpy's old generator from seed 42 + repeat, labels in
  order, their union in the order of a Python set; the search is kept. A label with fewer positives than k stops the
  published code; here all are taken and it is said;
- which of its two problems liblinear solves (`dual`) is left to scikit-learn, whose version the published code was pinned
  to took the dual one by default; today's default takes the primal one for LinearSVC's squared hinge where there are more
  rows than dimensions. The optimum is one, the stopping point differs: small differences, fewer warnings;
- the published multi-label SVM has no random state, so that its numbers vary; here it is 42 too;
- the published code rounds every value to two decimals, few-shot values before their mean; here nothing is rounded.

Two back ends: the published numbers come from sklearn-contrib-lightning's SVMs, which fit NO intercept; today's code
falls back to scikit-learn's, which do. `intercept=False` asks scikit-learn for the former's problem (lightning itself no
longer installs; its tolerance is 1e-3, scikit-learn's 1e-4).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import FewShot
from scirep_core.evaluators.probes.probe_search import (
    Ints,
    Probe,
    Remarks,
    Score,
    accuracy,
    best_of,
    counted_warnings,
    on_all_cores,
    one_kind,
    spread_over,
    thin,
    union_of,
)
from scirep_core.evaluators.rows import Floats
from scirep_core.kit.errors import DataError

RANDOM_STATE = 42
FOLDS = 3
CLASS_COSTS, TARGET_COSTS = np.logspace(-2, 2, 5), np.logspace(-4, 2, 7)
ITERATIONS = 10_000
"""Of the multi-label SVM; the others have scikit-learn's 1,000."""


def classes(x: Floats, y: Ints, x_test: Floats, remarks: Remarks, probe: Probe) -> Ints:
    """Return the predicted class of each row of x_test."""
    x, x_test = thin(x), thin(x_test)
    models = _machines("squared_hinge", [1.0] if probe.few else CLASS_COSTS, probe.intercept)
    parallel = not probe.few and spread_over(x, len(np.unique(y)))
    return _predicted(models, x, y, x_test, remarks, parallel, probe.shown)


def _machines(loss: str, costs: Iterable[float], intercept: bool, **more: Any) -> list[Any]:
    from sklearn.svm import LinearSVC

    return [LinearSVC(loss=loss, C=cost, fit_intercept=intercept, random_state=RANDOM_STATE, **more) for cost in costs]


def _predicted(
    models: Sequence[Any], x: Any, y: NDArray[Any], x_test: Any, remarks: Remarks, parallel: bool = False, shown: str = "",
    score: Score = accuracy,
) -> NDArray[Any]:  # fmt: skip
    """Return what the best of the models by cross-validation predicts; of one there is nothing to choose."""
    from sklearn.model_selection import KFold, StratifiedKFold

    best = 0
    if len(models) > 1:
        folds = StratifiedKFold(FOLDS) if score is accuracy else KFold(FOLDS)
        cuts = list(folds.split(np.zeros(len(y)), y))
        best = best_of(models, x, y, cuts, score, remarks, parallel, shown)
    return np.asarray(models[best].fit(x, y).predict(x_test))


def labels(x: Floats, y: Ints, x_test: Floats, remarks: Remarks, probe: Probe) -> Ints:
    """Return (test, labels) predictions, from one search per label."""
    x, x_test = thin(x), thin(x_test)
    jobs = [(x, y[:, label], x_test, probe.intercept) for label in range(y.shape[1])]
    found = list(on_all_cores(_one_label, jobs, not probe.few and spread_over(x, y.shape[1]), probe.shown))
    for _, more in found:
        remarks.update(more)
    return np.stack([predicted for predicted, _ in found], axis=1)


def _one_label(x: Any, y: Ints, x_test: Any, intercept: bool) -> tuple[Ints, Remarks]:
    remarks: Remarks = Counter()
    only = one_kind(y, x_test.shape[0], remarks)
    if only is not None:
        return only, remarks
    with counted_warnings(remarks):
        models = _machines("hinge", CLASS_COSTS, intercept, max_iter=ITERATIONS)
        return _predicted(models, x, y, x_test, remarks), remarks


def targets(x: Floats, y: Floats, x_test: Floats, remarks: Remarks, probe: Probe) -> Floats:
    """Return the predicted target of each row of x_test."""
    from sklearn.metrics import get_scorer
    from sklearn.svm import LinearSVR

    x, x_test = thin(x), thin(x_test)
    models = [LinearSVR(C=cost, fit_intercept=probe.intercept, random_state=RANDOM_STATE) for cost in TARGET_COSTS]
    together = spread_over(x, 5)  # a target costs more than a label
    return _predicted(models, x, y, x_test, remarks, together, probe.shown, get_scorer("r2"))


def shots(y: Ints, setting: FewShot, seed: int, remarks: Remarks) -> Iterator[Ints]:
    """Yield the training rows of each repeat; `seed` is not used. Raises DataError where the rows cannot be cut."""
    if y.ndim == 2:
        said = "labels with fewer examples than asked, all taken (the published code stops there)"
        for repeat in range(setting.iterations):
            stream = np.random.RandomState(RANDOM_STATE + repeat)
            yield np.array(list(union_of(y.T == 1, setting.sample_size, stream, remarks, said)), dtype=np.int64)
        return
    from sklearn.model_selection import StratifiedKFold

    folds = math.ceil(len(y) / setting.sample_size)
    if folds < 2 or folds > max(Counter(y.tolist()).values()):
        reason = f"{len(y)} training rows cannot be cut into stratified folds of {setting.sample_size}"
        raise DataError("training set", None, reason, "Give more rows or another sample_size")
    cut = StratifiedKFold(folds).split(np.zeros(len(y)), y)
    for _, (_, fold) in zip(range(setting.iterations), cut, strict=False):
        yield fold
