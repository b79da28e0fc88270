"""MAPLE: all papers of a field with their labels, one folder a data set, as its readers expect them (SciMult A; MAPLE).

Twenty-three folders as published: the 19 fields, computer science as conferences (`CSRankings`) and journals
(`Computer_Science`), and three with MeSH labels. Labels are those of labels.py; references point to any paper of the
literature, also outside the field. No task of its own, hence no oracle: the fine-grained sets of SciMult are drawn from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scirep_core.data.literature.emit.files import write_lines, write_tabs
from scirep_core.data.literature.emit.scimult.labels import Labelled, Space, gold
from scirep_core.data.literature.latents import Ints
from scirep_core.data.literature.lexicon import FIELDS, MAG, lexicon
from scirep_core.data.literature.model import Literature

PUBLISHED = {
    "Art": 58_373, "Philosophy": 59_296, "Geography": 73_883, "Business": 84_858, "Sociology": 90_208,
    "History": 113_147, "Political science": 115_291, "Environmental science": 123_945, "Economics": 178_670,
    "Engineering": 270_006, "Psychology": 372_954, "Geology": 431_834, "Mathematics": 490_551,
    "Materials science": 1_337_731, "Physics": 1_369_983, "Biology": 1_588_778, "Chemistry": 1_849_956,
    "Medicine": 2_646_105,
}  # fmt: skip
FOLDERS = (
    *(Labelled(name.title().replace(" ", "_"), name, PUBLISHED[name]) for name in MAG if name != "Computer science"),
    Labelled("CSRankings", "Computer science", 263_393, venues="conference"),
    Labelled("Computer_Science", "Computer science", 410_603, venues="journal"),
    Labelled("Biology_MeSH", "Biology", 1_379_393, mesh=True),
    Labelled("Chemistry_MeSH", "Chemistry", 762_129, mesh=True),
    Labelled("Medicine_MeSH", "Medicine", 1_536_660, mesh=True),
)
VENUE = "V{:02d}{:02d}".format
"""Id of a venue: its field, and its number there."""
OTHER = re.compile(r"[^a-z0-9]+")


def write(root: Path, literature: Literature) -> None:
    """Write the 23 folders, paper by paper."""
    for folder in FOLDERS:
        papers = np.flatnonzero(folder.suitable(literature))[: folder.published]
        if len(papers):  # a literature of a few fields has no others
            _write_folder(root / "maple" / folder.name, literature, folder, papers)


def _write_folder(base: Path, literature: Literature, folder: Labelled, papers: Ints) -> None:
    labels = folder.space()
    write_lines(base / "papers.json", _papers(literature, papers, labels))
    named = [(label, label.label_id, plain(label.name)) for label in labels.labels]
    if folder.mesh:
        write_tabs(base / "labels.txt", (ends for _, *ends in named))
        write_tabs(base / "labels_mesh.txt", ((*ends, *label.synonyms) for label, *ends in named))
    else:
        write_tabs(base / "labels.txt", ((*ends, label.depth) for label, *ends in named))
    people = literature.people
    authors = np.unique(np.concatenate([people.teams.of(i) for i in papers.tolist()]))
    names = ((f"A{a}", people.name(a)) for a in authors.tolist())
    write_tabs(base / "authors.txt", ((key, plain(name), name) for key, name in names))
    field = FIELDS.index(folder.field)
    venues = [(VENUE(field, k), lexicon().fields[field].venues[k])
              for k in np.unique(literature.latents.venue[papers]).tolist()]  # fmt: skip
    write_tabs(base / "venues.txt", ((key, plain(name), name) for key, name in venues))


def _papers(literature: Literature, papers: Ints, labels: Space) -> Iterator[dict[str, Any]]:
    latents, ids = literature.latents, [label.label_id for label in labels.labels]
    answers = gold(latents, papers, labels)
    for row, (i, paper) in enumerate(zip(papers.tolist(), literature.papers_at(papers), strict=True)):
        yield {
            "paper": paper.paper_id,
            "venue": VENUE(latents.field[i], latents.venue[i]),
            "year": str(paper.year),
            "title": plain(paper.title),
            "label": [ids[k] for k in answers.of(row).tolist()],
            "author": [f"A{a}" for a in literature.people.teams.of(i).tolist()],
            "reference": literature.ids(literature.cites.of(i)),
            "abstract": plain(paper.abstract),
            "title_raw": paper.title,
            "abstract_raw": paper.abstract,
        }


def plain(text: str) -> str:
    """Return a text as MAPLE normalises it.

    >>> plain("Real-time tracking, re-read: 3 ways.")
    'realtime tracking reread 3 ways'
    """
    return OTHER.sub(" ", text.lower().replace("-", "")).strip()
