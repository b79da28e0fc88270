"""The runner: typed parameters, whole outputs or none, a cache that says why."""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_leftovers import killed
from toy_notebooks import DRIVER, PARAMETERS, ROWS, alive, write

from scirep_core.book import runcache, runner
from scirep_core.book.runner import Places, RunResult, run, run_all
from scirep_core.kit.errors import CacheError, ConfigError
from scirep_core.kit.store import stable_hash
from scirep_core.kit.terminal import repeatedly

FEWER = PARAMETERS.replace("20", "10")
HOSTILE = '"; import os; os._exit(3)\n"""\n\\"\'\nseed = 7 # {x} {'


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SCIREP_MANIFESTS", raising=False)


FILES = {
    "scirep_core/__init__.py": "",
    "scirep_core/kit/errors.py": "class ScirepError(Exception): ...\nclass ConfigError(ScirepError): ...\n",
    "scirep_core/results/statistics.py": "from .. import maths\nVALUE = 1\n",
    "scirep_core/maths.py": "def lazy():\n    from scirep_core import deep\n",
    "scirep_core/deep.py": "",
    "scirep_core/unused.py": "",
    "data_manifests/csfcube.yaml": "name: csfcube\n",
    "data_manifests/neighbours_sample.yaml": "name: neighbours_sample\n",
    "results/real/csfcube/a.jsonl": "",
    "results/real/csfcube/a/more.jsonl": "",
    "requirements.lock": "numpy==2\n",
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A checkout of one's own: a small library, two manifests, a recorded result, a lock."""
    root = tmp_path / "check out {x}"  # braces and spaces are legal in paths
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Places(root=root, package=root / "scirep_core")


def notebook(places: Places, name: str, *cells: str, **more: Any) -> Path:
    return write(places.notebooks / f"{name}.ipynb", *cells, **more)


def by_name(results: list[RunResult]) -> dict[str, RunResult]:
    return {result.name: result for result in results}


def leftovers(places: Places) -> list[Path]:
    return [*(places.runs / ".staging").iterdir(), *places.runs.glob("*/.ready/*/*")]


def outputs(executed: Path) -> str:
    cells = json.loads(executed.read_text())["cells"]
    return "".join("".join(out.get("text", "")) for cell in cells for out in cell.get("outputs", []))


# ---- one notebook ---------------------------------------------------------------------------------------------------


def test_run_gives_notebook_data_and_rows(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = (
        ROWS,
        "import sys; print(sys.prefix, os.environ['PYTHONHASHSEED'], os.environ['TQDM_DISABLE'], os.getcwd())",
        "print(os.environ['SCIREP_CHAPTER'], sorted(k for k in globals() if k == 'ctypes'))",
        "Path(os.environ['SCIREP_CHAPTER_DIR'], 'got.json').write_text(json.dumps(note))",
    )
    path = notebook(places, "csfcube/a", *cells, parameters=f'{PARAMETERS}note: str = ""  # any\n')
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    said: list[str] = []
    out, rows = tmp_path / "there" / "out.ipynb", tmp_path / "rows.jsonl"
    given = {"seed": "5", "data": "mine", "note": HOSTILE}
    result = run(Path("csfcube/a"), given, out, rows, said.append, places)
    assert result.ok and result.exit_code == 0 and (result.notebook, result.cells, result.total) == (out, 6, 6)
    assert rows.read_text() == '{"seed": 5, "data": "mine", "cut": 20}\n'
    assert (tmp_path / "there" / "out.data" / "rows.jsonl").read_text() == rows.read_text()
    assert result.data and json.loads((result.data / "got.json").read_text()) == HOSTILE  # a string, whatever it holds
    assert outputs(out) == f"{sys.prefix} 0 1 {tmp_path}\ncsfcube/a []\n"
    # the complete set is passed, and nothing differs from run to run
    meta = json.loads(out.read_text())["metadata"]["papermill"]
    assert meta["parameters"] == {"data": "mine", "seed": 5, "ndcg_percent": 20, "note": HOSTILE}
    assert set(meta) == {"parameters", "version"}
    assert said == ["csfcube/a: running", f"csfcube/a: 6/6 cells in {result.seconds:.1f} s"]
    assert not leftovers(places)
    first = out.read_bytes()
    assert run(Path("csfcube/a"), given, out, rows, said.append, places).ok and out.read_bytes() == first
    own = places.runs / "own" / "csfcube" / "a.ipynb"
    assert run(path, places=places, progress=said.append).notebook == own


def test_what_can_only_be_had_by_hand_is_named_and_the_chapter_goes_on(places, monkeypatch):
    def no_connection(*_: object, **__: object) -> None:
        raise ConfigError("no connection")

    monkeypatch.delenv("SCIREP_DATA_MIRROR", raising=False)
    notebook(places, "csfcube/a", ROWS, needs=["neighbours_sample"])
    said: list[str] = []
    assert run(Path("csfcube/a"), progress=said.append, places=places, get=True).ok
    assert said[0].startswith("neighbours_sample cannot be downloaded")
    assert said[0].endswith("goes on without it where it can")
    monkeypatch.setattr("scirep_core.book.runner.fetch", no_connection)
    notebook(places, "csfcube/a", ROWS, needs=["csfcube"])
    with pytest.raises(ConfigError, match="no connection"):
        run(Path("csfcube/a"), progress=said.append, places=places, get=True)


def test_bad_input_is_refused_before_a_kernel_starts(places: Places) -> None:
    path = notebook(places, "csfcube/a", ROWS)
    for name, given, says in (
        ("csfcube/a", {"sed": 1}, "csfcube/a: unknown parameter 'sed': did you mean 'seed'"),
        ("csfcube/a", {"seed": "x"}, "csfcube/a: parameter seed = 'x': expected a whole number"),
        ("csfcube/aa", {}, "csfcube/aa: no such notebook: did you mean 'csfcube/a'"),
    ):
        with pytest.raises(ConfigError, match=re.escape(says)):
            run(Path(name), given, places=places)
    with pytest.raises(ConfigError, match="is the notebook itself"):
        run(path, out=path, places=places)
    assert not places.runs.exists()


def test_a_readers_folder_is_not_overwritten(places: Places, tmp_path: Path) -> None:
    path = notebook(places, "csfcube/a", "1")
    (tmp_path / "out.data").mkdir()
    (tmp_path / "out.data" / "precious").touch()
    with pytest.raises(ConfigError, match="not the output of a run"):
        run(path, out=tmp_path / "out.ipynb", places=places, progress=[].append)
    assert (tmp_path / "out.data" / "precious").exists() and not (tmp_path / "out.ipynb").exists()


# ---- all chapters ---------------------------------------------------------------------------------------------------


def test_failures_are_kept_aside_and_the_last_good_one_stays(places: Places) -> None:
    long = "\n".join(f"x{n} = {n}" for n in range(20))
    ours = "from scirep_core.kit.errors import ConfigError\nraise ConfigError('csfcube/ours: bad k')"
    notebook(places, "csfcube/raises", ROWS, f"{long}\n1 / 0\n{long}")
    notebook(places, "csfcube/ours", ours)
    notebook(places, "csfcube/leaves", "import sys\nsys.exit(0)", "2")
    notebook(places, "csfcube/dies", "import os\nos.kill(os.getpid(), 9)", "2")
    notebook(places, "csfcube/rows", ROWS.replace("'\\n'", "'{'"))
    notebook(places, "csfcube/plan", "1", parameters="seed: int = -1  # below")
    notebook(places, "csfcube/good", ROWS)
    said: list[str] = []
    first = by_name(run_all(places=places, progress=said.append))
    good = first["csfcube/good"]
    assert [name for name, result in first.items() if result.ok] == ["csfcube/good"]
    assert good.notebook and good.rows and good.notebook == places.runs / "embedded" / "csfcube" / "good.ipynb"
    exits = {name.split("/")[1]: result.exit_code for name, result in first.items()}
    assert exits == {"raises": 1, "ours": 2, "leaves": 1, "dies": 1, "rows": 2, "plan": 2, "good": 0}
    kept = places.runs / "failed" / "csfcube" / "raises.failed.ipynb"
    lines = first["csfcube/raises"].error.splitlines()
    assert lines[0] == "csfcube/raises: failed after 3 of 4 cells: ZeroDivisionError: division by zero"
    around = ["  | x17 = 17", "  | x18 = 18", "  | x19 = 19", "  > 1 / 0", "  | x0 = 0", "  | x1 = 1"]
    assert lines[1:] == [*around, f"  notebook kept as {kept}"]
    assert kept.is_file() and first["csfcube/raises"].failed == kept
    assert first["csfcube/ours"].error == "csfcube/ours: bad k"
    assert "the notebook left after 2 of 4 cells" in first["csfcube/leaves"].error
    assert "DeadKernelError" in first["csfcube/dies"].error and "os.kill" in first["csfcube/dies"].error
    assert first["csfcube/rows"].error.startswith("csfcube/rows: rows.jsonl:1: not a JSON object")
    assert first["csfcube/plan"].error == "csfcube/plan: parameter seed = -1: valid are 0 to 2147483647"
    assert not leftovers(places)

    before = good.notebook.read_bytes()
    notebook(places, "csfcube/good", "1 / 0")
    notebook(places, "csfcube/raises", ROWS)
    second = by_name(run_all(only="*/[gr]*", places=places, progress=said.append))
    assert not second["csfcube/good"].ok and good.notebook.read_bytes() == before
    assert second["csfcube/raises"].ok and not kept.exists()


def edit(name: str, text: str) -> Callable[[Places], object]:
    return lambda places: (places.root / name).write_text(text)


def chapter(places: Places, **more: Any) -> Path:
    needs = ["embedded", "csfcube", "results/real/*/*.jsonl"]
    code = "from scirep_core.results import statistics"
    return notebook(places, "csfcube/a", code, ROWS, needs=needs, paper="csfcube", **more)


REASONS: dict[str, Callable[[Places], object]] = {
    "library changed: deep.py": edit("scirep_core/deep.py", "X = 2"),
    "lock changed": edit("requirements.lock", "numpy==3"),
    "data manifest changed: csfcube": edit("data_manifests/csfcube.yaml", "name: other"),
    "recorded results changed: results/real/csfcube/a.jsonl": edit("results/real/csfcube/a.jsonl", "{}\n"),
    "recorded results changed: results/real/csfcube/a/more.jsonl": edit("results/real/csfcube/a/more.jsonl", "{}\n"),
    "output damaged: a.ipynb": edit("book/_run/embedded/csfcube/a.ipynb", "{}"),
    "output damaged: a.data/rows.jsonl": lambda p: (p.runs / "embedded/csfcube/a.data/rows.jsonl").unlink(),
    "output damaged: .a.run.json": edit("book/_run/embedded/csfcube/.a.run.json", "{"),
    "notebook changed; parameter ndcg_percent 20 -> 10": lambda p: chapter(p, parameters=FEWER),
    "new": lambda p: (p.runs / "embedded/csfcube/.a.run.json").unlink(),
}


def test_a_chapter_reruns_only_for_a_reason_and_says_it(places: Places) -> None:
    path = chapter(places)

    def reason() -> str:
        read = runcache.read_chapter(path)
        now = runcache.components(read, runcache.values(read, "embedded"), "embedded", places)
        return runcache.why(places.runs / "embedded" / "csfcube" / "a", now)

    said: list[str] = []
    assert [r.reason for r in run_all(places=places, progress=said.append)] == ["new"]
    cached = run_all(places=places, progress=said.append)[0]
    assert cached.status == "cached" and cached.rows and cached.cells == 4 and said[-1] == "csfcube/a: unchanged"
    (places.package / "unused.py").write_text("Y = 1")
    assert reason() == ""
    backup = places.root.with_name("backup")
    shutil.copytree(places.root, backup)
    for expected, change in REASONS.items():
        change(places)
        assert reason() == expected
        shutil.rmtree(places.root)
        shutil.copytree(backup, places.root)
        assert reason() == ""
    REASONS["library changed: deep.py"](places)
    assert [r.reason for r in run_all(places=places, progress=said.append)] == ["library changed: deep.py"]
    assert said[-2] == "csfcube/a: running (library changed: deep.py)"
    assert reason() == ""


def test_a_chapter_with_linguistic_tools_reruns_when_their_data_come_or_go(places, monkeypatch):
    found = []
    for name, kind in (("a", "auto"), ("b", "fallback")):
        notebook(places, f"csfcube/{name}", ROWS, parameters=f'tools: str = "{kind}"  # who finds words')
        read = runcache.read_chapter(places.notebooks / "csfcube" / f"{name}.ipynb")
        for there in (False, True):
            monkeypatch.setattr("scirep_core.data.perturbations.linguistics._is_there", lambda part, there=there: there)
            given = runcache.components(read, runcache.values(read, "embedded"), "embedded", places)
            found.append(stable_hash(given))
    assert found[0] != found[1] and found[2] == found[3]


def test_profile_pruning_and_unknown_names(places: Places) -> None:
    notebook(places, "csfcube/a", ROWS)
    notebook(places, "neighbours/b", "1", parameters="seed: int = 0  # x", needs=["csfcub"])
    said: list[str] = []
    results = by_name(run_all("real", places=places, progress=said.append))
    rows = results["csfcube/a"].rows
    assert rows and json.loads(rows.read_text())["data"] == "real"
    assert rows == places.runs / "real" / "csfcube" / "a.data" / "rows.jsonl"
    needs = "neighbours/b: metadata.scirep.needs names 'csfcub': did you mean 'csfcube'?"
    assert results["neighbours/b"].error == f"{needs} Valid: csfcube, embedded, neighbours_sample"
    (places.notebooks / "csfcube" / "a.ipynb").unlink()
    run_all("real", places=places, progress=said.append)
    assert said[-1] == "csfcube/a: removed, its notebook is gone"
    assert not list((places.runs / "real" / "csfcube").iterdir())
    for call, says in (
        (lambda: run_all("reel", places=places), "did you mean 'real'"),
        (lambda: run_all(only="neighbors", places=places), "neighbours/b"),
        (lambda: run_all(workers=0, places=places), "at least one"),
        (lambda: run_all(places=Places(root=places.root / "none")), "no notebooks here"),
    ):
        with pytest.raises(ConfigError, match=says):
            call()


def test_a_chapter_made_of_the_others_runs_after_them_and_again_when_their_rows_change(places: Places) -> None:
    """`"after": "chapters"`: a second round, in which the rows of the first lie where SCIREP_RUNS says."""
    folder = "Path(os.environ['SCIREP_RUNS'], os.environ['SCIREP_PROFILE'])"
    count = f"import os\nfrom pathlib import Path\nprint(*sorted(p.parent.name for p in {folder}.glob('*/*.data/rows.jsonl')))"
    notebook(places, "beyond/board", count, after="chapters")
    for name in ("a", "b"):
        notebook(places, f"csfcube/{name}", "import time; time.sleep(0.3)", ROWS)
    said: list[str] = []

    def board() -> tuple[str, str, str]:
        result = by_name(run_all(places=places, progress=said.append))["beyond/board"]
        assert result.notebook
        return result.status, result.reason, outputs(result.notebook).strip()

    assert board() == ("ran", "new", "a.data b.data")
    assert board() == ("cached", "", "a.data b.data")
    notebook(places, "csfcube/c", ROWS)
    assert board() == ("ran", "chapters changed: csfcube/c", "a.data b.data c.data")
    notebook(places, "csfcube/b", ROWS.replace("'cut'", "'kut'"))
    assert board()[:2] == ("ran", "chapters changed: csfcube/b")
    (places.notebooks / "csfcube" / "a.ipynb").unlink()  # what is gone is pruned before the second round
    assert board() == ("ran", "chapters changed: csfcube/a", "b.data c.data")
    notebook(places, "csfcube/d", ROWS)
    (alone,) = run_all(only="board", places=places, progress=said.append)
    assert alone.status == "cached", "alone it takes the rows of the last book"
    notebook(places, "beyond/board", count, after="all")
    refused = by_name(run_all(places=places, progress=said.append))["beyond/board"]
    assert "metadata.scirep.after is 'all'" in refused.error


def test_chapters_run_side_by_side(places: Places, tmp_path: Path) -> None:
    """Each of two chapters waits for the other: one after the other they could not end."""
    meet = "import pathlib, time\nhere = pathlib.Path({!r})\n(here / '{}').touch()\n"
    wait = "while not (here / '{}').exists():\n    time.sleep(0.02)"
    threads = "import os; print(os.environ['OMP_NUM_THREADS'])"
    for mine, other in (("a", "b"), ("b", "a")):
        notebook(places, f"csfcube/{mine}", meet.format(str(tmp_path), mine) + wait.format(other), threads)
    results = run_all(workers=2, places=places, progress=[].append)
    assert [result.status for result in results] == ["ran", "ran"]
    assert results[0].notebook and int(outputs(results[0].notebook)) >= 1


def test_what_a_chapter_says_of_its_long_steps_is_passed_on_once(tmp_path: Path) -> None:
    said: list[str] = []
    relay = runner._relay(tmp_path / "progress", "p/n", said.append)
    relay()
    for text in ("step 1", "step 1", "step 2"):
        (tmp_path / "progress").write_text(text)
        relay()
    assert said == ["p/n: step 1", "p/n: step 2"]
    told: list[int] = []
    with repeatedly(lambda: told.append(1), 0.001):
        until(lambda: len(told) > 2)
    assert not any(thread.name.endswith("(repeat)") for thread in threading.enumerate())


# ---- interruptions --------------------------------------------------------------------------------------------------


def test_ctrl_c_stops_the_kernels_and_exits_130(places: Places) -> None:
    notebook(places, "csfcube/slow", ROWS, "import time\ntime.sleep(60)")
    words = [sys.executable, "-c", DRIVER, places.root, places.runs]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until(lambda: any(places.runs.glob(".staging/*/*/data/rows.jsonl")))
    assert alive(places.runs)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, said = process.communicate()
    assert process.returncode == 130 and said.splitlines()[-1].startswith("stopped: kernels ended")
    assert "Traceback" not in said
    until(lambda: not alive(places.runs))
    assert not leftovers(places) and not (places.runs / "embedded" / "csfcube").exists()
    assert not (places.runs / "failed").exists()


def until(condition: Callable[[], bool]) -> None:
    """Wait as long as it takes; pytest-timeout bounds it."""
    while not condition():
        time.sleep(0.02)


def test_a_second_runner_waits_and_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    order: list[str] = []

    def second() -> None:
        with runcache.locked(tmp_path / "embedded", said.append):
            order.append("second")

    with runcache.locked(tmp_path / "embedded", said.append):
        thread = threading.Thread(target=second)
        thread.start()
        until(lambda: bool(said))
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert said == [f"waiting: another runner (process {os.getpid()}) works in {tmp_path / 'embedded'}"]


def test_staging_sweeps_the_dead_and_leaves_the_living(tmp_path: Path) -> None:
    sockets = tmp_path / "scirep-x"
    sockets.mkdir()
    with runcache.staging(tmp_path) as living:
        dead = tmp_path / ".staging" / "dead"
        dead.mkdir()
        (dead / "sockets").symlink_to(sockets)
        with runcache.staging(tmp_path) as other:
            assert living.is_dir() and other.is_dir() and not dead.exists() and not sockets.exists()
    assert not list((tmp_path / ".staging").iterdir())


def test_a_death_between_any_two_steps_of_publishing_is_completed_by_the_next(tmp_path: Path) -> None:
    """Old and new never mix: after recovery the three paths belong together, whichever rename was the last."""

    def sealed(folder: Path, text: str) -> Path:
        ready = folder / f"ready-{text}"
        (ready / "data").mkdir(parents=True)
        (ready / "notebook.ipynb").write_text(text)
        (ready / "data" / "rows.jsonl").write_text(text)
        runcache.seal(ready, "a", {"parameter": {"seed": text}}, {})
        return ready

    found: list[str] = []
    for folder in (tmp_path / str(stop) for stop in itertools.count(1)):
        profile, trash = folder / "embedded", folder / "trash"
        trash.mkdir(parents=True)
        base = runcache.publish(sealed(folder, "old"), profile, "csfcube/a", trash)
        new = (sealed(folder, "new"), profile, "csfcube/a", trash)
        if not killed(functools.partial(runcache.publish, *new), len(found) + 1):
            break
        runcache.roll_forward(profile, trash)
        found.append(base.with_name("a.ipynb").read_text())
        assert (base.with_name("a.data") / "rows.jsonl").read_text() == found[-1]
        assert runcache.why(base, {"parameter": {"seed": found[-1]}}) == ""
        assert not list(profile.glob(".ready/*/*"))
    assert set(found) == {"old", "new"} and found == sorted(found, reverse=True) and len(found) > 4


def test_a_folder_that_cannot_be_written_is_told(places: Places, tmp_path: Path) -> None:
    notebook(places, "csfcube/a", "1")
    (tmp_path / "file").write_text("")
    blocked = Places(places.root, places.package, runs_folder=tmp_path / "file")
    with pytest.raises(CacheError, match="cannot write"):
        run_all(places=blocked)
