"""The rows of a task folder's files: a record each, and how JSON lines become records.

Every reader here streams, and raises DataError naming file and line of what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from scirep_core.kit.errors import DataError
from scirep_core.kit.records import field as check_field
from scirep_core.kit.records import read_jsonl

TaskType = Literal[
    "classification", "regression", "proximity", "adhoc_search", "retrieval", "label_ranking", "reviewer_matching",
    "author_disambiguation", "alternative_self", "triplets",
]  # fmt: skip
TASK_TYPES: tuple[TaskType, ...] = get_args(TaskType)
SPLITS = ("train", "validation", "test")
Row = dict[str, Any]
Label = int | float | tuple[int, ...]
"""A class, a target, or a multi-hot row."""


class FewShot(NamedTuple):
    """A few-shot setting: examples (in total; per label where multi-label) and how often it is repeated."""

    sample_size: int
    iterations: int


class Example(NamedTuple):
    """One labelled paper."""

    paper_id: str
    label: Label


class Qrel(NamedTuple):
    """One judged candidate of a query; `group` is MDCR's field."""

    query_id: str
    cand_id: str
    score: int
    group: str = ""


class LabelText(NamedTuple):
    """A label that is itself a text."""

    label_id: str
    name: str
    definition: str = ""


class Signature(NamedTuple):
    """One author mention: a paper and a position in its byline, within a block of equal names; "" and -1 are unknown."""

    signature_id: str
    paper_id: str
    block: str
    cluster: str
    name: str = ""
    affiliation: str = ""
    first: str = ""
    middle: str = ""
    last: str = ""
    email: str = ""
    position: int = -1


class Byline(NamedTuple):
    """What disambiguation asks of a paper beside its text: all authors in order, the journal, the papers it cites."""

    paper_id: str
    authors: tuple[str, ...] = ()
    journal: str = ""
    references: tuple[str, ...] = ()


class Triple(NamedTuple):
    """A training example: query, what belongs to it, what does not (paper ids; or label ids, or a bare query)."""

    query: str
    positive: str
    negative: str = ""


# ---- reading ---------------------------------------------------------------------------------------------------------


def json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (line, object) of a JSON lines file, gzipped or not; a file without a single row is an error."""
    line = 0
    for line, row in read_jsonl(path):
        yield line, row
    if not line:
        raise DataError(path, None, "no rows in the file", "Write one JSON object a line, or fetch the file again")


def id_in(row: Row, name: str, path: Path, line: int) -> str:
    """Return the id in a field, a text or a whole number."""
    value = str(check_field(row, name, (str, int), path, line))
    if not value:
        raise DataError(path, line, f"field {name!r} is empty")
    return value


def by_id(path: Path, name: str) -> Iterator[tuple[int, str, Row]]:
    """Yield (line, id, object) of a file in which an id, the field `name`, is there once."""
    seen: dict[str, int] = {}
    for line, row in json_lines(path):
        key = id_in(row, name, path, line)
        if key in seen:
            raise DataError(
                path, line, f"{name} {key} is there twice (first in line {seen[key]})", "Keep one row per id"
            )
        seen[key] = line
        yield line, key, row


def ids_in(row: Row, name: str, path: Path, line: int) -> tuple[str, ...]:
    """Return the ids in a field."""
    values = check_field(row, name, list, path, line)
    if not all(isinstance(v, str | int) and not isinstance(v, bool) for v in values):
        raise DataError(path, line, f"field {name!r} must hold ids, found {values!r:.60}")
    return tuple(map(str, values))


def grade_of(value: Any, path: Path, line: int, what: str) -> int:
    """Return a grade, a whole number from 0."""
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise DataError(path, line, f"{what}: grade {value!r:.40} is not a whole number from 0", "0 means not relevant")
    return value


def qrels_in(path: Path) -> tuple[Qrel, ...]:
    """Return the judged candidates of a file."""
    rows = []
    for line, row in json_lines(path):
        query, candidate = id_in(row, "query_id", path, line), id_in(row, "cand_id", path, line)
        score = grade_of(check_field(row, "score", int, path, line), path, line, f"{query}, {candidate}")
        group = check_field(row, "group", str, path, line) if "group" in row else ""
        rows.append(Qrel(query, candidate, score, group))
    return tuple(rows)


def stated(row: Qrel | Signature | Byline) -> Row:
    """Return a record as an object, without what it leaves at its default."""
    known = row._field_defaults
    return {key: value for key, value in row._asdict().items() if key not in known or value != known[key]}


def classes(label: Label) -> list[Any]:
    """Return the classes of a label: those of a multi-hot row, else itself."""
    return [k for k, on in enumerate(label) if on] if isinstance(label, tuple) else [label]


def bylines_in(path: Path) -> dict[str, Byline]:
    """Return the bylines of a file by paper, {} where there is no file."""
    found: dict[str, Byline] = {}
    for line, key, row in by_id(path, "paper_id") if path.is_file() else ():
        authors, references = (
            ids_in(row, name, path, line) if name in row else () for name in ("authors", "references")
        )
        found[key] = Byline(
            key, authors, check_field(row, "journal", str, path, line) if "journal" in row else "", references
        )
    return found
