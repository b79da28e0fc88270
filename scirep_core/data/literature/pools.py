"""Candidate pools: who proposes which paper for rating (CSFCube section 3, "Candidate Pooling").

Seven unfaceted rankers see the whole collection: TF-IDF, averaged word vectors and TF-IDF-weighted word vectors, each
on titles and on abstracts, and a stand-in for SPECTER. The papers a query cites come first; then the methods, in an
order drawn anew for each query, each add their best `depth` papers that are not in the pool yet, walking further down
their list past those that are. A candidate's sources are all methods whose walk passed it.

Word vectors: positive pointwise mutual information between words and the `CONTEXTS` most frequent content words,
counted within sentences, then the leading `DIMENSIONS` singular directions. SPECTER's place is taken by a noisy score on the
latents and the citation graph, in integers:
    12 same problem + 8 same topic + 5 same area + 2 same method + 2 same family + 6 same aspect
    + 10 one cites the other + 3 each reference in common (at most 4) + noise 0..11
It is a stand-in, not a model: it is used for pooling alone and no score of it is ever shown.

Similarities are rounded to 8 decimals before ranking and ties go to the earlier paper, so that the last bits of a
machine's linear algebra cannot reorder a pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scirep_core.data.literature.latents import Ints, Random, stream
from scirep_core.data.literature.model import Literature

METHODS = (
    "specter",
    "abs_tfidf",
    "title_tfidf",
    "abs_cbow200",
    "title_cbow200",
    "abs_tfidfcbow200",
    "title_tfidfcbow200",
)
CONTEXTS = 400
DIMENSIONS = 200
NOISE = 12  # SPECTER's stand-in
Floats = npt.NDArray[np.float64]


class Pool(NamedTuple):
    """Candidates (positions of papers) of one query, and the methods that brought each of them in."""

    candidates: tuple[int, ...]
    sources: tuple[tuple[str, ...], ...]


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
    unit = vectors / norms
    cosines: Floats = unit[rows] @ unit.T
    return cosines


def _specter(literature: Literature, rows: Ints) -> Floats:
    latents, cites = literature.latents, literature.cites
    rng = stream(literature.seed, "pools")
    citers = literature.cited_by
    scores = []
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
    candidates = [list(sources)[k] for k in rng.permutation(len(sources)).tolist()]
    return Pool(tuple(candidates), tuple(tuple(sources[c]) for c in candidates))
