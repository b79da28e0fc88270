"""Table 7 of the textual-neighbours paper made again, and Table 8 beside the encoders at hand (appendices B and C).

The paper's example, a title and three sentences, goes through our 32 codes; printed and own text stand side by side with their
differences marked. Of a code that draws the print is one of many texts: there it is asked whether the rule can give it. Which
noun phrases are the better half of a collection is not printed, so T_ADelTopNNPH gets those that are gone in print.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from scirep_core.data.perturbations import LITERAL, PERTURBATIONS, VARIANTS, Neighbour, perturb
from scirep_core.data.perturbations.changes import Parsed
from scirep_core.data.perturbations.linguistics import NOUN, Tools, find_tools
from scirep_core.exhibits import counting
from scirep_core.exhibits.neighbours_perturbations import CODES, LETTERS, RANDOM, SPACES
from scirep_core.exhibits.neighbours_shared import named
from scirep_core.exhibits.neighbours_tools import left
from scirep_core.exhibits.neighbours_views import listed
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.page.widgets.perturbations import edits, marked
from scirep_core.results import Result, anchor, arithmetic
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
SIZE, CASE, READ = "Vocabulary Size", "Upper case", "Tokens read"
FACTS = (
    "Architecture",
    "Initialization",
    "Loss Function",
    "Training corpus",
    "Vocabulary",
    "Vocabulary Size",
    "Tokenizer",
    "Text Features",
)


class Line(NamedTuple):
    """One code: what is printed by field, ours, the verdict, and in words what is to be said of it."""

    code: str
    printed: Mapping[str, Printed]
    ours: Neighbour
    verdict: str
    said: str


# ---- Table 7 ---------------------------------------------------------------------------------------------------------


def lines(tools: Tools, seed: int) -> Iterator[Line]:
    """Yield the 32 codes of Table 7 through our own functions."""
    title, abstract = Parsed(TITLE, tools), Parsed(ABSTRACT, tools)
    printed: dict[str, dict[str, Printed]] = {code: {} for code in CODES}
    for (code, field), quoted in lookup("TN-T7").items():
        printed.setdefault(code, {})[field] = quoted
    top = frozenset(phrase for phrase in abstract.phrases if _gone(phrase, printed[TOP].get("abstract")))
    for code in CODES:
        made = perturb("table 7", title, abstract, code, seed, top)
        yield Line(code, printed[code], made, *judge(code, printed[code], made, title, abstract))


def _gone(phrase: str, printed: Printed | None) -> bool:
    return printed is not None and phrase in ABSTRACT and phrase not in printed.value


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
        repeats = all(_words(p.value) == _words(before[field].text) for field, p in printed.items())
        shown = "repeats the text" if repeats else "has another text"
        return ABSENT, f"{made.reason}; the public code leaves such a paper out, the print {shown}"
    if PERTURBATIONS[code].random:
        fits, said = possible(code, printed, title, abstract)
        return (DRAWN if fits else ODD), said
    different = [field for field, p in printed.items() if squeezed(p.value) != squeezed(getattr(made, field))]
    if not different:
        return SAME, ""
    return OTHER, "; ".join(
        _difference(field, printed[field].value, squeezed(getattr(made, field))) for field in different
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _difference(field: str, print_: str, ours: str) -> str:
    """Return in words which words are in one text alone."""
    a, b = Counter(_words(print_)), Counter(_words(ours))
    parts = [
        f"{what} {listed([f'“{html.escape(word)}”' for word in extra.elements()])}"
        for what, extra in (("the print lacks", b - a), ("only the print has", a - b))
        if extra
    ]
    return f"{field}: {', '.join(parts) or 'the same words, spaced or ordered otherwise'}"


def possible(code: str, printed: Mapping[str, Printed], title: Parsed, abstract: Parsed) -> tuple[bool, str]:
    """Return whether a random code can give what is printed, and how that is seen."""
    if code == "T_AShuff":
        text = squeezed(printed["abstract"].value)
        said = "the order it had, one of the possible ones" if text == ABSTRACT else "an order of the sentences"
        return any(text == " ".join(order) for order in permutations(abstract.sentences)), said
    if code == RANDOM:
        rest = Counter(re.findall(r"\w+|[^\w\s]", printed["abstract"].value))
        gone, due = (Counter(abstract.tokens) - rest).total(), int(0.3 * len(abstract.tokens))
        return gone == due, f"{gone} of {len(abstract.tokens)} tokens are gone, where 30 % are {due}"
    if code == LETTERS:
        counts = [
            _lost(parsed, printed[field].value)
            for field, parsed in (("title", title), ("abstract", abstract))
            if field in printed
        ]
        if None in counts:
            return False, "a token loses other letters than the rule takes"
        lost = Counter(n for found in counts for n in found or [])
        told = listed(
            [f"{times} {'noun loses' if times == 1 else 'nouns lose'} {n}" for n, times in sorted(lost.items())]
        )
        return True, f"of the letters {told}, as the public code has it"
    if code == SPACES:
        return _widened(printed[BOTH].value)
    extra = Counter(_words(printed["title"].value)) - Counter(_words(TITLE))
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
    words = _words(plain) == _words(TITLE) + _words(ABSTRACT)
    runs = [len(run) for run in re.findall("_+", text)]
    in_title, after = runs[: TITLE.count(" ")], runs[TITLE.count(" ") + 1 :]
    wide = [sum(length > 1 for length in part) for part in (in_title, after)]
    due = [TITLE.count(" ") // 2, ABSTRACT.count(" ") // 2]
    told = [f"{n} of {len(part)} spaces of the {field}, where half are {half}"
            for n, part, field, half in zip(wide, (in_title, after), ("title", "abstract"), due, strict=True)]  # fmt: skip
    return (
        words and wide == due,
        f"{'every word is there once' if words else 'words differ'}; widened are {listed(told)}",
    )


def table7(chapter: Chapter) -> None:
    """Show Table 7 (TN-T7): printed and ours, differences marked, a verdict each; then count, and name every slip."""
    tools = find_tools(chapter.parameters["tools"])
    found = list(lines(tools, chapter.parameters["seed"]))
    cells = []
    for line in found:
        fields = [field for field in ("title", "abstract", BOTH) if field in line.printed]
        printed = "<br>".join(breakable(html.escape(line.printed[field].value)) for field in fields)
        name = (
            origin(chapter, line.printed[fields[0]], f"<code>{line.code}</code>")
            if fields
            else f"<code>{line.code}</code>"
        )
        own = "<br>".join(_beside(line, field) for field in fields) if line.ours.applies else "(left out)"
        cells.append([name, printed, "the same" if line.verdict == SAME else own, line.verdict])
    classes = [["", "published text", "live text", ""]] * len(cells)
    caption = (
        "Table 7: the paper’s example through 32 codes, as printed and as ours. Struck through: in the print alone; underlined: in "
        "ours alone. Fields that a code keeps are not printed"
    )
    header = ["Code", left("published"), left("ours, live"), "verdict"]
    chapter.show(report.table(header, cells, caption, classes))
    chapter.say(*_counted(chapter, found))
    for verdicts, heading in (
        ((OTHER, ODD, ABSENT), "Row by row, where the print is not what the code gives:"),
        ((DRAWN,), "Rows that draw, and what shows that the rule can give the print:"),
    ):
        items = "".join(f"<li><code>{o.code}</code>: {o.said}.</li>" for o in found if o.verdict in verdicts)
        if items:
            chapter.show(f"<p>{heading}</p><ul>{items}</ul>")
    if tools.missing:
        parts = listed(tools.missing)
        chapter.note(f"Fallbacks found {parts} here, so that some of these differences are theirs.")


def origin(chapter: Chapter, printed: Printed, text: str) -> str:
    """Return a text as a link to the origin of what is printed."""
    chapter.shown[printed.id] = printed
    return f'<a class="scirep-number" href="#{anchor(printed.id)}" title="printed in {printed.exhibit}">{text}</a>'


def breakable(text: str) -> str:
    """Return a text that may be broken at its underscores."""
    return text.replace("_", "_<wbr>")


def _beside(line: Line, field: str) -> str:
    """Return our text with what differs from the print marked; of a code that draws, our own draw."""
    if field == BOTH:
        return breakable(html.escape(f"{line.ours.title}. {line.ours.abstract}".replace(" ", "_")))
    ours, quoted = squeezed(getattr(line.ours, field)), squeezed(line.printed[field].value)
    if line.verdict in (DRAWN, ODD):
        return html.escape(ours)
    return marked(quoted, edits(quoted, ours))


def _counted(chapter: Chapter, found: Sequence[Line]) -> list[str]:
    """Return in words how many rows come out as printed; the counts are rows."""
    tally = Counter(line.verdict for line in found)
    quoted = [p for line in found for p in line.printed.values()]
    made = chapter.record(
        arithmetic("TN-T7", f"rows: {verdict}", tally[verdict], len(found), quoted)
        for verdict in (SAME, DRAWN, OTHER, ABSENT, ODD)
    )
    same, drawn, other, absent, odd = (counting.number(chapter, row) for row in made)
    return [
        f"Of {len(found)} rows {same} come out word by word as printed, and {drawn} are one of many that the code can draw.",
        f"{other} differ, {absent} print a text for a code that does not apply, and {odd} cannot come from the rule as stated.",
    ]


def two_readings(chapter: Chapter) -> None:
    """Show the example under both readings of the codes that have two, with its number of words."""
    tools = find_tools(chapter.parameters["tools"])
    title, abstract = Parsed(TITLE, tools), Parsed(ABSTRACT, tools)
    before = len(_words(TITLE)) + len(_words(ABSTRACT))
    quoted = list(lookup("TN-T7").values())
    cells = []
    for code, variant in ((code, variant) for code in LITERAL for variant in VARIANTS):
        made = perturb("table 7", title, abstract, code, chapter.parameters["seed"], None, variant)
        count = len(_words(made.title or "")) + len(_words(made.abstract or ""))
        row = chapter.record([arithmetic("TN-T7", f"words, {code} {variant}", count, before, quoted)])[0]
        shown = [
            html.escape(field or "") for field in ((made.title, made.abstract) if code == SPACES else (made.abstract,))
        ]
        text = "<br>".join(breakable(field.replace(" ", "_")) if code == SPACES else field for field in shown)
        cells.append([f"<code>{code}</code> {variant}", text, f"{counting.number(chapter, row)} of {before}"])
    classes = [["", "live text", "live"]] * len(cells)
    caption = (
        "The paper’s example under the two readings of two codes (of T_A_WS a space is shown as _), and the words of title and "
        "abstract that come out, of those the original has"
    )
    chapter.show(report.table(["Code and reading", left("neighbour"), "words"], cells, caption, classes))


# ---- Table 8 ---------------------------------------------------------------------------------------------------------


def table8(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show Table 8 (TN-T8) as printed, beside what the encoders at hand say of themselves."""
    printed = lookup("TN-T8")
    models = list(dict.fromkeys(model for model, _ in printed))
    at = {(r.encoder, r.metric): r for r in rows if r.task == "model"}
    own = list(dict.fromkeys(encoder for encoder, _ in at))
    lines = [[fact, *(_quoted(chapter, printed.get((model, fact)), fact) for model in models)] for fact in FACTS]
    lines += [[fact, *[""] * len(models)] for fact in (CASE, READ)]
    for line in lines:
        line += [_live(chapter, at, encoder, line[0]) for encoder in own]
    cells = [[line[0], *(narrow(text) for text in line[1:])] for line in lines]
    classes = [["", *["published"] * len(models), *["live"] * len(own)]] * len(cells)
    header = [
        "",
        *(left(model) for model in models),
        *(left(f"{html.escape(named(encoder))}, live") for encoder in own),
    ]
    caption = "Table 8: the paper’s three models as printed, and the encoders of this run that have a tokenizer"
    chapter.show(report.table(header, cells, caption, classes))
    lowered = [html.escape(named(encoder)) for encoder in own if not at[encoder, "case kept"].value]
    known = {encoder.partition("@")[0].removesuffix("_cased") for encoder in own}
    absent = [model for model in models if model.lower().replace("-", "") not in known]
    chapter.say(
        f"Of the encoders at hand {listed(lowered)} {'reads' if len(lowered) == 1 else 'read'} every text in lower case."
        if lowered else "",
        f"What is printed of {listed(absent)} cannot be checked without their checkpoints: run the chapter with "
        "<code>-p encoders specter,scibert_cased</code> where they can be fetched." if absent else "",
    )  # fmt: skip


def _quoted(chapter: Chapter, printed: Printed | None, fact: str) -> str:
    if printed is None:
        return ""
    return counting.number(chapter, printed) if fact == SIZE else html.escape(printed.value)


def _live(chapter: Chapter, at: Mapping[tuple[str, str], Result], encoder: str, fact: str) -> str:
    """Return what an encoder says of a fact; "" where it says nothing."""
    known = at[encoder, "vocabulary"]
    told = {
        SIZE: counting.number(chapter, known),
        "Tokenizer": html.escape(known.split),
        CASE: "kept" if at[encoder, "case kept"].value else "lowered",
        READ: counting.number(chapter, at[encoder, "tokens read"]),
    }
    return told.get(fact, "")


def narrow(text: str) -> str:
    """Return the text of a cell that may be broken over lines."""
    return f'<span style="display: block; text-align: left; white-space: normal; max-width: 9rem">{text}</span>'
