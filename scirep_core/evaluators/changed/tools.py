"""How far the fallback linguistic tools agree with NLTK (textual neighbours, section 3; `data/perturbations/linguistics.py`).

The 32 neighbours are made from sentences, tags, noun phrases and antonyms. The paper takes NLTK's and TextBlob's; where
their data are missing a fallback does the work, and what it does differently is measured here, on the texts of a collection:

    same_sentences, same_tokens   % of abstracts with identical lists
    same_tags                     % of NLTK's tokens with the same universal tag; precision and recall by tag
    phrase_f1                     2 |A n B| / (|A| + |B|) over noun phrases, one entry an occurrence
    same_antonyms                 % of NLTK's adjectives with the same opposite, or none in both
    identical                     by code, % of papers whose neighbours are equal with both tools
    words_in_common               by code, mean of 2 |A n B| / (|A| + |B|) over words, where both tools have a neighbour

Intervals draw abstracts, or papers. Without NLTK's data nothing can be measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scirep_core.data.perturbations import PERTURBATIONS
from scirep_core.data.perturbations.altered import Progress, alter
from scirep_core.data.perturbations.changes import Parsed, Text
from scirep_core.data.perturbations.linguistics import ADJ, ADV, DET, NOUN, NUM, PRON, VERB, Tools, find_tools
from scirep_core.evaluators.rows import Asked, Floats, replicates_of_sums, sample, sentence, share_row
from scirep_core.kit.errors import ConfigError
from scirep_core.results import Result

TEXTS = 500
"""Papers looked at, drawn: NLTK reads some dozens of abstracts a second."""
TAGS = (NOUN, VERB, ADJ, ADV, PRON, DET, NUM)
"""Tags that some code asks for."""
_WORD = re.compile(r"\w+")
ABOUT = {"encoder": "fallback", "similarity": "", "pool": "NLTK's own answer"}
"""What every row says."""


class Compared(NamedTuple):
    """Two tools on some texts: metric, split -> (texts,) numerator and denominator, of which the ratio is the metric."""

    shares: dict[tuple[str, str], tuple[Floats, Floats]]
    texts: int


def reference() -> tuple[Tools | None, str]:
    """Return NLTK's tools, or None and why not."""
    try:
        return find_tools("nltk"), ""
    except ConfigError as error:
        return None, str(error)


def compare(texts: Sequence[str], one: Tools, other: Tools) -> Compared:
    """Return how far `other` agrees with `one` on abstracts; empty ones are left out."""
    columns: dict[tuple[str, str], list[tuple[float, float]]] = {}

    def put(metric: str, split: str, top: float, below: float) -> None:
        columns.setdefault((metric, split), []).append((top, below))

    abstracts = [text for text in texts if text.strip()]
    for text in abstracts:
        a, b = Parsed(text, one), Parsed(text, other)
        put("same_sentences", "all", a.sentences == b.sentences, 1)
        put("same_tokens", "all", a.tokens == b.tokens, 1)
        tags = other.tags(a.tokens)  # on the same tokens, so that a tag is judged, not a split
        put("same_tags", "all", sum(x == y for x, y in zip(a.tags, tags, strict=True)), len(tags))
        for tag in TAGS:
            both = sum(x == y == tag for x, y in zip(a.tags, tags, strict=True))
            put("precision", tag, both, tags.count(tag))
            put("recall", tag, both, a.tags.count(tag))
        found, expected = Counter(other.phrases(a.tokens)), Counter(a.phrases)
        shared = (found & expected).total()
        put("phrase_precision", "all", shared, found.total())
        put("phrase_recall", "all", shared, expected.total())
        put("phrase_f1", "all", 2 * shared, found.total() + expected.total())
        opposites = [(one.antonym(word), other.antonym(word)) for word in a.tagged(ADJ)]
        put("same_antonyms", "all", sum(x == y for x, y in opposites), len(opposites))
        put("opposites_found", "all", sum(bool(x and y) for x, y in opposites), sum(bool(x) for x, _ in opposites))
    shares = {
        key: (np.array([t for t, _ in pairs], float), np.array([b for _, b in pairs], float))
        for key, pairs in columns.items()
    }
    return Compared(shares, len(abstracts))


def words_in_common(one: Text, other: Text) -> float:
    """Return 2 |A n B| / (|A| + |B|) over the words of two neighbours, each as often as it stands; 1 of no words."""
    a, b = (Counter(word for field in text for word in _WORD.findall(field)) for text in (one, other))
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 1.0


def drawn(chosen: Sequence[str], seed: int) -> Sequence[str]:
    """Return the papers looked at: those that are altered, at most TEXTS of them."""
    return [chosen[at] for at in sample(len(chosen), TEXTS, seed)]


def measure(asked: Asked, chosen: Sequence[str], tell: Progress | None = None) -> list[Result]:
    """Return the agreement of the fallback tools with NLTK on altered papers of a collection; [] without NLTK's data."""
    nltk, _ = reference()
    if nltk is None:
        return []
    papers = drawn(chosen, asked.seed)
    found = compare([asked.task.papers[key].abstract for key in papers], nltk, find_tools("fallback"))
    rows = [_ratio(asked, *name, *shares) for name, shares in found.shares.items() if shares[1].sum()]
    made = [
        alter(asked.task, papers, seed=asked.seed, tools=one, progress=tell).by_code for one in ("nltk", "fallback")
    ]
    for code in PERTURBATIONS:
        one, other = (dict(zip(kind[code].ids, kind[code].texts, strict=True)) for kind in made)
        either = [key for key in papers if key in one or key in other]
        both = [key for key in either if key in one and key in other]
        if either:
            equal = np.array([one.get(key) == other.get(key) for key in either], float)
            alone = len(either) - len(both)
            note = f"{alone} with one tool alone" if alone else ""
            basis = sentence("papers with a neighbour by either", note)
            rows.append(share_row(asked, "identical", equal, code, "tools", note=basis, **ABOUT))
        if both:
            alike = np.array([words_in_common(one[key], other[key]) for key in both])
            basis = "papers with a neighbour by both"
            rows.append(share_row(asked, "words_in_common", alike, code, "tools", note=basis, **ABOUT))
    return rows


def _ratio(asked: Asked, metric: str, split: str, top: Floats, below: Floats) -> Result:
    note, share = f"over {int(below.sum()):,}", float(top.sum() / below.sum())
    over, under = (replicates_of_sums(asked, one, "tools") for one in (top, below))
    spread = 100 * np.divide(over, under, out=np.full(len(under), share), where=under > 0)
    return asked.row(metric, 100 * share, len(top), split, replicates=spread, note=note, **ABOUT)
