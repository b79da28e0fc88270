"""S2AND's pairwise model: how likely are two mentions one person? (Subramanian et al. 2021; SciRepEval A.2)

Pairs of mentions of one block are drawn from the training blocks, at most 100,000 a collection, as published. Two
gradient-boosted forests learn which are one person: one from all features, one without those of names, so that a rare
name does not decide everything; the distance of a pair is one minus the mean of their probabilities. Missing values go
the way of a split that was learnt for them, and probabilities rise or fall with a feature as `FEATURES` says.

Published are LightGBM forests whose settings hyperopt chooses by 25 trials on validation pairs, and a threshold from 25
more trials. Here it is scikit-learn's histogram forest, which grows trees the same way, with fixed settings, and a grid
of 99 thresholds. One model serves all collections (the published script prints one per collection, tried on every other,
and one per union of the other five; SciRepEval does not say which of its numbers are averaged).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.evaluators.authors import author_features
from scirep_core.evaluators.authors.author_blocks import (
    Block,
    Split,
    by_collection,
    collection_of,
    linked,
    sizes_of,
    sums,
    tune,
)
from scirep_core.evaluators.authors.author_features import FEATURES, NAMELESS, Ints, Singles, Table
from scirep_core.evaluators.rows import Floats
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import grouped

MOST_PAIRS = 100_000
"""Training pairs of a collection."""
CANDIDATES = np.linspace(0.01, 0.99, 99)
"""Distances tried as threshold."""
TOGETHER = 1000
"""Mentions whose pairs are compared at a time."""
KEPT = 4_000_000
"""Pairs whose metadata are kept in memory between encoders (29 numbers of 4 bytes each)."""
SMALL = 20_000
"""Pairs below which one thread fits faster than several, above all on a busy machine."""
SETTINGS: dict[str, Any] = {"max_iter": 100, "learning_rate": 0.1, "max_leaf_nodes": 15, "min_samples_leaf": 20,
                            "l2_regularization": 1.0, "early_stopping": False}  # fmt: skip


@dataclass(frozen=True)
class Mentions:
    """The mentions of a task: what is known of them, their blocks, whose they are, and their vectors."""

    table: Table
    blocks: Mapping[str, Ints]
    gold: NDArray[np.str_]
    vectors: Floats | None = None
    """(mentions, dim), NaN where missing; None leaves the embedding out of the model."""
    similarity: str = "cosine"
    likeness: dict[str, Singles] = field(default_factory=dict)
    """Similarities of the vectors, by block, once they were asked for."""


class Model(NamedTuple):
    """Two fitted forests and how many pairs they have seen."""

    whole: Any
    nameless: Any
    used: NDArray[np.bool_]
    pairs: int

    def distances(self, pairs: Singles) -> Floats:
        """Return (pairs,) distances in [0, 1] of (pairs, features)."""
        if not len(pairs):
            return np.zeros(0)
        with _threads(len(pairs)):
            both = [self.whole.predict_proba(pairs[:, self.used]),
                    self.nameless.predict_proba(pairs[:, self.used & NAMELESS])]  # fmt: skip
        return np.asarray(1 - np.mean([p[:, 1] for p in both], axis=0))


class Outcome(NamedTuple):
    """One split, done: the threshold, and the sums of B-cubed of each block scored."""

    threshold: float
    sums: dict[str, tuple[float, float, int]]
    pairs: int


def features(mentions: Mentions, blocks: Sequence[str]) -> Iterator[tuple[str, Singles]]:
    """Yield (block, its pairs' features), a thousand mentions at a time; from memory where they were asked for before."""
    metadata = mentions.table.memo.setdefault("metadata", {})
    part: list[str] = []
    for k, name in enumerate(blocks):
        part.append(name)
        last = k + 1 == len(blocks)
        if last or sum(len(mentions.blocks[b]) for b in (*part, blocks[k + 1])) > TOGETHER:
            known = _compared(metadata, mentions, part, partial(author_features.metadata, mentions.table))
            if mentions.vectors is None:
                like = [np.full(len(one), np.nan, dtype=np.float32) for one in known]
            else:
                compare = partial(author_features.likeness, mentions.vectors, similarity=mentions.similarity)
                like = _compared(mentions.likeness, mentions, part, compare)
            yield from ((b, np.column_stack(columns)) for b, *columns in zip(part, known, like, strict=True))
            part = []


def _compared(memo: dict[str, Singles], mentions: Mentions, names: Sequence[str], compare: Any) -> list[Singles]:
    """Return what `compare` gives for the pairs of each block, all that is not in memory in one go."""
    missing = [name for name in names if name not in memo]
    found: dict[str, Singles] = {}
    if missing:
        places = [mentions.blocks[name] for name in missing]
        ends = np.cumsum([len(one) * (len(one) - 1) // 2 for one in places])
        found = dict(zip(missing, np.split(compare(places), ends[:-1]), strict=True))
        if sum(map(len, memo.values())) + ends[-1] <= KEPT:
            memo |= found
    return [found[name] if name in found else memo[name] for name in names]


def training(
    mentions: Mentions, blocks: Sequence[str], seed: int, most: int = MOST_PAIRS
) -> tuple[Singles, NDArray[np.bool_]]:
    """Return (pairs, features) and whether each is one person, from at most `most` seeded pairs of each collection."""
    rng = np.random.default_rng(seed)
    rows, same = [np.zeros((0, len(FEATURES)), dtype=np.float32)], [np.zeros(0, dtype=bool)]
    for names in by_collection(sorted(blocks)).values():
        counts = np.array([len(mentions.blocks[b]) * (len(mentions.blocks[b]) - 1) // 2 for b in names])
        total = int(counts.sum())
        chosen = np.arange(total) if total <= most else np.sort(rng.choice(total, most, replace=False))
        starts = np.cumsum(counts) - counts
        picks = dict(zip(names, np.split(chosen, np.searchsorted(chosen, starts[1:])), strict=True))
        start = dict(zip(names, starts, strict=True))
        for name, pairs in features(mentions, [b for b in names if len(picks[b])]):
            at = picks[name] - start[name]
            i, j = author_features.pairs_of([len(mentions.blocks[name])])
            gold = mentions.gold[mentions.blocks[name]]
            rows.append(pairs[at])
            same.append((gold[i] == gold[j])[at])
    return np.concatenate(rows), np.concatenate(same)


def fit(pairs: Singles, same: NDArray[np.bool_], seed: int, embedding: bool = True) -> Model:
    """Return the two forests. Raises DataError where the pairs are all of one kind."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    if len(np.unique(same)) < 2:
        kind = "the same person" if len(same) and same[0] else "different persons" if len(same) else "nobody"
        reason = f"all {len(same)} training pairs are of {kind}: nothing to learn"
        raise DataError("signatures", None, reason, "Give more blocks")
    used = np.array([embedding or feature.group != "embedding" for feature in FEATURES])
    used &= ~np.isnan(pairs).all(axis=0)  # a column without a value teaches nothing
    fitted = []
    for columns in (used, used & NAMELESS):
        if not columns.any():
            reason = "nothing but names is known of the mentions"
            raise DataError("signatures", None, reason, "Give vectors or metadata")
        directions = [f.direction for f, on in zip(FEATURES, columns, strict=True) if on]
        forest = HistGradientBoostingClassifier(monotonic_cst=directions, random_state=seed, **SETTINGS)
        with _threads(len(pairs)):
            fitted.append(forest.fit(pairs[:, columns], same))
    return Model(fitted[0], fitted[1], used, len(pairs))


def _threads(pairs: int) -> Any:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(1 if pairs < SMALL else None)


def trees(mentions: Mentions, model: Model, blocks: Sequence[str]) -> list[Block]:
    """Return the linkage tree of each block from the model's distances."""
    found: list[Block] = []
    part: list[tuple[str, Singles]] = []
    for name, pairs in features(mentions, blocks):
        part.append((name, pairs))
        if name == blocks[-1] or sum(len(one) for _, one in part) > SMALL:  # many small blocks in one call
            ends = np.cumsum([len(one) for _, one in part])
            distances = np.split(model.distances(np.concatenate([one for _, one in part])), ends[:-1])
            for (b, _), one in zip(part, distances, strict=True):
                found.append(linked(b, tuple(mentions.gold[mentions.blocks[b]]), one))
            part = []
    return found


def run(mentions: Mentions, split: Split, seed: int) -> Outcome:
    """Fit on the training blocks, tune on the validation blocks, cluster the test blocks."""
    model = fit(*training(mentions, split.train, seed), seed, mentions.vectors is not None)
    threshold = tune(trees(mentions, model, split.validation), CANDIDATES)
    return Outcome(threshold, scored(trees(mentions, model, split.test), threshold), model.pairs)


def scored(blocks: Sequence[Block], threshold: float) -> dict[str, tuple[float, float, int]]:
    """Return the sums of B-cubed of each block; a person's mentions are counted within a collection."""
    of = grouped(blocks, lambda block: collection_of(block.name))
    sizes = {name: sizes_of(these) for name, these in of.items()}
    return {block.name: sums(block.gold, block.cut(threshold), sizes[collection_of(block.name)]) for block in blocks}
