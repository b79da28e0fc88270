"""Who cites whom: similarity, recency and fame.

A reference is made in three steps. First its reason: same problem, same method, same topic, same field, or none
(`REASONS`, per cent). Then, among the papers that share it and appeared in a strictly earlier year, three candidates
are drawn with a preference for the recent (position k * (1 - u*v) in order of time: the product of two uniform numbers
is small more often than not). The most famous of the three is cited. Background dominates the reasons, so that a cited
paper is usually related in background and seldom similar in method or result: the finding of CSFCube, appendix D.

Everything is done for all references at once; the cost is linear in the number of references.
"""

from __future__ import annotations

import numpy as np

from scirep_core.literature.latents import Ints, Latents, stream

REASONS = (("problem", 22), ("topic", 26), ("method", 10), ("field", 26), ("any", 16))
FEWEST, MOST = 6, 34  # references drawn per paper; doubles fall away
PROPOSALS = 3
FINE = 1 << 15


def draw_citations(latents: Latents, seed: int) -> tuple[tuple[int, ...], ...]:
    """Return for each paper the positions of the papers it cites, ascending, all of strictly earlier years."""
    rng = stream(seed, "citations")
    papers = len(latents)
    wanted = rng.integers(FEWEST, MOST + 1, size=papers)
    source = np.repeat(np.arange(papers), wanted)
    reason = np.searchsorted(
        np.cumsum([share for _, share in REASONS]), rng.integers(0, 100, size=len(source)), side="right"
    )
    target = np.full(len(source), -1)
    for number, (name, _) in enumerate(REASONS):
        rows = np.flatnonzero(reason == number)
        bucket = np.zeros(papers, dtype=np.int64) if name == "any" else getattr(latents, name)
        target[rows] = _earlier(rng, latents, bucket, source[rows])
    pairs = np.unique(source[target >= 0] * papers + target[target >= 0])
    starts = np.searchsorted(pairs, np.arange(papers + 1) * papers)
    cited = (pairs % papers).tolist()
    return tuple(tuple(cited[a:b]) for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))


def _earlier(rng: np.random.Generator, latents: Latents, bucket: Ints, source: Ints) -> Ints:
    """Return for each citing paper one earlier paper of its bucket, or -1 where there is none."""
    span = int(latents.year.max()) + 1
    key = bucket * span + latents.year
    order = np.argsort(key, kind="stable")  # by bucket, then in order of time
    first = np.searchsorted(key[order], bucket[source] * span)
    available = np.searchsorted(key[order], key[source]) - first  # papers of the bucket before this year
    u, v = rng.integers(0, FINE, size=(2, PROPOSALS, len(source)))
    position = first + np.maximum(available - 1 - (available * ((u * v) // FINE)) // FINE, 0)
    proposals = order[np.minimum(position, len(order) - 1)]
    best = np.take_along_axis(proposals, latents.fame[proposals].argmax(axis=0)[None], axis=0)[0]
    return np.where(available > 0, best, -1)
