"""Intervals, paired tests and agreement against independent implementations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scirep_core.kit.errors import NumericError
from scirep_core.results.statistics import (
    agreement,
    bootstrap,
    bootstrap_folds,
    bootstrap_median,
    holm,
    mean_of_folds,
    paired_randomisation,
)


def test_mean_of_folds_weighs_folds_alike_not_queries():
    values = np.array([[0.0, 0.0, 0.0, 1.0]])
    assert mean_of_folds(values, [np.array([0, 1, 2]), np.array([3])])[0] == 0.5
    assert mean_of_folds(values, [np.arange(4)])[0] == 0.25


def test_bootstrap_agrees_with_scipy_on_one_fold():
    values = np.random.default_rng(1).random(40)
    low, high = bootstrap_folds(values[None], [np.arange(40)], 20000, 0)
    oracle = stats.bootstrap((values,), np.mean, n_resamples=20000, method="percentile", rng=2).confidence_interval
    assert low[0] == pytest.approx(oracle.low, abs=0.004)
    assert high[0] == pytest.approx(oracle.high, abs=0.004)


def test_bootstrap_is_seeded_and_paired_across_rows():
    values = np.random.default_rng(0).random((1, 30))
    both = np.concatenate([values, values + 1])
    first, again = (bootstrap_folds(both, [np.arange(15), np.arange(15, 30)], 500, 3) for _ in range(2))
    assert first[0][1] == pytest.approx(first[0][0] + 1)  # the same resamples for both rows
    assert np.array_equal(first, again)


@given(st.lists(st.floats(-1, 1, allow_nan=False), min_size=1, max_size=9))
@settings(max_examples=40)
def test_small_samples_get_the_exact_randomisation_test(values):
    differences = np.array(values)
    if not differences.any():
        assert paired_randomisation(differences, 1000, 0) == 1
        return
    flips = [abs(np.mean(differences * signs)) for signs in itertools.product((1, -1), repeat=len(values))]
    expected = np.mean(np.array(flips) >= abs(differences.mean()) - 1e-12)
    assert paired_randomisation(differences, 1000, 0) == pytest.approx(expected)


def test_large_samples_agree_with_scipy_permutation_test():
    differences = np.random.default_rng(5).normal(0.15, 0.5, 40)
    oracle = stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=20000, rng=1)
    assert paired_randomisation(differences, 20000, 0) == pytest.approx(oracle.pvalue, abs=0.01)
    assert paired_randomisation(np.full(30, 0.2), 5000, 0) == pytest.approx(1 / 5001)
    assert paired_randomisation(np.zeros(30), 1000, 0) == 1


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert len(holm([])) == 0


@pytest.mark.parametrize("n", [5, 40])
def test_a_difference_that_is_no_number_has_no_p(n):
    """Compared with NaN no flip is as extreme, which would be the smallest p there is."""
    differences = np.full(n, 0.1)
    differences[2] = math.nan
    with pytest.raises(NumericError, match=f"difference 2 of {n} is not a finite number"):
        paired_randomisation(differences, 1000, 0)


def test_kappa_by_hand():
    """Equal in 3 of 5, by chance in (3 * 3 + 2 * 2) / 25 = 0.52; levels that no one uses change nothing."""
    assert agreement([0, 0, 0, 3, 3], [3, 0, 0, 3, 0]).kappa == pytest.approx((0.6 - 0.52) / 0.48)


def test_agreement_of_identical_and_constant_raters():
    same = agreement([0, 1, 2, 3], [0, 1, 2, 3])
    assert (same.spearman, same.alpha, same.kappa, same.percent) == pytest.approx((1, 1, 1, 1))
    constant = agreement([0, 0, 0], [0, 1, 2])
    assert math.isnan(constant.spearman)
    assert constant.percent == pytest.approx(1 / 3)
    assert np.isnan(agreement([0, 0], [0, 0])[:3]).all()
    assert np.isnan(agreement([], [])).all()


def test_median_interval_holds_the_median_and_drops_nan():
    values = np.array([0.1, 0.2, 0.3, 0.4, 0.5, math.nan])
    low, high = bootstrap_median(values, 500, 0)
    assert 0.1 <= low <= 0.3 <= high <= 0.5


def test_the_bootstrap_of_a_mean_is_scipys_and_samples_without_a_value_do_not_count():
    values = np.random.default_rng(3).normal(size=60)
    oracle = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", random_state=1
    ).confidence_interval
    assert bootstrap(lambda picks: values[picks].mean(axis=1), 60, 20_000, 0) == pytest.approx(tuple(oracle), abs=0.01)
    known = np.r_[np.nan, values[:4]]  # a sample that holds the first row has no mean
    low, high = bootstrap(lambda picks: known[picks].mean(axis=1), 5, 2_000, 0)
    assert values[:4].min() <= low < high <= values[:4].max()
