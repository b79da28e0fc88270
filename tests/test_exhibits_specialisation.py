"""Chapter `specialisation`: printed tables read again, codes against formats over trainings, random groups of tasks."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blank_page import Shown
from scipy import stats

from scirep_core.bench import studied
from scirep_core.bench.study_tables import OWN, TABLE_3
from scirep_core.bench.suites import units
from scirep_core.data import TASKS
from scirep_core.exhibits import scirepeval_codes as codes
from scirep_core.exhibits import scirepeval_codes_claims as claims
from scirep_core.exhibits import scirepeval_codes_figure as drawing
from scirep_core.exhibits import scirepeval_codes_print as printed
from scirep_core.exhibits import scirepeval_partitions as partitions
from scirep_core.exhibits import scirepeval_specialisation as special
from scirep_core.exhibits import studies
from scirep_core.kit.formats import FORMATS
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import lookup
from scirep_core.training.variants import PARTITIONS, random_partition

FOS, CITE, AUTHOR, SEARCH, DRSM, REVIEW, REVIEWERS, COVID = TABLE_3

# ---- print -----------------------------------------------------------------------------------------------------------


def test_both_tables_and_the_gains_are_whole():
    for exhibit in codes.PRINTED:
        assert len(lookup(exhibit)) == 32
        assert {printed.printed_cell(exhibit, task, code).paper for task in TABLE_3 for code in FORMATS} == {
            f"scirepeval-{exhibit[:2].lower()}"
        }
    assert [printed.gain(task).value for task in TABLE_3] == [
        "+5.2",
        "+3.8",
        "+1.2",
        "+1.3",
        "+0.2",
        "+3.9",
        "+4.5",
        "+2.2",
    ]


def test_the_own_code_is_not_always_the_highest_in_print():
    best = {e: codes.own_is_best(codes.printed_matrix(e), TABLE_3) for e in codes.PRINTED}
    assert [task for task in TABLE_3 if task not in best["V2-T3"]] == [REVIEWERS]
    assert [task for task in TABLE_3 if task not in best["V1-T4"]] == [REVIEWERS]
    assert codes.best_codes(codes.printed_matrix("V2-T3"), REVIEWERS) == ["QRY"]
    assert codes.best_codes(codes.printed_matrix("V1-T4"), REVIEWERS) == ["PRX", "QRY"]


def test_underlines_off_the_highest_number_are_found():
    low, plain = printed.odd_underlines("V2-T3")
    assert [(cell.row, cell.column, cell.value) for cell in low] == [("out-of-train/Proximity", "PRX", "45.1")]
    assert [(cell.row, cell.column) for cell in plain] == [("in-train/Classification", "CLF")]
    low, plain = printed.odd_underlines("V1-T4")
    assert [cell.value for cell in low] == ["77.5", "85.3"]
    assert plain == []


def test_the_printed_advantage_is_own_minus_the_three_others():
    matrix = codes.printed_matrix("V2-T3")
    assert codes.advantages(matrix, FOS)[0] == pytest.approx(43.3 - (29.4 + 32.7 + 31.1) / 3)
    assert codes.mean_advantage(matrix, matrix.part("in-train")).value == pytest.approx(7.2417, abs=1e-4)


# ---- rows made by hand -----------------------------------------------------------------------------------------------

Score = Callable[[str, str, str, int], float]
"""(variant, task, code, seed) -> score."""


def row(task: str, split: str, value: float, encoder: str, **told: Any) -> Result:
    spec = TASKS[task]
    metric = "mean_of_four" if "mean_of_four" in spec.metrics else spec.metrics[0]
    given = {"papers": 3000, "data_seed": 0, "width": 64, "layers": 2, "steps": 200, "base": "embedded", **told}
    return Result(task, split, metric, "paper", value, 100, encoder=encoder, kind="recorded", chapter="study/cross",
                  source="embedded", data_hash="d", seed=0, parameters=given)  # fmt: skip


def study_rows(variants: Sequence[str], score: Score, seeds: int = 3, own: bool = True) -> list[Result]:
    """Return rows as `scirep study cross` records them, few-shot settings 10 and 20 points below the full data."""
    found = []
    for variant, seed in itertools.product(variants, range(seeds)):
        for code in (*((OWN,) if own and not variant.startswith("random") else ()), *FORMATS):
            label = f"{variant}{f' as {code}' if code != OWN else ''}, seed {seed}"
            for task in TABLE_3:
                value = score(variant, task, TASKS[task].format if code == OWN else code, seed)
                splits = ["test", *(f"{shot.sample_size}-shot" for shot in TASKS[task].few_shot)]
                told = {"variant": variant, "training_seed": seed, "code": code}
                found += [row(task, s, value - 10 * i, label, **told) for i, s in enumerate(splits)]
                other = "p@5" if task == REVIEWERS else "other"
                found.append(replace(row(task, "test", 1.0, label, **told), metric=other))  # not the task's one number
    return [*found, *studied.over_seeds(found)]


def main_rows(score: Callable[[str, str, int], float], seeds: int = 3, **size: Any) -> list[Result]:
    """Return rows as `scirep study main` records them: averages, the widest with the value of every unit."""
    found = []
    for variant in ("MTL CLS", "MTL CLS dense", "random", "tfidf", "oracle"):
        for seed in range(seeds if variant.startswith("MTL") else 1):
            told = {"training_seed": seed, "base": "embedded", "steps": 200} if variant.startswith("MTL") else {}
            by = {unit.name: score(variant, unit.task, seed) for unit in units("v2")}
            label = f"{variant}, seed {seed}" if told else variant
            found.append(Result("scirepeval/average-v2", "all", "average", "paper", 50.0, 27, encoder=label, kind="recorded",
                                parameters={"papers": 3000, "width": 64, "variant": variant, **told, **size},
                                by_query=by, source="embedded"))  # fmt: skip
    return found


def wobble(seed: int) -> float:
    return (-0.3, 0.1, 0.2, -0.1, 0.15)[seed]


def diagonal(variant: str, task: str, code: str, seed: int) -> float:
    """Own codes 4 points above others; on DRSM PRX is the best, on TREC-COVID nothing differs but by chance."""
    if task == DRSM:
        return 60 + 3.0 * (code == "PRX") + wobble(seed)
    if task == COVID:
        return 80 + (0.5 if (FORMATS.index(code) + seed) % 3 == 0 else 0.0)
    own = TASKS[task].format == code
    return 50 + 4.0 * own + wobble(seed) * (1 if own else 0.5)


@pytest.fixture
def chapter(tmp_path: Path) -> Shown:
    """A chapter that collects what it shows in `chapter.page`."""
    return Shown("scirepeval/specialisation", {"papers": 1000, "steps": 10, "seed": 0, "protocol": "paper"}, tmp_path)


def text_of(chapter: Shown) -> str:
    bare = re.sub(r"<svg.*?</svg>|<[^>]+>", "", "\n".join(chapter.page), flags=re.DOTALL)
    return re.sub(r"\s+", " ", bare.replace("&lt;", "<"))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Result]]:
    """The recorded studies, which a test may fill."""
    found: dict[str, list[Result]] = {}
    monkeypatch.setattr(studies, "recorded_study", lambda name: found.get(name, []))
    return found


# ---- matrices and estimates ------------------------------------------------------------------------------------------


def test_scores_are_the_main_metric_and_the_mean_of_the_settings():
    matrix = codes.matrices(codes.unit_rows(study_rows(["MTL CTRL"], diagonal)))["MTL CTRL"]
    assert matrix.tasks == list(TABLE_3)
    assert matrix.values[CITE, "RGN"] == pytest.approx([54 + wobble(seed) for seed in range(3)])
    assert matrix.values[FOS, "CLF"] == pytest.approx([44 + wobble(seed) for seed in range(3)])  # -0, -10, -20
    assert matrix.values[FOS, OWN] == matrix.values[FOS, "CLF"]


def test_a_setting_that_one_training_lacks_counts_for_none():
    rows = [r for r in study_rows(["MTL CTRL"], diagonal)
            if not (r.task == FOS and r.split == "5-shot" and r.encoder == "MTL CTRL as PRX, seed 1")]  # fmt: skip
    assert codes.settings(studied.trainings(rows), FOS) == ["test", "10-shot"]
    matrix = codes.matrices(codes.unit_rows(rows))["MTL CTRL"]
    assert matrix.values[FOS, "CLF"] == pytest.approx([49 + wobble(seed) for seed in range(3)])


def test_intervals_are_those_of_scipy():
    drawn = [3.1, 2.2, 4.0, 3.3]
    low, high = stats.t.interval(0.95, 3, np.mean(drawn), stats.sem(drawn))
    found = codes.over(drawn)
    assert (found.low, found.high) == pytest.approx((low, high))
    other = [1.0, 1.4, 0.2]
    expected = stats.ttest_ind(drawn, other, equal_var=False).confidence_interval()
    gap = codes.between(drawn, other)
    assert (gap.low, gap.high) == pytest.approx((expected.low, expected.high))
    assert codes.over([1.0]).low is None
    assert codes.between([1.0], other).low is None


def test_the_advantage_is_paired_within_a_training():
    matrix = codes.matrices(
        codes.unit_rows(study_rows(["MTL CTRL"], lambda v, t, c, s: 50 + 20 * s + 2 * (c == TASKS[t].format)))
    )
    found = codes.mean_advantage(matrix["MTL CTRL"], TABLE_3)
    assert found.value == pytest.approx(2)
    assert found.high == pytest.approx(found.low)  # trainings differ by 20 points, the advantage not at all


def test_the_papers_assignment_is_placed_among_all_24():
    def score(best: dict[str, str]) -> codes.Matrix:
        return codes.Matrix("x", {(t, c): (10.0 + 5 * (best[TASKS[t].format] == c),) for t in TABLE_3 for c in FORMATS})

    assert codes.place(score({c: c for c in FORMATS}), TABLE_3) == (1, "CLF RGN PRX QRY")
    turned = dict(zip(FORMATS, (*FORMATS[1:], FORMATS[0]), strict=True))
    place, best = codes.place(score(turned), TABLE_3)
    assert place > 1
    assert best == " ".join(turned.values())
    assert codes.place(codes.Matrix("x", {(t, c): (1.0,) for t in TABLE_3 for c in FORMATS}), TABLE_3)[0] == codes.WAYS


# ---- the page --------------------------------------------------------------------------------------------------------


def test_print_is_shown_and_judged(chapter: Chapter):
    printed.tables(chapter)
    printed.check(chapter)
    printed.gains(chapter)
    text = text_of(chapter)
    assert "the own code alone is the highest in 7 of 8 rows" in text
    assert "on Paper-Reviewer Matching QRY with 45.2 is above PRX with 45.1" in text
    assert "on Paper-Reviewer Matching QRY has the same 44.7" in text
    assert "The mean of the eight printed gains is +2.79: in-train +2.88, out-of-train +2.70" in text
    assert "is all it says; by the submission’s numbers the out-of-train mean is exactly that." in text
    assert "below the worst of them on 1 (Paper-Reviewer Matching)" in text
    stored = [json.loads(line) for line in (chapter.folder / "rows.jsonl").read_text().splitlines()]
    assert len({one["id"] for one in stored}) == len(stored)
    assert {one["source"] for one in stored} == {"print"}


def test_sentences_follow_the_trainings(chapter: Chapter, kept: dict[str, list[Result]]):
    kept["cross"] = study_rows(["MTL CTRL", "Adapters"], diagonal)
    (of,) = special.runs(chapter, "", 1)
    special.scores(chapter, of)
    special.say(chapter, of)
    special.advantages(chapter, [of])
    text = text_of(chapter)
    assert "the own code has the highest mean on 4 of 4 in-train and 2 of 4 out-of-train tasks" in text
    assert "DRSM (PRX)" in text
    assert "above 0 on 6 (" in text
    assert "and below 0 on 1 (DRSM) of 8 tasks" in text
    assert "in-train ahead" in text
    assert "3 trainings each, 3,000 papers" in text
    assert "unrelated" in text  # DRSM's declared relation
    assert "cross is not recorded" not in text


def test_turned_scores_turn_the_sentences(chapter: Chapter, kept: dict[str, list[Result]]):
    kept["cross"] = study_rows(["MTL CTRL"], lambda *at: 100 - diagonal(*at))
    (of,) = special.runs(chapter, "", 1)
    special.say(chapter, of)
    text = text_of(chapter)
    assert "the own code has the highest mean on 0 of 4 in-train" in text
    assert "in-train behind" in text
    assert re.search(r"the papers’ is number (1\d|2\d); the best gives", text)


def test_one_training_makes_no_claim(chapter: Chapter, kept: dict[str, list[Result]]):
    kept["cross"] = study_rows(["MTL CTRL"], diagonal, seeds=1)
    (of,) = special.runs(chapter, "", 1)
    special.scores(chapter, of)
    special.say(chapter, of)
    special.advantages(chapter, [of])
    assert "One training has no spread" in text_of(chapter)


def test_a_study_that_is_not_recorded_is_named(chapter: Chapter, kept: dict[str, list[Result]]):
    assert special.runs(chapter, "", 1) == []
    assert partitions.runs(chapter, []) == []
    special.advantages(chapter, [])
    special.figure(chapter, [])
    text = text_of(chapter)
    assert "The study cross is not recorded yet" in text
    assert "The study partitions is not recorded yet" in text


def test_the_advantage_has_two_sides(chapter: Chapter, kept: dict[str, list[Result]]):
    """Own codes 1 point above one vector, others 3 below: both are said, with their signs."""
    kept["cross"] = study_rows(["MTL CTRL"], lambda v, t, c, s: 50 + 4.0 * (c == TASKS[t].format) + wobble(s))
    shift = {FOS: -10.0, DRSM: -10.0}  # units are means of settings
    kept["main"] = main_rows(lambda v, t, s: 53 + shift.get(t, 0.0) + wobble(s))
    (of,) = special.runs(chapter, "", 1)
    special.against_one_vector(chapter, [of])
    text = text_of(chapter)
    assert "in-train the own code is above it (+1.00) and the other codes are below it (-3.00)" in text
    assert "the own code is ahead on 8 of 8 tasks and behind on 0" in text
    special.scores(chapter, of)
    assert "TF-IDF" in text_of(chapter)


def test_one_training_beside_one_vector_settles_nothing(chapter: Chapter, kept: dict[str, list[Result]]):
    rows = study_rows(["MTL CTRL"], diagonal, seeds=1)
    plain = [replace(r, encoder="MTL CLS, seed 0", value=40.0, parameters={**r.parameters, "variant": "MTL CLS"})
             for r in studied.trainings(rows) if r.parameters["code"] == OWN]  # fmt: skip
    kept["cross"] = [*rows, *plain, *studied.over_seeds(plain)]
    (of,) = special.runs(chapter, "", 1)
    assert list(of.matrices) == ["MTL CTRL"]
    special.against_one_vector(chapter, [of])
    text = text_of(chapter)
    assert "MTL CTRL against MTL CLS" in text
    assert "one training has no spread, nothing is settled" in text


def test_one_vector_of_another_size_is_not_held_against_it(chapter: Chapter, kept: dict[str, list[Result]]):
    kept["cross"] = study_rows(["MTL CTRL"], diagonal)
    kept["main"] = main_rows(lambda v, t, s: 53.0, width=128)
    (of,) = special.runs(chapter, "", 1)
    special.against_one_vector(chapter, [of])
    assert "this cannot be asked yet" in text_of(chapter)


# ---- random groups ---------------------------------------------------------------------------------------------------


def grouped(variant: str, task: str, code: str, seed: int) -> float:
    """Formats 50; a random group's own code 48, any other 44."""
    if variant == "MTL CTRL":
        return 50 + wobble(seed)
    own = random_partition(PARTITIONS.index(variant) + 1).get(task)
    return (48 if own == code else 44) + wobble(seed)


def test_gains_follow_the_reading(chapter: Chapter, kept: dict[str, list[Result]]):
    kept["partitions"] = study_rows(["MTL CTRL", *PARTITIONS], grouped)
    (one,) = partitions.runs(chapter, [])
    assert (one.groupings, one.trainings) == (5, 3)
    assert partitions.gain_of(one, "own group", [CITE]).value == pytest.approx(2)
    assert partitions.gain_of(one, "any", [CITE]).value == pytest.approx(5)
    assert partitions.gain_of(one, "best", [CITE]).value == pytest.approx(2)
    assert partitions.gain_of(one, "own group", [REVIEW]) is None  # held out: no group is its own
    assert partitions.gain_of(one, "any", [REVIEW]).value == pytest.approx(6)
    same = [48 if random_partition(i)[CITE] == "RGN" else 44 for i in range(1, 6)]
    assert partitions.gain_of(one, "same name", [CITE]).value == pytest.approx(50 - np.mean(same))
    partitions.how_drawn(chapter)
    partitions.gains(chapter, [one])
    text = text_of(chapter)
    assert "Against the code of the task’s own group: formats are ahead on 4 of 4 tasks and behind on 0" in text
    assert "5 groupings of 3 each" in text


def test_random_groups_that_are_better_are_said_to_be(chapter: Chapter, kept: dict[str, list[Result]]):
    kept["partitions"] = study_rows(["MTL CTRL", *PARTITIONS], lambda *at: 100 - grouped(*at))
    partitions.gains(chapter, partitions.runs(chapter, []))
    assert "out-of-train behind" in text_of(chapter)
    kept["partitions"] = study_rows(["MTL CTRL", *PARTITIONS[:1]], grouped, seeds=1)
    partitions.gains(chapter, partitions.runs(chapter, []))
    assert "Against the mean of the four codes: in the mean in-train +5.00 points (no interval)" in text_of(chapter)


def test_groupings_are_as_large_as_the_formats():
    sizes = sorted(list(random_partition(0).values()).count(code) for code in FORMATS)
    for number in range(1, 6):
        drawn = random_partition(number)
        assert sorted(list(drawn.values()).count(code) for code in FORMATS) == sizes


# ---- the figure ------------------------------------------------------------------------------------------------------


def test_the_figure_has_every_cell_and_frames_the_own_code(chapter: Chapter, kept: dict[str, list[Result]]):
    kept["cross"] = study_rows(["MTL CTRL", "Adapters", "one pass dense"], diagonal)
    found = special.runs(chapter, "", 1)
    panels = [drawing.Panel(name, "recorded", matrix) for name, matrix in found[0].matrices.items()]
    figure, frame = drawing.draw(panels)
    assert len(frame) == 3 * 8 * 4
    assert len([patch for patch in figure.axes[0].patches if not patch.get_fill()]) == 8
    assert set(frame[frame["own"]]["code"]) == set(FORMATS)
    assert frame.groupby(["panel", "task"])["minus row mean"].sum().abs().max() < 1e-9
    special.figure(chapter, found)
    special.printed_figure(chapter)
    assert len(list((chapter.folder / "figures").glob("*.svg"))) == 2


# ---- the claims ------------------------------------------------------------------------------------------------------


def words_of(chapter: Shown) -> dict[str, list[str]]:
    """Return the cells of the last table, by the first cell of their line."""
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", chapter.page[-1])
    cells = {name: re.findall("<td.*?>(.*?)</td>", line) for name, line in rows}
    cells = {" ".join(re.sub("<.*?>", " ", name).split()): line for name, line in cells.items()}
    return {name: [" ".join(re.sub("<.*?>", " ", cell).split()) for cell in line] for name, line in cells.items()}


def test_claims_are_judged_by_signs_and_intervals(chapter: Chapter, kept: dict[str, list[Result]]):
    kept["cross"] = study_rows(["MTL CTRL"], diagonal)
    kept["main"] = main_rows(lambda v, t, s: 60 + wobble(s))
    kept["partitions"] = study_rows(["MTL CTRL", *PARTITIONS], grouped)
    found = special.runs(chapter, "", 1)
    claims.claims(chapter, found, partitions.runs(chapter, found))
    told = words_of(chapter)
    assert told["own code the best of four in-train"] == ["yes 4 of 4", "yes 4 of 4", "yes 4 of 4"]
    assert told["own code the best of four out-of-train"] == ["in part 3 of 4", "in part 3 of 4", "in part 2 of 4"]
    assert told["own code over the others in-train"] == [
        "yes, by sign +7.2",
        "yes, by sign +5.2",
        "yes +4.0",
    ]
    assert [one.split()[:1] for one in told["own code over one vector in-train"]] == [[], [], ["no"]]
    assert told["formats over random groups in-train"][1:] == ["yes, by sign +2.9", "yes +2.0"]


def test_one_training_settles_no_claim(chapter: Chapter, kept: dict[str, list[Result]]):
    kept["cross"] = study_rows(["MTL CTRL"], diagonal, seeds=1)
    claims.claims(chapter, special.runs(chapter, "", 1), [])
    assert words_of(chapter)["own code over the others in-train"][2].startswith("one training")
