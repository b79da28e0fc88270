"""A folder of vectors for corpora of any size (`scirep encode --out DIR`): filled by any number of processes, read back.

The input is cut into shards of 50,000 papers in file order. A shard is encoded as a whole, its texts sorted by length
and given to the encoder in groups, so on one kind of machine its bytes depend neither on who computed it nor on what was
interrupted:

    plan.json                what was asked, and which lines belong to which shard (`encoders/vectors/encoding.py`)
    shards/000000.shard      ids and float32 vectors, checksummed, under this name only when whole
    manifest.json            written last: every shard with its SHA-256

Any number of processes, on any number of machines that share the folder, may run the same command: each takes the next
shard that nobody holds (`kit/store.py`). A run that finds the manifest checks every byte it vouches for and computes again
what is damaged. Memory holds one shard.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.encoders import Encoder
from scirep_core.encoders.vectors.embed import Progress, compute
from scirep_core.encoders.vectors.encoding import PLAN, Plan, Reading, Record, read_plan, records
from scirep_core.encoders.vectors.shards import Shards
from scirep_core.kit.errors import CacheError, DataError, NumericError
from scirep_core.kit.formats import Format
from scirep_core.kit.records import field, grouped, raw_lines, read_object
from scirep_core.kit.store import held, read_header, read_shard, settle, write_json, writing

GROUP = 2048
"""Texts given to the encoder at a time, sorted by length within a shard."""
POLL = 0.2
"""Seconds between two looks at shards that others hold."""
AGAIN = "Run the same `scirep encode` again"
Step = Callable[[int], object]
"""Called with the papers of a group when it is done."""


def quiet(*_: int) -> None:
    """Tell nobody of progress."""


def shards_of(out: Path, key: str) -> Shards:
    """Return the shards of a folder; `key` is its plan's."""
    return Shards(out / "shards", {"key": key})


def name_of(number: int) -> str:
    """Return the name of a shard.

    >>> name_of(7)
    '000007'
    """
    return f"{number:06d}"


def encode_folder(
    papers: Path, out: Path, plan: Plan, encoder: Encoder, format: Format, progress: Progress = quiet
) -> None:
    """Compute what is missing of a folder, beside others who do the same, and write its manifest.

    Raises NumericError naming the paper whose vector is not finite (its shard is not written), CacheError where the
    folder cannot be written.
    """
    waiting = deque(missing_shards(out, plan))
    done = plan.papers - sum(plan.parts[number].papers for number in waiting)

    def step(count: int) -> None:
        nonlocal done
        done += count
        progress(done, plan.papers)

    step(0)
    read, shards = reader(papers, plan, encoder), shards_of(out, plan.key)
    passed = 0  # shards in a row that somebody else holds
    while waiting:
        number = waiting.popleft()
        with shards.claim(name_of(number), wait=False) as mine:
            if not mine:
                waiting.append(number)
            elif shards.path(name_of(number)).is_file():  # its holder had finished
                step(plan.parts[number].papers)
            else:
                encode_shard(shards, number, read(number), encoder, format, step)
        passed = 0 if mine else passed + 1
        if passed and passed >= len(waiting):
            time.sleep(POLL)
            passed = 0
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
    shards, complete = shards_of(out, plan.key), (out / "manifest.json").is_file()

    def whole(number: int, meta: Mapping[str, Any]) -> bool:
        if len(meta["ids"]) != plan.parts[number].papers:
            raise CacheError(f"{out}: a shard belongs to another folder")
        return complete

    numbers = range(len(plan.parts))
    missing = [number for number in numbers if not shards.read(name_of(number), partial(whole, number))[0]]
    if missing and complete:
        with writing(out):
            (out / "manifest.json").unlink(missing_ok=True)
    return missing


def encode_shard(
    shards: Shards, number: int, rows: Sequence[Record], encoder: Encoder, format: Format, step: Step = quiet
) -> None:
    """Compute one shard and write it, under its claim. Raises NumericError naming the paper without a proper vector."""
    places = grouped(range(len(rows)), lambda i: rows[i].text)
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
        step(sum(len(places[text]) for text in group))
    assert vectors is not None
    shards.write(name_of(number), vectors, {"encoder": encoder.name, "ids": [row.paper_id for row in rows]})


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
    shards = shards_of(out, plan.key)
    paths = [shards.path(name_of(number)) for number in range(len(plan.parts))]
    headers = [read_header(path) for path in paths]
    listed = [
        {"file": f"shards/{path.name}", "papers": header.shape[0], "sha256": header.sha256}
        for path, header in zip(paths, headers, strict=True)
    ]
    value = {"encoder": plan.encoder, "settings": plan.settings, "papers": plan.papers,
             "dim": headers[0].shape[1], "shards": listed}  # fmt: skip
    with held(out / "plan.lock"):
        settle(out)
        shards.notes()  # removes what dead processes left
        write_json(out / "manifest.json", value)


# ---------------------------------------------------------------------------------------------------------- reading


def read_manifest(out: Path) -> dict[str, Any]:
    """Return the manifest of a whole folder. Raises DataError where the folder is unfinished, saying how far it is."""
    plan = read_plan(out)
    path = out / "manifest.json"
    if not path.is_file():
        there = sum(shards_of(out, plan.key).path(name_of(number)).is_file() for number in range(len(plan.parts)))
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
