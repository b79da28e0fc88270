"""What a finished page owes its reader, checked on the built HTML without a browser.

The site must stand alone (every script, style, font and image inside it; only links a reader clicks may lead out), lead
nowhere wrong (each internal link and anchor exists), and be usable without seeing it (images and drawings described,
form controls and buttons named, headings in order, a language given), and open quickly. `check` returns one line per fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
ASSETS = {
    "script": ("src",), "img": ("src", "srcset"), "source": ("src", "srcset"), "video": ("src", "poster"), "audio": ("src",),
    "track": ("src",), "iframe": ("src",), "embed": ("src",), "object": ("data",), "input": ("src",),
    "use": ("href", "xlink:href"), "image": ("href", "xlink:href"),
}  # fmt: skip
PASSIVE_LINKS = {"canonical", "author", "license", "alternate", "me"}
"""`<link rel>` values that a browser does not fetch."""
UNLABELLED = {"hidden", "submit", "reset", "button", "image"}
"""Kinds of `<input>` that need no label."""
CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
MAX_PAGE = 3_000_000
"""Bytes of one page, without the scripts and fonts that all share."""
FILE_NAME = re.compile(r"^\S*\.(png|svg|jpe?g|gif|webp)$|^\S*[0-9a-f]{16,}\S*$|^\S*/\S*$", re.IGNORECASE)


Placed = tuple[int, str]
"""A line of the page, and what stands there."""


class Tag(NamedTuple):
    """An element that is still open."""

    name: str
    attributes: dict[str, str]
    line: int


class Page(HTMLParser):
    """One parsed page: its anchors, its references, and the faults seen on the way."""

    def __init__(self, text: str) -> None:
        """Parse `text` at once."""
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = {"", "top"}
        self.assets, self.links, self.faults = list[Placed](), list[Placed](), list[Placed]()
        self.labels: set[str] = set()
        self.controls: list[tuple[int, str, str]] = []
        self.level = 0
        self.redirects = False
        self._open: list[Tag] = []
        self._names: list[str] = []  # text gathered for each open button and each figure's caption and drawing
        self.feed(text)
        self.close()
        self.faults += [(line, f"<{tag}> has no label") for line, tag, name in self.controls if name not in self.labels]

    def inside(self, name: str, text: str = "") -> bool:
        """True within an open element of that name (and class)."""
        return any(t.name == name and text in t.attributes.get("class", "") for t in self._open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what an element names, needs and lacks."""
        a = {key: value or "" for key, value in attrs}
        line = self.getpos()[0]
        named = a.get("id") or (a.get("name") if tag == "a" else "")
        if named:
            if named in self.anchors and not self.inside("div", "onlyprint"):
                self.faults.append((line, f"id {named!r} is given twice"))
            self.anchors.add(named)
        self._references(tag, a, line)
        self._accessibility(tag, a, line)
        if tag not in VOID:
            self._open.append(Tag(tag, a, line))
            if tag in ("button", "svg", "a"):
                self._names.append(a.get("aria-label", "") or a.get("title", "") or a.get("aria-labelledby", ""))

    def _references(self, tag: str, a: dict[str, str], line: int) -> None:
        for key in ASSETS.get(tag, ()):
            if a.get(key):
                urls = [part.split()[0] for part in a[key].split(",")] if key == "srcset" else [a[key]]
                self.assets += [(line, url) for url in urls]
        if tag == "link" and a.get("href"):
            kinds = set(a.get("rel", "").lower().split())
            if kinds & {"next", "prev", "search", "index"}:
                self.links.append((line, a["href"]))
            elif not kinds & PASSIVE_LINKS:
                self.assets.append((line, a["href"]))
        if (tag in ("a", "area") and "href" in a) or (tag == "form" and a.get("action")):
            self.links.append((line, a["action" if tag == "form" else "href"]))
        if tag == "meta" and a.get("http-equiv", "").lower() == "refresh":
            self.redirects = True
            self.links.append((line, a.get("content", "").partition("url=")[2]))
        self.assets += [(line, url) for url in css_urls(a.get("style", ""))]

    def _accessibility(self, tag: str, a: dict[str, str], line: int) -> None:
        hidden = a.get("aria-hidden") == "true" or a.get("role") in ("presentation", "none")
        if tag == "html" and not a.get("lang"):
            self.faults.append((line, "<html> does not say its language"))
        if tag == "img" and not hidden:
            alt = a.get("alt", "").strip()
            if not alt or FILE_NAME.search(alt):
                self.faults.append((line, f"<img src={a.get('src', '')!r}> has no real alternative text: {alt!r}"))
            elif self._names:
                self._names[-1] += alt
        if tag in ("input", "select", "textarea") and a.get("type", "text").lower() not in UNLABELLED and not hidden:
            named = a.get("aria-label") or a.get("aria-labelledby") or a.get("title") or self.inside("label")
            if not named:
                self.controls.append((line, tag, a.get("id", "\0")))
        if tag == "label" and a.get("for"):
            self.labels.add(a["for"])
        if re.fullmatch(r"h[1-6]", tag) and not self.inside("div", "onlyprint"):
            level = int(tag[1])
            if level > self.level + 1 or (level == 1 and self.level):
                self.faults.append((line, f"<{tag}> follows a heading of level {self.level}"))
            self.level = level

    def handle_data(self, data: str) -> None:
        """Text names the button or drawing it stands in; style sheets may pull in more files."""
        if self._open and self._open[-1].name == "style":
            self.assets += [(self.getpos()[0], url) for url in css_urls(data)]
        elif self._names:
            self._names[-1] += data.strip()

    def handle_endtag(self, tag: str) -> None:
        """Close an element; complain about buttons and drawings that have no name."""
        if not any(t.name == tag for t in self._open):
            return
        while self._open:
            closed = self._open.pop()
            if closed.name in ("button", "svg", "a"):
                name = self._names.pop()
                if self._names:
                    self._names[-1] += name
                silent = closed.attributes.get("aria-hidden") == "true"
                if closed.name == "button" and not name and not silent:
                    self.faults.append((closed.line, "<button> has no name"))
                if closed.name == "svg" and not name and not silent and self.inside("figure"):
                    self.faults.append((closed.line, "<svg> in a figure has no description"))
            if closed.name == tag:
                break


def css_urls(text: str) -> list[str]:
    """Return the addresses a style sheet fetches."""
    return [first or second for first, second in CSS_URL.findall(text)]


def _outside(url: str) -> bool:
    return bool(urlsplit(url).scheme or url.startswith("//"))


def check(site: Path) -> list[str]:
    """Return every fault of a built site as `page:line: fault`; an empty list means none."""
    site = site.resolve()
    paths = sorted(p for p in site.rglob("*.html") if "_static" not in p.relative_to(site).parts)
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    if not pages:
        return [f"{site}: no HTML pages"]
    found = [fault for path, page in pages.items() for fault in _faults(site, path, page, pages)]
    for sheet in sorted(site.rglob("*.css")):
        faults = (_fetched(site, sheet, url) for url in css_urls(sheet.read_text(encoding="utf-8", errors="replace")))
        found += [f"{sheet.relative_to(site)}: {fault}" for fault in faults if fault]
    return found


def _fetched(site: Path, path: Path, url: str) -> str:
    """Return what is wrong with an address that a page or a style sheet fetches, "" where it is a file of the site."""
    if url.startswith(("data:", "blob:", "#")):
        return ""
    if _outside(url):
        return f"fetches {url} from outside the site"
    target = _target(path, url)
    return "" if site in target.parents and target.is_file() else f"fetches {url}, which is not in the site"


def _faults(site: Path, path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    where = path.relative_to(site).as_posix()
    if (size := path.stat().st_size) > MAX_PAGE:
        yield f"{where}: {size:,} bytes; a page may have {MAX_PAGE:,}: show fewer rows, or in words"
    if not page.redirects:
        for line, fault in page.faults:
            yield f"{where}:{line}: {fault}"
    for line, url in page.assets:
        if fault := _fetched(site, path, url):
            yield f"{where}:{line}: {fault}"
    for line, url in page.links:
        if _outside(url):
            if urlsplit(url).scheme not in ("http", "https", "mailto", "data"):
                yield f"{where}:{line}: link to {url} is neither a web address nor a page"
            continue
        target = _target(path, url)
        target = target / "index.html" if target.is_dir() else target
        if site not in target.parents or not target.is_file():
            yield f"{where}:{line}: link to {url}, which does not exist"
        elif target in pages and unquote(urlsplit(url).fragment) not in pages[target].anchors:
            yield f"{where}:{line}: link to {url}: no such place on that page"


def _target(path: Path, url: str) -> Path:
    name = unquote(urlsplit(url).path)
    return (path.parent / name).resolve() if name else path
