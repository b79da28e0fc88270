"""Number types by name, of what a model holds and of its matrix products.

    tf32    float32, but a GPU rounds what its matrix products take to TF32: 10 bits of fraction instead of 23, and faster

TF32 is asked for by this name and nowhere else: float32 is exact on every device, so that its vectors are (1e-5) the CPU's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def number_type(name: str) -> torch.dtype:
    """Return torch's type of the numbers a model holds.

    >>> number_type("tf32"), number_type("bfloat16")
    (torch.float32, torch.bfloat16)
    """
    found = getattr(torch, "float32" if name == "tf32" else name)
    assert isinstance(found, torch.dtype)
    return found


@contextmanager
def products_in(name: str) -> Iterator[None]:
    """Have matrix products of float32 rounded as `tf32` says, while inside; other names change nothing.

    torch knows one setting for all threads of a process; it is left as it was found.
    """
    setting = torch.backends.cuda.matmul
    before = setting.fp32_precision
    try:
        if name == "tf32":
            setting.fp32_precision = "tf32"
        yield
    finally:
        if name == "tf32":
            setting.fp32_precision = before
