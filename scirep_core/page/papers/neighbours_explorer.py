"""What the perturbation explorer of chapter `neighbours/perturbations` shows, and what answers a text that is typed into it.

    map       the first two principal components of X, the title + abstract vectors of all papers of a collection
    nearest   five of X by cosine, the paper itself left out;  rank  1 + papers strictly more similar than the original

A typed text is no paper of the collection: its original joins X for its own rank. Its 32 neighbours are made as all others are;
the better half of noun phrases, which one code needs, is that of the altered papers and the typed text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from scirep_core.page.widgets import perturbations
from scirep_core.page.widgets.common import View, clip
from scirep_core.page.widgets.perturbations import CODES, OWN, SIDE, PerturbationExplorer, Placed

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

    def placed(self, vectors: NDArray[Any], own: int | None) -> list[Placed]:
        """Return where texts are put: an original, which is the first, and what is made of it.

        Args:
            own: the original's number, None where it is no paper of the collection.
        """
        texts = unit(vectors)
        scores = (texts @ self.units.T).astype(np.float32)  # single precision, so that equal texts tie
        cosines = (texts @ texts[0]).astype(np.float32)
        ranks = 1 + (scores > cosines[:, None]).sum(axis=1)
        if own is not None:
            scores[:, own] = -np.inf
        near = np.argsort(-scores, axis=1, kind="stable")[:, : min(NEAR, len(self.units) - (own is not None))]
        columns = (column.tolist() for column in (self.places(vectors), cosines, ranks, near))
        return [[*spot, round(cosine, 4), rank, row] for spot, cosine, rank, row in zip(*columns, strict=True)]

    def dots(self, also: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return (number, x, y) of papers: an even choice of DOTS of all, and those asked for."""
        chosen = {int(i) for i in np.linspace(0, len(self.whole) - 1, min(DOTS, len(self.whole)))} | set(also)
        spots = self.places(self.whole[sorted(chosen)])
        return [(i, int(x), int(y)) for i, (x, y) in zip(sorted(chosen), spots, strict=True)]


def chosen(subject: Subject) -> list[str]:
    """Return the papers offered: altered ones that have an abstract, evenly over the collection."""
    able = [key for key in subject.chosen if subject.task.papers[key].abstract.strip()] or subject.chosen
    return [able[int(at)] for at in np.linspace(0, len(able) - 1, min(PAPERS, len(able)))] if able else []


def shown(subject: Subject, key: str, found: Sequence[Space]) -> View:
    """Return one paper with its 32 neighbours under each encoder; of the top phrases, which need the corpus, as it is."""
    paper, own, tools = subject.task.papers[key], subject.ids.index(key), subject.made.tools
    made = {
        code: (altered.texts[at], altered.shares[at])
        for code, altered in subject.made.by_code.items() if key in altered.ids for at in [altered.ids.index(key)]
    }  # fmt: skip
    parsed = Parsed(paper.title, tools), Parsed(paper.abstract, tools)
    others = [perturb(key, *parsed, code, subject.seed, frozenset()) for code in CODES if code not in made]
    reasons = {one.code: one.reason or "does not apply" for one in others}
    vectors = [
        np.vstack([space.whole[own], embed(space.encoder, _read(space.encoder, *(text for text, _ in made.values())), FORMAT)])
        for space in found
    ]  # fmt: skip
    return _data(paper, own, parsed[1].sentences, made, reasons, found, vectors)


def _read(encoder: Encoder, *texts: Text) -> list[str]:
    return [encoder.recipe.of_paper(Paper("", *text)) for text in texts]


def _data(
    paper: Paper, own: int | None, sentences: Sequence[str], made: Mapping[str, tuple[Text, float]], reasons: Mapping[str, str],
    found: Sequence[Space], vectors: Sequence[NDArray[Any]],
) -> View:  # fmt: skip
    by_encoder = [space.placed(rows, own) for space, rows in zip(found, vectors, strict=True)]
    original, *changed = zip(*by_encoder, strict=True)
    changes = {code: (*made[code], placed) for code, placed in zip(made, changed, strict=True)}
    return perturbations.paper_data(paper, own, sentences, original, {**changes, **reasons})


def near_of(papers: Sequence[View], encoders: int) -> list[set[int]]:
    """Return by encoder the numbers of papers that are near something shown."""
    changes = [change[3] for paper in papers for change in paper["codes"] if not isinstance(change, str)]
    near = [*(paper["near"] for paper in papers), *([row for *_, row in placed] for placed in changes)]
    return [{i for of in near for i in of[side]} for side in range(encoders)]


class Answering:
    """What a kernel answers to a typed text: its neighbours, encoded and placed as the others are."""

    def __init__(self, subject: Subject, found: Sequence[Space]) -> None:
        """Keep the collection and its spaces; nothing is computed yet."""
        self.subject, self.spaces = subject, found

    @cached_property
    def phrases(self) -> list[list[str]]:
        """Noun phrases of the altered papers' abstracts, at most of those looked at by `drawn`."""
        papers, tools = self.subject.task.papers, self.subject.made.tools
        keys = drawn(self.subject.chosen, self.subject.seed)
        return [Parsed(papers[key].abstract, tools).phrases for key in keys]

    def __call__(self, title: str, abstract: str) -> View:
        """Return the data of a text, with titles and map places of papers near it."""
        tools, paper = self.subject.made.tools, Paper(OWN, title, abstract)
        parsed = Parsed(title, tools), Parsed(abstract, tools)
        top = top_phrases([*self.phrases, parsed[1].phrases])
        every = [perturb(OWN, *parsed, code, self.subject.seed, top) for code in CODES]
        before = Text(title, abstract)
        texts = {one.code: Text(one.title or "", one.abstract or "") for one in every if one.applies}
        made = {code: (text, words_kept(before, text)) for code, text in texts.items()}
        # not through the store: nobody asks for these again
        vectors = [space.encoder.encode(_read(space.encoder, before, *texts.values()), FORMAT) for space in self.spaces]
        reasons = {one.code: one.reason for one in every if not one.applies}
        one = _data(paper, None, parsed[1].sentences, made, reasons, self.spaces, vectors)
        near = near_of([one], len(self.spaces))
        papers, ids = self.subject.task.papers, self.subject.ids
        return {
            "paper": one,
            "titles": {str(i): clip(papers[ids[i]].title, perturbations.HEADING) for i in sorted(set().union(*near))},
            "points": [space.dots(sorted(of)) for space, of in zip(self.spaces, near, strict=True)],
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
    paper, code = max(ranks, key=ranks.__getitem__)
    return {"paper": paper, "code": code}


def plain(widget: PerturbationExplorer | None) -> str:
    """Return the plain twin of what is explored, or that there is nothing."""
    return widget.static_fallback() if widget else "<p>No collection or no encoder is at hand: nothing to explore.</p>"


def explorer(chapter: Chapter, subject: Subject, found: Sequence[Encoder]) -> PerturbationExplorer:
    """Return the explorer over some papers of a collection, answering typed texts where a kernel runs."""
    looked = [Space(encoder, subject.whole(encoder)) for encoder in found]
    papers = [shown(subject, key, looked) for key in chosen(subject)]
    near = near_of(papers, len(looked))
    maps = [
        {"key": (key := of.encoder.name), "name": named(key), "points": of.dots(sorted(ids)), "held": round(of.frame[2], 3)}
        for of, ids in zip(looked, near, strict=True)
    ]  # fmt: skip
    everyone = sorted({i for of in near for i in of})
    invented = " of the embedded literature: invented, none is real" if subject.task.source == "embedded" else ""
    about = f"{len(papers)} of {len(subject.ids):,} papers{invented}."
    titles = {i: subject.task.papers[subject.ids[i]].title for i in everyone}
    view = perturbations.perturbation_data(papers, maps, titles, len(subject.ids), NEAR, about, chapter.notebook, WORDS)
    return PerturbationExplorer(view, Answering(subject, looked))
