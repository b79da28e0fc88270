"""Chapter `scirepeval/correlations`, what is shown: Figure 2, the claim on SciDocs, tasks apart, metrics, ensembles."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from scirep_core.data import TASKS
from scirep_core.exhibits import cell, heatmap, sign
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.scirepeval_baselines import say_unrecorded, which
from scirep_core.exhibits.scirepeval_correlations import (
    ABOVE,
    APART,
    CLAIM,
    COUNTS,
    HIGHEST,
    JOINED,
    LATENT,
    LOWEST,
    MEAN,
    MEDIAN,
    NEAREST,
    OVER,
    PEARSON,
    SETTLED,
    SMALL,
    SYSTEMS,
    correlation,
    fisher,
    kept,
    label,
    pairs_of,
    printed_scores,
    row_over,
    score_table,
)
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.comparison import cluster_order, correlations
from scirep_core.results.differences import versus
from scirep_core.results.published import lookup

ORDERS = "tau between the orders by tau and by r"
STRONG = 80.0
"""MAP on Cite, in SciMult's Table 7, from which a model counts as strong: nine of the fifteen, all trained on citations."""


def about_systems(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show what the systems are, which of them each run has, how many are of one family, and how wide that leaves r."""
    runs = {of[0].kind: score_table(of) for of in (kept(), rows) if of}
    say_unrecorded(chapter, kept())
    others = [name for table in runs.values() for name in table.index if name not in SYSTEMS]
    body = []
    for name in dict.fromkeys([*SYSTEMS, *others]):
        variant = SYSTEMS.get(name)
        about = html.escape(variant.about) if variant else "by name"
        away = "not in a quick run" if variant and not variant.quick and chapter.parameters["quick"] else ""
        cells = ["yes" if name in table.index else away if kind == "live" else "" for kind, table in runs.items()]
        body.append([f"<code>{html.escape(name)}</code>", about, *cells])
    classes = [["", "text", *[""] * len(runs)]] * len(body)
    chapter.show(report.table(["System", "what it is", *runs], body, "Systems whose scores are correlated", classes))
    for of in (kept(), rows):
        if of and len(table := runs[of[0].kind]) > 3:
            _say_alike(chapter, of, table)


def _say_alike(chapter: Chapter, rows: Sequence[Result], table: pd.DataFrame) -> None:
    """Say how many systems are variants of one another, and what so few systems can settle."""
    n = len(table)
    alike = sum(name in SYSTEMS and SYSTEMS[name].family in (COUNTS, LATENT) for name in table.index)
    tasks = len(table.columns)
    chapter.say(
        f"{which(rows).capitalize()}: {n} systems and {tasks * (tasks - 1) // 2} pairs of tasks. The smallest r whose 95 % "
        f"interval leaves out 0 is {_settled(n):.2f}, and among so many pairs a few are high or low by chance.",
        f"{alike} of the {n} systems are variants of TF-IDF or of its latent dimensions, while the intervals treat systems as "
        "independent: they are too narrow."
        if alike > 1
        else "",
    )


def figure2(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw Figure 2 (V2-F2, V1-F2) from our systems: tasks ordered so that those that agree are neighbours."""
    for of in (kept(), rows):
        table = score_table(of) if of else pd.DataFrame()
        if len(table) < 4 or len(table.columns) < 3:
            continue
        _say_flat(chapter, of, table)
        matrix = correlations(table)
        order = [matrix.columns[i] for i in cluster_order(matrix)]
        matrix = matrix.loc[order, order]
        names, values = [label(name) for name in order], matrix.to_numpy(dtype=np.float64)
        n = len(table)
        pairs = [(a, b, float(values[i, j])) for (i, a), (j, b) in pairs_of(list(enumerate(order)))]
        frame = pd.DataFrame([
            {"task": title(a), "other": title(b), "r": r, "low": fisher(r, n)[0], "high": fisher(r, n)[1], "systems": n}
            for a, b, r in pairs
        ])  # fmt: skip
        least, most = min(pairs, key=lambda p: p[2]), max(pairs, key=lambda p: p[2])
        chapter.figure(
            f"figure-2-{of[0].kind}", heatmap.draw(values, names), frame,
            f"{which(of).capitalize()}: Pearson correlation between the scores of {n} systems on {len(order)} tasks, in "
            f"hundredths; colour grows with |r|. Tasks are ordered by average linkage on 1 − r. With n = {n} a correlation of "
            f"{_settled(n):.2f} is the smallest whose 95 % interval leaves out 0. The papers’ own figure has no numbers.",
            f"Matrix of correlations between {len(order)} tasks; the highest is {most[2]:.2f} between {title(most[0])} and "
            f"{title(most[1])}, the lowest {least[2]:.2f} between {title(least[0])} and {title(least[1])}.",
        )  # fmt: skip


def _say_flat(chapter: Chapter, rows: Sequence[Result], table: pd.DataFrame) -> None:
    """Name the tasks that are not in a figure because every system scores the same on them."""
    there = dict.fromkeys(r.task for r in rows if r.encoder in set(table.index))
    flat = [html.escape(title(task)) for task in there if task not in table.columns]
    if flat:
        have = "has" if len(flat) == 1 else "have"
        chapter.say(f"All systems score the same on {' and '.join(flat)}, which {have} no correlation then.")


def _settled(n: int) -> float:
    """Return the smallest correlation over n systems whose interval leaves out 0."""
    return float(np.tanh(1.959964 / np.sqrt(max(n - 3, 1))))


# ---- the claim on SciDocs --------------------------------------------------------------------------------------------


def scidocs_in_print(chapter: Chapter) -> None:
    """Recompute the claim from SciMult's Table 7 (V1-C1, V2-C2): all models, then the strong ones alone."""
    said = chapter.number(lookup("V2-C2")["four tasks of SciDocs", "correlation over models"])
    quoted = list(lookup("SM-T7").values())
    tables = {(metric, least): printed_scores(metric, least) for metric in ("MAP", "nDCG") for least in (0.0, STRONG)}
    body, made = [], {}
    for a, b in pairs_of(NEAREST):
        cells = []
        for (metric, least), table in tables.items():
            found = correlation(table, a, b)
            row = arithmetic(
                "SM-T7", f"{metric}, {title(a)} with {title(b)}, {len(table)} models", found.value, found.n, quoted
            )
            made[a, b, metric, least] = chapter.record([_bounded(row, found)])[0]
            cells.append(_r(chapter, made[a, b, metric, least]))
        body.append([f"{title(a)}, {title(b)}", *cells])
    sizes = [len(tables["MAP", least]) for least in (0.0, STRONG)]
    caption = "Correlations of four SciDocs tasks over the models of SciMult’s Table 7, 95 % intervals"
    header = ["Tasks", *(f"{metric}, {n} models" for metric in ("MAP", "nDCG") for n in sizes)]
    classes = [["", *["published"] * 4]] * len(body)
    chapter.show(report.table(header, body, caption, classes))
    for metric in ("MAP", "nDCG"):
        every, strong = ([made[a, b, metric, least] for a, b in pairs_of(NEAREST)] for least in (0.0, STRONG))
        above = sum(row.value > CLAIM for row in every)
        whole = sum(row.low is not None and row.low > CLAIM for row in every)
        chapter.say(
            f"{metric}: over all {sizes[0]} models {above} of {len(every)} correlations are above the {said} of the text (from "
            f"{_low(chapter, every)} to {_high(chapter, every)}), {whole} with the whole interval; over the {sizes[1]} models that "
            f"reach {STRONG:.0f} MAP on Cite {sum(row.value > CLAIM for row in strong)} are (from {_low(chapter, strong)} to "
            f"{_high(chapter, strong)})."
        )
    _say_clouds(chapter, tables["MAP", 0.0], tables["MAP", STRONG])


def _say_clouds(chapter: Chapter, every: pd.DataFrame, strong: pd.DataFrame) -> None:
    """Say, where it is so, that strong and other models lie far apart, and that the tasks agree less among the strong."""
    others = every.drop(index=strong.index).to_numpy()
    low, high = float(strong.to_numpy().min()), float(strong.to_numpy().max())
    if others.max() < low and _lower(strong, every):
        chapter.say(
            f"The other {len(others)} models score {others.min():.1f} to {others.max():.1f} MAP on the four tasks, these "
            f"{low:.1f} to {high:.1f}: two clouds of points that far apart make any two tasks agree. Among the models one "
            "would choose from, the four tasks agree less, on every pair."
        )


def _lower(strong: pd.DataFrame, every: pd.DataFrame) -> bool:
    """Return whether every correlation is lower among the strong models than among all."""
    return all(
        np.corrcoef(strong[a], strong[b])[0, 1] < np.corrcoef(every[a], every[b])[0, 1] for a, b in pairs_of(NEAREST)
    )


def _bounded(row: Result, found: Result) -> Result:
    return replace(row, low=found.low, high=found.high)


def _r(chapter: Chapter, row: Result) -> str:
    """Return a correlation with its interval, with as many digits as its distance from 1 asks for."""
    places = 4 if abs(row.value) > CLAIM else 2
    assert row.low is not None
    assert row.high is not None
    return f'{chapter.number(row, places)} <span class="ci">{row.low:.{places}f} to {row.high:.{places}f}</span>'


def _low(chapter: Chapter, rows: Sequence[Result]) -> str:
    return chapter.number(min(rows, key=lambda row: row.value), 3)


def _high(chapter: Chapter, rows: Sequence[Result]) -> str:
    return chapter.number(max(rows, key=lambda row: row.value), 4)


def groups(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show how alike tasks are inside SciDocs, among the Feeds tasks, and over the benchmark (V1-C1, V2-C2, V2-C11)."""
    body, classes, told = [], [], []
    for of in (kept(), rows):
        found = {(r.task, r.metric, r.split): r for r in of if r.encoder == OVER and r.task.startswith("group/")}
        for task, split in dict.fromkeys((key[0], key[2]) for key in found):
            low, middle, high, above = (found[task, metric, split] for metric in (LOWEST, MEDIAN, HIGHEST, ABOVE))
            name = f"{task.removeprefix('group/')}{'' if split == 'test' else ', ' + split}"
            pairs = middle.note.removeprefix("of ").removesuffix(" pairs")
            body.append([f"{name}, {low.kind}", f"{low.n}", pairs, _r(chapter, low), chapter.number(middle, 2),
                         _r(chapter, high), f"{chapter.number(above, 0)} of {pairs}"])  # fmt: skip
            classes.append(["", "", "", *[low.kind] * 4])
        four, every = (found.get((f"group/{name}", MEDIAN, "test")) for name in ("four of SciDocs", "all tasks"))
        if four and every:
            told.append(
                f"{which(of).capitalize()}: the median r is {chapter.number(four, 2)} among the four SciDocs tasks and "
                f"{chapter.number(every, 2)} among all ({four.n} systems)."
            )
    if body:
        header = ["Tasks", "systems", "pairs", "lowest r", "median", "highest r", f"above {CLAIM}"]
        chapter.show(report.table(header, body, "Correlations within groups of tasks, 95 % intervals", classes))
        chapter.say(*told)


def apart(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say with how many tasks DRSM, Biomimicry and S2AND are shown to be correlated (V1-C4, V2-C2): no more can be settled."""
    for of in (kept(), rows):
        medians = {r.task: r for r in of if r.encoder == OVER and r.metric == MEDIAN and r.task in TASKS}
        settled = {r.task: r for r in of if r.encoder == OVER and r.metric == SETTLED}
        if not medians:
            continue
        order = sorted(medians, key=lambda task: medians[task].value)
        n, others = next(iter(medians.values())).n, len(medians) - 1
        items = []
        for task in APART:
            if task in medians:
                shown = settled[task]
                without = others - round(shown.value)
                items.append(
                    f"<li>{html.escape(title(task))}: shown to be correlated with {chapter.number(shown, 0)} of {others} others"
                    + (f", not shown to be with {without}" if without else "")
                    + f"; its median r is {chapter.number(medians[task], 2)} (place {order.index(task) + 1} of {len(order)} "
                    "from the lowest)</li>"
                )
        lowest = ", ".join(f"{html.escape(title(t))} ({chapter.number(medians[t], 2)})" for t in order[:3])
        chapter.show(
            f"<p>{which(of).capitalize()}, {n} systems:</p><ul>{''.join(items)}</ul>"
            f"<p>The papers say “uncorrelated with most other tasks” of these. {n} systems cannot settle an r below "
            f"{_settled(n):.2f}: what is not shown to be correlated is not shown to be uncorrelated. {_small_tests(of)}"
            f"The tasks that agree least with the others: {lowest}.</p>"
        )


def _small_tests(rows: Sequence[Result]) -> str:
    """Name the tasks apart whose test sets are small: noise alone lowers their correlations."""
    sizes = {r.task: r for r in rows if r.task in APART and r.split == "test" and r.encoder != OVER}
    small = [f"{html.escape(title(t))} ({sizes[t].n})" for t in APART if t in sizes and sizes[t].n < SMALL]
    if not small:
        return ""
    return (
        f"Small test sets lower r too, whatever a task measures, because their scores are mostly noise: here those of "
        f"{' and '.join(small)}. "
    )


# ---- footnotes -------------------------------------------------------------------------------------------------------


def two_metrics(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say whether Pearson's r and Kendall's tau order systems alike on regression tasks (V1-C8)."""
    from scipy.stats import kendalltau  # most of a second to import

    body, classes, shown = [], [], []
    for of in (kept(), rows):
        found = {
            (r.task, r.metric, r.encoder): r.value
            for r in of
            if r.split == "test" and r.encoder not in ("random", "oracle")
        }
        for task in dict.fromkeys(key[0] for key in found if key[1] == PEARSON):
            names = [name for t, m, name in found if (t, m) == (task, PEARSON) and (task, "kendall_tau", name) in found]
            if len(names) < 4:
                continue
            tau, pearson = ([found[task, m, name] for name in names] for m in ("kendall_tau", PEARSON))
            both = row_over(
                pd.DataFrame({"tau": tau, "r": pearson}, index=names), task, ORDERS, float(kendalltau(tau, pearson).statistic),
                f"over {len(names)} systems", split="test" if of is rows else "test, recorded scores",
            )  # fmt: skip
            shown.append(chapter.record([both])[0])
            best = [html.escape(names[int(np.argmax(values))]) for values in (tau, pearson)]
            body.append(
                [f"{html.escape(title(task))}, {of[0].kind}", f"{len(names)}", chapter.number(shown[-1], 2), *best]
            )
            classes.append(["", "", of[0].kind, "text", "text"])
    if body:
        header = ["Task", "systems", "tau between the two orders", "best by tau", "best by r"]
        chapter.show(report.table(header, body, "Systems ordered by Kendall’s tau and by Pearson’s r", classes))
        values = [row.value for row in shown]
        chapter.say(
            f"The two orders agree with tau {min(values):.2f} to {max(values):.2f}; the best system is the same on "
            f"{sum(line[3] == line[4] for line in body)} of {len(body)} lines."
        )


def joined(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say whether averaging two embeddings scores like concatenating them (V1-C9, V2-C12), task by task."""
    for of in (kept(), rows):
        gaps = [r for r in of if r.against == MEAN and not r.metric.endswith(PEARSON)
                and r.encoder == versus(JOINED, MEAN)]  # fmt: skip
        if not gaps:
            continue
        body = [[html.escape(title(g.task)), cell(chapter, g, 2, signed=True), f"{g.n:,}"] for g in gaps]
        table = report.table(["Task", "concatenation − mean", "n"], body,
                             f"{which(of).capitalize()}: two embeddings concatenated against averaged, in points",
                             [["", of[0].kind, ""]] * len(body))  # fmt: skip
        up, down = (sum(sign(g) == s for g in gaps) for s in (1, -1))
        largest = max(gaps, key=lambda g: abs(g.value))
        mean = sum(g.value for g in gaps) / len(gaps)
        chapter.show(f"<details><summary>{which(of).capitalize()}: task by task</summary>{table}</details>")
        chapter.say(
            f"{which(of).capitalize()}: concatenating is ahead on {up} of {len(gaps)} tasks and behind on {down} (intervals that "
            f"leave out 0), {mean:+.2f} points on average; the largest difference is {chapter.number(largest, 1, sign=True)} on "
            f"{html.escape(title(largest.task))}."
        )
