"""A study's table is whole whatever stopped it: nothing is trained or scored twice, and every row says what it is of."""

from __future__ import annotations

import csv
import json
import os
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from small_base import TINY

from scirep_core import cli, load_task
from scirep_core.bench import score_cache
from scirep_core.bench.studies import outcome, study
from scirep_core.bench.studies.outcome import main_metric, means, over_seeds, read, table, trainings, tukey
from scirep_core.bench.studies.study import run
from scirep_core.bench.studies.tables import MEANT, STUDIES, cells, on_source
from scirep_core.bench.suites import units
from scirep_core.book.explain import recompute
from scirep_core.data.readers.samples import in_train
from scirep_core.data.task import Example, Labelled, Task, capped
from scirep_core.kit.errors import ConfigError, ScirepError
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.records import Paper
from scirep_core.kit.store import home
from scirep_core.results import Result
from scirep_core.results.published import FOLDER
from scirep_core.training import models as trained
from scirep_core.training.variants import BUDGETS, DATA_SOURCES, PARTITIONS, VARIANTS, Budget, budget

TASKS = ("scirepeval/cite_count", "scirepeval/same_author", "scirepeval/search")


# ---- what a study holds ----------------------------------------------------------------------------------------------


def test_studies_name_variants_and_exhibits_that_exist():
    known = {row["id"] for row in csv.DictReader((FOLDER / "exhibits.csv").open(encoding="utf-8"))}
    for name, one in STUDIES.items():
        assert set(one.variants) <= set(VARIANTS) and set(one.exhibits) <= known, name
        labels = [cell.label(one) for cell in cells(one, 0, BUDGETS["small"])]
        assert len(set(labels)) == len(labels), name
        assert not any(":" in label for label in labels), name  # a colon separates the parts of a number's id


def test_a_base_is_scored_once_and_a_partition_has_no_code_of_its_own():
    assert [cell.variant for cell in cells(STUDIES["main"], 1, BUDGETS["small"])] == list(STUDIES["main"].variants[1:])
    codes = {name: [] for name in STUDIES["partitions"].variants}
    for cell in cells(STUDIES["partitions"], 0, BUDGETS["small"]):
        codes[cell.variant].append(cell.code)
    assert codes["MTL CTRL"] == ["own", *FORMATS] and codes[PARTITIONS[0]] == list(FORMATS)


def test_a_source_is_one_row_and_real_papers_are_recorded_together():
    assert {one.source for one in BUDGETS.values()} == set(DATA_SOURCES)
    files = {source: study.results_file("main", source).relative_to(study.checkout("x")) for source in DATA_SOURCES}
    folders = {str(path.parent) for path in files.values()}
    assert folders == {"results/embedded/study", "results/real/study", "results/real/study/open"}
    assert files["open"] != files["real"]
    assert study.results_file("samples") == study.results_file("samples", "samples")
    for call in (lambda: Budget("opne"), lambda: on_source(STUDIES["main"], "opne")):
        with pytest.raises(ConfigError, match="source 'opne'; did you mean 'open'"):
            call()
    of = on_source(STUDIES["main"], "open")
    assert (of.tasks, of.bases, of.budget) == ("open", ("minilm",), "open")
    assert of.references == ("random", "tfidf", "minilm")
    of = on_source(STUDIES["main"], "real", ("scibert",))
    assert (of.tasks, of.bases, of.references, of.names_base) == ("scirepeval", ("scibert",), ("random", "tfidf"), True)
    with pytest.raises(ConfigError, match="nothing stands for the tasks of this study, samples"):
        on_source(STUDIES["samples"], "open")
    assert on_source(STUDIES["scimult"], "open").tasks == "open-scimult"


# ---- running one -----------------------------------------------------------------------------------------------------


def ran(base: str, out: Path | None, variants: tuple[str, ...] = ("Base", "MTL CTRL"), **more: Any) -> list[Result]:
    changes = {"variants": variants, "bases": (base,), "tasks": TASKS, "references": (), **more.pop("changes", {})}
    return trainings(run("main", TINY, more.pop("seeds", range(2)), changes=changes, out=out, **more))


def test_rows_say_what_they_are_of_and_a_second_run_trains_and_scores_nothing(base, tmp_path, monkeypatch):
    rows = ran(base, tmp_path / "a.jsonl")
    labels = ("Base, seed 0", "MTL CTRL, seed 0", "MTL CTRL, seed 1")
    assert [(row.encoder, row.task) for row in rows] == [(label, task) for label in labels for task in TASKS]
    last = rows[-1]
    assert (last.chapter, last.seed) == ("study/main", 0) and last.provenance["code_version"]
    told = {"training_seed": 1, "variant": "MTL CTRL", "base": base, "papers": 500, "steps": 2, "precision": "float32"}
    assert last.parameters["documents"] >= 32 and last.parameters | told | {"dtype": "float32"} == last.parameters
    assert len({row.id for row in rows}) == len(rows)
    kept = read(tmp_path / "a.jsonl")
    assert trainings(kept) == [replace(row, kind="recorded", replicates=None) for row in rows]
    assert [(row.encoder, row.n) for row in means(kept)] == [("Base", 1)] * 3 + [("MTL CTRL", 2)] * 3
    assert len({row.id for row in kept}) == len(kept)

    monkeypatch.setattr("scirep_core.training.models.train", None)
    monkeypatch.setattr("scirep_core.bench.scoring.evaluate", None)
    assert ran(base, tmp_path / "b.jsonl") == ran(base, tmp_path / "a.jsonl") == rows
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    monkeypatch.setattr(score_cache, "read", None)
    assert ran(base, tmp_path / "c.jsonl", seeds=[0], only="train") == [] and not (tmp_path / "c.jsonl").exists()
    with pytest.raises(ScirepError, match="MTL CTRL, seed 77: MTL CTRL, seed 77, is not trained"):
        ran(base, tmp_path / "c.jsonl", seeds=[77], only="score")


def test_a_cell_that_fails_does_not_lose_the_others(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = study.obtain

    def broken(name: str, *rest: Any) -> Any:
        if name == "MTL CLS":
            raise ConfigError("no space left")
        return real(name, *rest)

    monkeypatch.setattr(study, "obtain", broken)
    with pytest.raises(ScirepError, match=r"1 cells of study main failed.*MTL CLS, seed 0: no space left"):
        ran(base, tmp_path / "main.jsonl", ("MTL CLS", "MTL CTRL"), seeds=[0])
    assert {row.encoder for row in trainings(read(tmp_path / "main.jsonl"))} == {"MTL CTRL, seed 0"}


def test_what_explains_a_row_gives_it_again_on_another_machine(base, tmp_path, monkeypatch, capsys):
    changes = {"codes": True, "tasks": TASKS[:1], "references": ("tfidf",)}
    rows = ran(base, tmp_path / "here.jsonl", ("MTL CTRL",), seeds=[0, 1], changes=changes)
    single = next(row for row in rows if row.parameters.get("training_seed") == 1 and row.parameters["code"] == "own")
    mean = next(row for row in over_seeds(rows) if row.parameters["code"] == "own")
    words = next(row for row in rows if row.encoder == "tfidf" and row.metric == single.metric)
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.chdir(tmp_path)
    for row in (single, mean):
        with pytest.raises(SystemExit, match="0"):
            cli.main(shlex.split(recompute(row))[1:])
        (again,) = (one for one in read(tmp_path / "rows.jsonl") if one.id.split(":")[1:] == row.id.split(":")[1:])
        assert (again.value, again.low, again.high) == (row.value, row.low, row.high)
    capsys.readouterr()
    with pytest.raises(SystemExit):
        cli.main(shlex.split(recompute(words))[1:])
    found = {(one["metric"], one["value"]) for one in json.loads(capsys.readouterr().out)}
    assert (words.metric, words.value) in found


def test_recorded_lines_are_joined_and_never_lost(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    recorded = tmp_path / "main.jsonl.gz"
    monkeypatch.setattr(study, "results_file", lambda *_: recorded)
    both = ran(base, None, ("Base", "MTL CTRL"), seeds=[0])
    before = recorded.read_bytes()
    assert ran(base, None, ("MTL CTRL",), seeds=[0]) == [
        replace(row, replicates=None) for row in both
    ]  # the same again
    assert recorded.read_bytes() == before
    for seed in (2, 1):
        ran(base, None, ("MTL CTRL",), seeds=[seed])
    found, labels = read(recorded), ["Base, seed 0", *(f"MTL CTRL, seed {seed}" for seed in range(3))]
    assert list(dict.fromkeys(row.encoder for row in trainings(found))) == labels
    ran(base, tmp_path / "whole.jsonl", ("Base", "MTL CTRL"), seeds=range(3))
    assert read(tmp_path / "whole.jsonl") == found  # as if made in one go
    other = budget("tiny", papers=500, train={"steps": 3, "warmup": 1})
    with pytest.raises(ConfigError, match="its rows are of another budget: tiny"):
        run("main", other, [0], changes={"variants": ("Base",), "bases": (base,), "tasks": TASKS, "references": ()})


@dataclass
class Recorder:
    """A study whose units give a row a task at once: 50 of every line, on tasks and data that a test chooses."""

    path: Path
    data: dict[str, str]
    units: list[str] = field(default_factory=list)

    def run(self, tasks: tuple[str, ...], seeds: Any = (0,), **more: Any) -> list[Result]:
        changes = {"variants": ("MTL CLS",), "bases": ("embedded",), "tasks": tasks, "references": ()}
        return trainings(run("main", BUDGETS["tiny"], seeds, changes=changes, **more))

    def tasks(self, of: Any, given: Any) -> list[Any]:
        return [SimpleNamespace(name=name, data_hash=self.data[name]) for name in of.tasks]

    def unit(self, job: Any, *_: Any) -> Any:
        (cell,) = job.cells
        label = cell.label(job.study)
        self.units.append(f"{label}, {job.protocol}")
        rows = [
            Result(name, "test", "map", job.protocol, 50.0, 9, encoder=label, data_hash=self.data[name], seed=0,
                   source="embedded", parameters={"training_seed": cell.seed, "budget": "tiny", "settings": {}})
            for name in job.study.tasks
        ]  # fmt: skip
        return study._Done(job.place, rows, [], [], set())


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder(tmp_path / "main.jsonl.gz", dict.fromkeys(TASKS, "0" * 16))
    monkeypatch.setattr(study, "results_file", lambda *_: made.path)
    monkeypatch.setattr(study, "_tasks", made.tasks)
    monkeypatch.setattr(study, "_unit", made.unit)
    return made


def test_a_run_under_another_protocol_keeps_the_rows_of_the_first(recorder: Recorder):
    for protocol in ("paper", "sound", "paper"):
        recorder.run(TASKS, protocol=protocol)
    assert recorder.units == ["MTL CLS, seed 0, paper", "MTL CLS, seed 0, sound"]
    wanted = [(protocol, task) for protocol in ("paper", "sound") for task in TASKS]
    assert [(row.protocol, row.task) for row in trainings(read(recorder.path))] == wanted


def test_a_unit_is_made_again_where_a_task_of_it_is_missing_and_tasks_and_data_are_not_mixed(recorder, tmp_path):
    for tasks in (TASKS[:1], TASKS, TASKS):
        recorder.run(tasks)
    assert len(recorder.units) == 2 and [row.task for row in trainings(read(recorder.path))] == list(TASKS)
    before = recorder.path.read_bytes()
    with pytest.raises(ConfigError, match=r"has rows of scirepeval/same_author, which is not asked.*Give --out FILE"):
        recorder.run(TASKS[:1], again=True)
    assert recorder.path.read_bytes() == before
    assert len(recorder.run(TASKS[:1], out=tmp_path / "own.jsonl")) == 1
    recorder.data[TASKS[1]] = "1" * 16
    with pytest.raises(ConfigError, match=f"rows of {TASKS[1]} are of the data {'0' * 16}, today's are {'1' * 16}"):
        recorder.run(TASKS, seeds=(0, 1))
    assert len(recorder.units) == 3


def test_an_average_says_of_which_tasks_and_data_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    hashes = {"open/year": "a", "open/mesh": "b"}
    tasks = [SimpleNamespace(name=name, data_hash=one) for name, one in hashes.items()]
    monkeypatch.setattr(study, "_tasks", lambda *_: tasks)
    of, path = replace(STUDIES["main"], tasks="open"), tmp_path / "main.jsonl"
    (average,) = study._data(of, TINY)
    assert average == "open/average"
    job = study._Job((0, 0), "main", of, (), TINY, "all", "paper")
    one = replace(row("A", 0, 1.0), task=average, parameters={"training_seed": 0, **study._of_data(job)})
    outcome.write_rows(path, [one])
    assert study._recorded(path, of, TINY) == [one]
    tasks[0].data_hash = "c"
    with pytest.raises(ConfigError, match="its rows of open/average are of the data"):
        study._recorded(path, of, TINY)


def test_no_mean_is_taken_over_trainings_scored_otherwise():
    drawn = [replace(row("A", seed, 1.0), data_hash="0", parameters={"training_seed": seed}) for seed in (0, 1)]
    assert len(over_seeds(drawn)) == 1
    for change in ({"data_hash": "1"}, {"n": 26}, {"by_query": {"fos": 1.0}}):
        with pytest.raises(ConfigError, match=r"A, scirepeval/average-v2, all, average: no mean over.*--again"):
            over_seeds([drawn[0], replace(drawn[1], **change)])


def test_an_average_of_real_papers_is_whole_and_one_setting_of_the_open_suite_can_be_scored(monkeypatch):
    (unit, *_), of = units("open"), replace(STUDIES["main"], tasks="open")
    some = [Result(unit.task, *member, "paper", 10.0, 5, encoder="x", source="open") for member in unit.members]
    with pytest.raises(ConfigError, match="missing"):
        study._placed("main", of, some, {})
    assert study._placed("main", of, [replace(one, source="embedded") for one in some], {})
    tasks = [SimpleNamespace(name=name) for name in ("open/drsm", "open/year")]
    monkeypatch.setattr(study, "_loaded", lambda *_: tasks)
    assert study._tasks(replace(of, split="test"), TINY) == tasks[1:]  # DRSM has few-shot settings


def test_a_unit_is_recorded_at_once_and_not_made_again_where_its_model_is_gone(base, tmp_path, monkeypatch):
    recorded, kinds, real = tmp_path / "main.jsonl.gz", list[str](), trained.train_into
    own = {"variants": ("MTL CLS", "MTL CTRL"), "bases": (base,), "tasks": TASKS[:1], "references": ()}
    monkeypatch.setitem(STUDIES, "main", replace(STUDIES["main"], **own))
    monkeypatch.setattr(study, "results_file", lambda *_: recorded)

    def stopped(folder: Path, model: Any, *rest: Any, **more: Any) -> Any:
        kinds.append(model.conditioning.kind)
        if kinds == ["plain", "control_codes"]:
            raise KeyboardInterrupt
        return real(folder, model, *rest, **more)

    monkeypatch.setattr(trained, "train_into", stopped)
    given = replace(TINY, looks=2, documents=100)
    with pytest.raises(KeyboardInterrupt):
        run("main", given, [8])
    (first,) = trainings(read(recorded))
    assert first.encoder == "MTL CLS, seed 8"
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "elsewhere"))  # another machine, which has the file alone
    rows = trainings(run("main", given, [8]))
    assert kinds == ["plain", "control_codes", "control_codes"]
    assert [row.encoder for row in rows] == ["MTL CLS, seed 8", "MTL CTRL, seed 8"]
    assert len(trainings(run("main", given, [8], again=True))) == 2 and kinds[3:] == ["plain"]
    curves = outcome.read_results(study.curves_file(recorded))
    assert {row.encoder for row in curves} == {row.encoder for row in rows}
    assert len({row.id for row in curves}) == len(curves)
    assert {row.metric for row in curves} == {"loss", "f1_macro", "kendall_tau", "accuracy"}
    for row in rows:
        (losses,) = outcome.dev_losses(curves, outcome.line(row))
        assert len(losses) == 3  # of the base, and two of its training


def test_processes_give_the_rows_of_one(base: str, tmp_path: Path):
    one = ran(base, tmp_path / "a.jsonl", ("MTL CTRL",))
    assert ran(base, tmp_path / "b.jsonl", ("MTL CTRL",), workers=2) == [replace(row, replicates=None) for row in one]


def test_codes_are_scored_on_every_task_and_vectors_of_models_go(base: str, tmp_path: Path):
    seed = 6  # of no other test here: no vector and no score is there yet
    rows = ran(base, tmp_path / "c.jsonl", ("MTL CTRL",), seeds=[seed], changes={"codes": True})
    by = {(row.parameters["code"], row.task): row.value for row in rows}
    assert {code for code, _ in by} == {"own", *FORMATS} and by["own", TASKS[0]] == by["RGN", TASKS[0]]
    assert by["own", TASKS[1]] == by["PRX", TASKS[1]]
    assert len({tuple(by[code, task] for task in TASKS) for code in ("own", *FORMATS)}) == 5
    assert by["own", TASKS[2]] != by["PRX", TASKS[2]]  # a search has two codes: of its query, of its papers
    fingerprints = {row.fingerprint for row in rows}
    assert fingerprints and not [one for one in fingerprints if (home() / "vectors" / one).exists()]


def test_of_large_parts_the_same_papers_are_probed_in_every_task():
    year, field = (
        Task(name, "classification", "CLF", ("f1",), Labelled({part: tuple(Example(f"{part}{i}", i % k) for i in range(9))
                                                               for part in ("train", "test")}), "open", name,
             texts=lambda: (Paper(f"{part}{i}", "A title", "") for part in ("train", "test") for i in range(9)))
        for name, k in (("year", 2), ("field", 3))
    )  # fmt: skip
    small = [capped(task, 4) for task in (year, field)]
    papers = [[one.paper_id for one in task.payload.splits["train"]] for task in small]
    assert papers[0] == papers[1] and len(set(papers[0])) == 4 and papers[0] != [f"train{i}" for i in range(4)]
    assert small[0].data_hash not in (year.data_hash, small[1].data_hash) and "at most 4 rows" in small[0].notes
    assert sorted(small[0].papers) == sorted(one.paper_id for part in small[0].payload.splits.values() for one in part)
    assert capped(year, 9) is year


@pytest.mark.skipif("SCIREP_DATA_MIRROR" not in os.environ, reason="SCIREP_DATA_MIRROR is not set: no real data here")
def test_of_real_samples_what_was_trained_on_is_not_scored():
    (left,) = study._loaded(("sample/same_author",), 500, 0, "embedded", 0)
    rows = load_task("sample/same_author").payload.rows
    queries = {row.query_id for row in left.payload.rows}
    assert 0 < len(queries) < len({row.query_id for row in rows})
    assert not [one for one in queries if in_train("sample/same_author", one)]


def test_of_a_suite_the_averages_are_kept_and_the_widest_holds_every_unit():
    made = [
        Result(unit.task, split, metric, "paper", 10.0 + i, 5, encoder="x", by_query={"q": 1.0}, source="embedded")
        for i, unit in enumerate(units("v2")) for split, metric in unit.members
    ]  # fmt: skip
    kept = study._placed("main", STUDIES["main"], made, {"variant": "x"})
    assert {one.metric for one in kept} == {"average"}
    (whole,) = (one for one in kept if one.split == "all")
    assert len(whole.by_query) == whole.n == 27
    assert whole.value == pytest.approx(np.mean(list(whole.by_query.values())))
    assert not any(one.by_query for one in kept if one is not whole)
    tasks = study._placed("cross", STUDIES["cross"], made, {"variant": "x"})
    assert len(tasks) == len(made) and not any(one.by_query for one in tasks)


# ---- tables of rows --------------------------------------------------------------------------------------------------


def row(variant: str, seed: int, value: float, split: str = "all", metric: str = "average") -> Result:
    return Result("scirepeval/average-v2", split, metric, "paper", value, 27, encoder=f"{variant}, seed {seed}")


def test_a_table_has_means_and_spread_over_seeds_and_what_ties_with_the_best():
    drawn = {"A": (50.0, 51.0, 52.0), "B": (50.5, 51.5, 52.6), "C": (40.0, 41.0, 42.0)}
    rows = [row(name, seed, value) for name, values in drawn.items() for seed, value in enumerate(values)]
    lines = table([*rows, row("A", 0, 1.0, "CLF"), row("A", 0, 9.0, metric="f1")], ("all",))
    assert [(line.label, line.values["all"]) for line in lines] == list(drawn.items())
    assert lines[0].mean("all") == 51.0 and lines[0].sd("all") == pytest.approx(np.std([50, 51, 52], ddof=1))
    test = tukey(lines, "all")
    assert test is not None and (test.best, test.tied_with_best) == ("B", {"A"})
    assert tukey(table([row("A", 0, 1.0), row("B", 0, 2.0)], ("all",)), "all") is None  # one seed: no spread


def test_a_mean_over_trainings_has_the_t_interval_scipy_gives():
    drawn = (50.0, 51.0, 53.5)
    told = [{"training_seed": seed, "model": str(seed)} for seed in range(3)]
    rows = [replace(row("A", i, x), parameters=told[i], by_query={"fos": x + 1}) for i, x in enumerate(drawn)]
    (mean,) = over_seeds([*rows, row("random", 0, 9.0)])
    assert (mean.encoder, mean.n, mean.value) == ("A", 3, pytest.approx(np.mean(drawn)))
    low, high = stats.t.interval(0.95, 2, np.mean(drawn), stats.sem(drawn))
    assert (mean.low, mean.high) == (pytest.approx(low), pytest.approx(high))
    assert mean.by_query == {"fos": pytest.approx(np.mean(drawn) + 1)}
    assert mean.parameters == {"trainings": 3, "sd": pytest.approx(np.std(drawn, ddof=1)), "values": list(drawn)}
    assert over_seeds([mean]) == [] and table([*rows, mean], ("all",))[0].values["all"] == drawn
    (one,) = over_seeds(rows[:1])
    assert (one.n, one.low, one.high, "sd" in one.parameters) == (1, None, None, False)


def curve(label: str, losses: tuple[float, ...]) -> list[Result]:
    shared: dict[str, Any] = {"metric": "loss", "protocol": "paper", "n": 9, "encoder": label}
    looks = enumerate(losses)
    return [Result("t", f"dev/{step}", value=loss, parameters={"step": step}, **shared) for step, loss in looks]


def averaged(variant: str, *values: float, **more: Any) -> list[Result]:
    told = {"variant": variant, "base": "minilm", "width": 64}
    return [
        replace(row(variant, seed, value, "in-train"), parameters={**told, "training_seed": seed}, **more)
        for seed, value in enumerate(values)
    ]


def test_a_line_is_judged_by_its_interval_over_the_base_and_its_curves():
    rows = [*averaged("Base", 50.0), *averaged("A", 52.0, 52.2), *averaged("B", 50.0, 50.4), *averaged("C", 50.0, 50.4),
            *averaged("single", 60.0), *averaged("no curve", 60.0, 60.0)]  # fmt: skip
    falling, flat = (3.0, 2.0, 1.0), (3.0, 1.0, 2.0)
    curves = [
        *curve("A, seed 0", flat), *curve("A, seed 1", flat), *curve("B, seed 0", flat), *curve("B, seed 1", falling),
        *curve("C, seed 0, MTL CLS", flat), *curve("C, seed 1, MTL CLS", flat), *curve("single, seed 0", flat),
    ]  # fmt: skip
    found = {one.label: one for one in outcome.verdicts([*rows, *over_seeds(rows)], curves)}
    assert {label: one.verdict for label, one in found.items()} == {
        "A": "helps", "B": "not trained enough to judge", "C": "does not help"
    }  # fmt: skip
    assert found["A"].difference == pytest.approx(2.1)
    half = 12.706 * np.std([52.0, 52.2], ddof=1) / 2**0.5
    assert (found["A"].low, found["A"].high) == pytest.approx((2.1 - half, 2.1 + half), abs=1e-3)
    for losses in ([], [[1.0], []]):
        with pytest.raises(ConfigError, match="no dev losses"):
            outcome.judgement(1.0, losses)


def test_curves_are_in_order_whatever_was_trained_first_and_trials_are_kept_by_base_and_budget(tmp_path: Path):
    path, curves = tmp_path / "x.jsonl", [*curve("B, seed 0", (1.0, 2.0)), *curve("A, seed 0", (3.0, 4.0))]
    for part in (curves[:2], curves[2:]):
        outcome.write_curves(path, part)
    assert [row.value for row in read(path)] == [3.0, 4.0, 1.0, 2.0]
    path, tried = tmp_path / "rates.jsonl", {"minilm": {("MTL CLS", 2e-5): 0.5, ("Adapters", 1e-4): 0.25}}
    other = {"minilm": {("MTL CLS", 2e-5): 0.75}}
    for name, told in (("open", tried), ("real", tried), ("real", other)):
        outcome.write_trials(path, told, name, {"budget": name, "settings": {}})
    for name, told in (("open", tried), ("real", other), ("tiny", {})):
        assert outcome.read_trials(path, {"budget": name, "settings": {}}) == told


def test_every_member_of_an_ensemble_has_its_curve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    made = [study.Made(name, tmp_path / name, name) for name in ("a", "b")]
    look = {"step": 1, "documents": 9, "losses": {}, "validation": {"t": 0.5}, "measures": {}}
    training = {"curve": [look], "best": {"step": 1}}
    how = {"train": {"learning_rate": 1.0}, "training": training, "dev": {"t": ["map", 9]}}
    monkeypatch.setattr(study, "obtain", lambda *_: made)
    monkeypatch.setattr(study, "describe", lambda _: SimpleNamespace(made=how))
    monkeypatch.setattr(study, "is_saved", lambda _: True)
    of = replace(STUDIES["main"], variants=("mean of two MTL CLS",))
    (job,) = study._units("main", of, 0, TINY, "train", "paper")
    curves = study._unit(job, None).curves
    assert [(row.encoder, row.parameters["model"]) for row in curves] == [
        ("mean of two MTL CLS, seed 0, MTL CLS", "a"), ("mean of two MTL CLS, seed 0, MTL CLS/1", "b")
    ]  # fmt: skip
    assert outcome.dev_losses(curves, "mean of two MTL CLS") == [[0.5], [0.5]]


def test_values_of_two_protocols_are_never_one_line_and_a_task_has_one_number():
    with pytest.raises(ConfigError, match="under paper and sound"):
        table([row("A", 0, 1.0), replace(row("A", 0, 2.0), protocol="sound")], ("all",))
    for task, split, metric, known in (
        ("scirepeval/paper_reviewer_matching", "test", "mean_of_four", "paper_reviewer_matching"),
        ("scirepeval/paper_reviewer_matching", "test", "hard_p@5", None), ("scirepeval/fos", "10-shot", "f1_macro", None),
        ("sample/search", "test", "ndcg", "search"), ("scirepeval/cite_prediction", "train", "accuracy", None),
        ("sample/cite_prediction", "train", "accuracy", "cite_prediction"),  # what was held out of the file's one split
    ):  # fmt: skip
        assert main_metric(Result(task, split, metric, "paper", 1.0, 9)) == known


# ---- the command -----------------------------------------------------------------------------------------------------


def test_studies_are_listed_and_what_is_recorded_is_shown_with_its_verdicts(tmp_path: Path, scirep: Any):
    assert [one["study"] for one in json.loads(scirep("study", "list", "--json")[1])] == list(STUDIES)
    path = tmp_path / "main.jsonl"
    sound = averaged("MTL CLS", 10.0, 10.4, protocol="sound")
    names = ("MTL CTRL", "MTL CTRL, one task after another")
    others = [row for name in names for row in averaged(name, 50.0)]
    outcome.write_rows(path, [*averaged("Base", 50.0), *averaged("MTL CLS", 52.0, 52.2), *others, *sound])
    curves = [one for seed in (0, 1) for one in curve(f"MTL CLS, seed {seed}", (1.0,))]
    outcome.write_curves(study.curves_file(path), curves)
    shown = scirep("study", "main", "--show", "--out", path, "--source", "open")[1]
    assert shown.count("MTL CLS") >= 3 and "52.10 (0.14)" in shown and "10.20 (0.28)" in shown
    assert "+2.10" in shown and "+0.83 to +3.37" in shown
    assert MEANT["main"][0] in shown
    words = ("--variants", f"Base,{names[1]}", "--json")  # a comma may be part of a name
    shown = json.loads(scirep("study", "main", "--show", "--out", path, *words)[1])
    assert {(one["kind"], one["parameters"]["variant"]) for one in shown} == {
        ("recorded", "Base"),
        ("recorded", names[1]),
    }
