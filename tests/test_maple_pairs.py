"""Training pairs of papers and labels from MAPLE folders: caps, hard negatives by relation, the files they become."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest
from counted import peak
from small_files import jsonl, refused

from scirep_core.cli import main
from scirep_core.data.readers.maple_pairs import Report, pairs
from scirep_core.data.readers.scimult import dpr_rows
from scirep_core.data.sources import ensure
from scirep_core.kit.errors import ConfigError, DataError


def paper(key, labels, authors=(), venue="", references=(), year=2010):
    return {
        "paper": key, "venue": venue, "year": str(year), "title": f"about {key}", "label": list(labels), "author": list(authors),
        "reference": list(references), "abstract": "", "title_raw": f"About {key}", "abstract_raw": f"We study {key}.",
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    def write(rows, name="Field", labels="abcdef"):
        jsonl(tmp_path / name / "papers.json", rows)
        (tmp_path / name / "labels.txt").write_text("".join(f"{key}\tthe label {key}\t1\n" for key in labels))
        return tmp_path / name

    return write


def read(*folders, **more):
    told = Report()
    rows = {row["question"].split()[1]: row for row in pairs(folders, report=told, **more)}
    return rows, told


def names(row, kind):
    return [one["passage_id"] for one in row[kind]]


def test_each_relation_gives_a_label_that_the_paper_has_not(folder):
    rows = [
        paper("p1", "ab", references=["p2", "elsewhere"]), paper("p2", "bc"),
        paper("q1", "ab", authors=["x"]), paper("q2", "ad", authors=["x"]),
        paper("r1", "ab", venue="V"), paper("r2", "abe", venue="V"),
        paper("alone", "f"), paper("same", "a", references=["twin"]), paper("twin", "a"),
    ]  # fmt: skip
    found, told = read(folder(rows))
    assert {key: names(row, "hard_negative_ctxs") for key, row in found.items()} == {
        "p1": ["c"], "p2": [], "q1": ["d"], "q2": ["b"], "r1": ["e"], "r2": [], "alone": [], "same": [], "twin": [],
    }  # fmt: skip
    assert told.hard == Counter({"": 5, "author": 2, "reference": 1, "venue": 1})
    assert (told.papers, told.pairs, told.dropped, told.labels) == (9, 16, 0, 6)
    assert (told.references, told.resolved) == (3, 2)
    assert found["p1"]["question"] == "About p1 [SEP] We study p1."
    assert found["p1"]["positive_ctxs"][0] == {"title": "the label a", "text": "", "passage_id": "a"}


def test_an_author_of_one_paper_is_not_asked_where_another_has_more(folder):
    alone = [f"alone {i}" for i in range(20)]
    rows = [paper(f"p{i}", "ab"[i % 2], authors=[*alone[i : i + 1], f"both {i // 2}"]) for i in range(20)]
    assert read(folder(rows))[1].hard == Counter({"author": 20})


def test_a_label_is_in_at_most_so_many_pairs_whatever_else_is_there(folder):
    rows = [paper(f"p{i}", "ab" if i % 2 else "a") for i in range(30)]
    found, told = read(folder(rows), cap=7)
    counts = Counter(key for row in found.values() for key in names(row, "positive_ctxs"))
    assert counts == {"a": 7, "b": 7} and told.pairs == 14 and told.dropped == 31
    kept = {key for key, row in found.items() if "a" in names(row, "positive_ctxs")}
    again, _ = read(folder([*rows, paper("new", "c")]), cap=7)
    assert kept == {key for key, row in again.items() if "a" in names(row, "positive_ctxs")}
    other, _ = read(folder(rows), cap=7, seed=1)
    assert kept != {key for key, row in other.items() if "a" in names(row, "positive_ctxs")}


def test_the_cap_draws_for_each_label_anew(folder):
    """Published are 1.5 pairs a paper, of papers that have a dozen labels: who keeps one does not keep all."""
    found, told = read(folder([paper(f"p{i}", "abcdef") for i in range(60)]), cap=10)
    assert told.pairs == 60 and len(found) > 25


def test_papers_after_2015_are_neither_asked_nor_give_labels(folder):
    rows = [paper("p1", "a", references=["late"]), paper("late", "b", year=2016), paper("bare", "")]
    found, _ = read(folder(rows))
    assert set(found) == {"p1"} and not found["p1"]["hard_negative_ctxs"]
    assert set(read(folder(rows), split="test")[0]) == {"late"}
    assert names(read(folder(rows), split="all")[0]["p1"], "hard_negative_ctxs") == ["b"]


def test_a_paper_of_two_folders_is_asked_once_with_all_its_labels(folder):
    first = folder([paper("p1", "a"), paper("p2", "c")], "Biology_MeSH")
    second = folder([paper("p1", "b"), paper("p3", "a", references=["p1"])], "Medicine_MeSH")
    assert len(list(pairs([first, second]))) == 3
    found, _ = read(first, second)
    assert names(found["p1"], "positive_ctxs") == ["a", "b"]
    assert names(found["p3"], "hard_negative_ctxs") == ["b"]


def test_a_paper_without_a_text_is_counted_and_takes_no_part(folder):
    blank = paper("void", "b", venue="V") | {"title_raw": " ", "abstract_raw": ""}
    found, told = read(folder([paper("p1", "a", venue="V"), blank]))
    assert set(found) == {"p1"} and not found["p1"]["hard_negative_ctxs"]
    assert (told.papers, told.blank, told.labels) == (1, 1, 1)


def test_memory_is_of_ids_and_labels_not_of_references(folder):
    source = folder([paper(f"p{i}", "ab", references=[f"elsewhere {i} {j}" for j in range(200)]) for i in range(300)])
    counts = []
    most = peak(lambda: counts.append(sum(len(row["positive_ctxs"]) for row in pairs([source]))))
    assert counts == [200] and most < 2 << 20, "60,000 references alone are 5 MB"


@pytest.mark.parametrize(("labels", "more", "error", "says"), [
    ("z", {}, DataError, "papers.json:1: paper p1: label 'z' is not in labels.txt"),
    ("a", {"split": "tain"}, ConfigError, "unknown split 'tain'"), ("a", {"split": "test"}, DataError, "no labelled paper"),
    (None, {}, ConfigError, "name a folder"),
])  # fmt: skip
def test_what_cannot_be_read_is_named(folder, labels, more, error, says):
    folders = [folder([paper("p1", labels)])] if labels else []
    refused(lambda: list(pairs(folders, **more)), says, error=error)


def test_rows_go_to_standard_output_even_where_that_is_a_file(folder, tmp_path):
    source, out = folder([paper("p1", "a")]), tmp_path / "rows.json"
    words = [sys.executable, "-m", "scirep_core.cli", "data", "pairs", str(source), "--out", "-"]
    with out.open("wb") as stream:
        done = subprocess.run(words, stdout=stream, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [json.loads(row)["question"] for row in out.read_text().splitlines()] == ["About p1 [SEP] We study p1."]
    assert "1 pairs of 1 papers" in done.stderr


def test_the_embedded_field_becomes_a_file_that_training_reads(tmp_path, capsys):
    ensure(tmp_path / "literature", "maple", 1200, 0)
    source, out = tmp_path / "literature" / "maple" / "Computer_Science", tmp_path / "cs_journal_train.json"
    with pytest.raises(SystemExit, match="0"):
        main(["data", "pairs", str(source), "--out", str(out), "--json"])
    told = json.loads(capsys.readouterr().out)
    rows = list(dpr_rows(out))
    assert told["papers"] >= len(rows) > 10
    assert told["pairs"] == sum(len(positives) for _, positives, _ in rows)
    assert sum(told["hard"].values()) == len(rows) and told["hard"].get("", 0) < len(rows) / 2
    assert all(negatives[0] not in positives for _, positives, negatives in rows if negatives)
