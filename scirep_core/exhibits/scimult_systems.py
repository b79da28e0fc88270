"""What the chapters on SciMult's tasks share: systems by name on whole pools and label spaces, words alone among them.

    vectors   encoders are compared by cosine, as the paper's baselines are (appendix B); floor and ceiling as the task says
    words     TF-IDF and BM25 score every candidate of the pool (`lexical`)

Differences are paired: both systems are scored on the same papers or queries, and the bootstrap draws the same of them.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, cast

from scirep_core.bench import scoring
from scirep_core.bench.pairs import difference
from scirep_core.bench.systems import load_system
from scirep_core.data.task import Task, Triples
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.exhibits import cell, sign
from scirep_core.exhibits.counting import names_in, title
from scirep_core.kit.store import stable_hash
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result
from scirep_core.results.differences import difference_of

__all__ = ["BOUNDS", "WORDS", "bare", "by_cell", "called", "changed", "differences",
           "names_of", "points", "renamed", "say_differences", "score", "sign", "systems_table"]  # fmt: skip

BOUNDS = {"random": "floor: random vectors", "oracle": "ceiling: oracle"}
NAMES = {"tfidf": "TF-IDF", "bm25": "BM25", "minilm": "MiniLM", "minilm@cls": "MiniLM, [CLS]", **BOUNDS}
WORDS = ("tfidf", "bm25")


def names_of(chapter: Chapter) -> list[str]:
    """Return the systems that the chapter's parameter `encoders` names."""
    return names_in(chapter.parameters["encoders"])


def called(system: str) -> str:
    """Return how a system is called on the page."""
    return NAMES.get(system, html.escape(system))


# ---- scoring ---------------------------------------------------------------------------------------------------------


def score(
    task: Task, names: Sequence[str], metrics: Sequence[str] | None = None, similarity: str = "cosine", seed: int = 0,
    bounds: bool = True,
) -> list[Result]:  # fmt: skip
    """Return the rows of systems on a task, floor and ceiling among them where there are any, with bootstrap values.

    Args:
        names: as `load_system` takes them; TF-IDF and BM25 rank whole pools and label spaces too.
        metrics: the task's own unless given.
        similarity: of encoders' vectors.
    """
    rows: list[Result] = []
    split = None if isinstance(task.payload, Triples) else "test"
    ends = [name for name in BOUNDS if bounds and (name != "oracle" or task.oracle is not None)]
    for name in [*names, *ends]:
        system = load_system(name)
        given = system.on(task, progress=progress(f"{task.name}: {name}"))
        how = None if name in BOUNDS or isinstance(given, PairScorer) else similarity
        rows += scoring.evaluate(task, given, metrics=metrics, similarity=how, split=split, name=name, seed=seed)
    return rows


# ---- differences -----------------------------------------------------------------------------------------------------


def differences(rows: Sequence[Result], pairs: Sequence[tuple[str, str]] = ()) -> list[Result]:
    """Return the paired differences of systems on every task and metric.

    Args:
        pairs: (earlier, later), for the later minus the earlier; every two systems unless given. Floor and ceiling take no part.
    """
    found: dict[tuple[str, str, str], dict[str, Result]] = {}
    for row in rows:
        if row.encoder not in BOUNDS and not row.against:
            found.setdefault((row.task, row.split, row.metric), {})[row.encoder] = row
    made: list[Result] = []
    for systems in found.values():
        for earlier, later in pairs or combinations(systems, 2):
            if earlier in systems and later in systems:
                # how vectors are compared differs by right between words and vectors: it belongs to the system
                first, second = (replace(systems[name], similarity="") for name in (later, earlier))
                made += difference(first, second)
    return made


def changed(first: Iterable[Result], second: Iterable[Result], what: str, against: str) -> Iterator[Result]:
    """Yield first minus second, row by row, of the same systems scored in two ways on the same papers.

    Args:
        what: how the difference is named: `names and definitions, names alone`.
        against: how the second way is called.
    """
    other = {(row.task, row.encoder, row.metric): row for row in second}
    for row in first:
        match = other.get((row.task, row.encoder, row.metric))
        if match is not None and row.encoder not in BOUNDS:
            alike = replace(match, data_hash=row.data_hash, similarity="")
            yield from difference(replace(row, similarity=""), alike, f"{row.metric}, {what}", row.encoder, against)


def bare(rows: Iterable[Result]) -> list[Result]:
    """Return rows as they are recorded: without the values of single queries, and without bootstrap values."""
    return [replace(row, by_query={}, replicates=None) for row in rows]


def renamed(task: Task, name: str, **payload: Any) -> Task:
    """Return a task of another name with a changed payload; its hash says so."""
    return replace(
        task, name=name, data_hash=stable_hash([task.data_hash, name])[:16],
        payload=replace(cast(Any, task.payload), **payload),
    )  # fmt: skip


# ---- showing ---------------------------------------------------------------------------------------------------------


def by_cell(rows: Iterable[Result]) -> dict[tuple[str, str, str], Result]:
    """Return rows by (task, system, metric)."""
    return {(row.task, row.encoder, row.metric): row for row in rows}


def systems_table(
    chapter: Chapter,
    caption: str,
    kinds: Sequence[tuple[str, Sequence[Result]]],
    columns: Sequence[tuple[str, str]],
    labels: Mapping[tuple[str, str], str] | None = None,
    decimals: int = 1,
) -> bool:
    """Show systems by (task, metric), with intervals over papers or queries; a block of lines for each of our runs.

    Args:
        kinds: (recorded or live, rows).
        columns: (task, metric) in order; those that no run has are left out.
        labels: how a column is called.

    Returns False where there is nothing to show.
    """
    there = [(kind, by_cell(rows)) for kind, rows in kinds]
    kept = [
        one for one in columns if any((one[0], name, one[1]) in cells for _, cells in there for name in _lines(cells))
    ]
    body, classes = [], []
    for kind, cells in there:
        for name in _lines(cells):
            found = [cells.get((task, name, metric)) for task, metric in kept]
            if any(found):
                shown = [cell(chapter, row, decimals) for row in found]
                body.append([f"{called(name)} <small>{kind}</small>", *shown])
                classes.append(["", *[kind] * len(kept)])
    if not body:
        return False
    heads = [(labels or {}).get(one, f"{html.escape(title(one[0]))}<br>{html.escape(one[1])}") for one in kept]
    chapter.show(report.table(["", *heads], body, caption, classes))
    return True


def _lines(cells: Mapping[tuple[str, str, str], Result]) -> list[str]:
    """Return the systems of a run: floor first, ceiling last."""
    names = dict.fromkeys(name for (_, name, _), row in cells.items() if not row.against)
    order = {"random": -1, "oracle": 1}
    return sorted(names, key=lambda name: order.get(name, 0))


def points(chapter: Chapter, row: Result, decimals: int = 1) -> str:
    """Return a difference with its interval."""
    return cell(chapter, row, decimals, signed=True)


def say_differences(
    chapter: Chapter, kinds: Sequence[tuple[str, Sequence[Result]]], columns: Sequence[tuple[str, str]],
    labels: Mapping[tuple[str, str], str] | None = None,
) -> None:  # fmt: skip
    """Say for each run, task and metric which system is ahead of which, where the interval leaves out 0."""
    for kind, rows in kinds:
        items = []
        for task, metric in columns:
            gaps = [r for r in rows if r.task == task and r.metric == difference_of(metric) and r.of_systems]
            told = []
            for gap in gaps:
                first, second = gap.systems
                way = {1: "ahead of", -1: "behind", 0: "not told from"}[sign(gap)]
                told.append(f"{called(first)} {way} {called(second)}, {points(chapter, gap)}")
            name = (labels or {}).get((task, metric), f"{html.escape(title(task))}, {html.escape(metric)}")
            items += [f"<li>{name.replace('<br>', ', ')}: {'; '.join(told)}.</li>"] if told else []
        if items:
            chapter.show(f"<p>{kind.capitalize()}, first minus second, in points:</p><ul>{''.join(items)}</ul>")
