"""Cheap systems that differ in kind, to correlate tasks over where no published models are at hand.

Words and characters counted, latent dimensions of words, a pretrained encoder read in several ways, and two of these joined.

    shelf = Shelf(tasks, protocol, seed, {})
    system("lsa_64", shelf)        a `Given` that `attempt` scores
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from scirep_core.bench.given import Given
from scirep_core.data.task import Task
from scirep_core.encoders import SENTENCES, lexical, load_encoder
from scirep_core.evaluators import inputs
from scirep_core.evaluators.inputs import Vectors

MEAN, JOINED = "lsa_384 + minilm", "lsa_384 ++ minilm"
T = TypeVar("T")


class Shelf(NamedTuple):
    """What cheap systems are made of: the tasks, the protocol their texts are made under, what was made already, a bar by name."""

    tasks: tuple[Task, ...]
    protocol: str
    seed: int
    made: dict[tuple[object, ...], Any]
    tell: Callable[[str], Any] = lambda name: None

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return what is on the shelf under a key, made on first use."""
        if key not in self.made:
            self.made[key] = make()
        found: T = self.made[key]
        return found


class Variant(NamedTuple):
    """One system: what it is made of, what it is, whether a quick run has it, how its vectors of a task are made."""

    family: str
    about: str
    quick: bool
    make: Callable[[Shelf], Callable[[Task], Vectors]]


def _texts(shelf: Shelf, task: Task, fields: tuple[str, ...] = ("title", "abstract")) -> dict[str, str]:
    def read() -> dict[str, str]:
        view = task if fields == ("title", "abstract") else replace(task, fields=fields)
        return {key: one.text for key, one in inputs.inputs(view, SENTENCES, shelf.protocol).items()}

    return shelf.once((task.name, fields), read)


def _corpus(shelf: Shelf) -> list[str]:
    return shelf.once(("corpus",), lambda: sorted({t for task in shelf.tasks for t in _texts(shelf, task).values()}))


def _counts(shelf: Shelf, most: int, **more: Any) -> Callable[[Task], Vectors]:
    """Return TF-IDF of the tasks' own texts together, from the most frequent terms."""
    fields = more.pop("fields", ("title", "abstract"))
    model = lexical.term_weights(max_features=most, **{"min_df": 2, **more}).fit(_corpus(shelf))

    def on(task: Task) -> Vectors:
        texts = _texts(shelf, task, fields)
        rows: Any = model.transform(texts.values())
        return dict(zip(texts, rows.toarray(), strict=True))

    return on


def _lsa(shelf: Shelf, dims: int) -> Callable[[Task], Vectors]:
    """Return latent semantic analysis: TF-IDF of all texts, its first singular dimensions, rows of length 1."""
    from sklearn.decomposition import TruncatedSVD

    def fit() -> tuple[Any, Any]:
        words = lexical.term_weights(min_df=2, max_features=8_000, dtype=np.float64)
        rows: Any = words.fit_transform(_corpus(shelf))
        return words, TruncatedSVD(min(dims, min(rows.shape) - 1), random_state=shelf.seed).fit(rows)

    words, model = shelf.once(("lsa", dims), fit)

    def on(task: Task) -> Vectors:
        texts = _texts(shelf, task)
        made = np.asarray(model.transform(words.transform(texts.values())), dtype=np.float32)
        made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12)
        return dict(zip(texts, made, strict=True))

    return on


def _encoder(shelf: Shelf, name: str, title_only: bool = False, **more: Any) -> Callable[[Task], Vectors]:
    encoder = load_encoder(name, **more)

    def seen(task: Task) -> Task:
        return replace(task, fields=("title",)) if title_only else task

    inputs.prepare([seen(task) for task in shelf.tasks], encoder, shelf.protocol, shelf.tell(name))
    return lambda task: inputs.vectors_of(seen(task), encoder, shelf.protocol)


def _both(shelf: Shelf, join: Callable[[Any, Any], Any]) -> Callable[[Task], Vectors]:
    words, minilm = _lsa(shelf, 384), _encoder(shelf, "minilm")

    def on(task: Task) -> Vectors:
        first, second = words(task), minilm(task)
        width = len(next(iter(second.values())))
        short = {key: np.pad(row, (0, max(0, width - len(row)))) for key, row in first.items()}
        return {key: np.asarray(join(short[key], second[key]), dtype=np.float32) for key in second}

    return on


COUNTS, LATENT = "TF-IDF", "latent dimensions"
SYSTEMS: dict[str, Variant] = {
    "tfidf_200": Variant(COUNTS, "TF-IDF, 200 words", True, lambda s: _counts(s, 200)),
    "tfidf_1000": Variant(COUNTS, "TF-IDF, 1,000 words", True, lambda s: _counts(s, 1_000)),
    "tfidf_8000": Variant(COUNTS, "TF-IDF, 8,000 words", True, lambda s: _counts(s, 8_000)),
    "tfidf_title": Variant(COUNTS, "TF-IDF of the title alone", True, lambda s: _counts(s, 8_000, fields=("title",))),
    "characters": Variant(COUNTS, "TF-IDF of 3 to 4 characters within words, 3,000 of them", True,
                          lambda s: _counts(s, 3_000, analyzer="char_wb", ngram_range=(3, 4), stop_words=None)),
    "lsa_16": Variant(LATENT, "16 latent dimensions", True, lambda s: _lsa(s, 16)),
    "lsa_64": Variant(LATENT, "64 latent dimensions", True, lambda s: _lsa(s, 64)),
    "lsa_384": Variant(LATENT, "384 latent dimensions", True, lambda s: _lsa(s, 384)),
    "minilm": Variant("MiniLM", "MiniLM as published: mean of tokens, 256 tokens", False, lambda s: _encoder(s, "minilm")),
    "minilm_title": Variant("MiniLM", "MiniLM, title alone", False, lambda s: _encoder(s, "minilm", title_only=True)),
    "minilm_64": Variant("MiniLM", "MiniLM, 64 tokens", False, lambda s: _encoder(s, "minilm", max_length=64)),
    "minilm_32": Variant("MiniLM", "MiniLM, 32 tokens", False, lambda s: _encoder(s, "minilm", max_length=32)),
    "minilm_cls": Variant("MiniLM", "MiniLM, first token", False, lambda s: _encoder(s, "minilm@cls")),
    MEAN: Variant("both", "mean of 384 latent dimensions and MiniLM", False, lambda s: _both(s, lambda a, b: (a + b) / 2)),
    JOINED: Variant("both", "concatenation of the two", False, lambda s: _both(s, lambda a, b: np.concatenate([a, b]))),
}  # fmt: skip


def system(name: str, shelf: Shelf) -> Given:
    """Return one of the systems, to be scored on the shelf's tasks."""
    make = _remembering(SYSTEMS[name].make(shelf))
    return Given(name, lambda task, protocol: make(task))


def _remembering(make: Callable[[Task], Vectors]) -> Callable[[Task], Vectors]:
    """Return the maker with a memory of the last task: scoring asks for the vectors twice, to name and to use them."""
    last: list[tuple[str, Vectors]] = []

    def on(task: Task) -> Vectors:
        if not last or last[0][0] != task.name:
            last[:] = [(task.name, make(task))]
        return last[0][1]

    return on
