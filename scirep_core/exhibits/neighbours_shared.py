"""What the chapters on textual neighbours share: collections, encoders side by side, altered texts and their vectors.

A chapter alters `queries` papers of each collection, drawn, and compares them with ALL papers of it; with 0 it alters all,
as the paper does. Encoders are named; two need no weights: `lsa` and `characters`, latent dimensions fitted to the
collection's own titles and abstracts (`encoders/latent.py`). All chapters of one build share texts and vectors through the
stores under SCIREP_HOME.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from scirep_core.data import TASKS
from scirep_core.data.perturbations import CATEGORIES, PERTURBATIONS
from scirep_core.data.perturbations.altered import Made, alter
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.task import Collection, Task
from scirep_core.encoders import SENTENCES, Encoder, load_encoder
from scirep_core.encoders.latent import TERMS, Latent
from scirep_core.encoders.vectors.embed import embed
from scirep_core.evaluators.neighbours import QUERIES
from scirep_core.evaluators.perturbed import Cloud
from scirep_core.evaluators.rows import Asked
from scirep_core.exhibits.counting import Gathered, gather
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper
from scirep_core.page.chapter import Chapter, progress
from scirep_core.page.names import NAMES
from scirep_core.page.rows import Exhibit
from scirep_core.results import Result
from scirep_core.results.published import lookup

MODELS = ("SciBERT", "SPECTER", "OAG-BERT")
SETS = ("Arxiv-MATH", "Arxiv-HEP", "Arxiv-QBIO", "Arxiv-ECON", "Arxiv-CS-SY", "ICLR", "ACL-ANTH")
"""The printed data sets in the order of Tables 3 and 9."""
COLLECTIONS = tuple(name for name, spec in TASKS.items() if spec.paper == "neighbours")
FORMAT: Format = "PRX"
AT_ONCE = 8
"""Codes whose texts are written out and encoded together: of 10,000 papers 80,000 texts, 70 MB."""
MINILM = ("minilm", "acl_anth")
"""The language model and the collection of the recorded runs, as `system` has them."""
_MEANING = {"HS": "highly similar", "PS": "partially similar", "DS": "dissimilar"}
_FORM = {"LL": "lossless", "LO": "lossy"}
WORDS = {name: f"{_MEANING[name[3:]]}, {_FORM[name[:2]]}" for name in CATEGORIES}
WORDS |= {code: change.words for code, change in PERTURBATIONS.items()}
"""Categories and codes in words."""
BY_CODE = {
    code: f"{WORDS[code]}\n{code}, {WORDS[category]}"
    for category in CATEGORIES
    for code, change in PERTURBATIONS.items()
    if change.category == category
}
"""Codes by category, in words with their name: the lines of a table of all changes."""


@dataclass(frozen=True)
class Subject:
    """One collection, and which of its papers are altered: by all 32 codes as a rule, or by some in another reading of them."""

    task: Task
    seed: int
    queries: int
    tools: str
    codes: tuple[str, ...] | None = None
    variant: str = "default"

    @cached_property
    def ids(self) -> list[str]:
        """All papers, in the collection's order."""
        return list(cast(Collection, self.task.payload).paper_ids)

    @cached_property
    def chosen(self) -> list[str]:
        """Papers that are altered: drawn, in the collection's order; all of them for 0."""
        if not self.queries or self.queries >= len(self.ids):
            return self.ids
        drawn = np.random.default_rng(self.seed).choice(len(self.ids), self.queries, replace=False)
        return [self.ids[at] for at in np.sort(drawn)]

    @cached_property
    def made(self) -> Made:
        """Their neighbours, by code."""
        return alter(
            self.task,
            self.chosen,
            self.codes,
            seed=self.seed,
            variant=self.variant,
            tools=self.tools,
            progress=progress(f"{self.task.name}: neighbours", "papers"),
        )

    def whole(self, encoder: Encoder) -> NDArray[np.float32]:
        """Return (papers, dim) vectors of title + abstract of all papers."""
        return self._vectors(encoder, [encoder.recipe.of_paper(self.task.papers[key]) for key in self.ids])

    def titles(self, encoder: Encoder) -> NDArray[np.float32]:
        """Return (papers, dim) vectors of all titles alone."""
        return self._vectors(encoder, [encoder.recipe.of_paper(self.task.papers[key], ("title",)) for key in self.ids])

    def clouds(self, encoder: Encoder) -> dict[str, Cloud]:
        """Return by code the vectors of the altered texts, and which paper of `ids` each comes from."""
        place = {key: at for at, key in enumerate(self.ids)}
        found: dict[str, Cloud] = {}
        every = list(self.made.by_code.values())
        for some in (every[first : first + AT_ONCE] for first in range(0, len(every), AT_ONCE)):
            papers = (Paper(key, *text) for one in some for key, text in zip(one.ids, one.texts, strict=True))
            vectors, start = self._vectors(encoder, [encoder.recipe.of_paper(paper) for paper in papers]), 0
            for one in some:
                end = start + len(one.ids)
                found[one.code] = Cloud(vectors[start:end], np.array([place[key] for key in one.ids], dtype=np.int64))
                start = end
        return found

    def asked(self) -> Asked:
        """Return what rows of this collection have in common."""
        return Asked(self.task, {}, "paper", "error", (), "cosine", self.seed)

    def _vectors(self, encoder: Encoder, texts: list[str]) -> NDArray[np.float32]:
        return embed(encoder, texts, FORMAT, progress(f"{self.task.name}: {encoder.name}"))


def subjects(chapter: Chapter) -> tuple[Gathered, list[Subject]]:
    """Return the collections a chapter's parameters name that are at hand; of real ones the sample where there is no more.

    Parameters: data, papers, seed, collections (comma-separated, `acl_anth`; empty is all), tools; queries where papers
    are altered.
    """
    given = chapter.parameters
    short = {name.partition("/")[2]: name for name in COLLECTIONS}
    names = [name.strip() for name in given["collections"].split(",") if name.strip()] or list(short)
    for name in names:
        if name not in short:
            raise ConfigError(f"unknown collection {name!r}; {nearest(name, short)}")
    gathered = gather(chapter, [short[name] for name in names])
    return gathered, [
        Subject(task, given["seed"], given.get("queries", 0), given["tools"]) for task in gathered.tasks.values()
    ]


def encoders(chapter: Chapter, subject: Subject) -> Iterator[Encoder]:
    """Yield the encoders that the parameter `encoders` names, latent ones fitted to the collection's titles and abstracts."""
    for name in dict.fromkeys(one.strip() for one in chapter.parameters["encoders"].split(",") if one.strip()):
        if name in TERMS:
            corpus = [SENTENCES.of_paper(paper) for paper in subject.task.papers.values()]
            yield Latent(name, corpus, seed=subject.seed)
        else:
            yield load_encoder(name)


def named(encoder: str) -> str:
    """Return how an encoder is called on the page: `minilm:bfloat16` is MiniLM (bfloat16)."""
    name, _, kind = encoder.partition(":")
    return (f"{NAMES[name]} ({kind})" if kind else NAMES[name]) if name in NAMES else encoder


def printed_set(task: str) -> str:
    """Return the printed data set that a collection is, or is a sample of; a collection of one's own goes by its own name."""
    like = SAMPLES[task].like if task in SAMPLES else task
    return TASKS[like].title if like in TASKS else task


def printed_size(name: str) -> int:
    """Return how many papers a printed data set has (Table 2); 0 for a collection of one's own."""
    size = lookup("TN-T2").get((name, "#Papers"))
    return int(size.number) if size else 0


def noise_of_shares(shares: Sequence[float], name: str) -> float:
    """Return half of the 95 % interval of a difference between two shares in %, each of its own 1,000 papers of a set.

    1.96 sd sqrt(2 (1 - 1000 / N) / 1000), with N papers and sd = sqrt(p (1 - p)) of a query's share p.
    """
    p = float(np.mean(shares)) / 100
    return 196 * float(np.sqrt(2 * (1 - QUERIES / printed_size(name)) * p * (1 - p) / QUERIES))


def system(row: Result) -> tuple[str, str] | None:
    """Return a row's model and collection; a difference of two systems has none, and neither has a number of texts alone."""
    return (row.encoder.partition(":")[0], row.task.partition("/")[2]) if row.encoder and not row.of_systems else None


def systems(exhibit: Exhibit) -> dict[tuple[str, str], str]:
    """Return the systems of ours among an exhibit's columns as `system` has them, in words; the collection where there are two."""
    ours = list(dict.fromkeys(column for cells in exhibit.ours.values() for _, column in cells))
    several = len({collection for _, collection in ours}) > 1
    return {key: named(key[0]) + (f", {key[1]}" if several else "") for key in ours}


def between(row: Result) -> tuple[tuple[str, str] | None, ...] | None:
    """Return the two systems of a difference of systems, else None."""
    return tuple(system(replace(row, encoder=name, against="")) for name in row.systems) if row.of_systems else None


def signed(rows: Sequence[Result], encoder: Encoder) -> list[Result]:
    """Return rows with the encoder's name and fingerprint."""
    return [replace(row, encoder=encoder.name, fingerprint=encoder.fingerprint) for row in rows]


def say_tools(chapter: Chapter, found: Sequence[Subject]) -> None:
    """Say who finds sentences, tags, phrases and antonyms, and how many papers are altered."""
    for subject in found[:1]:
        chapter.say(subject.made.tools.say())
    drawn = [
        f"{len(subject.chosen):,} of {len(subject.ids):,} papers of {subject.task.name.partition('/')[2]}"
        for subject in found
    ]
    if drawn:
        chapter.say(f"Altered: {'; '.join(drawn)}; compared with all papers of the collection.")
