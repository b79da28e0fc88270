"""What the chapters of SciRepEval's Tables 5 and 7 share: which kinds of numbers there are.

    published   as printed, of the real benchmark
    recorded    our committed run, where there is one
    live        this run

A kind without numbers has no column, no mark and no sentence; that nothing is recorded is said once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scirep_core.exhibits import cell
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import Printed

Cells = Mapping[tuple[str, str], Result]
"""Our numbers by (line, column)."""


def data_of(rows: Sequence[Result]) -> str:
    """Return what rows are of, in words."""
    where = sorted({row.source for row in rows if row.source})
    return " and ".join(
        {"embedded": "the embedded literature", "real": "real data"}.get(s, f"data in {s}") for s in where
    )


def kinds_table(chapter: Chapter, caption: str, first: str, lines: Sequence[str], columns: Sequence[str],
                printed: Mapping[tuple[str, str], Printed], recorded: Cells, live: Cells,
                labels: Mapping[str, str], decimals: int = 1) -> str:  # fmt: skip
    """Return a table with those of published, recorded and live side by side that have numbers; cells by (line, column)."""
    there: list[tuple[str, Mapping[tuple[str, str], Printed | Result]]] = [
        (kind, numbers) for kind, numbers in (("published", printed), ("recorded", recorded), ("live", live)) if numbers
    ]
    kinds = [kind for kind, _ in there]
    body = []
    for line in lines:
        cells = [labels.get(line, line)]
        for column in columns:
            cells += [_shown(chapter, numbers.get((line, column)), decimals) for _, numbers in there]
        body.append(cells)
    return report.table([first, *(kinds * len(columns))], body, caption, [["", *(kinds * len(columns))]] * len(body),
                        [labels.get(column, column) for column in columns])  # fmt: skip


def _shown(chapter: Chapter, number: Printed | Result | None, decimals: int) -> str:
    if number is None:
        return ""
    if isinstance(number, Printed):
        return chapter.number(number) if number.value else ""
    return cell(chapter, number, decimals)


def recording(chapter: Chapter, kept: Sequence[Result]) -> None:
    """Say whether a run of ours is recorded, and on what data."""
    if kept:
        chapter.say(f"Recorded: our committed run on {data_of(kept)}.")
    else:
        chapter.say("No run of ours is recorded for this chapter: tables and figures show published and live numbers.")
