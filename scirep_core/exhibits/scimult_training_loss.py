"""Chapter `scimult/training`, the loss on real batches: who is whose negative, and the floor that duplicates put under it.

    floor = mean over queries of ln(copies of a query's own positive among the contexts)          SciMult equation 2

A copy of the positive has the positive's own score, so with k of them, all but one called negatives, no encoder can bring the
loss below ln k: SciMult's code does so. Masked (ours), they do not count. With L labels that are equally frequent, a batch of B
has 1 + Binomial(B - 1, 1 / L) copies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from scirep_core.data.inventory import TASKS
from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.encoders.models.model_store import load_model
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic, provenance
from scirep_core.results.published import lookup
from scirep_core.training.batching import plan
from scirep_core.training.config import TrainConfig
from scirep_core.training.contrast import Ints, belongs, triplet_loss
from scirep_core.training.data import TrainTask
from scirep_core.training.loop import gather, known_of, taken
from scirep_core.training.models import base, obtain
from scirep_core.training.sets import examples, hash_of
from scirep_core.training.variants import budget, config, variant

COARSE = "scimult/pretrain_coarse"
VANILLA, ON = "SciMult Vanilla", "embedded untrained"
DRAWN = 16
"""Queries of the batch that is drawn."""
BATCHES = 10
"""Batches of each source that are measured."""
FIELDS, PER_FIELD = 18, 50_000
"""Coarse labels of the training, and papers of each (appendix A.1)."""
CAP = 100
"""Pairs a fine label is in at most (appendix A.1)."""


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
    """The live Vanilla model and what it was trained on."""

    model: Conditioned
    tasks: list[TrainTask]


def trained(chapter: Chapter) -> Trained:
    """Return the live Vanilla model, trained by now, with its sources of pairs."""
    given = study_.live_budget(chapter.parameters)
    made = obtain(VANILLA, 0, given, ON)[0]
    _, tasks = examples(base(ON, given), given, variant(VANILLA))
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


# ---- one batch -------------------------------------------------------------------------------------------------------


@report.styled
def draw_batch(chapter: Chapter, of: Trained) -> None:
    """Draw the score matrix of one batch of coarse pairs: own positives, hard negatives, duplicates and the rest."""
    task = next(task for task in of.tasks if task.name == COARSE)
    one = scored(of, task, DRAWN)
    n, m = one.scores.shape
    low, high = one.scores.min(1, keepdims=True), one.scores.max(1, keepdims=True)
    shade = (one.scores - low) / np.maximum(high - low, 1e-9)
    figure, axes = report.subplots(figsize=(report.WIDTH, 1.3 + report.WIDTH * n / m * 0.92))
    for y, x in np.ndindex(n, m):
        colour = report.SERIES[0] if one.masked[y, x] else report.LIVE
        axes.add_patch(_square(x, y, colour, 0.08 + 0.72 * float(shade[y, x])))
        if one.own[y, x] or one.hard[y, x]:
            axes.plot([x], [y], "o" if one.own[y, x] else "x", color=report.INK, markersize=4)
    axes.axvline(n - 0.5, color=report.MUTED, linewidth=1)
    axes.set_xlim(-0.6, m - 0.4)
    axes.set_ylim(n - 0.4, -0.6)
    axes.set_xticks([n / 2 - 0.5, n + (m - n) / 2 - 0.5], ["positives of all queries", "hard negatives"])
    axes.set_yticks([])
    axes.set_ylabel("queries")
    axes.grid(visible=False)
    axes.set_aspect("equal")
    for colour, name in ((report.LIVE, "score"), (report.SERIES[0], "score of a context that is masked")):
        axes.plot([], [], "s", color=colour, alpha=0.6, label=name)
    axes.plot([], [], "o", color=report.INK, markersize=4, label="own positive")
    axes.plot([], [], "x", color=report.INK, markersize=4, label="own hard negative")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    frame = pd.DataFrame([
        {"query": y, "context": x, "score": one.scores[y, x], "own": one.own[y, x], "hard": one.hard[y, x],
         "masked": one.masked[y, x]}
        for y, x in np.ndindex(n, m)
    ])  # fmt: skip
    chapter.figure(
        "scores", figure, frame,
        f"Live: inner products of one batch of coarse pairs after training, {n} papers (rows) by {n} positives and {m - n} "
        "hard negatives (columns; not every paper has one); the stronger the colour, the higher within its row. With copies as "
        f"negatives only the dot is right. {int(one.masked.sum())} of the {n * m - n} other cells are the paper’s own label "
        "again, or another label that it has: our default masks them.",
        f"A grid of {n} by {m} squares, dots on the diagonal, {int(one.masked.sum())} squares in the second colour.",
    )  # fmt: skip
    hashed, told = hash_of(of.tasks), {
        "loss, duplicates as negatives": one.published, "floor of the loss": one.floor, "loss, masked": one.ours,
        "copies of a query’s label": float(one.copies.sum(1).mean()),
    }  # fmt: skip
    rows = chapter.record([_row(COARSE, f"{name}, batch drawn", value, n, hashed) for name, value in told.items()])
    asked = [chapter.number(row, places) for row, places in zip(rows, (2, 2, 2, 1), strict=True)]
    chapter.say(
        f"This batch has a loss of {asked[0]} with copies as negatives, of which no training could remove {asked[1]}, since "
        f"a query’s label stands there {asked[3]} times on average; with duplicates masked it is {asked[2]}."
    )


def _square(x: int, y: int, colour: str, alpha: float) -> Any:
    return mpl.patches.Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, facecolor=colour, alpha=alpha, linewidth=0)


def _row(task: str, metric: str, value: float, n: int, hashed: str) -> Result:
    return Result(
        task, "train", metric, "paper", value, n, encoder=VANILLA, source="embedded", data_hash=hashed,
        similarity="dot", provenance=provenance(), note="without dropout",
    )  # fmt: skip


# ---- every source ----------------------------------------------------------------------------------------------------


def sources(chapter: Chapter, of: Trained) -> None:
    """Show each source's loss with and without masking, and the floor under it, at the batch size of the live training."""
    size, hashed, body = study_.live_budget(chapter.parameters).train["batch"], hash_of(of.tasks), []
    made: dict[str, list[Result]] = {}
    for task in of.tasks:
        several = [scored(of, task, size, step) for step in range(BATCHES)]
        n = size * BATCHES
        numbers = {
            "queries with another copy, %": 100 * float(np.mean([(one.copies.sum(1) > 1).mean() for one in several])),
            "queries with a hard negative, %": 100 * float(np.mean([one.hard.any(1).mean() for one in several])),
            "loss, duplicates as negatives": float(np.mean([one.published for one in several])),
            "floor": float(np.mean([one.floor for one in several])),
            "loss, masked": float(np.mean([one.ours for one in several])),
        }
        made[task.name] = chapter.record([_row(task.name, f"{key}, batches of {size}", value, n, hashed)
                                          for key, value in numbers.items()])  # fmt: skip
        places = (0, 0, 2, 2, 2)
        body.append(
            [TASKS[task.name].title, *(chapter.number(row, k) for row, k in zip(made[task.name], places, strict=True))]
        )
    chapter.show(
        report.table(
            ["Source", "with another copy, %", "with a hard negative, %", "loss, copies as negatives", "its floor", "loss, masked"],
            body,
            f"Live: {len(of.tasks)} sources of training pairs, mean of {BATCHES} batches of {size} in one trained model: queries "
            "whose positive stands in the batch again, queries with a hard negative of their own, and the loss: with copies "
            "of a positive as negatives, as the published code has it, the floor that these put under it, and with copies masked",
            [["", *["live"] * 5]] * len(body),
        )
    )  # fmt: skip
    worst, least = (way(made.values(), key=lambda rows: rows[3].value) for way in (max, min))
    chapter.say(
        f"The floor is highest for {TASKS[worst[3].task].title}, {chapter.number(worst[3])} of a loss of "
        f"{chapter.number(worst[2])}, and lowest for {TASKS[least[3].task].title}, {chapter.number(least[3])} of "
        f"{chapter.number(least[2])}. Sources of a small literature have few labels and few papers, so that copies meet sooner "
        "than in large ones."
    )


# ---- the floor -------------------------------------------------------------------------------------------------------


def expected_floor(batch: int, labels: int) -> float:
    """Return the mean of ln(copies) in a batch of pairs whose labels are equally frequent.

    >>> expected_floor(1, 18), abs(expected_floor(100_000, 18) - math.log(100_000 / 18)) < 0.001
    (0.0, True)
    """
    from scipy.stats import binom

    others = np.arange(batch)  # queries of the batch that share the label, 0 to batch - 1
    return float(binom.pmf(others, batch - 1, 1 / labels) @ np.log1p(others))


@report.styled
def floors(chapter: Chapter) -> None:
    """Draw the floor of the coarse source against the batch size, and say it for SciMult's batches."""
    said, sizes = lookup("SM-C8"), lookup("SM-TA1")
    gpus, per = said["SciMult", "GPUs"], said["SciMult", "batch size per GPU"]
    pairs = [number for (_, column), number in sizes.items() if "Pairs" in column]
    coarse, fine = (sizes[name, pairs[0].column] for name in ("MAPLE (Coarse)", "MAPLE (CS-Journal)"))
    batch, share = int(gpus.number * per.number), coarse.number / sum(one.number for one in pairs)
    mixed = round(batch * share)
    quoted = [gpus, per]
    rows = chapter.record([
        arithmetic("SM-C8", "copies of a coarse label in a batch", batch / FIELDS, batch, quoted),
        arithmetic("SM-C8", "ln(copies of a coarse label in a batch)", math.log(batch / FIELDS), batch, quoted),
        arithmetic("SM-C8", "floor of the loss, coarse batches", expected_floor(batch, FIELDS), batch, quoted),
        arithmetic("SM-C8", "coarse pairs in a batch of all sources", mixed, batch, [*quoted, *pairs]),
        arithmetic("SM-C8", "floor of the loss of coarse pairs, mixed batches", expected_floor(mixed, FIELDS), mixed,
                   [*quoted, *pairs]),
        arithmetic("SM-C8", "queries of a fine label that share it, at most, %",
                   100 * -math.expm1(-(batch - 1) * (CAP - 1) / fine.number), batch, [*quoted, fine]),
    ])  # fmt: skip
    drawn = np.unique(np.geomspace(2, 4096, 60).astype(int))
    figure, axes = report.subplots(figsize=(report.WIDTH, 2.7))
    axes.plot(drawn, [expected_floor(int(b), FIELDS) for b in drawn], color=report.RECORDED, linewidth=1.6)
    marks = {"one GPU": int(per.number), "mixed sources": mixed, "global batch": batch}
    for name, b in marks.items():
        axes.plot([b], [expected_floor(b, FIELDS)], "o", color=report.RECORDED, markersize=6)
        axes.annotate(f"{name}, {b:,}", (b, expected_floor(b, FIELDS)), xytext=(-6, 6), textcoords="offset points", ha="right",
                      fontsize=9)  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("coarse pairs in a batch")
    axes.set_ylabel("least loss")
    frame = pd.DataFrame({"pairs in a batch": drawn, "floor": [expected_floor(int(b), FIELDS) for b in drawn]})
    chapter.figure(
        "floor", figure, frame,
        f"Computed: the least loss of coarse pairs with {FIELDS} equally frequent labels when copies of one’s own label "
        "count as negatives, by pairs in a batch; the training set has equally many papers of each.",
        f"A curve that rises with the logarithm of the batch size to {expected_floor(batch, FIELDS):.1f} at {batch:,}.",
    )  # fmt: skip
    numbers = [chapter.number(row, k) for row, k in zip(rows, (1, 2, 2, 0, 2, 0), strict=True)]
    chapter.say(
        f"With {chapter.number(gpus)} GPUs of {chapter.number(per)} pairs and batches of one source, as the published code "
        f"draws them, each of the {FIELDS} coarse labels is there {numbers[0]} times on average, and the loss cannot fall "
        f"below about ln {numbers[0]} = {numbers[1]} (the mean over draws of a batch: {numbers[2]}). Were all sources mixed "
        f"in a batch, about {numbers[3]} of its pairs would be coarse, with a floor of {numbers[4]}. The paper does not say "
        f"which it did. A fine label is in at most {CAP} pairs (appendix A.1), so that no more than about {numbers[5]} % of "
        "the queries in a batch of CS-Journal meet their label again."
    )
    chapter.say(
        "A floor does not stop learning by itself. With k copies of one vector the loss is ln k + ln(1 + Z / (k exp(s))), "
        "where s is the score of the positive and Z the sum of exp over all other contexts: the positive weighs k times, "
        "and the second part can still go to 0. The harm is elsewhere: a paper’s further labels are right answers too and "
        "are pushed away as negatives, and where each copy is encoded anew, as in the published code, dropout makes them "
        "differ, so that telling them apart is noise. What masking changes in scores is a question for trainings, at the end of "
        "this page."
    )
