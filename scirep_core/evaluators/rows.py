"""What every evaluator of vectors shares: vectors by id, similarities, ranks in a pool, bootstrap, Result rows.

Similarity: l2 (negated distance), cosine (0 for a zero vector), dot; computed in double precision. Ranks compare
scores in single precision, as trec_eval does, so that rounding does not decide between equal vectors.

Bootstrap: every row carries the 1,000 values (`replicates`) its 95 % interval is read from. Which queries a draw takes
depends on the task's name, the seed, how many there are, and the part of the task where parts are drawn apart (fields
of MDCR, few-shot repeats): draw i of one encoder and draw i of another saw the same queries, so their difference has an
interval too; draws of different tasks are independent, so an average over tasks has one as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.datasets.task import Task
from scirep_core.errors import ConfigError, DataError, nearest
from scirep_core.formats import SIMILARITIES
from scirep_core.results import Result, provenance
from scirep_core.statistics import counts_of, resampled
from scirep_core.store import stable_hash

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
    vectors: Vectors
    protocol: str
    on_missing: str
    metrics: tuple[str, ...]
    similarity: str
    seed: int

    def row(self, metric: str, value: float, n: int, split: str = "test", **more: Any) -> Result:
        """Return a Result with all that is the same for every row of this task.

        `replicates=` (resamples,) on the scale of the value, or None; they give the interval unless low and high are given.
        """
        task = self.task
        spread = more.pop("replicates", None)
        if spread is not None:
            low, high = np.quantile(spread, [0.025, 0.975])
            more = {"low": float(low), "high": float(high)} | more | {"replicates": spread.astype(np.float32)}
        shared: dict[str, Any] = {
            "source": task.source, "data_hash": task.data_hash, "similarity": self.similarity, "seed": self.seed,
            "coverage": 1.0, "provenance": provenance(),
        }  # fmt: skip
        return Result(task.name, split, metric, self.protocol, value, n, **(shared | more))

    def kept(self, ids: Iterable[str]) -> set[str]:
        """Return the ids that have a vector. Raises DataError with count and first ids where one must have and has not."""
        wanted = list(dict.fromkeys(ids))
        missing = [key for key in wanted if key not in self.vectors]
        if missing and (self.on_missing == "error" or len(missing) == len(wanted)):
            some = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
            raise DataError(
                "vectors", None, f"{len(missing)} of the {len(wanted)} ids of {self.task.name} have no vector: {some}",
                "Encode them all, or drop their rows with --on-missing drop" if len(missing) < len(wanted)
                else "Check the ids, or the data source",
            )  # fmt: skip
        return set(wanted) - set(missing)

    def matrix(self, ids: Sequence[str]) -> NDArray[np.floating]:
        """Return (ids, dim) vectors as given: single precision stays single, to halve a large pool."""
        return np.stack([np.asarray(self.vectors[key]) for key in ids])


def similarity_of(name: str) -> str:
    """Return the name if it is a similarity. Raises ConfigError."""
    if name not in SIMILARITIES:
        raise ConfigError(f"unknown similarity {name!r}; {nearest(name, SIMILARITIES)}")
    return name


def unit(matrix: NDArray[np.floating]) -> Floats:
    """Return rows of length 1; zero rows stay zero."""
    rows = np.asarray(matrix, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0))


def pairwise(queries: NDArray[np.floating], others: NDArray[np.floating], similarity: str) -> NDArray[np.float32]:
    """Return (queries, others) similarities in single precision."""
    a, b = (unit(m) if similarity == "cosine" else np.asarray(m, dtype=np.float64) for m in (queries, others))
    scores = a @ b.T
    if similarity == "l2":
        sizes = np.sum(a * a, axis=1)[:, None] + np.sum(b * b, axis=1)[None]
        squared = sizes - 2 * scores
        # nearer than a millionth of their length is the rounding of this formula: the vectors are equal
        scores = -np.sqrt(np.where(squared < 1e-12 * sizes, 0.0, squared))
    return np.asarray(scores, dtype=np.float32) + np.float32(0)  # no negative zero


def score_rows(
    queries: NDArray[np.floating], pool: NDArray[np.floating], similarity: str, cells: int = 1 << 25, block: int = 8192
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield (query index, (pool,) scores): the whole pool, in blocks of at most `cells` scores in memory."""
    step = max(1, min(1024, cells // len(pool)))
    for start in range(0, len(queries), step):
        part = queries[start : start + step]
        scores = np.empty((len(part), len(pool)), dtype=np.float32)
        for first in range(0, len(pool), block):
            scores[:, first : first + block] = pairwise(part, pool[first : first + block], similarity)
        for i, row in enumerate(scores):
            yield start + i, row


def ranks_of(row: NDArray[np.float32], positions: NDArray[np.int64]) -> Floats:
    """Return the 1-based ranks of positions of a score row, ties by position; inf where the score is -inf."""
    if len(positions) > 64:
        order = np.argsort(-row, kind="stable")
        ranks = np.empty(len(row))
        ranks[order] = np.arange(1, len(row) + 1)
        found = ranks[positions]
    else:
        found = np.array(
            [1 + np.count_nonzero(row > row[p]) + np.count_nonzero(row[:p] == row[p]) for p in positions], dtype=float
        )
    return np.where(np.isneginf(row[positions]), np.inf, found)


def draws(asked: Asked, n: int, part: str = "") -> Iterator[NDArray[np.int64]]:
    """Yield blocks (some, n) of row numbers: 1,000 bootstrap samples of n rows, the same for every encoder and metric.

    `part` names what is to be drawn independently of the rest of the task though it may have as many rows.
    """
    key = stable_hash([asked.task.name, asked.seed, n, part])
    return resampled(n, RESAMPLES, int(key[:16], 16))


def replicates_of_means(asked: Asked, values: Floats, part: str = "") -> Floats | None:
    """Return (..., resamples) bootstrap means of (..., n) values; None for very many (`NORMAL`)."""
    n = values.shape[-1]
    if n >= NORMAL:
        return None
    return np.concatenate([values @ counts_of(picks, n).T / n for picks in draws(asked, n, part)], axis=-1)


def replicates_of_groups(asked: Asked, groups: Mapping[str, Floats]) -> tuple[dict[str, Floats], Floats]:
    """Return the bootstrap means of each group's (n,) values, each group drawn apart, and of their plain mean."""
    found = {name: replicates_of_means(asked, values, name) for name, values in groups.items()}
    kept = {name: spread for name, spread in found.items() if spread is not None}
    if len(kept) < len(groups):
        raise DataError(asked.task.name, None, f"a group has {NORMAL} queries or more", "Cut it into smaller groups")
    return kept, np.mean(list(kept.values()), axis=0)


def spread_of(asked: Asked, values: Floats, part: str = "") -> dict[str, Any]:
    """Return what `Asked.row` needs of the mean of (n,) values in [0, 1]: replicates; for very many low and high alone."""
    spread = replicates_of_means(asked, values, part)
    if spread is not None:
        return {"replicates": 100 * spread}
    half = 196 * values.std() / np.sqrt(len(values))
    return {"low": float(100 * values.mean() - half), "high": float(100 * values.mean() + half)}


def mean_row(
    asked: Asked, metric: str, values: Mapping[str, float], split: str = "test", part: str = "", **more: Any
) -> Result:
    """Return the row of a mean over queries: values in [0, 1] by query id, bootstrap over queries; `part` as in `draws`."""
    table = np.array(list(values.values()))
    if len(values) <= FEW:
        more["by_query"] = {key: round(100 * value, 6) for key, value in values.items()}
    return asked.row(metric, 100 * float(table.mean()), len(table), split, **(spread_of(asked, table, part) | more))


def sentence(*parts: str) -> str:
    """Join the parts of a note that are not empty."""
    return "; ".join(part for part in parts if part)


def counted(n: int, what: str) -> str:
    """Return `3 queries with ...`, or nothing for none: `what` starts with a noun in the plural."""
    return f"{n} {what}" if n else ""
