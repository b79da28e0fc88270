"""The published page in a browser that can reach nothing else, from a folder and from a server.

Two sites are tested: the book itself (brought up to date first; or the one SCIREP_SITE names), and a small demonstration
made here, an executed notebook with mathematics, a table, a drawing and widgets: also things that no chapter has yet.

Each page must load without a single error or failed request, fit a phone, and be legible in both modes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import chromium
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from small_book import few_names

from scirep_core import book
from scirep_core.results import read_results, stored
from scirep_core.results.published import everything

pytestmark = pytest.mark.site

TABLE = '''
from IPython.display import HTML, display
cells = """<td class="published"><a class="scirep-number" href="#o-1">43.19</a></td>
<td class="recorded best">44.02 <span class="ci">38.1–50.2</span></td>
<td class="live">31.40 <span class="ci">27.0–36.2</span></td>"""
head = '<th scope="col">published</th><th scope="col">recorded</th><th scope="col">live</th>'
display(HTML(f"""<div class="scirep-note"><p>Live numbers of this page are simulated.</p></div>
<div class="scirep-params"><table class="scirep-table"><caption>Parameters</caption><tbody><tr><th scope="row">data</th>
<td>embedded</td></tr></tbody></table></div>
<div class="scirep-scroll"><table class="scirep-table"><caption>NDCG%20 of term-level systems, n = 50 queries</caption>
<thead><tr><th scope="col">system</th>{head * 4}</tr></thead><tbody>
<tr><th scope="row">fabs_tfidf</th>{cells * 4}</tr><tr><th scope="row">fabs_bm25</th>{cells * 4}</tr></tbody></table></div>"""))
'''
FIGURE = '''
marks = """<circle cx="300" cy="40" r="6" fill="var(--scirep-paper)" stroke="var(--scirep-published)" stroke-width="2"/>
<circle cx="340" cy="40" r="6" fill="var(--scirep-recorded)"/>
<rect x="214" y="34" width="11" height="11" fill="var(--scirep-live)"/>
<line x1="180" x2="180" y1="10" y2="90" stroke="var(--scirep-floor)" stroke-dasharray="4 3"/>"""
display(HTML(f"""<figure class="scirep-figure"><svg viewBox="0 0 640 100" role="img" aria-labelledby="alt">
<title id="alt">Recorded lies above published, live far below</title>
<text x="20" y="45" font-size="13" fill="var(--scirep-ink)">fabs_tfidf</text>{marks}</svg>
<figcaption>NDCG%20, n = 50 queries</figcaption>
<details class="scirep-made"><summary>How it was made</summary><p>By hand.</p></details></figure>"""))
'''
PANEL = '''
import anywidget, ipywidgets, traitlets
class Panel(anywidget.AnyWidget):
    _esm = """export default { render({ model, el }) {
      const rows = model.get("rows");
      el.className = "demo-panel";
      el.innerHTML = `<label>Query <select></select></label> <button type="button">Next</button> <output></output>`;
      const [select, out] = [el.querySelector("select"), el.querySelector("output")];
      rows.forEach(([name], i) => select.add(new Option(name, i)));
      const show = () => { out.textContent = rows[select.value].join(": "); };
      select.onchange = show;
      el.querySelector("button").onclick = () => { select.value = (Number(select.value) + 1) % rows.length; show(); };
      show();
    } };"""
    rows = traitlets.List().tag(sync=True)
display(Panel(rows=[["query 1", 0.395], ["query 2", 1.564]]))
ipywidgets.VBox([ipywidgets.Label("A plain label"), ipywidgets.Checkbox(description="tick"), ipywidgets.Button(icon="check")])
'''
ORIGINS = '''
display(HTML("""<details class="scirep-origins"><summary>Origins</summary><table class="scirep-table"><tbody>
<tr><th scope="row" id="o-1"><code>published:csfcube:CS-T3:fabs_tfidf:all</code></th><td>43.19</td></tr>
</tbody></table></details>"""))
'''


def demonstration(folder: Path) -> Path:
    """Execute the demonstration chapter and build it; returns the site."""
    from nbclient import NotebookClient
    from traitlets.config import Config

    maths = "# Demonstration\n\nWith $n_f = \\lfloor 0.2\\,n \\rfloor$:\n\n$$\\sum_{i=1}^{n_f} \\frac{r_i}{\\max(1, \\log_2 i)}$$"
    cells = [new_markdown_cell(maths), new_code_cell(TABLE), new_code_cell(FIGURE), new_markdown_cell("## Explore")]
    cells += [new_code_cell(PANEL), new_code_cell(ORIGINS)]
    about = {"paper": "csfcube", "section": "5", "title": "Demonstration", "order": 1, "exhibits": ["CS-T3"]}
    notebook = new_notebook(cells=cells, metadata={"scirep": about, "language_info": {"name": "python"}})
    quiet = Config({"KernelManager": {"transport": "ipc"}})
    NotebookClient(notebook, kernel_name="python3", timeout=60, config=quiet).execute()
    path = folder / "executed" / "csfcube" / "demonstration.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)
    with few_names():
        return book.build(folder / "executed", folder / "html", progress=lambda line: None).parent


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demonstration(tmp_path_factory.mktemp("demonstration"))


@pytest.fixture(scope="module", params=["built_book", "shown"], ids=["book", "demonstration"])
def site(request: pytest.FixtureRequest) -> Path:
    built: Path = request.getfixturevalue(request.param)
    return built


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    with chromium.browser() as running:
        yield running


@pytest.fixture(scope="module")
def folder_origin(site: Path) -> str:
    return site.resolve().as_uri() + "/"


@pytest.fixture(scope="module", params=["file", "http"])
def origin(request: pytest.FixtureRequest, site: Path, folder_origin: str) -> Iterator[str]:
    if request.param == "file":
        yield folder_origin
    else:
        with chromium.served(site) as address:
            yield address


OPEN_ALL = "document.querySelectorAll('details').forEach((box) => { box.open = true; })"


def articles(site: Path) -> list[str]:
    """Pages with an article of ours: all but redirects, the index and the search form."""
    return [p for p in chromium.pages(site) if p not in ("index.html", "genindex.html", "search.html")]


def asked(site: Path) -> list[str]:
    """Articles that ask for a widget."""
    return [path for path in articles(site) if "widget-view+json" in (site / path).read_text(encoding="utf-8")]


class Seen(NamedTuple):
    """What one visit to a page found; from `bare` on only of articles, opened from the folder."""

    problems: list[str]
    widgets: Sequence[bool] = ()
    bare: Sequence[str] = ()
    led: bool | None = None
    unreached: Sequence[str] = ()
    cut: int = 0
    faint: Mapping[str, Mapping[str, str]] = {}
    wide: int = 0


LOOKED: dict[Path, dict[str, Seen]] = {}
"""What `in_folder` has seen of a site: pytest makes a fixture anew whenever the site changes."""


@pytest.fixture(scope="module")
def in_folder(started: Any, site: Path, folder_origin: str) -> dict[str, Seen]:
    """Every page opened from the folder, once, and looked at in every way: wide, in the light and in the dark, and on a phone."""
    if site in LOOKED:
        return LOOKED[site]
    own, found = articles(site), {}
    with chromium.tab(started, folder_origin, color_scheme="light") as tab:
        for path in chromium.pages(site):
            tab.page.set_viewport_size({"width": 1280, "height": 720})
            tab.open(path)
            problems = list(tab.problems)
            if path not in own:
                found[path] = Seen(problems)
                continue
            widgets, bare = (tab.page.evaluate(one) for one in (WIDGETS, BARE))
            led = leads(tab.page)
            tab.page.evaluate(OPEN_ALL)
            unreached, cut = (tab.page.evaluate(one) for one in (UNREACHED, CUT))
            faint = {mode: tab.page.evaluate(CONTRAST, mode) for mode in ("light", "dark")}
            tab.page.set_viewport_size({"width": 390, "height": 844})
            found[path] = Seen(problems, widgets, bare, led, unreached, cut, faint, tab.page.evaluate(WIDTH))
    LOOKED[site] = found
    return found


@pytest.fixture(scope="module", params=["file", "http"])
def seen(request: pytest.FixtureRequest, started: Any, site: Path, in_folder: dict[str, Seen]) -> dict[str, Seen]:
    """Every page, from the folder and from a server."""
    if request.param == "file":
        return in_folder
    with chromium.served(site) as address, chromium.tab(started, address) as tab:
        own = articles(site)
        return {
            path: Seen(tab.open(path), tab.page.evaluate(WIDGETS) if path in own else ())
            for path in chromium.pages(site)
        }


def test_site_passes_its_check(site: Path) -> None:
    assert book.check(site) == []


def test_every_page_loads_without_a_fault(seen: dict[str, Seen]) -> None:
    assert {path: one.problems for path, one in seen.items() if one.problems} == {}


WIDGETS = """() => [...document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')].map((s) => {
  const drawn = s.previousElementSibling;
  return drawn?.matches('.widget-subarea') && drawn.innerHTML.length > 100 && !drawn.querySelector('.jupyter-widgets-error-widget');
})"""


def test_widgets_are_drawn_without_a_kernel(site: Path, seen: dict[str, Seen]) -> None:
    assert asked(site)
    assert [path for path in asked(site) if not (seen[path].widgets and all(seen[path].widgets))] == []


def test_a_widget_answers_without_a_kernel(started: Any, site: Path, origin: str) -> None:
    path = "csfcube/demonstration.html"
    if not (site / path).is_file():
        pytest.skip("the book's own explorers have tests of their own")
    with chromium.tab(started, origin) as tab:
        tab.open(path)
        tab.page.click(".demo-panel button")
        assert tab.page.text_content(".demo-panel output") == "query 2: 1.564"
        assert tab.page.locator(".widget-checkbox input").is_visible()
        assert tab.problems == []


def test_the_source_of_a_page_is_saved_not_opened(started: Any, site: Path, origin: str) -> None:
    page = next(path for path in articles(site) if path.startswith("csfcube/") and not path.endswith("index.html"))
    source = page.replace(".html", ".ipynb")
    with chromium.tab(started, origin) as tab:
        tab.open(page)
        with tab.page.expect_download() as saved:
            tab.page.evaluate("document.querySelector('.btn-download-source-button').click()")
        assert saved.value.suggested_filename == Path(source).name
        assert Path(saved.value.path()).read_bytes() == (site / "_sources" / source).read_bytes()
        assert tab.page.url.endswith(page) and len(tab.page.context.pages) == 1


def test_search_works(started: Any, origin: str) -> None:
    with chromium.tab(started, origin) as tab:
        tab.page.goto(origin + "search.html?q=coverage")
        tab.page.wait_for_selector("#search-results a[href*='coverage.html']")
        assert tab.problems == []


def leads(page: Any) -> bool | None:
    """Click the first number with an origin: does its row show? None where there is no such number."""
    from playwright.sync_api import TimeoutError

    links = page.locator("a.scirep-number[href^='#']:visible")
    if not links.count():
        return None
    target = links.first.get_attribute("href").removeprefix("#")
    links.first.click()
    try:
        page.wait_for_function("(id) => document.getElementById(id)?.checkVisibility()", arg=target, timeout=5_000)
    except TimeoutError:
        return False
    return True


def test_a_number_leads_to_its_origin(in_folder: dict[str, Seen]) -> None:
    led = {path: one.led for path, one in in_folder.items() if one.led is not None}
    assert led and all(led.values()), led


ORIGIN = re.compile(r'<th scope="row" id="o-[^"]*"><code>([^<]*)</code></th>')


def test_every_number_shown_is_one_that_explain_knows(site: Path, request: pytest.FixtureRequest) -> None:
    if request.node.callspec.params["site"] == "shown":
        pytest.skip("its numbers are made up")
    known = {number.id for number in everything()} | {row.id for row, _ in stored() if row.kind == "recorded"}
    known |= {replace(row, kind="live").id for rows in site.rglob("rows.jsonl") for row in read_results(rows)}
    ids = {
        path: [html.unescape(i) for i in ORIGIN.findall((site / path).read_text(encoding="utf-8"))]
        for path in articles(site)
    }
    assert sum(map(len, ids.values())) > 1000
    assert {path: lost for path, shown in ids.items() if (lost := [i for i in shown if i not in known])} == {}


def test_every_number_in_a_table_of_scores_leads_to_its_origin(in_folder: dict[str, Seen]) -> None:
    assert {path: one.bare for path, one in in_folder.items() if one.bare} == {}


# Cells that claim to be published, recorded or live, hold a number and nothing else, and have no link to its origin.
BARE = """() => [...document.querySelectorAll('td.published, td.recorded, td.live')]
  .filter((cell) => /^[<>≈+−-]?\\s*\\d[\\d.,]*( ?[%±] ?[\\d.]*)?$/.test(cell.innerText.trim()) &&
    !cell.querySelector('a[href]'))
  .map((cell) => `${cell.closest('table').caption?.textContent}: ${cell.innerText}`)"""

# What can be clicked in the article: it, what it stands in, or the control it labels must take part in the order of Tab.
UNREACHED = """() => {
  const takes = (e) => e && e.tabIndex >= 0 && !e.disabled;
  // of a set in which the arrow keys move, one takes part, the others say -1; a row is a wider target of the button in it
  const roves = (e) => e.getAttribute('tabindex') === '-1' &&
    [...e.closest('.widget-subarea, figure, div').parentElement.querySelectorAll(`${e.tagName}[tabindex="0"]`)].some(takes);
  const reached = (e) => {
    for (let up = e; up && up.tagName !== 'ARTICLE'; up = up.parentElement) if (takes(up) || roves(up)) return true;
    const label = e.closest('label');
    if (label && takes(label.control)) return true;
    return [...(e.closest('tr, li') || e).querySelectorAll('*')].some((x) => takes(x) || roves(x));
  };
  const asks = 'a[href], button, input, select, textarea, summary, [role="button"], [role="option"], [role="tab"], [onclick]';
  return [...document.querySelectorAll('article *')]
    .filter((e) => e.checkVisibility() && !e.disabled && !e.matches('.headerlink, .copybtn, .copybtn *') &&
      (e.matches(asks) || getComputedStyle(e).cursor === 'pointer') && !reached(e))
    .map((e) => `${e.tagName} ${e.getAttribute('class')}: ${e.textContent.trim().slice(0, 40)}`);
}"""


def test_the_keyboard_reaches_every_control(in_folder: dict[str, Seen]) -> None:
    assert {path: one.unreached[:5] for path, one in in_folder.items() if one.unreached} == {}


# The width of the page where it is wider than the window, or can be scrolled sideways; else 0.
WIDTH = """() => {
  const width = document.documentElement.scrollWidth;
  window.scrollTo(500, 0);
  return width > window.innerWidth || window.scrollX ? width : 0;
}"""


def test_pages_fit_a_phone(in_folder: dict[str, Seen]) -> None:
    assert {path: one.wide for path, one in in_folder.items() if one.wide} == {}


CUT = """() => [...document.querySelectorAll('article pre')]
  .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).length"""


def test_no_line_of_code_is_out_of_sight(in_folder: dict[str, Seen]) -> None:
    assert {path: one.cut for path, one in in_folder.items() if one.cut} == {}


def test_the_mode_switch_changes_the_page(started: Any, site: Path, folder_origin: str) -> None:
    with chromium.tab(started, folder_origin, color_scheme="light") as tab:
        tab.open(articles(site)[-1])
        seen = {}
        for _ in range(3):
            tab.page.click(".theme-switch-button:visible")
            mode = tab.page.evaluate("document.documentElement.dataset.theme")
            seen[mode] = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert set(seen) == {"light", "dark"} and seen["light"] != seen["dark"]
        tab.page.emulate_media(media="print")
        ink = "getComputedStyle(document.documentElement).getPropertyValue('--scirep-ink')"
        assert tab.page.evaluate(ink).strip() == "#1f2430"


# Contrast in a mode of every visible piece of text in the article, against the first opaque background behind it.
CONTRAST = """(mode) => {
  document.documentElement.dataset.theme = mode;
  const parse = (c) => { const v = c.match(/[\\d.]+/g).map(Number); return [v[0], v[1], v[2], v[3] ?? 1]; };
  const linear = (x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] > 0.5) return c;
    }
    return [255, 255, 255, 1];
  };
  const skip = 'mjx-container, script, style, .onlyprint, .headerlink';
  const found = {};
  const walk = document.createTreeWalker(document.querySelector('article'), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, words = walk.currentNode.textContent.trim();
    if (!words || !e.checkVisibility() || e.closest(skip)) continue;
    const style = getComputedStyle(e), svg = e.closest('svg'), size = parseFloat(style.fontSize);
    const text = parse(svg ? style.fill : style.color), back = behind(svg ? svg.parentElement : e);
    const [a, b] = [light(text), light(back)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found[`${e.tagName} ${e.className}: ${words.slice(0, 40)}`] = ratio.toFixed(2);
  }
  return found;
}"""


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_is_legible(mode: str, in_folder: dict[str, Seen]) -> None:
    assert {path: one.faint[mode] for path, one in in_folder.items() if one.faint.get(mode)} == {}


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_page_has_the_mode_of_the_machine(mode: str, started: Any, site: Path, folder_origin: str) -> None:
    with chromium.tab(started, folder_origin, color_scheme=mode) as tab:
        tab.open(articles(site)[-1])
        assert tab.page.evaluate("document.documentElement.dataset.theme") == mode
