"""How a model is trained: the settings of one training, checked before anything is loaded.

SciRepEval section 5 and appendix D, with what the published code does where the paper is silent:

    AdamW (epsilon 1e-8, no weight decay), rate t / warmup up to the peak, then peak x sqrt(warmup / t), 700 steps of warm-up
    heads: dropout 0.2 and one linear layer a task; loss: mean within a task, sum over tasks; batches of 256

A file (TOML, YAML, JSON) or a chapter's parameters give the same names; what is unknown is refused with the nearest known
name. Small models that learn in a minute want `head_lr` at ten times `learning_rate` and `schedule = "linear"`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.records import read_json, read_toml, read_yaml
from scirep_core.training.batching import Mixing, steps_of

Schedule = Literal["inverse_sqrt", "linear", "constant"]
TRIPLET_LOSSES = ("triplet_margin", "contrastive", "in_batch_margin")
Precision = Literal["float32", "tf32", "bfloat16"]


@dataclass(frozen=True)
class TrainConfig:
    """The settings of `train`.

    Attributes:
        steps: of the optimiser; 0: as many as `epochs` times all rows take.
        batch: examples of all tasks together that are encoded at once, over all processes.
        accumulation: such batches in one step; batch x accumulation is the effective batch.
        mixing: how tasks share a batch, see training/batching.py.
        learning_rate: peak rate of the trunk.
        conditioning_lr, head_lr: of what the conditioning adds, and of the heads; None: `learning_rate`.
        layer_decay: each layer's rate is this times that of the layer above it (SciMult's code: 0.8).
        warmup: steps until the peak.
        warmup_share: the same as a share of all steps, instead; 0: `warmup` counts (SciMult: 0.05).
        warmup_from: share of the peak where the warm-up starts; SciRepEval's shipped default comes down from 2.0.
        final: share of the peak where the linear schedule ends.
        clip: greatest norm of the gradient; 0: none.
        dropout: before the heads; the trunk's own is in its shape.
        triplet_loss: by Euclidean margin of each triplet, by softmax over the batch, or by margin against the whole batch; or any
            other of `losses.of_triplets`, which gets `margin` and `temperature` where it has them.
        dense: every document in a batch takes every loss it has a label for (not where each format is encoded apart).
        loss_balance: exponent of the tasks' weights by their losses, see objective.py (0.5); 0: all weigh the same.
        precision: bfloat16 computes under autocast, tf32 rounds what a GPU's matrix products take; weights stay float32.
        seed: of heads, batches and dropout.
        checkpoint_every: steps between checkpoints; 0: only at the end.
        validate_every: steps between looks at the validation tasks; 0: only at the end.
        validation_rows: examples of each validation task that are looked at, the first ones.
        patience: looks without a better loss until training stops; 0: never.
    """

    steps: int = 0
    epochs: float = 2.0
    batch: int = 32
    accumulation: int = 8
    mixing: Mixing = "equal"
    learning_rate: float = 5e-5
    conditioning_lr: float | None = None
    head_lr: float | None = None
    layer_decay: float = 1.0
    schedule: Schedule = "inverse_sqrt"
    warmup: int = 700
    warmup_share: float = 0.0
    warmup_from: float = 0.0
    final: float = 0.0
    weight_decay: float = 0.0
    epsilon: float = 1e-8
    beta1: float = 0.9
    beta2: float = 0.999
    clip: float = 0.0
    dropout: float = 0.2
    triplet_loss: str = "triplet_margin"
    margin: float = 1.0
    temperature: float = 1.0
    mask_duplicates: bool = True
    dense: bool = False
    loss_balance: float = 0.0
    precision: Precision = "float32"
    seed: int = 0
    checkpoint_every: int = 200
    validate_every: int = 0
    validation_rows: int = 512
    patience: int = 0

    def __post_init__(self) -> None:
        """Raise ConfigError for a value out of range."""
        _in_range(self, RANGES)
        if self.triplet_loss not in TRIPLET_LOSSES:
            from scirep_core.training.losses import of_triplets  # torch, which the other settings do not wait for

            known = {*TRIPLET_LOSSES, *of_triplets()}
            if self.triplet_loss not in known:
                raise ConfigError(f"triplet_loss = {self.triplet_loss!r}: {nearest(self.triplet_loss, known)}")
        if not self.steps and not self.epochs:
            raise ConfigError("give steps, or epochs")
        if self.steps and not self.warmup_share and self.warmup > self.steps:
            raise ConfigError(f"warmup = {self.warmup}: {self.steps} steps never reach the peak. Give fewer")

    def total(self, sizes: Mapping[str, int]) -> int:
        """Return how many steps a training takes over tasks of these sizes."""
        return self.steps or steps_of(sizes, self.batch * self.accumulation, self.epochs)

    def per_epoch(self, sizes: Mapping[str, int]) -> int:
        """Return how many batches an epoch over tasks of these sizes has."""
        return steps_of(sizes, self.batch)

    def share(self, step: int, steps: int) -> float:
        """Return the share of the peak learning rate at a step, counted from 0, of `steps`.

        >>> config = TrainConfig(warmup=100)
        >>> [round(config.share(step, 900), 3) for step in (0, 49, 99, 399)]
        [0.01, 0.5, 1.0, 0.5]
        """
        done, warmup = step + 1, round(self.warmup_share * steps) if self.warmup_share else self.warmup
        if done <= warmup:
            return self.warmup_from + (1 - self.warmup_from) * done / warmup
        if self.schedule == "inverse_sqrt":
            return math.sqrt(max(warmup, 1) / done)
        if self.schedule == "linear":
            return 1 - (1 - self.final) * (done - warmup) / max(steps - warmup, 1)
        return 1.0

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON."""
        return asdict(self)


MANY = 2**31 - 1
RANGES: dict[str, tuple[float, float]] = {
    "steps": (0, MANY), "epochs": (0, 1e6), "batch": (1, 1_000_000), "accumulation": (1, 100_000),
    "learning_rate": (0, 10), "conditioning_lr": (0, 10), "head_lr": (0, 10), "layer_decay": (0.01, 1),
    "warmup": (0, MANY), "warmup_share": (0, 1), "warmup_from": (0, 100), "final": (0, 1), "weight_decay": (0, 10),
    "epsilon": (0, 1), "beta1": (0, 0.9999), "beta2": (0, 0.99999999), "clip": (0, 1e6), "dropout": (0, 0.99), "margin": (0, 100),
    "temperature": (1e-6, 1e6), "seed": (0, MANY), "checkpoint_every": (0, MANY), "validate_every": (0, MANY),
    "validation_rows": (1, MANY), "patience": (0, MANY), "loss_balance": (0, 10),
}  # fmt: skip


@dataclass(frozen=True)
class ModelConfig:
    """What is trained.

    Attributes:
        base: the trunk's weights: `embedded` (a small one, trained first), a registered BERT (minilm), a folder, or a hub name.
        conditioning: a way of encoders.conditioning.CONDITIONINGS.
        options: of the conditioning.
        pooling: cls or mean; unless told, as the base does, and cls where the conditioning reads one token a route.
        normalised: whether vectors are scaled to length 1, yes or no; unless told, as the base does.
    """

    base: str = "minilm"
    conditioning: str = "plain"
    options: dict[str, Any] = field(default_factory=dict)
    pooling: Literal["", "cls", "mean"] = ""
    normalised: Literal["", "yes", "no"] = ""


@dataclass(frozen=True)
class DataConfig:
    """What it is trained on.

    Attributes:
        source: embedded, samples (the real samples through the mirror), open (real papers under open terms), real (SciRepEval's
            whole training collections, through their manifest), or a folder of them.
        papers, seed: of the embedded literature.
        tasks: training sets by name; none: all.
        tasks_config: file in the published tasks_config.json shape, instead of `tasks`.
        cap: examples taken of each task; 0: all.
        max_length: tokens kept of a document.
        titles_only: share of training documents that lose their abstract.
    """

    source: str = "embedded"
    papers: int = 3000
    seed: int = 0
    tasks: tuple[str, ...] = ()
    tasks_config: str = ""
    cap: int = 0
    max_length: int = 512
    titles_only: float = 0.05

    def __post_init__(self) -> None:
        """Raise ConfigError for a value out of range."""
        _in_range(self, DATA_RANGES)


DATA_RANGES: dict[str, tuple[float, float]] = {
    "papers": (300, 1_000_000), "seed": (0, MANY), "cap": (0, MANY), "max_length": (8, MANY), "titles_only": (0, 1),
}  # fmt: skip
"""With fewer papers, or tokens, some task has no example left."""


def _in_range(given: Any, ranges: Mapping[str, tuple[float, float]]) -> None:
    for name, (low, high) in ranges.items():
        value = getattr(given, name)
        if value is not None and not low <= value <= high:
            shown = [f"{bound:,}" if isinstance(bound, int) else f"{bound:g}" for bound in (low, high)]
            raise ConfigError(f"{name} = {value!r}: valid are {shown[0]} to {shown[1]}")


@dataclass(frozen=True)
class TrainFile:
    """A file of `scirep train`: where the model goes, and the three sections."""

    out: str = ""
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    train: TrainConfig = field(default_factory=TrainConfig)


T = TypeVar("T")


def from_params(kind: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """Return a config of names and values, as a file or a chapter's parameters give them.

    Raises ConfigError for a name that is not there, with the nearest one, and for a value of another type or out of range.

    >>> from_params(TrainConfig, {"steps": 200, "warmup": 20, "learning_rate": 1e-3}).learning_rate
    0.001
    """
    at = f"{where}: " if where else ""
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    types = get_type_hints(kind)
    given = {}
    for name, value in values.items():
        if name not in known:
            raise ConfigError(f"{at}unknown setting {name!r}: {nearest(name, known)}")
        given[name] = _checked(f"{at}{name}", types[name], value)
    try:
        return kind(**given)
    except ConfigError as error:
        raise ConfigError(f"{at}{error}") from None


def _checked(where: str, kind: Any, value: Any) -> Any:
    """Return a value as the declared type. A whole number is a float, a list a tuple; a bool is never a number."""
    if hasattr(kind, "__dataclass_fields__"):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: expected a section, found {type(value).__name__}")
        return from_params(kind, value, where)
    choices = get_args(kind)
    if kind == float | None:
        return None if value is None else _checked(where, float, value)
    if choices and all(isinstance(choice, str) for choice in choices):
        if value not in choices:
            raise ConfigError(f"{where} = {value!r}: {nearest(str(value), choices)}")
        return value
    if kind == tuple[str, ...]:
        names = value.split(",") if isinstance(value, str) else value
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
            return tuple(name.strip() for name in names if name.strip())
        raise ConfigError(f"{where} = {value!r}: expected names")
    if kind == dict[str, Any]:
        if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
            return dict(value)
        raise ConfigError(f"{where} = {value!r}: expected names and values")
    number = kind is float and isinstance(value, int | float) and math.isfinite(value)
    if isinstance(value, bool) != (kind is bool) or not (number or isinstance(value, kind)):
        raise ConfigError(f"{where} = {value!r}: expected {kind.__name__}")
    return kind(value)


def read_config(path: Path) -> TrainFile:
    """Return the file of one training: TOML, or YAML or JSON by its suffix. Raises ConfigError or DataError naming the file."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such file. `scirep train --example` prints one")
    values: Any
    if path.suffix == ".toml":
        values = read_toml(path)
    elif path.suffix in (".yaml", ".yml"):
        values, _ = read_yaml(path)
    elif path.suffix == ".json":
        values = read_json(path)
    else:
        raise ConfigError(f"{path}: a configuration is .toml, .yaml or .json")
    if not isinstance(values, Mapping):
        raise ConfigError(f"{path}: expected settings by name, found {type(values).__name__}")
    return from_params(TrainFile, values, str(path))


EXAMPLE = """\
out = "models/mtl-ctrl"            # the trained model, a folder in hub layout

[model]
base = "embedded"                  # a small one of the embedded literature, trained first; or minilm, specter2_base, a folder ...
conditioning = "control_codes"     # plain, control_codes, bottleneck, pals, one_pass, ...

[data]
source = "embedded"                # embedded, samples, open, real, or a folder
papers = 3000
max_length = 256

[train]
steps = 300
batch = 32
accumulation = 1
learning_rate = 1e-3               # of a large base 5e-5
head_lr = 1e-2                     # ten times the encoder's
schedule = "linear"
warmup = 20
clip = 1.0
checkpoint_every = 50              # a training that is stopped goes on from the last one
"""
"""A file `read_config` takes."""
