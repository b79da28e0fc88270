"""The 32 textual neighbours: small changes of a paper's title and abstract (Singh and Singh 2022, section 3, Tables 1 and 7).

A code says what is done to which field: `T_ADelNN` keeps the title and deletes the abstract's nouns, `TDelNN` deletes the
title's nouns and the whole abstract, `T_A_WS` changes both. The paper sorts the codes by two aspects, orthography (LL lossless,
LO lossy) and semantics (HS highly similar, PS partially similar, DS dissimilar), into five categories.

Each change is a function of the parsed title and abstract and of a random generator of its own, seeded by (seed, paper, code),
so that a neighbour is the same whatever else is made. What a code needs may be missing: a title has no adjective, an abstract
two sentences. Then it does not apply, the reason is said, and the paper is left out of that code's class, as in the paper.

Changes made from tokens are tokens joined by one space ("NLP ."); those made from sentences keep the raw text.

Where the public code differs from the paper, or is at odds with itself, the sensible reading is the default, and what the code
does is the variant `literal` (codes without an entry in LITERAL have one reading):

    T_A_WS       the code widens sampled spaces in the order drawn, which repeats text; sorted, every word stays as it was
    T_ADelRand   the code deletes the first place where a sampled token occurs as a substring; by default the token itself goes

and these are as in the code, whatever the text says: T_A_DelNNChar deletes 1-2 characters, not 2-3; TRepNNA_A adds half of the
abstract's distinct nouns, not one; T_ADelNNPH deletes lower-cased phrases, so that capitalised ones stay.
"""

from __future__ import annotations

import functools
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scirep_core.data.perturbations import changes
from scirep_core.data.perturbations.changes import Change, DoesNotApply, Given, Parsed, Text
from scirep_core.data.perturbations.linguistics import ADJ, ADV, DET, NOUN, NUM, PRON, VERB
from scirep_core.kit.errors import ConfigError, check_name, nearest

LL_HS, LO_HS, LL_PS, LO_PS, LO_DS = CATEGORIES = ("LL-HS", "LO-HS", "LL-PS", "LO-PS", "LO-DS")
"""In the order of similarity that the paper expects (section 6.3)."""
VARIANTS = ("default", "literal")


# ---- the register ----------------------------------------------------------------------------------------------------


class Perturbation(NamedTuple):
    """One type of neighbour.

    Attributes:
        category: the paper's label (Table 1).
        title, abstract: what is done to each field.
        does: order, case, space, word, noun (of the abstract), title noun, character, sentence, antonym: what it changes, by
            which the paper's own rules sort it.
        random: whether it draws.
    """

    category: str
    title: str
    abstract: str
    does: str
    change: Change
    random: bool = False

    @property
    def words(self) -> str:
        """What is done, in words: "abstract: nouns deleted"."""
        if self.title == self.abstract:
            return f"title and abstract: {self.title}"
        return "; ".join(
            f"{field}: {done}" for field, done in (("title", self.title), ("abstract", self.abstract)) if done != KEPT
        )


_of = functools.partial
KEPT = "kept"
PERTURBATIONS: dict[str, Perturbation] = {
    "T_ARot": Perturbation(LL_PS, KEPT, "second half of the sentences first", "order", changes.rotate),
    "T_AShuff": Perturbation(LL_PS, KEPT, "sentences shuffled", "order", changes.shuffle, True),
    "T_ASortAsc": Perturbation(LL_PS, KEPT, "short sentences first", "order", _of(changes.sort_by_length, longest_first=False)),
    "T_ASortDesc": Perturbation(LL_PS, KEPT, "long sentences first", "order", _of(changes.sort_by_length, longest_first=True)),
    "T_ADelRand": Perturbation(LO_PS, KEPT, "30 % of the tokens deleted", "word", changes.delete_random, True),
    "T_ADelADJ": Perturbation(LO_PS, KEPT, "adjectives deleted", "word", _of(changes.delete_tag, tag=ADJ)),
    "T_ADelNN": Perturbation(LO_DS, KEPT, "nouns deleted", "noun", _of(changes.delete_tag, tag=NOUN)),
    "T_ADelVB": Perturbation(LO_PS, KEPT, "verbs deleted", "word", _of(changes.delete_tag, tag=VERB)),
    "T_ADelADV": Perturbation(LO_PS, KEPT, "adverbs deleted", "word", _of(changes.delete_tag, tag=ADV)),
    "T_ADelPR": Perturbation(LO_PS, KEPT, "pronouns deleted", "word", _of(changes.delete_tag, tag=PRON)),
    "T_ADelDT": Perturbation(LO_HS, KEPT, "determiners deleted", "word", _of(changes.delete_tag, tag=DET)),
    "T_ADelNum": Perturbation(LO_PS, KEPT, "numbers deleted", "word", _of(changes.delete_tag, tag=NUM)),
    "T_ADelNNPH": Perturbation(LO_DS, KEPT, "noun phrases deleted", "noun", _of(changes.delete_phrases, top_only=False)),
    "T_ADelTopNNPH": Perturbation(LO_PS, KEPT, "top noun phrases deleted", "noun", _of(changes.delete_phrases, top_only=True)),
    "TDelADJ_A": Perturbation(LO_HS, "adjectives deleted", KEPT, "word", _of(changes.delete_tag, tag=ADJ, name="title")),
    "TDelNN_A": Perturbation(LO_HS, "nouns deleted", KEPT, "title noun", _of(changes.delete_tag, tag=NOUN, name="title")),
    "TDelVB_A": Perturbation(LO_HS, "verbs deleted", KEPT, "word", _of(changes.delete_tag, tag=VERB, name="title")),
    "TDelDT_A": Perturbation(LO_HS, "determiners deleted", KEPT, "word", _of(changes.delete_tag, tag=DET, name="title")),
    "TDelNN": Perturbation(LO_DS, "nouns deleted", "deleted", "noun", changes.title_without_nouns_alone),
    "T_ADelQ1": Perturbation(LO_PS, KEPT, "first third of the sentences deleted", "sentence", _of(changes.delete_third, which=1)),
    "T_ADelQ2": Perturbation(LO_PS, KEPT, "second third of the sentences deleted", "sentence", _of(changes.delete_third, which=2)),
    "T_ADelQ3": Perturbation(LO_PS, KEPT, "last third of the sentences deleted", "sentence", _of(changes.delete_third, which=3)),
    "TNNU_A": Perturbation(LL_HS, "nouns in upper case", KEPT, "case", _of(changes.upper, nouns=True, name="title")),
    "TNonNNU_A": Perturbation(LL_HS, "all but nouns in upper case", KEPT, "case", _of(changes.upper, nouns=False, name="title")),
    "T_ANNU": Perturbation(LL_HS, KEPT, "nouns in upper case", "case", _of(changes.upper, nouns=True)),
    "T_ANonNNU": Perturbation(LL_HS, KEPT, "all but nouns in upper case", "case", _of(changes.upper, nouns=False)),
    "T_A_DelNNChar": Perturbation(LO_PS, "nouns lose letters", "nouns lose letters", "character", changes.delete_characters, True),
    "TRepNNT_A": Perturbation(LO_HS, "one of its nouns doubled", KEPT, "word", changes.repeat_title_noun, True),
    "TRepNNA_A": Perturbation(LO_HS, "half of the abstract's nouns added", KEPT, "word", changes.add_abstract_nouns),
    "T_ADelNonNNs": Perturbation(LO_DS, KEPT, "all but nouns deleted", "word", changes.keep_nouns),
    "T_ARepADJ": Perturbation(LO_DS, KEPT, "adjectives replaced by antonyms", "antonym", changes.antonyms),
    "T_A_WS": Perturbation(LL_HS, "half of the spaces widened", "half of the spaces widened", "space", changes.widen, True),
}  # fmt: skip
"""Code -> what it is, in the order of the paper's Table 1."""
MORE: dict[str, Perturbation] = {
    "T_ADelOpp": Perturbation(
        LO_HS, KEPT, "adjectives with an antonym deleted", "word", _of(changes.antonyms, delete=True)
    ),
    # one of your own: CONTRIBUTING.md
}
"""Codes that are not the paper's, known by name everywhere; no chapter shows them among the 32."""
TOP = "T_ADelTopNNPH"
"""The code that needs to know the whole corpus: `top_phrases`."""
LITERAL: Mapping[str, Change] = {
    "T_ADelRand": changes.delete_random_substrings,
    "T_A_WS": changes.widen_in_the_order_drawn,
}


class Neighbour(NamedTuple):
    """One line of `scirep perturb`: title and abstract are None where the code does not apply, and `reason` says why."""

    paper_id: str
    code: str
    applies: bool
    title: str | None
    abstract: str | None
    reason: str


def perturb(
    paper_id: str,
    title: Parsed,
    abstract: Parsed,
    code: str,
    seed: int = 0,
    top: frozenset[str] | None = None,
    variant: str = "default",
) -> Neighbour:
    """Return a paper's neighbour of one code.

    Args:
        title, abstract: parsed once and given again for every code.
        top: `top_phrases` of the corpus, for T_ADelTopNNPH.

    Raises ConfigError for an unknown code or variant, or T_ADelTopNNPH without `top`.
    """
    check_name("variant", variant, VARIANTS)
    own = perturbation(code).change
    change = LITERAL.get(code, own) if variant == "literal" else own
    try:
        found = change(
            Given(title, abstract, random.Random(f"{seed}/{paper_id}/{code}".encode("utf-8", "surrogatepass")), top)
        )
    except DoesNotApply as reason:
        return Neighbour(paper_id, code, False, None, None, str(reason))
    return Neighbour(paper_id, code, True, found.title, found.abstract, "")


def perturbation(code: str) -> Perturbation:
    """Return what a code is. Raises ConfigError naming the nearest."""
    found = PERTURBATIONS.get(code) or MORE.get(code)
    if found is None:
        raise ConfigError(f"unknown neighbour {code!r}; {nearest(code, [*PERTURBATIONS, *MORE])}")
    return found


# ---- the better half of a corpus' noun phrases ------------------------------------------------------------------------


def top_phrases(abstracts: Iterable[Iterable[str]]) -> frozenset[str]:
    """Return the better half of a corpus' distinct noun phrases, which T_ADelTopNNPH deletes.

        score = tf log2(1 + (N - df + 0.5) / (df + 0.5))

    with tf a phrase's occurrences in all N abstracts and df the abstracts that have it; of equals the first seen is better.

    Args:
        abstracts: the noun phrases of each abstract, one entry an occurrence; read once, so it may stream.
    """
    occurrences: Counter[str] = Counter()
    having: Counter[str] = Counter()
    number = 0
    for phrases in abstracts:
        found = list(phrases)
        occurrences.update(found)
        having.update(dict.fromkeys(found, 1))
        number += 1
    score = {p: tf * math.log2(1 + (number - having[p] + 0.5) / (having[p] + 0.5)) for p, tf in occurrences.items()}
    return frozenset(sorted(score, key=score.__getitem__, reverse=True)[: len(score) // 2])


# ---- the paper's rules (section 3) -----------------------------------------------------------------------------------

_WORD = re.compile(r"\w+")


def words_kept(before: Text, after: Text) -> float:
    """Return the share of the words of title and abstract that a neighbour still has, in any case and order; 1 of no words."""
    counts = [Counter(word.lower() for field in text for word in _WORD.findall(field)) for text in (before, after)]
    return (counts[0] & counts[1]).total() / counts[0].total() if counts[0] else 1.0


def category_by_rule(code: str, share: float) -> str | None:
    """Return the category that section 3's rules give a code of which neighbours keep this share of words; None: no rule fits.

    Lossless: order, case and white space alone change. Dissimilar: nouns or noun phrases of the abstract, or the whole abstract,
    deleted, or adjectives turned round. Partially similar: sentences moved, or something deleted and at least 70 % of the words
    kept. Highly similar: case or white space changed, words deleted or added and at least 90 % kept, or nouns deleted from the
    title alone.
    """
    does = perturbation(code).does
    form = "LL" if does in ("order", "case", "space") else "LO"
    if does in ("noun", "antonym"):
        return f"{form}-DS"
    if does in ("case", "space", "title noun") or (does == "word" and share >= 0.9):
        return f"{form}-HS"
    return f"{form}-PS" if does == "order" or share >= 0.7 else None
