"""`scirep train`: from a file to a folder that is an encoder; what is refused; going on."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tiny_models
import typer
from typer.testing import CliRunner

from scirep_core.cli import train as cli_train
from scirep_core.encoders import MARK, load_encoder
from scirep_core.encoders.models.model_store import describe, load_model
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.store import stable_hash, write_json
from scirep_core.training import loop

SETTINGS = """
[model]
base = "{base}"
conditioning = "{kind}"
{options}
[data]
papers = 400
tasks = ["fos", "cite_count", "cite_prediction", "search"]
cap = 40
max_length = 32
[train]
steps = 4
batch = 8
accumulation = 1
warmup = 1
learning_rate = 1e-3
head_lr = 1e-2
validate_every = 2
validation_rows = 8
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_models.bert(tmp_path_factory.mktemp("base") / "tiny")


def scirep_train(*words: object):
    app = typer.Typer()
    app.command()(cli_train.train)
    return CliRunner().invoke(app, [str(word) for word in words])


def told(*words: object) -> dict:
    done = scirep_train(*words, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def write(folder, base, kind="plain", options=""):
    path = folder / f"{kind}.toml"
    path.write_text(SETTINGS.format(base=base, kind=kind, options=options))
    return path


@pytest.mark.parametrize("kind", ["plain", "control_codes", "one_pass", "instruction"])
def test_a_file_becomes_an_encoder(kind, base, tmp_path):
    out = tmp_path / "model"
    done = told("--config", write(tmp_path, base, kind), "--out", out)
    assert done["steps"] == 4 and len(done["losses"]) == 4 and done["best"]["step"] in (2, 4) and done["mfu"] > 0
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["model"]  # no checkpoint is left behind
    encoder = load_encoder(str(out))
    vectors = encoder.encode(["a paper of w1", "model w2"], "PRX")
    assert vectors.shape == (2, tiny_models.WIDTH) and np.isfinite(vectors).all()
    made = describe(out).made
    assert made["settings"]["train"]["steps"] == 4 and set(made["rows"].values()) <= set(range(1, 41))


def test_a_finished_training_is_not_done_again_and_another_is_refused(base, tmp_path):
    config, out = write(tmp_path, base), tmp_path / "model"
    first = told("--config", config, "--out", out)
    weights = (out / "model.safetensors").read_bytes()
    (tmp_path / "model.training").mkdir()  # as one leaves it who is killed when the model is saved
    (tmp_path / "model.training" / "checkpoint.shard").write_text("old")
    assert told("--config", config, "--out", out) == first and not (tmp_path / "model.training").exists()
    other = scirep_train("--config", config, "--out", out, "--set", "train.seed=1")
    assert isinstance(other.exception, ConfigError)
    assert "trained with train.seed=0 (asked for: 1). Give these with --set" in str(other.exception)
    told("--config", config, "--out", tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == weights
    told("--config", config, "--out", tmp_path / "seed", "--set", "train.seed=1")
    assert (tmp_path / "seed" / "model.safetensors").read_bytes() != weights


def test_a_folder_of_the_first_edition_is_told_from_one_that_keeps_its_base_s_pooling(base, tmp_path, monkeypatch):
    """That edition pooled at [CLS] unless told, never normalised, and had no setting for it: its folder is kept if asked so."""
    config, out = write(tmp_path, base), tmp_path / "model"
    words = ("--config", config, "--out", out, "--set", "model.pooling=cls")
    first = told(*words)
    mark = json.loads((out / MARK).read_text())
    del mark["made"]["settings"]["model"]["normalised"], mark["sha256"]
    write_json(out / MARK, mark | {"sha256": stable_hash(mark)})
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    now = scirep_train("--config", config, "--out", out)
    assert isinstance(now.exception, ConfigError) and str(now.exception).startswith(
        f"{out}: holds a model trained with model.pooling=cls (asked for: as the base), "
        "model.normalised=no (asked for: as the base). Give these with --set, another --out, or delete the folder"
    )
    assert told(*words, "--set", "model.normalised=no") == first
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_what_is_refused_in_one_line(base, tmp_path):
    config = write(tmp_path, base)
    there = ["--config", config, "--out", tmp_path / "x"]
    for words, reason in (
        ([], "--example"), (["--config", tmp_path / "none.toml"], "no such file"), (["--config", config], "out is not set"),
        ([*there, "--set", "train.step=3"], "did you mean 'steps'"), ([*there, "--set", "steps=3"], "a section's setting"),
        ([*there, "--set", "data.papers=10"], "papers = 10: valid are 300 to 1,000,000"),
        ([*there, "--set", "data.source=embeded"], "did you mean 'embedded'"), ([*there, "--set", "model.base=minilmm"], "minilm"),
        ([*there, "--set", "model.conditioning=adapter"], "unknown conditioning"),
        ([*there, "--set", 'model.options={"widht": 3}'], "model.options"),
        (["--config", write(tmp_path, base, "pals", "options = {widht = 3}"), *there[2:]], "widht"),
        ([*there, "--set", "data.tasks=fox"], "scirepeval/fos"), ([*there, "--set", "data.source=nowhere"], "nowhere"),
        ([*there, "--set", "data.tasks=scimult/pretrain_citation,fos"], "Train on one paper's sets at a time"),
        (["--config", config, "--out", tmp_path], "."),
    ):  # fmt: skip
        done = scirep_train(*words)
        assert getattr(done.exception, "exit_code", 0) == 2, (words, done.exception)
        assert reason in str(done.exception) and "\n" not in str(done.exception), done.exception
    assert scirep_train("--example").stdout.startswith("out = ")


def test_a_training_that_is_stopped_says_so_and_goes_on(base, tmp_path, monkeypatch):
    config, out = write(tmp_path, base, "control_codes"), tmp_path / "model"
    words = ["--config", config, "--set", "train.steps=20", "--set", "train.checkpoint_every=5"]
    alone = told(*words, "--out", tmp_path / "alone")
    saved = loop.save

    def save_and_stop(folder, at, *rest):
        saved(folder, at, *rest)
        if at.step == 10:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "save", save_and_stop)
    stopped = scirep_train(*words, "--out", out)
    assert stopped.exit_code != 0 and not out.exists()
    assert f"{out}.training: the same command goes on from the last checkpoint" in stopped.stderr
    monkeypatch.setattr(loop, "save", saved)
    again = told(*words, "--out", out)
    assert again["losses"] == alone["losses"]
    assert (out / "model.safetensors").read_bytes() == (tmp_path / "alone" / "model.safetensors").read_bytes()
    assert not (tmp_path / "model.training").exists()


def test_a_pipe_is_told_each_tenth_of_every_training(capsys):
    def told(step: int, steps: int) -> loop.Status:
        return loop.Status(step, steps, {"a": 1.0, "b": 0.5}, 1e-3, 1234.0, 0.25)

    with cli_train._bar(True) as progress:
        for steps in (100, 40):  # a base, then a model on it
            for step in range(5, steps + 1, 5):
                progress(told(step, steps))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "step 10 of 100: loss 1.500, 1,234 documents/s, MFU 25 %"
    assert [line.split()[1] for line in lines] == [*map(str, range(10, 101, 10)), *map(str, range(5, 41, 5))]
    with cli_train._bar(False) as progress:  # of several processes the first one tells
        progress(told(40, 40))
    assert capsys.readouterr().err == ""


def test_fusion_goes_on_from_adapters_and_codes_may_begin_as_cls(base, tmp_path):
    adapters = write(tmp_path, base, "bottleneck", "options = {reduction = 4}")
    told("--config", adapters, "--out", tmp_path / "adapters")
    fused = write(tmp_path, tmp_path / "adapters", "fusion")
    told("--config", fused, "--out", tmp_path / "fused")
    first, second = (load_model(tmp_path / name).model.conditioning for name in ("adapters", "fused"))
    assert all(a.equal(b) for a, b in zip(first.adapters.parameters(), second.adapters.parameters(), strict=True))
    lone = scirep_train("--config", write(tmp_path, base, "fusion"), "--out", tmp_path / "no")
    assert "fusion goes on from trained adapters" in str(lone.exception)
    words = ["--config", write(tmp_path, base, "control_codes"), "--set", "train.conditioning_lr=0", "--set"]
    told(*words, 'model.options={"start": "cls"}', "--out", tmp_path / "model")
    first, second = load_model(tmp_path / "model").model.conditioning.codes.weight[:2]
    assert first.equal(second)  # a rate of 0 leaves them as they begin, all alike
