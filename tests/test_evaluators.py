"""Every evaluator against an independent oracle: scikit-learn or pytrec_eval called directly, loops, values by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score, f1_score
from small_tasks import IDS, all_tasks, save, values, vectors

from scirep_core.bench.scoring import evaluate
from scirep_core.data import task as schema
from scirep_core.data.task import TASK_TYPES, Collection, Pooled, Task
from scirep_core.evaluators import EVALUATORS, rows
from scirep_core.evaluators.labels import scores as label_scores
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.results.metrics import ACCEPTED, check_metrics

TASKS, VECTORS = all_tasks(), vectors()
BY_QUERY = ("proximity", "adhoc_search", "retrieval", "search", "label_ranking", "reviewer_matching")
"""Tasks whose rows keep the score of each query."""


def task(type_, payload, *metrics, similarity="l2") -> Task:
    return Task("t", type_, "PRX", metrics, payload, "folder", "", similarity=similarity)


def cloud(n, dim=8):
    return [f"d{i}" for i in range(n)], np.random.default_rng(0).standard_normal((n, dim))


@pytest.mark.parametrize("protocol", ["paper", "sound"])
@pytest.mark.parametrize("name", TASKS)
def test_rows_are_sane_and_repeat(name, protocol):
    found = evaluate(TASKS[name], VECTORS, protocol)
    for row in found:
        assert 0 <= row.value <= 100 or row.metric in ("kendall_tau", "pearson"), row
        assert row.n > 0 and row.coverage == 1 and row.fingerprint and row.to_json()
        if name in BY_QUERY:
            assert np.mean([*row.by_query.values()]) == pytest.approx(row.value, abs=1e-4), row
        assert row.low <= row.value + 1e-9
        assert row.high >= row.value - 1e-9 or row.metric in ("b3_f1", "b3_p", "f1", "f1_macro", "median_rank")
        assert (row.task, row.protocol, row.encoder) == (TASKS[name].name, protocol, "vectors")
    assert {row.metric for row in found} >= set(TASKS[name].metrics)
    again = evaluate(TASKS[name], dict(reversed(VECTORS.items())), protocol)
    assert [replace(row, seconds=None) for row in again] == [replace(row, seconds=None) for row in found]


@pytest.mark.parametrize("name", TASKS)
def test_rows_of_two_encoders_are_paired_draw_by_draw(name):
    """Equal vectors under two names: equal replicates; the interval is theirs; other seeds and tasks draw anew."""
    first, second = (evaluate(TASKS[name], VECTORS, name=called) for called in ("one", "two"))
    for a, b in zip(first, second, strict=True):
        assert a.replicates.shape == (1000,) and a.replicates.dtype == np.float32
        assert np.array_equal(a.replicates, b.replicates)
        assert [a.low, a.high] == pytest.approx(np.quantile(a.replicates.astype(float), [0.025, 0.975]), abs=1e-4)
    spread = [row for row in first if row.replicates.std() > 0]
    for other in (evaluate(TASKS[name], VECTORS, seed=5), evaluate(replace(TASKS[name], name="u"), VECTORS)):
        same = {(r.split, r.metric): r for r in other}
        assert all(not np.array_equal(same[r.split, r.metric].replicates, r.replicates) for r in spread)


@pytest.mark.parametrize("name", TASKS)
def test_missing_vectors_and_unknown_names_are_refused_and_dropped_ones_counted(name):
    gone = {"p7", "p7/t"} if name != "label_ranking" else {"L3"}
    gone |= {"q1"} if name == "search" else {"p2"} if name in ("adhoc_search", "proximity", "groups") else set()
    gone = {"p6"} if name == "triplets" else gone
    some = {key: value for key, value in VECTORS.items() if key not in gone}
    assert all(row.coverage < 1 for row in evaluate(TASKS[name], some, on_missing="drop"))
    nothing = {"zzz": np.zeros(3)}
    for given, how, error, message in (
        (some, {}, DataError, r"\d+ of the \d+ ids of small/.* have no vector: .*--on-missing drop"),
        (some, {"protocol": "sound", "on_missing": "drop"}, ConfigError, "full coverage"),
        (nothing, {"on_missing": "drop"}, DataError, r"have no vector|no query|no triplet"),
        (VECTORS, {"metrics": ["mapp"]}, ConfigError, "has no metric 'mapp'"),
        (VECTORS, {"split": "tset"}, ConfigError, r"has no split 'tset'"),
        (VECTORS, {"similarity": "cosin"}, ConfigError, "did you mean 'cosine'"),
    ):
        if "similarity" not in how or TASKS[name].type not in ("classification", "regression"):
            with pytest.raises(error, match=message):
                evaluate(TASKS[name], given, **how)


def test_every_type_has_an_evaluator_and_metrics_which_are_checked_by_name():
    assert set(EVALUATORS) == set(TASK_TYPES) == set(ACCEPTED)
    for kind, names in ACCEPTED.items():
        check_metrics([name.replace("@k", "@7") for name in names], kind)
    for bad in ("ndcg%20", "recall", "recall@0", "recall@k", "p@", "f2"):
        with pytest.raises(ConfigError):
            check_metrics([bad], "proximity")


def test_random_and_oracle_are_vectors_too(tmp_path):
    for small in TASKS.values():
        first, second = evaluate(small, "random", seed=1), evaluate(small, "random", seed=1)
        assert [row.value for row in first] == [row.value for row in second]
        assert first[0].encoder == "random"
    for name, message in (("oracle", "has no oracle"), ("ranodm", "did you mean 'random'")):
        with pytest.raises(ConfigError, match=message):
            evaluate(TASKS["proximity"], name)
    told = evaluate(replace(TASKS["proximity"], oracle=save(tmp_path / "o.npz", VECTORS)), "oracle")
    assert values(told) == values(evaluate(TASKS["proximity"], VECTORS)) and told[0].encoder == "oracle"


METRICS = ("f1", "f1_macro", "f1_micro", "accuracy")


def asked(type_="classification", *metrics, name="t", seed=0):
    return rows.Asked(replace(task(type_, None, *metrics), name=name), {}, "paper", "error", metrics, "", seed)


def theirs(metric, gold, guess):
    if metric == "accuracy":
        return accuracy_score(gold, guess)
    return f1_score(gold, guess, average=metric.partition("_")[2] or "binary", zero_division=0)


@pytest.mark.parametrize("seed", range(4))
def test_label_scores_and_their_bootstrap_equal_scikit_learn_on_the_drawn_rows(seed):
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(3, 60)), int(rng.integers(2, 6))  # classes go missing from small samples
    gold = rng.integers(0, classes, n)
    guess = np.where(rng.random(n) < 0.6, gold, rng.integers(0, classes, n))
    many, many_guess = (rng.random((2, n, 4)) < 0.3).astype(int)
    picks = np.concatenate(list(rows.draws(asked(), n)))
    assert picks.shape == (1000, n)
    for metrics, a, b in ((METRICS[:3] if classes == 2 else METRICS[1:], gold, guess), (METRICS[1:], many, many_guess)):
        found = label_scores.score_replicates(asked(), metrics, a, b)
        for metric in metrics:
            slow = [theirs(metric, a[pick], b[pick]) for pick in picks[:150]]
            assert label_scores.label_score(metric, a, b) == pytest.approx(theirs(metric, a, b), abs=1e-12)
            assert found[metric][:150] == pytest.approx(slow, abs=1e-12), metric


@pytest.mark.parametrize("n", [2, 9, 700])
def test_correlation_bootstrap_equals_scipy_on_the_drawn_rows(n):
    rng = np.random.default_rng(n)
    gold = np.round(rng.standard_normal(n), 1)
    guess = np.round(gold + rng.standard_normal(n), 1)
    assert label_scores.correlation("pearson", gold, guess) == pytest.approx(pearsonr(gold, guess).statistic)
    picks = np.concatenate(list(rows.draws(asked("regression"), n)))[:200]
    found = label_scores.score_replicates(asked("regression"), ("kendall_tau", "pearson"), gold, guess)
    for metric, values_ in found.items():
        slow = [label_scores.correlation(metric, gold[pick], guess[pick]) for pick in picks]
        assert values_[:200] == pytest.approx(slow, abs=1e-9), metric


def test_groups_are_drawn_apart_and_their_mean_is_narrower():
    values_ = np.random.default_rng(0).random(40)
    groups = {name: rows.replicates_of_means(asked(), values_, name) for name in "ab"}
    mean = rows.replicates_of_groups(asked(), {"a": values_, "b": values_})
    assert not np.array_equal(groups["a"], groups["b"])
    assert mean == pytest.approx((groups["a"] + groups["b"]) / 2)
    assert mean.std() == pytest.approx(groups["a"].std() / math.sqrt(2), rel=0.1)


def test_very_many_values_get_the_normal_interval(monkeypatch):
    values_ = np.random.default_rng(0).random(20_000)
    spread = rows.spread_of(asked(), values_)["replicates"]
    monkeypatch.setattr(rows, "NORMAL", 20_000)
    found = rows.spread_of(asked(), values_)
    assert [found["low"], found["high"]] == pytest.approx(np.quantile(spread, [0.025, 0.975]), abs=0.05)
    assert set(found) == {"low", "high"}


def test_retrieval_skips_queries_without_links_and_keeps_zero_grades_as_published():
    given = cloud(5)
    pooled = Pooled({"d0": {"d1": 1}, "d1": {}, "d2": {"d3": 0, "d4": -1}}, tuple(given[0]))
    tasked = task("retrieval", pooled, "recall@5")
    found = [evaluate(tasked, given, protocol)[0] for protocol in ("paper", "sound")]
    assert [(row.n, row.value) for row in found] == [(2, 50.0), (1, 100.0)]


def test_judgements_that_say_nothing_are_named_not_the_vectors():
    given = cloud(5)
    none = task("retrieval", Pooled({"d0": {"d1": 0}, "d2": {}}, tuple(given[0])), "recall@5")
    with pytest.raises(DataError, match="no query has a relevant paper in the pool"):
        evaluate(none, given, "sound")
    bare = task("label_ranking", schema.LabelSpace({"d0": ()}, {"d1": schema.LabelText("d1", "x")}), "recall@5")
    with pytest.raises(DataError, match="no paper has a label"):
        evaluate(bare, given)


def test_label_ranking_says_what_it_lacks_and_has_a_row_of_name_matching_alone():
    data = TASKS["label_ranking"]
    found = evaluate(data, VECTORS, metrics=["recall@1_name_match"])
    assert list(values(found)) == [("test", "recall@1_name_match")]
    with pytest.raises(ConfigError, match=r"needs matched\.jsonl"):
        evaluate(replace(data, payload=replace(data.payload, matched={})), VECTORS, metrics=["recall@1_name_match"])


def both_texts(ids, titles, wholes):
    kinds = (("t", titles), ("ta", wholes))
    return {f"{key}/{kind}": v for kind, vectors_ in kinds for key, v in zip(ids, vectors_, strict=True)}


def test_alternative_self_by_a_plain_loop():
    ids, x = cloud(30, dim=4)
    whole = x + 0.8 * np.random.default_rng(1).standard_normal(x.shape)

    def cosine(a, b):
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    found = values(evaluate(task("alternative_self", Collection(tuple(ids)), "mrr", "median_rank", "t100"),
                            both_texts(ids, x, whole)))  # fmt: skip
    for split, pools in (("task-I", (whole,)), ("task-II", (whole, x))):
        ranks = np.array([
            1 + sum(cosine(x[i], pool[j]) > cosine(x[i], whole[i]) for pool in pools for j in range(30) if j != i)
            for i in range(30)
        ])  # fmt: skip
        assert found[split, "mrr"] == pytest.approx(100 * np.mean(1 / ranks))
        assert (found[split, "median_rank"], found[split, "t100"]) == (np.median(ranks), 100)


def test_equal_texts_are_ranked_optimistically_and_the_note_says_so():
    ids = ("a", "b", "c")
    ones = np.ones((3, 3))
    found = evaluate(task("alternative_self", Collection(ids), "mrr"), both_texts(ids, ones, ones))
    equal = "all 6 vectors are equal: whatever is scored here is the order of ties"
    notes = [f"with every tie lost: {lost}; {equal}" for lost in ("33.3333", "20")]
    assert [(row.value, row.note) for row in found] == [(100, note) for note in notes]


def test_paper_protocol_draws_a_thousand_queries():
    ids, x = cloud(1100, dim=3)
    tasked = task("alternative_self", Collection(tuple(ids)), "mrr")
    for protocol, n in (("paper", 1000), ("sound", 1100)):
        assert {row.n for row in evaluate(tasked, both_texts(ids, x, x), protocol)} == {n}


def test_triplets_count_what_lies_nearer():
    found = evaluate(TASKS["triplets"], VECTORS)
    wanted = [
        np.linalg.norm(VECTORS[q] - VECTORS[p]) < np.linalg.norm(VECTORS[q] - VECTORS[n])
        for q, p, n in (("p0", "p1", "p5"), ("p5", "p0", "p6"))
    ]
    assert values(found) == {("train", "accuracy"): 100 * np.mean(wanted)}
    assert found[0].n == 2 and "1 rows without a negative" in found[0].note
    assert evaluate(TASKS["triplets"], {key: np.ones(2) for key in IDS})[0].value == 0
