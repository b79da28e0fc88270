"""Probes as one would fit them today: what the published ones leave to chance is settled.

- features are standardised by the training rows (no label is seen, and no test row);
- C from 1e-5 .. 1e-1 (5), chosen on the task's own metric (each label's F1; Kendall's tau) by two rounds of 5-fold
  stratified cross-validation, shuffled anew by the seed for each round; of equals the smallest;
- every fit converges (`fit`): LinearSVC's squared hinge, one class against the rest; LinearSVR's squared
  epsilon-insensitive loss, epsilon 0.1, on standardised targets;
- k-shot means k examples PER CLASS (of several labels: k positives per label), drawn anew for each repeat from the seed;
  C = 1: there is nothing to choose it by.

Rows are turned to their principal axes, and into the space the training rows span where that is the smaller one (TF-IDF):
the optimum lies in it, so that predictions stay as they are, and fits are quick. Many are fitted at once: every class, label and
fold is a column of the same matrix products. Each column k minimises LinearSVC's (or LinearSVR's) own objective, the intercept b
being the weight of a constant 1:

    |w|^2 / 2 + b^2 / 2 + C_k sum_i m_ik (f_ik - t_ik)^2      f_ik = w x_i + b, over the rows that are active

    hinge   y_ik = -1 or 1: active where y f < 1, t = y
    tube    active where |f - y| > epsilon, t = y -+ epsilon

with m_ik = 1 for the rows column k is trained on and 0 for those it is to be tried on. Newton's method: each step solves
for the direction by conjugate gradients, preconditioned by the Hessian's diagonal, and halves it until the objective falls
enough. The objective is strictly convex, so that scikit-learn run to convergence finds the same weights (tested).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import FewShot
from scirep_core.evaluators.labels.scores import correlation, label_score
from scirep_core.evaluators.probes.probe_search import Ints, Probe, Remarks, one_kind, union_of
from scirep_core.evaluators.rows import Floats
from scirep_core.kit.terminal import bar

Loss = Literal["hinge", "tube"]
EPSILON = 0.1
TOLERANCE = 1e-8
"""Of the gradient's length against its length at w = 0."""
STEPS, INNER, HALVINGS = 100, 250, 30


def with_constant(x: Floats) -> Floats:
    """Return (n, dim + 1): rows with the constant 1 the intercept is the weight of."""
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


def fit(
    x: Floats, y: Floats, mask: NDArray[np.bool_], costs: Floats, loss: Loss, start: Floats | None = None
) -> tuple[Floats, int]:
    """Return (dim, columns) weights, and how many columns did not converge.

    Args:
        x: (n, dim) rows, the last dimension constant (`with_constant`).
        y: (n, columns) -1 and 1, or targets.
        mask: (n, columns) the rows each column is trained on.
        costs: (columns,) C of each column.
        start: (dim, columns) weights to begin with.
    """
    w = np.zeros((x.shape[1], y.shape[1])) if start is None else start.copy()
    at_zero = np.zeros(y.shape)
    steepest = np.linalg.norm(2 * costs * (x.T @ _residual(at_zero, y, mask, loss)), axis=0)
    limit = TOLERANCE * steepest
    scores = x @ w
    todo = np.arange(y.shape[1])
    for _ in range(STEPS):
        gone = _residual(scores[:, todo], y[:, todo], mask[:, todo], loss)
        gradient = w[:, todo] + 2 * costs[todo] * (x.T @ gone)
        size = np.linalg.norm(gradient, axis=0)
        open_ = size > limit[todo]
        todo, gradient, gone, size = todo[open_], gradient[:, open_], gone[:, open_], size[open_]
        if not len(todo):
            return w, 0
        enough = np.minimum(0.1, np.sqrt(size / steepest[todo])) * size
        step = _direction(x, gone != 0, 2 * costs[todo], gradient, enough)
        moved = x @ step
        part = (y[:, todo], mask[:, todo], costs[todo], loss)
        before, slope = _objective(w[:, todo], scores[:, todo], *part), (gradient * step).sum(axis=0)
        length = np.ones(len(todo))
        for _ in range(HALVINGS):
            after = _objective(w[:, todo] + length * step, scores[:, todo] + length * moved, *part)
            short = after > before + 1e-4 * length * slope + 1e-12 * np.abs(before)
            if not short.any():
                break
            length[short] /= 2
        w[:, todo] += length * step
        scores[:, todo] += length * moved
    return w, len(todo)


def _residual(scores: Floats, y: Floats, mask: NDArray[np.bool_], loss: Loss) -> Floats:
    """Return f - t of the active rows of each column, 0 elsewhere."""
    apart = scores - y
    if loss == "tube":
        return np.asarray((apart - np.clip(apart, -EPSILON, EPSILON)) * mask)
    return np.asarray(apart * ((y * scores < 1) & mask))


def _objective(w: Floats, scores: Floats, y: Floats, mask: NDArray[np.bool_], costs: Floats, loss: Loss) -> Floats:
    return np.asarray((w**2).sum(axis=0) / 2 + costs * (_residual(scores, y, mask, loss) ** 2).sum(axis=0))


def _direction(x: Floats, active: NDArray[np.bool_], costs: Floats, gradient: Floats, enough: Floats) -> Floats:
    """Return s with (1 + C x' A x) s = -gradient by conjugate gradients, each column until its remainder is small enough."""
    scale = 1 + costs * ((x**2).T @ active)
    step, left = np.zeros(gradient.shape), -gradient
    ready = left / scale
    way, fall = ready.copy(), (left * ready).sum(axis=0)
    todo = np.arange(gradient.shape[1])
    for _ in range(INNER):
        forward = way + costs[todo] * (x.T @ (active[:, todo] * (x @ way)))
        length = fall / (way * forward).sum(axis=0)
        step[:, todo] += length * way
        left -= length * forward
        open_ = np.linalg.norm(left, axis=0) > enough[todo]
        if not open_.any():
            break
        ready = left / scale[:, todo]
        found = (left * ready).sum(axis=0)
        way = (ready + found / fall * way)[:, open_]
        left, fall, todo = left[:, open_], found[open_], todo[open_]
    return step


COSTS = np.logspace(-5, -1, 5)
"""On standardised features more only costs time: the solution stops changing."""
FOLDS, ROUNDS = 5, 2
CELLS = 1 << 24
"""Fits run together up to this many rows x columns: 128 MB an array."""


class Trial(NamedTuple):
    """One fold: (n, columns) -1 and 1 or targets, the rows to train on and to try on, and what their scores are worth."""

    y: Floats
    train: Ints
    test: Ints
    worth: Callable[[Floats, Ints], float]


def prepared(x: Floats, x_test: Floats) -> tuple[Floats, Floats]:
    """Return both standardised by x and turned to the principal axes of x, with a constant 1 appended."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(x)
    a, b = scaler.transform(x), scaler.transform(x_test)
    if a.shape[1] <= len(a):
        _, axes = np.linalg.eigh(a.T @ a)
        return with_constant(a @ axes), with_constant(b @ axes)
    squares, turn = np.linalg.eigh(a @ a.T)
    mask = squares > squares[-1] * 1e-12
    lengths, turn = np.sqrt(squares[mask]), turn[:, mask]
    return with_constant(turn * lengths), with_constant(b @ (a.T @ (turn / lengths)))


def tried(x: Floats, trials: Sequence[Trial], loss: Loss, remarks: Remarks, shown: str) -> Floats:
    """Return (trials, costs): what each fold's held-out rows are worth at each of COSTS."""
    together = max(1, CELLS // (len(x) * trials[0].y.shape[1]))
    found = np.zeros((len(trials), len(COSTS)))
    groups = [range(start, min(start + together, len(trials))) for start in range(0, len(trials), together)]
    with bar(what=shown, total=len(groups) * len(COSTS), delay=2, leave=False) as progress:
        for group in groups:
            y = np.concatenate([trials[i].y for i in group], axis=1)
            width, weights = y.shape[1] // len(group), None
            mask = np.zeros(y.shape, dtype=bool)
            for at, i in enumerate(group):
                mask[trials[i].train, at * width : (at + 1) * width] = True
            for c, cost in enumerate(COSTS):
                weights, unfinished = fit(x, y, mask, np.full(y.shape[1], cost), loss, weights)
                remarks["fits that did not converge"] += unfinished
                scores = x @ weights
                for at, i in enumerate(group):
                    held = trials[i].test
                    found[i, c] = trials[i].worth(scores[held, at * width : (at + 1) * width], held)
                progress.update()
    return found


def _fit_all(x: Floats, y: Floats, costs: Floats, loss: Loss, remarks: Remarks) -> Floats:
    weights, unfinished = fit(x, y, np.ones(y.shape, dtype=bool), costs, loss)
    remarks["fits that did not converge"] += unfinished
    return weights


def classes(x: Floats, y: Ints, x_test: Floats, remarks: Remarks, probe: Probe) -> Ints:
    """Return the predicted class of each row of x_test. Raises ValueError for a single class."""
    names = np.unique(y)
    if len(names) < 2:
        raise ValueError(f"all training rows are of class {names[0]}")
    x, x_test = prepared(x, x_test)
    signs = np.where(y[:, None] == (names[1:] if len(names) == 2 else names), 1.0, -1.0)
    cost = 1.0
    if not probe.few:
        worth = functools.partial(_worth, probe.metric, names, y)
        trials = [Trial(signs, *cut, worth) for cut in _cuts(x, y, probe.seed)]
        cost = float(COSTS[int(np.argmax(tried(x, trials, "hinge", remarks, probe.shown).mean(axis=0)))])
    return _named(names, x_test @ _fit_all(x, signs, np.full(signs.shape[1], cost), "hinge", remarks))


def _named(names: NDArray[Any], scores: Floats) -> Ints:
    """Return the class with the highest score; of two classes the second where its score is above 0."""
    return np.asarray(names[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)])


def _worth(metric: str, names: NDArray[Any], y: Ints, scores: Floats, rows: Ints) -> float:
    return label_score(metric, y[rows], _named(names, scores))


def _cuts(x: Floats, y: Ints, seed: int) -> list[tuple[Ints, Ints]]:
    from sklearn.model_selection import RepeatedStratifiedKFold

    folds = min(FOLDS, max(Counter(y.tolist()).values()))
    return list(RepeatedStratifiedKFold(n_splits=folds, n_repeats=ROUNDS, random_state=seed).split(x, y))


def labels(x: Floats, y: Ints, x_test: Floats, remarks: Remarks, probe: Probe) -> Ints:
    """Return (test, labels) predictions: every label has folds and a C of its own, the fits run together."""
    x, x_test = prepared(x, x_test)
    alone = [one_kind(column, len(x_test), remarks) for column in y.T]
    asked = [label for label, only in enumerate(alone) if only is None]
    predicted = np.stack([np.zeros(len(x_test), dtype=int) if only is None else only for only in alone], axis=1)
    if not asked:
        return predicted
    signs, costs, pair = np.where(y[:, asked] == 1, 1.0, -1.0), np.ones(len(asked)), np.array([0, 1])
    if not probe.few:
        trials = [
            (i, Trial(signs[:, i : i + 1], *cut, functools.partial(_worth, "f1", pair, y[:, label])))
            for i, label in enumerate(asked)
            for cut in _cuts(x, y[:, label], probe.seed)
        ]
        found = tried(x, [trial for _, trial in trials], "hinge", remarks, probe.shown)
        owner = np.array([i for i, _ in trials])
        costs = np.array([COSTS[int(np.argmax(found[owner == i].mean(axis=0)))] for i in range(len(asked))])
    predicted[:, asked] = x_test @ _fit_all(x, signs, costs, "hinge", remarks) > 0
    return predicted


def targets(x: Floats, y: Floats, x_test: Floats, remarks: Remarks, probe: Probe) -> Floats:
    """Return the predicted target of each row of x_test."""
    from sklearn.model_selection import RepeatedKFold

    x, x_test = prepared(x, x_test)
    mean, spread = y.mean(), y.std() or 1.0
    target = ((y - mean) / spread)[:, None]
    folds = RepeatedKFold(n_splits=min(FOLDS, len(x)), n_repeats=ROUNDS, random_state=probe.seed)
    cuts: list[tuple[Ints, Ints]] = list(folds.split(x))
    trials = [
        Trial(target, *cut, lambda scores, rows: correlation(probe.metric, y[rows], scores[:, 0])) for cut in cuts
    ]
    cost = COSTS[[int(np.argmax(tried(x, trials, "tube", remarks, probe.shown).mean(axis=0)))]]
    return np.asarray((x_test @ _fit_all(x, target, cost, "tube", remarks))[:, 0] * spread + mean)


def shots(y: Ints, setting: FewShot, seed: int, remarks: Remarks) -> Iterator[Ints]:
    """Yield the training rows of each repeat, in file order."""
    columns = list(y.T == 1) if y.ndim == 2 else [y == label for label in np.unique(y)]
    said = "classes or labels with fewer examples than asked, all taken"
    for repeat in range(setting.iterations):
        chosen = union_of(columns, setting.sample_size, np.random.default_rng([seed, repeat]), remarks, said)
        yield np.array(sorted(chosen), dtype=np.int64)
