"""Chapter `neighbours/perturbations`: what the public code does that the text does not say, and what encoders see of it.

Two codes have two readings (`LITERAL`), four do something else than section 3 or Table 1 say, and five change nothing that an
uncased encoder reads. All of it is measured on the altered papers; the sentences are made from the rows.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from scirep_core.data.perturbations import VARIANTS
from scirep_core.exhibits import counting
from scirep_core.exhibits.neighbours_perturbations import (
    ADDED,
    ANTONYMS,
    LETTERS,
    LOSSLESS,
    PHRASES,
    RANDOM,
    REPLACED,
    SPACES,
    Column,
)
from scirep_core.exhibits.neighbours_perturbations_tables import opening, where
from scirep_core.exhibits.neighbours_shared import named
from scirep_core.exhibits.neighbours_tools import cell, left
from scirep_core.exhibits.neighbours_views import listed
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result

READINGS = (("length", "length", 2), ("intact", "intact, %", 1), ("broken", "foreign words, %", 1))
"""Metric, heading, decimals."""

# ---- two readings ----------------------------------------------------------------------------------------------------


def readings(chapter: Chapter, found: Sequence[Column]) -> None:
    """Show what the two readings of T_A_WS and T_ADelRand do to texts."""
    if not found:
        return
    cells, classes = [], []
    for line in (f"{code} {variant}" for code in (SPACES, RANDOM) for variant in VARIANTS):
        row, names = [line], [""]
        for column in found:
            row += [cell(chapter, column.at.get((line, metric, "")), places) for metric, _, places in READINGS]
            names += [column.kind] * len(READINGS)
        cells.append(row)
        classes.append(names)
    per = [heading for _, heading, _ in READINGS]
    caption = (
        "Two readings of two codes: words of the neighbour for each of the original; neighbours with every word in its place; "
        "words of the neighbour that the original does not have"
    )
    header = ["Code and reading", *(per * len(found))]
    chapter.show(report.table(header, cells, caption, classes, [where(column) for column in found]))
    for column in found:
        chapter.say(*_said_of_readings(chapter, column))


def _said_of_readings(chapter: Chapter, column: Column) -> list[str]:
    def of(code: str, variant: str, metric: str) -> Result | None:
        return column.at.get((f"{code} {variant}", metric, ""))

    said = []
    whole, long = of(SPACES, "literal", "intact"), of(SPACES, "literal", "length")
    if whole and long:
        said.append(
            f"{opening(column)}: under the public code’s {SPACES} {chapter.number(whole, 1)} % of the texts keep every word in its "
            f"place, and a text has on average {chapter.number(long, 1)} words for each of the original’s."
        )
    code, broken, ours = (
        of(RANDOM, "literal", "length"),
        of(RANDOM, "literal", "broken"),
        of(RANDOM, "default", "length"),
    )
    if code and broken and ours:
        said.append(
            f"Its {RANDOM} leaves {chapter.number(code, 2)} words for each of the original’s, {chapter.number(broken, 1)} % of "
            f"them fragments; deleting the sampled tokens themselves leaves {chapter.number(ours, 2)}."
        )
    return said


# ---- four more -------------------------------------------------------------------------------------------------------


def oddities(chapter: Chapter, found: Sequence[Column]) -> None:
    """Say what four codes do that the text does not say, and list the most frequent opposites."""
    for column in found:
        chapter.say(*_said_of_oddities(chapter, column))
    lists = [(column, [r for (_, metric, _), r in column.at.items() if metric == REPLACED]) for column in found]
    lists = [(column, rows) for column, rows in lists if rows]
    if not lists:
        return
    most = max(len(rows) for _, rows in lists)
    cells = [
        [str(at + 1), *(_pair(chapter, rows[at]) if at < len(rows) else "" for _, rows in lists)] for at in range(most)
    ]
    classes = [["", *(f"{column.kind} text" for column, _ in lists)]] * most
    caption = f"{ANTONYMS}: the most frequent replacements, of all adjectives that are replaced"
    chapter.show(report.table(["", *(left(where(column)) for column, _ in lists)], cells, caption, classes))


def _pair(chapter: Chapter, row: Result) -> str:
    return f"{html.escape(row.split)}: {counting.number(chapter, row)} of {row.n:,}"


def _said_of_oddities(chapter: Chapter, column: Column) -> list[str]:
    at, said = column.at, [f"<strong>{opening(column)}.</strong>"]
    lost = sorted((metric.split()[3], r) for (_, metric, _), r in at.items() if metric.startswith("words that lose"))
    if lost:
        shares = listed([f"{chapter.number(r, 1)} % lose {letters}" for letters, r in lost])
        said.append(f"{LETTERS}: of the words that lose letters {shares}; section 3 says two or three.")
    if nouns := at.get((ADDED, "nouns added", "")):
        said.append(f"{ADDED}: the title gets {chapter.number(nouns, 1)} nouns on average; Table 1 says one.")
    if phrases := at.get((PHRASES, "phrases found", "")):
        said.append(
            f"{PHRASES}: {chapter.number(phrases, 1)} % of an abstract’s noun phrases stand there in lower case, as they are "
            "looked for; the others stay."
        )
    names = ("words replaced", "different replacements", "opposites with an underscore")
    share, kinds, odd = (at.get((ANTONYMS, name, "")) for name in names)
    if share and kinds and odd:
        said.append(
            f"{ANTONYMS}: {chapter.number(share, 1)} % of the tokens are replaced, in {counting.number(chapter, kinds)} different "
            f"ways; {chapter.number(odd, 1)} % of the replacements are several words joined by an underscore."
        )
    return said


# ---- what an encoder does not see ------------------------------------------------------------------------------------


def no_ops(chapter: Chapter, found: Sequence[Column]) -> None:
    """Show for the lossless, highly similar codes how many neighbours each encoder reads as their original."""
    pairs = [(column, encoder) for column in found
             for encoder in dict.fromkeys(name for _, metric, name in column.at if metric == "same_input")]  # fmt: skip
    if not pairs:
        chapter.note("No encoder has read these texts.")
        return
    cells = [
        [f"<code>{code}</code>", *(cell(chapter, column.at.get((code, "same_input", name))) for column, name in pairs)]
        for code in LOSSLESS
    ]
    classes = [["", *(column.kind for column, _ in pairs)]] * len(cells)
    header = ["Code", *(f"{html.escape(named(name))}<br><small>{where(column)}</small>" for column, name in pairs)]
    caption = (
        "Neighbours that an encoder reads exactly as their original, %: by token ids after cutting, by vectors where there is "
        "no tokenizer; small: 95 % intervals over papers"
    )
    chapter.show(report.table(header, cells, caption, classes))
    for column, name in pairs:
        shares = {code: r for code in LOSSLESS if (r := column.at.get((code, "same_input", name)))}
        blind = [code for code, r in shares.items() if r.value == 100]
        rest = [f"{code} {chapter.number(r, 1)} %" for code, r in shares.items() if r.value < 100]
        said = f"{opening(column)}, {html.escape(named(name))}: "
        if blind:
            said += f"every neighbour of {listed(blind)} is read as its original, so that a hit there says nothing"
        else:
            said += "no code is a no-op for every paper"
        chapter.say(said + (f"; {listed(rest)}." if rest else "."))
