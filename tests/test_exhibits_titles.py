"""Papers without an abstract: scores of titles alone, and the share of titles in training (`scirepeval/baselines`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from blank_page import Shown

from scirep_core.bench import scoring
from scirep_core.data import TASKS
from scirep_core.data.task import Judged, Qrel, Task, Triple, Triples
from scirep_core.evaluators.reference import tfidf_vectors
from scirep_core.exhibits import scirepeval_titles as titles
from scirep_core.exhibits.counting import Gathered
from scirep_core.kit.records import Paper
from scirep_core.results import Result

GIVEN = {"data": "embedded", "papers": 300, "encoders": "tfidf,bm25", "protocol": "paper", "seed": 0, "quick": True}


@pytest.fixture
def chapter(tmp_path: Path) -> Shown:
    """A chapter that collects what it shows in `chapter.page`."""
    return Shown("scirepeval/baselines", GIVEN, tmp_path)


def text_of(chapter: Shown) -> str:
    return re.sub(r"<[^>]+>", "", "\n".join(chapter.page))


def stored(chapter: Shown) -> dict[str, float]:
    lines = (chapter.folder / "rows.jsonl").read_text().splitlines()
    return {row["metric"]: row["value"] for row in map(json.loads, lines)}


# ---- papers without an abstract -------------------------------------------------------------------------------------

WORDS = ["asteroids", "basalt", "cedars", "dunes", "estuaries", "ferns", "glaciers", "herons", "ibises", "junipers"]


def library() -> Iterator[Paper]:
    """Titles say one thing, abstracts another: papers 2k and 2k + 1 share an abstract, 2k + 1 and 2k + 2 a title."""
    for i in range(20):
        yield Paper(str(i), f"On {WORDS[(i + 1) // 2 % 10]}", f"We met {WORDS[i // 2]}.", venue="Notes")


ALIKE = Task(
    "scirepeval/same_author", "proximity", "PRX", ("map",),
    Judged(tuple(Qrel(str(2 * k), str((2 * k + j) % 20), int(j == 1)) for k in range(10) for j in (1, 3, 19))),
    "folder", "", texts=library,
)  # fmt: skip


def test_bare_tasks_read_titles_and_keep_what_else_is_read():
    search = TASKS["scirepeval/search"]
    fields = ("title", "abstract", "venue", "year")
    assert titles.bare(replace(ALIKE, fields=fields)).fields == ("title", "venue", "year")
    assert titles.bare(ALIKE).fields == ("title",)
    assert {TASKS[f"scirepeval/{name}"].format for name in titles.SETS} == {"CLF", "RGN", "PRX", "QRY"} and search


def test_scores_without_abstracts_are_those_of_papers_that_have_none(chapter):
    rows = {(r.encoder, r.metric): r for r in titles.measure(chapter, Gathered({ALIKE.name: ALIKE}, {}))}
    cut = replace(ALIKE, texts=lambda: (paper._replace(abstract="") for paper in library()))
    for text, task in ((titles.WITH, ALIKE), (titles.WITHOUT, cut)):
        (expected,) = [r for r in scoring.evaluate(task, tfidf_vectors(task)) if r.metric == "map"]
        assert rows[f"tfidf{text}", "map"].value == pytest.approx(expected.value)
    with_, without = (rows[f"tfidf{part}", "map"].value for part in (titles.WITH, titles.WITHOUT))
    gap = rows[f"tfidf{titles.LESS}", "difference of map"]
    assert with_ > without + 20 and gap.value == pytest.approx(without - with_) and gap.high < 0
    assert rows["", titles.HAVE].value == 100


def test_what_the_lack_of_abstracts_does_is_said_by_its_interval(chapter, monkeypatch):
    monkeypatch.setattr(titles, "kinds", lambda name, rows: [("live", rows)])
    rows = chapter.record(titles.measure(chapter, Gathered({ALIKE.name: ALIKE}, {})))
    titles.show(chapter, rows)
    assert "Live: without abstracts 2 of 2 scores are lower, 0 higher, and 0 are not told" in text_of(chapter)
    assert "PRX, map, n = 10; 100 % have an abstract" in text_of(chapter)
    turned = [replace(r, low=-1.0, high=1.0) if r.encoder == f"bm25{titles.LESS}" else r for r in rows]
    titles.show(chapter, turned)
    assert "1 of 2 scores are lower, 0 higher, and 1 are not told" in text_of(chapter)


def test_only_small_real_samples_are_scored():
    formats = {
        "sample/same_author": "PRX",
        "sample/cite_count": "RGN",
        "sample/fos": "CLF",
        "scirepeval/cite_count": "RGN",
    }
    tasks = {name: replace(ALIKE, name=name, format=form) for name, form in formats.items()}
    assert [task.name for task in titles.chosen(Gathered(tasks, {}))] == ["scirepeval/cite_count", "sample/same_author"]


def test_the_share_of_titles_is_counted_among_papers_with_both_texts(chapter):
    papers = [Paper(str(i), f"t{i}", "a" if i < 4000 else "") for i in range(5000)]
    task = Task("scirepeval/cite_prediction", "triplets", "PRX", (), Triples(lambda split: iter((Triple("1", "2", "3"),))),
                "folder", "", texts=lambda: papers)  # fmt: skip
    for part in (0.05, 0.5):
        found = titles.share(task, 0, part)
        assert found.n == 4000 and found.low < 100 * part < found.high and found.low < found.value < found.high
    assert titles.share(task, 0, 0.0).value == 0 and titles.share(task, 0, 1.0).value == 100
    assert titles.share(replace(task, texts=lambda: papers[4000:]), 0, 0.05) is None  # nothing to lose


def test_the_printed_share_is_the_default_of_our_trainings(chapter, monkeypatch):
    monkeypatch.setattr(titles, "gather", lambda chapter, names: Gathered({}, {}))
    titles.show_share(chapter)
    assert "Trainings of this book do the same (5 percent unless asked otherwise" in text_of(chapter)
    monkeypatch.setattr(titles, "DataConfig", lambda: type("D", (), {"titles_only": 0.2}))
    titles.show_share(chapter)
    assert "Trainings of this book do otherwise (20 percent" in text_of(chapter)


def test_recorded_rows_are_of_real_samples():
    from scirep_core.results import recorded

    rows = [row for row in recorded("scirepeval/baselines") if titles.WITHOUT in row.encoder]
    assert rows and {row.source for row in rows} == {"real"} and all(isinstance(row, Result) for row in rows)
    assert len({row.id for row in rows}) == len(rows)
