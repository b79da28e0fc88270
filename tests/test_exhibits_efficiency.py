"""Chapter scirepeval/efficiency: print read as numbers, sentences that follow values, recorded measurements beside live ones."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from scirep_core.bench.speed import race as race_
from scirep_core.bench.speed.costs import Cost
from scirep_core.bench.speed.efficiency import ALL, ONE, OVER_ONE, SHARE, TASK, TRAINING
from scirep_core.exhibits import scirepeval_efficiency as exhibits
from scirep_core.exhibits import scirepeval_race as race
from scirep_core.exhibits import scirepeval_times as times
from scirep_core.exhibits import studies
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import lookup

TOLD = {"base": "bert-mini", "width": 128, "layers": 2, "mean_tokens": 64.0, "machine": "Some CPU", "threads": 1}
RATIOS = {
    "MTL CLS": 0.9,
    "MTL CTRL": 1.0,
    "PALs": 1.5,
    "Adapters": 1.1,
    "Fusion": 1.4,
    "Adapters + MTL CTRL": 2.1,
    "one pass": 1.0,
}


@pytest.fixture()
def chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chapter:
    made = Chapter(exhibits.CHAPTER, {"data": "embedded", "papers": 300, "seed": 0}, tmp_path)
    shown: list[str] = []
    monkeypatch.setattr(Chapter, "show", lambda self, *parts: shown.extend(parts))
    monkeypatch.setattr(exhibits, "kept", list)
    object.__setattr__(made, "seen", shown)
    return made


def text_of(chapter: Chapter) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", " ".join(chapter.seen))))  # type: ignore[attr-defined]


def costs() -> dict[str, Cost]:
    """Operations whose ratios are as printed, but for PALs' training."""
    made, given = {}, {
        "MTL CTRL": (100, 100), "PALs": (108, 129), "Adapters": (96, 105), "Fusion": (90, 120),
        "Adapters + MTL CTRL": (196, 205), "MTL CLS": (100, 100), "one pass": (101, 101),
    }  # fmt: skip
    for name, (train, encode) in given.items():
        shared = name in ("MTL CLS", "one pass")
        made[name] = Cost(1000, 2000, encode, encode if shared else 4 * encode, train, 10**6, 3072)
    made[exhibits.AS_PUBLISHED] = made["Fusion"]._replace(train=132, encode=169)
    return made


def measured(scale: float = 1.0, kind: str = "live", **told: object) -> list[Result]:
    rows = []
    for metric in (TRAINING, ONE, ALL, OVER_ONE, SHARE):
        for name, value in RATIOS.items():
            mine = scale * value
            rows.append(Result(TASK, "bert-mini", metric, "sound", mine, 3, encoder=name, low=mine - 0.1, high=mine + 0.1,
                               kind=kind, chapter="study/efficiency", parameters={**TOLD, **told}))  # fmt: skip
    return rows


def test_every_printed_number_is_a_number_and_v2_repeats_v1():
    four, five = lookup("V2-T4"), lookup("V1-T5")
    assert all(exhibits.amount(printed) > 0 for printed in (*four.values(), *five.values()))
    assert (len(four), len(five)) == (24, 12)
    assert exhibits.amount(four["PALs", "Training Time"]) == 1.42
    assert exhibits.ways_in_print() == ["MTL CTRL", "PALs", "Adapters", "Fusion", "Adapters + MTL CTRL"]


def test_counts_that_do_not_round_to_print_are_named(chapter: Chapter):
    found = {**costs(), "Fusion": costs()["Fusion"]._replace(parameters=21_252_096),
             "MTL CTRL": costs()["MTL CTRL"]._replace(parameters=768), "PALs": costs()["PALs"]._replace(parameters=1_819_836),
             "Adapters": costs()["Adapters"]._replace(parameters=894_528),
             "Adapters + MTL CTRL": costs()["Adapters + MTL CTRL"]._replace(parameters=895_296)}  # fmt: skip
    exhibits.parameters_table(chapter, found)
    assert re.search(
        r"4 of 5 printed counts follow .* 22M comes out with the format’s own adapter, 22\.1M", text_of(chapter)
    )
    chapter.seen.clear()  # type: ignore[attr-defined]
    exhibits.parameters_table(chapter, {**found, "PALs": found["PALs"]._replace(parameters=3_000_000)})
    assert "3 of 5 printed counts follow from the models’ shapes; not PALs, Fusion" in text_of(chapter)


def test_printed_times_are_held_against_operations(chapter: Chapter):
    counts = times.times_table(chapter, costs(), measured(), training=True)
    times.say_times(chapter, counts, training=True)
    said = text_of(chapter)
    assert re.search(
        r"Printed within 5 % of what operations say: Adapters .*, Fusion .* 1\.32x.*, Adapters \+ MTL CTRL", said
    )
    assert re.search(r"Printed above it: PALs \( 1\.42x , operations 1\.08", said)
    assert "Printed below" not in said
    turned = {name: replace(row, value=3.0) for name, row in counts.items()}
    times.say_times(chapter, turned, training=True)
    assert text_of(chapter).count("Printed below it: PALs") == 1


def test_each_measurement_has_a_letter_and_its_own_column(chapter: Chapter, monkeypatch: pytest.MonkeyPatch):
    kept = measured(2.0, "recorded", machine="Some GPU", base="bert-base")
    monkeypatch.setattr(exhibits, "kept", lambda: kept)
    found = exhibits.measurements(measured())
    assert [(m.letter, m.kind) for m in found] == [("A", "recorded"), ("B", "live")]
    assert "Some GPU" in found[0].name and "random weights" in found[0].name
    times.all_formats(chapter, costs(), measured())
    said = text_of(chapter)
    assert re.search(
        r"need 1\.01 x the operations of one vector, and took 2\.00 x [\d. to]+ \(recorded A\), 1\.00 x", said
    )
    assert re.search(r"a pass for each code, 4\.00 x", said)


def test_sums_and_epochs_follow_from_print(chapter: Chapter):
    exhibits.say_print(chapter)
    exhibits.epochs_table(chapter)
    said = text_of(chapter)
    assert "training time 1.96x = 1.96 x; inference time 2.05x = 2.05 x" in said
    assert "12 of 12 numbers of v1’s table stand in v2’s" in said
    assert re.search(r"adapters take up to 2\.88 x MTL CTRL’s time, where the table has 0\.96x", said)
    assert re.search(r"the longest is Fusion, up to 5\.52 x", said)  # (6 x 0.96 + 4 x 1.32) / 2


def test_without_a_recording_of_quality_the_page_says_so(chapter: Chapter, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(studies, "recorded_study", lambda name: [])
    times.quality(chapter, measured())
    assert "is not recorded yet" in text_of(chapter)


def study_rows() -> list[Result]:
    """Two trainings of four ways and their means: one pass best, MTL CLS worst."""
    from scirep_core.bench.studied import over_seeds

    rows = []
    for name, value in {"MTL CLS": 50, "MTL CTRL": 52, "Adapters": 49, "one pass": 55}.items():
        for seed in (0, 1, 2):
            rows.append(Result("scirepeval/average-v2", "all", "average", "paper", value + 0.1 * seed, 1, kind="recorded",
                               encoder=f"{name}, seed {seed}", parameters={"training_seed": seed, "variant": name}))  # fmt: skip
    return [*rows, *(replace(row, kind="recorded") for row in over_seeds(rows))]


def test_quality_and_cost_name_what_nothing_beats(chapter: Chapter, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(studies, "recorded_study", lambda name: study_rows())
    times.quality(chapter, measured())
    said = text_of(chapter)
    assert re.search(
        r"No way is better at the same cost or less, by means, than: MTL CLS [^,]*\(.*, one pass \(ours\) \(", said
    )
    assert "MTL CTRL (" not in said.partition("by means, than:")[2].partition(".  ")[0].split("Of those")[0]
    assert "does not tell from the best, one pass (ours) , the cheapest is one pass" in said.replace(
        "(ours),", "(ours) ,"
    )
    drawn = (chapter.folder / "figures" / "quality-and-cost.csv").read_text()
    assert drawn.count("\n") == 5


def test_what_counting_words_gives_is_on_the_axis_however_far_it_lies(
    chapter: Chapter, monkeypatch: pytest.MonkeyPatch
):
    counted = Result(
        "scirepeval/average-v2", "all", "average", "paper", 71.5, 1, kind="recorded", encoder=studies.LEXICAL
    )
    seen: list[tuple[float, float]] = []
    monkeypatch.setattr(studies, "recorded_study", lambda name: [*study_rows(), counted])
    monkeypatch.setattr(times, "_name", lambda axes, points: seen.append(axes.get_ylim()))
    times.quality(chapter, measured())
    assert seen[0][0] < 49 and seen[0][1] > 71.5
    assert "TF-IDF" in (chapter.folder / "figures" / "quality-and-cost.csv").read_text()


def test_a_race_says_who_is_faster_by_every_round(chapter: Chapter, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(race, "timed", lambda task: [])
    names = ("ours, float32", "ours, bfloat16")
    made = race_.race("bert-tiny", ["w1 w2 w3", "w4"], "own", names=names, rounds=2, max_length=8)
    low, high = (
        (lambda r: replace(r, value=2.0, low=1.5, high=2.5)),
        (lambda r: replace(r, value=1.0, low=0.5, high=1.5)),
    )
    for turn, word in (
        (low, "faster in every round: ours, bfloat16 2.00 x"),
        (high, "not told apart: ours, bfloat16 1.00 x"),
    ):
        rows = [turn(r) if r.metric == race_.CPU_TIMES and r.encoder == names[1] else r for r in made]
        chapter.seen.clear()  # type: ignore[attr-defined]
        race.show(chapter, rows)
        assert word in text_of(chapter)
        assert "Only this build’s small race stands here" in text_of(chapter)
    race.draw(chapter, made)
    assert (chapter.folder / "figures" / "race.csv").read_text().count("\n") == 3
