"""Task folders: a user's own data, and what `scirep data get embedded --out DIR` writes, one format for every task.

A folder holds `task.json` (what is asked) and JSON lines (the judgements), by type:

    classification, regression   train.jsonl, test.jsonl, validation.jsonl?   paper_id, label
    proximity, adhoc_search      qrels.jsonl                       query_id, cand_id, score, group?
    retrieval                    queries.jsonl, pool.jsonl         query_id, query?, relevant {id: grade}; paper_id
    label_ranking                papers.jsonl, labels.jsonl, matched.jsonl?   paper_id, labels; label_id, name, definition
    reviewer_matching            qrels_hard.jsonl, qrels_soft.jsonl, reviewers.jsonl
    author_disambiguation        signatures.jsonl, bylines.jsonl?  signature_id, paper_id, block, cluster; paper_id, authors
    alternative_self             papers.jsonl                      paper_id
    triplets                     train.jsonl (one file a split)    query, positive, negative
    facets                       the published files of CSFCube    (read by csfcube.py)

and, where texts are needed, `papers.jsonl` {paper_id, title, abstract, year?, venue?}, `queries.jsonl` {query_id, query}
for bare queries; `oracle.npz` where the truth is known. `task.json` is written last: a folder without it is unfinished.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scirep_core.data import task as schema
from scirep_core.data.readers import csfcube
from scirep_core.data.rows import SPLITS, Line, Row, by_id
from scirep_core.data.tables import data_hash
from scirep_core.data.task import TASK_TYPES, Payload, Task
from scirep_core.data.task_json import TYPES, TaskConfig, format_of, read_config
from scirep_core.data.text import FIELDS
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import Paper
from scirep_core.kit.store import WHOLE, atomic, write_bytes, write_json, write_text

_ENCODE = json.JSONEncoder(allow_nan=False).encode  # made once: json.dumps would make one a row


def read_folder(path: Path) -> Task | csfcube.FacetCollection:
    """Read a task folder; facets come as the collection they are.

    Raises DataError naming file and line: bad JSON or UTF-8, a missing or mistyped field, an id twice in a split, one id for
    a paper and a label or bare query, an unknown label, ragged multi-hot rows, an empty file, a relevant paper outside the
    pool, a negative grade.
    """
    if not path.is_dir():
        raise DataError(path, None, "no such folder", "Give a folder with a task.json")
    config = read_config(path / "task.json")
    if config.type == "facets":
        told: dict[str, Any] = {
            "metrics": tuple(config.metrics),
            "similarity": config.similarity,
            "version": config.version,
        }
        return replace(csfcube.read(path), **told)
    kind = next(name for name in TASK_TYPES if name == config.type)
    payload = TYPES[kind].payload.read(path, config)
    texts = path / "papers.jsonl"
    own_ids = config.type in ("label_ranking", "alternative_self")
    if texts.is_file() and texts.stat().st_size <= WHOLE:
        for _ in _texts(texts, own_ids):
            pass  # a fault in a small file is told now, not when a chapter first encodes it
    oracle = path / "oracle.npz"
    return Task(
        name=config.name, type=kind, format=format_of(config), metrics=tuple(config.metrics) or TYPES[kind].metrics,
        payload=payload, source="folder", data_hash=folder_hash(path), version=config.version,
        similarity=config.similarity, texts=(lambda: _texts(texts, own_ids)) if texts.is_file() else tuple,
        queries=_queries(path / "queries.jsonl", config), oracle=oracle if oracle.is_file() else None,
        related=config.related, notes=config.notes, fields=tuple(config.fields),
    )  # fmt: skip


def folder_hash(path: Path) -> str:
    """Return a content hash of a folder's data files and its task.json, each by `sampled_hash`."""
    return data_hash(path, (p for p in path.iterdir() if p.suffix in (".jsonl", ".npz") or p.name == "task.json"))


# -------------------------------------------------------------------------------------------------------- reading


def _texts(path: Path, bare: bool = False) -> Iterator[Paper]:
    for paper_id, row in by_id(path, "paper_id"):
        if bare and "title" not in row:
            continue
        known = Line({key: value for key, value in row.items() if value is not None}, path, row.line)
        sentences, labels = (known.keyed(name) if name in known else () for name in ("sentences", "sentence_labels"))
        abstract, year, venue = known.option("abstract"), known.option("year", int, None), known.option("venue")
        yield Paper(paper_id, row.value("title"), abstract, year, sentences, labels, venue)


def _queries(path: Path, config: TaskConfig) -> dict[str, str]:
    if not path.is_file():
        return {}
    asked = (one for one in by_id(path, "query_id") if "query" in one[1] or config.type != "retrieval")
    return {query: row.value("query") for query, row in asked}


SHARED = ("multi_label", "few_shot", "label_names", "text_query", "keep_self")
"""What task.json says of a payload, under the names of its fields."""


# -------------------------------------------------------------------------------------------------------- writing


def write_folder(task: Task, path: Path) -> None:
    """Write a task as a folder that `read_folder` reads back to the same judgements, texts and settings.

    README.md names its splits. Other files of the folder stay; texts of papers that a label_ranking or
    alternative_self task does not ask for are left out. Raises CacheError where it cannot be written.
    """
    (path / "task.json").unlink(missing_ok=True)  # unfinished until the new one is there
    written = {name: _write_rows(path / name, rows) for name, rows in _files(task)}
    if task.oracle is not None:
        write_bytes(path / "oracle.npz", task.oracle.read_bytes())
    config = _config_of(task)
    if not _is_own(path / "README.md"):
        write_text(path / "README.md", _card(config, written))
    write_json(path / "task.json", config)


def _write_rows(path: Path, rows: Iterable[Row]) -> int:
    """Stream rows, keys in the order they came, into a file that is whole or absent; return how many."""
    count = 0
    with atomic(path, sync=False) as stream:
        for row in rows:
            stream.write(_ENCODE(row).encode() + b"\n")
            count += 1
    return count


def _config_of(task: Task) -> Row:
    row: Row = {"name": task.name, "version": task.version, "type": task.type, "metrics": list(task.metrics),
                "similarity": task.similarity}  # fmt: skip
    for key in SHARED:
        value = getattr(task.payload, key, None)
        if value is not None and (key != "label_names" or value):
            listed = (
                [one._asdict() if key == "few_shot" else one for one in value] if isinstance(value, tuple) else value
            )
            row[key] = listed
    plain = TaskConfig(task.name, task.version, task.type, text_query=bool(row.get("text_query")))
    if task.format != format_of(plain):
        row["format"] = task.format
    if task.fields != FIELDS:
        row["fields"] = list(task.fields)
    return row | {key: getattr(task, key) for key in ("related", "notes") if getattr(task, key)}


def _text_row(paper: Paper) -> Row:
    row: Row = {"paper_id": paper.paper_id, "title": paper.title, "abstract": paper.abstract}
    more = {
        "year": paper.year,
        "venue": paper.venue,
        "sentences": [*paper.sentences],
        "sentence_labels": [*paper.labels],
    }
    return row | {key: value for key, value in more.items() if value not in (None, "", [])}


def _files(task: Task) -> Iterator[tuple[str, Iterable[Row]]]:
    data: Payload = task.payload
    queries: Iterable[Row] = ({"query_id": key, "query": text} for key, text in task.queries.items())
    if isinstance(data, schema.LabelSpace | schema.Collection):
        texts, gold = task.papers, data.gold if isinstance(data, schema.LabelSpace) else dict.fromkeys(data.paper_ids)
        rows = ((_text_row(texts[key]) if key in texts else {"paper_id": key}, own) for key, own in gold.items())
        yield "papers.jsonl", (row | ({} if own is None else {"labels": list(own)}) for row, own in rows)
    elif next(iter(task.texts()), None) is not None:
        yield "papers.jsonl", map(_text_row, task.texts())
    if task.queries and not isinstance(data, schema.Pooled):
        yield "queries.jsonl", queries
    yield from data.files(task.queries)


# --------------------------------------------------------------------------------------------------------- README.md

WRITTEN = "<!-- written by scirep_core: remove this line to keep a text of your own -->"


def _is_own(path: Path) -> bool:
    return path.is_file() and WRITTEN not in path.read_text(encoding="utf-8", errors="replace")


def _configs(files: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the configurations of a folder's files, the judgements first.

    Files of splits are one configuration, `examples`; any other file is its own, called after it, as is its split: of
    judgements `test`. (BEIR's mirrors name theirs so.)
    """
    stems = {name.removesuffix(".jsonl"): name for name in files if name.endswith(".jsonl")}
    split = [{"split": stem, "path": stems[stem]} for stem in SPLITS if stem in stems]
    found: list[dict[str, Any]] = [{"config_name": "examples", "data_files": split}] if split else []
    rest = [stem for stem in stems if stem not in SPLITS]
    for stem in sorted(rest, key=lambda stem: not stem.startswith("qrels")):
        name = "test" if stem.startswith("qrels") else stem
        found.append({"config_name": stem, "data_files": [{"split": name, "path": stems[stem]}]})
    return [one | ({"default": True} if at == 0 else {}) for at, one in enumerate(found)]


def _card(config: Row, files: Mapping[str, int]) -> str:
    """Return the text of README.md, its head the `configs` by which `datasets.load_dataset` finds the splits.

    Args:
        config: the task.json.
        files: each with its number of rows.
    """
    import yaml  # here: a machine that only trains has none

    head = {"pretty_name": config["name"], "tags": ["scientific-documents", config["type"].replace("_", "-")],
            "configs": _configs(files)}  # fmt: skip
    first = head["configs"][0]["config_name"]
    return "\n".join([
        "---", yaml.safe_dump(head, sort_keys=False, allow_unicode=True).rstrip(), "---", WRITTEN, "", f"# {config['name']}", "",
        f"A task of type {config['type'].replace('_', ' ')}, measured by {', '.join(config['metrics'])}.", "",
        "| file | rows |", "|---|---|", *(f"| {name} | {rows:,} |" for name, rows in files.items()), "",
        "```python", "import datasets, scirep_core", "",
        f'rows = datasets.load_dataset("FOLDER", "{first}")',
        'scores = scirep_core.score("FOLDER", "minilm")', "```", "",
        *([str(config["notes"]), ""] if config.get("notes") else []),
    ])  # fmt: skip
