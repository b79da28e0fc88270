"""Chapter `scirepeval/baselines`: papers without an abstract (SciRepEval, limitations).

share    of the papers that train, those of which the title alone is read: drawn by (seed, paper), 5 % unless asked otherwise
score    one task of each format, every paper with its abstract and every paper without; the difference is paired, both
         systems met the same papers or queries

A real sample of numbers (regression) has thousands of papers, so on real data that format is left out.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace

from scipy.stats import binomtest

from scirep_core.bench.score_cache import Question
from scirep_core.bench.scoring import attempt
from scirep_core.bench.systems import load_system
from scirep_core.data import TASKS
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.task import Task
from scirep_core.exhibits import cell, sign
from scirep_core.exhibits.counting import Gathered, gather, kinds, names_in, row, title
from scirep_core.exhibits.scirepeval_baselines import CHAPTER, LABELS
from scirep_core.exhibits.scirepeval_compared import difference
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result
from scirep_core.results.differences import measured, versus
from scirep_core.results.published import lookup
from scirep_core.training.batching import titled
from scirep_core.training.config import DataConfig

SETS = ("mesh_descriptors", "cite_count", "same_author", "search")
"""A task of each format whose score is one number, in-train ones, as a training of our own would read them."""
CITES = "scirepeval/cite_prediction"
READ, HAVE = "papers of which the title alone is read, %", "papers with an abstract, %"
WITH, WITHOUT, LESS = ", with abstracts", ", titles alone", versus(", titles alone", "with abstracts")


# ---- the share -------------------------------------------------------------------------------------------------------


def share(task: Task, seed: int, part: float) -> Result | None:
    """Return, of a task's papers that have both texts, the share that loses its abstract in training; None without any."""
    papers = [paper for paper in task.papers.values() if paper.title and paper.abstract]
    if not papers:
        return None
    cut = sum(not titled(paper, part, seed).abstract for paper in papers)
    low, high = binomtest(cut, len(papers)).proportion_ci(method="wilson")
    made = row(task, READ, 100 * cut / len(papers), len(papers), f"{cut} of {len(papers)}; asked for: {part:g}")
    return replace(made, low=100 * low, high=100 * high, seed=seed)


def show_share(chapter: Chapter) -> None:
    """Say which share of papers is read by title alone: as printed, as asked for by default, as counted in training papers."""
    said = lookup("V2-C8")["SPECTER2 Base", "papers of which titles alone are read, percent"]
    asked = DataConfig().titles_only
    tasks = gather(chapter, (CITES,)).tasks.values()
    made = [one for task in tasks if (one := share(task, chapter.parameters["seed"], asked))]
    counted = " and ".join(
        f"{chapter.number(one, 1)} {report.interval(one.low, one.high)} of the {one.n:,} papers of "
        f"{html.escape(title(one.task))}"
        for one in chapter.record(made)
    )
    chapter.say(
        f"When SPECTER2 Base was pre-trained, titles alone were read of {chapter.number(said)} percent of the papers. "
        f"Trainings of this book do {'the same' if 100 * asked == said.number else 'otherwise'} ({100 * asked:g} percent unless "
        f"asked otherwise; the draw is of a paper, which reads the same wherever it occurs)"
        + (f": counted, {counted}." if counted else ".")
    )


# ---- the score -------------------------------------------------------------------------------------------------------


def bare(task: Task) -> Task:
    """Return the task with papers that have no abstract; venue and year stay where they are read."""
    return replace(task, fields=tuple(field for field in task.fields if field != "abstract"))


def chosen(gathered: Gathered) -> list[Task]:
    """Return the tasks to score: of each format one, or a real sample of one that is no regression."""
    whole = [gathered.tasks[f"scirepeval/{name}"] for name in SETS if f"scirepeval/{name}" in gathered.tasks]
    like = {f"scirepeval/{name}" for name in SETS}
    return whole + [
        task
        for name, task in gathered.tasks.items()
        if name in SAMPLES and SAMPLES[name].like in like and task.format != "RGN"
    ]


def measure(chapter: Chapter, gathered: Gathered) -> list[Result]:
    """Return, of every system on every task, its score with abstracts, without, and the paired difference."""
    given, tasks = chapter.parameters, chosen(gathered)
    made = [_have(task) for task in tasks]
    for name in names_in(given["encoders"]):
        suited = [task for task in tasks if load_system(name).suits(task)]
        if not suited:
            continue
        full, short = (_scores(chapter, of, name) for of in (suited, [bare(task) for task in suited]))
        for task in (task.name for task in suited if task.name in full and task.name in short):
            with_, without = full[task], short[task]
            made += [replace(with_, encoder=f"{name}{WITH}"), replace(without, encoder=f"{name}{WITHOUT}")]
            made += difference(without, with_, label=f"{name}{LESS}", against="with abstracts")
    return [replace(one, by_query={}, replicates=None) for one in made]


def _have(task: Task) -> Result:
    papers = list(task.texts())
    return row(task, HAVE, 100 * sum(bool(paper.abstract) for paper in papers) / len(papers), len(papers))


def _scores(chapter: Chapter, tasks: Sequence[Task], name: str) -> dict[str, Result]:
    """Return task -> main score of a system; a task that it cannot score, as where titles share no word, is said and left out."""
    given, tell = chapter.parameters, progress(f"{name} without abstracts", "done")
    found = attempt(tasks, name, source=given["data"], papers=given["papers"], data_seed=given["seed"],
                    question=Question(given["protocol"], seed=given["seed"]),
                    progress=lambda _, done, total: tell(done, total))  # fmt: skip
    for task, why in found.failed.items():
        chapter.note(f"{html.escape(name)} on {html.escape(title(task))} is left out: {html.escape(str(why))}")
    main = {task.name: task.metrics[0] for task in tasks}
    return {r.task: r for r in found.rows if r.split == "test" and r.metric == main[r.task]}


def show(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show scores with and without abstracts, and say where their lack is settled (V2-C8)."""
    for kind, of in kinds(CHAPTER, rows):
        found = {(r.task, r.encoder): r for r in of if r.encoder}
        have = {r.task: r for r in of if r.metric == HAVE}
        gaps = [r for r in of if r.encoder.endswith(LESS)]
        names = list(dict.fromkeys(r.encoder.removesuffix(LESS) for r in gaps))
        body = []
        for task in dict.fromkeys(r.task for r in gaps):
            one = next(r for r in gaps if r.task == task)
            about = f"{_format(task)}, {measured(one.metric)}, n = {one.n:,}"
            about += f"; {chapter.number(have[task], 0)} % have an abstract"
            line = [f"{html.escape(title(task))}<br><small>{about}</small>"]
            for name in names:
                shown = [found.get((task, f"{name}{part}")) for part in (WITH, WITHOUT, LESS)]
                line += [chapter.number(one, 1) if one else "" for one in shown[:2]] + [
                    cell(chapter, shown[2], signed=True)
                ]
            body.append(line)
        if not body:
            continue
        source = of[0].source
        caption = (
            f"{kind.capitalize()}, {source} data: every paper with title and abstract, and with the title alone, 0 to 100; "
            "the change with its 95 % paired bootstrap interval"
        )
        heads = ["Task", *["with", "without", "change"] * len(names)]
        labels = [LABELS.get(name, html.escape(name)) for name in names]
        chapter.show(report.table(heads, body, caption, [["", *[kind] * (3 * len(names))]] * len(body), labels))
        tally = [sign(gap) for gap in gaps]
        chapter.say(
            f"{kind.capitalize()}: without abstracts {tally.count(-1)} of {len(tally)} scores are lower, {tally.count(1)} "
            f"higher, and {tally.count(0)} are not told from those with them."
        )


def _format(task: str) -> str:
    return TASKS[SAMPLES[task].like if task in SAMPLES else task].format
