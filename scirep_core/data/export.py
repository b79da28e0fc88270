"""`scirep data get embedded --out DIR`: every embedded task as files.

    DIR/<task>/           a task folder (folder.py) for each task of the inventory: DIR/scirepeval/fos, DIR/csfcube ...
    DIR/published/...     the same collections in their published layouts, and the literature itself
    DIR/embedded.json     size, seed and generator; written last: without it the folder is unfinished

The same command again finds it done; a killed one goes on: collections that are whole are not written again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scirep_core.data import folder as folders
from scirep_core.data.inventory import TASKS
from scirep_core.data.sources import check_size, ensure, generator_version
from scirep_core.kit.errors import CacheError, ConfigError, DataError
from scirep_core.kit.records import read_object
from scirep_core.kit.store import settle, sync_tree, write_json

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
    _task_folders(out, papers, seed, say)
    sync_tree(out)
    write_json(out / DONE, made)


def _task_folders(out: Path, papers: int, seed: int, say: Callable[[str], None]) -> None:
    from scirep_core.data import load_task

    say("writing task folders")
    shutil.rmtree(out / "csfcube", ignore_errors=True)
    shutil.copytree(out / "published" / "csfcube", out / "csfcube")
    for name, spec in TASKS.items():
        if spec.type != "facets":
            task = load_task(name, str(out / "published"))
            folders.write_folder(task, out / name)  # type: ignore[arg-type]


def _made(out: Path) -> dict[str, object] | None:
    for marker in (DONE, BEGUN):
        if (out / marker).is_file():
            try:
                return read_object(out / marker)
            except DataError:
                return None
    return None
