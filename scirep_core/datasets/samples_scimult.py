"""Small real samples around SciMult that are no task files: SciFact as released, MeSH names, SPECTER's triplet sample.

    scifact/         claims with evidence (Wadden et al. 2020), part of the abstracts, years and citation counts
    mesh/            27,455 descriptors and their places in the tree: a real label space (names, no definitions)
    specter_sample/  co-citation counts the training triplets are drawn from (Cohan et al. 2020, section 3.2)

`scifact_subset` makes a real retrieval task of them: the claims whose relevant abstracts are all there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.datasets import beir
from scirep_core.datasets.tables import (
    Lines,
    counted,
    data_hash,
    id_of,
    json_lines,
    text_of,
    to_id,
    tsv,
)
from scirep_core.datasets.task import Pooled, Task
from scirep_core.errors import DataError
from scirep_core.records import Paper, field, raw_lines, read_object

VERDICTS = ("SUPPORT", "CONTRADICT")
CITED = 5
"""SPECTER's count for a cited paper; 1 is cited by a cited paper, but not cited: the hard negative."""


class Evidence(NamedTuple):
    """Sentences (from 0) of one abstract that together support or contradict a claim."""

    doc_id: str
    sentences: tuple[int, ...]
    label: str


class Claim(NamedTuple):
    """One claim; test claims have neither evidence nor cited documents."""

    claim_id: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    cited: tuple[str, ...] = ()


class Metadata(NamedTuple):
    """Year, venue and citation count of a document, each None where unknown."""

    year: int | None
    venue: str | None
    citations: int | None


class SpecterSample(NamedTuple):
    """Texts by paper id, query -> paper -> count, split -> query ids."""

    papers: dict[str, Paper]
    links: dict[str, dict[str, int]]
    splits: dict[str, tuple[str, ...]]


def abstracts(path: Path) -> Iterator[Paper]:
    """Yield the papers of `abstracts_subset.jsonl` {doc_id, text}: abstracts without titles. Raises DataError."""
    lines = Lines()
    for line, row in json_lines(path):
        key, text = id_of(row, "doc_id", path, line), field(row, "text", str, path, line)
        lines.add(key, path, line, "document")
        yield Paper(key, "", text)


def claims(path: Path) -> Iterator[Claim]:
    """Yield the claims of a `claims_*.jsonl`. Raises DataError for a wrong type, an id twice, another verdict."""
    lines = Lines()
    for line, row in json_lines(path):
        key, text = id_of(row, "id", path, line), field(row, "claim", str, path, line)
        lines.add(key, path, line, "claim")
        found = field(row, "evidence", dict, path, line) if "evidence" in row else {}
        cited = field(row, "cited_doc_ids", list, path, line) if "cited_doc_ids" in row else []
        evidence = tuple(item for doc in found for item in _evidence(doc, found, path, line))
        yield Claim(key, text, evidence, tuple(to_id(doc, path, line) for doc in cited))


def _evidence(doc: str, found: dict[str, Any], path: Path, line: int) -> Iterator[Evidence]:
    for item in field(found, doc, list, path, line):
        if not isinstance(item, dict):
            raise DataError(path, line, f"evidence of document {doc} must be an object, found {type(item).__name__}")
        label, sentences = field(item, "label", str, path, line), field(item, "sentences", list, path, line)
        if label not in VERDICTS:
            raise DataError(path, line, f"verdict {label!r:.40} is neither {VERDICTS[0]} nor {VERDICTS[1]}")
        if not all(isinstance(s, int) and not isinstance(s, bool) and s >= 0 for s in sentences):
            raise DataError(path, line, f"sentences {sentences!r:.60} must be numbers from 0")
        yield Evidence(doc, tuple(sentences), label)


def metadata(path: Path) -> dict[str, Metadata]:
    """Return document id -> metadata; documents listed with null are left out. Raises DataError for a wrong type."""
    found = {}
    for key, value in read_object(path).items():
        if value is None:
            continue
        if not isinstance(value, dict):
            raise DataError(path, None, f"document {key} must be an object or null, found {type(value).__name__}")
        year, citations = (field(value, name, (int, type(None)), path, None) for name in ("year", "citations"))
        found[key] = Metadata(year, field(value, "venue", (str, type(None)), path, None), citations)
    return found


def scifact_subset(folder: Path, source: str = "real") -> Task:
    """Return claim search over the abstracts at hand: the claims all of whose relevant documents are among them.

    Args:
        folder: with abstracts_subset.jsonl, beir_queries.jsonl, beir_qrels_train.tsv and beir_qrels_test.tsv.
        source: what the task is to say of its source.

    Not the published task (5,183 abstracts with titles, 1,109 claims): its numbers compare with no table.
    """
    corpus, asked = folder / "abstracts_subset.jsonl", folder / "beir_queries.jsonl"
    judgements = tuple(folder / f"beir_qrels_{split}.tsv" for split in ("train", "test"))
    texts, (relevant, places) = beir.read_queries(asked), beir.judged(judgements)
    for (query, _), (path, line) in places.items():
        if query not in texts:
            raise DataError(path, line, f"query {query} is not in {asked.name}", "Fetch both files of one version")
    pool = tuple(paper.paper_id for paper in abstracts(corpus))
    there = set(pool)
    kept = {query: grades for query, grades in relevant.items() if grades.keys() <= there}
    if not kept:
        raise DataError(corpus, None, "no claim has all its documents here", "Fetch the files of one version")
    return Task(
        "scimult/scifact_subset", "retrieval", "QRY", ("ndcg@10",), Pooled(kept, pool, text_query=True), source,
        data_hash(folder, (corpus, asked, *judgements)), 1, "dot", lambda: abstracts(corpus),
        {query: texts[query] for query in kept},
        notes="; ".join(filter(None, (
            "a subset: titles are missing",
            counted(len(relevant) - len(kept), "claims with a relevant abstract that is not here left out")))),
    )  # fmt: skip


def mesh_terms(path: Path) -> dict[str, str]:
    """Return MeSH id -> name of `terms.tsv`. Raises DataError for a short row, an id twice, an empty name."""
    lines, terms = Lines(), {}
    for line, row in tsv(path, ("mesh_id", "mesh_name")):
        key = to_id(row["mesh_id"], path, line)
        lines.add(key, path, line, "descriptor")
        if not row["mesh_name"].strip():
            raise DataError(path, line, f"descriptor {key} has no name")
        terms[key] = row["mesh_name"]
    return terms


def mesh_tree(path: Path) -> dict[str, tuple[str, ...]]:
    """Return MeSH id -> its places in the tree, in the order of `tree_numbers.tsv`.

    A descriptor has one place or several; `D02.705.400` is three levels deep, below `D02.705`.
    Raises DataError for a position given twice.
    """
    lines = Lines()
    found: dict[str, list[str]] = {}
    for line, row in tsv(path, ("mesh_id", "mesh_name", "mesh_tree_number")):
        key, place = to_id(row["mesh_id"], path, line), to_id(row["mesh_tree_number"], path, line)
        lines.add(f"{key} at {place}", path, line, "position")
        found.setdefault(key, []).append(place)
    return {key: tuple(places) for key, places in found.items()}


def specter_sample(folder: Path) -> SpecterSample:
    """Read `sample-metadata.json`, `training_metadata.json`, `training_data.json` and `training_{train,val,test}.txt`.

    Raises DataError for a wrong type, a split that names a query without links, a query in two splits.
    """
    texts: dict[str, Paper] = {}
    for name in ("sample-metadata.json", "training_metadata.json"):
        texts.update(_texts(folder / name))
    path = folder / "training_data.json"
    links: dict[str, dict[str, int]] = {}
    for query, linked in read_object(path).items():
        if not isinstance(linked, dict):
            raise DataError(path, None, f"query {query} must be an object, found {type(linked).__name__}")
        links[query] = {key: _count(linked[key], query, path) for key in linked}
    splits, lines = {}, Lines()
    for split in ("train", "val", "test"):
        path, ids = folder / f"training_{split}.txt", []
        for line, raw in raw_lines(path):
            if not (key := raw.decode("utf-8", "replace")):
                continue
            lines.add(key, path, line, "query")
            if key not in links:
                raise DataError(path, line, f"query {key} has no links in training_data.json")
            ids.append(key)
        splits[split] = tuple(ids)
    return SpecterSample(texts, links, splits)


def _count(value: object, query: str, path: Path) -> int:
    if not isinstance(value, dict):
        raise DataError(path, None, f"a link of {query} must be an object, found {type(value).__name__}")
    count: int = field(value, "count", int, path, None)
    return count


def _texts(path: Path) -> Iterator[tuple[str, Paper]]:
    for key, row in read_object(path).items():
        if not isinstance(row, dict):
            raise DataError(path, None, f"paper {key} must be an object, found {type(row).__name__}")
        yield key, Paper(key, text_of(row, "title", path, None), text_of(row, "abstract", path, None))
