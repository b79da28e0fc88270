"""The builder of the published page, on made-up chapters: what goes in, what is refused, what survives a failure."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
import yaml
from small_book import few_names

from scirep_core import book
from scirep_core.kit.errors import DataError, ScirepError

VENDOR = book.ROOT / "book" / "_vendor"


def cell(source: str, *tags: str, outputs: list[dict[str, Any]] | None = None, run: int = 0) -> dict[str, Any]:
    """An executed code cell as papermill leaves it; `run` makes the traces of one run differ from another's."""
    times = {"start_time": f"2024-01-0{run + 1}T00:00:00", "duration": 0.1 + run}
    meta = {"tags": list(tags), "papermill": times, "execution": {"iopub.execute_input": times["start_time"]}}
    fields = {"cell_type": "code", "id": f"random-{run}-{len(source)}", "execution_count": 1}
    return {**fields, "metadata": meta, "source": source, "outputs": outputs or []}


def text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": "text", "metadata": {}, "source": source}


def html(body: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"text/html": body, "text/plain": "<HTML>"}, "metadata": {}}


def chapter(title: str, order: float, *cells: dict[str, Any], paper: str = "csfcube", **about: Any) -> dict[str, Any]:
    scirep = {"paper": paper, "section": "3", "title": title, "order": order, "exhibits": ["CS-T1"], **about}
    meta = {"scirep": scirep, "papermill": {"output_path": "/somewhere/out.ipynb", "duration": 3.2}}
    return {"cells": [text(f"# {title}"), *cells], "metadata": meta, "nbformat": 4, "nbformat_minor": 5}


def write(folder: Path, name: str, notebook: dict[str, Any]) -> Path:
    path = folder / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def contents(site: Path) -> dict[str, str]:
    files = (p for p in site.rglob("*") if p.is_file())
    return {p.relative_to(site).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    with few_names():
        yield


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "embedded"
    figure = (
        '<figure class="scirep-figure"><svg role="img"><title>Rising</title></svg><figcaption>F</figcaption></figure>'
    )
    shown = cell("show()", outputs=[html(figure)])
    write(
        folder,
        "csfcube/second",
        chapter(
            "Second",
            2,
            text("**The question.** Where do zebras graze?"),
            shown,
            text("Text with {cite:t}`csfcube2021`: a quagga grazes `<b>here</b>` & there."),
        ),
    )
    link = '<p>Take <a href="first.data/figures/f.csv" download>the data</a>.</p>'
    write(folder, "csfcube/first", chapter("First", 1, cell("n = 1", "parameters"), cell("go()", outputs=[html(link)])))
    data = folder / "csfcube" / "first.data" / "figures"
    data.mkdir(parents=True)
    (data / "f.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    answer = {"real": {"head": "Real papers say", "verdict": 1, "claim": "gnus graze"}}
    (folder / "csfcube" / "first.data" / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    write(folder, "failed/x.failed", {"not": "a chapter"})
    (folder / "own" / "csfcube").mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def built(executed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("site") / "html"
    assert book.build(executed, output, progress=lambda line: None) == output / "index.html"
    return output


# ---- reading chapters -----------------------------------------------------------------------------------------------


def test_contents_follow_parts_and_order(executed: Path, tmp_path: Path) -> None:
    found = book.assemble(executed, tmp_path / "source")
    toc = yaml.safe_load((tmp_path / "source" / "_toc.yml").read_text())
    assert [c.page for c in found] == ["csfcube/first", "csfcube/second"]
    captions = [part["caption"] for part in toc["parts"]]
    assert captions == ["About", book.PARTS["csfcube"], "Reference", "Back matter"]
    pages = [entry["file"] for entry in toc["parts"][1]["chapters"]]
    assert pages == ["csfcube/index", "csfcube/first", "csfcube/second"]
    landing = (tmp_path / "source" / "csfcube" / "index.md").read_text()
    judged = (
        '<span class="scirep-mark way1" aria-hidden="true">✓</span> gnus graze: <b>holds</b> on real papers<br><small>'
    )
    assert f"{{doc}}`First </csfcube/first>`<br>{judged}section 3</small>" in landing and "% scirep" not in landing
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


@pytest.mark.parametrize(
    ("notebook", "name", "says"),
    [
        ({"cells": [], "metadata": {}}, "csfcube/x", "metadata.scirep needs paper, title and order"),
        (chapter("T", 1, paper="csfcub"), "csfcube/x", "did you mean 'csfcube'"),
        (chapter("T", 1), "scimult/x", "the notebook's folder 'scimult'"),
        (
            chapter(
                "T", 1, cell("1/0", outputs=[{"output_type": "error", "ename": "ZeroDivisionError", "evalue": "no"}])
            ),
            "csfcube/x",
            "a cell failed: ZeroDivisionError: no",
        ),
    ],
)
def test_bad_chapters_are_named(notebook: dict[str, Any], name: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, notebook)
    with pytest.raises(DataError) as error:
        book.chapters(tmp_path)
    assert says in str(error.value) and str(path) in str(error.value) and "\n" not in str(error.value)


def test_too_much_widget_state_is_refused(tmp_path: Path) -> None:
    raw = widget_run(0)
    next(iter(raw["metadata"]["widgets"][book.WIDGETS]["state"].values()))["state"]["rows"] = "x" * book.MAX_STATE
    with pytest.raises(DataError, match="show fewer rows"):
        book.publishable(raw, tmp_path / "w.ipynb")


def test_missing_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ScirepError, match="no executed chapters here"):
        book.build(tmp_path / "nowhere", tmp_path / "html", progress=lambda line: None)
    with pytest.raises(ScirepError, match=r"no intro\.md here"):
        book.assemble(tmp_path, tmp_path / "work", sources=tmp_path)
    assert not (tmp_path / "html").exists()


# ---- building -------------------------------------------------------------------------------------------------------


def test_a_hand_written_link_to_a_chapter_that_is_not_built_becomes_its_text():
    text = (
        "Look at {doc}`this one </beyond/own_paper>` and {doc}`the part </beyond/index>`, {doc}`here </how-to-read>`."
    )
    said = "Look at this one and {doc}`the part </beyond/index>`, {doc}`here </how-to-read>`."
    assert book._fill(text, Path("a.md"), [], [], Path()) == said


def test_a_chapters_link_to_one_that_is_not_built_becomes_its_text(executed: Path, tmp_path: Path) -> None:
    linked = text("See {doc}`/csfcube/first`, {doc}`/scirepeval/tasks` and {doc}`the tasks </scirepeval/tasks>`.")
    write(tmp_path / "run", "csfcube/third", chapter("Third", 3, linked))
    shutil.copy(executed / "csfcube" / "first.ipynb", tmp_path / "run" / "csfcube")
    book.assemble(tmp_path / "run", tmp_path / "source")
    cells = json.loads((tmp_path / "source" / "csfcube" / "third.ipynb").read_text())["cells"]
    assert "See {doc}`/csfcube/first`, `scirepeval/tasks` and the tasks." in [cell["source"] for cell in cells]


@pytest.mark.parametrize(
    ("section", "said"),
    [("5", "section 5"), ("6, G", "section 6, G"), ("4.1, 4.2, G", "sections 4.1, 4.2, G"),
     ("3 and 6", "sections 3 and 6"), ("appendix C", "appendix C"),
     ("our own", ""), ("", "")],
)  # fmt: skip
def test_where_a_chapter_belongs_is_said_in_words(section: str, said: str) -> None:
    assert book._place(section) == said


def test_a_line_that_asks_for_what_nobody_makes_is_told():
    with pytest.raises(DataError, match=r"a\.md:2: unknown line '% scirep: count'\. did you mean 'counts'"):
        book._fill("# A\n% scirep: count\n% scirep: panel beyond/x\n", Path("a.md"), [], [], Path())


def test_site_is_whole(built: Path) -> None:
    page = (built / "csfcube" / "first.html").read_text(encoding="utf-8")
    assert "First" in page and "n = 1" not in page
    assert (built / "csfcube" / "first.data" / "figures" / "f.csv").read_text() == "a,b\n1,2\n"
    assert (built / "vendor" / "requirejs" / "require.js").is_file()
    assert book.check(built) == []
    assert [p.name for p in built.parent.iterdir() if p.name.startswith(".")] == []


def test_search_from_disk_shows_excerpts(built: Path) -> None:
    """The same words stand in the excerpt of a book from disk as where pages may read one another."""
    with chromium.browser() as started, chromium.served(built) as origin:
        found = []
        for place in (built.as_uri() + "/", origin):
            page = started.new_page()
            page.goto(f"{place}search.html?q=quagga")
            page.wait_for_selector("#search-results p.context")
            found.append(
                [page.locator("#search-results li a").first.inner_text(), page.locator("p.context").first.inner_text()]
            )
            page.close()
    assert found[0][0] == found[1][0] == "Second"
    assert all("a quagga grazes <b>here</b> & there" in excerpt for _, excerpt in found)
    assert "Rising" not in found[0][1], "a drawing's title is no text of the page"


def test_nothing_changed_builds_nothing(
    built: Path, executed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = tmp_path / "embedded"
    shutil.copytree(executed, again)
    path = again / "csfcube" / "second.ipynb"
    rerun = json.loads(path.read_text())
    rerun["metadata"]["papermill"]["duration"] = 99
    path.write_text(json.dumps(rerun))
    stamp, said = (built / book.STAMP).stat().st_mtime_ns, []
    monkeypatch.setattr(book, "_jupyter_book", None)
    book.build(again, built, said.append)
    assert (built / book.STAMP).stat().st_mtime_ns == stamp
    assert said == ["book: nothing changed, 2 chapters"]


def test_two_clean_builds_are_equal_to_the_byte(built: Path, executed: Path, tmp_path: Path) -> None:
    book.build(executed, tmp_path / "elsewhere" / "other", progress=lambda line: None)
    assert contents(tmp_path / "elsewhere" / "other") == contents(built)


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


def test_changed_or_damaged_book_is_built_again(built: Path, executed: Path, tmp_path: Path) -> None:
    site, changed = tmp_path / "html", tmp_path / "embedded"
    shutil.copytree(built, site)
    shutil.copytree(executed, changed)
    (site / "coverage.html").unlink()
    (changed / "csfcube" / "second.ipynb").unlink()
    said: list[str] = []
    book.build(changed, site, said.append)
    assert (site / "coverage.html").is_file() and not (site / "csfcube" / "second.html").exists()
    assert said[0] == "book: building 1 chapters" and book.check(site) == []


def test_missing_page_is_noticed(built: Path, tmp_path: Path) -> None:
    site = tmp_path / "html"
    shutil.copytree(built, site)
    assert book._stamp(site)["site"] == book._listing(site)
    (site / "coverage.html").write_text("cut")
    assert book._stamp(site)["site"] != book._listing(site)


def test_book_lost_between_two_renames_comes_back(built: Path, executed: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / ".html.0123abcd.old")
    said: list[str] = []
    book.build(executed, tmp_path / "html", said.append)
    assert said == ["book: nothing changed, 2 chapters"] and contents(tmp_path / "html") == contents(built)


# ---- what the check finds -------------------------------------------------------------------------------------------

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


@pytest.fixture
def little_site(tmp_path: Path) -> Path:
    (tmp_path / "a.css").write_text("p { color: red }")
    (tmp_path / "i.png").write_bytes(b"")
    (tmp_path / "b.html").write_text("<html lang='en'><h1 id='x'>B</h1></html>")
    return tmp_path


def test_check_passes_a_clean_site(little_site: Path) -> None:
    (little_site / "a.html").write_text(CLEAN.replace("PLANT", ""))
    assert book.check(little_site) == []


@pytest.mark.parametrize("plant", FAULTS)
def test_check_finds_a_planted_fault(plant: str, little_site: Path) -> None:
    (little_site / "a.html").write_text(CLEAN.replace("PLANT", plant))
    found = book.check(little_site)
    assert len(found) == 1 and FAULTS[plant] in found[0] and found[0].startswith("a.html:")


def test_check_reads_style_sheets_and_language(little_site: Path) -> None:
    (little_site / "a.html").write_text("<html><h1>A</h1></html>")
    (little_site / "a.css").write_text(
        "@font-face { src: url('https://fonts.example.org/f.woff2'), url(gone.woff2), url(i.png), url(data:,x) }"
    )
    assert sorted(f.split(": ", 1)[1] for f in book.check(little_site)) == [
        "<html> does not say its language",
        "fetches gone.woff2, which is not in the site",
        "fetches https://fonts.example.org/f.woff2 from outside the site",
    ]


# ---- vendored files -------------------------------------------------------------------------------------------------


def test_vendored_files_are_the_ones_listed() -> None:
    listed: dict[str, str] = {}
    for package in json.loads((VENDOR / "vendor.json").read_text(encoding="utf-8")):
        assert package["name"] and package["version"] and package["licence"]
        listed |= package["files"]
    assert contents(VENDOR / "vendor") == listed
    assert {p.name for p in VENDOR.iterdir()} == {"vendor", "vendor.json"}
    assert max(p.stat().st_size for p in VENDOR.rglob("*") if p.is_file()) < 4_000_000
    for folder in (p for p in (VENDOR / "vendor").iterdir() if p.is_dir()):
        assert (folder / "LICENSE").is_file(), f"{folder.name} has no licence beside it"


def test_vendored_widget_code_fits_the_installed_packages() -> None:
    import importlib.metadata

    versions = {p["name"]: p["version"] for p in json.loads((VENDOR / "vendor.json").read_text(encoding="utf-8"))}
    assert versions["anywidget"] == importlib.metadata.version("anywidget")
    assert importlib.metadata.version("ipywidgets").startswith("8.")  # html-manager 1.0.x speaks the protocol of 8
