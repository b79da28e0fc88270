"""The score explorer: its data, its plain-HTML twin, and its behaviour in a browser from disk without network."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import panel
import pytest
from panel import Browser

from scirep_core.kit.errors import ConfigError
from scirep_core.page.widgets.common import encode
from scirep_core.page.widgets.scores import Run, ScoreExplorer, score_data
from scirep_core.results import Result
from scirep_core.results.differences import difference_of, versus

HOSTILE = '</SCRIPT><img src=x onerror="window.pwned=1"><b>bold & "quoted"</b>'
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
    return [
        Run("recorded", "Real samples", "Recorded runs.", both, gaps()),
        Run(
            "live", "This build", f"Invented. {HOSTILE}", [r for r in scores() if r.encoder in ("tfidf", "minilm")], []
        ),
        Run("none", "Nothing", "", [], []),
    ]


@pytest.fixture(scope="module")
def view() -> dict[str, Any]:
    return score_data(runs(), LABELS)


# ---- the data -------------------------------------------------------------------------------------------------------


def test_scores_and_differences_are_kept_as_they_were_recorded(view: dict[str, Any]) -> None:
    assert [name for name, _ in view["systems"]] == list(SYSTEMS) and view["systems"][1][1] == "TF-IDF"
    assert [key for key, _, _ in view["runs"]] == ["recorded", "live"], "a run without scores is left out"
    fos = view["rows"][0]
    assert (fos["title"], fos["format"], fos["n"]) == ("Fields of study (FoS) (sample)", "CLF", 50)
    assert fos["scores"]["minilm"] == [46.0, 43.0, 49.0]
    assert fos["gaps"] == {"1|2": [-6.0, -7.5, -4.0], "0|1": [-35.0, -36.5, -33.0]}, "kept once, first system first"
    assert json.loads(encode(view)) == json.loads(json.dumps(view, allow_nan=False))
    assert HOSTILE not in next(r for r in view["rows"] if r["task"] == "scirepeval/drsm")["scores"]


def test_what_cannot_be_compared_is_refused() -> None:
    kept = runs()[0]
    with pytest.raises(ConfigError, match="a comparison needs two"):
        score_data([kept._replace(scores=[r for r in scores() if r.encoder == "tfidf"], gaps=[])])
    with pytest.raises(ConfigError, match="a comparison needs two"):
        score_data([])
    with pytest.raises(ConfigError, match="'recorded' is given twice"):
        score_data([kept, kept])
    with pytest.raises(ConfigError, match="two scores of random on sample/fos"):
        score_data([kept._replace(scores=scores() * 2, gaps=[])])
    lost = [row for row in scores() if (row.task, row.encoder) != ("sample/fos", "minilm")]
    with pytest.raises(ConfigError, match="a difference of minilm and tfidf on sample/fos, but not both"):
        score_data([kept._replace(scores=lost)])


def test_selection_follows_python(view: dict[str, Any]) -> None:
    widget = ScoreExplorer(view, first="minilm", second="tfidf")
    start = {"first": "minilm", "second": "tfidf", "run": "recorded", "protocol": "paper", "order": "task"}
    assert widget.selection == start
    widget.selection = {"protocol": "sound", "order": "-difference"}
    widget.selection = {"run": "live"}
    assert widget.selection == start | {"run": "live", "order": "-difference"}, "live rows have protocol paper only"


def test_it_opens_where_most_differences_are_and_not_at_a_floor(view: dict[str, Any]) -> None:
    start = {"first": "tfidf", "second": "minilm", "run": "recorded", "protocol": "paper", "order": "task"}
    assert ScoreExplorer(view).selection == start, "TF-IDF and the floor have as many"
    kept = runs()[0]
    none = score_data([kept._replace(gaps=[])])
    assert (ScoreExplorer(none).selection["first"], ScoreExplorer(none).selection["second"]) == ("tfidf", "minilm"), (
        "2 of 4 scores higher, 2 lower: no pair is closer"
    )
    sound = [*gaps()[:1], *(gap for gap in gaps("sound")[:4] if gap.task != "sample/fos")]
    assert ScoreExplorer(score_data([kept._replace(gaps=sound)])).selection["protocol"] == "sound"
    floor = score_data([kept._replace(gaps=gaps()[4:])])
    assert {ScoreExplorer(floor).selection[name] for name in ("first", "second")} == {"random", "tfidf"}, (
        "nothing else there"
    )
    live = [row for row in scores() if row.encoder in ("minilm", HOSTILE)]
    first = score_data([kept._replace(key="first", scores=live, gaps=[]), kept])
    assert {ScoreExplorer(first).selection[name] for name in ("first", "second")} == {"minilm", HOSTILE}, (
        "both scored there"
    )


def test_the_plain_twin_holds_every_number(view: dict[str, Any]) -> None:
    html = ScoreExplorer(view).static_fallback()
    assert "46.0 (43.0 to 49.0)" in html
    assert html.count('<tr><th scope="row">') == 4 + 3 + 4 and "DRSM, 64-shot" in html and "<td>–</td>" in html


# ---- in the browser -------------------------------------------------------------------------------------------------


def harness(folder: Path, view: dict[str, Any], **chosen: str) -> str:
    return panel.page(folder, ScoreExplorer(view, **{"first": "minilm", "second": "tfidf"} | chosen))


def tasks(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.sco tbody tr')].map((row) => row.dataset.task)")


def states(page: Any) -> dict[str, str]:
    rows = "[...document.querySelectorAll('.sco tbody tr')].map((row) => [row.dataset.task, row.dataset.state])"
    return dict(page.evaluate(rows))


def told(page: Any) -> str:
    return page.locator(".sco-verdict").inner_text()


def test_choosing_two_systems_by_mouse(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view))
    assert states(page) == {
        "sample/fos": "ahead",
        "sample/search": "open",
        "sample/pub_year": "ahead",
        "scirepeval/drsm": "behind",
    }
    assert told(page) == (
        "MiniLM − TF-IDF: the interval lies above 0 on 2 of 4 scores, below 0 on 1; 1 has no significant difference. "
        "Differences are taken before rounding."
    )
    cell = page.locator("tr[data-task='sample/fos'] .sco-gap").inner_text().split("\n")
    assert cell == ["+6.0", "+4.0 to +7.5", "ahead"]
    page.get_by_role("button", name="Swap").click()
    assert states(page)["sample/fos"] == "behind" and told(page).startswith("TF-IDF − MiniLM")
    cell = page.locator("tr[data-task='sample/fos'] .sco-gap").inner_text().split("\n")
    assert cell == ["−6.0", "−7.5 to −4.0", "behind"]
    page.get_by_label("Second system").select_option("random")
    assert told(page).startswith("TF-IDF − random: the interval lies above 0 on 4 of 4")
    page.get_by_label("First system").select_option("minilm")
    assert told(page) == "MiniLM is higher on 4 of 4 scores, lower on 0; no paired difference of the two was recorded."
    assert page.locator("tr[data-task='sample/fos'] .sco-gap").inner_text().startswith("+41.0\nno paired difference")
    page.get_by_label("Second system").select_option("minilm")
    assert told(page) == "Choose two different systems."
    page.get_by_label("Scores").select_option("live")
    assert page.get_by_label("Protocol").locator("option").all_inner_texts() == ["published (no paired differences)"]
    assert "Invented." in page.locator(".sco-note").inner_text()
    assert panel.selection(page) == {
        "first": "minilm",
        "second": "minilm",
        "run": "live",
        "protocol": "paper",
        "order": "task",
    }
    assert page.evaluate("saved") >= 1 and page.evaluate("location.hash") == "#scores=minilm,minilm,live,paper,task"


def test_a_run_offers_its_own_systems_and_says_which_protocol_has_differences(
    browser: Browser, tmp_path: Path, view: dict[str, Any]
) -> None:
    page = browser.open(harness(tmp_path, view, first="random", second=HOSTILE))
    assert page.get_by_label("Protocol").locator("option").all_inner_texts() == [
        "published",
        "ours (no paired differences)",
    ]
    assert page.get_by_label("First system").locator("option").count() == len(SYSTEMS)
    page.get_by_label("Scores").select_option("live")
    assert page.get_by_label("Second system").locator("option").all_inner_texts() == ["TF-IDF", "MiniLM"]
    assert (panel.selection(page)["first"], panel.selection(page)["second"]) == ("tfidf", "minilm")
    assert page.locator(".sco tbody td:has-text('–')").count() == 0, "both were scored in every row"


def test_headings_sort_and_say_so(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view, second=HOSTILE))
    assert tasks(page) == list(SCORES)
    heading = page.locator(".sco thead button")
    heading.nth(1).click()
    assert tasks(page) == ["sample/search", "sample/fos", "scirepeval/drsm", "sample/pub_year"]
    assert page.locator(".sco thead th").nth(1).get_attribute("aria-sort") == "descending"
    heading.nth(3).click()
    assert tasks(page) == ["sample/fos", "sample/pub_year", "sample/search", "scirepeval/drsm"], "without a number last"
    heading.nth(3).click()
    assert tasks(page) == ["sample/search", "sample/pub_year", "sample/fos", "scirepeval/drsm"]
    assert page.evaluate("document.activeElement.dataset.by") == "difference", "the heading keeps the keyboard"
    heading.nth(0).click()
    heading.nth(0).click()
    assert tasks(page) == list(SCORES)[::-1] and panel.selection(page)["order"] == "-task"
    assert HOSTILE in page.locator(".sco thead").inner_text()
    assert page.evaluate("window.pwned") is None and page.locator(".sco img, .sco b").count() == 0


def test_keyboard_alone_is_enough(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view))
    page.keyboard.press("Tab")  # the folded twin
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.selectedOptions[0].text") == "MiniLM"
    page.keyboard.press("x")
    assert told(page).startswith("TF-IDF − MiniLM")
    page.keyboard.press("[")
    page.keyboard.press("[")
    assert told(page).startswith("TF-IDF − random")
    assert panel.selection(page)["second"] == "random" and page.locator("[aria-live]").inner_text() == told(page)
    page.keyboard.press("]")
    assert told(page) == "Choose two different systems."


@pytest.mark.parametrize("width", [390, 700, 1200])
def test_a_difference_is_drawn_on_its_side_of_zero_where_there_is_room(
    browser: Browser, tmp_path: Path, view: dict[str, Any], width: int
) -> None:
    page = browser.open(harness(tmp_path, view), width=width)
    assert page.locator(".sco-plot").first.is_visible() == (width >= 700)
    zero, dot = (page.locator(f"tr[data-task='sample/fos'] {mark}") for mark in (".sco-zero", ".sco-dot"))
    if width >= 700:
        assert dot.bounding_box()["x"] > zero.bounding_box()["x"], "ahead is drawn to the right of zero"
