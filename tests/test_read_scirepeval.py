"""The reader of SciRepEval: every configuration by hand, every form of file, every kind of damage named by file and row."""

from __future__ import annotations

import io
import json
import math
import os
import random
import shutil
import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_files import at, jsonl, refused, to_windows

from scirep_core.data import as_task, hub
from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.data.readers import scirepeval
from scirep_core.data.task import Example, Judged, Labelled, Qrel, Reviewers, Triple
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Paper

NAMES = [name for name, spec in TASKS.items() if spec.reader == "scirepeval"]


def write(root, config, split, rows, labels=False, form="parquet"):
    """Write one split in one of its forms and return its (first) file."""
    folder = root / ("scirepeval_test" if labels else "scirepeval") / config
    shutil.rmtree(folder / split, ignore_errors=True)
    shards = {"parquet": [rows], "shards": [rows[:1], rows[1:2], rows[2:]], "announced": [rows[:1], rows[1:]]}.get(form)
    name = {"announced": f"{split}-{{:05d}}-of-00002.parquet", "qrel": f"{split}_qrel.jsonl"}.get(
        form, f"{split}.{form}"
    )
    path = folder / (f"{split}/{{:04d}}.parquet" if form in ("parquet", "shards") else name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if shards:
        for number, shard in enumerate(shard for shard in shards if shard):
            pq.write_table(pa.Table.from_pylist(shard), str(path).format(number))
    elif form == "json":
        path.write_text(json.dumps(rows, indent=1))
    elif form == "csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        jsonl(path, rows)
    return Path(str(path).format(0))


def paper(number, **more):
    abstract = None if number % 3 == 0 else f"We weigh pebbles of kind {number}."
    return {"doc_id": f"d{number}", "corpus_id": number, "title": f"Pebbles {number}", "abstract": abstract, **more}


def flat(*numbers, **more):
    return [paper(number, **more) for number in numbers]


def label(number, value):
    return {"paper_id": f"d{number}", "label": value}


def labels(train, test):
    rows = [label(i, value) for i, value in enumerate([*train, *test])]
    return {"train": rows[: len(train)], "test": rows[len(train) :]}


def hot(*classes):
    return [int(i in classes) for i in range(23)]


def judged(query, candidate, score):
    return {"query_id": query, "cand_id": candidate, "score": score}


QRELS = [judged(f"d{q}", f"d{c}", s) for q, c, s in ((1, 4, 1), (1, 5, 0), (2, 6, 1), (2, 1, 0), (1, 4, 0))]
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
TRIPLES = [{"query": paper(q), "pos": paper(p), "neg": paper(n)} for q, p, n in ((1, 2, 3), (1, 4, 5), (6, 1, 2))]


def ranked(config):
    rows = []
    for query, candidates in ((1, (4, 5)), (2, (6, 1))):
        found = [paper(c, score=i, venue=f"Venue {c}", year=float(2000 + c) if c != 5 else 0.0)
                 for i, c in enumerate(candidates)]  # fmt: skip
        asked = {"query": f"pebble {query}", "doc_id": f"d{query}"} if config in BARE else {"query": paper(query)}
        rows.append(asked | {"candidates": found})
    return rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
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
        rows = [judged("d1", f"r{i}", score) for i, score in enumerate(scores)]
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


@pytest.fixture
def root(whole, tmp_path):
    """Return a copy to be damaged: links, for every test puts a new file in the place of one it damages."""
    return Path(shutil.copytree(whole, tmp_path / "root", copy_function=os.link))


def read(name, root, source="embedded"):
    return as_task(TASKS[name], name, root, source, scirepeval.read(TASKS[name], root))


@pytest.mark.parametrize("name", NAMES)
def test_every_task_is_read(name, whole):
    task, spec = read(name, whole), TASKS[name]
    config, payload = spec.config, task.payload
    assert (task.name, task.type, task.format, task.metrics) == (name, spec.type, spec.format, spec.metrics)
    assert (task.source, task.related, task.oracle) == ("embedded", spec.relation, None)
    assert task.similarity == ("cosine" if spec.type == "reviewer_matching" else "l2")
    if config in SUPERVISED:
        kind = tuple if spec.multi_label else {"classification": int, "regression": float}[spec.type]
        splits = {split: tuple(Example(row["paper_id"], tuple(row["label"]) if spec.multi_label else row["label"])
                               for row in rows) for split, rows in SUPERVISED[config].items()}  # fmt: skip
        assert payload == Labelled(splits, config == "fos", spec.few_shot)
        assert {type(one.label) for of in payload.splits.values() for one in of} == {kind}
        assert [*task.papers] == ["d0", "d1", "d2", "d3"]
        assert task.papers["d3"] == Paper("d3", "Pebbles 3", "")  # neither year nor venue: they are targets
    elif config in JUDGED:
        assert payload == Judged(tuple(Qrel(**row) for row in QRELS), config in BARE)  # in order, repeats included
        assert task.queries == ({"d1": "pebble 1", "d2": "pebble 2"} if config in BARE else {})
        order = "d4 d5 d6 d1" if config in BARE else "d1 d2 d4 d5 d6" if "scidocs" in config else "d1 d4 d5 d2 d6"
        assert [p.paper_id for p in task.texts()] == order.split()
        if config in BARE:
            assert task.papers["d4"] == Paper("d4", "Pebbles 4", "We weigh pebbles of kind 4.", 2004, venue="Venue 4")
            assert task.papers["d5"].year is None  # 0 stands for none
    elif spec.type == "reviewer_matching":
        hard, soft = ((Qrel("d1", "r0", 1), Qrel("d1", "r1", score)) for score in (0, 1))
        assert payload == Reviewers(hard, soft, {"r0": ("d2",), "r1": ("d3", "d2")})
        assert len(task.papers) == 3
    else:
        assert payload.splits == ("train", "validation")
        assert [*payload.rows("train")][1] == Triple("d1", "d4", "d5")
        assert len([*payload.rows("validation")]) == 1
        assert [*task.papers] == ["d1", "d2", "d3", "d4", "d5", "d6"]


def test_every_scirepeval_row_of_the_inventory_is_in_the_small_collection():
    specs = [TASKS[name] for name in NAMES]
    assert {spec.config for spec in specs} == {*SUPERVISED, *JUDGED, "paper_reviewer_matching", "cite_prediction"}
    assert set(scirepeval.CLASSES) == {spec.config for spec in specs if spec.type == "classification"}
    counted = {spec.config: spec.expect["labels"] for spec in specs if "labels" in spec.expect}
    assert scirepeval.CLASSES.items() >= counted.items()


@pytest.mark.parametrize("name", TRAINING)
@pytest.mark.parametrize("split", ["train", "validation"])
def test_training_sets(name, split, whole):
    rows = [*scirepeval.training(name, whole, split)]
    config = TASKS[name].config
    four = Paper("d4", "Pebbles 4", "We weigh pebbles of kind 4.")
    targets = {"fos": ([(), ("Field 3",)], 3), "mesh_descriptors": (["Term 9", "Term 8"], 8), "cite_count": ([0.5] * 2, 2),
               "pub_year": ([0.25] * 2, 2)}  # fmt: skip
    if config in targets:
        wanted, second = targets[config]
        assert [row.target for row in rows] == wanted
        abstract = "" if second == 3 else f"We weigh pebbles of kind {second}."
        assert rows[1].paper == Paper(f"d{second}", f"Pebbles {second}", abstract)
    elif config == "cite_prediction":
        ids = ["d1 d2 d3", "d1 d4 d5", "d6 d1 d2"]
        assert [" ".join(p.paper_id for p in row) for row in rows] == ids[: 3 if split == "train" else 1]
    else:
        bare = config == "search"
        assert [row.query.paper_id for row in rows] == ["d1", "d2"] and rows[0].scores == (0, 1)
        assert rows[0].candidates[0] == (four._replace(year=2004, venue="Venue 4") if bare else four)
        assert rows[0].query[1:3] == (("pebble 1", "") if bare else ("Pebbles 1", "We weigh pebbles of kind 1."))


def test_names_that_are_no_training_set(whole):
    nearest = "did you mean 'scirepeval/search'"
    refused(lambda: scirepeval.training("scirepeval/serch", whole), nearest, error=ConfigError)


@pytest.mark.parametrize("form", ["shards", "announced", "json", "jsonl", "jsonl.gz", "csv", "qrel"])
def test_every_form_of_a_file_reads_alike_from_windows_too(form, whole, root):
    before = {name: read(name, root) for name in ("scirepeval/drsm", "scirepeval/relish")}
    assert all(read(name, whole).data_hash == task.data_hash for name, task in before.items()), "content, not place"
    papers = {name: task.papers for name, task in before.items()}
    for config, split, rows in (("drsm", "train", SUPERVISED["drsm"]["train"]), ("relish", "test", QRELS)):
        path = write(root, config, split, rows, labels=True, form=form)
        if form in ("json", "jsonl", "csv"):
            to_windows(path)
    if form != "csv":
        for config, rows in (("drsm", flat(0, 1, 2, 3)), ("relish", ranked("relish"))):
            shutil.rmtree(root / "scirepeval" / config)
            write(root, config, "evaluation", rows, form=form)
    for name, task in before.items():
        found = read(name, root)
        assert (found.payload, found.papers) == (task.payload, papers[name])
        assert found.data_hash != task.data_hash


def test_texts_may_be_absent_and_relations_hold_for_the_embedded_literature_alone(root):
    assert [read(f"scirepeval/{name}", root, "real").related for name in ("drsm", "fos")] == ["", "in-train"]
    shutil.rmtree(root / "scirepeval")
    task = read("scirepeval/nfcorpus", root)
    assert (len(task.payload.rows), task.papers, task.queries) == (5, {}, {})


def test_older_dumps_have_corpus_ids_alone_and_unnamed_queries(tmp_path):
    candidate = {"corpus_id": 7, "title": "Pebbles", "abstract": None, "year": "", "venue": "", "score": 1}
    write(tmp_path, "search", "train", [{"query": "stones", "candidates": [candidate]}], form="jsonl")
    (row,) = scirepeval.training("scirepeval/search", tmp_path)
    assert (row.query, row.candidates) == (Paper("train.jsonl:1", "stones", ""), (Paper("7", "Pebbles", ""),))


DRSM = SUPERVISED["drsm"]["train"]
COLUMNS = None
"""In place of a line: what is said of the columns of a parquet file, and of the first line of one without."""
MALFORMED: list[tuple[str, str, list[dict[str, Any]], int | None, str]] = [
    ("drsm", "train", [{"paper_id": "d0", "labels": 1}], COLUMNS, "no column 'label'. did you mean 'labels'"),
    ("drsm", "train", [label(0, 1.5)], 1, "field 'label' must be int"),
    ("drsm", "train", [*DRSM, label(9, None)], 4, "field 'label' must be int"),
    ("drsm", "train", [*DRSM, label(9, 6)], 4, "label 6 is not one of 0 to 5"),
    ("scidocs_mag", "test", [label(9, -1)], 1, "label -1 … 0 to 18"),
    ("fos", "test", [label(9, hot()[1:])], 1, "label has 22 entries… 23"),
    ("fos", "test", [label(9, [2, *hot()[1:]])], 1, "label holds 2"),
    ("fos", "test", [label(9, 3)], 1, "field 'label' must be list"),
    ("cite_count", "test", [label(9, math.nan)], 1, "field 'label' must be … found nan"),
    ("drsm", "train", [*DRSM, label(1, 1)], 4, "paper 'd1' is listed twice in train (first at …train…:2)"),
    ("drsm", "test", [label(8, 1), label(2, 1)], 2,
     "paper 'd2' of test is in train as well (first at train/0000.parquet:3)"),
    ("drsm", "train", [{"paper_id": "", "label": 1}], 1, "'paper_id' must hold ids, found ''"),
    ("relish", "test", [*QRELS, judged(None, "d4", 1)], 6, "field 'query_id' must be str or int, found None"),
    ("relish", "test", [judged("d1", "d4", 0.5)], 1, "score 0.5"),
    ("same_author", "test", [judged("d1", "d4", 2)], 1, "score 2 is above 1"),
    ("trec_covid", "test", [judged("d1", "d4", -1), judged("d1", "d4", -2)], 2, "score -2"),
    ("search", "test", [*QRELS, judged("d7", "d4", 1)], 6, "query 'd7' has no text"),
    ("paper_reviewer_matching", "test_soft", [judged("d1", "r7", 1)], 1,
     "reviewer 'r7' is not in `reviewers`. …Valid: r0, r1"),
    ("paper_reviewer_matching", "test_hard", [judged("d1", "r0", 3)], 1, "score 3"),
    ("reviewers", "metadata", [{"r_id": "r0", "papers": ["d2"]}] * 2, 2, "reviewer 'r0' is listed"),
    ("reviewers", "metadata", [{"r_id": "r0", "papers": ["d2"]}, {"r_id": "r1", "papers": []}], 2,
     "reviewer 'r1' has no papers"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "split", "rows", "line", "says"), MALFORMED, ids=[row[4] for row in MALFORMED])
def test_malformed_labels_name_file_and_row(config, split, rows, line, says, root):
    name = "scirepeval/" + config.replace("reviewers", "paper_reviewer_matching")
    path = write(root, config, split, rows, labels=True)
    refused(lambda: read(name, root), at(path, line), *says.split("…"))
    path = write(root, config, split, rows, labels=True, form="jsonl")
    says = "NaN is not a JSON number" if "nan" in says else says
    refused(lambda: read(name, root), at(path, line or 1), *says.split("…"))


def asked(query, *candidates, **more):
    return {"query": query, "candidates": list(candidates), **more}


TEXT_FAULTS: list[tuple[str, list[dict[str, Any]], int | None, str]] = [
    ("drsm", [{"doc_id": "d0", "titel": "x", "abstract": "y"}], COLUMNS, "no column 'title'. did you mean 'titel'"),
    ("drsm", [{"id": "d0", "title": "x", "abstract": "y"}], COLUMNS, "no column 'doc_id' or 'corpus_id'"),
    ("drsm", [{"doc_id": "d0", "title": 3, "abstract": "y"}], 1, "field 'title' must be str"),
    ("drsm", [*flat(1, 2), {**paper(1), "title": "Other"}], 3, "paper 'd1' has another text"),
    ("relish", flat(1), COLUMNS, "no column 'query'"),
    ("relish", [asked("pebbles")], 1, "field 'query' must be dict"),
    ("relish", [asked(paper(1), "d4")], 1, "candidates[1] must be an object, found 'd4'"),
    ("relish", [asked(paper(1), paper(4))], 1, "field 'score' is missing"),
    ("relish", [asked(paper(1), {"title": "", "abstract": "", "score": 1})], 1,
     "candidates[1] has neither doc_id nor corpus_id"),
    ("search", [asked("a", paper(4, score=1, year="old"), doc_id="d1")], 1,
     "candidates[1].year must be a number, found 'old'"),
    ("search", [asked(query, paper(4, score=1), doc_id="d1") for query in "ab"], 2, "query 'd1' has another text"),
    ("cite_prediction", [{"query": paper(1), "pos": paper(2)}], COLUMNS, "no column 'neg'"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "rows", "line", "says"), TEXT_FAULTS, ids=[row[3] for row in TEXT_FAULTS])
def test_malformed_texts_name_file_and_row(config, rows, line, says, root):
    path = write(root, config, "train" if config == "cite_prediction" else "evaluation", rows)
    if config == "search":
        write(root, config, "test", QRELS[:1], labels=True)
    refused(lambda: read(f"scirepeval/{config}", root).papers, at(path, line), says)


LINE = b'{"paper_id": "d8", "label": 1}\n'
EMPTY = io.BytesIO()
pq.write_table(pa.table({"paper_id": pa.array([], pa.string()), "label": pa.array([], pa.int32())}), EMPTY)
NO_ROWS = ": it has no rows…again; an embedded literature needs more papers"
BYTES: list[tuple[str, bytes, str]] = [
    ("jsonl", LINE + b"[1]\n", ":2: expected a JSON object, found list"),
    ("jsonl", b'{"label": 1, "label": 2}\n', ":1: key 'label' is there twice"),
    ("jsonl", LINE + b'{"paper_id": "d9"}\n', ":2: field 'label' is missing"),
    ("json", b'[{"paper_id": "d8", "label": 1}, {"pa', ": item 2: not JSON"),
    ("json", b'[{"paper_id": "d8", "label": 1}', ": item 1: a comma or"),
    ("json", b'{"d8": 1}', ":1: expected a JSON list"),
    ("json", b'[{"paper_id": "d8", "label": 1}] x', ": item 1: something follows"),
    ("json", b'[{"paper_id": "d\xff", "label": 1}]', ": not UTF-8 (near byte 16"),
    ("json", b'[{"paper_id": "d8", "label": NaN}]', ": item 1: NaN is not a JSON number"),
    ("json", b"", ": expected a JSON object or list, found ''"),
    ("csv", b"paper_id,label\nd8,1\nd9,x\n", ":3: field 'label' must be int, found 'x'"),
    ("csv", b"paper_id,label\nd8,1_0\n", ":2: field 'label' must be int, found '1_0'"),
    ("csv", b"paper_id,label\nd8,\n", ":2: field 'label' must be int, found None"),
    ("jsonl", b"", NO_ROWS), ("json", b"[]", NO_ROWS), ("csv", b"paper_id,label\n", NO_ROWS),
    ("parquet", EMPTY.getvalue(), NO_ROWS),
]  # fmt: skip


@pytest.mark.parametrize(("form", "data", "says"), BYTES, ids=[f"{row[0]}{row[2]}" for row in BYTES])
def test_damaged_bytes_name_file_and_row(form, data, says, root):
    path = write(root, "drsm", "test", [label(8, 1)], labels=True, form=form)
    path.write_bytes(data)
    start, *more = says.split("…")
    refused(lambda: read("scirepeval/drsm", root), f"{path}{start}", *more)


def test_a_parquet_text_that_is_not_utf8_names_its_row_and_a_page_cut_out_the_file(tmp_path):
    offsets = pa.py_buffer(np.array([0, 2, 4, 6], np.int32))
    ids = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"d0d1d\xff")])
    path, kinds = tmp_path / "0000.parquet", {"paper_id": str, "label": int}
    pq.write_table(pa.table({"paper_id": ids, "label": [0, 1, 2]}), path)
    refused(lambda: [*hub.rows([path], kinds)], f"{path}:3: not UTF-8")
    pq.write_table(pa.table({"paper_id": [f"d{i}" for i in range(5000)], "label": [*range(5000)]}), path)
    data = path.read_bytes()
    path.write_bytes(data[:100] + bytes(1900) + data[2000:])
    refused(lambda: [*hub.rows([path], kinds)], str(path), ": not a whole parquet file")


def test_splits_and_configurations_that_are_not_there(root):
    shutil.rmtree(root / "scirepeval_test" / "drsm" / "test")
    refused(lambda: read("scirepeval/drsm", root), "drsm/test: no split 'test'. Valid: train")
    (root / "scirepeval_test" / "relish").rename(root / "scirepeval_test" / "relisch")
    refused(lambda: read("scirepeval/relish", root), "relish: no configuration 'relish'. did you mean 'relisch'")
    refused(lambda: read("scirepeval/relish", root / "elsewhere"), "Run `scirep data get scirepeval_test`")


@pytest.mark.parametrize(("form", "gone", "says"), [
    ("shards", "train/0001.parquet", "0002.parquet: shard 1 before this one is missing"),
    ("announced", "train-00001-of-00002.parquet", "train-00000-of-00002.parquet: the last shard here; 00002 are"),
])  # fmt: skip
def test_a_missing_shard_is_refused(form, gone, says, root):
    write(root, "drsm", "train", [*DRSM, label(9, 1)], labels=True, form=form)
    (root / "scirepeval_test" / "drsm" / gone).unlink()
    refused(lambda: read("scirepeval/drsm", root), says)


@pytest.mark.parametrize("form", ["parquet", "jsonl", "json"])
def test_memory_does_not_grow_with_the_file(form, tmp_path):
    draw = random.Random(0)
    rows = [{**paper(i), "abstract": draw.randbytes(800).hex(), "labels_text": ["Art"]} for i in range(12_000)]
    size = write(tmp_path, "fos", "train", rows, form=form).stat().st_size
    del rows
    assert size > 10_000_000
    tracemalloc.start()
    before, arrow, count = pa.total_allocated_bytes(), 0, 0
    for count, _ in enumerate(scirepeval.training("scirepeval/fos", tmp_path), start=1):
        if count % 500 == 0:
            arrow = max(arrow, pa.total_allocated_bytes() - before)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 12_000
    assert peak + arrow < size / 2


def test_the_first_rows_come_without_reading_the_rest(tmp_path):
    path = write(tmp_path, "fos", "train", [{**paper(1), "labels_text": ["Art"]}], form="jsonl")
    path.write_bytes(path.read_bytes() + b"broken\n")
    assert len([*islice(scirepeval.training("scirepeval/fos", tmp_path), 1)]) == 1


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
def test_json_items_do_not_depend_on_where_a_chunk_ends(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_CHUNK", chunk)
    path = tmp_path / "a.json"
    values = {"ä": 12345, "b": [1, {"ü\u2028": None}], "€": "x" * 50, "d": -1.5e3, "e": True}
    path.write_text(json.dumps(values, ensure_ascii=False, indent=2), encoding="utf-8")
    assert dict(hub.items(path)) == values
    path.write_text(json.dumps([*values.values()]))
    assert [value for _, value in hub.items(path)] == [*values.values()]
    path.write_text(" [ ] ")
    assert [*hub.items(path)] == []
    path.write_text('["' + "x" * 5000)
    refused(lambda: [*hub.items(path, longest=100)], "item 1: not JSON")
