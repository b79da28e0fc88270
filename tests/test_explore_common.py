"""What all explorers share: one module and one style each, a selection that is checked, and two of them on one page."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

import panel
import pytest
import traitlets
from panel import Browser

from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import PROTOCOLS
from scirep_core.page import widgets as explore
from scirep_core.page.widgets.common import Explorer, check_names, encode, folded, table, within
from scirep_core.page.widgets.scores import ScoreExplorer
from scirep_core.page.widgets.tasks import TaskExplorer, task_data

MODULES = {
    one.name: importlib.import_module(f"{explore.__name__}.{one.name}")
    for one in pkgutil.iter_modules(explore.__path__)
}
EXPLORERS = {name: module for name, module in MODULES.items() if hasattr(module, "ESM")}


class Toy(Explorer):
    """Numbers below n, one of them chosen."""

    brief = traitlets.Bool(False).tag(sync=True)

    def _resolve(self, before: Any, wanted: Any) -> dict[str, Any]:
        explore.common.complete({"at": 0}, before, wanted)
        return {"at": 0, **before, **wanted}


def called(module: Any) -> str:
    """Return the class that begins an explorer's class names."""
    return re.match(r'const NAME = "(\w+)";\n', module.ESM)[1]  # type: ignore[index]


# ---- the texts -------------------------------------------------------------------------------------------------------


def test_names_and_addresses_are_each_explorers_own() -> None:
    assert len(EXPLORERS) == 7
    prefixes = [re.search(r'prefix: "(#[\w-]+[=?])"|PREFIX = "(#[\w-]+[=?])"', m.ESM) for m in EXPLORERS.values()]
    found = [one[1] or one[2] for one in prefixes if one]
    assert len(set(found)) == 7 and not any(a != b and a.startswith(b[:-1]) for a in found for b in found)
    assert len({called(module) for module in EXPLORERS.values()}) == 7


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_module_asks_for_nothing(name: str) -> None:
    text = EXPLORERS[name].ESM.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"^\s*import\b|\bimport\(|\bfetch\b|https?:|innerHTML", text, re.MULTILINE)
    assert text.count("export default") == 1


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_rule_of_a_style_is_under_the_explorers_own_class(name: str) -> None:
    own, text = called(EXPLORERS[name]), re.sub(r"/\*.*?\*/", "", EXPLORERS[name].CSS, flags=re.DOTALL)
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


@pytest.mark.parametrize("wrong", [None, 3, ["a"], {"a": 1}])
def test_a_value_that_is_no_text_is_refused_not_crashed_upon(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="selection: task"):
        TaskExplorer(task_data([], also=["csfcube"])).selection = {"task": wrong}


def test_names_travel_in_the_address_and_are_checked() -> None:
    check_names("papers", ["a", "ö ä/b"])
    for names, said in (
        ([], "none given"),
        (["a", "a"], "'a' is given twice"),
        (["<b>"], "without '<'"),
        ([""], "printable"),
    ):
        with pytest.raises(ConfigError, match=f"papers: .*{said}"):
            check_names("papers", names)


def test_the_cap_counts_the_data_as_they_stand_in_the_page() -> None:
    view = {"text": 'a "quoted" </script> text'}
    whole = within(10_000, view, "toy explorer", "show less")
    stands = len(json.dumps(encode(whole)))
    assert within(stands, view, "toy explorer", "show less") == whole and "<" not in encode(whole)
    with pytest.raises(
        ConfigError, match=rf"toy explorer's data are {stands:,} bytes, over the cap of {stands - 1:,} .*: show less"
    ):
        within(stands - 1, view, "toy explorer", "show less")


def test_a_plain_twin_escapes_what_is_text_and_keeps_what_is_html() -> None:
    html = folded("toy", "k", "<b>", [table("a < b", ["<i>", "x"], [["<em>1</em>", "2"]])])
    assert html.startswith('<details class="toy-fallback" data-key="k" open><summary>&lt;b&gt;</summary>')
    assert "<caption>a &lt; b</caption><thead><tr><th>&lt;i&gt;</th>" in html
    assert '<tr><th scope="row"><em>1</em></th><td>2</td></tr>' in html and html.endswith("</details>")


# ---- two on one page -------------------------------------------------------------------------------------------------

SECOND = """async ([esm, css, traits]) => {
  const style = document.createElement("style"), el = document.createElement("div");
  style.textContent = css;
  document.head.append(style);
  document.body.append(el);
  const tell = { get: (name) => traits[name], set: (name, value) => { traits[name] = value; } };
  window.other = { ...fake, ...tell, on: () => {}, off: () => {} };
  (await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })))).default.render({ model: other, el });
}"""
STYLES = """() => [...document.querySelectorAll("#widget *")].map((node) => {
  const style = getComputedStyle(node);
  const kept = [...style].filter((name) => /color|font|margin|padding|border|display|width|height/.test(name));
  return kept.map((name) => style.getPropertyValue(name)).join();
})"""


def scores() -> ScoreExplorer:
    numbers = {name: [float(40 + i), 35.0, 50.0] for i, name in enumerate(("bm25", "minilm", "tfidf"))}
    line = {
        "run": "r",
        "protocol": PROTOCOLS[0],
        "task": "t",
        "title": "T",
        "format": "CLF",
        "split": "test",
        "metric": "f1",
        "n": 9,
    }
    view = {"systems": [[name, name] for name in numbers], "runs": [["r", "R", "About."]], "formats": {"CLF": "Classification"},
            "rows": [{**line, "scores": numbers, "gaps": {"0|1": [-1.0, -2.0, 1.0]}}], "key": "k",
            "opens": {"r": ["bm25", "minilm", PROTOCOLS[0]]}}  # fmt: skip
    return ScoreExplorer(view)


def test_two_explorers_on_one_page_neither_restyle_nor_move_each_other(browser: Browser, tmp_path: Path) -> None:
    page = browser.open(panel.page(tmp_path, scores(), "dark"))
    before = page.evaluate(STYLES)
    other = TaskExplorer(task_data([], also=["csfcube", "scirepeval/fos"]))
    tasks = EXPLORERS["tasks"]
    page.evaluate(SECOND, [tasks.ESM, tasks.CSS, {"data": other.data, "selection": other.selection}])
    assert page.locator(".stx-title").is_visible() and page.locator(".sco tbody tr").count() == 1
    assert page.evaluate(STYLES) == before
    assert panel.contrast(page, "stx")["low"] == [] and panel.contrast(page, "stx")["back"] == panel.BACKS["dark"]
    page.locator(".stx-option").last.click()
    chosen = panel.selection(page)
    assert page.evaluate("location.hash") == "#task=csfcube,1" and chosen == scores().selection
    page.locator(".sco select").nth(1).select_option("tfidf")
    assert panel.selection(page)["second"] == "tfidf" and page.evaluate("other.get('selection').task") == "csfcube"
    page.evaluate("location.hash = '#scores=minilm,tfidf,r,paper,task'")
    assert panel.selection(page)["first"] == "minilm" and page.evaluate("other.get('selection').task") == "csfcube"
