"""`scirep diff`: the first field in which two results differ, wherever it is put, and the first line of two sites."""

from __future__ import annotations

import gzip
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from scirep_core.book.diff import APART, compare
from scirep_core.kit.records import to_jsonl
from scirep_core.results import ROOT, Result, read_results

RECORDED = ROOT / "results" / "real" / "csfcube" / "agreement.jsonl"
ROW = Result("csfcube/all", "test", "map", "paper", 40.0, 50, encoder="bm25", low=35.0, high=45.0, chapter="csfcube/baselines",
             seconds=1.5, parameters={"seed": 0}, provenance={"code_version": "a", "versions": {"numpy": "2.4"}},
             by_query={"q1": 10.0, "q2": 70.0})  # fmt: skip


def write(path: Path, *rows: Result) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = to_jsonl(row.to_json() for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def other(value: Any) -> Any:
    """A value of the same kind that is not the same."""
    if isinstance(value, dict):
        key = next(iter(value), "new")
        return {**value, key: other(value.get(key, ""))}
    if isinstance(value, list):
        return [*value, "other"]
    return value + 1 if isinstance(value, int | float) else f"{value} other"


def row(**change: Any) -> Result:
    return replace(ROW, **change)


MRR, LOW, HIGH, HIGHER = row(metric="mrr"), row(value=1.0), row(value=2.0), row(value=3.0)
LATER = row(seconds=9.0, provenance={"code_version": "b", "versions": {"numpy": "2.5"}, "device": "gpu"})
SLOW, SLOWER = (row(parameters={"seed": 0, "training_seconds": seconds}) for seconds in (4.1, 5.2))
CASES: list[tuple[list[Result], list[Result], str, int, tuple[str, ...]]] = [
    # in any order of lines
    ([ROW, MRR], [MRR, ROW], "", 0, ("rows: 2 in both, 0 differ", "equal")),
    # the first field is told with both values and how far; of a mapping by its key
    ([ROW], [row(value=40.5, low=36.0, n=49)], "", 1, (
        "rows: 1 in both, 1 differ (value in 1, n in 1, low in 1)", "  at a.jsonl:1 and b.jsonl:1",
        "  value: 40.0 in A, 40.5 in B: B is 0.5 higher, 0.013 of it", "different")),
    ([ROW], [row(by_query={"q1": 10.0, "q2": 69.0})], "", 1, (
        "  by_query['q2']: 70.0 in A, 69.0 in B: B is 1 lower, 0.014 of it",)),
    ([ROW], [row(parameters={})], "", 1, ("  parameters['seed']: 0 in A, nothing in B",)),
    # a tolerance is of measured numbers and not of counts
    ([ROW], [row(value=40.01)], "", 1, ()),
    ([ROW], [row(value=40.01)], "--tolerance 0.009", 1, ()),
    ([ROW], [row(value=40.01)], "--tolerance 0.011", 0, ()),
    ([ROW], [row(n=51)], "--tolerance 5", 1, ()),
    # when and how fast stand apart unless asked for, and how long a training took
    ([ROW], [LATER], "", 0, (
        "not compared, but other: seconds in 1 rows, code_version in 1 rows, versions.numpy in 1 rows, device in 1 rows",)),
    ([ROW], [LATER], "--all", 1, ("  seconds: 1.5 in A, 9.0 in B: B is 7.5 higher, 5 of it",)),
    ([SLOW], [SLOWER], "", 0, ("not compared, but other: training_seconds in 1 rows",)),
    ([SLOW], [SLOWER], "--all", 1, ("  parameters['training_seconds']: 4.1 in A, 5.2 in B: B is 1.1 higher, 0.27 of it",)),
    # rows of one side alone, and ids that are held twice: matched one by one
    ([ROW], [ROW, MRR], "", 1, ("rows: 1 in both, 0 differ", "rows only in B: 1", f"  {MRR.id}")),
    ([LOW, HIGH], [HIGH, LOW], "", 0, (
        "rows: 2 in both, 0 differ", *(f"ids that {side} holds more than once, matched one by one: 1" for side in "AB"))),
    ([LOW, HIGH], [HIGH, HIGHER], "", 1, (
        "rows: 2 in both, 1 differ (value in 1)", "  value: 1.0 in A, 3.0 in B: B is 2 higher, 2 of it")),
    ([LOW, HIGH], [HIGH], "", 1, ("rows: 1 in both, 0 differ", "rows only in A: 1", f"  {ROW.id}")),
]  # fmt: skip
"""Rows of A and of B, options, exit code, lines that are printed."""


@pytest.mark.parametrize(("a", "b", "options", "code", "lines"), CASES)
def test_two_files_of_rows_are_told_apart(scirep, tmp_path, monkeypatch, a, b, options, code, lines):
    monkeypatch.chdir(tmp_path)
    write(Path("a.jsonl"), *a)
    write(Path("b.jsonl"), *b)
    left, out, err = scirep("diff", "a.jsonl", "b.jsonl", *options.split())
    assert (left, err) == (code, "")
    assert [line for line in lines if line not in out.splitlines()] == []
    told = json.loads(scirep("diff", "a.jsonl", "b.jsonl", *options.split(), "--json")[1])
    assert told["equal"] == (code == 0)
    assert told["rows"]["only_b"] == [one.id for one in b if one.id not in {held.id for held in a}]


def test_what_score_printed_twice_is_compared_as_rows(scirep, tmp_path):
    for name, value in (("a", 40.0), ("b", 40.5)):
        printed = json.dumps([replace(ROW, value=value).to_json()], indent=1)
        (tmp_path / f"{name}.json").write_text(printed)
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    code, out, _ = scirep("diff", a, b)
    assert code == 1 and "1 in both, 1 differ (value in 1)" in out and f"{a}:2 and {b}:2" in out
    assert scirep("diff", a, b, "--tolerance", 0.5)[0] == 0
    assert scirep("diff", a, write(tmp_path / "a.jsonl", ROW))[0] == 0
    (tmp_path / "a.json").write_text('[{"task": "x"}, 3]')
    assert scirep("diff", a, b)[0] == 2


NAMED = {"task", "split", "metric", "protocol", "encoder", "kind", "chapter"}
"""Fields that are part of the id: with another one it is another number."""


@pytest.mark.parametrize("name", [f.name for f in fields(Result) if f.name not in {*NAMED, *APART, "replicates"}])
def test_a_change_of_any_field_of_a_recorded_row_is_named(tmp_path, name):
    full = {"by_query": {"q": 1.0}, "coverage": 1.0, "seed": 0}
    rows = [replace(one, low=one.low or 0.0, high=one.high or 0.0, **full) for one in read_results(RECORDED)]
    at = len(rows) // 2
    changed = replace(rows[at], **{name: other(getattr(rows[at], name))})
    a, b = write(tmp_path / "a.jsonl", *rows), write(tmp_path / "b.jsonl", *rows[:at], changed, *rows[at + 1 :])
    found = compare(a, b).rows
    assert found is not None and found.first is not None
    assert (found.both, found.different, found.only_a, found.only_b) == (len(rows), 1, (), ())
    assert found.first.field.partition("[")[0] == name
    assert (found.first.id, found.first.at) == (rows[at].id, (f"{a}:{at + 1}", f"{b}:{at + 1}"))


def test_folders_meet_by_chapter_whatever_their_layout(tmp_path):
    """results/PROFILE, gzipped or not, the .data folders of executed chapters, and a site that holds them."""
    errors = replace(ROW, chapter="csfcube/errors")
    results, runs = tmp_path / "results", tmp_path / "runs"
    write(results / "csfcube" / "baselines.jsonl", ROW)
    write(results / "csfcube" / "errors.jsonl.gz", errors)
    for chapter, row in (("baselines", ROW), ("errors", replace(errors, value=41.0))):
        write(runs / "csfcube" / f"{chapter}.data" / "rows.jsonl", row)
    write(runs / "csfcube" / ".half" / "rows.jsonl", ROW)  # unfinished ones are hidden
    found = compare(results, runs).rows
    assert (found.both, found.different, found.first.id) == (2, 1, errors.id)
    assert compare(results / "csfcube" / "baselines.jsonl", runs).equal  # a file finds its chapter in a folder
    assert not compare(results / "csfcube" / "errors.jsonl.gz", runs).equal
    assert compare(runs / "csfcube" / "baselines.data", results / "csfcube" / "baselines.jsonl").equal
    (runs / "index.html").touch()  # a site, compared with rows, is its rows
    assert compare(results, runs).rows == found
    write(results / "csfcube" / "agreement.jsonl", replace(ROW, chapter="csfcube/agreement"))
    assert compare(results, runs).rows.only_a == (replace(ROW, chapter="csfcube/agreement").id,)


def site(folder: Path, line: str, row: Result) -> Path:
    folder.mkdir()
    (folder / "index.html").write_text(f"<html>\n<p>the same</p>\n{line}\n</html>", encoding="utf-8")
    (folder / "logo.png").write_bytes(b"\x89PNG\xff")
    (folder / ".scirep-book.json").write_text(folder.name)
    write(folder / "csfcube" / "a.data" / "rows.jsonl", row)
    return folder


def test_two_sites_are_compared_by_file_and_line_and_their_rows_as_rows(scirep, tmp_path):
    a = site(tmp_path / "a", "x" * 500 + "43.19" + "y" * 500, ROW)
    b = site(tmp_path / "b", "x" * 500 + "43.18" + "y" * 500, replace(ROW, seconds=7.0))
    found = compare(a, b)
    assert not found.equal and found.rows is not None and found.rows.equal
    (parted,) = found.parted
    assert (parted.file, parted.line) == ("index.html", 3)
    assert "43.19yyy" in parted.a and "43.18yyy" in parted.b and len(parted.a) < 150
    assert found.same == 1
    code, out, _ = scirep("diff", a, b)
    assert code == 1 and "index.html, line 3:" in out
    assert scirep("diff", a, b, "--rows")[0] == 0
    (b / "logo.png").write_bytes(b"\x89PNG\xfe")
    (b / "new.html").touch()
    found = compare(a, b)
    assert (found.only_a, found.only_b) == ((), ("new.html",))
    assert [(one.file, one.line) for one in found.parted] == [("index.html", 3), ("logo.png", 0)]


def test_a_page_that_goes_on_differs_where_the_other_ends(tmp_path):
    (tmp_path / "a.html").write_text("one\ntwo")
    (tmp_path / "b.html").write_text("one\ntwo\nthree")
    assert compare(tmp_path / "a.html", tmp_path / "b.html").parted[0][1:] == (3, "", "three")
    assert compare(tmp_path / "a.html", tmp_path / "a.html").equal


def test_bad_input_is_one_line_and_exit_code_2(scirep, tmp_path):
    good, page, empty = write(tmp_path / "a.jsonl", ROW), tmp_path / "page.html", tmp_path / "empty"
    page.touch()
    empty.mkdir()
    (tmp_path / "papers.jsonl").write_text('{"paper_id": "1"}\n')
    (tmp_path / "typo.jsonl").write_text('{"task": "t", "metric": "m", "valeu": 1}\n')
    for name in ("one/csfcube/a", "one/csfcube/b", "two/scimult/a", "twice/a"):
        write(tmp_path / f"{name}.jsonl", ROW)
    write(tmp_path / "twice" / "a.jsonl.gz", ROW)
    for words, message in (
        ((good, tmp_path / "none.jsonl"), "none.jsonl: no such file or folder"),
        ((good, page), "is a page and"),
        ((good, empty), "neither a built site (index.html) nor result rows"),
        ((good, tmp_path / "papers.jsonl"), "papers.jsonl:1: not a result row"),
        ((good, tmp_path / "typo.jsonl"), "typo.jsonl:1: unknown field 'valeu'. did you mean 'value'"),
        ((tmp_path / "one", tmp_path / "two"), "no file in common"),
        ((good, tmp_path / "one"), "no file of chapter csfcube/baselines"),
        ((good, tmp_path / "twice"), "both hold a"),
        ((good, good, "--tolerance", "-1"), "--tolerance -1.0: must be a number from 0"),
        ((good, good, "--tolerance", "nan"), "--tolerance nan"),
    ):
        code, out, err = scirep("diff", *words)
        assert (code, out) == (2, ""), words
        assert message in err
        assert len(err.strip().splitlines()) == 1, err
