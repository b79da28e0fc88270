"""Task folders: written and read back the same; damage named by file and line; a task that is not what it says is found out."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from small_files import contents, jsonl, refused
from small_tasks import IDS, all_tasks

from scirep_core.data import task as t
from scirep_core.data.folder import folder_hash, read_folder, write_folder
from scirep_core.data.task import TASK_TYPES, Task, Triples
from scirep_core.data.task_json import TYPES
from scirep_core.data.validate import counts, near_duplicates, validate
from scirep_core.kit.errors import UnknownName
from scirep_core.kit.records import Paper

TASKS = all_tasks()


def test_the_small_tasks_cover_every_type():
    assert {task.type for task in TASKS.values()} == set(TASK_TYPES) == set(TYPES)


@pytest.mark.parametrize("name", TASKS)
def test_what_is_written_is_read_back_and_the_card_names_every_file_once_and_its_rows(tmp_path, name):
    task = TASKS[name]
    write_folder(task, tmp_path / "a")
    read = read_folder(tmp_path / "a")
    same = {part.name for part in fields(Task)} - {"texts", "data_hash", "payload", "source"}
    assert {part: getattr(read, part) for part in same} == {part: getattr(task, part) for part in same}
    if isinstance(task.payload, Triples):
        assert read.payload.splits == task.payload.splits
        assert list(read.payload.rows("train")) == list(task.payload.rows("train"))
        refused(lambda: read.payload.rows("trian"), "unknown split 'trian'; did you mean 'train'", error=UnknownName)
    else:
        assert read.payload == task.payload
        assert repr(read.payload) == repr(task.payload)  # the order of dictionaries too
    wanted = {key: paper for key, paper in task.papers.items() if key in ("p0", "p1", "p2") or name != "label_ranking"}
    assert read.papers == wanted
    assert read.source == "folder"
    write_folder(read, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert read_folder(tmp_path / "b").data_hash == read.data_hash
    text = (tmp_path / "a" / "README.md").read_text()
    configs = yaml.safe_load(text.split("---\n")[1])["configs"]
    files = [one["path"] for config in configs for one in config["data_files"]]
    assert sorted(files) == sorted(path.name for path in (tmp_path / "a").glob("*.jsonl"))
    assert [config.get("default", False) for config in configs] == [True, *[False] * (len(configs) - 1)]
    assert len({config["config_name"] for config in configs}) == len(configs)
    for file in files:
        assert f"| {file} | {len((tmp_path / 'a' / file).read_text().splitlines()):,} |" in text
    if name == "classification":
        splits = {one["split"]: one["path"] for one in configs[0]["data_files"]}
        assert splits["train"] == "train.jsonl" and splits["test"] == "test.jsonl"
    if name == "proximity":
        files = [{"split": "test", "path": "qrels.jsonl"}]
        assert configs[0] == {"config_name": "qrels", "data_files": files, "default": True}


def test_the_oracle_travels_along(tmp_path):
    np.savez(tmp_path / "truth.npz", ids=np.array(IDS), vectors=np.eye(len(IDS)))
    write_folder(replace(TASKS["proximity"], oracle=tmp_path / "truth.npz"), tmp_path / "a")
    assert read_folder(tmp_path / "a").oracle == tmp_path / "a" / "oracle.npz"


def test_a_folder_may_do_without_texts_and_without_what_has_a_default(tmp_path):
    (tmp_path / "task.json").write_text('{"name": "mine", "version": 1, "type": "label_ranking"}')
    jsonl(tmp_path / "papers.jsonl", [{"paper_id": 7, "labels": ["a"]}])
    jsonl(tmp_path / "labels.jsonl", [{"label_id": "a", "name": "A"}, {"label_id": "b", "name": "B"}])
    task = read_folder(tmp_path)
    assert (task.similarity, task.format, task.metrics) == ("dot", "CLF", TYPES["label_ranking"].metrics)
    assert (task.payload.gold, task.papers) == ({"7": ("a",)}, {})


DAMAGE = [  # what no line of JSON may be is tested of all lines, in test_read_scirepeval.py
    ("classification", "train.jsonl", 2, '{"paper_id": "p1"}', "train.jsonl:2: field 'label' is missing"),
    ("classification", "test.jsonl", 1, '{"paper_id": "p1", "label": 1.5}', "test.jsonl:1: field 'label' must be int"),
    ("classification", "test.jsonl", 1, '{"paper_id": "", "label": 1}', "test.jsonl:1: field 'paper_id' is empty"),
    ("classification", "train.jsonl", 2, '{"paper_id": "p0", "label": 1}', "train.jsonl:2: paper_id 'p0' is listed twice"),
    ("classification", "test.jsonl", 0, "", "test.jsonl: no rows"),
    ("classification", "test.jsonl", None, "", "test.jsonl: file not found"),
    ("classification", "papers.jsonl", 3, '{"paper_id": "p2"}', "papers.jsonl:3: field 'title' is missing"),
    ("classification", "papers.jsonl", 3, '{"paper_id": "p0", "title": ""}', "papers.jsonl:3: paper_id 'p0' is listed twice"),
    ("multi_label", "train.jsonl", 2, '{"paper_id": "p1", "label": [0, 2, 1]}', "train.jsonl:2: paper p1: a multi-hot"),
    ("multi_label", "train.jsonl", 2, '{"paper_id": "p1", "label": [0, true, 1]}', "train.jsonl:2: paper p1: a multi-hot"),
    ("multi_label", "train.jsonl", 2, '{"paper_id": "p1", "label": [0, 1]}', "train.jsonl:2: paper p1: 2 labels where 3"),
    ("proximity", "qrels.jsonl", 2, '{"query_id": "p0", "cand_id": "p2", "score": -1}', "qrels.jsonl:2: p0, p2: grade -1"),
    ("proximity", "qrels.jsonl", 2, '{"query_id": "p0", "cand_id": "p2", "score": 0.5}', "qrels.jsonl:2: field 'score' must"),
    ("retrieval", "queries.jsonl", 1, '{"query_id": "p0", "relevant": {"x": 1}}', "queries.jsonl:1: query p0: relevant paper x"),
    ("retrieval", "queries.jsonl", 1, '{"query_id": "p0", "relevant": {"p1": -1}}', "queries.jsonl:1: query p0, paper p1: grade"),
    ("retrieval", "queries.jsonl", 2, '{"query_id": "p0", "relevant": {}}', "queries.jsonl:2: query_id 'p0' is listed twice"),
    ("retrieval", "pool.jsonl", 2, '{"paper_id": "p0"}', "pool.jsonl:2: paper_id 'p0' is listed twice"),
    ("search", "queries.jsonl", 2, '{"query_id": "q2", "relevant": {}}', "queries.jsonl:2: field 'query' is missing"),
    ("label_ranking", "papers.jsonl", 1, '{"paper_id": "p0", "labels": ["L9"]}', "papers.jsonl:1: paper p0: label 'L9'"),
    ("label_ranking", "matched.jsonl", 1, '{"paper_id": "p0", "candidates": ["L9"]}', "matched.jsonl:1: paper p0: label 'L9'"),
    ("label_ranking", "matched.jsonl", 1, '{"paper_id": "x", "candidates": []}', "matched.jsonl:1: paper x is not in"),
    ("label_ranking", "papers.jsonl", 1, '{"paper_id": "L1", "labels": ["L1"]}', "papers.jsonl:1: L1 is a paper and a label"),
    ("label_ranking", "papers.jsonl", 1, '{"paper_id": "p0", "labels": "L1"}', "papers.jsonl:1: field 'labels' must be list"),
    ("reviewer_matching", "reviewers.jsonl", 1, '{"r_id": "r1", "papers": []}', "reviewers.jsonl:1: reviewer r1 has no"),
    ("reviewer_matching", "qrels_soft.jsonl", 1, '{"query_id": "p0", "cand_id": "r7", "score": 1}', "reviewer r7 is not in"),
    ("author_disambiguation", "signatures.jsonl", 2, '{"signature_id": "s1"}', "signatures.jsonl:2: field 'paper_id' is"),
    ("alternative_self", "papers.jsonl", 2, '{"paper_id": "p0"}', "papers.jsonl:2: paper_id 'p0' is listed twice"),
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
        lines = path.read_text().split("\n")
        path.write_text("\n".join([*lines[: line - 1], text, *lines[line:]]))
    refused(lambda: read_folder(tmp_path), message)


def test_a_bare_query_has_the_id_of_a_paper_only_where_its_own_paper_is_dropped(tmp_path):
    write_folder(TASKS["search"], tmp_path)  # without keep_self
    jsonl(tmp_path / "pool.jsonl", [{"paper_id": key} for key in ("p0", "p1", "p2", "q2")])
    assert "q2" in read_folder(tmp_path).payload.pool
    row = json.loads((tmp_path / "task.json").read_text())
    (tmp_path / "task.json").write_text(json.dumps(row | {"keep_self": True}))
    refused(lambda: read_folder(tmp_path), "queries.jsonl:2: q2 is a query and a paper of the pool")


@pytest.mark.parametrize(("change", "message"), [
    ({"metrcs": ["map"]}, "unknown key 'metrcs'. did you mean 'metrics'?"), ({"type": "proximty"}, "did you mean 'proximity'"),
    ({"type": ...}, "field 'type' is missing"), ({"version": "1"}, "field 'version' must be int"),
    ({"similarity": "cosin"}, "did you mean 'cosine'"), ({"multi_label": 1}, "field 'multi_label' must be bool"),
    ({"few_shot": [{"sample_size": 3}]}, "few_shot holds"),
    ({"few_shot": [{"sample_size": 3, "iterations": 0}]}, "few_shot holds"),
    ({"metrics": [1]}, "metrics must be names"), ({"metrics": "map"}, "field 'metrics' must be list"),
    ({"metrics": ["f1", "f1"]}, "metrics are ['f1', 'f1']. Name each once"),
    ({"fields": ["title", "yaer"]}, "unknown field 'yaer'. did you mean 'year'"), ({"fields": []}, "Name each of title"),
    ({"fields": "title"}, "fields"), ({"fields": ["title", "title"]}, "Name each of title"), ({"fields": [1]}, "unknown field 1"),
])  # fmt: skip
def test_a_wrong_task_json_is_named(tmp_path, change, message):
    write_folder(TASKS["classification"], tmp_path)
    path = tmp_path / "task.json"
    row = json.loads(path.read_text()) | change
    path.write_text(json.dumps({key: value for key, value in row.items() if value is not ...}))
    refused(lambda: read_folder(tmp_path), f"{path}: ", message)
    path.unlink()  # an unfinished folder does not pass for a whole one
    refused(lambda: read_folder(tmp_path), "file not found")
    refused(lambda: read_folder(tmp_path / "c"), "no such folder")


def test_a_card_is_renewed_a_text_of_ones_own_stays_and_neither_changes_the_hash(tmp_path):
    task, card = TASKS["proximity"], tmp_path / "README.md"
    write_folder(task, tmp_path)
    first, hashed = card.read_text(), folder_hash(tmp_path)
    write_folder(replace(task, notes="Read again."), tmp_path)
    assert "Read again." in card.read_text() and "Read again." not in first
    card.write_text("# Mine\n")
    write_folder(task, tmp_path)
    assert card.read_text() == "# Mine\n" and folder_hash(tmp_path) == hashed
    write_folder(replace(task, format="CLF"), tmp_path)  # what an encoder is told stands in task.json alone
    assert folder_hash(tmp_path) != hashed


TEXTS = {
    "a": "Mosses of the northern slope were counted twice a year by the same pair of observers.",
    "b": "A bridge of steel and oak carries trams across the estuary whatever the wind may do.",
    "c": "Readers of old newspapers remember advertisements better than the leading articles above them.",
    "d": "Two chess clubs exchanged letters for thirty years without a single game being finished.",
}
PAPERS = tuple(Paper(key, f"On {key}", text) for key, text in TEXTS.items())


def task(payload, kind: str | None = None, **more) -> t.Task:
    kind = kind or {t.Judged: "proximity", t.Pooled: "retrieval"}.get(type(payload), "classification")
    return t.Task("toy", kind, "CLF", ("f1",), payload, "folder", "0", texts=lambda: PAPERS, **more)


def examples(ids) -> tuple[t.Example, ...]:
    return tuple(t.Example(k, i % 2) for i, k in enumerate(ids))


def labelled(train="ab", test="cd") -> t.Labelled:
    return t.Labelled({"train": examples(train), "test": examples(test)})


def judged(*rows) -> t.Judged:
    return t.Judged(tuple(t.Qrel(*row) for row in rows))


GOOD = judged(("a", "b", 1), ("a", "c", 0), ("d", "c", 2), ("d", "b", 0))


@pytest.mark.parametrize(("payload", "check", "words"), [
    (labelled(), "", ""), (GOOD, "", ""), (t.Pooled({"a": {"b": 1}}, ("b", "c", "d")), "", ""),
    (labelled(test="cdx"), "texts", "1 judged ids without a text (x)"),
    (labelled(test="cda"), "splits", "1 papers in two splits (a)"),
    (t.Labelled({"train": examples("ab"), "test": (t.Example("c", 99),)}), "labels", "no training paper has (99)"),
    (judged(("a", "b", 1), ("a", "c", 0), ("a", "a", 0)), "splits", "their own candidates (a)"),
    (judged(("a", "b", 1), ("a", "c", 0), ("a", "b", 0)), "splits", "judged twice (a b)"),
    (judged(("a", "b", 0), ("a", "c", 0)), "relevance", "without a relevant candidate (a)"),
    (judged(("a", "b", 2), ("a", "c", 2)), "relevance", "equally relevant (a)"),
    (t.Pooled({"a": {"b": 0}}, ("b",)), "relevance", "queries without a relevant paper (a)"),
])  # fmt: skip
def test_each_fault_is_named_and_a_sound_task_has_none(payload, check, words):
    found = validate(task(payload))
    assert bool(found) == bool(check)
    assert all(words in str(f) and str(f).startswith(f"toy: {check}: ") for f in found if f.check == check)
    assert [f.check for f in found].count(check) == bool(check)


def test_a_test_text_that_nearly_repeats_a_training_text_is_a_leak():
    changed = TEXTS["a"].replace("twice a year", "thrice a year").upper()
    leaky = replace(task(labelled(test="ce")), texts=lambda: (*PAPERS, Paper("e", "ON A", changed + "!")))
    (found,) = [str(f) for f in validate(leaky) if f.check == "leak"]
    assert "e ~ a" in found
    assert not [f for f in validate(leaky, near=0.99) if f.check == "leak"]


def test_near_duplicates_gives_the_share_by_hand():
    train = {"t": "one two three four five six seven", "u": "nothing in common here at all"}
    test = {"same": "One, two; three four five SIX seven.", "half": "one two three four five zz yy", "short": "one two"}
    shares = {key: (other, share) for key, other, share in near_duplicates(test, train, near=0.3)}
    assert shares == {"same": ("t", 1.0), "half": ("t", pytest.approx(1 / 3))}
    assert near_duplicates({"s": "one two"}, {"t": "one two"}) == [("s", "t", 1.0)]
    assert near_duplicates({}, train) == [] == near_duplicates(test, {})


def test_counts_of_every_type():
    rows = {"train": (t.Triple("a", "b", "c"), t.Triple("a", "c", "d")), "validation": (t.Triple("b", "a"),)}
    names = {"L": t.LabelText("L", "law"), "M": t.LabelText("M", "m")}
    mentions = (t.Signature("1", "a", "x", "k"), t.Signature("2", "b", "x", "k"), t.Signature("3", "b", "x", ""))
    for payload, expected in (
        (labelled(), {"train": 2, "test": 2, "papers": 4, "labels": 2}),
        (t.Judged((*GOOD.rows, t.Qrel("d", "a", 0, "Law"))), {"queries": 2, "pairs": 5, "groups": 1}),
        (t.Pooled({"a": {"b": 1}}, ("b", "c")), {"queries": 1, "papers": 2}),
        (t.LabelSpace({"a": ("L",)}, names), {"papers": 1, "labels": 2}),
        (t.Reviewers(GOOD.rows, GOOD.rows, {"r": ("a",)}), {"queries": 2, "pairs": 4, "reviewers": 1}),
        (t.Signatures(mentions), {"clusters": 1, "signatures": 3}),  # nobody knows whose the third is
        (t.Collection(("a", "b")), {"papers": 2}),
        (t.Triples(lambda split: iter(rows[split]), ("train", "validation")), {"train": 2, "validation": 1, "queries": 2}),
    ):  # fmt: skip
        assert counts(task(payload)) == expected
    assert "labels" not in counts(task(labelled(), "regression"))


def test_the_command_names_what_is_wrong_with_a_folder(tmp_path, scirep):
    good, bad, half = (tmp_path / name for name in ("good", "bad", "half"))
    for place, test in ((good, "cd"), (bad, "cda"), (half, "cda")):
        write_folder(task(labelled(test=test)), place)
    (half / "test.jsonl").write_bytes(b'{"paper_id": "c", "label": 0}\n{"paper_id": "d", "lab\n')
    for place, code, words in (
        (good, 0, "7 of 7"), (bad, 2, "splits: 1 papers in two splits (a)"), (half, 2, "test.jsonl:2: not a JSON object"),
    ):  # fmt: skip
        found, out, err = scirep("data", "verify", place)
        assert found == code and words in (err if place == half else out)


def test_published_counts_are_compared_on_real_data_only():
    real = replace(task(GOOD, "proximity"), name="scirepeval/scidocs_cite", source="real")
    assert [str(f) for f in validate(real)] == [
        "scirepeval/scidocs_cite: counts: 2 queries, the paper prints 1000",
        "scirepeval/scidocs_cite: counts: 4 pairs, the paper prints 29928",
    ]
    assert validate(replace(real, source="embedded")) == []
