"""Searching a whole pool: exact, in bounded memory, and nearly all of it in single precision."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from counted import peak
from test_search import seen_in_double, table

from scirep_core.data.task import Pooled, Task
from scirep_core.evaluators import retrieval, search

TREC = {"recall@5": "recall_5", "recall@100": "recall_100", "mrr": "recip_rank", "map": "map", "p@10": "P_10",
        "ndcg@10": "ndcg_cut_10", "ndcg": "ndcg"}  # fmt: skip


def task(data: Pooled, similarity: str, *metrics: str) -> Task:
    return Task("pool", "retrieval", "PRX", metrics, data, "embedded", "0" * 16, 1, similarity, tuple, {})


def world(kind: str, keep_self: bool, seed: int = 0) -> tuple[Pooled, dict[str, np.ndarray]]:
    """A pool of 130 with queries in and outside it, few and many judged papers, grades of 0 and below."""
    rng = np.random.default_rng(seed)
    pool, queries = [f"d{i}" for i in range(130)], [*(f"d{i}" for i in range(12)), *(f"q{i}" for i in range(12))]
    size = len({*pool, *queries})
    if kind == "random":
        matrix = rng.standard_normal((size, 24)).astype(np.float32)
    elif kind == "doubles":
        matrix = rng.standard_normal((9, 24)).astype(np.float32)[rng.integers(0, 9, size)]
    else:
        matrix = rng.integers(-1, 2, (size, 3)).astype(np.float32)
    relevant = {}
    for i, query in enumerate(queries):
        judged = rng.choice(pool, (1, 3, 20, 100)[i % 4], replace=False).tolist()
        relevant[query] = {paper: int(rng.integers(-1, 4)) for paper in judged} | {judged[0]: 1}
    return Pooled(relevant, tuple(pool), keep_self), dict(zip(dict.fromkeys([*pool, *queries]), matrix, strict=True))


def by_sorting(data: Pooled, vectors: dict[str, np.ndarray], similarity: str) -> tuple[dict[str, float], int]:
    """The published way: the whole pool sorted for each query; metrics by trec_eval; and how many queries have ties."""
    run, tied = {}, 0
    for query, grades in data.relevant.items():
        there = [paper for paper in data.pool if paper in vectors and (data.keep_self or paper != query)]
        scores = table(vectors[query][None], np.stack([vectors[paper] for paper in there]), similarity)[0]
        order = np.argsort(-scores, kind="stable")
        run[query] = {there[i]: -float(place) for place, i in enumerate(order)}
        tied += any((scores == scores[there.index(paper)]).sum() > 1 for paper in grades if paper in there)
    judged = {query: dict(grades) for query, grades in data.relevant.items()}
    values = pytrec_eval.RelevanceEvaluator(judged, set(pytrec_eval.supported_measures)).evaluate(run)
    return {name: 100 * float(np.mean([values[q][key] for q in judged])) for name, key in TREC.items()}, tied


@pytest.mark.parametrize("cells", [1 << 25, 400])
@pytest.mark.parametrize("similarity", ["dot", "cosine", "l2"])
@pytest.mark.parametrize("kind", ["random", "doubles", "grid"])
@pytest.mark.parametrize("keep_self", [True, False])
def test_metrics_are_those_of_a_full_stable_sort(kind, similarity, keep_self, cells, monkeypatch):
    monkeypatch.setattr(search, "CELLS", cells)
    data, vectors = world(kind, keep_self)
    for missing in ((), ("d3", "d50", "d77")):
        for key in missing:
            del vectors[key]
        kept = Pooled({q: g for q, g in data.relevant.items() if q in vectors}, data.pool, keep_self)
        wanted, tied = by_sorting(kept, vectors, similarity)
        rows = retrieval.evaluate(task(data, similarity, *TREC), vectors, on_missing="drop" if missing else "error")
        assert {row.metric: row.value for row in rows} == pytest.approx(wanted, rel=1e-12)
        assert (f"{tied} queries whose" in rows[0].note) == bool(tied)


def test_memory_is_the_vectors_and_one_block_of_scores(monkeypatch):
    monkeypatch.setattr(search, "CELLS", 1 << 20)
    rng = np.random.default_rng(0)
    ids = [f"d{i}" for i in range(40_000)]
    vectors = dict(zip(ids, rng.standard_normal((40_000, 32), dtype=np.float32), strict=True))
    relevant = {query: {ids[7 * i]: 1} for i, query in enumerate(ids[:600])}
    task_ = task(Pooled(relevant, tuple(ids)), "dot", "recall@20")
    assert peak(lambda: retrieval.evaluate(task_, vectors)) < 32 << 20, "of 96 MB for all scores"


def test_more_judged_papers_than_not_and_one_vector_for_all_are_no_trap(monkeypatch):
    ids = [f"d{i}" for i in range(5000)]
    vectors = dict.fromkeys(ids, np.full(64, 0.1, dtype=np.float32))
    relevant = {query: dict.fromkeys(ids[-3000:], 1) for query in ids[:10]}
    in_double = seen_in_double(monkeypatch)
    (row,) = retrieval.evaluate(task(Pooled(relevant, tuple(ids)), "cosine", "mrr"), vectors)
    assert row.value == pytest.approx(100 / 2001)
    assert "10 queries whose" in row.note
    assert sum(in_double) <= 10 * (5000 + 3000), "every paper once a query, and the judged ones once more"


def test_a_query_of_20_000_papers_looks_at_few_in_double_precision(monkeypatch):
    rng = np.random.default_rng(0)
    ids = [f"d{i}" for i in range(20_000)]
    vectors = dict(zip(ids, rng.standard_normal((len(ids), 256), dtype=np.float32), strict=True))
    queries = 100
    drawn = rng.integers(0, len(ids), (queries, 5))
    relevant = {ids[i]: {ids[j]: 1 for j in row} for i, row in enumerate(drawn)}
    data = task(Pooled(relevant, tuple(ids)), "dot", "recall@20", "recall@50", "recall@100")
    in_double = seen_in_double(monkeypatch)
    assert retrieval.evaluate(data, vectors)[0].n == queries
    assert queries * 5 <= sum(in_double) <= queries * 5 * 20
