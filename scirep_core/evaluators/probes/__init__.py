"""Linear probes on frozen vectors: classification and regression (SciRepEval A.3, A.4).

A linear SVM learns the task's labels from the training rows' vectors; what it predicts for the test rows is scored: F1,
accuracy, Kendall's tau. `paper_probes` is the published code, oddities kept; `sound_probes` what one would do today;
`few_shot` repeats either on a few examples; `labels.scores` has the metrics and their bootstrap. SciMult's linear column
(4.4, Table 4) follows SciDocs instead, whose script tries seven C from 1e-4 to 1e2 where SciRepEval's tries five.

Probes stay on the CPU, wherever the vectors were made: the published ones are scikit-learn's own runs, exact to its random state,
and the sound ones converge to 1e-8 in float64, which a GPU sums in another order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import Labelled
from scirep_core.evaluators.labels.scores import label_rows
from scirep_core.evaluators.pairs import evaluator
from scirep_core.evaluators.probes.few_shot import few_shot_rows, predicted
from scirep_core.evaluators.probes.probe_search import Probe, Remarks, counted_warnings, heard
from scirep_core.evaluators.rows import Asked, sentence
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.results import Result


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
