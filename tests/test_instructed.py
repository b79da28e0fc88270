"""A model told another sentence: as one built with that sentence from the same weights; Prefix and others refuse."""

from __future__ import annotations

import pytest
import torch
from test_conditioning_oracles import TOLD, mixed, model, ragged, told
from tiny_models import VOCAB

from scirep_core.data.text import Recipe
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.conditioning.experts import TASKS
from scirep_core.encoders.conditioning.prefix import instructed, with_instruction
from scirep_core.encoders.settings import Settings
from scirep_core.encoders.trunk.tokens import of_words
from scirep_core.encoders.trunk_encoder import About, TrunkEncoder
from scirep_core.kit.errors import ConfigError

TOKENS = of_words({word: i for i, word in enumerate(VOCAB)})
OTHER = "a w1 w2 of b"
TEXTS = ["w3 w4 paper", "model w5", "a b c d w6 w7 w8"]


def built(of: Conditioned, sentence: str = OTHER) -> Conditioned:
    """Return a model of the same weights that was told to link by a sentence from the start."""
    options = {task: TOLD[task] for task in TASKS} | {"link": TOKENS.ids([sentence])[0]}
    made = conditioning("instruction", of.trunk, TASKS, instructions=options)
    return Conditioned(of.trunk, made, of.pooling).eval()


def encoder(of: Conditioned, dtype: str = "float32") -> TrunkEncoder:
    about = About("f" * 16, 24, Recipe(" [SEP] "), 40, ("CLF", "PRX", "QRY"), by_task=True)
    return TrunkEncoder("small", lambda: (of, TOKENS), about, Settings(dtype, device="cpu"))


@pytest.mark.parametrize("task", ["link", "PRX"])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_it_is_the_model_that_the_sentence_and_the_same_weights_make_and_other_tasks_stay(task, pooling):
    of, documents, others = model("instruction", TASKS), ragged(), mixed(17, ("search", "classification"))
    of.pooling = pooling
    before = {task: told(of, documents, formats) for task, formats in (("link", ["link"] * 17), ("others", others))}
    swapped = with_instruction(of, TOKENS, task, OTHER)
    assert swapped.trunk is of.trunk and not swapped.training
    vectors = told(swapped, documents, ["link"] * 17)
    assert torch.equal(vectors, told(built(of), documents, ["link"] * 17))
    assert (vectors - before["link"]).abs().max() > 1e-2
    assert torch.equal(told(of, documents, ["link"] * 17), before["link"])  # the model itself
    assert torch.equal(told(swapped, documents, others), before["others"])


@pytest.mark.parametrize(
    ("kind", "task", "text", "said"),
    [
        ("prefix", "link", OTHER, "prefix cannot be told another sentence: it keeps vectors for the tokens of its own"),
        ("mha_experts", "link", OTHER, "mha_experts is not told its task by a sentence"),
        ("instruction", "RGN", OTHER, "instruction has no RGN; it has search, link, classification"),
        (
            "instruction",
            "link",
            "paper " * 50,
            "instruction of 'link' has 52 tokens, more than the trunk's 40 positions",
        ),
    ],
)
def test_what_is_not_told_by_a_sentence_of_any_words_is_refused(kind, task, text, said):
    with pytest.raises(ConfigError, match=said):
        with_instruction(model(kind, TASKS), TOKENS, task, text)


def test_an_encoder_told_otherwise_has_vectors_and_a_name_in_the_store_of_its_own():
    first = encoder(model("instruction", TASKS))
    second, third = instructed(first, "link", OTHER), instructed(first, "link", "a")
    assert len({one.fingerprint for one in (first, second, third)}) == 3
    assert instructed(first, "link", OTHER).fingerprint == second.fingerprint
    before, exact = first.encode(TEXTS, "PRX"), encoder(built(model("instruction", TASKS))).encode(TEXTS, "PRX")
    assert abs(second.encode(TEXTS, "PRX") - exact).max() < 1e-6
    assert abs(exact - before).max() > 1e-2
    assert abs(first.encode(TEXTS, "PRX") - before).max() < 1e-6  # the weights that both use are laid out once
    assert second.loaded[0].trunk is first.loaded[0].trunk
    assert (second.by_task, second.formats, second.dim) == (first.by_task, first.formats, first.dim)
    half = instructed(encoder(model("instruction", TASKS), "bfloat16"), "link", OTHER).encode(TEXTS, "PRX")
    assert ((half * exact).sum(1) / ((half**2).sum(1) * (exact**2).sum(1)) ** 0.5).min() > 0.99  # rounded once
