"""Chapter `scirepeval/efficiency`: how fast a paper becomes a vector, beside sentence-transformers and transformers.

Rows are those of bench/speed/race.py: recorded races, each on one machine, and a small one in this build. A ratio is the
median over rounds, the least and the greatest round beside it; it is of CPU time where the race ran on a CPU, of wall time
where it ran on a GPU.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from scirep_core.bench.speed import race
from scirep_core.bench.speed.race import APART, CPU, CPU_TIMES, FORWARD, PADDING, RATE, SHARE, TIMES
from scirep_core.exhibits.counting import colour_of
from scirep_core.exhibits.scirepeval_efficiency import timed
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result

OURS = "ours"
TEXTS = {
    "abstracts": "real titles and abstracts",
    "filled": "random words that fill the length",
    "embedded": "invented papers",
}
COLUMNS = {RATE: "papers/s", CPU: "CPU ms a paper", PADDING: "padding, %", SHARE: "matrix share, %",
           FORWARD: "of the passes alone, %"}  # fmt: skip


def run(chapter: Chapter) -> list[Result]:
    """Race this build's encoder on a few papers, invented or real; return the rows, recorded as the chapter's."""
    given = chapter.parameters
    real = given["data"] == "real"
    source = "abstracts" if real else "embedded"
    known = race.abstracts() if real else race.invented(given["papers"], given["seed"], given["encoder"])
    chosen = np.random.default_rng(given["seed"]).permutation(len(known))[: given["batch"]]
    rows = race.race(given["encoder"], [known[i] for i in chosen], source, rounds=given["repeats"])
    made = chapter.record(replace(row, kind="live") for row in rows)
    return [replace(new, parameters={**new.parameters, **old.parameters}) for new, old in zip(made, rows, strict=True)]


def races(rows: Iterable[Result]) -> list[list[Result]]:
    """Return the rows of each race: the recorded ones, then this build's."""
    found: dict[tuple[str, str, str], list[Result]] = {}
    for row in (*timed(race.TASK), *rows):
        found.setdefault((row.kind, row.split, str(row.parameters.get("machine"))), []).append(row)
    return list(found.values())


def about(rows: Sequence[Result]) -> str:
    """Return what a race ran on, in words."""
    first, told = rows[0], rows[0].parameters
    model = html.escape(str(told["model"])) + (" (random weights)" if str(told["model"]).startswith("bert-") else "")
    cpu = told["device"] == "cpu"
    threads = f", {told['threads']} thread{'' if told['threads'] == 1 else 's'}" if cpu else ""
    used = ", ".join(f"{name} {version}" for name, version in told.get("libraries", {}).items() if version)
    texts = TEXTS.get(str(told["texts"]), html.escape(str(told["texts"])))
    return (
        f"{first.n:,} {texts}, {told['mean_tokens']:.0f} tokens on average, "
        f"{model}, {html.escape(str(told['machine']))}{threads}; {told['rounds']} rounds; {html.escape(used)}"
    )


def ratio_of(rows: Sequence[Result]) -> str:
    """Return the metric of the ratio that counts: CPU time on a CPU, wall time on a GPU."""
    return CPU_TIMES if rows[0].parameters["device"] == "cpu" else TIMES


def show(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show each race as a table, and say how ours compares."""
    found = races(rows)
    if all(of[0].kind == "live" for of in found):
        chapter.note(
            "Only this build’s small race stands here: <code>scirep bench</code> on an idle machine makes a larger one."
        )
    for of in found:
        cells = {(row.encoder, row.metric): row for row in of}
        names, ratio = list(dict.fromkeys(row.encoder for row in of)), ratio_of(of)
        columns = {**{key: said for key, said in COLUMNS.items() if any((n, key) in cells for n in names)},
                   ratio: "times as fast", APART: "1 − cosine"}  # fmt: skip
        body = [
            [html.escape(name), *(_cell(chapter, cells.get((name, key)), key) for key in columns)] for name in names
        ]
        kind = of[0].kind
        clock = "CPU" if ratio == CPU_TIMES else "wall"
        caption = f"{kind.capitalize()}: {about(of)}. Ratios are over {html.escape(names[0])}, by {clock} time"
        chapter.show(
            report.table(["Way", *columns.values()], body, caption, [["", *[kind] * len(columns)]] * len(body))
        )
        _say(chapter, of, names, ratio)


def _cell(chapter: Chapter, row: Result | None, metric: str) -> str:
    if row is None:
        return ""
    if metric == APART:
        return chapter.number(row, 7) if row.value else "0"
    if metric not in (TIMES, CPU_TIMES):
        return chapter.number(row, 1)
    return f"{chapter.number(row)}x {report.interval(row.low, row.high, 2) if row.low != row.high else ''}".strip()


def _say(chapter: Chapter, rows: Sequence[Result], names: Sequence[str], ratio: str) -> None:
    """Say which ways are faster than the first, by the whole range of rounds, and what padding explains of it."""
    cells = {(row.encoder, row.metric): row for row in rows}
    groups: dict[str, list[str]] = {"faster": [], "slower": [], "not told apart": []}
    for name in names[1:]:
        row = cells[name, ratio]
        low, high = (row.value if x is None else x for x in (row.low, row.high))
        group = "faster" if low > 1 else "slower" if high < 1 else "not told apart"
        groups[group].append(f"{html.escape(name)} {chapter.number(row)}x")
    first = names[0]
    parts = [
        f"{word}{'' if word == 'not told apart' else ' in every round'}: {', '.join(those)}"
        for word, those in groups.items() if those
    ]  # fmt: skip
    pads = cells[first, PADDING].value / 100
    only = 1 / (1 - pads)
    said = f"Against {html.escape(first)}, {'; '.join(parts)}." if parts else ""
    if pads > 0:
        row = chapter.record([replace(cells[first, PADDING], metric="times as fast without padding alone", value=only,
                                      low=None, high=None, kind="live")])[0]  # fmt: skip
        said += (
            f" Of the rows that {html.escape(first)} computes {chapter.number(cells[first, PADDING], 0)} % are padding; leaving "
            f"these out alone would make it {chapter.number(row)}x as fast."
        )
    chapter.say(said)


@report.styled
def draw(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw each race: how many times as fast as the first way every other is."""
    found = races(rows)
    most = max(len({row.encoder for row in of}) for of in found)
    figure, panels = report.subplots(
        len(found), 1, figsize=(report.WIDTH, 0.5 + len(found) * (0.65 + 0.26 * most)), squeeze=False
    )
    frame = []
    for axes, of in zip(panels[:, 0], found, strict=True):
        ratio, colour = ratio_of(of), colour_of(of[0].kind)
        mine = [row for row in of if row.metric == ratio]
        for y, row in enumerate(reversed(mine)):
            axes.plot([row.low, row.high], [y, y], color=colour, linewidth=1.4)
            axes.plot([row.value], [y], "o" if row.kind == "recorded" else "D", color=colour, markersize=5)
            frame.append({"race": f"{row.kind}: {row.split}", "way": row.encoder, "times as fast": row.value, "least": row.low,
                          "greatest": row.high})  # fmt: skip
        axes.axvline(1, color=report.FLOOR, linewidth=1)
        axes.set_yticks(range(len(mine)), [row.encoder for row in reversed(mine)])
        axes.set_ylim(-0.6, len(mine) - 0.4)
        axes.set_xlim(0, 1.1 * max(row.high or row.value for row in mine))
        axes.grid(axis="y", visible=False)
        axes.set_title(f"{of[0].kind}: {of[0].split}", fontsize=10)
    panels[-1, 0].set_xlabel("times as fast as the first way")
    chapter.figure(
        "race", figure, pd.DataFrame(frame),
        "How many times as fast each way of encoding is as the first, on the same texts with the same weights: medians over "
        "rounds, bars from the least to the greatest round. CPU time on a CPU, wall time on a GPU.",
        f"Dot plots of {len(found)} races: ratios of speed of up to {most} ways of encoding.",
    )  # fmt: skip
