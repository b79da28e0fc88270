"""Triplets among the contexts of a batch: which are negatives, against loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small_training as small
import torch

from scirep_core.kit.errors import ConfigError
from scirep_core.training import loop, objective
from scirep_core.training.config import TrainConfig
from scirep_core.training.objective import in_order, triplet_loss

CONTRASTIVE = TrainConfig(triplet_loss="contrastive")
ROWS = np.array([[0, 1, 2], [0, 2, 9], [4, 5, 0], [6, 7, -1]])


def vectors(rows: np.ndarray, dim: int = 4, seed: int = 0) -> list[torch.Tensor]:
    """Return (n, dim) vectors of queries, positives, negatives: a document has one vector wherever it stands."""
    table = torch.from_numpy(np.random.default_rng(seed).standard_normal((10, dim)))
    return [table[torch.from_numpy(np.maximum(rows[:, i], 0))].clone().requires_grad_() for i in range(3)]


def by_hand(three: list[torch.Tensor], rows: np.ndarray, known: np.ndarray, mask: bool) -> float:
    """Query by query: its positive, the other positives and all hard negatives that are not known to be right."""
    query, positive, negative = (part.detach().numpy() for part in three)
    losses = []
    for i, (q, own, _) in enumerate(rows):
        right = {p for a, p, _ in known if a == q} | {q}
        scores = [query[i] @ positive[i]]
        for j, (_, p, n) in enumerate(rows):
            if j != i and not (mask and (p in right or p == own)):
                scores.append(query[i] @ positive[j])
            if n >= 0 and (j == i or not (mask and (n in right or n == own))):
                scores.append(query[i] @ negative[j])
        losses.append(np.log(np.exp(scores).sum()) - scores[0])
    return float(np.mean(losses))


@pytest.mark.parametrize("mask", [True, False])
def test_the_loss_is_that_of_a_loop_over_queries(mask):
    config, known = replace(CONTRASTIVE, mask_duplicates=mask), np.concatenate([ROWS, [[6, 5, -1], [4, 1, 3]]])
    found = triplet_loss(vectors(ROWS), ROWS, in_order(known), config)
    assert found.item() == pytest.approx(by_hand(vectors(ROWS), ROWS, known, mask), abs=1e-10)


def test_a_negative_that_a_triplet_names_is_one_although_it_belongs_elsewhere():
    """Query 0 has 1 and 2, and the first triplet names 2 its negative: grades differ."""
    rows = ROWS[:2]
    close = vectors(rows)
    with torch.no_grad():
        close[2][0] = close[0][0] * 100  # the named negative lies at the query
    assert triplet_loss(close, rows, in_order(rows), CONTRASTIVE).item() > 20


def test_a_query_without_negative_is_refused_by_losses_that_need_one(tmp_path):
    tasks = small.tasks()
    rows = tasks[3].rows.copy()
    rows[4, 2] = -1
    tasks[3] = replace(tasks[3], rows=rows)
    with pytest.raises(ConfigError, match=r't/search: 1 of 50 rows have no negative; set triplet_loss = "contrastive"'):
        loop.train(small.model(), tasks, small.CONFIG, tmp_path)
    with pytest.raises(ConfigError, match="outside 0 to"):
        replace(tasks[3], rows=np.array([[0, -1, 2]]))
    config = replace(small.CONFIG, steps=4, warmup=1, triplet_loss="contrastive")
    assert np.isfinite(list(loop.train(small.model(), tasks, config, tmp_path).losses.values())).all()


def test_a_document_that_stands_for_no_negative_costs_no_encoding():
    task = replace(small.tasks()[3], rows=np.array([[0, 1, -1], [2, 3, 4]]))
    model, known = small.model("control_codes"), objective.Known({}, {})
    batch = objective.gather(model, [task], {task.name: np.array([0, 1])}, known)
    assert batch.packed.docs == 5
    assert batch.places[task.name][0, 2] == batch.places[task.name][0, 0]
