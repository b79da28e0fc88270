"""What a chapter shows: origins, figures with data and alt text, sentences read off numbers; never a number without a row."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from scirep_core import results
from scirep_core.kit.errors import ConfigError, NumericError
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, start
from scirep_core.results import Result, anchor, provenance, read_results
from scirep_core.results.published import lookup


@pytest.fixture
def shown(monkeypatch):
    """Collect what chapters display."""
    parts = []
    monkeypatch.setattr(Chapter, "show", lambda self, *html: parts.append("\n".join(html)))
    return parts


@pytest.fixture
def chapter(shown, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIREP_CHAPTER_DIR", str(tmp_path / "chapter"))
    return start("csfcube/baselines", data="embedded", encoders="fabs_bm25", seed=0)


def row(value=12.345, **changes):
    return Result(**{"task": "csfcube/all", "split": "test", "metric": "ndcg%20", "protocol": "paper", "value": value,
                     "n": 50, "encoder": "fabs_bm25", "low": 10.0, "high": 15.0} | changes)  # fmt: skip


def wellformed(page):
    """Every element is closed where it was opened; raises where one is not."""
    return ElementTree.fromstring(f"<html>{page.replace('<br>', '')}</html>")


@pytest.mark.parametrize(("given", "says"), [
    ({"ndcg_percent": 0}, "ndcg_percent = 0"), ({"sed": 0}, r"unknown parameter 'sed'.*did you mean 'seed'"),
    ({"data": "reel"}, "no such folder"),
])  # fmt: skip
def test_start_refuses_wrong_parameters_inside_the_kernel(given, says):
    with pytest.raises(ConfigError, match=says):
        start("csfcube/baselines", **given)


def test_embedded_runs_say_that_they_are_a_simulation(chapter, shown):
    assert "generative model" in shown[0]
    assert "papermill notebooks/csfcube/baselines.ipynb out.ipynb -p data embedded" in shown[0]
    start("csfcube/baselines", data="real")
    assert "generative model" not in shown[1]
    start("beyond/slips", False, seed=1)
    assert "generative model" not in shown[2] and "Parameters of this run" in shown[2]


def test_recorded_rows_carry_chapter_and_parameters_come_back_and_are_stored_once(chapter):
    (kept,) = chapter.record([row()])
    assert kept.chapter == "csfcube/baselines"
    assert kept.id == "live:csfcube/baselines:csfcube/all:fabs_bm25:ndcg%20:test:paper"
    for bad in ({"value": float("nan")}, {"value": float("inf")}, {"low": float("nan")}, {"high": float("-inf")}):
        with pytest.raises(NumericError, match=r"ndcg%20:test:paper: .* is not finite"):
            chapter.record([row(), row(**bad)])
    assert read_results(chapter.folder / "rows.jsonl") == [kept]
    again = [*chapter.record([row(), row()]), *chapter.record([row(), row(1.0)])]
    assert [one.value for one in again] == [12.345, 12.345, 12.345, 1.0]
    assert read_results(chapter.folder / "rows.jsonl") == [kept, again[3]], "another value stands beside it"


@pytest.mark.parametrize(("value", "shown_as"), [
    (0.001, "&lt;0.01"), (-0.001, "&gt;-0.01"), (0.0, "0.00"), (-0.006, "-0.01"), (2.345, "2.35"), (99.999, "100.00"),
])  # fmt: skip
def test_a_number_that_rounds_to_nothing_keeps_its_side(chapter, value, shown_as):
    assert f">{shown_as}</a>" in chapter.number(row(value))


def test_every_number_shown_has_an_origin_on_the_page(chapter, shown):
    (kept,) = chapter.record([row()])
    chapter.say(chapter.number(kept), chapter.number(lookup("CS-T4")["fabs_bm25", "all/ndcg%20"]))
    chapter.finish()
    links = re.findall(r'href="#(o-[^"]+)"', shown[1])
    assert len(links) == 2 and anchor(kept.id) in links and all(f'id="{link}"' in shown[-1] for link in links)
    assert "46.06" in shown[-1] and all(map(len, map(wellformed, shown)))


@report.styled
def test_figures_carry_alt_text_data_command_and_sidecars(chapter):
    figure, axes = report.subplots(figsize=(3, 2))
    axes.plot([1, 2], ["a", "b"], **report.MARKS["live"])
    frame = pd.DataFrame({"system": ["a", "<b>"], "value": [1.5, 2.0]})
    html = chapter.drawn("one", figure, frame, caption="A caption.", alt='Two systems & "quotes"')
    for part in ('role="img"', "Two systems &amp; &quot;quotes&quot;", "var(--scirep-live, #0969da)", "&lt;b&gt;",
                 "papermill notebooks/csfcube/baselines.ipynb"):  # fmt: skip
        assert part in html
    assert "#131415" not in html  # no drawn colour is left that no page defines
    csv, figures = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1]).decode(), chapter.folder / "figures"
    assert csv == (figures / "one.csv").read_text() == "system,value\na,1.5\n<b>,2\n"
    sidecar = json.loads((figures / "one.json").read_text())
    assert {"parameters", "data_sha256", "code_version", "versions", "seconds_since_start", "alt"} <= set(sidecar)
    assert (figures / "one.svg").is_file() and len(wellformed(html))


def test_figures_are_byte_identical_and_share_no_ids():
    @report.styled
    def draw(name):
        figure, axes = report.subplots(figsize=(3, 2))
        axes.plot([1, 2, 3])
        axes.set_title("a line")
        return report.svg(figure, name, "a line")

    assert draw("x") == draw("x")
    ids = [set(re.findall(r'id="([^"]+)"', draw(name))) for name in ("x", "y")]
    assert ids[0]
    assert not ids[0] & ids[1]
    for reference in re.findall(r"url\(#([^)]+)\)", draw("x")):
        assert reference in ids[0]


def test_drawing_leaves_the_process_as_it_was():
    import matplotlib as mpl

    @report.styled
    def draw():
        figure, axes = report.subplots(figsize=(3, 2))
        assert mpl.rcParams["legend.frameon"] is False
        report.heat(axes, np.array([[1.0, -2.0], [np.nan, 4.0]]), ["a", "b"], ["c", "d"], signed=True)
        return report.svg(figure, "heat", "four cells")

    before = dict(mpl.rcParams)
    drawn = draw()
    assert dict(mpl.rcParams) == before
    assert "var(--pst-font-family-base, sans-serif)" in drawn and "DejaVu" not in drawn
    with pytest.raises(RuntimeError, match=r"@report\.styled"):
        report.subplots()


def test_provenance_names_the_gpu_that_torch_sees_and_none_without_torch(monkeypatch):
    cores = f"{os.cpu_count()} cores"
    for there, ends in ((True, f"{cores}; Imagined H1"), (False, cores)):
        cuda = SimpleNamespace(is_available=lambda there=there: there, get_device_name=lambda: "Imagined H1")
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        assert provenance()["device"].endswith(ends)
    monkeypatch.delitem(sys.modules, "torch")
    assert provenance()["device"].endswith(cores) and "torch" not in sys.modules, "to ask for the device loads nothing"


def test_numbers_of_a_mean_and_of_a_concatenation_have_places_of_their_own():
    assert anchor("live:x:t:a + b:map:test:paper") != anchor("live:x:t:a ++ b:map:test:paper")


def test_a_chapters_runs_are_its_file_and_those_of_its_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "ROOT", tmp_path)
    assert results.recorded("paper/chapter") == []
    files = {"a": "real/paper/chapter", "b": "real/paper/chapter/more", "c": "embedded/paper/chapter",
             "d": "real/paper/other"}  # fmt: skip
    for task, name in files.items():
        path = tmp_path / "results" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        sides = (("test", "map", ""), ("all", "sum", "print"))
        rows = [Result(task, split, metric, "paper", 1.0, 2, source=source) for split, metric, source in sides]
        path.write_text("".join(json.dumps(row.to_json()) + "\n" for row in rows))
    assert [(row.task, row.kind) for row in results.recorded("paper/chapter")] == [("a", "recorded"), ("b", "recorded")]
    assert [row.task for row in results.recorded("paper/chapter", "embedded")] == ["c"]
    assert {row.task for row, _ in results.stored() if row.kind == "recorded"} == {*files}
    (tmp_path / "results" / f"{files['a']}.jsonl").write_text("")
    assert [row.task for row in results.recorded("paper/chapter")] == ["b"]  # what changed is read anew
