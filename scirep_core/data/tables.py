"""What readers share: JSON lines (gzipped or not), tab-separated rows, ids, data hashes, what a reader found.

Files come from many hands (cloud-drive archives, BEIR, TREC, our own generator), so every reader here streams, checks
as it goes, and names file and line of what is wrong. An id is a non-empty text or a whole number; white space inside
it, an id twice, or a count that does not fit are errors, never repaired in silence.

    data hash of a task = SHA-256 over {file name in its folder: SHA-256 of the file}     (`store.sampled_hash`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from scirep_core.data.rows import Line
from scirep_core.data.rows import json_lines as json_lines
from scirep_core.data.rows import to_id as to_id
from scirep_core.data.task import Payload
from scirep_core.data.text import FIELDS
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import Paper, raw_lines
from scirep_core.kit.store import sampled_hash, stable_hash


class Found(NamedTuple):
    """What a reader found: payload, how to stream the texts, the files read, what one should know, and as `Task` has them."""

    payload: Payload
    texts: Callable[[], Iterable[Paper]]
    files: Sequence[Path]
    notes: Sequence[str] = ()
    queries: Mapping[str, str] = {}
    similarity: str = "l2"
    fields: tuple[str, ...] = FIELDS


def data_hash(root: Path, files: Iterable[Path]) -> str:
    """Return one hash for a set of files: it follows content and names below `root`, not the place of `root`."""
    return stable_hash({path.relative_to(root).as_posix(): sampled_hash(path) for path in files})


def folder_of(root: Path, collection: str) -> Path:
    """Return the folder of a collection. Raises DataError where it is missing."""
    folder = root / collection
    if not folder.is_dir():
        raise DataError(folder, None, "no such folder", "Fetch the collection, or give the folder that holds it")
    return folder


def first_of(*candidates: Path) -> Path:
    """Return the first path that is a file. Raises DataError naming the first choice where none is."""
    for path in candidates:
        if path.is_file():
            return path
    others = ", ".join(path.name for path in candidates[1:])
    raise DataError(candidates[0], None, "file not found", f"Also looked for: {others}" if others else "")


def split_lines(path: Path, separator: str | None = "\t") -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of a table: split at tabs, or at white space where `separator` is None; blank lines are skipped.

    Raises DataError for bad UTF-8, or for a file without a row.
    """
    empty = True
    for number, raw in raw_lines(path):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(path, number, f"not UTF-8 at byte {error.start} of the line") from None
        if line.strip():
            empty = False
            yield number, line.split(separator)
    if empty:
        raise DataError(path, None, "the file is empty", "Fetch the file again")


class Lines(dict[str, int]):
    """Ids seen so far, each with its line."""

    def add(self, key: str, path: Path, line: int, what: str = "id") -> None:
        """Remember an id. Raises DataError where it was there before, naming both lines."""
        if key in self:
            raise DataError(path, line, f"{what} {key!r} is listed twice (first on line {self[key]})")
        self[key] = line


def papers_in(
    path: Path, key: str = "paper", abstract: str = "abstract", what: str = "", seen: Lines | None = None
) -> Iterator[tuple[Paper, Line]]:
    """Yield (paper, row) of a file of papers. Raises DataError for an id twice.

    Args:
        path: JSON lines with `key`, `title` and `abstract` under these names.
        key: the field with the id: paper, patient, article, paper_id.
        abstract: the field with the abstract; BEIR calls it `text`.
        what: what an error calls one of them, `key` where not given.
        seen: filled with the ids, for a caller who looks for them.
    """
    seen = Lines() if seen is None else seen
    for line, row in json_lines(path):
        paper = Paper(row.id(key), row.text("title"), row.text(abstract))
        seen.add(paper.paper_id, path, line, what or key)
        yield paper, row


def stream(*files: tuple[Path, str, str]) -> Callable[[], Iterator[Paper]]:
    """Return a function that opens (path, id field, abstract field) files anew and yields their papers."""

    def texts() -> Iterator[Paper]:
        for path, key, abstract in files:
            for _, row in json_lines(path):
                yield Paper(row.id(key), row.text("title"), row.text(abstract))

    return texts


def counted(count: int, text: str) -> str:
    """Return a note `<count> <text>`, or "" where there is nothing to say."""
    return f"{count:,} {text}" if count else ""
