"""Table 7 of the textual-neighbours paper made again, row by row (appendix B).

The paper's example, a title and three sentences, goes through our 32 codes. Of a code that draws, the print is one of many
texts: there it is asked whether the rule can give it. Which noun phrases are the better half of a collection is not printed, so
T_ADelTopNNPH gets those that are gone in print.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from scirep_core.data.perturbations import PERTURBATIONS, Neighbour, perturb
from scirep_core.data.perturbations.changes import Parsed
from scirep_core.data.perturbations.linguistics import NOUN, Tools
from scirep_core.evaluators.changed.texts import LETTERS, RANDOM, SPACES
from scirep_core.results.published import Printed, lookup

TITLE = "Source Code Embeddings from Language Models"
ABSTRACT = (
    "Contextual embeddings are common in NLP. We introduce a representation for computer programs based on language models. "
    "We train deep robust embeddings using pytorch."
)
"""The example of Table 7."""
TOP = "T_ADelTopNNPH"
BOTH = "title and abstract"
SAME, OTHER, ABSENT, DRAWN, ODD = "same", "differs", "does not apply", "one of many", "not by the rule"


class Line(NamedTuple):
    """One code: what is printed by field, ours, the verdict, and a remark in words."""

    code: str
    printed: Mapping[str, Printed]
    ours: Neighbour
    verdict: str
    remark: str


def lines(tools: Tools, seed: int) -> Iterator[Line]:
    """Yield the 32 codes of Table 7 through our own functions."""
    title, abstract = Parsed(TITLE, tools), Parsed(ABSTRACT, tools)
    printed: dict[str, dict[str, Printed]] = {code: {} for code in PERTURBATIONS}
    for (code, field), quoted in lookup("TN-T7").items():
        printed.setdefault(code, {})[field] = quoted
    top = frozenset(phrase for phrase in abstract.phrases if _gone(phrase, printed[TOP].get("abstract")))
    for code in PERTURBATIONS:
        made = perturb("table 7", title, abstract, code, seed, top)
        yield Line(code, printed[code], made, *judge(code, printed[code], made, title, abstract))


def _gone(phrase: str, printed: Printed | None) -> bool:
    return printed is not None and phrase in ABSTRACT and phrase not in printed.value


def listed(items: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)


def squeezed(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())


def judge(
    code: str, printed: Mapping[str, Printed], made: Neighbour, title: Parsed, abstract: Parsed
) -> tuple[str, str]:
    """Return whether the print is what our code gives, and what is to be said of it."""
    if not printed:
        return "", "not printed"
    if not made.applies:
        before = {"title": title, "abstract": abstract}
        repeats = all(words_of(p.value) == words_of(before[field].text) for field, p in printed.items())
        shown = "repeats the text" if repeats else "has another text"
        return ABSENT, f"{made.reason}; the public code leaves such a paper out, the print {shown}"
    if PERTURBATIONS[code].random:
        fits, reason = possible(code, printed, title, abstract)
        return (DRAWN if fits else ODD), reason
    different = [field for field, p in printed.items() if squeezed(p.value) != squeezed(getattr(made, field))]
    if not different:
        return SAME, ""
    return OTHER, "; ".join(
        _difference(field, printed[field].value, squeezed(getattr(made, field))) for field in different
    )


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order and as they are written."""
    return re.findall(r"\w+", text)


def _difference(field: str, print_: str, ours: str) -> str:
    a, b = Counter(words_of(print_)), Counter(words_of(ours))
    sides = {"the print lacks": b - a, "only the print has": a - b}
    parts = [f"{what} {listed([f'“{word}”' for word in extra.elements()])}" for what, extra in sides.items() if extra]
    return f"{field}: {', '.join(parts) or 'the same words, spaced or ordered otherwise'}"


def possible(code: str, printed: Mapping[str, Printed], title: Parsed, abstract: Parsed) -> tuple[bool, str]:
    """Return whether a random code can give what is printed, and how that is seen."""
    if code == "T_AShuff":
        text = squeezed(printed["abstract"].value)
        reason = "the order it had, one of the possible ones" if text == ABSTRACT else "an order of the sentences"
        return any(text == " ".join(order) for order in permutations(abstract.sentences)), reason
    if code == RANDOM:
        rest = Counter(re.findall(r"\w+|[^\w\s]", printed["abstract"].value))
        gone, due = (Counter(abstract.tokens) - rest).total(), int(0.3 * len(abstract.tokens))
        return gone == due, f"{gone} of {len(abstract.tokens)} tokens are gone, where 30 % are {due}"
    if code == LETTERS:
        fields = {"title": title, "abstract": abstract}
        counts = [_lost(parsed, printed[field].value) for field, parsed in fields.items() if field in printed]
        if None in counts:
            return False, "a token loses other letters than the rule takes"
        lost = Counter(n for found in counts for n in found or [])
        said = [f"{times} {'noun loses' if times == 1 else 'nouns lose'} {n}" for n, times in sorted(lost.items())]
        return True, f"of the letters {listed(said)}, as the public code has it"
    if code == SPACES:
        return _widened(printed[BOTH].value)
    extra = Counter(words_of(printed["title"].value)) - Counter(words_of(TITLE))
    nouns = set(title.tagged(NOUN))
    return set(extra) <= nouns and extra.total() == 1, f"doubled: {listed([f'“{word}”' for word in extra])}"


def _lost(parsed: Parsed, text: str) -> list[int] | None:
    """Return how many letters each noun lost; None where a token is not what the rule leaves."""
    found = []
    tokens = text.split()
    if len(tokens) != len(parsed.tokens):
        return None
    for old, tag, new in zip(parsed.tokens, parsed.tags, tokens, strict=True):
        due = 0 if tag != NOUN or len(old) < 4 else 1 if len(old) < 6 else 2
        letters = iter(old)
        if len(old) - len(new) != due or not all(letter in letters for letter in new):
            return None
        found += [due] if tag == NOUN else []
    return found


def _widened(text: str) -> tuple[bool, str]:
    """Return whether half of each field's spaces are widened in a text that shows spaces as underscores."""
    plain = re.sub("_+", " ", text)
    words = words_of(plain) == words_of(TITLE) + words_of(ABSTRACT)
    runs = [len(run) for run in re.findall("_+", text)]
    in_title, after = runs[: TITLE.count(" ")], runs[TITLE.count(" ") + 1 :]
    wide = [sum(length > 1 for length in part) for part in (in_title, after)]
    due = [TITLE.count(" ") // 2, ABSTRACT.count(" ") // 2]
    phrases = [f"{n} of {len(part)} spaces of the {field}, where half are {half}"
               for n, part, field, half in zip(wide, (in_title, after), ("title", "abstract"), due, strict=True)]  # fmt: skip
    said = "every word is there once" if words else "words differ"
    return words and wide == due, f"{said}; widened are {listed(phrases)}"
