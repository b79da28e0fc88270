"""The whole book as one PDF, printed by a Chromium of this machine, headless and with no way to the network.

`print_page` reads the built site, which stays as it is, and returns one page: a cover, a table of contents, every article in
reading order, with the site's own styles, pictures and formula renderer by their addresses on this machine. What only a screen
can use is left out (`LEFT_OUT`): folded code, data tables below figures, lists of origins. An explorer is printed as its plain
tables. Ids of different pages may be equal, so each gets its article's number before it, and each link follows: to another
chapter, or to nothing where its target is left out.

The browser typesets the page's formulas, every table that is wider than the paper is made smaller until it fits (very wide ones
on a page turned to landscape), and the browser prints: page numbers, an outline of the headings, links within the book. A
request for anything outside the site is refused, and fails the printing.
"""

from __future__ import annotations

import html
import importlib.metadata
import os
import posixpath
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from scirep_core.kit.errors import ConfigError, DataError, ScirepError
from scirep_core.kit.store import write_bytes, write_text
from scirep_core.kit.terminal import repeatedly

LEFT_OUT = "script, button, dialog, noscript, .hide, .scirep-made, .scirep-origins, .headerlink, .toctree-wrapper"
"""Elements that are not printed."""
API = "reference/api-"
"""Pages that describe the library function by function: hundreds on paper, and printed only when asked for."""
WIDGET = 'script[type="application/vnd.jupyter.widget-view+json"]'
INSTEAD = "On the page an explorer stands here; on paper, its plain tables."
STYLE = (Path(__file__).parent / "print.css").read_text(encoding="utf-8")
BUILD = "Build the book again with `scirep book`"
IDS = ("id", "for", "aria-labelledby", "aria-describedby", "aria-controls", "headers")
ADDRESSES = ("src", "href", "xlink:href", "poster")
LOCAL = re.compile(r"url\(\s*(['\"]?)#")


class Entry(NamedTuple):
    """One page of the book: where it is in the site, what the contents call it, and under which heading."""

    page: str
    title: str
    part: str


class Printed(NamedTuple):
    """A page to print, how it is called, and what is on it."""

    title: str
    html: str
    entries: tuple[Entry, ...]


def _parsed(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser", multi_valued_attributes=None)


def contents(site: Path) -> tuple[str, list[Entry], BeautifulSoup, Path]:
    """Return the book's title, its pages in reading order by the side bar, the parsed opening page and its path."""
    opening = site / "index.html"
    if not opening.is_file():
        raise ConfigError(f"{site}: no built book here. Make it with `scirep book`, or name its folder")
    found = _parsed(opening)
    if moved := found.select_one("meta[http-equiv=refresh i]"):
        opening = site / str(moved["content"]).partition("url=")[2]
        found = _parsed(opening)
    title = found.select_one(".logo__title")
    entries, part = [Entry(opening.relative_to(site).as_posix(), "About this book", "")], ""
    for one in found.select("nav.bd-links .caption-text, nav.bd-links a[href]"):
        words, page = " ".join(one.get_text().split()), urlsplit(str(one.get("href", ""))).path
        if one.name != "a":
            part = words
        elif page not in ("", entries[0].page):
            entries.append(Entry(page, words, part))
    if len(entries) < 2:
        raise DataError(opening, None, "no table of contents in its side bar", BUILD)
    return " ".join(title.get_text().split()) if title else "The book", entries, found, opening


def print_page(site: Path, api: bool = False) -> Printed:
    """Return the whole book as one page; `api`: with the reference of the library's functions.

    Raises ConfigError for a folder without a book, DataError for a damaged one.
    """
    site = site.resolve()
    title, every, head, opening = contents(site)
    entries = [entry for entry in every if api or not entry.page.startswith(API)]
    number = {entry.page: n for n, entry in enumerate(entries, start=1)}
    texts, known = list[str](), {f"p{n}" for n in number.values()}
    for page in number:
        article = _article(site, page, number)
        known |= {str(one["id"]) for one in article.find_all(id=True)}
        texts.append(str(article))
    # links to what is left out, such as a number's origin, lose their target
    body = re.sub(r' href="#([^"]*)"', lambda at: at[0] * (html.unescape(at[1]) in known), "\n".join(texts))
    styles, scripts = (
        [_address(opening.parent, str(one[name])) for one in head.select(files)]
        for name, files in (("href", "link[rel=stylesheet]"), ("src", "script[src*=mathjax i]"))
    )
    linked = "\n".join(f'<link rel="stylesheet" href="{name}">' for name in styles)
    loaded = "\n".join(f'<script src="{name}"></script>' for name in scripts)
    maths = '<script>window.MathJax = {options: {processHtmlClass: "math", ignoreHtmlClass: "scirep-print"}}</script>'
    whole = f"""<!DOCTYPE html>
<html lang="en" data-theme="light" data-mode="light"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
{linked}
<style>{STYLE}</style>
{maths}
{loaded}
</head><body class="scirep-print">
{_cover(title, entries)}
{_listing(entries, number)}
<main class="bd-main"><div class="bd-content"><div class="bd-article-container">
{body}
</div></div></main></body></html>
"""
    return Printed(title, whole, tuple(entries))


def _article(site: Path, page: str, number: dict[str, int]) -> Tag:
    """Return the article of one page as it stands among the others: what is printed of it, under ids of its own."""
    path = site / page
    if not path.is_file():
        raise DataError(path, None, "the contents name this page, and it is not there", BUILD)
    article, prefix = _parsed(path).select_one("article.bd-article"), f"p{number[page]}"
    if article is None:
        raise DataError(path, None, "holds no article", BUILD)
    for widget in article.select(WIDGET):
        widget.insert_before(note := Tag(name="p", attrs={"class": "scirep-print-note"}))
        note.string = INSTEAD
    for one in article.select(LEFT_OUT):
        one.decompose()
    for one in article.find_all("details"):
        one["open"] = ""
    for one in article.find_all(True):
        for name, value in [(name, str(value)) for name, value in one.attrs.items()]:
            if name in IDS:
                one[name] = " ".join(f"{prefix}-{word}" for word in value.split())
            elif name in ADDRESSES and one.name in ("a", "area"):
                one[name] = _linked(value, page, number)
            elif name in ADDRESSES and value.startswith("#"):
                one[name] = f"#{prefix}-{value[1:]}"
            elif name in ADDRESSES and not urlsplit(value).scheme:
                one[name] = _address(path.parent, value)
            else:
                one[name] = LOCAL.sub(rf"\g<0>{prefix}-", value)
    article["id"] = prefix
    return article


def _linked(url: str, page: str, number: dict[str, int]) -> str:
    """Return where a link of `page` leads in print; # and nothing where what it leads to is not there."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https", "mailto"):
        return url
    to = posixpath.normpath(PurePosixPath(page).parent / unquote(parts.path)) if parts.path else page
    if parts.scheme or parts.netloc or to not in number:  # data: a file that a page carries within it
        return "#"
    return f"#p{number[to]}" + (f"-{unquote(parts.fragment)}" if parts.fragment else "")


def _address(folder: Path, url: str) -> str:
    return (folder / unquote(urlsplit(url).path)).resolve().as_uri()


def _cover(title: str, entries: list[Entry]) -> str:
    try:
        edition = f"Edition {importlib.metadata.version('scirep-book')}"
    except importlib.metadata.PackageNotFoundError:
        edition = ""
    return (
        f'<section class="scirep-cover"><h1>{html.escape(title)}</h1>'
        "<p>Five papers on representing scientific documents, rerun by anyone</p>"
        f"<p>{edition}</p><p><small>Printed from the built site: {len(entries)} pages of it. Code, the data below each "
        "figure, the origin of each number, the library's functions and all that answers a click are on the site."
        "</small></p></section>"
    )


def _listing(entries: list[Entry], number: dict[str, int]) -> str:
    def parts() -> Iterator[str]:
        part = None
        for entry in entries:
            if entry.part != part:
                part = entry.part
                yield f"</ol><p>{html.escape(part)}</p><ol>" if part else "<ol>"
            yield f'<li><a href="#p{number[entry.page]}"><span>{html.escape(entry.title)}</span><i></i><b>000</b></a></li>'

    return f'<nav class="scirep-contents"><h1>Contents</h1>{"".join(parts())}</ol></nav>'


Say = Callable[[str], None]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGS = (
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
UPRIGHT, TURNED = 680, 1008
"""Width of the text on A4 with margins of 15 mm, in CSS pixels: as it is, and turned to landscape."""
LEAST = 0.62
"""How far a table shrinks before its page is turned."""
SETTLED = """async () => {
  await document.fonts.ready;
  if (window.MathJax?.startup) await MathJax.startup.promise;
  await document.fonts.ready;
  return document.querySelectorAll('mjx-container').length;
}"""
FIT = """([upright, turned, least]) => {
  const found = {smaller: 0, turned: 0, smallest: 1};
  const turn = (box) => { // the heading, and what stands between, come along: else they stay alone on the page before
    const cell = box.closest('.cell') || box, before = [];
    cell.classList.add('scirep-turned');
    for (let one = cell.previousElementSibling; one && before.length < 4; one = one.previousElementSibling) {
      before.push(one);
      if (/^H[2-6]$/.test(one.tagName)) return before.forEach((other) => other.classList.add('scirep-turned'));
    }
  };
  for (const box of document.querySelectorAll('article table, article mjx-container[display=true], article svg')) {
    if (box.parentElement.closest('table, svg')) continue;
    const room = Math.min(upright, box.parentElement.clientWidth || upright);
    const wide = Math.max(box.scrollWidth || 0, box.getBoundingClientRect().width);
    if (wide <= room + 1) continue;
    let ratio = room / wide;
    if (box.tagName === 'TABLE' && ratio < least) {
      turn(box);
      ratio = Math.min(1, turned / wide);
      found.turned += 1;
    }
    if (ratio < 1) box.style.zoom = ratio * 0.99;
    found.smaller += ratio < 1;
    found.smallest = Math.min(found.smallest, ratio);
  }
  return found;
}"""
NUMBER = """(pages) => {
  for (const link of document.querySelectorAll('.scirep-contents a')) {
    link.querySelector('b').textContent = pages[link.getAttribute('href').slice(1)] ?? '';
  }
}"""


class Made(NamedTuple):
    """A PDF: its pages, its size in bytes, articles in it, formulas, tables made smaller and of these turned."""

    path: Path
    pages: int
    bytes: int
    articles: int
    formulas: int
    smaller: int
    turned: int
    smallest: float


def find_chromium() -> str:
    """Return the path of an installed Chromium, SCIREP_CHROMIUM first. Raises ConfigError that says how to get one."""
    chosen = os.environ.get("SCIREP_CHROMIUM")
    found = shutil.which(chosen) if chosen else next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        lacks = (
            f"SCIREP_CHROMIUM={chosen} is no program here" if chosen else "no Chromium on this machine to print with"
        )
        remedy = "Install one (Debian: apt-get install chromium), or set SCIREP_CHROMIUM to where one is"
        raise ConfigError(f"{lacks}. {remedy}")
    return found


def pdf(site: Path, out: Path, say: Say = print, api: bool = False) -> Made:
    """Print the built book at `site` to the file `out`; `api`: with the reference of the library's functions.

    Raises ConfigError without a book or a Chromium, ScirepError where the browser fails or wants something from outside.
    """
    chromium = find_chromium()
    printed = print_page(site, api)
    say(f"pdf: {len(printed.entries)} pages of the site gathered")
    with tempfile.TemporaryDirectory(prefix="scirep-print-") as folder:
        page = Path(folder) / "print.html"
        write_text(page, printed.html)
        with _tab(chromium, (site.resolve().as_uri() + "/", page.as_uri())) as (tab, refused):
            with _patience(say, "typesetting"):
                tab.set_viewport_size({"width": UPRIGHT, "height": 1000})
                tab.emulate_media(media="print")
                tab.goto(page.as_uri(), wait_until="load", timeout=600_000)
                formulas = int(tab.evaluate(SETTLED))
            if refused:
                outside = next(iter(refused))
                raise ScirepError(f"{site}: the page to print asks for {outside}, which is no file of the site")
            fitted = tab.evaluate(FIT, [UPRIGHT, TURNED, LEAST])
            smaller, turned, smallest = (fitted[key] for key in ("smaller", "turned", "smallest"))
            say(f"pdf: {formulas} formulas; {smaller} tables and drawings made smaller, {turned} turned")
            with _patience(say, "printing"):
                first = _printed(tab, False)
            with _patience(say, "printing again, with the numbers of the pages in the contents"):
                tab.evaluate(NUMBER, places(first))
                data = _printed(tab)
    write_bytes(out, data)
    entries = len(printed.entries)
    return Made(out, len(page_order(data)), len(data), entries, formulas, smaller, turned, smallest)


def _printed(tab: Any, whole: bool = True) -> bytes:
    data: bytes = tab.pdf(prefer_css_page_size=True, print_background=True, outline=whole, tagged=whole, format="A4")
    return data


def page_order(data: bytes) -> list[int]:
    """Return the object numbers of a PDF's pages, in order. Chromium writes dictionaries as they are, not packed."""
    nodes = {int(m[1]): m[2] for m in re.finditer(rb"\n(\d+) 0 obj\s*<<(/Type /Pages?\b.*?)endobj", data, re.DOTALL)}
    below = {n: [int(kid) for kid in re.findall(rb"(\d+) 0 R", kids[1])] for n, body in nodes.items()
             if (kids := re.search(rb"/Kids \[([^\]]*)\]", body))}  # fmt: skip
    found: list[int] = []
    rest = [n for n in below if not any(n in kids for kids in below.values())]
    while rest:
        n = rest.pop(0)
        if n in below:
            rest = below[n] + rest
        else:
            found.append(n)
    return found


def places(data: bytes) -> dict[str, int]:
    """Return name -> page, from 1, of the places that links of a PDF lead to."""
    number = {n: at for at, n in enumerate(page_order(data), start=1)}
    named = re.findall(rb"/([A-Za-z0-9_.:+-]+) \[(\d+) 0 R /XYZ", data)
    return {name.decode(): number[int(n)] for name, n in named if int(n) in number}


@contextmanager
def _tab(chromium: str, allowed: tuple[str, ...]) -> Iterator[tuple[Any, dict[str, None]]]:
    """Open a tab in which only addresses that begin with one of `allowed` answer; yields it and what was refused."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        remedy = "`make test` installs it, as does requirements.lock"
        raise ConfigError(f"the Python package playwright is missing. {remedy}") from None
    refused: dict[str, None] = {}

    def guard(route: Any) -> None:
        if route.request.url.startswith((*allowed, "data:")):
            route.continue_()
        else:
            refused[route.request.url] = None
            route.abort()

    root = hasattr(os, "geteuid") and os.geteuid() == 0  # Chromium's sandbox does not start as root
    try:
        with sync_playwright() as driver:
            started = driver.chromium.launch(executable_path=chromium, args=[*ARGS, *["--no-sandbox"] * root])
            try:
                tab = started.new_page()
                tab.route("**/*", guard)
                tab.on("requestfailed", lambda request: refused.setdefault(request.url))
                yield tab, refused
            finally:
                started.close()
    except Error as error:
        why = str(error).splitlines()[0]
        raise ScirepError(f"{chromium}: {why}. Try another Chromium: set SCIREP_CHROMIUM") from None


def _patience(say: Say, what: str) -> AbstractContextManager[None]:
    """Say what is being done, and again every ten seconds while it lasts."""
    begun = time.monotonic()
    say(f"pdf: {what}")
    return repeatedly(lambda: say(f"pdf: {what}, {time.monotonic() - begun:.0f} s"))
