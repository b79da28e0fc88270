"""A model in plain hub layout that was trained with control codes, such as scirepeval_ctrl (SciRepEval, section 4.1).

    tokenizer       has [CLF], [RGN], [PRX] and [QRY] as special tokens
    vector          of `[CLS] [PRX] title [SEP] abstract [SEP]` the last hidden state at place 1

Read as any other model such a folder would give its first token without a code, which nobody trained. So where the four
codes are among its tokens they are used, and a format is stated as always.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.text import Recipe
from scirep_core.encoders import check_format
from scirep_core.encoders.hub import TransformersEncoder
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.records import read_object
from scirep_core.kit.store import stable_hash

if TYPE_CHECKING:
    from scirep_core.encoders.conditioning.base import Conditioned
    from scirep_core.encoders.trunk.tokens import Tokens
    from scirep_core.encoders.trunk_encoder import TrunkEncoder

CODES = tuple(f"[{format}]" for format in FORMATS)


def has_codes(folder: Path) -> bool:
    """Return whether a folder's tokenizer has all four codes as tokens of their own; small files are read, no weights."""
    known: set[str] = set()
    with suppress(DataError):  # damaged: whoever reads the tokenizer says so
        if (folder / "added_tokens.json").is_file():
            known |= set(read_object(folder / "added_tokens.json"))
        if (folder / "tokenizer.json").is_file():
            added = read_object(folder / "tokenizer.json").get("added_tokens") or ()
            known |= {str(token.get("content")) for token in added if isinstance(token, dict)}
    return set(CODES) <= known


class CodedEncoder:
    """A BERT whose tokenizer has the four codes, around the TransformersEncoder that finds its files."""

    formats: tuple[Format, ...] = FORMATS

    def __init__(self, base: TransformersEncoder) -> None:
        """Name the model; nothing is read yet."""
        self.base, self.name = base, base.name

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the base model's fingerprint, which has tokenizer and weights, and that codes are used."""
        return stable_hash([self.base.fingerprint, "control codes"])[:16]

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.base.dim

    @property
    def recipe(self) -> Recipe:
        """How papers and bare queries become texts; the code is not part of it."""
        return self.base.recipe

    @property
    def device(self) -> str:
        """Where the model runs."""
        return self.base.device

    @cached_property
    def trunk(self) -> TrunkEncoder:
        """The encoder around trunk and codes."""
        from scirep_core.encoders.trunk_encoder import About, TrunkEncoder

        about = About(self.fingerprint, self.dim, self.recipe, self.base.length, normalised=self.base.normalised)
        return TrunkEncoder(self.name, self.read, about, self.base.settings)

    def read(self) -> tuple[Conditioned, Tokens]:
        """Return the model, and its tokenizer without the codes. Raises ConfigError where the trunk cannot compute it."""
        import torch

        from scirep_core.encoders.conditioning.base import Conditioned
        from scirep_core.encoders.conditioning.control_codes import WORDS, ControlCodes, parted
        from scirep_core.encoders.models.model_store import without
        from scirep_core.encoders.trunk.bert import Trunk, load, read_tensors, shape_of
        from scirep_core.encoders.trunk.tokens import read_tokens

        folder = self.base.folder
        if not self.base.on_trunk or self.base.pooling != "cls":
            raise ConfigError(f"{self.name}: control codes need a plain BERT, and its codes' vectors are read (@cls)")
        tokens = read_tokens(folder, self.base.stated.lower)
        ids = [tokens.id(code) for code in CODES]
        if None in ids:
            raise ConfigError(f"{folder}: the tokenizer has no {', '.join(CODES)}: this model knows no control codes")
        tensors, codes = parted(read_tensors(folder), [id for id in ids if id is not None])
        rows = next(len(value) for name, value in tensors.items() if name.endswith(WORDS))
        trunk = load(Trunk(replace(shape_of(folder), vocab_size=rows)), tensors, str(folder))
        told = ControlCodes(trunk)
        with torch.no_grad():
            told.codes.weight.copy_(codes)
        return Conditioned(trunk, told), without(tokens, CODES)

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors under the code of `format`."""
        check_format(format)
        _ = self.fingerprint, self.device
        return self.trunk.encode(texts, format)

    def hidden(self, input_ids: Any, attention_mask: Any = None, route: str | None = None) -> Any:
        """Return (n, length, dim) float32 last hidden states of padded token ids, with the code of `route` put in."""
        return self.trunk.hidden(input_ids, attention_mask, route)
