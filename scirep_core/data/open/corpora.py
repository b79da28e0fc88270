"""The papers of the open literature, the part each belongs to, and the leak rule.

A paper's part follows from its id alone, h = int(sha256(paper_id)[:8], 16):

    h mod 5      0 test, 1 dev, 2 to 4 train
    of a corpus that was published without its papers of h mod 5 = 0 (ACL, ML papers): 1 test; of the others a tenth, by the
    next eight digits of the hash, is dev, the rest train

A query, pair or judgement counts only if all its papers are of one part.

The leak rule: a paper whose normalised title (`overlap.title_key`) stands in the test part of any corpus or in any held-out
collection is neither train nor dev; one whose title stands in dev is not train. Titles too short to say anything (Editorial)
are compared with their abstracts: half of CACM is titles alone, and equal ones are equal texts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from scirep_core.data import manifests, read_sample
from scirep_core.data.open import folder
from scirep_core.data.open.compact import bucket
from scirep_core.data.overlap import letters, title_key
from scirep_core.data.readers import csfcube
from scirep_core.data.tables import split_lines
from scirep_core.data.task import Task
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import Paper, read_jsonl

Part = Literal["train", "dev", "test", ""]
"""Of a paper; "" is none: the leak rule left it out."""
WITHOUT_ZERO = ("acl", "ml")
"""Corpora that were published without their papers of h mod 5 = 0."""
HELD_OUT = ("biomimicry", "pubmedqa", "reviewer_match", "cranfield", "scifact")
"""Compact files that are held out whole. (SciFact's train claims train nothing: they are asked of the abstracts that its dev
claims are searched in.)"""
SAMPLES = ("drsm", "peer_review_score", "cite_prediction", "search", "same_author")
"""Real samples (`readers/samples.py`) that are held out whole."""

CLASSIC = {"cacm": "cacm", "cisi": "cisi", "cranfield": "cran"}
"""Collection of classic_ir -> how its files and ids begin."""


class Record(NamedTuple):
    """A paper of a corpus, with its row of the compact file."""

    corpus: str
    paper: Paper
    row: Mapping[str, Any]


def part_of(paper_id: str, corpus: str) -> Part:
    """Return the part a paper belongs to before the leak rule.

    >>> part_of("vis:10.1109/infvis.1995.528680", "vis")
    'train'
    """
    h = bucket(paper_id, 5)
    if corpus not in WITHOUT_ZERO:
        return "test" if h == 0 else "dev" if h == 1 else "train"
    return "test" if h == 1 else "dev" if bucket(paper_id, 10, 8) == 0 else "train"


# --- the compact files ------------------------------------------------------------------------------------------------


def tsv(path: Path) -> Iterator[list[str]]:
    """Yield the rows of a compact .tsv.gz below its header. Raises DataError with the line of a row of another width."""
    width = 0
    for line, row in split_lines(path):
        if width and len(row) != width:
            raise DataError(path, line, f"{len(row)} cells where the header has {width}", "Fetch the file again")
        if width:
            yield row
        width = len(row)


def _papers(corpus: str, path: Path, key: str = "paper_id", title: str = "title", prefix: str = "") -> Iterator[Record]:
    for _, row in read_jsonl(path):
        abstract = row["abstract"] if isinstance(row["abstract"], str) else " ".join(row["abstract"])
        yield Record(corpus, Paper(prefix + row[key], row[title], abstract, row.get("year")), row)


@functools.cache
def records(corpus: str) -> Mapping[str, Record]:
    """Return the papers of a corpus by id, in the order of the compact file. Reviewers' papers without an abstract are left
    out; of the classic collections, half of CACM has a title alone.

    Args:
        corpus: acl, vis, synergy, arxiv, ml (papers with years and citations), scifact, cacm, cisi, cranfield, biomimicry,
            pubmedqa, reviewer_match.
    """
    bare = corpus in CLASSIC
    return {record.paper.paper_id: record for record in _read(corpus) if bare or record.paper.abstract}


def _read(corpus: str) -> Iterator[Record]:
    if corpus == "ml":
        return _papers(corpus, manifests.fetch("neighbours_sample") / "ml_year_citations.jsonl.gz")
    if corpus == "scifact":
        return _papers(corpus, folder("scifact_corpus") / "corpus.jsonl.gz", "doc_id", prefix="scifact:")
    if corpus in CLASSIC:
        return _papers(corpus, folder("classic_ir") / f"{CLASSIC[corpus]}_docs.jsonl.gz", "doc_id")
    source = {"acl": "acl_graph", "synergy": "synergy_openalex", "arxiv": "arxiv_cs"}.get(corpus, corpus)
    return _papers(corpus, folder(source) / "papers.jsonl.gz", title="question" if corpus == "pubmedqa" else "title")


# --- parts and the leak rule ------------------------------------------------------------------------------------------

CORPORA = ("acl", "vis", "synergy", "arxiv", "ml", "cacm", "cisi")
"""Corpora that are split: training tasks are made of them, and held-out ones of their test parts."""


@functools.cache
def parts() -> Mapping[str, Part]:
    """Return the part of every paper of `CORPORA`, by id, after the leak rule."""
    found: dict[str, Part] = {}
    keys: dict[str, str] = {}
    for corpus in CORPORA:
        for key, record in records(corpus).items():
            found[key], keys[key] = part_of(key, corpus), text_key(record.paper)
    tested = {keys[key] for key, part in found.items() if part == "test"} | {
        text_key(paper) for paper in held_out_papers()
    }
    held: dict[Part, set[str]] = {"dev": tested - {""}, "test": set(), "": set()}
    held["train"] = held["dev"] | {keys[key] for key, part in found.items() if part == "dev" and keys[key]}
    return {key: "" if keys[key] in held[part] else part for key, part in found.items()}


def text_key(paper: Paper) -> str:
    """Return what papers that are the same have in common: the normalised title, or, of a short one, the whole text."""
    return title_key(paper.title) or letters(f"{paper.title} {paper.abstract}")


def held_out_papers() -> Iterator[Paper]:
    """Yield the papers of every collection that is held out whole."""
    for corpus in HELD_OUT:
        yield from (record.paper for record in _read(corpus))
    for name in SAMPLES:
        yield from sample(name).texts()
    yield from faceted().papers.values()


def sample(name: str) -> Task:
    """Return a real sample as a task."""
    return read_sample(f"sample/{name}")


@functools.cache
def faceted() -> csfcube.FacetCollection:
    """Return CSFCube's test collection."""
    return csfcube.read(manifests.fetch("csfcube"), "real")


def of_part(corpus: str, part: Part) -> dict[str, Record]:
    """Return the papers of a corpus that belong to a part."""
    assigned = parts()
    return {key: record for key, record in records(corpus).items() if assigned[key] == part}


def links(path: Path, papers: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a .tsv.gz both of whose papers are among `papers`; no paper is linked to itself."""
    return ((a, b) for a, b in tsv(path) if a in papers and b in papers and a != b)


def texts(ids: Iterable[str], *corpora: str) -> list[Paper]:
    """Return the papers of ids, each once, in the order of the corpora."""
    wanted = set(ids)
    return [record.paper for corpus in corpora for key, record in records(corpus).items() if key in wanted]
