"""The rows of a task folder's files: a record each, and how JSON lines become records.

Every reader here streams, and raises DataError naming file and line of what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import NoneType
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


class Line(dict[str, Any]):
    """An object of a JSON lines file that knows where it stands, so that what is wrong with it names file and line."""

    def __init__(self, row: Row, path: Path, line: int) -> None:
        super().__init__(row)
        self.path, self.line = path, line

    def wrong(self, reason: str, remedy: str = "") -> DataError:
        """Return the error that says so of this line."""
        return DataError(self.path, self.line, reason, remedy)

    def value(self, name: str, kind: type | tuple[type, ...] = str) -> Any:
        """Return a field, checked to be of a kind (`records.field`)."""
        return check_field(self, name, kind, self.path, self.line)

    def option(self, name: str, kind: type | tuple[type, ...] = str, default: Any = "") -> Any:
        """Return a field that may be absent."""
        return self.value(name, kind) if name in self else default

    def key(self, name: str) -> str:
        """Return the id in a field, a text or a whole number."""
        value = str(self.value(name, (str, int)))
        if not value:
            raise self.wrong(f"field {name!r} is empty")
        return value

    def id(self, name: str) -> str:
        """Return the id in a field of a published file, without white space around it (`to_id`)."""
        return to_id(self.value(name, (str, int)), self.path, self.line)

    def ids(self, name: str) -> tuple[str, ...]:
        """Return such ids in a field that is a list."""
        return tuple(to_id(value, self.path, self.line) for value in self.value(name, list))

    def text(self, name: str) -> str:
        """Return the text in a field, null as "" (SciDocs writes null for a missing abstract)."""
        value: str | None = self.value(name, (str, NoneType))
        return value or ""

    def keyed(self, name: str) -> tuple[str, ...]:
        """Return the ids in a field that is a list."""
        values = self.value(name, list)
        if not all(isinstance(v, str | int) and not isinstance(v, bool) for v in values):
            raise self.wrong(f"field {name!r} must hold ids, found {values!r:.60}")
        return tuple(map(str, values))

    def grade(self, value: Any, what: str) -> int:
        """Return a grade, a whole number from 0."""
        if type(value) is not int or not 0 <= value < 1 << 31:
            raise self.wrong(f"{what}: grade {value!r:.40} is not a whole number from 0", "0 means not relevant")
        return value


def to_id(value: object, path: Path, line: int | None) -> str:
    """Return an id as text. Raises DataError for anything but a whole number or a text without white space around it."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text or text != text.strip():
        raise DataError(path, line, f"{value!r:.60} is no id", "An id is a whole number or a text, not empty")
    return text


def json_lines(path: Path) -> Iterator[Line]:
    """Yield the objects of a JSON lines file, gzipped or not; a file without a single row is an error."""
    line = 0
    for line, row in read_jsonl(path):
        yield Line(row, path, line)
    if not line:
        raise DataError(path, None, "no rows in the file", "Write one JSON object a line, or fetch the file again")


def once(rows: Iterable[tuple[str, Line]], what: str) -> Iterator[tuple[str, Line]]:
    """Yield (id, row) as they come. Raises DataError for an id that was there before, which names both lines."""
    seen: dict[str, int] = {}
    for key, row in rows:
        if key in seen:
            raise row.wrong(f"{what} {key!r} is listed twice (first on line {seen[key]})", "Keep one row per id")
        seen[key] = row.line
        yield key, row


def by_id(path: Path, name: str) -> Iterator[tuple[str, Line]]:
    """Yield (id, object) of a file in which an id, the field `name`, is there once."""
    return once(((row.key(name), row) for row in json_lines(path)), name)


def qrels_in(path: Path) -> tuple[Qrel, ...]:
    """Return the judged candidates of a file."""
    rows = []
    for row in json_lines(path):
        query, candidate = row.key("query_id"), row.key("cand_id")
        score = row.grade(row.value("score", int), f"{query}, {candidate}")
        rows.append(Qrel(query, candidate, score, row.option("group")))
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
    for key, row in by_id(path, "paper_id") if path.is_file() else ():
        authors, references = (row.keyed(name) if name in row else () for name in ("authors", "references"))
        found[key] = Byline(key, authors, row.option("journal"), references)
    return found
