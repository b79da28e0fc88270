"""What a step minimises and moves: documents of a batch, the loss of each task on them and its weight, heads, rates.

    triplets     by margin, or among all contexts of the batch (SciMult 3.4, equation 2)
    contexts     the positives of all queries, after them their hard negatives; a query without one has the others' alone
    masked       contexts that are known to belong to a query, or are the query itself; not what a triplet names its negative
    weight       (loss in this batch / loss in the first batch of the epoch that had the task) ** exponent

Under several processes the batch is that of all of them, as if one held it: each process has its share of the queries, and a
context's gradient from all of them comes back to where it was encoded (SciMult exchanges vectors without their gradients).
`in_batch_margin`, a mean over pairs of which queries have different numbers, is that of the whole batch in every process.

With unlike weights (Liu, Liang and Gitter, AAAI 2019, exponent 0.5; tried in v1 appendix B) a task that was learnt quickly weighs
less. A weight is a number: no gradient runs through it. v1 also names GradNorm (Chen et al., ICML 2018), which is not here.

    trunk: learning_rate        what the conditioning adds: conditioning_lr        heads: head_lr

Heads are one linear layer a task behind a dropout of 0.2, start as N(0, 0.02), and are thrown away after training. The optimiser
is AdamW: weight decay is 0 in SciRepEval's code (section 5) and spares biases and norms in SciMult's, whose rates also shrink from
layer to layer.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.encoders.trunk.bert import initialise
from scirep_core.encoders.trunk.packing import Packed, on
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.training.config import TrainConfig
from scirep_core.training.data import TrainTask
from scirep_core.training.losses import LOSSES, of_triplets
from scirep_core.training.processes import added, first_here, of_all, of_all_numbers

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


# ---- a batch and its losses ------------------------------------------------------------------------------------------


class Known(NamedTuple):
    """What is looked up while training.

    Attributes:
        labels: task -> (docs,) the example that labels a document, or -1; of dense labels only.
        pairs: task -> its rows (n, 3) in order of queries; of losses with in-batch negatives only.
    """

    labels: dict[str, Ints]
    pairs: dict[str, Ints]


class Batch(NamedTuple):
    """Documents packed, each once for all who ask for it.

    Attributes:
        packed: None where this process has no rows.
        rows: task -> numbers of its examples.
        places: task -> which of the packed documents each example is (n,), or a triplet's three are (n, 3).
    """

    packed: Packed | None
    rows: dict[str, Ints]
    places: dict[str, Ints]


def known_of(tasks: Sequence[TrainTask], config: TrainConfig) -> Known:
    """Return what these settings look up."""
    labels, pairs = {}, {}
    for task in tasks:
        if task.kind == "triplet" and config.triplet_loss != "triplet_margin":
            pairs[task.name] = in_order(task.rows)
        elif task.kind != "triplet" and config.dense:
            labels[task.name] = np.full(task.documents.docs, -1)
            labels[task.name][task.rows[::-1]] = np.arange(len(task))[::-1]  # of several examples the first
    return Known(labels, pairs)


def gather(
    model: Conditioned, tasks: Sequence[TrainTask], rows: Mapping[str, Ints], known: Known, world: int = 1
) -> Batch:
    """Return the documents that these rows of the tasks need, packed; with known labels, all their examples too.

    A document that several of `world` processes need takes its labels in the first of them.
    """
    asked, keys = [task for task in tasks if task.name in rows], []
    for task in asked:
        numbers, own = task.rows[rows[task.name]], FORMATS.index(task.format)
        format: Ints = np.array([FORMATS.index(task.query_format), own, own] if task.kind == "triplet" else [own])
        key: Ints = numbers * len(FORMATS) + (format if model.apart else 0)
        if task.kind == "triplet":
            key = np.where(numbers < 0, key[:, :1], key)  # no negative: its query
        keys.append(key)
    if not keys:
        if known.labels:
            first_here(np.zeros(0, np.int64), world)  # the others ask
        return Batch(None, {}, {})
    distinct, back = np.unique(np.concatenate([key.ravel() for key in keys]), return_inverse=True)
    documents, codes = np.divmod(distinct, len(FORMATS))
    routes: list[Any] = (
        [FORMATS[code] for code in codes] if model.apart else [model.conditioning.routes[0]] * len(codes)
    )
    parts = np.split(back, np.cumsum([key.size for key in keys])[:-1])
    found = {task.name: rows[task.name] for task in asked}
    places: dict[str, Ints] = {t.name: part.reshape(key.shape) for t, part, key in zip(asked, parts, keys, strict=True)}
    if known.labels:
        mine = first_here(documents, world)
        for name, labels in known.labels.items():
            places[name] = np.flatnonzero((labels[documents] >= 0) & mine)
            found[name] = labels[documents[places[name]]]
    found = {name: numbers for name, numbers in found.items() if len(numbers)}
    return Batch(model.pack(tasks[0].documents.of(documents), routes), found, places)


def losses_of(
    model: Conditioned,
    tasks: Sequence[TrainTask],
    heads: nn.ModuleDict,
    batch: Batch,
    known: Known,
    config: TrainConfig,
    here: Set[str] = frozenset(),
    world: int = 1,
) -> dict[str, Tensor]:
    """Return each task's loss, the mean over its rows in the batch; of tasks without rows none.

    Args:
        here: tasks of which some process has rows: where negatives are shared, one without takes part all the same.
        world: processes that share negatives.
    """
    vectors = encoded(model, batch, config)
    found, shared = {}, here if world > 1 and config.triplet_loss not in of_triplets() else frozenset()
    for task in tasks:
        if task.name in batch.rows or (task.kind == "triplet" and task.name in shared):
            rows = batch.rows.get(task.name, np.zeros(0, np.int64))
            outputs = outputs_of(model, task, heads, batch, vectors)
            found[task.name] = loss_of(task, rows, outputs, known, config, world)
    return found


def encoded(model: Conditioned, batch: Batch, config: TrainConfig) -> Tensor:
    """Return the vectors of a batch's documents; none of one without documents."""
    if batch.packed is None:
        return torch.zeros(0)
    device = model.trunk.words.weight.device.type
    with torch.autocast(device, torch.bfloat16, enabled=config.precision == "bfloat16"):
        vectors: Tensor = model(batch.packed)
    return vectors


def outputs_of(
    model: Conditioned, task: TrainTask, heads: nn.ModuleDict, batch: Batch, vectors: Tensor
) -> list[Tensor]:
    """Return what a task's rows of a batch come to: (n, dim) of queries, positives and negatives, or (n, outputs) of its head."""
    device = model.trunk.words.weight.device
    if task.kind != "triplet":
        places = on(str(device), batch.places[task.name])
        return [heads[key_of(task.name)](taken(vectors, places, model, task.format))]
    if task.name not in batch.rows:
        return [torch.zeros(0, model.trunk.shape.hidden_size, device=device)] * 3
    places = on(str(device), batch.places[task.name])
    formats = (task.query_format, task.format, task.format)
    return [taken(vectors, places[:, i], model, format) for i, format in enumerate(formats)]


def loss_of(
    task: TrainTask, rows: Ints, outputs: Sequence[Tensor], known: Known, config: TrainConfig, world: int = 1
) -> Tensor:
    """Return the mean loss of a task's rows with these outputs."""
    if task.kind == "triplet":
        return triplet_loss(outputs, task.rows[rows], known.pairs.get(task.name, task.rows), config, world)
    assert task.targets is not None
    (output,) = outputs
    targets = on(str(output.device), task.targets[rows])
    if task.kind == "regression":
        return LOSSES["mean_squared_error"](output.squeeze(1), targets)
    return LOSSES["cross_entropy" if task.kind == "classification" else "binary_cross_entropy"](output, targets)


def taken(vectors: Tensor, places: Tensor, model: Conditioned, format: Format) -> Tensor:
    """Return (n, dim) float32: the vectors at these places, under a format where a pass gives all."""
    if model.conditioning.shared_pass:
        vectors = vectors[:, model.conditioning.route(format)]
    return F.embedding(places, vectors.float())  # as an embedding: the gradients of a place are summed in a fixed order


# ---- triplets --------------------------------------------------------------------------------------------------------


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


# ---- weights ---------------------------------------------------------------------------------------------------------


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


# ---- what moves, and how fast ----------------------------------------------------------------------------------------


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
