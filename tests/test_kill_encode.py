"""K1: SIGKILL while encoding. What lies there is right at any time, and the next run ends in the same bytes.

Points are counted, not timed: a process is killed before each of its renames and syncs, in turn, and once more on what was left.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from small_files import contents, jsonl
from test_embed import Letters, words
from test_leftovers import killed

import scirep_core.encoders.vectors.embed as store
from scirep_core.encoders.vectors import encoding
from scirep_core.encoders.vectors import folder as vector_folder

TEXTS = words(24)


@pytest.mark.parametrize(("kind", "unit"), [("store", 4), ("folder", 6)])
def test_a_kill_loses_no_more_than_the_unit_in_work_and_the_files_are_those_of_a_run_left_alone(
    tmp_path, monkeypatch, kind, unit
):
    monkeypatch.setattr(store, "SHARD", unit)
    monkeypatch.setattr(vector_folder, "GROUP", 3)
    papers = jsonl(tmp_path / "papers.jsonl", ({"paper_id": i, "title": t} for i, t in enumerate(TEXTS)))
    log = tmp_path / "log"

    class Logged(Letters):
        def encode(self, texts, format):
            with log.open("a") as stream:
                stream.write(f"{len(texts)}\n")
            return np.repeat(super().encode(texts, format), 50, axis=1)

    def work(home):
        monkeypatch.setenv("SCIREP_HOME", str(home))
        if kind == "store":
            store.embed(Logged(), TEXTS, "PRX")
        else:
            plan = encoding.plan(papers, home / "out", Logged(), "PRX", per_shard=unit)
            vector_folder.encode_folder(papers, home / "out", plan, Logged(), "PRX")

    work(tmp_path / "whole")
    whole = contents(tmp_path / "whole")
    for stop in itertools.count(1):
        home, kills = tmp_path / f"home{stop}", 0
        log.unlink(missing_ok=True)
        for again in (stop, max(1, stop // 2)):
            kills += killed(lambda home=home: work(home), again)
            left = contents(home).items()
            assert {(name, content) for name, content in left if name.endswith((".shard", ".json"))} <= whole.items()
        if not kills:
            break
        work(home)
        # a claim of who died after the last vector stays until somebody computes again (test_embed)
        assert {name: held for name, held in contents(home).items() if not name.endswith(".claim")} == whole, stop
        computed = sum(map(int, log.read_text().split()))
        assert computed <= len(TEXTS) + unit * kills
    assert stop > 12
