"""The 32 textual neighbours: what must hold of any text. The paper's own example (Table 7) is test_changed_texts.py's."""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scirep_core.data.perturbations import PERTURBATIONS, category_by_rule, perturb, top_phrases, words_kept
from scirep_core.data.perturbations.changes import Parsed, Text
from scirep_core.data.perturbations.linguistics import ADJ, ADV, DET, NOUN, NUM, PRON, VERB, Tools, find_tools
from scirep_core.evaluators.changed.example import ABSTRACT, TITLE

FIRST = "Contextual embeddings are common in NLP."
NLTK_DATA = os.environ.get("NLTK_DATA") or f"{os.environ.get('SCIREP_DATA_MIRROR', '')}/nltk_data"


@functools.cache
def reference() -> Tools:
    if not Path(NLTK_DATA).is_dir():
        pytest.skip("NLTK's data are not at hand: set NLTK_DATA, or SCIREP_DATA_MIRROR to a folder with nltk_data/")
    os.environ["NLTK_DATA"] = NLTK_DATA
    return find_tools("nltk")


class Change:
    """A title and an abstract, parsed by a kind of tools, and what codes make of them."""

    def __init__(self, title, abstract, kind):
        tools = reference() if kind == "nltk" else find_tools(kind)
        self.title, self.abstract = Parsed(title, tools), Parsed(abstract, tools)

    def made(self, code, seed=0, paper="p", **given):
        return perturb(paper, self.title, self.abstract, code, seed, **given)

    def tagged(self, code, in_title):
        """Return (token, tag) pairs of a field, and the field changed or None, having checked that the other one is kept."""
        found, field = self.made(code), self.title if in_title else self.abstract
        changed, kept = (found.title, found.abstract) if in_title else (found.abstract, found.title)
        assert not found.applies or kept == (self.abstract if in_title else self.title).text
        return [*zip(field.tokens, field.tags, strict=True)], changed


VOCABULARY = (
    "model models quickly learns the a new larger 7 three it they Graph in of and data-driven O'Brien cannot e.g. i.e. "
    '3.5 % ( ) "quoted" Graphs über naïve 模型 😀 -- ... large computer program robust'
)
WORDS = st.sampled_from(VOCABULARY.split())
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(lambda words: " ".join(words).capitalize() + ".")
TITLES, ABSTRACTS = st.lists(WORDS, max_size=8).map(" ".join), st.lists(SENTENCES, max_size=9).map(" ".join)
KINDS = ("nltk", "fallback")
MOVES = ("T_ARot", "T_AShuff", "T_ASortAsc", "T_ASortDesc")


def of_any_text(test):
    return settings(max_examples=120)(given(st.builds(Change, TITLES, ABSTRACTS, st.sampled_from(KINDS)))(test))


@of_any_text
def test_moving_sentences_permutes_them_and_thirds_partition_them(text):
    a = text.abstract
    if not a.sentences:
        assert not any(text.made(code).applies for code in MOVES)
        return
    moved = {code: text.made(code).abstract for code in MOVES}
    assert all(Counter(found.split()) == Counter(a.text.split()) for found in moved.values())
    lengths = sorted(range(len(a.sentences)), key=lambda at: len(a.by_sentence[at]))
    assert moved["T_ASortAsc"] == " ".join(a.sentences[at] for at in lengths)
    thirds = [text.made(f"T_ADelQ{which}") for which in (1, 2, 3)]
    assert all(third.applies == (len(a.sentences) >= 3) for third in thirds)
    if thirds[0].applies:
        words, size = Counter(a.text.split()), len(a.sentences) // 3
        gone = [words - Counter(third.abstract.split()) for third in thirds]
        assert gone[0] + gone[1] + gone[2] + Counter(" ".join(a.sentences[3 * size :]).split()) == words


@of_any_text
def test_deleting_a_tag_leaves_every_other_token(text):
    for code, tag in {"T_ADelADJ": ADJ, "T_ADelNN": NOUN, "T_ADelVB": VERB, "T_ADelADV": ADV, "T_ADelPR": PRON, "T_ADelDT": DET,
                      "T_ADelNum": NUM, "TDelADJ_A": ADJ, "TDelNN_A": NOUN, "TDelVB_A": VERB, "TDelDT_A": DET}.items():  # fmt: skip
        tagged, changed = text.tagged(code, code.startswith("TDel"))
        left = [token for token, own in tagged if own != tag]
        assert (changed is not None) == (len(left) < len(tagged)) and (changed is None or changed.split() == left)
    if NOUN in text.abstract.tags:
        nouns, others = (Counter(text.made(code).abstract.split()) for code in ("T_ADelNonNNs", "T_ADelNN"))
        assert nouns + others == Counter(text.abstract.tokens)


@of_any_text
def test_the_adjectives_that_antonyms_replace_are_those_that_are_deleted_without_them(text):
    replaced, deleted = text.made("T_ARepADJ"), text.made("T_ADelOpp")
    assert replaced.applies == deleted.applies
    if replaced.applies:
        pairs = [*zip(text.abstract.tokens, replaced.abstract.split(), strict=True)]
        kept = [old for old, new in pairs if old == new]
        assert len(kept) < len(pairs) and deleted.title == replaced.title and deleted.abstract.split() == kept


@of_any_text
def test_upper_case_and_white_space_change_nothing_else(text):
    for code, in_title, nouns in (
        ("TNNU_A", True, True), ("TNonNNU_A", True, False), ("T_ANNU", False, True), ("T_ANonNNU", False, False),
    ):  # fmt: skip
        tagged, changed = text.tagged(code, in_title)
        assert (changed is not None) == any((tag == NOUN) == nouns for _, tag in tagged)
        if changed is not None:
            assert changed.split() == [own.upper() if (tag == NOUN) == nouns else own for own, tag in tagged]
    before, (*_, applies, title, abstract, _) = (text.title.text, text.abstract.text), text.made("T_A_WS")
    assert applies == any(map(str.strip, before))
    for own, after in zip(before, (title, abstract), strict=True) if applies else ():
        runs = [len(run) for run in re.findall(r" +", after)]
        assert after.split() == own.split()
        assert all(run <= 5 for run in runs) and sum(run > 1 for run in runs) == own.count(" ") // 2


@of_any_text
def test_random_deletion_loses_exactly_three_tenths_and_nouns_lose_their_letters(text):
    tokens, found = text.abstract.tokens, text.made("T_ADelRand")
    assert found.applies == bool(tokens)
    if found.applies:
        left = found.abstract.split()
        assert len(left) == len(tokens) - int(0.3 * len(tokens)) and not Counter(left) - Counter(tokens)
    letters = text.made("T_A_DelNNChar")
    for field, changed in ((text.title, letters.title), (text.abstract, letters.abstract)) if letters.applies else ():
        for own, tag, token in zip(field.tokens, field.tags, changed.split(), strict=True):
            lost = 0 if tag != NOUN or len(own) < 4 else 1 if len(own) < 6 else 2
            assert len(own) - len(token) == lost and (lost or own == token)


@of_any_text
def test_nouns_added_to_the_title_are_the_titles_or_the_abstracts(text):
    doubled, added, counts = text.made("TRepNNT_A"), text.made("TRepNNA_A"), Counter(text.abstract.tagged(NOUN))
    assert doubled.applies == (NOUN in text.title.tags) and added.applies == bool(counts)
    if doubled.applies:
        ((noun, times),) = (Counter(doubled.title.split()) - Counter(text.title.tokens)).items()
        assert noun in text.title.tagged(NOUN) and times == text.title.tokens.count(noun)
    if added.applies:
        extra = added.title[len(text.title.text) :].split()
        least = min((counts[noun] for noun in extra), default=0)
        assert len(extra) == len(counts) // 2
        assert not extra or all(least >= counts[other] for other in set(counts) - set(extra))


CORNERS = {
    "nothing": ("", ""),
    "white space": ("  ", " \n\t "),
    "a title alone": (TITLE, ""),
    "an abstract alone": ("", ABSTRACT),
    "one word": ("Graphs", "Graphs"),
    "one sentence": (TITLE, FIRST),
    "another language": ("Über Wörter und Vektoren", "我们提出一种方法。它很快。 Nous proposons une méthode. Она быстрая."),
    "emoji": ("🚀 Fast 🔥 models 😀", "We 😀 train 🔥 models 🚀. They learn 👩‍🔬 quickly! 😀😀😀 It works."),
    "very long": (TITLE, " ".join([ABSTRACT] * 400)),
    "marks alone": ("?!", "... --- ((( %%%"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_of_one_sentence_order_does_not_matter_and_there_are_no_thirds(kind):
    text = Change(TITLE, FIRST, kind)
    for code in MOVES:
        assert text.made(code) == ("p", code, True, TITLE, FIRST, "")
    assert text.made("T_ADelQ1").reason == "the abstract has 1 sentence, 3 are needed"


@pytest.mark.parametrize("kind", KINDS)
def test_papers_codes_and_seeds_draw_each_their_own(kind):
    text = Change(TITLE, " ".join([ABSTRACT] * 5), kind)
    drawn = {text.made(code, seed, paper).abstract
             for paper in "pq" for code in ("T_AShuff", "T_ADelRand") for seed in (0, 1)}  # fmt: skip
    assert len(drawn) == 8
    assert text.made("T_ADelADJ", 0, "p")[2:] == text.made("T_ADelADJ", 1, "q")[2:]


def test_top_phrases_are_scored_by_occurrences_and_rarity():
    found = top_phrases([["a b", "a b", "c d"], ["c d", "e f"], ["c d", "g h"]])
    # tf log2(1 + (N - df + .5) / (df + .5)): a b 2 * 1.415, c d 3 * 0.193, e f 1.415, g h 1.415
    assert found == {"a b", "e f"} and top_phrases([]) == frozenset()


@pytest.mark.parametrize(("code", "kept", "category"), [
    # the seven labels of the paper that its own rules put elsewhere, on the shares measured
    ("T_ADelADV", 0.964, "LO-HS"), ("T_ADelPR", 0.969, "LO-HS"), ("T_ADelNum", 0.989, "LO-HS"), ("T_ADelADJ", 0.875, "LO-PS"),
    ("T_ADelVB", 0.861, "LO-PS"), ("T_ADelDT", 0.908, "LO-HS"), ("T_ADelNonNNs", 0.301, None),
    ("T_ADelTopNNPH", 0.9, "LO-DS"), ("TDelNN_A", 0.8, "LO-HS"), ("T_ADelQ2", 0.69, None), ("T_AShuff", 1.0, "LL-PS"),
])  # fmt: skip
def test_a_category_follows_from_the_papers_rules(code, kept, category):
    assert category_by_rule(code, kept) == category


def test_words_kept_counts_each_word_once_and_in_any_case():
    assert words_kept(Text("A model", "the model learns"), Text("a MODEL", "model model")) == pytest.approx(3 / 5)
    assert words_kept(Text("", ""), Text("", "")) == 1


def test_what_is_done_is_said_in_words():
    said = {code: known.words for code, known in PERTURBATIONS.items()}
    assert len(set(said.values())) == len(said) and said.items() >= {
        "T_A_WS": "title and abstract: half of the spaces widened", "T_ADelNN": "abstract: nouns deleted",
        "TDelNN": "title: nouns deleted; abstract: deleted", "TDelVB_A": "title: verbs deleted",
    }.items()  # fmt: skip
