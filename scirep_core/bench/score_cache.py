"""Rows that are kept: scoring the same vectors on the same data by the same code happens once.

One file a task: `$SCIREP_HOME/scores/<task>/<key>.shard`, the rows in its header and their bootstrap values as its array, both
under a checksum (kit/store.py). The key is a hash of everything a row depends on:

    the task     name, type, format, version, hash of its files, judgements and queries (a chapter may have cut some),
                 fields, metrics, similarity; of `oracle`, the vectors that know the truth
    the system   its fingerprint: weights, tokenizer, pooling, text recipe; of given vectors, the numbers themselves
    the question protocol, intercept, on_missing, seed, split, metrics, similarity
    the code     every file between a task's files and its rows, and the libraries that compute (see CODE, LIBRARIES)

Files of judgements are hashed whole, except those above 64 MB (texts, mostly): of these size, first and last MB count, so a
change in the middle that keeps the size is not noticed; ask for `--again` after one.

A damaged file is computed again, and so is one that holds rows of another key or of another task's data. Two processes never
compute the same rows at the same time: who comes second goes on with the next task and comes back.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scirep_core.data.task import Task, Triples
from scirep_core.kit import store
from scirep_core.kit.errors import CacheError, DataError
from scirep_core.kit.store import home, read_shard, sha256_bytes, sha256_file, stable_hash, write_shard
from scirep_core.results import Result, code_of, from_json, version

CODE = (
    "kit/arrays.py", "kit/formats.py", "kit/records.py", "kit/store.py", "results/__init__.py", "results/differences.py",
    "results/metrics.py", "results/statistics.py", "data/*.py", "data/readers", "encoders", "evaluators",
    "bench/given.py", "bench/scoring.py", "bench/systems.py",
)  # fmt: skip
"""Left out: what brings or invents files (literature, manifests, download, unpack: the files' hash has it), what comes after
the rows (suites, comparison: averages are not kept), and what only moves bytes about (encoding, errors, progress)."""
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pytrec_eval-terrier", "rank-bm25", "POT", "torch", "transformers",
             "tokenizers", "adapters")  # fmt: skip
Key = dict[str, Any]


class Question(NamedTuple):
    """How a task is scored: the arguments of `scoring.evaluate`."""

    protocol: str = "paper"
    on_missing: str = "error"
    seed: int = 0
    intercept: bool = True
    split: str | None = None
    metrics: tuple[str, ...] | None = None
    similarity: str | None = None

    def arguments(self, task: Task) -> dict[str, Any]:
        """Return the arguments for one task; the back end matters to linear probes under `paper` alone."""
        given = self._asdict()
        if self.intercept or self.protocol != "paper" or task.type not in ("classification", "regression"):
            del given["intercept"]
        return given


def key_of(task: Task, system: Sequence[str], question: Question) -> Key:
    """Return all that the rows of a task depend on, as JSON; `system`: what computes, first, and how it reads."""
    judged = task.payload.splits if isinstance(task.payload, Triples) else task.payload  # a stream has no content yet
    about = task.similarity, task.type, task.format
    return {
        "task": [task.name, task.version, task.source, task.data_hash, list(task.fields), list(task.metrics), *about],
        "judgements": sha256_bytes(repr(judged).encode()),
        "queries": stable_hash(dict(task.queries)),
        "truth": sha256_file(task.oracle) if system[0] == "oracle" and task.oracle else "",
        "system": list(system),
        "question": question.arguments(task),
        "code": code(),
    }


@functools.cache
def code() -> str:
    """Return a hash of the code that turns files and vectors into rows, and of the versions of what it calls."""
    return stable_hash([code_of(CODE), {name: version(name) or "none" for name in LIBRARIES}])


def folder() -> Path:
    """Return the folder of kept rows."""
    return home() / "scores"


def path_of(key: Key) -> Path:
    """Return the file of the rows with this key."""
    name = str(key["task"][0]).replace("/", "__")
    safe = "".join(c if c.isalnum() or c in "_-" else "-" for c in name)
    return folder() / safe / f"{stable_hash(key)[:40]}.shard"


def read(key: Key) -> list[Result] | None:
    """Return the rows kept under a key; None where there are none, or none that can be trusted."""
    path = path_of(key)
    if not path.is_file():
        return None
    try:
        drawn, meta = read_shard(path)
        rows = [from_json(row, path, line) for line, row in enumerate(meta["rows"], start=1)]
        strange = stable_hash(meta["key"]) != stable_hash(key) or not all(_belongs(row, key) for row in rows)
    except (CacheError, DataError, ValueError, KeyError, TypeError):
        path.unlink(missing_ok=True)
        return None
    if strange:
        return None
    ends = np.cumsum([0, *meta["draws"]])
    return [
        replace(row, replicates=drawn[start:end]) if end > start else row
        for row, start, end in zip(rows, ends, ends[1:], strict=False)
    ]


def _belongs(row: Result, key: Key) -> bool:
    return [row.task, row.data_hash] == [key["task"][0], key["task"][3]]


def write(key: Key, rows: Sequence[Result]) -> None:
    """Keep rows under a key. Raises CacheError where the disk refuses, and for rows of another task or other data."""
    if not all(_belongs(row, key) for row in rows):
        raise CacheError(f"rows of other data than {key['task'][0]}'s cannot be kept as its own")
    drawn = [np.zeros(0, np.float32) if row.replicates is None else row.replicates for row in rows]
    flat = np.concatenate([np.asarray(one, dtype=np.float32) for one in drawn]) if drawn else np.zeros(0, np.float32)
    meta = {"key": key, "rows": [row.to_json() for row in rows], "draws": [len(one) for one in drawn]}
    write_shard(path_of(key), flat, meta)


def held(key: Key, wait: bool) -> AbstractContextManager[bool]:
    """Hold the right to compute the rows of a key; gives False where another process has it and `wait` is not asked."""
    return store.held(path_of(key).with_suffix(".lock"), wait)
