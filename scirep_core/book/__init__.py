"""From executed notebooks to the page a reader opens.

Papermill has run the chapters; this file only publishes them. `assemble` lays out a complete Sphinx source folder: the
hand-written pages of `book/`, the chapters with their plumbing cells dropped and every run-dependent trace removed, a
table of contents read from `metadata.scirep`, and the coverage page (`scirep_core.book.coverage`). `build` hands
that folder to Jupyter Book with warnings as errors and without a network, and swaps the result in only when it is whole.
The fingerprint of the assembled folder is the cache key, so a rerun that changed nothing costs no build.
What a finished site must satisfy is checked by `scirep_core.book.sitecheck`.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from scirep_core.book import coverage, reference
from scirep_core.book.frontpage import PANEL, anatomy, report_card, verdicts, with_panel
from scirep_core.book.kernelwork import EPOCH, plain
from scirep_core.book.reference import cite
from scirep_core.book.sitecheck import check as check
from scirep_core.kit.errors import ConfigError, DataError, ScirepError, nearest
from scirep_core.kit.store import atomic_folder, settle, sha256_file, stable_hash, write_json, write_text
from scirep_core.page.parameters import read_notebook
from scirep_core.results import ROOT

STAMP = ".scirep-book.json"
GENERATED = ("_run", "_figures", "_build", "_toc.yml", "coverage.md")
LINK = re.compile(r"\{doc\}`(?:(?P<text>[^<`]+) <)?/(?P<page>[^>`]+)>?`")
INJECTED, UNSEEN, VISIBLE = "injected-parameters", "remove-cell", "visible"
"""Tags: what papermill put in, which is not published, and what the download holds and the page does not show."""
RUN_IT = (
    "To run this notebook: install the package `scirep_core`, then `papermill {name} out.ipynb`, with `-p NAME VALUE` for "
    "another value of a parameter below; or open it in JupyterLab and run all cells."
)
OWN = "our own"  # metadata.scirep.section of a chapter that belongs to no paper
QUESTION = re.compile(r"^\*\*The question\.\*\* (.+)$", re.MULTILINE)
"""What a chapter asks, in its opening paragraph."""
WIDGETS = "application/vnd.jupyter.widget-state+json"
NOT_CHAPTERS = ("failed", "own")  # the runner's folders whose runs are not for the book
TAG = r"(?:[^>\"']|\"[^\"]*\"|'[^']*')*>"
UNREAD = re.compile(rf"<(script|style|svg)\b{TAG}.*?</\1>|<a class=\"headerlink\"{TAG}.*?</a>", re.DOTALL)
"""What of a page is no text of it."""
NO_SECTION = re.compile(rf"<(?!/?section\b){TAG}", re.DOTALL)
MAX_STATE = 1_500_000
"""Bytes of widget state a page may carry: above this it opens slowly on a phone."""

PARTS = {
    "csfcube": "CSFCube: search by facet",
    "scirepeval": "SciRepEval: one vector or several",
    "neighbours": "Textual neighbours",
    "scimult": "SciMult: many tasks, one encoder",
    "beyond": "Beyond the papers",
}


class Chapter(NamedTuple):
    """One executed notebook: `page` is its path in the site without suffix, `notebook` its JSON."""

    page: str
    part: str
    title: str
    section: str
    order: float
    exhibits: tuple[str, ...]
    notebook: dict[str, Any]


# ---- chapters -------------------------------------------------------------------------------------------------------


def chapters(executed: Path) -> list[Chapter]:
    """Return the executed notebooks under `executed` in reading order; `*.failed.ipynb` are passed over."""
    found = []
    for path in sorted(executed.glob("*/*.ipynb")):
        folder = path.parent.name
        if path.name.endswith(".failed.ipynb") or folder.startswith(".") or folder in NOT_CHAPTERS:
            continue
        try:
            notebook = read_notebook(path)
            about = notebook["metadata"]["scirep"]
            part, title, order = about["paper"], about["title"], float(about["order"])
        except (ConfigError, ValueError, KeyError, TypeError) as error:
            hint = "A chapter's metadata.scirep needs paper, title and order (a number)"
            raise DataError(path, None, f"not a chapter ({type(error).__name__}: {error})", hint) from None
        if part not in PARTS or part != folder:
            hint = nearest(str(part), PARTS)
            raise DataError(path, None, f"metadata.scirep.paper is {part!r}, the notebook's folder {folder!r}", hint)
        page = f"{folder}/{path.stem}"
        shown = tuple(about.get("exhibits", ()))
        section = str(about.get("section", ""))
        found.append(Chapter(page, part, title, section, order, shown, publishable(notebook, path)))
    return sorted(found, key=lambda c: (list(PARTS).index(c.part), c.order, c.page))


def publishable(notebook: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the notebook as published: code folded, nothing that differs from run to run, and ready to be run again.

    It is what a reader downloads, so it begins with a line on how to run it and keeps its parameters; the page shows
    neither. Dropped: injected parameters, papermill's and the kernel's timings, random cell and widget ids (renumbered in
    order of appearance), progress on stderr. Raises DataError for a failed cell or too much widget state.
    """
    how = {"cell_type": "markdown", "id": "how-to-run", "metadata": {"tags": [UNSEEN]}}
    cells: list[dict[str, Any]] = [{**how, "source": RUN_IT.format(name=path.name)}]
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if INJECTED in tags:
            continue
        meta = {key: value for key, value in cell["metadata"].items() if key not in ("papermill", "execution")}
        new = {**cell, "id": f"cell-{len(cells):03d}", "metadata": meta}
        if cell["cell_type"] == "code":
            if "parameters" in tags:
                meta["tags"] = [*tags, UNSEEN]
            elif not {"hide-input", "remove-input", "hide-cell", UNSEEN, VISIBLE} & set(tags):
                meta["tags"] = [*tags, "hide-input"]
            new["outputs"] = [o for o in cell["outputs"] if o.get("name") != "stderr"]
            for output in new["outputs"]:
                if output["output_type"] == "error":
                    raise DataError(path, None, f"a cell failed: {output['ename']}: {output['evalue']}", "Run it again")
        cells.append(new)
    meta = {key: value for key, value in notebook["metadata"].items() if key in ("scirep", "widgets", "language_info")}
    meta["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    state = meta.get("widgets", {}).get(WIDGETS, {})
    if (size := len(json.dumps(state))) > MAX_STATE:
        hint = f"A page may carry {MAX_STATE:,}: show fewer rows"
        raise DataError(path, None, f"widget state of {size:,} bytes", hint)
    return _renumber_widgets({**notebook, "cells": cells, "metadata": meta})


def _renumber_widgets(notebook: dict[str, Any]) -> dict[str, Any]:
    """Widget ids are random; replace them by their order of appearance, first in the cells, then in the state."""
    models = notebook["metadata"].get("widgets", {}).get(WIDGETS, {}).get("state", {})
    if not models:
        return notebook
    text = json.dumps(notebook)  # cells come first: dictionaries keep their order
    pattern = re.compile("|".join(re.escape(name) for name in models))
    order = {name: f"{n:032x}" for n, name in enumerate(dict.fromkeys(pattern.findall(text)))}
    renamed: dict[str, Any] = json.loads(pattern.sub(lambda match: order[match.group()], text))
    block = renamed["metadata"]["widgets"][WIDGETS]
    block["state"] = dict(sorted(block["state"].items()))
    return renamed


# ---- generated pages ------------------------------------------------------------------------------------------------


def toc(found: list[Chapter], sources: Path) -> dict[str, Any]:
    """Return the table of contents: one part per paper that has a chapter, its landing page first."""
    about = [{"file": page} for page in ("how-to-read", "coverage", "published-run")]
    parts = [{"caption": "About", "chapters": about}]
    for part, caption in PARTS.items():
        pages = [{"file": c.page, "title": c.title} for c in found if c.part == part]
        if pages:
            landing = f"{part}/index"
            lead = [{"file": landing, "title": "Overview"}] if (sources / f"{landing}.md").is_file() else []
            parts.append({"caption": caption, "chapters": lead + pages})
    parts.append(reference.contents())
    parts.append({"caption": "Back matter", "chapters": [{"file": "references"}, {"file": "cite"}]})
    return {"format": "jb-book", "root": "intro", "parts": parts}


def _fill(text: str, page: Path, found: list[Chapter], rows: list[coverage.Exhibit], executed: Path) -> str:
    """Replace the comment lines `% scirep: counts | report | chapters PART | anatomy` of a hand-written page.

    A link to a chapter that is not in this build becomes its text. Raises DataError for any other such line.
    """

    def chapter_list(part: str) -> str:
        lines = []
        for chapter in (c for c in found if c.part == part):
            asks = QUESTION.search("\n\n".join("".join(cell["source"]) for cell in chapter.notebook["cells"]))
            where = _place(chapter.section)
            below = [verdicts(executed, chapter.page), f"<small>{where}</small>" if where else ""]
            first = f"- {{doc}}`{chapter.title} </{chapter.page}>`{f': {asks[1]}' if asks else ''}"
            lines.append("<br>".join([first, *filter(None, below)]))
        return "\n".join(lines)

    made: dict[str, Callable[[str], str]] = {
        "counts": lambda _: coverage.summary(rows), "chapters": chapter_list,
        "anatomy": lambda _: anatomy(executed),
        "report": lambda _: report_card(executed, ((PARTS[c.part], c.page, c.title) for c in found if c.part != "beyond")),
    }  # fmt: skip

    def asked(match: re.Match[str]) -> str:
        if match[1] not in made:
            line = text.count("\n", 0, match.start()) + 1
            raise DataError(page, line, f"unknown line {match[0]!r}", nearest(match[1], made))
        return made[match[1]](match[2])

    filled = re.sub(r"^% scirep: (?!panel )(\S+) ?(\w*)$", asked, text, flags=re.MULTILINE)
    return _linked(filled, {chapter.page for chapter in found})


def _place(section: str) -> str:
    if section == OWN or not section:
        return ""
    many = re.match(r"[\d.]+(?:, | and )\d", section)
    return f"section{'s' if many else ''} {section}" if section[0].isdigit() else section


def _linked(text: str, pages: Collection[str]) -> str:
    """Return Markdown in which a link to a chapter that is not among `pages` is its text, or the chapter's name."""

    def link(match: re.Match[str]) -> str:
        page = match["page"]
        gone = page.partition("/")[0] in PARTS and page not in pages and not page.endswith("/index")
        return (match["text"] or f"`{page}`") if gone else match[0]

    return LINK.sub(link, text)


# ---- assembling and building ----------------------------------------------------------------------------------------


def assemble(executed: Path, workdir: Path, sources: Path = ROOT / "book") -> list[Chapter]:
    """Write the complete Sphinx source folder to `workdir` (created anew) and return its chapters.

    Chapters keep their path: `executed/csfcube/baselines.ipynb` becomes the page `csfcube/baselines.html`, and the files
    its run wrote (`executed/csfcube/baselines.data/`: result rows, figures) are published beside it under that name.
    """
    if not (sources / "intro.md").is_file():
        raise ConfigError(f"{sources}: no intro.md here. The book is built from a checkout of the project")
    if not executed.is_dir():
        raise ConfigError(f"{executed}: no executed chapters here. Run them first, for example with `scirep run`")
    shutil.rmtree(workdir, ignore_errors=True)
    shutil.copytree(sources, workdir, ignore=lambda at, names: {*names} & {*GENERATED} if at == str(sources) else set())
    found, rows = chapters(executed), coverage.exhibits()
    pages = {chapter.page for chapter in found}
    for chapter in found:
        for cell in (cell for cell in chapter.notebook["cells"] if cell["cell_type"] == "markdown"):
            cell["source"] = _linked("".join(cell["source"]), pages)
        papers = dict.fromkeys(row.paper for row in rows if row.id in chapter.exhibits)
        foot = cite.cell(chapter.page, chapter.title, chapter.section, papers, ROOT)
        write_json(workdir / f"{chapter.page}.ipynb", {**chapter.notebook, "cells": [*chapter.notebook["cells"], foot]})
    reference.write(workdir)
    for path in workdir.rglob("*.md"):
        text = _fill(path.read_text(encoding="utf-8"), path, found, rows, executed)
        if page := with_panel(text, {c.page: c.notebook for c in found}):
            write_json(path.with_suffix(".ipynb"), page)
            path.unlink()
        else:
            write_text(path, PANEL.sub("", text))
    covered = {c.page: coverage.shown(c.page, c.title, c.notebook, executed) for c in found}
    write_text(workdir / "coverage.md", coverage.page(rows, covered))
    write_text(workdir / "_toc.yml", yaml.safe_dump(toc(found, sources), sort_keys=False, allow_unicode=True))
    extra = workdir / "_extra"
    extra.mkdir()
    for folder in (executed / f"{c.page}.data" for c in found):
        if folder.is_dir():
            shutil.copytree(folder, extra / folder.relative_to(executed), ignore=shutil.ignore_patterns(".*"))
    return found


def build(executed: Path, output: Path = ROOT / "build" / "html", progress: Callable[[str], None] = print) -> Path:
    """Build the book into the folder `output` and return its index page; does nothing if nothing changed.

    The new site replaces the old one only when it is complete: a build that fails leaves the last good book in place, its
    log beside it, and raises ScirepError naming the first warnings.
    """
    output = output.resolve()
    output.parent.mkdir(parents=True, exist_ok=True)
    settle(output.parent, output.name)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as work:
        source, config = Path(work) / "source", ROOT / "_config.yml"
        found = assemble(executed, source)
        key = _fingerprint(source, config)
        if _stamp(output) == {"source": key, "site": _listing(output)}:
            progress(f"book: nothing changed, {len(found)} chapters")
            return output / "index.html"
        progress(f"book: building {len(found)} chapters")
        site = _jupyter_book(source, config, Path(work) / "out", output.with_name(f"{output.name}.log"), output)
        downloads(site)
        excerpts(site)
        for fault in check(site):
            progress(f"book: {fault}")
        write_json(site / STAMP, {"source": key, "site": _listing(site)})
        with atomic_folder(output) as whole:
            site.replace(whole)
    progress(f"book: {output / 'index.html'}")
    return output / "index.html"


def _jupyter_book(source: Path, config: Path, out: Path, log: Path, last_good: Path) -> Path:
    """Run jupyter-book strictly, offline and reproducibly; return the folder of HTML pages."""
    nowhere = "http://127.0.0.1:9"
    keep = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "PYTHONPATH", "VIRTUAL_ENV")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    env |= {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": EPOCH}
    env |= dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), nowhere)
    call = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(source)]
    call += ["--config", str(config), "--path-output", str(out), "-n", "-W", "--keep-going"]
    run = subprocess.run(call, env=env, cwd=source, capture_output=True, text=True, encoding="utf-8", errors="replace")
    lines = plain(run.stdout + run.stderr).replace(f"{source}{os.sep}", "").splitlines()
    write_text(log, "\n".join(lines) + "\n")
    if run.returncode:
        faults = [line for line in lines if re.search(r"WARNING|ERROR|Error:", line)]
        message = " | ".join(dict.fromkeys(faults[:5] or lines[-5:]))
        stays = f" The last good book stays at {last_good}." if last_good.exists() else ""
        raise ScirepError(f"{log}: the book did not build: {message}.{stays} The whole log is in that file")
    return out / "_build" / "html"


def downloads(site: Path) -> None:
    """Make of each page's source what a reader saves: the notebook without outputs, and as a script for pages from disk."""
    for path in sorted((site / "_sources").rglob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in (cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
            cell |= {"outputs": [], "execution_count": None}
        notebook["metadata"].pop("widgets", None)
        write_json(path, notebook)
        text = json.dumps(path.read_text(encoding="utf-8"))
        write_text(path.with_name(f"{path.name}.js"), f"scirepSource({text}, {json.dumps(path.name)});\n")


def excerpts(site: Path) -> None:
    """Write the words of each page as a script: the search of a book opened from disk may not read the page itself."""
    for path in sorted(site.rglob("*.html")):
        page = path.relative_to(site).with_suffix("").as_posix()
        article = path.read_text(encoding="utf-8").partition("<article")[2].partition(">")[2].partition("</article>")[0]
        # cells and paragraphs are no one word; of tags only sections stay, for their ids
        spaced = re.sub(r"</(?:td|th|li|p|dt|dd)>", " ", UNREAD.sub("", article))
        if words := " ".join(NO_SECTION.sub("", spaced).split()):
            text = json.dumps(f'<div role="main">{words}</div>')
            (place := site / "_texts" / f"{page}.js").parent.mkdir(parents=True, exist_ok=True)
            write_text(place, f"scirepText({json.dumps(page)}, {text});\n")


def _fingerprint(source: Path, config: Path) -> str:
    files = {p.relative_to(source).as_posix(): sha256_file(p) for p in sorted(source.rglob("*")) if p.is_file()}
    files |= reference.sources()
    outside = {p.name: sha256_file(p) for p in (config, ROOT / "requirements.lock", Path(__file__)) if p.is_file()}
    builders = ("jupyter-book", "Sphinx", "myst-nb", "sphinx-book-theme")
    versions = {name: importlib.metadata.version(name) for name in builders}
    return stable_hash({"files": files, "outside": outside, "versions": versions, "python": sys.version_info[:2]})


def _listing(site: Path) -> str:
    """Hash names and sizes of a site's files: enough to notice a page that was deleted or cut."""
    files = (path for path in site.rglob("*") if path.is_file() and path.name != STAMP)
    return stable_hash({path.relative_to(site).as_posix(): path.stat().st_size for path in files})


def _stamp(site: Path) -> Any:
    try:
        return json.loads((site / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
