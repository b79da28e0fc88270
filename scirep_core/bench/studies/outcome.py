"""What a study found: its rows on disk, and what they say over several trainings (SciRepEval Tables 2, 3, 8, 11).

A study (bench/studies/study.py) keeps a row for every training, and one for the mean over the trainings of a line of its table:

    mean     of n trainings that differ by their seed alone, `n` of the row
    sd       over them, divisor n - 1; what the papers print in small
    interval mean +- t(0.975, n - 1) sd / sqrt(n): where the mean of many more such trainings would lie, on this same data

Which lines differ is Tukey's test over the trainings, as in the papers (results/comparison.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scirep_core.bench import suites
from scirep_core.bench.studies.tables import HELPS, UNTRAINED, USELESS
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import grouped, to_jsonl
from scirep_core.kit.store import write_text
from scirep_core.results import Result, provenance, read_results, write_results
from scirep_core.training.models import Tried

if TYPE_CHECKING:
    from scirep_core.results.comparison import Tukey

# ---------------------------------------------------------------------------------------------------------------- files


def write_rows(path: Path, rows: Sequence[Result]) -> None:
    """Write a study's rows and their means over trainings as JSON lines, gzipped by the name, whole or not at all."""
    write_results(path, [*rows, *over_seeds(rows)])


def write_curves(path: Path, rows: Sequence[Result]) -> None:
    """Write learning curves by training and step, those of trainings that the file has already in their place."""
    anew = {row.encoder for row in rows}
    others = [row for row in (read_results(path) if path.is_file() else []) if row.encoder not in anew]
    write_results(path, sorted([*others, *rows], key=lambda row: (row.encoder, row.parameters["step"], row.id)))


def read_trials(path: Path, budget: Mapping[str, Any]) -> dict[str, Tried]:
    """Return, by base, what the recorded trials of learning rates of a budget came to: no machine makes them again."""
    found: dict[str, Tried] = {}
    for row in read(path):
        if budget.items() <= row.parameters.items():
            found.setdefault(row.parameters["base"], {})[row.encoder, row.parameters["learning_rate"]] = row.value
    return found


def write_trials(path: Path, tried: Mapping[str, Tried], source: str, budget: Mapping[str, Any]) -> None:
    """Record what trials of learning rates came to, those of other budgets left in their place."""
    others = [row for row in read(path) if not budget.items() <= row.parameters.items()]
    own = [Result("dev", f"{base}/{rate:g}", "loss", "paper", value, 0, encoder=pilot, source=source, chapter="study/rates",
                  parameters={"base": base, "learning_rate": rate, **budget}, provenance=provenance())
           for base, of in tried.items() for (pilot, rate), value in of.items()]  # fmt: skip
    if own and tried != read_trials(path, budget):
        write_results(path, [*others, *own])


def read(path: Path) -> list[Result]:
    """Return the recorded rows in a study's file, [] where it is not there."""
    return [replace(row, kind="recorded") for row in read_results(path)] if path.is_file() else []


def record(path: Path, rows: Sequence[Result], chapter: str, command: str) -> None:
    """Put rows into a file of recorded ones, in place of those of the same numbers, under the command that gives them again.

    Values of single queries are left out, but of the widest average, which holds the value of every unit.
    """
    there = {row.id: row for row in read(path)}
    for row in rows:
        by_query = row.by_query if (row.metric, row.split) == ("average", "all") else {}
        told = {**row.parameters, "command": command}
        one = replace(row, kind="recorded", chapter=chapter, parameters=told, by_query=by_query)
        there[one.id] = one
    write_text(path, to_jsonl(there[key].to_json() for key in sorted(there)))


# ------------------------------------------------------------------------------------------------------ over trainings


def line(row: Result) -> str:
    """Return the line of the table a row belongs to: its label without the seed."""
    return row.encoder.rpartition(", seed ")[0] or row.encoder


def means(rows: Iterable[Result]) -> list[Result]:
    """Return the rows that are means over trainings."""
    return [row for row in rows if "trainings" in row.parameters]


def trainings(rows: Iterable[Result]) -> list[Result]:
    """Return the rows of single trainings, and of systems that are not trained."""
    return [row for row in rows if "trainings" not in row.parameters]


def over_seeds(rows: Iterable[Result]) -> list[Result]:
    """Return the means over trainings: a row for each line, task, split, metric and protocol.

    `parameters` tell `trainings`, `sd` (with two or more) and the `values`; `by_query` is the mean of each unit. Systems
    that are not trained have no such row.

    Raises ConfigError for trainings of one line that were scored on other data, on more or fewer rows or other units.
    """
    trained = (row for row in trainings(rows) if "training_seed" in row.parameters)
    found = grouped(trained, lambda row: (line(row), row.task, row.split, row.metric, row.protocol))
    for (label, *place, _), group in found.items():
        for what, of in ALIKE.items():
            first, *others = dict.fromkeys(map(of, group))
            if others:
                raise ConfigError(
                    f"{', '.join((label, *place))}: no mean over trainings scored on other {what}, {first} and {others[0]}. Score "
                    "them all anew (--again), or give --out FILE"
                )
    return [_mean(label, group) for (label, *_), group in found.items()]


ALIKE: dict[str, Callable[[Result], Any]] = {
    "data": lambda row: row.data_hash,
    "numbers of rows": lambda row: row.n,
    "units": lambda row: ", ".join(sorted(row.by_query)),
}
"""What trainings must share whose mean is taken."""


OF_ONE = ("training_seed", "model", "training_seconds")
"""What single trainings have and their mean has not."""


class Estimate(NamedTuple):
    """A mean over trainings with its 95 % interval; no interval of a single one."""

    value: float
    low: float | None
    high: float | None
    values: tuple[float, ...]

    @property
    def sign(self) -> int:
        """1 where the whole interval lies above 0, -1 below, 0 where it holds 0 or there is none."""
        return 0 if self.low is None or self.high is None else int(self.low > 0) - int(self.high < 0)


def over(values: Sequence[float]) -> Estimate:
    """Return the mean of values with its t interval; none for a single value.

    >>> [round(x, 2) for x in over([1.0, 2.0, 3.0])[:3]]
    [2.0, -0.48, 4.48]
    """
    from scipy.stats import t

    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return Estimate(mean, None, None, tuple(values))
    half = float(t.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5)
    return Estimate(mean, mean - half, mean + half, tuple(values))


def _mean(label: str, group: Sequence[Result]) -> Result:
    values, first = [row.value for row in group], group[0]
    mean, n, found = over(values), len(values), dict[str, Any]()
    if n > 1:
        found["sd"] = float(np.std(values, ddof=1))
    parameters = {key: value for key, value in first.parameters.items() if key not in OF_ONE}
    return replace(
        first, encoder=label, value=mean.value, n=n, low=mean.low, high=mean.high, fingerprint="", replicates=None, seconds=None,
        parameters={**parameters, "trainings": n, **found, "values": values},
        by_query={unit: float(np.mean([row.by_query[unit] for row in group])) for unit in first.by_query},
        note=f"mean of {n} trainings" if n > 1 else "one training",
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- curves


def dev_losses(curves: Iterable[Result], label: str) -> list[list[float]]:
    """Return the dev losses of each training of a line, summed over tasks, look by look (rows of `study.curves_file`)."""
    found: dict[str, dict[int, float]] = {}
    for row in curves:
        if line(row) == label and row.metric == "loss" and row.split.startswith("dev/"):
            losses, step = found.setdefault(row.encoder, {}), row.parameters["step"]
            losses[step] = losses.get(step, 0.0) + row.value
    return [[losses[step] for step in sorted(losses)] for losses in found.values()]


def judgement(low: float, losses: Sequence[Sequence[float]]) -> str:
    """Return what a line does against its base: the rule stated ahead of results (`tables.MEANT`).

    Args:
        low: lower end of the interval of the line's in-train average minus the base's.
        losses: dev losses of its trainings, look by look.

    Raises ConfigError where there is no dev loss to judge by.

    >>> judgement(0.4, [[3, 2, 1]]), judgement(-0.2, [[3, 2, 1], [3, 1, 2]]), judgement(-0.2, [[3, 1, 2]])
    ('helps', 'not trained enough to judge', 'does not help')
    """
    if not losses or not all(losses):
        raise ConfigError("no dev losses to judge by: train with looks at the dev part (looks of the budget)")
    if low > 0:
        return HELPS
    falling = any(of_one[-1] == min(of_one) for of_one in losses)
    return UNTRAINED if falling else USELESS


class Verdict(NamedTuple):
    """What a line does against its base, and the difference of their in-train averages it is judged by, in points."""

    label: str
    difference: float
    low: float
    high: float
    verdict: str


def verdicts(rows: Iterable[Result], curves: Iterable[Result]) -> list[Verdict]:
    """Return what each trained line of a study of a suite does against its base, by the stated rule (`judgement`).

    The base is one model, so the interval is that of the line's mean over trainings, less the base's value. Lines of a single
    training have none, and lines of which a training left no dev losses cannot be judged: both are left out.

    Args:
        curves: rows of `study.curves_file`.
    """
    averages = [row for row in means(rows) if (row.metric, row.split) == ("average", "in-train")]

    def on(row: Result) -> tuple[Any, ...]:
        return row.protocol, *(row.parameters.get(key) for key in ("base", "width"))

    curves, bases = list(curves), {on(row): row for row in averages if row.parameters["variant"] == "Base"}
    made = []
    for row in averages:
        base, losses = bases.get(on(row)), dev_losses(curves, row.encoder)
        if base in (None, row) or row.low is None or row.high is None or len(losses) < row.parameters["trainings"]:
            continue
        low, high = (bound - base.value for bound in (row.low, row.high))
        made.append(Verdict(row.encoder, row.value - base.value, low, high, judgement(low, losses)))
    return made


# --------------------------------------------------------------------------------------------------------------- tables


class Line(NamedTuple):
    """One line of a table: values over seeds; `sd` (divisor n - 1) is None of a single one."""

    label: str
    values: dict[str, tuple[float, ...]]

    def mean(self, column: str) -> float:
        """Return the mean of a column."""
        return float(np.mean(self.values[column]))

    def sd(self, column: str) -> float | None:
        """Return the standard deviation over seeds."""
        drawn = self.values[column]
        return float(np.std(drawn, ddof=1)) if len(drawn) > 1 else None


def table(
    rows: Iterable[Result], columns: Sequence[str], of: Callable[[Result], str | None] | None = None
) -> list[Line]:
    """Return a table of a study's rows: a line a variant (on its base, width, code), a column a split of the average.

    Args:
        of: row -> its column, or None to leave it out; the split of the benchmark's averages unless given.

    Raises ConfigError for rows of several protocols, whose values no mean may join.
    """
    rows = trainings(rows)
    if len(protocols := sorted({row.protocol for row in rows})) > 1:
        raise ConfigError(f"a table of rows under {' and '.join(protocols)}: choose one protocol")
    column = of or (lambda row: row.split if row.metric == "average" else None)
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        name = column(row)
        if name in columns:
            found.setdefault(line(row), {}).setdefault(str(name), []).append(row.value)
    return [Line(label, {c: tuple(values[c]) for c in columns if c in values}) for label, values in found.items()]


def tukey(lines: Sequence[Line], column: str) -> Tukey | None:
    """Return ANOVA and Tukey's test over the lines with two seeds or more; None where there are not two such."""
    from scirep_core.results.comparison import anova_tukey

    groups = {line.label: line.values[column] for line in lines if len(line.values.get(column, ())) > 1}
    return anova_tukey(groups) if len(groups) > 1 else None


def main_metric(row: Result) -> str | None:
    """Return the task of a row that is its one number on the full data, without the collection's name; else None.

    A sample's citation triplets have no test split in their file: what was held out of them bears the file's name for it, train.
    """
    sample = SAMPLES.get(row.task)
    whole = "train" if sample and suites.SPECS[sample.like].type == "triplets" else "test"
    known = sample or row.task in suites.SPECS
    is_main = (row.split, row.metric) == (whole, suites.main_metric(row.task))
    return row.task.rpartition("/")[2] if known and is_main else None
