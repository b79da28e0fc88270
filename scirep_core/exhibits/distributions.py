"""Token lengths by task, of the chapter about SciMult's collections (appendix A). Drawn from the rows `counting` made."""

from __future__ import annotations

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
