"""Label spaces: the tree of a field and the shared methods and findings as texts (SciMult 4.2; MAPLE).

A label is a concept of the lexicon with its name and definition (`KINDS`). A paper's gold labels are the concepts its
latents name, main and second: 7 to 12 of them. The label space of a field is its own tree and ALL methods and findings, however
few papers there are (Geography: 241 labels, Computer science: 377); that of the MeSH sets joins biology, chemistry and
medicine, and there a second problem counts, too.

Name matching (SciMult 4.2, rule of MICoL): a label is a candidate of a paper whose normalised title or abstract holds the
label's normalised name between word boundaries. Only primary names count.

Oracle: one dimension a label; a paper has 1 where it carries the label, a label 1 at its own place.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scirep_core.data.literature.emit.files import Floats, texts, write_lines, write_oracle
from scirep_core.data.literature.emit.scirepeval.classification import disease_of_topic
from scirep_core.data.literature.emit.split import EVALUATION, held_out
from scirep_core.data.literature.latents import NONE, Ints, Latents, Mask, stream
from scirep_core.data.literature.lexicon import FIELDS, MAG, lexicon, spell
from scirep_core.data.literature.links import Links, from_rows
from scirep_core.data.literature.model import Literature
from scirep_core.kit.records import Paper

KINDS = {
    "area": (1, "areas", "context"), "topic": (2, "topics", "context"), "problem": (3, "problems", "what"),
    "family": (1, "families", ""), "method": (2, "methods", "np"), "group": (1, "groups", ""), "aspect": (2, "aspects", "np"),
}  # fmt: skip
"""Kind of concept -> depth in its tree, its place in the lexicon, the forms it is written in ("" where it has a name alone)."""
SHARED = ("family", "method", "group", "aspect")
BIOMEDICINE = ("Biology", "Chemistry", "Medicine")
CONFERENCE = {"Meeting", "Conference", "Workshop", "Symposium", "Congress", "Proceedings"}
OF_MAG = np.array([MAG.index(name) if name in MAG else NONE for name in FIELDS])
"""Number of each field of study among MAG's 19."""


class Label(NamedTuple):
    """One label; `synonyms` are other spellings of its concept, each written once."""

    label_id: str
    name: str
    definition: str
    depth: int
    synonyms: tuple[str, ...] = ()


class Space(NamedTuple):
    """A label space: labels in file order, and by the latents that decide which row each of their values has (-1: none)."""

    labels: tuple[Label, ...]
    rows: dict[str, Ints]


class Labelled(NamedTuple):
    """A set of papers with their labels: its field, how many papers it has at most, whether its labels are MeSH and defined.

    `venues`: which of the field's venues count: conference, journal or "", all.
    """

    name: str
    field: str
    published: int
    mesh: bool = False
    defined: bool = True
    venues: str = ""

    def space(self) -> Space:
        """Return its label space."""
        return space(BIOMEDICINE if self.mesh else (self.field,), self.mesh)

    def suitable(self, literature: Literature) -> Mask:
        """Return which papers of a literature belong into it."""
        found = of_fields(literature, self.field)
        return found & (is_conference(literature) == (self.venues == "conference")) if self.venues else found


FINE = (
    Labelled("CS-Conference", "Computer science", 261_781, venues="conference"),
    Labelled("Chemistry-MeSH", "Chemistry", 762_129, mesh=True),
    Labelled("Geography", "Geography", 73_883, defined=False),
    Labelled("Psychology", "Psychology", 372_954, defined=False),
)


@functools.cache
def space(names: tuple[str, ...], mesh: bool = False) -> Space:
    """Return the label space of some fields: their areas, topics and problems, then all methods and findings.

    Args:
        names: fields of study.
        mesh: ids `D......` and second problems, as in the MeSH sets; else ids `L....`.
    """
    words = lexicon()
    wanted = {FIELDS.index(name) for name in names}
    fields = {
        "area": [a.field for a in words.areas],
        "topic": [t.field for t in words.topics],
        "problem": [words.topics[p.topic].field for p in words.problems],
    }
    labels, rows, number = list[Label](), dict[str, Ints](), 0
    for kind, (depth, place, forms) in KINDS.items():
        concepts = getattr(words, place)
        rows[kind] = np.full(len(concepts), -1)
        for position, concept in enumerate(concepts):
            number += 1
            if kind in fields and fields[kind][position] not in wanted:
                continue
            rows[kind][position] = len(labels)
            label_id = f"D{number:06d}" if mesh else f"L{number:04d}"
            spelled = dict.fromkeys(spell(form, lambda: 0, {}) for form in (getattr(concept, forms) if forms else ()))
            synonyms = tuple(s for s in spelled if s != concept.name)
            labels.append(Label(label_id, concept.name, concept.definition, depth, synonyms))
    rows |= {f"second_{kind}": rows[kind] for kind in (*SHARED, *["problem"] * mesh)}
    return Space(tuple(labels), rows)


def task_of(name: str) -> str:
    """Return the task of SciMult that is asked of a set."""
    return f"scimult/{name.lower().replace('-', '_')}"


def coarse_mag() -> Space:
    """Return the 19 fields as labels; a field is defined by what its areas are about."""
    of_field = {name: [a.name for a in lexicon().areas if a.field == FIELDS.index(name)] for name in MAG}
    labels = (Label(f"F{k:02d}", name, f"The field of study that covers {'; '.join(of_field[name])}.", 0)
              for k, name in enumerate(MAG))  # fmt: skip
    return Space(tuple(labels), {"field": OF_MAG})


def coarse_mesh() -> Space:
    """Return the 11 groups of diseases as labels."""
    group = disease_of_topic()
    topics = (topic for topic, number in zip(lexicon().topics, group, strict=True) if number != NONE)
    labels = (Label(f"D{900_000 + k:06d}", topic.name, topic.definition, 0) for k, topic in enumerate(topics))
    return Space(tuple(labels), {"topic": group})


def gold(latents: Latents, papers: Ints, labels: Space) -> Links:
    """Return for each of `papers` the rows of its labels, ascending, each once."""
    named = ((getattr(latents, source)[papers], row) for source, row in labels.rows.items())
    table = np.stack([np.where(concept < 0, -1, row[concept]) for concept, row in named], axis=1)
    table.sort(axis=1)
    table[:, 1:][table[:, 1:] == table[:, :-1]] = -1
    return from_rows(table)


def normalised(text: str) -> str:
    """Return a text as names are matched on it: lower case, letters and digits, single spaces.

    >>> normalised("Real-time  Tracking, of U.S. ships")
    'real time tracking of u s ships'
    """
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def matched(names: Sequence[str], paper: Paper) -> list[int]:
    """Return which of some normalised names occur in the title or in the abstract."""
    text = f" {normalised(paper.title)} | {normalised(paper.abstract)} "
    return [row for row, name in enumerate(names) if f" {name} " in text]


def is_conference(literature: Literature) -> Mask:
    """Return for each paper whether its venue is a conference, by the venue's name."""
    conference = [[not CONFERENCE.isdisjoint(name.split()) for name in field.venues] for field in lexicon().fields]
    pairs = zip(literature.latents.field.tolist(), literature.latents.venue.tolist(), strict=True)
    return np.array([conference[field][venue] for field, venue in pairs], dtype=np.bool_)


def of_fields(literature: Literature, *names: str) -> Mask:
    """Return which papers belong to one of these fields."""
    return np.isin(literature.latents.field, [FIELDS.index(name) for name in names])


def evaluation_papers(literature: Literature, suitable: Mask, purpose: str, wanted: int, least: int = 0) -> Ints:
    """Return up to `wanted` suitable papers of the evaluation split, ascending.

    Where the split has fewer than `least`, papers of the others fill up, validation first: a small literature has about
    a hundred papers of geography in all. `lent` names them, and pretraining leaves them out.
    """
    part = held_out(literature)
    order = stream(literature.seed, f"papers of {purpose}").permutation(np.flatnonzero(suitable))
    order = order[np.argsort(-part[order], kind="stable")]
    own = int((part[order] == EVALUATION).sum())
    return np.sort(order[: min(wanted, max(own, least))])


def of_set(literature: Literature, which: Labelled) -> Ints:
    """Return the papers of a set of fine-grained classification: at most 2 % of a large literature."""
    wanted = min(which.published, max(800, len(literature) // 50))
    return evaluation_papers(literature, which.suitable(literature), which.name, wanted, least=40)


def of_mesh(literature: Literature) -> Ints:
    """Return the papers of the coarse MeSH set."""
    suitable: Mask = disease_of_topic()[literature.latents.topic] != NONE
    return evaluation_papers(literature, suitable, "MeSH", min(23_473, max(400, len(literature) // 20)), least=60)


def lent(literature: Literature) -> Mask:
    """Return which papers serve in an evaluation of labels though their split is another: training leaves them out."""
    used = np.concatenate([*(of_set(literature, which) for which in FINE), of_mesh(literature)])
    found: Mask = np.isin(np.arange(len(literature)), used) & (held_out(literature) != EVALUATION)
    return found


def write(root: Path, literature: Literature) -> None:
    """Write the four fine-grained sets and the two coarse ones with their label files, name matches and oracles."""
    base = root / "scimult"
    for which in FINE:
        papers, labels = of_set(literature, which), which.space()
        fine = base / "classification_fine" / which.name
        _write_set(root, fine, literature, papers, labels, which.defined)
        names, ids = [normalised(label.name) for label in labels.labels], [label.label_id for label in labels.labels]
        rows = ({"candidate": [ids[k] for k in matched(names, paper)]} for paper in literature.papers_at(papers))
        write_lines(fine.with_name(f"{which.name}_matched.json"), rows)
    wanted, coarse = min(25_001, max(800, len(literature) // 5)), base / "classification_coarse"
    papers = evaluation_papers(literature, of_fields(literature, *MAG), "MAG", wanted)
    _write_set(root, coarse / "MAG", literature, papers, coarse_mag())
    _write_set(root, coarse / "MeSH", literature, of_mesh(literature), coarse_mesh())


def _write_set(root: Path, base: Path, literature: Literature, papers: Ints, own: Space, defined: bool = True) -> None:
    """Write label file, papers and oracle of a set, as files that begin with `base`. A coarse label is told by its number."""
    labels, answers = own.labels, gold(literature.latents, papers, own)
    named = ((label, label.definition if defined else "") for label in labels)
    label_rows = ({"label": of.label_id, "name": [of.name, *of.synonyms], "definition": said} for of, said in named)
    write_lines(base.with_name(f"{base.name}_label.json"), label_rows)
    ids, given = [label.label_id for label in labels], (answers.of(row).tolist() for row in range(len(papers)))
    told = ([ids[k] for k in numbers] if labels[0].depth else numbers[0] for numbers in given)
    rows = ({**text, "label": said} for text, said in zip(texts(literature, papers, "paper"), told, strict=True))
    write_lines(base.with_name(f"{base.name}_papers_test.json"), rows)
    vectors: Floats = np.zeros((len(papers), len(labels)), dtype=np.float32)
    vectors[np.repeat(np.arange(len(papers)), answers.counts()), answers.items] = 1
    oracle = np.concatenate([vectors, np.eye(len(labels), dtype=np.float32)])
    write_oracle(root, task_of(base.name), literature.ids(papers) + ids, oracle)
