"""k-shot classification (SciRepEval A.3: FoS, DRSM, Biomimicry): probes trained on a few examples, many times over.

Each repeat trains on its own few rows and is scored on the whole test set; the row is the mean over repeats, its
interval from repeats drawn with replacement. It says how far the choice of examples moves the number, not the choice of
test rows. What `k` counts and how rows are drawn is the protocol's: `paper_probes.shots`, `sound_probes.shots`. There is
no k-shot regression.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import FewShot
from scirep_core.evaluators.label_scores import label_score
from scirep_core.evaluators.probes import paper_probes, sound_probes
from scirep_core.evaluators.probes.probe_search import PARALLEL, Ints, Said, counted_warnings, heard, on_all_cores
from scirep_core.evaluators.rows import Asked, Floats, sentence, spread_of
from scirep_core.kit.errors import DataError
from scirep_core.results import Result


class Probe(NamedTuple):
    """How a repeat is fitted."""

    protocol: str
    seed: int
    metric: str
    intercept: bool
    shown: str = ""


class Parts(NamedTuple):
    """Training and test rows of a task: (n, dim) vectors, (n,) classes or (n, labels) of 0 and 1."""

    x: Floats
    y: NDArray[Any]
    x_test: Floats
    y_test: NDArray[Any]


def few_shot_rows(asked: Asked, probe: Probe, setting: FewShot, parts: Parts, **shared: Any) -> list[Result]:
    """Return one row per metric of a setting. Raises DataError where the training rows do not allow for it."""
    x, y, x_test, y_test = parts
    split, said = f"{setting.sample_size}-shot", Counter[str]()
    shots = paper_probes.shots if probe.protocol == "paper" else sound_probes.shots
    chosen = list(shots(y, setting, probe.seed, said))
    usable = [rows for rows in chosen if y.ndim == 2 or len(np.unique(y[rows])) > 1]
    if len(usable) < len(chosen):
        said["repeats with one class only left out (the published code stops there)"] += len(chosen) - len(usable)
    if not usable:
        raise DataError(asked.task.name, None, "no repeat has examples of two classes", "Give more examples")
    values = []
    jobs = [(probe, x[rows], y[rows], x_test) for rows in usable]
    searches = len(jobs) * y.shape[1] if y.ndim == 2 and probe.protocol == "paper" else 0
    for predicted, more in on_all_cores(
        _repeat, jobs, jobs[0][1].size * searches > PARALLEL, f"{asked.task.name} {split}"
    ):
        said.update(more)
        values.append([label_score(metric, y_test, predicted) for metric in asked.metrics])
    table = np.array(values)
    short = f"only {len(values)} of {setting.iterations} repeats" if len(values) < setting.iterations else ""
    note = sentence(f"mean of {len(values)} repeats, interval over repeats", short, heard(said))
    told = {"repeats": len(values), "sample_size": setting.sample_size} | shared.pop("parameters", {})
    return [
        asked.row(metric, 100 * float(table[:, i].mean()), len(y_test), split, **spread_of(asked, table[:, i], split),
                  note=note, parameters=told, **shared)
        for i, metric in enumerate(asked.metrics)
    ]  # fmt: skip


def _repeat(probe: Probe, x: Floats, y: NDArray[Any], x_test: Floats) -> tuple[Ints, Said]:
    """Return the predictions of one repeat and the warnings on the way; it may run in another process."""
    said: Said = Counter()
    with counted_warnings(said):
        if probe.protocol == "paper":
            if y.ndim == 2:
                return paper_probes.labels(x, y, x_test, said, probe.intercept, parallel=False), said
            return paper_probes.classes(x, y, x_test, said, probe.intercept, search=False), said
        if y.ndim == 2:
            return sound_probes.labels(x, y, x_test, said, probe.seed, search=False), said
        return sound_probes.classes(x, y, x_test, said, probe.seed, probe.metric, search=False), said
