"""The builder of the published page, on made-up chapters: what goes in, what is refused, what survives a failure."""

from __future__ import annotations

import copy
import hashlib
import importlib.metadata
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
import small_book
import yaml
from small_book import cell, chapter, text, write
from small_files import contents

from scirep_core import book
from scirep_core.kit.errors import DataError, ScirepError

VENDOR = book.ROOT / "book" / "_vendor"
PAGES = ["csfcube/first", "csfcube/second", "csfcube/demonstration"]


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    with small_book.few_names():
        yield


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_book.shared(tmp_path_factory)[0]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_book.shared(tmp_path_factory)[1]


def test_contents_follow_parts_and_order(executed: Path, tmp_path: Path) -> None:
    found = book.assemble(executed, tmp_path / "source")
    toc = yaml.safe_load((tmp_path / "source" / "_toc.yml").read_text())
    assert [c.page for c in found] == PAGES
    assert [part["caption"] for part in toc["parts"]] == ["About", book.PARTS["csfcube"], "Reference", "Back matter"]
    assert [entry["file"] for entry in toc["parts"][1]["chapters"]] == ["csfcube/index", *PAGES]
    landing = (tmp_path / "source" / "csfcube" / "index.md").read_text()
    mark = '<span class="scirep-mark way1" aria-hidden="true">✓</span>'
    judged = f"{mark} <b>Holds:</b> gnus graze on real papers<br><small>section 3</small>"
    assert f"{{doc}}`First </csfcube/first>`<br>{judged}" in landing and "% scirep" not in landing
    assert "{doc}`Second </csfcube/second>`: Where do zebras graze?<br><small>section" in landing
    assert not (tmp_path / "source" / "_run").exists()


def test_parts_come_in_the_papers_order_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "scimult/a", chapter("A", 1, paper="scimult"))
    write(tmp_path, "csfcube/b", chapter("B", 9))
    toc = book.toc(book.chapters(tmp_path), book.ROOT / "book")
    assert [p["caption"] for p in toc["parts"]][1:-2] == [book.PARTS["csfcube"], book.PARTS["scimult"]]


def test_published_notebook_runs_again_and_shows_no_plumbing() -> None:
    stderr = {"output_type": "stream", "name": "stderr", "text": "12/50"}
    stdout = {"output_type": "stream", "name": "stdout", "text": "said"}
    raw = chapter(
        "T", 1, cell("n = 1", "parameters"), cell("n = 2", "injected-parameters"), cell("secret()", "remove-cell"),
        cell("show()", outputs=[stderr, stdout]), cell("quiet()", "remove-input"),
    )  # fmt: skip
    before = copy.deepcopy(raw)
    published = book.publishable(raw, Path("t.ipynb"))
    assert raw == before
    code = [c for c in published["cells"] if c["cell_type"] == "code"]
    assert [(c["source"], c["metadata"]["tags"]) for c in code] == [
        ("n = 1", ["parameters", "remove-cell"]), ("secret()", ["remove-cell"]),
        ("show()", ["hide-input"]), ("quiet()", ["remove-input"]),
    ]  # fmt: skip
    assert code[2]["outputs"] == [stdout] and not any("papermill" in c["metadata"] for c in published["cells"])
    first = published["cells"][0]
    assert first["metadata"] == {"tags": ["remove-cell"]} and "`papermill t.ipynb out.ipynb`" in first["source"]
    assert set(published["metadata"]) == {"scirep", "kernelspec"}


def widget_run(run: int) -> dict[str, Any]:
    first, second = (hashlib.md5(f"{name}{run}".encode()).hexdigest() for name in "ab")
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": second, "version_major": 2, "version_minor": 0}}
    output = {"output_type": "display_data", "data": view, "metadata": {}}
    raw = chapter("W", 1, cell("panel()", outputs=[output], run=run))
    models = {second: {"state": {"layout": f"IPY_MODEL_{first}"}}, first: {"state": {}}}
    if run:
        models = dict(reversed(models.items()))
    raw["metadata"]["widgets"] = {book.WIDGETS: {"state": models, "version_major": 2}}
    return raw


def test_two_runs_of_a_chapter_publish_the_same_bytes() -> None:
    one, two = (json.dumps(book.publishable(widget_run(run), Path("w.ipynb"))) for run in (0, 1))
    assert one == two
    state = json.loads(one)["metadata"]["widgets"][book.WIDGETS]["state"]
    shown = json.loads(one)["cells"][2]["outputs"][0]["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert state[shown]["state"]["layout"].removeprefix("IPY_MODEL_") in state


ERROR = {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "no"}


@pytest.mark.parametrize(
    ("notebook", "name", "says"),
    [
        ({"cells": [], "metadata": {}}, "csfcube/x", "metadata.scirep needs paper, title and order"),
        (chapter("T", 1, paper="csfcub"), "csfcube/x", "did you mean 'csfcube'"),
        (chapter("T", 1), "scimult/x", "the notebook's folder 'scimult'"),
        (chapter("T", 1, cell("1/0", outputs=[ERROR])), "csfcube/x", "a cell failed: ZeroDivisionError: no"),
    ],
)
def test_bad_chapters_are_named(notebook: dict[str, Any], name: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, notebook)
    with pytest.raises(DataError) as error:
        book.chapters(tmp_path)
    assert says in str(error.value) and str(path) in str(error.value) and "\n" not in str(error.value)


def test_what_cannot_be_published_is_told(tmp_path: Path) -> None:
    raw = widget_run(0)
    next(iter(raw["metadata"]["widgets"][book.WIDGETS]["state"].values()))["state"]["rows"] = "x" * book.MAX_STATE
    with pytest.raises(DataError, match="show fewer rows"):
        book.publishable(raw, tmp_path / "w.ipynb")
    with pytest.raises(ScirepError, match="no executed chapters here"):
        book.build(tmp_path / "nowhere", tmp_path / "html", progress=lambda line: None)
    with pytest.raises(ScirepError, match=r"no intro\.md here"):
        book.assemble(tmp_path, tmp_path / "work", sources=tmp_path)
    assert not (tmp_path / "html").exists()
    with pytest.raises(DataError, match=r"a\.md:2: unknown line '% scirep: count'\. did you mean 'counts'"):
        book._fill("# A\n% scirep: count\n% scirep: panel beyond/x\n", Path("a.md"), [], [], Path())


def test_a_link_to_a_chapter_that_is_not_built_becomes_its_text(executed: Path, tmp_path: Path) -> None:
    page = "At {doc}`this one </beyond/own_paper>`, {doc}`the part </beyond/index>`, {doc}`here </how-to-read>`."
    said = "At this one, {doc}`the part </beyond/index>`, {doc}`here </how-to-read>`."
    assert book._fill(page, Path("a.md"), [], [], Path()) == said
    linked = text("See {doc}`/csfcube/first`, {doc}`/scirepeval/tasks` and {doc}`the tasks </scirepeval/tasks>`.")
    write(tmp_path / "run", "csfcube/third", chapter("Third", 3, linked))
    shutil.copy(executed / "csfcube" / "first.ipynb", tmp_path / "run" / "csfcube")
    book.assemble(tmp_path / "run", tmp_path / "source")
    cells = json.loads((tmp_path / "source" / "csfcube" / "third.ipynb").read_text())["cells"]
    assert "See {doc}`/csfcube/first`, `scirepeval/tasks` and the tasks." in [one["source"] for one in cells]


@pytest.mark.parametrize(
    ("section", "said"),
    [("5", "section 5"), ("6, G", "section 6, G"), ("4.1, 4.2, G", "sections 4.1, 4.2, G"),
     ("3 and 6", "sections 3 and 6"), ("appendix C", "appendix C"),
     ("our own", ""), ("", "")],
)  # fmt: skip
def test_where_a_chapter_belongs_is_said_in_words(section: str, said: str) -> None:
    assert book._place(section) == said


def test_site_is_whole(built: Path) -> None:
    page = (built / "csfcube" / "first.html").read_text(encoding="utf-8")
    assert "First" in page and "n = 1" not in page
    assert (built / "csfcube" / "first.data" / "figures" / "f.csv").read_text() == "a,b\n1,2\n"
    assert (built / "vendor" / "requirejs" / "require.js").is_file()
    assert book.check(built) == []
    assert [p.name for p in built.parent.iterdir() if p.name.startswith(".")] == []


def test_search_from_disk_shows_excerpts(built: Path) -> None:
    """The same words stand in the excerpt of a book from disk as where pages may read one another."""
    found = []
    with chromium.browser() as started, chromium.served(built) as origin:
        page = started.new_page()
        for place in (built.as_uri() + "/", origin):
            page.goto(f"{place}search.html?q=quagga")
            page.wait_for_selector("#search-results p.context")
            first = page.locator("#search-results li a").first.inner_text()
            found.append((first, page.locator("p.context").first.inner_text()))
    assert [first for first, _ in found] == ["Second"] * 2
    assert all("a quagga grazes <b>here</b> & there" in excerpt for _, excerpt in found)
    assert "Rising" not in found[0][1], "a drawing's title is no text of the page"


class BuiltAgain(Exception):
    """Jupyter Book is called."""


def test_only_what_changed_the_book_builds_it_again(built, executed, tmp_path, monkeypatch):
    def called(*_: object) -> Path:
        raise BuiltAgain

    monkeypatch.setattr(book, "_jupyter_book", called)
    again = tmp_path / "embedded"
    shutil.copytree(executed, again)
    path = again / "csfcube" / "second.ipynb"
    rerun = json.loads(path.read_text())
    rerun["metadata"]["papermill"]["duration"] = 99
    path.write_text(json.dumps(rerun))
    stamp, said = (built / book.STAMP).stat().st_mtime_ns, list[str]()
    book.build(again, built, said.append)
    assert (built / book.STAMP).stat().st_mtime_ns == stamp
    # lost between two renames, it comes back
    shutil.copytree(built, tmp_path / ".html.0123abcd.old")
    book.build(executed, tmp_path / "html", said.append)
    assert said == ["book: nothing changed, 3 chapters"] * 2 and contents(tmp_path / "html") == contents(built)
    path.unlink()
    with pytest.raises(BuiltAgain):
        book.build(again, built, said.append)
    assert said[2:] == ["book: building 2 chapters"]
    (tmp_path / "html" / "coverage.html").write_text("cut")
    with pytest.raises(BuiltAgain):
        book.build(executed, tmp_path / "html", said.append)


def test_a_damaged_or_older_book_is_replaced_by_the_same_bytes(built: Path, executed: Path, tmp_path: Path) -> None:
    site = tmp_path / "elsewhere" / "html"
    shutil.copytree(built, site)
    (site / "coverage.html").unlink()
    (site / "csfcube" / "gone.html").write_text("of an older book")
    book.build(executed, site, progress=lambda line: None)
    assert contents(site) == contents(built)


def test_failed_build_keeps_the_last_good_book(built: Path, executed: Path, tmp_path: Path) -> None:
    site, broken = tmp_path / "html", tmp_path / "embedded"
    shutil.copytree(built, site)
    shutil.copytree(executed, broken)
    write(broken, "csfcube/third", chapter("Third", 3, text("See {cite}`nobody1900`.")))
    with pytest.raises(ScirepError) as error:
        book.build(broken, site, progress=lambda line: None)
    assert "nobody1900" in str(error.value) and "last good book stays" in str(error.value)
    assert "nobody1900" in (tmp_path / "html.log").read_text()
    assert contents(site) == contents(built)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["embedded", "html", "html.log"]


CLEAN = """<!DOCTYPE html><html lang="en"><head><title>t</title><link rel="stylesheet" href="a.css"></head><body><h1>One</h1>
<h2 id="two">Two</h2><p><a href="https://example.org/">out</a> <a href="#two">in</a> <a href="b.html#x">b</a>
<a download="f.csv" href="data:text/csv;base64,YQ==">csv</a></p><label for="n">N</label><input id="n">
<label>M <select></select></label>
<img src="i.png" alt="A rising line"><button><i aria-hidden="true"></i>Go</button>
<figure><svg role="img"><title>Falling</title></svg></figure>PLANT</body></html>"""
FAULTS = {
    "<script src='https://cdn.example.org/x.js'></script>": "fetches https://cdn.example.org/x.js from outside",
    "<script src='//cdn.example.org/x.js'></script>": "from outside the site",
    "<link rel='preload stylesheet' href='https://fonts.example.org/f.css'>": "from outside the site",
    "<style>@import 'https://fonts.example.org/f.css';</style>": "from outside the site",
    "<p style='background:url(https://example.org/i.png)'>x</p>": "from outside the site",
    "<img src='i.png' srcset='i.png 1x, https://example.org/j.png 2x' alt='A line'>": "from outside the site",
    "<script src='missing.js'></script>": "fetches missing.js, which is not in the site",
    "<img src='../../etc/x.png' alt='A line'>": "which is not in the site",
    "<a href='missing.html'>x</a>": "link to missing.html, which does not exist",
    "<a href='b.html#nowhere'>x</a>": "no such place on that page",
    "<a href='#nowhere'>x</a>": "no such place on that page",
    "<a href='javascript:void(0)'>x</a>": "neither a web address nor a page",
    "<a href='file:///tmp/x'>x</a>": "neither a web address nor a page",
    "<img src='i.png'>": "no real alternative text",
    "<img src='i.png' alt='_images/3f2a.png'>": "no real alternative text",
    "<input id='lonely'>": "<input> has no label",
    "<textarea></textarea>": "<textarea> has no label",
    "<button><i class='icon'></i></button>": "<button> has no name",
    "<figure><svg><path d='M0 0'/></svg></figure>": "<svg> in a figure has no description",
    "<h4>deep</h4>": "<h4> follows a heading of level 2",
    "<h1>again</h1>": "<h1> follows a heading of level 2",
    "<p id='two'>x</p>": "id 'two' is given twice",
}


@pytest.mark.parametrize("plant", ["", *FAULTS])
def test_check_finds_a_planted_fault_and_no_other(plant: str, tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("p { color: red }")
    (tmp_path / "i.png").write_bytes(b"")
    (tmp_path / "b.html").write_text("<html lang='en'><h1 id='x'>B</h1></html>")
    (tmp_path / "a.html").write_text(CLEAN.replace("PLANT", plant))
    found = book.check(tmp_path)
    assert len(found) == bool(plant) and all(FAULTS[plant] in one and one.startswith("a.html:") for one in found)


def test_check_reads_style_sheets_and_language(tmp_path: Path) -> None:
    (tmp_path / "i.png").write_bytes(b"")
    (tmp_path / "a.html").write_text("<html><h1>A</h1></html>")
    sources = "url('https://fonts.example.org/f.woff2'), url(gone.woff2), url(i.png), url(data:,x)"
    (tmp_path / "a.css").write_text(f"@font-face {{ src: {sources} }}")
    assert sorted(f.split(": ", 1)[1] for f in book.check(tmp_path)) == [
        "<html> does not say its language",
        "fetches gone.woff2, which is not in the site",
        "fetches https://fonts.example.org/f.woff2 from outside the site",
    ]


def test_vendored_files_are_the_ones_listed_and_fit_the_installed_packages() -> None:
    packages = json.loads((VENDOR / "vendor.json").read_text(encoding="utf-8"))
    assert all(package["name"] and package["version"] and package["licence"] for package in packages)
    found = {name: hashlib.sha256(held).hexdigest() for name, held in contents(VENDOR / "vendor").items()}
    assert found == {name: digest for one in packages for name, digest in one["files"].items()}
    assert {p.name for p in VENDOR.iterdir()} == {"vendor", "vendor.json"}
    assert max(p.stat().st_size for p in VENDOR.rglob("*") if p.is_file()) < 4_000_000
    for folder in (p for p in (VENDOR / "vendor").iterdir() if p.is_dir()):
        assert (folder / "LICENSE").is_file(), f"{folder.name} has no licence beside it"
    versions = {package["name"]: package["version"] for package in packages}
    assert versions["anywidget"] == importlib.metadata.version("anywidget")
    assert importlib.metadata.version("ipywidgets").startswith("8.")  # html-manager 1.0.x speaks the protocol of 8
