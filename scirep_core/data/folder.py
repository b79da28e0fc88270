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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scirep_core.data import card as cards
from scirep_core.data import task as schema
from scirep_core.data.readers import csfcube
from scirep_core.data.task import Byline, Example, FewShot, LabelText, Payload, Qrel, Signature, Task, TaskType, Triple
from scirep_core.data.task_json import METRICS, PLAIN, TaskConfig, format_of, read_config
from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.records import Paper, read_jsonl
from scirep_core.kit.records import field as check_field
from scirep_core.kit.store import WHOLE, atomic, sampled_hash, stable_hash, write_bytes, write_json, write_text

Row = dict[str, Any]
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
        collection = csfcube.read(path)
        return replace(
            collection, metrics=tuple(config.metrics), similarity=config.similarity, version=config.version
        )  # fmt: skip
    kind = next(name for name in READERS if name == config.type)
    payload = READERS[kind](path, config)
    texts = path / "papers.jsonl"
    own_ids = config.type in ("label_ranking", "alternative_self")
    if texts.is_file() and texts.stat().st_size <= WHOLE:
        for _ in _texts(texts, own_ids):
            pass  # a fault in a small file is told now, not when a chapter first encodes it
    oracle = path / "oracle.npz"
    return Task(
        name=config.name, type=kind, format=format_of(config), metrics=tuple(config.metrics) or METRICS[config.type],
        payload=payload, source="folder", data_hash=folder_hash(path), version=config.version,
        similarity=config.similarity, texts=(lambda: _texts(texts, own_ids)) if texts.is_file() else tuple,
        queries=_queries(path / "queries.jsonl", config), oracle=oracle if oracle.is_file() else None,
        related=config.related, notes=config.notes, fields=tuple(config.fields),
    )  # fmt: skip


def folder_hash(path: Path) -> str:
    """Return a content hash of a folder's data files and its task.json, each by `sampled_hash`."""
    names = sorted(p for p in path.iterdir() if p.suffix in (".jsonl", ".npz") or p.name == "task.json")
    return stable_hash({p.name: sampled_hash(p) for p in names})


# -------------------------------------------------------------------------------------------------------- reading


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (line, object); a file without a single row is an error."""
    line = 0
    for line, row in read_jsonl(path):
        yield line, row
    if not line:
        raise DataError(path, None, "no rows in the file", "Write one JSON object a line")


def _id(row: Row, name: str, path: Path, line: int) -> str:
    value = str(check_field(row, name, (str, int), path, line))
    if not value:
        raise DataError(path, line, f"field {name!r} is empty")
    return value


def _new(seen: dict[str, int], key: str, name: str, path: Path, line: int) -> str:
    """Return `key`, entered as seen; a second time is an error."""
    if key in seen:
        raise DataError(path, line, f"{name} {key} is there twice (first in line {seen[key]})", "Keep one row per id")
    seen[key] = line
    return key


def _ids(row: Row, name: str, path: Path, line: int) -> tuple[str, ...]:
    values = check_field(row, name, list, path, line)
    if not all(isinstance(v, str | int) and not isinstance(v, bool) for v in values):
        raise DataError(path, line, f"field {name!r} must hold ids, found {values!r:.60}")
    return tuple(map(str, values))


def _texts(path: Path, bare: bool = False) -> Iterator[Paper]:
    """Yield the papers of a papers.jsonl; with `bare`, a row may be an id (and labels) without a text."""
    seen: dict[str, int] = {}
    for line, row in _rows(path):
        paper_id = _new(seen, _id(row, "paper_id", path, line), "paper_id", path, line)
        if bare and "title" not in row:
            continue
        kept = {key: row[key] for key in row if row[key] is not None}
        yield Paper(
            paper_id,
            check_field(row, "title", str, path, line),
            check_field(kept, "abstract", str, path, line) if "abstract" in kept else "",
            check_field(kept, "year", int, path, line) if "year" in kept else None,
            _ids(kept, "sentences", path, line) if "sentences" in kept else (),
            _ids(kept, "sentence_labels", path, line) if "sentence_labels" in kept else (),
            check_field(kept, "venue", str, path, line) if "venue" in kept else "",
        )


def _queries(path: Path, config: TaskConfig) -> dict[str, str]:
    """Return the texts of bare queries; {} where queries are papers."""
    if not path.is_file():
        return {}
    seen: dict[str, int] = {}
    texts = {}
    for line, row in _rows(path):
        query = _new(seen, _id(row, "query_id", path, line), "query_id", path, line)
        if "query" in row or config.type != "retrieval":
            texts[query] = check_field(row, "query", str, path, line)
    return texts


def _labelled(folder: Path, config: TaskConfig) -> schema.Labelled:
    splits: dict[str, tuple[Example, ...]] = {}
    width: int | None = len(config.label_names) or None
    for split in ("train", "validation", "test"):
        path, rows, seen = folder / f"{split}.jsonl", [], dict[str, int]()
        if split == "validation" and not path.is_file():
            continue
        for line, row in _rows(path):
            paper_id = _new(seen, _id(row, "paper_id", path, line), "paper_id", path, line)
            if not config.multi_label:
                kind = int if config.type == "classification" else (int, float)
                value = check_field(row, "label", kind, path, line)
                if config.type == "classification" and value < 0:
                    raise DataError(path, line, f"paper {paper_id}: label {value} is negative", "Classes count from 0")
                rows.append(Example(paper_id, value))
                continue
            label = check_field(row, "label", list, path, line)
            if not all(type(value) is int and value in (0, 1) for value in label):
                raise DataError(path, line, f"paper {paper_id}: a multi-hot label holds 0 or 1, found {label!r:.60}")
            width = len(label) if width is None else width
            if len(label) != width or not width:
                raise DataError(path, line, f"paper {paper_id}: {len(label)} labels where {width} are expected")
            rows.append(Example(paper_id, tuple(label)))
        splits[split] = tuple(rows)
    few_shot = tuple(FewShot(**setting) for setting in config.few_shot)
    return schema.Labelled(splits, config.multi_label, few_shot, tuple(config.label_names))


def _grade(value: Any, path: Path, line: int, what: str) -> int:
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise DataError(path, line, f"{what}: grade {value!r:.40} is not a whole number from 0", "0 means not relevant")
    return value


def _qrels(path: Path) -> tuple[Qrel, ...]:
    rows = []
    for line, row in _rows(path):
        query, candidate = _id(row, "query_id", path, line), _id(row, "cand_id", path, line)
        score = _grade(check_field(row, "score", int, path, line), path, line, f"{query}, {candidate}")
        group = check_field(row, "group", str, path, line) if "group" in row else ""
        rows.append(Qrel(query, candidate, score, group))
    return tuple(rows)


def _pooled(folder: Path, config: TaskConfig) -> schema.Pooled:
    path, seen = folder / "pool.jsonl", dict[str, int]()
    for line, row in _rows(path):
        _new(seen, _id(row, "paper_id", path, line), "paper_id", path, line)
    path, relevant, queries = folder / "queries.jsonl", dict[str, dict[str, int]](), dict[str, int]()
    for line, row in _rows(path):
        query = _new(queries, _id(row, "query_id", path, line), "query_id", path, line)
        grades = check_field(row, "relevant", dict, path, line)
        for paper_id, grade in grades.items():
            if paper_id not in seen:
                raise DataError(path, line, f"query {query}: relevant paper {paper_id} is not in pool.jsonl")
            _grade(grade, path, line, f"query {query}, paper {paper_id}")
        if config.text_query:
            check_field(row, "query", str, path, line)
            if config.keep_self and query in seen:
                raise DataError(path, line, f"{query} is a query and a paper of the pool: they would share a vector",
                                "Give bare queries ids of their own")  # fmt: skip
        relevant[query] = grades
    return schema.Pooled(relevant, tuple(seen), config.keep_self, config.text_query)


def _label_space(folder: Path, config: TaskConfig) -> schema.LabelSpace:
    path, labels, seen = folder / "labels.jsonl", dict[str, LabelText](), dict[str, int]()
    for line, row in _rows(path):
        key = _new(seen, _id(row, "label_id", path, line), "label_id", path, line)
        definition = check_field(row, "definition", str, path, line) if "definition" in row else ""
        labels[key] = LabelText(key, check_field(row, "name", str, path, line), definition)
    tables: dict[str, dict[str, tuple[str, ...]]] = {"papers.jsonl": {}, "matched.jsonl": {}}
    for (name, table), column in zip(tables.items(), ("labels", "candidates"), strict=True):
        path, seen = folder / name, {}
        if name == "matched.jsonl" and not path.is_file():
            continue
        for line, row in _rows(path):
            paper_id = _new(seen, _id(row, "paper_id", path, line), "paper_id", path, line)
            if paper_id in labels:
                raise DataError(path, line, f"{paper_id} is a paper and a label: they would share a vector",
                                "Give labels ids of their own")  # fmt: skip
            ids = _ids(row, column, path, line)
            unknown = next((key for key in ids if key not in labels), None)
            if unknown is not None:
                raise DataError(path, line, f"paper {paper_id}: label {unknown!r} is not in labels.jsonl",
                                nearest(unknown, labels))  # fmt: skip
            if len(set(ids)) < len(ids):
                raise DataError(path, line, f"paper {paper_id}: a label is there twice")
            if name == "matched.jsonl" and paper_id not in tables["papers.jsonl"]:
                raise DataError(path, line, f"paper {paper_id} is not in papers.jsonl")
            table[paper_id] = ids
    return schema.LabelSpace(tables["papers.jsonl"], labels, tables["matched.jsonl"])


def _reviewers(folder: Path, config: TaskConfig) -> schema.Reviewers:
    path, seen, papers = folder / "reviewers.jsonl", dict[str, int](), dict[str, tuple[str, ...]]()
    for line, row in _rows(path):
        reviewer = _new(seen, _id(row, "r_id", path, line), "r_id", path, line)
        papers[reviewer] = _ids(row, "papers", path, line)
        if not papers[reviewer]:
            raise DataError(path, line, f"reviewer {reviewer} has no papers")
    hard, soft = _qrels(folder / "qrels_hard.jsonl"), _qrels(folder / "qrels_soft.jsonl")
    for name, rows in (("hard", hard), ("soft", soft)):
        unknown = next((row.cand_id for row in rows if row.cand_id not in papers), None)
        if unknown is not None:
            raise DataError(folder / f"qrels_{name}.jsonl", None, f"reviewer {unknown} is not in reviewers.jsonl",
                            nearest(unknown, papers))  # fmt: skip
    return schema.Reviewers(hard, soft, papers)


def _signatures(folder: Path, config: TaskConfig) -> schema.Signatures:
    path, seen, rows = folder / "signatures.jsonl", dict[str, int](), []
    for line, row in _rows(path):
        key = _new(seen, _id(row, "signature_id", path, line), "signature_id", path, line)
        paper, block = (_id(row, name, path, line) for name in ("paper_id", "block"))
        cluster = str(check_field(row, "cluster", (str, int), path, line))  # "": nobody knows whose it is
        names = ("name", "affiliation", "first", "middle", "last", "email")
        more = {name: check_field(row, name, str, path, line) for name in names if name in row}
        position = check_field(row, "position", int, path, line) if "position" in row else -1
        rows.append(Signature(key, paper, block, cluster, **more, position=position))
    return schema.Signatures(tuple(rows), _bylines(folder / "bylines.jsonl"))


def _bylines(path: Path) -> dict[str, Byline]:
    found: dict[str, Byline] = {}
    seen: dict[str, int] = {}
    for line, row in _rows(path) if path.is_file() else ():
        key = _new(seen, _id(row, "paper_id", path, line), "paper_id", path, line)
        authors, references = (_ids(row, name, path, line) if name in row else () for name in ("authors", "references"))
        found[key] = Byline(
            key, authors, check_field(row, "journal", str, path, line) if "journal" in row else "", references
        )
    return found


def _collection(folder: Path, config: TaskConfig) -> schema.Collection:
    path, seen = folder / "papers.jsonl", dict[str, int]()
    for line, row in _rows(path):
        _new(seen, _id(row, "paper_id", path, line), "paper_id", path, line)
    return schema.Collection(tuple(seen))


def _triples(folder: Path, config: TaskConfig) -> schema.Triples:
    splits = tuple(s for s in ("train", "validation", "test") if s == "train" or (folder / f"{s}.jsonl").is_file())

    def rows(split: str) -> Iterator[Triple]:
        path = folder / f"{split}.jsonl"
        for line, row in _rows(path):
            negative = _id(row, "negative", path, line) if row.get("negative", "") != "" else ""
            yield Triple(_id(row, "query", path, line), _id(row, "positive", path, line), negative)

    for split in splits:
        small = (folder / f"{split}.jsonl").is_file() and (folder / f"{split}.jsonl").stat().st_size <= WHOLE
        for _ in rows(split):
            if not small:
                break
    return schema.Triples(rows, splits)


def _judged(folder: Path, config: TaskConfig) -> schema.Judged:
    return schema.Judged(_qrels(folder / "qrels.jsonl"), config.text_query)


READERS: dict[TaskType, Callable[[Path, TaskConfig], Payload]] = {
    "classification": _labelled, "regression": _labelled, "proximity": _judged, "adhoc_search": _judged,
    "retrieval": _pooled, "label_ranking": _label_space, "reviewer_matching": _reviewers,
    "author_disambiguation": _signatures, "alternative_self": _collection, "triplets": _triples,
}  # fmt: skip


# -------------------------------------------------------------------------------------------------------- writing


def write_folder(task: Task, path: Path) -> None:
    """Write a task as a folder that `read_folder` reads back to the same judgements, texts and settings.

    README.md names its splits (card.py). Other files of the folder stay; texts of papers that a label_ranking or
    alternative_self task does not ask for are left out. Raises CacheError where it cannot be written.
    """
    (path / "task.json").unlink(missing_ok=True)  # unfinished until the new one is there
    written = {name: _write_rows(path / name, rows) for name, rows in _files(task)}
    if task.oracle is not None:
        write_bytes(path / "oracle.npz", task.oracle.read_bytes())
    config = _config_of(task)
    if not cards.is_own(path / cards.CARD):
        write_text(path / cards.CARD, cards.card(config, written))
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
    data = task.payload
    if isinstance(data, schema.Labelled):
        row |= {"multi_label": data.multi_label, "few_shot": [setting._asdict() for setting in data.few_shot]}
        row |= {"label_names": list(data.label_names)} if data.label_names else {}
    if isinstance(data, schema.Judged | schema.Pooled):
        row["text_query"] = data.text_query
    if isinstance(data, schema.Pooled):
        row["keep_self"] = data.keep_self
    plain = TaskConfig(task.name, task.version, task.type, text_query=bool(row.get("text_query")))
    if task.format != format_of(plain):
        row["format"] = task.format
    if task.fields != PLAIN:
        row["fields"] = list(task.fields)
    return row | {key: getattr(task, key) for key in ("related", "notes") if getattr(task, key)}


def _text_row(paper: Paper) -> Row:
    row: Row = {"paper_id": paper.paper_id, "title": paper.title, "abstract": paper.abstract}
    more = {
        "year": paper.year,
        "venue": paper.venue,
        "sentences": list(paper.sentences),
        "sentence_labels": list(paper.labels),
    }
    return row | {key: value for key, value in more.items() if value not in (None, "", [])}


def _files(task: Task) -> Iterator[tuple[str, Iterable[Row]]]:
    """Yield (file name, rows) of a task's judgements and texts."""
    data: Payload = task.payload
    queries: Iterable[Row] = ({"query_id": key, "query": text} for key, text in task.queries.items())
    if isinstance(data, schema.LabelSpace | schema.Collection):
        texts = task.papers
        ids = data.gold if isinstance(data, schema.LabelSpace) else data.paper_ids
        labels = data.gold if isinstance(data, schema.LabelSpace) else {}
        rows = ((_text_row(texts[key]) if key in texts else {"paper_id": key}, key) for key in ids)
        yield "papers.jsonl", (row | ({"labels": list(labels[key])} if key in labels else {}) for row, key in rows)
    elif next(iter(task.texts()), None) is not None:
        yield "papers.jsonl", map(_text_row, task.texts())
    if task.queries and not isinstance(data, schema.Pooled):
        yield "queries.jsonl", queries
    if isinstance(data, schema.Labelled):
        for split, examples in data.splits.items():
            yield f"{split}.jsonl", ({"paper_id": e.paper_id, "label": e.label} for e in examples)
    elif isinstance(data, schema.Judged):
        yield "qrels.jsonl", map(_qrel_row, data.rows)
    elif isinstance(data, schema.Pooled):
        yield "pool.jsonl", ({"paper_id": key} for key in data.pool)
        texts_of = task.queries
        yield (
            "queries.jsonl",
            (
                {"query_id": key, "relevant": dict(relevant)} | ({"query": texts_of[key]} if key in texts_of else {})
                for key, relevant in data.relevant.items()
            ),
        )
    elif isinstance(data, schema.LabelSpace):
        yield "labels.jsonl", (label._asdict() for label in data.labels.values())
        if data.matched:
            yield "matched.jsonl", ({"paper_id": k, "candidates": list(ids)} for k, ids in data.matched.items())
    elif isinstance(data, schema.Reviewers):
        yield "qrels_hard.jsonl", map(_qrel_row, data.hard)
        yield "qrels_soft.jsonl", map(_qrel_row, data.soft)
        yield "reviewers.jsonl", ({"r_id": key, "papers": list(papers)} for key, papers in data.reviewers.items())
    elif isinstance(data, schema.Signatures):
        yield "signatures.jsonl", (_known(row, schema.Signature._field_defaults) for row in data.rows)
        if data.bylines:
            yield "bylines.jsonl", (_known(row, schema.Byline._field_defaults) for row in data.bylines.values())
    elif isinstance(data, schema.Triples):
        for split in data.splits:
            yield f"{split}.jsonl", (row._asdict() for row in data.rows(split))


def _known(row: Signature | Byline, defaults: Mapping[str, Any]) -> Row:
    return {key: value for key, value in row._asdict().items() if key not in defaults or value != defaults[key]}


def _qrel_row(row: Qrel) -> Row:
    return {key: value for key, value in row._asdict().items() if value != ""}
