"""What each way of telling the task costs, measured and counted (SciRepEval v2 Table 4, v1 Table 5).

    ratio = seconds of a variant / seconds of MTL CTRL, in one round          value: the median over rounds

The ways take turns within each round, so what else the machine does falls on all of them. Encoding is timed twice: a paper
under one format, as the paper's table has it, and under all four: one pass for MTL CLS and the one-pass formats, four for the
others. These are held against MTL CLS, too, which has one vector. The ensemble's seconds are the sum of its members'. Models are
as they begin. On a CPU one thread works and its CPU time counts; on a GPU the wall clock does.

On a base of the book the documents are those of its training sets. On a shape (encoders/trunk/shapes.py) weights and documents are
random, all of one length: time does not depend on what they say, and nothing but torch and numpy is needed:

    python -m scirep_core.bench.speed.efficiency --base bert-base --tokens 512 --out FILE

What a way costs by arithmetic alone, at any size, on any machine, is `cost`:

    parameters    that one task format alone uses                 encode, encode all    operations of a forward pass, or of those
    train         operations of forward and backward              activations           that give a vector a format
    stored        bytes of a paper's vectors in float32

Counted on models whose tensors hold no data (encoders/trunk/counting.py), with two layers and with three: each further layer adds
what the third does. An ensemble costs the sum of its members.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.settings import pick_device, token_batches
from scirep_core.encoders.trunk import counting
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.encoders.trunk.counting import parameters
from scirep_core.encoders.trunk.number_types import at_threads, machine
from scirep_core.encoders.trunk.shapes import SHAPES
from scirep_core.encoders.trunk.speed import now
from scirep_core.encoders.trunk_encoder import ready
from scirep_core.kit.errors import ConfigError, ScirepError
from scirep_core.kit.formats import FORMATS
from scirep_core.results import Result, provenance, write_results
from scirep_core.training.data import Documents, TrainTask
from scirep_core.training.loop import train
from scirep_core.training.models import Say, base, options_of, silent, untrained
from scirep_core.training.sets import ROOM, Base, examples
from scirep_core.training.variants import Budget, budget, config, plain, variant

FLOAT = 4
"""Bytes of a number."""
FEW = 3
"""Layers that are counted one by one: the first, one between, and the last, which computes what is read alone."""


class Cost(NamedTuple):
    """Of one document of so many tokens: operations, bytes; parameters of one format (the largest), and those
    that training moves, all formats' together.
    """

    parameters: int
    trained: int
    encode: int
    encode_all: int
    train: int
    activations: int
    stored: int


def members(name: str) -> list[str]:
    """Return the variants whose costs add up to a variant's: itself, or its members without their seeds.

    >>> members("mean of two MTL CLS")
    ['MTL CLS', 'MTL CLS']
    """
    return [plain(one)[0] for one in variant(name).members] or [name]


def cost(name: str, of: Shape, tokens: int) -> Cost:
    """Return what a document of `tokens` tokens (with what the conditioning adds) costs under a variant.

    Raises ConfigError for a variant that is not trained, or more tokens than the shape has places.
    """
    if not 0 < tokens <= of.max_position_embeddings:
        raise ConfigError(f"tokens = {tokens}: valid are 1 to {of.max_position_embeddings}")
    parts = [_single(one, of, tokens) for one in members(name)]
    joined = sum if variant(name).how == "concatenation" else max
    summed = Cost(*(sum(column) for column in zip(*parts, strict=True)))
    return summed._replace(stored=joined(part.stored for part in parts))


@functools.cache
def _single(name: str, of: Shape, tokens: int) -> Cost:
    if not variant(name).kind:
        raise ConfigError(f"{name!r} is the base as it is: nothing tells it the task")
    layers = of.num_hidden_layers
    if layers <= FEW:
        return counted(name, of, tokens)
    less, more = (counted(name, replace(of, num_hidden_layers=n), tokens) for n in (FEW - 1, FEW))
    return Cost(*(b + (layers - FEW) * (b - a) for a, b in zip(less, more, strict=True)))


def counted(name: str, of: Shape, tokens: int) -> Cost:
    """Return what `cost` does, of a variant that is one training, counted layer by layer."""

    chosen = variant(name)
    with torch.device("meta"):
        trunk = Trunk(of)
        model = Conditioned(trunk, conditioning(chosen.kind, trunk, **chosen.options))
        document = [1] * max(1, tokens - model.conditioning.added())
        batch = model.pack([document], [FORMATS[0]])
        counts = counting.parameters(model)
        once, learnt = counting.operations(model, batch), counting.step(model, batch)
    shared = model.conditioning.shared_pass or chosen.kind == "plain"
    vectors = 1 if chosen.kind == "plain" else len(FORMATS)
    return Cost(
        max(counts.per_route.values()), counts.trained, once, once if shared else len(FORMATS) * once,
        learnt.operations, learnt.activations, vectors * of.hidden_size * FLOAT,
    )  # fmt: skip


def fusion_as_published(of: Shape, tokens: int) -> Cost:
    """Return what Fusion costs where every adapter's output goes through the keys and the values, as `adapters` has it.

    2 x 4 + 1 products of the width squared for a token and layer, where ours takes 3 for the same result (fusion.py); of
    training three times as many, since each has two gradients. The last layer is counted for the token that is read.
    """
    ours, rows = cost("Fusion", of, tokens), (of.num_hidden_layers - 1) * tokens + 1
    more = rows * 2 * (len(FORMATS) - 1) * 2 * of.hidden_size**2
    return ours._replace(encode=ours.encode + more, encode_all=ours.encode_all + len(FORMATS) * more,
                         train=ours.train + 3 * more)  # fmt: skip


REFERENCE = "MTL CTRL"
TABLE_4 = (
    REFERENCE, "PALs", "Adapters", "Fusion", "Adapters + MTL CTRL", "MTL CLS", "one pass", "MTL CLS dense", "one pass dense",
    "mean of two MTL CLS",
)  # fmt: skip
TASK = "scirepeval/efficiency"
TOKENS = {"cpu": 2048, "cuda": 65536}
"""Of a batch that is encoded."""
ONE_VECTOR = "MTL CLS"
TRAINING, ONE, ALL, OVER_ONE, PER_FORMAT, SHARE = (
    "training_time", "inference_time", "inference_time_all_formats", "inference_time_all_formats_over_one_vector",
    "parameters_per_format", "training_matrix_share",
)  # fmt: skip
CLASSES = 20
"""Of the classification task that is drawn."""


class Start(NamedTuple):
    """What is measured on: a base or a shape, and training examples."""

    name: str
    model: Base | Shape
    tasks: Sequence[TrainTask]


def measure(
    given: Budget, on: str = "embedded", names: Sequence[str] = TABLE_4, *, papers: int = 500, steps: int = 5, rounds: int = 5,
    tokens: int = 128, say: Say = silent,
) -> list[Result]:  # fmt: skip
    """Return rows of the table: parameters a format; training and encoding times as multiples of MTL CTRL's.

    Args:
        on: the base, see `models.base`, or a shape of `shapes.SHAPES`.
        names: variants; an ensemble's members and MTL CTRL are measured with them.
        papers: encoded in a round.
        steps: of training in a round, as many for every way.
        rounds: `low` and `high` of a row are the least and greatest ratio among them.
        tokens: of a document, on a shape.

    Raises ConfigError for fewer than one of papers, steps and rounds, or a variant of other than one training or a mean.
    """
    if min(papers, steps, rounds) < 1:
        raise ConfigError(f"papers = {papers}, steps = {steps}, rounds = {rounds}: give one or more of each")
    single = list(dict.fromkeys([REFERENCE, *(one for name in names for one in members(name))]))
    if wrong := [name for name in single if not variant(name).kind]:
        raise ConfigError(f"{wrong[0]!r} is not trained, so its training takes no time")
    if on in SHAPES:
        start = drawn(on, given, tokens)
    else:
        known = base(on, given, say)
        start = Start(on, known, examples(known, given)[1])
    with at_threads(1):  # so that CPU time is what the work takes, and no waiting of threads for each other
        return _measured(start, given, names, single, (papers, steps, rounds), say)


def _measured(
    start: Start, given: Budget, names: Sequence[str], single: Sequence[str], much: tuple[int, int, int], say: Say
) -> list[Result]:
    papers, steps, rounds = much
    known = start.tasks[0].documents
    documents = known.of([at % known.docs for at in range(papers)])
    models = {name: _model(name, start, given, running=True) for name in single}
    taken: dict[str, dict[str, list[float]]] = {
        what: {name: [] for name in single} for what in (TRAINING, ONE, ALL, SHARE)
    }
    for number in range(rounds + 1):  # the first one warms up
        say(f"efficiency: round {number} of {rounds}")
        for name in single:
            spent, share = _training(name, start, given, steps)
            found = {TRAINING: spent, SHARE: share, **_encoding(models[name], documents)}
            for what, value in found.items() if number else ():
                taken[what][name].append(value)
    data, device = "drawn" if start.name in SHAPES else given.source, pick_device(None)
    setup = {"base": start.name, "data": data, **_size(models[REFERENCE]), "rounds": rounds, "documents": papers, "steps": steps,
             "machine": machine(device), "device": device, "threads": torch.get_num_threads(), "batch": given.train.get("batch"),
             "precision": given.train.get("precision", "float32"),
             "mean_tokens": float(np.mean([len(one) for one in documents]))}  # fmt: skip
    made = [row for name in names for row in _rows(name, taken, setup)]
    made += [_share(name, taken[SHARE][name], setup) for name in single if name in names]
    return made + [_count(name, start, given, setup) for name in names]


def drawn(name: str, given: Budget, tokens: int, docs: int = 1000, seed: int = 0) -> Start:
    """Return a shape with random documents of one length, and a task of each format over them.

    Raises ConfigError for more tokens than it has places, those that a conditioning adds included.
    """
    shape, random = SHAPES[name], np.random.default_rng(seed)
    if not 2 < tokens <= shape.max_position_embeddings:
        raise ConfigError(f"tokens = {tokens}: {name} takes 3 to {shape.max_position_embeddings}")
    length = min(tokens, shape.max_position_embeddings - ROOM)
    ids = random.integers(5, shape.vocab_size, docs * length).astype(np.int32)
    documents = Documents(ids, np.arange(docs + 1, dtype=np.int64) * length)
    rows, three = np.arange(docs), random.integers(0, docs, (docs, 3))
    classes = random.integers(0, CLASSES, docs)
    labels = tuple(str(i) for i in range(CLASSES))
    return Start(name, shape, [
        TrainTask("drawn/classes", "CLF", "CLF", "classification", documents, rows, classes, labels),
        TrainTask("drawn/numbers", "RGN", "RGN", "regression", documents, rows, random.normal(size=docs).astype(np.float32)),
        TrainTask("drawn/neighbours", "PRX", "PRX", "triplet", documents, three),
        TrainTask("drawn/queries", "PRX", "QRY", "triplet", documents, random.permutation(three)),
    ])  # fmt: skip


def _size(model: Conditioned) -> dict[str, int]:
    shape = model.trunk.shape
    return {"width": shape.hidden_size, "layers": shape.num_hidden_layers}


def _model(name: str, start: Start, given: Budget, running: bool = False) -> Conditioned:
    """Return a variant's model as it begins; `running`, laid out for encoding."""
    chosen, device = variant(name), pick_device(None)
    own = options_of(chosen, given)
    if isinstance(start.model, Base):
        made = untrained(chosen.kind, start.model, own, 0)
    else:
        trunk = Trunk(start.model)
        made = Conditioned(trunk, conditioning(chosen.kind, trunk, **own))
    rounded = device != "cpu" and given.train.get("precision") == "bfloat16"
    return ready(made, "bfloat16" if rounded else "float32", device) if running else made.to(device)


def _training(name: str, start: Start, given: Budget, steps: int) -> tuple[float, float]:
    """Return seconds by `clock`, from the first forward pass to the end of the last step, and the share of matrix products."""
    settings = replace(config(name, 0, given), steps=steps, warmup=0, checkpoint_every=0)
    model = _model(name, start, given)
    device, times = str(model.trunk.words.weight.device), []
    watched = model.register_forward_pre_hook(lambda *_: times.append(clock(device)))
    with tempfile.TemporaryDirectory() as folder:
        done = train(model, start.tasks, settings, Path(folder), progress=lambda _: times.append(clock(device)))
    watched.remove()
    return times[-1] - times[0], float(done.mfu)


def clock(device: str) -> float:
    """Return seconds: of this process's CPU time on a CPU, where others share it; of the wall on a GPU that has no work left."""
    return time.process_time() if device == "cpu" else now(device)


def _encoding(model: Conditioned, documents: Sequence[list[int]]) -> dict[str, float]:
    device = str(model.trunk.words.weight.device)
    batches = list(token_batches([len(one) for one in documents], TOKENS[device.partition(":")[0]]))
    spent = {}
    for what, formats in ((ONE, ("PRX",)), (ALL, FORMATS)):
        shared = model.conditioning.shared_pass or model.conditioning.kind == "plain"
        began = clock(device)
        with torch.inference_mode():
            for format in formats[:1] if shared else formats:
                for batch in batches:
                    model(model.pack([documents[i] for i in batch], [format] * len(batch)))
        spent[what] = clock(device) - began
    return spent


def _rows(name: str, seconds: Mapping[str, Mapping[str, list[float]]], setup: Mapping[str, object]) -> list[Result]:
    made = []
    for what, source, reference in ((TRAINING, TRAINING, REFERENCE), (ONE, ONE, REFERENCE), (ALL, ALL, REFERENCE),
                                    (OVER_ONE, ALL, ONE_VECTOR)):  # fmt: skip
        by = seconds[source]
        if reference not in by:
            continue
        own = np.sum([by[one] for one in members(name)], axis=0)
        ratios = own / np.asarray(by[reference])
        made.append(_row(name, what, float(np.median(ratios)), len(ratios), setup, float(ratios.min()), float(ratios.max()),
                         seconds=float(np.median(own))))  # fmt: skip
    return made


def _share(name: str, shares: Sequence[float], setup: Mapping[str, object]) -> Result:
    low, middle, high = (100 * float(x) for x in np.quantile(shares, (0, 0.5, 1)))
    return _row(name, SHARE, middle, len(shares), setup, low, high)


def _count(name: str, start: Start, given: Budget, setup: Mapping[str, object]) -> Result:
    """Return the row of parameters a format: what one format alone uses, the largest; of an ensemble its members' sum."""
    added = sum(max(parameters(_model(one, start, given)).per_route.values(), default=0) for one in members(name))
    return _row(name, PER_FORMAT, float(added), 1, setup)


UNITS = {
    PER_FORMAT: "numbers",
    SHARE: "percent of the measured rate of a large matrix product; least and greatest round",
}


def _row(
    name: str, what: str, value: float, n: int, setup: Mapping[str, object], low: float | None = None,
    high: float | None = None, seconds: float | None = None,
) -> Result:  # fmt: skip
    on = str(setup.get("base", "embedded"))
    return Result(TASK, "test" if on == "embedded" else on, what, "sound", value, n, encoder=name, low=low, high=high,
                  chapter="study/efficiency", source=str(setup.get("data", "embedded")), seconds=seconds,
                  parameters={"variant": name, **setup}, provenance=provenance(),
                  note=UNITS.get(what, f"times {REFERENCE}'s; least and greatest of the rounds"))  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Measure on a shape and write the rows; for machines that have torch and little else."""
    program = "python -m scirep_core.bench.speed.efficiency"
    asked = argparse.ArgumentParser(prog=program, description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--base", default="bert-base", help=f"a shape: {', '.join(SHAPES)}; or a base of the book")
    asked.add_argument("--variants", default=", ".join(TABLE_4), help="as in the table, comma-separated")
    asked.add_argument("--budget", default="large", help="whose training settings are taken: batch and number type")
    asked.add_argument("--batch", type=int, default=0, help="papers of a step, of all tasks together; 0: the budget's")
    for name, default, meaning in (("tokens", 512, "of a document"), ("papers", 500, "encoded in a round"),
                                   ("steps", 5, "of training in a round"), ("rounds", 5, "beside one to warm up")):  # fmt: skip
        asked.add_argument(f"--{name}", type=int, default=default, help=meaning)
    asked.add_argument("--out", type=Path, required=True, help="file of the rows")
    given = asked.parse_args(words)
    try:
        chosen = budget(given.budget, train={"batch": given.batch} if given.batch else {})
        names = [name.strip() for name in given.variants.split(",")]
        rows = measure(replace(chosen, options={}) if given.base in SHAPES else chosen, given.base, names,
                       papers=given.papers, steps=given.steps, rounds=given.rounds, tokens=given.tokens,
                       say=lambda line: print(line, file=sys.stderr, flush=True))  # fmt: skip
        command = f"{program} {' '.join(sys.argv[1:] if words is None else words)}"
        rows = [replace(row, parameters={**row.parameters, "command": command}) for row in rows]
        write_results(given.out, rows)
    except ScirepError as error:
        print(error, file=sys.stderr)
        return 2
    for row in rows:
        print(f"{row.encoder:24} {row.metric:28} {row.value:14.4g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
