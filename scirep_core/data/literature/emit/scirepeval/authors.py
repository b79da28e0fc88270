"""Author disambiguation in the form of S2AND: six collections of signatures in blocks of equal initial and family name.

Vectors alone: the oracle's B3 is 100 wherever the threshold lies between 0 and 1/12, the least cosine distance of two
authors' codes; one tuned on other blocks may lie above and join two. In S2AND's pipeline a model has to learn from pairs
how far to trust a vector beside names, co-authors and years. So the ceiling is 100 or a little less; the floor is metadata.

A signature is a paper with one of its authors (proximity.signatures). Only papers of the evaluation split take part, and
blocks of two signatures or more. Names vary as on bylines: a given name is an initial in one signature of five, a middle
initial may be missing, an affiliation too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scirep_core.data.literature.emit.files import digits, scaled, write_oracle
from scirep_core.data.literature.emit.scirepeval.proximity import CODE, blocks, collection_of, signatures
from scirep_core.data.literature.emit.split import EVALUATION, held_out
from scirep_core.data.literature.emit.split import shuffled as scattered
from scirep_core.data.literature.latents import Ints, Mask, chance, stream
from scirep_core.data.literature.model import Literature
from scirep_core.kit.store import atomic

COLLECTIONS = ("arnetminer", "inspire", "kisti", "pubmed", "qian", "zbmath")


def write(root: Path, literature: Literature) -> None:
    """Write papers, signatures and clusters of the six collections."""
    author, position = signatures(literature)
    block = blocks(literature.people)[author]
    chosen = _chosen(literature, block)
    known = np.stack([chance(stream(literature.seed, f"bylines {name}"), share, len(literature))
                      for name, share in (("given", 0.8), ("middle", 0.7), ("affiliation", 0.75))])  # fmt: skip
    for number, name in enumerate(COLLECTIONS):
        here = chosen[collection_of(block[chosen]) == number]
        folder = root / "s2and" / name
        _write_object(folder / f"{name}_papers.json", _papers(literature, np.sort(here)))
        _write_object(folder / f"{name}_signatures.json", _signatures(literature, here, author, position, known))
        _write_object(folder / f"{name}_clusters.json", _clusters(here, author))
    write_oracle(root, "scirepeval/s2and", literature.ids(chosen), digits(author[chosen], CODE))


def _chosen(literature: Literature, block: Ints) -> Ints:
    """Return the papers that take part, block by block: whole blocks, in scattered order, up to the size of the task."""
    papers = scattered(literature, "s2and", np.flatnonzero(held_out(literature) == EVALUATION))
    values, place, count = np.unique(block[papers], return_index=True, return_counts=True)
    order = np.argsort(place, kind="stable")  # blocks in the order in which their first paper comes
    order = order[count[order] > 1]
    size = max(scaled(len(literature), 68_968, 25, 300), int(count[order][:1].sum()))
    papers = papers[np.isin(block[papers], values[order[np.cumsum(count[order]) <= size]])]
    return papers[np.argsort(block[papers], kind="stable")]


def _papers(literature: Literature, positions: Ints) -> Iterator[dict[str, Any]]:
    people = literature.people
    for i, paper in zip(positions.tolist(), literature.papers_at(positions), strict=True):
        team = people.teams.of(i).tolist()
        yield {
            "paper_id": int(paper.paper_id),
            "title": paper.title,
            "abstract": paper.abstract,
            "journal_name": paper.venue,
            "venue": paper.venue,
            "year": paper.year,
            "authors": [{"position": k, "author_name": people.name(a)} for k, a in enumerate(team)],
            "references": [int(n) for n in literature.latents.paper_number[literature.cites.of(i)]],
        }


def _signatures(
    literature: Literature, here: Ints, author: Ints, position: Ints, known: Mask
) -> Iterator[dict[str, Any]]:
    people = literature.people
    for number, i in enumerate(here.tolist()):
        given, middle, family = people.parts(int(author[i]))
        block = people.block(int(author[i]))
        info = {
            "position": int(position[i]),
            "block": block,
            "first": given if known[0, i] else given[0],
            "middle": middle if middle and known[1, i] else None,
            "last": family,
            "suffix": None,
            "email": None,
            "affiliations": [people.house(int(author[i]))] if known[2, i] else [],
            "given_block": block,
        }
        yield {"signature_id": str(number), "paper_id": int(literature.paper_id(i)), "author_info": info}


def _clusters(here: Ints, author: Ints) -> Iterator[dict[str, Any]]:
    for number, one in enumerate(np.unique(author[here]).tolist()):
        theirs = [str(k) for k in np.flatnonzero(author[here] == one)]
        yield {"cluster_id": str(number), "signature_ids": theirs, "model_version": -1}


def _write_object(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as one object, by their first values, the ids."""
    with atomic(path) as stream:
        stream.write(b"{")
        for number, row in enumerate(rows):
            stream.write(f'{"," if number else ""}\n"{next(iter(row.values()))}": {json.dumps(row)}'.encode())
        stream.write(b"\n}\n")
