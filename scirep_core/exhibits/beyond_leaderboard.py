"""Chapter `beyond/leaderboard`: every number of the book in one table, told apart by where it is from.

The chapter runs after all others of a build (`"after": "chapters"` in its metadata) and reads their rows; it measures nothing.
No seconds and no dates are shown, so that two builds of one tree give the same page.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from scirep_core.bench.leaderboard import (
    BOUNDS,
    KINDS,
    SUBMITTED,
    WHATS,
    Board,
    Cell,
    cells,
    collect,
    counts,
    main_metric,
    ranks,
)
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.page import report
from scirep_core.page.chapter import SIMULATION, Chapter
from scirep_core.page.widgets.leaderboard import LeaderboardExplorer, fallback, leaderboard_data

WHOLE_SPLITS = ("test", "all")


def gather(chapter: Chapter) -> Board:
    """Return every row, with the live ones of the last book of the profile that the parameter `data` names."""
    return collect(chapter.parameters["data"])


def overview(chapter: Chapter, board: Board) -> None:
    """Show how many rows there are of each kind, who submitted, and which numbers are not among them."""
    if chapter.parameters["data"] == "embedded":
        chapter.note(SIMULATION)
    found = counts(board.rows)
    body = [
        [kind.capitalize(), *(f"{found[kind][what]:,}" for what in WHATS), f"{sum(found[kind].values()):,}"]
        for kind in KINDS
    ]
    header = ["Kind", "scores", "differences", "other", "repeats", "all"]
    chapter.show(report.table(header, body, f"The {len(board.rows):,} rows, by where they are from and what they are"))
    of_scores = cells(row for row in board.rows if row.what == "score")
    kinds = [{row.kind for row in rows} for rows in of_scores.values()]
    met = sum("published" in there and bool(there & {"recorded", SUBMITTED}) for there in kinds)
    chapter.say(
        f"The scores stand in {len(of_scores):,} cells, each of one task, metric, split, protocol, source and data. In {met:,} of "
        "them printed numbers stand beside ours: the same collection and the same metric, so that they may be compared."
    )
    if not found["live"]:
        chapter.note("No live rows: no book of this profile has been run here yet. <code>scirep book</code> runs one.")
    names = sorted({row.chapter.removeprefix(f"{SUBMITTED}/") for row in board.rows if row.kind == SUBMITTED})
    if names:
        chapter.say(f"Submitted so far: {', '.join(f'<code>{html.escape(name)}</code>' for name in names)}.")
    left = [[html.escape(why), f"{n:,}"] for why, n in sorted(board.left.items(), key=lambda item: (-item[1], item[0]))]
    caption = f"{sum(board.left.values()):,} numbers that are no rows of the table, by what they are"
    made = report.table(["What", "numbers"], left, caption)
    chapter.show(f"<details><summary>What is left out</summary>{made}</details>")


def rankings(board: Board, names: Sequence[str]) -> list[Cell]:
    """Return of each task its widest ranking of each source under protocol paper, by the task's main metric, real data first.

    Raises ConfigError for a task without such scores.
    """
    of_scores = {
        cell: rows
        for cell, rows in cells(row for row in board.rows if row.what == "score").items()
        if cell.protocol == "paper" and cell.split in WHOLE_SPLITS and cell.metric == main_metric(cell.task)
    }
    found = []
    for name in names:
        mine = {cell: len({row.system for row in rows}) for cell, rows in of_scores.items() if cell.task == name}
        if not mine:
            raise ConfigError(f"tasks: no scores of {name!r}; {nearest(name, {cell.task for cell in of_scores})}")
        for source in sorted({cell.source for cell in mine}, reverse=True):
            found.append(max((cell for cell in mine if cell.source == source), key=lambda cell: (mine[cell], cell)))
    return found


def ranking(chapter: Chapter, board: Board, cell: Cell, most: int) -> str:
    """Return the first rows of a ranking as an HTML table whose numbers lead to their origins."""
    rows = [row for row in cells(board.rows)[cell] if row.what == "score"]
    body, classes = [], []
    for row, rank in list(zip(rows, ranks(rows), strict=True))[:most]:
        value = chapter.number(board.origins[row])
        place = f" <small>{BOUNDS[row.system]}</small>" if row.system in BOUNDS else ""
        body.append([html.escape(row.system) + place, "" if rank is None else str(rank), value, report.interval(row.low, row.high),
                     "" if row.n is None else f"{row.n:,}", row.kind])  # fmt: skip
        classes.append(["", "", "recorded" if row.kind == SUBMITTED else row.kind, "", "", ""])
    caption = f"{named(cell)}. {len(body)} of {len(rows)} rows"
    return report.table(["System", "rank", "value", "95 % interval", "n", "kind"], body, caption, classes)


def named(cell: Cell) -> str:
    """Return a cell in words, as HTML."""
    words = f"{cell.task}, {cell.metric}, {cell.split}: {cell.source} data ({cell.data}), protocol {cell.protocol}"
    return html.escape(words)


def explorer(chapter: Chapter, board: Board) -> LeaderboardExplorer:
    """Show the rankings of the parameter's tasks as plain tables, and return the explorer, opened at the first of them."""
    view = leaderboard_data(board.rows)
    names = [name.strip() for name in chapter.parameters["tasks"].split(",") if name.strip()]
    shown = rankings(board, names)
    chapter.show(fallback(view, [ranking(chapter, board, cell, chapter.parameters["shown"]) for cell in shown]))
    first = shown[0]
    return LeaderboardExplorer(view, task=first.task, metric=first.metric, split=first.split)
