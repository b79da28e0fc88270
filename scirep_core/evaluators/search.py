"""Exact search: the k nearest of a pool, and the rank of a given text in it, in blocks of bounded memory.

Scores are computed in single precision. Those that lie within its rounding of what decides (the k-th best; the given text)
are computed again, pair by pair in double, and rounded once, so that the result is that of a full sort of exact scores:
equal vectors tie, whatever block they stood in, and ties go to the earlier text among the k nearest, while a rank counts the
texts that are strictly more similar (1 + their number).

    cosine    q p / |q| |p|, 0 for a zero vector        dot    q p        l2    -|q - p|
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from scirep_core.evaluators.rows import similarity_of

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Places = NDArray[np.int64]
ROUNDING = 1e-5
"""Above the error of a product in single precision, as a share of the product of lengths."""
CELLS = 1 << 25
"""Scores in memory at a time."""
SPARE = 8
"""More texts than asked for are looked at, so that a doubt about the last is nearly always among them."""


class Pool:
    """Texts to search among.

    Args:
        vectors: (texts, dim), at least one text.
        similarity: cosine, dot or l2; ConfigError for another.
    """

    def __init__(self, vectors: NDArray[np.floating], similarity: str = "cosine") -> None:
        self.vectors, self.similarity = np.asarray(vectors), similarity_of(similarity)
        self._lengths = _lengths(self.vectors)
        self._singles = torch.from_numpy(self._prepared(self.vectors, self._lengths))
        longest = float(self._lengths.max())
        self._size = {"cosine": 1.0, "dot": longest, "l2": longest * longest}[similarity]
        if similarity == "l2":  # q p - |p| |p| / 2 orders texts as -|q - p| does
            half = torch.from_numpy((self._lengths**2 / 2).astype(np.float32))
            self._singles = torch.cat([self._singles, -half[:, None]], dim=1)

    def nearest(self, queries: NDArray[np.floating], k: int, without: Places | None = None) -> Places:
        """Return (n, k) places of the most similar texts, best first.

        Args:
            queries: (n, dim).
            k: at most the number of texts, less one with `without`.
            without: (n,) a text that is no candidate for that query.
        """
        return self.best(queries, k, without)[0]

    def best(self, queries: NDArray[np.floating], k: int, without: Places | None = None) -> tuple[Places, Singles]:
        """Return (n, k) places of the most similar texts, best first, and their (n, k) scores; see `nearest`."""
        if not 0 < k <= len(self.vectors) - (without is not None):
            raise ValueError(f"{k} nearest of {len(self.vectors)} texts" + (" less one" if without is not None else ""))
        queries = np.asarray(queries)
        found, values = np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k), dtype=np.float32)
        looked = min(k + SPARE, len(self.vectors))
        for start, scores, doubt in self._blocks(queries):
            rows = slice(start, start + len(scores))
            own = None if without is None else without[rows]
            if own is not None:
                scores[torch.arange(len(scores)), torch.from_numpy(own)] = -torch.inf
            top, at = torch.topk(scores, looked, dim=1)
            last = top[:, k - 1] - doubt
            candidates = at.sort(dim=1).values.numpy()
            exact = self._each(queries[rows], candidates, own)
            order = np.argsort(-exact, axis=1, kind="stable")[:, :k]
            found[rows], values[rows] = (np.take_along_axis(part, order, axis=1) for part in (candidates, exact))
            if looked < len(self.vectors):  # a query with more candidates in doubt than were looked at
                for row in torch.nonzero(top[:, -1] >= last).flatten().tolist():
                    several = torch.nonzero(scores[row] >= last[row]).flatten().numpy()
                    again = self._pairs(queries[rows][np.full(len(several), row)], several)
                    chosen = np.argsort(-again, kind="stable")[:k]
                    found[start + row], values[start + row] = several[chosen], again[chosen]
        return found, values

    def ranks(self, queries: NDArray[np.floating], own: Places, without: Places | None = None) -> tuple[Floats, Floats]:
        """Return (n,) ranks of one text of the pool for each query: with every tie won, and with every tie lost.

        Args:
            queries: (n, dim).
            own: (n,) the text whose rank is asked.
            without: (n,) a text that is no candidate for that query.
        """
        queries = np.asarray(queries)
        best, worst = np.empty(len(queries)), np.empty(len(queries))
        for start, scores, doubt in self._blocks(queries):
            rows = slice(start, start + len(scores))
            every, at = torch.arange(len(scores)), own[rows]
            mine = scores[every, torch.from_numpy(at)]
            if without is not None:
                scores[every, torch.from_numpy(without[rows])] = -torch.inf
            above = (scores > (mine + doubt)[:, None]).sum(dim=1)
            close = (scores >= (mine - doubt)[:, None]).sum(dim=1) - above
            best[rows] = worst[rows] = 1 + above.numpy()
            unsure = torch.nonzero(close > 1).flatten()  # a text is always close to itself
            exact = self._pairs(queries[rows][unsure.numpy()], at[unsure.numpy()])
            for row, value in zip(unsure.tolist(), exact, strict=True):
                near = torch.nonzero((scores[row] - mine[row]).abs() <= doubt[row]).flatten().numpy()
                again = self._pairs(queries[rows][np.full(len(near), row)], near)
                nearer = np.count_nonzero(again > value)
                best[start + row] += nearer
                worst[start + row] += nearer + np.count_nonzero(again == value) - 1
        return best, worst

    # ---- scores ------------------------------------------------------------------------------------------------------

    def _blocks(self, queries: NDArray[np.floating]) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """Yield (first query, (some, texts) scores in single precision, (some,) how far they may be off)."""
        lengths = _lengths(queries)
        singles = torch.from_numpy(self._prepared(queries, lengths))
        sizes = torch.from_numpy(np.where(lengths > 0, 1.0 if self.similarity == "cosine" else lengths, 0.0))
        if self.similarity == "l2":
            singles = torch.cat([singles, torch.ones(len(singles), 1)], dim=1)
            sizes = 1 + sizes / max(float(self._lengths.max()), 1e-30)
        step = max(1, min(1024, CELLS // len(self.vectors)))
        for start in range(0, len(queries), step):
            doubt = (ROUNDING * self._size * sizes[start : start + step]).float()
            yield start, singles[start : start + step] @ self._singles.T, doubt

    def _prepared(self, vectors: NDArray[np.floating], lengths: Floats) -> Singles:
        if self.similarity != "cosine":
            return np.asarray(vectors, dtype=np.float32)
        return np.asarray(_divided(np.asarray(vectors, dtype=np.float64), lengths[:, None]), dtype=np.float32)

    def _each(self, queries: NDArray[np.floating], places: Places, without: Places | None) -> Singles:
        """Return (n, m) exact scores of each query and (n, m) texts; -inf where a text is no candidate."""
        n, m = places.shape
        scores = self._pairs(np.repeat(queries, m, axis=0), places.ravel()).reshape(n, m)
        if without is not None:
            scores[places == without[:, None]] = -np.inf
        return scores

    def _pairs(self, queries: NDArray[np.floating], places: Places) -> Singles:
        """Return (n,) exact scores of query i and text `places[i]`, in double precision, rounded once."""
        scores = np.empty(len(places), dtype=np.float32)
        step = max(1, CELLS // 8 // self.vectors.shape[1])
        for start in range(0, len(places), step):
            at = places[start : start + step]
            q, p = (np.asarray(part, dtype=np.float64) for part in (queries[start : start + step], self.vectors[at]))
            if self.similarity == "l2":
                scores[start : start + step] = -_lengths(q - p)
                continue
            found = np.einsum("ij,ij->i", q, p)
            if self.similarity == "cosine":
                found = _divided(found, _lengths(q) * self._lengths[at])
            scores[start : start + step] = found
        return scores + np.float32(0)  # no negative zero


def _lengths(vectors: NDArray[np.floating]) -> Floats:
    exact = np.asarray(vectors, dtype=np.float64)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", exact, exact)))


def _divided(top: Floats, below: Floats) -> Floats:
    """Divide, 0 where the divisor is 0."""
    return np.asarray(np.divide(top, below, out=np.zeros_like(top), where=below > 0))
