"""Tiny notebooks and a tiny checkout for the runner's tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psutil

PARAMETERS = 'data: str = "embedded"  # where from\nseed: int = 0  # of everything\nndcg_percent: int = 20  # cut\n'
ROWS = (
    "import json, os\nfrom pathlib import Path\n"
    "row = {'seed': seed, 'data': data, 'cut': ndcg_percent}\n"
    "Path(os.environ['SCIREP_CHAPTER_DIR'], 'rows.jsonl').write_text(json.dumps(row) + '\\n')"
)

DRIVER = """
import sys
from pathlib import Path
from scirep_core.book.runner import Places, run_all
root, runs = Path(sys.argv[1]), Path(sys.argv[2])
run_all(places=Places(root=root, package=root / "scirep_core", runs_folder=runs))
"""
"""Program of a process of its own: root, folder of runs."""


def write(path: Path, *cells: str, parameters: str = PARAMETERS, **about: Any) -> Path:
    """Write a notebook with a parameters cell and code cells; `about` goes to metadata.scirep."""
    sources = [(parameters, ["parameters"]), *((cell, []) for cell in cells)]
    code = [
        {"cell_type": "code", "id": f"cell-{n}", "metadata": {"tags": tags} if tags else {}, "source": source,
         "outputs": [], "execution_count": None}
        for n, (source, tags) in enumerate(sources)
    ]  # fmt: skip
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    notebook = {"cells": code, "metadata": {"kernelspec": kernel, "scirep": about}, "nbformat": 4, "nbformat_minor": 5}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def alive(runs: Path) -> list[int]:
    """Workers and kernels whose Jupyter settings lie under `runs`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("IPYTHONDIR", "").startswith(f"{runs}/") and process.status() != "zombie":
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
