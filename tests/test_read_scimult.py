"""SciMult's files and MAPLE: what each layout reads, and what each kind of damage says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import small_published
from small_files import jsonl, refused
from small_published import FINE, PAIR, write_maple, write_scimult

from scirep_core.bench.scoring import evaluate
from scirep_core.data.inventory import TASKS
from scirep_core.data.readers import maple, scimult
from scirep_core.data.task import LabelText, Pooled, Triple
from scirep_core.kit.errors import ConfigError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_scimult(tmp_path)
    return tmp_path


def read(root: Path, name: str):
    return small_published.read(f"scimult/{name}", root)


def test_fine(root):
    task = read(root, "geography")
    assert (task.type, task.format, task.similarity, task.notes) == ("label_ranking", "CLF", "dot", "")
    space = task.payload
    assert space.gold == {"1": ("L1", "L3"), "2": ("L2",), "3": ("L3",)}
    assert list(space.labels.values()) == [LabelText("L1", "kites", "things on a line"), LabelText("L2", "gliders"),
                                           LabelText("L3", "balloons")]  # fmt: skip
    assert space.matched == {"1": ("L1",), "2": (), "3": ("L3", "L2")}
    assert (task.papers["1"].title, task.papers["3"].abstract) == ("Title 1", "")
    (root / "scimult" / FINE / "Geography_matched.json").unlink()
    bare = read(root, "geography")
    assert (bare.payload.matched, bare.notes) == ({}, "no lists of name matches")
    assert bare.data_hash != task.data_hash


def test_coarse(root):
    space = read(root, "mag").payload
    assert (space.gold, space.matched) == ({"1": ("L3",), "2": ("L1",)}, {})


def test_links(root):
    task = read(root, "cite")
    relevant = {"1": {"2": 1, "3": 1, "99": 1}, "3": {"98": 1}}
    assert task.payload == Pooled(relevant, ("1", "2", "3"), keep_self=True, text_query=False)
    for note in ("1 papers without a link", "2 links to papers outside the pool", "1 papers with such links only score 0",
                 "1 repeated links"):  # fmt: skip
        assert note in task.notes
    assert len(task.papers) == 3
    vectors = {key: np.array([float(key), 1.0]) for key in "123"}
    for protocol, value, n, told in (
        ("paper", 100 * (2 / 3 + 0) / 2, 2, "count as not"),
        ("sound", 100.0, 1, "left out"),
    ):
        row = evaluate(task, vectors, protocol)[0]
        assert (row.metric, row.n, row.value) == ("recall@20", n, pytest.approx(value))
        assert f"2 judged papers outside the pool {told}" in row.note
    task = read(root, "cocite")
    assert task.payload.relevant == {"2": {"1": 1}}
    assert task.notes == "2 papers without a link are in the pool but are no query"


def test_patients_zero_shot(root):
    task = read(root, "ppr")
    assert task.payload.relevant == {"query-0": {"p2": 1}, "query-1": {"p1": 1, "p2": 1}}
    assert task.payload.pool == ("p1", "p2")
    assert [p.paper_id for p in task.texts()] == ["p1", "p2", "query-0", "query-1"]
    assert task.papers["query-0"].title == "A cough"


def test_patients_supervised(root):
    task = read(root, "pmc_par")
    assert task.payload == Pooled({"x1": {"a1": 2, "a2": 1}}, ("a1", "a2"), keep_self=False, text_query=True)
    assert (task.queries, task.notes) == ({"x1": "He coughs."}, "1 queries without a judgement left out")
    full = root / "scimult/pmc_patients/PMCPatientsPAR_queries_test.json"
    jsonl(full, [{"query": "x1", "title": "A cough", "abstract": "Dry."}])
    task = read(root, "pmc_par")
    assert not task.payload.text_query and task.queries == {}
    assert [p.paper_id for p in task.texts()] == ["a1", "a2", "x1"]
    jsonl(full, [{"query": "x7", "title": "A cough", "abstract": "Dry."}])
    refused(lambda: read(root, "pmc_par"), "judged query x1 has no text here")


def test_pretraining(root):
    task = read(root, "pretrain_search")
    kite, boat = "Kites [SEP] A kite.", "Boats [SEP] A boat."
    assert task.payload.splits == ("train",)
    texts = {paper.paper_id: paper.title for paper in task.texts()}
    for _ in range(2):  # opens the file again
        assert [Triple(*(texts.get(key, "") for key in row)) for row in task.payload.rows("train")] == [
            Triple("flying on a line", kite, "Gliders [SEP] "), Triple("q2", kite, boat), Triple("q3", kite), Triple("q3", "Wind."),
        ]  # fmt: skip
    assert {scimult.text_id(text) for text in texts.values()} == set(texts)
    refused(lambda: task.payload.rows("trian"), "did you mean 'train'", error=ConfigError)
    jsonl(root / "scimult/pretraining/search_val.json", [PAIR])
    task = read(root, "pretrain_search")
    assert task.payload.splits == ("train", "validation")
    assert len(list(task.payload.rows("validation"))) == 1


def test_pretraining_is_streamed(root):
    jsonl(root / "scimult/pretraining/search_train.json", [PAIR, PAIR, {**PAIR, "question": 7}])
    rows = read(root, "pretrain_search").payload.rows("train")
    assert next(rows) == next(rows)
    refused(lambda: next(rows), "search_train.json:3: field 'question' must be str")


@pytest.mark.parametrize(("config", "says"), [
    ("link/cite", "unknown kind 'link' of scimult/cite; did you mean 'links'"),
    ("links/cites", "unknown link 'cites'; did you mean 'cite'"),
])  # fmt: skip
def test_unknown_kinds_are_named(config, says, root):
    spec = TASKS["scimult/cite"]._replace(config=config)
    refused(lambda: scimult.read(spec, "scimult/cite", root, "embedded"), says, error=ConfigError)


# ---- MAPLE ----------------------------------------------------------------------------------------------------------


def test_maple_folder(tmp_path):
    field = write_maple(tmp_path)
    first = next(maple.papers(field))
    assert (first.raw.title, first.raw.abstract) == ("Title-1!", "A, B.")
    assert (first.raw.year, first.raw.venue, first.labels, first.references) == (2015, "V1", ("L1", "L3"), ("99",))
    splits = {split: [p.raw.paper_id for p in maple.papers(field) if maple.wanted(p, split)] for split in maple.SPLITS}
    assert splits == {"all": ["1", "2", "3"], "train": ["1", "3"], "test": ["2"]}
    assert maple.labels(field / "labels.txt") == {"L3": "balloons", "L1": "kites", "L2": "gliders"}
    assert maple.labels(field / "labels_mesh.txt") == {"L1": "kites", "L2": "gliders"}
