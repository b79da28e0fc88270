"""`scirep score SUITE`: one table or one JSON array, coverage before anything is computed, rows kept, failures named."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from small_tasks import save

from scirep_core.bench import scoring, suites
from scirep_core.data import load_task
from scirep_core.kit.errors import DataError

PAPERS = ("--papers", 400)
TASKS = ("scirepeval/same_author", "scirepeval/search", "scirepeval/cite_count")
"""A suite small enough to be asked often: two ranking tasks and a probe."""


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Let `scirepeval` be three tasks; its average is then partial."""
    monkeypatch.setitem(suites.SUITES, "scirepeval", TASKS)


@pytest.fixture(scope="module")
def tables() -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return {
        name: {key: rng.standard_normal(8) for key in dict.fromkeys(load_task(name, papers=400).payload.ids().needed)}
        for name in TASKS
    }


def test_json_is_one_array_with_rows_and_averages_and_without_partial_no_average_is_said(scirep):
    words = ("score", "scirepeval", "--vectors", "random", *PAPERS, "--json")
    code, out, err = scirep(*words, "--partial")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert all({"task", "split", "metric", "protocol", "value", "n"} <= set(row) for row in rows)
    assert {row["task"] for row in rows} == {*TASKS, "scirepeval/average-v2"}
    found = {row["split"]: row for row in rows if row["metric"] == "average"}
    single = {row["task"]: row["value"] for row in rows if row["task"] in TASKS}
    assert found["in-train"]["value"] == pytest.approx(np.mean(list(single.values()))) and found["in-train"]["n"] == 3
    assert "3 of 7 units; without mesh_descriptors, fos, pub_year" in found["in-train"]["note"]
    assert found["PRX"]["value"] == pytest.approx(single["scirepeval/same_author"])
    assert {row["parameters"]["papers"] for row in rows} == {400}
    code, out, err = scirep(*words)
    assert code == 0 and {row["task"] for row in json.loads(out)} == set(TASKS)
    assert "no average of 27 units: 24 missing: mesh_descriptors, fos, pub_year" in err and "--partial" in err
    assert len(err.strip().splitlines()) == 1


def test_the_table_shows_rows_averages_and_where_they_are_kept(scirep, evaluated, own_home):
    words = ("score", "scirepeval", "--vectors", "random", *PAPERS, "--partial", "--seed", 5)
    code, out, _ = scirep(*words)
    assert code == 0
    for row in scoring.score(TASKS, "random", papers=400, seed=5):
        for shown in (row.task, f"{row.value:.2f}", f"{row.low:.1f}–{row.high:.1f}"):
            assert shown in out
    for said in ("protocol paper", "3 of 27 units", "compare with its floor and ceiling"):
        assert said in out
    assert f"3 tasks scored now, 0 kept from before, in {own_home / 'scores'}" in out.replace("\n", "")
    assert "0 tasks scored now, 3 kept from before" in scirep(*words)[1] and sorted(evaluated) == sorted(TASKS)
    for more, count in ((("--again",), 6), (("--data-seed", 1), 9)):
        scirep(*words, *more)
        assert len(evaluated) == count


def test_one_file_may_hold_all_ids_and_missing_ones_are_reported_before_anything_is_computed(
    scirep, tables, tmp_path, evaluated
):
    whole = {key: vector for table in tables.values() for key, vector in table.items()}
    lacking = next(iter(tables[TASKS[2]]))  # the id of a count of citations
    save(tmp_path / "whole.npz", whole)
    save(tmp_path / "mine.npz", {key: vector for key, vector in whole.items() if key != lacking})
    users = [name for name in TASKS if lacking in tables[name]]
    words = ("score", "scirepeval", "--vectors", tmp_path / "mine.npz", *PAPERS)
    code, out, err = scirep(*words)
    assert (code, out, evaluated) == (2, "", [])
    for name in users:
        assert f"  {name}: {len(tables[name]) - 1} of {len(tables[name])}, missing {lacking}" in err
    last = err.strip().splitlines()[-1]
    assert last.startswith(f"scirep: {len(users)} of 3 tasks lack vectors") and "--on-missing drop" in last
    code, out, err = scirep(*words, "--on-missing", "drop", "--partial", "--json")
    covered = {row["task"]: row["coverage"] for row in json.loads(out) if row["metric"] != "average"}
    worst = min(covered.values())
    assert code == 0 and set(covered) == set(TASKS) and covered["scirepeval/cite_count"] < 1
    assert "warning: scirepeval/cite_count, test: " in err
    assert "warning: scirepeval/average-v2: papers are missing, " in err
    (average,) = (row for row in json.loads(out) if (row["metric"], row["split"]) == ("average", "all"))
    assert average["parameters"]["lowest_coverage"] == worst < 1
    assert average["coverage"] == pytest.approx(worst * 3 / 27)
    code, out, _ = scirep(*words, "--partial", "--json")
    assert code == 0
    assert {row["task"] for row in json.loads(out)} == set(TASKS) - set(users) | {"scirepeval/average-v2"}
    code, out, err = scirep("score", "scirepeval", "--vectors", tmp_path / "whole.npz", *PAPERS, "--json", "--partial")
    ids = sum(map(len, tables.values()))
    assert code == 0 and err.strip() == f"vectors: {ids} of {ids} ids of 3 tasks"
    assert {row["encoder"] for row in json.loads(out)} == {"whole"}


def test_an_encoder_by_name_and_one_that_only_ranks(scirep):
    code, out, err = scirep("score", "scirepeval", "--encoder", "bm25", *PAPERS, "--json", "--partial")
    assert code == 0 and {row["task"] for row in json.loads(out)} == {*TASKS[:2], "scirepeval/average-v2"}
    assert "bm25 cannot be scored on 1 of 3 tasks: scirepeval/cite_count" in err
    code, out, err = scirep("score", "scirepeval/cite_count", "--encoder", "tfidf", *PAPERS, "--json")
    assert (code, err) == (0, "")
    (row,) = json.loads(out)
    assert (row["encoder"], row["task"], row["metric"]) == ("tfidf", "scirepeval/cite_count", "kendall_tau")
    code, _, err = scirep("score", "scirepeval/cite_count", "--encoder", "bm25", *PAPERS)
    assert code == 2 and "bm25 cannot be scored on scirepeval/cite_count" in err


def test_what_fails_is_named_at_the_end(scirep, monkeypatch):
    def crash(*args, **more):
        raise ZeroDivisionError("no rows")

    monkeypatch.setitem(scoring.EVALUATORS, "regression", crash)
    words = ("score", "scirepeval", "--vectors", "random", *PAPERS, "--seed", 11)
    code, out, err = scirep(*words, "--json")
    assert code == 2 and {row["task"] for row in json.loads(out)} == set(TASKS[:2])
    assert "1 of 3 tasks failed, the others are scored: scirepeval/cite_count: ZeroDivisionError: no rows" in err
    assert "Traceback" not in err
    code, out, _ = scirep(*words)
    assert code == 2 and "0 tasks scored now, 2 kept from before" in out


def test_a_real_run_stands_beside_the_published_averages():
    from scirep_core.cli.score import _beside

    line = _beside("scirepeval/average-v2", "real")
    assert "V2-T2; In-Train / Out-of-Train / Average" in line and "SciBERT 51.5 / 60.2 / 58.0" in line
    assert "SPECTER2 Adapters 62.4" in line
    assert "SciNCL 55.6 / 57.8 / 90.8 / 69.0" in _beside("scirepeval/average-v1", "real")


def test_the_back_end_without_intercept_is_another_row(scirep):
    words = ("score", "scirepeval/cite_count", "--encoder", "tfidf", *PAPERS, "--json")
    with_, without = (json.loads(scirep(*words, option)[1])[0]["value"] for option in ("--intercept", "--no-intercept"))
    assert with_ != without


def test_scidocs_has_the_average_of_its_own_column(scirep, monkeypatch):
    rows = [
        replace(row, task=unit.task, metric=metric, split=split)
        for unit in suites.units("v1") if unit.part == "scidocs"
        for split, metric in unit.members
        for row in scoring.score(TASKS[:1], "random", papers=400)
    ]  # fmt: skip
    monkeypatch.setattr(scoring, "attempt", lambda *a, **k: scoring.Outcome(rows, {}, (), ()))
    code, out, err = scirep("score", "scidocs", "--vectors", "random", *PAPERS, "--json")
    assert (code, err) == (0, "")
    (average,) = [row for row in json.loads(out) if row["metric"] == "average"]
    assert (average["task"], average["split"], average["n"]) == ("scirepeval/average-v1", "scidocs", 10)


@pytest.fixture
def no_mirror(monkeypatch):
    """Let nothing be at hand, and say so where something is fetched."""
    from scirep_core.data import manifests

    def refuse(name, *args, **more):
        raise DataError(name, None, "fetched")

    monkeypatch.delenv("SCIREP_DATA_MIRROR", raising=False)
    monkeypatch.setattr(manifests, "fetch", refuse)


def test_wrong_ids_are_named_and_nothing_is_fetched_for_them(scirep, no_mirror, tmp_path):
    for words, ids, said in (
        ((TASKS[0], *PAPERS), ["x0", "x1"], ("needs (embedded data) is there", "--source real fetches that data")),
        ((TASKS[0], *PAPERS), [0, 1], ("needs (embedded data) is there", "--source real fetches that data")),
        (("scirepeval", *PAPERS), ["x0", "x1"], ("mine holds none of the", "--source real")),
        (("csfcube/method",), ["x0", "x1"],
         ("is there", "The real data, which they might be of, cannot be read: csfcube: fetched")),
    ):  # fmt: skip
        np.savez(tmp_path / "mine.npz", ids=ids, vectors=np.eye(2))
        code, out, err = scirep("score", *words, "--vectors", tmp_path / "mine.npz")
        assert (code, out) == (2, "") and all(one in err for one in said), err
        assert words[0] == "scirepeval" or f": yours are {ids[0]}, {ids[1]}; needed are " in err
        assert ("fetched" in err) == (words[0] == "csfcube/method") and len(err.strip().splitlines()) == 1
