"""Plain collections for short-query retrieval and the textual neighbours (Singh and Singh 2022, sections 3-4, Table 2).

Seven collections of titles and abstracts. The task is asked by the papers themselves: find a paper by its own title
(task I: among all title + abstract vectors; task II: also among the other titles), by cosine. Files are gzipped JSON
lines {paper_id, title, abstract, year, venue}; what else they hold, such as reviewers' `ratings`, is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import NoneType

from scirep_core.data.inventory import TaskSpec
from scirep_core.data.tables import Found, counted, first_of, folder_of, records_in
from scirep_core.data.task import Collection
from scirep_core.kit.records import Paper


def read(spec: TaskSpec, root: Path) -> Found:
    """Read `<root>/<manifest>/<config>.jsonl.gz` (or `.jsonl`) as a task of type alternative_self.

    Papers without an abstract stay, for their title is still a query; the notes count them. Raises DataError for
    malformed lines, an id twice, a paper without a title.
    """
    folder = folder_of(root, spec.manifest)
    path = first_of(folder / f"{spec.config}.jsonl.gz", folder / f"{spec.config}.jsonl")
    ids, bare, texts = list[str](), 0, set()
    for paper in papers(path):
        ids.append(paper.paper_id)
        bare += not paper.abstract.strip()
        texts.add(hash((paper.title, paper.abstract)))
    again = "papers repeat another's title and abstract: only one of a pair can come first"
    notes = (counted(bare, "papers without an abstract"), counted(len(ids) - len(texts), again))
    return Found(Collection(tuple(ids)), lambda: papers(path), (path,), notes, similarity="cosine")


def papers(path: Path) -> Iterator[Paper]:
    """Yield the papers of a collection, streamed. Raises DataError for an id twice, or a paper without a title."""
    for key, row in records_in(path, "paper_id", "paper"):
        title = row.value("title")
        if not title.strip():
            raise row.wrong(f"paper {key} has no title", "Its title is the query: leave the paper out")
        abstract, venue = (row.option(name, (str, NoneType)) or "" for name in ("abstract", "venue"))
        yield Paper(key, title, abstract, row.option("year", (int, NoneType), None), venue=venue)
