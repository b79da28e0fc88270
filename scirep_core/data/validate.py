"""Is a task what it says it is? Counts, coverage, disjoint splits, near-duplicates between training and test texts.

Readers refuse what is malformed, one error with file and line. `validate` looks at what was read as a whole and returns
all it finds, each a line `task: reason`:

    texts       every judged id has a text (where the source has texts at all)
    splits      no paper in two splits; a query is none of its own candidates; no pair is judged twice
    labels      every class of the test part occurs in training
    leak        a test paper whose text is also, or nearly, a training text: share of its five-word sequences that
                occur in one training text >= `NEAR` (title and abstract, lower case, words only)
    relevance   every query has something relevant and, among judged candidates, something less so
    counts      as published, where the whole real collection was read

The leak check compares hashed five-word sequences by sparse products, block by block; memory follows the number of
sequences, about 0.3 kB a word of text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scirep_core.data import task as schema
from scirep_core.data.inventory import MORE, TASKS
from scirep_core.data.rows import classes
from scirep_core.data.task import Task
from scirep_core.kit.records import Paper

NEAR = 0.5
"""Share of a test text's five-word sequences in one training text from which on the two count as near-duplicates."""
WORDS = 5
CHECKS = ("texts", "splits", "labels", "leak", "relevance", "counts")
SHOWN = 3  # examples named in a finding
BLOCK = 2_000


class Finding(NamedTuple):
    """One thing that is wrong: the task, the kind of check, what was found, how often."""

    task: str
    check: str
    reason: str
    times: int

    def __str__(self) -> str:
        """Return the finding as one line."""
        return f"{self.task}: {self.check}: {self.reason}"


def counts(task: Task) -> dict[str, int]:
    """Return what a task has, under the names of the inventory's `expect`."""
    found = task.payload.counts()
    return {name: n for name, n in found.items() if name != "labels" or task.type != "regression"}


def printed_counts(task: Task) -> dict[str, int]:
    """Return a task's counts in the reading of its paper, to be held against the inventory's `expect`.

    A triplet set is counted whole. Labelled papers of a task's own train and test together are what Table 1 of SciRepEval
    calls its test set: probes are trained on a part of it. Two tasks tell their splits apart: FoS prints the gold test
    alone, DRSM silver (train) and gold (test). Training sets lie in other files (`scirepeval.training_counts`).
    """
    found, data = counts(task), task.payload
    spec = TASKS.get(task.name)
    if spec is None:
        return found
    if isinstance(data, schema.Triples):
        return {"train": sum(found[split] for split in data.splits), "queries": found["queries"]}
    if isinstance(data, schema.Labelled) and spec.config != "drsm":
        size = found["test"] if spec.config == "fos" else found["papers"]
        name = "papers" if "papers" in spec.expect else "test"
        found = {name: size} | ({"labels": found["labels"]} if "labels" in found else {})
    return found


def validate(task: Task, near: float = NEAR) -> list[Finding]:
    """Return all that is wrong with a task, nothing if it is sound.

    Args:
        near: share of five-word sequences from which on two texts are near-duplicates, in (0, 1].
    """
    return [*_coverage(task), *_splits(task), *_unseen(task), *_relevance(task), *_leaks(task, near), *_published(task)]


def _finding(task: Task, check: str, what: str, ids: Sequence[str]) -> Iterator[Finding]:
    if ids:
        named = ", ".join(ids[:SHOWN]) + (" ..." if len(ids) > SHOWN else "")
        yield Finding(task.name, check, f"{len(ids)} {what} ({named})", len(ids))


def _coverage(task: Task) -> Iterator[Finding]:
    has = {paper.paper_id for paper in task.texts()}
    if not has or task.type in ("triplets", "label_ranking"):
        return
    known = has | set(task.queries)
    yield from _finding(task, "texts", "judged ids without a text", sorted({*task.payload.ids().named} - known))
    empty = sorted(p.paper_id for p in task.texts() if not p.title.strip() and not p.abstract.strip())
    yield from _finding(task, "texts", "papers with neither title nor abstract", empty)


def _splits(task: Task) -> Iterator[Finding]:
    data = task.payload
    if isinstance(data, schema.Labelled):
        places = Counter(key for rows in data.splits.values() for key in {row.paper_id for row in rows})
        twice = sorted(key for key, splits in places.items() if splits > 1)
        yield from _finding(task, "splits", "papers in two splits", twice)
    if isinstance(data, schema.Judged):
        own = sorted({row.query_id for row in data.rows if row.query_id == row.cand_id})
        yield from _finding(task, "splits", "queries that are their own candidates", own)
        seen = Counter((row.query_id, row.cand_id, row.group) for row in data.rows)
        twice = sorted(f"{q} {c}" for (q, c, _), n in seen.items() if n > 1)
        yield from _finding(task, "splits", "query-candidate pairs judged twice", twice)


def _unseen(task: Task) -> Iterator[Finding]:
    data = task.payload
    if isinstance(data, schema.Labelled) and task.type == "classification":
        trained = {k for row in data.splits["train"] for k in classes(row.label)}
        strange = sorted({k for row in data.splits["test"] for k in classes(row.label)} - trained)
        yield from _finding(
            task, "labels", "classes of the test part that no training paper has", list(map(str, strange))
        )


def _relevance(task: Task) -> Iterator[Finding]:
    data = task.payload
    if isinstance(data, schema.Judged):
        grades: dict[str, set[int]] = defaultdict(set)
        for row in data.rows:
            grades[row.query_id].add(row.score)
        none = sorted(query for query, found in grades.items() if max(found) <= 0)
        equal = sorted(query for query, found in grades.items() if max(found) > 0 and len(found) == 1)
        yield from _finding(task, "relevance", "queries without a relevant candidate", none)
        yield from _finding(task, "relevance", "queries whose candidates are all equally relevant", equal)
    if isinstance(data, schema.Pooled):
        none = sorted(q for q, grades in data.relevant.items() if not any(g > 0 for g in grades.values()))
        yield from _finding(task, "relevance", "queries without a relevant paper", none)


def _leaks(task: Task, near: float) -> Iterator[Finding]:
    data = task.payload
    if not isinstance(data, schema.Labelled):
        return
    papers = task.papers
    test = [row.paper_id for row in data.splits["test"] if row.paper_id in papers]
    train = [r.paper_id for s, rows in data.splits.items() if s != "test" for r in rows if r.paper_id in papers]
    pairs = near_duplicates({k: _text(papers[k]) for k in test}, {k: _text(papers[k]) for k in train}, near)
    named = [f"{a} ~ {b}" for a, b, _ in pairs]
    yield from _finding(
        task, "leak", f"test papers nearly repeat a training paper (>= {near:.0%} of their text)", named
    )


def _text(paper: Paper) -> str:
    return f"{paper.title} {paper.abstract}"


def near_duplicates(
    test: Mapping[str, str], train: Mapping[str, str], near: float = NEAR
) -> list[tuple[str, str, float]]:
    """Return (test id, training id, share of the test text found in the training text) for shares >= `near`.

    Texts shorter than five words are compared as a whole. At most one training text, the nearest, is named for each test text.
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import HashingVectorizer

    if not test or not train:
        return []
    hashing = HashingVectorizer(
        analyzer=_sequences, n_features=1 << 24, norm=None, alternate_sign=False, binary=True, dtype=np.float32
    )
    index: csr_matrix = hashing.transform(train.values()).T.tocsr()
    test_ids, train_ids = list(test), list(train)
    found = []
    for start in range(0, len(test_ids), BLOCK):
        block = test_ids[start : start + BLOCK]
        rows = hashing.transform(test[k] for k in block)
        size = np.maximum(np.asarray(rows.sum(axis=1)).ravel(), 1)
        shared = (rows @ index).tocsr()
        for i, key in enumerate(block):
            row = shared[i]
            if row.nnz:
                best = int(row.data.argmax())
                share = float(row.data[best] / size[i])
                if share >= near:
                    found.append((key, train_ids[int(row.indices[best])], share))
    return found


def _sequences(text: str) -> list[str]:
    """Return the five-word sequences of a text, the whole text if it is shorter."""
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return [" ".join(words[i : i + WORDS]) for i in range(max(1, len(words) - WORDS + 1))]


def _published(task: Task) -> Iterator[Finding]:
    if task.source != "real" or task.name not in (*TASKS, *MORE):
        return
    have, phrase = printed_counts(task), "the paper prints" if task.name in TASKS else "its row says"
    for name, printed in (TASKS[task.name] if task.name in TASKS else MORE[task.name]).expect.items():
        if name in have and have[name] != printed:
            yield Finding(task.name, "counts", f"{have[name]} {name}, {phrase} {printed}", 1)
