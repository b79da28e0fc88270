"""MAPLE: papers of one field with labels of a tree, the source of SciMult's fine-grained tasks (Zhang et al. 2023, A).

    <Field>/papers.json        {paper, venue, year, title, label, author, reference, abstract, title_raw, abstract_raw}
    <Field>/labels.txt         id TAB name TAB depth (1-5, 1 the most general; MeSH folders: id TAB name)
    <Field>/labels_mesh.txt    id TAB normalised name TAB synonym TAB synonym ...
    <Field>/authors.txt, venues.txt    id TAB normalised name TAB original name

`title` and `abstract` are normalised (lower case, no punctuation), `title_raw` and `abstract_raw` are not: match names
on the former, encode the latter. MAPLE's own split: up to 2015 train, later test. Everything streams: a field has up to
2.6 million papers. References point to papers outside the field, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from scirep_core.datasets.tables import (
    Lines,
    counted,
    data_hash,
    folder_of,
    id_of,
    ids_of,
    json_lines,
    oracle_of,
    split_lines,
    text_of,
    to_id,
)
from scirep_core.datasets.task import LabelSpace, LabelText, Task
from scirep_core.errors import ConfigError, DataError, nearest
from scirep_core.records import Paper, field

Split = Literal["all", "train", "test"]
SPLITS: tuple[Split, ...] = ("all", "train", "test")
LAST_TRAIN_YEAR = 2015
METRICS = ("recall@20", "recall@50", "recall@100")


class MaplePaper(NamedTuple):
    """One line of papers.json; `raw` as printed, `normalised` for matching names."""

    raw: Paper
    normalised: Paper
    labels: tuple[str, ...]
    authors: tuple[str, ...]
    references: tuple[str, ...]


class MapleLabel(NamedTuple):
    """One label: depth in the tree (1 is the most general; None where the file has none), synonyms where it has them."""

    label_id: str
    name: str
    depth: int | None = None
    synonyms: tuple[str, ...] = ()


class Name(NamedTuple):
    """A name of an author or venue: as MAPLE normalised it, as it was."""

    normalised: str
    original: str


def papers(folder: Path) -> Iterator[MaplePaper]:
    """Yield the papers of a field, streamed. Raises DataError with the line for a missing field, a wrong type, an id twice."""
    for _, paper in numbered(folder / "papers.json"):
        yield paper


def numbered(path: Path) -> Iterator[tuple[int, MaplePaper]]:
    """Yield (line, paper) of a papers.json; see `papers`."""
    lines = Lines()
    for line, row in json_lines(path):
        key, year = id_of(row, "paper", path, line), _year(field(row, "year", (int, str), path, line), path, line)
        lines.add(key, path, line, "paper")
        venue = text_of(row, "venue", path, line)
        raw, plain = (
            Paper(key, text_of(row, f"title{end}", path, line), text_of(row, f"abstract{end}", path, line), year,
                  venue=venue) for end in ("_raw", "")
        )  # fmt: skip
        lists = (ids_of(row, name, path, line) for name in ("label", "author", "reference"))
        yield line, MaplePaper(raw, plain, *lists)


def _year(value: int | str, path: Path, line: int) -> int:
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        raise DataError(path, line, f"year {value!r:.40} is no year")
    return int(value)


def labels(path: Path) -> dict[str, MapleLabel]:
    """Return label id -> label of labels.txt or labels_mesh.txt, in file order.

    A third cell that is a number is the depth; in labels_mesh.txt what follows the name are synonyms. Raises DataError
    for a row without a name, a depth that is no number from 1, an id twice.
    """
    lines, found = Lines(), {}
    synonymous = path.name == "labels_mesh.txt"
    for line, cells in split_lines(path):
        if len(cells) < 2 or not cells[1].strip():
            raise DataError(path, line, f"a label needs an id and a name, found {len(cells)} cells", "Cells: id, name")
        key = to_id(cells[0], path, line)
        lines.add(key, path, line, "label")
        rest = tuple(cell for cell in cells[2:] if cell.strip())
        depth = _depth(rest[0], path, line) if rest and not synonymous else None
        found[key] = MapleLabel(key, cells[1], depth, rest if synonymous else ())
    return found


def _depth(text: str, path: Path, line: int) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise DataError(path, line, f"depth {text!r:.40} is not 1, 2, 3 ...", "Cells: id, name, depth")
    return int(text)


def by_depth(tree: dict[str, MapleLabel]) -> dict[int, tuple[str, ...]]:
    """Return depth -> label ids, the most general first; labels without a depth are left out.

    >>> by_depth({"b": MapleLabel("b", "parsing", 2), "a": MapleLabel("a", "language", 1)})
    {1: ('a',), 2: ('b',)}
    """
    depths = sorted({label.depth for label in tree.values() if label.depth is not None})
    return {depth: tuple(key for key, label in tree.items() if label.depth == depth) for depth in depths}


def names(path: Path) -> dict[str, Name]:
    """Return id -> name of authors.txt or venues.txt. Raises DataError for a row without three cells, an id twice."""
    lines, found = Lines(), {}
    for line, cells in split_lines(path):
        if len(cells) < 3:
            raise DataError(path, line, f"{len(cells)} cells", "Cells: id, normalised name, original name")
        key = to_id(cells[0], path, line)
        lines.add(key, path, line)
        found[key] = Name(cells[1], cells[2])
    return found


def as_task(folder: Path, name: str = "", split: Split = "all", source: str = "folder") -> Task:
    """Return a field as a label-ranking task over all its labels, encoded from the raw texts, without name matches.

    Args:
        folder: one field, with papers.json and labels.txt (or labels_mesh.txt alone).
        name: name of the task; default `maple/<folder>`.
        split: papers up to 2015 (train), after (test), or all.
        source: embedded, real or a folder, as the task is to say.

    MAPLE has no definitions, so labels are bare names. Papers without a label are left out and counted. Raises DataError
    for a label that the label file lacks, or a split without papers; ConfigError for an unknown split.
    """
    if split not in SPLITS:
        raise ConfigError(f"unknown split {split!r}; {nearest(split, SPLITS)}")
    path, listed = folder_of(folder.parent, folder.name) / "papers.json", folder / "labels.txt"
    listed = listed if listed.is_file() else folder / "labels_mesh.txt"
    tree, gold, bare = labels(listed), {}, 0
    for line, paper in numbered(path):
        if not wanted(paper, split):
            continue
        bare += not paper.labels
        if missing := [key for key in paper.labels if key not in tree]:
            raise DataError(path, line, f"label {missing[0]!r} is not in {listed.name}", nearest(missing[0], tree))
        if paper.raw.paper_id in tree:
            raise DataError(path, line, f"{paper.raw.paper_id} is a paper and a label: they would share a vector")
        if paper.labels:
            gold[paper.raw.paper_id] = tuple(dict.fromkeys(paper.labels))
    if not gold:
        raise DataError(path, None, f"no labelled paper in split {split!r}")

    def texts() -> Iterator[Paper]:
        return (paper.raw for paper in papers(folder) if wanted(paper, split) and paper.labels)

    name = name or f"maple/{folder.name}"
    space = LabelSpace(gold, {key: LabelText(key, label.name) for key, label in tree.items()})
    return Task(
        name, "label_ranking", "CLF", METRICS, space, source, data_hash(folder, (path, listed)), 1, "dot", texts,
        oracle=oracle_of(folder.parent.parent, name), notes=counted(bare, "papers without a label left out"),
    )  # fmt: skip


def wanted(paper: MaplePaper, split: Split) -> bool:
    """Return whether a paper belongs to a split, by its year."""
    return split == "all" or (paper.raw.year is not None and (paper.raw.year <= LAST_TRAIN_YEAR) == (split == "train"))
