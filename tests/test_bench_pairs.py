"""Systems held against each other: paired differences of main scores, draws without spread, the recorded run on real samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scirep_core.bench.pairs import by_place, differences, main_rows, plain
from scirep_core.bench.suites import main_metric
from scirep_core.data import load_task
from scirep_core.page.widgets.scores import run_of
from scirep_core.results import Result, recorded

SYSTEMS = ("random", "tfidf", "minilm")


def chain(task: str, *values: float, spread: float = 1.0, metric: str = "") -> list[Result]:
    """Return scores whose bootstrap values are the task's own noise, common to all systems, and a little of the system's."""
    common, rows = np.random.default_rng(sum(map(ord, task))).normal(0, 5 * spread, 1000), []
    for seed, (system, value) in enumerate(zip(SYSTEMS, values, strict=True)):
        drawn = value + common + np.random.default_rng(seed).normal(0, spread, 1000)
        low, high = map(float, np.quantile(drawn, (0.025, 0.975)))
        rows.append(Result(task, "test", metric or main_metric(task), "paper", value, 40, system, low, high, source="real",
                           data_hash=task, seed=0, replicates=drawn.astype(np.float32)))  # fmt: skip
    return rows


def by_metric(rows: Iterable[Result]) -> dict[tuple[str, str], Result]:
    return {(row.encoder, row.metric): row for row in rows}


def test_differences_are_paired_signed_and_of_the_main_metric() -> None:
    rows = chain("sample/fos", 5.0, 40.0, 50.0)
    found = by_metric(differences([*rows, replace(rows[0], metric="accuracy"), replace(rows[1], split="64-shot")]))
    points, p = (found["minilm - tfidf", f"{of}difference of f1_macro"] for of in ("", "p of the "))
    assert len(found) == 3 * 2 and ("tfidf - minilm", points.metric) not in found, "kept in one direction"
    assert points.value == pytest.approx(10) and points.against == "tfidf" and p.value == pytest.approx(2 / 1001)
    drawn = rows[2].replicates.astype(float) - rows[1].replicates  # type: ignore[union-attr, operator]
    assert (points.low, points.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))))
    two = [replace(rows[0], task="mine", metric=metric) for metric in ("p@5", "map")]
    assert [row.metric for row in main_rows(two)] == ["p@5"], "a task of one's own is looked at by its first metric"
    assert list(differences([replace(row, replicates=None) for row in rows])) == []


def test_one_block_drawn_again_and_again_has_neither_interval_nor_p() -> None:
    rows = chain("sample/s2and", 80.0, 71.43, 71.43, spread=0.0)
    found = by_metric(differences(rows))
    assert {metric for _, metric in found} == {"difference of b3_f1"}
    assert all(row.low is row.high is None for row in found.values())
    assert [plain(replace(rows[0], low=low, high=9.0)).low for low in (9.0, 8.9)] == [None, 8.9]


def test_the_explorer_holds_every_difference_under_its_scores_metric() -> None:
    rows = [*chain("sample/fos", 5.0, 40.0, 50.0), *chain("sample/search", 60.0, 60.1, 70.0)]
    run = run_of("live", "", "", [*rows, *differences(rows)])
    assert len(run.scores) == len(run.gaps) == 6
    (gap,) = [g for g in run.gaps if (*g.systems, g.task) == ("minilm", "tfidf", "sample/fos")]
    assert gap.measure == "f1_macro" and gap.value == pytest.approx(10)


def test_the_recorded_run_covers_every_sample_with_intervals_under_both_protocols() -> None:
    found: Any = by_place(recorded("scirepeval/your_encoder"))
    tasks = ("fos", "mesh_descriptors", "drsm", "same_author", "search", "cite_prediction", "peer_review_score", "pub_year",
             "cite_count")  # fmt: skip
    for protocol in ("paper", "sound"):
        of = {task: systems for (task, _, _, by), systems in found.items() if by == protocol}
        for task in tasks:
            for row in (of[f"sample/{task}"][system] for system in SYSTEMS):
                assert row.low <= row.value <= row.high and row.source == "real" and row.coverage == 1, row.id


def test_the_recorded_run_is_of_the_samples_at_hand(real: object) -> None:
    hashes = {row.task: row.data_hash for row in recorded("scirepeval/your_encoder")}
    for name in ("sample/fos", "sample/search"):
        assert hashes[name] == load_task(name).data_hash  # type: ignore[union-attr]
