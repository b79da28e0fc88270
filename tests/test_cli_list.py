"""What a user tries first on the command line: the names there are, the version, completion, and silence (issue H, 4)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

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

Capture = pytest.CaptureFixture[str]
Scirep = Callable[..., tuple[int, str, str]]


def listed(scirep: Scirep, kind: str) -> list[dict[str, object]]:
    code, out, err = scirep("list", kind, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def names(scirep: Scirep, kind: str) -> list[str]:
    found = [str(row["name"]) for row in listed(scirep, kind)]
    assert len(found) == len(set(found))
    return found


@pytest.mark.parametrize("kind", cli_list.KINDS)
def test_a_table_names_all_and_json_says_all(scirep: Scirep, kind: str):
    rows = listed(scirep, kind)
    code, out, _ = scirep("list", kind)
    first, _, *lines = out.rstrip().splitlines()
    assert code == 0 and first.split() == [str(len(rows)), kind]
    assert [line.split()[0] for line in lines] == [row["name"] for row in rows]
    assert all(set(row) == set(rows[0]) for row in rows)


def test_what_is_listed_is_what_commands_take(scirep: Scirep):
    besides = set(names(scirep, "encoders")) - set(ENCODERS)
    assert besides == {"tfidf", "bm25", "random", "oracle"} and set(ENCODERS) < set(names(scirep, "encoders"))
    assert all(load_system(name).name == name for name in (*besides, "minilm"))
    assert names(scirep, "suites") == list(SUITES)
    assert names(scirep, "conditionings") == list(CONDITIONINGS)
    tasks = names(scirep, "tasks")
    assert {task for held in SUITES.values() for task in held} <= set(tasks)
    assert load_task("scirepeval/same_author", papers=300).format == dict(
        zip(tasks, listed(scirep, "tasks"), strict=True))["scirepeval/same_author"]["format"]  # fmt: skip
    asked = {name.removesuffix("_name_match") for accepted in ACCEPTED.values() for name in accepted}
    written = {f"{name}{'@k' * one.at}" for name, one in METRICS.items()}
    known = set(names(scirep, "metrics"))
    assert written <= known and {name for name in asked if f"{name}@k" not in known} <= known


def test_another_kind_is_refused_with_the_nearest(scirep: Scirep):
    code, out, err = scirep("list", "encoder")
    assert (code, out) == (2, "") and "did you mean 'encoders'" in err and err.count("\n") == 1


def test_version_is_that_of_the_package(scirep: Scirep):
    assert scirep("--version") == (0, f"scirep {scirep_core.__version__}\n", "")


def test_the_shell_completes_commands():
    asked = {"_SCIREP_COMPLETE": "complete_bash", "COMP_WORDS": "scirep en", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "scirep_core.cli"], env={**os.environ, **asked}, text=True,
                          capture_output=True, check=False)  # fmt: skip
    assert done.stdout.split() == ["encode"], done.stderr


def noisy(*, ok: bool) -> object:
    """A runner that says how it goes."""

    def run(notebook: object, given: object, out: object, rows: object, say: object, **more: object) -> object:
        say("a: running")  # type: ignore[operator]
        if not ok:
            say("a: no such paper")  # type: ignore[operator]
        return SimpleNamespace(ok=ok, notebook="done.ipynb", error="" if ok else "a: no such paper", exit_code=2)

    return run


@pytest.mark.parametrize("words", [("--quiet", "run", "a"), ("run", "a", "--quiet")], ids=" ".join)
def test_quiet_leaves_out_progress_and_keeps_results_and_errors(
    scirep: Scirep, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
):
    monkeypatch.setattr(runner, "run", noisy(ok=True))
    assert scirep("run", "a") == (0, "done.ipynb\n", "a: running\n")
    assert scirep(*words) == (0, "done.ipynb\n", "")
    monkeypatch.setattr(runner, "run", noisy(ok=False))
    assert scirep("run", "a") == (2, "", "a: running\na: no such paper\n")
    assert scirep(*words) == (2, "", "a: no such paper\n")
    code, _, err = scirep("--quiet", "list", "encoder")
    assert code == 2 and err.startswith("scirep: list 'encoder'")
    assert not terminal.is_hushed()


def test_quiet_hides_bars(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.hushed():
        assert list(terminal.bar(range(3), "counting")) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    assert list(terminal.bar(range(3), "counting")) == [0, 1, 2]
    assert "counting" in capsys.readouterr().err


def test_warnings_outlast_silence(capsys: Capture):
    with terminal.hushed():
        terminal.say("on the way")
        terminal.warn("warning: not all is there")
    assert capsys.readouterr().err == "warning: not all is there\n"
