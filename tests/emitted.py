"""Embedded collections as they are written: a literature, its files, the tasks read from them, where each paper stands."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import small_published

from scirep_core.data.literature import Literature
from scirep_core.data.literature.emit import split, write_collection
from scirep_core.data.literature.lexicon import Choice, Tree


class Emitted:
    def __init__(self, root: Path, literature: Literature, *collections: str) -> None:
        for name in collections:
            write_collection(root, name, literature)
        self.root, self.literature, self.latents, self.people = root, literature, literature.latents, literature.people
        self.part = split.held_out(literature)
        self.place = {literature.paper_id(i): i for i in range(len(literature))}
        self.task = functools.cache(self._task)

    def _task(self, name: str) -> Any:
        return small_published.read(name, self.root)

    def rows(self, config: str, part: str = "evaluation", collection: str = "scirepeval") -> list[dict[str, Any]]:
        return pq.read_table(split.table(self.root, collection, config, part)).to_pylist()

    def labels(self, config: str, part: str) -> tuple[list[str], np.ndarray]:
        found = self.rows(config, part, "scirepeval_test")
        return [row["paper_id"] for row in found], np.array([row["label"] for row in found])

    def labelled(self, config: str, *parts: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions and labels of the papers of one or more parts."""
        ids, values = zip(*(self.labels(config, part) for part in parts), strict=True)
        return np.array([self.place[i] for one in ids for i in one]), np.concatenate(values)


def spellings(tree: Tree) -> list[str]:
    """Return every spelling of a tree without slots."""
    parts = [[s for option in part.options for s in spellings(option)] if isinstance(part, Choice) else [str(part)]
             for part in tree]  # fmt: skip
    return ["".join(words) for words in itertools.product(*parts)]
