"""Chapter `multi_format`: the drawing is true of the conditionings, printed and own differences are tests, words follow numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import small_studies as small
from blank_page import Shown

from scirep_core.bench.study_tables import STUDIES
from scirep_core.encoders.conditioning.base import CONDITIONINGS
from scirep_core.exhibits import scirepeval_multi_drawing as drawing
from scirep_core.exhibits import scirepeval_multi_format as exhibits
from scirep_core.exhibits import scirepeval_multi_more as more
from scirep_core.exhibits import sign, studies
from scirep_core.results import Result

CENTRES = {"random": 20.0, "tfidf": 55.0, "oracle": 85.0, "Base": 50.0, "MTL CLS": 50.0, "MTL CTRL": 53.0, "Adapters": 46.0,
           "PALs": 50.0, "Fusion": 53.0, "Adapters + MTL CTRL": 55.0, "one pass": 53.0, "MTL CLS dense": 53.0,
           "one pass dense": 55.0, "mean of two MTL CLS": 55.0, "mean of two MTL CTRL": 57.0, "Adapters ++ MTL CTRL": 55.0,
           "MTL CTRL, one task after another": 49.0, "MTL CTRL, proportional batches": 53.0}  # fmt: skip


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Result]]:
    """Studies as if they were recorded; what is not in it is not."""
    there: dict[str, list[Result]] = {}
    monkeypatch.setattr(studies, "recorded_study", lambda name: there.get(name, []))
    return there


@pytest.fixture
def chapter(tmp_path: Path) -> Shown:
    """A chapter that collects what it shows in `chapter.page`."""
    given = {"variants": "MTL CLS,MTL CTRL", "seeds": 2, "papers": 1000, "steps": 100, "base": "embedded", "seed": 0}
    return Shown("scirepeval/multi_format", given, tmp_path)


def text(chapter: Shown) -> str:
    shown = re.sub(r"<svg.*?</svg>", "", "\n".join(chapter.page), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown))


def main(seeds: range = range(5), sd: float = 0.3) -> list[Result]:
    return small.made("main", small.scattered(CENTRES, sd), seeds)


def live() -> list[Result]:
    rows = small.made(
        "main",
        small.scattered(CENTRES | {"MTL CTRL": 49.0}, 5.0),
        range(2),
        "live",
        variants=("Base", "MTL CLS", "MTL CTRL"),
    )
    return [replace(row, chapter="scirepeval/multi_format") for row in rows]


# ---- Figure 1 --------------------------------------------------------------------------------------------------------


def test_figure_1_says_of_every_conditioning_what_it_is(chapter):
    known = {kind: drawing.facts(kind) for kind in CONDITIONINGS}
    assert {kind for kind, one in known.items() if not one.trunk_moves} == {"bottleneck", "fusion", "prefix"}
    assert {kind for kind, one in known.items() if one.passes == 1} == {"plain", "one_pass"}
    assert {kind for kind, one in known.items() if one.vectors == 1} == {"plain"}
    assert known["control_codes"].added == 1
    drawing.figure1(chapter)
    drawn = (chapter.folder / "figures" / "figure-1.svg").read_text()
    assert all(f">{title}<" in drawn for title in drawing.TITLES.values())
    assert set(drawing.TITLES) == set(drawing.OWN) == set(CONDITIONINGS)
    assert "Adapters, Fusion and Prefix leave the trunk as it is; MTL CLS and one pass read a paper once" in text(
        chapter
    )


# ---- Table 2 ---------------------------------------------------------------------------------------------------------


def test_table_2_has_print_recording_and_this_run(recorded, chapter):
    recorded["main"] = main()
    exhibits.table2(chapter, live())
    said = text(chapter)
    assert "71.2 ±0.19" in said
    assert said.count("Recorded: 5 trainings each") == said.count("Live: 2 trainings each") == 1
    assert "averages of 27 units" in said
    assert not re.search("is not recorded", said)


def test_an_average_names_the_units_it_lacks():
    rows = [replace(row, by_query={k: v for k, v in row.by_query.items() if not k.endswith(("/fos", "/drsm"))})
            for row in live()]  # fmt: skip
    assert "averages of 25 of 27 units, without fos and drsm" in exhibits._units(rows)


def test_nothing_recorded_is_said_and_the_rest_is_shown(recorded, chapter):
    exhibits.table2(chapter, live())
    exhibits.trainings_figure(chapter, live())
    found = exhibits.differences(chapter, live())
    exhibits.differences_figure(chapter, found)
    exhibits.say_differences(chapter, found)
    exhibits.against_base(chapter, live())
    exhibits.by_format(chapter, live())
    for part in (more.bases, more.ensembles, more.batching, more.widths, more.samples):
        part(chapter)
    said = text(chapter)
    assert [
        f"scirep study {name}" in said for name in ("main", "bases", "ensembles", "batching", "widths", "samples")
    ] == [True] * 6
    assert 'class="recorded"' not in "\n".join(chapter.page)


# ---- differences -----------------------------------------------------------------------------------------------------


def test_printed_differences_have_the_intervals_of_five_runs():
    tested = exhibits.printed_test("V2-T2", "Average")
    assert len(tested.means) == 6
    row = exhibits.printed_difference("V2-T2", "Average", "SPECTER2 MTL CTRL", "SPECTER2 MTL CLS", tested)
    assert row.value == pytest.approx(1.4)
    assert sign(row) == 1
    pals = exhibits.printed_difference("V2-T2", "Average", "SPECTER2 PALs", "SPECTER2 MTL CTRL", tested)
    assert (pals.value, sign(pals)) == (pytest.approx(-0.5), -1)
    base = exhibits.printed_difference("V2-T2", "Average", "SPECTER2 MTL CLS", "SPECTER2 Base", tested)
    assert base.low is None  # one run: no spread


def test_questions_are_answered_by_intervals_of_each_kind(recorded, chapter):
    recorded["main"] = main()
    found = exhibits.differences(chapter, live())
    exhibits.say_differences(chapter, found)
    said = text(chapter)
    assert "published MTL CTRL, Adapters, PALs and Fusion ahead of MTL CLS" in said
    assert (
        "recorded MTL CTRL and Fusion ahead of MTL CLS , Adapters behind MTL CLS , PALs not told from MTL CLS"
        in said.replace(",", " ,")
    )
    assert "live MTL CTRL not told from MTL CLS" in said
    assert (
        "Is that more than two models? recorded mean of two MTL CLS ahead of MTL CLS, Adapters + MTL CTRL not told from mean of two"
        in said
    )
    told = {(row.encoder, row.metric) for row in found.values()}
    assert len(told) == len(found)  # no two of one name: recorded and live differ
    assert len({row.id for row in found.values()}) == len(found)


def test_differences_that_rounding_could_undo_are_named(recorded, chapter):
    recorded["main"] = main()
    found = exhibits.differences(chapter, [])
    near = exhibits.rounding(found)
    assert "Adapters + MTL CTRL − Adapters, Average" in near  # +0.30, from 0.00
    assert "MTL CTRL − MTL CLS, Average" not in near  # +1.40, from 1.10
    away = {
        key: replace(row, low=row.low + 1, high=row.high + 1) for key, row in found.items() if row.low and row.low > 0
    }
    assert exhibits.rounding(away) == ""


def test_agreement_counts_what_print_settles(recorded, chapter):
    recorded["main"] = main()
    found = exhibits.differences(chapter, [])
    said = exhibits.agreement(found, "recorded")
    ours = {key[:3]: sign(row) for key, row in found.items() if key[3] == "recorded"}
    printed = {key[:3]: sign(row) for key, row in found.items() if key[3] == "published" and sign(row)}
    same = sum(ours[key] == way for key, way in printed.items())
    opposite = [key for key, way in printed.items() if ours[key] == -way]
    assert f"Of the {len(printed)} differences that print settles" in said
    assert f"settle {same} the same way, {len(opposite)} the other way (" in said
    assert "Adapters − MTL CLS, Average" in said
    assert f"leave {len(printed) - same - len(opposite)} open" in said
    assert exhibits.agreement(found, "live") == ""


def test_the_base_is_one_model_and_the_interval_that_of_the_others(recorded, chapter):
    recorded["main"] = main()
    exhibits.against_base(chapter, [])
    said = text(chapter)
    assert "In-Train" in said and "in print +3.9" in said and "in print -0.1" in said
    mean = next(r for r in main() if r.encoder == "MTL CLS" and r.split == "all" and "trainings" in r.parameters)
    base = next(r for r in main() if r.encoder == "Base" and r.split == "all" and "trainings" in r.parameters)
    row = exhibits.above_base(mean, base)
    assert row.value == pytest.approx(mean.value - base.value)
    assert row.high - row.low == pytest.approx(mean.high - mean.low)


def test_where_it_helps_is_settled_format_by_format(recorded, chapter):
    recorded["main"] = main()
    exhibits.by_format(chapter, [])
    assert "ahead of MTL CLS on classification, regression, proximity and search; some is behind on" in text(chapter)
    assert "No line with several vectors is settled ahead" in exhibits.settled(live())


# ---- what else varies ------------------------------------------------------------------------------------------------


def test_other_bases_in_print(chapter):
    more.bases_in_print(chapter)
    said = text(chapter)
    assert "V2-T8: 6 of 6 rows with several vectors are ahead of MTL CLS on their base, by +1.3 to +2.2" in said
    assert "V1-T3: 6 of 6 rows" in said


def test_every_base_is_a_table_with_a_test_of_its_own(recorded, chapter):
    recorded["bases"] = small.made("bases", small.scattered(CENTRES))
    more.bases(chapter)
    page = "\n".join(chapter.page)
    assert page.count("<table") == len(STUDIES["bases"].bases) == len(more.BASES)
    assert "Settled ahead of MTL CLS on its own base: MTL CTRL on 3 of 3; Adapters on 0 of 3." in text(chapter)


def test_ensembles_are_held_against_two_trainings_of_one_kind(recorded, chapter):
    recorded["ensembles"] = small.made("ensembles", small.scattered(CENTRES))
    more.ensembles(chapter)
    said = text(chapter)
    assert "told from averaging in no column, as the footnote says" in said
    assert re.search(r"Averaging two kinds minus two trainings of MTL CTRL: In-Train -[12]\.", said)
    chapter.page.clear()
    apart = small.scattered(CENTRES | {"Adapters ++ MTL CTRL": 40.0})
    recorded["ensembles"] = small.made("ensembles", apart)
    more.ensembles(chapter)
    assert "told from averaging in In-Train, Out-of-Train and Average, against the footnote" in text(chapter)


def test_batches_are_compared_with_the_default(recorded, chapter):
    recorded["batching"] = small.made("batching", small.scattered(CENTRES))
    more.batching(chapter)
    said = text(chapter)
    assert "Weights of the losses: appendix B" in said
    assert "Behind the default:" in said and "MTL CTRL, one task after another -" in said


def test_the_gap_by_width_has_a_slope(recorded, chapter):
    def value(cell, column):
        gap = 4.0 - 0.02 * cell.width if cell.variant in ("MTL CTRL", "one pass dense") else 0.0
        return small.scattered({}, 0.1)(cell, column) + gap

    recorded["widths"] = small.made("widths", value)
    more.widths(chapter)
    said = text(chapter)
    assert "With each doubling of the width the gap shrinks: -" in said
    assert "width 32 +" in said and "width 256 -" in said
    recorded["widths"] = small.made("widths", small.scattered(CENTRES))
    more.widths(chapter)
    assert "the gap is not shown to change" in text(chapter)


def test_real_papers_are_scored_task_by_task(recorded, chapter):
    recorded["samples"] = small.made("samples", small.scattered(CENTRES))
    more.samples(chapter)
    said = text(chapter)
    assert "Of 6 differences from MTL CLS (each way, each task) 4 are settled above 0 and 2 below" in said
    assert "these are few: Fields of study (FoS) 27, Search 27" in said
    assert "does not meet" not in said  # rows without intervals


def test_recorded_trainings_on_real_papers_are_read_as_the_page_says():
    trained = [row for row in studies.recorded_study("samples") if "steps" in row.parameters]
    assert {row.parameters["pooling"] for row in trained if "one pass" not in row.encoder} == {"mean"}


def test_one_training_on_real_papers_has_intervals_over_held_out_rows(recorded, chapter):
    rows = small.made("samples", lambda cell, task: 70.0 if cell.variant == "Adapters" else 50.0, seeds=[0])
    recorded["samples"] = [replace(row, low=row.value - 4, high=row.value + 4) for row in rows]
    more.samples(chapter)
    said = text(chapter)
    assert "50.0 46.0 to 54.0" in said and "70.0 66.0 to 74.0" in said
    assert "Of 8 trained ways and tasks, 2 have an interval that does not meet that of MiniLM as it is" in said
    assert "Adapters on Fields of study (FoS) ( 70.0 for 50.0 )" in said
    points = [
        replace(row, low=row.value, high=row.value) if row.task == "sample/fos" else row for row in recorded["samples"]
    ]
    recorded["samples"] = points
    more.samples(chapter)
    assert "Of 4 trained ways and tasks, 1 have an interval" in text(chapter)
    assert "is a point" in text(chapter)
