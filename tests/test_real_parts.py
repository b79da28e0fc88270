"""What a task reads of its real collection: chapters ask for these parts alone, name them, and score where only they lie.

The files are our own, in the published layout, placed as the manifests say: what a mirror of the real ones looks like.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from typer.testing import CliRunner

from scirep_core import load_task
from scirep_core.cli import app
from scirep_core.data import manifests
from scirep_core.data.inventory import TASKS
from scirep_core.data.manifests import chosen, load_manifest
from scirep_core.data.sources import away, embedded_root, ensure, real_parts
from scirep_core.page import counting
from scirep_core.page.chapter import Chapter


def page() -> Chapter:
    """Return what `gather` asks of a chapter."""
    return cast(Chapter, SimpleNamespace(parameters={"data": "real", "papers": 300, "seed": 0}))


@pytest.fixture(scope="module")
def emitted(own_home: Path) -> Path:
    """Return the smallest literature in the published layouts."""
    root = embedded_root(300, 0)
    for collection in ("scirepeval", "scimult"):
        ensure(root, collection, 300, 0)
    return root


@pytest.fixture
def mirror(emitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty mirror beside an empty home; `place` fills it."""
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SCIREP_DATA_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setattr(counting, "samples", lambda wanted: [])
    (tmp_path / "mirror").mkdir()
    return tmp_path / "mirror"


def place(emitted: Path, mirror: Path, task: str) -> list[Path]:
    """Put into a mirror the files of one task that its manifests list; return them."""
    placed = []
    for name, parts in real_parts(TASKS[task]).items():
        manifest = load_manifest(name)
        for file in chosen(manifest, parts):
            copy = mirror / manifest.mirror / file.path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(emitted / name / file.path, copy)
            placed.append(copy)
    return placed


@pytest.mark.parametrize(
    "task", ["scirepeval/fos", "scimult/cite", "scimult/geography", "scimult/mag", "scimult/pmc_par"]
)
def test_a_mirror_of_the_parts_alone_is_enough_and_a_part_less_is_named(task: str, emitted: Path, mirror: Path) -> None:
    wanted = {name: ", ".join(parts) for name, parts in real_parts(TASKS[task]).items()}
    why = counting.gather(page(), [task]).absent[task]
    assert all(f"{name}: {parts}" in why for name, parts in wanted.items()), why
    assert "size not stated" in why and why.endswith(f"scirep data get {task}")
    placed = place(emitted, mirror, task)
    assert len(placed) < sum(len(load_manifest(name).files) for name in wanted)
    found = counting.gather(page(), [task])
    assert list(found.tasks) == [task] and not found.absent
    there = load_task(task, "embedded", 300, 0)
    assert found.tasks[task].source == "real" and found.tasks[task].data_hash == there.data_hash
    placed[0].unlink()
    shutil.rmtree(mirror.parent / "home")
    assert f"1 of {len(placed)} files are not here" in away(task)


def test_the_size_of_the_parts_is_said_where_the_manifest_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    monkeypatch.delenv("SCIREP_DATA_MIRROR", raising=False)
    total = sum(file.bytes or 0 for file in load_manifest("csfcube").files)
    assert f"csfcube: all of it; {total / 1e6:.1f} MB" in away("csfcube/method")


def test_tasks_without_published_files_have_no_command(mirror: Path) -> None:
    assert away("scirepeval/feeds_1") == "scirepeval does not list feeds_1/evaluation: not published"


@pytest.mark.parametrize("task", TASKS)
def test_parts_are_those_of_the_manifest(task: str) -> None:
    for name, parts in real_parts(TASKS[task]).items():
        if not task.startswith("scirepeval/feeds"):
            assert chosen(load_manifest(name), parts)


def test_the_command_that_is_named_brings_the_parts_and_nothing_else(emitted: Path, mirror: Path) -> None:
    placed = place(emitted, mirror, "scirepeval/fos")
    done = CliRunner().invoke(app, ["data", "get", "scirepeval/fos"])
    assert done.exit_code == 0, done.output
    home = manifests.local_folder("scirepeval")
    assert [p.relative_to(home).as_posix() for p in home.rglob("*.parquet")] == ["fos/evaluation/0000.parquet"]
    assert len(placed) == 3 and not away("scirepeval/fos") and away("scirepeval/search")
    refused = CliRunner().invoke(app, ["data", "get", "scirepeval/foss"])
    assert refused.exit_code == 2 or "scirepeval/fos" in str(refused.exception)
