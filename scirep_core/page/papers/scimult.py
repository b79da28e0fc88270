"""What SciMult's pages share: its printed tables, the study behind ours, and systems without training on its tasks.

    Tables 3 and A3   fine labels, with and without name matching     4   coarse labels      5   link retrieval
    Table 7           link reranking                                  8   search

An average is the plain mean over a table's columns, so that a data set with three metrics weighs more than one with two. It
is a row of its own for every training, and there only where all its columns are: the mean of fewer is another number. On the
open literature other tasks stand for a table's: `OPEN` has them, and their means are of that group of tasks alone.

A line beats another by the printed digits alone: the paper gives neither seeds nor deviations, so no printed difference has a
test. Differences of systems are paired: both are scored on the same papers or queries, and the bootstrap draws the same of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from scirep_core.bench import pairs, scoring
from scirep_core.bench.studies import outcome, tables
from scirep_core.bench.systems import load_system
from scirep_core.data.task import Task, Triples
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.kit.store import stable_hash
from scirep_core.page import study
from scirep_core.page.chapter import Chapter, progress
from scirep_core.page.names import NAMES
from scirep_core.page.rows import INVENTED, REAL, RECORDED
from scirep_core.results import Result
from scirep_core.results.published import Printed, lookup, table

OWN, AVERAGE = "SciMult-", "Average"
VARIANTS = tuple(f"{OWN}{name}" for name in tables.FIVE)
VANILLA, MHA = VARIANTS[:2]
"""As printed; the study calls them `SciMult Vanilla` ..."""
FIVE = tuple(f"SciMult {name}" for name in tables.FIVE)
LONG = "SciMult Vanilla, as long"
"""Vanilla in as many steps as two stages have, a control of ours."""
BOUNDS = ("random", "oracle")
"""Systems that are not trained: what a score is worth lies between them."""
LABELS = (
    {name: NAMES[name] for name in ("random", "oracle", "tfidf")}
    | {"Base": "Base"}
    | {line: line.removeprefix("SciMult ").removeprefix(OWN) for line in (*FIVE, *VARIANTS, LONG)}
)
"""What tables of the study call their lines."""
LINES = ("Base", *FIVE, LONG, "tfidf", *BOUNDS)
"""Lines of the study, in the order shown."""
GLOSS = (
    "SciMult’s five variants: <em>Vanilla</em> shares all weights among the three kinds of task. <em>MHAExpert</em> has attention "
    "weights, <em>FFNExpert</em> feed-forward weights for each kind of task, in every second block. <em>Instruction</em> attends "
    "to a sentence that names the task; <em>Prefix</em> does so with the encoder frozen. All four start from a trained Vanilla."
)
"""What the variants are, in the words of every chapter that names them."""
Columns = Mapping[tuple[str, str], str]
"""(task, metric) -> column as printed, in print's order."""


def _fine(match: str) -> Columns:
    sets = {"cs_conference": "CS-Conference", "chemistry_mesh": "Chemistry-MeSH", "geography": "Geography",
            "psychology": "Psychology"}  # fmt: skip
    each = [(task, name, k) for task, name in sets.items() for k in (20, 50, 100)]
    return {(f"scimult/{task}", f"recall@{k}{match}"): f"{name}/R@{k}" for task, name, k in each}


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
OPEN: dict[str, Columns] = {
    "SM-T3": {("open/mesh_labels", f"recall@{k}"): f"descriptors/R@{k}" for k in (20, 50, 100)},
    "SM-T4": {("open/category_labels", "recall@1"): "categories/R@1", ("open/track_labels", "f1_macro"): "tracks/F1"},
    "SM-T5": {("open/link_prediction", f"recall@{k}"): f"citations/R@{k}" for k in (20, 50, 100)},
    "SM-T7": {("open/reviewer_match", "pairs_ordered"): "reviewers/pairs in order"},
    "SM-T8": {(f"open/{task}", "ndcg@10"): f"{task}/nDCG@10" for task in ("search", "phrases", "scifact", "cranfield")},
}
"""Table -> what stands for its tasks on the open literature."""
TASKS = {"SM-T3": "Classification (Fine)", "SM-T4": "Classification (Coarse)", "SM-T5": "Link Prediction (Retrieval)",
         "SM-T7": "Link Prediction (Reranking)", "SM-T8": "Search"}  # fmt: skip
"""Table -> the row its averages have in Tables 9, A4, A5 and A7."""


# ---- the print -------------------------------------------------------------------------------------------------------


def systems(exhibit: str) -> list[str]:
    """Return the lines of a table, as printed."""
    return list(dict.fromkeys(p.row for p in table(exhibit)))


def baselines(exhibit: str) -> list[str]:
    """Return the lines that are not the paper's own models."""
    return [name for name in systems(exhibit) if not name.startswith(OWN)]


def columns(exhibit: str, *data: str) -> list[str]:
    """Return the columns of some data sets, of all unless named, without the average."""
    every = [[p.column for p in table(exhibit) if p.row == line and p.column != AVERAGE] for line in systems(exhibit)]
    found = max(every, key=len)  # a line may lack some, and would set them at the end
    return [name for name in found if not data or name.partition("/")[0] in data]


def data_sets(exhibit: str) -> list[str]:
    """Return the data sets of a table, in order."""
    return list(dict.fromkeys(name.partition("/")[0] for name in columns(exhibit)))


def bar(exhibit: str, column: str, among: Iterable[str] = ()) -> Printed:
    """Return the highest number of a column among the baselines, or among the lines named."""
    printed = lookup(exhibit)
    lines = list(among) or baselines(exhibit)
    return max((printed[line, column] for line in lines if (line, column) in printed), key=lambda p: p.number)


def beaten(exhibit: str, line: str, names: Iterable[str]) -> list[str]:
    """Return the columns in which a line is ahead of every baseline."""
    printed = lookup(exhibit)
    return [name for name in names if printed[line, name].number > bar(exhibit, name).number]


def ahead(exhibit: str, one: str, other: str, names: Iterable[str]) -> list[str]:
    """Return the columns in which a line is ahead of another."""
    printed = lookup(exhibit)
    return [name for name in names if printed[one, name].number > printed[other, name].number]


def winners(exhibit: str, name: str, lines: Sequence[str] = VARIANTS) -> list[str]:
    """Return the lines with the highest number of a column."""
    printed = lookup(exhibit)
    top = max(printed[line, name].number for line in lines)
    return [line for line in lines if printed[line, name].number == top]


def carriers(exhibit: str, one: str, other: str) -> list[str]:
    """Return the data sets without which the sign of one line minus another in the mean of columns turns."""
    printed = lookup(exhibit)
    gaps = {name: printed[one, name].number - printed[other, name].number for name in columns(exhibit)}
    whole, found = sum(gaps.values()), []
    for data in data_sets(exhibit):
        rest = sum(gap for name, gap in gaps.items() if name.partition("/")[0] != data)
        found += [data] * (rest * whole < 0)
    return found


def short(line: str) -> str:
    """Return a variant's name without the paper's.

    >>> short("SciMult-MHAExpert")
    'MHAExpert'
    """
    return line.removeprefix(OWN)


# ---- the study -------------------------------------------------------------------------------------------------------


def live(chapter: Chapter, variants: Sequence[str] = FIVE[:2]) -> list[Result]:
    """Train and score some variants in this build, small; return and record the rows, averages of all tables among them.

    Chapters with equal parameters `papers`, `steps` and `seed` share models, vectors and scores: the second trains nothing. There
    are as many trainings as the parameter `seeds` says. Words alone are not among the systems: chapters measure them themselves.
    """
    seeds = range(chapter.parameters["seeds"])
    rows = study.live(chapter, "scimult", variants, seeds, bases=("embedded untrained",), references=BOUNDS)
    return [*rows, *record_averages(chapter, rows, "live")]


def studies(chapter: Chapter, name: str, made: Sequence[Result] = ()) -> dict[str, list[Result]]:
    """Return the rows of a study with all averages, recorded by source and of this build, under what papers they are of.

    Those of the open literature come first. A source without rows is not there; averages are recorded as the chapter's.
    """
    found: dict[str, list[Result]] = {}
    for source, papers in ((study.OPEN, REAL), (study.EMBEDDED, INVENTED)):
        if rows := study.recorded(name, source):
            found[papers + RECORDED] = [*rows, *record_averages(chapter, rows, f"{source} {name}")]
    return found | ({INVENTED: list(made)} if made else {})


def facts(rows: Sequence[Result]) -> str:
    """Return what a study's rows rest on, for a caption: trainings, papers of the embedded literature, steps."""
    spans = {key: sorted({row.parameters.get(key, 0) for row in outcome.means(rows) if row.parameters.get("steps")})
             for key in ("trainings", "papers", "steps")}  # fmt: skip
    ends = {key: dict.fromkeys((of[0], of[-1])) for key, of in spans.items() if all(of) and of}
    parts = [f"{' to '.join(f'{n:,}' for n in of)} {key}" for key, of in ends.items()]
    return ", ".join(parts).replace("1 trainings, ", "one training run each, ").replace("trainings", "training runs")


def record_averages(chapter: Chapter, rows: Sequence[Result], of: str) -> list[Result]:
    """Record and return the averages of all tables; `of` tells in their names those of one run from another's."""
    made = [row for name in TABLES for row in averages(rows, name)]
    return study.record(chapter, [replace(row, metric=f"average ({of})") for row in made])


def averages(rows: Sequence[Result], exhibit: str) -> list[Result]:
    """Return a table's average for every training and every system without one, and its means over trainings."""
    found, keys = dict[str, dict[str, Result]](), {(row.task, row.metric) for row in rows}
    wanted: Columns = next((of[exhibit] for of in (OPEN, TABLES) if keys & of.get(exhibit, {}).keys()), {})
    for row in outcome.trainings(rows):
        if row.split == "test" and (name := wanted.get((row.task, row.metric))):
            found.setdefault(row.encoder, {})[name] = row
    made = [_average(exhibit, list(cells.values())) for cells in found.values() if len(cells) == len(wanted)]
    return [*made, *outcome.over_seeds(made)]


def _average(exhibit: str, cells: Sequence[Result]) -> Result:
    first = cells[0]
    return replace(
        first, task=f"scimult/{exhibit}", metric="average", value=sum(row.value for row in cells) / len(cells), n=len(cells),
        low=None, high=None, by_query={}, replicates=None, pool="", coverage=None, seconds=None,
        data_hash=stable_hash([row.data_hash for row in cells])[:16], note=f"plain mean of the {len(cells)} columns of {exhibit}",
    )  # fmt: skip


def values(rows: Sequence[Result], exhibit: str) -> dict[tuple[str, str], Result]:
    """Return a table's numbers by (line, column): means over trainings and systems without them, the average among them."""
    names = {**TABLES[exhibit], **OPEN.get(exhibit, {})}
    own = f"scimult/{exhibit}"
    more = [] if any(row.task == own for row in rows) else averages(rows, exhibit)
    shown = [*outcome.means([*rows, *more]), *(row for row in (*rows, *more) if row.encoder in LABELS)]

    def column(row: Result) -> str | None:
        if row.task == own:
            return AVERAGE
        return names.get((row.task, row.metric)) if row.split == "test" else None

    return {(row.encoder, name): row for row in shown if (name := column(row))}


def change(
    rows: Sequence[Result], exhibit: str, line: str, against: str, of: str, relative: bool = False
) -> Result | None:
    """Return what a line's average is above another's: mean over trainings of equal seed, with its 95 % interval (t).

    A second stage goes on from the first stage of its own seed, so the two are paired.

    Args:
        rows: with averages among them, as `live` and `studies` return them.
        of: tells in the name one run's from another's.
        relative: in percent of the other's average (Table 9), in place of points.

    None where no seed has both; an average of 0 has no percent. A single training has no interval.
    """
    found: dict[str, dict[int, Result]] = {line: {}, against: {}}
    for row in outcome.trainings(rows):
        if row.task == f"scimult/{exhibit}" and outcome.line(row) in found:
            found[outcome.line(row)][row.parameters["training_seed"]] = row
    if against == "Base" and found[against]:  # not trained: one score stands beside the trainings of every seed
        found[against] = dict.fromkeys(found[line], next(iter(found[against].values())))
    what, made = "over" if relative else "minus", []
    for seed in sorted(found[line].keys() & found[against].keys()):
        row, other = found[line][seed], found[against][seed]
        if relative and not other.value:
            continue
        value = 100 * (row.value / other.value - 1) if relative else row.value - other.value
        name, both = f"average {what} that of {against} ({of})", stable_hash([row.data_hash, other.data_hash])[:16]
        made.append(replace(row, metric=name, value=value, data_hash=both))
    return next(iter(outcome.over_seeds(made)), None)


def changes(
    chapter: Chapter,
    kinds: Mapping[str, Sequence[Result]],
    pairs: Mapping[str, tuple[str, str]],
    relative: bool = False,
) -> dict[str, dict[tuple[str, str], Result]]:
    """Record and return, by what papers they are of, changes by (group of tasks, name) of pairs of lines; none is left empty.

    Args:
        kinds: as `studies` returns them.
        pairs: name -> (line, against).
    """
    made: dict[str, dict[tuple[str, str], Result]] = {}
    for papers, rows in kinds.items():
        wanted = {(task, name): (exhibit, *pair) for name, pair in pairs.items() for exhibit, task in TASKS.items()}
        found = {key: row for key, of in wanted.items() if (row := change(rows, *of, f"{papers}: {key[1]}", relative))}
        if found:
            made[papers] = dict(zip(found, study.record(chapter, list(found.values())), strict=True))
    return made


def joint(chapter: Chapter, kinds: Mapping[str, Sequence[Result]], exhibit: str) -> Result | None:
    """Record and return what training on all tasks adds on real papers: Vanilla's average minus that of what it starts from.

    Args:
        kinds: as `studies` returns them.

    None where no training of both is recorded. A single training has no interval.
    """
    real = {papers: rows for papers, rows in kinds.items() if papers.startswith(REAL)}
    found = changes(chapter, real, {"joint": (FIVE[0], "Base")})
    return next((of.get((TASKS[exhibit], "joint")) for of in found.values()), None)


# ---- systems ---------------------------------------------------------------------------------------------------------


def score(
    task: Task, names: Sequence[str], metrics: Sequence[str] | None = None, similarity: str = "cosine", seed: int = 0,
    bounds: bool = True,
) -> list[Result]:  # fmt: skip
    """Return the rows of systems on a task, floor and ceiling among them where there are any, with bootstrap values.

    Args:
        names: as `load_system` takes them; TF-IDF and BM25 rank whole pools and label spaces too.
        metrics: the task's own unless given.
        similarity: of encoders' vectors, by cosine as the paper's baselines are (appendix B).
    """
    rows: list[Result] = []
    split = None if isinstance(task.payload, Triples) else "test"
    ends = [name for name in BOUNDS if bounds and (name != "oracle" or task.oracle is not None)]
    for name in [*names, *ends]:
        given = load_system(name).on(task, progress=progress(f"{task.name}: {name}"))
        how = None if name in BOUNDS or isinstance(given, PairScorer) else similarity
        rows += scoring.evaluate(task, given, metrics=metrics, similarity=how, split=split, name=name, seed=seed)
    return rows


def difference(first: Result, second: Result, metric: str = "", label: str = "", against: str = "") -> Result:
    """Return first minus second with the interval of draws that both share; how vectors are compared belongs to the system.

    Args:
        metric, label: how the difference and its systems are named, by the rows themselves unless given.
    """
    sides = replace(first, similarity=""), replace(second, similarity="", data_hash=first.data_hash)
    (gap,) = pairs.difference(*sides, metric, label, against)
    return gap


def differences(rows: Sequence[Result]) -> list[Result]:
    """Return the paired differences of every two systems on every task and metric; floor and ceiling take no part."""
    found: dict[tuple[str, str, str], dict[str, Result]] = {}
    for row in rows:
        if row.encoder not in BOUNDS and not row.against and row.replicates is not None:
            found.setdefault((row.task, row.split, row.metric), {})[row.encoder] = row
    return [difference(of[later], of[earlier]) for of in found.values() for earlier, later in combinations(of, 2)]


def changed(first: Iterable[Result], second: Iterable[Result], what: str, against: str) -> Iterator[Result]:
    """Yield first minus second, row by row, of the same systems scored in two ways on the same papers.

    Args:
        what: how the difference is named: `names and definitions, names alone`.
        against: how the second way is called.
    """
    other = {(row.task, row.encoder, row.metric): row for row in second}
    for row in first:
        match = other.get((row.task, row.encoder, row.metric))
        drawn = match is not None and row.replicates is not None and match.replicates is not None
        if match is not None and drawn and row.encoder not in BOUNDS:
            yield difference(row, match, f"{row.metric}, {what}", row.encoder, against)


def bare(rows: Iterable[Result]) -> list[Result]:
    """Return rows as they are recorded: without the values of single queries, and without bootstrap values."""
    return [replace(row, by_query={}, replicates=None) for row in rows]
