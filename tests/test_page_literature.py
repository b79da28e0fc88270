"""Chapter beyond/literature: which comparisons are of both kinds of papers, on which side they lie, and how its floor is drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import small_studies as small
from blank_page import Shown

from scirep_core.data.literature.emit.planted import PLANTED
from scirep_core.page.papers import literature
from scirep_core.results import Result

TASK, SAMPLE = "scirepeval/same_author", "sample/same_author"
AUTHORS = "scirepeval/s2and"


def gap(
    task: str, source: str, low: float, high: float, protocol: str = "paper", systems: str = "minilm - tfidf"
) -> Result:
    return Result(task, "test", "difference of map", protocol, (low + high) / 2, 40, encoder=systems, source=source, low=low,
                  high=high, against=systems.rpartition(" ")[2])  # fmt: skip


@pytest.mark.parametrize(
    ("real", "invented", "side"),
    [((1, 3), (2, 9), 1), ((-3, -1), (-9, -2), 1), ((1, 3), (-9, -2), -1), ((-1, 3), (2, 9), 0), ((1, 3), (-2, 9), 0)],
)  # fmt: skip
def test_a_comparison_lies_on_the_side_of_its_intervals(real, invented, side):
    (one,) = literature.comparisons([gap(SAMPLE, "real", *real), gap(TASK, "embedded", *invented)])
    assert (one.question, one.side) == (TASK, side)
    assert (one.real.source, one.invented.source) == ("real", "embedded")


def test_what_is_of_one_kind_of_papers_or_without_width_is_no_comparison():
    real, invented = gap(SAMPLE, "real", 1, 3), gap(TASK, "embedded", 2, 9)
    assert literature.comparisons([real]) == literature.comparisons([invented]) == []
    assert literature.comparisons([replace(real, low=2.0, high=2.0), invented]) == []
    assert literature.comparisons([gap(SAMPLE, "real", 1, 3, systems="bm25 - tfidf"), invented]) == []
    assert literature.comparisons([replace(real, encoder="minilm", against=""), invented]) == []


def test_the_papers_own_protocol_is_taken_where_there_are_two():
    rows = [gap(task, source, low, low + 1, protocol) for task, source in ((SAMPLE, "real"), (TASK, "embedded"))
            for protocol, low in (("sound", 1.0), ("paper", 5.0))]  # fmt: skip
    (one,) = literature.comparisons(rows)
    assert (one.real.protocol, one.invented.protocol, one.real.low) == ("paper", "paper", 5.0)


def test_trainings_are_compared_where_both_papers_have_them():
    centres = {"Base": 47.0, "MTL CLS": 50.0, "MTL CTRL": 53.0, "PALs": 46.0}
    invented = small.made("main", small.scattered(centres), variants=tuple(centres))
    real = small.made("main", small.scattered(centres | {"PALs": 55.0}), variants=("MTL CLS", "MTL CTRL", "PALs"))
    found = {(one.real.encoder, one.question): one.side for one in literature.trained(real, invented, "MTL CLS")}
    assert {line for line, _ in found} == {"MTL CTRL", "PALs"}
    assert found["MTL CTRL", "all"] == 1 and found["PALs", "all"] == -1
    assert literature.trained(real, [], "MTL CLS") == []


def test_a_part_that_some_draws_leave_out_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 300 papers a part of S2AND has no block to score under one seed, and one under the next."""

    def scored(task: object, vectors: object, *given: str, name: str, split: str, seed: int) -> list[Result]:
        parts = ["test", "test/zbmath"] if seed % 2 else ["test"]
        return [Result(AUTHORS, part, "b3_f1", "paper", 90.0 + seed, 300, encoder=name) for part in parts]

    monkeypatch.setattr(literature, "evaluate", scored)
    monkeypatch.setattr(literature.inputs, "prepare", lambda *given, **how: {})
    chapter = Shown(literature.CHAPTER, {"papers": 300, "seed": 0, "paper": 1}, tmp_path)
    rows = literature.measure(chapter, 300, 0, [AUTHORS])
    assert [(row.encoder, row.split, row.value) for row in rows] == [
        ("random", "test", 92.0), ("tfidf", "test", 90.0), ("minilm", "test", 90.0), ("oracle", "test", 90.0)
    ]  # fmt: skip


def test_what_is_exact_says_on_which_metric() -> None:
    assert literature._errs(AUTHORS).startswith("no: the oracle reaches 100, or nearly, on b3_f1_vectors")
    assert literature._errs(TASK) == "no: the oracle reaches 100"
    assert literature._errs("scirepeval/relish") == PLANTED["scirepeval/relish"].errs
