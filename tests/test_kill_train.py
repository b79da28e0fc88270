"""K2: SIGKILL at 20 random instants of a training with dropout, and step 200 is the same bits: weights, moments, random state.

A process that has trained a little forks the ones that are killed, so that nothing is imported in them, and each is killed after
a share of the processor time that the whole training takes: kills strike the training however busy the machine is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = """
import json, os, random, shutil, signal, sys, time
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
import small_training as small
from scirep_core.training.checkpoint import CHECKPOINT, read_checkpoint, read_log
from scirep_core.training import loop

loop.matrix_rate = lambda *_: 1.0  # every process would measure it
root, kills, rng = Path(sys.argv[2]), int(sys.argv[3]), random.Random(int(sys.argv[4]))
config = replace(small.CONFIG, validate_every=40)
assert config.steps == 200 and config.dropout and small.SHAPE.hidden_dropout_prob

def start(folder):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            torch.manual_seed(os.getpid())  # nothing may hang on what was drawn before
            loop.train(small.model(), small.tasks(), config, folder, small.tasks(1))
            code = 0
        finally:
            os._exit(code)
    return pid

def spent(pid):
    return time.clock_gettime((~pid << 3) | 2)  # Linux's clock of another process's processor time, clock_getcpuclockid(3)

def whole(folder):
    pid = start(folder)
    code, used = os.wait4(pid, 0)[1:]
    assert code == 0
    took.append(used.ru_utime + used.ru_stime)
    log = [{k: v for k, v in row.items() if k != "seconds"} for row in read_log(folder)]
    return {name: (folder / name).read_bytes() for name in ("checkpoint.shard", "best.shard")}, log

def step_of(folder):
    return read_checkpoint(folder / CHECKPOINT).meta["at"]["step"] if (folder / CHECKPOINT).is_file() else 0

loop.train(small.model(), small.tasks(), replace(config, steps=20), root / "warm", small.tasks(1))
took, at = [], []
alone = whole(root / "alone")
length = took[0]
while len(at) < kills:
    folder = root / f"f{len(at)}"
    for _ in range(5):
        pid = start(folder)
        instant = rng.uniform(0, 0.5) * length
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and spent(pid) < instant:
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
        if os.waitpid(pid, 0)[1] == signal.SIGKILL:
            at.append(step_of(folder))  # what is there can be read at any time
    files, log = whole(folder)
    assert files == alone[0], "other bits"
    assert log == alone[1], "another log"
    shutil.rmtree(folder)
steps = [row["step"] for row in alone[1] if "losses" in row]
print(json.dumps({"at": at, "steps": steps, "tensors": sorted(read_checkpoint(root / "alone" / CHECKPOINT).tensors)}))
"""


@pytest.mark.slow
def test_20_kills_and_step_200_is_that_of_a_training_left_alone(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", HARNESS, str(Path(__file__).parent), str(tmp_path), "20", "5"],
        capture_output=True, text=True, check=False, timeout=290, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert len(told["at"]) >= 20
    assert len({step for step in told["at"] if step}) >= 8  # they struck all along, and training went on from there
    assert told["steps"] == list(range(1, 201))
    kinds = {name.split(".")[0] for name in told["tensors"]}
    assert kinds == {"model", "heads", "optimizer", "random"}
