"""Install the lock into the Python that runs this file: on Binder, and on Colab by the first cell of the start notebook.

uv does it, because uv knows by itself where CPU builds of torch are (`--torch-backend cpu`): no address of an index stands
in this project. On Colab `--keep-kernel` leaves alone what the running kernel itself is made of. `--dry-run` prints the
commands. The standard library alone; on a machine of your own `make` does the same into `.venv`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
UV = "uv>=0.9,<1"
KERNEL = (
    "comm", "debugpy", "ipykernel", "ipython", "ipython_pygments_lexers", "jedi", "jupyter-events", "jupyter-lsp",
    "jupyter_builder", "jupyter_client", "jupyter_core", "jupyter_server", "jupyter_server_terminals", "jupyterlab",
    "jupyterlab_pygments", "jupyterlab_server", "matplotlib-inline", "nest-asyncio2", "notebook_shim", "parso", "pexpect",
    "prompt_toolkit", "psutil", "ptyprocess", "pyzmq", "terminado", "tornado", "traitlets", "wcwidth",
)  # fmt: skip
"""What a running kernel and its server stand on."""


def pins(keep_kernel: bool) -> list[str]:
    """Return the lines of the lock to install."""
    lines = [line.strip() for line in LOCK.read_text(encoding="utf-8").splitlines()]
    every = [line for line in lines if re.fullmatch(r"[\w.-]+==\S+", line)]
    return [line for line in every if not (keep_kernel and line.partition("==")[0] in KERNEL)]


def commands(lock: Path) -> list[list[str]]:
    """Return what is run: uv, the lock without a dependency more, the book where it stands."""
    python = sys.executable
    uv = [python, "-m", "uv", "pip", "install", "--python", python, "--no-deps"]
    return [
        [python, "-m", "pip", "install", "--quiet", UV],
        [*uv, "--torch-backend", "cpu", "-r", str(lock)],
        [*uv, "--no-build-isolation", "-e", str(ROOT)],
    ]


def main(arguments: list[str]) -> None:
    """Install, or print what would be done."""
    keep_kernel = "--keep-kernel" in arguments
    chosen = pins(keep_kernel)
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "lock.txt"
        lock.write_text("\n".join(chosen) + "\n", encoding="utf-8")
        for command in commands(lock):
            print(f"install: {' '.join(command)}", file=sys.stderr, flush=True)
            if "--dry-run" not in arguments:
                subprocess.run(command, check=True)
    print(f"install: {len(chosen)} packages of the lock", file=sys.stderr)
    if keep_kernel:
        print("install: restart the session now, then run all cells", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
