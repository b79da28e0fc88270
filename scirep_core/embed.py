"""Texts to vectors, once: a resumable store of checked shards that any number of processes fill together.

The vectors of a text depend on the encoder (its fingerprint), the task format and the text, so these three are the
key, and chapters that encode the same texts share the work. A call's distinct texts are sorted and cut into shards of
fixed size; each is computed, checksummed and renamed into place before the next begins, so a killed run loses at most
one shard and its successor gets the same bytes. A process that finds a shard in another's hands goes on with the next
one and comes back. Files: `$SCIREP_HOME/vectors/<fingerprint>/<format>/<hash>.shard`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from scirep_core.encoders import Encoder, check_format
from scirep_core.errors import CacheError, ConfigError, NumericError
from scirep_core.formats import Format
from scirep_core.store import home, read_shard, stable_hash, write_shard

SHARD = 512
Progress = Callable[[int, int], None]
"""Called with (texts done, texts in all) after every shard that had to be computed."""


def embed(
    encoder: Encoder, texts: Sequence[str], format: Format, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Return (n, dim) float32 vectors of `texts`, from the store where they are there.

    Raises NumericError if the encoder returns NaN, CacheError if the store cannot be written. A damaged shard is
    computed again rather than trusted.
    """
    check_format(format)
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise ConfigError("texts must be a list of strings; wrap a single text in a list")
    distinct = sorted(set(texts))
    if not distinct:
        return np.empty((0, encoder.dim), dtype=np.float32)
    folder = home() / "vectors" / encoder.fingerprint / format
    chunks = [distinct[start : start + SHARD] for start in range(0, len(distinct), SHARD)]
    found: dict[int, NDArray[np.float32]] = {}
    waiting = deque(enumerate(chunks))
    passed = 0  # shards in a row that another process holds: after a whole round of them, wait for one
    while waiting:
        number, chunk = waiting.popleft()
        path = folder / f"{stable_hash(chunk)}.shard"
        vectors = _stored(path)
        if vectors is None:
            try:
                vectors = _compute(encoder, chunk, format, path, wait=passed > len(waiting))
            except Timeout:
                waiting.append((number, chunk))
                passed += 1
                continue
            if progress:
                progress(sum(map(len, found.values())) + len(chunk), len(distinct))
        found[number] = vectors
        passed = 0
    row = {text: i for i, text in enumerate(distinct)}
    return np.concatenate([found[i] for i in range(len(chunks))])[[row[text] for text in texts]]


def _stored(path: Path) -> NDArray[np.float32] | None:
    if not path.is_file():
        return None
    try:
        return read_shard(path)[0]
    except CacheError:
        path.unlink(missing_ok=True)
        return None


def _compute(encoder: Encoder, chunk: list[str], format: Format, path: Path, wait: bool) -> NDArray[np.float32]:
    """Compute one shard under its lock; raises Timeout when another process holds it and `wait` is false."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_suffix(".lock"), timeout=-1 if wait else 0)
        lock.acquire()
    except OSError as error:
        if isinstance(error, Timeout):
            raise
        raise CacheError(
            f"{path}: cannot write ({error.strerror}). Free space, or point SCIREP_HOME elsewhere"
        ) from error
    try:
        vectors = _stored(path)  # its holder may just have finished
        if vectors is None:
            vectors = encoder.encode(chunk, format)
            if vectors.shape[0] != len(chunk) or not np.isfinite(vectors).all():
                raise NumericError(
                    f"{encoder.name}: encode returned NaN, or {vectors.shape[0]} rows for {len(chunk)} texts"
                )
            write_shard(path, vectors, {"encoder": encoder.name, "format": format, "texts": len(chunk)})
        return vectors
    finally:
        lock.release()
        path.with_suffix(".lock").unlink(missing_ok=True)


def encode(encoder: Encoder, texts: Sequence[str], format: Format) -> NDArray[np.float32]:
    """Return (n, dim) float32 vectors of texts under a task format, through the vector store."""
    return embed(encoder, texts, format)
