"""The vector store: keyed by text, checked to the bit, shared by processes, clear about what it cannot do."""

from __future__ import annotations

import logging
import random
import subprocess
import sys
from pathlib import Path

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
from scirep_core.kit import claims
from scirep_core.kit.errors import CacheError, ConfigError, NumericError
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


def hash_of(text):
    return sum(ord(c) * (i % 97 + 1) for i, c in enumerate(text)) % 9973


def expected(texts):
    return Letters().encode(texts, "PRX")


def shards(encoder, format="PRX"):
    return sorted(folder_of(encoder, format).glob("*"))


def contents(encoder, format="PRX"):
    return {path.name: path.read_bytes() for path in shards(encoder, format)}


def words(count, seed=0):
    rng = random.Random(seed)
    return ["".join(rng.choice("abcdef ") for _ in range(rng.randrange(1, 60))) + f" {i}" for i in range(count)]


# ---------------------------------------------------------------------------------------------------------- by text


def test_vectors_come_in_the_given_order_and_are_computed_once():
    encoder = Letters()
    texts = ["cab", "abc", "zz", "abc", ""]
    first = embed(encoder, texts, "PRX")
    assert np.array_equal(first, expected(texts))
    assert np.array_equal(encode(encoder, np.array(texts)[::-1], "PRX"), first[::-1])
    assert encoder.given == [["abc", "cab", "zz", ""]]  # longest first, each once
    embed(encoder, texts, "QRY")
    assert len(encoder.given) == 2  # another format is another vector


def test_calls_that_overlap_compute_only_what_is_missing(monkeypatch):
    monkeypatch.setattr(store_, "SHARD", 16)
    encoder, texts = Letters(), words(200)
    for start, stop in ((0, 100), (50, 150), (120, 130), (0, 200)):
        assert np.array_equal(embed(encoder, texts[start:stop], "PRX"), expected(texts[start:stop]))
    given = [text for group in encoder.given for text in group]
    assert sorted(given) == sorted(set(texts))  # none twice
    assert all(len(group) <= 16 for group in encoder.given)
    listed = [name for path in shards(encoder) for name in read_header(path).meta["texts"]]
    assert sorted(listed) == sorted({store_.text_hash(text) for text in texts})


def test_what_is_there_needs_no_encoder_and_no_right_to_write(monkeypatch):
    encoder, texts = Letters(), words(20)
    embed(encoder, texts, "PRX")
    monkeypatch.setattr(encoder, "encode", None)
    monkeypatch.setattr(shards_, "held", None)
    assert np.array_equal(embed(encoder, texts[3:9], "PRX"), expected(texts[3:9]))


def test_small_calls_leave_small_files_and_reading_them_costs_by_their_number():
    encoder, texts, read = Letters(), words(90), {}
    for first, last in ((0, 30), (30, 90)):
        for text in texts[first:last]:
            embed(encoder, [text], "PRX")
        assert len(shards(encoder)) == last
        assert np.array_equal(embed(encoder, texts[:last], "PRX"), expected(texts[:last]))
        read[last] = calls(lambda last=last: embed(encoder, texts[:last], "PRX"))
    assert read[90] < 3.3 * read[30], read
    assert len(encoder.given) == 90


def test_a_group_of_a_large_set_is_read_without_the_rest(monkeypatch):
    monkeypatch.setattr(store_, "SHARD", 10)
    encoder, texts = Letters(), words(100)
    embed(encoder, texts, "PRX")
    read = []
    monkeypatch.setattr(shards_, "read_shard", lambda path, plain=shards_.read_shard: read.append(path) or plain(path))
    embed(encoder, texts[7:8], "PRX")
    assert len(read) == 1  # of ten payloads


def test_progress_counts_texts(monkeypatch):
    monkeypatch.setattr(store_, "SHARD", 4)
    seen = []
    embed(Letters(), ["a", *(f"x{i}" for i in range(9)), "a"], "PRX", lambda done, total: seen.append((done, total)))
    assert seen == [(4, 10), (8, 10), (10, 10)]


@pytest.mark.parametrize(
    "text", ["", "\0", "a\0b", "\ud835", "x\udc00y", "😀", "\u202e עברית", "e\u0301", "\ufffd", "a" * 10**6]
)
def test_any_text_has_a_vector(text):
    encoder = Letters()
    vector = embed(encoder, [text, "other"], "PRX")
    assert np.array_equal(embed(Letters(), ["other", text], "PRX")[::-1], vector)
    assert "".join(encoder.given[0]).encode() is not None  # no half characters reach an encoder


def test_half_a_character_is_read_as_the_replacement_character():
    assert store_.readable("a\ud835b\udd38") == "a\ufffdb\ufffd"
    assert store_.readable("a\ud835\udd38") == "a𝔸"
    encoder = Letters()
    both = embed(encoder, ["a\ud835", "a\ufffd"], "PRX")
    assert np.array_equal(both[0], both[1])
    assert encoder.given == [["a\ufffd"]]


def test_what_is_no_list_of_texts_is_refused():
    for wrong in ("one text", [None], [1]):
        with pytest.raises(ConfigError, match="list of strings"):
            embed(Letters(), wrong, "PRX")
    with pytest.raises(ConfigError, match="did you mean 'PRX'"):
        embed(Letters(), ["x"], "PRXX")
    assert embed(Letters(), [], "PRX").shape == (0, 4)
    assert not folder_of(Letters(), "PRX").exists()


# ----------------------------------------------------------------------------------------------------------- damage


def test_100_of_100_flipped_bits_are_noticed_and_mended(monkeypatch, caplog):
    monkeypatch.setattr(store_, "SHARD", 8)
    encoder, texts = Letters(), words(40)
    good = embed(encoder, texts, "PRX")
    before = contents(encoder)
    rng = random.Random(5)
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
        assert str(path) in line
        assert "computed again" in line
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
    assert len(encoder.given) == 1
    assert len(other.given) == 2


# ----------------------------------------------------------------------------------------------------------- errors


class Faulty(Letters):
    def __init__(self, result):
        super().__init__("faulty")
        self.result = result

    def encode(self, texts, format):
        return self.result(texts)


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
def test_what_is_no_vector_is_refused_and_nothing_written(result, message):
    with pytest.raises(NumericError, match=message):
        embed(Faulty(result), ["fine", "bad one", "also fine"], "PRX")
    assert shards(Faulty(result)) == []


def test_a_store_that_cannot_be_written_is_one_clear_line(monkeypatch):
    def refuse(*given, **options):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as context:
        context.setattr(Path, "mkdir", refuse)
        with pytest.raises(CacheError, match=r"cannot write \(Permission denied\)\. .*SCIREP_HOME"):
            embed(Letters(), ["x"], "PRX")
    embed(Letters(), ["x"], "PRX")
    monkeypatch.setattr(claims, "FileLock", refuse)
    with pytest.raises(CacheError, match="Permission denied"):
        embed(Letters(), ["x", "y"], "PRX")


# -------------------------------------------------------------------------------------------------------- processes

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


@pytest.mark.parametrize("spans", [[(0, 60)] * 3, [(0, 45), (15, 60), (30, 50)]])
def test_processes_share_the_work_and_compute_no_text_twice(tmp_path, spans):
    asked, slow = [("Letters", "PRX", *span) for span in spans], Letters("slow")
    assert shared(tmp_path / "log", *asked) == sorted(store_.text_hash(text) for text in words(60))
    assert {path.suffix for path in shards(slow)} == {".shard"}
    if spans[0] == spans[-1]:  # the groups are those of one process alone
        together = contents(slow)
        for path in shards(slow):
            path.unlink()
        shared(tmp_path / "log", asked[0])
        assert contents(slow) == together


def test_threads_share_the_work_too(monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.setattr(store_, "SHARD", 5)
    encoder, texts = Letters(), words(60)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: embed(encoder, texts[i : i + 30], "PRX"), [0, 10, 20, 30]))
    assert all(np.array_equal(v, expected(texts[i : i + 30])) for v, i in zip(found, [0, 10, 20, 30], strict=True))
    given = [text for group in encoder.given for text in group]
    assert sorted(given) == sorted(texts)


def test_what_the_dead_left_is_removed_and_what_the_living_hold_is_not():
    encoder, texts = Letters(), words(6)
    folder = folder_of(encoder, "PRX")
    folder.mkdir(parents=True)
    dead, living = folder / "aa.claim", folder / "bb.claim"
    dead.write_text(f'["{store_.text_hash(texts[0])}"]')
    living.write_text(f'["{store_.text_hash("somebody else")}"]')
    (folder / ".aa.shard.0a1b2c3d.part").write_text("half")
    lock = claims.FileLock(living)
    lock.acquire()
    with beside(folder / "bb.shard") as part:
        assert np.array_equal(embed(encoder, texts, "PRX"), expected(texts))
        assert sorted(p.name for p in folder.iterdir() if p.suffix != ".shard") == [part.name, "bb.claim"]
    lock.release()


# ----------------------------------------------------------------------------------------- keys, neighbours, memory


def test_an_encoder_that_ignores_the_format_reads_what_it_computed_for_another():
    class Same(Letters):
        by_format = False

    encoder, texts = Same("same"), words(30)
    embed(encoder, texts[:20], "PRX")
    assert np.array_equal(embed(encoder, texts, "CLF"), expected(texts))
    assert sorted(text for group in encoder.given for text in group) == sorted(texts)
    assert len(shards(encoder, "CLF")) == 1
    assert TransformersEncoder.by_format is False
    assert not hasattr(AdaptedEncoder, "by_format")  # an adapter for each
    assert not hasattr(Ensemble, "by_format")


class AtOnce(Letters):
    """Gives all formats' vectors by one pass."""

    shared_pass = True

    def encode_formats(self, texts):
        plain = self.encode(texts, "PRX")
        return {format: plain + i for i, format in enumerate(self.formats)}


def test_one_pass_fills_the_store_of_every_format(monkeypatch):
    monkeypatch.setattr(store_, "SHARD", 8)
    encoder, texts = AtOnce("at once"), words(30)
    for i, format in enumerate(("CLF", "RGN", "PRX", "QRY")):
        assert np.array_equal(embed(encoder, texts, format), expected(texts) + i)
        assert len(shards(encoder, format)) == 4
        assert {path.suffix for path in shards(encoder, format)} == {".shard"}
    assert len(encoder.given) == 4  # groups, once each
    asked_last = [path.stat().st_mtime_ns for f in ("PRX", "QRY", "RGN", "CLF") for path in shards(encoder, f)[:1]]
    assert asked_last == sorted(asked_last)


def test_a_pass_that_gives_one_bad_vector_stores_none_of_any_format():
    class Bad(AtOnce):
        def encode_formats(self, texts):
            return super().encode_formats(texts) | {"QRY": np.full((len(texts), 4), np.nan)}

    with pytest.raises(NumericError, match="NaN"):
        embed(Bad("bad"), ["a", "b"], "CLF")
    assert not [path for format in ("CLF", "RGN", "PRX", "QRY") for path in shards(Bad("bad"), format)]


def test_processes_that_ask_for_different_formats_share_one_pass(tmp_path):
    left = folder_of(AtOnce("slow"), "QRY") / ".aa.shard.0a1b2c3d.part"
    left.parent.mkdir(parents=True)
    left.write_text("half")
    computed = shared(tmp_path / "log", *(("AtOnce", format, 0, 60) for format in ("CLF", "PRX", "QRY")))
    assert computed == sorted(store_.text_hash(text) for text in words(60))
    assert not left.exists()


def test_an_encoder_held_to_a_format_shares_the_store_of_what_it_holds():
    class ByFormat(Letters):
        def encode(self, texts, format):
            return super().encode(texts, format) + self.formats.index(format)

    encoder, texts = ByFormat("by format"), words(12)
    held = Held("letters#RGN", encoder, "RGN")
    first = embed(held, texts, "PRX")
    assert np.array_equal(first, expected(texts) + 1)
    assert np.array_equal(embed(held, texts, "QRY"), first)
    assert np.array_equal(embed(encoder, texts, "RGN"), first)
    assert len(encoder.given) == 1
    assert np.array_equal(embed(encoder, texts, "PRX"), expected(texts) + 2)  # what is not held is as it was
    assert np.array_equal(held.encode(texts, "PRX"), first)
    others = [Held("letters#CLF", encoder, "CLF").fingerprint, held.fingerprint, encoder.fingerprint]
    assert len(set(others)) == 3


def test_memory_beside_the_result_does_not_grow_with_the_stored_vectors():
    class Wide(Letters):
        def encode(self, texts, format):
            return np.ones((len(texts), 2000), dtype=np.float32)

    texts = [f"{i:06d}" for i in range(4096)]
    embed(Wide("wide"), texts, "PRX")  # 8 shards of 4 MB
    most = 4096 * 2000 * 4 + 4 * 512 * 2000 * 4  # the result, and a few copies of one shard
    assert peak(lambda: embed(Wide("wide"), texts, "PRX")) < most
