"""A folder of vectors in checksummed shards that any number of processes fill together; its locks are its own.

    NAME.shard      an array of vectors, and a header that says what they are of; under this name only when whole
    NAME.claim      locked by the process that computes NAME, free when it dies (kit/store.py); it may say what is computed

Whatever was killed, a shard that is there is whole; a bit that flipped since is noticed before use, and the shard removed.
Both stores are such folders: the one of texts (`embed.py`) and those of corpora (`folder.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import CacheError
from scirep_core.kit.store import held, living, read_header, read_shard, settle, write_shard, writing

log = logging.getLogger("scirep")


class Shards(NamedTuple):
    """A folder and its mark: what the header of every shard says of the folder that it belongs to."""

    folder: Path
    mark: Mapping[str, Any]

    def path(self, name: str) -> Path:
        """Return the file of a shard."""
        return self.folder / f"{name}.shard"

    def names(self) -> list[str]:
        """Return the names of the shards that are there."""
        return sorted(path.stem for path in self.folder.glob("*.shard"))

    def read(
        self, name: str, wanted: Callable[[Mapping[str, Any]], bool]
    ) -> tuple[Mapping[str, Any], NDArray[np.float32] | None]:
        """Return a shard's header and, where its header is `wanted`, its (n, dim) vectors; else its length alone is checked.

        One that is damaged, or of another folder, is removed with a line that says so: ({}, None), as where none is there.
        """
        path = self.path(name)
        try:
            meta = read_header(path).meta
            if any(meta.get(key) != value for key, value in self.mark.items()):
                raise CacheError(f"{path}: belongs to another folder")
            return meta, read_shard(path)[0] if wanted(meta) else None
        except FileNotFoundError:
            return {}, None
        except CacheError as error:
            log.warning("%s. It is removed; what is needed of it is computed again", error.reason)
            with writing(path):
                path.unlink(missing_ok=True)
            return {}, None

    def write(self, name: str, vectors: NDArray[np.float32], more: Mapping[str, Any]) -> None:
        """Write a shard; `more` stands in its header beside the mark."""
        write_shard(self.path(name), vectors, {**self.mark, **more})

    def claim(self, name: str, wait: bool = True, note: str = "") -> AbstractContextManager[bool]:
        """Claim a shard; gives False where somebody else has, and `wait` is not asked. `note` (ASCII) tells others more."""
        return held(self.folder / f"{name}.claim", wait, note)

    def planning(self) -> AbstractContextManager[bool]:
        """Hold the folder's one lock, under which shards are chosen and claimed; it is never held while computing."""
        return held(self.folder / "plan.lock")

    def notes(self) -> list[str]:
        """Return the notes of the claims that living processes hold; whatever dead ones left is removed."""
        found = []
        for path in living(self.folder):
            with suppress(FileNotFoundError):  # its holder has just finished, and the shard is there
                found.append(path.read_text(encoding="ascii"))
        settle(self.folder)
        return found
