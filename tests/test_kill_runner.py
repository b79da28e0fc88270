"""SIGKILL at any moment: the next run succeeds, and its output is that of a run nobody disturbed.

Seeded moments, six or thirty (`make faults`), spread over a whole run, each on a folder that already holds an older version
of the chapter. Odd trials kill the runner alone, even ones its whole process group (kernels have a session of their own and
must follow).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from toy_notebooks import DRIVER, PARAMETERS, ROWS, alive, write

from scirep_core.book.runner import Places, run_all

FIGURE = "Path(os.environ['SCIREP_CHAPTER_DIR'], 'figure.svg').write_text('x' * 200_000)\nprint('seed', seed)"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "home"))
    (tmp_path / "scirep_core").mkdir()
    (tmp_path / "scirep_core" / "__init__.py").touch()
    write(tmp_path / "notebooks" / "csfcube" / "a.ipynb", ROWS, FIGURE)
    return tmp_path


def digest(runs: Path) -> dict[str, str]:
    """Content of everything under the profile but locks; measured seconds are no content."""
    found = {}
    for path in sorted((runs / "embedded").rglob("*")):
        if path.is_file() and path.name != ".lock":
            data = path.read_bytes()
            if path.name.endswith(".run.json"):
                data = json.dumps({k: v for k, v in json.loads(data).items() if k != "seconds"}).encode()
            found[path.relative_to(runs).as_posix()] = hashlib.sha256(data).hexdigest()
    return found


def start(root: Path, runs: Path) -> subprocess.Popen[bytes]:
    call = [sys.executable, "-c", DRIVER, str(root), str(runs)]
    return subprocess.Popen(call, start_new_session=True, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("trials", [6, pytest.param(30, marks=pytest.mark.faults)])
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and process groups")
def test_kills_at_moments_spread_over_a_run(root: Path, trials: int) -> None:
    def trial(number: int, moment: float) -> tuple[int, str]:
        runs = root / f"runs-{number}"
        shutil.copytree(root / "older", runs)
        process = start(root, runs)
        try:
            process.wait(timeout=moment)
            state = "finished"
        except subprocess.TimeoutExpired:
            state = "killed"
            if number % 2:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        sockets = [link.readlink() for link in runs.glob(".staging/*/sockets")]
        for _ in range(2000):  # they end by themselves, in the end; on a busy machine not at once
            if not (left := alive(runs)):
                break
            time.sleep(0.05)
        assert not left, f"trial {number} at {moment:.3f} s left processes {left}"
        places = Places(root=root, package=root / "scirep_core", runs_folder=runs)
        result = run_all(places=places, progress=[].append)[0]
        assert result.ok, f"trial {number} at {moment:.3f} s: {result.error}"
        assert digest(runs) == expected, f"trial {number} at {moment:.3f} s"
        assert not list((runs / ".staging").iterdir()) and not any(folder.exists() for folder in sockets)
        shutil.rmtree(runs)
        return number, result.status if state == "killed" else state

    older = start(root, root / "older")
    assert older.wait() == 0
    write(root / "notebooks" / "csfcube" / "a.ipynb", ROWS, FIGURE, parameters=PARAMETERS.replace("20", "10"))
    shutil.copytree(root / "older", root / "calm")
    begin = time.monotonic()
    assert start(root, root / "calm").wait() == 0
    whole = time.monotonic() - begin
    expected = digest(root / "calm")
    assert expected != digest(root / "older") and len(expected) == 4

    chance, states = random.Random(20), list[str]()
    with ThreadPoolExecutor(2) as pool:
        for first in range(0, 3 * trials, trials):
            moments = [whole * 1.1 * (n + chance.random()) / trials for n in range(trials)]
            numbers = range(first, first + trials)
            states += [state for _, state in pool.map(trial, numbers, chance.sample(moments, trials))]
            if states.count("ran") >= trials // 2:
                break
            whole /= 2  # the machine was busier while its work was timed: earlier kills fall into it
    assert states.count("ran") >= trials // 2, states  # the kills did fall into the work
