"""Trained models of the variants, made where they are missing (SciRepEval sections 4 to 6, appendices B, D, F, H).

    obtain("MTL CTRL", seed=0, given=budget("small"))   ->   $SCIREP_HOME/models/mtl-ctrl-0-<key>/

A model's key is a hash of all it depends on: base, examples, settings, seed and the code that trains. What is there is
taken; what is missing is trained, first what it goes on from; a training that was killed goes on from its checkpoint. The
seed of the data is not the seed of the training, and the base has one of its own: in the paper too all trainings start
from one SPECTER2 base. Two processes never train the same model: who comes second waits and finds it there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from scirep_core.data.inventory import TRAINING
from scirep_core.data.sources import root_of
from scirep_core.encoders import ENCODERS
from scirep_core.encoders.conditioning.base import CONDITIONINGS, Conditioned, Conditioning, conditioning
from scirep_core.encoders.conditioning.fusion import fuse
from scirep_core.encoders.conditioning.prefix import instructions
from scirep_core.encoders.hub import TransformersEncoder
from scirep_core.encoders.models import model_folder, model_store
from scirep_core.encoders.settings import pick_device
from scirep_core.encoders.trunk.bert import Trunk, read_trunk
from scirep_core.encoders.trunk.number_types import available
from scirep_core.encoders.trunk.tokens import Tokens, read_tokens
from scirep_core.kit.errors import ConfigError, UnknownName, nearest
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.store import held, home, stable_hash
from scirep_core.results import code_of, provenance
from scirep_core.training import variants
from scirep_core.training.base import small_base
from scirep_core.training.config import TrainConfig
from scirep_core.training.data import TrainTask, hash_of
from scirep_core.training.loop import MEASURES, Status, train
from scirep_core.training.processes import processes, wait
from scirep_core.training.sets import Base, examples, spread
from scirep_core.training.variants import Budget, Variant, at_rate, config, pilot, plain, variant

Say = Callable[[str], None]
"""Given in a line each what is made."""
Watch = Callable[["Status"], None]
Tried = dict[tuple[str, float], float]
"""Pilot and learning rate -> least dev loss of its trial."""


def silent(line: str) -> None:
    """Say nothing."""


# --------------------------------------------------------------------------------------------------------------- bases

HUB = ("minilm", "scibert", "specter", "scincl", "specter2_base")
"""Bases by name: all-MiniLM-L6-v2 (works offline), and those of v2 Tables 2 and 8, v1 Tables 2 and 3."""
OWN = {"embedded": "specter2", "embedded specter": "specter", "embedded untrained": ""}
"""Small models of the embedded literature -> how negatives of their citation triplets are drawn: as SPECTER2 Base's (6 easy
ones by field, 4 hard), as the training set has them, or no triplets: word vectors alone, as SciBERT is to SPECTER."""
BASES = (*OWN, *HUB)


def base(name: str, given: Budget, say: Say = silent, watch: Watch | None = None) -> Base:
    """Return a base by name, folder or hub name; the embedded ones are trained on the first call, as `say` and `watch` are told.

    Raises ConfigError for an unknown name (with the nearest), a model that is neither here nor reachable.
    """
    if name in OWN:
        if given.source != "embedded":
            raise ConfigError(f"base {name!r} knows the words of the embedded literature alone; {nearest(name, HUB)}")
        return _embedded(name, given, say, watch)
    if name not in HUB and "/" not in name and not Path(name).expanduser().is_dir():
        raise UnknownName("base", name, BASES, ", or a folder in hub layout, or org/model on the hub")
    spec = ENCODERS.get(name) if name in HUB else None
    own: dict[str, Any] = (
        {"pooling": spec.pooling, "recipe": spec.recipe, "normalised": spec.normalised} if spec else {}
    )
    encoder = TransformersEncoder(name, spec.model if spec else name, **own)
    folder = encoder.folder
    if model_store.is_saved(folder):
        return _saved(name, folder)
    fingerprint = stable_hash(model_folder.hashes(folder))[:16]
    return Base(name, folder, encoder.recipe, fingerprint, encoder.pooling, encoder.normalised)


def _saved(name: str, folder: Path) -> Base:
    description = model_store.describe(folder)
    return Base(name, folder, description.recipe, description.fingerprint, description.pooling, description.normalised)


def _embedded(name: str, given: Budget, say: Say, watch: Watch | None) -> Base:
    steps = given.base_steps if OWN[name] else 0
    how: dict[str, Any] = {"width": given.width, "layers": given.layers, "seed": given.base_seed, "steps": steps,
                           "max_length": given.max_length} | ({"negatives": OWN[name]} if steps else {})  # fmt: skip
    folder = home() / "models" / f"base-{stable_hash([root(given).name, how, code('training/base.py')])[:16]}"
    with held(folder.with_name(f"{folder.name}.lock")):  # one process at a time; who waited finds it there
        if not model_store.finished(folder):
            say(f"training base {name}: width {given.width}, {given.layers} layers, {steps} steps")
            small_base(root(given), folder=folder, progress=watch, **how)
    return _saved(name, folder)


def root(given: Budget) -> Path:
    """Return the folder of the embedded literature with the training sets, written on the first call."""
    return root_of(TRAINING[0], "embedded", given.papers, given.data_seed)


def conditioned(trunk: Trunk, conditioning: Conditioning, base: Base, pooling: str = "") -> Conditioned:
    """Return a model that pools as asked, else as its base; where one token a route is read, that is what is pooled.

    Raises ConfigError for a base whose own pooling no training has.
    """
    own = pooling or ("cls" if conditioning.shared_pass else base.pooling)
    if own not in model_store.POOLINGS:
        raise ConfigError(f"base {base.name!r} pools by {own}, which is not trained. Set model.pooling to cls or mean")
    return Conditioned(trunk, conditioning, own)


# ------------------------------------------------------------------------------------------------------------ training


CODE = (
    "training/loop.py", "training/losses.py", "training/config.py", "training/data/__init__.py",
    "training/batching.py", "training/data/pairs.py", "training/objective.py", "training/processes.py",
    "encoders/trunk/attention.py", "encoders/trunk/number_types.py", "encoders/trunk/packing.py",
    "encoders/trunk/prepacked.py", "encoders/trunk/bert.py", "encoders/conditioning/base.py",
)  # fmt: skip
"""What every training runs through; a variant's own conditioning comes with it."""


@functools.cache
def code(*files: str) -> str:
    """Return a hash of the code that trains, and of some files more."""
    return stable_hash(code_of((*CODE, *files)))[:16]


class Made(NamedTuple):
    """A model to score: what `load_encoder` takes, its folder, and the hash of all it depends on."""

    encoder: str
    folder: Path
    key: str


def obtain(
    name: str, seed: int, given: Budget, on: str = "embedded", say: Say = silent, watch: Watch | None = None,
    make: bool = True, tried: Tried | None = None,
) -> list[Made]:  # fmt: skip
    """Return the models whose vectors are averaged for a variant: one, or those of its members; trained where missing.

    Args:
        seed: of the training.
        on: the base, see `base`.
        watch: told how each training goes on.
        make: whether a model that is not there is trained.
        tried: see `at_best_rate`.

    Raises ConfigError for an unknown variant, settings that do not fit, or a model that is not to be made.
    """
    chosen, start = variant(name), base(on, given, say, watch)
    also = functools.partial(obtain, on=on, say=say, watch=watch, make=make, tried=tried)
    if chosen.members:
        parts = [plain(member) for member in chosen.members]
        return [made for part, again in parts for made in also(part, seed + variants.AGAIN * again, given)]
    if not chosen.kind:
        return [_cut(start, given) if variants.DATA_SOURCES[given.source].cut else _as_it_is(start)]
    given = at_best_rate(chosen, given, on, say, watch, make, tried)
    before = also(chosen.after, seed, given)[0] if chosen.after else _as_it_is(start)
    tokens, tasks = examples(start, given, chosen)
    settings = config(name, seed, given, tasks)
    settings = replace(settings, precision=available(settings.precision, pick_device(None)))  # type: ignore[arg-type]
    looked = spread(examples(start, given, chosen, "validation")[1], settings.validation_rows) if given.looks else []
    options = {} if chosen.kind == "fusion" else options_of(chosen, given)
    options |= of_tokens(chosen.kind, options, tokens)
    recipe = {
        "variant": name, "kind": chosen.kind, "base": on, "base_fingerprint": start.fingerprint, "before": before.key,
        "options": options, "reads": [start.pooling, list(start.recipe), start.normalised],
        "data": hash_of(tasks), "looked": hash_of(looked), "train": settings.to_json(), "max_length": given.max_length,
        "code": code(f"encoders/conditioning/{CONDITIONINGS[chosen.kind].module}.py"),
    }  # fmt: skip
    key = stable_hash(recipe)[:16]
    slug = "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")
    folder = home() / "models" / f"{slug}-{seed}-{key}"
    with held(folder.with_name(f"{folder.name}.lock")):
        if not model_store.finished(folder):
            if not make:
                raise ConfigError(f"{name}, seed {seed}, is not trained for this base, data and code. Train it first")
            steps = settings.total({task.name: len(task) for task in tasks})
            say(f"training {name} on {on}, seed {seed}: {steps} steps in {settings.precision}")
            begun, device = start._replace(folder=before.folder), pick_device(None)
            model = untrained(chosen.kind, begun, options, settings.seed, after=bool(chosen.after)).to(device)
            recipe |= {
                "budget": asdict(given), "dev": {task.name: [MEASURES[task.kind], len(task)] for task in looked},
                "documents_before": documents_of(before), "provenance": provenance(),
            }  # fmt: skip
            train_into(folder, model, tasks, settings, tokens, start, recipe, given.max_length, looked, watch)
    return [Made(str(folder), folder, key)]


def documents_of(made: Made) -> int:
    """Return how many documents a model's training encoded, and that of the model it went on from; none of a base."""
    how = model_store.describe(made.folder).made if model_store.is_saved(made.folder) else {}
    return how["training"]["documents"] + how["documents_before"] if "documents_before" in how else 0


def at_best_rate(
    chosen: Variant, given: Budget, on: str, say: Say = silent, watch: Watch | None = None, make: bool = True,
    tried: Tried | None = None,
) -> Budget:  # fmt: skip
    """Return a budget with the one of its learning rates whose trial ends with the least dev loss; without rates as it is.

    A trial is the training of `pilot(chosen)` with seed 0 on one part in `TRIAL` of the documents. Those `tried`, here or on
    another machine, are not made again, and those made here are added.
    """
    if not given.rates:
        return given
    if not given.looks:
        raise ConfigError(f"rates = {list(given.rates)}: what decides is the dev part. Set looks to 1 or more")
    tried = {} if tried is None else tried
    for rate in given.rates:
        if (pilot(chosen), rate) not in tried:
            trial = replace(at_rate(given, rate), documents=given.documents // variants.TRIAL, looks=1)
            made = obtain(pilot(chosen), 0, trial, on, say, watch, make)[0]
            tried[pilot(chosen), rate] = model_store.describe(made.folder).made["training"]["best"]["loss"]
    losses = {rate: tried[pilot(chosen), rate] for rate in given.rates}
    best = min(losses, key=losses.__getitem__)
    say(f"{pilot(chosen)} on {on}: learning rate {best:g} of dev losses "
        f"{', '.join(f'{rate:g}: {loss:.3f}' for rate, loss in losses.items())}")  # fmt: skip
    return at_rate(given, best)


def options_of(chosen: Variant, given: Budget) -> dict[str, Any]:
    """Return the options of a variant's conditioning: the budget's for its kind, the variant's over them."""
    return {**given.options.get(chosen.kind, {}), **chosen.options}


def of_tokens(kind: str, options: Mapping[str, Any], tokens: Tokens) -> dict[str, Any]:
    """Return the options that only the tokenizer knows: [CLS], where control codes begin as its word vector; instructions."""
    if kind in ("prefix", "instruction") and "instructions" not in options:
        return {"instructions": instructions(lambda text: tokens.ids([text])[0], options.get("routes", FORMATS))}
    return {"cls": tokens.cls} if options.get("start", "random") != "random" else {}


def _as_it_is(start: Base) -> Made:
    return Made(start.name if start.name in HUB else str(start.folder), start.folder, start.fingerprint)


def _cut(start: Base, given: Budget) -> Made:
    """Return a base that reads no more of a text than what is trained from it, so that a difference is what was learned."""
    key = stable_hash([start.fingerprint, list(start.recipe), start.pooling, start.normalised, given.max_length])[:16]
    folder = home() / "models" / f"base-{key}"
    with held(folder.with_name(f"{folder.name}.lock")):
        if not model_store.finished(folder):
            model, made = untrained("plain", start, {}, 0), {"base": start.name, "base_fingerprint": start.fingerprint}
            model_store.save_model(
                model, read_tokens(start.folder), folder, start.recipe, given.max_length, made, start.normalised
            )
    return Made(str(folder), folder, key)


def untrained(
    kind: str, start: Base, options: Mapping[str, Any], seed: int, pooling: str = "", after: bool = False
) -> Conditioned:
    """Return a model before its training: the base with new parts, drawn by the seed.

    Args:
        pooling: as the base where none is given.
        after: whether what stands in the base's place is a model with adapters, from which fusion goes on.

    Raises ConfigError for options that a conditioning does not take.
    """

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "fusion" and after:
            return fuse(model_store.load_model(start.folder).model)
        trunk = read_trunk(start.folder)
        try:
            parts = conditioning(kind, trunk, **options)
        except TypeError as error:
            raise ConfigError(f"model.options of {kind}: {error}") from None
        return conditioned(trunk, parts, start, pooling)


def train_into(
    folder: Path, model: Conditioned, tasks: Sequence[TrainTask], settings: TrainConfig, tokens: Tokens, start: Base,
    recipe: Mapping[str, Any], max_length: int, looked: Sequence[TrainTask] = (), watch: Watch | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Train a model and save it with what it is made of, the one way to a folder that `load_encoder` reads; return what it tells.

    A training that was stopped goes on from its last checkpoint; under torchrun the first process saves.

    Args:
        recipe: what is written with the model beside what its training tells, for who makes it again.
        looked: what the loss is looked at on, beside.
    """
    trained = train(model, tasks, settings, model_store.working(folder), looked, watch)
    rank, world = processes()
    summary = trained._asdict()
    summary |= {"documents_per_second": round(trained.documents_per_second, 1), "mfu": round(trained.mfu, 4)}
    if rank == 0:
        made = {**recipe, "training": summary}
        model_store.save_model(model, tokens, folder, start.recipe, max_length, made, start.normalised)
        model_store.finished(folder)
    wait(world)
    return summary
