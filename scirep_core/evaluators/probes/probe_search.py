"""Choosing the cost of a linear probe by cross-validation, on all cores, with the solvers' warnings counted.

    C = the first of the costs with the best mean score over the folds

What scikit-learn's GridSearchCV chooses, with its default error_score: a fit that fails (one class in the fold's training
part) scores NaN, the mean of its cost is NaN and ranks last, and where every cost has such a fold the first is chosen. The
search is written out because warnings of fits on other cores are lost there, and they are part of a probe's result: a
solver that stopped before it converged, or a fold that could not be fitted, is said in the row's note.
"""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.evaluators.rows import Floats, counted, sentence
from scirep_core.kit.terminal import bar

PARALLEL = 5e6
"""From this many rows x dimensions x labels on, fits share all cores: starting workers takes seconds."""
Ints = NDArray[np.int64]
Remarks = Counter[str]
"""How often what was said."""
Score = Callable[[Any, Any, NDArray[Any]], float]
"""scorer(model, x, y): higher is better."""


class Probe(NamedTuple):
    """How a probe is fitted.

    Attributes:
        metric: what protocol `sound` chooses C by.
        intercept: whether the SVMs of protocol `paper` have one.
        shown: the progress bar's name.
        few: one k-shot repeat of many, which share the cores; C = 1, but where the published code searches all the same.
    """

    protocol: str
    seed: int
    metric: str
    intercept: bool
    shown: str = ""
    few: bool = False


def best_of(
    models: Sequence[Any], x: Any, y: NDArray[Any], cuts: Sequence[tuple[Ints, Ints]], score: Score, remarks: Remarks,
    parallel: bool = False, shown: str = "",
) -> int:  # fmt: skip
    """Return the place of the model with the best mean score over (training rows, test rows) cuts, the first of equals.

    Models are fitted many times; the one chosen is to be fitted again on all rows. A mean with a fit that failed is worth
    as little as the worst. Raises ValueError where every fit failed.
    """
    jobs = [(one, x, y, train, test, score) for one in models for train, test in cuts]
    found = list(on_all_cores(_fit_and_score, jobs, parallel, shown))
    for _, more, _ in found:
        remarks.update(more)
    failed = [error for _, _, error in found if error]
    if len(failed) == len(found):
        raise ValueError(f"every fit of the search failed: {failed[0]}")
    means = np.array([value for value, _, _ in found]).reshape(len(models), len(cuts)).mean(axis=1)
    return int(np.argmax(np.where(np.isnan(means), -np.inf, means)))  # all NaN: the first


def _fit_and_score(
    model: Any, x: Any, y: NDArray[Any], train: Ints, test: Ints, score: Score
) -> tuple[float, Remarks, str]:
    """Return score, what was said and what the fit failed of; NaN where it or the scoring failed, whatever it raised."""
    remarks: Remarks = Counter()
    with counted_warnings(remarks):
        try:
            model.fit(x[train], y[train])
        except Exception as error:
            what = str(error).splitlines()[0] if str(error) else type(error).__name__
            remarks[f"fits on a fold failed and have no score ({what.split(',')[0].strip():.60})"] += 1
            return math.nan, remarks, what
        try:
            return score(model, x[test], y[test]), remarks, ""
        except Exception as error:
            remarks[f"scorings of a fold failed ({type(error).__name__})"] += 1
            return math.nan, remarks, ""


def accuracy(model: Any, x: Any, y: NDArray[Any]) -> float:
    """Return the share of rows predicted right."""
    return float(np.mean(model.predict(x) == y))


def on_all_cores(
    function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], parallel: bool, shown: str
) -> Iterator[Any]:
    """Yield function(*job) in the order of the jobs, with a progress bar called `shown` if it takes over two seconds."""
    if parallel and (os.cpu_count() or 1) > 1:
        from sklearn.utils.parallel import Parallel, delayed

        found = Parallel(n_jobs=-1, return_as="generator")(delayed(function)(*job) for job in jobs)
    else:
        found = (function(*job) for job in jobs)
    yield from bar(found, shown, total=len(jobs), delay=2, leave=False, disable=None if shown else True)


@contextmanager
def counted_warnings(remarks: Remarks) -> Iterator[None]:
    """Count every warning raised inside, by its kind, into `remarks`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        remarks[f"{warning.category.__name__}s ({str(warning.message).split('.')[0].strip():.60})"] += 1


def heard(remarks: Remarks) -> str:
    """Return what was said, as part of a note."""
    return sentence(*(counted(n, what) for what, n in sorted(remarks.items())))


def one_kind(y: Ints, size: int, remarks: Remarks) -> Ints | None:
    """Return `size` times the only value of a label's column, said; None where there are two to tell apart."""
    if (y != y[0]).any():
        return None
    remarks["labels without both kinds of examples, predicted as they are"] += 1
    return np.full(size, y[0])


def union_of(columns: Iterable[NDArray[np.bool_]], size: int, stream: Any, remarks: Remarks, said: str) -> set[int]:
    """Return rows drawn from a stream of numpy's, `size` from each column; all of one that has fewer, which is `said`."""
    chosen: set[int] = set()
    for column in columns:
        there = np.flatnonzero(column)
        if len(there) < size:
            remarks[said] += 1
        chosen.update(stream.choice(there, min(size, len(there)), replace=False).tolist())
    return chosen


def spread_over(x: Any, labels: int = 1) -> bool:
    """Return whether fits on (rows, dimensions) are worth all cores."""
    return float(np.prod(x.shape)) * labels > PARALLEL


def thin(x: Floats) -> Any:
    """Return rows that are mostly zeros (TF-IDF) as a scipy CSR matrix: liblinear drops zeros anyway, so nothing changes."""
    from scipy.sparse import csr_array

    return csr_array(x) if np.count_nonzero(x[:64]) < 0.2 * x[:64].size else x
