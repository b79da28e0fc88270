"""Exact search by blocks, against a full sort of exact scores."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from scirep_core.evaluators import pairs, search
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


class Scorer:
    """What scores pairs as vectors do; it is asked by ids and has no vectors."""

    name, fingerprint, similarity = "scorer", "0", "table"

    def __init__(self, scores: np.ndarray) -> None:
        self._scores = scores

    def __contains__(self, key: object) -> bool:
        return True

    def scores(self, query_id: str, cand_ids: Sequence[str]) -> np.ndarray:
        return self._scores[int(query_id[1:])][[int(key[1:]) for key in cand_ids]].astype(np.float64)


def both(pool: np.ndarray, queries: np.ndarray, similarity: str) -> Iterator[tuple[search.Searched, Any]]:
    """Yield a pool of vectors and one of scores, each with the queries as it takes them."""
    task = SimpleNamespace(name="small", metrics=())
    yield Pool(pool, similarity), queries
    asked = pairs.ask(task, Scorer(table(queries, pool, similarity)))  # type: ignore[arg-type]
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
    monkeypatch.setattr(
        Pool, "scores", lambda self, query, places: (seen.append(len(places)), scores(self, query, places))[1]
    )
    return seen


def test_the_nearest_are_those_of_a_full_sort_with_ties_to_the_earlier(blocks, similarity):
    pool = doubled(40)
    queries = np.concatenate([pool[:5], drawn(7, seed=2), np.zeros((1, 8), np.float32)])
    scores = table(queries, pool, similarity)
    order = np.argsort(-scores, axis=1, kind="stable")
    searched = Pool(pool, similarity)
    for k in (1, 9, 80):
        assert searched.nearest(queries, k).tolist() == order[:, :k].tolist()
    values = np.stack([searched.scores(query, row) for query, row in zip(queries, order, strict=True)])
    assert values == pytest.approx(np.take_along_axis(scores, order, axis=1), rel=1e-6)
    with pytest.raises(ValueError, match="81 nearest of 80 texts"):
        searched.nearest(queries, 81)


def test_a_rank_counts_what_is_strictly_more_similar_and_at_worst_what_ties(blocks, similarity):
    pool, own = doubled(45), np.array([3, 3, 50, 89, 0, 22])
    queries = pool[own] + 0.8 * drawn(6, seed=1)
    scores = table(queries, pool, similarity)
    best, worst = Pool(pool, similarity).ranks(queries, own)
    assert best.tolist() == [1 + (row > row[at]).sum() for row, at in zip(scores, own, strict=True)]
    assert worst.tolist() == [(row >= row[at]).sum() for row, at in zip(scores, own, strict=True)]
    double = (own + 45) % 90  # the double of each is no candidate
    apart = Pool(pool, similarity).ranks(queries, own, double)
    assert apart[0].tolist() == best.tolist()
    assert apart[1].tolist() == [
        (np.delete(row, other) >= row[at]).sum() for row, at, other in zip(scores, own, double, strict=True)
    ]


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
    mine = scores[rows, places]
    later = np.arange(90)[None] > places[:, None]
    same = (scores[rows] == mine[:, None]) & (np.arange(90)[None] != places[:, None])
    for searched, asked in both(pool, queries, similarity):
        at = searched.standing(asked, rows, places)
        assert at.above.tolist() == (scores[rows] > mine[:, None]).sum(axis=1).tolist()
        assert at.before.tolist() == (same & ~later).sum(axis=1).tolist()
        assert at.after.tolist() == (same & later).sum(axis=1).tolist()
        first = np.argsort(-scores, axis=1, kind="stable")[:, :7]
        assert searched.nearest(asked, 7).tolist() == first.tolist()


def test_equal_vectors_tie_exactly_under_every_similarity(similarity):
    base = 50 + np.random.default_rng(0).standard_normal((40, 33))
    pool = Pool(np.concatenate([base, base]), similarity)
    for i, query in enumerate(base):
        scores = pool.scores(query, np.arange(80))
        assert np.array_equal(scores[:40], scores[40:])
        if similarity != "dot":  # a text is nearest to itself
            assert np.flatnonzero(scores == scores.max()).tolist() == [i, i + 40]
        if similarity == "l2":
            assert scores[i] == 0


def flat(queries, pool, k, metric):
    """What faiss does, in numpy."""
    scores = queries @ pool.T
    at = np.argsort(-scores, axis=1)[:, :k]
    return np.take_along_axis(scores, at, axis=1), at


STAND_IN = SimpleNamespace(knn=flat, METRIC_INNER_PRODUCT=0)
LIBRARIES = [one for one in (STAND_IN, search._faiss()) if one is not None]
"""Faiss itself too, where it is installed."""


@pytest.mark.parametrize("module", LIBRARIES)
def test_beyond_a_million_texts_faiss_finds_the_same(module, similarity, monkeypatch):
    pool, queries = doubled(60), np.concatenate([doubled(3), drawn(9, seed=7), np.zeros((1, 8), np.float32)])
    wanted = [Pool(pool, similarity).nearest(queries, k).tolist() for k in (1, 5, 100)]
    asked = []

    def knn(*given, **more):
        asked.append(len(given[1]))
        return module.knn(*given, **more)

    monkeypatch.setattr(search, "MANY", 100)
    monkeypatch.setattr(
        search, "_faiss", lambda: SimpleNamespace(knn=knn, METRIC_INNER_PRODUCT=module.METRIC_INNER_PRODUCT)
    )
    assert [Pool(pool, similarity).nearest(queries, k).tolist() for k in (1, 5, 100)] == wanted
    assert asked == [120] * 3
    monkeypatch.setattr(search, "MANY", 1000)
    Pool(pool, similarity).nearest(queries, 3)
    assert len(asked) == 3


def test_a_text_finds_itself_first_even_beside_its_double(blocks):
    pool = np.concatenate([drawn(60), drawn(60)])
    assert (Pool(pool).ranks(pool, np.arange(120))[0] == 1).all()
    scaled = pool * np.linspace(0.1, 9, 120)[:, None].astype(np.float32)
    best, worst = Pool(pool).ranks(scaled, np.arange(120))
    assert (best == 1).all() and (worst == 2).all()


def test_l2_normalisation_leaves_every_rank_as_it_was():
    pool, queries = drawn(200, 16), drawn(40, 16, 1)
    own = np.arange(40)
    shorter = [m / np.linalg.norm(m, axis=1, keepdims=True) for m in (queries, pool)]
    assert (Pool(pool).ranks(queries, own)[0] == Pool(shorter[1]).ranks(shorter[0], own)[0]).all()
    assert (Pool(pool).nearest(queries, 10) == Pool(shorter[1]).nearest(shorter[0], 10)).all()


def test_vectors_that_differ_by_less_than_single_precision_are_told_apart(similarity):
    """All texts lie so close together that single precision alone would rank them by its rounding."""
    base = drawn(1, 64).astype(np.float64)
    pool = base + 1e-6 * np.random.default_rng(3).standard_normal((300, 64))
    queries = base + 1e-6 * np.random.default_rng(4).standard_normal((20, 64))
    scores = table(queries, pool, similarity)
    assert (
        Pool(pool, similarity).nearest(queries, 5).tolist()
        == np.argsort(-scores, axis=1, kind="stable")[:, :5].tolist()
    )
    own = np.arange(20)
    assert Pool(pool, similarity).ranks(queries, own)[0].tolist() == [
        1 + (row > row[at]).sum() for row, at in zip(scores, own, strict=True)
    ]


def test_distances_from_far_away_tie_where_single_precision_holds_them_equal():
    pool, queries = drawn(60, 16), 1e6 * drawn(8, 16, 1)
    scores, own = table(queries, pool, "l2"), np.arange(8)
    assert any(len(np.unique(row)) < 60 for row in scores)
    best, worst = Pool(pool, "l2").ranks(queries, own)
    assert best.tolist() == [1 + (row > row[at]).sum() for row, at in zip(scores, own, strict=True)]
    assert worst.tolist() == [(row >= row[at]).sum() for row, at in zip(scores, own, strict=True)]
    order = np.argsort(-scores, axis=1, kind="stable")
    assert Pool(pool, "l2").nearest(queries, 5).tolist() == order[:, :5].tolist()


def test_an_encoder_that_gives_one_vector_for_all_ties_everywhere(monkeypatch):
    pool = np.ones((2000, 64), np.float32)
    in_double = seen_in_double(monkeypatch)
    best, worst = Pool(pool).ranks(pool[:200], np.arange(200))
    assert (best == 1).all() and (worst == 2000).all()
    assert Pool(pool).nearest(pool[:3], 4).tolist() == [[0, 1, 2, 3]] * 3
    assert sum(in_double) <= 203 * (2000 + 1), "every text once a query"


def test_memory_grows_with_the_texts_and_not_with_their_square(monkeypatch):
    monkeypatch.setattr(search, "CELLS", 1 << 20)
    pool = drawn(12_000, 4)
    tracemalloc.start()
    Pool(pool).ranks(pool, np.arange(12_000))
    Pool(pool).nearest(pool[:3000], 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20, "of 576 MB for the matrix"


def test_an_unknown_similarity_is_named():
    with pytest.raises(ConfigError, match=r"unknown similarity 'cosinus'.*cosine"):
        Pool(drawn(3), "cosinus")
