"""The readers of S2AND and MDCR: the real samples of S2AND, both layouts by hand, every kind of damage."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from scirep_core.data.inventory import TASKS
from scirep_core.data.readers import mdcr, s2and
from scirep_core.data.task import Byline, Qrel, Signature
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import Paper

MIRROR = os.environ.get("SCIREP_DATA_MIRROR")


def read_s2and(root: Path):
    return s2and.read(TASKS["scirepeval/s2and"], "scirepeval/s2and", root, "real")


def read_mdcr(root: Path):
    return mdcr.read(TASKS["scirepeval/mdcr"], "scirepeval/mdcr", root, "embedded")


# --- S2AND ------------------------------------------------------------------------------------------------------------


def mention(number: int, paper: int, block: str = "a pebble", **author: object) -> dict:
    info = {"position": 0, "block": block, "first": "Ada", "middle": None, "last": "Pebble", "suffix": None,
            "affiliations": ["Quarry"], "email": None, "given_block": block, **author}  # fmt: skip
    return {"signature_id": str(number), "paper_id": paper, "author_info": info}


def text(number: int, **more: object) -> dict:
    return {"paper_id": number, "title": f"Stones {number}", "abstract": None, "venue": "", "journal_name": "J. Stones",
            "year": 2001, "authors": [], "references": [], **more}  # fmt: skip


TEAM = [{"position": 1, "author_name": "Ada Pebble"}, {"position": 0, "author_name": "C Sand"}]


def collection(root: Path, name: str, prefix: bool, **files: dict) -> Path:
    folder = root / "s2and" / name
    folder.mkdir(parents=True, exist_ok=True)
    for part, content in files.items():
        (folder / (f"{name}_{part}.json" if prefix else f"{part}.json")).write_text(json.dumps(content))
    return folder


def cluster(name: str, *signatures: str) -> dict:
    return {name: {"cluster_id": name, "signature_ids": list(signatures), "model_version": -1}}


@pytest.fixture()
def stones(tmp_path: Path) -> Path:
    """Return a root with two collections, named both ways, which share a paper."""
    collection(
        tmp_path, "qian", True,
        signatures={"0": mention(0, 11),
                    "1": mention(1, 12, middle="B.", suffix="Jr", affiliations=["Quarry", "Pit"], email="a@q", position=2),
                    "2": mention(2, 12, first=None, affiliations=[])},
        clusters={**cluster("1", "0", "1")},
        papers={"11": text(11, abstract="Of pebbles.", references=[12, 99], authors=TEAM),
                "12": text(12, venue="Stone Conf.", year=None)},
    )  # fmt: skip
    collection(
        tmp_path, "zbmath", False,
        signatures={"0": mention(0, 12, block="c sand")}, clusters=cluster("1", "0"),
        papers={"12": text(12, title="Another copy"), "13": text(13)},
    )  # fmt: skip
    (tmp_path / "s2and" / "notes").mkdir()
    (tmp_path / "s2and" / "README.md").write_text("no collection")
    return tmp_path


def test_s2and_by_hand(stones: Path) -> None:
    task = read_s2and(stones)
    assert task.payload.rows == (
        Signature("qian/0", "11", "qian/a pebble", "qian/1", "Ada Pebble", "Quarry", "Ada", "", "Pebble", "", 0),
        Signature(
            "qian/1",
            "12",
            "qian/a pebble",
            "qian/1",
            "Ada B. Pebble Jr",
            "Quarry; Pit",
            "Ada",
            "B.",
            "Pebble",
            "a@q",
            2,
        ),
        Signature("qian/2", "12", "qian/a pebble", "", "Pebble", "", "", "", "Pebble", "", 0),
        Signature("zbmath/0", "12", "zbmath/c sand", "zbmath/1", "Ada Pebble", "Quarry", "Ada", "", "Pebble", "", 0),
    )
    assert task.payload.bylines == {
        "11": Byline("11", ("C Sand", "Ada Pebble"), "J. Stones", ("12", "99")),
        "12": Byline("12", (), "J. Stones"),
    }
    assert [*task.texts()] == [
        Paper("11", "Stones 11", "Of pebbles.", 2001, venue="J. Stones"),
        Paper("12", "Stones 12", "", None, venue="Stone Conf."),
    ]  # 13 is nobody's
    assert (task.type, task.format, task.metrics, task.notes) == ("author_disambiguation", "PRX", ("b3_f1",), "")


def test_s2and_without_texts_says_so(stones: Path) -> None:
    (stones / "s2and" / "qian" / "qian_papers.json").unlink()
    task = read_s2and(stones)
    assert task.notes == "qian: no papers file, so no text for its 2 papers"
    assert [*task.papers] == ["12"]


def test_s2and_hash_follows_the_papers_too(stones: Path, tmp_path: Path) -> None:
    before = read_s2and(stones).data_hash
    copy = Path(shutil.copytree(stones / "s2and", tmp_path / "copy" / "s2and")).parent
    assert read_s2and(copy).data_hash == before
    collection(copy, "zbmath", False, papers={"12": text(12), "13": text(13)})
    assert read_s2and(copy).data_hash != before


@pytest.mark.skipif(not MIRROR, reason="SCIREP_DATA_MIRROR is not set: no real data on this machine")
def test_s2and_real_samples() -> None:
    task = read_s2and(Path(MIRROR or ""))
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


S2AND_FAULTS = {
    "a signature in two clusters": ({"clusters": {**cluster("1", "0", "1"), **cluster("2", "1")}},
                                    r"clusters.json: signature '1' is in cluster '1' and in '2'"),
    "a cluster of unknown signatures": ({"clusters": cluster("1", "0", "7")},
                                        r"clusters.json: cluster '1' names signature '7', which qian_signatures.json lacks"),
    "a cluster without signatures": ({"clusters": {"1": {"cluster_id": "1"}}}, r"entry '1': field 'signature_ids' is missing"),
    "no clusters": ({"clusters": {}}, r"clusters.json: holds no cluster_id"),
    "no signatures": ({"signatures": {}}, r"signatures.json: holds no signature_id"),
    "another id inside": ({"signatures": {"5": mention(0, 11)}}, r"signatures.json: signature_id '5' states the id '0'"),
    "a paper id that is none": ({"signatures": {"0": {**mention(0, 11), "paper_id": None}}},
                                r"entry '0': field 'paper_id' must be str or int, found None"),
    "an author that is text": ({"signatures": {"0": {**mention(0, 11), "author_info": "Ada"}}},
                               r"entry '0': field 'author_info' must be dict"),
    "a name that is a number": ({"signatures": {"0": mention(0, 11, first=3)}}, r"entry '0': field 'first' must be str"),
    "a signature that is a number": ({"signatures": {"0": 3}}, r"signature_id '0': expected an object, found 3"),
    "authors that are text": ({"papers": {"11": text(11, authors="Ada"), "12": text(12)}},
                              r"qian_papers.json: entry '11': authors and references must be lists"),
    "a paper without text": ({"papers": {"11": text(11)}},
                             r"qian_signatures.json: signature '1': paper '12' is not in qian_papers.json"),
}  # fmt: skip


@pytest.mark.parametrize("case", S2AND_FAULTS)
def test_malformed_s2and_names_file_and_entry(case: str, stones: Path) -> None:
    files, message = S2AND_FAULTS[case]
    collection(stones, "qian", True, **files)
    with pytest.raises(DataError, match=message):
        read_s2and(stones)


@pytest.mark.parametrize(("part", "data", "message"), [
    ("signatures", b'{"0": {"signature_id": "0"', r"qian_signatures.json: item 1: not JSON"),
    ("signatures", b'{"0": {"signature_id": "\xff"', r"qian_signatures.json: not UTF-8"),
    ("signatures", b"[]", r"qian_signatures.json: holds no signature_id"),
    ("signatures", b"[1]", r"qian_signatures.json: expected an object of ids, found 1"),
    ("clusters", json.dumps(cluster("1", "0"))[:-1].encode() + b', "1": {}}', r"qian_clusters.json: cluster_id '1' is there twice"),
])  # fmt: skip
def test_damaged_s2and_names_the_file(part: str, data: bytes, message: str, stones: Path) -> None:
    (stones / "s2and" / "qian" / f"qian_{part}.json").write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_s2and(stones)


def test_s2and_that_is_not_there(stones: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no collection with a signatures file. Run `scirep data get s2and`"):
        read_s2and(tmp_path / "elsewhere")
    (stones / "s2and" / "zbmath" / "clusters.json").unlink()
    with pytest.raises(DataError, match=r"neither zbmath_clusters.json nor clusters.json"):
        read_s2and(stones)


# --- MDCR -------------------------------------------------------------------------------------------------------------

BENCHMARK = {
    "Geology": {
        "1": {"true": [4, "5"], "bm25": ["6", "4"], "random": ["7", "6"]},
        "2": {"specter": ["6"], "true": ["8"]},
    },
    "Art": {"1": {"true": ["6"], **{miner: [f"{i}9"] for i, miner in enumerate(mdcr.MINERS)}}},
}
PAPERS = [
    {"paper_id": str(i), "title": f"Stones {i}", "abstract": None if i == 2 else "Of pebbles."} for i in range(1, 9)
]


@pytest.fixture()
def fields(tmp_path: Path) -> Path:
    folder = tmp_path / "mdcr"
    folder.mkdir()
    (folder / mdcr.BENCHMARK).write_text(json.dumps(BENCHMARK))
    (folder / mdcr.DATA).write_text("".join(json.dumps(row) + "\n" for row in PAPERS))
    return tmp_path


def test_mdcr_by_hand(fields: Path) -> None:
    task = read_mdcr(fields)
    rows = task.payload.rows
    # 4 is cited and found by BM25: cited counts, wherever `true` stands in the file; 6 is found twice: one pair
    assert {(r.cand_id, r.score) for r in rows if (r.group, r.query_id) == ("Geology", "1")} == {
        ("4", 1), ("5", 1), ("6", 0), ("7", 0),
    }  # fmt: skip
    assert [r for r in rows if r.query_id == "2"] == [Qrel("2", "6", 0, "Geology"), Qrel("2", "8", 1, "Geology")]
    assert Counter((r.group, r.query_id) for r in rows) == {("Geology", "1"): 4, ("Geology", "2"): 2, ("Art", "1"): 7}
    assert not task.payload.text_query
    assert len(task.papers) == 8
    assert task.papers["2"] == Paper("2", "Stones 2", "")
    assert (task.type, task.metrics, task.related) == ("proximity", ("map", "recall@5"), "related")


def test_mdcr_without_texts(fields: Path) -> None:
    before = read_mdcr(fields).data_hash
    (fields / "mdcr" / mdcr.DATA).unlink()
    task = read_mdcr(fields)
    assert task.papers == {}
    assert len(task.payload.rows) == 13
    assert task.data_hash != before


MDCR_FAULTS = {
    "an unknown miner": (
        {"Art": {"1": {"true": ["2"], "bm52": ["3"]}}},
        r"mdcr_test.json: field 'Art', query '1': unknown miner 'bm52'. did you mean 'bm25'",
    ),
    "no cited papers": ({"Art": {"1": {"bm25": ["3"]}}}, r"field 'Art', query '1': no cited papers"),
    "cited papers empty": ({"Art": {"1": {"true": []}}}, r"field 'Art', query '1': no cited papers"),
    "a list that is text": ({"Art": {"1": {"true": "23"}}}, r"query '1': 'true' must be a list of ids, found '23'"),
    "a list of other things": ({"Art": {"1": {"true": ["2", None]}}}, r"query '1': 'true' must be a list of ids"),
    "a field without queries": ({"Art": {}}, r"field 'Art' has no queries"),
    "a query that is a list": ({"Art": {"1": ["2"]}}, r"field 'Art', query '1': expected \{miner: \[ids\]\}"),
    "a field that is a list": ({"Art": ["1"]}, r"mdcr_test.json: expected \{field"),
    "no fields": ({}, r"mdcr_test.json: holds no field"),
    "a list of fields": ([{"Art": {}}], r"mdcr_test.json: expected \{field"),
}


@pytest.mark.parametrize("case", MDCR_FAULTS)
def test_malformed_mdcr_names_file_field_and_query(case: str, fields: Path) -> None:
    content, message = MDCR_FAULTS[case]
    (fields / "mdcr" / mdcr.BENCHMARK).write_text(json.dumps(content))
    with pytest.raises(DataError, match=message):
        read_mdcr(fields)


@pytest.mark.parametrize(("data", "message"), [
    (b'{"paper_id": "1", "title": "a", "abstract": "b"}\n{"paper_id": "2", "ti', r"mdcr_test_data.jsonl:2: not a JSON object"),
    (b'{"paper_id": "1", "title": "a", "abstract": "b"}\n' * 2, r"mdcr_test_data.jsonl:2: paper '1' is listed twice"),
    (b'{"paper": "1", "title": "a", "abstract": "b"}\n', r"mdcr_test_data.jsonl:1: no column 'paper_id'.* did you mean 'paper'"),
    (b'{"paper_id": "1", "title": "\xe9", "abstract": "b"}\n', r"mdcr_test_data.jsonl:1: not UTF-8"),
    (b'{"paper_id": "1", "title": 3, "abstract": "b"}\n', r"mdcr_test_data.jsonl:1: field 'title' must be str"),
    (b"", r"mdcr_test_data.jsonl: it has no rows"),
])  # fmt: skip
def test_damaged_mdcr_texts_name_file_and_line(data: bytes, message: str, fields: Path) -> None:
    (fields / "mdcr" / mdcr.DATA).write_bytes(data)
    with pytest.raises(DataError, match=message):
        _ = read_mdcr(fields).papers


@pytest.mark.parametrize(("data", "message"), [
    (json.dumps(BENCHMARK)[:90].encode(), r"mdcr_test.json: item 1: not JSON"),
    (b'{"Art": {"1": {"true": ["2"]}}, "Art": {"1": {"true": ["2"]}}}', r"mdcr_test.json: field 'Art' is there twice"),
    (b'{"Art": {"1": {"true": ["2"]}, "1": {"true": ["2"]}}}', r"mdcr_test.json: item 1: key '1' is there twice"),
])  # fmt: skip
def test_damaged_mdcr_names_the_file(data: bytes, message: str, fields: Path) -> None:
    (fields / "mdcr" / mdcr.BENCHMARK).write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_mdcr(fields)


def test_mdcr_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mdcr_test.json: file not found. Run `scirep data get mdcr`"):
        read_mdcr(tmp_path)
