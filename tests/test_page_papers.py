"""What pages of several chapters compute of their rows: differences of trainings, columns and averages, both kinds of papers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_studies as small
from small_base import hand_made_base
from small_scimult import made, searched

from scirep_core.bench.studies.outcome import line
from scirep_core.bench.suites import SPECS, SUITES
from scirep_core.data.literature.emit.planted import PLANTED
from scirep_core.page import study
from scirep_core.page.chapter import Chapter
from scirep_core.page.papers import literature, scimult
from scirep_core.page.rows import INVENTED, PRINTED, REAL, RECORDED, way
from scirep_core.results import PRINT, Result
from scirep_core.results.published import lookup
from scirep_core.training.variants import budget

CENTRES = {"random": 20.0, "tfidf": 55.0, "oracle": 85.0, "Base": 47.0, "MTL CLS": 50.0, "MTL CTRL": 53.0, "Adapters": 53.1,
           "PALs": 46.0}  # fmt: skip
LINES = ("Base", "MTL CLS", "MTL CTRL", "Adapters", "PALs")


@pytest.fixture
def chapter(tmp_path: Path) -> Chapter:
    """A chapter that collects what it shows in `chapter.held`."""
    return Chapter("scirepeval/multi_format", {"papers": 500, "steps": 2, "seed": 0, "seeds": 2}, tmp_path, held=[])


@pytest.fixture(scope="module")
def rows() -> list[Result]:
    return small.made("main", small.scattered(CENTRES), variants=LINES)


def by_line(gaps, column="all"):
    return {row.encoder: row for row in gaps if row.split == column}


def test_differences_are_those_of_means_with_family_wise_intervals(rows):
    from scipy.stats import tukey_hsd

    found = by_line(study.gaps(rows, study.average, "MTL CLS"))
    assert list(found) == ["Base", "MTL CTRL", "Adapters", "PALs"]
    values = {name: [r.value for r in rows if line(r) == name and r.split == "all" and "trainings" not in r.parameters]
              for name in LINES[1:]}  # fmt: skip
    oracle = tukey_hsd(*values.values())
    bounds = oracle.confidence_interval(0.95)
    for at, name in enumerate(LINES[2:], start=1):
        row = found[name]
        assert row.value == pytest.approx(np.mean(values[name]) - np.mean(values["MTL CLS"]))
        theirs = (bounds.low[at, 0], bounds.high[at, 0], oracle.pvalue[at, 0])
        assert (row.low, row.high, row.parameters["p"]) == pytest.approx(theirs, abs=1e-3)
        assert (row.against, row.metric) == ("MTL CLS", "difference")
    assert (way(found["MTL CTRL"]), way(found["PALs"])) == (1, -1)
    against = by_line(study.gaps(rows, study.average, "MTL CTRL", ("MTL CLS", "Adapters")))
    assert {name: way(row) for name, row in against.items()} == {"MTL CLS": -1, "Adapters": 0}


def test_a_line_of_one_training_has_its_difference_and_no_interval(rows):
    found = by_line(study.gaps(rows, study.average, "MTL CLS"))["Base"]
    assert found.low is None and "p" not in found.parameters and found.value < 0
    once = small.made("main", small.scattered(CENTRES), range(1), variants=LINES)
    assert {row.low for row in study.gaps(once, study.average, "MTL CLS")} == {None}
    assert study.gaps(rows, study.average, "nobody") == []


def test_the_printed_differences_follow_the_printed_numbers_and_the_average_is_tested():
    numbers, base = lookup("V2-T2"), "SPECTER2 MTL CLS"
    gaps = study.printed_gaps("V2-T2", base)
    assert {row.split for row in gaps} == {number.column for number in numbers.values()}
    for row in gaps:
        printed = numbers[row.encoder, row.split].number - numbers[base, row.split].number
        assert row.value == pytest.approx(printed, abs=1e-9)
        assert row.source == PRINT and (row.low is None) == (row.high is None)
    assert any(row.low is not None for row in by_line(gaps, "Average").values())


def test_steps_are_those_of_trainings_and_not_the_chapters_parameter(rows, chapter):
    steps = {row.parameters["steps"] for row in study.record(chapter, rows) if "steps" in row.parameters}
    assert steps and 2 not in steps  # the chapter's is 2


def test_an_exhibit_has_a_studys_recorded_lines_by_what_papers_they_are_of(chapter):
    shown = chapter.exhibit("V2-T2", [], studies=("main",), column="split", metric="average")
    assert next(iter(shown.open)) == PRINTED and any(name.startswith(INVENTED) for name in shown.folded)
    assert all("seed" not in name for name, _ in shown.folded[next(iter(shown.folded))])
    assert study.recorded("a study of nobody") == []


def test_a_live_study_is_small_recorded_and_made_once(chapter, tmp_path, monkeypatch):
    given = study.live_budget(chapter.parameters)
    assert (given.papers, given.max_length, given.width, given.base_steps) == (500, 128, 64, 150)
    assert (given.train["steps"], given.train["warmup"]) == (2, 0)
    tiny = budget("tiny", papers=500, train={"steps": 2, "warmup": 1, "batch": 16})
    monkeypatch.setattr(study, "live_budget", lambda chapter: tiny)
    base = str(hand_made_base(tmp_path / "base", tiny))
    told = ("scirepeval/fos", "scirepeval/same_author")
    rows = study.live(chapter, "main", ("Base", "MTL CLS"), range(2), bases=(base,), tasks=told, references=())
    assert {row.split for row in rows} == {"test"}  # few-shot settings are left out
    assert {row.kind for row in rows} == {"live"} and {row.chapter for row in rows} == {"scirepeval/multi_format"}
    mean = next(row for row in rows if row.encoder == "MTL CLS" and row.task == told[1])
    assert mean.n == 2 and f"sd {mean.parameters['sd']:.3g}" in mean.note
    kept = {json.loads(one)["id"] for one in (chapter.folder / "rows.jsonl").read_text().splitlines()}
    assert kept == {row.id for row in rows}
    monkeypatch.setattr("scirep_core.training.models.train", None)
    monkeypatch.setattr("scirep_core.bench.scoring.evaluate", None)
    again = study.live(chapter, "main", ("MTL CLS",), range(2), bases=(base,), tasks=told, references=())
    assert [row.value for row in again] == [row.value for row in rows if not row.encoder.startswith("Base")]


@pytest.mark.parametrize("table", scimult.TABLES)
def test_columns_are_those_printed_and_their_tasks_are_scored(table):
    assert scimult.columns(table) == list(scimult.TABLES[table].values())
    assert all(task in SUITES["scimult"] for task, _ in scimult.TABLES[table])
    assert all(metric.removesuffix("_name_match") in SPECS[task].metrics for task, metric in scimult.TABLES[table])
    quoted = lookup(table)
    for name in scimult.VARIANTS:  # averages of print follow by our rule
        cells = [quoted[name, column].number for column in scimult.columns(table)]
        assert quoted[name, scimult.AVERAGE].number == pytest.approx(sum(cells) / len(cells), abs=0.00501)


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
    assert scimult.facts(rows) == "3 training runs, 3,000 papers, 300 to 600 steps"


def test_runs_are_told_apart_by_what_papers_they_are_of(chapter, monkeypatch):
    """Search's tasks on the open literature stand for its own here."""
    rows = made("scimult", lambda line, column, seed: 50.0 + seed)
    names = dict(zip(scimult.TABLES["SM-T8"], scimult.OPEN["SM-T8"], strict=False))
    real = [replace(row, task=names[key][0], source="open") for row in rows if (key := (row.task, row.metric)) in names]
    recorded = {"open": real, "embedded": rows}
    monkeypatch.setattr(study, "recorded", lambda name, source="": recorded.get(source, []))
    kinds = [scimult.studies(chapter, name, rows) for name in ("scimult", "scimult-choices")]
    assert all(list(kind) == [REAL + RECORDED, INVENTED + RECORDED, INVENTED] for kind in kinds)
    own = [row.id for kind in kinds for of in kind.values() for row in of if row.metric.startswith("average (")]
    assert len({*own}) == len(own) > 0
    found = scimult.changes(chapter, kinds[0], {"MHA": ("SciMult MHAExpert", "SciMult Vanilla")})
    assert list(found) == [REAL + RECORDED, INVENTED + RECORDED]
    assert list(found[REAL + RECORDED]) == [("Search", "MHA")] and len(found[INVENTED + RECORDED]) == 5
    recorded.clear()
    assert scimult.studies(chapter, "scimult") == {}


def test_a_live_run_asks_for_one_training_floor_and_ceiling(chapter, tmp_path, monkeypatch):
    asked = {}

    def live(chapter, name, variants, seeds, **changes):
        asked.update(name=name, variants=variants, seeds=list(seeds), **changes)
        return made("scimult", lambda line, column, seed: 50.0, seeds, variants=variants, kind="live")

    monkeypatch.setattr(study, "live", live)
    rows = scimult.live(Chapter("scimult/search", {"seed": 0, "seeds": 1}, tmp_path, held=[]))
    assert asked == {"name": "scimult", "variants": ("SciMult Vanilla", "SciMult MHAExpert"), "seeds": [0],
                     "bases": ("embedded untrained",), "references": ("random", "oracle")}  # fmt: skip
    assert {row.encoder for row in rows if row.metric == "average (live)"} >= {"SciMult MHAExpert", "oracle"}
    scimult.live(chapter)  # of two seeds
    assert asked["seeds"] == [0, 1]


def test_a_change_is_paired_by_seed_and_has_the_interval_of_its_trainings():
    def value(line, column, seed):
        return 50.0 + 10 * seed + {"SciMult MHAExpert": 2.0 + 0.5 * seed}.get(line, 0.0)

    def change(rows, line="SciMult MHAExpert", **how):
        averaged = [*rows, *scimult.averages(rows, "SM-T8")]
        return scimult.change(averaged, "SM-T8", line, "SciMult Vanilla", "recorded", **how)

    rows = made("scimult", value)
    found, percent = change(rows), change(rows, relative=True)
    assert (found.value, found.n, found.parameters["sd"]) == (pytest.approx(2.5), 3, pytest.approx(0.5))
    assert found.high - found.value == pytest.approx(4.302653 * 0.5 / 3**0.5)  # t of two degrees of freedom, by table
    assert percent.value == pytest.approx(100 * (2 / 50 + 2.5 / 60 + 3 / 70) / 3) and percent.metric != found.metric
    assert change(rows, "no such line") is None and change(made("scimult", value, range(1))).low is None
    zero = [replace(row, value=0.0) if "Vanilla" in row.encoder else row for row in rows]
    assert change(zero, relative=True) is None


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


TASK, SAMPLE = "scirepeval/same_author", "sample/same_author"
AUTHORS = "scirepeval/s2and"


def gap(task, source, low, high, protocol="paper", systems="minilm - tfidf"):
    return Result(task, "test", "difference of map", protocol, (low + high) / 2, 40, encoder=systems, source=source, low=low,
                  high=high, against=systems.rpartition(" ")[2])  # fmt: skip


@pytest.mark.parametrize(("real", "invented", "side"), [
    ((1, 3), (2, 9), 1), ((-3, -1), (-9, -2), 1), ((1, 3), (-9, -2), -1), ((-1, 3), (2, 9), 0), ((1, 3), (-2, 9), 0),
])  # fmt: skip
def test_a_comparison_lies_on_the_side_of_its_intervals(real, invented, side):
    (one,) = literature.comparisons([gap(SAMPLE, "real", *real), gap(TASK, "embedded", *invented)])
    assert (one.question, one.side, one.real.source, one.invented.source) == (TASK, side, "real", "embedded")


def test_what_is_of_one_kind_of_papers_or_without_width_is_no_comparison_and_the_papers_protocol_wins():
    real, invented = gap(SAMPLE, "real", 1, 3), gap(TASK, "embedded", 2, 9)
    for rows in ([real], [invented], [replace(real, low=2.0, high=2.0), invented],
                 [gap(SAMPLE, "real", 1, 3, systems="bm25 - tfidf"), invented],
                 [replace(real, encoder="minilm", against=""), invented]):  # fmt: skip
        assert literature.comparisons(rows) == []
    both = [gap(task, source, low, low + 1, protocol) for task, source in ((SAMPLE, "real"), (TASK, "embedded"))
            for protocol, low in (("sound", 1.0), ("paper", 5.0))]  # fmt: skip
    (one,) = literature.comparisons(both)
    assert (one.real.protocol, one.invented.protocol, one.real.low) == ("paper", "paper", 5.0)


def test_trainings_are_compared_where_both_papers_have_them():
    centres = {"Base": 47.0, "MTL CLS": 50.0, "MTL CTRL": 53.0, "PALs": 46.0}
    invented = small.made("main", small.scattered(centres), variants=tuple(centres))
    real = small.made("main", small.scattered(centres | {"PALs": 55.0}), variants=("MTL CLS", "MTL CTRL", "PALs"))
    found = {(one.real.encoder, one.question): one.side for one in literature.trained(real, invented, "MTL CLS")}
    assert {line for line, _ in found} == {"MTL CTRL", "PALs"}
    assert found["MTL CTRL", "all"] == 1 and found["PALs", "all"] == -1
    assert literature.trained(real, [], "MTL CLS") == []


def test_a_part_that_some_draws_leave_out_is_no_error(tmp_path, monkeypatch):
    """At 300 papers a part of S2AND has no block to score under one seed, and one under the next."""

    def scored(task, vectors, *given, name, split, seed):
        parts = ["test", "test/zbmath"] if seed % 2 else ["test"]
        return [Result(AUTHORS, part, "b3_f1", "paper", 90.0 + seed, 300, encoder=name) for part in parts]

    monkeypatch.setattr(literature, "evaluate", scored)
    monkeypatch.setattr(literature.inputs, "prepare", lambda *given, **how: {})
    chapter = Chapter(literature.CHAPTER, {"papers": 300, "seed": 0, "paper": 1}, tmp_path, held=[])
    rows = literature.measure(chapter, 300, 0, [AUTHORS])
    assert {row.encoder: row.value for row in rows} == {"random": 92.0, "tfidf": 90.0, "minilm": 90.0, "oracle": 90.0}
    assert [row.split for row in rows] == ["test"] * 4


def test_what_is_exact_says_on_which_metric():
    assert literature._errs(AUTHORS).startswith("no: the oracle reaches 100, or nearly, on b3_f1_vectors")
    assert literature._errs(TASK) == "no: the oracle reaches 100"
    assert literature._errs("scirepeval/relish") == PLANTED["scirepeval/relish"].errs
