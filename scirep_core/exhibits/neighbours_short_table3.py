"""Chapter `neighbours/short_queries`, what is shown of its ranks: Figure 1, Table 3, what its averages say.

Beside Table 3 stand two bounds that follow from print alone. A T100 of t % leaves (100 - t) % of the ranks above 100, so

    mean rank >= t / 100 + 101 (1 - t / 100)         median rank > 100 where t < 50

and Task II only adds candidates to Task I, so that with the same queries no rank falls and neither MRR nor T100 rises.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from scirep_core.evaluators.neighbours import QUERIES
from scirep_core.exhibits.counting import kinds, of_how_many
from scirep_core.exhibits.neighbours_short_queries import (
    CEILING,
    CHAPTER,
    FLOOR,
    HARMONIC,
    MEAN,
    MEDIAN,
    MODELS,
    MRR,
    ONE,
    PLACES,
    SCALED,
    SETS,
    T100,
    TASKS_OF,
    TWO,
    WITHIN,
    about,
    bullets,
    calls,
    cell,
    cells_of,
    printed_papers,
    set_of,
    slug,
    starts,
    systems_of,
)
from scirep_core.exhibits.neighbours_views import settled
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import lookup

# ---- Figure 1 --------------------------------------------------------------------------------------------------------

SCHEMES = (
    ("(a) Task I", "title of p", ("title + abstract of p", "title + abstract of q", "title + abstract of r"), "papers"),
    ("(b) Task II", "title of p", ("title + abstract of p", "title + abstract of q", "title of q", "title of r"),
     "2 × papers − 1"),
    ("(c) next chapters", "neighbour of p", ("title + abstract of p", "title + abstract of q", "title + abstract of r"), "papers"),
)  # fmt: skip


@report.styled
def figure1(chapter: Chapter) -> None:
    """Draw the three retrieval schemes (TN-F1): who asks, who is a candidate, which one is sought."""
    figure, axes = report.subplots(1, len(SCHEMES), figsize=(report.WIDTH, 2.5))
    for ax, (name, query, candidates, _) in zip(axes, SCHEMES, strict=True):
        _box(ax, 0.5, 0.9, query, False)
        ax.annotate("", (0.5, 0.68), (0.5, 0.8), arrowprops={"arrowstyle": "->", "color": report.INK})
        ax.text(0.53, 0.74, "ranks by cosine", fontsize=8, color=report.MUTED, ha="left", va="center")
        for at, candidate in enumerate(candidates):
            _box(ax, 0.5, 0.6 - 0.16 * at, candidate + (" (sought)" if at == 0 else ""), at == 0)
        ax.set_title(name)
        ax.set_axis_off()
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
    data = [
        {"scheme": name, "query": query, "candidates": "; ".join(candidates) + "; ...", "number": number, "sought": candidates[0]}
        for name, query, candidates, number in SCHEMES
    ]  # fmt: skip
    chapter.figure(
        "figure-1", figure, pd.DataFrame(data),
        "The three retrieval schemes, redrawn: a query, its candidates, and the one that is sought (filled). In (a) and (b) the "
        "query is a part of what is sought, in (c) it is an altered version of it. No data.",
        "Three columns of boxes. (a) a title asks among title + abstract of all papers; (b) the titles of all other papers join "
        "the candidates; (c) an altered text asks among title + abstract of all papers. Sought is always the own paper.",
    )  # fmt: skip


def _box(ax: Any, x: float, y: float, text: str, sought: bool) -> None:
    fill = {"facecolor": report.LIVE, "alpha": 0.28} if sought else {"facecolor": "none"}
    frame = {"boxstyle": "round,pad=0.35", "edgecolor": report.LIVE if sought else report.MUTED, "linewidth": 1, **fill}
    ax.text(x, y, text, ha="center", va="center", fontsize=8, bbox=frame)


# ---- Table 3 ---------------------------------------------------------------------------------------------------------


def table3(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show both tasks for each collection at hand: the printed models, our recorded run, this run (TN-T3)."""
    printed = lookup("TN-T3")
    for name in _sets(rows):
        body, classes = [], []
        for model in MODELS if name in SETS else ():
            quoted = [[printed[name, f"{task}/{model}/{m}"] for m in ("MRR", "T100")] for task in TASKS_OF.values()]
            body.append([f"{model}<br><small>{printed_papers(name)} papers</small>",
                         *(text for pair in quoted for text in (*map(chapter.number, pair), ""))])  # fmt: skip
            classes.append(["", *["published"] * 6])
        for kind, of in kinds(CHAPTER, rows):
            found = cells_of(of)
            for task in dict.fromkeys(r.task for r in of if set_of(r.task) == name):
                for system in [FLOOR, *systems_of(of, task), CEILING]:
                    own = [found.get((task, system, m, split)) for split in (ONE, TWO) for m in (MRR, T100, MEDIAN)]
                    if any(own):
                        body.append(
                            [f"{calls(system)}<br><small>{_papers(own)}</small>", *(cell(chapter, r) for r in own)]
                        )
                        classes.append(["", *[kind] * 6])
        header = ["System", *["MRR", "T100, %", "median rank"] * 2]
        caption = (
            f"{html.escape(name)}: the own text of a title among title + abstract of all papers (Task I), and among these and all "
            f"other titles (Task II). At most {QUERIES:,} queries; 95 % intervals over queries; print gives no median"
        )
        chapter.show(report.table(header, body, caption, classes, list(TASKS_OF.values())))


def _papers(rows: Sequence[Result | None]) -> str:
    first = next(r for r in rows if r)
    return f"{int(first.pool.split()[-2]):,} papers, {first.kind}"


def _sets(rows: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(set_of(r.task) for _, of in kinds(CHAPTER, rows) for r in of if r.split in TASKS_OF))


def say_table3(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say for each collection how far each encoder finds, what Task II costs, and how that stands to print."""
    for _, of in kinds(CHAPTER, rows):
        found = cells_of(of)
        for task in dict.fromkeys(r.task for r in of if r.split in TASKS_OF):
            items = [_line(chapter, found, task, name) for name in systems_of(of, task)]
            bullets(chapter, f"{html.escape(set_of(task))} ({about(of)})", items)
            _say_chance(chapter, found, task)
            _against_print(chapter, found, task, systems_of(of, task))


def _line(chapter: Chapter, found: dict[tuple[str, str, str, str], Result], task: str, name: str) -> str:
    """Return what one encoder does with a title, and what the other titles cost it."""
    one, two = (found[task, name, MEDIAN, split] for split in (ONE, TWO))
    gap = found[task, name, f"{MRR}, Task II minus Task I", TWO]
    lost = (
        f"the other titles cost it {cell(chapter, gap, 3, sign=True)} MRR"
        if settled(gap) < 0
        else f"the other titles cost it nothing that is settled ({cell(chapter, gap, 3, sign=True)} MRR)"
    )
    return (
        f"{starts(name)}: the own text is at rank {chapter.number(one, 1)} in the middle of the queries (Task II: "
        f"{chapter.number(two, 1)}); {lost}"
    )


def _say_chance(chapter: Chapter, found: dict[tuple[str, str, str, str], Result], task: str) -> None:
    chance = found.get((task, FLOOR, T100, ONE))
    if chance and chance.value > 10:
        chapter.say(
            f"The collection is small: random vectors have a T100 of {chapter.number(chance, 1)} % here, so T100 tells encoders "
            "apart less than MRR and the median rank do."
        )


def _against_print(
    chapter: Chapter, found: dict[tuple[str, str, str, str], Result], task: str, systems: Sequence[str]
) -> None:
    """Say how encoders would stand to the printed models at the printed size, where a real sample allows an estimate."""
    name, printed = set_of(task), lookup("TN-T3")
    told = []
    for split, label in TASKS_OF.items():
        own = {
            s: found[task, s, f"{T100}{SCALED}", split] for s in systems if (task, s, f"{T100}{SCALED}", split) in found
        }
        if not own:
            continue
        best = printed[name, f"{label}/SPECTER/T100"]
        shown = "; ".join(f"{calls(s)} {cell(chapter, row, 1)}" for s, row in own.items())
        above = [calls(s) for s, row in own.items() if row.low is not None and row.low > best.number]
        below = [calls(s) for s, row in own.items() if row.high is not None and row.high < best.number]
        told.append(
            f"{label}: {shown}, against {chapter.number(best)} of SPECTER, the best in print."
            + (f" Above it: {', '.join(above)}." if above else "")
            + (f" Below it: {', '.join(below)}." if below else "")
        )
    if told:
        chapter.say(
            f"T100 depends on the number of candidates. Stretched to the {printed_papers(name)} papers of the printed set, as if "
            "papers that are not at hand were as near as those at hand:",
            *told,
        )


@report.styled
def ranks_figure(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw the share of queries whose own text is within a rank, by rank, both tasks; print gives one point a model, at 100."""
    printed = lookup("TN-T3")
    for kind, of in kinds(CHAPTER, rows):
        found = cells_of(of)
        colour = report.RECORDED if kind == "recorded" else report.LIVE
        for task in dict.fromkeys(r.task for r in of if r.split in TASKS_OF):
            name, frame = set_of(task), []
            figure, axes = report.subplots(1, 2, figsize=(report.WIDTH, 3.3), sharey=True)
            for ax, (split, label) in zip(axes, TASKS_OF.items(), strict=True):
                for at, system in enumerate([*systems_of(of, task), FLOOR]):
                    line = [found[task, system, f"found within rank {k}, %", split] for k in WITHIN
                            if (task, system, f"found within rank {k}, %", split) in found]  # fmt: skip
                    at_k = [int(r.metric.split()[3].rstrip(",")) for r in line]
                    look = ({"color": report.FLOOR, "linestyle": (0, (4, 3)), "linewidth": 1} if system == FLOOR else
                            {"color": colour, "marker": "osD^v*"[at % 6], "markersize": 4.5, "linewidth": 1.3,
                             "alpha": 1 - 0.12 * (at % 6)})  # fmt: skip
                    ax.plot(at_k, [r.value for r in line], label=calls(system).removesuffix(": random vectors"), **look)
                    frame += [{"task": label, "system": system, "rank": k, "percent": r.value, "low": r.low, "high": r.high,
                               "n": r.n, "kind": kind} for k, r in zip(at_k, line, strict=True)]  # fmt: skip
                for model in MODELS if name in SETS else ():
                    quoted = printed[name, f"{label}/{model}/T100"].number
                    ax.plot([100], [quoted], linestyle="none", **report.MARKS["published"])
                    ax.annotate(
                        model, (100, quoted), xytext=(6, -3), textcoords="offset points", fontsize=8, color=report.MUTED
                    )
                    frame.append({"task": label, "system": model, "rank": 100, "percent": quoted, "kind": "published"})
                ax.set_xscale("log")
                ax.set_xticks([k for k in (1, 10, 100, 1000) if k <= max(100, *at_k)])
                ax.xaxis.set_major_formatter("{x:,.0f}")
                ax.set_xlabel(f"rank of the own text ({label})")
                ax.set_ylim(-3, 103)
            axes[0].set_ylabel("% of the queries")
            axes[0].legend(fontsize=8, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
            ours = [r for r in of if r.task == task and r.metric.startswith("found within")]
            ends = [found[task, s, f"found within rank {WITHIN[0]}, %", ONE] for s in systems_of(of, task)]
            chapter.figure(
                f"ranks-{kind}-{slug(task)}", figure, pd.DataFrame(frame),
                f"{html.escape(name)}, {about(of)}: share of the queries whose own text is within a rank (log scale); "
                f"{of_how_many(ours, 'queries')} an encoder. Hollow: the printed T100 of the three models, which is all that print "
                "says of their ranks.",
                f"Curves of the share found against the rank, Task I left and Task II right. At rank 1 in Task I: "
                f"{'; '.join(f'{calls(r.encoder)} {r.value:.0f} %' for r in ends)}.",
            )  # fmt: skip


# ---- what an average of inverse ranks is -----------------------------------------------------------------------------


def averages_in_print(chapter: Chapter) -> None:
    """Recompute "ranks 5-7 on average", "top 2" and "about 10 % missed" from Table 3 (TN-C2)."""
    printed, body, made = lookup("TN-T3"), [], {}
    for name in SETS:
        cells = [html.escape(name)]
        for model in ("OAG-BERT", "SPECTER"):
            mrr, share = (printed[name, f"Task I/{model}/{m}"] for m in ("MRR", "T100"))
            part = share.number / 100
            own = {
                "1 / MRR": arithmetic("TN-T3", f"1 / MRR, {model}, {name}", 1 / mrr.number, 1, [mrr]),
                "mean rank at least": arithmetic("TN-T3", f"mean rank at least, {model}, {name}",
                                                 part + 101 * (1 - part), 1, [share]),
                "missed, %": arithmetic("TN-T3", f"above rank 100, %, {model}, {name}", 100 - share.number, 1, [share]),
            }  # fmt: skip
            for what, row in own.items():
                made[model, what, name] = chapter.record([row])[0]
            cells += [
                *(chapter.number(made[model, what, name], 1) for what in own),
                "over 100" if part < 0.5 else "at most 100",
            ]
        body.append(cells)
    header = ["Data set", *["1 / MRR", "mean rank<br>at least", "not in the<br>top 100, %", "so the<br>median is"] * 2]
    chapter.show(report.table(header, body, "What Table 3 says of ranks in Task I: arithmetic on printed numbers",
                              [["", *["published"] * 8]] * len(body), ["OAG-BERT", "SPECTER"]))  # fmt: skip
    _say_averages(chapter, made)


def _say_averages(chapter: Chapter, made: dict[tuple[str, str, str], Result]) -> None:
    def span(model: str, what: str) -> str:
        values = sorted((made[model, what, name] for name in SETS), key=lambda row: row.value)
        return f"{chapter.number(values[0], 1)} to {chapter.number(values[-1], 1)}"

    claims = {model: lookup("TN-C2")[model, "rank on average, Task I"] for model in ("OAG-BERT", "SPECTER")}
    best, tenth = (
        lookup("TN-C2")["OAG-BERT", "in the top 100 in the best case, %"],
        lookup("TN-C2")["SPECTER", "not in the top 100, %"],
    )
    least = min((made["OAG-BERT", "mean rank at least", name] for name in SETS), key=lambda row: row.value)
    most = max((made["OAG-BERT", "1 / MRR", name] for name in SETS), key=lambda row: row.value)
    beyond = sum(made["OAG-BERT", "missed, %", name].value > 50 for name in SETS)
    chapter.say(
        f"The text reads OAG-BERT’s MRR as a place, {chapter.number(claims['OAG-BERT'])} on average: 1 / MRR is "
        f"{span('OAG-BERT', '1 / MRR')}. That is the harmonic mean of the ranks, which the few first places decide. "
        f"{span('OAG-BERT', 'missed, %')} % of the queries do not have their paper in the top 100, so the median rank is above "
        f"100 on {beyond} of {len(SETS)} sets, and the mean rank, if all the other queries had theirs first, is still "
        f"{span('OAG-BERT', 'mean rank at least')}.",
        "In no sense but the harmonic one is the paper at such a place on average."
        if least.value > most.value and beyond == len(SETS)
        else "",
        f"That at best {chapter.number(best)} % are in the top 100 "
        + ("follows from the table."
           if abs(100 - min(made["OAG-BERT", "missed, %", name].value for name in SETS) - best.number) < 0.5
           else "does not follow from the table."),
    )  # fmt: skip
    missed = sorted(SETS, key=lambda name: -made["SPECTER", "missed, %", name].value)[:3]
    chapter.say(
        f"SPECTER: 1 / MRR is {span('SPECTER', '1 / MRR')}, which the text calls the top {chapter.number(claims['SPECTER'])}. That "
        f"around {chapter.number(tenth)} % are missed is said of three sets, where it is "
        + ", ".join(f"{chapter.number(made['SPECTER', 'missed, %', name], 1)} ({name})" for name in missed)
        + f"; over all sets {span('SPECTER', 'missed, %')} %."
    )


def task_two_in_print(chapter: Chapter) -> None:
    """Show that OAG-BERT's printed T100 rises from Task I to Task II, which more candidates cannot do (TN-C2, TN-T3)."""
    printed, body = lookup("TN-T3"), []
    gaps, noises = {}, {}
    for name in SETS:
        pair = [printed[name, f"{task}/OAG-BERT/T100"] for task in TASKS_OF.values()]
        gap = arithmetic(
            "TN-T3", f"T100, Task II minus Task I, OAG-BERT, {name}", pair[1].number - pair[0].number, 1, pair
        )
        noise = arithmetic(
            "TN-T3",
            f"noise of two samples, T100, OAG-BERT, {name}",
            noise_of_shares([p.number for p in pair], name),
            QUERIES,
            pair,
        )
        gaps[name], noises[name] = chapter.record([gap, noise])
        body.append([html.escape(name), *map(chapter.number, pair), chapter.number(gaps[name], 1, sign=True),
                     f"± {chapter.number(noises[name], 1)}"])  # fmt: skip
    caption = (
        "OAG-BERT’s T100 in print, %: Task II has all candidates of Task I and as many again; last, the range that holds 95 % of "
        "the differences if Task II had asked other queries"
    )
    header = ["Data set", "Task I", "Task II", "difference", "by other queries"]
    chapter.show(report.table(header, body, caption, [["", *["published"] * 4]] * len(body)))
    up = [name for name in SETS if gaps[name].value > 0]
    if up:
        highest = max(up, key=lambda name: gaps[name].value)
        beyond = [name for name in up if gaps[name].value > noises[name].value]
        chapter.note(
            "Task II adds candidates to those of Task I and takes none away, so for the same queries no rank can fall and T100 "
            f"cannot rise. In print OAG-BERT’s rises on {len(up)} of {len(SETS)} sets, by up to "
            f"{chapter.number(gaps[highest], 1)} points ({highest}). "
            + (f"Drawing other queries for Task II does not explain it either on {', '.join(beyond)}. " if beyond else
               "Other queries for Task II could explain each of these. ")
            + "That OAG-BERT “does not falter” in Task II does not follow from such numbers."
        )  # fmt: skip


def noise_of_shares(shares: Sequence[float], name: str) -> float:
    """Return half of the 95 % interval of a difference between two shares in %, each of its own 1,000 papers of a set."""
    p = float(np.mean(shares)) / 100
    return 196 * float(np.sqrt(2 * (1 - QUERIES / lookup("TN-T2")[name, "#Papers"].number) * p * (1 - p) / QUERIES))


def averages_of_ours(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show 1 / MRR, median and mean rank of our encoders side by side: three numbers that print gives one of."""
    for kind, of in kinds(CHAPTER, rows):
        found = cells_of(of)
        body = []
        for task in dict.fromkeys(r.task for r in of if r.split in TASKS_OF):
            for system in [*systems_of(of, task), FLOOR]:
                own = [found[task, system, m, split] for split in (ONE, TWO) for m in (HARMONIC, MEDIAN, MEAN)]
                body.append([f"{calls(system)}<br><small>{html.escape(set_of(task))}</small>",
                             *(cell(chapter, row, PLACES[row.metric]) for row in own)])  # fmt: skip
        caption = (
            f"Three averages of the same ranks, {about(of)}: harmonic mean, median, arithmetic mean; 95 % intervals"
        )
        chapter.show(report.table(["System", *["1 / MRR", "median", "mean"] * 2], body, caption, [["", *[kind] * 6]] * len(body),
                                  list(TASKS_OF.values())))  # fmt: skip
