"""A trained model on its batches: scores give the losses of training, copies set the floor, gradients are the loss's slope."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from scirep_core.bench import in_batch
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.trunk.bert import read_trunk
from scirep_core.training.models import base
from scirep_core.training.sets import examples
from scirep_core.training.variants import budget, variant

COARSE = "scimult/pretrain_coarse"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[in_batch.Trained]:
    """A tiny Vanilla model as it starts, with the sources of a small literature."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIREP_HOME", str(tmp_path_factory.mktemp("home")))
        given = budget("tiny", cap=300)
        start = base(in_batch.ON, given)
        _, tasks = examples(start, given, variant(in_batch.VANILLA))
        trunk = read_trunk(start.folder)
        yield in_batch.Trained(Conditioned(trunk, conditioning("plain", trunk)).eval(), tasks)


def same_as_training(of, task, batch):
    one = in_batch.scored(of, task, batch)
    own = one.scores[one.own].astype(float)
    for masked, expected in ((np.zeros_like(one.masked), one.published), (one.masked, one.ours)):
        left = np.where(masked, -np.inf, one.scores.astype(float))
        assert float((np.log(np.exp(left).sum(1)) - own).mean()) == pytest.approx(expected, rel=1e-5), task.name
    assert not (one.masked & one.own).any() and one.published >= max(one.floor, one.ours) - 1e-6
    return one


def test_scores_of_a_batch_give_the_losses_of_training_and_a_hard_negative_that_is_right_elsewhere_counts(small):
    for task in small.tasks:
        same_as_training(small, task, 12)
    task = next(task for task in small.tasks if (task.rows[:, 2] >= 0).sum() > 3)
    rows = task.rows[task.rows[:, 2] >= 0][:3].copy()
    rows[1] = rows[0][[0, 2, 1]]  # graded: what one row names the negative is the other's positive
    one = same_as_training(small, replace(task, rows=rows), 3)
    assert (one.hard & ~one.masked).sum() == 3


def test_copies_of_a_positive_are_masked_and_set_the_floor(small):
    one = in_batch.scored(small, next(task for task in small.tasks if task.name == COARSE), 64)
    assert (one.copies.sum(1) > 1).mean() > 0.8  # 18 labels, 64 pairs
    assert one.floor == pytest.approx(float(np.mean([math.log(row.sum()) for row in one.copies])))
    assert (one.copies & ~one.own <= one.masked).all()


def test_every_source_has_its_losses_and_the_coarse_one_the_highest_floor(small):
    rows = {(row.task, row.metric): row for row in in_batch.losses(small, 16)}
    assert len(rows) == 5 * len(small.tasks)
    floors = {task: row.value for (task, metric), row in rows.items() if metric == "floor"}
    assert max(floors, key=lambda task: floors[task]) == COARSE
    for task, floor in floors.items():
        assert rows[task, "loss, duplicates as negatives"].value >= max(floor, rows[task, "loss, masked"].value) - 1e-6


def test_the_expected_floor_is_that_of_draws():
    drawn = [np.bincount(np.random.default_rng(i).integers(0, 18, 200), minlength=18) for i in range(400)]
    simulated = np.mean([(counts * np.log(np.maximum(counts, 1))).sum() / 200 for counts in drawn])
    assert in_batch.expected_floor(200, 18) == pytest.approx(simulated, abs=0.01)


def test_a_gradient_is_the_slope_of_the_loss_that_training_has(small):
    task = next(task for task in small.tasks if task.name == COARSE)
    found = in_batch.gradients(small, task, 12, 0)
    trunk, eps = small.model.trunk, 1e-3
    sizes = dict.fromkeys(in_batch.SHOWN, 0)
    for name, p in trunk.named_parameters():
        if in_batch.part_of(name):
            sizes[in_batch.part_of(name)] += p.numel()
    assert {part: len(grad) for part, grad in found.items()} == sizes
    moved = [p for name, p in trunk.named_parameters() if in_batch.part_of(name) == "feed-forward"]
    slope = found["feed-forward"]
    step, values = eps * slope / slope.norm(), []
    parts = step.split([p.numel() for p in moved])
    for move in (1, -2):
        for p, part in zip(moved, parts, strict=True):
            p.data += move * part.view_as(p)
        values.append(in_batch.scored(small, task, 12).ours)
    for p, part in zip(moved, parts, strict=True):
        p.data += part.view_as(p)
    assert (values[0] - values[1]) / (2 * eps) == pytest.approx(float(slope.norm()), rel=0.05)


def test_cosines_are_of_each_pair_of_tasks_and_of_two_batches_of_one(small, monkeypatch):
    found = in_batch.cosines(small, 8, 2)
    assert len(found) == 6 * len(in_batch.SHOWN)
    assert all(len(values) == 2 and all(-1 <= value <= 1 for value in values) for values in found.values())
    planted = {(a, b, part): [(0.6 if a == b else -0.2) + 0.1 * (-1) ** i for i in range(12)] for a, b, part in found}
    monkeypatch.setattr(in_batch, "cosines", lambda of, batch: planted)
    rows = {row.metric: row for row in in_batch.angles(small, 8)}
    gap = rows["mean cosine between two tasks minus within a task"]
    assert gap.value == pytest.approx(-0.8) and gap.high < 0 and gap.n == 12
    assert rows["cosine of classification and search, attention"].high < 0
