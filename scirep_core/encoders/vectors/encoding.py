"""A file of papers as an encoder's input, and the plan of a folder of vectors (`encoders/vectors/folder.py` fills it).

The input is JSON lines: an id (paper_id, doc_id or corpus_id), title, abstract, for Search venue and year; or an id and
a bare query. Every line is checked before anything is encoded; faults are `file:line: reason`. The plan, `plan.json`,
says what was asked and which lines belong to which shard; a folder that was made otherwise is refused, naming what differs.
Memory: 16 bytes a paper, to find ids that are there twice.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scirep_core.data.rows import Line
from scirep_core.data.text import FIELDS, Recipe
from scirep_core.encoders import Encoder, check_format
from scirep_core.encoders.vectors.embed import readable
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper, field, parse_line, raw_lines, read_object
from scirep_core.kit.store import held, sha256_file, stable_hash, write_json

PLAN = "plan.json"
PART = 50_000
"""Papers in a shard: 77 MB of 384 numbers each."""
IDS = ("paper_id", "doc_id", "corpus_id")


class Reading(NamedTuple):
    """What of a record becomes its text: fields in order, whether a bare query is to find it, and years as 2019.0."""

    fields: tuple[str, ...] = FIELDS
    to_find: bool = False
    float_years: bool = False


class Record(NamedTuple):
    """One line of the input: its id, its number, the exact text an encoder gets."""

    paper_id: str
    line: int
    text: str


class Part(NamedTuple):
    """A shard's place in the input: number of its first line that is not blank, and its papers."""

    line: int
    papers: int


class Plan(NamedTuple):
    """What a folder is made of, and its key: what any shard of it must have been made with."""

    encoder: str
    settings: dict[str, Any]
    parts: tuple[Part, ...]

    @property
    def key(self) -> str:
        """Content hash of all settings."""
        return stable_hash(self.settings)

    @property
    def papers(self) -> int:
        """Papers in all."""
        return sum(part.papers for part in self.parts)


# -------------------------------------------------------------------------------------------------------- the input


def records(
    path: Path, recipe: Recipe, reading: Reading, first: int = 1, lines: Iterator[tuple[int, bytes]] | None = None
) -> Iterator[Record]:
    """Yield the papers of a JSON lines file, gzipped or not, from line `first`; a row with `query` is a bare query.

    `lines` are those of `raw_lines(path)`, for a caller who goes through the file once but takes it in parts. Raises
    DataError naming file and line for what is no JSON object, or has no id, or no text fields of the right kind.
    """
    for line, raw in raw_lines(path) if lines is None else lines:
        if line >= first and raw.strip():
            yield _record(Line(parse_line(raw, path, line), path, line), recipe, reading)


def _record(row: Line, recipe: Recipe, reading: Reading) -> Record:
    paper_id = row.id(next((name for name in IDS if name in row), IDS[0]))
    if "\0" in paper_id:
        raise row.wrong(f"{paper_id!r:.60} is no id", "An id holds no NUL")
    if "query" in row:
        return Record(paper_id, row.line, readable(recipe.of_query(row.value("query"))))
    if not any(name in row for name in reading.fields):
        raise row.wrong(f"none of {', '.join(reading.fields)} is there", f"Present: {', '.join(sorted(row))}")
    title, abstract, venue = (row.text(name) if name in row else "" for name in ("title", "abstract", "venue"))
    year = row.option("year", (int, float, type(None)), None) if "year" in reading.fields else None
    paper = Paper(paper_id, title, abstract, int(year) if year else None, venue=venue)
    text = recipe.of_paper(paper, reading.fields, reading.to_find, reading.float_years)
    return Record(paper_id, row.line, readable(text))


def scan(path: Path, recipe: Recipe, reading: Reading, per_shard: int = PART) -> tuple[Part, ...]:
    """Read the whole input once, check every line, and return its parts. Raises DataError, also for an id twice."""
    _check_file(path)
    parts: list[Part] = []
    ids = array("Q")
    for record in records(path, recipe, reading):
        if not parts or parts[-1].papers == per_shard:
            parts.append(Part(record.line, 0))
        parts[-1] = parts[-1]._replace(papers=parts[-1].papers + 1)
        ids.append(_short(record.paper_id))
    if not parts:
        raise DataError(path, None, "no papers in the file", "Give JSON lines {paper_id, title, abstract}")
    sorted_ = np.sort(np.frombuffer(ids, dtype=np.uint64))
    _refuse_twice(path, records(path, recipe, reading), set(sorted_[1:][sorted_[1:] == sorted_[:-1]].tolist()))
    return tuple(parts)


def _check_file(path: Path) -> None:
    """Raise DataError for what is no file: it is read more than once, which a pipe cannot be."""
    if not path.is_file():
        reason = "is no file, and a pipe cannot be read twice" if path.exists() else "file not found"
        raise DataError(path, None, reason, "Give JSON lines {paper_id, title, abstract}")


def _short(paper_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(paper_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _refuse_twice(path: Path, rows: Iterable[Record], suspects: set[int]) -> None:
    seen: dict[str, int] = {}
    for record in rows if suspects else ():
        if _short(record.paper_id) in suspects:
            if record.paper_id in seen:
                reason = f"paper_id {record.paper_id!r} is there twice (first on line {seen[record.paper_id]})"
                raise DataError(path, record.line, reason, "Keep one line per paper")
            seen[record.paper_id] = record.line


# --------------------------------------------------------------------------------------------------------- the plan


def settings_of(encoder: Encoder, format: Format, reading: Reading, papers: Path, per_shard: int) -> dict[str, Any]:
    """Return everything that decides a folder's bytes, by name; `fingerprint` stands for weights and tokenizer too."""
    check_format(format)
    base: Any = getattr(encoder, "base", encoder)
    settings = {"pooling": getattr(base, "pooling", None), "max length": getattr(base, "length", None),
                "dtype": getattr(getattr(base, "settings", None), "dtype", None)}  # fmt: skip
    return {
        "format": format, "recipe": list(encoder.recipe), **settings, "fields": list(reading.fields),
        "to_find": reading.to_find, "float_years": reading.float_years, "papers in a shard": per_shard,
        "fingerprint": encoder.fingerprint, "input": sha256_file(papers),
    }  # fmt: skip


def plan(
    papers: Path, out: Path, encoder: Encoder, format: Format, reading: Reading | None = None, per_shard: int = PART
) -> Plan:
    """Return the folder's plan, made by whoever comes first. DataError for a fault in the input, ConfigError where it differs."""
    _check_file(papers)
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file. Give a folder, or a name that ends in .npz")
    reading = reading or Reading()
    wanted = settings_of(encoder, format, reading, papers, per_shard)
    path = out / PLAN
    if not path.is_file():
        others = out.is_dir() and any(p.name != "plan.lock" and not p.name.endswith(".part") for p in out.iterdir())
        if others and not path.is_file():  # asked again: another process writes its plan before anything else
            raise ConfigError(f"{out}: holds other files and no plan.json. Give an empty or a new folder")
        with held(out / "plan.lock"):
            if not path.is_file():
                parts = scan(papers, encoder.recipe, reading, per_shard)
                value = {"encoder": encoder.name, "settings": wanted, "shards": [list(part) for part in parts]}
                write_json(path, value)
    made = read_plan(out)
    if name := next((name for name in wanted if made.settings.get(name) != wanted[name]), ""):
        what = {
            "fingerprint": "other weights, tokenizer, config or (in half precision) kind of device",
            "input": "another file of papers",
        }.get(name, f"{name} {made.settings.get(name)!r}, and now {wanted[name]!r} is asked for")
        raise ConfigError(f"{out}: was made with {what}. Give another --out, or remove the folder")
    return made


def read_plan(out: Path) -> Plan:
    """Return the plan of a folder. Raises DataError where there is none or it is not one."""
    path = out / PLAN
    if not path.is_file():
        raise DataError(out, None, "holds no plan.json, so it is no folder of vectors", "Make one with `scirep encode`")
    row = read_object(path)
    shards = field(row, "shards", list, path, None)
    if not all(isinstance(s, list) and len(s) == 2 and all(isinstance(n, int) for n in s) for s in shards):
        raise DataError(path, None, "shards are not pairs of line and papers", "Remove the folder and encode again")
    parts = tuple(Part(*shard) for shard in shards)
    return Plan(field(row, "encoder", str, path, None), field(row, "settings", dict, path, None), parts)
