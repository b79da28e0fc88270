"""The published page in a browser that can reach nothing else, from a folder and from a server.

Two sites are tested: the book itself (brought up to date first; or the one SCIREP_SITE names), and of a small one
(small_book.py) the demonstration, a chapter with mathematics, a table, a drawing and widgets: also things that no chapter has.

Each page must load without a single error or failed request, fit a phone, and be legible in both modes.
"""

from __future__ import annotations

import html
import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import chromium
import panel
import pytest
import small_book

from scirep_core import book
from scirep_core.book import reference
from scirep_core.results import read_results, stored
from scirep_core.results.published import everything

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_book.shared(tmp_path_factory)[1]


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


def pages(site: Path) -> list[str]:
    """Pages that are looked at: of the small site the demonstration, since the others are the book's."""
    if (site / small_book.DEMONSTRATION).is_file():
        return [small_book.DEMONSTRATION]
    return sorted(p.relative_to(site).as_posix() for p in site.rglob("*.html") if "_static" not in p.parts)


OPEN_ALL = "document.querySelectorAll('details').forEach((box) => { box.open = true; })"


def articles(site: Path) -> list[str]:
    """Pages with an article of ours: all but redirects, the index and the search form."""
    return [path for path in pages(site) if path not in ("index.html", "genindex.html", "search.html")]


def asked(site: Path) -> list[str]:
    """Articles that ask for a widget."""
    return [path for path in articles(site) if "widget-view+json" in (site / path).read_text(encoding="utf-8")]


class Seen(NamedTuple):
    """What one visit to a page found; from `bare` on only of articles, opened from the folder."""

    problems: list[str]
    widgets: Sequence[bool] = ()
    led: bool | None = None
    bare: Sequence[str] = ()
    unreached: Sequence[str] = ()
    cut: int = 0
    faint: Sequence[str] = ()
    faint_in_the_dark: Sequence[str] = ()
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
        for path in pages(site):
            tab.page.set_viewport_size({"width": 1280, "height": 720})
            tab.open(path)
            problems = list(tab.problems)
            if path not in own:
                found[path] = Seen(problems)
                continue
            widgets, bare, led = tab.page.evaluate(WIDGETS), tab.page.evaluate(BARE), leads(tab.page)
            tab.page.evaluate(OPEN_ALL)
            unreached, cut = tab.page.evaluate(UNREACHED), tab.page.evaluate(CUT)
            faint = [faint_in(tab.page, mode) for mode in ("light", "dark")]
            tab.page.set_viewport_size({"width": 390, "height": 844})
            found[path] = Seen(problems, widgets, led, bare, unreached, cut, *faint, tab.page.evaluate(WIDTH))
    LOOKED[site] = found
    return found


@pytest.fixture(scope="module", params=["file", "http"])
def seen(request: pytest.FixtureRequest, started: Any, site: Path, in_folder: dict[str, Seen]) -> dict[str, Seen]:
    """Pages from the folder, all of them; from a server, which may serve scripts otherwise, one of each folder, with widgets."""
    if request.param == "file":
        return in_folder
    first = {Path(path).parent: path for path in [*reversed(pages(site)), *reversed(asked(site))]}
    with chromium.served(site) as address, chromium.tab(started, address) as tab:
        return {path: Seen(tab.open(path), tab.page.evaluate(WIDGETS)) for path in first.values()}


def test_site_passes_its_check(site: Path) -> None:
    assert book.check(site) == []


def test_every_page_loads_without_a_fault(seen: dict[str, Seen]) -> None:
    assert {path: one.problems for path, one in seen.items() if one.problems} == {}


WIDGETS = """() => [...document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')].map((s) => {
  const drawn = s.previousElementSibling;
  return drawn?.matches('.widget-subarea') && drawn.innerHTML.length > 100 && !drawn.querySelector('.jupyter-widgets-error-widget');
})"""


def test_widgets_are_drawn_without_a_kernel(site: Path, seen: dict[str, Seen]) -> None:
    drawn = {path: seen[path].widgets for path in asked(site) if path in seen}
    assert {Path(path).parent for path in drawn} == {Path(path).parent for path in asked(site)} != set()
    assert {path: of for path, of in drawn.items() if not (of and all(of))} == {}


@pytest.mark.parametrize("served", [False, True], ids=["file", "http"])
def test_a_widget_answers_without_a_kernel(started: Any, shown: Path, served: bool) -> None:
    folder = shown.resolve().as_uri() + "/"
    with chromium.served(shown) as address, chromium.tab(started, address if served else folder) as tab:
        tab.open(small_book.DEMONSTRATION)
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


def faint_in(page: Any, mode: str) -> list[str]:
    """Return the texts of the article that are of low contrast in a mode; large ones may have less."""
    page.evaluate("mode => { document.documentElement.dataset.theme = mode; }", mode)
    skip = "mjx-container, script, style, .onlyprint, .headerlink"
    return page.evaluate(panel.CONTRAST, ["article", skip, 3])["low"]


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


def test_every_number_shown_is_one_that_explain_knows(built_book: Path) -> None:
    known = {number.id for number in everything()} | {row.id for row, _ in stored() if row.kind == "recorded"}
    known |= {replace(row, kind="live").id for rows in built_book.rglob("rows.jsonl") for row in read_results(rows)}
    texts = {path: (built_book / path).read_text(encoding="utf-8") for path in articles(built_book)}
    ids = {path: [html.unescape(one) for one in ORIGIN.findall(text)] for path, text in texts.items()}
    assert sum(map(len, ids.values())) > 1000
    assert {path: lost for path, shown in ids.items() if (lost := [i for i in shown if i not in known])} == {}


def test_every_name_of_the_library_has_its_place(built_book: Path) -> None:
    """The book builds without a warning, so each name that a page uses has its anchor; here: each public name has one."""
    texts = {slug: (built_book / "reference" / f"{slug}.html").read_text(encoding="utf-8") for slug in reference.ROOMS}
    seen = 0
    for slug, room in reference.ROOMS.items():
        for name in (f"scirep_core.{module}" for module in room.modules):
            assert f'id="module-{name}"' in texts[slug]
            for attribute, value in vars(importlib.import_module(name)).items():
                if getattr(value, "__module__", "") == name and inspect.isroutine(value) | inspect.isclass(value):
                    assert attribute.startswith("_") or f'id="{name}.{attribute}"' in texts[slug]
                    seen += 1
    assert seen > 300
    assert str(book.ROOT) not in "".join(texts.values())
    assert '<span class="pre">~' not in "".join(texts.values())  # a signature that Sphinx could not read


@pytest.mark.parametrize("fault", Seen._fields[3:])
def test_no_page_has_a_fault_that_can_be_seen(fault: str, in_folder: dict[str, Seen]) -> None:
    """A number without an origin, a control that the keyboard cannot reach, code cut off, faint text, a page wider than a phone."""
    assert {path: found for path, one in in_folder.items() if (found := getattr(one, fault))} == {}


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


# The width of the page where it is wider than the window, or can be scrolled sideways; else 0.
WIDTH = """() => {
  const width = document.documentElement.scrollWidth;
  window.scrollTo(500, 0);
  return width > window.innerWidth || window.scrollX ? width : 0;
}"""


# Lines of code that go on out of sight.
CUT = """() => [...document.querySelectorAll('article pre')]
  .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).length"""


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


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_page_has_the_mode_of_the_machine(mode: str, started: Any, site: Path, folder_origin: str) -> None:
    with chromium.tab(started, folder_origin, color_scheme=mode) as tab:
        tab.open(articles(site)[-1])
        assert tab.page.evaluate("document.documentElement.dataset.theme") == mode
