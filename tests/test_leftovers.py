"""What a killed writer leaves: the next who writes the same place finishes or clears it, and nobody else's is touched.

A writer is forked and killed before a rename or a sync, at each in turn: points are counted, not timed.
"""

from __future__ import annotations

import os
import signal
import stat

import numpy as np
import pytest
from small_files import contents
from test_model_store import model, tokens

from scirep_core import data as embedded
from scirep_core.bench import score_cache
from scirep_core.data.literature import emit
from scirep_core.data.text import Recipe
from scirep_core.encoders.models.model_store import describe, finished, save_model, working
from scirep_core.kit import store


def killed(work, stop):
    """Run something in a process that is killed before its `stop`-th rename or sync; return whether it came so far."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == signal.SIGKILL
    done = []

    def counted(call):
        def call_or_die(*given, **named):
            done.append(call)
            if len(done) == stop:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **named)

        return call_or_die

    os.replace, os.rename, os.fsync = counted(os.replace), counted(os.rename), counted(os.fsync)
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def whole_after_any_kill(place, work, least):
    """Kill a writer at each point on a folder of its own, then once more on what was left, and let it finish."""
    work()
    alone, stop = contents(place), 0
    while True:
        store._remove(place)
        stop += 1
        if not killed(work, stop):
            break
        killed(work, stop)
        work()
        assert contents(place) == alone, f"killed before point {stop}"
    assert stop > least


def test_a_file_and_a_shard(tmp_path):
    place = tmp_path / "files"

    def work():
        store.write_text(place / "a.txt", "whole")
        store.write_shard(place / "b.shard", np.arange(6.0), {})

    whole_after_any_kill(place, work, 6)


def test_a_saved_model(tmp_path):
    def save(seed):
        save_model(model(seed=seed), tokens(), tmp_path / "m", Recipe(), 24)

    save(0)
    before = describe(tmp_path / "m")
    for stop in (1, 6):
        assert killed(lambda: save(1), stop) and describe(tmp_path / "m") == before
    save(1)
    assert describe(tmp_path / "m") != before


def test_kept_rows(home):
    key = {"task": ["small/proximity", "1", "embedded", "hash"]}
    whole_after_any_kill(score_cache.folder(), lambda: score_cache.write(key, []), 3)


def test_the_embedded_literature_as_files(tmp_path, monkeypatch):
    ensure, out, stop = embedded.ensure, tmp_path / "out", 1
    few = {name: emit.COLLECTIONS[name] for name in ("literature", "recommendation")}
    monkeypatch.setattr(emit, "COLLECTIONS", few)
    monkeypatch.setattr(embedded, "TASKS", {"scimult/recommendation": embedded.TASKS["scimult/recommendation"]})
    monkeypatch.setattr(embedded, "ensure", lambda root, name, *given: name == "csfcube" or ensure(root, name, *given))
    monkeypatch.setattr(embedded.shutil, "copytree", lambda *_: None)

    def work():
        embedded.write_embedded(out, 300, 0)

    work()
    alone = contents(out)
    store._remove(out)
    while killed(work, stop):  # all on one folder, each a point further
        stop += 1
        assert stop < 300
    work()
    assert stop > 20 and len(alone) > 5 and contents(out) == alone


def test_a_folder_that_replaces_another(tmp_path):
    place, stop = tmp_path / "model", 0

    def put(name):
        with store.atomic_folder(place) as part:
            (part / name).write_text(name)

    while True:
        store._remove(tmp_path)
        put("old")
        if not killed(lambda: put("new"), stop := stop + 1):
            break
        store.settle(tmp_path, "model")  # as each writer does first
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
        assert contents(place) in ({"old": b"old"}, {"new": b"new"})
    assert stop == 4 and contents(tmp_path) == {"model/new": b"new"}


def test_what_the_living_write_and_what_is_not_ours_stays(tmp_path):
    path = tmp_path / "a.txt"
    others = {".a.txt.swp", ".a.txt.part", ".a.txt.0a1b2c3.part", ".b.txt.0a1b2c3d.part", "a.txt.0a1b2c3d.part"}
    for name in (*others, ".a.txt.0a1b2c3d.part"):
        (tmp_path / name).write_text("theirs")
    with store.atomic(path) as stream:
        stream.write(b"first")
        store.write_text(path, "second")
        assert path.read_text() == "second"
    assert path.read_text() == "first" and {name.name for name in tmp_path.iterdir()} == others | {"a.txt"}


def test_who_is_taken_for_dead_before_the_lock_begins_again(tmp_path, monkeypatch):
    lock, swept = store._lock, []

    def late(part, wait):
        if wait and not swept:
            swept.append(part)
            store.settle(part.parent)
            assert not part.exists()
        return lock(part, wait)

    monkeypatch.setattr(store, "_lock", late)
    store.write_text(tmp_path / "a.txt", "whole")
    assert swept and contents(tmp_path) == {"a.txt": b"whole"}


@pytest.mark.parametrize("mask, mode", [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_a_file_has_the_mode_that_the_user_gives_files_and_nobody_s_mask_is_set(tmp_path, monkeypatch, mask, mode):
    before = os.umask(mask)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda _: pytest.fail("another thread's files would have this mask"))
            store.write_text(tmp_path / "a.txt", "x")
            with store.atomic_folder(tmp_path / "b") as part:
                store.write_text(part / "c.txt", "x")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.txt", "b/c.txt", "b")]
    assert modes == [mode, mode, 0o777 & ~mask]


def test_files_and_the_folders_that_name_them_are_synced_and_nothing_else_is(tmp_path, monkeypatch):
    synced, fsync, two = set(), os.fsync, tmp_path / "two"
    monkeypatch.setattr(os, "sync", lambda: pytest.fail("the whole machine would wait"))
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.add(os.fstat(handle).st_ino), fsync(handle)))

    def now(folder, *names):
        found = {(folder / name).stat().st_ino for name in names} == synced
        synced.clear()
        return found

    store.write_text(tmp_path / "one" / "a", "x")
    assert now(tmp_path / "one", "", "a")
    for name in ("deep/b", "c"):
        with store.atomic(two / name, sync=False) as stream:
            stream.write(b"x")
    assert not synced
    store.sync_tree(two)
    assert now(two, "", "deep", "deep/b", "c")
    store.sync_tree(two, [two / "deep" / "b"])  # and nothing of others
    assert now(two, "", "deep", "deep/b")


def test_a_saved_model_needs_no_checkpoint_any_more(tmp_path):
    model = tmp_path / "model"
    working(model).mkdir()
    assert not finished(model) and working(model).is_dir()
    model.mkdir()
    (model / "scirep.json").write_text("{}")
    assert finished(model) and not working(model).exists()
