"""CSFCube from the embedded literature: queries, pools, ratings, splits, in the published files (CSFCube section 3).

The shape is the real collection's (`SLOTS`, `TYPES`): 34 query papers, 16 of them asked for two facets, hence 50 pairs; 8
pairs with pools of about 250, the others about 100; two folds per facet. A query paper must cite a few papers of the
collection and have, for each of its facets, a candidate rated 2 or more.

Who proposes which paper for rating ("Candidate Pooling"): seven unfaceted rankers see the whole collection, TF-IDF, averaged
word vectors and TF-IDF-weighted word vectors, each on titles and on abstracts, and a stand-in for SPECTER. The papers a query
cites come first; then the methods, in an order drawn anew for each query, each add their best `depth` papers that are not in the
pool yet, walking further down their list past those that are. A candidate's sources are all methods whose walk passed it.

Word vectors: positive pointwise mutual information between words and the `CONTEXTS` most frequent content words,
counted within sentences, then the leading `DIMENSIONS` singular directions. SPECTER's place is taken by a noisy score on the
latents and the citation graph (`_specter`), used for pooling alone: no score of it is ever shown. Similarities are rounded to 8
decimals before ranking and ties go to the earlier paper, so that a machine's linear algebra cannot reorder a pool.

Beside the published files there are three of ours: `oracle.json` (the true relevance of every rated candidate, the
ceiling), `citations.jsonl`, and `task.json`, which is written last: a folder without it is unfinished.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scirep_core.data.literature.latents import KINDS, Dials, Ints, Random, stream
from scirep_core.data.literature.model import VERSION, Literature, generate
from scirep_core.data.literature.ratings import Ratings, rate, relevance
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FACETS
from scirep_core.kit.records import to_jsonl
from scirep_core.kit.store import write_json, write_text, writing

METHODS = ("specter", *(f"{part}_{by}" for by in ("tfidf", "cbow200", "tfidfcbow200") for part in ("abs", "title")))
CONTEXTS = 400
DIMENSIONS = 200
NOISE = 12  # SPECTER's stand-in
Floats = npt.NDArray[np.float64]


Pool = dict[int, list[str]]
"""Candidates (positions of papers) of one query -> the methods that brought each of them in."""


def rankings(literature: Literature, queries: Sequence[int]) -> dict[str, Ints]:
    """Return for each method a (queries, papers - 1) array of positions, best first, the query itself left out."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer  # slow to import, so only when needed

    papers = literature.papers
    rows = np.asarray(queries)
    words = CountVectorizer(stop_words="english", dtype=np.int64, binary=True)
    sentences = words.fit_transform([s for p in papers for s in (p.title, *p.sentences)])
    vectors = _word_vectors(sentences)
    ranked = {"specter": _order(_specter(literature, rows), rows)}
    for part, texts in (("abs", [p.abstract for p in papers]), ("title", [p.title for p in papers])):
        weighted = TfidfVectorizer(stop_words="english", vocabulary=words.vocabulary_).fit_transform(texts)
        counted = CountVectorizer(stop_words="english", vocabulary=words.vocabulary_, dtype=np.float64).transform(texts)
        ranked[f"{part}_tfidf"] = _order((weighted[rows] @ weighted.T).toarray(), rows)
        ranked[f"{part}_cbow200"] = _order(_cosines(counted @ vectors, rows), rows)
        ranked[f"{part}_tfidfcbow200"] = _order(_cosines(weighted @ vectors, rows), rows)
    return ranked


def _word_vectors(sentences: Any) -> Floats:
    """Return (words, DIMENSIONS) vectors from a binary (sentences, words) sparse matrix."""
    counts = np.asarray(sentences.sum(axis=0)).ravel()
    contexts = np.sort(np.lexsort((np.arange(len(counts)), -counts))[:CONTEXTS])
    together = (sentences.T @ sentences[:, contexts]).toarray().astype(np.float64)
    expected = np.outer(counts, counts[contexts]) / float(sentences.shape[0])
    association = np.log(np.maximum(together / expected, 1.0))  # PPMI; log of 1 where words never meet
    directions: Floats = np.linalg.eigh(association.T @ association).eigenvectors[:, ::-1]
    vectors: Floats = association @ directions[:, :DIMENSIONS]
    return vectors


def _cosines(vectors: Floats, rows: Ints) -> Floats:
    norms = np.maximum(np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)), 1e-12)
    unit: Floats = vectors / norms
    return unit[rows] @ unit.T


def _specter(literature: Literature, rows: Ints) -> Floats:
    latents, cites, citers = literature.latents, literature.cites, literature.cited_by
    rng, scores = stream(literature.seed, "pools"), []
    for query in rows.tolist():
        score = rng.integers(0, NOISE, size=len(latents))
        for name, weight in (("problem", 12), ("topic", 8), ("area", 5), ("method", 2), ("family", 2), ("aspect", 6)):
            values = getattr(latents, name)
            score += weight * (values == values[query])
        score[cites.of(query)] += 10
        score[citers.of(query)] += 10
        shared = np.zeros(len(latents), dtype=np.int64)
        for reference in cites.of(query).tolist():
            shared[citers.of(reference)] += 1
        scores.append(score + 3 * np.minimum(shared, 4))
    return np.array(scores, dtype=np.float64)


def _order(similarity: Floats, rows: Ints) -> Ints:
    """Return positions by falling similarity, ties to the lower position, without the query itself."""
    rounded = -np.round(similarity, 8)
    rounded[np.arange(len(rows)), rows] = np.inf
    return np.argsort(rounded, axis=1, kind="stable")[:, :-1]


def draw_pool(cited: Sequence[int], ranked: dict[str, Ints], row: int, depth: int, rng: Random) -> Pool:
    """Draw the pool of query number `row`: its cited papers, then `depth` new papers from each method.

    The candidates are shuffled in the end: in file order, a system that ties everything must score at chance.
    """
    sources: dict[int, list[str]] = {paper: ["cited"] for paper in cited}
    for method in rng.permutation(len(METHODS)).tolist():
        new = 0
        for paper in ranked[METHODS[method]][row].tolist():
            new += paper not in sources
            sources.setdefault(paper, []).append(METHODS[method])
            if new == depth:
                break
    papers = list(sources)
    return {papers[k]: sources[papers[k]] for k in rng.permutation(len(papers)).tolist()}


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
    """A query paper found: its position, pool, and per facet the true relevances in hundredths and the published rating lists."""

    slot: Slot
    paper: int
    pool: Pool
    truth: dict[str, Ints]
    ratings: dict[str, dict[str, list[int]]]


def write_csfcube(folder: Path, papers: int = USUAL_PAPERS, seed: int = 0, people: Ratings | None = None) -> None:
    """Write a collection with the published schema of CSFCube into `folder` (CSFCube section 3).

    Raises ConfigError below 300 papers (too few to fill 34 pools), CacheError if the folder cannot be written.
    """
    if isinstance(papers, int) and papers < FEWEST_PAPERS:
        raise ConfigError(f"the embedded CSFCube needs papers >= {FEWEST_PAPERS} to fill its pools, found {papers!r}")
    with writing(folder):
        (folder / "task.json").unlink(missing_ok=True)  # the folder counts as unfinished until the new one is written
    # with half of the forms, background would be easier for TF-IDF than it is in the real collection
    literature = generate(papers, seed, Dials(fields=("Computer science",), synonymy=1.0))
    found = sorted(find_queries(literature, people or Ratings()), key=lambda query: query.paper)
    _write_papers(folder, literature, found)
    _write_ratings(folder, literature, found)
    task = {"name": "csfcube", "version": VERSION, "type": "facets", "metrics": list(METRICS)}
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
        suitable = rng.permutation(np.flatnonzero((literature.latents.kind == kind) & citing))
        waiting.append(suitable[: SPARES * sum(slot.kind == kind for slot in slots)].tolist())
    rows = [paper for papers in waiting for paper in papers]
    ranked, row_of = rankings(literature, rows), {paper: k for k, paper in enumerate(rows)}
    found = []
    for slot in slots:
        for paper in list(waiting[slot.kind]):
            depth = pool_depth(len(literature.papers), slot.large)
            pool = draw_pool(literature.cites.of(paper).tolist(), ranked, row_of[paper], depth, rng)
            truth = {facet: relevance(literature.latents, facet, paper, np.array(list(pool))) for facet in slot.facets}
            rated = {facet: rate(hundredths, ratings, people) for facet, hundredths in truth.items()}
            waiting[slot.kind].remove(paper)
            if all(max(lists["relevance_adju"]) >= 2 for lists in rated.values()):
                found.append(QueryPaper(slot, paper, pool, truth, rated))
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


def _write_papers(folder: Path, literature: Literature, found: list[QueryPaper]) -> None:
    papers = literature.papers
    abstracts = ({"paper_id": p.paper_id, "title": p.title, "abstract": p.sentences, "pred_labels": p.labels,
                  "metadata": {"year": p.year}} for p in papers)  # fmt: skip
    references = (
        {"paper_id": p.paper_id, "cites": literature.ids(literature.cites.of(i))} for i, p in enumerate(papers)
    )
    table = io.StringIO()
    rows = csv.writer(table)  # CRLF line ends, as published
    rows.writerow(["pid", "facet", "year", "title", "paper type"])
    pairs = ((facet, papers[query.paper], KINDS[query.slot.kind]) for facet, query in _pairs(found))
    rows.writerows([p.paper_id, facet, p.year, p.title, kind] for facet, p, kind in pairs)
    write_text(folder / "abstracts-csfcube-preds.jsonl", to_jsonl(abstracts))
    write_text(folder / "citations.jsonl", to_jsonl(references))
    write_text(folder / "queries-release.csv", table.getvalue())


def _write_ratings(folder: Path, literature: Literature, found: list[QueryPaper]) -> None:
    names = [p.paper_id for p in literature.papers]
    cands = {query.paper: [names[c] for c in query.pool] for query in found}
    for facet in FACETS:
        rated = {names[q.paper]: {"cands": cands[q.paper], **q.ratings[facet]} for f, q in _pairs(found) if f == facet}
        write_json(folder / f"test-pid2anns-csfcube-{facet}.json", rated)
    pools = {names[q.paper]: {"cands": cands[q.paper], "cand_source": list(q.pool.values())} for q in found}
    write_json(folder / "test-pid2pool-csfcube.json", pools)
    true = {f"{names[q.paper]}_{f}": dict(zip(cands[q.paper], (q.truth[f] / 100).tolist(), strict=True))
            for f, q in _pairs(found)}  # fmt: skip
    write_json(folder / "oracle.json", true)
    write_json(folder / "evaluation_splits.json", _splits(literature.seed, list(true)))


def _pairs(found: list[QueryPaper]) -> Iterator[tuple[str, QueryPaper]]:
    """Yield the 50 (facet, query paper) pairs, facet by facet."""
    for facet in FACETS:
        for query in found:
            if facet in query.slot.facets:
                yield facet, query


def _splits(seed: int, pairs: list[str]) -> dict[str, dict[str, list[str]]]:
    """Return facet or `all` -> fold -> pairs; what one fold tests the other develops on."""
    rng = stream(seed, "splits")
    splits: dict[str, dict[str, list[str]]] = {}
    for facet in FACETS:
        names = [pair for pair in pairs if pair.endswith(f"_{facet}")]
        shuffled = [names[k] for k in rng.permutation(len(names)).tolist()]
        first, second = shuffled[: FIRST_FOLD[facet]], shuffled[FIRST_FOLD[facet] :]
        splits[facet] = {"fold1_dev": second, "fold2_dev": first, "fold1_test": first, "fold2_test": second}
    splits["all"] = {fold: [name for f in FACETS for name in splits[f][fold]] for fold in splits[B]}
    return splits
