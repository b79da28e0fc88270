"""The published run, rehearsed: from an empty home, one command a table, against a hub of ours at the published addresses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import rehearsal_hub

from scirep_core.data.manifests import load_manifest
from scirep_core.encoders import ENCODERS

PAPERS = 1000
PLACES = 10
MODELS = "scibert,specter,scincl,specter2_base,specter2,e5,mpnet"
TABLES = {
    "scirepeval/baselines": f"-p data real -p encoders {MODELS}",
    "scirepeval/citation_recommendation": "-p data real -p encoders specter2,scincl",
    "scirepeval/author_disambiguation": "-p data real -p encoders specter2",
    "scirepeval/correlations": "-p data real -p encoders specter2",
    "scirepeval/tasks": "-p data real",
}
"""Chapter -> what its table is asked for with."""

Hub = tuple[dict[str, str], list[str]]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    files = rehearsal_hub.write(tmp_path_factory.mktemp("hub"), PAPERS)
    with rehearsal_hub.serve(files) as served:
        yield served


def start(command: str, home: Path, hub: Hub) -> subprocess.Popen[str]:
    environment = hub[0] | {"SCIREP_HOME": str(home), "HF_HOME": str(home / "hf"), "SCIREP_ALLOW_BIN": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "scirep_core.cli", *command.split()], env=environment, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def whole(command: str, home: Path, hub: Hub) -> str:
    """Run a command to its end; return what it prints."""
    with start(command, home, hub) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def values(path: Path) -> dict[str, float]:
    """Return id -> value of the rows that were computed, without those that are times."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["id"]: row["value"] for row in rows if row["source"] == "real"}


def test_a_published_encoder_with_its_adapters_scores_a_published_task(tmp_path, hub):
    """Fetched from the addresses that manifests and registry name: pickled base and adapters, shards by their pinned paths."""
    del hub[1][:]
    whole("data get scirepeval/mdcr scirepeval/drsm", tmp_path, hub)
    printed = json.loads(whole("score scirepeval/mdcr --encoder specter2 --source real --json", tmp_path, hub))
    assert {row["encoder"] for row in printed} == {"specter2"}
    manifest = load_manifest("mdcr")
    for file in manifest.files:
        if "test" in file.path:
            assert f"GET {manifest.url_of(file).removeprefix('https://')}" in hub[1]
    for repository in (ENCODERS["specter2"].model, ENCODERS["specter2"].adapters["PRX"]):
        weights = [name for name in hub[1] if f"huggingface.co/{repository}/resolve" in name and name.endswith(".bin")]
        assert weights
    seen = json.loads((tmp_path / "data/mdcr/.seen.json").read_text())
    assert all("from" in row for row in seen.values())


def test_a_page_is_made_from_an_empty_home(tmp_path, hub):
    chapter = "scirepeval/citation_recommendation"
    files = f"--out {tmp_path}/a.ipynb --rows {tmp_path}/a.jsonl"
    whole(f"run {chapter} --get {TABLES[chapter]} {files}", tmp_path / "home", hub)
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    scored = {row.get("encoder") for row in rows if row["source"] == "real"}
    assert {"specter2", "scincl"} <= scored


@pytest.mark.faults
@pytest.mark.parametrize("chapter", TABLES)
def test_every_table_from_an_empty_home_killed_at_ten_places(chapter, tmp_path, hub):
    """A place: so many files are in the home. After each kill the same command goes on; its numbers are an undisturbed run's."""
    command = f"run {chapter} --get {TABLES[chapter]} --out {{0}}/a.ipynb --rows {{0}}/a.jsonl"
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
    whole(command.format(tmp_path / "undisturbed"), tmp_path / "undisturbed/home", hub)
    total = files(tmp_path / "undisturbed/home")
    command = command.format(tmp_path / "killed")
    home = tmp_path / "killed/home"
    for place in range(PLACES):
        with start(command, home, hub) as process:
            while files(home) < total * place // PLACES and process.poll() is None:
                time.sleep(0.02)
            assert process.poll() is None, f"ended before it was killed: {process.communicate()[1]}"
            os.killpg(process.pid, signal.SIGKILL)
    whole(command, home, hub)
    assert values(tmp_path / "killed/a.jsonl") == values(tmp_path / "undisturbed/a.jsonl") != {}


def files(home: Path) -> int:
    """Return how many files are in a home that others may be writing to."""
    return sum(len(names) for _, _, names in os.walk(home))
