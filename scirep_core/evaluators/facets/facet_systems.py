"""The systems that rank CSFCube's pools (section 5, appendix C), by name.

    lexical     facet sentences against whole abstracts; see `encoders.lexical`
    sentences   Definition 2: every query facet sentence against every candidate sentence, largest cosine
    facet       Definition 1: the same, against the candidate's sentences of the same facet (all of them if it has none)
    abstract    title and abstract of both as one text, L2 distance; knows no facet
    pools       a published ranking, read as it is

Any encoder goes with any of the middle three: `minilm:abstract`, `org/model:sentences`. Definition 2 also takes
sentences of one's own choosing (`chosen`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.encoders import ENCODERS, Encoder, aspire, lexical, load_encoder
from scirep_core.encoders.vectors.embed import Progress, embed
from scirep_core.evaluators.facets import System, rank_by_scores, rank_by_vectors, read_rankings
from scirep_core.evaluators.pairs import matcher_of
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.formats import FACET_OF_LABEL
from scirep_core.kit.records import Query
from scirep_core.kit.store import stable_hash

Chosen = Mapping[Query, Sequence[int]]
"""Sentence numbers (from 0) of each query paper to search by, instead of its facet's (CSFCube Definition 2)."""


class Reason(NamedTuple):
    """Why a candidate matched: sentence pairs (query sentence, candidate sentence, cosine) or weighted shared terms."""

    pairs: tuple[tuple[int, int, float], ...] = ()
    terms: tuple[tuple[str, float], ...] = ()


class Ranked(NamedTuple):
    """A system's rankings and a function that explains one candidate of one query."""

    system: System
    explain: Callable[[Query, str], Reason]


class Named(NamedTuple):
    """One row of the registry: kind, what it builds on, the name in the paper's tables ("" if it is ours), a label."""

    kind: str
    base: str
    printed: str
    text: str
    label: str


SYSTEMS: dict[str, Named] = {
    "fabs_tfidf": Named("lexical", "tfidf", "fabs_tfidf", "TF-IDF of facet sentences against abstracts", "TF-IDF"),
    "fabs_bm25": Named("lexical", "bm25", "fabs_bm25", "BM25, one index per pool", "BM25"),
    "fabs_cbow200": Named("lexical", "cbow", "fabs_cbow200", "mean of 200-d word vectors trained on these abstracts",
                          "word vectors"),
    "fabs_tfidfcbow200": Named("lexical", "tfidfcbow", "fabs_tfidfcbow200", "IDF-weighted mean of the same vectors",
                               "word vectors, IDF weights"),
    "minilm_sentences": Named("sentences", "minilm", "", "MiniLM, best sentence pair (Definition 2)", "MiniLM, best sentence pair"),
    "minilm_facet": Named("facet", "minilm", "", "MiniLM, best pair within the facet (Definition 1)", "MiniLM, best in facet"),
    "minilm_abstract": Named("abstract", "minilm", "", "MiniLM, title and abstract as one text", "MiniLM, abstract"),
    "sentbert_pp": Named("sentences", "sentbert_pp", "SentBERT-PP", "paraphrase model, best sentence pair",
                         "SentBERT (paraphrases)"),
    "sentbert_nli": Named("sentences", "sentbert_nli", "SentBERT-NLI", "NLI model, best sentence pair", "SentBERT (NLI)"),
    "unsimcse": Named("sentences", "unsimcse", "UnSimCSE-BERT", "unsupervised SimCSE, best sentence pair", "SimCSE (unsupervised)"),
    "susimcse": Named("sentences", "susimcse", "SuSimCSE-BERT", "supervised SimCSE, best sentence pair", "SimCSE (supervised)"),
    "specter": Named("abstract", "specter", "SPECTER", "SPECTER on title and abstract", "SPECTER, encoded here"),
    "specter_pools": Named("pools", "sample_ranked_pools", "SPECTER", "the authors' own SPECTER rankings (real data)", "SPECTER"),
}  # fmt: skip
_ABSTRACTS = {spec.base: name for name, spec in SYSTEMS.items() if spec.kind == "abstract"}
HERE = {"tfidf": "fabs_tfidf", "bm25": "fabs_bm25"} | _ABSTRACTS
"""What other tasks call a system -> its name among CSFCube's: an encoder is one vector of title and abstract."""
_ENDS = {"random": "floor: random order", "oracle": "ceiling: oracle"}
WORDS = {name: named.label for name, named in SYSTEMS.items()} | _ENDS
"""What a page calls systems, floor and ceiling."""
KINDS = ("sentences", "facet", "abstract")
LEXICAL: dict[str, Callable[[Sequence[str], int], lexical.Lexical]] = {
    "tfidf": lambda corpus, seed: lexical.tfidf(corpus),
    "bm25": lambda corpus, seed: lexical.bm25(corpus),
    "cbow": lambda corpus, seed: lexical.cbow(corpus, seed),
    "tfidfcbow": lambda corpus, seed: lexical.cbow(corpus, seed, weighted=True),
}


_UNIT: dict[tuple[str, str], NDArray[np.float32]] = {}
"""Unit vectors of the last collection's sentences: Definitions 1 and 2 compare the same ones."""


def resolve(name: str) -> tuple[str, Named]:
    """Return (canonical name, row) of a system; `bm25` finds `fabs_bm25`, `minilm` finds `minilm_sentences`.

    Raises ConfigError naming the nearest system.
    """
    for candidate in (name, f"fabs_{name}", f"{name}_sentences"):
        if candidate in SYSTEMS:
            return candidate, SYSTEMS[candidate]
    base, colon, kind = name.rpartition(":")
    if not colon:
        base, kind = name, "sentences"
    encoder = base in ENCODERS or base.count("/") == 1 or ("/" in base and Path(base).expanduser().is_dir())
    if kind in KINDS and encoder:
        return f"{base}:{kind}", Named(kind, base, "", f"{base}, {kind}", f"{base}, {kind}")
    raise ConfigError(
        f"unknown system {name!r}; {nearest(name, SYSTEMS)}; or <encoder>:<{'|'.join(KINDS)}> with an encoder, "
        "folder or hub name org/model"
    )


def rank(
    collection: FacetCollection,
    name: str,
    *,
    folder: Path | None = None,
    seed: int = 0,
    chosen: Chosen | None = None,
    progress: Progress | None = None,
) -> Ranked:
    """Rank every pool of a collection with one system.

    Args:
        folder: the collection's files; only systems that read published pools need it.
        seed: of trained parts (word vectors).
        chosen: sentences to search by (Definition 2); the facet's sentences where a query is not listed.
        progress: called with (done, all) texts while encoding.
    """
    canonical, named = resolve(name)
    started = time.perf_counter()
    if named.kind == "pools":
        rankings, _ = read_rankings((folder or Path()) / named.base)
        system = System(canonical, rankings, stable_hash([list(map(list, rankings.values()))])[:16], "as published")
        return Ranked(system, lambda query, candidate: Reason())
    if named.kind == "lexical":
        ranked = _rank_lexical(collection, canonical, named.base, seed, chosen)
    elif named.kind == "abstract":
        ranked = _rank_abstract(collection, canonical, load_encoder(named.base), progress)
    else:
        ranked = _rank_sentences(collection, canonical, load_encoder(named.base), named.kind, chosen, progress)
    return ranked._replace(system=ranked.system._replace(seconds=time.perf_counter() - started))


def rank_all(
    collection: FacetCollection, names: str | Iterable[str], folder: Path, seed: int = 0,
    progress: Callable[[str], Progress] | None = None,
) -> dict[str, Ranked]:  # fmt: skip
    """Rank the pools with every named system (a list, or names with commas), in their order, by canonical name.

    Published rankings that this collection does not have are left out. Raises ConfigError for an unknown name, and where
    nothing is left.
    """
    ranked: dict[str, Ranked] = {}
    for name in names.split(",") if isinstance(names, str) else names:
        canonical, named = resolve(name.strip())
        if named.kind != "pools" or (folder / named.base).is_dir():
            bar = progress(canonical) if progress else None
            ranked[canonical] = rank(collection, canonical, folder=folder, seed=seed, progress=bar)
    if not ranked:
        what = f"none of these systems can rank {collection.source} data"
        raise ConfigError(f"encoders = {names!r}: {what}; name another")
    return ranked


def query_sentences(collection: FacetCollection, query: Query, chosen: Chosen | None = None) -> list[int]:
    """Return the numbers of the sentences a query searches by: the chosen ones, else those of its facet.

    Raises ConfigError for a chosen number the abstract does not have, or an empty choice.
    """
    paper = collection.papers[query.paper_id]
    if chosen is not None and query in chosen:
        numbers = sorted(set(chosen[query]))
        if not numbers or numbers[0] < 0 or numbers[-1] >= len(paper.sentences):
            raise ConfigError(
                f"query {query.query_id}: sentences {list(chosen[query])} chosen, its abstract has "
                f"0 to {len(paper.sentences) - 1}; choose at least one"
            )
        return numbers
    return [i for i, label in enumerate(paper.labels) if FACET_OF_LABEL.get(label) == query.facet]


def _rank_lexical(collection: FacetCollection, name: str, base: str, seed: int, chosen: Chosen | None) -> Ranked:
    ranker = LEXICAL[base]([paper.abstract for paper in collection.papers.values()], seed)
    texts, scores = dict[Query, str](), dict[Query, NDArray[np.float64]]()
    for query in collection.queries:
        sentences = collection.papers[query.paper_id].sentences
        texts[query] = " ".join(sentences[i] for i in query_sentences(collection, query, chosen))
        pool = [collection.papers[candidate].abstract for candidate in collection.candidates(query)]
        scores[query] = ranker.scores(texts[query], pool)

    def explain(query: Query, candidate: str) -> Reason:
        terms = ranker.terms(texts[query], collection.papers[candidate].abstract)
        return Reason(terms=tuple((term, round(weight, 2)) for term, weight in terms[:8]))

    similarity = {"bm25": "BM25 score", "tfidf": "l2 of l2-normalised rows"}.get(base, "l2")
    return Ranked(System(name, rank_by_scores(collection, scores), ranker.fingerprint, similarity), explain)


def _rank_abstract(collection: FacetCollection, name: str, encoder: Encoder, progress: Progress | None) -> Ranked:
    papers = list(collection.papers.values())
    vectors = embed(encoder, [encoder.recipe.of_paper(paper) for paper in papers], "PRX", progress)
    by_id = {paper.paper_id: vector for paper, vector in zip(papers, vectors, strict=True)}
    system = System(name, rank_by_vectors(collection, by_id, "l2"), encoder.fingerprint, "l2")
    return Ranked(system, lambda query, candidate: Reason())


def _rank_sentences(
    collection: FacetCollection,
    name: str,
    encoder: Encoder,
    kind: str,
    chosen: Chosen | None,
    progress: Progress | None,
) -> Ranked:
    papers = list(collection.papers.values())
    key = (encoder.fingerprint, collection.data_hash)
    if key not in _UNIT:
        flat = embed(encoder, [sentence for paper in papers for sentence in paper.sentences], "PRX", progress)
        _UNIT.clear()  # one at a time: a large collection's sentences fill memory
        _UNIT[key] = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    flat = _UNIT[key]
    ends = np.cumsum([len(paper.sentences) for paper in papers])
    rows = {paper.paper_id: range(end - len(paper.sentences), end) for paper, end in zip(papers, ends, strict=True)}

    def cosines(query: Query, candidate: str) -> tuple[list[int], list[int], NDArray[np.float32]]:
        """Sentence numbers of query and candidate that are compared, and their cosines."""
        mine = query_sentences(collection, query, chosen)
        labels = collection.papers[candidate].labels
        theirs = list(range(len(labels)))
        if kind == "facet":
            theirs = [j for j in theirs if FACET_OF_LABEL.get(labels[j]) == query.facet] or theirs
        left, right = flat[[rows[query.paper_id][i] for i in mine]], flat[[rows[candidate][j] for j in theirs]]
        return mine, theirs, left @ right.T

    scores = {
        query: np.array([_largest(cosines(query, candidate)[2]) for candidate in collection.candidates(query)])
        for query in collection.queries
    }

    def explain(query: Query, candidate: str) -> Reason:
        mine, theirs, table = cosines(query, candidate)
        best: Iterable[int] = np.argsort(-table, axis=None, kind="stable")[:3]
        pairs = [(mine[k // len(theirs)], theirs[k % len(theirs)], round(float(table.flat[k]), 3)) for k in best]
        return Reason(pairs=tuple(pairs))

    fingerprint = encoder.fingerprint if chosen is None else f"{encoder.fingerprint}-chosen"
    return Ranked(System(name, rank_by_scores(collection, scores), fingerprint, "max cosine"), explain)


def rank_matched(collection: FacetCollection, name: str, progress: Progress | None = None) -> System:
    """Return a ranking by sentence matching (`ts:minilm`): a query's facet sentences against all of a candidate's.

    All sentences of the query search where the model did not read as far as those of the facet.
    """
    matcher = matcher_of(name, {key: aspire.document(paper) for key, paper in collection.papers.items()}, progress)
    scores = {}
    for query in collection.queries:
        whole = matcher.vectors[query.paper_id]
        wanted = [i for i in query_sentences(collection, query) if i < len(whole)]
        asked = replace(matcher, vectors={**matcher.vectors, f"{query.paper_id}/q": whole[wanted or slice(None)]})
        scores[query] = asked.scores(query.paper_id, collection.candidates(query))
    similarity = aspire.SIMILARITY[aspire.resolve(name).match]
    return System(name, rank_by_scores(collection, scores), matcher.fingerprint, similarity)


def _largest(table: NDArray[np.float32]) -> float:
    """Return the largest cosine, or -1 where query or candidate has no sentence to compare."""
    return float(table.max()) if table.size else -1.0
