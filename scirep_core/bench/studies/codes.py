"""Codes against formats, the arithmetic: which format's vectors are best for which format's tasks (v2 Table 3, v1 Table 4).

    S[t, c]        score of task t by the vectors of code c, in every training; o(t) is the code of t's own format
    advantage      A(t) = S[t, o(t)] - mean of S[t, c] over the three other codes
    over trainings mean +- t(0.975, n - 1) sd / sqrt(n) of A, paired: all four codes are one model's
    assignments    the four codes can be handed out to the four formats in 24 ways; the place of the papers' way among them,
                   by the mean of S[t, code given to the format of t] over all tasks, is an exact permutation test: p = place / 24

A task with few-shot settings is scored as in the benchmark's average, by the mean of its settings. The papers do not say
which number of such a task their tables show.

Codes for random groups of the training sets stand for no format, and the papers do not say which of four a task is then read
under. `readings` has all that can be meant (v2, v1 section 7):

    own group     the code of the group the task was trained in; a held-out task has none
    same name     the code that stands where the format's would: what evaluation code does that was not told of the groups
    any           the mean of the four codes: a code chosen blindly
    best          the best of the four codes by the test score itself, which flatters the random groups
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from scirep_core.bench.studies.outcome import Estimate, main_metric, over, trainings
from scirep_core.bench.studies.tables import OPEN_TABLE_3, OWN, TABLE_3
from scirep_core.bench.suites import SPECS, over_settings
from scirep_core.data.inventory import TRAINING
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.records import grouped
from scirep_core.results import Result
from scirep_core.training.variants import PARTITIONS, random_partition

PARTS = ("in-train", "out-of-train")
ASKED = (*TABLE_3, *OPEN_TABLE_3)


class Matrix(NamedTuple):
    """Scores of one way of training by task and code.

    Attributes:
        label: the variant, or what a printed table is called.
        values: (task, code) -> one value a training, in the order of their seeds; code `own` is each task as the model was
            trained for it, which for a search is QRY for the query and PRX for the papers.
    """

    label: str
    values: Mapping[tuple[str, str], tuple[float, ...]]

    @property
    def tasks(self) -> list[str]:
        """The tasks that have a value of every code, in print order."""
        return [task for task in ASKED if all((task, code) in self.values for code in FORMATS)]

    def part(self, name: str) -> list[str]:
        """Return the tasks that are in-train, or out-of-train."""
        return [task for task in self.tasks if part_of(task) == name]

    @property
    def trainings(self) -> int:
        """How many trainings there are."""
        return max((len(values) for values in self.values.values()), default=0)

    def mean(self, task: str, code: str) -> float:
        """Return the mean over trainings."""
        return float(np.mean(self.values[task, code]))


# ---- from rows to scores ---------------------------------------------------------------------------------------------


def own_code(task: str) -> str:
    """Return the code of a task's format.

    >>> own_code("scirepeval/search")
    'QRY'
    """
    return SPECS[task].format


def part_of(task: str) -> str:
    """Return in-train or out-of-train."""
    return "in-train" if SPECS[task].relation == "in-train" else "out-of-train"


def settings(rows: Iterable[Result], task: str) -> list[str]:
    """Return the settings of a task's main metric that all its systems and trainings have: the full data first."""
    found = grouped((row for row in rows if row.task == task and _is_main(row)), lambda row: row.encoder)
    shared = set.intersection(*({row.split for row in of} for of in found.values())) if found else set()
    wanted = ["test", *(f"{shot.sample_size}-shot" for shot in SPECS[task].few_shot)]
    return [split for split in wanted if split in shared]


def _is_main(row: Result) -> bool:
    return main_metric(replace(row, split="test")) is not None


def unit_rows(rows: Iterable[Result]) -> list[Result]:
    """Return one row for every training, or system that is not trained, and task: as it stands, or the mean of its settings."""
    single = [row for row in trainings(rows) if row.task in ASKED and _is_main(row)]
    used = {task: settings(single, task) for task in ASKED}
    groups = grouped((row for row in single if row.split in used[row.task]), lambda row: (row.encoder, row.task))
    return [over_settings(group) for group in groups.values()]


def matrices(rows: Iterable[Result]) -> dict[str, Matrix]:
    """Return the scores of every variant of a study that has several codes; rows are those of `unit_rows`."""
    drawn: dict[str, dict[tuple[str, str], dict[int, float]]] = {}
    for row in rows:
        parameters = row.parameters
        if "code" in parameters:
            cells = drawn.setdefault(parameters["variant"], {})
            cells.setdefault((row.task, parameters["code"]), {})[parameters["training_seed"]] = row.value
    return {
        variant: Matrix(variant, {key: tuple(by[seed] for seed in sorted(by)) for key, by in cells.items()})
        for variant, cells in drawn.items()
        if any(code != OWN for _, code in cells)
    }


# ---- estimates -------------------------------------------------------------------------------------------------------


def between(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the difference of two means of separate trainings, with Welch's interval; none where one side has no spread.

    >>> [round(x, 2) for x in between([3.0, 5.0], [1.0, 1.5, 0.5])[:3]]
    [3.0, -6.45, 12.45]
    """
    from scipy.stats import t

    gap = float(np.mean(first) - np.mean(second))
    if len(first) < 2 or len(second) < 2:
        return Estimate(gap, None, None, ())
    parts = [float(np.var(values, ddof=1)) / len(values) for values in (first, second)]
    if sum(parts) == 0:
        return Estimate(gap, gap, gap, ())
    freedom = sum(parts) ** 2 / sum(p**2 / (len(v) - 1) for p, v in zip(parts, (first, second), strict=True))
    half = float(t.ppf(0.975, freedom)) * sum(parts) ** 0.5
    return Estimate(gap, gap - half, gap + half, ())


def advantages(matrix: Matrix, task: str) -> tuple[float, ...]:
    """Return own code minus the mean of the three others, one value a training."""
    own = own_code(task)
    others = [matrix.values[task, code] for code in FORMATS if code != own]
    pairs = zip(matrix.values[task, own], zip(*others, strict=True), strict=True)
    return tuple(float(a - np.mean(b)) for a, b in pairs)


def mean_advantage(matrix: Matrix, tasks: Sequence[str]) -> Estimate:
    """Return the advantage averaged over tasks in every training, then over trainings."""
    drawn = [advantages(matrix, task) for task in tasks]
    return over([float(np.mean(one)) for one in zip(*drawn, strict=True)])


def best_codes(matrix: Matrix, task: str) -> list[str]:
    """Return the codes of the highest mean, several where they are equal."""
    means = {code: matrix.mean(task, code) for code in FORMATS}
    return [code for code, value in means.items() if value == max(means.values())]


def own_is_best(matrix: Matrix, tasks: Sequence[str]) -> list[str]:
    """Return the tasks on which their own code alone has the highest mean."""
    return [task for task in tasks if best_codes(matrix, task) == [own_code(task)]]


def place(matrix: Matrix, tasks: Sequence[str]) -> tuple[int, str]:
    """Return the place of the papers' assignment among all 24 (1 is best, equal ones before it count), and the best one.

    The best assignment is told as the codes of CLF, RGN, PRX and QRY tasks in turn.
    """
    totals: dict[tuple[str, ...], float] = {}
    for order in permutations(FORMATS):
        given: dict[str, str] = dict(zip(FORMATS, order, strict=True))
        totals[order] = float(np.mean([matrix.mean(task, given[own_code(task)]) for task in tasks]))
    mine = totals[tuple(FORMATS)]
    best = max(totals, key=lambda order: totals[order])
    return sum(total >= mine - 1e-9 for total in totals.values()), " ".join(best)


def best_other(matrix: Matrix, task: str) -> Estimate:
    """Return the own code's lead over the best of the three others by its mean, paired by training."""
    own = own_code(task)
    other = max((code for code in FORMATS if code != own), key=lambda code: matrix.mean(task, code))
    return over([a - b for a, b in zip(matrix.values[task, own], matrix.values[task, other], strict=True)])


def readings(every: Mapping[str, Matrix]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return reading -> task -> one value a random grouping, the mean over its trainings; {} where a study has none."""
    drawn = {number: every[name] for number, name in enumerate(PARTITIONS, start=1) if name in every}
    if not drawn:
        return {}
    tasks = [task for task in ASKED if all(task in one.tasks for one in drawn.values())]
    found: dict[str, dict[str, tuple[float, ...]]] = {name: {} for name in ("own group", "same name", "any", "best")}
    for task in tasks:
        if task in TRAINING:
            of = [one.mean(task, random_partition(number)[task]) for number, one in drawn.items()]
            found["own group"][task] = tuple(of)
        by_code = [np.array([one.values[task, code] for code in FORMATS]) for one in drawn.values()]
        found["same name"][task] = tuple(one.mean(task, own_code(task)) for one in drawn.values())
        found["any"][task] = tuple(float(values.mean()) for values in by_code)
        found["best"][task] = tuple(float(values.max(axis=0).mean()) for values in by_code)
    return found


def as_trained(matrix: Matrix, task: str) -> tuple[float, ...]:
    """Return the scores of a task read as the model was trained for it, else under its own code."""
    return matrix.values.get((task, OWN), matrix.values[task, own_code(task)])


def mean_of(tasks: Sequence[str], values: Mapping[str, Sequence[float]]) -> tuple[float, ...]:
    """Return the mean over tasks in every training."""
    return tuple(float(np.mean(one)) for one in zip(*(values[task] for task in tasks), strict=True))
