"""Intervals, paired tests and agreement.

- percentile bootstrap over queries (Efron): resample queries with replacement within each stratum (a fold), take the
  statistic, report the 2.5 and 97.5 % points; Kendall's tau-b of all samples by matrix products;
- paired randomisation test (Fisher; Smucker et al. 2007 for retrieval): under the null the two systems are
  exchangeable per query, so the sign of each per-query difference is flipped at random;
  p = (1 + #{|mean flipped| >= |mean|}) / (1 + resamples), exact when all 2^n flips are fewer than that;
- Holm's step-down correction over a family of tests;
- agreement of two raters (CSFCube Table 2): Spearman, Krippendorff alpha (ordinal), Cohen kappa, share equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import NumericError

Floats = NDArray[np.float64]
TAILS = ((1 - 0.95) / 2, 1 - (1 - 0.95) / 2)


def resampled(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield blocks (some, n) of row numbers drawn with replacement, `resamples` lines in all, 4 million numbers at most."""
    rng = np.random.default_rng(seed)
    step = max(1, (1 << 22) // n)
    for start in range(0, resamples, step):
        yield rng.integers(0, n, size=(min(step, resamples - start), n))


def counts_of(picks: NDArray[np.int64], size: int) -> Floats:
    """Return (lines, size): how often each number from 0 to size - 1 stands in each line of (lines, n) picks."""
    lines = len(picks)
    flat = (picks + size * np.arange(lines)[:, None]).ravel()
    return np.bincount(flat, minlength=lines * size).reshape(lines, size).astype(np.float64)


def mean_of_folds(values: Floats, folds: Sequence[NDArray[np.int64]]) -> Floats:
    """Return the plain mean over folds of the mean over each fold's columns; values is (..., queries)."""
    return np.asarray(np.mean([values[..., fold].mean(axis=-1) for fold in folds], axis=0))


def bootstrap_folds(
    values: Floats, folds: Sequence[NDArray[np.int64]], resamples: int, seed: int
) -> tuple[Floats, Floats]:
    """Return (low, high) percentile bounds, 95 %, of the mean of fold means.

    Args:
        values: (rows, queries) per-query scores; every row sees the same resamples, so rows stay paired.
        folds: column indices of each fold; one fold holding all columns gives the plain bootstrap of the mean.
        resamples: number of bootstrap samples.
        seed: of the PCG64 stream.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros((values.shape[0], resamples))
    for fold in folds:
        counts = rng.multinomial(len(fold), np.full(len(fold), 1 / len(fold)), size=resamples)
        total += values[:, fold] @ counts.T / len(fold)
    low, high = np.quantile(total / len(folds), TAILS, axis=1)
    return low, high


def paired_randomisation(differences: Floats, resamples: int, seed: int) -> float:
    """Return the two-sided p-value of mean(differences) = 0 under random sign flips.

    Exact (all 2^n sign patterns) when that is no more than `resamples`. An empty or all-zero input gives 1. Raises
    NumericError for a difference that is no finite number: no flip would reach the observed mean, and p would be least.
    """
    n = len(differences)
    if not np.isfinite(differences).all():
        raise NumericError(f"difference {int(np.argmin(np.isfinite(differences)))} of {n} is not a finite number")
    if n == 0 or not np.any(differences):
        return 1.0
    observed = abs(differences.mean())
    if n < 63 and 2**n <= resamples:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        flipped = np.abs((1 - 2 * bits) @ differences / n)
        return float(np.mean(flipped >= observed - 1e-12))
    signs = np.random.default_rng(seed).integers(0, 2, size=(resamples, n), dtype=np.int8) * 2 - 1
    flipped = np.abs(signs @ differences / n)
    # the tolerance keeps the observed pattern itself from losing to rounding
    return float((1 + np.sum(flipped >= observed - 1e-12)) / (1 + resamples))


def holm(p_values: Sequence[float]) -> Floats:
    """Return Holm-adjusted p-values (statsmodels), in the given order; empty in, empty out."""
    if not len(p_values):
        return np.zeros(0)
    from statsmodels.stats.multitest import multipletests  # 1 s to import

    return np.asarray(multipletests(p_values, method="holm")[1], dtype=np.float64)


class Agreement(NamedTuple):
    """Agreement of two raters on one list of items; NaN where the coefficient is not defined."""

    spearman: float
    alpha: float
    kappa: float
    percent: float


def agreement(first: Sequence[int], second: Sequence[int], levels: Sequence[int] = (0, 1, 2, 3)) -> Agreement:
    """Return Spearman rho, Krippendorff alpha (ordinal), Cohen kappa and the share of equal ratings in [0, 1].

    Spearman is NaN if one rater is constant; alpha and kappa are NaN if both use one and the same single level; of no
    items all are.
    """
    import krippendorff
    from scipy import stats
    from sklearn.metrics import cohen_kappa_score

    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if not len(a):
        return Agreement(math.nan, math.nan, math.nan, math.nan)
    constant = len(set(a)) == 1 or len(set(b)) == 1
    spearman = math.nan if constant else float(stats.spearmanr(a, b).statistic)
    alpha = kappa = math.nan
    if len({*a, *b}) > 1:
        alpha = float(krippendorff.alpha(np.stack([a, b]), value_domain=list(levels), level_of_measurement="ordinal"))
        kappa = float(cohen_kappa_score(a, b))
    return Agreement(spearman, alpha, kappa, float(np.mean(a == b)))


def fisher(r: float, n: int, level: float = 1.959964) -> tuple[float, float]:
    """Return the interval of a Pearson correlation over n systems; (-1, 1) for n of 3 or fewer.

    >>> [round(x, 2) for x in fisher(0.5, 28)]
    [0.16, 0.74]
    """
    if n <= 3:
        return -1.0, 1.0
    middle = math.atanh(min(max(r, -1 + 1e-12), 1 - 1e-12))
    half = level / math.sqrt(n - 3)
    return math.tanh(middle - half), math.tanh(middle + half)


def bootstrap(of: Callable[[NDArray[np.int64]], Floats], n: int, resamples: int, seed: int) -> tuple[float, float]:
    """Return percentile bounds, 95 %, of a statistic of n rows drawn with replacement.

    Args:
        of: takes (lines, n) row numbers and gives (lines,) values; a sample for which it is NaN does not count.
    """
    values = np.concatenate([of(picks) for picks in resampled(n, resamples, seed)])
    low, high = np.nanquantile(values, TAILS)
    return float(low), float(high)


def bootstrap_median(values: Floats, resamples: int, seed: int) -> tuple[float, float]:
    """Return percentile bounds, 95 %, of the median of `values` (NaNs dropped), resampling values with replacement."""
    numbers = values[~np.isnan(values)]
    return bootstrap(lambda picks: np.median(numbers[picks], axis=1), len(numbers), resamples, seed)


def kendall_of_counts(first: Floats, second: Floats, counts: Floats, block: int = 512) -> Floats:
    """Return (lines,) Kendall's tau-b of weighted rows, 0 where a side is constant: many bootstrap samples at once.

        tau_b = (concordant - discordant) / sqrt((pairs - tied in first) (pairs - tied in second))

    With s[i, j] = sign(first_i - first_j) sign(second_i - second_j), concordant - discordant is half of w' s w: matrix
    products over blocks of rows. These hold whole numbers below 2^24, so that single precision is exact.

    Args:
        first, second: (n,) values.
        counts: (lines, n) how often each row stands in each sample; the sum of a line below 2^23.
    """
    weights = counts.astype(np.float32)
    pairs = counts.sum(axis=1) * (counts.sum(axis=1) - 1) / 2
    doubled = np.zeros(len(counts))
    for start in range(0, len(first), block):
        stop = start + block
        signs = np.sign(first[start:stop, None] - first[None, start:]) * np.sign(
            second[start:stop, None] - second[None, start:]
        )
        signs[:, block:] *= 2  # what lies below this block of rows is its mirror image
        reached = weights[:, start:] @ signs.T.astype(np.float32)
        doubled += np.einsum("ri,ri->r", reached.astype(np.float64), counts[:, start:stop])
    free = np.ones(len(counts))
    for side in (first, second):
        _, place = np.unique(side, return_inverse=True)
        order = np.argsort(place, kind="stable")
        equal = np.add.reduceat(counts[:, order], np.flatnonzero(np.diff(place[order], prepend=-1)), axis=1)
        free *= pairs - (equal * (equal - 1)).sum(axis=1) / 2
    return np.asarray(np.divide(doubled / 2, np.sqrt(free), out=np.zeros(len(counts)), where=free > 0))
