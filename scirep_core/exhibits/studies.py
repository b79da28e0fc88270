"""What the chapters about training share: recorded and live studies, their tables, figures and Tukey's test (SciRepEval 6, 7).

    recorded   every training of a study that is committed, and a row for the mean of each line over its trainings
    live       the same made in this build, small: models, vectors and scores are kept in SCIREP_HOME, so that two chapters
               which ask for the same training share it

A table has a line for every variant: its mean, the standard deviation over trainings in small. The highest mean is bold; an
underline marks what Tukey's test over the trainings (5 %, all lines that were trained twice or more) does not tell from the
best of those tested, as in the papers, and that one itself where a line trained once is higher. Floor, words alone and
ceiling close the table and take no part in either.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from scirep_core.bench import studied, study
from scirep_core.bench.studied import Line
from scirep_core.exhibits import sign
from scirep_core.exhibits.counting import colour_of
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.page.study import record
from scirep_core.results import Result, provenance
from scirep_core.results.comparison import Tukey
from scirep_core.results.published import Printed

FLOOR, LEXICAL, CEILING = "random", "tfidf", "oracle"
REFERENCES = {LEXICAL: "TF-IDF", FLOOR: "floor: random vectors", CEILING: "ceiling: oracle"}
"""Systems that are not trained, which close every table: name -> label."""
SPLITS = {"in-train": "In-Train", "out-of-train": "Out-of-Train", "all": "Average"}
"""Columns of the papers' tables of averages, as splits of our rows."""
UNDERLINE = 'style="text-decoration: none; border-bottom: 3px solid currentcolor"'
"""A number is a link with a dotted line below: a plain underline would lie on it and not be seen."""

ColumnOf = Callable[[Result], str | None]
"""Row -> its column of a table, or None to leave it out."""


# ---- rows ------------------------------------------------------------------------------------------------------------


def recorded_study(name: str) -> list[Result]:
    """Return our committed run of a study of its own source, trainings and means; [] if none is recorded."""
    return studied.read(study.results_file(name))


def say_unrecorded(chapter: Chapter, name: str, rows: Sequence[Result]) -> None:
    """Say in a line, where it is so, that a study is not recorded, and how to record it."""
    if not rows:
        chapter.note(
            f"The study <code>{html.escape(name)}</code> is not recorded yet, so its numbers are missing here: "
            f"<code>scirep study {html.escape(name)}</code> trains, scores and records it."
        )


def facts(rows: Sequence[Result]) -> str:
    """Return in one line what a study's rows rest on: trainings, papers, width, layers, steps, base, protocol."""
    found = studied.means(rows)
    if not found:
        return ""
    own = [row for row in found if str(row.parameters.get("base", "")).startswith("embedded")]

    def every(key: str, of: Sequence[Result] = found) -> list[Any]:
        return sorted({row.parameters[key] for row in of if key in row.parameters})

    times, papers, steps = every("trainings"), every("papers"), every("steps")
    few = list(dict.fromkeys(row.encoder for row in found if row.parameters["trainings"] < times[-1]))
    said = [f"{times[-1]} training{'s' if times[-1] > 1 else ''} each"]
    said[0] += f" ({_names(few)}: {_ranged(times[:-1])})" if 0 < len(few) <= 3 else ""
    said += [f"{_ranged(papers)} papers of the embedded literature (invented text)"] if papers else []
    said += ["small samples of real papers"] if {row.source for row in found} == {"real"} else []
    said += [f"width {_ranged(every('width', own))}, {_ranged(every('layers', own))} layers"] if own else []
    said += [f"{_ranged(steps)} steps"] if steps else []
    said += [
        f"base {_names(map(str, every('base')))}",
        f"protocol {', '.join(sorted({row.protocol for row in found}))}",
    ]
    return ", ".join(said)


def _ranged(numbers: Sequence[float]) -> str:
    """Return `3,000`, or `32 to 256` of several."""
    return " to ".join(f"{n:,}" for n in dict.fromkeys((numbers[0], numbers[-1]))) if numbers else ""


def _names(labels: Iterable[str]) -> str:
    return ", ".join(html.escape(label) for label in labels)


# ---- cells -----------------------------------------------------------------------------------------------------------


def average_column(row: Result) -> str | None:
    """Return the column of a row in tables of averages: its split."""
    return row.split if row.metric == "average" else None


def cells(rows: Iterable[Result], column_of: ColumnOf | None = None) -> dict[tuple[str, str], Result]:
    """Return the numbers of a table by (line, column): means over trainings, and systems that are not trained."""
    column, given = column_of or average_column, list(rows)
    shown = [*studied.means(given), *(row for row in given if row.encoder in REFERENCES)]
    return {(row.encoder, name): row for row in shown if (name := column(row)) is not None}


def lines_of(rows: Iterable[Result]) -> list[str]:
    """Return the lines of a study that were trained, or are a base, in the order of its rows."""
    return list(dict.fromkeys(row.encoder for row in studied.means(rows)))


def values_of(rows: Sequence[Result], column: str, column_of: ColumnOf | None = None) -> list[Line]:
    """Return the values of single trainings of one column, references left out."""
    trained = [row for row in studied.trainings(rows) if row.encoder not in REFERENCES]
    return studied.table(trained, [column], column_of or average_column)


def tukey_of(rows: Sequence[Result], column: str, column_of: ColumnOf | None = None) -> Tukey | None:
    """Return ANOVA and Tukey's test of a column over all lines with two trainings or more; None without two such."""
    found = values_of(rows, column, column_of)
    varied = [line for line in found if len(set(line.values.get(column, ()))) > 1]
    return studied.tukey(found, column) if varied else None


def spread(row: Result) -> str:
    """Return a mean's standard deviation over trainings in small, "" of a single one."""
    sd = row.parameters.get("sd")
    return "" if sd is None else f'<span class="ci">±{sd:.2f}</span>'


# ---- tables ----------------------------------------------------------------------------------------------------------


def study_table(
    chapter: Chapter,
    caption: str,
    kinds: Mapping[str, Sequence[Result]],
    lines: Sequence[str],
    columns: Sequence[str],
    printed: Mapping[tuple[str, str], Printed] | None = None,
    labels: Mapping[str, str] | None = None,
    column_of: ColumnOf | None = None,
    decimals: int = 1,
) -> str:
    """Return a table of a study: published, recorded and live side by side, as far as each has numbers.

    Args:
        kinds: recorded, live -> rows of a study; a kind without rows has no column.
        lines: labels of rows without their seed, in order; one that no kind has is left out. Floor, TF-IDF and ceiling
            follow by themselves where they are among the rows.
        columns: what `column_of` gives; splits of the benchmark's average unless given.
        printed: quoted numbers by (line, column).
        labels: how lines and columns are called.
    """
    quoted, called, column = printed or {}, {**REFERENCES, **SPLITS, **(labels or {})}, column_of or average_column
    there = {kind: cells(rows, column) for kind, rows in kinds.items() if rows}
    marks = {
        (kind, name): _marks(kinds[kind], found, name, lines, column)
        for kind, found in there.items()
        for name in columns
    }
    known = {line for found in there.values() for line, _ in found} | {line for line, _ in quoted}
    header = [*(["published"] if quoted else []), *there]
    body = []
    for line in (one for one in [*lines, *REFERENCES] if one in known):
        shown = [called.get(line, html.escape(line))]
        for name in columns:
            shown += [quoted_cell(chapter, quoted.get((line, name)))] if quoted else []
            shown += [
                _cell(chapter, found.get((line, name)), marks[kind, name], decimals) for kind, found in there.items()
            ]
        body.append(shown)
    classes = [["", *(header * len(columns))]] * len(body)
    groups = [called.get(name, html.escape(name)) for name in columns]
    if len(header) == 1:
        return report.table([header[0], *groups], body, caption, classes)
    return report.table(["", *(header * len(columns))], body, caption, classes, groups)


class Marks(NamedTuple):
    """What is marked in a column: the line of the highest mean; the best that was tested, and those not told from it."""

    best: str
    tied: frozenset[str]


def _marks(
    rows: Sequence[Result], found: Mapping[tuple[str, str], Result], column: str, lines: Sequence[str], of: ColumnOf
) -> Marks:
    means = {line: found[line, column].value for line in lines if (line, column) in found and line not in REFERENCES}
    shown = [row for row in rows if studied.line(row) in means]
    tested = tukey_of(shown, column, of)
    tied = {tested.best, *tested.tied_with_best} if tested else ()
    return Marks(max(means, key=lambda line: means[line], default=""), frozenset(tied))


def _cell(chapter: Chapter, row: Result | None, marks: Marks, decimals: int) -> str:
    if row is None:
        return ""
    text = f"{chapter.number(row, decimals)}{spread(row)}"
    if row.encoder == marks.best:
        return f"<strong>{text}</strong>"
    return f"<u {UNDERLINE}>{text}</u>" if row.encoder in marks.tied else text


def quoted_cell(chapter: Chapter, number: Printed | None) -> str:
    """Return a printed number with the mark it has in print, "" where there is none."""
    if number is None or not number.value:
        return ""
    text = re.sub(r"<small>(.*?)</small></a>", r'</a><span class="ci">\1</span>', chapter.number(number))
    if "bold" in number.note:
        return f"<strong>{text}</strong>"
    return f"<u {UNDERLINE}>{text}</u>" if "underlined" in number.note else text


# ---- Tukey's test ----------------------------------------------------------------------------------------------------


def tukey_rows(
    chapter: Chapter,
    rows: Sequence[Result],
    column: str,
    against: str,
    column_of: ColumnOf | None = None,
    lines: Sequence[str] = (),
) -> list[Result]:
    """Record and return differences of lines from one: of means over trainings, with Tukey's family-wise 95 % intervals.

    The family is all lines of `rows` that were trained twice or more. `parameters` tell `p`, `against`, `of` (recorded or
    live) and of the ANOVA `f`, `f_p`, `df`. [] where too few lines were trained twice, or the one held against was not.

    Args:
        lines: those whose differences are wanted; all of them unless named.
    """
    found, named = tukey_of(rows, column, column_of), column_of or average_column
    if found is None or against not in found.means:
        return []
    first = next(row for row in studied.means(rows) if named(row) == column)
    of = f"{first.kind} {first.chapter.rpartition('/')[2]}"
    told = {"f": found.f, "f_p": found.p, "df": list(found.df), "against": against, "of": first.kind}
    made = []
    for label in lines or found.means:
        if label == against or label not in found.means:
            continue
        pair = found.pair(label, against)
        made.append(Result(
            first.task, first.split, f"{column} minus {against} ({of})", first.protocol, pair.difference,
            sum(found.df) + 1, encoder=label, against=against, low=pair.low, high=pair.high, source=first.source,
            data_hash=first.data_hash, seed=first.seed, pool=first.pool, parameters={**told, "p": pair.p}, provenance=provenance(),
            note=f"difference of means over the {first.kind} trainings, Tukey’s interval, p = {pair.p:.2g}",
        ))  # fmt: skip
    return record(chapter, made)


def difference(chapter: Chapter, row: Result, decimals: int = 2) -> str:
    """Return a difference with its interval and, where it has one, its p."""
    p = row.parameters.get("p")
    told = "" if p is None else f", p {'&lt; 0.001' if p < 0.001 else f'= {p:.2g}'}"
    assert row.low is not None
    assert row.high is not None
    inside = f"{row.low:+.{decimals}f} to {row.high:+.{decimals}f}{told}"
    return f"{chapter.number(row, decimals, sign=True)} ({inside})"


def say_tukey(chapter: Chapter, found: Sequence[Result], labels: Mapping[str, str] | None = None) -> str:
    """Return what the differences of `tukey_rows` say: which lines are ahead, which behind, which not told apart."""
    if not found:
        return "No line was trained often enough for a test."
    called, told = labels or {}, found[0].parameters
    against = html.escape(called.get(told["against"], told["against"]))
    groups = {way: [row for row in found if sign(row) == way] for way in (1, -1, 0)}
    f_p = "&lt; 0.001" if told["f_p"] < 0.001 else f"= {told['f_p']:.2g}"
    parts = [f"ANOVA over the {told['of']} trainings: F({told['df'][0]}, {told['df'][1]}) = {told['f']:.1f}, p {f_p}."]
    for way, word in ((1, f"Ahead of {against}"), (-1, f"Behind {against}"), (0, f"Not told from {against}")):
        shown = [f"{html.escape(called.get(r.encoder, r.encoder))} {difference(chapter, r)}" for r in groups[way]]
        parts.append(f"{word}: {'; '.join(shown)}." if shown else "")
    return " ".join(part for part in parts if part)


# ---- figures ---------------------------------------------------------------------------------------------------------


@report.styled
def study_figure(
    chapter: Chapter,
    name: str,
    rows: Sequence[Result],
    columns: Sequence[str],
    caption: str,
    alt: str,
    labels: Mapping[str, str] | None = None,
    lines: Sequence[str] = (),
) -> None:
    """Draw a dot a training and a bar at the mean of every line; floor, TF-IDF and ceiling as thin lines.

    A reference that lies far outside is named at the edge instead, so that the trainings can be told apart.

    Args:
        columns: splits of the averages, a panel each.
        lines: those drawn, top to bottom; all of them unless named.
    """
    called = {**SPLITS, **(labels or {})}
    table = {one: values_of(rows, one) for one in columns}
    order = [line for line in (lines or lines_of(rows)) if any(line == x.label for one in table.values() for x in one)]
    if not order:
        return
    size = (report.WIDTH, 1.0 + 0.3 * len(order))
    figure, drawn = report.subplots(1, len(columns), figsize=size, sharey=True, squeeze=False)
    frame: list[dict[str, Any]] = []
    for axes, one in zip(drawn[0], columns, strict=True):
        values = {line.label: line.values[one] for line in table[one] if line.label in order and one in line.values}
        edges = {row.encoder: row.value for row in rows if row.encoder in REFERENCES and average_column(row) == one}
        _panel(axes, order, values, edges, colour_of(rows[0].kind))
        axes.set_title(called.get(one, one))
        frame += [{"line": line, "column": one, "training": i, "value": v} for line, vs in values.items()
                  for i, v in enumerate(vs)]  # fmt: skip
        frame += [{"line": REFERENCES[key], "column": one, "training": "", "value": v} for key, v in edges.items()]
    drawn[0][0].set_yticks(range(len(order)), [called.get(x, x) for x in reversed(order)])
    chapter.figure(name, figure, pd.DataFrame(frame), caption, alt)


def _panel(
    axes: Any, order: Sequence[str], values: Mapping[str, Sequence[float]], edges: Mapping[str, float], colour: str
) -> None:
    for y, line in enumerate(reversed(order)):
        drawn = values.get(line, ())
        if drawn:
            axes.plot(drawn, [y] * len(drawn), "o", color=colour, markersize=4.5, alpha=0.55, markeredgewidth=0)
            axes.plot([sum(drawn) / len(drawn)] * 2, [y - 0.32, y + 0.32], color=colour, linewidth=2)
    every = [v for vs in values.values() for v in vs]
    low, high = min(every, default=0.0), max(every, default=1.0)
    room = max(high - low, 1.0)
    near = [v for v in edges.values() if low - room <= v <= high + room]
    left, right = min([low, *near]) - 0.12 * room, max([high, *near]) + 0.12 * room
    axes.set_xlim(left, right)
    axes.set_ylim(-0.7, len(order) - 0.3)
    axes.grid(axis="y", visible=False)
    beyond = []
    for key, value in sorted(edges.items(), key=lambda edge: edge[1]):
        short = {FLOOR: "floor", CEILING: "ceiling", LEXICAL: "TF-IDF"}[key]
        if left <= value <= right:
            dashes: Any = {FLOOR: (0, (4, 3)), LEXICAL: (0, (1, 2))}.get(key, "-")
            axes.axvline(value, color=report.FLOOR, linewidth=1, linestyle=dashes)
            axes.annotate(short, (value, 1), xycoords=("data", "axes fraction"), xytext=(2, -9),
                          textcoords="offset points", fontsize=8, color=report.MUTED)  # fmt: skip
        else:
            beyond.append(f"{short} {value:.1f} →" if value > right else f"← {short} {value:.1f}")
    axes.set_xlabel("\n".join(beyond), fontsize=8, color=report.MUTED)
