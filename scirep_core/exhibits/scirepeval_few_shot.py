"""Chapter `scirepeval/baselines`, few labelled examples: FoS, DRSM and Biomimicry (SciRepEval appendix A.3, V1-C10).

    paper    k examples in total (FoS: k of every label), folds in file order
    sound    k of every class, drawn anew for each repeat; all of a class that has fewer

A point of a learning curve stands at the examples that were drawn, not at k or k times the classes: small training sets
have classes with fewer than k. Where no class has k, every repeat is the full training set, and the setting says nothing.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scirep_core.data import TASKS
from scirep_core.data.task import FewShot, Labelled, Task
from scirep_core.evaluators.probes import paper_probes, sound_probes
from scirep_core.exhibits.counting import Gathered, title
from scirep_core.exhibits.scirepeval_baselines import CEILING, FEW, FLOOR, LABELS, UNIT, columns_of, kept, which
from scirep_core.kit.errors import DataError
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import lookup


@report.styled
def curves(chapter: Chapter, rows: Sequence[Result], gathered: Gathered) -> None:
    """Draw score against labelled examples, both protocols (V1-C10): FoS, DRSM and Biomimicry, recorded and live."""
    for of in (kept(), rows):
        points = pd.DataFrame(list(_points(of, gathered)))
        if points.empty:
            continue
        tasks, protocols = list(dict.fromkeys(points["task"])), list(dict.fromkeys(points["protocol"]))
        figure, grid = report.subplots(
            len(protocols), len(tasks), figsize=(report.WIDTH, 0.8 + 2.0 * len(protocols)), sharex="col", sharey="col",
            squeeze=False,
        )  # fmt: skip
        names = [n for n in columns_of(of) if n in set(points["encoder"])]
        looks = dict(zip(names, zip(_colours(names), "vosD^P*X" * 4, strict=False), strict=False))
        for i, protocol in enumerate(protocols):
            for j, task in enumerate(tasks):
                _panel(grid[i][j], points[(points["task"] == task) & (points["protocol"] == protocol)], looks)
                grid[i][j].set_title(f"{title(task)}, {protocol}", fontsize=8)
        for ax, task in zip(grid[-1], tasks, strict=True):
            ax.set_xlabel("labelled examples")
            ax.set_xticks(*_ticks(points[points["task"] == task]["examples"]))
        for row in grid:
            row[0].set_ylabel("F1")
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
        whole = sorted({f"{title(t)} {k} ({p})" for t, k, p in _undrawn(of)})
        chapter.figure(
            f"few-shot-{of[0].kind}", figure, points.drop(columns="short"),
            f"{which(of).capitalize()}: F1 (0 to 100) against labelled examples, last point the full training set; bars are 95 % "
            "intervals, over repeats for few-shot points (none where all repeats score the same) and over test papers for the "
            "last. Under paper, k examples in total (FoS: k of every label); under sound, k of every class. A point stands at the "
            "examples that were drawn, on average over repeats."
            + (" Hollow: some classes have fewer than k, and all of theirs are drawn." if points["short"].any() else "")
            + (f" Not drawn, as no class has k examples: {', '.join(whole)}." if whole else ""),
            f"Learning curves of {len(names)} systems on {len(tasks)} tasks under {' and '.join(protocols)}.",
        )  # fmt: skip


def _colours(names: Sequence[str]) -> list[str]:
    chosen = [c for _, c in zip((n for n in names if n not in (FLOOR, CEILING)), report.SERIES * 4, strict=False)]
    left = iter(chosen)
    return [report.FLOOR if name in (FLOOR, CEILING) else next(left) for name in names]


class Drawn(NamedTuple):
    """What the repeats of a few-shot setting train on.

    Attributes:
        examples: distinct labelled papers, mean over repeats.
        short: classes (of several labels: labels) that have fewer examples than asked.
        classes: how many there are.
    """

    examples: float
    short: int
    classes: int

    def __str__(self) -> str:
        """Say it in a row's note, where `drawn_in` reads it."""
        return f"{self.examples:g} examples drawn, {self.short} of {self.classes} classes short"


def drawn(task: Task, shot: FewShot, protocol: str, seed: int) -> Drawn | None:
    """Return what a setting draws from a task's training set; None where it cannot be drawn."""
    assert isinstance(task.payload, Labelled)
    y = np.array([example.label for example in task.payload.splits["train"]])
    shots = paper_probes.shots if protocol == "paper" else sound_probes.shots
    try:
        sizes = [len(rows) for rows in shots(y, shot, seed, Counter())]
    except DataError:
        return None
    there = [int(c) for c in (y == 1).sum(axis=0)] if y.ndim == 2 else list(Counter(y.tolist()).values())
    per_class = protocol == "sound" or y.ndim == 2
    short = sum(count < shot.sample_size for count in there) if per_class else 0
    return Drawn(float(np.mean(sizes)), short, len(there)) if sizes else None


def with_drawn(row: Result, tasks: Mapping[str, Task]) -> Result:
    """Return a few-shot row whose note says what was drawn; any other row as it is."""
    task = tasks.get(row.task)
    if task is None or not row.split.endswith("-shot") or not isinstance(task.payload, Labelled):
        return row
    shot = next((one for one in task.payload.few_shot if f"{one.sample_size}-shot" == row.split), None)
    found = drawn(task, shot, row.protocol, row.seed or 0) if shot else None
    return replace(row, note="; ".join(filter(None, (row.note, str(found))))) if found else row


def drawn_in(row: Result) -> Drawn | None:
    """Return what a row's note says was drawn."""
    found = re.search(r"([\d.e+]+) examples drawn, (\d+) of (\d+) classes short", row.note)
    return Drawn(float(found[1]), int(found[2]), int(found[3])) if found else None


def _few(rows: Iterable[Result]) -> Iterator[Result]:
    for r in rows:
        if r.task in FEW and r.metric == TASKS[r.task].metrics[0] and r.split != UNIT:
            yield r


def _undrawn(rows: Iterable[Result]) -> Iterator[tuple[str, str, str]]:
    """Yield (task, setting, protocol) where no class has k examples: every repeat draws the whole training set."""
    for r in _few(rows):
        found = drawn_in(r)
        if found and found.short == found.classes:
            yield r.task, r.split, r.protocol


def _points(rows: Sequence[Result], gathered: Gathered) -> Iterator[dict[str, object]]:
    """Yield one point a score: how many labelled examples it had; no interval where nothing varies."""
    undrawn = set(_undrawn(rows))
    for r in _few(rows):
        found = drawn_in(r)
        if (r.task, r.split, r.protocol) in undrawn or (r.split != "test" and not found):
            continue
        examples = found.examples if found else _trained_on(r.pool) or _size(gathered.tasks.get(r.task))
        varies = r.low is not None and r.high is not None and r.high > r.low
        if examples:
            yield {"task": r.task, "protocol": r.protocol, "encoder": r.encoder, "setting": r.split, "examples": examples,
                   "f1": r.value, "low": r.low if varies else None, "high": r.high if varies else None,
                   "short": bool(found and found.short)}  # fmt: skip


def _trained_on(pool: str) -> int:
    """Return the training rows that a row says it used: `60 of 60 test rows, 120 of 120 training rows`."""
    words = pool.rpartition(", ")[2].split()
    return int(words[0].replace(",", "")) if words[-2:] == ["training", "rows"] else 0


def _size(task: Task | None) -> int:
    return len(task.payload.splits["train"]) if task and isinstance(task.payload, Labelled) else 0


def _panel(axes: Any, points: pd.DataFrame, looks: Mapping[str, tuple[str, str]]) -> None:
    for name, (colour, mark) in looks.items():
        of = points[points["encoder"] == name].sort_values("examples")
        if of.empty:
            continue
        dashed = ":" if name in (FLOOR, CEILING) else "-"
        axes.plot(of["examples"], of["f1"], color=colour, marker=mark, linestyle=dashed, linewidth=1.2, markersize=4,
                  label=LABELS.get(name, name))  # fmt: skip
        hollow = of[of["short"]]
        axes.plot(hollow["examples"], hollow["f1"], mark, markersize=4, color=colour, markerfacecolor=report.PAPER)
        bars = of.dropna(subset=["low", "high"])  # a percentile interval need not hold the value: no error bars
        axes.vlines(bars["examples"], bars["low"], bars["high"], color=colour, linewidth=0.8)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_ylim(0, 104)


def _ticks(examples: Sequence[float]) -> tuple[list[float], list[str]]:
    """Return ticks of a logarithmic axis: the fewest and the most examples, and 1 and 3 times powers of ten well between."""
    low, high = float(min(examples)), float(max(examples))
    inner = [k * 10.0**e for e in range(7) for k in (1, 3) if 1.5 * low < k * 10.0**e < high / 1.5]
    places = list(dict.fromkeys((low, *inner, high)))
    return places, [f"{x:,.0f}" for x in places]


def settings(chapter: Chapter, gathered: Gathered) -> None:
    """Say whether the few-shot settings are those the paper names, and how rare Biomimicry's positives are (V1-C10)."""
    said = lookup("V1-C10")
    parts = []
    for name in FEW:
        quoted = said[title(name), "few-shot settings"]
        ours = ", ".join(str(k) for k in sorted(shot.sample_size for shot in TASKS[name].few_shot))
        parts.append(
            f"{html.escape(title(name))} {chapter.number(quoted)}{'' if ours == quoted.value else f' (here {ours})'}"
        )
    chapter.say(f"Appendix A.3 names these settings: {'; '.join(parts)}. It prints neither repeats nor what k counts.")
    task, quoted = gathered.tasks.get("scirepeval/biomimicry"), said["Biomimicry", "positive, %"]
    if task and isinstance(task.payload, Labelled):
        labels = [example.label for split in task.payload.splits.values() for example in split]
        share = Result(task.name, "all", "positive papers, %", "paper", 100 * sum(map(bool, labels)) / len(labels),
                       len(labels), source=task.source, data_hash=task.data_hash)  # fmt: skip
        made = chapter.record([share])[0]
        chapter.say(f"Of Biomimicry’s papers {chapter.number(quoted)} % are positive in print, "
                    f"{chapter.number(made, 1)} % of {made.n:,} here.")  # fmt: skip
