"""Chapter `scirepeval/affinity`: without citation triplets (v2 appendix F, v1 appendix E), and one format trained here.

    ablation   MTL CTRL trained without the citation triplets - with them, on a base that has seen no citations
    live       MTL CTRL trained on one format - its base, task by task, paired bootstrap over the same test rows
    codes      a task of a format that was not trained: read under its own code, which never learned, or the trained one

The papers say under which code a task is read (Table 6), not what is read where that code was not trained.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from scirep_core.bench import scoring, study
from scirep_core.bench.score_cache import Question
from scirep_core.bench.studied import main_metric, means
from scirep_core.bench.study_tables import TABLE_3
from scirep_core.bench.suites import load_tasks
from scirep_core.bench.systems import System
from scirep_core.data import TASKS
from scirep_core.data.task import Task
from scirep_core.exhibits import cell, sign, studies
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.scirepeval_affinity import COLUMNS, MEANS, SUBSET_OF, called, column_of, references
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result, arithmetic
from scirep_core.results.comparison import paired_bootstrap
from scirep_core.results.published import Printed, lookup
from scirep_core.training.models import obtain

STUDY = "objective"
WITH, WITHOUT = "MTL CTRL", "MTL CTRL without citations"
PRINTED_PARTS = {"in-train": "In-Train", "out-of-train": "Out-of-Train"}
LIKE = "SciNCL + MTL CTRL"
"""The model of v1 Table 2 that is printed with a spread and is trained the same way, on another base."""
BASE = "Base"


# ---- the ablation as printed -----------------------------------------------------------------------------------------


def print_ablation(chapter: Chapter) -> None:
    """Show the printed ablation, which tables its numbers belong to and do not, and what spread they would need."""
    first, second, three = lookup("V1-C3"), lookup("V2-C3"), lookup("V1-T3")
    lines = [f"SciBERT + {name}" for name in (WITH, WITHOUT)]
    body = []
    for name, found in (("v1, appendix E", first), ("v2, appendix F", second)):
        body += [
            [f"{name}: {html.escape(line)}", *(chapter.number(found[line, c]) for c in PRINTED_PARTS.values())]
            for line in lines
        ]
    body.append(
        [f"v1, Table 3: {html.escape(lines[0])}", *(chapter.number(three[lines[0], c]) for c in PRINTED_PARTS.values())]
    )
    caption = "With and without citation triplets, as printed, 0 to 100"
    chapter.show(report.table(["", *PRINTED_PARTS], body, caption, [["", "published", "published"]] * len(body)))
    same = all(first[key].value == second[key].value for key in first)
    off = [part for part, c in PRINTED_PARTS.items() if first[lines[0], c].value != three[lines[0], c].value]
    two = {row: one for (row, column), one in lookup("V2-T2").items() if column == "Out-of-Train"}
    least = min(two, key=lambda row: two[row].number)
    quoted = second[lines[0], "Out-of-Train"]
    if same:
        text = f"v2 repeats v1’s {len(first)} numbers"
        if quoted.number < two[least].number:
            text += (
                f", although its own out-of-train average is over other tasks: {chapter.number(quoted)} is below every "
                f"out-of-train number of its Table 2, the lowest of which is {chapter.number(two[least])} ({html.escape(least)} "
                "without any multi-task training). They are to be read on v1’s scale, where SciDocs is left out"
            )
        chapter.say(f"{text}.")
    if off:
        chapter.note(
            "v1’s Table 3 prints the same model, SciBERT + MTL CTRL, with other means "
            f"({', '.join(f'{part} {chapter.number(three[lines[0], PRINTED_PARTS[part]])}' for part in off)}): the ablation was "
            "held against a run that is in no table."
        )
    _say_chance(chapter, first, lines)


def _say_chance(chapter: Chapter, found: Mapping[tuple[str, str], Printed], lines: Sequence[str]) -> None:
    """Say how likely drops of this size are, had both models the spread of one that is printed with its own."""
    from scipy.stats import ttest_ind_from_stats

    like, parts = lookup("V1-T2"), []
    for part, column in PRINTED_PARTS.items():
        a, b = (found[line, column] for line in lines)
        sd = float(like[LIKE, column].std)
        drop = arithmetic("V1-C3", f"{part}, without minus with citations", round(b.number - a.number, 1), 2, [a, b])
        p = float(ttest_ind_from_stats(a.number, sd, 5, b.number, sd, 5).pvalue)
        row = arithmetic(
            "V1-C3", f"{part}, p of the drop if both spread like {LIKE}", p, 10, [a, b, like[LIKE, column]]
        )
        drop, row = chapter.record([drop, row])
        parts.append(f"{part} {chapter.number(drop, 1, sign=True)} (p = {chapter.number(row, 2)})")
    chapter.say(
        f"The drops, in points: {', '.join(parts)}. No spread is printed. The p-values are those of a t-test if each number were "
        f"the mean of five trainings that spread like v1’s {html.escape(LIKE)} (Table 2); of single trainings they would be larger."
    )


# ---- ours ------------------------------------------------------------------------------------------------------------


def our_ablation(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show our study of it: three lines, then without minus with for every part and format."""
    if not rows:
        return
    base = " and ".join(sorted({row.parameters["base"] for row in means(rows) if "base" in row.parameters}))
    caption = (
        f"Recorded: {studies.facts(rows)}. The base has word vectors and no citations, as SciBERT is to SPECTER. Real tasks and "
        "invented ones: not comparable to the printed numbers above"
    )
    labels = {BASE: f"the base as it is ({html.escape(base)})", WITHOUT: "without citations", WITH: "with citations"}
    kinds = {"recorded": [*rows, *references(rows)]}
    chapter.show(
        studies.study_table(chapter, caption, kinds, [WITH, WITHOUT, BASE], MEANS, labels=labels, column_of=column_of)
    )
    tested = {column: studies.tukey_rows(chapter, rows, column, WITH, column_of) for column in (*MEANS, *COLUMNS)}
    gaps = {column: row for column, found in tested.items() for row in found if row.encoder == WITHOUT}
    if len(gaps) < len(tested):
        return
    body = [[called(column), studies.difference(chapter, row)] for column, row in gaps.items()]
    caption = "Recorded: without citation triplets minus with them, in points, over our trainings"
    chapter.show(report.table(["Tasks", "difference"], body, caption, [["", "recorded"]] * len(body)))
    parts = []
    for column in MEANS:
        word = {1: "gains", -1: "loses", 0: "neither gains nor loses as far as our trainings tell"}[sign(gaps[column])]
        parts.append(f"{column} {word} ({studies.difference(chapter, gaps[column])})")
    lower, higher = (", ".join(called(c) for c in COLUMNS if sign(gaps[c]) == way) for way in (-1, 1))
    hint = sign(gaps["out-of-train"]) < 0 <= sign(gaps["in-train"])
    chapter.say(
        f"Without the citation triplets our MTL CTRL: {'; '.join(parts)}. By format, settled: lower in {lower or 'none'}, higher "
        f"in {higher or 'none'}. "
        + ("This is what the papers hint at: a loss on new tasks, and none settled on the trained ones." if hint else
           "The papers hint at a loss on new tasks alone; our trainings do not show that.")
    )  # fmt: skip


# ---- one format, trained here ----------------------------------------------------------------------------------------


def train_one(chapter: Chapter) -> list[Result]:
    """Train MTL CTRL on the chapter's format; return the scores of it and its base on eight tasks, and their differences.

    Tasks whose own code was not trained are scored under the trained one too.
    """
    chosen, given = chapter.parameters["format"], study_.live_budget(chapter.parameters)
    tasks, failed = load_tasks(TABLE_3, "embedded", given.papers, given.data_seed)
    for error in failed.values():
        raise error
    name = SUBSET_OF[chosen]
    tell = progress(f"training {name}", "steps")
    base = study.as_system(BASE, obtain(BASE, 0, given))
    made = obtain(name, 0, given, watch=lambda told: tell(told.step, told.steps))
    alone = study.as_system(name, made)
    systems: list[System | str] = [base, alone, *studies.REFERENCES]
    rows = [row for system in systems for row in _scores(chapter, system, tasks)]
    found = {(row.task, row.encoder): row for row in rows}
    rows += [_gap(found[task.name, name], found[task.name, BASE]) for task in tasks]
    untrained = [task for task in tasks if TASKS[task.name].format not in trained(chosen)]
    under = study.as_system(f"{name} as {chosen}", made, chosen)
    for row in _scores(chapter, under, untrained):
        rows += [row, _gap(row, found[row.task, name])]
    return chapter.record([replace(row, by_query={}, replicates=None) for row in rows])


def trained(chosen: str) -> set[str]:
    """Return the codes that learn where one format is trained: papers that a search finds are read as proximity's."""
    return {"QRY", "PRX"} if chosen == "QRY" else {chosen}


def _scores(chapter: Chapter, system: System | str, tasks: Sequence[Task]) -> list[Result]:
    """Return the main number of each task, on the full data alone."""
    given, protocol = study_.live_budget(chapter.parameters), chapter.parameters["protocol"]
    done = scoring.attempt(tasks, system, papers=given.papers, data_seed=given.data_seed,
                             question=Question(protocol, split="test"))  # fmt: skip
    for error in done.failed.values():
        raise error
    return [row for row in done.rows if main_metric(row)]


def _gap(first: Result, second: Result) -> Result:
    gap = paired_bootstrap(first, second)
    return replace(
        first, metric=f"{first.metric}, minus {second.encoder}", against=second.encoder, value=gap.value, low=gap.low,
        high=gap.high, note=f"paired bootstrap over the same test rows, one training, p = {gap.p:.2g}", parameters={"p": gap.p},
    )  # fmt: skip


def show_one(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show the model trained here beside its base, and what the choice of a code does to formats it was not trained on."""
    chosen, name = chapter.parameters["format"], SUBSET_OF[chapter.parameters["format"]]
    plain = {(row.encoder, row.task): row for row in rows if not row.against}
    gaps = {(row.encoder, row.task): row for row in rows if row.against}
    body, own = [], "SRCH" if chosen == "QRY" else chosen
    for task in TABLE_3:
        under, format_ = f"{name} as {chosen}", TASKS[task].format
        cells = [plain[BASE, task], plain[name, task]]
        label = f"{format_.replace('QRY', 'SRCH')}, {cells[0].metric}, n = {cells[0].n}"
        line = [f"{html.escape(title(task))}<br><small>{label}</small>"]
        line += [chapter.number(plain[system, task], 1) for system in (studies.FLOOR, studies.LEXICAL, BASE, name)]
        line.append(cell(chapter, gaps[name, task], signed=True))
        read_so = (under, task) in plain
        line += (
            [chapter.number(plain[under, task], 1), cell(chapter, gaps[under, task], signed=True)]
            if read_so
            else ["", ""]
        )
        line.append(chapter.number(plain[studies.CEILING, task], 1))
        body.append(line)
    header = ["Task", "floor", "TF-IDF", "base", f"{own} alone", "change", f"as {own}", "change", "ceiling"]
    given = study_.live_budget(chapter.parameters)
    caption = (
        f"Live: one training on {own} alone, {given.train['steps']} steps, {given.papers:,} invented papers, width {given.width}; "
        f"full training sets of probes. First change: {own} alone minus base; as {own}: tasks of untrained formats read under "
        f"{own}’s code, and what that changes. 95 % paired bootstrap intervals over test rows"
    )
    chapter.show(report.table(header, body, caption, [["", *["live"] * 8]] * len(body)))
    mine = {task: gaps[name, task] for task in TABLE_3 if TASKS[task].format == chosen}
    rest = {task: gaps[name, task] for task in TABLE_3 if TASKS[task].format != chosen}
    read = {task: row for (label, task), row in gaps.items() if label != name}
    chapter.say(
        f"One training on {own} alone, against its base: on its own format’s {len(mine)} tasks {_count(mine)}; on the {len(rest)} "
        f"others {_count(rest)}. An interval here is over test rows; another training would differ too, and this says nothing of "
        "how much."
    )
    words = sum(plain[studies.LEXICAL, task].value > plain[name, task].value for task in TABLE_3)
    small = ": the model is small and trained briefly" if words > len(TABLE_3) / 2 else ""
    chapter.say(f"TF-IDF scores higher than this model on {words} of the {len(TABLE_3)} tasks{small}.")
    if read:
        chapter.say(
            f"Formats that were not trained, read under {own}’s code in place of their own, on {len(read)} tasks: {_count(read)}."
        )
    _draw_one(chapter, own, mine | rest)


def _count(gaps: Mapping[str, Result]) -> str:
    """Return in how many tasks a difference is settled, either way, by its interval."""
    up, down = (sum(sign(row) == way for row in gaps.values()) for way in (1, -1))
    return f"better in {up}, worse in {down}, not settled in {len(gaps) - up - down}"


@report.styled
def _draw_one(chapter: Chapter, own: str, gaps: Mapping[str, Result]) -> None:
    order = [task for task in TABLE_3 if task in gaps]
    figure, axes = report.subplots(figsize=(report.WIDTH, 1.0 + 0.3 * len(order)))
    axes.axvline(0, color=report.FLOOR, linewidth=1)
    for y, task in enumerate(reversed(order)):
        row = gaps[task]
        axes.plot([row.low, row.high], [y, y], color=report.LIVE, linewidth=1.4)
        axes.plot(
            row.value,
            y,
            "D",
            color=report.LIVE,
            markersize=5.5,
            markerfacecolor=report.LIVE if sign(row) else report.PAPER,
        )
    labels = {task: f"{title(task)} ({TASKS[task].format.replace('QRY', 'SRCH')})" for task in order}
    axes.set_yticks(range(len(order)), [labels[task] for task in reversed(order)])
    axes.set_xlabel(f"points, trained on {own} alone minus base")
    axes.grid(axis="y", visible=False)
    frame = pd.DataFrame([{"task": labels[t], "points": gaps[t].value, "low": gaps[t].low, "high": gaps[t].high, "n": gaps[t].n}
                          for t in order])  # fmt: skip
    chapter.figure(
        "one-format", figure, frame,
        f"Live: what one training on {own} alone changes, task by task, in points with 95 % paired bootstrap intervals; filled "
        "where the interval leaves out 0.",
        f"Differences with intervals on {len(order)} tasks between a model trained on {own} alone and its base.",
    )  # fmt: skip
