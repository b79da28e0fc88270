"""The real samples: every count their descriptions state, counted again; how they become tasks; what must not leak.

Skips where SCIREP_DATA_MIRROR is not set. The last tests use files of our own and always run.
"""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest
from small_files import MIRROR, mirrored, refused

from scirep_core.data import read_sample
from scirep_core.data.inventory import TASKS
from scirep_core.data.manifests import fetch, load_manifest
from scirep_core.data.readers import recommendation, samples
from scirep_core.data.readers.samples import SAMPLES, in_train, mesh_terms
from scirep_core.data.rows import json_lines
from scirep_core.data.task import Triples
from scirep_core.data.validate import counts
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import read_csv, read_json, read_jsonl, read_object
from scirep_core.kit.store import sha256_bytes

needs_mirror = mirrored("scirepeval/fos_small.json")


@pytest.fixture(scope="module")
def tasks(own_home):
    return {name: read_sample(name) for name in SAMPLES}


@needs_mirror
def test_no_session_or_user_number_leaves_the_reader(tasks):
    """Looked for as whole tokens in all that a task holds; small numbers that are also years or grades are set aside."""
    rows = [row for _, row in read_jsonl(MIRROR / "scirepeval" / "search_small.jsonl")]
    secret = {str(row[key]) for row in rows for key in ("session_id", "user_id")}
    assert len(secret) > 50
    task = tasks["sample/search"]
    ids = {str(c["corpus_id"]) for row in rows for c in row["candidates"]}
    assert set(task.papers) == ids and not secret & set(task.queries)
    assert all(paper._fields == ("paper_id", "title", "abstract", "year", "sentences", "labels", "venue")
               for paper in task.texts())  # fmt: skip
    held = [task.name, task.notes, task.data_hash, *task.queries, *(row.query_id for row in task.payload.rows)]
    assert not [text for text in held if text in secret]
    assert not {str(paper.year) for paper in task.texts()} & {s for s in secret if len(s) > 4}


HOLDS: dict[str, tuple[dict[str, int], str, str]] = {
    "sample/fos": ({"train": 121, "test": 84, "papers": 205, "labels": 23}, "48 papers without an abstract", "66147105823c"),
    "sample/mesh_descriptors": ({"train": 130, "test": 76, "papers": 206, "labels": 30}, "", "a3de360a6641"),
    "sample/same_author": ({"queries": 40, "pairs": 376}, "", "b6e127cc150f"),
    "sample/search": ({"queries": 100, "pairs": 1000}, "", "55dc3cc5e51d"),
    "sample/cite_prediction": ({"train": 200, "queries": 200}, "", "fe123be9b83d"),
    "sample/drsm": ({"train": 618, "test": 409, "papers": 1027, "labels": 17}, "99 papers without a category", "14a0856f52bb"),
    "sample/peer_review_score": ({"train": 2098, "test": 1403, "papers": 3501}, "18 submissions without a score", "82557c81af94"),
    "sample/cite_count": ({"train": 5825, "test": 3857, "papers": 9682}, "44 papers with unknown citation count", "1b8494cd2745"),
    "sample/pub_year": ({"train": 5844, "test": 3882, "papers": 9726}, "", "f4e71749bc66"),
    "sample/acl_anth": ({"papers": 9639}, "", "eea4ef83b099"),
    "sample/iclr": ({"papers": 3519}, "", "776f41661447"),
    "sample/scifact": ({"queries": 265, "papers": 2101}, "", "f9143c40bbb4"),
    "sample/s2and": ({"clusters": 3, "signatures": 9}, "4 mentions belong to no known person", "3e1ebc93353f"),
}  # fmt: skip
"""Sample -> its counts, what its notes say of what was left out, and a hash of all that the task holds."""


@needs_mirror
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_holds_what_its_description_states_to_the_last_label_and_text(name, tasks):
    """The files are pinned by their manifests, so what is read of them never changes."""
    task, like, (held, said, digest) = tasks[name], TASKS[SAMPLES[name].like], HOLDS[name]
    assert (task.name, task.type, task.format, task.metrics) == (name, like.type, like.format, like.metrics)
    assert (task.source, task.oracle, task.related) == ("real", None, "") and len(task.data_hash) == 64
    assert "comparable with no published number" in task.notes and "\n" not in task.notes
    ids = [paper.paper_id for paper in task.texts()]
    assert len(ids) == len(set(ids)) == len(task.papers) and all(ids)
    assert read_sample(name).data_hash == task.data_hash
    assert counts(task) == held and said in task.notes
    payload = task.payload
    told = [[*payload.rows(split)] for split in payload.splits] if isinstance(payload, Triples) else payload
    everything = (task.name, task.type, task.format, task.metrics, told, [*task.texts()], dict(task.queries), task.notes,
                  task.similarity, task.fields, task.related, task.version)  # fmt: skip
    assert sha256_bytes(repr(everything).encode())[:12] == digest


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
def test_the_user_study() -> None:
    rows = [row for _, row in recommendation.rows(fetch("recommendation") / "user_study_results.tsv")]
    rated = [row for row in rows if row.score is not None]
    assert dict(load_manifest("recommendation").expect) == {
        "rows": len(rows), "pairs": len({row[:2] for row in rows}), "queries": len({row.query_id for row in rows}),
        "rows_rated": len(rated), "queries_rated": len({row.query_id for row in rated}),
        "half_points": sum(row.score != int(row.score) for row in rated),
        "rows_without_similarity": sum(row.similarity is None for row in rows),
    }  # fmt: skip
    assert (len(rows), len(rated), sum(row.similarity is None for row in rated)) == (3169, 2409, 103)


@needs_mirror
def test_collections_and_what_no_task_is_made_of():
    folder, counted = fetch("neighbours_sample"), load_manifest("neighbours_sample").counts
    for name in ("acl_anth", "iclr_reviews", "colm_corl_reviews", "ml_year_citations"):
        assert sum(1 for _ in json_lines(folder / f"{name}.jsonl.gz")) == counted[name]
    assert len(read_object(folder / "antonyms_wordnet30.json")) == counted["antonyms"] == 10132
    assert (fetch("trec_covid_sample") / "topics_round5.xml").read_text(encoding="utf-8").count("<topic ") == 50
    folder, counted = fetch("mesh"), load_manifest("mesh").counts
    assert len(mesh_terms(folder / "terms.tsv")) == counted["descriptors"] == 27_455
    assert sum(1 for _ in read_csv(folder / "tree_numbers.tsv", delimiter="\t")) == counted["positions"] == 56_341
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


def test_the_order_of_a_file_does_not_decide_the_split(tmp_path, monkeypatch):
    monkeypatch.setattr(samples.manifests, "fetch", lambda name: tmp_path)
    rows = [{"corpus_id": i, "title": f"Paper {i}", "abstract": None, "labels_text": ["AB"[i % 2]]} for i in range(20)]
    (tmp_path / "fos_labels.txt").write_text("A\nB\n")
    found = []
    for ordered in (rows, rows[::-1]):
        (tmp_path / "fos_small.json").write_text(json.dumps(ordered))
        task = read_sample("sample/fos")
        found.append({split: set(examples) for split, examples in task.payload.splits.items()})
    assert found[0] == found[1] and sum(map(len, found[0].values())) == 20
    assert all(in_train(task.name, one.paper_id) == (split == "train") for split, of in found[0].items() for one in of)
    refused(lambda: read_sample("sample/fso"), "did you mean 'sample/fos'", error=ConfigError)
