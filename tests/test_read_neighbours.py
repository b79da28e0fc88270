"""Collections for short-query retrieval: streamed from gzip, counted, refused where malformed."""

from __future__ import annotations

import pytest
from small_files import MIRROR, jsonl, mirrored
from small_published import KITES, read, write_kites

from scirep_core.data.inventory import TASKS
from scirep_core.data.readers import neighbours
from scirep_core.data.task import Collection
from scirep_core.kit.errors import DataError

needs_mirror = mirrored("textual_neighbours")
REAL = MIRROR / "textual_neighbours"
ACL = "neighbours/acl_anth"


def test_values_and_counts(tmp_path):
    write_kites(tmp_path)
    task = read(ACL, tmp_path)
    assert (task.type, task.similarity, task.source) == ("alternative_self", "cosine", "embedded")
    assert task.payload == Collection(("a1", "a2", "a3"))
    assert task.notes == "2 papers without an abstract"
    first = task.papers["a1"]
    assert (first.title, first.abstract, first.year, first.venue) == ("Kites\u2028in wind", "A kite.", 2019, "AIR")
    assert (task.papers["a3"].abstract, task.papers["a3"].year) == ("", None)
    assert len(list(task.texts())) == len(list(task.texts())) == 3


def test_plain_file_and_repeated_texts(tmp_path):
    jsonl(tmp_path / "acl_anthology" / "acl_anth.jsonl", [*KITES, {**KITES[0], "paper_id": "a4"}])
    assert "1 papers repeat another's title and abstract" in read(ACL, tmp_path).notes


def test_texts_are_not_read_until_asked(tmp_path):
    stream = neighbours.papers(tmp_path / "no.jsonl.gz")
    with pytest.raises(DataError, match="file not found"):
        next(stream)


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
