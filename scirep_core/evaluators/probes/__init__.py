"""Linear probes on frozen vectors: classification and regression (SciRepEval A.3, A.4).

A linear SVM learns the task's labels from the training rows' vectors; what it predicts for the test rows is scored: F1,
accuracy, Kendall's tau. `paper_probes` is the published code, oddities kept; `sound_probes` what one would do today;
`labels.scores` has the metrics and their bootstrap. SciMult's linear column (4.4, Table 4) follows SciDocs instead, whose script
tries seven C from 1e-4 to 1e2 where SciRepEval's tries five.

k-shot classification (A.3: FoS, DRSM, Biomimicry) repeats either on a few examples. Each repeat trains on its own few rows and is
scored on the whole test set; the row is the mean over repeats, its interval from repeats drawn with replacement. It says how far
the choice of examples moves the number, not the choice of test rows. What `k` counts and how rows are drawn is the protocol's:
`paper_probes.shots`, `sound_probes.shots`. There is no k-shot regression.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import FewShot, Labelled, Task
from scirep_core.evaluators.labels.scores import label_rows, label_score
from scirep_core.evaluators.pairs import evaluator
from scirep_core.evaluators.probes import paper_probes, sound_probes
from scirep_core.evaluators.probes.probe_search import PARALLEL, Probe, Remarks, counted_warnings, heard, on_all_cores
from scirep_core.evaluators.rows import Asked, Floats, sentence, share_row
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.results import Result

PROBES = {"paper": paper_probes, "sound": sound_probes}
"""Protocol -> what fits probes under it: of classes, of several labels, of targets, and which rows are a repeat's."""


def predicted(
    probe: Probe, x: Floats, y: NDArray[Any], x_test: Floats, remarks: Remarks, regression: bool = False
) -> NDArray[Any]:
    """Return what a probe trained on rows x with labels y predicts for x_test."""
    of = PROBES[probe.protocol]
    fit: Callable[..., NDArray[Any]] = of.targets if regression else of.labels if y.ndim == 2 else of.classes
    return fit(x, y.astype(np.float64) if regression else y, x_test, remarks, probe)


class Drawn(NamedTuple):
    """What the repeats of a setting train on.

    Attributes:
        examples: distinct labelled papers, mean over repeats.
        short: classes (of several labels: labels) that have fewer examples than asked.
        classes: how many there are.
    """

    examples: float
    short: int
    classes: int

    def __str__(self) -> str:
        """Say it in a row's note, where `drawn_in` reads it."""
        return f"{self.examples:g} examples drawn, {self.short} of {self.classes} classes short"


def drawn(task: Task, shot: FewShot, protocol: str, seed: int) -> Drawn | None:
    """Return what a setting draws from a task's training set; None where it cannot be drawn."""
    assert isinstance(task.payload, Labelled)
    y = np.array([example.label for example in task.payload.splits["train"]])
    try:
        sizes = [len(rows) for rows in PROBES[protocol].shots(y, shot, seed, Counter())]
    except DataError:
        return None
    there = [int(c) for c in (y == 1).sum(axis=0)] if y.ndim == 2 else list(Counter(y.tolist()).values())
    per_class = protocol == "sound" or y.ndim == 2
    short = sum(count < shot.sample_size for count in there) if per_class else 0
    return Drawn(float(np.mean(sizes)), short, len(there)) if sizes else None


def with_drawn(row: Result, task: Task) -> Result:
    """Return a few-shot row of a task whose note says what was drawn; any other row as it is."""
    if not row.split.endswith("-shot") or not isinstance(task.payload, Labelled):
        return row
    shot = next((one for one in task.payload.few_shot if f"{one.sample_size}-shot" == row.split), None)
    found = drawn(task, shot, row.protocol, row.seed or 0) if shot else None
    return replace(row, note="; ".join(filter(None, (row.note, str(found))))) if found else row


def drawn_in(row: Result) -> Drawn | None:
    """Return what a row's note says was drawn."""
    found = re.search(r"([\d.e+]+) examples drawn, (\d+) of (\d+) classes short", row.note)
    return Drawn(float(found[1]), int(found[2]), int(found[3])) if found else None


def few_shot_rows(
    asked: Asked, probe: Probe, setting: FewShot, x: Floats, y: NDArray[Any], x_test: Floats, y_test: NDArray[Any], **shared: Any
) -> list[Result]:  # fmt: skip
    """Return one row per metric of a setting. Raises DataError where the training rows do not allow for it.

    Args:
        x, y: training rows: (n, dim) vectors, (n,) classes or (n, labels) of 0 and 1; x_test, y_test the test rows.
    """
    split, remarks = f"{setting.sample_size}-shot", Counter[str]()
    chosen = list(PROBES[probe.protocol].shots(y, setting, probe.seed, remarks))
    usable = [rows for rows in chosen if y.ndim == 2 or len(np.unique(y[rows])) > 1]
    if len(usable) < len(chosen):
        remarks["repeats with one class only left out (the published code stops there)"] += len(chosen) - len(usable)
    if not usable:
        raise DataError(asked.task.name, None, "no repeat has examples of two classes", "Give more examples")
    values = []
    jobs = [(probe._replace(shown="", few=True), x[rows], y[rows], x_test) for rows in usable]
    searches = len(jobs) * y.shape[1] if y.ndim == 2 and probe.protocol == "paper" else 0
    for answer, more in on_all_cores(
        _repeat, jobs, jobs[0][1].size * searches > PARALLEL, f"{asked.task.name} {split}"
    ):
        remarks.update(more)
        values.append([label_score(metric, y_test, answer) for metric in asked.metrics])
    table = np.array(values)
    short = f"only {len(values)} of {setting.iterations} repeats" if len(values) < setting.iterations else ""
    note = sentence(f"mean of {len(values)} repeats, interval over repeats", short, heard(remarks))
    parameters = {"repeats": len(values), "sample_size": setting.sample_size} | shared.pop("parameters", {})
    return [
        replace(share_row(asked, metric, table[:, i], split, split, note=note, parameters=parameters, **shared), n=len(y_test))
        for i, metric in enumerate(asked.metrics)
    ]  # fmt: skip


def _repeat(probe: Probe, x: Floats, y: NDArray[Any], x_test: Floats) -> tuple[NDArray[Any], Remarks]:
    """Return the predictions of one repeat and the warnings on the way; it may run in another process."""
    remarks: Remarks = Counter()
    with counted_warnings(remarks):
        return predicted(probe, x, y, x_test, remarks), remarks


@evaluator(Labelled, "")
def evaluate(asked: Asked, data: Labelled, intercept: bool = True) -> list[Result]:
    """Return one row per metric for the split `test` and for each few-shot setting, `64-shot` and so on.

    A setting the training rows do not allow for is left out, and the note of `test` says why. `similarity` is ignored;
    `intercept=False` (protocol `paper` alone) fits SVMs without one, and the rows' parameters say so.

    Raises DataError for a missing vector or data no probe can be fitted to, ConfigError for F1 of classes that are not 0, 1.
    """
    sides = [data.splits["train"], data.splits["test"]]
    vector_ids = asked.vector_ids(example.paper_id for side in sides for example in side)
    train, test = ([example for example in side if example.paper_id in vector_ids] for side in sides)
    if not train or not test:
        raise DataError("vectors", None, f"no {'test' if train else 'training'} row of {asked.task.name} has a vector")
    x, x_test = (asked.matrix([e.paper_id for e in side]).astype(np.float64) for side in (train, test))
    y, y_test = (np.array([e.label for e in side]) for side in (train, test))
    if "f1" in asked.metrics and (data.multi_label or not set(np.unique([*y, *y_test])) <= {0, 1}):
        raise ConfigError(f"metric 'f1' needs labels 0 and 1; {asked.task.name} has others: ask for f1_macro")
    shared: dict[str, Any] = {
        "coverage": (len(train) + len(test)) / sum(map(len, sides)),
        "pool": f"{len(test)} of {len(sides[1])} test rows, {len(train)} of {len(sides[0])} training rows",
        "parameters": {} if intercept else {"intercept": False},
    }
    remarks: Remarks = Counter()
    probe = Probe(asked.protocol, asked.seed, _chooses(asked, y), intercept, asked.task.name)
    with counted_warnings(remarks):
        try:
            answer = predicted(probe, x, y, x_test, remarks, asked.task.type == "regression")
        except ValueError as error:
            raise DataError(asked.task.name, None, f"no probe can be fitted: {str(error).splitlines()[0]}") from None
    rows, left_out = label_rows(asked, asked.metrics, y_test, answer, **shared, note=heard(remarks)), []
    few: list[Result] = []
    for setting in data.few_shot if asked.task.type == "classification" else ():
        try:
            few += few_shot_rows(asked, probe, setting, x, y, x_test, y_test, **shared)
        except DataError as error:  # too few rows for this setting; the full one stands
            left_out.append(f"{setting.sample_size}-shot left out: {error.reason}")
    return [replace(row, note=sentence(row.note, *left_out)) for row in rows] + few


def _chooses(asked: Asked, y: NDArray[Any]) -> str:
    """Return the metric C is chosen by: the task's first, whatever is asked, or where labels are not 0 and 1 no `f1`."""
    own = asked.task.metrics[0] if asked.task.metrics else asked.metrics[0]
    return asked.metrics[0] if own == "f1" and not set(np.unique(y)) <= {0, 1} else own
