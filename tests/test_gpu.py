"""What a GPU computes, without one: by its own road on the CPU, or by shape on the meta device.

A tensor on the meta device has a shape and no numbers, so whatever would have a GPU wait for its numbers (`.item()`, a mask
that picks rows, a copy to the CPU) raises there. torch's variable-length attention runs on a GPU alone: a stand-in computes it.

Run on one NVIDIA H200 (torch 2.11, Python 3.12) by the last tests here, skipped without a GPU: that attention itself and its
gradients, in every conditioning, a compiled layer, fused AdamW and autocast.

Never run: trainings by NCCL beside gloo, products in TF32, real Ray with GPUs.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import small_training
import torch
from test_attention import heads
from test_cli_encode import papers
from test_conditioning_oracles import model as conditioned_on
from test_trunk import draw, ours, plain, random_bert
from tiny_models import bert
from torch import Tensor
from torch.nn.attention import varlen

from scirep_core import load_encoder
from scirep_core.encoders import hub, settings, trunk_encoder
from scirep_core.encoders.conditioning import one_pass
from scirep_core.encoders.conditioning.base import CONDITIONINGS, Conditioned
from scirep_core.encoders.trunk import packing
from scirep_core.encoders.trunk.bert import Shape
from scirep_core.encoders.trunk.number_types import products_in
from scirep_core.encoders.trunk.packing import Span, at_once, attend, pack
from scirep_core.encoders.trunk_encoder import compile_layers, ready
from scirep_core.encoders.vectors import scale
from scirep_core.encoders.vectors.encoding import plan
from scirep_core.encoders.vectors.folder import read_vector_folder
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS
from scirep_core.training import loop, objective
from scirep_core.training.checkpoint import Log
from scirep_core.training.objective import make_heads, start_drawing
from scirep_core.training.processes import processes

# Heads of 12 numbers: torch's attention takes multiples of 8 alone.
conditioned = partial(conditioned_on, size=0.1, shape=Shape(60, 48, 4, 4, 64, max_position_embeddings=64))
DOCUMENTS, FEW = draw(60, (9, 4, 4, 30, 17, 1, 30, 5), seed=2), draw(50, (5, 3, 5, 1, 3, 3))
on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU")


def varlen_attn(q: Tensor, k: Tensor, v: Tensor, asks: Tensor, sees: Tensor, *longest: int, scale: float) -> Tensor:
    """Stand in for torch's variable-length attention: what it asks of its arguments, and what it returns."""
    assert q.shape[-1] == k.shape[-1] == v.shape[-1]
    assert q.shape[-1] % 8 == 0  # torch: "head_size should be a multiple of 8"
    assert asks.dtype == sees.dtype == torch.int32
    assert longest == tuple(int(starts.diff().max()) for starts in (asks, sees))
    made = []
    for (a, b), (c, d) in zip(*(pairwise(starts.tolist()) for starts in (asks, sees)), strict=True):
        qkv = (x.transpose(0, 1).float() for x in (q[a:b], k[c:d], v[c:d]))
        made.append(torch.nn.functional.scaled_dot_product_attention(*qkv, scale=scale).transpose(0, 1))
    return torch.cat(made).to(q)


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("context", [(), (0,), (0, 1)])
@pytest.mark.parametrize("half", [False, True])
def test_all_documents_at_once_is_one_run_after_the_other(monkeypatch, read, context, half):
    """Padded in float32, and in half precision by variable-length attention."""
    monkeypatch.setattr(varlen, "varlen_attn", varlen_attn)
    batch = pack(FEW, [1, 0, 0, 1, 0, 2])
    q, k, v = heads(len(batch.ids))
    q = q[: batch.docs] if read else q
    before = {route: tuple(heads(3 + route, seed=route)[:2]) for route in context} or None
    expected = attend(q, k, v, batch, read, before=before)
    if half:
        q, k, v = (x.bfloat16() for x in (q, k, v))
    again = at_once(q, k, v, batch, read, before=before).float()
    assert (again - expected).abs().max() <= (0.05 if half else 1e-6)


def test_where_weights_are_dropped_they_are_in_half_precision_too(monkeypatch):
    """torch's variable-length attention drops none: with dropout a GPU takes the padded one."""
    monkeypatch.setattr(packing, "variable_length", lambda *_: pytest.fail("drops nothing"))
    batch = pack(FEW)
    q, k, _ = (x.bfloat16() for x in heads(len(batch.ids)))
    every = torch.stack([at_once(q, k, torch.ones_like(q), batch, dropout=0.5).float() for _ in range(200)])
    assert every[:, batch.starts[:-1]].unique().numel() > 2  # of equal values each row is 1, unless some are dropped
    assert (every.mean(0) - 1).abs().mean() < 0.1  # and those that are left count double


@pytest.mark.parametrize("size", [3, 8, 11, 17, 34, 64])
def test_variable_length_attention_takes_heads_of_any_size(monkeypatch, size):
    """With the scale of the size they have, and the gradients; 34 and 17 are those of PALs in BERT-base and MiniLM."""
    monkeypatch.setattr(varlen, "varlen_attn", varlen_attn)
    batch = pack(FEW)
    span, found = Span(batch.starts, batch.longest), []
    for way in (lambda q, k, v: attend(q, k, v, batch), lambda q, k, v: packing.variable_length(q, k, v, span, span)):
        qkv = [x.requires_grad_() for x in heads(len(batch.ids), size=size)]
        states = way(*qkv)
        states.square().sum().backward()
        found.append([states.detach(), *(x.grad for x in qkv)])
    for one, other in zip(*found, strict=True):
        assert one.shape == other.shape
        assert (one - other).abs().max() <= 1e-5


# ------------------------------------------------------------------------------------------------------ the meta device


@pytest.fixture
def as_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The meta device takes a GPU's road: what would wait for a GPU's numbers raises there."""
    for module in (packing, one_pass):
        monkeypatch.setattr(module, "AT_ONCE", ("cuda", "meta"))


@pytest.mark.parametrize("kind", CONDITIONINGS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_no_layer_waits_for_the_device(as_a_gpu, monkeypatch, kind, dtype, pooling):
    """Nor does a batch: vectors and all states, of every conditioning; heads of torch's attention have sizes it takes."""
    sizes: list[int] = []
    real = varlen.varlen_attn

    def told(q: Tensor, *others: Any, **how: Any) -> Tensor:
        sizes.append(q.shape[-1])
        return real(q, *others, **how)

    monkeypatch.setattr(varlen, "varlen_attn", told)
    model = conditioned(kind).to(device="meta", dtype=getattr(torch, dtype))
    model.pooling = "cls" if kind == "one_pass" else pooling
    with torch.inference_mode():
        batch = model.pack(DOCUMENTS, [*FORMATS, *FORMATS])
        vectors, states = model(batch), model.hidden(batch)
    assert vectors.shape == (8, *((4,) if kind == "one_pass" else ()), 48)
    assert states.shape == (len(batch.ids), 48)
    assert bool(sizes) == (dtype == "bfloat16")
    assert all(size % 8 == 0 for size in sizes)


@pytest.mark.parametrize("kind", CONDITIONINGS)
@pytest.mark.parametrize("loss", ["triplet_margin", "contrastive", "in_batch_margin"])
def test_no_step_of_a_training_waits_for_the_device(as_a_gpu, monkeypatch, kind, loss, tmp_path):
    """A batch, its losses, gradients, their norm, and what the log keeps; the losses are read where its lines are written."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())  # meta has none
    made, tasks = small_training.model(kind).to("meta").train(), small_training.tasks()
    config = replace(small_training.CONFIG, triplet_loss=loss, dense=kind == "one_pass")
    heads = make_heads(tasks, 16, 0.1).to("meta")
    known = objective.known_of(tasks, config)
    log = Log(tmp_path, [task.name for task in tasks], torch.device("meta"), 1, 1)
    batch = objective.gather(made, tasks, {task.name: np.arange(3) for task in tasks}, known)
    losses = objective.losses_of(made, tasks, heads, batch, known, config)
    assert len(losses) == 4
    torch.stack([loss * np.float64(0.5) for loss in losses.values()]).sum().backward()
    log.add(losses, np.full(4, 3.0), loop.work_of(made, batch))
    log.end_step(1, 0.1)
    torch.nn.utils.clip_grad_norm_(heads.parameters(), 1.0)
    assert all(parameter.grad is not None for parameter in heads.parameters())
    assert log.pending[0][2].device.type == "meta"


def test_a_look_reads_its_losses_and_its_scores_once(monkeypatch):
    made, tasks, read = small_training.model(), small_training.tasks(), []
    stack, cat = torch.stack, torch.cat

    def outputs(model, task, heads, batch, _):
        return (torch.zeros(min(2, len(batch.rows[task.name])), task.outputs or 1),)

    monkeypatch.setattr(loop, "encoded", lambda *_: None)
    monkeypatch.setattr(loop, "outputs_of", outputs)
    monkeypatch.setattr(loop, "loss_of", lambda *_: torch.tensor(2.0))
    monkeypatch.setattr(torch, "stack", lambda losses: read.append(len(losses)) or stack(losses))
    monkeypatch.setattr(torch, "cat", lambda scores: read.append(len(scores)) or cat(scores))
    config = replace(small_training.CONFIG, validation_rows=7)
    look = loop.look_at(made, tasks, torch.nn.ModuleDict(), config, 0, 1)
    assert look.losses == {task.name: 2.0 for task in tasks}
    assert read == [4 * 4, 4 * 4]  # two rows of a task at a time; losses, then scores


def test_the_next_texts_are_cut_and_packed_before_the_last_are_read(monkeypatch, tmp_path):
    """Asked as if it were on a GPU, an encoder reads a batch when two more were given, and the vectors are those of the CPU."""
    texts = [" ".join(["w1 a paper"] * (1 + i % 7)) for i in range(30)]
    encoder = load_encoder(str(bert(tmp_path / "b")), device="cpu").trunk
    expected, told = encoder.encode(texts, "PRX"), list[str]()
    model, tokens = encoder.loaded
    ids, run, read = tokens.ids, type(model).forward, packing.on_host

    def on_host(x):
        array = read(x)
        return lambda: told.append("read") or array()

    monkeypatch.setattr(packing, "on_host", on_host)
    monkeypatch.setattr(type(model), "forward", lambda self, batch: told.append("computed") or run(self, batch))
    monkeypatch.setattr(type(tokens), "ids", lambda self, *given: told.append(f"cut {len(given[0])}") or ids(*given))
    assert np.array_equal(encoder.encode(texts, "PRX"), expected)
    assert told == ["cut 30", "computed", "read"]
    told.clear()
    encoder.device = "cuda:0"
    for name, value in (("PART", 10), ("GPU_BUDGET", 60), ("now", lambda device: 1.0)):
        monkeypatch.setattr(trunk_encoder, name, value)
    assert np.abs(encoder.encode(texts, "PRX") - expected).max() <= 1e-6
    assert [one for one in told if one.startswith("cut")] == ["cut 10"] * 3
    for i, one in enumerate(told):
        if one != "read":  # two batches ahead, and no further
            assert told[:i].count("read") == max(0, told[:i].count("computed") - 2)
    assert told.count("read") == told.count("computed") > 6


# ------------------------------------------------------------------------------------------- calls that need a GPU, recorded


def test_compiled_is_reached_by_name_and_where_it_ran_is_told_apart_in_half_precision_alone(monkeypatch, tmp_path):
    folder, prints = str(bert(tmp_path / "b")), {}
    monkeypatch.setattr(settings, "pick_device", lambda wanted: wanted)
    for dtype in ("float32", "bfloat16"):
        for device, compiled in product(("cpu", "cuda", "cuda:1"), (False, True)):
            made = load_encoder(f"{folder}#PRX", dtype=dtype, device=device, compiled=compiled).encoder
            prints[dtype, device, compiled] = made.fingerprint
            assert made.trunk.settings == settings.Settings(dtype, None, device, compiled)
    assert len({print_ for (dtype, *_), print_ in prints.items() if dtype == "float32"}) == 1
    assert len(set(prints.values())) == 4
    assert prints["bfloat16", "cpu", False] == prints["bfloat16", "cpu", True]  # where nothing is compiled
    assert prints["bfloat16", "cuda", False] == prints["bfloat16", "cuda:1", False]
    joined = load_encoder(f"{folder}+{folder}", compiled=True)
    assert all(part.settings.compiled for part in joined.members)


@pytest.mark.parametrize(("there", "calls"), [
    (True, [("device", "cuda:3"), ("group", "cpu:gloo,cuda:nccl")]), (False, [("group", "gloo")]),
])  # fmt: skip
def test_a_process_takes_its_own_gpu_before_it_joins_the_others(monkeypatch, there, calls):
    found: list[tuple[str, str]] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: found.append(("device", device)))
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda backend: found.append(("group", backend)))
    for name, value in (("WORLD_SIZE", "8"), ("LOCAL_RANK", "3")):
        monkeypatch.setenv(name, value)
    assert processes() == (0, 1)  # nobody joined: the call is recorded
    assert found == calls


@pytest.mark.parametrize(("device", "asked", "most"), [("cuda:1", {"num_gpus": 1}, 3), ("cpu", {}, 5)])
def test_a_task_on_ray_has_a_gpu_where_the_encoder_runs_on_one(monkeypatch, tmp_path, device, asked, most):
    """By a stand-in for Ray, with two GPUs and four cores; a worker's own GPU is its first, whatever the driver's is."""
    options, flying, workers = [], [], []

    def remote(*task, **given):
        options.append(given)
        done = SimpleNamespace(remote=lambda *given: partial(scale._task, *given))
        return done if task else lambda task: done

    def wait(references, num_returns):
        flying.append(len(references))
        return references[:num_returns], references[num_returns:]

    def loaded(named):
        workers.append((named.settings.device, named.settings.compiled))
        return load_encoder(named.name, device="cpu")

    ray = SimpleNamespace(
        is_initialized=lambda: True, cluster_resources=lambda: {"CPU": 4.0, "GPU": 2.0}, remote=remote, wait=wait,
        get=lambda reference: reference(), exceptions=SimpleNamespace(RayError=OSError),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(scale, "pick_device", lambda wanted: wanted or "cpu")
    monkeypatch.setattr(scale, "_loaded", loaded)
    named = scale.Named(str(bert(tmp_path / "b")), settings.Settings("float32", None, device, True))
    source, out = papers(tmp_path, 16), tmp_path / "out"
    scale.encode_on_ray(source, out, plan(source, out, named.load(), "PRX", per_shard=2), named, "PRX")
    assert options == [asked]
    assert max(flying) == most
    assert set(workers) == {(device.partition(":")[0], True)}
    assert len(read_vector_folder(out)[0]) == 16


def test_tf32_is_set_while_a_model_runs_and_never_else(monkeypatch, tmp_path):
    folder, setting, found = str(bert(tmp_path / "b")), torch.backends.cuda.matmul, list[str]()
    with pytest.raises(ConfigError, match="dtype tf32 is a GPU's"):
        load_encoder(f"{folder}:tf32", device="cpu")
    for module in (hub, settings):
        monkeypatch.setattr(module, "pick_device", lambda wanted: "cuda")
    encoder, exact = (load_encoder(f"{folder}:{dtype}").trunk for dtype in ("tf32", "float32"))
    assert encoder.fingerprint != exact.fingerprint
    run, before = Conditioned.forward, setting.fp32_precision
    monkeypatch.setattr(Conditioned, "forward", lambda *given: found.append(setting.fp32_precision) or run(*given))
    for one in (encoder, exact):
        one.device = "cpu"
        one.encode(["a paper"], "PRX")
    assert found == ["tf32", before] and setting.fp32_precision == before != "tf32"
    assert {parameter.dtype for parameter in encoder.loaded[0].parameters()} == {torch.float32}
    with pytest.raises(ZeroDivisionError), products_in("tf32"):
        assert setting.fp32_precision == "tf32"
        raise ZeroDivisionError
    assert setting.fp32_precision == before
    config = replace(small_training.CONFIG, precision="tf32")
    with pytest.raises(ConfigError, match="precision tf32 is a GPU's"):
        loop.train(small_training.model(), small_training.tasks(), config, tmp_path / "t")


def test_a_training_draws_on_the_gpu_it_is_on(monkeypatch):
    found: list[object] = []

    @contextmanager
    def current(device):
        found.append(device)
        yield
        found.append(None)

    monkeypatch.setattr(torch.cuda, "device", current)
    monkeypatch.setattr(torch.cuda, "manual_seed", found.append)
    with torch.random.fork_rng([]):
        start_drawing(5, torch.device("cuda:2"))
    assert found == [torch.device("cuda:2"), 5, None]


def test_a_compiled_layer_computes_what_a_plain_one_does(tmp_path):
    """The compiler's front half, on the CPU; what it generates is a GPU's."""
    folder = random_bert(tmp_path / "b")
    model = plain(folder).requires_grad_(False)
    expected = [ours(model, draw(99, lengths)) for lengths in ((4, 9), (30, 2, 2))]
    compile_layers(model, backend="eager", fullgraph=True)
    for lengths, states in zip(((4, 9), (30, 2, 2)), expected, strict=True):
        for a, b in zip(ours(model, draw(99, lengths)), states, strict=True):
            assert (a - b).abs().max() <= 1e-6


@on_a_gpu
@pytest.mark.parametrize("kind", CONDITIONINGS)
@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-3), ("bfloat16", 0.2), ("float16", 0.05)])
def test_a_gpu_gives_the_cpus_states_under_every_conditioning(kind, dtype, near):
    results = []
    for device, number in (("cpu", "float32"), ("cuda", dtype)):
        model = ready(conditioned(kind), number, device, compiled=device == "cuda" and kind == "plain")
        with torch.inference_mode():
            batch = model.pack(DOCUMENTS, [*FORMATS, *FORMATS])
            results.append([model(batch).float().cpu(), model.hidden(batch).float().cpu()])
            model.pooling = "mean"
    for a, b in zip(*results, strict=True):
        assert (a - b).abs().max() <= near


@on_a_gpu
@pytest.mark.parametrize("kind", CONDITIONINGS)
@pytest.mark.parametrize(("precision", "near"), [("float32", 0.01), ("bfloat16", 0.1)])
def test_a_gpu_trains_as_the_cpu_does(kind, precision, near, tmp_path):
    """The same rows, losses and looks, step by step; dropout is off, since a GPU draws for itself."""
    results = []
    for device, number in (("cpu", "float32"), ("cuda", precision)):
        config = replace(small_training.CONFIG, steps=12, warmup=2, dropout=0.0, precision=number, validate_every=6)
        made = small_training.model(kind, dropout=0.0).to(device)
        done = loop.train(made, small_training.tasks(), config, tmp_path / device, small_training.tasks(1))
        results.append([[look["validation"][task] for task in done.losses] for look in done.curve])
    assert np.isfinite(results).all()
    assert np.abs(np.subtract(*results)).max() <= near
