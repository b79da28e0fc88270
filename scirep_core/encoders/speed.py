"""How fast an encoder ran, and how near to what the machine can do.

    MFU = floating-point operations of the model's matrix products / seconds / measured rate of a large matrix product

The operations are counted, not measured: a multiplication and an addition for every weight and token, and the two products
of attention within each document. The rate is that of a product of large square matrices, on the same device and in the same
number type, with as many threads, by torch's own routine or, on a CPU, by the one for weights laid out once, whichever is
faster; it is measured when it is asked for, once per process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

from scirep_core.encoders.bert import Shape
from scirep_core.encoders.prepacked import prepack


class Speed(NamedTuple):
    """What one call of encode did.

    Attributes:
        tokens: of all documents, special ones included.
        seconds: of the forward passes, packing included, tokenizing excluded.
        padding: share of the computed rows that are padding.
        flops: floating-point operations of the matrix products.
        device, dtype: where and in which number type they ran.
    """

    documents: int
    tokens: int
    seconds: float
    padding: float
    flops: float
    device: str
    dtype: str

    @property
    def documents_per_second(self) -> float:
        """Documents / seconds."""
        return self.documents / max(self.seconds, 1e-9)

    @property
    def tokens_per_second(self) -> float:
        """Tokens / seconds."""
        return self.tokens / max(self.seconds, 1e-9)

    @property
    def mfu(self) -> float:
        """Share of the measured rate of a large matrix product; measures it at the first call."""
        return self.flops / max(self.seconds, 1e-9) / matrix_rate(self.device, self.dtype)

    def line(self) -> str:
        """Return a line for people: documents/s, tokens/s, padding, MFU."""
        return (
            f"{self.documents_per_second:,.1f} documents/s, {self.tokens_per_second:,.0f} tokens/s, "
            f"padding {100 * self.padding:.1f} %, MFU {100 * self.mfu:.0f} % ({self.dtype}, {self.device})"
        )


def matrix_rate(device: str = "cpu", dtype: str = "float32") -> float:
    """Return floating-point operations per second of a product of two large square matrices, best of ten by each routine."""
    return _rate(device, dtype, 8192 if device.startswith("cuda") else 1024, torch.get_num_threads())


@cache
def _rate(device: str, dtype: str, size: int, threads: int) -> float:
    kind: torch.dtype = getattr(torch, dtype)
    a, b = (torch.randn(size, size, device=device, dtype=kind) for _ in range(2))
    products: list[Callable[[], object]] = [lambda: torch.mm(a, b)]
    if device == "cpu":
        layer = prepack(torch.nn.Sequential(torch.nn.Linear(size, size, bias=False)).eval(), kind)
        products.append(lambda: layer(a))
    best = float("inf")
    with torch.inference_mode():
        for _ in range(10):
            for product in products:
                began = now(device)
                product()
                best = min(best, now(device) - began)
    return float(2.0 * size**3 / best)


def machine(device: str = "cpu") -> str:
    """Return what a device is called by its maker; "" where nobody says."""
    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(device))
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8", errors="replace").splitlines() if told.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


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
    if not read:
        return float(shape.num_hidden_layers * layer)
    last = tokens * 4 * dim * dim + docs * (4 * dim * dim + 4 * dim * inner) + 4 * tokens * dim
    return float((shape.num_hidden_layers - 1) * layer + last)
