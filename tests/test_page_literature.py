"""Chapter beyond/literature: rooms between floor and ceiling, and what author disambiguation's floor is."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from scirep_core.data.literature.emit.planted import PLANTED
from scirep_core.page.chapter import Chapter
from scirep_core.page.papers import literature as exhibits
from scirep_core.results import Result

VALUES = {"random": 97.4, "tfidf": 98.0, "minilm": 98.7, "oracle": 100.0}


@pytest.fixture()
def chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chapter:
    made = Chapter(exhibits.CHAPTER, {"papers": 300, "seed": 0, "paper": 1}, tmp_path)
    shown: list[str] = []
    monkeypatch.setattr(Chapter, "show", lambda self, *parts: shown.extend(parts))
    object.__setattr__(made, "seen", shown)
    return made


def text_of(chapter: Chapter) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", " ".join(chapter.seen))))  # type: ignore[attr-defined]


def rows_of(values: dict[str, float], **more: float) -> list[Result]:
    parameters = {"papers": 300, "seed": 0}
    return [
        Result(exhibits.AUTHORS, "test", metric, "paper", more.get(name, value) if suffix else value, 300, encoder=name,
               parameters=parameters)
        for name, value in values.items() for suffix in ("", "_metadata", "_vectors") for metric in ["b3_f1" + suffix]
    ]  # fmt: skip


def test_the_floor_of_author_disambiguation_is_the_pipelines(chapter: Chapter) -> None:
    rows = rows_of(VALUES, random=72.5)
    table = exhibits.rooms(rows)
    assert list(table["task"]) == [exhibits.AUTHORS] and table["random"][0] == 97.4 and bool(table["clear"][0])
    assert table["minilm room"][0] == pytest.approx(0.5)
    exhibits.verdict(chapter, rows)
    said = text_of(chapter)
    assert "random vectors score 97.4 there" in said and "what a vector can add, 2.6 points" in said
    assert "Cut by distance alone, random vectors score 72.5 and the oracle 100.0" in said


def test_a_run_of_vectors_alone_says_so(chapter: Chapter) -> None:
    exhibits.verdict(chapter, [row for row in rows_of(VALUES) if row.metric == "b3_f1"])
    assert "of the vectors alone in this run" in text_of(chapter) and "inside its pipeline" not in text_of(chapter)


def test_a_part_that_some_draws_leave_out_is_no_error(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 300 papers a part of S2AND has no block to score under one seed, and one under the next."""

    def scored(task: object, vectors: object, *given: str, name: str, split: str, seed: int) -> list[Result]:
        parts = ["test", "test/zbmath"] if seed % 2 else ["test"]
        return [Result(exhibits.AUTHORS, part, "b3_f1", "paper", 90.0 + seed, 300, encoder=name) for part in parts]

    monkeypatch.setattr(exhibits, "evaluate", scored)
    for module, stub in (
        (exhibits.inputs, "prepare"),
        (exhibits.inputs, "vectors_of"),
        (exhibits.reference, "tfidf_vectors"),
    ):
        monkeypatch.setattr(module, stub, lambda *given, **how: {})
    rows = exhibits.measure(chapter, 300, 0, [exhibits.AUTHORS])
    assert [(row.encoder, row.split, row.value) for row in rows] == [
        ("random", "test", 92.0), ("tfidf", "test", 90.0), ("minilm", "test", 90.0), ("oracle", "test", 90.0)
    ]  # fmt: skip


def test_no_room_is_said_and_never_a_share_of_it(chapter: Chapter) -> None:
    rows = [replace(row, value=97.0) if row.encoder == "oracle" else row for row in rows_of(VALUES)]
    assert not exhibits.rooms(rows)["clear"].any()
    exhibits.verdict(chapter, rows)
    assert "there is no room" in text_of(chapter) and "nan" not in text_of(chapter)


def test_what_is_exact_says_on_which_metric() -> None:
    assert exhibits._errs(exhibits.AUTHORS).startswith("no: the oracle reaches 100, or nearly, on b3_f1_vectors")
    assert exhibits._errs("scirepeval/same_author") == "no: the oracle reaches 100"
    assert exhibits._errs("scirepeval/relish") == PLANTED["scirepeval/relish"].errs
