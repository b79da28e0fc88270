"""Vectors of a user's own as a system: a mapping, a pair (ids, array), files, or what a model of his makes (SciRepEval 6).

Vectors are a mapping id -> vector, or (ids, array), or a file: `.npz` (`ids`, and `vectors` or `emb`), `.parquet` or
`.jsonl` with `paper_id` or `doc_id` and `embedding`. An id twice, a NaN, rows of different length: each is an error that
names it.

A file of vectors may hold the ids of all tasks. Where tasks disagree about an id (short query numbers do), or a paper has
other vectors for other formats, give a folder: for each task the file named after it (`scirepeval__fos.npz`, or `fos.npz`),
else the file of its format (`CLF.npz`, `RGN.npz`, `PRX.npz`, `QRY.npz`: of a search the queries in `QRY`, the papers in `PRX`).

A model is whatever has `.encode(list of str)`, or a function from texts to an array (`as_model`). It reads title + ". " +
abstract, as MiniLM does, or what its attribute `recipe` (a `text.Recipe`) says. In ad-hoc search a model that has
`encode_query` and `encode_document` (sentence-transformers) reads queries by the one and the papers to be found by the other.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from scirep_core.data import hub
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import Signatures, Task
from scirep_core.data.text import Recipe
from scirep_core.encoders import SENTENCES, Encoder
from scirep_core.encoders.vectors.folder import is_vector_folder, read_vector_folder
from scirep_core.evaluators import inputs
from scirep_core.evaluators.inputs import QUERY, Input
from scirep_core.kit.arrays import read_arrays
from scirep_core.kit.errors import ConfigError, DataError, NumericError

Vectors = Mapping[str, NDArray[np.floating]]
SUFFIXES = (".npz", ".parquet", ".jsonl")
"""Of files of vectors."""
LARGEST = 1e15
"""Of a vector's numbers: squares of larger ones leave single precision, and every distance would be infinite."""
Vectorise = Callable[[list[str]], Any]
"""Texts in, (texts, dim) array out: numpy's, torch's, or lists of numbers."""
TAKEN = "a name, a model with .encode(list of str), a function from texts to an array, a mapping id -> vector, or (ids, array)"
"""What can be scored, in words."""


@dataclass(frozen=True)
class Given:
    """Vectors of the user's own, as a system: the counterpart of `systems.System`.

    `tables(task, protocol)` gives what there is for a task. Its fingerprint is that of the vectors the task needs, so that
    adding some for one task leaves the rows of the others as they are. `recipe` is of a model, how its texts are made.
    """

    name: str
    tables: Callable[[Any, str], Vectors]
    recipe: Recipe | None = None

    @property
    def reads(self) -> dict[str, Any]:
        """What a row says of prompts and separator: a model's; of vectors nobody knows."""
        return {"reads": self.recipe.reads} if self.recipe else {}

    def key(self, task: Task, protocol: str) -> list[str]:
        """Return what rows on a task are kept under: the hash of the vectors it needs."""
        return [content_hash(self.on(task, protocol))]

    def suits(self, task: Task) -> bool:
        """Return True: vectors can be scored on every task."""
        return True

    def on(self, task: Task, protocol: str = "paper", progress: object = None) -> Vectors:
        """Return the vectors a task needs, and those of its queries and mentions that have their own.

        Raises ConfigError, naming ids of both, where not one of them is there.
        """
        table = self.tables(task, protocol)
        if not coverage(task, table).embedded:
            raise ConfigError(f"{self.name}: {strangers(task, table)}")
        wanted = needed(task)
        wanted += [f"{key}{QUERY}" for key in wanted]
        if isinstance(task.payload, Signatures):
            wanted += [row.signature_id for row in task.payload.rows]
        return {key: table[key] for key in wanted if key in table}

    def prepare(self, tasks: Sequence[Task], protocol: str = "paper", progress: object = None) -> None:
        """Do nothing: the vectors are there."""


def given(vectors: Vectors | Sequence[Any] | Path) -> Given:
    """Return vectors as a system: a mapping id -> vector, (ids, array), a file, or a folder (see this file's first lines)."""
    if not isinstance(vectors, Path):
        table = as_mapping(vectors)
        return Given("vectors", lambda task, protocol: table)
    path = vectors.expanduser()
    if path.is_dir() and not is_vector_folder(path):
        if not any(file.suffix in SUFFIXES for file in path.iterdir()):
            reason = f"no {', '.join(SUFFIXES)} in this folder"
            raise DataError(path, None, reason, "Give one file a task, or one a format")
        return Given(path.resolve().name, functools.partial(_of_folder, path))
    whole = read_vectors(path)
    return Given(path.stem, lambda task, protocol: whole)


def of_model(thing: Any, name: str = "", recipe: Recipe | None = None) -> Given:
    """Return a model of the user's own (`as_model`) as a system; it is asked once for each task and protocol.

    It has no fingerprint: its rows are kept under the vectors it made. Raises ConfigError for what is no model.
    """
    model = as_model(thing, recipe)
    cache: dict[tuple[int, str], tuple[Any, Vectors]] = {}

    def tables(task: Any, protocol: str) -> Vectors:
        key = id(task), protocol
        if key not in cache:  # the task stays with its vectors, so that its id is no other's
            cache[key] = task, by_callable(task, model, protocol)
        return cache[key][1]

    return Given(name or model.name, tables, model.recipe)


def _of_folder(folder: Path, task: Task, protocol: str) -> Vectors:
    """Return what a folder holds for a task: its own file, else that of its format."""
    for stem in (task.name.replace("/", "__"), task.name.rpartition("/")[2]):
        if (own := _file(folder, stem)) is not None:
            return _read(own)
    parts = {form: _file(folder, form) for form in (("PRX", "QRY") if task.queries else (task.format,))}
    tables = {form: _read(path) for form, path in parts.items() if path is not None}
    if not task.queries:
        return next(iter(tables.values()), {})
    asked = {key: vector for key, vector in tables.get("QRY", {}).items() if key in task.queries}
    found = dict(tables.get("PRX", {}))
    # an id that is a query's and a paper's: the published code knows the query alone, `sound` asks for `<id>/q` first
    return found | asked | {f"{key}{QUERY}": vector for key, vector in asked.items() if key in found}


def _file(folder: Path, stem: str) -> Path | None:
    return next((path for path in (folder / f"{stem}{suffix}" for suffix in SUFFIXES) if path.is_file()), None)


@functools.lru_cache(maxsize=2)
def _read_once(path: Path, changed: int) -> dict[str, NDArray[np.floating]]:
    return read_vectors(path)


def _read(path: Path) -> Vectors:
    return _read_once(path, path.stat().st_mtime_ns)


FIRST = 3
"""Ids that a message names."""


class Coverage(NamedTuple):
    """How many of the ids a task needs have a vector, and the first that have none."""

    task: str
    embedded: int
    required: int
    missing: tuple[str, ...]


def needed(task: Task | FacetCollection) -> list[str]:
    """Return the ids whose vectors a score needs, each once; of a faceted collection its papers."""
    return list(dict.fromkeys(task.payload.ids().needed if isinstance(task, Task) else task.papers))


def coverage(task: Task | FacetCollection, vectors: Vectors) -> Coverage:
    """Return the coverage of a task by vectors; of author disambiguation mentions may have vectors instead of papers."""
    wanted = needed(task)
    payload = task.payload if isinstance(task, Task) else None
    if isinstance(payload, Signatures) and not all(key in vectors for key in wanted):
        mentions = [row.signature_id for row in payload.rows]
        wanted = mentions if all(key in vectors for key in mentions) else wanted
    missing = [key for key in wanted if key not in vectors]
    return Coverage(task.name, len(wanted) - len(missing), len(wanted), tuple(missing[:FIRST]))


def strangers(task: Task | FacetCollection, vectors: Vectors) -> str:
    """Return what to say where no id a task needs has a vector: some ids of both."""
    wanted = needed(task)
    if not vectors:
        return f"no vectors for {task.name}, which needs {len(wanted)}"
    yours, theirs = (", ".join(list(ids)[:FIRST]) + (", ..." if len(ids) > FIRST else "") for ids in (vectors, wanted))
    there = f"none of the {len(wanted)} ids that {task.name} needs ({task.source} data) is there"
    return f"{there}: yours are {yours}; needed are {theirs}"


# ---- vectors by id ----------------------------------------------------------------------------------------------------


def as_mapping(vectors: Any, name: str = "vectors") -> dict[str, NDArray[np.floating]]:
    """Return id -> vector of a mapping or of (ids, array).

    Raises DataError for an id twice or ragged rows, NumericError for NaN or huge numbers, naming the id.
    """
    rows: Any
    if isinstance(vectors, tuple | list):
        if len(vectors) != 2:
            raise DataError(name, None, f"expected (ids, array), found {len(vectors)} parts")
        try:
            ids, rows = [_id(i, name) for i in vectors[0]], np.asarray(vectors[1])
        except (TypeError, ValueError) as error:
            raise DataError(name, None, f"expected (ids, array): {error}") from None
        if rows.ndim != 2 or len(rows) != len(ids):
            wide = f"Give a 2-d array, a row of numbers per id, not {rows.ndim}-d"
            reason = f"{len(ids)} ids for an array of shape {rows.shape}"
            raise DataError(name, None, reason, "Give one row per id" if rows.ndim == 2 else wide)
    elif isinstance(vectors, Mapping):
        ids = [_id(key, name) for key in vectors]
        try:
            rows = [np.asarray(value) for value in vectors.values()]
        except (TypeError, ValueError) as error:
            raise DataError(name, None, f"a vector is no row of numbers: {error}") from None
    else:
        raise DataError(name, None, f"expected a mapping id -> vector or (ids, array), found {type(vectors).__name__}")
    table: dict[str, NDArray[np.floating]] = dict(zip(ids, rows, strict=True))
    if not table:
        raise DataError(name, None, "no vectors")
    if len(table) < len(ids):
        raise DataError(name, None, f"id {Counter(ids).most_common(1)[0][0]} is there twice", "Keep one vector per id")
    _refuse_bad(table, name)
    return table


def doubts(table: Vectors) -> str:
    """Return what makes a score of such vectors worth little: all are equal, or one in ten is zero; else nothing."""
    rows = list(table.values())
    if len(rows) < 2:
        return ""
    zero, equal = 0, True
    for _, part in _blocks(rows):
        zero += int(np.count_nonzero(~part.any(axis=1)))
        equal = equal and bool((part == rows[0]).all())
    if equal:
        return f"all {len(rows)} vectors are equal: whatever is scored here is the order of ties"
    return f"{zero} of {len(rows)} vectors are zero" if zero >= 0.1 * len(rows) else ""


def _blocks(rows: Sequence[NDArray[Any]]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the number of a block's first row, and the block: a call for each of 300,000 rows takes seconds."""
    for start in range(0, len(rows), 4096):
        yield start, np.stack(rows[start : start + 4096])


def _refuse_bad(table: Vectors, name: str) -> None:
    """Raise DataError for ragged or non-numeric vectors, NumericError for NaN or huge numbers, naming the first such id."""
    shape = next(iter(table.values())).shape
    for key, value in table.items():
        if value.ndim != 1 or value.shape != shape or not len(value):
            raise DataError(name, None, f"the vector of {key} has shape {value.shape}, the first has {shape}")
        if value.dtype.kind not in "fiu":
            raise DataError(name, None, f"the vector of {key} holds {value.dtype}, not real numbers",
                            "Convert it with astype(float)")  # fmt: skip
    keys = list(table)
    for start, block in _blocks(list(table.values())):
        part = block.astype(np.float64)
        if not (fine := (np.abs(part) <= LARGEST).all(axis=1)).all():
            at = int(np.argmin(fine))
            huge = f"a number beyond {LARGEST:g}; scale the vectors"
            what = huge if np.isfinite(part[at]).all() else "NaN or infinity"
            raise NumericError(f"{name}: the vector of {keys[start + at]} holds {what}")


def _id(key: object, name: str) -> str:
    """Return an id as text; bytes, as numpy's `S` arrays hold them, are decoded. Raises DataError for what no file can hold."""
    try:
        text = key.decode("utf-8") if isinstance(key, bytes) else str(key)
        text.encode("utf-8")
    except UnicodeError:
        raise DataError(name, None, f"id {key!r:.60} is not UTF-8") from None
    return text


def content_hash(table: Vectors) -> str:
    """Content hash of vectors, whatever their order and precision."""
    digest = hashlib.sha256()
    for key in sorted(table):
        digest.update(key.encode() + b"\0" + np.ascontiguousarray(table[key], dtype=np.float64).tobytes())
    return digest.hexdigest()[:16]


def read_vectors(path: Path) -> dict[str, NDArray[np.floating]]:
    """Read vectors from .npz, .parquet, .jsonl, or a folder that `scirep encode` wrote.

    Raises DataError with file and, for jsonl, line.
    """
    if is_vector_folder(path):
        return as_mapping(read_vector_folder(path), str(path))
    if not path.is_file():
        raise DataError(path, None, "file not found")
    if path.suffix not in SUFFIXES:
        raise DataError(path, None, f"unknown kind {path.suffix!r}", f"Give one of {', '.join(SUFFIXES)}")
    if path.suffix != ".npz":
        return as_mapping(_of_rows(path), str(path))
    ids, array = read_arrays(path, ("ids",), ("vectors", "emb"))
    if ids.ndim > 1:
        raise DataError(path, None, f"ids have shape {ids.shape}", "Give one id per row")
    return as_mapping((np.atleast_1d(ids).tolist(), array), str(path))


def _of_rows(path: Path) -> dict[str, NDArray[np.float64]]:
    found: dict[str, NDArray[np.float64]] = {}
    first = 0
    for row in hub.rows([path], {"paper_id|doc_id": (str, int), "embedding": list}):
        name, values = str(row["paper_id"]), row["embedding"]
        if name in found:
            raise row.wrong(f"id {name} is there twice", "Keep one vector per id")
        if not values or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            raise row.wrong(f"embedding of {name} is not a list of numbers")
        first = first or len(values)
        if len(values) != first:
            raise row.wrong(f"embedding of {name} has {len(values)} numbers, the first has {first}")
        found[name] = np.array(values, dtype=np.float64)
    return found


# ---- models -----------------------------------------------------------------------------------------------------------


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
        shown = f"{type(thing).__name__} {' '.join(repr(thing).split()):.40}"
        shown = f"the class {thing.__name__}" if isinstance(thing, type) else shown
        raise ConfigError(f"{shown} cannot be scored. Give {TAKEN}")
    both: list[Any] = [getattr(thing, name, None) for name in ("encode_query", "encode_document")]
    names, own = (getattr(thing, key, None) for key in ("name", "__name__")), getattr(thing, "recipe", None)
    name = next((name for name in names if isinstance(name, str) and name), type(thing).__name__).strip("<>")
    recipe = recipe or (own if isinstance(own, Recipe) else SENTENCES)
    if not callable(paper):
        return Model(name, recipe, thing, thing, thing)
    return Model(name, recipe, paper, *(both if all(map(callable, both)) else (paper, paper)))


def by_callable(task: Task | FacetCollection, model: Model, protocol: str = "paper") -> Vectors:
    """Return id -> vector of a model of one's own (`as_model`) on a task.

    Raises DataError for a task without texts, and for an answer that is no row a text.
    """
    wanted = _wanted(task, model.recipe, protocol)
    search = isinstance(task, Task) and bool(task.queries) and model.query is not model.paper
    asked = [key for key, one in wanted.items() if search and one.format == "QRY"]
    others = [key for key, one in wanted.items() if not (search and one.format == "QRY")]
    found: dict[str, NDArray[np.floating]] = {}
    for side, keys in ((model.query, asked), (model.found if search else model.paper, others)):
        if keys:
            rows = _rows(side([wanted[key].text for key in keys]), len(keys), model.name)
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
    remedy = "Return one row of numbers per text"
    try:
        array = np.asarray(_plain(made))
    except (TypeError, ValueError) as error:
        raise DataError(name, None, f"{texts} texts gave no array ({error})", remedy) from None
    if array.ndim != 2 or len(array) != texts:
        raise DataError(name, None, f"{texts} texts gave an array of shape {array.shape}", remedy)
    return array


def _plain(made: Any) -> Any:
    """Return tensors, of whatever device and number type, and sparse matrices as what numpy reads."""
    if hasattr(made, "detach"):
        made = made.detach().cpu()
        return (made.float() if made.is_floating_point() else made).numpy()
    if hasattr(made, "toarray"):
        return made.toarray()
    return [_plain(one) for one in made] if isinstance(made, list) and made and hasattr(made[0], "detach") else made


def refuse_textless(task: Task) -> None:
    """Raise DataError for a task whose source has no texts."""
    if not task.queries and next(iter(task.texts()), None) is None:
        raise DataError(task.name, None, f"{task.source} data have no texts to encode", "Give vectors by id instead")
