"""`scirep score`: vectors, an encoder by name, or rankings on a task, a task folder or a whole suite."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scirep_core.cli.shared import argument, of_scoring, one_of, option, showing
from scirep_core.kit.errors import ConfigError, ScirepError
from scirep_core.kit.formats import PROTOCOLS, SIMILARITIES
from scirep_core.kit.terminal import Json, print_json, say, table, warn
from scirep_core.results import Result, published
from scirep_core.results import metrics as metrics_

if TYPE_CHECKING:
    from scirep_core.bench.given import Given
    from scirep_core.bench.scoring import Outcome
    from scirep_core.bench.systems import System

EXAMPLES = (
    "Examples: scirep score scirepeval --encoder minilm;  scirep score csfcube --rankings DIR;  "
    "scirep score scirepeval/fos --vectors my.npz --json;  scirep score scidocs --vectors DIR --source real;  "
    "scirep score my_task/ --vectors random"
)
NAMED = ("oracle", "random")


def score(
    task: Annotated[
        str,
        argument(
            "A task's name, such as csfcube/method, a task folder, or a suite: scirepeval (23 tasks and their "
            "average), scirepeval-v1, scidocs, mdcr, samples, embedded-all, open (26 tasks of real papers)."
        ),
    ],
    vectors: Annotated[
        str | None,
        option(
            ".npz, .parquet or .jsonl, of a suite with the ids of all its tasks; or a folder with a file a task "
            "(scirepeval__fos.npz or fos.npz) or a format (CLF, RGN, PRX, QRY.npz); or oracle, or random."
        ),
    ] = None,
    encoder: Annotated[
        str | None, option("minilm, tfidf, bm25 ..., a folder, org/model on the hub, a+b, a++b.")
    ] = None,
    rankings: Annotated[Path | None, option("Folder with official ranked-pool files (CSFCube).")] = None,
    source: Annotated[
        str, option("embedded, real, a folder, or auto: real for rankings and for one task's real ids.")
    ] = "auto",
    protocol: Annotated[str, option("paper or sound.")] = "paper",
    intercept: Annotated[
        bool, option("Probes of protocol paper; the published had none.", "--intercept/--no-intercept")
    ] = True,
    split: Annotated[str, option("test, dev, 64-shot, test/GROUP, task-I ...; all of them unless named.")] = "all",
    metrics: Annotated[str | None, option("Comma-separated, e.g. ndcg%10,map.")] = None,
    similarity: Annotated[str | None, option("How vectors are compared: l2, cosine, dot; default: the task's.")] = None,
    on_missing: Annotated[str, option("error, or drop rows without a vector.")] = "error",
    seed: Annotated[int, option("Of intervals and random vectors.", min=0)] = 0,
    papers: Annotated[int | None, option("embedded: size of the literature; 3000 unless named.")] = None,
    data_seed: Annotated[int, option("embedded: seed of the literature.", min=0)] = 0,
    partial: Annotated[
        bool, option("Of a suite: leave out tasks without vectors, average what is there.", "--partial")
    ] = False,
    again: Annotated[bool, option("Compute rows that are kept from an earlier run, too.", "--again")] = False,
    rows_file: Annotated[
        Path | None, option("Record the rows in this file too, in place of those of the same numbers.", "--rows")
    ] = None,
    as_json: Json = False,
) -> None:
    """Score vectors, an encoder or rankings, with coverage and a 95 % interval.

    Rows are kept: a second run computes only what is missing, and answers at once where nothing is.
    """
    from scirep_core.bench.score_cache import Question
    from scirep_core.bench.suites import SUITES, known
    from scirep_core.data import PAPERS
    from scirep_core.data.sources import check_size

    if sum(given is not None for given in (vectors, encoder, rankings)) != 1:
        raise ConfigError("give either --vectors FILE|DIR|oracle|random, or --encoder NAME, or --rankings DIR")
    if rankings is not None and not rankings.is_dir():  # before anything is fetched
        raise ConfigError(f"{rankings}: no such folder. Give the folder with the ranked-pool files")
    if rankings is not None and (similarity is not None or on_missing != "error"):
        given = "--similarity" if similarity is not None else "--on-missing"
        says = "goes with vectors: of --rankings the order counts, and what it leaves out is a warning"
        raise ConfigError(f"{given} {says}")
    one_of("protocol", protocol, PROTOCOLS)
    one_of("similarity", similarity, SIMILARITIES)
    one_of("on-missing", on_missing, ("error", "drop"))
    names = tuple(name.strip() for name in metrics.split(",")) if metrics else None
    metrics_.check_metrics(names or ())
    chosen = None if split in ("all", "both") else split
    question = Question(protocol, on_missing, seed, intercept, chosen, names, similarity)
    data = (source, PAPERS if papers is None else papers, data_seed)
    check_size(data[1])
    if task not in SUITES:
        known(task)
        rows = (
            _rankings(task, rankings, data, question)
            if rankings
            else _one(task, vectors, encoder, data, question, again)
        )
        _record(rows_file, task, rows)
        if as_json:
            print_json([row.to_json() for row in rows])
        else:
            _print_scores(rows)
        return
    of_one_task = {"--rankings": rankings, "--split": chosen, "--metrics": names, "--similarity": similarity}
    for name, used in of_one_task.items():
        if used is not None:
            raise ConfigError(f"{name} goes with one task; {task} is a suite of {len(SUITES[task])}")
    _suite(task, vectors, encoder, data, question, partial, again, as_json, rows_file)


def _record(path: Path | None, name: str, rows: Sequence[Result]) -> None:
    """Put rows into a file of recorded ones, under the command that gives them again."""
    from scirep_core.bench.studies.outcome import record

    if path is not None:
        words = [word for word in sys.argv[1:] if word not in ("--json", "--again", "--rows", str(path))]
        record(path, rows, f"suite/{name}", shlex.join(["scirep", *words, "--json"]))


# ------------------------------------------------------------------------------------------------------------ one task


def _one(
    name: str, vectors: str | None, encoder: str | None, data: tuple[str, int, int], question: Any, again: bool
) -> list[Result]:
    from scirep_core.bench import scoring
    from scirep_core.bench.given import Given, coverage
    from scirep_core.data import load_task
    from scirep_core.data.readers.csfcube import FacetCollection

    system = _system(vectors, encoder)
    source, papers, data_seed = data
    task = load_task(name, "embedded" if source == "auto" else source, papers, data_seed)
    if isinstance(system, Given) and not coverage(task, system.tables(task, "paper")).embedded:
        task = _other(name, system, task, source)
    if isinstance(task, FacetCollection):
        rows = _facets(task, system, vectors, question)
    else:
        if vectors == "oracle" and task.oracle is None:
            scoring.named_vectors(task, vectors, question.seed)  # says why not
        with showing() as show:
            outcome = scoring.attempt([task], system, source=task.source, papers=papers, data_seed=data_seed,
                                        question=question, again=again, progress=of_scoring(show))  # fmt: skip
        for error in outcome.failed.values():
            raise error
        rows = outcome.rows
    _warn(rows)
    return rows


def _other(name: str, system: Given, task: Any, source: str) -> Any:
    """Return the real task where vectors have none of the embedded one's ids and it is at hand.

    Raises ConfigError naming ids of both where these are not the real task's either, or that is not here.
    """
    from scirep_core.bench.given import coverage, strangers
    from scirep_core.data import TASKS, load_task
    from scirep_core.data.sources import away

    table = system.tables(task, "paper")
    message = f"{system.name}: {strangers(task, table)}"
    if source != "auto" or name not in TASKS or not table:
        raise ConfigError(f"{message}. Check the ids" + (", or --source" if name in TASKS else ""))
    if TASKS[name].reader != "csfcube" and away(
        name
    ):  # a long download: CSFCube is small, others are in a mirror or here
        raise ConfigError(f"{message}. If yours are the published ids, --source real fetches that data")
    try:
        real = load_task(name, "real")
    except ScirepError as error:
        raise ConfigError(f"{message}. The real data, which they might be of, cannot be read: {error}") from error
    if not coverage(real, system.tables(real, "paper")).embedded:
        raise ConfigError(f"{message}. Nor are they those of the real data")
    warn("the ids are not those of the embedded collection: scoring on the real one (--source real)")
    return real


def _system(vectors: str | None, encoder: str | None) -> System | Given:
    from scirep_core.bench.systems import as_system

    if encoder is not None:
        return as_system(encoder)
    assert vectors is not None
    return as_system(vectors if vectors in NAMED else Path(vectors))


def _facets(collection: Any, system: System | Given, vectors: str | None, question: Any) -> list[Result]:
    from scirep_core.bench import scoring
    from scirep_core.bench.given import Given

    if vectors not in NAMED and not isinstance(system, Given):
        hint = "see chapter csfcube/baselines, or give --vectors"
        raise ConfigError(f"{collection.name} asks for vectors or rankings a facet: {hint}")
    given: Any = system.tables(collection, "paper") if isinstance(system, Given) else vectors
    splits = ("dev", "test") if question.split is None else (question.split,)
    how = {key: value for key, value in question._asdict().items() if key not in ("split", "intercept")}
    return [row for s in splits for row in scoring.evaluate(collection, given, split=s, name=system.name, **how)]


def _rankings(name: str, rankings: Path, data: tuple[str, int, int], question: Any) -> list[Result]:
    from scirep_core.data import load_task
    from scirep_core.data.readers.csfcube import FacetCollection
    from scirep_core.evaluators import facets

    source, papers, data_seed = data
    collection = load_task(name, "real" if source == "auto" else source, papers, data_seed)
    if not isinstance(collection, FacetCollection):
        raise ConfigError(f"--rankings holds CSFCube's files; score {collection.name} with --vectors")
    called = rankings.resolve().name
    ranked, warnings = facets.read_rankings(rankings, list(dict.fromkeys(q.facet for q in collection.queries)))
    for line in [*warnings, *facets.check(collection, ranked, called)]:
        warn(f"warning: {line}")
    system = facets.System(called, ranked, similarity="order of the file")
    shared = {"metrics": question.metrics, "protocol": question.protocol, "seed": question.seed}
    splits = (question.split,) if question.split else ("dev", "test")
    return [row for split in splits for row in facets.evaluate(collection, system, split=split, **shared)]


def _warn(rows: Sequence[Result]) -> None:
    for row in {(r.task, r.split): r for r in rows if r.coverage != 1}.values():
        warn(f"warning: {row.task}, {row.split}: {row.pool} ({100 * (row.coverage or 0):.1f} %)")


def _print_scores(rows: list[Result]) -> None:
    lines = list(dict.fromkeys((r.task, r.split) for r in rows))
    metrics = list(dict.fromkeys(r.metric for r in rows))
    cell = {(r.task, r.split, r.metric): r for r in rows}
    first, last = rows[0], rows[-1]
    body = []
    for task, split in lines:
        found = [cell.get((task, split, metric)) for metric in metrics]
        n = next(row.n for row in found if row)
        body.append([f"{task} (n={n})", split, *(f"{row.value:.2f}" if row else "" for row in found)])
        body.append(["", "", *(_bounds(row) if row else "" for row in found)])
    title = f"{first.encoder} on {_sources(rows)} data, protocol {first.protocol}; 95 % intervals below"
    table(title, ["task", "split", *metrics], body)
    facts = (("scored", f"{last.pool} ({last.task})"), ("similarity", last.similarity), ("ties", last.ties))
    print("; ".join(f"{name}: {text}" for name, text in facts if text))
    for said in dict.fromkeys((row.split, row.note) for row in rows if row.note):
        print(": ".join(said))


def _sources(rows: Sequence[Result]) -> str:
    return ", ".join(dict.fromkeys(row.source for row in rows))


def _bounds(row: Result) -> str:
    return "" if row.low is None or row.high is None else f"{row.low:.1f}–{row.high:.1f}"


# --------------------------------------------------------------------------------------------------------------- suite


def _suite(
    name: str, vectors: str | None, encoder: str | None, data: tuple[str, int, int], question: Any, partial: bool,
    again: bool, as_json: bool, rows_file: Path | None,
) -> None:  # fmt: skip
    from scirep_core.bench import scoring
    from scirep_core.bench.given import Given
    from scirep_core.bench.suites import AVERAGED, averages, load_tasks

    system = _system(vectors, encoder)
    source, papers, data_seed = data
    source = "embedded" if source == "auto" else source
    tasks, unread = load_tasks(name, source, papers, data_seed)
    if isinstance(system, Given) and tasks:
        tasks, unreadable = _covered(system, tasks, source, question.on_missing == "drop", partial)
        unread |= unreadable
    with showing() as show:
        outcome = scoring.attempt(tasks, system, source=source, papers=papers, data_seed=data_seed,
                                    question=question, again=again, progress=of_scoring(show))  # fmt: skip
    outcome = outcome._replace(failed=unread | outcome.failed)
    _warn(outcome.rows)
    means: list[Result] = []
    lacking = ""
    if name in AVERAGED and outcome.rows:
        version, splits = AVERAGED[name]
        try:
            means = averages(outcome.rows, version, partial, splits)
        except ConfigError as error:
            lacking = f"{error} (--partial)"
    short = [row.parameters["lowest_coverage"] for row in means if "lowest_coverage" in row.parameters]
    if short:
        warn(f"warning: {means[0].task}: papers are missing, {100 * min(short):.1f} % are there of the worst unit: "
            "no number to compare with one of all papers")  # fmt: skip
    _record(rows_file, name, [*outcome.rows, *means])
    if as_json:
        print_json([row.to_json() for row in (*outcome.rows, *means)])
    elif outcome.rows:
        _print_suite(name, outcome, means)
    if unsuited := outcome.unsuited:
        warn(f"{system.name} cannot be scored on {len(unsuited)} of {len(tasks)} tasks: {', '.join(unsuited)}")
    if outcome.failed:
        raise ScirepError(scoring.failure(outcome))
    if lacking:
        warn(lacking)


def _covered(
    system: Given, tasks: list[Any], source: str, drop: bool, partial: bool
) -> tuple[list[Any], dict[str, Exception]]:
    """Report which ids have vectors; return the tasks that can be scored, and of others whose file is bad, why.

    Raises ConfigError unless all or some may be scored.
    """
    from scirep_core.bench.given import coverage

    unread: dict[str, Exception] = {}
    found = []
    for task in tasks:
        try:
            found.append((task, coverage(task, system.tables(task, "paper"))))
        except ScirepError as error:
            unread[task.name] = error
    there, required = sum(one.embedded for _, one in found), sum(one.required for _, one in found)
    if not there and unread:
        raise next(iter(unread.values()))
    if not there:
        raise ConfigError(f"{system.name} holds none of the {required} ids of the {len(found)} tasks ({source} data). "
                          "Check the ids, or the data source: --source real reads the published tasks")  # fmt: skip
    gaps = [one for _, one in found if one.embedded < one.required]
    say(f"vectors: {there} of {required} ids of {len(found)} tasks")
    for one in gaps:
        warn(f"  {one.task}: {one.embedded} of {one.required}, missing {', '.join(one.missing)}"
            f"{' ...' if one.required - one.embedded > len(one.missing) else ''}")  # fmt: skip
    ready = [task for task, one in found if one not in gaps or (drop and one.embedded)]
    if len(ready) < len(found) and not partial:
        lacking = f"{len(found) - len(ready)} of {len(found)} tasks lack vectors, listed above"
        without = "--on-missing drop leaves out papers, --partial whole tasks"
        raise ConfigError(f"{lacking}. Encode them, or score without: {without}")
    return ready, unread


def _print_suite(name: str, outcome: Outcome, averages: Sequence[Result]) -> None:
    from scirep_core.bench import score_cache

    first, source = outcome.rows[0], _sources(outcome.rows)
    shown = [row for row in outcome.rows if "/" not in row.split]  # groups have rows of their own in the JSON
    lines = [[row.task, row.split, row.metric, f"{row.value:.2f}", _bounds(row), str(row.n)] for row in shown]
    title = f"{first.encoder} on {name}, {source} data, protocol {first.protocol}"
    table(title, ["task", "split", "metric", "value", "95 % interval", "n"], lines)
    if averages:
        lines = [[row.split, f"{row.value:.2f}", _bounds(row), str(row.n)] for row in averages if "/" not in row.split]
        table(f"averages ({averages[0].task})", ["average", "value", "95 % interval", "units"], lines)
        print(*dict.fromkeys(row.note for row in averages if row.note), _beside(averages[0].task, source), sep="\n")
    now, scored = len(outcome.computed), len({row.task for row in outcome.rows})
    print(f"{now} tasks scored now, {scored - now} kept from before, in {score_cache.folder()}")


def _beside(average: str, source: str) -> str:
    """Return one line that says what the averages may be compared with."""
    if "embedded" in source:
        return ("The embedded literature is invented: compare with its floor and ceiling (--vectors random, oracle), "
                "not with published numbers.")  # fmt: skip
    if average.startswith("open/"):
        return "Real papers of the open literature: compare with systems that were scored on them, not with published numbers."
    printed = published.lookup(exhibit := "V2-T2" if average.endswith("v2") else "V1-T2")
    models = [model for model in ("SciBERT", "SPECTER", "SciNCL", "SPECTER2 Adapters") if (model, "Average") in printed]
    entries = [f"{model} {' / '.join(p.value for (row, _), p in printed.items() if row == model)}" for model in models]
    columns = " / ".join(dict.fromkeys(column for _, column in printed))
    return f"Published on the full data ({exhibit}; {columns}): {'; '.join(entries)}"
