"""MDCR: which papers does a paper cite, in 19 fields (Medic and Snajder 2022; SciRepEval v2 Tables 5 and 10).

The published layout (repository zoranmedic/mdcr: its README, and `evaluate.py`, which scores it):

    <root>/mdcr/mdcr_test.json          one object {field: {query id: {miner: [candidate ids], "true": [cited ids]}}}
    <root>/mdcr/mdcr_test_data.jsonl    the papers, {"paper_id", "title", "abstract"} a line

A field is one of 19 top-level fields of MAG. Candidates come from six miners (`MINERS`), which each look for papers
that are hard to tell from cited ones in their own way; the cited papers are under `true`. A candidate scores 0, a
cited paper 1. The script writes a query's lists into one table in the order of MINERS and `true` last, so a paper
that a miner found and the query cites counts as cited, and one found by several miners counts once. MAP and Recall@5
are taken field by field and then averaged over fields: `Qrel.group` is the field.

The validation split (`mdcr_val*`) has the same layout and belongs to no table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

from scirep_core.data import hub
from scirep_core.data.inventory import TaskSpec
from scirep_core.data.rows import once
from scirep_core.data.tables import Found
from scirep_core.data.task import Judged, Qrel
from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.records import Paper

MINERS = ("bm25", "graph", "most_cited", "random", "scincl", "specter")
"""In the order in which the published script writes their candidates; a collection may do without some."""
CITED = "true"
BENCHMARK, DATA = "mdcr_test.json", "mdcr_test_data.jsonl"
_LONGEST = 1 << 30  # a field is one JSON item: all its queries


def read(spec: TaskSpec, root: Path) -> Found:
    """Read the test split; texts only if their file is there.

    Raises DataError, naming file, field and query, for bad JSON, an unknown miner, lists that hold no ids, a query
    without cited papers, an empty field.
    """
    path, data = root / "mdcr" / BENCHMARK, root / "mdcr" / DATA
    if not path.is_file():
        raise DataError(path, None, "file not found", "Run `scirep data get mdcr`")
    rows = tuple(_rows(path))
    texts = [data] if data.is_file() else []
    if texts:
        hub.check(texts, _COLUMNS)
    return Found(Judged(rows), partial(_texts, texts), [path, *texts])


def _rows(path: Path) -> Iterator[Qrel]:
    for group, queries in hub.objects(path, "field", _LONGEST):
        if not queries:
            raise DataError(path, None, f"field {group!r} has no queries", "Leave the field out")
        for query, lists in queries.items():
            where = f"field {group!r}, query {query!r}"
            for candidate, score in _scores(path, where, lists).items():
                yield Qrel(query, candidate, score, group)


def _scores(path: Path, where: str, lists: Any) -> dict[str, int]:
    """Return {candidate: 0 or 1} of one query, the later list overwriting the earlier."""
    if not isinstance(lists, dict):
        raise DataError(path, None, f"{where}: expected {{miner: [ids]}}, found {lists!r:.40}")
    known = (*MINERS, CITED)
    for miner, ids in lists.items():
        if miner not in known:
            raise DataError(path, None, f"{where}: unknown miner {miner!r}", nearest(miner, known))
        if not isinstance(ids, list) or any(type(one) not in (str, int) or one == "" for one in ids):
            raise DataError(path, None, f"{where}: {miner!r} must be a list of ids, found {ids!r:.60}")
    if not lists.get(CITED):
        raise DataError(path, None, f"{where}: no cited papers", f"List them under {CITED!r}, or leave the query out")
    return {str(one): int(miner == CITED) for miner in known for one in lists.get(miner, ())}


_COLUMNS: dict[str, hub.Kind] = {
    "paper_id|doc_id": (str, int), "title": (str, NoneType), "abstract": (str, NoneType),
}  # fmt: skip


def _texts(files: list[Path]) -> Iterator[Paper]:
    rows = hub.rows(files, _COLUMNS) if files else ()
    for paper_id, row in once(((str(row["paper_id"]), row) for row in rows), "paper"):
        yield Paper(paper_id, row["title"] or "", row["abstract"] or "")
