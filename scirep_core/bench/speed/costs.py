"""What a way of telling the task costs by arithmetic alone, at any size, on any machine (SciRepEval v2 Table 4, v1 Table 5).

    parameters    that one task format alone uses                 encode, encode all    operations of a forward pass, or of those
    train         operations of forward and backward              activations           that give a vector a format
    stored        bytes of a paper's vectors in float32

Counted on models whose tensors hold no data (encoders/trunk/counting.py), with two layers and with three: each further layer adds
what the third does. Operations are no times: what is not a matrix product takes time too, and small products more than
their share. A time far above its count of operations says how much is overhead. An ensemble costs the sum of its members.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from scirep_core.encoders.trunk.bert import Shape
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS
from scirep_core.training.variants import plain, variant

FLOAT = 4
"""Bytes of a number."""
FEW = 3
"""Layers that are counted one by one: the first, one between, and the last, which computes what is read alone."""


class Cost(NamedTuple):
    """Of one document of so many tokens: operations, bytes; parameters of one format (the largest), and those
    that training moves, all formats' together.
    """

    parameters: int
    trained: int
    encode: int
    encode_all: int
    train: int
    activations: int
    stored: int


def members(name: str) -> list[str]:
    """Return the variants whose costs add up to a variant's: itself, or its members without their seeds.

    >>> members("mean of two MTL CLS")
    ['MTL CLS', 'MTL CLS']
    """
    return [plain(one)[0] for one in variant(name).members] or [name]


def cost(name: str, of: Shape, tokens: int, options: Mapping[str, Any] | None = None) -> Cost:
    """Return what a document of `tokens` tokens (with what the conditioning adds) costs under a variant.

    Args:
        options: of the conditioning, under its own the variant's.

    Raises ConfigError for a variant that is not trained, or more tokens than the shape has places.
    """
    if not 0 < tokens <= of.max_position_embeddings:
        raise ConfigError(f"tokens = {tokens}: valid are 1 to {of.max_position_embeddings}")
    parts = [_single(one, of, tokens, tuple((options or {}).items())) for one in members(name)]
    joined = sum if variant(name).how == "concatenation" else max
    summed = Cost(*(sum(column) for column in zip(*parts, strict=True)))
    return summed._replace(stored=joined(part.stored for part in parts))


@functools.cache
def _single(name: str, of: Shape, tokens: int, options: tuple[tuple[str, Any], ...]) -> Cost:
    if not variant(name).kind:
        raise ConfigError(f"{name!r} is the base as it is: nothing tells it the task")
    layers = of.num_hidden_layers
    if layers <= FEW:
        return counted(name, of, tokens, dict(options))
    less, more = (counted(name, replace(of, num_hidden_layers=n), tokens, dict(options)) for n in (FEW - 1, FEW))
    return Cost(*(b + (layers - FEW) * (b - a) for a, b in zip(less, more, strict=True)))


def counted(name: str, of: Shape, tokens: int, options: Mapping[str, Any]) -> Cost:
    """Return what `cost` does, of a variant that is one training, counted layer by layer."""
    import torch

    from scirep_core.encoders.conditioning.base import Conditioned, conditioning
    from scirep_core.encoders.trunk import counting
    from scirep_core.encoders.trunk.bert import Trunk

    chosen = variant(name)
    with torch.device("meta"):
        trunk = Trunk(of)
        model = Conditioned(trunk, conditioning(chosen.kind, trunk, **{**options, **chosen.options}))
        document = [1] * max(1, tokens - model.conditioning.added())
        batch = model.pack([document], [FORMATS[0]])
        counts = counting.parameters(model)
        once, learnt = counting.operations(model, batch), counting.step(model, batch)
    shared = model.conditioning.shared_pass or chosen.kind == "plain"
    vectors = 1 if chosen.kind == "plain" else len(FORMATS)
    return Cost(
        max(counts.per_route.values()), counts.trained, once, once if shared else len(FORMATS) * once,
        learnt.operations, learnt.activations, vectors * of.hidden_size * FLOAT,
    )  # fmt: skip


def fusion_as_published(of: Shape, tokens: int) -> Cost:
    """Return what Fusion costs where every adapter's output goes through the keys and the values, as `adapters` has it.

    2 x 4 + 1 products of the width squared for a token and layer, where ours takes 3 for the same result (fusion.py); of
    training three times as many, since each has two gradients. The last layer is counted for the token that is read.
    """
    ours, rows = cost("Fusion", of, tokens), (of.num_hidden_layers - 1) * tokens + 1
    more = rows * 2 * (len(FORMATS) - 1) * 2 * of.hidden_size**2
    return ours._replace(encode=ours.encode + more, encode_all=ours.encode_all + len(FORMATS) * more,
                         train=ours.train + 3 * more)  # fmt: skip
