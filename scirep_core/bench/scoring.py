"""Score vectors or rankings on a task: what `scirep score` and `scirep_core.evaluate` do.

Vectors are a mapping id -> vector, or (ids, array), or a file: `.npz` (`ids`, and `vectors` or `emb`), `.parquet` or
`.jsonl` with `paper_id` or `doc_id` and `embedding`. An id twice, a NaN, rows of different length, a judged paper
without a vector: each is an error that names it. `on_missing="drop"` scores what has vectors, as the published code of
each task does, and says how much that is.

Two names stand for vectors too: `oracle` (the ceiling, where the truth is known) and `random` (the floor: seeded normal
vectors). A model stands for the vectors it makes: an encoder of this library, any object with `.encode(list of str)`, any
function from texts to an array; what it reads is said in bench/systems.py. Tasks that rank also take a
`PairScorer`, a system without one vector a paper (BM25, sentence matching).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scirep_core.bench import systems
from scirep_core.data import hub
from scirep_core.data import task as schema
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import Task
from scirep_core.encoders import Encoder
from scirep_core.encoders.vectors.folder import is_vector_folder, read_vector_folder
from scirep_core.evaluators import EVALUATORS, facets
from scirep_core.evaluators.facets import System
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.evaluators.rows import sentence
from scirep_core.kit.arrays import read_arrays
from scirep_core.kit.errors import ConfigError, DataError, NumericError, nearest
from scirep_core.kit.formats import PROTOCOLS, Protocol
from scirep_core.results import Result
from scirep_core.results.metrics import FACET_METRICS, check_metrics, parse

Vectors = Mapping[str, NDArray[np.floating]]
Given = Vectors | tuple[Sequence[str], Any] | PairScorer | str | Encoder | systems.Vectorise | Any
"""What can be scored: id -> vector, (ids, array), a model, a scorer of pairs, or a name."""
OnMissing = Literal["error", "drop"]
RANDOM_DIM = 32
"""Dimensions of `random` vectors."""
SUFFIXES = (".npz", ".parquet", ".jsonl")
"""Of files of vectors."""
LARGEST = 1e15
"""Of a vector's numbers: squares of larger ones leave single precision, and every distance would be infinite."""
PROBED = ("classification", "regression")


def evaluate(
    task: FacetCollection | Task,
    vectors: Given,
    protocol: Protocol = "paper",
    on_missing: OnMissing = "error",
    *,
    tasks: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    similarity: str | None = None,
    split: str | None = None,
    name: str = "",
    seed: int = 0,
    intercept: bool = True,
) -> list[Result]:
    """Return Result rows of vectors on a task.

    Args:
        vectors: mapping id -> vector, or (ids, (n, dim) array), or `oracle`, or `random`. Ids are those of the
            judgements: papers, queries, labels; `<paper>/t` and `<paper>/ta` for alternative_self. CSFCube:
            `<paper>_<facet>`, where present, is that query's own vector; `<query>/q` is a query's own where its id is a
            candidate's too. Ids no one asks for do no harm. Or a model: an object with `.encode(list of str)`, a
            function from texts to an array (bench/systems.py says what they read). A PairScorer for tasks that rank.
        on_missing: `drop` leaves out what has no vector and reports the coverage.
        tasks: of a faceted collection, which facets.
        similarity: l2, cosine or dot; None is the task's own (cosine for reviewers, authors, alternative_self).
        split: test, dev, 64-shot, test/GROUP, task-I ...; None is `test` of a faceted collection, else every one.
        seed: of intervals, drawn queries and random vectors.
        intercept: of probes under protocol `paper`; False is the published numbers' own back end, whose SVMs have none.

    Raises ConfigError for unknown names and for what cannot be scored, DataError for bad or missing vectors, NumericError for NaN.
    """
    if on_missing not in ("error", "drop"):
        raise ConfigError(f"on_missing must be error or drop, not {on_missing!r}")
    if protocol not in PROTOCOLS:
        raise ConfigError(f"unknown protocol {protocol!r}; {nearest(protocol, PROTOCOLS)}")
    if on_missing == "drop" and protocol == "sound":
        raise ConfigError("the sound protocol demands full coverage; on_missing drop goes with protocol paper")
    if protocol == "sound" and not intercept:
        raise ConfigError("the sound protocol fits an intercept; without one goes with protocol paper")
    if not isinstance(vectors, str | Mapping | tuple | list | PairScorer):
        found, made, reads = _modelled(task, vectors, protocol)
        rows = evaluate(
            task, found, protocol, on_missing=on_missing, tasks=tasks, metrics=metrics, similarity=similarity, split=split,
            name=name or made, seed=seed, intercept=intercept,
        )  # fmt: skip
        return [replace(row, provenance={**row.provenance, "reads": reads}) for row in rows]
    scorer = vectors if isinstance(vectors, PairScorer) else None
    name = name or (vectors if isinstance(vectors, str) else scorer.name if scorer else "vectors")
    if scorer and not (isinstance(task, Task) and task.type in systems.RANKING):
        kind = task.type if isinstance(task, Task) else "faceted"
        raise ConfigError(
            f"{name} scores pairs and has no vectors: {task.name} is a {kind} task. It suits {', '.join(systems.RANKING)}"
        )
    if isinstance(task, Task):
        return _evaluate_task(task, vectors, protocol, on_missing, metrics, similarity, split, name, seed, intercept)
    assert not isinstance(vectors, PairScorer)
    metrics = metrics or task.metrics or FACET_METRICS
    for metric in metrics:
        parse(metric)
    if isinstance(vectors, str):
        system = System(name, named_rankings(task, vectors, seed))
        return facets.evaluate(
            task, system, tasks=tasks, metrics=metrics, protocol=protocol, split=split or "test", seed=seed
        )
    similarity = similarity or task.similarity
    table = as_mapping(vectors, name)
    kept = restrict(task, table) if on_missing == "drop" else task
    system = System(name, facets.rank_by_vectors(kept, table, similarity, name), content_hash(table), similarity)
    rows = facets.evaluate(
        kept, system, tasks=tasks, metrics=metrics, protocol=protocol, split=split or "test", seed=seed
    )
    rows = [replace(row, note=sentence(row.note, doubts(table))) for row in rows]
    return rows if kept is task else [_coverage(row, task, kept) for row in rows]


def _modelled(task: FacetCollection | Task, model: Any, protocol: Protocol) -> tuple[Vectors, str, dict[str, str]]:
    """Return the vectors of a model, its name, and what it read."""
    if systems.is_encoder(model):
        return systems.by_encoder(task, model, protocol), model.name, model.recipe.reads
    own = systems.as_model(model)
    return systems.by_callable(task, own, protocol), own.name, own.recipe.reads


def _evaluate_task(
    task: Task,
    vectors: Given,
    protocol: Protocol,
    on_missing: OnMissing,
    metrics: Sequence[str] | None,
    similarity: str | None,
    split: str | None,
    name: str,
    seed: int,
    intercept: bool,
) -> list[Result]:
    check_metrics(metrics or task.metrics, task.type)
    if split == "test" and isinstance(task.payload, schema.Labelled):
        task = replace(task, payload=replace(task.payload, few_shot=()))  # not asked for, and it takes longest
    given = named_vectors(task, vectors, seed) if isinstance(vectors, str) else vectors
    table = given if isinstance(given, PairScorer) else as_mapping(given, name)
    more = {"intercept": intercept} if task.type in PROBED else {}
    rows = EVALUATORS[task.type](task, table, protocol, on_missing, metrics, similarity, seed, **more)
    if split is not None:
        splits = list(dict.fromkeys(row.split for row in rows))
        rows = [row for row in rows if row.split == split or row.split.startswith(f"{split}/")]
        if not rows:
            raise ConfigError(f"{task.name} has no split {split!r}; {nearest(split, splits)}")
    fingerprint = table.fingerprint if isinstance(table, PairScorer) else content_hash(table)
    doubt = "" if isinstance(table, PairScorer) or isinstance(vectors, str) else doubts(table)
    return [replace(row, encoder=name, fingerprint=fingerprint, note=sentence(row.note, doubt)) for row in rows]


def named_vectors(task: Task, name: str, seed: int) -> dict[str, NDArray[np.floating]]:
    """Return the vectors called `oracle` (the ceiling) or `random` (the floor) on a task. Raises ConfigError."""
    if name == "oracle":
        if task.oracle is None:
            raise ConfigError(
                f"{task.name} ({task.source} data) has no oracle: its truth is not known. Try --vectors random"
            )
        return read_vectors(task.oracle)
    if name != "random":
        raise ConfigError(f"unknown vectors {name!r}; {nearest(name, ('oracle', 'random'))}, or a file")
    ids = list(dict.fromkeys(task.payload.ids().needed))
    drawn = np.random.default_rng(seed).standard_normal((len(ids), RANDOM_DIM), dtype=np.float32)
    return dict(zip(ids, drawn, strict=True))


def named_rankings(task: FacetCollection, name: str, seed: int) -> facets.Rankings:
    """Return the rankings called `oracle` or `random` of a faceted collection. Raises ConfigError for other names."""
    if name not in ("oracle", "random"):
        raise ConfigError(f"unknown vectors {name!r}; {nearest(name, ('oracle', 'random'))}, or a file")
    return facets.oracle_rankings(task) if name == "oracle" else next(facets.random_rankings(task, seed))


def restrict(task: FacetCollection, vectors: Vectors) -> FacetCollection:
    """Return the part of a collection whose queries and candidates have vectors. Raises DataError if none is left."""
    judgements = {
        query: tuple(j for j in judged if j.candidate in vectors)
        for query, judged in task.judgements.items()
        if query.query_id in vectors or query.paper_id in vectors
    }
    judgements = {query: judged for query, judged in judgements.items() if judged}
    splits = {
        name: {fold: tuple(q for q in queries if q in judgements) for fold, queries in folds.items()}
        for name, folds in task.splits.items()
    }
    scored = [name for name in splits if name in task.tasks]
    empty = [name for name in scored if not all(splits[name].values())]
    if empty:
        raise DataError("vectors", None, f"no query of {empty[0]} has a vector", "Check the ids, or --source real")
    return replace(task, judgements=judgements, splits=splits)


def _coverage(row: Result, full: FacetCollection, kept: FacetCollection) -> Result:
    """Say in a row how much of the task it covers."""
    task = row.task.partition("/")[2]
    folds = [facets.SPLIT_FOLDS[row.split]]
    queries = {q for names in folds for fold in names for q in full.splits[task][fold]}
    rated = sum(len(full.judgements[q]) for q in queries)
    scored = sum(len(kept.judgements.get(q, ())) for q in queries)
    dropped = sum(q not in kept.judgements for q in queries)
    pool = f"{scored} of {rated} rated candidates, {dropped} of {len(queries)} queries dropped"
    return replace(row, pool=pool, coverage=scored / rated)


def as_mapping(vectors: Any, name: str = "vectors") -> dict[str, NDArray[np.floating]]:
    """Return id -> vector of a mapping or of (ids, array).

    Raises DataError for an id twice or ragged rows, NumericError for NaN or huge numbers, naming the id.
    """
    if isinstance(vectors, tuple | list):
        if len(vectors) != 2:
            raise DataError(name, None, f"expected (ids, array), found {len(vectors)} parts")
        try:
            ids, array = [_id(i, name) for i in vectors[0]], np.asarray(vectors[1])
        except (TypeError, ValueError) as error:
            raise DataError(name, None, f"expected (ids, array): {error}") from None
        _refuse_shape(array, len(ids), name)
        _refuse_duplicates(ids, name)
        table: dict[str, NDArray[np.floating]] = dict(zip(ids, array, strict=True))
    elif isinstance(vectors, Mapping):
        _refuse_duplicates((_id(key, name) for key in vectors), name)
        try:
            table = {_id(key, name): np.asarray(value) for key, value in vectors.items()}
        except (TypeError, ValueError) as error:
            raise DataError(name, None, f"a vector is no row of numbers: {error}") from None
    else:
        raise DataError(name, None, f"expected a mapping id -> vector or (ids, array), found {type(vectors).__name__}")
    if not table:
        raise DataError(name, None, "no vectors")
    _refuse_bad(table, name)
    return table


def doubts(table: Vectors, many: float = 0.1, block: int = 4096) -> str:
    """Return what makes a score of such vectors worth little: all are equal, or `many` are zero; else nothing."""
    rows = list(table.values())
    if len(rows) < 2:
        return ""
    zero, equal = 0, True
    for start in range(0, len(rows), block):
        part = np.stack(rows[start : start + block])
        zero += int(np.count_nonzero(~part.any(axis=1)))
        equal = equal and bool((part == rows[0]).all())
    if equal:
        return f"all {len(rows)} vectors are equal: whatever is scored here is the order of ties"
    return f"{zero} of {len(rows)} vectors are zero" if zero >= many * len(rows) else ""


def _refuse_shape(array: NDArray[Any], ids: int, name: str) -> None:
    if array.ndim != 2:
        raise DataError(name, None, f"{ids} ids for an array of shape {array.shape}",
                        f"Give a 2-d array, a row of numbers per id, not {array.ndim}-d")  # fmt: skip
    if ids != len(array):
        raise DataError(name, None, f"{ids} ids for an array of shape {array.shape}", "Give one row per id")


def _refuse_bad(table: Vectors, name: str, block: int = 4096) -> None:
    """Raise DataError for ragged or non-numeric vectors, NumericError for NaN or huge numbers, naming the first such id."""
    shape = next(iter(table.values())).shape
    for key, value in table.items():
        if value.ndim != 1 or value.shape != shape or not len(value):
            raise DataError(name, None, f"the vector of {key} has shape {value.shape}, the first has {shape}")
        if value.dtype.kind not in "fiu":
            raise DataError(name, None, f"the vector of {key} holds {value.dtype}, not real numbers",
                            "Convert it with astype(float)")  # fmt: skip
    keys, rows = list(table), list(table.values())
    for start in range(0, len(rows), block):  # many at once: a call for each of 300,000 takes seconds
        part = np.stack(rows[start : start + block]).astype(np.float64)
        if not (fine := (np.abs(part) <= LARGEST).all(axis=1)).all():
            at = int(np.argmin(fine))
            what = (
                f"a number beyond {LARGEST:g}; scale the vectors" if np.isfinite(part[at]).all() else "NaN or infinity"
            )
            raise NumericError(f"{name}: the vector of {keys[start + at]} holds {what}")


def _id(key: object, name: str) -> str:
    """Return an id as text; bytes, as numpy's `S` arrays hold them, are decoded. Raises DataError for what no file can hold."""
    try:
        text = key.decode("utf-8") if isinstance(key, bytes) else str(key)
        text.encode("utf-8")
    except UnicodeError:
        raise DataError(name, None, f"id {key!r:.60} is not UTF-8") from None
    return text


def _refuse_duplicates(ids: Iterable[str], name: str) -> None:
    seen: set[str] = set()
    for key in ids:
        if key in seen:
            raise DataError(name, None, f"id {key} is there twice", "Keep one vector per id")
        seen.add(key)


def content_hash(table: Vectors) -> str:
    """Content hash of vectors, whatever their order and precision."""
    digest = hashlib.sha256()
    for key in sorted(table):
        digest.update(key.encode() + b"\0" + np.ascontiguousarray(table[key], dtype=np.float64).tobytes())
    return digest.hexdigest()[:16]


def read_vectors(path: Path) -> dict[str, NDArray[np.floating]]:
    """Read vectors from .npz, .parquet, .jsonl, or a folder that `scirep encode` wrote.

    Raises DataError with file and, for jsonl, line.
    """
    if is_vector_folder(path):
        ids, array = read_vector_folder(path)
        return as_mapping((ids, array), str(path))
    if not path.is_file():
        raise DataError(path, None, "file not found")
    if path.suffix not in SUFFIXES:
        raise DataError(path, None, f"unknown kind {path.suffix!r}", f"Give one of {', '.join(SUFFIXES)}")
    return as_mapping(_of_arrays(path) if path.suffix == ".npz" else _of_rows(path), str(path))


def _of_arrays(path: Path) -> tuple[list[Any], NDArray[Any]]:
    ids, array = read_arrays(path, ("ids",), ("vectors", "emb"))
    if ids.ndim > 1:
        raise DataError(path, None, f"ids have shape {ids.shape}", "Give one id per row")
    return np.atleast_1d(ids).tolist(), array


def _of_rows(path: Path) -> dict[str, NDArray[np.float64]]:
    """Read `paper_id` (or `doc_id`) and `embedding` from rows of any form that `hub.rows` knows."""
    found: dict[str, NDArray[np.float64]] = {}
    first = 0
    for _, line, row in hub.rows([path], {"paper_id|doc_id": (str, int), "embedding": list}):
        name, values = str(row["paper_id"]), row["embedding"]
        if name in found:
            raise DataError(path, line, f"id {name} is there twice", "Keep one vector per id")
        if not values or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            raise DataError(path, line, f"embedding of {name} is not a list of numbers")
        first = first or len(values)
        if len(values) != first:
            raise DataError(path, line, f"embedding of {name} has {len(values)} numbers, the first has {first}")
        found[name] = np.array(values, dtype=np.float64)
    return found
