"""Chapters of CSFCube: what they measure on a tiny collection, and sentences that follow from the numbers, whatever their sign."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import pytest
from blank_page import Page

from scirep_core.evaluators.facets import System
from scirep_core.evaluators.facets.facet_systems import Ranked
from scirep_core.exhibits import counting
from scirep_core.exhibits import csfcube_errors as errors
from scirep_core.kit.records import Query
from scirep_core.page.widgets.facets import Reason

MODULES = (errors, counting)


@pytest.fixture(autouse=True)
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in MODULES:
        monkeypatch.setattr(module, "recorded", lambda name: [])
    yield
    plt.close("all")


def plain(page: Page) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page.text))


def ranked(collection: Any, turned: bool = False) -> Ranked:
    """Return the gold order of candidates, or its reverse, as a system."""
    order = {q: list(collection.candidates(q))[:: -1 if turned else 1] for q in collection.queries}
    return Ranked(System("s", order), lambda query, candidate: Reason("none"))


def test_every_paper_that_a_reader_can_open_is_explained_by_every_system(tiny):
    """Rank 1 of one system is rank 3 of another: that one too says why it put it there."""
    given = {
        name: ranked(tiny, name == "b")._replace(explain=lambda query, candidate: ([], [("word", 1.0)]))
        for name in "ab"
    }
    page = Page(data="embedded", papers=10)
    page.notebook = "notebooks/csfcube/errors.ipynb"  # type: ignore[attr-defined]
    view = json.loads(errors.explorer(page, tiny, given, "", 12, shown=1).data)  # type: ignore[arg-type]
    opened = 0
    for query in view["queries"]:
        for item, paper in enumerate(query["pool"]):
            if len(view["papers"][paper]) > 1:  # has its text, so that it can be opened
                opened += 1
                assert [str(item) in why for why in query["why"]] == [True, True], (query["id"], item)
    assert opened > len(view["queries"])


# ---- what is measured ------------------------------------------------------------------------------------------------


def test_failures_are_shares_of_the_first_ranks_and_of_what_can_be_lost(tiny):
    rows = {(r.task, r.metric): r for r in errors.measure(tiny, {"a": ranked(tiny)}, 100, 0)}
    # 1_method: 1 3 0, its one relevant paper is in the middle of three; 2_method: 2 0 0
    assert rows["csfcube/method", "false positives"].value == pytest.approx(100 * (1 / 3 + 2 / 3) / 2)
    assert rows["csfcube/method", "lost"].value == 0
    turned = {(r.task, r.metric): r for r in errors.measure(tiny, {"a": ranked(tiny, True)}, 100, 0)}
    assert turned["csfcube/method", "lost"].value == 50  # 2_method: last of three


def test_a_query_without_relevant_papers_has_nothing_to_lose(tiny):
    query = Query("2", "method")
    unrelated = tuple(judged._replace(rating=0) for judged in tiny.judgements[query])
    less = replace(tiny, judgements=tiny.judgements | {query: unrelated})
    turned = {name: list(reversed(found)) for name, found in ranked(less).system.rankings.items()}
    turned[Query("1", "method")] = ["2", "4", "3"]
    system = Ranked(System("s", turned), lambda query, candidate: Reason("none"))
    rows = {(r.task, r.metric): r for r in errors.measure(less, {"a": system}, 100, 0)}
    assert (rows["csfcube/method", "lost"].value, rows["csfcube/method", "lost"].n) == (100, 1)
    assert rows["csfcube/method", "false positives"].n == 2
    none = {q: tuple(j._replace(rating=0) for j in judged) for q, judged in tiny.judgements.items()}
    rows = errors.measure(replace(tiny, judgements=none), {"a": ranked(tiny)}, 100, 0)
    assert {r.metric for r in rows if r.metric in errors.FAILURES} == {"false positives"}
    page = Page()
    errors.failures(page, rows)
    errors.what_makes_it_hard(page, rows)  # every score is 0
    assert "nothing to correlate" in page.text and set(page.figures["failures"]["failure"]) == {"false positives"}


def test_the_explorer_offers_as_many_queries_as_are_asked_for(tiny):
    assert errors._spread(tiny.queries, 99) == list(tiny.queries)  # one, two and one of a facet
    assert {q.facet for q in errors._spread(tiny.queries, 3)} == {"background", "method", "result"}
    alone = [q for q in tiny.queries if q.facet == "method"]
    assert errors._spread(alone, 2) == alone


def test_every_part_of_the_pages_stands_on_a_tiny_collection(tiny):
    systems = {"a": ranked(tiny), "b": ranked(tiny, True)}
    page = Page()
    failed = errors.measure(tiny, systems, 100, 0)
    for show in (
        errors.failures,
        errors.summary,
        errors.shared_difficulty,
        errors.what_makes_it_hard,
        errors.appendix_g,
    ):
        show(page, failed)
    assert "most lost: a on result, 100 %; fewest: a on background, 0 %" in plain(page)
    assert set(page.figures) >= {"failures", "difficulty-live"}
    assert "nan" not in plain(page).lower()
