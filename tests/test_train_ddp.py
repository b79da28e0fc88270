"""Training by two processes under torchrun (gloo) is training by one: weights, log, looks, and going on after a stop."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import small_training as small
import torch
from small_training import same

from scirep_core.training import loop
from scirep_core.training.checkpoint import read_log
from scirep_core.training.config import TrainConfig
from scirep_core.training.data import TrainTask

# Adam divides by the gradient's size, so a last digit's difference in a gradient of nearly 0 would be a whole step: a
# large epsilon makes the step follow the gradient, and a wrong weight of one process shows as what it is
CONFIG = TrainConfig(
    steps=12, batch=7, accumulation=2, learning_rate=0.1, head_lr=0.4, epsilon=1.0, schedule="constant", warmup=0, clip=1.0,
    dropout=0.0, checkpoint_every=5, validation_rows=20, seed=3,
)  # fmt: skip
CONTRASTIVE: dict[str, object] = {"triplet_loss": "contrastive", "accumulation": 1}
CASES: dict[str, tuple[str, dict[str, object]]] = {
    "mtl_cls": ("plain", {}),
    "ctrl": ("control_codes", {}),
    "best_look": ("plain", {"validate_every": 5}),
    "one_task_a_batch": ("plain", {"mixing": "homogeneous", "batch": 3}),
    "contrastive": ("control_codes", {"triplet_loss": "contrastive"}),
    "contrastive_one_task": ("plain", CONTRASTIVE | {"mixing": "homogeneous", "batch": 5}),
    "contrastive_few": ("plain", CONTRASTIVE | {"batch": 3}),
    "in_batch_margin": ("control_codes", {"triplet_loss": "in_batch_margin"}),
    "in_batch_margin_few": ("plain", {"triplet_loss": "in_batch_margin", "batch": 3, "accumulation": 1}),
    "balanced": ("control_codes", {"loss_balance": 0.5}),
    "balanced_one_task": ("plain", {"loss_balance": 2.0, "mixing": "homogeneous", "batch": 3}),
    "dense": ("plain", {"dense": True}),
    "dense_one_task": ("plain", {"dense": True, "mixing": "homogeneous", "batch": 1}),
}
"""Seven rows over four tasks: a process has rows of a task that the other has none of, and in turn one row more. In-batch
negatives are those of both, also where one of them has no query; a document that both need takes its labels once."""


def some_without_negative(made: list[TrainTask]) -> list[TrainTask]:
    """Return the tasks with every third triplet's negative taken away."""
    rows = made[3].rows.copy()
    rows[::3, 2] = -1
    return [*made[:3], replace(made[3], rows=rows)]


def trained(kind: str, config: TrainConfig, folder: Path, dropout: float = 0.0) -> dict[str, torch.Tensor]:
    # what a conditioning draws differs by process, as it would for whoever forgets to seed: the first one's counts
    made = small.model(kind, dropout=dropout)
    if (rank := int(os.environ.get("RANK", "0"))) and kind != "plain":
        with torch.no_grad():
            for parameter in made.conditioning.parameters():
                parameter += rank
    given = some_without_negative(small.tasks()) if config.triplet_loss == "contrastive" else small.tasks()
    loop.train(made, given, config, folder, small.tasks(1)[:2])
    return {name: value.clone() for name, value in made.state_dict().items()}


class Stopped(Exception):
    pass


def in_a_process(out: Path) -> None:
    """What each process of torchrun does: all cases, then one with dropout that is stopped and goes on."""
    rank = os.environ["RANK"]
    states = {name: trained(kind, replace(CONFIG, **more), out / name) for name, (kind, more) in CASES.items()}
    wet = replace(CONFIG, dropout=0.2)
    states["whole"] = trained("plain", wet, out / "whole", dropout=0.2)
    keep = loop.save

    def save_and_stop(folder, at, *more):
        keep(folder, at, *more)
        if at.step == 5:
            raise Stopped

    loop.save = save_and_stop
    for name, config, dropout in (("stopped", wet, 0.2), ("handed_over", CONFIG, 0.0)):
        with pytest.raises(Stopped):
            trained("plain", config, out / name, dropout)
    loop.save = keep
    states["stopped"] = trained("plain", wet, out / "stopped", dropout=0.2)
    torch.save(states, out / f"states-{rank}.pt")


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run by two processes."""
    out = tmp_path_factory.mktemp("two")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--master_addr=127.0.0.1",
             f"--master_port={port}", __file__, str(out)]  # fmt: skip
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def states(two: Path, rank: int) -> dict[str, dict[str, torch.Tensor]]:
    return torch.load(two / f"states-{rank}.pt", weights_only=True)


def test_both_processes_hold_the_same_bits(two: Path):
    first, second = states(two, 0), states(two, 1)
    assert set(first) == {*CASES, "whole", "stopped"} and all(same(first[case], second[case]) for case in first)


@pytest.mark.parametrize("case", CASES)
def test_two_processes_train_what_one_does_and_the_log_counts_what_both_did(two: Path, tmp_path: Path, case: str):
    kind, more = CASES[case]
    alone, start = trained(kind, replace(CONFIG, **more), tmp_path), small.model(kind, dropout=0.0).state_dict()
    assert max(float((alone[name] - start[name]).abs().max()) for name in alone) > 0.01  # or nothing would be compared
    torch.testing.assert_close(states(two, 0)[case], alone, rtol=0, atol=1e-5)
    for ours, theirs in zip(read_log(two / case), read_log(tmp_path), strict=True):
        what = "validation" if "validation" in theirs else "losses"
        assert ours["step"] == theirs["step"] and ours[what] == pytest.approx(theirs[what], abs=1e-4)
        if what == "losses":  # a document that two processes need is encoded by both
            assert ours["documents"] >= theirs["documents"] and ours["tokens"] >= theirs["tokens"]


def test_a_stopped_training_goes_on_to_the_same_bits_with_dropout_too(two: Path):
    found = states(two, 0)
    assert same(found["whole"], found["stopped"])
    logs = ([row.get("losses", row.get("validation")) for row in read_log(two / one)] for one in ("whole", "stopped"))
    assert json.dumps(next(logs)) == json.dumps(next(logs))
    name = "trunk.words.weight"
    assert not torch.equal(found["whole"][name], found["mtl_cls"][name])  # there was dropout


def test_one_process_goes_on_where_two_stopped(two: Path):
    """What is sampled depends on the step alone, not on who asks."""
    found = trained("plain", CONFIG, two / "handed_over")
    torch.testing.assert_close(found, states(two, 0)["mtl_cls"], rtol=0, atol=1e-5)


if __name__ == "__main__":
    in_a_process(Path(sys.argv[1]))
