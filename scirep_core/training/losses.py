"""What training minimises: pure functions of tensors (SciRepEval 4.2; SciMult equation 2 and section 3.4).

    cross entropy          -log softmax(z)[y]                             classes            SciRepEval
    binary cross entropy   -y log s(z) - (1 - y) log(1 - s(z))            several labels     SciRepEval
    mean squared error     (z - y)^2                                      regression         SciRepEval
    triplet margin         max(0, |q - p| - |q - n| + 1)                  proximity, search  SciRepEval equation 1
    contrastive            -log(exp(q.c+ / T) / sum_c exp(q.c / T))       every task         SciMult equation 2
    in-batch margin        the triplet margin against every paper of the batch               ours

Each is a mean over what it is given: over queries, rows, or rows and labels. Tasks are summed in `train`.

In-batch negatives are other queries' papers or labels, and some of them are right answers: with 18 labels in a batch of 1,536
pairs each query meets its own about 85 times. SciMult pushes those away; here they are masked unless `mask_duplicates` is False.

Every loss counts in at least 32 bits, under autocast too: an inner product of BERT vectors is in the hundreds, where
bf16 knows whole numbers only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from scirep_core.kit.errors import ConfigError

EPS = 1e-6
"""Added to each coordinate of a difference, as in torch's pairwise distance: the root has a slope at distance 0."""


# --- heads ------------------------------------------------------------------------------------------------------------


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean negative log probability of the right class.

    Args:
        logits: (n, classes).
        targets: (n,) class numbers.
    """
    _same("cross_entropy", logits.shape[:1], targets.shape)
    logits = _wide(logits)
    return (logits.logsumexp(1) - logits.gather(1, targets.long()[:, None])[:, 0]).mean()


def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the binary cross entropy of sigmoid(logits), mean over rows and labels.

    Args:
        logits: (n, labels).
        targets: (n, labels) of 0 and 1.
    """
    _same("binary_cross_entropy", logits.shape, targets.shape)
    logits = _wide(logits)
    return ((1 - targets) * logits - F.logsigmoid(logits)).mean()


def mean_squared_error(predicted: Tensor, targets: Tensor) -> Tensor:
    """Return the mean squared difference.

    Args:
        predicted: (n,); a head's (n, 1) is refused, since its difference to (n,) would be all pairs.
        targets: (n,).
    """
    _same("mean_squared_error", predicted.shape, targets.shape)
    return (_wide(predicted) - targets).square().mean()


# --- vectors ----------------------------------------------------------------------------------------------------------


def triplet_margin(query: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0) -> Tensor:
    """Return the mean of max(0, d(query, positive) - d(query, negative) + margin), d Euclidean (SciRepEval equation 1).

    Args:
        query, positive, negative: (n, dim), a triplet a row.
        margin: 1 in the paper.
    """
    _same("triplet_margin", query.shape, positive.shape, negative.shape)
    query, positive, negative = _wide(query), _wide(positive), _wide(negative)
    return (_distance(query, positive) - _distance(query, negative) + margin).clamp(min=0).mean()


def contrastive(
    queries: Tensor,
    contexts: Tensor,
    targets: Tensor,
    temperature: float = 1.0,
    mask_duplicates: bool = True,
    context_ids: Tensor | Sequence[object] | None = None,
    relevant: Tensor | None = None,
) -> Tensor:
    """Return the mean cross entropy of each query's own context among all contexts, by inner product (SciMult equation 2).

    Args:
        queries: (n, dim).
        contexts: (m, dim): the positives, and hard negatives after them, of all queries.
        targets: (n,) the row of each query's positive.
        temperature: the inner products are divided by it; 1 in SciMult, 0.01 where its vectors have length one.
        mask_duplicates: a context that is the same as the query's positive, or `relevant` to the query, is no negative.
            False is what SciMult does: `context_ids` and `relevant` are then not looked at.
        context_ids: m names of the contexts: equal names are the same context. Without them equal vectors are, which
            sees no duplicate that went through dropout twice.
        relevant: (n, m) bool, where a context is also right for a query.
    """
    _same("contrastive", queries.shape, (len(targets), contexts.shape[-1]))
    if not temperature > 0:
        raise ConfigError(f"contrastive: temperature must be above 0, not {temperature}")
    with torch.autocast(queries.device.type, enabled=False):
        scores = _wide(queries) @ _wide(contexts).T / temperature
    if mask_duplicates:
        scores = scores.masked_fill(_no_negatives(contexts, targets, context_ids, relevant), -torch.inf)
    return cross_entropy(scores, targets)


def in_batch_margin(
    queries: Tensor,
    positives: Tensor,
    negatives: Tensor,
    margin: float = 1.0,
    mask_duplicates: bool = True,
    context_ids: Tensor | Sequence[object] | None = None,
    relevant: Tensor | None = None,
) -> Tensor:
    """Return the triplet margin of the triplets given plus that against the papers of all other triplets of the batch.

    The two means are added, so that the one negative chosen for a query weighs as much as all that chance put beside it.

    Args:
        queries, positives, negatives: (n, dim), a triplet a row.
        margin: as of `triplet_margin`.
        mask_duplicates, context_ids, relevant: as of `contrastive`, of the 2n contexts: positives, then negatives.
    """
    own = triplet_margin(queries, positives, negatives, margin)
    contexts = torch.cat([positives, negatives])
    rows = torch.arange(len(queries), device=queries.device)
    left_out = rows[:, None] == rows.repeat(2)[None]  # the query's own triplet
    if mask_duplicates:
        left_out = left_out | _no_negatives(contexts, rows, context_ids, relevant)
    # not by way of the inner product: it loses the last digits of near vectors, and autocast would halve them again
    distances = torch.cdist(_wide(queries), _wide(contexts), compute_mode="donot_use_mm_for_euclid_dist")
    nearer = _distance(_wide(queries), _wide(positives))[:, None] - distances + margin
    others = nearer.clamp(min=0).masked_fill(left_out, 0.0)
    return own + others.sum() / (~left_out).sum().clamp(min=1)


# --- their parts ------------------------------------------------------------------------------------------------------


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _distance(a: Tensor, b: Tensor) -> Tensor:
    distance: Tensor = torch.linalg.vector_norm(a - b + EPS, dim=-1)
    return distance


def _no_negatives(
    contexts: Tensor, targets: Tensor, ids: Tensor | Sequence[object] | None, relevant: Tensor | None
) -> Tensor:
    """Return (n, m) bool: the contexts that must not count against a query, its positive aside."""
    n, m = len(targets), len(contexts)
    if ids is None:
        numbers = torch.unique(contexts.detach(), dim=0, return_inverse=True)[1]
    elif isinstance(ids, Tensor):
        numbers = ids.to(contexts.device)
    else:
        first: dict[object, int] = {}
        numbers = torch.tensor([first.setdefault(name, len(first)) for name in ids], device=contexts.device)
    _same("context_ids", numbers.shape, (m,))
    masked: Tensor = numbers[None] == numbers[targets][:, None]
    if relevant is not None:
        _same("relevant", relevant.shape, (n, m))
        masked = masked | relevant.to(masked.device)
    own: Tensor = torch.arange(m, device=masked.device)[None] == targets[:, None]
    return masked & ~own


def _same(what: str, *shapes: Sequence[int]) -> None:
    """Raise ConfigError unless all shapes are one: broadcasting would give a number all the same, of something else."""
    first, *others = (tuple(shape) for shape in shapes)
    if any(shape != first for shape in others) or 0 in first:
        raise ConfigError(f"{what}: shapes {' and '.join(str(tuple(shape)) for shape in shapes)} do not fit together")


TRIPLET = ("query", "positive", "negative")


def of_triplets() -> dict[str, Callable[..., Tensor]]:
    """Return the losses whose first parameters are `TRIPLET`: `train.triplet_loss` takes any of them by name."""
    return {name: loss for name, loss in LOSSES.items() if tuple(inspect.signature(loss).parameters)[:3] == TRIPLET}


LOSSES: dict[str, Callable[..., Tensor]] = {
    "cross_entropy": cross_entropy,
    "binary_cross_entropy": binary_cross_entropy,
    "mean_squared_error": mean_squared_error,
    "triplet_margin": triplet_margin,
    "contrastive": contrastive,
    "in_batch_margin": in_batch_margin,
}
"""Name -> loss. What one is given is said by the names of its first parameters: (logits, targets), (predicted, targets),
(query, positive, negative), (queries, contexts, targets) or (queries, positives, negatives)."""
