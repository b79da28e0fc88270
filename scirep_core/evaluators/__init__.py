"""Evaluators: one file per protocol, from vectors or rankings to Result rows. `EVALUATORS` has one per task type.

    evaluate(task, vectors, protocol, on_missing, metrics, similarity, seed) -> list of Result rows

Faceted collections are scored by `facets`, which also takes rankings.
"""

from __future__ import annotations

from scirep_core.data.task import TaskType
from scirep_core.evaluators import authors, labels, neighbours, probes, ranking, retrieval, reviewers, triplets
from scirep_core.evaluators.pairs import Evaluator

EVALUATORS: dict[TaskType, Evaluator] = {
    "classification": probes.evaluate,
    "regression": probes.evaluate,
    "proximity": ranking.evaluate,
    "adhoc_search": ranking.evaluate,
    "retrieval": retrieval.evaluate,
    "label_ranking": labels.evaluate,
    "reviewer_matching": reviewers.evaluate,
    "author_disambiguation": authors.evaluate,
    "alternative_self": neighbours.evaluate,
    "triplets": triplets.evaluate,
}
