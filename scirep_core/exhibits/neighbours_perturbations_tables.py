"""What chapter `neighbours/perturbations` shows: Table 1, where codes apply, and whether the categories hold.

Every sentence about a comparison is made from the rows: the category that section 3's rules give a code follows from the mean
share of words kept, and it is called unsettled where the share's 95 % interval crosses a line of the rules.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from scirep_core.data.perturbations import CATEGORIES, KEPT, LITERAL, PERTURBATIONS
from scirep_core.exhibits import counting
from scirep_core.exhibits.neighbours_perturbations import CODES, LEFT_OUT, LINES, Column, Judged, judge
from scirep_core.exhibits.neighbours_tools import cell, left
from scirep_core.exhibits.neighbours_views import listed
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import Printed, lookup

NONE = "none"
"""Said where no rule gives a category."""


def where(column: Column) -> str:
    """Return `live: ACL-ANTH`."""
    return f"{column.kind}: {counting.title(column.task)}"


def opening(column: Column) -> str:
    """Return `Live, ACL-ANTH`, as a sentence begins."""
    return f"{column.kind.capitalize()}, {counting.title(column.task)}"


def named_code(chapter: Chapter, code: str) -> str:
    """Return a code with its printed category, as a row's name."""
    label = lookup("TN-T1").get((code, "category"))
    return f"<code>{code}</code> <small>{chapter.number(label) if label else ''}</small>"


# ---- Table 1 ---------------------------------------------------------------------------------------------------------


def table1(chapter: Chapter) -> None:
    """Show Table 1 (TN-T1): each code as printed, beside what ours does, whether it draws and whether it has a literal variant."""
    printed = lookup("TN-T1")
    cells = []
    for code in CODES:
        known = PERTURBATIONS[code]
        quoted = [(field, printed[code, field].value) for field in ("title", "abstract") if (code, field) in printed]
        theirs = "; ".join(f"{field}: {html.escape(value)}" for field, value in quoted if value != "Preserve")
        ours = "; ".join(
            f"{field}: {what}" for field, what in (("title", known.title), ("abstract", known.abstract)) if what != KEPT
        )
        marks = ["drawn" if known.random else "", "literal" if code in LITERAL else ""]
        cells.append([named_code(chapter, code), theirs, ours, *marks])
    classes = [["", "published text", "live text", "", ""]] * len(cells)
    header = ["Code, printed category", left("published"), left("ours"), "random", "variant"]
    caption = "Table 1: the 32 codes as printed, and what ours do; a field that is not named is kept"
    chapter.show(report.table(header, cells, caption, classes))
    chapter.say(*_sums(chapter, printed))


def _sums(chapter: Chapter, printed: Mapping[tuple[str, str], Printed]) -> list[str]:
    """Return in words how many codes each category has, and whether ours are the printed ones."""
    labels = {code: p for (code, column), p in printed.items() if column == "category"}
    rows = chapter.record(
        arithmetic("TN-T1", f"codes in {name}", len(of), len(labels), of)
        for name in CATEGORIES
        if (of := [p for p in labels.values() if p.value == name])
    )
    counts = [f"{chapter.number(row, 0)} in {row.metric.rpartition(' ')[2]}" for row in rows]
    other = sorted(set(labels) ^ set(CODES))
    other += [code for code in CODES if code in labels and labels[code].value != PERTURBATIONS[code].category]
    said = f"Table 1 has {len(labels)} codes: {listed(counts)}."
    return [said, f"Not as ours: {listed(other)}." if other else "Ours are these codes, in these categories."]


# ---- where they apply ------------------------------------------------------------------------------------------------


def applicability(chapter: Chapter, found: Sequence[Column]) -> None:
    """Show by code how many papers have such a neighbour, why others have none, and how many texts change."""
    if not found:
        chapter.note("No collection is at hand: nothing to measure.")
        return
    cells, classes = [], []
    for code in CODES:
        row, names = [named_code(chapter, code)], [""]
        for column in found:
            applies = column.at.get((code, "applies", ""))
            row.append(f"{counting.number(chapter, applies)} of {applies.n:,}" if applies else "")
            row.append("; ".join(f"{why}: {counting.number(chapter, r)}" for why, r in _reasons(column, code)))
            row += [cell(chapter, column.at.get((code, metric, ""))) for metric in ("changed", "reworded")]
            names += [column.kind, f"{column.kind} text", column.kind, column.kind]
        cells.append(row)
        classes.append(names)
    per = ["applies to", left("not, since"), "changed, %", "reworded, %"]
    caption = (
        "By code: papers that have such a neighbour, and why others have none; of the neighbours, those that are another "
        "text at all, and those whose words are others or in another order (upper and lower case count, spaces and marks "
        "do not); small: 95 % intervals over papers"
    )
    header = ["Code, printed category", *(per * len(found))]
    chapter.show(report.table(header, cells, caption, classes, [where(column) for column in found]))
    for column in found:
        chapter.say(*_said_of_applying(chapter, column))


def _reasons(column: Column, code: str) -> list[tuple[str, Result]]:
    return [
        (html.escape(metric.removeprefix(LEFT_OUT)), r)
        for (split, metric, _), r in column.at.items()
        if split == code and metric.startswith(LEFT_OUT)
    ]


def _said_of_applying(chapter: Chapter, column: Column) -> list[str]:
    applies = {code: r for code in CODES if (r := column.at.get((code, "applies", "")))}
    some = sorted((code for code, r in applies.items() if r.value < r.n), key=lambda code: applies[code].value)
    said = [f"{opening(column)}: {len(applies) - len(some)} of {len(applies)} codes apply to every paper."]
    if some:
        least = applies[some[0]]
        said.append(f"{some[0]} applies to the fewest, {counting.number(chapter, least)} of {least.n:,}.")
    same = [code for code in CODES if (r := column.at.get((code, "reworded", ""))) and r.value == 0]
    if same:
        said.append(
            f"The words never change under {listed(same)}: an encoder that ignores white space and marks sees the original."
        )
    return said


# ---- the categories --------------------------------------------------------------------------------------------------


def judged(column: Column) -> dict[str, Judged]:
    """Return every measured code with its printed category and that by section 3's rules."""
    printed = {code: p.value for (code, name), p in lookup("TN-T1").items() if name == "category"}
    return {
        code: judge(code, kept, printed.get(code, PERTURBATIONS[code].category))
        for code in CODES
        if (kept := column.at.get((code, "words_kept", "")))
    }  # fmt: skip


def validity(chapter: Chapter, found: Sequence[Column]) -> None:
    """Show by code the words kept and the category that the rules give, beside the printed one; in words what differs."""
    if not found:
        return
    rules = [judged(column) for column in found]
    cells, classes = [], []
    for code in CODES:
        row, names = [named_code(chapter, code)], [""]
        for column, of in zip(found, rules, strict=True):
            row += [
                cell(chapter, column.at.get((code, "words_kept", ""))),
                _told(of[code]) if code in of else "",
            ]
            names += [column.kind, f"{column.kind} text"]
        cells.append(row)
        classes.append(names)
    header = ["Code, printed category", *(["words kept, %", left("category by rule")] * len(found))]
    caption = (
        "Mean share of the words that neighbours keep, and the category that section 3’s rules give for it, in bold where "
        "it is not the printed one; small: 95 % intervals over papers"
    )
    chapter.show(report.table(header, cells, caption, classes, [where(column) for column in found]))
    for column, of in zip(found, rules, strict=True):
        chapter.say(*_said_of_rules(column, of))


def _told(one: Judged) -> str:
    name = one.by_rule or NONE
    text = name if one.agrees else f"<strong>{name}</strong>"
    return text if one.settled else f"{text} <small>not settled</small>"


def _said_of_rules(column: Column, of: Mapping[str, Judged]) -> list[str]:
    """Return in words how many printed categories the rules give, which codes have another or none, and what is open."""
    agreed = sum(one.agrees for one in of.values())
    said = [f"{opening(column)}: section 3’s rules give the printed category to {agreed} of {len(of)} codes."]
    groups: dict[tuple[str, str], list[str]] = {}
    for one in of.values():
        if one.by_rule and not one.agrees:
            groups.setdefault((one.printed, one.by_rule), []).append(one.code)
    for (printed, by_rule), codes in groups.items():
        said.append(f"{listed(codes)} {'is' if len(codes) == 1 else 'are'} printed as {printed} and by rule {by_rule}.")
    if none := [f"{one.code} (printed as {one.printed})" for one in of.values() if one.by_rule is None]:
        said.append(
            f"No rule fits {listed(none)}: under {LINES[1]:.0f} % of the words are kept, and neither are the abstract’s nouns "
            "deleted nor is its direction changed."
        )
    if unsettled := [one.code for one in of.values() if not one.settled]:
        said.append(f"Not settled, since the interval crosses a line of the rules: {listed(unsettled)}.")
    return said


# ---- the figure ------------------------------------------------------------------------------------------------------


@report.styled
def draw(chapter: Chapter, found: Sequence[Column]) -> None:
    """Draw words kept by code, in groups of the printed category, with the rules' two lines; of two kinds at most."""
    shown = [(column, judged(column)) for column in found if judged(column)][:2]
    if not shown:
        return
    figure, ax = report.subplots(figsize=(report.WIDTH, 8.2))
    places = _groups(ax)
    for line in LINES:
        ax.axvline(line, color=report.FLOOR, linewidth=1, linestyle=(0, (4, 3)))
    records: list[dict[str, Any]] = []
    for at, (column, of) in enumerate(shown):
        shift = (0.2, -0.2)[at] if len(shown) > 1 else 0.0
        marks = report.MARKS[column.kind]
        hollow = marks | {"markerfacecolor": report.PAPER, "markeredgecolor": marks["color"]}
        for code, one in of.items():
            kept, y = column.at[code, "words_kept", ""], places[code] + shift
            if kept.low is not None and kept.high is not None:
                ax.plot([kept.low, kept.high], [y, y], color=marks["color"], linewidth=1.4, solid_capstyle="butt")
            ax.plot([kept.value], [y], linestyle="none", **(marks if one.agrees else hollow))
            records.append({"collection": where(column), "code": code, "printed": one.printed, "by rule": one.by_rule or NONE,
                            "words kept": kept.value, "low": kept.low, "high": kept.high, "n": kept.n})  # fmt: skip
    ax.set_xlim(0, 102)
    ax.set_xlabel("words of title and abstract that are kept, %")
    ax.grid(axis="y", visible=False)
    kinds = [f"{where(column)} ({_mark(column.kind)}, n = {_most(column):,} papers)" for column, _ in shown]
    other = [one.code for one in shown[0][1].values() if not one.agrees]
    chapter.figure(
        "words-kept", figure, pd.DataFrame(records),
        caption=f"Mean share of the words that neighbours keep, by code, with 95 % intervals; {listed(kinds)}. Coloured bars and "
        f"names at the right: the printed category. Dashed: section 3’s lines, {LINES[0]:.0f} % for highly, {LINES[1]:.0f} % for "
        "partially similar neighbours. Hollow: the rules give another category, or none.",
        alt=f"Dot plot of {len(shown[0][1])} codes in five groups; {len(other)} of them are hollow, since section 3’s rules do not "
        f"give the printed category: {listed(other)}.",
    )  # fmt: skip


def _groups(ax: Any) -> dict[str, float]:
    """Draw a coloured bar and a name for each printed category; return the height of each code, top to bottom."""
    places: dict[str, float] = {}
    y = 0.0
    for name, colour in zip(CATEGORIES, report.SERIES, strict=False):
        top = y
        for code in (code for code in CODES if PERTURBATIONS[code].category == name):
            places[code] = y
            y -= 1
        ax.plot([-0.012, -0.012], [top + 0.4, y + 0.6], color=colour, linewidth=4, transform=ax.get_yaxis_transform(),
                clip_on=False, solid_capstyle="butt")  # fmt: skip
        ax.annotate(name, (1.0, (top + y + 1) / 2), xycoords=("axes fraction", "data"), xytext=(6, 0),
                    textcoords="offset points", va="center", fontsize=10, fontweight="bold", color=report.INK)  # fmt: skip
        y -= 0.5
    ax.set_yticks(list(places.values()), list(places))
    ax.set_ylim(y + 0.2, 0.8)
    ax.tick_params(axis="y", length=0, pad=8)
    return places


def _most(column: Column) -> int:
    return max(r.n for (_, metric, _), r in column.at.items() if metric == "words_kept")


def _mark(kind: str) -> str:
    return "diamonds" if kind == "live" else "dots"
