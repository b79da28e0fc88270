"""One pass: the document is the plain trunk's, each format's token sees itself and the document, and four cost little."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from scirep_core.encoders.conditioning import one_pass
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.encoders.trunk.counting import operations
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS

SHAPE = Shape(200, 48, 3, 4, 96, 520)
LENGTHS = [1, 2, 3, 17, 17, 64, 300, 512, 2]


def model(shape=SHAPE, routes=FORMATS, seed=0, scale=0.1):
    torch.manual_seed(seed)
    trunk = Trunk(shape)
    made = Conditioned(trunk, conditioning("one_pass", trunk, routes)).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=scale)
    return made


def documents(lengths=LENGTHS, seed=0, words=SHAPE.vocab_size):
    rng = np.random.default_rng(seed)
    return [[2, *rng.integers(5, words, length - 1).tolist()] for length in lengths]


def packed(model, documents, format="PRX"):
    return model.pack(documents, [format] * len(documents))


def test_it_is_the_trunk_over_formats_and_document_under_one_mask_in_which_no_format_is_seen_by_another():
    made, given = model(scale=0.3), documents()
    batch = packed(made, given)
    with torch.inference_mode():
        vectors, states = made(batch), made.hidden(batch)
        expected = [by_one_masked_pass(made, ids) for ids in given]
    for (formats, document), vector, rows in zip(expected, vectors, documents_of(states, batch), strict=True):
        assert (vector - formats).abs().max() < 1e-5 and (rows - document).abs().max() < 1e-5


def documents_of(states, batch):
    """Rows of each document, in the order they were given in."""
    starts = batch.starts.tolist()
    rows = {i: states[starts[n] : starts[n + 1]] for n, i in enumerate(batch.order.tolist())}
    return [rows[i] for i in range(batch.docs)]


def test_before_training_all_formats_ask_the_same_and_each_learns_from_its_own_losses():
    torch.manual_seed(0)
    trunk = Trunk(SHAPE)
    with pytest.raises(ConfigError, match="pooling is cls, not mean"):
        Conditioned(trunk, conditioning("one_pass", trunk), "mean")
    made = Conditioned(trunk, conditioning("one_pass", trunk)).eval()
    vectors = made(packed(made, documents()))
    assert (vectors - vectors[:, :1]).abs().max() < 1e-6
    (vectors[:, 2] ** 3).sum().backward()
    assert [bool(row.abs().sum() > 0) for row in made.conditioning.own.grad] == [False, False, True, False]
    assert all(parameter.grad is not None for name, parameter in trunk.named_parameters())


def by_one_masked_pass(made, ids):
    """The same, readable, over [formats; document] with a dense mask: (routes, dim), and the document's (tokens, dim)."""
    trunk, own = made.trunk, made.conditioning.own
    words = trunk.words(torch.tensor(ids))
    routes, length = len(own), len(ids)
    x = trunk.embed(torch.cat([words[:1] + own, words]), torch.tensor([0] * routes + list(range(length))))
    sees = torch.ones(routes + length, routes + length, dtype=torch.bool)
    sees[:routes, :routes] = torch.eye(routes, dtype=torch.bool)
    sees[routes:, :routes] = False
    for layer in trunk.layers:
        q, k, v = (layer.split(part(x)).transpose(0, 1) for part in (layer.query, layer.key, layer.value))
        p = F.softmax((q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf), -1)
        h = layer.norm1(x + layer.dense((p @ v).transpose(0, 1).flatten(1)))
        x = layer.norm2(h + layer.feed(h))
    return x[:routes], x[routes:]


def test_padded_as_on_a_gpu_is_the_same(monkeypatch):
    """The one block that a GPU gets, computed here."""

    made, batch = model(), packed(model(), documents())
    with torch.inference_mode():
        by_runs = made(batch)
        monkeypatch.setattr(one_pass, "AT_ONCE", ("cpu",))
        assert len(list(one_pass.blocks(batch))) == 1 < len(batch.runs)
        assert (made(batch) - by_runs).abs().max() < 1e-6


def test_four_formats_cost_little_more_than_one():
    """In operations, of documents of about 270 tokens and of 50."""
    shape = Shape(1000, 384, 4, 12, 1536)
    trunk = Trunk(shape)
    plain, four = (Conditioned(trunk, conditioning(kind, trunk)).eval() for kind in ("plain", "one_pass"))
    found = {}
    for tokens in (270, 50):
        lengths = np.clip(np.random.default_rng(0).lognormal(np.log(tokens), 0.35, 2000 // tokens), 8, 512).astype(int)
        given = documents(lengths, words=1000)
        one, all_four = (operations(made, made.pack(given, ["PRX"] * len(given))) for made in (plain, four))
        found[tokens] = all_four / one
    assert 1 < found[270] <= 1.05, found
    assert 1 < found[50] <= 1.2, found
