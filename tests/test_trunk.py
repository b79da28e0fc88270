"""The trunk: against transformers' BERT, weights and tokens in and out, and the encoder around it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch
import transformers
from safetensors.torch import load_file, save_file

from scirep_core import load_encoder
from scirep_core.encoders import SENTENCES
from scirep_core.encoders.conditioning.base import Conditioned, Conditioning, conditioning
from scirep_core.encoders.hub import load_tokenizer
from scirep_core.encoders.models import model_folder
from scirep_core.encoders.trunk import prepacked
from scirep_core.encoders.trunk.bert import ACTIVATIONS, config_of, read_trunk, shape_of, tensors_of
from scirep_core.encoders.trunk.packing import pack
from scirep_core.encoders.trunk.prepacked import Prepacked, Rounded, prepack
from scirep_core.encoders.trunk.speed import Speed, flops, matrix_rate
from scirep_core.encoders.trunk.tokens import of_words, read_tokens
from scirep_core.encoders.trunk_encoder import About, TrunkEncoder, ready
from scirep_core.kit.errors import ConfigError, NumericError
from scirep_core.kit.formats import FORMATS

LENGTHS = (131, 7, 1, 512, 2, 64, 7, 131)


def draw(vocabulary: int, lengths=LENGTHS, seed: int = 0) -> list[list[int]]:
    """Return documents of random token ids."""
    drawn = np.random.default_rng(seed)
    return [drawn.integers(0, vocabulary, length).tolist() for length in lengths]


def random_bert(folder: Path, seed: int = 0, **config) -> Path:
    """Write a BERT of three layers with weights large enough to matter."""
    sizes = {
        "vocab_size": 99, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 80,
        "initializer_range": 0.15,
    }  # fmt: skip
    tiny_models.bert_model(seed, 0.1, **sizes | config).save_pretrained(folder)
    return folder


def ours(model: Conditioned, documents) -> list[torch.Tensor]:
    return tiny_models.hidden_states(model, documents, ["PRX"] * len(documents))


@pytest.fixture(scope="module")
def minilm() -> Path:
    return load_encoder("minilm").folder


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """A BERT of two layers, which no test changes."""
    return tiny_models.bert(tmp_path_factory.mktemp("own") / "b")


def theirs(folder: Path, documents) -> list[torch.Tensor]:
    """Return transformers' last hidden states of each document."""
    return tiny_models.states_of(transformers.AutoModel.from_pretrained(folder).eval(), documents)


def plain(folder: Path, pooling: str = "cls") -> Conditioned:
    trunk = read_trunk(folder)
    return Conditioned(trunk, Conditioning(trunk), pooling)


@pytest.mark.parametrize(
    "config",
    [{}, {"hidden_act": "gelu_new"}, {"layer_norm_eps": 1e-5, "num_attention_heads": 1}, {"type_vocab_size": 1}, None],
    ids=["plain", "tanh", "one head", "one type", "minilm"],
)
@pytest.mark.parametrize("laid_out", [False, True])
def test_random_weights_and_minilms_give_transformers_states(tmp_path, minilm, config, laid_out):
    folder = minilm if config is None else random_bert(tmp_path / "b", **config)
    documents = draw(30522 if config is None else 99)
    model = plain(folder)
    if laid_out:
        ready(model, "float32", "cpu")
        assert any(isinstance(part, Prepacked) for part in model.modules())
    for a, b in zip(ours(model, documents), theirs(folder, documents), strict=True):
        assert (a - b).abs().max() <= 1e-5


def test_a_batch_needs_documents_and_each_document_a_token():
    for wrong in ([], [[1], []]):
        with pytest.raises(ValueError, match="a batch needs documents, and each document a token"):
            pack(wrong)


@pytest.mark.parametrize(
    "product",
    [lambda *_: torch.ops.mkldnn.no_such_operator(), lambda self, x, *_: x.new_zeros(len(x), len(self.weight))],
)
def test_where_onednn_has_no_layout_or_computes_otherwise_the_model_runs_without(tmp_path, monkeypatch, product):
    folder, documents = random_bert(tmp_path / "b"), draw(99, (4, 9))
    expected = ours(plain(folder), documents)
    with monkeypatch.context() as patch:
        patch.setattr(Prepacked, "_product", product)
        exact, half = (ready(plain(folder), dtype, "cpu") for dtype in ("float32", "bfloat16"))
    native = prepack(torch.nn.Sequential(torch.nn.Linear(8, 8).bfloat16()))
    assert not any(isinstance(part, Prepacked | Rounded) for model in (exact, native) for part in model.modules())
    assert sum(isinstance(part, Rounded) for part in half.modules()) == 18
    for a, b, c in zip(expected, ours(exact, documents), ours(half, documents), strict=True):
        assert torch.equal(a, b)
        assert 0 < (a - c).abs().max() < 0.1


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("fused", [True, False])
def test_gelu_within_the_product_and_after_it_are_one_function(monkeypatch, approximate, fused):
    x, plain = torch.linspace(-4, 4, 5 * 8).reshape(5, 8), torch.nn.Linear(8, 16)
    packed = Prepacked(plain, gelu=True)
    monkeypatch.setattr(prepacked, "FUSED", fused)
    with torch.inference_mode():
        found = packed.activated(x, approximate)
        assert torch.allclose(found, torch.nn.functional.gelu(plain(x), approximate=approximate), atol=1e-6)
        assert approximate == "tanh" or torch.equal(found, packed(x))


def test_weights_come_back_under_transformers_names(tmp_path):
    trunk, again = read_trunk(random_bert(tmp_path / "b")), tmp_path / "again"
    again.mkdir()
    (again / "config.json").write_text(json.dumps(config_of(trunk.shape)))
    for prefix, old in (("", False), ("bert.", False), ("bert.", True)):
        tensors = {prefix + name: value.clone() for name, value in tensors_of(trunk).items()}
        for new, was in (("Norm.weight", "Norm.gamma"), ("Norm.bias", "Norm.beta")) if old else ():
            tensors = {name.replace(new, was): value for name, value in tensors.items()}
        save_file(tensors, again / "model.safetensors")
        back = read_trunk(again)
        assert back.shape == trunk.shape
        assert all(torch.equal(a, b) for a, b in zip(back.parameters(), trunk.parameters(), strict=True))
    save_file(dict(tensors_of(trunk)), again / "model.safetensors", metadata={"format": "pt"})
    model, told = transformers.AutoModel.from_pretrained(again, output_loading_info=True)
    assert all(name.startswith("pooler") for name in told["missing_keys"]) and not told["unexpected_keys"]
    assert torch.equal(model.embeddings.word_embeddings.weight, trunk.words.weight)
    parts = tmp_path / "parts"
    model.save_pretrained(parts, max_shard_size="10KB")
    assert len(list(parts.glob("model-*.safetensors"))) > 1
    assert all(torch.equal(a, b) for a, b in zip(read_trunk(parts).parameters(), trunk.parameters(), strict=True))


def test_weights_that_do_not_fit_are_named(tmp_path):
    folder = random_bert(tmp_path / "b")
    tensors = load_file(folder / "model.safetensors")
    name = "encoder.layer.1.output.dense.weight"
    save_file({key: value for key, value in tensors.items() if key != name}, folder / "model.safetensors")
    with pytest.raises(ConfigError, match=rf"{folder}: weight {name} is missing"):
        read_trunk(folder)
    save_file({**tensors, name: tensors[name].T.contiguous()}, folder / "model.safetensors")
    with pytest.raises(ConfigError, match=rf"weight {name} has shape \(80, 48\), not \(48, 80\)"):
        read_trunk(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"no model\.safetensors"):
        read_trunk(folder)


def test_which_models_run_on_the_trunk(tmp_path):
    folder = tiny_models.bert(tmp_path / "b")
    others = tiny_models.roberta(tmp_path / "r"), tiny_models.mpnet(tmp_path / "m")
    assert load_encoder(str(folder)).on_trunk and load_encoder("minilm").on_trunk
    assert not any(load_encoder(str(name)).on_trunk for name in (f"{folder}@pooler", *others))
    config = json.loads((folder / "config.json").read_text())
    for change in ({"hidden_act": "relu"}, {"position_embedding_type": "relative_key"}, {"is_decoder": True}):
        (folder / "config.json").write_text(json.dumps(config | change))
        assert not load_encoder(str(folder)).on_trunk, change
    assert set(model_folder.PLAIN["hidden_act"]) == set(ACTIVATIONS)
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "roberta"}))
    with pytest.raises(ConfigError, match="model_type 'roberta' is no plain BERT"):
        shape_of(folder)


UNPLEASANT = [
    "", "Hello [SEP] World", "[CLS] x [MASK] [PAD] [unk] [UNK]", "naïve Ünïcode café 模型 研究", "a\x00b \u202e tab\t",
    "😀 emojis 👩‍👩‍👧", "x" * 300, "A [CLF] b swarmy", "ﬁne — “q” don't", "w " * 700, "half \ud800 of a pair",
]  # fmt: skip
ADDED = {"content": "[CLF]", "special": True} | dict.fromkeys(("normalized", "lstrip", "rstrip", "single_word"), False)
FOLDERS = {
    "as it is": ((), {}, {}),
    "cased": ((), {"do_lower_case": False}, {}),
    "accents kept": ((), {"strip_accents": False}, {}),
    "vocabulary": (("tokenizer.json",), {}, {}),
    "vocabulary alone": (("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"), {}, {}),
    "vocabulary, cased": (("tokenizer.json",), {"do_lower_case": False, "tokenize_chinese_chars": False}, {}),
    "tokenizer.json alone": (("vocab.txt", "tokenizer_config.json", "special_tokens_map.json"), {}, {}),
    "special tokens": ((), {}, {"special_tokens_map.json": {"additional_special_tokens": ["[CLF]", "[QRY]"]}}),
    "added, old": (("tokenizer.json",), {}, {"added_tokens.json": {"[CLF]": 30522, "swarmy": 30523},
                                             "special_tokens_map.json": {"additional_special_tokens": ["[CLF]"]}}),
    "added, new": ((), {"added_tokens_decoder": {"30522": ADDED}}, {}),
}  # fmt: skip


@pytest.mark.parametrize("what", FOLDERS)
def test_ids_are_those_of_transformers_fast_tokenizer(tmp_path, minilm, what):
    drop, config, small = FOLDERS[what]
    folder = shutil.copytree(minilm, tmp_path / "m", ignore=shutil.ignore_patterns("*.safetensors", *drop))
    if config:
        told = json.loads((minilm / "tokenizer_config.json").read_text())
        (folder / "tokenizer_config.json").write_text(json.dumps(told | config))
    for name, content in small.items():
        (folder / name).write_text(json.dumps(content))
    texts = [model_folder.clean(text) for text in UNPLEASANT]
    for lower in (False, True):
        oracle, tokens = load_tokenizer(folder, lower), read_tokens(folder, lower)
        for length in (5, 512):
            assert tokens.ids(UNPLEASANT, length) == oracle(texts, truncation=True, max_length=length)["input_ids"]
    assert tokens.ids(texts, special=False) == oracle(texts, add_special_tokens=False)["input_ids"]
    assert (tokens.pad, tokens.cls, tokens.sep, tokens.size) == (0, 101, 102, len(oracle))


def test_tokens_are_saved_as_transformers_reads_them_and_a_vocabulary_becomes_a_tokenizer(tmp_path, minilm):
    tokens = read_tokens(minilm)
    assert tokens.add(["[CLF]", "[SEP]"]) == (30522, 102)
    tokens.save(tmp_path)
    for again in (read_tokens(tmp_path), tokens):
        assert again.ids(UNPLEASANT, 512) == tokens.ids(UNPLEASANT, 512)
        assert 30522 in again.ids(["A [CLF] b"])[0]
    shutil.copy(minilm / "config.json", tmp_path)
    oracle = load_tokenizer(tmp_path)
    texts = [model_folder.clean(text) for text in UNPLEASANT]
    assert oracle(texts, truncation=True, max_length=512)["input_ids"] == tokens.ids(UNPLEASANT, 512)
    assert (oracle.cls_token, oracle.pad_token_id, oracle.model_max_length) == ("[CLS]", 0, 512)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "pap", "##er"]
    made = of_words({word: i for i, word in enumerate(words)})
    assert made.ids(["Paper zebra [SEP] pap"]) == [[2, 5, 6, 1, 3, 5, 3]]
    assert (made.size, made.pad, made.id("nowhere")) == (7, 0, None)
    with pytest.raises(ConfigError, match="a vocabulary without"):
        of_words({"[UNK]": 0, "a": 1})


def encoder(folder: Path, kind: str = "plain", **about) -> TrunkEncoder:
    def load():
        torch.manual_seed(7)
        trunk = read_trunk(folder)
        return Conditioned(trunk, conditioning(kind, trunk)), read_tokens(folder)

    return TrunkEncoder("mine", load, About("f", tiny_models.WIDTH, SENTENCES, **about))


def test_hidden_states_of_padded_ids_are_transformers_wherever_padding_lies(own):
    oracle = transformers.AutoModel.from_pretrained(own).eval()
    ids = torch.tensor(draw(len(tiny_models.VOCAB), (9, 9, 9, 9)))
    mask = torch.ones_like(ids)
    mask[0, 6:], mask[1, :4], mask[2, [0, 3, 4]] = 0, 0, 0
    with torch.no_grad():
        expected = oracle(input_ids=ids, attention_mask=mask).last_hidden_state
    for mine in (load_encoder(str(own)), encoder(own), load_encoder(f"{own}@pooler")):
        states = mine.hidden(ids, mask)
        assert states.shape == expected.shape
        assert (states - expected)[mask.bool()].abs().max() <= 1e-5
        assert (states[~mask.bool()] == 0).all()
        assert np.asarray(mine.hidden(ids.numpy(), mask.numpy(), route="PRX")).dtype == np.float32
        assert (mine.hidden(ids[3:]) - expected[3:]).abs().max() <= 1e-5
    with pytest.raises(ConfigError, match="plain has no CLS; it has CLF, RGN, PRX, QRY"):
        encoder(own).hidden(ids, mask, route="CLS")
    with pytest.raises(ConfigError, match="pals: state a route: CLF, RGN, PRX, QRY"):
        encoder(own, "pals").hidden(ids)


@pytest.mark.parametrize("name", ["{}", "{}@pooler"])
@pytest.mark.parametrize(
    ("ids", "mask", "said"),
    [
        ([[2, 5, len(tiny_models.VOCAB)]], None, f"no token {len(tiny_models.VOCAB)}; its ids are 0 to"),
        ([[2, -1, 3]], None, "no token -1; its ids are 0 to"),
        ([[5] * 600], None, "rows of 600 tokens, and there is room for 512"),
        ([2, 5, 3], None, r"input_ids \(3,\) of torch.int64, .*\(documents, tokens\)"),
        ([[2.0, 5.0]], None, "of torch.float32"),
        (np.zeros((0, 4), int), None, r"input_ids \(0, 4\)"),
        ([[2, 5, 3]], [[1, 1]], r"attention_mask \(1, 2\)"),
        ([[2, 5], [2, 3]], [[1, 1], [0, 0]], "every document needs a token"),
    ],
)  # fmt: skip
def test_what_is_no_token_ids_is_one_clear_line(own, name, ids, mask, said):
    mine = load_encoder(name.format(own))
    with pytest.raises(ConfigError, match=said):
        mine.hidden(ids, mask)


def test_ids_of_codes_are_tokens_and_a_code_takes_room(own):
    codes, first = encoder(own, "control_codes", length=8), len(tiny_models.VOCAB)
    whole, cut, short = codes.encode(["a b c d a b c d a b", "a b c d a", "a b c d"], "CLF")
    assert np.abs(whole - cut).max() <= 1e-6 < 1e-3 < np.abs(cut - short).max()  # [CLS] [CLF], five pieces and [SEP]
    assert (codes.hidden([[5] * 9]).shape, codes.hidden([[5] * 9], route="QRY").shape) == ((1, 9, 32), (1, 10, 32))
    told, written = codes.hidden([[2, 5, 3]], route="RGN"), codes.hidden([[2, first + 1, 5, 3]])
    assert torch.equal(told, written)
    with pytest.raises(ConfigError, match=f"no token {first + 4}; its ids are 0 to {first + 3}"):
        codes.hidden([[2, first + 4, 3]])
    with pytest.raises(ConfigError, match="rows of 512 tokens, and there is room for 511"):
        codes.hidden([[5] * 512], route="PRX")


def test_formats_are_those_of_the_encoder_and_all_come_at_once(own):
    texts = ["a paper of models", "b", ""]
    codes = encoder(own, "control_codes", formats=("CLF", "PRX"))
    found = codes.encode_formats(texts)
    assert list(found) == ["CLF", "PRX"]
    assert np.array_equal(found["CLF"], codes.encode(texts, "CLF"))
    with pytest.raises(ConfigError, match="mine has no QRY; it has CLF, PRX"):
        codes.encode(texts, "QRY")
    shared = encoder(own, "one_pass", shared_pass=True)
    every = shared.encode_formats(texts)
    assert {name: value.shape for name, value in every.items()} == dict.fromkeys(FORMATS, (3, tiny_models.WIDTH))
    assert np.array_equal(every["RGN"], shared.encode(texts, "RGN"))
    for mine in (codes, shared):
        assert mine.encode([], "PRX").shape == (0, tiny_models.WIDTH)
    with torch.no_grad():
        codes.loaded[0].trunk.words.weight[tiny_models.VOCAB.index("model")] = float("nan")
    with pytest.raises(NumericError, match="the vector of text 'a model' is not finite"):
        codes.encode(["a paper", "a model"], "PRX")


def test_speed_is_of_all_passes_and_seconds_of_the_last(monkeypatch):
    mine, clock = load_encoder("minilm").trunk, iter([3.0, 5.5, 6.0, 7.5])
    assert (mine.seconds, mine.speed) == (None, Speed())
    monkeypatch.setattr("scirep_core.encoders.trunk_encoder.now", lambda device: next(clock))
    mine.encode(["a paper of models", "b " * 50], "PRX")
    assert (mine.seconds, mine.speed[:3]) == (2.5, (2, 6 + 52, 2.5))
    assert mine.speed.operations == flops(mine.loaded[0].trunk.shape, (6, 52), mine.loaded[0].pooling == "cls")
    mine.encode(["a paper of models"], "PRX")
    assert (mine.seconds, mine.speed[:3]) == (1.5, (3, 6 + 52 + 6, 4.0))
    told = Speed(10, 1000, 2.0, matrix_rate())
    assert told.line("cpu", "float32") == "5.0 documents/s, 500 tokens/s, padding 0 %, MFU 50 % (float32, cpu)"
