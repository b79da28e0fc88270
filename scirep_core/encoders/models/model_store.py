"""A trained model as a folder: what `transformers` reads, and beside it what the conditioning needs.

    config.json, model.safetensors      the trunk under transformers' names: `AutoModel` reads it as a plain BERT
    tokenizer.json, tokenizer_config.json   the tokenizer; of control codes with the codes, and their rows among the weights
    conditioning.safetensors            the conditioning's own weights (SciRepEval 4, SciMult 3; conditioning.py)
    CLF/, RGN/, ...                     bottleneck adapters once more, as the `adapters` library saves them
    routing.json                        of experts: which weights are which task's, for who reads them elsewhere
    modules.json, 1_Pooling/, ...       of MTL CLS alone, for sentence-transformers (model_folder.py)
    scirep.json                         kind, routes, options, pooling, separator and so on; how it was made;
                                        and the SHA-256 of every file above

A folder is written beside its place and renamed into it, so it is whole or absent; a bit that flipped since is noticed
when it is loaded. Its fingerprint names all that decides vectors, and not how the model was made.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from scirep_core.data.text import Recipe
from scirep_core.encoders import MARK
from scirep_core.encoders.models import model_folder
from scirep_core.kit.errors import ConfigError, DataError, NumericError, nearest
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.records import field, read_object
from scirep_core.kit.store import atomic_folder, sha256_file, stable_hash, write_bytes, write_json

if TYPE_CHECKING:
    from torch import Tensor

    from scirep_core.encoders.conditioning.base import Conditioned, Conditioning
    from scirep_core.encoders.settings import Settings
    from scirep_core.encoders.trunk.bert import Trunk
    from scirep_core.encoders.trunk.tokens import Tokens
    from scirep_core.encoders.trunk_encoder import TrunkEncoder

CONFIG, WEIGHTS, OWN = "config.json", "model.safetensors", "conditioning.safetensors"
NEEDED = (CONFIG, WEIGHTS, OWN, "tokenizer.json", "tokenizer_config.json")
LAYOUT = 1
"""Of scirep.json; a higher one is refused."""
POOLINGS = ("cls", "mean")


class Described(NamedTuple):
    """What scirep.json says; nothing else is read for it.

    Attributes:
        files: name -> SHA-256 of every other file.
        made: how: configuration, seeds, versions; decides nothing.
    """

    kind: str
    routes: tuple[str, ...]
    options: dict[str, Any]
    pooling: str
    recipe: Recipe
    max_length: int
    normalised: bool
    made: dict[str, Any]
    files: dict[str, str]

    @property
    def fingerprint(self) -> str:
        """Content hash of all that decides vectors, but the number type."""
        own = [self.kind, self.routes, self.options, self.pooling, list(self.recipe), self.max_length, self.normalised]
        return stable_hash([own, self.files])[:16]


class Saved(NamedTuple):
    """A folder's content, loaded."""

    model: Conditioned
    tokens: Tokens
    described: Described


def is_saved(folder: Path) -> bool:
    """Return whether a folder is one that `save_model` wrote."""
    return (folder / MARK).is_file()


def working(folder: Path) -> Path:
    """Return the folder where the training of a model keeps its checkpoint: who is killed goes on from there."""
    return folder.with_name(f"{folder.name}.training")


def finished(folder: Path) -> bool:
    """Return whether a training's model is saved; the checkpoint that it went on from has served then, and goes."""
    if is_saved(folder):
        shutil.rmtree(working(folder), ignore_errors=True)
    return is_saved(folder)


# ---- writing ---------------------------------------------------------------------------------------------------------


def save_model(
    model: Conditioned,
    tokens: Tokens,
    folder: Path,
    recipe: Recipe,
    max_length: int,
    made: Mapping[str, Any] | None = None,
    normalised: bool = False,
) -> Path:
    """Write a model to a folder, in place of an earlier one that was written so; returns the folder.

    Args:
        tokens: the tokenizer it was trained with; of control codes without the codes.
        made: how the model was made, for the record; JSON-able.
        normalised: whether vectors are scaled to length 1.

    Raises ConfigError for a folder that holds something else or a tokenizer that does not fit, NumericError for weights
    that are not finite, CacheError where the disk refuses.
    """
    from safetensors.torch import save

    from scirep_core.encoders.trunk.bert import config_of

    refuse(folder)
    conditioning = model.conditioning
    trunk, tokens = _trunk_and_tokens(model.trunk, conditioning, tokens)
    own, rows = conditioning.state_dict(), len(trunk["embeddings.word_embeddings.weight"])
    _fits(tokens, rows)
    for name, value in (*trunk.items(), *own.items()):
        if not bool(value.isfinite().all()):
            raise NumericError(f"weight {name} is not finite, and the model was not saved. Lower the learning rate")
    mark: dict[str, Any] = {
        "layout": LAYOUT, "kind": conditioning.kind, "routes": list(conditioning.routes), "options": conditioning.options,
        "made": dict(made or {}), "pooling": model.pooling, "normalised": normalised, "separator": recipe.separator,
        "max_length": max_length, "prompts": {"query": recipe.query, "found": recipe.found, "paper": recipe.paper},
    }  # fmt: skip
    try:
        json.dumps(mark, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{folder / MARK}: options and made must be JSON ({error})") from None
    with atomic_folder(folder) as part:
        write_json(part / CONFIG, config_of(model.trunk.shape) | {"vocab_size": rows, "torch_dtype": "float32"})
        write_bytes(part / WEIGHTS, save(_plain(trunk), {"format": "pt"}))
        write_bytes(part / OWN, save(_plain(own), {"format": "pt"}))
        _for_others(model, part, str(mark["made"].get("base", "")))
        tokens.save(part, max_length)
        if conditioning.kind == "plain":
            width = model.trunk.shape.hidden_size
            model_folder.write_pipeline(part, model.pooling, width, max_length, recipe, normalised)
        files = sorted(path for path in part.rglob("*") if path.is_file())
        mark["files"] = {str(path.relative_to(part)): sha256_file(path) for path in files}
        write_json(part / MARK, mark | {"sha256": stable_hash(mark)})
    return folder


def refuse(folder: Path) -> None:
    """Raise ConfigError for a place that holds something else than a model saved before."""
    if folder.exists() and not is_saved(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: holds something else. Give a new folder, or one with a model saved before")


def _for_others(model: Conditioned, part: Path, base: str) -> None:
    """Write bottleneck adapters, and their fusion, as the `adapters` library does; of experts, which is whose."""
    from scirep_core.encoders.conditioning.adapter_folder import save_adapters
    from scirep_core.encoders.conditioning.bottleneck import Bottleneck
    from scirep_core.encoders.conditioning.experts import ROUTING, Experts

    conditioning = model.conditioning
    if isinstance(conditioning, Bottleneck):
        save_adapters(conditioning, model.trunk, part, base)
    if isinstance(conditioning, Experts):
        write_json(part / ROUTING, conditioning.routing())


def _trunk_and_tokens(trunk: Trunk, conditioning: Conditioning, tokens: Tokens) -> tuple[dict[str, Tensor], Tokens]:
    """Return what plain transformers is to read: control codes become tokens, and their vectors the last word vectors."""
    from scirep_core.encoders.conditioning.control_codes import ControlCodes, code_names, joined
    from scirep_core.encoders.trunk.bert import tensors_of

    if not isinstance(conditioning, ControlCodes):
        return tensors_of(trunk), tokens
    names = code_names(conditioning.routes)
    tokens = tokens.without(names)
    _fits(tokens, trunk.shape.vocab_size)
    return joined(trunk, conditioning, tokens.add(names)), tokens


def _fits(tokens: Tokens, rows: int) -> None:
    if tokens.size > rows:
        raise ConfigError(f"the tokenizer knows {tokens.size} tokens, the model {rows}: they do not belong together")


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().float().cpu().contiguous() for name, value in tensors.items()}


# ---- reading ---------------------------------------------------------------------------------------------------------


def describe(folder: Path) -> Described:
    """Return what a saved folder says of itself. Raises DataError for a damaged scirep.json, ConfigError for one too new."""
    from scirep_core.encoders.conditioning.base import CONDITIONINGS

    path = folder / MARK
    row = read_object(path)

    def told(name: str, kind: type, inside: dict[str, Any] = row) -> Any:
        return field(inside, name, kind, path, None)

    if (layout := told("layout", int)) > LAYOUT:
        raise ConfigError(f"{path}: layout {layout} is newer than this code, which knows {LAYOUT}. Update scirep")
    kind, routes = told("kind", str), told("routes", list)
    if kind not in CONDITIONINGS:
        raise DataError(path, None, f"unknown kind {kind!r}", nearest(kind, CONDITIONINGS))
    if not routes or not all(isinstance(route, str) for route in routes) or len(set(routes)) < len(routes):
        raise DataError(path, None, f"routes must be different names, found {routes!r:.60}")
    pooling, length = told("pooling", str), told("max_length", int)
    if pooling not in POOLINGS:
        raise DataError(path, None, f"unknown pooling {pooling!r}", nearest(pooling, POOLINGS))
    if length < 3:
        raise DataError(path, None, f"max_length must be 3 at least, found {length}")
    normalised, prompts, files = told("normalised", bool), told("prompts", dict), told("files", dict)
    recipe = Recipe(told("separator", str), *(told(key, str, prompts) for key in Recipe._fields[1:]))
    for name, digest in files.items():
        where = PurePosixPath(name)
        if where.is_absolute() or ".." in where.parts or not isinstance(digest, str):
            raise DataError(path, None, f"file {name!r} is none of this folder's")
    if lacking := [name for name in NEEDED if name not in files]:
        raise DataError(path, None, f"files must name {', '.join(lacking)}")
    made, options = told("made", dict), told("options", dict)
    if stable_hash({key: value for key, value in row.items() if key != "sha256"}) != row.get("sha256"):
        raise DataError(path, None, "has changed since it was saved", "Copy it again, or save the model again")
    return Described(kind, tuple(routes), options, pooling, recipe, length, normalised, made, files)


def load_model(folder: Path) -> Saved:
    """Return a saved model, in evaluation mode on the CPU, its tokenizer, and what its folder says.

    Raises ConfigError for a folder that is none, weights that do not fit, and naming a file that is missing or has changed.
    """
    from safetensors.torch import load_file

    from scirep_core.encoders.conditioning.base import Conditioned, conditioning
    from scirep_core.encoders.conditioning.control_codes import WORDS, code_names, parted
    from scirep_core.encoders.trunk.bert import Trunk, load, shape_of
    from scirep_core.encoders.trunk.tokens import read_tokens

    if not is_saved(folder):
        raise ConfigError(f"{folder}: no {MARK}: this is no model saved by scirep train or scirep export")
    description = describe(folder)
    for name, digest in description.files.items():
        if not (folder / name).is_file():
            raise ConfigError(f"{folder / name}: is missing. Copy the folder whole, or save the model again")
        if sha256_file(folder / name) != digest:
            raise ConfigError(f"{folder / name}: has another checksum than {MARK} says. Copy it again, or save again")
    tokens, shape = read_tokens(folder), shape_of(folder)
    with model_folder.reading(folder, "weights"):
        tensors = load_file(folder / WEIGHTS)
        if description.kind == "control_codes":
            names = code_names(description.routes)
            tensors, _ = parted(tensors, [tokens.id(name) or 0 for name in names])
            tokens, shape = tokens.without(names), replace(shape, vocab_size=len(tensors[WORDS]))
        trunk = load(Trunk(shape), tensors, str(folder / WEIGHTS))
        try:
            own = conditioning(description.kind, trunk, description.routes, **description.options)
        except TypeError as error:
            raise ConfigError(f"{folder / MARK}: options of {description.kind}: {error}") from None
        own.load_state_dict(load_file(folder / OWN))
    return Saved(Conditioned(trunk, own, description.pooling).eval(), tokens, description)


# ---- as an encoder ---------------------------------------------------------------------------------------------------


def saved_encoder(name: str, folder: Path, settings: Settings) -> TrunkEncoder:
    """Return the encoder of a saved folder. Raises ConfigError, DataError for one that is damaged or asked for too much."""
    from scirep_core.encoders.conditioning.base import kind_of
    from scirep_core.encoders.conditioning.experts import TASKS
    from scirep_core.encoders.trunk_encoder import About, TrunkEncoder

    description = describe(folder)
    kind = kind_of(description.kind)
    formats = tuple(format for format in FORMATS if {format, kind.stands.get(format)} & {*description.routes})
    length = model_folder.length_of(name, settings.max_length, description.max_length, model_folder.positions(folder))
    key: list[Any] = [description.fingerprint, length, settings.dtype, *settings.rounding()]
    about = About(
        stable_hash(key)[:16], model_folder.width(folder), description.recipe, length, formats, description.normalised,
        by_format=description.kind != "plain", shared_pass=kind.shared_pass, by_task=set(description.routes) <= set(TASKS),
    )  # fmt: skip
    return TrunkEncoder(name, lambda: load_model(folder)[:2], about, settings)
