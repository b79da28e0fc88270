"""BEIR, the recommendation study, short queries, S2AND, MDCR, SciMult and MAPLE: what each layout reads, what damage says."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from small_files import MIRROR, jsonl, mirrored, refused
from small_published import (
    FINE,
    KITES,
    PAIR,
    collection,
    read,
    text,
    write_beir,
    write_fields,
    write_kites,
    write_maple,
    write_scimult,
    write_stones,
    write_study,
)

from scirep_core.bench.scoring import evaluate
from scirep_core.data.readers import beir, maple, mdcr, neighbours, recommendation, s2and, samples, scimult
from scirep_core.data.task import Byline, Collection, LabelText, Pooled, Qrel, Signature, Triple
from scirep_core.kit.records import Paper

ACL, S2AND, MDCR, SCIFACT = "neighbours/acl_anth", "scirepeval/s2and", "scirepeval/mdcr", "scimult/scifact"


def test_splits_are_merged_and_grades_kept(tmp_path):
    write_beir(tmp_path)
    task = read(SCIFACT, tmp_path)
    assert (task.type, task.format, task.similarity, task.metrics) == ("retrieval", "QRY", "dot", ("ndcg@10",))
    assert task.payload.relevant == {"q2": {"d3": 1}, "q1": {"d1": 2, "d2": 0}}  # train before test
    assert task.payload.pool == ("d1", "d2", "d3") and task.payload.text_query
    assert task.queries == {"q1": "what flies on a line", "q2": "what needs a hill"}
    assert "1 queries without a judgement left out" in task.notes and "splits merged: train, test" in task.notes
    for _ in range(2):  # streamed a second time
        assert [paper[:2] for paper in task.texts()] == [("d1", "Kites"), ("d2", ""), ("d3", "Gliders")]
    oracle = tmp_path / "oracle" / "scimult__scifact.npz"
    oracle.parent.mkdir()
    oracle.touch()
    again = read(SCIFACT, tmp_path)
    assert (task.oracle, again.oracle, again.data_hash) == (None, oracle, task.data_hash)


def test_trec_form_and_a_source_without_texts(tmp_path):
    folder = write_beir(tmp_path)
    for name in ("corpus.jsonl", "qrels/test.tsv", "qrels/train.tsv"):
        (folder / name).unlink()
    (folder / "qrels/test.txt").write_text("q1 0 d7 2\nq1 0 d9 -1\nq2\t0\td7\t0\n")
    task = read(SCIFACT, tmp_path)
    assert task.payload.relevant == {"q1": {"d7": 2, "d9": -1}, "q2": {"d7": 0}}
    assert task.payload.pool == ("d7", "d9") and list(task.texts()) == []
    assert "no document texts" in task.notes and "1 queries with nothing relevant" in task.notes
    assert next(beir.qrels(folder / "qrels/test.txt")) == (1, Qrel("q1", "d7", 2))


def recommended(root):
    return read("scimult/recommendation", root, "real")


def test_study_keeps_file_order_and_duplicates_and_rounds_half_up(tmp_path):
    study = write_study(tmp_path) / recommendation.STUDY
    task = recommended(tmp_path)
    assert task.payload.rows == (Qrel("1", "2", 3), Qrel("1", "3", 5), Qrel("1", "2", 2), Qrel("4", "2", 1))
    notes = ("1 rows without a score skipped", "1 half-point scores rounded up", "1 rows repeat a pair", "no texts")
    assert all(note in task.notes for note in notes) and list(task.texts()) == []
    rows = [row for _, row in recommendation.rows(study)]
    assert [row.similarity for row in rows] == [0.5, None, 0.5, 0.1, 0.75]
    assert [row.score for row in rows] == [2.5, 5.0, 2.0, None, 1.0] and rows[3].method == "Both"
    papers = study.with_name(recommendation.PAPERS)
    jsonl(papers, [{"paper_id": key, "title": f"Title {key}", "abstract": None} for key in "1234"])
    assert recommended(tmp_path).papers["3"][1:3] == ("Title 3", "")
    jsonl(papers, [{"paper_id": key, "title": "", "abstract": ""} for key in "124"])
    refused(lambda: recommended(tmp_path), "tsv:3: paper 3 is not in papers.jsonl")


def test_scimults_own_form(tmp_path):
    path = tmp_path / "scimult" / recommendation.RELEASED
    rows = [{"paper": "1", "title": "A", "abstract": "a", "score": {"2": 4, "3": 2.5}},
            {"paper": "2", "title": "B", "abstract": "b", "score": {}},
            {"paper": "3", "title": "C", "abstract": "c", "score": {"2": 1}}]  # fmt: skip
    jsonl(path, rows)
    task = recommended(tmp_path)
    assert task.payload.rows == (Qrel("1", "2", 4), Qrel("1", "3", 3), Qrel("3", "2", 1))
    assert task.notes == "1 half-point scores rounded up" and task.papers["2"].abstract == "b"
    for change, says in (
        ({"2": 6}, ":1: score 6 is outside 1-5"),
        ({"9": 4}, ":1: candidate 9 of 1 is no paper of this file"),
        ({"2": True}, ":1: field '2' must be int or float"),
        ([], ":1: field 'score' must be dict"),
    ):
        jsonl(path, [{**rows[0], "score": change}, *rows[1:]])
        refused(lambda: recommended(tmp_path), says)


def test_mesh_names(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("mesh_id\tmesh_name\nD1\tKite\nD2\tGlider\n")
    assert samples.mesh_terms(path) == {"D1": "Kite", "D2": "Glider"}


def linked(path, source):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(MIRROR / source)


@mirrored("scimult")
@pytest.mark.parametrize(("task", "folder", "files", "grades", "queries", "says"), [
    ("nfcorpus", "nfcorpus", ("nfcorpus/queries.jsonl", "nfcorpus/qrels_test.txt"), [0, 11_758, 576], 323,
     "2,914 queries without a judgement"),
    ("trec_covid_beir", "trec-covid", ("trec_covid/beir_queries.jsonl", "trec_covid/qrels_beir_test.txt"),
     [41_661, 10_456, 14_217], 50, ""),
])  # fmt: skip
def test_real_judgements(tmp_path, task, folder, files, grades, queries, says):
    for source, target in zip(files, ("queries.jsonl", "qrels/test.txt"), strict=True):
        linked(tmp_path / "beir" / folder / target, f"scimult/{source}")
    found = read(f"scimult/{task}", tmp_path, "real")
    all_grades = [grade for of in found.payload.relevant.values() for grade in of.values()]
    assert [all_grades.count(grade) for grade in (0, 1, 2)] == grades and len(all_grades) == sum(grades)
    assert len(found.queries) == len(found.payload.relevant) == queries and says in found.notes
    assert task == "nfcorpus" or len(found.payload.pool) == 35_479


def test_plain_collections(tmp_path):
    write_kites(tmp_path)
    task = read(ACL, tmp_path)
    assert (task.type, task.similarity, task.source) == ("alternative_self", "cosine", "embedded")
    assert task.payload == Collection(("a1", "a2", "a3")) and task.notes == "2 papers without an abstract"
    assert task.papers["a1"] == Paper("a1", "Kites\u2028in wind", "A kite.", 2019, venue="AIR")
    assert task.papers["a3"] == Paper("a3", "Balloons", "")
    assert len(list(task.texts())) == len(list(task.texts())) == 3
    (tmp_path / "acl_anthology" / "acl_anth.jsonl.gz").unlink()
    jsonl(tmp_path / "acl_anthology" / "acl_anth.jsonl", [*KITES, {**KITES[0], "paper_id": "a4"}])
    assert "1 papers repeat another's title and abstract" in read(ACL, tmp_path).notes
    stream = neighbours.papers(tmp_path / "no.jsonl.gz")  # not read until asked
    refused(lambda: next(stream), "file not found")


def test_s2and_by_hand(tmp_path):
    write_stones(tmp_path)
    task = read(S2AND, tmp_path)
    assert task.payload.rows == (
        Signature("qian/0", "11", "qian/a pebble", "qian/1", "Ada Pebble", "Quarry", "Ada", "", "Pebble", "", 0),
        Signature("qian/1", "12", "qian/a pebble", "qian/1", "Ada B. Pebble Jr", "Quarry; Pit", "Ada", "B.", "Pebble", "a@q", 2),
        Signature("qian/2", "12", "qian/a pebble", "", "Pebble", "", "", "", "Pebble", "", 0),
        Signature("zbmath/0", "12", "zbmath/c sand", "zbmath/1", "Ada Pebble", "Quarry", "Ada", "", "Pebble", "", 0),
    )  # fmt: skip
    assert task.payload.bylines == {
        "11": Byline("11", ("C Sand", "Ada Pebble"), "J. Stones", ("12", "99")),
        "12": Byline("12", (), "J. Stones"),
    }
    assert [*task.texts()] == [
        Paper("11", "Stones 11", "Of pebbles.", 2001, venue="J. Stones"),
        Paper("12", "Stones 12", "", None, venue="Stone Conf."),
    ]  # 13 is nobody's
    assert (task.type, task.format, task.metrics, task.notes) == ("author_disambiguation", "PRX", ("b3_f1",), "")
    collection(tmp_path, "zbmath", False, papers={"12": text(12), "13": text(13)})
    assert read(S2AND, tmp_path).data_hash != task.data_hash
    (tmp_path / "s2and" / "qian" / "qian_papers.json").unlink()
    bare = read(S2AND, tmp_path)
    assert bare.notes == "qian: no papers file, so no text for its 2 papers" and [*bare.papers] == ["12"]


@mirrored("s2and")
def test_s2and_real_samples():
    task = read(S2AND, MIRROR, "real")
    rows = {name: [row for row in task.payload.rows if row.block.startswith(f"{name}/")] for name in ("dummy", "qian")}
    assert {name: len(found) for name, found in rows.items()} == {"dummy": 9, "qian": 6542}
    assert {name: len({r.cluster for r in found} - {""}) for name, found in rows.items()} == {"dummy": 3, "qian": 1188}
    assert sum(not row.cluster for row in task.payload.rows) == 4  # those of dummy that S2AND's own test leaves open
    assert len({row.signature_id for row in task.payload.rows}) == 6551
    assert len({row.block for row in rows["qian"]}) == 606
    assert all(row.name for row in task.payload.rows) and rows["dummy"][0].name == "Dr A'bdul Sattar"
    assert len(task.papers) == 7 and task.notes == "qian: no papers file, so no text for its 6542 papers"


def test_mini_drops_large_blocks_whole_keeps_the_first_names_and_no_torn_cluster():
    rows = [Signature(f"{block}{i}", "1", block, f"{block}-{i % 2}") for block in "dbca" for i in range(4)]
    rows += [Signature("b9", "1", "b", "shared"), Signature("d9", "1", "d", "shared"), Signature("a9", "1", "a", "")]
    assert s2and.mini(rows) == rows
    kept = s2and.mini(rows, blocks=2, signatures=5)
    assert kept == [row for row in rows if row.block in "ab" and row.cluster != "shared"]  # the first two names
    assert s2and.mini(rows[::-1], blocks=2, signatures=5) == kept[::-1]
    kept = s2and.mini(rows, blocks=9, signatures=4)  # a, b and d hold five
    assert {row.block for row in kept} == {"c"} and len(kept) == 4


def test_mdcr_by_hand(tmp_path):
    folder = write_fields(tmp_path)
    task = read(MDCR, tmp_path)
    rows = task.payload.rows
    # 4 is cited and found by BM25: cited counts, wherever `true` stands in the file; 6 is found twice: one pair
    found = {(r.cand_id, r.score) for r in rows if (r.group, r.query_id) == ("Geology", "1")}
    assert found == {("4", 1), ("5", 1), ("6", 0), ("7", 0)}
    assert [r for r in rows if r.query_id == "2"] == [Qrel("2", "6", 0, "Geology"), Qrel("2", "8", 1, "Geology")]
    assert Counter((r.group, r.query_id) for r in rows) == {("Geology", "1"): 4, ("Geology", "2"): 2, ("Art", "1"): 7}
    assert not task.payload.text_query
    assert len(task.papers) == 8 and task.papers["2"] == Paper("2", "Stones 2", "")
    assert (task.type, task.metrics, task.related) == ("proximity", ("map", "recall@5"), "related")
    (folder / mdcr.DATA).unlink()
    bare = read(MDCR, tmp_path)
    assert (bare.papers, len(bare.payload.rows)) == ({}, 13) and bare.data_hash != task.data_hash


@pytest.fixture
def scimult_task(tmp_path):
    write_scimult(tmp_path)
    return lambda name: read(f"scimult/{name}", tmp_path)


def test_labels_fine_and_coarse(scimult_task, tmp_path):
    task = scimult_task("geography")
    assert (task.type, task.format, task.similarity, task.notes) == ("label_ranking", "CLF", "dot", "")
    space = task.payload
    assert space.gold == {"1": ("L1", "L3"), "2": ("L2",), "3": ("L3",)}
    assert list(space.labels.values()) == [LabelText("L1", "kites", "things on a line"), LabelText("L2", "gliders"),
                                           LabelText("L3", "balloons")]  # fmt: skip
    assert space.matched == {"1": ("L1",), "2": (), "3": ("L3", "L2")}
    assert (task.papers["1"].title, task.papers["3"].abstract) == ("Title 1", "")
    (tmp_path / "scimult" / FINE / "Geography_matched.json").unlink()
    bare = scimult_task("geography")
    assert (bare.payload.matched, bare.notes) == ({}, "no lists of name matches")
    assert bare.data_hash != task.data_hash
    coarse = scimult_task("mag").payload
    assert (coarse.gold, coarse.matched) == ({"1": ("L3",), "2": ("L1",)}, {})


def test_links(scimult_task):
    task = scimult_task("cite")
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
    task = scimult_task("cocite")
    assert task.payload.relevant == {"2": {"1": 1}}
    assert task.notes == "2 papers without a link are in the pool but are no query"


def test_patients(scimult_task, tmp_path):
    task = scimult_task("ppr")
    assert task.payload.relevant == {"query-0": {"p2": 1}, "query-1": {"p1": 1, "p2": 1}}
    assert task.payload.pool == ("p1", "p2") and task.papers["query-0"].title == "A cough"
    assert [p.paper_id for p in task.texts()] == ["p1", "p2", "query-0", "query-1"]
    task = scimult_task("pmc_par")
    assert task.payload == Pooled({"x1": {"a1": 2, "a2": 1}}, ("a1", "a2"), keep_self=False, text_query=True)
    assert (task.queries, task.notes) == ({"x1": "He coughs."}, "1 queries without a judgement left out")
    full = tmp_path / "scimult/pmc_patients/PMCPatientsPAR_queries_test.json"
    jsonl(full, [{"query": "x1", "title": "A cough", "abstract": "Dry."}])
    task = scimult_task("pmc_par")
    assert not task.payload.text_query and task.queries == {}
    assert [p.paper_id for p in task.texts()] == ["a1", "a2", "x1"]
    jsonl(full, [{"query": "x7", "title": "A cough", "abstract": "Dry."}])
    refused(lambda: scimult_task("pmc_par"), "judged query x1 has no text here")


def test_pretraining_is_streamed(scimult_task, tmp_path):
    task = scimult_task("pretrain_search")
    kite, boat = "Kites [SEP] A kite.", "Boats [SEP] A boat."
    assert task.payload.splits == ("train",)
    texts = {paper.paper_id: paper.title for paper in task.texts()}
    for _ in range(2):  # opens the file again
        assert [Triple(*(texts.get(key, "") for key in row)) for row in task.payload.rows("train")] == [
            Triple("flying on a line", kite, "Gliders [SEP] "), Triple("q2", kite, boat), Triple("q3", kite), Triple("q3", "Wind."),
        ]  # fmt: skip
    assert {scimult.text_id(text) for text in texts.values()} == set(texts)
    pretraining = tmp_path / "scimult/pretraining"
    jsonl(pretraining / "search_val.json", [PAIR])
    jsonl(pretraining / "search_train.json", [PAIR, PAIR, {**PAIR, "question": 7}])
    task = scimult_task("pretrain_search")
    assert task.payload.splits == ("train", "validation") and len(list(task.payload.rows("validation"))) == 1
    rows = task.payload.rows("train")
    assert next(rows) == next(rows)
    refused(lambda: next(rows), "search_train.json:3: field 'question' must be str")


def test_maple_folder(tmp_path):
    field = write_maple(tmp_path)
    first = next(maple.papers(field))
    assert first.raw == Paper("1", "Title-1!", "A, B.", 2015, venue="V1")
    assert (first.labels, first.references) == (("L1", "L3"), ("99",))
    splits = {split: [p.raw.paper_id for p in maple.papers(field) if maple.wanted(p, split)] for split in maple.SPLITS}
    assert splits == {"all": ["1", "2", "3"], "train": ["1", "3"], "test": ["2"]}
    assert maple.labels(field / "labels.txt") == {"L3": "balloons", "L1": "kites", "L2": "gliders"}
    assert maple.labels(field / "labels_mesh.txt") == {"L1": "kites", "L2": "gliders"}
