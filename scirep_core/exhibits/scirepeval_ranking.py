"""Chapter `scirepeval/baselines`, ranking: where BM25 can take part, and what the two protocols do to it.

Ranking tasks fit nothing. Between the protocols they differ in how ties of distance are ordered (paper: by id, descending;
sound: by a hash of the id), in the texts of queries and candidates, in ids that two texts share, and in
queries with nothing relevant (paper: they score 0; sound: they are left out).
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from scirep_core.data import TASKS
from scirep_core.exhibits import cell, sign
from scirep_core.exhibits import scirepeval_baselines as base
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.scirepeval_baselines import LABELS, LEXICAL, RANKING, kept, plain, which
from scirep_core.exhibits.scirepeval_compared import RANKED, name_of, points, ranks
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.differences import versus


def lexical(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show where BM25 can rank: its mean over ranking units beside the others', and each system minus BM25, paired."""
    body, classes, shown = [], [], list[Result]()
    for of in (kept(), rows):
        if not any(r.encoder == LEXICAL for r in of):
            continue
        gaps = {g.encoder: g for g in of if g.task == RANKED and g.against}
        for r in of:
            if r.task == RANKED and r.metric == "mean":
                gap = gaps.get(versus(r.encoder, LEXICAL))
                body.append([f"{LABELS.get(r.encoder, html.escape(r.encoder))}, {r.kind}", cell(chapter, r),
                             r.note.removeprefix("mean of "), points(chapter, gap)])  # fmt: skip
                classes.append(["", r.kind, "", r.kind])
                shown = list(of)
    if not body:
        chapter.say("BM25 was not among the systems.")
        return
    header = ["System", "mean", "over", "this − BM25"]
    chapter.show(
        report.table(header, body, "Ranking tasks alone, means over units, in points, 95 % intervals", classes)
    )
    chapter.say(f"The mean is over {_metrics_ranked(shown, chapter.parameters['protocol'])}.")


def _metrics_ranked(rows: Sequence[Result], protocol: str) -> str:
    """Return which metrics of which tasks the mean over ranking units has."""
    found: dict[str, list[str]] = {}
    for unit, name in base.of_units(plain(rows, protocol)):
        task, _, metric = unit.partition(":")
        if name == LEXICAL and TASKS[task].type in RANKING:
            members = next(one.members for one in base.all_units() if one.name == unit)
            found.setdefault((metric or members[0][1]).replace("_", " "), []).append(html.escape(title(task)))
    return "; ".join(f"{metric} of {', '.join(tasks)}" for metric, tasks in found.items())


def protocols(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say of every system on how many ranking units protocol sound is above, below and not told apart from paper."""
    for of in (kept(), rows):
        gaps = [r for r in of if ranks(r.task) and r.against == "paper"]
        items = []
        for name in dict.fromkeys(g.encoder for g in gaps):
            mine = [g for g in gaps if g.encoder == name]
            up, down = (sum(sign(g) == s for g in mine) for s in (1, -1))
            same = sum(g.value == 0 for g in mine)
            largest = max(mine, key=lambda g: abs(g.value))
            change = f"; the largest change is {points(chapter, largest)} on {html.escape(title(largest.task))}"
            items.append(
                f"<li>{name_of(name)}: protocol sound is above paper on {up} of {len(mine)} ranking units, below on {down}, "
                f"exactly the same on {same}{change if largest.value else ''}.</li>"
            )
        other = _other_queries(of)
        if items:
            chapter.show(
                f"<p>{which(of).capitalize()}. Ranking tasks fit nothing; the protocols differ there in the order of ties, in "
                "the texts, in ids that several texts share, and in queries with nothing relevant (intervals that leave out "
                f"0):</p><ul>{''.join(items)}</ul>"
                + (f"<p>Not compared, as sound leaves out queries with nothing relevant: {other}.</p>" if other else "")
            )


def _other_queries(rows: Sequence[Result]) -> str:
    """Name the ranking tasks whose means under the two protocols are over other queries, with both numbers."""
    sizes = {(r.task, r.protocol): r.n for r in rows if ranks(r.task) and r.split == "test" and not r.against}  # fmt: skip
    return ", ".join(
        f"{html.escape(title(task))} ({sizes[task, 'sound']} queries against {n})"
        for (task, protocol), n in sizes.items()
        if protocol == "paper" and sizes.get((task, "sound"), n) != n
    )
