"""Term-level systems of CSFCube section 5 and appendix C, and their plain relatives.

Every system represents a query by the sentences of its facet and a candidate by its whole abstract (no title):

    fabs_tfidf          scikit-learn TF-IDF rows (l2-normalised), L2 distance
    fabs_bm25           rank_bm25's BM25Okapi with its defaults, one index per query over its own pool: the setting
                        that gives the printed row; its IDF therefore depends on the pool
    fabs_cbow200        mean of 200-d CBOW vectors, L2 distance
    fabs_tfidfcbow200   IDF-weighted mean of the same vectors, L2 distance

The paper trains its word vectors and (most likely) its IDF on 800,000 abstracts hosted apart from the collection. Ours come
from the abstracts at hand, and every row says so.

`bm25_scorer` and `tfidf_scorer` score words on any task that ranks (SciRepEval v2, Table 5; SciMult 4). There one index
holds all candidates of the task. BM25:

    score(q, d) = sum over words w of q, as often as they stand there, of
                  idf(w) f(w, d) (k1 + 1) / (f(w, d) + k1 (1 - b + b |d| / mean |d|))
    idf(w) = ln((N - n(w) + 0.5) / (n(w) + 0.5)); where that is negative, 0.25 times the mean idf of all words
"""

from __future__ import annotations

import functools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import Task
from scirep_core.kit.errors import CacheError, DataError
from scirep_core.kit.store import home, read_shard, stable_hash, write_shard

_WORD = re.compile(r"\b\w\w+\b")
CBOW = {"vector_size": 200, "window": 5, "min_count": 2, "epochs": 10, "sg": 0}


@functools.lru_cache(maxsize=65536)
def tokens(text: str) -> tuple[str, ...]:
    """Return lower-cased runs of two or more word characters, English stop words (scikit-learn's list) removed."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return tuple(word for word in _WORD.findall(text.lower()) if word not in ENGLISH_STOP_WORDS)


def term_weights(**changes: Any) -> Any:
    """Return scikit-learn's TfidfVectorizer as the book sets it: English stop words, sublinear counts, rows of length 1.

    What a caller changes is what its page says of it; CSFCube's systems alone (`tfidf`) have settings of their own.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(**{"stop_words": "english", "sublinear_tf": True, "dtype": np.float32, **changes})


class Lexical(NamedTuple):
    """A lexical ranker of a query's text: scores of a pool's texts (higher first), and why, as weighted terms, for one."""

    scores: Callable[[str, Sequence[str]], NDArray[np.float64]]
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

    def scores(query: str, pool: Sequence[str]) -> NDArray[np.float64]:
        # rows have length 1, so L2 distance and cosine order alike: |q - c|^2 = 2 - 2 q.c
        asked, candidates = vectorizer.transform([query]), vectorizer.transform(pool)
        return np.asarray((candidates @ asked.T).toarray().ravel(), dtype=np.float64)

    return Lexical(scores, lambda q, c: _shared(q, c, idf), stable_hash(["tfidf", sorted(corpus)])[:16])


def bm25(corpus: Sequence[str]) -> Lexical:
    """Return the paper's BM25 ranker. Each pool is its own index; `corpus` only weighs the terms of explanations."""
    from rank_bm25 import BM25Okapi

    idf = _idf(corpus)

    def scores(query: str, pool: Sequence[str]) -> NDArray[np.float64]:
        documents = [tokens(text) for text in pool]
        if not any(documents):  # rank_bm25 divides by the number of words
            return np.zeros(len(documents))
        return np.asarray(BM25Okapi(documents).get_scores(tokens(query)), dtype=np.float64)

    return Lexical(scores, lambda q, c: _shared(q, c, idf), stable_hash(["bm25 per pool", K1, B, EPSILON])[:16])


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

    def scores(query: str, pool: Sequence[str]) -> NDArray[np.float64]:
        asked = vector(query)
        return -np.array([np.linalg.norm(vector(text) - asked) for text in pool])

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
    return _rows(meta["words"]), matrix


def _rows(names: Sequence[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


# ------------------------------------------------------------------------------------- words on any task that ranks

K1, B, EPSILON = 1.5, 0.75, 0.25
"""BM25Okapi's defaults."""


@dataclass(frozen=True)
class WordScorer:
    """Scores of words that a query and a candidate of one task share; what `evaluators.pairs` calls a PairScorer.

    Attributes:
        weights: (candidates, words) sparse matrix, the part of the score that a document and a word decide.
        row: candidate id -> row.
        model: scikit-learn's vectorizer that weighs a query's words; the score is the inner product.
        texts: text of every query and paper by id; `<id>/q` is a query's own where its id is a candidate's too.
    """

    name: str
    similarity: str
    fingerprint: str
    weights: Any = field(repr=False)
    row: Mapping[str, int] = field(repr=False)
    model: Any = field(repr=False)
    texts: Mapping[str, str] = field(repr=False)

    def __contains__(self, key: object) -> bool:
        """Return whether a query or paper has a text."""
        return key in self.texts

    def scores(self, query_id: str, cand_ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the (candidates,) scores of one query.

        Raises DataError for a paper that is no candidate, and a query without text.
        """
        foreign = next((key for key in cand_ids if key not in self.row), None)
        if foreign is not None:
            raise DataError(self.name, None, f"paper {foreign} is no candidate of this task, or has no text")
        text = self.texts.get(f"{query_id}/q", self.texts.get(query_id))
        if text is None:
            raise DataError(self.name, None, f"query {query_id} has no text")
        rows = [self.row[key] for key in cand_ids]
        # a whole pool in its own order is not copied for each query
        weights = self.weights if rows == list(range(len(self.row))) else self.weights[rows]
        return np.asarray(weights @ self.model.transform([text]).toarray()[0], dtype=np.float64)


def bm25_scorer(task: Task, texts: Mapping[str, str]) -> WordScorer:
    """Return BM25 over a ranking task: one index of all its candidates, rank_bm25's BM25Okapi with its defaults.

    Args:
        texts: title and abstract of every query and paper by id, as `evaluators.inputs` gives them. What has no text is
            missing, as a paper without a vector is.

    A query's words (`tokens`) are those of its title and abstract, repetitions counted. The index holds the candidates of all of
    MDCR's fields together. Neither SciRepEval nor MDCR's repository says what index, words or parameters their BM25 row had:
    this is the same formula, not the same system. Raises DataError for a task whose candidates have no words.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    names, model = [key for key in candidates(task) if key in texts], CountVectorizer(analyzer=tokens)
    try:
        counts = model.fit_transform([texts[key] for key in names])
    except ValueError:  # an empty vocabulary
        reason = "no candidate has a text with words in it"
        raise DataError(task.name, None, reason, "Read a source that has texts") from None
    fingerprint = stable_hash(["bm25 per task", K1, B, EPSILON, sorted(texts.items()), sorted(names)])[:16]
    return WordScorer("bm25", "BM25", fingerprint, _okapi(counts), _rows(names), model, texts)


def tfidf_scorer(task: Task, texts: Mapping[str, str]) -> WordScorer:
    """Return TF-IDF over a ranking task: scikit-learn's rows of length 1 of all words but English stop words, by cosine.

    Unlike `evaluators.inputs.tfidf_vectors` no word is too rare: in a whole pool a word of one paper may be what a query
    asks for. The IDF is that of queries and candidates. Raises DataError where no text has a word.
    """
    names = [key for key in candidates(task) if key in texts]
    model = term_weights()
    try:
        model.fit(texts.values())
    except ValueError:  # an empty vocabulary
        raise DataError(task.name, None, "no text has words in it", "Read a source that has texts") from None
    weights = model.transform([texts[key] for key in names])
    fingerprint = stable_hash(["tfidf per task", sorted(texts.items()), sorted(names)])[:16]
    return WordScorer("tfidf", "cosine of TF-IDF", fingerprint, weights, _rows(names), model, texts)


def candidates(task: Task) -> list[str]:
    """Return the ids of the papers or labels a ranking task ranks, each once. Raises DataError where there are none."""
    found = list(dict.fromkeys(task.payload.ids().ranked))
    if not found:
        raise DataError(task.name, None, f"a {task.type} task ranks nothing")
    return found


def _okapi(counts: Any) -> Any:
    """Return the (documents, words) sparse weights of BM25Okapi, from how often each word stands in each document."""
    weights, lengths = counts.astype(np.float64), np.asarray(counts.sum(axis=1)).ravel()
    having = np.bincount(weights.indices, minlength=weights.shape[1])
    idf = np.log(len(lengths) - having + 0.5) - np.log(having + 0.5)
    idf[idf < 0] = EPSILON * idf.mean()  # the mean is over all words, the negative ones included
    norm = np.repeat(K1 * (1 - B + B * lengths / lengths.mean()), np.diff(weights.indptr))
    weights.data = idf[weights.indices] * weights.data * (K1 + 1) / (weights.data + norm)
    return weights
