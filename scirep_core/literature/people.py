"""Authors, lightly: enough to give each paper a plausible team; the author tasks of the whole book will build on it.

An author belongs to one topic. A paper takes one to five authors of its topic, the early numbers of a topic more often
than the late ones (the square of a uniform number), so that output per author is skewed. Names are drawn with
replacement from short lists: two authors may share a name, as in life.
"""

from __future__ import annotations

import itertools

import numpy as np

from scirep_core.literature.latents import Latents, stream
from scirep_core.literature.lexicon import lexicon

PAPERS_PER_AUTHOR = 3
TEAM = (1, 5)
FINE = 1 << 15


def draw_authors(latents: Latents, seed: int) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Return each paper's author numbers (order of the byline) and how many authors there are."""
    rng = stream(seed, "people")
    topics = len(lexicon().topics)
    papers = len(latents)
    per_topic = max(TEAM[1], papers // (PAPERS_PER_AUTHOR * topics))
    sizes = rng.integers(TEAM[0], TEAM[1] + 1, size=papers)
    draws = rng.integers(0, FINE, size=int(sizes.sum()))
    number = np.repeat(latents.topic, sizes) * per_topic + (per_topic * ((draws * draws) // FINE)) // FINE
    cuts, flat = np.concatenate([[0], np.cumsum(sizes)]).tolist(), number.tolist()
    # a name drawn twice for one paper stands once
    teams = tuple(tuple(dict.fromkeys(flat[a:b])) for a, b in itertools.pairwise(cuts))
    return teams, topics * per_topic


def names(authors: int, seed: int) -> tuple[str, ...]:
    """Return a name for each author number."""
    words = lexicon()
    rng = stream(seed, "names")
    given = rng.integers(0, len(words.given_names), size=authors).tolist()
    family = rng.integers(0, len(words.family_names), size=authors).tolist()
    return tuple(f"{words.given_names[g]} {words.family_names[f]}" for g, f in zip(given, family, strict=True))
