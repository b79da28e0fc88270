"""Where facet rankings fail, counted: what section 6 and appendix G of CSFCube read by hand in single examples.

    failures     per facet and system: unrelated papers among the first ranks, relevant ones in the lower half
    chance       the same of a random order, in expectation, and its NDCG%20 by query
    difficulty   which properties of a query go with its score, over all queries

Means over queries, in percent, with bootstrap intervals; correlations are Spearman's, p after Holm over the properties.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.stats import spearmanr

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.evaluators.facets import System
from scirep_core.kit.formats import FACETS
from scirep_core.kit.records import Query
from scirep_core.results import Result, row_of
from scirep_core.results.metrics import dcg
from scirep_core.results.statistics import bootstrap_folds, holm

TOP = 10
LOWER_HALF = 0.5
EXPECTED = "expected ndcg%20"
RHO, HOLM_P = "rho of NDCG%20 with ", "Holm p of NDCG%20 with "
FAILURES = {
    "false positives": f"share of the first {TOP} ranks rated 0 (unrelated)",
    "lost": "share of relevant candidates (rated 2 or 3) in the lower half of the ranking",
}


def failures(collection: FacetCollection, systems: Sequence[System], resamples: int, seed: int) -> list[Result]:
    """Return both failure rates of every facet and system, %; a rate without a query to count it on is left out."""
    rows = []
    for system in systems:
        table = np.array([shares(collection, query, system.rankings[query]) for query in collection.queries]).T
        row = system.row(collection, split="all", protocol="sound", seed=seed)
        for facet, (i, metric) in product(FACETS, enumerate(FAILURES)):
            of_facet = np.array([query.facet == facet for query in collection.queries])
            columns = np.flatnonzero(of_facet & ~np.isnan(table[i]))
            if len(columns):
                low, high = bootstrap_folds(table, [columns], resamples, seed)
                rows.append(row(
                    task=f"csfcube/{facet}", metric=metric, value=100 * float(table[i, columns].mean()),
                    low=100 * float(low[i]), high=100 * float(high[i]), n=len(columns),
                ))  # fmt: skip
    return rows


def chance(collection: FacetCollection) -> list[Result]:
    """Return both failure rates that a random order has in expectation, %, and its NDCG%20, which has a value by query.

    Of a pool of n, the positions from n/2 on are the lower half, as `shares` counts.
    """
    rows, expected = [], {}
    row = row_of(collection, split="all", protocol="sound", encoder="random", note="expectation, no draw")
    for query in collection.queries:
        pool = np.sort(collection.ratings(query))[::-1]
        k = int(0.2 * len(pool))
        expected[query.query_id] = 100 * float(pool.mean() * dcg(np.ones(k, dtype=int)) / (dcg(pool[:k]) or 1))
    mean = float(np.mean([*expected.values()]))
    rows.append(row(task="csfcube/all", metric=EXPECTED, value=mean, n=len(expected), by_query=expected))
    for facet in FACETS:
        pools = [collection.ratings(query) for query in collection.queries if query.facet == facet]
        useful = [pool for pool in pools if (pool >= 2).any()]
        lower = [np.mean(np.arange(len(pool)) >= LOWER_HALF * len(pool)) for pool in useful]
        for metric, of in zip(FAILURES, ([np.mean(pool == 0) for pool in pools], lower), strict=True):
            if of:
                rows.append(row(task=f"csfcube/{facet}", metric=metric, value=100 * float(np.mean(of)), n=len(of)))
    return rows


def shares(collection: FacetCollection, query: Query, ranking: Sequence[str]) -> tuple[float, float]:
    """Return the two FAILURES of one ranking, 0 to 1; the second is NaN for a query that has nothing to lose."""
    rating = {j.candidate: j.rating for j in collection.judgements[query]}
    ordered = np.array([rating[candidate] for candidate in ranking])
    relevant = np.flatnonzero(ordered >= 2)
    lost = float(np.mean(relevant >= LOWER_HALF * len(ordered))) if len(relevant) else float("nan")
    return float(np.mean(ordered[:TOP] == 0)), lost


def difficulty(collection: FacetCollection, scores: Sequence[Result], seed: int) -> list[Result]:
    """Return rho and its p of query properties with the mean NDCG%20 over systems; none where either does not vary.

    Args:
        scores: a row of every system, with its value by query.
    """
    queries = collection.queries
    mean = np.mean([[row.by_query[query.query_id] for query in queries] for row in scores], axis=0)
    sentences = [collection.facet_sentences(query) for query in queries]
    properties = {
        "relevant candidates (rated 2 or 3)": [int((collection.ratings(query) >= 2).sum()) for query in queries],
        "size of the pool": [len(collection.candidates(query)) for query in queries],
        "sentences of the facet": [*map(len, sentences)],
        "words of the facet": [sum(len(sentence.split()) for sentence in of) for of in sentences],
        "candidates that the query paper cites": [
            sum("cited" in judged.sources for judged in collection.judgements[query]) for query in queries
        ],
    }
    vary = {name: values for name, values in properties.items() if len(set(values)) > 1 < len(set(mean))}
    tests = [spearmanr(values, mean) for values in vary.values()]
    row = row_of(
        collection, task="csfcube/all", split="all", protocol="sound", n=len(mean), seed=seed,
        encoder=f"mean of {', '.join(row.encoder for row in scores)}",
    )  # fmt: skip
    adjusted = holm([float(test.pvalue) for test in tests])
    return [
        row(metric=f"{what}{name}", value=float(value))
        for name, test, p in zip(vary, tests, adjusted, strict=True)
        for what, value in ((RHO, test.statistic), (HOLM_P, p))
    ]
