"""A book of made-up chapters, built once for all test processes: two of text, and a demonstration of all that a page can hold.

Its reference describes what hand-written pages name, and no more, which halves a build's time.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import pytest
import traitlets
from filelock import FileLock
from ipywidgets.embed import dependency_state, embed_data

from scirep_core import book
from scirep_core.book import reference
from scirep_core.book.frontpage import STATE, VIEW

ID = "published:csfcube:CS-T3:fabs_tfidf:all"
HEAD = "".join(f'<th scope="col">{kind}</th>' for kind in ("published", "recorded", "live")) * 4
CELLS = (
    """<td class="published"><a class="scirep-number" href="#o-1">43.19</a></td>
<td class="recorded best">44.02 <span class="ci">38.1–50.2</span></td>
<td class="live">31.40 <span class="ci">27.0–36.2</span></td>"""
    * 4
)
TABLE = f"""<div class="scirep-note"><p>Live numbers of this page are simulated.</p></div>
<div class="scirep-params"><table class="scirep-table"><caption>Parameters</caption><tbody><tr><th scope="row">data</th>
<td>embedded</td></tr></tbody></table></div>
<div class="scirep-scroll"><table class="scirep-table"><caption>NDCG%20 of term-level systems, n = 50 queries</caption>
<thead><tr><th scope="col">system</th>{HEAD}</tr></thead><tbody><tr><th scope="row">fabs_tfidf</th>{CELLS}</tr>
<tr><th scope="row">fabs_bm25</th>{CELLS}</tr></tbody></table></div>"""
FIGURE = """<figure class="scirep-figure"><svg viewBox="0 0 640 100" role="img" aria-labelledby="alt">
<title id="alt">Recorded lies above published, live far below</title>
<text x="20" y="45" font-size="13" fill="var(--scirep-ink)">fabs_tfidf</text>
<circle cx="300" cy="40" r="6" fill="var(--scirep-paper)" stroke="var(--scirep-published)" stroke-width="2"/>
<rect x="214" y="34" width="11" height="11" fill="var(--scirep-live)"/></svg><figcaption>NDCG%20, n = 50 queries</figcaption>
<details class="scirep-made"><summary>How it was made</summary><p>By hand.</p></details></figure>"""
ORIGINS = f"""<details class="scirep-origins"><summary>Origins</summary><table class="scirep-table"><tbody>
<tr><th scope="row" id="o-1"><code>{ID}</code></th><td>43.19</td></tr></tbody></table></details>"""
MATHS = "With $n_f = \\lfloor 0.2\\,n \\rfloor$:\n\n$$\\sum_{i=1}^{n_f} \\frac{r_i}{\\max(1, \\log_2 i)}$$"
FIGURED = '<figure class="scirep-figure"><svg role="img"><title>Rising</title></svg><figcaption>F</figcaption></figure>'
LINKED = '<p>Take <a href="first.data/figures/f.csv" download>the data</a>.</p>'
DEMONSTRATION = "csfcube/demonstration.html"


class Panel(anywidget.AnyWidget):
    """An explorer that answers a click."""

    _esm = """export default { render({ model, el }) {
      const rows = model.get("rows");
      el.className = "demo-panel";
      el.innerHTML = `<label>Query <select></select></label> <button type="button">Next</button> <output></output>`;
      const [select, out] = [el.querySelector("select"), el.querySelector("output")];
      rows.forEach(([name], i) => select.add(new Option(name, i)));
      const show = () => { out.textContent = rows[select.value].join(": "); };
      select.onchange = show;
      el.querySelector("button").onclick = () => { select.value = (Number(select.value) + 1) % rows.length; show(); };
      show();
    } };"""
    rows = traitlets.List().tag(sync=True)


@contextmanager
def few_names() -> Iterator[None]:
    """Build within it."""
    text = "".join(path.read_text() for path in (book.ROOT / "book").rglob("*.md") if "_run" not in path.parts)
    named = re.findall(r"\{py:obj}`(?:[^`<]*<)?scirep_core\.([\w.]+)>?`", text)

    def modules(room: reference.Room) -> tuple[str, ...]:
        return tuple(name for name in room.modules if any(f"{one}.".startswith(f"{name}.") for one in named))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            reference, "ROOMS", {slug: room._replace(modules=modules(room)) for slug, room in reference.ROOMS.items()}
        )
        yield


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


def execute(folder: Path) -> None:
    """Write the executed chapters, and what else lies in such a folder."""
    body = "Text with {cite:t}`csfcube2021`: a quagga grazes `<b>here</b>` & there."
    asks = text("**The question.** Where do zebras graze?")
    write(folder, "csfcube/second", chapter("Second", 2, asks, cell("show()", outputs=[html(FIGURED)]), text(body)))
    first = chapter("First", 1, cell("n = 1", "parameters"), cell("go()", outputs=[html(LINKED)]))
    data = write(folder, "csfcube/first", first).with_suffix(".data")
    (data / "figures").mkdir(parents=True, exist_ok=True)
    (data / "figures" / "f.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    answer = {"real": {"head": "We find on real papers", "verdict": 1, "claim": "gnus graze"}}
    (data / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    write(folder, "failed/x.failed", {"not": "a chapter"})
    (folder / "own" / "csfcube").mkdir(parents=True, exist_ok=True)
    plain = [
        ipywidgets.Label("A plain label"),
        ipywidgets.Checkbox(description="tick"),
        ipywidgets.Button(icon="check"),
    ]
    shown = [Panel(rows=[["query 1", 0.395], ["query 2", 1.564]]), ipywidgets.VBox(plain)]
    widgets = embed_data(shown, state=dependency_state(shown, drop_defaults=False))
    views = [{"output_type": "display_data", "data": {VIEW: spec}, "metadata": {}} for spec in widgets["view_specs"]]
    pieces = [text(MATHS), *(cell("show()", outputs=[html(one)]) for one in (TABLE, FIGURE)), text("## Explore"),
              cell("panels()", outputs=views), cell("show()", outputs=[html(ORIGINS)])]  # fmt: skip
    notebook = chapter("Demonstration", 3, *pieces, exhibits=["CS-T3"])
    notebook["metadata"]["widgets"] = {STATE: widgets["manager_state"]}
    write(folder, "csfcube/demonstration", notebook)


def shared(factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folder of executed chapters and the built site; who asks first makes them."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "small-book"
    executed, site = folder / "embedded", folder / "html"
    with FileLock(f"{folder}.lock"):
        if not site.exists():
            execute(executed)
            with few_names():
                book.build(executed, site, progress=lambda line: None)
    return executed, site
