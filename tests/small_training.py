"""A small training for tests: four tasks, one of each kind, that a small trunk can learn, and models of any conditioning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.training.config import TrainConfig
from scirep_core.training.data import Documents, TrainTask

WORDS, DOCS = 60, 80
SHAPE = Shape(WORDS, 16, 2, 2, 32, max_position_embeddings=40)
CLS, SEP = 2, 3
CONFIG = TrainConfig(
    steps=200, batch=8, accumulation=1, learning_rate=3e-3, head_lr=3e-2, conditioning_lr=1e-2, schedule="linear", warmup=20,
    clip=1.0, checkpoint_every=7,
)  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "control_codes": {}, "bottleneck": {"reduction": 4}, "fusion": {"reduction": 4}, "pals": {"width": 8, "heads": 2},
    "mha_experts": {}, "ffn_experts": {}, "one_pass": {},
    "prefix": {"instructions": {route: [CLS, 7 + i, SEP] for i, route in enumerate(("CLF", "RGN", "PRX", "QRY"))}},
    "instruction": {"instructions": {route: [CLS, 7 + i, SEP] for i, route in enumerate(("CLF", "RGN", "PRX", "QRY"))}},
}  # fmt: skip


def tasks(seed: int = 0, docs: int = DOCS) -> list[TrainTask]:
    """Classes: which third of the vocabulary is most frequent; the number: how much of it is the first; nearness: same class."""
    rng = np.random.default_rng(seed)
    kind, lengths = rng.integers(0, 3, docs), rng.choice([4, 7, 12], docs)  # few lengths are few runs, and quick
    texts = []
    for k, length in zip(kind, lengths, strict=True):
        own = rng.integers(6 + 18 * k, 24 + 18 * k, length)
        texts.append([CLS, *np.where(rng.random(length) < 0.7, own, rng.integers(6, WORDS, length)), SEP])
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    documents = Documents(np.concatenate(texts).astype(np.int32), starts)
    share = np.array([np.mean([6 <= token < 24 for token in text]) for text in texts], np.float32)
    triplets = [
        (q, rng.choice(np.flatnonzero(kind == kind[q])), rng.choice(np.flatnonzero(kind != kind[q])))
        for q in rng.integers(0, docs, 50)
    ]
    labels = np.stack([kind == 0, kind < 2], 1).astype(np.float32)
    return [
        TrainTask("t/fos", "CLF", "CLF", "classification", documents, np.arange(docs), kind, ("a", "b", "c")),
        TrainTask("t/mesh", "CLF", "CLF", "multi_label", documents, np.arange(0, docs, 2), labels[::2], ("a", "ab")),
        TrainTask("t/year", "RGN", "RGN", "regression", documents, np.arange(docs), (share - share.mean()) / share.std()),
        TrainTask("t/search", "PRX", "QRY", "triplet", documents, np.array(triplets)),
    ]  # fmt: skip


def model(
    kind: str = "plain", seed: int = 0, dropout: float = 0.1, shape: Shape = SHAPE, **options: Any
) -> Conditioned:
    torch.manual_seed(seed)
    trunk = Trunk(replace(shape, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout))
    with torch.no_grad():
        for parameter in trunk.parameters():  # as if pretrained: from N(0, 0.02) a [CLS] says little of its document
            parameter *= 10 if parameter.ndim > 1 else 1
    return Conditioned(trunk, conditioning(kind, trunk, **(OPTIONS.get(kind, {}) | options)))


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
