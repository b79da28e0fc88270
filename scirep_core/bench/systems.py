"""What is scored, by name: an encoder, an ensemble, lexical baselines, sentence matching, floor and ceiling.

    random, oracle              the floor: seeded normal vectors; the ceiling, where the truth is known
    tfidf                       TF-IDF of the task's own texts, what words alone can do: vectors of the 8,000 most frequent
                                words (`inputs`), all words where a whole pool or label space is ranked (`lexical`)
    bm25                        BM25, one index a task; ranks, and has no vectors
    ts_aspire_cs, ...           ASPIRE's four, and ts:ENCODER, ot:ENCODER: sentence matching; ranks, and has no vectors
    minilm, specter2, ...       every key of ENCODERS, a folder, a hub name (`encoders/__init__.py`)
    a+b, a++b                   the mean of encoders' vectors, their concatenation

And vectors or a model of one's own (`given.py`): `as_system` takes them all.

A system is asked for a task at a time: `on(task)` gives what `scoring.evaluate` takes. `fingerprint` names what
computes by content, so rows can be kept under it; the texts belong to the task and to its own hash.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from scirep_core.bench.given import SUFFIXES, Given, given, is_encoder, of_model, refuse_textless
from scirep_core.data.task import LabelSpace, Pooled, Task, TaskType
from scirep_core.encoders import ENCODERS, SENTENCES, Encoder, aspire, lexical, load_encoder
from scirep_core.encoders.ensemble import members
from scirep_core.evaluators import inputs, pairs
from scirep_core.evaluators.inputs import Progress, Vectors
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.kit.errors import ConfigError, UnknownName, nearest
from scirep_core.kit.formats import Format
from scirep_core.kit.store import stable_hash

RANKING: tuple[TaskType, ...] = (
    "proximity", "adhoc_search", "reviewer_matching", "triplets", "retrieval", "label_ranking",
)  # fmt: skip
"""Task types that a system without vectors can be scored on: they ask how near two texts are, no more."""
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
    def reads(self) -> dict[str, Any]:
        """What a row says of prompts and separator: of an ensemble, those of each member."""
        reads = {one.name: one.recipe.reads for one in members(self.encoder)} if self.encoder is not None else {}
        return {"reads": next(iter(reads.values())) if len(reads) == 1 else reads} if reads else {}

    def key(self, task: Task, protocol: str) -> list[str]:
        """Return what rows are kept under: what computes, and how texts are made, which its fingerprint need not know."""
        encoders = members(self.encoder) if self.encoder is not None else []
        return [self.fingerprint, *(part for one in encoders for part in one.recipe)]

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
        refuse_textless(task)
        if self.encoder is not None:
            return inputs.vectors_of(task, self.encoder, protocol, progress)
        if self.name == "tfidf" and not isinstance(task.payload, LabelSpace | Pooled):
            return inputs.tfidf_vectors(task, protocol=protocol)
        if self.name in LEXICAL:
            texts = {key: one.text for key, one in inputs.inputs(task, SENTENCES, protocol).items()}
            return (lexical.bm25_scorer if self.name == "bm25" else lexical.tfidf_scorer)(task, texts)
        return pairs.matcher_of(self.name, pairs.documents_of(task, protocol), progress)

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
        return System(name, stable_hash(["tfidf", inputs.MOST_WORDS, list(SENTENCES)])[:16])
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
        if error.kind != "encoder":
            raise
        parts = [part.strip() for part in re.split(r"\+\+?", name)]
        alone = next((part for part in parts if part in (*BOUNDS, *LEXICAL) or is_sentence_matcher(part)), None)
        if len(parts) > 1 and alone:
            raise ConfigError(
                f"{name!r}: + and ++ join encoders, and {alone} is none; {nearest(alone, ENCODERS)}, a folder, or a hub name"
            ) from None
        if error.name != name:  # of a part, which it names
            raise
        raise UnknownName("system", name, known, ", a folder, or a hub name org/model") from None
    return System(name, encoder.fingerprint, encoder)


def as_system(system: Any) -> System | Given:
    """Return a system of whatever names, holds or is one; a string that ends like a file of vectors is one.

    Raises ConfigError for an unknown name, and for what is neither name, vectors nor model.
    """
    if isinstance(system, str):
        return given(Path(system)) if Path(system).suffix in SUFFIXES else load_system(system)
    if isinstance(system, Path | Mapping | tuple | list):
        return given(system)
    if isinstance(system, System | Given):
        return system
    if is_encoder(system):
        return System(system.name, system.fingerprint, system)
    return of_model(system)
