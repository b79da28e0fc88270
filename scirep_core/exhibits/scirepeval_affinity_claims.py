"""Chapter `scirepeval/affinity`: what appendix H of v2 and appendix G of v1 say of their tables, put to print and to ours.

    alone      (format alone) - All                        on the format's own tasks
    partner    (format + other) - (format alone)           on the format's own tasks
    unrelated  (PRX + SRCH) - the better of the two alone  on tasks of CLF and RGN
    room       (best run but All) - All                    column by column
    with       mean of runs that hold a format - mean of those that do not, on that format's tasks; All is in neither

Of printed differences there is the sign; of ours Tukey's interval over the trainings (`with`: a t interval over the
trainings, each of which gives one such difference).
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from scirep_core.bench.studied import line, trainings
from scirep_core.exhibits.scirepeval_affinity import (
    ALL,
    COLUMNS,
    FORMATS,
    LINES,
    PARTS,
    RUNS,
    Table,
    called,
    column_of,
    mean_of,
    printed,
    settled,
)
from scirep_core.exhibits.scirepeval_affinity_figure import draw, over_trainings
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import Printed, lookup

SAID = {"V1-T9": ("V1-T9", "appendix G: "), "V2-T11": ("V2-C14", "")}
"""Printed table -> where its appendix's statements are, and how their rows begin."""
SAME_MODEL = {"V2-T11": ("V2-T2", "SPECTER2 MTL CTRL"), "V1-T9": ("V1-T2", "SciNCL + MTL CTRL")}
"""Printed table -> where its run on all formats is printed with a spread, and as what."""
TABLE_2 = ("In-Train", "Out-of-Train", "Average")
WHERE = {part: part for part in PARTS} | {"all": "over all tasks"}
Gaps = Mapping[str, Result]


def said(exhibit: str, row: str, column: str) -> Printed | None:
    """Return a statement of the appendix to a printed table, None where it makes none."""
    where, prefix = SAID[exhibit]
    return lookup(where).get((prefix + row, column))


def named(statement: Printed) -> list[str]:
    """Return the columns a statement names.

    >>> named(lookup("V2-C14")["All", "within but for"])
    ['out-of-train/RGN', 'in-train/CLF']
    """
    return [one.strip().replace(" ", "/") for one in statement.value.split(",")]


def pair(first: str, second: str) -> str:
    """Return the run on two formats.

    >>> pair("SRCH", "CLF")
    'CLF+SRCH'
    """
    return "+".join(sorted((first, second), key=FORMATS.index))


def listed(chapter: Chapter, table: Table, gaps: Gaps, names: Sequence[str]) -> str:
    """Return some differences as text."""
    return "; ".join(f"{html.escape(called(name))} {table.show(chapter, gaps[name])}" for name in names)


def say_ways(
    chapter: Chapter, table: Table, gaps: Gaps, words: tuple[str, str, str] = ("ahead", "level", "behind")
) -> str:
    """Return which differences are above 0, which below and which neither: of ours, by their intervals."""
    parts = []
    for way, word in zip((1, 0, -1), words, strict=True):
        names = [name for name, row in gaps.items() if settled(row) == way]
        if not names:
            continue
        if way == 0 and table.kind != "published":  # the table or the figure beside it has their intervals
            parts.append(f"not told apart in {len(names)} ({', '.join(map(called, names))})")
        else:
            parts.append(f"{word} in {len(names)} ({listed(chapter, table, gaps, names)})")
    return ", ".join(parts)


def show_gaps(chapter: Chapter, tables: Sequence[Table], every: Sequence[Gaps], first: str, caption: str) -> None:
    """Show differences of several tables side by side."""
    body = [[called(name), *(t.show(chapter, gaps[name]) if name in gaps else "" for t, gaps in zip(tables, every, strict=True))]
            for name in every[0]]  # fmt: skip
    header = [first, *(t.name for t in tables)]
    chapter.show(report.table(header, body, caption, [["", *(t.kind for t in tables)]] * len(body)))


def bullets(chapter: Chapter, items: Sequence[str]) -> None:
    """Show a list of sentences."""
    chapter.show(f"<ul>{''.join(f'<li>{one}</li>' for one in items if one)}</ul>")


# ---- a format alone --------------------------------------------------------------------------------------------------


def alone(chapter: Chapter, tables: Sequence[Table]) -> None:
    """Show what training on a format alone gives its own tasks, against all formats; check what the appendices say of it."""
    every = [{column: t.gap(chapter, column.partition("/")[2], ALL, column) for column in COLUMNS} for t in tables]
    caption = (
        "A format alone minus all formats together, on the format’s own tasks, in points; of ours with Tukey’s interval"
    )
    show_gaps(chapter, tables, every, "Tasks", caption)
    items = []
    for table, gaps in zip(tables, every, strict=True):
        if table.kind == "published":
            items.append(f"{table.name}: {_say_alone(chapter, table, gaps)}")
        else:
            items.append(f"Our study: against all formats, a format alone is {say_ways(chapter, table, gaps)}.")
    bullets(chapter, items)
    draw(chapter, "alone", tables, every, "A format alone minus all formats together, on the format’s own tasks",
         "trained on the format alone, minus trained on all")  # fmt: skip


def _say_alone(chapter: Chapter, table: Table, gaps: Gaps) -> str:
    quoted = said(table.exhibit, "one format alone, on its own tasks", "better or similar but for")
    assert quoted is not None
    excepted = [name for name in named(quoted) if name in gaps]
    rest = {name: row for name, row in gaps.items() if name not in excepted}
    behind = [name for name, row in rest.items() if row.value < 0]
    ahead = sum(row.value > 0 for row in rest.values())
    text = (
        f"the text says better or similar but for {chapter.number(quoted)}. There the gap is "
        f"{listed(chapter, table, gaps, excepted)}; of the {len(rest)} other columns a format alone is ahead in {ahead}"
    )
    if not behind:
        return f"{text} and behind in none: the statement holds."
    least, most = min(rest[name].value for name in behind), max(gaps[name].value for name in excepted)
    text += f" and behind in {len(behind)} ({listed(chapter, table, rest, behind)})"
    if least > most:
        return f"{text}. It holds if {abs(least):.1f} points count as similar; every exception is further behind."
    return f"{text}, one of them no nearer than an exception: no one idea of similar fits the statement."


# ---- a partner -------------------------------------------------------------------------------------------------------


def partner_gaps(chapter: Chapter, table: Table) -> dict[str, Result]:
    """Return (format + other) - format alone by "part FORMAT + OTHER", on tasks of that format."""
    return {
        f"{part} {own} + {other}": table.gap(chapter, pair(own, other), own, f"{part}/{own}")
        for part in PARTS
        for own in FORMATS
        for other in FORMATS
        if own != other
    }


def partners(chapter: Chapter, tables: Sequence[Table]) -> None:
    """Draw what a second format does to a first one's tasks; check who is said to go well with whom."""
    every = [partner_gaps(chapter, table) for table in tables]
    items = []
    for table, gaps in zip(tables, every, strict=True):
        signs = [settled(row) for row in gaps.values()]
        open_ = (
            f", {signs.count(0)} {'are level' if table.kind == 'published' else 'are not told apart'}"
            if 0 in signs
            else ""
        )
        largest, smallest = max(gaps, key=lambda n: gaps[n].value), min(gaps, key=lambda n: gaps[n].value)
        items.append(
            f"{_name(table)}: of {len(gaps)} combinations of a format, a partner and a part {signs.count(1)} gain and "
            f"{signs.count(-1)} lose{open_}; from {listed(chapter, table, gaps, [smallest])} to "
            f"{listed(chapter, table, gaps, [largest])}."
        )
    bullets(chapter, items)
    draw(chapter, "partners", tables, every, "What a second format adds, on tasks of the first",
         "trained on both, minus trained on the first alone")  # fmt: skip
    bullets(chapter, _said_of_pairs(chapter, tables))


def _name(table: Table) -> str:
    return table.name if table.kind == "published" else "Our study"


def _said_of_pairs(chapter: Chapter, tables: Sequence[Table]) -> list[str]:
    """Return, statement by statement, what is said to go together and what its own table, and ours, say."""
    return [
        f"<strong>{what}</strong> {' '.join(_told(chapter, table, row, ask) for table in tables if _asked(table, row))}"
        for what, row, ask in (
            ("PRX and SRCH boost each other.", "PRX+SRCH", _boost),
            ("CLF and RGN together are better than each alone.", "CLF+RGN", _boost),
            ("RGN with PRX is the best there is on PRX.", "RGN+PRX", _best),
            ("RGN with SRCH is the best there is on SRCH.", "RGN+SRCH", _best),
            ("PRX and SRCH gain on related tasks only.", "PRX+SRCH", _unrelated),
        )
    ]


def _asked(table: Table, run: str) -> bool:
    """Return whether a paper says something of a pair; our study is asked all of it."""
    return table.kind != "published" or any(
        said(table.exhibit, run, c) for c in ("best on", "better than each alone on")
    )


def _told(chapter: Chapter, table: Table, run: str, ask: Callable[[Chapter, Table, str], str]) -> str:
    return f"{_name(table)}: {ask(chapter, table, run)}."


def _boost(chapter: Chapter, table: Table, run: str) -> str:
    """Say what two formats together are on their own tasks, against each alone."""
    gaps = {f"{part} {own}": table.gap(chapter, run, own, f"{part}/{own}") for part in PARTS for own in run.split("+")}
    return f"on their own tasks {say_ways(chapter, table, gaps)}, against each alone"


def _best(chapter: Chapter, table: Table, run: str) -> str:
    """Say whether a run is the best of all on its second format."""
    parts = []
    for part in PARTS:
        column = f"{part}/{run.partition('+')[2]}"
        others = {other: table.values[other, column] for other in RUNS if other != run}
        top = max(others, key=lambda other: others[other])
        row = table.gap(chapter, run, top, column)
        word = {1: "yes", -1: "no", 0: "shared" if table.kind == "published" else "not told apart"}[settled(row)]
        parts.append(f"{part} {word}, {table.show(chapter, row)} to the best other, {top}")
    return "; ".join(parts)


def _unrelated(chapter: Chapter, table: Table, run: str) -> str:
    """Say what PRX and SRCH together do to classification and regression."""
    gaps = {}
    for column in (f"{part}/{name}" for part in PARTS for name in ("CLF", "RGN")):
        scores = {table.values[one, column]: one for one in run.split("+")}
        better = scores[max(scores)]
        gaps[column] = table.gap(chapter, run, better, column)
    return f"on CLF and RGN {say_ways(chapter, table, gaps)}, against the better of the two alone"


# ---- everything ------------------------------------------------------------------------------------------------------


def everything(chapter: Chapter, tables: Sequence[Table]) -> None:
    """Show how far the best run other than All is from All, column by column; check both statements about All."""
    every: list[Gaps] = []
    body = [[called(column)] for column in COLUMNS]
    for table in tables:
        tops = {column: _top(table, column) for column in COLUMNS}
        every.append({column: table.gap(chapter, run, ALL, column) for column, run in tops.items()})
        for cells, (column, run) in zip(body, tops.items(), strict=True):
            cells.append(f"{run} {table.show(chapter, every[-1][column])}")
    caption = (
        "The best run but All, and its score minus that of All, in points. The best of ten is picked by the same scores, "
        "which flatters it"
    )
    header = ["Tasks", *(t.name for t in tables)]
    chapter.show(report.table(header, body, caption, [["", *(t.kind for t in tables)]] * len(body)))
    bullets(chapter, [_say_all(chapter, t, gaps) for t, gaps in zip(tables, every, strict=True)])
    _say_spread(chapter)


def _top(table: Table, column: str) -> str:
    """Return the best run of a column but All."""
    return max((run for run in RUNS if run != ALL), key=lambda run: table.values[run, column])


def _say_spread(chapter: Chapter) -> None:
    """Say what the spread of All over trainings is by the same papers' Table 2: the only one that is printed."""
    parts = []
    for exhibit, (two, model) in SAME_MODEL.items():
        table, found = printed(exhibit), lookup(two)
        quoted = {part: found[model, column] for part, column in zip((*PARTS, "all"), TABLE_2, strict=True)}
        same = [part for part, one in quoted.items() if one.number == table.values[ALL, part]]
        gaps = {part: abs(one.number - table.values[ALL, part]) for part, one in quoted.items()}
        told = "the same means" if len(same) == len(quoted) else f"means up to {max(gaps.values()):.1f} away from these"
        parts.append(
            f"{table.name}: its All is {html.escape(model)} of Table 2, printed there as "
            f"{', '.join(f'{chapter.number(one)} {part}' for part, one in quoted.items())}, {told}"
        )
    room = {e: 2 * 2**0.5 * max(float(lookup(two)[m, c].std) for c in TABLE_2) for e, (two, m) in SAME_MODEL.items()}
    chapter.say(
        "How much of this is chance? Neither table prints a spread. Table 2 of each paper does, over five trainings of what is "
        f"All here: {'; '.join(parts)}. Nothing says that the other rows were trained more than once. Two single trainings with "
        f"the widest of these spreads lie up to {room['V2-T11']:.1f} (v2) and {room['V1-T9']:.1f} (v1) points apart by chance "
        "(two standard deviations of a difference), and a mean over one or two tasks spreads wider than these means over seven "
        "or more: printed gaps of a few tenths settle nothing."
    )


def part_mean(table: Table, run: str, part: str) -> float:
    """Return a run's mean of a part: of print recomputed from its formats, since v2's printed one is wrong.

    As printed, where one of the formats is the misprint (v1) or the table lacks one of the parts (the mean of all).
    """
    cells = [table.numbers[run, f"{part}/{name}"] for name in FORMATS] if part != "all" else []
    wrong = any(isinstance(one, Printed) and "misprint" in one.note for one in cells)
    return mean_of(table, run, part) if table.kind == "published" and cells and not wrong else table.values[run, part]


def _say_all(chapter: Chapter, table: Table, gaps: Gaps) -> str:
    means = {part: {run: part_mean(table, run, part) for run in RUNS} for part in (*PARTS, "all")}
    lead = {part: sorted(found, key=lambda run: -found[run])[:2] for part, found in means.items()}
    first = [part for part, runs in lead.items() if runs[0] == ALL]
    text = f"{_name(table)}: All has the highest mean {', '.join(WHERE[part] for part in first) or 'nowhere'}"
    if table.kind == "published":
        behind = {part: means[part][ALL] - means[part][lead[part][1]] for part in first}
        told = "; ".join(f"{WHERE[part]}: next is {lead[part][1]}, {gap:.1f} behind" for part, gap in behind.items())
        text += f" ({told})" if told else ""
        quoted, bound = (
            said(table.exhibit, "All", c) for c in ("within but for", "within points of the best combination")
        )
        assert quoted is not None
        assert bound is not None
        beyond = [c for c in COLUMNS if gaps[c].value > bound.number]
        same = sorted(beyond) == sorted(named(quoted))
        return (
            f"{text}. More than {chapter.number(bound)} point short of the best: "
            f"{listed(chapter, table, gaps, beyond) or 'nothing'}; the text excepts {chapter.number(quoted)}: "
            f"{'that is what the table says' if same else 'the table says otherwise'}."
        )
    others = {
        part: table.gap(chapter, next(run for run in runs if run != ALL), ALL, part) for part, runs in lead.items()
    }
    text += "; " + "; ".join(
        f"{WHERE[part]}: the best other, {next(run for run in lead[part] if run != ALL)}, {table.show(chapter, row)}"
        for part, row in others.items()
    )
    inside = [c for c in COLUMNS if (high := gaps[c].high) is not None and high <= 1]
    beyond = [c for c in COLUMNS if (low := gaps[c].low) is not None and low > 1]
    return (
        f"{text}. By its interval All is within 1 point of the best run in {len(inside)} of {len(COLUMNS)} columns, more than 1 "
        f"point short in {len(beyond)}{f' ({listed(chapter, table, gaps, beyond)})' if beyond else ''}; in the others that is open."
    )


# ---- does it take the format? ----------------------------------------------------------------------------------------


def with_format(chapter: Chapter, tables: Sequence[Table]) -> None:
    """Show whether runs that hold a format are better on it than runs that do not (v2, Limitations: it "helps")."""
    every = [{column: _with(chapter, table, column) for column in COLUMNS} for table in tables]
    caption = (
        "Mean of the four runs that hold the tasks’ format, minus mean of the six that do not (All is in neither), in points; "
        "of ours with the t interval over trainings"
    )
    show_gaps(chapter, tables, every, "Tasks", caption)
    counts = [[sum(settled(row) == way for row in gaps.values()) for way in (1, -1)] for gaps in every]
    told = [
        f"{_name(table)}: better in {up} of {len(COLUMNS)} columns, worse in {down}"
        for table, (up, down) in zip(tables, counts, strict=True)
    ]
    chapter.say(f"Runs that hold the format: {'; '.join(told)}.")


def _with(chapter: Chapter, table: Table, column: str) -> Result:
    name, numbers = column.partition("/")[2], {run: table.numbers[run, column] for run in RUNS if run != ALL}
    good = {run: one for run, one in numbers.items() if not (isinstance(one, Printed) and "misprint" in one.note)}
    inside, outside = ([run for run in good if (name in run.split("+")) is way] for way in (True, False))
    metric = f"{column}, runs with {name} minus runs without"
    if table.kind == "published":
        value = np.mean([table.values[r, column] for r in inside]) - np.mean([table.values[r, column] for r in outside])
        row = arithmetic(
            table.exhibit, metric, float(value), len(good), [one for one in good.values() if isinstance(one, Printed)]
        )
        return chapter.record([row])[0]
    drawn: dict[int, dict[str, float]] = {}
    for row in trainings(table.rows):
        if column_of(row) == column and line(row) in LINES:
            drawn.setdefault(row.parameters["training_seed"], {})[LINES[line(row)]] = row.value
    whole = [found for found in drawn.values() if all(run in found for run in good)]
    values = [float(np.mean([f[r] for r in inside]) - np.mean([f[r] for r in outside])) for f in whole]
    return study_.record(chapter, [over_trainings(table.rows[0], metric, values)])[0]
