"""`scirep data pairs`: training pairs of papers and labels, with hard negatives, from folders of MAPLE."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from scirep_core.kit.terminal import Json, print_json, say

EXAMPLES = (
    "Examples: scirep data pairs maple/Computer_Science --out mine/scimult/pretraining/cs_journal_train.json;  "
    "scirep data pairs maple/Biology_MeSH maple/Medicine_MeSH --out mine/scimult/pretraining/biomedicine_mesh_train.json"
)


def pairs(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Of MAPLE, with papers.json and labels.txt; read as one.")
    ],
    out: Annotated[Path, typer.Option(help="File to write, JSON lines in DPR's form; - is standard output.")],
    split: Annotated[str, typer.Option(help="train (papers up to 2015), test, or all.")] = "train",
    cap: Annotated[int, typer.Option(help="Pairs a label is in at most.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Of what is drawn.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Pair papers with their labels as SciMult does (3.1, A.2): a label in at most 100 pairs, and with each paper a label of
    a paper that it cites, of one of its authors or of its venue, which it does not have itself.

    A line a paper: question, positive_ctxs, hard_negative_ctxs. The file appears when it is whole.
    """
    from scirep_core.data.readers.maple_pairs import Report
    from scirep_core.data.readers.maple_pairs import pairs as made
    from scirep_core.kit.errors import CacheError, ConfigError
    from scirep_core.kit.store import atomic

    if as_json and str(out) == "-":
        raise ConfigError("--json would stand among the rows on standard output. Give --out a file")
    report = Report()
    try:
        with nullcontext(sys.stdout.buffer) if str(out) == "-" else atomic(out) as stream:
            for done, row in enumerate(made(folders, split, cap, seed, report), 1):  # type: ignore[arg-type]
                stream.write((json.dumps(row) + "\n").encode())
                if done % 10_000 == 0:
                    say(f"{done:,} of {report.papers:,} papers")
    except OSError as error:
        raise CacheError(f"{out}: cannot write ({error.strerror}). Free space or choose another place") from None
    if as_json:
        print_json({**report.__dict__, "hard": dict(report.hard)})
        return
    hard = ", ".join(f"{count:,} by {name or 'none'}" for name, count in report.hard.most_common())
    blank = f"; {report.blank:,} papers without a text left out" if report.blank else ""
    say(
        f"{report.pairs:,} pairs of {report.papers:,} papers and {report.labels:,} labels; "
        f"{report.dropped:,} over the cap of {cap}{blank}"
    )
    say(f"hard negatives: {hard}; {report.resolved:,} of {report.references:,} references are papers of these folders")
