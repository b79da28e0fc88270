"""A plural s, a lost letter: what a small change of a short query changes (introduction; Table 6).

Table 6 lists the first pages of two search engines for "document vector" and "document vectors", which share nothing. What a
live service shows today is no experiment anyone can repeat. Its complete analogue is: phrases of two words from the
collection's own titles, the collection as the index, and the ten nearest papers to a phrase and to its altered form,

    overlap = |A n B| / 10,     altered: the last word with or without its s; the first word without its last letter

beside the overlap of two phrases that have nothing to do with one another. A form that an encoder has no vector for finds
nothing. The introduction's other example, "documen vector" nearer to "Virus vector" than to "document vector", is asked of
every phrase: is its garbled form nearer to the phrase, or to the same last word after another first word?
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.perturbations.linguistics import ADJ, NOUN, Tools
from scirep_core.evaluators.neighbourhoods import common
from scirep_core.evaluators.rows import Floats, unit
from scirep_core.evaluators.search import Pool
from scirep_core.evaluators.short import Texts
from scirep_core.kit.records import Paper
from scirep_core.results import Result

MOST = 300
"""Phrases asked with: enough for intervals of a few points."""
NEAREST = 10
NUMBER, LETTER, OTHER = "singular or plural", "a letter lost", "another phrase"
FORMS = (NUMBER, LETTER, OTHER)
OVERLAP, NONE = "overlap of the 10 nearest, %", "no paper in common, %"
WRONG, ANY = "garbled form nearer another first word, %", "garbled form nearer any other phrase, %"
GARBLED, CLEAN, VIRUS = "documen vector", "document vector", "Virus vector"
"""The introduction's three strings."""
NOT_PLURAL = frozenset({"news", "means"})
_WORD = re.compile(r"[a-z]{4,}")
_WORDS = re.compile(r"[a-z]+")


class Phrase(NamedTuple):
    """A phrase of two words as a title has it, in lower case, and its altered forms.

    `foreign` is its last word after the first word of another phrase.
    """

    text: str
    number: str
    garbled: str
    foreign: str


def phrases(papers: Iterable[Paper], seed: int, tools: Tools, most: int = MOST) -> list[Phrase]:
    """Return phrases drawn from the titles of papers: adjective or noun, then a noun whose other number is a word here too."""
    known: set[str] = set()
    found: set[tuple[str, str]] = set()
    for paper in papers:
        known.update(_WORDS.findall(f"{paper.title} {paper.abstract}".lower()))
        found.update(_pairs(paper.title, tools))
    pairs = [pair for pair in sorted(found) if other_number(pair[1]) in known and pair[0][:-1] not in known]
    rng = np.random.default_rng(seed)
    if len(pairs) > most:
        pairs = [pairs[at] for at in np.sort(rng.choice(len(pairs), most, replace=False))]
    made = []
    for first, last in pairs:
        others = sorted({one for one, _ in pairs if one != first})
        foreign = others[rng.integers(len(others))] if others else first
        forms = f"{first} {last}", f"{first} {other_number(last)}", f"{first[:-1]} {last}", f"{foreign} {last}"
        made.append(Phrase(*forms))
    return made


def _pairs(title: str, tools: Tools) -> Iterator[tuple[str, str]]:
    tokens = [token for sentence in tools.sentences(title) for token in tools.tokens(sentence)]
    run: list[tuple[str, str]] = []
    for token, tag in [*zip(tokens, tools.tags(tokens), strict=True), ("", ".")]:
        if tag in (ADJ, NOUN):
            run.append((token.lower(), tag))
            continue
        if len(run) > 1 and run[-1][1] == NOUN and all(_WORD.fullmatch(word) for word, _ in run[-2:]):
            yield run[-2][0], run[-1][0]
        run = []


def other_number(word: str) -> str:
    """Return a noun with its s taken off, or with one; "" where that cannot be its other number.

    >>> other_number("vector"), other_number("vectors"), other_number("analysis")
    ('vectors', 'vector', '')
    """
    if word.endswith(("ss", "us", "is")) or word in NOT_PLURAL:
        return ""
    return word[:-1] if word.endswith("s") else f"{word}s"


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(texts: Texts, own: Sequence[Phrase]) -> list[Result]:
    """Return overlaps by form, how often a garbled phrase goes astray, and the introduction's cosines."""
    return [*_introduction(texts), *(_of_phrases(texts, own) if own else [])]


def _of_phrases(texts: Texts, own: Sequence[Phrase]) -> Iterator[Result]:
    n = len(own)
    clean, number, garbled, foreign = (
        unit(texts.short([getattr(one, form) for one in own])) for form in Phrase._fields
    )
    k = min(NEAREST, len(texts.whole))
    pool = Pool(texts.whole)
    best = pool.nearest(clean, k)
    for form, vectors in ((NUMBER, number), (LETTER, garbled), (OTHER, np.roll(clean, 1, axis=0))):
        empty = np.array([not (a.any() and b.any()) for a, b in zip(clean, vectors, strict=True)])
        share = shared(best, pool.nearest(vectors, k), empty)
        note = f"{int(empty.sum())} forms have no vector and find nothing" if empty.any() else ""
        yield texts.share(OVERLAP, share, form, note=note, pool=f"{len(texts.whole)} papers")
        yield texts.share(NONE, (share == 0).astype(np.float64), form, note=note)
    right = np.einsum("ij,ij->i", garbled, clean)
    wrong = (np.einsum("ij,ij->i", garbled, foreign) > right).astype(np.float64)
    table = garbled @ clean.T
    table[np.arange(n), np.arange(n)] = -np.inf
    any_other = (table.max(axis=1) > right).astype(np.float64) if n > 1 else np.zeros(n)
    none = int((~garbled.any(axis=1)).sum())
    note = f"{none} garbled forms have no vector and count as not astray" if none else ""
    for metric, values in ((WRONG, wrong), (ANY, any_other)):
        yield texts.share(metric, values, LETTER, note=note)


def shared(first: NDArray[np.int64], second: NDArray[np.int64], empty: NDArray[np.bool_]) -> Floats:
    """Return (n,) shares of papers that two (n, k) lists have in common; 0 where one has no vector to ask with."""
    return np.where(empty, 0.0, common(first, second, first.shape[1]))


def _introduction(texts: Texts) -> Iterator[Result]:
    vectors = unit(texts.short([GARBLED, CLEAN, VIRUS]))
    empty = [text for text, vector in zip((GARBLED, CLEAN, VIRUS), vectors, strict=True) if not vector.any()]
    note = f"no vector of {', '.join(empty)}" if empty else ""
    for other, vector in ((CLEAN, vectors[1]), (VIRUS, vectors[2])):
        yield texts.row(f"cosine with {other}", float(vectors[0] @ vector), 1, GARBLED, note=note)
