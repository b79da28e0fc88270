"""Real papers to train on: tasks as `load_task` gives them, whose own rows are training sets.

The small road is SciRepEval's own training samples, a few hundred papers (`data/readers/samples.py`):

    fos, mesh_descriptors            the papers of the sample task's own training split
    same_author, search,             those queries that train by the same rule (`samples.in_train`), of their judged
    cite_prediction                  candidates the triplets of SciRepEval 4.2

What tests stays unseen: a paper that a sample task tests (a paper of its test split; a held-out query, or one of its candidates)
is in no training row of any of them. Papers are told apart by their title, since the samples number them differently.
`held_out` gives the other side, for scoring: what of a sample task was not trained on.

The large road is the open literature (`data/open/tasks.py`, TRAINED and PAIRED), with a dev part. No paper that any task of the
suite `open` tests, and no title of one, is in a training or dev row (`data/open/corpora.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from scirep_core.data import load_task, read_sample
from scirep_core.data.open import tasks as open_tasks
from scirep_core.data.readers.samples import in_train
from scirep_core.data.readers.scirepeval import PaperTriple, RankedQuery, TrainExample, TrainRow
from scirep_core.data.task import Judged, Labelled, Task, Triple, Triples
from scirep_core.kit.errors import ConfigError, check_name, nearest
from scirep_core.kit.records import Paper, grouped
from scirep_core.training.data import Kind, Stream


def task_stream(name: str, task: Task, split: str = "train", most: int | None = None) -> Stream:
    """Return a task's own rows of a split as a training set; a number's mean and spread are those of train."""
    payload, rows = task.payload, partial(rows_of, task, split)
    if not isinstance(payload, Labelled):
        bare = bool(task.queries)
        return Stream(name, "triplet", rows, "PRX", task.format, task.fields, text_query=bare, most=most)
    kind: Kind = "multi_label" if payload.multi_label else "classification" if payload.label_names else "regression"
    made = Stream(name, kind, rows, task.format, task.format, classes=payload.label_names, most=most)
    return made if kind != "regression" else made.scaled([float(one.label) for one in payload.splits["train"]])  # type: ignore[arg-type]


def rows_of(task: Task, split: str) -> Iterator[TrainExample | PaperTriple]:
    """Yield a split's papers with their targets, or its triplets."""
    payload = task.payload
    if isinstance(payload, Labelled):
        names = payload.label_names
        for paper_id, label in payload.splits[split]:
            target: Any = label
            if isinstance(label, tuple):
                target = tuple(name for name, has in zip(names, label, strict=True) if has)
            elif names:
                target = names[int(label)]
            yield TrainExample(task.papers[paper_id], target)
        return
    assert isinstance(payload, Triples)
    for query, positive, negative in payload.rows(split):
        asked = Paper(query, task.queries[query], "") if task.queries else task.papers[query]
        yield PaperTriple(asked, task.papers[positive], task.papers[negative])


# --- the open literature ----------------------------------------------------------------------------------------------


def open_stream(name: str, split: str = "train", most: int | None = None) -> Stream:
    """Return a training task of the open literature as a training set.

    Raises ConfigError for another name or split, and what `load_task` raises.
    """
    if name not in (known := (*open_tasks.TRAINED, *open_tasks.PAIRED)):
        raise ConfigError(f"{name!r} is not trained on; {nearest(name, known)}")
    check_name("split", split, ("train", "validation"))
    task = load_task(name, "open")
    assert isinstance(task, Task)
    return task_stream(name, task, split, most)


# --- the samples ------------------------------------------------------------------------------------------------------

TRAINED = ("sample/fos", "sample/mesh_descriptors", "sample/same_author", "sample/search", "sample/cite_prediction")
"""The samples that are trained on, in the order of `datasets.TRAINING`."""


def sample_streams(names: Sequence[str] = TRAINED, most: int | None = None) -> list[Stream]:
    """Return the real samples as training sets.

    Args:
        names: of TRAINED, with or without "sample/".
        most: examples of each; None: all.

    Raises ConfigError for another name, DataError for a sample that is malformed, and what `manifests.fetch` raises.
    """
    wanted = [_full(name) for name in names]
    read = {name: read_sample(name) for name in TRAINED}
    tested = frozenset(title for name, task in read.items() for title in _titles(name, task))
    return [
        replace(task_stream(name, read[name]), rows=partial(_untested, name, read[name], tested), most=most)
        for name in wanted
    ]


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


def _title(paper: Paper) -> str:
    return "".join(c for c in paper.title.casefold() if c.isalnum())


def _titles(name: str, task: Task) -> Iterator[str]:
    ids: set[str] = set()
    if isinstance(task.payload, Labelled):
        ids = {example.paper_id for example in task.payload.splits["test"]}
    elif isinstance(task.payload, Judged):
        rows = [row for row in task.payload.rows if not in_train(name, row.query_id)]
        ids = {key for row in rows for key in (row.query_id, row.cand_id)}
    elif isinstance(task.payload, Triples):
        ids = {key for triple in _triples(name, task.payload, False, "train") for key in triple}
    return (_title(paper) for paper in task.papers.values() if paper.paper_id in ids)


def _triples(name: str, payload: Triples, train: bool, split: str) -> Iterator[Triple]:
    return (triple for triple in payload.rows(split) if in_train(name, triple.query) == train)


def _untested(name: str, task: Task, tested: frozenset[str]) -> Iterator[TrainRow]:
    if isinstance(task.payload, Judged):
        yield from _ranked(name, task, task.payload, tested)
        return
    for row in rows_of(task, "train"):
        papers = [row.paper] if isinstance(row, TrainExample) else list(row)
        trains = isinstance(row, TrainExample) or in_train(name, row.query.paper_id)
        if trains and tested.isdisjoint(map(_title, papers)):
            yield row


def _ranked(name: str, task: Task, payload: Judged, tested: frozenset[str]) -> Iterator[TrainRow]:
    trains = [row for row in payload.rows if in_train(name, row.query_id)]
    for key, rows in grouped(trains, lambda row: row.query_id).items():
        query = Paper(key, task.queries[key], "") if task.queries else task.papers[key]
        pairs = [(paper, row.score) for row in rows if _title(paper := task.papers[row.cand_id]) not in tested]
        if pairs and _title(query) not in tested:
            yield RankedQuery(query, *(tuple(side) for side in zip(*pairs, strict=True)))
