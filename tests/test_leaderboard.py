"""The leaderboard: which numbers are rows, what may be compared, and its behaviour in a browser from disk."""

from __future__ import annotations

import base64
import csv
import io
import json
import random
import re
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import panel
import pytest
from panel import Browser
from scipy.stats import rankdata

from scirep_core.bench import leaderboard as lb
from scirep_core.book import MAX_STATE
from scirep_core.data.inventory import TASKS
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.store import write_text
from scirep_core.page.widgets.leaderboard import ESM, SORTS, START, LeaderboardExplorer, fallback, leaderboard_data
from scirep_core.results import Result, anchor
from scirep_core.results.metrics import check_metrics, parse
from scirep_core.results.published import WHATS, everything, lookup

PAGE = 50
HOSTILE = '<img src=x onerror="window.pwned=1"> "a", b'


SHARED: dict[str, Any] = {
    "task": "csfcube/all", "split": "test", "metric": "map", "protocol": "paper", "value": 50.0, "n": 50, "encoder": "a",
    "low": 40.0, "high": 60.0, "source": "real", "data_hash": "f" * 64, "fingerprint": "0" * 16, "chapter": "csfcube/baselines",
}  # fmt: skip


def result(**more: Any) -> Result:
    return Result(**(SHARED | more))


def row(**more: Any) -> lb.Row:
    return lb.ours(replace(result(**more), kind=more.get("kind", "recorded")), {})


# ---- printed numbers ------------------------------------------------------------------------------------------------


def test_every_printed_number_says_what_it_is_and_scores_are_counted_once():
    assert {one.what for one in everything()} == set(WHATS)
    for one in everything():
        assert all((one.task, one.metric, one.split, one.system)) == (one.what == "score"), one
    found, left = lb.scores()
    assert len(found) + sum(left.values()) == len(everything())
    assert len({(p.task, p.metric, p.split, p.system, p.number) for p in found}) == len(found)


@pytest.mark.parametrize(("exhibit_", "line", "column", "score"), [
    ("CS-T3", "fabs_bm25", "all/ndcg%20", "csfcube/all | ndcg%20 | test | fabs_bm25"),
    ("SM-T3", "SciBERT", "CS-Conference/R@20", "scimult/cs_conference | recall@20_name_match | test | SciBERT"),
    ("SM-TA3", "SciBERT", "CS-Conference/R@20", "scimult/cs_conference | recall@20 | test | SciBERT"),
    ("SM-T5", "BM25", "Cite/R@50", "scimult/cite | recall@50 | test | BM25"),
    ("SM-T7", "SciNCL", "Cite/MAP", "scimult/cite_rerank | map | test | SciNCL"),
    ("SM-T4", "SciNCL", "MAG Fields/Linear", "scirepeval/scidocs_mag | f1_macro | test | SciNCL"),
    ("SM-T6", "BM25", "Patient-to-Article Retrieval/R@1K", "scimult/pmc_par | recall@1000 | test | BM25"),
    ("SM-TA4", "Search", "Vanilla (w/o Hard Negative)",
     "scimult/SM-T8 | average | test | SciMult-Vanilla (w/o Hard Negative)"),
    ("TN-T3", "ICLR", "Task II/SPECTER/MRR", "neighbours/iclr | mrr, 0 to 1 | task-II | SPECTER"),
    ("TN-T4", "ICLR", "LO-HS/SPECTER", "neighbours/iclr | aop@10 | LO-HS | SPECTER"),
    ("V2-T2", "SPECTER", "In-Train", "scirepeval/average-v2 | average | in-train | SPECTER"),
    ("V1-T2", "SPECTER", "SciDocs", "scirepeval/average-v1 | average | scidocs | SPECTER"),
    ("V2-T3", "in-train/Search", "PRX", "scirepeval/search | ndcg | test | SPECTER2 MTL CTRL as PRX"),
    ("V2-T3", "in-train/Classification", "CLF",
     "scirepeval/fos | f1_macro | test or mean of settings, not said | SPECTER2 MTL CTRL as CLF"),
    ("V2-T11", "CLF+SRCH", "Out-of-Train/SRCH",
     "scirepeval/average-v2 | average | out-of-train/QRY | SPECTER2 MTL CTRL trained on CLF+QRY"),
    ("V2-T10", "Art", "BM25/R@5", "scirepeval/mdcr | recall@5 | test/Art | BM25"),
])  # fmt: skip
def test_a_printed_number_has_our_names(exhibit_: str, line: str, column: str, score: str):
    printed = lookup(exhibit_)[line, column]
    assert (printed.task, printed.metric, printed.split, printed.system) == tuple(score.split(" | "))


def test_printed_scores_are_possible_values_of_metrics_their_tasks_have():
    for printed in lb.scores()[0]:
        task, metric = printed.task, printed.metric
        assert 0 <= printed.number <= 100, printed
        if task in TASKS and metric != "mrr, 0 to 1" and not metric.startswith("aop@"):
            kind = TASKS[task].type
            parse(metric) if kind == "facets" else check_metrics((metric,), kind)
        if metric == "mrr, 0 to 1":
            assert printed.number <= 1


# ---- rows -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "more"), [
    ("score", {}), ("score", {"metric": "recall@20_name_match"}), ("score", {"metric": "mrr, 0 to 1"}),
    ("score", {"metric": "In-Train", "task": "average/V2-T7"}), ("score", {"encoder": "a - b"}), ("score", {"source": "open"}),
    ("difference", {"encoder": "a - b", "against": "b"}), ("difference", {"metric": "difference of map", "against": "b"}),
    ("difference", {"metric": "t100, minus as they are", "against": "as they are"}), ("measurement", {"metric": "papers"}),
    ("measurement", {"metric": "In-Train"}), ("measurement", {"metric": "average (recorded)"}), ("measurement", {"encoder": ""}),
    ("measurement", {"source": "scores"}),
])  # fmt: skip
def test_scores_are_told_from_differences_and_measurements(what: str, more: dict[str, Any]):
    assert lb.what_of(result(**more)) == what


def test_what_may_not_be_compared_is_another_cell_and_a_published_collection_meets_its_print():
    for other in (
        {"task": "csfcube/method"}, {"metric": "ndcg%20"}, {"split": "dev"}, {"protocol": "sound"}, {"coverage": 0.9},
        {"source": "embedded"}, {"parameters": {"intercept": False}},
    ):  # fmt: skip
        assert row(**other).cell != row().cell
    assert row(encoder="b", kind="live", chapter="csfcube/errors", n=3).cell == row().cell
    small, large = (row(source="embedded", data_hash=h * 64) for h in "ab")
    assert small.cell != large.cell
    assert row(metric="ndcg%20").data == lb.WHOLE == row(metric="ndcg%20", data_hash="0" * 64).data
    assert row(task="sample/search", metric="ndcg").data == "ffffff"


def test_ranks_are_those_of_scipy_over_the_best_of_each_system():
    draw = np.random.default_rng(0)
    for metric, sign in (("map", 1), ("median_rank", -1)):
        rows = [
            row(metric=metric, encoder=f"s{draw.integers(12)}", value=float(draw.integers(1, 9)), kind=kind)
            for kind in ("recorded", "live") * 10
        ]
        best = {r.system: max(sign * o.value for o in rows if o.system == r.system) for r in rows}
        of_best = dict(zip(best, rankdata([-v for v in best.values()], method="min"), strict=True))
        ranked = {one.system: (sign * one.value, rank) for one, rank in zip(rows, lb.ranks(rows), strict=True) if rank}
        assert ranked == {system: (best[system], rank) for system, rank in of_best.items()}
        assert sum(rank is not None for rank in lb.ranks(rows)) == len(best), "a system has one rank"
    bounds = [row(encoder="oracle", value=99.0), row(value=50.0), row(encoder="random", value=1.0)]
    assert lb.ranks(bounds) == [None, 1, None]
    assert lb.ranks([row(metric="aop@10"), row(metric="aop@10", encoder="b")]) == [None, None]
    same = [row(value=50.0000001), row(value=50.0, encoder="b")]
    assert lb.ranks(same) == [1, 1], "beyond six digits it is the same number"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    results, executed = tmp_path / "results", tmp_path / "runs"

    def put(path: Path, *rows: Result) -> None:
        write_text(path, "".join(json.dumps(one.to_json()) + "\n" for one in rows))

    several = result(), result(source="print", metric="sum", encoder=""), result()
    put(results / "real" / "csfcube" / "baselines.jsonl", *several)
    put(results / "real" / "csfcube" / "errors.jsonl", result(chapter="csfcube/errors", low=39.0))
    put(results / "submitted" / "me.jsonl", result(chapter="submitted/me", encoder="mine", value=55.0, high=70.0))
    for name in ("csfcube/baselines", "beyond/leaderboard", ".ready/old"):
        put(executed / "embedded" / f"{name}.data" / "rows.jsonl", result(source="embedded", chapter=name, kind="live"))
    put(executed / "real" / "csfcube" / "baselines.data" / "rows.jsonl", result(encoder="of the other profile"))
    shown = replace(result(), kind="recorded").id
    page = json.dumps({"cells": [{"outputs": [{"data": {"text/html": [f'<th id="{anchor(shown)}">']}}]}]})
    write_text(executed / "embedded" / "csfcube" / "baselines.ipynb", page)
    write_text(executed / "embedded" / "beyond" / "leaderboard.ipynb", page)
    return results, executed


def test_all_rows_of_the_profile_are_collected_once(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    board = lb.collect("embedded", *places)
    own = [r for r in board.rows if r.kind != "published"]
    assert sorted((r.kind, r.what, r.source, r.chapter) for r in own) == [
        ("live", "score", "embedded", "csfcube/baselines"),
        ("recorded", "repeat", "real", "csfcube/errors"),
        ("recorded", "score", "real", "csfcube/baselines"),
        ("submitted", "score", "real", "submitted/me"),
    ]
    assert board.left[lb.ARITHMETIC] == 1 and board.left[lb.TWICE] == 1
    assert len(board.rows) + sum(board.left.values()) == len(everything()) + 4 + 2
    assert [r.page for r in own if r.kind == "recorded" and r.what == "score"] == ["csfcube/baselines"]
    assert {r.page for r in own if r.kind == "submitted"} == {""}
    assert lb.collect("real", *places).rows != board.rows and lb.collect("embedded", *places) == board
    with pytest.raises(ConfigError, match=r"data = 'mine'.*did you mean|data = 'mine'.*Valid: embedded, real"):
        lb.collect("mine", *places)
    monkeypatch.setenv("SCIREP_RUNS", str(places[1]))
    assert lb.runs() == places[1]


# ---- the page -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> lb.Board:
    """What is printed, recorded and submitted in the checkout; no live rows, whatever was built here before."""
    return lb.collect("embedded", executed=tmp_path_factory.mktemp("none"))


def named(one: lb.Row) -> lb.Row:
    """A changed row under the id that it has now."""
    parts = (one.kind, one.chapter, one.task, one.system, one.metric, one.split, one.protocol)
    return one._replace(id=":".join(parts))


@pytest.fixture(scope="module")
def rows(board: lb.Board) -> list[lb.Row]:
    """Some hundred rows of every sort, three of them with a hostile name, in the order of the leaderboard."""
    drawn = random.Random(0).sample([r for r in board.rows if r.what != "score"], 60)
    tasks = ("csfcube/all", "sample/search", "scirepeval/average-v2")
    ranked = [r for r in board.rows if r.task in tasks and r.what == "score"]
    csf = [r for r in ranked if r.task == "csfcube/all"]
    other: dict[str, Any] = {"kind": "live", "source": "embedded", "data": "abcdef", "page": "", "printed": ""}
    live = [named(r._replace(**other, low=None, high=None, value=r.value / 2)) for r in csf[:40]]
    hostile = [named(r._replace(system=HOSTILE, note=HOSTILE, kind="live")) for r in csf[:3]]
    return sorted({*drawn, *ranked, *live, *hostile}, key=lb._order)


@pytest.fixture(scope="module")
def view(rows: list[lb.Row]) -> dict[str, Any]:
    return leaderboard_data(rows)


def test_the_page_holds_every_row_to_six_digits(rows: list[lb.Row], view: dict[str, Any]):
    packed = json.loads(zlib.decompress(base64.b64decode(view["packed"])))
    assert view["rows"] == len(rows) and len(packed["value"]) == len(rows)
    for i, one in enumerate(rows):
        for name, codes in packed["codes"].items():
            assert packed["texts"][name][codes[i]] == getattr(one, name)
        assert packed["value"][i] == (one.printed or pytest.approx(one.value, rel=5e-6))
        assert packed["low"][i] == (None if one.low is None else pytest.approx(one.low, rel=5e-6))
    assert all(rows[int(at)].id == known for at, known in packed["ids"].items())
    assert {one.id for one in rows if one.kind == "published"} <= set(packed["ids"].values())
    assert leaderboard_data(rows) == view, "equal rows give equal bytes"


def test_all_rows_of_a_whole_book_fit_a_page(board: lb.Board):
    """As many live rows as there may be one day: the recorded ones again, with other numbers."""
    draw = random.Random(0)
    changed = [r for r in board.rows if r.kind == "recorded"]
    more = [named(r._replace(kind="live", value=draw.random(), low=draw.random(), data="abcdef")) for r in changed]
    whole = [*board.rows, *more, *more][:36_000]
    explorer = LeaderboardExplorer(leaderboard_data(whole))
    assert len(whole) > 35_000 and len(json.dumps(explorer.data)) < 0.7 * MAX_STATE
    with pytest.raises(ConfigError, match=r"over the cap of 1,000 bytes"):
        leaderboard_data(board.rows[:100], cap=1000)
    with pytest.raises(ConfigError, match="has no rows"):
        leaderboard_data([])


def test_a_wrong_selection_is_refused_with_the_nearest(view: dict[str, Any]):
    for wanted, says in (
        ({"taks": "x"}, "unknown key 'taks'; did you mean 'task'"),
        ({"task": "csfcube/al"}, "task 'csfcube/al'; did you mean 'csfcube/all'"),
        ({"sort": "values"}, "did you mean 'value'"),
        ({"kind": "recorded,mine"}, "kind 'recorded,mine'; comma-separated of published"),
        ({"page": 0}, "pages count from 1"),
        ({"q": "x" * 201}, "201 characters"),
        ({"metric": 3}, "must be text"),
    ):
        with pytest.raises(ConfigError, match=re.escape(says)):
            LeaderboardExplorer(view, **wanted)
    explorer = LeaderboardExplorer(view, task="csfcube/all")
    explorer.selection = {"q": "bm25"}
    assert explorer.selection == {**START, "task": "csfcube/all", "q": "bm25"}
    heads = re.findall(r"(\w+): \"", re.search(r"HEADS = \{(.*?)\};", ESM, re.DOTALL)[1])  # type: ignore[index]
    assert set(heads) == set(SORTS)


def test_a_system_is_ranked_once_under_one_name_in_the_widest_ranking_of_a_task_and_source(board: lb.Board):
    scores = [r for r in board.rows if r.task == "csfcube/all" and r.metric == "ndcg%20" and r.protocol == "paper"]
    assert not {r.system for r in scores} & {"tfidf", "bm25", "minilm"}
    for name in ("fabs_tfidf", "minilm_abstract"):  # recorded by csfcube/baselines and scirepeval/aspects
        whats = [r.what for r in scores if (r.system, r.kind, r.split) == (name, "recorded", "test")]
        assert whats.count("score") == 1 and whats.count("repeat") == len(whats) - 1 >= 1
    assert row(encoder="minilm", task="sample/fos").system == "minilm"
    cell = lb.rankings(board, ["csfcube/all"])[0]
    first = [r for r in lb.cells(board.rows)[cell] if r.what == "score"]
    values = [r.value for r in first]
    assert values == sorted(values, reverse=True) and {"published", "recorded"} <= {r.kind for r in first}
    assert [c.source for c in lb.rankings(board, ["csfcube/all", "open/cite"])] == ["real", "open"]
    with pytest.raises(ConfigError, match=r"no scores of 'csfcube/al'; did you mean 'csfcube/all'"):
        lb.rankings(board, ["csfcube/al"])
    assert all(getattr(o, "seconds", None) is None for o in board.origins.values())


def test_a_ranking_is_in_order_though_two_papers_studies_have_its_rows(board: lb.Board):
    papers: dict[lb.Cell, set[str]] = {}
    for one in board.rows:
        papers.setdefault(one.cell, set()).add(one.paper)
    both = [cell for cell, of in papers.items() if len(of) > 1]
    assert both, "no ranking has rows of two papers' studies"
    for cell, of in lb.cells(r for r in board.rows if r.what == "score" and r.cell in both).items():
        values = [lb.direction(cell.metric) * lb.shortened(r.value) for r in of]
        assert values == sorted(values, reverse=True), cell


# ---- browser --------------------------------------------------------------------------------------------------------


def harness(folder: Path, view: dict[str, Any], theme: str = "", width: int = 1000, **chosen: Any) -> str:
    plain = fallback(view, ["<table><tr><td>plain</td></tr></table>"])
    return panel.page(folder, LeaderboardExplorer(view, **chosen), theme, width, plain)


def opened(browser: Browser, address: str, **more: Any) -> Any:
    page = browser.open(address, **more)
    page.wait_for_selector(".lbx[data-ready]")
    page.click(".lbx-more summary")
    return page


def each(page: Any, selector: str, what: str) -> list[Any]:
    """Return an expression of every element of the page that a selector finds."""
    return page.evaluate(f"[...document.querySelectorAll({selector!r})].map((one) => {what})")


def shown(page: Any) -> list[str]:
    return each(page, ".lbx tr[data-id]", "one.dataset.id")


def state(page: Any) -> int:
    return int(page.inner_text(".lbx-state").split()[0].replace(",", ""))


def wanted(rows: list[lb.Row], **given: str) -> list[lb.Row]:
    """What Python says a selection shows, in the order of the leaderboard."""
    words = given.pop("q", "").lower().split()
    searched = ("system", "task", "metric", "split", "protocol", "source", "data", "chapter", "kind", "paper", "note")
    found = [
        one for one in rows
        if all(getattr(one, name) in value.split(",") for name, value in given.items() if value)
        and all(any(word in getattr(one, name).lower() for name in searched) for word in words)
    ]  # fmt: skip
    place = {cell: at for at, cell in enumerate(lb.cells(rows))}  # a score's repeats stand beside it
    return sorted(found, key=lambda one: place[one.cell])


def ranked(rows: Iterable[lb.Row]) -> dict[int, int | None]:
    """Return id(row) -> its rank in its cell."""
    cells = lb.cells(rows).values()
    return {id(one): place for members in cells for one, place in zip(members, lb.ranks(members), strict=True)}


def ids(rows: list[lb.Row]) -> list[str]:
    return [one.id for one in rows[:PAGE]]


def test_a_number_leads_to_its_origin_where_a_page_of_the_book_shows_it(tmp_path: Path, browser: Browser):
    there = lb.ours(replace(result(encoder="a++b", metric="ndcg%20"), kind="recorded"), {})
    there = there._replace(page="csfcube/baselines")
    view = leaderboard_data([there, there._replace(page="", system="other")])
    page = opened(browser, harness(tmp_path, view, 'light" data-content_root="../'))
    links = each(page, ".lbx a", "one.getAttribute('href')")
    assert links == [f"../csfcube/baselines.html#{anchor(there.id)}"] and "plusplus" in links[0]
    alone = opened(browser, harness(tmp_path, view))
    assert alone.query_selector(".lbx a") is None, "outside of the book there is no page to lead to"
    assert each(alone, ".lbx td.lbx-c-chapter span", "one.title")[0] == there.id, "the id for `scirep explain`"


def test_filters_show_what_python_finds(rows, view, tmp_path, browser):
    page = opened(browser, harness(tmp_path, view))
    assert page.evaluate("document.querySelector('.lbx-fallback').open") is False
    assert state(page) == len(wanted(rows, what="score")) and shown(page) == ids(wanted(rows, what="score"))
    given: dict[str, str] = {"what": "score"}
    for name, value in (
        ("paper", "csfcube"), ("format", "PRX"), ("task", "csfcube/all"), ("metric", "ndcg%20"), ("protocol", "paper"),
        ("source", "real"),
    ):  # fmt: skip
        page.select_option(f".lbx-of-{name} select", value)
        given[name] = value
        assert shown(page) == ids(wanted(rows, **given)) and state(page) == len(wanted(rows, **given)), given
    page.uncheck(".lbx-kind[data-kind=recorded] input")
    assert shown(page) == ids(wanted(rows, **given, kind="published,submitted,live"))
    page.click(".lbx-clear")
    page.select_option(".lbx-of-what select", "")
    assert state(page) == len(rows)
    page.select_option(".lbx-of-paper select", "scirepeval")
    assert set(each(page, ".lbx-of-task option", "one.value")) == {
        "",
        *(r.task for r in rows if r.paper == "scirepeval"),
    }
    page.select_option(".lbx-of-task select", "scirepeval/average-v2")
    page.select_option(".lbx-of-paper select", "csfcube")
    assert page.input_value(".lbx-of-task select") == "", "a task of another paper is let go"


def found(page: Any, words: str) -> None:
    page.fill(".lbx-of-q input", words)
    page.wait_for_timeout(100)


def test_search_finds_what_has_all_words_and_says_what_the_filters_leave_out(rows, view, tmp_path, browser):
    page = opened(browser, harness(tmp_path, view, what=""))
    for words in ("bm25", "MINILM ndcg%20 sound", "specter published", "no such thing", "onerror"):
        found(page, words)
        expected = wanted(rows, q=words)
        assert shown(page) == ids(expected)
        assert state(page) == len(expected) if expected else "No row has all this" in page.inner_text(".lbx-scroll")
    assert page.evaluate("window.pwned") is None
    page = opened(browser, harness(tmp_path, view, task="sample/search"))
    found(page, "tfidf")
    left, told = len(wanted(rows, q="tfidf")) - state(page), page.inner_text(".lbx-state")
    assert left > 1 and f" {left:,} more rows hold these words and are left out by the filters." in told
    found(page, "")
    assert "left out" not in page.inner_text(".lbx-state")


def test_ranks_and_orders_by_value_stay_within_a_cell(rows, view, tmp_path, browser):
    page = opened(browser, harness(tmp_path, view, task="csfcube/all"))
    scores, rank = wanted(rows, what="score", task="csfcube/all"), ranked(r for r in rows if r.what == "score")
    told = each(page, ".lbx tr[data-id] .lbx-c-rank", "one.firstChild.textContent")
    for text, one in zip(told, scores[:PAGE], strict=True):
        assert text == (str(rank[id(one)]) if rank[id(one)] else lb.BOUNDS.get(one.system, "–")), one
    assert len(each(page, ".lbx-cell", "1")) == len(lb.cells(scores[:PAGE])), "each cell says its name"
    for sort, sign in (("ascending", 1), ("descending", -1)):
        page.click("th.lbx-c-value button")
        assert page.get_attribute("th.lbx-c-value", "aria-sort") == sort
        members = [sorted(cell, key=lambda r, s=sign: s * lb.shortened(r.value)) for cell in lb.cells(scores).values()]
        assert shown(page) == ids([one for cell in members for one in cell])
    page.select_option(".lbx-of-sort select", "n")
    counts = each(page, ".lbx tr[data-id] .lbx-c-n", "Number(one.textContent.replaceAll(',', '')) || -1")
    assert counts == sorted(r.n or -1 for r in scores)[:PAGE] and page.query_selector(".lbx-cell") is None
    page.select_option(".lbx-of-sort select", "-system")
    assert shown(page) == ids(sorted(scores, key=lambda r: r.system.lower(), reverse=True))


def test_live_has_one_colour_in_tables_and_here():
    book = (lb.ROOT / "book" / "_static" / "book.css").read_text(encoding="utf-8")
    light, dark = dict.fromkeys(re.findall(r"--scirep-live: (#\w+)", book))
    assert f"--lbx-live: var(--scirep-live, light-dark({light}, {dark}));" in LeaderboardExplorer._css
    assert '.lbx-badge[data-kind="live"] { background: var(--lbx-live);' in LeaderboardExplorer._css


def test_a_shared_link_restores_the_view(view, tmp_path, browser):
    address = harness(tmp_path, view, task="sample/search")
    page = opened(browser, address)
    page.click(".lbx-clear")
    page.select_option(".lbx-of-paper select", "csfcube")
    page.fill(".lbx-of-q input", "fabs & 100%")
    page.fill(".lbx-of-q input", "fabs")
    page.uncheck(".lbx-kind[data-kind=live] input")
    page.select_option(".lbx-of-sort select", "-system")
    page.click(".lbx-share")
    page.wait_for_timeout(300)
    link = page.input_value(".lbx-link")
    assert link == page.evaluate("location.href") and "task" not in link.split("#")[1]
    assert page.evaluate("fake.get('selection')")["q"] == "fabs"
    again = opened(browser, link)
    assert shown(again) == shown(page) and again.inner_text(".lbx-scroll") == page.inner_text(".lbx-scroll")
    assert again.input_value(".lbx-of-paper select") == "csfcube"
    assert not again.is_checked(".lbx-kind[data-kind=live] input")
    for wrong in ("leaderboard?task=none", "leaderboard?sort=nothing", "leaderboard?kind=mine", "other", "leaderboard?what=x",
                  "leaderboard?what=toString", "leaderboard?sort=constructor"):  # fmt: skip
        other = opened(browser, f"{address}#{wrong}")
        assert other.input_value(".lbx-of-task select") == "sample/search", (
            "what this page does not have changes nothing"
        )


def downloaded(page: Any, button: str) -> bytes:
    with page.expect_download() as started:
        page.click(button)
    return Path(started.value.path()).read_bytes()


def test_csv_and_json_hold_the_rows_that_are_shown(rows, view, tmp_path, browser):
    page = opened(browser, harness(tmp_path, view, what="", q="e"))
    expected, rank = wanted(rows, q="e"), ranked(rows)
    table = list(csv.DictReader(io.StringIO(downloaded(page, ".lbx-csv").decode())))
    objects = json.loads(downloaded(page, ".lbx-json"))
    assert len(table) == len(objects) == len(expected) == state(page) > PAGE
    texts = ("kind", "what", "paper", "format", "task", "metric", "split", "protocol", "source", "data", "system", "std", "chapter",
             "page", "note", "id")  # fmt: skip
    for line, given, one in zip(table, objects, expected, strict=True):
        for name in texts:
            assert line[name] == given.get(name, "") == getattr(one, name), name
        value = pytest.approx(one.value, rel=5e-6)
        assert line["value"] == one.printed or float(line["value"]) == given["value"] == value
        for name in ("low", "high", "n"):
            mine = getattr(one, name)
            assert given.get(name) == (None if mine is None else pytest.approx(mine, rel=5e-6))
            assert (line[name] == "") == (mine is None)
        assert given.get("rank") == rank[id(one)] and line["rank"] == str(given.get("rank", ""))


def test_result_files_have_mtebs_shape_and_our_scores(rows, view, tmp_path, browser):
    page = opened(browser, harness(tmp_path, view, source="real"))
    archive = zipfile.ZipFile(io.BytesIO(downloaded(page, ".lbx-mteb")))
    assert archive.testzip() is None
    scores = wanted(rows, what="score", source="real")
    expected = [r for r in scores if lb.direction(r.metric) == 1 and r.metric != "mrr, 0 to 1"]
    files = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    tasks = {name: file for name, file in files.items() if not name.endswith("/model_meta.json")}
    assert len({(r.kind, r.system, r.task, r.protocol, r.data, r.chapter) for r in expected}) == len(tasks)
    keys = {"dataset_revision", "task_name", "mteb_version", "scores", "evaluation_time", "kg_co2_emissions"}
    for name, file in tasks.items():
        assert re.fullmatch(r"results/[\w.+-]+__[\w.+-]+/[\w.+-]+/[\w.+-]+\.json", name), name
        meta = files[f"{name.rpartition('/')[0]}/model_meta.json"]
        assert "/" in meta["name"] and meta["revision"] == name.split("/")[2] and set(file) == keys
        for split, entries in file["scores"].items():
            assert "/" not in split
            for entry in entries:
                assert isinstance(entry["hf_subset"], str) and entry["languages"] == ["eng-Latn"]
                assert 0 <= entry["main_score"] <= 1
    one = next(r for r in expected if (r.system, r.metric, r.kind) == ("fabs_bm25", "ndcg%20", "published"))
    found = files["results/published__fabs_bm25/real-as_published-paper-CS-T3/csfcube_all.json"]["scores"]["test"][0]
    assert found["ndcg_at_percent_20"] == found["main_score"] == pytest.approx(one.value / 100) and "p_at_20" in found


def test_the_keyboard_does_all_of_it(view, tmp_path, browser):
    page = opened(browser, harness(tmp_path, view))
    page.focus(".lbx-scroll")
    first = shown(page)
    page.keyboard.press("]")
    assert shown(page) != first and "page 2" in page.inner_text(".lbx-turns")
    page.keyboard.press("[")
    assert shown(page) == first
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("oracle]")
    assert page.input_value(".lbx-of-q input") == "oracle]", "in the search field ] is a letter"
    page.keyboard.press("Backspace")
    page.wait_for_timeout(100)
    assert shown(page) and all(":oracle:" in name for name in shown(page))
    page.keyboard.press("Escape")
    page.wait_for_timeout(100)
    assert shown(page) == first and page.input_value(".lbx-of-q input") == ""
    page.focus("th.lbx-c-value button")
    page.keyboard.press("Enter")
    assert page.get_attribute("th.lbx-c-value", "aria-sort") == "ascending"
    focused = page.evaluate("document.activeElement.closest('th')?.className")
    assert focused == "lbx-c-value", "the focus stays on the column"


def test_text_is_legible_and_only_the_table_scrolls_sideways(view, tmp_path, browser):
    page = opened(browser, harness(tmp_path, view))
    for sort in ("rank", "task"):
        page.select_option(".lbx-of-sort select", sort)
        for mode, found in panel.modes(page, "lbx"):
            assert found["low"] == [] and found["seen"] > 300, (sort, mode)
        page.emulate_media(media="screen")
    small = opened(browser, harness(tmp_path, view, "dark", 374), width=390)
    for sort in ("rank", "task"):
        small.select_option(".lbx-of-sort select", sort)
        assert small.evaluate("document.documentElement.scrollWidth <= innerWidth")
        scrolled = (
            "(() => { const s = document.querySelector('.lbx-scroll'); return s.scrollWidth > s.clientWidth; })()"
        )
        assert small.evaluate(scrolled)
    tree = small.context.new_cdp_session(small).send("Accessibility.getFullAXTree")["nodes"]
    named = [(n.get("role", {}).get("value"), n.get("name", {}).get("value", "")) for n in tree]
    nameless = [role for role, name in named if not name.strip()]
    assert not {"combobox", "button", "searchbox", "checkbox"} & set(nameless)


def test_a_keystroke_draws_as_much_however_many_rows_there_are(board: lb.Board, tmp_path: Path, browser: Browser):
    """With as many rows as a book may come to hold, and with a third of them."""
    more = [r._replace(kind="live", data="abcdef") for r in board.rows if r.kind == "recorded"]
    whole = sorted([*board.rows, *more, *more], key=lb._order)[:36_000]
    added = {}
    for name, rows in (("third", whole[::3]), ("whole", whole)):
        (tmp_path / name).mkdir()
        page = opened(browser, harness(tmp_path / name, leaderboard_data(rows), what=""))
        added[name] = page.evaluate(
            """() => {
              const box = document.querySelector(".lbx-of-q input");
              let added = 0;
              const size = (node) => 1 + [...node.childNodes].reduce((sum, child) => sum + size(child), 0);
              new MutationObserver((found) => found.forEach((one) => one.addedNodes.forEach((node) => added += size(node))))
                .observe(document.body, { childList: true, subtree: true });
              const drawn = (text) => new Promise((done) => {
                added = 0;
                box.value = text;
                box.dispatchEvent(new Event("input"));
                requestAnimationFrame(() => setTimeout(() => done(added), 0));
              });
              return ["m", "mi", "min", "mini", "mini n", "e", "a"].reduce(
                async (all, text) => [...await all, await drawn(text)], Promise.resolve([]));
            }"""
        )
    assert 0 < max(added["whole"]) < 1.2 * max(added["third"]), added
