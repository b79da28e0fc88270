"""Who cites whom, and how often in the text: similarity, recency and fame.

A reference is made in three steps. First its reason: same problem, same method, same topic, area or field, or none
(`REASONS`, per cent). Then, among the papers that share it and appeared in a strictly earlier year, three candidates
are drawn with a preference for the recent (position k * (1 - u*v) in order of time: the product of two uniform numbers
is small more often than not). The most famous of the three is cited. Background dominates the reasons, so that a cited
paper is usually related in background and seldom similar in method or result: the finding of CSFCube, appendix D.

A reference is mentioned once in the text, and once more for each of: same problem (two more), same family of methods,
same group of findings, plus, now and then, by chance. Four or more make it highly influential (SciRepEval A.2).
"""

from __future__ import annotations

import numpy as np

from scirep_core.data.literature.latents import Dials, Ints, Latents, Random, chance, stream, weighted
from scirep_core.data.literature.links import Links

REASONS = (("problem", 22), ("topic", 26), ("method", 10), ("area", 20), ("field", 14), ("any", 8))
FEWEST, MOST = 6, 34  # references drawn per paper; doubles fall away
PROPOSALS = 3
FINE = 1 << 15
BLOCK = 1 << 17
INFLUENTIAL = 4
"""Mentions from which on a citation counts as highly influential."""


def draw_citations(latents: Latents, seed: int, dials: Dials) -> Links:
    """Return for each paper the positions it cites, ascending, all of strictly earlier years; values: mentions."""
    papers = len(latents)
    wanted = stream(seed, "citations").integers(FEWEST, MOST + 1, size=papers)
    orders = {name: _order(latents, name) for name, _ in REASONS}
    starts, items, values = [np.zeros(1, np.int64)], [], []
    for part, begin in enumerate(range(0, papers, BLOCK)):
        rows = np.arange(begin, min(begin + BLOCK, papers))
        rng = stream(seed, "citations", 1 + part)
        source = np.repeat(rows, wanted[rows])
        reason = weighted(rng, [share for _, share in REASONS], len(source))
        target = np.full(len(source), -1)
        for number, (name, _) in enumerate(REASONS):
            of_reason = np.flatnonzero(reason == number)
            target[of_reason] = _earlier(rng, latents, orders[name], source[of_reason])
        pairs = np.unique(source[target >= 0] * papers + target[target >= 0])
        citing, cited = pairs // papers, pairs % papers
        starts.append(starts[-1][-1] + np.searchsorted(citing, rows, side="right"))
        items.append(cited)
        values.append(_mentions(rng, latents, citing, cited, dials))
    return Links(np.concatenate(starts), np.concatenate(items), np.concatenate(values))


def _order(latents: Latents, name: str) -> tuple[Ints, Ints, Ints, int]:
    """Return (bucket of each paper, papers by bucket and time, their keys, span of the keys)."""
    bucket = np.zeros(len(latents), dtype=np.int64) if name == "any" else getattr(latents, name)
    span = int(latents.year.max()) + 1
    key = bucket * span + latents.year
    order = np.argsort(key, kind="stable")
    return bucket, order, key[order], span


def _earlier(rng: Random, latents: Latents, ordered: tuple[Ints, Ints, Ints, int], source: Ints) -> Ints:
    """Return for each citing paper one earlier paper of its bucket, or -1 where there is none."""
    bucket, order, keys, span = ordered
    first = np.searchsorted(keys, bucket[source] * span)
    available = np.searchsorted(keys, bucket[source] * span + latents.year[source]) - first  # before this year
    u, v = rng.integers(0, FINE, size=(2, PROPOSALS, len(source)))
    position = first + np.maximum(available - 1 - (available * ((u * v) // FINE)) // FINE, 0)
    proposals = order[np.minimum(position, len(order) - 1)]
    best = proposals[latents.fame[proposals].argmax(axis=0), np.arange(len(source))]
    return np.where(available > 0, best, -1)


def _mentions(rng: Random, latents: Latents, citing: Ints, cited: Ints, dials: Dials) -> Ints:
    mentions: Ints = 1 + chance(rng, 0.3 * dials.noise, len(citing)) * rng.integers(1, 4, size=len(citing))
    for name, more in (("problem", 2), ("family", 1), ("group", 1)):
        mentions += more * (getattr(latents, name)[citing] == getattr(latents, name)[cited])
    return mentions
