"""Losses equal torch's own and mask exactly what is no negative; test_registered has what holds of every loss."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_registered import N, given_to
from torch.nn import functional as F

from scirep_core.kit.errors import ConfigError
from scirep_core.training import losses
from scirep_core.training.losses import LOSSES


def drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * scale


ORACLES = {
    "cross_entropy": F.cross_entropy,
    "binary_cross_entropy": F.binary_cross_entropy_with_logits,
    "mean_squared_error": F.mse_loss,
    "triplet_margin": F.triplet_margin_loss,
    "contrastive": lambda q, c, t: F.cross_entropy(q @ c.T, t),
    "in_batch_margin": lambda q, p, n: F.triplet_margin_loss(q, p, n) + sum(
        F.relu((q[i] - p[i]).norm() - (q[i] - c[j]).norm() + 1) for c in (p, n) for i in range(N) for j in range(N) if i != j
    ) / (2 * N * (N - 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_value_and_gradient_are_torchs_own(name: str, scale: float):
    learned, given_ = given_to(name, scale=scale)
    grads = []
    for function in (LOSSES[name], ORACLES[name]):
        value = function(*(tensor.requires_grad_() for tensor in learned), *given_)
        assert value.shape == ()
        grads.append((value.detach(), *torch.autograd.grad(value, learned)))
    for ours, theirs in zip(*grads, strict=True):
        # in-batch distances of the oracle carry no eps: 1e-6 in a distance, and its slope is 1e-6 / distance away
        loose = 1e-4 if name == "in_batch_margin" and scale < 1 else 2e-5 if name == "in_batch_margin" else 1e-12
        torch.testing.assert_close(ours, theirs, rtol=loose, atol=loose)


def test_temperature_divides_the_inner_products():
    (queries, contexts), (targets,) = given_to("contrastive")
    found = losses.contrastive(queries, contexts, targets, temperature=0.01)
    torch.testing.assert_close(found, F.cross_entropy(queries @ contexts.T / 0.01, targets))
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ConfigError, match="temperature"):
            losses.contrastive(queries, contexts, targets, temperature=wrong)


def test_one_label_in_a_whole_batch_costs_nothing_once_it_is_masked():
    """SciMult's coarse pairs: n copies of the right label as negatives hold the published loss at ln n."""
    queries, label = drawn(8, 4), drawn(1, 4, seed=1)
    contexts, targets = label.expand(8, 4), torch.arange(8)
    published = losses.contrastive(queries, contexts, targets, mask_duplicates=False)
    assert published.item() == pytest.approx(math.log(8))
    assert losses.contrastive(queries, contexts, targets).item() == pytest.approx(0.0, abs=1e-12)
    through_dropout = contexts + 0.01 * drawn(8, 4, seed=2)
    assert losses.contrastive(queries, through_dropout, targets).item() > 1.0  # nothing says that they are the same
    assert losses.contrastive(queries, through_dropout, targets, context_ids=["x"] * 8).item() == pytest.approx(0.0)


@pytest.mark.parametrize("as_tensor", [True, False])
def test_masking_leaves_each_query_its_positive_and_its_real_negatives(as_tensor: bool):
    """Contexts a b a | c d b, positives 0 1 2; c is relevant to query 1: query 0 keeps a b c d b, query 1 a b a d."""
    queries, contexts = drawn(3, 4), drawn(6, 4, seed=1)
    ids = torch.tensor([7, 8, 7, 9, 5, 8]) if as_tensor else ["a", "b", "a", "c", "d", "b"]
    relevant = torch.zeros(3, 6, dtype=torch.bool)
    relevant[1, [1, 3]] = True  # its own positive is relevant to it, and stays
    kept = {0: [0, 1, 3, 4, 5], 1: [0, 1, 2, 4], 2: [1, 2, 3, 4, 5]}
    scores = queries @ contexts.T
    by_hand = sum(scores[i, cs].logsumexp(0) - scores[i, i] for i, cs in kept.items()) / 3
    found = losses.contrastive(queries, contexts, torch.arange(3), context_ids=ids, relevant=relevant)
    torch.testing.assert_close(found, by_hand)
    as_published = losses.contrastive(queries, contexts, torch.arange(3), 1.0, False, ids, relevant)
    torch.testing.assert_close(as_published, F.cross_entropy(scores, torch.arange(3)))


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_without_ids_equal_vectors_are_the_same_context(names: list[int], seed: int):
    vectors = drawn(4, 3, seed=seed)
    queries, contexts, targets = drawn(len(names), 3, seed=seed + 1), vectors[names], torch.arange(len(names))
    found = losses.contrastive(queries, contexts, targets)
    torch.testing.assert_close(found, losses.contrastive(queries, contexts, targets, context_ids=names))
    if len(set(names)) == len(names):
        torch.testing.assert_close(found, losses.contrastive(queries, contexts, targets, mask_duplicates=False))


def test_in_batch_margin_leaves_out_what_is_the_same_paper():
    """Two queries of one positive: it is no negative of the other, so with ids only the given negatives are left."""
    queries, paper, negatives = drawn(2, 3), drawn(1, 3, seed=1), drawn(2, 3, seed=2)
    positives = paper.expand(2, 3)
    found = losses.in_batch_margin(queries, positives, negatives, margin=50.0, context_ids=["p", "p", "m", "n"])
    own = losses.triplet_margin(queries, positives, negatives, margin=50.0)
    crossed = losses.triplet_margin(queries, positives, negatives.flip(0), margin=50.0)
    torch.testing.assert_close(found, own + crossed, rtol=1e-6, atol=1e-5)
    everything = losses.in_batch_margin(queries, positives, negatives, margin=50.0, mask_duplicates=False)
    torch.testing.assert_close(everything, own + (crossed + 50.0) / 2, rtol=1e-6, atol=1e-5)
    one = [drawn(1, 3, seed=i) for i in range(3)]  # no batch beside it
    torch.testing.assert_close(losses.in_batch_margin(*one), losses.triplet_margin(*one))


def test_a_refusal_names_the_loss_and_its_shapes():
    """A head's (n, 1) against targets (n,) would be the mean over all pairs: a number, and a wrong one."""
    with pytest.raises(ConfigError, match=r"mean_squared_error: shapes \(4, 1\) and \(4,\)"):
        losses.mean_squared_error(torch.zeros(4, 1), torch.zeros(4))
    with pytest.raises(ConfigError, match="context_ids"):
        losses.contrastive(torch.zeros(4, 3), torch.zeros(4, 3), torch.arange(4), context_ids=["a", "b"])
