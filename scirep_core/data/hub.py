"""Rows of a published split, one at a time, whatever form its files have.

SciRepEval (Singh et al. 2023, appendix A) is published as two hub collections of many configurations, each with a few
splits. A split lies under `<root>/<collection>/<config>/` in the first of these forms that is there:

    <split>/0000.parquet, 0001.parquet ...        as the hub converts it; <split>-00000-of-00002.parquet; <split>.parquet
    <split>/0000.jsonl[.gz] ..., <split>.jsonl[.gz], <split>_qrel.jsonl         older dumps, folders of one's own
    <split>.json                                  one list of objects
    <split>.csv                                   labels and judgements; no cell holds a multi-hot vector

Memory stays constant: parquet is read in batches of rows, and of its columns only those asked for; a JSON list is
decoded item by item. Columns are checked before the first row, and every value when its row is read, so an error
names file and row. Rows count from 1: the line of JSON lines and csv, the row of parquet, the item of a JSON list.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scirep_core.data.rows import Line, Row
from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.records import DECODER, csv_rows, field, read_csv, read_jsonl

Kind = type | tuple[type, ...]
"""What a value may be; `NoneType` among them means that it may be null."""
BATCH = 256
"""Parquet rows decoded at a time: a row of Search is ten papers, some 20 kB."""
LONGEST = 64 << 20
"""Characters one item of a JSON list or object may have: past it the file is taken to be broken, not read to its end."""
_CHUNK = 1 << 20
_FORMS = (
    "{}/*.parquet", "{}-*-of-*.parquet", "{}.parquet", "{}/*.jsonl", "{}/*.jsonl.gz", "{}.jsonl", "{}.jsonl.gz",
    "{}_qrel.jsonl", "{}/*.json", "{}.json", "{}/*.csv", "{}.csv",
)  # fmt: skip


def find(root: Path, collection: str, config: str, split: str) -> tuple[Path, ...]:
    """Return the files of a split in order, () where there are none. Raises DataError if a shard is missing."""
    folder = root / collection / config
    for form in _FORMS:
        if found := sorted(folder.glob(form.format(split))):
            _no_gap(found)
            return tuple(found)
    return ()


def files(root: Path, collection: str, config: str, split: str) -> tuple[Path, ...]:
    """Return the files of a split in order. Raises DataError naming what is there instead."""
    found = find(root, collection, config, split)
    if found:
        return found
    folder = root / collection / config
    if folder.is_dir():
        there = {p.name.partition(".")[0].partition("-")[0] for p in folder.iterdir() if not p.name.startswith(".")}
        remedy = f"{nearest(split, there)}; an embedded literature needs more papers for it" if there else ""
        raise DataError(folder / split, None, f"no split {split!r}", remedy)
    beside = folder.parent
    there = {p.name for p in beside.iterdir() if p.is_dir()} if beside.is_dir() else set()
    remedy = nearest(config, there) if there else f"Run `scirep data get {collection}`"
    raise DataError(folder, None, f"no configuration {config!r}", remedy)


def _no_gap(shards: Sequence[Path]) -> None:
    """Refuse numbered shards of which one is missing: half a split gives wrong numbers without a word."""
    numbers = [re.match(r"(?:[A-Za-z_]+-)?(\d{4,5})(?:-of-(\d{5}))?\.", path.name) for path in shards]
    for expected, (path, number) in enumerate(zip(shards, numbers, strict=True)):
        if number and int(number[1]) != expected:
            raise DataError(path, None, f"shard {expected} before this one is missing", "Fetch the split again")
    last = numbers[-1]
    if last and last[2] and int(last[2]) != len(shards):
        raise DataError(shards[-1], None, f"the last shard here; {last[2]} are announced", "Fetch the split again")


def rows(paths: Sequence[Path], needs: Mapping[str, Kind], may: Mapping[str, Kind] | None = None) -> Iterator[Line]:
    """Yield every row of the files of one split, holding exactly the columns asked for.

    Args:
        paths: files of one split, as `files` returns them.
        needs: {column: kind}. A name `a|b` is satisfied by either, and found under `a`.
        may: the same for columns that may be absent; then None.

    Raises:
        DataError: at once for a missing column; with file and row for a wrong type, bad JSON or UTF-8, a damaged
            file; after the last row if there was none.
    """
    check(paths, needs)
    return _rows(paths, needs, may or {})


def check(paths: Iterable[Path], needs: Mapping[str, Kind]) -> None:
    """Look at the columns of every file. Raises DataError naming the file, the column and the nearest one present."""
    for path in paths:
        present = _columns(path)
        if present is None:
            continue  # no rows; `rows` says so if the other shards have none either
        for name in needs:
            choices = name.split("|")
            if not set(choices) & set(present):
                hint = nearest(choices[0], present) if present else "The file has no columns"
                line = None if path.suffix == ".parquet" else 1
                raise DataError(path, line, f"no column {' or '.join(map(repr, choices))}", hint)


def _rows(paths: Sequence[Path], needs: Mapping[str, Kind], may: Mapping[str, Kind]) -> Iterator[Line]:
    wanted = [(name.split("|"), kind, name in needs) for name, kind in (*needs.items(), *may.items())]
    kinds = {name: kind for choices, kind, _ in wanted for name in choices}
    count = 0
    for path in paths:
        for line, raw in _raw(path, kinds):
            row: Row = {}
            for choices, kind, needed in wanted:
                present = next((c for c in choices if raw.get(c) is not None), None)
                name = present or next((c for c in choices if c in raw), choices[0])
                absent = name not in raw and not needed
                row[choices[0]] = None if absent else field(raw, name, kind, path, line)
            count += 1
            yield Line(row, path, line)
    if not count:
        raise DataError(paths[0], None, "it has no rows", "Fetch it again; an embedded literature needs more papers")


def _form(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[2]


def _raw(path: Path, kinds: Mapping[str, Kind]) -> Iterator[tuple[int, dict[str, Any]]]:
    form = _form(path)
    if form in ("parquet", "csv"):
        return (_parquet if form == "parquet" else _csv)(path, kinds)
    return (read_jsonl if form == "jsonl" else _list)(path)


def _columns(path: Path) -> list[str] | None:
    form = _form(path)
    if form == "parquet":
        with _opened(path) as (file, _):
            return list(file.schema_arrow.names)
    if form == "csv":
        return next(csv_rows(path), (1, []))[1]
    return next((list(row) for _, row in _raw(path, {})), None)


_AGAIN = "Fetch the file again"


@contextmanager
def _opened(path: Path, **options: Any) -> Iterator[tuple[Any, Line]]:
    """Yield a parquet file and the row that was reached, which whatever pyarrow raises names."""
    from pyarrow import ArrowException, parquet

    reached = Line({}, path, 0)
    try:
        with parquet.ParquetFile(path, **options) as file:
            yield file, reached
    except (ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise DataError(path, reached.line or None, f"not a whole parquet file ({reason:.200})", _AGAIN) from None


def _parquet(path: Path, kinds: Mapping[str, Kind]) -> Iterator[tuple[int, dict[str, Any]]]:
    # buffered, not pre-buffered: else it would hold a whole row group, which some files make as large as the split
    with _opened(path, pre_buffer=False, buffer_size=_CHUNK) as (file, reached):
        columns = [name for name in file.schema_arrow.names if name in kinds]
        for batch in file.iter_batches(BATCH, columns=columns):
            try:
                decoded = batch.to_pylist()
            except UnicodeDecodeError:
                decoded = []
                for i in range(batch.num_rows):  # again, one by one, to say which row it is
                    try:
                        batch.slice(i, 1).to_pylist()
                    except UnicodeDecodeError as error:
                        reason = f"not UTF-8 at byte {error.start} of a text"
                        raise DataError(path, reached.line + i + 1, reason, _AGAIN) from None
            for row in decoded:
                reached.line += 1
                yield reached.line, row


def _list(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, (key, value) in enumerate(items(path), start=1):
        if key or not isinstance(value, dict):
            reason = "expected a JSON list, found an object" if key else f"expected an object, found {value!r:.40}"
            raise DataError(path, number, reason, "Give a list of objects, or JSON lines with the suffix .jsonl")
        yield number, value


def _csv(path: Path, kinds: Mapping[str, Kind]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, row) with cells made numbers where the column is to hold numbers; an empty cell is null."""
    for line, cells in read_csv(path):
        yield line, {k: _cell(v, kinds[k]) if k in kinds else v for k, v in cells.items()}


def _cell(text: str, kind: Kind) -> Any:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if text == "" and str not in kinds:
        return None
    for number in (int, float):
        if number in kinds and str not in kinds and "_" not in text:  # Python reads 1_0 as ten
            try:
                return number(text)
            except ValueError:
                continue
    return text  # `field` refuses it if it is to be something else


def items(path: Path, longest: int = LONGEST) -> Iterator[tuple[str, Any]]:
    """Yield (key, value) of one JSON object, or ("", value) of one JSON list, holding one item at a time.

    Raises DataError naming the item for half a file, bad JSON or UTF-8, NaN, or an item longer than `longest`. A key
    that the outer object has twice is the caller's to refuse: keeping all keys would not be constant memory.
    """
    utf8 = codecs.getincrementaldecoder("utf-8-sig")()
    text, at, number, ended = "", 0, 0, False

    def fail(reason: str, remedy: str = _AGAIN) -> DataError:
        return DataError(path, None, f"item {number}: {reason}" if number else reason, remedy)

    def more(size: int) -> None:
        nonlocal text, at, ended
        raw = stream.read(size)
        ended = not raw
        try:
            text, at = text[at:] + utf8.decode(raw, final=ended), 0
        except UnicodeDecodeError as error:
            raise fail(f"not UTF-8 (near byte {stream.tell() - len(raw) + error.start} of the file)") from None

    def peek() -> str:
        """Return the next character that is no blank, "" at the end."""
        nonlocal at
        while True:
            while at < len(text) and text[at] in " \t\r\n":
                at += 1
            if at < len(text) or ended:
                return text[at : at + 1]
            more(_CHUNK)

    def value() -> Any:
        nonlocal at
        peek()
        while True:
            try:
                found, end = DECODER.raw_decode(text, at)
                cut = end == len(text) or text[end] in ".eE"  # a number may go on in the next chunk: 1 | 2, 1. | 5
                if ended or not cut or len(text) - at > longest:
                    at = end
                    return found
            except json.JSONDecodeError as error:
                if ended or len(text) - at > longest:
                    raise fail(f"not JSON, or not all of it is there: {error.msg}") from None
            except (ValueError, RecursionError) as error:
                raise fail(str(error), "") from None
            more(max(_CHUNK, len(text) - at))  # doubling, so that a long item is not decoded over and over

    try:
        stream = path.open("rb")
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})") from None
    with stream:
        opening = peek()
        if opening not in ("[", "{"):
            raise fail(f"expected a JSON object or list, found {opening!r}")
        closing = {"[": "]", "{": "}"}[opening]
        at += 1
        while (sign := peek()) != closing:
            if number:
                if sign != ",":
                    raise fail(f"a comma or {closing!r} is missing after it")
                at += 1
            number += 1
            key = ""
            if opening == "{":
                key = value()
                if not isinstance(key, str) or peek() != ":":
                    raise fail("no key and colon before the value")
                at += 1
            yield key, value()
        at += 1
        if peek():
            raise fail(f"something follows the closing {closing!r}")


def objects(path: Path, what: str, longest: int = LONGEST) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (key, object) of one JSON object of objects, as `items` does.

    Raises DataError, which calls a key `what`, for a key twice, another value, a list, or an empty object.
    """
    seen: set[str] = set()
    for key, value in items(path, longest):
        if not key or not isinstance(value, dict):
            expected = (
                f"{what} {key!r}: expected an object" if key else f"expected an object with a {what} for each key"
            )
            raise DataError(path, None, f"{expected}, found {value!r:.40}")
        if key in seen:
            raise DataError(path, None, f"{what} {key!r} is there twice", "Keep one")
        seen.add(key)
        yield key, value
    if not seen:
        raise DataError(path, None, f"holds no {what}", "Fetch the file again, or leave it out")
