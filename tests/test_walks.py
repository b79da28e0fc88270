"""CONTRIBUTING.md: every walk is taken as it is written, in a copy of the tree; what it adds is covered by the shared tests.

A walk is a `###` heading below `## Walks` and its numbered steps, of four kinds:

    Make `FILE` ...                      the fence after it is the file
    In `FILE`, before `LINE`, add ...    the fence after it goes above the one line that reads so; `after`: below
    ```bash                              is run, and must succeed
    ```text                              lines the command before it prints, in this order; ... stands for anything
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import rooms

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\w+)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
MAKE = re.compile(r"Make `([^`]+)`")
EDIT = re.compile(r"In\s+`([^`]+)`,\s+(after|before)\s+`([^`]+)`,\s+add\b")
SKIPPED = {
    ".git",
    ".venv",
    "build",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    "__pycache__",
    "_run",
}


class Step(NamedTuple):
    """One fence of a walk and what is to be done with it: make, before, after, bash or text."""

    what: str
    file: str
    line: str
    body: str


def walks(page: str = PAGE) -> dict[str, list[Step]]:
    """Return the steps of every walk by its heading."""
    part = page.partition("\n## Walks\n")[2].partition("\n## ")[0]
    sections = re.split(r"^### (.+)\n", part, flags=re.MULTILINE)[1:]
    return {name: list(steps(text)) for name, text in zip(sections[::2], sections[1::2], strict=True)}


def steps(text: str) -> Iterator[Step]:
    """Yield the steps of one walk. Raises ValueError for a fence that no sentence announces."""
    end = 0
    for fence in FENCE.finditer(text):
        said, end = text[end : fence.start()], fence.end()
        lines = fence["body"].splitlines(
            keepends=True
        )  # without the indent of a list item; a row of a dict keeps its own
        body = "".join(line[len(fence["indent"]) :] if line.strip() else "\n" for line in lines)
        if fence["kind"] in ("bash", "text"):
            yield Step(fence["kind"], "", "", body)
        elif found := EDIT.search(said):
            yield Step(found[2], found[1], found[3], body)
        elif found := MAKE.search(said):
            yield Step("make", found[1], "", body)
        else:
            raise ValueError(f"what is to be done with this? {body[:80]!r}")


WALKS = walks()
PLACES = {
    "A metric": ({"scirep_core/results/metrics.py"}, 4),
    "An encoder": ({"scirep_core/encoders/hashed.py", "scirep_core/encoders/__init__.py"}, 2),
    "A dataset": ({"data_manifests/reading.yaml", "scirep_core/data/inventory.py"}, 2),
    "A perturbation": ({"scirep_core/data/perturbations/changes.py", "scirep_core/data/perturbations/__init__.py"}, 2),
    "A loss": ({"scirep_core/training/losses.py"}, 2),
    "A chapter": ({"notebooks/beyond/titles.ipynb"}, 1),
}
"""What the design promises: files that are made or edited (a mirror's aside), and in how many places."""
BREAKS = {
    "A metric": [("scirep_core/results/metrics.py", "PERSISTENCE ** (ranks - 1)", "(2 - PERSISTENCE) ** (ranks - 1)"),
                 ("scirep_core/results/metrics.py", "stats.spearmanr(gold,", "stats.spearmanr(gold.argsort(0),")],
    "An encoder": [("scirep_core/encoders/hashed.py", "(texts).toarray()", "(texts).toarray() / len(texts)")],
    "A dataset": [("scirep_core/data/inventory.py", '"pairs": 12})', '"pairs": 13})')],
    "A perturbation": [("scirep_core/data/perturbations/changes.py", '_keep_title(given, " ".join(_sentences(given, 2)[:-1]))',
                        'Text(given.title.text.lower(), " ".join(_sentences(given, 2)[:-1]))')],
    "A loss": [("scirep_core/training/losses.py", "_distance(query, positive) - _distance(query, negative)).mean",
                "_distance(query, negative) - _distance(query, positive)).mean")],
    "A chapter": [("notebooks/beyond/titles.ipynb", "  # of the intervals", "")],
}  # fmt: skip
"""Faults that a hurried hand might make: file, what stands there, what stands there instead."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all walks: the small literature is written once."""
    return tmp_path_factory.mktemp("walks-home")


def copied(folder: Path) -> Path:
    """Copy the tree as it is, what git ignores left out; `.venv` leads to this environment."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:  # no git checkout: an archive of one
        shutil.copytree(ROOT, folder, ignore=lambda _, names: SKIPPED & set(names))
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def shell(command: str, tree: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a copy of the tree, as a contributor would, without what this machine has set."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "SCIREP", "NLTK"))}
    given = {"PYTHONPATH": str(tree), "SCIREP_HOME": str(home), "COLUMNS": "120", "OMP_NUM_THREADS": "1",
             "PYTEST_ADDOPTS": "-p no:cacheprovider"}  # fmt: skip
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=tree, env=kept | given, capture_output=True, text=True, check=False,
    )  # fmt: skip


def take(step: Step, tree: Path, home: Path, printed: str) -> str:
    """Do what a step says; return what it printed."""
    path = tree / step.file
    if step.what == "make":
        assert not path.exists(), f"{step.file} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.body, encoding="utf-8")
    elif step.what in ("before", "after"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        places = [at for at, line in enumerate(lines) if line.strip() == step.line]
        assert len(places) == 1, f"{step.file}: {len(places)} lines read {step.line!r}"
        at = places[0] + (step.what == "after")
        apart = step.what == "before" and re.match(r"(class|def|@)", lines[at])  # two lines, as anybody leaves there
        added = step.body.rstrip("\n") + "\n\n\n" if apart else step.body
        path.write_text("".join([*lines[:at], added, *lines[at:]]), encoding="utf-8")
    elif step.what == "bash":
        done = shell(step.body, tree, home)
        assert done.returncode == 0, f"{step.body}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout
    else:
        lacking = missing(step.body, printed)
        assert not lacking, f"not printed: {lacking!r}; printed was\n{printed}"
    return printed


def missing(expected: str, printed: str) -> str:
    """Return the first expected line that is not printed after those before it; "" where all are there."""
    rest = iter(" ".join(line.split()) for line in printed.splitlines())
    for line in expected.splitlines():
        wanted = re.escape(" ".join(line.split())).replace(re.escape("..."), ".*")
        if line.strip() and not any(re.fullmatch(wanted, one) for one in rest):
            return line
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("name", WALKS)
def test_a_walk_does_what_it_says_and_the_shared_tests_guard_what_it_adds(
    name: str, tmp_path: Path, home: Path
) -> None:
    tree, printed = copied(tmp_path / "tree"), ""
    edited = [step for step in WALKS[name] if step.file and not step.file.startswith("mirror/")]
    assert ({step.file for step in edited}, len(edited)) == PLACES[name]
    for step in WALKS[name]:
        printed = take(step, tree, home, printed)

    files = sorted({step.file for step in edited if step.file.endswith(".py")})
    assert all(len((tree / file).read_text(encoding="utf-8").splitlines()) <= 450 for file in files)
    for words in ("check", "format --check") if files else ():
        styled = shell(f"'{sys.executable}' -m ruff {words} {' '.join(files)}", tree, home)
        assert styled.returncode == 0, styled.stdout

    (tested,) = [step for step in WALKS[name] if step.what == "bash" and "pytest" in step.body]
    for file, stood, stands in BREAKS[name]:
        text = (tree / file).read_text(encoding="utf-8")
        assert text.count(stood) == 1, stood
        (tree / file).write_text(text.replace(stood, stands), encoding="utf-8")
        broken = shell(f"export PYTEST_ADDOPTS='-x -p no:cacheprovider'\n{tested.body}", tree, home)
        assert broken.returncode == 1, broken.stdout[-2000:]
        assert re.search(r"^FAILED ", broken.stdout, re.MULTILINE) and "failed" in broken.stdout.splitlines()[-1]
        (tree / file).write_text(text, encoding="utf-8")


def test_every_kind_has_its_walk_and_every_walk_shows_its_tests() -> None:
    assert set(WALKS) == set(PLACES) == set(BREAKS)
    for name, taken in WALKS.items():
        assert taken[-1].what == "text" and "passed" in taken[-1].body, name
        assert any("pytest" in step.body for step in taken if step.what == "bash"), name


def test_a_walk_is_not_taken_where_a_line_has_moved_or_a_print_has_changed(tmp_path: Path) -> None:
    """The test can fail: each of these is what happens when the tree changes and the page does not."""
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    take(Step("after", "a.py", "x = 1", "z = 3\n"), tmp_path, tmp_path, "")
    assert (tmp_path / "a.py").read_text() == "x = 1\nz = 3\ny = 2\n"
    for step, says in (
        (Step("before", "a.py", "w = 0", ""), "0 lines read"),
        (Step("make", "a.py", "", ""), "is there already"),
        (Step("text", "", "", "rbp 1.0\n"), "not printed: 'rbp 1.0'"),
        (Step("bash", "", "", "exit 3"), "exit 3"),
    ):
        with pytest.raises(AssertionError, match=says):
            take(step, tmp_path, tmp_path, "rbp 2.0\nmap 1.0\n")
    assert missing("a ... c\nd\n", "x\na b  c\nd\n") == "" and missing("d\na ... c\n", "a b c\nd\n") == "a ... c"
    with pytest.raises(ValueError, match="what is to be done"):
        list(steps("1. Look:\n\n   ```python\n   x\n   ```\n"))


def test_the_rooms_are_those_of_the_import_contract() -> None:
    assert rooms.drawn(PAGE) == PAGE, "run .venv/bin/python tests/rooms.py"
    listed = re.findall(r"^\| \*\*`(\w+)/`\*\* \| \S", PAGE.partition(rooms.OPENS)[2], re.MULTILINE)
    assert listed == rooms.layers()
    assert set(listed) == {path.name for path in (ROOT / "scirep_core").iterdir() if (path / "__init__.py").exists()}
    assert all(rooms.first_line(folder) for room in listed for folder in rooms.folders(room))
    assert listed[0] == "kit" and listed[-1] == "cli"


def test_the_page_names_what_is_there() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z]+)`", PAGE)) <= set(targets)
    named = re.findall(r"`(?:tests/)?(test_\w+\.py)`", PAGE.partition("\n## Walks\n")[0])
    assert named and all((ROOT / "tests" / name).is_file() for name in named), named
    readme = re.findall(r"CONTRIBUTING\.md#([\w-]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert "a-metric" in readme
    for anchor in [*readme, *re.findall(r"\]\(#([\w-]+)\)", PAGE)]:
        assert re.search(rf"^#+ {anchor.replace('-', ' ')}$", PAGE, re.MULTILINE | re.IGNORECASE), anchor
