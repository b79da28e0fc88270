"""What a conditioning costs: its parameters, per route and shared, and the operations of a forward pass.

SciRepEval's table of efficiency (Table 4; Table 5 in the first version) counts the parameters each way adds per format;
SciMult 3.2 adds experts. Both counts here are read off a forward pass and not off formulas, so they hold for every
conditioning, also for one that does not exist yet:

    a route's own parameters      in the graph of its documents' vectors, and of no other route's
    shared                        in the graphs of several
    operations                    2 for each multiply-add of every matrix product, as torch counts them, on tensors without data
    activations                   bytes that a training step holds for its backward pass, beside weights

A parameter no document's vector depends on (what experts stand in for, BERT's second token type) is counted nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.flop_counter import FlopCounterMode

from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.encoders.trunk.packing import Packed, pack


@dataclass(frozen=True)
class Counts:
    """Numbers of parameters.

    Attributes:
        shared: that several routes use, the trunk's with them.
        per_route: that one route alone uses.
        added: beyond the trunk's: what the conditioning holds, all routes together.
        trained: that training moves.
        total: shared and all routes'.
    """

    shared: int
    per_route: dict[str, int]
    added: int
    trained: int
    total: int


def parameters(model: Conditioned) -> Counts:
    """Return the numbers of parameters that a model's vectors depend on."""
    routes = model.conditioning.routes
    used = [used_by(model, route) for route in range(len(routes))]
    every = {key: p for found in used for key, p in found.items()}
    added = {id(p) for p in model.conditioning.parameters()} & set(every)
    trained = {id(p) for p in model.conditioning.trained(model.trunk)} & set(every)
    # of its own, not of a part of it, whose rows may happen to be as many
    tables = {id(p) for name, p in model.conditioning.named_parameters()
              if name.count(".") < 2 and p.ndim == 2 and len(p) == len(routes)}  # fmt: skip
    per_route = dict.fromkeys(routes, 0)
    for key in added:
        users = [name for name, found in zip(routes, used, strict=True) if key in found]
        if len(users) == 1:
            per_route[users[0]] += every[key].numel()
        elif key in tables:  # a row for each route
            for name in users:
                per_route[name] += every[key].shape[1]
    total = count(every.values())
    return Counts(
        shared=total - sum(per_route.values()), per_route=per_route, added=count(every[key] for key in added),
        trained=count(every[key] for key in trained), total=total,
    )  # fmt: skip


def count(parameters: Iterable[Tensor]) -> int:
    """Return how many numbers tensors hold."""
    return sum(p.numel() for p in parameters)


def used_by(model: Conditioned, route: int) -> dict[int, nn.Parameter]:
    """Return the parameters (by identity) in the graph of a document's vector on a route.

    The document has three tokens and goes through without gradients being computed: only the graph is walked. Nothing random
    is drawn.
    """
    with _left_as_it_was(model), torch.enable_grad():
        model.requires_grad_(True).eval()
        ids = model.conditioning.tokens([0, 0, 0], route)
        device = str(model.trunk.words.weight.device)
        vectors = model(pack([ids], [route], device, model.conditioning.read_at))
    found: dict[int, nn.Parameter] = {}
    seen, ahead = set(), [vectors.grad_fn]
    while ahead:
        node: Any = ahead.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        ahead += [before for before, _ in node.next_functions]
        if hasattr(node, "variable"):
            found[id(node.variable)] = node.variable
    return found


@contextmanager
def _left_as_it_was(model: Conditioned) -> Iterator[None]:
    needed = {p: p.requires_grad for p in model.parameters()}
    modes = {module: module.training for module in model.modules()}
    rates = {layer: layer.drop_attention for layer in model.trunk.layers}
    try:
        yield
    finally:
        for p, before in needed.items():
            p.requires_grad_(before)
        for module, training in modes.items():
            module.training = training
        for layer, rate in rates.items():
            layer.drop_attention = rate


class Step(NamedTuple):
    """A training step's operations, forward and backward, and the bytes it keeps between the two in float32.

    `activations` is without attention's weights (documents x heads x length x length), which variable-length attention and the
    CPU's own without dropout never hold; nor are the model's weights in it.
    """

    operations: int
    activations: int


def step(model: Conditioned, batch: Packed) -> Step:
    """Return what a forward and a backward pass over a batch cost, moving what the conditioning trains; nothing is computed.

    Dropout is as it is in training, attention's left out.
    """
    moved = {id(p) for p in model.conditioning.trained(model.trunk)}
    shapes = {
        name: torch.empty_like(p, device="meta").requires_grad_(id(p) in moved) for name, p in model.named_parameters()
    }
    weights = {x.untyped_storage()._cdata for x in shapes.values()}
    lengths = {run.length for run in batch.runs}
    held: dict[int, Any] = {}

    def keep(x: Tensor) -> Tensor:
        storage, square = x.untyped_storage(), x.ndim > 2 and x.shape[-1] == x.shape[-2] and x.shape[-1] in lengths
        if storage._cdata not in weights and not square:
            held[storage._cdata] = storage
        return x

    with _left_as_it_was(model), FlopCounterMode(display=False) as counter:
        model.train()
        for layer in model.trunk.layers:
            layer.drop_attention = 0.0  # type: ignore[assignment]
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
            vectors = functional_call(model, shapes, (_without_data(batch),))
        memory = sum(storage.nbytes() for storage in held.values())
        vectors.sum().backward()
    return Step(int(counter.get_total_flops()), memory)


def _without_data(batch: Packed) -> Packed:
    ids, positions, order = (x.to("meta") for x in (batch.ids, batch.positions, batch.order))
    return replace(batch, ids=ids, positions=positions, order=order)


def operations(model: Conditioned, batch: Packed) -> int:
    """Return the floating-point operations of one forward pass over a batch: matrix products, attention included.

    Nothing is computed: the pass runs on tensors without data. For a plain trunk `speed.flops` says the same by formula.
    """
    shapes = {name: torch.empty_like(p, device="meta") for name, p in model.named_parameters()}
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        functional_call(model, shapes, (_without_data(batch),))
    return int(counter.get_total_flops())
