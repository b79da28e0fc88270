"""Seven plain collections for short-query retrieval and the textual neighbours (Singh and Singh 2022, Table 2).

One area holds few papers of a literature of thousands. So each collection has a small literature of its own, made with
the same dials for the fields in question and cut down to the area: at least 240 papers, 3 % of the literature.

A paper is asked for by its own title: what is relevant is known without any judgement, and the ceiling is MRR 100, median
rank 1, T100 100. Oracle: `<id>/t` and `<id>/ta` share a vector of ones and minus ones, the paper's place in binary digits, so
that two papers never point the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scirep_core.data.literature.emit.files import digits, scaled, texts, write_lines, write_oracle
from scirep_core.data.literature.emit.split import sample
from scirep_core.data.literature.latents import LEVELS, Ints, Random, stream
from scirep_core.data.literature.lexicon import lexicon
from scirep_core.data.literature.model import Literature, generate

LEAST, PERCENT = 240, 3
ACCEPTED = 6
"""Mean rating, of 10, from which on the conference accepts."""


class Collection(NamedTuple):
    """One collection: file name, fields its papers come from, the areas or topics that belong to it."""

    config: str
    manifest: str
    published: int
    fields: tuple[str, ...]
    parts: tuple[str, ...]
    venue: str


COLLECTIONS = (
    Collection("acl_anth", "acl_anthology", 35_482, ("Computer science",), ("natural language processing",), "ACL"),
    Collection("iclr", "iclr", 5_032, ("Computer science",), ("deep learning",), "ICLR"),
    Collection("arxiv_cs_sy", "arxiv", 10_000, ("Computer science",), ("systems and control",), "arXiv"),
    Collection("arxiv_math_at", "arxiv", 10_000, ("Mathematics",), ("algebraic topology",), "arXiv"),
    Collection("arxiv_hep_th", "arxiv", 10_000, ("Physics",), ("high energy theory",), "arXiv"),
    Collection("arxiv_qbio_nc", "arxiv", 6_903, ("Biology", "Medicine", "Psychology"),
               ("brain, mind and eye", "memory and learning", "perception and attention", "animal behaviour"), "arXiv"),
    Collection("arxiv_econ", "arxiv", 4_542, ("Economics",), ("econometrics",), "arXiv"),
)  # fmt: skip


def write(root: Path, literature: Literature) -> None:
    """Write the seven collections and their oracles."""
    for number, collection in enumerate(COLLECTIONS):
        wanted = scaled(len(literature), collection.published, PERCENT, LEAST)
        small, papers = gather(literature, collection, number, wanted)
        path = root / collection.manifest / f"{collection.config}.jsonl.gz"
        write_lines(path, _rows(small, papers, collection))
        ids = [f"{paper_id}/{part}" for paper_id in small.ids(papers) for part in ("t", "ta")]
        write_oracle(root, f"neighbours/{collection.config}", ids, digits(np.arange(len(ids)) // 2))


def gather(literature: Literature, collection: Collection, number: int, wanted: int) -> tuple[Literature, Ints]:
    """Return a literature of the collection's fields and the positions of `wanted` papers that belong to it."""
    words = lexicon()
    belongs = np.array(
        [t.name in collection.parts or words.areas[t.area].name in collection.parts for t in words.topics]
    )
    dials, seed = replace(literature.dials, fields=collection.fields), 7 * literature.seed + number + 1
    # of the problems of its fields, those of its own say how large the literature must be
    problems = [p.topic for p in words.problems if words.fields[words.topics[p.topic].field].name in collection.fields]
    size = int(wanted * len(problems) * 5 // belongs[problems].sum() // 4)
    while True:
        small = generate(size, seed, dials)
        papers = np.flatnonzero(belongs[small.latents.topic])
        if len(papers) >= wanted:
            return small, sample(small, "collection", papers, wanted)
        size += size // 4


def _rows(small: Literature, papers: Ints, collection: Collection) -> Iterator[dict[str, Any]]:
    rng = stream(small.seed, "reviews")
    cited, teams = small.cited_by.counts(), small.people.teams.counts()
    noise = round(small.dials.noise * 100)
    for i, text in zip(papers.tolist(), texts(small, papers), strict=True):
        more = {"year": int(small.latents.year[i]), "venue": collection.venue, "n_authors": int(teams[i])}
        row: dict[str, Any] = {**text, **more}
        if collection.config == "iclr":
            row |= _reviews(rng, int(small.latents.quality[i]), noise)
            words = lexicon()
            topic, method = words.topics[small.latents.topic[i]], words.methods[small.latents.method[i]]
            row |= {"keywords": f"{topic.name};{method.name}", "gs_citation": int(cited[i])}
        yield row


def _reviews(rng: Random, quality: int, noise: int) -> dict[str, Any]:
    """Return three or four ratings from 1 to 10, their mean, the reviewers' confidence and the decision.

    A rating is 2 to 9 by quality; at full noise half of the reviewers are one or two points off.
    """
    count = int(rng.integers(3, 5))
    steps = rng.integers(1, 3, size=count) * rng.choice([-1, 1], size=count)
    errors = steps * (rng.integers(0, 200, size=count) < noise)
    ratings = np.clip(2 + quality * 8 // LEVELS + errors, 1, 10)
    total = int(ratings.sum())
    return {
        "ratings": [float(r) for r in ratings],
        "rating_avg": round(total / count, 4),
        "confidences": [float(c) for c in rng.integers(2, 6, size=count)],
        "decision": "Accept" if total >= ACCEPTED * count else "Reject",
    }
