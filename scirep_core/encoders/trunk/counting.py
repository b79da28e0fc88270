"""What a conditioning costs: its parameters, per route and shared, and the operations of a forward pass.

SciRepEval's table of efficiency (Table 4; Table 5 in the first version) counts the parameters each way adds per format;
SciMult 3.2 adds experts. The counts here are read off a forward pass, so they hold for every conditioning:

    a route's own parameters      in the graph of its documents' vectors, and of no other route's
    shared                        in the graphs of several
    operations                    2 for each multiply-add of every matrix product, as torch counts them, on tensors without data
    activations                   bytes that a training step holds for its backward pass, beside weights

A parameter no document's vector depends on (what experts stand in for, BERT's second token type) is counted nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
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
    routes, held = model.conditioning.routes, dict(model.named_parameters())
    used = [used_by(model, route) for route in range(len(routes))]
    every = {name: held[name].numel() for found in used for name in found}
    per_route, added = dict.fromkeys(routes, 0), [name for name in every if name.startswith("conditioning.")]
    for name in added:
        users = [route for route, found in zip(routes, used, strict=True) if name in found]
        # a row for each route: in a table of its own, not of a part of it, whose rows may happen to be as many
        table = name.count(".") < 3 and held[name].ndim == 2 and len(held[name]) == len(routes)
        for route in users if table or len(users) == 1 else ():
            per_route[route] += every[name] if len(users) == 1 else held[name].shape[1]
    trained, total = {id(p) for p in model.conditioning.trained(model.trunk)}, sum(every.values())
    moved = sum(size for name, size in every.items() if id(held[name]) in trained)
    return Counts(total - sum(per_route.values()), per_route, sum(every[name] for name in added), moved, total)


def used_by(model: Conditioned, route: int) -> set[str]:
    """Return the names of the parameters in the graph of a document's vector on a route; nothing is computed."""
    weights = {name: torch.empty_like(p, device="meta").requires_grad_() for name, p in model.named_parameters()}
    names, way = {id(x): name for name, x in weights.items()}, model.conditioning
    with torch.enable_grad():
        batch = pack([way.tokens([0, 0, 0], route)], [route], "meta", way.read_at)
        vectors = functional_call(model, weights, (batch,))
    found, seen, ahead = set(), set(), [vectors.grad_fn]
    while ahead:
        node: Any = ahead.pop()
        if node is not None and node not in seen:
            seen.add(node)
            ahead += [before for before, _ in node.next_functions]
            if hasattr(node, "variable"):
                found.add(names[id(node.variable)])
    return found


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

    modes = {module: module.training for module in model.modules()}
    try:
        model.train()
        for layer in model.trunk.layers:
            layer.training = False  # drops none of attention's weights; its parts drop on
        with FlopCounterMode(display=False) as counter:
            with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
                vectors = functional_call(model, shapes, (_without_data(batch),))
            memory = sum(storage.nbytes() for storage in held.values())
            vectors.sum().backward()
    finally:
        for module, training in modes.items():
            module.training = training
    return Step(int(counter.get_total_flops()), memory)


def _without_data(batch: Packed) -> Packed:
    return replace(batch, **{name: getattr(batch, name).to("meta") for name in ("ids", "positions", "order")})


def operations(model: Conditioned, batch: Packed) -> int:
    """Return the operations of a forward pass over a batch, matrix products and attention; nothing is computed."""
    shapes = {name: torch.empty_like(p, device="meta") for name, p in model.named_parameters()}
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        functional_call(model, shapes, (_without_data(batch),))
    return int(counter.get_total_flops())
