"""Ranking labels for a paper, with and without name matching: exact, and nearly all of it in single precision."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from test_search import seen_in_double, table

from scirep_core.data.task import LabelSpace, LabelText, Task
from scirep_core.evaluators import labels, search

TREC = {"recall@5": "recall_5", "recall@20": "recall_20", "mrr": "recip_rank", "map": "map", "ndcg@10": "ndcg_cut_10"}


def task(data: LabelSpace, similarity: str, *metrics: str) -> Task:
    return Task("labels", "label_ranking", "CLF", metrics, data, "embedded", "0" * 16, 1, similarity, tuple, {})


def ties(papers: int, space: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Vectors of papers and labels: all different, few different ones, or on a small grid where scores tie throughout."""
    if kind == "random":
        return rng.standard_normal((papers + space, 24)).astype(np.float32)
    if kind == "doubles":
        return rng.standard_normal((7, 24)).astype(np.float32)[rng.integers(0, 7, papers + space)]
    return rng.integers(-1, 2, (papers + space, 3)).astype(np.float32)


def world(kind: str, seed: int, papers: int = 25, space: int = 70) -> tuple[LabelSpace, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    names, keys = [f"L{i}" for i in range(space)], [f"p{i}" for i in range(papers)]
    gold = {key: tuple(rng.choice(names, rng.integers(1, 9), replace=False).tolist()) for key in keys}
    matched = {key: tuple(rng.choice(names, rng.integers(0, 15), replace=False).tolist()) for key in keys}
    vectors = dict(zip(keys + names, ties(papers, space, kind, rng), strict=True))
    return LabelSpace(gold, {name: LabelText(name, name) for name in names}, matched), vectors


def by_sorting(data: LabelSpace, vectors: dict[str, np.ndarray], similarity: str) -> dict[str, float]:
    """The published way: all labels sorted, the matching ones moved to the front; metrics by trec_eval."""
    names = [name for name in data.labels if name in vectors]
    found: dict[str, list[float]] = {}
    for paper, gold in data.gold.items():
        scores = table(vectors[paper][None], np.stack([vectors[name] for name in names]), similarity)[0]
        ranking = [names[i] for i in np.argsort(-scores, kind="stable")]
        matched = data.matched.get(paper, ())
        moved = [name for name in ranking if name in matched] + [name for name in ranking if name not in matched]
        for order, form in ((ranking, ""), (moved, "_name_match")):
            run = {"q": {name: -float(place) for place, name in enumerate(order)}}
            evaluator = pytrec_eval.RelevanceEvaluator(
                {"q": dict.fromkeys(gold, 1)}, set(pytrec_eval.supported_measures)
            )
            values = evaluator.evaluate(run)["q"]
            for metric, key in TREC.items():
                found.setdefault(metric + form, []).append(values[key])
    return {name: 100 * float(np.mean(values)) for name, values in found.items()}


@pytest.mark.parametrize("cells", [1 << 25, 150])
@pytest.mark.parametrize("similarity", ["dot", "cosine", "l2"])
@pytest.mark.parametrize("kind", ["random", "doubles", "grid"])
def test_ranks_are_those_of_a_full_stable_sort(kind, similarity, cells, monkeypatch):
    monkeypatch.setattr(search, "CELLS", cells)
    data, vectors = world(kind, 3)
    rows = labels.evaluate(task(data, similarity, *TREC), vectors)
    assert {row.metric: row.value for row in rows} == pytest.approx(by_sorting(data, vectors, similarity), rel=1e-12)
    for name in ("L3", "L8", "L40"):
        del vectors[name]
    rows = labels.evaluate(task(data, similarity, *TREC), vectors, on_missing="drop")
    assert {row.metric: row.value for row in rows} == pytest.approx(by_sorting(data, vectors, similarity), rel=1e-12)


@pytest.mark.parametrize("similarity", ["dot", "cosine", "l2"])
def test_the_best_label_is_the_first_of_those_that_tie(similarity):
    """Every second paper's gold is its best label."""
    data, vectors = world("grid", 5)
    space = np.stack([vectors[name] for name in data.labels])
    best = [f"L{table(vectors[paper][None], space, similarity)[0].argmax()}" for paper in data.gold]
    gold = {paper: best[i] if i % 2 else names[0] for i, (paper, names) in enumerate(data.gold.items())}
    one = LabelSpace({paper: (name,) for paper, name in gold.items()}, data.labels)
    (row,) = labels.evaluate(task(one, similarity, "accuracy"), vectors)
    assert row.value == pytest.approx(100 * np.mean([*gold.values()] == np.array(best))) and row.value > 40


def test_a_label_that_matches_passes_all_that_do_not():
    space = np.array([[0.9], [0.8], [0.7], [0.6]], dtype=np.float32)
    pool, paper = search.Pool(space, "dot"), np.ones(1, dtype=np.float32)
    assert labels.name_match(pool, paper, [0, 3, -1], np.array([1, 4, np.inf]), [2, 3]).tolist() == [3, 2, np.inf]
    assert labels.name_match(pool, paper, [0, 3], np.array([1.0, 4.0]), []).tolist() == [1, 4]
    assert labels.name_match(pool, paper, [0, 3], np.array([1.0, 4.0]), [3, 3, 1]).tolist() == [3, 2]


@pytest.mark.parametrize("matching", [False, True])
def test_a_paper_looks_at_few_of_10_000_labels_in_double_precision(matching, monkeypatch):
    rng = np.random.default_rng(0)
    names, papers = [f"L{i}" for i in range(10_000)], [f"p{i}" for i in range(100)]
    vectors = dict(zip(names + papers, rng.standard_normal((10_100, 256), dtype=np.float32), strict=True))
    drawn = rng.integers(0, 10_000, (100, 60))
    gold = {paper: tuple({names[i] for i in row[:15]}) for paper, row in zip(papers, drawn, strict=True)}
    matched = {paper: tuple({names[i] for i in row[12:]}) for paper, row in zip(papers, drawn, strict=True)}
    data = LabelSpace(gold, {name: LabelText(name, name) for name in names}, matched if matching else {})
    in_double = seen_in_double(monkeypatch)
    rows = labels.evaluate(task(data, "dot", "recall@20", "recall@50", "recall@100"), vectors)
    assert len(rows) == (6 if matching else 3)
    assert 100 * 15 <= sum(in_double) <= 100 * (15 * 20 + 60 * matching)
