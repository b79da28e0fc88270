"""A model folder never runs code: every door, every kind of model, every way of naming a second folder.

`stranger` is that second folder: its Python writes a file when it is imported. That the attacks are real is shown first,
by transformers and sentence-transformers themselves.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
import sentence_transformers
import transformers
from tiny_models import bert, pipeline, roberta
from transformers import dynamic_module_utils as loader

from scirep_core.bench.speed import race
from scirep_core.encoders import hub, load_encoder
from scirep_core.encoders.conditioning import adapted
from scirep_core.encoders.models import screening
from scirep_core.encoders.models.export import export
from scirep_core.encoders.scimult_encoder import tokenizer_folder
from scirep_core.encoders.trunk import tokens
from scirep_core.kit.errors import ConfigError, ScirepError
from scirep_core.training import models
from scirep_core.training.variants import Budget

CODE = """
from pathlib import Path
Path(RAN).touch()
from transformers import BertConfig, BertModel, BertTokenizerFast
class Config(BertConfig):
    model_type = "stranger"
class Model(BertModel):
    config_class = Config
class Tokenizer(BertTokenizerFast):
    pass
import torch
class Module(torch.nn.Module):
    @classmethod
    def load(cls, *_, **__):
        return cls()
"""
MAP = {"AutoConfig": "code.Config", "AutoModel": "code.Model", "AutoTokenizer": ["code.Tokenizer", "code.Tokenizer"]}


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stranger") / "other"
    bert(folder)
    _write(folder / "config.json", {"model_type": "stranger", "auto_map": MAP})
    (folder / "code.py").write_text(CODE.replace("RAN", repr(str(folder / "ran"))))
    return folder


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """Return a valid folder with a pipeline, and the stranger's Python in it too."""
    return pipeline(bert(tmp_path_factory.mktemp("valid") / "model"))


@pytest.fixture
def ran(stranger):
    """Return whether the stranger's code ran, and forget that it did."""
    marker = stranger / "ran"
    marker.unlink(missing_ok=True)

    def look() -> bool:
        there = marker.exists()
        marker.unlink(missing_ok=True)
        return there

    yield look
    assert not look()


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


NESTED = (
    "backbone_config", "decoder", "encoder", "generator", "keypoint_detector_config", "question_encoder", "text_config",
    "text_encoder", "vision_config", "audio_encoder",
)  # fmt: skip


def ways(other: str) -> list[dict]:
    """Return the ways in which config.json can name a second folder, or its own code."""
    second = {"_name_or_path": other, "model_type": "stranger", "trust_remote_code": True, "auto_map": MAP}
    own = {"auto_map": MAP, "trust_remote_code": True}
    return [
        own,
        {"backbone": other, "use_pretrained_backbone": True, "use_timm_backbone": False, "trust_remote_code": True},
        {"backbone": other, "backbone_kwargs": {"trust_remote_code": True}},
        {"_attn_implementation": other, "_attn_implementation_internal": other},
        *({key: second, "trust_remote_code": True} for key in NESTED),
        *({key: {"_name_or_path": other}} for key in NESTED),
        {"layers": [[{"deep": [{"auto_map": MAP}]}]]},
    ]


def _base(folder: Path) -> None:
    models.base(str(folder), Budget(source="samples"))


def _runner(folder: Path) -> race.Runner:
    return race.Runner("minilm", folder, 64, "cpu")


DOORS = {
    "encode": lambda folder, out: load_encoder(str(folder)).encode(["a"], "PRX"),
    "first token": lambda folder, out: load_encoder(f"{folder}@cls").encode(["a"], "PRX"),
    "pooler": lambda folder, out: load_encoder(f"{folder}@pooler").encode(["a"], "PRX"),
    "library's tokenizer": lambda folder, out: hub.load_tokenizer(folder),
    "own tokenizer": lambda folder, out: tokens.read_tokens(folder),
    "adapters": lambda folder, out: adapted.ByLibrary(hub.TransformersEncoder("x", str(folder)), {}),
    "race: sentence-transformers": lambda folder, out: race._sentence_transformers("float32")(_runner(folder)),
    "race: loop": lambda folder, out: race._loop(_runner(folder)),
    "base of a training": lambda folder, out: _base(folder),
    "tokenizer of a checkpoint": lambda folder, out: tokenizer_folder(folder / "x.ckpt", str(folder)),
    "export": lambda folder, out: export(str(folder), out),
}


def _hostile(
    valid: Path, folder: Path, file: str = "README.md", more: object = None, stranger: Path | None = None
) -> Path:
    """Return a copy of the valid folder with settings in one file more, or as they are given, and the stranger's Python."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(valid, folder)
    path = folder / file
    if isinstance(more, dict) and path.is_file():
        more = json.loads(path.read_text()) | more
    _write(path, more)
    if stranger:
        shutil.copy(stranger / "code.py", folder)
    return folder


def _module(type: str, **more: object) -> list[dict]:
    return [{"idx": 0, "name": "0", "path": "", "type": type, **more}]


def test_the_attacks_are_real(valid, stranger, tmp_path, ran):
    """What is refused below would run: by transformers' second folder, and by sentence-transformers' module of a folder."""
    second = {"model_type": "stranger", "_name_or_path": str(stranger)}
    attack = {"model_type": "lightglue", "trust_remote_code": True, "keypoint_detector_config": second}
    folder = _hostile(valid, tmp_path / "a", "config.json", attack)
    transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
    assert ran()
    folder = _hostile(valid, tmp_path / "b", "modules.json", _module("code.Module"), stranger)
    with pytest.warns(FutureWarning):
        sentence_transformers.SentenceTransformer(str(folder))
    assert ran()


@pytest.mark.parametrize("door", DOORS)
def test_no_door_runs_a_second_folders_code(door, valid, stranger, tmp_path, ran):
    """Each way of naming it, at each door; and code that the folder itself brings, in each of its files."""
    files = [
        *(("config.json", {"model_type": kind, **way}) for kind in ("lightglue", "bert") for way in ways(str(stranger))),
        ("tokenizer_config.json", {"auto_map": MAP, "tokenizer_class": "Tokenizer"}),
        ("tokenizer_config.json", {"tokenizer_class": "RagTokenizer"}),
        ("adapter_config.json", {"base_model_name_or_path": str(stranger), "peft_type": "LORA"}),
        ("modules.json", _module("code.Module")),
        ("modules.json", _module("sentence_transformers.models.x", auto_map=MAP)),
        ("sentence_bert_config.json", {"max_seq_length": 8, "model_args": {"trust_remote_code": True}}),
        ("1_Pooling/config.json", {"auto_map": MAP}),
        ("deep/in/it/some.json", {"a": [{"auto_map": MAP}]}),
    ]  # fmt: skip
    for number, (file, more) in enumerate(files):
        folder = _hostile(valid, tmp_path / str(number), file, more, stranger)
        with pytest.raises(ScirepError) as error:
            DOORS[door](folder, tmp_path / "out")
        assert not ran(), (door, file, more)
        assert str(error.value).startswith(str(folder)) and "\n" not in str(error.value)


def test_no_kind_of_model_is_read_but_text_encoders(valid, stranger, tmp_path, ran):
    """All that transformers knows, with every way of nesting: refused before it sees the folder."""
    kinds = sorted(set(transformers.CONFIG_MAPPING) | {"stranger", "", "Bert", "bert "})
    tried = 0
    folder = _hostile(valid, tmp_path / "model")
    plain = json.loads((valid / "config.json").read_text())
    for kind in kinds:
        attacks = ways(str(stranger)) + ([{}] if kind not in screening.MODEL_TYPES else [])
        for way in random.Random(kind).sample(attacks, 3):
            _write(folder / "config.json", plain | {"model_type": kind} | way)
            tried += 1
            with pytest.raises(ConfigError, match=r"config\.json: "):
                load_encoder(str(folder)).encode(["a"], "PRX")
            assert not ran(), (kind, way)
    assert tried >= 500


def test_mutated_folders_run_nothing(valid, stranger, tmp_path, ran):
    """A valid folder with one JSON value replaced, added or put elsewhere: it is read or refused in a line, and runs nothing."""
    rng = random.Random(5)
    poison = [*MAP.items(), *(pair for way in ways(str(stranger)) for pair in way.items())]
    poison += [("trust_remote_code", 1), ("auto_map", None), ("model_type", ["bert"]), ("tokenizer_class", {"a": 1})]
    names = sorted(str(path.relative_to(valid)) for path in valid.rglob("*.json") if path.name != "tokenizer.json")
    folder = tmp_path / "model"
    refused = 0
    for _ in range(120):
        path = _hostile(valid, folder, stranger=stranger) / rng.choice(names)
        value = json.loads(path.read_text())
        key, item = rng.choice(poison)
        places = _objects(value)
        if places:
            rng.choice(places)[key] = item
        _write(path, value if places else {key: item})
        try:
            load_encoder(str(folder)).encode(["a"], "PRX")
        except ScirepError as error:
            refused += 1
            assert "\n" not in str(error)
        assert not ran(), (path.name, key, item)
    assert refused > 60


def _objects(value: object) -> list[dict]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [*([value] if isinstance(value, dict) else []), *(found for item in inside for found in _objects(item))]


def test_what_hubs_hold_is_read(valid, tmp_path):
    """Names of where a model came from, tokens called as they like, BERTs that state no model_type, trainer's notes."""
    named = {"_name_or_path": "some/model", "architectures": ["BertModel"]}
    folder = _hostile(valid, tmp_path / "a", "config.json", named)
    vector = load_encoder(str(valid)).encode(["a b"], "PRX")
    _write(folder / "added_tokens.json", {"auto_map": 3, "trust_remote_code": 4})
    (folder / "trainer_state.json").write_text('{"loss": NaN}')
    _write(folder / "config_sentence_transformers.json", {"model_type": "SentenceTransformer"})
    assert load_encoder(str(folder)).encode(["a b"], "PRX") == pytest.approx(vector, abs=1e-6)
    bare = _hostile(valid, tmp_path / "lightglue")
    config = {k: v for k, v in json.loads((valid / "config.json").read_text()).items() if k != "model_type"}
    _write(bare / "config.json", config)
    assert load_encoder(str(bare)).encode(["a b"], "PRX") == pytest.approx(vector, abs=1e-5)


def test_the_loader_of_code_raises_while_a_folder_is_read_and_is_put_back(stranger):
    before = loader.get_class_from_dynamic_module, loader.get_class_in_module
    with screening.no_code():
        for load in (loader.get_class_from_dynamic_module, loader.get_class_in_module):
            with pytest.raises(ConfigError, match="never done"):
                load("code.Config", str(stranger))
    assert before == (loader.get_class_from_dynamic_module, loader.get_class_in_module)
    assert not (stranger / "ran").exists()


def test_other_text_encoders_are_read(tmp_path):
    """RoBERTa here, MPNet and adapters in their own tests; the families that need no special tokenizer by their configurations."""
    assert load_encoder(str(roberta(tmp_path / "r"))).encode(["a"], "PRX").shape == (1, 32)
    assert set(screening.MODEL_TYPES) <= set(transformers.CONFIG_MAPPING)
    for kind in screening.MODEL_TYPES:
        folder = tmp_path / kind
        transformers.AutoConfig.for_model(kind).save_pretrained(folder)
        assert type(screening.library_config(folder)) is transformers.CONFIG_MAPPING[kind]


def test_a_folder_of_too_many_settings_is_no_model(valid, tmp_path, monkeypatch):
    folder = _hostile(valid, tmp_path / "a")
    (folder / "loop").symlink_to(folder)  # ends by itself
    screening.screen(folder)
    (folder / "loop").unlink()
    monkeypatch.setattr(screening, "MOST", 5)
    with pytest.raises(ConfigError, match="Give the folder of one model"):
        screening.screen(folder)
    monkeypatch.undo()
    (folder / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(ConfigError, match="nested too deeply"):
        screening.screen(folder)
