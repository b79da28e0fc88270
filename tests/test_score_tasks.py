"""`scirep score` on task folders of every type: rows, table, options, one-line errors."""

from __future__ import annotations

import json

import numpy as np
import pytest
from small_tasks import all_tasks, vectors

import scirep_core
from scirep_core import cli
from scirep_core.bench import scoring
from scirep_core.data.folder import write_folder

TASKS = all_tasks()


def scirep(capsys, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        cli.main(list(map(str, words)))
    captured = capsys.readouterr()
    return int(left.value.code or 0), captured.out, captured.err


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One folder per small task, and vectors for all of them."""
    root = tmp_path_factory.mktemp("tasks")
    for name, task in TASKS.items():
        write_folder(task, root / name)
    np.savez(root / "mine.npz", ids=list(vectors()), vectors=np.stack(list(vectors().values())))
    return root


@pytest.mark.parametrize("name", TASKS)
def test_every_type_is_scored_from_its_folder(capsys, place, name):
    code, out, err = scirep(capsys, "score", place / name, "--vectors", place / "mine.npz", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert all({"task", "split", "metric", "protocol", "value", "n"} <= set(row) for row in rows)
    assert {row["task"] for row in rows} == {TASKS[name].name}
    direct = scoring.evaluate(TASKS[name], vectors())
    assert {(r["split"], r["metric"]): r["value"] for r in rows} == {(r.split, r.metric): r.value for r in direct}
    assert {row["encoder"] for row in rows} == {"mine"}


@pytest.mark.parametrize("name", ["classification", "groups", "alternative_self", "label_ranking"])
def test_the_table_prints_every_split(capsys, place, name):
    code, out, _ = scirep(capsys, "score", place / name, "--vectors", place / "mine.npz")
    assert code == 0
    for row in scoring.evaluate(TASKS[name], vectors()):
        assert row.split in out
        assert row.metric in out
        assert f"{row.value:.2f}" in out


def test_options_reach_the_evaluator(capsys, place):
    words = ("--vectors", place / "mine.npz", "--json", "--seed", 3)
    code, out, _ = scirep(capsys, "score", place / "proximity", *words, "--protocol", "sound", "--similarity", "cosine",
                          "--metrics", "ndcg@2, p@1")  # fmt: skip
    assert code == 0
    rows = json.loads(out)
    assert {(r["metric"], r["protocol"], r["similarity"], r["seed"]) for r in rows} == {
        ("ndcg@2", "sound", "cosine", 3), ("p@1", "sound", "cosine", 3),
    }  # fmt: skip
    _, out, _ = scirep(capsys, "score", place / "groups", *words, "--split", "test/biology")
    assert {r["split"] for r in json.loads(out)} == {"test/biology"}
    _, out, _ = scirep(capsys, "score", place / "alternative_self", *words, "--split", "task-II")
    assert {r["split"] for r in json.loads(out)} == {"task-II"}


def test_dropped_rows_are_reported(capsys, place, tmp_path):
    some = {key: value for key, value in vectors().items() if key not in ("p2", "p7")}
    np.savez(tmp_path / "some.npz", ids=list(some), vectors=np.stack(list(some.values())))
    words = ("score", place / "classification", "--vectors", tmp_path / "some.npz")
    code, _, err = scirep(capsys, *words)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "2 of the 12 ids of small/classification have no vector: p2, p7" in err
    code, out, err = scirep(capsys, *words, "--on-missing", "drop", "--json")
    assert code == 0
    assert "5 of 6 test rows, 10 of 12 training rows (83.3 %)" in err
    assert json.loads(out)[0]["coverage"] == pytest.approx(15 / 18)


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("proximity", ("--vectors", "F/mine.npz", "--metrics", "f1"), "has no metric 'f1'"),
        ("proximity", ("--vectors", "F/mine.npz", "--metrics", "ndcg@x"), "unknown metric 'ndcg@x'"),
        ("classification", ("--vectors", "F/mine.npz", "--split", "63-shot"), "has no split '63-shot'"),
        ("classification", ("--vectors", "F/mine.npz", "--protocol", "sund"), "did you mean 'sound'"),
        ("label_ranking", ("--vectors", "F/mine.npz", "--metrics", "f1_macro"), "paper p1 has 2 labels"),
        ("retrieval", ("--vectors", "oracle"), "has no oracle"),
        ("proximity", ("--rankings", "F"), "score small/proximity with --vectors"),
        ("csfcube", ("--rankings", "F", "--similarity", "dot"), "--similarity goes with vectors"),
        ("csfcube", ("--rankings", "F", "--on-missing", "drop"), "--on-missing goes with vectors"),
        ("mine.npz", ("--vectors", "random"), "mine.npz: this is a file. Give the folder that holds a task.json"),
        ("nosuchdir", ("--vectors", "random"), "unknown suite or task 'nosuchdir', and no folder of that name"),
        *((name, ("--vectors", "random"), f"{name}: no such folder")
          for name in ("nosuchdir/", "./nosuchdir", "/no/such/dir", "~/nosuchdir")),
    ],
)  # fmt: skip
def test_bad_requests_are_one_line(capsys, place, name, words, message):
    there = place / name if (place / name).exists() and not name.startswith("/") else name
    code, out, err = scirep(capsys, "score", there, *(word.replace("F", str(place)) for word in words))
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_damaged_folder_is_one_line(capsys, place, tmp_path):
    write_folder(TASKS["proximity"], tmp_path / "bad")
    (tmp_path / "bad" / "qrels.jsonl").write_text('{"query_id": "p0"}\n')
    code, _, err = scirep(capsys, "score", tmp_path / "bad", "--vectors", "random")
    assert code == 2
    assert "qrels.jsonl:1: field 'cand_id' is missing" in err


def test_three_lines_of_python_score_a_folder(place):
    task = scirep_core.load_task(place / "proximity")
    rows = scirep_core.evaluate(task, vectors())
    assert [row.metric for row in rows] == ["map", "ndcg", "mrr"]
    assert {row.source for row in rows} == {"folder"}


def test_vectors_come_in_any_order_precision_and_container(place):
    ids, array = list(vectors()), np.stack(list(vectors().values()))
    plain = scirep_core.evaluate(TASKS["retrieval"], (ids, array))
    turned = scirep_core.evaluate(TASKS["retrieval"], (ids[::-1], array[::-1]))
    assert [row.value for row in plain] == [row.value for row in turned]
    assert {row.fingerprint for row in plain} == {row.fingerprint for row in turned}
    assert scirep_core.evaluate(TASKS["retrieval"], (ids, 2 * array))[0].fingerprint != plain[0].fingerprint


def test_ids_that_are_not_the_tasks_are_named(capsys, place, tmp_path):
    for name, ids in (("numbers", [0, 1, 2, 3]), ("wrong", ["x0", "x1", "x2"])):
        np.savez(tmp_path / f"{name}.npz", ids=ids, vectors=np.eye(len(ids)))
        code, out, err = scirep(capsys, "score", place / "classification", "--vectors", tmp_path / f"{name}.npz")
        assert (code, out) == (2, "")
        assert f"{name}: none of the 12 ids that small/classification needs (folder data) is there" in err
        assert f"yours are {', '.join(map(str, ids[:3]))}" in err
        assert "needed are p0, p1, p2, ..." in err
        assert len(err.strip().splitlines()) == 1


def test_mentions_may_have_vectors_of_their_own(capsys, place, tmp_path):
    ids = [row.signature_id for row in TASKS["author_disambiguation"].payload.rows]
    table = np.random.default_rng(0).standard_normal((len(ids), 4))
    np.savez(tmp_path / "mentions.npz", ids=ids, vectors=table)
    words = ("score", place / "author_disambiguation", "--vectors", tmp_path / "mentions.npz", "--json")
    code, out, err = scirep(capsys, *words)
    assert (code, err) == (0, "")
    direct = scoring.evaluate(TASKS["author_disambiguation"], dict(zip(ids, table, strict=True)))
    assert [row["value"] for row in json.loads(out)] == [row.value for row in direct]
