"""What SciMult's chapters share: the columns of its tables, the study behind them, and averages as the paper takes them.

    Tables 3 and A3   fine labels, with and without name matching     4   coarse labels      5   link retrieval
    Table 7           link reranking                                  8   search

An average is the plain mean over a table's columns, so that a data set with three metrics weighs more than one with two. It
is a row of its own for every training, and there only where all its columns are: the mean of fewer is another number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scirep_core.bench import studied, study_tables
from scirep_core.exhibits import studies
from scirep_core.kit.store import stable_hash
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import Printed, lookup

FIVE = tuple(f"SciMult {name}" for name in study_tables.FIVE)
"""The five variants, as the study calls them."""
LONG = "SciMult Vanilla, as long"
"""Vanilla in as many steps as two stages have, a control of ours."""
CALLED = dict(zip(FIVE, study_tables.FIVE, strict=True))
"""How tables and sentences call them."""
AVERAGE = "Average"
ENDS = (studies.FLOOR, studies.CEILING)
"""Systems that are not trained: what an average is worth lies between them."""
Columns = Mapping[tuple[str, str], str]
"""(task, metric) -> column as printed, in print's order."""


def _fine(match: str) -> Columns:
    sets = {"cs_conference": "CS-Conference", "chemistry_mesh": "Chemistry-MeSH", "geography": "Geography",
            "psychology": "Psychology"}  # fmt: skip
    return {
        (f"scimult/{task}", f"recall@{k}{match}"): f"{name}/R@{k}" for task, name in sets.items() for k in (20, 50, 100)
    }


TABLES: dict[str, Columns] = {
    "SM-T3": _fine("_name_match"),
    "SM-TA3": _fine(""),
    "SM-T4": {
        ("scirepeval/scidocs_mag", "f1_macro"): "MAG Fields/Linear", ("scimult/mag", "f1_macro"): "MAG Fields/BiEnc",
        ("scirepeval/scidocs_mesh", "f1_macro"): "MeSH Diseases/Linear", ("scimult/mesh", "f1_macro"): "MeSH Diseases/BiEnc",
    },
    "SM-T5": {
        (f"scimult/{task}", f"recall@{k}"): f"{name}/R@{k}"
        for task, name in {"cite": "Cite", "cocite": "Co-cite", "ppr": "Patient-to-Patient"}.items()
        for k in (20, 50, 100)
    },
    "SM-T7": {
        **{(f"scimult/{task}", metric): f"{name}/{shown}"
           for task, name in {"coview": "Co-view", "coread": "Co-read", "cite_rerank": "Cite", "cocite_rerank": "Co-cite"}.items()
           for metric, shown in {"map": "MAP", "ndcg": "nDCG"}.items()},
        **{("scimult/recommendation", metric): f"Recommendation/{shown}"
           for metric, shown in {"ndcg@5": "nDCG@5", "ndcg@10": "nDCG@10", "ndcg": "nDCG"}.items()},
    },
    "SM-T8": {
        (f"scimult/{task}", "ndcg@10"): f"{name}/nDCG@10"
        for task, name in {"search": "SciRepEval-Search", "trec_covid": "TREC-COVID in SciRepEval",
                           "trec_covid_beir": "TREC-COVID in BEIR", "scifact": "SciFact", "nfcorpus": "NFCorpus"}.items()
    },
}  # fmt: skip
"""Table -> what of our rows answers its columns. Linear classification of Table 4 is SciDocs' own."""
TASKS = {"SM-T3": "Classification (Fine)", "SM-T4": "Classification (Coarse)", "SM-T5": "Link Prediction (Retrieval)",
         "SM-T7": "Link Prediction (Reranking)", "SM-T8": "Search"}  # fmt: skip
"""Table -> the row its averages have in Tables 9, A4, A5 and A7."""


# ---- rows ------------------------------------------------------------------------------------------------------------


def live(chapter: Chapter, variants: Sequence[str] = ("SciMult Vanilla", "SciMult MHAExpert")) -> list[Result]:
    """Train and score some variants in this build, small; return and record the rows, averages of all tables among them.

    Chapters with equal parameters `papers`, `steps` and `seed` share models, vectors and scores: the second trains nothing. All
    five have 1000, 60 and 0 by default. With a parameter `seeds` there are as many trainings; one otherwise. Words alone are not
    among the systems: chapters measure them themselves.
    """
    seeds = range(chapter.parameters.get("seeds", 1))
    rows = study_.live(chapter, "scimult", variants, seeds, bases=("embedded untrained",), references=ENDS)
    return [*rows, *record_averages(chapter, rows, "live")]


def recorded(chapter: Chapter, name: str = "scimult") -> list[Result]:
    """Return our committed run of a study with the averages of all tables, which the chapter records; [] if there is none."""
    rows = studies.recorded_study(name)
    return [*rows, *record_averages(chapter, rows, f"recorded {name}")]


def record_averages(chapter: Chapter, rows: Sequence[Result], of: str) -> list[Result]:
    """Record and return the averages of all tables; `of` tells in their names those of one run from another's."""
    made = [row for table in TABLES for row in averages(rows, table)]
    return study_.record(chapter, [replace(row, metric=f"average ({of})") for row in made])


def averages(rows: Sequence[Result], table: str) -> list[Result]:
    """Return a table's average for every training and every system without one, and its means over trainings."""
    wanted, found = TABLES[table], dict[str, dict[str, Result]]()
    for row in studied.trainings(rows):
        if row.split == "test" and (name := wanted.get((row.task, row.metric))):
            found.setdefault(row.encoder, {})[name] = row
    made = [_average(table, list(cells.values())) for cells in found.values() if len(cells) == len(wanted)]
    return [*made, *studied.over_seeds(made)]


def _average(table: str, cells: Sequence[Result]) -> Result:
    first = cells[0]
    return replace(
        first, task=f"scimult/{table}", metric="average", value=sum(row.value for row in cells) / len(cells), n=len(cells),
        low=None, high=None, by_query={}, replicates=None, pool="", coverage=None, seconds=None,
        data_hash=stable_hash([row.data_hash for row in cells])[:16], note=f"plain mean of the {len(cells)} columns of {table}",
    )  # fmt: skip


def change(
    rows: Sequence[Result], table: str, line: str, against: str, of: str, relative: bool = False
) -> Result | None:
    """Return what a line's average is above another's: mean over trainings of equal seed, with its 95 % interval (t).

    A second stage goes on from the first stage of its own seed, so the two are paired.

    Args:
        rows: with averages among them, as `live` and `recorded` return them.
        of: tells in the name one run's from another's.
        relative: in percent of the other's average (Table 9), in place of points.

    None where no seed has both; an average of 0 has no percent. A single training has no interval.
    """
    found: dict[str, dict[int, Result]] = {line: {}, against: {}}
    for row in studied.trainings(rows):
        if row.task == f"scimult/{table}" and studied.line(row) in found:
            found[studied.line(row)][row.parameters["training_seed"]] = row
    what, made = "over" if relative else "minus", []
    for seed in sorted(found[line].keys() & found[against].keys()):
        row, other = found[line][seed], found[against][seed]
        if relative and not other.value:
            continue
        value = 100 * (row.value / other.value - 1) if relative else row.value - other.value
        name, both = f"average {what} that of {against} ({of})", stable_hash([row.data_hash, other.data_hash])[:16]
        made.append(replace(row, metric=name, value=value, data_hash=both))
    return next(iter(studied.over_seeds(made)), None)


# ---- tables ----------------------------------------------------------------------------------------------------------


def column_of(table: str) -> studies.ColumnOf:
    """Return a function from a row to its column of a table, None where it has none."""

    def column(row: Result) -> str | None:
        if row.task == f"scimult/{table}":
            return AVERAGE
        return TABLES[table].get((row.task, row.metric)) if row.split == "test" else None

    return column


def values(rows: Sequence[Result], table: str) -> dict[tuple[str, str], Result]:
    """Return a table's numbers by (line, column): means over trainings and references, the average among them."""
    column = column_of(table)
    more = [] if any(column(row) == AVERAGE for row in rows) else averages(rows, table)
    return studies.cells([*rows, *more], column)


def columns(table: str) -> list[str]:
    """Return a table's columns as printed, the average last."""
    return [*TABLES[table].values(), AVERAGE]


def printed(table: str) -> dict[tuple[str, str], Printed]:
    """Return a table's printed numbers by (line, column), the five variants under the study's names."""
    own = {f"SciMult-{name}": line for line, name in CALLED.items()}
    return {(own.get(row, row), column): number for (row, column), number in lookup(table).items()}
