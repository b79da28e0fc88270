"""An open literature of our own: invented papers in the layouts of the compact files, as few as the rules need."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from small_files import jsonl

from scirep_core.data.open import SOURCES, corpora, heldout, pairs, tasks
from scirep_core.data.task import Collection, Task
from scirep_core.kit.records import Paper

CACHED = (corpora.records, corpora.parts, corpora.faceted, pairs.cited_by_cited, tasks._key)
PAPERS = 60
"""Of a corpus."""
TWICE = "A title that stands in two collections at once"
"""Of the first train paper of vis, and of a paper that is held out."""


def title(corpus: str, i: int) -> str:
    return f"The invented paper number {i} of corpus {corpus}"


def ids(corpus: str, part: str, prefix: str) -> list[str]:
    """Return the ids of a corpus's invented papers that are of a part."""
    return [f"{prefix}:{i}" for i in range(PAPERS) if corpora.part_of(f"{prefix}:{i}", corpus) == part]


def _tsv(path: Path, header: str, rows: Iterable[tuple[object, ...]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write(header.replace(" ", "\t") + "\n")
        stream.writelines("\t".join(map(str, row)) + "\n" for row in rows)


def _papers(corpus, prefix, more, key="paper_id"):
    return [{key: f"{prefix}:{i}", "title": title(corpus, i), "abstract": f"Words about topic {i % 7} and method {i % 5}.",
             "year": 2000 + i % 20} | more(i) for i in range(PAPERS)]  # fmt: skip


def _linked(folder, corpus, prefix, more):
    """Write papers with authors, each next citing the two before it, and one reference shared by all of a topic, six times."""
    rows = [row | {"author_ids": [f"{prefix}a{i % 4}", f"{prefix}b{i}", f"{prefix}c{i % 9}"]}
            for i, row in enumerate(_papers(corpus, prefix, more))]  # fmt: skip
    cites = [(f"{prefix}:{i}", f"{prefix}:{i - step}") for i in range(PAPERS) for step in (1, 2, 5) if i >= step]
    _tsv(folder / "citations.tsv.gz", "citing cited", [*cites, (f"{prefix}:0", f"{prefix}:0")])
    shared = [(f"r{topic}{n}", "-", " ".join(f"{prefix}:{i}" for i in range(topic, PAPERS, 7)))
              for topic in range(7) for n in range(5 if topic else 4)]  # fmt: skip
    _tsv(folder / "shared_references.tsv.gz", "reference in_corpus citing", shared)
    return rows


def write(root: Path) -> None:
    """Write the compact files of all nine sources, and the other files that are read beside them."""
    for name in SOURCES:
        (root / name).mkdir(parents=True)
    acl = _linked(root / "acl_graph", "acl", "acl", lambda i: {"area": "Generation", "area_source": "ACL2020"})
    jsonl(root / "acl_graph" / "papers.jsonl.gz", acl)
    vis = _linked(root / "vis", "vis", "vis", lambda i: {
        "author_keywords": ["graph  Layout", f"phrase number {i % 6}", "alone"], "conference": ("Vis", None)[i % 2],
        "crossref_citations": i if i % 3 else None, "downloads": 10 * i})  # fmt: skip
    next(row for row in vis if row["paper_id"] == ids("vis", "train", "vis")[0])["title"] = TWICE
    jsonl(root / "vis" / "papers.jsonl.gz", vis)
    synergy = root / "synergy_openalex"
    papers = _linked(synergy, "synergy", "oa", lambda i: {
        "cited_by_count": i, "mesh_major": [f"D{i % 3}"], "reviews": [f"review{i % 2}"]})  # fmt: skip
    jsonl(synergy / "papers.jsonl.gz", papers)
    jsonl(synergy / "reviews.jsonl.gz", [{"review": f"review{i}", "title": f"Is it so, {i}?"} for i in range(3)])
    rows = [(f"review{i % 2}", f"oa:{i}", int(i % 3 == 0)) for i in range(PAPERS)]
    rows += [("review2", f"oa:{i}", 0) for i in range(PAPERS)]
    _tsv(synergy / "review_labels.tsv.gz", "review work included", rows)
    match = root / "reviewer_match"
    for folder, corpus, prefix, more in (
        ("arxiv_cs", "arxiv", "arxiv", lambda i: {"categories": ["cs.AI", ("cs.CL", "cs.CV")[i % 2]]}),
        ("biomimicry", "biomimicry", "mag",
         lambda i: {"is_biomimicry": i % 3 > 0} | ({"title": TWICE.upper() + "!"} if i == 7 else {})),
        ("pubmedqa", "pubmedqa", "pmid",
         lambda i: {"question": title("pubmedqa", i), "decision": ("yes", "no", "maybe")[i % 3]}),
        ("reviewer_match", "reviewer_match", "s2", lambda i: {} if i else {"abstract": ""}),
    ):  # fmt: skip
        jsonl(root / folder / "papers.jsonl.gz", _papers(corpus, prefix, more))
    jsonl(match / "profiles.jsonl.gz",
           [{"participant": f"p{n}", "papers": [f"s2:{i}" for i in range(n, 20, 2)]} for n in (0, 1)])  # fmt: skip
    rated = [("p0", "s2:30", 1.0), ("p0", "s2:31", 3.25), ("p1", "s2:32", 2.0), ("p1", "s2:33", 2.0)]
    _tsv(match / "ratings.tsv.gz", "participant paper expertise", rated)
    jsonl(root / "scifact_corpus" / "corpus.jsonl.gz", [
        {"doc_id": str(i), "title": title("scifact", i), "abstract": ["One.", "Two."]} for i in range(PAPERS)])  # fmt: skip
    for name, begins in corpora.CLASSIC.items():
        jsonl(root / "classic_ir" / f"{begins}_docs.jsonl.gz", _papers(name, begins, lambda i: {}, "doc_id"))
        queries = [{"query_id": f"{begins}:q{i}", "text": f"What is\nknown of {i}?"} for i in range(20)]
        jsonl(root / "classic_ir" / f"{begins}_queries.jsonl.gz", queries)
        judged = [(f"{begins}:q{i}", f"{begins}:{j}", 1 + j % 4) for i in range(20) for j in range(i, PAPERS, 9)]
        _tsv(root / "classic_ir" / f"{begins}_qrels.tsv.gz", "query doc grade", judged)
    links = [(f"cacm:{i}", f"cacm:{j}") for i in range(PAPERS) for j in range(i + 1, PAPERS, 7)]
    _tsv(root / "classic_ir" / "cacm_links.tsv.gz", "a b", links)
    beside = root / "beside"
    jsonl(beside / "neighbours_sample" / "ml_year_citations.jsonl.gz", _papers("ml", "ml", lambda i: {
        "gs_citation": i - 1}))  # fmt: skip
    for split, first in (("train", 0), ("dev", 100)):
        jsonl(beside / "scifact_sample" / f"claims_{split}.jsonl", (
            {"id": first + i, "claim": f"Claim {first + i}.", "cited_doc_ids": [i * 3 + bool(first), 999]}
            for i in range(15)))  # fmt: skip


def _sample(name: str) -> Task:
    paper = Paper(f"{name}:0", f"The one paper of the sample called {name}", "A text.")
    return Task(f"sample/{name}", "alternative_self", "PRX", ("mrr",), Collection((paper.paper_id,)), "real", "",
                texts=lambda: [paper])  # fmt: skip


def settle(root: Path, monkeypatch: pytest.MonkeyPatch, faceted: Any) -> None:
    """Write the invented files, and let every reader of the open literature read them."""
    write(root)
    for module in (corpora, pairs, heldout, tasks):
        monkeypatch.setattr(module, "folder", lambda source: root / source)
    monkeypatch.setattr("scirep_core.data.manifests.fetch", lambda name: root / "beside" / name)
    for module in (corpora, heldout):
        monkeypatch.setattr(module, "sample", _sample)
        monkeypatch.setattr(module, "faceted", lambda: faceted)
    forget()


def forget() -> None:
    for cached in CACHED:
        getattr(cached, "cache_clear", lambda: None)()
