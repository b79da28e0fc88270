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
search sessions are never read. `mesh_terms` reads the names of MeSH, a real label space. The manifests pin every file by its
SHA-256, so nothing is checked here a second time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.data import manifests
from scirep_core.data.inventory import TASKS, TaskSpec
from scirep_core.data.readers import beir, neighbours, s2and
from scirep_core.data.rows import classes
from scirep_core.data.tables import Found, counted, json_lines
from scirep_core.data.task import (  # fmt: skip
    Collection,
    Example,
    Judged,
    Label,
    Labelled,
    Pooled,
    Qrel,
    Signatures,
    Triple,
    Triples,
)
from scirep_core.kit.errors import ConfigError, look_up
from scirep_core.kit.records import Paper, read_csv, read_json
from scirep_core.kit.store import sha256_bytes

TRAIN_TENTHS = 6
_ALONE = "a sample: comparable with no published number"
Row = Mapping[str, Any]


class Sample(NamedTuple):
    """A row of `SAMPLES`: collection with the files, the task of the inventory it is like, how to read it, what it is."""

    manifest: str
    like: str
    read: Callable[[str, TaskSpec, Path], Found]
    about: str


def read(name: str) -> tuple[TaskSpec, Path, Found]:
    """Return a sample as the row of its task, its folder and what was found there; its files are fetched if need be.

    Args:
        name: one of `SAMPLES`, such as "sample/fos".

    Raises ConfigError for another name, and what `manifests.fetch` raises.
    """
    sample = look_up("sample", name, SAMPLES)
    spec, folder = TASKS[sample.like]._replace(relation=""), manifests.fetch(sample.manifest)
    found = sample.read(name, spec, folder)
    return spec, folder, found._replace(notes=(_ALONE, *found.notes))


def in_train(name: str, paper_id: str) -> bool:
    """Return whether a paper trains (60 of 100) or tests.

    >>> sum(in_train("sample/fos", str(i)) for i in range(10_000))
    5968
    """
    return int(sha256_bytes(f"{name}\n{paper_id}".encode())[:8], 16) % 10 < TRAIN_TENTHS


# --- SciRepEval's training samples ------------------------------------------------------------------------------------


def _paper(row: Row, key: str = "corpus_id") -> Paper:
    return Paper(str(row[key]), row["title"] or "", row["abstract"] or "")


def _labelled(
    name: str, spec: TaskSpec, rows: Iterable[tuple[Paper, Label | None]], names: tuple[str, ...] = ()
) -> tuple[Labelled, list[Paper], int]:
    """Return papers split by hash, the papers, and how many without a label were left out.

    There are no few-shot settings, for which these splits are too small.
    """
    papers, left_out = list[Paper](), 0
    splits: dict[str, list[Example]] = {"train": [], "test": []}
    for paper, label in rows:
        if label is None:
            left_out += 1
            continue
        papers.append(paper)
        splits["train" if in_train(name, paper.paper_id) else "test"].append(Example(paper.paper_id, label))
    payload = Labelled({split: tuple(found) for split, found in splits.items()}, spec.multi_label, (), names)
    return payload, papers, left_out


def _fos(name: str, spec: TaskSpec, folder: Path) -> Found:
    path, listed = folder / "fos_small.json", folder / "fos_labels.txt"
    names = tuple(listed.read_text(encoding="utf-8").splitlines())
    rows = ((_paper(row), tuple(int(x in row["labels"]) for x in range(len(names)))) for row in read_json(path))
    payload, papers, _ = _labelled(name, spec, rows, names)
    trained = {x for example in payload.splits["train"] for x in classes(example.label)}
    notes = (
        "split 60/40 by hash",
        counted(sum(not paper.abstract for paper in papers), "papers without an abstract"),
        counted(len(names) - len(trained), "of the fields never trained"),
    )
    return Found(payload, lambda: papers, (path, listed), notes)


def _mesh(name: str, spec: TaskSpec, folder: Path) -> Found:
    path, listed = folder / "mesh_small.json", folder / "mesh_descriptors.txt"
    names = tuple(listed.read_text(encoding="utf-8").splitlines())
    rows = ((_paper(row), names.index(row["descriptor"])) for row in read_json(path))
    payload, papers, _ = _labelled(name, spec, rows, names)
    return Found(payload, lambda: papers, (path, listed), ("split 60/40 by hash", _unseen(payload, "descriptors")))


def _unseen(payload: Labelled, what: str) -> str:
    trained = {example.label for example in payload.splits["train"]}
    return counted(
        len({e.label for e in payload.splits["test"]} - trained), f"of the {what} in the test split never trained"
    )


def _same_author(name: str, spec: TaskSpec, folder: Path) -> Found:
    path = folder / "s2and_small.json"
    rows, papers = [], dict[str, Paper]()
    for row in read_json(path):
        query = _paper(row["query"])
        papers.setdefault(query.paper_id, query)
        for one in row["candidates"]:
            paper = _paper(one)
            papers.setdefault(paper.paper_id, paper)
            rows.append(Qrel(query.paper_id, paper.paper_id, one["score"]))
    return Found(Judged(tuple(rows)), papers.values, (path,), ("training queries, used for testing",))


def _search(name: str, spec: TaskSpec, folder: Path) -> Found:
    """Of a session only query, candidates and clicks are read: `session_id` and `user_id` go nowhere."""
    path = folder / "search_small.jsonl"
    rows, papers, queries = [], dict[str, Paper](), dict[str, str]()
    for line, row in json_lines(path):
        queries[f"query-{line}"] = row["query"]
        for one in row["candidates"]:
            year = int(one["year"]) if one["year"] else None  # "" and 0 stand for unknown
            paper = _paper(one)._replace(year=year, venue=one["venue"] or "")
            papers.setdefault(paper.paper_id, paper)
            rows.append(Qrel(f"query-{line}", paper.paper_id, one["score"]))
    notes = ("training queries, used for testing; grades are clicks",)
    return Found(
        Judged(tuple(rows), True), papers.values, (path,), notes, queries, fields=("title", "abstract", "venue", "year")
    )


def _cite_prediction(name: str, spec: TaskSpec, folder: Path) -> Found:
    path = folder / "specter_small.json"
    of_rows = [[_paper(row[part], "sha") for part in ("query", "pos", "neg")] for row in read_json(path)]
    papers = {paper.paper_id: paper for triple in of_rows for paper in triple}

    def rows(split: str) -> Iterator[Triple]:
        if split != "train":
            raise ConfigError(f"{name} has no split {split!r}; Valid: train")
        return (Triple(*(paper.paper_id for paper in triple)) for triple in of_rows)

    bare = sum(not paper.abstract for triple in of_rows for paper in triple)
    notes = (counted(bare, "of the texts are titles without an abstract"),)
    return Found(Triples(rows), papers.values, (path,), notes)


# --- DRSM, reviews, years, citations ----------------------------------------------------------------------------------


def _drsm(name: str, spec: TaskSpec, folder: Path) -> Found:
    """PRIMARY_CATEGORY by name; the number of a class is its place among the sorted names."""
    path = folder / "initial_gold_standard_data_2022_01_03.tsv"
    table = [row for _, row in read_csv(path, delimiter="\t")]
    sizes = Counter(row["PRIMARY_CATEGORY"] for row in table if row["PRIMARY_CATEGORY"].strip())
    names = tuple(sorted(sizes))
    rows = (
        (Paper(row["ID_PAPER"], row["TITLE"], row["ABSTRACT"]),
         names.index(row["PRIMARY_CATEGORY"]) if row["PRIMARY_CATEGORY"] in sizes else None)
        for row in table
    )  # fmt: skip
    payload, papers, left_out = _labelled(name, spec, rows, names)
    rare = sum(count < 10 for count in sizes.values())
    notes = ("split 60/40 by hash", counted(left_out, "papers without a category left out"),
             counted(rare, "classes have fewer than ten papers; all are kept"), _unseen(payload, "classes"))  # fmt: skip
    return Found(payload, lambda: papers, (path,), notes)


def _regression(
    target: Callable[[Row], float | None], file: str, missing: str, what: str
) -> Callable[[str, TaskSpec, Path], Found]:
    """Return a reader of a regression sample: `target` gives None for a paper without one."""

    def read(name: str, spec: TaskSpec, folder: Path) -> Found:
        path = folder / file
        # title and abstract alone: year or venue beside them would give the target away
        rows = ((_paper(row, "paper_id"), target(row)) for _, row in json_lines(path))
        payload, papers, left_out = _labelled(name, spec, rows)
        notes = (what, "split 60/40 by hash", counted(left_out, missing))
        return Found(payload, lambda: papers, (path,), notes)

    return read


# --- plain collections, claims, author names --------------------------------------------------------------------------


def _collection(file: str) -> Callable[[str, TaskSpec, Path], Found]:
    def read(name: str, spec: TaskSpec, folder: Path) -> Found:
        path = folder / file
        ids = tuple(paper.paper_id for paper in neighbours.papers(path))
        notes = (f"{len(ids):,} papers; the published collection has {spec.expect['papers']:,}",)
        return Found(Collection(ids), lambda: neighbours.papers(path), (path,), notes, similarity="cosine")

    return read


def _scifact(name: str, spec: TaskSpec, folder: Path) -> Found:
    """The claims all of whose relevant documents are at hand, among the abstracts at hand, which have no titles."""
    corpus, asked = folder / "abstracts_subset.jsonl", folder / "beir_queries.jsonl"
    judgements = tuple(folder / f"beir_qrels_{split}.tsv" for split in ("train", "test"))
    texts, (relevant, _) = beir.read_queries(asked), beir.judged(judgements)
    papers = [Paper(str(row["doc_id"]), "", row["text"]) for _, row in json_lines(corpus)]
    pool = tuple(paper.paper_id for paper in papers)
    claims = {query: grades for query, grades in relevant.items() if grades.keys() <= set(pool)}
    left_out = counted(len(relevant) - len(claims), "claims with a relevant abstract that is not here left out")
    return Found(
        Pooled(claims, pool, text_query=True), lambda: papers, (corpus, asked, *judgements),
        ("a subset: titles are missing", left_out), {query: texts[query] for query in claims}, "dot",
    )  # fmt: skip


def mesh_terms(path: Path) -> dict[str, str]:
    """Return MeSH id -> name of `terms.tsv`, 27,455 descriptors without definitions."""
    return {row["mesh_id"]: row["mesh_name"] for _, row in read_csv(path, ("mesh_id", "mesh_name"), "\t")}


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
        _regression(lambda row: None if row["rating_avg"] is None else float(row["rating_avg"]), _REVIEWS,
                    "submissions without a score left out", "mean review score, 1-10"),
        "mean review score of 3,501 ICLR submissions"),
    "sample/cite_count": Sample(
        "neighbours_sample", "scirepeval/cite_count",
        _regression(lambda row: None if row["gs_citation"] == -1 else math.log1p(row["gs_citation"]), _YEARS,
                    "papers with unknown citation count left out", "target: ln(1 + citations)"),
        "citations of 9,682 machine learning papers"),
    "sample/pub_year": Sample(
        "neighbours_sample", "scirepeval/pub_year", _regression(lambda row: float(row["year"]), _YEARS, "", "target: the year"),
        "year of 9,726 machine learning papers"),
    "sample/acl_anth": Sample(
        "neighbours_sample", "neighbours/acl_anth", _collection("acl_anth.jsonl.gz"), "9,639 papers of the ACL Anthology"),
    "sample/iclr": Sample("neighbours_sample", "neighbours/iclr", _collection(_REVIEWS), "3,519 ICLR submissions"),
    "sample/scifact": Sample("scifact_sample", "scimult/scifact", _scifact, "265 claims against 2,101 abstracts"),
    "sample/s2and": Sample("s2and_sample", "scirepeval/s2and", _s2and, "9 author mentions of 3 people and some unknown"),
}  # fmt: skip
"""The real samples by name."""
