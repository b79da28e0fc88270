"""The committed manifests against the inventory, and the parts of them that a task reads: nothing is claimed unchecked."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from typer.testing import CliRunner

from scirep_core import load_task
from scirep_core.cli import app
from scirep_core.data import manifests
from scirep_core.data.inventory import MORE, TASKS
from scirep_core.data.manifests import chosen, fetch, list_manifests, load_manifest, verify
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.readers.scirepeval import TEXTS
from scirep_core.data.sources import away, embedded_root, ensure, real_parts
from scirep_core.page import counting

MIRROR = os.environ.get("SCIREP_DATA_MIRROR", "")
LABELS = {n for n, task in TASKS.items() if task.manifest == "scirepeval" and task.type != "triplets"}
ALSO = {"scirepeval_test": LABELS}
"""Collections tasks need beside the one the inventory names: SciRepEval keeps labels apart from texts."""


FOLDER = Path(__file__).resolve().parent.parent / "data_manifests"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
DESCRIBED = {name: yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")) for name in NAMES}
READ = [name for name in NAMES if DESCRIBED[name]["verified"] != "no"]


@pytest.fixture(autouse=True)
def committed(monkeypatch):
    monkeypatch.delenv("SCIREP_MANIFESTS", raising=False)


def test_the_list_is_the_folder():
    assert list_manifests() == NAMES and len(NAMES) >= 22


@pytest.mark.parametrize("name", NAMES)
def test_every_manifest_states_source_licence_verified_counts(name):
    """The reader lets `verified` and `counts` out; here nothing is left out."""
    assert {"verified", "counts", "licence", "url", "homepage", "repository", "paper"} <= set(DESCRIBED[name])
    manifest = load_manifest(name)
    assert manifest.verified in ("full", "sample", "no") and manifest.counts_source and manifest.counts
    assert all(count > 0 for count in manifest.counts.values())
    assert len(manifest.licence.notice) > 10 and manifest.licence.spdx
    # `verified: no` exactly where nobody here has had the files: then no size or hash can be known
    assert manifest.unseen == (len(manifest.files) if manifest.verified == "no" else 0)
    for file in manifest.files:
        assert manifest.url_of(file).startswith("https://") and "{" not in manifest.url_of(file)
    # a commit, a hub's revision, or (files of several repositories) a commit in every source; else nothing was read
    if not (manifest.verified == "no" or manifest.gated or manifest.commit):
        assert all(re.search(r"/[0-9a-f]{40}/", file.source) for file in manifest.files)


SOURCES = {task: row.manifest for rows in (TASKS, MORE) for task, row in rows.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_knows_its_tasks_and_no_others(name):
    assert set(SOURCES.values()) <= set(NAMES)
    expected = {task for task, manifest in SOURCES.items() if manifest == name} | ALSO.get(name, set())
    assert set(load_manifest(name).needed_for) == expected


def test_every_sample_has_a_verified_manifest():
    for sample in SAMPLES.values():
        assert load_manifest(sample.manifest).verified == "full" and sample.like in TASKS


def test_published_counts_are_the_inventorys():
    for name, key in (("mdcr", "groups"), ("recommendation", "queries")):
        task = next(task for task in TASKS.values() if task.manifest == name)
        assert task.expect[key] in load_manifest(name).counts.values()
    counts = load_manifest("scirepeval").counts
    assert counts["fos_train"] == TASKS["scirepeval/fos"].expect["train"] == 676_524
    for task in TASKS.values():
        if task.reader == "neighbours":
            assert load_manifest(task.manifest).counts[f"{task.config}_papers"] == task.expect["papers"]


def test_scirepeval_lists_what_the_reader_looks_for():
    texts, labels = ({f.path for f in load_manifest(n).files} for n in ("scirepeval", "scirepeval_test"))
    gone = {"feeds_1", "feeds_m", "feeds_title"}
    for task in TASKS.values():
        if task.reader != "scirepeval" or task.config in gone:
            continue
        split = "train" if task.type == "triplets" else "evaluation"
        assert f"{TEXTS.get(task.config, task.config)}/{split}/0000.parquet" in texts, task.config
        if task.type in ("classification", "regression"):
            assert {f"{task.config}/{s}/0000.parquet" for s in ("train", "test")} <= labels
        elif task.type in ("proximity", "adhoc_search"):
            assert f"{task.config}/test/0000.parquet" in labels
    assert not [path for path in texts | labels if path.partition("/")[0] in gone]


def test_shards_are_numbered_without_a_gap_and_as_the_source_counts_them():
    splits: dict[str, list[tuple[str, str]]] = {}
    for file in load_manifest("scirepeval").files:
        splits.setdefault(file.path.rpartition("/")[0], []).append((file.path, file.source))
    for split, rows in splits.items():
        config, _, name = split.partition("/")
        for number, (path, source) in enumerate(rows):
            assert path == f"{split}/{number:04d}.parquet"
            assert source == f"{config}/{name}-{number:05d}-of-{len(rows):05d}.parquet"


@pytest.mark.skipif(not MIRROR, reason="SCIREP_DATA_MIRROR is not set: no real data on this machine")
@pytest.mark.parametrize("name", READ)
def test_what_is_verified_lies_in_the_mirror_as_described(name, tmp_path, monkeypatch):
    further, mirror = {row.manifest for row in MORE.values()}, load_manifest(name).mirror
    if name in further and not (Path(MIRROR) / mirror).is_dir():
        pytest.skip(f"SCIREP_DATA_MIRROR has no folder {mirror}")
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    fetch(name)
    assert {state for _, state in verify(name)} == {"ok"}


PAGE = SimpleNamespace(parameters={"data": "real", "papers": 300, "seed": 0})
"""What `gather` asks of a chapter."""


@pytest.fixture(scope="module")
def emitted(own_home):
    root = embedded_root(300, 0)
    for collection in ("scirepeval", "scimult"):
        ensure(root, collection, 300, 0)
    return root


@pytest.fixture
def mirror(emitted, tmp_path, monkeypatch):
    """Return an empty mirror beside an empty home; `place` fills it."""
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SCIREP_DATA_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setattr(counting, "samples", lambda wanted: [])
    (tmp_path / "mirror").mkdir()
    return tmp_path / "mirror"


def place(emitted, mirror, task):
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
def test_a_mirror_of_the_parts_alone_is_enough_and_a_part_less_is_named(task, emitted, mirror):
    wanted = {name: ", ".join(parts) for name, parts in real_parts(TASKS[task]).items()}
    why = counting.gather(PAGE, [task]).absent[task]
    assert all(f"{name}: {parts}" in why for name, parts in wanted.items()), why
    assert "size not stated" in why and why.endswith(f"scirep data get {task}")
    placed = place(emitted, mirror, task)
    assert len(placed) < sum(len(load_manifest(name).files) for name in wanted)
    found = counting.gather(PAGE, [task])
    assert list(found.tasks) == [task] and not found.absent
    there = load_task(task, "embedded", 300, 0)
    assert found.tasks[task].source == "real" and found.tasks[task].data_hash == there.data_hash
    placed[0].unlink()
    shutil.rmtree(mirror.parent / "home")
    assert f"1 of {len(placed)} files are not here" in away(task)


def test_the_size_of_the_parts_is_said_where_the_manifest_knows_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    monkeypatch.delenv("SCIREP_DATA_MIRROR", raising=False)
    total = sum(file.bytes or 0 for file in load_manifest("csfcube").files)
    assert f"csfcube: all of it; {total / 1e6:.1f} MB" in away("csfcube/method")


def test_tasks_without_published_files_have_no_command(mirror):
    assert away("scirepeval/feeds_1") == "scirepeval does not list feeds_1/evaluation: not published"


def test_parts_are_those_of_the_manifest():
    for task, spec in TASKS.items():
        for name, parts in real_parts(spec).items():
            assert task.startswith("scirepeval/feeds") or chosen(load_manifest(name), parts)


def test_the_command_that_is_named_brings_the_parts_and_nothing_else(emitted, mirror):
    placed = place(emitted, mirror, "scirepeval/fos")
    done = CliRunner().invoke(app, ["data", "get", "scirepeval/fos"])
    assert done.exit_code == 0, done.output
    home = manifests.local_folder("scirepeval")
    assert [p.relative_to(home).as_posix() for p in home.rglob("*.parquet")] == ["fos/evaluation/0000.parquet"]
    assert len(placed) == 3 and not away("scirepeval/fos") and away("scirepeval/search")
    refused = CliRunner().invoke(app, ["data", "get", "scirepeval/foss"])
    assert refused.exit_code == 2 or "scirepeval/fos" in str(refused.exception)
