"""`scirep encode`: files and folders of vectors, what is refused and how, many processes on one folder, Ray."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from counted import peak
from small_files import contents, jsonl
from test_embed import Letters, expected, words
from tiny_models import bert

from scirep_core import load_encoder
from scirep_core.bench.given import read_vectors
from scirep_core.data.text import Recipe
from scirep_core.encoders.vectors import encoding, scale
from scirep_core.encoders.vectors import folder as vector_folder
from scirep_core.encoders.vectors.encoding import Reading, plan, records, scan
from scirep_core.encoders.vectors.folder import encode_folder, read_vector_folder, vector_shards
from scirep_core.kit.errors import CacheError, ConfigError, DataError, NumericError

HERE = Path(__file__).parent
pytestmark = pytest.mark.usefixtures("home")


def encode(scirep, source: object, *given: object, encoder: str = "minilm") -> tuple[int, str, str]:
    return scirep("encode", "--encoder", encoder, "--format", "PRX", "--papers", source, *given)


def papers(folder: Path, count: int = 25, name: str = "papers.jsonl") -> Path:
    return jsonl(folder / name, [{"paper_id": f"p{i}", "title": t} for i, t in enumerate(words(count))])


def fill(source: Path, out: Path, per_shard: int = 10, encoder=None, format="PRX", reading=None):
    encoder = encoder or Letters()
    made = plan(source, out, encoder, format, reading, per_shard)
    encode_folder(source, out, made, encoder, format)
    return made


# ------------------------------------------------------------------------------------------------------- the command


ROWS = [
    {"paper_id": "a", "title": "On swarms", "abstract": "We count.", "year": 2019, "venue": "Birds"},
    {"doc_id": 7, "title": "Parsing", "abstract": None},
    {"corpus_id": "c", "title": "", "abstract": ""},
    {"paper_id": "q", "query": "swarm birds"},
]


def test_a_file_and_a_folder_hold_ids_and_vectors_and_speed_is_told_of_what_was_computed_alone(scirep, tmp_path):
    source, out = jsonl(tmp_path / "p.jsonl", ROWS), tmp_path / "v.npz"
    code, printed, said = encode(scirep, source, "--out", out, "--json")
    told = json.loads(printed)
    assert (code, told["papers"], told["dim"], told["format"]) == (0, 4, 384, "PRX")
    assert "4 texts encoded: " in said and "documents/s" in said and "MFU" in said
    exact = load_encoder("minilm").encode(["On swarms. We count.", "Parsing", "", "swarm birds"], "PRX")
    assert list(read_vectors(out)) == ["a", "7", "c", "q"]
    assert np.abs(np.stack(list(read_vectors(out).values())) - exact).max() < 1e-6
    first = out.read_bytes()
    assert "texts encoded" not in encode(scirep, source, "--out", out)[2]
    assert out.read_bytes() == first
    code, printed, _ = encode(scirep, source, "--out", tmp_path / "out", "--shard", 3, "--json")
    told = json.loads(printed)
    assert (code, told["papers"], told["shards"], told["dim"]) == (0, 4, 2, 384)
    assert np.abs(read_vector_folder(tmp_path / "out")[1] - exact).max() < 1e-6


@pytest.mark.parametrize(("encoder", "options", "texts"), [
    ("specter", [], ["On swarms [SEP] We count.", "Parsing", "", "swarm birds"]),
    ("specter", ["--fields", "title,venue,year"], ["On swarms [SEP] Birds [SEP] 2019", "Parsing", "", "swarm birds"]),
    ("specter", ["--fields", "title,year", "--float-years"], ["On swarms [SEP] 2019.0", "Parsing", "", "swarm birds"]),
    ("e5", [], ["query: On swarms [SEP] We count.", "query: Parsing", "query: ", "query: swarm birds"]),
    ("e5", ["--to-find"], ["passage: On swarms [SEP] We count.", "passage: Parsing", "passage: ", "query: swarm birds"]),
])  # fmt: skip
def test_dry_run_prints_the_exact_texts_and_loads_no_model(scirep, tmp_path, monkeypatch, encoder, options, texts):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # the weights are not here
    source = jsonl(tmp_path / "p.jsonl.gz", ROWS)
    code, out, _ = encode(scirep, source, "--dry-run", *options, encoder=encoder)
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"paper_id": key, "text": text} for key, text in zip("a7cq", texts, strict=True)
    ]


@pytest.mark.parametrize(("rows", "reason"), [
    (['{"paper_id": "a", "title": "x"}', '{"paper_id": "b"'], r":2: not a JSON object"),
    (['{"title": "x"}'], r":1: field 'paper_id' is missing"),
    (['{"paper_id": "", "title": "x"}'], r":1: '' is no id"),
    (['{"paper_id": "a\\u0000", "title": "x"}'], r":1: .* is no id"),
    (['{"paper_id": true, "title": "x"}'], r":1: field 'paper_id' must be"),
    (['{"paper_id": "a", "name": "x"}'], r":1: none of title, abstract is there. Present: name, paper_id"),
    (['{"paper_id": "a", "title": 3}'], r":1: field 'title' must be str"),
    (['{"paper_id": "a", "title": "x"}', "", '{"paper_id": "a", "title": "y"}'],
     r":3: paper_id 'a' is there twice \(first on line 1\). Keep one line per paper"),
    (['{"paper_id": "1", "title": "x"}', '{"doc_id": 1, "title": "y"}'], r":2: paper_id '1' is there twice"),
    (["", " "], r": no papers in the file. Give JSON lines"),
])  # fmt: skip
@pytest.mark.parametrize("target", ["v.npz", "folder", "--dry-run"])
def test_faults_of_the_input_name_file_and_line_and_write_nothing(scirep, tmp_path, rows, reason, target):
    source, out = jsonl(tmp_path / "p.jsonl", rows), tmp_path / target
    code, printed, error = encode(scirep, source, *([target] if target == "--dry-run" else ["--out", out]))
    assert (code, printed) == (2, "")
    assert re.search(r"p\.jsonl" + reason, error), error
    assert not out.exists() or not contents(out)


@pytest.mark.parametrize(("options", "reason"), [
    (["--format", "PRXX"], "did you mean 'PRX'"),
    (["--encoder", "minilmm"], "did you mean 'minilm'"),
    (["--engine", "rai"], "did you mean 'ray'"),
    (["--fields", "titel"], "did you mean 'title'"),
    (["--fields", "title,title"], "a field is there twice"),
    (["--out", "v.parquet"], "vectors are written as FILE.npz, or to a folder"),
    (["--out", "v.npz", "--engine", "ray"], "fills folders"),
    (["--papers", "absent.jsonl"], "absent.jsonl: file not found"),
    (["--dtype", "float8"], "unknown dtype 'float8'"),
    (["--shard", "0"], "greater than or equal to 1"),
])  # fmt: skip
def test_wrong_options_are_one_clear_line(scirep, tmp_path, monkeypatch, options, reason):
    monkeypatch.chdir(tmp_path)
    papers(tmp_path, 2)
    code, _, error = encode(scirep, "papers.jsonl", "--out", "out", *options)  # of an option twice the last counts
    assert code == 2 and reason in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", [["--out", "v.npz"], ["--out", "folder"], ["--dry-run"]])
def test_a_pipe_is_refused_as_it_cannot_be_read_twice(scirep, tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    code, out, error = encode(scirep, "pipe", *target)
    assert (code, out) == (2, "") and "pipe: is no file, and a pipe cannot be read twice. Give JSON lines" in error
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []


# -------------------------------------------------------------------------------------------------------- the folder


@pytest.mark.parametrize("name", ["papers.jsonl", "papers.jsonl.gz"])
def test_a_folder_holds_the_input_in_its_order_and_a_second_run_changes_nothing(tmp_path, name):
    source, out, encoder = papers(tmp_path, 25, name), tmp_path / "out", Letters()
    made = fill(source, out, encoder=encoder)
    assert [part.papers for part in made.parts] == [len(names) for names, _ in vector_shards(out)] == [10, 10, 5]
    ids, vectors = read_vector_folder(out)
    assert ids == [f"p{i}" for i in range(25)]
    assert np.array_equal(vectors, expected(words(25)))
    before, computed = contents(out), len(encoder.given)
    assert sorted(before) == ["manifest.json", "plan.json", *(f"shards/00000{i}.shard" for i in range(3))]
    fill(source, out, encoder=encoder)
    assert len(encoder.given) == computed and contents(out) == before


def test_texts_that_repeat_are_encoded_once_and_years_are_written_as_asked(tmp_path):
    source = jsonl(tmp_path / "p.jsonl", [{"paper_id": i, "title": "x", "year": 2019} for i in range(3000)])
    for reading, text in ((None, "x"), (Reading(("title", "year")), "x. 2019"),
                          (Reading(("title", "year"), float_years=True), "x. 2019.0")):  # fmt: skip
        encoder = Letters()
        fill(source, tmp_path / text, 1000, encoder, reading=reading)
        assert encoder.given == [[text]] * 3


HALF = ("shards/000001.claim", ".plan.json.x3_k20ab.part", ".manifest.json.0a1b2c3d.part", "plan.lock",
        "shards/.000002.shard.0a1b2c3d.part")  # fmt: skip


class Other(Letters):
    length, pooling = 256, "mean"

    def __init__(self, **given):
        super().__init__()
        for name, value in given.items():
            setattr(self, name, value)


def test_a_folder_made_otherwise_is_refused_naming_what_differs(tmp_path):
    source, out = papers(tmp_path), tmp_path / "out"
    fill(source, out, encoder=Other())
    before = contents(out)
    changed = {
        "pooling 'mean', and now 'cls' is asked for": {"encoder": Other(pooling="cls", fingerprint="2")},
        "max length 256, and now 128": {"encoder": Other(length=128, fingerprint="3")},
        "recipe": {"encoder": Other(recipe=Recipe(" | "), fingerprint="4")},
        "other weights, tokenizer, config or": {"encoder": Other(fingerprint="5")},
        "format 'PRX', and now 'CLF'": {"format": "CLF"},
        "papers in a shard 10, and now 20": {"per_shard": 20},
        "fields": {"reading": Reading(("title",))},
        "to_find False, and now True": {"reading": Reading(to_find=True)},
        "float_years False, and now True": {"reading": Reading(float_years=True)},
    }
    for reason, options in changed.items():
        with pytest.raises(ConfigError, match=reason):
            fill(source, out, **({"encoder": Other()} | options))
    with pytest.raises(ConfigError, match="another file of papers"):
        fill(papers(tmp_path, 24, "fewer.jsonl"), out, encoder=Other())
    assert contents(out) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(ConfigError, match=r"holds other files and no plan\.json"):
        fill(source, tmp_path / "mine")


def test_a_flipped_bit_is_noticed_before_use_and_mended(tmp_path, caplog):
    source, out, encoder = papers(tmp_path), tmp_path / "Mr. Smith's" / "out", Letters()
    fill(source, out, encoder=encoder)
    before = contents(out)
    for path in sorted((out / "shards").iterdir()):  # every bit of a shard: test_store.py
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        with pytest.raises(CacheError, match=rf"^{re.escape(str(path))}: .*\. Run the same `scirep encode` again"):
            read_vector_folder(out)
        encoder.given.clear()
        caplog.clear()
        fill(source, out, encoder=encoder)
        assert len(encoder.given) == 1 and str(path) in caplog.text
        assert contents(out) == before


def test_a_folder_that_is_not_whole_is_not_read_and_filled_and_what_is_no_part_of_it_removed(tmp_path):
    source, out = papers(tmp_path), tmp_path / "out"
    with pytest.raises(DataError, match=r"no plan\.json"):
        read_vector_folder(tmp_path)
    plan(source, out, Letters(), "PRX", per_shard=10)
    with pytest.raises(DataError, match=r"0 of 3 shards are there.*Run the same"):
        read_vector_folder(out)
    fill(source, out)
    before = contents(out)
    (out / "shards" / "000001.shard").unlink()
    with pytest.raises(CacheError, match=r"is missing\. Run the same"):
        read_vector_folder(out)
    for name in HALF:  # left by killed runs
        (out / name).write_text("half")
    fill(source, out)
    assert contents(out) == before
    shutil.rmtree(out / "shards")  # by a power cut before the folder of shards was on the disk
    fill(source, out)
    assert contents(out) == before


def test_nan_names_the_paper_and_its_shard_is_not_written_and_input_that_changes_is_noticed(tmp_path, monkeypatch):
    source, out, encoder = papers(tmp_path), tmp_path / "out", Letters()
    wrong = {words(25)[13]: np.nan}
    monkeypatch.setattr(encoder, "encode", lambda texts, _: expected(texts) + [[wrong.get(t, 0)] for t in texts])
    with pytest.raises(NumericError, match=r"paper p13 \(line 14\): .*NaN"):
        fill(source, out, encoder=encoder)
    assert sorted(contents(out)) == ["plan.json", "shards/000000.shard"]
    made = fill(source, out)  # the same fingerprint, mended
    assert len(read_vector_folder(out)[0]) == 25
    (out / "shards" / "000002.shard").unlink()
    source.write_text("".join(source.read_text().splitlines(keepends=True)[:22]))
    with pytest.raises(DataError, match="has changed since it was planned"):
        encode_folder(source, out, made, Letters(), "PRX")


WORKER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from scirep_core.encoders.vectors import folder as vector_folder
vector_folder.POLL = 0.02
from test_cli_encode import Letters, fill
class Slow(Letters):
    def encode(self, texts, format):
        with open(sys.argv[4], "a") as log:
            log.write(f"{texts[0]}|")
        time.sleep(0.1)
        return super().encode(texts, format)
fill(Path(sys.argv[2]), Path(sys.argv[3]), 10, Slow())
"""


def test_processes_share_a_folder_and_compute_no_shard_twice(tmp_path):
    source = papers(tmp_path, 120)
    fill(source, tmp_path / "alone")
    given = [sys.executable, "-c", WORKER, *map(str, (HERE, source, tmp_path / "out", tmp_path / "log"))]
    started = [subprocess.Popen(given) for _ in range(3)]
    assert [process.wait(120) for process in started] == [0, 0, 0]
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")
    assert len((tmp_path / "log").read_text().split("|")) - 1 == 12


def test_a_plan_that_another_writes_while_the_folder_is_listed_is_taken(tmp_path, monkeypatch):
    source, out, listed = papers(tmp_path, 20), tmp_path / "out", Path.iterdir
    out.mkdir()

    def late(folder):
        if folder == out:
            monkeypatch.setattr(Path, "iterdir", listed)
            fill(source, out)
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", late)
    fill(source, out)
    fill(source, tmp_path / "alone")
    assert contents(out) == contents(tmp_path / "alone")


def test_memory_does_not_grow_with_the_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(Letters, "encode", lambda self, texts, format: np.zeros((len(texts), 4), dtype=np.float32))

    def held(count):
        rows = ({"paper_id": i, "title": f"title {i} " * 20} for i in range(count))
        source = jsonl(tmp_path / f"{count}.jsonl", rows)
        return peak(lambda: fill(source, tmp_path / str(count), 500))

    small, large = held(1000), held(6000)
    assert large < 1.2 * small + 16 * 5000, (small, large)


def test_short_hashes_that_collide_are_no_duplicates_and_half_characters_are_mended(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "_short", lambda paper_id: len(paper_id))
    assert scan(papers(tmp_path, 25), Recipe(), Reading(), 10)[2].papers == 5
    with pytest.raises(DataError, match="'p3' is there twice"):
        rows = [{"paper_id": f"p{i % 7}", "title": "x"} for i in (0, 3, 1, 10)]
        scan(jsonl(tmp_path / "twice.jsonl", rows), Recipe(), Reading())
    source = jsonl(tmp_path / "p.jsonl", ['{"paper_id": "a", "title": "x\\ud835", "abstract": "b\\u0000c"}'])
    assert [record.text for record in records(source, Recipe(), Reading())] == ["x\ufffd [SEP] b\0c"]


# --------------------------------------------------------------------------------------------------------------- Ray


def test_without_ray_the_line_that_installs_it_is_named(scirep, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'scirep-book\[scale\]'"):
        scale.import_ray()
    code, _, error = encode(scirep, papers(tmp_path, 3), "--out", tmp_path / "out", "--engine", "ray")
    assert code == 2 and "pip install" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray: pip install 'ray>=2.40'")
@pytest.mark.timeout(900)  # Ray starts in ten seconds, or in minutes where other jobs hold the cores
def test_ray_writes_the_same_folder(tmp_path):
    source, model = papers(tmp_path, 30), bert(tmp_path / "model")
    fill(source, tmp_path / "local", encoder=load_encoder(str(model)))
    words_ = ["encode", "--encoder", model, "--format", "PRX", "--papers", source, "--out", tmp_path / "ray"]
    done = subprocess.run(
        [sys.executable, "-m", "scirep_core.cli", *map(str, words_), "--shard", "10", "--engine", "ray"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert sorted(contents(tmp_path / "ray")) == sorted(contents(tmp_path / "local"))
    (ids, vectors), (same, again) = read_vector_folder(tmp_path / "local"), read_vector_folder(tmp_path / "ray")
    assert ids == same
    assert np.abs(vectors - again).max() < 1e-6


def test_the_input_is_read_once_and_forward(tmp_path, monkeypatch):
    source, out, encoder = papers(tmp_path, 60), tmp_path / "out", Letters()
    made = plan(source, out, encoder, "PRX", per_shard=10)
    opened, plain = [], vector_folder.raw_lines
    monkeypatch.setattr(vector_folder, "raw_lines", lambda path: opened.append(path) or plain(path))
    read = vector_folder.reader(source, made, encoder)
    assert [next(iter(read(i))).paper_id for i in (0, 1, 3, 5)] == ["p0", "p10", "p30", "p50"]
    assert len(opened) == 1
    assert read(2)[0].paper_id == "p20"
    assert len(opened) == 2
