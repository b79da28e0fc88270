"""Changes of a title and an abstract, of which the 32 textual neighbours are made (Singh and Singh 2022, Tables 1 and 7).

Each is a function of the parsed title and abstract and of a random generator, and returns the two new texts, or raises
DoesNotApply saying what is missing. Those made from tokens are tokens joined by one space ("NLP ."); those made from
sentences keep the raw text. `data/perturbations/__init__.py` says which code is which.
"""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scirep_core.data.perturbations.linguistics import ADJ, NOUN, Tools
from scirep_core.kit.errors import ConfigError

# ---- a text and its neighbour ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parsed:
    """A title or an abstract; what tools know of it is asked once, when it is first needed, for all codes together."""

    text: str
    tools: Tools

    @functools.cached_property
    def sentences(self) -> list[str]:
        """Its sentences, in order."""
        return self.tools.sentences(self.text)

    @functools.cached_property
    def by_sentence(self) -> list[list[str]]:
        """The tokens of each sentence."""
        return [self.tools.tokens(sentence) for sentence in self.sentences]

    @functools.cached_property
    def tokens(self) -> list[str]:
        """Its tokens, sentence after sentence."""
        return [token for tokens in self.by_sentence for token in tokens]

    @functools.cached_property
    def tags(self) -> list[str]:
        """A universal tag for each token."""
        return self.tools.tags(self.tokens)

    @functools.cached_property
    def phrases(self) -> list[str]:
        """Its noun phrases, lower-cased, in order, one entry an occurrence."""
        return self.tools.phrases(self.tokens)

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """Each token with its tag."""
        return zip(self.tokens, self.tags, strict=True)

    def tagged(self, tag: str) -> list[str]:
        """Tokens with this tag, in order."""
        return [token for token, own in self.pairs if own == tag]


class Given(NamedTuple):
    """What a change starts from. `top` is the better half of the corpus' noun phrases, which one code asks for."""

    title: Parsed
    abstract: Parsed
    rng: random.Random
    top: frozenset[str] | None = None


class Text(NamedTuple):
    """A title and an abstract."""

    title: str
    abstract: str


class DoesNotApply(Exception):
    """A code needs what this text does not have."""


Change = Callable[[Given], Text]


# ---- sentences of the abstract ---------------------------------------------------------------------------------------


def _sentences(given: Given, least: int = 1) -> list[str]:
    found = given.abstract.sentences
    if not found:
        raise DoesNotApply("no abstract")
    if len(found) < least:
        raise DoesNotApply(f"the abstract has {len(found)} sentence{'s' * (len(found) > 1)}, {least} are needed")
    return found


def _keep_title(given: Given, abstract: str) -> Text:
    return Text(given.title.text, abstract)


def rotate(given: Given) -> Text:
    """The second half of the sentences first; of an odd number the second half is the longer one."""
    sentences = _sentences(given)
    middle = len(sentences) // 2
    return _keep_title(given, " ".join(sentences[middle:] + sentences[:middle]))


def shuffle(given: Given) -> Text:
    """Sentences in a random order, which may be the one they had."""
    sentences = _sentences(given)
    return _keep_title(given, " ".join(given.rng.sample(sentences, len(sentences))))


def sort_by_length(given: Given, longest_first: bool) -> Text:
    """Sentences by their number of tokens; equal ones keep their order, in both directions."""
    sentences, sign = _sentences(given), -1 if longest_first else 1
    order = sorted(range(len(sentences)), key=lambda at: sign * len(given.abstract.by_sentence[at]))
    return _keep_title(given, " ".join(sentences[at] for at in order))


def delete_third(given: Given, which: int) -> Text:
    """Without the first, second or last of three equal runs of sentences; the n mod 3 at the end are in none of them."""
    sentences = _sentences(given, 3)
    size = len(sentences) // 3
    return _keep_title(given, " ".join(sentences[: (which - 1) * size] + sentences[which * size :]))


# ---- words of the abstract -------------------------------------------------------------------------------------------


def _field(given: Given, tag: str | None = None, name: str = "abstract") -> Parsed:
    """Return title or abstract, which must have tokens, one of this tag among them."""
    parsed = given.title if name == "title" else given.abstract
    if not parsed.tokens:
        raise DoesNotApply(f"no {name}")
    if tag and tag not in parsed.tags:
        raise DoesNotApply(f"no {tag} in the {name}")
    return parsed


def _without(parsed: Parsed, tag: str) -> str:
    return " ".join(token for token, own in parsed.pairs if own != tag)


def _changed(given: Given, name: str, text: str) -> Text:
    return Text(text, given.abstract.text) if name == "title" else _keep_title(given, text)


def delete_random(given: Given) -> Text:
    """Without 30 % of the tokens, drawn from all of them."""
    tokens = _field(given).tokens
    gone = set(given.rng.sample(range(len(tokens)), int(0.3 * len(tokens))))
    return _keep_title(given, " ".join(token for at, token in enumerate(tokens) if at not in gone))


def delete_random_substrings(given: Given) -> Text:
    """As the public code: for each of 30 % of the tokens, its first occurrence as a substring goes, inside a word or not."""
    abstract = _field(given)
    text = abstract.text
    for token in given.rng.sample(abstract.tokens, int(0.3 * len(abstract.tokens))):
        text = text.replace(token, "", 1)
    return _keep_title(given, text)


def delete_tag(given: Given, tag: str, name: str = "abstract") -> Text:
    """The abstract, or the title, without tokens of a tag."""
    return _changed(given, name, _without(_field(given, tag, name), tag))


def keep_nouns(given: Given) -> Text:
    """The abstract's nouns alone, in order."""
    return _keep_title(given, " ".join(_field(given, NOUN).tagged(NOUN)))


def delete_phrases(given: Given, top_only: bool) -> Text:
    """Every occurrence of the abstract's noun phrases, written in lower case as the chunker gives them, taken out."""
    abstract = _field(given)
    if top_only and given.top is None:
        raise ConfigError("T_ADelTopNNPH needs the better half of the corpus' noun phrases: top_phrases(...)")
    text = abstract.text
    for phrase in dict.fromkeys(abstract.phrases):
        if not top_only or phrase in (given.top or ()):
            text = text.replace(phrase, "")
    if text == abstract.text:
        raise DoesNotApply("no such noun phrase stands in the abstract in lower case")
    return _keep_title(given, text)


def antonyms(given: Given, delete: bool = False) -> Text:
    """Adjectives of the abstract with a known opposite, replaced by it or deleted; neither case nor inflection is restored."""
    abstract = _field(given, ADJ)
    opposites = [abstract.tools.antonym(token) if tag == ADJ else None for token, tag in abstract.pairs]
    pairs = [(token, opposite or token) for token, opposite in zip(abstract.tokens, opposites, strict=True)]
    if all(token == other for token, other in pairs):
        raise DoesNotApply("no adjective of the abstract has a known opposite")
    return _keep_title(given, " ".join(other for token, other in pairs if not delete or token == other))


# ---- the title -------------------------------------------------------------------------------------------------------


def title_without_nouns_alone(given: Given) -> Text:
    """What is left of the title without its nouns, and no abstract."""
    return Text(_without(_field(given, NOUN, "title"), NOUN), "")


def repeat_title_noun(given: Given) -> Text:
    """One noun of the title, drawn, is doubled wherever it stands there."""
    noun = given.rng.choice(_field(given, NOUN, "title").tagged(NOUN))
    doubled = [token for own in given.title.tokens for token in ([own, own] if own == noun else [own])]
    return Text(" ".join(doubled), given.abstract.text)


def add_abstract_nouns(given: Given) -> Text:
    """The title, then the more frequent half of the abstract's distinct nouns; of equals the earlier."""
    counts = Counter(_field(given, NOUN).tagged(NOUN))
    frequent = [noun for noun, _ in counts.most_common(len(counts) // 2)]
    return Text(" ".join([given.title.text, *frequent]), given.abstract.text)


# ---- case, characters, white space -----------------------------------------------------------------------------------


def upper(given: Given, nouns: bool, name: str = "abstract") -> Text:
    """The nouns of the abstract, or of the title, or all other tokens there, in upper case."""
    parsed = _field(given, None, name)
    if not any((tag == NOUN) == nouns for tag in parsed.tags):
        raise DoesNotApply(f"no {'NOUN' if nouns else 'word but nouns'} in the {name}")
    words = (token.upper() if (tag == NOUN) == nouns else token for token, tag in parsed.pairs)
    return _changed(given, name, " ".join(words))


def delete_characters(given: Given) -> Text:
    """Nouns of both fields lose characters at random places: those of 4 and 5 letters one, longer ones two."""

    def shortened(token: str) -> str:
        gone = given.rng.sample(range(len(token)), 0 if len(token) < 4 else 1 if len(token) < 6 else 2)
        return "".join(letter for at, letter in enumerate(token) if at not in gone)

    def done(parsed: Parsed) -> str:
        return " ".join(shortened(token) if tag == NOUN else token for token, tag in parsed.pairs)

    if not given.title.tokens and not given.abstract.tokens:
        raise DoesNotApply("no text")
    return Text(done(given.title), done(given.abstract))


def _spaces(text: str, rng: random.Random) -> list[int]:
    places = [at for at, letter in enumerate(text) if letter == " "]
    return rng.sample(places, len(places) // 2)


def widen(given: Given) -> Text:
    """Half of each field's spaces become 2 to 5 spaces."""

    def done(text: str) -> str:
        chosen = set(_spaces(text, given.rng))
        return "".join(" " * given.rng.randint(2, 5) if at in chosen else letter for at, letter in enumerate(text))

    return Text(done(_some(given).title.text), done(given.abstract.text))


def widen_in_the_order_drawn(given: Given) -> Text:
    """As the public code: it goes from one drawn space to the next in the order of drawing, so that text is there repeatedly."""

    def done(text: str) -> str:
        found, last = "", 0
        for at in _spaces(text, given.rng):
            found += text[last:at] + " " * given.rng.randint(2, 5)
            last = at + 1
        return found + text[last:]

    return Text(done(_some(given).title.text), done(given.abstract.text))


def _some(given: Given) -> Given:
    if not given.title.text.strip() and not given.abstract.text.strip():
        raise DoesNotApply("no text")
    return given
