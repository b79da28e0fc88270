"""Sentences, tokens, tags, noun phrases and antonyms: what the textual neighbours need to know of a text.

The reference is NLTK, as in the paper (Singh and Singh 2022, appendix B): Punkt sentences, Treebank tokens, the averaged
perceptron's tags mapped to the universal tagset, TextBlob's noun phrases (a chunker trained on the Brown corpus' news) and
WordNet's antonyms. Its data are looked for where NLTK looks, `NLTK_DATA` among others. A part whose data are missing is
replaced by a bundled fallback, and `Tools.parts` says so:

    sentences      a regular expression that knows common abbreviations
    tags           TextBlob's pattern tagger, whose lexicon comes with the package
    noun phrases   runs of adjectives and nouns that end in a noun
    antonyms       a list of our own, of words that scientific abstracts use

A text is tagged as a whole, not sentence by sentence, as the reference code does.
"""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from scirep_core.kit.errors import ConfigError, check_name

NOUN, VERB, ADJ, ADV, PRON, DET, NUM = "NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "NUM"
UNIVERSAL = {
    NOUN: "NN NNS NNP NNPS", VERB: "VB VBD VBG VBN VBP VBZ MD", ADJ: "JJ JJR JJS", ADV: "RB RBR RBS WRB", PRON: "PRP PRP$ WP WP$",
    DET: "DT PDT WDT EX", NUM: "CD", "ADP": "IN", "CONJ": "CC", "PRT": "POS RP TO", ".": "# $ '' ( ) , . : `` -LRB- -RRB-",
    "X": "FW LS SYM UH",
}  # fmt: skip
"""Universal tag -> the Penn Treebank's (Petrov, Das and McDonald 2012)."""
_TO_UNIVERSAL = {penn: tag for tag, names in UNIVERSAL.items() for penn in names.split()}
PUNKT, TAGGER = "tokenizers/punkt_tab/english", "taggers/averaged_perceptron_tagger_eng"
PARTS = {
    "sentences": ((PUNKT,), "NLTK's Punkt", "a rule on full stops"),
    "tags": ((TAGGER,), "NLTK's averaged perceptron", "TextBlob's pattern tagger"),
    "noun phrases": ((PUNKT, "corpora/brown"), "TextBlob's noun phrases on NLTK's Brown corpus", "runs of adjectives and nouns"),
    "antonyms": (("corpora/wordnet",), "WordNet by NLTK", "a short list"),
}  # fmt: skip
"""Part -> where NLTK keeps its data (kind/package), what does it with them, what without."""
KINDS = ("auto", "nltk", "fallback")


@dataclass(frozen=True)
class Tools:
    """What is known of a text, part by part.

    Attributes:
        sentences: text -> its sentences, in order.
        tokens: sentence -> its tokens.
        tags: tokens of a whole text -> a universal tag each.
        phrases: tokens of a whole text -> its noun phrases in order, lower-cased, one entry an occurrence.
        antonym: word -> its opposite, or None.
        parts: part -> what does it: "NLTK ..." or "fallback: ...".
    """

    sentences: Callable[[str], list[str]]
    tokens: Callable[[str], list[str]]
    tags: Callable[[Sequence[str]], list[str]]
    phrases: Callable[[Sequence[str]], list[str]]
    antonym: Callable[[str], str | None]
    parts: Mapping[str, str]

    @property
    def missing(self) -> tuple[str, ...]:
        """Parts that a fallback does."""
        return tuple(part for part, what in self.parts.items() if what.startswith("fallback"))

    def say(self) -> str:
        """Return one sentence on what does what, and how to get what is missing."""
        if not self.missing:
            return "Sentences, tags, noun phrases and antonyms are NLTK's and TextBlob's, as in the paper."
        fallbacks = "; ".join(f"{part}: {self.parts[part].removeprefix('fallback: ')}" for part in self.missing)
        return f"Without NLTK's data, fallbacks do part of the work ({fallbacks}). For the reference: {remedy(self.missing)}"


def remedy(parts: Sequence[str]) -> str:
    """Return the command that gets NLTK's data for these parts."""
    packages = sorted({place.split("/")[1] for part in parts for place in PARTS[part][0]})
    return f"python -m nltk.downloader {' '.join(packages)}, or NLTK_DATA=FOLDER that holds them"


def find_tools(kind: str = "auto") -> Tools:
    """Return tools: `nltk` for all parts, `fallback` for none, `auto` for those whose data are there.

    Raises ConfigError for an unknown kind, or for `nltk` where data are missing, with the command that gets them.
    """
    check_name("linguistic tools", kind, KINDS)
    there = at_hand(kind)
    if kind == "nltk" and not all(there.values()):
        missing = [part for part, has in there.items() if not has]
        raise ConfigError(f"NLTK has no data for {', '.join(missing)}. Get them by {remedy(missing)}")
    return _tools(tuple(there.items()))


def at_hand(kind: str = "auto") -> dict[str, bool]:
    """Return of each part of the tools whether NLTK does it: its data are there, and fallbacks are not asked for."""
    return {part: kind != "fallback" and _is_there(part) for part in PARTS}


@functools.cache
def _tools(there: tuple[tuple[str, bool], ...]) -> Tools:
    has = dict(there)
    tags = _perceptron() if has["tags"] else _pattern
    return Tools(
        _punkt if has["sentences"] else _by_rule,
        _treebank,
        tags,
        _brown_phrases() if has["noun phrases"] else _chunks(tags),
        _wordnet if has["antonyms"] else _listed,
        {part: PARTS[part][1] if by_nltk else f"fallback: {PARTS[part][2]}" for part, by_nltk in there},
    )


# ---- NLTK ------------------------------------------------------------------------------------------------------------


def _is_there(part: str) -> bool:
    import nltk  # takes a second, and most commands need none of it

    for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep):  # NLTK reads it when it is imported, and no more
        if folder and folder not in nltk.data.path:
            nltk.data.path.insert(0, folder)

    def found(place: str) -> bool:
        for path in (f"{place}/", f"{place}.zip/{place.split('/')[1]}/"):
            with suppress(LookupError):
                nltk.data.find(path)
                return True
        return False

    return all(map(found, PARTS[part][0]))


def _punkt(text: str) -> list[str]:
    from nltk.tokenize import sent_tokenize

    return list(sent_tokenize(text))


def _treebank(sentence: str) -> list[str]:
    from nltk.tokenize import word_tokenize

    return list(word_tokenize(sentence, preserve_line=True))  # it is one sentence, so Punkt is not asked again


def _perceptron() -> Callable[[Sequence[str]], list[str]]:
    from nltk.tag.perceptron import PerceptronTagger

    tagger = PerceptronTagger()
    return lambda tokens: [universal(tag) for _, tag in tagger.tag(list(tokens))]


def _brown_phrases() -> Callable[[Sequence[str]], list[str]]:
    from textblob.en.np_extractors import FastNPExtractor

    class OfTokens(FastNPExtractor):  # type: ignore[misc]
        def _tokenize_sentence(self, sentence: Any) -> Any:
            return sentence  # they are tokens already

    extractor = OfTokens()  # the first text trains its tagger on Brown, which takes some seconds

    def phrases(tokens: Sequence[str]) -> list[str]:
        found = extractor.extract(list(tokens)) if tokens else []
        return [phrase.strip().lower() for phrase in found if len(phrase) > 1]

    return phrases


@functools.cache
def _wordnet(word: str) -> str | None:
    from nltk.corpus import wordnet

    lemmas = (lemma for synset in wordnet.synsets(word) for lemma in synset.lemmas())
    found = Counter(opposites[0].name() for lemma in lemmas if (opposites := lemma.antonyms()))
    return max(found, key=found.__getitem__) if found else None  # of equals the first seen


def universal(penn: str) -> str:
    """Return the universal tag of a Penn Treebank tag; unknown ones are X."""
    return _TO_UNIVERSAL.get(penn, "X")


# ---- fallbacks -------------------------------------------------------------------------------------------------------

_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:et al|e\.g|i\.e|cf|vs|viz|etc|approx|resp|Figs?|Eqs?|Secs?|Refs?|Tabs?|Nos?|Drs?|Profs?|St)|\b[A-Z])\.$"
)


_MARKS = re.compile(r"[^\w\s]+")


def _by_rule(text: str) -> list[str]:
    found, start = [], 0
    for gap in _END.finditer(text):
        end = len(text[: gap.end()].rstrip())
        if not _ABBREVIATION.search(text[start:end]):
            found.append(text[start:end].strip())
            start = gap.end()
    last = text[start:].strip()
    return [*found, last] if last else found


def _pattern(tokens: Sequence[str]) -> list[str]:
    from textblob.en import parser

    entries = parser.find_tags(list(tokens))
    return ["." if _MARKS.fullmatch(token) and token not in "%&" else universal(tag) for token, tag, *_ in entries]


def _chunks(tags: Callable[[Sequence[str]], list[str]]) -> Callable[[Sequence[str]], list[str]]:
    """Runs of two and more adjectives and nouns that end in a noun, and single capitalised nouns: the shape of Brown's."""

    def phrases(tokens: Sequence[str]) -> list[str]:
        found: list[str] = []
        run: list[tuple[str, str]] = []
        for token, tag in [*zip(tokens, tags(tokens), strict=True), ("", ".")]:
            if tag in (ADJ, NOUN):
                run.append((token, tag))
                continue
            while run and run[-1][1] == ADJ:
                run.pop()
            if len(run) > 1 or (run and run[0][0][:1].isupper()):
                found.append(" ".join(word for word, _ in run).lower())
            run = []
        return [phrase for phrase in found if len(phrase) > 1]

    return phrases


_OPPOSITES = """
large small, big little, high low, long short, strong weak, good bad, better worse, best worst, new old, novel known,
many few, more less, most least, simple complex, easy hard, difficult easy, fast slow, faster slower, rapid slow, deep
shallow, deeper shallower, early late, earlier later, first last, wide narrow, broad narrow, rich poor, dense sparse,
similar different, same different, equal unequal, common rare, frequent infrequent, general specific, global local,
positive negative, active passive, true false, correct incorrect, accurate inaccurate, precise imprecise, exact
approximate, efficient inefficient, effective ineffective, relevant irrelevant, important unimportant, significant
insignificant, sufficient insufficient, necessary unnecessary, useful useless, possible impossible, available
unavailable, able unable, stable unstable, reliable unreliable, robust fragile, consistent inconsistent, complete
incomplete, dependent independent, direct indirect, explicit implicit, formal informal, regular irregular, linear
nonlinear, continuous discrete, static dynamic, fixed variable, constant variable, random systematic, supervised
unsupervised, labeled unlabeled, structured unstructured, visible invisible, clear unclear, certain uncertain, likely
unlikely, usual unusual, typical atypical, normal abnormal, natural artificial, human inhuman, public private, open
closed, full empty, single multiple, individual common, joint separate, internal external, inner outer, upper lower,
higher lower, larger smaller, greater lesser, longer shorter, stronger weaker, major minor, maximum minimum, maximal
minimal, primary secondary, previous next, past future, modern ancient, recent old, contemporary old, young old, old
new, hot cold, warm cool, dry wet, light dark, bright dark, hard soft, heavy light, thick thin, smooth rough, sharp
blunt, clean dirty, noisy quiet, safe dangerous, healthy sick, alive dead, male female, left right, top bottom, front
back, near far, close distant, finite infinite, bounded unbounded, discriminative generative, abstract concrete,
theoretical practical, qualitative quantitative, objective subjective, absolute relative, adequate inadequate,
appropriate inappropriate, desirable undesirable, expensive cheap, costly cheap, homogeneous heterogeneous, symmetric
asymmetric, parametric nonparametric, convex concave, acute chronic, benign malignant, beneficial harmful, monolingual
multilingual, online offline
"""


_PAIRS = [(word, opposite) for word, opposite in map(str.split, _OPPOSITES.split(","))]
_OPPOSITE = {opposite: word for word, opposite in reversed(_PAIRS)} | dict(reversed(_PAIRS))
"""Word -> its opposite, of several the first listed."""


def _listed(word: str) -> str | None:
    return _OPPOSITE.get(word.lower())
