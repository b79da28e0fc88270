"""Suites, averages against the printed tables and by hand, and rows that are kept: nothing is computed twice or trusted blindly."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from filelock import FileLock
from small_tasks import all_tasks, save, vectors
from threadpoolctl import threadpool_limits

from scirep_core.bench import given, score_cache, scoring, suites
from scirep_core.bench.pairs import difference
from scirep_core.bench.score_cache import Question
from scirep_core.bench.suites import SPECS, averages, units
from scirep_core.bench.systems import System
from scirep_core.data import TASKS
from scirep_core.data.task import Judged, Labelled, Qrel, Task
from scirep_core.data.text import Recipe
from scirep_core.encoders.ensemble import Ensemble
from scirep_core.kit.errors import CacheError, ConfigError, DataError, ScirepError
from scirep_core.kit.formats import FORMATS
from scirep_core.results import Result, published
from scirep_core.results.comparison import average_difference

# ---- suites and units -------------------------------------------------------------------------------------------------


def test_suites_and_units_are_those_of_the_tables():
    """v2 Table 11 has averages over 2/2/2/1, 4/3/11/2 and 7/20 units; v1 Table 9 over 2/2/2/1 and 2/3/4/2."""
    assert {name: len(tasks) for name, tasks in suites.SUITES.items()} == {
        "scirepeval": 23, "scirepeval-v1": 24, "scidocs": 6, "mdcr": 1, "samples": 10, "embedded-all": 27, "scimult": 21,
        "open": 26, "open-scimult": 9,
    }  # fmt: skip
    for tasks in suites.SUITES.values():
        assert len(set(tasks)) == len(tasks) and all(name in SPECS or name.startswith("sample/") for name in tasks)
    for version, suite, parts, formats in (
        ("v1", "scirepeval-v1", {"in-train": 7, "out-of-train": 11, "scidocs": 10}, [2, 3, 4, 2]),
        ("v2", "scirepeval", {"in-train": 7, "out-of-train": 20}, [4, 3, 11, 2]),
    ):
        found = units(version)
        counts = Counter((unit.part, unit.format) for unit in found)
        assert Counter(unit.part for unit in found) == parts
        assert [counts["in-train", f] for f in FORMATS] == [2, 2, 2, 1]
        assert [counts["out-of-train", f] for f in FORMATS] == formats
        assert {unit.task for unit in found} == set(suites.SUITES[suite])
    members = {unit.name.removeprefix("scirepeval/"): unit.members for unit in units("v2")}  # of appendix A
    for name, metric, *splits in (
        ("fos", "f1_macro", "test", "10-shot", "5-shot"), ("drsm", "f1_macro", "test", "64-shot", "24-shot"),
        ("biomimicry", "f1", "test", "64-shot", "16-shot"), ("paper_reviewer_matching", "mean_of_four", "test"),
        ("scidocs_cite:map", "map", "test"), ("scidocs_cite:ndcg", "ndcg", "test"),
    ):  # fmt: skip
        assert members[name] == tuple((split, metric) for split in splits)
    assert sum(len(one) == 1 for one in members.values()) == 24


# ---- averages ---------------------------------------------------------------------------------------------------------

PARTS = {"In-Train": "in-train", "Out-of-Train": "out-of-train", "SciDocs": "scidocs"}


def rows_of(version: str, value=lambda unit, i: 10.0, **more) -> list[Result]:
    """Return every row an average needs: value(unit, member number)."""
    shared = {"encoder": "e", "source": "embedded", "seed": 0, "coverage": 1.0} | more
    found = {
        (unit.task, *member): Result(unit.task, *member, "paper", value(unit, i), 50, data_hash=f"hash of {unit.task}", **shared)
        for unit in units(version) for i, member in enumerate(unit.members)
    }  # fmt: skip
    return list(found.values())


def by_split(rows: list[Result]) -> dict[str, Result]:
    return {row.split: row for row in rows}


@pytest.mark.parametrize(("exhibit", "version"), [("V1-T2", "v1"), ("V1-T3", "v1"), ("V2-T2", "v2"), ("V2-T8", "v2")])
def test_printed_parts_give_the_printed_average(exhibit, version):
    """Every row of the four tables, within what rounding to one decimal allows (0.05 of the parts, 0.05 of the average)."""
    printed = published.lookup(exhibit)
    for model in dict.fromkeys(row for row, _ in printed):
        parts = {PARTS[column]: p.number for (row, column), p in printed.items() if row == model and column in PARTS}
        found = by_split(averages(rows_of(version, lambda unit, i, parts=parts: parts[unit.part]), version))
        assert {part: found[part].value for part in parts} == pytest.approx(parts)
        assert abs(found["all"].value - printed[model, "Average"].number) <= 0.1 + 1e-9, model


def test_the_average_by_hand():
    """In-train: FoS (90 + 60 + 30) / 3 = 60, six others 10: 120 / 7. Cite: MAP 20 and nDCG 40 are two of the others."""

    def value(unit, i):
        cite = {"map": 20.0, "ndcg": 40.0} if unit.task == "scirepeval/scidocs_cite" else {}
        return (90.0, 60.0, 30.0)[i] if unit.task == "scirepeval/fos" else cite.get(unit.members[0][1], 10.0)

    other = replace(rows_of("v2")[0], task="scirepeval/mdcr", protocol="sound")  # of another task: it does not count
    found = by_split(averages([*rows_of("v2", value), other]))
    for split, wanted in {
        "in-train": 120 / 7, "out-of-train": (18 * 10 + 20 + 40) / 20, "all": (120 + 240) / 27, "CLF": (60 + 5 * 10) / 6,
        "PRX": (20 + 40 + 11 * 10) / 13, "in-train/CLF": 35,
    }.items():  # fmt: skip
        assert found[split].value == pytest.approx(wanted), split
    assert {row.task for row in found.values()} == {"scirepeval/average-v2"}
    whole = found["all"]
    assert whole.by_query["scirepeval/fos"] == pytest.approx(60) and len(whole.by_query) == whole.n == 27
    assert (whole.metric, whole.protocol, whole.encoder, whole.coverage) == ("average", "paper", "e", 1)
    assert whole.low is None and "no interval" in whole.note
    scidocs = [row for row in rows_of("v1") if "scidocs" in row.task]  # its split needs its own units alone
    assert [(one.n, one.coverage) for one in averages(scidocs, "v1", splits=("scidocs",))] == [(10, 1)]


def with_draws(rows: list[Result], spread: float = 5.0) -> list[Result]:
    """Give rows bootstrap values: draws of their own for each task and n, shared by the metrics of one task and split."""
    seeds = (zlib.crc32(f"{row.task} {row.split}".encode()) for row in rows)
    drawn = (spread * np.random.default_rng(seed).standard_normal(1000) for seed in seeds)
    return [replace(row, replicates=(row.value + one).astype(np.float32)) for row, one in zip(rows, drawn, strict=True)]


def test_intervals_come_from_the_rows_draws():
    rows = with_draws(rows_of("v2", lambda unit, i: 50.0))
    found = by_split(averages(rows))
    drawn = {(r.task, r.split, r.metric): r.replicates.astype(float) for r in rows}
    direct = np.mean([np.mean([drawn[(u.task, *m)] for m in u.members], axis=0) for u in units("v2")], axis=0)
    assert found["all"].replicates == pytest.approx(direct, abs=1e-4)
    assert (found["all"].low, found["all"].high) == pytest.approx(tuple(np.quantile(direct, [0.025, 0.975])), abs=1e-4)
    assert "no interval" not in found["all"].note
    one_less = by_split(averages([replace(r, replicates=None) if r.task == "scirepeval/relish" else r for r in rows]))
    assert (one_less["all"].low, one_less["PRX"].low, one_less["PRX"].replicates) == (None, None, None)
    assert one_less["in-train"].low is not None
    # 19 units vary by 5 points on their own, 4 pairs together, three few-shot means by 5 / sqrt(3):
    variance = (16 * 25 + 4 * 4 * 25 + 3 * 25 / 3) / 27**2
    assert np.std(direct) == pytest.approx(variance**0.5, rel=0.1)


def test_rows_of_units_are_means_over_settings_draw_by_draw():
    rows = with_draws(rows_of("v2", lambda unit, i: 40.0 + 10 * i))
    found = suites.unit_rows(rows)
    assert set(found) == {unit.name for unit in units("v2")}
    drsm, unit = [row for row in rows if row.task == "scirepeval/drsm"], found["scirepeval/drsm"]
    assert (unit.split, unit.value, unit.note) == (suites.UNIT, 50.0, "mean of test, 64-shot, 24-shot")
    assert np.allclose(unit.replicates, np.mean([row.replicates for row in drsm], axis=0), atol=1e-4)
    assert unit.low == pytest.approx(np.quantile(unit.replicates, 0.025), abs=1e-4)
    assert found["scirepeval/relish"] in rows  # one setting: the row itself
    assert "scirepeval/drsm" not in suites.unit_rows([row for row in rows if row.split != "24-shot"])
    bare = suites.mean_row([drsm[0], replace(drsm[1], replicates=None)], "t", "s", "m", "")
    assert (bare.value, bare.low, bare.replicates) == (45.0, None, None)


def dropped(rows: list[Result]) -> list[Result]:
    return [replace(row, coverage=0.9) if row.task == "scirepeval/relish" else row for row in rows]


def test_differences_are_paired_over_the_same_rows_and_say_what_they_are_of():
    rows = with_draws(rows_of("v2", lambda unit, i: 50.0))
    row, other = rows[0], replace(rows[0], encoder="f", value=rows[0].value - 2, replicates=rows[0].replicates - 2)
    (gap,) = difference(row, other)
    assert (gap.encoder, gap.against, gap.metric) == ("e - f", "f", f"difference of {row.metric}")
    assert (gap.value, gap.low, gap.high) == pytest.approx((2, 2, 2), abs=1e-3)
    (named,) = difference(row, other, "map, sound and paper", "e", "paper")
    assert (named.encoder, named.against, named.metric) == ("e", "paper", "difference of map, sound and paper")
    average = replace(row, metric="average", by_query={"one": 1.0})
    assert not list(difference(row, replace(other, replicates=None)))
    assert not list(difference(average, replace(average, encoder="f", by_query={"two": 1.0})))  # of other units

    better = [replace(row, encoder="f", value=row.value + 1, replicates=row.replicates + 1) for row in rows]
    found = average_difference(averages(better), averages(rows))
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1), abs=1e-3)
    assert found.p == pytest.approx(2 / 1001)
    fewer = [replace(row, n=49) if row.task == "scirepeval/relish" else row for row in better]
    for one, two, why in ((fewer, rows, "cannot be paired"), (dropped(better), dropped(rows), "papers were dropped")):
        with pytest.raises(ConfigError, match=why):
            average_difference(averages(one), averages(two))
        assert average_difference(averages(one), averages(two), "in-train").value == pytest.approx(1)


def lacking(*words: str):
    def without(rows: list[Result]) -> list[Result]:
        return [r for r in rows if not {r.task.removeprefix("scirepeval/"), r.split, r.metric} & {*words}]

    return without


def fos(**change):
    """One of the rows of FoS is of another origin."""

    def changed(rows: list[Result]) -> list[Result]:
        return [replace(r, **change) if (r.task, r.split) == ("scirepeval/fos", "10-shot") else r for r in rows]

    return changed


@pytest.mark.parametrize(("change", "how", "message"), [
    (lacking("relish", "5-shot"), {}, r"no average of 27 units: 2 missing: fos \(5-shot\), relish"),
    (lacking("test"), {"partial": True}, "27 missing"),
    (lacking("mean_of_four"), {}, "1 missing: paper_reviewer_matching"),
    (lacking("ndcg"), {}, "8 missing: search, relish, scidocs_view:ndcg"),
    (list, {"version": "v1"}, "no average of 28 units: 3 missing: feeds_1, feeds_m, feeds_title"),
    (list, {"version": "v3"}, "unknown version of the average 'v3'"), (list, {"splits": ("in-trian",)}, "did you mean 'in-train'"),
    (lambda rows: [*rows, rows[1]], {}, "scirepeval/fos, test, f1_macro is there twice"),
    (fos(encoder="f"), {}, "2 encoders"), (fos(protocol="sound"), {}, "2 protocols"), (fos(source="real"), {}, "2 sources"),
    (fos(kind="recorded"), {}, "2 kinds"), (fos(seed=1), {}, "2 seeds"),
    (fos(parameters={"papers": 300, "data_seed": 0}), {}, "2 sizes"),
    (fos(parameters={"papers": 3000, "data_seed": 1}), {}, "2 literatures"),
    (fos(parameters={"papers": 3000, "data_seed": 0, "intercept": False}), {}, "2 back ends"),
    (fos(data_hash="other"), {}, "rows of scirepeval/fos are from different data"),
    (fos(fingerprint="other"), {}, "rows of scirepeval/fos are from different vectors"),
])  # fmt: skip
def test_a_silent_subset_and_rows_of_different_origin_are_no_average(change, how, message):
    with pytest.raises(ConfigError, match=message):
        averages(change(rows_of("v2", parameters={"papers": 3000, "data_seed": 0})), **how)


def test_an_average_says_what_it_lacks_which_papers_were_dropped_and_its_probes_back_end():
    rows = [row for row in rows_of("v2", lambda unit, i: 10.0 + i) if row.split != "5-shot"]
    found = by_split(averages(rows, partial=True))
    assert (found["all"].n, found["all"].coverage) == (26, pytest.approx(26 / 27))
    assert "26 of 27 units; without fos (5-shot)" in found["all"].note
    assert "scirepeval/fos" not in found["all"].by_query  # full and 10-shot alone would be another number
    assert found["out-of-train"].coverage == 1
    ranking = [row for row in rows if TASKS[row.task].format in ("PRX", "QRY")]  # what BM25 can be scored on
    found = by_split(averages(ranking, partial=True))
    assert {"CLF", "RGN", "in-train/CLF"}.isdisjoint(found) and found["PRX"].coverage == 1
    assert (found["all"].n, found["PRX"].n, found["QRY"].n) == (16, 13, 3)

    found = by_split(averages(dropped(rows_of("v2"))))
    assert "1 units scored with papers missing, the worst with 90.0 % there" in found["all"].note
    assert (found["all"].coverage, found["all"].parameters["lowest_coverage"]) == (0.9, 0.9)
    assert found["in-train"].coverage == 1 and "lowest_coverage" not in found["in-train"].parameters
    part = [row for row in dropped(rows_of("v2")) if row.task != "scirepeval/drsm"]
    assert by_split(averages(part, partial=True))["all"].coverage == pytest.approx(0.9 * 26 / 27)

    back_end = {"parameters": {"intercept": False}}
    probed = [replace(r, **back_end) if TASKS[r.task].format in ("CLF", "RGN") else r for r in rows_of("v2")]
    for order in (probed, probed[::-1]):  # ranking rows have no back end, whichever comes first
        found = by_split(averages(order))
        assert found["all"].parameters["intercept"] is False and "+no-intercept" in found["all"].id
        assert "intercept" not in found["PRX"].parameters


# ---- kept rows --------------------------------------------------------------------------------------------------------

SMALL = ("classification", "regression", "proximity", "reviewer_matching", "author_disambiguation", "adhoc_search")


def small(*names: str) -> list[Task]:
    tasks = all_tasks()
    return [replace(tasks[name], name=f"small/{name}", data_hash=f"hash-{name}") for name in names or SMALL]


def values(rows: list[Result]) -> list[tuple[object, ...]]:
    return [(r.data_hash, r.split, r.metric, r.value, r.low, r.high, r.n) for r in rows]


def test_rows_are_those_of_evaluate_and_a_second_run_computes_nothing_and_gives_the_same(home, evaluated):
    direct = [row for task in small() for row in scoring.evaluate(task, vectors())]
    evaluated.clear()
    first = scoring.attempt(small(), vectors())
    assert [row[1:] for row in values(first.rows)] == [row[1:] for row in values(direct)]
    assert {row.encoder for row in first.rows} == {"vectors"} and all(row.seconds > 0 for row in first.rows)
    assert sorted(evaluated) == sorted(f"small/{name}" for name in SMALL) == sorted(first.computed)
    evaluated.clear()
    second = scoring.attempt(small(), vectors())
    assert (evaluated, second.computed, second.rows) == ([], (), first.rows)
    assert [row.to_json() for row in second.rows] == [row.to_json() for row in first.rows]
    for a, b in zip(first.rows, second.rows, strict=True):
        assert (a.replicates is None) == (b.replicates is None)
        if a.replicates is not None:
            assert a.replicates.dtype == b.replicates.dtype == np.float32 and np.array_equal(a.replicates, b.replicates)


@pytest.mark.parametrize(("what", "change"), [
    *(("question", change) for change in (
        {"protocol": "sound"}, {"seed": 1}, {"on_missing": "drop"}, {"metrics": ("accuracy",)}, {"split": "test"},
        {"intercept": False})),
    *(("task", change) for change in (
        {"data_hash": "other"}, {"version": 4}, {"metrics": ("f1",)}, {"format": "PRX"}, {"queries": {"q": "asked"}})),
    ("payload", {"few_shot": ()}),
])  # fmt: skip
def test_another_question_is_computed_anew(home, evaluated, what, change):
    (task,) = small("classification")
    scoring.attempt([task], vectors())
    question = Question(**change) if what == "question" else Question()
    if what == "payload":
        change = {"payload": replace(task.payload, **change)}
    for _ in range(2):
        scoring.attempt([task if what == "question" else replace(task, **change)], vectors(), question=question)
        assert len(evaluated) == 2


def test_other_vectors_or_code_and_what_is_not_to_be_kept_are_computed_anew(home, evaluated, monkeypatch):
    def scored(count, tasks=None, table=None, **more):
        scoring.score(tasks or small("classification"), table or vectors(), **more)
        assert len(evaluated) == count

    scored(1, keep=False)
    assert not (home / "scores").exists()
    scored(2)
    scored(3, table=vectors(seed=1))
    scored(
        3, table=vectors() | {"not of this task": np.ones(5)}
    )  # what the task does not need leaves its rows as they are
    scored(4, again=True)
    scored(5, again=True)
    scored(5)
    monkeypatch.setattr(score_cache, "code", lambda: "other")
    scored(6)
    unhashed = [replace(task, data_hash="") for task in small("classification")]
    scored(7, unhashed)
    scored(8, unhashed)  # a task made by hand may be another one next time
    for protocol, differ in (("paper", {"small/classification", "small/regression"}), ("sound", set())):
        a, b = (Question(protocol, intercept=value) for value in (True, False))
        assert {t.name for t in small() if a.arguments(t) != b.arguments(t)} == differ  # the back end, of probes alone


def test_damage_is_never_trusted(home, evaluated):
    tasks = small("proximity")
    first = values(scoring.score(tasks, vectors()))
    (path,) = (home / "scores").rglob("*.shard")
    whole = path.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    for content in (b"", whole[:100], whole[:-1], b"{}\n", flipped):
        path.write_bytes(content)
        evaluated.clear()
        assert values(scoring.score(tasks, vectors())) == first and evaluated == ["small/proximity"]
    assert not list((home / "scores").rglob("*.part"))


def test_a_task_that_fails_does_not_lose_the_others(home, evaluated, monkeypatch):
    """One crash of the library, one of bad data: the other four are scored, kept, and both are named."""
    original = dict(scoring.EVALUATORS)

    def crash(*args, **more):
        raise ZeroDivisionError("no rows")

    def none(*args, **more):
        return [replace(row, value=float("nan")) for row in original["proximity"](*args, **more)]

    monkeypatch.setitem(scoring.EVALUATORS, "regression", crash)
    some = {key: value for key, value in vectors().items() if key != "q1"}
    outcome = scoring.attempt(small(), some)
    assert set(outcome.failed) == {"small/regression", "small/adhoc_search"}
    assert {row.task for row in outcome.rows} == {f"small/{n}" for n in SMALL} - set(outcome.failed)
    with pytest.raises(ScirepError) as said:
        scoring.score(small(), some)
    for words in ("2 of 6 tasks failed, the others are scored", "small/regression: ZeroDivisionError: no rows",
                  "small/adhoc_search: ", "q1"):  # fmt: skip
        assert words in str(said.value)
    monkeypatch.setitem(scoring.EVALUATORS, "regression", original["regression"])
    evaluated.clear()
    assert {row.task for row in scoring.score(small(), vectors())} == {f"small/{n}" for n in SMALL}
    assert evaluated == ["small/regression", "small/adhoc_search"]
    monkeypatch.setitem(scoring.EVALUATORS, "proximity", none)
    failed = scoring.attempt(small("proximity"), vectors(), again=True).failed
    assert "not a number" in str(failed["small/proximity"])


class Ranker(System):
    prepared: ClassVar[list[str]] = []

    def suits(self, task):
        return task.type == "proximity"

    def on(self, task, protocol="paper", progress=None):
        return vectors()

    def prepare(self, tasks, protocol="paper", progress=None):
        self.prepared[:] = [task.name for task in tasks]
        if progress:
            progress(1, 2)


def test_what_does_not_suit_is_left_out_and_said(home):
    ranker, seen = Ranker("ranker", "r"), []
    first, again = [("texts", 1, 2), ("small/proximity", 0, 1), ("", 1, 1)], []
    for wanted in (first, again):  # the second time everything is kept: nothing to wait for
        outcome = scoring.attempt(small(), ranker, progress=lambda *at: seen.append(at))
        assert {row.task for row in outcome.rows} == {"small/proximity"}
        assert set(outcome.unsuited) == {f"small/{n}" for n in SMALL} - {"small/proximity"}
        assert ranker.prepared == ["small/proximity"] and seen == wanted  # encoded in one go, before anything is scored
        seen.clear()
    with pytest.raises(ConfigError, match="ranker cannot be scored on small/regression"):
        scoring.attempt(small("regression"), ranker)


def test_rows_say_their_data_and_back_end(home):
    """A folder's rows are of no literature, whatever else is asked for; ranking knows no back end."""
    invented, own = small("proximity", "classification")
    tasks = [replace(invented, source="embedded"), own]
    found = scoring.score(tasks, vectors(), source="embedded", papers=400, data_seed=2, intercept=False)
    what = ("papers", "data_seed", "intercept")
    told = {row.task: {k: v for k, v in row.parameters.items() if k in what} for row in found}
    assert told == {invented.name: {"papers": 400, "data_seed": 2}, own.name: {"intercept": False}}


def test_tasks_of_one_name_keep_their_own_rows_and_a_key_is_read_for_its_own(home, evaluated):
    """Two folders may hold a task of one name: neither's rows are taken for the other's, now or later."""
    one, groups = small("proximity", "groups")
    turned = Judged(tuple(row._replace(score=1 - row.score % 2) for row in one.payload.rows))
    other = replace(one, data_hash="other", payload=turned)
    alone = [row for task in (one, other) for row in scoring.score([task], vectors(), keep=False)]
    assert alone[0].value != alone[len(alone) // 2].value
    for _ in range(2):  # computed, then kept
        assert values(scoring.score([one, other], vectors())) == values(alone)
    assert len(evaluated) == 4
    bad = [replace(task, payload=Judged((*task.payload.rows, Qrel("nowhere", "p1", 1)))) for task in (one, other)]
    assert set(scoring.attempt(bad, vectors()).failed) == {"small/proximity", "small/proximity (2)"}

    rows = scoring.score([one], vectors())
    keys = [score_cache.key_of(task, ["f"], Question()) for task in (one, groups)]
    with pytest.raises(CacheError, match="rows of other data than small/groups's"):
        score_cache.write(keys[1], rows)
    score_cache.write(keys[0], rows)
    assert score_cache.read(keys[0]) == rows
    place = score_cache.path_of(keys[1])
    place.parent.mkdir(parents=True)
    place.write_bytes(score_cache.path_of(keys[0]).read_bytes())  # a file that was moved
    assert score_cache.read(keys[1]) is None


def _score_in_a_process(home: str, log: str, start) -> None:
    os.environ["SCIREP_HOME"] = home
    original = scoring.evaluate

    def noting(task, *args, **more):
        with Path(log).open("a") as stream:
            stream.write(task.name + "\n")
        return original(task, *args, **more)

    scoring.evaluate = noting
    start.wait()
    scoring.score(small(), vectors())


def test_two_processes_share_the_work(home):
    """Both start at once: each task is scored by one of them, all get all rows."""
    context = multiprocessing.get_context("spawn")
    start, log = context.Barrier(2), home / "log"
    processes = [context.Process(target=_score_in_a_process, args=(str(home), str(log), start)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(240)
        assert process.exitcode == 0
    assert sorted(log.read_text().split()) == sorted(f"small/{name}" for name in SMALL)
    assert not list((home / "scores").rglob("*.lock"))


def test_a_locks_file_goes_before_the_lock(home, monkeypatch):
    """Released first, it could be taken by a second process and removed under it: a third would hold the right as well."""
    there, original = [], FileLock.release

    def release(lock, *args, **more):
        if lock.is_locked:  # one that was never taken lets go of nothing
            there.append(Path(lock.lock_file).exists())
        return original(lock, *args, **more)

    key = score_cache.key_of(small("proximity")[0], ["f"], Question())
    monkeypatch.setattr(FileLock, "release", release)
    with score_cache.held(key, wait=True) as mine, score_cache.held(key, wait=False) as other:
        assert mine and not other
    assert there == [False] and not list((home / "scores").rglob("*.lock"))


# ---- what fails alone -------------------------------------------------------------------------------------------------


class Words:
    """An encoder without weights: counts of hashed words, as long as MiniLM's vectors, through the vector store as these."""

    formats, dim = FORMATS, 384

    def __init__(self, separator: str = " ") -> None:
        self.name, self.recipe, self.fingerprint = "words", Recipe(separator), f"words {separator!r}"

    def encode(self, texts, format):
        if any("unreadable" in text for text in texts):
            raise RuntimeError("a text that no tokenizer reads")
        found = np.full((len(texts), self.dim), 0.01, np.float32)
        for row, text in zip(found, texts, strict=True):
            np.add.at(row, [zlib.crc32(word.encode()) % self.dim for word in text.lower().split()], 1)
        return found


def words(*separators: str) -> System:
    encoders = tuple(Words(separator) for separator in separators or (" ",))
    whole = encoders[0] if len(encoders) == 1 else Ensemble("both", encoders, "mean")
    return System(whole.name, whole.fingerprint, whole)


def test_rows_are_kept_under_the_recipe_of_every_member_which_they_say(home):
    """A fingerprint need not know how texts are made; given vectors are kept under themselves."""
    tasks, whole = small("proximity", "classification"), words(" ", " [SEP] ")
    nested = Ensemble("nested", (whole.encoder, Words("; ")), "concatenation")
    for system in (whole, System("nested", nested.fingerprint, nested)):
        outcome = scoring.attempt(tasks, system)
        assert outcome.failed == {} and {row.task for row in outcome.rows} == {task.name for task in tasks}
    keys = [tuple(words(*of).key(tasks[0], "paper")) for of in ((" ",), ("; ",), (" ", "; "), ("; ", " "))]
    assert len({key[1:] for key in keys}) == 4
    assert len({score_cache.path_of(score_cache.key_of(tasks[0], ["f", *key[1:]], Question())) for key in keys}) == 4
    assert words(" ", "; ").reads["reads"] == Words("; ").recipe.reads  # of two members of one name
    assert words("; ").reads == {"reads": Words("; ").recipe.reads}
    for part in (vectors(), {**vectors(), "elsewhere": vectors()["p1"]}):
        assert given.given(part).key(tasks[0], "paper") == [given.content_hash(given.given(vectors()).on(tasks[0]))]


def test_one_bad_text_or_file_costs_one_task(home, tmp_path):
    good, bad = small("proximity", "groups")
    bad = replace(bad, texts=lambda: (paper._replace(title="unreadable") for paper in good.texts()))
    save(tmp_path / "CLF.npz", vectors())
    (tmp_path / "PRX.npz").write_bytes(b"no archive")
    for tasks, system, said in (
        ([bad, good], words(), "no tokenizer"),
        (small("proximity", "classification"), tmp_path, "PRX.npz: not a readable .npz"),
    ):
        outcome = scoring.attempt(tasks, system)
        assert {row.task for row in outcome.rows} == {tasks[1].name}
        assert said in str(outcome.failed[tasks[0].name])


# ---- given vectors ----------------------------------------------------------------------------------------------------


def test_a_file_a_path_and_a_mapping_are_the_same_and_a_folder_holds_a_file_a_task_or_a_format(home, tmp_path):
    path, two = save(tmp_path / "mine.npz", vectors()), small("proximity", "adhoc_search")
    by_name, by_path, mapped = (scoring.score(two, of, keep=False) for of in (str(path), path, vectors()))
    assert values(by_name) == values(by_path) == values(mapped) and {row.encoder for row in by_name} == {"mine"}
    clf, prx, qry, own = (vectors(seed) for seed in range(4))
    for name, table in (("CLF", clf), ("PRX", prx), ("QRY", qry), ("small__groups", own)):
        save(tmp_path / f"{name}.npz", table)
    tasks = {t.name: t for t in small("classification", "proximity", "adhoc_search", "groups")}
    found = {name: given.given(tmp_path).on(task) for name, task in tasks.items()}
    for name, table, key in (("classification", clf, "p3"), ("proximity", prx, "p1"), ("groups", own, "p1"),
                             ("adhoc_search", qry, "q1"), ("adhoc_search", prx, "p1")):  # fmt: skip
        assert np.array_equal(found[f"small/{name}"][key], table[key]), name
    both = found[
        "small/adhoc_search"
    ]  # a query that is a candidate too: the published code encodes its id once, as a query
    assert np.array_equal(both["q1/q"], qry["q1"]) and np.array_equal(both["q1"], qry["q1"])
    save(tmp_path / "groups.npz", clf)
    assert np.array_equal(given.given(tmp_path).on(tasks["small/groups"])["p1"], own["p1"])
    (tmp_path / "small__groups.npz").unlink()
    assert np.array_equal(given.given(tmp_path).on(tasks["small/groups"])["p1"], clf["p1"])
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match=r"no \.npz, \.parquet, \.jsonl in this folder"):
        given.given(tmp_path / "none")


def test_coverage_counts_and_names_and_mentions_may_have_vectors_instead_of_papers():
    task, authors = small("classification", "author_disambiguation")
    some = {key: value for key, value in vectors().items() if key not in ("p2", "p7", "p9", "p11")}
    assert given.coverage(task, some) == ("small/classification", 8, 12, ("p2", "p7", "p9"))
    assert given.coverage(task, vectors()) == ("small/classification", 12, 12, ())
    mentions = {f"s{i}": np.ones(3) for i in range(12)}
    assert given.coverage(authors, mentions) == (authors.name, 12, 12, ())
    assert set(given.given(mentions).on(authors)) == set(mentions)
    del mentions["s3"]
    assert given.coverage(authors, mentions).embedded == 0  # then the evaluator asks for papers
    assert given.coverage(authors, mentions | vectors()).embedded == 12


# ---- the suite on a small literature ----------------------------------------------------------------------------------

PAPERS = 300


@pytest.fixture(scope="module")
def scored():
    """Systems without weights on every task there is invented data for, on 300 papers; few-shot draws twice."""
    loaded, failed = suites.load_tasks("embedded-all", papers=PAPERS)
    assert failed == {}
    for at, task in enumerate(loaded):
        if isinstance(task.payload, Labelled):
            few = tuple(shot._replace(iterations=2) for shot in task.payload.few_shot)
            loaded[at] = replace(task, payload=replace(task.payload, few_shot=few))
    with threadpool_limits(1):  # more threads than cores that are free make small probes slower, not faster
        return {
            (name, protocol): scoring.attempt(loaded, name, papers=PAPERS, question=Question(protocol))
            for name, protocol in itertools.product(("random", "tfidf", "bm25"), ("paper", "sound"))
        }


@pytest.mark.slow
def test_every_task_runs_under_both_protocols_and_bm25_ranks_better_than_random(scored):
    everything = set(suites.SUITES["embedded-all"])
    for (name, protocol), outcome in scored.items():
        assert outcome.failed == {}, (name, protocol)
        tasks = {row.task for row in outcome.rows}
        assert {(row.protocol, row.parameters["papers"]) for row in outcome.rows} == {(protocol, PAPERS)}
        assert tasks | set(outcome.unsuited) == everything and all(np.isfinite(row.value) for row in outcome.rows)
        kinds = {TASKS[task].type for task in tasks}
        assert kinds == {"proximity", "adhoc_search", "reviewer_matching"} if name == "bm25" else not outcome.unsuited
    with pytest.raises(ConfigError, match="mesh_descriptors, fos, cite_count"):
        averages(scored["bm25", "paper"].rows)
    found, random, tfidf = (averages(scored[name, "paper"].rows, partial=True) for name in ("bm25", "random", "tfidf"))
    assert "CLF" not in by_split(found) and by_split(found)["QRY"].coverage == 1
    assert by_split(found)["QRY"].value > by_split(random)["QRY"].value
    gap = average_difference(tfidf, random, "PRX")
    assert gap.low > 0 and gap.p < 0.01
