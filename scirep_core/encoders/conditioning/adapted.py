"""One model with an adapter per task format: SPECTER2 (SciRepEval, section 5), or any folder of that kind.

The vector of a text under format f is that of the base model with the adapter of f, and of f alone, in every layer:

    h <- norm(h + feed(h) + up_f(relu(down_f(norm(h + feed(h))))))          bottleneck.py

Where the base is a BERT the trunk computes this; for other models and other kinds of bottleneck the `adapters` library does
(adapted_by_library.py), with the same vectors to 1e-5. What is mixed up, or does nothing, is refused on both roads:

    loading    an adapter's configuration names this width, this kind of model, and no other format; every tensor of its
               file, and nothing else, is in the model; on a probe text it changes the base model's vector, and no two
               formats give the same one
    running    while it runs every layer's adapter of this format is called, and none of another format (counted by hooks)

A folder of one's own is what the library itself writes (`model.save_pretrained(FOLDER)`, `model.save_all_adapters(FOLDER)`):
the base model, and a subfolder per format (adapter_folder.py says how it is named). Formats without one are refused when
they are asked for. The hub's repositories side by side in one folder (specter2_base, specter2, specter2_classification, ...)
are such a folder too. Pickled weights, all that SPECTER2's hub pages carry, are read weights-only and only with
SCIREP_ALLOW_BIN=1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.text import Recipe
from scirep_core.encoders import check_format
from scirep_core.encoders.conditioning.adapter_folder import BIN, CONFIG, SAFE, check_config, weights_of
from scirep_core.encoders.hub import TransformersEncoder
from scirep_core.encoders.models.model_folder import allow_bin, find
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.store import sha256_file, stable_hash

if TYPE_CHECKING:
    from scirep_core.encoders.conditioning.adapted_by_library import ByLibrary

PROBE = "Do adapters change what a model says of a paper?"


class AdaptedEncoder:
    """A base model and its adapters, one per task format; weights load at the first encode."""

    def __init__(self, base: TransformersEncoder, adapters: Mapping[Format, str]) -> None:
        """Name base and adapters (format -> folder or hub name); nothing is read yet."""
        self.base, self.name = base, base.name
        self.formats: tuple[Format, ...] = tuple(format for format in FORMATS if format in adapters)
        self.adapters = {format: adapters[format] for format in self.formats}

    @property
    def recipe(self) -> Recipe:
        """How papers become text: the base model's."""
        return self.base.recipe

    @property
    def dim(self) -> int:
        """Length of a vector: the base model's hidden size."""
        return self.base.dim

    @property
    def device(self) -> str:
        """Where the model runs."""
        return self.base.device

    @cached_property
    def folders(self) -> dict[Format, Path]:
        """Local folder of each format's adapter. Raises ConfigError where one cannot be had or does not fit the base."""
        patterns = [CONFIG, SAFE, *([BIN] if allow_bin() else [])]
        folders = {format: find(model, patterns) for format, model in self.adapters.items()}
        for format, folder in folders.items():
            check_config(folder, format, self.base.folder, self.adapters[format])
        return folders

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the base model's fingerprint and of each format's adapter, configuration and weights."""
        files = {
            format: [sha256_file(folder / CONFIG), sha256_file(weights_of(folder))]
            for format, folder in self.folders.items()
        }
        weights = [weights for _, weights in files.values()]
        if len(set(weights)) < len(weights):
            raise ConfigError(f"{self.name}: two task formats have the same adapter weights: {files}")
        return stable_hash([self.base.fingerprint, files])[:16]

    @cached_property
    def _loaded(self) -> OnTrunk | ByLibrary:
        _ = self.fingerprint, self.device  # refuses wrong or pickled weights, and a missing device, before any work
        from scirep_core.encoders.conditioning.adapter_weights import alike

        made: OnTrunk | ByLibrary
        if self.base.on_trunk and alike(self.folders):
            made = OnTrunk(self.base, self.folders, self.fingerprint)
        else:
            from scirep_core.encoders.conditioning.adapted_by_library import ByLibrary

            made = ByLibrary(self.base, self.folders)
        _probe(made, self.folders)
        return made

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors by the adapter of `format`.

        Raises ConfigError for a format without an adapter, or when another than the adapter of `format` would run;
        NumericError for a vector that is not finite.
        """
        self._check(format)
        return self._loaded.encode(texts, format)

    def hidden(self, input_ids: Any, attention_mask: Any = None, route: Format | None = None) -> Any:
        """Return (n, length, dim) float32 last hidden states of padded token ids by the adapter of `route`; zeros at padding.

        Raises ConfigError where no route (task format) is stated, as encode does.
        """
        if route is None:
            raise ConfigError(f"{self.name}: state a route: {', '.join(self.formats)}")
        self._check(route)
        return self._loaded.hidden(input_ids, attention_mask, route)

    def _check(self, format: Format) -> None:
        check_format(format)
        if format not in self.adapters:
            raise ConfigError(f"{self.name} has no adapter for {format}; it has {', '.join(self.formats)}")


class OnTrunk:
    """The trunk with adapters, and the count of those that ran: (format, layer) -> calls."""

    def __init__(self, base: TransformersEncoder, folders: Mapping[Format, Path], fingerprint: str) -> None:
        """Load base and adapters (format -> folder). Raises ConfigError for an adapter that does not fit the base."""
        from scirep_core.encoders.conditioning.adapter_weights import load_adapters
        from scirep_core.encoders.conditioning.base import Conditioned, Conditioning
        from scirep_core.encoders.trunk.bert import read_trunk
        from scirep_core.encoders.trunk.tokens import read_tokens
        from scirep_core.encoders.trunk_encoder import About, TrunkEncoder

        trunk, tokens = read_trunk(base.folder), read_tokens(base.folder, base.stated.lower)
        self.model = Conditioned(trunk, load_adapters(trunk, folders), base.pooling)
        about = About(fingerprint, base.dim, base.recipe, base.length, tuple(folders), base.normalised)
        self.encoder = TrunkEncoder(base.name, lambda: (self.model, tokens), about, base.settings)
        self.bare_encoder = TrunkEncoder(
            base.name, lambda: (Conditioned(trunk, Conditioning(trunk), base.pooling), tokens), about, base.settings
        )
        self.ran: Counter[tuple[str, int]] = Counter()
        self.layers = [i for i, own in enumerate(self.adapters) if len(own)]
        for i in self.layers:
            for format, adapter in zip(folders, self.adapters[i], strict=True):
                adapter.register_forward_hook(self._count(format, i))

    @property
    def adapters(self) -> Any:
        """`adapters[layer][number of the format]`."""
        return self.model.conditioning.adapters

    def _count(self, format: Format, layer: int) -> Any:
        def hook(*_: Any) -> None:
            self.ran[format, layer] += 1

        return hook

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) vectors by the adapter of `format`."""
        self.ran.clear()
        vectors = self.encoder.encode(texts, format)
        self._check(format, len(texts))
        return vectors

    def hidden(self, input_ids: Any, attention_mask: Any, format: Format) -> Any:
        """Return (n, length, dim) float32 last hidden states of padded token ids."""
        self.ran.clear()
        states = self.encoder.hidden(input_ids, attention_mask, format)
        self._check(format, len(states))
        return states

    def bare(self, texts: list[str]) -> NDArray[np.float32]:
        """Return (n, dim) vectors of the base model without adapters."""
        _ = self.encoder.loaded  # the same weights, laid out by one encoder alone
        return self.bare_encoder.encode(texts, self.encoder.formats[0])

    def _check(self, format: Format, documents: int) -> None:
        """Raise ConfigError unless every layer's adapter of a format ran, equally often, and none of another."""
        expected = {(format, layer) for layer in self.layers} if documents else set()
        if set(self.ran) != expected or len(set(self.ran.values())) > 1:
            ran = dict(Counter(named for named, _ in self.ran))
            raise ConfigError(f"adapter {format} should have run in {len(self.layers)} layers; ran: {ran}")


def _probe(made: OnTrunk | ByLibrary, folders: Mapping[Format, Path]) -> None:
    """Raise ConfigError for an adapter that changes nothing, or two that do the same."""
    seen = {"the base model": made.bare([PROBE])}
    for format, folder in folders.items():
        vector = made.encode([PROBE], format)
        same = next((name for name, other in seen.items() if np.allclose(vector, other, 0, 1e-7)), None)
        if same is not None:
            raise ConfigError(f"{folder}: with adapter {format} the model says what {same} says")
        seen[format] = vector
