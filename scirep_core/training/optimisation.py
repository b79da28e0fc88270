"""What a training moves and how fast: heads, AdamW with its groups of rates (SciRepEval section 5; SciMult's code).

    trunk: learning_rate        what the conditioning adds: conditioning_lr        heads: head_lr

Heads are one linear layer a task behind a dropout of 0.2, start as N(0, 0.02), and are thrown away after training. Weight
decay is 0 in SciRepEval's code and spares biases and norms in SciMult's, whose rates also shrink from layer to layer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.encoders.trunk.bert import initialise
from scirep_core.kit.errors import ConfigError
from scirep_core.training.config import TrainConfig
from scirep_core.training.data import TrainTask


def drawn(seed: int, what: str) -> int:
    """Return the seed of one thing that is drawn: a function of the training's seed and its name."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{what}".encode()).digest()[:8], "big") >> 1


def start_drawing(number: int, device: torch.device) -> None:
    """Let everything that is drawn from here on follow from a number."""
    torch.default_generator.manual_seed(number)  # torch.manual_seed asks every kind of device there could be, each time
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(number)


def key_of(name: str) -> str:
    """Return a task's name as a module may be called: without a dot, and never as one of a dictionary's methods."""
    return f"head {name.replace('.', ' dot ')}"


def make_heads(tasks: Sequence[TrainTask], dim: int, dropout: float) -> nn.ModuleDict:
    """Return a head for each task but triplets: dropout, and a linear layer that starts as N(0, 0.02)."""
    made = {
        key_of(task.name): nn.Sequential(nn.Dropout(dropout), nn.Linear(dim, task.outputs))
        for task in tasks
        if task.outputs
    }
    heads = nn.ModuleDict(made)
    heads.apply(initialise)
    return heads


def make_optimizer(
    model: Conditioned, trained: Sequence[nn.Parameter], heads: nn.Module, config: TrainConfig
) -> torch.optim.AdamW:
    """Return AdamW over the trained parameters and heads; a group's `peak` is its rate where the schedule is at 1.

    Raises ConfigError where there is nothing to train.
    """
    depth, moved = len(model.trunk.layers), set(trained)
    peaks = dict.fromkeys(trained, config.conditioning_lr) | dict.fromkeys(heads.parameters(), config.head_lr)
    for name, parameter in model.trunk.named_parameters():
        if parameter in moved:
            layer = int(name.split(".")[1]) if name.startswith("layers.") else -1
            # as SciMult's code counts: the top layer already has two factors
            peaks[parameter] = config.learning_rate * config.layer_decay ** (depth - layer + 1)
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for parameter, peak in peaks.items():
        decay = config.weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((config.learning_rate if peak is None else peak, decay), []).append(parameter)
    if not groups:
        raise ConfigError(f"nothing to train: {model.conditioning.kind} moves no weight, and no task has a head")
    return torch.optim.AdamW(
        [{"params": found, "peak": peak, "weight_decay": decay} for (peak, decay), found in groups.items()],
        lr=config.learning_rate, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True,
    )  # fmt: skip


@contextmanager
def only_trained(model: Conditioned) -> Iterator[list[nn.Parameter]]:
    """Let gradients reach only what the conditioning trains, while inside; gives these parameters, each once."""
    trained = list(dict.fromkeys(model.conditioning.trained(model.trunk)))
    before = {parameter: parameter.requires_grad for parameter in model.parameters()}
    try:
        for parameter in before:
            parameter.requires_grad_(False)
        for parameter in trained:
            parameter.requires_grad_(True)
        yield trained
    finally:
        for parameter, state in before.items():
            parameter.requires_grad_(state)
            parameter.grad = None
