"""Weights of adapters, out of the `adapters` library's folders into the trunk's modules, and back; of fusion, back alone.

    encoder.layer.3.output.adapters.NAME.adapter_down.0.weight          adapters[3][route].down.weight
    encoder.layer.3.output.adapter_fusion_layer.A,B,C,D.query.bias      mixers[3][route of A].query.bias

What a file says of layers, widths and names must be exactly what the trunk has: a tensor too many, too few or of another
shape is an error. Folders written here load in the library, and adapters' the other way round, with the same vectors.
A fusion's name lists its adapters, its own format's first; SciRepEval's code calls its folder [CLF]_fusion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from scirep_core.encoders.conditioning.adapter_folder import CONFIG, FUSED, FUSION, SAFE, tensors_of
from scirep_core.encoders.conditioning.bottleneck import Bottleneck
from scirep_core.encoders.conditioning.fusion import Fusion
from scirep_core.encoders.trunk.bert import Trunk
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import read_object
from scirep_core.kit.store import write_bytes, write_json

SEQ_BN: dict[str, Any] = {
    "adapter_residual_before_ln": False, "cross_adapter": False, "dropout": 0.0, "inv_adapter": None,
    "inv_adapter_reduction_factor": None, "is_parallel": False, "ln_after": False, "ln_before": False, "mh_adapter": False,
    "non_linearity": "relu", "original_ln_after": True, "original_ln_before": True, "output_adapter": True,
    "phm_layer": False, "residual_before_ln": True, "scaling": 1.0, "stochastic_depth": 0.0, "use_gating": False,
}  # fmt: skip
"""What an adapter's configuration says where the trunk computes it (bottleneck.py), beside reduction_factor and leave_out."""
DYNAMIC: dict[str, Any] = {
    "key": True, "query": True, "value": True, "query_before_ln": False, "residual_before": False, "temperature": False,
    "dropout_prob": None, "regularization": True, "value_before_softmax": True, "value_initialized": True,
}  # fmt: skip
"""What a fusion's configuration says where fusion.py computes it."""
UNUSED = {"init_weights": "bert", "init_weights_seed": None}
NAMES = {"down.weight": "adapter_down.0.weight", "down.bias": "adapter_down.0.bias", "up.weight": "adapter_up.weight",
         "up.bias": "adapter_up.bias"}  # fmt: skip
INSIDE = re.compile(r"^(?:bert\.)?encoder\.layer\.(\d+)\.output\.adapters\.(.+?)\.(adapter[\w.]*)$")


def size_of(folder: Path) -> tuple[int, tuple[int, ...]] | None:
    """Return (reduction, layers left out) of a folder's adapter; None for one of another kind than seq_bn."""
    config = read_object(folder / CONFIG).get("config")
    if not isinstance(config, dict) or config.get("architecture") or _unlike(config, SEQ_BN):
        return None
    reduction = config.get("reduction_factor")
    if not isinstance(reduction, int | float) or reduction < 1 or int(reduction) != reduction:
        return None
    return int(reduction), tuple(config.get("leave_out") or ())


def alike(folders: Mapping[Any, Path]) -> bool:
    """Whether the trunk computes the adapters of folders together: all seq_bn, of one reduction, in the same layers."""
    sizes = {size_of(folder) for folder in folders.values()}
    return len(sizes) == 1 and None not in sizes


def _unlike(config: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {key: config[key] for key, value in usual.items() if config.get(key, value) != value}


def load_adapters(trunk: Trunk, folders: Mapping[Any, Path]) -> Bottleneck:
    """Return the adapters of folders (route -> folder) for a trunk.

    Raises ConfigError where an adapter is of another kind than the trunk computes, or does not fit it, or the others.
    """
    found = {route: size_of(folder) for route, folder in folders.items()}
    for route, folder in folders.items():
        if found[route] is None:
            config = read_object(folder / CONFIG).get("config") or {}
            unlike = _unlike(config, SEQ_BN) or {"reduction_factor": config.get("reduction_factor")}
            raise ConfigError(f"{folder / CONFIG}: the trunk has no such adapter, {unlike}; it has seq_bn")
    sizes = set(found.values())
    if len(sizes) != 1 or (size := sizes.pop()) is None:
        raise ConfigError(f"adapters of one model must be alike in reduction and layers; found {found}")
    made = Bottleneck(trunk, tuple(folders), *size)
    for route, folder in folders.items():
        _fill(_adapter(made, made.routes.index(route)), tensors_of(folder), folder)
    return made


def _adapter(model: Bottleneck, number: int) -> dict[tuple[int, str], Tensor]:
    """Return (layer, library's name) -> parameter of a route's adapter."""
    return {(i, NAMES[name]): value for i, name, value in _parameters(model.adapters, number)}


def _mixer(model: Fusion, number: int) -> dict[tuple[int, str], Tensor]:
    return {(i, name): value for i, name, value in _parameters(model.mixers, number)}


def _parameters(layers: nn.ModuleList, number: int) -> Iterator[tuple[int, str, Tensor]]:
    for i, own in enumerate(layers):
        if len(own):  # type: ignore[arg-type]
            for name, value in own[number].named_parameters():  # type: ignore[index]
                yield i, name, value


def _fill(own: Mapping[tuple[int, str], Tensor], tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Copy a file's tensors into parameters; both must name the same ones, with the same shapes."""
    there: dict[tuple[int, str], Tensor] = {}
    for name, value in tensors.items():
        inside = INSIDE.match(name)
        key = (int(inside[1]), inside[3]) if inside else (-1, name)
        there[key] = value
    wrong = [
        key
        for key in own.keys() | there.keys()
        if key not in own or key not in there or own[key].shape != there[key].shape
    ]
    if wrong or len(there) != len(tensors):
        layer, name = min(wrong, default=(-1, "the same twice"))
        raise ConfigError(
            f"{folder}: {len(tensors)} tensors in the file, {len(own)} in the model, and they are not the same "
            f"(layer {layer}: {name}): the adapter was made for another base model"
        )
    with torch.no_grad():
        for key, value in own.items():
            value.copy_(there[key])


# ---- writing ---------------------------------------------------------------------------------------------------------


def save_adapters(model: Bottleneck, trunk: Trunk, folder: Path, base: str = "") -> list[Path]:
    """Write each route's adapter to a subfolder of its name, as the library does; returns the subfolders.

    Args:
        base: name of the model the adapters were trained on, for the record.
    """
    options, made = model.options, []
    config = {**SEQ_BN, **UNUSED, "reduction_factor": options["reduction"], "leave_out": list(options["leave_out"])}
    for number, route in enumerate(model.routes):
        start = f"output.adapters.{route}"
        write_bytes(folder / route / SAFE, _bytes(_adapter(model, number), start))
        write_json(folder / route / CONFIG, _about(trunk, config, route, base))
        made.append(folder / route)
    return made


def save_fusions(model: Fusion, trunk: Trunk, folder: Path, base: str = "") -> list[Path]:
    """Write each route's fusion layers to ROUTE_fusion, as SciRepEval's code does; returns the subfolders."""
    made = []
    for number, route in enumerate(model.routes):
        names = [route, *(other for other in model.routes if other != route)]
        place, name = folder / f"{route}_fusion", ",".join(names)
        write_bytes(place / FUSED, _bytes(_mixer(model, number), f"output.adapter_fusion_layer.{name}"))
        about = _about(trunk, DYNAMIC, name, base)
        write_json(place / FUSION, about | {"adapter_names": names})
        made.append(place)
    return made


def _about(trunk: Trunk, config: Mapping[str, Any], name: str, base: str) -> dict[str, Any]:
    """Return a configuration under the library's keys; without `version` it would take the rest for one of 2020."""
    return {
        "config": dict(config), "hidden_size": trunk.shape.hidden_size, "model_class": "BertAdapterModel",
        "model_name": base, "model_type": "bert", "name": name, "version": "adapters.1.3.0",
    }  # fmt: skip


def _bytes(own: Mapping[tuple[int, str], Tensor], start: str) -> bytes:
    from safetensors.torch import save

    tensors = {
        f"bert.encoder.layer.{i}.{start}.{name}": value.detach().cpu().contiguous() for (i, name), value in own.items()
    }
    return save(tensors, {"format": "pt"})
