"""What a chapter shows of an exhibit, each one call with the same lines and columns: a table, a forest, how ours meets the print.

    chapter.table(caption, exhibit, lines, columns)     printed | real papers under each column; invented papers folded below
    chapter.forest(name, exhibit, lines, columns, ...)  the same numbers as marks with intervals, a panel a column
    chapter.compare(exhibit, what)                      how many of ours are the printed numbers, and which are not
    chapter.means(exhibit id, total)                    which printed averages follow from their printed parts
    chapter.answer(paper, real, untested)               the box a chapter opens with

Lines and columns are the exhibit's own where none are given; `labels` has their words. Names, labels and titles are
text and escaped; captions, notes and the templates of sentences are the author's HTML.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from scirep_core.kit.store import write_json
from scirep_core.page import report
from scirep_core.page.names import ANSWER, HEADS, VERDICTS
from scirep_core.page.rows import COUNTED, INVENTED, MEASURED, OWN, PRINTED, REAL, RECORDED, Cells, Exhibit, Number
from scirep_core.page.say import sentences
from scirep_core.results import PRINT, Result, arithmetic
from scirep_core.results.published import Printed, lookup

if TYPE_CHECKING:
    from scirep_core.page.chapter import Chapter

Labels = Mapping[Any, str]
Best = Callable[[Any, Number], bool]
"""Whether a line's number is to be marked."""
CLASSES = {PRINTED: "published", REAL: "recorded", OWN: "live", INVENTED: "invented",
           COUNTED: "counted", MEASURED: "recorded"}  # fmt: skip


def kind_of(column: str) -> str:
    """Return the CSS class of a column of an exhibit, "" where its name is not that of papers."""
    return next((name for papers, name in CLASSES.items() if column.startswith(papers)), "")


def spoken(kind: str) -> str:
    """Return what a column or a series of an exhibit is called: printed numbers are of real papers, too."""
    return f"ours, {kind}" if kind.startswith(REAL) else kind


def value_of(number: Number) -> float:
    """Return a number's value. Raises ValueError for a printed range."""
    return number.number if isinstance(number, Printed) else number.value


def table(
    chapter: Chapter, caption: str, exhibit: Exhibit, lines: Sequence[Any] = (), columns: Sequence[Any] = (),
    labels: Labels | None = None, first: str = "", decimals: int = 1, best: bool | Best = False, summary: str = "",
) -> None:  # fmt: skip
    """Show an exhibit as a table; lines and columns without a number are left out, and so is a table without lines.

    Where some columns are printed and others ours, each has its kind below its name.

    Args:
        caption, first: HTML; what the table shows, and the head of its first column.
        decimals: of our numbers where none is printed beside them.
        best: whether the highest number of each column is bold; or what says so of a line and a number.
        summary: what is clicked to see the table, where a figure has said it all; "" for an open one.
    """
    lines, columns = list(lines) or exhibit.axis(0), list(columns) or exhibit.axis(1)
    words = {key: label(labels, key) for key in (*lines, *columns)}

    def made(kinds: Mapping[str, Cells], folded: bool, alone: bool) -> str:
        there = [
            (c, kind) for c in columns for kind, found in kinds.items() if any((line, c) in found for line in lines)
        ]
        body: list[list[str]] = []
        for line in lines:
            row = [_cell(chapter, exhibit, kinds[kind], line, c, decimals, best) for c, kind in there]
            body += [[words[line], *row]] if any(row) else []
        if not body:
            return ""
        names, of = (list(dict.fromkeys(keys)) for keys in zip(*there, strict=True))
        run = {
            kind: ("recorded" if kind.endswith(RECORDED) else "this build") if folded else spoken(kind) for kind in of
        }
        heads = [words[c] if len(of) == 1 else f"{words[c]}<br><small>{run[kind]}</small>" for c, kind in there]
        groups: list[str] = []
        if 1 < len(of) == len(there) / len(names):
            heads, groups = [run[kind] for _, kind in there], [words[c] for c in names]
        text = f"{caption} ({of[0]})" if len(of) == 1 else f"{caption} ({INVENTED})" if folded else caption
        classes = [["", *(kind_of(kind) for _, kind in there)]] * len(body)
        return report.table([first, *heads], body, text, classes, groups)

    _show(chapter, exhibit, made, summary, "table")


Made = Callable[[Mapping[str, Cells], bool, bool], str]
"""(cells by kind, whether they are of invented papers, whether nothing stands above them) -> HTML, "" for none."""


def _show(chapter: Chapter, exhibit: Exhibit, made: Made, summary: str, what: str) -> None:
    """Show what is open, and what is of invented papers folded below it; with `summary` both are folded under it."""
    opened = made(exhibit.open, False, True)
    invented = made(exhibit.folded, True, not opened)
    head = f"The {'same ' * bool(opened)}{what} on {INVENTED}"
    if summary and not opened:
        opened, invented, summary = invented, "", f"{summary}; {INVENTED}"
    parts = [part for part in (opened, fold(head, invented) if invented else "") if part]
    for part in [fold(summary, "".join(parts))] if summary and parts else parts:
        chapter.show(part)


def fold(summary: str, content: str) -> str:
    """Return HTML that opens on a click."""
    return f'<details class="scirep-fold"><summary>{html.escape(summary)}</summary>{content}</details>'


def _cell(
    chapter: Chapter, exhibit: Exhibit, found: Cells, line: Any, column: Any, decimals: int, best: bool | Best
) -> str:  # fmt: skip
    number = found.get((line, column))
    if number is None:
        return ""
    printed = exhibit.printed.get((line, column))
    places = printed.decimals if isinstance(printed, Printed) else decimals
    shown = report.thousands(chapter.number(number, places), years=True)
    if callable(best):
        marked = best(line, number)
    else:
        marked = best and value_of(number) == max(value_of(n) for (_, c), n in found.items() if c == column)
    return f"<strong>{shown}</strong>" if marked else shown


# ---- forests ---------------------------------------------------------------------------------------------------------


@report.styled
def forest(
    chapter: Chapter, name: str, exhibit: Exhibit, lines: Sequence[Any] = (), columns: Sequence[Any] = (), *,
    title: str, axis: str, alt: str, labels: Labels | None = None, zero: bool = False, log: bool = False,
    floor: Any = None, bars: str = "95 % intervals", n: str = "", note: str = "", summary: str = "",
    together: bool = False, band: float = 0.0, beside: Labels | None = None, hollow: Collection[tuple[Any, Any]] = (),
) -> None:  # fmt: skip
    """Draw an exhibit: a line a row, a panel a column, a mark a kind with its 95 % interval; its table twin holds the numbers.

    A kind is what papers numbers are of; any other name, as of a protocol, is a series with a colour of its own.

    Args:
        title: the conclusion, a sentence computed from rows; it stands above the drawing.
        axis: what the values are, with their unit.
        alt: what is seen, for who cannot see it.
        zero: whether a line marks 0, as for differences.
        log: whether the axis is logarithmic, as for sizes.
        floor: the line that is a dashed line through its panel instead of a row of its own, as what chance gives.
        bars: what low and high of a number are.
        n: what a number is of, as "queries" or "papers".
        note: what else the caption has to say (HTML). Like `beside` it is about real papers where there are any, and stands
            under no figure of invented ones then.
        summary: what is clicked to see the drawing; "" for an open one.
        beside: line -> words to its right, as the result of a test; "" -> their head.
        band: half the width of a grey band around 0, within which a difference is small.
        together: whether all columns are marks of one panel, each in its colour and shape; printed ones are hollow.
        hollow: (line, column) of the marks of real papers that are drawn open, as what is not significant.
    """
    lines, columns = list(lines) or exhibit.axis(0), list(columns) or exhibit.axis(1)

    def made(kinds: Mapping[str, Cells], folded: bool, alone: bool) -> str:
        there = [line for line in lines if any((line, c) in found for c in columns for found in kinds.values())]
        if not there:
            return ""
        kinds = {kind: of for kind, of in kinds.items() if any((line, c) in of for line in there for c in columns)}
        panels = [c for c in columns if any((line, c) in found for line in there for found in kinds.values())]
        right = (beside or {}) if alone else {}
        empty = hollow if alone else ()
        figure, frame = _forest(
            kinds, there, panels, labels or {}, axis, zero, log, floor, together, band, right, empty
        )
        dashed = f" Dashed: {label(labels, floor)}." if any(line == floor for line, _ in chain(*kinds.values())) else ""
        marks = [r for found in kinds.values() for (line, c), r in found.items() if line in there and c in panels]
        numbers = [r for r in marks if isinstance(r, Result) and r.source not in (PRINT, "arithmetic")]
        counts = sorted({row.n for row in numbers})
        to = " or " if len(counts) > 1 and counts[-1] - counts[0] == 1 else " to "
        many = to.join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1]))) if counts > [1] else ""
        of = f" n = {f'{many} {n}'.strip()}." if many else ""
        sentence = f" Bars are {bars}." if any(row.low is not None for row in numbers) else ""
        caption = f"{f'{INVENTED.capitalize()}.' if folded else ''}{sentence}{of}{dashed} {note * alone}".strip()
        return chapter.drawn(name + "-invented" * folded, figure, frame, caption, alt, title * (not folded))

    _show(chapter, exhibit, made, summary, "figure")


def label(labels: Labels | None, key: Any) -> str:
    """Return what a line or column is called, as HTML; a line break in it stays one."""
    return html.escape(str((labels or {}).get(key, key))).replace("\n", "<br>")


def _plain(name: Any) -> str:
    """Return a name as matplotlib draws it letter by letter: dollars would make it a formula."""
    return str(name).replace("$", r"\$")


def _forest(
    kinds: Mapping[str, Cells], lines: Sequence[Any], columns: Sequence[Any], labels: Labels, axis: str, zero: bool,
    log: bool, floor: Any, together: bool, band: float, beside: Labels, hollow: Collection[tuple[Any, Any]],
) -> tuple[Any, pd.DataFrame]:  # fmt: skip
    marks = pd.DataFrame([
        {"panel": 0 if together else place, "row": row, "series": place if together else kind,
         "look": (kind, place, (line, column) in hollow),
         "line": labels.get(line, line), "column": labels.get(column, column), "kind": kind, "value": value_of(number),
         "low": getattr(number, "low", None), "high": getattr(number, "high", None), "n": getattr(number, "n", None)}
        for place, column in enumerate(columns) for kind, found in kinds.items()
        for row, line in enumerate(lines) if (line, column) in found for number in [found[line, column]]
    ])  # fmt: skip
    looks = {
        (kind, place, empty): _look(
            kinds, kind, place, str(labels.get(columns[place], columns[place])) if together else ""
        )
        for kind, place, empty in dict.fromkeys(marks["look"])
    }
    for (kind, place, empty), look in looks.items():
        if empty:  # the legend has a series once, by a filled mark where there is one
            look.update({"markerfacecolor": report.PAPER}, **({"label": "_"} if (kind, place, False) in looks else {}))
    panels = [of for _, of in marks.groupby("panel")]
    stacked = (len(columns) + 1) // 2 if together else max(of["series"].nunique() for of in panels)
    deep = max(str(labels.get(line, line)).count("\n") + 1 for line in lines)
    height = 1.0 + len(lines) * (0.1 + 0.2 * max(stacked, deep))
    figure, axes = report.subplots(
        1, len(panels), figsize=(report.WIDTH, height), sharey=True, sharex=True, squeeze=False
    )
    for ax, of in zip(axes[0], panels, strict=True):
        report.dots(ax, of, [_plain(labels.get(line, line)) for line in lines], looks)
        chance = {
            look: value_of(kinds[look[0]][floor, columns[look[1]]])
            for look in dict.fromkeys(of["look"])
            if (floor, columns[look[1]]) in kinds[look[0]]
        }
        for look, value in chance.items():  # one for all series is nobody's
            colour = report.colour_of(looks[look]) if len(chance) > 1 else report.FLOOR
            ax.axvline(value, color=colour, linewidth=1.2, linestyle=(0, (4, 3)))
        if band:
            ax.axvspan(-band, band, color=report.GRID, alpha=0.5, linewidth=0)
        if zero:
            ax.axvline(0, color=report.FLOOR, linewidth=1, zorder=1.6)  # above the grid, below the marks
        if log:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:,.10g}")
        else:
            long = marks["value"].abs().max() >= 10_000
            few = 4 if long or len(panels) > 2 else "auto"  # numbers of ticks must not meet
            ax.locator_params(axis="x", nbins=few, steps=[1, 2, 5, 10])
            if long:
                ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.set_title(_plain(of["column"].iloc[0]) if len(panels) > 1 else "")
    right = axes[0][-1]
    for row, line in enumerate(lines):
        if words := beside.get(line):
            right.text(1.02, row, words, transform=right.get_yaxis_transform(), va="center")
    if beside.get(""):
        head = "\n" + beside[""]  # the legend above must not touch it
        right.text(1.02, 1.0, head, transform=right.transAxes, va="bottom", weight="bold")
    below = figure.supxlabel(axis, fontsize="medium")
    if len(kinds) > 1 or together:
        entries = [zip(*ax.get_legend_handles_labels()[::-1], strict=True) for ax in axes[0]]
        names = dict(chain(*entries))  # a column of two kinds has one entry, a kind of a later panel too
        figure.legend(names.values(), names, loc="outside upper left", ncols=max(len(kinds), 3))
    figure.draw_without_rendering()  # lays the panels out, which long names push to the right
    below.set_x((axes[0][0].get_position().x0 + axes[0][-1].get_position().x1) / 2)
    return figure, marks.drop(columns=["panel", "row", "series", "look"])


def _look(kinds: Mapping[str, Cells], kind: str, place: int, column: str) -> dict[str, Any]:
    """Return how a kind's marks are drawn: with a column of many in one panel in that column's colour, under its name."""
    number = list(kinds).index(kind)
    look = report.MARKS.get(kind_of(kind)) or {"marker": "os"[number % 2], "color": report.SERIES[number]}
    look = look | {"label": spoken(kind)} | ({"marker": "s"} if kind.endswith(RECORDED) else {})
    if not column:
        return look
    edge = "color" if "color" in look else "markeredgecolor"
    series = report.SERIES[place % len(report.SERIES)]
    return look | {"label": column, "marker": "osDPXh"[place % 6], edge: series}


# ---- ours against the print ------------------------------------------------------------------------------------------


class Meeting(NamedTuple):
    """A number of ours and the printed one of the same cell."""

    line: Any
    column: Any
    ours: Result
    printed: Printed

    @property
    def equal(self) -> bool:
        """Whether ours, rounded as the paper rounds, is the printed one."""
        return self.printed.equals(self.ours.value)

    @property
    def cut(self) -> bool:
        """Whether ours is the printed one only if its digits are cut instead of rounded."""
        return self.printed.cuts(self.ours.value)


def meetings(exhibit: Exhibit) -> list[Meeting]:
    """Return every cell that is printed and that we have computed from real papers."""
    pairs = [(key, exhibit.real[key], printed) for key, printed in exhibit.printed.items() if key in exhibit.real]
    return [Meeting(*key, ours, p) for key, ours, p in pairs if isinstance(ours, Result) and isinstance(p, Printed)]


def _digits(one: Meeting) -> int:
    """Return how many decimals show that ours is not the printed number; a count or a year has none."""
    if one.ours.value.is_integer() and not one.printed.decimals:
        return 0
    return 4 if abs(one.ours.value) < 1 else 2


def compare(chapter: Chapter, exhibit: Exhibit, what: str, labels: Labels | None = None) -> list[Meeting]:
    """Say how many of our numbers of real papers are the printed ones, and name each that is not; return all of them."""
    met = meetings(exhibit)
    off = [one for one in met if not one.equal]
    chapter.say(
        "{{ (met|length - off|length)|of(met|length)|capitalize }} printed numbers of {{ what }} follow to the last digit"
        "{{ ';' if off else '.' }}" if met else "",
        """{% for one in off %}{{ [one.line, words.get(one.column, one.column)]|select|join(", ") }} is printed
        {{ one.printed|n }} and computed {{ one.ours|n(digits(one)) }}
        {%- if one.cut %} (truncated, not rounded){% endif %}{{ "." if loop.last else "; " }}{% endfor %}""",
        met=met, off=off, what=what, words=labels or {}, digits=_digits,
    )  # fmt: skip
    return met


class Mean(NamedTuple):
    """A printed average, and what its printed parts give."""

    of: Any
    printed: Printed
    made: Result
    slack: float
    """How far the two may be apart by rounding alone: half a unit of the last digit of each."""

    @property
    def follows(self) -> bool:
        """Whether the average is that of its parts, within rounding."""
        return abs(self.printed.number - self.made.value) <= self.slack + 1e-9


def means(
    chapter: Chapter, exhibit: str, total: str, parts: Sequence[str] = (), across: str = "row",
    named: Callable[[str], str] = "mean of the parts, {}".format, quiet: bool = False,
) -> list[Mean]:  # fmt: skip
    """Say which printed averages are the means of their printed parts, with those that are not in a folded table; return all.

    Args:
        exhibit: id of the printed table.
        total: the row (`across` = "row") or column ("column") that holds the averages.
        parts: what is averaged; every other row or column where none is given.
        named: from a column or row to what its mean is called among the chapter's rows.
        quiet: say nothing where all follow.
    """
    there = [p for p in lookup(exhibit).values() if p.value]
    printed = {(p.row, p.column) if across == "row" else (p.column, p.row): p for p in there}
    parts = list(parts) or [part for part in dict.fromkeys(part for part, _ in printed) if part != total]
    found = []
    for of in (name for part, name in printed if part == total):
        numbers = [printed[part, of] for part in parts if (part, of) in printed]
        value = float(np.mean([p.number for p in numbers]))
        made = chapter.record(arithmetic(exhibit, named(of), value, len(numbers), numbers))
        slack = 0.5 * (10.0 ** -printed[total, of].decimals + 10.0 ** -min(p.decimals for p in numbers))
        found.append(Mean(of, printed[total, of], made, slack))
    off = [one for one in found if not one.follows]
    if quiet and not off:
        return found
    chapter.say(
        "{{ (found|length - off|length)|of(found|length)|capitalize }} printed averages match their parts within rounding"
        "{% if off %}; not {{ off|map(attribute='of')|listed }}{% endif %}.",
        found=found, off=off,
    )  # fmt: skip
    if off:
        body = [[html.escape(str(one.of)), chapter.number(one.printed), chapter.number(one.made, 3)] for one in off]
        shown = report.table(["", "printed", "mean of its parts"], body, "Averages that do not match their parts")
        chapter.show(fold(f"{len(off)} averages that do not match", shown))
    return found


# ---- the answer ------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A line of the answer box: a template as `say` takes them, what became of which claim in it, the id of what proves it."""

    text: str
    verdict: int | None = None
    proof: str = ""
    claim: str = ""
    head: str = ""


def badge(verdict: int, claim: str = "") -> str:
    """Return a verdict as HTML, and the claim that it is of."""
    word = VERDICTS[verdict] + ":" * bool(claim)
    return f'<span class="scirep-verdict way{verdict}"><b>{word}</b> {html.escape(claim)}</span>'


def answer(chapter: Chapter, paper: Line, real: Line, untested: Line, **values: Any) -> None:
    """Show the box a chapter opens with: what the paper says, what real papers say, what could not be tested here.

    `verdict` of a line: 1 holds, -1 does not hold, 0 open, None where nothing is claimed; `claim` names in a few words the one
    statement that it judges. A line of which a number is missing is left out. The lines are kept in the chapter's folder too,
    from which the first page makes its report card.
    """
    body, lines = [], {}
    for (role, head), line in zip(HEADS.items(), (paper, real, untested), strict=True):
        text = " ".join(sentences(chapter.number, [line.text], values))
        if not text:
            continue
        proof = f' <a href="#{html.escape(line.proof)}">evidence</a>' if line.proof else ""
        verdict = "" if line.verdict is None else f" {badge(line.verdict, line.claim)}"
        body.append(f"<dt>{line.head or head}</dt><dd>{text}{verdict}{proof}</dd>")
        lines[role] = {**line._asdict(), "head": line.head or head, "text": text}
    write_json(chapter.folder / ANSWER, lines)
    if body:
        chapter.show(f'<dl class="scirep-answer">{"".join(body)}</dl>')
