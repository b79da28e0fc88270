"""Chapters `scirepeval/baselines` and `multi_format`, what is printed: Table 2 of both versions, Tables 3 and 8, what is said.

The upper half of Table 2 is of encoders off the shelf and belongs to the baselines; the lower half, and the tables with other
base models, are of models trained for the benchmark and belong to multi_format.

Average = (units x score, summed over the parts) / units: 7 / 11 / 10 in v1, 7 / 20 in v2 (bench/suites.py). Parts and average are
rounded to one decimal, so the mean of printed parts may be up to 0.05 from the true one, and the printed average 0.05
more: only a distance above 0.1 is a contradiction.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from scirep_core.exhibits.studies import quoted_cell
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.comparison import anova_tukey, values_of
from scirep_core.results.published import Printed, lookup

V1, V2 = {"In-Train": 7, "Out-of-Train": 11, "SciDocs": 10}, {"In-Train": 7, "Out-of-Train": 20}
TABLES = {"V2-T2": V2, "V2-T8": V2, "V1-T2": V1, "V1-T3": V1}
"""Tables that print averages, with the units of each part."""
TITLES = {
    "V2-T2": "Table 2 of the publication (v2)", "V2-T8": "Table 8 of the publication (v2): other base models",
    "V1-T2": "Table 2 of the submission (v1)", "V1-T3": "Table 3 of the submission (v1): other base models",
}  # fmt: skip
AVERAGE = "Average"
ROUNDED = 0.1 + 1e-9
"""The largest distance that rounding can explain, in points."""
BASELINES = {"V2-T2": ("E5-base-v2", "MPNet", "SciBERT", "SPECTER", "SciNCL", "SPECTER2 Base"),
             "V1-T2": ("SciBERT", "SPECTER", "SciNCL")}  # fmt: skip
"""Rows that were not trained for the benchmark."""


Half = Literal["untrained", "trained", ""]
"""Of the rows of a table: those that were not trained for the benchmark, those that were, or all."""


def rows_of(exhibit: str, half: Half = "") -> list[str]:
    """Return the systems of a printed table, top to bottom."""
    rows = list(dict.fromkeys(row for row, _ in lookup(exhibit)))
    return [row for row in rows if not half or (row in BASELINES.get(exhibit, ())) == (half == "untrained")]


def weighted(exhibit: str, row: str) -> float:
    """Return the mean of a row's printed parts, weighted by their units."""
    printed, parts = lookup(exhibit), TABLES[exhibit]
    return sum(units * printed[row, part].number for part, units in parts.items()) / sum(parts.values())


def tables(chapter: Chapter, exhibits: Sequence[str] = tuple(TABLES)) -> None:
    """Show tables as printed, folded, with their marks and standard deviations."""
    for exhibit in exhibits:
        printed, columns = lookup(exhibit), [*TABLES[exhibit], AVERAGE]
        body = [
            [html.escape(row), *(quoted_cell(chapter, printed[row, column]) for column in columns)]
            for row in rows_of(exhibit)
        ]
        classes = [["", *["published"] * len(columns)]] * len(body)
        made = report.table(["System", *columns], body, f"{TITLES[exhibit]}, as printed", classes)
        chapter.show(f"<details><summary>{TITLES[exhibit]}</summary>{made}</details>")


def check_averages(chapter: Chapter, half: Half = "") -> None:
    """Say how many printed averages are the weighted mean of their printed parts, and name the others."""
    off: list[list[str]] = []
    total, beyond = 0, []
    for exhibit in TABLES:
        printed, units = lookup(exhibit), sum(TABLES[exhibit].values())
        for row in rows_of(exhibit, half):
            total += 1
            quoted = printed[row, AVERAGE]
            parts = [printed[row, part] for part in TABLES[exhibit]]
            made = chapter.record(
                [arithmetic(exhibit, f"weighted mean of the parts, {row}", weighted(exhibit, row), units, parts)]
            )[0]
            if f"{made.value:.1f}" == quoted.value:
                continue
            gap = quoted.number - made.value
            if abs(gap) > ROUNDED:
                beyond.append(f"{exhibit}, {html.escape(row)}")
            off.append(
                [f"{exhibit}: {html.escape(row)}", chapter.number(quoted), chapter.number(made, 3), f"{gap:+.3f}"]
            )
    chapter.say(
        f"{total - len(off)} of the {total} printed averages are the weighted mean of the printed parts, rounded; the "
        f"others are in the table. Rounded parts can move the mean by 0.05 and a rounded average by as much again: "
        + ("no row is further off than that." if not beyond else f"beyond that are {'; '.join(beyond)}.")
    )
    if off:
        header = ["Row", "printed", "from its parts", "printed − parts"]
        chapter.show(report.table(header, off, "Averages that are not the rounded mean of their printed parts"))


# ---- marks of significance -------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """Tukey's test of one column, computed again from printed means and standard deviations.

    Attributes:
        f, p, df: of the ANOVA.
        best: the rows of the highest printed mean.
        tied: rows that do not differ significantly from the first of the best.
        open: rows for which the rounding of the means decides.
        underlined: as printed, the best left out, whose mark says nothing of a difference from itself.
        marked: as printed, the best too.
    """

    exhibit: str
    column: str
    f: float
    p: float
    df: tuple[int, int]
    best: tuple[str, ...]
    tied: frozenset[str]
    open: frozenset[str]
    underlined: frozenset[str]
    marked: frozenset[str]

    @property
    def wrong(self) -> frozenset[str]:
        """Rows whose mark is not what the test says, whatever the rounding."""
        return (self.tied ^ self.underlined) - self.open


def columns_tested(exhibit: str, seeds: int = 5) -> Iterator[Column]:
    """Yield the test of every column of a table: the rows that print a standard deviation, of five runs each."""
    printed = lookup(exhibit)
    for column in (*TABLES[exhibit], AVERAGE):
        cells = {row: printed[row, column] for row in rows_of(exhibit) if printed[row, column].std}
        found = anova_tukey({row: list(values_of(p.number, float(p.std), seeds)) for row, p in cells.items()})
        highest = max(p.number for p in cells.values())
        best = tuple(row for row, p in cells.items() if p.number == highest)
        others = [row for row in cells if row not in best]
        pairs = {row: found.pair(best[0], row) for row in others}
        # two means, each rounded by up to 0.05, against the least significant difference of the family
        least = {row: (pair.high - pair.low) / 2 for row, pair in pairs.items()}
        undecided = {row for row in others if abs(abs(pairs[row].difference) - least[row]) <= ROUNDED}
        tied = {row for row in others if abs(pairs[row].difference) < least[row]}
        marked = frozenset(row for row, p in cells.items() if "underlined" in p.note)
        yield Column(
            exhibit,
            column,
            found.f,
            found.p,
            found.df,
            best,
            frozenset(tied),
            frozenset(undecided),
            marked & frozenset(others),
            marked,
        )


def underlines(chapter: Chapter) -> None:
    """Compute the tests behind the underlines again, and say where they differ from the marks."""
    lines, found = [], [column for exhibit in ("V2-T2", "V1-T2") for column in columns_tested(exhibit)]
    for of in found:
        names = [", ".join(sorted(map(html.escape, rows))) or "none" for rows in (of.tied, of.open, of.marked)]
        anova = f"F({of.df[0]}, {of.df[1]}) = {of.f:.0f}"
        lines.append([f"{of.exhibit}: {of.column}", anova, " and ".join(map(html.escape, of.best)), *names])
    header = [
        "Column",
        "ANOVA",
        "best of those trained here",
        "not different from it",
        "rounding decides",
        "underlined in print",
    ]
    classes = [["", "", "text", "text", "text", "text"]] * len(lines)
    caption = "One-way ANOVA and Tukey’s test (5 %) from printed means and standard deviations, five runs a row"
    chapter.show(report.table(header, lines, caption, classes))
    wrong = {f"{of.exhibit} {of.column}": sorted(map(html.escape, of.wrong)) for of in found if of.wrong}
    plain = sum(of.tied == of.underlined for of in found)
    told = "; ".join(f"{where} ({', '.join(rows)})" for where, rows in wrong.items())
    chapter.say(
        f"The rows differ in every column (the largest p of an ANOVA is {max(of.p for of in found):.1g})."
        if all(of.p < 0.05 for of in found)
        else "",
        f"In {plain} of {len(found)} columns the underlined rows are exactly those the test gives from the printed "
        f"numbers; in {len(found) - plain - len(wrong)} more the difference lies within the rounding of the means."
        + (f" {told} cannot be explained so." if told else ""),
        _of_the_best(found),
        "Rows without a standard deviation (one run) cannot take part; where such a row is the best of all, as SciNCL "
        "on SciDocs in v1, the underline of another says more than five runs can show.",
    )


def _of_the_best(found: Sequence[Column]) -> str:
    """Say which underlines are on the best row of those tested, and that they are not counted."""
    places = [f"{html.escape(row)} in {of.exhibit}, {of.column}" for of in found for row in of.best if row in of.marked]
    if not places:
        return ""
    return f"An underline on the best trained row is not counted: it does not differ from itself ({'; '.join(places)})."


# ---- what the text says ----------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """A sentence of the text, what it states, and the differences of the table it is about."""

    exhibit: str
    row: str
    about: str
    of: str
    columns: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


def _of(base: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{base} {name}" for name in names)


_V2 = ("MTL CTRL", "Adapters", "PALs", "Fusion")
_V1 = ("MTL CTRL", "Adapters", "PALs", "Adapter Fusion")
"""The approaches with several embeddings a paper. The texts speak of them before they introduce the ensemble."""
_ALL, _OUT = (AVERAGE,), ("Out-of-Train",)
CLAIMS = (
    Claim("V2-C4", "several embeddings over MTL CLS", "several embeddings a paper over one", "V2-T2", _ALL,
          _of("SPECTER2", *_V2), _of("SPECTER2", "MTL CLS")),
    Claim("V2-C4", "adapter variants over MTL CTRL overall", "adapters over control codes", "V2-T2", _ALL,
          _of("SPECTER2", *_V2[1:]), _of("SPECTER2", "MTL CTRL")),
    Claim("V2-C4", "adapter variants over MTL CTRL", "adapters over control codes, out of train", "V2-T2", _OUT,
          _of("SPECTER2", *_V2[1:]), _of("SPECTER2", "MTL CTRL")),
    Claim("V2-C4", "over existing single embeddings", "several embeddings over SciNCL, the best before", "V2-T2", _ALL,
          _of("SPECTER2", *_V2), ("SciNCL",)),
    Claim("V2-C4", "ensemble over its single models", "the ensemble over each of its two", "V2-T2", (*V2, AVERAGE),
          _of("SPECTER2", "Adapters + MTL CTRL"), _of("SPECTER2", "Adapters", "MTL CTRL")),
    Claim("V2-C5", "SPECTER2 Base against MTL CLS", "Base against MTL CLS", "V2-T2", _ALL,
          ("SPECTER2 Base",), ("SPECTER2 MTL CLS",)),
    Claim("V2-C5", "E5-base-v2 and MPNet over SciBERT", "general encoders over SciBERT", "V2-T2", _ALL,
          ("E5-base-v2", "MPNet"), ("SciBERT",)),
    Claim("V2-C5", "SPECTER, SciNCL, SPECTER2 Base over E5-base-v2 and MPNet", "citation-trained over general encoders",
          "V2-T2", _ALL, ("SPECTER", "SciNCL", "SPECTER2 Base"), ("E5-base-v2", "MPNet")),
    Claim("V2-C5", "SPECTER, SciNCL, SPECTER2 Base over E5-base-v2 and MPNet", "the same, in-train tasks alone",
          "V2-T2", ("In-Train",), ("SPECTER", "SciNCL", "SPECTER2 Base"), ("E5-base-v2", "MPNet")),
    Claim("V1-C6", "several embeddings over MTL CLS", "several embeddings a paper over one", "V1-T2", _ALL,
          _of("SciNCL +", *_V1), ("SciNCL + MTL CLS",)),
    Claim("V1-C6", "adapter variants over MTL CTRL overall", "adapters over control codes", "V1-T2", _ALL,
          _of("SciNCL +", *_V1[1:]), ("SciNCL + MTL CTRL",)),
    Claim("V1-C6", "adapter variants over MTL CTRL", "adapters over control codes, out of train", "V1-T2", _OUT,
          _of("SciNCL +", *_V1[1:]), ("SciNCL + MTL CTRL",)),
    Claim("V1-C6", "over existing single embeddings", "several embeddings over SciNCL, the best before", "V1-T2", _ALL,
          _of("SciNCL +", *_V1), ("SciNCL",)),
    Claim("V1-C6", "ensemble over its single models", "the ensemble over each of its two", "V1-T2", tuple(V1),
          _of("SciNCL +", "Adapters + MTL CTRL"), _of("SciNCL +", "Adapters", "MTL CTRL")),
)  # fmt: skip
Differences = dict[tuple[str, str, str], float]
"""What a claim is about: first minus second, by the two rows and the column."""


def differences(claim: Claim) -> Differences:
    """Return the printed differences a claim is about."""
    printed = lookup(claim.of)
    return {
        (a, b, column): round(printed[a, column].number - printed[b, column].number, 1)
        for column in claim.columns
        for a in claim.first
        for b in claim.second
    }


def stated(claim: Claim) -> list[Printed]:
    """Return what the text says: numbers by their qualifier (`up to`), or one row without a number."""
    return [p for (row, _), p in lookup(claim.exhibit).items() if row == claim.row]


def verdict(claim: Claim, said: Sequence[Printed], found: Differences) -> str:
    """Return whether the table says what the text says: `yes`, `no` or `in part`, and where not."""
    values = list(found.values())
    numbers = {p.column.rpartition(", ")[2]: p.number for p in said if p.value}
    if any("on par" in p.note for p in said):
        ((a, b, column), gap), printed = next(iter(found.items())), lookup(claim.of)
        spread = max((float(s) for s in (printed[a, column].std, printed[b, column].std) if s), default=0.0)
        return f"{'yes, within' if abs(gap) <= spread else 'no, beyond'} a standard deviation"
    if "least" in numbers:
        low, high = numbers["least"], numbers["most"]
        return _held(claim, {key: v for key, v in found.items() if not low <= v <= high}, len(values))
    if "over" in numbers:
        return _held(claim, {key: v for key, v in found.items() if v <= numbers["over"]}, len(values))
    below = {key: v for key, v in found.items() if v <= 0}
    if "up to" not in numbers or len(below) == len(values):
        return _held(claim, below, len(values))
    right, most = max(values) == numbers["up to"], f"the most is {max(values):+.1f}"
    if below and right:
        return f"in part: {most}, but not for {_named(claim, below)}"
    return f"{'yes' if right else 'no'}: {most}{f', and not for {_named(claim, below)}' if below else ''}"


def _held(claim: Claim, against: Differences, total: int) -> str:
    """Return the verdict on a claim of several differences, of which some are against it."""
    if not against:
        return "yes"
    return f"{'no' if len(against) == total else 'in part'}: not for {_named(claim, against)}"


def _named(claim: Claim, found: Differences) -> str:
    """Return differences by name: the second row and the column only where there are several."""
    told = []
    for (a, b, column), value in found.items():
        other = f" − {b}" if len(claim.second) > 1 else ""
        told.append(f"{a}{other}{f', {column}' if len(claim.columns) > 1 else ''}: {value:+.1f}")
    return html.escape("; ".join(told))


def quoted(chapter: Chapter, said: Sequence[Printed]) -> str:
    """Return what the text states with its qualifier, `up to 1.5` or `1.4 to 2`; without a number, its words."""
    numbers = {p.column.rpartition(", ")[2]: chapter.number(p) for p in said if p.value}
    if "least" in numbers:
        return f"{numbers['least']} to {numbers['most']}"
    if numbers:
        return " and ".join(f"{word} {number}" for word, number in numbers.items())
    return html.escape(said[0].note.partition(": ")[2] or said[0].note)


def claims(chapter: Chapter, exhibits: Sequence[str]) -> None:
    """Show what the text says about the tables beside what the tables say (V1-C6, V2-C4; of baselines V2-C5)."""
    body, verdicts = [], []
    for claim in (one for one in CLAIMS if one.exhibit in exhibits):
        said, found = stated(claim), differences(claim)
        made = chapter.record(list(_extremes(claim, found)))
        shown = " to ".join(dict.fromkeys(chapter.number(row, 1, sign=True) for row in made))
        verdicts.append(verdict(claim, said, found))
        body.append([claim.exhibit, f"{claim.about}<br><small>{claim.of}, {', '.join(claim.columns)}</small>",
                     quoted(chapter, said), shown, verdicts[-1]])  # fmt: skip
    header = ["Claim", "of", "the text", "the table", "does it say so?"]
    chapter.show(report.table(header, body, "Sentences of section 6 and the abstracts against the printed tables, in points",
                              [["", "text", "text", "", "text"]] * len(body)))  # fmt: skip
    count = {word: sum(text.startswith(word) for text in verdicts) for word in ("yes", "in part", "no")}
    chapter.say(
        f"Of {len(verdicts)} sentences {count['yes']} hold, {count['in part']} in part and {count['no']} not.",
        "The ensemble has lines of its own in both versions: the texts introduce it after the sentences on several embeddings."
        if any("ensemble" in one.about for one in CLAIMS if one.exhibit in exhibits)
        else "",
    )


def _extremes(claim: Claim, found: Differences) -> Iterator[Result]:
    columns = ", ".join(claim.columns)
    numbers = [lookup(claim.of)[row, column] for row in (*claim.first, *claim.second) for column in claim.columns]
    for name, value in (("least", min(found.values())), ("most", max(found.values()))):
        yield arithmetic(claim.of, f"{claim.about}, {columns}, {name}", value, len(found), numbers)
