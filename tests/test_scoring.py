"""Scoring vectors: mapping, arrays and files; coverage; every kind of bad vectors; `scirep score` on task folders of every type."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scripts import alone
from small_tasks import all_tasks, vectors

import scirep_core
from scirep_core.bench import given, scoring
from scirep_core.data.folder import write_folder
from scirep_core.data.task import Judged, Qrel, Task
from scirep_core.kit.errors import ConfigError, DataError, NumericError

GOOD = {"1": [0.0, 0.0], "2": [0.1, 0.0], "3": [0.2, 0.0], "4": [3.0, 0.0]}


def test_public_names_cost_nothing_to_import_and_a_wrong_one_is_said():
    assert alone("import sys, scirep_core; print('numpy' in sys.modules)").strip() == "False"
    with pytest.raises(AttributeError, match="no attribute 'evalaute'"):
        _ = scirep_core.evalaute


ARRAYS = {key: np.array(vector) for key, vector in GOOD.items()}


def test_three_lines_score_vectors_whatever_holds_them(tiny, tiny_folder):
    rows = scirep_core.evaluate(tiny, ARRAYS)
    # background: 1 against 2 (rated 3), 3 (1), 4 (0): the distances order them ideally
    assert {(r.task, r.metric): r for r in rows}["csfcube/background", "ndcg%100"].value == pytest.approx(100)
    assert all(r.coverage == 1 for r in rows)
    assert {r.task for r in rows} == {f"csfcube/{facet}" for facet in ("background", "method", "result", "all")}
    method = scirep_core.load_task("csfcube/method", source=str(tiny_folder))
    assert {r.task for r in scirep_core.evaluate(method, ARRAYS)} == {"csfcube/method"}
    pair = scirep_core.evaluate(tiny, (list(GOOD), np.array(list(GOOD.values()))))
    mixed = scirep_core.evaluate(tiny, dict(reversed(ARRAYS.items())))
    assert [(r.value, r.fingerprint) for r in pair] == [(r.value, r.fingerprint) for r in mixed]
    plain, own = (
        scirep_core.evaluate(tiny, ARRAYS | more, tasks=["method"], metrics=["mrr"])[0].value
        for more in ({}, {"1_method": np.array([0.2, 0.0])})
    )
    assert own > plain  # a query may have its own vector


def test_missing_vectors_are_an_error_or_dropped_and_counted(tiny):
    some = {key: vector for key, vector in ARRAYS.items() if key != "4"}
    (whole,) = {
        (r.pool, r.coverage) for r in scirep_core.evaluate(tiny, some, on_missing="drop") if r.task == "csfcube/all"
    }
    assert whole == ("8 of 12 rated candidates, 0 of 4 queries dropped", pytest.approx(8 / 12))
    judged = Judged((Qrel("q", "a", 1), *(Qrel("q", f"c{i}", 0) for i in range(6))))
    other = Task("t", "proximity", "PRX", ("map",), judged, "folder", "")
    for task, given_, how, error, said in (
        (tiny, some, {}, DataError, r"1 papers have no vector, e\.g\. 4 of query 1_background"),
        (tiny, {"1": np.zeros(2)}, {"on_missing": "drop"}, DataError, "no query of background has a vector"),
        (tiny, some, {"protocol": "sound", "on_missing": "drop"}, ConfigError, "full coverage"),
        (tiny, some, {"on_missing": "skip"}, ConfigError, "error or drop"),
        (other, {"c5": np.ones(2)}, {}, DataError, r"7 of the 8 ids of t have no vector: q, a, c0 and 4 more\. Encode"),
    ):
        with pytest.raises(error, match=said):
            scirep_core.evaluate(task, given_, **how)


@pytest.mark.parametrize(("vectors", "error", "message"), [
    (GOOD | {"2": [np.nan, 0.0]}, NumericError, "vector of 2 holds NaN"),
    # squares beyond single precision made a retrieval perfect, and kept a linear SVM busy for ever
    (GOOD | {"2": [1e25, 0.0]}, NumericError, r"vector of 2 holds a number beyond 1e\+15; scale the vectors"),
    (GOOD | {"2": [1.0]}, DataError, r"vector of 2 has shape \(1,\)"),
    ({}, DataError, "no vectors"),
    ((["1", "1"], np.zeros((2, 2))), DataError, "id 1 is there twice"),
    ((["1"], np.zeros((2, 2))), DataError, "1 ids for an array of shape"),
    ({"1": ["a", "b"]}, DataError, "holds <U1, not real numbers"),
])  # fmt: skip
def test_bad_vectors_are_named(tiny, vectors, error, message):
    with pytest.raises(error, match=message):
        scirep_core.evaluate(tiny, vectors)


def test_npz_parquet_and_jsonl_give_the_same_vectors(tmp_path):
    ids, array = np.array(list(GOOD)), np.array(list(GOOD.values()))
    np.savez(tmp_path / "a.npz", ids=ids, vectors=array)
    np.savez(tmp_path / "b.npz", ids=ids, emb=array)
    pd.DataFrame({"paper_id": ids, "embedding": list(array)}).to_parquet(tmp_path / "c.parquet")
    lines = [json.dumps({"doc_id": k, "embedding": v}) for k, v in GOOD.items()]
    (tmp_path / "d.jsonl").write_text("\n".join(lines) + "\n")
    for name in ("a.npz", "b.npz", "c.parquet", "d.jsonl"):
        read = given.read_vectors(tmp_path / name)
        assert list(read) == list(GOOD)
        assert np.array_equal(np.stack(list(read.values())), array), name


def test_bad_files_name_file_and_line(tmp_path):
    bad = tmp_path / "x.jsonl"
    first = json.dumps({"paper_id": "1", "embedding": [1, 2]})
    for second, message in (
        ('{"paper_id": "2", "embedding": [1]}', "x.jsonl:2: embedding of 2 has 1 numbers"),
        ('{"paper_id": "2", "embedding": "none"}', "x.jsonl:2: field 'embedding' must be list"),
        ('{"id": "2"}', "x.jsonl:2: field 'paper_id' is missing"),
    ):
        bad.write_text(f"{first}\n{second}\n")
        with pytest.raises(DataError, match=message):
            given.read_vectors(bad)
    ids, array = np.array(list(GOOD)), np.array(list(GOOD.values()))
    (tmp_path / "v.csv").touch()
    for name, arrays, message in (
        ("z.npz", {"wrong": array}, "arrays are wrong"), ("v.csv", {}, r"unknown kind '\.csv'"), ("no.npz", {}, "file not found"),
        ("o.npz", {"ids": ids.astype(object), "vectors": array},
         r"`ids` holds Python objects, which are not loaded\. Save ids\.astype\(str\)"),
        ("v.npz", {"ids": ids, "vectors": array.astype(object)},
         r"`vectors` holds Python objects.* Save vectors\.astype\(float\)"),
        *((f"d{odd.ndim}.npz", {"ids": ids, "vectors": odd}, r"Give a 2-d array, a row of numbers per id, not [13]-d")
          for odd in (array[:, None], array[:, 0])),
    ):  # fmt: skip
        if arrays:
            np.savez(tmp_path / name, **arrays)
        with pytest.raises(DataError, match=message):
            given.read_vectors(tmp_path / name)


def test_vectors_that_say_nothing_are_noted(tiny):
    def notes(vectors):
        return {row.note for row in scirep_core.evaluate(tiny, {k: np.array(v, float) for k, v in vectors.items()})}

    assert all("all 4 vectors are equal" in note for note in notes({k: [1.0, 2.0] for k in GOOD}))
    assert all("all 4 vectors are equal" in note for note in notes({k: [0.0, 0.0] for k in GOOD}))
    assert all("1 of 4 vectors are zero" in note for note in notes(GOOD))
    assert not any("vectors are" in note for note in notes(GOOD | {"1": [0.0, 1e-30]}))
    task = Task("t", "proximity", "PRX", ("map",), Judged((Qrel("1", "2", 1), Qrel("1", "3", 0))), "folder", "")
    some = {str(i): np.array([float(i > 9), 0.0]) for i in range(1, 30)}
    assert "9 of 29 vectors are zero" in scirep_core.evaluate(task, some)[0].note
    some = {str(i): np.array([float(i > 1), i]) for i in range(30)}  # one of thirty is few
    assert "vectors are" not in scirep_core.evaluate(task, some)[0].note


TASKS = all_tasks()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("tasks")
    for name, task in TASKS.items():
        write_folder(task, root / name)
    np.savez(root / "mine.npz", ids=list(vectors()), vectors=np.stack(list(vectors().values())))
    return root


@pytest.mark.parametrize("name", TASKS)
def test_every_type_is_scored_from_its_folder(scirep, place, name):
    code, out, err = scirep("score", place / name, "--vectors", place / "mine.npz", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert all({"task", "split", "metric", "protocol", "value", "n"} <= set(row) for row in rows)
    assert {(row["task"], row["source"]) for row in rows} == {(TASKS[name].name, "folder")}
    direct = scoring.evaluate(TASKS[name], vectors())
    assert {(r["split"], r["metric"]): r["value"] for r in rows} == {(r.split, r.metric): r.value for r in direct}
    assert {row["encoder"] for row in rows} == {"mine"}
    code, out, _ = scirep("score", place / name, "--vectors", place / "mine.npz")
    assert "mine on folder data, protocol paper" in out and f"{TASKS[name].name} (n={direct[0].n})" in out
    for row in direct:  # and the table has every split
        assert code == 0 and row.split in out and row.metric in out and f"{row.value:.2f}" in out


def test_options_reach_the_evaluator(scirep, place):
    words = ("--vectors", place / "mine.npz", "--json", "--seed", 3)
    code, out, _ = scirep("score", place / "proximity", *words, "--protocol", "sound", "--similarity", "cosine",
                          "--metrics", "ndcg@2, p@1")  # fmt: skip
    assert code == 0
    rows = json.loads(out)
    assert {(r["metric"], r["protocol"], r["similarity"], r["seed"]) for r in rows} == {
        ("ndcg@2", "sound", "cosine", 3), ("p@1", "sound", "cosine", 3),
    }  # fmt: skip
    _, out, _ = scirep("score", place / "groups", *words, "--split", "test/biology")
    assert {r["split"] for r in json.loads(out)} == {"test/biology"}
    _, out, _ = scirep("score", place / "alternative_self", *words, "--split", "task-II")
    assert {r["split"] for r in json.loads(out)} == {"task-II"}


def test_dropped_rows_are_reported(scirep, place, tmp_path):
    some = {key: value for key, value in vectors().items() if key not in ("p2", "p7")}
    np.savez(tmp_path / "some.npz", ids=list(some), vectors=np.stack(list(some.values())))
    words = ("score", place / "classification", "--vectors", tmp_path / "some.npz")
    code, _, err = scirep(*words)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "2 of the 12 ids of small/classification have no vector: p2, p7" in err
    code, out, err = scirep(*words, "--on-missing", "drop", "--json")
    assert code == 0 and "5 of 6 test rows, 10 of 12 training rows (83.3 %)" in err
    assert json.loads(out)[0]["coverage"] == pytest.approx(15 / 18)


@pytest.mark.parametrize(("name", "words", "message"), [
    ("label_ranking", ("--vectors", "F/mine.npz", "--metrics", "f1_macro"), "paper p1 has 2 labels"),
    ("proximity", ("--rankings", "F"), "score small/proximity with --vectors"),
    ("csfcube", ("--rankings", "F", "--similarity", "dot"), "--similarity goes with vectors"),
    ("csfcube", ("--rankings", "F", "--on-missing", "drop"), "--on-missing goes with vectors"),
    ("mine.npz", ("--vectors", "random"), "mine.npz: this is a file. Give the folder that holds a task.json"),
    ("nosuchdir", ("--vectors", "random"), "unknown suite or task 'nosuchdir', and no folder of that name"),
    *((name, ("--vectors", "random"), f"{name}: no such folder")
      for name in ("nosuchdir/", "./nosuchdir", "/no/such/dir", "~/nosuchdir")),
])  # fmt: skip
def test_bad_requests_are_one_line(scirep, place, name, words, message):
    there = place / name if (place / name).exists() and not name.startswith("/") else name
    code, out, err = scirep("score", there, *(word.replace("F", str(place)) for word in words))
    assert (code, out) == (2, "") and message in err
    assert len(err.strip().splitlines()) == 1
