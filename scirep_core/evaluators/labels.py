"""Ranking labels for a paper: fine- and coarse-grained classification as SciMult does it (4.2, Tables 3, 4, A3).

A paper's labels are found among all label texts (name and definition) by similarity, inner product unless the task
says otherwise. Fine: recall@k = gold labels among the first k / gold labels, mean over papers. `recall@k_name_match`
(Table 3): a stable partition, labels whose name occurs in the paper first, the others after, each in order of
similarity; the plain row (Table A3) shows the model alone. Coarse (bi-encoder): the first label is the prediction,
F1 over all papers, train, validation and test merged. Ties go by label order; papers without gold are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.datasets.task import LabelSpace, Task
from scirep_core.errors import ConfigError, DataError
from scirep_core.evaluators.label_scores import label_rows
from scirep_core.evaluators.rows import (
    Asked,
    Vectors,
    counted,
    mean_row,
    ranks_of,
    score_rows,
    sentence,
    similarity_of,
)
from scirep_core.metrics import from_ranks
from scirep_core.results import Result

BEST = ("f1_macro", "f1_micro", "accuracy")
"""Metrics of the best label alone."""
MATCH = "_name_match"


def evaluate(
    task: Task,
    vectors: Vectors,
    protocol: str = "paper",
    on_missing: str = "error",
    metrics: Sequence[str] | None = None,
    similarity: str | None = None,
    seed: int = 0,
) -> list[Result]:
    """Return one row per metric, ranking metrics also with `_name_match` where the task says which names occur.

    Raises DataError for a missing vector, or F1 asked of papers with several labels; ConfigError for `_name_match`
    without matches.
    """
    data = task.payload
    assert isinstance(data, LabelSpace)
    names = _derived(tuple(metrics or task.metrics), bool(data.matched))
    asked = Asked(task, vectors, protocol, on_missing, names, similarity_of(similarity or task.similarity), seed)
    gold = {paper: ids for paper, ids in data.gold.items() if ids}
    kept = asked.kept([*data.labels, *gold])
    labels, papers = [key for key in data.labels if key in kept], [key for key in gold if key in kept]
    if not labels or not papers:
        raise DataError("vectors", None, f"no {'paper' if labels else 'label'} of {task.name} has a vector")
    best = [name for name in names if name in BEST]
    several = next((paper for paper in papers if len(gold[paper]) > 1), None)
    if best and several is not None:
        raise DataError(task.name, None, f"paper {several} has {len(gold[several])} labels",
                        f"{best[0]} takes one label a paper; ask for recall@k")  # fmt: skip
    place = {key: i for i, key in enumerate(labels)}
    values: dict[str, dict[str, float]] = {name: {} for name in names if name not in BEST}
    first: list[int] = []
    for i, row in score_rows(asked.matrix(papers), asked.matrix(labels), asked.similarity):
        paper = papers[i]
        first.append(int(np.argmax(row)))
        at = np.array([place[key] for key in gold[paper] if key in place], dtype=np.int64)
        plain = _padded(ranks_of(row, at), len(gold[paper]))
        matched = np.array([place[key] for key in data.matched.get(paper, ()) if key in place], dtype=np.int64)
        moved = _padded(partition_ranks(row, at, matched), len(gold[paper])) if data.matched else plain
        ones = np.ones(len(plain), dtype=np.int64)
        for name, found in values.items():
            found[paper] = from_ranks(name.removesuffix(MATCH), moved if name.endswith(MATCH) else plain, ones)
    n_matched = np.mean([len(data.matched.get(paper, ())) for paper in papers])
    shared: dict[str, Any] = {
        "ties": "label order",
        "coverage": len(papers) * len(labels) / (len(gold) * len(data.labels)),
        "pool": f"{len(labels)} of {len(data.labels)} labels, {len(papers)} of {len(gold)} papers",
        "note": counted(len(data.gold) - len(gold), "papers without a label left out"),
    }
    rows = []
    for name in names:
        if name in BEST:
            number = {key: i for i, key in enumerate(data.labels)}
            truth = np.array([number[gold[paper][0]] for paper in papers])
            guess = np.array([number[labels[i]] for i in first])
            rows += label_rows(asked, [name], truth, guess, **shared)
            continue
        note = f"on average {n_matched:.1f} labels match by name" if name.endswith(MATCH) else ""
        rows.append(mean_row(asked, name, values[name], **(shared | {"note": sentence(str(shared["note"]), note)})))
    return rows


def _derived(metrics: Sequence[str], matched: bool) -> tuple[str, ...]:
    """Return metrics with their `_name_match` forms."""
    unable = [name for name in metrics if name.endswith(MATCH) and not matched]
    if unable:
        raise ConfigError(f"metric {unable[0]!r} needs matched.jsonl, which the task has not")
    pairs = [
        (name, name + MATCH) if matched and name not in BEST and MATCH not in name else (name,) for name in metrics
    ]
    return tuple(dict.fromkeys(name for pair in pairs for name in pair))


def _padded(ranks: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return ranks with inf for the gold labels that have no vector: never found, but still counted."""
    return np.concatenate([ranks, np.full(size - len(ranks), np.inf)])


def partition_ranks(
    row: NDArray[np.float32], positions: NDArray[np.int64], matched: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return ranks when the matched positions come first, each part in order of score, without sorting all."""
    chosen = np.zeros(len(row), dtype=bool)
    chosen[matched] = True
    ranks = np.empty(len(positions))
    for part, before in ((chosen, 0), (~chosen, int(chosen.sum()))):
        inside = np.cumsum(part) - 1  # place within the part, order kept
        mine = part[positions]
        ranks[mine] = before + ranks_of(row[part], inside[positions[mine]])
    return ranks
