"""The committed manifests against the inventory: no task without a source, nothing claimed that was not checked here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from scirep_core.data.inventory import MORE, TASKS
from scirep_core.data.manifests import Manifest, list_manifests, load_manifest, manifest_folder
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.readers.scirepeval import TEXTS

MIRROR = os.environ.get("SCIREP_DATA_MIRROR", "")
LABELS = {n for n, task in TASKS.items() if task.manifest == "scirepeval" and task.type != "triplets"}
ALSO = {"scirepeval_test": LABELS}
"""Collections tasks need beside the one the inventory names: SciRepEval keeps labels apart from texts."""


@pytest.fixture(autouse=True)
def committed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("SCIREP_MANIFESTS", raising=False)
    yield


def manifests() -> list[Manifest]:
    return [load_manifest(name) for name in list_manifests()]


FOLDER = Path(__file__).resolve().parent.parent / "data_manifests"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
READ = [name for name in NAMES if yaml.safe_load((FOLDER / f"{name}.yaml").read_text())["verified"] != "no"]


def test_the_list_is_the_folder() -> None:
    assert list_manifests() == NAMES and len(NAMES) >= 22


@pytest.mark.parametrize("name", NAMES)
def test_every_manifest_states_source_licence_verified_counts(name: str) -> None:
    """The reader lets `verified` and `counts` out; here nothing is left out."""
    described = yaml.safe_load((manifest_folder() / f"{name}.yaml").read_text(encoding="utf-8"))
    assert {"verified", "counts", "licence", "url", "homepage", "repository", "paper"} <= set(described)
    manifest = load_manifest(name)
    assert manifest.verified in ("full", "sample", "no") and manifest.counts_source and manifest.counts
    assert all(count > 0 for count in manifest.counts.values())
    assert len(manifest.licence.notice) > 10 and manifest.licence.spdx
    for file in manifest.files:
        assert manifest.url_of(file).startswith("https://") and "{" not in manifest.url_of(file)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_read_has_checksums_and_what_was_not_has_none(name: str) -> None:
    """`verified: no` exactly where nobody here has had the files: then no size or hash can be known."""
    manifest = load_manifest(name)
    assert manifest.unseen == (len(manifest.files) if manifest.verified == "no" else 0)


SOURCES = {task: row.manifest for rows in (TASKS, MORE) for task, row in rows.items()}


@pytest.mark.parametrize("task", SOURCES)
def test_every_task_has_a_manifest_that_knows_it(task: str) -> None:
    assert SOURCES[task] in NAMES
    assert task in load_manifest(SOURCES[task]).needed_for


@pytest.mark.parametrize("name", NAMES)
def test_no_manifest_claims_a_task_that_is_not_its_own(name: str) -> None:
    expected = {task for task, manifest in SOURCES.items() if manifest == name} | ALSO.get(name, set())
    assert set(load_manifest(name).needed_for) == expected


def test_every_sample_has_a_verified_manifest() -> None:
    for sample in SAMPLES.values():
        assert load_manifest(sample.manifest).verified == "full" and sample.like in TASKS


def test_published_counts_are_the_inventorys() -> None:
    for name, key in (("mdcr", "groups"), ("recommendation", "queries")):
        task = next(task for task in TASKS.values() if task.manifest == name)
        assert task.expect[key] in load_manifest(name).counts.values()
    counts = load_manifest("scirepeval").counts
    assert counts["fos_train"] == TASKS["scirepeval/fos"].expect["train"] == 676_524
    for task in TASKS.values():
        if task.reader == "neighbours":
            assert load_manifest(task.manifest).counts[f"{task.config}_papers"] == task.expect["papers"]


def test_scirepeval_lists_what_the_reader_looks_for() -> None:
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


def test_shards_are_numbered_without_a_gap_and_as_the_source_counts_them() -> None:
    splits: dict[str, list[tuple[str, str]]] = {}
    for file in load_manifest("scirepeval").files:
        splits.setdefault(file.path.rpartition("/")[0], []).append((file.path, file.source))
    for split, rows in splits.items():
        config, _, name = split.partition("/")
        for number, (path, source) in enumerate(rows):
            assert path == f"{split}/{number:04d}.parquet"
            assert source == f"{config}/{name}-{number:05d}-of-{len(rows):05d}.parquet"


def test_sources_are_pinned() -> None:
    """A commit, a hub's revision, or (files of several repositories) a commit in every source; else nothing was read."""
    for manifest in manifests():
        if manifest.verified == "no" or manifest.gated or manifest.commit:
            continue
        assert all(re.search(r"/[0-9a-f]{40}/", file.source) for file in manifest.files), manifest.name


@pytest.mark.skipif(not MIRROR, reason="SCIREP_DATA_MIRROR is not set: no real data on this machine")
@pytest.mark.parametrize("name", READ)
def test_what_is_verified_lies_in_the_mirror_as_described(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scirep_core.data.manifests import fetch, verify

    further, mirror = {row.manifest for row in MORE.values()}, load_manifest(name).mirror
    if name in further and not (Path(MIRROR) / mirror).is_dir():
        pytest.skip(f"SCIREP_DATA_MIRROR has no folder {mirror}")
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    fetch(name)
    assert {state for _, state in verify(name)} == {"ok"}
