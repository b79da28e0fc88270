"""The book on paper: one page made of all, and the PDF that Chromium prints of it; on two small sites."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import chromium
import pytest
import small_book

from scirep_core.book import pdf
from scirep_core.book.pdf import contents, print_page
from scirep_core.kit.errors import ConfigError, DataError, ScirepError

HEAD = '<html><head><link rel="stylesheet" href="{up}_static/a.css"></head><body>'
SIDE = """<a class="logo"><p class="title logo__title">A small book</p></a>
<nav class="bd-links"><ul><li><a href="#">Home</a></li></ul><p class="caption"><span class="caption-text">Part one</span></p>
<ul><li><a class="reference internal" href="one/a.html">First &amp; foremost</a></li>
<li><a href="one/b.html">Second</a></li></ul></nav>"""
RICH = """<h1 id="top">A &lt;tag&gt; &#8212; caf\u00e9</h1><a class="headerlink" href="#top">#</a>
<img src="../pic.svg" alt="x"><button>press</button>
<details class="admonition hide above-input"><summary>code</summary><details><p>deep code</p></details></details>
<details class="scirep-params"><summary>parameters</summary><p>seed 0</p></details>
<svg viewBox="0 0 1 1" aria-labelledby="t"><title id="t">drawn</title><clipPath id="c"><path d="M0 0"/></clipPath>
<use xlink:href="#c"/><g clip-path="url(#c)" style="fill: url('#c')"/></svg>
<a class="scirep-number" href="#o-1" title="a &quot;quote&quot;">43.19</a>
<details class="scirep-origins"><summary>origins</summary><p id="o-1">kept away</p></details>
<script type="application/vnd.jupyter.widget-view+json">{"a": "</p>"}</script><script>no();</script>
<a href="../rows.jsonl">rows</a> <a href="https://example.org/x?a=1&amp;b=2">out</a> <a href="#top">up</a>"""
PLAIN = '<h1 id="top">B</h1><p id="there">there</p><a href="a.html">page a</a><a href="../intro.html">home</a>'


def article(text: str, up: str = "../") -> str:
    main = f'<main><article class="bd-article">{text}</article><footer>no footer</footer></main>'
    return f"{HEAD.format(up=up)}{SIDE}{main}</body></html>"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    (tmp_path / "index.html").write_text('<meta http-equiv="Refresh" content="0; url=intro.html" />')
    (tmp_path / "intro.html").write_text(
        article('<h1>Intro</h1><a href="one/b.html#there">to b</a>', ""), encoding="utf-8"
    )
    (tmp_path / "one" / "a.html").write_text(article(RICH), encoding="utf-8")
    (tmp_path / "one" / "b.html").write_text(article(PLAIN), encoding="utf-8")
    return tmp_path


def test_articles_stand_in_the_sites_order_and_ids_and_links_follow(small):
    title, entries, _, opening = contents(small)
    assert (title, opening.name) == ("A small book", "intro.html")
    assert [tuple(entry) for entry in entries] == [
        ("intro.html", "About this book", ""), ("one/a.html", "First & foremost", "Part one"), ("one/b.html", "Second", "Part one"),
    ]  # fmt: skip
    page = print_page(small).html
    assert re.findall(r"<h1[^>]*>(.*?)</h1>", page) == [
        "A small book", "Contents", "Intro", "A &lt;tag&gt; — caf\u00e9", "B"
    ]  # fmt: skip
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert [name for name, n in Counter(ids).items() if n > 1] == []
    assert {"p1", "p2", "p3", "p2-top", "p3-top", "p2-c", "p2-t", "p3-there"} <= set(ids)
    dead = set(re.findall(r'href="#([^"]*)"', page)) - set(ids)
    assert dead == set()
    for piece in ('<a href="#p3-there">to b</a>', '<a href="#p2">page a</a>', '<a href="#p1">home</a>', '<a href="#p2-top">up</a>',
                  'aria-labelledby="p2-t"', 'xlink:href="#p2-c"', 'clip-path="url(#p2-c)"',
                  'href="https://example.org/x?a=1&amp;b=2"', f'src="{(small / "pic.svg").as_uri()}"',
                  f'href="{(small / "_static" / "a.css").as_uri()}"'):  # fmt: skip
        assert piece in page, piece
    assert "url('#p2-c')" in page
    assert """<a class="scirep-number" title='a "quote"'>43.19</a>""" in page  # its origin is left out
    assert "<a>rows</a>" in page
    # what only a screen can use is left out
    for gone in ("press", "deep code", "kept away", "no();", ">#</a>", "no footer", "widget-view", "caption-text"):
        assert gone not in page, gone
    assert '<details class="scirep-params" open="">' in page and "an explorer stands here" in page


def test_the_reference_of_functions_is_printed_when_asked_for(small):
    (small / "reference").mkdir()
    (small / "reference" / "api-data.html").write_text(article("<h1>Data</h1>"))
    second, more = '<li><a href="one/b.html">', '<li><a href="reference/api-data.html"><span>Data</span></a></li>'
    for name in ("intro.html", "one/a.html"):
        (small / name).write_text((small / name).read_text().replace(second, more + second))
    assert [entry.page for entry in print_page(small).entries] == ["intro.html", "one/a.html", "one/b.html"]
    entries = print_page(small, api=True).entries
    assert [entry.page for entry in entries][2] == "reference/api-data.html"
    assert {entry.part for entry in entries[1:]} == {"Part one"}  # a span in a link is no heading


def test_a_folder_without_a_book_and_a_damaged_one_are_named(small, tmp_path):
    with pytest.raises(ConfigError, match="no built book here"):
        print_page(tmp_path / "one")
    (small / "one" / "b.html").write_text("<html></html>")
    with pytest.raises(DataError, match=r"b\.html: holds no article"):
        print_page(small)
    (small / "one" / "b.html").unlink()
    with pytest.raises(DataError, match=r"b\.html: the contents name this page"):
        print_page(small)
    (small / "intro.html").write_text("<html></html>")
    with pytest.raises(DataError, match="no table of contents"):
        print_page(small)


NEW = "pdf --site . --out new.pdf"


@pytest.mark.parametrize(
    ("words", "browser", "message"),
    [
        ("pdf --site one", sys.executable, "no built book here"),
        ("pdf --out one", sys.executable, "one: is a folder"),
        ("check one", "", "no built book here"),
        (NEW, "", "no Chromium on this machine to print with. Install one (Debian: apt-get install"),
        (NEW, "/no/such/program", "SCIREP_CHROMIUM=/no/such/program is no program here"),
    ],
)
def test_what_lacks_ends_with_one_line(scirep, monkeypatch, small, words, browser, message):
    monkeypatch.chdir(small)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("SCIREP_CHROMIUM", browser)
    code, out, err = scirep(*words.split())
    assert (code, out, len(err.strip().splitlines())) == (2, "", 1), err
    assert message in err and not (small / "new.pdf").exists()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chromium.needed()
    return small_book.shared(tmp_path_factory)[1]


class Looked(NamedTuple):
    """A printed book: the PDF, and what the page held when it was printed last."""

    data: bytes
    made: pdf.Made
    said: list[str]
    text: str
    listed: dict[str, int]


LISTED = """[...document.querySelectorAll('.scirep-contents a')]
  .map((a) => [a.getAttribute('href').slice(1), +a.querySelector('b').textContent])"""


def plain(text: str) -> str:
    """Return a text without white space and ligatures."""
    return unicodedata.normalize("NFKC", "".join(text.split()))


@pytest.fixture(scope="module")
def printed(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Looked:
    said, seen, before = list[str](), list[Any](), pdf._printed

    def looking(tab: Any, whole: bool = True) -> bytes:
        seen[:] = plain(tab.inner_text("body")), dict(tab.evaluate(LISTED))
        return before(tab, whole)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pdf, "_printed", looking)
        made = pdf.pdf(site, tmp_path_factory.mktemp("pdf") / "book.pdf", said.append)
    return Looked(made.path.read_bytes(), made, said, *seen)


@pytest.mark.site
def test_every_page_of_the_site_is_printed_and_begins_where_the_contents_say(site, printed):
    entries, places = print_page(site).entries, pdf.places(printed.data)
    for entry in entries:
        text = (site / entry.page).read_text(encoding="utf-8").partition('<article class="bd-article">')[2]
        text = re.sub(r"<details.*</details>", "", text.partition("</article>")[0], flags=re.DOTALL)
        said = re.findall(r"<(?:p|h[1-4])>([^<&]{12,})<", text)
        assert said or "<h1" in text
        assert [words for words in said if plain(words) not in printed.text] == [], entry.page
    starts = [places[f"p{n}"] for n in range(1, len(entries) + 1)]
    assert starts == sorted(set(starts)), "each on a page of its own"
    assert [*printed.listed.values()] == starts
    assert starts[-1] <= printed.made.pages == len(pdf.page_order(printed.data))
    assert any(line.startswith("pdf: printing") for line in printed.said)
    for words in ("fabs_tfidf", "38.1–50.2", "anexplorerstandshere"):  # the table and its intervals
        assert words in printed.text
    for words in ("Byhand.", "published:csfcube:CS-T3"):  # how a figure was made, origins
        assert words not in printed.text


@pytest.mark.site
def test_the_outline_lists_every_heading_once_and_what_is_wide_is_made_to_fit(printed):
    titles = re.findall(rb"/Title (?:\((.*?)(?<!\\)\)|<([0-9A-Fa-f]+)>)", printed.data, re.DOTALL)
    found = [bytes.fromhex(wide.decode()).decode("utf-16") if wide else text.decode("latin-1") for text, wide in titles]
    assert {"The SciRep book", "Contents", "Demonstration", "Explore", "How to cite"} <= set(found)
    assert not [title for title in found if len(title) > 3 and title[: len(title) // 2] * 2 == title]
    made = printed.made
    assert made.formulas == 2
    assert made.smaller >= 1 and made.smallest > 0.4  # thirteen columns


@pytest.mark.site
def test_a_page_that_wants_something_from_outside_is_not_printed(small, tmp_path):
    chromium.needed()
    (small / "pic.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    (small / "_static").mkdir()
    (small / "_static" / "a.css").write_text("body { color: black }")
    assert pdf.pdf(small, tmp_path / "good.pdf", lambda line: None).pages == 5
    page = small / "one" / "b.html"
    page.write_text(page.read_text().replace("<p id", '<img src="https://example.org/x.png" alt="x"><p id'))
    with pytest.raises(ScirepError, match=r"asks for https://example\.org/x\.png, which is no file of the site"):
        pdf.pdf(small, tmp_path / "bad.pdf", lambda line: None)
    assert not (tmp_path / "bad.pdf").exists()


def test_check_tells_faults_with_exit_code_1(scirep, tmp_path):
    page = tmp_path / "index.html"
    page.write_text('<html lang="en"><h1>A</h1></html>')
    code, out, err = scirep("check", tmp_path)
    assert (code, out) == (0, "") and "no faults" in err
    page.write_text('<html lang="en"><h1>A</h1><img src="gone.png" alt="a gone one"></html>')
    code, out, err = scirep("check", tmp_path)
    assert code == 1 and "gone.png, which is not in the site" in out and "1 fault in" in err
