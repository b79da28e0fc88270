"""The readers of S2AND and MDCR: the real samples of S2AND, both layouts by hand, every kind of damage."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from small_files import MIRROR, mirrored
from small_published import collection, read, text, write_fields, write_stones

from scirep_core.data.readers import mdcr, s2and
from scirep_core.data.task import Byline, Qrel, Signature
from scirep_core.kit.records import Paper

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
