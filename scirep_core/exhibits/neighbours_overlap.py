"""Chapter `neighbours/overlap`: do an altered text and its original have the same neighbours? (textual neighbours, section 6.3)

    AOP-k   |A n B| / k in %, A and B the k nearest of f(x) and of x among f(X) u X;  k = 10 (Table 4), 20 (Table 5)

Whether a query counts among its own nearest is unsaid. Read literally it does: f(x) and x, where each finds the other, share
both. With `exclude_self` each query leaves its own vector out, so that such a pair shares (k - 1) / k at most. Both readings
are measured; the parameter says which one the tables show. Of each code the share of the words that its texts keep stands
beside its overlap, to ask whether form or meaning decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from scirep_core.data.perturbations import CATEGORIES, LL_HS, LL_PS, LO_DS, LO_HS, LO_PS, PERTURBATIONS
from scirep_core.encoders import Encoder
from scirep_core.evaluators import perturbed
from scirep_core.exhibits import neighbours_drawing as drawing
from scirep_core.exhibits import neighbours_views as views
from scirep_core.exhibits.counting import of_how_many, title
from scirep_core.exhibits.neighbours_shared import Subject, named
from scirep_core.exhibits.neighbours_views import AS_WRITTEN, SPACE, THIRDS, Run, listed, settled, told, value
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result
from scirep_core.results.differences import difference_of, versus
from scirep_core.results.published import lookup

CHAPTER = "neighbours/overlap"
TEN, TWENTY = "aop@10", "aop@20"
LABELS = {TEN: "AOP-10", TWENTY: "AOP-20"}
MODELS = ("SciBERT", "SPECTER", "OAG-BERT")
STEPS = ((LL_HS, LO_HS), (LO_HS, LL_PS), (LL_PS, LO_PS), (LO_PS, LO_DS))
"""The order that the paper expects: of the first pair at least as much, of the others more."""
TURNED, GONE = "T_ARepADJ", "T_ADelADJ"
"""Adjectives turned into their opposites, and deleted."""
WORDS, RANKS = "words kept", "rank correlation with words kept"
WIDER = f"{TWENTY} and {TEN}"
WITH, WITHOUT = "with_self", "without_self"


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter, found: Sequence[Subject]) -> list[Result]:
    """Record overlaps by code and category, their differences, the other reading of nearest, and the words texts keep."""
    given = chapter.parameters["exclude_self"]
    literal = {id(one): replace(one, codes=(SPACE,), variant="literal") for one in found}

    def of(subject: Subject, encoder: Encoder) -> Iterator[Result]:
        whole, clouds, asked = subject.whole(encoder), subject.clouds(encoder), subject.asked()
        both = perturbed.overlap(asked, whole, clouds, tell=progress(f"{encoder.name}: overlap", "codes"))
        rows, other = both[given], both[not given]
        yield from rows
        codes = [(THIRDS[0], THIRDS[1]), (THIRDS[0], THIRDS[2]), (THIRDS[1], THIRDS[2]), (TURNED, GONE)]
        yield from views.differences(rows, TEN, [*STEPS, (LL_HS, LL_PS), (LL_HS, LO_DS), *codes])
        yield from views.differences(rows, TWENTY, STEPS)
        yield from readings(rows, other, given)
        yield from form(rows, {row.split: row.value for row in words(subject)})
        again = {code: cloud for code, cloud in clouds.items() if PERTURBATIONS[code].category == LL_HS}
        repeated = perturbed.overlap(asked, whole, again | literal[id(subject)].clouds(encoder))
        yield from as_written(rows, repeated[given], len(subject.chosen))

    made = views.measure(chapter, found, of, (TEN, TWENTY))
    return [*made, *chapter.record(row for one in found for row in words(one))]


def as_written(rows: Sequence[Result], repeated: Sequence[Result], papers: int) -> Iterator[Result]:
    """Yield AOP-10 of T_A_WS, and of its category, with the public code's repeated text, and their differences from ours."""
    ours = {row.split: row for row in rows if row.metric == TEN}
    for row in repeated:
        if row.metric == TEN and row.split in (SPACE, LL_HS):
            yield replace(row, split=row.split + AS_WRITTEN)
            if ours[SPACE].n == papers:  # then both draw from the same papers
                split = versus(f"{row.split}{AS_WRITTEN}", row.split)
                yield from views.difference(row, ours[row.split], row.split, split=split)


def words(subject: Subject) -> Iterator[Result]:
    """Yield by code the mean share of the words of title and abstract that its texts keep."""
    for code, one in subject.made.by_code.items():
        if one.kept:
            row = subject.asked().row(WORDS, 100 * float(np.mean(one.kept)), len(one.kept), code)
            yield replace(row, similarity="")


def readings(rows: Sequence[Result], other: Sequence[Result], exclude_self: bool) -> Iterator[Result]:
    """Yield by category AOP-20 against AOP-10, and the reading not chosen against the one that is, always without minus with."""
    ours, theirs = ({(row.metric, row.split): row for row in of} for of in (rows, other))
    for category in CATEGORIES:
        if (TEN, category) in ours:
            yield from views.difference(ours[TWENTY, category], ours[TEN, category], TEN, WIDER)
        for metric in (metric for metric in LABELS if (metric, category) in ours):
            mine, second = ours[metric, category], theirs[metric, category]
            yield replace(second, metric=f"{metric}_{WITH if exclude_self else WITHOUT}")
            without, with_ = (mine, second) if exclude_self else (second, mine)
            yield from views.difference(without, with_, WITH, f"{metric}, {WITHOUT} and {WITH}")


def form(rows: Sequence[Result], kept: dict[str, float]) -> Iterator[Result]:
    """Yield the rank correlation, over codes, of AOP-10 with the share of words kept; nothing where one does not vary."""
    from scipy.stats import spearmanr  # most of a second to import

    by_code = {row.split: row for row in rows if row.metric == TEN and row.split in kept}
    shares, overlaps = [kept[code] for code in by_code], [row.value for row in by_code.values()]
    if len(set(shares)) > 1 and len(set(overlaps)) > 1:
        like, r = next(iter(by_code.values())), float(spearmanr(shares, overlaps).statistic)
        note = "Spearman over codes, which alter the same papers: no interval"
        yield replace(
            like, metric=RANKS, split="all", value=r, n=len(shares), low=None, high=None, replicates=None, note=note
        )


# ---- Table 4 ---------------------------------------------------------------------------------------------------------


def say_reading(chapter: Chapter) -> None:
    """Say which reading of the nearest neighbours the numbers of this run take."""
    chapter.say(
        "In this run each query leaves its own vector out (<code>exclude_self</code> is on)."
        if chapter.parameters["exclude_self"]
        else "In this run each query counts among its own nearest, as section 6.3 reads (<code>exclude_self</code> is off)."
    )


def sets() -> list[str]:
    """Return the seven collections in the order of Table 4."""
    return list(dict.fromkeys(row for row, _ in lookup("TN-T4")))


def table4(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show Table 4 (TN-T4) with our encoders below it, and draw it."""
    printed = lookup("TN-T4")
    numbers = {(f"{name}, {model}", category): printed[name, f"{category}/{model}"]
               for name in sets() for model in MODELS for category in CATEGORIES}  # fmt: skip
    lines = [*drawing.printed_lines(chapter, numbers), *views_lines(chapter, shown)]
    chapter.show(
        drawing.category_table(lines, "Table 4: AOP-10 in %, mean over the codes of a category, 95 % intervals of ours")
    )
    for collection in views.collections(shown) or [""]:
        _draw(chapter, shown, collection)


def views_lines(chapter: Chapter, shown: Sequence[Run], metric: str = TEN) -> list[drawing.Line]:
    """Return our lines of a table by category."""
    return drawing.category_lines(chapter, shown, {metric: ""})


def _draw(chapter: Chapter, shown: Sequence[Run], collection: str) -> None:
    marks = drawing.spread(shown, {TEN: ("", False)})
    rows = drawing.drawn_rows(marks, collection, drawing.CATEGORY_LINES)
    found = drawing.systems(rows)
    printed = [one for (_, column), one in lookup("TN-T4").items()]
    figure, axes = drawing.panels([*MODELS, *found], drawing.CATEGORY_LINES, 0.3)
    places = dict(zip(CATEGORIES, range(len(CATEGORIES) - 1, -1, -1), strict=True))
    for ax, model in zip(axes, MODELS, strict=False):
        own = [
            (one.number, places[one.column.partition("/")[0]]) for one in printed if one.column.endswith(f"/{model}")
        ]
        ax.plot(*zip(*own, strict=True), linestyle="none", **report.MARKS["published"])
    for ax, names in zip(axes[len(MODELS) :], found.values(), strict=True):
        drawing.draw_marks(ax, drawing.CATEGORY_LINES, collection, names, marks)
    for ax in axes:
        ax.set_xlabel("AOP-10, %")
        ax.set_xlim(-3, 103)
    from matplotlib.lines import Line2D

    hollow = Line2D([], [], linestyle="none", label="published, seven collections", **report.MARKS["published"])
    drawing.legend(figure, marks if rows else [], [hollow])
    frame = [{"collection": one.row, "encoder": one.column.partition("/")[2], "kind": "published",
              "neighbour": one.column.partition("/")[0], "metric": TEN, "value": one.number} for one in printed]  # fmt: skip
    about = (
        f"below, {drawing.titled(rows)} by our encoders with 95 % intervals; {_n(rows)}" if rows else "no run of ours"
    )
    chapter.figure(
        f"table-4-{collection or 'print'}", figure, pd.concat([pd.DataFrame(frame), drawing.frame(rows)]),
        f"AOP-10 by category: above, as printed for three models on seven collections (one hollow dot each); {about}. The "
        "collections differ, so that heights compare within a panel and shapes between panels.",
        "Dots by category in a panel for each of three printed models"
        + (f" and each of our encoders; ours: {drawing.extremes(rows)}." if rows else "."),
    )  # fmt: skip


def _n(rows: Sequence[Result]) -> str:
    return of_how_many(rows, "altered texts a dot")


# ---- by code ---------------------------------------------------------------------------------------------------------


def by_code(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show Figures 7 and 13 (TN-F7, TN-F13) of our encoders, and which third of an abstract matters most."""
    for collection in views.collections(shown):
        marks = drawing.spread(shown, {TEN: ("", False)})
        figure, rows = drawing.figure_of(shown, collection, drawing.CODE_LINES, marks, 0.175, "AOP-10, %")
        if rows:
            chapter.figure(
                f"by-code-{collection}", figure, drawing.frame(rows),
                f"{drawing.titled(rows)}: AOP-10 of the 32 codes by category, 95 % intervals; {_n(rows)}. The paper's own figures "
                "have no numbers.",
                f"Dots for 32 codes and each encoder; {drawing.extremes(rows)}.",
            )  # fmt: skip
    items = [
        f"<li>{view.name}, {view.run.kind}: {told_}</li>"
        for view in views.views(shown)
        if (told_ := _thirds(chapter, view))
    ]
    if items:
        chapter.show(
            "<p>The paper finds the last third of an abstract to matter most to SciBERT, by NN1_Ret. By overlap, which has more "
            f"room to differ, what is left when a third is gone:</p><ul>{''.join(items)}</ul>"
        )


def _thirds(chapter: Chapter, view: views.View) -> str:
    rows = view.rows(TEN, THIRDS)
    if len(rows) < len(THIRDS):
        return ""
    low = min(rows, key=lambda code: rows[code].value)
    sides = []
    for other in (code for code in THIRDS if code != low):
        ahead, behind = view.gap(other, low, TEN), view.gap(low, other, TEN)
        sides.append(settled(ahead) == 1 or settled(behind) == -1)
    which = ("first", "second", "last")[THIRDS.index(low)]
    against = {2: "settled against both others", 1: "settled against one other", 0: "settled against neither other"}[
        sum(sides)
    ]
    values = listed([f"<code>{code}</code> {told(chapter, row)}" for code, row in rows.items()])
    return f"{values}; least without the {which} third, {against}."


# ---- form or meaning -------------------------------------------------------------------------------------------------


def form_or_meaning(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Draw AOP-10 against the words kept, and hold antonyms against deletion: the paper's abstract says form decides."""
    for run, collection in ((one, c) for one in shown for c in one.collections):
        found = [view for view in views.views([run]) if view.collection == collection and view.row(RANKS, "all")]
        if found:
            _scatter(chapter, run, collection, found)
    items = []
    for view in views.views(shown):
        r, gap = view.row(RANKS, "all"), view.gap(TURNED, GONE, TEN)
        turned, gone = view.row(TEN, TURNED), view.row(TEN, GONE)
        if not (r and gap and turned and gone):
            continue
        says = {
            1: "opposites move it less than missing words do, as if form alone counted",
            -1: "opposites move it more than missing words do, as if meaning counted",
            0: "opposites and missing words are not told apart",
        }[settled(gap)]
        items.append(
            f"<li>{view.name}, {view.run.kind}: rank correlation over {r.n} codes {chapter.number(r, 2)}; adjectives turned "
            f"{told(chapter, turned)}, deleted {told(chapter, gone)}, difference {told(chapter, gap, sign=True)}: {says}.</li>"
        )
    if items:
        chapter.show(f"<ul>{''.join(items)}</ul>")


MEANINGS = {"HS": ("o", report.SERIES[2], "highly similar"), "PS": ("s", report.SERIES[0], "partially similar"),
            "DS": ("^", report.SERIES[1], "dissimilar")}  # fmt: skip


def _scatter(chapter: Chapter, run: Run, collection: str, found: Sequence[views.View]) -> None:
    figure, axes = drawing.grid([named(view.encoder) for view in found], 2.5)
    data = []
    for ax, view in zip(axes, found, strict=True):
        overlap = view.rows(TEN, PERTURBATIONS)
        kept = {code: row for code in overlap if (row := view.row(WORDS, code, encoder=""))}
        for meaning, (marker, colour, label) in MEANINGS.items():
            codes = [c for c in overlap if c in kept and PERTURBATIONS[c].category.endswith(meaning)]
            x, y = [kept[c].value for c in codes], [overlap[c].value for c in codes]
            ax.plot(x, y, marker, color=colour, markersize=5, alpha=0.85, label=label)
            data += [
                {"collection": collection, "encoder": view.encoder, "kind": run.kind, "neighbour": c, "words kept": kept[c].value,
                 "value": overlap[c].value, "n": overlap[c].n} for c in codes
            ]  # fmt: skip
        ax.set_xlabel("words kept, %")
    axes[0].set_ylabel("AOP-10, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, fontsize=9)
    task = next(row.task for row in run.rows if row.task.endswith(f"/{collection}"))
    chapter.figure(
        f"form-{collection}-{run.kind}", figure, pd.DataFrame(data),
        f"{title(task)}, {run.kind}: AOP-10 of a code against the share of the words of title and abstract that its texts keep, in "
        "any order and case (means over papers); shape and colour say what the paper says of the meaning; "
        f"{len(data) // len(found)} codes a panel.",
        "Scatter plots, one an encoder, of overlap against words kept for the codes of three degrees of similarity.",
    )  # fmt: skip


# ---- with or without oneself -----------------------------------------------------------------------------------------


def with_or_without(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show what leaving a query's own vector out does to AOP-10, by category, and the most that is left."""
    lines: list[drawing.Line] = []
    for view in views.views(shown):
        metric = difference_of(f"{TEN}, {WITHOUT} and {WITH}")
        cells = {split: value(chapter, row, sign=True) for split, row in view.rows(metric, CATEGORIES).items()}
        if cells:
            lines.append((view.label(), view.run.kind, cells))
    if not lines:
        return
    caption = "AOP-10 without each query's own vector minus AOP-10 with it, in points, 95 % intervals of the paired difference"
    chapter.show(drawing.category_table(lines, caption))
    for run in shown:
        gaps = [row for row in run.rows if row.metric == difference_of(f"{TEN}, {WITHOUT} and {WITH}")]
        left = [
            row for row in run.rows if row.split in CATEGORIES and row.encoder in run.encoders and _without(row, run)
        ]
        down, up = (sum(settled(row) == way for row in gaps) for way in (-1, 1))
        most = max(left, key=lambda row: row.value)
        chapter.say(
            f"{run.named}: leaving it out lowers {down} of {len(gaps)} values and raises {up} (settled); the highest category mean "
            f"without it is {chapter.number(most, 1)}, {most.split} by {named(most.encoder)}."
        )


def _without(row: Result, run: Run) -> bool:
    """Return whether a row is AOP-10 without each query's own vector."""
    chosen = run.rows[0].parameters.get("exclude_self", False)
    return row.metric == (TEN if chosen else f"{TEN}_{WITHOUT}")
