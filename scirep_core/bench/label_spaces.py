"""Real label spaces to rank: samples of classification as SciMult asks it, and the names of MeSH (SciMult 4.3).

206 papers with one of 30 MeSH descriptors and 205 with fields of study, of SciRepEval's samples: ranked among the 30
descriptors, the 23 fields, and among all names of MeSH (27,455, without definitions). Which names occur in a paper is found
by our rule (`evaluators.labels.matcher`): how the published lists were made was not released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from scirep_core.data import load_task
from scirep_core.data.manifests import fetch
from scirep_core.data.readers.samples import mesh_terms
from scirep_core.data.rows import classes
from scirep_core.data.task import Labelled, LabelSpace, LabelText, Task
from scirep_core.evaluators.labels import matcher
from scirep_core.kit.errors import CacheError, ConfigError, DataError
from scirep_core.kit.store import stable_hash

DESCRIPTORS, FIELDS, HELD_OUT = "labels/mesh_descriptors", "labels/fields", "labels/mesh_descriptors, held out"
ALL_MESH = "labels/all of MeSH"
TITLES = {DESCRIPTORS: "30 MeSH descriptors", FIELDS: "23 fields of study", HELD_OUT: "30 MeSH descriptors, held-out papers",
          ALL_MESH: "all names of MeSH"}  # fmt: skip
FEW = ("recall@1", "recall@3", "recall@5")
CUTS = ("recall@20", "recall@50", "recall@100")


def mesh_labels() -> dict[str, LabelText]:
    """Return MeSH's real names as labels; {} where they are neither here nor to be had. What is here must be right."""
    try:
        folder = fetch("mesh")
    except (DataError, CacheError, ConfigError) as error:
        if isinstance(error, DataError) and Path(error.path).exists():
            raise
        return {}
    return {key: LabelText(key, name) for key, name in mesh_terms(folder / "terms.tsv").items()}


def label_space(
    sample: Task, name: str, names: Sequence[LabelText] | None = None, papers: Sequence[str] | None = None
) -> Task:
    """Return a classification sample as label ranking: its papers, or those given, among label texts, its own classes or `names`.

    Gold labels are found by name. Raises DataError for a class that no label text has as its name.
    """
    data = cast(Labelled, sample.payload)
    own = (LabelText(f"label:{i}", label) for i, label in enumerate(data.label_names))
    texts = list(own if names is None else names)
    by_name = {label.name: label.label_id for label in texts}
    gold = {}
    for split in data.splits.values():
        for paper, label in split:
            held = classes(label)
            lost = next((data.label_names[i] for i in held if data.label_names[i] not in by_name), None)
            if lost is not None:
                reason = f"class {lost!r} is not among the {len(texts)} label texts"
                raise DataError(name, None, reason, "Name it as they do")
            if papers is None or paper in papers:
                gold[paper] = tuple(by_name[data.label_names[i]] for i in held)
    labels = {label.label_id: label for label in texts}
    match, known = matcher(labels), sample.papers
    matched = {key: match(f"{known[key].title} {known[key].abstract}") for key in gold}
    one = all(len(held) == 1 for held in gold.values())
    return Task(
        name, "label_ranking", "CLF", (*FEW, *(("f1_macro",) if one else ())), LabelSpace(gold, labels, matched), sample.source,
        stable_hash([sample.data_hash, name, len(labels), sorted(gold)])[:16], similarity="dot",
        texts=lambda: [known[key] for key in gold],
    )  # fmt: skip


def real_tasks() -> dict[str, Task]:
    """Return the real label-ranking tasks by name; the one on all of MeSH only where its names are at hand."""
    mesh, fields = (cast(Task, load_task(f"sample/{name}", "real")) for name in ("mesh_descriptors", "fos"))
    test = [example.paper_id for example in cast(Labelled, mesh.payload).splits["test"]]
    found = [label_space(mesh, DESCRIPTORS), label_space(mesh, HELD_OUT, papers=test), label_space(fields, FIELDS)]
    if every := mesh_labels():
        found.append(replace(label_space(mesh, ALL_MESH, [*every.values()]), metrics=CUTS))
    return {task.name: task for task in found}


def names_alone(task: Task) -> Task:
    """Return a task whose labels have no definitions."""
    space = cast(LabelSpace, task.payload)
    labels = {key: label._replace(definition="") for key, label in space.labels.items()}
    return replace(task, data_hash=stable_hash([task.data_hash, task.name])[:16], payload=replace(space, labels=labels))
