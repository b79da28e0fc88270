"""Of every encoder that has weights: what a caller may set, where it runs, what token ids it takes, how it is fed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import ConfigError, NumericError

DTYPES = ("float32", "tf32", "bfloat16", "float16")


class Settings(NamedTuple):
    """What a caller may set beside the model, as `load_encoder` says it."""

    dtype: str = "float32"
    max_length: int | None = None
    device: str | None = None
    compiled: bool = False

    def rounding(self) -> list[str]:
        """Return what decides a vector's last digits beside the number type, for fingerprints: in float32 nothing."""
        if self.dtype == "float32":
            return []
        kind = pick_device(self.device).partition(":")[0]
        return [kind, "compiled"] if self.compiled and kind != "cpu" else [kind]


def checked(input_ids: Any, attention_mask: Any, words: int, most: int) -> tuple[Any, Any]:
    """Return token ids and which of them are tokens, (n, length) tensors of integers and of booleans.

    Args:
        attention_mask: 1 for a token, 0 for padding; all ones where None.
        words: ids are 0 to words - 1.
        most: tokens that a row may have, padding included.

    Raises ConfigError for another shape, a row without a token, too long a row, and an id that the model does not know.
    """
    import torch

    ids = torch.as_tensor(input_ids)
    seen = torch.ones_like(ids) if attention_mask is None else torch.as_tensor(attention_mask)
    if ids.ndim != 2 or not ids.numel() or seen.shape != ids.shape or ids.is_floating_point():
        raise ConfigError(
            f"input_ids {tuple(ids.shape)} of {ids.dtype}, attention_mask {tuple(seen.shape)}: both are tables "
            "(documents, tokens) of one shape, of integers"
        )
    if not (seen := seen.bool()).any(1).all():
        raise ConfigError("attention_mask: every document needs a token")
    if ids.shape[1] > most:
        raise ConfigError(f"input_ids: rows of {ids.shape[1]} tokens, and there is room for {most}. Cut them")
    wrong = ids[seen & ((ids < 0) | (ids >= words))]
    if len(wrong):
        raise ConfigError(f"input_ids: the model has no token {int(wrong[0])}; its ids are 0 to {words - 1}")
    return ids, seen


def finished(name: str, vectors: NDArray[np.float32], texts: Sequence[str], normalised: bool) -> NDArray[np.float32]:
    """Return an encoder's (n, ..., dim) vectors, scaled in place to length 1 where it is `normalised`.

    Raises NumericError naming the text whose vector is not finite.
    """
    if normalised:
        vectors /= np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    finite = np.isfinite(vectors).all(axis=tuple(range(1, vectors.ndim)))
    if not finite.all():
        raise NumericError(f"{name}: the vector of text {texts[int(np.argmin(finite))][:60]!r} is not finite")
    return vectors


def pick_device(wanted: str | None = None) -> str:
    """Return `wanted`, else SCIREP_DEVICE, else cuda where torch sees a GPU, else cpu. ConfigError for one not there."""
    import torch

    name = wanted or os.environ.get("SCIREP_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"unknown device {name!r}. Set SCIREP_DEVICE to cpu, cuda or cuda:N") from None
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    beyond = device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count()
    if beyond or not there.get(device.type, False):
        raise ConfigError(f"device {name!r} was asked for, but torch sees none. Set SCIREP_DEVICE=cpu, or unset it")
    return name


def token_batches(lengths: Sequence[int], budget: int, padded: bool = False) -> Iterator[list[int]]:
    """Yield places of texts, longest first, in batches of at most `budget` tokens (at least one text each).

    Args:
        lengths: tokens of each text.
        padded: whether a batch costs its longest text for each of its texts, as where rows are filled up.
    """
    batch: list[int] = []
    total = 0
    for i in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        size = (len(batch) + 1) * lengths[batch[0]] if padded and batch else total + lengths[i]
        if batch and size > budget:
            yield batch
            batch, total = [], 0
        batch.append(i)
        total += lengths[i]
    if batch:
        yield batch
