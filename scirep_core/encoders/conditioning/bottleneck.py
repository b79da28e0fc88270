"""Adapters: a bottleneck of the format's own after each feed-forward part (SciRepEval, section 4.1; Pfeiffer et al. 2021).

    z = norm2(h + feed(h))        y = norm2(h + feed(h) + up_f(relu(down_f(z))))        f = the document's format

down takes a token from the trunk's width to a sixteenth of it, up takes it back: 894,528 numbers a format on BERT-base, the
only ones that training moves, so all formats can be trained in one run, each as if alone. The norm is the trunk's own, used
twice: this is what the `adapters` library calls seq_bn and what SPECTER2 is made of (adapter_folder.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional as F

from scirep_core.encoders.conditioning.base import Conditioning
from scirep_core.encoders.conditioning.experts import by_route
from scirep_core.encoders.trunk.bert import Layer, Trunk, initialise
from scirep_core.encoders.trunk.packing import Packed
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS


class Adapter(nn.Module):
    """One bottleneck of one layer."""

    def __init__(self, dim: int, reduction: int) -> None:
        super().__init__()
        self.down = nn.Linear(dim, max(dim // reduction, 1))
        self.up = nn.Linear(self.down.out_features, dim)

    def forward(self, z: Tensor) -> Tensor:
        """Return (rows, dim): what is added."""
        return self.up(F.relu(self.down(z)))  # type: ignore[no-any-return]


class Bottleneck(Conditioning):
    """An adapter per layer and route: `adapters[layer][route]`.

    Options:
        reduction: the trunk's width over the bottleneck's.
        leave_out: layers (from 0) without adapters.
    """

    kind = "bottleneck"

    def __init__(
        self, trunk: Trunk, routes: Sequence[str] = FORMATS, reduction: int = 16, leave_out: Sequence[int] = ()
    ) -> None:
        super().__init__(trunk, routes, reduction=reduction, leave_out=list(leave_out))
        layers = trunk.shape.num_hidden_layers
        if reduction < 1 or not set(leave_out) <= set(range(layers)):
            raise ConfigError(f"adapters: reduction {reduction}, leave_out {leave_out} do not fit {layers} layers")
        self.adapters = nn.ModuleList(
            nn.ModuleList(Adapter(trunk.shape.hidden_size, reduction) for _ in self.routes if i not in leave_out)
            for i in range(layers)
        )
        self.apply(initialise)

    def layer(self, i: int, layer: Layer, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return layer i's output (rows, dim), each document through what `beside` has for its route."""
        if not len(self.adapters[i]):  # type: ignore[arg-type]
            return super().layer(i, layer, x, batch, read)
        h = layer.norm1(layer.rows(x, batch, read) + layer.attention(x, batch, read))
        fed = h + layer.feed(h)
        return layer.norm2(fed + self.beside(i, layer.norm2(fed), batch.slices(read)))  # type: ignore[no-any-return]

    def beside(self, i: int, z: Tensor, slices: Sequence[tuple[int, slice]]) -> Tensor:
        """Return (rows, dim): what is added to layer i for tokens z (rows, dim), by the adapter of each route."""
        return by_route(self.adapters[i], z, slices)  # type: ignore[arg-type]

    def trained(self, trunk: Trunk) -> list[nn.Parameter]:
        """Return the adapters' parameters: the trunk stays as it is."""
        return list(self.parameters())
