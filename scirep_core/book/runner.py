"""Running chapters: typed parameters in, an executed notebook and its data out, whole or not at all.

`run` executes one notebook with a reader's parameters; `run_all` executes every chapter of a profile in parallel and
skips those whose key has not changed (`runcache`). Both give each chapter the complete set of parameters and a fresh
folder, named in the environment variable SCIREP_CHAPTER_DIR, for its result rows (`rows.jsonl`) and figures. A chapter
that fails is kept under `<runs>/failed/`, its failing cell is shown, and the last good one stays. The parent process
imports no Jupyter; kernels belong to worker processes (`kernelwork`) and end with them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.book import runcache
from scirep_core.book.kernelwork import Crew, environment, plain, socket_folder
from scirep_core.book.runcache import Chapter, Components, Places, read_chapter, sidecar_of, staging
from scirep_core.data.manifests import fetch, load_manifest
from scirep_core.data.sources import scored_parts
from scirep_core.kit import errors
from scirep_core.kit.errors import CacheError, ConfigError, DataError, ScirepError, nearest
from scirep_core.kit.records import read_json, read_jsonl
from scirep_core.kit.store import write_bytes, write_json
from scirep_core.kit.terminal import repeatedly
from scirep_core.kit.terminal import say as to_stderr
from scirep_core.page.parameters import chapter_name, resolve

PROFILES = ("embedded", "real")
OWN = "own"
"""Folder under the runs for `run` without `out`: a reader's own runs never replace a chapter of the book."""
FAMILY = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, ScirepError)}
Say = Callable[[str], None]
Place = Callable[[Path, str, Path], Path]
"""Puts a sealed chapter, by its name, where it belongs; the last folder takes what is in the way."""


class RunResult(NamedTuple):
    """What became of one chapter. `error` is the text to show; paths are None where nothing was written."""

    name: str
    status: str  # ran, cached, failed
    reason: str = ""
    seconds: float = 0.0
    cells: int = 0
    total: int = 0
    notebook: Path | None = None
    data: Path | None = None
    failed: Path | None = None
    error: str = ""
    exit_code: int = 0

    @property
    def ok(self) -> bool:
        """True unless the chapter failed."""
        return self.status != "failed"

    @property
    def rows(self) -> Path | None:
        """The result rows the chapter recorded, if any."""
        path = self.data / "rows.jsonl" if self.data else None
        return path if path and path.is_file() else None


class _Job(NamedTuple):
    chapter: Chapter
    parameters: dict[str, Any]
    components: Components
    reason: str
    cwd: Path | None  # None: the chapter's own folder


def run(
    notebook: Path,
    parameters: Mapping[str, Any] | None = None,
    out: Path | None = None,
    rows: Path | None = None,
    progress: Say | None = None,
    places: Places | None = None,
    get: bool = False,
) -> RunResult:
    """Execute one notebook with `parameters` (values or text from a command line) over its defaults.

    The executed notebook goes to `out` with its data in `<stem>.data/` beside it, by default to `<runs>/own/<chapter>`;
    the recorded result rows are also written to `rows`. `notebook` may be a chapter's name. Paths in parameters are
    relative to the caller's folder, as with papermill. `get` first fetches what the chapter scores of published collections.
    A failing cell is a RunResult, bad input a ScirepError.
    """
    places, say = places or Places(), progress or to_stderr
    chapter = read_chapter(_locate(notebook, places))
    resolved = resolve(chapter.declared, parameters or {}, chapter.name)
    for collection, parts in scored_parts(chapter.about.get("needs", ())).items() if get else ():
        try:
            fetch(collection, say, parts=parts)
        except ConfigError as error:
            if not load_manifest(collection).gated:
                raise
            say(f"{error}. {chapter.name} goes on without it where it can")
    job = _Job(chapter, resolved, runcache.components(chapter, resolved, OWN, places), "", Path.cwd())
    if out is not None and out.resolve() == chapter.path.resolve():
        raise ConfigError(f"{out}: is the notebook itself. Give the executed copy another name")

    def place(ready: Path, name: str, trash: Path) -> Path:
        if out is not None:
            return runcache.deliver(ready, out)
        with runcache.locked(places.runs / OWN, say):
            runcache.roll_forward(places.runs / OWN, trash)
            return runcache.publish(ready, places.runs / OWN, name, trash)

    with _stoppable(say):
        result = _execute([job], 1, OWN, places, say, place, out.stem if out else "")[0]
    if out is not None and result.ok:
        result = result._replace(notebook=out)
    if rows is not None and result.ok:
        if result.rows is None:
            say(f"{result.name}: recorded no result rows; {rows} is empty")
        write_bytes(rows, result.rows.read_bytes() if result.rows else b"")
    return result


def run_all(
    profile: str = "embedded",
    only: str | None = None,
    workers: int | None = None,
    progress: Say | None = None,
    places: Places | None = None,
) -> list[RunResult]:
    """Bring every chapter (or those fitting `only`) up to date under `<runs>/<profile>/`; results in reading order.

    A chapter whose key is unchanged and whose files are intact is not run. Longest first, by the last measured time; chapters
    made of the others' rows in a second round. A second runner on the same profile waits for the first. Ctrl-C stops the
    kernels, publishes nothing, exits with 130.
    """
    places, say = places or Places(), progress or to_stderr
    if profile not in PROFILES:
        raise ConfigError(f"unknown profile {profile!r}: {nearest(profile, PROFILES)}")
    if workers is not None and workers < 1:
        raise ConfigError(f"workers = {workers}: at least one is needed")
    paths = runcache.find_notebooks(places, only)
    folder = places.runs / profile
    done: dict[str, RunResult] = {}
    with _stoppable(say), runcache.locked(folder, say):
        with staging(places.runs) as trash:
            runcache.roll_forward(folder, trash)
        for last in (False, True):
            jobs = []
            for path in (path for path in paths if _is_last(path) == last):
                job = _plan(path, profile, folder, places)
                if isinstance(job, _Job):
                    jobs.append(job)
                else:
                    say(job.error if not job.ok else f"{job.name}: unchanged")
                    done[job.name] = job
            jobs.sort(key=lambda job: -_last_seconds(folder / job.chapter.name))
            cores = min(workers or _cores(), len(jobs))
            for result in _execute(
                jobs, cores, profile, places, say, lambda r, n, t: runcache.publish(r, folder, n, t)
            ):
                done[result.name] = result
            if only is None and not last:  # before the second round reads what is there
                for name in runcache.prune(folder, {chapter_name(path) for path in paths}):
                    say(f"{name}: removed, its notebook is gone")
    return [done[chapter_name(path)] for path in paths]


def _is_last(path: Path) -> bool:
    """Return whether a notebook belongs to the second round; one that cannot be read is told so by its plan, in the first."""
    try:
        return read_chapter(path).last
    except ScirepError:
        return False


def _plan(path: Path, profile: str, folder: Path, places: Places) -> _Job | RunResult:
    """Decide what to do with one notebook: a job, or the result that is already known."""
    name = chapter_name(path)
    base = folder / name
    try:
        chapter = read_chapter(path)
        parameters = runcache.values(chapter, profile)
        now = runcache.components(chapter, parameters, profile, places)
    except ScirepError as error:
        return RunResult(name, "failed", error=f"{name}: {str(error).removeprefix(f'{name}: ')}", exit_code=2)
    if reason := runcache.why(base, now):
        return _Job(chapter, parameters, now, reason, None)
    before = read_json(sidecar_of(base))
    return _result(name, base, "cached", "", {key: before.get(key, 0) for key in ("seconds", "cells", "total")})


def _result(name: str, base: Path, status: str, reason: str, measured: Mapping[str, Any]) -> RunResult:
    notebook, data = (base.with_name(f"{base.name}.{kind}") for kind in ("ipynb", "data"))
    return RunResult(name, status, reason, notebook=notebook, data=data, **measured)


def _last_seconds(base: Path) -> float:
    """Seconds of the last run; a chapter never run comes first, since it may be long."""
    try:
        return float(json.loads(sidecar_of(base).read_text(encoding="utf-8"))["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return float("inf")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _stoppable(say: Say) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("stopped: kernels ended, unfinished chapters stay as they were")
        raise SystemExit(130) from None


def _locate(notebook: Path, places: Places) -> Path:
    if Path(notebook).is_file():
        return Path(notebook)
    named = places.notebooks / Path(notebook).with_suffix(".ipynb")
    if named.is_file():
        return named
    known = [chapter_name(path) for path in places.notebooks.glob("*/*.ipynb")]
    raise ConfigError(f"{notebook}: no such notebook" + (f": {nearest(str(notebook), known)}" if known else ""))


# ---- execution ------------------------------------------------------------------------------------------------------


def _execute(
    jobs: list[_Job], workers: int, profile: str, places: Places, say: Say, place: Place, title: str = ""
) -> list[RunResult]:
    """Run the jobs on `workers` processes; `place` puts each sealed chapter where it belongs."""
    if not jobs:
        return []
    if importlib.util.find_spec("papermill") is None:  # here, not in the process that holds a kernel
        raise ModuleNotFoundError("No module named 'papermill'", name="papermill")
    with staging(places.runs) as stage, socket_folder(stage) as sockets:
        crew = Crew(environment(profile, places.package, max(1, _cores() // workers), sockets, stage), stage)

        def one(job: _Job) -> RunResult:
            try:
                return work(job)
            except OSError as error:
                message = f"{job.chapter.name}: cannot write {error.filename} ({error.strerror})"
                raise CacheError(f"{message}. Free space or choose another folder for the runs") from error

        def work(job: _Job) -> RunResult:
            if crew.stopping.is_set():
                raise KeyboardInterrupt
            name = job.chapter.name
            say(f"{name}: running" + (f" ({job.reason})" if job.reason else ""))
            ready = stage / uuid.uuid4().hex[:8]
            (ready / "data").mkdir(parents=True)
            write_json(ready.with_suffix(".json"), job.chapter.source)
            kernel_folder = f"{sockets}/{ready.name}" if sockets else ""
            if kernel_folder:
                Path(kernel_folder).mkdir(mode=0o700)
            variables = {
                "SCIREP_CHAPTER": name, "SCIREP_CHAPTER_DIR": str(ready / "data"), "SCIREP_PROGRESS": f"{ready}.progress",
                "SCIREP_RUNS": str(places.runs.absolute()),
            }  # fmt: skip
            asked = {
                "source": str(ready.with_suffix(".json")), "output": str(ready / "notebook.ipynb"),
                "parameters": job.parameters, "folder": kernel_folder, "environment": variables,
                "cwd": str(job.cwd or ready / "data"),
            }  # fmt: skip
            with repeatedly(_relay(Path(variables["SCIREP_PROGRESS"]), name, say)):
                answer = crew.ask(asked)
            if crew.stopping.is_set():
                raise KeyboardInterrupt
            answer = _check_rows(answer, ready / "data" / "rows.jsonl")
            measured = {key: answer[key] for key in ("seconds", "cells", "total")}
            target = places.runs / "failed" / f"{name}.failed.ipynb"
            if not answer["ok"]:
                return _failed(job, answer, measured, ready, target, say)
            more = {"chapter": name, "profile": profile, "parameters": job.parameters, **measured}
            runcache.seal(ready, title or name.rpartition("/")[2], job.components, more)
            base = place(ready, name, stage)
            target.unlink(missing_ok=True)
            say(f"{name}: {answer['cells']}/{answer['total']} cells in {answer['seconds']:.1f} s")
            return _result(name, base, "ran", job.reason, measured)

        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(one, job) for job in jobs]
            try:
                return [future.result() for future in futures]
            finally:  # also on Ctrl-C: threads that wait for a worker wake up when it ends
                for future in futures:
                    future.cancel()
                crew.stop()


def _relay(path: Path, name: str, say: Say) -> Callable[[], None]:
    """Return what passes on the line that a running chapter last wrote to `path` about its long steps, if it is new."""
    before = ""

    def relay() -> None:
        nonlocal before
        now = path.read_text(encoding="utf-8") if path.is_file() else ""
        if now != before:
            say(f"{name}: {now}")
        before = now

    return relay


def _check_rows(answer: dict[str, Any], rows: Path) -> dict[str, Any]:
    """A chapter whose rows cannot be read has failed, however well its cells went."""
    try:
        if answer["ok"] and rows.is_file():
            list(read_jsonl(rows))
    except DataError as error:
        text = str(error).replace(str(rows), rows.name)
        return {**answer, "ok": False, "ename": "DataError", "evalue": text, "source": ""}
    return answer


def _failed(
    job: _Job, answer: dict[str, Any], measured: dict[str, Any], ready: Path, target: Path, say: Say
) -> RunResult:
    """Keep the failed notebook aside and say what failed: one line for an error of ours, else cell and exception."""
    name = job.chapter.name
    source = ready / "notebook.ipynb"
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, target)
    ours = answer["ename"] in FAMILY
    evalue = (plain(answer["evalue"]).strip() or answer["ename"]).splitlines()[0]
    if ours:
        text = f"{name}: {evalue.removeprefix(f'{name}: ')}"
    else:
        lines, at = answer["source"].rstrip().splitlines(), answer.get("line", 0)  # counted from 1; 0: unknown
        first = max(0, min(at - 4, len(lines) - 6))
        cell = [f"  {'>' if n == at else '|'} {line}" for n, line in enumerate(lines[first : first + 6], first + 1)]
        after = f"failed after {answer['cells']} of {answer['total']} cells"
        where = [f"  notebook kept as {target}"] if target.is_file() else []
        text = "\n".join([f"{name}: {after}: {answer['ename']}: {evalue:.300}", *cell, *where])
    say(text)
    failed = target if target.is_file() else None
    return RunResult(name, "failed", job.reason, failed=failed, error=text, exit_code=2 if ours else 1, **measured)
