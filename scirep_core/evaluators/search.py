"""Exact search: the k nearest of a pool, and the ranks of given texts in it, in blocks of bounded memory.

Scores are computed in single precision. Those that lie within its rounding of what decides (the k-th best; a given text)
are computed again, text by text in double, and rounded once to what trec_eval compares, so that the result is that of a
full sort of exact scores: equal vectors tie, whatever block they stood in, and ties go to the earlier text. Nothing is
ever sorted but a few doubts.

    cosine    q p / |q| |p|, 0 for a zero vector        dot    q p        l2    -|q - p|

For a rank no order is needed: it is 1 + the number of texts that are more similar + the number of earlier ones that tie,
one pass over a row of scores for each text asked about. For the k nearest of more than a million texts, faiss searches
where it is installed, with the same scores and the same doubts settled; it never holds a row of scores.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scirep_core.evaluators.rows import Floats, similarity_of

Singles = NDArray[np.float32]
Places = NDArray[np.int64]
ROUNDING = 1e-5
"""Above the error of a product in single precision, as a share of the product of lengths."""
CELLS = 1 << 25
"""Scores in memory at a time."""
ROWS = 1024
"""Vectors in double precision at a time: 6 MB of 768 numbers, which stays in the cache."""
SPARE = 8
"""More texts than asked for are looked at, so that a doubt about the last is nearly always among them."""
MANY = 1_000_000
"""Texts above which faiss searches for the nearest, if it is installed."""


class Standing(NamedTuple):
    """Where texts stand among all for their queries; each (n,) numbers of texts.

    Attributes:
        above: strictly more similar.
        before: as similar, and earlier in the pool.
        after: as similar, and later.
    """

    above: Places
    before: Places
    after: Places

    @property
    def ranks(self) -> Floats:
        """(n,) 1-based ranks in a stable sort."""
        return (1 + self.above + self.before).astype(np.float64)

    @property
    def tied(self) -> NDArray[np.bool_]:
        """(n,) whether another text is as similar."""
        return self.before + self.after > 0


class Searched(Protocol):
    """Texts to search among: by vectors (`Pool`), or by what scores pairs (`pairs.ScoredPool`, whose queries are ids)."""

    def nearest(self, queries: Any, k: int) -> Places:
        """Return (n, k) places of the most similar texts, best first."""

    def standing(self, queries: Any, rows: Places, places: Places, without: Places | None = None) -> Standing:
        """Return where texts of the pool stand, any number of them for a query."""

    def scores(self, query: Any, places: Places) -> Singles:
        """Return (n,) scores of a query and texts of the pool in single precision, as trec_eval compares them."""


def ranks_of(
    pool: Searched, queries: Any, lists: Sequence[Sequence[int]], without: Places | None = None
) -> tuple[list[Floats], NDArray[np.bool_]]:
    """Return for each query the ranks of a list of texts in a stable sort, and (n,) whether any of them ties.

    Args:
        queries: n of them, as the pool takes them.
        lists: places, -1 for a text that is not in the pool; its rank is inf, as is that of a text left out.
        without: (n,) a text that is no candidate for that query; -1 for none.
    """
    ends = np.cumsum([0, *map(len, lists)])
    rows = np.repeat(np.arange(len(lists)), np.diff(ends))
    places = np.array([place for one in lists for place in one], dtype=np.int64)
    there = places >= 0 if without is None else (places >= 0) & (places != without[rows])
    found = pool.standing(queries, rows[there], places[there], without)
    ranks = np.full(len(places), np.inf)
    ranks[there] = found.ranks
    tied = np.zeros(len(lists), dtype=bool)
    tied[rows[there][found.tied]] = True
    return [ranks[first:last] for first, last in pairwise(ends)], tied


class Pool:
    """Texts to search among, by their vectors.

    Args:
        vectors: (texts, dim), at least one text.
        similarity: cosine, dot or l2; ConfigError for another.
    """

    def __init__(self, vectors: NDArray[np.floating], similarity: str = "cosine") -> None:
        self.vectors, self.similarity = np.asarray(vectors), similarity_of(similarity)
        self._lengths = _lengths(self.vectors)
        longest = float(self._lengths.max())
        self._size = {"cosine": 1.0, "dot": longest, "l2": longest * longest}[similarity]
        # q p - |p| |p| / 2 orders texts as -|q - p| does
        self._singles = self._prepared(self.vectors, self._lengths, -(self._lengths**2) / 2)

    def nearest(self, queries: NDArray[np.floating], k: int) -> Places:
        """Return (n, k) places of the most similar texts of (n, dim) queries, best first; k is at most the number of texts."""
        if not 0 < k <= len(self.vectors):
            raise ValueError(f"{k} nearest of {len(self.vectors)} texts")
        queries = np.asarray(queries)
        found = np.empty((len(queries), k), dtype=np.int64)
        singles, doubts = self._asked(queries)
        looked = min(k + SPARE, len(self.vectors))
        for start, top, at in self._first(singles, looked):
            for i in range(len(top)):
                last = top[i, k - 1] - doubts[start + i]
                candidates = np.sort(at[i])
                if looked < len(self.vectors) and top[i, -1] >= last:  # more are in doubt than were looked at
                    candidates = np.flatnonzero(self._singles @ singles[start + i] >= last)
                exact = self.scores(queries[start + i], candidates)
                found[start + i] = candidates[np.argsort(-exact, kind="stable")[:k]]
        return found

    def ranks(self, queries: NDArray[np.floating], own: Places, without: Places | None = None) -> tuple[Floats, Floats]:
        """Return (n,) ranks of one text of the pool for each query: with every tie won, and with every tie lost.

        Args:
            queries: (n, dim).
            own: (n,) the text whose rank is asked.
            without: (n,) a text that is no candidate for that query.
        """
        found = self.standing(queries, np.arange(len(queries)), own, without)
        best = (1 + found.above).astype(np.float64)
        return best, best + (found.before + found.after)

    def standing(
        self, queries: NDArray[np.floating], rows: Places, places: Places, without: Places | None = None
    ) -> Standing:
        """Return where texts of the pool stand, any number of them for a query.

        Args:
            queries: (n, dim).
            rows: (m,) the query of each text asked about, in ascending order.
            places: (m,) the texts.
            without: (n,) a text that is no candidate for that query; -1 for none.
        """
        queries = np.asarray(queries)
        above, before, after = np.zeros((3, len(places)), dtype=np.int64)
        singles, doubts = self._asked(queries)
        for start, scores in self._blocks(singles):
            ends = np.searchsorted(rows, np.arange(start, start + len(scores) + 1))
            for i, (first, last) in enumerate(pairwise(ends.tolist())):
                if first == last:
                    continue
                row, at, doubt = scores[i], places[first:last], doubts[start + i]
                mine = row[at]
                if without is not None and without[start + i] >= 0:
                    row[without[start + i]] = -np.inf
                unsure = np.zeros(len(row), dtype=bool)
                for j, score in enumerate(mine, first):
                    above[j] = np.count_nonzero(row > score)
                    unsure |= (row >= score - doubt) & (row <= score + doubt)
                texts = np.flatnonzero(unsure)
                if len(texts) == len(at) == 1:  # itself
                    continue
                near, exact = row[texts], self.scores(queries[start + i], texts)
                own = self.scores(queries[start + i], at)
                for j, score, value in zip(range(first, last), mine, own, strict=True):
                    above[j] += np.count_nonzero(exact > value) - np.count_nonzero(near > score)
                    ties = texts[exact == value]
                    before[j], after[j] = np.count_nonzero(ties < places[j]), np.count_nonzero(ties > places[j])
        return Standing(above, before, after)

    # ---- scores ------------------------------------------------------------------------------------------------------

    def scores(self, query: NDArray[np.floating], places: Places) -> Singles:
        """Return (n,) exact scores of a query and texts of the pool, in double precision, rounded once."""
        found = np.empty(len(places), dtype=np.float32)
        q = np.asarray(query, dtype=np.float64)
        length = float(_lengths(q[None])[0])
        for start in range(0, len(places), ROWS):
            at = places[start : start + ROWS]
            texts = self.vectors[at].astype(np.float64)
            if self.similarity == "l2":
                found[start : start + ROWS] = -_lengths(q - texts)
                continue
            products = np.einsum("ij,j->i", texts, q)
            if self.similarity == "cosine":
                products = _divided(products, length * self._lengths[at])
            found[start : start + ROWS] = products
        return found + np.float32(0)  # no negative zero

    def _asked(self, queries: NDArray[np.floating]) -> tuple[Singles, Singles]:
        """Return (n, columns) queries in single precision, and (n,) how far their scores may be off."""
        lengths = _lengths(queries)
        sizes = np.where(lengths > 0, 1.0 if self.similarity == "cosine" else lengths, 0.0)
        if self.similarity == "l2":
            sizes = 1 + sizes / max(float(self._lengths.max()), 1e-30)
            sizes *= 1 + sizes / 50  # far from all texts, distances that differ are rounded to one
        doubts = np.asarray(ROUNDING * self._size * sizes, dtype=np.float32)
        return self._prepared(queries, lengths, np.ones(len(queries))), doubts

    def _blocks(self, singles: Singles) -> Iterator[tuple[int, Singles]]:
        """Yield (first query, (some, texts) scores in single precision); the next block is written over this one."""
        step = max(1, min(ROWS, CELLS // len(self.vectors), len(singles)))
        scores = np.empty((step, len(self.vectors)), dtype=np.float32)
        for start in range(0, len(singles), step):
            part = singles[start : start + step]
            yield start, np.matmul(part, self._singles.T, out=scores[: len(part)])

    def _first(self, singles: Singles, looked: int) -> Iterator[tuple[int, Singles, Places]]:
        """Yield (first query, (some, looked) best scores in single precision, (some, looked) their texts)."""
        if len(self.vectors) > MANY and (faiss := _faiss()) is not None:
            for start in range(0, len(singles), ROWS):
                part = singles[start : start + ROWS]
                yield start, *faiss.knn(part, self._singles, looked, metric=faiss.METRIC_INNER_PRODUCT)
            return
        import torch  # takes a second, and most commands search for nothing

        for start, scores in self._blocks(singles):
            top, at = torch.topk(torch.from_numpy(scores), looked, dim=1)
            yield start, top.numpy(), at.numpy()

    def _prepared(self, vectors: NDArray[np.floating], lengths: Floats, column: Floats) -> Singles:
        """Return (n, dim) vectors whose products are scores, in single precision; of l2 with one more column."""
        if self.similarity == "dot":
            return np.ascontiguousarray(vectors, dtype=np.float32)
        wide = self.similarity == "l2"
        made = np.empty((len(vectors), vectors.shape[1] + wide), dtype=np.float32)
        for start in range(0, len(vectors), ROWS):
            part = slice(start, start + ROWS)
            if wide:
                made[part, :-1], made[part, -1] = vectors[part], column[part]
            else:
                made[part] = _divided(vectors[part].astype(np.float64), lengths[part, None])
        return made


def _faiss() -> Any:
    try:
        return importlib.import_module("faiss")
    except ImportError:
        return None


def _lengths(vectors: NDArray[np.floating]) -> Floats:
    found = np.empty(len(vectors))
    for start in range(0, len(vectors), ROWS):
        exact = vectors[start : start + ROWS].astype(np.float64)
        found[start : start + ROWS] = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    return found


def _divided(top: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(top, below, out=np.zeros_like(top), where=below > 0))
