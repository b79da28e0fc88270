"""The process that owns kernels: one notebook after another, told by its parent over a pipe.

The runner starts one such process per core (`python -c "... main()"`), writes one JSON job a line and reads one JSON
answer a line. Papermill and its 0.5 s of imports live only here, and papermill's change of directory and environment
cannot disturb other chapters. Life and death go downwards without any list of process ids: when the parent ends, for
whatever reason, the pipe closes and this process ends; when this process ends, the kernel is killed by the operating
system (Linux) or leaves by ipykernel's own watch of its parent within a second (elsewhere).
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# A kernel killed with its parent must not outlive it, not even when the parent died before this line ran.
GUARD = "import ctypes, os; ctypes.CDLL(None).prctl(1, 9); os.getppid() == {pid} or os._exit(1); del ctypes, os"
KERNEL = "python3"
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")
SHORT_SOCKETS = 80
"""Longest folder for kernel sockets: the system's limit for a socket's whole path is 104 to 108 bytes."""
EPOCH = "1735689600"
"""SOURCE_DATE_EPOCH of every run and of the book's build, so that figures carry no clock."""


def main() -> None:
    """Work until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes the pipe
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a kernel prints past its channels goes to the log, not into the answers
    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    # jsonschema compiles a grammar of web addresses for 1.0 s if this optional package is there; notebooks hold none
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    import papermill  # noqa: F401  (before the first job arrives, while the parent still hashes)

    while True:
        job = jobs.get()
        start = time.monotonic()
        answer = {**execute(job), "seconds": round(time.monotonic() - start, 3)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _listen(jobs: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Hand on the parent's jobs; when it closes the pipe, end the kernels and this process."""
    import psutil  # type: ignore[import-untyped]  # ipykernel needs it too

    for line in sys.stdin.buffer:
        jobs.put(json.loads(line))
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    os._exit(0)


def execute(job: dict[str, Any]) -> dict[str, Any]:
    """Run one notebook; return {ok, cells, total} and for a failure {ename, evalue, source, line}.

    `job`: source (prepared notebook), output (path), parameters, folder (for sockets), environment, cwd.
    """
    import nbformat
    import papermill
    from traitlets.config import Config

    os.environ.update(job["environment"])
    notebook, output = _read(Path(job["source"])), Path(job["output"])
    # papermill asks the notebook for its language, and takes a path with braces for a template
    notebook.metadata["kernelspec"] = {"name": KERNEL, "language": "python", "display_name": "Python 3"}
    config = Config()
    if job["folder"]:
        config.KernelManager.transport = "ipc"
        config.KernelManager.connection_file = f"{job['folder']}/k.json"
    guard = GUARD.format(pid=os.getpid())
    extra = [f"--IPKernelApp.exec_lines={guard}"] if sys.platform == "linux" else []
    try:
        _own_kernel()
        notebook = papermill.execute_notebook(
            notebook, str(output).replace("{", "{{").replace("}", "}}"), parameters=job["parameters"], kernel_name=KERNEL,
            progress_bar=False, log_output=False, cwd=job["cwd"], start_timeout=120, config=config, extra_arguments=extra,
            record_timing=False,
        )  # fmt: skip
    except Exception as error:  # everything from a failing cell to a kernel that never started is an answer
        notebook = _read(output) if output.exists() else notebook
        return _failure(notebook, error)
    left = any(cell.metadata.papermill.get("status") == "failed" for cell in _started(notebook))
    count = _count(notebook, broken=int(left))
    if count["cells"] < count["total"]:  # papermill takes sys.exit(0) in a cell for success
        where = {"ename": "SystemExit", "evalue": f"the notebook left after {count['cells']} of {count['total']} cells"}
        return {"ok": False, "source": _last_source(notebook), **where, **count}
    output.write_text(nbformat.writes(_settled(notebook)), encoding="utf-8")  # type: ignore[no-untyped-call]
    return {"ok": True, **count}


def _read(path: Path) -> Any:
    import nbformat

    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]


def _own_kernel() -> None:
    """Refuse a kernel `python3` of some other Python: its results would not be those of this library."""
    from jupyter_client.kernelspec import KernelSpecManager

    program = Path(KernelSpecManager().get_kernel_spec(KERNEL).argv[0])
    if program.is_absolute() and program.parent != Path(sys.executable).parent:
        raise RuntimeError(
            f"the Jupyter kernel {KERNEL!r} runs {program}, not {sys.executable}. "
            f"Remove it: jupyter kernelspec remove {KERNEL}"
        )


def _started(notebook: Any) -> list[Any]:
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    return [cell for cell in code if cell.metadata.get("papermill", {}).get("start_time")]


def _count(notebook: Any, broken: int = 0) -> dict[str, int]:
    total = sum(cell.cell_type == "code" and bool(cell.source.strip()) for cell in notebook.cells)
    return {"cells": max(0, len(_started(notebook)) - broken), "total": total}


def _failure(notebook: Any, error: Exception) -> dict[str, Any]:
    """The error among the outputs, with its cell; if there is none (a dead kernel), the last cell that was started."""
    failure = {
        "ok": False,
        "ename": type(error).__name__,
        "evalue": str(error),
        "source": _last_source(notebook),
        "line": 0,
    }
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error" and not (output.ename == "SystemExit" and output.evalue in ("", "0")):
                frames = re.findall(r"Cell In\[\d+\], line (\d+)", plain("\n".join(output.traceback)))
                line = int(frames[0]) if frames else 0  # the outermost frame is the cell itself
                failure |= {"ename": output.ename, "evalue": output.evalue, "source": cell.source, "line": line}
    return {**failure, **_count(notebook, broken=1)}


def plain(text: str) -> str:
    """Text without the colours of a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _last_source(notebook: Any) -> str:
    return next((str(cell.source) for cell in reversed(_started(notebook))), "")


def _settled(notebook: Any) -> Any:
    """Remove what differs between two equal runs: clocks, machine paths, the random id of the injected cell."""
    keys = {"parameters", "version"}
    pm = notebook.metadata.get("papermill", {})
    notebook.metadata["papermill"] = {key: value for key, value in pm.items() if key in keys}
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = "injected-parameters"
    return notebook


# ---- the parent's side ----------------------------------------------------------------------------------------------


def environment(profile: str, package: Path, threads: int, sockets: str, stage: Path) -> dict[str, str]:
    """Environment of workers and kernels: the same library, fixed seeds of hashing and clocks, few threads."""
    env = dict(os.environ)
    for name in ("SCIREP_HOME", "SCIREP_DATA_MIRROR", "SCIREP_MANIFESTS"):
        if env.get(name):  # kernels work in another folder
            env[name] = str(Path(env[name]).expanduser().absolute())
    env |= dict.fromkeys(THREADS, str(threads))
    env |= {"TQDM_DISABLE": "1", "PYTHONHASHSEED": "0", "TOKENIZERS_PARALLELISM": "false", "SCIREP_PROFILE": profile}
    env |= {"PYTHONPATH": os.pathsep.join(filter(None, (str(package.parent), env.get("PYTHONPATH"))))}
    env |= {"JUPYTER_RUNTIME_DIR": sockets or str(stage), "IPYTHONDIR": str(stage / "ipython")}  # nothing of the user's
    kernels = str(Path(sys.prefix) / "share" / "jupyter")
    env |= {"JUPYTER_PATH": os.pathsep.join(filter(None, (kernels, env.get("JUPYTER_PATH"))))}
    env.setdefault("SOURCE_DATE_EPOCH", EPOCH)
    env.setdefault("SCIREP_ATTENTION", "exp2")  # two builds are equal to the digit, whatever a measurement says
    env.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    return env


@contextmanager
def socket_folder(stage: Path) -> Iterator[str]:
    """A short folder for kernel sockets, "" where there is none (then kernels use TCP).

    The staging folder points to it before it exists, so that the next runner can remove what a killed one left.
    """
    parent = Path("/tmp") if os.access("/tmp", os.W_OK) else Path(tempfile.gettempdir())
    folder = parent / f"scirep-{uuid.uuid4().hex[:12]}"
    if sys.platform == "win32" or len(str(folder)) > SHORT_SOCKETS:
        yield ""
        return
    (stage / "sockets").symlink_to(folder)
    folder.mkdir(mode=0o700)
    yield str(folder)


class Crew:
    """The worker processes: started when first needed, replaced when they die, stopped all at once."""

    def __init__(self, environment: dict[str, str], stage: Path) -> None:
        self.environment, self.stage = environment, stage
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.idle: list[subprocess.Popen[str]] = []
        self.all: list[subprocess.Popen[str]] = []

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """Give one job to a free worker and wait for its answer; a worker that dies is an answer too."""
        with self.lock:
            worker = self.idle.pop() if self.idle else self._start()
        try:
            assert worker.stdin and worker.stdout
            worker.stdin.write(json.dumps(job) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except OSError:
            line = ""
        if line:
            with self.lock:
                self.idle.append(worker)
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = worker.wait()
        tail = (self.stage / "worker.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        evalue = f"the process that held the kernel ended (code {code}). {' '.join(tail)}"
        nothing = {"source": "", "seconds": 0.0, "cells": 0, "total": 0}
        return {"ok": False, "ename": "RuntimeError", "evalue": evalue, **nothing}

    def _start(self) -> subprocess.Popen[str]:
        if self.stopping.is_set():
            raise KeyboardInterrupt
        library = str(Path(__file__).resolve().parents[2])
        code = f"import sys; sys.path.insert(0, {library!r}); from scirep_core.book.kernelwork import main; main()"
        with (self.stage / "worker.log").open("ab") as log:
            worker = subprocess.Popen(
                [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env=self.environment, encoding="utf-8",
            )  # fmt: skip
        self.all.append(worker)
        return worker

    def stop(self) -> None:
        """Close the pipes, which ends workers and kernels; kill what has not ended after five seconds."""
        with self.lock:
            self.stopping.set()
            for worker in self.all:
                assert worker.stdin
                with suppress(OSError):
                    worker.stdin.close()
        for worker in self.all:
            try:
                worker.wait(timeout=5)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            if worker.stdout:
                worker.stdout.close()
