"""Retrieval from a whole pool: link prediction and search of SciMult (4.3, 4.5), PMC-Patients, the BEIR sets.

Every paper of the pool is scored against every query, exactly, in blocks of bounded memory (`search`); each metric follows
from the ranks of the judged papers, so that the pool is never sorted. Metrics are trec_eval's: recall@k and p@k count
grades above 0, nDCG has the grade as gain; grades below 0 (BEIR's TREC-COVID has some) and unjudged papers count as 0. Ties
go by pool order (the published scripts leave them undefined).

`keep_self` (SciMult's SciDocs and PPR): the query paper stays in the pool and takes a place, normally the first;
otherwise it is taken out (PMC-Patients, as the BEIR evaluator does). A query without a single judged paper is skipped,
as in the published scripts. Protocol `paper`: a query whose judged papers all have grade 0 scores 0 and stays;
`sound`: it is left out and counted. A relevant paper outside the pool (a link may lead to one) is never found: `paper`
counts it all the same, as the published recall divides by all links; `sound` leaves it out. With `drop`, papers without a
vector leave the pool but not the gold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scirep_core.data.task import Pooled, Task
from scirep_core.evaluators.pairs import PairScorer, ask, evaluator, pool_of
from scirep_core.evaluators.rows import Asked, Vectors, counted, mean_row, sentence
from scirep_core.evaluators.search import ranks_of
from scirep_core.kit.errors import DataError
from scirep_core.results import Result
from scirep_core.results.metrics import from_ranks

READINGS = ("gain 2^g - 1", "judged only", "ties for", "ties against")
"""Readings of a ranking metric beside trec_eval's: the other common gain (equal where all grades are 0 and 1); unjudged
papers leave the ranking instead of counting as 0; of papers with equal score, relevant ones come first, or last."""


@evaluator(Pooled)
def evaluate(asked: Asked, data: Pooled) -> list[Result]:
    """Return one row per metric, a mean over queries. Raises DataError for a missing vector, and where nothing is relevant."""
    members = set(data.pool)
    relevant = {query: {p: grade for p, grade in grades.items() if asked.protocol == "paper" or p in members}
                for query, grades in data.relevant.items()}  # fmt: skip
    outside = sum(paper not in members for grades in data.relevant.values() for paper in grades)
    judged = [q for q, grades in relevant.items() if grades and (asked.protocol == "paper" or max(grades.values()) > 0)]
    if not judged:
        raise DataError(asked.task.name, None, "no query has a relevant paper in the pool", "Look at its judgements")
    vector_ids = asked.vector_ids([*data.pool, *judged])
    pool, queries = [p for p in data.pool if p in vector_ids], [q for q in judged if q in vector_ids]
    if not pool or not queries:
        what = "query" if pool else "paper of the pool"
        raise DataError("vectors", None, f"no {what} of {asked.task.name} has a vector")
    place = {paper: i for i, paper in enumerate(pool)}
    lists = [[place.get(paper, -1) for paper in relevant[query]] for query in queries]
    own = None if data.keep_self else np.array([place.get(query, -1) for query in queries])
    found, ties = ranks_of(*pool_of(asked, pool, queries), lists, own)
    values: dict[str, list[float]] = {}
    for query, ranks in zip(queries, found, strict=True):
        gains = np.maximum(list(relevant[query].values()), 0)  # trec_eval has no negative gain
        values[query] = [from_ranks(metric, ranks, gains) for metric in asked.metrics]
    gone, beyond = len(data.relevant) - len(judged), "count as not found" if asked.protocol == "paper" else "left out"
    shared: dict[str, Any] = {
        "ties": "pool order",
        "coverage": (len(queries) / len(judged)) * (len(pool) / len(data.pool)),
        "pool": f"{len(pool)} of {len(data.pool)} papers, {len(queries)} of {len(judged)} queries"
        + ("" if data.keep_self else ", the query's own paper taken out"),
        "note": sentence(
            counted(gone, "queries without a relevant paper left out"),
            counted(outside, f"judged papers outside the pool {beyond}"),
            counted(int(ties.sum()), "queries whose relevant papers tie with others, decided by pool order"),
        ),
    }
    return [
        mean_row(asked, metric, {query: numbers[m] for query, numbers in values.items()}, **shared)
        for m, metric in enumerate(asked.metrics)
    ]


def readings(
    task: Task, vectors: Vectors | PairScorer, metric: str, similarity: str | None = None, seed: int = 0
) -> dict[str, Result]:
    """Return reading -> row of a metric in each of `READINGS`, under the metric's plain name; protocol `paper`.

    Raises DataError for a missing vector.
    """
    data = task.payload
    assert isinstance(data, Pooled)
    asked = ask(task, vectors, metrics=(metric,), similarity=similarity, seed=seed)
    judged = [query for query, grades in data.relevant.items() if grades]
    asked.vector_ids([*data.pool, *judged])
    pool, queries = pool_of(asked, data.pool, judged)
    place, every = {paper: i for i, paper in enumerate(data.pool)}, np.arange(len(data.pool))
    values: dict[str, dict[str, float]] = {reading: {} for reading in READINGS}
    for key, query in zip(judged, queries, strict=True):
        grades = data.relevant[key]
        at, gains = np.array([place.get(paper, -1) for paper in grades]), np.maximum(list(grades.values()), 0)
        inside = at >= 0  # a judged paper outside the pool is never found, and counts all the same
        scores = pool.scores(query, every)
        for reading, found in values.items():
            ranked, first = at[inside] if reading == "judged only" else every, np.zeros(len(every))
            first[at[inside]] = {"ties for": -gains, "ties against": gains}.get(reading, 0 * gains)[inside]
            order = ranked[np.lexsort((ranked, first[ranked], -scores[ranked]))]
            ranks = np.empty(len(every))
            ranks[order] = np.arange(1, len(order) + 1)
            of = np.where(inside, ranks[at], np.inf)
            found[key] = from_ranks(metric, of, 2**gains - 1 if reading == "gain 2^g - 1" else gains)
    return {reading: mean_row(asked, metric, found, ties=reading if "ties" in reading else "pool order")
            for reading, found in values.items()}  # fmt: skip
