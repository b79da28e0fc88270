"""The small real samples as tasks: what can be scored on real text without a large download.

SciRepEval's own training samples (Singh et al. 2023; training/sample_data), the expert labels of which its DRSM was made, the
targets of its regression (A.4) on other papers, and parts of collections: `SAMPLES` says which is which. None is a published
task: a number on a sample compares with no table. Where the source has no split there is one of our own, the same on every
machine and for every order of the file:

    a paper trains if the first 8 hexadecimal digits of SHA-256("<task>\\n<paper id>"), as a number modulo 10, are < 6

What is left out (papers without a class, without a score) is counted in `Task.notes`. Session and user numbers of
search sessions are never read. `mesh_terms` reads the names of MeSH, a real label space. The manifests pin every file by its
SHA-256, so nothing is checked here a second time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.data import manifests
from scirep_core.data.inventory import TASKS, TaskSpec
from scirep_core.data.readers import beir, neighbours, s2and, scirepeval
from scirep_core.data.rows import classes, json_lines
from scirep_core.data.tables import Found, counted
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
from scirep_core.kit.errors import look_up
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


def _paper(row: Row, key: str) -> Paper:
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


def _classes(file: str, listed: str, what: str) -> Callable[[str, TaskSpec, Path], Found]:
    """Return a reader of papers with one or several of the classes that a file lists."""

    def read(name: str, spec: TaskSpec, folder: Path) -> Found:
        path = folder / file
        names = tuple((folder / listed).read_text(encoding="utf-8").splitlines())

        def label(target: str | tuple[str, ...] | float) -> Label:
            return tuple(int(one in target) for one in names) if isinstance(target, tuple) else names.index(str(target))

        rows = ((row.paper, label(row.target)) for row in scirepeval.examples((path,), scirepeval.TARGETS[spec.config]))
        payload, papers, _ = _labelled(name, spec, rows, names)
        trained = {x for example in payload.splits["train"] for x in classes(example.label)}
        notes = (
            "split 60/40 by hash",
            counted(sum(not paper.abstract for paper in papers), "papers without an abstract"),
            counted(len(names) - len(trained), f"of the {what} never trained"),
        )
        return Found(payload, lambda: papers, (path, folder / listed), notes)

    return read


def _judged(file: str, note: str) -> Callable[[str, TaskSpec, Path], Found]:
    """Return a reader of queries with candidates. Of a session nothing else is read: `session_id` and `user_id` go nowhere."""

    def read(name: str, spec: TaskSpec, folder: Path) -> Found:
        path = folder / file
        rows, papers, queries = [], dict[str, Paper](), dict[str, str]()
        for number, (query, candidates, scores) in enumerate(scirepeval._ranked((path,), spec.text_query), start=1):
            key = f"query-{number}" if spec.text_query else query.paper_id
            if spec.text_query:
                queries[key] = query.title
            for paper in candidates if spec.text_query else (query, *candidates):
                papers.setdefault(paper.paper_id, paper)
            rows += [Qrel(key, paper.paper_id, score) for paper, score in zip(candidates, scores, strict=True)]
        payload, notes = Judged(tuple(rows), spec.text_query), (f"training queries, used for testing{note}",)
        return Found(payload, papers.values, (path,), notes, queries, fields=scirepeval.fields_of(spec))

    return read


def _cite_prediction(name: str, spec: TaskSpec, folder: Path) -> Found:
    path = folder / "specter_small.json"
    of_rows = [[_paper(row[part], "sha") for part in ("query", "pos", "neg")] for row in read_json(path)]
    papers = {paper.paper_id: paper for triple in of_rows for paper in triple}
    rows = [Triple(*(paper.paper_id for paper in triple)) for triple in of_rows]
    bare = sum(not paper.abstract for triple in of_rows for paper in triple)
    notes = (counted(bare, "of the texts are titles without an abstract"),)
    return Found(Triples.of({"train": lambda: iter(rows)}), papers.values, (path,), notes)


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
    trained, tested = ({example.label for example in payload.splits[split]} for split in ("train", "test"))
    notes = ("split 60/40 by hash", counted(left_out, "papers without a category left out"),
             counted(rare, "classes have fewer than ten papers; all are kept"),
             counted(len(tested - trained), "of the classes in the test split never trained"))  # fmt: skip
    return Found(payload, lambda: papers, (path,), notes)


def _regression(
    target: Callable[[Row], float | None], file: str, missing: str, what: str
) -> Callable[[str, TaskSpec, Path], Found]:
    """Return a reader of a regression sample: `target` gives None for a paper without one."""

    def read(name: str, spec: TaskSpec, folder: Path) -> Found:
        path = folder / file
        # title and abstract alone: year or venue beside them would give the target away
        rows = ((_paper(row, "paper_id"), target(row)) for row in json_lines(path))
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
    papers = [Paper(str(row["doc_id"]), "", row["text"]) for row in json_lines(corpus)]
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
    "sample/fos": Sample(
        "scirepeval_sample", "scirepeval/fos", _classes("fos_small.json", "fos_labels.txt", "fields"),
        "fields of study of 205 papers, multi-label"),
    "sample/mesh_descriptors": Sample(
        "scirepeval_sample", "scirepeval/mesh_descriptors", _classes("mesh_small.json", "mesh_descriptors.txt", "descriptors"),
        "one of 30 MeSH descriptors of 206 papers"),
    "sample/same_author": Sample(
        "scirepeval_sample", "scirepeval/same_author", _judged("s2and_small.json", ""), "40 papers, each with 6 to 10 candidates"),
    "sample/search": Sample(
        "scirepeval_sample", "scirepeval/search", _judged("search_small.jsonl", "; grades are clicks"),
        "100 searches with 10 results each and their clicks"),
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
