"""A folder of vectors for corpora of any size (`scirep encode --out DIR`): filled by any number of processes, read back.

The input is cut into shards of 50,000 papers in file order. A shard is encoded as a whole, its texts sorted by length
and given to the encoder in groups, so on one kind of machine its bytes depend neither on who computed it nor on what was
interrupted (another processor, library or number of threads may round the last digits, about 1e-6, otherwise):

    plan.json                what was asked, and which lines belong to which shard (`encoders/vectors/encoding.py`)
    shards/000000.shard      ids and float32 vectors, checksummed, under this name only when whole
    manifest.json            written last: every shard with its SHA-256

Any number of processes, on any number of machines that share the folder, may run the same command: each takes the next
shard that nobody holds (`kit/claims.py`). A run that finds the manifest checks every byte it vouches for and computes again
what is damaged. Memory holds one shard.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from filelock import Timeout
from numpy.typing import NDArray

from scirep_core.encoders import Encoder
from scirep_core.encoders.vectors.embed import Progress, compute
from scirep_core.encoders.vectors.encoding import PLAN, Plan, Reading, Record, read_plan, records
from scirep_core.kit import claims
from scirep_core.kit.errors import CacheError, DataError, NumericError
from scirep_core.kit.formats import Format
from scirep_core.kit.records import field, raw_lines, read_object
from scirep_core.kit.store import read_header, read_shard, settle, write_json, write_shard

GROUP = 2048
"""Texts given to the encoder at a time, sorted by length within a shard."""
POLL = 0.2
"""Seconds between two looks at shards that others hold."""
AGAIN = "Run the same `scirep encode` again"
log = logging.getLogger("scirep")
Step = Callable[[int], None]
"""Called with the papers of a group when it is done."""


def shard_path(out: Path, number: int) -> Path:
    """Return the file of one shard."""
    return out / "shards" / f"{number:06d}.shard"


def encode_folder(
    papers: Path, out: Path, plan: Plan, encoder: Encoder, format: Format, progress: Progress | None = None
) -> None:
    """Compute what is missing of a folder, beside others who do the same, and write its manifest.

    Raises NumericError naming the paper whose vector is not finite (its shard is not written), CacheError where the
    folder cannot be written.
    """
    waiting = deque(missing_shards(out, plan))
    done = plan.papers - sum(plan.parts[number].papers for number in waiting)
    if progress:
        progress(done, plan.papers)

    def step(count: int) -> None:
        nonlocal done
        done += count
        if progress:
            progress(done, plan.papers)

    read = reader(papers, plan, encoder)
    passed = 0  # shards in a row that somebody else holds
    while waiting:
        number = waiting.popleft()
        path = shard_path(out, number)
        try:
            claim = None if path.is_file() else claims.acquire(path.with_suffix(".claim"), wait=False)
        except Timeout:
            waiting.append(number)
            passed += 1
            if passed >= len(waiting):
                time.sleep(POLL)
                passed = 0
            continue
        passed = 0
        if claim is None:
            step(plan.parts[number].papers)
            continue
        try:
            if path.is_file():  # its holder had just finished
                step(plan.parts[number].papers)
            else:
                encode_shard(out, number, plan.key, read(number), encoder, format, step)
        finally:
            claims.release(claim)
    finish(out, plan)


def reader(papers: Path, plan: Plan, encoder: Encoder) -> Callable[[int], list[Record]]:
    """Return a function from a shard's number to its records: one pass over the file where numbers ascend."""
    reading = Reading(tuple(plan.settings["fields"]), plan.settings["to_find"], plan.settings["float_years"])
    lines = raw_lines(papers)
    behind = 0  # lines read

    def read(number: int) -> list[Record]:
        nonlocal lines, behind
        part = plan.parts[number]
        if part.line <= behind:
            lines = raw_lines(papers)
        rows = list(islice(records(papers, encoder.recipe, reading, part.line, lines), part.papers))
        behind = rows[-1].line if rows else part.line
        if len(rows) != part.papers:
            raise DataError(papers, behind, "the file has changed since it was planned", AGAIN)
        return rows

    return read


def missing_shards(out: Path, plan: Plan) -> list[int]:
    """Return the numbers of shards to compute; damaged ones are removed with a line that says so.

    Under way, a shard's header and length are checked; where a manifest says that all is done, every byte is.
    """
    complete = (out / "manifest.json").is_file()
    wanted = []
    for number, part in enumerate(plan.parts):
        path = shard_path(out, number)
        try:
            meta = read_shard(path)[1] if complete else read_header(path).meta
            if meta.get("key") != plan.key or len(meta["ids"]) != part.papers:
                raise CacheError(f"{path}: belongs to another folder")
        except FileNotFoundError:
            wanted.append(number)
        except CacheError as error:
            log.warning("%s. It is removed and computed again", error.reason)
            with claims.writing(path):
                path.unlink(missing_ok=True)
            wanted.append(number)
    if wanted and complete:
        with claims.writing(out):
            (out / "manifest.json").unlink(missing_ok=True)
    return wanted


def encode_shard(
    out: Path, number: int, key: str, rows: Sequence[Record], encoder: Encoder, format: Format, step: Step | None = None
) -> None:
    """Compute one shard and write it, under its claim. Raises NumericError naming the paper without a proper vector."""
    path = shard_path(out, number)
    places: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        places.setdefault(row.text, []).append(i)
    distinct = sorted(places, key=lambda text: (-len(text), text))
    vectors: NDArray[np.float32] | None = None
    for start in range(0, len(distinct), GROUP):
        group = distinct[start : start + GROUP]
        try:
            found = compute(encoder, group, format)
        except NumericError as error:
            bad = rows[places[_culprit(encoder, group, format)][0]]
            raise NumericError(f"paper {bad.paper_id} (line {bad.line}): {error}") from None
        if vectors is None:
            vectors = np.empty((len(rows), found.shape[1]), dtype=np.float32)
        for text, vector in zip(group, found, strict=True):
            vectors[places[text]] = vector
        if step:
            step(sum(len(places[text]) for text in group))
    assert vectors is not None
    write_shard(path, vectors, {"key": key, "encoder": encoder.name, "ids": [row.paper_id for row in rows]})


def _culprit(encoder: Encoder, texts: list[str], format: Format) -> str:
    """Return a text whose vector is not finite, by halving."""
    while len(texts) > 1:
        half = texts[: len(texts) // 2]
        try:
            compute(encoder, half, format)
            texts = texts[len(half) :]
        except NumericError:
            texts = half
    return texts[0]


def finish(out: Path, plan: Plan) -> None:
    """Write the manifest of a folder whose shards are all there; whoever does it writes the same bytes."""
    headers = [read_header(shard_path(out, number)) for number in range(len(plan.parts))]
    shards = [
        {"file": f"shards/{shard_path(out, i).name}", "papers": header.shape[0], "sha256": header.sha256}
        for i, header in enumerate(headers)
    ]
    value = {"encoder": plan.encoder, "settings": plan.settings, "papers": plan.papers,
             "dim": headers[0].shape[1], "shards": shards}  # fmt: skip
    lock = claims.acquire(out / "plan.lock")
    try:
        settle(out)
        claims.bury(out / "shards")
        write_json(out / "manifest.json", value)
    finally:
        claims.release(lock)


# ---------------------------------------------------------------------------------------------------------- reading


def read_manifest(out: Path) -> dict[str, Any]:
    """Return the manifest of a whole folder. Raises DataError where the folder is unfinished, saying how far it is."""
    plan = read_plan(out)
    path = out / "manifest.json"
    if not path.is_file():
        there = sum(shard_path(out, number).is_file() for number in range(len(plan.parts)))
        raise DataError(out, None, f"{there} of {len(plan.parts)} shards are there, and no manifest.json", AGAIN)
    return read_object(path)


def vector_shards(out: Path) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """Yield (ids, (n, dim) float32) shard by shard, each checked to the bit. Raises DataError or CacheError."""
    manifest = read_manifest(out)
    for row in field(manifest, "shards", list, out / "manifest.json", None):
        path = out / row["file"]
        try:
            if read_header(path).sha256 != row["sha256"]:
                raise CacheError(f"{path}: is not the shard that the manifest names")
            vectors, meta = read_shard(path)
        except FileNotFoundError:
            raise CacheError(f"{path}: is missing", AGAIN) from None
        except CacheError as error:
            raise CacheError(error.reason, f"{AGAIN}; it computes this shard again") from None
        yield meta["ids"], vectors


def is_vector_folder(path: Path) -> bool:
    """Return whether a folder is one that `scirep encode` writes, finished or not."""
    return (path / PLAN).is_file()


def read_vector_folder(out: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Return all (ids, (n, dim) float32) of a folder. Memory: the array; for one shard at a time see `vector_shards`."""
    manifest = read_manifest(out)
    array = np.empty((manifest["papers"], manifest["dim"]), dtype=np.float32)
    ids: list[str] = []
    for names, vectors in vector_shards(out):
        array[len(ids) : len(ids) + len(names)] = vectors
        ids += names
    return ids, array
