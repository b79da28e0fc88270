"""`task.json`: what a task folder asks, and what holds where it does not say.

Keys: name, version, type; metrics, similarity (l2, cosine, dot), multi_label, few_shot [{sample_size, iterations}],
keep_self, text_query, fields (what a text consists of: title, abstract, venue, year). Of embedded folders also source,
seed, papers. A task that differs from its type's default says so by format, label_names, related, notes. Any other key
is an error that names the nearest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

from scirep_core.data import task as schema
from scirep_core.data.rows import FewShot
from scirep_core.data.text import FIELDS as PLAIN
from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.formats import FORMATS, SIMILARITIES, Format
from scirep_core.kit.records import field as check_field
from scirep_core.kit.records import read_object


class Kind(NamedTuple):
    """A type of task: its payload, and what holds where task.json names no metrics, format or similarity."""

    payload: type[schema.Payload]
    metrics: tuple[str, ...]
    format: Format = "PRX"
    similarity: str = "l2"


_RECALLS = ("recall@20", "recall@50", "recall@100")
_REVIEWERS = ("soft_p@5", "soft_p@10", "hard_p@5", "hard_p@10", "mean_of_four")
TYPES: dict[str, Kind] = {
    "classification": Kind(schema.Labelled, ("f1_macro",), "CLF"),
    "regression": Kind(schema.Labelled, ("kendall_tau",), "RGN"),
    "proximity": Kind(schema.Judged, ("map", "ndcg")),
    "adhoc_search": Kind(schema.Judged, ("ndcg",), "QRY"),
    "retrieval": Kind(schema.Pooled, _RECALLS, similarity="dot"),
    "label_ranking": Kind(schema.LabelSpace, _RECALLS, "CLF", "dot"),
    "reviewer_matching": Kind(schema.Reviewers, _REVIEWERS, similarity="cosine"),
    "author_disambiguation": Kind(schema.Signatures, ("b3_f1",), similarity="cosine"),
    "alternative_self": Kind(schema.Collection, ("mrr", "median_rank", "t100"), similarity="cosine"),
    "triplets": Kind(schema.Triples, ("accuracy",)),
}
"""The similarities are those of the published code; a retrieval by bare queries is QRY."""
FIELDS = ("title", "abstract", "venue", "year")


@dataclass(frozen=True)
class TaskConfig:
    """A task folder's `task.json`. `source`, `seed` and `papers` say how an embedded one was made; the last five are
    written only where a task differs from its type's default."""

    name: str
    version: int
    type: str
    metrics: list[str] = field(default_factory=list)
    similarity: str = ""
    multi_label: bool = False
    few_shot: list[dict[str, int]] = field(default_factory=list)
    keep_self: bool = True
    text_query: bool = False
    source: str = ""
    seed: int = 0
    papers: int = 0
    format: str = ""
    label_names: list[str] = field(default_factory=list)
    related: str = ""
    notes: str = ""
    fields: list[str] = field(default_factory=lambda: list(PLAIN))


def read_config(path: Path) -> TaskConfig:
    """Read a task.json. Raises DataError for an unknown key (naming the nearest), a missing one or a wrong type."""
    row, known = read_object(path), {f.name: f for f in fields(TaskConfig)}
    for key in row:
        if key not in known:
            raise DataError(path, None, f"unknown key {key!r}", nearest(key, known))
    for key, column in known.items():
        if key in row or key in ("name", "version", "type"):
            kind = {"str": str, "int": int, "bool": bool}.get(str(column.type), list)
            check_field(row, key, kind, path, None)
    types = (*TYPES, "facets")
    if row["type"] not in types:
        raise DataError(path, None, f"type {row['type']!r} is not known here", nearest(row["type"], types))
    for key, valid in (("similarity", SIMILARITIES), ("format", FORMATS)):
        if row.get(key, valid[0]) not in valid:
            raise DataError(path, None, f"unknown {key} {row[key]!r}", nearest(row[key], valid))
    for key in ("metrics", "label_names"):
        if not all(isinstance(name, str) for name in row.get(key, [])):
            raise DataError(path, None, f"{key} must be names, found {row[key]!r:.80}")
    if len(set(row.get("metrics", []))) < len(row.get("metrics", [])):
        raise DataError(path, None, f"metrics are {row['metrics']!r:.80}", "Name each once")
    for name in row.get("fields", []):
        if name not in FIELDS:
            raise DataError(path, None, f"unknown field {name!r}", nearest(str(name), FIELDS))
    if "fields" in row and len(set(row["fields"])) != max(1, len(row["fields"])):
        remedy = "Name each of title, abstract, venue, year once"
        raise DataError(path, None, f"fields are {row['fields']!r:.80}", remedy)
    for setting in row.get("few_shot", []):
        sized = isinstance(setting, dict) and set(setting) == set(FewShot._fields)
        if not sized or not all(type(value) is int and value > 0 for value in setting.values()):
            remedy = 'Write {"sample_size": 64, "iterations": 50}'
            raise DataError(path, None, f"few_shot holds {setting!r:.80}", remedy)
    if "text_query" not in row and row["type"] == "adhoc_search":
        row["text_query"] = True
    row.setdefault("similarity", TYPES[row["type"]].similarity if row["type"] in TYPES else "l2")
    return TaskConfig(**row)


def format_of(config: TaskConfig) -> Format:
    """Return a task's format: the one it names, else that of its type."""
    by_query = config.type == "retrieval" and config.text_query
    given = next((name for name in FORMATS if name == config.format), None)
    return given or ("QRY" if by_query else TYPES[config.type].format)
