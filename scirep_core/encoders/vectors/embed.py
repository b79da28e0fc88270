"""Texts to vectors, once: a store keyed by text that any number of processes fill together.

A vector depends on the encoder (its fingerprint: weights, tokenizer, recipe, pooling, length, dtype), the task format
and the text, so these three are its key, and everything that encodes the same text shares the work:

    $SCIREP_HOME/vectors/<fingerprint>/<format>/<hash>.shard     vectors; the header lists the hashes of their texts

An encoder that says `by_format = False` reads what it computed for one format for the others too; of one that says
`shared_pass = True`, a forward pass gives all formats' vectors, and all are kept; one held to a format (NAME#PRX) is asked
for that format, in the store of the encoder it holds.

The index is the union of the headers. A call reads the vectors that are there, sorts the texts that are missing,
longest first, and computes them in groups of `SHARD`; each group is renamed into place before the next begins (`shards.py`).
A killed run therefore loses at most one group, and its successor cuts the rest exactly as it would have: the same files, and
on one kind of machine the same bytes. Before computing, a process claims its group: a locked file that lists the texts, so
that nobody computes a text that somebody is computing. Shards are never merged.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.encoders import Encoder, check_format
from scirep_core.encoders.ensemble import Held
from scirep_core.encoders.vectors.shards import Shards
from scirep_core.kit.errors import ConfigError, NumericError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.records import grouped
from scirep_core.kit.store import home, stable_hash

SHARD = 512
POLL = 0.05
"""Seconds between two looks at what other processes have finished."""
Progress = Callable[[int, int], None]
"""Called with (texts done, texts in all) after every group that had to be computed."""


def readable(text: str) -> str:
    """Return a text as encoders get it: a lone surrogate, half a character that no tokenizer takes, becomes U+FFFD.

    Everything else stays, NUL included.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def text_hash(text: str) -> str:
    """Return the name of a text in the store: 128 bits of its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def folder_of(encoder: Encoder, format: Format) -> Path:
    """Return the folder with an encoder's vectors under a task format."""
    return home() / "vectors" / encoder.fingerprint / format


def _shards(encoder: Encoder, format: Format) -> Shards:
    return Shards(folder_of(encoder, format), {"fingerprint": encoder.fingerprint, "format": format})


def embed(
    encoder: Encoder, texts: Sequence[str], format: Format, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Return (n, dim) float32 vectors of `texts`, from the store where they are there.

    Beside the result, memory holds one group and the hashes of the texts. Raises NumericError naming the text if the
    encoder returns NaN, CacheError if the store cannot be written.
    """
    check_format(format)
    if isinstance(encoder, Held):
        return embed(encoder.encoder, texts, encoder.format, progress)
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise ConfigError("texts must be a list of strings; wrap a single text in a list")
    if len(texts) == 0:
        return np.empty((0, encoder.dim), dtype=np.float32)
    rows = grouped(range(len(texts)), lambda row: text_hash(readable(texts[row])))
    missing = {name: readable(texts[places[0]]) for name, places in rows.items()}
    result: NDArray[np.float32] | None = None
    for names, vectors in _obtain(encoder, missing, format, progress):
        if result is None:
            result = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
        for name, vector in zip(names, vectors, strict=True):
            result[rows[name]] = vector
    assert result is not None
    return result


def encode(encoder: Encoder, texts: Sequence[str], format: Format) -> NDArray[np.float32]:
    """Return (n, dim) float32 vectors of texts under a task format, through the vector store."""
    return embed(encoder, texts, format)


def _obtain(
    encoder: Encoder, missing: dict[str, str], format: Format, progress: Progress | None
) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """Yield (hashes, vectors) until `missing` is empty: first what is stored, then group by group."""
    shards, total, seen = _shards(encoder, format), len(missing), set[str]()
    filled = [_shards(encoder, one) for one in encoder.formats] if _shares(encoder) else [shards]
    yield from _stored(shards, missing, seen)
    for other in () if getattr(encoder, "by_format", True) else FORMATS:
        yield from _stored(_shards(encoder, other), missing, set())
    waiting = sorted(missing, key=lambda name: (-len(missing[name]), missing[name]))[::-1]  # the next ones last
    while missing:
        with ExitStack() as claim:
            with filled[0].planning():  # where the work is shared out
                # claims before looking at what is stored: a claim goes when its shard is there
                claimed = {name for place in filled for note in place.notes() for name in json.loads(note)}
                arrived = list(_stored(shards, missing, seen))
                while waiting and waiting[-1] not in missing:
                    waiting.pop()
                group = list(islice((n for n in reversed(waiting) if n in missing and n not in claimed), SHARD))
                shard = stable_hash(group)
                if group:
                    claim.enter_context(filled[0].claim(shard, note=json.dumps(group)))
            yield from arrived
            if group:
                found = _vectors(encoder, [missing[name] for name in group], format)
                for one, vectors in found.items():  # what was asked for comes last: where it is, the others are
                    _shards(encoder, one).write(shard, vectors, {"encoder": encoder.name, "texts": group})
        if not group:
            if missing:
                time.sleep(POLL)
            continue
        seen.add(shard)
        for name in group:
            del missing[name]
        if progress:
            progress(total - len(missing), total)
        yield group, vectors


def compute(encoder: Encoder, texts: list[str], format: Format) -> NDArray[np.float32]:
    """Return (n, dim) float32 vectors past the store, checked. Raises NumericError naming a text without a proper one."""
    return _checked(encoder, texts, encoder.encode(texts, format))


def _shares(encoder: Encoder) -> bool:
    return bool(getattr(encoder, "shared_pass", False))


def _vectors(encoder: Encoder, texts: list[str], format: Format) -> dict[Format, NDArray[np.float32]]:
    """Return the vectors, checked, of the format that is asked for, and before it those that came with them."""
    if not _shares(encoder):
        return {format: compute(encoder, texts, format)}
    found: dict[Format, Any] = encoder.encode_formats(texts)  # type: ignore[attr-defined]
    return {one: _checked(encoder, texts, found[one]) for one in sorted(found, key=lambda one: (one == format, one))}


def _checked(encoder: Encoder, texts: list[str], given: Any) -> NDArray[np.float32]:
    vectors = np.asarray(given, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise NumericError(f"{encoder.name}: encode returned shape {vectors.shape} for {len(texts)} texts")
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise NumericError(
            f"{encoder.name}: the vector of text {texts[bad[0]][:60]!r} holds NaN or infinity ({len(bad)} of "
            f"{len(texts)} texts); none of them was stored. Check the model's weights"
        )
    return vectors


def _stored(shards: Shards, missing: dict[str, str], seen: set[str]) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """Yield (hashes, vectors) of what is wanted in shards not `seen` before, and take it from `missing`."""
    for shard in [shard for shard in shards.names() if shard not in seen] if missing else ():
        meta, vectors = shards.read(shard, lambda meta: not missing.keys().isdisjoint(meta.get("texts", ())))
        if vectors is not None:
            rows = [i for i, name in enumerate(meta["texts"]) if name in missing]
            names = [meta["texts"][i] for i in rows]
            for name in names:
                del missing[name]
            yield names, vectors if len(rows) == len(vectors) else vectors[rows]
        if meta:
            seen.add(shard)
