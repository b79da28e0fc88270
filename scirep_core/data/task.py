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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from scirep_core.data.payloads import Collection as Collection
from scirep_core.data.payloads import Judged as Judged
from scirep_core.data.payloads import Labelled as Labelled
from scirep_core.data.payloads import LabelSpace as LabelSpace
from scirep_core.data.payloads import Payload as Payload
from scirep_core.data.payloads import Pooled as Pooled
from scirep_core.data.payloads import Reviewers as Reviewers
from scirep_core.data.payloads import Signatures as Signatures
from scirep_core.data.payloads import Triples as Triples
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
from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper
from scirep_core.kit.store import stable_hash


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
