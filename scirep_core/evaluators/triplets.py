"""Training pairs as a test: does a query lie nearer to its positive than to its negative?

accuracy = share of triplets with d(query, positive) < d(query, negative); equal distances do not count, so that
constant vectors score 0. d is the task's distance, or minus what a `PairScorer` says. Rows without a negative are left
out. Splits as the data name them (train, validation). This is no number of the papers: it says whether vectors carry
what the training sets ask for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import Triple, Triples
from scirep_core.evaluators.pairs import PairScorer, evaluator, scores
from scirep_core.evaluators.rows import Asked, counted, sentence, share_row, unit
from scirep_core.kit.errors import DataError
from scirep_core.results import Result


@evaluator(Triples)
def evaluate(asked: Asked, data: Triples) -> list[Result]:
    """Return one row per split. Raises DataError for a missing vector, or a first split without a single negative."""
    rows = []
    for split in data.splits:
        right: list[NDArray[np.bool_]] = []
        total = dropped = single = 0
        for chunk in _chunks(data.rows(split)):
            triples = [triple for triple in chunk if triple.negative]
            single, total = single + len(chunk) - len(triples), total + len(triples)
            if asked.on_missing == "error":
                asked.vector_ids(key for triple in triples for key in triple)
            present = [triple for triple in triples if all(key in asked.vectors for key in triple)]
            dropped += len(triples) - len(present)
            if present:
                right.append(nearer(asked, present))
        if not right and not total and split != data.splits[0]:
            continue  # a small validation part without a single negative: nothing to score
        if not right:
            raise DataError(asked.task.name, None, f"split {split}: no triplet with a negative and three vectors")
        values = np.concatenate(right).astype(np.float64)
        shared = {
            "coverage": len(values) / total, "pool": f"{len(values)} of {total} triplets",
            "ties": "equal distances count as wrong", "note": sentence(counted(single, "rows without a negative left out")),
        }  # fmt: skip
        rows += [share_row(asked, name, values, split, split, **shared) for name in asked.metrics]
    return rows


def _chunks(rows: Iterator[Triple], size: int = 4096) -> Iterator[list[Triple]]:
    while chunk := list(islice(rows, size)):
        yield chunk


def nearer(asked: Asked, triples: Sequence[Triple]) -> NDArray[np.bool_]:
    """Return whether each query is more similar to its positive than to its negative."""
    if isinstance(asked.vectors, PairScorer):
        both = np.array([scores(asked, query, (positive, negative)) for query, positive, negative in triples])
        return np.asarray(both[:, 0] > both[:, 1])
    query, positive, negative = (asked.matrix(ids).astype(np.float64) for ids in zip(*triples, strict=True))
    if asked.similarity == "l2":
        return np.asarray(np.linalg.norm(query - positive, axis=1) < np.linalg.norm(query - negative, axis=1))
    if asked.similarity == "cosine":
        query, positive, negative = unit(query), unit(positive), unit(negative)
    return np.asarray(np.sum(query * positive, axis=1) > np.sum(query * negative, axis=1))
