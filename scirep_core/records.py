"""Typed records and JSON lines.

A record is a NamedTuple, so it costs little, compares by value and cannot be changed by accident. JSON lines are read
as bytes and split on "\\n" only: `str.splitlines` also splits on U+2028 and friends, which occur inside abstracts. What
Windows adds, a carriage return before the line end and a mark before the first line, is left out.
"""

from __future__ import annotations

import codecs
import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.errors import DataError


class Paper(NamedTuple):
    """One paper. `sentences` and `labels` run in parallel where an abstract is split into facets, else are empty."""

    paper_id: str
    title: str
    abstract: str
    year: int | None = None
    sentences: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    venue: str = ""


class Query(NamedTuple):
    """A query of faceted query-by-example: a paper and the facet asked for (CSFCube section 2)."""

    paper_id: str
    facet: str

    @property
    def query_id(self) -> str:
        """`<paper id>_<facet>`, the name the published splits use."""
        return f"{self.paper_id}_{self.facet}"


class Judgement(NamedTuple):
    """One rated candidate: final (adjudicated) rating 0-3, the annotators' raw ratings, who pooled it."""

    candidate: str
    rating: int
    raw: tuple[tuple[str, int], ...] = ()
    sources: tuple[str, ...] = ()


def no_constant(name: str) -> Any:
    """Refuse NaN and Infinity: `parse_constant` of a JSON decoder."""
    raise ValueError(f"{name} is not a JSON number")


def no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, refusing a key that is there twice: `object_pairs_hook` of a JSON decoder."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} is there twice")
    return found


def _parse(data: bytes) -> Any:
    return json.loads(data.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=no_twice)


def read_object(path: Path) -> dict[str, Any]:
    """Read one JSON file that holds an object. Raises DataError naming the file, and what stands there instead."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(path, None, f"expected a JSON object, found {type(value).__name__}")
    return value


def read_json(path: Path) -> Any:
    """Read one JSON file; NaN, Infinity and a key twice are refused. Raises DataError with the line of the fault."""
    try:
        return _parse(path.read_bytes().removeprefix(codecs.BOM_UTF8))
    except FileNotFoundError:
        raise DataError(path, None, "file not found") from None
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})") from None
    except RecursionError:
        raise DataError(path, None, "nested too deeply to be such a file") from None
    except UnicodeDecodeError as error:
        raise DataError(path, None, f"not UTF-8 at byte {error.start}", "Save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise DataError(path, error.lineno, f"not JSON: {error.msg} (column {error.colno})") from None
    except ValueError as error:
        raise DataError(path, None, str(error), "Replace it by a finite number or null") from None


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, bytes without the line end) of a file, unpacked where its name ends in `.gz`.

    Raises DataError for a file that is missing, unreadable, or whose gzip stream breaks off or fails its checksum.
    """
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):  # binary files split on b"\n" only
                yield number, (raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw).rstrip(b"\r\n")
    except FileNotFoundError:
        raise DataError(path, None, "file not found") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(path, number + 1, f"not a whole gzip file ({error})", "Fetch the file again") from None
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})") from None


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) for every line, of a gzipped file too; blank lines are skipped.

    Raises DataError naming file and line for bad UTF-8, a half line, NaN, or a line that is not an object.
    """
    for number, raw in raw_lines(path):
        if raw.strip():
            yield number, parse_line(raw, path, number)


def parse_line(raw: bytes, path: Path, line: int) -> dict[str, Any]:
    """Return the object on one line. Raises DataError for bad UTF-8, half a line, NaN, a key twice, or anything else."""
    try:
        value = _parse(raw)
    except UnicodeDecodeError as error:
        raise DataError(path, line, f"not UTF-8 at byte {error.start} of the line") from None
    except json.JSONDecodeError as error:
        raise DataError(path, line, f"not a JSON object: {error.msg} (column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise DataError(path, line, str(error)) from None
    if not isinstance(value, dict):
        raise DataError(path, line, f"expected a JSON object, found {type(value).__name__}")
    return value


def field(row: dict[str, Any], name: str, kind: type | tuple[type, ...], path: Path, line: int | None) -> Any:
    """Return row[name] checked to be of `kind`; bool never passes for int, NaN never for float."""
    if name not in row:
        raise DataError(path, line, f"field {name!r} is missing", f"Present: {', '.join(sorted(row)) or 'none'}")
    value = row[name]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    wrong = not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)
    if wrong or (isinstance(value, float) and not math.isfinite(value)):
        names = " or ".join(k.__name__ for k in kinds)
        raise DataError(path, line, f"field {name!r} must be {names}, found {value!r:.60}")
    return value


def to_jsonl(rows: Iterable[dict[str, Any]]) -> str:
    """Return rows as JSON lines (sorted keys, ASCII, a final newline): equal rows give equal bytes."""
    return "".join(json.dumps(row, sort_keys=True, allow_nan=False) + "\n" for row in rows)
