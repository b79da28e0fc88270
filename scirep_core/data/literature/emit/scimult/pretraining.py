"""SciMult's five sources of pre-training pairs, in the JSON form of DPR (SciMult 3.1, Table A1).

    source              query -> positive                 hard negative
    cs_journal          paper -> its labels               label of a paper that it cites, that shares its venue or first
                                                          author, and that it does not have itself
    biomedicine_mesh    the same, MeSH labels             the same
    coarse              paper -> its field                field of a paper that it cites, or its own second field
    citation            paper -> a paper it cites         cited by a paper it cites, but not by itself; 40 % of the queries
    search              query text -> clicked paper       shown, not clicked

A label occurs in at most 100 positive pairs (the coarse ones in 50,000). Texts are joined by ` [SEP] `.
Queries, and what they cite, are papers of the training split (`_train`) and of validation (`_val`), never of evaluation,
nor those lent to it in a small literature. Nothing is evaluated on them; a triple counts as solved where the positive lies
nearer to the query than the hard negative. Oracle: of the label sources a paper has 1 at each of its labels; of citation and
search the reasons for which papers are cited and clicked. Its ids are content hashes of the texts (`text_id`), as the files
name no queries.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scirep_core.data.literature.emit.files import scaled, write_lines, write_oracle
from scirep_core.data.literature.emit.scimult import labels as spaces
from scirep_core.data.literature.emit.scimult.beir import asking
from scirep_core.data.literature.emit.split import EVALUATION, TRAIN, VALIDATION, held_out, sample
from scirep_core.data.literature.emit.training import CODE, reasons
from scirep_core.data.literature.latents import NONE, Ints, Mask, stream
from scirep_core.data.literature.lexicon import MAG, Draw, lexicon, spell
from scirep_core.data.literature.links import grouped
from scirep_core.data.literature.model import Literature
from scirep_core.data.literature.text import any_of, any_of_many, draws

SEP = " [SEP] "
CAP, CAP_COARSE = 100, 50_000
POSITIVES = 5  # citation: 819,836 triplets of 165,340 queries
HARD = 40  # per cent of the citation triplets with a hard negative
SHOWN = 10
SPLITS = ((TRAIN, "train"), (VALIDATION, "val"))
Row = dict[str, Any]
Member = tuple[str, int]
"""What a text is: ("paper" or "query" or "label", its position)."""


class Line(NamedTuple):
    """A line of a file: its question, what asks it, and what its contexts are: labels or papers, by position."""

    question: str
    asker: Member
    kind: str
    positives: list[int]
    hard: list[int]


def write(root: Path, literature: Literature) -> None:
    """Write train and validation of the five sources; a source without queries (a field missing) is left out."""
    part, base = np.where(spaces.lent(literature), NONE, held_out(literature)), root / "scimult" / "pretraining"
    mag, computing = spaces.of_fields(literature, *MAG), spaces.of_fields(literature, "Computer science")
    suitable = {
        "cs_journal": computing & ~spaces.is_conference(literature),
        "biomedicine_mesh": spaces.of_fields(literature, "Biology", "Medicine"),
        "coarse": mag & ~computing,
        "citation": literature.cites.counts() > 0,
        "search": mag,
    }
    for name, (purpose, published, percent, least, lines_of, labels_of) in SOURCES.items():
        labels, members = labels_of(), dict[str, Member]()
        for number, split in SPLITS:
            own = np.flatnonzero((part == number) & suitable[name])
            size = scaled(len(literature), published, percent, least)
            papers = sample(literature, f"pretraining {purpose}", own, size)
            lines = lines_of(literature, papers, labels, part == number)
            first = next(lines, None)
            if first is not None:
                rows = _rows(literature, itertools.chain([first], lines), labels, members)
                write_lines(base / f"{name}_{split}.json", rows)
        if members:
            _oracle(root, literature, name, members, labels)


def text_id(text: str) -> str:
    """Return the id of a text: the files give none to queries, so all texts go by their content."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rows(
    literature: Literature, lines: Iterable[Line], labels: spaces.Space, members: dict[str, Member]
) -> Iterator[Row]:
    def context(kind: str, k: int) -> Row:
        if kind == "label":
            label = labels.labels[k]
            return {"title": label.name, "text": label.definition, "passage_id": label.label_id}
        paper = literature.paper(k)
        return {"title": paper.title, "text": paper.abstract, "passage_id": paper.paper_id}

    for question, asker, kind, positives, hard in lines:
        good, bad = ([context(kind, k) for k in group] for group in (positives, hard))
        texts = [question, *(f"{c['title']}{SEP}{c['text']}" for c in (*good, *bad))]
        members.update(zip(map(text_id, texts), (asker, *((kind, k) for k in (*positives, *hard))), strict=True))
        yield {
            "question": question,
            "answers": [],
            "positive_ctxs": good,
            "negative_ctxs": [],
            "hard_negative_ctxs": bad,
        }


def _oracle(root: Path, literature: Literature, name: str, members: dict[str, Member], labels: spaces.Space) -> None:
    kinds, places = zip(*members.values(), strict=True)
    place, is_paper = np.array(places), np.array([kind != "label" for kind in kinds])
    if not labels.labels:
        vectors = reasons(literature, place)
        vectors[[kind == "query" for kind in kinds], -CODE:] = 0.0  # a query names a problem, no method
    else:
        vectors = np.zeros((len(place), len(labels.labels)), dtype=np.float32)
        answers = spaces.gold(literature.latents, place[is_paper], labels)
        vectors[np.repeat(np.flatnonzero(is_paper), answers.counts()), answers.items] = 1.0
        vectors[np.flatnonzero(~is_paper), place[~is_paper]] = 1.0
    write_oracle(root, f"scimult/pretrain_{name}", list(members), vectors)


def _of_paper(literature: Literature, i: int, kind: str, positives: list[int], hard: list[int]) -> Line:
    paper = literature.paper(i)
    return Line(f"{paper.title}{SEP}{paper.abstract}", ("paper", i), kind, positives, hard)


def _relatives(literature: Literature, papers: Ints, draw: Draw) -> Iterator[tuple[int, int]]:
    """Yield (paper, a relative of it): one it cites, one of its venue, or one of its first author, else itself."""
    latents, teams = literature.latents, literature.people.teams
    venue = latents.field * 1_000 + latents.venue
    there, written = grouped(venue), teams.reverse(len(literature.people))
    for i in papers.tolist():
        lists = (literature.cites.of(i), written.of(int(teams.of(i)[0])), there.of(int(venue[i])))
        options = lists[draw() % 3]
        yield i, any_of_many(options, draw) if len(options) else i


def _labelled(literature: Literature, papers: Ints, labels: spaces.Space, part: Mask) -> Iterator[Line]:
    """Yield papers with their labels, each label at most 100 times: the first papers in a random order have it."""
    answers = spaces.gold(literature.latents, papers, labels)
    row_of = np.repeat(np.arange(len(papers)), answers.counts())
    rank = stream(literature.seed, "cap of labels").permutation(len(papers))[row_of]
    order = np.lexsort((rank, answers.items))
    ordered = answers.items[order]
    mask = np.zeros(len(order), dtype=np.bool_)
    mask[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered) < CAP
    draw = draws(stream(literature.seed, "hard labels"))
    relatives = list(_relatives(literature, papers, draw))
    theirs = spaces.gold(literature.latents, np.array([other for _, other in relatives], dtype=np.int64), labels)
    for row, i in enumerate(papers.tolist()):
        own = answers.of(row)
        positives = own[mask[answers.starts[row] : answers.starts[row + 1]]].tolist()
        if positives:
            others = np.setdiff1d(theirs.of(row), own).tolist()
            yield _of_paper(literature, i, "label", positives, [any_of(others, draw)] if others else [])


def _coarse(literature: Literature, papers: Ints, labels: spaces.Space, part: Mask) -> Iterator[Line]:
    latents, used, draw = literature.latents, Counter[int](), draws(stream(literature.seed, "hard fields"))
    for i in papers.tolist():
        own = int(spaces.OF_MAG[latents.field[i]])
        used[own] += 1
        if used[own] <= CAP_COARSE:
            near = [k for k in (*latents.field[literature.cites.of(i)], latents.second_field[i]) if k != NONE]
            others = [k for k in spaces.OF_MAG[near].tolist() if k not in (own, NONE)] if near else []
            yield _of_paper(literature, i, "label", [own], [any_of(others, draw)] if others else [])


def _citation(literature: Literature, papers: Ints, labels: spaces.Space, part: Mask) -> Iterator[Line]:
    rng, seen = stream(literature.seed, "citation triplets"), held_out(literature) != EVALUATION
    seen &= ~spaces.lent(literature)
    for i in papers.tolist():
        everything = literature.cites.of(i)
        cited = everything[seen[everything]]  # no text of an evaluation paper is seen in training
        if not len(cited):
            continue
        positives = np.sort(rng.permutation(cited)[:POSITIVES]).tolist()
        hard = []
        if int(rng.integers(0, 100)) < HARD:
            through = literature.cites.of(int(cited[int(rng.integers(0, len(cited)))]))
            beyond = np.setdiff1d(through[seen[through]], np.append(everything, i))
            hard = [int(beyond[int(rng.integers(0, len(beyond)))])] if len(beyond) else []
        yield _of_paper(literature, i, "paper", positives, hard)


def _search(literature: Literature, papers: Ints, labels: spaces.Space, part: Mask) -> Iterator[Line]:
    """Yield queries for the problems of papers, with what was clicked and what was only shown, all of the same split."""
    latents, words = literature.latents, lexicon()
    draw, noise = draws(stream(literature.seed, "pretraining searches")), round(literature.dials.noise * 65_536 / 3)
    inside = np.flatnonzero(part)
    alike = [(values, grouped(values[inside])) for values in (latents.area, latents.topic)]
    for i in papers.tolist():
        problem = words.problems[latents.problem[i]]
        text = spell(any_of(words.phrases["topic_query"]["query"], draw), draw, asking(problem, draw))
        shown = {i: None}
        for k in range(SHOWN - 1):
            values, group = alike[k % 2]
            shown.setdefault(int(inside[any_of_many(group.of(int(values[i])), draw)]))
        fits = {k: bool(latents.problem[k] == latents.problem[i]) != (draw() < noise) for k in shown}
        clicked = [k for k, fit in fits.items() if fit and (k == i or draw() % 5 == 0)]
        passed = [k for k, fit in fits.items() if not fit]
        if clicked:
            yield Line(text, ("query", i), "paper", clicked, [any_of(passed, draw)] if passed else [])


SOURCES: dict[str, tuple[str, int, float, int, Callable[..., Iterator[Line]], Callable[[], spaces.Space]]] = {
    "cs_journal": ("journal", 358_447, 10, 400, _labelled, lambda: spaces.space(("Computer science",))),
    "biomedicine_mesh": ("mesh", 1_345_128, 10, 600, _labelled, lambda: spaces.space(spaces.BIOMEDICINE, mesh=True)),
    "coarse": ("coarse", 900_000, 10, 600, _coarse, spaces.coarse_mag),
    "citation": ("citation", 165_340, 4, 600, _citation, lambda: spaces.Space((), {})),
    "search": ("search", 528_497, 4, 600, _search, lambda: spaces.Space((), {})),
}
"""Source -> purpose of its draw; its queries: as published at most, per cent of the papers, at least; its lines and labels."""
