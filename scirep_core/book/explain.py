"""Where a number comes from: published table, recorded run, or the last book, with the command that gives it again."""

from __future__ import annotations

import difflib
import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.kit.errors import ConfigError
from scirep_core.page.parameters import flags
from scirep_core.results import ROOT, Result, stored
from scirep_core.results.published import FOLDER, Printed, everything

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
            place = f"{number.exhibit} of {number.paper}, row {number.row}, column {number.column}"
            note = [f"note: {number.note}"] if number.note else []
            lines = [number.id, f"{number.value}{spread}: printed in {place}", *note, f"kept in: {self.where}"]
            return "\n".join(lines)
        bounds = "" if number.low is None else f" (95 % interval {number.low:.2f} to {number.high:.2f})"
        source = number.provenance
        reads = source.get("reads")
        lines = [
            number.id,
            f"value: {number.value:.6g}{bounds}, n = {number.n}, protocol {number.protocol}, split {number.split}",
            f"data: {number.source}, content hash {number.data_hash[:16]}; {number.pool or 'whole collection'}",
            f"encoder: {number.encoder or 'none'} {number.fingerprint}; {number.similarity}; {number.ties}",
            *([f"reads: {json.dumps(reads, ensure_ascii=False)}"] if reads else []),
            f"parameters: {json.dumps(number.parameters, sort_keys=True)}",
            f"code {source.get('code_version')}, versions {json.dumps(source.get('versions'))}, {source.get('device')}",
            f"seconds: {number.seconds if number.seconds is not None else 'not timed'}; seed {number.seed}",
            f"kept in: {self.where}",
            f"recompute: {recompute(number)}",
            *([f"note: {number.note}"] if number.note else []),
        ]
        return "\n".join(lines)


def recompute(row: Result) -> str:
    """Return the command that gives a result row again."""
    if "command" in row.parameters:  # of a timing: it is the command that was run
        return str(row.parameters["command"])
    if row.chapter.startswith("study/"):
        return _of_study(row)
    if row.chapter.startswith("submitted/"):
        return _of_submission(row)
    return f"scirep run notebooks/{row.chapter}.ipynb {flags(row.parameters)} --rows rows.jsonl"


def _of_study(row: Result) -> str:
    """Return the command for a row of a study: one training, or as many as its mean is of; what is not trained is scored."""
    from scirep_core.bench.studies.tables import study

    given, name = row.parameters, row.chapter.removeprefix("study/")
    if name == "rates":  # a trial of a learning rate comes before the training that it serves
        pilot = shlex.quote(row.encoder)
        return f"scirep study main --variants {pilot} --source {row.source} --base {given['base']} --seed 0 --out rows.jsonl"
    of = study(name)
    whole = row.task if row.metric != "average" else _suite_of(row)
    if row.encoder in of.references:
        what = f"--vectors {row.encoder}" if row.encoder in ("random", "oracle") else f"--encoder {row.encoder}"
        words = [f"scirep score {whole} {what} --protocol {row.protocol}"]
        words += [f"--papers {given['papers']}"] if "papers" in given else []
        words += [f"--data-seed {given['data_seed']}"] if given.get("data_seed") else []
        return " ".join([*words, "--partial --json"])
    efficiency = name == "efficiency"
    base, budget = given.get("base", of.bases[0]), given.get("budget", of.budget)
    asked = {
        "--variants": given.get("variant"), "--bases": base if base != of.bases[0] or of.bases[1:] else None,
        "--widths": given["width"] if of.widths else None, "--seed": given.get("training_seed"), "--seeds": given.get("trainings"),
        "--tasks": whole if whole != of.tasks and not efficiency else None,
        "--protocol": row.protocol if row.protocol != "paper" and not efficiency else None,
        "--budget": budget if budget != of.budget else None,
    }  # fmt: skip
    words = [f"{flag} {shlex.quote(str(value))}" for flag, value in asked.items() if value is not None]
    words += [f"--set {key}={shlex.quote(_word(value))}" for key, value in given.get("settings", {}).items()]
    return " ".join([f"scirep study {name}", *words, "--out rows.jsonl"])


def _suite_of(row: Result) -> str:
    from scirep_core.bench.suites import AVERAGED, AVERAGES

    return next((suite for suite, (version, _) in AVERAGED.items() if AVERAGES[version] == row.task), row.task)


def _of_submission(row: Result) -> str:
    words = [f"scirep score {_suite_of(row)} --encoder {shlex.quote(row.encoder)} --protocol {row.protocol}"]
    words += ["--source real"] if row.source == "real" and not row.task.startswith("sample/") else []
    if row.source == "embedded":
        sizes = (("--papers", "papers"), ("--data-seed", "data_seed"))
        words += [f"{flag} {shlex.quote(str(row.parameters[key]))}" for flag, key in sizes if row.parameters.get(key)]
    words += [] if row.parameters.get("intercept", True) else ["--no-intercept"]
    return " ".join([*words, "--json"])


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def find(text: str) -> list[Origin]:
    """Return the numbers whose id is `text`, else those whose id holds every part of it. Raises ConfigError if none."""
    origins = [Origin(p, FOLDER / p.paper / f"{p.exhibit}.csv") for p in everything()]
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
