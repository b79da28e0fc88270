"""What CSFCube says of itself: Table 1, Figure 2, the pooling methods, cited papers (appendix D), agreement (Table 2).

Readings that the printed numbers need and the text does not state:
- "rated +1" in Table 1 counts ratings of 1 and above;
- a raw rating of -1 (17 pairs; presumably none given) counts as 0 in Table 2;
- Table 2 is a median over queries; "post" is, per query, the mean of the two annotators' agreement with the
  adjudicated ratings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FACETS
from scirep_core.kit.records import Query
from scirep_core.results.statistics import Agreement, agreement, bootstrap_median

CELLS = tuple(itertools.product(("pre", "post"), FACETS, Agreement._fields))
"""Stage, facet and coefficient of the cells of Table 2."""


def statistics_table(collection: FacetCollection) -> dict[tuple[str, str], float]:
    """Return Table 1: {(statistic, column): value}."""
    ratings = [collection.ratings(query) for query in collection.queries]
    sizes = np.array([len(r) for r in ratings])
    one = np.array([(r >= 1).sum() for r in ratings])
    two = np.array([(r >= 2).sum() for r in ratings])
    table: dict[tuple[str, str], float] = {
        ("Query abstract-facet pairs", "all"): len(ratings),
        ("Unique query abstracts", "all"): len({query.paper_id for query in collection.queries}),
        ("Mean candidate pool size", "all"): float(sizes.mean()),
        ("Query-candidate pairs", "all"): int(sizes.sum()),
    }
    for name, counts in (("Candidates rated +1 per query", one), ("Candidates rated +2/+3 per query", two)):
        table |= {
            (name, "min"): int(counts.min()),
            (name, "max"): int(counts.max()),
            (name, "avg"): float(counts.mean()),
        }
    return table


def joint_counts(collection: FacetCollection) -> dict[tuple[str, str], NDArray[np.int64]]:
    """Return Figure 2: for every pair of facets, a 4 x 4 table of candidates by rating under each facet."""
    tables: dict[tuple[str, str], NDArray[np.int64]] = {}
    for first, second in collection.two_facet_papers().values():
        table = tables.setdefault((first.facet, second.facet), np.zeros((4, 4), dtype=np.int64))
        other = {j.candidate: j.rating for j in collection.judgements[second]}
        for judgement in collection.judgements[first]:
            if judgement.candidate in other:
                table[judgement.rating, other[judgement.candidate]] += 1
    return tables


def cited_share(collection: FacetCollection) -> dict[str, tuple[float, int]]:
    """Return appendix D: per facet, the share of cited candidates rated 0 or 1 and how many there are."""
    shares = {}
    for facet in FACETS:
        judged = [one for query in collection.queries if query.facet == facet for one in collection.judgements[query]]
        cited = [one.rating for one in judged if "cited" in one.sources]
        shares[facet] = (float(np.mean(np.array(cited) <= 1)) if cited else math.nan, len(cited))
    return shares


def pool_overlap(collection: FacetCollection) -> tuple[list[str], NDArray[np.float64], NDArray[np.int64]]:
    """Return (methods, overlap, sizes): overlap[i, j] = share of method i's pooled candidates that j pooled too.

    Pools are per query paper. The paper's own figure (1-4 papers shared by the top 25) is over rankings of 800,000
    papers, which were not released; this is what the released pools can say.
    """
    rated = {query.paper_id: collection.judgements[query] for query in collection.queries}
    methods = sorted({source for judged in rated.values() for j in judged for source in j.sources})
    member = {
        method: {(p, j.candidate) for p, js in rated.items() for j in js if method in j.sources} for method in methods
    }
    sizes = np.array([len(member[method]) for method in methods], dtype=np.int64)
    overlap = np.array([[len(member[a] & member[b]) / max(len(member[a]), 1) for b in methods] for a in methods])
    return methods, overlap.reshape(len(methods), len(methods)), sizes


class QueryAgreement(NamedTuple):
    """Agreement on one query: between the annotators, and of the annotators with the adjudicator (mean of both)."""

    query: Query
    pre: Agreement
    post: Agreement
    overruled: float
    """Share of candidates whose adjudicated rating differs from both annotators' ratings."""


def query_agreement(collection: FacetCollection) -> list[QueryAgreement]:
    """Return the agreement on every query that two annotators rated. Raises ConfigError where no query was."""
    found = []
    for query in collection.queries:
        judged = collection.judgements[query]
        if not judged or len(judged[0].raw) != 2:
            continue
        first, second = (np.array([max(j.raw[i][1], 0) for j in judged]) for i in (0, 1))
        gold = collection.ratings(query)
        with_gold = [agreement(list(rater), list(gold)) for rater in (first, second)]
        post = Agreement(
            *(float(np.nanmean(pair)) if not np.isnan(pair).all() else math.nan for pair in np.array(with_gold).T)
        )
        overruled = float(np.mean((gold != first) & (gold != second)))
        found.append(QueryAgreement(query, agreement(list(first), list(second)), post, overruled))
    if not found:
        raise ConfigError(
            f"{collection.name}: the gold files hold no annotators' ratings (relevance_ann...), so nothing agrees"
        )
    return found


def per_query(rows: Sequence[QueryAgreement]) -> dict[tuple[str, str], dict[str, float]]:
    """Return {(facet, "pre/spearman"): {query id: value}}: the values behind each median of Table 2, without undefined ones."""
    found = {}
    for stage, facet, name in CELLS:
        values = {r.query.query_id: float(getattr(getattr(r, stage), name)) for r in rows if r.query.facet == facet}
        if defined := {query: round(value, 6) for query, value in values.items() if not math.isnan(value)}:
            found[facet, f"{stage}/{name}"] = defined
    return found


class MedianAgreement(NamedTuple):
    """One cell of Table 2: the median over a facet's queries with a bootstrap interval over queries."""

    facet: str
    stage: str
    coefficient: str
    value: float
    low: float
    high: float
    n: int


def agreement_table(rows: Sequence[QueryAgreement], resamples: int, seed: int) -> list[MedianAgreement]:
    """Return Table 2 with intervals; percent agreement is on 0-100, the coefficients as they are."""
    table = []
    for stage, facet, name in CELLS:
        found = [getattr(getattr(row, stage), name) for row in rows if row.query.facet == facet]
        values = (100.0 if name == "percent" else 1.0) * np.array(found, dtype=np.float64)
        low, high = bootstrap_median(values, resamples, seed)
        n = int((~np.isnan(values)).sum())
        table.append(MedianAgreement(facet, stage, name, float(np.nanmedian(values)), low, high, n))
    return table
