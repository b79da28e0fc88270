"""Codes against tasks as a picture: which code stands out in the row of each task (SciRepEval v2 Table 3, v1 Table 4).

    a bar's length grows with the root of |S[t, c] - mean of the row|; to the right and blue above it, to the left and
    vermilion below

Every cell has its number; the own code's cell is framed, the highest number of a row is bold. Differences, not scores, are
drawn: a Kendall tau of 20 and a MAP of 90 have no scale in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scirep_core.bench.study_tables import TABLE_3
from scirep_core.exhibits import scirepeval_codes as codes
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.heatmap import NEGATIVE, POSITIVE
from scirep_core.exhibits.scirepeval_codes import Matrix, own_code
from scirep_core.kit.formats import FORMATS
from scirep_core.page import report
from scirep_core.page.chapter import Chapter

FULL = 10.0
"""Points from the row's mean at which a bar fills its half of the cell."""
SHORT = {"Fields of study (FoS)": "Fields of study", "Same Author Detection": "Same author",
         "Paper-Reviewer Matching": "Reviewers", "Peer Review Score": "Review score"}  # fmt: skip


class Panel(NamedTuple):
    """One matrix of the figure."""

    heading: str
    kind: str
    matrix: Matrix


@report.styled
def draw(panels: Sequence[Panel]) -> tuple[Any, pd.DataFrame]:
    """Return a figure of matrices side by side, tasks down, codes across, and its data."""
    tasks = [task for task in TABLE_3 if any(task in one.matrix.tasks for one in panels)]
    figure, grid = report.subplots(
        1, len(panels), figsize=(min(report.WIDTH, 1.8 + 1.8 * len(panels)), 0.75 + 0.36 * len(tasks)), sharey=True,
        squeeze=False,
    )  # fmt: skip
    frame = []
    for axes, panel in zip(grid[0], panels, strict=True):
        for y, task in enumerate(tasks):
            if task in panel.matrix.tasks:
                frame += list(_row(axes, y, task, panel))
        axes.axhline(sum(codes.part_of(task) == "in-train" for task in tasks) - 0.5, color=report.MUTED, linewidth=0.8)
        axes.set_title(panel.heading, fontsize=9)
        axes.set_xticks(range(len(FORMATS)), FORMATS, fontsize=8)
        axes.set_xlim(-0.55, len(FORMATS) - 0.45)
        axes.set_ylim(len(tasks) - 0.45, -0.55)
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for edge in axes.spines.values():
            edge.set_visible(False)
    names = [f"{SHORT.get(title(task), title(task))} ({own_code(task)})" for task in tasks]
    grid[0][0].set_yticks(range(len(tasks)), names, fontsize=8)
    for colour, text in ((POSITIVE, "above the mean of the row"), (NEGATIVE, "below it")):
        grid[0][0].plot([], [], "s", color=colour, alpha=0.8, label=text)
    grid[0][0].plot([], [], "s", markerfacecolor="none", markeredgecolor=report.INK, label="the task’s own code")
    figure.legend(
        *grid[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=min(3, len(panels) + 1), fontsize=8
    )
    return figure, pd.DataFrame(frame)


def _row(axes: Any, y: int, task: str, panel: Panel) -> Any:
    import matplotlib.patches as patches

    means = {code: panel.matrix.mean(task, code) for code in FORMATS}
    middle, best = float(np.mean(list(means.values()))), max(means.values())
    for x, (code, value) in enumerate(means.items()):
        long = 0.42 * min(1.0, abs(value - middle) / FULL) ** 0.5
        axes.add_patch(patches.Rectangle(
            (x if value >= middle else x - long, y + 0.2), long, 0.16, facecolor=POSITIVE if value >= middle else NEGATIVE,
            alpha=0.8, linewidth=0,
        ))  # fmt: skip
        if code == own_code(task):
            axes.add_patch(
                patches.Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, fill=False, edgecolor=report.INK, linewidth=0.9)
            )
        axes.text(x, y - 0.1, f"{value:.1f}", ha="center", va="center", fontsize=7.5,
                  fontweight="bold" if value == best else "normal")  # fmt: skip
        yield {"panel": panel.heading, "kind": panel.kind, "task": title(task), "part": codes.part_of(task), "code": code,
               "own": code == own_code(task), "score": value, "minus row mean": value - middle,
               "trainings": panel.matrix.trainings}  # fmt: skip


def show(chapter: Chapter, name: str, panels: Sequence[Panel], told: str) -> None:
    """Show the figure of some matrices, `told` saying what they rest on."""
    drawn, frame = draw(panels)
    best = {one.heading: len(codes.own_is_best(one.matrix, one.matrix.tasks)) for one in panels}
    listed = "; ".join(f"{heading} {count} of {len(TABLE_3)} rows" for heading, count in best.items())
    chapter.figure(
        f"codes-{name}", drawn, frame,
        "Each code’s vectors on each format’s tasks, 0 to 100. Bars: points from the mean of the row, to the right above it "
        f"(root scale, {FULL:.0f} points fill half a cell); framed: the task’s own code; bold: the highest of the row; in-train "
        f"tasks above the line. {told}.",
        f"Matrix of tasks by codes, {name}. The own code alone is the highest in: {listed}.",
    )  # fmt: skip
