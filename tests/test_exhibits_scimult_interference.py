"""Chapter `scimult/interference`: Table 9 follows, its gains rest on what is said, our changes are settled by intervals."""

from __future__ import annotations

import pytest
import small_scimult
from blank_page import Page
from small_scimult import made

from scirep_core.bench import studied
from scirep_core.exhibits import scimult_interference as exhibits
from scirep_core.exhibits import scimult_interference_gradients as angles
from scirep_core.exhibits import scimult_interference_print as printed
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits import scimult_training_loss as loss
from scirep_core.exhibits import studies

small_training = small_scimult.small_training

# ---- print -----------------------------------------------------------------------------------------------------------


def test_table_9_follows_in_all_cells_and_from_no_other_vanilla():
    page = Page()
    printed.table9(page)
    assert "20 of 20 printed changes follow to the last digit" in page.text
    assert (
        "No sign turns between the two readings; furthest apart is FFNExpert in search, -9.28 and -10.03 %" in page.text
    )
    assert "it would read MHAExpert +1.06, FFNExpert +0.37, Prefix +1.54, Instruction +0.97" in page.text
    assert printed.mean_of_changes("SM-T8", "SciMult MHAExpert") == pytest.approx(0.75, abs=0.005)
    assert printed.mean_of_changes("SM-T8", "SciMult FFNExpert") == pytest.approx(-10.03, abs=0.005)


def test_a_gain_that_one_data_set_carries_is_named():
    assert [len(printed.ahead(table)) for table in shared.TASKS] == [9, 4, 9, 3, 1]
    assert {table: found for table in shared.TASKS if (found := printed.carriers(table))} == {
        "SM-T7": ["Cite"], "SM-T8": ["TREC-COVID in BEIR"],
    }  # fmt: skip
    page = Page()
    printed.claims(page)
    assert "true of 5 of 5 averages, and of 26 of the 41 columns" in page.text
    assert "In link prediction (reranking) and search a single data set makes the gain" in page.text
    assert "Cite: -0.14" in page.text and "TREC-COVID in BEIR: -0.27" in page.text
    assert len(page.figures["columns"]) == 41 + 5


def test_where_a_baseline_is_best_on_average_is_said():
    page = Page()
    printed.baselines(page)
    assert (
        "all five in Table 3, Table 4 and Table 5; none of the five (best baseline SciNCL 91.45) in Table 7"
        in page.text
    )
    assert "all but FFNExpert (best baseline SPECTER 2.0 61.23) in Table 8" in page.text


# ---- ours ------------------------------------------------------------------------------------------------------------


def values(better: dict[str, float], spread: float = 0.2):
    """50, more for some lines, with seeds apart by their line."""

    def value(line, column, seed):
        return 50.0 + better.get(line, 0.0) + spread * (seed - 1) * (len(line) % 5 - 2)

    return value


def rows_of(monkeypatch, name, better, spread=0.2, seeds=range(3)):
    found = made(name, values(better, spread), seeds)
    monkeypatch.setattr(studies, "recorded_study", lambda _: found)
    return shared.recorded(Page(), name)


def test_our_table_9_has_intervals_and_says_what_they_settle(monkeypatch):
    rows = rows_of(monkeypatch, "scimult", {"SciMult MHAExpert": 5.0, "SciMult FFNExpert": -5.0})
    page = Page()
    found = exhibits.ours(page, {"recorded": rows, "live": []})["recorded"]
    assert "Recorded, MHAExpert: up in 5 of 5" in page.text and "Recorded, FFNExpert: down in 5 of 5" in page.text
    assert "Recorded, Prefix: not settled in 5 of 5" in page.text
    assert "Of 20 changes 10 are settled in the recorded run, 8 of these with the sign that is printed" in page.text
    assert (
        "of 20 intervals about 1.0 would leave out 0 by chance" in page.text
    )  # of the five in print, not of the control
    assert "Recorded: 3 trainings each" in page.text and "300 to 600 steps" in page.text
    row = found["SciMult MHAExpert", "SM-T5"]
    assert row.value == pytest.approx(10, abs=0.1) and row.low < row.value < row.high
    assert "Vanilla, as long" in page.text and 'class="live"' not in page.text


def test_vanillas_averages_stand_between_floor_and_ceiling(monkeypatch):
    rows = rows_of(monkeypatch, "scimult", {"random": -40.0, "oracle": 40.0}, 0.0)
    page = Page()
    exhibits.ends(page, {"recorded": rows, "live": []})
    assert page.text.startswith("Recorded, Vanilla’s averages") and page.text.count("50.0 (10.0 to 90.0)") == 5
    bare = Page()
    exhibits.ends(bare, {"recorded": [row for row in rows if row.encoder != "oracle"]})
    assert bare.text == ""


def test_equal_length_is_a_comparison_of_its_own(monkeypatch):
    rows = rows_of(monkeypatch, "scimult", {"SciMult MHAExpert": 5.0, shared.LONG: 5.0, "SciMult Prefix": 8.0})
    page = Page()
    exhibits.length(page, rows)
    assert "5 of 20 changes are settled above 0 and 10 below" in page.text


def test_one_recorded_training_settles_nothing(monkeypatch):
    rows = rows_of(monkeypatch, "scimult", {"SciMult MHAExpert": 5.0}, seeds=range(1))
    page = Page()
    exhibits.ours(page, {"recorded": rows})
    exhibits.length(page, rows)
    assert "MHAExpert: up in 5 of 5" in page.text and "without an interval none of these signs is settled" in page.text
    assert "Against Vanilla of equal length no change has an interval yet, so none is settled" in page.text
    assert "by chance" not in page.text and 'class="ci"' not in page.text


def test_changes_with_and_without_intervals_are_told_apart(monkeypatch):
    rows = rows_of(monkeypatch, "scimult", {"SciMult MHAExpert": 5.0, "SciMult Prefix": 5.0})
    kept = [
        row
        for row in studied.trainings(rows)
        if studied.line(row) != "SciMult Prefix" or row.parameters["training_seed"] < 1
    ]
    rows = [*kept, *studied.over_seeds(kept)]
    page = Page()
    found = exhibits.ours(page, {"recorded": rows})["recorded"]
    assert "Of 15 changes 5 are settled" in page.text and "of 15 intervals" in page.text  # Prefix was trained once
    assert exhibits.signs_of(found)["SciMult Prefix", "SM-T5"] == 0


def test_company_costs_where_a_task_alone_is_ahead(monkeypatch):
    better = {exhibits.ALONE_ON["search"]: 4.0, exhibits.ALONE_ON["classification"]: -4.0}
    rows = rows_of(monkeypatch, exhibits.CHOICES, better)
    page = Page()
    found = exhibits.company(page, {"recorded": rows, "live": []})["recorded"]
    assert "the task alone is ahead in 1 of 5 (search +8." in page.text
    assert "company helps in 2 of 5 (classification (fine) -7.99 %; classification (coarse) -7.99 %)" in page.text
    assert "not settled in 2 of 5 (link prediction (retrieval) " in page.text
    # classification alone falls behind on the three other tasks' tables, search alone gains on four
    assert "3 of 10 are settled behind Vanilla and 4 settled ahead" in page.text
    assert set(page.figures["company"].task) == set(shared.TASKS.values())
    assert "classification 1.7 times, link prediction 5.0 times, search 5.0 times as often" in page.text
    experts = exhibits.changes(page, rows, ("SciMult MHAExpert",), "recorded")
    exhibits.recovered(page, "recorded", found, experts)
    assert "is settled ahead in search; MHAExpert is settled above Vanilla in 0 of 1." in page.text


@pytest.mark.parametrize(
    ("alone", "expert", "said"),
    [
        (4.0, 4.0, "is settled ahead in search; MHAExpert is settled above Vanilla in 1 of 1 (search)."),
        (0.0, 4.0, "no task alone is settled ahead on its own tables, so that no cost is shown"),
    ],
)
def test_what_experts_win_back_follows_from_intervals(monkeypatch, alone, expert, said):
    rows = rows_of(monkeypatch, exhibits.CHOICES, {exhibits.ALONE_ON["search"]: alone, "SciMult MHAExpert": expert})
    page = Page()
    found = exhibits.company(page, {"recorded": rows})["recorded"]
    exhibits.recovered(page, "recorded", found, exhibits.changes(page, rows, ("SciMult MHAExpert",), "recorded"))
    assert said in page.text and "settles nothing" not in page.text


def test_experts_that_were_not_trained_win_back_nothing_and_lose_nothing(monkeypatch):
    rows = rows_of(monkeypatch, exhibits.CHOICES, {exhibits.ALONE_ON["search"]: 4.0})
    page = Page()
    exhibits.recovered(page, "recorded", exhibits.company(page, {"recorded": rows})["recorded"], {})
    assert "Recorded: MHAExpert is not among these trainings" in page.text and "in 0 of" not in page.text


def test_one_live_training_has_signs_alone():
    rows = made(
        "scimult", values({exhibits.ALONE_ON["link prediction"]: 1.0}, 0.0), range(1), "live", variants=exhibits.TRAINED
    )
    rows += [row for table in shared.TABLES for row in shared.averages(rows, table)]
    page = Page()
    found = exhibits.company(page, {"live": rows})["live"]
    listed = "link prediction (retrieval) +2.00 %; link prediction (reranking) +2.00 %"
    assert f"Live, on a task’s own tables: the task alone is ahead in 2 of 5 ({listed})" in page.text
    assert "without an interval none of these signs is settled" in page.text
    experts = exhibits.ours(page, {"live": rows})["live"]
    assert "Live, MHAExpert: unchanged in 5 of 5" in page.text and 'class="ci"' not in page.text
    exhibits.recovered(page, "live", found, experts)
    assert "MHAExpert is above Vanilla in 0 of 2; without intervals this settles nothing." in page.text
    assert len(found) == 15


def test_print_stands_alone_where_nothing_is_there():
    page = Page()
    assert exhibits.ours(page, {"recorded": [], "live": []}) == {}
    exhibits.length(page, [])
    assert exhibits.company(page, {"recorded": []}) == {}
    assert 'class="recorded"' not in page.text and "company" not in page.figures


# ---- gradients -------------------------------------------------------------------------------------------------------


def test_a_gradient_is_the_slope_of_the_loss_that_training_has(small_training):
    task = next(task for task in small_training.tasks if task.name == loss.COARSE)
    found = angles.gradients(small_training, task, 12, 0)
    trunk, eps = small_training.model.trunk, 1e-3
    sizes = {
        part: sum(p.numel() for name, p in trunk.named_parameters() if angles.part_of(name) == part)
        for part in angles.SHOWN
    }
    assert {part: len(grad) for part, grad in found.items()} == sizes
    moved = [p for name, p in trunk.named_parameters() if angles.part_of(name) == "feed-forward"]
    slope = found["feed-forward"]
    step, values = eps * slope / slope.norm(), []
    for sign in (1, -1):
        for p, part in zip(moved, step.split([p.numel() for p in moved]), strict=True):
            p.data += sign * part.view_as(p)
        values.append(loss.scored(small_training, task, 12).ours)
        for p, part in zip(moved, step.split([p.numel() for p in moved]), strict=True):
            p.data -= sign * part.view_as(p)
    assert (values[0] - values[1]) / (2 * eps) == pytest.approx(float(slope.norm()), rel=0.05)


def test_cosines_are_of_each_pair_of_tasks_and_of_two_batches_of_one(small_training):
    found = angles.cosines(small_training, 8, 2)
    assert len(found) == 6 * len(angles.SHOWN)
    assert all(len(values) == 2 and all(-1 <= value <= 1 for value in values) for values in found.values())


def test_what_is_settled_below_zero_is_said(monkeypatch, small_training):
    low = ("classification", "search", "attention")

    def cosines(of, batch, draws=angles.DRAWS):
        pairs = [(a, b) for i, a in enumerate(exhibits.ALONE_ON) for b in list(exhibits.ALONE_ON)[i:]]
        return {(a, b, part): [(-0.5 if (a, b, part) == low else 0.6 if a == b else 0.0) + 0.1 * (-1) ** i for i in range(draws)]
                for a, b in pairs for part in angles.SHOWN}  # fmt: skip

    monkeypatch.setattr(angles, "trained", lambda chapter: small_training)
    monkeypatch.setattr(angles, "cosines", cosines)
    page = Page(papers=600, steps=4)
    angles.angles(page)
    assert "Of 9 cosines between two tasks 1 are settled below 0" in page.text and "and 0 above" in page.text
    assert "classification and search in the attention, -0.50" in page.text
    assert "On average they are -0.06, settled below the 0.60 within a task (difference -0.66" in page.text
    assert len(page.figures["angles"]) == 18
