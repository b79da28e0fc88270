"""Correlations of tasks over systems (`bench/agreement.py`), and the cheap systems they are made from (`bench/stand_ins.py`)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from small_tasks import all_tasks

from scirep_core.bench import agreement, stand_ins
from scirep_core.results import Result
from scirep_core.results.statistics import fisher

TASKS = ("scirepeval/relish", "scirepeval/scidocs_view", "scirepeval/scidocs_read", "scirepeval/hindex")
METRICS = {"scirepeval/relish": "ndcg", "scirepeval/hindex": "kendall_tau"}


def scores(source: str = "real") -> list[Result]:
    drawn = np.random.default_rng(0).uniform(20, 80, (7, len(TASKS)))
    names = ("random", "oracle", *"abcde")
    return [
        Result(task, "test", METRICS.get(task, "map"), "paper", float(drawn[i, j]), 40, encoder=name, source=source)
        for i, name in enumerate(names) for j, task in enumerate(TASKS)
    ]  # fmt: skip


def test_scores_are_one_number_a_system_and_task_without_floor_and_ceiling():
    rows = scores()
    table = agreement.score_table(rows)
    for given, wanted in (((0.5, 28), (0.156, 0.736)), ((0.9, 3), (-1.0, 1.0))):
        assert fisher(*given) == pytest.approx(wanted, abs=1e-3)
    assert fisher(1.0, 15)[1] <= 1
    assert list(table.index) == list("abcde") and list(table.columns) == list(TASKS)
    assert list(agreement.score_table(rows, floor=True).index) == [*"abcde", "random"]
    assert "a" not in agreement.score_table([r for r in rows if (r.encoder, r.task) != ("a", TASKS[0])]).index
    flat = [replace(r, value=5.0) if r.task == TASKS[1] else r for r in rows]
    assert TASKS[1] not in agreement.score_table(flat)
    others = [replace(rows[-1], metric=agreement.PEARSON, value=1.0), replace(rows[-1], against="a", value=2.0)]
    assert agreement.score_table([*rows, *others]).equals(table)


@pytest.mark.parametrize("source", ["real", "embedded"])
def test_groups_hold_their_lowest_median_and_highest_correlation_of_the_papers_scored(source):
    table = agreement.score_table(scores(source))
    pairs = [float(np.corrcoef(table[a], table[b])[0, 1]) for a, b in itertools.combinations(TASKS, 2)]
    made = [*agreement.of_groups(table, {"some": TASKS}), *agreement.of_tasks(table)]
    found = {row.metric: row for row in made if row.task == "group/some"}
    assert found[agreement.LOWEST].value == pytest.approx(min(pairs))
    assert (found[agreement.LOWEST].low, found[agreement.LOWEST].high) == pytest.approx(fisher(min(pairs), 5))
    assert found[agreement.HIGHEST].value == pytest.approx(max(pairs))
    assert found[agreement.MEDIAN].value == pytest.approx(np.median(pairs))
    assert found[agreement.ABOVE].value == sum(r > agreement.CLAIM for r in pairs)
    median = next(r for r in made if (r.task, r.metric) == (TASKS[0], agreement.MEDIAN))
    assert median.value == pytest.approx(np.median([np.corrcoef(table[TASKS[0]], table[t])[0, 1] for t in TASKS[1:]]))
    assert {row.source for row in made} == {source}  # a number is of the papers its scores are of


def test_units_of_a_study_are_the_columns_of_its_lines_without_floor_and_single_trainings():
    def whole(encoder, values, **parameters):
        return Result("open/average", "all", "average", "paper", 1.0, 2, encoder=encoder, source="open",
                      by_query=dict(zip(TASKS, values, strict=True)), parameters=parameters)  # fmt: skip

    values = np.arange(3 * len(TASKS), dtype=float).reshape(3, -1)
    rows = [whole("MTL CLS", values[0], trainings=2), whole("MTL CLS, seed 0", values[0], training_seed=0),
            whole("tfidf", values[1]), whole("random", values[2])]  # fmt: skip
    rows.append(replace(rows[0], split="in-train", by_query={TASKS[0]: 9.0}))
    table = agreement.unit_table(rows)
    assert (list(table.index), list(table.columns)) == (["MTL CLS", "tfidf"], list(TASKS))
    assert np.array_equal(table, values[:2]) and table.attrs["source"] == "open"
    assert agreement.unit_table([]).empty


def test_cheap_systems_give_a_vector_to_every_id():
    tasks = tuple(t for t in all_tasks().values() if t.type in ("classification", "proximity", "adhoc_search"))
    shelf = stand_ins.Shelf(tasks, "paper", 0, {})
    for name in stand_ins.SYSTEMS:
        if "minilm" in name:
            continue
        on = stand_ins.SYSTEMS[name].make(shelf)
        for task in tasks:
            vectors = on(task)
            assert set(task.payload.ids().needed) <= vectors.keys(), (name, task.name)
            assert len({len(v) for v in vectors.values()}) == 1
    title, whole = (stand_ins.SYSTEMS[name].make(shelf)(tasks[0]) for name in ("tfidf_title", "tfidf_8000"))
    assert not all(np.array_equal(title[key], whole[key]) for key in title)
    assert stand_ins.system("lsa_16", shelf).name == "lsa_16"
