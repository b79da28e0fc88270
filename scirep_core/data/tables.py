"""What readers share: files of papers, tab-separated rows, data hashes, what a reader found.

Files come from many hands (cloud-drive archives, BEIR, TREC, our own generator), so every reader here streams, checks
as it goes, and names file and line of what is wrong. An id is a non-empty text or a whole number; white space inside
it, an id twice, or a count that does not fit are errors, never repaired in silence.

    data hash of a task = SHA-256 over {file name in its folder: SHA-256 of the file}     (`store.sampled_hash`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from scirep_core.data.rows import Line, json_lines, once
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


def records_in(path: Path, key: str, what: str = "") -> Iterator[tuple[str, Line]]:
    """Yield (id, row) of JSON lines with an id in the field `key`. Raises DataError for an id twice.

    Args:
        key: paper, patient, article, paper_id.
        what: what an error calls one of them, `key` where not given.
    """
    return once(((row.id(key), row) for row in json_lines(path)), what or key)


def papers_in(
    path: Path, key: str = "paper", abstract: str = "abstract", what: str = ""
) -> Iterator[tuple[Paper, Line]]:
    """Yield (paper, row) of `records_in` that have `title` and, under the name `abstract`, an abstract; BEIR calls it `text`."""
    for paper_id, row in records_in(path, key, what):
        yield Paper(paper_id, row.text("title"), row.text(abstract)), row


def stream(path: Path, key: str = "paper", abstract: str = "abstract") -> Callable[[], Iterator[Paper]]:
    """Return a function that opens a file of papers anew and yields them; that ids are there once was seen before."""
    return lambda: (Paper(row.id(key), row.text("title"), row.text(abstract)) for row in json_lines(path))


def counted(count: int, text: str) -> str:
    """Return a note `<count> <text>`, or "" where there is nothing to say."""
    return f"{count:,} {text}" if count else ""
