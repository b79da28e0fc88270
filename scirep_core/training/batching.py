"""Which rows of which task a training step sees, and how triplets are made (SciRepEval 5, appendix B and footnote 12).

    equal               every task has the same share of every batch, small tasks start over sooner   (the default)
    equal_until_spent   as published: a task that is spent leaves, the others share its place
    proportional        every task is spread evenly over the epoch
    sequential          one task after another
    homogeneous         one task a batch, in turn (SciMult: in-batch negatives are then of one's own task)

`plan` is a pure function of the step, so the state of the sampler is the number of the step: a training that was killed
goes on with exactly the rows it would have seen. Every task's rows are in an order drawn by (seed, task, epoch), from
raw bits, which numpy promises not to change (its `permutation` may change); other tasks do not matter to it.

Shares are exact and not drawn: after s steps of equal shares, task i of T has seen floor((s batch + i) / T) rows.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import ConfigError, check_name
from scirep_core.kit.records import Paper

if TYPE_CHECKING:  # the datasets need more than a machine that only trains has
    from scirep_core.data.readers.scirepeval import RankedQuery

Mixing = Literal["equal", "equal_until_spent", "proportional", "sequential", "homogeneous"]
MIXINGS: tuple[Mixing, ...] = get_args(Mixing)
Ints = NDArray[np.int64]


# --- the plan ---------------------------------------------------------------------------------------------------------


def plan(
    sizes: Mapping[str, int], batch: int, mixing: Mixing, seed: int, step: int, rank: int = 0, world: int = 1
) -> dict[str, Ints]:
    """Return the rows of each task at a step, in the order of `sizes`; a task without rows in this step is left out.

    Within an epoch of a task each of its rows comes once. `equal` and `homogeneous` count epochs by task, the others count
    one epoch over all rows of all tasks. A batch across the end of an epoch is filled from the next one.

    Args:
        sizes: task -> its number of rows.
        batch: rows a step, of all tasks and all ranks together.
        step: from 0.
        rank, world: of `world` processes the one that asks: the step's rows are dealt out in turn, so that processes
            differ by one row at most, in all and of each task. The parts are together the plan of `world` 1.

    Raises ConfigError for no task, a task without rows, or a number out of range.
    """
    _check(sizes, batch, mixing, step, rank, world)
    if mixing in ("equal", "homogeneous"):
        names, spans = list(sizes), _spans(len(sizes), batch, mixing, step)
        rows = {
            name: _walk(name, sizes[name], seed, np.arange(*span))
            for name, span in zip(names, spans, strict=True)
            if span[0] < span[1]
        }
    else:
        rows = _joint(tuple(sizes.items()), batch, mixing, seed, step)
    return _dealt(rows, rank, world) if world > 1 else rows


def steps_of(sizes: Mapping[str, int], batch: int, epochs: float = 1.0) -> int:
    """Return the steps in which as many rows pass as all tasks have together, times `epochs`.

    Each row is then seen `epochs` times where an epoch is one over all tasks; with equal shares the small tasks' rows are
    seen more often and the large tasks' less. Its last batch is full (the published one drops what does not fill it).
    """
    _check(sizes, batch, "equal", 0, 0, 1)
    return -int(-sum(sizes.values()) * epochs // batch)


def _check(sizes: Mapping[str, int], batch: int, mixing: str, step: int, rank: int, world: int) -> None:
    check_name("mixing", mixing, MIXINGS)
    if not sizes:
        raise ConfigError("there is no task to take rows of")
    if empty := [name for name, size in sizes.items() if size < 1]:
        raise ConfigError(f"task {empty[0]} has no rows: leave it out, or look why nothing was read")
    if batch < 1 or step < 0 or not 0 <= rank < world:
        raise ConfigError(f"no plan for batch {batch}, step {step}, rank {rank} of {world}")


def _spans(tasks: int, batch: int, mixing: Mixing, step: int) -> list[tuple[int, int]]:
    if mixing == "equal":  # sum over i of floor((n + i) / T) is n: the batch is always full
        return [((step * batch + i) // tasks, ((step + 1) * batch + i) // tasks) for i in range(tasks)]
    turn = step // tasks * batch
    return [(turn, turn + batch) if i == step % tasks else (0, 0) for i in range(tasks)]


def _walk(name: str, size: int, seed: int, places: Ints) -> Ints:
    epochs, within = np.divmod(places, size)
    rows = np.empty(len(places), np.int64)
    for epoch in np.unique(epochs):
        here = epochs == epoch
        rows[here] = _order(name, size, seed, int(epoch))[within[here]]
    return rows


@lru_cache(maxsize=32)
def _order(name: str, size: int, seed: int, epoch: int) -> NDArray[np.uint32]:
    key = hashlib.sha256(f"{seed}\n{epoch}\n{name}".encode()).digest()[:16]
    bits = np.random.Philox(key=int.from_bytes(key, "big")).random_raw(size)
    order = np.argsort(bits, kind="stable").astype(np.uint32)
    order.flags.writeable = False
    return order


def _joint(sizes: tuple[tuple[str, int], ...], batch: int, mixing: Mixing, seed: int, step: int) -> dict[str, Ints]:
    """Return a step's rows where one epoch runs over all tasks."""
    counts = np.array([size for _, size in sizes])
    starts = np.concatenate([[0], np.cumsum(counts)])
    epochs, within = np.divmod(np.arange(step * batch, (step + 1) * batch), starts[-1])
    flat = _queue(tuple(counts.tolist()), mixing)[within]
    task = np.searchsorted(starts, flat, side="right") - 1
    place = epochs * counts[task] + flat - starts[task]
    parts = [(name, size, place[task == i]) for i, (name, size) in enumerate(sizes)]
    return {name: _walk(name, size, seed, some) for name, size, some in parts if len(some)}


@lru_cache(maxsize=8)
def _queue(counts: tuple[int, ...], mixing: Mixing) -> NDArray[np.int64]:
    """Return the order in which an epoch passes the places of all tasks, numbered task by task."""
    places = np.concatenate([np.arange(n) for n in counts])
    if mixing == "sequential":
        return np.arange(len(places))
    size = np.repeat(counts, counts)
    # one place of each task that has any left; or each place at its share of the epoch
    when = places if mixing == "equal_until_spent" else (places + 0.5) / size
    queue = np.argsort(when, kind="stable")
    queue.flags.writeable = False
    return queue


def _dealt(rows: dict[str, Ints], rank: int, world: int) -> dict[str, Ints]:
    dealt, first = {}, 0
    for name, numbers in rows.items():
        mine = numbers[(rank - first) % world :: world]
        first += len(numbers)
        if len(mine):
            dealt[name] = mine
    return dealt


# --- triplets ---------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """Places, among a query's candidates, of one that is to come nearer and one that is not."""

    positive: int
    negative: int


def triplets_of(query: RankedQuery, most: int = 5, respect_grades: bool = True, seed: int = 0) -> list[Pair]:
    """Return up to `most` pairs of candidates that with the query are its triplets (SciRepEval 4.2 and 5).

    Args:
        query: candidates with scores.
        respect_grades: as the paper has it, the positive is any candidate with a higher score than the negative; pairs are
            drawn, no pair twice, positives and negatives each as evenly used as may be. If False, as its code has it: the
            positive is any scored above 0 and the negative any with 0; positives are taken as listed and from the start
            again when they run out, negatives from the end of the list, each once; nothing is drawn.
        seed: with the query's id it decides what is drawn, so other queries make no difference.
    """
    scores = query.scores
    if not respect_grades:
        positives = [i for i, score in enumerate(scores) if score > 0]
        negatives = [i for i, score in enumerate(scores) if score == 0][::-1][:most]
        return [Pair(positives[i % len(positives)], n) for i, n in enumerate(negatives)] if positives else []
    drawn = random.Random(f"{seed}\n{query.query.paper_id}")
    candidates = [i for _, i in sorted((drawn.random(), i) for i in range(len(scores)))]
    pairs: list[Pair] = []
    used: Counter[int] = Counter()
    while len(pairs) < most:
        before = len(pairs)
        for positive in candidates:
            lower = [i for i in candidates if scores[i] < scores[positive] and Pair(positive, i) not in pairs]
            if lower:
                pairs.append(Pair(positive, min(lower, key=used.__getitem__)))
                used[pairs[-1].negative] += 1
            if len(pairs) == most:
                break
        if len(pairs) == before:  # there are no more
            break
    return pairs


# --- titles -----------------------------------------------------------------------------------------------------------


def titled(paper: Paper, share: float = 0.05, seed: int = 0) -> Paper:
    """Return the paper without its abstract, of a `share` of all papers (SciRepEval, Limitations: 5 %).

    Which papers is drawn by (seed, id), so a paper reads the same wherever it occurs. A paper without a title keeps what
    it has: no text at all would teach nothing.
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"the share of papers with titles only must lie in 0 to 1, not {share}")
    if not share or not paper.title or not paper.abstract:
        return paper
    chance = int.from_bytes(hashlib.sha256(f"titles\n{seed}\n{paper.paper_id}".encode()).digest()[:8], "big")
    return paper._replace(abstract="", sentences=(), labels=()) if chance < share * 2**64 else paper
