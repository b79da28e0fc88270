"""Chapters on the 32 neighbours: invented rows in, the right sentences and cells out, whatever their sign; Table 5's cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from blank_page import Page

from scirep_core.data.perturbations import CATEGORIES, LO_DS, PERTURBATIONS
from scirep_core.data.task import Collection, Task
from scirep_core.evaluators import neighbourhoods, perturbed
from scirep_core.evaluators.perturbed import Cloud
from scirep_core.evaluators.rows import Asked
from scirep_core.exhibits import neighbours_drawing as drawing
from scirep_core.exhibits import neighbours_embedding_claims as space_claims
from scirep_core.exhibits import neighbours_embedding_space as space
from scirep_core.exhibits import neighbours_overlap as overlap
from scirep_core.exhibits import neighbours_overlap_order as order
from scirep_core.exhibits import neighbours_views as views
from scirep_core.exhibits.neighbours_shared import Subject
from scirep_core.kit.records import Paper
from scirep_core.page.parameters import check
from scirep_core.results import PRINT, Result
from scirep_core.results.differences import against_of
from scirep_core.results.published import lookup

GIVEN = {"data": "embedded", "papers": 1000, "seed": 0, "queries": 60, "exclude_self": False}
Values = dict[tuple[str, str], tuple[float, float | None, float | None]]


@pytest.fixture(autouse=True)
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(views, "recorded", lambda name: [])
    yield
    plt.close("all")


def row(
    metric: str, split: str, value: float, low: float | None = None, high: float | None = None, **more: Any
) -> Result:
    known = {"task": "neighbours/acl_anth", "protocol": "paper", "n": 60, "encoder": "minilm", "source": "embedded",
             "data_hash": "x", "parameters": GIVEN, "seed": 0} | more  # fmt: skip
    known.setdefault("against", against_of(known["encoder"], metric, split))
    return Result(split=split, metric=metric, value=value, low=low, high=high, **known)


def around(value: float, half: float = 2.0) -> tuple[float, float, float]:
    return value, value - half, value + half


def rows(changed: Values, base: Values, **more: Any) -> list[Result]:
    return [row(metric, split, *found, **more) for (metric, split), found in (base | changed).items()]


def view(changed: Values, base: Values | None = None, **more: Any) -> views.View:
    found = rows(changed, base or {}, **more)
    return views.views(views.runs("x", found))[0]


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text))


def said(ask: Callable[[Any, Any], object], found: list[Result]) -> str:
    page = Page(**GIVEN)
    ask(page, views.runs("x", found))
    return plain(page.text)


def gap(first: str, second: str, metric: str = "nn1_ret") -> tuple[str, str]:
    return f"difference of {metric}", f"{first} - {second}"


# ---- runs and differences --------------------------------------------------------------------------------------------


def test_a_recorded_run_stands_before_the_live_one_and_the_same_numbers_are_shown_once(monkeypatch):
    live = [row("nn1_ret", "T_ARot", *around(90))]
    kept = [replace(live[0], kind="recorded", task="sample/acl_anth", data_hash="real", source="real")]
    assert [run.kind for run in views.runs("x", live)] == ["live"]
    monkeypatch.setattr(views, "recorded", lambda name: kept)
    both = views.runs("x", live)
    assert [run.kind for run in both] == ["recorded", "live"]
    assert views.collections(both) == ["acl_anth"]  # a sample and what it is part of meet
    assert both[1].named == "Live run, embedded data (1,000 papers, seed 0), up to 60 papers of a collection altered"
    monkeypatch.setattr(views, "recorded", lambda name: [replace(live[0], kind="recorded")])
    assert [run.kind for run in views.runs("x", live)] == ["live"]
    assert [run.kind for run in views.runs("x", [replace(live[0], n=61)])] == ["recorded", "live"]
    monkeypatch.setattr(
        views, "recorded", lambda name: [replace(live[0], kind="recorded", encoder=e) for e in ("minilm", "lsa")]
    )
    assert [run.encoders for run in views.runs("x", live)] == [["lsa"], ["minilm"]]
    assert [run.kind for run in views.runs("x", [])] == ["recorded"]


def test_a_run_of_all_papers_says_so_and_nothing_at_hand_is_a_note():
    every = views.runs("x", [row("a", "b", 1.0, parameters=GIVEN | {"queries": 0, "data": "real"}, source="real")])
    assert every[0].named == "Live run, real data, all papers altered"
    page = Page(**GIVEN)
    views.say_runs(page, [])
    assert "nothing to measure" in page.text


@pytest.mark.parametrize(("shift", "side"), [(5.0, 1), (-5.0, -1), (0.0, 0)])
def test_a_difference_is_paired_draw_by_draw(shift, side):
    noise = np.random.default_rng(0).normal(0, 10, 1000)
    own = np.random.default_rng(1).normal(0, 1, 1000)
    first = row("nn1_ret", "A", 50.0, replicates=(50 + noise).astype(np.float32))
    second = row("nn1_ret", "B", 50.0 - shift, replicates=(50 - shift + noise + own).astype(np.float32))
    found = views.difference(first, second, "B", split="A - B")[0]
    assert found.value == shift and found.split == "A - B" and found.metric == "difference of nn1_ret"
    assert found.low is not None and found.high is not None
    assert views.settled(found) == side
    assert found.high - found.low < 5  # the shared noise of 40 points is gone
    assert views.difference(replace(first, replicates=None), second, "B") == []


def test_an_interval_without_width_at_the_edge_becomes_the_exact_one():
    whole = views.edged(row("nn1_ret", "LL-HS", 100.0, 100.0, 100.0, n=300), 60)
    assert whole.high == 100 and whole.low == pytest.approx(100 * 0.025 ** (1 / 60))
    assert (whole.low / 100) ** 60 == pytest.approx(0.025)
    none = views.edged(row("aop@10", "TDelNN", 0.0, 0.0, 0.0, n=40), 60)
    assert none.low == 0 and none.high == pytest.approx(100 - 100 * 0.025 ** (1 / 40))
    for kept in (row("nn1_ret", "A", 100.0, 98.0, 100.0), row("difference of nn1_ret", "A - B", 0.0, 0.0, 0.0)):
        assert views.edged(kept, 60) == kept


def test_without_a_language_model_the_page_says_so():
    for ask, base in ((order.modern, SHARED), (space_claims.modern, SIMILAR)):
        assert "No language model is among the encoders" in said(ask, rows({}, base, encoder="lsa"))


# ---- overlap: print --------------------------------------------------------------------------------------------------


def changed_print(monkeypatch: pytest.MonkeyPatch, exhibit: str, cells: dict[tuple[str, str], str]) -> None:
    found = dict(lookup(exhibit))
    for key, value in cells.items():
        found[key] = found[key]._replace(value=value)
    for module in (order, overlap):
        monkeypatch.setattr(module, "lookup", lambda name: found if name == exhibit else lookup(name))


def grey() -> dict[str, list[str]]:
    return {m: [c for c in CATEGORIES if order.optimal(order.printed5(m)[c].number, c)] for m in overlap.MODELS}


def test_the_grey_cells_of_table_5_follow_from_its_thresholds(monkeypatch):
    inf = float("inf")
    assert [order.threshold(c) for c in CATEGORIES] == [(75, inf), (70, inf), (50, 70), (50, 70), (-inf, 20)]
    assert grey() == {"SciBERT": ["LL-HS", "LO-DS"], "SPECTER": ["LL-HS", "LO-HS", "LO-PS"], "OAG-BERT": ["LO-DS"]}
    text = said(order.table5, [])
    assert "SciBERT LL-HS and LO-DS; SPECTER LL-HS, LO-HS and LO-PS; OAG-BERT LO-DS" in text
    assert "The closest call is SciBERT on LL-HS, 0.04 points from its bound" in text
    assert "the paper says so itself" in text
    changed_print(
        monkeypatch, "TN-T5", {("SciBERT", "LL-HS"): "74.0", ("SPECTER", "LL-PS"): "60.0", ("OAG-BERT", "LO-DS"): "30"}
    )
    assert grey() == {"SciBERT": ["LO-DS"], "SPECTER": ["LL-HS", "LO-HS", "LL-PS", "LO-PS"], "OAG-BERT": []}
    text = said(order.table5, [])
    assert "OAG-BERT none" in text and "the paper says so itself" not in text


@pytest.mark.parametrize(
    ("category", "value", "side"),
    [("LL-HS", 80, 1), ("LL-HS", 76, 0), ("LL-HS", 70, -1), ("LL-PS", 60, 1), ("LL-PS", 80, -1), ("LL-PS", 69, 0),
     ("LL-PS", 40, -1), ("LO-DS", 10, 1), ("LO-DS", 21, 0), ("LO-DS", 60, -1)],
)  # fmt: skip
def test_a_cell_of_ours_is_optimal_only_with_its_whole_interval(category, value, side):
    assert order.optimal_of_ours(row("aop@20", category, *around(value)), category) == side


def test_table_5_names_our_optimal_and_open_cells():
    changed = {("aop@20", "LL-HS"): around(90), ("aop@20", "LO-HS"): around(70), ("aop@20", LO_DS): around(60)}
    text = said(order.table5, rows(changed, {}))
    assert "optimal: MiniLM LL-HS, open LO-HS." in text


def test_the_expected_order_in_print_is_counted(monkeypatch):
    text = said(order.order, [])
    assert "SciBERT in 2 of 7 (Arxiv-MATH and Arxiv-HEP); SPECTER in 0 of 7; OAG-BERT in 0 of 7" in text
    assert "In Table 5 it is kept by no model" in text
    assert "The step that fails most often is LO-HS over LL-PS: in 14 of 21 lines" in text
    changed_print(monkeypatch, "TN-T4", {("ICLR", "LL-PS/SciBERT"): "20.0"})
    assert "SciBERT in 3 of 7 (ICLR, Arxiv-MATH and Arxiv-HEP)" in said(order.order, [])
    changed_print(
        monkeypatch, "TN-T4", {("Arxiv-MATH", "LL-PS/SciBERT"): "23.0", ("Arxiv-HEP", "LO-HS/SciBERT"): "71.0"}
    )
    assert "SciBERT in 1 of 7 (Arxiv-HEP)" in said(order.order, [])  # equal suits the first step alone


def test_what_is_said_of_specter_and_oag_bert_is_counted(monkeypatch):
    text = said(order.specter, [])
    assert "LL-HS above LO-HS in 7 of 7 and LL-HS above LL-PS in 7 of 7 collections" in text
    assert "lowest of the three in 35 of 35 cells" in text
    changed_print(monkeypatch, "TN-T4", {("ICLR", "LL-HS/SPECTER"): "70.0", ("ICLR", "LO-PS/SciBERT"): "1.0"})
    text = said(order.specter, [])
    assert "LL-HS above LO-HS in 6 of 7 and LL-HS above LL-PS in 6 of 7" in text
    assert "34 of 35 cells" in text


def test_what_print_leaves_to_white_space_and_what_repeated_text_does(monkeypatch):
    text = said(order.white_space, [])
    assert "printed LL-HS lies between 80.0 and 83.4" in text
    assert "left with 0.0 to 17.0 where a text counts among its own nearest, or 40.0 to 57.0 where it does not" in text
    both = {("aop@10", "T_A_WS, literal"): around(80), ("aop@10", "LL-HS, literal"): around(66),
            gap("T_A_WS, literal", "T_A_WS", "aop@10"): around(10)}  # fmt: skip
    text = said(order.white_space, rows(both, SHARED))
    assert "+10.0 8.0 to 12.0" in text and "66.0 64.0 to 68.0" in text
    changed_print(monkeypatch, "TN-T4", {("ICLR", "LL-HS/SPECTER"): "96.0"})
    assert "left with 0.0 to 80.0" in said(order.white_space, [])


def test_table_5_against_the_means_of_table_4_and_each_run_by_itself(monkeypatch):
    def wider(*values: float) -> Values:
        return {("difference of aop@20 and aop@10", c): around(v) for c, v in zip(CATEGORIES, values, strict=True)}

    kept = [replace(r, kind="recorded", data_hash="real", source="real") for r in rows(wider(-5, -5, -5, 5, 0), {})]
    monkeypatch.setattr(views, "recorded", lambda name: kept)
    text = said(order.average_of_sets, rows(wider(5, 5, -5, 0, 0), {}))
    assert "share more than the ten in 15 of 15 cells" in text
    assert re.search(r"Live run[^:]*: from ten to twenty 2 of 5 values rise and 1 fall", text)
    assert re.search(r"Recorded run[^:]*: from ten to twenty 1 of 5 values rise and 3 fall", text)
    monkeypatch.setattr(views, "recorded", lambda name: [])
    assert "values rise" not in said(order.average_of_sets, [])


# ---- overlap: ours ---------------------------------------------------------------------------------------------------

STEPS: Values = {gap(a, b, metric): around(10) for a, b in overlap.STEPS for metric in ("aop@10", "aop@20")}
SHARED: Values = {
    **{("aop@10", split): around(70) for split in (*PERTURBATIONS, *CATEGORIES)},
    **{("aop@20", split): around(75) for split in CATEGORIES},
    **STEPS,
    gap("LL-HS", LO_DS, "aop@10"): around(40),
    gap("LL-HS", "LL-PS", "aop@10"): around(10),
}


@pytest.mark.parametrize(
    ("step", "found", "says"),
    [(0, around(10), "kept"), (0, around(0), "open (LL-HS over LO-HS)"), (0, (0.0, 0.0, 0.0), "kept"),
     (1, (0.0, 0.0, 0.0), "not kept (LO-HS over LL-PS)"), (1, around(-5), "not kept (LO-HS over LL-PS)"),
     (2, around(1), "open (LL-PS over LO-PS)"), (3, around(-9), "not kept (LO-PS over LO-DS)")],
)  # fmt: skip
def test_the_order_of_ours_is_decided_by_paired_differences(step, found, says):
    one = view({gap(*overlap.STEPS[step], "aop@10"): found}, STEPS)
    assert order.verdict(one, "aop@10") == says
    assert order.verdict(one, "aop@20") == "kept"


def test_the_order_is_told_for_every_encoder_and_collection():
    iclr = {gap(*overlap.STEPS[1], "aop@10"): around(-5)}
    found = [*rows({}, SHARED), *rows(iclr, SHARED, task="sample/iclr"), *rows({}, SHARED, encoder="lsa")]
    text = said(order.order, found)
    assert (
        "MiniLM, ACL-ANTH: kept; MiniLM, ICLR (sample): not kept (LO-HS over LL-PS); words (latent), ACL-ANTH: kept"
        in text
    )


@pytest.mark.parametrize(("excluded", "top"), [(False, 100.0), (True, 90.0)])
def test_both_readings_are_measured_and_the_difference_has_one_sign(excluded, top):
    pool = np.random.default_rng(0).standard_normal((40, 16)).astype(np.float32)
    task = Task(
        "neighbours/x", "alternative_self", "PRX", ("mrr",), Collection(tuple(map(str, range(40)))), "folder", "h"
    )
    asked = Asked(task, {}, "paper", "error", (), "cosine", 0)
    clouds = {"T_ARot": Cloud(pool, np.arange(40))}
    both = perturbed.overlap(asked, pool, clouds)
    found = {r.metric: r for r in overlap.readings(both[excluded], both[not excluded], excluded) if r.split == "LL-PS"}
    other = "aop@10_with_self" if excluded else "aop@10_without_self"
    assert found[other].value == pytest.approx(190 - top)
    assert next(r.value for r in both[excluded] if (r.metric, r.split) == ("aop@10", "LL-PS")) == pytest.approx(top)
    assert found["difference of aop@10, without_self and with_self"].value == pytest.approx(-10)
    assert found["difference of aop@20 and aop@10"].value == pytest.approx(5 if excluded else 0)


def test_what_leaving_oneself_out_does_is_told_by_sign():
    metric = "difference of aop@10, without_self and with_self"
    left = {("aop@10_without_self", c): around(60) for c in CATEGORIES} | {
        ("aop@10_without_self", "LL-HS"): (90.0, 90.0, 90.0)
    }
    down = {(metric, c): around(-10) for c in CATEGORIES}
    text = said(overlap.with_or_without, rows(left | down, SHARED))
    assert (
        "lowers 5 of 5 values and raises 0 (settled); the highest category mean without it is 90.0, LL-HS by MiniLM"
        in text
    )
    text = said(overlap.with_or_without, rows(left | {(metric, c): around(10) for c in CATEGORIES}, SHARED))
    assert "lowers 0 of 5 values and raises 5" in text


@pytest.mark.parametrize(
    ("shift", "says"),
    [(10, "opposites move it less than missing words do"), (-10, "opposites move it more"), (0, "not told apart")],
)  # fmt: skip
def test_form_or_meaning_is_told_by_the_paired_difference(shift, says):
    base = SHARED | {("rank correlation with words kept", "all"): (0.74, None, None)}
    found = rows({gap("T_ARepADJ", "T_ADelADJ", "aop@10"): around(shift)}, base)
    kept = [row("words kept", code, 50.0 + i, encoder="") for i, code in enumerate(PERTURBATIONS)]
    page = Page(**GIVEN)
    overlap.form_or_meaning(page, views.runs("x", [*found, *kept]))
    assert says in plain(page.text)
    assert len(page.figures["form-acl_anth-live"]) == 32


def test_the_third_that_matters_most_is_told_with_how_far_it_is_settled():
    low = {("aop@10", "T_ADelQ1"): around(50)}
    both = {gap("T_ADelQ1", "T_ADelQ2", "aop@10"): around(-20), gap("T_ADelQ1", "T_ADelQ3", "aop@10"): around(-20)}
    assert "least without the first third, settled against both others" in said(
        overlap.by_code, rows(low | both, SHARED)
    )
    last = {("aop@10", "T_ADelQ3"): around(50), gap("T_ADelQ1", "T_ADelQ3", "aop@10"): around(20),
            gap("T_ADelQ2", "T_ADelQ3", "aop@10"): around(0)}  # fmt: skip
    assert "least without the last third, settled against one other" in said(overlap.by_code, rows(last, SHARED))


def test_table_4_shows_print_with_and_without_ours():
    page = Page(**GIVEN)
    overlap.table4(page, [])
    assert page.text.count("published</small>") == 21
    assert len(page.figures["table-4-print"]) == 105
    page = Page(**GIVEN)
    overlap.table4(page, views.runs("x", [*rows({}, SHARED), *rows({}, SHARED, task="sample/iclr")]))
    assert set(page.figures) == {"table-4-acl_anth", "table-4-iclr"}
    assert "70.0" in page.text


@pytest.mark.parametrize(("shift", "word"), [(-10, "lower"), (10, "higher"), (0, "not told apart")])
def test_overlaps_of_a_model_are_held_against_counting(shift, word):
    between = row("difference of aop@10", LO_DS, *around(shift), encoder="minilm - lsa")
    text = said(order.modern, [*rows({}, SHARED), *rows({}, SHARED, encoder="lsa"), between])
    assert "AOP-10 falls from 81.2 on LL-HS to 35.6 on LO-DS, by 45.6 points" in text
    assert f"LO-DS: {shift:+.1f} ({shift - 2:.1f} to {shift + 2:.1f}) points to words (latent), {word}" in text


# ---- embedding space -------------------------------------------------------------------------------------------------

SIMILAR: Values = {
    **{("inter_mean", split): around(0.6, 0.02) for split in (*PERTURBATIONS, *CATEGORIES, "T+A")},
    **{("inter_sd", split): (0.1, None, None) for split in (*PERTURBATIONS, *CATEGORIES, "T+A")},
    **{("inter_min", split): (0.1, None, None) for split in (*PERTURBATIONS, *CATEGORIES)},
    **{("inter_max", split): (0.9, None, None) for split in (*PERTURBATIONS, *CATEGORIES)},
    **{("inter_skew", code): (0.1 * i, None, None) for i, code in enumerate(PERTURBATIONS)},
    **{("above_mean", split): around(50) for split in (*PERTURBATIONS, *CATEGORIES, "T+A", "T+A, squeezed")},
    **{gap(code, "T+A", "inter_mean"): around(0, 0.02) for code in PERTURBATIONS},
    **{gap(LO_DS, c, "inter_mean"): around(-0.1, 0.02) for c in CATEGORIES if c != LO_DS},
}


def space_cell(number: int, changed: Values) -> str:
    table: list[drawing.Statement] = []
    shown = views.runs("x", rows(changed, SIMILAR))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "statements_table", lambda chapter, shown, statements, caption: table.extend(statements))
        space_claims.statements(Page(**GIVEN), shown)
    return plain(table[number].holds(views.views(shown)[0]))


def of_codes(metric: str, *found: float | None, count: int = 32) -> Values:
    return {(metric, code): found for code in list(PERTURBATIONS)[:count]}  # type: ignore[misc]


def test_a_mean_similarity_is_above_a_half_only_if_every_code_is():
    assert space_cell(0, {}) == "holds: of 32 codes 32 are above, 0 below, 0 open"
    assert space_cell(0, of_codes("inter_mean", *around(0.4, 0.02), count=3)).startswith(
        "does not hold: of 32 codes 29"
    )
    assert space_cell(0, of_codes("inter_mean", *around(0.5, 0.02), count=3)).startswith("open: of 32 codes 29")


def test_types_differ_if_more_than_chance_do():
    assert space_cell(1, {}).startswith("nothing speaks against it: against the unchanged texts 0 of 32")
    apart = {gap(code, "T+A", "inter_mean"): around(-0.3, 0.02) for code in ("TDelNN", "T_ADelNN")}
    assert space_cell(1, apart).startswith(
        "does not hold: against the unchanged texts 2 of 32 codes are lower, 0 higher"
    )


def test_lowest_similarity_dissimilar_category_and_shares():
    assert space_cell(2, {}).startswith("holds of these pairs: the lowest is 0.10")
    assert space_cell(2, {("inter_min", LO_DS): (-0.1, None, None)}) == "does not hold: the lowest is -0.10, of LO-DS"
    assert space_cell(3, {}).endswith("lower than LL-HS, LO-HS, LL-PS and LO-PS")
    assert space_cell(3, {gap(LO_DS, "LL-HS", "inter_mean"): around(0.1, 0.02)}).startswith("does not hold")
    assert space_cell(5, of_codes("above_mean", *around(60))).startswith("holds: of 32 codes 32")
    assert space_cell(5, of_codes("above_mean", *around(40))).startswith("does not hold: of 32 codes 0 are above, 32")
    assert space_cell(5, {}).startswith("open: of 32 codes 0")
    assert space_cell(6, {}) == "holds: of 32 codes 32 are, 0 are lower, 0 higher, 0 open"
    assert space_cell(6, of_codes("above_mean", *around(40), count=2)).startswith(
        "does not hold: of 32 codes 30 are, 2"
    )
    assert space_cell(6, of_codes("above_mean", *around(45), count=2)).startswith(
        "open: of 32 codes 30 are, 0 are lower"
    )


def test_the_spread_is_ranked_within_a_run_and_collection():
    others = rows({("inter_sd", "T+A"): (0.3, None, None)}, SIMILAR, encoder="lsa")
    shown = views.runs("x", [*rows({}, SIMILAR), *others])
    cells = [space_claims._widest(Page(), one) for one in views.views(shown)]
    assert [plain(c)[:12] for c in cells] == ["place 2 of 2", "place 1 of 2"]


@pytest.mark.parametrize(
    ("r", "moved", "says"),
    [(-0.9, 0.0, "the share falls for MiniLM."), (0.9, 0.0, "the share rises for MiniLM."), (-0.9, 7.0, "+7.00 points at most.")],
)  # fmt: skip
def test_what_the_share_follows_and_whether_squeezing_moves_it_is_told_by_sign(r, moved, says):
    changed: Values = {
        ("correlation with inter_skew", "all"): (r, None, None), (space.MISSED, "all"): (1.3, None, None),
        (space.MOVED, "T+A, squeezed"): (moved, None, None), ("inter_mean", "T+A, squeezed"): (0.96, None, None),
    }  # fmt: skip
    text = said(space.what_it_says, rows(changed, SIMILAR))
    assert says in text
    assert "misses the measured share by 1.3 (MiniLM) points" in text
    assert ("the share does not" in text) == (moved == 0)


@pytest.mark.parametrize(
    ("mean", "word"), [(0.3, "below the 0.5"), (0.8, "above the 0.5"), (0.5, "not settled against the 0.5")]
)
def test_anisotropy_of_a_model_is_told_against_print(mean, word):
    huddle = {gap("T_A_DelNNChar", "T+A", "inter_mean"): around(0.08, 0.02)}
    text = said(space_claims.modern, rows({("inter_mean", "T+A"): around(mean, 0.02)} | huddle, SIMILAR))
    assert word in text
    assert "closer together altered than unchanged, settled: T_A_DelNNChar." in text


def test_the_share_above_the_mean_follows_the_skewness_and_not_the_compactness():
    draws = np.random.default_rng(0)
    vectors = draws.standard_normal((300, 12)) + 0.8
    one, near = neighbourhoods.similarities(vectors), neighbourhoods.similarities(space.squeezed(vectors))
    assert near.mean == pytest.approx(0.1 * one.mean + 0.9)
    assert near.sd == pytest.approx(0.1 * one.sd, rel=1e-3)
    assert near.above == pytest.approx(one.above, abs=1e-3)
    assert near.skewness == pytest.approx(one.skewness, rel=1e-2)
    assert space.foretold(0) == 50 and space.foretold(1) < 50 < space.foretold(-1)
    for power in (1, 2):  # a symmetric and a skewed distribution of sums
        sample = draws.standard_normal(400_000) if power == 1 else draws.chisquare(40, 400_000)
        skew = float(np.mean((sample - sample.mean()) ** 3) / sample.std() ** 3)
        assert space.foretold(skew) == pytest.approx(100 * (sample > sample.mean()).mean(), abs=0.3)


def test_skewness_is_that_of_all_pairs_whatever_the_blocks(monkeypatch):
    from scipy.stats import skew

    vectors = np.random.default_rng(3).standard_normal((70, 6)) + 0.5
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = (unit @ unit.T)[np.triu_indices(70, 1)]
    for cells in (1 << 25, 500):
        monkeypatch.setattr(neighbourhoods, "CELLS", cells)
        assert neighbourhoods.similarities(vectors).skewness == pytest.approx(skew(pairs), abs=1e-5)
    assert neighbourhoods.similarities(np.ones((5, 3))).skewness == 0


def test_a_category_of_similarities_has_an_interval_of_the_papers_its_codes_share():
    task = Task(
        "neighbours/x", "alternative_self", "PRX", ("mrr",), Collection(tuple(map(str, range(40)))), "folder", "h"
    )
    asked = Asked(task, {}, "paper", "error", (), "cosine", 0)
    draw = np.random.default_rng(5)
    first = draw.standard_normal((40, 8)) + 0.5
    clouds = {
        "T_ARot": Cloud(first, np.arange(40)),
        "T_AShuff": Cloud(first + 0.01 * draw.standard_normal((40, 8)), np.arange(40)),
    }
    found = {(r.metric, r.split): r for r in perturbed.similarity(asked, clouds)}
    one, both = found["inter_mean", "T_ARot"], found["inter_mean", "LL-PS"]
    assert one.low is not None and one.high is not None and both.low is not None and both.high is not None
    assert both.high - both.low == pytest.approx(one.high - one.low, rel=0.15)  # two nearly equal codes: no narrower
    apart = views.difference(one, found["inter_mean", "T_AShuff"], "T_AShuff")[0]
    assert apart.high is not None and apart.low is not None
    assert apart.high - apart.low < 0.1 * (one.high - one.low)  # paired


@pytest.mark.parametrize("count", range(1, 8))
def test_the_lowest_panel_of_every_column_has_numbers(count):
    figure, axes = drawing.panels([f"encoder {i}" for i in range(count)], drawing.CATEGORY_LINES, 0.3)
    figure.canvas.draw()
    numbered = [any(label.get_visible() and label.get_text() for label in ax.get_xticklabels()) for ax in axes]
    below = [i + drawing.PANELS < count for i in range(count)]
    assert numbered == [not more for more in below]


def of_kind(kind: str, *encoders: str) -> views.Run:
    found = [
        row("aop@10", code, 50.0, 40.0, 60.0, encoder=e, kind=kind) for e in encoders for code in drawing.CATEGORIES
    ]
    return views.Run(kind, found, {views.key_of(one): one for one in found})


@pytest.mark.parametrize(("recorded", "titles", "dots"), [
    (("minilm:bfloat16", "lsa"), ["MiniLM\n(recorded: bfloat16)", "words (latent)"], [10, 10]),
    (("minilm", "lsa"), ["MiniLM", "words (latent)"], [10, 10]),
    (("minilm:bfloat16", "minilm"), ["MiniLM (bfloat16)", "MiniLM", "words (latent)"], [5, 10, 5]),
])  # fmt: skip
def test_a_system_has_one_panel_whatever_the_precision_of_its_runs(recorded, titles, dots):
    shown = [of_kind("recorded", *recorded), of_kind("live", "minilm", "lsa")]
    marks = drawing.spread(shown, {"aop@10": ("", False)})
    figure, _ = drawing.figure_of(shown, "acl_anth", drawing.CATEGORY_LINES, marks, 0.3, "AOP-10, %")
    panels = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title("left") for ax in panels] == titles
    assert [sum(line.get_linestyle() == "None" for line in ax.lines) for ax in panels] == dots


# ---- from papers to the page -----------------------------------------------------------------------------------------

WORDS = ("large", "small", "neural", "robust", "graph", "word", "model", "data", "parser", "grammar", "corpus", "method", "learns",
         "shows", "improves", "quickly", "often", "we", "it", "three", "seven", "the", "a")  # fmt: skip


def papers() -> Iterator[Paper]:
    draw = np.random.default_rng(0)
    for i in range(24):
        sentences = [" ".join(draw.choice(WORDS, 9)).capitalize() + "." for _ in range(5)]
        yield Paper(f"p{i}", f"The {draw.choice(WORDS)} large model shows a graph {i}", " ".join(sentences))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Result]]:
    """Return the rows of two chapters on a tiny collection, by two encoders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIREP_HOME", str(tmp_path_factory.mktemp("home")))
        ids = tuple(paper.paper_id for paper in papers())
        task = Task(
            "neighbours/acl_anth", "alternative_self", "PRX", ("mrr",), Collection(ids), "folder", "h", texts=papers
        )
        page = Page(**GIVEN, encoders="lsa,characters")
        found = {}
        for name, chapter in (("overlap", overlap), ("space", space)):
            made = chapter.measure(page, [Subject(task, 0, 16, "fallback")])
            found[name] = [replace(one, parameters=GIVEN) for one in made]
        return found


def test_every_number_of_a_chapter_has_its_own_id(measured):
    for found in measured.values():
        ids = [one.id for one in found]
        assert len(ids) == len(set(ids)) > 200
        assert all(one.value == one.value and one.replicates is None for one in found)
        assert all(
            one.low is None or one.low <= one.value + 1e-9 for one in found if not one.metric.startswith("difference")
        )


def test_repeated_text_moves_its_category_by_a_fifth(measured):
    found = {(one.encoder, one.metric, one.split): one for one in measured["overlap"]}
    whole, fifth = (found["lsa", "difference of aop@10", f"{s}, literal - {s}"] for s in ("LL-HS", "T_A_WS"))
    assert fifth.value < 0 and whole.value == pytest.approx(fifth.value / 5)
    assert found["lsa", "aop@10", "T_A_WS"].value == 100


def test_unchanged_texts_stand_beside_the_altered_ones(measured):
    found = {(one.encoder, one.metric, one.split): one for one in measured["space"]}
    assert found["lsa", "inter_mean", "T_AShuff"].value == pytest.approx(
        found["lsa", "inter_mean", "T+A"].value, abs=1e-6
    )
    assert found["lsa", "difference of inter_mean", "T_AShuff - T+A"].value == pytest.approx(0, abs=1e-6)
    assert found["lsa", space.MOVED, "T+A, squeezed"].value == pytest.approx(0, abs=0.5)
    assert found["lsa", "difference of inter_mean", "TDelNN - T+A"].low is not None


SHOWN = {
    "overlap": (overlap.table4, order.order, order.specter, order.white_space, order.table5, order.average_of_sets, overlap.by_code,
                overlap.form_or_meaning, overlap.with_or_without, order.modern),
    "space": (space.by_category, space.by_code, space.what_it_says, space_claims.statements, space_claims.modern),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_shows_what_was_measured_with_and_without_a_recorded_run(name, measured, monkeypatch):
    live = measured[name]
    for kept in (
        [],
        [replace(one, kind="recorded", task="sample/acl_anth", data_hash="real", source="real") for one in live],
    ):
        monkeypatch.setattr(views, "recorded", lambda chapter, kept=kept: kept)
        page = Page(**GIVEN)
        shown = views.runs(name, live)
        for ask in SHOWN[name]:
            ask(page, shown)
        kinds = {"live", "recorded"} if kept else {"live"}
        for figure in page.figures.values():
            assert set(figure["kind"]) - {"published"} <= kinds and len(figure)
        assert any(set(figure["kind"]) - {"published"} == kinds for figure in page.figures.values())
        assert "nan" not in plain(page.text).lower().replace("none", "")
        assert ("recorded" in page.text) == bool(kept)


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_without_any_collection_stays_whole(name):
    page = Page(**GIVEN)
    for ask in SHOWN[name]:
        ask(page, [])
    assert set(page.figures) <= {"table-4-print"}


def test_arithmetic_on_print_is_marked_as_such():
    made: list[Result] = []
    page = Page(**GIVEN)
    page.record = lambda found: made.extend(list(found)) or made[-5:]  # type: ignore[method-assign]
    order.specter(page, [])
    assert made and {one.source for one in made} == {PRINT}


def test_collections_may_be_none_named_and_encoders_may_not():
    assert check("collections", "") == ""
    assert check("exclude_self", True) is True
    with pytest.raises(Exception, match="encoders"):
        check("encoders", "")
