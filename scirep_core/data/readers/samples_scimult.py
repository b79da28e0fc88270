"""Small real samples around SciMult that are no task files: part of SciFact, the names of MeSH.

    scifact/   claims (Wadden et al. 2020) and part of the abstracts
    mesh/      27,455 descriptors: a real label space (names, no definitions)

`scifact_subset` makes a real retrieval task of the claims whose relevant abstracts are all there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scirep_core.data.readers import beir
from scirep_core.data.tables import Lines, counted, data_hash, id_of, json_lines, to_id, tsv
from scirep_core.data.task import Pooled, Task
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import Paper, field


def abstracts(path: Path) -> Iterator[Paper]:
    """Yield the papers of `abstracts_subset.jsonl` {doc_id, text}: abstracts without titles. Raises DataError."""
    lines = Lines()
    for line, row in json_lines(path):
        key, text = id_of(row, "doc_id", path, line), field(row, "text", str, path, line)
        lines.add(key, path, line, "document")
        yield Paper(key, "", text)


def scifact_subset(folder: Path) -> Task:
    """Return claim search over the abstracts at hand: the claims all of whose relevant documents are among them.

    Args:
        folder: with abstracts_subset.jsonl, beir_queries.jsonl, beir_qrels_train.tsv and beir_qrels_test.tsv.

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
        "scimult/scifact_subset", "retrieval", "QRY", ("ndcg@10",), Pooled(kept, pool, text_query=True), "real",
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
