"""Systems that score a query against candidates: by one vector a paper, or by themselves (BM25, sentence matching).

What `scoring.evaluate` takes in place of vectors for tasks that rank (`systems.RANKING`) is a `PairScorer`. `scores` asks
either kind; with vectors the score is minus the Euclidean distance, the cosine or the dot product. `pool_of` asks either
kind for whole pools and label spaces. A query's own vector, `<id>/q` (`inputs`), is taken where there is one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import LabelSpace, Payload, Task
from scirep_core.encoders import aspire
from scirep_core.encoders.vectors.embed import Progress, embed
from scirep_core.evaluators.facets import similarities
from scirep_core.evaluators.inputs import QUERY
from scirep_core.evaluators.rows import Asked, Floats, Vectors, similarity_of
from scirep_core.evaluators.search import Places, Pool, Searched, Singles, Standing
from scirep_core.kit.errors import ConfigError, NumericError
from scirep_core.kit.records import Paper
from scirep_core.kit.store import stable_hash
from scirep_core.results import Result

P = TypeVar("P", bound=Payload)
Evaluator = Callable[..., list[Result]]


@runtime_checkable
class PairScorer(Protocol):
    """Scores pairs of one task's texts; higher is nearer."""

    @property
    def name(self) -> str:
        """Name shown in tables."""

    @property
    def fingerprint(self) -> str:
        """Content hash of all that decides the scores."""

    @property
    def similarity(self) -> str:
        """What the score is, as rows show it: BM25, best sentence pair, optimal transport."""

    def __contains__(self, key: object) -> bool:
        """Return whether a query or paper has a text."""

    def scores(self, query_id: str, cand_ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the (candidates,) scores of one query."""


def ask(
    task: Task, vectors: Vectors | PairScorer, protocol: str = "paper", on_missing: str = "error",
    metrics: Sequence[str] | None = None, similarity: str | None = None, seed: int = 0, default: str | None = None,
) -> Asked:  # fmt: skip
    """Return how a task is to be scored, with the similarity rows will show.

    Raises ConfigError for an unknown similarity, or one asked of a scorer that has its own.
    """
    if isinstance(vectors, PairScorer):
        if similarity is not None:
            raise ConfigError(f"{vectors.name} scores pairs itself ({vectors.similarity}); leave similarity out")
        shown = vectors.similarity
    else:
        shown = "" if default == "" else similarity_of(similarity or default or task.similarity)
    return Asked(task, cast(Vectors, vectors), protocol, on_missing, tuple(metrics or task.metrics), shown, seed)


def evaluator(
    payload: type[P], default: str | None = None
) -> Callable[[Callable[Concatenate[Asked, P, ...], list[Result]]], Evaluator]:  # fmt: skip
    """Return what makes the evaluator of a type of payload from what scores one: the head that all evaluators share.

        evaluate(task, vectors, protocol="paper", on_missing="error", metrics=None, similarity=None, seed=0, **more)

    Args:
        payload: the type of what is judged.
        default: what vectors are compared by where no other is asked for; None is the task's own, "" where none are.
    """

    def headed(score: Callable[Concatenate[Asked, P, ...], list[Result]]) -> Evaluator:
        @functools.wraps(score)
        def evaluate(
            task: Task, vectors: Vectors | PairScorer, protocol: str = "paper", on_missing: str = "error",
            metrics: Sequence[str] | None = None, similarity: str | None = None, seed: int = 0, **more: Any,
        ) -> list[Result]:  # fmt: skip
            assert isinstance(task.payload, payload)
            asked = ask(task, vectors, protocol, on_missing, metrics, similarity, seed, default)
            return score(asked, task.payload, **more)

        return evaluate

    return headed


def own(vectors: object, query_id: str) -> str:
    """Return the name of a query's own vector: `<id>/q` where the id is a candidate's too and both were encoded."""
    name = f"{query_id}{QUERY}"
    return name if name in cast(Vectors, vectors) else query_id


def scores(asked: Asked, query_id: str, cand_ids: Sequence[str]) -> Floats:
    """Return the (candidates,) scores of one query, higher is nearer, in double precision.

    Raises NumericError for a scorer's score that is not finite, naming query and candidate.
    """
    if isinstance(asked.vectors, PairScorer):
        found = np.asarray(asked.vectors.scores(query_id, cand_ids), dtype=np.float64)
        if not (fine := np.isfinite(found)).all():
            bad = cand_ids[int(np.argmin(fine))]
            raise NumericError(f"{asked.vectors.name}: the score of query {query_id} and candidate {bad} is not finite")
        return found
    matrix = asked.matrix([own(asked.vectors, query_id), *cand_ids]).astype(np.float64)
    return similarities(matrix[0], matrix[1:], asked.similarity)


class ScoredPool:
    """Texts to search among by a PairScorer: a row of scores a query, in single precision as trec_eval compares them.

    Args:
        ids: of the texts, in pool order. Queries are ids too.
    """

    def __init__(self, asked: Asked, ids: Sequence[str]) -> None:
        self.asked, self.ids = asked, list(ids)

    def nearest(self, queries: Sequence[str], k: int) -> Places:
        """Return (n, k) places of the most similar texts, best first."""
        return np.stack([np.argsort(-row, kind="stable")[:k] for _, row in self._rows(queries, None)])

    def standing(self, queries: Sequence[str], rows: Places, places: Places, without: Places | None = None) -> Standing:
        """Return where texts of the pool stand; see `search.Pool.standing`."""
        above, before, after = np.zeros((3, len(places)), dtype=np.int64)
        for i, row in self._rows(queries, without):
            for j in range(*np.searchsorted(rows, [i, i + 1])):
                score, ties = row[places[j]], np.flatnonzero(row == row[places[j]])
                above[j] = np.count_nonzero(row > score)
                before[j], after[j] = np.count_nonzero(ties < places[j]), np.count_nonzero(ties > places[j])
        return Standing(above, before, after)

    def scores(self, query: str, places: Places) -> Singles:
        """Return (n,) scores of a query and texts of the pool."""
        ids = [self.ids[place] for place in places]
        return scores(self.asked, query, ids).astype(np.float32) if ids else np.zeros(0, dtype=np.float32)

    def _rows(self, queries: Sequence[str], without: Places | None) -> Iterator[tuple[int, Singles]]:
        for i, query in enumerate(queries):
            row = scores(self.asked, query, self.ids).astype(np.float32)
            if without is not None and without[i] >= 0:
                row[without[i]] = -np.inf
            yield i, row


def pool_of(asked: Asked, ids: Sequence[str], queries: Sequence[str]) -> tuple[Searched, Any]:
    """Return texts to search among, and the queries as that pool takes them."""
    if isinstance(asked.vectors, PairScorer):
        return ScoredPool(asked, ids), queries
    return Pool(asked.matrix(ids), asked.similarity), asked.matrix(queries)


def matcher_of(
    name: str, documents: Mapping[str, aspire.Document], progress: Progress | None = None
) -> aspire.SentenceMatcher:
    """Return sentence matching by name (`aspire.resolve`) of documents by id, its vectors from the vector store.

    A document without text is missing, as a paper without a vector is. Raises ConfigError for an unknown name.
    """
    spec, encoder = aspire.resolve(name), aspire.sentence_encoder(name)
    there = {key: one for key, one in documents.items() if one.title or one.sentences}
    keys = [aspire.key(one, number) for one in there.values() for number in range(one.size)]
    ends = np.cumsum([one.size for one in there.values()])[:-1]
    rows = np.split(embed(encoder, keys, "PRX", progress), ends) if keys else []
    parts = {key: part[part.any(axis=1)] for key, part in zip(there, rows, strict=True)}
    fingerprint = stable_hash([encoder.fingerprint, spec.match, aspire.TEMPERATURE])[:16]
    return aspire.SentenceMatcher(name, fingerprint, {k: part for k, part in parts.items() if len(part)}, spec.match)


def documents_of(task: Task, protocol: str = "paper") -> dict[str, aspire.Document]:
    """Return title and sentences of every query, paper and label; an id that is both is treated as `inputs` treats it.

    A bare query is a title alone.
    """
    found = {key: aspire.Document(text) for key, text in task.queries.items()}
    for paper in task.texts():
        whole = aspire.document(paper)
        if paper.paper_id not in task.queries:
            found[paper.paper_id] = whole
        elif protocol == "sound":
            found[f"{paper.paper_id}{QUERY}"], found[paper.paper_id] = found[paper.paper_id], whole
    if isinstance(task.payload, LabelSpace):
        for label in task.payload.labels.values():
            found[label.label_id] = aspire.document(Paper(label.label_id, label.name, label.definition))
    return found


def prepare(tasks: Sequence[Task], name: str, progress: Progress | None = None, protocol: str = "paper") -> None:
    """Encode the sentences of several tasks in one go, so that `matcher_of` finds them."""
    found = {one for task in tasks for one in documents_of(task, protocol).values() if one.title or one.sentences}
    keys = [aspire.key(one, number) for one in sorted(found) for number in range(one.size)]
    if keys:
        embed(aspire.sentence_encoder(name), keys, "PRX", progress)
