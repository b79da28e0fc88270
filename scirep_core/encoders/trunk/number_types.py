"""What a device computes in: its name, its threads, and number types by name, of what a model holds and of its matrix products.

    tf32    float32, but a GPU rounds what its matrix products take to TF32: 10 bits of fraction instead of 23, and faster

TF32 is asked for by this name and nowhere else: float32 is exact on every device, so that its vectors are (1e-5) the CPU's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch


def number_type(name: str) -> torch.dtype:
    """Return torch's type of the numbers a model holds.

    >>> number_type("tf32"), number_type("bfloat16")
    (torch.float32, torch.bfloat16)
    """
    found = getattr(torch, "float32" if name == "tf32" else name)
    assert isinstance(found, torch.dtype)
    return found


NATIVE = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
"""What a CPU that computes in bfloat16 has, by torch's names: x86's first, then Arm's."""


def available(name: str, device: str) -> str:
    """Return a number type as it is asked for, and float32 in place of a bfloat16 that the device would only write out."""
    if name != "bfloat16":
        return name
    if device.startswith("cuda"):
        there = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        features: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)() if device == "cpu" else {}
        there = any(features.get(feature, False) for feature in NATIVE)
    return name if there else "float32"


def machine(device: str = "cpu") -> str:
    """Return what a device is called by its maker; "" where nobody says."""
    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(device))
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


@contextmanager
def at_threads(number: int | None = None) -> Iterator[None]:
    """Have torch use so many threads of the CPU, while inside; None: those it has, and what is set inside ends here."""
    before = torch.get_num_threads()
    try:
        if number is not None:
            torch.set_num_threads(number)
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


@contextmanager
def products_in(name: str) -> Iterator[None]:
    """Have matrix products of float32 rounded as `tf32` says, while inside; other names change nothing."""
    setting = torch.backends.cuda.matmul
    before = setting.fp32_precision
    try:
        if name == "tf32":
            setting.fp32_precision = "tf32"
        yield
    finally:
        if name == "tf32":
            setting.fp32_precision = before
