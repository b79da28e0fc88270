"""Chapter `scimult/interference`, in print: Table 9 recomputed, and what its gains rest on (SciMult 4.7, SM-T9, SM-C5).

    change of a task = 100 (average of a variant / average of Vanilla - 1)          Table 9

Print gives neither the number of trainings nor a spread over them: what its numbers differ by has no error to be held against.
"""

from __future__ import annotations

import html

import numpy as np
import pandas as pd

from scirep_core.exhibits import scimult_print as pr
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import lookup

VANILLA, MHA = shared.FIVE[:2]
OTHERS = shared.FIVE[1:]


# ---- Table 9 ---------------------------------------------------------------------------------------------------------


def table9(chapter: Chapter) -> None:
    """Show Table 9 (SM-T9) beside what follows from the averages it is of, and from two other readings."""
    quoted, body, agree = lookup("SM-T9"), [], 0
    turned = []
    for table, task in shared.TASKS.items():
        printed, line = shared.printed(table), [task]
        for variant in OTHERS:
            both = printed[variant, shared.AVERAGE], printed[VANILLA, shared.AVERAGE]
            follows = 100 * (both[0].number / both[1].number - 1)
            said, name = quoted[task, shared.CALLED[variant]], shared.CALLED[variant]
            made = chapter.record([arithmetic("SM-T9", f"{task}: change of {name}, %", follows, 2, both)])[0]
            agree += f"{follows:+.2f}" == said.value
            turned += [f"{name} in {task.lower()}"] if follows * mean_of_changes(table, variant) < 0 else []
            line += [chapter.number(said), chapter.number(made, 2, sign=True)]
        body.append(line)
    groups = [shared.CALLED[variant] for variant in OTHERS]
    chapter.show(
        report.table(
            ["", *(["printed", "follows"] * len(OTHERS))], body,
            "Table 9: change against Vanilla in percent of its average, as printed, and as it follows from Tables 3, 4, 5, 7 and 8",
            [["", *(["published", "live"] * len(OTHERS))]] * len(body), groups,
        )
    )  # fmt: skip
    chapter.say(
        f"{agree} of {len(quoted)} printed changes follow to the last digit. In a ratio of averages a column weighs as much as "
        "Vanilla’s score in it is high; in the mean of the columns’ own changes all weigh the same. "
        + (
            f"Between the two readings the sign turns of {'; '.join(turned)}."
            if turned
            else f"No sign turns between the two readings; {_other_reading(chapter)}."
        )
    )
    _other_vanilla(chapter)


def mean_of_changes(table: str, line: str) -> float:
    """Return the mean over a table's columns of the change in each, in percent: the other reading of Table 9."""
    printed = shared.printed(table)
    return float(
        np.mean(
            [100 * (printed[line, c].number / printed[VANILLA, c].number - 1) for c in shared.TABLES[table].values()]
        )
    )


def _other_reading(chapter: Chapter) -> str:
    """Return the change that the other reading moves most, in both."""
    every = [(table, line) for table in shared.TASKS for line in OTHERS]
    quoted = {key: lookup("SM-T9")[shared.TASKS[key[0]], shared.CALLED[key[1]]] for key in every}
    table, line = max(every, key=lambda key: abs(mean_of_changes(*key) - quoted[key].number))
    printed, columns = shared.printed(table), shared.TABLES[table].values()
    cells = [printed[one, column] for one in (line, VANILLA) for column in columns]
    name = f"{shared.TASKS[table]}: mean of the columns’ changes, {shared.CALLED[line]}, %"
    made = chapter.record([arithmetic("SM-T9", name, mean_of_changes(table, line), len(columns), cells)])[0]
    return (
        f"furthest apart is {shared.CALLED[line]} in {shared.TASKS[table].lower()}, {chapter.number(quoted[table, line])} "
        f"and {chapter.number(made, 2, sign=True)} %"
    )


def _other_vanilla(chapter: Chapter) -> None:
    """Say what the coarse row would be from the average that Table A4 prints of Vanilla."""
    table, task = "SM-T4", shared.TASKS["SM-T4"]
    four, ablation = shared.printed(table), lookup("SM-TA4")[task, "Vanilla (w/ Hard Negative)"]
    if four[VANILLA, shared.AVERAGE].value == ablation.value:
        return
    made = chapter.record([
        arithmetic("SM-T9", f"{task}: change of {shared.CALLED[variant]} from Table A4’s Vanilla, %",
                   100 * (four[variant, shared.AVERAGE].number / ablation.number - 1), 2, [four[variant, shared.AVERAGE], ablation])
        for variant in OTHERS
    ])  # fmt: skip
    other = [
        f"{shared.CALLED[line]} {chapter.number(one, 2, sign=True)}" for line, one in zip(OTHERS, made, strict=True)
    ]
    chapter.note(
        f"Table A4 prints {chapter.number(ablation)} as Vanilla’s coarse average, Table 4 "
        f"{chapter.number(four[VANILLA, shared.AVERAGE])}. Table 9 is of Table 4: from the other it would read {', '.join(other)}."
    )


# ---- what carries a gain ---------------------------------------------------------------------------------------------


def ahead(table: str) -> list[str]:
    """Return the printed columns of a table in which MHAExpert is above Vanilla."""
    return pr.ahead(table, pr.MHA, pr.VANILLA, pr.columns(table))


def carriers(table: str) -> list[str]:
    """Return the data sets of a table without which the sign of MHAExpert minus Vanilla in the mean of columns turns."""
    printed, columns = lookup(table), pr.columns(table)
    gaps = {name: printed[pr.MHA, name].number - printed[pr.VANILLA, name].number for name in columns}

    def without(data: str) -> float:
        return sum(gap for name, gap in gaps.items() if name.partition("/")[0] != data)

    return [data for data in pr.data_sets(table) if without(data) * sum(gaps.values()) < 0]


def claims(chapter: Chapter) -> None:
    """Hold section 4.7's sentences against the tables (SM-C5): MHAExpert in every task, and all baselines beaten on average."""
    body, made = [], dict[str, Result]()
    for table, task in shared.TASKS.items():
        printed, columns = shared.printed(table), list(shared.TABLES[table].values())
        cells = [printed[one, column] for one in (MHA, VANILLA) for column in columns]
        both = [printed[one, shared.AVERAGE] for one in (MHA, VANILLA)]
        gap = both[0].number - both[1].number
        made[table], count = chapter.record([
            arithmetic("SM-C5", f"{task}: MHAExpert minus Vanilla", gap, 2, both),
            arithmetic("SM-C5", f"{task}: columns with MHAExpert ahead", len(ahead(table)), len(columns), cells),
        ])  # fmt: skip
        alone = carriers(table)
        without = _without(chapter, table, alone[0]) if alone else ""
        body.append(
            [task, chapter.number(made[table], 2, sign=True), f"{chapter.number(count, 0)} of {len(columns)}", without]
        )
    chapter.show(
        report.table(
            ["", "average, points", "columns ahead", "without one data set"], body,
            "MHAExpert minus Vanilla in print: difference of averages, columns in which MHAExpert is ahead, and, where there is "
            "one, a data set without whose columns the difference has the other sign",
            [["", "published", "published", "published"]] * len(body),
        )
    )  # fmt: skip
    up = [table for table, row in made.items() if row.value > 0]
    cells_ahead, cells_all = (sum(len(found) for found in every) for every in (
        [ahead(table) for table in shared.TASKS], [shared.TABLES[table] for table in shared.TASKS]))  # fmt: skip
    frail = [shared.TASKS[table].lower() for table in up if carriers(table)]
    chapter.say(
        f"Section 4.7 says that MHAExpert improves on Vanilla in all tasks: true of {len(up)} of {len(shared.TASKS)} "
        f"averages, and of {cells_ahead} of the {cells_all} columns that they are means of."
        + (f" In {' and '.join(frail)} a single data set makes the gain: without it Vanilla is ahead." if frail else "")
    )
    baselines(chapter)
    _draw_columns(chapter)


def _without(chapter: Chapter, table: str, name: str) -> str:
    """Return the difference of means with a data set left out."""
    printed = shared.printed(table)
    kept = [column for column in shared.TABLES[table].values() if column.partition("/")[0] != name]
    cells = [printed[line, column] for line in (MHA, VANILLA) for column in kept]
    value = (sum(one.number for one in cells[: len(kept)]) - sum(one.number for one in cells[len(kept) :])) / len(kept)
    row = chapter.record(
        [arithmetic("SM-C5", f"{shared.TASKS[table]}: MHAExpert minus Vanilla without {name}", value, len(kept), cells)]
    )
    return f"{html.escape(name)}: {chapter.number(row[0], 2, sign=True)}"


def baselines(chapter: Chapter) -> None:
    """Say in which tables the variants beat all baselines on average; section 4.7 lists four and is silent on Table 7."""
    said = lookup("SM-C4")["all variants but SciMult-FFNExpert", "beat all baselines on average in Tables"]
    told: dict[str, list[str]] = {}
    for table in shared.TASKS:
        best = pr.bar(table, pr.AVERAGE)
        behind = [pr.short(line) for line in pr.VARIANTS if not pr.beaten(table, line, [pr.AVERAGE])]
        which = "none of the five" if len(behind) == len(pr.VARIANTS) else f"all but {pr.named(behind, str)}"
        which = f"{which} (best baseline {best.row} {chapter.number(best)})" if behind else "all five"
        told.setdefault(which, []).append(pr.label_of(table))
    chapter.say(
        f"It also says that all variants but FFNExpert beat all baselines on average in Tables {html.escape(said.value)}. "
        f"By the averages these do: {'; '.join(f'{which} in {pr.named(tables, str)}' for which, tables in told.items())}."
    )


@report.styled
def _draw_columns(chapter: Chapter) -> None:
    """Draw MHAExpert minus Vanilla in every printed column, with the average of each table."""
    figure, axes = report.subplots(figsize=(report.WIDTH, 2.6))
    frame = []
    for y, (table, task) in enumerate(reversed(shared.TASKS.items())):
        printed = shared.printed(table)
        for column in shared.columns(table):
            gap = printed[MHA, column].number - printed[VANILLA, column].number
            frame.append({"task": task, "column": column, "points": gap})
            if column == shared.AVERAGE:
                axes.plot([gap, gap], [y - 0.3, y + 0.3], color=report.PUBLISHED, linewidth=2.2)
            else:
                axes.plot([gap], [y], "o", markerfacecolor="none", markeredgecolor=report.PUBLISHED, markersize=5.5)
    axes.axvline(0, color=report.FLOOR, linewidth=1)
    axes.set_yticks(range(len(shared.TASKS)), list(reversed(shared.TASKS.values())))
    axes.set_xlabel("points, MHAExpert minus Vanilla")
    axes.grid(axis="y", visible=False)
    chapter.figure(
        "columns", figure, pd.DataFrame(frame),
        f"Published: MHAExpert minus Vanilla in the {len(frame) - len(shared.TASKS)} columns of Tables 3, 4, 5, 7 and 8 (circles) "
        "and in their averages (bars).",
        f"Differences in {len(frame) - len(shared.TASKS)} columns, in five rows, around a line at 0.",
    )  # fmt: skip
