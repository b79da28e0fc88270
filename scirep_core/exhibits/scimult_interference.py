"""Chapter `scimult/interference`, ours: do tasks disturb one another, and does a part of one's own help (SciMult 4.7)?

    change of a task = 100 (average of a variant / average of Vanilla - 1)          as in Table 9
    cost of company  = 100 (average of one task alone / average of Vanilla - 1)     on the task's own tables

Changes are means over trainings of equal seed with 95 % intervals (t). A change is settled where its interval leaves out 0; a
single training has no interval, and its sign settles nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from scirep_core.exhibits import cell, sign, studies
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits.scimult_interference_print import MHA, OTHERS, VANILLA
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import Printed, lookup
from scirep_core.training.data.pairs import SOURCES
from scirep_core.training.variants import ALONE, sources_of

CHOICES = "scimult-choices"
ALONE_ON = {what: f"SciMult Vanilla on {what} alone" for what in ALONE}
OWN = {"classification": ("SM-T3", "SM-T4"), "link prediction": ("SM-T5", "SM-T7"), "search": ("SM-T8",)}
"""Task -> the tables it is scored in."""
TRAINED = (VANILLA, MHA, *ALONE_ON.values())
"""What this chapter trains."""
Changes = Mapping[tuple[str, str], Result]
"""(line, table) -> its change against Vanilla."""
T = TypeVar("T")


# ---- changes, in words -----------------------------------------------------------------------------------------------


def told(chapter: Chapter, row: Result | None) -> str:
    """Return a change with its interval, "" for none."""
    return cell(chapter, row, 2, signed=True)


def single(rows: Mapping[T, Result]) -> bool:
    """Return whether no change has an interval, as where each is of one training."""
    return all(row.low is None for row in rows.values())


def signs_of(rows: Mapping[T, Result]) -> dict[T, int]:
    """Return the sign of each change by its interval; where none has one, of the numbers as they stand."""
    bare = single(rows)
    return {key: int(np.sign(row.value)) if bare else sign(row) for key, row in rows.items()}


def ways(chapter: Chapter, rows: Mapping[str, Result], up: str, down: str, unit: str = "") -> str:
    """Return which changes are up, down or not settled; where none has an interval, by the numbers as they stand, and say so.

    Args:
        rows: what changed -> its change.
        up, down: what a change above 0, and one below, is called.
        unit: behind each number.
    """
    bare, signs, parts = single(rows), signs_of(rows), []
    for way, word in ((1, up), (-1, down), (0, "unchanged" if bare else "not settled")):
        listed = [f"{what} {chapter.number(rows[what], 2, sign=True)}{unit}" for what in rows if signs[what] == way]
        parts += [f"{word} in {len(listed)} of {len(rows)} ({'; '.join(listed)})"] if listed else []
    return ", ".join(parts) + ("; without an interval none of these signs is settled" if bare else "")


def facts(kinds: Mapping[str, Sequence[Result]]) -> str:
    """Return what each of our runs rests on, for a caption.

    Args:
        kinds: recorded, live -> rows of a study.
    """
    return "; ".join(f"{kind.capitalize()}: {studies.facts(rows)}" for kind, rows in kinds.items() if rows)


def ends(chapter: Chapter, kinds: Mapping[str, Sequence[Result]]) -> None:
    """Say Vanilla's average in every group of tasks, and the floor and ceiling it lies between, as far as they were scored.

    Args:
        kinds: recorded, live -> rows with averages, `shared.ENDS` among the systems.
    """
    for kind, rows in kinds.items():
        shown = []
        for table, task in shared.TASKS.items():
            found = shared.values(rows, table) if rows else {}
            three = [found.get((line, shared.AVERAGE)) for line in (VANILLA, *shared.ENDS)]
            if all(three):
                own, low, high = (chapter.number(row, 1) for row in three if row)
                shown.append(f"{task.lower()} {own} ({low} to {high})")
        if shown:
            chapter.say(
                f"{kind.capitalize()}, Vanilla’s averages, in brackets floor (random vectors) and ceiling (oracle): "
                f"{'; '.join(shown)}."
            )


# ---- our Table 9 -----------------------------------------------------------------------------------------------------


def changes(
    chapter: Chapter, rows: Sequence[Result], lines: Sequence[str], of: str, against: str = VANILLA
) -> dict[tuple[str, str], Result]:
    """Record and return the changes of lines against one, in percent of its average; what was not trained is left out."""
    found = {}
    for line in lines:
        for table in shared.TASKS:
            row = shared.change(rows, table, line, against, of, relative=True)
            if row:
                found[line, table] = study_.record(chapter, [row])[0]
    return found


def ours(chapter: Chapter, kinds: Mapping[str, Sequence[Result]]) -> dict[str, Changes]:
    """Show Table 9 published, recorded and live; return our changes by kind.

    Args:
        kinds: recorded, live -> rows with averages.
    """
    made = {kind: changes(chapter, rows, (*OTHERS, shared.LONG), kind) for kind, rows in kinds.items() if rows}
    quoted, body = lookup("SM-T9"), []
    for line in (*OTHERS, shared.LONG):
        name = shared.CALLED.get(line, line.removeprefix("SciMult "))
        if name not in shared.CALLED.values() and not any(
            (line, table) in found for found in made.values() for table in shared.TASKS
        ):
            continue
        cells = [name]
        for table, task in shared.TASKS.items():
            printed: Printed | None = quoted.get((task, name))
            cells += [
                chapter.number(printed) if printed else "",
                *(told(chapter, found.get((line, table))) for found in made.values()),
            ]
        body.append(cells)
    head = ["published", *made]
    chapter.show(
        report.table(
            ["", *(head * len(shared.TASKS))], body,
            "Table 9, published and of our own: change against Vanilla in percent of its average; ours with 95 % "
            "intervals over trainings where there are several. “Vanilla, as long”, where it is there, took as many "
            f"steps as two stages have. {facts(kinds)}",
            [["", *(head * len(shared.TASKS))]] * len(body), list(shared.TASKS.values()),
        )
    )  # fmt: skip
    for kind, found in made.items():
        for line in OTHERS:
            own = {task.lower(): found[line, table] for table, task in shared.TASKS.items() if (line, table) in found}
            if own:
                chapter.say(f"{kind.capitalize()}, {shared.CALLED[line]}: {ways(chapter, own, 'up', 'down', ' %')}.")
        _agreement(chapter, kind, found)
    return dict(made)


def _agreement(chapter: Chapter, kind: str, found: Changes) -> None:
    """Say how many of the changes that print has too are settled, and how many of these have the printed sign."""
    quoted = lookup("SM-T9")
    tried = {key: row for key, row in found.items() if key[0] in shared.CALLED and row.low is not None}
    if not tried:
        return
    settled = [key for key, row in tried.items() if sign(row)]
    same = [(line, table) for line, table in settled
            if sign(tried[line, table]) * quoted[shared.TASKS[table], shared.CALLED[line]].number > 0]  # fmt: skip
    chapter.say(
        f"Of {len(tried)} changes {len(settled)} are settled in the {kind} run"
        + (f", {len(same)} of these with the sign that is printed" if settled else "")
        + f"; {by_chance(tried)}."
    )


def by_chance(rows: Mapping[T, Result]) -> str:
    """Return how many of so many intervals leave out 0 where nothing differs."""
    n = sum(row.low is not None for row in rows.values())
    return f"of {n} intervals about {0.05 * n:.1f} would leave out 0 by chance alone"


def length(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show the four variants against Vanilla trained as long as both their stages; only as far as recorded."""
    found = changes(chapter, rows, OTHERS, "recorded, as long", shared.LONG)
    if not found:
        return
    body = [[shared.CALLED[line], *(told(chapter, found.get((line, table))) for table in shared.TASKS)]
            for line in OTHERS if any((line, table) in found for table in shared.TASKS)]  # fmt: skip
    chapter.show(
        report.table(
            ["", *shared.TASKS.values()], body,
            "Recorded: change in percent against Vanilla trained in as many steps as both stages have; 95 % intervals over "
            f"trainings where there are several. {studies.facts(rows)}",
            [["", *["recorded"] * len(shared.TASKS)]] * len(body),
        )
    )  # fmt: skip
    if single(found):
        chapter.say("Against Vanilla of equal length no change has an interval yet, so none is settled.")
        return
    settled = [sign(row) for row in found.values()]
    chapter.say(
        f"Against Vanilla of equal length {settled.count(1)} of {len(settled)} changes are settled above 0 and "
        f"{settled.count(-1)} below; {by_chance(found)}. A gain over the shorter Vanilla that is not found here may be "
        "owed to the steps alone."
    )


# ---- company ---------------------------------------------------------------------------------------------------------


def company(chapter: Chapter, kinds: Mapping[str, Sequence[Result]]) -> dict[str, Changes]:
    """Show what one task trained alone gains or loses against Vanilla on all three, on its own tables and on the others'."""
    made = {kind: changes(chapter, rows, list(ALONE_ON.values()), kind) for kind, rows in kinds.items() if rows}
    made = {kind: found for kind, found in made.items() if found}
    for kind, found in made.items():
        body = []
        for what, line in ALONE_ON.items():
            cells = [told(chapter, found.get((line, table))) for table in shared.TASKS]
            body.append([f"{what} alone", *(f"<strong>{cell}</strong>" if cell and table in OWN[what] else cell
                                           for table, cell in zip(shared.TASKS, cells, strict=True))])  # fmt: skip
        chapter.show(
            report.table(
                ["", *shared.TASKS.values()], body,
                f"{kind.capitalize()}: one task trained alone against Vanilla on all, change in percent of Vanilla’s "
                "average, each in as many steps; bold on the tables of the task itself. 95 % intervals over trainings "
                f"where there are several. {studies.facts(kinds[kind])}",
                [["", *[kind] * len(shared.TASKS)]] * len(body),
            )
        )  # fmt: skip
        _say_company(chapter, kind, found)
    if made:
        own = ", ".join(f"{what} {times:.1f} times" for what, times in exposure().items())
        chapter.say(
            f"Sources take turns step by step, so that a task alone meets its own pairs oftener than in company: {own} as often."
        )
        _draw_company(chapter, made)
    return dict(made)


def exposure() -> dict[str, float]:
    """Return how many times as often a task alone meets each of its sources as Vanilla does in as many steps.

    >>> exposure()["search"]
    5.0
    """
    return {what: len(SOURCES) / len(sources_of(format)) for what, format in ALONE.items()}


def _say_company(chapter: Chapter, kind: str, found: Changes) -> None:
    signs, of = signs_of(found), {line: what for what, line in ALONE_ON.items()}
    own = {shared.TASKS[table].lower(): row for (line, table), row in found.items() if table in OWN[of[line]]}
    away = [way for (line, table), way in signs.items() if table not in OWN[of[line]]]
    word = "" if single(found) else "settled "
    chapter.say(
        f"{kind.capitalize()}, on a task’s own tables: "
        f"{ways(chapter, own, 'the task alone is ahead', 'company helps', ' %')}. On the tables of tasks it was not trained "
        f"on, {away.count(-1)} of {len(away)} are {word}behind Vanilla and {away.count(1)} {word}ahead."
    )


def recovered(chapter: Chapter, kind: str, alone: Changes, experts: Changes) -> None:
    """Say of each table where a task alone is ahead whether MHAExpert is above Vanilla there as well, both by their intervals.

    Args:
        alone: as `company` returns them.
        experts: as `ours` does; lines other than MHAExpert are not looked at.
    """
    mine, name = {table: row for (line, table), row in experts.items() if line == MHA}, kind.capitalize()
    own = {
        table: alone[line, table] for what, line in ALONE_ON.items() for table in OWN[what] if (line, table) in alone
    }
    if not mine:
        chapter.say(f"{name}: MHAExpert is not among these trainings, so that nothing can be said.")
        return
    first, second = signs_of(own), signs_of(mine)
    costly = [table for table in own if first[table] == 1]
    settled = "" if single(own) else "settled "
    if not costly:
        chapter.say(
            f"{name}: no task alone is {settled}ahead on its own tables, so that no cost is shown which experts could win back."
        )
        return
    helped = [table for table in costly if second.get(table) == 1]
    chapter.say(
        f"{name}: a task alone is {settled}ahead in {_names(costly)}; MHAExpert is {'' if single(mine) else 'settled '}above "
        f"Vanilla in {len(helped)} of {len(costly)}"
        + (f" ({_names(helped)})" if helped else "")
        + ("; without intervals this settles nothing." if single(own) or single(mine) else ".")
    )


def _names(tables: Sequence[str]) -> str:
    return ", ".join(shared.TASKS[table].lower() for table in tables)


@report.styled
def _draw_company(chapter: Chapter, made: Mapping[str, Changes]) -> None:
    """Draw each task alone against Vanilla on its own tables, a mark a kind."""
    rows = [(what, table) for what, tables in OWN.items() for table in tables]
    figure, axes = report.subplots(figsize=(report.WIDTH, 2.7))
    series, frame = [], []
    for kind, found in made.items():
        own = {(what, table): row for what, table in rows if (row := found.get((ALONE_ON[what], table)))}
        bounds = {shared.TASKS[table]: (row.low, row.high) for (_, table), row in own.items()
                  if row.low is not None and row.high is not None}  # fmt: skip
        series.append(report.Dots(kind, {shared.TASKS[table]: row.value for (_, table), row in own.items()}, bounds))
        frame += [{"kind": kind, "trained on": what, "task": shared.TASKS[table], "change, %": row.value, "low": row.low,
                   "high": row.high, "trainings": row.n} for (what, table), row in own.items()]  # fmt: skip
    report.dot_plot(axes, [shared.TASKS[table] for _, table in rows], series)
    axes.axvline(0, color=report.FLOOR, linewidth=1)
    axes.set_xlabel("change in percent, the task alone against Vanilla on all")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=len(series))
    chapter.figure(
        "company", figure, pd.DataFrame(frame),
        f"{' and '.join(made).capitalize()}: what a task trained alone changes on its own tables against Vanilla on all "
        "three, in percent of Vanilla’s average; 95 % intervals over trainings where there are several. Right of 0 the "
        "task alone is ahead.",
        f"{len(rows)} rows of changes around a line at 0.",
    )  # fmt: skip
