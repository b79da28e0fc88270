"""How an encoder is told the task: one file for each way of the papers, all on the same trunk.

    plain             nothing is told: the trunk as it is (MTL CLS)                          SciRepEval 4.1
    control_codes     a token of the format's own after [CLS], and its vector is read        SciRepEval 4.1 (MTL CTRL)
    bottleneck        an adapter of the format's own after each feed-forward part            SciRepEval 4.1 (Adapters)
    fusion            attention over all formats' adapters                                   SciRepEval 4.1 (Fusion)
    pals              a small attention of the format's own beside each layer                SciRepEval 4.1 (PALs)
    mha_experts, ffn_experts   every other layer's attention or feed-forward part by task    SciMult 3.2
    prefix, instruction        each layer sees a context that says the task                  SciMult 3.3
    one_pass          all formats' tokens before one document that does not see them         ours

A conditioning has routes (task formats, or tasks), and every document of a batch takes one of them; formats mix freely
in a batch. It may add tokens to a document, and takes each layer's parts and puts its own between them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from torch import Tensor, nn

from scirep_core.encoders.trunk.bert import Layer, Trunk
from scirep_core.encoders.trunk.packing import Packed, pack
from scirep_core.kit.errors import ConfigError, look_up
from scirep_core.kit.formats import FORMATS, Format


class Conditioning(nn.Module):
    """The plain one, MTL CLS: no route tells anything. Others override what they change.

    Attributes:
        kind: name in CONDITIONINGS.
        options: what the constructor was given beside shape and routes; JSON-able, saved with the weights.
        routes: names of the ways a document can take.
        read_at: place of the token that is read, where pooling is by one token.
        shared_pass: whether one forward pass gives the vectors of all routes.
        stands: task format -> the route that stands for it, where it has none of its own.
    """

    kind = "plain"
    read_at = 0
    shared_pass = False
    stands: Mapping[str, str] = MappingProxyType({})

    def __init__(self, trunk: Trunk, routes: Sequence[str] = FORMATS, **options: Any) -> None:
        super().__init__()
        self.routes, self.options = tuple(routes), options

    def route(self, format: str) -> int:
        """Return the route of a task format or a task. Raises ConfigError where there is none."""
        for name in (format, self.stands.get(format)):
            if name in self.routes:
                return self.routes.index(name)
        raise ConfigError(f"{self.kind} has no {format}; it has {', '.join(self.routes)}")

    def words(self, trunk: Trunk) -> int:
        """Return how many token ids there are: the trunk's, and behind them its own."""
        return trunk.shape.vocab_size

    def added(self) -> int:
        """Return how many tokens it puts into a document."""
        return 0

    def tokens(self, ids: list[int], route: int) -> list[int]:
        """Return a document's token ids ([CLS] first) with what the route adds."""
        return ids

    def start(self, trunk: Trunk, batch: Packed) -> Tensor:
        """Return (tokens, dim): the first layer's input."""
        return trunk.embed(trunk.words(batch.ids), batch.positions)

    def layer(self, i: int, layer: Layer, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return layer i's output (rows, dim); with `read` of the tokens that are read alone, (docs, dim)."""
        return layer(x, batch, read)  # type: ignore[no-any-return]

    def trained(self, trunk: Trunk) -> list[nn.Parameter]:
        """Return the parameters that training moves: the trunk's and its own; adapters leave the trunk as it is."""
        return [*trunk.parameters(), *self.parameters()]


class Conditioned(nn.Module):
    """A trunk and its conditioning: packed documents in, a vector each out. ConfigError for a shared pass without pooling cls."""

    def __init__(self, trunk: Trunk, conditioning: Conditioning, pooling: str = "cls") -> None:
        super().__init__()
        if conditioning.shared_pass and pooling != "cls":
            raise ConfigError(f"{conditioning.kind} reads one token a route: pooling is cls, not {pooling}")
        self.trunk, self.conditioning, self.pooling = trunk, conditioning, pooling

    @property
    def apart(self) -> bool:
        """Whether a document is encoded once for each format, as where formats are told and share no pass."""
        return self.conditioning.kind != "plain" and not self.conditioning.shared_pass

    def pack(self, documents: Sequence[list[int]], formats: Sequence[Format]) -> Packed:
        """Return documents (token ids with [CLS] and [SEP]) under their formats as one batch."""
        routes = [self.conditioning.route(format) for format in formats]
        inputs = [self.conditioning.tokens(ids, route) for ids, route in zip(documents, routes, strict=True)]
        device = str(self.trunk.words.weight.device)
        return pack(inputs, routes, device, self.conditioning.read_at)

    def hidden(self, batch: Packed, read: bool = False) -> Tensor:
        """Return last hidden states in packed order: (tokens, dim), or with `read` those of the tokens that are read."""
        x = self.conditioning.start(self.trunk, batch)
        for i, layer in enumerate(self.trunk.layers):
            assert isinstance(layer, Layer)
            x = self.conditioning.layer(i, layer, x, batch, read and i == len(self.trunk.layers) - 1)
        return x

    def forward(self, batch: Packed) -> Tensor:
        """Return (docs, dim) vectors in the order the documents were given in; (docs, routes, dim) by a shared pass."""
        if self.pooling == "mean":
            return batch.in_order(batch.mean(self.hidden(batch)))
        return batch.in_order(self.hidden(batch, read=True))


class Way(NamedTuple):
    """A row of the registry: where the conditioning is, and what the papers call it."""

    module: str
    name: str
    paper: str


CONDITIONINGS: dict[str, Way] = {
    "plain": Way("base", "Conditioning", "MTL CLS"),
    "control_codes": Way("control_codes", "ControlCodes", "MTL CTRL"),
    "bottleneck": Way("bottleneck", "Bottleneck", "Adapters"),
    "fusion": Way("fusion", "Fusion", "Adapter Fusion"),
    "pals": Way("pals", "PALs", "PALs"),
    "mha_experts": Way("experts", "MHAExperts", "SciMult-MHAExpert"),
    "ffn_experts": Way("experts", "FFNExperts", "SciMult-FFNExpert"),
    "prefix": Way("prefix", "Prefix", "SciMult-Prefix"),
    "instruction": Way("prefix", "Instruction", "SciMult-Instruction"),
    "one_pass": Way("one_pass", "OnePass", "one pass (ours)"),
}


def kind_of(name: str) -> type[Conditioning]:
    """Return a conditioning's class, by name. Raises ConfigError naming the nearest known one."""
    way = look_up("conditioning", name, CONDITIONINGS)
    kind: type[Conditioning] = getattr(importlib.import_module(f"{__package__}.{way.module}"), way.name)
    return kind


def conditioning(kind: str, trunk: Trunk, routes: Sequence[str] = FORMATS, **options: Any) -> Conditioning:
    """Return a new conditioning for a trunk, by name. Raises ConfigError naming the nearest known one."""
    return kind_of(kind)(trunk, routes, **options)
