"""What a training reads, by name of its source: the one way from a file's section `data`, or from a variant, to token ids.

    embedded, real, a folder    SciRepEval's eight training sets, or SciMult's five sources of pairs
    samples                     a few hundred real papers
    open                        the open literature's eight, or its four of pairs
    tasks_config                what a published tasks_config.json names, from any of them

Texts are tokenised once for all trainings and processes that read the same (`training/data/mapped.py`), in SCIREP_HOME/tokens.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scirep_core.data.inventory import TRAINING
from scirep_core.data.text import Recipe
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.store import home, sha256_array, stable_hash
from scirep_core.results import code_of
from scirep_core.training.config import DataConfig
from scirep_core.training.data import Reading
from scirep_core.training.data.pairs import SOURCES, pair_tasks
from scirep_core.training.variants import DATA_SOURCES, Budget, Variant

if TYPE_CHECKING:
    from scirep_core.encoders.trunk.tokens import Tokens
    from scirep_core.training.data import TrainTask

CODE = (
    "training/sets.py", "training/batching.py", "training/data", "encoders/trunk/tokens.py", "data/*.py", "data/readers",
    "data/open", "kit/formats.py", "kit/records.py",
)  # fmt: skip
"""What makes token ids of files: tokens that are kept are of this code."""
ROOM = 4
"""Tokens a conditioning adds at most."""
Make = Callable[[Path], list["TrainTask"]]


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

    Raises ConfigError for an unknown source or set, sets of two papers, a dev part where there is none.
    """
    from scirep_core.encoders.trunk.tokens import read_tokens
    from scirep_core.training.data.mapped import mapped
    from scirep_core.training.data.samples import TRAINED, sample_tasks

    if data.source not in DATA_SOURCES and not Path(data.source).expanduser().is_dir():
        raise ConfigError(
            f"data.source = {data.source!r}: {nearest(data.source, DATA_SOURCES)}, or a folder of training collections"
        )
    tokens = read_tokens(of.folder)
    reading = Reading(of.recipe, data.max_length - room, data.titles_only, seed=data.seed)
    if any(name in SOURCES for name in data.tasks) and not _collections(data):
        raise ConfigError(f"{data.tasks[0]}: SciMult's training pairs are embedded ones, or your own by `scirep train`")
    if data.source == "samples" and not data.tasks_config:
        if split != "train":
            raise ConfigError("the real samples have no part to validate on. Set train.validate_every = 0")
        return tokens, sample_tasks(tokens, data.tasks or TRAINED, reading, cap=data.cap or None)
    stamp, make = _source(data, tokens, split, reading)
    code = code_of(CODE)
    key = stable_hash([stamp, of.fingerprint, list(of.recipe), data.cap, reading.max_length, data.seed, data.titles_only,
                       split, list(data.tasks), code])  # fmt: skip
    return tokens, mapped(home() / "tokens" / key[:16], make)


def _collections(data: DataConfig) -> bool:
    return data.source not in DATA_SOURCES or DATA_SOURCES[data.source].collections  # a folder is one of collections


def _source(data: DataConfig, tokens: Tokens, split: str, reading: Reading) -> tuple[Any, Make]:
    """Return what tells a source's rows from others, and what reads them."""
    from scirep_core.data import load_task
    from scirep_core.data.open.tasks import TRAINED
    from scirep_core.data.sources import root_of
    from scirep_core.training.data import train_tasks
    from scirep_core.training.data.opened import open_tasks
    from scirep_core.training.data.published import published_tasks, read_tasks_config

    def root(name: str) -> Path:
        if not _collections(data):
            raise ConfigError(
                f"{data.tasks_config}: names {name}, which is not of {data.source}. Set data.source otherwise"
            )
        return root_of(name, data.source, data.papers, data.seed)

    how: dict[str, Any] = {"reading": reading, "split": split, "cap": data.cap or None}
    if data.tasks_config:
        path = Path(data.tasks_config).expanduser()
        named = read_tasks_config(path)
        folders = {root(task.set) / "scirepeval" for task in named if task.set}
        files = [file for task in named for file in (*task.files.values(), task.labels) if file]
        return [_stamp(path, *files, *sorted(folders))], lambda file: published_tasks(
            path, tokens, root, file=file, **how
        )
    if data.source == "open":
        names = [name if "/" in name else f"open/{name}" for name in data.tasks] or list(TRAINED)
        known = [load_task(name).data_hash for name in names]
        return known, lambda file: open_tasks(tokens, names, file=file, **how)
    names = [name if "/" in name else f"scirepeval/{name}" for name in data.tasks] or list(TRAINING)
    if pairs := [name for name in names if name in SOURCES]:
        if others := [name for name in names if name not in SOURCES]:
            raise ConfigError(
                f"data.tasks: {pairs[0]} is of SciMult and {others[0]} is not. Train on one paper's sets at a time"
            )
        where = root(names[0])
        return _stamp(where / "scimult" / "pretraining"), lambda file: pair_tasks(
            names, where, tokens, file=file, **how
        )
    where = root(TRAINING[0])
    return _stamp(where / "scirepeval"), lambda file: train_tasks(names, where, tokens, file=file, **how)


def _stamp(*places: Path) -> str:
    """Return what tells files, and those of folders, from others: names, sizes and times; their bytes may be many gigabytes."""
    files = sorted(
        file for place in places for file in ([place] if place.is_file() else place.rglob("*")) if file.is_file()
    )
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


def hash_of(tasks: Sequence[TrainTask]) -> str:
    """Return a content hash of training tasks: names, routes, tokens, rows and targets."""
    contents: list[Any] = [[sha256_array(part) for part in task.documents] for task in tasks[:1]]
    for task in tasks:
        arrays = [task.rows] if task.targets is None else [task.rows, task.targets]
        contents.append([task.name, task.format, task.query_format, task.kind, [sha256_array(a) for a in arrays]])
    return stable_hash(contents)[:16]
