"""Codes against formats: scores by code from a study's rows, advantages with their intervals, random groups of tasks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from small_studies import coded, wobble

from scirep_core.bench.studies import codes, outcome
from scirep_core.bench.studies.tables import OPEN_TABLE_3, OWN, TABLE_3
from scirep_core.data import TASKS
from scirep_core.kit.formats import FORMATS
from scirep_core.training.variants import PARTITIONS, random_partition

FOS, CITE, AUTHOR, SEARCH, DRSM, REVIEW, REVIEWERS, COVID = TABLE_3


def diagonal(variant: str, task: str, code: str, seed: int) -> float:
    """Own codes 4 points above others; on DRSM PRX is the best, on TREC-COVID nothing differs but by chance."""
    if task == DRSM:
        return 60 + 3.0 * (code == "PRX") + wobble(seed)
    if task == COVID:
        return 80 + (0.5 if (FORMATS.index(code) + seed) % 3 == 0 else 0.0)
    own = TASKS[task].format == code
    return 50 + 4.0 * own + wobble(seed) * (1 if own else 0.5)


# ---- matrices and estimates ------------------------------------------------------------------------------------------


def test_scores_are_the_main_metric_and_the_mean_of_the_settings_that_all_trainings_have():
    rows, wobbles = coded(["MTL CTRL"], diagonal), np.array([wobble(seed) for seed in range(3)])
    matrix = codes.matrices(codes.unit_rows(rows))["MTL CTRL"]
    assert matrix.tasks == list(TABLE_3) and matrix.values[CITE, "RGN"] == pytest.approx(54 + wobbles)
    assert matrix.values[FOS, "CLF"] == pytest.approx(44 + wobbles)  # -0, -10, -20
    assert matrix.values[FOS, OWN] == matrix.values[FOS, "CLF"]
    lacking = (FOS, "5-shot", "MTL CTRL as PRX, seed 1")
    rows = [row for row in rows if (row.task, row.split, row.encoder) != lacking]
    assert codes.settings(outcome.trainings(rows), FOS) == ["test", "10-shot"]
    matrix = codes.matrices(codes.unit_rows(rows))["MTL CTRL"]
    assert matrix.values[FOS, "CLF"] == pytest.approx(49 + wobbles)


def test_intervals_are_those_of_scipy():
    drawn = [3.1, 2.2, 4.0, 3.3]
    low, high = stats.t.interval(0.95, 3, np.mean(drawn), stats.sem(drawn))
    found = codes.over(drawn)
    assert (found.low, found.high) == pytest.approx((low, high))
    other = [1.0, 1.4, 0.2]
    expected = stats.ttest_ind(drawn, other, equal_var=False).confidence_interval()
    gap = codes.between(drawn, other)
    assert (gap.low, gap.high) == pytest.approx((expected.low, expected.high)) and codes.over([1.0]).low is None
    assert codes.between([1.0], other).low is None


def test_the_advantage_is_paired_within_a_training():
    rows = coded(["MTL CTRL"], lambda v, t, c, s: 50 + 20 * s + 2 * (c == TASKS[t].format))
    found = codes.mean_advantage(codes.matrices(codes.unit_rows(rows))["MTL CTRL"], TABLE_3)
    assert found.value == pytest.approx(2)
    assert found.high == pytest.approx(found.low)  # trainings differ by 20 points, the advantage not at all


def test_the_papers_assignment_is_placed_among_all_24():
    def score(best: dict[str, str]) -> codes.Matrix:
        return codes.Matrix("x", {(t, c): (10.0 + 5 * (best[TASKS[t].format] == c),) for t in TABLE_3 for c in FORMATS})

    assert codes.place(score({c: c for c in FORMATS}), TABLE_3) == (1, "CLF RGN PRX QRY")
    turned = dict(zip(FORMATS, (*FORMATS[1:], FORMATS[0]), strict=True))
    place, best = codes.place(score(turned), TABLE_3)
    assert place > 1 and best == " ".join(turned.values())
    assert codes.place(codes.Matrix("x", {(t, c): (1.0,) for t in TABLE_3 for c in FORMATS}), TABLE_3)[0] == 24


def test_tasks_of_the_open_literature_have_codes_too():
    rows = coded(["MTL CTRL"], lambda v, t, c, s: 50.0 + 4 * (c == codes.own_code(t)), tasks=OPEN_TABLE_3)
    matrix = codes.matrices(codes.unit_rows(rows))["MTL CTRL"]
    assert matrix.tasks == list(OPEN_TABLE_3) and len(matrix.part("in-train")) == 4
    assert codes.own_is_best(matrix, matrix.tasks) == matrix.tasks
    assert [codes.best_other(matrix, task).value for task in matrix.tasks] == [4.0] * 8


# ---- random groups ---------------------------------------------------------------------------------------------------


def grouped(variant: str, task: str, code: str, seed: int) -> float:
    """Formats 50; a random group's own code 48, any other 44."""
    if variant == "MTL CTRL":
        return 50 + wobble(seed)
    own = random_partition(PARTITIONS.index(variant) + 1).get(task)
    return (48 if own == code else 44) + wobble(seed)


def test_a_random_model_is_read_in_four_ways():
    found = codes.readings(codes.matrices(codes.unit_rows(coded([*PARTITIONS], grouped))))
    for reading, value in (("own group", 48.0), ("any", 45.0), ("best", 48.0)):
        assert found[reading][CITE] == pytest.approx([value] * 5)
    assert REVIEW not in found["own group"] and found["any"][REVIEW] == pytest.approx(
        [44.0] * 5
    )  # held out: no group is its own
    same = [48 if random_partition(i)[CITE] == "RGN" else 44 for i in range(1, 6)]
    assert found["same name"][CITE] == pytest.approx(same)
    assert codes.mean_of([CITE, REVIEW], found["any"]) == pytest.approx([44.5] * 5) and codes.readings({}) == {}
