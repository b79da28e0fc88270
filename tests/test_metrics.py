"""Ranking metrics: hand-computed values, properties, and pytrec_eval as an independent oracle."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from scirep_core.kit.errors import ConfigError
from scirep_core.results.metrics import expected_average_precision, parse, score

ratings = st.lists(st.integers(0, 3), min_size=1, max_size=60)


RANKED = [3, 0, 2, 1, 0, 2]
"""Relevant (>= 2) at ranks 1, 3, 6; R = 3."""


@pytest.mark.parametrize(("name", "ranked", "value"), [
    ("r_precision_published", RANKED, 3 / 6), ("r_precision", RANKED, 2 / 3), ("p@2", RANKED, 1 / 2), ("r@3", RANKED, 2 / 3),
    ("p@20", RANKED, 3 / 20),  # divided by k though the list is shorter
    ("map", RANKED, (1 / 1 + 2 / 3 + 3 / 6) / 3),
    ("mrr", [0, 1, 2], 1 / 3),  # a rating of 1 is not relevant
    ("ndcg@3", RANKED, (3 / 1 + 0 / 1 + 2 / math.log2(3)) / (3 / 1 + 2 / 1 + 2 / math.log2(3))),
    ("recall@1000", np.array([2, 0]), 1),
])  # fmt: skip
def test_hand_computed_values(name, ranked, value):
    assert score(name, ranked) == pytest.approx(value)


def test_percentages_are_truncated_not_rounded():
    # int(0.20 * 9) = 1: only the first rank counts
    assert score("ndcg%20", [1, 3, 3, 0, 0, 0, 0, 0, 0]) == pytest.approx(1 / 3)
    # int(0.20 * 107) = 21, as the notes to the published script say
    many = [0] * 21 + [3] + [0] * 85
    assert score("ndcg%20", many) == 0
    assert score("ndcg%100", many) > 0
    # and as the published script truncates: 29 / 100 * 100 is a little less than 29
    assert score("ndcg%29", [0] * 28 + [3] + [0] * 71) == 0


@given(ratings)
def test_unrelated_papers_at_the_end_leave_precision_forms_alone(ranked):
    for name in ("map", "mrr", "r_precision", "r_precision_published", "r@20", "ndcg@20"):
        assert score(name, [*ranked, 0]) == pytest.approx(score(name, ranked))


@given(ratings)
def test_standard_metrics_agree_with_pytrec_eval(ranked):
    binary = {"q": {f"d{i}": int(r >= 2) for i, r in enumerate(ranked)}}
    run = {"q": {f"d{i}": float(len(ranked) - i) for i in range(len(ranked))}}
    oracle = pytrec_eval.RelevanceEvaluator(binary, {"map", "recip_rank", "P_20", "recall_20", "Rprec"}).evaluate(run)
    same = {"map": "map", "mrr": "recip_rank", "p@20": "P_20", "r@20": "recall_20", "r_precision": "Rprec"}
    assert {theirs: score(name, ranked) for name, theirs in same.items()} == pytest.approx(oracle["q"])


@pytest.mark.parametrize("name", ["ndgc%20", "p", "map@5", "ndcg%0", "ndcg%101", "mrr%20", "p%20", "r@0", ""])
def test_wrong_names_are_refused(name):
    with pytest.raises(ConfigError, match=r"metric"):
        parse(name)


@pytest.mark.parametrize("ranked", [[2.7, 0], [math.nan, 2], np.array([math.inf, 0]), [[2, 0], [0, 2]], 3])
def test_ratings_that_are_no_list_of_whole_numbers_are_refused(ranked):
    with pytest.raises(ConfigError, match="list of whole numbers"):
        score("map", ranked)


@pytest.mark.parametrize(("relevant", "n"), [(0, 3), (1, 1), (1, 4), (2, 5), (5, 5)])
def test_expected_average_precision_is_the_mean_over_all_orders(relevant, n):
    orders = set(itertools.permutations([3] * relevant + [0] * (n - relevant)))
    mean = np.mean([score("map", order) for order in orders])
    assert expected_average_precision(relevant, n) == pytest.approx(mean)
