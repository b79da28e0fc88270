"""A training's folder: one file that holds its state at a step, and the log of what it did.

checkpoint.shard is written whole or not at all, and every bit is checked before it is used:

    weights of model and heads, moments of the optimiser, random state      tensors, in the layout of safetensors
    step, settings, best look, place in the log                             JSON in the shard's header

The file is a shard (kit/store.py): a header with the SHA-256 of the tensors' bytes. Whoever is killed leaves the last checkpoint
as it was. What is sampled at a step is a function of seed and step alone (`batching.py`), so the step is the sampler's state.

log.jsonl has a line a step and one for each look at the validation tasks. A checkpoint says how far the log went, and who goes
on from it cuts off what came later: no step is there twice, none is missing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load as tensors_of_bytes
from safetensors.torch import save as bytes_of_tensors
from torch import Tensor, nn
from torch.optim import Optimizer

from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.kit.errors import CacheError, ConfigError, NumericError
from scirep_core.kit.records import read_jsonl
from scirep_core.kit.store import read_shard, sha256_array, stable_hash, write_shard
from scirep_core.training.config import TrainConfig
from scirep_core.training.data import TrainTask, hash_of
from scirep_core.training.processes import added, wait

KIND = "training"
CALMER = "Lower learning_rate, or set clip"
"""What to do about a loss that is no number."""
LOG, CHECKPOINT, BEST = "log.jsonl", "checkpoint.shard", "best.shard"


class Checkpoint(NamedTuple):
    """Tensors by name, and what is known beside them."""

    tensors: dict[str, Tensor]
    meta: dict[str, Any]


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
    """Write tensors and JSON-able `meta` as one checksummed file, atomically."""
    whole = {name: tensors[name].detach().cpu().contiguous() for name in sorted(tensors)}  # equal states, equal files
    seen: set[int] = set()
    for name, value in whole.items():
        if value.data_ptr() in seen:  # a weight under two names is written twice: safetensors refuses to share
            whole[name] = value.clone()
        seen.add(value.data_ptr())
    data = bytes_of_tensors(whole)
    write_shard(path, np.frombuffer(data, dtype=np.uint8), {"kind": KIND, **meta})


def read_checkpoint(path: Path) -> Checkpoint:
    """Return what a checkpoint holds. Raises CacheError if a single bit differs from what was written."""
    remedy = "Delete it; training starts again from the step before it, or from the beginning"
    try:
        array, meta = read_shard(path)
        if meta.get("kind") != KIND:
            raise CacheError(f"{path}: is no checkpoint of a training", remedy)
        return Checkpoint(tensors_of_bytes(array.tobytes()), meta)
    except CacheError as error:
        raise CacheError(error.reason, remedy) from None
    except (OSError, ValueError, KeyError) as error:
        raise CacheError(f"{path}: cannot be read ({error})", remedy) from None


def state_of(module: nn.Module, heads: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Return all tensors of a training: weights under model. and heads., moments under optimizer.<parameter>.<moment>."""
    found = {f"model.{name}": value for name, value in module.state_dict().items()}
    found |= {f"heads.{name}": value for name, value in heads.state_dict().items()}
    for i, parameter in enumerate(_parameters(optimizer)):
        for moment, value in optimizer.state.get(parameter, {}).items():
            found[f"optimizer.{i}.{moment}"] = value
    return found


def restore(
    tensors: Mapping[str, Tensor], module: nn.Module, heads: nn.Module, optimizer: Optimizer, source: str
) -> None:
    """Put the tensors of `state_of` back. Raises ConfigError where the model is another one than was saved."""
    for prefix, part in (("model.", module), ("heads.", heads)):
        weights = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        try:
            part.load_state_dict(weights)
        except RuntimeError as error:
            first = " ".join(str(error).split())[:200]
            raise ConfigError(f"{source}: is of another model. Give another folder, or delete it ({first})") from None
    optimizer.state.clear()
    fused = optimizer.param_groups[0].get("fused")
    for i, parameter in enumerate(_parameters(optimizer)):
        prefix = f"optimizer.{i}."
        moments = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        if moments:
            # a step count stays where it was (on the CPU unless fused); moments lie beside their parameter, in torch's own
            # memory: what safetensors read lies at any address
            optimizer.state[parameter] = {
                name: value.clone() if value.ndim == 0 and not fused else value.to(parameter.device, copy=True)
                for name, value in moments.items()
            }


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


# ---- a training's place ----------------------------------------------------------------------------------------------


class At(NamedTuple):
    """Where a training is.

    Attributes:
        step: optimiser steps that are done.
        best: {step, loss, losses} of the best look at the validation tasks so far.
        looks: since the best one.
        stopped: whether there is nothing to wait for any more.
        first: task -> its loss in the epoch's first batch that had it; where losses are balanced.
        threads: of the CPU, the number it began with: sums are cut in as many parts, and their last bits hang on it.
    """

    step: int = 0
    best: dict[str, Any] | None = None
    looks: int = 0
    stopped: bool = False
    first: dict[str, float] | None = None
    threads: int = 0


def identity(
    model: Conditioned, tasks: Sequence[TrainTask], validation: Sequence[TrainTask], config: TrainConfig
) -> dict[str, str]:
    """Return what a training is of; a checkpoint of something else is refused.

    The conditioning's own first weights are left out: they may be drawn anew by whoever goes on, and the checkpoint's count.
    """
    conditioning = model.conditioning
    weights = [sha256_array(value.detach().cpu().numpy()) for value in model.trunk.state_dict().values()]
    return {
        "settings": stable_hash(config.to_json() | {"checkpoint_every": 0}),
        "tasks": stable_hash([hash_of(tasks), hash_of(validation)]),
        "model": stable_hash([conditioning.kind, conditioning.routes, conditioning.options, model.pooling, weights]),
    }


def save(
    folder: Path, at: At, of: Mapping[str, str], parts: tuple[nn.Module, nn.Module, Optimizer], random: Tensor, rank: int,
    world: int,
) -> None:  # fmt: skip
    """Write the checkpoint of a step; the first process does, the others wait.

    Args:
        random: the random state when the step had drawn all it draws: a function of seed and step, kept so that two runs can
            be compared.
    """
    if rank == 0:
        tensors = state_of(*parts) | {"random": random}
        write_checkpoint(folder / CHECKPOINT, tensors, {"at": at._asdict(), "of": dict(of), "log": sync(folder)})
    wait(world)


def resume(
    folder: Path, of: Mapping[str, str], parts: tuple[nn.Module, nn.Module, Optimizer], rank: int, world: int
) -> At:
    """Put the last checkpoint's state back, if there is one, and cut the log to it; returns where training goes on.

    torch computes with the checkpoint's number of threads from here on.

    Raises ConfigError where the folder holds another training, CacheError for a damaged one.
    """
    at, lines = At(), 0
    if (folder / CHECKPOINT).is_file():
        tensors, meta = read_checkpoint(folder / CHECKPOINT)
        for what, found in meta["of"].items():
            if found != of[what]:
                raise ConfigError(f"{folder}: holds a training with other {what}. Give another folder, or delete it")
        restore(tensors, *parts, str(folder))
        at, lines = At(**meta["at"]), meta["log"]
    if at.threads:
        torch.set_num_threads(at.threads)
    at = at._replace(threads=torch.get_num_threads())
    wait(world)
    if rank == 0:
        cut(folder, lines)
    wait(world)
    return at


# ---- the log ---------------------------------------------------------------------------------------------------------


class Log:
    """What a training did, step by step; losses stay on their device until lines are written.

    Attributes:
        last: the line written last.
        spent: seconds a step, mean over the lines written with it.
    """

    def __init__(self, folder: Path, names: Sequence[str], device: torch.device, rank: int, world: int) -> None:
        self.folder, self.names, self.device, self.rank, self.world = folder, list(names), device, rank, world
        steps = [row for row in read_log(folder) if "losses" in row] if rank == 0 else []
        self.seconds: float = steps[-1]["seconds"] if steps else 0.0
        self.last: dict[str, Any] = {}
        self.spent = 0.0
        self.pending: list[tuple[int, float, Tensor, NDArray[np.float64], NDArray[np.float64]]] = []
        self.next()
        self.go_on()

    def next(self) -> None:
        """Begin a step."""
        self.sums = torch.zeros(len(self.names), device=self.device)
        self.counts, self.work = np.zeros(len(self.names)), np.zeros(3)

    def go_on(self) -> None:
        """Start the clock, where it does not run."""
        if not self.pending:
            self.began = time.perf_counter()

    def add(self, losses: Mapping[str, Tensor], counts: NDArray[np.float64], work: Sequence[float]) -> None:
        """Count a batch: each task's mean loss and rows, and documents, tokens and floating-point operations."""
        for name, loss in losses.items():
            i = self.names.index(name)
            self.sums[i] += loss.detach() * counts[i]
        self.counts += counts
        self.work += work

    def end_step(self, step: int, rate: float) -> None:
        """Keep a step's line."""
        self.pending.append((step, rate, self.sums, self.counts, self.work))
        self.next()

    def flush(self) -> None:
        """Write the lines kept, in the first process. Raises NumericError in all of them for a loss that is no number."""
        sums = added(torch.stack([line[2] for line in self.pending]), self.world).tolist()
        counts = added(np.stack([line[3] for line in self.pending]), self.world)
        work = added(np.stack([line[4] for line in self.pending]), self.world)
        spent = (time.perf_counter() - self.began) / len(self.pending)
        rows = []
        for (step, rate, *_), total, count, (documents, tokens, operations) in zip(
            self.pending, sums, counts, work, strict=True
        ):
            losses = {name: total[i] / count[i] for i, name in enumerate(self.names) if count[i]}
            if bad := [name for name, loss in losses.items() if not np.isfinite(loss)]:
                raise NumericError(f"{bad[0]}: the loss is {losses[bad[0]]} at step {step}. {CALMER}")
            self.seconds += spent
            rows.append({"step": step, "losses": losses, "rate": rate, "documents": int(documents), "tokens": int(tokens),
                         "flops": operations, "seconds": round(self.seconds, 4)})  # fmt: skip
        if self.rank == 0:
            append(self.folder, rows)
        self.last, self.spent, self.pending = rows[-1], spent, []


def append(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add lines to a training's log."""
    with (folder / LOG).open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def log_look(folder: Path, step: int, losses: Mapping[str, float], measures: Mapping[str, float], rank: int) -> None:
    """Add what a look at the validation tasks gave, in the first process."""
    if rank == 0:
        append(folder, [{"step": step, "validation": losses, "measures": measures, "loss": sum(losses.values())}])


def sync(folder: Path) -> int:
    """Bring the log to the disk; returns its lines, which the checkpoint behind it names."""
    with (folder / LOG).open("rb+") as stream:
        os.fsync(stream.fileno())
        return sum(1 for _ in stream)


def cut(folder: Path, lines: int) -> None:
    """Leave the first lines of the log: what the checkpoint vouches for. Raises CacheError where it has fewer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LOG).touch()
    with (folder / LOG).open("rb+") as stream:
        for _ in range(lines):
            if not stream.readline().endswith(b"\n"):
                raise CacheError(f"{folder / LOG}: ends before line {lines}", f"Delete {folder} and train again")
        stream.truncate(stream.tell())


def read_log(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a log's lines: {step, losses, rate, documents, tokens, flops, seconds}; of looks {step, validation, measures, loss}."""
    for _, row in read_jsonl(folder / LOG):
        yield row


def mean_losses(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return task -> mean over those steps that had rows of it."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for name, loss in row["losses"].items():
            found.setdefault(name, []).append(loss)
    return {name: sum(some) / len(some) for name, some in found.items()}


def curve_of(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what a log says of each look, see `Trained`."""
    curve, since, documents = list[dict[str, Any]](), list[Mapping[str, Any]](), 0
    for row in log:
        if "losses" in row:
            since.append(row)
            documents += row["documents"]
            continue
        seen = {what: row[what] for what in ("validation", "measures")}
        curve.append({"step": row["step"], "documents": documents, "losses": mean_losses(since), **seen})
        since = []
    return curve
