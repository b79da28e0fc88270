"""Control codes: a token of the format's own after [CLS], and its vector is read (SciRepEval, section 4.1: MTL CTRL).

    [CLS] [PRX] title [SEP] abstract [SEP]        vector = last hidden state at place 1

The code is a row of its own in the word embeddings, four rows in all; everything is trained. As on the hub (scirepeval_ctrl)
the codes of a saved model are added special tokens of its tokenizer and the last rows of its word embeddings, so plain
transformers reads it: its text is the code, then the paper's. In memory trunk and codes are apart. Of a hub's folder the
codes are used where all four are among its tokens (`model_folder.has_codes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from scirep_core.encoders.conditioning.base import Conditioned, Conditioning
from scirep_core.encoders.trunk.bert import EMBEDDINGS, Trunk, initialise, load, read_tensors, shape_of, tensors_of
from scirep_core.encoders.trunk.packing import Packed
from scirep_core.encoders.trunk.tokens import Tokens, read_tokens
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.formats import FORMATS

WORDS = EMBEDDINGS["words"] + ".weight"
STARTS = ("random", "cls", "cls_and_noise")
"""How codes begin (v1, appendix B, which found little between them): N(0, 0.02), [CLS]'s word vector, or both added."""


class ControlCodes(Conditioning):
    """A word vector per route: `codes` (routes, dim). On a token id, code r is vocabulary + r.

    Options:
        start: one of STARTS.
        cls: token id of [CLS], where codes begin as its word vector.
    """

    kind = "control_codes"
    read_at = 1

    def __init__(
        self, trunk: Trunk, routes: Sequence[str] = FORMATS, start: str = "random", cls: int | None = None
    ) -> None:
        super().__init__(trunk, routes, start=start, cls=cls)
        if start not in STARTS or (start != "random" and cls is None):
            raise ConfigError(f"control codes start as {start!r}, [CLS] is {cls}; {nearest(start, STARTS)}, with cls=")
        self.vocabulary = trunk.shape.vocab_size
        self.codes = nn.Embedding(len(self.routes), trunk.shape.hidden_size)
        self.apply(initialise)
        with torch.no_grad():
            if start != "random":
                same = trunk.words.weight[cls]
                self.codes.weight.copy_(same + (self.codes.weight if start == "cls_and_noise" else 0))

    def words(self, trunk: Trunk) -> int:
        """Return how many token ids there are: the trunk's, and the codes."""
        return self.vocabulary + len(self.routes)

    def added(self) -> int:
        """Return 1: the code."""
        return 1

    def tokens(self, ids: list[int], route: int) -> list[int]:
        """Return a document's token ids with the route's code after the first."""
        return [*ids[:1], self.vocabulary + route, *ids[1:]]

    def start(self, trunk: Trunk, batch: Packed) -> Tensor:
        """Return (tokens, dim): the first layer's input, with the codes' vectors at their places."""
        coded = batch.ids - self.vocabulary
        words = trunk.words(batch.ids.clamp(max=self.vocabulary - 1))
        codes = self.codes(coded.clamp(min=0)).to(words.dtype)
        return trunk.embed(torch.where((coded >= 0)[:, None], codes, words), batch.positions)


# ---- as on the hub ---------------------------------------------------------------------------------------------------


def code_names(routes: Sequence[str]) -> list[str]:
    """Return the special tokens of routes.

    >>> code_names(["CLF", "PRX"])
    ['[CLF]', '[PRX]']
    """
    return [f"[{route}]" for route in routes]


def joined(trunk: Trunk, codes: ControlCodes, ids: Sequence[int]) -> dict[str, Tensor]:
    """Return weights under transformers' names, the codes as rows of the word embeddings.

    Args:
        ids: of the codes in the tokenizer, in order of routes; rows that are not there yet are added.
    """
    tensors = tensors_of(trunk)
    words = tensors[WORDS]
    more = max(0, max(ids) + 1 - len(words))
    words = torch.cat([words, words.new_zeros(more, words.shape[1])])
    words[list(ids)] = codes.codes.weight.detach().to(words)
    return tensors | {WORDS: words}


def parted(tensors: Mapping[str, Tensor], ids: Sequence[int]) -> tuple[dict[str, Tensor], Tensor]:
    """Return (weights of a trunk without codes, (routes, dim) codes) of a model whose word embeddings hold them.

    Args:
        tensors: under transformers' names, with or without the prefix `bert.`.
        ids: of the codes, in order of routes, as the tokenizer has them.

    Raises ConfigError where there is no such row.
    """
    name = next((name for name in (WORDS, f"bert.{WORDS}") if name in tensors), None)
    if name is None or not 0 <= min(ids) <= max(ids) < len(tensors[name]):
        rows = 0 if name is None else len(tensors[name])
        raise ConfigError(f"control codes are the tokens {list(ids)}, and there are {rows} word embeddings")
    words, last = tensors[name], len(tensors[name])
    while last - 1 in ids:
        last -= 1
    return {**tensors, name: words[:last]}, words[list(ids)]


def read_coded(folder: Path, lower: bool) -> tuple[Conditioned, Tokens]:
    """Return the model of a hub's folder that was trained with codes, and its tokenizer without; ConfigError where it has none."""
    tokens, names = read_tokens(folder, lower), code_names(FORMATS)
    ids = [id for name in names if (id := tokens.id(name)) is not None]
    if len(ids) < len(names):
        raise ConfigError(f"{folder}: the tokenizer has no {', '.join(names)}: this model knows no control codes")
    tensors, codes = parted(read_tensors(folder), ids)
    rows = next(len(value) for name, value in tensors.items() if name.endswith(WORDS))
    trunk = load(Trunk(replace(shape_of(folder), vocab_size=rows)), tensors, str(folder))
    conditioning = ControlCodes(trunk)
    with torch.no_grad():
        conditioning.codes.weight.copy_(codes)
    return Conditioned(trunk, conditioning), tokens.without(names)
