"""A model told another sentence: as one built with that sentence from the same weights; Prefix and others refuse."""

from __future__ import annotations

import copy

import pytest
import torch
from tiny_models import VOCAB

from scirep_core.data.text import Recipe
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.conditioning.experts import TASKS
from scirep_core.encoders.conditioning.prefix import instructed, instructions, with_instruction
from scirep_core.encoders.settings import Settings
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.encoders.trunk.tokens import of_words
from scirep_core.encoders.trunk_encoder import About, TrunkEncoder
from scirep_core.kit.errors import ConfigError

TOKENS = of_words({word: i for i, word in enumerate(VOCAB)})
TOLD = {"search": "query paper", "link": "paper of paper", "classification": "model paper"}
OTHER = "a w1 w2 of b"
TEXTS = ["w3 w4 paper", "model w5", "a b c d w6 w7 w8"]


def model(kind: str = "instruction", told: dict[str, str] | None = None) -> Conditioned:
    torch.manual_seed(0)
    trunk = Trunk(Shape(len(VOCAB), 16, 3, 2, 32, 40))
    with torch.no_grad():
        for weight in trunk.parameters():
            if weight.dim() > 1:
                weight.normal_(std=0.5)
    known = instructions(lambda text: TOKENS.ids([text])[0], TASKS, told or TOLD)
    options = {"instructions": known} if kind in ("instruction", "prefix") else {}
    return Conditioned(trunk, conditioning(kind, trunk, TASKS, **options)).eval()


def vectors(of: Conditioned, task: str) -> torch.Tensor:
    with torch.no_grad():
        return of(of.pack(TOKENS.ids(TEXTS), [task] * len(TEXTS)))


def encoder(of: Conditioned) -> TrunkEncoder:
    about = About("f" * 16, 16, Recipe(" [SEP] "), 40, ("CLF", "PRX", "QRY"), by_task=True)
    return TrunkEncoder("small", lambda: (of, TOKENS), about, Settings(device="cpu"))


# ---- the model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["link", "PRX"])
def test_it_is_the_model_that_the_sentence_and_the_same_weights_make(task):
    of = model()
    swapped, built = with_instruction(of, TOKENS, task, OTHER), model(told=TOLD | {"link": OTHER})
    assert torch.equal(vectors(swapped, "link"), vectors(built, "link"))
    assert (vectors(swapped, "link") - vectors(of, "link")).abs().max() > 1e-2
    of.pooling = built.pooling = "mean"
    assert torch.equal(vectors(with_instruction(of, TOKENS, task, OTHER), "link"), vectors(built, "link"))


def test_other_tasks_and_the_model_itself_stay_as_they_are():
    of = model()
    before = {task: vectors(of, task) for task in TASKS}
    swapped = with_instruction(of, TOKENS, "link", OTHER)
    for task in ("search", "classification"):
        assert torch.equal(vectors(swapped, task), before[task])
    assert all(torch.equal(vectors(of, task), before[task]) for task in TASKS) and swapped.trunk is of.trunk
    assert not swapped.training
    assert torch.equal(vectors(with_instruction(of, TOKENS, "link", TOLD["link"]), "link"), before["link"])


def test_what_is_not_told_by_a_sentence_of_any_words_is_refused():
    for kind, task, text, said in (
        ("prefix", "link", OTHER, "prefix cannot be told another sentence: it keeps vectors for the tokens of its own"),
        ("mha_experts", "link", OTHER, "mha_experts is not told its task by a sentence"),
        ("instruction", "RGN", OTHER, "instruction has no RGN; it has search, link, classification"),
        (
            "instruction",
            "link",
            "paper " * 50,
            "instruction of 'link' has 52 tokens, more than the trunk's 40 positions",
        ),
    ):
        with pytest.raises(ConfigError, match=said):
            with_instruction(model(kind), TOKENS, task, text)


# ---- the encoder -----------------------------------------------------------------------------------------------------


def test_an_encoder_told_otherwise_has_vectors_and_a_name_in_the_store_of_its_own():
    first = encoder(model())
    second, third = instructed(first, "link", OTHER), instructed(first, "link", "a")
    assert len({one.fingerprint for one in (first, second, third)}) == 3
    assert instructed(first, "link", OTHER).fingerprint == second.fingerprint
    built = encoder(model(told=TOLD | {"link": OTHER}))
    before = first.encode(TEXTS, "PRX")
    assert abs(second.encode(TEXTS, "PRX") - built.encode(TEXTS, "PRX")).max() < 1e-6
    assert abs(second.encode(TEXTS, "PRX") - before).max() > 1e-2
    assert abs(first.encode(TEXTS, "PRX") - before).max() < 1e-6  # the weights that both use are laid out once
    assert second.loaded[0].trunk is first.loaded[0].trunk
    assert (second.by_task, second.formats, second.dim) == (first.by_task, first.formats, first.dim)


def test_bfloat16_is_rounded_once_for_all_sentences():
    of = model()
    made = TrunkEncoder("small", lambda: (of, TOKENS), encoder(of).about, Settings("bfloat16", device="cpu"))
    one = instructed(made, "link", OTHER).encode(TEXTS, "PRX")
    exact = encoder(copy.deepcopy(model(told=TOLD | {"link": OTHER}))).encode(TEXTS, "PRX")
    cosines = (one * exact).sum(1) / ((one**2).sum(1) * (exact**2).sum(1)) ** 0.5
    assert cosines.min() > 0.99
