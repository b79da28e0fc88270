"""Folders of adapters as the `adapters` library and the hub have them: found, checked, read, written.

    FOLDER/[CLF]/adapter_config.json          what kind of adapter, for which width and kind of model, under which name
    FOLDER/[CLF]/adapter.safetensors          per layer: adapter_down.0 and adapter_up, weight and bias
    FOLDER/CLF_fusion/adapter_fusion_config.json, model_adapter_fusion.safetensors     query, key, value per layer (fusion):
                                              written beside a model of ours, and refused where nothing else tells of it

A folder's name, or else the name in its configuration, tells the task format: CLF, RGN, PRX, QRY (in brackets or not) or
classification, regression, proximity, adhoc_query. The hub's pages of SPECTER2 carry pickles (pytorch_adapter.bin): they are
read weights-only, and only with SCIREP_ALLOW_BIN=1; `safe_copy` converts one for good.

Weights come out of these folders into the trunk's modules, and back; of fusion, back alone:

    encoder.layer.3.output.adapters.NAME.adapter_down.0.weight          adapters[3][route].down.weight
    encoder.layer.3.output.adapter_fusion_layer.A,B,C,D.query.bias      mixers[3][route of A].query.bias

Folders written here load in the library, and adapters' the other way round, with the same vectors.
A fusion's name lists its adapters, its own format's first; SciRepEval's code calls its folder [CLF]_fusion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scirep_core.encoders.models.model_folder import allow_bin
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.records import read_object
from scirep_core.kit.store import write_bytes, write_json

if TYPE_CHECKING:
    from torch import Tensor, nn

    from scirep_core.encoders.conditioning.bottleneck import Bottleneck
    from scirep_core.encoders.trunk.bert import Trunk

CONFIG, SAFE, BIN = "adapter_config.json", "adapter.safetensors", "pytorch_adapter.bin"
FUSION, FUSED = "adapter_fusion_config.json", "model_adapter_fusion.safetensors"
WORDS: dict[Format, tuple[str, ...]] = {
    "CLF": ("clf", "classification"),
    "RGN": ("rgn", "regression"),
    "PRX": ("prx", "proximity"),
    "QRY": ("qry", "adhoc", "query", "search"),
}
"""Words by which an adapter's name tells its format."""


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


def formats_named(name: str) -> set[Format]:
    """Return the task formats an adapter's name speaks of: `[CLF]`, `specter2_adhoc_query`, `proximity`.

    >>> formats_named("specter2_adhoc_query")
    {'QRY'}
    """
    parts = set(re.split(r"[^a-z]+", name.lower()))
    return {format for format, words in WORDS.items() if parts & set(words)}


def adapter_folders(folder: Path) -> dict[Format, str]:
    """Return format -> subfolder of a folder's adapters. ConfigError for one of no format, two of one, and fusion layers."""
    if fused := sorted(folder.glob(f"*/{FUSION}")):
        raise ConfigError(
            f"{fused[0].parent}: fusion layers are read of models that scirep train or export saved, not of others. "
            "Move them elsewhere to use the adapters alone"
        )
    found: dict[Format, str] = {}
    for path in sorted(folder.glob(f"*/{CONFIG}")):
        named = formats_named(path.parent.name) or formats_named(str(read_object(path).get("name") or ""))
        if len(named) != 1:
            raise ConfigError(f"{path.parent}: which task format is this adapter for? Call it {', '.join(FORMATS)}")
        format = named.pop()
        if format in found:
            raise ConfigError(f"{folder}: two adapters for {format}: {Path(found[format]).name} and {path.parent.name}")
        found[format] = str(path.parent)
    return found


def base_of(folder: Path) -> Path:
    """Return the base model's folder: itself, or the one model beside the adapters in it; ConfigError where there is not one."""
    if (folder / "config.json").is_file() or not any(folder.glob(f"*/{CONFIG}")):
        return folder
    bases = [path.parent for path in sorted(folder.glob("*/config.json")) if not (path.parent / CONFIG).is_file()]
    if len(bases) != 1:
        names = ", ".join(path.name for path in bases) or "none"
        raise ConfigError(f"{folder}: adapters need one base model beside them; found {names}")
    return bases[0]


def check_config(folder: Path, format: Format, base: Path, model: str) -> None:
    """Refuse an adapter that its own configuration says is for another width, kind of model, format or method."""
    path = folder / CONFIG
    if not path.is_file():
        raise ConfigError(f"{folder}: no {CONFIG}: this is no adapter. {format} needs one")
    config, own = read_object(path), read_object(base / "config.json")
    for key in ("hidden_size", "model_type"):
        if config.get(key) is not None and own.get(key) is not None and config[key] != own[key]:
            raise ConfigError(f"{path}: adapter for {key} {config[key]!r}, but the base model {base} has {own[key]!r}")
    for name in (str(config.get("name") or ""), Path(model).name):
        named = formats_named(name)
        if named and format not in named:
            raise ConfigError(f"{path}: adapter {name!r} is for {', '.join(sorted(named))}, not for {format}")
    inner = config.get("config")
    if not isinstance(inner, dict) or "reduction_factor" not in inner or inner.get("architecture"):
        raise ConfigError(f"{path}: only bottleneck adapters (seq_bn, double_seq_bn, par_bn) are supported")


def weights_of(folder: Path) -> Path:
    """Return an adapter's weight file. Raises ConfigError where there is none that may be read."""
    if (folder / SAFE).is_file():
        return folder / SAFE
    if (folder / BIN).is_file() and allow_bin():
        return folder / BIN
    raise ConfigError(
        f"{folder}: no {SAFE}. Hub pages of SPECTER2 carry {BIN}: set SCIREP_ALLOW_BIN=1 to have it fetched and read "
        "weights-only, or convert it with scirep_core.encoders.conditioning.adapter_folder.safe_copy(folder, out)"
    )


def tensors_of(folder: Path) -> dict[str, Any]:
    """Return an adapter file's tensors; a pickle is read weights-only. Raises ConfigError for a file that is neither."""
    import torch
    from safetensors.torch import load_file

    path = weights_of(folder)
    safe = path.suffix == ".safetensors"
    try:
        found = load_file(path) if safe else torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ConfigError(f"{path}: no readable adapter weights ({str(error).splitlines()[0]:.120})") from None
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise ConfigError(f"{path}: holds something else than tensors by name")
    return found


def safe_copy(folder: Path, out: Path) -> Path:
    """Write an adapter's configuration and its weights, as adapter.safetensors, to `out`; returns `out`.

    A pickle is read weights-only, and only if SCIREP_ALLOW_BIN=1 says so. Raises ConfigError, CacheError.
    """
    from safetensors.torch import save

    weights = save({key: value.contiguous() for key, value in tensors_of(folder).items()})
    write_bytes(out / SAFE, weights)
    write_bytes(out / CONFIG, (folder / CONFIG).read_bytes())
    return out


# ---- into the trunk, and back ------------------------------------------------------------------------------------------


def size_of(folder: Path) -> tuple[int, tuple[int, ...]] | None:
    """Return (reduction, layers left out) of a folder's adapter; None for one of another kind than seq_bn."""
    config = read_object(folder / CONFIG).get("config")
    if not isinstance(config, dict) or config.get("architecture"):
        return None
    if any(config.get(key, value) != value for key, value in SEQ_BN.items()):
        return None
    reduction = config.get("reduction_factor")
    if not isinstance(reduction, int | float) or reduction < 1 or int(reduction) != reduction:
        return None
    return int(reduction), tuple(config.get("leave_out") or ())


def alike(folders: Mapping[Any, Path]) -> bool:
    """Whether the trunk computes the adapters of folders together: all seq_bn, of one reduction, in the same layers."""
    sizes = {size_of(folder) for folder in folders.values()}
    return len(sizes) == 1 and None not in sizes


def load_adapters(trunk: Trunk, folders: Mapping[Any, Path]) -> Bottleneck:
    """Return the adapters of folders (route -> folder), which are `alike`. Raises ConfigError for one that does not fit."""
    from scirep_core.encoders.conditioning.bottleneck import Bottleneck

    size = size_of(next(iter(folders.values())))
    assert size is not None
    made = Bottleneck(trunk, tuple(folders), *size)
    for route, folder in folders.items():
        _fill(_parameters(made.adapters, made.routes.index(route)), tensors_of(folder), folder)
    return made


def _parameters(layers: nn.ModuleList, number: int) -> dict[tuple[int, str], Tensor]:
    return {
        (i, NAMES.get(name, name)): value
        for i, own in enumerate(layers)
        if len(own)  # type: ignore[arg-type]
        for name, value in own[number].named_parameters()  # type: ignore[index]
    }


def _fill(own: Mapping[tuple[int, str], Tensor], tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Copy a file's tensors into parameters; both must name the same ones, with the same shapes."""
    import torch

    there: dict[tuple[int, str], Tensor] = {}
    for name, value in tensors.items():
        inside = INSIDE.match(name)
        there[(int(inside[1]), inside[3]) if inside else (-1, name)] = value
    sizes, found = ({key: value.shape for key, value in part.items()} for part in (own, there))
    wrong = {key for key, _ in sizes.items() ^ found.items()}
    if wrong or len(there) != len(tensors):
        layer, name = min(wrong, default=(-1, "the same twice"))
        raise ConfigError(
            f"{folder}: {len(tensors)} tensors in the file, {len(own)} in the model, and they are not the same "
            f"(layer {layer}: {name}): the adapter was made for another base model"
        )
    with torch.no_grad():
        for key, value in own.items():
            value.copy_(there[key])


def save_adapters(model: Bottleneck, trunk: Trunk, folder: Path, base: str) -> None:
    """Write each route's adapter to a subfolder of its name, as the library does, and a fusion's layers to ROUTE_fusion.

    Args:
        base: name of the model the adapters were trained on, for the record.
    """
    from scirep_core.encoders.conditioning.fusion import Fusion

    options = model.options
    config = {**SEQ_BN, **UNUSED, "reduction_factor": options["reduction"], "leave_out": list(options["leave_out"])}
    for number, route in enumerate(model.routes):
        own = _parameters(model.adapters, number)
        write_bytes(folder / route / SAFE, _bytes(own, f"output.adapters.{route}"))
        write_json(folder / route / CONFIG, _about(trunk, config, route, base))
        if isinstance(model, Fusion):
            names = [route, *(other for other in model.routes if other != route)]
            place, name, mixers = folder / f"{route}_fusion", ",".join(names), _parameters(model.mixers, number)
            write_bytes(place / FUSED, _bytes(mixers, f"output.adapter_fusion_layer.{name}"))
            write_json(place / FUSION, _about(trunk, DYNAMIC, name, base) | {"adapter_names": names})


def _about(trunk: Trunk, config: Mapping[str, Any], name: str, base: str) -> dict[str, Any]:
    """Return a configuration under the library's keys; without `version` it would take the rest for one of 2020."""
    return {
        "config": dict(config), "hidden_size": trunk.shape.hidden_size, "model_class": "BertAdapterModel",
        "model_name": base, "model_type": "bert", "name": name, "version": "adapters.1.3.0",
    }  # fmt: skip


def _bytes(own: Mapping[tuple[int, str], Tensor], start: str) -> bytes:
    from safetensors.torch import save

    places = {f"bert.encoder.layer.{i}.{start}.{name}": value for (i, name), value in own.items()}
    return save({name: value.detach().cpu().contiguous() for name, value in places.items()}, {"format": "pt"})
