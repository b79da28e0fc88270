"""Readers of the papers' collections: one module per paper, one schema per collection whatever its source.

`TASKS` lists the tasks; `load_task` finds the data of one: `embedded` (written on first use by the embedded
literature), `real` (through its manifest), or a folder of the reader's own with the same files.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import NamedTuple

from scirep_core.datasets import csfcube
from scirep_core.errors import CacheError, ConfigError, DataError, nearest
from scirep_core.formats import SIMILARITIES
from scirep_core.records import field as check_field
from scirep_core.records import read_object
from scirep_core.store import home, sha256_file, stable_hash, write_text

PAPERS = 1200
"""Size of the embedded literature a chapter uses unless it says otherwise."""


class TaskSpec(NamedTuple):
    """One row of the registry: the paper it is from, its format, its manifest, its version."""

    paper: str
    format: str
    manifest: str
    version: int


TASKS: dict[str, TaskSpec] = {
    "csfcube": TaskSpec("csfcube", "PRX", "csfcube", 1),
    **{f"csfcube/{task}": TaskSpec("csfcube", "PRX", "csfcube", 1) for task in csfcube.TASKS},
}


def locate(name: str, source: str = "embedded", papers: int = PAPERS, seed: int = 0) -> Path:
    """Return the folder with a task's files, fetched or written first if need be.

    Args:
        name: a task of `TASKS`; for a folder of one's own, see `load_task`.
        source: embedded, real, or a folder.
        papers, seed: size and seed of the embedded literature.
    """
    if name not in TASKS:
        raise ConfigError(f"unknown task {name!r}; {nearest(name, TASKS)}, or a folder with a task.json")
    if source == "real":
        from scirep_core.manifests import fetch

        return fetch(TASKS[name].manifest)
    if source == "embedded":
        return _embedded(papers, seed)
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise ConfigError(f"data {source!r} is neither embedded, real, nor an existing folder")
    return folder


def _embedded(papers: int, seed: int) -> Path:
    """Return the embedded collection of this size, seed and generator, writing it on first use."""
    from scirep_core import literature

    package = Path(literature.__file__).parent
    code = {p.name: sha256_file(p) for p in sorted(package.iterdir()) if p.is_file()}
    folder = home() / "embedded" / f"csfcube-{papers}-{seed}-{stable_hash(code)[:12]}"
    seal = folder.with_suffix(".sha256")
    if not (folder / "task.json").is_file() or not seal.is_file() or seal.read_text() != csfcube.folder_hash(folder):
        shutil.rmtree(folder, ignore_errors=True)  # absent, interrupted, or altered since: the seed gives it again
        write_embedded(folder, papers, seed)
        write_text(seal, csfcube.folder_hash(folder))
    return folder


def write_embedded(folder: Path, papers: int = PAPERS, seed: int = 0) -> None:
    """Write the embedded collection as a task folder: complete under its name, or not there at all.

    Raises ConfigError for too few papers or a folder that holds something else, CacheError if it cannot be written.
    """
    from scirep_core import literature

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        made = folder / "task.json"
        if (
            made.is_file()
            and (config := read_config(made)).source == "embedded"
            and (config.papers, config.seed) == (papers, seed)
        ):
            return  # the same command again
        raise ConfigError(f"{folder} is there and not empty. Give another place, or remove it first")
    _sweep(folder.parent)
    try:
        created = [parent for parent in folder.parents if not parent.exists()]
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".writing-{os.getpid()}-", dir=folder.parent))
    except OSError as error:
        raise CacheError(f"{folder}: cannot write ({error.strerror}). Free space or choose another place") from None
    try:
        literature.write_csfcube(draft, papers=papers, seed=seed)
        draft.chmod(0o755)
        try:
            draft.rename(folder)
        except OSError:  # another process was first; the bytes are the same
            if not (folder / "task.json").is_file():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if not folder.exists():
            for parent in created:
                parent.rmdir()


def _sweep(folder: Path) -> None:
    """Remove drafts whose writer was killed."""
    for draft in folder.glob(".writing-*"):
        writer = draft.name.split("-")[1]
        try:
            os.kill(int(writer), 0)
        except (ProcessLookupError, ValueError):
            shutil.rmtree(draft, ignore_errors=True)
        except PermissionError:
            continue


def load_task(
    name_or_folder: str | os.PathLike[str], source: str = "embedded", papers: int = PAPERS, seed: int = 0
) -> csfcube.FacetCollection:
    """Return a task's data.

    Args:
        name_or_folder: a name of `TASKS`, or a folder with a task.json (or just the files of CSFCube).
        source: embedded, real, or a folder with the task's files.

    >>> load_task("csfcube/metod")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    scirep_core.errors.ConfigError: unknown task 'csfcube/metod'; did you mean 'csfcube/method'? ...
    """
    name = os.fspath(name_or_folder)
    if name in TASKS:
        folder = locate(name, source, papers, seed)
        collection = csfcube.read(folder, source if source in ("embedded", "real") else "folder")
        facet = name.partition("/")[2]
        return collection.only(facet) if facet else collection
    if not Path(name).expanduser().is_dir():
        raise ConfigError(f"unknown task {name!r}; {nearest(name, TASKS)}, or a folder with a task.json")
    folder = Path(name).expanduser()
    described = folder / "task.json"
    if not described.is_file():
        return csfcube.read(folder)
    config = read_config(described)
    collection = csfcube.read(folder)
    return replace(collection, metrics=tuple(config.metrics), similarity=config.similarity, version=config.version)


@dataclass(frozen=True)
class TaskConfig:
    """A task folder's `task.json`; the last three say how an embedded one was made."""

    name: str
    version: int
    type: str
    metrics: list[str] = field(default_factory=list)
    similarity: str = "l2"
    multi_label: bool = False
    few_shot: list[dict[str, int]] = field(default_factory=list)
    keep_self: bool = True
    text_query: bool = False
    source: str = ""
    seed: int = 0
    papers: int = 0


def read_config(path: Path) -> TaskConfig:
    """Read a task.json. Raises DataError for an unknown key (naming the nearest), a missing one or a wrong type."""
    row, known = read_object(path), {f.name: f for f in fields(TaskConfig)}
    for key in row:
        if key not in known:
            raise DataError(path, None, f"unknown key {key!r}", nearest(key, known))
    kinds: dict[str, type] = {"name": str, "version": int, "type": str, "metrics": list, "similarity": str, "seed": int,
                              "papers": int, "source": str, "few_shot": list}  # fmt: skip
    for key, kind in kinds.items():
        if key in row or key in ("name", "version", "type"):
            check_field(row, key, kind, path, None)
    if row["type"] != "facets":
        raise DataError(path, None, f"type {row['type']!r} is not known here", "Known: facets")
    if row.get("similarity", "l2") not in SIMILARITIES:
        raise DataError(
            path, None, f"unknown similarity {row['similarity']!r}", nearest(row["similarity"], SIMILARITIES)
        )
    if not all(isinstance(name, str) for name in row.get("metrics", [])):
        raise DataError(path, None, f"metrics must be names, found {row['metrics']!r:.80}")
    return TaskConfig(**row)
