"""Chapter `neighbours/short_queries`: a paper asked for by its title alone (textual neighbours, section 5; Table 3, Figure 1).

    query     T(p), the vector of a title; at most 1,000 papers of a collection ask
    Task I    R = X, title + abstract of all papers: X(p) is sought
    Task II   R = X and the titles of all OTHER papers
    rank      1 + candidates strictly more similar by cosine
    MRR       mean of 1 / rank, from 0 to 1 as printed        T100   % of ranks up to 100

1 / MRR is the harmonic mean of the ranks, which a few first places decide; the median and the mean rank stand beside it.
T100 depends on how many candidates there are: with N of them chance alone gives 10,000 / N. So that a sample of a
collection can be held against print, ranks are also stretched to its printed size M: 1 + (rank - 1) (M - 1) / (N - 1), as if
papers that are not here were as near as those that are. Who is first stays first by that, which flatters MRR more than T100.

This module measures; `neighbours_short_table3.py` shows it. Beside them: `_clusters` (Figures 2 and 8), `_normalised`
(Table 9), `_brittle` (Table 6 and the introduction), which all start from the same `Texts`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.bench.scoring import named_vectors
from scirep_core.data import TASKS
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.encoders import Encoder
from scirep_core.encoders.vectors.embed import embed
from scirep_core.evaluators import neighbours
from scirep_core.evaluators.neighbours import QUERIES
from scirep_core.evaluators.rows import draws, sentence
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.neighbours_shared import FORMAT, Subject, encoders, named
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result
from scirep_core.results.published import Printed, lookup

CHAPTER = "neighbours/short_queries"
MODELS = ("SciBERT", "SPECTER", "OAG-BERT")
SETS = ("Arxiv-MATH", "Arxiv-HEP", "Arxiv-QBIO", "Arxiv-ECON", "Arxiv-CS-SY", "ICLR", "ACL-ANTH")
"""The data sets in the order of Tables 3 and 9."""
ONE, TWO = "task-I", "task-II"
TASKS_OF = {ONE: "Task I", TWO: "Task II"}
FLOOR, CEILING = "random", "oracle"
Floats = NDArray[np.float64]
MRR, T100, MEDIAN, MEAN, HARMONIC = "mrr, 0 to 1", "t100", "median_rank", "mean_rank", "1/mrr"
MEASURES: dict[str, Callable[[Floats], Floats]] = {
    MRR: lambda ranks: np.mean(1 / ranks, axis=-1),
    T100: lambda ranks: 100 * np.mean(ranks <= 100, axis=-1),
    MEDIAN: lambda ranks: np.median(ranks, axis=-1),
    MEAN: lambda ranks: np.mean(ranks, axis=-1),
    HARMONIC: lambda ranks: 1 / np.mean(1 / ranks, axis=-1),
}
"""Metric -> what it is of (..., queries) ranks."""
PLACES = {MRR: 3, T100: 1, MEDIAN: 1, MEAN: 1, HARMONIC: 1}
WITHIN = (1, 3, 10, 30, 100, 300, 1000, 3000)
SCALED = ", at the printed size"


class Texts(NamedTuple):
    """The vectors of one encoder on one collection: (papers, dim) of titles, and of title + abstract.

    Floor and ceiling have no encoder.
    """

    subject: Subject
    name: str
    fingerprint: str
    titles: NDArray[np.floating]
    whole: NDArray[np.floating]
    encoder: Encoder | None = None

    @property
    def chosen(self) -> NDArray[np.int64]:
        """The papers that ask: those `evaluators.neighbours` draws under protocol `paper`."""
        n = len(self.whole)
        if n <= QUERIES:
            return np.arange(n)
        return np.sort(np.random.default_rng(self.subject.seed).choice(n, QUERIES, replace=False))

    def row(self, metric: str, value: float, n: int, split: str, **more: object) -> Result:
        """Return a row of this collection and encoder; see `Asked.row`."""
        made = self.subject.asked().row(metric, value, n, split, **more)
        return replace(made, encoder=self.name, fingerprint=self.fingerprint)

    def short(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, dim) vectors of other short texts by the same encoder. Floor and ceiling cannot read any."""
        assert self.encoder is not None
        read = [self.encoder.recipe.of_query(text) for text in texts]
        tell = progress(f"{self.subject.task.name}: {self.name}, short texts")
        return embed(self.encoder, read, FORMAT, tell) if read else np.empty((0, self.encoder.dim))


def gather_texts(chapter: Chapter, subjects: Sequence[Subject]) -> list[Texts]:
    """Return the vectors of every encoder on every collection; encoders are fitted and read one after another."""
    return [
        Texts(subject, encoder.name, encoder.fingerprint, subject.titles(encoder), subject.whole(encoder), encoder)
        for subject in subjects
        for encoder in encoders(chapter, subject)
    ]


def bounds_of(subject: Subject) -> list[Texts]:
    """Return the vectors of chance, and those of the truth where it is known."""
    names = [FLOOR] + [CEILING] * (subject.task.oracle is not None)
    found = []
    for name in names:
        table = named_vectors(subject.task, name, subject.seed)
        titles, whole = (np.stack([table[f"{paper}/{text}"] for paper in subject.ids]) for text in ("t", "ta"))
        found.append(Texts(subject, name, "", titles, whole))
    return found


# ---- ranks -----------------------------------------------------------------------------------------------------------


def ranks_of(texts: Texts) -> dict[str, tuple[Floats, Floats]]:
    """Return by task the (optimistic, pessimistic) ranks of the papers that ask."""
    pools = {ONE: (texts.whole,), TWO: (texts.whole, texts.titles)}
    return {split: neighbours.ranks(texts.titles, pool, texts.chosen, "cosine") for split, pool in pools.items()}


def rank_rows(texts: Texts, best: Floats, worst: Floats, split: str, metrics: Iterable[str] = MEASURES) -> list[Result]:
    """Return one row a measure of ranks, with its interval over the papers that ask.

    Args:
        best: (n,) ranks with every tie won; `worst` with every tie lost, which the note gives where it differs.
    """
    rows, asked = [], texts.subject.asked()
    n, papers = len(best), len(texts.whole)
    drawn = n < papers
    for metric in metrics:
        of = MEASURES[metric]
        value, lost = float(of(best)), float(of(worst))
        spread = np.concatenate([of(best[picks]) for picks in draws(asked, n)])
        rows.append(texts.row(
            metric, value, n, split, replicates=spread, ties="optimistic: strictly more similar",
            pool=f"{papers if split != TWO else 2 * papers - 1} texts of {papers} papers",
            note=sentence(f"with every tie lost: {lost:.6g}" if lost != value else "", f"{n} queries drawn" if drawn else ""),
        ))  # fmt: skip
    return rows


def measure(found: Sequence[Texts]) -> list[Result]:
    """Return both tasks' measures of every encoder and of floor and ceiling, shares found within a rank, and II minus I."""
    subjects = {texts.subject.task.name: texts.subject for texts in found}
    bounds = [one for subject in subjects.values() for one in bounds_of(subject)]
    return [row for texts in (*bounds, *found) for row in _of_encoder(texts)]


def _of_encoder(texts: Texts) -> list[Result]:
    rows: list[Result] = []
    n, size = len(texts.whole), printed_size(texts.subject.task.name)
    for split, (best, worst) in ranks_of(texts).items():
        rows += rank_rows(texts, best, worst, split)
        count = n if split == ONE else 2 * n - 1
        for k in WITHIN:
            if k <= count:
                rows.append(_within(texts, best, k, split))
        if texts.subject.task.source != "embedded" and size and n < size:
            more = size if split == ONE else 2 * size - 1
            near, far = (1 + (ranks - 1) * (more - 1) / (count - 1) for ranks in (best, worst))
            note = f"an estimate: ranks among {count} candidates stretched to {more}"
            made = rank_rows(texts, near, far, split, (MRR, T100, MEDIAN))
            rows += [replace(row, metric=f"{row.metric}{SCALED}", note=note) for row in made]
    found = {(row.metric, row.split): row for row in rows}
    return [
        *rows,
        *(difference(found[m, TWO], found[m, ONE], f"{m}, Task II minus Task I", "Task I") for m in (MRR, T100)),
    ]


def _within(texts: Texts, ranks: Floats, k: int, split: str) -> Result:
    hits = 100.0 * (ranks <= k)
    spread = np.concatenate([hits[picks].mean(axis=1) for picks in draws(texts.subject.asked(), len(hits))])
    return texts.row(f"found within rank {k}, %", float(hits.mean()), len(hits), split, replicates=spread)


def difference(first: Result, second: Result, metric: str, against: str, split: str = "") -> Result:
    """Return first minus second as a row of `first`'s encoder: their draws took the same papers."""
    assert first.replicates is not None
    assert second.replicates is not None
    spread = first.replicates.astype(np.float64) - second.replicates.astype(np.float64)
    low, high = np.quantile(spread, [0.025, 0.975])
    return replace(first, metric=metric, against=against, value=first.value - second.value, low=float(low), high=float(high),
                   split=split or first.split, note="paired: the same queries", replicates=None)  # fmt: skip


def printed_set(task: str) -> str:
    """Return the data set of the paper that a collection is, or is a sample of; "" for none."""
    like = SAMPLES[task].like if task in SAMPLES else task
    return TASKS[like].title if like in TASKS else ""


def printed_size(task: str) -> int:
    """Return how many papers the printed data set has (Table 2); 0 for a collection of one's own."""
    found = lookup("TN-T2").get((printed_set(task), "#Papers"))
    return int(found.number) if found else 0


# ---- showing ---------------------------------------------------------------------------------------------------------


def cells_of(rows: Iterable[Result]) -> dict[tuple[str, str, str, str], Result]:
    """Return rows by (task, encoder, metric, split)."""
    return {(r.task, r.encoder, r.metric, r.split): r for r in rows}


def systems_of(rows: Iterable[Result], task: str) -> list[str]:
    """Return the encoders of a collection in order, without floor, ceiling and differences of two."""
    return [
        name
        for name in dict.fromkeys(r.encoder for r in rows if r.task == task and not r.of_systems)
        if name not in ("", FLOOR, CEILING)
    ]


def cell(chapter: Chapter, row: Result | None, places: int | None = None, sign: bool = False) -> str:
    """Return a number with its interval; "" for none."""
    if row is None:
        return ""
    shown = PLACES.get(row.metric.removesuffix(SCALED), 1) if places is None else places
    large = abs(row.value) >= 1000
    return f"{chapter.number(row, 0 if large else shown, sign)} {report.interval(row.low, row.high, 0 if large else 1)}".strip()


def about(rows: Sequence[Result]) -> str:
    """Return what a run's rows are of, as `recorded, real data`."""
    return f"{rows[0].kind}, {rows[0].source} data"


def calls(system: str) -> str:
    """Return how a system is called on the page, floor and ceiling included."""
    return {FLOOR: "floor: random vectors", CEILING: "ceiling: oracle"}.get(system, named(system))


def starts(system: str) -> str:
    """Return how a system is called at the start of a sentence."""
    return calls(system)[:1].upper() + calls(system)[1:]


def on(found: Iterable[tuple[str, str, str, str]], task: str) -> str:
    """Return ` on NAME` of a collection where a run has several, else nothing: what a sentence about one of them adds."""
    return f" on {html.escape(set_of(task))}" if len({key[0] for key in found}) > 1 else ""


def bullets(chapter: Chapter, lead: str, items: Sequence[str]) -> None:
    """Show sentences as a list under a lead; nothing where there are none."""
    if items:
        chapter.show(f"<p>{lead}:</p><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>")


def slug(task: str) -> str:
    """Return a collection's name as part of a file's."""
    return task.replace("/", "-")


def print_table(chapter: Chapter, exhibit: str, parts: Mapping[str, str], star: str) -> None:
    """Show Table 3 or 9 as printed, one half after the other, cells whose note says something odd marked by a star.

    Args:
        parts: half of the table, as the columns name it -> its heading. star: what the star means.
    """
    printed, header = lookup(exhibit), ["Data set", *["MRR", "T100, %"] * len(MODELS)]
    for part, heading in parts.items():
        cells = [[printed[name, f"{part}/{model}/{m}"] for model in MODELS for m in ("MRR", "T100")] for name in SETS]
        body = [[name, *(chapter.number(p) + _star(p) for p in row)] for name, row in zip(SETS, cells, strict=True)]
        caption = f"Table {exhibit[-1]}, as printed: {heading}; {QUERIES:,} queries a set"
        caption += f". * {star}" if any(_star(p) for row in cells for p in row) else ""
        classes = [["", *["published"] * len(cells[0])]] * len(body)
        chapter.show(report.table(header, body, caption, classes, MODELS))


def _star(number: Printed) -> str:
    note = number.note.replace("printed as Arxiv-CS_SY", "").strip("; ")
    return "*" if note and not note.startswith("printed as") else ""


def printed_papers(name: str) -> str:
    """Return the printed number of papers of a data set, with its thousands set apart."""
    return f"{int(lookup('TN-T2')[name, '#Papers'].number):,}"


def set_of(task: str) -> str:
    """Return the printed data set of a collection, else the collection's own name."""
    return printed_set(task) or title(task)
