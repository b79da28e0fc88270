"""Chapter `beyond/slips`, textual neighbours: the 32 codes of Table 1, their example in Table 7, their rules and their public code.

Table 7 runs one title and one abstract through 32 codes, so most of it can be checked word by word; no tagger is asked, since the
table's own upper-case row says which words are nouns. Codes with two readings run here on that example.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from scirep_core.data.perturbations import LITERAL, category_by_rule, perturb
from scirep_core.data.perturbations.changes import Parsed
from scirep_core.data.perturbations.linguistics import find_tools
from scirep_core.evaluators.changed.example import ABSTRACT, TITLE
from scirep_core.exhibits.beyond_slips_base import (
    CODE,
    MISPRINT,
    SEED,
    TEXTS,
    UNSAID,
    Evidence,
    Slip,
    cells,
    counted,
    kept,
    worked,
)
from scirep_core.results import Result
from scirep_core.results.published import Printed, lookup

PAPER = "neighbours"
DRAWS = 10
ADJECTIVES = ("Contextual", "common", "deep", "robust")
"""Of the example, as the tagger that the paper names has them."""
UNCHANGED = {
    "T_ADelADV": "abstract",
    "T_ADelNum": "abstract",
    "TDelADJ_A": "title",
    "TDelVB_A": "title",
    "TDelDT_A": "title",
}
"""Rows of Table 7 whose code finds nothing to delete, and the field they print."""


def words(text: str) -> list[str]:
    """Return the words of a text.

    >>> words("in NLP. We_train")
    ['in', 'NLP', 'We', 'train']
    """
    return re.findall(r"[^\W_]+", text)


def example(code: str, field: str) -> Printed:
    """Return a field of Table 7."""
    return lookup("TN-T7")[code, field]


def _lost_letters() -> list[int]:
    lost = []
    for field, text in (("title", TITLE), ("abstract", ABSTRACT)):
        short = words(example("T_A_DelNNChar", field).value)
        lost += [len(old) - len(new) for old, new in zip(words(text), short, strict=True) if old != new]
    return lost


def _letters() -> Evidence:
    lost = Counter(_lost_letters())
    numbers = [example("T_A_DelNNChar", field) for field in ("title", "abstract")]
    made = {name: worked("TN-T7", f"nouns that lose {k}", lost[k], numbers, lost.total())
            for name, k in (("one", 1), ("two", 2), ("three", 3))}  # fmt: skip
    return Evidence(lost[1] > 0 and lost[3] == 0, {}, made)


def _one_noun() -> Evidence:
    extra = Counter(words(example("TRepNNA_A", "title").value)) - Counter(words(TITLE))
    shown = cells("TN-T1", said=("TRepNNA_A", "title"))
    made = {"added": worked("TN-T7", "words that TRepNNA_A adds", extra.total(), [example("TRepNNA_A", "title")])}
    return Evidence(extra.total() > 1 and " a " in f" {shown['said'].value} ", shown, made)


def _sentence() -> Evidence:
    printed = example("T_ADelADJ", "abstract")
    first, rest = ([w for w in words(part) if w not in ADJECTIVES] for part in ABSTRACT.split(". ", 1))
    made = {"gone": worked("TN-T7", "words but adjectives of the first sentence", len(first), [printed])}
    return Evidence(words(printed.value) == rest and bool(first), {}, made)


def _noun() -> Evidence:
    raised = example("T_ANNU", "abstract")
    nouns = [
        old
        for old, new in zip(words(ABSTRACT), words(raised.value), strict=True)
        if new == old.upper() and len(new) > 1
    ]
    alone = words(example("T_ADelNonNNs", "abstract").value)
    made = {
        "due": worked("TN-T7", "nouns of the abstract, by T_ANNU", len(nouns), [raised]),
        "there": worked("TN-T7", "words that T_ADelNonNNs prints", len(alone), [example("T_ADelNonNNs", "abstract")]),
    }
    return Evidence(len(nouns) - len(alone) == 1 and alone == nouns[1:], {}, made)


def _model() -> Evidence:
    upper = words(example("TNNU_A", "title").value)
    return Evidence(upper[-1] != words(TITLE)[-1].upper() and words(TITLE)[-1].upper().startswith(upper[-1]))


def _thirty() -> Evidence:
    printed = example("T_ADelRand", "abstract")
    whole, left = words(ABSTRACT), words(printed.value)
    stops = len(re.findall(r"[^\w\s]", ABSTRACT))
    made = {"gone": worked("TN-T7", "words that T_ADelRand deletes", len(whole) - len(left), [printed]),
            "all": worked("TN-T7", "words of the abstract", len(whole), [printed]),
            "due": worked("TN-T7", "words that are 30 %", int(0.3 * len(whole)), [printed]),
            "more": worked("TN-T7", "tokens that are 30 %", int(0.3 * (len(whole) + stops)), [printed])}  # fmt: skip
    return Evidence(made["gone"].value < made["due"].value, {}, made)


def _half() -> Evidence:
    printed = example("T_A_WS", "title and abstract")
    runs = [len(run) for run in re.findall("_+", printed.value)]
    spaces = TITLE.count(" ") + ABSTRACT.count(" ")
    del runs[TITLE.count(" ")]  # the one between title and abstract
    wide = sum(run > 1 for run in runs)
    made = {"wide": worked("TN-T7", "spaces that T_A_WS widens", wide, [printed]),
            "due": worked("TN-T7", "half of the spaces", spaces // 2, [printed]),
            "all": worked("TN-T7", "spaces", spaces, [printed])}  # fmt: skip
    return Evidence(len(runs) == spaces and wide < spaces // 2 - 1, {}, made)


def _twice(code: str, variant: str) -> list[str]:
    tools = find_tools("fallback")
    title, abstract = Parsed(TITLE, tools), Parsed(ABSTRACT, tools)
    made = [
        perturb("table 7", title, abstract, code, seed, None, variant) for seed in range(SEED.get(), SEED.get() + DRAWS)
    ]
    return [f"{one.title} {one.abstract}" for one in made]


def _white_space() -> Evidence:
    whole = words(f"{TITLE} {ABSTRACT}")
    literal, sorted_ = ([words(text) for text in _twice("T_A_WS", variant)] for variant in ("literal", "default"))
    shown = cells("TN-C8", said=("SciBERT", "T_A_WS NN1_Ret below"))
    made = {
        "intact": counted(
            "texts of T_A_WS with every word in place, public code, 10 draws",
            sum(t == whole for t in literal),
            DRAWS,
            True,
        ),
        "ours": counted(
            "texts of T_A_WS with every word in place, positions in order",
            sum(t == whole for t in sorted_),
            DRAWS,
            True,
        ),
        "length": counted(
            "words of T_A_WS for each of the original’s, public code",
            float(np.mean([len(t) for t in literal])) / len(whole),
            DRAWS,
            True,
        ),
    }
    long = kept("neighbours/perturbations", "sample/acl_anth", "length", split="T_A_WS literal")
    fails = made["intact"].value == 0 and made["ours"].value == DRAWS
    return Evidence(fails and long.value > 2, shown, {**made, "long": long})


def _fragments() -> Evidence:
    whole = set(words(f"{TITLE} {ABSTRACT}"))
    broken, clean = (sum(bool(set(words(t)) - whole) for t in _twice("T_ADelRand", v)) for v in ("literal", "default"))
    made = {"broken": counted("texts of T_ADelRand with fragments of words, public code, 10 draws", broken, DRAWS, True),
            "foreign": kept("neighbours/perturbations", "sample/acl_anth", "broken", split="T_ADelRand literal")}  # fmt: skip
    return Evidence(broken > 0 and clean == 0 and "T_ADelRand" in LITERAL, {}, made)


def _unchanged() -> Evidence:
    before = {"title": words(TITLE), "abstract": words(ABSTRACT)}
    same = [code for code, field in UNCHANGED.items() if words(example(code, field).value) == before[field]]
    numbers = [example(code, field) for code, field in UNCHANGED.items()]
    tools = find_tools("fallback")
    left = [c for c in UNCHANGED if not perturb("x", Parsed("Of models", tools), Parsed("Models", tools), c).applies]
    made = {"same": worked("TN-T7", "rows without anything to delete, printed unchanged", len(same), numbers)}
    return Evidence(len(same) == len(UNCHANGED) == len(left), {}, made)


def _kept(code: str) -> Result:
    return kept("neighbours/perturbations", "sample/acl_anth", "words_kept", split=code)


def _ninety() -> Evidence:
    codes = ("T_ADelADV", "T_ADelPR", "T_ADelNum")
    made = {f"kept{i}": _kept(code) for i, code in enumerate(codes)} | {"fewer": _kept("T_ADelDT")}
    shown = cells("TN-T1", label=(codes[0], "category"), other=("T_ADelDT", "category"))
    same = all(lookup("TN-T1")[code, "category"].value == "LO-PS" for code in codes)
    more = all(row.value > made["fewer"].value >= 90 for name, row in made.items() if name != "fewer")
    return Evidence(same and shown["other"].value == "LO-HS" and more, shown, made)


def _phrases() -> Evidence:
    shown = cells("TN-T1", all=("T_ADelNNPH", "category"), top=("T_ADelTopNNPH", "category"))
    made = {"kept_all": _kept("T_ADelNNPH"), "kept_top": _kept("T_ADelTopNNPH")}
    return Evidence(shown["all"].value != shown["top"].value and min(r.value for r in made.values()) >= 70, shown, made)


def _only_nouns() -> Evidence:
    shown = cells("TN-T1", label=("T_ADelNonNNs", "category"))
    row = _kept("T_ADelNonNNs")
    by_rule = category_by_rule("T_ADelNonNNs", row.value / 100)
    return Evidence(by_rule is None and shown["label"].value == "LO-DS", shown, {"kept": row})


SLIPS = (
    Slip("tn-adjectives-row", PAPER, "Table 7", MISPRINT,
         "T_ADelADJ begins with the second sentence.",
         "{gone} words of the first one that are no adjectives are missing. The rest of the row is right.",
         "No.", _sentence),
    Slip("tn-nouns-row", PAPER, "Table 7", MISPRINT,
         "T_ADelNonNNs prints {there} nouns.",
         "T_ANNU has {due} nouns of the same abstract in capitals: the first, embeddings, is missing.",
         "No.", _noun),
    Slip("tn-models-row", PAPER, "Table 7", MISPRINT,
         "TNNU_A ends in MODEL.",
         "The title ends in Models; upper case does not take a letter.",
         "No.", _model),
    Slip("tn-letters", PAPER, "Section 3, Table 7", TEXTS,
         "Section 3 gives as its example of loss the deletion of 2 to 3 characters from a word.",
         "In Table 7, T_A_DelNNChar takes one letter from {one} noun, two from {two} and three from {three}. The public code takes "
         "none from nouns of up to three letters, one from those of up to five, else two.",
         "No: the neighbours are gentler than the example.", _letters),
    Slip("tn-one-noun", PAPER, "Tables 1 and 7", TEXTS,
         "TRepNNA_A is described as “{said}”, one noun of the abstract.",
         "Its example adds {added}, half of the distinct nouns, as the public code does.",
         "It changes how far the title moves; the category stays.", _one_noun),
    Slip("tn-thirty", PAPER, "Tables 1 and 7", TEXTS,
         "T_ADelRand deletes 30 % of the words.",
         "The example lacks {gone} of {all} words, where 30 % are {due}, or {more} where full stops count, as in the public code.",
         "No: an example.", _thirty),
    Slip("tn-half-spaces", PAPER, "Tables 1 and 7", TEXTS,
         "T_A_WS widens half of the spaces.",
         "In the example {wide} of {all} are wide, where half are {due}.",
         "No by itself: an example.", _half),
    Slip("tn-white-space-code", PAPER, "Section 6.2, appendix E.2", CODE,
         "SciBERT finds the original for less than {said} % of T_A_WS, which is put down to white space and the limit on length.",
         "The public code walks the drawn spaces out of order and repeats text: {intact} of 10 texts of the paper’s example "
         "come out whole, with {length:1} words for each one ({long:1} on real abstracts). In order all {ours} do. A tokenizer "
         "drops white space, so a right T_A_WS would be read as the original.",
         "Yes: brittleness to white space does not follow. That the repetition explains the low value is plausible, not proven.",
         _white_space),
    Slip("tn-random-code", PAPER, "Table 1", CODE,
         "T_ADelRand deletes random words.",
         "The public code deletes the first place where a sampled token’s letters stand, inside a word or not: {broken} of 10 "
         "draws on the paper’s example hold fragments; on real abstracts {foreign:1} % of the words left.",
         "A little: the code does not only delete, it also breaks words.", _fragments),
    Slip("tn-unchanged-rows", PAPER, "Table 7", CODE,
         "Codes with nothing to delete print the text as it was, in {same} rows.",
         "The public code leaves such a paper out of the class, so that these are no neighbours, and classes have different "
         "papers.",
         "A little: kept in, unchanged texts would raise the scores of their class.", _unchanged),
    Slip("tn-ninety", PAPER, "Section 3, Table 1", TEXTS,
         "Deleted words leave a neighbour HS where 90 % are kept, and PS where 70 % are. T_ADelADV, T_ADelPR and T_ADelNum are "
         "{label}, T_ADelDT is {other}.",
         "On real abstracts the three keep {kept0:1}, {kept1:1} and {kept2:1} %, so that both rules fit; T_ADelDT keeps fewer, "
         "{fewer:1} %, and has the higher label.",
         "Yes, for the means of LO-PS and LO-HS: easy codes raise the former.", _ninety),
    Slip("tn-phrases", PAPER, "Section 3, Table 1", UNSAID,
         "Deleted noun phrases make a neighbour DS by one rule; the rule of PS has them too, in brackets that can be read either "
         "way.",
         "T_ADelNNPH is {all} and T_ADelTopNNPH, which deletes the better half of them, {top}: on real abstracts they keep "
         "{kept_all:1} and {kept_top:1} % of the words. What decides is not said.",
         "A little: which codes a category’s mean is over.", _phrases),
    Slip("tn-only-nouns", PAPER, "Section 3, Table 1", TEXTS,
         "DS neighbours have nouns or noun phrases deleted, or their direction changed. T_ADelNonNNs, which deletes all but the "
         "nouns, is {label}.",
         "No rule gives that: the nouns stay, and with {kept:1} % of the words of real abstracts it is no PS either.",
         "A little: it is one of the five codes behind the means of LO-DS.", _only_nouns),
)  # fmt: skip
