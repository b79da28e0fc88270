"""`scirep submit`: a right file is added whole, every fault of a wrong one is named with its line, kept submissions stay right."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_files import jsonl

from scirep_core import load_task
from scirep_core.bench import submissions
from scirep_core.bench.suites import averages, units
from scirep_core.book.explain import find, recompute
from scirep_core.results import ROOT, read_results, stored

KEPT = sorted((ROOT / "results" / "submitted").glob("*.jsonl"))
Row = dict[str, Any]


def recorded(*tasks: str) -> list[Row]:
    """Rows of ours that `scirep score` would print: CSFCube's, under another system's name."""
    found = {}
    for row in read_results(ROOT / "results" / "real" / "csfcube" / "baselines.jsonl"):
        if row.task in tasks and row.encoder == "fabs_bm25" and submissions.what_of(row) == "score":
            found[row.task, row.metric, row.split, row.protocol] = row.to_json() | {
                "kind": "live", "chapter": "", "encoder": "mine", "by_query": {}}  # fmt: skip
    return list(found.values())


@pytest.fixture
def rows() -> list[Row]:
    return recorded("csfcube/all", "csfcube/method")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(submissions, "folder", lambda: tmp_path / "submitted")
    return tmp_path / "submitted"


Scirep = Callable[..., tuple[int, str, str]]


def array(path: Path, rows: list[Row]) -> Path:
    path.write_text(json.dumps(rows, indent=1))
    return path


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_every_committed_submission_is_right(path: Path) -> None:
    """CI's check of submissions: a pull request that adds a wrong one fails here."""
    found = submissions.check_kept(path)
    assert found.faults == [] and found.rows and submissions.NAME.fullmatch(path.stem)
    assert sorted(one for one in path.parent.glob("*") if not one.name.startswith(".")) == KEPT


def test_a_submitted_number_is_explained_with_a_command_in_which_a_hostile_parameter_is_one_word() -> None:
    row = read_results(ROOT / "results" / "submitted" / "example-tfidf.jsonl")[2]
    (origin,) = find(row.id)
    assert origin.file.name == "example-tfidf.jsonl" and "recorded:submitted/example-tfidf:sample/same_author" in row.id
    assert origin.to_json()["recompute"] == "scirep score sample/same_author --encoder tfidf --protocol paper --json"
    given = {"papers": "3; rm -rf ~", "data_seed": "$(x)"}
    told = recompute(replace(row, source="embedded", parameters=given))
    assert shlex.split(told)[-5:] == ["--papers", "3; rm -rf ~", "--data-seed", "$(x)", "--json"]
    assert "rm -rf" not in recompute(replace(row, parameters=given))


@pytest.mark.parametrize("write", [array, jsonl])
def test_a_right_file_is_added_whole_and_told_apart(write, rows, own, tmp_path, scirep):
    file = write(tmp_path / "my_rows.json", rows)
    code, out, _ = scirep("submit", file, "--name", "my-model", "--check-only")
    assert code == 0 and not own.exists() and f"{len(rows)} rows without a fault" in out
    code, out, _ = scirep("submit", file, "--name", "my-model", "--json")
    told = json.loads(out)
    assert code == 0 and told["rows"] == len(rows) and told["faults"] == [] and told["unchecked"] == []
    kept = read_results(own / "my-model.jsonl")
    assert told["added"] == str(own / "my-model.jsonl")
    given = [(r["task"], r["metric"], r["value"], r.get("low"), r["n"]) for r in rows]
    assert [(r.task, r.metric, r.value, r.low, r.n) for r in kept] == given
    assert {(r.kind, r.chapter, r.encoder) for r in kept} == {("recorded", "submitted/my-model", "mine")}
    code, out, _ = scirep("submit", own, "--check-only")
    assert code == 0 and f"{len(rows)} rows without a fault" in out


def test_a_name_or_a_number_that_is_taken_is_refused(rows, own, tmp_path, scirep):
    file = jsonl(tmp_path / "mine.jsonl", rows)
    assert scirep("submit", file)[0] == 0 and (own / "mine.jsonl").is_file()
    code, _, err = scirep("submit", file)
    assert code == 2 and "there is a submission of this name. Choose another with --name" in err
    code, out, err = scirep("submit", file, "--name", "other")
    assert code == 2 and "is there twice: submitted already as mine" in out and not (own / "other.jsonl").exists()
    assert f"{len(rows)} faults; nothing was added" in err
    code, _, err = scirep("submit", file, "--name", "../x")
    assert code == 2 and not (own.parent / "x.jsonl").exists()
    assert scirep("submit", own)[0] == 2  # a folder is only checked
    shutil.copy(own / "mine.jsonl", own / "other.jsonl")
    code, out, _ = scirep("submit", own, "--check-only")
    assert code == 2 and "other.jsonl:1: chapter 'submitted/mine', kind 'recorded'" in out
    assert "submitted already as mine" in out


@pytest.mark.parametrize(("says", "change"), [
    ("unknown field 'metrik'. did you mean 'metric'", {"metrik": "x"}), ("field 'value' is missing", {"value": None}),
    ("value = 'high'. It must be a finite int or float", {"value": "high"}), ("n = 50.5. It must be a finite int", {"n": 50.5}),
    ("n = True. It must be", {"n": True}),
    ("unknown task 'csfcube/methods'. did you mean 'csfcube/method'", {"task": "csfcube/methods"}),
    ("metric 'ndgc%20'. unknown metric", {"metric": "ndgc%20"}), ("metric 'difference of map'", {"metric": "difference of map"}),
    ("split 'tset' of csfcube/all", {"split": "tset"}), ("unknown protocol 'published'", {"protocol": "published"}),
    ("source 'kaggle'", {"source": "kaggle"}),
    ("value = 101.5. ndcg%20 lies between 0 and 100", {"value": 101.5, "low": None, "high": None}),
    ("value = -3. ndcg%20 lies between", {"value": -3, "low": None, "high": None}),
    ("outside its interval 10.0 to 20.0", {"low": 10.0, "high": 20.0}),
    ("interval 10.0 to None. Give both", {"low": 10.0, "high": None}), ("n = 49. csfcube/all, test has 50", {"n": 49}),
    ("n = 0. It counts", {"n": 0}), ("coverage = 0.93. All of the data must be scored", {"coverage": 0.93}),
    ("encoder = ''. Name the system", {"encoder": ""}), ("encoder = '=HYPERLINK(1)'", {"encoder": "=HYPERLINK(1)"}),
    ("encoder = 'oracle'. A floor, a ceiling or a difference", {"encoder": "oracle"}),
    ("encoder = 'a - b'. A floor, a ceiling or a difference", {"encoder": "a - b"}),
    ("fingerprint = ''. It says which weights", {"fingerprint": ""}),
    ("data_hash = 'abc'. It says which data", {"data_hash": "abc"}),
    ("n = 0. It counts", {"n": 0, "parameters": {"intercept": []}}),
])  # fmt: skip
def test_each_fault_is_named_with_its_line_and_remedy(says: str, change: Row, rows: list[Row], tmp_path: Path) -> None:
    place = {"task": "csfcube/all", "metric": "ndcg%20", "split": "test"}
    first = next(row for row in rows if row | place == row)
    chosen = [*[row for row in rows if row is not first][:2], first]
    first.update(change)
    if change == {"value": None}:
        del first["value"]
    found = submissions.check(jsonl(tmp_path / "r.jsonl", chosen), "r")
    assert [fault.line for fault in found.faults] and all(fault.line == 3 and fault.remedy for fault in found.faults)
    assert says in str(found.faults[0]), str(found.faults[0])
    made = submissions.check(array(tmp_path / "r.json", chosen), "r")
    at = (tmp_path / "r.json").read_text().splitlines()[made.faults[0].line - 1]  # type: ignore[operator]
    assert at == " {" and [f.reason for f in made.faults] == [f.reason for f in found.faults]


def told(path: Path, rows: list[Row]) -> str:
    """Return the first fault of rows, "" of right ones."""
    return next((str(fault) for fault in submissions.check(jsonl(path / "r.jsonl", rows), "r").faults), "")


def test_other_data_are_refused_and_what_is_not_at_hand_is_said(rows, tmp_path, monkeypatch, real):
    other = [row | {"data_hash": "0" * 64} for row in rows]
    assert f"Ours is {real.data_hash[:16]}: score on the same data" in told(tmp_path, other[:1])
    monkeypatch.setattr(submissions, "_at_hand", lambda *given: None)
    found = submissions.check(jsonl(tmp_path / "r.jsonl", other), "r")
    assert found.faults == [] and len(found.unchecked) == 2 and "the data are not at hand" in found.unchecked[0]


def test_embedded_data_are_made_to_check_a_row_of_them(tmp_path: Path) -> None:
    task = load_task("scirepeval/relish", "embedded", 400, 7)
    n, size = len({r.query_id for r in task.payload.rows}), {"papers": 400, "data_seed": 7}  # type: ignore[union-attr]
    row = {"task": task.name, "split": "test", "metric": "ndcg", "protocol": "paper", "value": 50.0, "n": n, "encoder": "mine",
           "fingerprint": "0" * 16, "source": "embedded", "data_hash": task.data_hash, "parameters": size}  # fmt: skip
    assert told(tmp_path, [row]) == ""
    for change, says in (
        ({"n": n - 1}, f"n = {n - 1}. scirepeval/relish, test has {n}"),
        ({"parameters": size | {"data_seed": 8}}, "Ours of 400 papers, seed 8 is"),
        ({"parameters": {"papers": 10**6}}, "up to 20,000 papers"),
    ):
        assert says in told(tmp_path, [row | change])


def test_the_same_number_twice_in_a_file_is_a_fault(rows: list[Row], tmp_path: Path) -> None:
    found = submissions.check(jsonl(tmp_path / "r.jsonl", [*rows[:3], rows[1]]), "r")
    assert [(f.line, "is there twice: first at line 2" in f.reason) for f in found.faults] == [(4, True)]


def test_an_average_is_checked_against_its_rows(tmp_path: Path) -> None:
    """On our own recorded rows of the whole benchmark: right as they are, wrong when a digit is changed or a unit is missing."""
    wanted = {unit.task: {split for split, _ in unit.members} for unit in units("v2")}
    found, ours = {}, ("tfidf", "embedded", "paper", "baselines.jsonl")
    for row, path in stored():
        known = row.split in wanted.get(row.task, ()) and row.parameters.get("intercept", True)
        if known and (row.encoder, row.source, row.protocol, path.name) == ours:
            found.setdefault((row.task, row.split, row.metric), row)
    members = [row for row in found.values() if submissions.what_of(row) == "score"]
    (made,) = averages(members, "v2", False, ("all",))
    file = [row.to_json() | {"by_query": {}, "encoder": "mine"} for row in (*members, made)]
    assert told(tmp_path, file) == ""
    file[-1]["value"] += 0.01
    assert "The rows of this file give" in told(tmp_path, file)
    assert "not an average of rows in this file" in told(tmp_path, file[-1:])


def test_files_that_are_no_rows_are_named(own: Path, tmp_path: Path, scirep: Scirep) -> None:
    for text, says in (
        ("[]", "no rows"), ("", "no rows"), ('[{"a": 1}', "not JSON"), ("[1]", "expected a result row, found int"),
        ('{"value": NaN}\n', "NaN is not a JSON number"),
    ):  # fmt: skip
        (tmp_path / "r.json").write_text(text)
        code, out, err = scirep("submit", tmp_path / "r.json")
        assert code == 2 and says in out + err and "r.json" in out + err, text
    code, _, err = scirep("submit", tmp_path / "none.json")
    assert code == 2 and "none.json: file not found" in err
