"""What the three chapters on the 32 neighbours share: measuring, paired differences, our runs and what is said of them.

    difference   of two rows of one collection, seed and evaluator: their bootstrap values draw the same papers, so the
                 difference has an interval of its own; settled where that leaves out 0
    all of n     where every one of n papers is found (or none), resampling says nothing; the bound is then the exact one,
                 0.025^(1/n), below which so clean a result has a chance of less than 2.5 %

A row's split is a code, a category, or `A - B`; its encoder a name, or `A - B`. Recorded and live rows meet by the name of
the collection: `sample/acl_anth` is our part of what `neighbours/acl_anth` is in full, or invented.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from scirep_core.data.perturbations import CATEGORIES
from scirep_core.encoders import Encoder
from scirep_core.encoders.latent import TERMS
from scirep_core.exhibits import neighbours_shared as shared
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.neighbours_shared import Subject
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, provenance, recorded
from scirep_core.results.differences import difference_of, versus

Key = tuple[str, str, str, str]
"""(collection, encoder, metric, split)."""
EXACT = "all alike: exact bound"
THIRDS = ("T_ADelQ1", "T_ADelQ2", "T_ADelQ3")
SPACE, AS_WRITTEN = "T_A_WS", ", literal"
"""White space, and what follows a code in a split where it is the public code's own reading."""
SHARES = ("nn1_ret", "nn10_ret", "aop@")
"""Metrics that are percentages of papers, or means of such."""


class Run(NamedTuple):
    """Our recorded run, or this one, and its numbers by collection, encoder, metric and split."""

    kind: str
    rows: Sequence[Result]
    found: Mapping[Key, Result]

    @property
    def collections(self) -> list[str]:
        """Collections, in the order measured."""
        return list(dict.fromkeys(key[0] for key in self.found))

    @property
    def encoders(self) -> list[str]:
        """Encoders, in the order measured; differences of two are none."""
        return list(dict.fromkeys(key[1] for key, row in self.found.items() if key[1] and not row.of_systems))

    @property
    def named(self) -> str:
        """`Live run, embedded data (1,000 papers, seed 0), up to 60 papers of a collection altered`."""
        given, first = self.rows[0].parameters, self.rows[0]
        size = f" ({given['papers']:,} papers, seed {given['seed']})" if given.get("data") == "embedded" else ""
        altered = given.get("queries")
        told = (
            ""
            if altered is None
            else f", up to {altered:,} papers of a collection altered"
            if altered
            else ", all papers altered"
        )
        return f"{self.kind.capitalize()} run, {first.source} data{size}{told}"


class View(NamedTuple):
    """One encoder on one collection of a run."""

    run: Run
    collection: str
    encoder: str

    def row(self, metric: str, split: str, encoder: str | None = None) -> Result | None:
        """Return a number, of this encoder unless another name is given."""
        return self.run.found.get((self.collection, self.encoder if encoder is None else encoder, metric, split))

    def rows(self, metric: str, splits: Iterable[str]) -> dict[str, Result]:
        """Return the numbers that are there, by code or category."""
        return {split: row for split in splits if (row := self.row(metric, split))}

    def gap(self, first: str, second: str, metric: str) -> Result | None:
        """Return the difference of two codes or categories, first minus second."""
        return self.row(difference_of(metric), versus(first, second))

    def against(self, metric: str, split: str) -> dict[str, Result]:
        """Return by other encoder the difference of this one minus it."""
        found = {e: self.row(difference_of(metric), split, versus(self.encoder, e)) for e in self.run.encoders}
        return {name: row for name, row in found.items() if row}

    @property
    def of(self) -> str:
        """Name of the collection, where a run has several or is not live, else ""."""
        task = next(row.task for row in self.run.rows if key_of(row)[0] == self.collection)
        return "" if len(self.run.collections) == 1 and self.run.kind == "live" else html.escape(title(task))

    @property
    def name(self) -> str:
        """`MiniLM, ACL-ANTH (sample)`, for sentences."""
        return html.escape(shared.named(self.encoder)) + (f", {self.of}" if self.of else "")

    def label(self, what: str = "") -> str:
        """Return the same with the kind of run, and more, in a small second line, for tables."""
        under = ", ".join(part for part in (self.of, self.run.kind, what) if part)
        return f"{html.escape(shared.named(self.encoder))}<br><small>{under}</small>"


def views(shown: Sequence[Run]) -> list[View]:
    """Return every encoder on every collection, run by run."""
    found = dict.fromkeys(
        (i, c, e) for i, run in enumerate(shown) for (c, e, *_), row in run.found.items() if e and not row.of_systems
    )
    return [View(shown[i], collection, encoder) for i, collection, encoder in found]


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(
    chapter: Chapter, found: Sequence[Subject], of: Callable[[Subject, Encoder], Iterable[Result]], across: Sequence[str]
) -> list[Result]:  # fmt: skip
    """Record the rows of every encoder on every collection, and the differences of encoders by category.

    Args:
        of: rows of one encoder; they need not name it.
        across: metrics compared between encoders.
    """
    rows: list[Result] = []
    for subject in found:
        by_encoder = {}
        for encoder in shared.encoders(chapter, subject):
            own = [edged(row, len(subject.chosen)) for row in of(subject, encoder)]
            by_encoder[encoder.name] = shared.signed(own, encoder)
        rows += [row for own in by_encoder.values() for row in own]
        for first, second in permutations(by_encoder, 2):
            theirs = {(r.metric, r.split): r for r in by_encoder[second]}
            for row in by_encoder[first]:
                if row.metric in across and row.split in CATEGORIES and (row.metric, row.split) in theirs:
                    named = versus(first, second)
                    rows += difference(row, theirs[row.metric, row.split], second, encoder=named)
    return [replace(row, replicates=None) for row in chapter.record(rows)]


def difference(
    first: Result, second: Result, against: str, metric: str = "", split: str = "", encoder: str = ""
) -> list[Result]:
    """Return first minus second as a row with the interval of the paired draws; none where a side has no draws.

    `against` is what the second is called.

    Both must be of one collection, one seed and the same altered papers: `measure` sees to that.
    """
    if first.replicates is None or second.replicates is None or len(first.replicates) != len(second.replicates):
        return []
    drawn = first.replicates.astype(np.float64) - second.replicates.astype(np.float64)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return [
        Result(
            first.task, split or first.split, difference_of(metric or first.metric), first.protocol, first.value - second.value,
            min(first.n, second.n), encoder=encoder, against=against, low=float(low), high=float(high), source=first.source,
            data_hash=first.data_hash, similarity=first.similarity, pool=first.pool, coverage=first.coverage, seed=first.seed,
            provenance=provenance(), note="paired: both sides draw the same papers",
        )
    ]  # fmt: skip


def differences(rows: Sequence[Result], metric: str, pairs: Iterable[tuple[str, str]]) -> list[Result]:
    """Return the differences between codes or categories of one encoder that are there, with split `A - B`."""
    by_split = {row.split: row for row in rows if row.metric == metric}
    return [
        row
        for a, b in pairs
        if a in by_split and b in by_split
        for row in difference(by_split[a], by_split[b], b, split=versus(a, b))
    ]


def edged(row: Result, papers: int) -> Result:
    """Return a share of 0 or 100 % with the exact bound instead of an interval without width."""
    alike = row.metric.startswith(SHARES) and row.value in (0.0, 100.0) and row.low == row.high
    if not alike:
        return row
    slack = 100 * (1 - 0.025 ** (1 / max(1, min(row.n, papers))))
    low, high = (100.0 - slack, 100.0) if row.value else (0.0, slack)
    return replace(row, low=low, high=high, note="; ".join(part for part in (row.note, EXACT) if part))


# ---- what is shown ---------------------------------------------------------------------------------------------------


def runs(name: str, rows: Sequence[Result]) -> list[Run]:
    """Return our recorded run of a chapter, if there is one, and this run; a number of the very same kind is shown once, live."""

    def what(row: Result) -> tuple[object, ...]:
        return row.task, row.encoder, row.metric, row.split, row.data_hash, row.n

    here = {what(row) for row in rows}
    kept = [row for row in recorded(name) if what(row) not in here]
    return [Run(of[0].kind, of, {key_of(row): row for row in of}) for of in (kept, rows) if of]


def key_of(row: Result) -> Key:
    """Return what a row is about."""
    return row.task.partition("/")[2], row.encoder, row.metric, row.split


def say_runs(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Say which runs the numbers are of, or that there are none."""
    if not shown:
        chapter.note("No collection is at hand: there is nothing to measure, and what follows stays empty.")
        return
    chapter.say(f"{'. '.join(run.named for run in shown)}.")
    if all(run.kind == "live" for run in shown):
        chapter.say("No larger run of this chapter is recorded: of our own numbers there are live ones alone.")


def settled(row: Result | None, bound: float = 0.0) -> int:
    """Return 1 where a row's interval lies above a bound, -1 below, 0 where it holds it or is not known."""
    if row is None or row.low is None or row.high is None:
        return 0
    return 1 if row.low > bound else -1 if row.high < bound else 0


def value(chapter: Chapter, row: Result | None, places: int = 1, sign: bool = False) -> str:
    """Return a number with its interval, "" for none."""
    if row is None:
        return ""
    return f"{chapter.number(row, places, sign=sign)} {report.interval(row.low, row.high, places)}".strip()


def told(chapter: Chapter, row: Result, places: int = 1, sign: bool = False) -> str:
    """Return a number for a sentence: `26.7 (15.0 to 38.3)`."""
    number = chapter.number(row, places, sign=sign)
    if row.low is None or row.high is None:
        return number
    return f"{number} <small>({row.low:.{places}f} to {row.high:.{places}f})</small>"


def models(names: Iterable[str]) -> list[str]:
    """Return the encoders that are language models: all but the latent ones."""
    return [name for name in names if name not in TERMS]


def say_no_model(chapter: Chapter) -> None:
    """Say that there is nothing to say of language models."""
    chapter.say(
        "No language model is among the encoders of this run: name one, as in <code>-p encoders minilm,lsa</code>."
    )


def collections(shown: Sequence[Run]) -> list[str]:
    """Return the collections of all runs."""
    return list(dict.fromkeys(collection for run in shown for collection in run.collections))


def listed(items: Sequence[str], nothing: str = "none") -> str:
    """Return `a, b and c`."""
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items) or nothing


def coded(codes: Iterable[str]) -> str:
    """Return codes of neighbours as HTML, `none` for none."""
    return listed([f"<code>{html.escape(code)}</code>" for code in codes])
