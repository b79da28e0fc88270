"""Chapter `scirepeval/affinity`: trained on one format or two, scored on all four (v2 Table 11, appendix H; v1 Table 9, G).

    run            what is trained on: one format, two, or All; every run is scored on all tasks
    column         a part of the benchmark and a format, in-train/PRX say: the mean over its units
    mean of a part sum over formats of w * column / sum of w,  w = units of that format in that part (2 2 2 1 in-train;
                   out-of-train 4 3 11 2 in v2, 2 3 4 2 in v1);   v2's last column is (7 in + 20 out) / 27

What the two appendices say of these numbers is checked in scirepeval_affinity_claims.py.

Both papers print one number a cell and no spread, so that a printed difference has no interval. Ours are over trainings that
differ by their seed: Tukey's family-wise intervals over all runs of a column. The same questions are put to the three tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from scirep_core.bench.studied import means
from scirep_core.bench.suites import units
from scirep_core.exhibits import sign, studies
from scirep_core.kit.errors import ConfigError
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.comparison import Tukey
from scirep_core.results.published import Printed, lookup
from scirep_core.training.variants import SUBSETS

CHAPTER = "scirepeval/affinity"
STUDY = "affinity"
FORMATS = ("CLF", "RGN", "PRX", "SRCH")
PARTS = ("in-train", "out-of-train")
ALL = "All"
PAIRS = tuple(f"{a}+{b}" for a, b in combinations(FORMATS, 2))
RUNS = (*FORMATS, *PAIRS, ALL)
"""What is trained on, in print order."""
COLUMNS = tuple(f"{part}/{name}" for part in PARTS for name in FORMATS)
MEANS = (*PARTS, "all")
LINES = {name: name.removeprefix("MTL CTRL on ") for name in SUBSETS} | {"MTL CTRL": ALL}
"""Variant of the study -> run."""
VARIANTS = {run: name for name, run in LINES.items()}
SUBSET_OF = {chosen[0]: name for name, chosen in SUBSETS.items() if len(chosen) == 1}
"""Format -> the variant that is trained on it alone."""
EXHIBITS = {"V1-T9": ("v1", "Table 9 (v1)"), "V2-T11": ("v2", "Table 11 (v2)")}
"""Printed table -> version of the benchmark, name."""
ROUNDED = 0.1
"""A mean of numbers with one decimal lies within 0.05 of that of the exact ones, and its own print within 0.05 more."""


# ---- tables ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Scores of every run on every column, printed or ours.

    Attributes:
        exhibit: the printed table's id, the study's name of ours.
        values: (run, column) -> score.
        numbers: what is quoted for it.
        rows: of the study.
    """

    name: str
    kind: str
    exhibit: str
    values: Mapping[tuple[str, str], float]
    numbers: Mapping[tuple[str, str], Printed | Result]
    rows: Sequence[Result] = ()
    _tested: dict[str, Tukey] = field(default_factory=dict)
    _gaps: dict[tuple[str, str, str], Result] = field(default_factory=dict)

    def gap(self, chapter: Chapter, first: str, second: str, column: str) -> Result:
        """Record and return the difference of two runs on a column: Tukey's interval of ours, none of a printed one."""
        key = first, second, column
        if key not in self._gaps:
            row = self._printed(*key) if self.kind == "published" else self._tukey(*key)
            self._gaps[key] = study_.record(chapter, [row])[0]
        return self._gaps[key]

    def _printed(self, first: str, second: str, column: str) -> Result:
        """Return the difference of two printed numbers."""
        pair = [one for run in (first, second) if isinstance(one := self.numbers[run, column], Printed)]
        value = round(self.values[first, column] - self.values[second, column], 1)
        return arithmetic(self.exhibit, f"{column}, {first} minus {second}", value, 2, pair)

    def _tukey(self, first: str, second: str, column: str) -> Result:
        """Return Tukey's difference of two of our runs; a column is tested once, which takes half a second."""
        if column not in self._tested:
            found = studies.tukey_of(self.rows, column, column_of)
            if found is None:
                raise ConfigError(
                    f"study {self.exhibit}: no run varies over its trainings in {column}. Look at its rows"
                )
            self._tested[column] = found
        found, like = self._tested[column], self.numbers[first, column]
        assert isinstance(like, Result)
        gap = found.pair(VARIANTS[first], VARIANTS[second])
        return replace(
            like, metric=f"{column}, {first} minus {second}", against=second, value=gap.difference, low=gap.low, high=gap.high,
            n=sum(found.df) + 1, by_query={}, parameters={"p": gap.p},
            note=f"difference of means over the recorded trainings, Tukey’s interval over all runs, p = {gap.p:.2g}",
        )  # fmt: skip

    def show(self, chapter: Chapter, row: Result) -> str:
        """Return a difference as text: with its interval and p where it has them."""
        return chapter.number(row, 1, sign=True) if row.low is None else studies.difference(chapter, row, 1)


def column_of(row: Result) -> str | None:
    """Return the column of a study's row: part and format, with search as the papers call it."""
    return row.split.replace("QRY", "SRCH") if row.metric == "average" else None


def printed_column(column: str) -> str:
    """Return how the papers' tables call a column.

    >>> printed_column("in-train/PRX"), printed_column("out-of-train"), printed_column("all")
    ('In-Train/PRX', 'Out-of-Train/Avg', 'All/Avg')
    """
    part, _, name = column.partition("/")
    return f"{part.title().replace('Of', 'of')}/{name or 'Avg'}"


def printed(exhibit: str) -> Table:
    """Return Table 11 of v2 or Table 9 of v1; their in-train mean is the printed one."""
    found = lookup(exhibit)
    numbers = {(run, column): found[run, printed_column(column)] for run in RUNS for column in (*COLUMNS, *MEANS)}
    return Table(EXHIBITS[exhibit][1], "published", exhibit, {key: p.number for key, p in numbers.items()}, numbers)


def ours(rows: Sequence[Result]) -> Table | None:
    """Return our recorded study as a table; None where a run is missing or was trained once, so that nothing is tested."""
    found = {
        (LINES[row.encoder], column): row
        for row in means(rows)
        if row.encoder in LINES and (column := column_of(row)) in (*COLUMNS, *MEANS)
    }
    whole = all((run, column) in found for run in RUNS for column in (*COLUMNS, *MEANS))
    if not whole or any(row.parameters["trainings"] < 2 for row in found.values()):
        return None
    kept = [row for row in rows if row.encoder.rpartition(", seed ")[0] in LINES or row.encoder in LINES]
    return Table("our study", "recorded", STUDY, {key: row.value for key, row in found.items()}, found, kept)


def both_and(rows: Sequence[Result]) -> list[Table]:
    """Return the two printed tables and, where it is recorded, ours."""
    mine = ours(rows)
    return [printed("V2-T11"), printed("V1-T9"), *([mine] if mine else [])]


def weights(version: str, part: str) -> dict[str, int]:
    """Return how many units each format has in a part of the benchmark's average.

    >>> weights("v2", "out-of-train")
    {'CLF': 4, 'RGN': 3, 'PRX': 11, 'SRCH': 2}
    """
    count = Counter(unit.format.replace("QRY", "SRCH") for unit in units(version) if unit.part == part)
    return {name: count[name] for name in FORMATS}


def mean_of(table: Table, run: str, part: str) -> float:
    """Return the mean of a part as it follows from a printed row's formats."""
    share = weights(EXHIBITS[table.exhibit][0], part)
    return sum(w * table.values[run, f"{part}/{name}"] for name, w in share.items()) / sum(share.values())


def called(column: str) -> str:
    """Return how a column is called in a sentence."""
    return column.replace("/", " ")


def settled(row: Result) -> int:
    """Return the sign of a difference: of its interval, or of a printed one as it stands."""
    return sign(row) if row.low is not None else int(np.sign(row.value))


# ---- as printed ------------------------------------------------------------------------------------------------------


def show_printed(chapter: Chapter, exhibit: str) -> None:
    """Show a printed table by format; best of each column bold, best of one and of several formats underlined, as captioned."""
    table, body = printed(exhibit), []
    tops = {column: max(table.values[run, column] for run in RUNS) for column in COLUMNS}
    groups = {
        column: [max(table.values[r, column] for r in runs) for runs in (FORMATS, RUNS[4:])] for column in COLUMNS
    }
    for run in RUNS:
        line = [run]
        for column in COLUMNS:
            value, shown = table.values[run, column], chapter.number(table.numbers[run, column])
            if value == tops[column]:
                shown = f"<strong>{shown}</strong>"
            elif value == groups[column][run not in FORMATS]:
                shown = f"<u {studies.UNDERLINE}>{shown}</u>"
            line.append(shown)
        body.append(line)
    caption = (
        f"{table.name}, by format, as printed, 0 to 100. Bold: the highest of a column; underlined: the highest of one "
        "format alone, and of several, where that is not bold. Marks are ours, by the numbers"
    )
    chapter.show(
        report.table(["Trained on", *(FORMATS * 2)], body, caption, [["", *["published"] * 8]] * len(body), PARTS)
    )


def show_means(chapter: Chapter, exhibit: str) -> None:
    """Show the printed means beside those that follow from their rows, and say which are misprinted."""
    table, version = printed(exhibit), EXHIBITS[exhibit][0]
    body, off = [], {part: dict[str, float]() for part in PARTS}
    rows: dict[tuple[str, str], Result] = {}
    for run in RUNS:
        line = [run]
        for part in PARTS:
            quoted, value = table.numbers[run, part], mean_of(table, run, part)
            parts = [table.numbers[run, f"{part}/{name}"] for name in FORMATS]
            made = rows[run, part] = _record(chapter, exhibit, f"{part} mean of {run}", value, parts)
            gap = table.values[run, part] - value
            if abs(gap) > ROUNDED:
                off[part][run] = gap
            line += [chapter.number(quoted), chapter.number(made), f"{round(gap, 2) + 0.0:+.2f}"]
        body.append(line)
    shares = {part: " ".join(map(str, weights(version, part).values())) for part in PARTS}
    head = [f"{part}, {shares[part]}" for part in PARTS]
    chapter.show(report.table(
        ["Trained on", *(["printed", "follows", "gap"] * 2)], body,
        f"{table.name}: means over units (how many of CLF, RGN, PRX and SRCH), as printed and as they follow from their row",
        [["", *(["published", "", ""] * 2)]] * len(body), head,
    ))  # fmt: skip
    for part, runs in off.items():
        text = f"{len(RUNS) - len(runs)} of {len(RUNS)} {part} means of {table.name} follow from their rows within rounding"
        listed = ", ".join(f"{run} {gap:+.1f}" for run, gap in runs.items())
        chapter.say(f"{text}{f'; not those of {listed}' if runs else ''}.")
    if exhibit == "V2-T11":
        _say_column(chapter, table, rows)
    elif off["in-train"]:
        _say_cell(chapter, table, off["in-train"])


def _record(chapter: Chapter, exhibit: str, metric: str, value: float, numbers: Iterable[Printed | Result]) -> Result:
    quoted = [one for one in numbers if isinstance(one, Printed)]
    return chapter.record([arithmetic(exhibit, metric, value, len(quoted), quoted)])[0]


def _say_column(chapter: Chapter, table: Table, rows: Mapping[tuple[str, str], Result]) -> None:
    """Say which in-train column v2's last column was made of, and what the other one would have one believe."""
    follows = {run: rows[run, "in-train"].value for run in RUNS}
    count = {part: sum(weights("v2", part).values()) for part in PARTS}

    def last(run: str, of_part: float) -> float:
        mine = count["in-train"] * of_part + count["out-of-train"] * mean_of(table, run, "out-of-train")
        return mine / sum(count.values()) - table.values[run, "all"]

    right = max(abs(last(run, follows[run])) for run in RUNS)
    wrong = {run: last(run, table.values[run, "in-train"]) for run in RUNS}
    worst = max(wrong, key=lambda run: abs(wrong[run]))
    swapped = [
        (a, b) for a, b in combinations(RUNS, 2)
        if (table.values[a, "in-train"] - table.values[b, "in-train"]) * (follows[a] - follows[b]) < 0
    ]  # fmt: skip
    if right > ROUNDED:
        chapter.note("Neither in-train column explains the last column of Table 11.")
        return
    a, b = max(swapped, key=lambda pair: abs(follows[pair[0]] - follows[pair[1]]))
    low, high = (a, b) if follows[a] < follows[b] else (b, a)
    right_ones = f"{chapter.number(rows[low, 'in-train'])} and {chapter.number(rows[high, 'in-train'])}"
    chapter.note(
        f"The In-Train Avg column of Table 11 is misprinted. The table’s own last column, (7 in-train + 20 out-of-train) / 27, "
        f"follows from the means recomputed here in all {len(RUNS)} rows (largest gap {right:.2f}), and not from the printed "
        f"ones (off by {wrong[worst]:+.2f} for {worst}). It changes the order of {len(swapped)} of "
        f"{len(RUNS) * (len(RUNS) - 1) // 2} pairs of rows: by the printed column {low} "
        f"({chapter.number(table.numbers[low, 'in-train'])}) is ahead of {high} "
        f"({chapter.number(table.numbers[high, 'in-train'])}), by its own formats behind "
        f"({right_ones}). From here on the recomputed means are used."
    )


def _say_cell(chapter: Chapter, table: Table, off: Mapping[str, float]) -> None:
    """Say, of a row whose mean does not follow, which of its cells would have to be what."""
    share = weights("v1", "in-train")
    for run in off:
        cells = {name: table.values[run, f"in-train/{name}"] for name in FORMATS}
        others = {n: [table.values[r, f"in-train/{n}"] for r in RUNS if r != run] for n in FORMATS}
        far = {n: max(min(others[n]) - v, v - max(others[n]), 0.0) for n, v in cells.items()}
        name = max(far, key=lambda n: far[n])
        rest = sum(w * cells[n] for n, w in share.items() if n != name)
        needed = (sum(share.values()) * table.values[run, "in-train"] - rest) / share[name]
        quoted = [table.numbers[run, f"in-train/{n}"] for n in FORMATS] + [table.numbers[run, "in-train"]]
        made = _record(chapter, table.exhibit, f"in-train {name} of {run}, from the printed mean", needed, quoted)
        low, high = min(others[name]), max(others[name])
        fits = "which fits in" if low <= needed <= high else "which does not fit in either"
        chapter.note(
            f"In {table.name} the in-train {name} score of {run} is printed as "
            f"{chapter.number(table.numbers[run, f'in-train/{name}'])}, while the other rows print {low:.1f} to {high:.1f}. "
            f"The row’s mean asks for {chapter.number(made, 1)}, {fits}: the cell is a misprint. Below, no sentence rests on it."
        )


# ---- ours ------------------------------------------------------------------------------------------------------------


def references(rows: Sequence[Result]) -> list[Result]:
    """Return floor, words alone and ceiling for a study that has none: study `main`'s, where it is of the same data."""
    asked = {(row.task, row.split, row.metric, row.protocol, row.data_hash) for row in rows}
    return [
        row for row in studies.recorded_study("main")
        if row.encoder in studies.REFERENCES and (row.task, row.split, row.metric, row.protocol, row.data_hash) in asked
    ]  # fmt: skip


def show_ours(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show our own table, a part each: formats and their mean; mean of trainings, sd in small, Tukey's marks."""
    if not rows:
        return
    lines = [VARIANTS[run] for run in RUNS]
    called_here = {VARIANTS[run]: run for run in RUNS} | {c: c.partition("/")[2] for c in COLUMNS}
    called_here |= dict.fromkeys(PARTS, "mean") | {"all": "all tasks"}
    whole = max((len(row.by_query) for row in means(rows) if row.metric == "average"), default=0)
    every = len(units("v2"))
    over = (
        f"; averages over {'all' if whole == every else f'{whole} of'} the benchmark’s {every} units" if whole else ""
    )
    for part in PARTS:
        columns = [column for column in COLUMNS if column.startswith(f"{part}/")]
        columns += [part, *(["all"] if part == PARTS[1] else [])]
        caption = (
            f"Recorded, {part} tasks: {studies.facts(rows)}{over}. Bold: the highest mean; underlined: not told from it by "
            "Tukey’s test. Never comparable to the printed numbers"
        )
        chapter.show(
            studies.study_table(
                chapter,
                caption,
                {"recorded": [*rows, *references(rows)]},
                lines,
                columns,
                labels=called_here,
                column_of=column_of,
            )
        )
    if ours(rows) is None:
        chapter.say(
            "Not every run is there and trained twice, so nothing is tested: what follows rests on print alone."
        )
