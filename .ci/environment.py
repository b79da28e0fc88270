"""Make the environment: `.venv` in the checkout, exactly the lock, nothing of CUDA.

Run by `make` with whatever Python the machine has, before anything is installed, so this file uses the standard
library alone. A marker with the lock's hash is written last; an environment without it was interrupted and is made
anew, one with another hash is out of date. `--browser` also sees to Chromium, which the site tests drive.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
MARKER, UNFINISHED = VENV / ".scirep-complete", VENV / ".scirep-unfinished"
LOCK = ROOT / "requirements.lock"
PYTHON = (3, 11)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def say(line: str) -> None:
    """Print one line of progress."""
    print(f"environment: {line}", file=sys.stderr, flush=True)


def stop(line: str) -> None:
    """Print what is wrong and what to do, and leave with code 2."""
    say(line)
    raise SystemExit(2)


def wanted() -> str:
    """Return what the finished environment's marker must hold: hash of lock and project file, Python version."""
    content = LOCK.read_bytes() + (ROOT / "pyproject.toml").read_bytes()
    return f"{hashlib.sha256(content).hexdigest()} {PYTHON[0]}.{PYTHON[1]} {ROOT}"


def find_python() -> str:
    """Return a Python 3.11: this one, or one on the PATH."""
    if sys.version_info[:2] == PYTHON:
        return sys.executable
    found = shutil.which("python3.11")
    if found is None:
        here = ".".join(map(str, sys.version_info[:2]))
        stop(f"needs Python 3.11, this is {here}. Install python3.11 (Debian: apt-get install python3.11-venv)")
    return str(found)


def make() -> None:
    """Create or refresh `.venv`; does nothing when its marker is right."""
    if MARKER.is_file() and MARKER.read_text() == wanted() and (VENV / "bin" / "python").exists():
        return
    if VENV.exists():
        if any(VENV.iterdir()) and not (MARKER.exists() or UNFINISHED.exists()):
            stop(f"{VENV} was not made by this project. Move it away, then run the command again")
        say("out of date or interrupted, making it anew")
        shutil.rmtree(VENV)
    started = time.monotonic()
    python = find_python()
    VENV.mkdir()
    UNFINISHED.touch()
    say(f"creating {VENV.relative_to(ROOT)} with Python 3.11")
    if subprocess.run([python, "-m", "venv", str(VENV)], check=False).returncode:
        stop("python -m venv failed (see above). Debian: apt-get install python3-venv")
    lock = [line for line in LOCK.read_text().splitlines() if "==" in line]
    # what is imported is compiled then: most of what is installed never is
    words = "-m pip --disable-pip-version-check install --no-deps --no-compile"
    pip = [str(VENV / "bin" / "python"), *words.split()]
    say(f"installing {len(lock)} packages (about two minutes)")
    install([*pip, "-r", str(LOCK)], len(lock), started)
    install([*pip, "--no-build-isolation", "-e", str(ROOT)], 1, started)
    refuse_cuda()
    MARKER.write_text(wanted())
    UNFINISHED.unlink()
    say(f"ready after {time.monotonic() - started:.0f} s")


def install(command: list[str], total: int, started: float) -> None:
    """Run pip and say every ten seconds how far it is; its last lines are shown if it fails."""
    tail: list[str] = []
    collected, told, unpacking = 0, time.monotonic(), False
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            tail = [*tail[-11:], line.rstrip()]
            collected += line.startswith(("Collecting ", "Obtaining "))
            if total > 1 and line.startswith("Installing collected packages"):
                unpacking = True
                say(f"all {collected} packages fetched, unpacking, {time.monotonic() - started:.0f} s")
            elif total > 1 and not unpacking and time.monotonic() - told > 10:
                told = time.monotonic()
                say(f"{collected} of {total} packages fetched, {told - started:.0f} s")
    if pip.returncode:
        print("\n".join(tail), file=sys.stderr)
        stop("pip failed (see above). Check the network, then run the command again")


def refuse_cuda() -> None:
    """Stop if torch came as a CUDA build: gigabytes that the book does not need."""
    probe = "import torch; print(torch.version.cuda or '')"
    found = subprocess.run([str(VENV / "bin" / "python"), "-c", probe], capture_output=True, text=True, check=False)
    if found.returncode:
        why = (found.stderr.strip().splitlines() or ["no message"])[-1]
        stop(f"torch does not import ({why}). If it is a CUDA build, see 'Which torch' in README.md for the CPU one")
    if found.stdout.strip() and not os.environ.get("SCIREP_ALLOW_CUDA"):
        stop(
            f"torch is a CUDA {found.stdout.strip()} build. For the CPU build see the table in README.md; "
            "to keep this one, set SCIREP_ALLOW_CUDA=1"
        )


def browser() -> None:
    """Install Debian's Chromium where there is none and that may be done (as root, with apt-get); else say what is skipped."""
    chosen = os.environ.get("SCIREP_CHROMIUM")
    if any(map(shutil.which, [chosen] if chosen else BROWSERS)):
        return
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("apt-get") is None:
        say("no Chromium here and no right to install it: the site tests will be skipped")
        return
    say("installing Chromium for the site tests (Debian package)")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"],
    ):
        done = subprocess.run(
            command, env=quiet, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            say(f"{' '.join(command[:2])} failed ({last[0]}): the site tests will be skipped")
            return


if __name__ == "__main__":
    try:
        with ThreadPoolExecutor() as pool:  # pip works on one core
            for step in [pool.submit(one) for one in (make, browser)[: 1 + ("--browser" in sys.argv)]]:
                step.result()
    except KeyboardInterrupt:
        say("stopped; the next run starts it anew")
        raise SystemExit(130) from None
