"""A base of a few numbers, with the words of the embedded literature: for tests of what is trained on it."""

from __future__ import annotations

from pathlib import Path

import torch

from scirep_core.data.inventory import TRAINING
from scirep_core.data.readers.scirepeval import training
from scirep_core.data.text import Recipe
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.models.model_store import save_model
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.training.base import wordpieces
from scirep_core.training.models import root
from scirep_core.training.variants import Budget, budget

TINY = budget("tiny", papers=500, train={"steps": 2, "warmup": 1, "batch": 16})


def hand_made_base(folder: Path, given: Budget, words: int = 600) -> Path:
    """Write an untrained base of width 16 with a tokenizer of the literature's first training set; returns the folder."""
    texts = (f"{row.paper.title} {row.paper.abstract}" for row in training(TRAINING[0], root(given)))  # type: ignore[union-attr]
    tokens = wordpieces(texts, words)
    torch.manual_seed(0)
    trunk = Trunk(Shape(tokens.size, 16, 1, 2, 32, 64))
    return save_model(Conditioned(trunk, conditioning("plain", trunk)), tokens, folder, Recipe(), given.max_length)
