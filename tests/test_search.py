"""Exact search by blocks against a full sort of exact scores: exact, in bounded memory, nearly all of it in single precision."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from counted import peak
from small_tasks import Scorer

from scirep_core.data.task import Pooled, Task
from scirep_core.evaluators import pairs, retrieval, search
from scirep_core.evaluators.search import Pool
from scirep_core.kit.errors import ConfigError


def drawn(n: int, dim: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def table(queries: np.ndarray, pool: np.ndarray, similarity: str = "cosine") -> np.ndarray:
    """All scores, one by one, in double precision, rounded once."""
    q, p = queries.astype(float), pool.astype(float)
    if similarity == "l2":
        scores = [[-np.sqrt(((a - b) ** 2).sum()) for b in p] for a in q]
    else:
        sizes = np.ones((len(q), len(p)))
        if similarity == "cosine":
            sizes = np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(p, axis=1)[None]
        scores = np.array([[(a * b).sum() for b in p] for a in q])
        scores = np.divide(scores, sizes, out=np.zeros_like(scores), where=sizes > 0)
    return np.asarray(scores, dtype=np.float32)


def both(pool: np.ndarray, queries: np.ndarray, similarity: str) -> Iterator[tuple[search.Searched, Any]]:
    """Yield a pool of vectors and one of scores, each with the queries as it takes them."""
    yield Pool(pool, similarity), queries
    scores = table(queries, pool, similarity)
    scorer = Scorer(lambda query, text: scores[int(query[1:]), int(text[1:])])
    asked = pairs.ask(SimpleNamespace(name="small", metrics=()), scorer)  # type: ignore[arg-type]
    yield pairs.pool_of(asked, [f"p{i}" for i in range(len(pool))], [f"q{i}" for i in range(len(queries))])


@pytest.fixture(params=[1 << 25, 700])
def blocks(request, monkeypatch):
    monkeypatch.setattr(search, "CELLS", request.param)


@pytest.fixture(params=["cosine", "dot", "l2"])
def similarity(request):
    return request.param


def doubled(n: int) -> np.ndarray:
    """A pool in which each text is there twice, one is nothing, and lengths differ a thousandfold."""
    pool = drawn(n) * np.geomspace(0.03, 30, n)[:, None].astype(np.float32)
    pool[n // 2] = 0
    return np.concatenate([pool, pool])


def seen_in_double(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by how many texts of a pool are looked at in double precision, call by call."""
    seen: list[int] = []
    scores = Pool.scores

    def counted(self, query, places):
        seen.append(len(places))
        return scores(self, query, places)

    monkeypatch.setattr(Pool, "scores", counted)
    return seen


@pytest.fixture
def in_double(monkeypatch):
    return seen_in_double(monkeypatch)


def close(n: int, seed: int) -> np.ndarray:
    """Texts so close together that single precision alone would rank them by its rounding."""
    return drawn(1, 64).astype(np.float64) + 1e-6 * np.random.default_rng(seed).standard_normal((n, 64))


NEAR_OWN = np.array([3, 3, 50, 89, 0, 22])
WORLDS: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {
    "near their own": (doubled(45), doubled(45)[NEAR_OWN] + 0.8 * drawn(6, seed=1), NEAR_OWN),
    "their own, beside their doubles": (doubled(45), doubled(45), np.arange(90)),
    "their own, longer and shorter": (doubled(45), doubled(45) * np.linspace(0.1, 9, 90, dtype=np.float32)[:, None], np.arange(90)),
    "closer than single precision": (close(300, 3), close(20, 4), np.arange(20)),
    "far away, where single precision ties": (drawn(60, 16), 1e6 * drawn(8, 16, 1), np.arange(8)),
}  # fmt: skip
"""Pool, queries, and the text of each query whose rank is asked for."""


@pytest.mark.parametrize("world", WORLDS)
def test_ranks_and_nearest_are_those_of_a_full_sort(world, blocks, similarity):
    """A rank counts what is strictly more similar, and at worst what ties; of equal texts the earlier comes first."""
    pool, queries, own = WORLDS[world]
    scores, searched = table(queries, pool, similarity), Pool(pool, similarity)
    mine = scores[np.arange(len(own)), own][:, None]
    best, worst = searched.ranks(queries, own)
    assert best.tolist() == (1 + (scores > mine).sum(axis=1)).tolist()
    assert worst.tolist() == (scores >= mine).sum(axis=1).tolist()
    order = np.argsort(-scores, axis=1, kind="stable")
    for k in (1, 5, len(pool)):
        assert searched.nearest(queries, k).tolist() == order[:, :k].tolist()
    values = np.stack([searched.scores(query, row) for query, row in zip(queries, order, strict=True)])
    assert values == pytest.approx(np.take_along_axis(scores, order, axis=1), rel=1e-6)


def test_any_texts_of_a_query_stand_where_a_stable_sort_puts_them(blocks, similarity):
    """Few and many texts a query, none at all, doubles, the one that is left out, one that is not there."""
    pool, rng = doubled(45), np.random.default_rng(5)
    queries = np.concatenate([pool[:4], 0.1 * drawn(4, seed=2), np.zeros((1, 8), np.float32)])
    lists = [rng.permutation(90)[:n].tolist() for n in (3, 0, 90, 1, 40, 2, 80, 5, 30)]
    lists[0].insert(1, -1)
    without = np.array([lists[0][0], 4, 7, -1, -1, 50, 3, -1, 89])
    scores = table(queries, pool, similarity)
    for left in (None, without):
        wanted, ties = [], []
        for i, places in enumerate(lists):
            out = -1 if left is None else left[i]
            order = [text for text in np.argsort(-scores[i], kind="stable").tolist() if text != out]
            rank = {text: place for place, text in enumerate(order, 1)}
            wanted.append([rank.get(place, np.inf) for place in places])
            kept = [place for place in places if place in rank]
            ties.append(any((scores[i][order] == scores[i][place]).sum() > 1 for place in kept))
        for searched, asked in both(pool, queries, similarity):
            ranks, tied = search.ranks_of(searched, asked, lists, left)
            assert [row.tolist() for row in ranks] == wanted
            assert tied.tolist() == ties
    rows, places = np.repeat(np.arange(9), [90] * 9), np.tile(np.arange(90), 9)
    mine = scores[rows, places][:, None]
    later = np.arange(90)[None] > places[:, None]
    same = (scores[rows] == mine) & (np.arange(90)[None] != places[:, None])
    for searched, asked in both(pool, queries, similarity):
        at = searched.standing(asked, rows, places)
        assert at.above.tolist() == (scores[rows] > mine).sum(axis=1).tolist()
        assert at.before.tolist() == (same & ~later).sum(axis=1).tolist()
        assert at.after.tolist() == (same & later).sum(axis=1).tolist()
        assert searched.nearest(asked, 7).tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :7].tolist()


def flat(queries, pool, k, metric):
    """What faiss does, in numpy."""
    scores = queries @ pool.T
    at = np.argsort(-scores, axis=1)[:, :k]
    return np.take_along_axis(scores, at, axis=1), at


LIBRARIES = [one for one in (SimpleNamespace(knn=flat, METRIC_INNER_PRODUCT=0), search._faiss()) if one is not None]
"""Faiss itself too, where it is installed."""


@pytest.mark.parametrize("module", LIBRARIES)
def test_beyond_a_million_texts_faiss_finds_the_same(module, similarity, monkeypatch):
    pool, queries = doubled(60), np.concatenate([doubled(3), drawn(9, seed=7), np.zeros((1, 8), np.float32)])
    wanted = [Pool(pool, similarity).nearest(queries, k).tolist() for k in (1, 5, 100)]
    asked = []

    def knn(*given, **more):
        asked.append(len(given[1]))
        return module.knn(*given, **more)

    counting = SimpleNamespace(knn=knn, METRIC_INNER_PRODUCT=module.METRIC_INNER_PRODUCT)
    monkeypatch.setattr(search, "MANY", 100)
    monkeypatch.setattr(search, "_faiss", lambda: counting)
    assert [Pool(pool, similarity).nearest(queries, k).tolist() for k in (1, 5, 100)] == wanted
    monkeypatch.setattr(search, "MANY", 1000)
    Pool(pool, similarity).nearest(queries, 3)
    assert asked == [120] * 3


def test_what_cannot_be_searched_is_named():
    with pytest.raises(ConfigError, match=r"unknown similarity 'cosinus'.*cosine"):
        Pool(drawn(3), "cosinus")
    with pytest.raises(ValueError, match="81 nearest of 80 texts"):
        Pool(drawn(80)).nearest(drawn(1), 81)


TREC = {"recall@5": "recall_5", "recall@100": "recall_100", "mrr": "recip_rank", "map": "map", "p@10": "P_10",
        "ndcg@10": "ndcg_cut_10", "ndcg": "ndcg"}  # fmt: skip


def task(data: Pooled, similarity: str, *metrics: str) -> Task:
    return Task("pool", "retrieval", "PRX", metrics, data, "embedded", "0" * 16, 1, similarity, tuple, {})


def many(n: int, dim: int) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    ids = tuple(f"d{i}" for i in range(n))
    return ids, dict(zip(ids, np.random.default_rng(0).standard_normal((n, dim), dtype=np.float32), strict=True))


def world(kind: str, keep_self: bool) -> tuple[Pooled, dict[str, np.ndarray]]:
    """A pool of 130 with queries in and outside it, few and many judged papers, grades of 0 and below."""
    rng = np.random.default_rng(0)
    pool, queries = [f"d{i}" for i in range(130)], [*(f"d{i}" for i in range(12)), *(f"q{i}" for i in range(12))]
    ids = dict.fromkeys([*pool, *queries])
    matrix = {
        "random": lambda: rng.standard_normal((len(ids), 24)),
        "doubles": lambda: rng.standard_normal((9, 24))[rng.integers(0, 9, len(ids))],
        "grid": lambda: rng.integers(-1, 2, (len(ids), 3)),
    }[kind]()
    relevant = {}
    for i, query in enumerate(queries):
        judged = rng.choice(pool, (1, 3, 20, 100)[i % 4], replace=False).tolist()
        relevant[query] = {paper: int(rng.integers(-1, 4)) for paper in judged} | {judged[0]: 1}
    return Pooled(relevant, tuple(pool), keep_self), dict(zip(ids, matrix.astype(np.float32), strict=True))


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
    ids, vectors = many(40_000, 32)
    data = task(Pooled({query: {ids[7 * i]: 1} for i, query in enumerate(ids[:600])}, ids), "dot", "recall@20")
    assert peak(lambda: retrieval.evaluate(data, vectors)) < 32 << 20, "of 96 MB for all scores"
    pool = drawn(12_000, 4)
    assert peak(lambda: Pool(pool).ranks(pool, np.arange(12_000))) < 64 << 20, "of 576 MB for the matrix"
    assert peak(lambda: Pool(pool).nearest(pool[:3000], 10)) < 64 << 20


def test_more_judged_papers_than_not_and_one_vector_for_all_are_no_trap(in_double):
    ids = tuple(f"d{i}" for i in range(5000))
    relevant = {query: dict.fromkeys(ids[-3000:], 1) for query in ids[:10]}
    vectors = dict.fromkeys(ids, np.full(64, 0.1, dtype=np.float32))
    (row,) = retrieval.evaluate(task(Pooled(relevant, ids), "cosine", "mrr"), vectors)
    assert row.value == pytest.approx(100 / 2001) and "10 queries whose" in row.note
    assert sum(in_double) <= 10 * (5000 + 3000), "every paper once a query, and the judged ones once more"


def test_a_query_of_20_000_papers_looks_at_few_in_double_precision(in_double):
    ids, vectors = many(20_000, 256)
    judged = np.random.default_rng(1).integers(0, len(ids), (100, 5))
    data = task(Pooled({ids[i]: {ids[j]: 1 for j in row} for i, row in enumerate(judged)}, ids), "dot", "recall@20")
    assert retrieval.evaluate(data, vectors)[0].n == 100
    assert 100 * 5 <= sum(in_double) <= 100 * 5 * 20
