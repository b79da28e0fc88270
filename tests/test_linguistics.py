"""The tools: NLTK's where its data are, fallbacks that say so where they are not."""

from __future__ import annotations

from small_files import refused
from test_perturbations import ABSTRACT, TITLE, reference

from scirep_core.data.perturbations import linguistics
from scirep_core.data.perturbations.linguistics import UNIVERSAL, find_tools, universal
from scirep_core.kit.errors import ConfigError

TEXT = (
    'We follow Smith et al. in Fig. 3 of "their" work. It cannot fail, e.g. on 3.5 % of the data. '
    "Dr. A. Jones didn't agree! Why? See https://x.org (2). (A note.) Results improve."
)


def test_the_reference_is_nltks_own_answer():
    tools = reference()
    import nltk
    from nltk.tag import map_tag
    from textblob import TextBlob

    for text in (TEXT, ABSTRACT, TITLE):
        assert tools.sentences(text) == nltk.sent_tokenize(text)
        tokens = [token for sentence in tools.sentences(text) for token in tools.tokens(sentence)]
        assert tokens == nltk.word_tokenize(text)
        assert tools.tags(tokens) == [map_tag("en-ptb", "universal", tag) for _, tag in nltk.pos_tag(tokens)]
        assert tools.phrases(tokens) == list(TextBlob(text).noun_phrases)
    assert not tools.missing and "as in the paper" in tools.say()


def test_each_tag_of_the_tagger_has_nltks_universal_tag():
    reference()
    from nltk.tag import map_tag
    from nltk.tag.perceptron import PerceptronTagger

    tags = PerceptronTagger().classes
    assert len(tags) == 45
    assert {tag: universal(tag) for tag in tags} == {tag: map_tag("en-ptb", "universal", tag) for tag in tags}
    assert universal("no such tag") == "X" and len(UNIVERSAL) == 12


def test_wordnets_antonyms_are_the_most_frequent_first_ones_as_in_the_sample_file():
    tools = reference()
    from scirep_core.data.manifests import fetch
    from scirep_core.kit.records import read_object

    known = {"common": "individual", "deep": "shallow", "robust": "frail", "New": "old", "text": "trade_edition",
             "qwerty": None}  # fmt: skip
    assert {word: tools.antonym(word) for word in known} == known
    listed = read_object(fetch("neighbours_sample") / "antonyms_wordnet30.json")
    words = sorted(listed)[::97]
    assert len(words) > 100 and {word: tools.antonym(word) for word in words} == {word: listed[word] for word in words}


def test_fallbacks_split_where_a_sentence_ends_and_not_at_abbreviations():
    sentences = find_tools("fallback").sentences
    assert sentences(TEXT) == [
        'We follow Smith et al. in Fig. 3 of "their" work.', "It cannot fail, e.g. on 3.5 % of the data.",
        "Dr. A. Jones didn't agree!", "Why?", "See https://x.org (2).", "(A note.)", "Results improve.",
    ]  # fmt: skip
    assert sentences("  ") == []


def test_fallback_tags_and_phrases_are_usable():
    tools = find_tools("fallback")
    tagged = {
        "We": "PRON", "learn": "VERB", "deep": "ADJ", "language": "NOUN", "models": "NOUN", "on": "ADP", "large": "ADJ",
        "corpora": "NOUN", "using": "VERB", "PyTorch": "NOUN", "quickly": "ADV", ".": ".",
    }  # fmt: skip
    tokens = [*tagged]
    assert tools.tags(tokens) == [*tagged.values()]
    assert tools.phrases(tokens) == ["deep language models", "large corpora", "pytorch"]
    assert [tools.antonym(word) for word in ("Large", "shallow", "qwerty")] == ["small", "deep", None]


def test_without_data_each_missing_part_is_named_with_the_command_that_gets_it(monkeypatch):
    monkeypatch.setattr(linguistics, "_is_there", lambda part: part == "sentences")
    tools, said = find_tools(), find_tools("fallback").say()
    assert tools.missing == ("tags", "noun phrases", "antonyms") and tools.parts["sentences"] == "NLTK's Punkt"
    assert "python -m nltk.downloader averaged_perceptron_tagger_eng brown punkt_tab wordnet" in said
    assert "short list" in said
    refused(lambda: find_tools("nltk"), "no data for tags, noun phrases, antonyms", error=ConfigError)
    refused(lambda: find_tools("fallbak"), "fallback", error=ConfigError)
