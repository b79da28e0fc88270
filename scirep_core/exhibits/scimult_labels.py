"""Chapter `scimult/classification`, measuring: labels ranked on invented and on real papers, and what the rule alone does (4.3).

    rule      a label matches a paper when its normalised name (lower case, runs of other characters as one space) occurs in
              the normalised title and abstract as whole words; how the published lists were made was not released
    alone     matches first, both parts in random order. Expected recall@k of a paper with m matches among L labels: a gold
              label that matches is found with min(1, k / m), another with max(0, k - m) / (L - m); exact, nothing is drawn
    real      206 papers with one of 30 MeSH descriptors and 205 with fields of study, of SciRepEval's samples: ranked among
              the 30 descriptors, the 23 fields, and among all names of MeSH (27,455, without definitions)

With `data = real` the real pieces are measured, and of SciMult's own files every task that lies here; nothing is trained. The
recorded run of the pieces stands beside every other one.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import cast

from scirep_core.bench import scoring
from scirep_core.bench.systems import load_system
from scirep_core.data import load_task
from scirep_core.data.task import Labelled, LabelSpace, LabelText, Task
from scirep_core.evaluators.labels import matcher
from scirep_core.evaluators.rows import Asked, mean_row
from scirep_core.exhibits import counting, scimult_systems
from scirep_core.exhibits import scimult_tasks as tasks
from scirep_core.exhibits.counting import by_count, number
from scirep_core.exhibits.scimult_systems import changed, differences, score, systems_table
from scirep_core.kit.errors import DataError
from scirep_core.kit.store import stable_hash
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.differences import measured, versus

ALONE = "name matching alone"
NAMES_ONLY = "names and definitions, names alone"
FINE = tuple(f"scimult/{name}" for name in ("cs_conference", "chemistry_mesh", "geography", "psychology"))
COARSE = ("scimult/mag", "scimult/mesh")
LINEAR = {"scimult/mag": "scirepeval/scidocs_mag", "scimult/mesh": "scirepeval/scidocs_mesh"}
DESCRIPTORS, FIELDS, HELD_OUT = "labels/mesh_descriptors", "labels/fields", "labels/mesh_descriptors, held out"
ALL_MESH = "labels/all of MeSH"
CALLED = {DESCRIPTORS: "30 MeSH descriptors", FIELDS: "23 fields of study", HELD_OUT: "30 MeSH descriptors, held-out papers",
          ALL_MESH: "all names of MeSH"}  # fmt: skip
FEW = ("recall@1", "recall@3", "recall@5")
CUTS = ("recall@20", "recall@50", "recall@100")
POOLED = ("minilm", "minilm@cls")


# ---- tasks -----------------------------------------------------------------------------------------------------------


def label_space(
    sample: Task, name: str, names: Sequence[LabelText] | None = None, papers: Sequence[str] | None = None
) -> Task:
    """Return a classification sample as label ranking: its papers, train and test together, among label texts.

    Args:
        names: the label texts to rank; the sample's own classes unless given. Gold labels are found among them by name.
        papers: those ranked, all unless given.

    Raises DataError for a class that no label text has as its name.
    """
    data = cast(Labelled, sample.payload)
    own = (LabelText(f"label:{i}", label) for i, label in enumerate(data.label_names))
    texts = list(own if names is None else names)
    by_name = {label.name: label.label_id for label in texts}
    gold = {}
    for split in data.splits.values():
        for paper, label in split:
            held = [i for i, on in enumerate(label) if on] if isinstance(label, tuple) else [int(label)]
            lost = next((data.label_names[i] for i in held if data.label_names[i] not in by_name), None)
            if lost is not None:
                raise DataError(
                    name, None, f"class {lost!r} is not among the {len(texts)} label texts", "Name it as they do"
                )
            if papers is None or paper in papers:
                gold[paper] = tuple(by_name[data.label_names[i]] for i in held)
    labels = {label.label_id: label for label in texts}
    match = matcher(labels)
    known = sample.papers
    matched = {key: match(f"{known[key].title} {known[key].abstract}") for key in gold}
    one = all(len(held) == 1 for held in gold.values())
    return Task(
        name, "label_ranking", "CLF", (*FEW, *(("f1_macro",) if one else ())), LabelSpace(gold, labels, matched), sample.source,
        stable_hash([sample.data_hash, name, len(labels), sorted(gold)])[:16], similarity="dot",
        texts=lambda: [known[key] for key in gold],
    )  # fmt: skip


def real_tasks() -> dict[str, Task]:
    """Return the real label-ranking tasks by name; the one on all of MeSH only where its names are at hand."""
    mesh, fields = (load_task(f"sample/{name}", "real") for name in ("mesh_descriptors", "fos"))
    assert isinstance(mesh, Task)
    assert isinstance(fields, Task)
    test = [example.paper_id for example in cast(Labelled, mesh.payload).splits["test"]]
    found = [label_space(mesh, DESCRIPTORS), label_space(mesh, HELD_OUT, papers=test), label_space(fields, FIELDS)]
    if every := tasks.mesh_labels():
        found.append(replace(label_space(mesh, ALL_MESH, [*every.values()]), metrics=CUTS))
    return {task.name: task for task in found}


def names_alone(task: Task) -> Task:
    """Return a task whose labels have no definitions."""
    space = cast(LabelSpace, task.payload)
    labels = {key: label._replace(definition="") for key, label in space.labels.items()}
    return scimult_systems.renamed(task, task.name, labels=labels)


# ---- measuring -------------------------------------------------------------------------------------------------------


def matching_alone(task: Task, metrics: Sequence[str] = CUTS, seed: int = 0) -> list[Result]:
    """Return the expected recall of the rule with both parts in random order, a row a cut-off."""
    space = cast(LabelSpace, task.payload)
    many, values = len(space.labels), dict[str, dict[str, float]]()
    for paper, gold in space.gold.items():
        matches = set(space.matched.get(paper, ()))
        m, hits = len(matches), len(matches & set(gold))
        for metric in metrics if gold else ():
            k = int(metric.partition("@")[2])
            first = min(1.0, k / m) if m else 0.0
            rest = min(1.0, max(0, k - m) / (many - m)) if many > m else 0.0
            found = values.setdefault(metric, {})
            found[paper] = (hits * first + (len(gold) - hits) * rest) / len(gold)
    asked = Asked(task, {}, "paper", "error", tuple(metrics), "", seed)
    return [
        mean_row(asked, f"{metric}_name_match", found, encoder=ALONE, note="expected over random orders", ties="random")
        for metric, found in values.items()
    ]


def measure(chapter: Chapter) -> list[Result]:
    """Return every row of the chapter's own measurements, recorded: of the published files, or what stands for them; with
    `data = real` of the real pieces too.
    """
    names, seed = scimult_systems.names_of(chapter), chapter.parameters["seed"]
    rows = [
        *(_pieces(chapter, names, seed) if chapter.parameters["data"] == "real" else ()),
        *_files(chapter, names, seed),
    ]
    rows += differences(rows, list(combinations(names, 2)))
    return chapter.record(scimult_systems.bare(rows))


def counted(task: Task) -> Iterator[Result]:
    """Yield how many labels there are, and how many match a paper and fit."""
    yield from (counting.row(task, *count) for count in (*counting.counts(task), *tasks.labels(task)))


def _pieces(chapter: Chapter, names: Sequence[str], seed: int) -> Iterator[Result]:
    found = real_tasks()
    if ALL_MESH not in found:
        chapter.note(
            "The names of MeSH are not at hand, so nothing is ranked among them: <code>scirep data get mesh</code>."
        )
    for task in found.values():
        many = len(cast(LabelSpace, task.payload).labels)
        yield from counted(task)
        yield from score(task, names, seed=seed)
        yield from matching_alone(task, CUTS if many > 100 else FEW, seed)
    claims, mesh = load_task("sample/scifact", "real"), load_task("sample/mesh_descriptors", "real")
    assert isinstance(claims, Task)
    assert isinstance(mesh, Task)
    yield from tasks.mesh_names(claims)
    yield from _linear(mesh, HELD_OUT, names, seed)


def _files(chapter: Chapter, names: Sequence[str], seed: int) -> Iterator[Result]:
    gathered = counting.gather(chapter, (*FINE, *COARSE, *LINEAR.values()))
    counting.say_absent(chapter, gathered)
    for name in (name for name in FINE if name in gathered.tasks):
        task = gathered.tasks[name]
        yield from counted(task)
        found = score(task, names, seed=seed)
        yield from [*found, *matching_alone(task, seed=seed)]
        if any(label.definition for label in cast(LabelSpace, task.payload).labels.values()):
            yield from changed(
                found, score(names_alone(task), names, seed=seed, bounds=False), NAMES_ONLY, "names alone"
            )
    for name in (name for name in COARSE if name in gathered.tasks):
        yield from score(gathered.tasks[name], names, ("f1_macro",), seed=seed)
        if LINEAR[name] in gathered.tasks:
            yield from _linear(gathered.tasks[LINEAR[name]], name, names, seed)


def _linear(task: Task, name: str, names: Sequence[str], seed: int) -> Iterator[Result]:
    """Yield the macro F1 of the linear classifier on the same labels, under the name of the bi-encoder's task."""
    for system in map(load_system, names):
        if not system.ranks_only:
            rows = scoring.evaluate(
                task, system.on(task), metrics=("f1_macro",), split="test", name=system.name, seed=seed
            )
            yield from (replace(row, task=name, metric="f1_macro (linear)", replicates=None) for row in rows)


# ---- showing ---------------------------------------------------------------------------------------------------------


def title(name: str) -> str:
    """Return how a label space is called."""
    return CALLED.get(name, counting.title(name))


def matches(chapter: Chapter, kinds: Sequence[tuple[str, Sequence[Result]]]) -> None:
    """Show how many labels match a paper by the rule, and how well matches fit: real names, and invented ones."""
    body, classes = [], []
    for kind, rows in kinds:
        found = by_count(rows)
        for name in dict.fromkeys(task for task, metric in found if metric.startswith("papers without a match")):
            how = "listed" if (name, "papers without a match (listed), %") in found else "by rule"
            cells = [found.get((name, metric.format(how))) for metric, _, _ in tasks.MATCHING[:5]]
            labels = found.get((name, "labels"))
            body.append([f"{html.escape(title(name))} <small>{kind}</small>", number(chapter, labels),
                         *(number(chapter, row, 1) for row in cells)])  # fmt: skip
            classes.append(["", *[kind] * 6])
    if not body:
        return
    chapter.show(
        report.table(
            ["", "labels to rank", *(head for _, head, _ in tasks.MATCHING[:5])], body,
            "Per paper: gold labels, and labels whose name occurs in it (matches); papers with none; gold labels that "
            "match; matches that are gold", classes,
        )
    )  # fmt: skip
    for kind, rows in kinds:
        every = by_count(rows)
        own = every.get((ALL_MESH, "matching labels per paper (listed), mean"))
        hit = every.get((ALL_MESH, "gold labels that match (listed), %"))
        fit = every.get((ALL_MESH, "matching labels that are gold (listed), %"))
        if own and hit and fit:
            chapter.say(
                f"{kind.capitalize()}: among all names of MeSH {number(chapter, own, 1)} match a paper on average. Its descriptor "
                f"is among them in {number(chapter, hit, 1)} % of papers, and {number(chapter, fit, 1)} % of the matches are it: "
                "the rule narrows thousands of labels to a few, without a model. (A paper has more descriptors in MeSH than the "
                "one that the sample names, so that some of the others are right too.)"
            )


def ranked(chapter: Chapter, kinds: Sequence[tuple[str, Sequence[Result]]], names: Sequence[str] = FINE) -> None:
    """Show systems on label spaces, without and with name matching, the rule alone among them."""
    for match in ("", "_name_match"):
        columns = [(name, f"{metric}{match}") for name in names for metric in (*FEW, *CUTS)]
        how = "with" if match else "without"
        labels = {(n, m): f"{html.escape(title(n))}<br>R@{m.partition('@')[2].partition('_')[0]}" for n, m in columns}
        systems_table(chapter, f"Recall of labels {how} name matching, intervals over papers", kinds, columns, labels)


def say_alone(chapter: Chapter, kinds: Sequence[tuple[str, Sequence[Result]]]) -> None:
    """Say the rule's own Recall@20 beside that of each system without and with it."""
    for kind, rows in kinds:
        cells = scimult_systems.by_cell(rows)
        for (task, name, metric), alone in cells.items():
            if (name, metric) != (ALONE, "recall@20_name_match"):
                continue
            plain = metric.removesuffix("_name_match")
            systems = [
                s for t, s, m in cells if (t, m) == (task, metric) and s != "oracle" and (task, s, plain) in cells
            ]
            others = [
                f"{scimult_systems.called(system)} {chapter.number(cells[task, system, plain], 1)} → "
                f"{chapter.number(cells[task, system, metric], 1)}"
                for system in systems
            ]  # fmt: skip
            chapter.say(
                f"{kind.capitalize()}, {html.escape(title(task))}: the rule alone, labels in random order, reaches a Recall@20 "
                f"of {chapter.number(alone, 1)} {report.interval(alone.low, alone.high)}; without → with it: {'; '.join(others)}."
            )


def bi_encoder_beside_linear(chapter: Chapter, kinds: Sequence[tuple[str, Sequence[Result]]]) -> None:
    """Show macro F1 by the nearest label text and by a linear classifier, of systems that were not trained for it."""
    names = (*COARSE, HELD_OUT)
    columns = [(name, metric) for name in names for metric in ("f1_macro", "f1_macro (linear)")]
    labels = {(n, m): f"{html.escape(title(n))}<br>{'Linear' if 'linear' in m else 'BiEnc'}" for n, m in columns}
    systems_table(
        chapter, "Macro F1: the nearest label text (BiEnc) and a linear classifier (Linear)", kinds, columns, labels
    )
    for kind, rows in kinds:
        cells = scimult_systems.by_cell(rows)
        pairs = [
            (row, cells[t, s, f"{m} (linear)"]) for (t, s, m), row in cells.items() if (t, s, f"{m} (linear)") in cells
        ]
        if pairs:
            ahead = sum(linear.value > bi.value for bi, linear in pairs)
            chapter.say(
                f"{kind.capitalize()}: the linear classifier is ahead in {ahead} of {len(pairs)} pairs. It saw labelled papers; "
                "the bi-encoder has read the names of the labels."
            )


def say_definitions(chapter: Chapter, kinds: Sequence[tuple[str, Sequence[Result]]]) -> None:
    """Say what definitions add to each system, paired on the same papers."""
    for kind, rows in kinds:
        found = [row for row in rows if row.metric.endswith(f"recall@20, {NAMES_ONLY}")]
        told = [
            f"{scimult_systems.called(r.encoder)} on {html.escape(title(r.task))} {scimult_systems.points(chapter, r)}"
            for r in found
        ]
        if told:
            chapter.say(
                f"{kind.capitalize()}, Recall@20 without name matching, names and definitions minus names alone: {'; '.join(told)}."
            )


def pooling(chapter: Chapter, kinds: Sequence[tuple[str, Sequence[Result]]]) -> None:
    """Say whether the mean of the tokens or [CLS] does better, as appendix B had it for two baselines (SM-C9)."""
    for kind, rows in kinds:
        between = versus(POOLED[1], POOLED[0])
        gaps = [r for r in rows if r.encoder == between and measured(r.metric) in ("recall@1", "recall@20")]
        ahead, behind = (sum(scimult_systems.sign(r) == way for r in gaps) for way in (1, -1))
        if gaps:
            told = "; ".join(f"{html.escape(title(r.task))} {scimult_systems.points(chapter, r)}" for r in gaps)
            chapter.say(
                f"{kind.capitalize()}: MiniLM’s [CLS] minus the mean of its tokens, first cut-off: {told}. [CLS] is ahead in "
                f"{ahead} of {len(gaps)}, behind in {behind}."
            )


def say_between(chapter: Chapter, kinds: Sequence[tuple[str, Sequence[Result]]]) -> None:
    """Say which system is ahead of which on the real label spaces, without and with the rule, paired on the same papers."""
    columns = [(name, f"{metric}{match}") for name, metric in ((DESCRIPTORS, FEW[0]), (FIELDS, FEW[0]), (ALL_MESH, CUTS[0]))
               for match in ("", "_name_match")]  # fmt: skip
    named = {(n, m): f"{html.escape(title(n))}, {m.replace('_name_match', ' with name matching')}" for n, m in columns}
    scimult_systems.say_differences(chapter, kinds, columns, named)
