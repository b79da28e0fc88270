"""Programs in a process of their own, and scripts outside the package as modules: what `make` and Binder run."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent


def alone(code: str, *given: object, **changed: str) -> str:
    """Run a program in a process of its own, which can import what lies in tests/; return what it prints."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])} | changed
    words = [sys.executable, "-c", code, *map(str, given)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=290)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def script(path: str) -> ModuleType:
    """Return the script at `path`, seen from the checkout, as a module of its own."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
