"""K3: SIGKILL at any step of fetching and unpacking. In between no wrong file under a final name, then all is well.

A step is a call that touches the disk (a file opened, a block written, a rename ...). The child counts its steps and kills
itself before the one it was told: so every kill strikes a process at work, on any machine. Chains of kills without a
normal run in between are included.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import zipfile
from functools import partial

import pytest
from small_collection import Source, description, honest, settle, unpacking
from small_files import contents, mirrored

from scirep_core.data.manifests import fetch, load_manifest, verify

FILES = {f"f{i}.bin": bytes([i]) * 200_000 for i in range(4)}
TOUCH = {"open", "write", "flush", "close", "fsync", "rename", "replace", "mkdir", "rmdir", "unlink", "remove",
         "truncate"}  # fmt: skip


def steps(work, last=0):
    """Do something and return how many steps it took, if the process did not end before the `last` of them."""
    taken = 0

    def count(frame, event, called):
        nonlocal taken
        if event == "c_call" and called.__name__ in TOUCH and not isinstance(called.__self__, str | bytes):
            taken += 1
            if taken == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return taken


def killed(work, last):
    """Return whether a process that does something is killed before its `last` step."""
    if pid := os.fork():
        return os.waitpid(pid, 0)[1] == signal.SIGKILL
    try:
        steps(work, last)
    finally:
        os._exit(1)


def downloaded():
    fetch("tiny", session=Source(honest(FILES)).session())


def nothing_wrong(name):
    """Whatever has a final name is right, to the byte."""
    assert {state for _, state in verify(name)} <= {"ok", "missing"}


def recovers(name, folder, files):
    """A normal run succeeds and leaves the collection and nothing else."""
    assert fetch(name) == folder
    assert {state for _, state in verify(name)} == {"ok"}
    assert sorted(contents(folder)) == sorted(files) and not (folder / ".incoming").exists()


@pytest.mark.faults
@mirrored("csfcube/LICENSE.md")
def test_30_kills_while_fetching_csfcube(tmp_path, monkeypatch):
    monkeypatch.delenv("SCIREP_MANIFESTS", raising=False)
    for place in ("warm", "whole"):  # the first one loads modules too
        monkeypatch.setenv("SCIREP_HOME", str(tmp_path / place))
        whole = steps(partial(fetch, "csfcube"))
    files = [file.path for file in load_manifest("csfcube").files]
    recovers("csfcube", tmp_path / "whole/data/csfcube", files)
    rng = random.Random(20)
    for number in range(30):
        chain = number >= 20  # the last ten strike one and the same home
        place = tmp_path / ("chain" if chain else f"home{number}")
        monkeypatch.setenv("SCIREP_HOME", str(place))
        assert killed(partial(fetch, "csfcube"), rng.randrange(1, whole // 10 if chain else whole))
        nothing_wrong("csfcube")
        if not chain or number == 29:
            recovers("csfcube", place / "data/csfcube", files)


def test_kills_while_downloading(tmp_path, monkeypatch):
    """Over https: each run goes on where the killed one stopped, so that a chain of kills gets there."""
    checked = [hashlib.sha256(content).hexdigest() for content in FILES.values()]  # whole, not yet under its name
    for place in ("warm", "whole"):
        settle(tmp_path / place, monkeypatch, description(FILES))
        whole = steps(downloaded)
    rng = random.Random(21)
    for number in range(8):
        if number % 2 == 0:
            folder = settle(tmp_path / f"round{number}", monkeypatch, description(FILES))
        assert killed(downloaded, rng.randrange(1, whole // 2))
        nothing_wrong("tiny")
        kept = [*folder.rglob("*.bin"), *folder.rglob("*.part"), *(folder / ".incoming" / s for s in checked)]
        here = sum(path.stat().st_size for path in kept if path.is_file())
        if number % 2:
            source = Source(honest(FILES))
            fetch("tiny", session=source.session())
            assert contents(folder) == FILES
            assert source.sent == 800_000 - here, "what was there is sent again"


def test_kills_while_unpacking(tmp_path, monkeypatch):
    members = {f"d{i % 7}/f{i}.txt": f"{i}\n".encode() * 200 for i in range(300)}
    with zipfile.ZipFile(tmp_path / "pack.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    files = {"pack.zip": (tmp_path / "pack.zip").read_bytes()}
    for place in ("warm", "whole"):
        unpacking(tmp_path / place, monkeypatch, files)
        whole = steps(partial(fetch, "tiny"))
    rng = random.Random(22)
    for number in range(8):  # every second kill strikes the remains of the one before
        folder = unpacking(tmp_path / f"round{number // 2}", monkeypatch, files)
        assert killed(partial(fetch, "tiny"), rng.randrange(1, whole if number % 2 == 0 else whole // 4))
        nothing_wrong("tiny")
        if (folder / "pack").exists():  # whole under its final name
            assert contents(folder / "pack").items() >= members.items()
        if number % 2:
            recovers("tiny", folder, ["pack.zip", "pack/.unpacked.json", *(f"pack/{name}" for name in members)])
            assert contents(folder / "pack").items() >= members.items()
