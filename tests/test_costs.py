"""What a way costs by arithmetic: the published counts, every layer counted, one shape from another, members added."""

from __future__ import annotations

import pytest
import torch

from scirep_core.bench.speed.efficiency import cost, counted, fusion_as_published
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.trunk import counting
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.encoders.trunk.shapes import SHAPES, shape
from scirep_core.encoders.trunk.speed import flops
from scirep_core.kit.errors import ConfigError

SMALL = Shape(100, 32, 5, 4, 64)
BASE = SHAPES["bert-base"]
WAYS = ("MTL CLS", "MTL CTRL", "PALs", "Adapters", "Fusion", "one pass")


@pytest.mark.parametrize("name", WAYS)
def test_layers_that_are_not_counted_one_by_one_cost_what_they_would(name: str):
    assert cost(name, SMALL, 20) == counted(name, SMALL, 20)


def test_one_vector_takes_the_operations_of_the_formula_training_three_times_as_many_and_formats_are_passes():
    found, codes, shared = (cost(name, SMALL, 20) for name in ("MTL CLS", "MTL CTRL", "one pass"))
    assert found.encode == found.encode_all == flops(SMALL, [20])
    assert found.train == 3 * found.encode  # the first layer's input has gradients too: word vectors move
    assert found.stored == 32 * 4 and shared.stored == 4 * found.stored
    assert codes.encode_all == 4 * codes.encode and shared.encode_all == shared.encode


def test_members_are_added_and_a_mean_is_no_longer_than_one_of_them():
    a, b, both = (cost(name, SMALL, 20) for name in ("Adapters", "MTL CTRL", "Adapters + MTL CTRL"))
    assert both[:-1] == tuple(x + y for x, y in zip(a[:-1], b[:-1], strict=True))
    assert (both.stored, cost("Adapters ++ MTL CTRL", SMALL, 20).stored) == (a.stored, 2 * a.stored)
    assert cost("mean of two MTL CLS", SMALL, 20).train == 2 * cost("MTL CLS", SMALL, 20).train
    # forward, and backward through the trunk; but no gradient of its weights: two thirds
    assert 0.66 < cost("Adapters", BASE, 512).train / cost("MTL CTRL", BASE, 512).train < 0.70


def test_published_fusion_has_nine_products_where_ours_has_three():
    ours, theirs = cost("Fusion", SMALL, 20), fusion_as_published(SMALL, 20)
    rows = 4 * 20 + 1
    assert theirs.encode - ours.encode == rows * 6 * 2 * 32**2
    assert theirs.encode_all - ours.encode_all == 4 * (theirs.encode - ours.encode)
    assert theirs.parameters == ours.parameters


def test_what_is_kept_for_the_backward_pass_is_near_what_torch_keeps():
    """On real tensors of a CPU, whose attention keeps no weights either; weights and token ids are not counted."""
    given = Shape(100, 64, 2, 2, 256, attention_probs_dropout_prob=0.0)
    trunk = Trunk(given)
    model = Conditioned(trunk, conditioning("plain", trunk)).train()
    weights = {p.untyped_storage()._cdata for p in model.parameters()}
    held = {}

    def keep(x: torch.Tensor) -> torch.Tensor:
        if x.untyped_storage()._cdata not in weights:
            held[x.untyped_storage()._cdata] = x.untyped_storage()
        return x

    batch = model.pack([[1] * 100], ["PRX"])
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        model(batch)
    real = sum(storage.nbytes() for storage in held.values())
    assert counting.step(model, batch).activations == pytest.approx(real, rel=0.1)


@pytest.mark.parametrize(
    ("call", "said"),
    [(lambda: cost("Base", SMALL, 20), "nothing tells it"), (lambda: cost("MTL CLS", SMALL, 600), "1 to 512"),
     (lambda: shape("bert-bse"), "did you mean 'bert-base'")],
)  # fmt: skip
def test_bad_input_is_refused(call, said: str):
    with pytest.raises(ConfigError, match=said):
        call()
