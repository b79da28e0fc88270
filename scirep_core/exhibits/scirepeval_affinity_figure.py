"""Chapter `scirepeval/affinity`: how differences of several tables are drawn side by side, and their mean over trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from scirep_core.bench.codes import over
from scirep_core.exhibits import studies
from scirep_core.exhibits.scirepeval_affinity import EXHIBITS, PARTS, Table
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, provenance

MARKS = {"V2-T11": ("o", report.PUBLISHED, report.PAPER), "V1-T9": ("s", report.PUBLISHED, report.PAPER)}


@report.styled
def draw(
    chapter: Chapter, name: str, tables: Sequence[Table], every: Sequence[Mapping[str, Result]], what: str, axis: str
) -> None:
    """Draw differences with their intervals, one panel a part: hollow as printed (v2 round, v1 square), ours solid."""
    rows = list(dict.fromkeys(_within(key) for key in every[0]))
    figure, panels = report.subplots(1, 2, figsize=(report.WIDTH, 1.3 + 0.34 * len(rows)), sharey=True)
    frame = []
    shift = np.linspace(0.24, -0.24, len(tables)) if len(tables) > 1 else np.zeros(1)
    for axes, part in zip(panels, PARTS, strict=True):
        axes.axvline(0, color=report.FLOOR, linewidth=1)
        for table, gaps, off in zip(tables, every, shift, strict=True):
            mark, edge, inside = MARKS.get(table.exhibit, ("o", report.RECORDED, report.RECORDED))
            for key, row in gaps.items():
                if not key.startswith(part):
                    continue
                y = len(rows) - 1 - rows.index(_within(key)) + off
                if row.low is not None and row.high is not None:
                    axes.plot([row.low, row.high], [y, y], color=edge, linewidth=1.2)
                axes.plot(
                    row.value, y, mark, markersize=5, markerfacecolor=inside, markeredgecolor=edge, markeredgewidth=1.4
                )
                frame.append({"part": part, "tasks": _within(key), "of": table.name, "points": row.value, "low": row.low,
                              "high": row.high})  # fmt: skip
        axes.set_title(part)
        axes.set_xlabel("points")
        axes.grid(axis="y", visible=False)
        axes.set_ylim(-0.7, len(rows) - 0.3)
    panels[0].set_yticks(range(len(rows)), rows[::-1])
    mine = next((t for t in tables if t.kind != "published"), None)
    also = (
        f"; solid: ours with Tukey’s 95 % intervals ({studies.facts(mine.rows)})"
        if mine
        else ". Our own run is not recorded"
    )
    kinds = ", ".join(
        f"{t.name} {'round' if MARKS[t.exhibit][0] == 'o' else 'square'}" for t in tables if t.exhibit in EXHIBITS
    )
    chapter.figure(
        name, figure, pd.DataFrame(frame), f"{what}: {axis}, in points. Hollow: printed ({kinds}), no spread known{also}.",
        f"{what}: dots for {len(rows)} rows in two panels, in-train and out-of-train, for {', '.join(t.name for t in tables)}.",
    )  # fmt: skip


def _within(key: str) -> str:
    """Return what a difference is of, without its part."""
    for part in PARTS:
        key = key.removeprefix(part)
    return key.strip(" /")


def over_trainings(like: Result, metric: str, values: Sequence[float]) -> Result:
    """Return the mean of one value a training as a row, with its 95 % t interval where there are two or more.

    Args:
        like: a row of the same data, protocol and source.
    """
    found, n = over(values), len(values)
    return Result(
        like.task, like.split, metric, like.protocol, found.value, n, encoder="over trainings", low=found.low, high=found.high,
        source=like.source, data_hash=like.data_hash, seed=like.seed, provenance=provenance(),
        note=f"mean of {n} trainings, t interval",
    )  # fmt: skip
