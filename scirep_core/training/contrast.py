"""The loss of triplets (query, positive, negative) in a batch: by margin, or among all contexts (SciMult 3.4, equation 2).

    contexts     the positives of all queries, after them their hard negatives; a query without one has the others' alone
    masked       contexts that are known to belong to a query, or are the query itself; not what a triplet names its negative

Under several processes the batch is that of all of them, as if one held it. SciMult exchanges vectors without their gradients,
lets every process count all queries, and averages, which shrinks what is left by the number of processes; here each process has
its share of the queries, and a context's gradient from all of them comes back to where it was encoded. `in_batch_margin`, a mean
over pairs of which queries have different numbers, is that of the whole batch in every process; their weights sum to 1.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scirep_core.encoders.trunk.packing import on
from scirep_core.kit.errors import ConfigError
from scirep_core.training.config import TrainConfig
from scirep_core.training.losses import LOSSES, of_triplets
from scirep_core.training.processes import of_all, of_all_numbers

Ints = NDArray[np.int64]


def in_order(rows: Ints) -> Ints:
    """Return a task's rows (n, 3) in order of their queries, where `triplet_loss` looks for what belongs to one."""
    return rows[np.argsort(rows[:, 0], kind="stable")]


def triplet_loss(three: Sequence[Tensor], rows: Ints, known: Ints, config: TrainConfig, world: int = 1) -> Tensor:
    """Return the mean loss of triplets, by the kind the settings name.

    Args:
        three: (n, dim) vectors of queries, positives and negatives; of a row without a negative the last is not looked at.
        rows: (n, 3) their documents; -1 for no negative, which `contrastive` alone takes. n may be 0 under several processes.
        known: all rows of the task, `in_order`.
        world: processes that take part, each with rows of its own.
    """
    if loss := of_triplets().get(config.triplet_loss):
        settings = {"margin": config.margin, "temperature": config.temperature}
        return loss(*three, **{name: settings[name] for name in settings if name in inspect.signature(loss).parameters})
    if world > 1 and config.triplet_loss == "in_batch_margin":
        rows = of_all_numbers(rows.ravel())[0].reshape(-1, 3)
        three = of_all(torch.stack(list(three), 1)).unbind(1)
    query, positive, negative = three
    n, has, device = len(rows), rows[:, 2] >= 0, str(query.device)
    hard = negative[on(device, np.flatnonzero(has))]
    own = np.concatenate([rows[:, 1], rows[has, 2]])
    together = config.triplet_loss == "contrastive" and world > 1
    vectors = torch.cat([positive, hard])
    documents, first = of_all_numbers(own) if together else (own, 0)
    contexts = of_all(vectors) if together else vectors
    relevant = belongs(rows[:, 0], documents, known)
    named = first + n + np.arange(has.sum())
    relevant[np.flatnonzero(has), named] = False  # what a triplet names its negative is one: grades differ
    masks: dict[str, Any] = {"mask_duplicates": config.mask_duplicates, "context_ids": on(device, documents),
                             "relevant": on(device, relevant)}  # fmt: skip
    if config.triplet_loss == "in_batch_margin":
        return LOSSES["in_batch_margin"](query, positive, negative, config.margin, **masks)
    if not n:  # the others need this process's part of the exchange, there and back
        return contexts.sum() * 0.0
    targets = torch.arange(first, first + n, device=query.device)
    return LOSSES["contrastive"](query, contexts, targets, config.temperature, **masks)


def belongs(queries: Ints, contexts: Ints, known: Ints) -> NDArray[np.bool_]:
    """Return (n, m): whether a context is known to be right for a query, or is the query.

    Args:
        queries: (n,) documents. contexts: (m,) documents.
        known: all rows of the task, `in_order`.
    """
    first, last = (np.searchsorted(known[:, 0], queries, side) for side in ("left", "right"))
    # a query that is another's context is as near itself as can be
    found: NDArray[np.bool_] = contexts == queries[:, None]
    for i, (a, b) in enumerate(zip(first, last, strict=True)):
        found[i] |= np.isin(contexts, known[a:b, 1])
    return found


def check_negatives(name: str, rows: Ints, config: TrainConfig) -> None:
    """Raise ConfigError where triplets lack negatives and the loss needs one each."""
    if (rows[:, 2] < 0).any() and config.triplet_loss != "contrastive":
        n = int((rows[:, 2] < 0).sum())
        raise ConfigError(f'{name}: {n} of {len(rows)} rows have no negative; set triplet_loss = "contrastive"')
