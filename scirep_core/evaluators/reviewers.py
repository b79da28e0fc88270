"""Paper-reviewer matching (SciRepEval A.2): reviewers ranked by what they have written.

The score of a reviewer for a submission is the mean of the three highest cosine similarities (or of a `PairScorer`'s
scores) between the submission and the reviewer's papers; of fewer papers, the mean of all. Relevant: expertise 3 (hard),
2 or 3 (soft). P@k divides by k even where fewer reviewers are judged. One run, over the pairs of the hard judgements,
serves both; `mean_of_four` is the mean of P@5 and P@10, hard and soft, the number SciRepEval's tables print (its code
prints the four). `pairs_ordered` asks the reverse, which suits ratings that each reviewer gave to a few submissions: of a
reviewer's pairs of submissions with different grades, the share in the right order, each pair weighted by the difference (one
minus the loss of Stelmakh, Wieting, Neubig and Shah 2023; 50 is chance, equal scores count half); a mean over reviewers.

Ties: trec_eval (`paper`) or a hash of both ids (`sound`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scirep_core.data.task import Reviewers
from scirep_core.evaluators.pairs import evaluator, own, scores
from scirep_core.evaluators.ranking import TIES, Key, Qrels, judgements, score_run
from scirep_core.evaluators.rows import Asked, Floats, counted, draws, interval, mean_row, sentence
from scirep_core.kit.errors import DataError
from scirep_core.results import Result
from scirep_core.results.statistics import counts_of

FOUR = ("hard_p@5", "hard_p@10", "soft_p@5", "soft_p@10")
ORDERED = "pairs_ordered"
TOP = 3


@evaluator(Reviewers, "cosine")
def evaluate(asked: Asked, data: Reviewers) -> list[Result]:
    """Return one row per metric, a mean over submissions. Similarity is cosine unless another is asked for.

    Raises DataError for a missing vector. With `drop`, which the published code does not know (it stops), a
    submission or a reviewer without any vector is left out, a reviewer's missing paper does not count.
    """
    qrels, twice = judgements(data.hard, asked.protocol, asked.task.name)
    soft, _ = judgements(data.soft, asked.protocol, asked.task.name)
    needed = {reviewer for judged in qrels.values() for reviewer in judged}
    unknown = next((reviewer for reviewer in needed if reviewer not in data.reviewers), None)
    if unknown is not None:
        raise DataError(asked.task.name, None, f"reviewer {unknown} has no list of papers")
    if set(soft) != set(qrels):
        raise DataError(asked.task.name, None, "hard and soft judgements name different submissions")
    written = {paper for reviewer in needed for paper in data.reviewers[reviewer]}
    vector_ids = asked.vector_ids([*(own(asked.vectors, query) for _, query in qrels), *sorted(written)])
    run = {}
    for key, judged in qrels.items():
        if own(asked.vectors, key[1]) not in vector_ids:
            continue
        papers = {r: [p for p in data.reviewers[r] if p in vector_ids] for r in judged}
        found = {reviewer: top_mean(asked, key[1], theirs) for reviewer, theirs in papers.items() if theirs}
        if found:
            run[key] = found
    if not run:
        raise DataError("vectors", None, f"no submission of {asked.task.name} has a vector and a reviewer with one")
    table: dict[str, dict[str, float]] = {}
    cuts = {name.split("_", 1)[1] for name in (*FOUR, *asked.metrics) if name not in ("mean_of_four", ORDERED)}
    for kind, judged_by in (("hard", qrels), ("soft", soft)):
        # precision is 0 where nothing is relevant; under `sound` that submission says nothing and is left out
        values = score_run(judged_by, run, sorted(cuts), asked.protocol)
        for i, cut in enumerate(sorted(cuts)):
            table[f"{kind}_{cut}"] = {query: float(v[i]) for (_, query), v in values.items()}
    both = [query for query in table[FOUR[0]] if query in table[FOUR[2]]]
    table["mean_of_four"] = {query: float(np.mean([table[name][query] for name in FOUR])) for query in both}
    if ORDERED in asked.metrics:
        table[ORDERED] = pairs_ordered(qrels, run)
    pairs, ranked = sum(map(len, qrels.values())), sum(map(len, run.values()))
    short = sum(len(found) < 10 for found in run.values())
    said = sentence(
        counted(twice, "pairs judged twice, the first row counts"),
        counted(short, "submissions with fewer than 10 judged reviewers"),
    )
    shared: dict[str, Any] = {
        "ties": TIES[asked.protocol],
        "coverage": ranked / pairs * len(written & vector_ids) / len(written),
        "pool": f"{ranked} of {pairs} judged pairs scored, {len(run)} of {len(qrels)} queries, "
        f"{len(written & vector_ids)} of {len(written)} papers of reviewers",
    }
    rows = []
    for name in asked.metrics:
        gone = len(run) - len(table[name]) if name != ORDERED else 0
        note = sentence(said, counted(gone, "submissions with nothing relevant left out"))
        row = mean_row(asked, name, table[name], **shared, note=note)
        if name == "mean_of_four":  # of the four numbers: under `sound` they may stand on different submissions
            value, spread = mean_of_four(asked, [query for _, query in run], table)
            row = replace(row, value=value, replicates=spread.astype(np.float32), **interval(spread))
        rows.append(row)
    return rows


def pairs_ordered(qrels: Qrels, run: Mapping[Key, Mapping[str, float]]) -> dict[str, float]:
    """Return the weighted share of each reviewer's pairs of submissions that are in the right order, in [0, 1].

    Reviewers without two submissions of different grade have none. Raises DataError where no reviewer has.
    """
    rated: dict[str, list[tuple[int, float]]] = {}
    for key, scored in run.items():
        for reviewer, score in scored.items():
            rated.setdefault(reviewer, []).append((qrels[key][reviewer], score))
    shares = {}
    for reviewer, of_one in rated.items():
        grade, score = np.array(of_one).T
        weight = np.maximum(np.subtract.outer(grade, grade), 0)
        if weight.any():
            right = (np.sign(np.subtract.outer(score, score)) + 1) / 2
            shares[reviewer] = float(np.sum(weight * right) / np.sum(weight))
    if not shares:
        raise DataError("reviewers", None, "no reviewer has two submissions of different grade")
    return shares


def mean_of_four(
    asked: Asked, queries: Sequence[str], table: Mapping[str, Mapping[str, float]]
) -> tuple[float, Floats]:
    """Return the plain mean of the four numbers and its (resamples,) bootstrap values, 0-100.

    All submissions are drawn; each of the four numbers is the mean over the drawn ones it stands on.
    """
    values = np.array([[table[name].get(query, np.nan) for query in queries] for name in FOUR])
    there = np.isfinite(values)
    filled = np.where(there, values, 0.0)
    spread = []
    for picks in draws(asked, len(queries)):
        counts = counts_of(picks, len(queries))
        sizes = counts @ there.T
        means = np.divide(counts @ filled.T, sizes, out=np.full(sizes.shape, np.nan), where=sizes > 0)
        spread.append(np.nan_to_num(np.nanmean(np.where(sizes.any(1)[:, None], means, 0.0), axis=1)))
    return 100 * float(np.mean(np.nanmean(values, axis=1))), 100 * np.concatenate(spread)


def top_mean(asked: Asked, query: str, papers: Sequence[str]) -> float:
    """Return the mean of the three highest similarities of a submission to a reviewer's papers (fewer: of them all)."""
    return float(np.mean(np.sort(scores(asked, query, papers))[-TOP:]))
