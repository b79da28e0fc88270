"""What the 32 changes do to texts: Table 7 row by row, what is measured of each code, what an encoder reads of it."""

from __future__ import annotations

from collections.abc import Sequence
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
from scirep_core.results import Result
from scirep_core.results.published import Printed

RANDOM = [code for code, known in PERTURBATIONS.items() if known.random]
RECIPE = Recipe(". ")
pytestmark = pytest.mark.usefixtures("home")


def subject(papers: Sequence[Paper] = PAPERS, queries: int = 0) -> Subject:
    return Subject(task(papers), 0, queries, "fallback")


# ---- Table 7 ---------------------------------------------------------------------------------------------------------


def test_table_7_comes_out_but_for_its_slips():
    # the chunker is trained for seconds, and test_linguistics.py asks it itself
    phrases = ["contextual", "nlp", "computer programs", "language models", "robust embeddings"]
    found = {line.code: line for line in example.lines(replace(reference(), phrases=lambda tokens: phrases), 0)}
    by_verdict: dict[str, set[str]] = {}
    for code, line in found.items():
        by_verdict.setdefault(line.verdict, set()).add(code)
    assert by_verdict[example.OTHER] == {"T_ADelADJ", "T_ADelNonNNs", "TNNU_A"}
    assert by_verdict[example.ABSENT] == {"T_ADelADV", "T_ADelNum", "TDelADJ_A", "TDelVB_A", "TDelDT_A"}
    assert by_verdict[example.DRAWN] == {"T_AShuff", "T_A_DelNNChar", "TRepNNT_A"}
    assert by_verdict[example.ODD] == {"T_ADelRand", "T_A_WS"}
    assert len(by_verdict[example.SAME]) == 19
    assert found["T_ADelADJ"].remark == "abstract: the print lacks “embeddings”, “are”, “in” and “NLP”"
    assert found["TNNU_A"].remark == "title: the print lacks “MODELS”, only the print has “MODEL”"
    assert found["T_ADelRand"].remark == "6 of 27 tokens are gone, where 30 % are 8"
    assert "2 of 23 spaces of the abstract, where half are 11" in found["T_A_WS"].remark
    assert found["T_ADelNum"].remark.endswith("the print repeats the text")


@pytest.mark.parametrize("code", RANDOM)
@pytest.mark.parametrize("seed", range(4))
def test_what_our_codes_draw_is_one_of_what_they_can_draw(code, seed):
    tools = find_tools("fallback")
    title, abstract = Parsed(example.TITLE, tools), Parsed(example.ABSTRACT, tools)
    made = perturb("p", title, abstract, code, seed)
    fields = {"title": made.title or "", "abstract": made.abstract or ""}
    if code == "T_A_WS":
        fields = {example.BOTH: f"{made.title}. {made.abstract}".replace(" ", "_")}
    printed = {field: Printed("neighbours", "TN-T7", code, field, text, "", "") for field, text in fields.items()}
    verdict, said = example.judge(code, printed, made, title, abstract)
    assert verdict == example.DRAWN, said


@pytest.mark.parametrize(
    ("code", "field", "text"),
    [
        ("T_AShuff", "abstract", "We train deep robust embeddings using pytorch."),
        ("T_AShuff", "abstract", f"{example.ABSTRACT} And more."),
        ("T_A_DelNNChar", "title", "Sue Code Embeddings from Language Models"),
        ("TRepNNT_A", "title", "Source Code Embeddings from from Language Models"),
        ("T_A_WS", example.BOTH, "Source__Code_Embeddings_from_Language"),
    ],
)
def test_a_print_that_the_rule_cannot_give_is_not_one_of_many(code, field, text):
    tools = find_tools("fallback")
    title, abstract = Parsed(example.TITLE, tools), Parsed(example.ABSTRACT, tools)
    printed = {field: Printed("neighbours", "TN-T7", code, field, text, "", "")}
    assert example.judge(code, printed, perturb("p", title, abstract, code), title, abstract)[0] == example.ODD


# ---- what is measured ------------------------------------------------------------------------------------------------


def test_papers_that_a_code_applies_to_and_why_not():
    one = subject()
    rows = {(r.split, r.metric): r for r in texts.measure(one.asked(), one.made, one.chosen)}
    for code, altered in one.made.by_code.items():
        assert (rows[code, "applies"].value, rows[code, "applies"].n) == (len(altered.ids), len(PAPERS))
        left = [r for (split, metric), r in rows.items() if split == code and metric.startswith(texts.LEFT_OUT)]
        assert sum(r.value for r in left) == len(PAPERS) - len(altered.ids)
        if altered.ids:
            assert rows[code, "words_kept"].value == pytest.approx(100 * np.mean(altered.shares))
    assert rows["T_ADelQ1", texts.LEFT_OUT + "fewer than 3 sentences"].value == 1
    assert rows["T_ARot", texts.LEFT_OUT + "no abstract"].value == 1
    assert rows["T_A_WS", "changed"].value == 100 and rows["T_A_WS", "reworded"].value == 0
    assert rows["T_ANNU", "reworded"].value == 100
    # of three abstracts with text one has one sentence, which cannot be rotated
    assert rows["T_ARot", "changed"].value == pytest.approx(200 / 3)


def test_readings_are_counted_word_by_word():
    paper = Paper("p", "a b", "c d")
    asked = subject().asked()
    rows = {
        r.metric: r
        for r in texts._readings(asked, "x", {paper: Text("a b", "c  d"), Paper("q", "e f", ""): Text("e e f", "gg")})
    }
    assert rows["length"].value == pytest.approx((1 + 2) / 2) and rows["intact"].value == 50
    assert rows["broken"].value == pytest.approx(100 * (0 + 1 / 4) / 2)


def test_letters_nouns_and_opposites_are_those_of_the_texts():
    tools = find_tools("fallback")
    parsed = {"p": (Parsed("Old model", tools), Parsed("New models learn new words .", tools))}
    asked = subject().asked()
    letters = texts._letters(asked, parsed, {"p": Text("Old odel", "New mods learn new words .")})
    assert {r.metric: (r.value, r.n) for r in letters} == {
        "words that lose 1 of their letters": (50, 2), "words that lose 2 of their letters": (50, 2),
    }  # fmt: skip
    rows = texts._replaced(asked, parsed, {"p": Text("", "old models learn old_hat words .")})
    assert {r.split: r.value for r in rows if r.metric == texts.REPLACED} == {"new → old": 1, "new → old_hat": 1}
    shares = {r.metric: r.value for r in rows if r.split == texts.ANTONYMS}
    assert shares == {
        "words replaced": pytest.approx(100 / 3),
        "opposites with an underscore": 50,
        "different replacements": 2,
    }
    assert texts._replaced(asked, parsed, {}) == []
    assert [r.value for r in texts._added(asked, parsed, {"p": Text("Old model models words", "")})] == [2]


# ---- what encoders see -----------------------------------------------------------------------------------------------


@dataclass
class Letters:
    """An encoder that counts letters, of the text as it is or in lower case; with a tokenizer where asked for."""

    name: str = "letters"
    lower: bool = True
    reads: int = 0
    fingerprint: str = "f"
    dim: int = 128
    formats: tuple[str, ...] = ("PRX",)
    recipe: Recipe = RECIPE

    def __post_init__(self) -> None:
        self.fingerprint = f"{self.name}{self.lower}"
        if self.reads:
            self.length = self.reads
            self.tokenizer = lambda read, truncation, max_length, verbose: {
                "input_ids": [[hash(word) for word in self._read(text).split()[:max_length]] for text in read]
            }

    def _read(self, text: str) -> str:
        return text.lower() if self.lower else text

    def encode(self, texts: list[str], format: str) -> np.ndarray:
        return np.array(
            [[self._read(text).count(chr(at)) for at in range(33, 33 + self.dim)] for text in texts], np.float32
        )


@pytest.mark.parametrize("reads", [0, 400])
def test_case_and_white_space_are_no_ops_for_an_encoder_that_lowers(reads):
    one = subject([p for p in PAPERS if p.abstract])
    for lower, share in ((True, 100.0), (False, 0.0)):
        encoder = Letters(f"letters{reads}", lower, reads)
        rows = {
            (r.split, r.metric): r
            for r in texts.seen(one.asked(), one.made, encoder, dict(zip(one.ids, one.whole(encoder), strict=True)))
        }
        assert rows["T_A_WS", "same_input"].value == 100, "white space is not read"
        # tokens joined by spaces part full stops from their words: the words read so differ, the letters do not
        assert rows["T_ANNU", "same_input"].value == (share if not reads else 0)
        assert rows["TNNU_A", "same_input"].value == share


def test_an_input_is_compared_as_far_as_it_is_read():
    encoder = Letters("short", True, 3)
    first, second = Paper("a", "one two three", "four"), Paper("b", "one two three", "five")
    assert texts.inputs(encoder, [first]) == texts.inputs(encoder, [second])
    assert texts.inputs(Letters(), [first]) is None


# ---- sentences -------------------------------------------------------------------------------------------------------


def kept(code: str, value: float, half: float = 0.5) -> Result:
    return subject().asked().row("words_kept", value, 40, code, low=value - half, high=value + half)


@pytest.mark.parametrize(
    ("code", "value", "half", "by_rule", "settled"),
    [
        ("T_ADelADV", 96, 1, "LO-HS", True), ("T_ADelADV", 89, 0.5, "LO-PS", True), ("T_ADelADV", 90.2, 0.5, "LO-HS", False),
        ("T_ADelQ1", 69, 0.5, None, True), ("T_ADelQ1", 69.9, 0.5, None, False), ("T_ADelNN", 30, 5, "LO-DS", True),
    ],
)  # fmt: skip
def test_a_category_follows_from_the_words_kept_and_its_interval(code, value, half, by_rule, settled):
    found = texts.judge(code, kept(code, value, half), PERTURBATIONS[code].category)
    assert (found.by_rule, found.settled) == (by_rule, settled)
    assert found.agrees == (by_rule == PERTURBATIONS[code].category)


# ---- Table 8 ---------------------------------------------------------------------------------------------------------


def test_table_8_stands_beside_what_an_encoder_says_of_itself():
    class Tokens:
        def __call__(self, text: str) -> dict[str, list[int]]:
            return {"input_ids": [hash(text.lower())]}

        def __len__(self) -> int:
            return 31_090

    encoder = Letters("specter")
    encoder.tokenizer, encoder.length = Tokens(), 512  # type: ignore[assignment]
    rows = texts.facts(encoder)
    assert {r.metric: r.value for r in rows} == {"vocabulary": 31_090, "case kept": 0, "tokens read": 512}
    assert texts.facts(Letters()) == []
