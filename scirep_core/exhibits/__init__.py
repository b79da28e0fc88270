"""The papers' exhibits: from Result rows to the tables, figures and computed sentences of one chapter each.

Every function takes the running chapter and rows that exist; what it says about them is read off their values,
signs and intervals, never written in advance.
"""

from __future__ import annotations

from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result


def sign(row: Result) -> int:
    """Return 1 where the whole interval lies above 0, -1 below, 0 where it holds 0 or there is none."""
    return 0 if row.low is None or row.high is None else int(row.low > 0) - int(row.high < 0)


def cell(chapter: Chapter, row: Result | None, decimals: int = 1, signed: bool = False) -> str:
    """Return a number with its interval, "" for none."""
    if row is None:
        return ""
    return f"{chapter.number(row, decimals, sign=signed)} {report.interval(row.low, row.high, decimals)}".strip()
