"""The one schema of every task, whatever paper it is from and whatever source its files come from.

A `Task` says what is asked (type, format, metrics) and holds the judgements in a payload of its type (`task_json.TYPES`), which
owns all that differs from type to type:

    ids()                  ids by what they are for, see `Ids`
    counts()               sizes, under the names of the inventory's `expect`
    read(folder, config)   the payload of a task folder; raises DataError naming file and line
    files(queries)         (name, rows) of a task folder's files, beside its papers

A new type of task is a class here, a name in `TaskType` (rows.py), a row of `TYPES` (task_json.py), and an evaluator.

Texts are read when asked for (`texts()` streams, `papers` keeps): scoring vectors needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scirep_core.data.rows import SPLITS, Line, Row, by_id, bylines_in, classes, json_lines, qrels_in, stated
from scirep_core.data.rows import TASK_TYPES as TASK_TYPES
from scirep_core.data.rows import Byline as Byline
from scirep_core.data.rows import Example as Example
from scirep_core.data.rows import FewShot as FewShot
from scirep_core.data.rows import Label as Label
from scirep_core.data.rows import LabelText as LabelText
from scirep_core.data.rows import Qrel as Qrel
from scirep_core.data.rows import Signature as Signature
from scirep_core.data.rows import TaskType as TaskType
from scirep_core.data.rows import Triple as Triple
from scirep_core.kit.errors import DataError, look_up, nearest
from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper
from scirep_core.kit.store import WHOLE, stable_hash

if TYPE_CHECKING:
    from scirep_core.data.task_json import TaskConfig

Files = Iterator[tuple[str, Iterable[Row]]]
Pairs = Iterator[tuple[str, str, bool]]
"""(query, candidate, whether it is relevant) of each judgement."""


class Ids(NamedTuple):
    """The ids of a payload, each part to be read once, some ids more than once."""

    needed: Iterable[str]
    """Whose vectors a score needs."""
    named: Iterable[str]
    """All that are named."""
    tested: Iterable[str]
    """What is tested: the papers of the test split, or queries and what they are held against."""
    ranked: Iterable[str] = ()
    """What is ranked; none where nothing is."""


@dataclass(frozen=True)
class Labelled:
    """Splits of labelled papers, always `train` and `test`, sometimes `validation` (SciRepEval A.3, A.4; multi-label: FoS)."""

    splits: Mapping[str, tuple[Example, ...]]
    multi_label: bool = False
    few_shot: tuple[FewShot, ...] = ()
    label_names: tuple[str, ...] = ()

    def ids(self) -> Ids:
        parts = self.splits
        return Ids(
            needed=(one.paper_id for split in ("train", "test") for one in parts[split]),
            named=(one.paper_id for examples in parts.values() for one in examples),
            tested=(one.paper_id for one in parts["test"]),
        )

    def counts(self) -> dict[str, int]:
        sizes = {split: len(examples) for split, examples in self.splits.items()}
        labels = {label for examples in self.splits.values() for one in examples for label in classes(one.label)}
        return sizes | {"papers": sum(sizes.values()), "labels": max(len(labels), len(self.label_names))}

    @classmethod
    def read(cls, folder: Path, config: TaskConfig) -> Labelled:
        splits: dict[str, tuple[Example, ...]] = {}
        width = len(config.label_names)
        for split in SPLITS:
            path = folder / f"{split}.jsonl"
            if split == "validation" and not path.is_file():
                continue
            rows = []
            for paper_id, row in by_id(path, "paper_id"):
                label = cls._label(row, f"paper {paper_id}", config)
                if isinstance(label, tuple):
                    width = width or len(label)
                    if len(label) != width or not width:
                        raise row.wrong(f"paper {paper_id}: {len(label)} labels where {width} are expected")
                rows.append(Example(paper_id, label))
            splits[split] = tuple(rows)
        few_shot = tuple(FewShot(**setting) for setting in config.few_shot)
        return cls(splits, config.multi_label, few_shot, tuple(config.label_names))

    @staticmethod
    def _label(row: Line, what: str, config: TaskConfig) -> Label:
        if not config.multi_label:
            value: int | float = row.value("label", int if config.type == "classification" else (int, float))
            if config.type == "classification" and value < 0:
                raise row.wrong(f"{what}: label {value} is negative", "Classes count from 0")
            return value
        label = row.value("label", list)
        if not all(type(one) is int and one in (0, 1) for one in label):
            raise row.wrong(f"{what}: a multi-hot label holds 0 or 1, found {label!r:.60}")
        return tuple(label)

    def files(self, queries: Mapping[str, str]) -> Files:
        for split, examples in self.splits.items():
            yield f"{split}.jsonl", ({"paper_id": e.paper_id, "label": e.label} for e in examples)


@dataclass(frozen=True)
class Judged:
    """Judged candidates, which alone are ranked (SciRepEval A.1, A.2; SciDocs; MDCR's groups; SciMult 4.4).

    Rows are in file order: it decides which of two equal pairs counts under `paper`.
    """

    rows: tuple[Qrel, ...]
    text_query: bool = False

    def ids(self) -> Ids:
        keys = [key for row in self.rows for key in (row.query_id, row.cand_id)]
        return Ids(keys, keys, keys, (row.cand_id for row in self.rows))

    def counts(self) -> dict[str, int]:
        groups = {row.group for row in self.rows if row.group}
        sizes = {"queries": len({row.query_id for row in self.rows}), "pairs": len(self.rows)}
        return sizes | ({"groups": len(groups)} if groups else {})

    def pairs(self) -> Pairs:
        return ((row.query_id, row.cand_id, row.score > 0) for row in self.rows)

    @classmethod
    def read(cls, folder: Path, config: TaskConfig) -> Judged:
        return cls(qrels_in(folder / "qrels.jsonl"), config.text_query)

    def files(self, queries: Mapping[str, str]) -> Files:
        yield "qrels.jsonl", map(stated, self.rows)


@dataclass(frozen=True)
class Pooled:
    """Queries with graded relevant papers, to be found in one pool, all of which is ranked (SciMult 4.3, 4.5; BEIR)."""

    relevant: Mapping[str, Mapping[str, int]]
    pool: tuple[str, ...]
    keep_self: bool = True
    text_query: bool = False

    def ids(self) -> Ids:
        keys = [*self.relevant, *self.pool]
        tested = (*self.pool, *(key for query, cand, _ in self.pairs() for key in (query, cand)))
        return Ids(keys, keys, tested, self.pool)

    def counts(self) -> dict[str, int]:
        return {"queries": len(self.relevant), "papers": len(self.pool)}

    def pairs(self) -> Pairs:
        return ((query, cand, grade > 0) for query, grades in self.relevant.items() for cand, grade in grades.items())

    @classmethod
    def read(cls, folder: Path, config: TaskConfig) -> Pooled:
        pool = dict.fromkeys(key for key, _ in by_id(folder / "pool.jsonl", "paper_id"))
        relevant: dict[str, dict[str, int]] = {}
        for query, row in by_id(folder / "queries.jsonl", "query_id"):
            relevant[query] = row.value("relevant", dict)
            for paper_id, grade in relevant[query].items():
                if paper_id not in pool:
                    raise row.wrong(f"query {query}: relevant paper {paper_id} is not in pool.jsonl")
                row.grade(grade, f"query {query}, paper {paper_id}")
            if config.text_query:
                row.value("query")
                if config.keep_self and query in pool:
                    reason = f"{query} is a query and a paper of the pool: they would share a vector"
                    raise row.wrong(reason, "Give bare queries ids of their own")
        return cls(relevant, tuple(pool), config.keep_self, config.text_query)

    def files(self, queries: Mapping[str, str]) -> Files:
        yield "pool.jsonl", ({"paper_id": key} for key in self.pool)
        rows = ({"query_id": key, "relevant": dict(relevant)} for key, relevant in self.relevant.items())
        texts = ({"query": queries[key]} if key in queries else {} for key in self.relevant)
        yield "queries.jsonl", (row | text for row, text in zip(rows, texts, strict=True))


@dataclass(frozen=True)
class LabelSpace:
    """Papers with gold labels, all labels as texts, and the labels whose name occurs in a paper (SciMult 4.2)."""

    gold: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, LabelText]
    matched: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def ids(self) -> Ids:
        keys = [*self.gold, *self.labels]
        return Ids(keys, keys, self.gold, self.labels)

    def counts(self) -> dict[str, int]:
        return {"papers": len(self.gold), "labels": len(self.labels)}

    @classmethod
    def read(cls, folder: Path, config: TaskConfig) -> LabelSpace:
        labels = {key: LabelText(key, row.value("name"), row.option("definition"))
                  for key, row in by_id(folder / "labels.jsonl", "label_id")}  # fmt: skip
        gold = cls._labels_of(folder / "papers.jsonl", "labels", labels)
        path = folder / "matched.jsonl"
        return cls(gold, labels, cls._labels_of(path, "candidates", labels, gold) if path.is_file() else {})

    @staticmethod
    def _labels_of(
        path: Path, column: str, labels: Mapping[str, LabelText], papers: Container[str] | None = None
    ) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for paper_id, row in by_id(path, "paper_id"):
            if paper_id in labels:
                reason = f"{paper_id} is a paper and a label: they would share a vector"
                raise row.wrong(reason, "Give labels ids of their own")
            ids = found[paper_id] = row.keyed(column)
            if unknown := [key for key in ids if key not in labels]:
                reason = f"paper {paper_id}: label {unknown[0]!r} is not in labels.jsonl"
                raise row.wrong(reason, nearest(unknown[0], labels))
            if len(set(ids)) < len(ids):
                raise row.wrong(f"paper {paper_id}: a label is there twice")
            if papers is not None and paper_id not in papers:
                raise row.wrong(f"paper {paper_id} is not in papers.jsonl")
        return found

    def files(self, queries: Mapping[str, str]) -> Files:
        yield "labels.jsonl", (label._asdict() for label in self.labels.values())
        if self.matched:
            yield "matched.jsonl", ({"paper_id": key, "candidates": list(ids)} for key, ids in self.matched.items())


@dataclass(frozen=True)
class Reviewers:
    """Submissions against reviewers, hard (expertise 3) and soft (2 or 3) judgements, each one's papers (SciRepEval A.2)."""

    hard: tuple[Qrel, ...]
    soft: tuple[Qrel, ...]
    reviewers: Mapping[str, tuple[str, ...]]

    def ids(self) -> Ids:
        ranked = [paper for row in self.hard for paper in self.reviewers.get(row.cand_id, ())]
        needed = [*(row.query_id for row in self.hard), *ranked]
        papers = (paper for of_one in self.reviewers.values() for paper in of_one)
        return Ids(needed, (*papers, *(row.query_id for row in (*self.hard, *self.soft))), needed, ranked)

    def counts(self) -> dict[str, int]:
        queries = {row.query_id for row in self.hard}
        return {"queries": len(queries), "pairs": len(self.hard), "reviewers": len(self.reviewers)}

    @classmethod
    def read(cls, folder: Path, config: TaskConfig) -> Reviewers:
        papers: dict[str, tuple[str, ...]] = {}
        for reviewer, row in by_id(folder / "reviewers.jsonl", "r_id"):
            papers[reviewer] = row.keyed("papers")
            if not papers[reviewer]:
                raise row.wrong(f"reviewer {reviewer} has no papers")
        hard, soft = qrels_in(folder / "qrels_hard.jsonl"), qrels_in(folder / "qrels_soft.jsonl")
        for name, rows in (("hard", hard), ("soft", soft)):
            unknown = next((row.cand_id for row in rows if row.cand_id not in papers), None)
            if unknown is not None:
                raise DataError(folder / f"qrels_{name}.jsonl", None, f"reviewer {unknown} is not in reviewers.jsonl",
                                nearest(unknown, papers))  # fmt: skip
        return cls(hard, soft, papers)

    def files(self, queries: Mapping[str, str]) -> Files:
        yield "qrels_hard.jsonl", map(stated, self.hard)
        yield "qrels_soft.jsonl", map(stated, self.soft)
        yield "reviewers.jsonl", ({"r_id": key, "papers": list(papers)} for key, papers in self.reviewers.items())


@dataclass(frozen=True)
class Signatures:
    """Author mentions with their true clusters, and what is known of their papers, by paper; empty where nothing is (S2AND)."""

    rows: tuple[Signature, ...]
    bylines: Mapping[str, Byline] = field(default_factory=dict)

    def ids(self) -> Ids:
        keys = [row.paper_id for row in self.rows]
        return Ids(keys, keys, keys)

    def counts(self) -> dict[str, int]:
        known = {row.cluster for row in self.rows if row.cluster}
        return {"clusters": len(known), "signatures": len(self.rows)}

    @classmethod
    def read(cls, folder: Path, config: TaskConfig) -> Signatures:
        names, rows = ("name", "affiliation", "first", "middle", "last", "email"), []
        for key, row in by_id(folder / "signatures.jsonl", "signature_id"):
            paper, block = row.key("paper_id"), row.key("block")
            cluster = str(row.value("cluster", (str, int)))  # "": nobody knows whose it is
            more = {name: row.value(name) for name in names if name in row}
            position = row.option("position", int, -1)
            rows.append(Signature(key, paper, block, cluster, **more, position=position))
        return cls(tuple(rows), bylines_in(folder / "bylines.jsonl"))

    def files(self, queries: Mapping[str, str]) -> Files:
        yield "signatures.jsonl", map(stated, self.rows)
        if self.bylines:
            yield "bylines.jsonl", map(stated, self.bylines.values())


@dataclass(frozen=True)
class Collection:
    """A plain collection of papers, asked for by their own titles (textual neighbours 4)."""

    paper_ids: tuple[str, ...]

    def ids(self) -> Ids:
        needed = (f"{paper}/{text}" for paper in self.paper_ids for text in ("t", "ta"))
        return Ids(needed, self.paper_ids, self.paper_ids)

    def counts(self) -> dict[str, int]:
        return {"papers": len(self.paper_ids)}

    @classmethod
    def read(cls, folder: Path, config: TaskConfig) -> Collection:
        return cls(tuple(key for key, _ in by_id(folder / "papers.jsonl", "paper_id")))

    def files(self, queries: Mapping[str, str]) -> Files:
        yield from ()


@dataclass(frozen=True)
class Triples:
    """Training examples by split, streamed: `rows("train")` may be millions."""

    rows: Callable[[str], Iterator[Triple]]
    splits: tuple[str, ...] = ("train",)

    @classmethod
    def of(cls, splits: Mapping[str, Callable[[], Iterator[Triple]]]) -> Triples:
        """Return the rows of each split, read anew whenever they are asked for; `rows` raises UnknownName for another split."""
        return cls(lambda split: look_up("split", split, splits)(), tuple(splits))

    def ids(self) -> Ids:
        def keys(wanted: Callable[[Triple], Iterable[str]]) -> Iterator[str]:
            return (key for split in self.splits for row in self.rows(split) for key in wanted(row) if key)

        needed = keys(lambda row: row if row.negative else ())
        return Ids(needed, keys(lambda row: row), keys(lambda row: row), keys(lambda row: row[1:]))

    def counts(self) -> dict[str, int]:
        queries: set[str] = set()
        sizes = dict.fromkeys(self.splits, 0)
        for split in self.splits:
            for row in self.rows(split):
                sizes[split] += 1
                queries.add(row.query)
        return sizes | {"queries": len(queries)}

    @classmethod
    def read(cls, folder: Path, config: TaskConfig) -> Triples:
        splits = tuple(s for s in SPLITS if s == "train" or (folder / f"{s}.jsonl").is_file())

        def rows(path: Path) -> Iterator[Triple]:
            for row in json_lines(path):
                negative = row.key("negative") if row.get("negative", "") != "" else ""
                yield Triple(row.key("query"), row.key("positive"), negative)

        files = {split: folder / f"{split}.jsonl" for split in splits}
        for path in files.values():
            small = path.is_file() and path.stat().st_size <= WHOLE
            for _ in rows(path):
                if not small:
                    break
        return cls.of({split: partial(rows, path) for split, path in files.items()})

    def files(self, queries: Mapping[str, str]) -> Files:
        for split in self.splits:
            yield f"{split}.jsonl", (row._asdict() for row in self.rows(split))


Payload = Labelled | Judged | Pooled | LabelSpace | Reviewers | Signatures | Collection | Triples


@dataclass(frozen=True)
class Task:
    """One task: what is asked, the judgements, the texts, the truth where the data were invented."""

    name: str
    type: TaskType
    format: Format
    metrics: tuple[str, ...]
    payload: Payload
    source: str
    data_hash: str
    version: int = 1
    similarity: str = "l2"
    texts: Callable[[], Iterable[Paper]] = tuple
    """Streams the papers, each once; empty where the source has no texts (NFCorpus judgements alone, say)."""
    queries: Mapping[str, str] = field(default_factory=dict)
    """Text of each bare query, where queries are no papers."""
    oracle: Path | None = None
    """npz (`ids`, `vectors`) that reaches the ceiling; only where the latents are known."""
    related: str = ""
    """`in-train`, or of held-out embedded tasks `related` / `unrelated`: do they share latents with training tasks?"""
    notes: str = ""
    fields: tuple[str, ...] = ("title", "abstract")
    """What a text consists of; Search adds venue and year (SciRepEval 4.1)."""

    @cached_property
    def papers(self) -> dict[str, Paper]:
        """All papers by id. For what does not fit into memory, stream `texts()`."""
        return {paper.paper_id: paper for paper in self.texts()}


def capped(task: Task, rows: int) -> Task:
    """Return a labelled task with at most so many rows in each part, those of the least hash of their id; others as they are.

    Its texts are those of these rows: what is left out is not encoded. A hash takes the same papers into several tasks.
    """
    if not isinstance(task.payload, Labelled) or max(map(len, task.payload.splits.values())) <= rows:
        return task
    splits = {
        part: tuple(sorted(examples, key=lambda one: stable_hash(one.paper_id))[:rows])
        for part, examples in task.payload.splits.items()
    }
    payload, note = replace(task.payload, splits=splits), f"at most {rows:,} rows of each part, by a hash of the id"
    ids = {one.paper_id for examples in splits.values() for one in examples}
    return replace(
        task, payload=payload, data_hash=stable_hash([task.data_hash, rows]),
        texts=lambda: (paper for paper in task.texts() if paper.paper_id in ids),
        notes="; ".join(filter(None, (task.notes, note))),
    )  # fmt: skip
