"""The real samples: every count their descriptions state, counted again; how they become tasks; what must not leak.

Skips where SCIREP_DATA_MIRROR is not set. The last tests use files of our own and always run.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small_files import MIRROR, mirrored, refused

from scirep_core.data.inventory import TASKS
from scirep_core.data.manifests import fetch, load_manifest
from scirep_core.data.readers import beir, recommendation
from scirep_core.data.readers.samples import SAMPLES, in_train, mesh_terms, read_sample
from scirep_core.data.tables import json_lines, tsv
from scirep_core.data.task import Collection, Judged, Labelled, Pooled, Signatures, Task, Triples
from scirep_core.data.validate import counts
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import read_json, read_jsonl, read_object

needs_mirror = mirrored("scirepeval/fos_small.json")


@pytest.fixture(scope="module")
def tasks(own_home: Path) -> dict[str, Task]:
    return {name: read_sample(name, fetch) for name in SAMPLES}


def sizes(task: Task) -> dict[str, int]:
    assert isinstance(task.payload, Labelled)
    return {split: len(rows) for split, rows in task.payload.splits.items()}


def judged(task: Task) -> Judged:
    assert isinstance(task.payload, Judged)
    return task.payload


# --- what every sample must be ----------------------------------------------------------------------------------------


@needs_mirror
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_a_task_like_the_published_one(name: str, tasks: dict[str, Task]) -> None:
    task, like = tasks[name], TASKS[SAMPLES[name].like]
    assert (task.name, task.type, task.format, task.metrics) == (name, like.type, like.format, like.metrics)
    assert (task.source, task.oracle, task.related) == ("real", None, "") and len(task.data_hash) == 64
    assert "comparable with no published number" in task.notes and "\n" not in task.notes
    ids = [paper.paper_id for paper in task.texts()]
    assert len(ids) == len(set(ids)) == len(task.papers) and all(ids)
    assert read_sample(name, fetch).data_hash == task.data_hash


@needs_mirror
@pytest.mark.parametrize("name", SAMPLES)
def test_every_judged_id_has_a_text(name: str, tasks: dict[str, Task]) -> None:
    task, known = tasks[name], set(tasks[name].papers) | set(tasks[name].queries)
    payload = task.payload
    if isinstance(payload, Labelled):
        used = {example.paper_id for rows in payload.splits.values() for example in rows}
        assert used == known
        train, test = ({e.paper_id for e in payload.splits[s]} for s in ("train", "test"))
        assert not train & test and 0.5 < len(train) / len(used) < 0.7
        assert all(in_train(name, paper) for paper in train) and not any(in_train(name, paper) for paper in test)
    elif isinstance(payload, Judged):
        assert {row.query_id for row in payload.rows} | {row.cand_id for row in payload.rows} == known
    elif isinstance(payload, Pooled):
        assert set(payload.pool) | set(payload.relevant) == known
    elif isinstance(payload, Triples):
        assert {one for triple in payload.rows("train") for one in triple} == known
    elif isinstance(payload, Signatures):
        assert {row.paper_id for row in payload.rows} <= known
    else:
        assert isinstance(payload, Collection) and set(payload.paper_ids) == known


@needs_mirror
def test_no_session_or_user_number_leaves_the_reader(tasks: dict[str, Task]) -> None:
    """Looked for as whole tokens in all that a task holds; small numbers that are also years or grades are set aside."""
    rows = [row for _, row in read_jsonl(MIRROR / "scirepeval" / "search_small.jsonl")]
    secret = {str(row[key]) for row in rows for key in ("session_id", "user_id")}
    assert len(secret) > 50
    task = tasks["sample/search"]
    ids = {str(c["corpus_id"]) for row in rows for c in row["candidates"]}
    assert set(task.papers) == ids and not secret & set(task.queries)
    assert all(paper._fields == ("paper_id", "title", "abstract", "year", "sentences", "labels", "venue")
               for paper in task.texts())  # fmt: skip
    held = [task.name, task.notes, task.data_hash, *task.queries, *(row.query_id for row in judged(task).rows)]
    assert not [text for text in held if text in secret]
    assert not {str(paper.year) for paper in task.texts()} & {s for s in secret if len(s) > 4}


# --- what each holds --------------------------------------------------------------------------------------------------

HOLDS: dict[str, tuple[dict[str, int], str]] = {
    "sample/fos": ({"train": 121, "test": 84, "papers": 205, "labels": 23}, "48 papers without an abstract"),
    "sample/mesh_descriptors": ({"train": 130, "test": 76, "papers": 206, "labels": 30}, ""),
    "sample/same_author": ({"queries": 40, "pairs": 376}, ""),
    "sample/search": ({"queries": 100, "pairs": 1000}, ""),
    "sample/cite_prediction": ({"train": 200, "queries": 200}, ""),
    "sample/drsm": ({"train": 618, "test": 409, "papers": 1126 - 99, "labels": 17}, "99 papers without a category left out"),
    "sample/peer_review_score": ({"train": 2098, "test": 1403, "papers": 3519 - 18}, "18 submissions without a score left out"),
    "sample/cite_count": ({"train": 5825, "test": 3857, "papers": 9726 - 44}, "44 papers with unknown citation count"),
    "sample/pub_year": ({"train": 5844, "test": 3882, "papers": 9726}, ""),
    "sample/acl_anth": ({"papers": 9639}, ""),
    "sample/iclr": ({"papers": 3519}, ""),
    "sample/scifact": ({"queries": 265, "papers": 2101}, ""),
    "sample/s2and": ({"clusters": 4, "signatures": 9}, "4 mentions belong to no known person"),
}  # fmt: skip
"""Sample -> its counts, and what its notes say of what was left out."""
TARGETS: dict[str, dict[Any, int]] = {
    "sample/fos": {1: 173, 2: 30, 3: 2},
    "sample/same_author": {0: 196, 1: 180},
    "sample/search": {0: 885, 1: 114, 2: 1},
}
"""Sample -> how many papers have so many fields, and pairs such a grade."""


@needs_mirror
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_holds_what_its_description_states_and_says_what_it_left_out(
    name: str, tasks: dict[str, Task]
) -> None:
    held, said = HOLDS[name]
    assert counts(tasks[name]) == held and said in tasks[name].notes


@needs_mirror
@pytest.mark.parametrize("name", TARGETS)
def test_fields_and_grades_are_as_many_as_stated(name: str, tasks: dict[str, Task]) -> None:
    payload = tasks[name].payload
    if isinstance(payload, Labelled):
        found = Counter(sum(e.label) for rows in payload.splits.values() for e in rows if isinstance(e.label, tuple))
    else:
        found = Counter(row.score for row in judged(tasks[name]).rows)
    assert found == TARGETS[name]


@needs_mirror
def test_manifests_state_what_is_counted() -> None:
    sample, drsm = load_manifest("scirepeval_sample"), load_manifest("drsm").expect
    assert (sample.counts["fos"], sample.expect["fos_without_abstract"], sample.counts["task_records"]) == (205, 48, 8)
    assert (sample.counts["same_author_queries"], sample.expect["same_author_candidates"]) == (40, 376)
    assert (drsm["papers"], drsm["without_category"], drsm["categories"]) == (1126, 99, 17)
    records = read_json(fetch("scirepeval_sample") / "tasks_config.json")
    assert len(records) == 8
    assert {record["type"] for record in records} == {"classification", "regression", "ir", "triplet"}


@needs_mirror
def test_mesh_descriptors_keep_their_names(tasks: dict[str, Task]) -> None:
    payload = tasks["sample/mesh_descriptors"].payload
    assert isinstance(payload, Labelled)
    told = {str(r["corpus_id"]): r["descriptor"] for r in read_json(MIRROR / "scirepeval" / "mesh_small.json")}
    found = {e.paper_id: e.label for split in payload.splits.values() for e in split}
    assert {key: payload.label_names[label] for key, label in found.items() if isinstance(label, int)} == told


@needs_mirror
def test_same_author_has_six_to_ten_candidates_where_the_description_says_ten(tasks: dict[str, Task]) -> None:
    rows = judged(tasks["sample/same_author"]).rows
    per_query = Counter(row.query_id for row in rows)
    assert set(per_query.values()) == {6, 7, 9, 10} and {row.query_id for row in rows if row.score} == set(per_query)


@needs_mirror
def test_search_has_ten_candidates_with_venue_and_year(tasks: dict[str, Task]) -> None:
    task = tasks["sample/search"]
    assert set(Counter(row.query_id for row in judged(task).rows).values()) == {10}
    assert len(task.queries) == 100 and len(task.papers) == 1000 and judged(task).text_query
    assert sum(paper.year is None for paper in task.texts()) >= 2  # two years are empty texts
    assert all(paper.year is None or 1000 < paper.year < 2030 for paper in task.texts())
    assert any(paper.venue for paper in task.texts())


@needs_mirror
def test_citation_triplets_are_of_three_papers(tasks: dict[str, Task]) -> None:
    payload = tasks["sample/cite_prediction"].payload
    assert isinstance(payload, Triples) and all(len(set(triple)) == 3 for triple in payload.rows("train"))
    refused(lambda: payload.rows("test"), "no split 'test'", error=ConfigError)


@needs_mirror
def test_drsm_keeps_rare_classes(tasks: dict[str, Task]) -> None:
    payload = tasks["sample/drsm"].payload
    assert isinstance(payload, Labelled)
    found: Counter[Any] = Counter(e.label for split in payload.splits.values() for e in split)
    by_name = {payload.label_names[label].partition(". ")[0]: count for label, count in found.items()}
    assert {k: by_name[k] for k in ("1.1", "2.1", "1.3", "3.4")} == {"1.1": 367, "2.1": 293, "1.3": 211, "3.4": 67}
    assert by_name["3.1"] == by_name["0.1"] == 1


@needs_mirror
def test_targets_are_the_files_numbers_and_stand_beside_no_text(tasks: dict[str, Task]) -> None:
    labels = {name: {e.paper_id: e.label for split in tasks[f"sample/{name}"].payload.splits.values() for e in split}
              for name in ("peer_review_score", "cite_count", "pub_year")}  # fmt: skip
    assert all(isinstance(label, float) and 1 <= label <= 10 for label in labels["peer_review_score"].values())
    rows = {row["paper_id"]: row for _, row in json_lines(fetch("neighbours_sample") / "ml_year_citations.jsonl.gz")}
    for paper, label in labels["cite_count"].items():
        assert isinstance(label, float) and label >= 0
        assert round(math.expm1(label), 6) == rows[paper]["gs_citation"]
    assert (min(labels["pub_year"].values()), max(labels["pub_year"].values())) == (1987, 2024)
    for name in ("cite_count", "pub_year"):
        assert all(paper.year is None and not paper.venue for paper in tasks[f"sample/{name}"].texts())


@needs_mirror
def test_collections_and_what_the_files_hold() -> None:
    folder, counted = fetch("neighbours_sample"), load_manifest("neighbours_sample").counts
    for name in ("acl_anth", "iclr_reviews", "colm_corl_reviews", "ml_year_citations"):
        assert sum(1 for _ in json_lines(folder / f"{name}.jsonl.gz")) == counted[name]
    assert len(read_object(folder / "antonyms_wordnet30.json")) == counted["antonyms"] == 10132


@needs_mirror
def test_scifact_is_the_judged_part_that_is_here(tasks: dict[str, Task]) -> None:
    task, folder = tasks["sample/scifact"], fetch("scifact_sample")
    assert isinstance(task.payload, Pooled) and len(task.queries) == 265
    for split, rows, queries, inside, kept in (("train", 919, 809, 236, 188), ("test", 339, 300, 96, 77)):
        found = [qrel for _, qrel in beir.qrels(folder / f"beir_qrels_{split}.tsv")]
        assert (len(found), len({qrel.query_id for qrel in found})) == (rows, queries)
        assert sum(qrel.cand_id in set(task.payload.pool) for qrel in found) == inside
        assert len({qrel.query_id for qrel in found} & set(task.payload.relevant)) == kept
    for split, count in (("train", 809), ("dev", 300), ("test", 300)):
        assert sum(1 for _ in read_jsonl(folder / f"claims_{split}.jsonl")) == count
    assert len(beir.read_queries(folder / "beir_queries.jsonl")) == 1109


@needs_mirror
def test_topics_of_trec_covid() -> None:
    assert (fetch("trec_covid_sample") / "topics_round5.xml").read_text(encoding="utf-8").count("<topic ") == 50


@needs_mirror
def test_the_user_study() -> None:
    rows = [row for _, row in recommendation.rows(fetch("recommendation") / "user_study_results.tsv")]
    rated = [row for row in rows if row.score is not None]
    expect = load_manifest("recommendation").expect
    assert dict(expect) == {
        "rows": len(rows),
        "pairs": len({(row.query_id, row.cand_id) for row in rows}),
        "queries": len({row.query_id for row in rows}),
        "rows_rated": len(rated),
        "queries_rated": len({row.query_id for row in rated}),
        "half_points": sum(row.score != int(row.score) for row in rated if row.score is not None),
        "rows_without_similarity": sum(row.similarity is None for row in rows),
    }
    assert (len(rows), len(rated), sum(row.similarity is None for row in rated)) == (3169, 2409, 103)


@needs_mirror
def test_mesh_and_what_no_task_is_made_of() -> None:
    folder, counted = fetch("mesh"), load_manifest("mesh").counts
    assert len(mesh_terms(folder / "terms.tsv")) == counted["descriptors"] == 27_455
    assert sum(1 for _ in tsv(folder / "tree_numbers.tsv", ("mesh_id",))) == counted["positions"] == 56_341
    folder, counted = fetch("specter_sample"), load_manifest("specter_sample").counts
    assert len(read_object(folder / "sample-metadata.json")) == counted["papers"] == 55
    assert len(read_object(folder / "training_data.json")) == counted["queries"] == 20
    for split in ("train", "val", "test"):
        assert len((folder / f"training_{split}.txt").read_text().split()) == counted[split]
    with (fetch("drsm") / "qol_gold_2022_12_15.tsv").open(encoding="utf-8", newline="") as stream:
        labels = [row["Correct_Label"] for row in csv.DictReader(stream, delimiter="\t")]
    found = Counter(label.strip("'").partition(" - ")[0] for label in labels)
    assert found == {"0": 143, "1": 93, "2": 87, "-1": 22}
    expect = load_manifest("drsm").expect
    assert (expect["qol_rows"], expect["qol_classes"]) == (len(labels), 4) == (345, 4)


# --- files of our own: what is refused --------------------------------------------------------------------------------

FOS = [{"corpus_id": i, "title": f"Paper {i}", "abstract": "", "labels": [i % 2], "labels_text": [["A", "B"][i % 2]]}
       for i in range(20)]  # fmt: skip


def fos(folder: Path, rows: Any, names: str = "A\nB\n") -> Task:
    (folder / "fos_small.json").write_text(json.dumps(rows))
    (folder / "fos_labels.txt").write_text(names)
    return read_sample("sample/fos", lambda collection: folder)


def test_a_sample_of_our_own(tmp_path: Path) -> None:
    task = fos(tmp_path, FOS)
    assert sum(sizes(task).values()) == 20 and "20 papers without an abstract" in task.notes
    assert sizes(fos(tmp_path, FOS[::-1])) == sizes(task)  # the order of the file decides nothing


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"labels": [2], "labels_text": ["C"]}, "not numbers from 0 to 1"),
        ({"labels": [-1]}, "not numbers"),
        ({"labels": [True]}, "not numbers"),
        ({"labels": []}, "not numbers"),
        ({"labels_text": ["A"]}, "not those named"),
        ({"corpus_id": 0}, "listed twice"),
        ({"corpus_id": None}, "'corpus_id'"),
        ({"title": 3}, "'title'"),
    ],
)
def test_a_malformed_row_is_named(change: dict[str, Any], word: str, tmp_path: Path) -> None:
    refused(lambda: fos(tmp_path, [*FOS[:3], FOS[3] | change, *FOS[4:]]), ":4: ", word)


@pytest.mark.parametrize(("rows", "names", "word"), [
    ({}, "A\nB\n", "JSON list"), ([], "A\n", "with rows"), ([3], "A\n", "expected an object"), (FOS, "A\nA\n", "there twice"),
    (FOS, "A\n\nB\n", "empty"),
])  # fmt: skip
def test_other_malformed_files(rows: Any, names: str, word: str, tmp_path: Path) -> None:
    refused(lambda: fos(tmp_path, rows, names), word)


def drsm(folder: Path, text: str) -> Task:
    (folder / "initial_gold_standard_data_2022_01_03.tsv").write_text(text)
    return read_sample("sample/drsm", lambda collection: folder)


HEADER = "ID_PAPER\tTITLE\tABSTRACT\tPRIMARY_CATEGORY\n"


def test_line_breaks_inside_quotes_belong_to_the_cell(tmp_path: Path) -> None:
    task = drsm(tmp_path, HEADER + '1\tOne\t"first\nsecond"\tx\n2\tTwo\tabstract\t\n3\tThree\tabstract\ty\n')
    assert task.papers["1"].abstract == "first\nsecond" and set(task.papers) == {"1", "3"}
    assert "1 papers without a category" in task.notes


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        (HEADER + "1\tOne\ta\tx\n1\tTwo\tb\ty\n", 3, "listed twice"),
        (HEADER + "1\tOne\ta\n", 2, "number of cells"),
        (HEADER + "1\tOne\ta\tx\tmore\n", 2, "number of cells"),
        (HEADER.replace("ABSTRACT", "ABSTRCT"), 1, "did you mean 'ABSTRCT'"),
        (HEADER + '1\tOne\t"open\tx\n', 2, "tabs and quotes"),
    ],
)
def test_a_malformed_table_is_named(text: str, line: int, word: str, tmp_path: Path) -> None:
    refused(lambda: drsm(tmp_path, text), f":{line}: ", word)


def test_an_unknown_sample(tmp_path: Path) -> None:
    refused(lambda: read_sample("sample/fso", lambda name: tmp_path), "did you mean 'sample/fos'", error=ConfigError)
