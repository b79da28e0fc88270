"""Training tasks on the disk: texts are tokenised once, by one process, for all processes and trainings that read them.

    tokens/<key>/ids.int32               token ids of all documents, one after another; mapped, not read
                 starts.npy              where each begins
                 <i>.rows.npy, <i>.targets.npy   of task i; mapped
                 tasks.json              names, routes, kinds, classes; of what is there, the last to be written

Memory holds what is looked at: pages of a map are the system's to drop, and processes share them. While texts are tokenised it
holds some 200 bytes a distinct text, and 24 bytes a triplet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scirep_core.kit.claims import held
from scirep_core.kit.errors import CacheError
from scirep_core.kit.records import read_json
from scirep_core.kit.store import atomic_folder, write_json
from scirep_core.training.data import Documents, TrainTask

IDS, STARTS, TASKS = "ids.int32", "starts.npy", "tasks.json"


def mapped(folder: Path, make: Callable[[Path], Sequence[TrainTask]]) -> list[TrainTask]:
    """Return the tasks of a folder, which is written first where it is not there; who comes second waits.

    Args:
        make: gives the tasks, their token ids written to the file it is given (see `Shelf`).

    Raises CacheError for a folder that is damaged, and whatever `make` raises.
    """
    with held(folder.with_name(f"{folder.name}.lock")):
        if not (folder / TASKS).is_file():
            with atomic_folder(folder) as part:
                _write(part, make(part / IDS))
    return _read(folder)


def _write(folder: Path, tasks: Sequence[TrainTask]) -> None:
    np.save(folder / STARTS, tasks[0].documents.starts)
    for i, task in enumerate(tasks):
        for name, array in (("rows", task.rows), ("targets", task.targets)):
            if array is not None:
                np.save(folder / f"{i}.{name}.npy", array)
    write_json(
        folder / TASKS, [[task.name, task.format, task.query_format, task.kind, list(task.classes)] for task in tasks]
    )


def _read(folder: Path) -> list[TrainTask]:
    def array(name: str) -> Any:
        path = folder / name
        return np.load(path, mmap_mode="r", allow_pickle=False) if path.is_file() else None

    try:
        starts = array(STARTS)
        documents = Documents(np.memmap(folder / IDS, np.int32, "r", shape=(int(starts[-1]),)), starts)
        return [
            TrainTask(
                name, format, query, kind, documents, array(f"{i}.rows.npy"), array(f"{i}.targets.npy"), tuple(classes)
            )
            for i, (name, format, query, kind, classes) in enumerate(read_json(folder / TASKS))
        ]
    except (OSError, ValueError, TypeError) as error:
        raise CacheError(f"{folder}: is damaged ({error})", f"Delete {folder}, and texts are tokenised again") from None
