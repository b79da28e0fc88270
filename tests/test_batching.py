"""The plan is a pure function of the step: every row once an epoch, exact shares, ranks that add up; triplets by hand."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest
from counted import calls, peak
from hypothesis import given, settings
from hypothesis import strategies as st

from scirep_core.data.readers.scirepeval import RankedQuery
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Paper
from scirep_core.training import batching
from scirep_core.training.batching import MIXINGS, Pair, plan, steps_of, titled, triplets_of

SIZES = st.dictionaries(st.sampled_from(["fos", "mesh", "search", "year", "cite"]), st.integers(1, 23), min_size=1)
PLANS = st.tuples(SIZES, st.integers(1, 17), st.sampled_from(MIXINGS), st.integers(0, 3))


def stream(sizes, batch, mixing, seed, steps) -> list[tuple[str, int]]:
    plans = (plan(sizes, batch, mixing, seed, step) for step in range(steps))
    return [(name, row) for rows in plans for name, numbers in rows.items() for row in numbers.tolist()]


def of_task(rows: list[tuple[str, int]], name: str) -> list[int]:
    return [row for task, row in rows if task == name]


@given(PLANS)
@settings(max_examples=150, deadline=None)
def test_every_row_of_an_epoch_comes_once(case):
    sizes, batch, mixing, seed = case
    rows = stream(sizes, batch, mixing, seed, 3 * steps_of(sizes, batch))
    for name, size in sizes.items():
        walked = of_task(rows, name)
        for start in range(0, len(walked) - size + 1, size):
            assert sorted(walked[start : start + size]) == list(range(size))
        assert len(set(walked[len(walked) // size * size :])) == len(walked) % size


@given(PLANS, st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_a_batch_is_full_and_the_same_whenever_it_is_asked_for(case, step):
    sizes, batch, mixing, seed = case
    first = plan(sizes, batch, mixing, seed, step)
    plan(sizes, batch, mixing, seed + 1, 7)  # nothing that was asked for in between matters
    batching._order.cache_clear()
    batching._queue.cache_clear()
    again = plan(sizes, batch, mixing, seed, step)
    assert list(first) == list(again) == [name for name in sizes if name in first]
    assert sum(map(len, first.values())) == batch
    for name, rows in first.items():
        assert rows.dtype == np.int64 and len(rows)
        np.testing.assert_array_equal(rows, again[name])


@given(PLANS, st.integers(0, 20), st.integers(2, 5))
@settings(max_examples=100, deadline=None)
def test_ranks_add_up_to_the_batch_and_differ_by_one_row(case, step, world):
    sizes, batch, mixing, seed = case
    whole = plan(sizes, batch, mixing, seed, step)
    parts = [plan(sizes, batch, mixing, seed, step, rank, world) for rank in range(world)]
    totals = [sum(map(len, part.values())) for part in parts]
    assert max(totals) - min(totals) <= 1
    for name, rows in whole.items():
        shares = [part.get(name, np.empty(0)) for part in parts]
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
        assert sorted(np.concatenate(shares)) == sorted(rows)
    assert not {name for part in parts for name in part} - set(whole)


@given(SIZES, st.integers(1, 17), st.integers(1, 30))
@settings(max_examples=80, deadline=None)
def test_equal_shares_are_exact_and_proportional_ones_never_stray_by_more_than_the_number_of_tasks(sizes, batch, steps):
    rows, total = stream(sizes, batch, "equal", 0, steps), sum(sizes.values())
    for i, name in enumerate(sizes):
        assert len(of_task(rows, name)) == (steps * batch + i) // len(sizes)
    last = plan(sizes, batch, "equal", 0, steps)
    shares = [len(last.get(name, ())) for name in sizes]
    assert max(shares) - min(shares) <= 1
    rows = stream(sizes, batch, "proportional", 0, steps)
    for name, size in sizes.items():
        assert abs(len(of_task(rows, name)) - steps * batch * size / total) <= len(sizes)


def test_a_spent_task_leaves_its_place_one_comes_after_another_or_one_a_batch_in_turn():
    """Two each of four tasks as long as all last: 4 + 4 of a and b are gone after two steps, and c and d have four."""
    sizes = {"a": 4, "b": 4, "c": 12, "d": 12}
    plans = [plan(sizes, 8, "equal_until_spent", 0, step) for step in range(5)]
    counts = [{name: len(rows) for name, rows in one.items()} for one in plans]
    assert counts[:4] == [dict.fromkeys("abcd", 2)] * 2 + [{"c": 4, "d": 4}] * 2
    assert counts[4].keys() == set("abcd")  # the next epoch
    names = [name for name, _ in stream({"b": 5, "a": 3}, 4, "sequential", 0, 4)]
    assert names == ["b"] * 5 + ["a"] * 3 + ["b"] * 5 + ["a"] * 3
    found = [list(plan({"x": 9, "y": 2, "z": 5}, 4, "homogeneous", 0, step)) for step in range(6)]
    assert found == [["x"], ["y"], ["z"]] * 2


def test_the_order_of_a_task_is_its_own():
    """Another task beside it, or another batch, changes no task's order; another seed and another epoch do."""
    alone = [row for _, row in stream({"fos": 40}, 8, "equal", 0, 10)]
    beside = of_task(stream({"mesh": 7, "fos": 40}, 16, "equal", 0, 10), "fos")
    assert alone == beside[:80] and alone[:40] != alone[40:]
    assert alone != [row for _, row in stream({"fos": 40}, 8, "equal", 1, 10)]
    assert alone != [row for _, row in stream({"mesh": 40}, 8, "equal", 0, 10)]


@pytest.mark.parametrize("mixing", MIXINGS)
def test_another_epoch_has_another_order(mixing):
    rows = stream({"a": 30, "b": 30}, 12, mixing, 0, 12)
    for name in "ab":
        walked = of_task(rows, name)
        assert walked[:30] != walked[30:60]


def test_the_order_is_pinned():
    """A recorded run names its seed: the rows it saw must be found again under every version of numpy."""
    assert plan({"fos": 10}, 10, "equal", 0, 0)["fos"].tolist() == [7, 0, 5, 2, 4, 9, 3, 8, 6, 1]


def test_every_order_is_as_likely():
    """5! orders of five rows, 12,000 seeds: 100 of each expected; chi-squared of 119 degrees stays below 200."""
    counts = Counter(tuple(plan({"t": 5}, 5, "equal", seed, 0)["t"].tolist()) for seed in range(12_000))
    assert len(counts) == 120 and sum((n - 100) ** 2 / 100 for n in counts.values()) < 200


def test_a_step_does_not_pass_over_large_tasks_again():
    """600,000 rows a task: after the first step, none holds as much as a byte a row, nor calls by their number."""
    sizes = {f"task {i}": 600_000 for i in range(3)}
    for mixing in MIXINGS:
        for step in range(3):
            plan(sizes, 256, mixing, 0, step)
        for step in range(3, 13):
            again = partial(plan, sizes, 256, mixing, 0, step)
            assert peak(again) < 100_000 and calls(again) < 1000, mixing


def test_steps_of_counts_epochs_over_all_rows():
    for rows, epochs, steps in ((22, 1, 4), (23, 1, 5), (22, 2, 8), (22, 0.5, 2)):
        assert steps_of({"a": 10, "b": rows}, 8, epochs) == steps


@pytest.mark.parametrize(("change", "says"), [
    ({"mixing": "equall"}, "did you mean 'equal'"), ({"sizes": {}}, "no task"),
    ({"sizes": {"fos": 3, "mesh": 0}}, "mesh has no rows"), ({"batch": 0}, "batch 0"), ({"step": -1}, "step -1"),
    ({"rank": 2, "world": 2}, "rank 2 of 2"),
])  # fmt: skip
def test_impossible_plans_are_refused(change, says):
    with pytest.raises(ConfigError, match=says):
        plan(**({"sizes": {"fos": 3}, "batch": 2, "mixing": "equal", "seed": 0, "step": 0} | change))


def ranked(*scores: int, query: str = "q") -> RankedQuery:
    papers = tuple(Paper(f"c{i}", f"title {i}", "") for i in range(len(scores)))
    return RankedQuery(Paper(query, "query", ""), papers, scores)


def test_published_triplets_take_positives_as_listed_and_negatives_from_the_end():
    many = [Pair(0, 9), Pair(0, 8), Pair(0, 7), Pair(0, 6), Pair(0, 5)]
    for scores, most, wanted in (
        ((0, 2, 0, 1, 0, 0), 5, [Pair(1, 5), Pair(3, 4), Pair(1, 2), Pair(3, 0)]), ((1, *[0] * 9), 5, many),
        ((2, 1), 5, []), ((0, 0), 5, []), ((0, 2, 0), 1, [Pair(1, 2)]),  # without a candidate scored 0, whatever the grades
    ):  # fmt: skip
        assert triplets_of(ranked(*scores), most, respect_grades=False) == wanted


@given(st.lists(st.integers(-1, 3), max_size=12), st.integers(1, 8), st.integers(0, 5), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_positive_is_scored_above_its_negative(scores, most, seed, respect_grades):
    query = ranked(*scores)
    pairs = triplets_of(query, most, respect_grades, seed)
    possible = {(p, n) for p, a in enumerate(scores) for n, b in enumerate(scores) if a > b}
    assert set(pairs) <= possible and len(set(pairs)) == len(pairs)
    assert not respect_grades or len(pairs) == min(most, len(possible))
    assert pairs == triplets_of(query, most, respect_grades, seed)


def test_graded_triplets_use_candidates_evenly_and_depend_on_seed_and_query_alone():
    pairs = triplets_of(ranked(1, 1, 1, 0, 0, 0, 0, 0), most=5)
    assert sorted(n for _, n in pairs) == [3, 4, 5, 6, 7]
    assert sorted(Counter(p for p, _ in pairs).values()) == [1, 2, 2]
    first = triplets_of(ranked(*(3, 2, 1, 0) * 5))
    assert first != triplets_of(ranked(*(3, 2, 1, 0) * 5), seed=1)
    assert first != triplets_of(ranked(*(3, 2, 1, 0) * 5, query="r"))


def test_five_in_a_hundred_papers_lose_their_abstract():
    rest = ("On swarms", "We count.", 2019, ("We count.",), ("method_label",), "V")
    papers = [Paper(str(i), *rest) for i in range(20_000)]
    kept = [titled(paper) for paper in papers]
    bare = [paper for paper in kept if not paper.abstract]
    assert abs(len(bare) - 1000) < 140  # 4.5 standard deviations of 31
    assert bare[0] == Paper(bare[0].paper_id, "On swarms", "", 2019, (), (), "V")
    assert kept == [titled(paper) for paper in papers] and [titled(paper, seed=1) for paper in papers] != kept
    assert [titled(paper, share=0.0) for paper in papers] == papers
    assert not any(titled(paper, share=1.0).abstract for paper in papers)
    untitled = Paper("1", "", "We count.")
    assert titled(untitled, share=1.0) == untitled
    with pytest.raises(ConfigError, match="share"):
        titled(untitled, share=5)
