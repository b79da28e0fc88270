"""What a user tries first on the command line: the names there are, the version, completion, and silence (issue H, 4)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import scirep_core
from scirep_core.bench.suites import SUITES
from scirep_core.bench.systems import load_system
from scirep_core.book import runner
from scirep_core.cli import listing as cli_list
from scirep_core.data import load_task
from scirep_core.encoders import ENCODERS
from scirep_core.encoders.conditioning.base import CONDITIONINGS
from scirep_core.kit import terminal
from scirep_core.results.metrics import ACCEPTED, METRICS

Scirep = Callable[..., tuple[int, str, str]]


def listed(scirep: Scirep, kind: str) -> dict[str, dict[str, object]]:
    code, out, err = scirep("list", kind, "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: row for row in rows}


@pytest.mark.parametrize("kind", cli_list.KINDS)
def test_a_table_names_all_and_json_says_all(scirep: Scirep, kind: str):
    rows = listed(scirep, kind)
    code, out, _ = scirep("list", kind)
    first, _, *lines = out.rstrip().splitlines()
    assert code == 0 and first.split() == [str(len(rows)), kind]
    assert [line.split()[0] for line in lines] == list(rows)
    assert len({tuple(row) for row in rows.values()}) == 1


def test_what_is_listed_is_what_commands_take(scirep: Scirep):
    encoders, tasks = listed(scirep, "encoders"), listed(scirep, "tasks")
    besides = set(encoders) - set(ENCODERS)
    assert besides == {"tfidf", "bm25", "random", "oracle"} and set(ENCODERS) < set(encoders)
    assert all(load_system(name).name == name for name in (*besides, "minilm"))
    assert list(listed(scirep, "suites")) == list(SUITES)
    assert list(listed(scirep, "conditionings")) == list(CONDITIONINGS)
    assert {task for held in SUITES.values() for task in held} <= set(tasks)
    name = "scirepeval/same_author"
    assert load_task(name, papers=300).format == tasks[name]["format"]
    asked = {name.removesuffix("_name_match") for accepted in ACCEPTED.values() for name in accepted}
    known = set(listed(scirep, "metrics"))
    assert {f"{name}{'@k' * one.at}" for name, one in METRICS.items()} <= known
    assert {name for name in asked if f"{name}@k" not in known} <= known


def test_the_version_is_told_and_the_shell_completes_commands(scirep: Scirep):
    assert scirep("--version") == (0, f"scirep {scirep_core.__version__}\n", "")
    asked = {"_SCIREP_COMPLETE": "complete_bash", "COMP_WORDS": "scirep en", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "scirep_core.cli"], env={**os.environ, **asked}, text=True,
                          capture_output=True, check=False)  # fmt: skip
    assert done.stdout.split() == ["encode"], done.stderr


@pytest.mark.parametrize("words", [("--quiet", "run", "a"), ("run", "a", "--quiet")], ids=" ".join)
def test_quiet_leaves_out_progress_and_keeps_results_and_errors(
    scirep: Scirep, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
):
    ends = [("", 0, "done.ipynb\n"), ("a: no such paper", 2, "")]
    for error, code, printed in ends:

        def run(*given: Any, error: str = error, **more: object) -> object:
            for line in filter(None, ("a: running", error)):
                given[4](line)
            return SimpleNamespace(ok=not error, notebook="done.ipynb", error=error, exit_code=2)

        monkeypatch.setattr(runner, "run", run)
        said = f"{error}\n" * bool(error)
        assert scirep("run", "a") == (code, printed, f"a: running\n{said}")
        assert scirep(*words) == (code, printed, said)
    assert scirep("--quiet", "list", "encoder")[2].startswith("scirep: list 'encoder'")
    assert not terminal.is_hushed()


def test_quiet_hides_bars_and_no_warning(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.hushed():
        assert list(terminal.bar(range(3), "counting")) == [0, 1, 2]
        terminal.say("on the way")
        terminal.warn("warning: not all is there")
    assert capsys.readouterr().err == "warning: not all is there\n"
    assert list(terminal.bar(range(3), "counting")) == [0, 1, 2]
    assert "counting" in capsys.readouterr().err
