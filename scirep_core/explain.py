"""Where a number comes from: published table, recorded run, or the last book, with the command that gives it again."""

from __future__ import annotations

import difflib
import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.errors import ConfigError
from scirep_core.published import Printed, everything
from scirep_core.results import ROOT, Result, stored

MANY = 12


class Origin(NamedTuple):
    """A number and the file that holds it."""

    number: Result | Printed
    file: Path

    @property
    def where(self) -> str:
        """The file, relative to the checkout where it lies inside."""
        return str(self.file.relative_to(ROOT)) if self.file.is_relative_to(ROOT) else str(self.file)

    def to_json(self) -> dict[str, Any]:
        """Return the whole row, its file and, for our own numbers, the command that recomputes it."""
        if isinstance(self.number, Printed):
            return {"id": self.number.id, **self.number._asdict(), "file": self.where}
        return {**self.number.to_json(), "file": self.where, "recompute": recompute(self.number)}

    def text(self) -> str:
        """Return the origin as lines to read."""
        number = self.number
        if isinstance(number, Printed):
            spread = f" ± {number.std}" if number.std else ""
            lines = [
                f"{number.value}{spread}: printed in {number.exhibit} of {number.paper}, row {number.row}, column {number.column}"
            ]
            lines += [f"note: {number.note}"] if number.note else []
            return "\n".join([number.id, *lines, f"kept in: {self.where}"])
        bounds = "" if number.low is None else f" (95 % interval {number.low:.2f} to {number.high:.2f})"
        source = number.provenance
        lines = [
            number.id,
            f"value: {number.value:.6g}{bounds}, n = {number.n}, protocol {number.protocol}, split {number.split}",
            f"data: {number.source}, content hash {number.data_hash[:16]}; {number.pool or 'whole collection'}",
            f"encoder: {number.encoder or 'none'} {number.fingerprint}; {number.similarity}; {number.ties}",
            f"parameters: {json.dumps(number.parameters, sort_keys=True)}",
            f"code {source.get('code_version')}, versions {json.dumps(source.get('versions'))}, {source.get('device')}",
            f"seconds: {number.seconds if number.seconds is not None else 'not timed'}; seed {number.seed}",
            f"kept in: {self.where}",
            f"recompute: {recompute(number)}",
        ]
        return "\n".join(lines + ([f"note: {number.note}"] if number.note else []))


def recompute(row: Result) -> str:
    """Return the command that gives a result row again."""
    flags = " ".join(f"-p {k} {shlex.quote(str(v))}" for k, v in row.parameters.items() if str(v) != "")
    return f"scirep run notebooks/{row.chapter}.ipynb {flags} --rows rows.jsonl"


def find(text: str) -> list[Origin]:
    """Return the numbers whose id is `text`, else those whose id holds every part of it. Raises ConfigError if none."""
    folder = Path(__file__).resolve().parent / "published"
    origins = [Origin(p, folder / p.paper / f"{p.exhibit}.csv") for p in everything()]
    origins += [Origin(row, path) for row, path in stored()]
    exact = [origin for origin in origins if origin.number.id == text]
    if exact:
        return exact
    parts = text.replace(":", " ").split()
    partly = [origin for origin in origins if all(part in origin.number.id for part in parts)]
    if not partly:
        close = difflib.get_close_matches(text, [origin.number.id for origin in origins], n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else "Ids stand at the foot of every page"
        raise ConfigError(f"no number {text!r} in the published tables, results/ or the last book. {hint}")
    if len(partly) > MANY:
        some = "; ".join(origin.number.id for origin in partly[:3])
        raise ConfigError(f"{text!r} fits {len(partly)} numbers, e.g. {some}. Give more of the id")
    return partly
