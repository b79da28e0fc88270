"""The real road in small: SciRepEval's own training samples (real papers, a few hundred) as tasks to train on.

    fos, mesh_descriptors            the papers of the sample task's own training split
    same_author, search,             those queries that train by the same rule (`samples.in_train`), of their judged
    cite_prediction                  candidates the triplets of SciRepEval 4.2

What tests stays unseen: a paper that a sample task tests (a paper of its test split; a held-out query, or one of its candidates)
is in no training row of any of them. Papers are told apart by their title, since the samples number them differently.
`held_out` gives the other side, for scoring: what of a sample task was not trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from scirep_core.data.inventory import TASKS
from scirep_core.data.readers.samples import SAMPLES, in_train, read_sample
from scirep_core.data.readers.scirepeval import PaperTriple, RankedQuery, TrainExample, TrainRow
from scirep_core.data.task import Judged, Labelled, Task, Triple, Triples
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.records import Paper
from scirep_core.training.data import Kind, Stream

TRAINED = ("sample/fos", "sample/mesh_descriptors", "sample/same_author", "sample/search", "sample/cite_prediction")
"""The samples that are trained on, in the order of `datasets.TRAINING`."""


def sample_streams(
    names: Sequence[str] = TRAINED, most: int | None = None, folder_of: Callable[[str], Path] | None = None
) -> list[Stream]:
    """Return the real samples as training sets.

    Args:
        names: of TRAINED, with or without "sample/".
        most: examples of each; None: all.
        folder_of: collection -> its folder; `manifests.fetch` where not given, which reads SCIREP_DATA_MIRROR.

    Raises ConfigError for another name, DataError for a sample that is malformed, and what `manifests.fetch` raises.
    """
    wanted = [_full(name) for name in names]
    read = {name: read_sample(name, folder_of or _fetched) for name in TRAINED}
    tested = _Tested(frozenset(key for name, task in read.items() for key in _titles(name, task)))
    return [replace(_stream(name, read[name], tested), most=most) for name in wanted]


def held_out(name: str, task: Task) -> Task:
    """Return a sample task without the queries and triplets that `sample_streams` train on; labelled tasks have their split.

    >>> held_out("sample/acl_anth", None)
    Traceback (most recent call last):
    scirep_core.kit.errors.ConfigError: 'sample/acl_anth' is not trained on; did you mean 'sample/same_author'? Valid: ...
    """
    if _full(name) in TRAINED and isinstance(task.payload, Judged):
        rows = tuple(row for row in task.payload.rows if not in_train(name, row.query_id))
        ids = {row.query_id for row in rows}
        queries = {key: text for key, text in task.queries.items() if key in ids}
        return replace(task, payload=replace(task.payload, rows=rows), queries=queries)
    if isinstance(task.payload, Triples):
        return replace(task, payload=Triples(partial(_triples, name, task.payload, False)))
    return task


def _full(name: str) -> str:
    full = name if name.startswith("sample/") else f"sample/{name.rpartition('/')[2]}"
    if full not in TRAINED:
        raise ConfigError(f"{name!r} is not trained on; {nearest(full, TRAINED)}")
    return full


def _fetched(collection: str) -> Path:
    from scirep_core.data.manifests import fetch

    return fetch(collection)


# --- what tests -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tested:
    """Titles of the papers that test."""

    titles: frozenset[str]

    def has(self, paper: Paper) -> bool:
        return _title(paper) in self.titles


def _title(paper: Paper) -> str:
    return "".join(c for c in paper.title.casefold() if c.isalnum())


def _titles(name: str, task: Task) -> Iterator[str]:
    """Yield the titles of the papers a task tests."""
    ids: set[str] = set()
    if isinstance(task.payload, Labelled):
        ids = {example.paper_id for example in task.payload.splits["test"]}
    elif isinstance(task.payload, Judged):
        rows = [row for row in task.payload.rows if not in_train(name, row.query_id)]
        ids = {key for row in rows for key in (row.query_id, row.cand_id)}
    elif isinstance(task.payload, Triples):
        ids = {key for triple in _triples(name, task.payload, False) for key in triple}
    return (_title(paper) for paper in task.papers.values() if paper.paper_id in ids)


def _triples(name: str, payload: Triples, train: bool, split: str = "train") -> Iterator[Triple]:
    return (triple for triple in payload.rows(split) if in_train(name, triple.query) == train)


# --- what trains ------------------------------------------------------------------------------------------------------


def _stream(name: str, task: Task, tested: _Tested) -> Stream:
    """Return a sample's training rows as a stream."""
    spec = TASKS[SAMPLES[name].like]
    payload = task.payload
    if isinstance(payload, Labelled):
        kind: Kind = "multi_label" if payload.multi_label else "classification"
        return Stream(
            name, kind, partial(_examples, task, tested), spec.format, spec.format, classes=payload.label_names
        )
    rows = partial(_ranked if isinstance(payload, Judged) else _three, name, task, tested)
    if not task.queries:
        return Stream(name, "triplet", rows, spec.format, spec.format)
    return Stream(name, "triplet", rows, "PRX", "QRY", task.fields, text_query=True)


def _examples(task: Task, tested: _Tested) -> Iterator[TrainRow]:
    assert isinstance(task.payload, Labelled)
    names = task.payload.label_names
    for example in task.payload.splits["train"]:
        paper, label = task.papers[example.paper_id], example.label
        target: Any = (
            tuple(n for n, y in zip(names, label, strict=True) if y) if isinstance(label, tuple) else names[int(label)]
        )
        if not tested.has(paper):
            yield TrainExample(paper, target)


def _ranked(name: str, task: Task, tested: _Tested) -> Iterator[TrainRow]:
    assert isinstance(task.payload, Judged)
    judged: dict[str, list[tuple[Paper, int]]] = {}
    for row in task.payload.rows:
        if in_train(name, row.query_id):
            judged.setdefault(row.query_id, []).append((task.papers[row.cand_id], row.score))
    for key, candidates in judged.items():
        query = Paper(key, task.queries[key], "") if task.queries else task.papers[key]
        pairs = [(paper, score) for paper, score in candidates if not tested.has(paper)]
        if pairs and not tested.has(query):
            yield RankedQuery(query, tuple(paper for paper, _ in pairs), tuple(score for _, score in pairs))


def _three(name: str, task: Task, tested: _Tested) -> Iterator[TrainRow]:
    assert isinstance(task.payload, Triples)
    for triple in _triples(name, task.payload, True):
        papers = [task.papers[key] for key in triple]
        if not any(map(tested.has, papers)):
            yield PaperTriple(*papers)
