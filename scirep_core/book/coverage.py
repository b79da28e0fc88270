"""The coverage page: every table, figure and claim of the five papers, what became of it, and by which numbers.

The inventory is `results/published/exhibits.csv`, one row an exhibit (`Exhibit`). What is said of numbers is not kept there: it is
read from the chapters as they ran. Of an exhibit the page counts the printed numbers that its chapters show, each of which
has a row in the list of origins at the foot of the chapter, and, chapter by chapter, the result rows of ours behind it.
The table is whole without scripts; `book/_static/coverage.js` adds a search box and filters.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.records import read_csv, read_jsonl
from scirep_core.results import PRINT, ROOT, recordings
from scirep_core.results.published import FOLDER

EXHIBITS = FOLDER / "exhibits.csv"
PAPERS = {
    "scirepeval-v1": "SciRepEval, 25-task submission",
    "scirepeval-v2": "SciRepEval, 24-task publication",
    "csfcube": "CSFCube",
    "neighbours": "Textual neighbours",
    "scimult": "SciMult",
}
STATES = {
    "exact": "the printed result itself, computed from the papers’ own public data; misprints are named in the note",
    "sample": "the same measurement on real data, but on a part of the paper’s, or of other systems than the paper’s: "
    "directions compare, heights do not",
    "open": "the same question, on the open literature: real papers from public sources, with tasks and models of our own",
    "embedded": "the same measurement on the embedded literature, which is invented and whose truth is known",
    "arithmetic": "follows from printed numbers, or does not; or is made again from code (a drawing, a text)",
    "quoted": "quoted and not computed; the note says why",
}
"""What a state means, the strongest first."""
LABELS = {
    "exact": "exact on real data", "sample": "real sample", "open": "open literature", "embedded": "embedded literature",
    "arithmetic": "arithmetic", "quoted": "quoted only",
}  # fmt: skip
OFFLINE = ("FULL", "ARITH", "PART", "SAMPLE", "LARGE", "none")
"""How much of an exhibit can be computed without a large download, for who plans a chapter: the printed number itself, what
follows from other printed numbers, some cells or the direction, the same on samples or small models, nothing, nothing at all."""
DRAWN = ("drawing", "text", "string")
"""First words of the statistic of exhibits that have no numbers."""
SOURCES = {"real": "real", "open": "open", "embedded": "embedded", PRINT: "arithmetic"}
"""Sources of result rows by name; what else there is (modules, settings, scores of other rows) counts as other."""
ORIGIN = re.compile(r'<th scope="row" id="([^"]+)"><code>published:[^:<]*:([^:<]+):')


class Exhibit(NamedTuple):
    """One table, figure or claim of a paper; a row of `results/published/exhibits.csv`.

    `chapter` names its pages, the main one first; `state` is the strongest of what was done, `also` what else was; `rests`
    the exhibits whose printed numbers carry it, beside its own. Words of the last two are separated by spaces.
    """

    id: str
    paper: str
    exhibit: str
    shows: str
    statistic: str
    offline: str
    chapter: str
    state: str
    also: str
    rests: str
    note: str

    @property
    def pages(self) -> tuple[str, ...]:
        """Its chapters, `<paper>/<notebook>`."""
        return tuple(self.chapter.split())

    @property
    def states(self) -> tuple[str, ...]:
        """Its states, the strongest first."""
        return (self.state, *self.also.split())

    @property
    def carried_by(self) -> tuple[str, ...]:
        """Exhibits whose printed numbers it rests on, itself first."""
        return (self.id, *self.rests.split())

    @property
    def numberless(self) -> bool:
        """Whether print has a drawing or a text, and no number to show."""
        return self.statistic.startswith(DRAWN)


class Shown(NamedTuple):
    """What a built chapter holds: anchors of printed numbers by exhibit; rows of ours by source, recorded and live."""

    title: str
    numbers: Mapping[str, Sequence[str]]
    recorded: Mapping[str, int]
    live: Mapping[str, int]


# ---- the inventory --------------------------------------------------------------------------------------------------


def exhibits(path: Path = EXHIBITS) -> list[Exhibit]:
    """Return the inventory of exhibits. Raises DataError at file:line for a row that breaks its vocabulary."""
    rows: dict[int, Exhibit] = {}
    for line, row in read_csv(path, Exhibit._fields):
        rows[line] = Exhibit(**row)
        _check(rows[line], path, line)
    known = Counter(row.id for row in rows.values())
    for identity, count in known.items():
        if count > 1:
            raise DataError(path, None, f"exhibit {identity} appears {count} times", "Give each row its own id")
    for line, one in rows.items():
        for other in one.rests.split():
            if other not in known:
                raise DataError(path, line, f"{one.id} rests on {other!r}", nearest(other, known))
    return list(rows.values())


def _check(row: Exhibit, path: Path, line: int) -> None:
    """Refuse an unknown word, states out of order, no chapter, and a quotation without its reason."""
    for value, known in ((row.paper, PAPERS), (row.offline, OFFLINE), *((state, STATES) for state in row.states)):
        if value not in known:
            raise DataError(path, line, f"unknown value {value!r}", nearest(value, known))
    order = [list(STATES).index(state) for state in row.states]
    if order != sorted(set(order)):
        hint = f"The strongest first, each once: {', '.join(STATES)}"
        raise DataError(path, line, f"states of {row.id} are {' '.join(row.states)}", hint)
    if not row.pages:
        raise DataError(path, line, f"{row.id} has no chapter", "Name the notebook that holds it, <paper>/<notebook>")
    if "quoted" in row.states and (row.also or not row.note):
        hint = "Quoted only stands alone, and the note says why nothing is computed"
        raise DataError(path, line, f"{row.id} is quoted", hint)


SAID = {
    "exact": "exact on real data", "sample": "measured again on a sample of real papers, mostly with other models",
    "open": "on other real papers (the open literature)", "embedded": "on simulated papers only",
    "arithmetic": "by arithmetic on printed numbers, or by code alone", "quoted": "only quoted, with the reason",
}  # fmt: skip
"""States as the first page has them."""


def summary(rows: Sequence[Exhibit]) -> str:
    """Return the bar of the first page on where the book stands, with its key (HTML)."""
    tally = Counter(row.state for row in rows)
    key = "".join(
        f"<li>{_badge(state, words=f'{tally[state]} {SAID[state]}')}</li>" for state in STATES if tally[state]
    )
    return (
        f'<figure class="scirep-figure scirep-covered">{_bars({"Tables, figures and claims of the five papers": tally})}'
        f'<ul class="scirep-states">{key}</ul>'
        f"<figcaption>Each of the {len(rows)} tables, figures and claims is counted once, under the strongest evidence that we "
        'have for it. <a href="coverage.html">Coverage</a> lists them all.</figcaption></figure>'
    )


# ---- what the chapters hold -----------------------------------------------------------------------------------------


def shown(page: str, title: str, notebook: Mapping[str, Any], executed: Path) -> Shown:
    """Return what an executed chapter holds.

    Args:
        page: `<paper>/<notebook>`.
        notebook: its JSON, executed; the list of origins is read from the outputs.
        executed: folder of the run, with `<page>.data/rows.jsonl`.
    """
    numbers: dict[str, list[str]] = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            for anchor, exhibit in ORIGIN.findall("".join(output.get("data", {}).get("text/html", ""))):
                numbers.setdefault(exhibit, []).append(anchor)
    live = _tally([executed / f"{page}.data" / "rows.jsonl"])
    return Shown(title, numbers, recorded_rows(page, notebook), live)


def recorded_rows(page: str, notebook: Mapping[str, Any]) -> Counter[str]:
    """Return how many committed rows a chapter has, by source: of its own runs, and of the studies it needs."""
    needs = (need for need in notebook["metadata"]["scirep"].get("needs", ()) if need.startswith("results/"))
    files = chain(recordings(page, root=ROOT), *(ROOT.glob(need) for need in needs if "/study/" in need))
    return _tally(files)


def _tally(files: Iterable[Path]) -> Counter[str]:
    rows = (row for path in sorted(set(files)) if path.is_file() for _, row in read_jsonl(path))
    found = {(row["id"], row.get("source", "")) for row in rows}  # runs on more data have the same arithmetic on print
    return Counter(SOURCES.get(source, "other") for _, source in found)


# ---- the page -------------------------------------------------------------------------------------------------------


OPENING = """# Coverage

The five papers hold {count} tables (T), figures (F) and claims in running text (C) that can be checked. This page says of \
each what became of it here, in which chapter, and by which numbers. It is made from the inventory \
`scirep_core/results/published/exhibits.csv` and from the chapters as they ran, each time the book is built.

An exhibit often has several states: a table whose averages follow by arithmetic, and whose trainings are repeated on invented \
papers. The first one is the strongest; pictures and counts go by it.

<ul class="scirep-states">
{states}
</ul>

## How much of each paper

{counts}

Printed numbers are those that a chapter shows with a link to their origin. Rows are results of our own, of the whole \
chapter: *recorded* are kept with the project, *live* are of this build.

{form}

{papers}"""


def page(rows: Sequence[Exhibit], chapters: Mapping[str, Shown]) -> str:
    """Return the coverage page (Markdown with tables in HTML). `chapters` maps the pages of this build to what they hold."""
    states = "\n".join(f"<li>{_badge(state)} <span>{meaning}.</span></li>" for state, meaning in STATES.items())
    papers = "\n".join(_paper(slug, name, rows, chapters) for slug, name in PAPERS.items())
    return OPENING.format(count=len(rows), states=states, counts=_counts(rows), form=_form(), papers=papers)


def _badge(state: str, strong: bool = True, words: str = "") -> str:
    weight = "" if strong else ' data-also=""'
    return f'<span class="scirep-state" data-state="{state}"{weight}>{words or LABELS[state]}</span>'


def _counts(rows: Sequence[Exhibit]) -> str:
    tally = {slug: Counter(row.state for row in rows if row.paper == slug) for slug in PAPERS}

    def line(name: str, counts: Counter[str], kind: str = "") -> str:
        cells = "".join(f"<td>{count}</td>" for count in (*(counts[state] for state in STATES), counts.total()))
        return f'<tr{kind}><th scope="row">{name}</th>{cells}</tr>'

    body = "".join(line(name, tally[slug]) for slug, name in PAPERS.items())
    body += line("all", sum(tally.values(), Counter()), ' class="group"')
    head = "".join(f'<th scope="col">{name}</th>' for name in ("paper", *LABELS.values(), "all"))
    return (
        f'<figure class="scirep-figure scirep-covered">{_bars(tally)}\n'
        "<figcaption>Exhibits by paper and by the strongest that was done with each; a bar is as long as its paper has "
        "exhibits.</figcaption></figure>\n"
        '<div class="scirep-scroll"><table class="scirep-table"><caption>The same in numbers</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _bars(tally: Mapping[str, Counter[str]]) -> str:
    width, block = 360.0, 46
    unit = width / max(max(counts.total() for counts in tally.values()), 1)
    said = []
    for slug, counts in tally.items():
        said.append(f"{PAPERS.get(slug, slug)}: {', '.join(f'{LABELS[s]} {counts[s]}' for s in STATES if counts[s])}")
    opening = f'<svg width="100%" viewBox="0 0 {width:g} {block * len(tally)}" role="img">'
    parts = [f"{opening}<title>Exhibits by state. {'; '.join(said)}.</title>"]
    for row, (slug, counts) in enumerate(tally.items()):
        x, top = 0.0, row * block
        parts.append(f'<text x="0" y="{top + 11}" font-size="11">{PAPERS.get(slug, slug)}, {counts.total()}</text>')
        for state in (s for s in STATES if counts[s]):
            length = counts[state] * unit
            parts.append(
                f'<rect class="{state}" x="{x + 0.5:.2f}" y="{top + 15}" width="{max(length - 1, 1):.2f}" height="12"/>'
                f'<text x="{x + length / 2:.2f}" y="{top + 37}" font-size="9" text-anchor="middle">{counts[state]}</text>'
            )
            x += length
    return "".join([*parts, "</svg>"])


def _form() -> str:
    """Return the search box and filters; hidden until the script, without which they would do nothing, shows them."""
    papers = "".join(f'<option value="{slug}">{name}</option>' for slug, name in PAPERS.items())
    states = "".join(f'<option value="{state}">{LABELS[state]}</option>' for state in STATES)
    return f"""<form class="scirep-filter" role="search" aria-label="Exhibits" hidden>
<label>Search <input type="search" name="words" placeholder="Tukey, TN-T3, Figure 2" autocomplete="off"></label>
<label>Paper <select name="paper"><option value="">all</option>{papers}</select></label>
<label>State <select name="state"><option value="">any</option>{states}</select></label>
<label><input type="checkbox" name="strongest"> only as the strongest</label>
<button type="reset">Show all</button> <output aria-live="polite"></output>
</form>"""


def _paper(slug: str, name: str, rows: Sequence[Exhibit], chapters: Mapping[str, Shown]) -> str:
    body = [_row(row, chapters) for row in rows if row.paper == slug]
    heads = "".join(
        f'<th scope="col">{head}</th>' for head in ("id", "exhibit and state", "chapter and numbers", "note")
    )
    table = (
        f'<table class="scirep-coverage"><caption>{len(body)} exhibits</caption><thead><tr>{heads}</tr></thead><tbody>'
    )
    return "\n".join((f'<div id="paper-{slug}"></div>', "", f"## {name}", "", table, *body, "</tbody></table>", ""))


def _row(row: Exhibit, chapters: Mapping[str, Shown]) -> str:
    what = f"<strong>{html.escape(row.exhibit)}</strong>: {html.escape(row.shows)}"
    what += f" <em>({html.escape(row.statistic)})</em>" if row.statistic else ""
    states = " ".join(_badge(state, strong=not place) for place, state in enumerate(row.states))
    where = "".join(_where(row, name, chapters[name]) for name in row.pages if name in chapters)
    filled = "".join(f"<td>{cell}</td>" for cell in (f"{what}<p>{states}</p>", where, html.escape(row.note)))
    head = f'<th scope="row" id="{row.id.lower()}">{row.id}</th>'
    return f'<tr data-paper="{row.paper}" data-state="{" ".join(row.states)}">{head}{filled}</tr>'


def _where(row: Exhibit, name: str, chapter: Shown) -> str:
    links = []
    for exhibit in row.carried_by:
        if anchors := chapter.numbers.get(exhibit, ()):
            through = "" if exhibit == row.id else f' of <a href="#{exhibit.lower()}">{exhibit}</a>'
            some = f"{len(anchors)} printed number{'s' * (len(anchors) > 1)}"
            links.append(f'<a href="{name}.html#{anchors[0]}">{some}</a>{through}')
    nothing = "a figure: no number to quote" if "-F" in row.id else "no number in print"
    printed = ", ".join(links) or (nothing if row.numberless or "-F" in row.id else "no printed number linked")
    ours = [
        f"{tally[source]:,} {source} {kind}"
        for source in ("real", "open", "embedded")
        for kind, tally in (("recorded", chapter.recorded), ("live", chapter.live))
        if tally.get(source)
    ]
    rows = f"; chapter’s own rows: {', '.join(ours)}" if ours else ""
    return f'<p><a href="{name}.html">{html.escape(chapter.title)}</a><br><small>{printed}{rows}</small></p>'
