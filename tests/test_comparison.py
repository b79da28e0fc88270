"""Comparisons against independent computations: scipy's Tukey and ANOVA, numbers by hand, a bootstrap done directly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas
import pytest
from scipy import stats

from scirep_core.kit.errors import ConfigError
from scirep_core.results import Result
from scirep_core.results.comparison import (
    anova_tukey,
    average_difference,
    cluster_order,
    correlations,
    paired_bootstrap,
    studentised_range,
    values_of,
)


def drawn(*sizes: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    # names out of alphabetical order: statsmodels sorts its groups, the answer must not
    return {f"g{9 - i}": rng.normal(0.5 * i, 1, size) for i, size in enumerate(sizes)}


@pytest.mark.parametrize("sizes", [(5, 5, 5), (5, 5), (3, 7, 4, 6), (5,) * 8])
@pytest.mark.parametrize("seed", range(3))
def test_tukey_and_anova_are_those_of_scipy_and_need_mean_and_deviation_alone(sizes, seed):
    groups = drawn(*sizes, seed=seed)
    ours = anova_tukey(groups)
    assert (ours.f, ours.p) == pytest.approx(tuple(stats.f_oneway(*groups.values())), rel=1e-9)
    theirs = stats.tukey_hsd(*groups.values())
    bounds = theirs.confidence_interval(0.95)
    names = list(groups)
    assert list(ours.means) == names and len(ours.pairs) == len(names) * (len(names) - 1) // 2
    for pair in ours.pairs:
        i, j = names.index(pair.first), names.index(pair.second)
        assert pair.difference == pytest.approx(theirs.statistic[i, j], abs=1e-12)
        assert pair.p == pytest.approx(theirs.pvalue[i, j], abs=5e-9)
        assert (pair.low, pair.high) == pytest.approx((bounds.low[i, j], bounds.high[i, j]), abs=1e-6)
    again = anova_tukey({name: values_of(v.mean(), v.std(ddof=1), len(v)) for name, v in groups.items()})
    assert (again.f, again.p, *(p.p for p in again.pairs)) == pytest.approx(
        (ours.f, ours.p, *(p.p for p in ours.pairs))
    )
    assert again.tied_with_best == ours.tied_with_best


def test_anova_by_hand():
    """Means 2, 3, 7; between: 3 * ((2-4)^2 + (3-4)^2 + (7-4)^2) / 2 = 21; within: (2 + 2 + 2) / 6 = 1; F = 21."""
    found = anova_tukey({"a": [1, 2, 3], "b": [2, 3, 4], "c": [6, 7, 8]})
    assert (found.f, found.df, found.p) == (pytest.approx(21), (2, 6), pytest.approx(stats.f.sf(21, 2, 6)))
    # q = |2 - 3| / sqrt(1 / 3) against the studentised range of 3 groups and 6 degrees of freedom
    assert found.pair("a", "b").p == pytest.approx(stats.studentized_range.sf(3**0.5, 3, 6), abs=1e-9)
    assert (found.pair("c", "a").difference, found.pair("a", "c").difference) == (5, -5)
    assert found.pair("a", "c").low == -found.pair("c", "a").high
    assert (found.best, found.tied_with_best) == ("c", set())


@pytest.mark.parametrize("df", [2, 6, 14, 200])
@pytest.mark.parametrize("groups", [2, 3, 11])
def test_the_studentised_range_is_that_of_scipy(groups, df):
    for q in (0, 0.05, 1, 3.3, 6, 15):
        assert studentised_range(q, groups, df) == pytest.approx(stats.studentized_range.sf(q, groups, df), abs=5e-9)


@pytest.mark.parametrize("df", [2, 3, 10])
def test_the_studentised_range_of_two_groups_is_students_t_however_far(df):
    for q in (3, 50, 500, 5000):
        assert studentised_range(q, 2, df) == pytest.approx(2 * stats.t.sf(q / 2**0.5, df), abs=1e-10)


def test_underlined_is_what_does_not_differ_from_the_best():
    groups = {"far": [1, 1.1, 0.9], "near": [9.9, 10, 9.8], "best": [10, 10.2, 9.9], "middle": [5, 5.1, 5.2]}
    found = anova_tukey(groups)
    assert (found.best, found.tied_with_best) == ("best", {"near"})
    assert anova_tukey(groups, alpha=0.999999).tied_with_best == set()


@pytest.mark.parametrize(("groups", "message"), [
    ({"a": [1, 2]}, "two groups or more, not 1"),
    ({"a": [1, 2], "b": [3]}, "group 'b' has 1 value"),
    ({"a": [1, 2], "b": [3, float("nan")]}, "group 'b' holds nan"),
    ({"a": [1, 1], "b": [2, 2]}, "no group varies"),
])  # fmt: skip
def test_what_cannot_be_tested_is_refused(groups, message):
    with pytest.raises(ConfigError, match=message):
        anova_tukey(groups)


def test_unknown_group_names_the_nearest():
    for other, message in (("g88", "did you mean 'g8'"), ("g9", "with itself")):
        with pytest.raises(ConfigError, match=message):
            anova_tukey(drawn(3, 3)).pair("g9", other)


N, DRAWS = 60, 1000
PICKS = np.random.default_rng(11).integers(0, N, size=(DRAWS, N))
SCORES = np.random.default_rng(0).random(N)


def row(encoder: str, scores: np.ndarray = SCORES, **more) -> Result:
    shared = {"seed": 0, "data_hash": "d", "source": "embedded"} | more
    replicates = (100 * scores[PICKS].mean(axis=1)).astype(np.float32)
    return Result("t", "test", "map", "paper", 100 * float(scores.mean()), N, encoder, replicates=replicates, **shared)


def test_paired_bootstrap_is_the_bootstrap_of_differences():
    rng = np.random.default_rng(3)
    a = rng.random(N)
    b = np.clip(a + rng.normal(0.02, 0.05, N), 0, 1)
    found = paired_bootstrap(row("b", b), row("a", a))
    direct = 100 * (b - a)[PICKS].mean(axis=1)
    assert found.value == pytest.approx(100 * (b - a).mean())
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(direct, [0.025, 0.975])), abs=1e-4)
    assert found.p == pytest.approx(2 * (1 + np.sum(direct <= 0)) / (1 + DRAWS), abs=1e-9)
    # pairing is the point: the two rows' own intervals overlap by far
    own = [np.quantile(r.replicates, [0.025, 0.975]) for r in (row("b", b), row("a", a))]
    assert own[0][0] < own[1][1]
    assert found.high - found.low < 0.5 * (own[0][1] - own[0][0])


def test_a_difference_has_a_sign_and_none_is_certain():
    low, high = row("x", SCORES * 0.8), row("y")
    there, back = paired_bootstrap(low, high), paired_bootstrap(high, low)
    assert there[:4] == pytest.approx((-back.value, -back.high, -back.low, back.p))
    assert there.p == pytest.approx(2 / (DRAWS + 1))
    assert paired_bootstrap(row("x"), row("y"))[:4] == (0, 0, 0, 1)


UNLIKE = (
    {"task": "u"}, {"split": "dev"}, {"metric": "ndcg"}, {"protocol": "sound"}, {"n": 59}, {"seed": 1},
    {"data_hash": "e"}, {"source": "real"},
)  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [
    *((change, f"cannot be paired on t: {next(iter(change))} is") for change in UNLIKE),
    ({"replicates": None}, "y, t, test, map: no bootstrap values"),
    ({"replicates": row("x").replicates[:200]}, "1000 and 200 bootstrap values"),
    # another encoder, other settings
    ({"fingerprint": "y", "parameters": {"intercept": False}}, "intercept is True and False"),
    ({"fingerprint": "y", "similarity": "cosine"}, "similarity is l2 and cosine"),
    # equal n is not the same queries: under `drop` one may lack the first, the other the last
    ({"coverage": 0.9}, r"papers were dropped \(coverage"),
])  # fmt: skip
def test_rows_that_do_not_match_are_refused(change, message):
    a = row("x", fingerprint="x", similarity="l2", coverage=1.0)
    with pytest.raises(ConfigError, match=message):
        paired_bootstrap(a, replace(a, encoder="y", **change))


def test_rows_with_papers_dropped_are_paired_where_their_queries_are_known_to_be_the_same():
    whole, part = row("x", fingerprint="x", coverage=1.0), row("y", fingerprint="y", coverage=0.9)
    asked = {f"q{i}": 1.0 for i in range(N)}
    known = [replace(one, by_query=asked) for one in (whole, part)]
    assert paired_bootstrap(*known).value == paired_bootstrap(part, replace(part)).value == 0
    for pair in (
        (part, whole), (part, replace(part, encoder="z", fingerprint="z")), (part, replace(part, fingerprint="another model")),
        (known[0], replace(part, by_query={"other": 1.0})),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match="papers were dropped"):
            paired_bootstrap(*pair)


def test_one_encoder_may_compare_its_own_settings_and_a_scorer_has_its_own_similarity():
    a = row("x", fingerprint="x", similarity="l2")
    for change in ({"parameters": {"intercept": False}}, {"similarity": "cosine"},
                   {"encoder": "bm25", "fingerprint": "b", "similarity": "bm25"}):  # fmt: skip
        assert paired_bootstrap(a, replace(a, **change)).value == 0


def test_averages_are_compared_over_the_same_units():
    x = replace(row("x"), metric="average", split="all", by_query={"u1": 1.0, "u2": 2.0})
    y = replace(x, encoder="y", value=x.value + 3, replicates=x.replicates + 3)
    part = replace(x, split="in-train")
    assert average_difference([part, y], [part, x])[:3] == pytest.approx((3, 3, 3), abs=1e-4)
    with pytest.raises(ConfigError, match="over different units: u2"):
        average_difference([y], [replace(x, by_query={"u1": 1.0})])
    with pytest.raises(ConfigError, match="0 averages of split 'scidocs'"):
        average_difference([y], [x], "scidocs")


def test_correlations_are_pearsons():
    table = pandas.DataFrame(np.random.default_rng(0).random((6, 4)), columns=list("abcd"))
    found = correlations(table)
    for i in "abcd":
        for j in "abcd":
            assert found.loc[i, j] == pytest.approx(stats.pearsonr(table[i], table[j]).statistic)


@pytest.mark.parametrize(("values", "message"), [
    ([[1, 2], [3, 4]], "three systems or more, not 2"),
    ([[1, 2], [3, None], [5, 1]], "s1 has no value on b"),
    ([[1, 2], [3, 2], [5, 2]], "all 3 systems score 2 on b"),
])  # fmt: skip
def test_correlations_of_too_little_are_refused(values, message):
    table = pandas.DataFrame(values, columns=["a", "b"], index=[f"s{i}" for i in range(len(values))])
    with pytest.raises(ConfigError, match=message):
        correlations(table)


def test_clusters_are_neighbours_in_whatever_order_they_are_given():
    """Two blocks of tasks, dealt out in turn: the order must part them again."""
    rng = np.random.default_rng(1)
    blocks = rng.normal(size=(30, 2))
    table = pandas.DataFrame({f"t{i}": blocks[:, i % 2] + 0.3 * rng.normal(size=30) for i in range(8)})
    order = cluster_order(correlations(table))
    assert sorted(order) == list(range(8))
    assert [i % 2 for i in order] in ([0] * 4 + [1] * 4, [1] * 4 + [0] * 4)
    turned = table[table.columns[::-1]]
    there, back = ([t.columns[i] for i in cluster_order(correlations(t))] for t in (table, turned))
    assert back in (there, there[::-1])


def test_one_or_two_tasks_stay_in_their_order():
    assert cluster_order(pandas.DataFrame([[1.0]])) == [0]
    assert cluster_order(pandas.DataFrame([[1.0, 0.2], [0.2, 1.0]])) == [0, 1]
