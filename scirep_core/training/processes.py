"""Several processes that train one model, each with its share of every batch (torchrun).

    gradient = sum over processes of the gradient of each one's share          one all-reduce a step

Gradients and vectors go from device to device. Numbers of rows and the like are arrays and go from host to host, so no host waits
for its device to count.

Each process weighs its losses by its share of a task's rows, so the sum is the gradient of the whole batch and the result
that of one process (SciMult's code averages instead, which shrinks it by their number). Gradients go as one flat vector: what
has none in any process, such as another task's head, stays without, as alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

A = TypeVar("A", Tensor, NDArray[np.float64])


def processes() -> tuple[int, int]:
    """Return (rank, how many), and join the others where torchrun started this process."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1 and not dist.is_initialized():
        if torch.cuda.is_available():  # else what names no device is done on the first one, by all of them
            torch.cuda.set_device(local_device())
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)


def local_device() -> str:
    """Return the device of this process: its own GPU where there are several, else the one there is, or the CPU."""
    if not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}"


def added(values: A, world: int) -> A:
    """Return the sum over processes of an array, or of a tensor on its device."""
    if world == 1:
        return values
    total = values.clone() if isinstance(values, Tensor) else torch.from_numpy(values.copy())
    dist.all_reduce(total)
    return total if isinstance(values, Tensor) else total.numpy()


class _OfAll(torch.autograd.Function):
    """Rows of all processes one after another; backward, each gets its own rows' gradient summed over all."""

    @staticmethod
    def forward(ctx: Any, own: Tensor) -> Tensor:
        whole, first = _gathered(own)
        ctx.own = slice(first, first + len(own))
        return whole

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.contiguous()
        dist.all_reduce(total)
        return total[ctx.own]


def of_all(own: Tensor) -> Tensor:
    """Return (sum of n, dim) rows of all processes, in order of rank; every process must ask, with (n, dim), n from 0.

    Gradients go back to the process a row came from, summed over all that used it.
    """
    return _OfAll.apply(own if own.requires_grad else own.requires_grad_())  # type: ignore[no-any-return, no-untyped-call]


def of_all_numbers(own: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the numbers of all processes, in order of rank, and the place of this one's first."""
    whole, first = _gathered(torch.from_numpy(own))
    return whole.numpy(), first


def first_here(own: NDArray[np.int64], world: int) -> NDArray[np.bool_]:
    """Return (n,) whether a number is held by no process before this one; every process must ask, n from 0."""
    if world == 1:
        return np.ones(len(own), dtype=bool)
    everyone, first = of_all_numbers(own)
    return ~np.isin(own, everyone[:first])


def _gathered(own: Tensor) -> tuple[Tensor, int]:
    """Return the rows of all processes, in order of rank, and the place of this one's first."""
    rank, counts = dist.get_rank(), torch.zeros(dist.get_world_size(), dtype=torch.int64)
    counts[rank] = len(own)
    dist.all_reduce(counts)
    sizes: list[int] = counts.tolist()
    padded = own.new_zeros(max(sizes), *own.shape[1:])
    padded[: len(own)] = own
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded)
    return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)]), sum(sizes[:rank])


def wait(world: int) -> None:
    """Wait until every process is here."""
    added(np.zeros(1), world)


def same_everywhere(tensors: Sequence[Tensor], world: int) -> None:
    """Give every process the first one's values."""
    if world > 1:
        for tensor in tensors:
            dist.broadcast(tensor.data, 0)


def add_gradients(parameters: Sequence[nn.Parameter], world: int) -> None:
    """Give every process the sum of all gradients."""
    if world == 1:
        return
    has = added(np.array([parameter.grad is not None for parameter in parameters], dtype=float), world)
    moved = [parameter for parameter, count in zip(parameters, has, strict=True) if count]
    flat = torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).ravel() for p in moved])
    dist.all_reduce(flat)
    for parameter, part in zip(moved, torch.split(flat, [p.numel() for p in moved]), strict=True):
        parameter.grad = part.view_as(parameter)
