"""BEIR, the recommendation study, short queries, S2AND, MDCR, SciMult and MAPLE: what each layout reads, what damage says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

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
from scirep_core.data.inventory import TASKS
from scirep_core.data.readers import beir, maple, mdcr, neighbours, recommendation, s2and, samples, scimult
from scirep_core.data.task import Byline, Collection, LabelText, Pooled, Qrel, Signature, Triple
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.records import Paper

needs_mirror = mirrored("scimult")
REAL = MIRROR / "scimult"


def test_splits_are_merged_and_grades_kept(tmp_path):
    write_beir(tmp_path)
    task = read("scimult/scifact", tmp_path)
    assert (task.type, task.format, task.similarity, task.metrics) == ("retrieval", "QRY", "dot", ("ndcg@10",))
    assert task.payload.relevant == {"q2": {"d3": 1}, "q1": {"d1": 2, "d2": 0}}  # train before test
    assert task.payload.pool == ("d1", "d2", "d3") and task.payload.text_query
    assert task.queries == {"q1": "what flies on a line", "q2": "what needs a hill"}
    assert "1 queries without a judgement left out" in task.notes and "splits merged: train, test" in task.notes
    for _ in range(2):  # streamed a second time
        assert [(paper.paper_id, paper.title) for paper in task.texts()] == [
            ("d1", "Kites"),
            ("d2", ""),
            ("d3", "Gliders"),
        ]


def test_an_oracle_is_found_and_is_no_part_of_the_hash(tmp_path):
    write_beir(tmp_path)
    before = read("scimult/scifact", tmp_path)
    (tmp_path / "oracle").mkdir()
    (tmp_path / "oracle" / "scimult__scifact.npz").touch()
    task = read("scimult/scifact", tmp_path)
    assert before.oracle is None and task.oracle == tmp_path / "oracle" / "scimult__scifact.npz"
    assert task.data_hash == before.data_hash


def test_trec_form_and_a_source_without_texts(tmp_path):
    folder = write_beir(tmp_path)
    for name in ("corpus.jsonl", "qrels/test.tsv", "qrels/train.tsv"):
        (folder / name).unlink()
    (folder / "qrels/test.txt").write_text("q1 0 d7 2\nq1 0 d9 -1\nq2\t0\td7\t0\n")
    task = read("scimult/scifact", tmp_path)
    assert task.payload.relevant == {"q1": {"d7": 2, "d9": -1}, "q2": {"d7": 0}}
    assert task.payload.pool == ("d7", "d9") and list(task.texts()) == []
    assert "no document texts" in task.notes and "1 queries with nothing relevant" in task.notes
    assert next(beir.qrels(folder / "qrels/test.txt")) == (1, Qrel("q1", "d7", 2))


# ---- the user study -------------------------------------------------------------------------------------------------


@pytest.fixture
def study(tmp_path: Path) -> Path:
    write_study(tmp_path)
    return tmp_path


def recommended(root: Path):
    return read("scimult/recommendation", root, "real")


def test_study_keeps_file_order_and_duplicates_and_rounds_half_up(study):
    task = recommended(study)
    assert task.payload.rows == (Qrel("1", "2", 3), Qrel("1", "3", 5), Qrel("1", "2", 2), Qrel("4", "2", 1))
    notes = ("1 rows without a score skipped", "1 half-point scores rounded up", "1 rows repeat a pair", "no texts")
    assert all(note in task.notes for note in notes) and list(task.texts()) == []
    rows = [row for _, row in recommendation.rows(study / "recommendation" / recommendation.STUDY)]
    assert [row.similarity for row in rows] == [0.5, None, 0.5, 0.1, 0.75]
    assert [row.score for row in rows] == [2.5, 5.0, 2.0, None, 1.0] and rows[3].method == "Both"


def test_study_with_texts(study):
    path = study / "recommendation" / recommendation.PAPERS
    jsonl(path, [{"paper_id": key, "title": f"Title {key}", "abstract": None} for key in "1234"])
    paper = recommended(study).papers["3"]
    assert (paper.title, paper.abstract) == ("Title 3", "")
    jsonl(path, [{"paper_id": key, "title": "", "abstract": ""} for key in "124"])
    refused(lambda: recommended(study), "tsv:3: paper 3 is not in papers.jsonl")


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


# ---- samples --------------------------------------------------------------------------------------------------------


def test_mesh_names(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("mesh_id\tmesh_name\nD1\tKite\nD2\tGlider\n")
    assert samples.mesh_terms(path) == {"D1": "Kite", "D2": "Glider"}


# ---- the real files ---------------------------------------------------------------------------------------------------


@needs_mirror
@pytest.mark.parametrize(
    ("task", "folder", "files", "grades", "queries", "pool"),
    [("nfcorpus", "nfcorpus", ("nfcorpus/queries.jsonl", "nfcorpus/qrels_test.txt"), (0, 11_758, 576), 323, None),
     ("trec_covid_beir", "trec-covid", ("trec_covid/beir_queries.jsonl", "trec_covid/qrels_beir_test.txt"),
      (41_661, 10_456, 14_217), 50, 35_479)],
)  # fmt: skip
def test_real_judgements(tmp_path, task, folder, files, grades, queries, pool):
    for source, target in zip(files, ("queries.jsonl", "qrels/test.txt"), strict=True):
        path = tmp_path / "beir" / folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(REAL / source)
    found = read(f"scimult/{task}", tmp_path, "real")
    all_grades = [grade for of in found.payload.relevant.values() for grade in of.values()]
    assert tuple(all_grades.count(grade) for grade in (0, 1, 2)) == grades and len(all_grades) == sum(grades)
    assert len(found.queries) == len(found.payload.relevant) == queries
    if pool:
        assert len(found.payload.pool) == pool
    else:
        assert f"{3_237 - 323:,} queries without a judgement" in found.notes


ACL = "neighbours/acl_anth"


def test_values_and_counts(tmp_path):
    write_kites(tmp_path)
    task = read(ACL, tmp_path)
    assert (task.type, task.similarity, task.source) == ("alternative_self", "cosine", "embedded")
    assert task.payload == Collection(("a1", "a2", "a3"))
    assert task.notes == "2 papers without an abstract"
    first = task.papers["a1"]
    assert (first.title, first.abstract, first.year, first.venue) == ("Kites\u2028in wind", "A kite.", 2019, "AIR")
    assert (task.papers["a3"].abstract, task.papers["a3"].year) == ("", None)
    assert len(list(task.texts())) == len(list(task.texts())) == 3


def test_plain_file_and_repeated_texts(tmp_path):
    jsonl(tmp_path / "acl_anthology" / "acl_anth.jsonl", [*KITES, {**KITES[0], "paper_id": "a4"}])
    assert "1 papers repeat another's title and abstract" in read(ACL, tmp_path).notes


def test_texts_are_not_read_until_asked(tmp_path):
    stream = neighbours.papers(tmp_path / "no.jsonl.gz")
    with pytest.raises(DataError, match="file not found"):
        next(stream)


@mirrored("textual_neighbours")
@pytest.mark.parametrize(
    ("config", "file", "count", "years"),
    [("acl_anth", "acl_anth", 9_639, (2016, 2021)), ("iclr", "iclr_reviews", 3_519, (2017, 2021))],
)
def test_real_collections(tmp_path, config, file, count, years):
    spec = TASKS[f"neighbours/{config}"]
    path = tmp_path / spec.manifest / f"{config}.jsonl.gz"
    path.parent.mkdir()
    path.symlink_to(MIRROR / "textual_neighbours" / f"{file}.jsonl.gz")
    task = neighbours.read(spec, f"neighbours/{config}", tmp_path, "real")
    assert isinstance(task.payload, Collection)
    assert len(task.payload.paper_ids) == len(task.papers) == count
    found = {paper.year for paper in task.papers.values()}
    assert (min(found), max(found)) == years
    assert "without an abstract" not in task.notes


S2AND, MDCR = "scirepeval/s2and", "scirepeval/mdcr"


# --- S2AND ------------------------------------------------------------------------------------------------------------


@pytest.fixture()
def stones(tmp_path: Path) -> Path:
    write_stones(tmp_path)
    return tmp_path


def test_s2and_by_hand(stones: Path) -> None:
    task = read(S2AND, stones)
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


def test_the_hash_of_s2and_follows_every_collection(stones: Path) -> None:
    before = read(S2AND, stones).data_hash
    collection(stones, "zbmath", False, papers={"12": text(12), "13": text(13)})
    assert read(S2AND, stones).data_hash != before


def test_s2and_without_texts_says_so(stones: Path) -> None:
    (stones / "s2and" / "qian" / "qian_papers.json").unlink()
    task = read(S2AND, stones)
    assert task.notes == "qian: no papers file, so no text for its 2 papers"
    assert [*task.papers] == ["12"]


@mirrored("s2and")
def test_s2and_real_samples() -> None:
    task = read(S2AND, MIRROR, "real")
    rows = {name: [row for row in task.payload.rows if row.block.startswith(f"{name}/")] for name in ("dummy", "qian")}
    assert {name: len(found) for name, found in rows.items()} == {"dummy": 9, "qian": 6542}
    assert {name: len({r.cluster for r in found} - {""}) for name, found in rows.items()} == {"dummy": 3, "qian": 1188}
    assert sum(not row.cluster for row in task.payload.rows) == 4  # those of dummy that S2AND's own test leaves open
    assert len({row.signature_id for row in task.payload.rows}) == 6551
    assert len({row.block for row in rows["qian"]}) == 606
    assert all(row.name for row in task.payload.rows)
    assert rows["dummy"][0].name == "Dr A'bdul Sattar"
    assert len(task.papers) == 7
    assert task.notes == "qian: no papers file, so no text for its 6542 papers"


def test_mini_drops_large_blocks_whole_keeps_the_first_names_and_no_torn_cluster() -> None:
    rows = [Signature(f"{block}{i}", "1", block, f"{block}-{i % 2}") for block in "dbca" for i in range(4)]
    rows += [Signature("b9", "1", "b", "shared"), Signature("d9", "1", "d", "shared"), Signature("a9", "1", "a", "")]
    assert s2and.mini(rows) == rows
    kept = s2and.mini(rows, blocks=2, signatures=5)
    assert kept == [row for row in rows if row.block in "ab" and row.cluster != "shared"]  # the first two names
    kept = s2and.mini(rows, blocks=9, signatures=4)  # a, b and d hold five
    assert {row.block for row in kept} == {"c"} and len(kept) == 4
    assert s2and.mini(rows[::-1], blocks=2, signatures=5) == [
        row for row in rows[::-1] if row in s2and.mini(rows, 2, 5)
    ]


# --- MDCR -------------------------------------------------------------------------------------------------------------


def test_mdcr_by_hand(tmp_path: Path) -> None:
    write_fields(tmp_path)
    task = read(MDCR, tmp_path)
    rows = task.payload.rows
    # 4 is cited and found by BM25: cited counts, wherever `true` stands in the file; 6 is found twice: one pair
    assert {(r.cand_id, r.score) for r in rows if (r.group, r.query_id) == ("Geology", "1")} == {
        ("4", 1), ("5", 1), ("6", 0), ("7", 0),
    }  # fmt: skip
    assert [r for r in rows if r.query_id == "2"] == [Qrel("2", "6", 0, "Geology"), Qrel("2", "8", 1, "Geology")]
    assert Counter((r.group, r.query_id) for r in rows) == {("Geology", "1"): 4, ("Geology", "2"): 2, ("Art", "1"): 7}
    assert not task.payload.text_query
    assert len(task.papers) == 8 and task.papers["2"] == Paper("2", "Stones 2", "")
    assert (task.type, task.metrics, task.related) == ("proximity", ("map", "recall@5"), "related")


def test_mdcr_without_texts(tmp_path: Path) -> None:
    folder = write_fields(tmp_path)
    before = read(MDCR, tmp_path).data_hash
    (folder / mdcr.DATA).unlink()
    task = read(MDCR, tmp_path)
    assert (task.papers, len(task.payload.rows)) == ({}, 13)
    assert task.data_hash != before


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_scimult(tmp_path)
    return tmp_path


def of_scimult(root: Path, name: str):
    return read(f"scimult/{name}", root)


def test_fine(root):
    task = of_scimult(root, "geography")
    assert (task.type, task.format, task.similarity, task.notes) == ("label_ranking", "CLF", "dot", "")
    space = task.payload
    assert space.gold == {"1": ("L1", "L3"), "2": ("L2",), "3": ("L3",)}
    assert list(space.labels.values()) == [LabelText("L1", "kites", "things on a line"), LabelText("L2", "gliders"),
                                           LabelText("L3", "balloons")]  # fmt: skip
    assert space.matched == {"1": ("L1",), "2": (), "3": ("L3", "L2")}
    assert (task.papers["1"].title, task.papers["3"].abstract) == ("Title 1", "")
    (root / "scimult" / FINE / "Geography_matched.json").unlink()
    bare = of_scimult(root, "geography")
    assert (bare.payload.matched, bare.notes) == ({}, "no lists of name matches")
    assert bare.data_hash != task.data_hash


def test_coarse(root):
    space = of_scimult(root, "mag").payload
    assert (space.gold, space.matched) == ({"1": ("L3",), "2": ("L1",)}, {})


def test_links(root):
    task = of_scimult(root, "cite")
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
    task = of_scimult(root, "cocite")
    assert task.payload.relevant == {"2": {"1": 1}}
    assert task.notes == "2 papers without a link are in the pool but are no query"


def test_patients_zero_shot(root):
    task = of_scimult(root, "ppr")
    assert task.payload.relevant == {"query-0": {"p2": 1}, "query-1": {"p1": 1, "p2": 1}}
    assert task.payload.pool == ("p1", "p2")
    assert [p.paper_id for p in task.texts()] == ["p1", "p2", "query-0", "query-1"]
    assert task.papers["query-0"].title == "A cough"


def test_patients_supervised(root):
    task = of_scimult(root, "pmc_par")
    assert task.payload == Pooled({"x1": {"a1": 2, "a2": 1}}, ("a1", "a2"), keep_self=False, text_query=True)
    assert (task.queries, task.notes) == ({"x1": "He coughs."}, "1 queries without a judgement left out")
    full = root / "scimult/pmc_patients/PMCPatientsPAR_queries_test.json"
    jsonl(full, [{"query": "x1", "title": "A cough", "abstract": "Dry."}])
    task = of_scimult(root, "pmc_par")
    assert not task.payload.text_query and task.queries == {}
    assert [p.paper_id for p in task.texts()] == ["a1", "a2", "x1"]
    jsonl(full, [{"query": "x7", "title": "A cough", "abstract": "Dry."}])
    refused(lambda: of_scimult(root, "pmc_par"), "judged query x1 has no text here")


def test_pretraining(root):
    task = of_scimult(root, "pretrain_search")
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
    task = of_scimult(root, "pretrain_search")
    assert task.payload.splits == ("train", "validation")
    assert len(list(task.payload.rows("validation"))) == 1


def test_pretraining_is_streamed(root):
    jsonl(root / "scimult/pretraining/search_train.json", [PAIR, PAIR, {**PAIR, "question": 7}])
    rows = of_scimult(root, "pretrain_search").payload.rows("train")
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
