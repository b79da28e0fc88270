"""What SciMult's chapters share: columns that are print's, averages that are the paper's, names that tell runs apart."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from blank_page import Page
from small_scimult import made

from scirep_core.bench.suites import suite
from scirep_core.data import sources
from scirep_core.data.inventory import TASKS
from scirep_core.exhibits import counting, studies
from scirep_core.exhibits import scimult_labels as labels
from scirep_core.exhibits import scimult_shared as shared


@pytest.mark.parametrize("table", shared.TABLES)
def test_columns_are_those_printed_and_their_tasks_are_scored(table):
    quoted = shared.printed(table)
    assert list(shared.columns(table)) == list(dict.fromkeys(column for row, column in quoted if row in shared.FIVE))
    assert all(task in suite("scimult") for task, _ in shared.TABLES[table])
    assert all(metric.removesuffix("_name_match") in TASKS[task].metrics for task, metric in shared.TABLES[table])
    assert {row for row, _ in quoted} >= set(shared.FIVE)


@pytest.mark.parametrize("table", shared.TABLES)
def test_averages_of_print_follow_by_our_rule(table):
    quoted = shared.printed(table)
    for line in shared.FIVE:
        cells = [quoted[line, column].number for column in shared.TABLES[table].values()]
        assert quoted[line, shared.AVERAGE].number == pytest.approx(sum(cells) / len(cells), abs=0.00501)


def test_an_average_is_there_for_each_training_where_all_columns_are():
    rows = made("scimult", lambda line, column, seed: 10.0 * seed + (40 if "Cite" in column else 10))
    found = [row for row in shared.averages(rows, "SM-T7") if row.encoder.startswith("SciMult Vanilla, seed")]
    assert [row.value for row in found] == pytest.approx([(2 * 40 + 9 * 10) / 11 + 10 * seed for seed in range(3)])
    mean = shared.values(rows, "SM-T7")["SciMult Vanilla", shared.AVERAGE]
    assert (mean.parameters["trainings"], mean.value) == (3, pytest.approx((2 * 40 + 9 * 10) / 11 + 10))
    assert mean.low is not None and mean.parameters["sd"] == pytest.approx(10)
    fewer = [row for row in rows if row.task != "scimult/coread"]
    assert shared.averages(fewer, "SM-T7") == []
    assert ("SciMult Vanilla", "Cite/MAP") in shared.values(fewer, "SM-T7")


def test_references_have_averages_without_trainings():
    rows = made("scimult", lambda line, column, seed: 5.0 if line == "random" else 60.0)
    assert shared.values(rows, "SM-T8")["random", shared.AVERAGE].value == 5.0


def test_recorded_averages_are_the_chapters_own_and_no_two_are_of_one_name(monkeypatch):
    rows = made("scimult", lambda line, column, seed: 50.0 + seed)
    monkeypatch.setattr(studies, "recorded_study", lambda name: rows)
    both = [*shared.recorded(Page()), *shared.recorded(Page(), "scimult-choices")]
    own = [row for row in both if row.metric.startswith("average")]
    assert len({row.id for row in own}) == len(own) > 0
    assert shared.values(shared.recorded(Page()), "SM-T3")["SciMult Prefix", shared.AVERAGE].value == 51.0


def test_a_live_run_asks_for_one_training_floor_and_ceiling(monkeypatch):
    asked = {}

    def study(chapter, name, variants, seeds, **changes):
        asked.update(name=name, variants=variants, seeds=list(seeds), **changes)
        return made("scimult", lambda line, column, seed: 50.0, seeds, variants=variants, kind="live")

    monkeypatch.setattr("scirep_core.page.study.live", study)
    rows = shared.live(Page())
    assert asked == {"name": "scimult", "variants": ("SciMult Vanilla", "SciMult MHAExpert"), "seeds": [0],
                     "bases": ("embedded untrained",), "references": ("random", "oracle")}  # fmt: skip
    assert {row.encoder for row in rows if row.metric == "average (live)"} >= {"SciMult MHAExpert", "oracle"}
    shared.live(Page(seeds=2))
    assert asked["seeds"] == [0, 1]


def test_a_change_is_paired_by_seed_and_has_the_interval_of_its_trainings(monkeypatch):
    def value(line, column, seed):
        return 50.0 + 10 * seed + {"SciMult MHAExpert": 2.0 + 0.5 * seed}.get(line, 0.0)

    monkeypatch.setattr(studies, "recorded_study", lambda name: made("scimult", value))
    rows = shared.recorded(Page())
    found = shared.change(rows, "SM-T8", "SciMult MHAExpert", "SciMult Vanilla", "recorded")
    assert (found.value, found.n, found.parameters["sd"]) == (pytest.approx(2.5), 3, pytest.approx(0.5))
    assert found.high - found.value == pytest.approx(
        4.302653 * 0.5 / 3**0.5
    )  # t with two degrees of freedom, from a table
    percent = shared.change(rows, "SM-T8", "SciMult MHAExpert", "SciMult Vanilla", "recorded", relative=True)
    assert percent.value == pytest.approx(100 * (2 / 50 + 2.5 / 60 + 3 / 70) / 3)
    assert percent.metric != found.metric
    assert shared.change(rows, "SM-T8", "SciMult MHAExpert", "no such line", "recorded") is None
    zero = [replace(row, value=0.0) if "Vanilla" in row.encoder else row for row in rows]
    assert shared.change(zero, "SM-T8", "SciMult MHAExpert", "SciMult Vanilla", "recorded", relative=True) is None


# ---- SciMult's own files ---------------------------------------------------------------------------------------------


def test_the_published_files_are_scored_where_they_lie_and_the_others_told(monkeypatch, tmp_path):
    written = sources.ensure(sources.embedded_root(300, 0), "scimult", 300, 0) / "scimult"
    shutil.copytree(written, tmp_path / "mirror" / "scimult")
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SCIREP_DATA_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setattr(labels, "_pieces", lambda *given: ())
    monkeypatch.setattr(counting, "samples", lambda wanted: [])
    rows = labels.measure(page := Page(data="real", papers=300, encoders="tfidf"))
    assert {(row.task, row.source) for row in rows} == {(name, "real") for name in (*labels.FINE, *labels.COARSE)}
    assert "files are not here (scirepeval: scidocs_mag" in page.text
    assert f"scirep data get {labels.LINEAR['scimult/mag']}" in page.text
