"""BEIR collections, the recommendation study, and the small samples around SciMult: what they read, what they refuse."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from scirep_core.data.inventory import TASKS
from scirep_core.data.readers import beir, recommendation
from scirep_core.data.readers import samples_scimult as samples
from scirep_core.data.task import Qrel
from scirep_core.kit.errors import DataError

MIRROR = os.environ.get("SCIREP_DATA_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="SCIREP_DATA_MIRROR is not set: no real data on this machine")
REAL = Path(MIRROR or "") / "scimult"

CORPUS = [
    {"_id": "d1", "title": "Kites", "text": "A kite flies on a line.", "metadata": {}},
    {"_id": "d2", "title": "", "text": "Balloons need no line."},
    {"_id": "d3", "title": "Gliders", "text": "A glider needs a hill."},
]
QUERIES = [{"_id": "q1", "text": "what flies on a line"}, {"_id": "q2", "text": "what needs a hill"},
           {"_id": "q3", "text": "what swims"}]  # fmt: skip
HEADER = "query-id\tcorpus-id\tscore\n"


def jsonl(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "beir" / "scifact"
    jsonl(folder / "corpus.jsonl", CORPUS)
    jsonl(folder / "queries.jsonl", QUERIES)
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text(HEADER + "q1\td1\t2\nq1\td2\t0\n")
    (folder / "qrels" / "train.tsv").write_text(HEADER + "q2\td3\t1\n")
    return tmp_path


def read(root: Path):
    return beir.read(TASKS["scimult/scifact"], "scimult/scifact", root, "embedded")


def test_splits_are_merged_and_grades_kept(root):
    task = read(root)
    assert (task.type, task.format, task.similarity, task.metrics) == ("retrieval", "QRY", "dot", ("ndcg@10",))
    assert task.payload.relevant == {"q2": {"d3": 1}, "q1": {"d1": 2, "d2": 0}}  # train before test
    assert task.payload.pool == ("d1", "d2", "d3")
    assert task.payload.text_query
    assert task.queries == {"q1": "what flies on a line", "q2": "what needs a hill"}
    assert "1 queries without a judgement left out" in task.notes
    assert "splits merged: train, test" in task.notes
    assert [paper.paper_id for paper in task.texts()] == ["d1", "d2", "d3"]
    assert [paper.title for paper in task.texts()] == ["Kites", "", "Gliders"]  # streamed a second time
    assert task.oracle is None


def test_oracle_and_hash(root, tmp_path):
    before = read(root).data_hash
    (root / "oracle").mkdir()
    (root / "oracle" / "scimult__scifact.npz").touch()
    task = read(root)
    assert task.oracle == root / "oracle" / "scimult__scifact.npz"
    assert task.data_hash == before
    corpus = root / "beir/scifact/corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("Kites", "Kited"))
    assert read(root).data_hash != before


def test_trec_form_and_a_source_without_texts(root):
    folder = root / "beir/scifact"
    for name in ("corpus.jsonl", "qrels/test.tsv", "qrels/train.tsv"):
        (folder / name).unlink()
    (folder / "qrels/test.txt").write_text("q1 0 d7 2\nq1 0 d9 -1\nq2\t0\td7\t0\n")
    task = read(root)
    assert task.payload.relevant == {"q1": {"d7": 2, "d9": -1}, "q2": {"d7": 0}}
    assert task.payload.pool == ("d7", "d9")
    assert list(task.texts()) == []
    assert "no document texts" in task.notes
    assert "1 queries with nothing relevant" in task.notes
    assert next(beir.qrels(folder / "qrels/test.txt")) == (1, Qrel("q1", "d7", 2))


DAMAGE = {
    "field missing": ("corpus.jsonl", lambda t: t.replace('"text": "Ball', '"txt": "Ball'), 2, "field 'text' is missing"),
    "wrong type": ("corpus.jsonl", lambda t: t.replace('"Kites"', "7"), 1, "field 'title' must be str or NoneType"),
    "id a float": ("corpus.jsonl", lambda t: t.replace('"d2"', "2.5"), 2, "field '_id' must be str or int"),
    "id empty": ("corpus.jsonl", lambda t: t.replace('"d2"', '""'), 2, "'' is no id"),
    "document twice": ("corpus.jsonl", lambda t: t.replace('"d3"', '"d1"'), 3, "document 'd1' is listed twice (first on line 1)"),
    "half a line": ("corpus.jsonl", lambda t: t[:-9], 3, "not a JSON object"),
    "no object": ("queries.jsonl", lambda t: "[1]\n", 1, "expected a JSON object, found list"),
    "query twice": ("queries.jsonl", lambda t: t.replace('"q2"', '"q1"'), 2, "query 'q1' is listed twice"),
    "query empty": ("queries.jsonl", lambda t: t.replace("what swims", " "), 3, "query q3 has no text"),
    "corpus empty": ("corpus.jsonl", lambda t: "", None, "the file is empty"),
    "qrels empty": ("qrels/test.tsv", lambda t: "", None, "the file is empty"),
    "qrels header only": ("qrels/test.tsv", lambda t: HEADER, 1, "a header and no judgement below it"),
    "short row": ("qrels/test.tsv", lambda t: t.replace("q1\td2\t0", "q1\td2"), 3, "2 columns"),
    "no header": ("qrels/test.tsv", lambda t: t.removeprefix(HEADER), 1, "3 columns"),
    "grade a word": ("qrels/test.tsv", lambda t: t.replace("d1\t2", "d1\tyes"), 2, "grade 'yes' is no whole number"),
    "grade a fraction": ("qrels/test.tsv", lambda t: t.replace("d1\t2", "d1\t1.5"), 2, "grade '1.5' is no whole number"),
    "grade with a stray sign": ("qrels/test.tsv", lambda t: t.replace("d1\t2", "d1\t1_0"), 2, "grade '1_0' is no whole number"),
    "grade too low": ("qrels/test.tsv", lambda t: t.replace("d1\t2", "d1\t-3"), 2, "grade -3 is below -2"),
    "unknown document": ("qrels/test.tsv", lambda t: t.replace("d2", "d8"), 3, "document d8 is not in corpus.jsonl"),
    "unknown query": ("qrels/test.tsv", lambda t: t.replace("q1\td2", "q8\td2"), 3, "query q8 is not in queries.jsonl"),
    "pair twice": ("qrels/test.tsv", lambda t: t.replace("d2", "d1"), 3, "judged twice (first in test.tsv:2)"),
    "pair in two splits": ("qrels/test.tsv", lambda t: t + "q2\td3\t1\n", 4, "judged twice (first in train.tsv:2)"),
    "one id for both": ("corpus.jsonl", lambda t: t + '{"_id": "q1", "title": "", "text": "x"}\n', 4,
                        "q1 is a query and a document"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_names_file_and_line(root, name):
    file, change, line, message = DAMAGE[name]
    path = root / "beir/scifact" / file
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    with pytest.raises(DataError, match=re.escape(message)) as error:
        read(root)
    assert (error.value.path, error.value.line) == (str(path), line)


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_not_utf8(root, file):
    path = root / "beir/scifact" / file
    path.write_bytes(path.read_bytes() + b'{"_id": "\xff"}\n')
    with pytest.raises(DataError, match="not UTF-8") as error:
        read(root)
    assert (error.value.path, error.value.line) == (str(path), 4)


def test_missing_places(root, tmp_path):
    with pytest.raises(DataError, match=r"nowhere/beir: no such folder"):
        read(tmp_path / "nowhere")
    for path in (root / "beir/scifact/qrels").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="no judgements"):
        read(root)


# ---- the user study -------------------------------------------------------------------------------------------------

STUDY = "PaperId\tRecommendedPaperId\tMethod\tStudyScore\tStudyRankByMethod\tSimilarity\n"
ROWS = ["1\t2\tContent\t2.5\t1\t0.5", "1\t3\tBehavior\t5\t2\t", "1\t2\tContent\t2\t1\t0.5", "4\t3\tBoth\t\t\t0.1",
        "4\t2\tContent\t1\t1\t0.75"]  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "recommendation"
    folder.mkdir()
    (folder / recommendation.STUDY).write_text(STUDY + "\n".join(ROWS) + "\n")
    return tmp_path


def recommended(root: Path):
    return recommendation.read(TASKS["scimult/recommendation"], "scimult/recommendation", root, "real")


def test_study_keeps_file_order_and_duplicates_and_rounds_half_up(study):
    task = recommended(study)
    assert task.payload.rows == (Qrel("1", "2", 3), Qrel("1", "3", 5), Qrel("1", "2", 2), Qrel("4", "2", 1))
    for note in (
        "1 rows without a score skipped",
        "1 half-point scores rounded up",
        "1 rows repeat a pair",
        "no texts",
    ):
        assert note in task.notes
    assert list(task.texts()) == []
    rows = [row for _, row in recommendation.rows(study / "recommendation" / recommendation.STUDY)]
    assert [row.similarity for row in rows] == [0.5, None, 0.5, 0.1, 0.75]
    assert [row.score for row in rows] == [2.5, 5.0, 2.0, None, 1.0]
    assert rows[3].method == "Both"


def test_study_with_texts(study):
    path = study / "recommendation" / recommendation.PAPERS
    jsonl(path, [{"paper_id": key, "title": f"Title {key}", "abstract": None} for key in "1234"])
    task = recommended(study)
    assert task.papers["3"].title == "Title 3"
    assert task.papers["3"].abstract == ""
    jsonl(path, [{"paper_id": key, "title": "", "abstract": ""} for key in "124"])
    with pytest.raises(DataError, match=r"tsv:3: paper 3 is not in papers\.jsonl"):
        recommended(study)


STUDY_DAMAGE = {
    "score too high": (lambda t: t.replace("\t5\t", "\t6\t"), 3, "score 6.0 is outside 1-5"),
    "score zero": (lambda t: t.replace("\t5\t", "\t0\t"), 3, "score 0.0 is outside 1-5"),
    "score a word": (lambda t: t.replace("\t5\t", "\tgood\t"), 3, "StudyScore 'good' is no number"),
    "score nan": (lambda t: t.replace("\t5\t", "\tnan\t"), 3, "StudyScore 'nan' is no number"),
    "short row": (lambda t: t.replace("4\t3\tBoth\t\t\t0.1", "4\t3\tBoth"), 5, "3 cells under 6 columns"),
    "id empty": (lambda t: t.replace("4\t3", "\t3"), 5, "'' is no id"),
    "column missing": (lambda t: t.replace("StudyScore", "Score"), 1, "column 'StudyScore' is missing"),
    "empty": (lambda t: "", None, "the file is empty"),
    "header only": (lambda t: STUDY, 1, "a header and no row below it"),
    "nothing rated": (lambda t: STUDY + ROWS[3] + "\n", None, "no row is rated"),
}


@pytest.mark.parametrize("name", STUDY_DAMAGE)
def test_damaged_study(study, name):
    change, line, message = STUDY_DAMAGE[name]
    path = study / "recommendation" / recommendation.STUDY
    path.write_text(change(path.read_text()))
    with pytest.raises(DataError, match=re.escape(message)) as error:
        recommended(study)
    assert (error.value.path, error.value.line) == (str(path), line)


def test_scimults_own_form(tmp_path):
    path = tmp_path / "scimult" / recommendation.RELEASED
    rows = [{"paper": "1", "title": "A", "abstract": "a", "score": {"2": 4, "3": 2.5}},
            {"paper": "2", "title": "B", "abstract": "b", "score": {}},
            {"paper": "3", "title": "C", "abstract": "c", "score": {"2": 1}}]  # fmt: skip
    jsonl(path, rows)
    task = recommended(tmp_path)
    assert task.payload.rows == (Qrel("1", "2", 4), Qrel("1", "3", 3), Qrel("3", "2", 1))
    assert task.notes == "1 half-point scores rounded up"
    assert task.papers["2"].abstract == "b"
    for change, message in (
        ({"2": 6}, r":1: score 6 is outside 1-5"),
        ({"9": 4}, r":1: candidate 9 of 1 is no paper of this file"),
        ({"2": True}, r":1: field '2' must be int or float"),
        ([], r":1: field 'score' must be dict"),
    ):
        jsonl(path, [{**rows[0], "score": change}, *rows[1:]])
        with pytest.raises(DataError, match=message):
            recommended(tmp_path)


# ---- samples --------------------------------------------------------------------------------------------------------


def test_mesh_names_and_their_damage(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("mesh_id\tmesh_name\nD1\tKite\nD2\tGlider\n")
    assert samples.mesh_terms(path) == {"D1": "Kite", "D2": "Glider"}
    for text, message in (("D1\tKite\nD1\tGlider\n", "descriptor 'D1' is listed twice"), ("D1\n", "1 cells under 2"),
                          ("D1\t \n", "descriptor D1 has no name")):  # fmt: skip
        path.write_text("mesh_id\tmesh_name\n" + text)
        with pytest.raises(DataError, match=message):
            samples.mesh_terms(path)


# ---- the real files ---------------------------------------------------------------------------------------------------


def layout(tmp_path: Path, name: str, files: dict[str, str]) -> Path:
    """Put files of the mirror where BEIR has them."""
    for source, target in files.items():
        path = tmp_path / "beir" / name / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(REAL / source)
    return tmp_path


@needs_mirror
def test_real_nfcorpus(tmp_path):
    root = layout(
        tmp_path, "nfcorpus", {"nfcorpus/queries.jsonl": "queries.jsonl", "nfcorpus/qrels_test.txt": "qrels/test.txt"}
    )
    task = beir.read(TASKS["scimult/nfcorpus"], "scimult/nfcorpus", root, "real")
    grades = [grade for found in task.payload.relevant.values() for grade in found.values()]
    assert (len(grades), len(task.payload.relevant), grades.count(2), grades.count(1)) == (12_334, 323, 576, 11_758)
    assert len(task.queries) == 323
    assert f"{3_237 - 323:,} queries without a judgement" in task.notes


@needs_mirror
def test_real_trec_covid(tmp_path):
    files = {"trec_covid/beir_queries.jsonl": "queries.jsonl", "trec_covid/qrels_beir_test.txt": "qrels/test.txt"}
    root = layout(tmp_path, "trec-covid", files)
    task = beir.read(TASKS["scimult/trec_covid_beir"], "scimult/trec_covid_beir", root, "real")
    grades = [grade for found in task.payload.relevant.values() for grade in found.values()]
    assert len(grades) == 66_334
    assert [grades.count(grade) for grade in (0, 1, 2)] == [41_661, 10_456, 14_217]
    assert len(task.queries) == 50
    assert len(task.payload.pool) == 35_479


@needs_mirror
def test_real_study_and_kanakias_row(tmp_path):
    import pytrec_eval

    folder = tmp_path / "recommendation"
    folder.mkdir()
    (folder / recommendation.STUDY).symlink_to(REAL / "kanakia/user_study_results.tsv")
    task = recommended(tmp_path)
    rows = [row for _, row in recommendation.rows(folder / recommendation.STUDY)]
    assert (len(rows), len({row[:2] for row in rows})) == (3_169, 3_157)
    assert len({row.query_id for row in rows}) == 187
    assert (len(task.payload.rows), len({row.query_id for row in task.payload.rows})) == (2_409, 147)
    for note in ("760 rows without a score skipped", "4 half-point scores rounded up", "12 rows repeat a pair"):
        assert note in task.notes
    gold: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.score is not None and row.similarity is not None:
            gold.setdefault(row.query_id, {}).setdefault(row.cand_id, recommendation.grade(row.score))
            run.setdefault(row.query_id, {}).setdefault(row.cand_id, row.similarity)
    scored = pytrec_eval.RelevanceEvaluator(gold, {"ndcg_cut_5", "ndcg_cut_10", "ndcg"}).evaluate(run)
    assert len(scored) == 144
    # Table 7, "Kanakia et al.", on the 137 queries whose text SciMult had; ours are all 144 with a similarity
    for metric, published in (("ndcg_cut_5", 83.88), ("ndcg_cut_10", 87.71), ("ndcg", 93.59)):
        assert 100 * sum(values[metric] for values in scored.values()) / 144 == pytest.approx(published, abs=0.5)
