"""`scirep perturb`: papers in, their textual neighbours out, a line at a time."""

from __future__ import annotations

import codecs
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Annotated, Any

from scirep_core.cli.shared import option
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.records import field, parse_line, raw_lines
from scirep_core.kit.terminal import Json, bar, print_json, table, warn

EXAMPLES = (
    "Examples: scirep perturb --code T_ARot < papers.jsonl > neighbours.jsonl;  "
    "scirep perturb --code all --seed 3 < papers.jsonl > all32.jsonl;  scirep perturb --list"
)
STDIN = Path("standard input")
ALL = "all"
Lines = Iterable[tuple[int, bytes]]
"""Lines with their numbers, from 1."""


def perturb(
    code: Annotated[str, option("T_ARot, T_ADelNN ..., several with commas, or all 32: a line for each.")] = "",
    seed: Annotated[int, option("Of the codes that draw; each paper and code draws by itself.")] = 0,
    variant: Annotated[
        str, option("default, or literal: what the paper's code does, where that is no sensible reading.")
    ] = "default",
    tools: Annotated[
        str, option("auto, nltk (needs NLTK_DATA) or fallback: who finds sentences, tags, phrases, antonyms.")
    ] = "auto",
    corpus: Annotated[
        Path | None, option("Papers whose noun phrases are ranked for T_ADelTopNNPH; default: the input.")
    ] = None,
    list_codes: Annotated[bool, option("Print the codes and what they do.", "--list")] = False,
    as_json: Json = False,
) -> None:
    """Read papers {paper_id, title, abstract} and write their textual neighbours {paper_id, code, applies, title, abstract}.

    One line in, one line out for each code. Where a code does not apply, applies is false, the texts are null, and reason
    says why. T_ADelTopNNPH reads the whole corpus before the first line comes out; all others stream.
    """
    from scirep_core.data.perturbations import PERTURBATIONS, TOP, VARIANTS, perturbation
    from scirep_core.data.perturbations.linguistics import find_tools

    if list_codes:
        _list(as_json)
        return
    codes = list(PERTURBATIONS) if code == ALL else [name.strip() for name in code.split(",") if name.strip()]
    if not codes:
        raise ConfigError("give --code, such as --code T_ARot or --code all; scirep perturb --list names the 32")
    for name in codes:
        perturbation(name)
    if variant not in VARIANTS:
        raise ConfigError(f"--variant {variant!r}: {' or '.join(VARIANTS)}")
    found = find_tools(tools)
    if found.missing:
        warn(f"scirep: {found.say()}")
    with tempfile.TemporaryFile() as spool:
        lines: IO[bytes] = sys.stdin.buffer
        top = None
        if TOP in codes and corpus:
            top = _top(raw_lines(corpus), corpus, found)
        elif TOP in codes:  # the input is read twice
            shutil.copyfileobj(lines, spool)
            spool.seek(0)
            top = _top(_numbered(spool), STDIN, found)
            spool.seek(0)
            lines = spool
        for row in _neighbours(_numbered(lines), codes, found, {"seed": seed, "variant": variant, "top": top}):
            print(json.dumps(row))


def _numbered(stream: IO[bytes]) -> Lines:
    """Return the lines of standard input as `records.raw_lines` returns a file's: without the mark that Windows adds."""
    return ((n, line.removeprefix(codecs.BOM_UTF8) if n == 1 else line) for n, line in enumerate(stream, 1))


def _neighbours(lines: Lines, codes: list[str], tools: Any, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    from scirep_core.data.perturbations import perturb as change
    from scirep_core.data.perturbations.changes import Parsed

    for paper_id, title, abstract in _papers(lines, STDIN, "perturbing"):
        parsed = Parsed(title, tools), Parsed(abstract, tools)
        for code in codes:
            row = change(paper_id, *parsed, code, **options)._asdict()
            if row["applies"]:
                del row["reason"]
            yield row


def _top(lines: Lines, path: Path, tools: Any) -> frozenset[str]:
    from scirep_core.data.perturbations import top_phrases
    from scirep_core.data.perturbations.changes import Parsed

    return top_phrases(Parsed(abstract, tools).phrases for _, _, abstract in _papers(lines, path, "ranking phrases"))


def _papers(lines: Lines, path: Path, doing: str) -> Iterator[tuple[str, str, str]]:
    """Yield (paper_id, title, abstract); a title or abstract that is null or not there is empty."""
    for number, raw in bar(lines, doing, unit=" papers", delay=2):
        if not raw.strip():
            continue
        row = parse_line(raw, path, number)
        paper_id = str(field(row, "paper_id", (str, int), path, number))
        texts = []
        for name in ("title", "abstract"):
            text = row.get(name)
            if text is not None and not isinstance(text, str):
                raise DataError(path, number, f"field {name!r} must be str or null, found {text!r:.60}")
            texts.append(text or "")
        yield paper_id, texts[0], texts[1]


def _list(as_json: bool) -> None:
    from scirep_core.data.perturbations import LITERAL, MORE, PERTURBATIONS

    rows = [
        {"code": code, "category": known.category, "title": known.title, "abstract": known.abstract, "random": known.random,
         "literal_variant": code in LITERAL}
        for code, known in (PERTURBATIONS | MORE).items()
    ]  # fmt: skip
    if as_json:
        print_json(rows)
        return
    columns = ["code", "category", "title", "abstract", "random", "literal variant"]
    table("The 32 textual neighbours" + f", and {len(MORE)} more" * bool(MORE), columns,
          [[str(value) if not isinstance(value, bool) else "yes" * value for value in row.values()] for row in rows])  # fmt: skip
