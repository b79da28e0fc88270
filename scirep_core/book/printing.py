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
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from scirep_core.kit.errors import ConfigError, DataError

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
    """Return the address on this machine of what a page in `folder` calls `url`."""
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
