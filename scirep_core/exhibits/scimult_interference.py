"""Chapter `scimult/interference`, ours: do tasks disturb one another, and does a part of one's own help (SciMult 4.7)?

    change of a task = 100 (average of a variant / average of Vanilla - 1)          as in Table 9
    cost of company  = 100 (average of one task alone / average of Vanilla - 1)     on the task's own tables

Changes are means over trainings of equal seed with 95 % intervals (t); a single training has none, and its sign settles nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from scirep_core import report
from scirep_core.chapter import Chapter
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits import studies
from scirep_core.exhibits.counting import colour_of
from scirep_core.exhibits.scimult_interference_print import MHA, OTHERS, VANILLA
from scirep_core.published import Printed, lookup
from scirep_core.results import Result
from scirep_core.training.variants import ALONE

LONG = "SciMult Vanilla, as long"
CHOICES = "scimult-choices"
ALONE_ON = {what: f"SciMult Vanilla on {what} alone" for what in ALONE}
OWN = {"classification": ("SM-T3", "SM-T4"), "link prediction": ("SM-T5", "SM-T7"), "search": ("SM-T8",)}
"""Task -> the tables it is scored in."""
TRAINED = (VANILLA, MHA, *ALONE_ON.values())
"""What this chapter trains."""
Changes = Mapping[tuple[str, str], Result]
"""(line, table) -> its change against Vanilla."""
T = TypeVar("T")


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
                found[line, table] = studies.record(chapter, [row])[0]
    return found


def told(chapter: Chapter, row: Result | None) -> str:
    """Return a change with its interval, "" for none."""
    return "" if row is None else f"{chapter.number(row, 2, sign=True)} {report.interval(row.low, row.high, 2)}"


def ours(chapter: Chapter, kinds: Mapping[str, Sequence[Result]]) -> dict[str, Changes]:
    """Show Table 9 published, recorded and live; return our changes by kind.

    Args:
        kinds: recorded, live -> rows with averages.
    """
    made = {kind: changes(chapter, rows, (*OTHERS, LONG), kind) for kind, rows in kinds.items() if rows}
    quoted, body = lookup("SM-T9"), []
    for line in (*OTHERS, LONG):
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
            "intervals over trainings where there are several. The last line, where there is one, is Vanilla in as many "
            "steps as two stages have",
            [["", *(head * len(shared.TASKS))]] * len(body), list(shared.TASKS.values()),
        )
    )  # fmt: skip
    for kind, found in made.items():
        for line in OTHERS:
            own = {table: found[line, table] for table in shared.TASKS if (line, table) in found}
            if own:
                chapter.say(f"{kind.capitalize()}, {shared.CALLED[line]}: {ways(chapter, own)}.")
        _agreement(chapter, kind, found)
    return dict(made)


def signs_of(rows: Mapping[T, Result]) -> dict[T, int]:
    """Return the sign of each change by its interval; where all are of single trainings, of the numbers as they stand."""
    single = all(row.low is None for row in rows.values())
    return {key: int(np.sign(row.value)) if single else studies.sign(row) for key, row in rows.items()}


def ways(chapter: Chapter, own: Mapping[str, Result]) -> str:
    """Return in which tables a change is up, down or open: by its interval, of a single training by its sign."""
    single, signs, parts = all(row.low is None for row in own.values()), signs_of(own), []
    for way, word in ((1, "up"), (-1, "down"), (0, "unchanged" if single else "not settled")):
        listed = [
            f"{shared.TASKS[table].lower()} {chapter.number(own[table], 2, sign=True)}"
            for table in own
            if signs[table] == way
        ]
        parts += [f"{word} in {len(listed)} of {len(own)} ({'; '.join(listed)})"] if listed else []
    return ", ".join(parts) + (", of one training" if single else "")


def _agreement(chapter: Chapter, kind: str, found: Changes) -> None:
    """Say how many settled changes have the printed sign."""
    quoted = lookup("SM-T9")
    settled = {key: row for key, row in found.items() if studies.sign(row) and key[0] in shared.CALLED}
    same = [
        key
        for key, row in settled.items()
        if studies.sign(row) * quoted[shared.TASKS[key[1]], shared.CALLED[key[0]]].number > 0
    ]
    if settled:
        chapter.say(
            f"Of {len(settled)} changes that are settled in the {kind} run, {len(same)} have the sign that is printed."
        )


def length(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show the four variants against Vanilla trained as long as both their stages; only as far as recorded."""
    found = changes(chapter, rows, OTHERS, "recorded, as long", LONG)
    if not found:
        return
    body = [[shared.CALLED[line], *(told(chapter, found.get((line, table))) for table in shared.TASKS)]
            for line in OTHERS if any((line, table) in found for table in shared.TASKS)]  # fmt: skip
    chapter.show(
        report.table(
            ["", *shared.TASKS.values()], body,
            "Recorded: change in percent against Vanilla trained in as many steps as both stages have; 95 % intervals",
            [["", *["recorded"] * len(shared.TASKS)]] * len(body),
        )
    )  # fmt: skip
    settled = [studies.sign(row) for row in found.values()]
    chapter.say(
        f"Against Vanilla of equal length {settled.count(1)} of {len(settled)} changes are settled above 0 and "
        f"{settled.count(-1)} below. What a variant gains over the shorter Vanilla alone is owed to more steps."
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
            body.append([f"{what} alone", *(f"<strong>{cell}</strong>" if table in OWN[what] else cell
                                           for table, cell in zip(shared.TASKS, cells, strict=True))])  # fmt: skip
        chapter.show(
            report.table(
                ["", *shared.TASKS.values()], body,
                f"{kind.capitalize()}: one task trained alone against Vanilla on all, change in percent of Vanilla’s "
                "average, each in as many steps; bold on the tables of the task itself. 95 % intervals over trainings "
                "where there are several",
                [["", *[kind] * len(shared.TASKS)]] * len(body),
            )
        )  # fmt: skip
        _say_company(chapter, kind, found)
    _draw_company(chapter, made)
    return dict(made)


def _say_company(chapter: Chapter, kind: str, found: Changes) -> None:
    single, signs = all(row.low is None for row in found.values()), signs_of(found)
    of = {line: what for what, line in ALONE_ON.items()}
    own = {key: sign for key, sign in signs.items() if key[1] in OWN[of[key[0]]]}
    costs, gains = (
        [f"{shared.TASKS[key[1]].lower()} {chapter.number(found[key], 2, sign=True)}" for key in own if own[key] == way]
        for way in (1, -1)
    )
    open_, away = list(own.values()).count(0), [sign for key, sign in signs.items() if key not in own]
    parts = [f"the task alone is ahead in {'; '.join(costs)}" if costs else "",
             f"company helps in {'; '.join(gains)}" if gains else "",
             f"{open_} not settled" if open_ else ""]  # fmt: skip
    one = " (signs of one training)" if single else ""
    chapter.say(
        f"{kind.capitalize()}{one}, on a task’s own tables: {', '.join(part for part in parts if part)}. On the tables of "
        f"tasks it was not trained on, {away.count(-1)} of {len(away)} fall behind Vanilla."
    )


def recovered(chapter: Chapter, kind: str, alone: Changes, experts: Changes) -> None:
    """Say of each table where a task alone is settled ahead whether MHAExpert is settled ahead there as well."""
    first, second = signs_of(alone), signs_of(experts)
    costly = [table for what, line in ALONE_ON.items() for table in OWN[what] if first.get((line, table)) == 1]
    if not costly:
        chapter.say(
            f"{kind.capitalize()}: no task alone is ahead on its own tables, so there is no interference here to mitigate."
        )
        return
    helped = [table for table in costly if second.get((MHA, table)) == 1]
    chapter.say(
        f"{kind.capitalize()}: a task alone is ahead in {len(costly)} of {len(shared.TASKS)} groups; MHAExpert, made to "
        f"mitigate that, is above Vanilla in {len(helped)} of these"
        + (f" ({', '.join(shared.TASKS[t].lower() for t in helped)})." if helped else ".")
    )


def _draw_company(chapter: Chapter, made: Mapping[str, Changes]) -> None:
    """Draw each task alone against Vanilla on its own tables, a mark a kind."""
    if not made:
        return
    rows = [(what, table) for what, tables in OWN.items() for table in tables]
    figure, axes = report.subplots(figsize=(report.WIDTH, 2.5))
    frame = []
    for k, (kind, found) in enumerate(made.items()):
        for y, (what, table) in enumerate(reversed(rows)):
            row = found.get((ALONE_ON[what], table))
            if row is None:
                continue
            at, colour = y + (0.14 if k == 0 and len(made) > 1 else -0.14 * (len(made) > 1)), colour_of(kind)
            if row.low is not None and row.high is not None:
                axes.plot([row.low, row.high], [at, at], color=colour, linewidth=1.4)
            axes.plot([row.value], [at], "D" if kind == "live" else "o", color=colour, markersize=5.5)
            frame.append({"kind": kind, "trained on": what, "task": shared.TASKS[table], "change, %": row.value, "low": row.low,
                          "high": row.high, "trainings": row.n})  # fmt: skip
    axes.axvline(0, color=report.FLOOR, linewidth=1)
    axes.set_yticks(range(len(rows)), [shared.TASKS[table] for _, table in reversed(rows)])
    axes.set_xlabel("change in percent, the task alone against Vanilla on all")
    axes.grid(axis="y", visible=False)
    chapter.figure(
        "company", figure, pd.DataFrame(frame),
        f"{' and '.join(made).capitalize()}: what a task trained alone changes on its own tables against Vanilla on all "
        "three, in percent of Vanilla’s average; 95 % intervals over trainings where there are several. Right of 0 the "
        "other tasks cost something.",
        f"{len(rows)} rows of changes around a line at 0.",
    )  # fmt: skip
