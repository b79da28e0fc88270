"""Probes against scikit-learn called directly: same folds, same solver (`paper`), same problem (`sound`), every format."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter

import numpy as np
import pytest
from counted import calls
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.base import BaseEstimator
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

from scirep_core.bench.given import as_mapping
from scirep_core.bench.scoring import evaluate
from scirep_core.data.task import Example, FewShot, Labelled, Task
from scirep_core.evaluators import probes
from scirep_core.evaluators.probes import probe_search, sound_probes
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.results import Result

SEEDS = range(3)


@pytest.fixture(autouse=True)
def quiet():
    """The oracle's solvers warn where ours count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def data(seed, n=150, n_test=60, dim=12, kind="classes", classes=4):
    """Return x, y, x_test, y_test: correlated features far from 0 and of unlike scale, noisy labels."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((n + n_test, dim)) @ rng.standard_normal((dim, dim)) + rng.standard_normal(dim)
    x = (mixed * rng.uniform(0.2, 3, dim)).astype(np.float32)  # as encoders give them
    found = x @ rng.standard_normal((dim, classes)) / x.std() / dim**0.5 + rng.standard_normal((n + n_test, classes))
    y = {
        "classes": found.argmax(axis=1),
        "labels": (found > 0.4).astype(int),
        "targets": np.round(3 * found[:, 0] + 7, 1),
    }[kind]
    return x[:n], y[:n], x[n:], y[n:]


def scored(parts, metric, protocol="paper", type_="classification", few_shot=(), **more):
    x, y, x_test, y_test = parts
    told = [(tuple(label.tolist()) if y.ndim == 2 else label.item()) for label in [*y, *y_test]]
    rows = [Example(f"d{i}", label) for i, label in enumerate(told)]
    payload = Labelled({"train": tuple(rows[: len(y)]), "test": tuple(rows[len(y) :])}, y.ndim == 2, few_shot)
    task = Task("t", type_, "CLF", (metric,), payload, "folder", "")
    table = {f"d{i}": row for i, row in enumerate([*x, *x_test])}
    return {row.split: row for row in evaluate(task, table, protocol, **more)}


def wide(parts):
    return tuple(part.astype(np.float64) if i % 2 == 0 else part for i, part in enumerate(parts))


def searched(machine, costs, folds, **how):
    """The published search in scikit-learn's own words."""
    return GridSearchCV(machine, {"C": np.logspace(*costs)}, cv=folds, **how)


def svc(loss="squared_hinge", **more):
    return LinearSVC(loss=loss, random_state=42, **more)


def macro(y, guess):
    return 100 * f1_score(y, guess, average="macro")


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("classes", "metric"), [(2, "f1"), (4, "f1_macro"), (None, "kendall_tau")])
@pytest.mark.parametrize("seed", SEEDS)
def test_classes_and_targets_are_a_grid_search_on_unshuffled_folds(seed, classes, metric, intercept):
    """By accuracy, and of targets (no classes) by R2."""
    parts = data(seed, classes=classes) if classes else data(seed, kind="targets")
    x, y, x_test, y_test = wide(parts)
    if classes:
        grid = searched(svc(fit_intercept=intercept), (-2, 2, 5), StratifiedKFold(3), scoring="accuracy")
        wanted = f1_score(y_test, grid.fit(x, y).predict(x_test), average="binary" if classes == 2 else "macro")
    else:
        grid = searched(LinearSVR(random_state=42, fit_intercept=intercept), (-4, 2, 7), KFold(3), scoring="r2")
        wanted = kendalltau(y_test, grid.fit(x, y).predict(x_test)).statistic
    row = scored(parts, metric, type_="classification" if classes else "regression", intercept=intercept)["test"]
    assert row.value == pytest.approx(100 * wanted, abs=1e-6)
    assert row.parameters == ({} if intercept else {"intercept": False})


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_several_labels_are_one_against_the_rest_of_grid_searches(seed, intercept):
    parts = data(seed, n=90, dim=6, kind="labels", classes=3)
    x, y, x_test, y_test = wide(parts)
    svm = svc("hinge", max_iter=10_000, fit_intercept=intercept)
    model = OneVsRestClassifier(searched(svm, (-2, 2, 5), 3))

    def fitted(rows):
        return macro(y_test, model.fit(x[rows], y[rows]).predict(x_test))

    drawn = []
    for repeat in range(2):
        np.random.seed(42 + repeat)
        chosen: set[int] = set()
        for label in range(3):
            chosen.update(np.random.choice(np.where(y[:, label] == 1)[0], 8, replace=False).tolist())
        drawn.append(fitted(list(chosen)))
    rows = scored(parts, "f1_macro", few_shot=(FewShot(8, 2),), intercept=intercept)
    assert rows["test"].value == pytest.approx(fitted(np.arange(len(y))), abs=1e-6)
    assert rows["8-shot"].value == pytest.approx(np.mean(drawn), abs=1e-6)
    assert rows["8-shot"].parameters.get("intercept", True) is intercept


@pytest.mark.parametrize("given", [1, 2, 5])
def test_folds_of_one_class_have_no_score_as_in_a_grid_search(given):
    """One or two examples of a label: a fold's training part may be of one class, which no SVM is fitted to."""
    x, y, x_test, y_test = data(3, n=90, dim=6, kind="labels", classes=3)
    rare = np.random.default_rng(given).permutation(len(y))
    y[:, 1] = 0
    y[rare[:given], 1] = 1
    y_test[:4, 1] = 1
    model = OneVsRestClassifier(searched(svc("hinge", max_iter=10_000), (-2, 2, 5), StratifiedKFold(3)))
    model.fit(x.astype(float), y)
    searches = [one.cv_results_ for one in model.estimators_]
    failed = sum(int(np.isnan(found[f"split{k}_test_score"]).sum()) for found in searches for k in range(3))
    assert failed == (5 if given == 1 else 0)  # every cost of the label: the first is taken
    row = scored((x, y, x_test, y_test), "f1_macro")["test"]
    assert row.value == pytest.approx(macro(y_test, model.predict(x_test.astype(float))), abs=1e-6)
    said = re.search(r"(\d+) fits on a fold failed and have no score \(This solver needs samples", row.note)
    assert int(said[1]) == failed if failed else said is None


class Moody(BaseEstimator):
    """Scores as told at each fold; "fit" fails there, and "score" cannot be scored there."""

    def __init__(self, told=()):
        self.told = told

    def fit(self, x, y):
        self.mood_ = self.told[int(({0, 1, 2} - set(x[:, 0].astype(int))).pop())]  # the fold that is missing
        if self.mood_ == "fit":
            raise ValueError("this solver is moody")
        return self

    def predict(self, x):
        return x


def moody(model, x, y):
    if model.mood_ == "score":
        raise RuntimeError("no")
    return float(model.mood_)


MOODS = st.tuples(*[st.sampled_from([0.0, 0.5, 0.5, 1.0, math.nan, "fit", "score"])] * 3)


@given(told=st.lists(MOODS, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_the_search_is_scikit_learns_whatever_fails(told):
    fold = np.repeat([0, 1, 2], 2)
    cuts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    x, y, said = fold[:, None].astype(float), np.zeros(6), Counter()
    models = [Moody(one) for one in told]
    grid = GridSearchCV(Moody(), {"told": told}, cv=cuts, scoring=moody, refit=False)
    if all(mood == "fit" for one in told for mood in one):
        with pytest.raises(ValueError, match="fits failed"):
            grid.fit(x, y)
        with pytest.raises(ValueError, match="every fit of the search failed: this solver is moody"):
            probe_search.best_of(models, x, y, cuts, moody, said)
        return
    grid.fit(x, y)
    best = int(np.argmin(grid.cv_results_["rank_test_score"]))
    assert probe_search.best_of(models, x, y, cuts, moody, said) == best
    flat = [mood for one in told for mood in one]
    assert said["fits on a fold failed and have no score (this solver is moody)"] == flat.count("fit")
    assert said["scorings of a fold failed (RuntimeError)"] == flat.count("score")


@pytest.mark.parametrize("intercept", [True, False])
@given(seed=st.integers(0, 10_000), size=st.integers(6, 40), iterations=st.integers(1, 12))
@settings(max_examples=6, deadline=None)
def test_k_shot_trains_on_each_left_out_fold_with_c_1(seed, size, iterations, intercept):
    parts = data(seed, classes=3)
    x, y, x_test, y_test = wide(parts)
    folds = math.ceil(len(x) / size)
    cut = list(StratifiedKFold(folds).split(x, y)) if max(np.bincount(y)) >= folds else []
    drawn = [fold for _, fold in cut[:iterations]]
    used = [fold for fold in drawn if len(np.unique(y[fold])) > 1]
    machine = svc(fit_intercept=intercept)
    wanted = [macro(y_test, machine.fit(x[fold], y[fold]).predict(x_test)) for fold in used]
    rows = scored(parts, "f1_macro", few_shot=(FewShot(size, iterations),), intercept=intercept)
    if not wanted:
        assert f"{size}-shot left out" in rows["test"].note
        return
    few = rows[f"{size}-shot"]
    assert few.value == pytest.approx(np.mean(wanted), abs=1e-6)
    assert few.parameters["repeats"] == len(wanted)
    assert (f"only {len(wanted)} of {iterations} repeats" in few.note) is (len(wanted) < iterations)
    alone = len(drawn) - len(used)
    assert (f"{alone} repeats with one class only left out" in few.note) is (alone > 0)


@pytest.mark.parametrize("protocol", ["paper", "sound"])
def test_sparse_rows_longer_than_many_give_what_dense_ones_do(protocol):
    """TF-IDF: liblinear drops zeros anyway (`paper`), rows are turned into the space they span (`sound`)."""
    rng = np.random.default_rng(0)
    x, y, x_test, y_test = data(0, n=90, dim=300, classes=3)
    x, x_test = x * (rng.random(x.shape) < 0.1), x_test * (rng.random(x_test.shape) < 0.1)
    parts = (x, y, x_test, y_test)
    if protocol == "paper":
        model = searched(svc(), (-2, 2, 5), StratifiedKFold(3), scoring="accuracy")
    else:
        model = oracle(LinearSVC, "f1_macro", RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0))
    wanted = macro(y_test, model.fit(x.astype(float), y).predict(x_test.astype(float)))
    assert scored(parts, "f1_macro", protocol)["test"].value == pytest.approx(wanted, abs=1e-6)


def test_no_intercept_is_only_of_the_paper_protocol():
    with pytest.raises(ConfigError, match="fits an intercept"):
        scored(data(1, kind="targets"), "kendall_tau", "sound", type_="regression", intercept=False)


def oracle(kind, scoring, folds, **more):
    """The sound protocol in scikit-learn's own words, run to convergence."""
    machine = kind(dual=False, tol=1e-9, max_iter=100_000, **more)
    return make_pipeline(StandardScaler(), searched(machine, (-5, -1, 5), folds, scoring=scoring))


TAU = make_scorer(lambda a, b: kendalltau(a, b).statistic)
SOUND = {
    "two classes": ({"classes": 2}, "f1"),
    "four classes": ({"classes": 4}, "f1_macro"),
    "labels": ({"classes": 3, "kind": "labels"}, "f1_macro"),
    "targets": ({"kind": "targets"}, "kendall_tau"),
}


@pytest.mark.parametrize("kind", SOUND)
@pytest.mark.parametrize("seed", SEEDS)
def test_sound_is_a_pipeline_of_scikit_learns(seed, kind):
    """One of classes or targets, and one for each label."""
    given, metric = SOUND[kind]
    parts = data(seed, **given)
    x, y, x_test, y_test = wide(parts)
    if metric == "kendall_tau":
        folds = RepeatedKFold(n_splits=5, n_repeats=2, random_state=seed)
        model = oracle(LinearSVR, TAU, folds, loss="squared_epsilon_insensitive", epsilon=0.1)
        wanted = kendalltau(y_test, model.fit(x, (y - y.mean()) / y.std()).predict(x_test)).statistic
    else:
        folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=seed)
        model = oracle(LinearSVC, "f1" if kind == "labels" else metric, folds)
        columns = y.T if kind == "labels" else [y]
        guess = np.stack([model.fit(x, column).predict(x_test) for column in columns], axis=1)
        wanted = f1_score(y_test, np.squeeze(guess), average="binary" if metric == "f1" else "macro")
    type_ = "regression" if metric == "kendall_tau" else "classification"
    row = scored(parts, metric, "sound", type_=type_, seed=seed)["test"]
    assert row.value == pytest.approx(100 * wanted, abs=1e-6)


def test_sound_chooses_by_the_tasks_own_metric_whatever_is_asked():
    """What is asked first decides nothing: values of a metric are the same beside any other."""
    x, y, x_test, y_test = data(1, n=90, classes=3, dim=8)
    rows = np.flatnonzero((y > 0) | (np.arange(len(y)) % 7 == 0))  # rare classes: F1 and accuracy differ over costs
    task_rows = [Example(f"d{i}", label.item()) for i, label in enumerate([*y[rows], *y_test])]
    payload = Labelled({"train": tuple(task_rows[: len(rows)]), "test": tuple(task_rows[len(rows) :])}, False)
    table = {f"d{i}": row for i, row in enumerate([*x[rows], *x_test])}
    used = []
    for own in ("f1_macro", "accuracy"):
        task = Task("t", "classification", "CLF", (own, "accuracy"), payload, "folder", "")
        seen = [{r.metric: r.value for r in evaluate(task, table, "sound", metrics=asked)}
                for asked in (("f1_macro", "accuracy"), ("accuracy", "f1_macro"))]  # fmt: skip
        assert seen[0] == seen[1]
        used.append(seen[0])
    assert used[0] != used[1], "these data tell the two choices apart"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("several", [False, True])
def test_sound_k_shot_draws_k_of_every_class(seed, several):
    parts = data(seed, kind="labels" if several else "classes", classes=3)
    x, y, x_test, y_test = wide(parts)
    wanted = []
    for repeat in range(3):
        stream = np.random.default_rng([seed, repeat])
        columns = [y[:, k] == 1 for k in range(3)] if several else [y == k for k in range(3)]
        rows = sorted({int(i) for column in columns for i in stream.choice(np.flatnonzero(column), 7, replace=False)})
        svm = LinearSVC(dual=False, tol=1e-9, max_iter=100_000)
        model = make_pipeline(StandardScaler(), OneVsRestClassifier(svm) if several else svm)
        wanted.append(macro(y_test, model.fit(x[rows], y[rows]).predict(x_test)))
        if not several:
            assert np.bincount(y[rows]).tolist() == [7, 7, 7]
    rows = scored(parts, "f1_macro", "sound", few_shot=(FewShot(7, 3),), seed=seed)
    assert rows["7-shot"].value == pytest.approx(np.mean(wanted), abs=1e-6)


COSTS = st.sampled_from([1e-5, 1e-2, 1.0, 10.0])


@given(seed=st.integers(0, 10_000), n=st.integers(5, 80), dim=st.integers(1, 20), cost=COSTS)
@settings(max_examples=10, deadline=None)
def test_fits_are_liblinears_at_convergence(seed, n, dim, cost):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, dim)) @ rng.standard_normal((dim, dim)) / dim**0.5
    y = np.where(x[:, :1] + rng.standard_normal((n, 3)) > 0, 1.0, -1.0)
    y[:2] = [[1], [-1]]  # both kinds in every column
    mask = rng.random((n, 3)) < 0.8
    mask[:2] = True
    rows = sound_probes.with_constant(x)
    tube = {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}
    for loss, kind, more in (("hinge", LinearSVC, {}), ("tube", LinearSVR, tube)):
        found, unfinished = sound_probes.fit(rows, y, mask, np.full(3, cost), loss)
        assert unfinished == 0
        for k in range(3):
            machine = kind(C=cost, dual=False, tol=1e-10, max_iter=10**5, **more)
            machine.fit(x[mask[:, k]], y[mask[:, k], k])
            theirs = np.append(np.ravel(machine.coef_), machine.intercept_)
            assert found[:, k] == pytest.approx(theirs, abs=1e-4 * max(1, np.abs(theirs).max()))


def test_solver_warnings_are_counted_and_none_reaches_the_caller():
    x, y, x_test, y_test = data(0, kind="targets")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = scored((100 * x, 1e4 * y, x_test, y_test), "pearson", type_="regression")["test"]
    assert "ConvergenceWarnings" in row.note


def test_labels_that_do_not_fit_are_refused_and_a_constant_side_correlates_with_nothing():
    with pytest.raises(ConfigError, match="'f1' needs labels 0 and 1"):
        scored(data(0), "f1")
    x, y, x_test, y_test = data(0, kind="targets")
    with pytest.raises(DataError, match="no probe can be fitted"):
        scored((x, np.ones(len(y), dtype=int), x_test, np.arange(len(y_test))), "f1_macro")
    for metric in ("kendall_tau", "pearson"):
        row = scored((x, y, x_test, np.ones(len(y_test))), metric, "sound", type_="regression")["test"]
        assert (row.value, row.low, row.high, row.note) == (0, 0, 0, "constant targets")


def test_a_fit_that_does_not_converge_is_said(monkeypatch):
    monkeypatch.setattr(sound_probes, "STEPS", 1)
    assert "fits that did not converge" in scored(data(0), "f1_macro", "sound")["test"].note


def test_folds_in_groups_are_folds_at_once(monkeypatch):
    whole = scored(data(2, classes=5), "f1_macro", "sound")["test"]
    monkeypatch.setattr(sound_probes, "CELLS", 1)
    assert scored(data(2, classes=5), "f1_macro", "sound")["test"].value == whole.value


def test_many_vectors_are_checked_by_a_few_calls_each():
    ids, array = [str(i) for i in range(20_000)], np.ones((20_000, 16), dtype=np.float32)
    assert len(as_mapping((ids, array))) == 20_000
    assert calls(lambda: as_mapping((ids, array))) < 10 * 20_000


def labelled(counts, size):
    examples = tuple(Example(f"{label}-{i}", label) for label, count in counts.items() for i in range(count))
    payload = Labelled({"train": examples, "test": examples[:3]}, False, (FewShot(size, 4),))
    return Task("made/few", "classification", "CLF", ("f1_macro",), payload, "folder", "")


def test_what_a_setting_draws_is_counted_not_multiplied():
    for protocol, counts_, size, wanted in (
        ("sound", {0: 30, 1: 30}, 10, (20, 0, 2)),
        ("sound", {0: 50, 1: 8}, 16, (24, 1, 2)),  # not 2 x 16
        ("sound", {0: 40, 1: 25}, 64, (65, 2, 2)),  # everything, and no more than there is
        ("paper", {0: 32, 1: 32}, 16, (16, 0, 2)),
        ("paper", {0: 20, 1: 20}, 64, None),
    ):
        assert probes.drawn(labelled(counts_, size), FewShot(size, 4), protocol, 0) == wanted
    row = Result("made/few", "24-shot", "f1_macro", "sound", 50.0, 3, encoder="e", note="five repeats")
    told = probes.with_drawn(row, labelled({0: 50, 1: 30}, 24))
    assert told.note == "five repeats; 48 examples drawn, 0 of 2 classes short"
    assert probes.drawn_in(told) == (48, 0, 2) and probes.drawn_in(row) is None
    assert probes.with_drawn(told, labelled({0: 50}, 5)) == told  # another setting's task
