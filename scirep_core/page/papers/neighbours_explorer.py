"""What the perturbation explorer of chapter `neighbours/perturbations` shows, and what answers a text that is typed into it.

    map       the first two principal components of X, the title + abstract vectors of all papers of a collection
    nearest   five of X by cosine, the paper itself left out;  rank  1 + papers strictly more similar than the original

A typed text is no paper of the collection: its original joins X for its own rank. Its 32 neighbours are made as all others are;
the better half of noun phrases, which one code needs, is that of the altered papers and the typed text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.perturbations import perturb, top_phrases, words_kept
from scirep_core.data.perturbations.changes import Parsed, Text
from scirep_core.encoders import Encoder
from scirep_core.encoders.vectors.embed import embed
from scirep_core.evaluators.changed.tools import drawn
from scirep_core.evaluators.rows import unit
from scirep_core.kit.records import Paper
from scirep_core.page.chapter import Chapter
from scirep_core.page.papers.neighbours import FORMAT, WORDS, Subject, encoders, named
from scirep_core.page.rows import INVENTED
from scirep_core.page.widgets.common import View, clip
from scirep_core.page.widgets.perturbations import (
    CODES,
    HEADING,
    OWN,
    SIDE,
    Changed,
    Map,
    PerturbationExplorer,
    Placed,
    Shown,
    paper_data,
    perturbation_data,
)

PAPERS, NEAR, DOTS = 6, 5, 300
"""Papers offered, nearest papers looked at, dots of a map."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Space:
    """One encoder's vectors of a collection: where texts are put among them.

    Attributes:
        whole: (papers, dim) title + abstract of all papers.
    """

    encoder: Encoder
    whole: NDArray[np.float32]

    @cached_property
    def units(self) -> Floats:
        """(papers, dim) vectors of length 1."""
        return unit(self.whole)

    @cached_property
    def frame(self) -> tuple[Floats, Floats, float]:
        """Mean, (dim, 2) axes and the share of the variance that they hold."""
        mean = self.units.mean(axis=0)
        _, sizes, axes = np.linalg.svd(self.units - mean, full_matrices=False)
        for axis in axes[:2]:  # of the two signs the one whose largest part is positive: the same map on every machine
            axis *= np.sign(axis[np.argmax(np.abs(axis))]) or 1
        return mean, axes[:2].T, float(np.square(sizes[:2]).sum() / max(np.square(sizes).sum(), 1e-12))

    @cached_property
    def scale(self) -> tuple[Floats, float]:
        """Middle of all papers on the map, and their larger side."""
        found = (self.units - self.frame[0]) @ self.frame[1]
        low, high = found.min(axis=0), found.max(axis=0)
        return (low + high) / 2, max(float((high - low).max()), 1e-12)

    def places(self, vectors: NDArray[Any]) -> NDArray[np.int64]:
        """Return (n, 2) places on the map, all papers within 0 and SIDE; other texts may lie outside."""
        middle, side = self.scale
        found = ((unit(vectors) - self.frame[0]) @ self.frame[1] - middle) / side + 0.5
        return np.round(found * SIDE).astype(np.int64)

    def placed(self, original: NDArray[Any], vectors: NDArray[Any], own: int | None) -> list[Placed]:
        """Return where texts are put.

        Args:
            original: (dim,) of the paper they are made of. vectors: (n, dim) of the texts. own: its number, None where it is
                no paper of the collection.
        """
        texts, mine = unit(vectors), unit(original[None])[0]
        scores = (texts @ self.units.T).astype(np.float32)  # single precision, so that equal texts tie
        cosines = (texts @ mine).astype(np.float32)
        ranks = 1 + (scores > cosines[:, None]).sum(axis=1)
        if own is not None:
            scores[:, own] = -np.inf
        near = np.argsort(-scores, axis=1, kind="stable")[:, : min(NEAR, len(self.units) - (own is not None))]
        spots = self.places(vectors)
        return [
            Placed(int(spot[0]), int(spot[1]), float(cosine), int(rank), tuple(int(i) for i in row))
            for spot, cosine, rank, row in zip(spots, cosines, ranks, near, strict=True)
        ]

    def dots(self, also: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return (number, x, y) of papers: an even choice of DOTS of all, and those asked for."""
        chosen = {int(i) for i in np.linspace(0, len(self.whole) - 1, min(DOTS, len(self.whole)))} | set(also)
        spots = self.places(self.whole[sorted(chosen)])
        return [(i, int(x), int(y)) for i, (x, y) in zip(sorted(chosen), spots, strict=True)]


def spaces(subject: Subject, found: Sequence[Encoder]) -> list[Space]:
    """Return the collection under each encoder."""
    return [Space(encoder, subject.whole(encoder)) for encoder in found]


def chosen(subject: Subject) -> list[str]:
    """Return the papers offered: altered ones that have an abstract, evenly over the collection."""
    able = [key for key in subject.chosen if subject.task.papers[key].abstract.strip()] or subject.chosen
    return [able[int(at)] for at in np.linspace(0, len(able) - 1, min(PAPERS, len(able)))] if able else []


def shown(subject: Subject, key: str, found: Sequence[Space]) -> Shown:
    """Return one paper with its 32 neighbours under each encoder."""
    paper, own = subject.task.papers[key], subject.ids.index(key)
    made = {
        code: (altered.texts[altered.ids.index(key)], altered.shares[altered.ids.index(key)])
        for code, altered in subject.made.by_code.items()
        if key in altered.ids
    }
    texts = [Paper(key, *text) for text, _ in made.values()]
    vectors = [embed(space.encoder, [space.encoder.recipe.of_paper(text) for text in texts], FORMAT) for space in found]
    reasons = {code: _reason(subject, paper, code) for code in CODES if code not in made}
    originals = [space.whole[own] for space in found]
    return _shown(
        key, own, paper, Parsed(paper.abstract, subject.made.tools).sentences, made, reasons, found, vectors, originals
    )


def _reason(subject: Subject, paper: Paper, code: str) -> str:
    """Return why a code does not apply to a paper, asked again; of the top phrases, which need the corpus, as it is."""
    tools = subject.made.tools
    one = perturb(
        paper.paper_id, Parsed(paper.title, tools), Parsed(paper.abstract, tools), code, subject.seed, frozenset()
    )
    return one.reason or "does not apply"


def _shown(
    key: str, own: int | None, paper: Paper, sentences: Sequence[str], made: dict[str, tuple[Text, float]], reasons: dict[str, str],
    found: Sequence[Space], vectors: Sequence[NDArray[Any]], originals: Sequence[NDArray[Any]],
) -> Shown:  # fmt: skip
    by_encoder = [space.placed(first, rows, own) for space, first, rows in zip(found, originals, vectors, strict=True)]
    places = {code: tuple(rows[at] for rows in by_encoder) for at, code in enumerate(made)}
    changed = [
        Changed(code, *made[code][0], made[code][1], places[code])
        if code in made
        else Changed(code, reason=reasons[code])
        for code in CODES
    ]
    placed = tuple(space.placed(first, first[None], own)[0] for space, first in zip(found, originals, strict=True))
    return Shown(key, own, paper.title, paper.abstract, tuple(sentences), placed, changed)


def near_of(papers: Sequence[Shown]) -> list[set[int]]:
    """Return by encoder the numbers of papers that are near something shown."""
    found: list[set[int]] = [set() for _ in (papers[0].placed if papers else ())]
    for paper in papers:
        for placed in (paper.placed, *(change.placed for change in paper.changed if not change.reason)):
            for side, one in enumerate(placed):
                found[side].update(one.near)
    return found


class Answering:
    """What a kernel answers to a typed text: its neighbours, encoded and placed as the others are."""

    def __init__(self, subject: Subject, found: Sequence[Space]) -> None:
        """Keep the collection and its spaces; nothing is computed yet."""
        self.subject, self.spaces = subject, found

    @cached_property
    def phrases(self) -> list[list[str]]:
        """Noun phrases of the altered papers' abstracts, at most of those looked at by `drawn`."""
        tools = self.subject.made.tools
        return [
            Parsed(self.subject.task.papers[key].abstract, tools).phrases
            for key in drawn(self.subject.chosen, self.subject.seed)
        ]

    def __call__(self, title: str, abstract: str) -> View:
        """Return the data of a text, with titles and map places of papers near it."""
        tools, paper = self.subject.made.tools, Paper(OWN, title, abstract)
        parsed = Parsed(title, tools), Parsed(abstract, tools)
        top = top_phrases([*self.phrases, parsed[1].phrases])
        every = [perturb(OWN, *parsed, code, self.subject.seed, top) for code in CODES]
        before = Text(title, abstract)
        texts = {one.code: Text(one.title or "", one.abstract or "") for one in every if one.applies}
        made = {code: (text, words_kept(before, text)) for code, text in texts.items()}
        vectors, originals = [], []
        for space in self.spaces:
            recipe = space.encoder.recipe
            read = [recipe.of_paper(paper), *(recipe.of_paper(Paper(OWN, *text)) for text in texts.values())]
            rows = space.encoder.encode(read, FORMAT)  # not through the store: nobody asks for these again
            originals.append(rows[0])
            vectors.append(rows[1:])
        reasons = {one.code: one.reason for one in every if not one.applies}
        one = _shown(OWN, None, paper, parsed[1].sentences, made, reasons, self.spaces, vectors, originals)
        near = near_of([one])
        papers, ids = self.subject.task.papers, self.subject.ids
        return {
            "paper": paper_data(one),
            "titles": {str(i): clip(papers[ids[i]].title, HEADING) for i in sorted(set().union(*near))},
            "points": [
                [list(dot) for dot in space.dots(sorted(of))] for space, of in zip(self.spaces, near, strict=True)
            ],
        }


def explore(chapter: Chapter, subjects: Sequence[Subject]) -> PerturbationExplorer | None:
    """Return the explorer over the first collection that has papers; None without one, or without an encoder.

    It opens on the change that leaves an original farthest down the list of papers nearest to the changed text.
    """
    for subject in subjects:
        found = list(encoders(chapter, subject))
        if subject.chosen and found:
            made = explorer(chapter, subject, found)
            made.selection = farthest(made)
            made.badge = INVENTED if subject.task.source == "embedded" else ""
            return made
    return None


def farthest(widget: PerturbationExplorer) -> dict[str, str]:
    """Return the paper and the code whose original is farthest down with some encoder; of equals the first."""
    ranks = {
        (paper["id"], code): max(place[3] for place in change[3])
        for paper in widget._view["papers"]
        for code, change in zip(CODES, paper["codes"], strict=True)
        if not isinstance(change, str) and change[3]
    }
    paper, code = max(ranks, key=lambda key: ranks[key])
    return {"paper": paper, "code": code}


def plain(widget: PerturbationExplorer | None) -> str:
    """Return the plain twin of what is explored, or that there is nothing."""
    return widget.static_fallback() if widget else "<p>No collection or no encoder is at hand: nothing to explore.</p>"


def explorer(chapter: Chapter, subject: Subject, found: Sequence[Encoder]) -> PerturbationExplorer:
    """Return the explorer over some papers of a collection, answering typed texts where a kernel runs."""
    looked = spaces(subject, found)
    papers = [shown(subject, key, looked) for key in chosen(subject)]
    near = near_of(papers)
    maps = [
        Map(space.encoder.name, named(space.encoder.name), space.dots(sorted(of)), space.frame[2])
        for space, of in zip(looked, near or [set[int]()] * len(looked), strict=True)
    ]
    everyone = sorted({i for of in near for i in of})
    invented = " of the embedded literature: invented, none is real" if subject.task.source == "embedded" else ""
    about = f"{len(papers)} of {len(subject.ids):,} papers{invented}."
    view = perturbation_data(
        papers, maps, {i: subject.task.papers[subject.ids[i]].title for i in everyone}, total=len(subject.ids), k=NEAR, about=about,
        opened=chapter.notebook, called=WORDS,
    )  # fmt: skip
    return PerturbationExplorer(view, Answering(subject, looked))
