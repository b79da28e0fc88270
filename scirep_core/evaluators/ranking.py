"""Ranking judged candidates: proximity and ad-hoc search (SciRepEval A.1, A.2; SciDocs; MDCR; SciMult 4.4, 4.5).

The score of a candidate is minus its Euclidean distance to the query (or cosine, dot, or what a `PairScorer` says);
trec_eval, through pytrec_eval, turns scores and judgements into metrics. Only judged candidates are ranked, never the
whole corpus. nDCG is uncut, with linear gain and a log2(rank + 1) discount: sum of score / log2(rank + 1) over ranked
candidates, divided by the same sum for all judged ones in the order of their scores.

Protocol `paper`: of a pair judged twice the first row counts; ties (equal in single precision) go by descending
candidate id, as trec_eval does; a query with nothing relevant scores 0 and stays in the mean; with `drop`, a query
without vector leaves the mean, a candidate without vector leaves the ranking but not the ideal nor the number of
relevant ones. A query none of whose candidates has a vector leaves the mean too (the published code stops there).
Protocol `sound`: a pair judged twice is an error, ties go by a hash of query and candidate (by file order they would
favour what files list first, which is often what is relevant), queries with nothing relevant are left out and
counted; the query's own vector `<id>/q` counts where there is one.

With groups (MDCR's fields) every metric also has one row per group, split `test/GROUP`; `test` is their plain mean, so
a field of few queries counts as much as one of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import Judged, Qrel
from scirep_core.evaluators.pairs import evaluator, own, scores
from scirep_core.evaluators.rows import Asked, counted, mean_row, replicates_of_groups, sentence
from scirep_core.kit.errors import DataError
from scirep_core.kit.store import sha256_bytes
from scirep_core.results import Result
from scirep_core.results.metrics import from_ranks, parse, trec_measure

Key = tuple[str, str]
"""(group, query id): the same query may be judged in several groups."""
Qrels = dict[Key, dict[str, int]]
TIES = {"paper": "trec_eval: descending candidate id", "sound": "a hash of query and candidate"}


@evaluator(Judged)
def evaluate(asked: Asked, data: Judged) -> list[Result]:
    """Return one row per metric, and one per metric and group where the judgements have groups.

    Raises DataError for a missing vector, or (sound) a pair judged twice; ConfigError for an unknown metric.
    """
    qrels, twice = judgements(data.rows, asked.protocol, asked.task.name)
    vector_ids = asked.vector_ids(
        name for (_, query), judged in qrels.items() for name in (own(asked.vectors, query), *judged)
    )
    run = {}
    for (group, query), judged in qrels.items():
        ids = [key for key in judged if key in vector_ids]
        if own(asked.vectors, query) in vector_ids and ids:
            run[group, query] = dict(zip(ids, scores(asked, query, ids), strict=True))
    if not run:
        raise DataError("vectors", None, f"no query of {asked.task.name} has a vector and a candidate with one")
    values = score_run(qrels, run, asked.metrics, asked.protocol)
    pairs, ranked = sum(map(len, qrels.values())), sum(map(len, run.values()))
    return _rows(asked, values, {
        "ties": TIES[asked.protocol],
        "coverage": ranked / pairs,
        "pool": f"{ranked} of {pairs} judged pairs scored, {len(run)} of {len(qrels)} queries",
        "note": sentence(
            counted(twice, "pairs judged twice, the first row counts"),
            counted(len(run) - len(values) if asked.protocol == "sound" else 0, "queries with nothing relevant left out"),
            counted(_irrelevant(qrels, run) if asked.protocol == "paper" else 0, "queries with nothing relevant score 0"),
        ),
    })  # fmt: skip


def _irrelevant(qrels: Qrels, run: dict[Key, dict[str, float]]) -> int:
    return sum(max(qrels[key].values()) <= 0 for key in run)


def judgements(rows: Sequence[Qrel], protocol: str, name: str) -> tuple[Qrels, int]:
    """Return judgements by (group, query), and how many rows repeat a pair. Raises DataError for one under `sound`."""
    qrels: Qrels = {}
    twice = 0
    for row in rows:
        judged = qrels.setdefault((row.group, row.query_id), {})
        if row.cand_id in judged:
            twice += 1
            if protocol == "sound":
                raise DataError(name, None, f"pair ({row.query_id}, {row.cand_id}) is judged twice",
                                "Keep one row, or use --protocol paper, which takes the first")  # fmt: skip
        judged.setdefault(row.cand_id, row.score)
    return qrels, twice


def score_run(
    qrels: Qrels, run: dict[Key, dict[str, float]], metrics: Sequence[str], protocol: str
) -> dict[Key, NDArray[np.float64]]:
    """Return the (metrics,) values in [0, 1] of every scored query, in the order of the judgements."""
    import pytrec_eval

    own = [name for name in metrics if parse(name)[0].ours]
    measures = {name: trec_measure(name) for name in metrics if name not in own}
    keys = [key for key in qrels if key in run and (protocol == "paper" or max(qrels[key].values()) > 0)]
    if not keys:
        raise DataError("judgements", None, "no query has a relevant candidate")
    ranked = {str(i): {c: float(s) for c, s in run[key].items()} for i, key in enumerate(keys)}
    if protocol == "sound":  # the place in a stable order is a score without ties
        ranked = {i: _placed(keys[int(i)][1], judged) for i, judged in ranked.items()}
    # grades below 0 are not relevant either; a query with nothing else makes trec_eval write outside its memory
    judged_by = {str(i): {c: max(grade, 0) for c, grade in qrels[key].items()} for i, key in enumerate(keys)}
    asked = {measure for measure, _ in measures.values()}
    found = pytrec_eval.RelevanceEvaluator(judged_by, asked).evaluate(ranked) if asked else {}
    table = {}
    for i, key in enumerate(keys):
        values = {name: found[str(i)][answer] for name, (_, answer) in measures.items()}
        if own:
            ranks, grades = _ranks(judged_by[str(i)], ranked[str(i)]), np.array([*judged_by[str(i)].values()])
            values |= {name: from_ranks(name, ranks, grades) for name in own}
        table[key] = np.array([values[name] for name in metrics])
    return table


def _ranks(judged: dict[str, int], ranked: dict[str, float]) -> NDArray[np.float64]:
    """Return the (judged,) ranks of candidates in trec_eval's order; inf for what is not ranked."""
    order = sorted(ranked, key=lambda name: (np.float32(ranked[name]), name), reverse=True)
    place = {name: float(rank) for rank, name in enumerate(order, start=1)}
    return np.array([place.get(name, np.inf) for name in judged])


def _placed(query: str, judged: dict[str, float]) -> dict[str, float]:
    """Return minus the place of each candidate; equal scores stand in the order of a hash, which knows no relevance."""
    scores = {name: float(np.float32(score)) for name, score in judged.items()}
    order = sorted(judged, key=lambda name: (-scores[name], sha256_bytes(f"{query}\n{name}".encode())))
    return {name: float(-place) for place, name in enumerate(order)}


def _rows(asked: Asked, values: dict[Key, NDArray[np.float64]], shared: dict[str, Any]) -> list[Result]:
    groups = sorted({group for group, _ in values})
    if "" in groups and len(groups) > 1:
        raise DataError(asked.task.name, None, "some judgements have a group and some have none", "Give all, or none")
    rows = []
    for i, metric in enumerate(asked.metrics):
        by_group: dict[str, dict[str, float]] = {group: {} for group in groups}
        for (group, query), found in values.items():
            by_group[group][query] = float(found[i])
        if groups == [""]:
            rows.append(mean_row(asked, metric, by_group[""], **shared))
            continue
        inner = shared | {"note": "", "pool": "the group's judged pairs"}
        rows += [mean_row(asked, metric, by_group[g], f"test/{g}", g, **inner) for g in groups]
        flat = {g: np.array(list(by_group[g].values())) for g in groups}
        spread = replicates_of_groups(asked, flat)
        mean = float(np.mean([values.mean() for values in flat.values()]))
        note = sentence(str(shared["note"]), f"mean of {len(groups)} groups")
        rows.append(asked.row(metric, 100 * mean, sum(map(len, flat.values())),
                              **(shared | {"note": note, "replicates": 100 * spread})))  # fmt: skip
    return rows
