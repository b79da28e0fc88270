"""Chapter `neighbours/short_queries`, brittleness: a plural s, a lost letter (textual neighbours, introduction; Table 6, C1).

Table 6 lists the first pages of two search engines for "document vector" and "document vectors", which share nothing. What a
live service shows today is no experiment anyone can repeat. Its complete analogue is: phrases of two words from the
collection's own titles, the collection as the index, and the ten nearest papers to a phrase and to its altered form,

    overlap = |A n B| / 10,     altered: the last word with or without its s; the first word without its last letter

beside the overlap of two phrases that have nothing to do with one another. A form that an encoder has no vector for finds
nothing. The introduction's other example, "documen vector" nearer to "Virus vector" than to "document vector", is asked of
every phrase: is its garbled form nearer to the phrase, or to the same last word after another first word?
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.perturbations.linguistics import ADJ, NOUN, Tools, find_tools
from scirep_core.evaluators.rows import spread_of, unit
from scirep_core.evaluators.search import Pool
from scirep_core.exhibits.counting import kinds
from scirep_core.exhibits.neighbours_shared import Subject
from scirep_core.exhibits.neighbours_short_queries import (
    CHAPTER,
    Texts,
    about,
    bullets,
    calls,
    cell,
    cells_of,
    on,
    set_of,
    starts,
    systems_of,
)
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
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


def phrases(subject: Subject, tools: Tools, most: int = MOST) -> list[Phrase]:
    """Return phrases drawn from a collection's titles: adjective or noun, then a noun whose other number is a word here too."""
    known: set[str] = set()
    for key in subject.ids:
        paper = subject.task.papers[key]
        known.update(_WORDS.findall(f"{paper.title} {paper.abstract}".lower()))
    found: set[tuple[str, str]] = set()
    for key in subject.ids:
        found.update(_pairs(subject.task.papers[key].title, tools))
    kept = [pair for pair in sorted(found) if other_number(pair[1]) in known and pair[0][:-1] not in known]
    rng = np.random.default_rng(subject.seed)
    if len(kept) > most:
        kept = [kept[at] for at in np.sort(rng.choice(len(kept), most, replace=False))]
    made = []
    for first, last in kept:
        others = sorted({one for one, _ in kept if one != first})
        foreign = others[rng.integers(len(others))] if others else first
        made.append(
            Phrase(f"{first} {last}", f"{first} {other_number(last)}", f"{first[:-1]} {last}", f"{foreign} {last}")
        )
    return made


def _pairs(title: str, tools: Tools) -> Iterator[tuple[str, str]]:
    """Yield the last two words of each run of adjectives and nouns that ends in a noun."""
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


def queries(chapter: Chapter, found: Sequence[Texts]) -> dict[str, list[Phrase]]:
    """Return by collection the phrases that are asked, and say who tagged the titles they are of."""
    tools = find_tools(chapter.parameters["tools"])
    chapter.say(tools.say())
    return {texts.subject.task.name: phrases(texts.subject, tools) for texts in _firsts(found)}


def measure(found: Sequence[Texts], drawn: Mapping[str, Sequence[Phrase]]) -> list[Result]:
    """Return overlaps by form, how often a garbled phrase goes astray, and the introduction's cosines, for every encoder."""
    rows: list[Result] = []
    tell = progress("short queries", "encoders asked")
    for done, texts in enumerate(found, 1):
        rows += _introduction(texts)
        if own := drawn[texts.subject.task.name]:
            rows += _of_phrases(texts, own)
        tell(done, len(found))
    return rows


def _firsts(found: Sequence[Texts]) -> list[Texts]:
    firsts: dict[str, Texts] = {}
    for texts in found:
        firsts.setdefault(texts.subject.task.name, texts)
    return list(firsts.values())


def _of_phrases(texts: Texts, own: Sequence[Phrase]) -> Iterator[Result]:
    n, asked = len(own), texts.subject.asked()
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
        yield texts.row(OVERLAP, 100 * float(share.mean()), n, form, **spread_of(asked, share), note=note,
                        pool=f"{len(texts.whole)} papers")  # fmt: skip
        nothing = (share == 0).astype(np.float64)
        yield texts.row(NONE, 100 * float(nothing.mean()), n, form, **spread_of(asked, nothing), note=note)
    right = np.einsum("ij,ij->i", garbled, clean)
    wrong = (np.einsum("ij,ij->i", garbled, foreign) > right).astype(np.float64)
    table = garbled @ clean.T
    table[np.arange(n), np.arange(n)] = -np.inf
    any_other = (table.max(axis=1) > right).astype(np.float64) if n > 1 else np.zeros(n)
    none = int((~garbled.any(axis=1)).sum())
    note = f"{none} garbled forms have no vector and count as not astray" if none else ""
    for metric, values in ((WRONG, wrong), (ANY, any_other)):
        yield texts.row(metric, 100 * float(values.mean()), n, LETTER, **spread_of(asked, values), note=note)


def shared(first: NDArray[np.int64], second: NDArray[np.int64], empty: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return (n,) shares of papers that two (n, k) lists have in common; 0 where one has no vector to ask with."""
    common = [len(set(a) & set(b)) / len(a) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    return np.where(empty, 0.0, np.array(common))


def _introduction(texts: Texts) -> Iterator[Result]:
    vectors = unit(texts.short([GARBLED, CLEAN, VIRUS]))
    empty = [text for text, vector in zip((GARBLED, CLEAN, VIRUS), vectors, strict=True) if not vector.any()]
    note = f"no vector of {', '.join(empty)}" if empty else ""
    for other, vector in ((CLEAN, vectors[1]), (VIRUS, vectors[2])):
        yield texts.row(f"cosine with {other}", float(vectors[0] @ vector), 1, GARBLED, note=note)


# ---- showing ---------------------------------------------------------------------------------------------------------


def overlaps_table(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show the overlap of the ten nearest papers by altered form (the analogue of TN-T6), and say who is brittle."""
    header = ["Encoder", *(heading for form in FORMS for heading in ("common", "none"))]
    chapter.say(
        "Printed: the two queries of Table 6 share nothing on the first page of either engine. Neither page can be had again."
    )
    for kind, of in kinds(CHAPTER, rows):
        found, body, counts = cells_of(of), [], []
        for task in dict.fromkeys(r.task for r in of if r.metric == OVERLAP):
            for name in systems_of(of, task):
                own = [found.get((task, name, metric, form)) for form in FORMS for metric in (OVERLAP, NONE)]
                body.append(
                    [
                        f"{calls(name)}<br><small>{html.escape(set_of(task))}</small>",
                        *(cell(chapter, r, 1) for r in own),
                    ]
                )
                counts += [r.n for r in own if r]
        if body:
            caption = (
                f"Ten nearest papers of a phrase and of its altered form, {about(of)}: % in common, and % of the phrases with "
                f"none in common; n = {min(counts)} phrases of titles; 95 % intervals over phrases"
            )
            chapter.show(report.table(header, body, caption, [["", *[kind] * 6]] * len(body), list(FORMS)))
            _say_overlaps(chapter, found)


def _say_overlaps(chapter: Chapter, found: dict[tuple[str, str, str, str], Result]) -> None:
    for task in dict.fromkeys(key[0] for key in found if key[2] == OVERLAP):
        told = []
        for name in dict.fromkeys(key[1] for key in found if key[0] == task and key[2] == OVERLAP):
            number, letter, other = (found[task, name, OVERLAP, form] for form in FORMS)
            worse = (
                "the letter hurts more"
                if apart(letter, number)
                else "the number hurts more"
                if apart(number, letter)
                else "which hurts more is not settled"
            )
            floor = " (then no better than an unrelated phrase)" if not apart(other, letter) else ""
            told.append(
                f"{starts(name)} keeps {cell(chapter, number, 1)} % of its results when the number changes and "
                f"{cell(chapter, letter, 1)} % when a letter is lost{floor}; {worse}"
            )
        chapter.say(f"{html.escape(set_of(task))}: {'. '.join(told)}.")


def apart(lower: Result, higher: Result) -> bool:
    """Return whether one interval lies below the other."""
    return lower.high is not None and higher.low is not None and lower.high < higher.low


def example(chapter: Chapter, found: Sequence[Texts], drawn: Mapping[str, Sequence[Phrase]]) -> None:
    """Show one phrase and its other number with the titles they find: the pair whose overlap is in the middle."""
    for texts in _firsts(found)[:1]:
        own = drawn[texts.subject.task.name]
        if not own:
            continue
        first, second = (texts.short([getattr(one, form) for one in own]) for form in ("text", "number"))
        k = min(NEAREST, len(texts.whole))
        pool = Pool(texts.whole)
        lists = [pool.nearest(vectors, k) for vectors in (first, second)]
        empty = np.array([not (a.any() and b.any()) for a, b in zip(first, second, strict=True)])
        share = shared(lists[0], lists[1], empty)
        at = int(np.argsort(share, kind="stable")[len(share) // 2])
        both = set(lists[0][at]) & set(lists[1][at])
        names = [[texts.subject.task.papers[texts.subject.ids[place]].title for place in one[at]] for one in lists]
        marks = [["" if place in both else " <strong>(only here)</strong>" for place in one[at]] for one in lists]
        body = [
            [str(rank + 1), *(f"{html.escape(names[side][rank])}{marks[side][rank]}" for side in (0, 1))]
            for rank in range(k)
        ]
        forms = [f"“{html.escape(text)}”" for text in own[at][:2]]
        caption = (
            f"{calls(texts.name)}, live, {html.escape(set_of(texts.subject.task.name))}: the first {k} papers for a phrase and for "
            f"its other number. {len(both)} are in common, as in the middle of the {len(own)} phrases"
        )
        chapter.show(report.table(["Rank", *forms], body, caption, [["", "text", "text"]] * len(body)))


def introduction_table(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show the introduction's three strings by our encoders, and the same question of every phrase (TN-C1)."""
    header = ["Encoder", f"“{CLEAN}”", f"“{VIRUS}”", "nearer another<br>first word, %", "nearer any<br>other phrase, %"]
    for kind, of in kinds(CHAPTER, rows):
        found, body = cells_of(of), []
        for task in dict.fromkeys(r.task for r in of if r.split == GARBLED):
            for name in systems_of(of, task):
                pair = [found[task, name, f"cosine with {other}", GARBLED] for other in (CLEAN, VIRUS)]
                general = [found.get((task, name, metric, LETTER)) for metric in (WRONG, ANY)]
                body.append([f"{calls(name)}<br><small>{html.escape(set_of(task))}</small>",
                             *(chapter.number(r, 2) + ("†" if r.note else "") for r in pair),
                             *(cell(chapter, r, 1) for r in general)])  # fmt: skip
        if body:
            caption = (
                f"“{GARBLED}”, {about(of)}: its cosine with two phrases; and of the phrases of titles, how many lie, their first "
                "word without its last letter, nearer to the same last word after another first word than to themselves, or "
                "nearer to any other phrase. † one of the three has no vector: its words are unknown"
            )
            chapter.show(report.table(header, body, caption, [["", *[kind] * 4]] * len(body)))
            _say_introduction(chapter, found)


def _say_introduction(chapter: Chapter, found: dict[tuple[str, str, str, str], Result]) -> None:
    items = []
    for (task, name, metric, split), clean in found.items():
        if split != GARBLED or metric != f"cosine with {CLEAN}":
            continue
        virus = found[task, name, f"cosine with {VIRUS}", GARBLED]
        shown = f"{chapter.number(virus, 2)} against {chapter.number(clean, 2)}"
        verdict = (
            "does what the paper reports of SciBERT"
            if virus.value > clean.value
            else "does not do what the paper reports of SciBERT"
        )
        if clean.note:
            verdict = "cannot read all three"
        general = found.get((task, name, WRONG, LETTER))
        tail = f"; of all phrases {cell(chapter, general, 1)} % go astray so" if general else ""
        items.append(f"{starts(name)}{on(found, task)} {verdict} ({shown}){tail}")
    bullets(chapter, f"Nearer to “{VIRUS}” than to “{CLEAN}”", items)
