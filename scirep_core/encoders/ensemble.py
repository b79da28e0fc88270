"""Encoders made of encoders: several as one (SciRepEval v1, section 6: ensembles), and one held to a format (section 7).

    a+b        v = (v_1 + ... + v_k) / k     the mean, as the published code takes it: nothing is scaled first
    a++b       v = [v_1 ; ... ; v_k]         the concatenation
    NAME#PRX   PRX's vectors for every task: SciRepEval's cross-format tables

Members keep their own text recipes, so whoever turns papers into texts does it member by member (`evaluators/inputs.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.text import Recipe
from scirep_core.encoders import Encoder, check_format, said_by
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.store import stable_hash


class Ensemble:
    """Encoders whose vectors are averaged or concatenated; `how` is `mean` or `concatenation`."""

    def __init__(self, name: str, members: tuple[Encoder, ...], how: str) -> None:
        """Join members; nothing is read yet."""
        self.name, self.members, self.how = name, members, how

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the members' fingerprints, in their order, and of how they are joined."""
        return stable_hash([self.how, [member.fingerprint for member in self.members]])[:16]

    @cached_property
    def dim(self) -> int:
        """Length of a vector. Raises ConfigError for a mean of vectors of different length."""
        widths = [member.dim for member in self.members]
        if self.how == "concatenation":
            return sum(widths)
        if len(set(widths)) > 1:
            sizes = ", ".join(f"{member.name} {size}" for member, size in zip(self.members, widths, strict=True))
            raise ConfigError(f"{self.name}: vectors of different length cannot be averaged ({sizes}). Use ++")
        return widths[0]

    @property
    def formats(self) -> tuple[Format, ...]:
        """Task formats that every member was made for."""
        return tuple(format for format in FORMATS if all(format in member.formats for member in self.members))

    @property
    def recipe(self) -> Recipe:
        """The members' text recipe. Raises ConfigError where they differ: then texts are made member by member."""
        recipes = {member.recipe for member in self.members}
        if len(recipes) > 1:
            raise ConfigError(f"{self.name}: members read different texts; encode with each, or use `scirep score`")
        return recipes.pop()

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors of texts that every member can read. Raises ConfigError where recipes differ."""
        check_format(format)
        _ = self.recipe, self.dim
        return self.combine([member.encode(texts, format) for member in self.members])

    def combine(self, vectors: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        """Return the ensemble's (..., dim) float32 vectors from those of its members, in their order."""
        if self.how == "concatenation":
            return np.concatenate([np.asarray(part, dtype=np.float32) for part in vectors], axis=-1)
        total = sum(np.asarray(part, dtype=np.float64) for part in vectors)
        return np.asarray(total / len(vectors), dtype=np.float32)


def members(encoder: Encoder) -> list[Encoder]:
    """Return the encoders that an ensemble is made of, at any depth; of another, itself."""
    if not isinstance(encoder, Ensemble):
        return [encoder]
    return [one for member in encoder.members for one in members(member)]


class Held:
    """An encoder whose vectors under one task format serve every task; they are kept in the encoder's own store."""

    by_format = False
    formats: tuple[Format, ...] = FORMATS

    def __init__(self, name: str, encoder: Encoder, format: Format) -> None:
        """Hold an encoder to a format. Raises ConfigError where it has none such."""
        if format not in encoder.formats:
            raise ConfigError(f"{name}: {encoder.name} has no {format}; it has {', '.join(encoder.formats)}")
        self.name, self.encoder, self.format = name, encoder, format

    @property
    def fingerprint(self) -> str:
        """Hash of the encoder's fingerprint and the format."""
        return stable_hash([self.encoder.fingerprint, "held to", self.format])[:16]

    dim = said_by("encoder", "dim", "Length of a vector.")
    recipe = said_by("encoder", "recipe", "How papers and bare queries become texts: the encoder's.")

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors under the format held to, whatever `format` is."""
        check_format(format)
        return self.encoder.encode(texts, self.format)
