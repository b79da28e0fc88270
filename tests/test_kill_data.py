"""K3: SIGKILL at random instants of fetching and unpacking. In between no wrong file under a final name, then all is well.

The instants are seeded: half by the clock, over the length of a whole run, half just after the k-th file, where the
writing is. Chains of kills without a normal run in between are included.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from small_collection import Source, description, honest, mirror, settle

from scirep_core.data.manifests import fetch, load_manifest, verify

MIRROR = os.environ.get("SCIREP_DATA_MIRROR", "")
FETCH = (
    "import sys; from scirep_core.data.manifests import fetch; fetch(sys.argv[1], lambda line: print(line, flush=True))"
)
SLOW = """
import functools, sys, time
import small_collection
from scirep_core.data.manifests import fetch
def slowly(request, serve=small_collection.honest({f"f{i}.bin": bytes([i]) * 200_000 for i in range(4)})):
    return serve(request)
source = small_collection.Source(slowly)
plain = source.send
def send(*given, **options):
    response = plain(*given, **options)
    read = response.raw._fp.read
    response.raw._fp.read = lambda *size: (time.sleep(0.004), read(*size))[1]
    return response
source.send = send
fetch(sys.argv[1], lambda line: print(line, flush=True), session=source.session())
"""


def killed(script: str, name: str, lines: int, seconds: float) -> bool:
    """Run a script; SIGKILL it `seconds` after its `lines`-th line of output. Return whether it was still at work."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(
        [sys.executable, "-c", script, name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(seconds)
        at_work = process.poll() is None
        process.kill()
    return at_work


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def nothing_wrong(name: str) -> None:
    """Whatever has a final name is right, to the byte."""
    assert {state for _, state in verify(name)} <= {"ok", "missing"}


def recovers(name: str, folder: Path) -> None:
    """A normal run succeeds and leaves the collection and nothing else."""
    assert fetch(name) == folder
    assert {state for _, state in verify(name)} == {"ok"}
    assert not list(folder.rglob("*.part")) and not (folder / ".incoming").exists()


@pytest.mark.slow
@pytest.mark.skipif(
    not MIRROR or not (Path(MIRROR) / "csfcube" / "LICENSE.md").is_file(),
    reason="needs SCIREP_DATA_MIRROR=DIR with the CSFCube files (9.8 MB) under DIR/csfcube",
)
def test_30_kills_while_fetching_csfcube(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCIREP_MANIFESTS", raising=False)
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "timed"))
    start = time.monotonic()
    assert not killed(FETCH, "csfcube", 62, 0.5)
    whole = time.monotonic() - start - 0.5
    files = sorted(file.path for file in load_manifest("csfcube").files)
    assert names(tmp_path / "timed/data/csfcube") == files
    rng = random.Random(20)
    hits = 0
    for number in range(30):
        chain = number >= 20  # the last ten strike one and the same home
        monkeypatch.setenv("SCIREP_HOME", str(tmp_path / ("chain" if chain else f"home{number}")))
        by_clock = (
            0,
            rng.uniform(0, 0.6 * whole),
        )  # on a busy machine the next fetch may be much faster than the timed one
        at_a_file = (rng.randrange(1, 60), rng.uniform(0, 0.01))
        hits += killed(FETCH, "csfcube", *(by_clock if number % 2 else at_a_file))
        nothing_wrong("csfcube")
        if not chain or number == 29:
            folder = Path(os.environ["SCIREP_HOME"]) / "data/csfcube"
            recovers("csfcube", folder)
            assert names(folder) == files
    assert hits >= 20, "too few kills struck a process at work to prove anything"


def test_kills_while_downloading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over https, slowly: each run goes on where the killed one stopped, so that a chain of kills gets there."""
    files = {f"f{i}.bin": bytes([i]) * 200_000 for i in range(4)}
    checked = [hashlib.sha256(content).hexdigest() for content in files.values()]  # whole, not yet under its name
    folder = settle(tmp_path, monkeypatch, description(files))
    rng = random.Random(21)
    hits = 0
    for number in range(8):
        hits += killed(
            SLOW, "tiny", 1 if number < 4 else 0, rng.uniform(0.0, 0.25) if number < 4 else rng.uniform(0.2, 0.8)
        )
        nothing_wrong("tiny")
        kept = [*folder.rglob("*.bin"), *folder.rglob("*.part"), *(folder / ".incoming" / s for s in checked)]
        here = sum(path.stat().st_size for path in kept if path.is_file())
        source = Source(honest(files))
        if number % 2:
            fetch("tiny", session=source.session())
            assert {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == files
            assert source.sent == 800_000 - here, "what was there is sent again"
            settle(tmp_path / f"round{number}", monkeypatch, description(files))
            folder = tmp_path / f"round{number}/home/data/tiny"
    assert hits >= 5


def test_kills_while_unpacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = {f"d{i % 7}/f{i}.txt": f"{i}\n".encode() * 200 for i in range(300)}
    with zipfile.ZipFile(tmp_path / "pack.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    packed = (tmp_path / "pack.zip").read_bytes()
    described = description({"pack.zip": packed})
    described["files"][0]["unpack"] = True
    rng = random.Random(22)
    hits = 0
    for number in range(8):
        place = tmp_path / f"round{number // 2}"  # every second kill strikes the remains of the one before
        mirror(place / "mirror", {"pack.zip": packed})
        folder = settle(place, monkeypatch, described, mirrored=True)
        hits += killed(FETCH, "tiny", 2, rng.uniform(0, 0.15))
        nothing_wrong("tiny")
        target = folder / "pack"
        if target.exists():  # whole under its final name
            assert all((target / name).read_bytes() == data for name, data in members.items())
        if number % 2:
            recovers("tiny", folder)
            assert all((target / name).read_bytes() == data for name, data in members.items())
            assert sorted(p.name for p in folder.iterdir()) == ["pack", "pack.zip"]
    assert hits >= 4
