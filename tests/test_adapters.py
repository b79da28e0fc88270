"""SPECTER2's kind: one model and an adapter per format. The oracle is the `adapters` library used directly."""

from __future__ import annotations

import pickle
import re
import shutil

import numpy as np
import pytest
import tiny_models
import torch
from safetensors.torch import load_file, save_file
from scripts import alone
from tiny_models import changed

from scirep_core import load_encoder
from scirep_core.encoders import ENCODERS
from scirep_core.encoders.conditioning.adapted import AdaptedEncoder, ByLibrary
from scirep_core.encoders.conditioning.adapter_folder import safe_copy
from scirep_core.encoders.hub import TransformersEncoder
from scirep_core.encoders.trunk_encoder import TrunkEncoder
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS

TEXTS = ["a paper of models [SEP] b c d", "w1 w2 w3 " * 90, "a", "", "query paper [SEP] models"]
NAMES = {"CLF": "[CLF]", "RGN": "regression", "PRX": "PRX", "QRY": "adhoc_query"}
HUB = ENCODERS["specter2"].adapters


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Base and four adapters, in one folder, once as safetensors and once as .bin."""
    root = tmp_path_factory.mktemp("adapted")
    for kind, safe in (("safe", True), ("bin", False)):
        base = tiny_models.bert(root / "base" / kind, safe=safe)
        # as in SPECTER2's base: an empty block of adapters in the model's own configuration
        empty = {"adapters": {}, "config_map": {}, "fusion_config_map": {}, "fusions": {}}
        changed(base / "config.json", adapters=empty)
        shutil.copytree(base, root / kind)
        for seed, name in enumerate(NAMES.values()):
            tiny_models.adapter(base, root / kind / name, name, seed, safe)
    return root


def refused(own, said, format="CLF"):
    with pytest.raises(ConfigError, match=said):
        load_encoder(str(own)).encode(["a"], format)


def vectors(own, format="CLF"):
    return load_encoder(str(own)).encode(TEXTS, format)


def oracle(base, folder, texts=TEXTS):
    """Return first-token vectors as SPECTER2's own page makes them; of the base model where `folder` is None."""
    return tiny_models.firsts(base, texts, folder)


@pytest.mark.parametrize("kind", ["safe", "bin"])
def test_each_format_has_the_vectors_of_its_own_adapter(trees, kind, monkeypatch):
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    encoder, base = load_encoder(str(trees / kind)), trees / "base" / kind
    assert (encoder.formats, encoder.dim) == (FORMATS, tiny_models.WIDTH)
    plain = oracle(base, None)
    made = {name: oracle(base, trees / kind / folder) for name, folder in NAMES.items()}
    for format in ("QRY", "CLF", "PRX", "RGN", "CLF"):  # in any order, and again
        found = encoder.encode(TEXTS, format)
        assert found == pytest.approx(made[format], abs=1e-5)
        for other in (plain, *(made[name] for name in NAMES if name != format)):  # the bound tells adapters apart
            assert np.abs(found - other).max() > 0.01


@pytest.fixture
def own(trees, tmp_path):
    """A folder of one's own, to be damaged."""
    return shutil.copytree(trees / "safe", tmp_path / "own")


def test_the_hubs_repositories_side_by_side_are_one_encoder(trees, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    shutil.copytree(trees / "base" / "bin", tmp_path / "specter2_base")
    for format, name in HUB.items():
        shutil.copytree(trees / "bin" / NAMES[format], tmp_path / name.partition("/")[2])
    assert load_encoder(str(tmp_path)).formats == FORMATS
    for format in FORMATS:
        assert vectors(tmp_path, format) == pytest.approx(vectors(trees / "bin", format), abs=1e-5)
    shutil.copytree(trees / "base" / "bin", tmp_path / "another_base")
    with pytest.raises(ConfigError, match="one base model beside them; found another_base, specter2_base"):
        load_encoder(str(tmp_path))


@pytest.fixture
def other_base(tmp_path):
    """A folder of adapters on a RoBERTa, which the library runs."""
    base = tiny_models.roberta(tmp_path / "base")
    folder = shutil.copytree(base, tmp_path / "roberta")
    for seed, format in enumerate(("CLF", "RGN")):
        tiny_models.adapter(base, folder / format, format, seed)
    return folder


def test_by_the_library_an_adapter_that_is_switched_off_or_swapped_or_does_not_run_is_noticed(other_base):
    """Layers may leave an adapter out though it is named as active: what ran is counted."""
    encoder = load_encoder(str(other_base))
    encoder.encode(["a"], "CLF")
    assert isinstance(encoder._loaded, ByLibrary)
    model, activate = encoder._loaded.model, encoder._loaded.model.set_active_adapters
    for instead in (None, "RGN", ["CLF", "RGN"]):
        model.set_active_adapters = lambda _, instead=instead: activate(instead)
        with pytest.raises(ConfigError, match="adapter CLF is not the active one"):
            encoder.encode(["a"], "CLF")
    model.set_active_adapters = activate
    assert encoder.encode(["a"], "CLF").shape == (1, tiny_models.WIDTH)
    layers = model.base_model.encoder.layer
    del layers[1].output.adapters["CLF"]
    with pytest.raises(ConfigError, match=r"adapter CLF should have run in 2 layers; ran: .'CLF': 1"):
        encoder.encode(["a"], "CLF")
    layers[1].output.adapters["CLF"] = layers[1].output.adapters["RGN"]  # another's weights under its name
    with pytest.raises(ConfigError, match="should have run"):
        encoder.encode(["a"], "CLF")


@pytest.mark.parametrize("make", [tiny_models.bert, tiny_models.roberta])
def test_hidden_states_of_a_format_on_both_roads(tmp_path, make):
    from adapters import AutoAdapterModel

    base = make(tmp_path / "base")
    own = shutil.copytree(base, tmp_path / "own")
    for seed, format in enumerate(("CLF", "PRX")):
        tiny_models.adapter(base, own / format, format, seed)
    ids = torch.tensor([[0, 7, 8, 9, 2], [0, 7, 2, 1, 1]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    model = AutoAdapterModel.from_pretrained(base).eval()
    model.load_adapter(str(own / "PRX"), set_active=True, use_safetensors=True)
    with torch.no_grad():
        expected = model(ids, mask).last_hidden_state
    found = load_encoder(str(own)).hidden(ids, mask, route="PRX")
    assert (found - expected * mask.unsqueeze(-1)).abs().max() < 1e-5
    with pytest.raises(ConfigError, match="state a route: CLF, PRX"):
        load_encoder(str(own)).hidden(ids, mask)
    with pytest.raises(ConfigError, match="has no adapter for RGN; it has CLF, PRX"):
        load_encoder(str(own)).hidden(ids, mask, route="RGN")


def test_nothing_heavy_is_imported_before_the_first_text_nor_by_the_trunk(own, tmp_path):
    """Neither for adapters on the trunk nor for a folder of sentence-transformers."""
    code = (
        "import sys; from scirep_core import load_encoder; from scirep_core.kit.formats import FORMATS\n"
        "made = [load_encoder(name) for name in sys.argv[1:]]; load_encoder('minilm+specter2')\n"
        "for e in made: e.fingerprint, e.formats, e.dim, e.recipe\n"
        "heavy = {'transformers', 'adapters', 'sentence_transformers', 'huggingface_hub'}\n"
        "assert not (heavy | {'torch', 'tokenizers'}) & set(sys.modules), 'before the first text'\n"
        "for e, format in ((e, format) for e in made for format in FORMATS): e.encode(['a paper', ''], format)\n"
        "assert not heavy & set(sys.modules), 'on the trunk'"
    )
    alone(code, own, tiny_models.pipeline(tiny_models.bert(tmp_path / "b")), "minilm")


def test_the_trunk_takes_what_it_computes_and_the_library_the_rest(own, other_base, tmp_path, monkeypatch):
    base = tiny_models.bert(tmp_path / "plain")
    made = {"trunk": own, "other base": other_base}
    for name, settings in {
        "parallel": {"is_parallel": True}, "two": {"mh_adapter": True}, "activation": {"non_linearity": "gelu"},
        "norm": {"ln_after": True}, "residual": {"residual_before_ln": False}, "scaling": {"scaling": 2.0},
        "reduction": {"reduction_factor": 4}, "left out": {"leave_out": [1]},
    }.items():  # fmt: skip
        made[name] = shutil.copytree(base, tmp_path / name)
        tiny_models.adapter(base, made[name] / "PRX", "PRX", 3, **settings)
    made["unlike"] = shutil.copytree(made["reduction"], tmp_path / "unlike")
    tiny_models.adapter(base, made["unlike"] / "CLF", "CLF", 4, reduction_factor=8)
    for name, folder in made.items():
        encoder = load_encoder(str(folder))
        folder_of = {"other base": "CLF", "unlike": "CLF", "trunk": "[CLF]"}.get(name, "PRX")
        format = folder_of.strip("[]")
        found = encoder.encode(TEXTS[:1], format)
        assert isinstance(encoder._loaded, TrunkEncoder) == (name in ("trunk", "reduction", "left out")), name
        assert found == pytest.approx(oracle(folder, folder / folder_of, TEXTS[:1]), abs=1e-5), name
        rounded = load_encoder(str(folder), dtype="bfloat16").encode(TEXTS[:1], format)
        assert 0 < np.abs(rounded - found).max() < 0.1, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 768}, "adapter for hidden_size 768, but the base model"),
        ({"model_type": "roberta"}, "adapter for model_type 'roberta'"),
        ({"name": "specter2_regression"}, "is for RGN, not for CLF"),
        ({"config": {"architecture": "lora", "r": 8}}, "only bottleneck adapters"),
        ({"config": None}, "only bottleneck adapters"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused_before_weights_are_read(own, change, message):
    changed(own / "[CLF]" / "adapter_config.json", **change)
    with pytest.raises(ConfigError, match=message):
        _ = load_encoder(str(own)).fingerprint


def test_weights_that_do_not_fit_the_base_are_refused(own, tmp_path):
    """Another width behind an honest-looking configuration, another depth or bottleneck, no weights, others' weights, zeros."""
    config = (own / "[CLF]" / "adapter_config.json").read_text()
    wide = tiny_models.bert(tmp_path / "wide", width=48)
    deep = tiny_models.bert(tmp_path / "deep", layers=3)
    shallow = tiny_models.bert(tmp_path / "shallow", layers=1)
    for base, tensors, settings in ((wide, 8, {}), (deep, 12, {}), (shallow, 4, {}), (own, 8, {"reduction_factor": 8})):
        shutil.rmtree(own / "[CLF]")
        made = tiny_models.adapter(base, own / "[CLF]", "[CLF]", 7, **settings)
        (made / "adapter_config.json").write_text(config)
        refused(own, rf"\[CLF]: {tensors} tensors in the file, 8 in the model.*made for another base model")
    (own / "[CLF]" / "adapter.safetensors").write_bytes(b"nothing")
    refused(own, "no readable adapter weights")
    (own / "[CLF]" / "adapter.safetensors").unlink()
    refused(own, r"no adapter.safetensors.*SCIREP_ALLOW_BIN=1")
    tensors = load_file(own / "PRX" / "adapter.safetensors")
    shutil.rmtree(own / "[CLF]")
    shutil.copytree(own / "PRX", own / "[CLF]")
    refused(own, "adapter 'PRX' is for PRX, not for CLF")
    changed(own / "[CLF]" / "adapter_config.json", name="mine")
    refused(own, "two task formats have the same adapter weights")
    save_file({key: value * 0 for key, value in tensors.items()}, own / "[CLF]" / "adapter.safetensors")
    refused(own, "with adapter CLF the model says what the base model says", "RGN")


def test_a_head_beside_the_adapter_is_never_read(own, trees):
    """The library's own saving writes heads as pickles: they are of no use here."""
    from adapters import AutoAdapterModel

    before = vectors(own)
    model = AutoAdapterModel.from_pretrained(trees / "base" / "safe")
    model.add_classification_head("CLF", num_labels=2)
    model.save_head(str(own / "[CLF]"), "CLF", use_safetensors=False)
    (head,) = (own / "[CLF]").glob("*head*.bin")
    head.write_bytes(pickle.dumps({"x": tiny_models.Hostile(own / "owned")}))
    assert np.array_equal(vectors(own), before) and not (own / "owned").exists()


def test_folders_that_name_no_format_or_one_twice_or_a_fusion_are_refused(own):
    with pytest.raises(ConfigError, match=r"an adapter, not a model\. Give the base model's folder"):
        _ = load_encoder(str(own / "PRX")).fingerprint
    (own / "CLF_fusion").mkdir()
    (own / "CLF_fusion" / "adapter_fusion_config.json").write_text("{}")
    said = rf"{re.escape(str(own))}/CLF_fusion: fusion layers are read of models that scirep"
    with pytest.raises(ConfigError, match=said):
        load_encoder(str(own))
    shutil.rmtree(own / "CLF_fusion")
    shutil.copytree(own / "PRX", own / "proximity")
    with pytest.raises(ConfigError, match="two adapters for PRX: PRX and proximity"):
        load_encoder(str(own))
    (own / "proximity").rename(own / "mine")
    with pytest.raises(ConfigError, match="two adapters for PRX: PRX and mine"):  # its configuration says so
        load_encoder(str(own))
    changed(own / "mine" / "adapter_config.json", name="mine")
    with pytest.raises(ConfigError, match="which task format is this adapter for"):
        load_encoder(str(own))
    for name in ("mine", "PRX"):
        shutil.rmtree(own / name)
    assert load_encoder(str(own)).formats == ("CLF", "RGN", "QRY")
    assert vectors(own, "QRY").shape == (len(TEXTS), tiny_models.WIDTH)
    refused(own, "has no adapter for PRX; it has CLF, RGN, QRY", "PRX")


def test_a_pickle_converts_to_safetensors_with_the_same_vectors_and_a_hostile_one_never_runs(
    trees, tmp_path, monkeypatch
):
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    own = shutil.copytree(trees / "bin", tmp_path / "own")
    before, evil = vectors(own), shutil.copytree(own, tmp_path / "evil")
    (evil / "[CLF]" / "pytorch_adapter.bin").write_bytes(pickle.dumps({"x": tiny_models.Hostile(tmp_path / "owned")}))
    refused(evil, "no readable adapter weights")
    assert not (tmp_path / "owned").exists()
    shutil.rmtree(own / "[CLF]")
    safe_copy(trees / "bin" / "[CLF]", own / "[CLF]")
    assert sorted(path.name for path in (own / "[CLF]").iterdir()) == ["adapter.safetensors", "adapter_config.json"]
    assert np.array_equal(vectors(own), before)


def test_the_fingerprint_names_base_adapters_and_which_is_whose(own, trees):
    def fingerprint():
        return load_encoder(str(own)).fingerprint

    prints = [fingerprint(), load_encoder(str(trees / "base" / "safe")).fingerprint]
    assert fingerprint() == prints[0] == load_encoder(str(trees / "safe")).fingerprint  # content, not place
    prints += [load_encoder(str(own), **given).fingerprint for given in ({"max_length": 64}, {"dtype": "bfloat16"})]
    prints.append(load_encoder(f"{own}@mean").fingerprint)
    base, renamed = TransformersEncoder("x", str(own), "cls"), {}
    for format, other in zip(FORMATS, (*FORMATS[1:], FORMATS[0]), strict=True):
        changed(own / NAMES[format] / "adapter_config.json", name="mine")
        renamed[other] = str(shutil.move(own / NAMES[format], own / f"mine{other}"))
    prints.append(AdaptedEncoder(base, renamed).fingerprint)  # the same adapters, each for another format
    path = own / "mineCLF" / "adapter.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1]))
    prints.append(AdaptedEncoder(base, renamed).fingerprint)
    assert len(set(prints)) == len(prints)
