"""What all explorers share: one battery over each on hand-made data, one module and one style each, two of them on one page."""

from __future__ import annotations

import functools
import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import panel
import pytest
import test_explore_facets
import test_explore_perturbations
import test_explore_scores
import test_explore_tasks
import test_format_explorer
import traitlets
from panel import HOSTILE, choose, selection

from scirep_core.book import lab
from scirep_core.data import TASKS
from scirep_core.kit.errors import ConfigError
from scirep_core.page import own_paper
from scirep_core.page import widgets as explore
from scirep_core.page.papers import neighbours_explorer
from scirep_core.page.widgets.common import Explorer, check_names, encode, folded, table, within
from scirep_core.page.widgets.formats import FormatExplorer
from scirep_core.page.widgets.scores import ScoreExplorer, score_data
from scirep_core.page.widgets.tasks import COLLECTIONS, TaskExplorer, task_data

MODULES = [importlib.import_module(f"{explore.__name__}.{one.name}") for one in pkgutil.iter_modules(explore.__path__)]
EXPLORERS: dict[str, Any] = {
    module.__name__.rpartition(".")[2]: one
    for module in MODULES for one in vars(module).values()
    if isinstance(one, type) and issubclass(one, Explorer) and one.__module__ == module.__name__ and one is not Explorer
}  # fmt: skip


class Toy(Explorer):
    """Numbers below n, one of them chosen."""

    brief = traitlets.Bool(False).tag(sync=True)

    def _resolve(self, before: Any, wanted: Any) -> dict[str, Any]:
        explore.common.complete({"at": 0}, before, wanted)
        return {"at": 0, **before, **wanted}


# ---- one battery over every explorer --------------------------------------------------------------------------------


class Sample(NamedTuple):
    """An explorer over hand-made data, hostile titles among them.

    `states` are selections to look at, `wrong` ones that are refused and with what words, `addresses` what follows `#` and the
    selection that it leads to, one after the other; what `strange` says leads nowhere.
    """

    widget: Callable[..., Explorer]
    states: Sequence[dict[str, Any]]
    wrong: Sequence[tuple[dict[str, Any], str]]
    addresses: Sequence[tuple[str, dict[str, Any]]]
    strange: Sequence[str]
    twins: bool = True
    """Whether the plain twin shows the hostile titles."""
    touch: Callable[[Any], Any] = lambda page: None
    """What a reader does before looking."""


def tasks(**chosen: Any) -> TaskExplorer:
    return TaskExplorer(task_data(test_explore_tasks.demo(), also=test_explore_tasks.TASKS), **chosen)


def scores(**chosen: Any) -> ScoreExplorer:
    return ScoreExplorer(score_data(test_explore_scores.runs(), test_explore_scores.LABELS), **chosen)


def own_papers() -> Explorer:
    shown = own_paper.look(own_paper.read_model(), 60, 0)
    return own_paper.explorer(shown, own_paper.read(shown, 0))


SAMPLES = {
    "facets": Sample(
        test_explore_facets.tiny_explorer,
        [{}, {"query": "p1_method", "cutoff": 4, "candidate": "c1"}, {"facet": "method", "systems": ["mini, lm", "bm25"]}],
        [({"query": "p1_metod"}, "did you mean 'p1_method'"), ({"systems": ["bm25", "spectre"]}, "did you mean 'specter'"),
         ({"systems": ["bm25", "bm25"]}, "two different"), ({"cutoff": "120%"}, "over 100%"), ({"cutoff": 0}, "whole number"),
         ({"candidate": "c99"}, "not among those shown")],
        [("explorer=p2_method,mini%2C%20lm,bm25,30%25", {"query": "p2_method", "systems": ["mini, lm", "bm25"], "cutoff": "30%"}),
         ("explorer=p1_method,bm25,specter,20%", {"query": "p1_method", "cutoff": "20%"})],
        ["explorer", "explorer=%E0%A4%A,b", "explorer=nobody,bm25,specter,5", "somewher=p2_method,bm25,specter,5"],
    ),
    "formats": Sample(
        lambda: FormatExplorer(test_format_explorer.made()),
        [{"paper": f"p{at}", "colour": colour, "model": model} for at, colour, model in (
            (5, "field", "MIXED"), (8, "year", "MIXED"), (0, "citations", "MIXED"), (41, "field", "TWO & more"))],
        [({"colour": "yaer"}, "did you mean 'year'"), ({"model": "MIXD"}, "did you mean 'MIXED'"),
         ({"paper": "p999"}, "no paper 'p999' among the 60")],
        [("formats=p9,citations,TWO%20%26%20more", {"paper": "p9", "colour": "citations", "model": "TWO & more"}),
         ("formats=p4,nothing,nobody", {"paper": "p4", "colour": "citations", "model": "TWO & more"})],
        ["formats", "formats=%E0%A4%A", "formats=nobody,year,MIXED", "format=p1", "task=p1,1"], True,
        lambda page: (page.locator(".sfx-legend button").nth(1).dispatch_event("click"),
                      page.get_by_label("Find a paper").fill("for")),
    ),
    "tasks": Sample(
        tasks,
        [{"task": name, "example": 0} for name in (
            "csfcube", "scirepeval/fos", "scirepeval/cite_count", "scirepeval/relish", "scirepeval/search", "scirepeval/mdcr",
            "scirepeval/s2and", "scirepeval/paper_reviewer_matching", "scirepeval/cite_prediction", "scirepeval/feeds_1",
            "scimult/cite", "scimult/geography", "scimult/pretrain_coarse", "neighbours/acl_anth", "mine")],
        [({"task": "scirepeval/fso"}, "did you mean 'scirepeval/fos'"), ({"example": True}, "example True"),
         *(({"task": wrong}, "selection: task") for wrong in (None, 3, ["a"], {"a": 1})),
         ({"task": "csfcube", "example": 6}, "example 6 of csfcube; it has 0 to 2")],
        [("task=csfcube,3", {"task": "csfcube", "example": 2}),
         ("task=scirepeval%2Ffos,99", {"task": "scirepeval/fos", "example": 5})],  # past the last is the last
        ["task", "task=%E0%A4%A,1", "task=nobody,1", "tasks=csfcube,1", "explorer=csfcube,a,b,5"], False,
    ),
    "scores": Sample(
        scores,
        [{}, {"first": "random", "second": HOSTILE}, {"run": "live", "first": "minilm", "second": "tfidf"}],
        [({"first": "tfdif"}, "did you mean 'tfidf'"), ({"run": "recoded"}, "did you mean 'recorded'"),
         ({"protocol": "papre"}, "did you mean 'paper'"), ({"order": "task "}, "did you mean 'task'")],
        [("scores=tfidf,random,recorded,sound,-difference",
          {"first": "tfidf", "second": "random", "run": "recorded", "protocol": "sound", "order": "-difference"}),
         ("scores=tfidf,minilm,live,sound,task", {"run": "live", "protocol": "paper"})],  # one that is not there gives way
        ["scores=", "scores=%E0%A4%A,1", "scores=nobody,tfidf,recorded,paper,task", "task=csfcube,1"],
    ),
    "perturbations": Sample(
        test_explore_perturbations.made,
        [{"paper": "p00", "code": code} for code in ("TDelNN", "T_ADelNN", "T_ARot", "T_A_WS", "T_ARepADJ")],
        [({"code": "T_ARott"}, "did you mean 'T_ARot'"), ({"paper": "own"}, "paper 'own'")],
        [("perturbation=p00,TDelNN", {"paper": "p00", "code": "TDelNN"}),
         ("perturbation=p00,nothing", {"paper": "p00", "code": "TDelNN"})],  # an unknown change leaves the one there is
        ["perturbation", "perturbation=%E0%A4%A", "perturbation=nobody,T_ARot", "formats=p1"], True,
        lambda page: page.evaluate("fake.set('answer', JSON.stringify({ n: 1, by: 'x' }))"),  # somebody is there
    ),
    "own_paper": Sample(
        own_papers, [{}, {"code": "T_ADelRand"}], [({"code": "T_ADelNN"}, "code 'T_ADelNN'")],
        [("own-paper=this%20book,T_ADelQ1", {"example": "this book", "code": "T_ADelQ1"})],
        ["own-paper=nobody,T_ARot", "own-paper=this%20book,T_ADelNN", "own-paper=%E0%A4%A", "own-paper=this%20book,toString",
         "own-paper=,none,title", "own-paper=,T_ADelNN,title,text"], False,
    ),
}  # fmt: skip
"""The leaderboard, whose page unpacks its rows first, has the same questions in its own tests."""
sample = functools.cache(lambda name: SAMPLES[name].widget())
each = pytest.mark.parametrize("name", SAMPLES)


def test_every_explorer_is_in_the_battery_and_has_a_panel_in_live_mode() -> None:
    assert EXPLORERS.keys() - SAMPLES.keys() == {"leaderboard"}
    assert EXPLORERS.keys() == lab.PANELS.keys()


@each
def test_data_are_plain_and_neither_they_nor_the_twin_hold_markup(name: str) -> None:
    widget = sample(name)
    view = json.loads(widget.data)
    assert "<" not in widget.data and encode(view) == widget.data
    twins = ""
    for state in SAMPLES[name].states:
        widget.selection = state
        twins += widget.static_fallback()
    assert not re.search("<img|<b>bold|<i>", twins) and ("&lt;img" in twins) == SAMPLES[name].twins
    assert f'class="{EXPLORERS[name].prefix}-fallback" data-key="{view["key"]}"' in twins


@each
def test_a_selection_is_kept_in_part_and_a_wrong_one_refused_with_the_nearest(name: str) -> None:
    widget = sample(name)
    for state in SAMPLES[name].states:
        before = {**widget.selection}
        widget.selection = state
        kept = widget.selection
        assert kept.keys() == before.keys() and state.items() <= kept.items()
    typos = [({f"{key}x": 1}, f"unknown key '{key}x'; did you mean '{key}'") for key in kept]
    for wrong, said in (*typos, *SAMPLES[name].wrong):
        with pytest.raises(ConfigError, match=re.escape(said)):
            widget.selection = wrong
        assert widget.selection == kept


FACETS = {"query": "p1_method", "facet": "method", "cutoff": "20%", "candidate": None, "systems": ["bm25", "specter"]}
FORMATS = {"paper": test_format_explorer.MIDDLE, "colour": "field", "model": "MIXED"}
SCORES = {"first": "tfidf", "second": "minilm", "run": "recorded", "protocol": "paper", "order": "task"}
FOLLOWS: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "facets": [
        ({}, FACETS), ({"candidate": "c2", "cutoff": 5}, FACETS | {"candidate": "c2", "cutoff": 5}),
        ({"facet": "background"}, FACETS | {"query": "p1_background", "facet": "background", "cutoff": 5}),
        ({"query": "p2_method", "cutoff": "07%"}, FACETS | {"query": "p2_method", "cutoff": "7%"}),
        ({"cutoff": "12"}, FACETS | {"query": "p2_method", "cutoff": 12}),
    ],
    "formats": [({}, FORMATS), ({"paper": "p5", "colour": "year"}, FORMATS | {"paper": "p5", "colour": "year"}),
                ({"model": "TWO & more"}, {"paper": "p5", "colour": "year", "model": "TWO & more"})],
    "tasks": [
        ({}, {"task": "scirepeval/mesh_descriptors", "example": 0}),
        ({"task": "scirepeval/fos", "example": 2}, {"task": "scirepeval/fos", "example": 2}),
        ({"task": "csfcube"}, {"task": "csfcube", "example": 0}),  # another task starts at its first example
    ],
    "scores": [
        ({}, SCORES), ({"protocol": "sound", "order": "-difference"}, SCORES | {"protocol": "sound", "order": "-difference"}),
        ({"run": "live"}, SCORES | {"run": "live", "order": "-difference"}),  # which has protocol paper only
    ],
}  # fmt: skip
"""Changes that Python makes, one after the other, to what an explorer opens on, and all that is selected then."""


@pytest.mark.parametrize("name", FOLLOWS)
def test_it_opens_on_its_state_and_follows_python(name: str) -> None:
    widget = SAMPLES[name].widget()
    for change, selected in FOLLOWS[name]:
        widget.selection = change
        assert widget.selection == selected, change


OF = {"facets": test_explore_facets, "formats": test_format_explorer, "tasks": test_explore_tasks,
      "scores": test_explore_scores, "perturbations": test_explore_perturbations}  # fmt: skip
KNOBS = {
    "facets": r"fewer queries \(now 3\), fewer systems \(now 3\).*`shown` \(now 10\)",
    "formats": r"fewer papers \(now 60\) or fewer models \(now 2\)",
    "tasks": r"fewer tasks \(now 67\) or fewer examples of each \(now 6\)",
    "perturbations": r"fewer papers \(now 6\) or fewer encoders \(now 2\)",
}
"""What is advised where an explorer's data are too large."""


@pytest.mark.parametrize("name", OF)
def test_what_cannot_be_shown_is_refused_and_too_much_with_what_to_leave_out(name: str, monkeypatch) -> None:
    for call, said in OF[name].REFUSED:
        with pytest.raises(ConfigError, match=said):
            call()
    if name in KNOBS:
        monkeypatch.setattr(f"scirep_core.page.widgets.{name}.CAP", 500)
        with pytest.raises(ConfigError, match=rf"[\d,]+ bytes.*cap of 500 .*{KNOBS[name]}"):
            SAMPLES[name].widget()


CONTROLS = {"combobox", "button", "listbox", "option", "slider", "spinbutton", "checkbox", "searchbox", "textbox",
            "application", "image", "region", "table"}  # fmt: skip


BESIDE = {
    "formats": (".sfx-map", "maps => new Set(maps.map((one) => Math.round(one.getBoundingClientRect().y))).size === 1"),
    "tasks": (".stx-picker, .stx-task", "of => of[0].getBoundingClientRect().right <= of[1].getBoundingClientRect().x"),
    "scores": (".sco-plot", "plots => plots[0].checkVisibility()"),
}
"""What stands side by side, or is drawn, only where there is room: four maps; list and task; differences."""


@each
@pytest.mark.parametrize("width", [390, 700, 1200])
def test_every_state_draws_text_no_width_scrolls_and_every_control_has_a_name(browser, tmp_path, name, width) -> None:
    page, own = browser.open(panel.page(tmp_path, sample(name), width=1200), width=width), EXPLORERS[name].prefix
    assert page.locator(f"details.{own}-fallback").get_attribute("open") is None, "the static twin folds away"
    for state in SAMPLES[name].states:
        choose(page, **state)
        SAMPLES[name].touch(page)
        whole = page.locator(f".{own}").inner_text()
        assert len(whole) > 100 and not re.search(r"undefined|\[object|NaN|\bnull\b", whole), state
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), state
        if name in BESIDE and page.locator(BESIDE[name][0]).count() >= (4 if name == "formats" else 1):
            assert page.locator(BESIDE[name][0]).evaluate_all(BESIDE[name][1]) == (width >= 700), state
    assert page.evaluate("window.pwned") is None and page.locator(f".{own} img").count() == 0
    marked = page.locator(f".{own} b, .{own} i").all_inner_texts()
    assert not {'bold & "quoted"', "first", "Biology"} & {*marked}, "markup of the data"
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    named = [(node.get("role", {}).get("value"), node.get("name", {}).get("value", "")) for node in tree]
    controls = [(role, words.strip()) for role, words in named if role in CONTROLS]
    assert len(controls) > 5 and all(words for _, words in controls)


@each
def test_every_mode_differs_and_text_keeps_its_contrast(browser, tmp_path, name) -> None:
    page = browser.open(panel.page(tmp_path, sample(name)))
    for state in SAMPLES[name].states:
        page.emulate_media(media="screen")
        choose(page, **state)
        SAMPLES[name].touch(page)
        for mode, found in panel.modes(page, EXPLORERS[name].prefix):
            assert found["low"] == [] and found["seen"] > 15, (mode, state)


@each
def test_an_address_restores_a_view_and_other_anchors_are_left_alone(browser, tmp_path, name) -> None:
    one, own = SAMPLES[name], EXPLORERS[name].prefix
    address, text = panel.page(tmp_path, sample(name)), f"document.querySelector('.{own}').innerText"

    def goes(anchor: str) -> dict[str, Any]:
        page.evaluate("hash => { location.hash = hash; }", anchor)
        return selection(page)

    (first, wanted), *others = one.addresses
    page = browser.open(f"{address}#{first}")
    now = selection(page)
    assert wanted.items() <= now.items()
    assert goes("next") == now and page.evaluate("location.hash") == "#next"
    for anchor, wanted in others:
        now = goes(anchor)
        assert wanted.items() <= now.items(), anchor
    assert all(goes(anchor) == now for anchor in one.strange)
    drawn = page.evaluate(text)
    page.evaluate("cleanup()")
    choose(page, **one.states[-1])
    goes(first)
    assert page.evaluate(text) == drawn, "a removed view is silent"
    page = browser.open(f"{address}#next")
    assert selection(page) == sample(name).selection and page.evaluate("location.hash") == "#next"
    choose(page, **one.addresses[0][1])
    assert page.evaluate("location.hash") == f"#{first}", "what Python chose is in the address too"


CODES, BY_AGREEMENT = test_explore_perturbations.BY_CATEGORY, test_format_explorer.BY_AGREEMENT
DELETED, MID = CODES.index("T_ADelNN"), len(BY_AGREEMENT) // 2
PAPERS = neighbours_explorer.chosen(test_explore_perturbations.SUBJECT)
IN_ORDER = [*COLLECTIONS], [*explore.common.FORMATS]
LISTED = sorted(TASKS, key=lambda name: (IN_ORDER[0].index(TASKS[name].paper), IN_ORDER[1].index(TASKS[name].format)))
FIRST, NEXT = CODES[0], [CODES[(DELETED + move) % 32] for move in (1, 2, 1, 2, 1)]
KEYBOARD: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "facets": [
        (".scx-side-0 [role=listbox]", "ArrowDown j k Enter", {"candidate": "c1"}),
        ("", "ArrowRight ArrowDown", {"candidate": "c4"}),  # an open panel follows the cursor
        ("", "Escape", {"candidate": None}), ("", "] ] ] [", {"query": "p2_method"}),
    ],
    "formats": [
        ("Previous paper", "]", {"paper": BY_AGREEMENT[MID + 1]}), ("", "b", {"paper": BY_AGREEMENT[MID]}),
        ("", "Enter", {"paper": BY_AGREEMENT[MID - 1]}), ("", "Tab Home", {"paper": BY_AGREEMENT[0]}),  # Tab leads to the slider
        ("", "End", {"paper": BY_AGREEMENT[-1]}), ("", "b", {"paper": BY_AGREEMENT[MID - 1]}),  # where it started
        ("Find a paper", "f o r Space 1 7 ArrowDown Enter", {"paper": "p17"}),
    ],
    "tasks": [
        (".stx-list", "Home ArrowDown j ArrowDown k", {"task": LISTED[2]}), ("", "End ]", {"task": "mine"}),
        ("", "/ s 2 a n d Enter Escape", {"task": "scirepeval/s2and"}),
        ("", "ArrowUp", {"task": LISTED[LISTED.index("scirepeval/s2and") - 1], "example": 0}),
        ("", "ArrowDown Tab n", {"task": "scirepeval/s2and", "example": 1}), ("", "p", {"example": 0}),
    ],
    "scores": [(".sco select >> nth=0", "[ [", {"first": "tfidf", "second": "random"}),
               ("", "x", {"first": "random", "second": "tfidf"}), ("", "]", {"second": "minilm"})],
    "perturbations": [
        (".spx-codes button[tabindex='0']", "ArrowRight", {"code": NEXT[0]}), ("", "ArrowDown", {"code": NEXT[1]}),
        ("", "ArrowLeft", {"code": NEXT[2]}), ("", "]", {"code": NEXT[3]}), ("", "[", {"code": NEXT[4]}),
        ("", "End", {"code": CODES[-1]}), ("", "ArrowRight", {"code": FIRST}),
        ("", ".", {"paper": PAPERS[1]}), ("", ", ,", {"paper": PAPERS[-1]}),
    ],
}  # fmt: skip
"""Where the keyboard begins (a label, or a place; "" where it is), keys, and what is selected then; one after the other."""


@pytest.mark.parametrize("name", KEYBOARD)
def test_keyboard_alone_goes_everywhere_stays_there_and_is_told(browser, tmp_path, name) -> None:
    page, own = browser.open(panel.page(tmp_path, SAMPLES[name].widget())), EXPLORERS[name].prefix
    for start, keys, wanted in KEYBOARD[name]:
        if start:
            (page.locator(start) if start.startswith(".") else page.get_by_label(start)).focus()
        panel.press(page, keys)
        assert wanted.items() <= selection(page).items(), keys
        assert page.evaluate(f"Boolean(document.activeElement.closest('.{own}'))"), keys
        assert page.locator(f".{own} > [aria-live]").inner_text(), keys


# ---- the texts -------------------------------------------------------------------------------------------------------


def test_names_and_addresses_are_each_explorers_own() -> None:
    assert len(EXPLORERS) == 7
    prefixes = [re.search(r'prefix: "(#[\w-]+[=?])"|PREFIX = "(#[\w-]+[=?])"', one._esm) for one in EXPLORERS.values()]
    found = [one[1] or one[2] for one in prefixes if one]
    assert len(set(found)) == 7 and not any(a != b and a.startswith(b[:-1]) for a in found for b in found)
    assert len({one.prefix for one in EXPLORERS.values()}) == 7


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_module_asks_for_nothing(name: str) -> None:
    text = EXPLORERS[name]._esm.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"^\s*import\b|\bimport\(|\bfetch\b|https?:|innerHTML", text, re.MULTILINE)
    assert text.count("export default") == 1
    heard = re.findall(r'(?:document|window)\.addEventListener\("(\w+)"', text)
    assert heard == ["hashchange"], "another explorer on the page would hear it too"


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_rule_of_a_style_is_under_the_explorers_own_class(name: str) -> None:
    own, text = EXPLORERS[name].prefix, re.sub(r"/\*.*?\*/", "", EXPLORERS[name]._css, flags=re.DOTALL)
    selectors = [part.strip() for part in re.findall(r"([^{};]+)\{", text) if not part.strip().startswith("@")]
    assert len(selectors) > 30
    for selector in selectors:
        for one in re.split(r",(?![^()]*\))", selector):
            assert re.search(rf"\.{own}(?![a-z0-9])", one), one
    assert set(re.findall(r"(--[\w]+)-[\w-]+\s*:", text)) == {f"--{own}"} and "NAME" not in text
    used, made = set(re.findall(rf"var\((--{own}-[\w-]+)", text)), set(re.findall(rf"(--{own}-[\w-]+)\s*:", text))
    assert used <= made, "a colour that is named nowhere"
    assert set(re.findall(r"@container (\w+)", text)) <= {own}


# ---- Python ----------------------------------------------------------------------------------------------------------


def test_keywords_choose_what_is_shown_and_traits_stay_traits() -> None:
    toy = Toy({"n": 5}, at=3, brief=True)
    assert toy.selection == {"at": 3} and toy.brief and json.loads(toy.data) == {"n": 5}
    assert Toy({}, at=None).selection == {"at": 0}, "None chooses nothing"
    assert repr(toy) == "Toy()", "no address in memory: it stands in the page's source"
    with pytest.raises(ConfigError, match="unknown key 'a'; did you mean 'at'"):
        Toy({}, a=3)
    with pytest.raises(ConfigError, match="unknown key 'brif'"):
        toy.selection = {"brif": True}


def test_names_travel_in_the_address_and_are_checked() -> None:
    check_names("papers", ["a", "ö ä/b"])
    wrong = {(): "none given", ("a", "a"): "'a' is given twice", ("<b>",): "without '<'", ("",): "printable"}
    for names, said in wrong.items():
        with pytest.raises(ConfigError, match=f"papers: .*{said}"):
            check_names("papers", names)


def test_the_cap_counts_the_data_as_they_stand_in_the_page() -> None:
    view = {"text": 'a "quoted" </script> text'}
    whole = within(10_000, view, "toy explorer", "show less")
    stands = len(json.dumps(encode(whole)))
    assert within(stands, view, "toy explorer", "show less") == whole and "<" not in encode(whole)
    said = rf"toy explorer's data are {stands:,} bytes, over the cap of {stands - 1:,} .*: show less"
    with pytest.raises(ConfigError, match=said):
        within(stands - 1, view, "toy explorer", "show less")


def test_a_plain_twin_escapes_what_is_text_and_keeps_what_is_html() -> None:
    html = folded("toy", "k", "<b>", [table("a < b", ["<i>", "x"], [["<em>1</em>", "2"]])])
    assert html.startswith('<details class="toy-fallback" data-key="k" open><summary>&lt;b&gt;</summary>')
    assert "<caption>a &lt; b</caption><thead><tr><th>&lt;i&gt;</th>" in html
    assert '<tr><th scope="row"><em>1</em></th><td>2</td></tr>' in html and html.endswith("</details>")
