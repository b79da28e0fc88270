"""Figures of the chapters about collections: token lengths, label frequencies, scores of judged pairs, by task.

SciRepEval Table 1 and appendix A, SciMult appendix A, textual neighbours Table 2. Drawn from the rows `counting` made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from scirep_core.exhibits import counting
from scirep_core.exhibits.counting import title
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result


@report.styled
def draw_lengths(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw the quartiles of the tokens of title and abstract, by task."""
    for kind, of in counting.kinds(chapter.name, [r for r in rows if r.metric.startswith("tokens")]):
        shown = [r for r in of if r.metric.startswith("tokens")]
        tasks = {r.task for r in shown}
        if not tasks:
            continue
        figure, axes = report.subplots(figsize=(report.WIDTH, 0.8 + 0.21 * len(tasks)))
        counting.draw_ranges(axes, shown, "tokens", counting.colour_of(kind))
        axes.set_xlabel("tokens of title and abstract")
        axes.set_xlim(left=0)
        long = [r for r in of if r.metric.startswith("texts over")]
        over = max(long, key=lambda r: r.value, default=None)
        tail = f" None is longer than {counting.LIMIT}."
        if over and over.value:
            tail = f" At most {over.value:.1f} % of a task's texts ({title(over.task)}) exceed {counting.LIMIT}."
        chapter.figure(
            f"lengths-{kind}", figure,
            pd.DataFrame([{"task": r.task, "what": r.metric, "tokens": r.value, "n": r.n} for r in shown]),
            caption=f"{kind.capitalize()}, {shown[0].source} data: median (dot) and middle half (bar) of the tokens of title and "
            f"abstract, by MiniLM's tokenizer; {counting.of_how_many(shown, 'texts a task')}.{tail}",
            alt=f"Token lengths by task for {len(tasks)} tasks; medians between {_span(shown, 'tokens, quartile 2')}.",
        )  # fmt: skip


def _span(rows: Iterable[Result], metric: str) -> str:
    values = [r.value for r in rows if r.metric == metric]
    return f"{min(values):.0f} and {max(values):.0f}"


@report.styled
def draw_labels(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw how often each label of each classification task occurs; a line marks what even labels would have."""
    import seaborn

    pattern = "papers with label "
    for kind, of in counting.kinds(chapter.name, [r for r in rows if r.metric.startswith(pattern)]):
        shares: dict[str, list[Result]] = {}
        for r in of:
            if r.metric.startswith(pattern):
                shares.setdefault(r.task, []).append(r)
        if not shares:
            continue
        figure, axes = report.subplots(figsize=(report.WIDTH, 0.9 + 0.42 * len(shares)))
        drawn = pd.DataFrame(
            [(f"{title(t)} ({len(s)})", r.value) for t, s in shares.items() for r in s], columns=["task", "%"]
        )
        dots = {"color": counting.colour_of(kind), "alpha": 0.55, "size": 5, "linewidth": 0}
        seaborn.stripplot(drawn, x="%", y="task", jitter=False, ax=axes, **dots)
        for y, even in enumerate(drawn.groupby("task", sort=False)["%"].mean()):
            axes.plot([even, even], [y - 0.32, y + 0.32], color=report.FLOOR, linewidth=1.5)
        axes.set_ylabel("")
        axes.set_xscale("log")
        axes.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
        axes.minorticks_off()
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("% of the task's papers that have a label")
        skew = {t: max(r.value for r in s) / min(r.value for r in s) for t, s in shares.items()}
        worst = max(skew, key=lambda t: skew[t])
        data = [{"task": t, "label": r.metric, "percent": r.value, "papers": r.n} for t, s in shares.items() for r in s]
        chapter.figure(
            f"labels-{kind}", figure, pd.DataFrame(data),
            caption=f"{kind.capitalize()}, {of[0].source} data: how often each label occurs (one dot a label, their number in "
            f"brackets; the line is where all would lie if they were equally frequent); "
            f"{counting.of_how_many([r for s in shares.values() for r in s], 'papers a task')}. Most uneven: {title(worst)}, "
            f"where the commonest label is {skew[worst]:.0f} times as frequent as the rarest.",
            alt=f"Dots of label frequencies for {len(shares)} classification tasks, from balanced to very uneven.",
        )  # fmt: skip


@report.styled
def draw_scores(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw how the judged pairs of each ranking task spread over the scores."""
    pattern = re.compile(r"pairs with score (-?\d+), %")
    for kind, of in counting.kinds(chapter.name, [r for r in rows if pattern.fullmatch(r.metric)]):
        shares: dict[str, Counter[int]] = {}
        pairs = [r for r in of if pattern.fullmatch(r.metric)]
        for r in pairs:
            if match := pattern.fullmatch(r.metric):
                shares.setdefault(r.task, Counter())[min(3, max(0, int(match[1])))] += r.value  # type: ignore[assignment]
        if not shares:
            continue
        figure, axes = report.subplots(figsize=(report.WIDTH, 0.9 + 0.27 * len(shares)))
        for y, found in enumerate(reversed(shares.values())):
            left = 0.0
            for score, alpha in ((0, 0.12), (1, 0.4), (2, 0.7), (3, 1.0)):
                axes.barh(y, found[score], left=left, height=0.7, color=counting.colour_of(kind), alpha=alpha, linewidth=0,
                          label=("3 or more" if score == 3 else str(score)) if y == 0 else None)  # fmt: skip
                left += found[score]
        axes.set_yticks(range(len(shares)), [title(t) for t in reversed(shares)])
        axes.set_xlim(0, 100)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("% of the judged pairs")
        axes.legend(title="score", ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        few = min(shares, key=lambda t: 100 - shares[t][0])
        data = [{"task": t, "score": s, "percent": v} for t, c in shares.items() for s, v in sorted(c.items())]
        chapter.figure(
            f"scores-{kind}", figure, pd.DataFrame(data),
            caption=f"{kind.capitalize()}, {of[0].source} data: judged query-candidate pairs by score (darker is higher; 3 stands "
            f"for 3 and more); {counting.of_how_many(pairs, 'pairs a task')}. Fewest relevant pairs: {title(few)}, "
            f"{100 - shares[few][0]:.0f} %.",
            alt=f"Stacked bars of score shares for {len(shares)} ranking tasks.",
        )  # fmt: skip
