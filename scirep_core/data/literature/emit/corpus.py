"""The whole literature as files: every paper with text, venue, year, authors and references, in parquet shards.

    <root>/literature/papers/0000.parquet ...   `SHARD` papers each, in order of time
        paper_id, title, abstract, year, venue, fields_of_study (1 or 2 names), authors [{author_id, name}],
        references [{paper_id, mentions}], sentence_labels (facet of each sentence)
    <root>/literature/latents/0000.parquet ...  what each paper is (the truth): one integer column per latent

Written shard by shard: memory does not grow with the literature.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from scirep_core.data.literature.emit.files import write_parquet
from scirep_core.data.literature.latents import NONE
from scirep_core.data.literature.lexicon import FIELDS
from scirep_core.data.literature.model import Literature

SHARD = 50_000
PAPERS: dict[str, Any] = {
    "paper_id": "string", "title": "string", "abstract": "string", "year": "int32", "venue": "string",
    "fields_of_study": ["string"], "authors": [{"author_id": "int32", "name": "string"}],
    "references": [{"paper_id": "string", "mentions": "int32"}], "sentence_labels": ["string"],
}  # fmt: skip


def write(root: Path, literature: Literature) -> None:
    """Write papers and latents."""
    names = [f.name for f in fields(literature.latents)]
    latents = {"paper_id": "string", **dict.fromkeys(names, "int64")}
    for shard, start in enumerate(range(0, len(literature), SHARD)):
        rows = range(start, min(start + SHARD, len(literature)))
        folder = root / "literature"
        write_parquet(folder / "papers" / f"{shard:04}.parquet", PAPERS, _papers(literature, rows))
        write_parquet(folder / "latents" / f"{shard:04}.parquet", latents, _latents(literature, rows, names))


def _papers(literature: Literature, rows: range) -> Iterator[dict[str, Any]]:
    people, cites, latents = literature.people, literature.cites, literature.latents
    for i, paper in zip(rows, literature.papers_at(rows), strict=True):
        second = int(latents.second_field[i])
        yield {
            "paper_id": paper.paper_id,
            "title": paper.title,
            "abstract": paper.abstract,
            "year": paper.year,
            "venue": paper.venue,
            "fields_of_study": [FIELDS[latents.field[i]]] + ([FIELDS[second]] if second != NONE else []),
            "authors": [{"author_id": a, "name": people.name(a)} for a in people.teams.of(i).tolist()],
            "references": [
                {"paper_id": literature.paper_id(k), "mentions": m}
                for k, m in zip(cites.of(i).tolist(), cites.values_of(i).tolist(), strict=True)
            ],
            "sentence_labels": list(paper.labels),
        }


def _latents(literature: Literature, rows: range, names: list[str]) -> Iterator[dict[str, Any]]:
    columns = [getattr(literature.latents, name)[rows.start : rows.stop].tolist() for name in names]
    for i, values in zip(rows, zip(*columns, strict=True), strict=True):
        yield {"paper_id": literature.paper_id(i), **dict(zip(names, values, strict=True))}
