"""What the three chapters on the 32 neighbours draw alike: tables by category, statements of the paper, panels of dots.

Figures have one panel a system and one line a category or code; recorded numbers are solid dots, live ones diamonds in the
accent colour, a second metric of the same is hollow. Intervals are thin lines, bounds that the paper names dashed ones.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scirep_core.data.perturbations import CATEGORIES, PERTURBATIONS
from scirep_core.exhibits.counting import colour_of, title
from scirep_core.exhibits.neighbours_shared import named
from scirep_core.exhibits.neighbours_views import Run, View, value, views
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import Printed

PANELS = 3
"""Panels side by side."""


# ---- tables ----------------------------------------------------------------------------------------------------------

Line = tuple[str, str, Mapping[str, str]]
"""Label, kind, and cells by category."""


def ordered(shown: Sequence[Run]) -> list[View]:
    """Return every encoder on every collection, runs of the same beside one another."""
    order = list(dict.fromkeys((view.collection, view.encoder) for view in views(shown)))
    return sorted(views(shown), key=lambda view: order.index((view.collection, view.encoder)))


def category_lines(
    chapter: Chapter, shown: Sequence[Run], metrics: Mapping[str, str], places: int = 1
) -> list[Line]:  # fmt: skip
    """Return a table's lines of our own numbers: one a collection, encoder, run and metric (label by metric)."""
    lines: list[Line] = []
    for view in ordered(shown):
        for metric, label in metrics.items():
            cells = {split: value(chapter, row, places) for split, row in view.rows(metric, CATEGORIES).items()}
            if cells:
                lines.append((view.label(label), view.run.kind, cells))
    return lines


def printed_lines(chapter: Chapter, numbers: Mapping[tuple[str, str], Printed]) -> list[Line]:
    """Return a table's published lines, of numbers by (line, category)."""
    names = dict.fromkeys(line for line, _ in numbers)
    return [
        (f"{html.escape(name)} <small>published</small>", "published",
         {c: chapter.number(numbers[name, c]) for c in CATEGORIES if (name, c) in numbers})
        for name in names
    ]  # fmt: skip


def category_table(lines: Sequence[Line], caption: str, first: str = "Collection, encoder") -> str:
    """Return a table with the five categories as columns, in the order of similarity that the paper expects."""
    body = [[name, *(cells.get(category, "") for category in CATEGORIES)] for name, _, cells in lines]
    classes = [["", *[kind] * len(CATEGORIES)] for _, kind, _ in lines]
    return report.table([first, *CATEGORIES], body, caption, classes)


class Statement(NamedTuple):
    """Whom the paper speaks of, what it says, as HTML, and what holds of one encoder on one collection."""

    of: str
    text: str
    holds: Callable[[View], str]


def statements_table(chapter: Chapter, shown: Sequence[Run], statements: Sequence[Statement], caption: str) -> None:
    """Show statements of the paper as lines and what holds of our encoders as columns."""
    columns = views(shown)
    if columns:
        head = [view.label() for view in columns]
        body = [[one.of, _wrapped(one.text), *(_wrapped(one.holds(view)) for view in columns)] for one in statements]
        classes = [["", "published", *(view.run.kind for view in columns)] for _ in body]
        chapter.show(report.table(["About", "the paper says", *head], body, caption, classes))


def _wrapped(cell: str) -> str:
    return f'<div style="white-space: normal; text-align: left; min-width: 9rem">{cell}</div>'


# ---- figures ---------------------------------------------------------------------------------------------------------


class Mark(NamedTuple):
    """One series of a figure: a run's metric, filled or hollow, moved off its line by a part of the line's height."""

    run: Run
    metric: str
    label: str
    hollow: bool = False
    offset: float = 0.0


def spread(shown: Sequence[Run], metrics: Mapping[str, tuple[str, bool]], most: float = 0.2) -> list[Mark]:
    """Return the series of a figure: label and hollowness by metric; they lie one above the other on a line."""
    series = [(run, metric) for run in shown for metric in metrics]
    offsets = np.linspace(most, -most, len(series)) if len(series) > 1 else np.zeros(len(series))
    return [
        Mark(run, metric, f"{run.kind}{', ' + metrics[metric][0] if metrics[metric][0] else ''}", metrics[metric][1], float(offset))
        for (run, metric), offset in zip(series, offsets, strict=True)
    ]  # fmt: skip


CATEGORY_LINES = [(category, category) for category in CATEGORIES]
"""Label and split of a figure's lines, top to bottom."""
CODE_LINES = [
    line
    for category in CATEGORIES
    for line in ((category, ""), *((code, code) for code, what in PERTURBATIONS.items() if what.category == category))
]
"""Every category as a heading (no split), then its codes."""


@report.styled
def grid(names: Sequence[str], height: float) -> tuple[Any, list[Any]]:
    """Return a figure and its titled panels, one a name, each `height` inches; the lowest of a column has the numbers."""
    columns = min(PANELS, len(names))
    rows = math.ceil(len(names) / columns)
    figure, axes = report.subplots(
        rows, columns, figsize=(report.WIDTH, rows * height + 0.4), sharex=True, sharey=True, squeeze=False
    )
    for ax in list(axes.flat)[len(names) :]:
        ax.set_visible(False)
    shown = list(axes.flat)[: len(names)]
    for ax, name in zip(shown, names, strict=True):
        ax.set_title(name)
    for ax in shown[-columns:]:  # matplotlib numbers the last row alone, which may end before the last column
        ax.tick_params(axis="x", labelbottom=True)
    return figure, shown


def panels(names: Sequence[str], lines: Sequence[tuple[str, str]], step: float) -> tuple[Any, list[Any]]:
    """Return a figure and its panels, one a name: lines from top to bottom, those without a split as headings.

    Args:
        step: inches a line takes.
    """
    figure, axes = grid(names, step * len(lines) + 0.75)
    places = np.arange(len(lines))[::-1]
    small = {"fontsize": 7.5} if step < 0.2 else {}
    for ax in axes:
        ax.set_yticks(places, [label for label, _ in lines], **small)
        for tick, (_, split) in zip(ax.get_yticklabels(), lines, strict=False):  # inner panels have none
            tick.set_fontweight("normal" if split else "bold")
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
        ax.set_ylim(-0.7, len(lines) - 0.3)
    return figure, axes


def systems(rows: Iterable[Result]) -> dict[str, list[str]]:
    """Return the encoders of each panel by its title: runs of one model in different precision share a panel.

    Where one run has a model in two precisions they are two systems, and each has its own.
    """
    by_model: dict[str, dict[tuple[str, str], None]] = {}
    for row in rows:
        by_model.setdefault(row.encoder.partition(":")[0], {})[row.encoder, row.kind] = None
    found: dict[str, list[str]] = {}
    for model, runs in by_model.items():
        names, kinds = list(dict.fromkeys(name for name, _ in runs)), [kind for _, kind in runs]
        if len(names) == 1 or len(kinds) > len(set(kinds)):
            found |= {named(name): [name] for name in names}
        else:
            told = [f"{kind}: {name.partition(':')[2]}" for name, kind in runs if ":" in name]
            found[f"{named(model)}\n({', '.join(told)})"] = names
    return found


def draw_marks(
    ax: Any, lines: Sequence[tuple[str, str]], collection: str, encoders: Sequence[str], marks: Sequence[Mark], size: float = 5.0
) -> None:  # fmt: skip
    """Draw the rows of a panel's encoders: intervals as lines, values as dots (live: diamonds)."""
    for mark in marks:
        colour = colour_of(mark.run.kind)
        places = [
            (y, split) for y, (_, split) in zip(np.arange(len(lines))[::-1] + mark.offset, lines, strict=True) if split
        ]
        for y, split, encoder in ((*place, encoder) for place in places for encoder in encoders):
            row = mark.run.found.get((collection, encoder, mark.metric, split))
            if row is None:
                continue
            if row.low is not None and row.high is not None:
                ax.plot([row.low, row.high], [y, y], color=colour, linewidth=1.1, solid_capstyle="butt")
            ax.plot([row.value], [y], linestyle="none", **_shape(mark, size))


def _shape(mark: Mark, size: float) -> dict[str, Any]:
    colour = colour_of(mark.run.kind)
    face = report.PAPER if mark.hollow else colour
    marker, edge = ("D", 0.85 * size) if mark.run.kind == "live" else ("o", size)
    return {"marker": marker, "markersize": edge, "markerfacecolor": face, "markeredgecolor": colour, "color": colour}


def legend(figure: Any, marks: Sequence[Mark], more: Sequence[Any] = ()) -> None:
    """Put the key above the panels."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="none", label=mark.label, **_shape(mark, 5.0)) for mark in marks]
    figure.legend(handles=[*handles, *more], loc="outside upper left", ncols=4, fontsize=9)


def bound(ax: Any, at: float, text: str = "") -> None:
    """Draw a bound that the paper names as a thin dashed line."""
    ax.axvline(at, color=report.FLOOR, linewidth=1, linestyle=(0, (4, 3)))
    if text:
        ax.annotate(text, (at, 1), xycoords=("data", "axes fraction"), xytext=(-2, -8), textcoords="offset points",
                    fontsize=7.5, color=report.MUTED, ha="right")  # fmt: skip


def frame(rows: Iterable[Result]) -> pd.DataFrame:
    """Return rows as a figure's data."""
    return pd.DataFrame([
        {"collection": r.task, "encoder": r.encoder, "kind": r.kind, "neighbour": r.split, "metric": r.metric, "value": r.value,
         "low": r.low, "high": r.high, "n": r.n}
        for r in rows
    ])  # fmt: skip


def drawn_rows(marks: Sequence[Mark], collection: str, lines: Sequence[tuple[str, str]]) -> list[Result]:
    """Return the rows that a figure of marks shows."""
    splits = [split for _, split in lines if split]
    return [
        row
        for mark in marks
        for encoder in mark.run.encoders
        for split in splits
        if (row := mark.run.found.get((collection, encoder, mark.metric, split)))
    ]


def figure_of(
    shown: Sequence[Run], collection: str, lines: Sequence[tuple[str, str]], marks: Sequence[Mark], step: float, label: str,
    bounds: Mapping[float, str] | None = None,
) -> tuple[Any, list[Result]]:  # fmt: skip
    """Return a figure with one panel a system, and the rows it shows."""
    rows = drawn_rows(marks, collection, lines)
    found = systems(rows)
    if not rows:
        return None, []
    figure, axes = panels(list(found), lines, step)
    for ax, names in zip(axes, found.values(), strict=True):
        for at, text in (bounds or {}).items():
            bound(ax, at, text if ax is axes[0] else "")
        draw_marks(ax, lines, collection, names, marks, 5.0 if step > 0.2 else 4.0)
        ax.set_xlabel(label)
    kept = [mark for mark in marks if any(r.kind == mark.run.kind and r.metric == mark.metric for r in rows)]
    legend(figure, kept)
    return figure, rows


def titled(rows: Sequence[Result]) -> str:
    """Return what collection a figure is of: `ACL-ANTH`, or `ACL-ANTH (sample), recorded, and ACL-ANTH, live`."""
    names = list(dict.fromkeys((title(row.task), row.kind) for row in rows))
    if len({name for name, _ in names}) == 1:
        return names[0][0]
    return ", and ".join(f"{name}, {kind}" for name, kind in names)


def extremes(rows: Sequence[Result], places: int = 1) -> str:
    """Return `lowest 20.8 (TDelNN, MiniLM), highest 100.0 (T_A_WS, MiniLM)` for a figure's alternative text."""
    least, most = min(rows, key=lambda r: r.value), max(rows, key=lambda r: r.value)
    return "; ".join(
        f"{name} {row.value:.{places}f} ({row.split}, {named(row.encoder)})"
        for name, row in (("lowest", least), ("highest", most))
    )
