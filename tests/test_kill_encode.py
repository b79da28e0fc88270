"""K1: SIGKILL at random instants of encoding. What lies there is right at any time, and the next run ends in the same bytes.

A process that has imported everything forks the ones that are killed, so that the kills strike the encoding.
"""

from __future__ import annotations

import json

import pytest
from scripts import alone

HARNESS = """
import json, os, random, signal, sys, time
from pathlib import Path
import numpy as np
import scirep_core.encoders.vectors.embed as e
from scirep_core.encoders.vectors import encoding, folder as vector_folder
from test_embed import Letters, words

kind, root, kills = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
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
rng = random.Random(int(sys.argv[4]))
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
    told = json.loads(alone(HARNESS, kind, tmp_path, 30, 7))
    assert told["hits"] >= 30
    # nothing is lost but the unit that was in work at each kill
    assert told["computed"] <= told["texts"] * told["homes"] + unit * told["hits"]
