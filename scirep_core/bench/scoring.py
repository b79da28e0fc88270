"""Score a system: vectors on one task (`scirep_core.evaluate`), or any system on many tasks, rows kept (`scirep_core.score`).

    rows = scoring.evaluate(task, vectors)                  id -> vector, (ids, array), a model, a scorer of pairs, or a bound
    rows = scoring.score("scirepeval", "minilm")            a suite, or names of tasks; an encoder by name
    rows = scoring.score("scirepeval", Path("my.npz"))      or vectors: a file, a folder of `scirep encode`, a mapping
    rows = scoring.score("scirepeval", model)               or anything with .encode(list of str), or a function
    suites.averages(rows)                                   in-train, out-of-train, all, per format

A judged paper without a vector is an error that names it; `on_missing="drop"` scores what has vectors, as the published code of
each task does, and says how much that is. What vectors and models may be: bench/given.py; systems by name: bench/systems.py.

Of many tasks, rows that are there already are not computed again (bench/score_cache.py). What is missing is encoded in one
go, then scored task by task; a task that fails does not lose the others.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from scirep_core.bench import given, score_cache
from scirep_core.bench.given import Given, Vectors, as_mapping, content_hash, doubts
from scirep_core.bench.score_cache import Question
from scirep_core.bench.suites import load_tasks
from scirep_core.bench.systems import RANKING, System, as_system
from scirep_core.data import task as schema
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.sources import PAPERS
from scirep_core.data.task import Task
from scirep_core.evaluators import EVALUATORS, facets
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.evaluators.rows import sentence
from scirep_core.kit.errors import ConfigError, DataError, NumericError, ScirepError, check_name, nearest
from scirep_core.kit.formats import PROTOCOLS, Protocol
from scirep_core.results import Result
from scirep_core.results.metrics import FACET_METRICS, check_metrics, parse

OnMissing = Literal["error", "drop"]
RANDOM_DIM = 32
"""Dimensions of `random` vectors."""
PROBED = ("classification", "regression")
Progress = Callable[[str, int, int], None]
"""Called with (what is being done, how much of it is done, of how much): first texts encoded, then tasks scored."""
Encoded = Callable[[int, int], None] | None
"""Called with how many texts are encoded, of how many."""


# ---- one task --------------------------------------------------------------------------------------------------------


def evaluate(
    task: FacetCollection | Task,
    vectors: Any,
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
            candidate's too. Ids no one asks for do no harm. Or a model (bench/given.py). A PairScorer for tasks that rank.
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
    check_name("protocol", protocol, PROTOCOLS)
    if on_missing == "drop" and protocol == "sound":
        raise ConfigError("the sound protocol demands full coverage; on_missing drop goes with protocol paper")
    if protocol == "sound" and not intercept:
        raise ConfigError("the sound protocol fits an intercept; without one goes with protocol paper")
    if not isinstance(vectors, str | Mapping | tuple | list | PairScorer):
        own = vectors if given.is_encoder(vectors) else given.as_model(vectors)
        by: Any = given.by_callable if isinstance(own, given.Model) else given.by_encoder
        more = {"metrics": metrics, "similarity": similarity, "split": split, "seed": seed, "intercept": intercept}
        rows = evaluate(task, by(task, own, protocol), protocol, on_missing, tasks=tasks, name=name or own.name, **more)  # type: ignore[arg-type]
        return [replace(row, provenance={**row.provenance, "reads": own.recipe.reads}) for row in rows]
    scorer = vectors if isinstance(vectors, PairScorer) else None
    name = name or (vectors if isinstance(vectors, str) else scorer.name if scorer else "vectors")
    if scorer and not (isinstance(task, Task) and task.type in RANKING):
        kind = task.type if isinstance(task, Task) else "faceted"
        raise ConfigError(
            f"{name} scores pairs and has no vectors: {task.name} is a {kind} task. It suits {', '.join(RANKING)}"
        )
    if isinstance(task, Task):
        names = None if metrics is None else tuple(metrics)
        asked = Question(protocol, on_missing, seed, intercept, split, names, similarity)
        return _evaluate_task(task, vectors, name, asked)
    assert not isinstance(vectors, PairScorer)
    metrics = metrics or task.metrics or FACET_METRICS
    for metric in metrics:
        parse(metric)
    split = split or "test"
    how: dict[str, Any] = {"tasks": tasks, "metrics": metrics, "protocol": protocol, "split": split, "seed": seed}
    if isinstance(vectors, str):
        check_name("vectors", vectors, ("oracle", "random"), ", or a file")
        ranked = facets.oracle_rankings(task) if vectors == "oracle" else facets.random_rankings(task, seed)
        return facets.evaluate(task, facets.System(name, ranked), **how)
    similarity = similarity or task.similarity
    table = as_mapping(vectors, name)
    part = restrict(task, table) if on_missing == "drop" else task
    system = facets.System(name, facets.rank_by_vectors(part, table, similarity, name), content_hash(table), similarity)
    rows = [replace(row, note=sentence(row.note, doubts(table))) for row in facets.evaluate(part, system, **how)]
    return rows if part is task else [_coverage(row, task, part) for row in rows]


def _evaluate_task(task: Task, vectors: Any, name: str, asked: Question) -> list[Result]:
    check_metrics(asked.metrics or task.metrics, task.type)
    split, protocol, on_missing = asked.split, cast(Protocol, asked.protocol), cast(OnMissing, asked.on_missing)
    if split == "test" and isinstance(task.payload, schema.Labelled):
        task = replace(task, payload=replace(task.payload, few_shot=()))  # not asked for, and it takes longest
    taken = named_vectors(task, vectors, asked.seed) if isinstance(vectors, str) else vectors
    table = taken if isinstance(taken, PairScorer) else as_mapping(taken, name)
    more = {"intercept": asked.intercept} if task.type in PROBED else {}
    evaluator = EVALUATORS[task.type]
    rows = evaluator(task, table, protocol, on_missing, asked.metrics, asked.similarity, asked.seed, **more)
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
    check_name("vectors", name, ("oracle", "random"), ", or a file")
    if name == "oracle":
        if task.oracle is None:
            raise ConfigError(
                f"{task.name} ({task.source} data) has no oracle: its truth is not known. Try --vectors random"
            )
        return given.read_vectors(task.oracle)
    ids = given.needed(task)
    drawn = np.random.default_rng(seed).standard_normal((len(ids), RANDOM_DIM), dtype=np.float32)
    return dict(zip(ids, drawn, strict=True))


def restrict(task: FacetCollection, vectors: Vectors) -> FacetCollection:
    """Return the part of a collection whose queries and candidates have vectors. Raises DataError if none is left."""
    judgements = {
        query: kept
        for query, judged in task.judgements.items()
        if (query.query_id in vectors or query.paper_id in vectors)
        and (kept := tuple(j for j in judged if j.candidate in vectors))
    }
    splits = {
        name: {fold: tuple(q for q in queries if q in judgements) for fold, queries in folds.items()}
        for name, folds in task.splits.items()
    }
    empty = [name for name in splits if name in task.tasks and not all(splits[name].values())]
    if empty:
        raise DataError("vectors", None, f"no query of {empty[0]} has a vector", "Check the ids, or --source real")
    return replace(task, judgements=judgements, splits=splits)


def _coverage(row: Result, full: FacetCollection, part: FacetCollection) -> Result:
    task = row.task.partition("/")[2]
    queries = {q for fold in facets.SPLIT_FOLDS[row.split] for q in full.splits[task][fold]}
    rated = sum(len(full.judgements[q]) for q in queries)
    scored = sum(len(part.judgements.get(q, ())) for q in queries)
    dropped = sum(q not in part.judgements for q in queries)
    pool = f"{scored} of {rated} rated candidates, {dropped} of {len(queries)} queries dropped"
    return replace(row, pool=pool, coverage=scored / rated)


# ---- many tasks -------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What scoring several tasks came to.

    Attributes:
        rows: of every task that could be scored, in the order of the tasks.
        failed: task -> why; tasks of one name are told apart by a number.
        unsuited: tasks the system cannot be asked (BM25 has no vectors to train a probe on).
        computed: tasks scored now; the rows of the others were kept from before.
    """

    rows: list[Result]
    failed: dict[str, Exception]
    unsuited: tuple[str, ...]
    computed: tuple[str, ...]


def attempt(
    tasks: Sequence[str | Task] | str,
    system: Any,
    *,
    source: str = "embedded",
    papers: int = PAPERS,
    data_seed: int = 0,
    question: Question | None = None,
    keep: bool = True,
    again: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Score a system on tasks; what fails is in the outcome, not an error.

    Args:
        tasks: a suite, a task, a task folder, several of the latter two, or tasks that are loaded already.
        system: whatever `as_system` takes: a name, vectors or where they lie, a model.
        source, papers, data_seed: where the tasks come from, see `load_task`.
        question: protocol, on_missing, seed and so on.
        keep: read rows that are kept, and keep new ones. With `again` the kept ones are computed and written anew. Tasks
            without a data hash, made by hand, are never kept.

    Raises ConfigError for an unknown suite, task or system, or one that suits none of the tasks; for protocol sound
    without intercept, which would be no other back end.
    """
    question = question or Question()
    if not question.intercept and question.protocol != "paper":
        raise ConfigError("no intercept is the back end of the published numbers: it goes with protocol paper alone")
    scored = as_system(system)
    loaded, failed = load_tasks(tasks, source, papers, data_seed)
    suited = [task for task in loaded if scored.suits(task)]
    if loaded and not suited:
        raise ConfigError(f"{scored.name} cannot be scored on {', '.join(task.name for task in loaded[:5])}: "
                          "it has no vectors, or no truth is known there")  # fmt: skip
    keys: dict[int, score_cache.Key] = {}
    rows: dict[int, list[Result]] = {}
    waiting: deque[int] = deque()  # places in `suited`: two folders may hold tasks of one name
    for at, task in enumerate(suited):
        try:
            keys[at] = score_cache.key_of(task, scored.key(task, question.protocol), question)
            hit = score_cache.read(keys[at]) if keep and not again and task.data_hash else None
        except Exception as error:  # whatever it is, the other tasks stand
            _failed(failed, task, error)
            continue
        if hit is None:
            waiting.append(at)
        else:
            rows[at] = hit
    computed, passed = [], 0  # passed: tasks in a row that another process is computing; after a whole round, wait
    texts = functools.partial(progress, "texts") if progress else None
    with suppress(Exception):  # what cannot be encoded is left to the turn of the task that holds it
        if waiting:
            scored.prepare([suited[at] for at in waiting], question.protocol, texts)
    while waiting:
        task = suited[at := waiting.popleft()]
        if progress:
            progress(task.name, len(suited) - len(waiting) - 1, len(suited))
        try:
            made = _one(scored, task, keys[at], question, keep, again, passed > len(waiting), texts)
        except Exception as error:
            _failed(failed, task, error)
            passed = 0
            continue
        if made is None:
            waiting.append(at)
            passed += 1
            continue
        passed = 0
        rows[at], anew = made
        computed += [task.name] if anew else []
    if progress and computed:
        progress("", len(suited), len(suited))
    size, reads = {"papers": papers, "data_seed": data_seed}, scored.reads
    return Outcome(
        [_placed(row, scored.name, question, task, size, reads) for at, task in enumerate(suited) for row in rows.get(at, ())],
        failed, tuple(task.name for task in loaded if not scored.suits(task)), tuple(computed),
    )  # fmt: skip


def _failed(failed: dict[str, Exception], task: Task, error: Exception) -> None:
    label, number = task.name, 1
    while label in failed:
        number += 1
        label = f"{task.name} ({number})"
    failed[label] = error


def score(
    tasks: Sequence[str | Task] | str,
    system: Any,
    *,
    source: str = "embedded",
    papers: int = PAPERS,
    data_seed: int = 0,
    protocol: str = "paper",
    on_missing: str = "error",
    seed: int = 0,
    intercept: bool = True,
    keep: bool = True,
    again: bool = False,
    progress: Progress | None = None,
) -> list[Result]:
    """Return the rows of a system on tasks, with bootstrap values: kept ones first, what is missing is computed.

    Tasks that do not suit the system (probes, of BM25) have no rows; `averages` will say so. The arguments are those of
    `attempt` and of `scoring.evaluate`.

    Raises ScirepError naming the tasks that failed and why, after the others have been scored and kept: the next call
    computes these alone. ConfigError for unknown names.
    """
    question = Question(protocol, on_missing, seed, intercept)
    outcome = attempt(tasks, system, source=source, papers=papers, data_seed=data_seed, question=question, keep=keep,
                      again=again, progress=progress)  # fmt: skip
    if outcome.failed:
        raise ScirepError(failure(outcome)) from next(iter(outcome.failed.values()))
    return outcome.rows


def failure(outcome: Outcome) -> str:
    """Return one line that names the tasks that failed, and why."""
    reasons = "; ".join(f"{name}: {_why(error)}" for name, error in outcome.failed.items())
    scored = len({row.task for row in outcome.rows})
    others = ", the others are scored" if scored else ""
    return f"{len(outcome.failed)} of {scored + len(outcome.failed)} tasks failed{others}: {reasons}"


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, ScirepError) else f"{type(error).__name__}: {error}"


def _one(
    system: System | Given,
    task: Task,
    key: score_cache.Key,
    question: Question,
    keep: bool,
    again: bool,
    wait: bool,
    texts: Encoded,
) -> tuple[list[Result], bool] | None:
    """Return a task's rows and whether they were computed now; None where another process is at it."""
    if not (keep and task.data_hash):
        return _evaluate(system, task, key, question, texts), True
    with score_cache.held(key, wait) as mine:
        if not mine:
            return None
        if not again and (there := score_cache.read(key)) is not None:  # its holder may just have finished
            return there, False
        rows = _evaluate(system, task, key, question, texts)
        score_cache.write(key, rows)
        return rows, True


def _evaluate(
    system: System | Given, task: Task, key: score_cache.Key, question: Question, texts: Encoded
) -> list[Result]:
    begun = time.perf_counter()
    vectors: Any = system.on(task, question.protocol, texts)
    rows = evaluate(task, vectors, name=system.name, **question.arguments(task))
    for row in rows:
        if not np.isfinite(row.value):
            raise NumericError(f"{task.name}, {row.split}, {row.metric}: the value is not a number")
    spent = time.perf_counter() - begun
    return [replace(row, fingerprint=key["system"][0], seconds=row.seconds or spent) for row in rows]


def _placed(
    row: Result, name: str, question: Question, task: Task, size: Mapping[str, Any], reads: Mapping[str, Any]
) -> Result:
    """Return a row under the system's name: the literature's size where it is of one, a probe's back end, what was read."""
    where = size if task.source == "embedded" else {}
    back_end = {"intercept": False} if not question.intercept and task.type in PROBED else {}
    more = {**row.parameters, **where, **back_end}
    return replace(row, encoder=name, parameters=more, provenance={**row.provenance, **reads})
