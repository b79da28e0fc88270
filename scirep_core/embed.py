"""Texts to vectors, once: a resumable store of checked shards.

The vectors of a text depend on the encoder (its fingerprint), the task format and the text, so these three are the
key, and chapters that encode the same texts share the work. A call's distinct texts are sorted and cut into shards of
fixed size; each is computed, checksummed and renamed into place before the next begins, so a killed run loses at most
one shard and its successor gets the same bytes. Files: `$SCIREP_HOME/vectors/<fingerprint>/<format>/<hash>.shard`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from scirep_core.encoders import Encoder, check_format
from scirep_core.errors import CacheError, NumericError
from scirep_core.formats import Format
from scirep_core.store import home, read_shard, stable_hash, write_shard

SHARD = 2048
Progress = Callable[[int, int], None]
"""Called with (texts done, texts in all) after every shard that had to be computed."""


def embed(
    encoder: Encoder, texts: Sequence[str], format: Format, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Return (n, dim) float32 vectors of `texts`, from the store where they are there.

    Raises CacheError if a stored shard is damaged beyond use, NumericError if the encoder returns NaN.
    """
    check_format(format)
    distinct = sorted(set(texts))
    if not distinct:
        return np.empty((0, 0), dtype=np.float32)
    folder = home() / "vectors" / encoder.fingerprint / format
    parts = []
    for start in range(0, len(distinct), SHARD):
        chunk = distinct[start : start + SHARD]
        path = folder / f"{stable_hash(chunk)}.shard"
        vectors = None
        if path.is_file():
            try:
                vectors, _ = read_shard(path)
            except CacheError:
                path.unlink()  # damaged: compute again rather than trust it
        if vectors is None:
            vectors = encoder.encode(chunk, format)
            if vectors.shape[0] != len(chunk) or not np.isfinite(vectors).all():
                raise NumericError(
                    f"{encoder.name}: encode returned NaN or {vectors.shape[0]} rows for {len(chunk)} texts"
                )
            write_shard(path, vectors, {"encoder": encoder.name, "format": format, "texts": len(chunk)})
            if progress:
                progress(start + len(chunk), len(distinct))
        parts.append(vectors)
    row = {text: i for i, text in enumerate(distinct)}
    return np.concatenate(parts)[[row[text] for text in texts]]


def encode(encoder: Encoder, texts: Sequence[str], format: Format) -> NDArray[np.float32]:
    """Return (n, dim) float32 vectors of texts under a task format, through the vector store."""
    return embed(encoder, list(texts), format)
