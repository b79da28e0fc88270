"""How fast an encoder ran, and how near that is to what the machine can do.

    MFU = floating-point operations of the model's matrix products / seconds / measured rate of a large matrix product

The operations are counted: a multiplication and an addition for every weight and token, and the two products of attention
within each document. The rate is that of large square matrices, on the same device, in the same number type, with as many
threads, by torch's own routine or, on a CPU, by the one for weights laid out once; it is measured once per process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch

from scirep_core.encoders.trunk.bert import Shape
from scirep_core.encoders.trunk.number_types import number_type, products_in
from scirep_core.encoders.trunk.prepacked import prepack


class Speed(NamedTuple):
    """What an encoder's forward passes have done since it was made.

    Attributes:
        tokens: of all documents, special ones included; rows are computed for no others, so the padding share is 0.
        seconds: of the passes, packing included, tokenizing excluded.
        operations: floating-point operations of the matrix products.
    """

    documents: int = 0
    tokens: int = 0
    seconds: float = 0.0
    operations: float = 0.0

    def plus(self, more: Speed) -> Speed:
        """Return the sum of both."""
        return Speed(*(one + other for one, other in zip(self, more, strict=True)))  # type: ignore[arg-type]

    def line(self, device: str, dtype: str) -> str:
        """Return a line for people: documents/s, tokens/s, padding share, MFU; the machine's rate is measured now."""
        seconds = max(self.seconds, 1e-9)
        return (
            f"{self.documents / seconds:,.1f} documents/s, {self.tokens / seconds:,.0f} tokens/s, padding 0 %, "
            f"MFU {100 * self.operations / seconds / matrix_rate(device, dtype):.0f} % ({dtype}, {device})"
        )


def matrix_rate(device: str = "cpu", dtype: str = "float32") -> float:
    """Return floating-point operations per second of a product of two large square matrices, best of ten by each routine."""
    return _rate(device, dtype, 8192 if device.startswith("cuda") else 1024, torch.get_num_threads())


@cache
def _rate(device: str, dtype: str, size: int, threads: int) -> float:
    kind = number_type(dtype)
    with torch.random.fork_rng([device] if device.startswith("cuda") else []):  # measuring moves nobody's random state
        a, b = (torch.randn(size, size, device=device, dtype=kind) for _ in range(2))
        products: list[Callable[[], object]] = [lambda: torch.mm(a, b)]
        if device == "cpu":
            layer = prepack(torch.nn.Sequential(torch.nn.Linear(size, size, bias=False)).eval(), kind)
            products.append(lambda: layer(a))
    best = float("inf")
    with torch.inference_mode(), products_in(dtype):
        for _ in range(10):
            for product in products:
                began = now(device)
                product()
                best = min(best, now(device) - began)
    return float(2.0 * size**3 / best)


def now(device: str) -> float:
    """Return seconds by a clock that has waited for the device's work."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    return time.perf_counter()


def flops(shape: Shape, lengths: Sequence[int], read: bool = True) -> float:
    """Return the floating-point operations of a forward pass over documents of these lengths (tokens).

    Args:
        read: the last layer computes one row a document beside keys and values, as where the first token is the vector.

    >>> round(flops(Shape(30522, 768, 12, 12, 3072), [512], read=False) / 1e9, 1)
    96.6
    """
    dim, inner = shape.hidden_size, shape.intermediate_size
    tokens, square, docs = sum(lengths), sum(length * length for length in lengths), len(lengths)
    layer = tokens * (8 * dim * dim + 4 * dim * inner) + 4 * square * dim
    last = tokens * 4 * dim * dim + docs * (4 * dim * dim + 4 * dim * inner) + 4 * tokens * dim
    return float((shape.num_hidden_layers - 1) * layer + (last if read else layer))
