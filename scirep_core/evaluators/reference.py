"""Reference systems of any task: what stands beside every score of an encoder.

    random   seeded normal vectors: the floor
    tfidf    TF-IDF rows of the task's own texts (scikit-learn: lower case, English stop words, words of two papers or more,
             sublinear counts, length 1; the 8,000 most frequent of them, on every task): what words alone can do
    oracle   vectors made from the latents of the embedded literature: the ceiling

`room` says where a score lies between floor and ceiling.
"""

from __future__ import annotations

from typing import Any

from scirep_core.data.task import Task
from scirep_core.encoders import SENTENCES, lexical
from scirep_core.evaluators.inputs import Vectors, inputs
from scirep_core.kit.errors import DataError

MOST_WORDS = 8_000
"""Words of TF-IDF at most. A row is dense, as an encoder's is: 10,000 papers take 320 MB. No embedded task of 3,000
papers has as many words; of the real samples the largest do (years, citations, reviews)."""


def tfidf_vectors(task: Task, protocol: str = "paper") -> Vectors:
    """Return dense float32 TF-IDF rows of a task's texts.

    Raises DataError where no word but stop words stands in two texts.
    """
    texts = {key: given.text for key, given in inputs(task, SENTENCES, protocol).items()}
    model = lexical.term_weights(min_df=2, max_features=MOST_WORDS)
    try:
        rows: Any = model.fit_transform(texts.values())
    except ValueError:  # an empty vocabulary
        reason = f"no word but stop words stands in two of its {len(texts)} texts"
        raise DataError(task.name, None, reason, "Give more texts, or score another encoder") from None
    return dict(zip(texts, rows.toarray(), strict=True))


def room(value: float, floor: float, ceiling: float) -> float:
    """Return where a value lies between floor (0) and ceiling (1); NaN where there is no room.

    >>> room(60.0, 20.0, 100.0)
    0.5
    """
    return (value - floor) / (ceiling - floor) if ceiling > floor else float("nan")
