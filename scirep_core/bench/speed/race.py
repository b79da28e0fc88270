"""Encoders timed in turn, in one run: this book's trunk, sentence-transformers, and the loop that everyone writes first.

    documents/s      documents / seconds, tokenizing included
    padding          share of the rows computed that are padding                     0 where documents are packed
    matrix share     operations that the vectors need / seconds / measured rate of a large matrix product (speed.py)

Every way encodes the same texts with the same weights, one after the other, round after round; ratios are taken within a
round, so what else the machine does falls on all. CPU time of the process stands beside wall time: with one thread of a CPU
the share is of it. The vectors are compared, too.

    scirep bench --model minilm --texts abstracts
    python -c "from scirep_core.bench.speed.race import race, texts_of; print(race('bert-base', texts_of('filled')[1], 'filled'))"

The second needs torch, numpy, tokenizers and safetensors; a way whose library is not there is left out.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from scirep_core.data import load_task
from scirep_core.encoders import ENCODERS, load_encoder
from scirep_core.encoders.hub import load_tokenizer, pool, quiet_transformers
from scirep_core.encoders.models.model_folder import reading
from scirep_core.encoders.models.screening import library_config
from scirep_core.encoders.settings import pick_device
from scirep_core.encoders.trunk.attention import chosen
from scirep_core.encoders.trunk.number_types import at_threads, available, machine
from scirep_core.encoders.trunk.shapes import SHAPES, blank, filled
from scirep_core.encoders.trunk.speed import flops, matrix_rate, now
from scirep_core.kit.errors import ConfigError, DataError, check_name, nearest
from scirep_core.kit.store import stable_hash
from scirep_core.results import Result, provenance, version

Vectors = NDArray[np.float32]
TASK = "encoders/race"
BATCH = 32
"""Texts of a batch in sentence-transformers, by its own default, and in the loop."""
THEIRS, LOOP = "sentence-transformers", "transformers"
RATE, PADDING, SHARE, FORWARD, TIMES, CPU_TIMES, CPU, APART = (
    "documents_per_second", "padding", "matrix_share", "matrix_share_forward", "times_as_fast", "times_as_fast_cpu",
    "cpu_ms_per_document", "one_minus_cosine",
)  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- lanes


@dataclass(frozen=True)
class Runner:
    """What all ways encode with: a folder in hub layout, tokens kept of a text, where, and by how many threads."""

    name: str
    folder: Path
    max_length: int
    device: str


class Lane(NamedTuple):
    """One way of encoding.

    Attributes:
        encode: texts -> (n, dim).
        batches: lengths (characters, tokens) of texts -> batches of places, as this way cuts them; None: nothing is padded.
        dtype: in which matrix products are computed.
        forward: seconds of the last call without tokenizing, where the way tells.
    """

    encode: Callable[[list[str]], Vectors]
    batches: Callable[[Sequence[str], Sequence[int]], list[list[int]]] | None
    dtype: str
    forward: Callable[[], float | None] = lambda: None


def _ours(dtype: str, compiled: bool = False) -> Callable[[Runner], Lane]:
    def make(runner: Runner) -> Lane:
        encoder: Any = load_encoder(
            runner.name, dtype=dtype, max_length=runner.max_length, device=runner.device, compiled=compiled
        )
        return Lane(lambda texts: encoder.encode(texts, "PRX"), None, dtype, lambda: trunk_of(encoder).seconds)

    return make


def trunk_of(encoder: Any) -> Any:
    """Return the TrunkEncoder of an encoder that runs on the trunk. Raises ConfigError for another."""
    found = getattr(encoder, "trunk", encoder)
    if not hasattr(found, "loaded"):
        raise ConfigError(f"{encoder.name} does not run on the trunk: a race is of BERT models")
    return found


def _sentence_transformers(dtype: str) -> Callable[[Runner], Lane]:
    def make(runner: Runner) -> Lane:
        from sentence_transformers import SentenceTransformer

        quiet_transformers()
        more = {} if dtype == "float32" else {"model_kwargs": {"dtype": getattr(torch, dtype)}}
        with reading(runner.folder, "model"):
            model = SentenceTransformer(str(runner.folder), device=runner.device, **more)
        model.max_seq_length = runner.max_length

        def encode(texts: list[str]) -> Vectors:
            return np.asarray(model.encode(texts, batch_size=BATCH, show_progress_bar=False), dtype=np.float32)

        return Lane(encode, lambda texts, _: cut(sorted(range(len(texts)), key=lambda i: -len(texts[i]))), dtype)

    return make


def _loop(runner: Runner) -> Lane:
    """Return texts as they come, in batches that are padded to their longest, the model called on each."""

    with reading(runner.folder, "model"):
        model = quiet_transformers().AutoModel.from_pretrained(runner.folder, config=library_config(runner.folder))
    model = model.eval().to(runner.device)
    tokenizer, encoder = load_tokenizer(runner.folder), load_encoder(runner.name, max_length=runner.max_length)
    pooling = trunk_of(encoder).loaded[0].pooling
    normalised = trunk_of(encoder).about.normalised

    def encode(texts: list[str]) -> Vectors:
        found = []
        with torch.inference_mode():
            for first in range(0, len(texts), BATCH):
                given = tokenizer(texts[first : first + BATCH], truncation=True, max_length=runner.max_length, padding=True,
                                  return_tensors="pt").to(runner.device)  # fmt: skip
                vectors = pool(model(**given), given["attention_mask"], pooling)
                found.append((torch.nn.functional.normalize(vectors) if normalised else vectors).float().cpu().numpy())
        return np.concatenate(found)

    return Lane(encode, lambda texts, _: cut(range(len(texts))), "float32")


def cut(order: Sequence[int]) -> list[list[int]]:
    """Return places in batches.

    >>> [len(batch) for batch in cut(range(40))]
    [32, 8]
    """
    return [list(order[first : first + BATCH]) for first in range(0, len(order), BATCH)]


class Way(NamedTuple):
    """A row of the registry: how a lane is made, and the library it needs beside torch."""

    make: Callable[[Runner], Lane]
    needs: str = ""
    where: str = ""


LANES: dict[str, Way] = {
    THEIRS: Way(_sentence_transformers("float32"), "sentence_transformers"),
    LOOP: Way(_loop, "transformers"),
    "ours, float32": Way(_ours("float32")),
    "ours, bfloat16": Way(_ours("bfloat16")),
    "sentence-transformers, bfloat16": Way(_sentence_transformers("bfloat16"), "sentence_transformers", "cuda"),
    "ours, bfloat16, compiled": Way(_ours("bfloat16", compiled=True), "", "cuda"),
}
"""Ways by name; the first is what the others are held against."""


def known(device: str) -> list[str]:
    """Return the ways that run on a device with the libraries that are there."""
    return [
        name
        for name, way in LANES.items()
        if device.startswith(way.where) and (not way.needs or importlib.util.find_spec(way.needs) is not None)
    ]


# ---------------------------------------------------------------------------------------------------------------- race


class Lap(NamedTuple):
    """Seconds of one way in one round, of the wall clock and of all threads of the process; of the forward passes alone."""

    wall: float
    cpu: float
    forward: float | None


def run(
    lanes: Mapping[str, Lane], texts: list[str], rounds: int, device: str = "cpu",
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, list[Lap]], dict[str, Vectors]]:  # fmt: skip
    """Return name -> laps, and name -> vectors; each way runs once before the clock does."""
    laps: dict[str, list[Lap]] = {name: [] for name in lanes}
    found: dict[str, Vectors] = {}
    for number in range(rounds + 1):
        progress(f"round {number} of {rounds}" if number else f"each of {len(lanes)} ways once, before the clock")
        for name, lane in lanes.items():
            wall, cpu = now(device), time.process_time()
            found[name] = lane.encode(texts)
            spent, busy = now(device) - wall, time.process_time() - cpu
            if number:
                laps[name].append(Lap(spent, busy, lane.forward()))
    return laps, found


def padding(batches: Sequence[Sequence[int]], lengths: Sequence[int]) -> float:
    """Return the share of computed rows that are padding.

    >>> padding([[0, 1]], [4, 2])
    0.25
    """
    rows = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    return 1 - sum(lengths[i] for batch in batches for i in batch) / rows


def race(
    model: str = "minilm", texts: Sequence[str] = (), source: str = "", *, names: Sequence[str] = (), rounds: int = 5,
    max_length: int = 512, threads: int = 1, device: str | None = None, progress: Callable[[str], None] = lambda _: None,
) -> list[Result]:  # fmt: skip
    """Return rows of a race: of every way its speed, padding and share of the matrix-multiply rate, and ratios.

    Args:
        model: an encoder by name or folder that runs on the trunk, or a shape of random weights (`shapes.SHAPES`).
        texts: that all encode.
        source: what the texts are, for the rows.
        names: of LANES; unless given, those that can run here in a number type that the device computes in.
        threads: of the process on a CPU.
        progress: given a line before each round.

    Raises ConfigError for an unknown way, one whose library is not there, no texts, or fewer than one round.
    """

    where = pick_device(device)
    emulated = available("bfloat16", where) != "bfloat16"
    wanted = list(names) or [name for name in known(where) if not (emulated and "bfloat16" in name)]
    for name in wanted:
        check_name("way", name, LANES)
        if name not in known(where):
            raise ConfigError(f"{name}: {LANES[name].needs or LANES[name].where} is not there")
    if not texts or rounds < 1:
        raise ConfigError(f"{len(texts)} texts, rounds = {rounds}: give one or more of each")
    with (
        at_threads(threads if where == "cpu" else torch.get_num_threads()),
        started(model, max_length, where) as runner,
    ):
        return _raced(runner, wanted, list(texts), source, rounds, model, progress)


def _raced(
    runner: Runner, names: Sequence[str], texts: list[str], source: str, rounds: int, model: str,
    progress: Callable[[str], None],
) -> list[Result]:  # fmt: skip
    loaded, tokens = trunk_of(load_encoder(runner.name, max_length=runner.max_length, device=runner.device)).loaded
    lengths = [len(ids) for ids in tokens.ids(texts, runner.max_length)]
    work = flops(loaded.trunk.shape, lengths, loaded.pooling == "cls")
    lanes = {name: LANES[name].make(runner) for name in names}
    alone = runner.device == "cpu" and torch.get_num_threads() == 1
    number_types = {lane.dtype for lane in lanes.values()}
    bound = cpu_rate if alone else lambda dtype: matrix_rate(runner.device, dtype)
    before = {dtype: bound(dtype) for dtype in number_types}
    laps, vectors = run(lanes, texts, rounds, runner.device, progress)
    rates = {dtype: max(before[dtype], bound(dtype)) for dtype in number_types}
    first, parameters = names[0], {
        "model": model, "max_length": runner.max_length, "rounds": rounds, "mean_tokens": float(np.mean(lengths)),
        "texts": source, "device": runner.device, "machine": machine(runner.device), "threads": torch.get_num_threads(),
        **({"attention": chosen(torch.float32)} if runner.device == "cpu" else {}),
        "libraries": {name: version(name) for name in ("sentence-transformers", "transformers", "torch")},
    }  # fmt: skip
    hashed, made = stable_hash(texts), []
    split = f"{model}, {source}, {runner.device.partition(':')[0]}"

    def row(name: str, metric: str, values: Sequence[float], **more: Any) -> None:
        low, middle, high = (float(x) for x in np.quantile(values, (0, 0.5, 1)))
        made.append(Result(TASK, split, metric, "sound", middle, len(texts), encoder=name, chapter="race",
                           low=low if len(values) > 1 else None, high=high if len(values) > 1 else None, source=source,
                           data_hash=hashed, provenance=provenance(), parameters=parameters, **more))  # fmt: skip

    for name, lane in lanes.items():
        mine, rate = laps[name], rates[lane.dtype]
        row(name, RATE, [len(texts) / lap.wall for lap in mine], seconds=float(np.median([lap.wall for lap in mine])))
        row(name, CPU, [1000 * lap.cpu / len(texts) for lap in mine])
        row(name, SHARE, [100 * work / (lap.cpu if alone else lap.wall) / rate for lap in mine])
        if not alone and all(lap.forward for lap in mine):
            row(name, FORWARD, [100 * work / lap.forward / rate for lap in mine if lap.forward])
        row(name, PADDING, [100 * padding(lane.batches(texts, lengths), lengths) if lane.batches else 0.0])
        row(name, TIMES, [other.wall / lap.wall for other, lap in zip(laps[first], mine, strict=True)],
            note=f"against {first}")  # fmt: skip
        row(name, CPU_TIMES, [other.cpu / lap.cpu for other, lap in zip(laps[first], mine, strict=True)],
            note=f"against {first}")  # fmt: skip
        row(name, APART, [apart(vectors[name], vectors[first])], note=f"greatest over texts, against {first}")
    return made


def cpu_rate(dtype: str, size: int = 1024, times: int = 10, seconds: float = 2.0) -> float:
    """Return operations a second of CPU time of a product of large matrices by one thread: best of ten, fewer if they take long."""
    a, b = (torch.randn(size, size, dtype=getattr(torch, dtype)) for _ in range(2))
    spent: list[float] = []
    while len(spent) < times and sum(spent) < seconds:
        began = time.process_time()
        torch.mm(a, b)
        spent.append(time.process_time() - began)
    return 2.0 * size**3 / min(spent)


def apart(a: Vectors, b: Vectors) -> float:
    """Return the greatest 1 - cosine of two encodings of the same texts, at least 0."""
    one, two = (x.astype(np.float64) / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True) for x in (a, b))
    return max(0.0, float((1 - (one * two).sum(1)).max()))


# ---------------------------------------------------------------------------------------------------- models and texts


@contextmanager
def started(model: str, max_length: int, device: str) -> Iterator[Runner]:
    """Yield what the ways run with; a shape of random weights is written to a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        if model in SHAPES:
            folder = blank(SHAPES[model], Path(directory) / model)
            yield Runner(str(folder), folder, max_length, device)
        else:
            encoder: Any = load_encoder(model)
            if model in ENCODERS and not hasattr(encoder, "folder"):
                raise ConfigError(f"{model}: has no weights in a folder, which every other way needs")
            folder = encoder.folder if model in ENCODERS else Path(model).expanduser()
            yield Runner(model, Path(folder), max_length, device)


def abstracts(every: int = 24) -> list[str]:
    """Return real titles and abstracts of the samples: every 24th batch of those that sentence-transformers makes of them all.

    So its share of padding is what it is on all 2,286. They lie in a random order. Raises DataError where they are not at
    hand.
    """
    recipe, found = load_encoder("minilm").recipe, set[str]()
    for name in ("fos", "mesh_descriptors", "cite_prediction", "same_author", "search"):
        task: Any = load_task(f"sample/{name}", "real")
        found |= {recipe.of_paper(paper) for paper in task.texts() if paper.abstract}
    ordered = sorted(found)
    batches = cut(sorted(range(len(ordered)), key=lambda i: -len(ordered[i])))
    chosen = [ordered[i] for batch in batches[every // 2 :: every] for i in batch]
    return [chosen[i] for i in np.random.default_rng(0).permutation(len(chosen))]


def invented(papers: int = 1000, seed: int = 0, encoder: str = "minilm") -> list[str]:
    """Return invented titles and abstracts, as an encoder's recipe joins them."""
    task: Any = load_task("scirepeval/cite_count", "embedded", papers, seed)
    return [load_encoder(encoder).recipe.of_paper(paper) for paper in task.texts()]


TEXTS = ("abstracts", "embedded", "filled")
"""What can be encoded by name: real abstracts, invented ones, and random words that fill the length."""


def texts_of(source: str = "", number: int = 1024, length: int = 512) -> tuple[str, list[str]]:
    """Return what texts are, and at most so many of them, by a name of TEXTS or of a file that holds one a line.

    Unless named they are abstracts, or embedded ones where no real ones are at hand. Raises ConfigError for what is neither
    name nor file, and for a file that is no text or empty.
    """
    if not source:
        try:
            return texts_of("abstracts", number, length)
        except DataError:
            return texts_of("embedded", number, length)
    if source == "filled":
        return source, filled(number, length)
    if source in TEXTS:
        return source, (abstracts() if source == "abstracts" else invented())[:number]
    path = Path(source).expanduser()
    if not path.is_file():
        raise ConfigError(f"texts {source!r}: no such file, and {nearest(source, TEXTS)}")
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}; give a UTF-8 file, a text a line") from None
    if not (found := [line for line in lines if line][:number]):
        raise ConfigError(f"{path}: has no text; give a text a line")
    return "own", found
