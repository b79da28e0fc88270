"""What is trained on: the training sets of SciRepEval (Singh et al. 2023, sections 3 and 4.1) as token ids and targets.

    classification, multi_label, regression    rows (n,)     a document each, with its target
    triplet                                    rows (n, 3)   query, one that belongs to it, one that does not

All tasks share one collection of documents, so that a paper that occurs in several is tokenised, and with dense labels
encoded, once. A document is [CLS] ... [SEP]: what tells the format is the conditioning's to add.

A training set is a stream of rows (`Stream`): read one at a time, capped, made triplets, written as text by the encoder's
own recipe, tokenised in batches; `build` makes tasks of them. `stream` gives one of SciRepEval's eight sets, embedded or real;
real.py real papers, published.py what a published tasks_config.json names.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data import hub
from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.data.readers.scirepeval import TARGETS, TEXT_COLLECTION, RankedQuery, TrainExample, TrainRow, training
from scirep_core.data.text import FIELDS, Recipe
from scirep_core.kit.errors import ConfigError, check_name, nearest
from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper
from scirep_core.kit.store import sha256_array, stable_hash
from scirep_core.training.batching import titled, triplets_of

if TYPE_CHECKING:  # a machine that only trains has no datasets' libraries
    from scirep_core.encoders.trunk.tokens import Tokens

Kind = Literal["classification", "multi_label", "regression", "triplet"]
PLAIN = Recipe()
AT_ONCE = 1024
"""Texts tokenised at a time."""


class Documents(NamedTuple):
    """Token ids of many documents, one after another.

    Attributes:
        ids: (tokens,) int32, each document's [CLS] ... [SEP].
        starts: (docs + 1,) int64: where each document begins, and the number of tokens.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]

    @property
    def docs(self) -> int:
        """How many documents."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(docs,) tokens of each."""
        return np.diff(self.starts)

    def of(self, rows: Sequence[int] | NDArray[np.int64]) -> list[list[int]]:
        """Return the token ids of some documents, by number."""
        return [self.ids[self.starts[row] : self.starts[row + 1]].tolist() for row in rows]


@dataclass(frozen=True, eq=False)
class TrainTask:
    """One task's examples.

    Attributes:
        name: such as scirepeval/fos.
        format: under which its documents are read.
        query_format: under which the first document of a triplet is read: QRY for a bare query of ad-hoc search.
        documents: the collection that `rows` number; tasks that are trained together share one.
        rows: (n,) int64 document numbers; (n, 3) query, positive, negative of triplets, the last -1 where there is none.
        targets: (n,) int64 class numbers; (n, classes) float32 of 0 and 1; (n,) float32 with mean 0 and spread 1 over the
            training rows; None of triplets.
        classes: names of the classes, in the order of their numbers.
    """

    name: str
    format: Format
    query_format: Format
    kind: Kind
    documents: Documents
    rows: NDArray[np.int64]
    targets: NDArray[Any] | None = None
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ConfigError for shapes that do not fit together."""
        wide = (3,) if self.kind == "triplet" else ()
        if self.rows.ndim != 1 + len(wide) or self.rows.shape[1:] != wide or not len(self.rows):
            raise ConfigError(f"{self.name}: rows of a {self.kind} task have shape {self.rows.shape}")
        named = self.rows[:, :2] if wide else self.rows
        if named.min() < 0 or self.rows.min() < -len(wide) or self.rows.max() >= self.documents.docs:
            raise ConfigError(f"{self.name}: a row names a document outside 0 to {self.documents.docs - 1}")
        many = (len(self.classes),) if self.kind == "multi_label" else ()
        if (self.targets is None) != (self.kind == "triplet"):
            raise ConfigError(f"{self.name}: targets belong to every kind but triplet, and this is {self.kind}")
        if self.targets is not None and self.targets.shape != (len(self.rows), *many):
            raise ConfigError(f"{self.name}: targets of shape {self.targets.shape} for {len(self.rows)} rows")

    def __len__(self) -> int:
        """Return how many examples."""
        return len(self.rows)

    @property
    def outputs(self) -> int:
        """How many numbers its head gives; 0 of triplets, which have none."""
        many = len(self.classes)
        return {"classification": many, "multi_label": many, "regression": 1, "triplet": 0}[self.kind]


def hash_of(tasks: Sequence[TrainTask]) -> str:
    """Return a content hash of training tasks: names, routes, tokens, rows and targets."""
    contents: list[Any] = [[sha256_array(part) for part in task.documents] for task in tasks[:1]]
    for task in tasks:
        arrays = [task.rows] if task.targets is None else [task.rows, task.targets]
        contents.append([task.name, task.format, task.query_format, task.kind, [sha256_array(a) for a in arrays]])
    return stable_hash(contents)[:16]


# --- streams ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    """A training set as it is read.

    Attributes:
        rows: starts reading, from the first row: examples, triples or ranked queries (data/readers/scirepeval.py).
        fields: of a paper's text; of search also venue and year.
        text_query: whether queries are bare queries, and candidates papers that are to be found.
        classes: names of the classes in the order of their numbers.
        mean, spread: of a regression's target in the training rows.
        most: examples that are taken; of triplets and numbers the first ones, of classes drawn in proportion. None is all; the
            paper has 600,000.
        respect_grades: whether a triplet may hold two relevant papers of different grade (the paper) or not (its code).
    """

    name: str
    kind: Kind
    rows: Callable[[], Iterator[TrainRow]]
    format: Format
    query_format: Format
    fields: tuple[str, ...] = FIELDS
    text_query: bool = False
    classes: tuple[str, ...] = ()
    mean: float = 0.0
    spread: float = 1.0
    most: int | None = None
    respect_grades: bool = True

    def scaled(self, values: Sequence[float]) -> Stream:
        """Return it with mean and spread of these targets; a spread of 0 is 1, since there is nothing to scale."""
        return replace(self, mean=float(np.mean(values)), spread=float(np.std(values)) or 1.0)


@dataclass(frozen=True)
class Reading:
    """How rows become documents.

    Attributes:
        recipe: the encoder's own: separator, prefixes.
        max_length: token ids kept of a document, [CLS] and [SEP] included; leave room for what a conditioning adds.
        titles_only: share of papers of which the title alone is read (SciRepEval, Limitations: 5 %); of training rows alone.
        seed: of all that is drawn.
    """

    recipe: Recipe = PLAIN
    max_length: int = 512
    titles_only: float = 0.05
    seed: int = 0

    def of(self, split: str) -> Reading:
        """Return how a split is read: all but training rows whole."""
        return self if split == "train" else replace(self, titles_only=0.0)


READING = Reading()
"""As SciRepEval reads."""


def build(
    streams: Sequence[Stream], tokens: Tokens, reading: Reading = READING, file: Path | None = None
) -> list[TrainTask]:
    """Return the tasks of streams, in their order, over one collection of documents.

    Args:
        tokens: the encoder's tokenizer.
        file: where token ids go, see `Shelf`.

    Raises ConfigError for no streams, a stream without rows, a class that is none of its classes.
    """
    if not streams:
        raise ConfigError("there is nothing to train on: name a training set")
    shelf = Shelf(tokens, reading.max_length, file)
    read = [(triplets if stream.kind == "triplet" else labelled)(stream, shelf, reading) for stream in streams]
    documents = shelf.documents()
    return [
        TrainTask(one.name, one.format, one.query_format, one.kind, documents, rows, targets, one.classes)
        for one, (rows, targets) in zip(streams, read, strict=True)
    ]


def labelled(stream: Stream, shelf: Shelf, reading: Reading) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return (n,) document numbers and their targets; of classes, a cap keeps every class its share."""
    numbers: list[int] = []
    found: list[Any] = []
    for row in _drawn(stream, reading.seed):
        numbers.append(shelf.number(_text(row.paper, stream, reading)))
        found.append(row.target)
    rows = _some(stream, numbers)
    if stream.kind == "regression":
        return rows, ((np.array(found, np.float64) - stream.mean) / stream.spread).astype(np.float32)
    place = {name: i for i, name in enumerate(stream.classes)}
    try:
        if stream.kind == "classification":
            return rows, np.array([place[name] for name in found], np.int64)
        targets = np.zeros((len(rows), len(place)), np.float32)
        for i, names in enumerate(found):
            targets[i, [place[name] for name in names]] = 1
    except KeyError as error:
        raise ConfigError(f"{stream.name}: unknown class {error}: {nearest(str(error.args[0]), place)}") from None
    return rows, targets


def triplets(stream: Stream, shelf: Shelf, reading: Reading) -> tuple[NDArray[np.int64], None]:
    """Return (n, 3) document numbers of query, positive, negative; a cap takes the first ones, as published."""
    numbers = (
        shelf.number(_text(paper, stream, reading, bool(i)))
        for three in islice(_threes(stream, reading), stream.most)
        for i, paper in enumerate(three)
    )
    return _some(stream, numbers).reshape(-1, 3), None


def _some(stream: Stream, numbers: Iterable[int]) -> NDArray[np.int64]:
    rows = np.fromiter(numbers, np.int64)  # millions of triplets: 24 bytes each, not lists of numbers
    if not len(rows):
        raise ConfigError(f"{stream.name}: no example was read. Leave it out, or look at its files")
    return rows


def _threes(stream: Stream, reading: Reading) -> Iterator[Sequence[Paper]]:
    for row in stream.rows():
        if len(row) == 3 and isinstance(row[1], Paper):
            yield row
            continue
        ranked: RankedQuery = row  # type: ignore[assignment]
        for pair in triplets_of(ranked, respect_grades=stream.respect_grades, seed=reading.seed):
            yield ranked.query, ranked.candidates[pair.positive], ranked.candidates[pair.negative]


def _drawn(stream: Stream, seed: int) -> Iterator[TrainExample]:
    """Yield the rows that a cap keeps, in the order they come."""
    if stream.most is None:
        return stream.rows()  # type: ignore[return-value]
    if stream.kind == "regression":
        return islice(stream.rows(), stream.most)  # type: ignore[arg-type]
    groups = [str(row.target) for row in stream.rows()]  # type: ignore[union-attr]
    places = in_proportion(groups, stream.most, seed)
    return (row for i, row in enumerate(stream.rows()) if i in places)  # type: ignore[misc]


def in_proportion(groups: Sequence[str], most: int, seed: int) -> frozenset[int]:
    """Return places of at most `most` rows, of each group its share, rounded so that the sum is met; drawn by `seed`.

    Papers of several classes are a group for each combination of them; the published code balances them one by one.
    """
    if len(groups) <= most:
        return frozenset(range(len(groups)))
    counts = Counter(groups)
    shares = {group: most * count / len(groups) for group, count in counts.items()}
    room = {group: int(share) for group, share in shares.items()}
    for group in sorted(shares, key=lambda g: (room[g] - shares[g], g))[: most - sum(room.values())]:
        room[group] += 1
    places = set()
    keys = sorted(range(len(groups)), key=lambda i: hashlib.blake2b(f"{seed}\n{i}".encode(), digest_size=8).digest())
    for i in keys:
        if room[groups[i]]:
            room[groups[i]] -= 1
            places.add(i)
    return frozenset(places)


# --- SciRepEval's eight sets ------------------------------------------------------------------------------------------


def stream(name: str, root: Path, split: str = "train", most: int | None = None) -> Stream:
    """Return one of SciRepEval's training sets as a stream: its target's column is looked through at once.

    The classes are those of train and validation, and a number's mean and spread those of train, whatever the split.

    Args:
        name: of `datasets.TRAINING`, such as scirepeval/fos.
        root: folder that holds `scirepeval/`; `datasets.locate` gives that of the embedded literature.
        split: train or validation.

    Raises ConfigError for an unknown name, DataError with file and row for what is malformed or not there.
    """
    check_name("training set", name, TRAINING)
    spec, rows = TASKS[name], partial(training, name, root, split)
    if spec.type in ("classification", "regression"):
        kind: Kind = "multi_label" if spec.multi_label else "classification" if spec.format == "CLF" else "regression"
        made = Stream(name, kind, rows, spec.format, spec.format, most=most)
        known = list(_targets(root, spec.config, "train"))
        if kind == "regression":
            return made.scaled(known)
        known += _targets(root, spec.config, "validation")
        return replace(made, classes=tuple(sorted(set(chain.from_iterable(map(_names, known))))))
    if not spec.text_query:
        return Stream(name, "triplet", rows, spec.format, spec.format, most=most)
    # what a bare query is to find is read as in every task of nearest papers
    return Stream(name, "triplet", rows, "PRX", "QRY", (*FIELDS, "venue", "year"), text_query=True, most=most)


def _targets(root: Path, config: str, split: str) -> Iterator[Any]:
    find = hub.files if split == "train" else hub.find
    if paths := find(root, TEXT_COLLECTION, config, split):
        for found in hub.rows(paths, {TARGETS[config]: (str, list, int, float)}):
            yield found[TARGETS[config]]


def _names(target: str | Sequence[str]) -> Sequence[str]:
    return [target] if isinstance(target, str) else target


# --- token ids --------------------------------------------------------------------------------------------------------


def _text(paper: Paper, stream: Stream, reading: Reading, found: bool = False) -> str:
    """Return what is read of a paper; `found` of one that a triplet's query is to find."""
    if stream.text_query and not found:
        return reading.recipe.of_query(paper.title)
    shown = titled(paper, reading.titles_only, reading.seed)
    return reading.recipe.of_paper(
        shown, stream.fields, stream.text_query, float_years=True
    )  # as the published data have it


class Shelf:
    """Documents by their text: each text is tokenised once, some at a time, and has one number in all tasks.

    Memory holds a digest and a number a text, the texts that wait, and the token ids unless they go to a file.
    """

    def __init__(self, tokens: Tokens, max_length: int, file: Path | None = None) -> None:
        """Start with no documents; token ids go to `file`, int32, as they come, and the documents are then a map of it."""
        if max_length < 3:
            raise ConfigError(f"max_length = {max_length}: no token fits between [CLS] and [SEP]. Give at least 3")
        self.tokens, self.max_length = tokens, max_length
        self.numbers: dict[bytes, int] = {}
        self.waiting: list[str] = []
        self.parts: list[NDArray[np.int32]] = []
        self.file = file
        if file:
            file.write_bytes(b"")
        self.lengths: list[NDArray[np.int64]] = []

    def number(self, text: str) -> int:
        """Return the number of a text, new or known."""
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self.numbers.get(key)
        if known is not None:
            return known
        self.numbers[key] = len(self.numbers)
        self.waiting.append(text)
        if len(self.waiting) == AT_ONCE:
            self._tokenise()
        return self.numbers[key]

    def _tokenise(self) -> None:
        ids = self.tokens.ids(self.waiting, self.max_length)
        self.lengths.append(np.array([len(one) for one in ids], np.int64))
        self.waiting = []
        part = np.array([number for one in ids for number in one], np.int32)
        if self.file is None:
            self.parts.append(part)
            return
        with self.file.open("ab") as stream:
            stream.write(part.data)

    def documents(self) -> Documents:
        """Return what was put on the shelf, in the order of the numbers."""
        if self.waiting:
            self._tokenise()
        starts = np.concatenate([np.zeros(1, np.int64), *self.lengths]).cumsum()
        if self.file and starts[-1]:
            return Documents(np.memmap(self.file, np.int32, "r"), starts)
        return Documents(np.concatenate([np.zeros(0, np.int32), *self.parts]), starts)
