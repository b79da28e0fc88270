"""Folders of adapters as the `adapters` library and the hub have them: found, checked, read, written.

    FOLDER/[CLF]/adapter_config.json          what kind of adapter, for which width and kind of model, under which name
    FOLDER/[CLF]/adapter.safetensors          per layer: adapter_down.0 and adapter_up, weight and bias
    FOLDER/CLF_fusion/adapter_fusion_config.json, model_adapter_fusion.safetensors     query, key, value per layer (fusion):
                                              written beside a model of ours, and refused where nothing else tells of it

A folder's name, or else the name in its configuration, tells the task format: CLF, RGN, PRX, QRY (in brackets or not) or
classification, regression, proximity, adhoc_query; as `specter2` says [PRX]. The hub's pages of SPECTER2 carry pickles
(pytorch_adapter.bin): they are read weights-only, and only with SCIREP_ALLOW_BIN=1; `safe_copy` converts one for good.
Which of these adapters the trunk computes, and how weights come into it and out of it, is adapter_weights.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from scirep_core.encoders.models.model_folder import allow_bin
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.records import read_object
from scirep_core.kit.store import atomic

CONFIG, SAFE, BIN = "adapter_config.json", "adapter.safetensors", "pytorch_adapter.bin"
FUSION, FUSED = "adapter_fusion_config.json", "model_adapter_fusion.safetensors"
WORDS: dict[Format, tuple[str, ...]] = {
    "CLF": ("clf", "classification"),
    "RGN": ("rgn", "regression"),
    "PRX": ("prx", "proximity"),
    "QRY": ("qry", "adhoc", "query", "search"),
}
"""Words by which an adapter's name tells its format."""


def formats_named(name: str) -> set[Format]:
    """Return the task formats an adapter's name speaks of: `[CLF]`, `specter2_adhoc_query`, `proximity`.

    >>> formats_named("specter2_adhoc_query")
    {'QRY'}
    """
    said = set(re.split(r"[^a-z]+", name.lower()))
    return {format for format, words in WORDS.items() if said & set(words)}


def adapter_folders(folder: Path) -> dict[Format, str]:
    """Return format -> subfolder of the adapters saved in a folder; {} where there are none.

    Raises ConfigError for an adapter that names no format, or one that another has, and for fusion layers.
    """
    if fused := sorted(folder.glob(f"*/{FUSION}")):
        raise ConfigError(
            f"{fused[0].parent}: fusion layers are read of models that scirep train or export saved, not of others. "
            "Move them elsewhere to use the adapters alone"
        )
    found: dict[Format, str] = {}
    for path in sorted(folder.glob(f"*/{CONFIG}")):
        named = formats_named(path.parent.name) or formats_named(str(read_object(path).get("name") or ""))
        if len(named) != 1:
            raise ConfigError(
                f"{path.parent}: which task format is this adapter for? Call the folder {', '.join(FORMATS)}"
            )
        format = named.pop()
        if format in found:
            raise ConfigError(f"{folder}: two adapters for {format}: {Path(found[format]).name} and {path.parent.name}")
        found[format] = str(path.parent)
    return found


def base_of(folder: Path) -> Path:
    """Return the folder of the base model: the folder itself, or the one model that lies beside the adapters in it.

    Raises ConfigError where adapters have no base model beside them, or several.
    """
    if (folder / "config.json").is_file() or not any(folder.glob(f"*/{CONFIG}")):
        return folder
    bases = [path.parent for path in sorted(folder.glob("*/config.json")) if not (path.parent / CONFIG).is_file()]
    if len(bases) != 1:
        said = ", ".join(path.name for path in bases) or "none"
        raise ConfigError(f"{folder}: adapters need one base model beside them; found {said}")
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
    for name, data in ((SAFE, weights), (CONFIG, (folder / CONFIG).read_bytes())):
        with atomic(out / name) as stream:
            stream.write(data)
    return out
