"""The one line of SciMult's Table 7 that released model output allows to recompute: a user study of recommendations (4.5).

    nDCG@k   sum of gain / log2(rank + 1) over the first k, divided by the same sum in the best order
    gain     the grade (trec_eval, and so SciMult), or 2^grade - 1 (the study's own script)

The user study released, for each rating, the similarity of its authors' recommender: SciMult's line "Kanakia et al.". What the
paper does not say: which 137 of the rated queries it keeps, how half points become grades, which of two ratings of a pair
counts, what happens to candidates without a similarity, how ties are broken. Each reading here changes one of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.readers import recommendation
from scirep_core.data.readers.recommendation import StudyRow
from scirep_core.data.task import Judged, Qrel, Task
from scirep_core.evaluators.rows import Asked, mean_row
from scirep_core.kit.records import grouped
from scirep_core.kit.store import sha256_file
from scirep_core.results import Result, row_of
from scirep_core.results.metrics import from_ranks
from scirep_core.results.published import lookup

LINE, TASK = "Kanakia et al. (2019)", "scimult/recommendation"
METRICS = {"ndcg@5": "nDCG@5", "ndcg@10": "nDCG@10", "ndcg": "nDCG"}
KEPT = 137
"""Queries of the paper."""
DRAWS = 10_000
SUBSET = f"{KEPT} queries at random"
AS_HIGH = f"random choices of {KEPT} queries at or above the print in all three, %"


class Reading(NamedTuple):
    """How the file is read; the defaults are trec_eval's, on the candidates that have a similarity."""

    gain: Literal["linear", "exponential"] = "linear"
    ties: Literal["id", "file"] = "id"
    missing: Literal["last", "out"] = "out"
    halves: Literal["up", "down"] = "up"
    twice: Literal["first", "last"] = "first"
    every: bool = False


READINGS: dict[str, Reading] = {
    "as trec_eval": Reading(),
    "all rated queries and candidates, those without a similarity last": Reading(missing="last", every=True),
    "ties in file order": Reading(ties="file"),
    "half points down": Reading(halves="down"),
    "second rating of a pair": Reading(twice="last"),
    "candidates without a similarity last": Reading(missing="last"),
    "gain 2^grade - 1": Reading(gain="exponential"),
}
"""What is said of a reading -> the reading. All but the first change one thing."""


def rated(path: Path) -> dict[str, list[StudyRow]]:
    """Return the rated rows of the study by query, in file order. Raises DataError for a malformed row."""
    return grouped((one for _, one in recommendation.rows(path) if one.score is not None), attrgetter("query_id"))


def values(queries: Mapping[str, Sequence[StudyRow]], reading: Reading) -> dict[str, NDArray[np.float64]]:
    """Return query -> (3,) nDCG@5, nDCG@10 and nDCG in [0, 1] of the released similarity, under a reading."""
    found = {}
    for query, rows in queries.items():
        ratings: dict[str, StudyRow] = {}
        for one in rows:
            if one.cand_id not in ratings or reading.twice == "last":
                ratings[one.cand_id] = one
        judged = [one for one in ratings.values() if reading.missing == "last" or one.similarity is not None]
        if not judged or not (reading.every or any(one.similarity is not None for one in judged)):
            continue
        grade: Callable[[float], int] = recommendation.grade if reading.halves == "up" else math.floor
        grades = [grade(one.score or 0.0) for one in judged]
        gains = np.array([2**g - 1 if reading.gain == "exponential" else g for g in grades], dtype=np.int64)
        ranks = np.empty(len(judged))
        ranks[_order(judged, reading.ties)] = np.arange(1, len(judged) + 1)
        found[query] = np.array([from_ranks(metric, ranks, gains) for metric in METRICS])
    return found


def _order(rows: Sequence[StudyRow], ties: str) -> list[int]:
    """Return places by falling similarity, none last; ties by falling id, as trec_eval, or in file order."""
    places = list(range(len(rows)))
    if ties == "id":
        places.sort(key=lambda i: rows[i].cand_id, reverse=True)
    # trec_eval compares in single precision
    return sorted(places, key=lambda i: -float(np.float32(-1.0 if rows[i].similarity is None else rows[i].similarity)))


# ---- rows ------------------------------------------------------------------------------------------------------------


def measure(path: Path, seed: int = 0) -> list[Result]:
    """Return the line under every reading with intervals over queries, and what leaving out queries at random could do."""
    queries = rated(path)
    task = Task(TASK, "proximity", "PRX", tuple(METRICS), Judged((Qrel("", "", 0),)), "real", sha256_file(path))
    asked = Asked(task, seed=seed)
    rows: list[Result] = []
    shared: dict[str, Any] = {"encoder": LINE, "similarity": "as released"}
    for label, reading in READINGS.items():
        found = values(queries, reading)
        for i, metric in enumerate(METRICS):
            by_query = {query: float(scores[i]) for query, scores in found.items()}
            rows.append(mean_row(asked, f"{metric}, {label}", by_query, note=f"{len(found)} queries", **shared))
    table = np.stack(list(values(queries, Reading()).values()))
    rng = np.random.default_rng(seed)
    picks = np.argsort(rng.random((DRAWS, len(table))), axis=1)[:, :KEPT]
    means = 100 * table[picks].mean(axis=1)
    printed = np.array([lookup("SM-T7")[LINE, f"Recommendation/{name}"].number for name in METRICS.values()])
    for i, metric in enumerate(METRICS):
        value = float(means[:, i].mean())
        rows.append(asked.row(f"{metric}, {SUBSET}", value, KEPT, replicates=means[:, i], **shared))
    # a printed number stands for all that round to it
    share = 100 * float((means >= printed - 0.005).all(axis=1).mean())
    rows.append(asked.row(AS_HIGH, share, DRAWS, **shared))
    row = row_of(task, task=TASK, split="all", encoder=LINE)
    rows += [row(metric=name, value=float(value), n=n) for name, value, n in _counts(queries)]
    return [replace(row, by_query={}, replicates=None) for row in rows]


def _counts(queries: Mapping[str, Sequence[StudyRow]]) -> list[tuple[str, float, int]]:
    every = [one for rows in queries.values() for one in rows]
    pairs = {(one.query_id, one.cand_id) for one in every}
    return [
        ("rated queries", len(queries), len(queries)), ("ratings", len(every), len(every)),
        ("half points", sum(one.score != math.floor(one.score or 0) for one in every), len(every)),
        ("ratings that repeat a pair", len(every) - len(pairs), len(every)),
        ("ratings without a similarity", sum(one.similarity is None for one in every), len(every)),
        ("queries with a similarity", sum(any(o.similarity is not None for o in rows) for rows in queries.values()), len(queries)),
        ("candidates per query", len(pairs) / len(queries), len(queries)),
    ]  # fmt: skip
