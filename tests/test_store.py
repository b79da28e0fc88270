"""Files are whole or absent: atomic writes, checked shards, errors that name the file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from scirep_core.kit import store
from scirep_core.kit.errors import CacheError, nearest


@pytest.mark.parametrize("memory", [False, True])
def test_a_failed_write_leaves_the_old_file_and_no_rest_in_memory_as_on_a_disk(tmp_path, memory):
    if memory and not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm to write to")
    with TemporaryDirectory(dir="/dev/shm" if memory else tmp_path) as folder:
        path = Path(folder) / "a.txt"
        store.write_text(path, "old")
        with pytest.raises(RuntimeError), store.atomic(path) as stream:
            stream.write(b"half")
            raise RuntimeError
        assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]


def test_a_pipe_and_a_device_that_leads_to_a_file_are_written_to_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    store.write_text(pipe, "rows")
    assert os.read(reader, 10) == b"rows" and pipe.is_fifo()
    os.close(reader)
    with (tmp_path / "a.txt").open("wb") as stream:
        device = Path(f"/dev/fd/{stream.fileno()}")
        store.write_text(device, "told\n")
        assert device.exists()
    assert (tmp_path / "a.txt").read_text() == "told\n"


def test_a_full_disk_is_one_clear_line_and_nothing_half_written(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CacheError, match=r"b.txt: cannot write \(No space left on device\). Free space"):
        store.write_text(tmp_path / "b.txt", "x" * 100)
    assert not list(tmp_path.iterdir())


def test_sigkill_while_writing_never_leaves_a_file_under_its_name(tmp_path):
    code = (
        "import sys, pathlib, scirep_core.kit.store as s\n"
        "p = pathlib.Path(sys.argv[1])\n"
        "with s.atomic(p) as f:\n    f.write(b'x' * 10**6); f.flush(); print('in', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "c")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"in\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "c").exists()
    store.write_text(tmp_path / "c", "whole")
    assert (tmp_path / "c").read_text() == "whole"


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<i8"])
def test_shards_come_back_bit_for_bit_and_every_flipped_bit_and_truncation_is_detected(tmp_path, dtype):
    path, array = tmp_path / "x", (100 * np.random.default_rng(0).random((3, 4))).astype(dtype)
    store.write_shard(path, array, {"ids": ["ä", "b"]})
    back, meta = store.read_shard(path)
    assert (back.dtype, meta) == (array.dtype, {"ids": ["ä", "b"]}) and np.array_equal(back, array)
    good = path.read_bytes()
    for position in range(len(good)):
        path.write_bytes(good[:position] + bytes([good[position] ^ (1 << position % 8)]) + good[position + 1 :])
        with pytest.raises(CacheError, match="Delete the file"):
            store.read_shard(path)
    for length in range(len(good)):
        path.write_bytes(good[:length])
        with pytest.raises(CacheError):
            store.read_shard(path)


def test_stable_hash_ignores_key_order_and_refuses_nan():
    assert store.stable_hash({"a": 1, "b": [2]}) == store.stable_hash({"b": [2], "a": 1})
    assert store.stable_hash({"a": 1}) != store.stable_hash({"a": 2})
    with pytest.raises(ValueError, match="JSON"):
        store.stable_hash({"a": float("nan")})


def test_hash_of_large_files_sees_size_and_both_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "WHOLE", 10)
    monkeypatch.setattr(store, "_END", 4)
    hashes = set()
    for content in (b"abcd----------wxyz", b"abcX----------wxyz", b"abcd----------wxyX", b"abcd---------wxyz"):
        (tmp_path / "f").write_bytes(content)
        hashes.add(store.sampled_hash(tmp_path / "f"))
    assert len(hashes) == 4


def test_long_lists_of_valid_names_are_cut():
    assert nearest("name5", [f"name{i}" for i in range(100)]).endswith("and 80 more")
