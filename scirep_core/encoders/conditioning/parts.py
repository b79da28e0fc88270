"""What a conditioned model is made of: which parts tasks share, how many parameters there are, whose vectors an expert moves.

Everything is taken from the modules that are trained, by walking them (SciMult 3.2, 3.3, Figure 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from scirep_core.encoders.conditioning.base import Conditioned, Conditioning, conditioning
from scirep_core.encoders.conditioning.prefix import instructions
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.encoders.trunk.counting import parameters

BERT = Shape(30_522, 768, 12, 12, 3072)
"""PubMedBERT's size."""
SMALL = replace(BERT, hidden_size=24, num_attention_heads=4, intermediate_size=48)
PARTS = {"attention": ("query", "key", "value", "dense"), "norm after attention": ("norm1",),
         "feed-forward": ("intermediate", "output"), "norm after feed-forward": ("norm2",)}  # fmt: skip
"""A block from bottom to top -> the modules of each part."""
Ids = Callable[[str], Sequence[int]]
"""Text -> its tokens' numbers."""


class Walked(NamedTuple):
    """What a model is made of.

    Attributes:
        copies: (block, part) -> how many there are: 1 is shared by all tasks.
        held: parameters that some document, or its instruction, goes through.
        trained: those that training moves.
        seen: parameters that one task's documents, and its instruction, go through.
    """

    copies: dict[tuple[int, str], int]
    held: int
    trained: int
    seen: int


def walk(kind: str, tasks: Sequence[str], ids: Ids) -> Walked:
    """Return what a kind of conditioning makes of a trunk of PubMedBERT's size, by walking its modules.

    Args:
        tasks: those that experts or instructions are for.
        ids: of the tokenizer that instructions are read with.
    """
    with torch.device("meta"):
        trunk, made = _made(kind, tasks, ids, BERT)
    own = getattr(made, "experts", {})
    copies = {
        (i, part): len(own[str(i)][names[0]]) if str(i) in own and names[0] in own[str(i)] else 1
        for i in range(len(trunk.layers))
        for part, names in PARTS.items()
    }
    counts = parameters(Conditioned(trunk, made))
    return Walked(copies, counts.total, counts.trained, counts.shared + max(counts.per_route.values()))


def _made(kind: str, tasks: Sequence[str], ids: Ids, shape: Shape) -> tuple[Trunk, Conditioning]:
    trunk, options = Trunk(shape), dict[str, Any]()
    if kind in ("prefix", "instruction"):
        options = {"instructions": instructions(ids, tuple(tasks))}
    return trunk, conditioning(kind, trunk, tuple(tasks), **options)


def routed(kind: str, tasks: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Return, by task, the largest difference of a coordinate: to the dense model at the start, and after the first expert moved.

    Args:
        kind: one with experts; weights are random, and one document is encoded.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        trunk, made = _made(kind, tasks, lambda text: (), SMALL)
        model = Conditioned(trunk, made).eval()
        dense = Conditioned(trunk, conditioning("plain", trunk, tuple(tasks))).eval()
        document = np.random.default_rng(0).integers(5, SMALL.vocab_size, 40).tolist()

        def vectors(of: Conditioned) -> dict[str, torch.Tensor]:
            return {task: of(of.pack([document], [task]))[0] for task in tasks}  # type: ignore[list-item]

        before, plain = vectors(model), vectors(dense)
        for experts in made.experts.values():  # type: ignore[operator]
            for copies in experts.values():
                for parameter in copies[0].parameters():
                    parameter.add_(0.05 * torch.randn_like(parameter))
        after = vectors(model)
    start = {task: float((before[task] - plain[task]).abs().max()) for task in tasks}
    return start, {task: float((after[task] - before[task]).abs().max()) for task in tasks}
