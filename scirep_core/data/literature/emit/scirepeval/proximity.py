"""Proximity by authorship, citation and expert opinion (SciRepEval A.2; SciDocs): rank candidates of a query paper.

| task | a candidate scores | what decides | exact? | relation |
|---|---|---|---|---|
| same_author | 1: same author; 0: a namesake of the same block | authorship; style and topic betray it | yes: 100 | in-train |
| high_influence_cite | 1: cited INFLUENTIAL times or more; 0: cited | problem, family, finding group; luck | no | in-train |
| relish | 0-2, the middle of three raters | topic, family of methods, area; raters err | no | related |
| scidocs_cite | 1: cited (5); 0: random (25) | problem, topic, area, method, field; luck | no | related |
| scidocs_cocite | 1: most often cited together (5); 0: random (25) | the same, twice removed | no | related |

Exact: the grades follow from the latents, so the oracle reaches 100. Elsewhere it ranks by the noise-free likeness of
relevance.PROFILES, and the rest is what nobody can know from a paper.

Training queries are papers of the train and validation parts, and none of their candidates is of the evaluation part;
queries of evaluation are of that part (split.held_out), their candidates of any.

An author's mention is a signature. As every paper stands for one signature here, the one drawn by `signatures`, a
paper has one author for the purposes of same_author and S2AND, and exact vectors exist.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from scirep_core.data.literature.citations import INFLUENTIAL, MOST
from scirep_core.data.literature.emit import split as hub
from scirep_core.data.literature.emit.files import digits, scaled, write_oracle
from scirep_core.data.literature.emit.judged import write_judgements, write_texts
from scirep_core.data.literature.emit.scirepeval.relevance import (  # fmt: skip
    PROFILES,
    Pools,
    alike,
    anyone,
    askers,
    at,
    distinct,
    first,
    graded,
    judged,
    linked,
    partners,
    rated,
    sharing,
    shuffled,
    traits,
    without,
    write_paper_oracle,
)
from scirep_core.data.literature.emit.split import EVALUATION, FLAT, held_out
from scirep_core.data.literature.latents import NONE, Ints, stream
from scirep_core.data.literature.lexicon import lexicon
from scirep_core.data.literature.links import from_lists
from scirep_core.data.literature.model import Literature
from scirep_core.data.literature.people import People

FAME = 4.0  # of the oracle of citations: how near fame brings a candidate
CODE = 24  # binary digits of an author's number, in oracles
PARTS = ("train", "validation", "evaluation")
OF_BLOCK = ("aminer", "inspire", "kisti", "pubmed", "qian", "zbmath")
"""Collections of S2AND, as Same Author Detection spells them; blocks are dealt to them."""
RATED = 60
RELISH = (("topic", "family"), 14), (("topic",), 30), (("area", "family"), 14), (("area",), 16), (("family",), 8)
"""Candidates that the raters see, and what they share with the query, how many of each drawn."""
TOGETHER = 50
"""Citing papers of a query that co-citation looks at."""


def write(root: Path, literature: Literature) -> None:
    """Write the five tasks; of the first two also the training sets."""
    _same_author(root, literature)
    _high_influence(root, literature)
    _relish(root, literature)
    _scidocs(root, literature)


# --- authorship -------------------------------------------------------------------------------------------------------


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
    part = held_out(literature)
    papers = len(literature)
    sizes = scaled(papers, 76_489, 12, 40), scaled(papers, 13_585, 1.5, 10), scaled(papers, 13_585, 3, 40)
    for k, (split, size) in enumerate(zip(PARTS, sizes, strict=True)):
        queries = askers(literature, f"same_author {split}", part == k, 3 * size)
        pools = _namesakes(
            literature, author, block, queries, np.ones(papers, bool) if k == 2 else part != EVALUATION, k
        )
        pools = pools.rows(slice(size))
        asked = [{"dataset": OF_BLOCK[c]} for c in collection_of(block[pools.queries]).tolist()]
        write_texts(root, literature, "same_author", split, pools, asked, row={"dataset": "string"})
    write_judgements(root, literature, "same_author", pools)
    positions = np.union1d(pools.queries, pools.candidates())
    write_oracle(root, "scirepeval/same_author", literature.ids(positions), digits(author[positions], CODE))


def _namesakes(
    literature: Literature, author: Ints, block: Ints, queries: Ints, allowed: npt.NDArray[np.bool_], part: int
) -> Pools:
    """Return up to five papers of each query's author and five of namesakes, those of similar topics first."""
    rng = stream(literature.seed, "same author", part)
    same = partners(rng, author, author[queries], 15, allowed)
    others = distinct(partners(rng, block, block[queries], 40, allowed), queries)
    # a paper of which the author is a co-author is no namesake's
    teams, _ = linked(literature.people.teams, others.ravel(), 5)
    theirs = (teams.reshape(*others.shape, 5) == author[queries][:, None, None]).any(axis=2)
    others = np.where(theirs | (author[others] == author[queries][:, None]), NONE, others)
    papers = traits(literature)
    near = alike({"topic": 1, "area": 1, "field": 1}, at(papers, queries), papers, others)
    others = np.take_along_axis(others, np.argsort(-near, axis=1, kind="stable"), axis=1)
    # queries with a namesake close by come first: telling a chemist from a lawyer needs no style
    order = np.argsort(-(near * (others != NONE)).max(axis=1), kind="stable")
    return judged(rng, queries[order], same[order], others[order], (5, 5), all_positives=False)


# --- citation ---------------------------------------------------------------------------------------------------------


def _high_influence(root: Path, literature: Literature) -> None:
    part, papers = held_out(literature), len(literature)
    sizes = scaled(papers, 65_982, 15, 40), scaled(papers, 1_199, 1, 10), scaled(papers, 1_199, 3, 40)
    for k, (split, size) in enumerate(zip(PARTS, sizes, strict=True)):
        queries = askers(literature, f"high_influence_cite {split}", part == k, 3 * size)
        cited, mentions = linked(literature.cites, queries, MOST)
        if k < 2:
            cited = np.where(part[cited] == EVALUATION, NONE, cited)
        often = (mentions >= INFLUENTIAL) & (cited != NONE)
        told_apart = often.any(axis=1) & ((cited != NONE) & ~often).any(axis=1)
        pools = Pools(queries, cited, often.astype(np.int64)).rows(told_apart).rows(slice(size))
        write_texts(root, literature, "high_influence_cite", split, pools)
    write_judgements(root, literature, "high_influence_cite", pools)
    profile = PROFILES["high_influence_cite"]
    write_paper_oracle(root, literature, ["scirepeval/high_influence_cite"], profile, pools)


def _scidocs(root: Path, literature: Literature) -> None:
    """Write Cite and Co-cite, and the texts of both (the readers' tasks add theirs as a second file)."""
    part, papers = held_out(literature), len(literature)
    size = scaled(papers, 1_000, 2.5, 40)
    seen = []
    for name in ("cite", "cocite"):
        queries = askers(literature, f"scidocs_{name}", part == EVALUATION, 4 * size)
        rng = stream(literature.seed, f"scidocs_{name}")
        cites, cited_by = (linked(links, queries, 200)[0] for links in (literature.cites, literature.cited_by))
        if name == "cite":
            positives = shuffled(rng, cites)
            close = np.concatenate([cites, cited_by], axis=1)
        else:
            positives = close = _cocited(rng, literature, queries)
        random = without(anyone(rng, np.arange(papers), len(queries), 40), close)
        pools = judged(rng, queries, positives, random, (5, 25), all_positives=True).rows(slice(size))
        write_judgements(root, literature, f"scidocs_{name}", pools)
        tasks = [f"scirepeval/scidocs_{name}", f"scimult/{name}_rerank"]
        write_paper_oracle(root, literature, tasks, PROFILES["cite"], pools, fame=FAME)
        seen += [pools.queries, pools.candidates()]
    hub.write_texts(root, literature, "scidocs_view_cite_read", FLAT, np.concatenate(seen))


def _cocited(rng: np.random.Generator, literature: Literature, queries: Ints) -> Ints:
    """Return for each query the papers cited together with it, the most often first, ties in random order."""
    rows = []
    for query in queries.tolist():
        found, count = literature.cited_with(query, TOGETHER)
        rows.append(found[np.lexsort((rng.integers(0, 1 << 30, size=len(found)), -count))])
    return linked(from_lists(rows), np.arange(len(rows)), max(map(len, rows), default=1))[0]


# --- expert opinion ---------------------------------------------------------------------------------------------------


def _relish(root: Path, literature: Literature) -> None:
    papers, everybody = traits(literature), len(literature)
    size = scaled(everybody, 3_190, 2, 40)
    queries = askers(literature, "relish", held_out(literature) == EVALUATION, size)
    rng = stream(literature.seed, "relish")
    drawn = [sharing(rng, papers, queries, RELISH), anyone(rng, np.arange(everybody), len(queries), RATED)]
    table = shuffled(rng, first(distinct(np.concatenate(drawn, axis=1), queries), RATED))
    # 2: same topic, same family; 1: same topic, or same area and family
    planted = graded(alike(PROFILES["relish"], at(papers, queries), papers, table), 3, 7)
    grades = np.where(table == NONE, 0, rated(rng, planted, literature.dials.noise, 3, 2))
    pools = Pools(queries, table, grades).rows(grades.sum(axis=1) > 0)
    write_texts(root, literature, "relish", "evaluation", pools)
    write_judgements(root, literature, "relish", pools)
    write_paper_oracle(root, literature, ["scirepeval/relish"], PROFILES["relish"], pools)
