"""Tables 11 (v2) and 9 (v1) as printed; what the chapter says of them, and of our own study, follows from the numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import blank_page
import numpy as np
import pytest

from scirep_core.bench.studied import over_seeds
from scirep_core.exhibits import scirepeval_affinity as affinity
from scirep_core.exhibits import scirepeval_affinity_claims as claims
from scirep_core.exhibits import scirepeval_negatives as negatives
from scirep_core.exhibits import scirepeval_objective as objective
from scirep_core.exhibits import studies
from scirep_core.kit.records import Paper
from scirep_core.page import study as study_
from scirep_core.results import Result
from scirep_core.results.published import lookup, table
from scirep_core.training.variants import budget

REALLY_KEPT = negatives.kept


class Page(blank_page.Page):
    def __init__(self, **parameters: Any) -> None:
        super().__init__(
            **{"seed": 0, "papers": 500, "format": "PRX", "protocol": "paper", "steps": 4, "seeds": 2, "quick": True}
            | parameters
        )


def changed(monkeypatch: pytest.MonkeyPatch, exhibit: str, **cells: str) -> None:
    """Let a printed table have other values: `CLF__in_train_PRX="1.0"` is run CLF, column in-train/PRX."""
    found = dict(lookup(exhibit))
    for name, value in cells.items():
        run, _, column = name.partition("__")
        run, part = run.replace("_", "+"), "in-train" if column.startswith("in_train") else "out-of-train"
        rest = column.removeprefix(part.replace("-", "_")).strip("_")
        key = run, affinity.printed_column(f"{part}/{rest}" if rest else part)
        found[key] = found[key]._replace(value=value)
    for module in (affinity, claims):
        monkeypatch.setattr(module, "lookup", lambda name: found if name == exhibit else lookup(name))


# ---- print -----------------------------------------------------------------------------------------------------------


def test_both_tables_are_complete():
    for exhibit in affinity.EXHIBITS:
        found = affinity.printed(exhibit)
        assert len(found.values) == 11 * 11
        assert all(0 < value < 100 for value in found.values.values())
    assert len(table("V2-T11")) == 121
    two, one = affinity.printed("V2-T11").values, affinity.printed("V1-T9").values
    assert (two["RGN+SRCH", "in-train/SRCH"], two["CLF+SRCH", "out-of-train/RGN"], two["PRX", "all"]) == (
        78.8,
        13.9,
        68.0,
    )
    assert (one["RGN+PRX", "in-train/CLF"], one["PRX+SRCH", "out-of-train/SRCH"], one["RGN", "all"]) == (
        50.4,
        85.1,
        59.8,
    )


def test_our_lines_are_the_tables_rows():
    assert sorted(affinity.LINES.values()) == sorted(affinity.RUNS)
    assert affinity.SUBSET_OF["QRY"] == "MTL CTRL on SRCH"
    assert affinity.weights("v1", "out-of-train") == {"CLF": 2, "RGN": 3, "PRX": 4, "SRCH": 2}


def test_the_in_train_column_of_table_11_is_wrong_and_the_last_column_says_so():
    page = Page()
    affinity.show_means(page, "V2-T11")
    assert (
        "1 of 11 in-train means of Table 11 (v2) follow from their rows within rounding; not those of CLF +3.6"
        in page.text
    )
    assert "11 of 11 out-of-train means" in page.text
    assert "follows from the means recomputed here in all 11 rows (largest gap 0.06)" in page.text
    assert (
        "by the printed column CLF (54.9) is ahead of CLF+RGN (54.6), by its own formats behind (51.27 and 59.17)"
        in page.text
    )


def test_a_last_column_that_follows_from_neither_would_be_said(monkeypatch):
    changed(monkeypatch, "V2-T11", CLF__out_of_train_PRX="60.0")
    page = Page()
    affinity.show_means(page, "V2-T11")
    assert "Neither in-train column explains the last column" in page.text
    assert "not those of CLF +10.8" in page.text


def test_the_misprinted_cell_of_the_submission_is_found_by_its_rows_mean():
    page = Page()
    affinity.show_means(page, "V1-T9")
    assert "not those of CLF+PRX +4.0" in page.text
    assert "the in-train SRCH score of CLF+PRX is printed as 43.8, while the other rows print 68.7 to 78.5" in page.text
    assert "asks for 72.1, which fits in: the cell is a misprint" in page.text


def test_marks_are_the_highest_of_a_column_and_of_each_kind_of_run():
    page = Page()
    affinity.show_printed(page, "V2-T11")
    assert page.text.count("<strong>87.3</strong>") == 2
    assert f"<u {studies.UNDERLINE}>78.1</u>" in page.text  # search alone
    assert f"<u {studies.UNDERLINE}>19.3</u>" in page.text  # regression, all formats
    bold = {(p.row, p.column) for p in table("V2-T11") if "bold" in p.note and not p.column.endswith("Avg")}
    two = affinity.printed("V2-T11")
    best = {(r, affinity.printed_column(c)) for c in affinity.COLUMNS for r in affinity.RUNS
            if two.values[r, c] == max(two.values[x, c] for x in affinity.RUNS)}  # fmt: skip
    assert bold == best


# ---- statements on print ---------------------------------------------------------------------------------------------


def printed() -> list[affinity.Table]:
    return affinity.both_and([])


def told(ask: Callable[[Any, Any], None], tables: list[affinity.Table]) -> str:
    page = Page()
    ask(page, tables)
    return page.text


def test_a_format_alone_is_as_good_as_said_if_so_many_tenths_are_similar():
    text = told(claims.alone, printed())
    assert "behind in 2 (in-train PRX -0.2; in-train SRCH -0.2). It holds if 0.2 points count as similar" in text
    assert "out-of-train SRCH -0.9). It holds if 0.9 points count as similar" in text


@pytest.mark.parametrize(("value", "says"), [("60.0", "no one idea of similar fits"), ("67.0", "if 0.2 points count")])
def test_a_worse_format_alone_would_make_the_statement_fail(monkeypatch, value, says):
    changed(monkeypatch, "V2-T11", PRX__in_train_PRX=value)
    assert says in told(claims.alone, printed()[:1])


def test_pairs_are_checked_statement_by_statement():
    text = told(claims.partners, printed())
    assert "of 24 combinations of a format, a partner and a part 8 gain and 13 lose, 3 are level" in text
    assert "ahead in 1 (out-of-train SRCH +1.3), level in 2" in text
    assert "out-of-train no, -1.4 to the best other, All" in text
    assert "out-of-train shared, +0.0 to the best other, PRX" in text
    row = next(line for line in text.split("<li>") if "CLF and RGN together" in line)
    assert "Table 9" in row
    assert "Table 11" not in row  # the publication no longer says it


def test_a_pair_that_were_the_best_would_be_called_so(monkeypatch):
    changed(monkeypatch, "V2-T11", RGN_SRCH__out_of_train_SRCH="80.0")
    text = told(claims.partners, printed())
    assert "out-of-train yes, +0.3 to the best other, All" in text


def test_everything_is_best_on_average_and_short_where_the_text_says():
    text = told(claims.everything, printed())
    assert text.count("All has the highest mean in-train, out-of-train, over all tasks (") == 2
    assert "More than 1 point short of the best: in-train CLF +1.6; out-of-train RGN +1.1; the text excepts" in text
    assert text.count("that is what the table says") == 2
    assert "62.4 in-train, 73.1 out-of-train, 70.4 all, the same means" in text
    assert "lie up to 0.5 (v2) and 1.1 (v1) points apart by chance" in text


def test_no_mean_rests_on_the_misprinted_cell():
    one = affinity.printed("V1-T9")
    assert claims.part_mean(one, "CLF+PRX", "in-train") == 58.1  # as printed; its formats give 54.1
    assert claims.part_mean(one, "CLF", "in-train") == pytest.approx(52.67, abs=0.01)
    assert claims.part_mean(affinity.printed("V2-T11"), "CLF", "in-train") == pytest.approx(51.27, abs=0.01)


def test_another_shortfall_of_all_would_be_said(monkeypatch):
    changed(monkeypatch, "V2-T11", All__in_train_PRX="50.0")
    text = told(claims.everything, printed()[:1])
    assert "in-train PRX +17.4" in text
    assert "the table says otherwise" in text
    assert "highest mean out-of-train, over all tasks (" in text  # and no longer in train


def test_runs_with_a_format_are_held_against_those_without_and_the_misprint_is_left_out():
    page, tables = Page(), printed()
    claims.with_format(page, tables)
    assert "Table 11 (v2): better in 8 of 8 columns, worse in 0" in page.text
    row = claims._with(page, tables[1], "in-train/SRCH")
    without = [tables[1].values[run, "in-train/SRCH"] for run in ("CLF", "RGN", "PRX", "CLF+RGN", "RGN+PRX")]
    inside = [tables[1].values[run, "in-train/SRCH"] for run in ("SRCH", "CLF+SRCH", "RGN+SRCH", "PRX+SRCH")]
    assert row.value == pytest.approx(np.mean(inside) - np.mean(without))
    assert row.n == 9


# ---- statements on our study -----------------------------------------------------------------------------------------


def one(label: str, column: str, value: float, seed: int, **told: Any) -> Result:
    parameters = {"variant": label, "training_seed": seed, "base": "embedded", "width": 64, "layers": 2, "steps": 200,
                  "papers": 3000} | told  # fmt: skip
    return Result("scirepeval/average-v2", column.replace("SRCH", "QRY"), "average", "paper", value, 2,
                  encoder=f"{label}, seed {seed}", kind="recorded", chapter="study/affinity", source="embedded",
                  data_hash="x", seed=0, parameters=parameters)  # fmt: skip


def studied(values: Callable[[str, str], float], runs: tuple[str, ...] = affinity.RUNS, seeds: int = 4) -> list[Result]:
    noise = np.random.default_rng(3)
    rows = [one(affinity.VARIANTS[run], column, values(run, column) + float(noise.normal(0, 0.2)), seed)
            for seed in range(seeds) for run in runs for column in (*affinity.COLUMNS, *affinity.MEANS)]  # fmt: skip
    return [*rows, *(replace(row, kind="recorded") for row in over_seeds(rows))]


@pytest.fixture(scope="module")
def study() -> list[Result]:
    """A study in which search alone is far better on search, and all formats are 3 points worse on everything."""
    return studied(
        lambda run, column: 50.0 + 5 * (run == column.partition("/")[2] == "SRCH") - 3 * (run == affinity.ALL)
    )


def test_our_study_answers_by_tukeys_intervals(study):
    mine = affinity.ours(study)
    assert mine is not None
    text = told(claims.alone, [mine])
    assert "a format alone is ahead in 8 (" in text
    text = told(claims.partners, [mine])
    assert "0 gain and 6 lose, 18 are not told apart" in text
    assert (
        "PRX and SRCH boost each other.</strong> Our study: on their own tasks not told apart in 2 (in-train PRX"
        in text
    )
    assert "behind in 2 (in-train SRCH -" in text
    text = told(claims.everything, [mine])
    assert "All has the highest mean nowhere" in text
    assert "more than 1 point short in 8" in text
    gaps = {column: claims._with(Page(), mine, column) for column in affinity.COLUMNS}
    for column, gap in gaps.items():
        assert gap.value == pytest.approx(
            1.25 * column.endswith("SRCH"), abs=0.4
        )  # one of the four that hold it is 5 better
        assert gap.low < gap.value < gap.high


def test_differences_of_ours_are_of_the_means_with_an_interval_around_them(study):
    mine = affinity.ours(study)
    assert mine is not None
    row = mine.gap(Page(), "SRCH", "PRX+SRCH", "in-train/SRCH")
    assert row.value == pytest.approx(mine.values["SRCH", "in-train/SRCH"] - mine.values["PRX+SRCH", "in-train/SRCH"])
    assert row.low is not None and row.high is not None
    assert row.low < row.value < row.high
    assert row.low > 4


def test_figures_have_a_line_for_every_difference(study):
    page = Page()
    claims.partners(page, affinity.both_and(study))
    assert len(page.figures["partners"]) == 3 * 24
    assert page.figures["partners"]["low"].notna().sum() == 24


def test_a_study_with_a_run_missing_or_trained_once_tests_nothing():
    half = studied(lambda run, column: 50.0, affinity.RUNS[:-1])
    once = studied(lambda run, column: 50.0, seeds=1)
    for rows in (half, once):
        page = Page()
        assert affinity.ours(rows) is None
        assert len(affinity.both_and(rows)) == 2
        affinity.show_ours(page, rows)
        assert "what follows rests on print alone" in page.text
    page = Page()
    affinity.show_ours(page, [])
    assert page.said == []


def test_floor_and_ceiling_are_taken_from_the_main_study_if_of_the_same_data(study, monkeypatch):
    floor = replace(study[0], encoder="random", value=12.3, parameters={"variant": "random"})
    other = replace(floor, data_hash="y", encoder="oracle")
    monkeypatch.setattr(studies, "recorded_study", lambda name: [floor, other] if name == "main" else [])
    assert affinity.references(study) == [floor]
    page = Page()
    affinity.show_ours(page, study)
    assert "floor: random vectors" in page.text
    assert "ceiling: oracle" not in page.text


# ---- without citations -----------------------------------------------------------------------------------------------


def test_the_ablation_is_v1s_in_v2_and_of_a_run_in_no_table():
    page = Page()
    objective.print_ablation(page)
    assert "v2 repeats v1’s 4 numbers" in page.text
    assert "57.9 is below every out-of-train number of its Table 2, the lowest of which is 60.2 (SciBERT" in page.text
    assert "in-train 62.5, out-of-train 57.8" in page.text
    assert "in-train -0.1 (p = 0.49), out-of-train -0.4 (p = 0.15)" in page.text


@pytest.mark.parametrize(
    ("loss", "says"),
    [({"out-of-train": 3.0}, "This is what the papers hint at"), ({"in-train": 3.0}, "our trainings do not show that"),
     ({}, "neither gains nor loses")],
)  # fmt: skip
def test_our_ablation_says_what_its_intervals_say(loss, says):
    noise = np.random.default_rng(1)
    rows = [
        one(name, column, 50 - loss.get(column, 0) * (name == objective.WITHOUT) + float(noise.normal(0, 0.2)), seed,
            base="embedded untrained")
        for name in (objective.WITH, objective.WITHOUT) for column in (*affinity.COLUMNS, *affinity.MEANS) for seed in range(5)
    ]  # fmt: skip
    rows += [replace(row, kind="recorded") for row in over_seeds(rows)]
    page = Page()
    objective.our_ablation(page, rows)
    assert says in page.text


# ---- one format, and bases, trained ----------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    given = budget("tiny", papers=500, train={"steps": 2, "warmup": 1, "batch": 16})
    monkeypatch.setattr(study_, "live_budget", lambda chapter: given)
    few = ("scirepeval/cite_count", "scirepeval/same_author", "scirepeval/search")
    monkeypatch.setattr(objective, "TABLE_3", few)
    monkeypatch.setattr(negatives, "COMPARED", few)


def test_one_format_is_trained_and_others_are_read_under_both_codes(tiny):
    page = Page(format="PRX")
    rows = objective.train_one(page)
    values = {(row.encoder, row.task): row.value for row in rows if ", minus " not in row.metric}
    gaps = {(row.encoder, row.task): row for row in rows if ", minus " in row.metric}
    alone, under = "MTL CTRL on PRX", "MTL CTRL on PRX as PRX"
    for task in objective.TABLE_3:
        gap = gaps[alone, task]
        assert gap.value == pytest.approx(values[alone, task] - values["Base", task])
        assert gap.low <= gap.value <= gap.high
    assert {task for label, task in gaps if label == under} == {"scirepeval/cite_count", "scirepeval/search"}
    assert values[under, "scirepeval/search"] != values[alone, "scirepeval/search"]
    assert len({row.id for row in rows}) == len(rows)
    objective.show_one(page, rows)
    assert "on its own format’s 1 tasks" in page.text
    assert len(page.figures["one-format"]) == 3
    assert f'<td class="live">{values["oracle", "scirepeval/search"]:.1f}</td></tr>' in page.text  # the last column


def test_search_trains_the_code_of_papers_too():
    assert objective.trained("QRY") == {"QRY", "PRX"}
    assert objective.trained("RGN") == {"RGN"}


def test_a_quick_run_trains_no_base_and_says_how(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(negatives, "kept", list)
    page = Page()
    assert negatives.train_bases(page) == []
    negatives.show_bases(page, [])
    assert "a quick run trains none" in page.text


def test_bases_are_compared_over_trainings_of_equal_seed(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(negatives, "kept", list)
    page = Page(quick=False, seeds=2)
    page.folder = tmp_path
    rows = negatives.train_bases(page)
    assert len({row.id for row in rows}) == len(rows)
    single = {(row.encoder, row.task): row.value for row in rows}
    gap = next(row for row in rows if row.task == negatives.MEAN and "minus" in row.metric)
    each = [
        single[f"embedded, seed {s}", negatives.MEAN] - single[f"embedded specter, seed {s}", negatives.MEAN]
        for s in (0, 1)
    ]
    assert gap.value == pytest.approx(np.mean(each))
    tasks = [single["embedded, seed 1", task] for task in negatives.COMPARED]
    assert single["embedded, seed 1", negatives.MEAN] == pytest.approx(np.mean(tasks))
    assert single["embedded, seed 0", "scirepeval/search"] != single["embedded, seed 1", "scirepeval/search"]
    negatives.show_bases(page, rows)
    assert "On the mean of 3 tasks the base with SPECTER2’s negatives is" in page.text
    written = [replace(row, kind="recorded", parameters=page.parameters) for row in rows]  # as a chapter writes them
    monkeypatch.setattr(negatives, "recorded", lambda *place: written)
    again = Page()
    monkeypatch.setattr(negatives, "kept", REALLY_KEPT)
    negatives.show_bases(again, [])
    assert "Recorded: bases alone, 2 trainings each way, 500 invented papers" in again.text


# ---- negatives -------------------------------------------------------------------------------------------------------


def little_graph() -> negatives.Graph:
    """a cites b, c; b cites d; c cites b, e: so d and e are hard for a. Ten more papers, of two fields."""
    ids = ["a", "b", "c", "d", "e", *(f"x{i}" for i in range(5)), *(f"y{i}" for i in range(5))]
    papers = {key: Paper(key, f"title of {key[0]}", f"words of {key[0]} and {key}") for key in ids}
    cites = {"a": ["b", "c"], "b": ["d"], "c": ["b", "e"]}
    fields = {key: frozenset({"Y" if key.startswith("y") else "X"}) for key in ids}
    return negatives.Graph(papers, cites, fields, [("a", "b", "y0"), ("a", "c", "d"), ("b", "d", "x1")])


def test_negatives_are_told_apart():
    graph = little_graph()
    assert graph.beyond("a") == {"d", "e"}
    assert [graph.kind("a", key) for key in ("d", "x0", "y0")] == ["hard", "same field", "other field"]


def test_counts_are_of_what_the_sampler_drew():
    page, graph = Page(), little_graph()
    shares = {row.metric: row for row in negatives.count(page, graph)}
    triplets = negatives.drawn(graph, 0)
    hard = sum(negative in graph.beyond(query) for query, _, negative in triplets)
    row = shares[f"hard negatives, percent, {negatives.DRAWN}"]
    assert (row.value, row.n) == (pytest.approx(100 * hard / len(triplets)), len(triplets))
    assert shares[f"hard negatives, percent, {negatives.GIVEN}"].value == pytest.approx(100 / 3)
    assert not any(negative in graph.cites[query] for query, _, negative in triplets)
    assert "0.0 percent of the 3 queries get all 10" in page.text  # two hard ones at most
    assert "100.0 percent have fewer than 4 papers" in page.text


def test_nearness_follows_the_words():
    page = Page()
    negatives.nearness(page, little_graph())
    drawn = page.figures["nearness"].set_index("candidate")
    assert list(drawn.index) == ["cited", "hard", "same field", "other field"]
    assert ((drawn["low"] <= drawn["cosine"] + 1e-9) & (drawn["cosine"] <= drawn["high"] + 1e-9)).all()
    assert "From the nearest:" in page.text


def test_an_order_that_intervals_do_not_tell_is_not_told():
    page = Page()
    row = Result("t", "train", "m", "paper", 0.5, 9, low=0.4, high=0.6)
    rows = {
        "cited": replace(row, value=0.9, low=0.8, high=1.0),
        "hard": row,
        "same field": replace(row, value=0.45, low=0.35),
    }
    negatives._say_nearness(page, {**rows, "other field": replace(row, value=0.1, low=0.05, high=0.2)})
    assert "cited 0.900, then hard 0.500, not told apart from same field 0.450, then other field 0.100" in page.text
    assert "a hard negative and a paper of the same field are not told apart" in page.text
    for low, high, says in (
        (0.1, 0.2, "So a hard negative is hard in words too"),
        (0.7, 0.8, "is nearer to its query than a hard"),
    ):
        page = Page()
        other = replace(row, value=(low + high) / 2, low=low, high=high)
        negatives._say_nearness(
            page, {**rows, "same field": other, "other field": replace(row, value=0.05, low=0.04, high=0.06)}
        )
        assert says in page.text


def test_section_5s_counts_add_up_and_ten_times_is_less_than_eight(tmp_path):
    page = Page()
    negatives.in_print(page)
    assert "(4 of the query’s field, 2 of others) and 4 hard ones, which adds up" in page.text
    assert "7.8 times as many" in page.text
    assert "Table 9 of the same paper lists 19" in page.text
    chapter = blank_page.Shown(affinity.CHAPTER, {}, tmp_path)
    negatives.in_print(chapter)
    assert ">819,836</a> triplets of SPECTER" in "\n".join(chapter.page)
