"""`scirep data overlap`: which evaluation papers, queries and judged pairs a training set has shown."""

from __future__ import annotations

from typing import Annotated

import typer

from scirep_core.kit.terminal import Json, print_json, say, table, warn

EXAMPLES = (
    "Examples: scirep data overlap scirepeval/cite_prediction scirepeval/scidocs_cite;  "
    "scirep data overlap my_triplets.jsonl scirepeval/relish csfcube --source real --json"
)


def overlap(
    train: Annotated[
        str,
        typer.Argument(
            help="A training set by name, a task of type triplets, or a file of triplets or papers (.jsonl, .parquet)."
        ),
    ],
    evaluation: Annotated[
        list[str], typer.Argument(metavar="EVAL...", help="Tasks, task folders, or files of papers.")
    ],
    source: Annotated[str, typer.Option(help="Of named tasks: embedded, real, or a folder.")] = "embedded",
    papers: Annotated[int, typer.Option(help="embedded: size of the literature.", min=300)] = 3000,
    seed: Annotated[int, typer.Option(help="embedded: seed of the literature.", min=0)] = 0,
    examples: Annotated[int, typer.Option(help="How many of the first seen to name.", min=0, max=1000)] = 3,
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

    columns = [
        "task",
        "papers seen",
        "queries seen",
        "pairs, both seen",
        "pairs trained on",
        "relevant pairs trained on",
    ]
    table(f"Shown by {train}, {found[0].rows:,} rows", columns, [line(one) for one in found])
    for one in found:
        if one.papers.first:
            print(f"{one.task}: seen are {', '.join(one.papers.first)}{' ...' if one.papers.seen > examples else ''}")
        if one.other_title.seen:
            warn(
                f"warning: {one.task}: {one.other_title.seen:,} ids stand for other titles in {train}: not counted as seen"
            )
