"""What is scored, by name: an encoder, an ensemble, lexical baselines, sentence matching, floor and ceiling.

    random, oracle              the floor: seeded normal vectors; the ceiling, where the truth is known
    tfidf                       TF-IDF rows of the task's own texts: what words alone can do
    bm25                        BM25, one index a task; ranks, and has no vectors
    ts_aspire_cs, ...           ASPIRE's four, and ts:ENCODER, ot:ENCODER: sentence matching; ranks, and has no vectors
    minilm, specter2, ...       every key of ENCODERS, a folder, a hub name (`encoders/__init__.py`)
    a+b, a++b                   the mean of encoders' vectors, their concatenation

A system is asked for a task at a time: `on(task)` gives what `scoring.evaluate` takes. `fingerprint` names what
computes by content, so rows can be kept under it; the texts belong to the task and to its own hash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from scirep_core.datasets.task import Task, TaskType
from scirep_core.encoders import ENCODERS, SENTENCES, Encoder, aspire, lexical, load_encoder
from scirep_core.errors import ConfigError, DataError, UnknownName, nearest
from scirep_core.evaluators import inputs, pairs, reference
from scirep_core.evaluators.inputs import Progress, Vectors
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.formats import Format
from scirep_core.store import stable_hash

RANKING: tuple[TaskType, ...] = ("proximity", "adhoc_search", "reviewer_matching", "triplets")
"""Task types that a system without vectors can be scored on: judged candidates are ranked."""
BOUNDS = ("random", "oracle")
LEXICAL = ("tfidf", "bm25")


@dataclass(frozen=True)
class System:
    """What is scored, by name.

    Attributes:
        fingerprint: of what computes; an encoder's own, `random` and `oracle` for those.
        encoder: where vectors come from an encoder; else None.
    """

    name: str
    fingerprint: str
    encoder: Encoder | None = None

    @property
    def ranks_only(self) -> bool:
        """Whether it scores pairs and has no vectors."""
        return self.name == "bm25" or is_sentence_matcher(self.name)

    def suits(self, task: object) -> bool:
        """Return whether the system can be scored on a task at all; a faceted collection has systems of its own."""
        if not isinstance(task, Task):
            return False
        if self.encoder is not None:
            wanted: set[Format] = {"QRY", "PRX"} if task.format == "QRY" else {task.format}
            return wanted <= set(self.encoder.formats)
        if self.ranks_only:
            return task.type in RANKING
        return self.name != "oracle" or task.oracle is not None

    def on(
        self, task: Task, protocol: str = "paper", progress: Progress | None = None
    ) -> Vectors | PairScorer | Literal["oracle", "random"]:
        """Return what `scoring.evaluate` takes for a task: vectors by id, a scorer of pairs, or the name of a bound.

        Raises ConfigError for a task that does not suit, DataError for one whose source has no texts.
        """
        if not self.suits(task):
            raise ConfigError(f"{self.name} cannot be scored on {task.name} ({task.type})")
        if self.name in BOUNDS:
            return cast(Literal["oracle", "random"], self.name)
        if not task.queries and next(iter(task.texts()), None) is None:
            raise DataError(
                task.name, None, f"{task.source} data have no texts to encode", "Give vectors by id instead"
            )
        if self.encoder is not None:
            return inputs.vectors_of(task, self.encoder, protocol, progress)
        if self.name == "tfidf":
            return reference.tfidf_vectors(task, protocol=protocol)
        if self.name == "bm25":
            texts = {key: one.text for key, one in inputs.inputs(task, SENTENCES, protocol).items()}
            return lexical.bm25_scorer(task, texts)
        return pairs.sentence_scorer(task, self.name, progress, protocol)

    def prepare(self, tasks: Sequence[Task], protocol: str = "paper", progress: Progress | None = None) -> None:
        """Encode the texts of several tasks in one go, so that `on` finds their vectors; nothing for lexical systems."""
        suited = [task for task in tasks if self.suits(task)]
        if self.encoder is not None:
            inputs.prepare(suited, self.encoder, protocol, progress)
        elif is_sentence_matcher(self.name):
            pairs.prepare(suited, self.name, progress, protocol)


def is_sentence_matcher(name: str) -> bool:
    """Return whether a name is one of ASPIRE's, or `ts:` or `ot:` with an encoder."""
    return name in aspire.ASPIRE or (name.partition(":")[0] in aspire.SIMILARITY and ":" in name)


def load_system(name: str) -> System:
    """Return a system by name (see this file's first lines). Weights are hashed now, and loaded at the first text.

    Raises ConfigError: an unknown name (naming the nearest), a model that is neither here nor reachable.
    """
    if name in BOUNDS:
        return System(name, name)
    if name == "tfidf":
        return System(name, stable_hash(["tfidf", reference.MOST_WORDS, list(SENTENCES)])[:16])
    if name == "bm25":
        settings = [lexical.K1, lexical.B, lexical.EPSILON, list(SENTENCES)]
        return System(name, stable_hash(["bm25 per task", *settings])[:16])
    if is_sentence_matcher(name):
        spec = aspire.resolve(name)
        settings = [spec.match, aspire.TEMPERATURE]
        return System(name, stable_hash([aspire.sentence_encoder(name).fingerprint, *settings])[:16])
    known = [*BOUNDS, *LEXICAL, *aspire.ASPIRE, *ENCODERS]
    try:
        encoder = load_encoder(name)
    except UnknownName as error:
        parts = [part.strip() for part in re.split(r"\+\+?", name)]
        alone = next((part for part in parts if part in (*BOUNDS, *LEXICAL) or is_sentence_matcher(part)), None)
        if len(parts) > 1 and alone:
            raise ConfigError(
                f"{name!r}: + and ++ join encoders, and {alone} is none; {nearest(alone, ENCODERS)}, a folder, or a hub name"
            ) from None
        if error.kind != "encoder" or error.name != name:  # of a part, which it names
            raise
        raise UnknownName("system", name, known, ", a folder, or a hub name org/model") from None
    return System(name, encoder.fingerprint, encoder)
