"""Proximity by what readers do (SciDocs Co-view and Co-read; Feeds of SciRepEval v1).

| task | a candidate scores | what decides | exact? | relation |
|---|---|---|---|---|
| scidocs_view | 1: most often in one session with the query (5); 0: random (25) | problem, topic; obstacle, mode | no | related |
| scidocs_read | 1: downloaded in one session with it (5); 0: random (25) | problem, topic; condition; quality | no | related |
| feeds_1 | 1: liked in the feed of a reader who named one paper; 0: not | mode, condition, polarity; moods | no | unrelated |
| feeds_m | the same, readers who named three | the same, and what the three share | no | unrelated |
| feeds_title | feeds_1, asked with the title alone | the same | no | unrelated |

Those who view and read go from paper to paper of a topic, as citations do, but also by difficulty and circumstances. The
readers of feeds are unrelated in a strict sense: they care for nothing that decides a training task of proximity
(authorship, problem, topic, area, field, method, family, finding group); they follow a way of working and the circumstances
of a finding, across all fields. A topic has its usual conditions (latents.py), so topical vectors are above chance here, but
no more than that.

A session starts at a paper and goes on from paper to paper, each sharing some of those traits with the last (`STEPS`),
now and then (half of the dial `noise`) to anywhere. In it, papers are downloaded that are solid, or hold under the
condition that the reader came for.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scirep_core.data.literature.emit import split as hub
from scirep_core.data.literature.emit.files import scaled
from scirep_core.data.literature.emit.judged import write_asked, write_judgements, write_texts
from scirep_core.data.literature.emit.scirepeval.relevance import (  # fmt: skip
    PROFILES,
    Pools,
    Traits,
    alike,
    anyone,
    askers,
    at,
    distinct,
    first,
    graded,
    judged,
    sharing,
    shuffled,
    traits,
    without,
    write_paper_oracle,
)
from scirep_core.data.literature.emit.split import EVALUATION, FLAT, held_out
from scirep_core.data.literature.latents import LEVELS, NONE, Ints, chance, stream, weighted
from scirep_core.data.literature.model import Literature

STEPS = {
    "view": ((("problem",), 3), (("topic",), 3), (("area", "obstacle"), 2), (("obstacle", "mode"), 2)),
    "read": ((("problem",), 3), (("topic",), 2), (("area", "condition"), 3), (("obstacle", "condition"), 2)),
}
"""Traits that the next paper of a session shares with the last, and how often (of ten)."""
SESSIONS, LENGTH = 9, 5
"""Sessions that start at a query, and papers that follow in each."""
FEED = (("mode", "condition"), 2), (("mode", "polarity"), 2), (("mode",), 1), (("condition", "polarity"), 2)
LIKED = 4
"""Likeness from which on a paper is liked: the mode and one thing more."""
SEEDS = 3


def write(root: Path, literature: Literature) -> None:
    """Write Co-view and Co-read (texts: second file of scidocs_view_cite_read), and the three feeds."""
    _sessions(root, literature)
    _feeds(root, literature)


def _sessions(root: Path, literature: Literature) -> None:
    papers, everybody = traits(literature), len(literature)
    size = scaled(everybody, 1_000, 2.5, 40)
    seen = []
    for name, scimult in (("view", "coview"), ("read", "coread")):
        queries = askers(literature, f"scidocs_{name}", held_out(literature) == EVALUATION, 3 * size)
        rng = stream(literature.seed, f"sessions {name}")
        visited = _wander(rng, literature, papers, np.repeat(queries, SESSIONS), name)
        if name == "read":
            visited = _downloaded(rng, literature, papers, np.repeat(queries, SESSIONS), visited)
        together = visited.reshape(len(queries), SESSIONS * LENGTH)
        random = without(anyone(rng, np.arange(everybody), len(queries), 40), together)
        pools = judged(rng, queries, _most_often(rng, together), random, (5, 25), all_positives=True).rows(slice(size))
        write_judgements(root, literature, f"scidocs_{name}", pools)
        tasks = [f"scirepeval/scidocs_{name}", f"scimult/{scimult}"]
        write_paper_oracle(root, literature, tasks, PROFILES[name], pools)
        seen += [pools.queries, pools.candidates()]
    hub.write_texts(root, literature, "scidocs_view_cite_read", FLAT, np.concatenate(seen), shard=1)


def _wander(rng: np.random.Generator, literature: Literature, papers: Traits, starts: Ints, name: str) -> Ints:
    """Return (sessions, LENGTH): the papers seen after the first."""
    reasons = STEPS[name]
    visited, last = [], starts
    for _ in range(LENGTH):
        reason = weighted(rng, [share for _, share in reasons], len(starts))
        options = sharing(rng, papers, last, [(names, 1) for names, _ in reasons])
        lost = chance(rng, literature.dials.noise / 2, len(starts))
        following = np.where(lost, rng.integers(0, len(literature), size=len(starts)), np.choose(reason, options.T))
        visited.append(following)
        # half of the time a reader goes back to the paper the session started from
        last = np.where(chance(rng, 0.5, len(starts)), starts, following)
    return np.stack(visited, axis=1)


def _downloaded(rng: np.random.Generator, literature: Literature, papers: Traits, starts: Ints, visited: Ints) -> Ints:
    """Return what is downloaded of the papers seen: solid ones, and those that hold under the wanted condition."""
    wanted = papers["condition"][visited] == papers["condition"][starts][:, None]
    pull = literature.latents.quality[visited] // 2 + np.where(wanted, LEVELS // 2, 0)
    return np.where(rng.integers(0, LEVELS, size=visited.shape) < pull, visited, NONE)


def _most_often(rng: np.random.Generator, table: Ints) -> Ints:
    """Return each row with what stands in it most often first, ties in random order."""
    times = (table[:, :, None] == table[:, None, :]).sum(axis=2)
    order = np.lexsort((rng.integers(0, 1 << 30, size=table.shape), np.where(table == NONE, 0, -times)), axis=1)
    return np.take_along_axis(table, order, axis=1)


def _feeds(root: Path, literature: Literature) -> None:
    everybody = len(literature)
    for name, published, percent, seeds in (("feeds_1", 423, 2.0, 1), ("feeds_m", 9_025, 1.5, SEEDS)):
        readers = scaled(everybody, published // seeds, percent, 40)
        queries = askers(literature, name, held_out(literature) == EVALUATION, readers)
        pools = _rated(literature, name, queries, seeds)
        write_texts(root, literature, name, "evaluation", pools)
        write_judgements(root, literature, name, pools)
        write_paper_oracle(root, literature, [f"scirepeval/{name}"], PROFILES["feeds"], pools)
        if name == "feeds_1":
            _titles(root, literature, pools)


def _rated(literature: Literature, name: str, queries: Ints, seeds: int) -> Pools:
    """Return ten papers for each reader, liked or not; with several seeds, the same ten for each of them.

    Further seeds share mode and condition with the first. Where a reader's taste and the day's mood differ, the
    label is the mood's.
    """
    papers = traits(literature)
    rng = stream(literature.seed, name)
    feed = [sharing(rng, papers, queries, FEED), anyone(rng, np.arange(len(literature)), len(queries), 14)]
    alike_taste = sharing(rng, papers, queries, [(("mode", "condition"), 4 * (seeds - 1))])
    others = np.concatenate([queries[:, None], alike_taste], axis=1)
    # a seed must be new to the whole task: queries are known by their id
    flat = others.ravel()
    seen_before = np.ones(len(flat), dtype=np.bool_)
    seen_before[np.unique(flat, return_index=True)[1]] = False
    allowed = ~seen_before.reshape(others.shape) & (others != NONE)
    allowed[:, 1:] &= (held_out(literature)[others[:, 1:]] == EVALUATION) & ~np.isin(others[:, 1:], queries)
    allowed[:, 0] = True
    named = first(np.where(allowed, others, NONE), seeds)
    table = shuffled(rng, first(without(distinct(np.concatenate(feed, axis=1), queries), named), 10))
    liked = graded(alike(PROFILES["feeds"], at(papers, queries), papers, table), LIKED)
    moods = chance(rng, literature.dials.noise / 3, table.shape)
    grades = np.where(table == NONE, 0, np.where(moods, 1 - liked, liked))
    rows, column = np.nonzero(named != NONE)
    pools = Pools(named[rows, column], table[rows], grades[rows])
    told_apart = pools.grades.any(axis=1) & ((pools.grades == 0) & (pools.table != NONE)).any(axis=1)
    return pools.rows(told_apart)


def _titles(root: Path, literature: Literature, pools: Pools) -> None:
    """Write the first feed once more, with the seed's title for a query."""
    seeds = literature.papers_at(pools.queries)
    asked = [{"query": paper.title, "doc_id": f"title-{paper.paper_id}"} for paper in seeds]
    wanted = at(traits(literature), pools.queries)
    tasks = ["scirepeval/feeds_title"]
    write_asked(root, literature, "feeds_title", tasks, PROFILES["feeds"], pools, asked, wanted)
