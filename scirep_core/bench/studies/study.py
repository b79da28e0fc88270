"""A whole table over seeds: train every variant, score it on every task, keep the rows (`bench/studies/tables.py` has the tables).

A study is a list of cells (base, width, variant, code, seed). It can be stopped at any time: trained models are folders
(`training/models.py`), scores are kept (`bench/score_cache.py`), and the next run goes on with what is missing. Rows go to
`results_file(name, source)`, those of invented papers apart from those of real ones, each with the variant, the seed of its
training, its base, its code and its model's key in `parameters`. `seed` of a row is the scoring's, so that rows of two models
resample the same test rows. Means over seeds, spread and tests are in bench/studies/outcome.py.
"""

from __future__ import annotations

import functools
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from scirep_core.bench import score_cache, scoring, suites
from scirep_core.bench.scoring import Progress
from scirep_core.bench.speed.efficiency import measure
from scirep_core.bench.studies.outcome import over_seeds, read_trials, trainings, write_curves, write_rows, write_trials
from scirep_core.bench.studies.tables import OWN, Cell, Study, cells, on_source, study
from scirep_core.bench.suites import AVERAGED, AVERAGES, SPECS, averages
from scirep_core.bench.systems import System
from scirep_core.data.task import Task, capped
from scirep_core.encoders import load_encoder
from scirep_core.encoders.ensemble import Ensemble, members
from scirep_core.encoders.models.model_store import describe, is_saved
from scirep_core.encoders.settings import pick_device
from scirep_core.encoders.trunk.number_types import available
from scirep_core.kit.errors import ConfigError, ScirepError
from scirep_core.kit.records import grouped
from scirep_core.kit.store import home, stable_hash
from scirep_core.results import Result, checkout, provenance, read_results
from scirep_core.training.data.real import TRAINED, held_out
from scirep_core.training.models import Made, Say, Tried, Watch, base, documents_of, obtain, silent
from scirep_core.training.variants import BUDGETS, DATA_SOURCES, Budget, asked, variant

Stage = Literal["all", "train", "score"]


# ------------------------------------------------------------------------------------------------------------- running


def run(
    name: str,
    given: Budget,
    seeds: Sequence[int] = range(5),
    *,
    changes: dict[str, Any] | None = None,
    only: Stage = "all",
    protocol: str = "paper",
    workers: int = 1,
    keep_vectors: bool = False,
    again: bool = False,
    out: Path | None = None,
    say: Say = silent,
    watch: Watch | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Train and score what is missing of a study; return its rows and write them to a file, after every unit: a variant and seed.

    Args:
        changes: fields of the study to change: variants, bases, tasks, widths, codes, references.
        say: told in a line each what is made; with several workers a function of a module, which they call too.
        only: `train` stops before scoring (on a machine without the evaluators), with no rows; `score` trains nothing, and
            models that are not there are cells that failed.
        workers: processes, each of which takes a unit at a time.
        keep_vectors: otherwise those of trained models are removed once their seed is scored.
        again: make what the study's own file has of this table anew; otherwise a unit that is recorded there is not.
        out: file of the rows; `results_file(name, given.source)` unless given, which keeps what it holds of other lines and
            seeds. What each training saw of the dev parts goes to `curves_file` of it.

    Raises ConfigError for an unknown study, variant, base or task, or where the recorded rows are of another budget;
    ScirepError at the end where cells failed, the rows of the others being written.
    """
    changes = dict(changes or {})
    of = replace(on_source(study(name), given.source, changes.pop("bases", ())), **changes)
    for one in of.variants:
        variant(one)
    if not seeds or workers < 1:
        raise ConfigError(f"seeds = {list(seeds)}, workers = {workers}: give one or more of each")
    path = out or results_file(name, given.source)
    if name == "efficiency":
        timed = [row for on in of.bases for row in measure(given, on, of.variants, say=say)]
        timed = [replace(row, parameters={**row.parameters, **asked(given)}) for row in timed]
        write_rows(path, timed)
        return timed
    rates = path.with_name("rates.jsonl")
    tried = {on: read_trials(rates, asked(given)).get(on, {}) for on in of.bases}
    there = _recorded(path, of, given) if out is None and only != "train" and path.is_file() else []
    done = set() if again or not there else _done(there, protocol, set(_data(of, given)))
    jobs = [
        job._replace(tried=tried)
        for seed in seeds
        for job in _units(name, of, seed, given, only, protocol)
        if not done.issuperset(cell.label(of) for cell in job.cells)
    ]
    if only != "train" and not done.issuperset(of.references):
        jobs.append(_Job((-1, 0), name, of, (), given, only, protocol))
    data = f"{given.papers:,} papers" if given.source == "embedded" else DATA_SOURCES[given.source].text
    planned = sum(len(job.cells) or len(of.references) for job in jobs)
    lines = ", ".join(of.variants or of.references)
    say(f"study {name}: {planned} lines of {lines}; {data}; what is there already is kept")
    for on in of.bases if workers > 1 else ():  # once, before the others wait for it
        for width in of.widths or (given.width,):
            base(on, replace(given, width=width), say)
    rows: dict[tuple[int, int], list[Result]] = {}
    curves: list[Result] = []
    failed: list[str] = []
    made, used, left = there, set[str](), Counter(job.place[0] for job in jobs)
    began = time.monotonic()
    units = _parallel(jobs, workers, say) if workers > 1 else (_unit(job, say, watch, progress) for job in jobs)
    for spent, unit in enumerate(units, start=1):
        rows[unit.place] = unit.rows
        curves += unit.curves
        failed += unit.failed
        used |= unit.used
        for on, trials in unit.tried.items():
            tried[on] |= trials
        write_trials(rates, tried, given.source, asked(given))
        own = [row for place in sorted(rows) for row in rows[place]]
        anew = {_number(row) for row in own}
        made = [*(row for row in there if _number(row) not in anew), *own]
        made.sort(key=lambda row: row.parameters.get("training_seed", -1))
        if only != "train":
            write_rows(path, made)
        if curves:
            write_curves(curves_file(path), curves)
        left[unit.place[0]] -= 1
        if not left[unit.place[0]]:
            for fingerprint in () if keep_vectors else used:
                shutil.rmtree(home() / "vectors" / fingerprint, ignore_errors=True)
        if len(jobs) > 1:
            hours = (time.monotonic() - began) / spent * (len(jobs) - spent) / 3600
            say(f"study {name}: {spent} of {len(jobs)} units are done; the others take about {hours:.1f} hours")
    if failed:
        raise ScirepError(f"{len(failed)} cells of study {name} failed, the others are kept: {'; '.join(failed[:5])}")
    return [*made, *over_seeds(made)]


def _recorded(path: Path, of: Study, given: Budget) -> list[Result]:
    """Return the trainings a file holds. Raises ConfigError where they are of another budget, of other tasks or of other data:
    one table is of one size, and its lines are compared on the same papers."""
    there, own, today = trainings(read_results(path)), asked(given), _data(of, given)
    for row in there:
        data = row.parameters.get("data") if row.metric == "average" else row.data_hash
        wrong = ""
        if own and row.parameters.get("budget") and own != {key: row.parameters[key] for key in own}:
            wrong = f"its rows are of another budget: {row.parameters['budget']}, {row.parameters['settings'] or 'as it is'}"
        elif row.task not in today:
            wrong = f"has rows of {row.task}, which is not asked for, so that lines would differ"
        elif data and data != today[row.task]:
            wrong = f"its rows of {row.task} are of the data {data}, today's are {today[row.task]}"
        if wrong:
            raise ConfigError(f"{path}: {wrong}. Give --out FILE, or delete it")
    return there


def _data(of: Study, given: Budget) -> dict[str, str]:
    """Return the hash of today's data by the task that rows are of; of an average that of all its tasks."""
    hashes = {task.name: task.data_hash for task in _tasks(of, given)}
    averaged = _averaged(of)
    return {AVERAGES[averaged[0]]: stable_hash(hashes)} if averaged else hashes


def _averaged(of: Study) -> tuple[str, tuple[str, ...]] | None:
    """Return the version and the splits of the average that a study's tasks form, None where they form none."""
    return AVERAGED.get(of.tasks) if isinstance(of.tasks, str) else None


def _of_data(job: _Job) -> dict[str, str]:
    """Return what an average says of its data beside its own hash, which is of rows and known once they are there."""
    data = _data(job.study, job.given)
    return {"data": next(iter(data.values()))} if _averaged(job.study) else {}


def _done(there: Sequence[Result], protocol: str, tasks: set[str]) -> set[str]:
    scored = grouped((row for row in there if row.protocol == protocol), lambda row: row.encoder)
    return {system for system, rows in scored.items() if {row.task for row in rows} >= tasks}


def _number(row: Result) -> tuple[Any, ...]:
    return row.encoder, row.protocol, row.task, row.split, row.metric, row.seed


class _Job(NamedTuple):
    """A unit of work: a variant on a base, one seed, its place among the seed's; or, without cells, what is not trained."""

    place: tuple[int, int]
    name: str
    study: Study
    cells: tuple[Cell, ...]
    given: Budget
    only: Stage
    protocol: str
    tried: Mapping[str, Tried] = {}


class _Done(NamedTuple):
    """What a unit came to: rows, curves, cells that failed, fingerprints whose vectors may go, trials of learning rates."""

    place: tuple[int, int]
    rows: list[Result]
    curves: list[Result]
    failed: list[str]
    used: set[str]
    tried: Mapping[str, Tried] = {}


def _units(name: str, of: Study, seed: int, given: Budget, only: Stage, protocol: str) -> list[_Job]:
    found = grouped(cells(of, seed, given), lambda cell: (cell.base, cell.width, cell.variant))
    return [_Job((seed, i), name, of, tuple(some), given, only, protocol) for i, some in enumerate(found.values())]


def _unit(job: _Job, say: Say, watch: Watch | None = None, progress: Progress | None = None) -> _Done:
    """Train and score a unit's cells; a cell that fails does not lose the others."""
    done = _Done(job.place, [], [], [], set(), job.tried)
    tasks = _tasks(job.study, job.given) if job.only != "train" else []
    if not job.cells:
        done.rows.extend(_references(job, tasks, progress))
    for cell in job.cells:
        label, known = cell.label(job.study), variant(cell.variant)
        try:
            given = replace(job.given, width=cell.width)
            tried, make = job.tried.get(cell.base), job.only != "score"
            made = obtain(cell.variant, cell.seed, given, cell.base, say, watch, make, tried)
            if cell == job.cells[0]:
                for member, one in zip(known.members or ("",), made, strict=True):
                    done.curves.extend(_curves(job, cell, one, member))
            if job.only == "train":
                continue
            dtype = available(given.dtype, pick_device(None))
            say(f"{job.name}: scoring {label}, vectors in {dtype}")
            system = as_system(label, made, cell.code, known.how, dtype)
            if system.encoder and (known.kind or known.members):
                done.used.update(one.fingerprint for one in members(system.encoder))
            done.rows.extend(_score(job, cell, system, made, dtype, tasks, progress))
        except ScirepError as error:
            done.failed.append(f"{label}: {error}")
    return done


def _parallel(jobs: Sequence[_Job], workers: int, say: Say) -> Iterator[_Done]:
    """Yield units as processes finish them; each has its share of the cores."""
    threads = max(1, (os.cpu_count() or 1) // workers)
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (threads,)) as pool:
        for future in as_completed([pool.submit(_unit, job, say) for job in jobs]):
            yield future.result()


def _tasks(of: Study, given: Budget) -> list[Task]:
    loaded = _loaded(of.tasks, given.papers, given.data_seed, DATA_SOURCES[given.source].scored, given.probed)
    whole = of.split is None or not _averaged(of)
    return [task for task in loaded if whole or not SPECS[task.name].few_shot]


@functools.lru_cache(maxsize=1)
def _loaded(names: str | tuple[str, ...], papers: int, data_seed: int, source: str, probed: int) -> list[Task]:
    """Return the tasks that are scored; of real samples that are trained on, what was held out."""
    tasks, failed = suites.load_tasks(names, source, papers, data_seed)
    for error in failed.values():
        raise error
    tasks = [held_out(task.name, task) if task.name in TRAINED else task for task in tasks]
    return [capped(task, probed) for task in tasks] if probed else tasks


def as_system(label: str, made: Sequence[Made], code: str = OWN, how: str = "mean", dtype: str = "float32") -> System:
    """Return models as what is scored: several joined, or one code's vectors for every format."""
    suffix = "" if code == OWN else f"#{code}"
    members = tuple(load_encoder(f"{one.encoder}{suffix}", dtype=dtype) for one in made)
    encoder = members[0] if len(members) == 1 else Ensemble(label, members, how)
    return System(label, encoder.fingerprint, encoder)


def _score(
    job: _Job, cell: Cell, system: System, made: Sequence[Made], dtype: str, tasks: list[Task], progress: Progress | None
) -> list[Result]:  # fmt: skip
    """Return the rows of one cell, and its averages where its tasks form them. Raises ScirepError naming tasks that failed."""
    given = job.given
    outcome = scoring.attempt(
        tasks, system, papers=given.papers, data_seed=given.data_seed, progress=progress,
        question=score_cache.Question(job.protocol, split=job.study.split, similarity=job.study.similarity),
    )  # fmt: skip
    if outcome.failed:
        raise ScirepError(scoring.failure(outcome)) from next(iter(outcome.failed.values()))
    own = {"width": cell.width, "layers": given.layers} if cell.base.startswith("embedded") else {}
    parameters = {
        "variant": cell.variant, "training_seed": cell.seed, "base": cell.base, "code": cell.code,
        "model": "+".join(one.key for one in made), "dtype": dtype, **own, **_length(made),
        **_of_data(job), **asked(given),
    }  # fmt: skip
    return _placed(job.name, job.study, outcome.rows, parameters)


def _curves(job: _Job, cell: Cell, made: Made, member: str) -> list[Result]:
    """Return what a training saw at each look, by task, under the line's name; of several models with the member's behind it."""
    how = describe(made.folder).made if is_saved(made.folder) else {}
    if not how.get("training", {}).get("curve"):
        return []
    parameters = {"variant": cell.variant, "training_seed": cell.seed, "base": cell.base, "model": made.key,
                  "learning_rate": how["train"]["learning_rate"], "best_step": how["training"]["best"]["step"]}  # fmt: skip
    label, source = cell.label(job.study) + (f", {member}" if member else ""), provenance()

    def row(task: str, split: str, metric: str, value: float, look: Mapping[str, Any]) -> Result:
        where = parameters | {"step": look["step"], "documents": look["documents"]}
        n = how["dev"][task][1] if split == "dev" else 0
        return Result(task, f"{split}/{look['step']}", metric, job.protocol, value, n, encoder=label, source=job.given.source,
                      chapter=f"study/{job.name}", parameters=where, provenance=source)  # fmt: skip

    return [
        row(task, split, metric or how["dev"][task][0], value, look)
        for look in how["training"]["curve"]
        for split, metric, values in (
            ("train", "loss", look["losses"]), ("dev", "loss", look["validation"]), ("dev", "", look["measures"]),
        )
        for task, value in values.items()
    ]  # fmt: skip


def curves_file(path: Path) -> Path:
    """Return where the learning curves of a study's file are: `main.jsonl.gz` has `main.curves.jsonl.gz`."""
    name, dot, rest = path.name.partition(".")
    return path.with_name(f"{name}.curves{dot}{rest}")


def _length(made: Sequence[Made]) -> dict[str, Any]:
    """Return how long a cell's models were trained, with what they go on from, and how they pool: from their folders."""
    found = [describe(one.folder) for one in made if is_saved(one.folder)]
    trained = [one.made["training"] for one in found if "training" in one.made]
    if not trained:
        return {}
    return {"steps": sum(one["steps"] for one in trained), "training_seconds": sum(one["seconds"] for one in trained),
            "documents": sum(map(documents_of, made)),
            "precision": "+".join(dict.fromkeys(one.made["train"]["precision"] for one in found if "training" in one.made)),
            "pooling": "+".join(dict.fromkeys(one.pooling for one in found))}  # fmt: skip


def _references(job: _Job, tasks: list[Task], progress: Progress | None) -> list[Result]:
    size = {"papers": job.given.papers, "data_seed": job.given.data_seed}
    rows: list[Result] = []
    for system in job.study.references:
        scored = scoring.score(tasks, system, protocol=job.protocol, progress=progress, **size)  # type: ignore[arg-type]
        rows += _placed(job.name, job.study, scored, {"variant": system, **_of_data(job), **asked(job.given)})
    return rows


def _placed(name: str, of: Study, rows: Sequence[Result], parameters: dict[str, Any]) -> list[Result]:
    """Return rows as the study keeps them: small, since they are committed.

    Of a suite its averages, the widest of which holds the value of every unit; of single tasks their rows, without the
    values of single queries.
    """
    means: list[Result] = []
    if averaged := _averaged(of):
        version, splits = averaged
        small = all(row.source == "embedded" for row in rows)  # lacks few-shot settings; the note says which
        means = averages(rows, version, small, splits)
    most = max((row.n for row in means), default=0)
    results = [row if row.n == most and means else replace(row, by_query={}) for row in means or rows]
    return [
        replace(row, chapter=f"study/{name}", parameters={**row.parameters, **parameters}, replicates=None,
                provenance=row.provenance or provenance())
        for row in results
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- rows


def results_file(name: str, source: str = "") -> Path:
    """Return where a study's rows are recorded: packed, since five trainings of every line are megabytes of rows.

    Args:
        source: of the budget; unless given, that of the study's own.

    Raises ConfigError without a checkout.
    """
    folder = DATA_SOURCES[source or BUDGETS[study(name).budget].source].recorded
    return checkout("A recorded study") / "results" / folder / f"{name}.jsonl.gz"
