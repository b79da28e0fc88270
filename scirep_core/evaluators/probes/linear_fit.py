"""Linear SVMs fitted to convergence, many at once: every class, label and fold is a column of the same matrix products.

Each column k minimises LinearSVC's (or LinearSVR's) own objective, the intercept b being the weight of a constant 1:

    |w|^2 / 2 + b^2 / 2 + C_k sum_i m_ik (f_ik - t_ik)^2      f_ik = w x_i + b, over the rows that are active

    hinge   y_ik = -1 or 1: active where y f < 1, t = y
    tube    active where |f - y| > epsilon, t = y -+ epsilon

with m_ik = 1 for the rows column k is trained on and 0 for those it is to be tried on. Newton's method: each step solves
for the direction by conjugate gradients, preconditioned by the Hessian's diagonal, and halves it until the objective falls
enough. The objective is strictly convex, so that scikit-learn run to convergence finds the same weights (tested).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scirep_core.evaluators.rows import Floats

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
