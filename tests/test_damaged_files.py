"""Published files that are damaged: every reader names the file, and the line where a file has lines.

What holds of every file of every reader comes first; the table has what is particular to one. SciRepEval's own reader,
which takes seven forms of a file, is damaged in test_read_scirepeval.py.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from small_files import at, refused, to_windows
from small_published import COARSE, FINE, HEADER, LINKS, PLACES, PMC, ROWS, STUDY, cluster, mention, read, text

from scirep_core.data.readers import csfcube, mdcr, recommendation
from scirep_core.kit.formats import FACETS

FILES = [(name, file) for name, place in PLACES.items() for file in place.files]
GOLD = csfcube.GOLD.format(facet="background")
WHOLE = ("qian_signatures.json", "qian_clusters.json", "qian_papers.json", mdcr.BENCHMARK, csfcube.POOL, csfcube.SPLITS,
         *(csfcube.GOLD.format(facet=facet) for facet in FACETS))  # fmt: skip
"""One JSON value each, without lines."""


def content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def put(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_damaged_file_is_named_and_its_line_where_it_has_lines(name, file, tmp_path):
    path = PLACES[name].write(tmp_path) / file
    whole = content(path)
    last = str(path) if file in WHOLE else at(path, whole.count(b"\n"))
    damaged = {"not UTF-8": whole[:-1] + b"\xff" + whole[-1:], "": b""}
    if "json" in file:
        damaged["not JSON" if file in WHOLE else "not a JSON object"] = whole[:-9]
    for says, data in damaged.items():
        put(path, data)
        refused(lambda: PLACES[name].read(tmp_path), last if says else str(path), says)


@pytest.mark.parametrize("name", PLACES)
def test_files_from_windows_are_read_as_any(name, tmp_path):
    folder = PLACES[name].write(tmp_path)
    before = PLACES[name].read(tmp_path)
    for file in PLACES[name].files:
        if not file.endswith(".gz"):
            to_windows(folder / file)
    assert PLACES[name].read(tmp_path) == before


@pytest.mark.parametrize(("name", "file"), [(name, file) for name, file in FILES if name not in ("maple", "csfcube")])
def test_the_hash_follows_content_not_place(name, file, tmp_path):
    folder = PLACES[name].write(tmp_path / "a")
    before = read(name, tmp_path / "a").data_hash
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert read(name, tmp_path / "b").data_hash == before
    put(folder / file, content(folder / file) + b"\n")
    assert read(name, tmp_path / "a").data_hash != before


@pytest.mark.parametrize(("name", "says"), [
    ("scimult/scifact", "beir: no such folder"), ("scimult/cite", "no such folder"),
    ("scirepeval/s2and", "no collection with a signatures file. Run `scirep data get s2and`"),
    ("scirepeval/mdcr", "mdcr_test.json: file not found. Run `scirep data get mdcr`"),
])  # fmt: skip
def test_a_collection_that_is_not_there(name, says, tmp_path):
    refused(lambda: read(name, tmp_path / "nowhere"), says)


@pytest.mark.parametrize(("name", "file", "says"), [
    ("scimult/geography", f"{FINE}/Geography_label.json", "Geography_label.json: file not found"),
    ("scimult/pmc_par", f"{PMC}/queries/test_queries.jsonl", "test_queries.jsonl: file not found"),
    ("neighbours/acl_anth", "acl_anth.jsonl.gz", "acl_anth.jsonl.gz: file not found"),
    ("scirepeval/s2and", "../zbmath/clusters.json", "neither zbmath_clusters.json nor clusters.json"),
    ("scimult/scifact", "qrels", "no judgements"),
])  # fmt: skip
def test_a_file_that_is_not_there(name, file, says, tmp_path):
    path = PLACES[name].write(tmp_path) / file
    for one in path.iterdir() if path.is_dir() else [path]:
        one.unlink()
    refused(lambda: PLACES[name].read(tmp_path), says)


ALL = ""
"""In place of what is replaced: the whole content."""
SCIFACT, RECOMMENDATION, GEOGRAPHY, MAG, CITE, PPR, PAR, SEARCH, ACL, S2AND, MDCR = (
    "scimult/scifact", "scimult/recommendation", "scimult/geography", "scimult/mag", "scimult/cite", "scimult/ppr",
    "scimult/pmc_par", "scimult/pretrain_search", "neighbours/acl_anth", "scirepeval/s2and", "scirepeval/mdcr",
)  # fmt: skip
CORPUS, QUERIES, QRELS, TSV, KITES, MAGS, LINKED, PAIRS = (
    "corpus.jsonl", "queries.jsonl", "qrels/test.tsv", recommendation.STUDY, "acl_anth.jsonl.gz",
    f"{COARSE}/MAG_papers_test.json", f"{LINKS}/SciDocs_papers_test.json", "pretraining/search_train.json",
)  # fmt: skip
NAMES, PAPERS, MATCHES = (f"{FINE}/Geography_{what}.json" for what in ("label", "papers_test", "matched"))
PATIENTS, ASKED = (f"{LINKS}/PMCPatientsPPR_{what}_test.json" for what in ("patients", "queries"))
MENTIONS, CLUSTERS, TEXTS = (f"qian_{what}.json" for what in ("signatures", "clusters", "papers"))
ONE = {"0": mention(0, 11)}
KITE = '{"paper_id": "1", "title": "a", "abstract": "b"}\n'

DAMAGE: list[tuple[str, str, str, Any, int | None, str]] = [
    # task, file, what is replaced, by what, line, what is said of it
    (SCIFACT, CORPUS, '"text": "Ball', '"txt": "Ball', 2, "field 'text' is missing"),
    (SCIFACT, CORPUS, '"Kites"', "7", 1, "field 'title' must be str or NoneType"),
    (SCIFACT, CORPUS, '"d2"', "2.5", 2, "field '_id' must be str or int"),
    (SCIFACT, CORPUS, '"d2"', '""', 2, "'' is no id"),
    (SCIFACT, CORPUS, '"d3"', '"d1"', 3, "document 'd1' is listed twice (first on line 1)"),
    (SCIFACT, CORPUS, '{"_id": "d1"', '{"_id": "q1", "title": "", "text": "x"}\n{"_id": "d1"', 1, "q1 is a query and a document"),
    (SCIFACT, QUERIES, '"q2"', '"q1"', 2, "query 'q1' is listed twice"),
    (SCIFACT, QUERIES, "what swims", " ", 3, "query q3 has no text"),
    (SCIFACT, QRELS, ALL, HEADER, 1, "a header and no judgement below it"),
    (SCIFACT, QRELS, "q1\td2\t0", "q1\td2", 3, "2 columns"),
    (SCIFACT, QRELS, HEADER, "", 1, "3 columns"),
    (SCIFACT, QRELS, "d1\t2", "d1\tyes", 2, "grade 'yes' is no whole number"),
    (SCIFACT, QRELS, "d1\t2", "d1\t1_0", 2, "grade '1_0' is no whole number"),
    (SCIFACT, QRELS, "d1\t2", "d1\t-3", 2, "grade -3 is below -2"),
    (SCIFACT, QRELS, "d2", "d8", 3, "document d8 is not in corpus.jsonl"),
    (SCIFACT, QRELS, "q1\td2", "q8\td2", 3, "query q8 is not in queries.jsonl"),
    (SCIFACT, QRELS, "d2", "d1", 3, "judged twice (first in test.tsv:2)"),
    (RECOMMENDATION, TSV, "\t5\t", "\t6\t", 3, "score 6.0 is outside 1-5"),
    (RECOMMENDATION, TSV, "\t5\t", "\tgood\t", 3, "StudyScore 'good' is no number"),
    (RECOMMENDATION, TSV, "\t5\t", "\tnan\t", 3, "StudyScore 'nan' is no number"),
    (RECOMMENDATION, TSV, "4\t3\tBoth\t\t\t0.1", "4\t3\tBoth", 5, "the row does not have the header's number of cells, 6"),
    (RECOMMENDATION, TSV, "4\t3", "\t3", 5, "'' is no id"),
    (RECOMMENDATION, TSV, "StudyScore", "Score", 1, "no column 'StudyScore'"),
    (RECOMMENDATION, TSV, ALL, STUDY + ROWS[3] + "\n", None, "no row is rated"),
    (GEOGRAPHY, NAMES, '["gliders"]', "[]", 2, "label L2 has no name"),
    (GEOGRAPHY, NAMES, '["gliders"]', '"x"', 2, "field 'name' must be list"),
    (GEOGRAPHY, NAMES, '"L2"', '"L1"', 2, "label 'L1' is listed twice"),
    (GEOGRAPHY, PAPERS, '"paper": "3"', '"paper": "1"', 3, "paper '1' is listed twice (first on line 1)"),
    (GEOGRAPHY, PAPERS, '"title": "Title 3"', '"titel": ""', 3, "field 'title' is missing"),
    (GEOGRAPHY, PAPERS, '["L1", "L3"]', '["L4"]', 1, "label 'L4' is not in the label file"),
    (GEOGRAPHY, PAPERS, '["L1", "L3"]', "[]", 1, "paper 1 has no label"),
    (GEOGRAPHY, PAPERS, '["L1", "L3"]', '["L1", "L1"]', 1, "paper 1 has a label twice"),
    (GEOGRAPHY, PAPERS, '["L1", "L3"]', "[true]", 1, "True is no id"),
    (GEOGRAPHY, PAPERS, '"paper": "2"', '"paper": "L2"', 2, "L2 is a paper and a label"),
    (GEOGRAPHY, MATCHES, '"L2"', '"L9"', 3, "label 'L9' is not in the label file"),
    (GEOGRAPHY, MATCHES, '"candidate": ["L3', '"x": ["L3', 3, "field 'candidate' is missing"),
    (GEOGRAPHY, MATCHES, '{"candidate": []}\n', "", 2, "2 lines for the 3 papers"),
    (MAG, MAGS, '"label": 0', '"label": 3', 2, "label 3 is no row of MAG_label.json. It has rows 0-2"),
    (MAG, MAGS, '"label": 0', '"label": -1', 2, "label -1 is no row"),
    (MAG, MAGS, '"label": 0', '"label": true', 2, "field 'label' must be int"),
    (MAG, MAGS, '"paper": "2"', '"paper": "L2"', 2, "L2 is a paper and a label"),
    (CITE, LINKED, '"cite": []', '"sight": []', 2, "field 'cite' is missing"),
    (CITE, LINKED, '"cite": []', '"cite": [{}]', 2, "{} is no id"),
    (CITE, LINKED, '"cite": ["2", "3", "2", "99"]', '"cite": []', None, "no paper has a link `cite`"),
    (PPR, ASKED, '["p1", "p2"]', '["p9"]', 2, "patient p9 is not in"),
    (PPR, ASKED, '["p1", "p2"]', "[]", 2, "no similar patient"),
    (PPR, PATIENTS, '"p2"', '"p1"', 2, "patient 'p1' is listed twice"),
    (PPR, ASKED, '"title": "B"', '"title": "B", "query": "p1"', 2, "p1 is a query and a patient"),
    (PAR, f"{PMC}/PAR/PAR_corpus.jsonl", '"a2"', '"a1"', 2, "document 'a1' is listed twice"),
    (SEARCH, PAIRS, "flying on a line", " ", 1, "the question is empty"),
    (SEARCH, PAIRS, ALL, '{"question": "q", "positive_ctxs": []}\n', 1, "no positive context"),
    (SEARCH, PAIRS, ALL, '{"question": "q", "positive_ctxs": [5]}\n', 1, "positive_ctxs[0] must be an object"),
    (SEARCH, PAIRS, ALL, '{"question": "q", "positive_ctxs": [{"title": "x"}]}\n', 1, "field 'text' is missing"),
    (SEARCH, PAIRS, ALL, '{"question": "q", "positive_ctxs": [{"title": "", "text": ""}]}\n', 1, "has neither title nor text"),
    (SEARCH, PAIRS, '"q3"', "7", 3, "field 'question' must be str"),
    (ACL, KITES, '"paper_id": "a2"', '"id": "a2"', 2, "field 'paper_id' is missing"),
    (ACL, KITES, '"Gliders"', '" "', 2, "paper a2 has no title"),
    (ACL, KITES, '"Gliders"', "5", 2, "field 'title' must be str"),
    (ACL, KITES, "2019", '"2019"', 1, "field 'year' must be int or NoneType"),
    (ACL, KITES, '"a3"', '"a1"', 3, "paper 'a1' is listed twice (first on line 1)"),
    ("maple", "papers.json", '"paper": "2"', '"paper": "1"', 2, "paper '1' is listed twice"),
    ("maple", "papers.json", '"2016"', '"then"', 2, "year 'then' is no whole number"),
    ("maple", "papers.json", "title_raw", "raw", 1, "field 'title_raw' is missing"),
    ("maple", "papers.json", '["A1"]', '"A1"', 1, "field 'author' must be list"),
    ("maple", "labels.txt", "L1\tkites\t1", "L1", 2, "a label needs an id and a name"),
    ("maple", "labels.txt", "L2", "L1", 3, "label 'L1' is listed twice"),
    (S2AND, CLUSTERS, ALL, cluster("1", "0", "1") | cluster("2", "1"), None, "signature '1' is in cluster '1' and in '2'"),
    (S2AND, CLUSTERS, ALL, cluster("1", "0", "7"), None,
     "cluster '1' names signature '7', which qian_signatures.json lacks"),
    (S2AND, CLUSTERS, ALL, {"1": {"cluster_id": "1"}}, None, "entry '1': field 'signature_ids' is missing"),
    (S2AND, CLUSTERS, ALL, {}, None, "holds no cluster_id"),
    (S2AND, CLUSTERS, ALL, json.dumps(cluster("1", "0"))[:-1] + ', "1": {}}', None, "cluster_id '1' is there twice"),
    (S2AND, MENTIONS, ALL, {}, None, "holds no signature_id"),
    (S2AND, MENTIONS, ALL, [1], None, "expected an object with a signature_id for each key, found 1"),
    (S2AND, MENTIONS, ALL, {"5": mention(0, 11)}, None, "signature_id '5' states the id '0'"),
    (S2AND, MENTIONS, ALL, {"0": ONE["0"] | {"paper_id": None}}, None,
     "entry '0': field 'paper_id' must be str or int, found None"),
    (S2AND, MENTIONS, ALL, {"0": ONE["0"] | {"author_info": "Ada"}}, None, "entry '0': field 'author_info' must be dict"),
    (S2AND, MENTIONS, ALL, {"0": 3}, None, "signature_id '0': expected an object, found 3"),
    (S2AND, TEXTS, ALL, {"11": text(11, authors="Ada"), "12": text(12)}, None,
     "entry '11': authors and references must be lists"),
    (MDCR, mdcr.BENCHMARK, ALL, {"Art": {"1": {"true": ["2"], "bm52": ["3"]}}}, None,
     "field 'Art', query '1': unknown miner 'bm52'. did you mean 'bm25'"),
    (MDCR, mdcr.BENCHMARK, ALL, {"Art": {"1": {"bm25": ["3"]}}}, None, "field 'Art', query '1': no cited papers"),
    (MDCR, mdcr.BENCHMARK, ALL, {"Art": {"1": {"true": "23"}}}, None, "query '1': 'true' must be a list of ids, found '23'"),
    (MDCR, mdcr.BENCHMARK, ALL, {"Art": {}}, None, "field 'Art' has no queries"),
    (MDCR, mdcr.BENCHMARK, ALL, {"Art": {"1": ["2"]}}, None, "field 'Art', query '1': expected {miner: [ids]}"),
    (MDCR, mdcr.BENCHMARK, ALL, {"Art": ["1"]}, None, "field 'Art': expected an object, found ['1']"),
    (MDCR, mdcr.BENCHMARK, ALL, {}, None, "holds no field"),
    (MDCR, mdcr.BENCHMARK, ALL, '{"Art": {"1": {"true": ["2"]}}, "Art": {"1": {"true": ["2"]}}}', None,
     "field 'Art' is there twice"),
    (MDCR, mdcr.BENCHMARK, ALL, '{"Art": {"1": {"true": ["2"]}, "1": {"true": ["2"]}}}', None, "item 1: key '1' is there twice"),
    (MDCR, mdcr.DATA, ALL, KITE * 2, 2, "paper '1' is listed twice"),
    (MDCR, mdcr.DATA, ALL, KITE.replace("paper_id", "paper"), 1, "no column 'paper_id' or 'doc_id'. did you mean 'paper'"),
    (MDCR, mdcr.DATA, ALL, KITE.replace('"a"', "3"), 1, "field 'title' must be str"),
    ("csfcube", GOLD, '["2", "3"', '["2", "2"', None, "candidate 2 is listed twice"),
    ("csfcube", GOLD, '["2", "3"', '["2", 2', None, "candidate 2 is listed twice"),
    ("csfcube", GOLD, '["2", "3"', '["99", "3"', None, "paper 99 of query 1_background has no text"),
    ("csfcube", GOLD, '"cands"', '"cand"', None, "field 'cands' is missing"),
    ("csfcube", GOLD, 'adju": [3', 'adju": [4', None, "rating 4 is not 0, 1, 2 or 3"),
    ("csfcube", GOLD, 'adju": [3', 'adju": [true', None, "rating True"),
    ("csfcube", GOLD, 'adju": [3, 1', 'adju": [1', None, "2 ratings for 3 cands"),
    ("csfcube", GOLD, 'ann1": [3', 'ann1": [2.7', None, "relevance_ann1: rating 2.7 is not -1 (missing), 0"),
    ("csfcube", GOLD, 'ann1": [3, 1', 'ann1": [3, -2', None, "relevance_ann1: rating -2"),
    ("csfcube", csfcube.ABSTRACTS, "objective_label", "aim_label", 2, "label 'aim_label'"),
    ("csfcube", csfcube.ABSTRACTS, '"title": "Parsing with charts"', '"titel": ""', 2, "field 'title' is missing"),
    ("csfcube", csfcube.ABSTRACTS, '"paper_id": "2"', '"paper_id": "1"', 2, "paper_id '1' is listed twice"),
    ("csfcube", csfcube.SPLITS, '1_test": ["1_method"', '1_test": ["1_method", "1_method"', None, "names a query twice"),
    ("csfcube", csfcube.SPLITS, '1_test": ["1_method"', '1_test": ["9_method"', None, "9_method, which is rated nowhere"),
    ("csfcube", csfcube.SPLITS, '1_test": ["1_method"', '1_test": ["1_background"', None, "a query of another facet"),
    ("csfcube", csfcube.SPLITS, '1_test": ["1_method"', '1_test": [', None, "is empty"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "line", "says"), DAMAGE, ids=[f"{x[1]}: {x[5]}" for x in DAMAGE]
)
def test_damage_names_file_and_line(name, file, old, new, line, says, tmp_path):
    path = PLACES[name].write(tmp_path) / file
    before = content(path).decode()
    after = (new if isinstance(new, str) else json.dumps(new)) if old == ALL else before.replace(old, new)
    assert after != before
    put(path, after.encode())
    refused(lambda: PLACES[name].read(tmp_path), at(path, line), says)


def test_a_paper_that_is_named_has_a_text_and_what_is_called_gz_is_a_whole_archive(tmp_path):
    folder = PLACES[S2AND].write(tmp_path)
    (folder / TEXTS).write_text(json.dumps({"11": text(11)}))
    refused(lambda: read(S2AND, tmp_path), "qian_signatures.json: signature '1': paper '12' is not in qian_papers.json")
    path = PLACES[ACL].write(tmp_path) / KITES
    for data in (content(path), path.read_bytes()[:-12]):
        path.write_bytes(data)
        refused(lambda: PLACES[ACL].read(tmp_path), "not a whole gzip file")
