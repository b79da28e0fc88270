"""The benchmark: score any encoder, or any vectors, on every task; keep the rows; average as the paper does (SciRepEval 6).

    rows = benchmark.score("scirepeval", "minilm")            a suite, or names of tasks; an encoder by name
    rows = benchmark.score("scirepeval", Path("my.npz"))      or vectors: a file, a folder of `scirep encode`, a mapping
    rows = benchmark.score("scirepeval", model)               or anything with .encode(list of str), or a function
    benchmark.averages(rows)                                  in-train, out-of-train, all, per format (bench/suites.py)

Rows that are there already are not computed again (bench/score_cache.py). What is missing is encoded in one go, then scored task
by task; a task that fails does not lose the others.
"""

from __future__ import annotations

import functools
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scirep_core.bench import score_cache, scoring, systems
from scirep_core.bench.given import FILES, Coverage, Given, coverage, given, of_model, strangers
from scirep_core.bench.score_cache import Question
from scirep_core.bench.suites import SUITES, Unit, averages, suite, units
from scirep_core.data import load_task, names
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.sources import PAPERS, check_size
from scirep_core.data.task import Task
from scirep_core.encoders.ensemble import Ensemble
from scirep_core.kit.errors import ConfigError, NumericError, ScirepError, nearest
from scirep_core.results import Result

if TYPE_CHECKING:
    from scirep_core.bench.systems import System
    from scirep_core.encoders import Encoder

__all__ = ["SUITES", "Coverage", "Given", "Outcome", "Question", "Unit", "as_system", "attempt", "averages", "coverage",
           "given", "load_tasks", "of_model", "score", "strangers", "suite", "units"]  # fmt: skip

Scored = Any
"""What `score` takes: a name, a file, vectors, or a model (see `as_system`)."""
Progress = Callable[[str, int, int], None]
"""Called with (what is being done, how much of it is done, of how much): first texts encoded, then tasks scored."""


# ---------------------------------------------------------------------------------------------------------- scoring


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


def load_tasks(
    tasks: Sequence[str | Task] | str, source: str = "embedded", papers: int = PAPERS, data_seed: int = 0
) -> tuple[list[Task], dict[str, Exception]]:
    """Return the tasks that can be read, and of the others task -> why not.

    Args:
        tasks: a suite, a task, a task folder, or several of the latter two.
        source, papers, data_seed: of `load_task`.

    Raises ConfigError for a name that is neither, or a literature too small to hold every task.
    """
    if source == "embedded":
        check_size(papers)
    found: list[Task] = []
    failed: dict[str, Exception] = {}
    for name in SUITES.get(tasks, (tasks,)) if isinstance(tasks, str) else tasks:
        if isinstance(name, Task):
            found.append(name)
            continue
        known(name)
        try:
            task = load_task(name, source, papers, data_seed)
            if isinstance(task, FacetCollection):
                raise ConfigError("faceted queries are scored by `scirep_core.evaluate` and `scirep score csfcube`")
            found.append(task)
        except ScirepError as error:
            failed[name] = error
    return found, failed


def known(name: str) -> None:
    """Raise ConfigError unless a name is a suite, a task or an existing folder."""
    path = Path(name).expanduser()
    if name in SUITES or name in names() or name.startswith("sample/") or path.is_dir():
        return
    if path.exists():
        raise ConfigError(f"{name}: this is a file. Give the folder that holds a task.json")
    if name.endswith(("/", os.sep)) or name.startswith((".", "/", "~")):
        raise ConfigError(f"{name}: no such folder. Give a task folder, a task or a suite by name")
    raise ConfigError(
        f"unknown suite or task {name!r}, and no folder of that name; {nearest(name, [*SUITES, *names()])}"
    )


def attempt(
    tasks: Sequence[str | Task] | str,
    system: Scored,
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
        system: a name `load_system` knows, a file or a folder of vectors, a mapping id -> vector or (ids, array), an
            encoder, any object with `.encode(list of str)`, any function from texts to an array, or a system.
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
            keys[at] = score_cache.key_of(
                task, _fingerprint(scored, task, question.protocol), _recipe(scored), question
            )
            kept = score_cache.read(keys[at]) if keep and not again and task.data_hash else None
        except Exception as error:  # whatever it is, the other tasks stand
            _failed(failed, task, error)
            continue
        if kept is None:
            waiting.append(at)
        else:
            rows[at] = kept
    computed, passed = [], 0  # passed: tasks in a row that another process is computing; after a whole round, wait
    _prepare(scored, [suited[at] for at in waiting], question.protocol, progress)
    while waiting:
        task = suited[at := waiting.popleft()]
        if progress:
            progress(task.name, len(suited) - len(waiting) - 1, len(suited))
        try:
            made = _one(scored, task, keys[at], question, keep, again, passed > len(waiting), progress)
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
    size, reads = {"papers": papers, "data_seed": data_seed}, _reads(scored)
    return Outcome(
        [_placed(row, scored.name, question, task, size, reads) for at, task in enumerate(suited) for row in rows.get(at, ())],
        failed, tuple(task.name for task in loaded if not scored.suits(task)), tuple(computed),
    )  # fmt: skip


def _failed(failed: dict[str, Exception], task: Task, error: Exception) -> None:
    """Note that a task failed, beside others of its name."""
    label, number = task.name, 1
    while label in failed:
        number += 1
        label = f"{task.name} ({number})"
    failed[label] = error


def score(
    tasks: Sequence[str | Task] | str,
    system: Scored,
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
    said = "; ".join(f"{name}: {_why(error)}" for name, error in outcome.failed.items())
    scored = len({row.task for row in outcome.rows})
    others = ", the others are scored" if scored else ""
    return f"{len(outcome.failed)} of {scored + len(outcome.failed)} tasks failed{others}: {said}"


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, ScirepError) else f"{type(error).__name__}: {error}"


def as_system(system: Scored) -> System | Given:
    """Return a system of whatever names, holds or is one; a string that ends like a file of vectors is one.

    Raises ConfigError for an unknown name, and for what is neither name, vectors nor model.
    """
    if isinstance(system, str):
        return given(Path(system)) if Path(system).suffix in FILES else systems.load_system(system)
    if isinstance(system, Path | Mapping | tuple | list):
        return given(system)
    if hasattr(system, "suits"):
        known: System | Given = system
        return known
    if systems.is_encoder(system):
        return systems.System(system.name, system.fingerprint, system)
    return of_model(system)


def _fingerprint(system: System | Given, task: Task, protocol: str) -> str:
    if isinstance(system, Given):
        return scoring.content_hash(system.on(task, protocol))
    return system.fingerprint


def _recipe(system: System | Given) -> list[str]:
    """Return how the system's texts are made, which its fingerprint need not know; of an ensemble, member by member."""
    encoder = None if isinstance(system, Given) else system.encoder
    return [part for one in _members(encoder) for part in one.recipe] if encoder is not None else []


def _reads(system: System | Given) -> dict[str, Any]:
    """Return prompts and separator for a row: of an ensemble, those of each member; of given vectors nobody knows."""
    if isinstance(system, Given):
        return {"reads": system.recipe.reads} if system.recipe else {}
    found = {one.name: one.recipe.reads for one in _members(system.encoder)} if system.encoder is not None else {}
    return {"reads": next(iter(found.values())) if len(found) == 1 else found} if found else {}


def _members(encoder: Encoder) -> list[Encoder]:
    if not isinstance(encoder, Ensemble):
        return [encoder]
    return [one for member in encoder.members for one in _members(member)]


def _prepare(system: System | Given, tasks: list[Task], protocol: str, progress: Progress | None) -> None:
    """Encode all texts of the tasks at once; what cannot be encoded is left to the turn of the task that holds it."""
    with suppress(Exception):
        if tasks:
            system.prepare(tasks, protocol, _texts(progress))


def _one(
    system: System | Given,
    task: Task,
    key: score_cache.Key,
    question: Question,
    keep: bool,
    again: bool,
    wait: bool,
    progress: Progress | None,
) -> tuple[list[Result], bool] | None:
    """Return a task's rows and whether they were computed now; None where another process is at it."""
    if not (keep and task.data_hash):
        return _evaluate(system, task, key, question, progress), True
    with score_cache.held(key, wait) as mine:
        if not mine:
            return None
        there = None if again else score_cache.read(key)  # its holder may just have finished
        if there is not None:
            return there, False
        rows = _evaluate(system, task, key, question, progress)
        score_cache.write(key, rows)
        return rows, True


def _evaluate(
    system: System | Given, task: Task, key: score_cache.Key, question: Question, progress: Progress | None
) -> list[Result]:
    begun = time.perf_counter()
    vectors: Any = system.on(task, question.protocol, progress=_texts(progress))
    rows = scoring.evaluate(task, vectors, name=system.name, **question.arguments(task))
    for row in rows:
        if not np.isfinite(row.value):
            raise NumericError(f"{task.name}, {row.split}, {row.metric}: the value is not a number")
    spent = time.perf_counter() - begun
    return [replace(row, fingerprint=key["system"][0], seconds=row.seconds or spent) for row in rows]


def _texts(progress: Progress | None) -> Callable[[int, int], None] | None:
    return functools.partial(progress, "texts") if progress else None


def _placed(
    row: Result, name: str, question: Question, task: Task, size: Mapping[str, Any], reads: Mapping[str, Any]
) -> Result:
    """Return a row under the system's name: the literature's size where it is of one, a probe's back end, what was read."""
    where = size if task.source == "embedded" else {}
    back_end = {"intercept": False} if not question.intercept and task.type in scoring.PROBED else {}
    more = {**row.parameters, **where, **back_end}
    return replace(row, encoder=name, parameters=more, provenance={**row.provenance, **reads})
