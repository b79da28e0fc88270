"""Chapter `neighbours/overlap`, orders and thresholds: section 6.3's statements, Table 5, a modern encoder (TN-T5, TN-C11, TN-C12).

    LL-HS >= LO-HS > LL-PS > LO-PS > LO-DS      the order that the paper expects, called increasing though it falls

Print has no spread, so a printed order is read off the digits. Ours are decided by paired differences: all codes of a collection
alter the same papers, and their bootstrap values draw the same ones. A cell of Table 5 is optimal within its threshold; of ours it
is so if the whole interval lies within, not if all of it lies outside, else open.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence

from scirep_core.data.perturbations import CATEGORIES, LL_HS, LL_PS, LO_DS, PERTURBATIONS
from scirep_core.exhibits import neighbours_views as views
from scirep_core.exhibits.neighbours_overlap import MODELS, STEPS, TEN, TWENTY, WIDER, sets
from scirep_core.exhibits.neighbours_shared import named
from scirep_core.exhibits.neighbours_views import AS_WRITTEN, SPACE, Run, View, listed, settled, told, value
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.differences import difference_of
from scirep_core.results.published import Printed, lookup

Cells = Mapping[str, Printed]
"""Printed overlaps by category."""


def printed4(name: str, model: str) -> Cells:
    """Return a model's printed AOP-10 on a collection, by category."""
    return {category: lookup("TN-T4")[name, f"{category}/{model}"] for category in CATEGORIES}


def printed5(model: str) -> Cells:
    """Return a model's printed AOP-20, by category."""
    return {category: lookup("TN-T5")[model, category] for category in CATEGORIES}


# ---- the expected order ----------------------------------------------------------------------------------------------


def holds(step: int, gap: float) -> bool:
    """Return whether a step of the order holds by value: the first allows equality."""
    return gap >= -1e-9 if step == 0 else gap > 1e-9


def decided(step: int, row: Result) -> int:
    """Return 1 where a step holds by its interval, -1 where it does not, 0 where it is open; equal values suit the first."""
    same = row.value == 0 and row.low == row.high == 0
    if same:
        return 1 if step == 0 else -1
    return settled(row)


def met_in_print(cells: Cells) -> bool:
    """Return whether printed values stand in the expected order."""
    return all(holds(i, cells[a].number - cells[b].number) for i, (a, b) in enumerate(STEPS))


def order(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show every step of the expected order, printed (Tables 4 and 5) and of our encoders, and count who keeps it (TN-C12)."""
    body, classes = [], []
    lines = [("TN-T4", f"{name}, {model}", printed4(name, model)) for model in MODELS for name in sets()]
    lines += [("TN-T5", f"Table 5, {model}", printed5(model)) for model in MODELS]
    for exhibit, label, cells in lines:
        gaps = [_printed_gap(chapter, exhibit, label, cells[a], cells[b]) for a, b in STEPS]
        words = [chapter.number(gap, 2 if exhibit == "TN-T5" else 1, sign=True) for gap in gaps]
        body.append(
            [f"{html.escape(label)} <small>published</small>", *words, "kept" if met_in_print(cells) else "not kept"]
        )
        classes.append(["", *["published"] * 5])
    for view in views.views(shown):
        for metric, name in ((TEN, "AOP-10"), (TWENTY, "AOP-20")):
            rows = [view.gap(a, b, metric) for a, b in STEPS]
            if all(rows):
                words = [value(chapter, row, sign=True) for row in rows]
                body.append([view.label(name), *words, verdict(view, metric)])
                classes.append(["", *[view.run.kind] * 5])
    header = ["Collection, model", *(f"{a} − {b}" for a, b in STEPS), "order"]
    caption = "Steps of the expected order, in points: the first not below 0, the others above it; of ours with 95 % intervals"
    table = report.table(header, body, caption, classes)
    _say_order(chapter, shown)
    chapter.show(f"<details><summary>Step by step, print and ours ({len(body)} lines)</summary>{table}</details>")


def _printed_gap(chapter: Chapter, exhibit: str, label: str, first: Printed, second: Printed) -> Result:
    split = f"{first.column.partition('/')[0]} minus {second.column.partition('/')[0]}"
    row = arithmetic(exhibit, f"{label}, {split}", first.number - second.number, 2, [first, second])
    return chapter.record([row])[0]


def verdict(view: View, metric: str) -> str:
    """Say whether an encoder of ours keeps the order: `kept`, `not kept (LO-HS over LL-PS)`, `open (...)`."""
    sides = {pair: decided(i, gap) for i, pair in enumerate(STEPS) if (gap := view.gap(*pair, metric))}
    for way, word in ((-1, "not kept"), (0, "open")):
        steps = [f"{a} over {b}" for (a, b), side in sides.items() if side == way]
        if steps:
            return f"{word} ({', '.join(steps)})"
    return "kept"


def _say_order(chapter: Chapter, shown: Sequence[Run]) -> None:
    parts = []
    for model in MODELS:
        kept = [name for name in sets() if met_in_print(printed4(name, model))]
        quoted = [one for name in sets() for one in printed4(name, model).values()]
        count = chapter.record(
            [arithmetic("TN-T4", f"collections in which {model} keeps the order", len(kept), len(sets()), quoted)]
        )
        where = f" ({listed(kept)})" if kept else ""
        parts.append(f"{model} in {chapter.number(count[0], 0)} of {len(sets())}{where}")
    five = [model for model in MODELS if met_in_print(printed5(model))]
    broken = {pair: sum(not holds(i, (c := printed4(name, model))[pair[0]].number - c[pair[1]].number)
                        for name in sets() for model in MODELS) for i, pair in enumerate(STEPS)}  # fmt: skip
    worst = max(broken, key=lambda pair: broken[pair])
    total = len(sets()) * len(MODELS)
    count = chapter.record([
        arithmetic("TN-T4", f"{worst[0]} not above {worst[1]}", broken[worst], total, list(lookup("TN-T4").values()))
    ])  # fmt: skip
    chapter.say(
        f"In print (Table 4) the order is kept by {'; '.join(parts)}. In Table 5 it is kept by {listed(five, 'no model')}.",
        f"The step that fails most often is {worst[0]} over {worst[1]}: in {chapter.number(count[0], 0)} of {total} lines.",
    )
    for run in shown:
        found = [view for view in views.views([run]) if all(view.gap(*pair, TEN) for pair in STEPS)]
        words = [f"{view.name}: {verdict(view, TEN)}" for view in found]
        chapter.say(f"{run.named}, AOP-10: {'; '.join(words)}." if words else "")


def specter(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Check what the text says of SPECTER and OAG-BERT in Table 4 (TN-C11), and the first of it on our encoders."""
    pairs = ((LL_HS, "LO-HS"), (LL_HS, LL_PS))
    table = list(lookup("TN-T4").values())
    counts = []
    for a, b in pairs:
        fits = sum(printed4(name, "SPECTER")[a].number > printed4(name, "SPECTER")[b].number for name in sets())
        row = chapter.record(
            [arithmetic("TN-T4", f"collections in which SPECTER has {a} above {b}", fits, len(sets()), table)]
        )[0]
        counts.append(f"{a} above {b} in {chapter.number(row, 0)} of {len(sets())}")
    lowest = sum(
        min(MODELS, key=lambda model: printed4(name, model)[category].number) == "OAG-BERT"
        for name in sets()
        for category in CATEGORIES
    )
    cells = len(sets()) * len(CATEGORIES)
    row = chapter.record([arithmetic("TN-T4", "cells in which OAG-BERT is lowest", lowest, cells, table)])[0]
    chapter.say(
        f"SPECTER, by Table 4: {' and '.join(counts)} collections. OAG-BERT is the lowest of the three in "
        f"{chapter.number(row, 0)} of {cells} cells."
    )
    words = {1: "above", -1: "below", 0: "not told apart from"}
    for run in shown:
        told_ = [
            f"{view.name}: "
            + ", ".join(f"{a} {words[settled(gap)]} {b}" for a, b in pairs if (gap := view.gap(a, b, TEN)))
            for view in views.views([run])
        ]
        chapter.say(f"{run.named}: {'; '.join(told_)}." if told_ else "")


def white_space(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Compute what T_A_WS must have been for SPECTER's printed LL-HS, and show both readings of it on our encoders (TN-C8)."""
    values = [printed4(name, "SPECTER")[LL_HS] for name in sets()]
    others = sum(what.category == LL_HS for what in PERTURBATIONS.values()) - 1
    needed, less = [], []
    for share, how in ((100, "where a text counts among its own nearest"), (90, "where it does not")):
        left = [(others + 1) * one.number - others * share for one in values]
        about = f"left to {SPACE} by SPECTER’s {LL_HS} with the others at {share}"
        made = chapter.record([
            arithmetic("TN-T4", f"AOP-10 {about}, {name}", end(left), len(values), values)
            for name, end in (("lowest", min), ("highest", max))
        ])  # fmt: skip
        needed.append(f"{chapter.number(made[0], 1)} to {chapter.number(made[1], 1)} {how}")
        less.append(max(left) < share)
    lowest, highest = (end(values, key=lambda one: one.number) for end in (min, max))
    verdict = "less than" if all(less) else "not on every collection less than"
    chapter.say(
        f"SPECTER’s printed {LL_HS} lies between {chapter.number(lowest)} and {chapter.number(highest)}. If it is the mean of its "
        f"codes and the {others} that upper-case words keep all they can (100, or 90 without oneself), <code>{SPACE}</code> is "
        f"left with {', or '.join(needed)}: {verdict} intact text gives, which is the same 100, or 90."
    )
    lines, classes = [], []
    for view in views.views(shown):
        splits = (SPACE, SPACE + AS_WRITTEN, LL_HS, LL_HS + AS_WRITTEN)
        rows = view.rows(TEN, splits)
        gap = view.gap(SPACE + AS_WRITTEN, SPACE, TEN)
        if len(rows) == len(splits):
            lines.append(
                [view.label(), *(value(chapter, rows[split]) for split in splits), value(chapter, gap, sign=True)]
            )
            classes.append(["", *[view.run.kind] * 5])
    if lines:
        header = [
            "Encoder",
            f"{SPACE}, intact",
            "repeated",
            f"{LL_HS}, with intact",
            "with repeated",
            f"{SPACE}: repeated − intact",
        ]
        caption = (
            "AOP-10 in % with white space widened (intact text) and by the public code’s walk (repeated text), 95 % intervals; the "
            "difference where every altered paper is asked"
        )
        chapter.show(report.table(header, lines, caption, classes))


# ---- Table 5 ---------------------------------------------------------------------------------------------------------


def threshold(category: str) -> tuple[float, float]:
    """Return the bounds between which AOP-20 is optimal, read off the printed threshold; infinite where there is none."""
    text = lookup("TN-T5")["Threshold", category].value
    numbers = [float(found) for found in re.findall(r"(?<![\w-])\d+(?:\.\d+)?", text)]
    if len(numbers) == 2:
        return numbers[0], numbers[1]
    return (numbers[0], math.inf) if text.strip().startswith(">") else (-math.inf, numbers[0])


def optimal(number: float, category: str) -> bool:
    """Return whether a printed value lies within its threshold: a grey cell."""
    low, high = threshold(category)
    return low < number < high


def optimal_of_ours(row: Result, category: str) -> int:
    """Return 1 where the whole interval lies within the threshold, -1 where all of it lies outside, else 0."""
    low, high = threshold(category)
    above, below = settled(row, low), settled(row, high)
    if above == 1 and below == -1:
        return 1
    return -1 if above == -1 or below == 1 else 0


WORDS = {1: "optimal", -1: "not", 0: "open"}


def table5(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show Table 5 (TN-T5) with the cells that are optimal by its own rule, printed and ours."""
    rule = lookup("TN-T5")
    body = [["Threshold <small>published</small>", *(chapter.number(rule["Threshold", c]) for c in CATEGORIES)]]
    classes = [["", *["published"] * len(CATEGORIES)]]
    for model in MODELS:
        cells = printed5(model)
        sides = {c: 1 if optimal(cells[c].number, c) else -1 for c in CATEGORIES}
        found = [f"{chapter.number(cells[c])}<br><small>{WORDS[sides[c]]}</small>" for c in CATEGORIES]
        body.append([f"{model} <small>published</small>", *found])
        classes.append(["", *(f"published{' best' if sides[c] == 1 else ''}" for c in CATEGORIES)])
    for view in views.views(shown):
        rows = view.rows(TWENTY, CATEGORIES)
        sides = {c: optimal_of_ours(row, c) for c, row in rows.items()}
        if rows:
            found = [
                f"{value(chapter, rows[c])}<small>{WORDS[sides[c]]}</small>" if c in rows else "" for c in CATEGORIES
            ]
            body.append([view.label(), *found])
            classes.append(["", *(f"{view.run.kind}{' best' if sides.get(c) == 1 else ''}" for c in CATEGORIES)])
    caption = (
        "Table 5: AOP-20 in %, in bold what is optimal by the printed rule; 95 % intervals of ours, open where an interval holds a "
        "bound"
    )
    chapter.show(report.table(["Model", *CATEGORIES], body, caption, classes))
    _say_optimal(chapter, shown)


def _say_optimal(chapter: Chapter, shown: Sequence[Run]) -> None:
    good = {model: [c for c in CATEGORIES if optimal(printed5(model)[c].number, c)] for model in MODELS}
    margins = {(model, c): min(abs(printed5(model)[c].number - edge) for edge in threshold(c) if math.isfinite(edge))
               for model in MODELS for c in CATEGORIES}  # fmt: skip
    near = min(margins, key=lambda key: margins[key])
    quoted = [printed5(near[0])[near[1]], lookup("TN-T5")["Threshold", near[1]]]
    row = chapter.record(
        [arithmetic("TN-T5", f"distance of {near[0]}, {near[1]} from its threshold", margins[near], 2, quoted)]
    )[0]
    chapter.say(
        f"By the rule the optimal cells are, in print: {'; '.join(f'{model} {listed(found)}' for model, found in good.items())}. "
        "The shading that marks them is lost in our copy of the text.",
        f"The closest call is {near[0]} on {near[1]}, {chapter.number(row, 2)} points from its bound: without a spread nobody can "
        "say on which side it belongs.",
        "OAG-BERT earns its cell by losing everything; the paper says so itself."
        if good["OAG-BERT"] == [LO_DS]
        else "",
    )
    for run in shown:
        parts = []
        for view in views.views([run]):
            sides = {c: optimal_of_ours(one, c) for c, one in view.rows(TWENTY, CATEGORIES).items()}
            if sides:
                fine, unsure = ([c for c, side in sides.items() if side == way] for way in (1, 0))
                parts.append(f"{view.name} {listed(fine)}{f', open {listed(unsure)}' if unsure else ''}")
        chapter.say(f"{run.named}, optimal: {'; '.join(parts)}." if parts else "")


def average_of_sets(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Hold Table 5 against the means of Table 4: could it be an average over the seven collections?"""
    body, above, inside = [], 0, 0
    for model in MODELS:
        cells = [f"{model} <small>published</small>"]
        for category in CATEGORIES:
            seven = [printed4(name, model)[category] for name in sets()]
            twenty = printed5(model)[category]
            mean = sum(one.number for one in seven) / len(seven)
            gap = arithmetic("TN-T5", f"{model}, {category}: AOP-20 minus the mean AOP-10 of Table 4", twenty.number - mean, 8,
                             [twenty, *seven])  # fmt: skip
            above += twenty.number > mean
            inside += min(one.number for one in seven) <= twenty.number <= max(one.number for one in seven)
            cells.append(chapter.number(chapter.record([gap])[0], 2, sign=True))
        body.append(cells)
    classes = [["", *["published"] * len(CATEGORIES)]] * len(body)
    for view in views.views(shown):
        rows = view.rows(difference_of(WIDER), CATEGORIES)
        if rows:
            body.append(
                [
                    view.label(),
                    *(value(chapter, rows.get(c), sign=True) for c in CATEGORIES),
                ]
            )
            classes = [*classes, ["", *[view.run.kind] * len(CATEGORIES)]]
    caption = (
        "AOP-20 minus AOP-10, in points: in print Table 5 minus the mean of Table 4 over the seven collections, of ours the paired "
        "difference with its 95 % interval"
    )
    chapter.show(report.table(["Model", *CATEGORIES], body, caption, classes))
    total, quoted = len(MODELS) * len(CATEGORIES), [*lookup("TN-T4").values(), *lookup("TN-T5").values()]
    higher, within = chapter.record([
        arithmetic("TN-T5", "cells above the mean of Table 4", above, total, quoted),
        arithmetic("TN-T5", "cells within the range of Table 4", inside, total, quoted),
    ])  # fmt: skip
    chapter.say(
        f"In print the twenty share more than the ten in {chapter.number(higher, 0)} of {total} cells, and "
        f"{chapter.number(within, 0)} of {total} values of Table 5 lie within the range of Table 4’s collections.",
        "Table 5 can be their average only where a model shares more of twenty than of ten; print cannot settle that.",
    )
    for run in shown:
        gaps = [row for row in run.rows if row.metric == difference_of(WIDER)]
        up, down = (sum(settled(row) == way for row in gaps) for way in (1, -1))
        if gaps:
            chapter.say(f"{run.named}: from ten to twenty {up} of {len(gaps)} values rise and {down} fall (settled).")


# ---- a modern encoder ------------------------------------------------------------------------------------------------


def modern(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Say what a language model of today changes: how far overlap falls, against print and against counting."""
    found = [view for view in views.views(shown) if views.models([view.encoder])]
    if found:
        cells = printed4("ACL-ANTH", "SPECTER")
        gap = _printed_gap(chapter, "TN-T4", "ACL-ANTH, SPECTER", cells[LL_HS], cells[LO_DS])
        chapter.say(
            f"Printed of SPECTER on ACL-ANTH: AOP-10 falls from {chapter.number(cells[LL_HS])} on {LL_HS} to "
            f"{chapter.number(cells[LO_DS])} on {LO_DS}, by {chapter.number(gap, 1)} points. Ours are of other papers: the fall "
            "compares, the height does not."
        )
    for view in found:
        _say_modern(chapter, view)
    if shown and not found:
        views.say_no_model(chapter)


def _say_modern(chapter: Chapter, view: View) -> None:
    rows, fall = view.rows(TEN, CATEGORIES), view.gap(LL_HS, LO_DS, TEN)
    if len(rows) < len(CATEGORIES) or fall is None:
        return
    words = {1: "higher", -1: "lower", 0: "not told apart"}
    codes = sorted(view.rows(TEN, PERTURBATIONS).values(), key=lambda row: row.value)[:3]
    least = listed([f"<code>{row.split}</code> {told(chapter, row)}" for row in codes])
    chapter.say(
        f"<strong>{view.name}, {view.run.kind}.</strong> AOP-10 falls from {told(chapter, rows[LL_HS])} on {LL_HS} to "
        f"{told(chapter, rows[LO_DS])} on {LO_DS}, by {told(chapter, fall)} points. The codes that leave least are {least}.",
    )
    lines = []
    for split in CATEGORIES:
        parts = [
            f"{told(chapter, row, sign=True)} points to {named(other)}, {words[settled(row)]}"
            for other, row in view.against(TEN, split).items()
        ]
        lines += [f"<li>{split}: {'; '.join(parts)}</li>"] if parts else []
    if lines:
        chapter.show(f"<p>Against the other encoders of the run, by category:</p><ul>{''.join(lines)}</ul>")
