"""MAPLE: papers of one field with labels of a tree, the source of SciMult's fine-grained tasks (Zhang et al. 2023, A).

    <Field>/papers.json        {paper, venue, year, title, label, author, reference, abstract, title_raw, abstract_raw}
    <Field>/labels.txt         id TAB name TAB depth (1-5, 1 the most general; MeSH folders: id TAB name)
    <Field>/labels_mesh.txt    id TAB normalised name TAB synonym TAB synonym ...

`title` and `abstract` are normalised (lower case, no punctuation); the raw ones are what is read here. MAPLE's own split: up
to 2015 train, later test. Everything streams: a field has up to 2.6 million papers. References point to papers outside the
field, too.

`pairs` makes training pairs (paper, label) of such folders, with hard negatives (SciMult 3.1, appendix A.1):

    positive         each label of a paper up to 2015; a label is in at most 100 pairs, those of papers drawn by `seed`, for each
                     label anew: published are 1.5 pairs a paper of biology and medicine, where papers have many labels
    hard negative    a label that a related paper has and the paper itself has not; related: cited by it, of one of its
                     authors, or of its venue

The paper gives the three relations and not how one is chosen. Here, for each paper: the relations in a drawn order, of each up
to eight related papers, drawn; the first that has a label the paper lacks gives one, drawn. A paper whose relatives have none
has no hard negative. References outside a folder are of no use here: how many were resolved is reported (`Report`). SciMult joins
Biology-MeSH and Medicine-MeSH, so several folders can be read as one.

Which pairs the cap keeps is drawn by (seed, label, paper), so that a paper more displaces at most one other of each of its
labels. The same folders in the same order give the same rows. Two passes over papers.json; memory holds, of each paper, its id,
the numbers of its labels, and its place among those of its authors and of its venue: neither texts nor references.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import Any, Literal, NamedTuple

from scirep_core.data.readers.scimult import SEP
from scirep_core.data.rows import Line, once, to_id
from scirep_core.data.tables import records_in, split_lines
from scirep_core.kit.errors import ConfigError, DataError, check_name, nearest
from scirep_core.kit.records import Paper, whole
from scirep_core.kit.store import stable_hash

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
    for key, row in records_in(path, "paper"):
        year = row.value("year", (int, str))
        year = whole(year, "year", path, row.line) if isinstance(year, str) else year
        title, abstract, venue = (row.text(name) for name in ("title_raw", "abstract_raw", "venue"))
        lists = (row.ids(name) for name in ("label", "author", "reference"))
        yield row.line, MaplePaper(Paper(key, title, abstract, year, venue=venue), *lists)


def labels(path: Path) -> dict[str, str]:
    """Return label id -> name of labels.txt or labels_mesh.txt, in file order.

    Raises DataError for a row without a name, an id twice.
    """

    def named() -> Iterator[tuple[str, Line]]:
        for line, cells in split_lines(path):
            row = Line(dict(zip(("id", "name"), cells, strict=False)), path, line)
            if not row.get("name", "").strip():
                raise row.wrong(f"a label needs an id and a name, found {len(cells)} cells", "Cells: id, name")
            yield to_id(cells[0], path, line), row

    return {key: row["name"] for key, row in once(named(), "label")}


def wanted(paper: MaplePaper, split: Split) -> bool:
    """Return whether a paper belongs to a split, by its year."""
    return split == "all" or (paper.raw.year is not None and (paper.raw.year <= LAST_TRAIN_YEAR) == (split == "train"))


CAP = 100
"""Pairs a label is in at most (appendix A.1)."""
TRIES = 8
"""Related papers of each kind that are asked for a label."""
RELATIONS = ("reference", "author", "venue")


@dataclass
class Report:
    """What became of the papers.

    Attributes:
        papers: in the split, with a label and a text; `blank` those with a label and neither title nor abstract.
        pairs: positive pairs, `dropped` those over the cap.
        labels: that occur.
        hard: relation -> papers whose hard negative came through it; "" has those without one.
        references: named by the papers, `resolved` those that are papers of these folders.
    """

    papers: int = 0
    blank: int = 0
    pairs: int = 0
    dropped: int = 0
    labels: int = 0
    hard: Counter[str] = field(default_factory=Counter)
    references: int = 0
    resolved: int = 0


def pairs(
    folders: Sequence[Path], split: Split = "train", cap: int = CAP, seed: int = 0, report: Report | None = None
) -> Iterator[dict[str, Any]]:
    """Yield rows in DPR's form, one a paper: its title and abstract, its labels, and a hard negative where there is one.

    Args:
        folders: of MAPLE, read as one collection.
        split: train (up to 2015, as MAPLE has it), test, or all.
        cap: pairs a label is in at most.
        seed: of what is drawn.
        report: filled while reading.

    Raises ConfigError for no folder, an unknown split, a cap below 1; DataError for a malformed line, a label that its folder
    lacks.
    """
    if not folders:
        raise ConfigError("name a folder of MAPLE, one with papers.json and labels.txt")
    check_name("split", split, SPLITS)
    if cap < 1:
        raise ConfigError(f"cap = {cap}: a label needs at least one pair")
    report = report if report is not None else Report()
    names, related = _read(folders, split, report)
    known = related.labels
    members = _members(known, names, cap, seed)
    report.papers, report.labels = len(known), len(names)
    done: set[str] = set()
    for folder in folders:
        for paper in papers(folder):
            key = paper.raw.paper_id
            if key not in known or key in done:
                continue
            done.add(key)
            report.references += len(paper.references)
            report.resolved += sum(one in known for one in paper.references)
            positives = [label for label in known[key] if key in members[label]]
            report.pairs += len(positives)
            report.dropped += len(known[key]) - len(positives)
            if not positives:
                continue
            how, negative = related.hard(paper, random.Random(stable_hash([seed, key, "hard"])))
            report.hard[how] += 1
            yield {
                "question": f"{paper.raw.title}{SEP}{paper.raw.abstract}",
                "answers": [],
                "positive_ctxs": [_context(*names[label]) for label in positives],
                "negative_ctxs": [],
                "hard_negative_ctxs": [] if negative is None else [_context(*names[negative])],
            }


def _context(key: str, name: str) -> dict[str, str]:
    return {"title": name, "text": "", "passage_id": key}


def _read(folders: Sequence[Path], split: Split, report: Report) -> tuple[list[tuple[str, str]], _Related]:
    """Return (id, name) of every label that occurs, and the split's papers with a label; of a paper in two folders all labels."""
    numbers: dict[str, int] = {}
    names: list[tuple[str, str]] = []
    related = _Related()
    for folder in folders:
        listed = folder / "labels.txt"
        listed = listed if listed.is_file() else folder / "labels_mesh.txt"
        tree = labels(listed)
        for line, paper in numbered(folder / "papers.json"):
            if not wanted(paper, split) or not paper.labels:
                continue
            if not (paper.raw.title.strip() or paper.raw.abstract.strip()):
                report.blank += 1
                continue
            for label in paper.labels:
                if label not in tree:
                    raise DataError(folder / "papers.json", line, f"paper {paper.raw.paper_id}: label {label!r} is not in "
                                    f"{listed.name}", nearest(label, tree))  # fmt: skip
                if label not in numbers:
                    numbers[label] = len(names)
                    names.append((label, tree[label]))
            related.add(paper, tuple(numbers[one] for one in paper.labels))
    if not related.labels:
        raise DataError(folders[0] / "papers.json", None, f"no labelled paper in split {split!r}")
    return names, related


def _members(
    known: dict[str, tuple[int, ...]], names: Sequence[tuple[str, str]], cap: int, seed: int
) -> dict[int, set[str]]:
    """Return by label the papers that keep it: all, or `cap` drawn, for each label anew."""
    having: dict[int, list[str]] = {}
    for key, labels in known.items():
        for label in labels:
            having.setdefault(label, []).append(key)

    def drawn(label: int, keys: list[str]) -> list[str]:
        return keys if len(keys) <= cap else nsmallest(cap, keys, lambda key: stable_hash([seed, names[label][0], key]))

    return {label: set(drawn(label, keys)) for label, keys in having.items()}


class _Related:
    """Papers with their labels, and those related to a paper."""

    def __init__(self) -> None:
        self.labels: dict[str, tuple[int, ...]] = {}
        self.of: dict[str, dict[str, list[str]]] = {"author": {}, "venue": {}}

    def add(self, paper: MaplePaper, labels: tuple[int, ...]) -> None:
        """Take a paper, or more labels of one that is there."""
        key = paper.raw.paper_id
        before = self.labels.get(key)
        self.labels[key] = tuple(dict.fromkeys((*(before or ()), *labels)))
        if before is None:
            for author in dict.fromkeys(paper.authors):
                self.of["author"].setdefault(author, []).append(key)
            if paper.raw.venue:
                self.of["venue"].setdefault(paper.raw.venue, []).append(key)

    def hard(self, paper: MaplePaper, drawn: random.Random) -> tuple[str, int | None]:
        """Return (relation, label) of a hard negative; ("", None) where the relatives have none."""
        own = set(self.labels[paper.raw.paper_id])
        for relation in drawn.sample(RELATIONS, len(RELATIONS)):
            for other in self._some(paper, relation, drawn):
                others = sorted(set(self.labels[other]) - own)
                if others:
                    return relation, drawn.choice(others)
        return "", None

    def _some(self, paper: MaplePaper, relation: str, drawn: random.Random) -> list[str]:
        if relation == "reference":
            options = [one for one in paper.references if one in self.labels]
        else:
            groups = paper.authors if relation == "author" else (paper.raw.venue,)
            lists = [
                found for one in groups if len(found := self.of[relation].get(one, [])) > 1
            ]  # one is the paper itself
            options = drawn.choice(lists) if lists else []
        if len(options) <= TRIES:
            chosen = drawn.sample(options, len(options))
        else:
            chosen = [options[drawn.randrange(len(options))] for _ in range(TRIES)]
        return [one for one in chosen if one != paper.raw.paper_id]
