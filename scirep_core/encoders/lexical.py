"""Term-level systems of CSFCube section 5 and appendix C, and their plain relatives.

Every system represents a query by the sentences of its facet and a candidate by its whole abstract (no title):

    fabs_tfidf          scikit-learn TF-IDF rows (l2-normalised), L2 distance
    fabs_bm25           rank_bm25's BM25Okapi with its defaults, one index per query over its own pool: the setting
                        that gives the printed row; its IDF therefore depends on the pool
    fabs_cbow200        mean of 200-d CBOW vectors, L2 distance
    fabs_tfidfcbow200   IDF-weighted mean of the same vectors, L2 distance

The paper trains its word vectors and (most likely) its IDF on 800,000 abstracts that are not published with the
collection. Ours come from the abstracts at hand, and every row says so.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.errors import CacheError
from scirep_core.store import home, read_shard, stable_hash, write_shard

_WORD = re.compile(r"\b\w\w+\b")
CBOW = {"vector_size": 200, "window": 5, "min_count": 2, "epochs": 10, "sg": 0}


@functools.lru_cache(maxsize=65536)
def tokens(text: str) -> tuple[str, ...]:
    """Return lower-cased runs of two or more word characters, English stop words (scikit-learn's list) removed."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return tuple(word for word in _WORD.findall(text.lower()) if word not in ENGLISH_STOP_WORDS)


class Pool(NamedTuple):
    """What a lexical ranker sees of one query: its text, and the texts it has to order."""

    query: str
    candidates: Sequence[str]


class Lexical(NamedTuple):
    """A lexical ranker: scores of a pool's candidates (higher first), and why, as weighted terms, for one text."""

    scores: Callable[[Pool], NDArray[np.float64]]
    terms: Callable[[str, str], list[tuple[str, float]]]
    fingerprint: str


def _shared(query: str, candidate: str, weight: dict[str, float]) -> list[tuple[str, float]]:
    """Return the words a query and a candidate share, heaviest first: count in the candidate times weight."""
    counts, wanted = Counter(tokens(candidate)), set(tokens(query))
    found = [(word, counts[word] * weight.get(word, 0.0)) for word in counts if word in wanted]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _idf(corpus: Sequence[str]) -> dict[str, float]:
    """Return scikit-learn's smoothed IDF, ln((1 + n) / (1 + df)) + 1, of every word of a corpus."""
    frequency = Counter(word for text in corpus for word in set(tokens(text)))
    return {word: float(np.log((1 + len(corpus)) / (1 + df)) + 1) for word, df in frequency.items()}


def tfidf(corpus: Sequence[str]) -> Lexical:
    """Return a TF-IDF ranker whose IDF comes from `corpus`."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=tokens).fit(corpus)
    idf = dict(zip(vectorizer.get_feature_names_out(), map(float, vectorizer.idf_), strict=True))

    def scores(pool: Pool) -> NDArray[np.float64]:
        # rows have length 1, so L2 distance and cosine order alike: |q - c|^2 = 2 - 2 q.c
        query, candidates = vectorizer.transform([pool.query]), vectorizer.transform(pool.candidates)
        return np.asarray((candidates @ query.T).toarray().ravel(), dtype=np.float64)

    return Lexical(scores, lambda q, c: _shared(q, c, idf), stable_hash(["tfidf", sorted(corpus)])[:16])


def bm25(corpus: Sequence[str]) -> Lexical:
    """Return the paper's BM25 ranker. Each pool is its own index; `corpus` only weighs the terms of explanations."""
    from rank_bm25 import BM25Okapi

    idf = _idf(corpus)

    def scores(pool: Pool) -> NDArray[np.float64]:
        index = BM25Okapi([tokens(text) for text in pool.candidates])
        return np.asarray(index.get_scores(tokens(pool.query)), dtype=np.float64)

    return Lexical(scores, lambda q, c: _shared(q, c, idf), stable_hash(["bm25 per pool", 1.5, 0.75, 0.25])[:16])


def cbow(corpus: Sequence[str], seed: int = 0, weighted: bool = False) -> Lexical:
    """Return a ranker by averaged CBOW vectors (gensim word2vec) trained on `corpus`; `weighted` averages by IDF."""
    corpus = sorted(corpus)  # training sees the texts in this order whatever the order they were read in
    key = stable_hash(["cbow", 2, CBOW, seed, corpus])[:16]
    row, matrix = _word_vectors(corpus, seed, key)
    idf = _idf(corpus)

    def vector(text: str) -> NDArray[np.float64]:
        known = [word for word in tokens(text) if word in row]
        if not known:
            return np.zeros(matrix.shape[1])
        weights = np.array([idf[word] if weighted else 1.0 for word in known])
        return np.asarray(weights @ matrix[[row[word] for word in known]] / weights.sum(), dtype=np.float64)

    def scores(pool: Pool) -> NDArray[np.float64]:
        query = vector(pool.query)
        return -np.array([np.linalg.norm(vector(text) - query) for text in pool.candidates])

    return Lexical(scores, lambda q, c: _shared(q, c, idf), f"{key}{'-idf' if weighted else ''}")


def _word_vectors(corpus: Sequence[str], seed: int, key: str) -> tuple[dict[str, int], NDArray[np.float32]]:
    """Return (word -> row, matrix) of CBOW vectors trained on a corpus, from the store when they are there."""
    path = home() / "vectors" / f"cbow-{key}.shard"
    try:
        matrix, meta = read_shard(path)
    except (FileNotFoundError, CacheError):
        from gensim.models import Word2Vec

        # one worker: gensim's threads race over the weights, and the same seed must give the same vectors
        documents = [list(tokens(text)) for text in corpus]
        model = Word2Vec(documents, workers=1, seed=seed, hashfxn=lambda word: zlib.crc32(word.encode()), **CBOW)
        matrix, meta = model.wv.vectors, {"words": model.wv.index_to_key}
        write_shard(path, matrix, meta)
    return {word: i for i, word in enumerate(meta["words"])}, matrix
