"""The loop: one trunk, one conditioning, several tasks in every batch (SciRepEval sections 4 and 5).

    loss = sum over tasks of the mean over the task's rows in the batch          rates and schedule: training/config.py
                                                                                 a batch and its losses: training/objective.py

Each document of a batch is encoded once under each format that asks for it; where formats share a pass, or nothing is told
(MTL CLS), once in all, and with dense labels it then takes every loss it has a label for. Heads are linear, one a task, and
are thrown away.

Everything drawn at a step (rows, dropout) is a function of (seed, step, process), so a killed training goes on from its last
checkpoint to the same bits, on a CPU with as many threads as it began with; on a GPU to the same rows and drawings, but sums
there have no fixed order. Under torchrun every process takes its share of each batch and gradients are added once a step, so
the result is that of one process, but for dropout, which each draws for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.encoders.trunk.number_types import at_threads, products_in
from scirep_core.encoders.trunk.speed import flops, matrix_rate
from scirep_core.kit.errors import ConfigError, NumericError, nearest
from scirep_core.training import checkpoint, objective
from scirep_core.training.batching import plan
from scirep_core.training.checkpoint import At, Log, save
from scirep_core.training.config import TrainConfig
from scirep_core.training.data import TrainTask
from scirep_core.training.objective import Batch, encoded, loss_of, outputs_of
from scirep_core.training.processes import add_gradients, added, processes, same_everywhere

Ints = NDArray[np.int64]
TELL = 10
"""Steps between writings of the log: reading a loss waits for the device."""


class Status(NamedTuple):
    """What `progress` is given: steps done and in all, losses by task, the trunk's rate, speed of the last steps."""

    step: int
    steps: int
    losses: dict[str, float]
    rate: float
    documents_per_second: float
    mfu: float


class Trained(NamedTuple):
    """What a training did.

    Attributes:
        steps: taken; fewer than planned where validation stopped it.
        losses: task -> mean over those of the last tenth of the steps that had rows of it; a task without has none.
        seconds: of training; validation and checkpoints aside.
        documents, documents_per_second: encoded and trained on, by all processes.
        mfu: share of the measured matrix-multiply rate, of each device.
        best: {step, loss, losses} of the best look at the validation tasks, whose weights the model has; None without.
        curve: of each look {step, documents, losses, validation, measures}: encoded so far, mean training losses since the look
            before, and what was seen; with `validate_every` also at step 0, which is never the best.
    """

    steps: int
    losses: dict[str, float]
    seconds: float
    documents_per_second: float
    mfu: float
    best: dict[str, Any] | None
    curve: list[dict[str, Any]]
    documents: int


def train(
    model: Conditioned,
    tasks: Sequence[TrainTask],
    config: TrainConfig,
    folder: Path,
    validation: Sequence[TrainTask] = (),
    progress: Callable[[Status], None] | None = None,
) -> Trained:
    """Train a model in place, on its device, and leave it in eval mode with its last, or best, weights.

    Args:
        tasks: share one collection of documents.
        folder: of checkpoint and log; a training that is there goes on, a finished one is only read.
        validation: tasks of the same names; with `validate_every` the weights of the best look are kept.

    Raises ConfigError for tasks that do not fit the model or the folder, NumericError for a loss that is no number.
    """
    check(model, tasks, validation, config)
    rank, world = processes()
    device, sizes = model.trunk.words.weight.device, {task.name: len(task) for task in tasks}
    steps, names, known = config.total(sizes), list(sizes), objective.known_of(tasks, config)
    own = torch.random.fork_rng([device] if device.type == "cuda" else [])
    with objective.only_trained(model) as trained, own, at_threads(), products_in(config.precision):
        objective.start_drawing(objective.drawn(config.seed, "heads"), device)
        heads = objective.make_heads(tasks, model.trunk.shape.hidden_size, config.dropout).to(device)
        optimizer = objective.make_optimizer(model, trained, heads, config)
        moved = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        same_everywhere(moved, world)
        of, parts = checkpoint.identity(model, tasks, validation, config), (model, heads, optimizer)
        at = checkpoint.resume(folder, of, parts, rank, world)
        if validation and config.validate_every and not at.step:  # what the base knows already
            checkpoint.log_look(folder, 0, *look_at(model, validation, heads, config, rank, world), rank)
        log = Log(folder, names, device, rank, world)
        while at.step < steps and not at.stopped:
            model.train()
            heads.train()
            objective.start_drawing(objective.drawn(config.seed, f"{at.step}/{rank}"), device)
            share = config.share(at.step, steps)
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * share
            for part in range(config.accumulation):
                number = at.step * config.accumulation + part
                rows = plan(sizes, config.batch, config.mixing, config.seed, number, rank, world)
                batch = objective.gather(model, tasks, rows, known, world)
                counts = np.array([len(batch.rows.get(name, ())) for name in names], dtype=float)
                totals = added(counts, world)
                here = {name for name, total in zip(names, totals, strict=True) if total}
                losses = objective.losses_of(model, tasks, heads, batch, known, config, here, world)
                # of a task's rows each process has a part, and its gradient that weight
                shares, weights = counts / np.maximum(totals, 1), np.ones(len(names))
                if config.loss_balance:
                    before = (at.first if number % config.per_epoch(sizes) else None) or {}
                    weights, first = objective.balanced(losses, shares, names, here, before, config.loss_balance, world)
                    at = at._replace(first=first)
                weights = weights * shares / config.accumulation
                if losses:
                    total = torch.stack([loss * weights[names.index(name)] for name, loss in losses.items()]).sum()
                    total.backward()  # type: ignore[no-untyped-call]
                log.add(losses, counts, work_of(model, batch))
            add_gradients(moved, world)
            if config.clip:
                nn.utils.clip_grad_norm_(moved, config.clip)
            optimizer.step()
            optimizer.zero_grad()
            random = torch.get_rng_state()  # now: whoever measures or is told below may draw
            at = at._replace(step=at.step + 1)
            log.end_step(at.step, config.learning_rate * share)
            last = at.step == steps
            look = bool(validation) and (last or due(at.step, config.validate_every))
            keep = last or due(at.step, config.checkpoint_every)
            if look or keep or due(at.step, TELL):
                log.flush()
                if progress and rank == 0:
                    line, bound = log.last, matrix_rate(str(device), config.precision) * world
                    speed = line["documents"] / log.spent, line["flops"] / log.spent / bound
                    progress(Status(at.step, steps, line["losses"], line["rate"], *speed))
            if look:
                found = look_at(model, validation, heads, config, rank, world)
                at = judged(at, found, model, config, folder, rank)
            if keep or at.stopped:
                save(folder, at, of, parts, random, rank, world)
            log.go_on()
        if at.best and config.validate_every:
            model.load_state_dict(checkpoint.read_checkpoint(folder / checkpoint.BEST).tensors)
    model.eval()
    return trained_in(folder, model, config, world, at)


def due(step: int, every: int) -> bool:
    """Return whether something that is done every so many steps, never at 0, is to be done."""
    return bool(every) and step % every == 0


# ---- what must fit together ------------------------------------------------------------------------------------------


def check(model: Conditioned, tasks: Sequence[TrainTask], validation: Sequence[TrainTask], config: TrainConfig) -> None:
    """Raise ConfigError for tasks that do not fit together, or not the model."""
    names = [task.name for task in tasks]
    if not names or len(set(names)) < len(names):
        raise ConfigError(f"tasks to train on: {', '.join(names) or 'none'}. Name at least one, and none twice")
    if unknown := [task.name for task in validation if task.name not in names]:
        raise ConfigError(f"validation task {unknown[0]!r} is not trained; {nearest(unknown[0], names)}")
    if config.dense and model.apart:
        raise ConfigError(
            f"dense labels need one vector for all formats, or one pass: {model.conditioning.kind} encodes each apart"
        )
    shape, trained = model.trunk.shape, {task.name: task for task in tasks}
    for some in (tasks, validation):
        for task in some:
            if task.documents is not some[0].documents:
                raise ConfigError(f"{task.name}: tasks that are trained together share one collection of documents")
            without = int((task.rows[:, 2] < 0).sum()) if task.kind == "triplet" else 0
            if without and config.triplet_loss != "contrastive":
                raise ConfigError(
                    f'{task.name}: {without} of {len(task)} rows have no negative; set triplet_loss = "contrastive"'
                )
            if (task.kind, task.classes) != (trained[task.name].kind, trained[task.name].classes):
                raise ConfigError(f"{task.name}: validation has other classes than training")
            for format in (task.format, task.query_format) if model.apart or model.conditioning.shared_pass else ():
                model.conditioning.route(format)
    longest = max(int(task.documents.lengths.max()) for task in (*tasks, *validation)) + model.conditioning.added()
    if longest > shape.max_position_embeddings:
        raise ConfigError(
            f"a document of {longest} tokens, and the model has {shape.max_position_embeddings} places. Cut to max_length"
        )
    if max(int(task.documents.ids.max()) for task in (*tasks, *validation)) >= shape.vocab_size:
        raise ConfigError("a token id is outside the model's vocabulary: the documents are of another tokenizer")
    if config.precision == "tf32" and not model.trunk.words.weight.is_cuda:
        raise ConfigError("precision tf32 is a GPU's: set float32 or bfloat16")
    if any(parameter.dtype != torch.float32 for parameter in model.parameters()):
        raise ConfigError("weights are trained in float32; precision = bfloat16 computes in bf16 all the same")


# ---- looks and numbers -----------------------------------------------------------------------------------------------


class Look(NamedTuple):
    """What a look at the validation tasks gives: task -> mean loss, and task -> its measure (`MEASURES`)."""

    losses: dict[str, float]
    measures: dict[str, float]


MEASURES = {"classification": "f1_macro", "multi_label": "f1_macro", "regression": "kendall_tau", "triplet": "accuracy"}
"""Kind of task -> what is measured of its head's outputs, 0 to 100; of triplets the share whose positive is the nearer one."""


def look_at(
    model: Conditioned, tasks: Sequence[TrainTask], heads: nn.ModuleDict, config: TrainConfig, rank: int, world: int
) -> Look:
    """Look at each validation task, without dropout, in batches of its share of a training batch; a device is read once."""
    model.eval()
    heads.eval()
    alone = objective.known_of(tasks, replace(config, dense=False))
    size, parts = max(config.batch // len(tasks), 1), list[tuple[int, NDArray[np.int64], Tensor, Tensor]]()
    scored = [np.zeros((min(len(task), config.validation_rows), task.outputs or 1)) for task in tasks]
    sums = np.zeros(len(tasks))
    with torch.no_grad():
        for i, task in enumerate(tasks):
            rows = np.arange(len(scored[i]))
            for part in [rows[first : first + size] for first in range(0, len(rows), size)][rank::world]:
                batch = objective.gather(model, tasks, {task.name: part}, alone)
                outputs = outputs_of(model, task, heads, batch, encoded(model, batch, config))
                parts.append((i, part, loss_of(task, part, outputs, alone, config), scores_of(outputs)))
    losses = torch.stack([loss for *_, loss, _ in parts]).tolist() if parts else ()
    flat = torch.cat([scores.flatten() for *_, scores in parts]).numpy(force=True) if parts else np.zeros(0)
    ends = np.cumsum([scores.numel() for *_, scores in parts])[:-1]
    for (i, part, *_), loss, scores in zip(parts, losses, np.split(flat, ends), strict=True):
        sums[i] += loss * len(part)
        scored[i][part] = scores.reshape(len(part), -1)
    means = added(sums, world) / [len(rows) for rows in scored]
    measures = {task.name: measure(task, added(rows, world)) for task, rows in zip(tasks, scored, strict=True)}
    return Look(dict(zip(measures, means.tolist(), strict=True)), measures)


def scores_of(outputs: Sequence[Tensor]) -> Tensor:
    """Return (n, outputs) of a head as they are, of triplets (n, 1): how much nearer the positive is than the negative."""
    if len(outputs) == 1:
        return outputs[0].float()
    near, far = ((outputs[0] - other).norm(dim=1, keepdim=True) for other in outputs[1:])
    return torch.sub(far, near)


def measure(task: TrainTask, scores: NDArray[np.float64]) -> float:
    """Return a task's measure of its first rows, by their scores (n, outputs); of triplets, of those with a negative."""
    from scipy.stats import kendalltau
    from sklearn.metrics import f1_score

    if task.kind == "triplet":
        has = task.rows[: len(scores), 2] >= 0
        return 100 * float(np.mean(scores[has] > 0)) if has.any() else 0.0
    assert task.targets is not None
    truth = task.targets[: len(scores)]
    if task.kind == "regression":
        tau = kendalltau(truth, scores[:, 0]).statistic
        return 100 * float(tau) if np.isfinite(tau) else 0.0
    guess = scores.argmax(1) if task.kind == "classification" else scores > 0
    return 100 * float(f1_score(truth, guess, average="macro", zero_division=0))


def judged(at: At, found: Look, model: Conditioned, config: TrainConfig, folder: Path, rank: int) -> At:
    """Return where training is after a look; weights that are better than all before are kept."""
    loss = sum(found.losses.values())
    if not np.isfinite(loss):
        raise NumericError(f"validation: the loss is {loss} at step {at.step}. {checkpoint.CALMER}")
    better = at.best is None or loss < at.best["loss"]
    checkpoint.log_look(folder, at.step, *found, rank)
    if rank == 0 and better and config.validate_every:
        checkpoint.write_checkpoint(folder / checkpoint.BEST, model.state_dict(), {"step": at.step})
    if better:
        return at._replace(best={"step": at.step, "loss": loss, "losses": found.losses}, looks=0)
    return at._replace(looks=at.looks + 1, stopped=bool(config.patience) and at.looks + 1 >= config.patience)


def work_of(model: Conditioned, batch: Batch) -> tuple[float, float, float]:
    """Return documents, tokens and floating-point operations of a batch, forward and backward."""
    if batch.packed is None:
        return 0, 0, 0
    lengths = [run.length for run in batch.packed.runs for _ in range(run.size)]
    times = 3 if model.trunk.words.weight.requires_grad else 2  # backward: two products for each, or one
    return len(lengths), sum(lengths), times * flops(model.trunk.shape, lengths, model.pooling == "cls")


def trained_in(folder: Path, model: Conditioned, config: TrainConfig, world: int, at: At) -> Trained:
    """Return what the log says of a training."""
    log = list(checkpoint.read_log(folder))
    rows = [row for row in log if "losses" in row]
    documents, operations = (sum(row[what] for row in rows) for what in ("documents", "flops"))
    seconds, rate = rows[-1]["seconds"], matrix_rate(str(model.trunk.words.weight.device), config.precision)
    return Trained(
        at.step, checkpoint.mean_losses(rows[-max(len(rows) // 10, 1) :]), seconds, documents / max(seconds, 1e-9),
        operations / max(seconds, 1e-9) / rate / world, at.best, checkpoint.curve_of(log), documents,
    )  # fmt: skip
