"""A study's numbers on a page: what is recorded, what a small one made in this build gives, and differences by Tukey's test.

    chapter.exhibit("V2-T2", rows, studies=("main",), column="split", metric="average")     print beside every recorded source
    gaps(recorded("main", OPEN), average, against="MTL CLS")              line minus line over trainings (SciRepEval 6, 7)

A line is a variant (on its base, as a code); its number is the mean over trainings that differ by their seed, whose interval is
of that mean. A line of a single training has no interval, and neither has a difference from one: a page says so.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scirep_core.bench.studies import outcome, study
from scirep_core.bench.studies.tables import STUDIES
from scirep_core.kit.store import write_text
from scirep_core.results import Result, arithmetic, provenance
from scirep_core.results.comparison import Tukey, anova_tukey, values_of
from scirep_core.results.published import lookup
from scirep_core.training.loop import Status
from scirep_core.training.variants import DATA_SOURCES, Budget, budget

if TYPE_CHECKING:
    from scirep_core.page.chapter import Chapter

EMBEDDED, OPEN, SAMPLES = "embedded", "open", "samples"
"""Sources of studies: invented papers, real ones, a few hundred real ones."""
Column = Callable[[Result], str | None]
"""Row -> its column, or None to leave it out."""


def average(row: Result) -> str | None:
    """Return the column of a row in tables of averages: its split."""
    return row.split if row.metric == "average" else None


def recorded(name: str, source: str = "") -> list[Result]:
    """Return the committed trainings of a study and their means over seeds, of one source or of all; [] if none is."""
    if name not in STUDIES:
        return []
    sources = (source,) if source else DATA_SOURCES
    files = dict.fromkeys(study.results_file(name, one) for one in sources)
    return [row for file in files for row in outcome.read(file)]


def lines(rows: Iterable[Result]) -> list[Result]:
    """Return what a table shows: means over trainings, and systems that are not trained."""
    return [row for row in rows if "trainings" in row.parameters or "training_seed" not in row.parameters]


# ---- differences -----------------------------------------------------------------------------------------------------


def gaps(rows: Sequence[Result], column: Column, against: str, named: Sequence[str] = ()) -> list[Result]:
    """Return differences of lines from one, column by column, with Tukey's family-wise 95 % intervals over trainings.

    The family of a column is all lines trained twice or more. A line trained once, or held against one, has its difference
    without an interval. Rows have `encoder` the line, `split` the column, metric `difference`; `parameters` tell `p` and the
    ANOVA's `f`, `f_p`, `df` where there is a test.

    Args:
        rows: of one source and base, single trainings among them.
        named: lines whose differences are wanted; all of them unless named.
    """
    shown = {(row.encoder, column(row)): row for row in outcome.means(rows)}
    columns = [one for one in dict.fromkeys(key[1] for key in shown) if one is not None]
    table, made = outcome.table(rows, columns, column), []
    for one in columns:
        tested = outcome.tukey(table, one) if any(len(set(of.values.get(one, ()))) > 1 for of in table) else None
        base = shown.get((against, one))
        if base is None:
            continue
        for row in (row for (line, at), row in shown.items() if at == one and line != against):
            if named and row.encoder not in named:
                continue
            gap = replace(
                row, split=one, metric="difference", value=row.value - base.value, against=against, low=None, high=None,
                by_query={}, replicates=None, note="", provenance=provenance(),
            )  # fmt: skip
            made.append(_tested(gap, tested))
    return made


def printed_gaps(exhibit: str, against: str, named: Sequence[str] = ()) -> list[Result]:
    """Return the same differences of a printed table, of five trainings: Tukey's test sees a mean, a deviation and a count alone.

    Numbers printed without a deviation have their difference without an interval.
    """
    numbers = [number for number in lookup(exhibit).values() if number.value]
    made = []
    for column in dict.fromkeys(number.column for number in numbers):
        of = {number.row: number for number in numbers if number.column == column}
        groups = {
            row: values_of(one.number, float(one.std), 5).tolist() for row, one in of.items() if float(one.std or 0) > 0
        }
        tested = anova_tukey(groups) if len(groups) > 1 else None
        for row in (row for row in of if against in of and row != against and (not named or row in named)):
            value = of[row].number - of[against].number
            gap = arithmetic(exhibit, f"{row} minus {against}", value, 5, (of[row], of[against]))
            made.append(_tested(replace(gap, encoder=row, against=against, split=column), tested))
    return made


def _tested(gap: Result, tested: Tukey | None) -> Result:
    """Return a difference with its interval and p, as it is where one of its lines took no part in the test."""
    if tested is None or not {gap.encoder, gap.against} <= tested.means.keys():
        return gap
    pair = tested.pair(gap.encoder, gap.against)
    statistics = {"p": pair.p, "f": tested.f, "f_p": tested.p, "df": list(tested.df)}
    note = f"difference of means over training runs, Tukey’s interval, p = {pair.p:.2g}"
    return replace(gap, low=pair.low, high=pair.high, parameters={**gap.parameters, **statistics}, note=note)


# ---- made in this build ----------------------------------------------------------------------------------------------


def live_budget(given: Mapping[str, Any]) -> Budget:
    """Return what a live training may take: small enough for four chapters in a few minutes of one core.

    Args:
        given: a chapter's parameters, of which `papers`, `steps` and `seed` (of the literature) count, where it has them.
    """
    steps = given.get("steps", 100)
    return budget("small", papers=given.get("papers", 1000), data_seed=given.get("seed", 0), max_length=128, base_steps=150,
                  width=64, train={"steps": steps, "warmup": min(20, steps // 5)})  # fmt: skip


def live(
    chapter: Chapter, name: str, variants: Sequence[str], seeds: Sequence[int] = (0, 1), **changes: Any
) -> list[Result]:
    """Train and score a small version of a study in this build; record and return its rows, means over trainings too.

    What is in SCIREP_HOME already is not trained or scored again. Few-shot settings, which take longer than everything else,
    are left out, and so are the three units of the average that need them, unless `split=None`.

    Args:
        seeds: of the trainings; without one nothing is trained or scored.
        changes: further fields of the study: bases, tasks, codes, references, widths.

    Raises ConfigError for an unknown variant, base or task; ScirepError where a cell failed.
    """
    if not seeds:
        return []
    teller, out = _Teller(name), chapter.folder / f"study-{name}.jsonl"
    out.unlink(missing_ok=True)  # of an earlier run, perhaps of other variants
    rows = study.run(
        name, live_budget(chapter.parameters), seeds, changes={"variants": tuple(variants), "split": "test", **changes},
        keep_vectors=True, protocol=chapter.parameters.get("protocol", "paper"), out=out,
        say=teller.say, watch=teller.watch, progress=teller.progress,
    )  # fmt: skip
    return record(chapter, [_with_spread(replace(row, replicates=None)) for row in rows])


def record(chapter: Chapter, rows: Sequence[Result]) -> list[Result]:
    """Record rows of a study as the chapter's; return them with what they know of their trainings beside its parameters.

    Steps are those of the line itself: a base as it is has none, whatever the chapter's parameter.
    """
    stamped = chapter.record(rows)
    given = {key: value for key, value in chapter.parameters.items() if key != "steps"}
    return [replace(new, parameters={**given, **old.parameters}) for new, old in zip(stamped, rows, strict=True)]


def _with_spread(row: Result) -> Result:
    sd = row.parameters.get("sd")  # kept with the row
    return row if sd is None else replace(row, note=f"{row.note}, sd {sd:.3g}")


def tell(line: str) -> None:
    """Say how a chapter goes on: to the file that the runner watches (`SCIREP_PROGRESS`), so that pages stay clean; else stderr."""
    watched = os.environ.get("SCIREP_PROGRESS")
    if watched:
        write_text(Path(watched), line)
    else:
        print(line, file=sys.stderr, flush=True)


class _Teller:
    """Tells how a live study goes on, twice a second at most; where nobody watches, what begins alone."""

    def __init__(self, name: str) -> None:
        self.begun, self.last, self.what, self.name = time.perf_counter(), 0.0, name, name

    def say(self, line: str) -> None:
        self.what = line
        self._tell(line, True)

    def watch(self, state: Status) -> None:
        self._tell(f"{self.what.partition(': ')[0]}: step {state.step} of {state.steps}")

    def progress(self, what: str, done: int, total: int) -> None:
        self._tell(f"{self.what}, {what} {done} of {total}" if what else self.what)

    def _tell(self, line: str, at_once: bool = False) -> None:
        now = time.perf_counter()
        if not at_once and now - self.last < 0.5:
            return
        self.last = now
        if at_once or os.environ.get("SCIREP_PROGRESS"):
            tell(f"study {self.name}: {line}, {now - self.begun:.0f} s")
