"""nDCG in every reading is what its definition says, and SciMult's line that comes from released ratings is the printed one."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval

from scirep_core.data.manifests import fetch
from scirep_core.data.readers.recommendation import STUDY, StudyRow
from scirep_core.data.task import Pooled, Task
from scirep_core.evaluators import retrieval, user_study
from scirep_core.evaluators.user_study import Reading


def scored(scores: list[float], grades: dict[str, int]) -> tuple[Task, dict[str, np.ndarray]]:
    pool = tuple(f"p{i}" for i in range(len(scores)))
    pooled = Pooled({"q": grades}, pool)
    task = Task("small", "retrieval", "QRY", ("ndcg@10",), pooled, "embedded", "0", similarity="dot")
    return task, {key: np.array([score]) for key, score in (("q", 1.0), *zip(pool, scores, strict=True))}


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


@pytest.mark.parametrize(("reading", "value"), [
    ("gain 2^g - 1", (1 / np.log2(3) + 3 / np.log2(5)) / (3 + 1 / np.log2(3))),
    ("judged only", (1 + 2 / np.log2(4)) / (2 + 1 / np.log2(3))),
    ("ties for", (1 + 2 / np.log2(5)) / (2 + 1 / np.log2(3))),
    ("ties against", (1 / np.log2(3) + 2 / np.log2(5)) / (2 + 1 / np.log2(3))),
])  # fmt: skip
def test_each_reading_is_its_definition(reading, value):
    # p0 is not judged and ties with p1 (grade 1); p2 has grade 0; p3 has grade 2
    task, vectors = scored([3.0, 3.0, 2.0, 1.0], {"p1": 1, "p2": 0, "p3": 2})
    assert retrieval.readings(task, vectors, "ndcg@10")[reading].value == pytest.approx(100 * value)
    (plain,) = retrieval.evaluate(task, vectors)
    assert plain.value == pytest.approx(100 * (1 / np.log2(3) + 2 / np.log2(5)) / (2 + 1 / np.log2(3)))


FILE = """PaperId\tRecommendedPaperId\tMethod\tStudyScore\tSimilarity
1\ta\tContent\t5\t0.9
1\tb\tContent\t2.5\t0.9
1\tc\tContent\t1\t
1\ta\tBehavior\t4\t0.9
2\td\tContent\t3\t0.2
2\te\tContent\t4\t0.7
3\tf\tContent\t4\t
4\tg\tContent\t\t0.8
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / STUDY
    path.write_text(FILE)
    return path


def test_readings_differ_in_what_they_say(study):
    queries, log = user_study.rated(study), np.log2(3)
    assert {key: len(rows) for key, rows in queries.items()} == {"1": 4, "2": 2, "3": 1}
    for reading, value in (
        ({}, (3 + 5 / log) / (5 + 3 / log)),  # ties go to the higher id: b (2.5 -> 3) before a (5)
        ({"ties": "file"}, 1), ({"halves": "down"}, (2 + 5 / log) / (5 + 2 / log)),
        ({"twice": "last"}, (3 + 4 / log) / (4 + 3 / log)), ({"gain": "exponential"}, (7 + 31 / log) / (31 + 7 / log)),
    ):  # fmt: skip
        found = user_study.values(queries, Reading(**reading))
        assert set(found) == {"1", "2"} and found["1"][2] == pytest.approx(value)  # 3 has no similarity, 4 no rating
    assert set(user_study.values(queries, Reading(missing="last", every=True))) == {"1", "2", "3"}


def test_the_first_reading_is_that_of_trec_eval():
    rng, queries = np.random.default_rng(0), {}
    for q in (f"q{i}" for i in range(20)):
        drawn = [(float(rng.integers(1, 6)), float(round(rng.random(), 1))) for _ in range(14)]
        queries[q] = [StudyRow(q, f"{j:03}", "", score, near) for j, (score, near) in enumerate(drawn)]
    qrels, run = ({q: {r.cand_id: of(r) for r in rows} for q, rows in queries.items()}
                  for of in (lambda r: int(r.score or 0), lambda r: float(r.similarity or 0)))  # fmt: skip
    known = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.5,10", "ndcg"}).evaluate(run)
    for query, scores in user_study.values(queries, Reading()).items():
        assert scores == pytest.approx([known[query][m] for m in ("ndcg_cut_5", "ndcg_cut_10", "ndcg")])


def test_the_printed_line_comes_out_close_with_the_linear_gain(real_folder):
    rows = user_study.measure(fetch("recommendation") / STUDY)
    found = {row.metric: row.value for row in rows}
    assert [round(found[f"{m}, as trec_eval"], 2) for m in user_study.METRICS] == [83.50, 87.38, 93.33]
    assert found["ndcg@5, gain 2^grade - 1"] < 75
    assert (found["rated queries"], found["queries with a similarity"]) == (147, 144)
