"""What every evaluator of vectors shares: vectors by id, names of similarities, bootstrap, Result rows.

Bootstrap: every row carries the 1,000 values (`replicates`) its 95 % interval is read from. Which queries a draw takes
depends on the task's name, the seed, how many there are, and the part of the task where parts are drawn apart (fields
of MDCR, few-shot repeats): draw i of one encoder and draw i of another saw the same queries, so their difference has an
interval too; draws of different tasks are independent, so an average over tasks has one as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import Task
from scirep_core.kit.errors import DataError, check_name, some_of
from scirep_core.kit.formats import SIMILARITIES
from scirep_core.kit.store import stable_hash
from scirep_core.results import Result, provenance
from scirep_core.results.statistics import counts_of, resampled

T = TypeVar("T")
Vectors = Mapping[str, NDArray[np.floating]]
Floats = NDArray[np.float64]
RESAMPLES = 1000
NORMAL = 200_000
"""From this many values on, a mean has no replicates and its interval is +- 1.96 standard errors: drawing takes seconds."""
FEW = 100
"""Rows carry per-query values up to this many queries."""


class Asked(NamedTuple):
    """How a task is to be scored: what `scoring.evaluate` was told."""

    task: Task
    vectors: Vectors = MappingProxyType({})
    protocol: str = "paper"
    on_missing: str = "error"
    metrics: tuple[str, ...] = ()
    similarity: str = ""
    seed: int = 0

    def row(self, metric: str, value: float, n: int, split: str = "test", **more: Any) -> Result:
        """Return a Result with all that is the same for every row of this task.

        `replicates=` (resamples,) on the scale of the value, or None; they give the interval unless low and high are given.
        """
        task = self.task
        spread = more.pop("replicates", None)
        if spread is not None:
            more = interval(spread) | more | {"replicates": spread.astype(np.float32)}
        shared: dict[str, Any] = {
            "source": task.source, "data_hash": task.data_hash, "similarity": self.similarity, "seed": self.seed,
            "coverage": 1.0, "provenance": provenance(),
        }  # fmt: skip
        return Result(task.name, split, metric, self.protocol, value, n, **(shared | more))

    def vector_ids(self, ids: Iterable[str]) -> set[str]:
        """Return the ids that have a vector. Raises DataError with count and first ids where one must have and has not."""
        wanted = list(dict.fromkeys(ids))
        missing = [key for key in wanted if key not in self.vectors]
        if missing and (self.on_missing == "error" or len(missing) == len(wanted)):
            some, remedy = some_of(missing, 3), "Encode them all, or drop their rows with --on-missing drop"
            if len(missing) == len(wanted):
                remedy = "Check the ids, or the data source"
            reason = f"{len(missing)} of the {len(wanted)} ids of {self.task.name} have no vector: {some}"
            raise DataError("vectors", None, reason, remedy)
        return set(wanted) - set(missing)

    def matrix(self, ids: Sequence[str]) -> NDArray[np.floating]:
        """Return (ids, dim) vectors as given: single precision stays single, to halve a large pool."""
        return np.stack([np.asarray(self.vectors[key]) for key in ids])


def interval(draws: Floats) -> dict[str, Any]:
    """Return `low` and `high` of a row: the 95 % percentile interval of bootstrap values."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return {"low": float(low), "high": float(high)}


def sample(n: int, most: int, seed: int) -> NDArray[np.int64]:
    """Return the places of n things, in order; of more than `most`, so many that the seed draws."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def similarity_of(name: str) -> str:
    """Return the name if it is a similarity. Raises ConfigError."""
    check_name("similarity", name, SIMILARITIES)
    return name


def unit(matrix: NDArray[np.floating]) -> Floats:
    """Return rows of length 1; zero rows stay zero."""
    rows = np.asarray(matrix, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0))


def draws(asked: Asked, n: int, part: str = "") -> Iterator[NDArray[np.int64]]:
    """Yield blocks (some, n) of row numbers: 1,000 bootstrap samples of n rows, the same for every encoder and metric.

    `part` names what is to be drawn independently of the rest of the task though it may have as many rows.
    """
    key = stable_hash([asked.task.name, asked.seed, n, part])
    return resampled(n, RESAMPLES, int(key[:16], 16))


def replicated(asked: Asked, n: int, of: Callable[[NDArray[np.int64]], Floats], part: str = "") -> Floats:
    """Return (..., resamples) values `of` row numbers (some, n) drawn; `part` as in `draws`."""
    return np.concatenate([of(picks) for picks in draws(asked, n, part)], axis=-1)


def replicates_of_sums(asked: Asked, table: Floats, part: str = "") -> Floats:
    """Return (resamples, ...) bootstrap sums of (n, ...) values."""
    return np.concatenate([counts_of(picks, len(table)) @ table for picks in draws(asked, len(table), part)])


def replicates_of_means(asked: Asked, values: Floats, part: str = "") -> Floats | None:
    """Return (..., resamples) bootstrap means of (..., n) values; None for very many (`NORMAL`)."""
    n = values.shape[-1]
    if n >= NORMAL:
        return None
    return replicated(asked, n, lambda picks: values @ counts_of(picks, n).T / n, part)


def replicates_of_groups(asked: Asked, groups: Mapping[str, Floats]) -> Floats:
    """Return the (resamples,) bootstrap values of the plain mean of groups' means of (n,) values, each group drawn apart."""
    found = [replicates_of_means(asked, values, name) for name, values in groups.items()]
    spreads = [spread for spread in found if spread is not None]
    if len(spreads) < len(groups):
        raise DataError(asked.task.name, None, f"a group has {NORMAL} queries or more", "Cut it into smaller groups")
    return np.asarray(np.mean(spreads, axis=0))


def spread_of(asked: Asked, values: Floats, part: str = "") -> dict[str, Any]:
    """Return what `Asked.row` needs of the mean of (n,) values in [0, 1]: replicates; for very many low and high alone."""
    spread = replicates_of_means(asked, values, part)
    if spread is not None:
        return {"replicates": 100 * spread}
    half = 196 * values.std() / np.sqrt(len(values))
    return {"low": float(100 * values.mean() - half), "high": float(100 * values.mean() + half)}


def share_row(asked: Asked, metric: str, values: Floats, split: str = "test", part: str = "", **more: Any) -> Result:
    """Return the row of the mean of (n,) values in [0, 1], bootstrap over them; `part` as in `draws`."""
    return asked.row(metric, 100 * float(values.mean()), len(values), split, **(spread_of(asked, values, part) | more))


def mean_row(
    asked: Asked, metric: str, values: Mapping[str, float], split: str = "test", part: str = "", **more: Any
) -> Result:
    """Return the row of a mean over queries, by query id; see `share_row`."""
    if len(values) <= FEW:
        more["by_query"] = {key: round(100 * value, 6) for key, value in values.items()}
    return share_row(asked, metric, np.array(list(values.values())), split, part, **more)


def sentence(*parts: str) -> str:
    """Join the parts of a note that are not empty."""
    return "; ".join(part for part in parts if part)


def counted(n: int, what: str) -> str:
    """Return `3 queries with ...`, or nothing for none: `what` starts with a noun in the plural."""
    return f"{n} {what}" if n else ""


def summary(values: Sequence[float], name: str) -> Iterator[tuple[str, float, int]]:
    """Yield mean and quartiles of some values: (what, its value, of how many); nothing of none."""
    if values:
        yield f"{name}, mean", float(np.mean(values)), len(values)
        for quartile, value in zip((1, 2, 3), np.percentile(values, (25, 50, 75)), strict=True):
            yield f"{name}, quartile {quartile}", float(value), len(values)
