"""The reader of SciRepEval: every configuration by hand, every form of file, every kind of damage named by file and row."""

from __future__ import annotations

import csv
import gzip
import io
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
from small_files import MIRROR, at, jsonl, mirrored, refused, to_windows

from scirep_core.data import hub
from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.data.readers import scirepeval
from scirep_core.data.task import Example, Judged, Labelled, Qrel, Reviewers, Triple, Triples
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.records import Paper

NAMES = [name for name, spec in TASKS.items() if spec.reader == "scirepeval"]


# --- a small collection of our own writing ----------------------------------------------------------------------------


def write(root: Path, config: str, split: str, rows: list[dict], labels: bool = False, form: str = "parquet") -> Path:
    """Write one split in one of its forms and return its (first) file."""
    folder = root / ("scirepeval_test" if labels else "scirepeval") / config
    shutil.rmtree(folder / split, ignore_errors=True)
    parts = {"parquet": [rows], "shards": [rows[:1], rows[1:2], rows[2:]], "announced": [rows[:1], rows[1:]]}
    if form in parts:
        there = folder if form == "announced" else folder / split
        there.mkdir(parents=True, exist_ok=True)
        name = f"{split}-{{:05d}}-of-00002.parquet" if form == "announced" else "{:04d}.parquet"
        for number, part in enumerate(part for part in parts[form] if part):
            pq.write_table(pa.Table.from_pylist(part), there / name.format(number))
        return there / name.format(0)
    path = folder / f"{split}{'_qrel.jsonl' if form == 'qrel' else f'.{form}'}"
    if form == "json":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows, indent=1))
    elif form == "csv":
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        jsonl(path, rows)
        if form == "jsonl.gz":
            path.write_bytes(gzip.compress(path.read_bytes()))
    return path


def paper(number: int, **more: object) -> dict:
    abstract = None if number % 3 == 0 else f"We weigh pebbles of kind {number}."
    return {"doc_id": f"d{number}", "corpus_id": number, "title": f"Pebbles {number}", "abstract": abstract, **more}


def flat(*numbers: int, **more: object) -> list[dict]:
    return [paper(number, **more) for number in numbers]


def labels(train: list, test: list) -> dict[str, list[dict]]:
    rows = [{"paper_id": f"d{i}", "label": label} for i, label in enumerate([*train, *test])]
    return {"train": rows[: len(train)], "test": rows[len(train) :]}


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
        asked = {"query": f"pebble {query}", "doc_id": f"d{query}"} if config in BARE else {"query": paper(query)}
        rows.append(asked | {"candidates": found})
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
    trained = {
        "fos": [{**paper(i), "labels": [i], "labels_text": [f"Field {i}"] * (i < 4)} for i in (4, 3)],
        "mesh_descriptors": [{**paper(i), "descriptor": f"Term {i}", "qualifier": None} for i in (9, 8)],
        "cite_count": flat(1, 2, n_citations=3, log_citations=0.5),
        "pub_year": flat(1, 2, year=1999, scaled_year=0.25),
    } | {config: ranked(config) for config in ("same_author", "high_influence_cite", "search")}
    for split in ("train", "validation"):
        for config, rows in (trained | {"cite_prediction": TRIPLES[: 3 if split == "train" else 1]}).items():
            write(root, config, split, rows)
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
    nearest = "did you mean 'scirepeval/search'"
    refused(lambda: scirepeval.training("scirepeval/serch", whole), nearest, error=ConfigError)
    spec = TASKS["scimult/scifact"]
    refused(
        lambda: scirepeval.read(spec, "scimult/scifact", whole, "real"),
        "no task of type 'retrieval'",
        error=ConfigError,
    )


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
    to_windows(write(root, "drsm", "train", SUPERVISED["drsm"]["train"], labels=True, form=form))
    assert read("scirepeval/drsm", root).payload == before


def test_texts_may_be_absent(root: Path) -> None:
    shutil.rmtree(root / "scirepeval")
    task = read("scirepeval/nfcorpus", root)
    assert (len(task.payload.rows), task.papers, task.queries) == (5, {}, {})


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


@mirrored("scirepeval/fos_small.json")
def test_published_training_samples(tmp_path: Path) -> None:
    there, rows = MIRROR / "scirepeval", {}
    for config, name, count in (("fos", "fos_small.json", 205), ("mesh_descriptors", "mesh_small.json", 206),
                                ("search", "search_small.jsonl", 100), ("same_author", "s2and_small.json", 40),
                                ("cite_prediction", "specter_small.json", 200)):  # fmt: skip
        (tmp_path / "scirepeval" / config).mkdir(parents=True)
        (tmp_path / "scirepeval" / config / f"train{Path(name).suffix}").symlink_to(there / name)
        rows[config] = [*scirepeval.training(f"scirepeval/{config}", tmp_path)]
        assert len(rows[config]) == count
    fields = {name for row in rows["fos"] for name in row.target}
    assert sorted(fields) == (there / "fos_labels.txt").read_text().split("\n")[:23]
    assert len({row.target for row in rows["mesh_descriptors"]}) == 30
    scores = [score for row in rows["search"] for score in row.scores]
    assert [scores.count(i) for i in range(3)] == [885, 114, 1]
    assert [sum(len(row.target) == n for row in rows["fos"]) for n in (1, 2, 3)] == [173, 30, 2]
    assert sum(not row.paper.abstract for row in rows["fos"]) == 48


# --- what is refused --------------------------------------------------------------------------------------------------

_DRSM = SUPERVISED["drsm"]["train"]
COLUMNS = None
"""In place of a line: what is said of the columns of a parquet file, and of the first line of one without."""
MALFORMED: dict[str, tuple[str, str, list[dict], int | None, str]] = {
    "a column is missing": ("drsm", "train", [{"paper_id": "d0", "labels": 1}], COLUMNS,
                            "no column 'label'. did you mean 'labels'"),
    "an id column is missing": ("drsm", "train", [{"doc_id": "d0", "label": 1}], COLUMNS, "no column 'paper_id'"),
    "a label is text": ("drsm", "train", [{"paper_id": "d0", "label": "x"}], 1, "field 'label' must be int, found 'x'"),
    "a class is a fraction": ("drsm", "train", [{"paper_id": "d0", "label": 1.5}], 1, "field 'label' must be int"),
    "a label is null": ("drsm", "train", [*_DRSM, {"paper_id": "d9", "label": None}], 4, "field 'label' must be int"),
    "a class too high": ("drsm", "train", [*_DRSM, {"paper_id": "d9", "label": 6}], 4, "label 6 is not one of 0 to 5"),
    "a class below 0": ("scidocs_mag", "test", [{"paper_id": "d9", "label": -1}], 1, "label -1 … 0 to 18"),
    "mesh 30": ("mesh_descriptors", "test", [{"paper_id": "d9", "label": 30}], 1, "label 30 … 0 to 29"),
    "scidocs mesh 11": ("scidocs_mesh", "test", [{"paper_id": "d9", "label": 11}], 1, "label 11 … 0 to 10"),
    "biomimicry 2": ("biomimicry", "test", [{"paper_id": "d9", "label": 2}], 1, "label 2 … 0 to 1"),
    "22 fields": ("fos", "test", [{"paper_id": "d9", "label": hot()[1:]}], 1, "label has 22 entries… 23"),
    "field counted twice": ("fos", "test", [{"paper_id": "d9", "label": [2, *hot()[1:]]}], 1, "label holds 2"),
    "one class for a multi-hot": ("fos", "test", [{"paper_id": "d9", "label": 3}], 1, "field 'label' must be list"),
    "NaN": ("cite_count", "test", [{"paper_id": "d9", "label": math.nan}], 1, "field 'label' must be … found nan"),
    "an id twice": ("drsm", "train", [*_DRSM, {"paper_id": "d1", "label": 1}], 4,
                    "paper 'd1' is listed twice in train (first at …train…:2)"),
    "train and test overlap": ("drsm", "test", [{"paper_id": "d8", "label": 1}, {"paper_id": "d2", "label": 1}], 2,
                               "paper 'd2' of test is in train as well (first at train/0000.parquet:3)"),
    "an empty id": ("drsm", "train", [{"paper_id": "", "label": 1}], 1, "'paper_id' must hold ids, found ''"),
    "a judged id is null": ("relish", "test", [*QRELS, {"query_id": None, "cand_id": "d4", "score": 1}], 6,
                            "field 'query_id' must be str or int, found None"),
    "a grade is a fraction": ("relish", "test", [{"query_id": "d1", "cand_id": "d4", "score": 0.5}], 1, "score 0.5"),
    "a grade above the highest": ("same_author", "test", [{"query_id": "d1", "cand_id": "d4", "score": 2}], 1,
                                  "score 2 is above 1"),
    "a grade below -1": ("trec_covid", "test", [{"query_id": "d1", "cand_id": "d4", "score": s} for s in (-1, -2)], 2,
                         "score -2"),
    "a bare query without text": ("search", "test", [*QRELS, {"query_id": "d7", "cand_id": "d4", "score": 1}], 6,
                                  "query 'd7' has no text"),
    "an unknown reviewer": ("paper_reviewer_matching", "test_soft", [{"query_id": "d1", "cand_id": "r7", "score": 1}], 1,
                            "reviewer 'r7' is not in `reviewers`. …Valid: r0, r1"),
    "expertise is 0 or 1": ("paper_reviewer_matching", "test_hard", [{"query_id": "d1", "cand_id": "r0", "score": 3}], 1,
                            "score 3"),
    "a reviewer twice": ("reviewers", "metadata", [{"r_id": "r0", "papers": ["d2"]}] * 2, 2, "reviewer 'r0' is listed"),
    "a reviewer without papers": ("reviewers", "metadata", [{"r_id": "r0", "papers": ["d2"]}, {"r_id": "r1", "papers": []}], 2,
                                  "reviewer 'r1' has no papers"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_labels_name_file_and_row(case: str, form: str, root: Path) -> None:
    config, split, rows, line, says = MALFORMED[case]
    if form == "jsonl":
        line, says = line or 1, "NaN is not a JSON number" if case == "NaN" else says
    path = write(root, config, split, rows, labels=True, form=form)
    name = "paper_reviewer_matching" if config == "reviewers" else config
    refused(lambda: read(f"scirepeval/{name}", root), at(path, line), *says.split("…"))


TEXT_FAULTS: dict[str, tuple[str, list[dict], int | None, str]] = {
    "no title": ("drsm", [{"doc_id": "d0", "titel": "x", "abstract": "y"}], COLUMNS, "no column 'title'. did you mean 'titel'"),
    "no id": ("drsm", [{"id": "d0", "title": "x", "abstract": "y"}], COLUMNS, "no column 'doc_id' or 'corpus_id'"),
    "a title that is a number": ("drsm", [{"doc_id": "d0", "title": 3, "abstract": "y"}], 1, "field 'title' must be str"),
    "two texts of a paper": ("drsm", [*flat(1, 2), {**paper(1), "title": "Other"}], 3, "paper 'd1' has another text"),
    "flat where nested": ("relish", flat(1), COLUMNS, "no column 'query'"),
    "text where a paper": ("relish", [{"query": "pebbles", "candidates": []}], 1, "field 'query' must be dict"),
    "candidates are ids": ("relish", [{"query": paper(1), "candidates": ["d4"]}], 1,
                           "candidates[1] must be an object, found 'd4'"),
    "a candidate without score": ("relish", [{"query": paper(1), "candidates": [paper(4)]}], 1, "field 'score' is missing"),
    "a candidate without id": ("relish", [{"query": paper(1), "candidates": [{"title": "", "abstract": "", "score": 1}]}], 1,
                               "candidates[1] has neither doc_id nor corpus_id"),
    "a year that is text": ("search", [{"query": "a", "doc_id": "d1", "candidates": [paper(4, score=1, year="old")]}], 1,
                            "candidates[1].year must be a number, found 'old'"),
    "two texts of a query": (
        "search", [{"query": q, "doc_id": "d1", "candidates": [paper(4, score=1)]} for q in "ab"], 2,
        "query 'd1' has another text"),
    "a triple without negative": ("cite_prediction", [{"query": paper(1), "pos": paper(2)}], COLUMNS, "no column 'neg'"),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXT_FAULTS)
def test_malformed_texts_name_file_and_row(case: str, root: Path) -> None:
    config, rows, line, says = TEXT_FAULTS[case]
    path = write(root, config, "train" if config == "cite_prediction" else "evaluation", rows)
    if case == "a year that is text":
        write(root, config, "test", [{"query_id": "d1", "cand_id": "d4", "score": 1}], labels=True)
    refused(lambda: read(f"scirepeval/{config}", root).papers, at(path, line), says)


LINE = b'{"paper_id": "d8", "label": 1}\n'
_TABLE = io.BytesIO()
pq.write_table(pa.table({"paper_id": pa.array([], pa.string()), "label": pa.array([], pa.int32())}), _TABLE)
EMPTY = _TABLE.getvalue()
BYTES: dict[str, tuple[str, bytes, str]] = {
    "not UTF-8": ("jsonl", LINE + b'{"paper_id": "d\xff", "label": 1}\n', ":2: not UTF-8 at byte 15"),
    "half a line": ("jsonl", LINE * 1 + b'{"paper_id": "d9", "la', ":2: not a JSON object"),
    "a line of another kind": ("jsonl", LINE + b"[1]\n", ":2: expected a JSON object, found list"),
    "a key twice": ("jsonl", b'{"label": 1, "label": 2}\n', ":1: key 'label' is there twice"),
    "a later line lacks a column": ("jsonl", LINE + b'{"paper_id": "d9"}\n', ":2: field 'label' is missing"),
    "half an archive": ("jsonl.gz", gzip.compress(LINE)[:-9], ":…: not a whole gzip file"),
    "no archive": ("jsonl.gz", LINE, ":1: not a whole gzip file"),
    "half a list": ("json", b'[{"paper_id": "d8", "label": 1}, {"pa', ": item 2: not JSON"),
    "a list not closed": ("json", b'[{"paper_id": "d8", "label": 1}', ": item 1: a comma or"),
    "an object": ("json", b'{"d8": 1}', ":1: expected a JSON list"),
    "a list of numbers": ("json", b"[1]", ":1: expected an object, found 1"),
    "something behind the list": ("json", b'[{"paper_id": "d8", "label": 1}] x', ": item 1: something follows"),
    "a list not UTF-8": ("json", b'[{"paper_id": "d\xff", "label": 1}]', ": not UTF-8 (near byte 16"),
    "NaN in a list": ("json", b'[{"paper_id": "d8", "label": NaN}]', ": item 1: NaN is not a JSON number"),
    "no list": ("json", b"", ": expected a JSON object or list, found ''"),
    "a cell too few": ("csv", b"paper_id,label\nd8\n", ":2: the row does not have the header's number of cells, 2"),
    "a cell that is no number": ("csv", b"paper_id,label\nd8,1\nd9,x\n", ":3: field 'label' must be int, found 'x'"),
    "a number with a stray sign": ("csv", b"paper_id,label\nd8,1_0\n", ":2: field 'label' must be int, found '1_0'"),
    "an empty cell": ("csv", b"paper_id,label\nd8,\n", ":2: field 'label' must be int, found None"),
    "a cell not UTF-8": ("csv", b"paper_id,label\nd\xff,1\n", ":2: not UTF-8"),
    "a file without rows or columns": ("csv", b"", ":1: no column 'paper_id'"),
    "no parquet": ("parquet", b"PAR1 and then nothing", ": not a whole parquet file"),
    "an empty parquet": ("parquet", b"", ": not a whole parquet file"),
    "no row": ("jsonl", b"", ": it has no rows…again; an embedded literature needs more papers"),
    "no row of a list": ("json", b"[]", ": it has no rows…again; an embedded literature needs more papers"),
    "no row under a header": ("csv", b"paper_id,label\n", ": it has no rows…again; an embedded literature needs more papers"),
    "no row of a table": ("parquet", EMPTY, ": it has no rows…again; an embedded literature needs more papers"),
}  # fmt: skip


@pytest.mark.parametrize("case", BYTES)
def test_damaged_bytes_name_file_and_row(case: str, root: Path) -> None:
    form, data, says = BYTES[case]
    path = write(root, "drsm", "test", [{"paper_id": "d8", "label": 1}], labels=True, form=form)
    path.write_bytes(data)
    start, *more = says.split("…")
    refused(lambda: read("scirepeval/drsm", root), f"{path}{start}", *more)


def test_a_parquet_text_that_is_not_utf8_names_its_row(tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, 2, 4, 6], np.int32))
    ids = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"d0d1d\xff")])
    path = tmp_path / "0000.parquet"
    pq.write_table(pa.table({"paper_id": ids, "label": [0, 1, 2]}), path)
    refused(lambda: [*hub.rows([path], {"paper_id": str, "label": int})], f"{path}:3: not UTF-8")


def test_a_parquet_page_cut_out_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "0000.parquet"
    pq.write_table(pa.table({"paper_id": [f"d{i}" for i in range(5000)], "label": [*range(5000)]}), path)
    data = bytearray(path.read_bytes())
    data[100:2000] = bytes(1900)
    path.write_bytes(data)
    refused(lambda: [*hub.rows([path], {"paper_id": str, "label": int})], str(path), ": not a whole parquet file")


def test_splits_and_configurations_that_are_not_there(root: Path) -> None:
    shutil.rmtree(root / "scirepeval_test" / "drsm" / "test")
    refused(lambda: read("scirepeval/drsm", root), "drsm/test: no split 'test'. Valid: train")
    (root / "scirepeval_test" / "relish").rename(root / "scirepeval_test" / "relisch")
    refused(lambda: read("scirepeval/relish", root), "relish: no configuration 'relish'. did you mean 'relisch'")
    refused(lambda: read("scirepeval/relish", root / "elsewhere"), "Run `scirep data get scirepeval_test`")


@pytest.mark.parametrize(("form", "gone", "says"), [
    ("shards", "train/0001.parquet", "0002.parquet: shard 1 before this one is missing"),
    ("announced", "train-00001-of-00002.parquet", "train-00000-of-00002.parquet: the last shard here; 00002 are"),
])  # fmt: skip
def test_a_missing_shard_is_refused(form: str, gone: str, says: str, root: Path) -> None:
    write(root, "drsm", "train", [*_DRSM, {"paper_id": "d9", "label": 1}], labels=True, form=form)
    (root / "scirepeval_test" / "drsm" / gone).unlink()
    refused(lambda: read("scirepeval/drsm", root), says)


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
