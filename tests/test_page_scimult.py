"""What SciMult's pages share: columns are print's, averages the paper's, names tell runs apart, systems are paired."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from blank_page import Page
from small_scimult import made, searched

from scirep_core.bench.suites import SPECS, SUITES
from scirep_core.page import study
from scirep_core.page.papers import scimult
from scirep_core.page.rows import INVENTED, REAL, RECORDED
from scirep_core.results.published import lookup


@pytest.mark.parametrize("table", scimult.TABLES)
def test_columns_are_those_printed_and_their_tasks_are_scored(table):
    assert scimult.columns(table) == list(scimult.TABLES[table].values())
    assert all(task in SUITES["scimult"] for task, _ in scimult.TABLES[table])
    assert all(metric.removesuffix("_name_match") in SPECS[task].metrics for task, metric in scimult.TABLES[table])
    quoted = lookup(table)
    for line in scimult.VARIANTS:  # averages of print follow by our rule
        cells = [quoted[line, column].number for column in scimult.columns(table)]
        assert quoted[line, scimult.AVERAGE].number == pytest.approx(sum(cells) / len(cells), abs=0.00501)


def test_the_open_literature_has_tasks_for_every_group_and_each_once():
    keys = [key for table in scimult.TASKS for key in scimult.OPEN[table]]
    assert {task for task, _ in keys} == set(SUITES["open-scimult"]) and len(set(keys)) == len(keys)
    assert all(metric in SPECS[task].metrics for task, metric in keys)


def test_an_average_is_there_for_each_training_where_all_columns_are():
    rows = made("scimult", lambda line, column, seed: 10.0 * seed + (40 if "Cite" in column else 10))
    found = [row for row in scimult.averages(rows, "SM-T7") if row.encoder.startswith("SciMult Vanilla, seed")]
    assert [row.value for row in found] == pytest.approx([(2 * 40 + 9 * 10) / 11 + 10 * seed for seed in range(3)])
    mean = scimult.values(rows, "SM-T7")["SciMult Vanilla", scimult.AVERAGE]
    assert (mean.parameters["trainings"], mean.value) == (3, pytest.approx((2 * 40 + 9 * 10) / 11 + 10))
    assert mean.low is not None and mean.parameters["sd"] == pytest.approx(10)
    fewer = [row for row in rows if row.task != "scimult/coread"]
    assert scimult.averages(fewer, "SM-T7") == []
    assert ("SciMult Vanilla", "Cite/MAP") in scimult.values(fewer, "SM-T7")
    assert scimult.values(rows, "SM-T8")["random", scimult.AVERAGE].value == 10.0  # not trained
    assert scimult.facts(rows) == "3 trainings, 3,000 papers, 300 to 600 steps"


def opened(rows):
    """Return a study's rows as if they were of the open literature: Search's tasks stand for its tasks there."""
    names = dict(zip(scimult.TABLES["SM-T8"], scimult.OPEN["SM-T8"], strict=False))
    return [
        replace(row, task=names[row.task, row.metric][0], source="open")
        for row in rows
        if (row.task, row.metric) in names
    ]


def test_runs_are_told_apart_by_what_papers_they_are_of(monkeypatch):
    rows = made("scimult", lambda line, column, seed: 50.0 + seed)
    monkeypatch.setattr(
        study, "recorded", lambda name, source="": {"open": opened(rows), "embedded": rows}.get(source, [])
    )
    kinds = [scimult.studies(Page(), name, rows) for name in ("scimult", "scimult-choices")]
    assert all(list(kind) == [REAL + RECORDED, INVENTED + RECORDED, INVENTED] for kind in kinds)
    own = [row for kind in kinds for of in kind.values() for row in of if row.metric.startswith("average (")]
    assert len({row.id for row in own}) == len(own) > 0
    found = scimult.changes(Page(), kinds[0], {"MHA": ("SciMult MHAExpert", "SciMult Vanilla")})
    assert list(found) == [REAL + RECORDED, INVENTED + RECORDED]
    assert list(found[REAL + RECORDED]) == [("Search", "MHA")] and len(found[INVENTED + RECORDED]) == 5
    monkeypatch.setattr(study, "recorded", lambda name, source="": [])
    assert scimult.studies(Page(), "scimult") == {}


def test_a_live_run_asks_for_one_training_floor_and_ceiling(monkeypatch):
    asked = {}

    def live(chapter, name, variants, seeds, **changes):
        asked.update(name=name, variants=variants, seeds=list(seeds), **changes)
        return made("scimult", lambda line, column, seed: 50.0, seeds, variants=variants, kind="live")

    monkeypatch.setattr(study, "live", live)
    rows = scimult.live(Page())
    assert asked == {"name": "scimult", "variants": ("SciMult Vanilla", "SciMult MHAExpert"), "seeds": [0],
                     "bases": ("embedded untrained",), "references": ("random", "oracle")}  # fmt: skip
    assert {row.encoder for row in rows if row.metric == "average (live)"} >= {"SciMult MHAExpert", "oracle"}
    scimult.live(Page(seeds=2))
    assert asked["seeds"] == [0, 1]


def test_a_change_is_paired_by_seed_and_has_the_interval_of_its_trainings():
    def value(line, column, seed):
        return 50.0 + 10 * seed + {"SciMult MHAExpert": 2.0 + 0.5 * seed}.get(line, 0.0)

    rows = made("scimult", value)
    rows += scimult.averages(rows, "SM-T8")
    found = scimult.change(rows, "SM-T8", "SciMult MHAExpert", "SciMult Vanilla", "recorded")
    assert (found.value, found.n, found.parameters["sd"]) == (pytest.approx(2.5), 3, pytest.approx(0.5))
    assert found.high - found.value == pytest.approx(4.302653 * 0.5 / 3**0.5)  # t of two degrees of freedom, by table
    percent = scimult.change(rows, "SM-T8", "SciMult MHAExpert", "SciMult Vanilla", "recorded", relative=True)
    assert percent.value == pytest.approx(100 * (2 / 50 + 2.5 / 60 + 3 / 70) / 3)
    assert percent.metric != found.metric
    assert scimult.change(rows, "SM-T8", "SciMult MHAExpert", "no such line", "recorded") is None
    zero = [replace(row, value=0.0) if "Vanilla" in row.encoder else row for row in rows]
    assert scimult.change(zero, "SM-T8", "SciMult MHAExpert", "SciMult Vanilla", "recorded", relative=True) is None
    once = made("scimult", value, range(1))
    once += scimult.averages(once, "SM-T8")
    assert scimult.change(once, "SM-T8", "SciMult MHAExpert", "SciMult Vanilla", "recorded").low is None


def test_who_carries_a_gain_is_read_off_the_table():
    assert scimult.carriers("SM-T7", scimult.MHA, scimult.VANILLA) == ["Cite"]
    assert scimult.ahead("SM-T4", scimult.MHA, scimult.VANILLA, scimult.columns("SM-T4"))
    assert set(scimult.baselines("SM-T8")) | set(scimult.VARIANTS) == set(scimult.systems("SM-T8"))


def test_differences_of_systems_are_paired_and_have_the_sign_of_the_scores():
    task = searched({"a": {"b": 1}, "b": {"c": 1}, "c": {"a": 1}}, ["a", "b", "c", "d"])
    rows = [replace(row, encoder=name, replicates=row.replicates + shift, value=row.value + shift)
            for row in scimult.score(task, [], ("recall@20",)) if row.encoder == "random"
            for name, shift in (("x", 0.0), ("y", 5.0))]  # fmt: skip
    (gap,) = scimult.differences(rows)
    assert (gap.encoder, gap.against, gap.value) == ("y - x", "x", pytest.approx(5.0)) and np.sign(gap.low) == 1
    (moved,) = scimult.changed(rows[1:], [replace(rows[0], encoder="y")], "later, earlier", "earlier")
    assert moved.value == pytest.approx(5.0) and moved.metric == "difference of recall@20, later, earlier"
    assert all(row.replicates is None and not row.by_query for row in scimult.bare(rows))
