"""nDCG in every reading is what its definition says."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval

from scirep_core.data.task import Pooled, Task
from scirep_core.evaluators import retrieval


def scored(scores: list[float], grades: dict[str, int]) -> tuple[Task, dict[str, np.ndarray]]:
    pool = tuple(f"p{i}" for i in range(len(scores)))
    task = Task(
        "small", "retrieval", "QRY", ("ndcg@10",), Pooled({"q": grades}, pool), "embedded", "0", similarity="dot"
    )
    return task, {"q": np.array([1.0])} | {key: np.array([score]) for key, score in zip(pool, scores, strict=True)}


def test_without_ties_and_unjudged_papers_readings_are_those_of_trec_eval():
    rng = np.random.default_rng(0)
    grades = {f"p{i}": int(rng.integers(0, 2)) for i in range(40)}
    task, vectors = scored(list(rng.permutation(40).astype(float)), grades)
    run = {"q": {key: float(vectors[key][0]) for key in grades}}
    known = pytrec_eval.RelevanceEvaluator({"q": grades}, {"ndcg_cut.10"}).evaluate(run)["q"]["ndcg_cut_10"]
    for row in (*retrieval.evaluate(task, vectors), *retrieval.readings(task, vectors, "ndcg@10").values()):
        assert row.value == pytest.approx(100 * known)


def test_a_judged_paper_outside_the_pool_counts_as_not_found_in_every_reading():
    task, vectors = scored([3.0, 2.0, 1.0], {"p0": 1, "p1": 1, "p2": 1, "gone": 1})
    (plain,) = retrieval.evaluate(task, vectors)
    assert plain.value < 100
    for row in retrieval.readings(task, vectors, "ndcg@10").values():
        assert row.value == pytest.approx(plain.value)


@pytest.mark.parametrize(
    ("reading", "value"),
    [
        ("gain 2^g - 1", (1 / np.log2(3) + 3 / np.log2(5)) / (3 + 1 / np.log2(3))),
        ("judged only", (1 + 2 / np.log2(4)) / (2 + 1 / np.log2(3))),
        ("ties for", (1 + 2 / np.log2(5)) / (2 + 1 / np.log2(3))),
        ("ties against", (1 / np.log2(3) + 2 / np.log2(5)) / (2 + 1 / np.log2(3))),
    ],
)
def test_each_reading_is_its_definition(reading, value):
    # p0 is not judged and ties with p1 (grade 1); p2 has grade 0; p3 has grade 2
    task, vectors = scored([3.0, 3.0, 2.0, 1.0], {"p1": 1, "p2": 0, "p3": 2})
    assert retrieval.readings(task, vectors, "ndcg@10")[reading].value == pytest.approx(100 * value)
    (plain,) = retrieval.evaluate(task, vectors)
    assert plain.value == pytest.approx(100 * (1 / np.log2(3) + 2 / np.log2(5)) / (2 + 1 / np.log2(3)))
