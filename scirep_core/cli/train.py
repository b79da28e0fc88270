"""`scirep train`: a file of settings to a trained model in a folder; stopped at any time, run again, it goes on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scirep_core.cli.shared import option, showing
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.records import from_text
from scirep_core.kit.terminal import Json, print_json, say

if TYPE_CHECKING:
    from scirep_core.encoders.conditioning.base import Conditioned
    from scirep_core.encoders.trunk.tokens import Tokens
    from scirep_core.training.config import TrainFile
    from scirep_core.training.loop import Status
    from scirep_core.training.sets import Base

EXAMPLES = (
    "Examples: scirep train --example > ctrl.toml;  scirep train --config ctrl.toml;  "
    "scirep train --config ctrl.toml --set train.seed=1 --out models/ctrl-1;  "
    "torchrun --nproc-per-node 8 --no-python scirep train --config ctrl.toml"
)


def train(
    config: Annotated[Path | None, option("Settings: .toml, .yaml or .json.")] = None,
    out: Annotated[Path | None, option("Folder of the model, instead of the file's `out`.")] = None,
    set_: Annotated[list[str] | None, option("A setting of the file otherwise: train.steps=100.", "--set")] = None,
    device: Annotated[str | None, option("cpu, cuda, cuda:N; default: a GPU where there is one.")] = None,
    example: Annotated[bool, option("Print a file of settings, and train nothing.", "--example")] = False,
    as_json: Json = False,
) -> None:
    """Train an encoder as a file says: base, conditioning, tasks, settings. The folder is one that every command takes.

    A training that was stopped goes on from its last checkpoint to the same result; a finished one is not done again.
    """
    from scirep_core.training.config import EXAMPLE, read_config

    if example:
        print(EXAMPLE, end="")
        return
    if config is None:
        raise ConfigError("give --config FILE; `scirep train --example` prints one")
    asked = read_config(config)
    if set_:
        asked = _changed(asked, set_)
    folder = out or Path(asked.out)
    if not str(folder) or folder == Path():
        raise ConfigError(f"{config}: out is not set. Say where the model goes, or give --out DIR")
    summary = _train(asked, folder.expanduser(), device)
    if summary is None:  # another process of torchrun reports
        return
    if as_json:
        print_json(summary)
    else:
        losses = ", ".join(f"{name.split('/')[-1]} {loss:.3f}" for name, loss in summary["losses"].items())
        print(f"{folder}: {summary['steps']:,} steps, {summary['documents_per_second']:,.0f} documents/s, "
              f"MFU {100 * summary['mfu']:.0f} %; losses at the end: {losses}")  # fmt: skip


def _changed(asked: TrainFile, pairs: Sequence[str]) -> TrainFile:
    """Return the settings with some set otherwise; a value is JSON, or else text."""
    from scirep_core.training.config import TrainFile, from_params

    values = asdict(asked)
    for pair in pairs:
        name, equals, text = pair.partition("=")
        section, _, key = name.strip().rpartition(".")
        if not equals or section not in ("model", "data", "train"):
            raise ConfigError(f"--set {pair!r}: give a section's setting, such as train.steps=100 or model.base=minilm")
        try:
            values[section][key] = from_text(text)
        except (ValueError, RecursionError):
            values[section][key] = text.strip()
    return from_params(TrainFile, values, "--set")


def _train(asked: TrainFile, folder: Path, device: str | None) -> dict[str, Any] | None:
    from scirep_core.encoders.models.model_store import describe, finished, refuse, working
    from scirep_core.encoders.settings import pick_device
    from scirep_core.training import models, sets, variants
    from scirep_core.training.processes import local_device, processes, wait

    settings = asdict(asked) | {"out": ""}
    settings["data"]["tasks"] = list(asked.data.tasks)
    source = asked.data.source
    if source not in variants.DATA_SOURCES and not Path(source).expanduser().is_dir():
        known = nearest(source, variants.DATA_SOURCES)
        raise ConfigError(f"data.source = {source!r}: {known}, or a folder of training collections")
    rank, world = processes()
    if finished(folder):
        made = describe(folder).made
        if differing := _differing(made.get("settings", {}), settings):
            remedy = "Give these with --set, another --out, or delete the folder"
            raise ConfigError(f"{folder}: holds a model trained with {differing}. {remedy}")
        if rank == 0:
            say(f"{folder}: is trained already")
        return {**made["training"], "out": str(folder)} if rank == 0 else None
    refuse(folder)
    if rank:
        wait(world)  # the first one fetches and writes what is missing
    given = variants.Budget(
        "embedded" if source == "embedded" else "samples", papers=asked.data.papers, data_seed=asked.data.seed,
        max_length=asked.data.max_length,
    )  # fmt: skip
    with _bar(rank == 0) as progress, _going_on(working(folder), rank):
        base = models.base(asked.model.base, given, say, progress)
        if rank == 0:
            say(f"reading what is trained on: {asked.data.tasks_config or source}")
        tokens, model = _model(asked, base)
        room = model.conditioning.added()
        tasks = sets.read(asked.data, base, room)[1]
        looked = sets.read(asked.data, base, room, "validation")[1] if asked.train.validate_every else []
        sizes = {task.name: len(task) for task in tasks}
        if rank == 0:
            rows = ", ".join(f"{name.split('/')[-1]} {size:,}" for name, size in sizes.items())
            steps = asked.train.total(sizes)
            say(f"training {asked.model.conditioning} on {base.name}: {steps:,} steps; examples: {rows}")
            wait(world)
        model = model.to(local_device() if world > 1 and device is None else pick_device(device))
        recipe = {"settings": settings, "base": asked.model.base, "base_fingerprint": base.fingerprint, "rows": sizes}
        base = base._replace(normalised={"yes": True, "no": False}.get(asked.model.normalised, base.normalised))
        summary = models.train_into(
            folder, model, tasks, asked.train, tokens, base, recipe, asked.data.max_length, looked, progress
        )
    return None if rank else {**summary, "out": str(folder)}


def _differing(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the settings that differ, as they were; '' for none. The first edition knew no `normalised`, and did not."""
    earlier = {"model": {"normalised": "no"}}
    pairs = [
        (f"{section}.{name}", {**earlier.get(section, {}), **was.get(section, {})}.get(name), value)
        for section, given in now.items()
        if isinstance(given, dict)
        for name, value in given.items()
    ]

    def shown(value: Any) -> str:
        return value or "as the base" if isinstance(value, str) else json.dumps(value)

    return ", ".join(f"{name}={shown(old)} (asked for: {shown(new)})" for name, old, new in pairs if old != new)


def _model(asked: TrainFile, base: Base) -> tuple[Tokens, Conditioned]:
    """Return the base's tokenizer, and the model before its training; what is new in it is drawn by the seed."""
    from scirep_core.encoders.models.model_store import is_saved
    from scirep_core.encoders.trunk.tokens import read_tokens
    from scirep_core.training.models import of_tokens, untrained

    kind, options = asked.model.conditioning, dict(asked.model.options)
    if kind == "plain" and options:
        raise ConfigError(f"model.options: plain takes none, and was given {', '.join(options)}")
    if kind == "fusion" and not is_saved(base.folder):
        raise ConfigError("fusion goes on from trained adapters: base = the folder of a model with bottleneck")
    tokens = read_tokens(base.folder)
    options |= of_tokens(kind, options, tokens)
    return tokens, untrained(kind, base, options, asked.train.seed, asked.model.pooling, after=kind == "fusion")


@contextmanager
def _going_on(working: Path, rank: int) -> Iterator[None]:
    from scirep_core.training.checkpoint import CHECKPOINT

    try:
        yield
    except KeyboardInterrupt:
        there = (working / CHECKPOINT).is_file()
        if rank == 0:
            say(f"{working}: the same command {'goes on from the last checkpoint' if there else 'starts again'}")
        raise


@contextmanager
def _bar(shown: bool) -> Iterator[Callable[[Status], None]]:
    """Show steps, losses, documents/s and MFU on standard error; a pipe gets a line each tenth of the way."""
    before = tenth = 0
    with showing() as show:

        def progress(state: Status) -> None:
            nonlocal before, tenth
            losses = f"loss {sum(state.losses.values()):.3f}"
            line = f"{losses}, {state.documents_per_second:,.0f} documents/s, MFU {100 * state.mfu:.0f} %"
            show(line, state.step, state.steps, "steps")
            tenth *= state.step > before  # the base is trained, and the model begins
            before, now = state.step, state.step * 10 // state.steps
            if now > tenth and not sys.stderr.isatty():
                say(f"step {state.step:,} of {state.steps:,}: {line}")
            tenth = now

        yield progress if shown else lambda _: None
