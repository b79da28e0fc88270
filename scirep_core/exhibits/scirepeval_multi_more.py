"""Chapter `scirepeval/multi_format`, is it robust: other bases, ensembles, batches, widths, real papers (v2 6, D; v1 3, B, 6).

Every table is of a recorded study and its comparisons are Tukey's over trainings. The width curve is ours: were one vector
behind because it is too narrow for four formats, its distance should shrink as vectors grow wider,

    gap_s(w) = several - one, of training s at width w          slope of gap_s(w) on log2 w, least squares, 95 % t interval
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from scirep_core.bench import studied
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.exhibits import cell, sign, studies
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.scirepeval_multi_format import CONTROL, ENSEMBLE, LABELS, listed
from scirep_core.exhibits.scirepeval_print import AVERAGE, rows_of
from scirep_core.exhibits.studies import SPLITS, average_column, difference
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic, provenance
from scirep_core.results.published import lookup

COLUMNS = tuple(SPLITS)
BASES = {
    "embedded untrained": "word vectors, no citations (as SciBERT is to SPECTER)",
    "embedded specter": "trained by citations, negatives as the training set has them (SPECTER’s way)",
    "embedded": "trained by citations, negatives by field and by citation (SPECTER2’s way)",
}
VARIANTS = ("Base", "MTL CLS", "MTL CTRL", "Adapters", ENSEMBLE)
JOINED, TWICE = "Adapters ++ MTL CTRL", "mean of two MTL CTRL"


def _of(rows: Iterable[Result], key: str, value: object) -> list[Result]:
    return [row for row in rows if row.parameters.get(key) == value]


def _marks(rows: Sequence[Result], what: str = "Averages") -> str:
    return f"{studies.facts(rows)}. {what}, 0 to 100, ± standard deviation over trainings; marks as above"


# ---- other bases -----------------------------------------------------------------------------------------------------


def bases_in_print(chapter: Chapter) -> None:
    """Say whether several vectors are ahead of one on every base of v2 Table 8 and v1 Table 3."""
    for exhibit in ("V2-T8", "V1-T3"):
        printed, gaps = lookup(exhibit), {}
        for row in rows_of(exhibit):
            base, _, way = row.partition(" + ")
            if way != "MTL CLS":
                pair = [printed[row, AVERAGE], printed[f"{base} + MTL CLS", AVERAGE]]
                made = arithmetic(exhibit, f"{AVERAGE}, {row} minus MTL CLS", pair[0].number - pair[1].number, 1, pair)
                gaps[row] = chapter.record([made])[0]
        low, high = (pick(gaps.values(), key=lambda row: row.value) for pick in (min, max))
        below = [html.escape(row) for row, gap in gaps.items() if gap.value <= 0]
        chapter.say(
            f"{exhibit}: {len(gaps) - len(below)} of {len(gaps)} rows with several vectors are ahead of MTL CLS on their base, by "
            f"{chapter.number(low, 1, sign=True)} to {chapter.number(high, 1, sign=True)} points on average"
            + (f"; not {listed(below)}" if below else "")
            + ". No standard deviation is printed."
        )


def bases(chapter: Chapter) -> None:
    """Show the study of other bases, base by base, and what is settled on each (V2-T8, V1-T3)."""
    rows = studies.recorded_study("bases")
    studies.say_unrecorded(chapter, "bases", rows)
    ahead: dict[str, list[str]] = {"MTL CTRL": [], "Adapters": []}
    there = [base for base in BASES if _of(rows, "base", base)]
    for base in there:
        of = _of(rows, "base", base)
        lines = [f"{name} on {base}" for name in VARIANTS]
        labels = {line: LABELS.get(name, name) for line, name in zip(lines, VARIANTS, strict=True)}
        labels[lines[0]] = "Base as it is"
        caption = f"Base: {BASES[base]}. {_marks(of)}"
        chapter.show(studies.study_table(chapter, caption, {"recorded": of}, lines, COLUMNS, labels=labels))
        told = []
        for made in studies.tukey_rows(chapter, of, "all", lines[1], lines=lines[2:]):
            name = made.encoder.removesuffix(f" on {base}")
            told.append(f"{html.escape(name)} {difference(chapter, made)}")
            ahead.get(name, []).extend([base] if sign(made) > 0 else [])
        if told:
            chapter.say(f"Average minus MTL CLS: {'; '.join(told)}.")
    if there:
        counts = "; ".join(f"{name} on {len(found)} of {len(there)}" for name, found in ahead.items())
        chapter.say(f"Settled ahead of MTL CLS on its own base: {counts}.")


# ---- ensembles -------------------------------------------------------------------------------------------------------


def ensembles(chapter: Chapter) -> None:
    """Show mean and concatenation of the real Adapters and MTL CTRL, beside two trainings of one kind (V2-C12, V1-C9)."""
    rows = studies.recorded_study("ensembles")
    studies.say_unrecorded(chapter, "ensembles", rows)
    if not rows:
        return
    lines = ("MTL CLS", "MTL CTRL", "Adapters", ENSEMBLE, JOINED, CONTROL, TWICE)
    labels = {**LABELS, JOINED: "the same, concatenated", TWICE: "mean of two MTL CTRL <small>(control)</small>"}
    chapter.show(
        studies.study_table(chapter, f"Ensembles. {_marks(rows)}", {"recorded": rows}, lines, COLUMNS, labels=labels)
    )
    items = []
    for asks, first, second in (
        ("Concatenating minus averaging", JOINED, ENSEMBLE),
        ("Averaging two kinds minus two trainings of MTL CTRL", ENSEMBLE, TWICE),
        ("Averaging two kinds minus two trainings of MTL CLS", ENSEMBLE, CONTROL),
        ("A second training of MTL CTRL minus one", TWICE, "MTL CTRL"),
    ):
        told = [
            f"{SPLITS[split]} {difference(chapter, row)}"
            for split in COLUMNS
            for row in studies.tukey_rows(chapter, rows, split, second, lines=(first,))
        ]
        items += [f"<li>{asks}: {'; '.join(told)}</li>"] if told else []
    chapter.show(f"<ul>{''.join(items)}</ul>")
    _say_alike(chapter, rows)


def _say_alike(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say whether concatenating and averaging are told apart anywhere, with the widest interval: what it cannot exclude."""
    found = {split: studies.tukey_of(rows, split) for split in COLUMNS}
    pairs = {s: t.pair(JOINED, ENSEMBLE) for s, t in found.items() if t and {JOINED, ENSEMBLE} <= set(t.means)}
    if not pairs:
        return
    apart = [SPLITS[split] for split, pair in pairs.items() if pair.low > 0 or pair.high < 0]
    most = max(max(abs(pair.low), abs(pair.high)) for pair in pairs.values())
    chapter.say(
        f"Concatenating is told from averaging in {listed(apart)}, against the footnote."
        if apart else
        "Concatenating is told from averaging in no column, as the footnote says; the intervals leave room for a difference of "
        f"up to {most:.1f} points."
    )  # fmt: skip


# ---- batches and codes -----------------------------------------------------------------------------------------------


def batching(chapter: Chapter) -> None:
    """Show how batches are mixed, how losses weigh and how codes begin (V1-C11): what the submission says, and our study of it."""
    said = "".join(
        f"<li>{html.escape(p.row.capitalize())}: {html.escape(p.note)}.</li>" for p in lookup("V1-C11").values()
    )
    chapter.show(f"<p>What the submission says, without numbers:</p><ul>{said}</ul>")
    rows = studies.recorded_study("batching")
    studies.say_unrecorded(chapter, "batching", rows)
    if not rows:
        return
    lines = studies.lines_of(rows)
    labels = {"MTL CTRL": "MTL CTRL: equal shares of every task, codes at random"}
    chapter.show(studies.study_table(chapter, f"Batches, losses and codes. {_marks(rows)}", {"recorded": rows}, lines, COLUMNS,
                                     labels=labels))  # fmt: skip
    chapter.say(
        studies.say_tukey(
            chapter, studies.tukey_rows(chapter, rows, "all", "MTL CTRL"), labels={"MTL CTRL": "the default"}
        )
    )


# ---- widths ----------------------------------------------------------------------------------------------------------

CURVES = {"MTL CLS": report.SERIES[0], "MTL CTRL": report.SERIES[1], "MTL CLS dense": report.SERIES[2],
          "one pass dense": report.SERIES[3], "Base": report.MUTED}  # fmt: skip
GAPS = (("MTL CTRL", "MTL CLS"), ("one pass dense", "MTL CLS dense"))
"""Several vectors, one vector, all else equal."""


def widths(chapter: Chapter) -> None:
    """Draw the width curve, and say how far several vectors are ahead of one at each width, and whether that shrinks."""
    rows = studies.recorded_study("widths")
    studies.say_unrecorded(chapter, "widths", rows)
    if not rows:
        return
    _curves(chapter, rows)
    sizes = sorted({row.parameters["width"] for row in studied.means(rows)})
    for several, one in GAPS:
        told = []
        for width in sizes:
            of = _of(rows, "width", width)
            made = studies.tukey_rows(chapter, of, "all", f"{one}, width {width}", lines=(f"{several}, width {width}",))
            told += [f"width {width} {difference(chapter, row)}" for row in made]
        if told:
            chapter.say(
                f"{html.escape(several)} minus {html.escape(one)}, average: {'; '.join(told)}.",
                _trend(chapter, rows, several, one),
            )


@report.styled
def _curves(chapter: Chapter, rows: Sequence[Result]) -> None:
    figure, drawn = report.subplots(1, 3, figsize=(report.WIDTH, 3.0))
    frame = []
    for axes, (split, column) in zip(drawn, SPLITS.items(), strict=True):
        for name, colour in CURVES.items():
            found = [
                r for r in studied.trainings(rows) if average_column(r) == split and r.parameters.get("variant") == name
            ]
            by = pd.DataFrame([(r.parameters["width"], r.value) for r in found], columns=["width", "value"])
            means = by.groupby("width")["value"].mean()
            axes.plot(by["width"], by["value"], ".", color=colour, alpha=0.4, markersize=5)
            axes.plot(means.index, means.to_numpy(), color=colour, label=name, linewidth=1.6)
            frame += [
                {"column": column, "line": name, "width": w, "average": v}
                for w, v in zip(by["width"], by["value"], strict=True)
            ]
        axes.set_xscale("log", base=2)
        ticks = sorted({r.parameters["width"] for r in studied.means(rows)})
        axes.set_xticks(ticks, [str(w) for w in ticks])
        axes.set_title(column)
    drawn[0].set_ylabel("average (0 to 100)")
    drawn[1].set_xlabel("width of a vector")
    figure.legend(*drawn[0].get_legend_handles_labels(), loc="outside upper left", ncols=5, fontsize=9)
    chapter.figure(
        "widths", figure, pd.DataFrame(frame),
        f"Averages by width of the vectors (recorded; a dot a training, lines through means). {studies.facts(rows)}.",
        f"Line plot of in-train, out-of-train and overall averages against width for {len(CURVES)} ways of training.",
    )  # fmt: skip


def _trend(chapter: Chapter, rows: Sequence[Result], several: str, one: str) -> str:
    """Say how a gap changes with each doubling of the width, over the trainings of all widths."""
    from scipy.stats import linregress, t

    found = {(r.parameters["variant"], r.parameters["width"], r.parameters["training_seed"]): r
             for r in studied.trainings(rows) if average_column(r) == "all" and "training_seed" in r.parameters}  # fmt: skip
    points = [(math.log2(w), row.value - found[one, w, seed].value) for (name, w, seed), row in found.items()
              if name == several and (one, w, seed) in found]  # fmt: skip
    if len({x for x, _ in points}) < 3:
        return ""
    x, y = np.array(points).T
    fitted = linregress(x, y)
    half = float(t.ppf(0.975, len(points) - 2)) * float(fitted.stderr)
    first = next(iter(found.values()))
    made = Result(
        first.task, "all", f"slope of the gap to {one} on log2 width", first.protocol, float(fitted.slope), len(points),
        encoder=several, low=float(fitted.slope) - half, high=float(fitted.slope) + half, source=first.source,
        data_hash=first.data_hash, seed=first.seed, provenance=provenance(), note="least squares over the recorded trainings",
    )  # fmt: skip
    row = chapter.record([made])[0]
    word = {1: "grows", -1: "shrinks", 0: "is not shown to change"}[sign(row)]
    return f"With each doubling of the width the gap {word}: {difference(chapter, row)} points."


# ---- real papers -----------------------------------------------------------------------------------------------------


def sample_column(row: Result) -> str | None:
    """Return the sample task of a row that is its one number on what was held out; None of others."""
    return row.task if row.task in SAMPLES and studied.main_metric(row) else None


def samples(chapter: Chapter) -> None:
    """Show the same on real papers: MiniLM trained on SciRepEval's training samples, scored on what was held out."""
    rows = studies.recorded_study("samples")
    studies.say_unrecorded(chapter, "samples", rows)
    if not rows:
        return
    chapter.say(
        "Trainings are read as MiniLM itself is, by the mean of all tokens and with its sign between title and abstract, but "
        "for one pass, which reads a token a format."
    )
    tasks = list(dict.fromkeys(column for row in rows if (column := sample_column(row))))
    labels = {task: html.escape(title(task).removesuffix(" (sample)")) for task in tasks} | LABELS
    labels["Base"] = "MiniLM as it is"
    caption = f"Real samples: of those trained on, what was held out. {_marks(rows, 'Each task’s own metric')}"
    chapter.show(studies.study_table(chapter, caption, {"recorded": rows}, studies.lines_of(rows), tasks, labels=labels,
                                     column_of=sample_column))  # fmt: skip
    tally = {1: 0, -1: 0, 0: 0}
    settled = []
    for task in tasks:
        for row in studies.tukey_rows(chapter, rows, task, "MTL CLS", sample_column):
            tally[sign(row)] += 1
            settled += [f"{html.escape(row.encoder)} on {labels[task]} {difference(chapter, row)}"] if sign(row) else []
    total = sum(tally.values())
    chapter.say(
        f"Of {total} differences from MTL CLS (each way, each task) {tally[1]} are settled above 0 and {tally[-1]} below"
        + (f": {'; '.join(settled)}." if settled else ".")
        if total else "",
        _test_rows(rows),
    )  # fmt: skip
    _over_rows(chapter, rows, tasks, labels)


def _over_rows(chapter: Chapter, rows: Sequence[Result], tasks: Sequence[str], labels: dict[str, str]) -> None:
    """Show the first training of every way with its interval over held-out rows, and who is apart from MiniLM as it is."""
    first = {
        (studied.line(row), column): row
        for row in reversed(studied.trainings(rows))
        if (column := sample_column(row)) and row.low is not None
    }
    if not first:
        return
    body = [
        [labels.get(line, html.escape(line)), *(cell(chapter, first.get((line, task))) for task in tasks)]
        for line in studies.lines_of(rows)
    ]
    chapter.show(
        report.table(
            ["recorded", *(labels[task] for task in tasks)], body,
            "The first training of each, with its 95 % interval over other held-out rows or queries (bootstrap)",
            [["", *["recorded"] * len(tasks)]] * len(body),
        )
    )  # fmt: skip
    apart = [
        f"{labels.get(line, html.escape(line))} on {labels[task]} ({chapter.number(row, 1)} for {chapter.number(base, 1)})"
        for (line, task), row in sorted(first.items(), key=lambda item: (tasks.index(item[0][1]), item[0][0]))
        if (base := first.get(("Base", task))) and _apart(row, base)
    ]
    wide = {
        task for task in tasks if (base := first.get(("Base", task))) and base.low != base.high
    }  # a point tells nothing
    chapter.say(
        f"Of {sum(line != 'Base' and task in wide for line, task in first)} trained ways and tasks, {len(apart)} have an interval "
        "that does not meet that of MiniLM as it is" + (f": {listed(apart)}." if apart else "."),
        "" if len(wide) == len(tasks) else "An interval that is a point (too few rows to draw others) is not counted.",
    )


def _apart(row: Result, other: Result) -> bool:
    """Return whether two intervals, none of them a point, leave a gap: more than is needed for two numbers to differ."""
    if row.low is None or row.high is None or other.low is None or other.high is None:
        return False
    return row.low < row.high and other.low < other.high and (row.low > other.high or row.high < other.low)


def _test_rows(rows: Sequence[Result]) -> str:
    """Say how many held-out rows a task has: what trainings share and their spread does not show."""
    sizes = {row.task: row.n for row in studied.trainings(rows) if sample_column(row)}
    if not sizes:
        return ""
    told = ", ".join(f"{html.escape(title(task).removesuffix(' (sample)'))} {n}" for task, n in sizes.items())
    return (
        "The spread is over trainings alone. All of them are scored on the same held-out rows or queries, and these are few: "
        f"{told}."
    )
