"""K1: SIGKILL at random instants of encoding. What lies there is right at any time, and the next run ends in the same bytes.

A process that has imported everything forks the ones that are killed, so that the kills strike the encoding.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scirep_core import cli
from scirep_core.encoders.vectors import embed

HERE = Path(__file__).parent

HARNESS = """
import json, os, random, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy as np
import scirep_core.encoders.vectors.embed as e
from scirep_core.encoders.vectors import encoding, folder as vector_folder
from test_embed import Letters, words

kind, root, kills = sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
e.SHARD, e.POLL, vector_folder.POLL, vector_folder.GROUP = 4, 0.005, 0.005, 3
texts, log = words(240), root / "log"
papers = root / "papers.jsonl"
papers.write_text("".join(json.dumps({"paper_id": i, "title": t}) + "\\n" for i, t in enumerate(texts)))

class Slow(Letters):
    def encode(self, texts, format):
        if log_it:
            with log.open("a") as stream:
                stream.write(f"{len(texts)}\\n")
            time.sleep(0.004)
        return np.repeat(super().encode(texts, format), 50, axis=1)

def work(home):
    os.environ["SCIREP_HOME"] = str(home)
    if kind == "store":
        e.embed(Slow(), texts, "PRX")
    else:
        encoder, out = Slow(), home / "out"
        plan = encoding.plan(papers, out, encoder, "PRX", per_shard=6)
        vector_folder.encode_folder(papers, out, plan, encoder, "PRX")

def files(home):
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}

def start(home):
    pid = os.fork()
    if pid == 0:
        try:
            work(home)
        finally:
            os._exit(0)
    return pid

log_it = False
work(root / "whole")
log_it = True
whole = files(root / "whole")
rng = random.Random(int(sys.argv[5]))
hits = homes = 0
while hits < kills:
    home = root / f"home{homes}"
    homes += 1
    home.mkdir()
    for _ in range(6):  # a chain of kills on one home, sometimes with a companion that goes on
        pid = start(home)
        other = start(home) if rng.random() < 0.2 else None
        time.sleep(rng.uniform(0, 0.1))
        os.kill(pid, signal.SIGKILL)
        hits += os.waitpid(pid, 0)[1] == signal.SIGKILL
        if other:
            os.waitpid(other, 0)
        for name, content in files(home).items():
            if name.endswith((".shard", ".json")):
                assert whole[name] == content, name
    work(home)
    assert files(home) == whole, sorted(set(files(home)) ^ set(whole))
print(json.dumps({"hits": hits, "homes": homes, "texts": len(texts), "computed": sum(map(int, log.read_text().split()))}))
"""


@pytest.mark.parametrize(("kind", "unit"), [("store", 4), ("folder", 6)])
def test_30_kills_and_the_files_are_those_of_a_run_left_alone(tmp_path, kind, unit):
    done = subprocess.run(
        [sys.executable, "-c", HARNESS, str(HERE), kind, str(tmp_path), "30", "7"],
        capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["hits"] >= 30
    # nothing is lost but the unit that was in work at each kill
    assert told["computed"] <= told["texts"] * told["homes"] + unit * told["hits"]


@pytest.mark.slow
@pytest.mark.parametrize(("target", "least"), [("v.npz", 2), ("folder", 5)])
def test_minilm_is_killed_and_goes_on_to_the_same_bytes(tmp_path, monkeypatch, target, least):
    papers = tmp_path / "papers.jsonl"
    rows = [
        {"paper_id": f"p{i}", "title": f"Parsing {i} sentences", "abstract": "We count birds. " * (i % 7)}
        for i in range(96)
    ]
    papers.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def words(home: Path) -> list[str]:
        given = ["encode", "--encoder", "minilm", "--format", "PRX", "--papers", papers, "--shard", 8]
        return [str(word) for word in (*given, "--out", home / target)]

    def start(home: Path) -> subprocess.Popen[bytes]:
        code = "import scirep_core.encoders.vectors.embed as e; e.SHARD = 8; from scirep_core.cli import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, *words(home)],
            env=os.environ | {"SCIREP_HOME": str(home)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def left_alone(home: Path) -> dict[str, bytes]:
        """Run to the end in this process, which has the model in memory; return the files."""
        monkeypatch.setenv("SCIREP_HOME", str(home))
        monkeypatch.setattr(embed, "SHARD", 8)
        with pytest.raises(SystemExit) as left:
            cli.main(words(home))
        assert not left.value.code
        return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}

    killed = tmp_path / "killed"
    process = start(killed)
    while len(list(killed.rglob("*.shard"))) < least and process.poll() is None:
        time.sleep(0.004)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert least <= len(list(killed.rglob("*.shard"))) < 12
    assert left_alone(killed) == left_alone(tmp_path / "whole")
