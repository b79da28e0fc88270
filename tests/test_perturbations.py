"""The 32 textual neighbours: what must hold of any text. The paper's own example (Table 7) is test_changed_texts.py's."""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scirep_core.data.perturbations import PERTURBATIONS, category_by_rule, perturb, top_phrases, words_kept
from scirep_core.data.perturbations.changes import Parsed, Text
from scirep_core.data.perturbations.linguistics import ADJ, ADV, DET, NOUN, NUM, PRON, VERB, Tools, find_tools
from scirep_core.evaluators.changed.example import ABSTRACT, TITLE
from scirep_core.kit.errors import ConfigError

FIRST = "Contextual embeddings are common in NLP."
NLTK_DATA = os.environ.get("NLTK_DATA") or f"{os.environ.get('SCIREP_DATA_MIRROR', '')}/nltk_data"


@functools.cache
def reference() -> Tools:
    if not Path(NLTK_DATA).is_dir():
        pytest.skip("NLTK's data are not at hand: set NLTK_DATA, or SCIREP_DATA_MIRROR to a folder with nltk_data/")
    os.environ["NLTK_DATA"] = NLTK_DATA
    return find_tools("nltk")


# ---- properties of any text ------------------------------------------------------------------------------------------

VOCABULARY = (
    "model models quickly learns the a new larger 7 three it they Graph in of and data-driven O'Brien cannot e.g. i.e. "
    '3.5 % ( ) "quoted" Graphs über naïve 模型 😀 -- ... large computer program robust'
)
WORDS = st.sampled_from(VOCABULARY.split())
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(lambda words: " ".join(words).capitalize() + ".")
ABSTRACTS = st.lists(SENTENCES, max_size=9).map(" ".join)
TITLES = st.lists(WORDS, max_size=8).map(" ".join)
KINDS = ("nltk", "fallback")
examples = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=KINDS)
def tools(request) -> Tools:
    return reference() if request.param == "nltk" else find_tools("fallback")


def parsed(title: str, abstract: str, tools: Tools) -> tuple[Parsed, Parsed]:
    return Parsed(title, tools), Parsed(abstract, tools)


@examples
@given(TITLES, ABSTRACTS)
def test_moving_sentences_permutes_them_and_thirds_partition_them(tools, title, abstract):
    t, a = parsed(title, abstract, tools)
    if not a.sentences:
        assert not any(perturb("p", t, a, code).applies for code in ("T_ARot", "T_AShuff", "T_ASortAsc", "T_ASortDesc"))
        return
    moved = {code: perturb("p", t, a, code).abstract for code in ("T_ARot", "T_AShuff", "T_ASortAsc", "T_ASortDesc")}
    for text in moved.values():
        assert Counter(text.split()) == Counter(abstract.split())
    lengths = sorted(range(len(a.sentences)), key=lambda at: len(a.by_sentence[at]))
    assert moved["T_ASortAsc"] == " ".join(a.sentences[at] for at in lengths)
    thirds = [perturb("p", t, a, f"T_ADelQ{which}") for which in (1, 2, 3)]
    assert all(third.applies == (len(a.sentences) >= 3) for third in thirds)
    if thirds[0].applies:
        words, size = Counter(abstract.split()), len(a.sentences) // 3
        gone = [words - Counter(third.abstract.split()) for third in thirds]
        rest = Counter(" ".join(a.sentences[3 * size :]).split())
        assert gone[0] + gone[1] + gone[2] + rest == words


@examples
@given(TITLES, ABSTRACTS)
def test_deleting_a_tag_leaves_every_other_token(tools, title, abstract):
    t, a = parsed(title, abstract, tools)
    of = {"T_ADelADJ": ADJ, "T_ADelNN": NOUN, "T_ADelVB": VERB, "T_ADelADV": ADV, "T_ADelPR": PRON, "T_ADelDT": DET,
          "T_ADelNum": NUM, "TDelADJ_A": ADJ, "TDelNN_A": NOUN, "TDelVB_A": VERB, "TDelDT_A": DET}  # fmt: skip
    for code, tag in of.items():
        found, field = perturb("p", t, a, code), t if code.startswith("TDel") else a
        assert found.applies == (tag in field.tags)
        if found.applies:
            changed, kept = (found.title, found.abstract) if field is t else (found.abstract, found.title)
            assert changed.split() == [token for token, own in zip(field.tokens, field.tags, strict=True) if own != tag]
            assert kept == (abstract if field is t else title)
    if NOUN in a.tags:
        nouns, others = perturb("p", t, a, "T_ADelNonNNs").abstract, perturb("p", t, a, "T_ADelNN").abstract
        assert Counter(nouns.split()) + Counter(others.split()) == Counter(a.tokens)


@examples
@given(TITLES, ABSTRACTS)
def test_the_adjectives_that_antonyms_replace_are_those_that_are_deleted_without_them(tools, title, abstract):
    t, a = parsed(title, abstract, tools)
    replaced, deleted = (perturb("p", t, a, code) for code in ("T_ARepADJ", "T_ADelOpp"))
    assert replaced.applies == deleted.applies
    if replaced.applies:
        turned = [
            at for at, (old, new) in enumerate(zip(a.tokens, replaced.abstract.split(), strict=True)) if old != new
        ]
        assert turned and deleted.title == replaced.title
        assert deleted.abstract.split() == [token for at, token in enumerate(a.tokens) if at not in turned]


@examples
@given(TITLES, ABSTRACTS)
def test_upper_case_and_white_space_change_nothing_else(tools, title, abstract):
    t, a = parsed(title, abstract, tools)
    for code, field, nouns in (
        ("TNNU_A", t, True),
        ("TNonNNU_A", t, False),
        ("T_ANNU", a, True),
        ("T_ANonNNU", a, False),
    ):
        found = perturb("p", t, a, code)
        assert found.applies == any((tag == NOUN) == nouns for tag in field.tags)
        if found.applies:
            changed = found.title if field is t else found.abstract
            assert changed.casefold() == " ".join(field.tokens).casefold()
            for token, own, tag in zip(changed.split(), field.tokens, field.tags, strict=True):
                assert token == (own.upper() if (tag == NOUN) == nouns else own)
    wide = perturb("p", t, a, "T_A_WS")
    assert wide.applies == bool(title.strip() or abstract.strip())
    if wide.applies:
        for before, after in ((title, wide.title), (abstract, wide.abstract)):
            assert after.split() == before.split()
            runs = [len(run) for run in re.findall(r" +", after)]
            assert all(run <= 5 for run in runs) and sum(run > 1 for run in runs) == before.count(" ") // 2


@examples
@given(TITLES, ABSTRACTS)
def test_random_deletion_loses_exactly_three_tenths_and_nouns_lose_their_letters(tools, title, abstract):
    t, a = parsed(title, abstract, tools)
    found = perturb("p", t, a, "T_ADelRand")
    assert found.applies == bool(a.tokens)
    if found.applies:
        left = found.abstract.split()
        assert len(left) == len(a.tokens) - int(0.3 * len(a.tokens)) and not Counter(left) - Counter(a.tokens)
    letters = perturb("p", t, a, "T_A_DelNNChar")
    if letters.applies:
        for field, changed in ((t, letters.title), (a, letters.abstract)):
            for own, tag, token in zip(field.tokens, field.tags, changed.split(), strict=True):
                lost = 0 if tag != NOUN or len(own) < 4 else 1 if len(own) < 6 else 2
                assert len(own) - len(token) == lost and (lost or own == token)


@examples
@given(TITLES, ABSTRACTS)
def test_nouns_added_to_the_title_are_the_titles_or_the_abstracts(tools, title, abstract):
    t, a = parsed(title, abstract, tools)
    doubled, added = perturb("p", t, a, "TRepNNT_A"), perturb("p", t, a, "TRepNNA_A")
    assert doubled.applies == (NOUN in t.tags) and added.applies == (NOUN in a.tags)
    if doubled.applies:
        more = Counter(doubled.title.split()) - Counter(t.tokens)
        (noun, times), *others = more.items()
        assert not others and noun in t.tagged(NOUN) and times == Counter(t.tokens)[noun]
    if added.applies:
        counts = Counter(a.tagged(NOUN))
        extra = added.title[len(title) :].split()
        assert len(extra) == len(counts) // 2 and all(
            counts[noun] >= counts[other] for noun in extra for other in set(counts) - set(extra)
        )


# ---- corners ---------------------------------------------------------------------------------------------------------

CORNERS = {
    "nothing": ("", ""),
    "white space": ("  ", " \n\t "),
    "a title alone": (TITLE, ""),
    "an abstract alone": ("", ABSTRACT),
    "one word": ("Graphs", "Graphs"),
    "one sentence": (TITLE, FIRST),
    "another language": (
        "Über Wörter und Vektoren",
        "我们提出一种方法。它很快。 Nous proposons une méthode. Она быстрая.",
    ),
    "emoji": ("🚀 Fast 🔥 models 😀", "We 😀 train 🔥 models 🚀. They learn 👩‍🔬 quickly! 😀😀😀 It works."),
    "very long": (TITLE, " ".join([ABSTRACT] * 400)),
    "marks alone": ("?!", "... --- ((( %%%"),
}


def test_of_one_sentence_order_does_not_matter_and_there_are_no_thirds(tools):
    t, a = parsed(TITLE, FIRST, tools)
    for code in ("T_ARot", "T_AShuff", "T_ASortAsc", "T_ASortDesc"):
        assert perturb("p", t, a, code) == ("p", code, True, TITLE, FIRST, "")
    assert perturb("p", t, a, "T_ADelQ1").reason == "the abstract has 1 sentence, 3 are needed"


def test_each_paper_code_and_seed_draws_its_own(tools):
    t, a = parsed(TITLE, " ".join([ABSTRACT] * 5), tools)
    texts = {
        perturb(paper, t, a, code, seed).abstract
        for paper in "pq"
        for code in ("T_AShuff", "T_ADelRand")
        for seed in (0, 1)
    }
    assert len(texts) == 8
    assert perturb("p", t, a, "T_ADelADJ", 0)[2:] == perturb("q", t, a, "T_ADelADJ", 1)[2:]


# ---- where the public code differs -----------------------------------------------------------------------------------


def test_the_literal_white_space_repeats_text_and_the_default_never_does(tools):
    t, a = parsed(TITLE, " ".join([ABSTRACT] * 4), tools)
    literal, sound = perturb("p", t, a, "T_A_WS", variant="literal"), perturb("p", t, a, "T_A_WS")
    assert len(literal.abstract.split()) > 3 * len(a.text.split())
    assert sound.abstract.split() == a.text.split()


def test_the_literal_deletion_breaks_words(tools):
    t, a = parsed(TITLE, " ".join([ABSTRACT] * 4), tools)
    literal = perturb("p", t, a, "T_ADelRand", variant="literal")
    assert set(literal.abstract.split()) - set(a.text.split()) - set(a.tokens)
    assert not set(perturb("p", t, a, "T_ADelRand").abstract.split()) - set(a.tokens)


# ---- phrases, rules, errors ------------------------------------------------------------------------------------------


def test_top_phrases_are_scored_by_occurrences_and_rarity():
    found = top_phrases([["a b", "a b", "c d"], ["c d", "e f"], ["c d", "g h"]])
    # tf log2(1 + (N - df + .5) / (df + .5)): a b 2 * 1.415, c d 3 * 0.193, e f 1.415, g h 1.415
    assert found == {"a b", "e f"}
    assert top_phrases([]) == frozenset()


def test_the_papers_rules_put_seven_labels_elsewhere_on_the_measured_shares():
    measured = {"T_ADelADV": 0.964, "T_ADelPR": 0.969, "T_ADelNum": 0.989, "T_ADelADJ": 0.875, "T_ADelVB": 0.861, "T_ADelDT": 0.908,
                "T_ADelNonNNs": 0.301}  # fmt: skip
    by_rule = {code: category_by_rule(code, kept) for code, kept in measured.items()}
    assert by_rule == {"T_ADelADV": "LO-HS", "T_ADelPR": "LO-HS", "T_ADelNum": "LO-HS", "T_ADelADJ": "LO-PS", "T_ADelVB": "LO-PS",
                       "T_ADelDT": "LO-HS", "T_ADelNonNNs": None}  # fmt: skip
    assert category_by_rule("T_ADelTopNNPH", 0.9) == "LO-DS" and category_by_rule("TDelNN_A", 0.8) == "LO-HS"
    assert category_by_rule("T_ADelQ2", 0.69) is None and category_by_rule("T_AShuff", 1.0) == "LL-PS"


def test_words_kept_counts_each_word_once_and_in_any_case():
    assert words_kept(Text("A model", "the model learns"), Text("a MODEL", "model model")) == pytest.approx(3 / 5)
    assert words_kept(Text("", ""), Text("", "")) == 1


def test_an_unknown_code_or_variant_names_the_nearest(tools):
    t, a = parsed(TITLE, ABSTRACT, tools)
    with pytest.raises(ConfigError, match="T_ARot"):
        perturb("p", t, a, "T_ARott")
    with pytest.raises(ConfigError, match="literal"):
        perturb("p", t, a, "T_A_WS", variant="litteral")
    with pytest.raises(ConfigError, match="top_phrases"):
        perturb("p", t, a, "T_ADelTopNNPH")


def test_what_is_done_is_said_in_words():
    said = {code: known.words for code, known in PERTURBATIONS.items()}
    assert (
        said["T_A_WS"] == "title and abstract: half of the spaces widened"
        and said["T_ADelNN"] == "abstract: nouns deleted"
    )
    assert said["TDelNN"] == "title: nouns deleted; abstract: deleted" and said["TDelVB_A"] == "title: verbs deleted"
    assert len(set(said.values())) == len(said)
