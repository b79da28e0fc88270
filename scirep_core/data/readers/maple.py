"""MAPLE: papers of one field with labels of a tree, the source of SciMult's fine-grained tasks (Zhang et al. 2023, A).

    <Field>/papers.json        {paper, venue, year, title, label, author, reference, abstract, title_raw, abstract_raw}
    <Field>/labels.txt         id TAB name TAB depth (1-5, 1 the most general; MeSH folders: id TAB name)
    <Field>/labels_mesh.txt    id TAB normalised name TAB synonym TAB synonym ...

`title` and `abstract` are normalised (lower case, no punctuation); the raw ones are what is read here. MAPLE's own split: up
to 2015 train, later test. Everything streams: a field has up to 2.6 million papers. References point to papers outside the
field, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from scirep_core.data.rows import json_lines, to_id
from scirep_core.data.tables import Lines, split_lines
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import Paper, whole

Split = Literal["all", "train", "test"]
SPLITS: tuple[Split, ...] = ("all", "train", "test")
LAST_TRAIN_YEAR = 2015


class MaplePaper(NamedTuple):
    """One line of papers.json: the paper as printed, ids of its labels, authors and references."""

    raw: Paper
    labels: tuple[str, ...]
    authors: tuple[str, ...]
    references: tuple[str, ...]


def papers(folder: Path) -> Iterator[MaplePaper]:
    """Yield the papers of a field, streamed. Raises DataError with the line for a missing field, a wrong type, an id twice."""
    for _, paper in numbered(folder / "papers.json"):
        yield paper


def numbered(path: Path) -> Iterator[tuple[int, MaplePaper]]:
    """Yield (line, paper) of a papers.json; see `papers`."""
    lines = Lines()
    for line, row in json_lines(path):
        key, year = row.id("paper"), row.value("year", (int, str))
        year = whole(year, "year", path, line) if isinstance(year, str) else year
        lines.add(key, path, line, "paper")
        title, abstract, venue = (row.text(name) for name in ("title_raw", "abstract_raw", "venue"))
        lists = (row.ids(name) for name in ("label", "author", "reference"))
        yield line, MaplePaper(Paper(key, title, abstract, year, venue=venue), *lists)


def labels(path: Path) -> dict[str, str]:
    """Return label id -> name of labels.txt or labels_mesh.txt, in file order.

    Raises DataError for a row without a name, an id twice.
    """
    lines, names = Lines(), {}
    for line, cells in split_lines(path):
        if len(cells) < 2 or not cells[1].strip():
            raise DataError(path, line, f"a label needs an id and a name, found {len(cells)} cells", "Cells: id, name")
        key = to_id(cells[0], path, line)
        lines.add(key, path, line, "label")
        names[key] = cells[1]
    return names


def wanted(paper: MaplePaper, split: Split) -> bool:
    """Return whether a paper belongs to a split, by its year."""
    return split == "all" or (paper.raw.year is not None and (paper.raw.year <= LAST_TRAIN_YEAR) == (split == "train"))
