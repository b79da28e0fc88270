"""Chapter scirepeval/author_disambiguation: rows, differences, sentences that follow signs, the example block."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_s2and_pipeline import NOISE, TASK, TRUTH

from scirep_core.exhibits import scirepeval_authors as exhibits
from scirep_core.kit.errors import ConfigError
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result

VECTORS = {"random": NOISE, "truth": TRUTH}


@pytest.fixture()
def chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chapter:
    made = Chapter(exhibits.CHAPTER, {"data": "embedded", "papers": 300, "seed": 0}, tmp_path)
    shown: list[str] = []
    monkeypatch.setattr(Chapter, "show", lambda self, *parts: shown.extend(parts))
    object.__setattr__(made, "seen", shown)
    return made


def text_of(chapter: Chapter) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", " ".join(chapter.seen))))  # type: ignore[attr-defined]


def test_gains_are_differences_of_the_rows_beside_them(chapter: Chapter) -> None:
    rows = exhibits.measure(chapter, TASK, VECTORS, "sound", 0)
    by = exhibits.by_key(rows)
    for name in VECTORS:
        gain = by[name, exhibits.GAIN]
        assert gain.value == pytest.approx(by[name, "b3_f1"].value - by[name, "b3_f1_metadata"].value)
        assert gain.low <= gain.value <= gain.high
        alone = by[name, exhibits.ALONE]
        assert alone.value == pytest.approx(by[name, "b3_f1_vectors"].value - by[name, "b3_f1_metadata"].value)
    assert by["truth", exhibits.GAIN].low > 0  # the truth adds
    assert by["random", exhibits.ALONE].high < 0 < by["truth", exhibits.ALONE].low
    exhibits.verdict(chapter, rows, "sound")
    exhibits.results(chapter, rows, "sound")
    said = text_of(chapter)
    assert re.search(r"Vectors of truth add to metadata \( \+\d[^)]*\); alone they lie above metadata alone", said)
    assert re.search(r"random [^;]*; alone they lie below metadata alone", said)
    assert "Vectors of random add to" not in said
    assert said.count("floor: metadata alone") == 1 and re.search(r"live: \d+ mentions in \d+ blocks scored", said)


def test_sentences_turn_with_the_interval(chapter: Chapter) -> None:
    rows = exhibits.measure(chapter, TASK, {"truth": TRUTH}, "sound", 0)
    turned = [replace(r, value=-r.value, low=-r.high, high=-r.low) if r.metric == exhibits.GAIN else r for r in rows]
    exhibits.verdict(chapter, turned, "sound")
    assert "Vectors of truth take from metadata ( -" in text_of(chapter)


def gap(name: str, metric: str, value: float, low: float, high: float) -> Result:
    return Result(exhibits.NAME, "test", metric, "sound", value, 93, name, low, high, source="embedded",
                  pool="93 mentions in 9 blocks scored")  # fmt: skip


def test_values_that_intervals_do_not_tell_apart_are_neither_above_nor_below(
    chapter: Chapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {("tfidf", exhibits.GAIN): gap("tfidf", exhibits.GAIN, 0.9, 0.014, 1.85)}
    monkeypatch.setattr(exhibits, "kept_of", lambda protocol: kept)
    live = [gap("tfidf", exhibits.GAIN, 0.5, -0.2, 1.1), gap("tfidf", exhibits.ALONE, -0.5, -2.0, 1.3)]
    exhibits.verdict(chapter, live, "sound")
    said = text_of(chapter)
    assert (
        "Recorded, 93 mentions in 9 blocks scored: Vectors of tfidf add to metadata ( +0.90 , +0.01 to +1.85)" in said
    )
    assert "Recorded: paired differences of vectors alone to metadata alone are not among the rows" in said
    assert "Vectors of tfidf make no clear difference to metadata ( +0.50 , -0.20 to +1.10)" in said
    assert "alone they lie not told apart from metadata alone ( -0.50 , -2.00 to +1.30)" in said


def test_what_the_task_can_tell_is_read_off_the_gains(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhibits, "kept_of", lambda protocol: {})
    blind, seen = gap("a", exhibits.GAIN, 0.5, -0.2, 1.1), gap("b", exhibits.GAIN, 0.5, 0.2, 1.1)
    for rows in ([blind], [seen], [blind, seen, replace(blind, encoder="random")]):
        exhibits.tells(chapter, rows, "sound")
    said = text_of(chapter)
    assert "it holds for every encoder (a)." in said and "it holds for no encoder (b)." in said
    assert "in this run: it holds for a, not for b." in said and "random" not in said and "recorded" not in said


def test_importance_finds_the_vector_that_knows(chapter: Chapter) -> None:
    rows = {r.metric: r.value for r in exhibits.importance(chapter, TASK, {"truth": TRUTH}, "sound", 0)}
    assert len(rows) == 30 and max(rows, key=rows.__getitem__) == "importance of specter_cosine_sim"
    assert rows["importance of email_prefix_equal"] == 0  # nobody has an e-mail


def test_the_example_shows_a_test_block_and_counts_its_errors(chapter: Chapter) -> None:
    exhibits.example(chapter, TASK, {"random": NOISE, "truth": TRUTH, "oracle": NOISE}, "sound", 0)
    exhibits.sizes(chapter, TASK)
    said = text_of(chapter)
    assert re.search(r"Of its \d+ pairs, \d+ are judged wrongly by metadata alone and 0 with vectors of truth", said)
    assert "set0" in said and "S2AND, folder data" in said


def test_pairs_judged_apart_by_hand() -> None:
    assert exhibits._apart([1, 1, 2], [5, 5, 7]) == 0
    assert exhibits._apart([1, 1, 2], [1, 2, 2]) == 2
    assert exhibits._apart(np.array([1]), np.array([2])) == 0


def test_the_odd_sizes_in_print_are_named(chapter: Chapter) -> None:
    exhibits.in_print(chapter)
    assert text_of(chapter).count("most likely swapped") == 1
    said = re.sub(r"\s+", " ", text_of(chapter))
    assert "V1-T1 and V2-T1 print 68,968 clusters of 10,942 author-paper pairs." in said


def test_too_few_blocks_are_refused_in_one_line(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(TASK, payload=replace(TASK.payload, rows=TASK.payload.rows[:3]))
    monkeypatch.setattr(Chapter, "task", lambda self, name: few)
    with pytest.raises(ConfigError, match="no collection of S2AND has 10 blocks here"):
        exhibits.task_of(chapter)
    monkeypatch.setattr(Chapter, "task", lambda self, name: TASK)
    assert exhibits.task_of(chapter) is TASK
