"""A published checkpoint of SciMult as an encoder (Zhang et al. 2023, sections 3.1 and 3.2); scimult.py reads it.

    load_encoder("models/scimult_moe.ckpt")             the file, or the folder in which it is the one .ckpt
    load_encoder("models/scimult_moe.ckpt#QRY")         held to the expert for search, as any encoder can be (ensemble.py)
    scirep export models/scimult_moe.ckpt --to DIR      a folder that needs neither the pickle nor this file

A vector is the last state of the first token, not normalised, compared by inner product; where the checkpoint says
mean_pool, the mean over all tokens, of length 1. In ad-hoc search the candidates take the expert of the queries
(`by_task`), as SciMult has one for both sides. One text differs from the published scripts': they write a separator
before an empty abstract or definition too.

The tokenizer lies beside the file, in its folder or in `tokenizer/` there; else it is that of `--base`, else PubMedBERT's.
With it lies config.json, as no weight tells how many heads there are: one for 64 numbers where it is not there.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.encoders import ENCODERS, PAPER, check_format, said_by
from scirep_core.encoders.models import model_folder
from scirep_core.encoders.models.model_folder import BIN, MAX_LENGTH, PATTERNS, TOKENS
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.store import sha256_file, stable_hash

if TYPE_CHECKING:
    from scirep_core.encoders.conditioning.base import Conditioned
    from scirep_core.encoders.scimult import Checkpoint
    from scirep_core.encoders.settings import Settings
    from scirep_core.encoders.trunk.bert import Shape
    from scirep_core.encoders.trunk.tokens import Tokens
    from scirep_core.encoders.trunk_encoder import TrunkEncoder

SUFFIX = ".ckpt"
BASE = ENCODERS["pubmedbert"].model
SMALL = tuple(pattern for pattern in PATTERNS if "safetensors" not in pattern)
"""What is asked of a base model: all but its weights."""
HEAD = 64
"""Numbers of an attention head in every BERT of the papers."""


def checkpoint_of(here: Path) -> Path | None:
    """Return the checkpoint a name means, a file or a folder's only one; else None. ConfigError for no such file, or several."""
    if here.suffix == SUFFIX and not here.is_dir():
        if not here.is_file():
            raise ConfigError(f"{here}: there is no such file. The model hub has SciMult's as yuz9yuz/SciMult")
        return here
    weights = ("model.safetensors", "model.safetensors.index.json", BIN)
    if not here.is_dir() or any((here / name).is_file() for name in weights):
        return None
    found = sorted(here.glob(f"*{SUFFIX}"))
    if len(found) > 1:
        raise ConfigError(f"{here}: has {', '.join(path.name for path in found)}. Name one of the files")
    return found[0] if found else None


def tokenizer_folder(path: Path, base: str = "") -> Path:
    """Return a checkpoint's tokenizer: `base`'s, else one beside the file, else PubMedBERT's. ConfigError where there is none."""
    for folder in () if base else (path.parent, path.parent / "tokenizer"):
        if any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt")):
            return folder
    try:
        return model_folder.find(base or BASE, SMALL)
    except ConfigError as error:
        if base:
            raise
        raise ConfigError(f"{path}: no vocab.txt of PubMedBERT, or tokenizer.json, lies beside it. {error}") from None


def shape_of(path: Path, found: Checkpoint, folder: Path) -> Shape:
    """Return the trunk's shape: sizes from the weights, the rest from a config.json. ConfigError where they disagree."""
    from scirep_core.encoders import scimult
    from scirep_core.encoders.trunk import bert

    sizes: dict[str, Any] = scimult.sizes(path, found.tensors)
    width, config = (
        sizes["hidden_size"],
        next((a for a in (folder, path.parent) if (a / "config.json").is_file()), None),
    )
    if config is None:
        if width % HEAD:
            raise ConfigError(f"{path}: how many heads has a width of {width}? Put its config.json beside it")
        return bert.Shape(**sizes, num_attention_heads=width // HEAD)
    shape = bert.shape_of(config)
    stated = asdict(shape)
    if wrong := [f"{key} {stated[key]}, not {size}" for key, size in sizes.items() if stated[key] != size]:
        here = config / "config.json"
        raise ConfigError(f"{here}: is of another model than {path.name}: {scimult.listed(wrong)}. Give its base")
    return shape


class CheckpointEncoder:
    """A checkpoint as an encoder: `trunk_encoder.py` around its trunk and experts. Nothing is read before it is needed."""

    recipe = PAPER

    def __init__(self, name: str, path: Path, settings: Settings) -> None:
        """Name a file."""
        self.name, self.path, self.settings = name, path, settings
        self.base_model = ""
        """Folder or hub name whose tokenizer it takes, where it is not the one found by the rule above."""

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """The file's weights, on the disk until they are used, and its report."""
        from scirep_core.encoders.scimult import read

        return read(self.path)

    report = said_by("checkpoint", "report", "What the file holds (scimult.Report).")

    @cached_property
    def folder(self) -> Path:
        """Where the tokenizer is."""
        return tokenizer_folder(self.path, self.base_model)

    @cached_property
    def shape(self) -> Shape:
        """The trunk's shape."""
        return shape_of(self.path, self.checkpoint, self.folder)

    pooling = said_by("report", "pooling", "The checkpoint's own: cls or mean.")

    @property
    def normalised(self) -> bool:
        """Whether vectors have length 1: means do."""
        return bool(self.pooling == "mean")

    @cached_property
    def length(self) -> int:
        """Tokens kept of a text: as asked, else 512, or as many as the model has positions."""
        most = self.shape.max_position_embeddings
        return model_folder.length_of(self.name, self.settings.max_length, min(MAX_LENGTH, most), most)

    @cached_property
    def trunk(self) -> TrunkEncoder:
        """The encoder around trunk and experts."""
        from scirep_core.encoders.conditioning.experts import TASK_OF_FORMAT
        from scirep_core.encoders.trunk_encoder import About, TrunkEncoder

        small = {one for pattern in (*TOKENS, "special*", "added_tokens.json") for one in self.folder.glob(pattern)}
        files = {one.name: sha256_file(one) for one in sorted(small)}
        key: list[Any] = [sha256_file(self.path), files, asdict(self.shape), list(self.recipe), self.length]
        key += [self.settings.dtype, *self.settings.rounding()]
        experts = self.report.kind != "plain"
        formats = tuple(format for format in FORMATS if not experts or format in TASK_OF_FORMAT)
        own, width = stable_hash(key)[:16], self.shape.hidden_size
        about = About(own, width, self.recipe, self.length, formats, self.normalised, experts, by_task=True)
        return TrunkEncoder(self.name, self.read, about, self.settings)

    fingerprint = said_by("trunk", "fingerprint", "Hash of file, tokenizer, shape, length and dtype.")
    dim = said_by("trunk", "dim", "Length of a vector.")
    formats = said_by("trunk", "formats", "Task formats: QRY, PRX, CLF of experts, else all.")
    by_format = said_by("trunk", "by_format", "Whether vectors depend on the task format.")
    by_task = said_by("trunk", "by_task", "Whether both sides of a task are read alike: yes.")
    device = said_by("trunk", "device", "Where the model runs.")

    def read(self) -> tuple[Conditioned, Tokens]:
        """Return the model and its tokenizer. Raises ConfigError for a tokenizer with more words than the model."""
        from scirep_core.encoders.scimult import build
        from scirep_core.encoders.trunk.tokens import read_tokens

        tokens = read_tokens(self.folder)
        if tokens.size > self.shape.vocab_size:
            raise ConfigError(
                f"{self.folder}: the tokenizer knows {tokens.size} tokens, {self.path.name} {self.shape.vocab_size}: they do "
                "not belong together. Give its base"
            )
        return build(self.checkpoint, self.shape), tokens

    def made(self) -> dict[str, Any]:
        """Return what an exported folder records of where it is from."""
        report = self.report
        return {
            "base": self.base_model or str(report.settings.get("pretrained_model_cfg") or BASE), "exported": self.fingerprint,
            "checkpoint": report.file, "sha256": sha256_file(self.path), "dropped": dict(report.dropped),
            "settings": {key: str(value) for key, value in report.settings.items()},
        }  # fmt: skip

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors, by the expert of the format's task where there are experts."""
        check_format(format)
        return self.trunk.encode(texts, format)

    def hidden(self, input_ids: Any, attention_mask: Any = None, route: str | None = None) -> Any:
        """Return (n, length, dim) float32 last hidden states of padded token ids; `route` is a task, or a format for it."""
        return self.trunk.hidden(input_ids, attention_mask, route)
