"""One model with an adapter per task format: SPECTER2 (SciRepEval, section 5), or any folder of that kind.

The vector of a text under format f is that of the base model with the adapter of f, and of f alone, in every layer:

    h <- norm(h + feed(h) + up_f(relu(down_f(norm(h + feed(h))))))          bottleneck.py

Where the base is a BERT the trunk computes this; for other models and other kinds of bottleneck the `adapters` library does
(`ByLibrary`). What is mixed up, or does nothing, is refused on both roads:

    loading    an adapter's configuration names this width, this kind of model, and no other format; every tensor of its
               file, and nothing else, is in the model; on a probe text it changes the base model's vector, and no two
               formats give the same one
    running    a document is told its route among the trunk's adapters; of the library's, every layer's adapter of this format
               is called while it runs, and none of another format (counted by hooks)

A folder of one's own is what the library itself writes (`model.save_pretrained(FOLDER)`, `model.save_all_adapters(FOLDER)`):
the base model, and a subfolder per format (adapter_folder.py says how it is named, and which weights are read). The hub's
repositories side by side in one folder (specter2_base, specter2, specter2_classification, ...) are such a folder too.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.encoders import check_format, said_by
from scirep_core.encoders.conditioning.adapter_folder import (
    BIN,
    CONFIG,
    SAFE,
    alike,
    check_config,
    load_adapters,
    tensors_of,
    weights_of,
)
from scirep_core.encoders.hub import TransformersEncoder, quiet_transformers
from scirep_core.encoders.models.model_folder import allow_bin, find
from scirep_core.encoders.models.screening import no_code, screen
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.store import sha256_array, sha256_file, stable_hash

if TYPE_CHECKING:
    from scirep_core.encoders.trunk_encoder import Loaded, TrunkEncoder

PROBE = "Do adapters change what a model says of a paper?"


class AdaptedEncoder:
    """A base model and its adapters, one per task format; weights load at the first encode."""

    def __init__(self, base: TransformersEncoder, adapters: Mapping[Format, str]) -> None:
        """Name base and adapters (format -> folder or hub name); nothing is read yet."""
        self.base, self.name = base, base.name
        self.formats: tuple[Format, ...] = tuple(format for format in FORMATS if format in adapters)
        self.adapters = {format: adapters[format] for format in self.formats}

    recipe = said_by("base", "recipe", "How papers become text: the base model's.")
    dim = said_by("base", "dim", "Length of a vector: the base model's hidden size.")
    device = said_by("base", "device", "Where the model runs.")

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
    def on_trunk(self) -> bool:
        """Whether the trunk computes base and adapters."""
        return self.base.on_trunk and alike(self.folders)

    def read(self) -> Loaded:
        """Return the trunk with its adapters, and the tokenizer. Raises ConfigError for an adapter that does not fit."""
        from scirep_core.encoders.conditioning.base import Conditioned
        from scirep_core.encoders.trunk.bert import read_trunk
        from scirep_core.encoders.trunk.tokens import read_tokens

        trunk, tokens = read_trunk(self.base.folder), read_tokens(self.base.folder, self.base.stated.lower)
        return Conditioned(trunk, load_adapters(trunk, self.folders), self.base.pooling), tokens

    @cached_property
    def _loaded(self) -> TrunkEncoder | ByLibrary:
        _ = self.fingerprint, self.device  # refuses wrong or pickled weights, and a missing device, before any work
        made, bare = self._on_trunk() if self.on_trunk else self._by_library()
        seen = {"the base model": bare}
        for format, folder in self.folders.items():
            vector = made.encode([PROBE], format)
            same = next((name for name, other in seen.items() if np.allclose(vector, other, 0, 1e-7)), None)
            if same is not None:
                raise ConfigError(f"{folder}: with adapter {format} the model says what {same} says")
            seen[format] = vector
        return made

    def _by_library(self) -> tuple[ByLibrary, NDArray[np.float32]]:
        made = ByLibrary(self.base, self.folders)
        made.model.set_active_adapters(None)
        return made, self.base.run(made.model, [PROBE])

    def _on_trunk(self) -> tuple[TrunkEncoder, NDArray[np.float32]]:
        """Return the trunk with adapters, and the vector that the same trunk has of the probe without."""
        from scirep_core.encoders.conditioning.base import Conditioned, Conditioning
        from scirep_core.encoders.trunk_encoder import About, TrunkEncoder

        base = self.base
        about = About(self.fingerprint, self.dim, self.recipe, base.length, self.formats, base.normalised)
        made = TrunkEncoder(self.name, self.read, about, base.settings)
        model, tokens = made.loaded  # the weights of both, laid out once
        plain = Conditioned(model.trunk, Conditioning(model.trunk), base.pooling)
        bare = TrunkEncoder(self.name, lambda: (plain, tokens), about, base.settings)
        return made, bare.encode([PROBE], self.formats[0])

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors by the adapter of `format`.

        Raises ConfigError for a format without an adapter, or when another than the adapter of `format` would run;
        NumericError for a vector that is not finite.
        """
        self._check(format)
        return self._loaded.encode(texts, format)

    def hidden(self, input_ids: Any, attention_mask: Any = None, route: Format | None = None) -> Any:
        """Return (n, length, dim) float32 last hidden states by the adapter of `route`, which must be stated; zeros at padding."""
        if route is None:
            raise ConfigError(f"{self.name}: state a route: {', '.join(self.formats)}")
        self._check(route)
        return self._loaded.hidden(input_ids, attention_mask, route)

    def _check(self, format: Format) -> None:
        check_format(format)
        if format not in self.adapters:
            raise ConfigError(f"{self.name} has no adapter for {format}; it has {', '.join(self.formats)}")


class ByLibrary:
    """The `adapters` library's model: for base models other than BERT, and other bottlenecks than seq_bn.

    The library computes right what it is told to, and lets pass in silence what it is not told: an adapter that is loaded but
    not active leaves the base model's vectors, with a one-line warning; a tensor that finds no place is left out. So every
    tensor of a file, and nothing else, must arrive in the model; and before a batch the active set must be one adapter.
    """

    def __init__(self, base: TransformersEncoder, folders: Mapping[Format, Path]) -> None:
        """Load base and adapters (format -> folder). Raises ConfigError for an adapter that does not fit the base."""
        quiet_transformers()
        import adapters

        from scirep_core.encoders.trunk.number_types import number_type

        logging.getLogger("adapters").setLevel(logging.ERROR)  # it warns of what is checked here
        self.model: Any = base.by_library(adapters.AutoAdapterModel)
        for format, folder in folders.items():
            _load(self.model, format, folder)
        self.layers: dict[str, set[str]] = {format: set() for format in folders}
        self.ran: Counter[tuple[str, str]] = Counter()
        for path, module in self.model.named_modules():
            format = path.rpartition(".adapters.")[2]
            if format in folders:
                self.layers[format].add(path)
                module.register_forward_hook(partial(self._count, (format, path)))
        self.model.to(device=base.device, dtype=number_type(base.settings.dtype)).eval()
        self.base = base

    def forward(self, format: Format) -> Any:
        """Return a forward function that runs the adapter of `format` and no other, or raises ConfigError."""

        def run(**inputs: Any) -> Any:
            self.model.set_active_adapters(format)
            active = self.model.active_adapters
            if active is None or active.flatten() != {format}:
                raise ConfigError(f"adapter {format} is not the active one: {active}")
            self.ran.clear()
            states = self.model(**inputs)
            if self.ran != Counter((format, path) for path in self.layers[format]):
                ran = dict(Counter(named for named, _ in self.ran))
                raise ConfigError(f"adapter {format} should have run in {len(self.layers[format])} layers; ran: {ran}")
            return states

        return run

    def _count(self, adapter: tuple[str, str], *_: Any) -> None:
        self.ran[adapter] += 1

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) vectors by the adapter of `format`."""
        return self.base.run(self.forward(format), texts)

    def hidden(self, input_ids: Any, attention_mask: Any, format: Format) -> Any:
        """Return (n, length, dim) float32 last hidden states of padded token ids; zeros at padding."""
        return self.base.states(self.forward(format), self.model, input_ids, attention_mask)


def _load(model: Any, format: Format, folder: Path) -> None:
    """Load an adapter under its format's name; every tensor of the file must arrive, and no other may be new."""
    tensors = tensors_of(screen(folder))
    try:
        safe = (folder / SAFE).is_file()
        with no_code():
            model.load_adapter(str(folder), load_as=format, set_active=False, use_safetensors=safe, with_head=False)
    except Exception as error:
        reason = str(error).strip().replace("\n", " ")
        raise ConfigError(f"{folder}: this adapter does not fit the base model ({reason:.200})") from None
    inside = {key: value for key, value in model.state_dict().items() if f"adapters.{format}." in key}
    if Counter(map(_digest, inside.values())) != Counter(map(_digest, tensors.values())):
        raise ConfigError(
            f"{folder}: {len(tensors)} tensors in the file, {len(inside)} in the model, and they are not the same: "
            "the adapter was made for another base model"
        )


def _digest(tensor: Any) -> tuple[tuple[int, ...], str]:
    return tuple(tensor.shape), sha256_array(tensor.detach().float().cpu().numpy())
