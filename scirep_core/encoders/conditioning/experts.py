"""Experts by task: in every other block one sub-layer for each task (SciMult 3.2; Fedus et al. 2022, Ma et al. 2023).

    MHAExpert   h = norm1(x + attention_t(x))     y = norm2(h + feed(h))          query, key, value and dense of task t
    FFNExpert   h = norm1(x + attention(x))       y = norm2_t(h + feed_t(h))      both linears and their norm of task t

A document goes to the expert of its task; nothing decides but the task, and a query and its candidate take the same one.
Which norm is whose, and the expert blocks 1, 3, 5 ... (from 0), which the paper calls alternating, are the published code's.

Each expert starts as a copy of the trunk's own sub-layer (Appendix E.2's warm start): before training every task gives exactly
the trunk's vectors. The sub-layers that experts stand in for are used by nobody and are not trained.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from scirep_core.encoders.conditioning.base import Conditioning
from scirep_core.encoders.trunk.bert import LAYER, Layer, Trunk
from scirep_core.encoders.trunk.packing import Packed, attend
from scirep_core.encoders.trunk.prepacked import activated
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS

TASKS: tuple[str, ...] = ("search", "link", "classification")
"""SciMult's tasks in the order its checkpoints number their experts."""
ROUTING = "routing.json"
"""Says of a saved model which weights are whose; nothing here reads it, scirep.json says the same."""
TASK_OF_FORMAT = {"QRY": "search", "PRX": "link", "CLF": "classification"}
"""SciRepEval's formats as SciMult's tasks; it has none that predicts numbers."""


def by_route(modules: nn.ModuleList, x: Tensor, slices: Sequence[tuple[int, slice]]) -> Tensor:
    """Return (rows, out): each slice of (rows, dim) through its route's module."""
    parts = [modules[route](x[rows]) for route, rows in slices]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


class Experts(Conditioning):
    """What both kinds share: which blocks have experts, and copies of the parts named in `parts`, one for each route.

    Args:
        blocks: numbers of the blocks with experts; every second one unless said.
    """

    stands = TASK_OF_FORMAT
    parts: tuple[str, ...] = ()
    part = ""
    block: Callable[[Any, Layer, Tensor, Packed, bool], Tensor]
    """Each kind's own: (the routes' copies of its parts, layer, x, batch, read) -> output of a block with experts."""

    def __init__(self, trunk: Trunk, routes: Sequence[str] = FORMATS, blocks: Sequence[int] | None = None) -> None:
        layers = len(trunk.layers)
        chosen = list(range(1, layers, 2) if blocks is None else blocks)
        if not chosen or not all(0 <= i < layers for i in chosen):
            raise ConfigError(f"{self.kind}: blocks {chosen} of a trunk with {layers}; name some of 0 to {layers - 1}")
        super().__init__(trunk, routes, blocks=chosen)
        self.experts = nn.ModuleDict()
        for i in chosen:
            own = {part: trunk.layers[i].get_submodule(part) for part in self.parts}
            self.experts[str(i)] = nn.ModuleDict({
                part: nn.ModuleList(copy.deepcopy(module).requires_grad_(True) for _ in self.routes)
                for part, module in own.items()
            })  # fmt: skip

    def routing(self) -> dict[str, Any]:
        """Return for readers elsewhere, JSON-able: which blocks and modules are experts', and whose number is which.

        An expert's weight of a module is `experts.BLOCK.MODULE.NUMBER`, to be put in the place of the trunk's own.
        """
        served = (format for format in FORMATS if {format, self.stands.get(format)} & {*self.routes})
        formats = {format: self.routes[self.route(format)] for format in served}
        return {
            "part": self.part, "blocks": self.options["blocks"], "experts": {name: i for i, name in enumerate(self.routes)},
            "formats": formats, "modules": {name: f"encoder.layer.BLOCK.{LAYER[name]}" for name in self.parts},
        }  # fmt: skip

    def layer(self, i: int, layer: Layer, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return layer i's output (rows, dim)."""
        if str(i) not in self.experts:
            return layer(x, batch, read)  # type: ignore[no-any-return]
        return self.block(self.experts[str(i)], layer, x, batch, read)

    def trained(self, trunk: Trunk) -> list[nn.Parameter]:
        """Return all parameters but those of the sub-layers that experts stand in for."""
        unused = {id(p) for i in self.experts for part in self.parts
                  for p in trunk.layers[int(i)].get_submodule(part).parameters()}  # fmt: skip
        return [*(p for p in trunk.parameters() if id(p) not in unused), *self.parameters()]


class MHAExperts(Experts):
    """SciMult-MHAExpert: attention by task."""

    kind, part = "mha_experts", "attention"
    parts = ("query", "key", "value", "dense")

    def block(self, of: Any, layer: Layer, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return the output of a block whose attention is the task's own."""
        own, every = layer.rows(x, batch, read), batch.slices(read=False)
        q = by_route(of["query"], own, batch.slices(read))
        k, v = (by_route(of[part], x, every) for part in ("key", "value"))
        drop = layer.drop_attention if layer.training else 0.0
        seen = attend(layer.split(q), layer.split(k), layer.split(v), batch, read, drop)
        h = layer.norm1(own + layer.dropout(by_route(of["dense"], seen.flatten(-2), batch.slices(read))))
        return layer.norm2(h + layer.feed(h))  # type: ignore[no-any-return]


class FFNExperts(Experts):
    """SciMult-FFNExpert: the feed-forward part by task."""

    kind, part = "ffn_experts", "feed-forward"
    parts = ("intermediate", "output", "norm2")

    def block(self, of: Any, layer: Layer, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return the output of a block whose feed-forward part is the task's own."""
        h = layer.norm1(layer.rows(x, batch, read) + layer.attention(x, batch, read))
        made = []
        for route, rows in batch.slices(read):
            first, second, norm = (of[part][route] for part in self.parts)
            made.append(norm(h[rows] + layer.dropout(second(activated(first, h[rows], layer.gelu)))))
        return torch.cat(made)
