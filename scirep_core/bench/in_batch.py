"""A trained model on batches of its own training: who is whose negative, what loss is left, where gradients of tasks point.

    floor = mean over queries of ln(copies of a query's own positive among the contexts)          SciMult equation 2
    cos(g_a, g_b)    of the gradients of two batches, of one task or of two, in one part of the encoder

A copy of the positive has the positive's own score, so with k of them, all but one called negatives, no encoder can bring the
loss below ln k: SciMult's code does so. Masked (ours), they do not count. With L labels that are equally frequent, a batch of B
has 1 + Binomial(B - 1, 1 / L) copies.

Gradients are of batches without dropout; a mean over draws of batches has a 95 % interval (t), which is of batches and not of
trainings. Where the summed loss of all tasks is at a minimum their gradients add up to 0, so that some oppose others whatever
the tasks have to do with one another: the model's state belongs to the number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from scirep_core.bench.studies.outcome import over
from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.encoders.conditioning.parts import PARTS
from scirep_core.encoders.models.model_store import load_model
from scirep_core.results import Result, provenance
from scirep_core.training.batching import plan
from scirep_core.training.config import TrainConfig
from scirep_core.training.data import TrainTask, hash_of
from scirep_core.training.models import base, obtain
from scirep_core.training.objective import Ints, belongs, gather, known_of, taken, triplet_loss
from scirep_core.training.sets import examples
from scirep_core.training.variants import ALONE, Budget, budget, config, variant

VANILLA, ON = "SciMult Vanilla", "embedded untrained"
BATCHES, DRAWS = 10, 12
"""Batches of each source that are measured; draws of two batches of each task."""
SHOWN = ("embeddings", "attention", "feed-forward")
"""Parts of the encoder whose gradients are compared."""
Grads = Mapping[str, torch.Tensor]
"""Part -> its gradient (parameters,)."""
Pair = tuple[str, str, str]
"""Task, task, part of the encoder."""


class Scored(NamedTuple):
    """A batch's score matrix.

    Attributes:
        scores: (n, m) inner products of queries with contexts: n positives, after them the hard negatives.
        own, hard, copies, masked: (n, m) each query's own positive; its own hard negative; its positive's document, wherever it
            stands; contexts that do not count against it when duplicates are masked, its own positive aside.
        published, ours: the loss without and with masking, as training computes it.
    """

    scores: NDArray[np.float32]
    own: NDArray[np.bool_]
    hard: NDArray[np.bool_]
    copies: NDArray[np.bool_]
    masked: NDArray[np.bool_]
    published: float
    ours: float

    @property
    def floor(self) -> float:
        """The least loss that any encoder can reach where copies are negatives."""
        return float(np.log(self.copies.sum(1)).mean())


class Drawn(NamedTuple):
    """A batch of one source, encoded.

    Attributes:
        three: (n, dim) vectors of queries, positives and negatives; of a row without a negative the last is not looked at.
        rows: (n, 3) their documents; -1 for no negative.
        known: all rows of the source, in order of their queries.
    """

    three: Sequence[torch.Tensor]
    rows: Ints
    known: Ints

    def loss(self, masks: bool = True) -> torch.Tensor:
        """Return the loss as training computes it, with duplicates masked or as negatives."""
        return triplet_loss(self.three, self.rows, self.known, replace(_settings(), mask_duplicates=masks))


class Trained(NamedTuple):
    """A model and what it was trained on."""

    model: Conditioned
    tasks: list[TrainTask]


def trained(given: Budget, name: str = VANILLA) -> Trained:
    """Return a variant of the embedded literature, trained by now, with its sources of pairs."""
    made = obtain(name, 0, given, ON)[0]
    _, tasks = examples(base(ON, given), given, variant(name))
    return Trained(load_model(made.folder).model.eval(), tasks)


def _settings() -> TrainConfig:
    return config(VANILLA, 0, budget("small"))  # the loss is the same at every budget


def drawn(of: Trained, task: TrainTask, batch: int, step: int = 0) -> Drawn:
    """Return a source's batch, as training would draw it were the source alone, encoded without dropout."""
    numbers = plan({task.name: len(task)}, batch, "homogeneous", 0, step)
    known = known_of([task], _settings())
    found = gather(of.model, [task], numbers, known)
    assert found.packed is not None
    vectors, places = of.model(found.packed), torch.from_numpy(found.places[task.name])
    three = [taken(vectors, places[:, i], of.model, task.format) for i in range(3)]
    return Drawn(three, task.rows[numbers[task.name]], known.pairs[task.name])


# ---- the loss --------------------------------------------------------------------------------------------------------


def scored(of: Trained, task: TrainTask, batch: int, step: int = 0) -> Scored:
    """Return the scores and losses of a batch of a source."""
    with torch.no_grad():
        made = drawn(of, task, batch, step)
        rows, three, losses = made.rows, made.three, [float(made.loss(masks)) for masks in (False, True)]
        has = np.flatnonzero(rows[:, 2] >= 0)
        scores = (three[0] @ torch.cat([three[1], three[2][torch.from_numpy(has)]]).T).numpy()
    contexts = np.concatenate([rows[:, 1], rows[has, 2]])
    own, hard = (np.zeros(scores.shape, dtype=bool) for _ in range(2))
    own[np.arange(len(rows)), np.arange(len(rows))] = True
    hard[has, len(rows) + np.arange(len(has))] = True
    copies = contexts[None] == rows[:, 1][:, None]
    right = belongs(rows[:, 0], contexts, made.known) & ~hard
    return Scored(scores, own, hard, copies, (right | copies) & ~own, *losses)


def losses(of: Trained, batch: int) -> list[Result]:
    """Return, for every source, what its batches hold and cost: copies, hard negatives, the loss both ways, its floor."""
    hashed, rows = hash_of(of.tasks), []
    for task in of.tasks:
        several = [scored(of, task, batch, step) for step in range(BATCHES)]
        numbers = {
            "queries with another copy, %": [100 * (one.copies.sum(1) > 1).mean() for one in several],
            "queries with a hard negative, %": [100 * one.hard.any(1).mean() for one in several],
            "loss, duplicates as negatives": [one.published for one in several],
            "floor": [one.floor for one in several],
            "loss, masked": [one.ours for one in several],
        }
        rows += [Result(
            task.name, "train", metric, "paper", float(np.mean(of_each)), batch * BATCHES, encoder=VANILLA, source="embedded",
            data_hash=hashed, similarity="dot", provenance=provenance(), note=f"without dropout, batches of {batch}",
        ) for metric, of_each in numbers.items()]  # fmt: skip
    return rows


def expected_floor(batch: int, labels: int) -> float:
    """Return the mean of ln(copies) in a batch of pairs whose labels are equally frequent.

    >>> import math
    >>> expected_floor(1, 18), abs(expected_floor(100_000, 18) - math.log(100_000 / 18)) < 0.001
    (0.0, True)
    """
    from scipy.stats import binom

    others = np.arange(batch)  # queries of the batch that share the label, 0 to batch - 1
    return float(binom.pmf(others, batch - 1, 1 / labels) @ np.log1p(others))


# ---- gradients -------------------------------------------------------------------------------------------------------


def gradients(of: Trained, task: TrainTask, batch: int, step: int) -> Grads:
    """Return the gradient of a batch's loss in each part of the trunk."""
    of.model.zero_grad()
    drawn(of, task, batch, step).loss().backward()  # type: ignore[no-untyped-call]
    found: dict[str, list[torch.Tensor]] = {part: [] for part in SHOWN}
    for name, parameter in of.model.trunk.named_parameters():
        part = part_of(name)
        if part in found and parameter.grad is not None:
            found[part].append(parameter.grad.flatten().clone())
    of.model.zero_grad()
    return {part: torch.cat(grads) for part, grads in found.items()}


def part_of(name: str) -> str:
    """Return the part of the encoder a parameter of the trunk belongs to, "" for norms.

    >>> part_of("layers.0.query.weight"), part_of("words.weight"), part_of("layers.1.output.bias")
    ('attention', 'embeddings', 'feed-forward')
    """
    if not name.startswith("layers."):
        return "" if name.startswith("norm") else SHOWN[0]
    module = name.split(".")[2]
    return next((part for part, modules in PARTS.items() if module in modules and part in SHOWN), "")


def cosines(of: Trained, batch: int, draws: int = DRAWS) -> dict[Pair, list[float]]:
    """Return the cosines by (task, task, part), one a draw: of two batches of one task, or of one batch of each.

    A draw takes two batches of every task, of pairs from each of its sources in turn.
    """
    sources = {what: [task for task in of.tasks if task.format == format] for what, format in ALONE.items()}
    pairs = list(combinations_with_replacement(sources, 2))
    found: dict[Pair, list[float]] = {(a, b, part): [] for a, b in pairs for part in SHOWN}
    for draw in range(draws):
        two = {
            what: [gradients(of, tasks[draw % len(tasks)], batch, 2 * draw + i) for i in range(2)]
            for what, tasks in sources.items()
        }
        for a, b in pairs:
            for part in SHOWN:
                cosine = torch.nn.functional.cosine_similarity(two[a][0][part], two[b][1][part], dim=0)
                found[a, b, part].append(float(cosine))
    return found


def angles(of: Trained, batch: int) -> list[Result]:
    """Return the mean cosine of every two tasks in every part, of all pairs of tasks, within a task, and their difference."""
    with torch.enable_grad():
        found = cosines(of, batch)
    apart, same = (
        np.mean([values for (a, b, _), values in found.items() if (a == b) == way], axis=0) for way in (False, True)
    )
    named = {f"cosine of {a} and {b}, {part}": values for (a, b, part), values in found.items()} | {
        "mean cosine between two tasks": apart, "mean cosine within a task": same,
        "mean cosine between two tasks minus within a task": apart - same,
    }  # fmt: skip
    means, hashed = {metric: over(values) for metric, values in named.items()}, hash_of(of.tasks)
    return [Result(
        "scimult/gradients", "train", metric, "paper", one.value, len(one.values), encoder=VANILLA, low=one.low, high=one.high,
        source="embedded", data_hash=hashed, provenance=provenance(), note="n: draws of two batches",
    ) for metric, one in means.items()]  # fmt: skip
