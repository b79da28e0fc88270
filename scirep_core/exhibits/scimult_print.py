"""What the chapters on SciMult's tasks share of the printed tables: the whole table, its plain means, who is ahead of whom.

average   plain mean over the columns of a table (Tables 3, 4, 5, 7, 8 and A3), so that a data set with more columns
          weighs more
beats     a variant is ahead of every baseline that has a number in the column, by the printed digits alone: the paper
          gives neither seeds nor deviations, so that no difference here has a test
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence

from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits import studies
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import Printed, lookup, table

OWN = "SciMult-"
AVERAGE = "Average"
VARIANTS = tuple(f"{OWN}{name}" for name in ("Vanilla", "MHAExpert", "FFNExpert", "Prefix", "Instruction"))
VANILLA, MHA, FFN = VARIANTS[:3]
Cells = dict[tuple[str, str], Printed]


def systems(exhibit: str) -> list[str]:
    """Return the lines of a table, as printed."""
    return list(dict.fromkeys(p.row for p in table(exhibit)))


def baselines(exhibit: str) -> list[str]:
    """Return the lines that are not the paper's own models."""
    return [name for name in systems(exhibit) if not name.startswith(OWN)]


def columns(exhibit: str, *data: str) -> list[str]:
    """Return the columns of some data sets, of all unless named, without the average."""
    every = [[p.column for p in table(exhibit) if p.row == line and p.column != AVERAGE] for line in systems(exhibit)]
    found = max(every, key=len)  # a line may lack some, and would set them at the end
    return [name for name in found if not data or name.partition("/")[0] in data]


def data_sets(exhibit: str) -> list[str]:
    """Return the data sets of a table, in order."""
    return list(dict.fromkeys(name.partition("/")[0] for name in columns(exhibit)))


def show(chapter: Chapter, exhibit: str, caption: str, lines: Sequence[str] = ()) -> None:
    """Show a printed table whole; the highest number of each column is bold, by us: the text at hand has lost most marks."""
    printed = lookup(exhibit)
    names = [*columns(exhibit), *([AVERAGE] if any(column == AVERAGE for _, column in printed) else [])]
    shown = list(lines) or systems(exhibit)
    best = {name: max(p.number for (_, column), p in printed.items() if column == name) for name in names}
    body = []
    for line in shown:
        cells = [html.escape(line)]
        for name in names:
            p = printed.get((line, name))
            text = chapter.number(p) if p else ""
            cells.append(f"<strong>{text}</strong>" if p and p.number == best[name] else text)
        body.append(cells)
    heads = ["<br>".join(map(html.escape, name.split("/"))) for name in names]
    told = f"{caption}. Bold, by us: the highest of a column"
    chapter.show(report.table(["", *heads], body, told, [["", *["published"] * len(names)]] * len(body)))


def say_averages(chapter: Chapter, exhibit: str) -> list[Result]:
    """Say how many printed averages are the plain mean of their line, to the last digit; return the means."""
    printed = lookup(exhibit)
    made, off = [], []
    for line in systems(exhibit):
        if (line, AVERAGE) not in printed:
            continue
        mean = mean_of(exhibit, line, columns(exhibit), f"average, {line}")
        made.append(mean)
        if round(mean.value + 1e-9, 2) != printed[line, AVERAGE].number:
            off.append(mean)
    found = chapter.record(made)
    wrong = [
        f"{html.escape(row.metric)} {chapter.number(row)}" for row in found if row.metric in {r.metric for r in off}
    ]
    chapter.say(
        f"{len(found) - len(wrong)} of the {len(found)} printed averages are the plain mean of their line"
        + (f"; not {', '.join(wrong)}." if wrong else ", to the last digit.")
    )
    return found


def mean_of(exhibit: str, line: str, names: Iterable[str], metric: str) -> Result:
    """Return the plain mean of some cells of a line, as arithmetic on printed numbers."""
    printed = lookup(exhibit)
    found = [printed[line, name] for name in names if (line, name) in printed]
    return arithmetic(exhibit, metric, sum(p.number for p in found) / len(found), len(found), found)


def worked(
    chapter: Chapter, exhibit: str, metric: str, value: float, numbers: Iterable[Printed], decimals: int = 2
) -> str:
    """Record a number that follows from printed numbers, and return it as shown."""
    found = list(numbers)
    return chapter.number(chapter.record([arithmetic(exhibit, metric, value, len(found), found)])[0], decimals)


def bar(exhibit: str, column: str, among: Iterable[str] = ()) -> Printed:
    """Return the highest number of a column among the baselines, or among the lines named."""
    printed = lookup(exhibit)
    lines = list(among) or baselines(exhibit)
    return max((printed[line, column] for line in lines if (line, column) in printed), key=lambda p: p.number)


def beaten(exhibit: str, line: str, names: Iterable[str]) -> list[str]:
    """Return the columns in which a line is ahead of every baseline."""
    printed = lookup(exhibit)
    return [name for name in names if printed[line, name].number > bar(exhibit, name).number]


def ahead(exhibit: str, one: str, other: str, names: Iterable[str]) -> list[str]:
    """Return the columns in which a line is ahead of another."""
    printed = lookup(exhibit)
    return [name for name in names if printed[one, name].number > printed[other, name].number]


def winners(exhibit: str, name: str, lines: Sequence[str] = VARIANTS) -> list[str]:
    """Return the lines with the highest number of a column."""
    printed = lookup(exhibit)
    top = max(printed[line, name].number for line in lines)
    return [line for line in lines if printed[line, name].number == top]


def short(line: str) -> str:
    """Return a variant's name without the paper's.

    >>> short("SciMult-MHAExpert")
    'MHAExpert'
    """
    return html.escape(line.removeprefix(OWN))


def named(lines: Iterable[str], name: Callable[[str], str] = short) -> str:
    """Return names as a list in words.

    >>> named(["SciMult-Vanilla", "SciMult-Prefix", "BM25"])
    'Vanilla, Prefix and BM25'
    """
    found = [name(line) for line in lines]
    return f"{', '.join(found[:-1])} and {found[-1]}" if len(found) > 1 else "".join(found) or "none"


# ---- ours beside them ------------------------------------------------------------------------------------------------

LINES = ("Base", *shared.FIVE, shared.LONG)
"""Lines of the study, in the order shown."""


def studied(chapter: Chapter) -> dict[str, list[Result]]:
    """Return our study, recorded and live; nothing is trained with `data = real`, which asks for the real pieces alone."""
    kept = shared.recorded(chapter)
    studies.say_unrecorded(chapter, "scimult", kept)
    return {"recorded": kept, "live": shared.live(chapter) if chapter.parameters["data"] == "embedded" else []}


def ours(
    chapter: Chapter, exhibit: str, kinds: Mapping[str, Sequence[Result]], names: Sequence[str], caption: str
) -> None:
    """Show some columns of a table with our study beside it: published, recorded and live, floor and ceiling.

    Args:
        kinds: recorded, live -> rows of the study with averages (`scimult_shared`); one without rows has no column.
        names: columns as printed, `Average` among them.
    """
    there = {kind: rows for kind, rows in kinds.items() if rows}
    if not there:
        chapter.note(f"There are no numbers of our own for {label_of(exhibit)} in this run.")
        return
    quoted = {(line, name): p for (line, name), p in shared.printed(exhibit).items() if line in LINES and name in names}
    called = {line: line.removeprefix("SciMult ") for line in LINES} | {
        name: "<br>".join(map(html.escape, name.split("/"))) for name in names
    }
    facts = "; ".join(f"{kind}: {studies.facts(rows)}" for kind, rows in there.items())
    chapter.show(
        studies.study_table(
            chapter, f"{caption}. {facts}", there, LINES, names, quoted, called, shared.column_of(exhibit)
        )
    )


def label_of(exhibit: str) -> str:
    """Return `Table 3` of `SM-T3`, `Table A3` of `SM-TA3`.

    >>> label_of("SM-TA3")
    'Table A3'
    """
    return f"Table {exhibit.removeprefix('SM-T')}"


def say_ours(chapter: Chapter, exhibit: str, kinds: Mapping[str, Sequence[Result]]) -> None:
    """Say of each of our runs which variant has the highest average, and where it lies between floor and ceiling."""
    for kind, rows in kinds.items():
        found = shared.values(rows, exhibit) if rows else {}
        means = {line: found[line, AVERAGE] for line in LINES if (line, AVERAGE) in found}
        if not means:
            continue
        best = max(means.values(), key=lambda row: row.value)
        edges = [
            f"{studies.REFERENCES[name]} {chapter.number(found[name, AVERAGE], 1)}"
            for name in studies.REFERENCES
            if (name, AVERAGE) in found
        ]
        printed = shared.printed(exhibit)
        first = max(shared.FIVE, key=lambda line: printed[line, AVERAGE].number)
        chapter.say(
            f"{kind.capitalize()}: the highest of {len(means)} averages of {label_of(exhibit)} is {html.escape(best.encoder)}’s, "
            f"{chapter.number(best, 1)} ({', '.join(edges)}). In print, of the five, it is {short(shared.CALLED[first])}’s, "
            f"{chapter.number(printed[first, AVERAGE])}."
        )
