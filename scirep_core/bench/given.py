"""Vectors of a user's own as a system: a mapping, a pair (ids, array), files, or what a model of his makes (SciRepEval 6).

A file of vectors may hold the ids of all tasks. Where tasks disagree about an id (short query numbers do), or a paper has
other vectors for other formats, give a folder: for each task the file named after it (`scirepeval__fos.npz`, or `fos.npz`),
else the file of its format (`CLF.npz`, `RGN.npz`, `PRX.npz`, `QRY.npz`: of a search the queries in `QRY`, the papers in `PRX`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.bench import scoring, systems
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import Signatures, Task
from scirep_core.data.text import Recipe
from scirep_core.encoders.vectors.folder import is_vector_folder
from scirep_core.evaluators.inputs import QUERY
from scirep_core.kit.errors import ConfigError, DataError

Vectors = Mapping[str, NDArray[np.floating]]
FILES = (".npz", ".parquet", ".jsonl")


@dataclass(frozen=True)
class Given:
    """Vectors of the user's own, as a system: the counterpart of `systems.System`.

    `tables(task, protocol)` gives what there is for a task. Its fingerprint is that of the vectors the task needs, so that
    adding some for one task leaves the rows of the others as they are. `recipe` is of a model, how its texts are made.
    """

    name: str
    tables: Callable[[Any, str], Vectors]
    recipe: Recipe | None = None

    def suits(self, task: Task) -> bool:
        """Return True: vectors can be scored on every task."""
        return True

    def on(self, task: Task, protocol: str = "paper", seed: int = 0, progress: object = None) -> Vectors:
        """Return the vectors a task needs, and those of its queries and mentions that have their own.

        Raises ConfigError, naming ids of both, where not one of them is there.
        """
        table = self.tables(task, protocol)
        if not coverage(task, table).embedded:
            raise ConfigError(f"{self.name}: {strangers(task, table)}")
        wanted = list(dict.fromkeys(task.payload.ids().needed))
        wanted += [f"{key}{QUERY}" for key in wanted]
        if isinstance(task.payload, Signatures):
            wanted += [row.signature_id for row in task.payload.rows]
        return {key: table[key] for key in wanted if key in table}

    def prepare(self, tasks: Sequence[Task], protocol: str = "paper", progress: object = None) -> None:
        """Do nothing: the vectors are there."""


def given(vectors: Vectors | Sequence[Any] | Path, name: str = "") -> Given:
    """Return vectors as a system: a mapping id -> vector, (ids, array), a file, or a folder (see this file's first lines)."""
    if not isinstance(vectors, Path):
        table = scoring.as_mapping(vectors, name or "vectors")
        return Given(name or "vectors", lambda task, protocol: table)
    path = vectors.expanduser()
    if path.is_dir() and not is_vector_folder(path):
        if not any(file.suffix in FILES for file in path.iterdir()):
            raise DataError(
                path, None, f"no {', '.join(FILES)} in this folder", "Give one file a task, or one a format"
            )
        return Given(name or path.resolve().name, functools.partial(_of_folder, path))
    whole = scoring.read_vectors(path)
    return Given(name or path.stem, lambda task, protocol: whole)


def of_model(thing: Any, name: str = "", recipe: Recipe | None = None) -> Given:
    """Return a model of the user's own (`systems.as_model`) as a system; it is asked once for each task and protocol.

    It has no fingerprint: its rows are kept under the vectors it made. Raises ConfigError for what is no model.
    """
    model = systems.as_model(thing, recipe)
    kept: dict[tuple[int, str], tuple[Any, Vectors]] = {}

    def tables(task: Any, protocol: str) -> Vectors:
        key = id(task), protocol
        if key not in kept:  # the task stays with its vectors, so that its id is no other's
            kept[key] = task, systems.by_callable(task, model, protocol)
        return kept[key][1]

    return Given(name or model.name, tables, model.recipe)


def _of_folder(folder: Path, task: Task, protocol: str) -> Vectors:
    """Return what a folder holds for a task: its own file, else that of its format."""
    for stem in (task.name.replace("/", "__"), task.name.rpartition("/")[2]):
        if (own := _file(folder, stem)) is not None:
            return _read(own)
    parts = {form: _file(folder, form) for form in (("PRX", "QRY") if task.queries else (task.format,))}
    tables = {form: _read(path) for form, path in parts.items() if path is not None}
    if not task.queries:
        return next(iter(tables.values()), {})
    asked = {key: vector for key, vector in tables.get("QRY", {}).items() if key in task.queries}
    found = dict(tables.get("PRX", {}))
    # an id that is a query's and a paper's: the published code knows the query alone, `sound` asks for `<id>/q` first
    return found | asked | {f"{key}{QUERY}": vector for key, vector in asked.items() if key in found}


def _file(folder: Path, stem: str) -> Path | None:
    return next((path for path in (folder / f"{stem}{suffix}" for suffix in FILES) if path.is_file()), None)


@functools.lru_cache(maxsize=2)
def _read_once(path: Path, changed: int) -> dict[str, NDArray[np.floating]]:
    return scoring.read_vectors(path)


def _read(path: Path) -> Vectors:
    return _read_once(path, path.stat().st_mtime_ns)


class Coverage(NamedTuple):
    """How many of the ids a task needs have a vector, and the first that have none."""

    task: str
    embedded: int
    required: int
    missing: tuple[str, ...]


def coverage(task: Task, vectors: Vectors, first: int = 3) -> Coverage:
    """Return the coverage of a task by vectors; of author disambiguation mentions may have vectors instead of papers."""
    wanted = list(dict.fromkeys(task.payload.ids().needed))
    if isinstance(task.payload, Signatures) and not all(key in vectors for key in wanted):
        mentions = [row.signature_id for row in task.payload.rows]
        wanted = mentions if all(key in vectors for key in mentions) else wanted
    missing = [key for key in wanted if key not in vectors]
    return Coverage(task.name, len(wanted) - len(missing), len(wanted), tuple(missing[:first]))


def strangers(task: Task | FacetCollection, vectors: Vectors, first: int = 3) -> str:
    """Return what to say where no id a task needs has a vector: some ids of both."""
    wanted = list(dict.fromkeys(task.payload.ids().needed if isinstance(task, Task) else task.papers))
    if not vectors:
        return f"no vectors for {task.name}, which needs {len(wanted)}"
    yours, needed = (", ".join(list(ids)[:first]) + (", ..." if len(ids) > first else "") for ids in (vectors, wanted))
    return (
        f"none of the {len(wanted)} ids that {task.name} needs ({task.source} data) is there: yours are {yours}; "
        f"needed are {needed}"
    )
