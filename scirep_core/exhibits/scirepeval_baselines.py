"""Chapter `scirepeval/baselines`: every baseline on every task (SciRepEval section 5, Table 2), its averages, few-shot settings.

    unit      what the average counts: a task's one metric; MAP and nDCG of a SciDocs ranking task; the mean of the full and
              the two few-shot settings of FoS, DRSM and Biomimicry; the mean of the four of reviewer matching
    average   mean over 27 units (v2) or 28 (v1): bench/suites.py

Intervals of a mean are those of its bootstrap values, draw by draw. The printed part of the chapter is in scirepeval_print.py,
comparisons of encoders and protocols in scirepeval_compared.py, few-shot settings in scirepeval_few_shot.py.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from scirep_core.bench.suites import SUITES, Unit, averages, units
from scirep_core.data import TASKS
from scirep_core.exhibits import cell
from scirep_core.exhibits.counting import SAMPLE, Gathered, names_in, title
from scirep_core.exhibits.scirepeval_print import BASELINES, TABLES
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, recorded
from scirep_core.results.published import lookup

CHAPTER = "scirepeval/baselines"
WANTED = tuple(name for name in TASKS if name in {*SUITES["scirepeval"], *SUITES["scirepeval-v1"]})
"""The 26 tasks of the two versions that are scored."""
FLOOR, CEILING, LEXICAL = "random", "oracle", "bm25"
LABELS = {
    FLOOR: "floor: random vectors",
    CEILING: "ceiling: oracle",
    "tfidf": "TF-IDF",
    LEXICAL: "BM25",
    "minilm": "MiniLM",
}
PRINTED = {"e5": "E5-base-v2", "mpnet": "MPNet", "scibert": "SciBERT", "specter": "SPECTER", "scincl": "SciNCL",
           "specter2_base": "SPECTER2 Base", "specter2": "SPECTER2 Adapters"}  # fmt: skip
"""Encoders by name and their rows in the printed tables."""
SPLITS = {"In-Train": "in-train", "Out-of-Train": "out-of-train", "SciDocs": "scidocs", "Average": "all"}
VERSIONS = {"V2-T2": "v2", "V1-T2": "v1"}
UNIT = "unit"
"""Split of the mean over a task's settings."""
BARE = " without intercept"
"""Marks a score by a support vector machine without intercept: the back end of the published numbers."""
RANKING = ("proximity", "adhoc_search", "reviewer_matching")
FEW = tuple(name for name in WANTED if TASKS[name].few_shot)


# ---- measuring -------------------------------------------------------------------------------------------------------


def systems_of(chapter: Chapter, gathered: Gathered) -> list[str]:
    """Return what is scored: the floor, the encoders the parameters name, the ceiling where the truth is known."""
    named = [name for name in names_in(chapter.parameters["encoders"]) if name not in (FLOOR, CEILING)]
    known = any(task.oracle is not None for task in gathered.tasks.values())
    return [FLOOR, *named, *([CEILING] if known else [])]


def plain(rows: Iterable[Result], protocol: str, split: str = "") -> list[Result]:
    """Return the scores of tasks under one protocol: no averages, differences or scores of another back end."""
    return [
        r
        for r in rows
        if r.protocol == protocol
        and not r.task.startswith("scirepeval/average")
        and not r.against
        and BARE not in r.metric
        and (not split or r.split == split)
    ]


def mean_row(rows: Sequence[Result], task: str, split: str, metric: str, note: str) -> Result:
    """Return the mean of a system's rows as a row: bootstrap values are averaged draw by draw, `n` is the first row's."""
    drawn = [row.replicates for row in rows if row.replicates is not None]
    whole = len(drawn) == len(rows) and len({len(one) for one in drawn}) == 1
    replicates = np.asarray(np.mean(drawn, axis=0, dtype=np.float64), dtype=np.float32) if whole else None
    low, high = (None, None) if replicates is None else map(float, np.quantile(replicates, [0.025, 0.975]))
    value = sum(row.value for row in rows) / len(rows)
    return replace(
        rows[0], task=task, split=split, metric=metric, value=value, low=low, high=high, replicates=replicates, note=note,
        by_query={}, coverage=min((r.coverage for r in rows if r.coverage is not None), default=None),
    )  # fmt: skip


def unit_rows(rows: Sequence[Result]) -> list[Result]:
    """Return, of one system's rows, a row for every unit that is a mean over settings and has all of them."""
    found = {(r.task, r.split, r.metric): r for r in rows}
    made = []
    for unit in all_units():
        members = [found.get((unit.task, *member)) for member in unit.members]
        there = [row for row in members if row is not None]
        if len(members) > 1 and len(there) == len(members):
            settings = ", ".join(split for split, _ in unit.members)
            made.append(mean_row(there, unit.task, UNIT, unit.members[0][1], f"mean of {settings}"))
    return made


def all_units() -> list[Unit]:
    """Return the units of both versions, each once, in the order of the inventory."""
    found = {unit.name: unit for version in VERSIONS.values() for unit in units(version)}
    return sorted(found.values(), key=lambda unit: list(TASKS).index(unit.task))


def of_units(rows: Iterable[Result]) -> dict[tuple[str, str], Result]:
    """Return the row of every unit by (name of the unit, encoder)."""
    found = {(r.task, r.split, r.metric, r.encoder): r for r in rows}
    names = dict.fromkeys(key[3] for key in found)
    table = {}
    for unit in all_units():
        split = UNIT if len(unit.members) > 1 else unit.members[0][0]
        for name in names:
            if row := found.get((unit.task, split, unit.members[0][1], name)):
                table[unit.name, name] = row
    return table


def averaged(rows: Sequence[Result]) -> list[Result]:
    """Return both versions' averages of one system's rows; what is missing is said in the rows."""
    tasks = {row.task for row in rows}
    if not any(TASKS[name].format == "CLF" for name in tasks if name in TASKS):
        return []  # a system that only ranks has no average of the benchmark
    return [
        row
        for version in VERSIONS.values()
        for row in averages(rows, version, partial=True)
        if row.split in SPLITS.values() or row.split in ("CLF", "RGN", "PRX", "QRY")
    ]


# ---- Table 2 ---------------------------------------------------------------------------------------------------------


def kept() -> list[Result]:
    """Return the scores of our committed run on 3,000 invented papers; the live run of the page is smaller.

    Rows without a system (counts) and those with and without abstracts (scirepeval_titles.py) are no scores of a system.
    """
    return [row for row in recorded(CHAPTER, "embedded") if row.encoder and ", " not in row.encoder]


def which(rows: Sequence[Result]) -> str:
    """Return `recorded run, embedded data (3,000 papers, seed 0)`."""
    given = rows[0].parameters
    size = f" ({given['papers']:,} papers, seed {given['seed']})" if given.get("data") == "embedded" else ""
    return f"{rows[0].kind} run, {rows[0].source} data{size}"


def say_unrecorded(chapter: Chapter, old: Sequence[Result]) -> None:
    """Say in one line, where it is so, that no larger run is recorded."""
    if not old:
        chapter.say("No larger run of this chapter is recorded: of our own numbers there are live ones alone.")


def average_cells(rows: Iterable[Result], exhibit: str, protocol: str) -> dict[tuple[str, str], Result]:
    """Return averages by (encoder, printed column)."""
    task, columns = f"scirepeval/average-{VERSIONS[exhibit]}", {split: column for column, split in SPLITS.items()}
    return {
        (r.encoder, columns[r.split]): r
        for r in rows
        if r.task == task and r.protocol == protocol and r.metric == "average" and r.split in columns
    }


def table2(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show the baseline rows of Table 2, both versions: published, recorded where a run is, and live (V2-T2, V1-T2)."""
    protocol = chapter.parameters["protocol"]
    say_unrecorded(chapter, kept())
    for exhibit in VERSIONS:
        live, old = (average_cells(of, exhibit, protocol) for of in (rows, kept()))
        printed, columns = lookup(exhibit), [*TABLES[exhibit], "Average"]
        ours = list(dict.fromkeys(name for name, _ in [*old, *live]))
        quoted = {(name, c): printed[row, c] for name, row in PRINTED.items() for c in columns if (row, c) in printed}
        others = [row for row in BASELINES[exhibit] if not any(PRINTED.get(name) == row for name in ours)]
        quoted |= {(row, column): printed[row, column] for row in others for column in columns}
        weights = " / ".join(str(count) for count in TABLES[exhibit].values())
        caption = (
            f"Table 2, {VERSIONS[exhibit]}: baselines. Averages over {weights} units{_units_here(exhibit, old, live)}, 0 to 100, "
            f"95 % bootstrap intervals, protocol {protocol}. Published numbers are of the real tasks, ours of other data: they "
            "cannot be compared"
        )
        lines = [FLOOR, *(n for n in ours if n not in (FLOOR, CEILING)), *([CEILING] if CEILING in ours else [])]
        kinds = {"recorded": old, "live": live} if old else {"live": live}
        body = []
        for line in [*others, *(n for n in lines if n in ours)]:
            cells = [LABELS.get(line, html.escape(line))]
            for column in columns:
                cells.append(chapter.number(quoted[line, column]) if (line, column) in quoted else "")
                cells += [cell(chapter, of.get((line, column))) for of in kinds.values()]
            body.append(cells)
        header = ["System", *(["published", *kinds] * len(columns))]
        classes = [["", *(["published", *kinds] * len(columns))]] * len(body)
        chapter.show(report.table(header, body, caption, classes, columns))


Cells = Mapping[tuple[str, str], Result]
"""Averages by (encoder, printed column)."""


def _units_here(exhibit: str, old: Cells, live: Cells) -> str:
    """Return how many units our averages have where they lack some: ` (live: 7 / 19)`."""
    told = []
    for kind, cells in (("recorded", old), ("live", live)):
        here = {c: {r.n for (_, column), r in cells.items() if column == c} for c in TABLES[exhibit]}
        if any(counts - {TABLES[exhibit][c]} for c, counts in here.items()):
            told.append(f"{kind}: {' / '.join(' or '.join(map(str, sorted(counts))) for counts in here.values())}")
    return f" ({'; '.join(told)})" if told else ""


def say_missing(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say which averages lack units, which these are, and why a setting is missing."""
    for of in (kept(), rows):
        short: dict[tuple[str, str], set[str]] = {}
        for r in of:
            if r.metric == "average" and r.split == "all" and r.coverage is not None and r.coverage < 1:
                short.setdefault((r.task.rpartition("-")[2], r.note), set()).add(r.encoder)
        if not short:
            continue
        every = len({name for names in short.values() for name in names})
        told = [
            f"{version}: {html.escape(note)}{'' if len(names) == every else f' ({_names(names)})'}"
            for (version, note), names in short.items()
        ]
        chapter.note(f"{of[0].kind.capitalize()} averages are not whole. {'; '.join(told)}. {_why(of)}")


def _names(names: Iterable[str]) -> str:
    return ", ".join(html.escape(name) for name in sorted(names))


def _why(rows: Sequence[Result]) -> str:
    """Return why settings were left out, as the rows of the full settings say."""
    reasons = {
        f"{html.escape(title(r.task))} is missing because its {html.escape(part)}"
        for r in rows
        for part in r.note.split("; ")
        if r.split == "test" and r.protocol == "paper" and " left out: " in part
    }
    return "".join(
        f"{reason.replace(' left out: ', ' setting is left out: ')}. " for reason in sorted(reasons)
    ).rstrip()


@report.styled
def averages_figure(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw the v2 averages: baselines of the print, our recorded and live systems, live floor and ceiling."""
    protocol = chapter.parameters["protocol"]
    live, old = (average_cells(of, "V2-T2", protocol) for of in (rows, kept()))
    if not live:
        return
    printed, columns = lookup("V2-T2"), [*TABLES["V2-T2"], "Average"]
    ours = [name for name in dict.fromkeys(n for n, _ in [*old, *live]) if name not in (FLOOR, CEILING)]
    labels = {name: PRINTED.get(name, LABELS.get(name, name)) for name in ours}
    names = list(dict.fromkeys([*BASELINES["V2-T2"], *labels.values()]))
    figure, axes = report.subplots(
        1, len(columns), figsize=(report.WIDTH, 1.1 + 0.28 * len(names)), sharey=True, sharex=True
    )
    kinds = {"recorded": old, "live": live} if old else {"live": live}
    frame = []
    for ax, column in zip(axes, columns, strict=True):
        series = [report.Dots("published", {row: printed[row, column].number for row in BASELINES["V2-T2"]})]
        for kind, cells in kinds.items():
            found = {labels[name]: cells[name, column] for name in ours if (name, column) in cells}
            bounds = {n: (r.low, r.high) for n, r in found.items() if r.low is not None and r.high is not None}
            series.append(report.Dots(kind, {n: r.value for n, r in found.items()}, bounds))
        edges = [live[b, column].value if (b, column) in live else None for b in (FLOOR, CEILING)]
        report.dot_plot(ax, names, series, *edges)
        ax.set_title(column)
        ax.set_xlim(0, 104)
        frame += [{"column": column, "system": n, "kind": s.kind, "value": v, "low": s.bounds.get(n, (None, None))[0],
                   "high": s.bounds.get(n, (None, None))[1]} for s in series for n, v in s.values.items()]  # fmt: skip
    axes[0].set_xlabel("average (0 to 100)")
    handles, shown = axes[0].get_legend_handles_labels()
    whole = sum(TABLES["V2-T2"].values())
    of_kind = {kind: {r.n for (_, c), r in cells.items() if c == "Average"} for kind, cells in kinds.items()}
    told = {
        kind: f"{kind} ({', '.join(map(str, sorted(n)))} of {whole} units)"
        for kind, n in of_kind.items()
        if n - {whole}
    }
    figure.legend(handles, [told.get(kind, kind) for kind in shown], loc="outside upper left", ncols=3)
    ran = " and ".join(kinds)
    chapter.figure(
        "averages", figure, pd.DataFrame(frame),
        f"Averages of v2 by part, 0 to 100, 7, 20 and 27 units in print{_units_here('V2-T2', old, live)}, protocol {protocol}, "
        f"with 95 % bootstrap intervals. Published: the real tasks. {ran.capitalize()}, and the thin lines of the live floor "
        f"and ceiling: {_names({r.source for r in live.values()})} tasks.",
        f"Dot plot of in-train, out-of-train and overall averages of {len(names)} systems, with floor and ceiling.",
    )  # fmt: skip


# ---- task by task ----------------------------------------------------------------------------------------------------


def unit_title(name: str) -> str:
    """Return the printed name of a unit's task, with the metric where the task has two units."""
    task, _, metric = name.partition(":")
    return f"{html.escape(title(task))}{f', {metric}' if metric else ''}"


def detail(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show every unit of every system, the recorded run open, the live one folded; scores of samples where data are real."""
    protocol = chapter.parameters["protocol"]
    for of in (kept(), rows):
        if not of:
            continue
        table, scores = of_units(plain(of, protocol)), plain(of, protocol, "test")
        names = columns_of(of)
        lines: dict[str, dict[str, Result]] = {}
        for (unit, name), row in table.items():
            lines.setdefault(unit_title(unit), {})[name] = row
        for row in scores:
            if row.task.startswith(SAMPLE):  # a sample is no unit
                lines.setdefault(f"{html.escape(title(row.task))}, {row.metric}", {})[row.encoder] = row
        body = []
        for label, found in lines.items():
            one = next(iter(found.values()))
            about = f"{one.metric}{', mean of settings' if one.split == UNIT else ''}, n = {one.n:,}"
            cells = [cell(chapter, found.get(name)) for name in names]
            body.append([f"{label}<br><small>{about}</small>", *cells])
        header = ["Task", *(LABELS.get(name, html.escape(name)) for name in names)]
        classes = [["", *[of[0].kind] * len(names)]] * len(body)
        caption = f"{which(of).capitalize()}: all units of v1 and v2 (0 to 100), protocol {protocol}, 95 % bootstrap intervals"
        shown = report.table(header, body, caption, classes)
        opened = " open" if of[0].kind == "recorded" or not kept() else ""
        chapter.show(f"<details{opened}><summary>{which(of).capitalize()}: task by task</summary>{shown}</details>")


def columns_of(rows: Iterable[Result]) -> list[str]:
    """Return the systems of some rows, the floor first, the ceiling last."""
    names = list(dict.fromkeys(r.encoder for r in rows if not r.of_systems))
    last = [CEILING] if CEILING in names else []
    return [*([FLOOR] if FLOOR in names else []), *(n for n in names if n not in (FLOOR, CEILING)), *last]
