"""The whole literature as files: every paper with text, venue, year, authors and references, in parquet shards.

    <root>/literature/papers/0000.parquet ...   `SHARD` papers each, in order of time
    <root>/literature/latents/0000.parquet ...  what each paper is (the truth): one integer column per latent

Written shard by shard: memory does not grow with the literature.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from scirep_core.data.literature.emit.files import Column, write_papers
from scirep_core.data.literature.emit.split import flat, venue
from scirep_core.data.literature.latents import NONE
from scirep_core.data.literature.lexicon import FIELDS
from scirep_core.data.literature.model import Literature

SHARD = 50_000


def write(root: Path, literature: Literature) -> None:
    """Write papers and latents."""
    folder, known, paper_id = root / "literature", literature.latents, {"paper_id": flat(literature)["doc_id"]}
    latents: dict[str, Column] = {f.name: ("int64", getattr(known, f.name).item) for f in fields(known)}
    for shard, start in enumerate(range(0, len(literature), SHARD)):
        rows = range(start, min(start + SHARD, len(literature)))
        write_papers(folder / "papers" / f"{shard:04}.parquet", paper_id | _columns(literature), rows)
        write_papers(folder / "latents" / f"{shard:04}.parquet", paper_id | latents, rows)


def _columns(literature: Literature) -> dict[str, Column]:
    people, cites, latents, texts = literature.people, literature.cites, literature.latents, flat(literature)

    def references(i: int) -> list[dict[str, object]]:
        mentions = zip(literature.ids(cites.of(i)), cites.values_of(i).tolist(), strict=True)
        return [{"paper_id": cited, "mentions": number} for cited, number in mentions]

    return {
        "title": texts["title"],
        "abstract": texts["abstract"],
        "year": ("int32", latents.year.item),
        "venue": venue(literature),
        "fields_of_study": (["string"], lambda i: [FIELDS[k] for k in (latents.field[i], latents.second_field[i]) if k != NONE]),
        "authors": ([{"author_id": "int32", "name": "string"}],
                    lambda i: [{"author_id": a, "name": people.name(a)} for a in people.teams.of(i).tolist()]),
        "references": ([{"paper_id": "string", "mentions": "int32"}], references),
        "sentence_labels": (["string"], lambda i: list(literature.paper(i).labels)),
    }  # fmt: skip
