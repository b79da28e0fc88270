"""Models of random weights by shape, for measurements of time.

    bert-base     SciBERT, SPECTER, SPECTER2 Base: 12 layers of 768, 31,090 word pieces
    bert-small    4 layers of 256: minutes on a CPU          bert-mini    2 layers of 128: seconds

Written in hub layout they are read by transformers and sentence-transformers, too. Their texts are random words.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scirep_core.encoders.trunk.bert import Shape
from scirep_core.kit.errors import look_up

if TYPE_CHECKING:
    from scirep_core.encoders.trunk.tokens import Tokens

SHAPES: dict[str, Shape] = {
    "bert-base": Shape(31090, 768, 12, 12, 3072),
    "bert-small": Shape(8000, 256, 4, 4, 1024),
    "bert-mini": Shape(2000, 128, 2, 2, 512),
    "bert-tiny": Shape(600, 16, 1, 2, 32),
}
"""Shapes by name; the last one is for tests."""


def shape(name: str) -> Shape:
    """Return a shape by name. Raises ConfigError naming the nearest."""
    return look_up("shape", name, SHAPES)


def words(size: int) -> Tokens:
    """Return a tokenizer of `size` pieces, words of which each is one: w0, w1 ..."""
    from scirep_core.encoders.trunk.tokens import SPECIAL, of_words

    special = list(SPECIAL.values())
    return of_words({word: i for i, word in enumerate([*special, *(f"w{i}" for i in range(size - len(special)))])})


def blank(shape: Shape, folder: Path) -> Path:
    """Write a model of random weights in hub layout, as transformers and sentence-transformers read it; return the folder."""
    import torch

    from scirep_core.data.text import Recipe
    from scirep_core.encoders.conditioning.base import Conditioned, conditioning
    from scirep_core.encoders.models.model_store import save_model
    from scirep_core.encoders.trunk.bert import Trunk

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        trunk = Trunk(shape)
    made = Conditioned(trunk, conditioning("plain", trunk))
    return save_model(made, words(shape.vocab_size), folder, Recipe(), shape.max_position_embeddings)


def filled(number: int, length: int, vocabulary: int = 4000) -> list[str]:
    """Return texts of random words of `words`, each longer than `length` tokens, so that all are cut to it."""
    drawn = np.random.default_rng(0).integers(0, vocabulary, (number, length))
    return [" ".join(f"w{i}" for i in row) for row in drawn.tolist()]
