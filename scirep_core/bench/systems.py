"""What is scored, by name: an encoder, an ensemble, lexical baselines, sentence matching, floor and ceiling.

    random, oracle              the floor: seeded normal vectors; the ceiling, where the truth is known
    tfidf                       TF-IDF of the task's own texts, what words alone can do: vectors of the 8,000 most frequent
                                words (`reference`), all words where a whole pool or label space is ranked (`lexical`)
    bm25                        BM25, one index a task; ranks, and has no vectors
    ts_aspire_cs, ...           ASPIRE's four, and ts:ENCODER, ot:ENCODER: sentence matching; ranks, and has no vectors
    minilm, specter2, ...       every key of ENCODERS, a folder, a hub name (`encoders/__init__.py`)
    a+b, a++b                   the mean of encoders' vectors, their concatenation

And a model of one's own, by `as_model`: whatever has `.encode(list of str)`, or a function from texts to an array. It reads
title + ". " + abstract, as MiniLM does, or what its attribute `recipe` (a `text.Recipe`) says. In ad-hoc search a model that has
`encode_query` and `encode_document` (sentence-transformers) reads queries by the one and the papers to be found by the other.

A system is asked for a task at a time: `on(task)` gives what `scoring.evaluate` takes. `fingerprint` names what
computes by content, so rows can be kept under it; the texts belong to the task and to its own hash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeGuard, cast

import numpy as np

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import LabelSpace, Pooled, Task, TaskType
from scirep_core.data.text import Recipe
from scirep_core.encoders import ENCODERS, SENTENCES, Encoder, aspire, lexical, load_encoder
from scirep_core.evaluators import inputs, pairs, reference
from scirep_core.evaluators.inputs import Input, Progress, Vectors
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.kit.errors import ConfigError, DataError, UnknownName, nearest
from scirep_core.kit.formats import Format
from scirep_core.kit.store import stable_hash

RANKING: tuple[TaskType, ...] = (
    "proximity", "adhoc_search", "reviewer_matching", "triplets", "retrieval", "label_ranking",
)  # fmt: skip
"""Task types that a system without vectors can be scored on: they ask how near two texts are, no more."""
BOUNDS = ("random", "oracle")
LEXICAL = ("tfidf", "bm25")
Vectorise = Callable[[list[str]], Any]
"""Texts in, (texts, dim) array out: numpy's, torch's, or lists of numbers."""
TAKEN = "a name, a model with .encode(list of str), a function from texts to an array, a mapping id -> vector, or (ids, array)"
"""What can be scored, in words."""


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
        refuse_textless(task)
        if self.encoder is not None:
            return inputs.vectors_of(task, self.encoder, protocol, progress)
        if self.name == "tfidf" and not isinstance(task.payload, LabelSpace | Pooled):
            return reference.tfidf_vectors(task, protocol=protocol)
        if self.name in LEXICAL:
            texts = {key: one.text for key, one in inputs.inputs(task, SENTENCES, protocol).items()}
            return (lexical.bm25_scorer if self.name == "bm25" else lexical.tfidf_scorer)(task, texts)
        return pairs.sentence_scorer(task, self.name, progress, protocol)

    def prepare(self, tasks: Sequence[Task], protocol: str = "paper", progress: Progress | None = None) -> None:
        """Encode the texts of several tasks in one go, so that `on` finds their vectors; nothing for lexical systems."""
        suited = [task for task in tasks if self.suits(task)]
        if self.encoder is not None:
            inputs.prepare(suited, self.encoder, protocol, progress)
        elif is_sentence_matcher(self.name):
            pairs.prepare(suited, self.name, progress, protocol)


def refuse_textless(task: Task) -> None:
    """Raise DataError for a task whose source has no texts."""
    if not task.queries and next(iter(task.texts()), None) is None:
        raise DataError(task.name, None, f"{task.source} data have no texts to encode", "Give vectors by id instead")


class Model(NamedTuple):
    """A model of the user's own: its name, how papers become texts for it, and what reads each side of a task."""

    name: str
    recipe: Recipe
    paper: Vectorise
    query: Vectorise
    found: Vectorise


def is_encoder(thing: object) -> TypeGuard[Encoder]:
    """Return whether something is an encoder of this library, which is told the task format of every text."""
    return hasattr(thing, "formats") and isinstance(getattr(thing, "recipe", None), Recipe)


def as_model(thing: Any, recipe: Recipe | None = None) -> Model:
    """Return a model of an object with `.encode` or of a function; `recipe` instead of its own.

    Raises ConfigError for anything else: a class is no model before one of it is made.
    """
    paper = getattr(thing, "encode", None)
    if isinstance(thing, str | type) or not callable(paper or thing):
        kind = type(thing).__name__
        shown = (
            f"the class {thing.__name__}" if isinstance(thing, type) else f"{kind} {' '.join(repr(thing).split()):.40}"
        )
        raise ConfigError(f"{shown} cannot be scored. Give {TAKEN}")
    if not callable(paper):
        return Model(_name(thing), recipe or _recipe(thing), thing, thing, thing)
    both = [getattr(thing, name, None) for name in ("encode_query", "encode_document")]
    query, found = both if all(map(callable, both)) else (paper, paper)
    return Model(_name(thing), recipe or _recipe(thing), paper, cast(Vectorise, query), cast(Vectorise, found))


def _name(thing: Any) -> str:
    own = (getattr(thing, key, None) for key in ("name", "__name__"))
    return next((name for name in own if isinstance(name, str) and name), type(thing).__name__).strip("<>")


def _recipe(thing: Any) -> Recipe:
    own = getattr(thing, "recipe", None)
    return own if isinstance(own, Recipe) else SENTENCES


def by_callable(task: Task | FacetCollection, model: Model | Any, protocol: str = "paper") -> Vectors:
    """Return id -> vector of a model of one's own (`as_model`) on a task.

    Raises ConfigError for what is no model, DataError for a task without texts, and for an answer that is no row a text.
    """
    made = model if isinstance(model, Model) else as_model(model)
    wanted = _wanted(task, made.recipe, protocol)
    search = isinstance(task, Task) and bool(task.queries) and made.query is not made.paper
    asked = [key for key, one in wanted.items() if search and one.format == "QRY"]
    others = [key for key, one in wanted.items() if not (search and one.format == "QRY")]
    found: Vectors = {}
    for side, keys in ((made.query, asked), (made.found if search else made.paper, others)):
        if keys:
            rows = _rows(side([wanted[key].text for key in keys]), len(keys), made.name)
            found |= dict(zip(keys, rows, strict=True))
    return found


def by_encoder(task: Task | FacetCollection, encoder: Encoder, protocol: str = "paper") -> Vectors:
    """Return id -> vector of an encoder of this library on a task; of a faceted collection a vector a paper, format PRX."""
    if isinstance(task, Task):
        refuse_textless(task)
        return inputs.vectors_of(task, encoder, protocol)
    wanted = _wanted(task, encoder.recipe, protocol)
    return dict(zip(wanted, encoder.encode([one.text for one in wanted.values()], "PRX"), strict=True))


def _wanted(task: Task | FacetCollection, recipe: Recipe, protocol: str) -> dict[str, Input]:
    if isinstance(task, Task):
        refuse_textless(task)
        return inputs.inputs(task, recipe, protocol)
    return {key: Input(recipe.of_paper(paper), "PRX") for key, paper in task.papers.items()}


def _rows(made: Any, texts: int, name: str) -> Any:
    """Return what a model gave as an array. Raises DataError unless it is one row of numbers a text."""
    try:
        array = np.asarray(_plain(made))
    except (TypeError, ValueError) as error:
        raise DataError(
            name, None, f"{texts} texts gave no array ({error})", "Return one row of numbers per text"
        ) from None
    if array.ndim != 2 or len(array) != texts:
        raise DataError(
            name, None, f"{texts} texts gave an array of shape {array.shape}", "Return one row of numbers per text"
        )
    return array


def _plain(made: Any) -> Any:
    """Return tensors, of whatever device and number type, and sparse matrices as what numpy reads."""
    if hasattr(made, "detach"):
        made = made.detach().cpu()
        return (made.float() if made.is_floating_point() else made).numpy()
    if hasattr(made, "toarray"):
        return made.toarray()
    return [_plain(one) for one in made] if isinstance(made, list) and made and hasattr(made[0], "detach") else made


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
