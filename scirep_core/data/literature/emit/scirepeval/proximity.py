"""Proximity: rank candidates of a query paper (SciRepEval A.2; SciDocs; Feeds of SciRepEval v1).

    task                 a candidate scores
    same_author          1: same author; 0: a namesake of the same block
    high_influence_cite  1: cited INFLUENTIAL times or more; 0: cited
    relish               0-2, the middle of three raters
    scidocs_*            1: cited, most often cited together, viewed or downloaded in one session (5); 0: random (25)
    feeds_*              1: liked in the feed of a reader who named one paper (feeds_m: three); 0: not

Where people err the oracle ranks by the noise-free likeness of judged.PROFILES. A paper has one author for the purposes of
same_author and S2AND, the one drawn by `signatures`; hence exact vectors exist.

The readers of feeds care for nothing that decides a training task of proximity; they follow a way of working and the
circumstances of a finding, across all fields. A topic has its usual conditions (latents.py), so topical vectors are above
chance here, but no more than that.

A session starts at a paper and goes on from paper to paper, each sharing some traits with the last (`STEPS`), now and then
(half of the dial `noise`) to anywhere.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scirep_core.data.literature.citations import INFLUENTIAL, MOST
from scirep_core.data.literature.emit import split as hub
from scirep_core.data.literature.emit.files import Column, digits, scaled, write_oracle
from scirep_core.data.literature.emit.scirepeval import judged
from scirep_core.data.literature.emit.split import EVALUATION, flat, held_out
from scirep_core.data.literature.latents import LEVELS, NONE, Ints, Mask, Random, chance, stream, weighted
from scirep_core.data.literature.lexicon import lexicon
from scirep_core.data.literature.links import from_lists
from scirep_core.data.literature.model import Literature
from scirep_core.data.literature.people import People

FAME = 4.0  # of the oracle of citations: how near fame brings a candidate
CODE = 24  # binary digits of an author's number, in oracles
OF_BLOCK = ("aminer", "inspire", "kisti", "pubmed", "qian", "zbmath")
"""Collections of S2AND, as Same Author Detection spells them; blocks are dealt to them."""
RATED = 60
RELISH = ((("topic", "family"), 14), (("topic",), 30), (("area", "family"), 14), (("area",), 16), (("family",), 8),
          ((), RATED))  # fmt: skip
"""Candidates that the raters see, and what they share with the query, how many of each drawn."""
TOGETHER = 50
"""Citing papers of a query that co-citation looks at."""
STEPS = {
    "view": ((("problem",), 3), (("topic",), 3), (("area", "obstacle"), 2), (("obstacle", "mode"), 2)),
    "read": ((("problem",), 3), (("topic",), 2), (("area", "condition"), 3), (("obstacle", "condition"), 2)),
}
"""Traits that the next paper of a session shares with the last, and how often (of ten)."""
SESSIONS, LENGTH = 9, 5
"""Sessions that start at a query, and papers that follow in each."""
FEED = (("mode", "condition"), 2), (("mode", "polarity"), 2), (("mode",), 1), (("condition", "polarity"), 2), ((), 14)
LIKED = 4
"""Likeness from which on a paper is liked: the mode and one thing more."""
SEEDS = 3
SCIDOCS = 1_000, 2.5, 40
"""Queries of a task of SciDocs: published, in per cent of the papers, at least."""
FIVE_OF_THIRTY = 5, 25


def write(root: Path, literature: Literature) -> None:
    """Write the ten tasks; of the first two also the training sets. Texts of SciDocs are two files, citation and readers."""
    _same_author(root, literature)
    _high_influence(root, literature)
    _relish(root, literature)
    _scidocs(root, literature)
    _feeds(root, literature)


def signatures(literature: Literature) -> tuple[Ints, Ints]:
    """Return for each paper the author it stands for, and that author's position in the byline."""
    teams = literature.people.teams
    rng = stream(literature.seed, "signatures")
    position = rng.integers(0, 1 << 30, size=len(literature)) % teams.counts()
    return teams.items[teams.starts[:-1] + position], position


def blocks(people: People) -> Ints:
    """Return each author's block as a number: equal for equal first initial and family name."""
    initials = np.array([ord(name[0].lower()) for name in lexicon().given_names])
    return initials[people.given] * (1 + int(people.family.max())) + people.family


def collection_of(block: Ints) -> Ints:
    """Return which of the six collections each block belongs to."""
    return (block * 2_654_435_761 >> 7) % len(OF_BLOCK)


def _same_author(root: Path, literature: Literature) -> None:
    author, _ = signatures(literature)
    block = blocks(literature.people)[author]
    papers = len(literature)
    sizes = scaled(papers, 76_489, 12, 40), scaled(papers, 13_585, 1.5, 10), scaled(papers, 13_585, 3, 40)
    dataset: Column = ("string", lambda i: OF_BLOCK[collection_of(block[i])])
    for split, size, queries, allowed in judged.parts(literature, "same_author", 3, *sizes):
        rng = stream(literature.seed, "same author", judged.PARTS.index(split))
        pools = _namesakes(rng, literature, author, block, queries, allowed).rows(slice(size))
        judged.write_texts(root, literature, "same_author", split, pools, query={"dataset": dataset})
    judged.write_judgements(root, literature, "same_author", pools)
    positions = pools.papers()
    write_oracle(root, "scirepeval/same_author", literature.ids(positions), digits(author[positions], CODE))


def _namesakes(
    rng: Random, literature: Literature, author: Ints, block: Ints, queries: Ints, allowed: Mask
) -> judged.Pools:
    """Return up to five papers of each query's author and five of namesakes, those of similar topics first."""
    same = judged.partners(rng, author, author[queries], 15, allowed)
    others = judged.distinct(judged.partners(rng, block, block[queries], 40, allowed), queries)
    # a paper of which the author is a co-author is no namesake's
    teams, _ = judged.linked(literature.people.teams, others.ravel(), 5)
    theirs = (teams.reshape(*others.shape, 5) == author[queries][:, None, None]).any(axis=2)
    others = np.where(theirs | (author[others] == author[queries][:, None]), NONE, others)
    papers = judged.traits(literature)
    near = judged.alike("namesakes", judged.at(papers, queries), papers, others)
    others = judged.ordered(others, -near)
    # queries with a namesake close by come first: telling a chemist from a lawyer needs no style
    order = np.argsort(-(near * (others != NONE)).max(axis=1), kind="stable")
    return judged.binary(rng, queries[order], same[order], others[order], (5, 5))


def _high_influence(root: Path, literature: Literature) -> None:
    papers = len(literature)
    sizes = scaled(papers, 65_982, 15, 40), scaled(papers, 1_199, 1, 10), scaled(papers, 1_199, 3, 40)
    for split, size, queries, allowed in judged.parts(literature, "high_influence_cite", 3, *sizes):
        cited, mentions = judged.linked(literature.cites, queries, MOST)
        cited = np.where(allowed[cited], cited, NONE)
        often = (mentions >= INFLUENTIAL) & (cited != NONE)
        told_apart = often.any(axis=1) & ((cited != NONE) & ~often).any(axis=1)
        pools = judged.Pools(queries, cited, often.astype(np.int64)).rows(told_apart).rows(slice(size))
        judged.write_task(root, literature, "high_influence_cite", pools, "high_influence_cite", split=split)


def _scidocs(root: Path, literature: Literature) -> None:
    papers, size = judged.traits(literature), scaled(len(literature), *SCIDOCS)
    for shard, (draw, names) in enumerate(((_cited, ("cite", "cocite")), (_seen, ("view", "read")))):
        positions = []
        for name in names:
            rng, queries, positives, random = draw(literature, papers, name, size)
            pools = judged.binary(rng, queries, positives, random, FIVE_OF_THIRTY, FIVE_OF_THIRTY[0]).rows(slice(size))
            judged.write_judgements(root, literature, f"scidocs_{name}", pools)
            again, profile, fame = (f"{name}_rerank", "cite", FAME) if draw is _cited else (f"co{name}", name, 0.0)
            tasks = [f"scirepeval/scidocs_{name}", f"scimult/{again}"]
            judged.write_oracles(root, literature, tasks, profile, pools, fame=fame)
            positions.append(pools.papers())
        hub.write_texts(root, "scidocs_view_cite_read", flat(literature), np.concatenate(positions), shard)


def _random(rng: Random, papers: judged.Traits, queries: Ints, close: Ints) -> Ints:
    return judged.without(judged.sharing(rng, papers, queries, [((), 40)]), close)


def _cited(literature: Literature, papers: judged.Traits, name: str, size: int) -> tuple[Random, Ints, Ints, Ints]:
    """Return what goes on to draw, queries, their positives, the likeliest first, and random papers; so does `_seen`."""
    queries = judged.askers(literature, f"scidocs_{name}", 4 * size)
    rng = stream(literature.seed, f"scidocs_{name}")
    cites, cited_by = (judged.linked(links, queries, 200)[0] for links in (literature.cites, literature.cited_by))
    if name == "cite":
        positives, close = judged.shuffled(rng, cites), np.concatenate([cites, cited_by], axis=1)
    else:
        positives = close = _cocited(rng, literature, queries)
    return rng, queries, positives, _random(rng, papers, queries, close)


def _cocited(rng: Random, literature: Literature, queries: Ints) -> Ints:
    """Return for each query the papers cited together with it, the most often first, ties in random order."""
    rows = []
    for query in queries.tolist():
        found, count = literature.cited_with(query, TOGETHER)
        rows.append(found[np.lexsort((rng.integers(0, 1 << 30, size=len(found)), -count))])
    return judged.linked(from_lists(rows), np.arange(len(rows)), max(map(len, rows), default=1))[0]


def _seen(literature: Literature, papers: judged.Traits, name: str, size: int) -> tuple[Random, Ints, Ints, Ints]:
    queries = judged.askers(literature, f"scidocs_{name}", 3 * size)
    rng, starts = stream(literature.seed, f"sessions {name}"), np.repeat(queries, SESSIONS)
    visited = _wander(rng, literature, papers, starts, name)
    if name == "read":  # what is downloaded: solid papers, and those that hold under the wanted condition
        wanted = papers["condition"][visited] == papers["condition"][starts][:, None]
        pull = literature.latents.quality[visited] // 2 + np.where(wanted, LEVELS // 2, 0)
        visited = np.where(rng.integers(0, LEVELS, size=visited.shape) < pull, visited, NONE)
    together = visited.reshape(len(queries), SESSIONS * LENGTH)
    random = _random(rng, papers, queries, together)
    return rng, queries, _most_often(rng, together), random


def _wander(rng: Random, literature: Literature, papers: judged.Traits, starts: Ints, name: str) -> Ints:
    """Return (sessions, LENGTH): the papers seen after the first."""
    reasons = STEPS[name]
    visited, last = [], starts
    for _ in range(LENGTH):
        reason = weighted(rng, [share for _, share in reasons], len(starts))
        options = judged.sharing(rng, papers, last, [(names, 1) for names, _ in reasons])
        lost = chance(rng, literature.dials.noise / 2, len(starts))
        following = np.where(lost, rng.integers(0, len(literature), size=len(starts)), np.choose(reason, options.T))
        visited.append(following)
        # half of the time a reader goes back to the paper the session started from
        last = np.where(chance(rng, 0.5, len(starts)), starts, following)
    return np.stack(visited, axis=1)


def _most_often(rng: Random, table: Ints) -> Ints:
    """Return each row with what stands in it most often first, ties in random order."""
    times = (table[:, :, None] == table[:, None, :]).sum(axis=2)
    chosen = np.lexsort((rng.integers(0, 1 << 30, size=table.shape), np.where(table == NONE, 0, -times)), axis=1)
    return np.take_along_axis(table, chosen, axis=1)


def _relish(root: Path, literature: Literature) -> None:
    papers, rng = judged.traits(literature), stream(literature.seed, "relish")
    queries = judged.askers(literature, "relish", scaled(len(literature), 3_190, 2, 40))
    drawn = judged.sharing(rng, papers, queries, RELISH)
    table = judged.shuffled(rng, judged.candidates(drawn, RATED, queries))
    # 2: same topic, same family; 1: same topic, or same area and family
    planted = judged.graded(judged.alike("relish", judged.at(papers, queries), papers, table), 3, 7)
    grades = np.where(table == NONE, 0, judged.rated(rng, planted, literature.dials.noise, 3, 2))
    pools = judged.Pools(queries, table, grades).rows(grades.sum(axis=1) > 0)
    judged.write_task(root, literature, "relish", pools, "relish")


def _feeds(root: Path, literature: Literature) -> None:
    for name, published, percent, seeds in (("feeds_1", 423, 2.0, 1), ("feeds_m", 9_025, 1.5, SEEDS)):
        readers = scaled(len(literature), published // seeds, percent, 40)
        pools = _rated(literature, name, judged.askers(literature, name, readers), seeds)
        judged.write_task(root, literature, name, pools, "feeds")
        if name == "feeds_1":  # once more, with the seed's title for a query
            asked = [literature.paper(i) for i in pools.queries.tolist()]
            wanted = judged.at(judged.traits(literature), pools.queries)
            titles = judged.Bare([f"title-{p.paper_id}" for p in asked], [p.title for p in asked], wanted)
            judged.write_task(root, literature, "feeds_title", pools, "feeds", titles)


def _rated(literature: Literature, name: str, queries: Ints, seeds: int) -> judged.Pools:
    """Return ten papers for each reader, liked or not; with several seeds, the same ten for each of them.

    Further seeds share mode and condition with the first. Where a reader's taste and the day's mood differ, the
    label is the mood's.
    """
    papers, rng = judged.traits(literature), stream(literature.seed, name)
    feed = judged.sharing(rng, papers, queries, FEED)
    alike_taste = judged.sharing(rng, papers, queries, [(("mode", "condition"), 4 * (seeds - 1))])
    others = np.concatenate([queries[:, None], alike_taste], axis=1)
    # a seed must be new to the whole task: queries are known by their id
    new = np.isin(np.arange(others.size), np.unique(others, return_index=True)[1]).reshape(others.shape)
    allowed = new & (others != NONE) & (held_out(literature)[others] == EVALUATION) & ~np.isin(others, queries)
    allowed[:, 0] = True
    named = judged.first(np.where(allowed, others, NONE), seeds)
    feed = judged.without(judged.distinct(feed, queries), named)
    table = judged.shuffled(rng, judged.first(feed, 10))
    liked = judged.graded(judged.alike("feeds", judged.at(papers, queries), papers, table), LIKED)
    moods = chance(rng, literature.dials.noise / 3, table.shape)
    grades = np.where(table == NONE, 0, np.where(moods, 1 - liked, liked))
    rows, column = np.nonzero(named != NONE)
    pools = judged.Pools(named[rows, column], table[rows], grades[rows])
    told_apart = pools.grades.any(axis=1) & ((pools.grades == 0) & (pools.table != NONE)).any(axis=1)
    return pools.rows(told_apart)
