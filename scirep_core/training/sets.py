"""What a training reads, by name of its source: the one way from a file's section `data`, or from a variant, to token ids.

    embedded, real, a folder    SciRepEval's eight training sets, or SciMult's five sources of pairs
    samples                     a few hundred real papers
    open                        the open literature's eight, or its four of pairs
    tasks_config                what a published tasks_config.json names, from any of them

Texts are tokenised once, by one process, for all trainings and processes that read the same, in SCIREP_HOME/tokens. Arrays are
mapped: memory holds what is looked at, its pages are the system's to drop, and processes share them. While texts are tokenised it
holds some 200 bytes a distinct text, and 24 bytes a triplet.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scirep_core.data import load_task
from scirep_core.data.inventory import TRAINING
from scirep_core.data.sources import root_of
from scirep_core.data.text import Recipe
from scirep_core.encoders.trunk.tokens import Tokens, read_tokens
from scirep_core.kit.errors import CacheError, ConfigError
from scirep_core.kit.records import read_json
from scirep_core.kit.store import atomic_folder, held, home, stable_hash, write_json
from scirep_core.results import code_of
from scirep_core.training.config import DataConfig
from scirep_core.training.data import Documents, Reading, Stream, TrainTask, build, stream
from scirep_core.training.data.pairs import SOURCES, pair_tasks
from scirep_core.training.data.published import published_streams, read_tasks_config
from scirep_core.training.variants import DATA_SOURCES, Budget, Variant

CODE = (
    "training/sets.py", "training/batching.py", "training/data", "encoders/trunk/tokens.py", "data/*.py", "data/readers",
    "data/open", "kit/formats.py", "kit/records.py",
)  # fmt: skip
"""What makes token ids of files: tokens that are kept are of this code."""
ROOM = 4
"""Tokens a conditioning adds at most."""
Make = Callable[[Path], list[TrainTask]]


class Base(NamedTuple):
    """A trunk to start from: its folder, how it reads texts and makes vectors of them, and a hash of what is in it.

    A training keeps all of this, so that what it changed is what it learned.
    """

    name: str
    folder: Path
    recipe: Recipe
    fingerprint: str
    pooling: str = "cls"
    normalised: bool = False


@functools.lru_cache(maxsize=4)
def read(data: DataConfig, of: Base, room: int = ROOM, split: str = "train") -> tuple[Tokens, list[TrainTask]]:
    """Return a base's tokenizer, and training sets in its token ids.

    Args:
        room: tokens of `max_length` that are left to the conditioning.
        split: train or validation.

    Raises ConfigError for an unknown set, sets of two papers, a dev part where there is none.
    """
    from scirep_core.training.data.real import TRAINED, sample_streams

    tokens = read_tokens(of.folder)
    reading = Reading(of.recipe, data.max_length - room, data.titles_only, seed=data.seed)
    if any(name in SOURCES for name in data.tasks) and not _collections(data):
        raise ConfigError(f"{data.tasks[0]}: SciMult's training pairs are embedded ones, or your own by `scirep train`")
    if data.source == "samples" and not data.tasks_config:
        if split != "train":
            raise ConfigError("the real samples have no part to validate on. Set train.validate_every = 0")
        return tokens, build(sample_streams(data.tasks or TRAINED, data.cap or None), tokens, reading)
    stamp, make = _source(data, tokens, split, reading)
    code = code_of(CODE)
    key = stable_hash([stamp, of.fingerprint, list(of.recipe), data.cap, reading.max_length, data.seed, data.titles_only,
                       split, list(data.tasks), code])  # fmt: skip
    return tokens, mapped(home() / "tokens" / key[:16], make)


def _collections(data: DataConfig) -> bool:
    return data.source not in DATA_SOURCES or DATA_SOURCES[data.source].collections  # a folder is one of collections


def _source(data: DataConfig, tokens: Tokens, split: str, reading: Reading) -> tuple[Any, Make]:
    from scirep_core.data.open.tasks import TRAINED
    from scirep_core.training.data.real import open_stream

    def root(name: str) -> Path:
        if not _collections(data):
            raise ConfigError(
                f"{data.tasks_config}: names {name}, which is not of {data.source}. Set data.source otherwise"
            )
        return root_of(name, data.source, data.papers, data.seed)

    def built(streams: Callable[[], list[Stream]]) -> Make:
        return lambda file: build(streams(), tokens, reading.of(split), file)

    most = data.cap or None
    if data.tasks_config:
        path = Path(data.tasks_config).expanduser()
        named = read_tasks_config(path)
        folders = {root(task.set) / "scirepeval" for task in named if task.set}
        files = [file for task in named for file in (*task.files.values(), task.labels) if file]
        return [_stamp(path, *files, *sorted(folders))], built(lambda: published_streams(path, root, split, most))
    if data.source == "open":
        names = [name if "/" in name else f"open/{name}" for name in data.tasks] or list(TRAINED)
        known = [load_task(name).data_hash for name in names]
        return known, built(lambda: [open_stream(name, split, most) for name in names])
    names = [name if "/" in name else f"scirepeval/{name}" for name in data.tasks] or list(TRAINING)
    if pairs := [name for name in names if name in SOURCES]:
        if others := [name for name in names if name not in SOURCES]:
            raise ConfigError(
                f"data.tasks: {pairs[0]} is of SciMult and {others[0]} is not. Train on one paper's sets at a time"
            )
        where = root(names[0])
        return _stamp(where / "scimult" / "pretraining"), lambda file: pair_tasks(
            names, where, tokens, reading, split=split, cap=most, file=file
        )
    where = root(TRAINING[0])
    return _stamp(where / "scirepeval"), built(lambda: [stream(name, where, split, most) for name in names])


def _stamp(*places: Path) -> str:
    """Return what tells files, and those of folders, from others: names, sizes and times; their bytes may be many gigabytes."""
    found = (place.rglob("*") if place.is_dir() else [place] for place in places)
    files = sorted(file for some in found for file in some if file.is_file())
    return stable_hash([[str(file), (status := file.stat()).st_size, status.st_mtime_ns] for file in files])


# ---- of a variant ----------------------------------------------------------------------------------------------------


OPEN_LIKE = {
    "open/arxiv_categories": ("fos",), "open/mesh": ("mesh_descriptors",), "open/citations": ("cite_count",),
    "open/year": ("pub_year",),
    "open/cite_triplets": ("cite_prediction", "pretrain_citation"), "open/same_author_triplets": ("same_author",),
    "open/coupling_triplets": ("high_influence_cite",), "open/search_triplets": ("search", "pretrain_search"),
    "open/category_triplets": ("pretrain_cs_journal",), "open/mesh_triplets": ("pretrain_biomedicine_mesh",),
}  # fmt: skip
"""Training task of the open literature -> the training sets of SciRepEval and SciMult in whose place it stands in every variant."""


def examples(
    of: Base, given: Budget, chosen: Variant | None = None, split: str = "train"
) -> tuple[Tokens, list[TrainTask]]:
    """Return a base's tokenizer, and what a variant trains on, under its own codes where it has some; all sets without one."""
    from scirep_core.data.open.tasks import PAIRED

    pairs = PAIRED if given.source == "open" else tuple(SOURCES)
    names = pairs if chosen and chosen.pairs else ()
    data = DataConfig(given.source, given.papers, given.data_seed, names, "", given.cap, given.max_length)
    tokens, tasks = read(data, of, ROOM, split)
    return tokens, of_variant(chosen, tasks) if chosen else tasks


def of_variant(chosen: Variant, tasks: Sequence[TrainTask]) -> list[TrainTask]:
    """Return those of the tasks that a variant trains on, as it reads them. Raises ConfigError where there is none.

    SciMult's read queries and candidates alike (3.2), and labels without hard negatives where the variant has none.
    """
    codes = {name.rpartition("/")[2]: code for name, code in chosen.codes.items()}
    found = []
    for task in tasks:
        sets = OPEN_LIKE.get(task.name, (task.name.rpartition("/")[2],))
        own = next((name for name in sets if any(name == one.rpartition("/")[2] for one in chosen.tasks)), None)
        if own is not None:
            if code := task.query_format if chosen.pairs else codes.get(own):
                task = replace(task, format=code, query_format=code)
            if not chosen.hard and task.format == "CLF":
                task = replace(task, rows=np.where([True, True, False], task.rows, -1))
            found.append(task)
    if not found:
        raise ConfigError(f"{chosen.text}: none of its training sets is there")
    return found


def spread(tasks: Sequence[TrainTask], most: int) -> list[TrainTask]:
    """Return at most so many rows of each task, evenly over it: corpora follow each other there."""
    found = []
    for task in tasks:
        places = np.linspace(0, len(task) - 1, min(len(task), most)).astype(int)
        targets = None if task.targets is None else task.targets[places]
        found.append(replace(task, rows=task.rows[places], targets=targets))
    return found


# ---- on the disk -----------------------------------------------------------------------------------------------------

IDS, STARTS, TASKS = "ids.int32", "starts.npy", "tasks.json"
"""Token ids of all documents, one after another, and where each begins; names, routes, kinds and classes of the tasks. Beside
them lie <i>.rows.npy and <i>.targets.npy of task i. tasks.json is the last to be written; of what is there."""


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
    about = [[task.name, task.format, task.query_format, task.kind, list(task.classes)] for task in tasks]
    write_json(folder / TASKS, about)


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
