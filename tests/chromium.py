"""Chromium for the tests: where it is, how it starts, and a tab that cannot reach the network.

`browser()` skips with one line where there is no Chromium and fails where SCIREP_REQUIRE_BROWSER=1 asks for one.
`Tab.problems` collects everything a reader would have noticed: errors on the console, uncaught exceptions, requests that
failed and requests that wanted to leave the site.
"""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from scirep_core.book import pdf
from scirep_core.kit.errors import ConfigError

ARGS = [*pdf.ARGS, "--no-sandbox", "--disable-quic"]


def _lacking(message: str) -> NoReturn:
    required = os.environ.get("SCIREP_REQUIRE_BROWSER") == "1"
    pytest.fail(message) if required else pytest.skip(message)


def needed() -> str:
    """Return the path of an installed Chromium, as `scirep pdf` finds it; skip or fail the test where there is none."""
    try:
        return pdf.find_chromium()
    except ConfigError:
        _lacking("no Chromium on this machine: install one or set SCIREP_CHROMIUM to check the page in a browser")


@contextmanager
def browser() -> Iterator[Any]:
    """Start headless Chromium through Playwright; skip or fail where that is impossible."""
    path = needed()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _lacking("Python package playwright is missing: the page is not checked in a browser")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=ARGS)
        try:
            yield started
        finally:
            started.close()


@dataclass
class Tab:
    """A browser tab confined to `origin`, and what went wrong in it."""

    page: Any
    origin: str
    problems: list[str] = field(default_factory=list)

    def open(self, path: str) -> list[str]:
        """Load a page of the site, wait until it is quiet, and return the problems met."""
        self.problems.clear()
        self.page.goto(self.origin + path, wait_until="load")
        self.settle()
        return list(self.problems)

    def settle(self) -> None:
        """Wait for late loaders: fonts, the mathematics, and every widget that the page promises to draw."""
        from playwright.sync_api import TimeoutError

        try:
            self.page.wait_for_function(SETTLED, timeout=20_000)
        except TimeoutError:
            self.problems.append("a widget, a formula or a font never appeared")


SETTLED = """() => {
  const views = [...document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')];
  const drawn = views.every((view) => {
    const area = view.previousElementSibling;  // put there by the widget manager
    return area?.matches('.widget-subarea') &&
      (area.checkVisibility() ? area.getBoundingClientRect().height > 10 : area.innerHTML.length > 100);
  });
  const maths = !document.querySelector('.math') || document.querySelector('mjx-container');
  return document.readyState === 'complete' && drawn && maths && document.fonts.status === 'loaded';
}"""


@contextmanager
def tab(started: Any, origin: str, **context: Any) -> Iterator[Tab]:
    """Open a tab in which only addresses below `origin` answer; `context` is Playwright's (viewport, color_scheme ...)."""
    opened = started.new_context(**context)
    view = Tab(opened.new_page(), origin)

    def guard(route: Any) -> None:
        if route.request.url.startswith((origin, "data:", "blob:")):
            route.continue_()
        else:
            view.problems.append(f"request left the site: {route.request.url}")
            route.abort()

    page = view.page
    page.route("**/*", guard)
    page.on("console", lambda m: view.problems.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda e: view.problems.append(f"exception: {e}"))
    page.on("requestfailed", lambda r: view.problems.append(f"request failed: {r.url}"))
    page.on("response", lambda r: view.problems.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
    try:
        yield view
    finally:
        opened.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on a free local port; yields its address with a trailing slash."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://localhost:{server.server_address[1]}/"
        server.shutdown()
