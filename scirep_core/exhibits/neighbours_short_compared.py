"""Chapter `neighbours/short_queries`, encoders compared: what those that are not in the paper change, and two side by side.

The explorer shows everything that is a share of queries. Differences are paired: both encoders were asked the same titles
and the same phrases, so that the bootstrap values of one stand beside those of the other. What the paper shows in tables of
one row a model, a reader may so compare two by two.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scirep_core.encoders.latent import TERMS
from scirep_core.exhibits.counting import kinds
from scirep_core.exhibits.neighbours_short_brittle import FORMS, LETTER, NUMBER, OVERLAP, apart
from scirep_core.exhibits.neighbours_short_clusters import LINE, TITLES
from scirep_core.exhibits.neighbours_short_queries import (
    CHAPTER,
    MRR,
    ONE,
    SCALED,
    T100,
    TASKS_OF,
    about,
    calls,
    cell,
    cells_of,
    set_of,
    starts,
    systems_of,
)
from scirep_core.exhibits.neighbours_views import settled
from scirep_core.exhibits.scirepeval_compared import difference
from scirep_core.page.chapter import Chapter
from scirep_core.page.widgets.scores import Gap, Run, ScoreExplorer, score_data
from scirep_core.results import Result
from scirep_core.results.differences import measured
from scirep_core.results.published import lookup

SHARES = {
    **{f"found within rank {k}, %": tuple(TASKS_OF) for k in (1, 10, 100)},
    OVERLAP: FORMS,
    LINE: ("line",),
    TITLES: ("mixing",),
}
"""Metric, a share of queries in %, and the splits it has."""
STANDS = {1: "above", -1: "below", 0: "not told apart from"}
Found = dict[tuple[str, str, str, str], Result]

# ---- what encoders that are not in the paper change ------------------------------------------------------------------


def modern(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say what encoders that are not in the paper change, from the recorded run on real data if there is one, else live."""
    for _, of in kinds(CHAPTER, rows):
        found, told = cells_of(of), list[str]()
        for task in dict.fromkeys(r.task for r in of if r.split in TASKS_OF):
            systems = systems_of(of, task)
            counted = [name for name in systems if name in TERMS]
            told += [_modern(chapter, found, task, name, counted) for name in systems if name not in TERMS]
        if told:
            chapter.say(f"From the numbers of this page ({about(of)}).", *told)
            return
    chapter.say("This run has no language model: <code>-p encoders minilm,lsa,characters</code> adds one.")


def _modern(chapter: Chapter, found: Found, task: str, name: str, counted: Sequence[str]) -> str:
    mrr = found[task, name, MRR, ONE]
    told = [f"{starts(name)} finds the paper by its title with MRR {cell(chapter, mrr)} on {html.escape(set_of(task))}"]
    scaled = found.get((task, name, f"{T100}{SCALED}", ONE))
    if scaled:
        best = lookup("TN-T3")[set_of(task), "Task I/SPECTER/T100"]
        stands = STANDS[settled(scaled, best.number)]
        told.append(
            f"stretched to the printed size {cell(chapter, scaled, 1)} % are in the top 100, {stands} the "
            f"{chapter.number(best)} of SPECTER"
        )
    own = {s: found[task, s, MRR, ONE] for s in counted}
    better, worse = [s for s in own if apart(mrr, own[s])], [s for s in own if apart(own[s], mrr)]
    for which, says in ((better, "better, MRR {}: a title’s words are words of its text"), (worse, "worse, MRR {}")):
        if which:
            shown = ", ".join(f"{cell(chapter, own[s])} ({calls(s)})" for s in which)
            told.append(f"counting terms does {says.format(shown)}")
    titles, line = found.get((task, name, TITLES, "mixing")), found.get((task, name, LINE, "line"))
    if titles and titles.low is not None:
        keep = "titles keep to titles" if titles.low > 50 else "titles do not keep to titles"
        told.append(
            f"{keep}: of a title’s ten nearest other texts {cell(chapter, titles, 1)} % are titles, where 50 is mixed"
        )
    if line:
        told.append(
            f"a line still tells titles from whole texts in {cell(chapter, line, 1)} % of cases, where 50 is chance"
        )
    number, letter = (found.get((task, name, OVERLAP, form)) for form in (NUMBER, LETTER))
    if number and letter:
        told.append(
            f"of the ten nearest papers of a short query {cell(chapter, number, 1)} % stay when its number changes, "
            f"{cell(chapter, letter, 1)} % when it loses a letter"
        )
    return "; ".join(told) + "."


# ---- two side by side ------------------------------------------------------------------------------------------------


def differences(rows: Sequence[Result]) -> Iterator[Result]:
    """Yield the paired differences of every two systems on every share."""
    found: dict[tuple[str, str, str], list[Result]] = {}
    for row in rows:
        if row.split in SHARES.get(row.metric, ()):
            found.setdefault((row.task, row.metric, row.split), []).append(row)
    for group in found.values():
        for at, first in enumerate(group):
            for second in group[at + 1 :]:
                yield from difference(first, second)


def explorer(rows: Sequence[Result]) -> ScoreExplorer:
    """Return the explorer of two systems side by side: the recorded run, if there is one, and this one."""
    runs = [_run(of) for _, of in kinds(CHAPTER, rows)]
    names = {row.encoder for run in runs for row in run.scores}
    return ScoreExplorer(score_data(runs, {name: calls(name) for name in names}))


def _run(rows: Sequence[Result]) -> Run:
    scores = [row for row in rows if row.split in SHARES.get(row.metric, ()) and not row.against]
    gaps = []
    for row in rows:
        if row.of_systems:
            gaps.append(Gap(*row.systems, replace(row, metric=measured(row.metric))))
    return Run(rows[0].kind, rows[0].kind.capitalize(), f"{rows[0].source.capitalize()} data", scores, gaps)
