"""Rules of the register of slips on the textual neighbours' codes: their example in Table 7, their public code run on it.

Table 7 runs one title and one abstract through 32 codes. No tagger is used: the table's own upper-case row says which words are
nouns. Codes with two readings run here on that example.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from scirep_core.data.perturbations import LITERAL, PERTURBATIONS, category_by_rule, perturb
from scirep_core.data.perturbations.changes import Parsed
from scirep_core.data.perturbations.linguistics import find_tools
from scirep_core.page.slip_rules import Made, Numbers, counted, worked
from scirep_core.results import Result, slips
from scirep_core.results.published import Printed, lookup

TITLE = "Source Code Embeddings from Language Models"
ABSTRACT = (
    "Contextual embeddings are common in NLP. We introduce a representation for computer programs based on language models. "
    "We train deep robust embeddings using pytorch."
)
"""The example of the textual neighbours' Table 7."""
ADJECTIVES = ("Contextual", "common", "deep", "robust")
"""Of the example, as the tagger that the paper names has them."""
UNCHANGED = {"T_ADelADV": "abstract", "T_ADelNum": "abstract",
             "TDelADJ_A": "title", "TDelVB_A": "title", "TDelDT_A": "title"}  # fmt: skip
"""Rows of Table 7 whose code finds nothing to delete, and the field they print."""
DRAWS = 10


def words(text: str) -> list[str]:
    """Return the words of a text.

    >>> words("in NLP. We_train")
    ['in', 'NLP', 'We', 'train']
    """
    return re.findall(r"[^\W_]+", text)


def example(code: str, field: str) -> Printed:
    """Return a field of Table 7."""
    return lookup("TN-T7")[code, field]


def of_example(what: str, value: float, *fields: Printed) -> Result:
    """Return a number that follows from fields of Table 7."""
    return worked("TN-T7", what, value, fields)


def adjectives_row(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """T_ADelADJ lacks its first sentence."""
    row = example("T_ADelADJ", "abstract")
    first, rest = ([w for w in words(part) if w not in ADJECTIVES] for part in ABSTRACT.split(". ", 1))
    gone = of_example("words but adjectives of the first sentence", len(first), row)
    return words(row.value) == rest and bool(first), {"gone": gone}


def nouns_row(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """T_ADelNonNNs lacks its first noun, by the capitals of T_ANNU."""
    raised, alone = example("T_ANNU", "abstract"), example("T_ADelNonNNs", "abstract")
    pairs = zip(words(ABSTRACT), words(raised.value), strict=True)
    nouns = [old for old, new in pairs if new == old.upper() and len(new) > 1]
    return words(alone.value) == nouns[1:], {
        "due": of_example("nouns of the abstract, by T_ANNU", len(nouns), raised),
        "there": of_example("words that T_ADelNonNNs prints", len(words(alone.value)), alone),
    }


def models_row(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """TNNU_A loses a letter of its last noun."""
    upper, last = words(example("TNNU_A", "title").value)[-1], words(TITLE)[-1].upper()
    return upper != last and last.startswith(upper), {}


def letters(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """T_A_DelNNChar takes one or two letters, not two or three."""
    shown = [example("T_A_DelNNChar", field) for field in ("title", "abstract")]
    after = words(" ".join(one.value for one in shown))
    pairs = zip(words(f"{TITLE} {ABSTRACT}"), after, strict=True)
    lost = Counter(len(old) - len(new) for old, new in pairs if old != new)
    made = {
        name: worked("TN-T7", f"nouns that lose {k}", lost[k], shown, lost.total())
        for name, k in (("one", 1), ("two", 2), ("three", 3))
    }
    return lost[1] > 0 and lost[3] == 0, made


def one_noun(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """TRepNNA_A adds more than the one noun of its description."""
    row = example("TRepNNA_A", "title")
    extra = (Counter(words(row.value)) - Counter(words(TITLE))).total()
    added = of_example("words that TRepNNA_A adds", extra, row)
    return extra > 1 and " a " in f" {printed['said'].value} ", {"added": added}


def thirty(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """T_ADelRand deletes fewer words than 30 %."""
    row, whole = example("T_ADelRand", "abstract"), len(words(ABSTRACT))
    gone, due = whole - len(words(row.value)), int(0.3 * whole)
    more = int(0.3 * (whole + len(re.findall(r"[^\w\s]", ABSTRACT))))
    counts = {"gone": ("words that T_ADelRand deletes", gone), "all": ("words of the abstract", whole),
              "due": ("words that are 30 %", due), "more": ("tokens that are 30 %", more)}  # fmt: skip
    return gone < due, {name: of_example(what, value, row) for name, (what, value) in counts.items()}


def half_spaces(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """T_A_WS widens fewer than half of the spaces."""
    row = example("T_A_WS", "title and abstract")
    runs = [len(run) for run in re.findall("_+", row.value)]
    spaces = TITLE.count(" ") + ABSTRACT.count(" ")
    del runs[TITLE.count(" ")]  # the one between title and abstract
    wide = sum(run > 1 for run in runs)
    counts = {"wide": ("spaces that T_A_WS widens", wide), "due": ("half of the spaces", spaces // 2),
              "all": ("spaces", spaces)}  # fmt: skip
    made = {name: of_example(what, value, row) for name, (what, value) in counts.items()}
    return len(runs) == spaces and wide < spaces // 2 - 1, made


def _texts(code: str, variant: str, seed: int) -> list[list[str]]:
    tools = find_tools("fallback")
    title, abstract = Parsed(TITLE, tools), Parsed(ABSTRACT, tools)
    made = [perturb("table 7", title, abstract, code, draw, None, variant) for draw in range(seed, seed + DRAWS)]
    return [words(f"{one.title} {one.abstract}") for one in made]


def white_space(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """The public code of T_A_WS repeats text."""
    whole = words(f"{TITLE} {ABSTRACT}")
    literal, ours = (_texts("T_A_WS", variant, seed) for variant in ("literal", "default"))
    intact, whole_ours = (sum(text == whole for text in of) for of in (literal, ours))
    length = float(np.mean([len(text) for text in literal])) / len(whole)
    counts = {"intact": ("texts of T_A_WS with every word in place, public code, 10 draws", intact),
              "ours": ("texts of T_A_WS with every word in place, positions in order", whole_ours),
              "length": ("words of T_A_WS for each of the original’s, public code", length)}  # fmt: skip
    made = {name: counted(what, value, DRAWS, seed) for name, (what, value) in counts.items()}
    return intact == 0 and whole_ours == DRAWS, made


def fragments(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """The public code of T_ADelRand breaks words."""
    whole = set(words(f"{TITLE} {ABSTRACT}"))
    texts = (_texts("T_ADelRand", variant, seed) for variant in ("literal", "default"))
    broken, clean = (sum(bool({*text} - whole) for text in of) for of in texts)
    made = counted("texts of T_ADelRand with fragments of words, public code, 10 draws", broken, DRAWS, seed)
    return broken > 0 and clean == 0 and "T_ADelRand" in LITERAL, {"broken": made}


def unchanged(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """Rows of Table 7 print a text for a code that has nothing to delete."""
    before, tools = {"title": words(TITLE), "abstract": words(ABSTRACT)}, find_tools("fallback")
    rows = [example(code, field) for code, field in UNCHANGED.items()]
    same = sum(words(row.value) == before[field] for row, field in zip(rows, UNCHANGED.values(), strict=True))
    bare = Parsed("Of models", tools), Parsed("Models", tools)
    idle = [code for code in UNCHANGED if not perturb("x", *bare, code).applies]
    made = of_example("rows without anything to delete, printed unchanged", same, *rows)
    return same == len(UNCHANGED) == len(idle), {"same": made}


def only_nouns(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """By no rule of section 3 is T_ADelNonNNs a DS neighbour."""
    row = slips.recorded_row("neighbours/perturbations", "sample/acl_anth", "words_kept", split="T_ADelNonNNs")
    return category_by_rule("T_ADelNonNNs", row.value / 100) is None, {}


def codes_in_order(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """Table 1 lists the codes of the public code, in its order and with the fields they change."""
    table = lookup("TN-T1")
    names = list(dict.fromkeys(row for row, _ in table))
    fields: list[bool] = [
        (table[code, field].value == "Preserve") == (getattr(one, field) == "kept")
        for code, one in PERTURBATIONS.items() for field in ("title", "abstract") if (code, field) in table
    ]  # fmt: skip
    made = worked("TN-T1", "codes in order", len(names), table.values())
    return names == list(PERTURBATIONS) and all(fields), {"all": made}


RULES: dict[str, slips.Rule] = {one.__name__: one for one in (
    adjectives_row, nouns_row, models_row, letters, one_noun, thirty, half_spaces, white_space, fragments,
    unchanged, only_nouns, codes_in_order,
)}  # fmt: skip
