"""Chapter `scirepeval/your_encoder`: a reader's own system on the tasks of SciRepEval (sections 3 and 6).

A system is an encoder by name, a file of vectors, or a callable from texts to an array. It is scored beside a floor
(random vectors), TF-IDF over a task's own texts, all-MiniLM-L6-v2 and, where the truth is known, a ceiling. For every two
systems the chapter records

    d = score(first) - score(second)

with a 95 % interval and p from bootstrap values that both share (results/comparison.py). What the page says about them, and the
explorer, are in your_encoder_tables.py; what can go wrong with given vectors is in your_encoder_pitfalls.py.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from scirep_core.bench import scoring
from scirep_core.bench.given import Given, Vectorise, given, of_model
from scirep_core.bench.leaderboard import main_metric
from scirep_core.bench.score_cache import Question
from scirep_core.bench.suites import SUITES, load_tasks
from scirep_core.bench.systems import System, load_system
from scirep_core.data import TASKS
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.task import Task
from scirep_core.data.text import Recipe
from scirep_core.exhibits.counting import names_in
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import PROTOCOLS, Format
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result, provenance
from scirep_core.results.comparison import paired_bootstrap
from scirep_core.results.differences import difference_of, versus

CHAPTER = "scirepeval/your_encoder"
FEW = ("scirepeval/drsm", "scirepeval/peer_review_score", "scirepeval/relish", "scirepeval/search")
"""One task of each format, none of them with its own training set in SciRepEval but Search."""
REFERENCES = ("random", "tfidf", "minilm")
TITLES = {
    "random": "random",
    "tfidf": "TF-IDF",
    "bm25": "BM25",
    "minilm": "MiniLM",
    "oracle": "oracle",
    "letters": "letters",
}
P = "p of the "

LETTERS = Recipe(" ")
"""How the page's own function reads a paper, in its three lines and here."""


@dataclass(frozen=True)
class Bench:
    """What a run of the chapter scores: tasks that could be read, why others could not, and systems by name."""

    tasks: tuple[Task, ...]
    absent: Mapping[str, str]
    systems: Mapping[str, System | Given]
    """By name: references first, then the reader's, then the oracle."""

    def pick(self, *formats: Format) -> Task:
        """Return the first task of one of the formats that a callable can be tried on; the first of all without one."""
        usable = [task for task in self.tasks if task.type in TRIED] or list(self.tasks)
        return next((task for form in formats for task in usable if task.format == form), usable[0])


TRIED = ("classification", "regression", "proximity", "adhoc_search")


def prepare(
    chapter: Chapter, tasks: str, encoder: str, vectors: str = "", callables: Mapping[str, Vectorise] | None = None
) -> Bench:
    """Read the tasks and the systems that the parameters name.

    Args:
        tasks: `few`, a suite, or names of tasks and task folders separated by commas.
        encoder: whatever `load_system` knows.
        vectors: a file of vectors, or a folder of them; empty for none.
        callables: name -> function from texts to an array.

    Raises ConfigError for unknown names, or where no task can be read.
    """
    data = chapter.parameters["data"]
    loaded, absent = load_tasks(names_of(tasks, data), data, chapter.parameters["papers"])
    if not loaded:
        raise ConfigError(f"tasks {tasks!r}: none can be read. {next(iter(absent.values()), '')}")
    systems: dict[str, System | Given] = {}
    for name in dict.fromkeys((*REFERENCES, encoder)):
        system = load_system(name)
        systems[system.name] = system
    if vectors:
        own = given(Path(vectors))
        if own.name in (*systems, *(callables or ()), "oracle"):
            raise ConfigError(f"vectors {vectors!r}: {own.name!r} is the name of a system here. Rename the file")
        systems[own.name] = own
    for name, function in (callables or {}).items():
        systems[name] = of_model(function, name, LETTERS)
    if any(task.oracle is not None for task in loaded):
        systems["oracle"] = load_system("oracle")
    return Bench(tuple(loaded), {name: str(why) for name, why in absent.items()}, systems)


def names_of(tasks: str, data: str) -> tuple[str, ...]:
    """Return the names of the tasks meant by a parameter: on real data, `few` is the small real samples."""
    if tasks == "few":
        return SUITES["samples"] if data == "real" else FEW
    return tuple(task for name in names_in(tasks) for task in SUITES.get(name, (name,)))


def measure(chapter: Chapter, bench: Bench) -> list[Result]:
    """Score every system on every task it suits, under both protocols; return the rows with their bootstrap values.

    Rows are kept from run to run (bench/score_cache.py). A task that a system cannot be scored on, for want of vectors say,
    is told on the page and leaves no row. Nothing is recorded yet: see `record`.
    """
    rows: list[Result] = []
    wrong: dict[str, list[str]] = {}
    for protocol in PROTOCOLS:
        for name, system in bench.systems.items():
            told = progress(f"{name}, {protocol}", "texts or tasks")
            outcome = scoring.attempt(
                [task for task in bench.tasks if name != "oracle" or task.oracle is not None], system,
                source=chapter.parameters["data"], papers=chapter.parameters["papers"],
                question=Question(protocol, seed=chapter.parameters["seed"]),
                progress=lambda what, done, total, told=told: told(done, total),  # type: ignore[misc]
            )  # fmt: skip
            rows += outcome.rows
            for task, why in outcome.failed.items():
                wrong.setdefault(str(why), []).append(f"{name} on {task}")
    for reason, where in wrong.items():
        chapter.say(f"{html.escape(', '.join(dict.fromkeys(where)))}: {html.escape(reason)}.")
    return rows


def record(chapter: Chapter, rows: Sequence[Result]) -> list[Result]:
    """Record the scores and the paired differences of their main metrics; return all of them as the page shows them.

    Values of single queries and bootstrap values stay behind: they would be most of the file.
    """
    return chapter.record(replace(row, by_query={}, replicates=None) for row in (*rows, *differences(rows)))


def differences(rows: Sequence[Result]) -> Iterator[Result]:
    """Yield difference and p of every two systems on every main score; none where a row has no bootstrap values.

    Draws that never vary (one block drawn again and again) yield the difference alone: without interval and without p.
    """
    for place, found in by_place(main_rows(rows)).items():
        by_system = {row.encoder: row for row in found if row.encoder != "oracle"}
        for second, first in combinations(
            by_system, 2
        ):  # references come first: what is newer is compared to what is older
            a, b = by_system[first], by_system[second]
            if a.replicates is None or b.replicates is None:
                continue
            gap = paired_bootstrap(a, b)
            task, split, metric, protocol = place
            shared: dict[str, Any] = {
                "task": task, "split": split, "protocol": protocol, "n": a.n, "encoder": versus(first, second), "against": second,
                "source": a.source, "data_hash": a.data_hash, "seed": a.seed, "provenance": provenance(),
                "note": f"paired bootstrap, {len(a.replicates)} draws that both systems share",
            }  # fmt: skip
            points = Result(metric=difference_of(metric), value=gap.value, low=gap.low, high=gap.high, **shared)
            if varies(points):
                yield points
                yield Result(metric=difference_of(metric, P), value=gap.p, **shared)
            else:
                yield replace(points, low=None, high=None)


# ---- finding one's way in rows ---------------------------------------------------------------------------------------

Place = tuple[str, str, str, str]
"""(task, split, metric, protocol): what scores of two systems must share to be compared."""


def is_score(row: Result) -> bool:
    """Return whether a row is a score, not a difference or its p."""
    return not row.against


def main_rows(rows: Sequence[Result]) -> list[Result]:
    """Return the scores in the main metric of each task, on its test split, or its first where it has none."""
    kept = []
    of_task: dict[str, list[Result]] = {}
    for row in rows:
        if is_score(row):
            of_task.setdefault(row.task, []).append(row)
    for task, found in of_task.items():
        metric = main_metric(task) or found[0].metric
        splits = list(dict.fromkeys(row.split for row in found))
        split = "test" if "test" in splits else splits[0]
        kept += [row for row in found if (row.metric, row.split) == (metric, split)]
    return kept


def by_place(rows: Sequence[Result]) -> dict[Place, list[Result]]:
    """Return rows by what they must share to be compared."""
    found: dict[Place, list[Result]] = {}
    for row in rows:
        found.setdefault((row.task, row.split, row.metric, row.protocol), []).append(row)
    return found


def varies(row: Result) -> bool:
    """Return whether a row has an interval of some width: one block, drawn again and again, gives none."""
    return row.low is not None and row.high is not None and row.high > row.low


def gap_of(rows: Sequence[Result], place: Place, first: str, second: str) -> tuple[Result, Result | None] | None:
    """Return difference and p of two systems as they were recorded; None if they were not, in this direction.

    Where the draws do not vary there is no p, whatever was recorded.
    """
    task, split, metric, protocol = place
    found = {
        row.metric: row
        for row in rows
        if (row.task, row.split, row.protocol, row.encoder) == (task, split, protocol, versus(first, second))
    }
    points, p = found.get(difference_of(metric)), found.get(difference_of(metric, P))
    if points is None:
        return None
    return (points, p) if varies(points) else (replace(points, low=None, high=None), None)


def title(task: str) -> str:
    """Return what a task is called on the page."""
    like = SAMPLES[task].like if task in SAMPLES else task
    return TASKS[like].title if like in TASKS else task


def named(system: str) -> str:
    """Return what a system is called on the page."""
    return TITLES.get(system, system)
