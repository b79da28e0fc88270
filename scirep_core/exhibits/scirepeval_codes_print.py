"""Chapter `scirepeval/specialisation`, the printed part: v2 Table 3, v1 Table 4, and the gains over random groups of tasks.

    implied score of a random grouping = printed score of the own code - printed gain        (v1 section 7)

Both texts say that the codes trained on a format are best for it, in train and out of train. The tables are read again for
that, for what is underlined in them, and for how far apart their columns are. No spread over trainings is printed.
"""

from __future__ import annotations

import html

import numpy as np

from scirep_core.bench.study_tables import TABLE_3
from scirep_core.data import TASKS
from scirep_core.exhibits import scirepeval_codes as codes
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.scirepeval_codes import NAMES, PARTS, PRINTED, Matrix, own_code, printed_cell
from scirep_core.exhibits.studies import UNDERLINE
from scirep_core.kit.formats import FORMATS
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import Printed, lookup

GAINS = "V1-C2"
OWN_CELL = 'style="outline: 1px solid currentcolor; outline-offset: 4px; border-radius: 1px"'
"""The cell of a task's own code."""


def task_label(task: str, embedded: bool = True) -> str:
    """Return a task's name with its format, and what was declared of it before anything was trained.

    Args:
        embedded: a held-out task is related or unrelated on the embedded literature; in print it is out-of-train.

    >>> task_label("scirepeval/drsm"), task_label("scirepeval/drsm", embedded=False)
    ('DRSM<br><small>CLF, unrelated</small>', 'DRSM<br><small>CLF, out-of-train</small>')
    """
    known = TASKS[task].relation if embedded else codes.part_of(task)
    return f"{html.escape(title(task))}<br><small>{own_code(task)}, {known}</small>"


def marked(text: str, own: bool, best: bool, underlined: bool = False) -> str:
    """Return a number of a table: framed for the own code, bold for the highest of its row, underlined as in print."""
    text = f"<strong>{text}</strong>" if best else text
    text = f"<u {UNDERLINE}>{text}</u>" if underlined else text
    return f"<span {OWN_CELL}>{text}</span>" if own else text


def tables(chapter: Chapter) -> None:
    """Show both printed tables side by side: own codes framed, the highest number of a row bold, underlines as printed."""
    body = []
    for task in TABLE_3:
        cells = [task_label(task, embedded=False)]
        for exhibit in PRINTED:
            best = codes.best_codes(codes.printed_matrix(exhibit), task)
            for code in FORMATS:
                number = printed_cell(exhibit, task, code)
                cells.append(
                    marked(chapter.number(number), code == own_code(task), code in best, "underlined" in number.note)
                )
        body.append(cells)
    caption = (
        "Each code on each format’s tasks, as printed, 0 to 100. Framed: the code of the task’s own format; bold: the highest "
        "number of the row; underlined as in the text at hand"
    )
    classes = [["", *["published"] * 8]] * len(body)
    groups = [name[0].upper() + name[1:] for name in PRINTED.values()]
    chapter.show(report.table(["Task", *(list(FORMATS) * 2)], body, caption, classes, groups))


def check(chapter: Chapter) -> None:
    """Say in which rows the own code is the highest, where the underlines say otherwise, and how large the advantage is."""
    for exhibit, name in PRINTED.items():
        matrix = codes.printed_matrix(exhibit)
        alone = codes.own_is_best(matrix, matrix.tasks)
        others = [told_row(chapter, exhibit, matrix, task) for task in matrix.tasks if task not in alone]
        where, first = codes.place(matrix, matrix.tasks)
        parts = [f"{part} {chapter.number(_advantage(chapter, exhibit, matrix, part), 2, sign=True)}" for part in PARTS]
        chapter.say(
            f"{name[0].upper()}{name[1:]}: the own code alone is the highest in {len(alone)} of {len(matrix.tasks)} rows"
            f"{'' if others else ', as the text says'}.",
            f"Not so: {'; '.join(others)}. The text says so of every format, in-train and out-of-train."
            if others
            else "",
            f"The own code minus the mean of the three others: {', '.join(parts)} points, the mean of four tasks each.",
            f"Of the {codes.WAYS} ways to hand out four codes to four formats, the papers’ is number {where} by the mean over "
            f"all eight tasks"
            + (f" (p = {where}/{codes.WAYS} = {where / codes.WAYS:.2f})." if where == 1 else f"; the best is {first}."),
        )
    say_underlines(chapter)
    say_margins(chapter)


def told_row(chapter: Chapter, exhibit: str, matrix: Matrix, task: str) -> str:
    """Return which codes are the highest of a row, beside the own one."""
    best, own = codes.best_codes(matrix, task), own_code(task)
    numbers = {code: chapter.number(printed_cell(exhibit, task, code)) for code in {*best, own}}
    if own in best:
        other = " and ".join(code for code in best if code != own)
        return f"on {html.escape(title(task))} {other} has the same {numbers[own]}"
    told = " and ".join(f"{code} with {numbers[code]}" for code in best)
    return f"on {html.escape(title(task))} {told} is above {own} with {numbers[own]}"


def _advantage(chapter: Chapter, exhibit: str, matrix: Matrix, part: str) -> Result:
    tasks = matrix.part(part)
    numbers = [printed_cell(exhibit, task, code) for task in tasks for code in FORMATS]
    value = codes.mean_advantage(matrix, tasks).value
    return chapter.record([arithmetic(exhibit, f"own code minus mean of others, {part}", value, len(tasks), numbers)])[
        0
    ]


def odd_underlines(exhibit: str) -> tuple[list[Printed], list[Printed]]:
    """Return the numbers underlined below the highest of their row, and those highest without an underline."""
    matrix = codes.printed_matrix(exhibit)
    cells = [(task, code, printed_cell(exhibit, task, code)) for task in TABLE_3 for code in FORMATS]
    best = {task: codes.best_codes(matrix, task) for task in TABLE_3}
    low = [cell for task, code, cell in cells if "underlined" in cell.note and code not in best[task]]
    plain = [cell for task, code, cell in cells if "underlined" not in cell.note and code in best[task]]
    return low, plain


def say_underlines(chapter: Chapter) -> None:
    """Say which underlines, read from a text version of the papers, are not on the highest number of their row."""
    said = []
    for exhibit, name in PRINTED.items():
        low, plain = odd_underlines(exhibit)
        for cells, words in ((low, "underlined, but not the highest"), (plain, "the highest, but not underlined")):
            if cells:
                listed = "; ".join(f"{_place(cell)} ({chapter.number(cell)})" for cell in cells)
                said.append(f"{name[0].upper()}{name[1:]}: {words}: {listed}.")
    if said:
        chapter.note(
            "The underlines, as a text version of the papers has them, do not all lie on the highest number of a row, which is "
            f"what the captions say they mark. {' '.join(said)} Some of it may be the text version’s."
        )


def _place(cell: Printed) -> str:
    part, _, row = cell.row.partition("/")
    return f"{html.escape(row)} {part}, {cell.column}"


def say_margins(chapter: Chapter) -> None:
    """Say by how much the own code leads the best of the others, and that no spread is printed beside it."""
    gaps = {
        (exhibit, task): codes.best_other(codes.printed_matrix(exhibit), task)[1].value
        for exhibit in PRINTED
        for task in TABLE_3
    }
    least = {part: [gap for (_, task), gap in gaps.items() if codes.part_of(task) == part] for part in PARTS}
    narrow = sum(round(gap, 1) < 1 for gap in gaps.values())
    told = " and ".join(
        f"{part} {min(v):+.1f} to {max(v):+.1f} (median {np.median(v):+.1f})" for part, v in least.items()
    )
    chapter.say(
        f"The own code against the best other one: {told} points over both tables; in {narrow} of {len(gaps)} rows it leads by "
        "less than a point or not at all. Neither table prints a deviation over trainings or an interval over test papers, so "
        "which of these leads are more than chance cannot be said from print."
    )


# ---- random groups ---------------------------------------------------------------------------------------------------


def gain(task: str) -> Printed:
    """Return the printed gain of formats over random groups on a task."""
    part, name = codes.part_of(task), NAMES[own_code(task)]
    found = lookup(GAINS)
    return (
        found[f"{part}/{name}", "gain"]
        if (f"{part}/{name}", "gain") in found
        else found[f"{part}/Ad-hoc search", "gain"]
    )


def implied(task: str) -> float:
    """Return what random groups scored, as it follows from a printed score and a printed gain, both of v1."""
    return printed_cell("V1-T4", task, own_code(task)).number - gain(task).number


def gains(chapter: Chapter) -> None:
    """Show the printed gains with what they imply, their means, and whether v2's sentence follows from them."""
    body = []
    where: dict[str, list[str]] = {"above the best": [], "between the best and the worst": [], "below the worst": []}
    for task in TABLE_3:
        cells: dict[str, Printed] = {code: printed_cell("V1-T4", task, code) for code in FORMATS}
        own, wrong = cells[own_code(task)], [cell for code, cell in cells.items() if code != own_code(task)]
        made = chapter.record(
            [arithmetic(GAINS, f"implied score of random groups, {title(task)}", implied(task), 1, [own, gain(task)])]
        )[0]
        others, value = [cell.number for cell in wrong], round(made.value, 1)
        place = (
            "above the best"
            if value > max(others)
            else "below the worst"
            if value < min(others)
            else "between the best and the worst"
        )
        where[place].append(html.escape(title(task)))
        three = ", ".join(chapter.number(cell) for cell in wrong)
        body.append(
            [
                task_label(task, embedded=False),
                chapter.number(own),
                chapter.number(gain(task)),
                chapter.number(made, 1),
                three,
            ]
        )
    caption = (
        "Formats against five random groupings, v1 section 7: printed score of the own code, printed gain, the score of random "
        "groups that follows, and the scores of the three wrong codes beside it"
    )
    header = ["Task", "own code", "gain", "random groups, implied", "other formats’ codes"]
    chapter.show(report.table(header, body, caption, [["", "published", "published", "", "published"]] * len(body)))
    _say_gains(chapter)
    told = "; ".join(f"{words} of them on {len(tasks)} ({', '.join(tasks)})" for words, tasks in where.items() if tasks)
    chapter.say(
        f"Set beside the three wrong codes of the model with formats, random groups score {told}. Neither text says how the five "
        "groupings were drawn, nor under which of its four codes a held-out task is then read."
    )


def _say_gains(chapter: Chapter) -> None:
    by_part = {part: [gain(task) for task in TABLE_3 if codes.part_of(task) == part] for part in PARTS}
    every = [one for ones in by_part.values() for one in ones]
    rows = {
        name: chapter.record(
            [arithmetic(GAINS, f"mean gain, {name}", float(np.mean([g.number for g in of])), len(of), of)]
        )[0]
        for name, of in (*by_part.items(), ("all", every))
    }
    said = lookup("V2-C1")["formats over random partitions", "points, over"]
    gaps = {name: rows[name].value - said.number for name in by_part}
    short = [
        f"the {name} mean is {'exactly that' if abs(gap) < 1e-9 else 'less'}"
        for name, gap in gaps.items()
        if gap < 1e-9
    ]
    chapter.say(
        f"The mean of the eight printed gains is {chapter.number(rows['all'], 2, sign=True)}: in-train "
        f"{chapter.number(rows['in-train'], 2, sign=True)}, out-of-train {chapter.number(rows['out-of-train'], 2, sign=True)}.",
        f"The publication prints no gains of its own: “over {chapter.number(said)} points on average (both in-train and "
        "out-of-train)” is all it says"
        + (f"; by the submission’s numbers {' and '.join(short)}" if short else "")
        + ". If these are the same runs, they are of the submission’s base and training data, which the publication replaced.",
    )
