"""Chapter `scirepeval/your_encoder`, third part: what given vectors can get wrong, and what the full data need.

Ids without a vector, what an encoder is to read in each format, how two vectors are compared: the three points at which
scores of one's own went wrong without a word in the published code (it drops rows whose id it does not know). Each is
tried out on a task at hand, and what the number becomes is recorded like any other.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scirep_core.bench import scoring
from scirep_core.bench.given import coverage
from scirep_core.bench.suites import SUITES
from scirep_core.data import TASKS
from scirep_core.data.manifests import chosen, load_manifest
from scirep_core.data.sources import real_parts
from scirep_core.data.task import Task
from scirep_core.data.text import Recipe
from scirep_core.encoders import ENCODERS, SENTENCES
from scirep_core.evaluators.inputs import inputs
from scirep_core.exhibits.your_encoder import is_score, main_rows, title
from scirep_core.kit.errors import ScirepError
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, code_version

LOST = 10
"""Every tenth id loses its vector where the chapter shows what a gap does."""
SHOWN = 110
"""Characters of a text that the table of inputs shows."""

Vectors = Mapping[str, NDArray[np.floating]]


def three_lines(chapter: Chapter, rows: Sequence[Result], name: str) -> None:
    """Show the rows that three lines gave, under the name of the system: `letters, one line` and so on."""
    kept = chapter.record(replace(row, encoder=name, by_query={}) for row in main_rows(rows))
    said = [
        f"{html.escape(title(row.task))}, {row.split}: {html.escape(row.metric)} {chapter.number(row)} "
        f"{report.interval(row.low, row.high)} on n = {row.n:,}"
        for row in kept
    ]
    chapter.say("; ".join(said) + ".")


def gaps(chapter: Chapter, task: Task, vectors: Vectors, name: str) -> None:
    """Take every tenth id's vector away: show the coverage report, the refusal, and what dropping does to the number."""
    short = {key: vector for i, (key, vector) in enumerate(vectors.items()) if i % LOST}
    found = coverage(task, short)
    refusal = ""
    try:
        scoring.evaluate(task, short, name=name)
    except ScirepError as error:
        refusal = str(error)
    chapter.say(
        f"{html.escape(title(task.name))}: {found.embedded:,} of {found.required:,} ids have a vector; the first without: "
        f"{', '.join(f'<code>{html.escape(key)}</code>' for key in found.missing)}. Scoring them is refused:"
    )
    chapter.show(f"<pre>{html.escape(refusal)}</pre>")
    whole = main_rows(scoring.evaluate(task, dict(vectors), name=f"{name}, none missing"))
    left = main_rows(scoring.evaluate(task, short, on_missing="drop", name=f"{name}, one in {LOST} missing"))
    made = chapter.record(replace(row, by_query={}) for row in (*whole, *left))
    body = [
        [html.escape(row.encoder), chapter.number(row, 1) + " " + report.interval(row.low, row.high), f"{row.n:,}",
         f"{100 * (1.0 if row.coverage is None else row.coverage):.1f} %", html.escape(row.pool)]
        for row in made
    ]  # fmt: skip
    header = ["Vectors", made[0].metric, "n", "covered", "what was scored"]
    classes = [["", "live", "", "", "text"]] * len(body)
    chapter.show(report.table(header, body, "The same vectors, whole and with gaps, on_missing = drop", classes))
    change = made[-1].value - made[0].value
    way = "higher" if change > 0 else "lower" if change < 0 else "no different"
    chapter.say(
        f"Dropping made the number {way}. It is a number about other rows, and says so: coverage stands in each row."
    )


RECIPES = {
    "most BERT models": Recipe(),
    "sentence encoders (MiniLM)": ENCODERS["minilm"].recipe if "minilm" in ENCODERS else SENTENCES,
    "E5": Recipe(" ", "query: ", "passage: ", "query: "),
}
"""Ways to write a paper and a query down; E5's prefixes are those of its authors."""


def formats(chapter: Chapter, tasks: Sequence[Task]) -> None:
    """Show what an encoder is given for a query and a paper: the format, and the exact text by recipe."""
    body = []
    for task in tasks:
        for name, recipe in RECIPES.items():
            given = inputs(task, recipe, "sound")
            for key, kind in _examples(task):
                one = given[key]
                shown = one.text if len(one.text) <= SHOWN else one.text[: SHOWN - 1] + "…"
                body.append(
                    [f"{html.escape(title(task.name))}, {kind}", one.format, name, f"<code>{html.escape(shown)}</code>"]
                )
    header = ["What", "format", "for", "text, as the encoder reads it"]
    caption = "What an encoder is given; the format decides which adapter of SPECTER2 is active"
    chapter.show(report.table(header, body, caption, [["", "", "text", "text"]] * len(body)))


def _examples(task: Task) -> list[tuple[str, str]]:
    """Return (id, what it is) of one query and one paper of a task."""
    first = list(dict.fromkeys(task.payload.ids().needed))
    query = next((key for key in first if key in task.queries), None)
    paper = next(key for key in first if key not in task.queries)
    return ([(query, "query")] if query else []) + [(paper, "paper")]


def lengths(chapter: Chapter, task: Task, vectors: Vectors, name: str) -> None:
    """Score the same vectors by distance and by angle: where lengths differ, the choice is part of the result."""
    rows = [
        replace(row, encoder=f"{name}, {similarity}", by_query={})
        for similarity in ("l2", "cosine")
        for row in main_rows(scoring.evaluate(task, dict(vectors), similarity=similarity, name=name))
    ]
    made = chapter.record(rows)
    norms = np.linalg.norm(np.stack(list(vectors.values())), axis=1)
    said = ", ".join(f"{row.similarity} {chapter.number(row, 1)}" for row in made)
    chapter.say(
        f"{html.escape(title(task.name))}, vectors of length {norms.min():.1f} to {norms.max():.1f}: {said} "
        f"({html.escape(made[0].metric)}, n = {made[0].n:,}). The published protocol takes l2, whatever the encoder was made for."
    )


def whereabouts(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say where the numbers of this page are kept, and how one of them is asked for."""
    example = next(row for row in reversed(rows) if is_score(row))
    chapter.say(
        "Rows are kept twice. The benchmark keeps them with their bootstrap values under <code>scores</code> in "
        "<code>SCIREP_HOME</code>, one file a task, by a hash of task, system, protocol and code: asked again, nothing is "
        "computed. The chapter keeps what it shows in <code>rows.jsonl</code> beside the executed notebook; "
        "<code>scirep run ... --rows FILE</code> writes a copy. One of them, for example:"
    )
    chapter.show(
        f"<pre>{html.escape(example.id)}\nvalue {example.value:.4f}, n {example.n}, data {example.data_hash[:12]}, "
        f"code {code_version()}, seed {example.seed}</pre>"
    )


def full_data(chapter: Chapter) -> None:
    """Show what each task of the benchmark needs of the published data: parts, files, and the size of its test set."""
    body = []
    for name in SUITES["scirepeval"]:
        spec = TASKS[name]
        parts = real_parts(spec)
        files = [file for manifest, wanted in parts.items() for file in chosen(load_manifest(manifest), wanted)]
        known = all(file.bytes is not None for file in files)
        size = f"{sum(file.bytes or 0 for file in files) / 1e6:,.0f} MB" if known else ""
        listed = "; ".join(f"{manifest}: {', '.join(wanted) or 'all'}" for manifest, wanted in parts.items())
        tested = "; ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in spec.expect.items()
                           if not what.startswith(("train", "labels", "clusters")))  # fmt: skip
        body.append([html.escape(spec.title), spec.format, tested, html.escape(listed), f"{len(files)}", size])
    header = ["Task", "format", "printed size", "what is fetched", "files", "size"]
    if not any(line[-1] for line in body):  # no manifest knows a size: nothing to show
        header, body = header[:-1], [line[:-1] for line in body]
    caption = f"What each of the {len(body)} tasks needs of the published data; training texts are not among it"
    chapter.show(report.table(header, body, caption, [["", "", "text", "text", "", ""]] * len(body)))
