"""PALs, experts, prefix and instruction against plain BERTs and references of their own; what each costs."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_models import hidden_states, states_of
from torch import Tensor

from scirep_core.encoders.conditioning import one_pass
from scirep_core.encoders.conditioning.base import CONDITIONINGS, Conditioned, conditioning
from scirep_core.encoders.conditioning.experts import TASKS
from scirep_core.encoders.conditioning.prefix import INSTRUCTIONS, instructions
from scirep_core.encoders.trunk.bert import Shape, Trunk, config_of, tensors_of
from scirep_core.encoders.trunk.counting import operations, parameters, step
from scirep_core.encoders.trunk.packing import pack
from scirep_core.encoders.trunk.speed import flops
from scirep_core.encoders.trunk_encoder import ready
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS

SHAPE = Shape(60, 24, 4, 3, 48, max_position_embeddings=40, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
BASE = Shape(30522, 768, 12, 12, 3072)
EXPERTS = {"mha_experts": ("query", "key", "value", "dense"), "ffn_experts": ("intermediate", "output", "norm2")}
OPTIONS = {"bottleneck": {"reduction": 4}, "fusion": {"reduction": 4}}
TOLD = {route: [2, 10 + i, *range(20, 23 + i), 3] for i, route in enumerate((*FORMATS, *TASKS))}


def shaken(module: torch.nn.Module, seed: int, size: float) -> None:
    """Move every weight, by much so that which one is used where shows."""
    made = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            p += size * torch.randn(p.shape, generator=made)


def model(
    kind: str = "plain", routes=FORMATS, size: float = 0.15, shake: bool = True, shape: Shape = SHAPE, seed: int = 0,
    pooling: str = "cls", **more,
) -> Conditioned:  # fmt: skip
    torch.manual_seed(seed)
    trunk = Trunk(shape)
    shaken(trunk, seed, size)
    made = conditioning(kind, trunk, routes, **(options(kind, routes) | OPTIONS.get(kind, {}) | more))
    if shake:
        shaken(made, seed + 1, size)
    return Conditioned(trunk, made, pooling).eval()


def beside(kind: str, of: Conditioned) -> Conditioned:
    """Return a conditioning at its start on the same trunk."""
    return Conditioned(of.trunk, conditioning(kind, of.trunk, **options(kind))).eval()


def options(kind: str, routes: tuple[str, ...] = FORMATS) -> dict[str, object]:
    return {"instructions": {route: TOLD[route] for route in routes}} if kind in ("prefix", "instruction") else {}


def ragged(count: int = 17, longest: int = 40) -> list[list[int]]:
    made = random.Random(0)
    lengths = [1, 2, longest, longest, *(made.randint(1, longest) for _ in range(count - 4))]
    return [[made.randrange(60) for _ in range(length)] for length in lengths]


def mixed(count: int, routes: tuple[str, ...] = FORMATS) -> list[str]:
    made = random.Random(1)
    return [*routes, *(made.choice(routes) for _ in range(count - len(routes)))]


def given(of: Conditioned) -> tuple[list[list[int]], list[str]]:
    """Return documents up to the longest there is room for, and their formats."""
    return ragged(longest=SHAPE.max_position_embeddings - of.conditioning.added()), mixed(17)


@torch.no_grad()
def told(of: Conditioned, documents: list[list[int]], formats: list[str]) -> Tensor:
    return of(of.pack(documents, formats))


# ---- experts: each route is a plain BERT ------------------------------------------------------------------------------


def plain_bert(of: Conditioned, route: int):
    """Return transformers' BERT that holds the trunk's weights, and a route's experts where they stand."""
    import transformers

    trunk = copy.deepcopy(of.trunk)
    for i, parts in of.conditioning.experts.items():
        for part, experts in parts.items():
            getattr(trunk.layers[int(i)], part).load_state_dict(experts[route].state_dict())
    bert = transformers.BertModel(transformers.BertConfig(**config_of(trunk.shape)), add_pooling_layer=False).eval()
    left = bert.load_state_dict(tensors_of(trunk), strict=False)
    assert not left.missing_keys and not left.unexpected_keys
    return bert


@pytest.mark.parametrize("routes", [FORMATS, TASKS], ids=["formats", "tasks"])
@pytest.mark.parametrize("kind", EXPERTS)
def test_each_route_is_the_plain_bert_that_holds_its_experts(kind, routes):
    of, documents = model(kind, routes), ragged()
    formats = mixed(len(documents), routes)
    berts = {name: plain_bert(of, of.conditioning.route(name)) for name in routes}
    expected = {name: states_of(bert, documents) for name, bert in berts.items()}
    for i, states in enumerate(hidden_states(of, documents, formats)):
        away = {name: (states - theirs[i]).abs().max() for name, theirs in expected.items()}
        assert away.pop(formats[i]) <= 1e-5 and min(away.values()) > 1e-2  # and of no other route


@pytest.mark.parametrize("kind", EXPERTS)
def test_warm_start_changes_nothing_at_all(kind):
    of, documents = model(kind, shake=False), ragged()
    plain, formats = beside("plain", of), mixed(len(documents))
    for start in (of, copy.deepcopy(of).train()):
        for same in ([route] * len(documents) for route in FORMATS):
            assert torch.equal(told(start, documents, same), told(plain, documents, same))
    assert (told(of, documents, formats) - told(plain, documents, formats)).abs().max() <= 1e-6


@pytest.mark.parametrize("kind", EXPERTS)
def test_blocks_alternate_and_can_be_chosen_and_a_format_takes_the_expert_of_its_task(kind):
    trunk = Trunk(SHAPE)
    assert list(conditioning(kind, trunk).experts) == ["1", "3"]
    chosen = conditioning(kind, trunk, blocks=[0, 2, 3])
    assert list(chosen.experts) == ["0", "2", "3"] and chosen.options == {"blocks": [0, 2, 3]}
    assert set(chosen.experts["0"]) == set(EXPERTS[kind]) and len(chosen.experts["0"][EXPERTS[kind][0]]) == 4
    for wrong in ([4], [-1], []):
        with pytest.raises(ConfigError, match="0 to 3"):
            conditioning(kind, trunk, blocks=wrong)
    made = conditioning(kind, trunk, TASKS)
    assert [made.route(name) for name in ("search", "QRY", "PRX", "CLF", "link")] == [0, 0, 1, 2, 1]
    with pytest.raises(ConfigError, match=f"{kind} has no RGN; it has search, link, classification"):
        made.route("RGN")


# ---- a reference of our own: one document at a time, padded to nothing, in double precision -------------------------------


def linear(of: torch.nn.Linear, x: Tensor) -> Tensor:
    return x @ of.weight.double().T + of.bias.double()


def normed(of: torch.nn.LayerNorm, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + of.eps).sqrt() * of.weight.double() + of.bias.double()


def attention(q: Tensor, k: Tensor, v: Tensor, heads: int) -> Tensor:
    size = q.shape[-1] // heads
    parts = zip(*(x.split(size, -1) for x in (q, k, v)), strict=True)
    return torch.cat([(a @ b.T / size**0.5).softmax(-1) @ c for a, b, c in parts], -1)


def embedded(trunk: Trunk, ids: list[int], more: Tensor | float = 0.0) -> Tensor:
    words = torch.stack([trunk.words.weight[token] + trunk.places.weight[at] for at, token in enumerate(ids)])
    return normed(trunk.norm, words.double() + more + trunk.types.weight[0].double())


def block(layer, x: Tensor, context: Tensor, extra: Tensor | float = 0.0) -> Tensor:
    """Return a layer's output for x that attends to context; `extra` is added before the last norm."""
    seen = attention(linear(layer.query, x), linear(layer.key, context), linear(layer.value, context), layer.heads)
    h = normed(layer.norm1, x + linear(layer.dense, seen))
    wide = linear(layer.intermediate, h)
    wide = wide * 0.5 * (1 + torch.erf(wide / 2**0.5))
    return normed(layer.norm2, h + linear(layer.output, wide) + extra)


def pals_reference(of: Conditioned, ids: list[int], route: int) -> Tensor:
    pals, x = of.conditioning, embedded(of.trunk, ids)
    for i, layer in enumerate(of.trunk.layers):
        small = linear(pals.down[route], x)
        q, k, v = (linear(part[i][route], small) for part in (pals.query, pals.key, pals.value))
        wide = linear(pals.up[route], attention(q, k, v, 6))
        x = block(layer, x, x, wide * 0.5 * (1 + torch.erf(wide / 2**0.5)))
    return x


def prefix_reference(of: Conditioned, ids: list[int], route: int) -> Tensor:
    """Eq. 4, the instruction encoder first: all its states, then the document's layers."""
    own = of.conditioning
    encoder = own.phi if own.kind == "prefix" else of.trunk
    states = [embedded(encoder, own.told[route])]
    for layer in list(encoder.layers)[: len(of.trunk.layers) - 1]:
        states.append(block(layer, states[-1], states[-1]))
    x = embedded(of.trunk, ids)
    for layer, context in zip(of.trunk.layers, states, strict=True):
        x = block(layer, x, torch.cat([context, x]))
    return x


REFERENCES = {"pals": pals_reference, "prefix": prefix_reference, "instruction": prefix_reference}


@pytest.mark.parametrize("kind", REFERENCES)
def test_equal_to_a_reference_of_its_own(kind):
    of, documents = model(kind), ragged()
    formats = mixed(len(documents))
    if kind == "prefix":  # it starts where Instruction is, and says something
        start = model(kind, shake=False)
        starts = (start, beside("instruction", start), beside("plain", start))
        made, same, untold = (told(m, documents, formats) for m in starts)
        assert (made - same).abs().max() <= 1e-6 and (made - untold).abs().max() > 1e-2
    for document, states in enumerate(hidden_states(of, documents, formats)):
        with torch.no_grad():
            expected = [REFERENCES[kind](of, documents[document], route) for route in range(4)]
        right = of.conditioning.route(formats[document])
        assert (states - expected.pop(right)).abs().max() <= 1e-5
        assert all((states - other).abs().max() > 1e-3 for other in expected)


@torch.no_grad()
def one_pass_reference(of: Conditioned, ids: list[int]) -> tuple[Tensor, Tensor]:
    """Return (routes, dim) of the formats' tokens, each of which sees itself and the document, and the document's (tokens, dim)."""
    asked, x = [embedded(of.trunk, ids[:1], own.double()) for own in of.conditioning.own], embedded(of.trunk, ids)
    for layer in of.trunk.layers:
        asked, x = [block(layer, one, torch.cat([x, one])) for one in asked], block(layer, x, x)
    return torch.cat(asked), x


def test_one_pass_reads_a_document_once_and_no_format_is_seen_by_another(monkeypatch):
    of, documents = model("one_pass"), ragged()
    vectors, states = told(of, documents, mixed(17)), hidden_states(of, documents, mixed(17))
    for ids, vector, rows in zip(documents, vectors, states, strict=True):
        asked, document = one_pass_reference(of, ids)
        assert (vector - asked).abs().max() < 1e-5 and (rows - document).abs().max() < 1e-5
    batch = of.pack(documents, mixed(17))
    monkeypatch.setattr(one_pass, "AT_ONCE", ("cpu",))  # the one block, padded, that a GPU gets
    assert len(list(one_pass.blocks(batch))) == 1 < len(batch.runs)
    assert (told(of, documents, mixed(17)) - vectors).abs().max() < 1e-6
    with pytest.raises(ConfigError, match="pooling is cls, not mean"):
        Conditioned(of.trunk, of.conditioning, "mean")


def test_before_training_all_formats_of_one_pass_ask_the_same_and_each_learns_from_its_own_losses():
    of = model("one_pass", shake=False)
    assert not of.conditioning.own.any()
    vectors = of(of.pack(ragged(), mixed(17)))
    assert (vectors - vectors[:, :1]).abs().max() < 1e-6
    (vectors[:, 2] ** 3).sum().backward()
    assert [bool(row.abs().sum() > 0) for row in of.conditioning.own.grad] == [False, False, True, False]
    assert all(parameter.grad is not None for parameter in of.trunk.parameters())


def test_instructions_of_the_paper_as_token_ids():
    words = sorted({word for text in INSTRUCTIONS.values() for word in text.split()})
    ids = instructions(lambda text: [0, *(1 + words.index(word) for word in text.split()), 0])
    assert set(ids) == set(FORMATS) and ids["CLF"] != ids["PRX"] and json.loads(json.dumps(ids)) == ids
    assert instructions(lambda text: [1], TASKS) == {task: [1] for task in TASKS}
    with pytest.raises(ConfigError, match="no instruction for 'cites'"):
        instructions(lambda text: [1], ("cites",))
    some = model("instruction").conditioning.contexts(pack([[1, 2], [3]], [2, 0]))  # a batch needs those of its routes
    assert [route for route, _, _ in some.routes] == [0, 2] and some.ids.tolist() == TOLD["CLF"] + TOLD["PRX"]


# ---- what holds for every one -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [True, False], ids=["double", "single"])
@pytest.mark.parametrize("kind", CONDITIONINGS)
def test_batch_order_routes_and_reading_change_nothing_and_the_format_everything(kind, exact):
    """Only rounding: to 1e-12 in double precision with large weights, to 1e-6 in single with weights of BERT's size."""
    of = model(kind).double() if exact else model(kind, size=0.02)
    (documents, formats), most = given(of), 1e-12 if exact else 1e-6
    whole = told(of, documents, formats)
    alone = torch.cat([told(of, [d], [f]) for d, f in zip(documents, formats, strict=True)])
    back = told(of, documents[::-1], formats[::-1]).flip(0)
    trained = told(copy.deepcopy(of).train(), documents, formats)  # dropout is 0 here
    assert max((same - whole).abs().max() for same in (alone, back, trained)) <= most
    other = told(of, documents, ["RGN" if format == "CLF" else "CLF" for format in formats])
    if of.apart and exact:
        assert (other - whole).abs().amax(1).min() > 1e-2  # every document is told
    if not of.conditioning.shared_pass:  # which reads one token a route
        states = dict(enumerate(hidden_states(of, documents, formats)))
        of.pooling = "mean"
        mean, place = told(of, documents, formats), of.conditioning.read_at
        assert all((whole[i] - x[place]).abs().max() <= most for i, x in states.items())
        assert all((mean[i] - x.mean(0)).abs().max() <= 1e-6 for i, x in states.items())


@pytest.mark.parametrize("kind", CONDITIONINGS)
def test_half_precision_and_dropout(kind):
    of = model(kind)
    asked = given(of)
    exact, made = told(of, *asked), told(copy.deepcopy(of).to(torch.bfloat16), *asked)
    with torch.autocast("cpu", torch.bfloat16):
        mixed_precision = told(of, *asked)
    assert made.dtype == torch.bfloat16
    for vectors in (mixed_precision.float(), made.float()):
        assert torch.cosine_similarity(vectors, exact, dim=-1).min() > 0.995
    for layer in of.trunk.layers:
        layer.dropout.p = layer.drop_attention = 0.3
    assert torch.equal(told(of, *asked), exact)
    assert (told(of.train(), *asked) - exact).abs().max() > 1e-2


@pytest.mark.parametrize(("dtype", "angle", "near"), [("float32", 1e-6, 1e-5), ("bfloat16", 1e-3, 0.15)])
@pytest.mark.parametrize("kind", CONDITIONINGS)
def test_made_ready_to_run_it_gives_the_same_vectors_and_states(kind, dtype, angle, near):
    """With linear layers laid out for inference, as encoders have them, also those whose weights are used from outside."""
    of = model(kind, size=0.02)
    documents, formats = given(of)
    quick = ready(copy.deepcopy(of), dtype, "cpu")
    with torch.inference_mode():
        batches = [(m, m.pack(documents, formats)) for m in (of, quick)]
        (expected, states), (found, made) = ((m(batch), m.hidden(batch)) for m, batch in batches)
    for one, other in ((expected, found), (states, made)):
        assert one.shape == other.shape
        assert (one - other).abs().max() <= near
        assert (1 - torch.cosine_similarity(one, other.float(), dim=-1)).max() < angle


# ---- gradients ----------------------------------------------------------------------------------------------------------


def gradients(of: Conditioned, documents: list[list[int]], formats: list[str]) -> dict[str, Tensor | None]:
    of.zero_grad(set_to_none=True)
    vectors = of(of.pack(documents, formats))
    weights = torch.linspace(-1, 1, vectors.shape[-1], dtype=vectors.dtype)
    (vectors * weights).square().sum().backward()
    return {name: p.grad for name, p in of.named_parameters()}


PLACES = {"experts": 4, "pals": -2, "bottleneck": 3, "fusion": 3}
"""Where a parameter's name says whose it is: conditioning.experts.1.query.ROUTE.weight, conditioning.down.ROUTE.weight,
conditioning.adapters.LAYER.ROUTE.down.weight, conditioning.mixers.LAYER.ROUTE.key.weight."""


@pytest.mark.parametrize("kind", ["pals", *EXPERTS, "bottleneck", "fusion"])
def test_a_document_trains_its_own_route_and_what_is_shared(kind):
    of = model(kind)
    trained = {id(p) for p in of.conditioning.trained(of.trunk)}
    frozen = kind in ("bottleneck", "fusion")
    assert all((id(p) in trained) != frozen for p in of.trunk.layers[0].parameters())
    for p in of.parameters():  # what experts stand in for must not be reached, though nothing forbids it
        p.requires_grad_(id(p) in trained or kind in EXPERTS)
    found, met = gradients(of, ragged(), ["PRX"] * 17), set()
    for name, p in of.named_parameters():
        words = name.split(".")
        route = int(words[PLACES[kind.partition("_")[2] or kind]]) if words[0] == "conditioning" else None
        met.add(route)
        if name.endswith("key.bias") and kind == "fusion":
            continue  # a softmax does not see what is added to all its scores: it learns nothing without dropout
        moved = found[name] is not None and bool(found[name].abs().sum() > 0)
        assert moved == (route in (None, FORMATS.index("PRX")) and id(p) in trained), name
    assert met == {None, 0, 1, 2, 3}


@pytest.mark.parametrize("kind", ["prefix", "instruction"])
def test_prefix_trains_the_instruction_encoder_alone_instruction_everything(kind):
    of = model(kind)
    trained = of.conditioning.trained(of.trunk)
    expected = of.conditioning if kind == "prefix" else of.trunk
    assert {id(p) for p in trained} == {id(p) for p in expected.parameters()}
    found = gradients(of, ragged(), mixed(17))
    names = {id(p): name for name, p in of.named_parameters()}
    assert all(found[names[id(p)]].abs().sum() > 0 for p in trained)  # every one of them is of use
    if kind == "instruction":  # the same weights learn from both of their uses
        plain = beside("plain", of)
        untold = gradients(plain, ragged(), mixed(17))["trunk.places.weight"]
        of.zero_grad(set_to_none=True)
        assert (gradients(of, ragged(), mixed(17))["trunk.places.weight"] - untold).abs().max() > 1e-3


@pytest.mark.parametrize("kind", CONDITIONINGS)
def test_gradients_by_finite_differences(kind):
    of, documents = model(kind).double(), ragged(8, longest=9)
    formats = mixed(8)
    with torch.inference_mode():  # hinders no training, and leaves nothing that cannot be copied
        of(of.pack(documents, formats))
        copy.deepcopy(of)
    batch = of.pack(documents, formats)
    weights = torch.randn(of(batch).shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))

    def value() -> Tensor:
        return (of(batch) * weights).sum()

    of.zero_grad(set_to_none=True)
    value().backward()
    trained = [p for p in of.conditioning.trained(of.trunk) if p.grad is not None]
    made = torch.Generator().manual_seed(4)
    for _ in range(3):
        way = [torch.randn(p.shape, dtype=p.dtype, generator=made) for p in trained]
        slope = sum((p.grad * step).sum() for p, step in zip(trained, way, strict=True))
        ends = []
        with torch.no_grad():
            for size in (1e-5, -2e-5, 1e-5):  # ahead, behind, back
                for p, step in zip(trained, way, strict=True):
                    p += size * step
                ends.append(value())
        assert float((ends[0] - ends[1]) / 2e-5) == pytest.approx(float(slope), rel=1e-5, abs=1e-6)


# ---- what they cost --------------------------------------------------------------------------------------------------------


def counted(kind: str, routes: tuple[str, ...] = FORMATS, shape: Shape = BASE):
    with torch.device("meta"):  # sizes without numbers
        trunk = Trunk(shape)
        made = conditioning(kind, trunk, routes, **options(kind, routes))
        return parameters(Conditioned(trunk, made))


def test_parameters_on_bert_base_as_published():
    """SciRepEval Table 4 has 2M for PALs and 1M for adapters, SciMult's notes 28.3M and 56.7M for three experts."""
    plain = counted("plain")
    assert plain.total == plain.shared == plain.trained == 109_482_240 - 590_592 and plain.added == 0  # without pooler
    pals = counted("pals")
    assert set(pals.per_route.values()) == {1_819_836} and pals.added == 4 * 1_819_836
    assert pals.total == pals.trained == plain.total + pals.added and pals.shared == plain.total
    linear = 768 * 768 + 768
    mha, ffn = counted("mha_experts", TASKS), counted("ffn_experts", TASKS)
    assert set(mha.per_route.values()) == {6 * 4 * linear}
    assert mha.total - plain.total == 2 * 6 * 4 * linear and mha.trained == mha.total
    wide = 768 * 3072 + 3072 + 3072 * 768 + 768
    assert ffn.total - plain.total == 2 * 6 * (wide + 2 * 768) and set(ffn.per_route.values()) == {6 * (wide + 2 * 768)}
    assert mha.shared == plain.total - 6 * 4 * linear
    codes, adapters = counted("control_codes"), counted("bottleneck")
    assert set(codes.per_route.values()) == {768} and codes.trained == codes.total == plain.total + 4 * 768
    assert set(adapters.per_route.values()) == {894_528} and adapters.trained == adapters.added == 4 * 894_528
    fusion = counted("fusion")  # the table's 22M; all formats' adapters are what they share
    assert set(fusion.per_route.values()) == {21_252_096} and fusion.shared == plain.total + 4 * 894_528
    told = counted("instruction")
    assert (told.added, told.total, told.trained) == (0, plain.total, plain.total)
    prefix = counted("prefix")
    assert prefix.trained == prefix.added == prefix.total - plain.total
    words, places = len({t for r in FORMATS for t in TOLD[r]}), max(len(TOLD[r]) for r in FORMATS)
    assert prefix.added == 11 * (4 * linear + wide + 4 * 768) + (words + places + 1 + 2) * 768


@pytest.mark.parametrize("kind", CONDITIONINGS)
def test_counting_leaves_the_model_as_it_was(kind):
    of = model(kind, shape=replace(SHAPE, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1))
    of.trunk.words.weight.requires_grad_(False)
    of.trunk.train()
    before, drawn = [p.requires_grad for p in of.parameters()], torch.get_rng_state()
    counts = parameters(of)
    step(of, of.pack([[2, 7, 3]], ["PRX"]))
    assert of.trunk.layers[0].drop_attention == 0.1
    assert of.trunk.layers[0].training and not of.conditioning.training and torch.equal(torch.get_rng_state(), drawn)
    assert counts.total == counts.shared + sum(counts.per_route.values())
    assert [p.requires_grad for p in of.parameters()] == before and all(p.grad is None for p in of.parameters())


def test_what_two_routes_use_is_neithers_and_what_no_vector_depends_on_nobodys(monkeypatch):
    counts = counted("pals", ("CLF",), SHAPE)
    assert counts.per_route == {"CLF": counts.added} and counts.shared == counted("plain", shape=SHAPE).total
    counts = counted("prefix", ("CLF", "PRX"), SHAPE)
    assert set(counts.per_route.values()) == {0} and counts.shared == counts.total > counts.added > 0
    # a table of a part that has as many rows as there are routes: adapters of width 64 / 16, instructions of four tokens
    fusion = counted("fusion", shape=Shape(60, 64, 2, 4, 96))
    assert set(fusion.per_route.values()) == {2 * (3 * 64 * 64 + 2 * 64)}
    trunk = Trunk(SHAPE)
    prefix = conditioning("prefix", trunk, instructions={route: [2, 7, 8 + i, 3] for i, route in enumerate(FORMATS)})
    assert set(parameters(Conditioned(trunk, prefix)).per_route.values()) == {0}
    of = model("ffn_experts")
    monkeypatch.setattr(of.conditioning, "trained", lambda trunk: list(of.parameters()))
    counts, replaced = parameters(of), 2 * (24 * 48 + 48 + 48 * 24 + 24 + 2 * 24)
    assert counts.trained == counts.total == sum(p.numel() for p in of.parameters()) - replaced


def test_operations_are_those_of_the_formula():
    documents = ragged()
    lengths, formats = [len(d) for d in documents], mixed(17)
    for kind in ("plain", *EXPERTS):  # as much as the trunk: a document meets one expert
        of = model(kind)
        assert operations(of, of.pack(documents, formats)) == flops(SHAPE, lengths)
        of.pooling = "mean"
        assert operations(of, of.pack(documents, formats)) == flops(SHAPE, lengths, read=False)
    pals = model("pals")
    small, dim, tokens, pairs = pals.conditioning.options["width"], 24, sum(lengths), sum(n * n for n in lengths)
    layer = 4 * tokens * dim * small + 6 * tokens * small**2 + 4 * small * pairs
    last = 2 * tokens * dim * small + 4 * tokens * small**2 + 4 * small * tokens + 2 * 17 * (small**2 + small * dim)
    assert operations(pals, pals.pack(documents, formats)) == flops(SHAPE, lengths) + 3 * layer + last


def test_four_formats_in_one_pass_cost_little_more_than_one():
    """In operations, of documents of about 270 tokens and of 50."""
    trunk = Trunk(Shape(1000, 384, 4, 12, 1536))
    plain, four = (Conditioned(trunk, conditioning(kind, trunk)).eval() for kind in ("plain", "one_pass"))
    for tokens, most in ((270, 1.05), (50, 1.2)):
        lengths = np.random.default_rng(0).lognormal(np.log(tokens), 0.35, 2000 // tokens).clip(8, 512).astype(int)
        given = [[2] * length for length in lengths]
        one, every = (operations(made, made.pack(given, ["PRX"] * len(given))) for made in (plain, four))
        assert 1 < every / one <= most


# ---- what is refused ---------------------------------------------------------------------------------------------------------


def test_wrong_options_are_refused_in_one_line():
    trunk = Trunk(SHAPE)
    for kind, wrong, says in [
        ("pals", {"width": 10}, "width 10 is no multiple of 6 heads"),
        ("pals", {"width": 0}, "width 0"),
        ("", {"kind": "bottleneck", "reduction": 0}, "adapters: reduction 0, .* do not fit 4 layers"),
        ("", {"kind": "fusion", "leave_out": [7]}, r"leave_out \[7\] do not fit 4 layers"),
        ("instruction", {}, r"no token ids below 60 for 'CLF'; prefix.instructions\(tokenize, routes\) makes them"),
        ("prefix", {"instructions": {**TOLD, "QRY": [60]}}, "for 'QRY'"),
        ("prefix", {"instructions": {**TOLD, "RGN": [1] * 41}}, "'RGN' has 41 tokens, more than the trunk's 40"),
    ]:
        with pytest.raises(ConfigError, match=f"^{kind}.*{says}"):
            conditioning(**({"kind": kind} | wrong), trunk=trunk)
    with pytest.raises(ConfigError, match="0 to 0"):
        conditioning("mha_experts", Trunk(Shape(60, 24, 1, 3, 48)))
