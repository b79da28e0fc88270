"""What a training starts from: read by the reader of all models, and pooled, read and normalised as the base itself is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny_models
import torch

from scirep_core.data.text import Recipe
from scirep_core.encoders import ENCODERS, load_encoder
from scirep_core.encoders.conditioning.base import conditioning
from scirep_core.encoders.models.export import export
from scirep_core.encoders.models.model_store import POOLINGS, describe
from scirep_core.encoders.trunk.bert import read_trunk
from scirep_core.kit.errors import ConfigError
from scirep_core.training import models
from scirep_core.training.variants import budget, variant

GIVEN = budget("tiny")


@pytest.mark.parametrize("door", ["{folder}", "scibert"])
def test_a_pickled_base_is_trained_from_where_it_is_allowed_and_refused_elsewhere(door, tmp_path, monkeypatch) -> None:
    """As SPECTER2 Base, SciBERT and SPECTER lie on the hub: pytorch_model.bin alone."""
    folder = tiny_models.bert(tmp_path / "base", safe=False)
    tiny_models.cache(tmp_path, "allenai/scibert_scivocab_uncased", folder)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    start = models.base(door.format(folder=folder), GIVEN)
    made = models.untrained(variant("MTL CTRL").kind, start, {}, 0)
    stored = torch.load(start.folder / "pytorch_model.bin", weights_only=True)
    assert made.trunk.words.weight.equal(stored["embeddings.word_embeddings.weight"])
    monkeypatch.delenv("SCIREP_ALLOW_BIN")
    with pytest.raises(ConfigError, match="SCIREP_ALLOW_BIN=1"):
        models.base(door.format(folder=folder), GIVEN)
    with pytest.raises(ConfigError, match=r"no model.safetensors"):
        models.untrained(variant("MTL CTRL").kind, start, {}, 0)


def test_a_training_keeps_pooling_recipe_and_normalisation_of_its_base(tmp_path: Path) -> None:
    folder = tiny_models.pipeline(tiny_models.bert(tmp_path / "mean"), "mean", normalise=True)
    start, itself = models.base(str(folder), GIVEN), load_encoder(str(folder))
    assert (start.pooling, start.normalised) == ("mean", True)
    assert start.recipe == itself.recipe
    plain = tiny_models.bert(tmp_path / "plain")
    assert models.base(str(plain), GIVEN)[4:] == ("cls", False)
    trunk = read_trunk(folder)
    for kind, asked, pooled in (("plain", "", "mean"), ("plain", "cls", "cls"), ("control_codes", "", "mean"),
                                ("one_pass", "", "cls")):  # fmt: skip
        assert models.conditioned(trunk, conditioning(kind, trunk), start, asked).pooling == pooled
    with pytest.raises(ConfigError, match=r"pools by pooler, which is not trained. Set model.pooling"):
        models.conditioned(trunk, conditioning("plain", trunk), start._replace(pooling="pooler"))
    start = models.base("minilm", budget("samples"))
    assert (start.pooling, start.recipe, start.normalised) == ("mean", Recipe(". "), True)


def test_what_was_kept_is_in_the_folder_and_in_its_export(tmp_path: Path) -> None:
    from test_cli_train import told, write

    folder = tiny_models.pipeline(tiny_models.bert(tmp_path / "mean"), "mean", normalise=True)
    told("--config", write(tmp_path, folder), "--out", tmp_path / "model")
    saved, encoder = describe(tmp_path / "model"), load_encoder(str(tmp_path / "model"))
    assert (saved.pooling, saved.normalised) == ("mean", True)
    assert saved.recipe == models.base(str(folder), GIVEN).recipe == encoder.recipe
    vectors = encoder.encode(["a paper of w1", "model w2"], "PRX")
    assert (vectors**2).sum(1) == pytest.approx(1, abs=1e-5)
    exported = export(str(tmp_path / "model"), tmp_path / "out").folder
    for place in (tmp_path / "model", exported):
        assert json.loads((place / "1_Pooling" / "config.json").read_text())["pooling_mode_mean_tokens"]
        assert (place / "2_Normalize").is_dir() or "Normalize" in (place / "modules.json").read_text()
    words = ["--set", "model.pooling=cls", "--set", "model.normalised=no"]
    told("--config", write(tmp_path, folder), "--out", tmp_path / "asked", *words)
    other = describe(tmp_path / "asked")
    assert (other.pooling, other.normalised) == ("cls", False)


@pytest.mark.parametrize("name", models.HUB)
def test_a_base_by_name_is_a_row_of_the_encoders_that_can_be_trained(name: str) -> None:
    assert ENCODERS[name].pooling in POOLINGS and not ENCODERS[name].adapters
