"""BEIR collections, the recommendation study, and the small samples around SciMult: what they read, what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_files import MIRROR, jsonl, mirrored, refused
from small_published import read, write_beir, write_study

from scirep_core.data.readers import beir, recommendation, samples
from scirep_core.data.task import Qrel

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
