"""The CSFCube reader: the real collection in full, the tiny one by hand, and every kind of damaged file."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter

import numpy as np
import pytest
from small_files import refused

import scirep_core
from scirep_core.data import load_task
from scirep_core.data.manifests import load_manifest
from scirep_core.data.readers import csfcube
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Query


def test_real_collection_has_the_published_counts(real, real_folder):
    assert len(real.queries) == 50
    assert Counter(q.facet for q in real.queries) == {"background": 16, "method": 17, "result": 17}
    assert len({q.paper_id for q in real.queries}) == 34
    assert sum(len(j) for j in real.judgements.values()) == 6244
    assert len(real.papers) == 4205
    assert sum(len(p.sentences) for p in real.papers.values()) == 29197
    assert Counter((a.facet, b.facet) for a, b in real.two_facet_papers().values()) == {
        ("background", "method"): 5, ("background", "result"): 5, ("method", "result"): 6,
    }  # fmt: skip
    assert all(real.facet_sentences(query) for query in real.queries)
    ids = sorted(real.papers, key=int)
    assert load_manifest("csfcube").expect.items() >= {
        "query_facet_pairs": 50, "query_papers": 34, "rated_pairs": 6244, "texts": 4205, "first_id": ids[0], "last_id": ids[-1],
    }.items()  # fmt: skip
    from_readable = csfcube._papers_from_readable(real_folder / "readable_annotations")
    assert from_readable == csfcube._papers_from_jsonl(real_folder / "abstracts-csfcube-preds.jsonl")
    pooled = {c for entry in json.loads((real_folder / csfcube.POOL).read_text()).values() for c in entry["cands"]}
    assert pooled - set(real.papers) == {"41022419", "5111924"}  # nobody rated these two


def test_readable_ratings_and_annotators_agree_with_the_gold_files(real, real_folder):
    """An independent reading: the text files carry every rating again, with other annotator numbers."""
    same_person = {"4": "ann1", "3": "ann2", "1": "ann3", "2": "ann4"}
    block = re.compile(
        r"paper_id: (\d+);.*\nadju relevance: .*\(\+?(\d)\)\ndifference: \d+; annotator(\d): (-?\d); annotator(\d): (-?\d)"
    )
    pairs = 0
    for query in real.queries:
        text = (real_folder / "readable_annotations" / f"{query.paper_id}-{query.facet}-adju.txt").read_text("utf-8")
        gold = {j.candidate: j for j in real.judgements[query]}
        for paper, rating, a, rating_a, b, rating_b in block.findall(text):
            assert gold[paper].rating == int(rating)
            assert dict(gold[paper].raw) == {same_person[a]: int(rating_a), same_person[b]: int(rating_b)}
            pairs += 1
    assert pairs == 6244


def test_tiny_collection_by_hand(tiny, tiny_folder, tmp_path):
    query = Query("1", "background")
    assert tiny.candidates(query) == ("2", "3", "4") and list(tiny.ratings(query)) == [3, 1, 0]
    assert tiny.facet_sentences(query) == ("Parsing sentences is slow.",)
    assert tiny.judgements[query][0].sources == ("cited", "specter")
    assert tiny.papers["2"].labels[0] == "objective_label"
    assert tiny.find("1_method") == Query("1", "method") and tiny.info[query].year == 2001
    refused(lambda: tiny.find("1_metod"), "did you mean '1_method'", error=ConfigError)
    other = tmp_path / "elsewhere" / "copy"
    shutil.copytree(tiny_folder, other)
    assert csfcube.folder_hash(other) == tiny.data_hash
    (other / csfcube.QUERIES).write_text((other / csfcube.QUERIES).read_text() + " ")
    assert csfcube.folder_hash(other) != tiny.data_hash


def test_line_separators_do_not_split_a_line_and_a_truncated_readable_file_is_refused(tiny_folder):
    path, folder = tiny_folder / csfcube.ABSTRACTS, tiny_folder / csfcube.READABLE
    path.write_text(path.read_text().replace("We fill a chart.", "We fill\\u2028 a chart."), encoding="utf-8")
    assert "\u2028" in csfcube.read(tiny_folder).papers["2"].abstract
    path.unlink()
    folder.mkdir()
    (folder / "1-method-adju.txt").write_text("=====\npaper_id: 1; YEAR: 2001\nTITLE: A\nABSTRACT: meth")
    refused(lambda: csfcube.read(tiny_folder), "1-method-adju.txt:4: unexpected line")
    text = (
        "=====\r\npaper_id: 1; YEAR: 2001\r\nTITLE: A\r\nABSTRACT: method_label: We count\u2028on.\r\n"  # from Windows
    )
    (folder / "1-method-adju.txt").write_bytes(text.encode("utf-8-sig"))
    (paper,) = csfcube._papers_from_readable(folder).values()
    assert (paper.title, paper.sentences, paper.labels) == ("A", ("We count\u2028on.",), ("method_label",))


def test_load_task_names_the_nearest_task():
    refused(lambda: load_task("csfcube/metod"), "did you mean 'csfcube/method'", error=ConfigError)
    nowhere = "neither embedded, real, nor an existing folder"
    refused(lambda: load_task("csfcube", source="reel"), nowhere, error=ConfigError)


@pytest.mark.parametrize("file", ["SPLITS", "POOL", "GOLD", "QUERIES", "oracle.json"])
def test_any_wrong_shape_in_any_file_is_refused_naming_the_folder(tiny_folder, file):
    path = tiny_folder / getattr(csfcube, file, file).format(facet="method")
    for content in (b"[]", b"null", b'{"1": 3}', b'{"1": {"cands": 3}}', b"\xff\xfe", b"{", b'{"method": []}'):
        path.write_bytes(content)
        refused(lambda: csfcube.read(tiny_folder), "tiny")


def test_task_json_decides_metrics_and_similarity(tiny_folder):
    told = {"name": "mine", "version": 3, "type": "facets", "metrics": ["map"], "similarity": "cosine"}
    (tiny_folder / "task.json").write_text(json.dumps(told))
    task = load_task(tiny_folder)
    assert (task.version, task.metrics, task.similarity) == (3, ("map",), "cosine")
    vectors = {p: np.array([float(p), 1.0]) for p in task.papers}
    rows = scirep_core.evaluate(task, vectors)
    assert {(r.metric, r.similarity) for r in rows} == {("map", "cosine")}
    assert {r.similarity for r in scirep_core.evaluate(task, vectors, similarity="l2")} == {"l2"}
