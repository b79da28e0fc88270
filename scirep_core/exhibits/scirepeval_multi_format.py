"""Chapter `scirepeval/multi_format`: one vector for all tasks, or one a task format? (SciRepEval v2 and v1, section 6, Table 2)

The lower half of Table 2, trained again on the embedded literature: recorded over several trainings, live over fewer and shorter
ones. Lines are compared as in the papers, by Tukey's test over trainings. Four lines are ours: what the ensemble owes to being two
models is shown by a control, the mean of two trainings of MTL CLS; four vectors can be had in one pass; and one vector or one
pass can learn from every label that a paper has.

Printed means and standard deviations of five runs are all Tukey's test needs, so printed differences have intervals too.
Other bases, widths and mixtures of batches are in scirepeval_multi_more.py, Figure 1 in scirepeval_multi_drawing.py.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from scirep_core.bench.suites import units
from scirep_core.evaluators.reference import MOST_WORDS
from scirep_core.exhibits import cell, sign, studies
from scirep_core.exhibits.counting import names_in
from scirep_core.exhibits.scirepeval_print import ROUNDED
from scirep_core.exhibits.studies import SPLITS, cells, difference
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.comparison import Tukey, anova_tukey, values_of
from scirep_core.results.published import Printed, lookup

PRINT = {
    "Base": "SPECTER2 Base", "MTL CLS": "SPECTER2 MTL CLS", "MTL CTRL": "SPECTER2 MTL CTRL", "Adapters": "SPECTER2 Adapters",
    "PALs": "SPECTER2 PALs", "Fusion": "SPECTER2 Fusion", "Adapters + MTL CTRL": "SPECTER2 Adapters + MTL CTRL",
}  # fmt: skip
"""Our lines and their rows in v2 Table 2; in v1 they are named after SciNCL."""
ENSEMBLE, CONTROL = "Adapters + MTL CTRL", "mean of two MTL CLS"
OURS = ("one pass", "MTL CLS dense", "one pass dense", CONTROL)
LINES = (*PRINT, *OURS)
LABELS = {
    "one pass": "one pass <small>(ours)</small>", "MTL CLS dense": "MTL CLS, dense labels <small>(ours)</small>",
    "one pass dense": "one pass, dense labels <small>(ours)</small>", CONTROL: "mean of two MTL CLS <small>(control)</small>",
    "Base": "Base, trained by citations alone",
}  # fmt: skip
FORMATS = {"CLF": "classification", "RGN": "regression", "PRX": "proximity", "QRY": "search"}


class Question(NamedTuple):
    """Lines that are held against another, and what that asks."""

    asks: str
    pairs: tuple[tuple[str, str], ...]


SEVERAL = ("MTL CTRL", "Adapters", "PALs", "Fusion")
QUESTIONS = (
    Question("Several vectors against one", tuple((name, "MTL CLS") for name in SEVERAL)),
    Question("Adapters against control codes", tuple((name, "MTL CTRL") for name in SEVERAL[1:])),
    Question("The ensemble against its members", ((ENSEMBLE, "Adapters"), (ENSEMBLE, "MTL CTRL"))),
    Question("Is that more than two models?", ((ENSEMBLE, CONTROL), (CONTROL, "MTL CLS"))),
    Question("Four vectors in one pass", (("one pass", "MTL CTRL"), ("one pass", "MTL CLS"))),
    Question("Every label of a paper used", (("MTL CLS dense", "MTL CLS"), ("one pass dense", "one pass"),
                                             ("one pass dense", "MTL CLS dense"))),
)  # fmt: skip
Differences = dict[tuple[str, str, str, str], Result]
"""First minus second by (first, second, column, kind): published, recorded or live."""


# ---- runs ------------------------------------------------------------------------------------------------------------


def kept() -> list[Result]:
    """Return our committed run of the study."""
    return studies.recorded_study("main")


def live(chapter: Chapter) -> list[Result]:
    """Train and score what the parameters name, in this build, with floor, words alone and ceiling beside it."""
    given = chapter.parameters
    names = names_in(given["variants"])
    return study_.live(
        chapter, "main", ["Base", *(name for name in names if name != "Base")], range(given["seeds"]),
        bases=(given["base"],), references=tuple(studies.REFERENCES),
    )  # fmt: skip


def kinds(rows: Sequence[Result]) -> dict[str, Sequence[Result]]:
    """Return the runs at hand by kind."""
    return {"recorded": kept(), "live": rows}


# ---- Table 2 ---------------------------------------------------------------------------------------------------------


def table2(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show the lower half of Table 2: published, recorded and live side by side, with what our numbers rest on (V2-T2)."""
    studies.say_unrecorded(chapter, "main", kept())
    printed = lookup("V2-T2")
    quoted = {(line, split): printed[row, column] for line, row in PRINT.items() for split, column in SPLITS.items()}
    caption = (
        "Table 2, lower half: averages over 7 in-train, 20 out-of-train and all 27 units, 0 to 100, ± standard deviation over "
        "trainings. Bold: the highest of each kind; underlined: not told by Tukey’s test (5 %) from the best of those trained "
        "several times. Published numbers are of the real tasks, ours of invented ones: they cannot be compared, their differences "
        "within a kind can"
    )
    chapter.show(studies.study_table(chapter, caption, kinds(rows), LINES, tuple(SPLITS), quoted, LABELS))
    for kind, found in kinds(rows).items():
        if found:
            chapter.say(f"{kind.capitalize()}: {studies.facts(found)}; {_units(found)}.", _placed(chapter, found))


def _placed(chapter: Chapter, rows: Sequence[Result]) -> str:
    """Return where the best line lies between floor and ceiling, and how many lines words alone are ahead of."""
    table = {line: row for (line, split), row in cells(rows).items() if split == "all"}
    trained = {line: row for line, row in table.items() if line not in studies.REFERENCES}
    if not trained or not set(studies.REFERENCES) <= set(table):
        return ""
    floor, words, ceiling = (table[name] for name in (studies.FLOOR, studies.LEXICAL, studies.CEILING))
    best = max(trained.values(), key=lambda row: row.value)
    behind = sum(row.value < words.value for row in trained.values())
    return (
        f"On average the best line, {html.escape(best.encoder)} ({chapter.number(best, 1)}), lies between the floor "
        f"({chapter.number(floor, 1)}) and the ceiling ({chapter.number(ceiling, 1)}); TF-IDF ({chapter.number(words, 1)}), with "
        f"up to {MOST_WORDS:,} numbers a paper, is ahead of {behind} of {len(trained)} lines."
    )


def _units(rows: Iterable[Result]) -> str:
    """Return how many units an average has, and which are missing."""
    found = next((r for r in rows if r.metric == "average" and r.split == "all" and "trainings" in r.parameters), None)
    if found is None:
        return "no average"
    every = [unit.name for unit in units("v2")]
    lacking = [html.escape(name.removeprefix("scirepeval/")) for name in every if name not in found.by_query]
    if not found.by_query or not lacking:
        return f"averages of {len(every)} units"
    return (
        f"averages of {len(found.by_query)} of {len(every)} units, without {listed(lacking)}, whose few-shot settings were "
        "not scored or cannot be drawn from so small a literature"
    )


def trainings_figure(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw every training of the largest run there is, in and out of train."""
    shown = kept() or rows
    lines = [line for line in LINES if line in studies.lines_of(shown)]
    plain = {name: text.partition(" <small>")[0] for name, text in LABELS.items()}
    studies.study_figure(
        chapter, "trainings", shown, tuple(SPLITS),
        f"{shown[0].kind.capitalize()} run: averages of each training (dots) and their mean (bar), 0 to 100; thin lines are the "
        f"floor (random vectors), TF-IDF and the ceiling (oracle), named at the edge where far off. {studies.facts(shown)}.",
        f"Dot plot of in-train, out-of-train and overall averages of {len(lines)} ways of training, a dot a training.",
        {**SPLITS, **plain}, lines=lines,
    )  # fmt: skip


# ---- differences -----------------------------------------------------------------------------------------------------


def differences(chapter: Chapter, rows: Sequence[Result]) -> Differences:
    """Record and return the differences of all questions, in every column and of every kind that has them."""
    found: Differences = {}
    for split, column in SPLITS.items():
        tested = printed_test("V2-T2", column)
        for question in QUESTIONS:
            for first, second in question.pairs:
                if first in PRINT and second in PRINT:
                    made = printed_difference("V2-T2", column, PRINT[first], PRINT[second], tested)
                    found[first, second, split, "published"] = chapter.record([made])[0]
    for kind, run in kinds(rows).items():
        for split in SPLITS:
            for second in dict.fromkeys(b for question in QUESTIONS for _, b in question.pairs):
                lines = [a for question in QUESTIONS for a, b in question.pairs if b == second]
                for row in studies.tukey_rows(chapter, run, split, second, lines=lines):
                    found[row.encoder, second, split, kind] = row
    return found


def printed_test(exhibit: str, column: str) -> Tukey:
    """Return Tukey's test over the rows of a printed column that give a standard deviation, of five runs each."""
    groups = {
        row: values_of(p.number, float(p.std)) for (row, c), p in lookup(exhibit).items() if c == column and p.std
    }
    return anova_tukey({row: list(values) for row, values in groups.items()})


def printed_difference(exhibit: str, column: str, first: str, second: str, tested: Tukey) -> Result:
    """Return a printed difference as a row; with Tukey's interval where both print a standard deviation."""
    printed = lookup(exhibit)
    numbers: list[Printed] = [printed[first, column], printed[second, column]]
    made = arithmetic(exhibit, f"{column}, {first} minus {second}", numbers[0].number - numbers[1].number, 5, numbers)
    if first not in tested.means or second not in tested.means:
        return made
    pair = tested.pair(first, second)
    return replace(
        made, low=pair.low, high=pair.high, note="arithmetic on printed numbers, Tukey’s interval over five runs"
    )


@report.styled
def differences_figure(chapter: Chapter, found: Differences) -> None:
    """Draw all differences with their intervals: a row a question's pair, a panel a column."""
    pairs = [pair for question in QUESTIONS for pair in question.pairs if any(key[:2] == pair for key in found)]
    if not pairs:
        return
    names = {(a, b): f"{a} − {b}" for a, b in pairs}
    figure, drawn = report.subplots(1, 3, figsize=(report.WIDTH, 1.3 + 0.36 * len(pairs)), sharey=True)
    frame = []
    there = [kind for kind in ("published", "recorded", "live") if any(key[3] == kind for key in found)]
    for axes, (split, column) in zip(drawn, SPLITS.items(), strict=True):
        series = []
        for kind in there:
            of = {names[p]: found[*p, split, kind] for p in pairs if (*p, split, kind) in found}
            bounds = {n: (r.low, r.high) for n, r in of.items() if r.low is not None and r.high is not None}
            series.append(report.Dots(kind, {n: r.value for n, r in of.items()}, bounds))
            frame += [{"pair": n, "column": column, "kind": kind, "difference": r.value, "low": r.low, "high": r.high,
                       "p": r.parameters.get("p")} for n, r in of.items()]  # fmt: skip
        report.dot_plot(axes, list(names.values()), series)
        axes.axvline(0, color=report.INK, linewidth=0.8)
        axes.set_title(column)
    drawn[1].set_xlabel("difference of means, points")
    drawn[0].tick_params(axis="y", labelsize=8)
    handles, shown = drawn[0].get_legend_handles_labels()
    by_label = dict(zip(shown, handles, strict=True))
    figure.legend(by_label.values(), by_label, loc="outside upper right", ncols=3)
    chapter.figure(
        "differences", figure, pd.DataFrame(frame),
        "Differences between ways of training, in points, with Tukey’s family-wise 95 % intervals over trainings: published ones "
        "from the printed means and standard deviations of five runs. An interval that leaves out 0 is settled. Published "
        "differences are of the real tasks, the others of invented ones.",
        f"Dot plot with intervals of {len(pairs)} differences in three columns, published beside our own.",
    )  # fmt: skip


def say_differences(chapter: Chapter, found: Differences) -> None:
    """Show the differences of the average over all units, and say question by question how many are settled which way."""
    there = [kind for kind in ("published", "recorded", "live") if any(key[3] == kind for key in found)]
    body, items = [], []
    for question in QUESTIONS:
        told = []
        for kind in there:
            of = {pair: found[*pair, "all", kind] for pair in question.pairs if (*pair, "all", kind) in found}
            told += [f"<em>{kind}</em> {_counted(of)}"] if of else []
        if told:
            end = "" if question.asks.endswith("?") else ":"
            items.append(f"<li><strong>{question.asks}{end}</strong> {'; '.join(told)}.</li>")
        for a, b in question.pairs:
            cells_ = [found.get((a, b, "all", kind)) for kind in there]
            if any(cells_):
                body.append(
                    [f"{html.escape(a)} − {html.escape(b)}", *(cell(chapter, row, 2, signed=True) for row in cells_)]
                )
    chapter.show(f"<ul>{''.join(items)}</ul>")
    caption = "Differences of the average over all units, in points, with Tukey’s intervals over trainings"
    chapter.show(report.table(["First − second", *there], body, caption, [["", *there]] * len(body)))
    for text in (rounding(found), agreement(found, "recorded"), agreement(found, "live")):
        if text:
            chapter.say(text)


def _counted(of: Mapping[tuple[str, str], Result]) -> str:
    """Return `MTL CTRL ahead of MTL CLS, PALs and Fusion not told from it`, or whatever the intervals settle."""
    said = []
    for way, word in ((1, "ahead of"), (-1, "behind"), (0, "not told from")):
        by_second: dict[str, list[str]] = {}
        for (a, b), row in of.items():
            if row.low is not None and sign(row) == way:
                by_second.setdefault(b, []).append(html.escape(a))
        said += [f"{listed(names)} {word} {html.escape(b)}" for b, names in by_second.items()]
    return ", ".join(said) or "no test"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def rounding(found: Differences) -> str:
    """Return which printed differences are settled by less than the rounding of two printed means can move them."""
    near = [
        f"{html.escape(first)} − {html.escape(second)}, {SPLITS[split]}"
        for (first, second, split, kind), row in found.items()
        if kind == "published" and sign(row) and min(abs(row.low or 0.0), abs(row.high or 0.0)) <= ROUNDED
    ]
    told = "Printed means are rounded to 0.1, so that two of them can move a difference by as much; that could undo"
    return f"{told} {listed(near)}." if near else ""


def agreement(found: Differences, kind: str) -> str:
    """Return how many of the differences that print settles a run of ours settles the same way, the other way, or leaves open."""
    ways: dict[str, list[str]] = {"same": [], "opposite": [], "open": []}
    for (first, second, split, of), row in found.items():
        ours = found.get((first, second, split, kind))
        if of != "published" or ours is None or not sign(row):
            continue
        way = "open" if not sign(ours) else "same" if sign(ours) == sign(row) else "opposite"
        ways[way].append(f"{html.escape(first)} − {html.escape(second)}, {SPLITS[split]}")
    total = sum(map(len, ways.values()))
    if not total:
        return ""
    against = f" ({'; '.join(ways['opposite'])})" if ways["opposite"] else ""
    return (
        f"Of the {total} differences that print settles and our {kind} trainings can be asked, these settle "
        f"{len(ways['same'])} the same way, {len(ways['opposite'])} the other way{against}, and leave {len(ways['open'])} open."
    )


def against_base(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say whether MTL CLS is on par with the base it starts from, and what each way of training does to it (V2-C4)."""
    printed = lookup("V2-T2")
    for kind, run in kinds(rows).items():
        table = cells(run)
        told = []
        for split, column in SPLITS.items():
            base, cls = table.get(("Base", split)), table.get(("MTL CLS", split))
            if base is None or cls is None:
                continue
            row = chapter.record([above_base(cls, base)])[0]
            quoted = [printed[PRINT[name], column] for name in ("MTL CLS", "Base")]
            gap = chapter.record([
                arithmetic("V2-T2", f"{column}, MTL CLS minus Base", quoted[0].number - quoted[1].number, 5, quoted)
            ])[0]  # fmt: skip
            shown = difference(chapter, row) if row.low is not None else chapter.number(row, 2, sign=True)
            told.append(f"{column} {shown}, in print {chapter.number(gap, 1, sign=True)}")
        if told:
            chapter.say(
                f"{kind.capitalize()}: MTL CLS minus the base it was trained from, with the 95 % t interval over trainings "
                f"of MTL CLS: {'; '.join(told)}."
            )


def above_base(mean: Result, base: Result) -> Result:
    """Return a mean over trainings minus one base's value, as a row: the base is one model and has no spread of its own."""
    low, high = (None if bound is None else bound - base.value for bound in (mean.low, mean.high))
    return replace(
        mean, metric=f"average minus Base ({mean.kind})", value=mean.value - base.value, low=low, high=high, by_query={},
        note=f"difference from one base, t interval over {mean.n} trainings",
    )  # fmt: skip


# ---- by format -------------------------------------------------------------------------------------------------------


def by_format(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show the averages of each task format, and on which of them several vectors help."""
    shown = kept() or rows
    counts = {form: sum(unit.format == form for unit in units("v2")) for form in FORMATS}
    labels = {form: f"{name} ({counts[form]})" for form, name in FORMATS.items()}
    caption = (
        f"{shown[0].kind.capitalize()} run by task format (units of each in the full benchmark), ± standard deviation over "
        "trainings; marks as above"
    )
    table = studies.study_table(
        chapter, caption, {shown[0].kind: shown}, LINES, tuple(FORMATS), labels={**LABELS, **labels}
    )
    chapter.show(table)
    told = []
    for form, name in FORMATS.items():
        made = studies.tukey_rows(chapter, shown, form, "MTL CLS", lines=("MTL CTRL", "Adapters"))
        if made:
            told.append(f"{name}: {'; '.join(f'{html.escape(r.encoder)} {difference(chapter, r)}' for r in made)}")
    if told:
        chapter.say(
            f"Minus MTL CLS, by format, each a test of its own. {'. '.join(_first(one) for one in told)}.",
            settled(shown),
        )


def _first(text: str) -> str:
    return text[0].upper() + text[1:]


def settled(rows: Sequence[Result], against: str = "MTL CLS", lines: Sequence[str] = SEVERAL) -> str:
    """Return on which formats some line with several vectors is settled ahead of, or behind, the one with one."""
    ahead, behind = [], []
    for form, name in FORMATS.items():
        tested = studies.tukey_of(rows, form)
        if tested is None or against not in tested.means:
            continue
        pairs = [tested.pair(line, against) for line in lines if line in tested.means]
        ahead += [name] if any(pair.low > 0 for pair in pairs) else []
        behind += [name] if any(pair.high < 0 for pair in pairs) else []
    parts = [
        f"Some line with several vectors is ahead of {against} on {listed(ahead)}" if ahead else
        f"No line with several vectors is settled ahead of {against} on any format",
        f"some is behind on {listed(behind)}" if behind else "none is settled behind on any",
    ]  # fmt: skip
    return f"{'; '.join(parts)}."
