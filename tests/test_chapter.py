"""What a chapter shows: origins, figures with data and alt text, sentences read off numbers; never a number without a row."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

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
    parts: list[str] = []
    monkeypatch.setattr(Chapter, "show", lambda self, *html: parts.append("\n".join(html)))
    return parts


@pytest.fixture
def chapter(shown, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIREP_CHAPTER_DIR", str(tmp_path / "chapter"))
    return start("csfcube/baselines", data="embedded", encoders="fabs_bm25", seed=0)


def row(value=12.345, **changes):
    return Result(**{"task": "csfcube/all", "split": "test", "metric": "ndcg%20", "protocol": "paper", "value": value,
                     "n": 50, "encoder": "fabs_bm25", "low": 10.0, "high": 15.0} | changes)  # fmt: skip


class Wellformed(HTMLParser):
    """Fails on a closing tag that closes nothing."""

    VOID = frozenset({"br", "img", "input", "hr", "meta", "col", "use", "path", "rect", "image"})

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open
            assert self.open.pop() == tag


def test_start_refuses_wrong_parameters_inside_the_kernel(shown):
    with pytest.raises(ConfigError, match="ndcg_percent = 0"):
        start("csfcube/baselines", ndcg_percent=0)
    with pytest.raises(ConfigError, match=r"unknown parameter 'sed'.*did you mean 'seed'"):
        start("csfcube/baselines", sed=0)
    with pytest.raises(ConfigError, match="no such folder"):
        start("csfcube/baselines", data="reel")


def test_embedded_runs_say_that_they_are_a_simulation(chapter, shown):
    assert "generative model" in shown[0]
    assert "papermill notebooks/csfcube/baselines.ipynb out.ipynb -p data embedded" in shown[0]
    start("csfcube/baselines", data="real")
    assert "generative model" not in shown[1]
    start("beyond/slips", False, seed=1)
    assert "generative model" not in shown[2] and "Parameters of this run" in shown[2]


def test_recorded_rows_carry_chapter_and_parameters_and_come_back(chapter):
    (kept,) = chapter.record([row()])
    assert kept.chapter == "csfcube/baselines"
    assert kept.id == "live:csfcube/baselines:csfcube/all:fabs_bm25:ndcg%20:test:paper"
    assert read_results(chapter.folder / "rows.jsonl") == [kept]
    for bad in ({"value": float("nan")}, {"value": float("inf")}, {"low": float("nan")}, {"high": float("-inf")}):
        with pytest.raises(NumericError, match=r"ndcg%20:test:paper: .* is not finite"):
            chapter.record([row(), row(**bad)])
    assert read_results(chapter.folder / "rows.jsonl") == [kept]


def test_a_number_is_stored_once_and_another_value_beside_it(chapter):
    kept = [*chapter.record([row(), row()]), *chapter.record([row(), row(1.0)])]
    assert [one.value for one in kept] == [12.345, 12.345, 12.345, 1.0]
    assert read_results(chapter.folder / "rows.jsonl") == [kept[0], kept[3]]


@pytest.mark.parametrize(
    ("value", "shown_as"),
    [(0.001, "&lt;0.01"), (-0.001, "&gt;-0.01"), (0.0, "0.00"), (-0.006, "-0.01"), (2.345, "2.35"), (99.999, "100.00")],
)
def test_a_number_that_rounds_to_nothing_keeps_its_side(chapter, value, shown_as):
    assert f">{shown_as}</a>" in chapter.number(row(value))


def test_every_number_shown_has_an_origin_on_the_page(chapter, shown):
    (kept,) = chapter.record([row()])
    printed = lookup("CS-T4")["fabs_bm25", "all/ndcg%20"]
    chapter.say(chapter.number(kept), chapter.number(printed))
    chapter.finish()
    links = re.findall(r'href="#(o-[^"]+)"', shown[1])
    assert len(links) == 2
    for link in links:
        assert f'id="{link}"' in shown[-1]
    assert anchor(kept.id) in links
    assert "46.06" in shown[-1]
    for part in shown:
        Wellformed(part)


@report.styled
def test_figures_carry_alt_text_data_command_and_sidecars(chapter, shown):
    figure, axes = report.subplots(figsize=(3, 2))
    axes.plot([1, 2], ["a", "b"], **report.MARKS["live"])
    frame = pd.DataFrame({"system": ["a", "<b>"], "value": [1.5, 2.0]})
    chapter.show(chapter.drawn("one", figure, frame, caption="A caption.", alt='Two systems & "quotes"'))
    html = shown[-1]
    assert 'role="img"' in html
    assert "Two systems &amp; &quot;quotes&quot;" in html
    assert "var(--scirep-live, #0969da)" in html
    assert "#131415" not in html  # no drawn colour is left that no page defines
    assert "papermill notebooks/csfcube/baselines.ipynb" in html
    assert "&lt;b&gt;" in html
    csv = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1]).decode()
    assert csv == (chapter.folder / "figures" / "one.csv").read_text() == "system,value\na,1.5\n<b>,2\n"
    sidecar = json.loads((chapter.folder / "figures" / "one.json").read_text())
    assert {"parameters", "data_sha256", "code_version", "versions", "seconds_since_start", "alt"} <= set(sidecar)
    assert (chapter.folder / "figures" / "one.svg").is_file()
    Wellformed(html)


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
    cuda = SimpleNamespace(is_available=lambda: True, get_device_name=lambda: "Imagined H1")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert provenance()["device"].endswith(f"{os.cpu_count()} cores; Imagined H1")
    cuda.is_available = lambda: False
    assert provenance()["device"].endswith(f"{os.cpu_count()} cores")
    monkeypatch.delitem(sys.modules, "torch")
    assert provenance()["device"].endswith(f"{os.cpu_count()} cores")
    assert "torch" not in sys.modules, "to ask for the device loads nothing"


def test_a_bad_result_row_names_file_and_line(tmp_path):
    from scirep_core.kit.errors import DataError

    path = tmp_path / "rows.jsonl"
    path.write_text('{"task": "t", "valeu": 1}\n')
    with pytest.raises(DataError, match=r"rows.jsonl:1: unknown field 'valeu'.*did you mean 'value'"):
        read_results(path)
    path.write_text('{"task": "t"}\n')
    with pytest.raises(DataError, match=r"rows.jsonl:1: not a result row"):
        read_results(path)


def test_numbers_of_a_mean_and_of_a_concatenation_have_places_of_their_own():
    assert anchor("live:x:t:a + b:map:test:paper") != anchor("live:x:t:a ++ b:map:test:paper")


def test_a_chapters_runs_are_its_file_and_those_of_its_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "ROOT", tmp_path)
    assert results.recorded("paper/chapter") == []
    files = {
        "real/paper/chapter": "a",
        "real/paper/chapter/more": "b",
        "embedded/paper/chapter": "c",
        "real/paper/other": "d",
    }
    for name, task in files.items():
        path = tmp_path / "results" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            Result(task, "test", "map", "paper", 1.0, 2),
            Result(task, "all", "sum", "paper", 1.0, 2, source="print"),
        ]
        path.write_text("".join(json.dumps(row.to_json()) + "\n" for row in rows))
    assert [(row.task, row.kind) for row in results.recorded("paper/chapter")] == [("a", "recorded"), ("b", "recorded")]
    assert [row.task for row in results.recorded("paper/chapter", "embedded")] == ["c"]
    assert {row.task for row, _ in results.stored() if row.kind == "recorded"} == {"a", "b", "c", "d"}
