"""The score explorer: its data, its plain-HTML twin, and its behaviour in a browser from disk without network."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import panel
import pytest
from panel import HOSTILE, selection

from scirep_core.page.rows import Exhibit
from scirep_core.page.widgets.scores import Run, ScoreExplorer, explore, score_data
from scirep_core.results import Result
from scirep_core.results.differences import difference_of, versus

LABELS = {"tfidf": "TF-IDF", "minilm": "MiniLM"}
SCORES = {  # task: (metric, split), then value of random, tfidf, minilm, mine
    "sample/fos": (("f1_macro", "test"), (5.0, 40.0, 46.0, 30.0)),
    "sample/search": (("ndcg", "test"), (60.0, 72.0, 71.5, 90.0)),
    "sample/pub_year": (("kendall_tau", "test"), (0.0, 25.0, 31.0, 28.0)),
    "scirepeval/drsm": (("f1_macro", "64-shot"), (10.0, 50.0, 44.0, None)),
}
SYSTEMS = ("random", "tfidf", "minilm", HOSTILE)


def scores(protocol: str = "paper") -> list[Result]:
    return [
        Result(task, split, metric, protocol, value, 50, name, value - 3, value + 3)
        for task, ((metric, split), values) in SCORES.items()
        for name, value in zip(SYSTEMS, values, strict=True)
        if value is not None
    ]


def gaps(protocol: str = "paper") -> list[Result]:
    """Differences of MiniLM with half-width 2, in the given order; of TF-IDF and random the other way round."""
    by = {(r.task, r.encoder): r for r in scores(protocol)}
    made = []
    for first, second in (("minilm", "tfidf"), ("tfidf", "random")):
        for task in SCORES:
            a, b = by[task, first], by[task, second]
            d = a.value - b.value
            names = {"metric": difference_of(a.metric), "encoder": versus(first, second), "against": second}
            made.append(replace(a, value=d, low=d - 2, high=d + 1.5, **names))
    return made


def runs() -> list[Run]:
    both = scores() + [r for r in scores("sound") if r.task != "sample/fos"]
    live = [r for r in scores() if r.encoder in ("tfidf", "minilm")]
    return [Run("recorded", "Real samples", "Recorded runs.", both, gaps()),
            Run("live", "This build", f"Invented. {HOSTILE}", live, []), Run("none", "Nothing", "", [], [])]  # fmt: skip


@pytest.fixture(scope="module")
def view() -> dict[str, Any]:
    return score_data(runs(), LABELS)


def test_scores_and_differences_are_kept_as_they_were_recorded(view):
    assert [name for name, _ in view["systems"]] == list(SYSTEMS) and view["systems"][1][1] == "TF-IDF"
    assert [key for key, _, _ in view["runs"]] == ["recorded", "live"], "a run without scores is left out"
    fos = view["rows"][0]
    assert (fos["title"], fos["format"], fos["n"]) == ("Fields of study (FoS) (sample)", "CLF", 50)
    assert fos["scores"]["minilm"] == [46.0, 43.0, 49.0]
    assert fos["gaps"] == {"1|2": [-6.0, -7.5, -4.0], "0|1": [-35.0, -36.5, -33.0]}, "kept once, first system first"
    assert HOSTILE not in next(r for r in view["rows"] if r["task"] == "scirepeval/drsm")["scores"]


KEPT, TWO = runs()[0], "a comparison needs two"
LOST = [row for row in scores() if (row.task, row.encoder) != ("sample/fos", "minilm")]
REFUSED = [
    (lambda: score_data([KEPT._replace(scores=[r for r in scores() if r.encoder == "tfidf"], gaps=[])]), TWO),
    (lambda: score_data([]), TWO), (lambda: score_data([KEPT, KEPT]), "'recorded' is given twice"),
    (lambda: score_data([KEPT._replace(scores=scores() * 2, gaps=[])]), "two scores of random on sample/fos"),
    (lambda: score_data([KEPT._replace(scores=LOST)]), "a difference of minilm and tfidf on sample/fos, but not both"),
]  # fmt: skip


def test_it_opens_where_most_differences_are_and_not_at_a_floor():
    kept = KEPT
    sound = [*gaps()[:1], *(gap for gap in gaps("sound")[:4] if gap.task != "sample/fos")]
    live = kept._replace(key="first", scores=[row for row in scores() if row.encoder in ("minilm", HOSTILE)], gaps=[])
    for runs_, first, second, protocol in (
        (runs(), "tfidf", "minilm", "paper"),  # TF-IDF and the floor have as many
        ([kept._replace(gaps=[])], "tfidf", "minilm", "paper"), ([kept._replace(gaps=sound)], "tfidf", "minilm", "sound"),
        ([kept._replace(gaps=gaps()[4:])], "random", "tfidf", "paper"),  # nothing else there
        ([live, kept], "minilm", HOSTILE, "paper"),  # both scored there
    ):  # fmt: skip
        opened = ScoreExplorer(score_data(runs_)).selection
        assert ({opened["first"], opened["second"]}, opened["protocol"]) == ({first, second}, protocol)


def test_the_plain_twin_holds_every_number(view):
    html = ScoreExplorer(view).static_fallback()
    assert "46.0 (43.0 to 49.0)" in html
    assert html.count('<tr><th scope="row">') == 4 + 3 + 4 and "DRSM, 64-shot" in html and "<td>–</td>" in html


@pytest.fixture
def opened(browser, tmp_path, view):
    chosen = {"first": "minilm", "second": "tfidf"}
    return panel.opener(browser, tmp_path, lambda **others: ScoreExplorer(view, **chosen | others))


def rows(page, name):
    return page.locator(".sco tbody tr").evaluate_all("(of, name) => of.map((row) => row.dataset[name])", name)


def told(page):
    return page.locator(".sco-verdict").inner_text()


def test_choosing_two_systems_by_mouse(opened):
    page = opened()
    first, second, of = (page.get_by_label(name, exact=True) for name in ("Compare", "with", "Scores"))
    gap = page.locator("tr[data-task='sample/fos'] .sco-gap")
    assert dict(zip(rows(page, "task"), rows(page, "state"), strict=True)) == {
        "sample/fos": "ahead", "sample/search": "open", "sample/pub_year": "ahead", "scirepeval/drsm": "behind"}  # fmt: skip
    assert told(page) == (
        "MiniLM − TF-IDF, of 4 tested differences: 2 significantly above 0, 1 significantly below 0, 1 not significant. "
        "Tested one by one, without correction. Differences are taken before rounding."
    )
    assert gap.inner_text().split("\n") == ["+6.0", "+4.0 to +7.5", "higher"]
    zero, dot = (page.locator(f"tr[data-task='sample/fos'] .sco-{mark}").bounding_box() for mark in ("zero", "dot"))
    assert dot["x"] > zero["x"], "ahead is drawn to the right of zero"
    page.get_by_role("button", name="Swap").click()
    assert told(page).startswith("TF-IDF − MiniLM")
    assert gap.inner_text().split("\n") == ["−6.0", "−7.5 to −4.0", "lower"]
    second.select_option("random")
    assert told(page).startswith("TF-IDF − random, of 4 tested differences: 4 significantly above 0. ")
    first.select_option("minilm")
    said = "MiniLM − random: 4 of 4 differences are above 0 and 0 below, without a paired test."
    assert told(page) == said
    assert gap.inner_text().strip() == "+41.0"
    second.select_option("minilm")
    assert told(page) == "Choose two that differ."
    of.select_option("live")
    assert page.get_by_label("Protocol").locator("option").all_inner_texts() == ["published (no paired tests)"]
    assert "Invented." in page.locator(".sco-note").inner_text()
    assert list(selection(page).values()) == ["minilm", "minilm", "live", "paper", "task"]
    assert page.evaluate("saved") >= 1 and page.evaluate("location.hash") == "#scores=minilm,minilm,live,paper,task"


def test_a_run_offers_its_own_systems_and_says_which_protocol_has_differences(opened):
    page = opened(first="random", second=HOSTILE)
    protocols = page.get_by_label("Protocol").locator("option").all_inner_texts()
    assert protocols == ["published", "ours (no paired tests)"]
    assert page.get_by_label("Compare").locator("option").count() == len(SYSTEMS)
    page.get_by_label("Scores").select_option("live")
    assert page.get_by_label("with", exact=True).locator("option").all_inner_texts() == ["TF-IDF", "MiniLM"]
    assert [selection(page)[name] for name in ("first", "second")] == ["tfidf", "minilm"]
    assert page.locator(".sco tbody td:has-text('–')").count() == 0, "both were scored in every row"


def test_headings_sort_and_say_so(opened):
    page = opened(second=HOSTILE)
    fos, search, year, drsm = SCORES
    headings = page.locator(".sco thead button")
    assert rows(page, "task") == list(SCORES)
    for column, order in (
        (1, [search, fos, drsm, year]), (3, [fos, year, search, drsm]),  # without a number last
        (3, [search, year, fos, drsm]), (0, list(SCORES)), (0, list(SCORES)[::-1]),
    ):  # fmt: skip
        headings.nth(column).click()
        assert rows(page, "task") == order
        assert page.evaluate("document.activeElement.dataset.by") == ("task", "first", "second", "difference")[column]
        assert page.locator(".sco thead [aria-sort=ascending], .sco thead [aria-sort=descending]").count() == 1
        assert column != 1 or page.locator(".sco thead th").nth(1).get_attribute("aria-sort") == "descending"
    assert selection(page)["order"] == "-task" and HOSTILE in page.locator(".sco thead").inner_text()
    assert page.evaluate("window.pwned") is None and page.locator(".sco img, .sco b").count() == 0


def test_two_systems_of_an_exhibit_are_explored_by_what_papers_their_numbers_are_of(monkeypatch):
    shown, twins = [], []
    monkeypatch.setattr("IPython.display.display", shown.append)
    chapter = SimpleNamespace(show=twins.append)
    cells = {(r.encoder, r.task): r for r in scores() if r.encoder != HOSTILE}
    quoted = {(name, task): replace(cells["tfidf", task], value=value, low=None, high=None)
              for task in SCORES for name, value in (("TFIDF (printed)", 50.0), ("SPECTER", 60.0))}  # fmt: skip
    apart = {(gap.encoder, gap.task): gap for gap in gaps()}
    labels = LABELS | {"TFIDF (printed)": "TF-IDF", "random": "a random\norder", "sample/search": "search & rank"}
    explore(chapter, Exhibit(quoted, {"real papers": cells}), gaps=Exhibit(ours={"real papers": apart}), labels=labels)
    view = json.loads(shown[0].data)
    assert [key for key, *_ in view["runs"]] == ["printed", "real papers"] and view["runs"][1][1] == "Ours, real papers"
    assert [name for name, _ in view["systems"]] == ["TF-IDF", "SPECTER", "a random order", "MiniLM"], "alike is one"
    assert {row["title"] for row in view["rows"]} == {*SCORES} - {"sample/search"} | {"search & rank"}, "text, not HTML"
    fos = {row["run"]: row for row in view["rows"] if row["task"] == "sample/fos"}
    assert fos["printed"]["scores"] == {"TF-IDF": [50.0, None, None], "SPECTER": [60.0, None, None]}
    gaps_ = {"0|3": [-6.0, -7.5, -4.0], "0|2": [35.0, 33.0, 36.5]}
    assert fos["real papers"]["gaps"] == gaps_, "the first system first"
    assert view["opens"]["real papers"] == ["TF-IDF", "MiniLM", "paper"], "not a floor"
    assert "TF-IDF" in twins[0] and "protocol" not in twins[0]
    explore(chapter, Exhibit({}, {"real papers": {key: row for key, row in cells.items() if key[0] == "tfidf"}}))
    assert len(shown) == 1, "one system is no comparison"
