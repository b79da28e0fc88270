"""Texts and tasks: the papers' collections, one schema per task whatever its source.

`load_task` finds the data of one task and reads it. `write_embedded` writes every embedded task as files (`scirep data get
embedded --out DIR`):

    DIR/<task>/           a task folder (folder.py) for each task of the inventory: DIR/scirepeval/fos, DIR/csfcube ...
    DIR/published/...     the same collections in their published layouts, and the literature itself
    DIR/embedded.json     size, seed and generator; written last: without it the folder is unfinished

The same command again finds it done; a killed one goes on: collections that are whole are not written again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from scirep_core.data import folder, manifests
from scirep_core.data.inventory import ELSEWHERE, MORE, TASKS, TRAINING, TaskSpec
from scirep_core.data.readers import beir, csfcube, mdcr, neighbours, recommendation, s2and, scimult, scirepeval
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.readers.samples import read as published_sample
from scirep_core.data.sources import PAPERS, check_size, ensure, generator_version, oracle_of, root_of
from scirep_core.data.tables import Found, data_hash
from scirep_core.data.task import Labelled, Task
from scirep_core.kit.errors import CacheError, ConfigError, DataError, UnknownName
from scirep_core.kit.records import read_object
from scirep_core.kit.store import settle, sync_tree, write_json

__all__ = ["PAPERS", "TASKS", "TRAINING", "FacetCollection", "Task", "TaskSpec", "load_task", "locate", "names",
           "write_embedded"]  # fmt: skip

READERS: dict[str, Callable[[TaskSpec, Path], Found]] = {
    "scirepeval": scirepeval.read,
    "s2and": s2and.read,
    "mdcr": mdcr.read,
    "scimult": scimult.read,
    "beir": beir.read,
    "recommendation": recommendation.read,
    "neighbours": neighbours.read,
}


def names() -> list[str]:
    """Return the names `load_task` knows."""
    from scirep_core.data.open.tasks import OPEN

    return [*TASKS, *SAMPLES, *OPEN, *MORE]


def locate(name: str, source: str = "embedded", papers: int = PAPERS, seed: int = 0) -> Path:
    """Return the folder with a task's files, fetched or written first if need be.

    Of CSFCube it is the folder of the collection, of the other tasks the root that holds the collections.

    Args:
        name: a task of `TASKS`; for a folder of one's own, see `load_task`.
        source: embedded, real, or a folder.
        papers, seed: size and seed of the embedded literature.
    """
    if name not in TASKS:
        raise _unknown(name)
    root = root_of(name, source, papers, seed)
    if TASKS[name].reader == "csfcube" and source in ("embedded", "real"):
        return root / "csfcube"
    return root


def load_task(
    name_or_folder: str | os.PathLike[str], source: str = "embedded", papers: int = PAPERS, seed: int = 0
) -> FacetCollection | Task:
    """Return a task's data.

    Args:
        name_or_folder: a name of `TASKS` or `MORE`, a real sample (`sample/...`), a task of the open literature
            (`open/...`), or a folder with a task.json (or just the files of CSFCube).
        source: embedded, real, or a folder with the collection's published files. What is named sample/ or open/ has one
            source alone, whatever is said here.
        papers, seed: size and seed of the embedded literature.

    >>> load_task("csfcube/metod")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    scirep_core.kit.errors.UnknownName: unknown task 'csfcube/metod'; did you mean 'csfcube/method'? ...
    """
    name = os.fspath(name_or_folder)
    if name in TASKS:
        return _inventory_task(name, source, papers, seed)
    if name.startswith("sample/"):
        return read_sample(name)
    if name.startswith("open/") and not Path(name).is_dir():
        from scirep_core.data.open import tasks as open_tasks

        if name not in open_tasks.OPEN:
            raise _unknown(name)
        return open_tasks.load(name)
    if name in MORE:
        return _further(name)
    path = Path(name).expanduser()
    if not path.is_dir():
        raise _unknown(name)
    if (path / "task.json").is_file():
        return folder.read_folder(path)
    if any(path.glob("test-pid2anns-*.json")) or not (inside := sorted(path.glob("**/task.json"))):
        return csfcube.read(path)
    few = ", ".join(p.parent.relative_to(path).as_posix() for p in inside[:3])
    raise ConfigError(f"{path}: no task.json here. Task folders inside: {few}{' ...' if len(inside) > 3 else ''}")


def read_sample(name: str) -> Task:
    """Return a real sample, such as "sample/fos", as a task, its files fetched if need be. Raises ConfigError for another name."""
    spec, root, found = published_sample(name)
    return as_task(spec, name, root, "real", found)


def _unknown(name: str) -> UnknownName:
    valid = [ELSEWHERE[name]] if name in ELSEWHERE else names()
    return UnknownName("task", name, valid, ", or a folder with a task.json")


def _further(name: str) -> Task:
    task = folder.read_folder(manifests.fetch(MORE[name].manifest) / MORE[name].folder)
    if not isinstance(task, Task):
        raise ConfigError(f"{name}: faceted queries are CSFCube's alone")
    return replace(task, name=name, source="real")


def _inventory_task(name: str, source: str, papers: int, seed: int) -> FacetCollection | Task:
    spec, kind = TASKS[name], source if source in ("embedded", "real") else "folder"
    if spec.reader == "csfcube":
        collection = csfcube.read(locate(name, source, papers, seed), kind)
        return collection.only(spec.config) if spec.config else collection
    root = root_of(name, source, papers, seed)
    task = as_task(spec, name, root, kind, READERS[spec.reader](spec, root))
    if task.oracle is not None and isinstance(task.payload, Labelled):  # invented: a tenth of the published repeats
        few = tuple(shot._replace(iterations=max(5, shot.iterations // 10)) for shot in task.payload.few_shot)
        task = replace(task, payload=replace(task.payload, few_shot=few))
    return task


def as_task(spec: TaskSpec, name: str, root: Path, source: str, found: Found) -> Task:
    """Return the task of an inventory row. Held-out tasks are related to training tasks by the latents of invented data alone."""
    from scirep_core.data.literature import VERSION

    assert spec.type != "facets"
    version = VERSION if source == "embedded" else spec.version
    return Task(
        name, spec.type, spec.format, spec.metrics, found.payload, source, data_hash(root, found.files), version,
        found.similarity, found.texts, found.queries, oracle_of(root, name),
        related=spec.relation if source == "embedded" or spec.relation == "in-train" else "",
        notes="; ".join(note for note in found.notes if note), fields=found.fields,
    )  # fmt: skip


DONE, BEGUN = "embedded.json", ".embedded-begun.json"


def write_embedded(out: Path, papers: int, seed: int, say: Callable[[str], None] = lambda line: None) -> None:
    """Write all embedded tasks below `out`.

    Raises ConfigError for a folder that holds something else, and as `check_size` does; CacheError if it cannot be written.
    """
    from filelock import FileLock  # names are read without it

    check_size(papers, seed)
    made = {"papers": papers, "seed": seed, "generator": generator_version()}
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file. Give another place")
    settle(out)
    if out.is_dir() and any(out.iterdir()):
        found = _made(out)
        if found != made:
            was = f" (it holds {found['papers']} papers, seed {found['seed']})" if found else ""
            raise ConfigError(f"{out} is there and not empty{was}. Give another place, or remove it first")
        if (out / DONE).is_file() and not (out / BEGUN).exists():
            return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(out.parent / f".{out.name}.lock"):  # a second writer waits, and finds the work done
            if not (out / DONE).is_file():
                _write(out, made, papers, seed, say)
            (out / BEGUN).unlink(missing_ok=True)
    except OSError as error:
        raise CacheError(f"{out}: cannot write ({error.strerror}). Free space or choose another place") from None
    (out.parent / f".{out.name}.lock").unlink(missing_ok=True)


def _write(out: Path, made: dict[str, Any], papers: int, seed: int, say: Callable[[str], None]) -> None:
    from scirep_core.data.literature.emit import COLLECTIONS

    write_json(out / BEGUN, made)
    for name in ("csfcube", *COLLECTIONS):
        say(f"writing {name}")
        ensure(out / "published", name, papers, seed)
    say("writing task folders")
    shutil.rmtree(out / "csfcube", ignore_errors=True)
    shutil.copytree(out / "published" / "csfcube", out / "csfcube")
    for name, spec in TASKS.items():
        if spec.type != "facets":
            folder.write_folder(load_task(name, str(out / "published")), out / name)  # type: ignore[arg-type]
    sync_tree(out)
    write_json(out / DONE, made)


def _made(out: Path) -> dict[str, object] | None:
    for marker in (DONE, BEGUN):
        if (out / marker).is_file():
            try:
                return read_object(out / marker)
            except DataError:
                return None
    return None
