"""SciRepEval: 24 tasks in four formats (Singh et al. 2023, sections 3 and 4, appendix A), and v1's three Feeds tasks.

Texts and judgements are published apart and joined by id:

    scirepeval/<config>/<split>        texts: flat rows (doc_id, title, abstract), or a query with its candidates
    scirepeval_test/<config>/<split>   labels (paper_id, label), or judgements (query_id, cand_id, score)

Several label configurations share one text configuration (`TEXTS`). The texts of the tasks are the `evaluation`
split; `train` and `validation` hold the eight training sets, which `training` streams.

Kept as published, for the evaluators to decide upon: rows in file order, pairs that occur twice, judged papers
without a text (SciDocs Co-view and Co-read have some; scoring reports them as coverage). Where a paper has several
texts among query and candidate rows, the first counts, as in the published code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

from scirep_core.data import hub
from scirep_core.data.inventory import TASKS, TRAINING, TaskSpec
from scirep_core.data.rows import SPLITS, Line, once
from scirep_core.data.tables import Found
from scirep_core.data.task import (  # fmt: skip
    Example,
    Judged,
    Label,
    Labelled,
    Payload,
    Qrel,
    Reviewers,
    Triple,
    Triples,
)
from scirep_core.data.text import FIELDS
from scirep_core.kit.errors import check_name, nearest
from scirep_core.kit.records import Paper, field

TEXT_COLLECTION, LABEL_COLLECTION = "scirepeval", "scirepeval_test"
TEXTS: dict[str, str] = {
    "scidocs_mag": "scidocs_mag_mesh", "scidocs_mesh": "scidocs_mag_mesh",
    "scidocs_view": "scidocs_view_cite_read", "scidocs_read": "scidocs_view_cite_read",
    "scidocs_cite": "scidocs_view_cite_read", "scidocs_cocite": "scidocs_view_cite_read",
    "hIndex": "peer_review_score_hIndex", "peer_review_score": "peer_review_score_hIndex",
}  # fmt: skip
"""Text configuration of a label configuration, where the names differ."""
NESTED: frozenset[str] = frozenset({
    "high_influence_cite", "same_author", "relish", "search", "nfcorpus", "trec_covid", "feeds_1", "feeds_m",
    "feeds_title",
})  # fmt: skip
"""Text configurations whose rows are a query with its candidates."""
GRADES: dict[str, int] = {
    **dict.fromkeys(("same_author", "high_influence_cite", "feeds_1", "feeds_m", "feeds_title", "scidocs_view",
                     "scidocs_read", "scidocs_cite", "scidocs_cocite", "paper_reviewer_matching"), 1),
    **dict.fromkeys(("relish", "nfcorpus", "trec_covid"), 2),
}  # fmt: skip
"""Highest grade of a configuration; search counts clicks and has none."""
CLASSES: dict[str, int] = {
    "mesh_descriptors": 30, "fos": 23, "biomimicry": 2, "drsm": 6, "scidocs_mag": 19, "scidocs_mesh": 11,
}  # fmt: skip
"""Number of classes; labels are 0 to one less, of `fos` a 0 or 1 for each."""
TARGETS: dict[str, str] = {
    "fos": "labels_text", "mesh_descriptors": "descriptor", "cite_count": "log_citations", "pub_year": "scaled_year",
}  # fmt: skip
"""Column of the training target (SciRepEval's training configuration)."""

_ID: hub.Kind = (str, int)
_TEXT: hub.Kind = (str, NoneType)
_FLAT: dict[str, hub.Kind] = {"doc_id|corpus_id": _ID, "title": _TEXT, "abstract": _TEXT}


# --- evaluation -------------------------------------------------------------------------------------------------------


def read(spec: TaskSpec, root: Path) -> Found:
    """Read one task of SciRepEval.

    Args:
        spec: its row of the inventory; `config` names the label configuration.
        root: folder that holds `scirepeval/` and `scirepeval_test/`; without the former the task has no texts.

    Raises:
        DataError: with file and row, for a missing column, a wrong type, a label out of range, an id twice in a split
            or in train and test, an empty split, a judged text query or reviewer that is not there.
    """
    texts = _text_files(spec, root)
    for split in texts.values():
        hub.check(split, _columns(spec))
    queries = _queries(texts["evaluation"]) if spec.text_query and texts else {}
    payload, files = _READERS[spec.type](spec, root, queries)
    return Found(
        payload, partial(_texts, spec, texts), tuple(dict.fromkeys((*files, *(p for paths in texts.values() for p in paths)))),
        queries=queries,
        # reviewers are ranked by the mean of the three best cosines (SciRepEval A.2), everything else by distance
        similarity="cosine" if spec.type == "reviewer_matching" else "l2",
        fields=fields_of(spec),
    )  # fmt: skip


def fields_of(spec: TaskSpec) -> tuple[str, ...]:
    """Return what a text of a task consists of."""
    return ("title", "abstract", "venue", "year") if spec.config == "search" else FIELDS


def _text_files(spec: TaskSpec, root: Path) -> dict[str, tuple[Path, ...]]:
    config = TEXTS.get(spec.config, spec.config)
    splits = ("train", "validation") if spec.type == "triplets" else ("evaluation",)
    found = {split: hub.find(root, TEXT_COLLECTION, config, split) for split in splits}
    return {split: paths for split, paths in found.items() if paths}


def _columns(spec: TaskSpec) -> dict[str, hub.Kind]:
    if spec.type == "triplets":
        return dict.fromkeys(("query", "pos", "neg"), dict)
    if TEXTS.get(spec.config, spec.config) not in NESTED:
        return _FLAT
    return {"query": str if spec.text_query else dict, "candidates": list}


def _labelled(spec: TaskSpec, root: Path, _: Mapping[str, str]) -> tuple[Labelled, list[Path]]:
    classes = CLASSES.get(spec.config, 0) if spec.type == "classification" else 0
    kind: hub.Kind = list if spec.multi_label else (int if classes else (int, float))
    seen: dict[str, tuple[str, str]] = {}
    splits: dict[str, tuple[Example, ...]] = {}
    files: list[Path] = []
    for split in SPLITS:
        if split == "validation" and not hub.find(root, LABEL_COLLECTION, spec.config, split):
            continue
        paths = hub.files(root, LABEL_COLLECTION, spec.config, split)
        files += paths
        examples = []
        for found in hub.rows(paths, {"paper_id": _ID, "label": kind}):
            paper_id = _id(found["paper_id"], found, "paper_id")
            if paper_id in seen:
                where, at = seen[paper_id]
                reason = f"is listed twice in {split}" if where == split else f"of {split} is in {where} as well"
                raise found.wrong(f"paper {paper_id!r} {reason} (first at {at})", "Keep one")
            seen[paper_id] = split, f"{found.path.parent.name}/{found.path.name}:{found.line}"
            examples.append(Example(paper_id, _label(found, classes, spec.multi_label)))
        splits[split] = tuple(examples)
    return Labelled(splits, spec.multi_label, spec.few_shot), files


def _label(found: Line, classes: int, multi_label: bool) -> Label:
    label = found["label"]
    if multi_label:
        if len(label) != classes:
            raise found.wrong(f"label has {len(label)} entries, not one for each of {classes}")
        if not all(type(value) is int and value in (0, 1) for value in label):
            wrong = next(value for value in label if type(value) is not int or value not in (0, 1))
            raise found.wrong(f"label holds {wrong!r}", "A multi-hot label holds 0 and 1 alone")
        return tuple(label)
    if classes and not 0 <= label < classes:
        raise found.wrong(f"label {label} is not one of 0 to {classes - 1}")
    return int(label) if classes else float(label)


def _judged(spec: TaskSpec, root: Path, queries: Mapping[str, str]) -> tuple[Judged, list[Path]]:
    paths = hub.files(root, LABEL_COLLECTION, spec.config, "test")
    rows = []
    for found, qrel in _qrels(paths, spec.config):
        if queries and qrel.query_id not in queries:
            raise found.wrong(f"query {qrel.query_id!r} has no text", "Fetch the texts again")
        rows.append(qrel)
    return Judged(tuple(rows), spec.text_query), list(paths)


def _qrels(paths: tuple[Path, ...], config: str) -> Iterator[tuple[Line, Qrel]]:
    for found in hub.rows(paths, {"query_id": _ID, "cand_id": _ID, "score": (int, float)}):
        query, candidate = (_id(found[key], found, key) for key in ("query_id", "cand_id"))
        yield found, Qrel(query, candidate, _score(found["score"], found, GRADES.get(config)))


def _reviewers(spec: TaskSpec, root: Path, _: Mapping[str, str]) -> tuple[Reviewers, list[Path]]:
    paths = hub.files(root, LABEL_COLLECTION, "reviewers", "metadata")
    reviewers: dict[str, tuple[str, ...]] = {}
    listed = ((_id(found["r_id"], found, "r_id"), found) for found in hub.rows(paths, {"r_id": _ID, "papers": list}))
    for reviewer, found in once(listed, "reviewer"):
        reviewers[reviewer] = tuple(_id(paper, found, "papers") for paper in found["papers"])
        if not reviewers[reviewer]:
            raise found.wrong(f"reviewer {reviewer!r} has no papers", "Leave the reviewer out")
    files, judged = list(paths), {}
    for split in ("test_hard", "test_soft"):
        paths = hub.files(root, LABEL_COLLECTION, spec.config, split)
        files += paths
        rows = []
        for found, qrel in _qrels(paths, spec.config):
            if qrel.cand_id not in reviewers:
                hint = nearest(qrel.cand_id, reviewers)
                raise found.wrong(f"reviewer {qrel.cand_id!r} is not in `reviewers`", hint)
            if qrel.score not in (0, 1):
                raise found.wrong(f"score {qrel.score} is not 0 or 1")
            rows.append(qrel)
        judged[split] = tuple(rows)
    return Reviewers(judged["test_hard"], judged["test_soft"], reviewers), files


def _triples(spec: TaskSpec, root: Path, _: Mapping[str, str]) -> tuple[Triples, list[Path]]:
    hub.files(root, TEXT_COLLECTION, spec.config, "train")  # there is no task without it
    splits = _text_files(spec, root)

    def rows(paths: tuple[Path, ...]) -> Iterator[Triple]:
        return (Triple(*(paper.paper_id for paper in triple)) for triple in _paper_triples(paths))

    return Triples.of({split: partial(rows, paths) for split, paths in splits.items()}), []


_READERS: dict[str, Callable[[TaskSpec, Path, Mapping[str, str]], tuple[Payload, list[Path]]]] = {
    "classification": _labelled, "regression": _labelled, "proximity": _judged, "adhoc_search": _judged,
    "reviewer_matching": _reviewers, "triplets": _triples,
}  # fmt: skip


# --- texts ------------------------------------------------------------------------------------------------------------


def _texts(spec: TaskSpec, files: Mapping[str, tuple[Path, ...]]) -> Iterator[Paper]:
    if spec.type == "triplets" or TEXTS.get(spec.config, spec.config) in NESTED:
        seen: set[str] = set()
        for paths in files.values():
            for papers in _nested(spec, paths):
                for paper in papers:
                    if paper.paper_id not in seen:
                        seen.add(paper.paper_id)
                        yield paper
        return
    for paths in files.values():
        texts: dict[str, int] = {}
        for found in hub.rows(paths, _FLAT):
            paper = _paper(found, found, "")
            if paper.paper_id not in texts:
                texts[paper.paper_id] = hash(paper)
                yield paper
            elif texts[paper.paper_id] != hash(paper):
                raise found.wrong(f"paper {paper.paper_id!r} has another text further up", "Keep one")


def _nested(spec: TaskSpec, paths: tuple[Path, ...]) -> Iterator[tuple[Paper, ...]]:
    if spec.type == "triplets":
        yield from _paper_triples(paths)
        return
    for row in _ranked(paths, spec.text_query):
        yield row.candidates if spec.text_query else (row.query, *row.candidates)


def _queries(paths: tuple[Path, ...]) -> dict[str, str]:
    queries: dict[str, str] = {}
    for found in hub.rows(paths, {"query": str, "doc_id": _ID}):
        query_id = _id(found["doc_id"], found, "doc_id")
        if queries.setdefault(query_id, found["query"]) != found["query"]:
            raise found.wrong(f"query {query_id!r} has another text further up")
    return queries


def _id(value: Any, found: Line, column: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise found.wrong(f"{column!r} must hold ids, found {value!r:.60}")
    return str(value)


def _score(value: float, found: Line, highest: int | None = None) -> int:
    # -1 occurs in TREC-COVID's own judgements and counts as irrelevant
    if value != int(value) or value < -1:
        raise found.wrong(f"score {value!r} is not a grade", "Grades are whole: 0, 1, 2 ...")
    if highest is not None and value > highest:
        raise found.wrong(f"score {value!r} is above {highest}, the task's highest grade")
    return int(value)


def _paper(row: dict[str, Any], found: Line, where: str, search: bool = False) -> Paper:
    """Return one paper of a row. `venue` and `year` are filled for search alone: for others they may be the target."""
    key = next((k for k in ("doc_id", "corpus_id") if row.get(k) is not None), "doc_id")
    if key not in row:
        hint = f"Present: {', '.join(sorted(row)) or 'none'}"
        raise found.wrong(f"{where or 'the row'} has neither doc_id nor corpus_id", hint)
    paper_id = _id(row[key], found, f"{where}.{key}" if where else key)
    title, abstract = (field(row, name, _TEXT, found.path, found.line) or "" for name in ("title", "abstract"))
    if not search:
        return Paper(paper_id, title, abstract)
    year, venue = row.get("year"), row.get("venue")
    if year is not None and year == year and year != "" and not isinstance(year, int | float):
        raise found.wrong(f"{where}.year must be a number, found {year!r:.40}")
    known = int(year) if year and year == year else None  # a year of 0 stands for none, as does NaN
    return Paper(paper_id, title, abstract, known, venue=venue if isinstance(venue, str) else "")


# --- training ---------------------------------------------------------------------------------------------------------


class TrainExample(NamedTuple):
    """A paper with its target: the name of its class, the names of its classes, or a number."""

    paper: Paper
    target: str | tuple[str, ...] | float


class PaperTriple(NamedTuple):
    """A paper, one it cites, one it does not cite."""

    query: Paper
    positive: Paper
    negative: Paper


class RankedQuery(NamedTuple):
    """A query with graded candidates; a bare query is a Paper whose title is the query and whose abstract is empty."""

    query: Paper
    candidates: tuple[Paper, ...]
    scores: tuple[int, ...]


TrainRow = TrainExample | PaperTriple | RankedQuery


def training(name: str, root: Path, split: str = "train") -> Iterator[TrainRow]:
    """Stream one of the eight training sets in file order: constant memory, however many rows.

    Args:
        name: one of `inventory.TRAINING`: fos and mesh_descriptors give class names, cite_count and pub_year numbers,
            cite_prediction triples, the others graded candidates.
        root: folder that holds `scirepeval/`.
        split: train or validation.

    Raises DataError with file and row for whatever is malformed, UnknownName for another name.
    """
    check_name("training set", name, TRAINING)
    spec = TASKS[name]
    paths = hub.files(root, TEXT_COLLECTION, spec.config, split)
    if spec.config in TARGETS:
        return examples(paths, TARGETS[spec.config])
    return _paper_triples(paths) if spec.type == "triplets" else _ranked(paths, spec.text_query)


def training_counts(name: str, root: Path) -> dict[str, int]:
    """Return the size of a training set of `inventory.TRAINING` as Table 1 has it, train and validation together.

    {"train"} papers or triples, or {"train_queries", "train_pairs"}. All rows are read; errors as of `training`.
    """
    units = pairs = 0
    for split in ("train", "validation"):
        for unit in training(name, root, split):
            units += 1
            pairs += len(unit.candidates) if isinstance(unit, RankedQuery) else 0
    return {"train_queries": units, "train_pairs": pairs} if pairs else {"train": units}


def _names(found: Line, column: str) -> tuple[str, ...]:
    for value in found[column]:
        if not isinstance(value, str) or not value:
            raise found.wrong(f"{column!r} must hold names, found {value!r:.60}")
    return tuple(found[column])


def examples(paths: Sequence[Path], column: str, kind: hub.Kind | None = None) -> Iterator[TrainExample]:
    """Yield papers with the target in a column: several names, one, or a number, as `kind` says of a column of one's own."""
    kinds: dict[str, hub.Kind] = {"labels_text": list, "descriptor": str}
    for found in hub.rows(paths, {**_FLAT, column: kind or kinds.get(column, (int, float))}):
        value = found[column]
        if value == "":
            raise found.wrong(f"{column!r} is empty", "Name the class")
        yield TrainExample(_paper(found, found, ""), _names(found, column) if isinstance(value, list) else value)


def _paper_triples(paths: tuple[Path, ...]) -> Iterator[PaperTriple]:
    for found in hub.rows(paths, dict.fromkeys(("query", "pos", "neg"), dict)):
        yield PaperTriple(*(_paper(found[part], found, part) for part in ("query", "pos", "neg")))


def _ranked(paths: tuple[Path, ...], text_query: bool) -> Iterator[RankedQuery]:
    needs: dict[str, hub.Kind] = {"query": str if text_query else dict, "candidates": list}
    for found in hub.rows(paths, needs, {"doc_id": (str, int, NoneType)} if text_query else {}):
        if text_query:
            # the oldest dumps name no id; nothing but the judgements needs it, and those come with newer ones
            query_id = found["doc_id"] if found["doc_id"] is not None else f"{found.path.name}:{found.line}"
            query = Paper(_id(query_id, found, "doc_id"), found["query"], "")
        else:
            query = _paper(found["query"], found, "query")
        papers, scores = [], []
        for position, candidate in enumerate(found["candidates"], start=1):
            where = f"candidates[{position}]"
            if not isinstance(candidate, dict):
                raise found.wrong(f"{where} must be an object, found {candidate!r:.40}")
            papers.append(_paper(candidate, found, where, search=text_query))
            scores.append(_score(field(candidate, "score", (int, float), found.path, found.line), found))
        yield RankedQuery(query, tuple(papers), tuple(scores))
