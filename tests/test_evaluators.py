"""Every evaluator against an independent oracle: scikit-learn or pytrec_eval called directly, loops, values by hand."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from small_tasks import IDS, all_tasks, save, vectors

from scirep_core.bench.scoring import evaluate
from scirep_core.data.task import (
    TASK_TYPES,
    Collection,
    Example,
    FewShot,
    Judged,
    Labelled,
    LabelSpace,
    LabelText,
    Pooled,
    Qrel,
    Signature,
    Signatures,
    Task,
)
from scirep_core.evaluators import EVALUATORS, authors, rows
from scirep_core.evaluators.labels import scores as label_scores
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.results.metrics import ACCEPTED, check_metrics

TASKS, VECTORS = all_tasks(), vectors()
BY_QUERY = ("proximity", "adhoc_search", "retrieval", "search", "label_ranking", "reviewer_matching")
"""Tasks whose rows keep the score of each query."""


def task(type_, payload, *metrics, similarity="l2") -> Task:
    return Task("t", type_, "PRX", metrics, payload, "folder", "", similarity=similarity)


def values(found):
    return {(row.split, row.metric): row.value for row in found}


def cloud(n, dim=8, seed=0, name="d"):
    matrix = np.random.default_rng(seed).standard_normal((n, dim))
    return [f"{name}{i}" for i in range(n)], matrix


# ------------------------------------------------------------------------------------------------ what holds for all


def test_every_type_has_an_evaluator_and_metrics():
    assert set(EVALUATORS) == set(TASK_TYPES) == set(ACCEPTED)


@pytest.mark.parametrize("protocol", ["paper", "sound"])
@pytest.mark.parametrize("name", TASKS)
def test_rows_are_sane_and_repeat(name, protocol):
    found = evaluate(TASKS[name], VECTORS, protocol)
    for row in found:
        assert 0 <= row.value <= 100 or row.metric in ("kendall_tau", "pearson"), row
        assert row.n > 0
        assert row.coverage == 1
        assert row.low is not None
        if name in BY_QUERY:
            assert np.mean([*row.by_query.values()]) == pytest.approx(row.value, abs=1e-4), row
        assert row.low <= row.value + 1e-9
        assert row.high >= row.value - 1e-9 or row.metric in ("b3_f1", "b3_p", "f1", "f1_macro", "median_rank")
        assert (row.task, row.protocol, row.encoder) == (TASKS[name].name, protocol, "vectors")
        assert row.fingerprint
        assert row.to_json()
    assert {row.metric for row in found} >= set(TASKS[name].metrics)
    again = evaluate(TASKS[name], dict(reversed(VECTORS.items())), protocol)
    assert [replace(row, seconds=None) for row in again] == [replace(row, seconds=None) for row in found]


@pytest.mark.parametrize("name", TASKS)
def test_missing_vectors_are_counted_or_dropped_and_reported(name):
    gone = {"p7", "p7/t"} if name != "label_ranking" else {"L3"}
    gone |= {"q1"} if name == "search" else {"p2"} if name in ("adhoc_search", "proximity", "groups") else set()
    gone = {"p6"} if name == "triplets" else gone
    some = {key: value for key, value in VECTORS.items() if key not in gone}
    with pytest.raises(DataError, match=r"\d+ of the \d+ ids of small/.* have no vector: .*--on-missing drop"):
        evaluate(TASKS[name], some)
    assert all(row.coverage < 1 for row in evaluate(TASKS[name], some, on_missing="drop"))
    with pytest.raises(ConfigError, match="full coverage"):
        evaluate(TASKS[name], some, "sound", "drop")
    with pytest.raises(DataError, match=r"have no vector|no query|no triplet"):
        evaluate(TASKS[name], {"zzz": np.zeros(3)}, on_missing="drop")


@pytest.mark.parametrize("name", TASKS)
def test_unknown_metrics_splits_and_similarities_are_named(name):
    with pytest.raises(ConfigError, match="has no metric 'mapp'"):
        evaluate(TASKS[name], VECTORS, metrics=["mapp"])
    with pytest.raises(ConfigError, match=r"has no split 'tset'"):
        evaluate(TASKS[name], VECTORS, split="tset")
    if TASKS[name].type not in ("classification", "regression"):
        with pytest.raises(ConfigError, match="did you mean 'cosine'"):
            evaluate(TASKS[name], VECTORS, similarity="cosin")


def test_metric_names_are_checked_by_type():
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
    with pytest.raises(ConfigError, match="has no oracle"):
        evaluate(TASKS["proximity"], "oracle")
    with pytest.raises(ConfigError, match="did you mean 'random'"):
        evaluate(TASKS["proximity"], "ranodm")
    told = evaluate(replace(TASKS["proximity"], oracle=save(tmp_path / "o.npz", VECTORS)), "oracle")
    assert values(told) == values(evaluate(TASKS["proximity"], VECTORS))
    assert told[0].encoder == "oracle"


# ------------------------------------------------------------------------------------------------------------ probes


def labelled(y, y_test, x, x_test, **more):
    train = tuple(Example(f"a{i}", label) for i, label in enumerate(y))
    test = tuple(Example(f"b{i}", label) for i, label in enumerate(y_test))
    table = {f"a{i}": row for i, row in enumerate(x)} | {f"b{i}": row for i, row in enumerate(x_test)}
    return Labelled({"train": train, "test": test}, **more), table


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((260, 12)), rng.standard_normal((12, 3))
    y = (x @ w + 3 * rng.standard_normal((260, 3))).argmax(axis=1)
    return x[:180], y[:180], x[180:], y[180:]


def test_fewer_folds_than_repeats_are_said(classes):
    """180 rows make 12 folds of 16 at most: what a k-shot probe of the paper is fitted to."""
    x, y, x_test, y_test = classes
    data, table = labelled(y.tolist(), y_test.tolist(), x, x_test, few_shot=(FewShot(16, 5), FewShot(16, 50)))
    found = [row for row in evaluate(task("classification", data, "f1_macro"), table) if row.split == "16-shot"]
    assert [row.parameters["repeats"] for row in found] == [5, 12]
    assert "only 12 of 50 repeats" in found[1].note
    assert "only" not in found[0].note


def test_solver_warnings_are_counted_not_hidden(classes):
    x, y, x_test, y_test = classes
    data, table = labelled((1e4 * y).tolist(), y_test.tolist(), 100 * x, x_test)
    (row,) = evaluate(task("regression", data, "pearson"), table)
    assert "ConvergenceWarnings" in row.note
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # and none reaches the caller
        evaluate(task("regression", data, "pearson"), table)


def test_a_metric_that_does_not_fit_the_labels_is_refused(classes):
    x, y, x_test, y_test = classes
    data, table = labelled(y.tolist(), y_test.tolist(), x, x_test)
    with pytest.raises(ConfigError, match="'f1' needs labels 0 and 1"):
        evaluate(task("classification", data, "f1"), table)
    data, table = labelled([1] * 180, y_test.tolist(), x, x_test)
    with pytest.raises(DataError, match="no probe can be fitted"):
        evaluate(task("classification", data, "f1_macro"), table)


def test_a_constant_side_correlates_with_nothing_and_is_said(classes):
    x, _, x_test, _ = classes
    data, table = labelled(x[:, 0].tolist(), [1.0] * len(x_test), x, x_test)
    for row in evaluate(task("regression", data, "kendall_tau", "pearson"), table, "sound"):
        assert (row.value, row.low, row.high, row.note) == (0, 0, 0, "constant targets")


METRICS = ("f1", "f1_macro", "f1_micro", "accuracy")


def asked(type_="classification", *metrics, name="t", seed=0):
    return rows.Asked(replace(task(type_, None, *metrics), name=name), {}, "paper", "error", metrics, "", seed)


@pytest.mark.parametrize("seed", range(4))
def test_label_scores_and_their_bootstrap_equal_scikit_learn_on_the_drawn_rows(seed):
    from sklearn.metrics import accuracy_score, f1_score

    def theirs(metric, gold, guess):
        if metric == "accuracy":
            return accuracy_score(gold, guess)
        return f1_score(gold, guess, average=metric.partition("_")[2] or "binary", zero_division=0)

    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(3, 60)), int(rng.integers(2, 6))  # classes go missing from small samples
    gold = rng.integers(0, classes, n)
    guess = np.where(rng.random(n) < 0.6, gold, rng.integers(0, classes, n))
    many, many_guess = (rng.random((2, n, 4)) < 0.3).astype(int)
    picks = np.concatenate(list(rows.draws(asked(), n)))
    assert picks.shape == (1000, n)
    for metrics, a, b in ((METRICS[:3] if classes == 2 else METRICS[1:], gold, guess), (METRICS[1:], many, many_guess)):
        found = label_scores.label_replicates(asked(), metrics, a, b)
        for metric in metrics:
            slow = [theirs(metric, a[pick], b[pick]) for pick in picks[:150]]
            assert label_scores.label_score(metric, a, b) == pytest.approx(theirs(metric, a, b), abs=1e-12)
            assert found[metric][:150] == pytest.approx(slow, abs=1e-12), metric


@pytest.mark.parametrize("n", [2, 9, 700])
def test_correlation_bootstrap_equals_scipy_on_the_drawn_rows(n):
    rng = np.random.default_rng(n)
    gold = np.round(rng.standard_normal(n), 1)
    guess = np.round(gold + rng.standard_normal(n), 1)
    picks = np.concatenate(list(rows.draws(asked("regression"), n)))[:200]
    found = label_scores.correlation_replicates(asked("regression"), ("kendall_tau", "pearson"), gold, guess)
    for metric, values_ in found.items():
        slow = [label_scores.correlation(metric, gold[pick], guess[pick]) for pick in picks]
        assert values_[:200] == pytest.approx(slow, abs=1e-9), metric


@pytest.mark.parametrize("name", TASKS)
def test_rows_of_two_encoders_are_paired_draw_by_draw(name):
    """Equal vectors under two names: equal replicates; the interval is theirs; other seeds and tasks draw anew."""
    first, second = (evaluate(TASKS[name], VECTORS, name=called) for called in ("one", "two"))
    for a, b in zip(first, second, strict=True):
        assert a.replicates.shape == (1000,)
        assert a.replicates.dtype == np.float32
        assert np.array_equal(a.replicates, b.replicates)
        assert [a.low, a.high] == pytest.approx(np.quantile(a.replicates.astype(float), [0.025, 0.975]), abs=1e-4)
    spread = [row for row in first if row.replicates.std() > 0]
    for other in (evaluate(TASKS[name], VECTORS, seed=5), evaluate(replace(TASKS[name], name="u"), VECTORS)):
        same = {(r.split, r.metric): r for r in other}
        assert all(not np.array_equal(same[r.split, r.metric].replicates, r.replicates) for r in spread)


def test_draws_depend_on_task_seed_size_and_part_alone():
    def first(seed=0, n=20, part="", **more):
        return next(rows.draws(asked(seed=seed, **more), n, part))[:5]

    assert np.array_equal(first(), first())
    for other in (first(seed=1), first(name="u"), first(part="16-shot")):
        assert not np.array_equal(other, first())


def test_groups_are_drawn_apart_and_their_mean_is_narrower():
    values_ = np.random.default_rng(0).random(40)
    groups = {name: rows.replicates_of_means(asked(), values_, name) for name in "ab"}
    mean = rows.replicates_of_groups(asked(), {"a": values_, "b": values_})
    assert not np.array_equal(groups["a"], groups["b"])
    assert mean == pytest.approx((groups["a"] + groups["b"]) / 2)
    assert mean.std() == pytest.approx(groups["a"].std() / math.sqrt(2), rel=0.1)


def test_intervals_cover_the_truth():
    """600 test sets: the 95 % interval of a mean holds the true mean about 95 times in 100, of tau too."""
    rng, held, held_tau = np.random.default_rng(0), 0, 0
    truth = 2 / math.pi * math.asin(0.6)  # tau of two normals with correlation 0.6
    for i in range(600):
        spread = 100 * rows.replicates_of_means(asked(name=f"t{i}"), (rng.random(80) < 0.3).astype(float))
        low, high = np.quantile(spread, [0.025, 0.975])
        held += low <= 30 <= high
        a, b = rng.standard_normal((2, 80))
        b = 0.6 * a + 0.8 * b
        tau = label_scores.correlation_replicates(asked("regression", name=f"t{i}"), ["kendall_tau"], a, b)
        low, high = np.quantile(tau["kendall_tau"], [0.025, 0.975])
        held_tau += low <= truth <= high
    assert 0.92 <= held / 600 <= 0.98
    assert 0.91 <= held_tau / 600 <= 0.98


# ----------------------------------------------------------------------------------------------------------- ranking


def test_similarities_of_a_ranking():
    table = {
        "q": np.array([1.0, 0.0]),
        "near": np.array([1.0, 0.5]),
        "long": np.array([9.0, 7.0]),
        "same": np.array([5.0, 0.0]),
    }
    rank = {}
    for target in ("near", "long", "same"):
        judged = tuple(Qrel("q", key, int(key == target)) for key in ("near", "long", "same"))
        for name in ("l2", "dot", "cosine"):
            rank[name, target] = evaluate(task("proximity", Judged(judged), "mrr"), table, similarity=name)[0].value
    assert {name for name, value in rank.items() if value == 100} == {
        ("l2", "near"),
        ("dot", "long"),
        ("cosine", "same"),
    }


# --------------------------------------------------------------------------------------------- retrieval and labels


def test_retrieval_skips_queries_without_links_and_keeps_zero_grades_as_published():
    ids, matrix = cloud(5)
    data = Pooled({"d0": {"d1": 1}, "d1": {}, "d2": {"d3": 0, "d4": -1}}, tuple(ids))
    tasked = task("retrieval", data, "recall@5")
    assert (evaluate(tasked, (ids, matrix))[0].n, evaluate(tasked, (ids, matrix))[0].value) == (2, 50.0)
    assert (evaluate(tasked, (ids, matrix), "sound")[0].n, evaluate(tasked, (ids, matrix), "sound")[0].value) == (
        1,
        100.0,
    )


def test_judgements_without_anything_relevant_are_named_not_the_vectors():
    ids, matrix = cloud(5)
    none = task("retrieval", Pooled({"d0": {"d1": 0}, "d2": {}}, tuple(ids)), "recall@5")
    with pytest.raises(DataError, match="no query has a relevant paper in the pool"):
        evaluate(none, (ids, matrix), "sound")
    bare = task("label_ranking", LabelSpace({"d0": ()}, {"d1": LabelText("d1", "x")}), "recall@5")
    with pytest.raises(DataError, match="no paper has a label"):
        evaluate(bare, (ids, matrix))


def test_label_ranking_says_what_it_lacks_and_has_a_row_of_name_matching_alone():
    data, table = TASKS["label_ranking"], VECTORS
    found = evaluate(data, table, metrics=["recall@1_name_match"])
    assert list(values(found)) == [("test", "recall@1_name_match")]
    bare = replace(data, payload=replace(data.payload, matched={}))
    with pytest.raises(ConfigError, match=r"needs matched\.jsonl"):
        evaluate(bare, table, metrics=["recall@1_name_match"])


# ------------------------------------------------------------------------------- reviewers, authors, neighbours, pairs


def blocks(n=8, spread=0.02, dim=6):
    rng = np.random.default_rng(1)
    rows_, table = [], {}
    for b in range(n):
        for c, centre in enumerate(rng.standard_normal((3, dim))):
            for i in range(4):
                key = f"{b}-{c}-{i}"
                rows_.append(Signature(f"s{key}", f"p{key}", f"set{b % 2}/block{b}", f"{b}:{c}"))
                table[f"p{key}"] = centre + spread * rng.standard_normal(dim)
    return Signatures(tuple(rows_)), table


def test_authors_far_apart_are_found_and_sets_are_averaged():
    data, table = blocks()
    found = evaluate(task("author_disambiguation", data, "b3_f1", "b3_p", "b3_r"), table)
    got = values(found)
    assert got["test", "b3_f1"] > 95
    assert {row.split for row in found} == {"test", "test/set0", "test/set1"}
    assert got["test", "b3_f1"] == pytest.approx((got["test/set0", "b3_f1"] + got["test/set1", "b3_f1"]) / 2)
    assert sum(row.n for row in found if row.split != "test") // 3 == 48  # half of 96 mentions
    noise = {key: np.random.default_rng(i).random(6) for i, key in enumerate(table)}
    noisy = values(evaluate(task("author_disambiguation", data, "b3_f1"), noise))
    assert noisy["test", "b3_f1"] < got["test", "b3_f1"] - 10


def test_authors_are_cut_as_scikit_learn_cuts_them():
    from sklearn.cluster import AgglomerativeClustering

    data, table = blocks(spread=0.8)
    (row, *_) = evaluate(task("author_disambiguation", data, "b3_f1"), table, split="test/set0")
    threshold = row.parameters["threshold"]
    asked = rows.Asked(task("author_disambiguation", data, "b3_f1"), table, "paper", "error", ("b3_f1",), "cosine", 0)
    for name in {r.block for r in data.rows}:
        mine = [r for r in data.rows if r.block == name]
        cut = authors._block(asked, name, mine, False).cut(threshold)
        # fcluster keeps merges AT the threshold together, scikit-learn those below it
        model = AgglomerativeClustering(None, metric="cosine", linkage="average", distance_threshold=threshold + 1e-9)
        theirs = model.fit_predict(np.stack([table[r.paper_id] for r in mine]))
        same = [(cut[i] == cut[j]) == (theirs[i] == theirs[j]) for i, j in combinations(range(len(mine)), 2)]
        assert all(same)


def test_one_block_cannot_be_tuned_and_scored():
    data, table = blocks(1)
    with pytest.raises(DataError, match="none is left to tune"):
        evaluate(task("author_disambiguation", data, "b3_f1"), table)


def test_alternative_self_by_a_plain_loop():
    ids, x = cloud(30, dim=4)
    rng = np.random.default_rng(0)
    whole = x + 0.8 * rng.standard_normal(x.shape)
    table = {f"{k}/t": v for k, v in zip(ids, x, strict=True)} | {f"{k}/ta": v for k, v in zip(ids, whole, strict=True)}

    def cosine(a, b):
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    for split, others in (("task-I", False), ("task-II", True)):
        ranks = []
        for i in range(30):
            own = cosine(x[i], whole[i])
            above = sum(cosine(x[i], whole[j]) > own for j in range(30) if j != i)
            above += sum(cosine(x[i], x[j]) > own for j in range(30) if j != i) if others else 0
            ranks.append(1 + above)
        found = values(
            evaluate(task("alternative_self", Collection(tuple(ids)), "mrr", "median_rank", "t100"), table, split=split)
        )
        assert found[split, "mrr"] == pytest.approx(100 * np.mean(1 / np.array(ranks)))
        assert found[split, "median_rank"] == np.median(ranks)
        assert found[split, "t100"] == 100


def test_equal_texts_are_ranked_optimistically_and_the_note_says_so():
    table = {f"{key}/{text}": np.ones(3) for key in ("a", "b", "c") for text in ("t", "ta")}
    first, second = evaluate(task("alternative_self", Collection(("a", "b", "c")), "mrr"), table)
    equal = "all 6 vectors are equal: whatever is scored here is the order of ties"
    assert (first.value, first.note) == (100, f"with every tie lost: 33.3333; {equal}")
    assert (second.value, second.note) == (100, f"with every tie lost: 20; {equal}")


def test_paper_protocol_draws_a_thousand_queries():
    ids, x = cloud(1100, dim=3)
    table = {f"{k}/{t}": v for k, v in zip(ids, x, strict=True) for t in ("t", "ta")}
    tasked = task("alternative_self", Collection(tuple(ids)), "mrr")
    assert {row.n for row in evaluate(tasked, table)} == {1000}
    assert {row.n for row in evaluate(tasked, table, "sound")} == {1100}


def test_triplets_count_what_lies_nearer():
    ids = [*IDS]
    found = evaluate(TASKS["triplets"], VECTORS)
    wanted = [
        np.linalg.norm(VECTORS[q] - VECTORS[p]) < np.linalg.norm(VECTORS[q] - VECTORS[n])
        for q, p, n in (("p0", "p1", "p5"), ("p5", "p0", "p6"))
    ]
    assert values(found) == {("train", "accuracy"): 100 * np.mean(wanted)}
    assert found[0].n == 2
    assert "1 rows without a negative" in found[0].note
    assert evaluate(TASKS["triplets"], {key: np.ones(2) for key in ids})[0].value == 0


def test_very_many_values_get_the_normal_interval(monkeypatch):
    values_ = np.random.default_rng(0).random(20_000)
    spread = rows.spread_of(asked(), values_)["replicates"]
    monkeypatch.setattr(rows, "NORMAL", 20_000)
    found = rows.spread_of(asked(), values_)
    assert [found["low"], found["high"]] == pytest.approx(np.quantile(spread, [0.025, 0.975]), abs=0.05)
    assert set(found) == {"low", "high"}
