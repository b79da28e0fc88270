"""Chapter `neighbours/short_queries`, normalisation: Task I again after L2 and standardisation (appendix D.1, Table 9).

    L2               v / ||v||: a cosine divides by the lengths anyway, so that no rank can change
    standardisation  (v - mu) / sigma in each dimension (Timkey and van Schijndel 2021), then cosine; mu and sigma of X and T
                     together, of X alone, or of each kind by its own: the paper does not say which

Table 9 is Table 3 again with other vectors and, as L2 shows, with other queries. Two samples of 1,000 of N papers differ, by
chance alone, in 95 % of cases by less than

    1.96 sd sqrt(2 (1 - 1000 / N) / 1000)

with sd that of a query's share or inverse rank. Of a share t it is sqrt(t (1 - t)). Of inverse ranks with mean m it is at
most sqrt(m (1 - m)); by how much less is measured on our encoders (`SPREAD`) and printed values are given that much less too.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scirep_core.evaluators import neighbours
from scirep_core.evaluators.neighbourhoods import standardised
from scirep_core.evaluators.neighbours import QUERIES
from scirep_core.evaluators.rows import unit
from scirep_core.exhibits.counting import kinds
from scirep_core.exhibits.neighbours_short_queries import (
    CHAPTER,
    MEDIAN,
    MODELS,
    MRR,
    ONE,
    SETS,
    T100,
    Texts,
    about,
    bullets,
    calls,
    cell,
    cells_of,
    difference,
    on,
    print_table,
    rank_rows,
    set_of,
    starts,
    systems_of,
)
from scirep_core.exhibits.neighbours_short_table3 import noise_of_shares
from scirep_core.exhibits.neighbours_views import settled
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import lookup

AS_IS, L2, STRETCHED, SELF = "as they are", "L2", "stretched", "X asked with X"
BOTH, ON_X, EACH = "standardised on X and T", "standardised on X", "each standardised by its own"
STANDARDISED = (BOTH, ON_X, EACH)
CHANGED, SPREAD = "ranks that L2 changes", "sd of 1/rank, share of the most it can be"
STRETCH_CHANGED = "ranks that random lengths change"
CHAPTER_SPLIT = "task-I, {}"
Pair = tuple[NDArray[np.floating], NDArray[np.floating]]


def variants(texts: Texts) -> Iterator[tuple[str, Pair]]:
    """Yield (variant, (title vectors, whole vectors)) of everything Table 9 asks about, and of two checks."""
    titles, whole = texts.titles, texts.whole
    both = np.concatenate([whole, titles])
    yield AS_IS, (titles, whole)
    yield L2, (unit(titles), unit(whole))
    yield BOTH, (standardised(titles, both), standardised(whole, both))
    yield ON_X, (standardised(titles, whole), standardised(whole, whole))
    yield EACH, (standardised(titles), standardised(whole))
    yield SELF, (whole, whole)
    factors = np.random.default_rng(texts.subject.seed).lognormal(0, 1, (2, len(titles), 1))
    yield STRETCHED, (titles * factors[0], whole * factors[1])


def measure(found: Sequence[Texts]) -> list[Result]:
    """Return Task I of every encoder by variant, its difference from the vectors as they are, and how many ranks change."""
    rows: list[Result] = []
    for texts in found:
        ranks: dict[str, NDArray[np.float64]] = {}
        made: dict[tuple[str, str], Result] = {}
        for name, (titles, whole) in variants(texts):
            best, worst = neighbours.ranks(titles, (whole,), texts.chosen, "cosine")
            ranks[name] = best
            if name != STRETCHED:
                split = CHAPTER_SPLIT.format(name)
                made |= {(name, r.metric): r for r in rank_rows(texts, best, worst, split, (MRR, T100, MEDIAN))}
        rows += [row for (name, _), row in made.items() if name != AS_IS]  # as they are, Table 3 has them
        rows += [
            difference(made[name, metric], made[AS_IS, metric], f"{metric}, minus as they are", "as they are")
            for name in STANDARDISED
            for metric in (MRR, T100)
        ]
        n = len(texts.chosen)
        for metric, name in ((CHANGED, L2), (STRETCH_CHANGED, STRETCHED)):
            rows.append(texts.row(metric, float((ranks[name] != ranks[AS_IS]).sum()), n, ONE))
        inverse = 1 / ranks[AS_IS]
        most = float(np.sqrt(inverse.mean() * (1 - inverse.mean())))
        if most > 0:
            rows.append(texts.row(SPREAD, float(inverse.std()) / most, n, ONE))
    return rows


# ---- L2 --------------------------------------------------------------------------------------------------------------


def say_l2(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say how many ranks L2, and random lengths, change: none can (TN-C13)."""
    for _, of in kinds(CHAPTER, rows):
        told, found = [], cells_of(of)
        for (task, name, metric, _), row in found.items():
            if metric == CHANGED:
                other = found[task, name, STRETCH_CHANGED, ONE]
                told.append(
                    f"{calls(name)}{on(found, task)} {chapter.number(row, 0)} of {row.n} (all lengths multiplied at random: "
                    f"{chapter.number(other, 0)})"
                )
        none = not any(r.value for r in of if r.metric in (CHANGED, STRETCH_CHANGED))
        if told:
            chapter.say(
                f"Ranks that differ after L2 normalisation, {about(of)}: {'; '.join(told)}.",
                "So cosine ranks do not depend on lengths, and Table 9’s L2 columns must repeat Table 3, query by query."
                if none
                else "Rounding turns a few ties; nothing else can change.",
            )


class Noise(NamedTuple):
    """A printed L2 value beside that of Table 3, their difference, and what two samples of queries differ by."""

    model: str
    name: str
    metric: str
    gap: float
    noise: float
    most: float


def noises(ratio: float) -> list[Noise]:
    """Return all 42 printed differences that L2 makes, with the half width of 95 % of chance differences.

    Args:
        ratio: of the standard deviation of inverse ranks to the most it can be with its mean; shares need none.
    """
    three, nine = lookup("TN-T3"), lookup("TN-T9")
    found = []
    for metric, scale in (("MRR", 1.0), ("T100", 100.0)):
        for name in SETS:
            for model in MODELS:
                a, b = three[name, f"Task I/{model}/{metric}"].number, nine[name, f"L2/{model}/{metric}"].number
                most = noise_of_shares([100 * a / scale, 100 * b / scale], name) * scale / 100
                found.append(Noise(model, name, metric, b - a, most * (ratio if metric == "MRR" else 1.0), most))
    return found


@report.styled
def l2_in_print(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw the differences between Tables 9 (L2) and 3 beside what other queries alone make (TN-T9, TN-C13)."""
    ratios = [r for r in kinds(CHAPTER, rows)[0][1] if r.metric == SPREAD] if kinds(CHAPTER, rows) else []
    ratio = float(np.mean([r.value for r in ratios])) if ratios else 1.0
    found = noises(ratio)
    figure, axes = report.subplots(1, 2, figsize=(report.WIDTH, 4.9), sharey=True)
    labels = [(name, model) for name in SETS for model in MODELS]
    for ax, metric in zip(axes, ("MRR", "T100"), strict=True):
        ax.axvline(0, color=report.FLOOR, linewidth=1)
        for one in found:
            if one.metric == metric:
                y = len(labels) - 1 - labels.index((one.name, one.model))
                ax.plot([-one.noise, one.noise], [y, y], color=report.GRID, linewidth=5, solid_capstyle="butt")
                ax.plot([one.gap], [y], linestyle="none", **report.MARKS["published"])
        ax.set_xlabel(f"{metric}, Table 9 (L2) minus Table 3" + (", points" if metric == "T100" else ""))
        ax.grid(axis="y", visible=False)
    axes[0].set_yticks(range(len(labels)), [f"{name}, {model}" for name, model in reversed(labels)], fontsize=8)
    inside = {m: sum(abs(one.gap) <= one.noise for one in found if one.metric == m) for m in ("MRR", "T100")}
    data = [{"set": o.name, "model": o.model, "metric": o.metric, "difference": o.gap, "noise": o.noise, "noise at most": o.most}
            for o in found]  # fmt: skip
    chapter.figure(
        "l2-in-print", figure, pd.DataFrame(data),
        "What L2 normalisation changes in print (hollow), and the range (bars) in which 95 % of such differences lie if nothing "
        f"but the drawn queries differs: two samples of {QUERIES:,} papers of each set. Of MRR the spread of inverse ranks is "
        f"taken as {ratio:.2f} of the most it can be, as with our encoders; for models that score far lower that is a guess.",
        f"Differences of {len(labels)} pairs of set and model for MRR and T100; {inside['MRR']} and {inside['T100']} of them lie "
        "within the range of chance.",
    )  # fmt: skip
    _say_noise(chapter, found, ratios)


def _say_noise(chapter: Chapter, found: Sequence[Noise], ratios: Sequence[Result]) -> None:
    quoted = [*lookup("TN-T3").values(), *lookup("TN-T9").values()]
    told = []
    for metric in ("MRR", "T100"):
        own = [one for one in found if one.metric == metric]
        counts = {
            "up": sum(one.gap > 1e-9 for one in own), "down": sum(one.gap < -1e-9 for one in own),
            "within the noise of other queries": sum(abs(one.gap) <= one.noise for one in own),
            "within the most that noise can be": sum(abs(one.gap) <= one.most for one in own),
        }  # fmt: skip
        rows = chapter.record(
            [arithmetic("TN-T9", f"L2, {metric}: {what}", value, len(own), quoted) for what, value in counts.items()]
        )
        up, down, inside, most = (chapter.number(row, 0) for row in rows)
        tail = f" ({most} within the most it can be)" if metric == "MRR" else ""
        told.append(
            f"{metric} goes up in {up} of {len(own)} cells, down in {down}; {inside} lie within the noise of other queries{tail}"
        )
    several = cells_of(ratios)
    measured = ", ".join(f"{chapter.number(r, 2)} ({calls(r.encoder)}{on(several, r.task)})" for r in ratios)
    outside = sum(abs(one.gap) > one.noise for one in found)
    chapter.say(
        f"Print calls the effect of L2 an incremental improvement. {'. '.join(told)}.",
        f"Measured spread of inverse ranks, as a share of the most it can be: {measured}." if measured else "",
        f"If nothing but the queries differs about {0.05 * len(found):.0f} of {len(found)} lie outside; outside lie {outside}. "
        + ("So other queries are enough to explain print; that it were so is plausible, not proven."
           if outside <= 0.1 * len(found) else "That is more than other queries explain."),
    )  # fmt: skip


# ---- standardisation -------------------------------------------------------------------------------------------------


def table9(chapter: Chapter) -> None:
    """Show Table 9 as printed (TN-T9)."""
    parts = {"L2": "Task I, vectors of length 1", "standardised": "Task I, standardised vectors"}
    print_table(chapter, "TN-T9", parts, "what a collection asked with itself gives")


def variants_table(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show Task I by variant for our encoders: standardised in three ways, and a collection asked with itself."""
    lines = (AS_IS, *STANDARDISED, SELF)
    header = ["Vectors", "MRR", "T100, %", "median<br>rank", "MRR, minus<br>as they are", "T100, minus<br>as they are"]
    for kind, of in kinds(CHAPTER, rows):
        found, body = cells_of(of), []
        for task in dict.fromkeys(r.task for r in of if r.metric == CHANGED):
            for name in systems_of(of, task):
                for line in lines:
                    split = ONE if line == AS_IS else CHAPTER_SPLIT.format(line)
                    own = [found.get((task, name, m, split)) for m in (MRR, T100, MEDIAN)]
                    gaps = [found.get((task, name, f"{m}, minus as they are", split)) for m in (MRR, T100)]
                    label = f"{line}<br><small>{calls(name)}, {html.escape(set_of(task))}</small>"
                    values = [cell(chapter, r) for r in own]
                    changes = [cell(chapter, r, places, sign=True) for r, places in zip(gaps, (3, 1), strict=True)]
                    body.append([label, *values, *changes])
        if body:
            caption = (
                f"Task I after standardisation, {about(of)}: cosine of vectors that are (v − μ) / σ in each dimension; "
                "95 % intervals"
            )
            chapter.show(report.table(header, body, caption, [["", *[kind] * 5]] * len(body)))
            _say_variants(chapter, found)


def _say_variants(chapter: Chapter, found: Mapping[tuple[str, str, str, str], Result]) -> None:
    items = []
    words = {1: "better", -1: "worse", 0: "not settled"}
    for (task, name, metric, _), first in found.items():
        if metric != CHANGED:
            continue
        gaps = {v: found[task, name, f"{MRR}, minus as they are", CHAPTER_SPLIT.format(v)] for v in STANDARDISED}
        told = [f"{variant} {cell(chapter, row, 3, sign=True)}, {words[settled(row)]}" for variant, row in gaps.items()]
        most = max(found[task, name, MRR, CHAPTER_SPLIT.format(v)].value for v in STANDARDISED)
        below = "None of them reaches 1." if most < 0.9995 else "One of them reaches 1."
        items.append(f"{starts(name)} ({html.escape(set_of(task))}, {first.kind}): {'; '.join(told)}. {below}")
    bullets(chapter, "MRR, standardised minus as they are", items)


def self_retrieval(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say what is proven of SPECTER's 1 and 100 in Table 9, and what is only plausible."""
    nine = lookup("TN-T9")
    quoted = [nine[name, f"standardised/SPECTER/{m}"] for name in SETS for m in ("MRR", "T100")]
    full = sum(p.number == (1 if p.column.endswith("MRR") else 100) for p in quoted)
    told, exact = [], True
    for _, of in kinds(CHAPTER, rows):
        found = cells_of(of)
        for (task, name, metric, split), row in found.items():
            if split == CHAPTER_SPLIT.format(SELF) and metric == MRR:
                exact = exact and row.value == 1
                lost = row.note.partition("with every tie lost: ")[2].partition(";")[0]
                tail = f", {float(lost):.4f} if it loses its ties to papers with the same text" if lost else ""
                told.append(f"{chapter.number(row, 3)}{tail} ({calls(name)}{on(found, task)}, {row.kind})")
    chapter.say(
        f"Print: {full} of {len(quoted)} values of standardised SPECTER are exactly 1 and 100, the other is "
        + ", ".join(f"{chapter.number(p)} ({p.row})" for p in quoted if p.number not in (1, 100)) + ".",
        f"Asked with its own vectors, X with X, a collection has an MRR of {'; '.join(told)}." if told else "",
    )  # fmt: skip
    near = [r for _, of in kinds(CHAPTER, rows) for r in of if r.metric == MRR and _is_standardised(r.split)]
    if exact and told:
        chapter.note(
            "Proven: vectors that ask for themselves give 1 and 100 whatever the encoder and whatever the data, a little less "
            "where papers share their text"
            + ("; standardisation took no encoder here to 1. " if max(r.value for r in near) < 0.9995 else ". ")
            + "Plausible, not proven: that the printed values of standardised SPECTER were measured with title + abstract as "
            "queries. They are no target for a reproduction; Table 3 is."
        )


def _is_standardised(split: str) -> bool:
    return split in {CHAPTER_SPLIT.format(name) for name in STANDARDISED}


def standardisation_in_print(chapter: Chapter) -> None:
    """Say on how many sets standardisation raises the printed MRR of each model (TN-C13)."""
    three, nine = lookup("TN-T3"), lookup("TN-T9")
    told = []
    for model in MODELS:
        quoted = [
            t[name, column]
            for name in SETS
            for t, column in ((three, f"Task I/{model}/MRR"), (nine, f"standardised/{model}/MRR"))
        ]
        gaps = [quoted[i + 1].number - quoted[i].number for i in range(0, len(quoted), 2)]
        rows = chapter.record([
            arithmetic("TN-T9", f"standardised, {model}: sets with a higher MRR", sum(g > 0 for g in gaps), len(gaps), quoted),
            arithmetic("TN-T9", f"standardised, {model}: mean difference of MRR", float(np.mean(gaps)), len(gaps), quoted),
        ])  # fmt: skip
        told.append(
            f"{model} on {chapter.number(rows[0], 0)} of {len(gaps)} (mean {chapter.number(rows[1], 3, sign=True)})"
        )
    chapter.say(f"In print standardisation raises the MRR of {'; '.join(told)} sets.")
