"""The open literature's eight training tasks (`data/open/tasks.py`, TRAINED) as tasks to train on: real papers, with a dev part.

    arxiv_categories, mesh                                   classes, several a paper
    citations, year                                          numbers
    cite_, same_author_, coupling_, search_triplets          triplets; of search the query is a bare one
    category_, mesh_triplets                                 triplets of a paper and two labels, for SciMult

No paper that any task of the suite `open` tests, and no title of one, is in a training or dev row (`data/open/corpora.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from scirep_core.data import load_task
from scirep_core.data.open.tasks import PAIRED, TRAINED
from scirep_core.data.readers.scirepeval import PaperTriple, TrainExample, TrainRow
from scirep_core.data.task import Labelled, Task, Triples
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.records import Paper
from scirep_core.training.data import Kind, Stream, moments


def open_stream(name: str, split: str = "train", most: int | None = None) -> Stream:
    """Return one of TRAINED or PAIRED as a stream; a number's mean and spread are those of train, whatever the split.

    Raises ConfigError for another name or split, and what `load_task` raises.
    """
    if name not in (*TRAINED, *PAIRED):
        raise ConfigError(f"{name!r} is not trained on; {nearest(name, (*TRAINED, *PAIRED))}")
    if split not in ("train", "validation"):
        raise ConfigError(f"unknown split {split!r}; {nearest(split, ('train', 'validation'))}")
    task = load_task(name, "open")
    assert isinstance(task, Task)
    payload = task.payload
    if isinstance(payload, Labelled):
        kind: Kind = "multi_label" if payload.multi_label else "regression"
        rows = partial(_examples, task, payload, split)
        made = Stream(name, kind, rows, task.format, task.format, classes=payload.label_names, most=most)
        if payload.multi_label:
            return made
        mean, spread = moments([float(one.label) for one in payload.splits["train"]])  # type: ignore[arg-type]
        return replace(made, mean=mean, spread=spread)
    assert isinstance(payload, Triples)
    rows = partial(_triples, task, payload, split)
    bare = bool(task.queries)
    return Stream(name, "triplet", rows, "PRX", task.format, task.fields, text_query=bare, most=most)


def _examples(task: Task, payload: Labelled, split: str) -> Iterator[TrainRow]:
    names = payload.label_names
    for example in payload.splits[split]:
        label = example.label
        target: Any = tuple(n for n, y in zip(names, label, strict=True) if y) if isinstance(label, tuple) else label
        yield TrainExample(task.papers[example.paper_id], target)


def _triples(task: Task, payload: Triples, split: str) -> Iterator[TrainRow]:
    for query, positive, negative in payload.rows(split):
        asked = Paper(query, task.queries[query], "") if task.queries else task.papers[query]
        yield PaperTriple(asked, task.papers[positive], task.papers[negative])
