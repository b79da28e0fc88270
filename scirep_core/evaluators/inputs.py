"""What an encoder is given for each id of a task: the text, and the task format it is to be encoded for.

Documents have the task's format; in ad-hoc search a bare query has QRY and a candidate PRX (SciRepEval, Table 6), or QRY too
where an encoder reads both sides of a task alike (`by_task`: SciMult, whose experts and instructions belong to tasks).
Queries and candidates share one id space. Where an id is both,

    paper   it is encoded once, as a query: the published code skips ids it has seen, and queries come first
    sound   the query's vector goes by `<id>/q`, which the ranking evaluator asks for first

Protocol `paper` also writes years as the published evaluation does (2019.0); a year of 0 is no year under either.
Members of an ensemble read their own texts, so their vectors are asked for one by one and joined.

Two references stand beside every score of an encoder: `random`, seeded normal vectors, is the floor; TF-IDF rows of the task's own
texts (scikit-learn: lower case, English stop words, words of two papers or more, sublinear counts, length 1; the 8,000 most
frequent of them, on every task) are what words alone can do. The ceiling is the `oracle`, vectors made from the latents of the
embedded literature; `room` says where a score lies between floor and ceiling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data import task as schema
from scirep_core.data.task import Task
from scirep_core.data.text import Recipe
from scirep_core.encoders import SENTENCES, Encoder, lexical
from scirep_core.encoders.ensemble import Ensemble
from scirep_core.encoders.vectors.embed import embed
from scirep_core.kit.errors import DataError
from scirep_core.kit.formats import Format

Vectors = dict[str, NDArray[np.floating]]
Progress = Callable[[int, int], None]
QUERY = "/q"
"""Suffix of a query's own vector where its id is a candidate's too."""


class Input(NamedTuple):
    """One text for an encoder, with the format it is encoded for."""

    text: str
    format: Format


def inputs(task: Task, recipe: Recipe, protocol: str = "paper", by_task: bool = False) -> dict[str, Input]:
    """Return what an encoder is given for every id of a task: papers, bare queries, labels (name and definition).

    With `by_task`, candidates of ad-hoc search are read as queries are. Of alternative_self tasks, `<paper>/t` is the title
    and `<paper>/ta` title and abstract (textual neighbours, section 4).

    Raises DataError for a label whose id is a paper's: they would share a vector.
    """
    found = {key: Input(recipe.of_query(text), task.format) for key, text in task.queries.items()}
    for key, value in _documents(task, recipe, protocol, by_task):
        if key not in found:
            found[key] = value
        elif protocol == "sound" and key in task.queries and f"{key}{QUERY}" not in found:
            found[f"{key}{QUERY}"], found[key] = found[key], value
    for key, value in _labels(task, recipe):
        if key in found:
            raise DataError(task.name, None, f"label {key} has the id of a paper", "Give labels ids of their own")
        found[key] = value
    return found


def _documents(task: Task, recipe: Recipe, protocol: str, by_task: bool) -> Iterator[tuple[str, Input]]:
    to_find = bool(task.queries)
    format: Format = "PRX" if task.format == "QRY" and not by_task else task.format
    years = protocol == "paper"
    for paper in task.texts():
        whole = recipe.of_paper(paper, task.fields, to_find, years)
        if isinstance(task.payload, schema.Collection):
            yield f"{paper.paper_id}/t", Input(recipe.of_paper(paper, ("title",)), format)
            yield f"{paper.paper_id}/ta", Input(whole, format)
        else:
            yield paper.paper_id, Input(whole, format)


def _labels(task: Task, recipe: Recipe) -> Iterator[tuple[str, Input]]:
    if isinstance(task.payload, schema.LabelSpace):
        for label in task.payload.labels.values():
            text = f"{label.name}{recipe.separator}{label.definition}" if label.definition else label.name
            yield label.label_id, Input(recipe.paper + text, task.format)


def alike(encoder: Encoder) -> bool:
    """Return whether an encoder reads both sides of a task alike."""
    return bool(getattr(encoder, "by_task", False))


def vectors_of(task: Task, encoder: Encoder, protocol: str = "paper", progress: Progress | None = None) -> Vectors:
    """Return id -> vector of an encoder on a task, through the vector store; an ensemble's members are each asked."""
    if isinstance(encoder, Ensemble):
        _ = encoder.dim  # vectors that cannot be averaged are refused before anything is encoded
        parts = [vectors_of(task, member, protocol, progress) for member in encoder.members]
        return {key: encoder.combine([part[key] for part in parts]) for key in parts[0]}
    wanted = inputs(task, encoder.recipe, protocol, alike(encoder))
    found: Vectors = {}
    for format in dict.fromkeys(value.format for value in wanted.values()):
        keys = [key for key, value in wanted.items() if value.format == format]
        found |= dict(zip(keys, embed(encoder, [wanted[key].text for key in keys], format, progress), strict=True))
    return found


def prepare(tasks: Sequence[Task], encoder: Encoder, protocol: str = "paper", progress: Progress | None = None) -> None:
    """Encode the texts of several tasks in one go, so that `vectors_of` finds them: better batches, one progress bar."""
    if isinstance(encoder, Ensemble):
        _ = encoder.dim
        for member in encoder.members:
            prepare(tasks, member, protocol, progress)
        return
    each = (inputs(task, encoder.recipe, protocol, alike(encoder)) for task in tasks)
    wanted = sorted({(value.format, value.text) for found in each for value in found.values()})
    for format in dict.fromkeys(format for format, _ in wanted):
        embed(encoder, [text for f, text in wanted if f == format], format, progress)


MOST_WORDS = 8_000
"""Words of TF-IDF at most. A row is dense, as an encoder's is: 10,000 papers take 320 MB. No embedded task of 3,000
papers has as many words; of the real samples the largest do (years, citations, reviews)."""


def tfidf_vectors(task: Task, protocol: str = "paper") -> Vectors:
    """Return dense float32 TF-IDF rows of a task's texts.

    Raises DataError where no word but stop words stands in two texts.
    """
    texts = {key: given.text for key, given in inputs(task, SENTENCES, protocol).items()}
    model = lexical.term_weights(min_df=2, max_features=MOST_WORDS)
    try:
        rows: Any = model.fit_transform(texts.values())
    except ValueError:  # an empty vocabulary
        reason = f"no word but stop words stands in two of its {len(texts)} texts"
        raise DataError(task.name, None, reason, "Give more texts, or score another encoder") from None
    return dict(zip(texts, rows.toarray(), strict=True))


def room(value: float, floor: float, ceiling: float) -> float:
    """Return where a value lies between floor (0) and ceiling (1); NaN where there is no room.

    >>> room(60.0, 20.0, 100.0)
    0.5
    """
    return (value - floor) / (ceiling - floor) if ceiling > floor else float("nan")
