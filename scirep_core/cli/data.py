"""`scirep data`: the collections listed, fetched and checked; what a training set has shown of them, and its pairs."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from scirep_core.cli.shared import argument, option
from scirep_core.kit.errors import CacheError, ConfigError, check_name
from scirep_core.kit.store import atomic, home
from scirep_core.kit.terminal import Json, print_json, say, table, warn

app = typer.Typer(no_args_is_help=True, help="The collections: list, get, verify.", rich_markup_mode=None)


@app.command("list", epilog="Example: scirep data list --json")
def data_list(as_json: Json = False) -> None:
    """List the collections, their licences, and what is here."""
    from scirep_core.data.manifests import catalogue

    rows = catalogue()
    if as_json:
        print_json(rows)
        return
    columns = ["name", "state", "verified", "files", "bytes", "licence", "title"]
    shown = [row | {"bytes": row["bytes"] or "unknown"} for row in rows]
    table("Collections", columns, [[str(row[c]) for c in columns] for row in shown])


@app.command(
    "get",
    epilog="Examples: scirep data get csfcube;  scirep data get scirepeval/fos scirepeval/search;  "
    "scirep data get embedded --papers 3000 --seed 0 --out tasks;  scirep data get open",
)
def data_get(
    names: Annotated[
        list[str], argument("Collections to fetch, tasks (what they read of theirs), `open`, or `embedded`.")
    ],
    papers: Annotated[int, option("embedded: size of the literature.")] = 3000,
    seed: Annotated[int, option("embedded: seed.", min=0)] = 0,
    out: Annotated[Path | None, option("embedded: folder to write task folders to.")] = None,
) -> None:
    """Fetch collections and verify every byte; `embedded` writes the invented ones, every task as a folder.

    `open` stands for the nine collections of open papers, open_..., which are made from public files where no mirror has them.
    """
    from scirep_core.data import TASKS, write_embedded
    from scirep_core.data.manifests import fetch, list_manifests, local_folder
    from scirep_core.data.open import PREFIX, folder
    from scirep_core.data.sources import real_parts

    collections, names = list_manifests(), _each(names)
    known = [*collections, "embedded", "open", *TASKS]
    for name in names:
        check_name("collection", name, known)
        if out and name != "embedded":
            place = local_folder(name if name in collections else TASKS[name].manifest)
            raise ConfigError(f"--out is of `embedded` alone: {name} has its place, {place}. Leave --out out")
    for name in names:
        if name == "embedded":
            embedded = out or home() / "embedded" / f"tasks-{papers}-{seed}"
            write_embedded(embedded, papers, seed, say)
            print(embedded)
            continue
        if name in collections and name.startswith(PREFIX):
            print(folder(name.removeprefix(PREFIX), say))
            continue
        whole: dict[str, tuple[str, ...]] = {name: ()}
        for collection, parts in (whole if name in collections else real_parts(TASKS[name])).items():
            print(fetch(collection, say, parts=parts))


def _each(names: list[str]) -> list[str]:
    from scirep_core.data.open import PREFIX, SOURCES

    return [one for name in names for one in ([PREFIX + source for source in SOURCES] if name == "open" else [name])]


@app.command("verify", epilog="Examples: scirep data verify csfcube;  scirep data verify MY_TASK_FOLDER")
def data_verify(
    names: Annotated[list[str], argument("Collections, `open`, tasks, or task folders.")],
    source: Annotated[str, option("Of tasks: embedded, real, or a folder.")] = "embedded",
    as_json: Json = False,
) -> None:
    """Check collections byte for byte, tasks and task folders for what they say they are; exit code 2 if one is not.

    Of a task: every id has a text, splits are disjoint, no test text nearly repeats a training text, every query has
    something relevant, counts are those printed. Malformed files are named with their line.
    """
    from scirep_core.data.manifests import list_manifests, verify

    found: list[tuple[str, str, str]] = []
    names = _each(names)
    for name in names:
        checked = verify(name) if name in list_manifests() else _task_findings(name, source)
        found += [(name, what, state) for what, state in checked]
    bad = [row for row in found if row[2] != "ok"]
    if as_json:
        print_json([{"collection": n, "path": p, "state": s} for n, p, s in found])
    else:
        for name, path, state in bad:
            print(f"{name}: {path}: {state}")
        print(f"{len(found) - len(bad)} of {len(found)} files and checks are right")
    if bad:
        fetched = " ".join(name for name in names if name in list_manifests())
        remedy = f". Run `scirep data get {fetched}`" if fetched else "; they are listed above"
        raise ConfigError(f"{len(bad)} of {len(found)} files or checks are not as they should be{remedy}")


def _task_findings(name: str, source: str) -> list[tuple[str, str]]:
    """Return (check, ok or what is wrong) of a task; reading it refuses what is malformed."""
    from scirep_core.data import load_task
    from scirep_core.data.task import Task
    from scirep_core.data.validate import CHECKS, validate

    task = load_task(name, source)
    findings = validate(task) if isinstance(task, Task) else []
    wrong = {check: "; ".join(f.reason for f in findings if f.check == check) for check in CHECKS}
    return [("format", "ok"), *((check, wrong[check] or "ok") for check in CHECKS)]


@app.command(
    epilog="Examples: scirep data overlap scirepeval/cite_prediction scirepeval/scidocs_cite;  "
    "scirep data overlap my_triplets.jsonl scirepeval/relish csfcube --source real --json"
)
def overlap(
    train: Annotated[
        str,
        argument(
            "A training set by name, a task of type triplets, or a file of triplets or papers (.jsonl, .parquet)."
        ),
    ],
    evaluation: Annotated[list[str], argument("Tasks, task folders, or files of papers.", metavar="EVAL...")],
    source: Annotated[str, option("Of named tasks: embedded, real, or a folder.")] = "embedded",
    papers: Annotated[int, option("embedded: size of the literature.", min=300)] = 3000,
    seed: Annotated[int, option("embedded: seed of the literature.", min=0)] = 0,
    examples: Annotated[int, option("How many of the first seen to name.", min=0, max=1000)] = 3,
    as_json: Json = False,
) -> None:
    """Count what of the evaluation a training set has shown: by id, and by title without case, punctuation and space.

    Of each task: papers; queries; judged pairs of which both sides were shown; judged pairs that are training pairs.
    The training set is streamed and may have millions of rows.
    """
    from scirep_core.data.overlap import Overlap, Share, check

    found = check(train, evaluation, source, papers, seed, examples, say)
    if as_json:
        print_json([one.to_json() for one in found])
        return

    def cell(share: Share) -> str:
        return f"{share.seen:,} of {share.of:,} ({share.percent:.1f} %)" if share.of else "-"

    def line(one: Overlap) -> list[str]:
        return [one.task, *map(cell, (one.papers, one.queries, one.both_seen, one.trained_on, one.as_positive))]

    pairs_ = ("pairs, both seen", "pairs trained on", "relevant pairs trained on")
    columns = ["task", "papers seen", "queries seen", *pairs_]
    table(f"Shown by {train}, {found[0].rows:,} rows", columns, [line(one) for one in found])
    for one in found:
        if one.papers.first:
            print(f"{one.task}: seen are {', '.join(one.papers.first)}{' ...' if one.papers.seen > examples else ''}")
        if other := one.other_title.seen:
            warn(f"warning: {one.task}: {other:,} ids stand for other titles in {train}: not counted as seen")


@app.command(
    epilog="Examples: scirep data pairs maple/Computer_Science --out mine/scimult/pretraining/cs_journal_train.json;  "
    "scirep data pairs maple/Biology_MeSH maple/Medicine_MeSH --out mine/scimult/pretraining/biomedicine_mesh_train.json"
)
def pairs(
    folders: Annotated[
        list[Path], argument("Of MAPLE, with papers.json and labels.txt; read as one.", metavar="FOLDER...")
    ],
    out: Annotated[Path, option("File to write, JSON lines in DPR's form; - is standard output.")],
    split: Annotated[str, option("train (papers up to 2015), test, or all.")] = "train",
    cap: Annotated[int, option("Pairs a label is in at most.", min=1)] = 100,
    seed: Annotated[int, option("Of what is drawn.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Pair papers with their labels as SciMult does (3.1, A.2): a label in at most 100 pairs, and with each paper a label of
    a paper that it cites, of one of its authors or of its venue, which it does not have itself.

    A line a paper: question, positive_ctxs, hard_negative_ctxs. The file appears when it is whole.
    """
    from scirep_core.data.readers.maple import Report
    from scirep_core.data.readers.maple import pairs as made

    if as_json and str(out) == "-":
        raise ConfigError("--json would stand among the rows on standard output. Give --out a file")
    report = Report()
    try:
        with nullcontext(sys.stdout.buffer) if str(out) == "-" else atomic(out) as stream:
            for done, row in enumerate(made(folders, split, cap, seed, report), 1):  # type: ignore[arg-type]
                stream.write((json.dumps(row) + "\n").encode())
                if done % 10_000 == 0:
                    say(f"{done:,} of {report.papers:,} papers")
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CacheError(f"{out}: cannot write ({error.strerror}). Free space or choose another place") from None
    if as_json:
        print_json({**report.__dict__, "hard": dict(report.hard)})
        return
    hard = ", ".join(f"{count:,} by {name or 'none'}" for name, count in report.hard.most_common())
    blank = f"; {report.blank:,} papers without a text left out" if report.blank else ""
    read = f"{report.pairs:,} pairs of {report.papers:,} papers and {report.labels:,} labels"
    say(f"{read}; {report.dropped:,} over the cap of {cap}{blank}")
    say(f"hard negatives: {hard}; {report.resolved:,} of {report.references:,} references are papers of these folders")
