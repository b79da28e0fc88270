"""`scirep bench`: how fast this machine encodes, beside sentence-transformers and the usual loop, in one interleaved run."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from scirep_core.cli.shared import option
from scirep_core.kit.store import home
from scirep_core.kit.terminal import Json, print_json, say, table
from scirep_core.results import write_results

EXAMPLES = (
    "Examples: scirep bench --rounds 3;  scirep bench --model MY_FOLDER --texts my_texts.txt --threads 4;  "
    "scirep bench --model bert-base --texts filled --ways 'ours, float32' --out race.jsonl"
)


def bench(
    model: Annotated[str, option("An encoder by name or folder, or a shape of random weights: bert-base.")] = "minilm",
    texts: Annotated[
        str,
        option(
            "abstracts (real, of the samples), embedded (invented), filled (random words), or a file, a text a line. "
            "Abstracts unless given, or embedded where they are not at hand."
        ),
    ] = "",
    number: Annotated[int, option("Most texts that are encoded.", min=1)] = 1024,
    lengths: Annotated[int, option("Tokens kept of a text; filled texts have as many.", min=3)] = 512,
    rounds: Annotated[int, option("Each way runs once in each, and once before the clock.", min=1)] = 5,
    threads: Annotated[int, option("Of a CPU; 0: one a core.", min=0)] = 0,
    ways: Annotated[str, option("Which, with semicolons between; all that can run unless given.")] = "",
    out: Annotated[Path | None, option("File of the rows; unless given, one in SCIREP_HOME.")] = None,
    as_json: Json = False,
) -> None:
    """Measure how fast an encoder runs here, each way in turn, round after round.

    Printed: how many times as fast as the first way, the least and the greatest round beside it; and the share of what this
    machine's matrix products allow. The ratio is a property of the machine as much as of the code. Measure an idle one.
    """
    from scirep_core.bench.speed import race

    source, given = race.texts_of(texts, number, lengths)
    command = shlex.join(["scirep", *sys.argv[1:]])
    rows = race.race(
        model, given, source, names=[name.strip() for name in ways.split(";") if name.strip()], rounds=rounds, max_length=lengths,
        threads=threads or len(os.sched_getaffinity(0)), progress=say,
    )  # fmt: skip
    rows = [replace(row, parameters={**row.parameters, "command": command}) for row in rows]
    about = rows[0].parameters
    name = f"{Path(model).name}-{Path(texts or source).stem}-{about['device'].replace(':', '')}"
    path = out or home() / "bench" / f"{name}.jsonl"
    write_results(path, rows)
    for way in race.LANES:
        if way not in {row.encoder for row in rows}:
            say(f"{way}: not run")
    if as_json:
        print_json([row.to_json() for row in rows])
    else:
        cells = {(row.encoder, row.metric): row for row in rows}

        def told(way: str, metric: str, form: str) -> str:
            return format(cells[way, metric].value, form)

        def times(way: str) -> str:
            row = cells[way, race.TIMES]
            return f"{row.value:.2f}" + (f" [{row.low:.2f}, {row.high:.2f}]" if row.low is not None else "")

        body = [
            [way, told(way, race.RATE, ",.1f"), times(way), told(way, race.SHARE, ".0f"), told(way, race.PADDING, ".0f"),
             told(way, race.APART, ".0e")]
            for way in dict.fromkeys(row.encoder for row in rows)
        ]  # fmt: skip
        columns = ["way", "texts/s", "times as fast", "matrix share, %", "padding, %", "1 - cosine"]
        shown = (
            f"{model}: {rows[0].n:,} texts ({source}), {about['mean_tokens']:.0f} tokens on average, {rounds} rounds"
        )
        where = f"{about['machine']}, {about['threads']} threads, attention: {about.get('attention', 'of the GPU')}"
        table(f"{shown}; {where}", columns, body)
    say(f"rows: {path}")
