"""AdapterFusion: each format attends over all formats' adapters, layer by layer (Pfeiffer et al. 2021; SciRepEval 4.1).

    u_a = up_a(relu(down_a(z)))        p = softmax_a(Q_f z . K_f u_a)        y = norm2(h + feed(h) + V_f sum_a p_a u_a)

Two stages: adapters are trained first, each for its format (bottleneck.py); then `fuse` puts this over them, and only Q, K
and V move, 21.3 million numbers a format on BERT-base. V begins as the identity.

The published way takes every u_a through K and V, 2 x 4 + 1 products of the trunk's width squared for each token. Here K is
on the other side, (K'q).u_a + q.b, and V behind the sum: the same by three products, whatever the number of adapters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.encoders.conditioning.bottleneck import Bottleneck
from scirep_core.encoders.trunk.bert import Trunk, initialise
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS


class Mixer(nn.Module):
    """Attention over the adapters of one layer, for one format."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, z: Tensor, ups: Tensor) -> Tensor:
        """Return (rows, dim): adapters' outputs `ups` (rows, adapters, dim), weighted for tokens z (rows, dim)."""
        q = self.query(z)
        # a layer laid out for bfloat16 keeps these two in float32
        key, bias = self.key.weight.to(q.dtype), self.key.bias.to(q.dtype)
        scores = torch.einsum("rd,rad->ra", q @ key, ups) + (q @ bias)[:, None]
        mixed = torch.einsum("ra,rad->rd", F.softmax(self.dropout(scores), -1), ups)
        return self.value(mixed)  # type: ignore[no-any-return]


class Fusion(Bottleneck):
    """Adapters of all routes, and for each layer and route its attention over them: `mixers[layer][route]`."""

    kind = "fusion"

    def __init__(self, trunk: Trunk, routes: Sequence[str] = FORMATS, **options: Any) -> None:
        super().__init__(trunk, routes, **options)
        sizes = trunk.shape.hidden_size, trunk.shape.attention_probs_dropout_prob
        self.mixers = nn.ModuleList(nn.ModuleList(Mixer(*sizes) for _ in own) for own in self.adapters)  # type: ignore[attr-defined]
        self.mixers.apply(initialise)
        for mixer in self.modules():
            if isinstance(mixer, Mixer):
                mixer.value.weight.data.fill_(1e-6).fill_diagonal_(1.0)

    def beside(self, i: int, z: Tensor, slices: Sequence[tuple[int, slice]]) -> Tensor:
        """Return (rows, dim): what is added to layer i for tokens z (rows, dim), each route's mixture of all adapters."""
        adapters: Any = self.adapters[i]
        mixers: Any = self.mixers[i]
        ups = torch.stack([adapter(z) for adapter in adapters], 1)
        return torch.cat([mixers[route](z[rows], ups[rows]) for route, rows in slices])

    def trained(self, trunk: Trunk) -> list[nn.Parameter]:
        """Return the parameters of the second stage: adapters and trunk stay as they are."""
        return list(self.mixers.parameters())


def fuse(model: Conditioned) -> Conditioned:
    """Return a model with trained adapters (else ConfigError) made ready for the second stage; trunk and adapters are shared."""
    first = model.conditioning
    if not isinstance(first, Bottleneck):
        raise ConfigError(f"fusion needs a model with adapters, kind bottleneck; this one is {first.kind}")
    made = Fusion(model.trunk, first.routes, **first.options)
    made.adapters = first.adapters
    return Conditioned(model.trunk, made.to(model.trunk.words.weight), model.pooling)
