"""The small real samples as tasks: what can be scored on real text without a large download.

    sample/fos  sample/mesh_descriptors  sample/same_author  sample/search  sample/cite_prediction
        SciRepEval's own training samples (Singh et al. 2023; its repository, training/sample_data)
    sample/drsm                          DRSM's expert labels, of which SciRepEval's DRSM task was made
    sample/peer_review_score  sample/cite_count  sample/pub_year
        ICLR submissions with review scores, machine learning papers with years and citation counts: the targets of
        SciRepEval's regression tasks (A.4), on other papers
    sample/acl_anth  sample/iclr         short-query retrieval (Singh and Singh 2022, Table 2), in part
    sample/scifact                       claim search (SciMult section 4.4) over the abstracts at hand
    sample/s2and                         the test block of S2AND's repository

None is a published task: a number on a sample compares with no table. Where the source has no split there is one of
our own, the same on every machine and for every order of the file:

    a paper trains if the first 8 hexadecimal digits of SHA-256("<task>\\n<paper id>"), as a number modulo 10, are < 6

What is left out (papers without a class, without a score) is counted in `Task.notes`. Session and user numbers of
search sessions are never read. `mesh_terms` reads the names of MeSH, a real label space.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.data.inventory import TASKS, TaskSpec
from scirep_core.data.readers import beir, neighbours, s2and
from scirep_core.data.rows import classes
from scirep_core.data.tables import Found, Lines, as_task, counted, id_of, json_lines, text_of, to_id, tsv
from scirep_core.data.task import (  # fmt: skip
    Collection,
    Example,
    Judged,
    Label,
    Labelled,
    Pooled,
    Qrel,
    Signatures,
    Task,
    Triple,
    Triples,
)
from scirep_core.kit.errors import ConfigError, DataError, nearest
from scirep_core.kit.records import Paper, field, read_csv, read_json
from scirep_core.kit.store import sha256_bytes

TRAIN_TENTHS = 6
_HIGHEST = 10.0  # of a review score
_ALONE = "a sample: comparable with no published number"

FolderOf = Callable[[str], Path]
"""Collection -> the folder with its files: `manifests.fetch`, or a place of one's own."""


class Sample(NamedTuple):
    """A row of `SAMPLES`: collection with the files, the task of the inventory it is like, how to read it, what it is."""

    manifest: str
    like: str
    read: Callable[[str, TaskSpec, Path], Found]
    about: str


def read_sample(name: str, folder_of: FolderOf) -> Task:
    """Return a sample as a task.

    Args:
        name: one of `SAMPLES`, such as "sample/fos".
        folder_of: gives the folder of a collection; `scirep_core.data.manifests.fetch` does.

    Raises ConfigError for another name, DataError with file and line for whatever is malformed.
    """
    if name not in SAMPLES:
        raise ConfigError(f"unknown sample {name!r}; {nearest(name, SAMPLES)}")
    sample = SAMPLES[name]
    spec, folder = TASKS[sample.like]._replace(relation=""), folder_of(sample.manifest)
    found = sample.read(name, spec, folder)
    return as_task(spec, name, folder, "real", found._replace(notes=(_ALONE, *found.notes)))


def in_train(name: str, paper_id: str) -> bool:
    """Return whether a paper trains (60 of 100) or tests.

    >>> sum(in_train("sample/fos", str(i)) for i in range(10_000))
    5968
    """
    return int(sha256_bytes(f"{name}\n{paper_id}".encode())[:8], 16) % 10 < TRAIN_TENTHS


# --- SciRepEval's training samples ------------------------------------------------------------------------------------


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (item from 1, row) of a JSON list of objects."""
    value = read_json(path)
    if not isinstance(value, list) or not value:
        raise DataError(path, None, "expected a JSON list with rows", "Fetch the file again")
    for item, row in enumerate(value, start=1):
        if not isinstance(row, dict):
            raise DataError(path, item, f"expected an object, found {type(row).__name__}")
        yield item, row


def _names(path: Path) -> tuple[str, ...]:
    """Return the class names of a label file, one a line."""
    try:
        names = path.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, None, f"cannot be read ({type(error).__name__})", "Fetch the file again") from None
    names = names[:-1] if names and not names[-1] else names
    for line, name in enumerate(names, start=1):
        if not name.strip() or name in names[: line - 1]:
            raise DataError(path, line, f"class name {name!r:.60} is empty or there twice")
    return tuple(names)


def _paper(row: dict[str, Any], key: str, path: Path, line: int) -> Paper:
    return Paper(id_of(row, key, path, line), text_of(row, "title", path, line), text_of(row, "abstract", path, line))


def _labelled(
    name: str, spec: TaskSpec, path: Path, rows: Iterable[tuple[int, Paper, Label | None]], names: tuple[str, ...] = ()
) -> tuple[Labelled, list[Paper], int]:
    """Return papers split by hash, the papers, and how many without a label were left out.

    There are no few-shot settings, for which these splits are too small.
    """
    lines, papers = Lines(), list[Paper]()
    splits: dict[str, list[Example]] = {"train": [], "test": []}
    for line, paper, label in rows:
        lines.add(paper.paper_id, path, line, "paper")
        if label is not None:
            papers.append(paper)
            splits["train" if in_train(name, paper.paper_id) else "test"].append(Example(paper.paper_id, label))
    payload = Labelled({split: tuple(found) for split, found in splits.items()}, spec.multi_label, (), names)
    return payload, papers, len(lines) - len(papers)


def _fos(name: str, spec: TaskSpec, folder: Path) -> Found:
    path, names = folder / "fos_small.json", _names(folder / "fos_labels.txt")

    def rows() -> Iterator[tuple[int, Paper, Label]]:
        for item, row in _rows(path):
            labels, texts = field(row, "labels", list, path, item), field(row, "labels_text", list, path, item)
            if not labels or not all(type(x) is int and 0 <= x < len(names) for x in labels):
                raise DataError(path, item, f"labels {labels!r:.60} are not numbers from 0 to {len(names) - 1}")
            if [names[x] for x in labels] != texts:
                raise DataError(path, item, f"labels {labels!r:.60} are not those named, {texts!r:.80}")
            yield item, _paper(row, "corpus_id", path, item), tuple(int(x in labels) for x in range(len(names)))

    payload, papers, _ = _labelled(name, spec, path, rows(), names)
    trained = {x for example in payload.splits["train"] for x in classes(example.label)}
    notes = (
        "split 60/40 by hash",
        counted(sum(not paper.abstract for paper in papers), "papers without an abstract"),
        counted(len(names) - len(trained), "of the fields never trained"),
    )
    return Found(payload, lambda: papers, (path, folder / "fos_labels.txt"), notes)


def _mesh(name: str, spec: TaskSpec, folder: Path) -> Found:
    path, names = folder / "mesh_small.json", _names(folder / "mesh_descriptors.txt")

    def rows() -> Iterator[tuple[int, Paper, Label]]:
        for item, row in _rows(path):
            descriptor = field(row, "descriptor", str, path, item)
            if descriptor not in names:
                raise DataError(path, item, f"descriptor {descriptor!r:.60} is unknown", nearest(descriptor, names))
            yield item, _paper(row, "corpus_id", path, item), names.index(descriptor)

    payload, papers, _ = _labelled(name, spec, path, rows(), names)
    notes = ("split 60/40 by hash", _unseen(payload, "descriptors"))
    return Found(payload, lambda: papers, (path, folder / "mesh_descriptors.txt"), notes)


def _unseen(payload: Labelled, what: str) -> str:
    trained = {example.label for example in payload.splits["train"]}
    return counted(
        len({e.label for e in payload.splits["test"]} - trained), f"of the {what} in the test split never trained"
    )


def _candidates(row: dict[str, Any], path: Path, item: int) -> Iterator[tuple[dict[str, Any], int]]:
    rows = field(row, "candidates", list, path, item)
    if not rows or not all(isinstance(one, dict) for one in rows):
        raise DataError(path, item, "candidates must be a list of objects, not empty")
    for one in rows:
        score = field(one, "score", int, path, item)
        if score < 0:
            raise DataError(path, item, f"score {score} is below 0")
        yield one, score


def _gather(papers: dict[str, Paper], paper: Paper, path: Path, item: int) -> None:
    if papers.setdefault(paper.paper_id, paper) != paper:
        raise DataError(path, item, f"paper {paper.paper_id} has another text further up")


def _same_author(name: str, spec: TaskSpec, folder: Path) -> Found:
    path = folder / "s2and_small.json"
    rows, papers, lines = [], dict[str, Paper](), Lines()
    for item, row in _rows(path):
        query = _paper(field(row, "query", dict, path, item), "corpus_id", path, item)
        lines.add(query.paper_id, path, item, "query")
        _gather(papers, query, path, item)
        for one, score in _candidates(row, path, item):
            paper = _paper(one, "corpus_id", path, item)
            _gather(papers, paper, path, item)
            rows.append(Qrel(query.paper_id, paper.paper_id, score))
    return Found(Judged(tuple(rows)), papers.values, (path,), ("training queries, used for testing",))


def _search(name: str, spec: TaskSpec, folder: Path) -> Found:
    """Of a session only query, candidates and clicks are read: `session_id` and `user_id` go nowhere."""
    path = folder / "search_small.jsonl"
    rows, papers, queries = [], dict[str, Paper](), dict[str, str]()
    for line, row in json_lines(path):
        key, text = f"query-{line}", field(row, "query", str, path, line)
        if not text.strip():
            raise DataError(path, line, "the query is empty")
        queries[key] = text
        for one, score in _candidates(row, path, line):
            paper = _paper(one, "corpus_id", path, line)
            year, venue = field(one, "year", (float, int, str), path, line), text_of(one, "venue", path, line)
            if isinstance(year, str) and year:
                raise DataError(path, line, f"year {year!r:.40} is no number")
            paper = paper._replace(year=int(year) if year else None, venue=venue)  # "" and 0 stand for unknown
            _gather(papers, paper, path, line)
            rows.append(Qrel(key, paper.paper_id, score))
    notes = ("training queries, used for testing; grades are clicks",)
    return Found(
        Judged(tuple(rows), True), papers.values, (path,), notes, queries, fields=("title", "abstract", "venue", "year")
    )


def _cite_prediction(name: str, spec: TaskSpec, folder: Path) -> Found:
    path = folder / "specter_small.json"
    triples, papers, bare = [], dict[str, Paper](), 0
    for item, row in _rows(path):
        ids = []
        for part in ("query", "pos", "neg"):
            paper = _paper(field(row, part, dict, path, item), "sha", path, item)
            bare += not paper.abstract
            _gather(papers, paper, path, item)
            ids.append(paper.paper_id)
        triples.append(Triple(*ids))

    def rows(split: str) -> Iterator[Triple]:
        if split != "train":
            raise ConfigError(f"{name} has no split {split!r}; Valid: train")
        return iter(triples)

    notes = (counted(bare, "of the texts are titles without an abstract"),)
    return Found(Triples(rows), papers.values, (path,), notes)


# --- DRSM, reviews, years, citations ----------------------------------------------------------------------------------

_DRSM = ("ID_PAPER", "TITLE", "ABSTRACT", "PRIMARY_CATEGORY")


def _drsm(name: str, spec: TaskSpec, folder: Path) -> Found:
    """PRIMARY_CATEGORY by name; the number of a class is its place among the sorted names."""
    path = folder / "initial_gold_standard_data_2022_01_03.tsv"
    table = [*read_csv(path, _DRSM, "\t")]
    sizes = Counter(row["PRIMARY_CATEGORY"] for _, row in table if row["PRIMARY_CATEGORY"].strip())
    names = tuple(sorted(sizes))
    rows = (
        (line, Paper(to_id(row["ID_PAPER"], path, line), row["TITLE"], row["ABSTRACT"]),
         names.index(row["PRIMARY_CATEGORY"]) if row["PRIMARY_CATEGORY"] in sizes else None)
        for line, row in table
    )  # fmt: skip
    payload, papers, left_out = _labelled(name, spec, path, rows, names)
    rare = sum(count < 10 for count in sizes.values())
    notes = ("split 60/40 by hash", counted(left_out, "papers without a category left out"),
             counted(rare, "classes have fewer than ten papers; all are kept"), _unseen(payload, "classes"))  # fmt: skip
    return Found(payload, lambda: papers, (path,), notes)


def _regression(
    target: Callable[[dict[str, Any], Path, int], float | None], file: str, missing: str, what: str
) -> Callable[[str, TaskSpec, Path], Found]:
    """Return a reader of a regression sample: `target` gives None for a paper without one."""

    def read(name: str, spec: TaskSpec, folder: Path) -> Found:
        path = folder / file
        # title and abstract alone: year or venue beside them would give the target away
        rows = ((line, neighbours.paper_of(row, path, line)._replace(year=None, venue=""), target(row, path, line))
                for line, row in json_lines(path))  # fmt: skip
        payload, papers, left_out = _labelled(name, spec, path, rows)
        notes = (what, "split 60/40 by hash", counted(left_out, missing))
        return Found(payload, lambda: papers, (path,), notes)

    return read


def _rating(row: dict[str, Any], path: Path, line: int) -> float | None:
    value: float | None = field(row, "rating_avg", (int, float, type(None)), path, line)
    if value is not None and not 1 <= value <= _HIGHEST:
        raise DataError(path, line, f"rating_avg {value} is outside 1-10")
    return None if value is None else float(value)


def _citations(row: dict[str, Any], path: Path, line: int) -> float | None:
    count: int = field(row, "gs_citation", int, path, line)
    if count < -1:
        raise DataError(path, line, f"gs_citation {count} is below -1", "-1 stands for unknown")
    return None if count == -1 else math.log1p(count)


def _year(row: dict[str, Any], path: Path, line: int) -> float | None:
    return float(field(row, "year", int, path, line))


# --- plain collections, claims, author names --------------------------------------------------------------------------


def _collection(file: str) -> Callable[[str, TaskSpec, Path], Found]:
    def read(name: str, spec: TaskSpec, folder: Path) -> Found:
        path = folder / file
        lines = Lines()
        for line, paper in neighbours.numbered(path):
            lines.add(paper.paper_id, path, line, "paper")
        papers = spec.expect["papers"]
        notes = (f"{len(lines):,} papers; the published collection has {papers:,}",)
        return Found(Collection(tuple(lines)), lambda: neighbours.papers(path), (path,), notes, similarity="cosine")

    return read


def _scifact(name: str, spec: TaskSpec, folder: Path) -> Found:
    """The claims all of whose relevant documents are at hand, among the abstracts at hand, which have no titles."""
    corpus, asked = folder / "abstracts_subset.jsonl", folder / "beir_queries.jsonl"
    judgements = tuple(folder / f"beir_qrels_{split}.tsv" for split in ("train", "test"))
    texts, (relevant, places) = beir.read_queries(asked), beir.judged(judgements)
    for (query, _), (path, line) in places.items():
        if query not in texts:
            raise DataError(path, line, f"query {query} is not in {asked.name}", "Fetch both files of one version")
    pool = tuple(paper.paper_id for paper in _abstracts(corpus))
    there = set(pool)
    claims = {query: grades for query, grades in relevant.items() if grades.keys() <= there}
    if not claims:
        raise DataError(corpus, None, "no claim has all its documents here", "Fetch the files of one version")
    left_out = counted(len(relevant) - len(claims), "claims with a relevant abstract that is not here left out")
    return Found(
        Pooled(claims, pool, text_query=True), lambda: _abstracts(corpus), (corpus, asked, *judgements),
        ("a subset: titles are missing", left_out), {query: texts[query] for query in claims}, "dot",
    )  # fmt: skip


def _abstracts(path: Path) -> Iterator[Paper]:
    lines = Lines()
    for line, row in json_lines(path):
        key, text = id_of(row, "doc_id", path, line), field(row, "text", str, path, line)
        lines.add(key, path, line, "document")
        yield Paper(key, "", text)


def mesh_terms(path: Path) -> dict[str, str]:
    """Return MeSH id -> name of `terms.tsv`, 27,455 descriptors without definitions.

    Raises DataError for a short row, an id twice, an empty name.
    """
    lines, terms = Lines(), {}
    for line, row in tsv(path, ("mesh_id", "mesh_name")):
        key = to_id(row["mesh_id"], path, line)
        lines.add(key, path, line, "descriptor")
        if not row["mesh_name"].strip():
            raise DataError(path, line, f"descriptor {key} has no name")
        terms[key] = row["mesh_name"]
    return terms


def _s2and(name: str, spec: TaskSpec, folder: Path) -> Found:
    block = folder / "dummy"
    files = [block / f"{part}.json" for part in ("signatures", "clusters", "papers")]
    rows = s2and.read_signatures(block, "dummy")
    bylines = s2and.read_bylines(rows, files[0], files[2])
    unknown = counted(sum(not row.cluster for row in rows), "mentions belong to no known person: not scored")
    notes = ("the repository's test block: for trying, not for measuring", unknown)
    payload = Signatures(tuple(rows), bylines)
    return Found(payload, lambda: s2and.read_texts([files[2]], frozenset(bylines)), files, notes)


_REVIEWS, _YEARS = "iclr_reviews.jsonl.gz", "ml_year_citations.jsonl.gz"
SAMPLES: dict[str, Sample] = {
    "sample/fos": Sample("scirepeval_sample", "scirepeval/fos", _fos, "fields of study of 205 papers, multi-label"),
    "sample/mesh_descriptors": Sample(
        "scirepeval_sample", "scirepeval/mesh_descriptors", _mesh, "one of 30 MeSH descriptors of 206 papers"),
    "sample/same_author": Sample(
        "scirepeval_sample", "scirepeval/same_author", _same_author, "40 papers, each with 6 to 10 candidates"),
    "sample/search": Sample(
        "scirepeval_sample", "scirepeval/search", _search, "100 searches with 10 results each and their clicks"),
    "sample/cite_prediction": Sample(
        "scirepeval_sample", "scirepeval/cite_prediction", _cite_prediction, "200 citation triplets"),
    "sample/drsm": Sample("drsm", "scirepeval/drsm", _drsm, "category of 1,027 papers on rare diseases, by experts"),
    "sample/peer_review_score": Sample(
        "neighbours_sample", "scirepeval/peer_review_score",
        _regression(_rating, _REVIEWS, "submissions without a score left out", "mean review score, 1-10"),
        "mean review score of 3,501 ICLR submissions"),
    "sample/cite_count": Sample(
        "neighbours_sample", "scirepeval/cite_count",
        _regression(_citations, _YEARS, "papers with unknown citation count left out", "target: ln(1 + citations)"),
        "citations of 9,682 machine learning papers"),
    "sample/pub_year": Sample(
        "neighbours_sample", "scirepeval/pub_year", _regression(_year, _YEARS, "", "target: the year"),
        "year of 9,726 machine learning papers"),
    "sample/acl_anth": Sample(
        "neighbours_sample", "neighbours/acl_anth", _collection("acl_anth.jsonl.gz"), "9,639 papers of the ACL Anthology"),
    "sample/iclr": Sample("neighbours_sample", "neighbours/iclr", _collection(_REVIEWS), "3,519 ICLR submissions"),
    "sample/scifact": Sample("scifact_sample", "scimult/scifact", _scifact, "265 claims against 2,101 abstracts"),
    "sample/s2and": Sample("s2and_sample", "scirepeval/s2and", _s2and, "9 author mentions of 3 people and some unknown"),
}  # fmt: skip
"""The real samples by name."""
