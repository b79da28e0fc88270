"""The whole book as one PDF, printed by a Chromium of this machine, headless and with no way to the network.

`printing.print_page` makes the page; here a browser typesets its formulas, every table that is wider than the paper is made
smaller until it fits (very wide ones on a page turned to landscape), and the browser prints: page numbers, an outline of
the headings, links within the book. A request for anything outside the site is refused, and fails the printing.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.book.printing import print_page
from scirep_core.kit.errors import ConfigError, ScirepError
from scirep_core.kit.store import write_bytes, write_text
from scirep_core.kit.terminal import repeatedly

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
