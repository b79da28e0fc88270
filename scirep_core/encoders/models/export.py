"""An encoder as a folder of one's own: weights as safetensors, in the layout that hubs have, ready to move or to train on.

    a BERT, with adapters or conditioned      as `scirep train` saves (`model_store.py`): everything that decides vectors is in it
    a checkpoint of SciMult                   the same (`scimult_encoder.py`), and routing.json says which expert is whose
    any other architecture                    its own files, and those of sentence-transformers: pooling, length, prompts

A pickle is read weights-only, and only if SCIREP_ALLOW_BIN=1 says so. What was written is loaded again, and must give the
same vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
import yaml

from scirep_core.encoders import ENCODERS, MARK, Encoder, load_encoder
from scirep_core.encoders.conditioning.adapted import AdaptedEncoder
from scirep_core.encoders.conditioning.adapter_folder import safe_copy
from scirep_core.encoders.conditioning.base import CONDITIONINGS
from scirep_core.encoders.hub import TransformersEncoder
from scirep_core.encoders.models import model_folder
from scirep_core.encoders.models.model_store import WEIGHTS, is_saved, load_model, refuse, save_model
from scirep_core.encoders.scimult_encoder import CheckpointEncoder
from scirep_core.kit.errors import ConfigError, NumericError
from scirep_core.kit.formats import Format
from scirep_core.kit.store import atomic_folder, write_bytes, write_text

PROBES = ["Do adapters change what a model says of a paper?", "swarms", "A paper. " * 100]
NEAR = 1e-4
"""Largest difference of a number between what was exported and what is read again, over the longest vector."""
ELSEWHERE = {
    "plain": "",
    "transformers": "",
    "control_codes": "in transformers put [CLF], [RGN], [PRX] or [QRY] before a text: the vector is the state at that token",
    "bottleneck": "in the adapters library: load_adapter(FOLDER/PRX, use_safetensors=True); transformers reads the trunk alone",
}
"""Kind -> how another library gets the same vectors."""
CARD = "README.md"
Say = Callable[[str], None]


class Exported(NamedTuple):
    """What was written.

    Attributes:
        kind: of conditioning, or `transformers` where the folder is a model's own.
        largest_difference: between vectors before and after, of probe texts under every format.
    """

    folder: Path
    kind: str
    fingerprint: str
    formats: tuple[str, ...]
    files: int
    bytes: int
    largest_difference: float
    note: str = ""


def export(name: str, folder: Path, say: Say = lambda line: None, base: str = "") -> Exported:
    """Write the encoder of a name to a folder, and read it again.

    Args:
        base: of a checkpoint of SciMult, the folder or hub name of the model whose tokenizer it takes.

    Raises ConfigError for an encoder that has no weights of its own (an ensemble, one held to a format), a folder that holds
    something else, weights that are not here; NumericError where what was written gives other vectors.
    """
    encoder, here = load_encoder(name), Path(name).expanduser()
    if base:
        if not isinstance(encoder, CheckpointEncoder):
            raise ConfigError(f"{name}: has its own tokenizer; --base is for a checkpoint of SciMult. Leave it out")
        encoder.base_model = base
    refuse(folder)
    say(f"{name}: reading, and writing to {folder}")
    if is_saved(here) and name not in ENCODERS:
        model, tokens, told = load_model(here)
        save_model(model, tokens, folder, told.recipe, told.max_length, told.made, told.normalised)
        kind = told.kind
    else:
        kind = _write(encoder, folder, say)
    say(f"{folder}: reading it again")
    again = load_encoder(str(folder.absolute()))
    largest = _compared(encoder, again)
    write_text(folder / CARD, card(again, folder, kind, largest))
    note = "" if again.recipe == encoder.recipe else (
        f"{name} puts {encoder.recipe.separator!r} between title and abstract; this folder has no place to say so, and is read "
        f"with {again.recipe.separator!r}"
    )  # fmt: skip
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    return Exported(folder, kind, again.fingerprint, tuple(again.formats), len(files), size, largest, note)


def _compared(encoder: Encoder, again: Encoder) -> float:
    differs = 0.0
    for format in encoder.formats:
        one, two = (model.encode(PROBES, format) for model in (encoder, again))
        largest = float(np.abs(one - two).max())
        if not largest <= NEAR * float(np.linalg.norm(one, axis=1).max()):
            raise NumericError(f"{again.name}: under {format} vectors are not those of {encoder.name} ({largest:.2g})")
        differs = max(differs, largest)
    return differs


def _write(encoder: Encoder, folder: Path, say: Say) -> str:
    if isinstance(encoder, CheckpointEncoder):
        say(str(encoder.report))
        return _save(encoder, encoder, folder, encoder.made())
    base = encoder.base if isinstance(encoder, AdaptedEncoder) else encoder
    if not isinstance(encoder, AdaptedEncoder | TransformersEncoder) or not isinstance(base, TransformersEncoder):
        raise ConfigError(f"{encoder.name}: has no weights of its own. Export models by name or folder, one by one")
    _ = base.fingerprint  # refuses what is missing, and a pickle that nobody allowed
    if base.pooling not in ("cls", "mean"):
        raise ConfigError(f"{base.name}: no folder can say: pool by {base.pooling}. Give {base.model}@cls or @mean")
    if encoder.on_trunk:
        return _save(encoder, base, folder, {"base": base.model, "exported": encoder.fingerprint})
    _copy(base, encoder.folders if isinstance(encoder, AdaptedEncoder) else {}, folder)
    return "transformers"


def _save(
    encoder: AdaptedEncoder | CheckpointEncoder | TransformersEncoder,
    base: CheckpointEncoder | TransformersEncoder,
    folder: Path,
    made: Mapping[str, Any],
) -> str:
    """Write what runs on the trunk as a trained model is; returns its kind of conditioning."""
    model, tokens = encoder.read()
    save_model(model, tokens, folder, base.recipe, base.length, made, base.normalised)
    return model.conditioning.kind


def _copy(base: TransformersEncoder, adapters: Mapping[Format, Path], folder: Path) -> None:
    """Write a model's own files, safetensors in place of a pickle, and what states its pooling; adapters beside them."""
    with atomic_folder(folder) as part:
        for name in model_folder.hashes(base.folder):
            if name == model_folder.BIN:
                _convert(base, part)
            else:
                write_bytes(part / name, (base.folder / name).read_bytes())
        told = (base.pooling, base.dim, base.length, base.recipe, base.normalised, base.stated.lower)
        model_folder.write_pipeline(part, *told)
        for format, place in adapters.items():
            safe_copy(place, part / format)


def _convert(base: TransformersEncoder, part: Path) -> None:
    """Write a pickle's tensors, read weights-only, as model.safetensors; those that share memory, once each."""
    from safetensors.torch import save

    from scirep_core.encoders.trunk.bert import read_tensors

    found = {name: value.clone().contiguous() for name, value in read_tensors(base.folder).items()}
    write_bytes(part / WEIGHTS, save(found, {"format": "pt"}))


# ---- the model card, which hubs show: SciRepEval's models are published as such folders ---------------------------------


def elsewhere(kind: str) -> str:
    """Return how another library gets the vectors of a kind of conditioning; "" where its own way does."""
    apart = "transformers reads its trunk alone: what tells formats apart is in conditioning.safetensors, of this book"
    return ELSEWHERE.get(kind, apart)


def card(encoder: Encoder, folder: Path, kind: str, difference: float) -> str:
    """Return the card of an encoder that was written to a folder: what it is, what it reads, how to use it, how it was made.

    Args:
        difference: largest between vectors before and after.
    """
    record = dict(_plain(model_folder.optional(folder / MARK).get("made", {})))
    sentences = (folder / "modules.json").is_file()
    head: dict[str, Any] = {
        "pipeline_tag": "feature-extraction",
        "library_name": "sentence-transformers" if sentences else "transformers",
        "tags": ["scientific-documents", *(["sentence-similarity"] if sentences else [])],
    }
    if re.fullmatch(r"[\w.-]+/[\w.-]+", base := record.get("base", "")) and not Path(base).exists():  # a hub's name
        head["base_model"] = base
    recipe, way = encoder.recipe, CONDITIONINGS.get(kind)
    prompts = {"query": recipe.query, "document to be found": recipe.found, "paper": recipe.paper}
    facts = {
        "conditioning": way.paper if way else "none: a model's own files",
        "task formats": ", ".join(encoder.formats),
        "vectors": f"{encoder.dim} numbers",
        "reads": f"title, `{recipe.separator}`, abstract",
        "prompts": "; ".join(f"{name} `{text}`" for name, text in prompts.items() if text) or "none",
        "fingerprint": f"`{encoder.fingerprint}`",
        "export": f"read again, its vectors differ by {difference:.1e} at most",
        **record,
    }
    name, note = folder.resolve().name, elsewhere(kind)
    return "\n".join([
        "---", yaml.safe_dump(head, sort_keys=False).rstrip(), "---", "", f"# {name}", "",
        "An encoder of scientific documents, written by `scirep export`.", "",
        "| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in facts.items()), "",
        "## Use", "", "```python", "import scirep_core", "",
        f'encoder = scirep_core.load_encoder("{name}")  # this folder',
        f'vectors = scirep_core.encode(encoder, ["A title{recipe.separator}An abstract"], "{encoder.formats[0]}")', "```",
        *(["", f"{note[0].upper()}{note[1:]}."] if note else []), "",
        "## Scores", "", f"`scirep score scirepeval --encoder {name}` scores it on the benchmark's tasks.", "",
        "## Licence and limits", "", "Weights keep the licence of the model they come from; say here which.", "",
    ])  # fmt: skip


def _plain(made: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield what a table can show of how a model was made; folders of the machine it was made on are left out."""
    for key, value in made.items():
        if isinstance(value, Mapping):
            yield from _plain(value, f"{before}{key}: ")
        elif isinstance(value, list):
            yield from _plain({key: ", ".join(map(str, value))}, before)
        elif isinstance(value, str | int | float) and not PurePath(str(value)).is_absolute():
            yield f"{before}{key}", " ".join(str(value).replace("|", "\\|").split())
