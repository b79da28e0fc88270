"""The one schema of every task, whatever paper it is from and whatever source its files come from.

A `Task` says what is asked (type, format, metrics) and holds the judgements in a payload of its type:

    type                    payload              papers and sections that define it
    classification          Labelled             SciRepEval A.3 (multi-label: FoS)
    regression              Labelled             SciRepEval A.4
    proximity               Judged               SciRepEval A.2, SciDocs, MDCR (groups), SciMult 4.4 (recommendation)
    adhoc_search            Judged, text_query   SciRepEval A.1; only judged candidates are ranked
    retrieval               Pooled               SciMult 4.3 and 4.5, BEIR sets; the whole pool is ranked
    label_ranking           LabelSpace           SciMult 4.2, fine and coarse
    reviewer_matching       Reviewers            SciRepEval A.2
    author_disambiguation   Signatures           S2AND
    alternative_self        Collection           textual neighbours, section 4
    triplets                Triples              training data: citation triplets, SciMult's pairs

Texts are read when asked for (`texts()` streams, `papers` keeps): scoring vectors needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper

TaskType = Literal[
    "classification", "regression", "proximity", "adhoc_search", "retrieval", "label_ranking", "reviewer_matching",
    "author_disambiguation", "alternative_self", "triplets",
]  # fmt: skip
TASK_TYPES: tuple[TaskType, ...] = (
    "classification", "regression", "proximity", "adhoc_search", "retrieval", "label_ranking", "reviewer_matching",
    "author_disambiguation", "alternative_self", "triplets",
)  # fmt: skip
Label = int | float | tuple[int, ...]
"""A class, a target, or a multi-hot row."""


class FewShot(NamedTuple):
    """A few-shot setting: examples (in total; per label where multi-label) and how often it is repeated."""

    sample_size: int
    iterations: int


class Example(NamedTuple):
    """One labelled paper."""

    paper_id: str
    label: Label


class Qrel(NamedTuple):
    """One judged candidate of a query; `group` is MDCR's field."""

    query_id: str
    cand_id: str
    score: int
    group: str = ""


class LabelText(NamedTuple):
    """A label that is itself a text."""

    label_id: str
    name: str
    definition: str = ""


class Signature(NamedTuple):
    """One author mention: a paper and a position in its byline, within a block of equal names; "" and -1 are unknown."""

    signature_id: str
    paper_id: str
    block: str
    cluster: str
    name: str = ""
    affiliation: str = ""
    first: str = ""
    middle: str = ""
    last: str = ""
    email: str = ""
    position: int = -1


class Byline(NamedTuple):
    """What disambiguation asks of a paper beside its text: all authors in order, the journal, the papers it cites."""

    paper_id: str
    authors: tuple[str, ...] = ()
    journal: str = ""
    references: tuple[str, ...] = ()


class Triple(NamedTuple):
    """A training example: query, what belongs to it, what does not (paper ids; or label ids, or a bare query)."""

    query: str
    positive: str
    negative: str = ""


@dataclass(frozen=True)
class Labelled:
    """Splits of labelled papers: always `train` and `test`, sometimes `validation`."""

    splits: Mapping[str, tuple[Example, ...]]
    multi_label: bool = False
    few_shot: tuple[FewShot, ...] = ()
    label_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """Rows in file order: the order decides which of two equal pairs counts under `paper`."""

    rows: tuple[Qrel, ...]
    text_query: bool = False


@dataclass(frozen=True)
class Pooled:
    """Queries with graded relevant papers, to be found in one pool."""

    relevant: Mapping[str, Mapping[str, int]]
    pool: tuple[str, ...]
    keep_self: bool = True
    text_query: bool = False


@dataclass(frozen=True)
class LabelSpace:
    """Papers with gold labels, all labels as texts, and the labels whose name occurs in a paper (SciMult 4.2)."""

    gold: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, LabelText]
    matched: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reviewers:
    """Submissions against reviewers, hard (expertise 3) and soft (2 or 3) judgements, each reviewer's papers."""

    hard: tuple[Qrel, ...]
    soft: tuple[Qrel, ...]
    reviewers: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Signatures:
    """Author mentions with their true clusters, and what is known of their papers, by paper; empty where nothing is."""

    rows: tuple[Signature, ...]
    bylines: Mapping[str, Byline] = field(default_factory=dict)


@dataclass(frozen=True)
class Collection:
    """A plain collection of papers, asked for by their own titles."""

    paper_ids: tuple[str, ...]


@dataclass(frozen=True)
class Triples:
    """Training examples by split, streamed: `rows("train")` may be millions."""

    rows: Callable[[str], Iterator[Triple]]
    splits: tuple[str, ...] = ("train",)


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
