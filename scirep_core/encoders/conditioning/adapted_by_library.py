"""Adapters by the `adapters` library: for base models other than BERT, and other bottlenecks than seq_bn.

The library computes right what it is told to, and lets pass in silence what it is not told: an adapter that is loaded but
not active leaves the base model's vectors, with a one-line warning; a tensor that finds no place is left out. So every
tensor of a file, and nothing else, must arrive in the model; before a batch the active set must be exactly one adapter;
and while it runs every layer's adapter of this format is called once, and none of another format (counted by hooks).
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.encoders.conditioning.adapter_folder import SAFE, tensors_of
from scirep_core.encoders.hub import TransformersEncoder, quiet_transformers
from scirep_core.encoders.models.model_folder import reading
from scirep_core.encoders.models.screening import library_config, no_code, screen
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import Format


class ByLibrary:
    """The library's model with its adapters, and the count of those that ran."""

    def __init__(self, base: TransformersEncoder, folders: Mapping[Format, Path]) -> None:
        """Load base and adapters (format -> folder). Raises ConfigError for an adapter that does not fit the base."""
        quiet_transformers()
        import adapters

        from scirep_core.encoders.trunk.number_types import number_type

        logging.getLogger("adapters").setLevel(logging.ERROR)  # it warns of what is checked here

        safe = any(base.folder.glob("*.safetensors"))
        auto: Any = adapters.AutoAdapterModel
        with reading(base.folder, "weights"):
            self.model: Any = auto.from_pretrained(
                base.folder, config=library_config(base.folder), use_safetensors=safe, trust_remote_code=False,
                dtype=number_type(base.settings.dtype),
            )  # fmt: skip
        self.ran: Counter[str] = Counter()
        self.layers: Counter[str] = Counter()
        for format, folder in folders.items():
            _load(self.model, format, folder)
        for path, module in self.model.named_modules():
            name = path.rpartition(".adapters.")[2]
            if name in folders:
                self.layers[name] += 1
                module.register_forward_hook(self._count(name))
        self.model.to(device=base.device, dtype=number_type(base.settings.dtype)).eval()
        self.base = base

    def _count(self, name: str) -> Any:
        def hook(*_: Any) -> None:
            self.ran[name] += 1

        return hook

    def forward(self, format: Format) -> Any:
        """Return a forward function that runs the adapter of `format` and no other, or raises ConfigError."""

        def run(**inputs: Any) -> Any:
            self.model.set_active_adapters(format)
            active = self.model.active_adapters
            self.ran.clear()
            if active is None or active.flatten() != {format}:
                raise ConfigError(f"adapter {format} is not the active one: {active}")
            output = self.model(**inputs)
            if self.ran != Counter({format: self.layers[format]}):
                raise ConfigError(
                    f"adapter {format} should have run in {self.layers[format]} layers; ran: {dict(self.ran)}"
                )
            return output

        return run

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) vectors by the adapter of `format`."""
        return self.base.run(self.forward(format), texts)

    def hidden(self, input_ids: Any, attention_mask: Any, format: Format) -> Any:
        """Return (n, length, dim) float32 last hidden states of padded token ids; zeros at padding."""
        return self.base.states(self.forward(format), self.model, input_ids, attention_mask)

    def bare(self, texts: list[str]) -> NDArray[np.float32]:
        """Return (n, dim) vectors of the base model, no adapter active."""
        self.model.set_active_adapters(None)
        return self.base.run(self.model, texts)


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


def _digest(tensor: Any) -> str:
    values = tensor.detach().float().contiguous().cpu().numpy()
    return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()
