"""Overlaps and similarities of altered texts, against plain loops."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from scirep_core.evaluators import neighbourhoods
from scirep_core.evaluators.neighbourhoods import overlaps, similarities, standardised


def drawn(n: int, dim: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = (m.astype(float) / np.linalg.norm(m.astype(float), axis=1, keepdims=True) for m in (a, b))
    return (a @ b.T).astype(np.float32)


@pytest.fixture(params=[1 << 25, 700])
def blocks(request, monkeypatch):
    monkeypatch.setattr(neighbourhoods, "CELLS", request.param)


def test_the_overlap_is_that_of_two_lists(blocks):
    pool, own = drawn(50), np.array([0, 4, 9, 20, 33])
    altered = pool[own] + drawn(5, seed=3)
    everything = np.concatenate([pool, altered])
    chosen = np.array([0, 2, 4])
    for exclude in (False, True):
        expected = []
        for at in chosen:
            lists = []
            for query, place in ((altered[at], 50 + at), (pool[own[at]], own[at])):
                order = np.argsort(-cosines(query[None], everything)[0], kind="stable")
                lists.append([text for text in order if not (exclude and text == place)][:10])
            expected.append(len(set(lists[0]) & set(lists[1])) / 10)
        assert overlaps(altered, pool, own, chosen, (10, 3))[10][exclude].tolist() == expected


def test_an_unchanged_text_overlaps_wholly_and_at_most_nine_in_ten_without_itself():
    pool = drawn(80, 16)
    everyone = np.arange(80)
    assert (overlaps(pool, pool, everyone, everyone, [10])[10].with_self == 1).all()
    assert (overlaps(pool, pool, everyone, everyone, [10])[10].without_self == 0.9).all()


def test_similarities_of_all_pairs_are_those_of_the_full_matrix(blocks):
    vectors = drawn(70) + 0.5
    table = cosines(vectors, vectors).astype(float)
    pairs = table[np.triu_indices(70, 1)]
    found = similarities(vectors)
    assert found[:4] == pytest.approx((pairs.mean(), pairs.std(), pairs.min(), pairs.max()), abs=1e-6)
    assert found.above == pytest.approx((pairs > pairs.mean()).mean())
    assert found.skewness == pytest.approx(stats.skew(pairs), abs=1e-5)
    np.fill_diagonal(table, np.nan)
    assert found.means == pytest.approx(np.nanmean(table, axis=1), abs=1e-6)
    assert found.aboves == pytest.approx(np.nansum(table > pairs.mean(), axis=1) / 69)


def test_standardised_dimensions_have_mean_0_and_deviation_1_and_a_constant_one_is_0():
    vectors = drawn(50) * 3 + 2
    vectors[:, 2] = 7
    found = standardised(vectors)
    assert found.mean(axis=0) == pytest.approx(np.zeros(8), abs=1e-6)
    assert found.std(axis=0) == pytest.approx([1, 1, 0, 1, 1, 1, 1, 1], abs=1e-6)
    assert standardised(vectors[:5], vectors) == pytest.approx(found[:5])


def test_memory_grows_with_the_texts_and_not_with_their_square(monkeypatch):
    monkeypatch.setattr(neighbourhoods, "CELLS", 1 << 20)
    pool = drawn(12_000, 4)
    tracemalloc.start()
    similarities(pool)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20, "of 576 MB for the matrix"
