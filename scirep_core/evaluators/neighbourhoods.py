"""Where altered texts lie among the originals (textual neighbours, sections 4, 6.1-6.3, Appendix D.1), on plain arrays.

With X the vectors of title + abstract, f(X) those of one type of neighbour where it applies, cosine everywhere:

    NNk_Ret          % of f(x_j) whose k nearest among X hold x_j: rank of x_j <= k               (section 6.2)
    AOP-k            |A n B| / k in %, A and B the k nearest of f(x_j) and of x_j among f(X) u X      (section 6.3)
    inter-similarity cosines of all pairs i < j within f(X): mean, sd, min, max, % above the mean, skewness  (section 6.1)
    L2               v / ||v||                   standardisation   (v - mu) / sigma in each dimension    (appendix D.1)

Whether a text is among its own nearest is unsaid: read literally it is, so f(x_j) and x_j, where they are close, both
find both; the other reading takes each query's own vector out of its candidates. One search gives both.

All is exact and done in blocks (`search.py`): memory grows with the number of texts, not with its square. Ties count for
a rank as optimistic (rank 1 + those strictly nearer) and among k nearest go to the earlier text, originals first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.evaluators.rows import Floats, unit
from scirep_core.evaluators.search import CELLS, Places, Pool


class Similarities(NamedTuple):
    """Cosines of all pairs i < j of a set, and by document the mean over its pairs and the share above the mean.

    `skewness` is the mean cube of (cosine - mean) / sd; 0 where the cosines do not vary.
    """

    mean: float
    sd: float
    least: float
    most: float
    above: float
    means: Floats
    aboves: Floats
    skewness: float


class Overlap(NamedTuple):
    """Shares, by altered text that is a query, of the nearest that it and its original have in common.

    Attributes:
        with_self: each query counts among its own nearest, as section 6.3 reads.
        without_self: each query's own vector is left out of its candidates.
    """

    with_self: Floats
    without_self: Floats


def overlaps(
    altered: NDArray[np.floating], pool: NDArray[np.floating], own: Places, chosen: Places, ks: Sequence[int]
) -> dict[int, Overlap]:
    """Return, for each k, the share of k nearest that chosen altered texts and their originals have in common.

    Args:
        altered: (m, dim) f(X). pool: (n, dim) X. own: (m,) which of X an altered text comes from.
        chosen: which altered texts are queries.
        ks: numbers of nearest; a k above the number of candidates cannot give a share of 1.
    """
    everything = Pool(np.concatenate([pool, altered]))
    both = [(altered[chosen], len(pool) + chosen), (pool[own[chosen]], own[chosen])]
    most = min(1 + max(ks), len(everything.vectors))
    a, b = ((everything.nearest(queries, most), place) for queries, place in both)
    return {
        k: Overlap(common(a[0][:, :k], b[0][:, :k], k), common(_others(*a)[:, :k], _others(*b)[:, :k], k)) for k in ks
    }


def _others(found: Places, own: Places) -> Places:
    """Return lists of the nearest without the query itself, or without the last where it is not among them."""
    there = found == own[:, None]
    there[~there.any(axis=1), -1] = True
    return np.asarray(found[~there].reshape(len(found), -1))


def common(a: Places, b: Places, k: int) -> Floats:
    """Return (n,) shares of k that rows of two lists of places have in common."""
    both = np.sort(np.concatenate([a, b], axis=1), axis=1)  # a list names no text twice
    return np.asarray((both[:, 1:] == both[:, :-1]).sum(axis=1) / k)


def similarities(vectors: NDArray[np.floating]) -> Similarities:
    """Return cosines of all pairs of (n, dim) vectors, n at least 2; the mean is exact, the rest in single precision."""
    exact = unit(vectors)
    n = len(exact)
    own = np.einsum("ij,ij->i", exact, exact)  # 1, or 0 for a zero vector
    means = (exact @ exact.sum(axis=0) - own) / (n - 1)
    mean = float(means.mean())
    v = exact.astype(np.float32)
    above = np.zeros(n)
    squares, cubes, least, most = 0.0, 0.0, np.inf, -np.inf
    step = max(1, min(2048, CELLS // n))
    for start in range(0, n, step):
        end = min(start + step, n)
        scores = v[start:end] @ v[start:].T  # the upper triangle and the block's own lower one
        apart = scores - np.float32(mean)
        pairs = np.triu(np.ones((end - start, end - start), dtype=bool), 1)
        square, rest = apart[:, : end - start], apart[:, end - start :]
        squares += float(np.square(square[pairs], dtype=np.float64).sum())
        squares += float(np.einsum("ij,ij->", rest, rest, dtype=np.float64)) if rest.size else 0.0
        cubes += float(np.power(square[pairs], 3, dtype=np.float64).sum())
        cubes += float(np.einsum("ij,ij,ij->", rest, rest, rest, dtype=np.float64)) if rest.size else 0.0
        for part in (square[pairs], rest):
            if part.size:
                least, most = min(least, float(part.min()) + mean), max(most, float(part.max()) + mean)
        higher = square > 0
        np.fill_diagonal(higher, False)
        above[start:end] += higher.sum(axis=1) + (rest > 0).sum(axis=1)
        above[end:] += (rest > 0).sum(axis=0)
    aboves = above / (n - 1)
    total = n * (n - 1) / 2
    sd = float(np.sqrt(squares / total))
    skewness = cubes / total / sd**3 if sd > 1e-6 else 0.0
    return Similarities(mean, sd, least, most, float(aboves.mean()), means, aboves, skewness)


def standardised(vectors: NDArray[np.floating], on: NDArray[np.floating] | None = None) -> Floats:
    """Return (v - mu) / sigma in each dimension, mu and sigma those of `on`, else of the vectors themselves.

    A dimension that does not vary becomes 0. Source: Timkey and van Schijndel 2021, as used in appendix D.1.
    """
    base = np.asarray(vectors if on is None else on, dtype=np.float64)
    sigma = base.std(axis=0)
    apart = np.asarray(vectors, dtype=np.float64) - base.mean(axis=0)
    return np.asarray(np.divide(apart, sigma, out=np.zeros_like(apart), where=sigma > 1e-12))


def half_width(values: Floats) -> float:
    """Return half of a 95 % interval of a mean over pairs, from each document's mean (a U-statistic's first term)."""
    return float(1.96 * 2 * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
