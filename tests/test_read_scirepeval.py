"""The reader of SciRepEval: every configuration by hand, every form of file, every kind of damage named by file and row."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import random
import shutil
import tracemalloc
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scirep_core.data import hub
from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.data.readers import scirepeval
from scirep_core.data.task import Example, Judged, Labelled, Qrel, Reviewers, Triple, Triples
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.records import Paper

NAMES = [name for name, spec in TASKS.items() if spec.reader == "scirepeval"]
MIRROR = os.environ.get("SCIREP_DATA_MIRROR")


# --- a small collection of our own writing ----------------------------------------------------------------------------


def write(root: Path, config: str, split: str, rows: list[dict], labels: bool = False, form: str = "parquet") -> Path:
    """Write one split in one of its forms and return its (first) file."""
    folder = root / ("scirepeval_test" if labels else "scirepeval") / config
    shutil.rmtree(folder / split, ignore_errors=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    names = {"parquet": f"{split}/0000.parquet", "shards": f"{split}/0000.parquet", "announced": "", "json": f"{split}.json",
             "jsonl": f"{split}.jsonl", "jsonl.gz": f"{split}.jsonl.gz", "csv": f"{split}.csv",
             "qrel": f"{split}_qrel.jsonl"}  # fmt: skip
    path = folder / names[form]
    (path if form == "announced" else path.parent).mkdir(parents=True, exist_ok=True)
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif form == "shards":
        for number, part in enumerate(part for part in (rows[:1], rows[1:2], rows[2:]) if part):
            pq.write_table(pa.Table.from_pylist(part), path.with_name(f"{number:04d}.parquet"))
    elif form == "announced":
        for number, part in enumerate((rows[:1], rows[1:])):
            pq.write_table(pa.Table.from_pylist(part), path / f"{split}-0000{number}-of-00002.parquet")
    elif form == "json":
        path.write_text(json.dumps(rows, indent=1))
    elif form == "csv":
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_bytes(gzip.compress(lines) if form == "jsonl.gz" else lines)
    return path


def paper(number: int, **more: object) -> dict:
    abstract = None if number % 3 == 0 else f"We weigh pebbles of kind {number}."
    return {"doc_id": f"d{number}", "corpus_id": number, "title": f"Pebbles {number}", "abstract": abstract, **more}


def flat(*numbers: int, **more: object) -> list[dict]:
    return [paper(number, **more) for number in numbers]


def labels(train: list, test: list) -> dict[str, list[dict]]:
    both = {"train": train, "test": test}
    start = {"train": 0, "test": len(train)}
    return {s: [{"paper_id": f"d{start[s] + i}", "label": label} for i, label in enumerate(both[s])] for s in both}


def hot(*classes: int) -> list[int]:
    return [int(i in classes) for i in range(23)]


QRELS = [{"query_id": f"d{q}", "cand_id": f"d{c}", "score": s}
         for q, c, s in ((1, 4, 1), (1, 5, 0), (2, 6, 1), (2, 1, 0), (1, 4, 0))]  # fmt: skip
SUPERVISED = {
    "fos": labels([hot(0), hot(3, 22), hot()], [hot(5)]),
    "mesh_descriptors": labels([0, 29, 4], [7]),
    "biomimicry": labels([0, 1, 1], [0]),
    "drsm": labels([0, 5, 2], [3]),
    "scidocs_mag": labels([0, 18, 2], [1]),
    "scidocs_mesh": labels([0, 10, 2], [1]),
    "cite_count": labels([0.0, 1.5, 3.25], [2.0]),
    "pub_year": labels([0.5, 0.75, 1.0], [0.25]),
    "peer_review_score": labels([5.5, 6.0, 3.0], [4.0]),
    "hIndex": labels([12.0, 40.0, 7.0], [9.0]),
    "tweet_mentions": labels([0.0, 3.0, 1.0], [2.0]),
}
JUDGED = ("same_author", "high_influence_cite", "relish", "feeds_1", "feeds_m", "scidocs_view", "scidocs_read",
          "scidocs_cite", "scidocs_cocite", "search", "nfcorpus", "trec_covid", "feeds_title")  # fmt: skip
BARE = {"search", "nfcorpus", "trec_covid", "feeds_title"}


def ranked(config: str) -> list[dict]:
    rows = []
    for query, candidates in ((1, (4, 5)), (2, (6, 1))):
        found = [paper(c, score=i, venue=f"Venue {c}", year=float(2000 + c) if c != 5 else 0.0)
                 for i, c in enumerate(candidates)]  # fmt: skip
        if config in BARE:
            rows.append({"query": f"pebble {query}", "doc_id": f"d{query}", "candidates": found})
        else:
            rows.append({"query": paper(query), "candidates": found})
    return rows


TRIPLES = [{"query": paper(q), "pos": paper(p), "neg": paper(n)} for q, p, n in ((1, 2, 3), (1, 4, 5), (6, 1, 2))]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root with every configuration of SciRepEval."""
    root = tmp_path_factory.mktemp("whole")
    for config, splits in SUPERVISED.items():
        for split, rows in splits.items():
            write(root, config, split, rows, labels=True)
        write(root, scirepeval.TEXTS.get(config, config), "evaluation", flat(0, 1, 2, 3, year=1999, venue="Target"))
    for config in JUDGED:
        write(root, config, "test", QRELS, labels=True)
        if config in scirepeval.NESTED:
            write(root, config, "evaluation", ranked(config))
    write(root, "scidocs_view_cite_read", "evaluation", flat(1, 2, 4, 5, 6))
    write(root, "paper_reviewer_matching", "evaluation", flat(1, 2, 3))
    for split, scores in (("test_hard", (1, 0)), ("test_soft", (1, 1))):
        rows = [{"query_id": "d1", "cand_id": f"r{i}", "score": s} for i, s in enumerate(scores)]
        write(root, "paper_reviewer_matching", split, rows, labels=True)
    reviewers = [{"r_id": "r0", "papers": ["d2"]}, {"r_id": "r1", "papers": ["d3", "d2"]}]
    write(root, "reviewers", "metadata", reviewers, labels=True)
    for split in ("train", "validation"):
        write(root, "cite_prediction", split, TRIPLES[: 3 if split == "train" else 1])
        write(
            root, "fos", split, [{**paper(i), "labels": [i], "labels_text": [f"Field {i}"] * (i < 4)} for i in (4, 3)]
        )
        write(
            root,
            "mesh_descriptors",
            split,
            [{**paper(i), "descriptor": f"Term {i}", "qualifier": None} for i in (9, 8)],
        )
        write(root, "cite_count", split, flat(1, 2, n_citations=3, log_citations=0.5))
        write(root, "pub_year", split, flat(1, 2, year=1999, scaled_year=0.25))
        for config in ("same_author", "high_influence_cite", "search"):
            write(root, config, split, ranked(config))
    return root


@pytest.fixture()
def root(whole: Path, tmp_path: Path) -> Path:
    """Return a copy to be damaged."""
    # links, not copies: every test puts a new file in the place of one it damages
    return Path(shutil.copytree(whole, tmp_path / "root", copy_function=os.link))


def read(name: str, root: Path):
    return scirepeval.read(TASKS[name], name, root, "embedded")


# --- what is read -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_task_is_read(name: str, whole: Path) -> None:
    task, spec = read(name, whole), TASKS[name]
    assert (task.name, task.type, task.format, task.metrics) == (name, spec.type, spec.format, spec.metrics)
    assert task.source == "embedded"
    assert task.related == spec.relation
    assert task.oracle is None
    assert task.similarity == ("cosine" if spec.type == "reviewer_matching" else "l2")
    config, payload = spec.config, task.payload
    if config in SUPERVISED:
        assert isinstance(payload, Labelled)
        for split, rows in SUPERVISED[config].items():
            expected = [tuple(r["label"]) if spec.multi_label else r["label"] for r in rows]
            assert payload.splits[split] == tuple(
                Example(r["paper_id"], value) for r, value in zip(rows, expected, strict=True)
            )
            kind = {"classification": int, "regression": float}[spec.type]
            assert all(type(e.label) is (tuple if spec.multi_label else kind) for e in payload.splits[split])
        assert payload.few_shot == spec.few_shot
        assert payload.multi_label == (config == "fos")
        assert [*task.papers] == ["d0", "d1", "d2", "d3"]
        assert task.papers["d3"] == Paper("d3", "Pebbles 3", "")  # neither year nor venue: they are targets
    elif config in JUDGED:
        assert isinstance(payload, Judged)
        assert payload.rows == tuple(Qrel(**row) for row in QRELS)  # in order, the repeated pair included
        assert payload.text_query == (config in BARE)
        assert task.queries == ({"d1": "pebble 1", "d2": "pebble 2"} if config in BARE else {})
        ids = [p.paper_id for p in task.texts()]
        assert (
            ids
            == {
                True: ["d4", "d5", "d6", "d1"],
                False: ["d1", "d2", "d4", "d5", "d6"]
                if config.startswith("scidocs")
                else ["d1", "d4", "d5", "d2", "d6"],
            }[config in BARE]
        )
        if config in BARE:
            assert task.papers["d4"] == Paper("d4", "Pebbles 4", "We weigh pebbles of kind 4.", 2004, venue="Venue 4")
            assert task.papers["d5"].year is None  # 0 stands for none
    elif spec.type == "reviewer_matching":
        assert payload == Reviewers(
            (Qrel("d1", "r0", 1), Qrel("d1", "r1", 0)), (Qrel("d1", "r0", 1), Qrel("d1", "r1", 1)),
            {"r0": ("d2",), "r1": ("d3", "d2")},
        )  # fmt: skip
        assert len(task.papers) == 3
    else:
        assert isinstance(payload, Triples)
        assert payload.splits == ("train", "validation")
        assert [*payload.rows("train")][1] == Triple("d1", "d4", "d5")
        assert len([*payload.rows("validation")]) == 1
        assert [*task.papers] == ["d1", "d2", "d3", "d4", "d5", "d6"]
        with pytest.raises(ConfigError, match="Valid: train, validation"):
            payload.rows("test")


def test_every_scirepeval_row_of_the_inventory_is_in_the_small_collection() -> None:
    configs = {TASKS[name].config for name in NAMES}
    assert configs == {*SUPERVISED, *JUDGED, "paper_reviewer_matching", "cite_prediction"}
    assert set(scirepeval.CLASSES) == {TASKS[n].config for n in NAMES if TASKS[n].type == "classification"}
    for name in NAMES:
        if "labels" in TASKS[name].expect:
            assert scirepeval.CLASSES[TASKS[name].config] == TASKS[name].expect["labels"]


@pytest.mark.parametrize("name", TRAINING)
@pytest.mark.parametrize("split", ["train", "validation"])
def test_training_sets(name: str, split: str, whole: Path) -> None:
    rows = [*scirepeval.training(name, whole, split)]
    config = TASKS[name].config
    four = Paper("d4", "Pebbles 4", "We weigh pebbles of kind 4.")
    if config == "fos":
        assert rows[0] == scirepeval.TrainExample(four, ())
        assert [row.target for row in rows] == [(), ("Field 3",)]
    elif config == "mesh_descriptors":
        assert [row.target for row in rows] == ["Term 9", "Term 8"]
    elif config in ("cite_count", "pub_year"):
        assert [row.target for row in rows] == [{"cite_count": 0.5, "pub_year": 0.25}[config]] * 2
        assert rows[1].paper == Paper("d2", "Pebbles 2", "We weigh pebbles of kind 2.")
    elif config == "cite_prediction":
        assert [tuple(p.paper_id for p in row) for row in rows] == [
            ("d1", "d2", "d3"), ("d1", "d4", "d5"), ("d6", "d1", "d2"),
        ][: len(rows)]  # fmt: skip
        assert len(rows) == (3 if split == "train" else 1)
    else:
        assert [row.query.paper_id for row in rows] == ["d1", "d2"]
        assert rows[0].scores == (0, 1)
        assert rows[0].candidates[0]._replace(year=None, venue="") == four
        assert (rows[0].query.title, rows[0].query.abstract) == (
            ("pebble 1", "") if config == "search" else ("Pebbles 1", "We weigh pebbles of kind 1.")
        )
        assert rows[0].candidates[0].year == (2004 if config == "search" else None)


def test_names_that_are_no_training_set(whole: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'scirepeval/search'"):
        scirepeval.training("scirepeval/serch", whole)
    with pytest.raises(ConfigError, match="no task of type 'retrieval'"):
        scirepeval.read(TASKS["scimult/scifact"], "scimult/scifact", whole, "real")


@pytest.mark.parametrize("form", ["shards", "announced", "json", "jsonl", "jsonl.gz", "csv", "qrel"])
def test_every_form_of_a_file_reads_alike(form: str, root: Path) -> None:
    before = {name: read(name, root) for name in ("scirepeval/drsm", "scirepeval/relish")}
    papers = {name: task.papers for name, task in before.items()}
    for config, split, rows in (("drsm", "train", SUPERVISED["drsm"]["train"]), ("relish", "test", QRELS)):
        shutil.rmtree(root / "scirepeval_test" / config / split)
        write(root, config, split, rows, labels=True, form=form)
    if form != "csv":
        for config, rows in (("drsm", flat(0, 1, 2, 3)), ("relish", ranked("relish"))):
            shutil.rmtree(root / "scirepeval" / config)
            write(root, config, "evaluation", rows, form=form)
    for name, task in before.items():
        assert read(name, root).payload == task.payload
        assert read(name, root).papers == papers[name]
        assert read(name, root).data_hash != task.data_hash


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_files_from_windows_are_read_as_any(form: str, root: Path) -> None:
    before = read("scirepeval/drsm", root).payload
    shutil.rmtree(root / "scirepeval_test" / "drsm" / "train")
    path = write(root, "drsm", "train", SUPERVISED["drsm"]["train"], labels=True, form=form)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert read("scirepeval/drsm", root).payload == before


def test_texts_may_be_absent(root: Path) -> None:
    shutil.rmtree(root / "scirepeval")
    task = read("scirepeval/nfcorpus", root)
    assert len(task.payload.rows) == 5
    assert task.papers == {}
    assert task.queries == {}


def test_oracle_vectors_are_found_under_the_task_s_name(root: Path) -> None:
    path = root / "oracle" / "scirepeval__fos.npz"
    path.parent.mkdir()
    np.savez(path, ids=np.array(["d0"]), vectors=np.ones((1, 2), np.float32))
    assert read("scirepeval/fos", root).oracle == path


def test_out_of_train_relations_hold_for_the_embedded_literature_alone(whole: Path) -> None:
    assert scirepeval.read(TASKS["scirepeval/drsm"], "scirepeval/drsm", whole, "real").related == ""
    assert scirepeval.read(TASKS["scirepeval/fos"], "scirepeval/fos", whole, "real").related == "in-train"


def test_data_hash_follows_content_not_place(whole: Path, root: Path) -> None:
    first = read("scirepeval/fos", whole).data_hash
    assert read("scirepeval/fos", root).data_hash == first
    write(root, "fos", "test", [{"paper_id": "d3", "label": hot(6)}], labels=True)
    assert read("scirepeval/fos", root).data_hash != first


def test_older_dumps_have_corpus_ids_alone_and_unnamed_queries(tmp_path: Path) -> None:
    candidate = {"corpus_id": 7, "title": "Pebbles", "abstract": None, "year": "", "venue": "", "score": 1}
    write(tmp_path, "search", "train", [{"query": "stones", "candidates": [candidate]}], form="jsonl")
    (row,) = scirepeval.training("scirepeval/search", tmp_path)
    assert row.candidates == (Paper("7", "Pebbles", ""),)
    assert row.query == Paper("train.jsonl:1", "stones", "")


@pytest.mark.skipif(not MIRROR, reason="SCIREP_DATA_MIRROR is not set: no real data on this machine")
def test_published_training_samples(tmp_path: Path) -> None:
    there = Path(MIRROR or "") / "scirepeval"
    for config, name in (("fos", "fos_small.json"), ("mesh_descriptors", "mesh_small.json"), ("search", "search_small.jsonl"),
                         ("same_author", "s2and_small.json"), ("cite_prediction", "specter_small.json")):  # fmt: skip
        (tmp_path / "scirepeval" / config).mkdir(parents=True)
        (tmp_path / "scirepeval" / config / f"train{Path(name).suffix}").symlink_to(there / name)
    rows = {c: [*scirepeval.training(f"scirepeval/{c}", tmp_path)]
            for c in ("fos", "mesh_descriptors", "search", "same_author", "cite_prediction")}  # fmt: skip
    assert {config: len(found) for config, found in rows.items()} == {
        "fos": 205, "mesh_descriptors": 206, "search": 100, "same_author": 40, "cite_prediction": 200,
    }  # fmt: skip
    fields = {name for row in rows["fos"] for name in row.target}
    assert sorted(fields) == (there / "fos_labels.txt").read_text().split("\n")[:23]
    assert len({row.target for row in rows["mesh_descriptors"]}) == 30
    scores = [score for row in rows["search"] for score in row.scores]
    assert [scores.count(i) for i in range(3)] == [885, 114, 1]
    assert [sum(len(row.target) == n for row in rows["fos"]) for n in (1, 2, 3)] == [173, 30, 2]
    assert sum(not row.paper.abstract for row in rows["fos"]) == 48


# --- what is refused --------------------------------------------------------------------------------------------------

_DRSM = SUPERVISED["drsm"]["train"]
MALFORMED = {
    "a column is missing": ("drsm", "train", [{"paper_id": "d0", "labels": 1}],
                            r"train/0000.parquet: no column 'label'. did you mean 'labels'"),
    "an id column is missing": ("drsm", "train", [{"doc_id": "d0", "label": 1}], r"0000.parquet: no column 'paper_id'"),
    "a label is text": ("drsm", "train", [{"paper_id": "d0", "label": "x"}],
                        r"0000.parquet:1: field 'label' must be int, found 'x'"),
    "a class is a fraction": ("drsm", "train", [{"paper_id": "d0", "label": 1.5}], r":1: field 'label' must be int"),
    "a label is null": ("drsm", "train", [*_DRSM, {"paper_id": "d9", "label": None}], r":4: field 'label' must be int"),
    "a class too high": ("drsm", "train", [*_DRSM, {"paper_id": "d9", "label": 6}], r":4: label 6 is not one of 0 to 5"),
    "a class below 0": ("scidocs_mag", "test", [{"paper_id": "d9", "label": -1}], r":1: label -1 .* 0 to 18"),
    "mesh 30": ("mesh_descriptors", "test", [{"paper_id": "d9", "label": 30}], r":1: label 30 .* 0 to 29"),
    "scidocs mesh 11": ("scidocs_mesh", "test", [{"paper_id": "d9", "label": 11}], r":1: label 11 .* 0 to 10"),
    "biomimicry 2": ("biomimicry", "test", [{"paper_id": "d9", "label": 2}], r":1: label 2 .* 0 to 1"),
    "22 fields": ("fos", "test", [{"paper_id": "d9", "label": hot()[1:]}], r":1: label has 22 entries.* 23"),
    "field counted twice": ("fos", "test", [{"paper_id": "d9", "label": [2, *hot()[1:]]}], r":1: label holds 2"),
    "one class for a multi-hot": ("fos", "test", [{"paper_id": "d9", "label": 3}], r":1: field 'label' must be list"),
    "NaN": ("cite_count", "test", [{"paper_id": "d9", "label": math.nan}], r":1: field 'label' must be .* found nan"),
    "an id twice": ("drsm", "train", [*_DRSM, {"paper_id": "d1", "label": 1}],
                    r":4: paper 'd1' is listed twice in train \(first at train/0000.parquet:2\)"),
    "train and test overlap": ("drsm", "test", [{"paper_id": "d8", "label": 1}, {"paper_id": "d2", "label": 1}],
                               r"test/0000.parquet:2: paper 'd2' of test is in train as well \(first at train/0000.parquet:3\)"),
    "an empty id": ("drsm", "train", [{"paper_id": "", "label": 1}], r":1: 'paper_id' must hold ids, found ''"),
    "a judged id is null": ("relish", "test", [*QRELS, {"query_id": None, "cand_id": "d4", "score": 1}],
                            r":6: field 'query_id' must be str or int, found None"),
    "a grade is a fraction": ("relish", "test", [{"query_id": "d1", "cand_id": "d4", "score": 0.5}], r":1: score 0.5"),
    "a grade above the highest": ("same_author", "test", [{"query_id": "d1", "cand_id": "d4", "score": 2}],
                                  r"test/0000.parquet:1: score 2 is above 1"),
    "a grade below -1": ("trec_covid", "test", [{"query_id": "d1", "cand_id": "d4", "score": s} for s in (-1, -2)],
                         r":2: score -2"),
    "a bare query without text": ("search", "test", [*QRELS, {"query_id": "d7", "cand_id": "d4", "score": 1}],
                                  r":6: query 'd7' has no text"),
    "an unknown reviewer": ("paper_reviewer_matching", "test_soft", [{"query_id": "d1", "cand_id": "r7", "score": 1}],
                            r"test_soft/0000.parquet:1: reviewer 'r7' is not in `reviewers`. .*Valid: r0, r1"),
    "expertise is 0 or 1": ("paper_reviewer_matching", "test_hard", [{"query_id": "d1", "cand_id": "r0", "score": 3}],
                            r"test_hard/0000.parquet:1: score 3"),
    "a reviewer twice": ("reviewers", "metadata", [{"r_id": "r0", "papers": ["d2"]}] * 2, r":2: reviewer 'r0' is listed"),
    "a reviewer without papers": ("reviewers", "metadata", [{"r_id": "r0", "papers": ["d2"]}, {"r_id": "r1", "papers": []}],
                                  r":2: reviewer 'r1' has no papers"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_labels_name_file_and_row(case: str, form: str, root: Path) -> None:
    config, split, rows, message = MALFORMED[case]
    if form == "jsonl":
        # the same fault in JSON lines: the same row; a column is looked for in the first line; NaN is no JSON
        if case == "NaN":
            message = r"jsonl:1: NaN is not a JSON number"
        message = message.replace(f"{split}/0000.parquet: ", f"{split}.jsonl:1: ").replace(
            "0000.parquet: ", "jsonl:1: "
        )
        message = message.replace(f"{split}/0000.parquet", f"{split}.jsonl")
        message = message.replace("0000.parquet:1", "jsonl:1").replace(r"first at train/0000.parquet", r"first at .*")
        message = message.replace(r"first at train.jsonl", r"first at .*train.jsonl")
        shutil.rmtree(root / "scirepeval_test" / config / split)
    write(root, config, split, rows, labels=True, form=form)
    name = "paper_reviewer_matching" if config == "reviewers" else config
    with pytest.raises(DataError, match=message):
        read(f"scirepeval/{name}", root)


TEXT_FAULTS = {
    "no title": ("drsm", [{"doc_id": "d0", "titel": "x", "abstract": "y"}],
                 r"0000.parquet: no column 'title'. did you mean 'titel'"),
    "no id": ("drsm", [{"id": "d0", "title": "x", "abstract": "y"}], r"0000.parquet: no column 'doc_id' or 'corpus_id'"),
    "a title that is a number": ("drsm", [{"doc_id": "d0", "title": 3, "abstract": "y"}], r":1: field 'title' must be str"),
    "two texts of a paper": ("drsm", [*flat(1, 2), {**paper(1), "title": "Other"}], r":3: paper 'd1' has another text"),
    "flat where nested": ("relish", flat(1), r"0000.parquet: no column 'query'"),
    "text where a paper": ("relish", [{"query": "pebbles", "candidates": []}], r":1: field 'query' must be dict"),
    "candidates are ids": ("relish", [{"query": paper(1), "candidates": ["d4"]}],
                           r":1: candidates\[1\] must be an object, found 'd4'"),
    "a candidate without score": ("relish", [{"query": paper(1), "candidates": [paper(4)]}], r":1: field 'score' is missing"),
    "a candidate without id": ("relish", [{"query": paper(1), "candidates": [{"title": "", "abstract": "", "score": 1}]}],
                               r":1: candidates\[1\] has neither doc_id nor corpus_id"),
    "a year that is text": ("search", [{"query": "a", "doc_id": "d1", "candidates": [paper(4, score=1, year="old")]}],
                            r":1: candidates\[1\].year must be a number, found 'old'"),
    "a triple without negative": ("cite_prediction", [{"query": paper(1), "pos": paper(2)}], r"0000.parquet: no column 'neg'"),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXT_FAULTS)
def test_malformed_texts_name_file_and_row(case: str, root: Path) -> None:
    config, rows, message = TEXT_FAULTS[case]
    write(root, config, "train" if config == "cite_prediction" else "evaluation", rows)
    if config == "search":
        write(root, config, "test", [{"query_id": "d1", "cand_id": "d4", "score": 1}], labels=True)
    with pytest.raises(DataError, match=message):
        _ = read(f"scirepeval/{config}", root).papers


def test_a_bare_query_has_one_text(root: Path) -> None:
    write(root, "search", "evaluation", [{"query": q, "doc_id": "d1", "candidates": [paper(4, score=1)]} for q in "ab"])
    with pytest.raises(DataError, match=r"evaluation/0000.parquet:2: query 'd1' has another text"):
        read("scirepeval/search", root)


@pytest.mark.parametrize("form", ["parquet", "jsonl", "json", "csv"])
def test_an_empty_split_is_refused(form: str, root: Path) -> None:
    folder = root / "scirepeval_test" / "drsm"
    shutil.rmtree(folder / "test")
    if form == "parquet":
        (folder / "test").mkdir()
        table = pa.table({"paper_id": pa.array([], pa.string()), "label": pa.array([], pa.int32())})
        pq.write_table(table, folder / "test" / "0000.parquet")
    else:
        (folder / f"test.{form}").write_text({"jsonl": "", "json": "[]", "csv": "paper_id,label\n"}[form])
    with pytest.raises(
        DataError,
        match=r"test.*(parquet|json|jsonl|csv): it has no rows.*again; an embedded literature needs more papers",
    ):
        read("scirepeval/drsm", root)


LINE = b'{"paper_id": "d8", "label": 1}\n'
BYTES = {
    "not UTF-8": ("jsonl", LINE + b'{"paper_id": "d\xff", "label": 1}\n', r"test.jsonl:2: not UTF-8 at byte 15"),
    "half a line": ("jsonl", LINE * 1 + b'{"paper_id": "d9", "la', r"test.jsonl:2: not a JSON object"),
    "a line of another kind": ("jsonl", LINE + b"[1]\n", r"test.jsonl:2: expected a JSON object, found list"),
    "a key twice": ("jsonl", b'{"label": 1, "label": 2}\n', r"test.jsonl:1: key 'label' is there twice"),
    "a later line lacks a column": ("jsonl", LINE + b'{"paper_id": "d9"}\n', r"test.jsonl:2: field 'label' is missing"),
    "half an archive": ("jsonl.gz", gzip.compress(LINE)[:-9], r"test.jsonl.gz:\d: not a whole gzip file"),
    "no archive": ("jsonl.gz", LINE, r"test.jsonl.gz:1: not a whole gzip file"),
    "half a list": ("json", b'[{"paper_id": "d8", "label": 1}, {"pa', r"test.json: item 2: not JSON"),
    "a list not closed": ("json", b'[{"paper_id": "d8", "label": 1}', r"test.json: item 1: a comma or"),
    "an object": ("json", b'{"d8": 1}', r"test.json:1: expected a JSON list"),
    "a list of numbers": ("json", b"[1]", r"test.json:1: expected an object, found 1"),
    "something behind the list": (
        "json",
        b'[{"paper_id": "d8", "label": 1}] x',
        r"test.json: item 1: something follows",
    ),
    "a list not UTF-8": ("json", b'[{"paper_id": "d\xff", "label": 1}]', r"test.json: not UTF-8 \(near byte 16"),
    "NaN in a list": ("json", b'[{"paper_id": "d8", "label": NaN}]', r"test.json: item 1: NaN is not a JSON number"),
    "no list": ("json", b"", r"test.json: expected a JSON object or list, found ''"),
    "a cell too few": (
        "csv",
        b"paper_id,label\nd8\n",
        r"test.csv:2: the row does not have the header's number of cells, 2",
    ),
    "a cell that is no number": (
        "csv",
        b"paper_id,label\nd8,1\nd9,x\n",
        r"test.csv:3: field 'label' must be int, found 'x'",
    ),
    "a number with a stray sign": (
        "csv",
        b"paper_id,label\nd8,1_0\n",
        r"test.csv:2: field 'label' must be int, found '1_0'",
    ),
    "an empty cell": ("csv", b"paper_id,label\nd8,\n", r"test.csv:2: field 'label' must be int, found None"),
    "a cell not UTF-8": ("csv", b"paper_id,label\nd\xff,1\n", r"test.csv:2: not UTF-8"),
    "a file without rows or columns": ("csv", b"", r"test.csv:1: no column 'paper_id'"),
    "no parquet": ("parquet", b"PAR1 and then nothing", r"0000.parquet: not a whole parquet file"),
    "an empty parquet": ("parquet", b"", r"0000.parquet: not a whole parquet file"),
}


@pytest.mark.parametrize("case", BYTES)
def test_damaged_bytes_name_file_and_row(case: str, root: Path) -> None:
    form, data, message = BYTES[case]
    folder = root / "scirepeval_test" / "drsm"
    shutil.rmtree(folder / "test")
    if form == "parquet":
        (folder / "test").mkdir()
        (folder / "test" / "0000.parquet").write_bytes(data)
    else:
        (folder / f"test.{form}").write_bytes(data)
    with pytest.raises(DataError, match=message):
        read("scirepeval/drsm", root)


def test_a_parquet_text_that_is_not_utf8_names_its_row(tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, 2, 4, 6], np.int32))
    ids = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"d0d1d\xff")])
    path = tmp_path / "0000.parquet"
    pq.write_table(pa.table({"paper_id": ids, "label": [0, 1, 2]}), path)
    with pytest.raises(DataError, match=r"0000.parquet:3: not UTF-8"):
        [*hub.rows([path], {"paper_id": str, "label": int})]


def test_a_parquet_page_cut_out_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "0000.parquet"
    pq.write_table(pa.table({"paper_id": [f"d{i}" for i in range(5000)], "label": [*range(5000)]}), path)
    data = bytearray(path.read_bytes())
    data[100:2000] = bytes(1900)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"0000.parquet:?\d*: not a whole parquet file"):
        [*hub.rows([path], {"paper_id": str, "label": int})]


def test_splits_and_configurations_that_are_not_there(root: Path) -> None:
    shutil.rmtree(root / "scirepeval_test" / "drsm" / "test")
    with pytest.raises(DataError, match=r"drsm/test: no split 'test'. Valid: train"):
        read("scirepeval/drsm", root)
    (root / "scirepeval_test" / "relish").rename(root / "scirepeval_test" / "relisch")
    with pytest.raises(DataError, match=r"relish: no configuration 'relish'. did you mean 'relisch'"):
        read("scirepeval/relish", root)
    with pytest.raises(DataError, match=r"Run `scirep data get scirepeval_test`"):
        read("scirepeval/relish", root / "elsewhere")


@pytest.mark.parametrize(("form", "gone", "message"), [
    ("shards", "train/0001.parquet", r"0002.parquet: shard 1 before this one is missing"),
    ("announced", "train-00001-of-00002.parquet", r"train-00000-of-00002.parquet: the last shard here; 00002 are"),
])  # fmt: skip
def test_a_missing_shard_is_refused(form: str, gone: str, message: str, root: Path) -> None:
    folder = root / "scirepeval_test" / "drsm"
    shutil.rmtree(folder / "train")
    write(root, "drsm", "train", [*_DRSM, {"paper_id": "d9", "label": 1}], labels=True, form=form)
    (folder / gone).unlink()
    with pytest.raises(DataError, match=message):
        read("scirepeval/drsm", root)


# --- how it is read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["parquet", "jsonl", "json"])
def test_memory_does_not_grow_with_the_file(form: str, tmp_path: Path) -> None:
    draw = random.Random(0)
    rows = [{**paper(i), "abstract": draw.randbytes(800).hex(), "labels_text": ["Art"]} for i in range(12_000)]
    path = write(tmp_path, "fos", "train", rows, form=form)
    del rows
    size = path.stat().st_size
    assert size > 10_000_000
    tracemalloc.start()
    before, arrow = pa.total_allocated_bytes(), 0
    count = 0
    for count, _ in enumerate(scirepeval.training("scirepeval/fos", tmp_path), start=1):
        if count % 500 == 0:
            arrow = max(arrow, pa.total_allocated_bytes() - before)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 12_000
    assert peak + arrow < size / 2


def test_the_first_rows_come_without_reading_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "scirepeval" / "fos" / "train.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**paper(1), "labels_text": ["Art"]}) + "\nbroken\n")
    assert len([*islice(scirepeval.training("scirepeval/fos", tmp_path), 1)]) == 1


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
def test_json_items_do_not_depend_on_where_a_chunk_ends(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_CHUNK", chunk)
    path = tmp_path / "a.json"
    values = {"ä": 12345, "b": [1, {"ü\u2028": None}], "€": "x" * 50, "d": -1.5e3, "e": True}
    path.write_text(json.dumps(values, ensure_ascii=False, indent=2), encoding="utf-8")
    assert dict(hub.items(path)) == values
    path.write_text(json.dumps([*values.values()]))
    assert [value for _, value in hub.items(path)] == [*values.values()]
    path.write_text(" [ ] ")
    assert [*hub.items(path)] == []
    with pytest.raises(DataError, match=r"item 1: not JSON"):
        path.write_text('["' + "x" * 5000)
        [*hub.items(path, longest=100)]
