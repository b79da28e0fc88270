"""Projected attention layers: a small attention of the format's own beside each layer (Stickland & Murray 2019).

    y = norm2(h + feed(h) + pal_f(x))        pal_f(x) = gelu(U_f attention_fl(D_f x))

x is the layer's input, h what its attention made of it. D_f (dim -> width) and U_f (width -> dim) are one pair for each
format, shared by all layers; the attention at that width (6 heads, no output linear) is each layer's own. SciRepEval 4.1
trains them with the whole network; its table of parameters says 2M a format, and counted they are 1.82M on BERT-base.
The GELU after the last linear is not in Stickland & Murray's formula but in their code, which SciRepEval uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from scirep_core.encoders.conditioning.base import Conditioning
from scirep_core.encoders.conditioning.experts import by_route
from scirep_core.encoders.trunk.bert import Layer, Trunk, initialise
from scirep_core.encoders.trunk.packing import Packed, attend
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS

WIDTH, DIM = 204, 768
"""The published width, and the trunk's it was chosen for."""


def width_for(dim: int, heads: int) -> int:
    """Return a width for a trunk in the published proportion, a multiple of `heads`.

    >>> width_for(768, 6), width_for(384, 6), width_for(64, 6)
    (204, 102, 18)
    """
    return max(1, round(dim * WIDTH / DIM / heads)) * heads


class PALs(Conditioning):
    """One pair of projections for each route, and for each layer and route an attention between them.

    Args:
        width: of the attention; in the published proportion to the trunk's unless said.
        heads: of the attention.
    """

    kind = "pals"

    def __init__(self, trunk: Trunk, routes: Sequence[str] = FORMATS, width: int | None = None, heads: int = 6) -> None:
        dim = trunk.shape.hidden_size
        small = width_for(dim, heads) if width is None else width
        if small < 1 or small % heads:
            raise ConfigError(f"pals: width {small} is no multiple of {heads} heads")
        super().__init__(trunk, routes, width=small, heads=heads)
        self.heads = heads
        self.down = nn.ModuleList(nn.Linear(dim, small) for _ in self.routes)
        self.up = nn.ModuleList(nn.Linear(small, dim) for _ in self.routes)
        self.query, self.key, self.value = (
            nn.ModuleList(nn.ModuleList(nn.Linear(small, small) for _ in self.routes) for _ in trunk.layers)
            for _ in range(3)
        )
        self.apply(initialise)

    def pal(self, i: int, layer: Layer, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return (rows, dim): what the documents' own small attention adds to layer i; x is the layer's input."""
        of: Any = (self.query[i], self.key[i], self.value[i])
        rows, every = batch.slices(read), batch.slices(read=False)
        small = by_route(self.down, x, every)
        q = by_route(of[0], layer.rows(small, batch, read), rows)
        k, v = by_route(of[1], small, every), by_route(of[2], small, every)
        q, k, v = (part.view(len(part), self.heads, -1) for part in (q, k, v))
        seen = attend(q, k, v, batch, read, layer.drop_attention if layer.training else 0.0)
        return F.gelu(by_route(self.up, seen.flatten(-2), rows))

    def layer(self, i: int, layer: Layer, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return layer i's output (rows, dim)."""
        h = layer.norm1(layer.rows(x, batch, read) + layer.attention(x, batch, read))
        return layer.norm2(h + layer.feed(h) + self.pal(i, layer, x, batch, read))  # type: ignore[no-any-return]
