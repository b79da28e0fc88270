"""A study's differences on a page follow from its trainings: Tukey's intervals, and none where a line was trained once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import small_studies as small
from blank_page import Shown
from small_base import hand_made_base

from scirep_core.bench.studies.outcome import line
from scirep_core.page import study
from scirep_core.page.rows import INVENTED, PRINTED, way
from scirep_core.results import PRINT, Result
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


def by_line(gaps: list[Result], column: str) -> dict[str, Result]:
    return {row.encoder: row for row in gaps if row.split == column}


def test_differences_are_those_of_means_with_family_wise_intervals(rows):
    from scipy.stats import tukey_hsd

    found = by_line(study.gaps(rows, study.average, "MTL CLS"), "all")
    assert list(found) == ["Base", "MTL CTRL", "Adapters", "PALs"]
    values = {name: [r.value for r in rows if line(r) == name and r.split == "all" and "trainings" not in r.parameters]
              for name in LINES[1:]}  # fmt: skip
    oracle = tukey_hsd(*values.values())
    bounds = oracle.confidence_interval(0.95)
    for at, name in enumerate(LINES[2:], start=1):
        row = found[name]
        assert row.value == pytest.approx(np.mean(values[name]) - np.mean(values["MTL CLS"]))
        assert (row.low, row.high) == pytest.approx((bounds.low[at, 0], bounds.high[at, 0]), abs=1e-3)
        assert row.parameters["p"] == pytest.approx(oracle.pvalue[at, 0], abs=1e-3)
        assert (row.against, row.metric) == ("MTL CLS", "difference")
    assert (way(found["MTL CTRL"]), way(found["PALs"])) == (1, -1)
    against = by_line(study.gaps(rows, study.average, "MTL CTRL", ("MTL CLS", "Adapters")), "all")
    assert [way(row) for row in against.values()] == [-1, 0] and list(against) == ["MTL CLS", "Adapters"]


def test_a_line_of_one_training_has_its_difference_and_no_interval(rows):
    found = by_line(study.gaps(rows, study.average, "MTL CLS"), "all")["Base"]
    assert found.low is None and "p" not in found.parameters and found.value < 0
    once = small.made("main", small.scattered(CENTRES), range(1), variants=LINES)
    assert {row.low for row in study.gaps(once, study.average, "MTL CLS")} == {None}
    assert study.gaps(rows, study.average, "nobody") == []


def test_the_printed_differences_point_where_the_paper_underlines_and_follow_the_printed_numbers():
    """Table 2 of SciRepEval v2: adapters and codes lie above one vector on average, by 1.9 and 1.8 points or so."""
    numbers = lookup("V2-T2")
    columns = dict.fromkeys(number.column for number in numbers.values())
    base = "SPECTER2 MTL CLS"
    for column in columns:
        for name, row in by_line(study.printed_gaps("V2-T2", base), column).items():
            assert row.value == pytest.approx(numbers[name, column].number - numbers[base, column].number, abs=1e-9)
            assert row.source == PRINT and (row.low is None) == (row.high is None)
    tested = by_line(study.printed_gaps("V2-T2", base), "Average")
    assert any(row.low is not None for row in tested.values())


def test_steps_are_those_of_trainings_and_not_the_chapters_parameter(rows, chapter):
    steps = {row.parameters["steps"] for row in study.record(chapter, rows) if "steps" in row.parameters}
    assert steps and 2 not in steps  # the chapter's is 2


def test_an_exhibit_has_a_studys_recorded_lines_by_what_papers_they_are_of(tmp_path: Path):
    chapter = Shown("scirepeval/multi_format", {"papers": 500}, tmp_path)
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
    monkeypatch.setattr("scirep_core.training.loop.train", None)
    monkeypatch.setattr("scirep_core.bench.scoring.evaluate", None)
    again = study.live(chapter, "main", ("MTL CLS",), range(2), bases=(base,), tasks=told, references=())
    assert [row.value for row in again] == [row.value for row in rows if not row.encoder.startswith("Base")]
