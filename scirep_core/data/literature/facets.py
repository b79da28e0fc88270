"""CSFCube from the embedded literature: queries, pools, ratings, splits, in the published files (CSFCube section 3).

The shape is the real collection's: 34 query papers, 16 of them asked for two facets (5 background-method, 5
background-result, 6 method-result), hence 16 + 17 + 17 = 50 pairs; 33 pairs from data-driven, 12 from resource or
evaluation and 5 from theoretical papers; 8 pairs with pools of about 250, the others about 100; two folds per facet.
A query paper must cite a few papers of the collection and have, for each of its facets, a candidate rated 2 or more.

Beside the published files there are three of ours: `oracle.json` (the true relevance of every rated candidate, the
ceiling), `citations.jsonl`, and `task.json`, which is written last: a folder without it is unfinished.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scirep_core.data.literature.latents import KINDS, Dials, Random, stream
from scirep_core.data.literature.model import Literature, generate
from scirep_core.data.literature.pools import Pool, draw_pool, rankings
from scirep_core.data.literature.ratings import Ratings, rate, relevance
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FACETS
from scirep_core.kit.records import to_jsonl
from scirep_core.kit.store import write_json, write_text, writing

FEWEST_PAPERS = 300
USUAL_PAPERS = 1200  # from here on pools have the published depth; below they shrink with the square root
DEPTH, DEPTH_LARGE = 13, 33  # papers each method adds to a pool of about 100, of about 250 (section 3)
FEWEST_CITED = 5
SPARES = 6  # papers ranked per slot and paper type, from which the first suitable one is taken
B, M, R = FACETS
SLOTS = {  # facets of a query paper -> how many such papers, and how many of them with a large pool
    (B, M): (5, 0),
    (B, R): (5, 0),
    (M, R): (6, 1),
    (B,): (6, 2),
    (M,): (6, 2),
    (R,): (6, 2),
}
TYPES = {2: (11, 4, 1), 1: (11, 4, 3)}  # facets per paper -> papers of each of the three types: 33, 12, 5 pairs
FIRST_FOLD = {B: 8, M: 9, R: 9}  # pairs in fold1_test; the others are in fold2_test
METRICS = ("r_precision", "r_precision_published", "p@20", "r@20", "ndcg%20", "ndcg%100", "map", "mrr")


class Slot(NamedTuple):
    """A query paper to be found: the facets it is asked for, its paper type, whether its pool is a large one."""

    facets: tuple[str, ...]
    kind: int
    large: bool


class QueryPaper(NamedTuple):
    """A query paper found: its position, pool, and per facet the true relevances and the published rating lists."""

    slot: Slot
    paper: int
    pool: Pool
    truth: dict[str, list[float]]
    ratings: dict[str, dict[str, list[int]]]


def write_csfcube(folder: Path, papers: int = USUAL_PAPERS, seed: int = 0, people: Ratings | None = None) -> None:
    """Write a collection with the published schema of CSFCube into `folder` (CSFCube section 3).

    Raises ConfigError below 300 papers (too few to fill 34 pools), CacheError if the folder cannot be written.
    """
    if isinstance(papers, int) and papers < FEWEST_PAPERS:
        raise ConfigError(f"the embedded CSFCube needs papers >= {FEWEST_PAPERS} to fill its pools, found {papers!r}")
    with writing(folder):
        (folder / "task.json").unlink(missing_ok=True)  # the folder counts as unfinished until the new one is written
    literature = generate(papers, seed, Dials(fields=("Computer science",)))
    found = sorted(find_queries(literature, people or Ratings()), key=lambda query: query.paper)
    _write_papers(folder, literature, found)
    _write_ratings(folder, literature, found)
    task = {"name": "csfcube", "version": 1, "type": "facets", "metrics": list(METRICS)}
    write_json(folder / "task.json", {**task, "source": "embedded", "seed": seed, "papers": papers})


def pool_depth(papers: int, large: bool) -> int:
    """Return how many papers each method adds to a pool, given the size of the collection."""
    full = DEPTH_LARGE if large else DEPTH
    return min(full, math.isqrt(full * full * papers // USUAL_PAPERS))


def find_queries(literature: Literature, people: Ratings) -> list[QueryPaper]:
    """Find, pool and rate the 34 query papers, in the order of `SLOTS`."""
    rng, ratings = stream(literature.seed, "queries"), stream(literature.seed, "ratings")
    slots = _slots(rng)
    citing = literature.cites.counts() >= FEWEST_CITED
    waiting: list[list[int]] = []  # by paper type
    for kind in range(len(KINDS)):
        suitable = np.flatnonzero((literature.latents.kind == kind) & citing)
        wanted = SPARES * sum(slot.kind == kind for slot in slots)
        waiting.append(rng.permutation(suitable)[:wanted].tolist())
    rows = [paper for papers in waiting for paper in papers]
    ranked, row_of = rankings(literature, rows), {paper: k for k, paper in enumerate(rows)}
    found = []
    for slot in slots:
        for paper in list(waiting[slot.kind]):
            depth = pool_depth(len(literature.papers), slot.large)
            pool = draw_pool(literature.cites.of(paper).tolist(), ranked, row_of[paper], depth, rng)
            query = _rated(literature, slot, paper, pool, ratings, people)
            waiting[slot.kind].remove(paper)
            if all(max(query.ratings[facet]["relevance_adju"]) >= 2 for facet in slot.facets):
                found.append(query)
                break
        else:
            raise ConfigError(
                f"seed {literature.seed} with {len(literature.papers)} papers has too few suitable query papers "
                f"({KINDS[slot.kind]}). Use more papers or another seed"
            )
    return found


def _slots(rng: Random) -> list[Slot]:
    kinds = {n: rng.permutation(np.repeat(np.arange(3), counts)).tolist() for n, counts in TYPES.items()}
    return [
        Slot(facets, kinds[len(facets)].pop(), large=k < large)
        for facets, (papers, large) in SLOTS.items()
        for k in range(papers)
    ]


def _rated(literature: Literature, slot: Slot, paper: int, pool: Pool, rng: Random, people: Ratings) -> QueryPaper:
    truth, ratings = {}, {}
    for facet in slot.facets:
        hundredths = relevance(literature.latents, facet, paper, np.array(pool.candidates))
        truth[facet] = (hundredths / 100).tolist()
        ratings[facet] = rate(hundredths, rng, people)
    return QueryPaper(slot, paper, pool, truth, ratings)


def _write_papers(folder: Path, literature: Literature, found: list[QueryPaper]) -> None:
    """Write the JSON-lines and CSV files."""
    papers = literature.papers
    abstracts = (
        {
            "paper_id": p.paper_id,
            "title": p.title,
            "abstract": list(p.sentences),
            "pred_labels": list(p.labels),
            "metadata": {"year": p.year},
        }
        for p in papers
    )
    references = (
        {"paper_id": p.paper_id, "cites": [papers[k].paper_id for k in literature.cites.of(i).tolist()]}
        for i, p in enumerate(papers)
    )
    table = io.StringIO()
    rows = csv.writer(table)  # CRLF line ends, as published
    rows.writerow(["pid", "facet", "year", "title", "paper type"])
    for facet, query in _pairs(found):
        paper = papers[query.paper]
        rows.writerow([paper.paper_id, facet, paper.year, paper.title, KINDS[query.slot.kind]])
    write_text(folder / "abstracts-csfcube-preds.jsonl", to_jsonl(abstracts))
    write_text(folder / "citations.jsonl", to_jsonl(references))
    write_text(folder / "queries-release.csv", table.getvalue())


def _write_ratings(folder: Path, literature: Literature, found: list[QueryPaper]) -> None:
    """Write the JSON files."""
    names = [p.paper_id for p in literature.papers]
    cands = {query.paper: [names[c] for c in query.pool.candidates] for query in found}
    for facet in FACETS:
        rated = {names[q.paper]: {"cands": cands[q.paper], **q.ratings[facet]} for f, q in _pairs(found) if f == facet}
        write_json(folder / f"test-pid2anns-csfcube-{facet}.json", rated)
    pools = {names[q.paper]: {"cands": cands[q.paper], "cand_source": [list(s) for s in q.pool.sources]} for q in found}
    write_json(folder / "test-pid2pool-csfcube.json", pools)
    truth = {f"{names[q.paper]}_{f}": dict(zip(cands[q.paper], q.truth[f], strict=True)) for f, q in _pairs(found)}
    write_json(folder / "oracle.json", truth)
    splits = _splits(literature.seed, [(f, names[q.paper]) for f, q in _pairs(found)])
    write_json(folder / "evaluation_splits.json", splits)


def _pairs(found: list[QueryPaper]) -> Iterator[tuple[str, QueryPaper]]:
    """Yield the 50 (facet, query paper) pairs, facet by facet."""
    for facet in FACETS:
        for query in found:
            if facet in query.slot.facets:
                yield facet, query


def _splits(seed: int, pairs: list[tuple[str, str]]) -> dict[str, dict[str, list[str]]]:
    """Return facet or `all` -> fold -> pairs; what one fold tests the other develops on."""
    rng = stream(seed, "splits")
    splits: dict[str, dict[str, list[str]]] = {}
    for facet in FACETS:
        names = [f"{paper}_{facet}" for f, paper in pairs if f == facet]
        shuffled = [names[k] for k in rng.permutation(len(names)).tolist()]
        first, second = shuffled[: FIRST_FOLD[facet]], shuffled[FIRST_FOLD[facet] :]
        splits[facet] = {"fold1_dev": second, "fold2_dev": first, "fold1_test": first, "fold2_test": second}
    splits["all"] = {fold: [name for f in FACETS for name in splits[f][fold]] for fold in splits[B]}
    return splits
