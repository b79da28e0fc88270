"""Rows that others submit to the leaderboard: what is checked, and where they are kept.

    results/submitted/NAME.jsonl      one row a line, chapter `submitted/NAME`, kind recorded

A submission is a file of result rows as `scirep score ... --json` prints them (an array) or as `--rows` writes them (JSON
lines). It is checked for everything that can be checked without the system: the schema; that task, split, metric, protocol and
source exist; that a value is possible and stands inside its interval; that the data are ours, by hash and by count, and all of
them were scored; that an average is the average of rows in the same file; that system and weights are named; that no number is
there twice, here or in another submission. That the system scores this is the submitter's word, and stays marked as such.

Data hashes are known from our recorded rows, else from the data themselves where they are at hand; what is not is said.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.bench.leaderboard import BOUNDS, SUBMITTED, what_of
from scirep_core.bench.suites import AVERAGES, SPECS, averages
from scirep_core.data import PAPERS, load_task
from scirep_core.data.inventory import TASKS, TaskSpec
from scirep_core.data.manifests import local_folder
from scirep_core.data.open import SOURCES
from scirep_core.data.open.tasks import BESIDE
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.sources import real_parts
from scirep_core.data.task import Task
from scirep_core.data.validate import counts
from scirep_core.kit.errors import ConfigError, DataError, ScirepError, nearest
from scirep_core.kit.formats import PROTOCOLS
from scirep_core.kit.records import parse_line, raw_lines, read_json, to_jsonl
from scirep_core.kit.store import write_text
from scirep_core.results import PRINTED, ROOT, Result, checkout, from_json, read_results
from scirep_core.results.differences import BETWEEN
from scirep_core.results.metrics import check_metrics, parse

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
LARGEST = 20_000
"""Papers of an embedded literature that is made to check rows of it."""
CLOSE = 1e-6
SIZES = {"classification": "test", "regression": "test", "proximity": "queries", "adhoc_search": "queries"}
"""Type of a task -> the count that its rows' n is, on the test split."""
RANGES = {"median_rank": (1.0, math.inf), "kendall_tau": (-100.0, 100.0), "pearson": (-100.0, 100.0)}
"""Least and greatest value of a metric that does not lie between 0 and 100."""
VERSIONS = {name: version for version, name in AVERAGES.items()}
"""Task name of an average -> its version."""


class Checked(NamedTuple):
    """What checking a file came to: its rows, every fault (file, line, value, remedy), and what could not be checked."""

    rows: list[Result]
    faults: list[DataError]
    unchecked: list[str]


def folder() -> Path:
    """Return the folder of submissions in this checkout."""
    return checkout("Submitting") / "results" / SUBMITTED


# ---- reading ---------------------------------------------------------------------------------------------------------


def objects(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) of a JSON array's elements, or of JSON lines. Raises DataError at file:line."""
    lines = list(raw_lines(path))
    first = next((raw.lstrip()[:1] for _, raw in lines if raw.strip()), b"")
    if first != b"[":
        yield from ((at, parse_line(raw, path, at)) for at, raw in lines if raw.strip())
        return
    whole = read_json(path)  # names the line of what is no JSON
    text, decoder, at = path.read_text(encoding="utf-8-sig"), json.JSONDecoder(), 0
    at = text.index("[") + 1
    for value in whole:
        at = re.compile(r"[\s,]*").match(text, at).end()  # type: ignore[union-attr]
        yield text.count("\n", 0, at) + 1, value
        at = decoder.raw_decode(text, at)[1]


# ---- what is known ---------------------------------------------------------------------------------------------------


@functools.cache
def _recorded() -> dict[tuple[str, str, str, str, str], set[int]]:
    """Return {(task, source, data hash, split, metric): counts} of our recorded scores, submissions left out."""
    found: dict[tuple[str, str, str, str, str], set[int]] = {}
    for path in sorted((ROOT / "results").glob("*/**/*.jsonl*")):
        for row in read_results(path) if SUBMITTED not in path.relative_to(ROOT / "results").parts else ():
            if row.coverage in (None, 1.0) and what_of(row) == "score":
                found.setdefault((row.task, row.source, row.data_hash, row.split, row.metric), set()).add(row.n)
    return found


def _spec(task: str) -> TaskSpec:
    return SPECS[SAMPLES[task].like if task in SAMPLES else task]


def _sources(task: str) -> tuple[str, ...]:
    return ("real",) if task in SAMPLES else ("open",) if task.startswith("open/") else ("embedded", "real")


@functools.lru_cache(maxsize=8)
def _at_hand(task: str, source: str, papers: int, seed: int) -> Task | FacetCollection | None:
    """Return a task's data where they need no download, else None."""
    if task in SAMPLES:
        manifests = [SAMPLES[task].manifest]
    elif source == "open":
        manifests = [*BESIDE, *(f"open_{one}" for one in SOURCES)]
    else:
        manifests = list(real_parts(TASKS[task])) if source == "real" else []
    if not os.environ.get("SCIREP_DATA_MIRROR") and not all(local_folder(name).exists() for name in manifests):
        return None
    try:
        return load_task(task, source, papers, seed)
    except ScirepError:
        return None


# ---- one row ---------------------------------------------------------------------------------------------------------


def _names(row: Result) -> Iterator[tuple[str, str]]:
    known = [*SPECS, *SAMPLES, *VERSIONS]
    if row.task not in known:
        yield f"unknown task {row.task!r}", f"{nearest(row.task, known)}. The leaderboard holds tasks of the inventory"
        return
    if row.protocol not in PROTOCOLS:
        yield f"unknown protocol {row.protocol!r}", nearest(row.protocol, PROTOCOLS)
    if row.source not in _sources(row.task):
        remedy = "A sample is real, what is named open/ open; others are embedded, or real through their manifests"
        yield f"source {row.source!r}", remedy
    try:
        if row.task in VERSIONS:
            if row.metric != "average":
                yield f"metric {row.metric!r} of an average", "It is called average"
        else:
            kind = _spec(row.task).type
            parse(row.metric) if kind == "facets" else check_metrics((row.metric,), kind)
    except ConfigError as error:
        yield f"metric {row.metric!r}", str(error)
    if row.task not in VERSIONS and not _split_fits(row):
        yield f"split {row.split!r} of {row.task}", PRINTED


def _split_fits(row: Result) -> bool:
    spec = _spec(row.task)
    if spec.type == "alternative_self":
        return row.split in ("task-I", "task-II")
    if spec.type == "triplets":
        return row.split in ("train", "test", "dev", "validation")
    shots = {f"{shot.sample_size}-shot" for shot in spec.few_shot}
    return row.split in {"test", "dev"} | shots or bool(re.fullmatch(r"(test|dev)/[^/\n]{1,60}", row.split))


def _numbers(row: Result) -> Iterator[tuple[str, str]]:
    least, most = RANGES.get(row.metric, (0.0, 100.0))
    value, low, high = row.value, row.low, row.high
    if not least <= value <= most:
        yield f"value = {value!r}", f"{row.metric} lies between {least:g} and {most:g}: values are on the papers' scale"
    if (low is None) != (high is None):
        yield f"interval {low!r} to {high!r}", "Give both bounds or none"
    elif low is not None and high is not None and not low - CLOSE <= value <= high + CLOSE:
        yield f"value {value!r} outside its interval {low!r} to {high!r}", "Score again: the two are not of one run"
    if row.n < 1:
        yield f"n = {row.n}", "It counts queries or scored rows"
    if row.coverage not in (None, 1):
        remedy = "All of the data must be scored: without --on-missing drop, without --partial"
        yield f"coverage = {row.coverage!r}", remedy


def _system(row: Result) -> Iterator[tuple[str, str]]:
    name = row.encoder
    if not name or not name.isprintable() or len(name) > 100 or name[0] in "=+-@ <":
        yield f"encoder = {name!r:.120}", "Name the system in up to 100 printable characters, a letter or digit first"
    elif name in BOUNDS or row.against or BETWEEN in name:
        yield f"encoder = {name!r}", "A floor, a ceiling or a difference is no system"
    for field, value, what in (
        ("fingerprint", row.fingerprint, "weights were"),
        ("data_hash", row.data_hash, "data were"),
    ):
        if not re.fullmatch(r"[0-9a-f]{16,64}", value):
            yield f"{field} = {value!r:.80}", f"It says which {what} scored. {PRINTED}"


def _data(row: Result) -> tuple[list[tuple[str, str]], str]:
    """Return (reason, remedy) where data or count are not ours, and what could not be checked."""
    known = _recorded()
    if ns := known.get((row.task, row.source, row.data_hash, row.split, row.metric)):
        return ([] if row.n in ns else [_count(row, sorted(ns))]), ""
    papers, seed = row.parameters.get("papers", PAPERS), row.parameters.get("data_seed", 0)
    ours: Task | FacetCollection | None = None
    if row.source == "embedded":
        whole = all(isinstance(x, int) and not isinstance(x, bool) for x in (papers, seed))
        if not whole or not 0 < papers <= LARGEST or seed < 0:
            reason = f"parameters papers = {papers!r:.40}, data_seed = {seed!r:.40}"
            return [(reason, f"Literatures of up to {LARGEST:,} papers are checked")], ""
        ours = _at_hand(row.task, row.source, papers, seed)
    elif any(key[:3] == (row.task, row.source, row.data_hash) for key in known):
        return [], ""  # another metric of data that we know
    else:
        ours = _at_hand(row.task, row.source, PAPERS, 0)
    if ours is None:
        return [], f"{row.task}, {row.source}: the data are not at hand, so neither data_hash nor n could be checked"
    if ours.data_hash != row.data_hash:
        what = f" of {papers} papers, seed {seed}" if row.source == "embedded" else ""
        return [(f"data_hash {row.data_hash[:16]}", f"Ours{what} is {ours.data_hash[:16]}: score on the same data")], ""
    size = counts(ours).get(SIZES.get(ours.type, "")) if isinstance(ours, Task) and row.split == "test" else None
    return ([_count(row, [size])] if size not in (None, row.n) else []), ""


def _count(row: Result, ns: Sequence[int | None]) -> tuple[str, str]:
    return f"n = {row.n}", f"{row.task}, {row.split} has {' or '.join(map(str, ns))}: all of the data must be scored"


# ---- a file ----------------------------------------------------------------------------------------------------------


def _place(row: Result) -> tuple[object, ...]:
    back_end = bool(row.parameters.get("intercept", True))
    return row.task, row.metric, row.split, row.protocol, back_end, row.source, row.data_hash, row.encoder


def _average(row: Result, rows: Iterable[Result]) -> Iterator[tuple[str, str]]:
    alike = [one for one in rows if one.task in SPECS
             and (one.encoder, one.protocol, one.source) == (row.encoder, row.protocol, row.source)]  # fmt: skip
    try:
        made = averages(alike, VERSIONS[row.task], False, (row.split,))[0]
    except (ScirepError, IndexError) as error:
        yield f"{row.task}, {row.split}: not an average of rows in this file", f"Give its units too: {error}"
        return
    if abs(made.value - row.value) > CLOSE or made.n != row.n:
        yield f"value = {row.value!r}, n = {row.n}", f"The rows of this file give {made.value:.6f} of {made.n} units"
    if made.data_hash != row.data_hash:
        yield f"data_hash {row.data_hash[:16]}", f"That of the rows beside it is {made.data_hash[:16]}"


def check(path: Path, name: str, others: Sequence[Path] = ()) -> Checked:
    """Check a file of rows as the submission `name`, against the files of other submissions.

    Every fault is told, not only the first; rows that cannot be read have no further ones. Raises DataError where the file
    itself cannot be read.
    """
    faults: list[DataError] = []
    lines: list[tuple[int, Result]] = []
    unchecked: dict[str, None] = {}
    if not NAME.fullmatch(name):
        remedy = "Use up to 64 small letters, digits, points, - and _, a letter or digit first"
        faults.append(DataError(path, None, f"name {name!r}", remedy))
    at = None
    for at, value in objects(path):
        try:
            lines.append((at, from_json(value, path, at)))
        except DataError as error:
            faults.append(error)
    if at is None:
        faults.append(DataError(path, None, "no rows", "Give what `scirep score TASK --encoder NAME --json` prints"))
    seen: dict[tuple[object, ...], str] = {}
    for other in others:
        seen |= {_place(row): f"submitted already as {other.stem}" for row in read_results(other)}
    for at, row in lines:
        found = list(_names(row))
        named = not found
        found += [*_numbers(row), *_system(row)]
        if named and row.task in VERSIONS:
            found += _average(row, (one for _, one in lines))
        elif named:
            wrong, silent = _data(row)
            found += wrong
            unchecked |= {silent: None} if silent else {}
        if (before := seen.get(_place(row))) is not None:
            what = f"{row.encoder!r:.80} on {row.task}, {row.metric}, {row.split} is there twice: {before}"
            found.append((what, "Keep one, or give the system another name"))
        seen.setdefault(_place(row), f"first at line {at}")
        faults += [DataError(path, at, reason, remedy) for reason, remedy in found]
    kept: dict[str, Any] = {"kind": "recorded", "chapter": f"{SUBMITTED}/{name}", "by_query": {}}
    rows = [dataclasses.replace(row, **kept) for _, row in lines]
    return Checked(rows, sorted(faults, key=lambda fault: fault.line or 0), list(unchecked))


def add(path: Path, name: str, where: Path | None = None) -> tuple[Checked, Path]:
    """Check a file and, if it has no fault, keep it as results/submitted/NAME.jsonl; return what was found and that path.

    Raises ConfigError where a submission of that name is there.
    """
    where = where or folder()
    target = where / f"{name}.jsonl"
    if target.exists():
        remedy = "Choose another with --name, or remove the old one first"
        raise ConfigError(f"{target}: there is a submission of this name. {remedy}")
    found = check(path, name, sorted(where.glob("*.jsonl")))
    if not found.faults:
        write_text(target, to_jsonl(row.to_json() for row in found.rows))
    return found, target


def check_kept(path: Path) -> Checked:
    """Check a file of a folder of submissions as it lies there, against its neighbours."""
    found = check(path, path.stem, [other for other in sorted(path.parent.glob("*.jsonl")) if other != path])
    faults, own = list(found.faults), f"{SUBMITTED}/{path.stem}"
    for at, value in objects(path):
        origin = (value.get("chapter"), value.get("kind")) if isinstance(value, dict) else (own, "recorded")
        if origin != (own, "recorded"):
            reason = f"chapter {origin[0]!r:.80}, kind {origin[1]!r:.20}"
            faults.append(DataError(path, at, reason, f"They are {own!r} and 'recorded': add it with `scirep submit`"))
    return found._replace(faults=sorted(faults, key=lambda fault: fault.line or 0))
