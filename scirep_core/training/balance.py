"""Weights of tasks by how much of their loss is left (Liu, Liang and Gitter, AAAI 2019; tried in v1 appendix B).

    weight = (loss in this batch / loss in the first batch of the epoch that had the task) ** exponent

A task that was learnt quickly weighs less, and others are not drowned by it; the authors take an exponent of 0.5. A weight is a
number: no gradient runs through it. v1 also names GradNorm (Chen et al., ICML 2018), which weighs by gradients; it is not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scirep_core.training.processes import added

Floats = NDArray[np.float64]


def balanced(
    losses: Mapping[str, Tensor],
    shares: Floats,
    names: Sequence[str],
    here: Set[str],
    first: Mapping[str, float],
    exponent: float,
    world: int,
) -> tuple[Floats, dict[str, float]]:
    """Return (tasks,) weights, and the first losses of the epoch, those of tasks seen now for the first time among them.

    Args:
        losses: task -> mean over this process's rows in the batch.
        shares: (tasks,) part of a task's rows in the batch that this process has.
        names: of the tasks, in order.
        here: those of which some process has rows; every process asks, also without any.
        first: the epoch's first losses so far.

    A task whose first loss is 0 (a margin that is kept already) weighs 1. Losses are read: a GPU's are waited for, in every batch.
    """
    levels = np.zeros(len(names))
    if losses:
        for name, loss in zip(losses, torch.stack([loss.detach() for loss in losses.values()]).tolist(), strict=True):
            levels[names.index(name)] = loss * shares[names.index(name)]
    of_all = dict(zip(names, added(levels, world).tolist(), strict=True))
    begun = {name: of_all[name] for name in names if name in here} | dict(first)
    weights = [(of_all[name] / begun[name]) ** exponent if name in here and begun[name] else 1.0 for name in names]
    return np.array(weights), begun
