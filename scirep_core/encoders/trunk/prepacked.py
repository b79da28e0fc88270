"""Linear layers whose weights are laid out once for oneDNN, with the GELU that follows computed in the same pass or in place.

torch hands float32 products on the CPU to a library that packs the weights anew at every call. For inference the
packing can be done once: the same vectors up to rounding (below 1e-5 before pooling), about 1.2 to 1.3 times as fast for BERT
models. The operators are torch's own and not public: where they are missing, or answer something else than the plain layer on
a first trial, float32 stays as it is.

In bfloat16 only these products and attention are rounded, not what is added up from layer to layer nor its norms: cosines
within 1e-4.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import torch
from torch.nn import functional as F

ROWS = 2048
"""Tokens that the layout is chosen for."""

FUSED: bool = getattr(torch.cpu, "_is_avx512_supported", lambda: True)()
"""Whether oneDNN computes GELU within the product. Without AVX512 that takes longer than torch's own afterwards, in place."""


@functools.cache
def bound_kernels() -> None:
    """Bound how many kernels torch keeps, where the user has not: for this process, before the first of ours is made.

    oneDNN, and what torch puts around it, compile one for every number of rows and keep 1,024, in bfloat16 over 1 MB each.
    """
    for cache in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(cache, "256")


class Prepacked(torch.nn.Module):
    """A linear layer on (..., in) and GELU where `gelu`; keeps the plain layer's weight for who asks for it."""

    def __init__(self, plain: torch.nn.Linear, gelu: bool = False, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        bound_kernels()
        self.weight, self.bias, self.gelu, self.dtype = plain.weight, plain.bias, gelu, dtype
        self.packed = torch.ops.mkldnn._reorder_linear_weight(plain.weight.detach().to(dtype), ROWS)
        self.shift = None if plain.bias is None else plain.bias.detach().to(dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (..., out) in the layer's number type."""
        return self.activated(x, "none") if self.gelu else self._product(x, "none", "")

    def activated(self, x: torch.Tensor, approximate: str) -> torch.Tensor:
        """Return GELU of (..., out), exact (`none`) or by its approximation (`tanh`)."""
        if FUSED:
            return self._product(x, "gelu", approximate)
        y: torch.Tensor = torch.ops.aten.gelu_(self._product(x, "none", ""), approximate=approximate)
        return y

    def _product(self, x: torch.Tensor, act: str, algorithm: str) -> torch.Tensor:
        pointwise: Any = torch.ops.mkldnn._linear_pointwise
        return pointwise(x.to(self.dtype), self.packed, self.shift, act, [], algorithm)  # type: ignore[no-any-return]


class Rounded(torch.nn.Module):
    """A linear layer in another number type than the model around it, without oneDNN's layout."""

    def __init__(self, plain: torch.nn.Linear, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight, self.bias, self.dtype = plain.weight, plain.bias, dtype
        self.rounded = plain.weight.detach().to(dtype)
        self.shift = None if plain.bias is None else plain.bias.detach().to(dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (..., out) in the layer's number type."""
        return F.linear(x.to(self.dtype), self.rounded, self.shift)


def rounded(x: torch.Tensor, linear: torch.nn.Module) -> torch.Tensor:
    """Return x in the number type that a layer multiplies in, so that several layers of one input convert it once."""
    return x.to(getattr(linear, "dtype", x.dtype))


def activated(linear: torch.nn.Module, x: torch.Tensor, approximate: str) -> torch.Tensor:
    """Return GELU(linear(x)), in one pass where the layer is laid out for it."""
    if isinstance(linear, Prepacked):
        return linear.activated(x, approximate)
    return F.gelu(linear(x), approximate=approximate)


def prepack(model: torch.nn.Module, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    """Replace a model's linear layers, in place, where it is on the CPU in float32; return the model.

    In another `dtype` than float32 the linear layers, and what attends to their outputs, compute in it all the same where oneDNN
    has no layout for it.
    """
    plain = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if type(child) is torch.nn.Linear and child.weight.dtype == torch.float32 and child.weight.device.type == "cpu"
    ]
    works = bool(plain) and _works(plain[0][2], dtype)
    for parent, name, child in plain if works or dtype != torch.float32 else ():
        act = getattr(parent, "intermediate_act_fn", None)  # the exact GELU, as transformers' BERT models call theirs
        gelu = type(act).__name__ == "GELUActivation" and getattr(act, "act", None) is F.gelu
        fused = works and name == "dense" and gelu
        setattr(parent, name, Prepacked(child, fused, dtype) if works else Rounded(child, dtype))
        if fused:
            parent.intermediate_act_fn = torch.nn.Identity()
    return model


def _works(plain: torch.nn.Linear, dtype: torch.dtype) -> bool:
    """Whether the operators are there and agree with the plain layer, with and without GELU."""
    x = torch.linspace(-1, 1, 3 * plain.in_features).reshape(3, plain.in_features)
    near = 1e-4 if dtype == torch.float32 else 0.05
    try:
        with torch.inference_mode():
            y = plain(x)
            for approximate in ("none", "tanh"):
                gelu = Prepacked(plain, False, dtype).activated(x, approximate).float()
                if not torch.allclose(gelu, F.gelu(y, approximate=approximate), near, near):
                    return False
            same = torch.allclose(Prepacked(plain, False, dtype)(x).float(), y, near, near)
            return same and torch.allclose(Prepacked(plain, True, dtype)(x).float(), F.gelu(y), near, near)
    except (RuntimeError, AttributeError):
        return False
