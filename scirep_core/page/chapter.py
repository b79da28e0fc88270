"""What a chapter calls: it starts, records numbers, shows tables and figures, and says where each number is from.

    chapter = start("csfcube/baselines", data=data, encoders=encoders, seed=seed)
    rows = chapter.record(evaluate(...))
    chapter.show(chapter.drawn("ndcg", figure, frame, "caption", "alternative text", "the conclusion"))
    chapter.finish()

`start` checks the parameters again inside the kernel, so plain papermill and JupyterLab are as safe as the runner.
Rows and figures go to `SCIREP_CHAPTER_DIR`, which the runner sets; without it to `$SCIREP_HOME/live/<chapter>`.
"""

from __future__ import annotations

import base64
import html
import json
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from scirep_core.data import PAPERS, load_task, locate
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import Task
from scirep_core.kit.errors import NumericError
from scirep_core.kit.store import home, sha256_bytes, write_bytes, write_json, write_text
from scirep_core.page import blocks, study
from scirep_core.page import claims as claims_
from scirep_core.page import parameters as parameters_
from scirep_core.page.report import minus, svg
from scirep_core.page.rows import Exhibit, Number, Of
from scirep_core.page.say import sentences as filled
from scirep_core.results import Result, anchor, provenance, recorded
from scirep_core.results.published import Printed

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

K = TypeVar("K")
SIMULATION = (
    "The <strong>live</strong> numbers of this build come from the embedded literature, a generative model of a small "
    "science whose text is invented. They show how the method behaves where the truth is known; they never stand in "
    "for a published number."
)
RERUN = " Rerun with <code>-p data real</code> for the real collection."


@dataclass
class Chapter:
    """One run of one chapter: its parameters, the numbers it showed."""

    name: str
    parameters: dict[str, Any]
    folder: Path
    started: float = field(default_factory=time.perf_counter)
    shown: dict[str, Number] = field(default_factory=dict)
    stored: dict[str, tuple[float, int]] = field(default_factory=dict, repr=False)
    held: list[str] | None = None

    @property
    def notebook(self) -> str:
        """Path of the chapter's source in the checkout."""
        return f"notebooks/{self.name}.ipynb"

    def command(self, **changes: Any) -> str:
        """Return the papermill command that reruns this chapter, with some parameters changed."""
        return f"papermill {self.notebook} out.ipynb {parameters_.flags({**self.parameters, **changes})}"

    # ------------------------------------------------------------------------------------------------------ data

    def task(self, name: str) -> FacetCollection | Task:
        """Return a task's data from the source the parameters name."""
        return load_task(name, self.parameters["data"], self.parameters.get("papers", PAPERS))

    def files(self, name: str) -> Path:
        """Return the folder with a task's files."""
        return locate(name, self.parameters["data"], self.parameters.get("papers", PAPERS))

    # --------------------------------------------------------------------------------------------------- numbers

    @overload
    def record(self, rows: Result) -> Result: ...
    @overload
    def record(self, rows: Mapping[K, Result]) -> dict[K, Result]: ...  # type: ignore[overload-overlap]
    @overload
    def record(self, rows: Iterable[Result]) -> list[Result]: ...

    def record(self, rows: Any) -> Any:
        """Store a row, rows by key, or a list of rows with this chapter's name and parameters; return the same of them.

        A number that is stored already, of the same id, value and n, is not stored again. What is not finite is refused by name.
        """
        if isinstance(rows, Result):
            return self.record([rows])[0]
        if isinstance(rows, Mapping):
            return dict(zip(rows, self.record(rows.values()), strict=True))
        stamped = [replace(row, chapter=self.name, parameters=self.parameters, kind="live") for row in rows]
        for row in stamped:
            if not all(math.isfinite(x) for x in (row.value, row.low, row.high) if x is not None):
                raise NumericError(f"{row.id}: {row.value} ({row.low} to {row.high}) is not finite")
        with (self.folder / "rows.jsonl").open("a", encoding="utf-8") as stream:
            for row in stamped:
                if self.stored.get(row.id) != (row.value, row.n):
                    self.stored[row.id] = row.value, row.n
                    stream.write(json.dumps(row.to_json(), sort_keys=True, allow_nan=False) + "\n")
        return stamped

    def number(self, number: Number, decimals: int | None = None, sign: bool = False) -> str:
        """Return a number as HTML that links to its origin at the foot of the page."""
        self.shown[number.id] = number
        if isinstance(number, Printed):
            spread = f"<small>±{number.std}</small>" if number.std else ""
            text, title = html.escape(number.value) + spread, f"printed in {number.exhibit}"
        else:
            places = 2 if decimals is None else decimals
            text = f"{number.value:{'+' if sign else ''}.{places}f}"
            if places and 0 < abs(number.value) < 0.5 * 10**-places and not sign:
                end = f"{10**-places:.{places}f}"  # a p-value that rounds to nothing is still not nothing
                text = f"&lt;{end}" if number.value > 0 else f"&gt;-{end}"
            title = f"{number.kind}, n = {number.n}"
            if number.low is not None and number.high is not None:
                title += f", 95 % interval {number.low:.{places}f} to {number.high:.{places}f}"
        return f'<a class="scirep-number" href="#{anchor(number.id)}" title="{html.escape(title)}">{text}</a>'

    # --------------------------------------------------------------------------------------------------- showing

    def show(self, *parts: str) -> None:
        """Display HTML, or keep it where it is shown inside a fold."""
        if self.held is not None:
            self.held += parts
            return
        from IPython import display

        page: Any = display
        page.display(page.HTML(minus("\n".join(parts))))

    @contextmanager
    def folded(self, summary: str) -> Iterator[None]:
        """Show what is shown inside as one fold; nothing where nothing is."""
        held: list[str] = []
        outer, self.held = self.held, held
        yield
        self.held = outer
        if held:
            self.show(blocks.fold(summary, "".join(held)))

    def say(self, *sentences: str, **values: Any) -> None:
        """Display a paragraph of HTML sentences; with `values` they are templates over them (`page/say.py`)."""
        shown = filled(self.number, sentences, values) if values else [one for one in sentences if one]
        if shown or not values:
            self.show(f"<p>{' '.join(shown)}</p>")

    def exhibit(
        self, exhibits: str | Sequence[str], rows: Iterable[Result], line: Of = "encoder", column: Of = "metric",
        printed: tuple[Of, Of] = ("row", "column"), studies: Sequence[str] = (), **where: Any,
    ) -> Exhibit:  # fmt: skip
        """Return the cells of printed exhibits (by id, "" for none), of these rows and of our recorded run of this chapter.

        Args:
            studies: whose recorded lines are shown too, of every source they are recorded of.
        """
        names = [name for name in ([exhibits] if isinstance(exhibits, str) else exhibits) if name]
        trained = study.lines(row for name in studies for row in study.recorded(name))
        return Exhibit.of(rows, [*recorded(self.name, "*"), *trained], names, line, column, printed, **where)

    table, forest, compare, means, answer = blocks.table, blocks.forest, blocks.compare, blocks.means, blocks.answer
    claims = claims_.claims

    def note(self, text: str) -> None:
        """Display a call-out: what does not reproduce, a misprint, a warning."""
        self.show(f'<div class="scirep-note"><p>{text}</p></div>')

    def drawn(self, name: str, figure: Figure, data: pandas.DataFrame, caption: str, alt: str, title: str = "") -> str:
        """Return a figure as HTML, with its data as CSV and table, how it was made, and the command to redo it.

        A `title` stands above the drawing: what is to be seen in it, as a sentence.

        Writes `figures/<name>.svg`, `.csv` and `.json` into the chapter's folder.
        """
        slug = re.sub(r"[^a-z0-9]+", "-", f"{self.name}-{name}".lower())
        drawn = svg(figure, slug, alt)
        csv = data.to_csv(index=False, lineterminator="\n", float_format="%.6g")
        seconds = round(time.perf_counter() - self.started, 2)
        steps = {"parameters": self.parameters, "data_sha256": sha256_bytes(csv.encode()), "rows": len(data),
                 "seconds_since_start": seconds, **provenance()}  # fmt: skip
        made = {"figure": name, "chapter": self.name, **steps, "caption": caption, "alt": alt}
        stem = self.folder / "figures" / name
        write_text(stem.with_suffix(".svg"), drawn)
        write_text(stem.with_suffix(".csv"), csv)
        write_json(stem.with_suffix(".json"), made)
        link = base64.b64encode(csv.encode()).decode()
        head = f'<p class="scirep-title">{html.escape(title)}</p>' if title else ""
        table = data.to_html(index=False, border=0, classes="scirep-table", float_format="{:.3g}".format, na_rep="")
        return (
            f'<figure class="scirep-figure" id="fig-{slug}">{head}{drawn}\n'
            f"<figcaption>{caption}</figcaption>\n"
            f'<details class="scirep-made"><summary>Data, how it was made, rerun</summary>'
            f'<p><a download="{slug}.csv" href="data:text/csv;base64,{link}">Data as CSV</a> '
            f"({len(data)} rows)</p><p>Redo it: <code>{html.escape(self.command())}</code></p>"
            f"<pre>{html.escape(json.dumps(steps, indent=1))}</pre>"
            f'<div class="scirep-scroll">{table}</div></details></figure>'
        )

    def finish(self) -> None:
        """Display where every number shown on the page comes from, and how to recompute it."""
        common = provenance()
        versions = ", ".join(f"{name} {version}" for name, version in common["versions"].items())
        names = ("id", "value", "95 % interval", "n", "data", "how", "encoder", "seconds")
        heads = "".join(f'<th scope="col">{name}</th>' for name in names)
        body = "".join(_origin(number) for number in self.shown.values())
        self.show(
            f'<details class="scirep-origins"><summary>Where the {len(self.shown)} numbers of this page come from'
            "</summary>",
            f"<p>Live numbers: code {common['code_version']}, {versions}; {common['device']}. The whole row of a "
            f"number, and how to recompute it: <code>scirep explain '&lt;id&gt;'</code>.</p>",
            f'<div class="scirep-scroll"><table class="scirep-table"><caption>Origins</caption><thead><tr>{heads}</tr></thead>'
            f"<tbody>{body}</tbody></table></div></details>",
        )


def _origin(number: Number) -> str:
    name = f'<th scope="row" id="{anchor(number.id)}"><code>{html.escape(number.id)}</code></th>'
    if isinstance(number, Printed):
        value = html.escape(f"{number.value} ± {number.std}" if number.std else number.value)
        cells: Sequence[str] = (value, "", "", f"{number.paper}, {number.exhibit}", html.escape(number.note), "", "")
    else:
        bounds = "" if number.low is None or number.high is None else f"{number.low:.2f}–{number.high:.2f}"
        data = f"{number.source} {number.data_hash[:8]}"
        seconds = "" if number.seconds is None else f"{number.seconds:.2g}"
        how = html.escape("; ".join(part for part in (number.protocol, number.similarity, number.pool) if part))
        cells = (f"{number.value:.4f}", bounds, str(number.n), data, how, number.fingerprint, seconds)
    return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def start(name: str, simulated: bool = True, /, **parameters: Any) -> Chapter:
    """Check a chapter's parameters, say what it runs on, and return the Chapter.

    Args:
        name: `<paper>/<notebook>`.
        simulated: whether its live numbers come from the embedded literature unless `data` says otherwise, which is told.
        parameters: every parameter of the notebook, by name.

    Raises ConfigError naming the parameter, the value and the nearest valid one.
    """
    given = {key: parameters_.check(key, value, name) for key, value in parameters.items()}
    chosen = os.environ.get("SCIREP_CHAPTER_DIR")
    folder = Path(chosen) if chosen else home() / "live" / name
    write_bytes(folder / "rows.jsonl", b"")  # one clear line if SCIREP_HOME cannot be written
    chapter = Chapter(name, given, folder)
    rows = "".join(
        f'<tr><th scope="row"><code>{html.escape(key)}</code></th><td>{html.escape(str(value)) or "(chapter’s choice)"}'
        f"</td></tr>"
        for key, value in given.items()
    )
    invented = simulated and given.get("data", "embedded") == "embedded"
    notice = f'<div class="scirep-note"><p>{SIMULATION}{RERUN * ("data" in given)}</p></div>' if invented else ""
    chapter.show(
        f'<details class="scirep-params"><summary>Parameters of this run, and how to change them</summary>'
        f'<div class="scirep-scroll"><table class="scirep-table"><caption>Resolved parameters</caption><tbody>{rows}'
        f"</tbody></table></div><p><code>{html.escape(chapter.command())}</code></p></details>{notice}"
    )
    return chapter


def progress(label: str, what: str = "texts encoded") -> Any:
    """Return a progress callback (done, total), quiet when nothing is computed; its lines go where `study.tell` says."""
    begun = time.perf_counter()

    def told(done: int, total: int) -> None:
        study.tell(f"{label}: {done} of {total} {what}, {time.perf_counter() - begun:.0f} s")

    return told
