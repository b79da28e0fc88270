"""Chapter `scimult/training`: drawings and counts are those of the modules, losses those of training, words follow numbers."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import small_scimult
from blank_page import Page
from small_scimult import made

from scirep_core.data.readers.maple_pairs import Report, pairs
from scirep_core.data.sources import embedded_root
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits import scimult_training as exhibits
from scirep_core.exhibits import scimult_training_figure as drawing
from scirep_core.exhibits import scimult_training_loss as loss
from scirep_core.exhibits import studies
from scirep_core.results import Result
from scirep_core.results.published import lookup, table
from scirep_core.training.variants import budget, config

small_training = small_scimult.small_training

# ---- Figure 1 --------------------------------------------------------------------------------------------------------


def test_the_walk_finds_experts_in_the_odd_blocks_and_counts_what_the_paper_adds():
    dense = drawing.walk("plain")
    assert set(dense.copies.values()) == {1}
    # BERT without its pooler: embeddings, then a block's four attention linears, two feed-forward ones, two norms
    block = 4 * (768 * 768 + 768) + 2 * 768 * 3072 + 768 + 3072 + 4 * 768
    assert dense.held == (30_522 + 512 + 2 + 2) * 768 + 12 * block
    attention, feed = drawing.walk("mha_experts"), drawing.walk("ffn_experts")
    assert {key for key, n in attention.copies.items() if n == 3} == {(i, "attention") for i in range(1, 12, 2)}
    assert {key for key, n in feed.copies.items() if n == 3} == {
        (i, part) for i in range(1, 12, 2) for part in ("feed-forward", "norm after feed-forward")
    }
    assert attention.held - dense.held == 2 * 6 * 4 * (768 * 768 + 768)
    assert feed.held - dense.held == 2 * 6 * (2 * 768 * 3072 + 768 + 3072 + 2 * 768)
    assert drawing.walk("instruction").held == dense.held
    prefix = drawing.walk("prefix")
    assert prefix.trained == prefix.held - dense.held
    assert 11 * block < prefix.trained < 11.01 * block  # all blocks but the last, and a few words and places


@pytest.mark.parametrize("kind", drawing.EXPERTS)
def test_one_experts_change_moves_its_own_task_alone(kind):
    start, moved = drawing.tried(kind)
    assert set(start.values()) == {0.0}
    assert moved["search"] > 0.01 and moved["link"] == moved["classification"] == 0.0


def test_figure_1_its_counts_and_its_routing_are_shown():
    page = Page()
    drawing.figure1(page)
    drawing.counts(page)
    drawing.routing(page)
    frame = page.figures["figure-1"]
    assert len(frame) == 2 * 12 * 4
    assert frame[frame.copies == 3].groupby("model").size().to_dict() == {"FFNExpert": 12, "MHAExpert": 6}
    assert "Experts add 28.3 (MHAExpert) and 56.7 million parameters (FFNExpert, 2.0 times as many)" in page.text
    assert "What Prefix adds is a copy of 11 of the 12 blocks" in page.text
    assert "or a task’s vectors depend on another task’s" not in page.text


# ---- the loss --------------------------------------------------------------------------------------------------------


def same_as_training(of, task, batch):
    one = loss.scored(of, task, batch)
    own = one.scores[one.own].astype(float)
    for masked, expected in ((np.zeros_like(one.masked), one.published), (one.masked, one.ours)):
        left = np.where(masked, -np.inf, one.scores.astype(float))
        assert float((np.log(np.exp(left).sum(1)) - own).mean()) == pytest.approx(expected, rel=1e-5), task.name
    assert not (one.masked & one.own).any()
    assert one.published >= max(one.floor, one.ours) - 1e-6
    return one


def test_the_matrix_drawn_gives_the_losses_of_training(small_training):
    for task in small_training.tasks:
        same_as_training(small_training, task, 12)


def test_a_hard_negative_that_is_right_elsewhere_still_counts(small_training):
    task = next(task for task in small_training.tasks if (task.rows[:, 2] >= 0).sum() > 3)
    rows = task.rows[task.rows[:, 2] >= 0][:3].copy()
    rows[1] = rows[0][[0, 2, 1]]  # graded: what one row names the negative is the other's positive
    one = same_as_training(small_training, replace(task, rows=rows), 3)
    assert (one.hard & ~one.masked).sum() == 3


def test_copies_of_a_positive_are_masked_and_set_the_floor(small_training):
    coarse = next(task for task in small_training.tasks if task.name == loss.COARSE)
    one = loss.scored(small_training, coarse, 64)
    assert (one.copies.sum(1) > 1).mean() > 0.8  # 18 labels, 64 pairs
    assert one.floor == pytest.approx(float(np.mean([math.log(row.sum()) for row in one.copies])))
    assert (one.copies & ~one.own <= one.masked).all()


def test_a_batch_is_drawn_with_what_is_masked_in_it(small_training):
    page = Page(papers=600, steps=4)
    loss.draw_batch(page, small_training)
    frame = page.figures["scores"]
    assert frame.own.sum() == loss.DRAWN and frame.masked.sum() > 0
    coarse = next(task for task in small_training.tasks if task.name == loss.COARSE)
    one = loss.scored(small_training, coarse, loss.DRAWN)
    assert f"no training could remove {one.floor:.2f}" in page.text
    assert f"stands there {one.copies.sum(1).mean():.1f} times on average" in page.text
    loss.sources(page, small_training)
    assert page.text.count("<tr>") == 1 + 5
    assert "The floor is highest for MAPLE (Coarse)" in page.text


def test_the_floor_of_scimults_batches_follows_from_its_print():
    page = Page()
    loss.floors(page)
    assert "there 85.3 times" in page.text and "ln 85.3 = 4.45 (the mean over draws of a batch: 4.45)" in page.text
    assert (
        "no more than about 12 % of the queries" in page.text and "about 249 of its pairs would be coarse" in page.text
    )
    drawn = [np.bincount(np.random.default_rng(i).integers(0, 18, 200), minlength=18) for i in range(400)]
    simulated = np.mean([(counts * np.log(np.maximum(counts, 1))).sum() / 200 for counts in drawn])
    assert loss.expected_floor(200, 18) == pytest.approx(simulated, abs=0.01)


# ---- settings --------------------------------------------------------------------------------------------------------


def test_settings_steps_and_rates_follow_from_print_and_optimiser():
    page = Page(papers=1000, steps=60)
    exhibits.settings(page)
    exhibits.rates(page)
    assert "20 epochs over the pairs of Table A1 are 72391 steps" in page.text
    assert "is 3620 of them, one epoch (3620 steps)" in page.text
    assert '<th scope="row">steps of warm-up</th><td class="published">3620</td><td class="live">3</td>' in page.text
    assert "has 2 blocks of width 64" in page.text and "base “embedded untrained”" in page.text
    assert "0.0003 is 15 times the 2 × 10⁻⁵" in page.text and "clip gradients at 2, which" in page.text
    assert "1.3 × 10⁻⁵ at the embeddings and 19.2 × 10⁻⁵ at the top" in page.text
    layers = exhibits.peaks(0.8, 1.0)
    assert layers[-1] == pytest.approx(0.64) and layers[0] == pytest.approx(0.8**14)  # as SciMult's code counts
    assert all(low / high == pytest.approx(0.8) for low, high in pairwise(layers))
    assert exhibits.peaks(1.0, 1.0) == [1.0] * 13
    shares = page.figures["rates"]
    assert shares[shares.what == "share of the peak"].value.max() == 1.0
    assert (
        config(loss.VANILLA, 0, budget("small")).layer_decay == 1.0
    )  # ours is none: the page says that the code's is another


def test_without_steps_the_settings_count_those_of_two_epochs(monkeypatch, small_training):
    monkeypatch.setattr(exhibits, "base", lambda on, given: None)
    monkeypatch.setattr(exhibits, "examples", lambda *_: (None, small_training.tasks))
    page = Page(papers=600, steps=0)
    exhibits.settings(page)
    steps = math.ceil(2 * sum(len(task) for task in small_training.tasks) / 32)
    assert f'<th scope="row">steps</th><td class="published">72391</td><td class="live">{steps}</td>' in page.text


# ---- what it is trained on -------------------------------------------------------------------------------------------


def test_what_table_2_leaves_out_follows_from_tables_1_and_2_of_the_appendix():
    page = Page()
    exhibits.pairs_in_print(page)
    shares = [float(share) for share in re.findall(r">([\d.]+)</td></tr>", page.text)]
    assert len(shares) == 5 and sum(shares) == pytest.approx(100, abs=0.2)
    assert "names MAPLE (Coarse) among the training data, 16.2 % of the pairs: 18 fields" in page.text
    assert "tests on 19 fields of MAG" in page.text and "at least 1 of these fields was never" in page.text
    # what the sentence says of print
    assert not any("coarse" in one.value.lower() for one in table("SM-T2"))
    assert any("MAG Fields" in one.value for one in table("SM-T2") if one.column == "In-domain Evaluation")
    assert lookup("SM-TA1")["MAPLE (Coarse)", exhibits.PAIRS].number == loss.FIELDS * loss.PER_FIELD


def test_no_printed_score_has_a_deviation():
    page = Page()
    exhibits.spreads(page)
    numbers = re.search(r"Of the ([\d,]+) numbers of Tables 3 to 9 and A3 to A8 none has a deviation", page.text)
    assert numbers
    assert int(numbers[1].replace(",", "")) > 800


# ---- hard negatives --------------------------------------------------------------------------------------------------


def test_hard_negatives_are_counted_by_relation(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    page, made_rows = Page(papers=600), list[Result]()
    monkeypatch.setattr(page, "record", lambda found: made_rows.extend(found) or list(found))
    exhibits.negatives(page)
    shown = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", page.text)
    assert [name for name, _ in shown] == list(exhibits.FOLDERS)
    for _, cells in shown:
        values = [float(value) for value in re.findall(r">([\d.]+)</td>", cells)]
        assert sum(values[3:7]) == pytest.approx(100, abs=0.2) and 0 < values[0] <= values[1]
    assert "a probability of about 40 %, so that about 60 % of these pairs come with one that is not" in page.text
    told = Report()
    list(pairs([embedded_root(600, 0) / "maple" / "Computer_Science"], report=told))
    found = {row.metric: (row.value, row.n) for row in made_rows if row.task == "maple/Computer_Science"}
    assert found["pairs"] == (told.pairs, told.papers)
    # a share of papers is of the papers that have a pair, one of references of the references
    assert found["hard negatives cited, %"] == (100 * told.hard["reference"] / told.hard.total(), told.hard.total())
    assert found["references among these papers, %"] == (100 * told.resolved / told.references, told.references)


# ---- Tables A4 and A5 ------------------------------------------------------------------------------------------------


def study(gap: float, spread: float = 0.1):
    def value(line, column, seed):
        lost = gap if line in (exhibits.WITHOUT, exhibits.COLD, *exhibits.OPEN) else 0.0
        return 50.0 + spread * (seed - 1) * len(line) / 10 - lost

    return value


def recorded(monkeypatch, gap: float, spread: float = 0.1):
    rows = made(exhibits.CHOICES, study(gap, spread))
    monkeypatch.setattr(studies, "recorded_study", lambda name: rows)
    return shared.recorded(Page(), exhibits.CHOICES)


def test_print_alone_is_shown_where_nothing_is_recorded():
    page = Page()
    for of in exhibits.ABLATIONS:
        exhibits.ablation(page, of, {"recorded": [], "live": []})
    exhibits.choices(page, [])
    assert 'class="recorded"' not in page.text and 'class="live"' not in page.text
    assert "a gain in 4 of 5" in page.text and "a loss in 1 of 5 (Classification (Coarse) -1.93)" in page.text
    assert "Table A5, in print: a gain in 5 of 5" in page.text
    assert page.text.count("without an interval none of these signs is settled") == 2
    assert "one training" not in page.text  # how many trainings print is of is not said there
    assert "none of them is recorded yet" in page.text
    assert page.text.count("so the ablation is of other cells") == 2
    assert "prints 75.51 for Vanilla" in page.text and "prints 76.28 for MHAExpert" in page.text


def test_sentences_on_negatives_follow_from_table_a4():
    page = Page()
    exhibits.said_of_negatives(page)
    assert "4 of 5 gain, classification (coarse) does not" in page.text
    assert "77.44, is above every average of Table 4, where SciMult-Prefix is best with 76.67" in page.text


@pytest.mark.parametrize(
    ("gap", "word"), [(2.0, "a gain in 5 of 5"), (-2.0, "a loss in 5 of 5"), (0.0, "not settled in 5 of 5")]
)
def test_our_changes_are_settled_by_their_interval(monkeypatch, gap, word):
    page = Page()
    rows = recorded(monkeypatch, gap)
    for of in exhibits.ABLATIONS:
        exhibits.ablation(page, of, {"recorded": rows})
    assert page.text.count(f"Recorded: {word}") == 2
    exhibits.choices(page, rows)
    way = "behind" if gap > 0 else "ahead of Vanilla" if gap < 0 else "not settled"
    for what in exhibits.OPEN.values():
        assert f"{what.capitalize()}: {way} in 5 of 5 (" in page.text
    assert "3 trainings each" in page.text


def test_a_single_live_training_has_signs_and_no_intervals():
    page = Page()
    rows = made("scimult", study(2.0), range(1), "live", variants=exhibits.TRAINED)
    rows += [row for table in shared.TABLES for row in shared.averages(rows, table)]
    exhibits.ablation(page, exhibits.ABLATIONS[0], {"live": rows})
    assert "Live: a gain in 5 of 5" in page.text and "1 training each" in page.text
    assert page.text.count("without an interval none of these signs is settled") == 2  # in print and live
    assert 'class="ci"' not in page.text
