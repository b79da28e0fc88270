"""Chapter `scirepeval/efficiency`: the times of Table 4 (v1 Table 5), printed, by operations and measured; quality against cost.

a measured time     median over rounds of seconds / MTL CTRL's seconds, least and greatest beside it
quality and cost    mean over all tasks (study main) against the time of vectors for all formats (study efficiency)
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from scirep_core.bench.speed.costs import Cost
from scirep_core.bench.speed.efficiency import ONE, ONE_VECTOR, OVER_ONE, REFERENCE, SHARE, TRAINING
from scirep_core.exhibits import studies
from scirep_core.exhibits.counting import colour_of
from scirep_core.exhibits.scirepeval_efficiency import (  # fmt: skip
    AS_PUBLISHED,
    INFER,
    TOKENS,
    TRAIN,
    WAYS,
    amount,
    by,
    counted,
    label,
    measurements,
    ways_in_print,
)
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import lookup

NEAR = 0.05
"""Two ratios are called alike within this share."""
LINES = (REFERENCE, "PALs", "Adapters", AS_PUBLISHED, "Fusion", "Adapters + MTL CTRL", ONE_VECTOR, "one pass")


def operations(chapter: Chapter, costs: Mapping[str, Cost], what: str) -> dict[str, Result]:
    """Record and return operations of each way over MTL CTRL's; `what` is a field of Cost."""
    rows = [counted(name, f"operations of {what} over {REFERENCE}’s", getattr(one, what) / getattr(costs[REFERENCE], what))
            for name, one in costs.items()]  # fmt: skip
    return by(chapter.record(rows), rows[0].metric)


def times_table(
    chapter: Chapter, costs: Mapping[str, Cost], rows: Sequence[Result], training: bool
) -> dict[str, Result]:
    """Show one time of Table 4: printed, by operations, and measured; return the operations' ratios."""
    column, field, metric = (TRAIN, "train", TRAINING) if training else (INFER, "encode", ONE)
    printed, counts, measured = lookup("V2-T4"), operations(chapter, costs, field), measurements(rows)
    found = {m.letter: by(m.rows, metric) for m in measured}
    cells = []
    for name in LINES:
        # what was printed of Fusion is of the library's way to compute it
        quoted = None if name == "Fusion" else printed.get(("Fusion" if name == AS_PUBLISHED else name, column))
        cells.append([label(name), chapter.number(quoted) if quoted else "", f"{chapter.number(counts[name])}x",
                      *(_times(chapter, found[m.letter].get(name)) for m in measured)])  # fmt: skip
    header = ["Way", "Table 4", "operations", *(f"{m.kind} {m.letter}" for m in measured)]
    what = "train on a batch" if training else "encode a paper under one format"
    made = "; ".join(f"{m.letter}: {m.name}" for m in measured)
    caption = (
        f"Time to {what}, as multiples of {REFERENCE}’s. Operations: of BERT-base at {TOKENS} tokens. Measured: medians over "
        f"rounds, least and greatest in small; CPU time of one thread, on a GPU wall time. {made}"
    )
    kinds = ["", "published", "live", *(m.kind for m in measured)]
    chapter.show(report.table(header, cells, caption, [kinds] * len(cells)))
    return counts


def _times(chapter: Chapter, row: Result | None) -> str:
    if row is None:
        return ""
    spread = report.interval(row.low, row.high, 2) if row.low != row.high else ""
    return f"{chapter.number(row)}x {spread}".strip()


def say_times(chapter: Chapter, counts: Mapping[str, Result], training: bool) -> None:
    """Say which printed times are what operations say, and which are not."""
    column, printed = (TRAIN if training else INFER), lookup("V2-T4")
    groups: dict[str, list[str]] = {"alike": [], "above": [], "below": []}
    for name in ways_in_print():
        if name == REFERENCE:
            continue
        quoted, by_count = printed[name, column], counts[AS_PUBLISHED if name == "Fusion" else name]
        share = amount(quoted) / by_count.value - 1
        group = "alike" if abs(share) <= NEAR else "above" if share > 0 else "below"
        groups[group].append(f"{html.escape(name)} ({chapter.number(quoted)}, operations {chapter.number(by_count)}x)")
    words = {
        "alike": f"Printed within {100 * NEAR:.0f} % of what operations say",
        "above": "Printed above it",
        "below": "Printed below it",
    }
    chapter.say(" ".join(f"{words[group]}: {', '.join(names)}." for group, names in groups.items() if names))


def all_formats(chapter: Chapter, costs: Mapping[str, Cost], rows: Sequence[Result]) -> None:
    """Show what vectors for all four formats take, over one vector's one pass; say it of one pass."""
    one = costs[ONE_VECTOR].encode_all
    counts = [counted(n, "operations of all formats over one vector’s", c.encode_all / one) for n, c in costs.items()]
    known = by(chapter.record(counts), counts[0].metric)
    measured = [m for m in measurements(rows) if by(m.rows, OVER_ONE)]
    found = {m.letter: by(m.rows, OVER_ONE) for m in measured}
    cells = [
        [
            label(name),
            f"{chapter.number(known[name])}x",
            *(_times(chapter, found[m.letter].get(name)) for m in measured),
        ]
        for name in (ONE_VECTOR, "one pass", *(name for name in LINES if name not in (ONE_VECTOR, "one pass")))
    ]
    header = ["Way", "operations", *(f"{m.kind} {m.letter}" for m in measured)]
    caption = (
        f"Time to encode a paper for all four formats, as multiples of {ONE_VECTOR}’s single pass; operations of BERT-base at "
        f"{TOKENS} tokens, letters as above"
    )
    chapter.show(report.table(header, cells, caption, [["", "live", *(m.kind for m in measured)]] * len(cells)))
    took = [f"{_times(chapter, of['one pass'])} ({m.kind} {m.letter})" for m in measured
            if "one pass" in (of := found[m.letter])]  # fmt: skip
    chapter.say(
        f"Four vectors by one pass need {chapter.number(known['one pass'])}x the operations of one vector"
        f"{', and took ' + ', '.join(took) if took else ''}; by {REFERENCE}, a pass for each code, "
        f"{chapter.number(known[REFERENCE])}x."
    )


def shares_said(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say what share of the matrix-multiply rate training reached, a sentence a measurement."""
    for m in measurements(rows):
        found = by(m.rows, SHARE)
        if parts := [f"{label(way)} {chapter.number(row, 0)} %" for way, row in found.items() if way in WAYS]:
            chapter.say(
                f"Share of the measured matrix-multiply rate in training, {m.kind} {m.letter}: {', '.join(parts)}."
            )


# ---- quality against cost --------------------------------------------------------------------------------------------


def quality(chapter: Chapter, rows: Sequence[Result], name: str = "main") -> None:
    """Draw the mean over all tasks against the time of all formats' vectors, and say which ways nothing else beats in both.

    The first recorded measurement of time is taken, else this build's. Says so where the study of quality is not recorded.
    """
    studied_ = studies.recorded_study(name)
    studies.say_unrecorded(chapter, name, studied_)
    scores = {line: row for (line, column), row in studies.cells(studied_).items() if column == "all"}
    times = next((m for m in measurements(rows) if by(m.rows, OVER_ONE)), None)
    if not scores or times is None:
        return
    cost = by(times.rows, OVER_ONE)
    points = {way: (cost[way], scores[way]) for way in cost if way in scores}
    unbeaten = [
        way for way, (time, score) in points.items()
        if not any(t.value <= time.value and s.value > score.value for other, (t, s) in points.items() if other != way)
    ]  # fmt: skip
    _draw(chapter, points, times.kind, times.letter, scores)
    listed = ", ".join(
        f"{label(way)} ({_times(chapter, points[way][0])}, {chapter.number(points[way][1], 1)})" for way in unbeaten
    )
    chapter.say(f"No way is better at the same cost or less, by means, than: {listed}.")
    test = studies.tukey_of(studied_, "all")
    if test is not None:
        tied = [way for way in points if way in {test.best, *test.tied_with_best}]
        cheapest = min(tied, key=lambda way: points[way][0].value, default="")
        if cheapest:
            chapter.say(
                f"Of those that Tukey’s test over the trainings (5 %) does not tell from the best, {label(test.best)}, the "
                f"cheapest is {label(cheapest)}: {_times(chapter, points[cheapest][0])} of one vector’s time."
            )


@report.styled
def _draw(
    chapter: Chapter, points: Mapping[str, tuple[Result, Result]], kind: str, letter: str, scores: Mapping[str, Result]
) -> None:
    figure, axes = report.subplots(figsize=(report.WIDTH, 4.2))
    colour, frame = colour_of("recorded"), []
    for way, (time, score) in points.items():
        if score.low is not None and score.high is not None:
            axes.plot([time.value] * 2, [score.low, score.high], color=colour, linewidth=1.2)
        axes.plot([time.value], [score.value], "o", color=colour, markersize=5)
        frame.append({"way": way, "time": time.value, "quality": score.value, "low": score.low, "high": score.high,
                      "trainings": score.parameters.get("trainings")})  # fmt: skip
    if studies.LEXICAL in scores:  # what counting words gives without any training: always on the axis
        height = scores[studies.LEXICAL].value
        axes.axhline(height, color=report.FLOOR, linewidth=1, linestyle=(0, (1, 2)))
        axes.annotate(studies.REFERENCES[studies.LEXICAL], (1, height), xycoords=("axes fraction", "data"), xytext=(-4, 3),
                      textcoords="offset points", ha="right", fontsize=9)  # fmt: skip
    _name(axes, points)
    for key, dashes in ((studies.FLOOR, (0, (4, 3))), (studies.CEILING, "-")):
        low, high = axes.get_ylim()
        if key in scores and low <= scores[key].value <= high:
            axes.axhline(scores[key].value, color=report.FLOOR, linewidth=1, linestyle=dashes)
    frame += [
        {"way": name, "time": None, "quality": scores[key].value}
        for key, name in studies.REFERENCES.items()
        if key in scores
    ]
    axes.set_xscale("log", base=2)
    ticks = [1, 2, 4, 8, 16]
    axes.set_xticks(ticks, [f"{t}x" for t in ticks])
    axes.set_xlim(0.85, 2.0 * max(time.value for time, _ in points.values()))
    axes.set_xlabel("time of a paper’s vectors for all four formats, over one vector’s")
    axes.set_ylabel("mean over all tasks")
    beyond = [f"{studies.REFERENCES[key]} {scores[key].value:.1f}" for key in studies.REFERENCES if key in scores]
    chapter.figure(
        "quality-and-cost", figure, pd.DataFrame(frame),
        f"What quality costs: mean over all tasks of the embedded literature (recorded, 95 % intervals over trainings) against the "
        f"time of vectors for all four formats ({kind} {letter}). Up and to the left is better. {'; '.join(beyond)}.",
        f"Scatter of {len(points)} ways of telling the task: time on a logarithmic axis, mean score on the other.",
    )  # fmt: skip


def _name(axes: Any, points: Mapping[str, tuple[Result, Result]]) -> None:
    """Write each way's name right of its point, apart from its neighbours'."""
    placed: list[tuple[float, float]] = []
    low, high = axes.get_ylim()
    room = (high - low) * 0.055
    for way, (time, score) in sorted(points.items(), key=lambda item: item[1][1].value):
        y = score.value
        while any(abs(y - other) < room and 0.4 < time.value / at < 2.5 for at, other in placed):
            y += room / 4
        placed.append((time.value, y))
        behind = {"facecolor": report.PAPER, "edgecolor": "none", "pad": 0.5, "alpha": 0.8}
        axes.annotate(way, (time.value, y), xytext=(7, -3), textcoords="offset points", fontsize=8, bbox=behind)
