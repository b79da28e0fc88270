"""Typed records, and the one reader of each kind of text file: JSON, JSON lines, csv, YAML, TOML.

A record is a NamedTuple, so it costs little, compares by value and cannot be changed by accident. Lines are read
as bytes and split on "\\n" only: `str.splitlines` also splits on U+2028 and friends, which occur inside abstracts. What
Windows adds, a carriage return before the line end and a mark before the first line, is left out.

Files come from strangers. Whatever cannot be used further on is refused here, with file and line: NaN, a key or column
twice, a number of more digits than a float holds, half of a surrogate pair in an id, a row of another width than the header.

libyaml's loader calls itself once for each level of nesting and so ends the process for a deep file; its events do not. Size,
depth and anchors (which make a small file large) are therefore looked at first, event by event, and refused.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import math
import re
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from scirep_core.kit.errors import DataError, nearest

T = TypeVar("T")
K = TypeVar("K")


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return things by their key, in order."""
    found: dict[K, list[T]] = {}
    for thing in things:
        found.setdefault(key(thing), []).append(thing)
    return found


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


DIGITS = 300
"""Digits that a whole number may have in JSON: a float holds no more. Fields of rows are bounded further, by `field`."""
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
"""Text of a whole number, in a cell or on a command line: what 64 bits hold."""
_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")


def _whole(text: str) -> int:
    """Return a whole number, refusing one that no float holds: `parse_int` of a JSON decoder."""
    if len(text) > DIGITS:
        raise ValueError(f"a whole number of {len(text):,} digits")
    return int(text)


DECODER = json.JSONDecoder(parse_int=_whole, parse_constant=no_constant, object_pairs_hook=no_twice)


def no_half(text: str) -> str:
    """Return a name or id, refusing (ValueError) half of a surrogate pair in it, which no file can hold. Papers' texts may."""
    if found := _HALF.search(text):
        raise ValueError(f"\\u{ord(found[0]):x} is half of a character")
    return text


def from_text(text: str) -> Any:
    """Return the value of a JSON text, from a file or a command line. Raises ValueError; RecursionError where it is too deep."""
    value = DECODER.decode(text)
    if _ESCAPED.search(text):
        no_half(json.dumps(value, ensure_ascii=False))
    return value


def read_object(path: Path) -> dict[str, Any]:
    """Read one JSON file that holds an object. Raises DataError naming the file, and what stands there instead."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(path, None, f"expected a JSON object, found {type(value).__name__}")
    return value


def read_json(path: Path) -> Any:
    """Read one JSON file; NaN, Infinity and a key twice are refused. Raises DataError with the line of the fault."""
    try:
        return from_text(path.read_bytes().removeprefix(codecs.BOM_UTF8).decode("utf-8"))
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
    for number, raw in _ended_lines(path):
        yield number, raw.rstrip(b"\r\n")


def _ended_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield what `raw_lines` does with the line ends, which a quoted csv cell may hold."""
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):  # binary files split on b"\n" only
                yield number, raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
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
        value = DECODER.decode(raw.decode("utf-8"))
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
    """Return row[name] checked to be of `kind`; bool never passes for int, NaN never for float, half a character in an id."""
    if name not in row:
        raise DataError(path, line, f"field {name!r} is missing", f"Present: {', '.join(sorted(row)) or 'none'}")
    value = row[name]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    wrong = not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)
    if wrong or (isinstance(value, float) and not math.isfinite(value)):
        names = " or ".join(k.__name__ for k in kinds)
        raise DataError(path, line, f"field {name!r} must be {names}, found {value!r:.60}")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        digits = len(str(abs(value)))
        raise DataError(path, line, f"field {name!r} holds a whole number of {digits} digits, {value!r:.20}...")
    if isinstance(value, str) and name.endswith("id"):
        try:
            no_half(value)
        except ValueError as error:
            raise DataError(path, line, f"field {name!r}: {error}") from None
    return value


def whole(text: str, what: str, path: Path, line: int | None) -> int:
    """Return the whole number in a cell of text. Raises DataError naming `what` it is for anything else, or beyond 64 bits."""
    if not WHOLE.fullmatch(text):
        raise DataError(path, line, f"{what} {text!r:.40} is no whole number")
    return int(text)


def csv_rows(path: Path, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield (last line of the row, cells) of a csv file, quoted cells with line ends too; blank lines are skipped.

    Raises DataError naming the line of bad UTF-8, of quotes that do not close, and of a cell beyond 131,072 characters.
    """

    def decoded() -> Iterator[str]:
        for number, raw in _ended_lines(path):
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError as error:
                reason = f"not UTF-8 at byte {error.start} of the line"
                raise DataError(path, number, reason, "Save it as UTF-8") from None

    reader = csv.reader(decoded(), delimiter=delimiter, strict=True)
    try:
        yield from ((reader.line_num, cells) for cells in reader if cells)
    except csv.Error as error:
        remedy = f"Check its {'tabs' if delimiter == chr(9) else 'commas'} and quotes"
        raise DataError(path, reader.line_num, f"not a csv row ({error})", remedy) from None


def read_csv(path: Path, columns: Sequence[str] = (), delimiter: str = ",") -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line, column -> cell) of a csv file with a header. Raises DataError for what `csv_rows` refuses, one of `columns`
    missing, a column twice, and a row that does not have the header's cells."""
    rows = csv_rows(path, delimiter)
    _, header = next(rows, (1, []))
    for column in columns:
        if column not in header:
            remedy = nearest(column, header) if header else "The file has no columns"
            raise DataError(path, 1, f"no column {column!r}", remedy)
    if twice := [column for column in header if header.count(column) > 1]:
        raise DataError(path, 1, f"column {twice[0]!r} is there twice", "Keep one")
    for line, cells in rows:
        if len(cells) != len(header):
            raise DataError(path, line, f"the row does not have the header's number of cells, {len(header)}")
        yield line, dict(zip(header, cells, strict=True))


def to_jsonl(rows: Iterable[dict[str, Any]]) -> str:
    """Return rows as JSON lines (sorted keys, ASCII, a final newline): equal rows give equal bytes."""
    return "".join(json.dumps(row, sort_keys=True, allow_nan=False) + "\n" for row in rows)


# ---- YAML and TOML ---------------------------------------------------------------------------------------------------

LARGEST = 1 << 20
"""Bytes of a file of settings: the largest manifest has 12,000."""
DEEPEST = 32
"""Levels of nesting."""
Lines = dict[tuple[Any, ...], int]
"""Keys and positions from the top -> line, of the first three levels."""


def read_yaml(path: Path) -> tuple[dict[str, Any], Lines]:
    """Return a YAML mapping and the line of each of its parts.

    Raises DataError for anything but plain data: a key given twice, an anchor, more than `LARGEST` bytes or `DEEPEST` levels.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = _text(path)
    try:
        _check_events(yaml, loader, text, path)
        node = yaml.compose(text, Loader=loader)
        if not isinstance(node, yaml.MappingNode):
            raise DataError(path, 1, "expected keys and values at the top level")
        lines: Lines = {}
        _walk(yaml, node, (), lines, path)
        return yaml.SafeLoader("").construct_document(node), lines
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = " ".join(str(getattr(error, "problem", None) or "not readable").split())
        raise DataError(path, mark.line + 1 if mark else None, f"not plain YAML: {reason}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(path, None, f"not plain YAML: {' '.join(str(error).split())}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file holds. Raises DataError for one that is too large, too deep, or no TOML."""
    try:
        return tomllib.loads(_text(path))
    except (ValueError, RecursionError) as error:  # TOML's own error is a ValueError
        raise DataError(path, None, f"not TOML: {error}") from None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise DataError(path, None, f"more than {LARGEST:,} bytes are no file of settings")
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, None, f"not UTF-8 at byte {error.start}", "Save the file as UTF-8") from None
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})") from None


def _check_events(yaml: Any, loader: Any, text: str, path: Path) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise DataError(path, event.start_mark.line + 1, f"nested more than {DEEPEST} levels deep")
        if getattr(event, "anchor", None):
            raise DataError(path, event.start_mark.line + 1, f"an anchor, {event.anchor!r:.40}", "Write the value out")


def _walk(yaml: Any, node: Any, where: tuple[Any, ...], lines: Lines, path: Path) -> None:
    """Note the line of a node and of those below it; a key given twice is an error."""
    lines[where] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode) and len(where) < 3:
        for key, value in node.value:
            name, line = key.value, key.start_mark.line + 1
            if not isinstance(name, str):
                raise DataError(path, line, "not plain YAML: a list or mapping is no key")
            if (*where, name) in lines:
                raise DataError(path, line, f"key {name!r:.60} is given twice")
            _walk(yaml, value, (*where, name), lines, path)
    elif isinstance(node, yaml.SequenceNode) and len(where) < 3:
        for position, value in enumerate(node.value):
            _walk(yaml, value, (*where, position), lines, path)
