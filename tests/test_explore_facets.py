"""The facet explorer: its state, its plain-HTML twin, and its behaviour in a browser from disk without network."""

from __future__ import annotations

import itertools
import json
import math
import random
from typing import Any

import panel
import pytest
from panel import HOSTILE, selection

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.evaluators.facets import System
from scirep_core.evaluators.facets.facet_systems import Ranked, Reason
from scirep_core.kit.records import Judgement, Paper, Query
from scirep_core.page.widgets.facets import METRICS, FacetExplorer, explore, metrics

TEXT = {
    "background": "Readers of {a} work often compare papers by {b}, yet few collections record why two of them belong together.",
    "objective": "We ask whether {a} can be judged separately from {b} when both appear in one abstract.",
    "method": "Our approach aligns {a} with {b} through a sparse assignment that is solved once per pair of sentences.",
    "result": "On three held-out collections the error on {a} falls by a fifth while {b} stays within its interval.",
}
WORDS = ["graph matching", "sentence alignment", "active learning", "parsing", "topic drift", "image retrieval", "dialogue",
         "entity linking", "query expansion", "code search"]  # fmt: skip


def written(paper_id: str, title: str, year: int | None, seed: int) -> Paper:
    draw = random.Random(seed)
    labels = ["background", "objective", "method", "method", "result"]
    sentences = tuple(TEXT[label].format(a=draw.choice(WORDS), b=draw.choice(WORDS)) for label in labels)
    return Paper(paper_id, title, " ".join(sentences), year, sentences, tuple(f"{label}_label" for label in labels))


def collected(papers: list[Paper], rated: dict[Query, dict[str, int]]) -> FacetCollection:
    judged = {query: tuple(Judgement(*one) for one in of.items()) for query, of in rated.items()}
    return FacetCollection("csfcube", "real", {paper.paper_id: paper for paper in papers}, judged, {}, {}, "")


def ranking(orders: dict[Query, list[str]], why: dict[tuple[Query, str], Reason] | None = None) -> Ranked:
    return Ranked(System("s", orders), lambda query, candidate: (why or {}).get((query, candidate), Reason()))


def tiny_given(**changes: Any) -> dict[str, Any]:
    """Two queries of one paper and one of another; ten candidates; ratings as worked out by hand below."""
    rated = [2, 0, 3, 1, 0, 0, 2, 0, 0, 0]
    pool = [f"c{i}" for i in range(10)]
    best = [pool[i] for i in (2, 0, 6, 3, 1, 4, 5, 7, 8, 9)]
    papers = [written(c, f"Candidate number {i}", 2000 + i, i) for i, c in enumerate(pool)]
    papers[1] = written("c1", HOSTILE, None, 1)
    papers += [written("p1", "First query", 1999, 50), written("p2", "Second", 1999, 50)]
    asked = [Query("p1", "method"), Query("p1", "background"), Query("p2", "method")]
    ratings = [rated, [0] * 10, rated[::-1]]
    why = Reason(((2, 3, 0.813), (0, 0, 0.25)), (("parsing", 1.5), ("sparse", 3.25)))
    return {
        "collection": collected(papers, {q: dict(zip(pool, of, strict=True)) for q, of in zip(asked, ratings, strict=True)}),
        "ranked": {
            "bm25": ranking(dict.fromkeys(asked, pool), {(asked[0], "c1"): why}),
            "specter": ranking(dict.fromkeys(asked, best)),
            "mini, lm": ranking(dict.fromkeys(asked, best[::-1][1:])),
        },
        "labels": {"bm25": "BM25", "specter": "SPECTER"},
        "parameters": {"data": "real"},
    } | changes  # fmt: skip


def tiny_explorer(**changes: Any) -> FacetExplorer:
    return explore(**tiny_given(**changes))


ASKED = Query("p1", "method")
UNSCORED = {(ASKED, "c0"): Reason(terms=(("x", math.nan),))}
PAIR = {
    "collection": collected([written(x, x, 1999, 0) for x in ("c0", "p1")], {ASKED: {"c0": 1}}),
    "ranked": {"a": ranking({ASKED: ["c0"]}, UNSCORED), "b": ranking({ASKED: ["c0"]})},
}
REFUSED = [
    (lambda: tiny_explorer(ranked={"bm25": ranking({})}), "two or more"),
    (lambda: tiny_explorer(collection=collected([], {})), "none given"),
    (lambda: tiny_explorer(**PAIR), "'p1_method', candidate 'c0': a score is not a finite number"),
]


def test_state_is_compact_and_whole():
    given = tiny_given(shown=2)
    view = json.loads(explore(**given).data)
    papers = view["papers"]
    texts = [paper[0] for paper in papers if len(paper) > 1]
    assert len(texts) == len({*texts}) < len(papers), "of those one can open, once"
    for row, query in zip(view["queries"], given["collection"].queries, strict=True):
        pool = [papers[i][0] for i in row["pool"]]
        able = {at for at, i in enumerate(row["pool"]) if len(papers[i]) > 1}
        for (system, _), ranks in zip(view["systems"], row["ranks"], strict=True):
            assert [pool[i] for i in ranks] == given["ranked"][system].system.rankings[query] and {*ranks[:2]} <= able
        rated = tuple(Judgement(c, int(r)) for c, r in zip(pool, row["rated"], strict=True))
        assert row["id"] == query.query_id and rated == given["collection"].judgements[query]
        assert {at for at, one in enumerate(rated) if one.rating > 1} <= able


def test_metrics_worked_out_by_hand():
    # ratings 2 0 3 1 0 0 2 0 0 0; k = 4: 2 of 4, 2 of 3; DCG 2 + 3/log2(3) + 1/2 over ideal 3 + 2 + 2/log2(3) + 1/2
    # the three relevant end at rank 7; two of them stand in the first three
    ratings = [2, 0, 3, 1, 0, 0, 2, 0, 0, 0]
    ndcg = (2 + 3 / math.log2(3) + 0.5) / (5 + 2 / math.log2(3) + 0.5)
    assert metrics(ratings, 4) == pytest.approx([50, 200 / 3, 100 * ndcg, 300 / 7, 200 / 3])
    assert metrics(ratings, "29%") == metrics(ratings, 2), "the percentage is truncated to ranks"
    assert metrics(ratings, "5%")[:3] == [None, None, None]


def test_every_paper_that_a_reader_can_open_is_explained_by_every_system_and_queries_are_those_wanted(tiny):
    """Rank 1 of one system is rank 3 of another: that one too says why it put it there."""
    gold = {q: list(tiny.candidates(q)) for q in tiny.queries}
    orders = {"a": gold, "b": {q: of[::-1] for q, of in gold.items()}}
    told = {(q, candidate): Reason(terms=(("word", 1.0),)) for q, of in gold.items() for candidate in of}
    systems = {name: ranking(of, told) for name, of in orders.items()}
    view = json.loads(explore(tiny, systems, shown=1).data)
    able = [(q, str(i)) for q in view["queries"] for i, paper in enumerate(q["pool"]) if len(view["papers"][paper]) > 1]
    assert all(item in why for query, item in able for why in query["why"]) and len(able) > len(view["queries"])

    def offered(**given):
        return [query["id"] for query in json.loads(explore(tiny, systems, **given).data)["queries"]]

    assert offered(queries=99) == [query.query_id for query in tiny.queries]  # one, two and one of a facet
    assert {name.partition("_")[2] for name in offered(queries=3)} == {"background", "method", "result"}
    named = offered(query="3_result", queries=2)
    assert named[0] == "3_result" and len(named) == 2


def test_fallback_reads_without_script():
    widget = tiny_explorer()
    widget.selection = {"cutoff": 4}
    html = widget.static_fallback()
    assert "&lt;/SCRIPT&gt;&lt;img src=x onerror=&quot;window.pwned=1&quot;&gt;&lt;b&gt;bold &amp; &quot;" in html
    assert "&amp;amp;" not in html and "&amp;lt;" not in html
    for name, first, second in (("P@k", 50, 75), ("NDCG@k", 64.96, 100), ("R-Precision (published)", 42.86, 100)):
        assert f'<tr><th scope="row">{name}</th><td>{first:.2f}</td><td>{second:.2f}</td></tr>' in html
    assert ">3 near identical</span></td><td>Candidate number 2 (2002)</td>" in html
    assert html.count("<li><strong>[method]") == 2 and html.count('<tr><th scope="row">') == len(METRICS) + 10


@pytest.fixture
def opened(browser, tmp_path):
    return panel.opener(browser, tmp_path, tiny_explorer)


def numbers(page):
    rows = "rows => rows.map(r => [...r.querySelectorAll('td')].map(c => c.textContent))"
    return page.locator(".scx-metrics tbody tr").evaluate_all(rows)


def titles(page, side=0):
    return page.locator(f".scx-side-{side} .scx-row .scx-name").all_text_contents()


def said(page):
    return page.locator("[aria-live=polite]").inner_text()


def test_choosing_changes_rows_metrics_and_address(opened):
    page = opened()
    assert titles(page)[:2] == ["Candidate number 0", HOSTILE]
    # k = 2: one of two, one of three; DCG 2 over 5; against a perfect order
    assert numbers(page) == [
        ["50.00", "100.00", "+50.00"], ["33.33", "66.67", "+33.33"], ["40.00", "100.00", "+60.00"],
        ["42.86", "100.00", "+57.14"], ["66.67", "100.00", "+33.33"],
    ]  # fmt: skip
    page.get_by_label("Cut-off as").select_option("k")
    page.get_by_label("Papers", exact=True).fill("4")
    assert [row[:2] for row in numbers(page)[:3]] == [["50.00", "75.00"], ["66.67", "100.00"], ["64.96", "100.00"]]
    assert "BM25 at k 4: P@k 50.00" in (selection(page) and said(page))
    page.get_by_label("Facet", exact=True).select_option("p1_background")
    assert "by its background sentences (objective counts as background)" in page.locator(".scx-query").inner_text()
    assert ["(part of the query)" in text for text in page.locator(".scx-lit").all_text_contents()] == [True, True]
    assert numbers(page)[2] == ["0.00", "0.00", "0.00"]
    page.get_by_label("Query paper").select_option("p2")
    assert page.locator(".scx-row .scx-badge").first.inner_text() == "unrelated"
    page.get_by_label("Ranking A").select_option("specter")
    assert {"query": "p2_method", "facet": "method", "cutoff": 4}.items() <= selection(page).items()
    assert page.evaluate("location.hash") == "#explorer=p2_method,specter,bm25,4"
    assert titles(page)[0] == "Candidate number 2" and page.evaluate("saved") >= 1
    command = "notebooks/csfcube/errors.ipynb out.ipynb -p data real -p query p2_method -p encoders specter,bm25"
    assert page.locator(".scx-command code").inner_text() == f"papermill {command}"
    page.get_by_label("Only relevant").check()
    assert len(titles(page)) == 3
    page.get_by_label("Show papers with").fill("NUMBER 9")
    assert titles(page) == ["Candidate number 9"]


def test_an_opened_paper_is_explained_for_both_rankings(opened):
    page = opened()
    page.locator(".scx-side-0 .scx-row").nth(1).click()
    opened_ = page.locator(".scx-detail")
    for text in (HOSTILE, "put it at rank 2", "put it at rank 5", "A: query 3, 0.813"):
        assert text in opened_.inner_text()
    assert page.evaluate("window.pwned") is None and opened_.locator(".scx-matched").count() == 2
    assert opened_.locator("mark").all_inner_texts().count("sparse") == 2
    assert opened_.locator(".scx-terms li").all_inner_texts() == ["sparse 3.25", "parsing 1.5"]
    assert selection(page)["candidate"] == "c1" and "Opened" in said(page)
    page.get_by_label("Query paper").select_option("p2")
    page.get_by_label("Percent", exact=True).fill("30")
    page.locator(".scx-side-1 .scx-row").nth(3).click()  # leaving the box must not swallow the click
    assert selection(page)["candidate"] == "c3"


def test_python_moves_the_view_and_page_and_library_agree_on_the_metrics(opened):
    page = opened()
    panel.choose(page, query="p2_method", cutoff=3, candidate="c9")
    assert "Candidate number 9" in page.locator(".scx-detail").inner_text()
    assert page.get_by_label("Query paper").input_value() == "p2"
    assert page.evaluate("location.hash") == "#explorer=p2_method,bm25,specter,3" and page.evaluate("saved") == 0
    draw = random.Random(3)
    lists = [[draw.choice([0, 0, 0, 1, 2, 3]) for _ in range(draw.randint(1, 250))] for _ in range(60)]
    cases = [(ratings, k) for ratings in lists for k in (1, 2, 7, 20, 300)] + [([0, 1, 0], 2)]
    found = page.evaluate("cases => cases.map(([ratings, k]) => widget.metrics(ratings, k, 2))", cases)
    for (ratings, k), values in zip(cases, found, strict=True):
        assert values == pytest.approx(metrics(ratings, k), abs=1e-9)


def test_the_command_can_be_copied(opened):
    page = opened("#explorer=p2_method,mini%2C%20lm,bm25,30%25")
    assert "9 papers ranked, 9 listed; 1 of the pool left out" in page.locator(".scx-side-0").inner_text()
    command = page.locator(".scx-command code").inner_text()
    assert command.endswith("-p encoders 'mini, lm,bm25'")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.evaluate("document.execCommand = (what) => { window.took = [what, document.activeElement.value]; return 1; }")
    page.get_by_role("button", name="Copy as papermill command").click()
    page.wait_for_function("window.took")
    assert page.evaluate("took") == ["copy", command] and page.get_by_text("Copied").count() >= 1


def test_a_narrow_page_opens_a_paper_between_the_rankings(opened):
    page = opened(width=390)
    page.locator(".scx-row").nth(1).click()
    boxes = [page.locator(place).bounding_box() for place in (".scx-side-0", ".scx-detail", ".scx-side-1")]
    assert all(above["y"] + above["height"] <= below["y"] for above, below in itertools.pairwise(boxes))
