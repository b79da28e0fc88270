"""Encoders by name: every row of the registry on a folder laid out like the hub's, against its own library used directly."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import tiny_models
from scripts import alone
from tiny_models import WIDTH, bert, cache, changed, mpnet, pipeline, roberta

from scirep_core import load_encoder
from scirep_core.encoders import ENCODERS, settings
from scirep_core.encoders.ensemble import Ensemble
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Paper

PAPER = Paper("1", "a paper of models", "w1 w2 w3 . " * 200)
PIPELINES = {"e5": (True, 512), "mpnet": (True, 384), "sentbert_pp": (False, 128), "sentbert_nli": (False, 75)}
"""Whether they normalise, and how long a text is; all take the mean."""
KINDS = {"mpnet": mpnet, "sentbert_nli": roberta}
ROWS = [name for name, spec in ENCODERS.items() if not spec.model.startswith(("package:", "scirep_core."))]
"""Rows that are models in hub layout; the others are in test_registered.py."""
FIRST = (
    "scibert", "scibert_cased", "specter", "scincl", "specter2_base", "specter2", "scincl_adapters", "pubmedbert", "linkbert",
    "biolinkbert",
)  # fmt: skip
SAID = dict.fromkeys(FIRST, (" [SEP] ", "cls")) | dict.fromkeys(("e5", "oagbert"), (" [SEP] ", "mean")) | {
    "mpnet": (" </s> ", "mean"), "unsimcse": (". ", "cls"), "susimcse": (". ", "pooler"), "sentbert_pp": (". ", "mean"),
    "sentbert_nli": (". ", "mean"),
}  # fmt: skip
"""What literature and model pages say of the papers' systems (notes on each row), written down a second time; of a new row its
own statement is taken, and its library is the judge all the same."""


@pytest.fixture(scope="module")
def row_vectors(tmp_path_factory):
    """Return ({name: vectors of PAPER and a query}, {name: folder}): computed offline in a process of its own."""
    home, names = tmp_path_factory.mktemp("hub"), ROWS
    folders, made = {}, {}
    for seed, name in enumerate(names):
        spec = ENCODERS[name]
        if spec.model not in made:
            folder = KINDS.get(name, bert)(home / "made" / name, seed)
            if name in PIPELINES:
                pipeline(folder, "mean", *PIPELINES[name])
            if spec.model.startswith("local:"):
                made[spec.model] = shutil.copytree(folder, home / "models" / name)
            else:
                made[spec.model] = cache(home, spec.model, folder)
        folders[name] = made[spec.model]
        for number, (format, model) in enumerate(spec.adapters.items()):
            cache(home, model, tiny_models.adapter(folders[name], home / "made" / model, format, 10 * seed + number))
    code = (
        "import sys, numpy; from scirep_core import load_encoder; from test_encoders import PAPER\n"
        "def both(e): return e.encode([e.recipe.of_paper(PAPER), e.recipe.of_query('query of models')], 'PRX')\n"
        "numpy.savez(sys.argv[1], **{name: both(load_encoder(name)) for name in sys.argv[2:]})"
    )
    alone(code, home / "rows.npz", *names, HF_HOME=str(home), HF_HUB_OFFLINE="1", SCIREP_HOME=str(home))
    return dict(np.load(home / "rows.npz")), folders


@pytest.mark.parametrize("name", ROWS)
def test_every_row_has_the_vectors_of_its_own_library(row_vectors, name):
    vectors, folders = row_vectors
    spec = ENCODERS[name]
    separator, pooling = SAID.get(name, (spec.recipe.separator, spec.pooling))
    joined = f"{PAPER.title}{separator}{PAPER.abstract}"
    texts = [f"query: {joined}", "query: query of models"] if name == "e5" else [joined, "query of models"]
    if name in PIPELINES:
        from sentence_transformers import SentenceTransformer

        expected = SentenceTransformer(str(folders[name]), device="cpu").encode(texts)
    else:
        tree = spec.adapters and folders[name].parents[2] / f"models--{spec.adapters['PRX'].replace('/', '--')}"
        adapter = tree / "snapshots" / "abc123" if tree else None
        expected = by_transformers(folders[name], texts, pooling, adapter)
    assert vectors[name] == pytest.approx(expected, abs=1e-5)
    assert spec.pooling == pooling


def by_transformers(folder, texts, pooling, adapter=None):
    """Return vectors by the usual lines."""
    by = {"cls": lambda out: out.last_hidden_state[0, 0], "mean": lambda out: out.last_hidden_state[0].mean(0),
          "pooler": lambda out: out.pooler_output[0]}  # fmt: skip
    return np.stack([by[pooling](out).numpy() for out in tiny_models.outputs(folder, texts, adapter)])


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A BERT without statements, which no test changes."""
    return bert(tmp_path_factory.mktemp("plain") / "b")


def test_a_hub_name_of_a_row_is_read_as_the_row():
    for name, spec in ENCODERS.items():
        if not spec.adapters and "/" in spec.model:
            encoder = load_encoder(spec.model)
            assert (encoder.pooling, encoder.recipe, encoder.name) == (spec.pooling, spec.recipe, spec.model), name
            assert load_encoder(f"{spec.model}@mean").pooling == "mean"
    assert load_encoder("allenai/specter2").adapters == ENCODERS["specter2"].adapters


def test_a_name_of_the_registry_is_no_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bert(tmp_path / "minilm")
    bert(tmp_path / "allenai" / "specter")
    assert load_encoder("minilm").dim == 384
    assert load_encoder("./minilm").dim == load_encoder("allenai/specter").dim == WIDTH
    monkeypatch.chdir(tmp_path / "minilm")
    assert load_encoder(".").dim == WIDTH
    for name in ("", " ", "@mean", "@"):
        with pytest.raises(ConfigError, match="no name is given; Valid: "):
            load_encoder(name)
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=f"oagbert is on no hub.*{tmp_path / 'models' / 'oagbert'}"):
        _ = load_encoder("oagbert").fingerprint


def test_a_plain_folder_is_read_by_its_first_token_and_its_own_separator(tmp_path):
    for kind, separator in ((bert, " [SEP] "), (roberta, " </s> "), (mpnet, " </s> ")):
        folder = kind(tmp_path / kind.__name__)
        encoder = load_encoder(str(folder))
        assert (encoder.recipe.separator, encoder.pooling, encoder.length) == (separator, "cls", 512)
        text = encoder.recipe.of_paper(PAPER)
        assert encoder.encode([text], "PRX") == pytest.approx(by_transformers(folder, [text], "cls"), abs=1e-5)
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        (tmp_path / "bert" / file).unlink()
    assert load_encoder(str(tmp_path / "bert")).recipe.separator == " [SEP] "


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("normalise", [True, False])
def test_a_sentence_transformers_folder_is_honoured_as_that_library_writes_it(tmp_path, pooling, normalise):
    """Both ways of writing: version 2's, as on the hub, and that of the installed version."""
    from sentence_transformers import SentenceTransformer

    old = pipeline(bert(tmp_path / "old"), pooling, normalise, 20)
    new = tmp_path / "new"
    SentenceTransformer(str(old), device="cpu").save(str(new))
    texts = ["a paper of models", "w1 " * 60, "c"]
    for folder in (old, new):
        encoder = load_encoder(str(folder))
        assert (encoder.pooling, encoder.normalised, encoder.length) == (pooling, normalise, 20)
        oracle = SentenceTransformer(str(folder), device="cpu")
        assert encoder.encode(texts, "PRX") == pytest.approx(oracle.encode(texts), abs=1e-5)
    assert load_encoder(f"{old}@pooler").pooling == "pooler"
    prompts = {"query": "query : ", "passage": "passage : ", "classification": "c : "}
    changed(new / "config_sentence_transformers.json", prompts=prompts, default_prompt_name=None)
    assert load_encoder(str(new)).recipe[1:4] == ("query : ", "passage : ", "")


def test_lower_casing_is_honoured(tmp_path):
    from sentence_transformers import SentenceTransformer

    folder, texts = pipeline(roberta(tmp_path / "r"), length=30), ["A Paper OF Models", "a paper of models"]
    cased = load_encoder(str(folder))
    assert np.abs(np.diff(cased.encode(texts, "PRX"), axis=0)).max() > 0.01
    changed(folder / "sentence_bert_config.json", do_lower_case=True)
    lower, theirs = load_encoder(str(folder)), SentenceTransformer(str(folder), device="cpu")
    assert lower.encode(texts, "PRX") == pytest.approx(theirs.encode(texts), abs=1e-5)
    assert lower.fingerprint != cased.fingerprint


def module(path, kind):
    return lambda held: [*held, {"path": path, "type": f"sentence_transformers.models.{kind}"}]


NONE = r"{folder}: the configuration cannot be read \(.*\)\. Get or save"
POOLING = "is not supported; cls and mean are"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("modules.json", module("3_Dense", "Dense"), "a Dense layer follows the model"),
        ("modules.json", module("../1_Pooling", "Pooling"), "leaves the folder"),
        ("modules.json", module("0_Transformer", "Transformer"), "the model itself is in 0_Transf"),
        ("modules.json", [1], NONE),
        ("modules.json", "x", NONE),
        ("config_sentence_transformers.json", {"prompts": ["a"]}, NONE),
        ("tokenizer_config.json", {"model_max_length": "long"}, NONE),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, POOLING),
        ("1_Pooling/config.json", {"pooling_mode": ["mean", "cls"]}, POOLING),
        ("1_Pooling/config.json", {}, POOLING),
    ],
)
def test_a_statement_that_is_none_or_asks_for_more_than_pooling_is_one_clear_line(tmp_path, file, content, message):
    folder = pipeline(bert(tmp_path / "p"))
    held = content(json.loads((folder / file).read_text())) if callable(content) else content
    (folder / file).write_text(json.dumps(held))
    with pytest.raises(ConfigError, match=message.replace("{folder}", str(folder))):
        load_encoder(str(folder)).encode(["a"], "PRX")


def test_length_is_what_model_and_tokenizer_can_do_at_most_512(tmp_path):
    folder = bert(tmp_path / "b")
    for positions, own, expected in ((512, 1e30, 512), (8192, 1e30, 512), (64, 1e30, 64), (512, 40, 40)):
        changed(folder / "config.json", max_position_embeddings=positions)
        changed(folder / "tokenizer_config.json", model_max_length=int(own))
        assert load_encoder(str(folder)).length == expected
    assert load_encoder(str(folder), max_length=500).length == 500
    for wrong in (513, 2, 0, -1):
        with pytest.raises(ConfigError, match=f"max_length {wrong} is outside 3-512"):
            _ = load_encoder(str(folder), max_length=wrong).length
    cut = load_encoder(str(folder), max_length=4).encode(["a b c d", "a b"], "PRX")
    assert cut[0] == pytest.approx(cut[1], abs=1e-6)
    assert np.abs(np.diff(load_encoder(str(folder)).encode(["a b c d", "a b"], "PRX"), axis=0)).max() > 0.01


def test_a_model_without_a_padding_token_is_padded_by_its_end_token(tmp_path):
    """Nor has it special tokens around a text."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.manual_seed(0)
    backend = Tokenizer(models.WordLevel({"<e>": 0, "a": 1, "b": 2}, unk_token="<e>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<e>", unk_token="<e>")
    tokenizer.save_pretrained(tmp_path)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.RobertaConfig(vocab_size=3, pad_token_id=0, **sizes)
    transformers.RobertaModel(config).save_pretrained(tmp_path)
    encoder = load_encoder(f"{tmp_path}@mean")
    assert (encoder.recipe.separator, encoder.dim) == (" <e> ", 16)
    alone = [encoder.encode([text], "PRX")[0] for text in ("a b a b", "a", "")]
    assert encoder.encode(["a b a b", "a", ""], "PRX") == pytest.approx(np.stack(alone), abs=1e-5)


def test_a_folder_that_cannot_be_read_or_is_no_encoder_is_one_line(tmp_path):
    """No tokenizer, half of one, weights that are damaged or cut short: each is named, with what to do."""

    def refused(folder, said):
        with pytest.raises(ConfigError, match=rf"^{folder}: .*{said}"):
            load_encoder(str(folder)).encode(["a"], "PRX")

    for kind in (bert, roberta):
        folder = kind(tmp_path / kind.__name__)
        kept = {path.name: path.read_bytes() for path in folder.iterdir()}
        for bad in (b"junk" * 99, kept["model.safetensors"][:-1000], b""):
            (folder / "model.safetensors").write_bytes(bad)
            refused(folder, "the weights cannot be read")
        (folder / "model.safetensors").write_bytes(kept["model.safetensors"])
        (folder / "tokenizer.json").write_text("{half")
        refused(folder, "the tokenizer cannot be read")
        for name in kept.keys() - {"config.json", "model.safetensors", "tokenizer_config.json"}:
            (folder / name).unlink()
        refused(folder, "the tokenizer cannot be read")
        (folder / "tokenizer_config.json").unlink()
        refused(folder, "no tokenizer. Put its files there")
        with pytest.raises(ConfigError, match="no tokenizer"):
            _ = load_encoder(str(folder)).fingerprint  # before anything is read
    import transformers

    other = bert(tmp_path / "t5")
    (other / "model.safetensors").unlink()
    config = transformers.T5Config(vocab_size=60, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    transformers.T5Model(config).save_pretrained(other)
    with pytest.raises(ConfigError, match="model_type 't5' is no text encoder"):
        load_encoder(str(other)).encode(["a"], "PRX")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"no model: no config\.json"):
        _ = load_encoder(str(tmp_path / "empty")).fingerprint


def test_whatever_decides_vectors_changes_the_fingerprint_and_nothing_else_does(tmp_path):
    def print_of(name, **more):
        return load_encoder(str(name), **more).fingerprint

    folder = pipeline(bert(tmp_path / "first"), "mean", False, 64)
    prints = {
        "as it is": print_of(folder), "pooling": print_of(f"{folder}@cls"), "length": print_of(folder, max_length=63),
        "dtype": print_of(folder, dtype="bfloat16"),
        "normalised": print_of(pipeline(bert(tmp_path / "normal"), "mean", True, 64)),
        "seed of the weights": print_of(pipeline(bert(tmp_path / "w", 1), "mean", False, 64)),
    }  # fmt: skip
    copied = shutil.copytree(folder, tmp_path / "elsewhere")
    (copied / "README.md").write_text("a model card")
    assert print_of(copied) == print_of(copied, device="cpu") == prints["as it is"]
    for what, file, change in (
        ("one bit of the weights", "model.safetensors", lambda data: data[:-1] + bytes([data[-1] ^ 1])),
        ("tokenizer", "tokenizer.json", lambda data: data.replace(b'"lowercase": true', b'"lowercase": false')),
        ("configuration", "config.json", lambda data: data.replace(b'"gelu"', b'"relu"')),
        ("separator", "tokenizer_config.json", lambda data: data.replace(b'"[SEP]"', b'"[MASK]"')),
        ("stated length", "sentence_bert_config.json", lambda data: data.replace(b"64", b"65")),
    ):
        other = shutil.copytree(folder, tmp_path / what)
        before = (other / file).read_bytes()
        (other / file).write_bytes(change(before))
        assert (other / file).read_bytes() != before, what
        prints[what] = print_of(other)
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "q : "}}))
    prints["prompts"] = print_of(folder)
    assert len(set(prints.values())) == len(prints), prints
    # vectors that are already in people's stores stay valid: a change here is a change of vectors, or a mistake
    assert print_of("minilm") == "30a9e0c1f43403fb"


def test_dtypes_are_close(plain):
    texts, folder = ["a paper of models", "b"], str(plain)
    exact = load_encoder(folder).encode(texts, "PRX")
    with pytest.raises(ConfigError, match="unknown dtype 'float61'; did you mean 'float16'"):
        load_encoder(folder, dtype="float61")
    for dtype in ("bfloat16", "float16"):
        rounded = load_encoder(folder, dtype=dtype, device="cpu").encode(texts, "PRX")
        assert rounded.dtype == np.float32 and 0 < np.abs(rounded - exact).max() < 0.1


def test_a_device_that_is_not_there_is_said_before_any_work(plain, monkeypatch):
    import torch

    assert load_encoder(str(plain), device="cpu").device == "cpu"
    with pytest.raises(ConfigError, match=r"unknown device 'gpu7'\. Set SCIREP_DEVICE to cpu, cuda"):
        load_encoder(str(plain), device="gpu7").encode(["a"], "PRX")
    if not torch.cuda.is_available():
        assert load_encoder(str(plain)).device == "cpu"
        monkeypatch.setenv("SCIREP_DEVICE", "cuda")
        with pytest.raises(
            ConfigError, match=r"device 'cuda' was asked for, but torch sees none\. Set SCIREP_DEVICE=cpu"
        ):
            load_encoder(str(plain)).encode(["a"], "PRX")
    monkeypatch.setenv("SCIREP_DEVICE", "cpu")
    assert load_encoder(str(plain)).encode(["a"], "PRX").shape == (1, WIDTH)


def test_signs_join_encoders_and_concatenation_joins_last(tmp_path):
    a, b, c = (str(bert(tmp_path / name, seed)) for seed, name in enumerate("abc"))
    alone = [load_encoder(name).encode(["a paper"], "PRX")[0] for name in (a, b, c)]
    for name, expected in (
        (f"{a}+{b}", (alone[0] + alone[1]) / 2),
        (f"{a}+{b}+{c}", sum(alone) / 3),
        (f"{a}++{b}", np.concatenate(alone[:2])),
        (f"{a} + {b} ++ {c}", np.concatenate([(alone[0] + alone[1]) / 2, alone[2]])),
    ):
        joined = load_encoder(name)
        assert isinstance(joined, Ensemble) and joined.dim == len(expected)
        assert joined.encode(["a paper"], "PRX")[0] == pytest.approx(expected, abs=1e-6)
    assert load_encoder("minilm+specter", max_length=100).members[1].settings.max_length == 100
    for wrong in ("minilm+", "+minilm", "minilm+++specter"):
        with pytest.raises(ConfigError, match="nothing on one side of"):
            load_encoder(wrong)
    with pytest.raises(ConfigError, match="did you mean 'minilm'"):
        load_encoder("minilmm+specter")
    pooled = load_encoder(f"{a}@mean+{b}@pooler+{c}")
    assert [member.pooling for member in pooled.members] == ["mean", "pooler", "cls"]
    assert load_encoder(f"minilm@cls++{a}").members[0].pooling == "cls"
    plus = bert(tmp_path / "a+b")
    assert not isinstance(load_encoder(str(plus)), Ensemble)  # a folder that is there is a folder
    assert load_encoder(f"{plus}@mean").pooling == "mean"
    odd = bert(tmp_path / "mine@mean")
    assert (load_encoder(str(odd)).pooling, load_encoder(f"{odd}@pooler").pooling) == ("cls", "pooler")


@pytest.mark.parametrize("padded", [True, False])
def test_batches_hold_at_most_their_budget_and_every_text_once(padded):
    lengths = [512, 7, 7, 300, 64, 1, 2000]
    batches = list(settings.token_batches(lengths, 1024, padded=padded))
    assert sorted(i for batch in batches for i in batch) == list(range(7)) and batches[0] == [6]
    held = [len(one) * lengths[one[0]] if padded else sum(lengths[i] for i in one) for one in batches]
    assert all(len(batch) == 1 or tokens <= 1024 for batch, tokens in zip(batches, held, strict=True))
    assert list(settings.token_batches([], 10, padded=padded)) == []
