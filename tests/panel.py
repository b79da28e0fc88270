"""A widget on a page of its own, opened in a browser that can reach nothing but that page: what every explorer's tests share.

page = browser.open(panel.page(tmp_path, widget))       browser: a fixture of conftest, which fails a test at any fault
found = panel.contrast(page, "stx")                     stx: the class that begins all class names of the widget
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = """<!doctype html><html lang="en" THEME><meta charset="utf-8"><title>explorer</title>
<meta name="viewport" content="width=device-width">
<style>html{font:16px/1.6 system-ui,sans-serif} html[data-theme=dark] body{background:#14181e;color:#ced6dd}
html[data-theme=light]{--pst-color-background:#ffffff} html[data-theme=dark]{--pst-color-background:#14181e}
body{margin:20px auto;max-width:WIDTHpx;padding:0 8px} CSS</style>
<body><h1>A chapter</h1>FALLBACK<div id="widget"></div><h2 id="next">Next section</h2>
<script>
const traits = TRAITS, heard = {};
window.saved = 0;
window.fake = {
  get: (name) => traits[name], save_changes: () => { window.saved += 1; },
  set: (name, value) => { traits[name] = value; (heard["change:" + name] || []).forEach((f) => f()); },
  on: (name, f) => { (heard[name] ||= []).push(f); },
  off: (name, f) => { heard[name] = (heard[name] || []).filter((g) => g !== f); },
};
import(URL.createObjectURL(new Blob([ESM], { type: "text/javascript" }))).then((module) => {
  window.widget = module;
  window.cleanup = module.default.render({ model: window.fake, el: document.getElementById("widget") });
  document.body.dataset.ready = "yes";
});
</script>"""
CONTRAST = """([root, skip, large]) => {
  const parse = (c) => { const v = c.match(/[\\d.]+/g).map(Number); return [v[0], v[1], v[2], v[3] ?? 1]; };
  const linear = (x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05;
  const grounds = new Map([[null, [255, 255, 255, 1]]]);
  const behind = (e) => {
    if (!grounds.has(e)) {
      const c = parse(getComputedStyle(e).backgroundColor);
      grounds.set(e, c[3] > 0.5 ? c : behind(e.parentElement));
    }
    return grounds.get(e);
  };
  const top = document.querySelector(root), walk = document.createTreeWalker(top, NodeFilter.SHOW_TEXT), low = [];
  let seen = 0;
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, words = walk.currentNode.textContent.trim();
    if (!words || !e.checkVisibility() || e.closest(skip)) continue;
    const style = getComputedStyle(e), svg = e.closest('svg'), size = parseFloat(style.fontSize);
    const text = parse(svg ? style.fill : style.color), back = behind(svg ? svg.parentElement : e);
    const [a, b] = [light(text), light(back)].sort((x, y) => y - x);
    const wide = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    if (a / b < (wide ? large : 4.5)) low.push(`${(a / b).toFixed(2)} ${e.tagName} ${e.className}: ${words.slice(0, 40)}`);
  }
  return {low, seen, back: behind(top).slice(0, 3).join()};
}"""
"""Contrast of every visible piece of text below a root against the first opaque background behind it."""
HOSTILE = '</SCRIPT><img src=x onerror="window.pwned=1"><b>bold & "quoted"</b>'
"""A title that would be markup."""
BACKS = {"light": "255,255,255", "dark": "20,24,30", "system": "20,24,30"}


def page(
    folder: Path, widget: Any, theme: str = "", width: int = 1000, fallback: str | None = None, **traits: Any
) -> str:
    """Write the page as the book would, module, data and style inline; return its file address.

    Args:
        theme: light or dark, as the book's switch says; "": nothing says.
        fallback: the plain twin, where it is not the widget's own.
        traits: those beside `data` and `selection`.
    """

    def inline(value: Any) -> str:
        return json.dumps(value).replace("</", "<\\/")

    html = PAGE.replace("THEME", f'data-theme="{theme}"' if theme else "").replace("WIDTH", str(width))
    html = html.replace("CSS", widget._css, 1)
    html = html.replace("FALLBACK", widget.static_fallback() if fallback is None else fallback, 1)
    html = html.replace("TRAITS", inline({"data": widget.data, "selection": widget.selection, **traits}), 1)
    path = folder / "page.html"
    path.write_text(html.replace("[ESM]", f"[{inline(widget._esm)}]", 1), encoding="utf-8")
    return path.as_uri()


class Browser:
    """Opens pages with everything but the page itself blocked, and remembers what went wrong."""

    def __init__(self, browser: Any) -> None:
        self.browser, self.wrong = browser, list[str]()

    def open(self, address: str, width: int = 1100, **context: Any) -> Any:
        """Return a tab with the page, its widget drawn."""
        page = self.browser.new_context(viewport={"width": width, "height": 900}, **context).new_page()
        page.route("**/*", lambda route: self.only(route, address.split("#")[0]))
        page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        return page

    def only(self, route: Any, address: str) -> None:
        """Let a request for the page itself pass, and note any other."""
        url = route.request.url
        if url.split("#")[0] == address or url.startswith("blob:"):
            route.continue_()
        else:
            self.wrong.append(url)
            route.abort()


def opener(browser: Browser, folder: Path, made: Any, **traits: Any) -> Any:
    """Return what opens an explorer that `made` makes of a selection: at an address, with a width of its page and of the window."""

    def opened(anchor: str = "", page_width: int = 1000, width: int = 1100, **chosen: Any) -> Any:
        return browser.open(page(folder, made(**chosen), width=page_width, **traits) + anchor, width=width)

    return opened


def press(page: Any, keys: str) -> None:
    """Press keys, named with spaces between them, one after the other."""
    for key in keys.split():
        page.keyboard.press(key)


def selection(page: Any) -> dict[str, Any]:
    """Return what the widget has told Python, after the pause that it waits for."""
    # by the page's clock, behind its own timer of 200
    page.evaluate("() => new Promise((done) => setTimeout(done, 260))")
    return page.evaluate("fake.get('selection')")


def choose(page: Any, **changes: Any) -> None:
    """Change parts of the selection, as Python does."""
    page.evaluate("s => fake.set('selection', { ...fake.get('selection'), ...s })", changes)


def contrast(page: Any, name: str) -> dict[str, Any]:
    """Return the texts of low contrast, how many were looked at, and the background, of the widget with that class."""
    return page.evaluate(CONTRAST, [f".{name}", f".{name}-sr", 4.5])


def modes(page: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (mode, what `contrast` finds) in light, dark, and as a dark system has it; checks backgrounds and print."""
    for mode, theme, scheme in (("light", "light", "dark"), ("dark", "dark", "light"), ("system", None, "dark")):
        page.emulate_media(media="screen", color_scheme=scheme)
        root = "document.documentElement.dataset"
        page.evaluate(f"t => t ? {root}.theme = t : delete {root}.theme", theme)
        found = contrast(page, name)
        assert found["back"] == BACKS[mode], mode
        yield mode, found
        page.emulate_media(media="print")
        printed = contrast(page, name)
        assert printed["back"] == BACKS["light"] and printed["low"] == [], f"{mode}, printed"
