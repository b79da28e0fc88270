"""A folder that `model_store.py` wrote, as an encoder; and an encoder held to one task format whatever is asked.

    load_encoder("models/mtl_ctrl")        each format's vectors for tasks of that format
    load_encoder("models/mtl_ctrl#PRX")    PRX's vectors for every task: SciRepEval's cross-format tables (section 7)

Weights are read, and checked against their checksums, at the first text that is not in the vector store.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.text import Recipe
from scirep_core.encoders import Encoder, check_format
from scirep_core.encoders.models import model_folder
from scirep_core.encoders.models.model_store import Described, describe, load_model
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.store import stable_hash

if TYPE_CHECKING:
    from scirep_core.encoders.settings import Settings
    from scirep_core.encoders.trunk_encoder import TrunkEncoder


def saved_encoder(name: str, folder: Path, settings: Settings) -> TrunkEncoder:
    """Return the encoder of a saved folder. Raises ConfigError, DataError for one that is damaged or asked for too much."""
    from scirep_core.encoders.conditioning.experts import TASKS
    from scirep_core.encoders.trunk_encoder import About, TrunkEncoder

    told = describe(folder)
    length = model_folder.length_of(name, settings.max_length, told.max_length, model_folder.positions(folder))
    key: list[Any] = [told.fingerprint, length, settings.dtype, *settings.rounding()]
    about = About(
        stable_hash(key)[:16], model_folder.width(folder), told.recipe, length, formats_of(told), told.normalised,
        by_format=told.kind != "plain", shared_pass=_kind(told).shared_pass, by_task=set(told.routes) <= set(TASKS),
    )  # fmt: skip

    def load() -> Any:
        saved = load_model(folder)
        return saved.model, saved.tokens

    return TrunkEncoder(name, load, about, settings)


def formats_of(told: Described) -> tuple[Format, ...]:
    """Return the task formats that a model has a route for."""

    def has(format: Format) -> bool:
        try:  # the rule is its class's own: SciMult's tasks stand for formats
            _kind(told).route(SimpleNamespace(kind=told.kind, routes=told.routes), format)
        except ConfigError:
            return False
        return True

    return tuple(format for format in FORMATS if has(format))


def _kind(told: Described) -> Any:
    from scirep_core.encoders.conditioning.base import CONDITIONINGS

    way = CONDITIONINGS[told.kind]
    return getattr(importlib.import_module(f"scirep_core.encoders.conditioning.{way.module}"), way.name)


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

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.encoder.dim

    @property
    def recipe(self) -> Recipe:
        """How papers and bare queries become texts: the encoder's."""
        return self.encoder.recipe

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors under the format held to, whatever `format` is."""
        check_format(format)
        return self.encoder.encode(texts, self.format)
