"""Task folders: every type written and read back the same; every kind of damage named by file and line."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from small_files import contents, jsonl, refused
from small_tasks import IDS, all_tasks

from scirep_core.data import folder
from scirep_core.data.folder import folder_hash, read_folder, write_folder
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import TASK_TYPES, Task, Triples
from scirep_core.data.task_json import METRICS

TASKS = all_tasks()


def test_the_small_tasks_cover_every_type():
    assert {task.type for task in TASKS.values()} == set(TASK_TYPES) == set(folder.READERS) == set(METRICS)


@pytest.mark.parametrize("name", TASKS)
def test_what_is_written_is_read_back(tmp_path, name):
    task = TASKS[name]
    write_folder(task, tmp_path / "a")
    read = read_folder(tmp_path / "a")
    assert isinstance(read, Task)
    for part in fields(Task):
        if part.name in ("texts", "data_hash", "payload", "source"):
            continue
        assert getattr(read, part.name) == getattr(task, part.name), part.name
    if isinstance(task.payload, Triples):
        assert isinstance(read.payload, Triples)
        assert read.payload.splits == task.payload.splits
        assert list(read.payload.rows("train")) == list(task.payload.rows("train"))
    else:
        assert read.payload == task.payload
        assert repr(read.payload) == repr(task.payload)  # the order of dictionaries too
    wanted = {key: paper for key, paper in task.papers.items() if key in ("p0", "p1", "p2") or name != "label_ranking"}
    assert read.papers == wanted
    assert read.source == "folder"
    write_folder(read, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert read_folder(tmp_path / "b").data_hash == read.data_hash


def test_the_oracle_travels_along(tmp_path):
    np.savez(tmp_path / "truth.npz", ids=np.array(IDS), vectors=np.eye(len(IDS)))
    write_folder(replace(TASKS["proximity"], oracle=tmp_path / "truth.npz"), tmp_path / "a")
    assert read_folder(tmp_path / "a").oracle == tmp_path / "a" / "oracle.npz"


def test_a_folder_may_do_without_texts_and_without_what_has_a_default(tmp_path):
    (tmp_path / "task.json").write_text('{"name": "mine", "version": 1, "type": "label_ranking"}')
    (tmp_path / "papers.jsonl").write_text('{"paper_id": 7, "labels": ["a"]}\n')
    (tmp_path / "labels.jsonl").write_text('{"label_id": "a", "name": "A"}\n{"label_id": "b", "name": "B"}\n')
    task = read_folder(tmp_path)
    assert (task.similarity, task.format, task.metrics) == ("dot", "CLF", METRICS["label_ranking"])
    assert task.payload.gold == {"7": ("a",)}
    assert task.papers == {}


def test_facets_are_read_as_the_collection_they_are(tiny_folder):
    row = {"name": "mine", "version": 2, "type": "facets", "metrics": ["map"]}
    (tiny_folder / "task.json").write_text(json.dumps(row))
    collection = read_folder(tiny_folder)
    assert isinstance(collection, FacetCollection)
    assert (collection.metrics, collection.version, collection.similarity) == (("map",), 2, "l2")


DAMAGE = [
    ("classification", "train.jsonl", 2, '{"paper_id": "p1"', "train.jsonl:2: not a JSON object"),
    ("classification", "train.jsonl", 2, b'{"paper_id": "\xff", "label": 0}', "train.jsonl:2: not UTF-8"),
    ("classification", "train.jsonl", 2, '{"paper_id": "p1"}', "train.jsonl:2: field 'label' is missing"),
    ("classification", "train.jsonl", 2, '{"label": 1}', "train.jsonl:2: field 'paper_id' is missing"),
    ("classification", "test.jsonl", 1, '{"paper_id": "p1", "label": "a"}', "test.jsonl:1: field 'label' must be int"),
    ("classification", "test.jsonl", 1, '{"paper_id": "p1", "label": 1.5}', "test.jsonl:1: field 'label' must be int"),
    ("classification", "test.jsonl", 1, '{"paper_id": "", "label": 1}', "test.jsonl:1: field 'paper_id' is empty"),
    ("classification", "train.jsonl", 2, '{"paper_id": "p0", "label": 1}', "train.jsonl:2: paper_id p0 is there twice"),
    ("classification", "test.jsonl", 0, "", "test.jsonl: no rows"),
    ("classification", "test.jsonl", None, "", "test.jsonl: file not found"),
    ("classification", "papers.jsonl", 3, '{"paper_id": "p2"}', "papers.jsonl:3: field 'title' is missing"),
    ("classification", "papers.jsonl", 3, '{"paper_id": "p0", "title": ""}', "papers.jsonl:3: paper_id p0 is there twice"),
    ("multi_label", "train.jsonl", 2, '{"paper_id": "p1", "label": [0, 2, 1]}', "train.jsonl:2: paper p1: a multi-hot"),
    ("multi_label", "train.jsonl", 2, '{"paper_id": "p1", "label": [0, true, 1]}', "train.jsonl:2: paper p1: a multi-hot"),
    ("multi_label", "train.jsonl", 2, '{"paper_id": "p1", "label": [0, 1]}', "train.jsonl:2: paper p1: 2 labels where 3"),
    ("regression", "train.jsonl", 2, '{"paper_id": "p1", "label": NaN}', "train.jsonl:2: NaN"),
    ("proximity", "qrels.jsonl", 2, '{"query_id": "p0", "cand_id": "p2", "score": -1}', "qrels.jsonl:2: p0, p2: grade -1"),
    ("proximity", "qrels.jsonl", 2, '{"query_id": "p0", "cand_id": "p2", "score": 0.5}', "qrels.jsonl:2: field 'score' must"),
    ("retrieval", "queries.jsonl", 1, '{"query_id": "p0", "relevant": {"x": 1}}', "queries.jsonl:1: query p0: relevant paper x"),
    ("retrieval", "queries.jsonl", 1, '{"query_id": "p0", "relevant": {"p1": -1}}', "queries.jsonl:1: query p0, paper p1: grade"),
    ("retrieval", "queries.jsonl", 2, '{"query_id": "p0", "relevant": {}}', "queries.jsonl:2: query_id p0 is there twice"),
    ("retrieval", "pool.jsonl", 2, '{"paper_id": "p0"}', "pool.jsonl:2: paper_id p0 is there twice"),
    ("search", "queries.jsonl", 2, '{"query_id": "q2", "relevant": {}}', "queries.jsonl:2: field 'query' is missing"),
    ("label_ranking", "papers.jsonl", 1, '{"paper_id": "p0", "labels": ["L9"]}', "papers.jsonl:1: paper p0: label 'L9'"),
    ("label_ranking", "matched.jsonl", 1, '{"paper_id": "p0", "candidates": ["L9"]}', "matched.jsonl:1: paper p0: label 'L9'"),
    ("label_ranking", "matched.jsonl", 1, '{"paper_id": "x", "candidates": []}', "matched.jsonl:1: paper x is not in"),
    ("label_ranking", "papers.jsonl", 1, '{"paper_id": "L1", "labels": ["L1"]}', "papers.jsonl:1: L1 is a paper and a label"),
    ("label_ranking", "papers.jsonl", 1, '{"paper_id": "p0", "labels": "L1"}', "papers.jsonl:1: field 'labels' must be list"),
    ("reviewer_matching", "reviewers.jsonl", 1, '{"r_id": "r1", "papers": []}', "reviewers.jsonl:1: reviewer r1 has no"),
    ("reviewer_matching", "qrels_soft.jsonl", 1, '{"query_id": "p0", "cand_id": "r7", "score": 1}', "reviewer r7 is not in"),
    ("author_disambiguation", "signatures.jsonl", 2, '{"signature_id": "s1"}', "signatures.jsonl:2: field 'paper_id' is"),
    ("alternative_self", "papers.jsonl", 2, '{"paper_id": "p0"}', "papers.jsonl:2: paper_id p0 is there twice"),
    ("triplets", "train.jsonl", 2, '{"query": "p0"}', "train.jsonl:2: field 'positive' is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "line", "text", "message"), DAMAGE)
def test_damage_is_named_by_file_and_line(tmp_path, name, file, line, text, message):
    write_folder(TASKS[name], tmp_path)
    path: Path = tmp_path / file
    if line is None:
        path.unlink()
    elif line == 0:
        path.write_text("")
    else:
        lines = path.read_bytes().split(b"\n")
        lines[line - 1] = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(b"\n".join(lines))
    refused(lambda: read_folder(tmp_path), message)


def test_a_bare_query_has_the_id_of_a_paper_only_where_its_own_paper_is_dropped(tmp_path):
    write_folder(TASKS["search"], tmp_path)  # without keep_self
    jsonl(tmp_path / "pool.jsonl", [{"paper_id": key} for key in ("p0", "p1", "p2", "q2")])
    assert "q2" in read_folder(tmp_path).payload.pool
    row = json.loads((tmp_path / "task.json").read_text())
    (tmp_path / "task.json").write_text(json.dumps(row | {"keep_self": True}))
    refused(lambda: read_folder(tmp_path), "queries.jsonl:2: q2 is a query and a paper of the pool")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrcs": ["map"]}, "unknown key 'metrcs'. did you mean 'metrics'?"),
        ({"type": "proximty"}, "did you mean 'proximity'"),
        ({"type": ...}, "field 'type' is missing"),
        ({"version": "1"}, "field 'version' must be int"),
        ({"similarity": "cosin"}, "did you mean 'cosine'"),
        ({"multi_label": 1}, "field 'multi_label' must be bool"),
        ({"few_shot": [{"sample_size": 3}]}, "few_shot holds"),
        ({"few_shot": [{"sample_size": 3, "iterations": 0}]}, "few_shot holds"),
        ({"metrics": [1]}, "metrics must be names"),
        ({"metrics": "map"}, "field 'metrics' must be list"),
        ({"metrics": ["f1", "f1"]}, "metrics are ['f1', 'f1']. Name each once"),
    ],
)
def test_a_wrong_task_json_is_named(tmp_path, change, message):
    write_folder(TASKS["classification"], tmp_path)
    path = tmp_path / "task.json"
    row = json.loads(path.read_text()) | change
    path.write_text(json.dumps({key: value for key, value in row.items() if value is not ...}))
    refused(lambda: read_folder(tmp_path), f"{path}: ", message)


def test_an_unfinished_folder_does_not_pass_for_a_whole_one(tmp_path):
    write_folder(TASKS["proximity"], tmp_path / "a")
    (tmp_path / "a" / "task.json").unlink()
    refused(lambda: read_folder(tmp_path / "a"), "file not found")
    refused(lambda: read_folder(tmp_path / "c"), "no such folder")


@pytest.mark.parametrize("name", sorted(all_tasks()))
def test_the_card_names_every_file_once_and_its_rows(tmp_path, name):
    task = all_tasks()[name]
    write_folder(task, tmp_path / "t")
    text = (tmp_path / "t" / "README.md").read_text()
    head = yaml.safe_load(text.split("---\n")[1])
    files = {one["path"] for config in head["configs"] for one in config["data_files"]}
    assert files == {path.name for path in (tmp_path / "t").glob("*.jsonl")}
    assert sum(len(config["data_files"]) for config in head["configs"]) == len(files)
    assert [config.get("default", False) for config in head["configs"]] == [True, *[False] * (len(head["configs"]) - 1)]
    assert len({config["config_name"] for config in head["configs"]}) == len(head["configs"])
    for file in files:
        rows = len((tmp_path / "t" / file).read_text().splitlines())
        assert f"| {file} | {rows:,} |" in text
    if name == "classification":
        splits = {one["split"]: one["path"] for one in head["configs"][0]["data_files"]}
        assert splits["train"] == "train.jsonl" and splits["test"] == "test.jsonl"
    if name == "proximity":
        assert head["configs"][0] == {
            "config_name": "qrels", "data_files": [{"split": "test", "path": "qrels.jsonl"}], "default": True}  # fmt: skip


def test_a_card_is_renewed_a_text_of_ones_own_stays_and_neither_changes_the_hash(tmp_path):
    task = all_tasks()["proximity"]
    write_folder(task, tmp_path)
    first, hashed = (tmp_path / "README.md").read_text(), folder_hash(tmp_path)
    write_folder(replace(task, notes="Read again."), tmp_path)
    assert "Read again." in (tmp_path / "README.md").read_text() and "Read again." not in first
    (tmp_path / "README.md").write_text("# Mine\n")
    write_folder(task, tmp_path)
    assert (tmp_path / "README.md").read_text() == "# Mine\n" and folder_hash(tmp_path) == hashed
