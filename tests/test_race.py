"""A race gives all ways the same texts and weights, in turn, and says of each what it computed beside what was asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scirep_core.bench.speed import race as race_
from scirep_core.bench.speed.race import Lane, race, run
from scirep_core.book.explain import recompute
from scirep_core.encoders.trunk.number_types import machine
from scirep_core.encoders.trunk.shapes import filled, words
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.results import read_results

TEXTS = [" ".join(f"w{i * 7 % 90}" for i in range(5 + 3 * n)) for n in range(40)]


@pytest.fixture(scope="module")
def rows():
    return race("bert-tiny", TEXTS, "own", names=race_.known("cpu"), rounds=2, max_length=64)


def cells(rows, metric):
    return {row.encoder: row.value for row in rows if row.metric == metric}


def test_all_ways_give_the_same_vectors_and_ratios_are_over_the_first(rows):
    apart = cells(rows, race_.APART)
    assert list(apart) == [race_.THEIRS, race_.LOOP, "ours, float32", "ours, bfloat16"]
    assert (
        all(value < 1e-10 for name, value in apart.items() if "bfloat16" not in name)
        and 0 < apart["ours, bfloat16"] < 1e-3
    )
    assert cells(rows, race_.TIMES)[race_.THEIRS] == cells(rows, race_.CPU_TIMES)[race_.THEIRS] == 1
    assert not cells(rows, race_.FORWARD)  # with one thread of a CPU, the share of CPU time says it
    assert all(share > 0 for share in cells(rows, race_.SHARE).values())
    assert all(row.n == 40 and row.low <= row.value <= row.high for row in rows if row.metric == race_.RATE)
    assert len({row.id for row in rows}) == len(rows)


def test_padding_is_that_of_each_ways_batches(rows):
    lengths = [min(len(text.split()) + 2, 64) for text in TEXTS]
    assert words(600).ids(TEXTS, 64)[3] and [len(ids) for ids in words(600).ids(TEXTS, 64)] == lengths
    found = cells(rows, race_.PADDING)
    assert found["ours, float32"] == 0
    for name, order in ((race_.LOOP, range(40)), (race_.THEIRS, sorted(range(40), key=lambda i: -len(TEXTS[i])))):
        found_lengths = [lengths[i] for i in order]
        computed = 32 * max(found_lengths[:32]) + 8 * max(found_lengths[32:])
        assert found[name] == pytest.approx(100 * (1 - sum(lengths) / computed))


def test_ways_take_turns_and_run_once_before_the_clock():
    ran: list[str] = []

    def lane(name):
        def encode(texts):
            ran.append(name)
            return np.ones((len(texts), 2), np.float32)

        return Lane(encode, None, "float32")

    laps, found = run({"a": lane("a"), "b": lane("b")}, ["x", "y"], 2)
    assert ran == ["a", "b"] * 3
    assert {name: len(mine) for name, mine in laps.items()} == {"a": 2, "b": 2} and found["a"].shape == (2, 2)


def test_the_command_writes_rows_that_say_how_to_get_them(tmp_path: Path, scirep, monkeypatch):
    out = tmp_path / "race.jsonl"
    words = ["bench", "--model", "bert-tiny", "--texts", "filled", "--number", "6", "--lengths", "16", "--rounds", "1",
             "--threads", "1", "--ways", "ours, float32; ours, bfloat16", "--out", str(out)]  # fmt: skip
    monkeypatch.setattr("sys.argv", ["scirep", *words])  # what rows say of how they came
    code, shown, err = scirep(*words)
    rows = read_results(out)
    assert code == 0 and cells(rows, race_.TIMES)["ours, float32"] == 1  # the first that ran
    assert rows[0].parameters["mean_tokens"] == 16 and rows[0].parameters["attention"] in ("exp2", "fused")
    assert rows[0].parameters["machine"] == machine()
    assert recompute(rows[0]).startswith("scirep bench --model bert-tiny")
    assert f"{race_.THEIRS}: not run" in err and "round 1 of 1" in err and str(out) in err
    for said in ("times as fast", "matrix share, %", "ours, bfloat16", machine()):
        assert said in " ".join(shown.split())  # a long machine's name runs over a line


def test_the_command_reads_a_file_of_texts_and_keeps_rows_at_home(tmp_path, scirep, home):
    (tmp_path / "mine.txt").write_text("w1 w2 w3\n\n w4 w5\n")
    words = ["bench", "--model", "bert-tiny", "--rounds", "1", "--ways", "ours, float32", "--json", "--texts"]
    code, out, _ = scirep(*words, tmp_path / "mine.txt")
    rows = read_results(home / "bench" / "bert-tiny-mine-cpu.jsonl")
    assert code == 0 and [row["id"] for row in json.loads(out)] == [row.id for row in rows]
    assert {row.n for row in rows} == {2} and {row.source for row in rows} == {"own"}
    for name, said in (("abstract", "did you mean 'abstracts'"), ("empty.txt", "has no text"), ("bytes.txt", "UTF-8")):
        (tmp_path / "empty.txt").write_text("\n \n")
        (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
        code, _, err = scirep(*words, tmp_path / name if "." in name else name)
        assert code == 2 and said in err


def test_invented_texts_stand_in_where_no_real_ones_are_at_hand(monkeypatch):
    def none():
        raise DataError("sample", None, "not here")

    monkeypatch.setattr(race_, "abstracts", none)
    source, texts = race_.texts_of(number=50)
    assert source == "embedded" and len(set(texts)) == 50


def test_a_library_that_is_not_there_leaves_its_ways_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(race_.importlib.util, "find_spec", lambda name: None)
    assert race_.known("cpu") == ["ours, float32", "ours, bfloat16"]
    assert race_.known("cuda:0") == ["ours, float32", "ours, bfloat16", "ours, bfloat16, compiled"]
    with pytest.raises(ConfigError, match="sentence_transformers is not there"):
        race("bert-tiny", TEXTS, names=[race_.THEIRS])


@pytest.mark.parametrize("native", [True, False])
def test_unasked_nothing_runs_in_a_number_type_that_the_processor_only_writes_out(native, monkeypatch):
    features = {"avx512_bf16": native, "amx_bf16": False}
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: features, raising=False)
    ways = {row.encoder for row in race("bert-tiny", TEXTS[:2], rounds=1, max_length=16)}
    assert ways == {name for name in race_.known("cpu") if native or "bfloat16" not in name}


@pytest.mark.parametrize(
    ("more", "said"),
    [({"names": ["ours, float23"]}, "did you mean 'ours, float32'"), ({"texts": []}, "0 texts"),
     ({"rounds": 0}, "rounds = 0"), ({"names": ["ours, bfloat16, compiled"]}, "cuda is not there")],
)  # fmt: skip
def test_bad_input_is_refused(more, said):
    with pytest.raises(ConfigError, match=said):
        race("bert-tiny", **{"texts": TEXTS, **more})
    assert {len(ids) for ids in words(600).ids(filled(3, 20, 500), 20)} == {20} and len(race_.LANES) == 6
