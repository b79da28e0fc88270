"""SciMult's checkpoint files: read without running anything in them, every trap of the published form, each expert exact.

The files are made here, in the form of the published ones: tiny BERTs, weights stored under both names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch
import transformers
from safetensors.torch import load_file
from tiny_models import VOCAB

from scirep_core.cli.export import export as command
from scirep_core.encoders import load_encoder, scimult
from scirep_core.encoders.conditioning.experts import TASK_OF_FORMAT
from scirep_core.encoders.models.export import export
from scirep_core.encoders.models.model_store import describe
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS

TEXTS = ["a paper of w1 w2 [SEP] a model . w3", "b", "w1 w2 w3 " * 40, "query : w7 [SEP] w9 c d"]
BLOCKS = (1, 3)
MODULES = {
    "plain": {},
    "mha_experts": {
        "attention.self.query": "attention.self.moe_query.{}", "attention.self.key": "attention.self.moe_key.{}",
        "attention.self.value": "attention.self.moe_value.{}", "attention.output.dense": "attention.output.moe_dense.{}",
    },
    "ffn_experts": {
        "intermediate.dense": "moe_layer.interm_layers.{}.dense", "output.dense": "moe_layer.output_layers.{}.dense",
        "output.LayerNorm": "moe_layer.output_layers.{}.LayerNorm",
    },
}  # fmt: skip
"""Kind -> BERT's name of a module -> the published code's name of it as an expert."""
ROUTES = {"search": "QRY", "link": "PRX", "classification": "CLF"}
"""Experts 0, 1 and 2, and the formats they stand for."""
SETTINGS = {"pretrained_model_cfg": "some/base", "use_moe": True, "num_expert": 3, "moe_type": "mod2:attn",
            "use_infer_expert": False, "projection_dim": 0, "mean_pool": False, "q_rep_method": None}  # fmt: skip
KINDS = list(MODULES)


def bert(width=32, seed=0):
    sizes = {"hidden_size": width, "num_hidden_layers": 4, "intermediate_size": 48, "max_position_embeddings": 64}
    return tiny_models.bert_model(seed, 0.2, **sizes)


@cache
def parts(kind, blocks=BLOCKS):
    """One plain BERT for each route, which share all but the experts' modules; and their weights under the published names."""
    models = [bert(seed=seed) for seed in range(3 if kind != "plain" else 1)]
    found = {"embeddings.position_ids": torch.arange(64)[None]}
    for name, value in models[0].state_dict().items():
        place = re.fullmatch(r"(encoder\.layer\.(\d+))\.(.+)\.(weight|bias)", name)
        if place and int(place[2]) in blocks and place[3] in MODULES[kind]:
            expert = f"{place[1]}.{MODULES[kind][place[3]]}.{place[4]}"
            found |= {expert.format(i): model.state_dict()[name] for i, model in enumerate(models)}
        else:
            found[name] = value
            for other in models[1:]:
                other.load_state_dict({name: value}, strict=False)
    return models, found


def doubled(inside):
    return {f"{copy}{name}": value for copy in scimult.COPIES for name, value in inside.items()}


def wordpieces(folder):
    """Put a vocabulary beside a checkpoint, and the configuration of its base."""
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCAB))
    bert().config.save_pretrained(folder)
    return folder


def written(folder, model, **settings):
    path = wordpieces(folder) / "scimult_moe.ckpt"
    torch.save({"model_dict": model, "encoder_params": SETTINGS | settings}, path)
    return path


def checkpoint(folder, kind="mha_experts", **settings):
    models, inside = parts(kind)
    return written(folder, doubled(inside), **settings), models


def plain(model, folder, texts=TEXTS, mean=False):
    """What transformers computes with one expert's weights."""
    if not mean:
        return tiny_models.firsts(folder, texts, model=model, length=64)
    states = [out.last_hidden_state[0] for out in tiny_models.outputs(folder, texts, model=model, length=64)]
    return torch.stack([torch.nn.functional.normalize(state.mean(0), dim=0) for state in states]).numpy()


def reads_as(path, format, model, folder=None):
    """An encoder by name gives the vectors that transformers computes with a model's weights."""
    found = load_encoder(str(path)).encode(TEXTS, format)
    assert np.abs(found - plain(model, folder or Path(str(path).partition(".ckpt")[0]).parent)).max() <= 1e-5


def refused(path, said, read=False):
    """Reading or encoding ends in one line that names the file and says what is wrong."""
    with pytest.raises(ConfigError, match=said) as error:
        scimult.read(path) if read else load_encoder(str(path)).encode(TEXTS, "QRY")
    assert Path(path).name in str(error.value)


# ---- what is computed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mean", [False, True])
def test_each_task_is_the_plain_bert_that_holds_its_expert_and_an_exported_folder_is_the_same_without_the_pickle(
    tmp_path, kind, mean
):
    path, models = checkpoint(tmp_path / "files", kind, mean_pool=mean)
    encoder, experts, said = load_encoder(str(path)), kind != "plain", []
    assert encoder.formats == (tuple(f for f in FORMATS if f in TASK_OF_FORMAT) if experts else FORMATS)
    assert (encoder.dim, encoder.by_format, encoder.recipe.separator) == (32, experts, " [SEP] ")
    holds = {
        format: models[list(ROUTES.values()).index(format)] if experts else models[0] for format in encoder.formats
    }
    wanted = {format: plain(model, tmp_path / "files", mean=mean) for format, model in holds.items()}
    assert not experts or min(np.abs(wanted["QRY"] - wanted[other]).max() for other in ("PRX", "CLF")) > 0.01
    done = export(str(path), tmp_path / "out", said.append)
    assert (done.kind, done.formats, done.largest_difference < 1e-6) == (kind, encoder.formats, True)
    assert str(encoder.report) in said
    ids, seen = torch.tensor([[2, 5, 9, 3], [2, 7, 3, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    for one in (encoder, load_encoder(str(tmp_path / "out"))):
        assert one.formats == encoder.formats
        for format in one.formats:
            assert np.abs(one.encode(TEXTS, format) - wanted[format]).max() <= 1e-5
        for task, format in ROUTES.items() if experts else ():
            with torch.inference_mode():
                states = holds[format](input_ids=ids, attention_mask=seen).last_hidden_state * seen[..., None]
            assert all((one.hidden(ids, seen, route=r) - states).abs().max() <= 1e-5 for r in (task, format))
        if experts:
            with pytest.raises(ConfigError, match="has no RGN"):
                one.encode(TEXTS, "RGN")
        shutil.rmtree(tmp_path / "files", ignore_errors=True)
    there = {one.name for one in (tmp_path / "out").iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "scirep.json"} <= there
    assert ("routing.json" in there) == experts
    told = describe(tmp_path / "out")
    assert (told.pooling, told.normalised, told.made["base"]) == ("mean" if mean else "cls", mean, "some/base")
    assert export(str(tmp_path / "out"), tmp_path / "again").fingerprint == done.fingerprint


def test_a_name_may_be_the_folder_and_may_hold_the_encoder_to_one_expert(tmp_path):
    path, models = checkpoint(tmp_path)
    whole = load_encoder(str(tmp_path))
    assert whole.fingerprint == load_encoder(str(path)).fingerprint
    held = load_encoder(f"{path}#QRY")
    assert np.array_equal(held.encode(TEXTS, "PRX"), whole.encode(TEXTS, "QRY"))
    half = load_encoder(f"{path}:bfloat16")
    assert half.fingerprint != whole.fingerprint
    near, far = half.encode(TEXTS, "PRX"), plain(models[1], tmp_path)
    assert 1e-5 < np.abs(near - far).max() < 0.2
    shutil.copy(path, tmp_path / "second.ckpt")
    with pytest.raises(ConfigError, match=r"scimult_moe\.ckpt, second\.ckpt\. Name one"):
        load_encoder(str(tmp_path))
    odd, _ = checkpoint(tmp_path / "c++ at@home#1")  # signs that join encoders may stand in a path
    reads_as(odd, "PRX", models[1], odd.parent)
    reads_as(f"{odd}#QRY", "PRX", models[0], odd.parent)
    torch.save(torch.load(odd, weights_only=True), odd, _use_new_zipfile_serialization=False)  # as older torch wrote
    reads_as(odd, "QRY", models[0], odd.parent)
    models, inside = parts("mha_experts", (0, 2, 3))  # expert blocks are read off the names
    other = written(tmp_path / "blocks", doubled(inside))
    assert scimult.read(other).report.blocks == (0, 2, 3)
    reads_as(other, "CLF", models[2])


# ---- what is used, and what is not -----------------------------------------------------------------------------------


def test_the_report_lists_what_was_kept_and_dropped(tmp_path):
    _, inside = parts("mha_experts")
    linear = {"question_model.linear.weight": torch.zeros(32, 64), "linear.bias": torch.zeros(32)}
    model = doubled(inside) | linear | {"a_head.weight": torch.zeros(1)}
    report = scimult.read(written(tmp_path, model, q_rep_method="start_end_concat")).report
    useless = {name for name in inside if name.startswith(("pooler.", "embeddings.position_ids"))}
    assert set(report.used) == set(inside) - useless and len(report.used) == len(inside) - 3
    assert set(report.dropped) == {f"{copy}{name}" for copy in scimult.COPIES for name in useless} | set(linear)
    assert report.unexpected == ("a_head.weight",)
    assert (report.kind, report.blocks, report.pooling, report.copies) == ("mha_experts", BLOCKS, "cls", scimult.COPIES)
    text = str(report)
    for said in ("0 search, 1 link, 2 classification in blocks 1, 3", "moe_type=mod2:attn", f"{len(report.used)} weights",
                 "which are equal", "position_ids", "pooler", "linear.bias", "missing     none", "a_head.weight"):  # fmt: skip
        assert said in text, said


@pytest.mark.parametrize("copy", scimult.COPIES)
def test_a_file_with_one_copy_no_stale_buffer_and_no_pooler_is_read(tmp_path, copy):
    models, found = parts("ffn_experts")
    inside = {name: value for name, value in found.items()
              if not name.startswith(("pooler.", "embeddings.position_ids"))}  # fmt: skip
    path = written(tmp_path, {f"{copy}{name}": value for name, value in inside.items()})
    report = scimult.read(path).report
    assert (report.copies, report.dropped, report.unexpected) == ((copy,), {}, ())
    reads_as(path, "PRX", models[1])


def test_copies_that_differ_are_two_encoders_and_refused(tmp_path):
    _, inside = parts("mha_experts")
    apart = {name: value.clone() for name, value in inside.items()}
    two = doubled(inside) | {f"{scimult.COPIES[1]}{name}": value for name, value in apart.items()}
    scimult.read(written(tmp_path, two))  # equal numbers in memory of their own
    apart["encoder.layer.2.output.dense.bias"][5] += 1e-7
    refused(written(tmp_path, two), r"differ in 1 of \d+ weights \(encoder\.layer\.2\.output\.dense\.bias\)", read=True)
    del two[f"{scimult.COPIES[1]}embeddings.position_ids"]  # nobody looks at it
    refused(written(tmp_path, two), "differ in 1 of", read=True)
    del two[f"{scimult.COPIES[1]}encoder.layer.0.output.dense.bias"]
    refused(written(tmp_path, two), "differ in 2 of", read=True)


MISSING = (
    "embeddings.LayerNorm.bias", "embeddings.word_embeddings.weight", "encoder.layer.1.attention.self.moe_key.2.bias",
    "encoder.layer.3.attention.output.moe_dense.0.weight", "encoder.layer.2.output.dense.weight",
)  # fmt: skip


@pytest.mark.parametrize(("name", "size", "said"), [
    *((name, None, f"its encoder misses {re.escape(name)}.*Fetch") for name in MISSING),
    ("encoder.layer.0.gate.weight", 3, "has question_model.*layer.0.gate.weight, which SciMult has not"),
    ("encode_proj.weight", 3, r"encode_proj\.weight, which SciMult has not"),
    ("encoder.layer.1.attention.self.moe_query.3.weight", 3, r"moe_query\.3\.weight"),
    ("encoder.layer.1.moe_layer.interm_layers.0.dense.bias", 3, "experts of attention and of the feed-forward part"),
    ("encoder.layer.1.attention.self.moe_query.1.weight", 3, r"moe_query\.1\.weight has shape \(3,\)"),
    ("encoder.layer.0.attention.self.query.weight", 3, r"query\.weight has shape \(3,\)"),
    ("encoder.layer.0.intermediate.dense.weight", 64, r"intermediate\.dense\.weight has shape \(64,\), and should"),
    ("embeddings.word_embeddings.weight", (), r"word_embeddings\.weight has shape \(\), and should"),
])  # fmt: skip
def test_a_weight_that_is_missing_or_would_be_computed_otherwise_is_refused(tmp_path, name, size, said):
    inside = {key: value for key, value in parts("mha_experts")[1].items() if key != name}
    path = written(tmp_path, doubled(inside if size is None else inside | {name: torch.zeros(size)}))
    refused(path, said)


# ---- files that are no checkpoint ------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["model_dict", "encoder_params"])
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("by", [open, os.system])
def test_a_class_in_the_pickle_never_runs(tmp_path, where, zipped, by):
    path, _ = checkpoint(tmp_path)
    content = torch.load(path, weights_only=True)
    content[where]["more"] = tiny_models.Hostile(tmp_path / "was_here", by)
    torch.save(content, path, _use_new_zipfile_serialization=zipped)
    refused(path, rf"scimult_moe\.ckpt: holds \S*{by.__name__}, which weights-only.*save .* again")
    assert not (tmp_path / "was_here").exists()
    torch.load(path, weights_only=False)  # it would have
    assert (tmp_path / "was_here").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no pickle at all", "cannot be read"),
        (b"", "cannot be read"),
        ({"state_dict": {"a": torch.zeros(2)}}, "no model_dict of weights, but state_dict"),
        ({"model_dict": {"a": 3}}, "no model_dict of weights"),
        ({"model_dict": {3: torch.zeros(2)}}, "no model_dict of weights"),
        ({"model_dict": {"a": torch.zeros(2).to_sparse()}}, "no model_dict of weights"),
        ([1, 2], "no model_dict of weights, but a list"),
        ({"model_dict": {"bert.encoder.layer.0.output.bias": torch.zeros(2)}}, "no weight is named question_model"),
        (lambda data: data[:-5000], "cannot be read .*Fetch the file again"),
        (
            lambda data: bytes(b ^ (i == len(data) // 2 + 100) for i, b in enumerate(data)),
            r"is damaged, its part scimult_moe/data/\d+ has another checksum. Fetch",
        ),
    ],
)
def test_another_file_or_a_damaged_one_is_one_clear_line(tmp_path, content, said):
    path = checkpoint(tmp_path)[0] if callable(content) else wordpieces(tmp_path) / "f.ckpt"
    if callable(content):
        path.write_bytes(content(path.read_bytes()))
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content, path)
    refused(path, said)


def test_settings_of_another_model_and_numbers_of_a_kind_that_is_not_expected_are_refused(tmp_path):
    for setting in ({"use_infer_expert": True}, {"projection_dim": 256}, {"factor_rep": True}):
        refused(checkpoint(tmp_path, **setting)[0], f"encoder_params has {next(iter(setting))}=", read=True)
    path, _ = checkpoint(tmp_path, num_expert=np.float64(3))
    refused(path, r"holds numpy.*tensors, texts and numbers alone", read=True)
    path = written(tmp_path, doubled(parts("plain")[1] | {"embeddings.LayerNorm.bias": torch.zeros(32).long()}))
    refused(path, r"embeddings.LayerNorm.bias holds torch.int64, no fractions. Fetch", read=True)
    refused(tmp_path / "nothing.ckpt", r"nothing\.ckpt: there is no such file")
    refused(f"{path}@mean", "says how it pools")


# ---- tokenizer and shape ---------------------------------------------------------------------------------------------


def test_the_tokenizer_may_lie_in_a_folder_of_its_own_or_be_a_base_models(tmp_path, monkeypatch):
    path, models = checkpoint(tmp_path / "files")
    wanted = plain(models[0], tmp_path / "files")
    (tmp_path / "files" / "vocab.txt").unlink()
    (tmp_path / "files" / "config.json").unlink()
    asked = []
    base = wordpieces(tmp_path / "base")

    def hub(name, **more):
        asked.append((name, more["allow_patterns"]))
        return str(base)

    monkeypatch.setattr("huggingface_hub.snapshot_download", hub)
    assert np.abs(load_encoder(str(path)).encode(TEXTS, "QRY") - wanted).max() <= 1e-5
    assert asked[0][0] == "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract"
    assert not any("safetensors" in pattern for pattern in asked[0][1])
    wordpieces(tmp_path / "files" / "tokenizer")
    assert np.abs(load_encoder(str(path)).encode(TEXTS, "QRY") - wanted).max() <= 1e-5
    assert len(asked) == 1
    shutil.rmtree(tmp_path / "files" / "tokenizer")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *given, **more: 1 / 0)
    refused(path, r"no vocab\.txt of PubMedBERT.*lies beside it")


def test_without_a_configuration_a_head_has_64_numbers_and_a_base_of_another_size_is_refused(tmp_path):
    model = bert(width=128)
    path = written(tmp_path, doubled(model.state_dict()))
    (tmp_path / "config.json").unlink()
    reads_as(path, "RGN", model)
    path, _ = checkpoint(tmp_path)
    kept = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").unlink()
    refused(path, r"how many heads has a width of 32\?.*config\.json")
    (tmp_path / "config.json").write_text(json.dumps(json.loads(kept) | {"hidden_size": 64}))
    refused(path, r"of another model than scimult_moe\.ckpt: hidden_size 64, not 32")
    (tmp_path / "config.json").write_text(kept)
    (tmp_path / "vocab.txt").write_text("\n".join([*VOCAB, "more"]))
    refused(path, rf"knows {len(VOCAB) + 1} tokens, scimult_moe\.ckpt {len(VOCAB)}")


def test_the_fingerprint_names_weights_tokenizer_and_length(tmp_path):
    path, _ = checkpoint(tmp_path)
    prints = {load_encoder(str(path)).fingerprint, load_encoder(str(path), max_length=9).fingerprint}
    (tmp_path / "vocab.txt").write_text("\n".join([*VOCAB[:-2], VOCAB[-1], VOCAB[-2]]))
    prints.add(load_encoder(str(path)).fingerprint)
    checkpoint(tmp_path, mean_pool=True)
    prints.add(load_encoder(str(path)).fingerprint)
    assert len(prints) == 4
    with pytest.raises(ConfigError, match="max_length 65 is outside 3-64"):
        load_encoder(str(path), max_length=65).encode(TEXTS, "QRY")


# ---- as a folder -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS[1:])
def test_who_reads_the_routing_file_alone_puts_each_bert_together(tmp_path, kind):
    """With transformers and safetensors, and nothing of this book."""
    path, models = checkpoint(tmp_path / "files", kind)
    export(str(path), tmp_path / "out")
    routing = json.loads((tmp_path / "out" / "routing.json").read_text())
    assert routing["experts"] == {"search": 0, "link": 1, "classification": 2}
    assert routing["formats"] == {format: task for task, format in ROUTES.items()}
    assert (routing["blocks"], routing["part"]) == ([1, 3], {"mha": "attention", "ffn": "feed-forward"}[kind[:3]])
    weights = load_file(tmp_path / "out" / "conditioning.safetensors")
    for task, number in routing["experts"].items():
        model = transformers.AutoModel.from_pretrained(tmp_path / "out").eval()
        if task == "link":  # as it is
            assert np.abs(plain(model, tmp_path / "files") - plain(models[1], tmp_path / "files")).max() <= 1e-6
        for block in routing["blocks"]:
            for module, place in routing["modules"].items():
                own = {leaf: weights[f"experts.{block}.{module}.{number}.{leaf}"] for leaf in ("weight", "bias")}
                model.get_submodule(place.replace("BLOCK", str(block))).load_state_dict(own)
        assert np.abs(plain(model, tmp_path / "files") - plain(models[number], tmp_path / "files")).max() <= 1e-6


def test_the_command_takes_the_tokenizer_of_a_base_it_is_given(tmp_path, capsys):
    path, models = checkpoint(tmp_path / "files")
    for name in ("vocab.txt", "config.json"):
        (tmp_path / "files" / name).unlink()
    base = wordpieces(tmp_path / "base")
    command(str(path), tmp_path / "out", True, base=str(base))
    told = capsys.readouterr()
    assert json.loads(told.out)["kind"] == "mha_experts"
    assert "0 search, 1 link, 2 classification in blocks 1, 3" in told.err
    reads_as(tmp_path / "out", "CLF", models[2], base)
    assert describe(tmp_path / "out").made["base"] == str(base)
    with pytest.raises(ConfigError, match="--base is for a checkpoint of SciMult"):
        command(str(tiny_models.bert(tmp_path / "other")), tmp_path / "second", base=str(base))
    assert not (tmp_path / "second").exists()
