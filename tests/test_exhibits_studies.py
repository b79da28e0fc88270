"""What a study's table, figure and sentences say follows from its rows, and a live study leaves rows that can be explained."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import small_studies as small
from blank_page import Shown
from small_base import hand_made_base

from scirep_core.bench.studied import line, means
from scirep_core.exhibits import studies
from scirep_core.page import study as study_
from scirep_core.results import Result
from scirep_core.results.published import lookup
from scirep_core.training.variants import budget

CENTRES = {"random": 20.0, "tfidf": 55.0, "oracle": 85.0, "Base": 47.0, "MTL CLS": 50.0, "MTL CTRL": 53.0, "Adapters": 53.1,
           "PALs": 46.0}  # fmt: skip
LINES = ("Base", "MTL CLS", "MTL CTRL", "Adapters", "PALs")


@pytest.fixture
def chapter(tmp_path: Path) -> Shown:
    """A chapter that collects what it shows in `chapter.page`."""
    return Shown("scirepeval/multi_format", {"papers": 500, "steps": 2, "seed": 0, "seeds": 2}, tmp_path)


@pytest.fixture(scope="module")
def rows() -> list[Result]:
    return small.made("main", small.scattered(CENTRES), variants=LINES)


def cell(table: str, row: str, column: int) -> str:
    found = next(line for line in re.findall(r"<tr>.*?</tr>", table) if f">{row}<" in line)
    return re.findall(r"<td[^>]*>(.*?)</td>", found)[column]


def text(html: str) -> str:
    return re.sub(r"<svg.*?</svg>|<[^>]+>", "", html, flags=re.DOTALL)


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_a_table_has_means_with_their_spread_the_best_bold_and_what_ties_with_it_underlined(rows, chapter):
    table = studies.study_table(chapter, "caption", {"recorded": rows}, LINES, ("all",))
    found = {r.encoder: r for r in means(rows) if r.split == "all"}
    best = max(("MTL CTRL", "Adapters"), key=lambda name: found[name].value)
    other = ({"MTL CTRL", "Adapters"} - {best}).pop()
    assert cell(table, best, 0).startswith("<strong>") and cell(table, other, 0).startswith("<u style")
    assert f'>{found[best].value:.1f}</a><span class="ci">±{found[best].parameters["sd"]:.2f}</span>' in cell(
        table, best, 0
    )
    for name in ("Base", "MTL CLS", "PALs", "TF-IDF", "floor: random vectors", "ceiling: oracle"):
        assert cell(table, name, 0).startswith("<a")
    assert "±" not in cell(table, "Base", 0)
    assert table.index("ceiling: oracle") > table.index(">PALs<") and "oracle" not in best
    assert {row.id for row in found.values()} <= set(chapter.shown)


def test_the_best_that_was_tested_is_underlined_where_a_base_is_higher(chapter):
    """The base is one model and takes no part in the test: what ties with the best of the others ties with something shown."""
    higher = small.made("main", small.scattered(CENTRES | {"Base": 70.0}), variants=LINES)
    table = studies.study_table(chapter, "c", {"recorded": higher}, LINES, ("all",))
    assert cell(table, "Base", 0).startswith("<strong>")
    assert all(cell(table, name, 0).startswith("<u style") for name in ("MTL CTRL", "Adapters"))


def test_kinds_stand_side_by_side_and_lines_nobody_has_are_left_out(rows, chapter):
    live = small.made("main", small.scattered(CENTRES), range(2), "live", variants=("MTL CLS",), references=())
    printed = {("MTL CLS", "all"): lookup("V2-T2")["SPECTER2 MTL CLS", "Average"]}
    table = studies.study_table(chapter, "c", {"recorded": rows, "live": live}, (*LINES, "Fusion"), ("all",), printed)
    assert [text(cell(table, "MTL CLS", i))[:4] for i in range(3)] == ["69.0", "50.1", "50.1"]
    assert [bool(cell(table, "MTL CTRL", i)) for i in range(3)] == [False, True, False]
    assert "Fusion" not in table
    only = studies.study_table(chapter, "c", {"recorded": rows, "live": []}, LINES, ("all",))
    assert 'class="live"' not in only and 'class="published"' not in only


def test_one_training_each_is_marked_by_no_test(chapter):
    once = small.made("main", small.scattered(CENTRES), range(1), variants=LINES)
    table = studies.study_table(chapter, "c", {"recorded": once}, LINES, ("all",))
    assert "<u style" not in table and "±" not in table
    assert studies.tukey_rows(chapter, once, "all", "MTL CLS") == []
    assert studies.say_tukey(chapter, []) == "No line was trained often enough for a test."


# ---- Tukey's test ----------------------------------------------------------------------------------------------------


def test_differences_are_those_of_means_with_family_wise_intervals(rows, chapter):
    from scipy.stats import tukey_hsd

    made = studies.tukey_rows(chapter, rows, "all", "MTL CLS")
    assert [row.encoder for row in made] == ["MTL CTRL", "Adapters", "PALs"]  # the base is one model
    values = {name: [r.value for r in rows if line(r) == name and r.split == "all" and "trainings" not in r.parameters]
              for name in LINES[1:]}  # fmt: skip
    oracle = tukey_hsd(*values.values())
    bounds = oracle.confidence_interval(0.95)
    for at, row in enumerate(made, start=1):
        assert row.value == pytest.approx(np.mean(values[row.encoder]) - np.mean(values["MTL CLS"]))
        assert (row.low, row.high) == pytest.approx((bounds.low[at, 0], bounds.high[at, 0]), abs=1e-3)
        assert row.parameters["p"] == pytest.approx(oracle.pvalue[at, 0], abs=1e-3)
    assert made[0].n == 20
    kept = [json.loads(one) for one in (chapter.folder / "rows.jsonl").read_text().splitlines()]
    assert [one["id"] for one in kept] == [row.id for row in made]
    assert studies.tukey_rows(chapter, rows, "all", "MTL CLS", lines=("PALs",))[0].encoder == "PALs"
    assert studies.tukey_rows(chapter, rows, "all", "nobody") == []


def test_sentences_follow_from_the_intervals(rows, chapter):
    said = text(studies.say_tukey(chapter, studies.tukey_rows(chapter, rows, "all", "MTL CLS")))
    assert re.match(r"ANOVA over the recorded trainings: F\(3, 16\) = \d+\.\d, p &lt; 0\.001\.", said)
    ahead, behind = said.index("Ahead of MTL CLS"), said.index("Behind MTL CLS")
    assert ahead < said.index("MTL CTRL +") < said.index("Adapters +") < behind < said.index("PALs -")
    said = text(studies.say_tukey(chapter, studies.tukey_rows(chapter, rows, "all", "MTL CTRL", lines=("Adapters",))))
    assert "Not told from MTL CTRL: Adapters" in said and "Ahead" not in said


# ---- facts and figures -----------------------------------------------------------------------------------------------


def test_the_line_of_facts_is_read_off_the_rows(rows):
    assert studies.facts(rows) == (
        "5 trainings each (Base: 1), 3,000 papers of the embedded literature (invented text), width 64, 2 layers, "
        "200 to 600 steps, base embedded, protocol paper"
    )
    real = small.made("samples", small.scattered({}), range(2))
    assert "small samples of real papers, 200 to 600 steps, base minilm" in studies.facts(real)
    assert "width" not in studies.facts(real)  # that of a base by name is its own
    assert studies.facts([]) == ""


def test_steps_are_those_of_trainings_and_not_the_chapters_parameter(rows, chapter):
    assert "200 to 600 steps" in studies.facts(study_.record(chapter, rows))  # the chapter's is 2


def test_a_figure_has_every_training_and_names_what_is_far_off(rows, chapter):
    studies.study_figure(chapter, "trainings", rows, ("in-train", "all"), "caption", "alt")
    data = (chapter.folder / "figures" / "trainings.csv").read_text().splitlines()[1:]
    assert sum(one.startswith("MTL CLS,") for one in data) == 2 * 5
    assert sum(one.startswith("Base,") for one in data) == 2
    drawn = (chapter.folder / "figures" / "trainings.svg").read_text()
    assert "ceiling 85." in drawn and "floor 20." in drawn and ">TF-IDF<" in drawn
    studies.study_figure(chapter, "none", [], ("all",), "caption", "alt")
    assert not (chapter.folder / "figures" / "none.svg").exists()


def test_a_missing_recording_is_said_with_its_command(rows, chapter):
    studies.say_unrecorded(chapter, "main", [])
    assert "scirep study main" in chapter.page[-1]
    studies.say_unrecorded(chapter, "main", rows)
    assert len(chapter.page) == 1


# ---- live ------------------------------------------------------------------------------------------------------------


def test_a_live_study_is_small_recorded_and_made_once(chapter, tmp_path, monkeypatch):
    given = study_.live_budget(chapter.parameters)
    assert (given.papers, given.max_length, given.width, given.base_steps) == (500, 128, 64, 150)
    assert (given.train["steps"], given.train["warmup"]) == (2, 0)
    tiny = budget("tiny", papers=500, train={"steps": 2, "warmup": 1, "batch": 16})
    monkeypatch.setattr(study_, "live_budget", lambda chapter: tiny)
    base = str(hand_made_base(tmp_path / "base", tiny))
    told = ("scirepeval/fos", "scirepeval/same_author")
    rows = study_.live(chapter, "main", ("Base", "MTL CLS"), range(2), bases=(base,), tasks=told, references=())
    assert {row.split for row in rows} == {"test"}  # few-shot settings are left out
    assert {row.kind for row in rows} == {"live"} and {row.chapter for row in rows} == {"scirepeval/multi_format"}
    mean = next(row for row in rows if row.encoder == "MTL CLS" and row.task == told[1])
    assert mean.n == 2 and f"sd {mean.parameters['sd']:.3g}" in mean.note
    kept = {json.loads(one)["id"] for one in (chapter.folder / "rows.jsonl").read_text().splitlines()}
    assert kept == {row.id for row in rows}
    monkeypatch.setattr("scirep_core.training.loop.train", None)
    monkeypatch.setattr("scirep_core.bench.scoring.evaluate", None)
    again = study_.live(chapter, "main", ("MTL CLS",), range(2), bases=(base,), tasks=told, references=())
    assert [row.value for row in again] == [row.value for row in rows if not row.encoder.startswith("Base")]
