"""Chapter your_encoder: systems by name, file and callable; differences with their signs; sentences that follow the numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blank_page import Shown
from small_tasks import all_tasks, vectors

from scirep_core.bench import suites
from scirep_core.bench.given import as_model, by_callable
from scirep_core.bench.leaderboard import main_metric
from scirep_core.data import TASKS, load_task
from scirep_core.data.folder import write_folder
from scirep_core.data.task import Task
from scirep_core.exhibits import your_encoder as exhibits
from scirep_core.exhibits import your_encoder_pitfalls as pitfalls
from scirep_core.exhibits import your_encoder_tables as tables
from scirep_core.kit.errors import ConfigError
from scirep_core.page.chapter import Chapter
from scirep_core.page.parameters import PARAMETERS
from scirep_core.results import Result

SMALL = {name: all_tasks()[name] for name in ("classification", "regression", "proximity", "adhoc_search", "triplets")}
N = 40


def lengths(texts: Any) -> np.ndarray:
    """A callable anyone can follow: how long a text is, and how many vowels it has."""
    return np.array([[len(text), sum(text.count(v) for v in "aeiou"), 1.0] for text in texts])


@pytest.fixture
def chapter(tmp_path: Path) -> Shown:
    """A chapter that collects what it shows in `chapter.page`."""
    return Shown("scirepeval/your_encoder", {"data": "embedded", "papers": 300, "seed": 0}, tmp_path)


def page(chapter: Shown) -> str:
    return re.sub(r"<[^>]+>", "", "\n".join(chapter.page))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("small")
    for name, task in SMALL.items():
        write_folder(task, root / name)
    np.savez(root / "mine.npz", ids=list(vectors()), vectors=np.stack(list(vectors().values())))
    return {path.stem: str(path) for path in root.iterdir()}


# ---- what is scored --------------------------------------------------------------------------------------------------


def test_parameters_are_of_the_shared_vocabulary():
    assert {"data", "papers", "tasks", "encoder", "vectors", "seed"} <= set(PARAMETERS)
    assert {TASKS[name].format for name in exhibits.FEW} == {"CLF", "RGN", "PRX", "QRY"}
    assert exhibits.names_of("few", "embedded") == exhibits.FEW
    assert exhibits.names_of("few", "real") == suites.SUITES["samples"]
    assert exhibits.names_of("scidocs, my/folder", "real") == (*suites.SUITES["scidocs"], "my/folder")


def test_a_file_and_a_callable_are_scored_beside_the_references(
    chapter: Chapter, folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(exhibits, "REFERENCES", ("random", "tfidf"))  # no weights are loaded here
    chosen = ",".join(folders[name] for name in ("classification", "proximity", "adhoc_search"))
    bench = exhibits.prepare(chapter, chosen, "random", folders["mine"], {"lengths": lengths})
    assert list(bench.systems) == ["random", "tfidf", "mine", "lengths"]
    assert bench.pick("QRY").name == "small/adhoc_search" and bench.pick("RGN", "CLF").format == "CLF"
    rows = exhibits.measure(chapter, bench)
    assert {(row.encoder, row.protocol) for row in rows} == {(s, p) for s in bench.systems for p in ("paper", "sound")}
    task = SMALL["proximity"]
    direct = {r.metric: r.value for r in scored(task, vectors())}
    ours = {r.metric: r.value for r in rows if (r.task, r.encoder, r.protocol) == (task.name, "mine", "paper")}
    assert ours == direct
    given = by_callable(task, as_model(lengths, exhibits.LETTERS))
    assert given["p3"][0] == len("On stacks, part 3 We push and pop. \u2028 Number 3.")
    assert set(by_callable(SMALL["adhoc_search"], lengths)) >= {"q1", "p1", "p2"}
    kept = exhibits.record(chapter, rows)
    assert all(not row.by_query and row.chapter == "scirepeval/your_encoder" for row in kept)
    assert len((chapter.folder / "rows.jsonl").read_text().splitlines()) == len(kept)
    tables.scores(chapter, kept)
    tables.differences(chapter, kept, ("tfidf",))
    assert "mine against TF-IDF, " in page(chapter)
    assert "Scored here: 4 systems on 3 tasks (none of the benchmark’s own), protocol paper and sound." in page(chapter)


def scored(task: Task, given: Any) -> list[Result]:
    from scirep_core import evaluate

    return evaluate(task, given)


def test_vectors_that_lack_a_task_leave_the_others(
    chapter: Chapter, folders: dict[str, str], tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(exhibits, "REFERENCES", ("random",))
    some = {key: vector for key, vector in vectors().items() if key not in ("p5", "q1")}
    np.savez(tmp_path / "some.npz", ids=list(some), vectors=np.stack(list(some.values())))
    chosen = ",".join(folders[name] for name in ("classification", "proximity", "triplets"))
    bench = exhibits.prepare(chapter, chosen, "random", str(tmp_path / "some.npz"))
    rows = exhibits.measure(chapter, bench)
    assert not [row for row in rows if row.encoder == "some" and row.task == "small/classification"]
    assert "have no vector: p5" in page(chapter) and "some on small/classification" in page(chapter)
    for name in ("random", "lengths", "oracle"):  # a reference, a callable of the page, the ceiling
        np.savez(tmp_path / f"{name}.npz", ids=["p0"], vectors=np.ones((1, 2)))
        with pytest.raises(ConfigError, match=f"'{name}' is the name of a system here"):
            exhibits.prepare(chapter, chosen, "random", str(tmp_path / f"{name}.npz"), {"lengths": lengths})
    with pytest.raises(ConfigError, match="did you mean 'scirepeval/fos'"):
        exhibits.prepare(chapter, "scirepeval/fso", "random")
    with pytest.raises(ConfigError, match="did you mean 'tfidf'"):
        exhibits.prepare(chapter, chosen, "tfdif")


# ---- differences -----------------------------------------------------------------------------------------------------


def row(task: str, system: str, value: float, spread: float = 1.0, protocol: str = "paper", seed: int = 1) -> Result:
    """A score whose bootstrap values are the task's own noise, common to all systems, and a little of the system's."""
    place = sum(map(ord, task))
    common = np.random.default_rng(place).normal(0, 5, 1000)
    own = np.random.default_rng([place, sum(map(ord, system)), seed]).normal(0, spread, 1000)
    metric = main_metric(task) or "map"
    low, high = (float(np.quantile(value + common + own, q)) for q in (0.025, 0.975))
    return Result(task, "test", metric, protocol, value, N, system, low, high, source="real", data_hash=task, seed=0,
                  replicates=np.asarray(value + common + own, dtype=np.float32))  # fmt: skip


def chain(task: str, *values: float, **more: Any) -> list[Result]:
    return [
        row(task, system, value, **more) for system, value in zip(("random", "tfidf", "minilm"), values, strict=True)
    ]


ROWS = [
    *chain("sample/fos", 5.0, 40.0, 50.0), *chain("sample/drsm", 10.0, 60.0, 50.0), *chain("sample/pub_year", 0.0, 30.0, 30.2),
    *chain("sample/search", 60.0, 60.1, 70.0),
]  # fmt: skip


def test_differences_are_paired_signed_and_of_the_main_metric(chapter: Chapter):
    rows = exhibits.record(chapter, [*ROWS, replace(ROWS[0], metric="accuracy"), replace(ROWS[1], split="64-shot")])
    place = ("sample/fos", "test", "f1_macro", "paper")
    found = exhibits.gap_of(rows, place, "minilm", "tfidf")
    assert found is not None
    points, p = found
    assert points.value == pytest.approx(10) and p.value == pytest.approx(2 / 1001)
    assert points.high - points.low < 8 < ROWS[0].high - ROWS[0].low, "what both systems share falls out"
    assert exhibits.gap_of(rows, place, "tfidf", "minilm") is None, "kept in one direction"
    assert len([r for r in rows if not exhibits.is_score(r)]) == 4 * 3 * 2
    two = [replace(ROWS[0], task="mine", metric=metric) for metric in ("p@5", "map")]
    assert [r.metric for r in exhibits.main_rows(two)] == ["p@5"], "a task of one's own is shown by its first metric"
    bare = [replace(r, replicates=None) for r in ROWS]
    assert list(exhibits.differences(bare)) == []


def test_samples_out_of_order_are_named(chapter: Chapter):
    rows = exhibits.record(chapter, ROWS)
    assert tables.verdicts(rows) == {
        "paper": {"sample/fos": (1, 1), "sample/drsm": (-1, 1), "sample/pub_year": (0, 1), "sample/search": (1, 0)}
    }
    tables.samples(chapter, rows)
    tables.in_order(chapter, rows)
    said = page(chapter)
    assert "with the whole interval, on 1 of 4 samples: Fields of study (FoS)." in said
    assert "TF-IDF beats MiniLM on DRSM. MiniLM and TF-IDF are not settled on Year of Publication." in said
    assert "TF-IDF and random are not settled on Search." in said and "random beats" not in said
    assert "no: MiniLM / TF-IDF" in said and "not settled: TF-IDF / random" in said
    turned = [replace(r, encoder={"tfidf": "minilm", "minilm": "tfidf"}.get(r.encoder, r.encoder)) for r in ROWS]
    rows = (
        list(exhibits.differences(sorted(turned, key=lambda r: ("random", "tfidf", "minilm").index(r.encoder))))
        + turned
    )
    assert tables.verdicts(rows)["paper"]["sample/drsm"] == (1, 1), "the sentence follows the numbers"


def test_an_interval_without_width_settles_nothing():
    assert tables.settled(replace(ROWS[0], value=9.0, low=9.0, high=9.0)) == 0
    assert tables.settled(replace(ROWS[0], value=9.0, low=8.9, high=9.0)) == 1


def flat(task: str, *values: float, **more: Any) -> list[Result]:
    """Scores of one block drawn again and again: every bootstrap value is the score."""
    return [
        replace(
            r, low=r.value, high=r.value, replicates=np.full(1000, r.value, dtype=np.float32), n=3, note="one block"
        )
        for r in chain(task, *values, **more)
    ]


def test_one_block_has_neither_interval_nor_p(chapter: Chapter):
    rows = exhibits.record(chapter, [*ROWS, *flat("sample/s2and", 80.0, 71.43, 71.43)])
    differences = [r for r in rows if r.task == "sample/s2and" and not exhibits.is_score(r)]
    assert len(differences) == 3 and all(r.low is r.high is None and r.metric.startswith("diff") for r in differences)
    tables.samples(chapter, rows)
    tables.in_order(chapter, rows)
    said = page(chapter)
    assert "80.0 to 80.0" not in said and "-8.6 no interval" in said
    assert (
        "S2AND: the sample is 9 author mentions of 3 people and some unknown, n = 3 of them are scored (one block)"
        in said
    )
    assert "neither an interval nor a p" in said
    # an older recording holds the interval without width and its p: it is not shown either
    old = [replace(r, low=r.value, high=r.value) if r in differences else r for r in rows]
    old += [replace(r, metric=r.metric.replace("difference", "p of the difference"), value=0.002) for r in differences]
    place = ("sample/s2and", "test", "b3_f1", "paper")
    points, p = exhibits.gap_of(old, place, "tfidf", "random") or (None, None)
    assert p is None and points is not None and points.low is None
    assert tables.reasons(chapter, [r for r in old if r.task == "sample/s2and"]) is None
    assert "Why" not in page(chapter), "where nothing can be settled nothing is to be explained"


def test_a_ranking_that_is_the_same_under_both_protocols_is_one_comparison():
    one = replace(ROWS[0], value=5.0, low=2.0, high=8.0)
    same, other = replace(one, protocol="sound"), replace(one, protocol="sound", low=-1.0)
    assert tables.count_settled("A", "B", [one, same]) == (
        "A against B, 1 comparison (1 the same under both protocols and counted once): ahead with the whole interval on 1, "
        "behind on 0, not settled on 0."
    )
    assert "A against B, 2 comparisons: ahead with the whole interval on 1" in tables.count_settled(
        "A", "B", [one, other]
    )


def test_reasons_follow_the_recorded_order(chapter: Chapter):
    sound = [
        *chain("sample/peer_review_score", 0.0, 30.0, 45.0, protocol="sound"),
        *chain("sample/drsm", 10.0, 61.0, 50.0, protocol="sound"),
        *chain("sample/fos", 5.0, 40.0, 40.1, protocol="sound"),
    ]  # fmt: skip
    rows = exhibits.record(chapter, [*ROWS, *sound])
    tables.in_order(chapter, rows)
    tables.reasons(chapter, rows)
    said = page(chapter)
    assert "Not recorded under it: Year of Publication, Search." in said
    assert "TF-IDF beats MiniLM on DRSM." in said, "said once, of both protocols"
    assert (
        "MiniLM and TF-IDF are not settled on Fields of study (FoS) (under sound alone), Year of Publication (under paper)."
        in said
    )
    assert "Year of Publication: a year shows" in said and "review score" not in said, "settled: nothing to explain"
    assert "Both counts hold" not in said
    again = [replace(r, protocol="sound") for r in ROWS if r.task == "sample/search"]
    tables.in_order(chapter, exhibits.record(chapter, [*ROWS, *again]))
    assert "Both counts hold the same numbers of Search: one comparison each" in page(chapter)
    assert tables._singular("1 tasks, 21 tasks, the other 1 blocks") == "1 task, 21 tasks, the other 1 block"
    bare = said.partition("No hypothesis of ours: ")[2]
    assert "DRSM (MiniLM / TF-IDF)" in bare and "Fields of study (FoS) (MiniLM / TF-IDF, protocol sound)" in bare
    assert "a few papers decide" not in said, "why DRSM is open is no reason for it to be the other way"


def test_the_explorer_holds_every_difference(chapter: Chapter, monkeypatch: pytest.MonkeyPatch):
    rows = exhibits.record(
        chapter, [*ROWS, *(replace(r, encoder="mine", value=99.0) for r in ROWS if r.encoder == "random")]
    )
    monkeypatch.setattr(tables, "kept", lambda: [])
    widget = tables.explorer(rows, "mine")
    assert (widget.selection["first"], widget.selection["second"]) == ("mine", "minilm")
    view = widget._view
    assert [len(line["gaps"]) for line in view["rows"]] == [6] * 4 and view["systems"][1] == ["tfidf", "TF-IDF"]
    assert view["rows"][0]["gaps"]["1|2"][0] == pytest.approx(-10), "TF-IDF minus MiniLM, the first of the two first"
    assert tables.explorer(rows, "minilm").selection["second"] == "tfidf"


# ---- the final number ------------------------------------------------------------------------------------------------


def test_an_average_over_some_tasks_says_what_it_lacks(chapter: Chapter):
    names = ("scirepeval/cite_count", "scirepeval/pub_year", "scirepeval/relish")
    rows = [r for name in names for r in chain(name, 10.0, 40.0, 50.0)]
    bench = exhibits.Bench((), {}, dict.fromkeys(("random", "tfidf", "minilm"), lambda protocol: None))  # type: ignore[arg-type]
    tables.final_number(chapter, rows, bench)
    said = page(chapter)
    assert "The average is refused on these tasks alone" in said and "3 of 27 units" in said
    assert "Partial average, comparable with no published one" in said
    assert re.search(r"MiniLM − TF-IDF: \+10\.0 .* p = ", said)
    made = [r for r in (chapter.folder / "rows.jsonl").read_text().splitlines() if '"average"' in r]
    assert len(made) > 5
    tables.final_number(chapter, ROWS, bench)
    assert "a sample has none" in page(chapter)


# ---- pitfalls --------------------------------------------------------------------------------------------------------


def test_gaps_are_refused_reported_and_change_the_number(chapter: Chapter):
    task = SMALL["proximity"]
    pitfalls.gaps(chapter, task, {key: v for key, v in vectors().items() if key in ("p0", "p1", "p2", "p3", "p4", "p5", "p6")},
                  "letters")  # fmt: skip
    said = page(chapter)
    assert "6 of 7 ids have a vector; the first without: p0" in said
    assert "1 of the 7 ids of small/proximity have no vector: p0" in said and "--on-missing drop" in said
    assert "letters, one in 10 missing" in said and "40.0 %" in said


def test_inputs_are_shown_as_they_are_read(chapter: Chapter):
    pitfalls.formats(chapter, [SMALL["adhoc_search"]])
    shown = page(chapter)
    assert "query: how to pop" in shown and "passage: On stacks, part 1" in shown and "QRY" in shown and "PRX" in shown
    assert "On stacks, part 1 [SEP] We push" in shown


def test_distance_and_angle_are_told_apart(chapter: Chapter):
    task = SMALL["proximity"]
    by_angle = {"p0": [1, 0], "p1": [9, 0], "p2": [1, 0.5], "p3": [1, 0.2], "p4": [1, 1], "p5": [1, 0], "p6": [5, 5]}
    pitfalls.lengths(chapter, task, {key: np.array(v, dtype=float) for key, v in by_angle.items()}, "x")
    said = page(chapter)
    l2, cosine = (float(x) for x in re.search(r"l2 ([\d.]+), cosine ([\d.]+)", said).groups())
    assert l2 < cosine == 100.0


def test_every_task_of_the_benchmark_says_what_it_fetches(chapter: Chapter):
    pitfalls.full_data(chapter)
    shown = page(chapter)
    assert "each of the 23 tasks" in shown and "scirepeval: fos/evaluation; scirepeval_test: fos" in shown
    assert "258,687 test" in shown
    assert "not known" not in shown and "filessize" not in shown, "no manifest knows a size: no column of them"


# ---- the recorded run ------------------------------------------------------------------------------------------------

ASKED = ("fos", "mesh_descriptors", "drsm", "same_author", "search", "cite_prediction", "peer_review_score", "pub_year",
         "cite_count")  # fmt: skip


def test_the_recorded_run_covers_every_sample_with_intervals_under_both_protocols():
    rows = tables.kept()
    scores = {(r.task, r.protocol, r.encoder): r for r in exhibits.main_rows(rows)}
    for name in ASKED:
        for protocol in ("paper", "sound"):
            for system in ("random", "tfidf", "minilm"):
                found = scores[f"sample/{name}", protocol, system]
                assert found.low <= found.value <= found.high and found.source == "real" and found.coverage == 1, (
                    name,
                    system,
                )
    found = tables.verdicts(rows)
    assert set(found) == {"paper", "sound"} and all(
        {f"sample/{name}" for name in ASKED} <= set(found[p]) for p in found
    )


def test_the_recorded_run_is_of_the_samples_at_hand(real: object):
    hashes = {r.task: r.data_hash for r in tables.kept()}
    for name in ("sample/fos", "sample/search"):
        task = load_task(name)
        assert isinstance(task, Task) and hashes[name] == task.data_hash
