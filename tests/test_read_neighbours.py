"""Collections for short-query retrieval: streamed from gzip, counted, refused where malformed."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from scirep_core.data.inventory import TASKS
from scirep_core.data.readers import neighbours
from scirep_core.data.task import Collection
from scirep_core.kit.errors import DataError

MIRROR = os.environ.get("SCIREP_DATA_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="SCIREP_DATA_MIRROR is not set: no real data on this machine")
REAL = Path(MIRROR or "") / "textual_neighbours"

ROWS = [
    {
        "paper_id": "a1",
        "title": "Kites\u2028in wind",
        "abstract": "A kite.",
        "year": 2019,
        "venue": "AIR",
        "ratings": [4.0, 6.0],
    },
    {"paper_id": "a2", "title": "Gliders", "abstract": "", "gs_citation": -1},
    {"paper_id": "a3", "title": "Balloons", "year": None},
]


def write(root: Path, lines: bytes, cut: int = 0) -> Path:
    path = root / "acl_anthology" / "acl_anth.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress(lines, mtime=0)
    path.write_bytes(packed[: len(packed) - cut])
    return path


def lines(rows: list[dict]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def read(root: Path):
    return neighbours.read(TASKS["neighbours/acl_anth"], "neighbours/acl_anth", root, "embedded")


def test_values_and_counts(tmp_path):
    write(tmp_path, lines(ROWS))
    task = read(tmp_path)
    assert (task.type, task.similarity, task.source) == ("alternative_self", "cosine", "embedded")
    assert task.payload == Collection(("a1", "a2", "a3"))
    assert task.notes == "2 papers without an abstract"
    first = task.papers["a1"]
    assert (first.title, first.abstract, first.year, first.venue) == ("Kites\u2028in wind", "A kite.", 2019, "AIR")
    assert (task.papers["a3"].abstract, task.papers["a3"].year) == ("", None)
    assert len(list(task.texts())) == len(list(task.texts())) == 3


def test_plain_file_and_repeated_texts(tmp_path):
    path = write(tmp_path, b"")
    path.unlink()
    plain = path.with_suffix("")
    plain.write_bytes(lines([*ROWS, {**ROWS[0], "paper_id": "a4"}]))
    assert "1 papers repeat another's title and abstract" in read(tmp_path).notes
    plain.unlink()
    with pytest.raises(DataError, match=r"acl_anth\.jsonl\.gz: file not found"):
        read(tmp_path)


def test_texts_are_not_read_until_asked_and_hash_follows_content(tmp_path):
    write(tmp_path, lines(ROWS))
    before = read(tmp_path).data_hash
    other = tmp_path / "other"
    write(other, lines(ROWS))
    assert read(other).data_hash == before
    write(other, lines(ROWS[:2]))
    assert read(other).data_hash != before
    stream = neighbours.papers(tmp_path / "no.jsonl.gz")  # opened only when read
    with pytest.raises(DataError, match="file not found"):
        next(stream)


DAMAGE = {
    "id missing": (lambda b: b.replace(b'"paper_id": "a2"', b'"id": "a2"'), 2, "field 'paper_id' is missing"),
    "title missing": (lambda b: b.replace(b'"title": "Gl', b'"titel": "Gl'), 2, "field 'title' is missing"),
    "title empty": (lambda b: b.replace(b'"Gliders"', b'" "'), 2, "paper a2 has no title"),
    "title a number": (lambda b: b.replace(b'"Gliders"', b"5"), 2, "field 'title' must be str"),
    "abstract a list": (lambda b: b.replace(b'"A kite."', b'["A kite."]'), 1, "field 'abstract' must be str or NoneType"),
    "year a text": (lambda b: b.replace(b"2019", b'"2019"'), 1, "field 'year' must be int or NoneType"),
    "id twice": (lambda b: b.replace(b'"a3"', b'"a1"'), 3, "paper 'a1' is listed twice (first on line 1)"),
    "half a line": (lambda b: b[:-8], 3, "not a JSON object"),
    "no object": (lambda b: b + b"[1]\n", 4, "expected a JSON object, found list"),
    "not a number": (lambda b: b.replace(b"-1", b"NaN"), 2, "NaN is not a JSON number"),
    "key twice": (lambda b: b.replace(b'"gs_citation"', b'"title"'), 2, "key 'title' is there twice"),
    "not utf-8": (lambda b: b.replace(b"Gliders", b"Gl\xffders"), 2, "not UTF-8 at byte"),
    "empty": (lambda b: b"", None, "the file is empty"),
    "blank lines only": (lambda b: b"\n\n", None, "the file is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_names_file_and_line(tmp_path, name):
    change, line, message = DAMAGE[name]
    path = write(tmp_path, change(lines(ROWS)))
    with pytest.raises(DataError, match=re.escape(message)) as error:
        read(tmp_path)
    assert (error.value.path, error.value.line) == (str(path), line)


def test_broken_gzip(tmp_path):
    path = write(tmp_path, lines(ROWS), cut=12)
    with pytest.raises(DataError, match="not a whole gzip file"):
        read(tmp_path)
    path.write_bytes(lines(ROWS))  # named .gz, but plain
    with pytest.raises(DataError, match="not a whole gzip file"):
        read(tmp_path)


@needs_mirror
@pytest.mark.parametrize(
    ("config", "file", "count", "years"),
    [("acl_anth", "acl_anth", 9_639, (2016, 2021)), ("iclr", "iclr_reviews", 3_519, (2017, 2021))],
)
def test_real_collections(tmp_path, config, file, count, years):
    spec = TASKS[f"neighbours/{config}"]
    path = tmp_path / spec.manifest / f"{config}.jsonl.gz"
    path.parent.mkdir()
    path.symlink_to(REAL / f"{file}.jsonl.gz")
    task = neighbours.read(spec, f"neighbours/{config}", tmp_path, "real")
    assert isinstance(task.payload, Collection)
    assert len(task.payload.paper_ids) == len(task.papers) == count
    found = {paper.year for paper in task.papers.values()}
    assert (min(found), max(found)) == years
    assert "without an abstract" not in task.notes
