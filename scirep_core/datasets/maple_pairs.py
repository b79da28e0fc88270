"""Training pairs (paper, label) from folders of MAPLE, with hard negatives (SciMult 3.1, appendix A.2).

    positive         each label of a paper up to 2015; a label is in at most 100 pairs, those of papers drawn by `seed`
    hard negative    a label that a related paper has and the paper itself has not; related: cited by it, of one of its
                     authors, or of its venue

The paper gives the three relations and not how one is chosen. Here, for each paper: the relations in a drawn order, of each up
to eight related papers, drawn; the first that has a label the paper lacks gives one, drawn. A paper whose relatives have none
has no hard negative. References point outside a folder, too, and such papers are of no use here: how many were resolved is
reported (`Report`). SciMult joins Biology-MeSH and Medicine-MeSH, so several folders can be read as one.

Everything drawn follows from (seed, paper), so that a label more or a folder less leaves the rest as it was. Two passes over
papers.json; memory holds ids, labels and relations as numbers, no texts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scirep_core.datasets import maple
from scirep_core.datasets.scimult import SEP
from scirep_core.errors import ConfigError, DataError, nearest
from scirep_core.store import stable_hash

CAP = 100
"""Pairs a label is in at most (appendix A.2)."""
TRIES = 8
"""Related papers of each kind that are asked for a label."""
RELATIONS = ("reference", "author", "venue")


@dataclass
class Report:
    """What became of the papers.

    Attributes:
        papers: in the split, with a label.
        pairs: positive pairs, `dropped` those over the cap.
        labels: that occur.
        hard: relation -> papers whose hard negative came through it; "" has those without one.
        references: named by the papers, `resolved` those that are papers of these folders.
    """

    papers: int = 0
    pairs: int = 0
    dropped: int = 0
    labels: int = 0
    hard: Counter[str] = field(default_factory=Counter)
    references: int = 0
    resolved: int = 0


@dataclass
class _Paper:
    labels: tuple[int, ...]
    references: tuple[str, ...]
    authors: tuple[str, ...]
    venue: str


def pairs(
    folders: Sequence[Path], split: maple.Split = "train", cap: int = CAP, seed: int = 0, report: Report | None = None
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
    if split not in maple.SPLITS:
        raise ConfigError(f"unknown split {split!r}; {nearest(split, maple.SPLITS)}")
    if cap < 1:
        raise ConfigError(f"cap = {cap}: a label needs at least one pair")
    told = report if report is not None else Report()
    names, known = _read(folders, split, told)
    kept = _kept(known, cap, seed)
    told.papers, told.labels = len(known), len({label for paper in known.values() for label in paper.labels})
    related = _Related(known)
    done: set[str] = set()
    for folder in folders:
        for paper in maple.papers(folder):
            key = paper.raw.paper_id
            if key not in known or key in done:
                continue
            done.add(key)
            own = known[key]
            positives = [label for label in own.labels if key in kept[label]]
            told.pairs += len(positives)
            told.dropped += len(own.labels) - len(positives)
            if not positives:
                continue
            how, negative = related.hard(key, random.Random(stable_hash([seed, key, "hard"])))
            told.hard[how] += 1
            yield {
                "question": f"{paper.raw.title}{SEP}{paper.raw.abstract}",
                "answers": [],
                "positive_ctxs": [_context(*names[label]) for label in positives],
                "negative_ctxs": [],
                "hard_negative_ctxs": [] if negative is None else [_context(*names[negative])],
            }


def _context(key: str, name: str) -> dict[str, str]:
    return {"title": name, "text": "", "passage_id": key}


def _read(folders: Sequence[Path], split: maple.Split, told: Report) -> tuple[list[tuple[str, str]], dict[str, _Paper]]:
    """Return (id, name) of every label, and the split's papers with a label; of a paper in two folders all labels."""
    numbers: dict[str, int] = {}
    names: list[tuple[str, str]] = []
    known: dict[str, _Paper] = {}
    for folder in folders:
        listed = folder / "labels.txt"
        listed = listed if listed.is_file() else folder / "labels_mesh.txt"
        tree = maple.labels(listed)
        for paper in maple.papers(folder):
            if not maple.wanted(paper, split) or not paper.labels:
                continue
            for label in paper.labels:
                if label not in tree:
                    raise DataError(folder / "papers.json", None, f"paper {paper.raw.paper_id}: label {label!r} is not in "
                                    f"{listed.name}", nearest(label, tree))  # fmt: skip
                if label not in numbers:
                    numbers[label] = len(names)
                    names.append((label, tree[label].name))
            before = known.get(paper.raw.paper_id)
            labels = tuple(dict.fromkeys([*(before.labels if before else ()), *(numbers[one] for one in paper.labels)]))
            known[paper.raw.paper_id] = _Paper(labels, paper.references, paper.authors, paper.raw.venue)
    told.references = sum(len(paper.references) for paper in known.values())
    told.resolved = sum(one in known for paper in known.values() for one in paper.references)
    if not known:
        raise DataError(folders[0] / "papers.json", None, f"no labelled paper in split {split!r}")
    return names, known


def _kept(known: dict[str, _Paper], cap: int, seed: int) -> dict[int, set[str]]:
    """Return by label the papers that keep it: all, or `cap` drawn."""
    having: dict[int, list[str]] = {}
    for key, paper in known.items():
        for label in paper.labels:
            having.setdefault(label, []).append(key)
    place = {key: stable_hash([seed, key, "cap"]) for key in known}
    return {
        label: set(keys if len(keys) <= cap else sorted(keys, key=place.__getitem__)[:cap])
        for label, keys in having.items()
    }


class _Related:
    """Papers related to a paper, by relation."""

    def __init__(self, known: dict[str, _Paper]) -> None:
        self.known = known
        self.of: dict[str, dict[str, list[str]]] = {"author": {}, "venue": {}}
        for key, paper in known.items():
            for author in paper.authors:
                self.of["author"].setdefault(author, []).append(key)
            if paper.venue:
                self.of["venue"].setdefault(paper.venue, []).append(key)

    def hard(self, key: str, drawn: random.Random) -> tuple[str, int | None]:
        """Return (relation, label) of a hard negative; ("", None) where the relatives have none."""
        own = set(self.known[key].labels)
        for relation in drawn.sample(RELATIONS, len(RELATIONS)):
            for other in self._some(key, relation, drawn):
                others = sorted(set(self.known[other].labels) - own)
                if others:
                    return relation, drawn.choice(others)
        return "", None

    def _some(self, key: str, relation: str, drawn: random.Random) -> list[str]:
        paper = self.known[key]
        if relation == "reference":
            options = [one for one in paper.references if one in self.known]
        else:
            groups = paper.authors if relation == "author" else (paper.venue,)
            lists = [found for one in groups if (found := self.of[relation].get(one))]
            options = drawn.choice(lists) if lists else []
        if len(options) <= TRIES:
            chosen = drawn.sample(options, len(options))
        else:
            chosen = [options[drawn.randrange(len(options))] for _ in range(TRIES)]
        return [one for one in chosen if one != key]
