"""`scirep diff`: the first field in which two results differ, or the first line in which two sites do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scirep_core.cli.shared import argument, option
from scirep_core.kit.terminal import Json, print_json

if TYPE_CHECKING:
    from scirep_core.book.diff import First, Found, Rows

EXAMPLES = (
    "Examples: scirep diff results/real/csfcube/baselines.jsonl rows.jsonl;  "
    "scirep diff results/embedded build/html --tolerance 0.01;  scirep diff build/before build/html"
)
MOST = 3
"""How many names a line shows."""


def diff(
    a: Annotated[
        Path, argument("Result rows (.jsonl, .jsonl.gz, an array in .json), a folder of them, a built site, or a page.")
    ],
    b: Annotated[Path, argument("What it is compared with.")],
    tolerance: Annotated[float, option("Numbers this near are equal (on the 0-100 scale).")] = 0.0,
    everything: Annotated[
        bool, option("Compare what says when and how fast too: seconds, provenance.", "--all")
    ] = False,
    rows: Annotated[bool, option("Of two sites compare the result rows alone.", "--rows")] = False,
    as_json: Json = False,
) -> None:
    """Name the first field in which two results differ, and count the rest; exit code 0 equal, 1 different, 2 bad input.

    Rows are matched by id; an executed chapter's .data folder, results/PROFILE and a built site all hold rows. Two built
    sites are compared file by file, their rows as rows; pages tell timings, which no two runs share: see --rows.
    """
    from scirep_core.book.diff import compare

    found = compare(a, b, tolerance, everything, rows)
    if as_json:
        print_json(_json(a, b, found))
    else:
        print("\n".join(_text(a, b, found)))
    raise typer.Exit(0 if found.equal else 1)


def _json(a: Path, b: Path, found: Found) -> dict[str, Any]:
    of = found.rows
    rows = of and {**of._asdict(), "first": of.first and of.first._asdict(), "equal": of.equal}
    files = {"same": found.same, "only_a": found.only_a, "only_b": found.only_b}
    return {"a": str(a), "b": str(b), "equal": found.equal, "rows": rows,
            "files": {**files, "parted": [one._asdict() for one in found.parted]}}  # fmt: skip


def _text(a: Path, b: Path, found: Found) -> list[str]:
    lines = [f"A: {a}", f"B: {b}"]
    if found.same or found.parted or found.only_a or found.only_b:
        lines.append(f"files: {found.same:,} the same, {len(found.parted):,} differ")
        lines += _alone("files", found.only_a, found.only_b)
        for one in found.parted[:MOST]:
            where = f"line {one.line}" if one.line else "no text"
            lines += [f"{one.file}, {where}:", f"  A: {one.a}", f"  B: {one.b}"]
        lines += _names("and", [one.file for one in found.parted[MOST:]])
    if found.rows is not None:
        lines += _of_rows(found.rows)
    return [*lines, "equal" if found.equal else "different"]


def _of_rows(rows: Rows) -> list[str]:
    counts = ", ".join(f"{name} in {n:,}" for name, n in rows.fields.items())
    lines = [f"rows: {rows.both:,} in both, {rows.different:,} differ{f' ({counts})' if counts else ''}"]
    lines += _alone("rows", rows.only_a, rows.only_b)
    for side, twice in (("A", rows.twice_a), ("B", rows.twice_b)):
        lines += _names(f"ids that {side} holds more than once, matched one by one", list(twice))
    if rows.first:
        lines += _first(rows.first)
    if rows.apart:
        lines.append(f"not compared, but other: {', '.join(f'{name} in {n:,} rows' for name, n in rows.apart.items())}")
    return lines


def _first(first: First) -> list[str]:
    how = ""
    if first.by is not None:
        share = f", {abs(first.by / first.a):.2g} of it" if first.a else ""
        how = f": B is {abs(first.by):.6g} {'higher' if first.by > 0 else 'lower'}{share}"
    return [f"first: {first.id}", f"  at {first.at[0]} and {first.at[1]}",
            f"  {first.field}: {_shown(first.a)} in A, {_shown(first.b)} in B{how}"]  # fmt: skip


def _shown(value: Any) -> str:
    return "nothing" if value is None or value == "" else json.dumps(value, ensure_ascii=False)


def _alone(what: str, a: Sequence[str], b: Sequence[str]) -> list[str]:
    return [line for side, names in (("A", a), ("B", b)) for line in _names(f"{what} only in {side}", names)]


def _names(what: str, names: Sequence[str]) -> list[str]:
    more = [f"  and {len(names) - MOST:,} more"] if len(names) > MOST else []
    return [f"{what}: {len(names):,}", *(f"  {name}" for name in names[:MOST]), *more] if names else []
