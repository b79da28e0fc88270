"""A difference is a row that says what it is against: `Result.against`, the other system, code, setting or reading.

The field tells a difference (or the p of one) from a score. What such a row is called, and so its id, is said here alone:

    encoder   FIRST - SECOND                                              of two systems
    split     FIRST - SECOND                                              of two codes of changed texts
    metric    difference of METRIC, Holm p of the difference of METRIC    the same metric on both sides

Rows recorded before there was the field are known by these names once, where they are read (`results.from_json`).
"""

from __future__ import annotations

import re

BETWEEN, _OF, _MINUS = " - ", "difference of ", re.compile(r"\bminus ")


def versus(first: str, second: str) -> str:
    """Return how the difference of two systems or codes is called."""
    return f"{first}{BETWEEN}{second}"


def difference_of(metric: str, what: str = "") -> str:
    """Return how the difference of a metric is called; `what` is told of it: `p of the `, `Holm p of the `.

    >>> difference_of("map", "p of the ")
    'p of the difference of map'
    """
    return f"{what}{_OF}{metric}"


def measured(name: str) -> str:
    """Return the metric that a difference is of.

    >>> measured("Holm p of the difference of map"), measured("ndcg, difference of bm25 and tfidf"), measured("map")
    ('map', 'ndcg', 'map')
    """
    before, _, after = name.rpartition(_OF)
    return before.removesuffix(", ") if before.endswith(", ") else after


def against_of(encoder: str, metric: str, split: str) -> str:
    """Return what a row recorded without `against` is against, by its names; "" for a score.

    >>> against_of("a", "difference of aop@10", "LO-HS - LL-HS"), against_of("bm25", "map", "test")
    ('LL-HS', '')
    """
    if BETWEEN in encoder:
        return encoder.partition(BETWEEN)[2]
    if _OF in metric and BETWEEN in split:
        return split.partition(BETWEEN)[2]
    if minus := _MINUS.split(metric)[1:]:
        return minus[-1]
    if _OF in metric:
        return re.split(r" and |, ", metric)[-1]
    two = re.fullmatch(rf"\w+{BETWEEN}(\w+)", metric)
    return two[1] if two else ""
