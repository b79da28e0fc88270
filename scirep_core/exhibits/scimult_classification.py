"""Chapter `scimult/classification`: SciMult's Tables A3, 3, 4 and A8, and what their sentences say of them (4.3, 4.4, D, E.4).

    Table A3   labels in the order of similarity alone: the model
    Table 3    the same with labels whose name occurs in the paper moved to the front: the model and the rule
    Table 4    coarse labels, by the nearest label text (BiEnc) and by a linear classifier on labelled papers (Linear)

The difference of Tables 3 and A3 is what name matching adds. The smaller a model's own number, the more of its number in
Table 3 is the rule's.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from scirep_core.evaluators.probes.paper_probes import CLASS_COSTS
from scirep_core.exhibits import scimult_print as pr
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits import studies
from scirep_core.exhibits.scimult_systems import called
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import Printed, lookup

CHAPTER = "scimult/classification"
WITH, WITHOUT, COARSE, DEFINED = "SM-T3", "SM-TA3", "SM-T4", "SM-TA8"
CROSS = ("Geography", "Psychology")
SHOWN = {
    WITHOUT: (*(f"{name}/R@20" for name in ("CS-Conference", "Chemistry-MeSH", *CROSS)), pr.AVERAGE),
    COARSE: (*(f"{name}/{how}" for name in ("MAG Fields", "MeSH Diseases") for how in ("Linear", "BiEnc")), pr.AVERAGE),
}
"""Columns of our own tables; the whole print stands above them."""
Kinds = Mapping[str, Sequence[Result]]


# ---- Tables A3 and 3 -------------------------------------------------------------------------------------------------


def without_matching(chapter: Chapter) -> None:
    """Show Table A3, recompute its averages, and say which findings of Table 3 carry over to it (appendix D)."""
    pr.show(chapter, WITHOUT, "Table A3: Recall@k of labels by similarity alone")
    pr.say_averages(chapter, WITHOUT)
    chapter.say(_all_sets(WITHOUT), _cross(WITHOUT), _averages(WITHOUT))


def with_matching(chapter: Chapter) -> None:
    """Show Table 3, recompute its averages, and decide what section 4.3 says of it (SM-C1)."""
    pr.show(chapter, WITH, "Table 3: Recall@k with labels first whose name occurs in the paper")
    pr.say_averages(chapter, WITH)
    told = [line for line, _ in lookup("SM-C1")]
    found = [line for line in pr.VARIANTS if len(pr.beaten(WITH, line, pr.columns(WITH))) == len(pr.columns(WITH))]
    same = "so it is" if set(told) == set(found) else "the table has others"
    inside = [name for name in pr.columns(WITH) if name.partition("/")[0] not in CROSS]
    rest = [line for line in pr.VARIANTS if line not in told]
    won = sum(len(pr.beaten(WITH, line, inside)) for line in rest)
    chapter.say(
        f"Section 4.3 has {pr.named(told)} ahead of all baselines on all four data sets: {same}. It has the other {len(rest)} "
        f"ahead on the in-domain sets: in {won} of {len(rest) * len(inside)} cells.",
        _all_sets(WITH), _cross(WITH), _not_carried(),
    )  # fmt: skip


def _all_sets(exhibit: str) -> str:
    sets = pr.data_sets(exhibit)
    won = {
        line: sum(len(pr.beaten(exhibit, line, pr.columns(exhibit, name))) == 3 for name in sets)
        for line in pr.VARIANTS
    }
    counts = ", ".join(f"{pr.short(line)} {n}" for line, n in won.items())
    return (
        f"A variant is ahead of every baseline at all three cut-offs on so many of the {len(sets)} data sets: {counts}."
    )


def _cross(exhibit: str) -> str:
    names = pr.columns(exhibit, *CROSS)
    first = [line for line in pr.VARIANTS if all(pr.winners(exhibit, name) == [line] for name in names)]
    return (
        f"On the cross-domain sets {pr.short(first[0])} is the best variant in all {len(names)} columns."
        if first
        else "On the cross-domain sets no one variant is best in all columns."
    )


def _averages(exhibit: str) -> str:
    won = [line for line in pr.VARIANTS if pr.beaten(exhibit, line, [pr.AVERAGE])]
    return f"On average {len(won)} of the {len(pr.VARIANTS)} variants are ahead of every baseline."


def _not_carried() -> str:
    """Say which sets a variant wins in one of the two tables and not in the other."""
    turned = []
    for name in pr.data_sets(WITH):
        for line in pr.VARIANTS:
            one, other = (len(pr.beaten(e, line, pr.columns(e, name))) == 3 for e in (WITH, WITHOUT))
            if one != other:
                turned.append(f"{pr.short(line)} on {name} ({'only with' if one else 'only without'} matching)")
    if not turned:
        return "Each variant is ahead of every baseline on the same sets in both tables."
    said = "Appendix D says that most findings hold in both tables. Ahead of every baseline in one table alone"
    return f"{said}: {'; '.join(turned)}."


# ---- what name matching adds -----------------------------------------------------------------------------------------


def gains() -> list[Result]:
    """Return Table 3 minus Table A3 for every cell that both have, as arithmetic on printed numbers."""
    more, less = lookup(WITH), lookup(WITHOUT)
    return [
        arithmetic(WITH, f"name matching adds, {line}, {name}", more[line, name].number - less[line, name].number, 2,
                   (more[line, name], less[line, name]))
        for line, name in more if (line, name) in less
    ]  # fmt: skip


def what_matching_adds(chapter: Chapter) -> list[Result]:
    """Show what the rule adds to each line at R@20, how much of a weak model's number it is, and what order it turns."""
    found = chapter.record(gains())
    by_metric = {row.metric: row for row in found}
    low, high = min(found, key=lambda r: r.value), max(found, key=lambda r: r.value)
    falls = sum(row.value > 0 for row in found)
    only = [line for line in pr.systems(WITHOUT) if line not in pr.systems(WITH)]
    chapter.say(
        f"Appendix D has all models fall without the rule: {falls} of the {len(found)} numbers that both tables have are lower, by "
        f"{chapter.number(low)} to {chapter.number(high)} points.",
        f"{pr.named(only)} is in Table A3 alone, so that nothing can be said of it." if only else "",
    )
    names = [name for name in pr.columns(WITH) if name.endswith("R@20")]
    more, less = lookup(WITH), lookup(WITHOUT)
    body = [
        [html.escape(line), *(f"{chapter.number(less[line, n])} → {chapter.number(more[line, n])}<br><small>"
                              f"{chapter.number(by_metric[f'name matching adds, {line}, {n}'], sign=True)}</small>" for n in names)]
        for line in pr.systems(WITH)
    ]  # fmt: skip
    chapter.show(
        report.table(["R@20", *(html.escape(n.partition("/")[0]) for n in names)], body,
                     "Recall@20 without → with name matching, and what it adds", [["", *["published"] * len(names)]] * len(body))
    )  # fmt: skip
    weak = min(pr.systems(WITH), key=lambda line: less[line, pr.AVERAGE].number)
    shares = {n: 100 * (1 - less[weak, n].number / more[weak, n].number) for n in names}
    least = min(shares, key=lambda n: shares[n])
    share = pr.worked(
        chapter,
        WITH,
        f"of {weak}, {least}: due to matching, %",
        shares[least],
        (less[weak, least], more[weak, least]),
        1,
    )
    chapter.say(
        f"The lowest line without the rule is {weak}’s, {chapter.number(less[weak, pr.AVERAGE])} on average; with it, it has "
        + ", ".join(f"{chapter.number(more[weak, n])} ({n.partition('/')[0]})" for n in names)
        + f". At least {share} % of each of these numbers is the rule’s.",
        _turned(),
    )
    return found


def _turned() -> str:
    """Say where the best of the five changes when the rule is left out."""
    turned = []
    for name in pr.columns(WITH):
        one, other = pr.winners(WITH, name), pr.winners(WITHOUT, name)
        if one != other:
            turned.append(f"{name.replace('/', ' ')}: {pr.named(one)} with, {pr.named(other)} without")
    if not turned:
        return "The best of the five variants is the same in every column."
    return f"The rule also decides which variant is best, in {len(turned)} of {len(pr.columns(WITH))} columns: {'; '.join(turned)}."


@report.styled
def draw_gains(chapter: Chapter) -> None:
    """Draw R@20 of every line without and with the rule, a panel a data set."""
    names = [name for name in pr.columns(WITH) if name.endswith("R@20")]
    more, less = lookup(WITH), lookup(WITHOUT)
    lines = pr.systems(WITH)
    figure, grid = report.subplots(1, len(names), figsize=(report.WIDTH, 1.0 + 0.26 * len(lines)), sharey=True)
    frame = []
    for axes, name in zip(grid, names, strict=True):
        for y, line in enumerate(reversed(lines)):
            a, b = less[line, name].number, more[line, name].number
            axes.plot([a, b], [y, y], color=report.PUBLISHED, linewidth=1.2)
            axes.plot([a], [y], **report.MARKS["published"], linestyle="none")
            axes.plot([b], [y], marker=">", color=report.PUBLISHED, linestyle="none")
            frame.append({"data set": name, "line": line, "without": a, "with": b, "adds": b - a})
        axes.set_title(name.partition("/")[0], fontsize=9)
        axes.set_yticks(range(len(lines)), [line.removeprefix(pr.OWN) for line in reversed(lines)])
        axes.set_xlim(left=-2)  # room for rings at 0
        axes.grid(axis="y", visible=False)
    figure.supxlabel("Recall@20", fontsize=10)
    chapter.figure(
        "name-matching", figure, pd.DataFrame(frame),
        caption=f"Published, {len(lines)} systems: Recall@20 in Table A3 (ring: similarity alone) and in Table 3 (arrow: with name "
        "matching).",
        alt=f"Recall at 20 of {len(lines)} systems on {len(names)} data sets, without and with name matching.",
    )  # fmt: skip


# ---- our study -------------------------------------------------------------------------------------------------------


def fine(chapter: Chapter, kinds: Kinds, added: Sequence[Result]) -> None:
    """Show our study beside Tables A3 and 3, and what name matching adds on invented papers.

    Args:
        added: what it adds in print, as `what_matching_adds` returns it.
    """
    pr.ours(chapter, WITHOUT, kinds, SHOWN[WITHOUT], "Without name matching")
    pr.ours(chapter, WITH, kinds, SHOWN[WITHOUT], "With name matching")
    for exhibit in (WITHOUT, WITH):
        pr.say_ours(chapter, exhibit, kinds)
    metrics = [f"name matching adds, {line}, {pr.AVERAGE}" for line in pr.VARIANTS]
    quoted = sorted((row for row in added if row.metric in metrics), key=lambda row: row.value)
    for kind, rows in kinds.items():
        found = _added(rows, kind)
        if found:
            made = sorted(study_.record(chapter, found), key=lambda row: row.value)
            low, high = made[0], made[-1]
            chapter.say(
                f"{kind.capitalize()}: name matching changes our averages by {chapter.number(low, 1, sign=True)} "
                f"({called(low.encoder)}) to {chapter.number(high, 1, sign=True)} ({called(high.encoder)}); those of the five "
                f"variants in print by {chapter.number(quoted[0], 1, sign=True)} to {chapter.number(quoted[-1], 1, sign=True)}."
            )


def _added(rows: Sequence[Result], kind: str) -> list[Result]:
    """Return by line the average with name matching minus the one without, of means over trainings; `kind` names the run."""
    if not rows:
        return []
    one, other = shared.values(rows, WITH), shared.values(rows, WITHOUT)
    keys = [key for key in one if key[1] == pr.AVERAGE and key in other and key[0] != studies.CEILING]
    return [
        replace(one[key], task=f"scimult/{WITH}", metric=f"name matching adds ({kind})", low=None, high=None,
                value=one[key].value - other[key].value, note="Table 3 minus A3", by_query={}, replicates=None)
        for key in keys
    ]  # fmt: skip


# ---- Table 4 ---------------------------------------------------------------------------------------------------------


def coarse(chapter: Chapter) -> None:
    """Show Table 4, recompute its averages, and decide what section 4.4 says of them."""
    pr.show(chapter, COARSE, "Table 4: macro F1 of coarse labels")
    pr.say_averages(chapter, COARSE)
    printed = lookup(COARSE)
    names = {how: [n for n in pr.columns(COARSE) if n.endswith(how)] for how in ("Linear", "BiEnc")}
    won = [line for line in pr.VARIANTS if pr.beaten(COARSE, line, [pr.AVERAGE])]
    lines = [line for line in pr.systems(COARSE) if (line, names["Linear"][0]) in printed]
    means = chapter.record([pr.mean_of(COARSE, line, names["Linear"], f"mean of Linear, {line}") for line in lines])
    best = max(means, key=lambda row: row.value)
    own = max((row for row in means if f", {pr.OWN}" in row.metric), key=lambda row: row.value)
    chapter.say(
        f"Section 4.4: on average the variants always beat all baselines: {len(won)} of {len(pr.VARIANTS)} do.",
        f"But that average is of two settings. Of the Linear columns alone the highest mean is {_line_of(best)}’s, "
        f"{chapter.number(best)}; the best SciMult line is {_line_of(own)}, {chapter.number(own)}.",
        _against_single(chapter, names["Linear"], lines),
    )
    behind = [
        f"{pr.short(line)} {chapter.number(printed[line, name])} on {name.partition('/')[0]} (the best baseline has "
        f"{chapter.number(pr.bar(COARSE, name))})"
        for name in names["BiEnc"] for line in pr.VARIANTS if name not in pr.beaten(COARSE, line, [name])
    ]  # fmt: skip
    told = (
        f"{len(behind)} of {2 * len(pr.VARIANTS)} are behind a baseline: {'; '.join(behind)}"
        if behind
        else "none is behind"
    )
    chapter.say(f"Of the BiEnc cells {told}.")
    _rounded(chapter)


def _line_of(row: Result) -> str:
    return pr.short(row.metric.partition(", ")[2])


def _against_single(chapter: Chapter, names: Sequence[str], lines: Sequence[str]) -> str:
    """Say how the multi-task lines compare with the best single-task baseline in the Linear columns."""
    single = [line for line in lines if not line.startswith(pr.OWN) and line != "SPECTER 2.0"]
    printed, higher, parts = lookup(COARSE), 0, []
    for name in names:
        top = pr.bar(COARSE, name, single)
        over = [line for line in pr.VARIANTS if printed[line, name].number > top.number]
        higher += len(over)
        parts.append(
            f"{len(over)} of {len(pr.VARIANTS)} above {html.escape(top.row)}’s {chapter.number(top)} ({name.partition('/')[0]})"
        )
    total = len(names) * len(pr.VARIANTS)
    return (
        f"With the linear classifier multi-task models are said to do better. Against the best single-task baseline {higher} of "
        f"{total} SciMult cells are higher: {', '.join(parts)}."
    )


def _rounded(chapter: Chapter) -> None:
    """Say which cells have one decimal: they are quoted from other papers, and their averages are printed with two."""
    short: dict[str, list[Printed]] = {}
    for (line, name), p in lookup(COARSE).items():
        if p.decimals == 1 and name != pr.AVERAGE:
            short.setdefault(line, []).append(p)
    if short:
        line = max(short, key=lambda one: len(short[one]))
        most = pr.worked(
            chapter, COARSE, f"most that rounding moves, {line}", len(short[line]) * 0.05 / 4, short[line], 3
        )
        chapter.say(
            f"Quoted numbers of {len(short)} lines ({pr.named(short)}) have one decimal, their averages two: the last digit of "
            f"these averages may be off by up to {most}."
        )


def our_coarse(chapter: Chapter, kinds: Kinds) -> None:
    """Show our study beside Table 4: linear and bi-encoder; say with which grid the linear one is tuned."""
    chapter.say(
        f"Our Linear is SciRepEval’s probe, whose cost is the best of {len(CLASS_COSTS)} between {CLASS_COSTS[0]:g} and "
        f"{CLASS_COSTS[-1]:g} by cross-validation. Section 4.4 follows SciDocs, whose script tries seven between 0.0001 and 100."
    )
    pr.ours(chapter, COARSE, kinds, SHOWN[COARSE], "Coarse labels: macro F1")
    pr.say_ours(chapter, COARSE, kinds)
    for kind, rows in kinds.items():
        found = shared.values(rows, COARSE) if rows else {}
        pairs = {
            (line, name): (found[line, f"{name}/Linear"], found[line, f"{name}/BiEnc"])
            for line in pr.LINES for name in ("MAG Fields", "MeSH Diseases")
            if (line, f"{name}/Linear") in found and (line, f"{name}/BiEnc") in found
        }  # fmt: skip
        if pairs:
            ahead = sum(linear.value > bi.value for linear, bi in pairs.values())
            chapter.say(
                f"{kind.capitalize()}: the linear classifier, which sees labelled papers, is ahead of the nearest label text in "
                f"{ahead} of {len(pairs)} cells."
            )


# ---- Table A8 --------------------------------------------------------------------------------------------------------


def definitions(chapter: Chapter) -> None:
    """Show Table A8 and what leaving out the definitions costs (E.4)."""
    pr.show(chapter, DEFINED, "Table A8: label names alone, and with their definitions")
    printed = lookup(DEFINED)
    costs: dict[str, list[Result]] = {}
    for line in pr.systems(DEFINED):
        model, _, how = line.partition(" (")
        if how == "Name Only)":
            for name in pr.columns(DEFINED):
                both = printed[f"{model} (Name+Definition)", name], printed[line, name]
                metric = f"definitions add, {model}, {name}"
                costs.setdefault(model, []).append(
                    arithmetic(DEFINED, metric, both[0].number - both[1].number, 2, both)
                )
    for model, found in costs.items():
        made = chapter.record(found)
        least, most = min(made, key=lambda r: r.value), max(made, key=lambda r: r.value)
        chapter.say(f"Definitions add {chapter.number(least)} to {chapter.number(most)} points to {pr.short(model)}.")
    own, other = (next(found for model, found in costs.items() if (pr.OWN in model) == mine) for mine in (True, False))
    alone, whole = f"{pr.MHA} (Name Only)", "SPECTER 2.0 (Name+Definition)"
    still = sum(printed[alone, n].number > printed[whole, n].number for n in pr.columns(DEFINED))
    ratio = [a.value / b.value for a, b in zip(own, other, strict=True)]
    low, high = (
        pr.worked(chapter, DEFINED, f"definitions, {pr.MHA} over SPECTER 2.0, {which}", value, printed.values(), 1)
        for which, value in (("least", min(ratio)), ("most", max(ratio)))
    )
    chapter.say(
        f"Section E.4 calls definitions optional. To the model that was trained with them they are worth {low} to {high} times "
        f"what they are worth to the other, column by column; without them it is still ahead of the other with them in {still} "
        f"of {len(ratio)} columns."
    )
