"""The vector store: keyed by text, checked to the bit, shared by processes, clear about what it cannot do."""

from __future__ import annotations

import logging
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import filelock
import numpy as np
import pytest
from counted import calls, peak

import scirep_core.encoders.vectors.embed as store_
import scirep_core.encoders.vectors.shards as shards_
from scirep_core.data.text import Recipe
from scirep_core.encoders.conditioning.adapted import AdaptedEncoder
from scirep_core.encoders.ensemble import Ensemble, Held
from scirep_core.encoders.hub import TransformersEncoder
from scirep_core.encoders.vectors.embed import embed, encode, folder_of
from scirep_core.kit.errors import CacheError, ConfigError, NumericError
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.store import beside, read_header

HERE = Path(__file__).parent
pytestmark = pytest.mark.usefixtures("home")


class Letters:
    """A stand-in encoder: counts of letters, and a hash of the text; remembers what it was given."""

    name, recipe, dim, formats = "letters", Recipe(". "), 4, ("CLF", "RGN", "PRX", "QRY")

    def __init__(self, fingerprint="letters"):
        self.fingerprint = fingerprint
        self.given: list[list[str]] = []

    def encode(self, texts, format):
        self.given.append(list(texts))
        return np.array([[t.count("a"), t.count("b"), len(t), hash_of(t)] for t in texts], dtype=np.float32)

    def computed(self):
        return sorted(text for group in self.given for text in group)


def hash_of(text):
    return sum(ord(c) * (i % 97 + 1) for i, c in enumerate(text)) % 9973


def expected(texts):
    return Letters().encode(texts, "PRX")


def shards(encoder, format="PRX"):
    return sorted(folder_of(encoder, format).glob("*"))


def contents(encoder):
    return {path.name: path.read_bytes() for path in shards(encoder)}


def words(count, seed=0):
    rng = random.Random(seed)
    return ["".join(rng.choice("abcdef ") for _ in range(rng.randrange(1, 60))) + f" {i}" for i in range(count)]


@pytest.fixture
def group(monkeypatch):
    """Set how many texts are in a shard."""
    return lambda size: monkeypatch.setattr(store_, "SHARD", size)


def test_vectors_come_in_the_given_order_and_are_computed_once(group):
    encoder, texts, seen = Letters(), ["cab", "abc", "zz", "abc", ""], []
    first = embed(encoder, texts, "PRX")
    assert np.array_equal(first, expected(texts))
    assert np.array_equal(encode(encoder, np.array(texts)[::-1], "PRX"), first[::-1])
    assert encoder.given == [["abc", "cab", "zz", ""]]  # longest first, each once
    embed(encoder, texts, "QRY")
    assert len(encoder.given) == 2  # another format is another vector
    group(4)
    embed(encoder, ["a", *(f"x{i}" for i in range(9)), "a"], "PRX", lambda *done: seen.append(done))
    assert seen == [(4, 10), (8, 10), (10, 10)]


def test_calls_that_overlap_compute_only_what_is_missing(group):
    group(16)
    encoder, texts = Letters(), words(200)
    for start, stop in ((0, 100), (50, 150), (120, 130), (0, 200)):
        assert np.array_equal(embed(encoder, texts[start:stop], "PRX"), expected(texts[start:stop]))
    assert encoder.computed() == sorted(set(texts))  # none twice
    assert all(len(group) <= 16 for group in encoder.given)
    listed = [name for path in shards(encoder) for name in read_header(path).meta["texts"]]
    assert sorted(listed) == sorted({store_.text_hash(text) for text in texts})


def test_what_is_there_needs_no_encoder_no_right_to_write_and_one_shard_of_ten(group, monkeypatch):
    group(10)
    encoder, texts, read = Letters(), words(100), []
    embed(encoder, texts, "PRX")
    monkeypatch.setattr(encoder, "encode", None)
    monkeypatch.setattr(shards_, "held", None)
    monkeypatch.setattr(shards_, "read_shard", lambda path, plain=shards_.read_shard: read.append(path) or plain(path))
    assert np.array_equal(embed(encoder, texts[7:8], "PRX"), expected(texts[7:8]))
    assert len(read) == 1


def test_small_calls_leave_small_files_and_reading_them_costs_by_their_number():
    encoder, texts, read = Letters(), words(90), {}
    for first, last in ((0, 30), (30, 90)):
        for text in texts[first:last]:
            embed(encoder, [text], "PRX")
        assert len(shards(encoder)) == last
        read[last] = calls(lambda last=last: embed(encoder, texts[:last], "PRX"))
    assert read[90] < 3.3 * read[30], read
    assert len(encoder.given) == 90


def test_half_a_character_is_read_as_the_replacement_character():
    assert store_.readable("a\ud835b\udd38") == "a\ufffdb\ufffd"
    assert store_.readable("a\ud835\udd38\0") == "a𝔸\0"
    encoder = Letters()
    both = embed(encoder, ["a\ud835", "a\ufffd"], "PRX")
    assert np.array_equal(both[0], both[1]) and encoder.given == [["a\ufffd"]]


def test_what_is_no_list_of_texts_is_refused():
    for wrong in ("one text", [None], [1]):
        with pytest.raises(ConfigError, match="list of strings"):
            embed(Letters(), wrong, "PRX")
    with pytest.raises(ConfigError, match="did you mean 'PRX'"):
        embed(Letters(), ["x"], "PRXX")
    assert embed(Letters(), [], "PRX").shape == (0, 4)
    assert not folder_of(Letters(), "PRX").exists()


def test_100_of_100_flipped_bits_are_noticed_and_mended(group, caplog):
    group(8)
    encoder, texts, rng = Letters(), words(40), random.Random(5)
    good = embed(encoder, texts, "PRX")
    before = contents(encoder)
    for _ in range(100):
        path = rng.choice(shards(encoder))
        content = bytearray(path.read_bytes())
        content[rng.randrange(rng.choice((0, len(content) - 8 * 16)), len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        computed = len(encoder.given)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "scirep"):
            assert np.array_equal(embed(encoder, texts, "PRX"), good)
        assert len(encoder.given) == computed + 1  # that group and no other
        (line,) = [record.getMessage() for record in caplog.records]
        assert str(path) in line and "computed again" in line
        assert contents(encoder) == before


def test_a_shard_of_another_encoder_or_format_is_not_believed():
    encoder, other, texts = Letters(), Letters("other"), words(5)
    embed(other, texts, "PRX")
    (path,) = shards(other)
    for place in (folder_of(encoder, "PRX"), folder_of(other, "CLF")):
        place.mkdir(parents=True)
        (place / path.name).write_bytes(path.read_bytes())
    embed(encoder, texts, "PRX")
    embed(other, texts, "CLF")
    assert (len(encoder.given), len(other.given)) == (1, 2)


def nan_for(word):
    return lambda texts: np.array([[np.nan if t == word else 1.0] * 4 for t in texts], dtype=np.float32)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (nan_for("bad one"), "letters: the vector of text 'bad one' holds NaN"),
        (lambda texts: np.full((len(texts), 2), np.inf), "holds NaN or infinity"),
        (lambda texts: np.zeros((len(texts) + 1, 2)), r"shape \(4, 2\) for 3 texts"),
        (lambda texts: np.zeros(len(texts)), r"shape \(3,\)"),
    ],
)
def test_what_is_no_vector_is_refused_and_nothing_written(result, message, monkeypatch):
    faulty = Letters("faulty")
    monkeypatch.setattr(faulty, "encode", lambda texts, format: result(texts))
    with pytest.raises(NumericError, match=message):
        embed(faulty, ["fine", "bad one", "also fine"], "PRX")
    assert shards(faulty) == []


def test_a_store_that_cannot_be_written_is_one_clear_line(monkeypatch):
    def refuse(*given, **options):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as context:
        context.setattr(Path, "mkdir", refuse)
        with pytest.raises(CacheError, match=r"cannot write \(Permission denied\)\. .*SCIREP_HOME"):
            embed(Letters(), ["x"], "PRX")
    embed(Letters(), ["x"], "PRX")
    monkeypatch.setattr(filelock, "FileLock", refuse)
    with pytest.raises(CacheError, match="Permission denied"):
        embed(Letters(), ["x", "y"], "PRX")


SHARED = """
import sys, time, numpy as np, scirep_core.encoders.vectors.embed as e
_, here, log, kind, format, first, last = sys.argv
sys.path.insert(0, here)
import test_embed
e.SHARD = 4
class Slow(getattr(test_embed, kind)):
    def encode(self, texts, format):
        with open(log, "a") as file:
            file.write("".join(f"{e.text_hash(t)}\\n" for t in texts))
        time.sleep(0.05)
        return super().encode(texts, format)
texts = test_embed.words(60)[int(first):int(last)]
given = test_embed.expected(texts) + (Slow.formats.index(format) if kind == "AtOnce" else 0)
print(np.array_equal(e.embed(Slow("slow"), texts, format), given))
"""


def shared(log, *asked):
    """Several processes embed at once, one of each (kind of encoder, format, first text, last); return what was computed."""
    given = [[sys.executable, "-c", SHARED, str(HERE), str(log), *map(str, words_)] for words_ in asked]
    started = [subprocess.Popen(words_, stdout=subprocess.PIPE, text=True) for words_ in given]
    assert [process.communicate(timeout=120)[0].strip() for process in started] == ["True"] * len(asked)
    return sorted(log.read_text().split())


@pytest.mark.parametrize(
    "asked",
    [
        [("Letters", "PRX", 0, 60)] * 3,
        [("Letters", "PRX", first, last) for first, last in ((0, 45), (15, 60), (30, 50))],
        [("AtOnce", format, 0, 60) for format in ("CLF", "PRX", "QRY")],
    ],
)
def test_processes_share_the_work_and_compute_no_text_twice(tmp_path, asked):
    slow = Letters("slow")
    left = folder_of(slow, "QRY") / ".aa.shard.0a1b2c3d.part"
    left.parent.mkdir(parents=True)
    left.write_text("half")
    assert shared(tmp_path / "log", *asked) == sorted(store_.text_hash(text) for text in words(60))
    assert {path.suffix for path in shards(slow)} == {".shard"}
    assert left.exists() == (asked[0][0] == "Letters")
    if asked[0] == asked[-1]:  # the groups are those of one process alone
        together = contents(slow)
        for path in shards(slow):
            path.unlink()
        shared(tmp_path / "log", asked[0])
        assert contents(slow) == together


def test_threads_share_the_work_too(group):
    group(5)
    encoder, texts = Letters(), words(60)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: embed(encoder, texts[i : i + 30], "PRX"), [0, 10, 20, 30]))
    assert all(np.array_equal(v, expected(texts[i : i + 30])) for v, i in zip(found, [0, 10, 20, 30], strict=True))
    assert encoder.computed() == sorted(texts)


def test_what_the_dead_left_is_removed_and_what_the_living_hold_is_not():
    encoder, texts = Letters(), words(6)
    folder = folder_of(encoder, "PRX")
    folder.mkdir(parents=True)
    dead, living = folder / "aa.claim", folder / "bb.claim"
    dead.write_text(f'["{store_.text_hash(texts[0])}"]')
    living.write_text(f'["{store_.text_hash("somebody else")}"]')
    (folder / ".aa.shard.0a1b2c3d.part").write_text("half")
    with filelock.FileLock(living), beside(folder / "bb.shard") as part:
        assert np.array_equal(embed(encoder, texts, "PRX"), expected(texts))
        assert sorted(p.name for p in folder.iterdir() if p.suffix != ".shard") == [part.name, "bb.claim"]


class ByFormat(Letters):
    def encode(self, texts, format):
        return super().encode(texts, format) + self.formats.index(format)


class AtOnce(Letters):
    """Gives all formats' vectors by one pass."""

    shared_pass = True

    def encode_formats(self, texts):
        plain = self.encode(texts, "PRX")
        return {format: plain + i for i, format in enumerate(self.formats)}


def test_an_encoder_that_ignores_the_format_reads_what_it_computed_for_another(monkeypatch):
    monkeypatch.setattr(Letters, "by_format", False, raising=False)
    encoder, texts = Letters(), words(30)
    embed(encoder, texts[:20], "PRX")
    assert np.array_equal(embed(encoder, texts, "CLF"), expected(texts))
    assert encoder.computed() == sorted(texts)
    assert len(shards(encoder, "CLF")) == 1
    assert TransformersEncoder.by_format is False  # and adapters are one for each
    assert not hasattr(AdaptedEncoder, "by_format") and not hasattr(Ensemble, "by_format")


def test_one_pass_fills_the_store_of_every_format_or_of_none(group, monkeypatch):
    group(8)
    encoder, texts = AtOnce("at once"), words(30)
    for i, format in enumerate(FORMATS):
        assert np.array_equal(embed(encoder, texts, format), expected(texts) + i)
        assert [path.suffix for path in shards(encoder, format)] == [".shard"] * 4
    assert len(encoder.given) == 4  # groups, once each
    asked_last = [path.stat().st_mtime_ns for f in ("PRX", "QRY", "RGN", "CLF") for path in shards(encoder, f)[:1]]
    assert asked_last == sorted(asked_last)
    bad, whole = AtOnce("bad"), encoder.encode_formats(["a", "b"])
    monkeypatch.setattr(bad, "encode_formats", lambda texts: whole | {"QRY": np.full((2, 4), np.nan)})
    with pytest.raises(NumericError, match="NaN"):
        embed(bad, ["a", "b"], "CLF")
    assert not [path for format in FORMATS for path in shards(bad, format)]


def test_an_encoder_held_to_a_format_shares_the_store_of_what_it_holds():
    encoder, texts = ByFormat("by format"), words(12)
    held = Held("letters#RGN", encoder, "RGN")
    first = embed(held, texts, "PRX")
    assert np.array_equal(first, expected(texts) + 1)
    for same, format in ((held, "QRY"), (encoder, "RGN")):
        assert np.array_equal(embed(same, texts, format), first)
    assert len(encoder.given) == 1
    assert np.array_equal(embed(encoder, texts, "PRX"), expected(texts) + 2)  # what is not held is as it was
    assert np.array_equal(held.encode(texts, "PRX"), first)
    others = [Held("letters#CLF", encoder, "CLF").fingerprint, held.fingerprint, encoder.fingerprint]
    assert len(set(others)) == 3


def test_memory_beside_the_result_does_not_grow_with_the_stored_vectors(monkeypatch):
    monkeypatch.setattr(Letters, "encode", lambda self, texts, format: np.ones((len(texts), 2000), dtype=np.float32))
    texts = [f"{i:06d}" for i in range(4096)]
    embed(Letters(), texts, "PRX")  # 8 shards of 4 MB
    most = 4096 * 2000 * 4 + 4 * 512 * 2000 * 4  # the result, and a few copies of one shard
    assert peak(lambda: embed(Letters(), texts, "PRX")) < most
