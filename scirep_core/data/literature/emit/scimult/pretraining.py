"""SciMult's five sources of pre-training pairs, in the JSON form of DPR (SciMult 3.1, Table A1).

    source              query -> positive                 hard negative
    cs_journal          paper -> its labels               label of a paper that it cites, that shares its venue or first
                                                          author, and that it does not have itself
    biomedicine_mesh    the same, MeSH labels             the same
    coarse              paper -> its field                field of a paper that it cites, or its own second field
    citation            paper -> a paper it cites         cited by a paper it cites, but not by itself; 40 % of the queries
    search              query text -> clicked paper       shown, not clicked

One JSON line a query: question, answers, positive_ctxs, negative_ctxs, hard_negative_ctxs; contexts are title, text and
passage_id. A label occurs in at most 100 positive pairs (the coarse ones in 50,000). Texts are joined by ` [SEP] `.
Queries, and what they cite, are papers of the training split (`_train`) and of validation (`_val`), never of evaluation,
nor those lent to it in a small literature. Labels are decided by latents.py, clicks err with `noise`. Nothing is evaluated
on them; a triple counts as solved where the positive lies nearer to the query than the hard negative. Oracle: of the label
sources a paper has 1 at each of its labels (all solved: deterministic); of citation and search the reasons for which papers
are cited and clicked (not all). Its ids are content hashes of the texts (`text_id`), as the files name no queries.
All five share their latents with evaluation tasks of the same kind: fields, topics, methods, findings, citations.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scirep_core.data.literature.emit.files import scaled, write_lines, write_oracle
from scirep_core.data.literature.emit.scimult.beir import asking
from scirep_core.data.literature.emit.scimult.labels import (  # fmt: skip
    BIOMEDICINE,
    OF_MAG,
    Label,
    Mask,
    Space,
    coarse_mag,
    gold,
    is_conference,
    lent,
    of_fields,
    space,
)
from scirep_core.data.literature.emit.split import EVALUATION, TRAIN, VALIDATION, held_out, sample
from scirep_core.data.literature.emit.training import CODE, reasons
from scirep_core.data.literature.latents import NONE, Ints, stream
from scirep_core.data.literature.lexicon import FIELDS, MAG, Draw, lexicon, spell
from scirep_core.data.literature.links import grouped
from scirep_core.data.literature.model import Literature
from scirep_core.data.literature.text import any_of, any_of_many, draws
from scirep_core.kit.records import Paper

SEP = " [SEP] "
CAP, CAP_COARSE = 100, 50_000
POSITIVES = 5  # citation: 819,836 triplets of 165,340 queries
HARD = 40  # per cent of the citation triplets with a hard negative
SHOWN = 10
SPLITS = ((TRAIN, "train"), (VALIDATION, "val"))
SOURCES = ("cs_journal", "biomedicine_mesh", "coarse", "citation", "search")
Row = dict[str, Any]
Member = tuple[str, int]
"""What a text is: ("paper" or "query" or "label", its position)."""


def write(root: Path, literature: Literature) -> None:
    """Write train and validation of the five sources; a source without queries (a field missing) is left out."""
    part = np.where(lent(literature), NONE, held_out(literature))
    mag, journal = of_fields(literature, *MAG), ~is_conference(literature)
    computing = of_fields(literature, "Computer science")
    fine, mesh = space(("Computer science",)), space(BIOMEDICINE, mesh=True)
    members: dict[str, dict[str, Member]] = {name: {} for name in SOURCES}
    for number, split in SPLITS:
        own = part == number

        def papers(suitable: Mask, published: int, percent: float, least: int, purpose: str, own: Mask = own) -> Ints:
            count = scaled(len(literature), published, percent, least)
            return sample(literature, f"pretraining {purpose}", np.flatnonzero(own & suitable), count)

        cites = literature.cites.counts() > 0
        sources = {
            "cs_journal": _labelled(literature, papers(computing & journal, 358_447, 10, 400, "journal"), fine),
            "biomedicine_mesh": _labelled(
                literature, papers(of_fields(literature, "Biology", "Medicine"), 1_345_128, 10, 600, "mesh"), mesh
            ),
            "coarse": _coarse(literature, papers(mag & ~computing, 900_000, 10, 600, "coarse")),
            "citation": _citation(literature, papers(cites, 165_340, 4, 600, "citation")),
            "search": _search(literature, papers(mag, 528_497, 4, 600, "search"), own),
        }
        for name, rows in sources.items():
            first = next(rows, None)
            if first is not None:
                path = root / "scimult" / "pretraining" / f"{name}_{split}.json"
                write_lines(path, _remembered(itertools.chain([first], rows), members[name]))
    labels = {"cs_journal": fine, "biomedicine_mesh": mesh}
    for name, found in members.items():
        if found:
            _oracle(root, literature, name, found, labels.get(name))


def text_id(text: str) -> str:
    """Return the id of a text: the files give none to queries, so all texts go by their content."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _remembered(rows: Iterable[tuple[Row, list[Member]]], members: dict[str, Member]) -> Iterator[Row]:
    """Yield rows, and note which latents stand behind each text."""
    for row, of_row in rows:
        contexts = [*row["positive_ctxs"], *row["hard_negative_ctxs"]]
        texts = [row["question"], *(f"{c['title']}{SEP}{c['text']}" for c in contexts)]
        members.update(zip(map(text_id, texts), of_row, strict=True))
        yield row


def _oracle(root: Path, literature: Literature, name: str, members: dict[str, Member], labels: Space | None) -> None:
    """Write the oracle of one source; `labels`: the space of a label source."""
    kinds, places = zip(*members.values(), strict=True)
    place, is_paper = np.array(places), np.array([kind != "label" for kind in kinds])
    latents = literature.latents
    if name in ("citation", "search"):
        vectors = reasons(literature, place)
        vectors[[kind == "query" for kind in kinds], -CODE:] = 0.0  # a query names a problem, no method
    else:
        size = len(labels.labels) if labels else len(MAG)
        vectors = np.zeros((len(place), size), dtype=np.float32)
        rows, papers = np.flatnonzero(is_paper), place[is_paper]
        if labels:
            answers = gold(latents, papers, labels)
            vectors[np.repeat(rows, answers.counts()), answers.items] = 1.0
        else:
            vectors[rows, OF_MAG[latents.field[papers]]] = 1.0
        vectors[np.flatnonzero(~is_paper), place[~is_paper]] = 1.0
    write_oracle(root, f"scimult/pretrain_{name}", list(members), vectors)


def _row(question: str, positives: list[Row], hard: list[Row]) -> Row:
    return {
        "question": question,
        "answers": [],
        "positive_ctxs": positives,
        "negative_ctxs": [],
        "hard_negative_ctxs": hard,
    }


def _of_label(label: Label) -> Row:
    return {"title": label.name, "text": label.definition, "passage_id": label.label_id}


def _of_paper(paper: Paper) -> Row:
    return {"title": paper.title, "text": paper.abstract, "passage_id": paper.paper_id}


def _question(paper: Paper) -> str:
    return f"{paper.title}{SEP}{paper.abstract}"


def _relatives(literature: Literature, papers: Ints, draw: Draw) -> Iterator[tuple[int, int]]:
    """Yield (paper, a relative of it): one it cites, one of its venue, or one of its first author, else itself."""
    latents, teams = literature.latents, literature.people.teams
    venue = latents.field * 1_000 + latents.venue
    there, written = grouped(venue), teams.reverse(len(literature.people))
    for i in papers.tolist():
        lists = (literature.cites.of(i), written.of(int(teams.of(i)[0])), there.of(int(venue[i])))
        options = lists[draw() % 3]
        yield i, any_of_many(options, draw) if len(options) else i


def _labelled(literature: Literature, papers: Ints, labels: Space) -> Iterator[tuple[Row, list[Member]]]:
    """Yield papers with their labels, each label at most 100 times: the first papers in a random order have it."""
    answers = gold(literature.latents, papers, labels)
    row_of = np.repeat(np.arange(len(papers)), answers.counts())
    rank = stream(literature.seed, "cap of labels").permutation(len(papers))[row_of]
    order = np.lexsort((rank, answers.items))
    ordered = answers.items[order]
    mask = np.zeros(len(order), dtype=np.bool_)
    mask[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered) < CAP
    draw = draws(stream(literature.seed, "hard labels"))
    relatives = list(_relatives(literature, papers, draw))
    theirs = gold(literature.latents, np.array([other for _, other in relatives], dtype=np.int64), labels)
    for row, paper in enumerate(literature.papers_at(papers)):
        own = answers.of(row)
        positives = own[mask[answers.starts[row] : answers.starts[row + 1]]].tolist()
        if not positives:
            continue
        others = np.setdiff1d(theirs.of(row), own).tolist()
        hard = [any_of(others, draw)] if others else []
        members = [("paper", int(papers[row])), *(("label", k) for k in (*positives, *hard))]
        texts = ([_of_label(labels.labels[k]) for k in group] for group in (positives, hard))
        yield _row(_question(paper), *texts), members


def _coarse(literature: Literature, papers: Ints) -> Iterator[tuple[Row, list[Member]]]:
    """Yield papers with their field."""
    fields = dict(zip(MAG, coarse_mag(), strict=True))
    latents, used = literature.latents, dict.fromkeys(MAG, 0)
    draw = draws(stream(literature.seed, "hard fields"))
    for i, paper in zip(papers.tolist(), literature.papers_at(papers), strict=True):
        own = FIELDS[latents.field[i]]
        used[own] += 1
        if used[own] > CAP_COARSE:
            continue
        near = [FIELDS[k] for k in (*latents.field[literature.cites.of(i)], latents.second_field[i]) if k != NONE]
        others = [name for name in near if name != own and name in fields]
        hard = [any_of(others, draw)] if others else []
        members = [("paper", i), *(("label", MAG.index(name)) for name in (own, *hard))]
        yield _row(_question(paper), [_of_label(fields[own])], [_of_label(fields[name]) for name in hard]), members


def _citation(literature: Literature, papers: Ints) -> Iterator[tuple[Row, list[Member]]]:
    """Yield papers with up to five of those they cite."""
    rng, seen = stream(literature.seed, "citation triplets"), held_out(literature) != EVALUATION
    seen &= ~lent(literature)
    for i, paper in zip(papers.tolist(), literature.papers_at(papers), strict=True):
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
        members = [("paper", k) for k in (i, *positives, *hard)]
        texts = (list(map(_of_paper, literature.papers_at(group))) for group in (positives, hard))
        yield _row(_question(paper), *texts), members


def _search(literature: Literature, papers: Ints, own: Mask) -> Iterator[tuple[Row, list[Member]]]:
    """Yield queries for the problems of papers, with what was clicked and what was only shown, all of the same split."""
    latents, words = literature.latents, lexicon()
    draw, noise = draws(stream(literature.seed, "pretraining searches")), round(literature.dials.noise * 65_536 / 3)
    inside = np.flatnonzero(own)
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
            hard = [any_of(passed, draw)] if passed else []
            members = [("query", i), *(("paper", k) for k in (*clicked, *hard))]
            texts = (list(map(_of_paper, literature.papers_at(group))) for group in (clicked, hard))
            yield _row(text, *texts), members
