"""A base of a few numbers, with the words of the embedded literature: for tests of what is trained on it."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from tokenizers.normalizers import BertNormalizer

from scirep_core.data.inventory import TRAINING
from scirep_core.data.readers.scirepeval import training
from scirep_core.data.text import Recipe
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.models.model_store import save_model
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.encoders.trunk.tokens import of_words
from scirep_core.training.models import root
from scirep_core.training.variants import Budget

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def hand_made_base(folder: Path, given: Budget, words: int = 600) -> Path:
    """Write an untrained base of width 16 with a tokenizer of the literature's first training set; returns the folder."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    texts = (f"{row.paper.title} {row.paper.abstract}" for row in training(TRAINING[0], root(given)))  # type: ignore[union-attr]
    trainer = trainers.WordPieceTrainer(vocab_size=words, special_tokens=SPECIAL, show_progress=False)
    made.train_from_iterator(texts, trainer)
    tokens = of_words(made.get_vocab())
    torch.manual_seed(0)
    trunk = Trunk(Shape(tokens.size, 16, 1, 2, 32, 64))
    return save_model(Conditioned(trunk, conditioning("plain", trunk)), tokens, folder, Recipe(), given.max_length)
