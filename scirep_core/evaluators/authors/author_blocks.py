"""Blocks of author mentions: linkage trees, cuts, B-cubed, the threshold, and how blocks are split (S2AND; SciRepEval A.2).

A block holds the mentions of one name. Average linkage joins the two groups with the smallest mean distance until one is
left; cutting the tree at a threshold gives the persons found. B-cubed (Bagga and Baldwin 1998) asks of every mention

    precision   which share of its group found are mentions of its person
    recall      which share of its person's mentions are in its group found

and takes means over mentions; F1 is their harmonic mean. A person's mentions are those of all blocks scored together, as
S2AND counts them: a person whose name is spelled in two ways costs recall that no clustering within blocks can win back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.evaluators.rows import Floats
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import grouped
from scirep_core.kit.store import stable_hash

THRESHOLDS = 101
"""Candidate thresholds."""
ENOUGH = 10
"""Blocks from which on a collection has blocks to learn from; of a smaller one all are scored."""
REPEATS, FOLDS = 5, 5
"""Splits into 80, 10 and 10 % of the blocks (paper); folds (sound)."""


class Block(NamedTuple):
    """One name: its mentions' true clusters, and the linkage tree of their distances."""

    name: str
    gold: tuple[str, ...]
    tree: Floats

    def cut(self, threshold: float) -> list[int]:
        """Return the cluster number of each mention when merges above the threshold are undone."""
        from scipy.cluster.hierarchy import fcluster

        if len(self.gold) == 1:
            return [1]
        return [int(c) for c in fcluster(self.tree, threshold, criterion="distance")]


class Split(NamedTuple):
    """Names of blocks: what the pairwise model learns from, what the threshold is tuned on, what is scored."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]


def linked(name: str, gold: Sequence[str], distances: Floats) -> Block:
    """Return a block from its (pairs,) distances in condensed order: average linkage."""
    from scipy.cluster.hierarchy import linkage

    if len(gold) == 1:
        return Block(name, tuple(gold), np.zeros((0, 4)))
    return Block(name, tuple(gold), np.asarray(linkage(np.asarray(distances, dtype=np.float64), "average")))


def collection_of(block: str) -> str:
    """Return what is before the slash of a block's name, "" where there is none."""
    return block.partition("/")[0] if "/" in block else ""


def by_collection(blocks: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of blocks by collection, in order."""
    return grouped(blocks, collection_of)


def splits(blocks: Iterable[str], protocol: str, seed: int) -> list[Split]:
    """Return how blocks are split, within each collection, by seeded hashes of their names.

    paper: five times 80 % to learn from, 10 % to tune on, 10 % to score; a collection of fewer than ten is only scored.
    sound: five folds; each is scored once, by what was learnt on three others and tuned on the fourth.
    """
    sets = by_collection(blocks)
    if protocol == "sound":
        order = {name: _shuffled(names, seed, 0) for name, names in sets.items()}
        folds = [tuple(b for names in order.values() for b in names[k::FOLDS]) for k in range(FOLDS)]
        return [
            Split(tuple(b for m in range(2, FOLDS) for b in folds[(k + m) % FOLDS]), folds[(k + 1) % FOLDS], folds[k])
            for k in range(FOLDS)
        ]
    found = []
    for repeat in range(REPEATS):
        parts: tuple[list[str], list[str], list[str]] = ([], [], [])
        for names in sets.values():
            order_ = _shuffled(names, seed, repeat)
            tenth = round(len(order_) / 10)
            ends = (len(order_) - 2 * tenth, len(order_) - tenth) if len(order_) >= ENOUGH else (0, 0)
            cut = (order_[: ends[0]], order_[ends[0] : ends[1]], order_[ends[1] :])
            for part, chosen in zip(parts, cut, strict=True):
                part.extend(chosen)
        found.append(Split(*map(tuple, parts)))
    return found


def _shuffled(names: Sequence[str], seed: int, repeat: int) -> list[str]:
    return sorted(names, key=lambda name: stable_hash([seed, repeat, name]))


def sizes_of(blocks: Iterable[Block]) -> Counter[str]:
    """Return how many mentions each person has in blocks scored together."""
    return Counter(person for block in blocks for person in block.gold)


def sums(gold: Sequence[str], found: Sequence[Hashable], sizes: Mapping[str, int]) -> tuple[float, float, int]:
    """Return (summed precision, summed recall, mentions) of the groups found in one block: sums, so that blocks add up."""
    groups, both = Counter(found), Counter(zip(gold, found, strict=True))
    p = sum(n * n / groups[group] for (_, group), n in both.items())
    r = sum(n * n / sizes[person] for (person, _), n in both.items())
    return p, r, len(found)


def b3(table: NDArray[np.float64]) -> Floats:
    """Return (3, ...) B-cubed p, r and f1, each in [0, 1], of sums (..., blocks, 3); NaN where there are no mentions."""
    p, r, n = np.moveaxis(table.sum(axis=-2), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        p, r = p / n, r / n
        return np.stack([p, r, 2 * p * r / (p + r)])


def tune(blocks: Sequence[Block], candidates: Floats | None = None) -> float:
    """Return the threshold with the best B-cubed F1, averaged over collections; of equal ones the middle one.

    Args:
        candidates: thresholds in rising order; None takes quantiles of the heights at which mentions merge.
    """
    if candidates is None:
        heights = np.concatenate([block.tree[:, 2] for block in blocks])
        if not len(heights):
            raise DataError("signatures", None, "no tuning block has two mentions", "Give larger blocks")
        candidates = np.unique(np.concatenate([[0.0], np.quantile(heights, np.linspace(0, 1, THRESHOLDS))]))
    sets = grouped(blocks, lambda block: collection_of(block.name)).values()
    values = np.mean([b3(_at_all(these, candidates))[2] for these in sets], axis=0)
    best = np.flatnonzero(values >= values.max() - 1e-12)
    return float(candidates[best[len(best) // 2]])


def _at_all(blocks: Sequence[Block], candidates: Floats) -> Floats:
    """Return (candidates, blocks, 3) sums; a block is cut once for all thresholds between two of its merges."""
    sizes = sizes_of(blocks)
    table = np.empty((len(candidates), len(blocks), 3))
    for k, block in enumerate(blocks):
        merges = np.searchsorted(np.sort(block.tree[:, 2]), candidates, side="right")
        _, place, back = np.unique(merges, return_index=True, return_inverse=True)
        table[:, k] = np.array([sums(block.gold, block.cut(float(t)), sizes) for t in candidates[place]])[back]
    return table
