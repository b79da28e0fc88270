"""CSFCube: faceted query-by-example (Mysore et al. 2021, sections 2-4).

A query is a paper and a facet; its candidates carry graded ratings 0-3 from two annotators and an adjudicator. The
same files serve three sources: the real collection (through its manifest), the embedded literature (which writes
them) and a user's folder. The reader joins on the gold files: the pool file of the real collection names two papers
that nobody rated.

Text comes from `abstracts-csfcube-preds.jsonl` where a folder has it, else from `readable_annotations/*.txt`, whose
hashes are known and whose years and annotator numbers the jsonl lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.rows import Line, by_id
from scirep_core.data.tables import data_hash
from scirep_core.kit.errors import DataError, look_up
from scirep_core.kit.formats import FACET_OF_LABEL, FACETS, SENTENCE_LABELS
from scirep_core.kit.records import Judgement, Paper, Query, field, grouped, raw_lines, read_csv, read_object, whole

ABSTRACTS = "abstracts-csfcube-preds.jsonl"
READABLE = "readable_annotations"
GOLD = "test-pid2anns-csfcube-{facet}.json"
POOL = "test-pid2pool-csfcube.json"
SPLITS = "evaluation_splits.json"
QUERIES = "queries-release.csv"
FOLDS = ("fold1_dev", "fold2_dev", "fold1_test", "fold2_test")
TASKS = (*FACETS, "all")


@dataclass(frozen=True)
class QueryInfo:
    """What `queries-release.csv` says of one query-facet pair."""

    year: int
    title: str


@dataclass(frozen=True)
class FacetCollection:
    """A faceted test collection, whatever its source."""

    name: str
    source: str
    papers: dict[str, Paper]
    judgements: dict[Query, tuple[Judgement, ...]]
    splits: dict[str, dict[str, tuple[Query, ...]]]
    info: dict[Query, QueryInfo]
    data_hash: str
    oracle: dict[Query, dict[str, float]] | None = None
    tasks: tuple[str, ...] = TASKS
    """Which of background, method, result and all are scored unless a caller says otherwise."""
    metrics: tuple[str, ...] = ()
    """Metrics the task asks for; () means those of the paper's tables."""
    similarity: str = "l2"
    """How vectors are compared unless a caller says otherwise."""
    version: int = 1

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """All query-facet pairs, by facet in the paper's order, then as the gold file lists them."""
        return tuple(self.judgements)

    def candidates(self, query: Query) -> tuple[str, ...]:
        """Candidate ids of a query in gold order: the order that breaks ties."""
        return tuple(judgement.candidate for judgement in self.judgements[query])

    def ratings(self, query: Query) -> NDArray[np.int64]:
        """Adjudicated ratings of a query, aligned with `candidates`."""
        return np.array([judgement.rating for judgement in self.judgements[query]], dtype=np.int64)

    def facet_sentences(self, query: Query) -> tuple[str, ...]:
        """Sentences of the query paper that carry its facet (objective counts as background)."""
        paper = self.papers[query.paper_id]
        pairs = zip(paper.sentences, paper.labels, strict=True)
        return tuple(text for text, label in pairs if FACET_OF_LABEL.get(label) == query.facet)

    def two_facet_papers(self) -> dict[str, tuple[Query, Query]]:
        """Query papers rated for two facets, with their two queries in facet order (CSFCube Figure 2)."""
        by_paper = grouped(self.queries, lambda query: query.paper_id)
        return {paper: (both[0], both[1]) for paper, both in by_paper.items() if len(both) == 2}

    def only(self, facet: str) -> FacetCollection:
        """Return the collection for one facet alone: its queries, its split. `all` is the whole of it, scored as all."""
        if facet == "all":
            return replace(self, tasks=("all",))
        judgements = {query: judged for query, judged in self.judgements.items() if query.facet == facet}
        return replace(self, tasks=(facet,), judgements=judgements, splits={facet: self.splits[facet]})

    def find(self, query_id: str) -> Query:
        """Return the query named `<paper id>_<facet>`. Raises UnknownName naming the nearest one."""
        return look_up(f"query of {self.name}", query_id, {query.query_id: query for query in self.queries})


def read(folder: Path, source: str = "folder") -> FacetCollection:
    """Read a faceted collection from a folder with the published files. Raises DataError with file and line."""
    if not folder.is_dir():
        raise DataError(folder, None, "no such folder", "Give a folder with the files of CSFCube")
    try:
        return _read(folder, source)
    except (TypeError, AttributeError, KeyError, IndexError, ValueError, OSError) as error:
        # a file of the right kind whose inside is not: which one, the parts read so far do not know
        reason = f"a file is not built like the published one ({error})"
        raise DataError(folder, None, reason, "Compare it with `scirep data get embedded --out DIR`") from None


def _read(folder: Path, source: str) -> FacetCollection:
    texts = folder / ABSTRACTS
    papers = _papers_from_jsonl(texts) if texts.is_file() else _papers_from_readable(folder / READABLE)
    judgements = dict(_gold(folder))
    for query, rated in judgements.items():
        for paper_id in (query.paper_id, *(j.candidate for j in rated)):
            if paper_id not in papers:
                gold = folder / GOLD.format(facet=query.facet)
                raise DataError(gold, None, f"paper {paper_id} of query {query.query_id} has no text in {folder.name}")
    name, known, oracle = folder.name if source == "folder" else "csfcube", set(judgements), folder / "oracle.json"
    splits, info = _splits(folder / SPLITS, known), _query_info(folder / QUERIES, known)
    truth = _oracle(oracle, judgements) if oracle.is_file() else None
    return FacetCollection(name, source, papers, judgements, splits, info, folder_hash(folder), truth)


def folder_hash(folder: Path) -> str:
    """Return a content hash of the files a collection is read from: equal data, equal hash, on any machine."""
    names = [ABSTRACTS, POOL, SPLITS, QUERIES, "oracle.json", *(GOLD.format(facet=facet) for facet in FACETS)]
    files = [folder / name for name in names] + sorted((folder / READABLE).glob("*.txt"))
    return data_hash(folder, (file for file in files if file.is_file()))


def _gold(folder: Path) -> Iterator[tuple[Query, tuple[Judgement, ...]]]:
    found, sources = False, _pool_sources(folder / POOL)
    for facet in FACETS:
        path = folder / GOLD.format(facet=facet)
        if not path.is_file():
            continue
        found = True
        for paper_id, entry in read_object(path).items():
            yield Query(paper_id, facet), tuple(_judgements(path, paper_id, entry, sources.get(paper_id, {})))
    if not found:
        raise DataError(folder, None, f"no gold file {GOLD.format(facet='<facet>')}", "Run `scirep data get csfcube`")


def _judgements(path: Path, paper_id: str, entry: Any, sources: dict[str, tuple[str, ...]]) -> Iterator[Judgement]:
    if not isinstance(entry, dict):
        raise DataError(path, None, f"query {paper_id}: expected an object with cands and relevance_adju")
    candidates = field(entry, "cands", list, path, None)
    gold = field(entry, "relevance_adju", list, path, None)
    raters = sorted(key for key in entry if re.fullmatch(r"relevance_ann\w+", key))
    columns = {"relevance_adju": gold, **{rater: entry[rater] for rater in raters}}
    for name, column in columns.items():
        if len(column) != len(candidates):
            reason = f"query {paper_id}: {name} has {len(column)} ratings for {len(candidates)} cands"
            raise DataError(path, None, reason)
    seen: set[str] = set()
    for position, candidate in enumerate(map(str, candidates)):
        if candidate in seen:
            raise DataError(path, None, f"query {paper_id}: candidate {candidate} is listed twice")
        seen.add(candidate)
        for name, column in columns.items():
            rating, missing = column[position], "" if column is gold else "-1 (missing), "
            if type(rating) is not int or not (-1 if missing else 0) <= rating <= 3:
                where = f"query {paper_id}, candidate {candidate}, {name}"
                raise DataError(path, None, f"{where}: rating {rating!r} is not {missing}0, 1, 2 or 3")
        raw = tuple((rater.removeprefix("relevance_"), columns[rater][position]) for rater in raters)
        yield Judgement(candidate, gold[position], raw, sources.get(candidate, ()))


def _pool_sources(path: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    if not path.is_file():
        return {}
    pools: dict[str, dict[str, tuple[str, ...]]] = {}
    for paper_id, entry in read_object(path).items():
        candidates, sources = field(entry, "cands", list, path, None), field(entry, "cand_source", list, path, None)
        if len(candidates) != len(sources):
            raise DataError(path, None, f"query {paper_id}: cands and cand_source differ in length")
        pools[paper_id] = {c: tuple(s) for c, s in zip(candidates, sources, strict=True)}
    return pools


def _splits(path: Path, known: set[Query]) -> dict[str, dict[str, tuple[Query, ...]]]:
    splits: dict[str, dict[str, tuple[Query, ...]]] = {}
    for task, folds in read_object(path).items():
        if task not in TASKS:
            continue
        splits[task] = {}
        for fold in FOLDS:
            queries = tuple(_query_of(name, path) for name in field(folds, fold, list, path, None))
            if len(set(queries)) < len(queries):
                raise DataError(path, None, f"{task}/{fold} names a query twice", "Name every query once")
            if not queries:
                raise DataError(path, None, f"{task}/{fold} is empty", "A fold needs at least one query")
            foreign = [query.query_id for query in queries if task not in ("all", query.facet)]
            if foreign:
                raise DataError(path, None, f"{task}/{fold} names {foreign[0]}, a query of another facet")
            unknown = [query.query_id for query in queries if query not in known]
            if unknown:
                raise DataError(path, None, f"{task}/{fold} names {unknown[0]}, which is rated nowhere")
            splits[task][fold] = queries
    missing = [task for task in TASKS if task not in splits]
    if missing:
        raise DataError(path, None, f"no split for {', '.join(missing)}")
    return splits


def _query_of(name: Any, path: Path) -> Query:
    paper_id, _, facet = str(name).rpartition("_")
    if not paper_id or facet not in FACETS:
        raise DataError(path, None, f"{name!r} is not <paper id>_<facet>")
    return Query(paper_id, facet)


def _query_info(path: Path, known: set[Query]) -> dict[Query, QueryInfo]:
    if not path.is_file():
        return {}
    info = {}
    for line, row in read_csv(path, ("pid", "facet", "year", "title")):
        query = Query(row["pid"], row["facet"])
        if query not in known:
            raise DataError(path, line, f"{query.query_id} is rated nowhere")
        info[query] = QueryInfo(whole(row["year"], "year", path, line), row["title"])
    return info


def _oracle(path: Path, judgements: dict[Query, tuple[Judgement, ...]]) -> dict[Query, dict[str, float]]:
    truth = {_query_of(name, path): {c: float(v) for c, v in row.items()} for name, row in read_object(path).items()}
    for query, rated in judgements.items():
        if any(j.candidate not in truth.get(query, {}) for j in rated):
            raise DataError(path, None, f"query {query.query_id} lacks the oracle relevance of a candidate")
    return truth


def _papers_from_jsonl(path: Path) -> dict[str, Paper]:
    papers: dict[str, Paper] = {}
    for paper_id, row in by_id(path, "paper_id"):
        sentences, labels = row.value("abstract", list), row.value("pred_labels", list)
        if len(sentences) != len(labels):
            raise row.wrong(f"paper {paper_id}: {len(sentences)} sentences but {len(labels)} labels")
        for label in labels:
            _check_label(label, row)
        year = (row.get("metadata") or {}).get("year")
        papers[paper_id] = _paper(paper_id, row.value("title"), year, sentences, labels)
    return papers


def _check_label(label: str, row: Line) -> None:
    if label not in SENTENCE_LABELS:
        raise row.wrong(f"label {label!r} is not one of {', '.join(SENTENCE_LABELS)}")


def _paper(paper_id: str, title: str, year: int | None, sentences: list[str], labels: list[str]) -> Paper:
    return Paper(paper_id, title, " ".join(sentences), year, tuple(sentences), tuple(labels))


_HEAD = re.compile(r"paper_id: (?P<id>\S+); YEAR: (?P<year>\d+|None)")
_SENTENCE = re.compile(r"(?P<label>[a-z]+_label): (?P<text>.*)")


def _papers_from_readable(folder: Path) -> dict[str, Paper]:
    """Read every paper of the 50 annotation files; a paper that occurs in several must be the same in all."""
    if not folder.is_dir():
        reason = f"neither {ABSTRACTS} nor {READABLE}/ is there"
        raise DataError(folder.parent, None, reason, "Run `scirep data get csfcube`")
    papers: dict[str, Paper] = {}
    for path in sorted(folder.glob("*.txt")):
        for line, paper in _readable_blocks(path):
            if papers.setdefault(paper.paper_id, paper) != paper:
                raise DataError(path, line, f"paper {paper.paper_id} differs from its text in an earlier file")
    return papers


def _readable_blocks(path: Path) -> Iterator[tuple[int, Paper]]:
    """Yield (line, paper) of one readable file: blocks that open with a rule of `=` and a `paper_id:` line."""
    start, paper_id, title = 0, "", None
    year: int | None = None
    sentences: list[str] = []
    labels: list[str] = []
    for number, raw in raw_lines(path):
        line = raw.decode("utf-8")
        if line.startswith("====="):
            continue
        if head := _HEAD.fullmatch(line):
            if paper_id:
                yield start, _paper(paper_id, title or "", year, sentences, labels)
            start, paper_id, title, sentences, labels = number, head["id"], None, [], []
            year = None if head["year"] == "None" else whole(head["year"], "year", path, number)
            continue
        if line.startswith("TITLE: ") and title is None:
            title = line.removeprefix("TITLE: ")
            continue
        sentence = _SENTENCE.fullmatch(line.removeprefix("ABSTRACT: "))
        if sentence and paper_id and title is not None:
            _check_label(sentence["label"], Line({}, path, number))
            sentences.append(sentence["text"])
            labels.append(sentence["label"])
        elif line.strip() and not line.startswith(("adju relevance: ", "difference: ", "sources: ")):
            remedy = "Fetch the file again: `scirep data get csfcube`"
            raise DataError(path, number, f"unexpected line {line[:60]!r}", remedy)
    if paper_id:
        yield start, _paper(paper_id, title or "", year, sentences, labels)
