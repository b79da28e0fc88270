"""A training is stopped before everything it does to its folder, at each such point in turn, and goes on to the same bits.

The points are counted, not timed: appending to the log, half of a line, syncing a file, and renaming it to its name. In the
process that is stopped and in the one that goes on, whoever is told of the progress draws random numbers, as measuring the
machine once did.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import small_training as small
import torch
from scripts import alone

from scirep_core.encoders.trunk import speed
from scirep_core.training import checkpoint, loop
from scirep_core.training.checkpoint import CHECKPOINT, read_checkpoint

SHORT = replace(small.CONFIG, steps=6, warmup=2, checkpoint_every=2, validate_every=3)
LOOKED = 12
"""Documents of the validation tasks."""

HARNESS = """
import json, os, shutil, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from test_kill_points import LOOKED, SHORT, small
from scirep_core.training import loop
from scirep_core.training import checkpoint

loop.matrix_rate = lambda *_: 1.0  # every process would measure it
root, points = Path(sys.argv[1]), []
replace_, fsync, append = os.replace, os.fsync, checkpoint.append

def at(name, stop):
    points.append(name)
    if len(points) == stop:
        os.kill(os.getpid(), signal.SIGKILL)

def start(folder, stop=0):
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    code, told = 1, []
    def half(folder, rows):
        at("before the log", stop)
        points.append("half a line")
        if len(points) == stop:
            with (folder / checkpoint.LOG).open("a") as stream:
                stream.write(json.dumps(rows[0])[:9])
            os.kill(os.getpid(), signal.SIGKILL)
        append(folder, rows)
    os.replace = lambda a, b: (at(f"before renaming {Path(b).name}", stop), replace_(a, b), at("after it", stop))
    os.fsync = lambda handle: (at("before syncing", stop), fsync(handle))
    checkpoint.append = loop.append = half
    def progress(line):
        if not told:
            torch.rand(7)
        told.append(line)
    try:
        loop.train(small.model(), small.tasks(), SHORT, folder, small.tasks(1, LOOKED), progress)
        (folder / "points.json").write_text(json.dumps(points))
        code = 0
    finally:
        os._exit(code)

def whole(folder):
    assert start(folder) == 0
    log = [{k: v for k, v in row.items() if k != "seconds"} for row in checkpoint.read_log(folder)]
    return {name: (folder / name).read_bytes() for name in ("checkpoint.shard", "best.shard")}, log

loop.train(small.model(), small.tasks(), SHORT, root / "warm", small.tasks(1, LOOKED))  # so that no fork begins cold
alone, differ = whole(root / "alone"), []
found = json.loads((root / "alone" / "points.json").read_text())
for stop in range(1, len(found) + 1):
    folder = root / str(stop)
    assert start(folder, stop) == signal.SIGKILL
    if whole(folder) != alone:
        differ.append([stop, found[stop - 1]])
    shutil.rmtree(folder)
print(json.dumps({"points": found, "differ": differ}))
"""


@pytest.mark.slow
def test_a_training_stopped_at_any_point_of_writing_goes_on_to_the_same_bits(tmp_path):
    told = json.loads(alone(HARNESS, tmp_path, OMP_NUM_THREADS="1"))
    assert {"before the log", "half a line", "before syncing", "before renaming checkpoint.shard",
            "before renaming best.shard", "after it"} == set(told["points"])  # fmt: skip
    assert len(told["points"]) >= 20
    assert told["differ"] == []


def test_measuring_the_machine_draws_nothing_from_anybody():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    speed._rate.__wrapped__("cpu", "float32", 16, torch.get_num_threads())
    assert torch.equal(torch.get_rng_state(), before)


class Stop(Exception):
    """Raised in place of a kill."""


def test_who_goes_on_computes_with_as_many_threads_as_the_training_began_with(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "matrix_rate", lambda *_: 1.0)
    seen = []
    write = checkpoint.write_checkpoint

    def stopped(path, *given):
        write(path, *given)
        raise Stop

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        monkeypatch.setattr(checkpoint, "write_checkpoint", stopped)
        with pytest.raises(Stop):
            loop.train(small.model(), small.tasks(), SHORT, tmp_path / "a")
        monkeypatch.setattr(checkpoint, "write_checkpoint", write)
        torch.set_num_threads(1)
        progress = lambda _: seen.append(torch.get_num_threads())  # noqa: E731
        loop.train(small.model(), small.tasks(), SHORT, tmp_path / "a", progress=progress)
        assert set(seen) == {2}
        assert torch.get_num_threads() == 1  # of whoever called, as it was
        torch.set_num_threads(2)
        loop.train(small.model(), small.tasks(), SHORT, tmp_path / "b")
    finally:
        torch.set_num_threads(before)
    assert (tmp_path / "a" / CHECKPOINT).read_bytes() == (tmp_path / "b" / CHECKPOINT).read_bytes()


def test_what_a_checkpoint_gives_the_optimiser_lies_in_memory_of_torch(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "matrix_rate", lambda *_: 1.0)
    kept = []
    restore = checkpoint.restore

    def watched(tensors, module, heads, optimizer, source):
        restore(tensors, module, heads, optimizer, source)
        theirs = {value.data_ptr() for value in tensors.values()}
        kept.extend(value for state in optimizer.state.values() for value in state.values())
        assert not {value.data_ptr() for value in kept} & theirs

    monkeypatch.setattr(checkpoint, "restore", watched)
    loop.train(small.model(), small.tasks(), SHORT, tmp_path)
    loop.train(small.model(), small.tasks(), SHORT, tmp_path)
    assert kept
    assert "random" in read_checkpoint(tmp_path / CHECKPOINT).tensors
