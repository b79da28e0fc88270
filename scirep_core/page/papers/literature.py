"""Chapter `beyond/literature`: what is planted in the embedded literature, and how much room it leaves on each task."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pandas as pd

from scirep_core.bench.scoring import evaluate
from scirep_core.bench.systems import load_system
from scirep_core.data import TASKS, load_task
from scirep_core.data.literature import Literature
from scirep_core.data.literature.emit.planted import PLANTED
from scirep_core.data.literature.latents import NONE, Dials
from scirep_core.data.literature.lexicon import count
from scirep_core.data.sources import literature
from scirep_core.data.task import Labelled, Task
from scirep_core.encoders import load_encoder
from scirep_core.evaluators import inputs, reference
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.page.widgets import TaskExplorer, task_data
from scirep_core.results import Result, recorded

CHAPTER = "beyond/literature"
SYSTEMS = ("random", "tfidf", "minilm", "oracle")
CLEAR = (0.05, 0.95)
"""A score is clearly between floor and ceiling when it has 5 to 95 % of the room."""
AUTHORS = "scirepeval/s2and"
WANTED = 20
DRAWS = 5
"""Random draws whose mean is the floor, of rankings and regressions; of classification, whose fits take long, one."""


def benchmark() -> list[str]:
    """Return the SciRepEval tasks that are scored here, in the order of the inventory (training triplets are not)."""
    return [name for name, spec in TASKS.items() if spec.paper == "scirepeval" and spec.type != "triplets"]


def measure(chapter: Chapter, papers: int, seed: int, names: Sequence[str] = ()) -> list[Result]:
    """Score random vectors, TF-IDF, MiniLM and the oracle on each task; protocol `paper`, full setting (no few-shot)."""
    rows: list[Result] = []
    encoder, tell = load_encoder("minilm"), progress("floor and ceiling", "tasks scored")
    chosen = list(names) or benchmark()
    tasks = [task for name in chosen if isinstance(task := load_task(name, "embedded", papers, seed), Task)]
    inputs.prepare(tasks, encoder, "paper", progress("minilm"))  # tasks share papers: each text is encoded once
    for done, task in enumerate(tasks):
        if isinstance(task.payload, Labelled):
            task = replace(task, payload=replace(task.payload, few_shot=()))
        for system in SYSTEMS:
            given = load_system(system).on(task)
            draws = DRAWS if system == "random" and task.format != "CLF" else 1
            runs = [evaluate(task, given, "paper", name=system, split="test", seed=seed + k) for k in range(draws)]
            # the whole alone: a part of a small S2AND (`test/zbmath`) has no block to score in some draws
            rows += map(_mean, zip(*([row for row in run if row.split == "test"] for run in runs), strict=True))
        tell(done + 1, len(chosen))
    return chapter.record(replace(row, by_query={}) for row in rows)


def _mean(rows: Sequence[Result]) -> Result:
    """Return one row with the mean value of several random draws: a floor is an expectation, not one throw."""
    if len(rows) == 1:
        return rows[0]
    value = sum(row.value for row in rows) / len(rows)
    return replace(rows[0], value=value, low=None, high=None, by_query={}, note=f"mean of {len(rows)} random draws")


def kept() -> list[Result]:
    """Return our committed run of this chapter on 3,000 papers; the live run of the page is smaller, to build quickly."""
    return recorded(CHAPTER, "embedded")


def _which(rows: Sequence[Result]) -> str:
    return f"{rows[0].kind} run, {rows[0].parameters['papers']:,} papers, seed {rows[0].parameters['seed']}"


def main_metric(task: str) -> str:
    """Return the metric a task is shown by: the first of the inventory, of reviewers the mean of the four."""
    metrics = TASKS[task].metrics
    return "mean_of_four" if "mean_of_four" in metrics else metrics[0]


def rooms(rows: Sequence[Result]) -> pd.DataFrame:
    """Return one line a task: its scores, and the share of the room each system takes."""
    value = {(r.task, r.encoder): r for r in rows if r.metric == main_metric(r.task)}
    lines = []
    for task in dict.fromkeys(r.task for r in rows):
        floor, ceiling = value[task, "random"].value, value[task, "oracle"].value
        line: dict[str, Any] = {"task": task, "metric": main_metric(task), "relation": TASKS[task].relation}
        line |= {system: value[task, system].value for system in SYSTEMS}
        for system in ("tfidf", "minilm"):
            line[f"{system} room"] = reference.room(value[task, system].value, floor, ceiling)
        line["clear"] = all(CLEAR[0] <= line[f"{s} room"] <= CLEAR[1] for s in ("tfidf", "minilm"))
        lines.append(line)
    return pd.DataFrame(lines)


def room_table(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show floor, TF-IDF, MiniLM and ceiling of every task, in a run of ours or of this page; nothing for no rows."""
    if not rows:
        return
    cell = {(r.task, r.encoder): r for r in rows if r.metric == main_metric(r.task)}
    body = []
    for line in rooms(rows).to_dict("records"):
        name = str(line["task"])
        shown = {system: chapter.number(cell[name, system], 1) for system in SYSTEMS}
        share = {system: f"{100 * line[f'{system} room']:.0f} %" for system in ("tfidf", "minilm")}
        title = f"{html.escape(TASKS[name].title)}<br><small>{main_metric(name)}, {line['relation']}</small>"
        body.append([
            title, shown["random"], shown["tfidf"], share["tfidf"], shown["minilm"], share["minilm"], shown["oracle"],
            "yes" if line["clear"] else "<strong>no</strong>",
        ])  # fmt: skip
    header = ["task", "floor", "TF-IDF", "room", "MiniLM", "room", "ceiling", "clear"]
    caption = (
        f"{_which(rows).capitalize()}: floor (random vectors), TF-IDF, MiniLM and ceiling (oracle) of the {len(body)} scored "
        f"tasks; clear: both take {100 * CLEAR[0]:g} to {100 * CLEAR[1]:g} % of the room."
    )
    chapter.show(report.table(header, body, caption))


def verdict(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say on how many tasks both systems lie clearly between floor and ceiling, which fail, and who is ahead where."""
    if not rows:
        return
    table = rooms(rows)
    clear, failing = int(table["clear"].sum()), table[~table["clear"]]
    goal = "met" if clear >= WANTED else "missed"
    chapter.say(
        f"In the {_which(rows)}: on {clear} of {len(table)} tasks both TF-IDF and MiniLM lie clearly between floor and "
        f"ceiling; the aim of {WANTED} is {goal}."
    )
    for line in failing.to_dict("records"):
        if line["oracle"] <= line["random"]:
            chapter.say(
                f"{TASKS[str(line['task'])].title} fails: there is no room, the floor is not below the ceiling."
            )
            continue
        where = [f"{label} takes {100 * line[f'{system} room']:.1f} % of the room"
                 for system, label in (("tfidf", "TF-IDF"), ("minilm", "MiniLM"))
                 if not CLEAR[0] <= line[f"{system} room"] <= CLEAR[1]]  # fmt: skip
        chapter.say(f"{TASKS[str(line['task'])].title} fails: {' and '.join(where)}.")
    for form, title in (("CLF", "classification"), ("RGN", "regression"), ("PRX", "proximity"), ("QRY", "search")):
        of_form = table[[TASKS[str(t)].format == form for t in table["task"]]]
        if len(of_form):
            ahead = int((of_form["minilm"] > of_form["tfidf"]).sum())
            chapter.say(f"In {title}, MiniLM is ahead of TF-IDF on {ahead} of {len(of_form)} tasks.")
    _authors(chapter, rows)


def _authors(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say what floor and ceiling of author disambiguation are: a vector is one of thirty things its pipeline knows."""
    value = {(r.encoder, r.metric): r.value for r in rows if r.task == AUTHORS}
    if ("random", "b3_f1") not in value:
        return
    title, floor, ceiling = TASKS[AUTHORS].title, value["random", "b3_f1"], value["oracle", "b3_f1"]
    if ("random", "b3_f1_metadata") not in value:
        chapter.say(f"{title} is of the vectors alone in this run, clustered by their distances; S2AND's own pipeline, which "
                    "also knows names, co-authors and years, is in the chapter on author disambiguation.")  # fmt: skip
        return
    chapter.say(
        f"{title} has its floor inside its pipeline, which also knows names, co-authors, affiliations and years: random "
        f"vectors score {floor:.1f} there, metadata without vectors {value['random', 'b3_f1_metadata']:.1f}. Its room is "
        f"what a vector can add, {ceiling - floor:.1f} points, of a few hundred mentions: a share of it says little. Cut by "
        f"distance alone, random vectors score {value['random', 'b3_f1_vectors']:.1f} and the oracle "
        f"{value['oracle', 'b3_f1_vectors']:.1f}."
    )


@report.styled
def room_figure(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw, for every task, where TF-IDF and MiniLM lie between floor and ceiling."""
    if not rows:
        return
    table = rooms(rows)
    figure, axes = report.subplots(figsize=(report.WIDTH, 0.27 * len(table) + 1.0))
    places = range(len(table))
    for system, colour, marker, label in (
        ("tfidf", report.SERIES[1], "s", "TF-IDF"),
        ("minilm", report.SERIES[0], "o", "MiniLM"),
    ):
        axes.plot(100 * table[f"{system} room"], places, marker, color=colour, label=label)
    for edge in (0, 100):
        axes.axvline(edge, color=report.FLOOR, linewidth=1)
    axes.set_yticks(places, [TASKS[str(t)].title for t in table["task"]])
    axes.invert_yaxis()
    axes.set_xlabel("share of the room between floor and ceiling, %")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    chapter.figure(
        f"room-{rows[0].kind}",
        figure,
        table,
        f"{_which(rows).capitalize()}: where TF-IDF and MiniLM lie between floor (0: random vectors) and ceiling (100: oracle), "
        f"{len(table)} tasks.",
        "For each task two marks, TF-IDF and MiniLM, on a line from floor to ceiling; the numbers are in the table above.",
    )


def tree(chapter: Chapter, papers: int, seed: int) -> None:
    """Show the size of the planted world: concepts, forms, people, citations."""
    found = literature(papers, seed)
    words = found.writer.words
    forms = {
        "fields of study": (len(words.fields), words.fields, "context"),
        "topics": (len(words.topics), words.topics, "context"),
        "problems": (len(words.problems), words.problems, "what"),
        "methods": (len(words.methods), words.methods, "np"),
        "aspects of findings": (len(words.aspects), words.aspects, "np"),
    }
    body = []
    for name, (size, concepts, attribute) in forms.items():
        each = [sum(count(tree) for tree in getattr(c, attribute)) for c in concepts]
        body.append([name, f"{size}", f"{min(each)} to {max(each)}", f"{sum(each) / len(each):.1f}"])
    chapter.show(report.table(["concepts", "number", "forms of one", "mean"], body, "What the papers are about."))
    people, cites = found.people, found.cites
    names = [people.name(a) for a in range(len(people))]
    lines = [
        ["papers", f"{len(found):,}"],
        ["authors", f"{len(people):,}"],
        ["authors who share their name", f"{100 * (1 - len(set(names)) / len(names)):.1f} %"],
        ["references per paper", f"{cites.counts().mean():.1f}"],
        ["papers with a second field", f"{100 * (found.latents.second_field != NONE).mean():.1f} %"],
        ["words per abstract", f"{sum(len(p.abstract.split()) for p in found.papers) / len(found):.0f}"],
        ["different abstract skeletons", f"{len({found.writer.skeleton(i) for i in range(len(found))}):,}"],
    ]
    chapter.show(report.table(["of this literature", ""], lines, f"The literature of {papers:,} papers, seed {seed}."))


def example(chapter: Chapter, papers: int, seed: int, number: int) -> None:
    """Show one invented paper: its text, and the latents it was written from."""
    found = literature(papers, seed)
    i = min(number, len(found) - 1)
    paper = found.paper(i)
    marked = " ".join(f'<span class="facet-{label.removesuffix("_label")}">{html.escape(s)}</span>'
                      for s, label in zip(paper.sentences, paper.labels, strict=True))  # fmt: skip
    chapter.show(
        f"<p><strong>{html.escape(paper.title)}</strong> ({html.escape(paper.venue)}, {paper.year})</p><p>{marked}</p>"
    )
    lines = _latents_of(found, i)
    chapter.show(report.table(["latent", "value"], lines, "What it was written from.", [["", "text"]] * len(lines)))


def _latents_of(found: Literature, i: int) -> list[list[str]]:
    words, latents = found.writer.words, found.latents
    lines = [
        ["field > area > topic > problem", " > ".join(html.escape(x) for x in (
            words.fields[latents.field[i]].name, words.areas[latents.area[i]].name, words.topics[latents.topic[i]].name,
            words.problems[latents.problem[i]].name))],
        ["method (family)", html.escape(f"{words.methods[latents.method[i]].name} ({words.families[latents.family[i]].name})")],
        ["finding", html.escape(f"{words.aspects[latents.aspect[i]].name}, {('better', 'same', 'worse')[latents.polarity[i]]}")],
        ["quality, hype, standing (0-999)",
         f"{latents.quality[i]}, {latents.hype[i]}, {found.people.standing[i]}"],
        ["authors", html.escape(", ".join(found.people.name(a) for a in found.people.teams.of(i).tolist()))],
        ["cites / cited by", f"{len(found.cites.of(i))} / {len(found.cited_by.of(i))}"],
    ]  # fmt: skip
    second = int(latents.second_field[i])
    return lines if second == NONE else [*lines, ["second field", html.escape(words.fields[second].name)]]


def planted(chapter: Chapter) -> None:
    """Show, for every embedded task, which latents decide it, whether people err in it, and its declared relation."""
    body = [[name, PLANTED[name].decided_by, _errs(name),
             spec.relation or "-"] for name, spec in TASKS.items() if name in PLANTED]  # fmt: skip
    header, classes = ["task", "decided by", "do people err?", "relation"], [["", "text", "text", ""]] * len(body)
    chapter.show(report.table(header, body, "What is planted, task by task.", classes))


def _errs(name: str) -> str:
    """Return what keeps the oracle below 100, or that nothing does, and on which metric if that is not the main one."""
    one = PLANTED[name]
    return (
        one.errs
        if not one.exact
        else (
            f"no: the oracle reaches 100, or nearly, on {one.metric}: its threshold is tuned on other blocks"
            if one.metric
            else "no: the oracle reaches 100"
        )
    )


def dials(chapter: Chapter) -> None:
    """Show the dials with their defaults."""
    defaults = Dials()
    body = [[field.name, html.escape(str(getattr(defaults, field.name)) or "all")] for field in fields(Dials)]
    chapter.show(report.table(["dial", "default"], body, "The dials; <code>Dials</code> says what each does."))


def explorer(papers: int, seed: int) -> TaskExplorer:
    """Return the explorer of every embedded task of all papers, CSFCube's facets included."""
    return TaskExplorer(task_data((load_task(name, "embedded", papers, seed) for name in TASKS), examples=4, seed=seed))
