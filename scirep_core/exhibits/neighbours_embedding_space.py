"""Chapter `neighbours/embedding_space`: how alike are altered texts to one another? (textual neighbours, section 6.1, appendix E.1)

    inter-similarity   cosines of all pairs i < j of the texts of one code: mean, sd, lowest, highest       (Figures 4 and 9)
    share above        % of these pairs above the code's own mean                                          (Figures 3 and 10)

For cosines with mean m, sd s and skewness g, to first order (Edgeworth)

    share above = 50 - 100 g / (6 sqrt(2 pi)) = 50 - 6.65 g        0 for a symmetric distribution, whatever m and s are

so the share measures the skewness with its sign turned. It cannot say that texts are compact: with c' = (1 - a) c + a, which
adds a common direction to every vector, the mean rises as close to 1 as one likes and the share stays. Both are measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scirep_core.data.perturbations import CATEGORIES, LO_DS, PERTURBATIONS
from scirep_core.encoders import Encoder
from scirep_core.evaluators import neighbourhoods, perturbed
from scirep_core.evaluators.perturbed import Cloud
from scirep_core.evaluators.rows import Asked, unit
from scirep_core.exhibits import neighbours_drawing as drawing
from scirep_core.exhibits import neighbours_views as views
from scirep_core.exhibits.counting import colour_of, of_how_many, title
from scirep_core.exhibits.neighbours_shared import Subject, named
from scirep_core.exhibits.neighbours_views import Run, View, listed, value
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result

CHAPTER = "neighbours/embedding_space"
MEAN, SD, LEAST, MOST, SKEW, ABOVE = "inter_mean", "inter_sd", "inter_min", "inter_max", "inter_skew", "above_mean"
UNCHANGED, SQUEEZED = "T+A", "T+A, squeezed"
STAND_IN = "T_ARot"
"""The code under which unchanged texts are measured; its rows are then called T+A."""
SQUEEZE = 0.9
"""How much of a common direction is added: every cosine c becomes 0.1 c + 0.9."""
LINKED = {SKEW: "skewness", MEAN: "mean cosine", SD: "sd"}
"""What the share above the mean is correlated with, over codes."""
STILL = 0.5
"""Points by which a share may move and still be called unmoved."""
MISSED, MOVED = "share missed by the rule, median", "share moved by squeezing"


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter, found: Sequence[Subject]) -> list[Result]:
    """Record similarities by code and category and of the unchanged texts, their differences, and what the share goes with."""

    def of(subject: Subject, encoder: Encoder) -> Iterator[Result]:
        whole, clouds, asked = subject.whole(encoder), subject.clouds(encoder), subject.asked()
        rows = perturbed.similarity(asked, clouds, progress(f"{encoder.name}: similarities", "codes"))
        place = {key: at for at, key in enumerate(subject.ids)}
        own = np.array([place[key] for key in subject.chosen], dtype=np.int64)
        rows += unchanged(asked, whole, own)
        yield from rows
        others = [(LO_DS, category) for category in CATEGORIES if category != LO_DS]
        yield from views.differences(rows, MEAN, [*others, *((code, UNCHANGED) for code in PERTURBATIONS)])
        yield from links(rows)

    return views.measure(chapter, found, of, (MEAN,))


def unchanged(asked: Asked, whole: NDArray[np.floating], own: NDArray[np.int64]) -> list[Result]:
    """Return the same of the unchanged texts of the altered papers, and of these squeezed together."""
    if len(own) < 2:
        return []
    rows = perturbed.similarity(asked, {STAND_IN: Cloud(whole[own], own)})
    plain = [replace(row, split=UNCHANGED) for row in rows if row.split == STAND_IN]
    near = neighbourhoods.similarities(squeezed(whole[own]))
    made = {MEAN: near.mean, SD: near.sd, SKEW: near.skewness, ABOVE: 100 * near.above}
    moved = asked.row(MOVED, made[ABOVE] - next(row.value for row in plain if row.metric == ABOVE), len(own), SQUEEZED)
    return [*plain, *(asked.row(metric, found, len(own), SQUEEZED) for metric, found in made.items()), moved]


def squeezed(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return vectors with one more dimension, the same for all, so that every cosine c becomes (1 - a) c + a."""
    rows = unit(vectors)
    return np.column_stack([math.sqrt(1 - SQUEEZE) * rows, np.full(len(rows), math.sqrt(SQUEEZE))])


def links(rows: Sequence[Result]) -> Iterator[Result]:
    """Yield how far the rule misses the share, and the share's correlations with skewness, mean and sd, over codes.

    There is no correlation without variation.
    """
    by = {(row.metric, row.split): row for row in rows}
    codes = [code for code in PERTURBATIONS if (ABOVE, code) in by]
    if not codes:
        return
    like = replace(by[ABOVE, codes[0]], split="all", n=len(codes), low=None, high=None, pool="", replicates=None)
    gaps = [abs(by[ABOVE, code].value - foretold(by[SKEW, code].value)) for code in codes]
    yield replace(like, metric=MISSED, value=float(np.median(gaps)), note="points, median over codes")
    for metric in LINKED:
        share, other = (np.array([by[name, code].value for code in codes]) for name in (ABOVE, metric))
        if len(codes) > 2 and float(np.ptp(share)) > 1e-9 and float(np.ptp(other)) > 1e-9:
            r, note = float(np.corrcoef(share, other)[0, 1]), "Pearson over codes, which share papers: no interval"
            yield replace(like, metric=f"correlation with {metric}", value=r, note=note)


def foretold(skewness: float) -> float:
    """Return the share above the mean, in %, that a skewness makes one expect (Edgeworth, first order).

    >>> round(foretold(0.0), 2), round(foretold(1.0), 2)
    (50.0, 43.35)
    """
    return 50 - 100 * skewness / (6 * math.sqrt(2 * math.pi))


# ---- Figures 4 and 9 -------------------------------------------------------------------------------------------------


def by_category(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show mean, sd, lowest and highest cosine by category (TN-F4, TN-F9): a table, and a figure a collection."""
    lines: list[drawing.Line] = []
    for view in drawing.ordered(shown):
        cells = {split: _four(chapter, view, split) for split in view.rows(MEAN, CATEGORIES)}
        if cells:
            lines.append((view.label(), view.run.kind, cells))
    caption = (
        "Cosines of all pairs of the altered texts of a code: mean with its 95 % interval, ± sd, lowest to highest; of a category "
        "the mean over its codes, the lowest and the highest of them"
    )
    chapter.show(drawing.category_table(lines, caption) if lines else "")
    for collection in views.collections(shown):
        _draw_four(chapter, shown, collection)


def _four(chapter: Chapter, view: View, split: str) -> str:
    sd, least, most = (view.row(metric, split) for metric in (SD, LEAST, MOST))
    ends = f"<br>{chapter.number(least, 2)} to {chapter.number(most, 2)}" if least and most else ""
    return value(chapter, view.row(MEAN, split), 2) + (f"± {chapter.number(sd, 2)}" if sd else "") + ends


def _draw_four(chapter: Chapter, shown: Sequence[Run], collection: str) -> None:
    found = [view for view in views.views(shown) if view.collection == collection and view.rows(MEAN, CATEGORIES)]
    if not found:
        return
    systems = drawing.systems(row for view in found for row in view.rows(MEAN, CATEGORIES).values())
    figure, axes = drawing.panels(list(systems), drawing.CATEGORY_LINES, 0.4)
    kinds = list(dict.fromkeys(view.run.kind for view in found))
    rows = []
    for view in found:
        ax = next(ax for ax, names in zip(axes, systems.values(), strict=True) if view.encoder in names)
        offset = (0.18, -0.18)[kinds.index(view.run.kind)] if len(kinds) > 1 else 0.0
        rows += _bars(ax, view, offset)
    for ax in axes:
        ax.set_xlabel("cosine")
        drawing.bound(ax, 0.5, "0.5" if ax is axes[0] else "")
    marks = [drawing.Mark(run, MEAN, f"{run.kind}, mean") for run in shown if run.kind in kinds]
    drawing.legend(figure, marks)
    means = [row for row in rows if row.metric == MEAN]
    chapter.figure(
        f"similarity-{collection}", figure, drawing.frame(rows),
        f"{drawing.titled(means)}: cosines between altered texts of a code, by category: mean (mark) ± sd (bold), lowest and "
        f"highest (arrow heads); {of_how_many(means, 'texts')}. The dashed line is the paper's 0.5. The lowest and highest of more "
        "pairs lie farther out: they compare between runs of one size only.",
        f"Bars of mean and sd with arrows by category and encoder; mean cosine {drawing.extremes(means, 2)}.",
    )  # fmt: skip


def _bars(ax: Any, view: View, offset: float) -> list[Result]:
    """Draw one encoder's categories; return the rows drawn."""
    colour, used = colour_of(view.run.kind), list[Result]()
    for y, (_, split) in zip(np.arange(len(CATEGORIES))[::-1] + offset, drawing.CATEGORY_LINES, strict=True):
        found = [view.row(metric, split) for metric in (MEAN, SD, LEAST, MOST)]
        there = [row for row in found if row]
        if len(there) < len(found):
            continue
        mean, sd, least, most = (row.value for row in there)
        ax.plot([least, most], [y, y], color=colour, linewidth=0.9)
        ax.plot([least], [y], "<", color=colour, markersize=4)
        ax.plot([most], [y], ">", color=colour, markersize=4)
        ax.plot([mean - sd, mean + sd], [y, y], color=colour, linewidth=4, solid_capstyle="butt", alpha=0.55)
        ax.plot([mean], [y], "D" if view.run.kind == "live" else "o", color=colour, markersize=4.5)
        used += there
    return used


# ---- Figures 3 and 10 ------------------------------------------------------------------------------------------------


def by_code(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Draw the share of pairs above the mean by code (TN-F3, TN-F10), a figure a collection."""
    for collection in views.collections(shown):
        marks = drawing.spread(shown, {ABOVE: ("", False)})
        figure, rows = drawing.figure_of(
            shown, collection, drawing.CODE_LINES, marks, 0.175, "% of pairs", {50.0: "50"}
        )
        if rows:
            chapter.figure(
                f"above-{collection}", figure, drawing.frame(rows),
                f"{drawing.titled(rows)}: share of the pairs of a code's texts whose cosine lies above the mean of that code, 95 % "
                f"intervals; {of_how_many(rows, 'texts')}. The paper's own figures have no numbers.",
                f"Dots for 32 codes and each encoder around a line at 50 %; {drawing.extremes(rows)}.",
            )  # fmt: skip


# ---- what the share says ---------------------------------------------------------------------------------------------


def what_it_says(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Test what the share above the mean goes with: skewness, mean cosine, sd; and whether squeezing changes it (TN-C5)."""
    for run in shown:
        _scatter(chapter, run)
    body, classes = [], []
    for view in drawing.ordered(shown):
        one, near = view.row(ABOVE, UNCHANGED), view.row(ABOVE, SQUEEZED)
        m, n = view.row(MEAN, UNCHANGED), view.row(MEAN, SQUEEZED)
        if not (one and near and m and n):
            continue
        rs = [view.row(f"correlation with {metric}", "all") for metric in LINKED]
        pairs = [f"{chapter.number(mean, 3)}, {chapter.number(share, 1)} %" for mean, share in ((m, one), (n, near))]
        name = view.label()
        body.append([name, *(chapter.number(r, 2) if r else "" for r in rs), *pairs])
        classes.append(["", *[view.run.kind] * 5])
    if not body:
        return
    header = ["Encoder", *(f"r with {name}" for name in LINKED.values()), "T+A: mean, share", "squeezed: mean, share"]
    caption = (
        "What the share above the mean goes with: correlations over the codes; and mean cosine and share of the unchanged texts "
        f"before and after every cosine c was made {1 - SQUEEZE:.1f} c + {SQUEEZE}"
    )
    chapter.show(report.table(header, body, caption, classes))
    for run in shown:
        _say_share(chapter, run)


def _say_share(chapter: Chapter, run: Run) -> None:
    found = [view for view in views.views([run]) if view.row(MISSED, "all") and view.row(MOVED, SQUEEZED)]
    if not found:
        return
    ways: dict[str, list[str]] = {"falls": [], "rises": [], "": []}
    for view in found:
        r = view.row(f"correlation with {SKEW}", "all")
        ways["" if r is None or r.value == 0 else "falls" if r.value < 0 else "rises"].append(view.name)
    told_ = [f"{way} for {listed(names)}" for way, names in ways.items() if way and names]
    missed = [f"{chapter.number(row, 1)} ({view.name})" for view in found if (row := view.row(MISSED, "all"))]
    moved = [row for view in found if (row := view.row(MOVED, SQUEEZED))]
    most = max(moved, key=lambda row: abs(row.value))
    chapter.say(
        f"{run.named}: as the skewness rises over the codes, the share {listed(told_)}." if told_ else f"{run.named}.",
        f"The first-order rule, 50 − 6.65 × skewness, misses the measured share by {listed(missed)} points, median over codes.",
        f"Squeezing moves the share by {chapter.number(most, 2, sign=True)} points at most"
        + (": the mean cosine says how compact texts lie, the share does not." if abs(most.value) < STILL else "."),
    )


@report.styled
def _scatter(chapter: Chapter, run: Run) -> None:
    for collection in run.collections:
        found = [
            view for view in views.views([run]) if view.collection == collection and view.rows(ABOVE, PERTURBATIONS)
        ]
        if not found:
            continue
        figure, axes = report.subplots(1, 2, figsize=(report.WIDTH, 2.9), sharey=True)
        shapes = "osD^v*"
        data: list[dict[str, Any]] = []
        for i, view in enumerate(found):
            style = {"color": report.SERIES[i % len(report.SERIES)], "marker": shapes[i % len(shapes)], "linestyle": "none",
                     "markersize": 4.5, "alpha": 0.8, "label": named(view.encoder)}  # fmt: skip
            above, skew, mean = (view.rows(metric, PERTURBATIONS) for metric in (ABOVE, SKEW, MEAN))
            for ax, of in zip(axes, (skew, mean), strict=True):
                ax.plot([of[c].value for c in above], [row.value for row in above.values()], **style)
            data += [
                {"collection": collection, "encoder": view.encoder, "kind": run.kind, "neighbour": code,
                 "skewness": skew[code].value, "mean cosine": mean[code].value, "share above the mean": row.value}
                for code, row in above.items()
            ]  # fmt: skip
        ends = np.array([min(row["skewness"] for row in data), max(row["skewness"] for row in data)])
        axes[0].plot(ends, [foretold(x) for x in ends], color=report.MUTED, linewidth=1)
        axes[0].set_xlabel("skewness of the cosines")
        axes[1].set_xlabel("mean cosine")
        axes[0].set_ylabel("% of pairs above the mean")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=4, fontsize=9)
        task = next(row.task for row in run.rows if views.key_of(row)[0] == collection)
        chapter.figure(
            f"share-{collection}-{run.kind}", figure, pd.DataFrame(data),
            f"{title(task)}, {run.kind}: the share of pairs above a code's own mean against the skewness of its cosines (left; the "
            "line is 50 − 6.65 × skewness, not fitted) and against its mean cosine (right); one mark a code and encoder, "
            f"n = {len(data)}.",
            f"Two scatter plots of {len(data)} codes and encoders: share above the mean against skewness and against mean cosine.",
        )  # fmt: skip
