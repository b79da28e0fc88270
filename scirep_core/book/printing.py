"""The built book as one page to print: a cover, a table of contents, every article of the site in reading order.

The site stays as it is; `print_page` reads it and returns HTML whose styles, pictures and formula renderer are the site's
own files, by their addresses on this machine. What only a screen can use is left out (`LEFT_OUT`): folded code, data tables
below figures, lists of origins. An explorer is printed as its plain tables. Ids of different pages may be equal, so each
gets its article's number before it, and each link follows: to another chapter, or to nothing where its target is left out.

Not Jupyter Book's singlehtml: it builds every chapter a second time, leaves ids that two chapters share, and knows nothing of
an explorer's plain tables.
"""

from __future__ import annotations

import html
import importlib.metadata
import posixpath
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from scirep_core.book.sitecheck import VOID
from scirep_core.kit.errors import ConfigError, DataError

LEFT_OUT = ("hide", "scirep-made", "scirep-origins", "headerlink", "toctree-wrapper")
"""Classes of elements that are not printed."""
API = "reference/api-"
"""Pages that describe the library function by function: hundreds on paper, and printed only when asked for."""
GONE = ("script", "button", "dialog", "noscript")
WIDGET = "application/vnd.jupyter.widget-view+json"
INSTEAD = '<p class="scirep-print-note">On the page an explorer stands here; on paper, its plain tables.</p>'
STYLE = (Path(__file__).parent / "print.css").read_text(encoding="utf-8")
IDS = ("id", "for", "aria-labelledby", "aria-describedby", "aria-controls", "headers")
LOCAL = re.compile(r"url\(\s*(['\"]?)#")
ATTRIBUTE = re.compile(r"([^\s=/<>\"']+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>]+)")


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


class _Contents(HTMLParser):
    """The site's own table of contents, from the side bar of one of its pages; and the files its head names."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.entries: list[Entry] = []
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.title = ""
        self._part, self._link, self._words = "", "", list[str]()
        self._in = self._caption = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = {key: value or "" for key, value in attrs}
        kind = a.get("class", "").split()
        if tag == "nav":
            self._in = "bd-links" in kind
        if tag == "link" and a.get("rel") == "stylesheet":
            self.styles.append(a["href"])
        if tag == "script" and "mathjax" in a.get("src", "").lower():
            self.scripts.append(a["src"])
        if (self._in and tag == "a") or "caption-text" in kind or "logo__title" in kind:
            self._words = []
            self._link, self._caption = a.get("href", ""), "caption-text" in kind

    def handle_data(self, data: str) -> None:
        self._words.append(data)

    def handle_endtag(self, tag: str) -> None:
        words = " ".join("".join(self._words).split())
        if tag == "a" and self._in and self._link:
            self.entries.append(Entry(urlsplit(self._link).path, words, self._part))
        elif tag == "span" and self._caption:
            self._part, self._caption = words, False
        elif tag == "p" and not self.title and not self._in:
            self.title = words
        elif tag == "nav":
            self._in = False
        self._link = "" if tag == "a" else self._link


class _Article(HTMLParser):
    """The article of one page, rewritten to stand among the others."""

    def __init__(
        self, text: str, number: int, linked: Callable[[str], str | None], placed: Callable[[str], str]
    ) -> None:
        super().__init__(convert_charrefs=False)
        self.prefix, self.linked, self.placed = f"p{number}", linked, placed
        self.ids: set[str] = set()
        self.out: list[str] = []
        self._in, self._skip, self._depth = False, "", 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]], closed: bool = False) -> None:
        a = {key: value or "" for key, value in attrs}
        kind = a.get("class", "").split()
        if not self._in:
            self._in = tag == "article" and "bd-article" in kind
            return
        if self._skip:
            self._depth += tag == self._skip and not closed
            return
        if tag in GONE or set(kind) & set(LEFT_OUT):
            if a.get("type") == WIDGET:
                self.out.append(INSTEAD)
            if tag not in VOID and not closed:
                self._skip, self._depth = tag, 1
            return
        self.out.append(self._rewritten(tag, self.get_starttag_text() or ""))

    def _rewritten(self, tag: str, text: str) -> str:
        def change(match: re.Match[str]) -> str:
            name, value = match[1].lower(), html.unescape(match[2].strip("\"'"))
            if name in IDS:
                names = [f"{self.prefix}-{one}" for one in value.split()]
                self.ids.update(names if name == "id" else ())
                return f'{match[1]}="{html.escape(" ".join(names))}"'
            if name in ("href", "xlink:href") and tag in ("a", "area"):
                target = self.linked(value)
                return "" if target is None else f'href="{html.escape(target)}"'
            if name in ("href", "xlink:href", "src") and value.startswith("#"):
                return f'{match[1]}="#{self.prefix}-{html.escape(value[1:])}"'
            if name in ("src", "href", "xlink:href", "poster") and not urlsplit(value).scheme:
                return f'{match[1]}="{html.escape(self.placed(value))}"'
            if LOCAL.search(value):
                own = LOCAL.sub(lambda found: f"{found[0]}{self.prefix}-", value)
                return f'{match[1]}="{html.escape(own)}"'
            return match[0]

        end = "<details open" if tag == "details" and not re.search(r"\sopen\b", text) else f"<{tag}"
        return end + ATTRIBUTE.sub(change, text[len(tag) + 1 :])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs, closed=True)

    def handle_endtag(self, tag: str) -> None:
        if self._skip:
            self._depth -= tag == self._skip
            if not self._depth:
                self._skip = ""
        elif self._in and tag == "article":
            self._in = False
        elif self._in:
            self.out.append(f"</{tag}>")

    def _append(self, text: str) -> None:
        if self._in and not self._skip:
            self.out.append(text)

    def handle_data(self, data: str) -> None:
        self._append(data)

    def handle_entityref(self, name: str) -> None:
        self._append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._append(f"&#{name};")


def contents(site: Path) -> tuple[str, list[Entry], _Contents, Path]:
    """Return the book's title, its pages in reading order, the parsed opening page and its path."""
    opening = site / "index.html"
    if not opening.is_file():
        raise ConfigError(f"{site}: no built book here. Make it with `scirep book`, or name its folder")
    text = opening.read_text(encoding="utf-8")
    moved = re.search(r"url=([^\"']+\.html)", text) if "http-equiv" in text else None
    if moved:
        opening = site / moved[1]
        text = opening.read_text(encoding="utf-8")
    found = _Contents(text)
    first = Entry(opening.relative_to(site).as_posix(), "About this book", "")
    entries = [first, *(entry for entry in found.entries if entry.page and entry.page != first.page)]
    if len(entries) < 2:
        raise DataError(
            opening, None, "no table of contents in its side bar", "Build the book again with `scirep book`"
        )
    return found.title or "The book", entries, found, opening


def print_page(site: Path, api: bool = False) -> Printed:
    """Return the whole book as one page; `api`: with the reference of the library's functions.

    Raises ConfigError for a folder without a book, DataError for a damaged one.
    """
    site = site.resolve()
    title, every, head, opening = contents(site)
    entries = [entry for entry in every if api or not entry.page.startswith(API)]
    number = {entry.page: n for n, entry in enumerate(entries, start=1)}
    articles = [_article(site, entry.page, number) for entry in entries]
    known = {f"p{n}" for n in number.values()}.union(*(article.ids for article in articles))
    body = "\n".join(
        f'<article class="bd-article" id="p{n}">{_without_dead_links("".join(article.out), known)}</article>'
        for n, article in enumerate(articles, start=1)
    )
    styles = "\n".join(f'<link rel="stylesheet" href="{_address(opening.parent, name)}">' for name in head.styles)
    scripts = "\n".join(f'<script src="{_address(opening.parent, name)}"></script>' for name in head.scripts)
    maths = '<script>window.MathJax = {options: {processHtmlClass: "math", ignoreHtmlClass: "scirep-print"}}</script>'
    page = f"""<!DOCTYPE html>
<html lang="en" data-theme="light" data-mode="light"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
{styles}
<style>{STYLE}</style>
{maths}
{scripts}
</head><body class="scirep-print">
{_cover(title, entries)}
{_listing(entries, number)}
<main class="bd-main"><div class="bd-content"><div class="bd-article-container">
{body}
</div></div></main></body></html>
"""
    return Printed(title, page, tuple(entries))


def _article(site: Path, page: str, number: dict[str, int]) -> _Article:
    path = site / page
    if not path.is_file():
        raise DataError(path, None, "the contents name this page, and it is not there", "Build the book again")
    here = PurePosixPath(page).parent

    def linked(url: str) -> str | None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "mailto"):
            return url
        if parts.scheme or parts.netloc:
            return None  # data: a file that a page carries within it
        to = posixpath.normpath(here / unquote(parts.path)) if parts.path else page
        if to not in number:
            return None
        return f"#p{number[to]}" + (f"-{unquote(parts.fragment)}" if parts.fragment else "")

    article = _Article(path.read_text(encoding="utf-8"), number[page], linked, lambda url: _address(path.parent, url))
    if not article.out:
        raise DataError(path, None, "holds no article", "Build the book again with `scirep book`")
    return article


def _address(folder: Path, url: str) -> str:
    """Return the address on this machine of what a page in `folder` calls `url`."""
    return (folder / unquote(urlsplit(url).path)).resolve().as_uri()


def _without_dead_links(text: str, known: set[str]) -> str:
    """Take the target from links to what is left out, such as a number's origin."""

    def keep(match: re.Match[str]) -> str:
        return match[0] if html.unescape(match[1]) in known else ""

    return re.sub(r'(?<=\s)href="#([^"]*)"', keep, text)


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
