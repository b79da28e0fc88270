"""`scirep submit`: check a file of result rows and add it to the leaderboard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from scirep_core.cli.shared import argument, option
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.terminal import Json, print_json, warn

EXAMPLES = (
    "Examples: scirep score samples --encoder my_model/ --json > rows.json;  scirep submit rows.json --name my-model;  "
    "scirep submit results/submitted --check-only"
)
MOST = 40
"""Faults that are printed one by one."""


def submit(
    file: Annotated[Path, argument("What `scirep score --json` printed, JSON lines of rows, or a folder to check.")],
    name: Annotated[str | None, option("What the submission is called; else the file's name.")] = None,
    check_only: Annotated[bool, option("Check, and add nothing.", "--check-only")] = False,
    as_json: Json = False,
) -> None:
    """Check result rows, and add them to results/submitted, where the leaderboard of the next book shows them.

    Every fault is named with its line and a remedy. Rows say what was scored, on which data, with which weights; that the system
    scores this is your word, and the leaderboard says so.
    """
    from scirep_core.bench import submissions

    if file.is_dir():
        if not check_only or name is not None:
            remedy = "Check the submissions in it with --check-only, or give one file to add"
            raise ConfigError(f"{file}: is a folder. {remedy}")
        found = {path: submissions.check_kept(path) for path in sorted(file.glob("*.jsonl"))}
        _report(found, "", as_json)
        return
    called = name or file.name.partition(".")[0]
    if check_only:
        here = os.path.realpath(file)  # as Path.resolve, which a loop of links ends
        clashes = [path for path in sorted(submissions.folder().glob("*.jsonl")) if os.path.realpath(path) != here]
        _report({file: submissions.check(file, called, clashes)}, "", as_json)
        return
    checked, target = submissions.add(file, called)
    _report({file: checked}, str(target), as_json)


def _several(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"


def _report(found: dict[Path, Any], target: str, as_json: bool) -> None:
    faults = [fault for checked in found.values() for fault in checked.faults]
    rows = sum(len(checked.rows) for checked in found.values())
    unchecked = list(dict.fromkeys(line for checked in found.values() for line in checked.unchecked))
    added = target if target and not faults else ""
    if as_json:
        entries = [{"file": f.path, "line": f.line, "reason": f.reason, "remedy": f.remedy} for f in faults]
        print_json({"files": [str(path) for path in found], "rows": rows, "faults": entries, "unchecked": unchecked,
                    "added": added})  # fmt: skip
    else:
        for fault in faults[:MOST]:
            print(fault)
        if len(faults) > MOST:
            print(f"and {len(faults) - MOST} faults more; --json lists all")
    for line in unchecked:
        warn(f"warning: {line}")
    if faults:
        raise ConfigError(f"{_several(len(faults), 'fault')}{'; nothing was added' if target else ''}")
    if not as_json:
        files = f" of {len(found)} submissions" if len(found) != 1 else ""
        commit = f"added {_several(rows, 'row')}: {added}. Before you commit: scirep edition --write"
        print(commit if added else f"{_several(rows, 'row')}{files} without a fault")
