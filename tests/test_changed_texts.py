"""What the 32 changes do to texts: Table 7 row by row, what is measured of each code, what an encoder reads of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import pytest
from test_altered import PAPERS, task
from test_perturbations import reference

from scirep_core.data.perturbations import PERTURBATIONS, perturb
from scirep_core.data.perturbations.changes import Parsed, Text
from scirep_core.data.perturbations.linguistics import find_tools
from scirep_core.data.text import Recipe
from scirep_core.evaluators.changed import example, texts
from scirep_core.kit.records import Paper
from scirep_core.page.papers.neighbours import Subject
from scirep_core.results.published import Printed

pytestmark = pytest.mark.usefixtures("home")
TOOLS, RECIPE = find_tools("fallback"), Recipe(". ")


def subject(papers=PAPERS):
    return Subject(task(papers), 0, 0, "fallback")


def by(rows):
    return {(row.split, row.metric): row for row in rows}


def test_table_7_comes_out_but_for_its_slips():
    # the chunker is trained for seconds, and test_linguistics.py asks it itself
    phrases = ["contextual", "nlp", "computer programs", "language models", "robust embeddings"]
    found = {line.code: line for line in example.lines(replace(reference(), phrases=lambda tokens: phrases), 0)}
    by_verdict = defaultdict(set)
    for code, line in found.items():
        by_verdict[line.verdict].add(code)
    assert len(by_verdict.pop(example.SAME)) == 19 and by_verdict == {
        example.OTHER: {"T_ADelADJ", "T_ADelNonNNs", "TNNU_A"},
        example.ABSENT: {"T_ADelADV", "T_ADelNum", "TDelADJ_A", "TDelVB_A", "TDelDT_A"},
        example.DRAWN: {"T_AShuff", "T_A_DelNNChar", "TRepNNT_A"},
        example.ODD: {"T_ADelRand", "T_A_WS"},
    }
    assert found["T_ADelADJ"].remark == "abstract: the print lacks “embeddings”, “are”, “in” and “NLP”"
    assert found["TNNU_A"].remark == "title: the print lacks “MODELS”, only the print has “MODEL”"
    assert found["T_ADelRand"].remark == "6 of 27 tokens are gone, where 30 % are 8"
    assert "2 of 23 spaces of the abstract, where half are 11" in found["T_A_WS"].remark
    assert found["T_ADelNum"].remark.endswith("the print repeats the text")


def judged(code, seed=0, **fields):
    """Return the verdict on a print of a code; without one, on what our own code makes."""
    title, abstract = Parsed(example.TITLE, TOOLS), Parsed(example.ABSTRACT, TOOLS)
    made = perturb("p", title, abstract, code, seed)
    own = {"title": made.title, "abstract": made.abstract}
    if code == "T_A_WS":
        own = {example.BOTH: f"{made.title}. {made.abstract}".replace(" ", "_")}
    given = (fields or own).items()
    printed = {field: Printed("neighbours", "TN-T7", code, field, text, "", "") for field, text in given}
    return example.judge(code, printed, made, title, abstract)[0]


@pytest.mark.parametrize("code", [code for code, known in PERTURBATIONS.items() if known.random])
def test_what_our_codes_draw_is_one_of_what_they_can_draw(code):
    assert {judged(code, seed) for seed in range(4)} == {example.DRAWN}


@pytest.mark.parametrize(("code", "field", "text"), [
    ("T_AShuff", "abstract", "We train deep robust embeddings using pytorch."),
    ("T_AShuff", "abstract", f"{example.ABSTRACT} And more."),
    ("T_A_DelNNChar", "title", "Sue Code Embeddings from Language Models"),
    ("TRepNNT_A", "title", "Source Code Embeddings from from Language Models"),
    ("T_A_WS", example.BOTH, "Source__Code_Embeddings_from_Language"),
])  # fmt: skip
def test_a_print_that_the_rule_cannot_give_is_not_one_of_many(code, field, text):
    assert judged(code, **{field: text}) == example.ODD


def test_papers_that_a_code_applies_to_and_why_not():
    one = subject()
    rows = by(texts.measure(one.asked(), one.made, one.chosen))
    for code, altered in one.made.by_code.items():
        assert (rows[code, "applies"].value, rows[code, "applies"].n) == (len(altered.ids), len(PAPERS))
        left = [r.value for (split, metric), r in rows.items() if split == code and metric.startswith(texts.LEFT_OUT)]
        assert sum(left) == len(PAPERS) - len(altered.ids)
        if altered.ids:
            assert rows[code, "words_kept"].value == pytest.approx(100 * np.mean(altered.shares))
    for (code, metric), value in {
        ("T_ADelQ1", texts.LEFT_OUT + "fewer than 3 sentences"): 1, ("T_ARot", texts.LEFT_OUT + "no abstract"): 1,
        ("T_A_WS", "changed"): 100, ("T_A_WS", "reworded"): 0, ("T_ANNU", "reworded"): 100,
        ("T_ARot", "changed"): 200 / 3,  # of three abstracts with text one has one sentence, which cannot be rotated
    }.items():  # fmt: skip
        assert rows[code, metric].value == pytest.approx(value), (code, metric)


def test_readings_are_counted_word_by_word():
    given = {Paper("p", "a b", "c d"): Text("a b", "c  d"), Paper("q", "e f", ""): Text("e e f", "gg")}
    values = {r.metric: r.value for r in texts._readings(subject().asked(), "x", given)}
    assert values["length"] == pytest.approx((1 + 2) / 2) and values["intact"] == 50
    assert values["broken"] == pytest.approx(100 * (0 + 1 / 4) / 2)


def test_letters_nouns_and_opposites_are_those_of_the_texts():
    parsed = {"p": (Parsed("Old model", TOOLS), Parsed("New models learn new words .", TOOLS))}
    asked = subject().asked()
    letters = texts._letters(asked, parsed, {"p": Text("Old odel", "New mods learn new words .")})
    assert {r.metric: (r.value, r.n) for r in letters} == {
        "words that lose 1 of their letters": (50, 2), "words that lose 2 of their letters": (50, 2),
    }  # fmt: skip
    rows = texts._replaced(asked, parsed, {"p": Text("", "old models learn old_hat words .")})
    assert {r.split: r.value for r in rows if r.metric == texts.REPLACED} == {"new → old": 1, "new → old_hat": 1}
    assert {r.metric: r.value for r in rows if r.split == texts.ANTONYMS} == {
        "words replaced": pytest.approx(100 / 3), "opposites with an underscore": 50, "different replacements": 2,
    }  # fmt: skip
    assert texts._replaced(asked, parsed, {}) == []
    assert [r.value for r in texts._added(asked, parsed, {"p": Text("Old model models words", "")})] == [2]


@dataclass
class Letters:
    """An encoder that counts letters, of the text as it is or in lower case; with a tokenizer where asked for."""

    name: str = "letters"
    lower: bool = True
    reads: int = 0
    dim: int = 128
    formats: tuple[str, ...] = ("PRX",)
    recipe: Recipe = RECIPE

    def __post_init__(self):
        self.fingerprint = f"{self.name}{self.lower}"
        if self.reads:
            self.length = self.reads
            self.tokenizer = lambda read, truncation, max_length, verbose: {
                "input_ids": [[hash(word) for word in self._read(text).split()[:max_length]] for text in read]
            }

    def _read(self, text):
        return text.lower() if self.lower else text

    def encode(self, texts, format):
        counts = [[self._read(text).count(chr(at)) for at in range(33, 33 + self.dim)] for text in texts]
        return np.array(counts, np.float32)


@pytest.mark.parametrize("reads", [0, 400])
@pytest.mark.parametrize(("lower", "share"), [(True, 100.0), (False, 0.0)])
def test_case_and_white_space_are_no_ops_for_an_encoder_that_lowers(reads, lower, share):
    one, encoder = subject([p for p in PAPERS if p.abstract]), Letters(f"letters{reads}", lower, reads)
    rows = by(texts.seen(one.asked(), one.made, encoder, dict(zip(one.ids, one.whole(encoder), strict=True))))
    assert rows["T_A_WS", "same_input"].value == 100, "white space is not read"
    # tokens joined by spaces part full stops from their words: the words read so differ, the letters do not
    assert rows["T_ANNU", "same_input"].value == (share if not reads else 0)
    assert rows["TNNU_A", "same_input"].value == share


def test_an_input_is_compared_as_far_as_it_is_read():
    first, second = Paper("a", "one two three", "four"), Paper("b", "one two three", "five")
    encoder = Letters("short", True, 3)
    assert texts.inputs(encoder, [first]) == texts.inputs(encoder, [second])
    assert texts.inputs(Letters(), [first]) is None


@pytest.mark.parametrize(("code", "value", "half", "by_rule", "settled"), [
    ("T_ADelADV", 96, 1, "LO-HS", True), ("T_ADelADV", 89, 0.5, "LO-PS", True), ("T_ADelADV", 90.2, 0.5, "LO-HS", False),
    ("T_ADelQ1", 69, 0.5, None, True), ("T_ADelQ1", 69.9, 0.5, None, False), ("T_ADelNN", 30, 5, "LO-DS", True),
])  # fmt: skip
def test_a_category_follows_from_the_words_kept_and_its_interval(code, value, half, by_rule, settled):
    category = PERTURBATIONS[code].category
    kept = subject().asked().row("words_kept", value, 40, code, low=value - half, high=value + half)
    found = texts.judge(code, kept, category)
    assert (found.by_rule, found.settled, found.agrees) == (by_rule, settled, by_rule == category)


def test_table_8_stands_beside_what_an_encoder_says_of_itself():
    class Tokens:
        def __call__(self, text):
            return {"input_ids": [hash(text.lower())]}

        def __len__(self):
            return 31_090

    encoder = Letters("specter")
    encoder.tokenizer, encoder.length = Tokens(), 512
    values = {r.metric: r.value for r in texts.facts(encoder)}
    assert values == {"vocabulary": 31_090, "case kept": 0, "tokens read": 512} and texts.facts(Letters()) == []
