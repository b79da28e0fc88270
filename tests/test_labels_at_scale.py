"""Ranking labels for a paper, with and without name matching: exact, and nearly all of it in single precision."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from test_search import seen_in_double, table

from scirep_core.data.task import LabelSpace, LabelText, Task
from scirep_core.evaluators import labels, search

TREC = {"recall@5": "recall_5", "recall@20": "recall_20", "mrr": "recip_rank", "map": "map", "ndcg@10": "ndcg_cut_10"}
SIMILARITIES = pytest.mark.parametrize("similarity", ["dot", "cosine", "l2"])


def task(data, similarity, *metrics):
    return Task("labels", "label_ranking", "CLF", metrics, data, "embedded", "0" * 16, 1, similarity, tuple, {})


def drawn(n, kind, rng):
    """Vectors of papers and labels: all different, few different ones, or on a small grid where scores tie throughout."""
    if kind == "grid":
        return rng.integers(-1, 2, (n, 3)).astype(np.float32)
    rows = rng.standard_normal((n if kind == "random" else 7, 24)).astype(np.float32)
    return rows if kind == "random" else rows[rng.integers(0, 7, n)]


def world(kind, seed, papers=25, space=70):
    rng, names, keys = np.random.default_rng(seed), [f"L{i}" for i in range(space)], [f"p{i}" for i in range(papers)]
    gold, matched = ({key: tuple(rng.choice(names, rng.integers(*of), replace=False).tolist()) for key in keys}
                     for of in ((1, 9), (0, 15)))  # fmt: skip
    vectors = dict(zip(keys + names, drawn(papers + space, kind, rng), strict=True))
    return LabelSpace(gold, {name: LabelText(name, name) for name in names}, matched), vectors


def by_sorting(data, vectors, similarity):
    """The published way: all labels sorted, the matching ones moved to the front; metrics by trec_eval."""
    names, found = [name for name in data.labels if name in vectors], {}
    for paper, gold in data.gold.items():
        scores = table(vectors[paper][None], np.stack([vectors[name] for name in names]), similarity)[0]
        ranking = [names[i] for i in np.argsort(-scores, kind="stable")]
        moved = sorted(ranking, key=lambda name, paper=paper: name not in data.matched.get(paper, ()))
        evaluator = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(gold, 1)}, set(pytrec_eval.supported_measures))
        for order, form in ((ranking, ""), (moved, "_name_match")):
            values = evaluator.evaluate({"q": {name: -float(place) for place, name in enumerate(order)}})["q"]
            for metric, key in TREC.items():
                found.setdefault(metric + form, []).append(values[key])
    return {name: 100 * float(np.mean(values)) for name, values in found.items()}


@pytest.mark.parametrize("cells", [1 << 25, 150])
@SIMILARITIES
@pytest.mark.parametrize("kind", ["random", "doubles", "grid"])
def test_ranks_are_those_of_a_full_stable_sort(kind, similarity, cells, monkeypatch):
    monkeypatch.setattr(search, "CELLS", cells)
    data, vectors = world(kind, 3)
    for absent in ((), ("L3", "L8", "L40")):
        vectors = {name: vector for name, vector in vectors.items() if name not in absent}
        rows = labels.evaluate(task(data, similarity, *TREC), vectors, on_missing="drop" if absent else "error")
        wanted = by_sorting(data, vectors, similarity)
        assert {row.metric: row.value for row in rows} == pytest.approx(wanted, rel=1e-12)


@SIMILARITIES
def test_the_best_label_is_the_first_of_those_that_tie(similarity):
    """Every second paper's gold is its best label."""
    data, vectors = world("grid", 5)
    space = np.stack([vectors[name] for name in data.labels])
    best = [f"L{table(vectors[paper][None], space, similarity)[0].argmax()}" for paper in data.gold]
    gold = {paper: best[i] if i % 2 else names[0] for i, (paper, names) in enumerate(data.gold.items())}
    one = LabelSpace({paper: (name,) for paper, name in gold.items()}, data.labels)
    (row,) = labels.evaluate(task(one, similarity, "accuracy"), vectors)
    assert row.value == pytest.approx(100 * np.mean([*gold.values()] == np.array(best))) and row.value > 40


@pytest.mark.parametrize(("gold", "matched", "ranks"), [
    ([0, 3, -1], [2, 3], [3, 2, np.inf]), ([0, 3], [], [1, 4]), ([0, 3], [3, 3, 1], [3, 2]),
])  # fmt: skip
def test_a_label_that_matches_passes_all_that_do_not(gold, matched, ranks):
    pool = search.Pool(np.array([[0.9], [0.8], [0.7], [0.6]], dtype=np.float32), "dot")
    paper = np.ones(1, dtype=np.float32)
    assert labels.name_match(pool, paper, gold, np.array([1, 4, np.inf])[: len(gold)], matched).tolist() == ranks


@pytest.mark.parametrize("matching", [False, True])
def test_a_paper_looks_at_few_of_10_000_labels_in_double_precision(matching, monkeypatch):
    data, vectors = world("random", 0, 100, 10_000)
    names, picked = np.array([*data.labels]), np.random.default_rng(0).integers(0, 10_000, (100, 60))
    gold, matched = ({paper: tuple({*names[row[part]]}) for paper, row in zip(data.gold, picked, strict=True)}
                     for part in (slice(15), slice(12, None)))  # fmt: skip
    in_double = seen_in_double(monkeypatch)
    space = LabelSpace(gold, data.labels, matched if matching else {})
    rows = labels.evaluate(task(space, "dot", "recall@20", "recall@50", "recall@100"), vectors)
    assert len(rows) == (6 if matching else 3) and 100 * 15 <= sum(in_double) <= 100 * (15 * 20 + 60 * matching)
