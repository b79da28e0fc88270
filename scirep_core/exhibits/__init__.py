"""The papers' exhibits: from Result rows to the tables, figures and computed sentences of one chapter each.

Every function takes the running chapter and rows that exist; what it says about them is read off their values,
signs and intervals, never written in advance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import Printed

Key = tuple[str, str, str]
"""(task, encoder, metric): what a cell of a table is about."""


def by_key(rows: Iterable[Result], protocol: str = "paper", split: str = "test") -> dict[Key, Result]:
    """Return the scores of systems by (task, encoder, metric), one protocol and split; differences of two are left out."""
    kept = (r for r in rows if r.protocol == protocol and r.split == split and not r.against)
    return {(r.task, r.encoder, r.metric): r for r in kept}


def three_kinds(
    chapter: Chapter,
    caption: str,
    first: str,
    lines: Sequence[str],
    columns: Sequence[str],
    printed: Mapping[tuple[str, str], Printed],
    recorded: Mapping[tuple[str, str], Result],
    live: Mapping[tuple[str, str], Result],
    decimals: int = 2,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Return a table with published, recorded and live side by side; cells by (line, column).

    Missing cells stay empty; our numbers have the decimals of the printed one beside them.
    """
    header = [first, *(["published", "recorded", "live"] * len(columns))]
    groups = [(labels or {}).get(column, column) for column in columns]
    rows, classes = [], []
    for line in lines:
        cells, names = [(labels or {}).get(line, line)], [""]
        for column in columns:
            quoted = printed.get((line, column))
            cells.append(chapter.number(quoted) if quoted and quoted.value else "")
            for row in (recorded.get((line, column)), live.get((line, column))):
                places = quoted.decimals if quoted and quoted.value else decimals
                shown = f"{chapter.number(row, places)} {report.interval(row.low, row.high)}" if row else ""
                cells.append(shown)
            names += ["published", "recorded", "live"]
        rows.append(cells)
        classes.append(names)
    return report.table(header, rows, caption, classes, groups)


def sign(row: Result) -> int:
    """Return 1 where the whole interval lies above 0, -1 below, 0 where it holds 0 or there is none."""
    return 0 if row.low is None or row.high is None else int(row.low > 0) - int(row.high < 0)


def cell(chapter: Chapter, row: Result | None, decimals: int = 1, signed: bool = False) -> str:
    """Return a number with its interval, "" for none."""
    if row is None:
        return ""
    return f"{chapter.number(row, decimals, sign=signed)} {report.interval(row.low, row.high, decimals)}".strip()
