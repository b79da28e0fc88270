"""The published tasks_config.json, read as it is: which tasks SciRepEval's training code trains, from what, under which code.

    {"name": "search", "type": "ir",                        classification, regression, ir or triplet
     "dataset": {"path": "allenai/scirepeval", "name": "search"}       or "data_files": {"train": FILE, "dev": FILE}
     "multi_label": true,                                              classification: several classes a paper
     "labels": FILE, "labels_field": "labels_text",                    class names, one a line; the target's column
     "input_fields": ["title", "abstract", "venue", "year"],
     "ctrl_token": "[CLF]", or {"query": "[QRY]", "candidates": "[PRX]"},
     "sample_size": 600000, or {"train": 600000, "dev": 40000}, "contrastive": true}

Files are looked for beside the configuration, then one folder up, since the published one names them from its parent. Its
`contrastive` (a supervised contrastive part of the loss, on GPUs alone, used by none of the shipped tasks) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from scirep_core.data import hub
from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.data.readers import scirepeval
from scirep_core.data.text import FIELDS
from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.records import field, read_json
from scirep_core.training.data import Kind, Stream, stream

HUB = "allenai/scirepeval"
TYPES = ("classification", "regression", "ir", "triplet")
KEYS = ("name", "type", "multi_label", "dataset", "data_files", "labels", "labels_field", "input_fields", "ctrl_token",
        "sample_size", "contrastive")  # fmt: skip
READABLE = (*FIELDS, "venue", "year")
KINDS: dict[Kind, hub.Kind] = {"multi_label": list, "classification": str}
PARTS = {"train": "train", "validation": "dev"}
"""Our name of a split -> the configuration's."""


@dataclass(frozen=True)
class PublishedTask:
    """One entry: `set` names a training set of the hub collection, or `files` those of rows by split.

    `labels` is a file of class names, None where the classes are those that occur, `labels_field` the target's column,
    `sample_size` the most examples by split, None all of them.
    """

    name: str
    type: str
    kind: Kind
    set: str
    files: Mapping[str, Path]
    labels: Path | None
    labels_field: str
    fields: tuple[str, ...]
    format: Format
    query_format: Format
    sample_size: Mapping[str, int | None]


def read_tasks_config(path: Path) -> list[PublishedTask]:
    """Return the entries of a tasks_config.json.

    Raises DataError naming file, entry (counted from 1) and the nearest valid name for whatever is unknown, missing or of
    another type.
    """
    entries = read_json(path)
    if not isinstance(entries, list) or not entries:
        raise DataError(path, None, "expected a JSON list of tasks", "See `training/sample_data` of SciRepEval's code")
    found = [_task(path, i, entry) for i, entry in enumerate(entries, start=1)]
    names = [task.name for task in found]
    for i, name in enumerate(names, start=1):
        if name in names[: i - 1]:
            raise DataError(path, i, f"task {name!r} is there twice")
    return found


def published_streams(
    path: Path, root_of: Callable[[str], Path], split: str = "train", most: int | None = None
) -> list[Stream]:
    """Return the tasks of a tasks_config.json as training sets, under its own names; triplets are its code's.

    Args:
        root_of: training set -> the folder that holds `scirepeval/`; `datasets.locate` with a source. Not called for files.
        split: train or validation (which the configuration calls dev).
        most: examples of a task, where its own sample_size is larger or not there.

    Raises DataError for what is malformed or not there.
    """
    streams = []
    for task in read_tasks_config(path):
        own = min((size for size in (task.sample_size.get(split), most) if size), default=None)
        streams.append(replace(_stream(task, root_of, split), name=task.name, most=own, respect_grades=False))
    return streams


# --- reading an entry -------------------------------------------------------------------------------------------------


def _task(path: Path, i: int, entry: Any) -> PublishedTask:
    if not isinstance(entry, dict):
        raise DataError(path, i, f"expected an object, found {type(entry).__name__}")
    for key in entry:
        if key not in KEYS:
            raise DataError(path, i, f"unknown key {key!r}", nearest(key, KEYS))
    if entry.get("contrastive"):
        raise DataError(
            path, i, "contrastive: this part of the loss is not here", "Leave it out, as the shipped tasks do"
        )
    name, kind = field(entry, "name", str, path, i), _kind(path, i, entry)
    dataset, files = _source(path, i, entry)
    labels = entry.get("labels")
    if labels is not None:
        labels = _beside(path, i, field(entry, "labels", str, path, i))
    fields = tuple(field(entry, "input_fields", list, path, i)) if "input_fields" in entry else FIELDS
    for one in fields:
        if one not in READABLE:
            raise DataError(path, i, f"input field {one!r:.40} is not read", nearest(str(one), READABLE))
    column = field(entry, "labels_field", str, path, i) if kind != "triplet" else ""
    query, format = _codes(path, i, entry, kind)
    return PublishedTask(
        name, entry["type"], kind, dataset, files, labels, column, fields, format, query, _sizes(path, i, entry)
    )


def _kind(path: Path, i: int, entry: dict[str, Any]) -> Kind:
    stated = field(entry, "type", str, path, i)
    if stated not in TYPES:
        raise DataError(path, i, f"unknown type {stated!r}", nearest(stated, TYPES))
    if stated == "classification" and "multi_label" in entry and field(entry, "multi_label", bool, path, i):
        return "multi_label"
    return "triplet" if stated in ("ir", "triplet") else stated


def _source(path: Path, i: int, entry: dict[str, Any]) -> tuple[str, dict[str, Path]]:
    if ("dataset" in entry) == ("data_files" in entry):
        raise DataError(path, i, "give either dataset or data_files")
    if "data_files" in entry:
        given = field(entry, "data_files", dict, path, i)
        parts = {part: field(given, PARTS[part], str, path, i) for part in PARTS if PARTS[part] in given}
        if not parts:
            raise DataError(path, i, "data_files names neither train nor dev")
        return "", {part: _beside(path, i, name) for part, name in parts.items()}
    given = field(entry, "dataset", dict, path, i)
    if (hub_path := field(given, "path", str, path, i)) != HUB:
        raise DataError(path, i, f"dataset {hub_path!r} is not read", f"Valid: {HUB}, or give data_files")
    config = field(given, "name", str, path, i)
    sets = {TASKS[name].config: name for name in TRAINING}
    if config not in sets:
        raise DataError(path, i, f"{HUB} has no training set {config!r}", nearest(config, sets))
    return sets[config], {}


def _beside(path: Path, i: int, name: str) -> Path:
    places = [path.parent / name, path.parent.parent / name, path.parent / Path(name).name]
    for place in places:
        if place.is_file():
            return place
    raise DataError(path, i, f"no file {name!r}", f"Looked for {places[0]} and {places[1]}")


def _codes(path: Path, i: int, entry: dict[str, Any], kind: Kind) -> tuple[Format, Format]:
    usual: Format = {"triplet": "PRX", "regression": "RGN"}.get(kind, "CLF")  # type: ignore[assignment]
    given = entry.get("ctrl_token", f"[{usual}]")
    codes = [given.get("query"), given.get("candidates")] if isinstance(given, dict) else [given, given]
    known = [f"[{format}]" for format in FORMATS]
    for code in codes:
        if code not in known:
            raise DataError(path, i, f"ctrl_token {code!r} is no format's", nearest(str(code), known))
    query, candidates = (str(code)[1:-1] for code in codes)
    return query, candidates  # type: ignore[return-value]


def _sizes(path: Path, i: int, entry: dict[str, Any]) -> dict[str, int | None]:
    given = entry.get("sample_size")
    if isinstance(given, dict) and (unknown := sorted(set(given) - set(PARTS.values()))):
        raise DataError(path, i, f"sample_size has no {unknown[0]!r}", nearest(unknown[0], PARTS.values()))
    sizes = {part: given.get(PARTS[part]) if isinstance(given, dict) else given for part in PARTS}
    for size in sizes.values():
        if size is not None and (type(size) is not int or size < 1):
            raise DataError(path, i, f"sample_size {size!r} is no number of examples", "Leave it out for all")
    return sizes


# --- its rows ---------------------------------------------------------------------------------------------------------


def _stream(task: PublishedTask, root_of: Callable[[str], Path], split: str) -> Stream:
    made = stream(task.set, root_of(task.set), split) if task.set else _of_files(task, split)
    made = replace(made, format=task.format, query_format=task.query_format, fields=task.fields)
    named = _lines(task.labels) if task.labels else ()
    # the embedded literature has classes of its own, of which the published file knows none
    return replace(made, classes=named) if not made.classes or set(named) & set(made.classes) else made


def _of_files(task: PublishedTask, split: str) -> Stream:
    """Return a stream of rows in files: those of the hub's shape, in any of `hub`'s forms."""
    if split not in task.files:
        raise DataError(task.name, None, f"data_files has no {PARTS[split]}", "Name its file, or train without it")
    files = (task.files[split],)
    read = partial(scirepeval.examples, column=task.labels_field, kind=KINDS.get(task.kind, (int, float)))
    made = Stream(task.name, task.kind, partial(read, files), task.format, task.query_format)
    if task.type == "triplet":
        return replace(made, rows=partial(scirepeval._paper_triples, files))
    if task.type == "ir":
        bare = isinstance(next(iter(hub.rows(files, {"query": (str, dict)})))["query"], str)
        return replace(made, rows=partial(scirepeval._ranked, files, bare), text_query=bare)
    known = [row.target for row in read((task.files.get("train", files[0]),))]
    if task.kind == "regression":
        return made.scaled([float(value) for value in known if not isinstance(value, str | tuple)])
    if task.labels:
        return made
    names = chain.from_iterable([value] if isinstance(value, str) else value for value in known)  # type: ignore[misc]
    return replace(made, classes=tuple(sorted(set(names))))


def _lines(path: Path) -> tuple[str, ...]:
    try:
        names = path.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, None, f"cannot be read ({type(error).__name__})") from None
    return tuple(name.strip() for name in names if name.strip())
