"""The task explorer: every task of the papers in one picker, and of the chosen one what it asks, of what, with what labels.

SciRepEval Table 1 and A, MDCR (v2 Table 5), CSFCube Table 1, textual neighbours Table 2, SciMult Tables A1 and A2.
A reader searches or walks the list, sees the sizes at hand beside those the paper prints, how labels or grades are
spread, and turns over examples drawn by a seed. Everything is in the widget's state, within `CAP` bytes:

    papers   [id, title, text, year, venue]: every text once, however many examples show it
    tasks    what is asked, sizes, charts and examples (task_examples.py); examples name papers by number

Texts are cut to `TEXT` characters; where all tasks together are over the cap, candidates' texts are cut further
(`CUTS`), then the others. The browser half is `tasks.js`; the plain table for readers without script is `fallback`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from scirep_core.data.inventory import TASKS, TaskSpec
from scirep_core.data.manifests import list_manifests, load_manifest
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import Task
from scirep_core.data.validate import printed_counts
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.records import read_csv
from scirep_core.page.names import PAPERS
from scirep_core.page.widgets import common
from scirep_core.page.widgets.common import Explorer, Places, View, check_names, clip, complete, table
from scirep_core.page.widgets.task_examples import MAIN, SIDE, Ref, charts, examples, spec_of
from scirep_core.results import published

TEXT, HEADING = 600, 220
"""Characters kept of a text and of a title."""
CAP = 900_000
CUTS = ((600, 600), (400, 600), (280, 600), (200, 600), (140, 600), (100, 600), (70, 500), (0, 500), (0, 360), (0, 240))
"""Characters of candidates' and of other texts, tried one after the other until the state is within the cap."""
SEP = " [SEP] "  # joins title and text where training pairs hold texts themselves (SciMult)

COLLECTIONS = PAPERS | {"sample": "Real samples", "": "Other tasks"}
TYPES = {
    "classification": "one label of few, or several, for each paper",
    "regression": "a number for each paper",
    "proximity": "rank the judged candidates of a query paper",
    "adhoc_search": "rank the judged candidates of a typed query",
    "retrieval": "find the relevant papers in the whole pool",
    "label_ranking": "rank all labels, which are texts, for a paper",
    "reviewer_matching": "rank reviewers, known by their papers, for a submission",
    "author_disambiguation": "group mentions of equal names by person",
    "alternative_self": "find a paper by its own title",
    "triplets": "training data: a query lies nearer to its positive than to its negative",
    "facets": "rank the rated candidates of a query paper by one facet of it",
}
RELATIONS = {
    "in-train": "in-train: has a training set",
    "related": "held out, related: on the embedded literature it shares latents with a training task of its format",
    "unrelated": "held out, unrelated: on the embedded literature it shares no latents with a training task of its format",
    "train-only": "training only",
}
SIZES = {"train": "training rows", "validation": "validation rows", "test": "test rows", "train_queries": "training queries",
         "train_pairs": "training pairs", "pairs": "judged pairs"}  # fmt: skip
INVENTED = ("Invented", "From the embedded literature, a simulation: no paper, person or number in it is real.")
OWN = ("Own folder", "A reader's own files: read and checked for form, vouched for by nobody else.")


class TaskExplorer(Explorer, prefix="stx", scripts=("tasks.js",)):
    """The widget. `selection` = {task, example}: observe it, or set all or part of it; examples count from 0."""

    def _resolve(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """A new task starts at its first example."""
        rows = {row["key"]: row for row in self._view["tasks"]}
        start = {"task": self._view["tasks"][0]["key"], "example": 0}
        new = complete(start, before, wanted, {"task": rows})
        if new["task"] != {**start, **before}["task"] and "example" not in wanted:
            new["example"] = 0
        has, example = len(rows[new["task"]]["examples"]), new["example"]
        if isinstance(example, bool) or not isinstance(example, int) or not 0 <= example < max(has, 1):
            raise ConfigError(f"selection: example {example!r} of {new['task']}; it has 0 to {max(has, 1) - 1}")
        return new

    def static_fallback(self) -> str:
        """Return all tasks as an HTML table that needs no script."""
        view = self._view

        def sizes(row: View) -> str:
            parts = []
            for name, ours, printed in row["sizes"]:
                here = "–" if ours is None else f"{ours:,}"
                parts.append(f"{escape(name)} {here}" + (f" (printed {printed:,})" if printed is not None else ""))
            return "; ".join(parts)

        names = dict(view["collections"])
        cells = (
            (escape(row["title"]), f"<code>{escape(row['name'])}</code>", escape(names[row["paper"]]), row["format"],
             escape(row["asks"]), escape(", ".join(row["metrics"])), escape(row["source"][1]), sizes(row))
            for row in view["tasks"]
        )  # fmt: skip
        heads = ("task", "name", "collection", "format", "asked", "metrics", "data here", "sizes")
        whole = table("Tasks, and their sizes here beside the printed ones", heads, cells)
        return self.folded(f"All {len(view['tasks'])} tasks as a plain table", [whole])


def task_data(
    tasks: Iterable[Task | FacetCollection], examples: int = 6, seed: int = 0, *, also: Iterable[str] = (),
    training: Mapping[str, Mapping[str, int]] | None = None,
) -> View:  # fmt: skip
    """Return the explorer's data as plain JSON values, the same for the same tasks and seed.

    Args:
        tasks: read one after the other, so that a generator keeps one task in memory at a time.
        examples: how many are drawn of each task; seed: of the drawing.
        also: names of the inventory that are listed with their printed sizes where no data of them are given.
        training: counts of training sets by task, as `scirepeval.training_counts` names them: they lie in files of their own.

    Raises ConfigError for a task given twice, an unknown name in `also`, and data over the cap.
    """
    if examples < 1:
        raise ConfigError(f"examples: {examples} must be 1 or more")
    texts = _Texts()
    rows = [_task_row(task, examples, seed, texts, training or {}) for task in tasks]
    for name in also:
        if name not in TASKS:
            raise ConfigError(f"also: no task {name!r} in the inventory; {nearest(name, TASKS)}")
    given = {row["name"] for row in rows}
    rows += [_about(name, TASKS[name]) for name in also if name not in given]
    place = {name: i for i, name in enumerate(TASKS)}
    rows.sort(key=lambda row: place.get(row["name"], len(place)))  # stable: others in the order given
    _tell_apart(rows)
    check_names("tasks", [row["key"] for row in rows])
    view = {
        "collections": [[key, name] for key, name in COLLECTIONS.items() if any(row["paper"] == key for row in rows)],
        "formats": common.FORMATS,
        "exhibits": {row: _exhibits()[row] for task in rows for row in task["used"] if row in _exhibits()},
        "seed": seed,
        "tasks": rows,
    }
    for side, main in CUTS:
        whole = common.keyed({**view, "papers": texts.cut(side, main), "shortest": [side, main]})
        if common.size(whole) <= CAP:
            return whole
    raise ConfigError(
        f"the task explorer's data are {common.size(whole):,} bytes with texts cut to {CUTS[-1][1]} characters, over the "
        f"cap of {CAP:,} bytes for one page: show fewer tasks (now {len(rows)}) or fewer examples of each (now {examples})"
    )


def _tell_apart(rows: list[View]) -> None:
    """Tell two sources of one task apart by their keys, `NAME@SOURCE`."""
    names = Counter(row["name"] for row in rows)
    for row in rows:
        if names[row["name"]] > 1:
            row["key"] = f"{row['name']}@{row['source'][0]}"


Text = tuple[str, str, str, int | None, str]
"""Id, title, text, year, venue."""


class _Texts:
    """Every text once, and the largest role it is shown in."""

    def __init__(self) -> None:
        self.places, self.roles = Places(), dict[int, int]()

    def place(self, text: Text, role: int) -> int:
        at = self.places[text]
        self.roles[at] = min(self.roles.get(at, role), role)
        return at

    def cut(self, side: int, main: int) -> list[list[Any]]:
        most = {MAIN: main, SIDE: side}
        return [[key, title, clip(text, most.get(self.roles[at], 0)) if most.get(self.roles[at]) else "", year, venue]
                for (key, title, text, year, venue), at in self.places.items()]  # fmt: skip


def _task_row(
    task: Task | FacetCollection, wanted: int, seed: int, texts: _Texts, training: Mapping[str, Mapping[str, int]]
) -> View:
    name = task.name
    if isinstance(task, FacetCollection) and len(task.tasks) == 1:
        name = f"{task.name}/{task.tasks[0]}"
    row = _about(name, spec_of(name), task, training.get(name, {}))
    drawn = examples(task, wanted, seed)
    refs = {ref.key for ref in _refs(drawn)}
    found: dict[str, Text] = {}
    for paper in task.papers.values() if isinstance(task, FacetCollection) else task.texts():
        if paper.paper_id in refs:
            text = clip(paper.abstract or "", TEXT)
            row_ = (paper.paper_id, clip(paper.title, HEADING), text, paper.year, paper.venue)
            found.setdefault(paper.paper_id, row_)
    queries = {} if isinstance(task, FacetCollection) else task.queries

    def number(ref: Ref) -> int:
        if ref.key in found:
            return texts.place(found[ref.key], ref.role)
        bare = queries.get(ref.key, ref.key if " " in ref.key else "")  # training pairs hold texts, not ids
        title, mark, text = bare.partition(SEP)
        heading, body = (title, text) if mark else ("", bare)
        known = ref.key if ref.key in queries or not bare else ""
        return texts.place((known, clip(heading, HEADING), clip(body, TEXT), None, ""), ref.role)

    return row | {"charts": charts(task), "examples": [_numbered(example, number) for example in drawn]}


def _refs(value: Any) -> Iterable[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _refs(part)


def _numbered(value: Any, number: Any) -> Any:
    if isinstance(value, Ref):
        return number(value)
    if isinstance(value, Mapping):
        return {key: _numbered(part, number) for key, part in value.items()}
    return [_numbered(part, number) for part in value] if isinstance(value, list) else value


def _about(
    name: str, spec: TaskSpec | None, task: Task | FacetCollection | None = None, training: Mapping[str, int] | None = None
) -> View:  # fmt: skip
    kind, format, relation = "facets", "PRX", ""
    metrics: tuple[str, ...] = ()
    if isinstance(task, Task):
        kind, format, metrics, relation = task.type, task.format, task.metrics, task.related
    if spec is not None:
        kind, format, metrics, relation = spec.type, spec.format, metrics or spec.metrics, relation or spec.relation
    printed = dict(spec.expect) if spec else {}
    ours = {} if task is None else _counts(task) | dict(training or {})
    source = "" if task is None else task.source
    badge, sentence = _source(source, spec)
    return {
        "key": name, "name": name, "title": spec.title if spec else name, "paper": spec.paper if spec else "",
        "format": format, "type": kind, "asks": TYPES[kind], "metrics": list(metrics),
        "relation": RELATIONS.get(relation, relation), "source": [source, badge, sentence],
        "sizes": [[SIZES.get(key, key), ours.get(key), printed.get(key)] for key in dict.fromkeys((*printed, *ours))],
        "used": list(spec.rows) if spec else [], "notes": task.notes if isinstance(task, Task) else "",
        "version": task.version if task is not None else 1, "charts": [], "examples": [],
    }  # fmt: skip


def _counts(task: Task | FacetCollection) -> dict[str, int]:
    if isinstance(task, FacetCollection):
        pairs = sum(len(judged) for judged in task.judgements.values())
        return {"queries": len(task.judgements), "pairs": pairs, "papers": len(task.papers)}
    return printed_counts(task)


def _source(source: str, spec: TaskSpec | None) -> tuple[str, str]:
    if source == "":
        return "No data here", "This page holds no data of the task, only what its paper prints."
    if source == "embedded":
        return INVENTED
    if source != "real":
        return OWN
    name = spec.manifest if spec else ""
    if name not in list_manifests():
        bare = "Real data without a manifest: nothing vouches for the files."
        return "Real", bare if spec else "A real sample; see its notes."
    manifest = load_manifest(name)
    seen = "every file was checked against its SHA-256"
    if any(not file.sha256 for file in manifest.files):
        seen = "not verified: files that this project never saw were taken as they came"
    return "Real", f"{manifest.title}. Manifest {name}, {seen}. {manifest.licence.notice}."


@functools.cache
def _exhibits() -> dict[str, list[str]]:
    rows = read_csv(published.FOLDER / "exhibits.csv", ("id", "paper", "exhibit", "shows", "chapter"))
    of = {"scirepeval-v1": " of v1", "scirepeval-v2": " of v2"}
    return {row["id"]: [row["exhibit"] + of.get(row["paper"], ""), row["shows"], row["chapter"]] for _, row in rows}
