"""Control codes, adapters and fusion on the trunk. Oracles: the `adapters` library, and plain transformers."""

from __future__ import annotations

import json
import logging
import shutil
from itertools import product
from pathlib import Path

import pytest
import tiny_models
import torch
from safetensors.torch import load_file, save_file
from test_export import coded

from scirep_core.data.text import Recipe
from scirep_core.encoders.conditioning.adapter_folder import load_adapters
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.conditioning.bottleneck import Bottleneck
from scirep_core.encoders.conditioning.control_codes import ControlCodes, code_names, joined, parted
from scirep_core.encoders.conditioning.fusion import fuse
from scirep_core.encoders.hub import TransformersEncoder
from scirep_core.encoders.models.model_folder import has_codes
from scirep_core.encoders.models.model_store import save_model
from scirep_core.encoders.settings import Settings
from scirep_core.encoders.trunk.bert import Shape, Trunk, read_trunk
from scirep_core.encoders.trunk.tokens import read_tokens
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS

DOCUMENTS = [[2, *inner, 3] for inner in ((5, 6), (), range(5, 45), (7, 8, 9), (9,), (5, 6), range(40, 45))]
MIXED = ["PRX", "CLF", "QRY", "RGN", "PRX", "QRY", "CLF"]


def random_model(kind: str, *routes, **options) -> Conditioned:
    """Return a small model whose every weight is random, biases and norms too."""
    torch.manual_seed(0)
    trunk = Trunk(Shape(60, 32, 3, 4, 48, 64))
    model = Conditioned(trunk, conditioning(kind, trunk, *routes, **options))
    for name, value in model.named_parameters():
        mean = float(name.endswith(("norm1.weight", "norm2.weight", "norm.weight")))
        torch.nn.init.normal_(value, mean=mean, std=0.3)
    return model.eval()


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A base model and four adapters, as the library writes them."""
    root = tmp_path_factory.mktemp("own")
    base = tiny_models.bert(root / "base")
    for seed, format in enumerate(FORMATS):
        tiny_models.adapter(base, root / format, format, seed)
    return root


def the_library(base: Path, adapters: dict[str, Path], fusions: dict[str, Path]):
    """Return the oracle with adapters and fusions loaded from folders."""
    from adapters import AutoAdapterModel

    logging.getLogger("adapters").setLevel(logging.ERROR)
    model = AutoAdapterModel.from_pretrained(base)
    for folder in adapters.values():
        model.load_adapter(str(folder), use_safetensors=True)
    for folder in fusions.values():
        model.load_adapter_fusion(str(folder), set_active=False, use_safetensors=True)
    return model.eval()


def first_of(format):
    """The library's fusion of all formats' adapters, a format's own first: as its folder is named."""
    from adapters import Fuse

    return Fuse(format, *(other for other in FORMATS if other != format))


def said(model: Conditioned, formats):
    return tiny_models.hidden_states(model, DOCUMENTS, formats)


def said_by_the_library(model, active):
    """Return last hidden states of each document, by the active adapter or fusion."""
    model.set_active_adapters(active)
    with torch.no_grad():
        return [model(input_ids=torch.tensor([document])).last_hidden_state[0] for document in DOCUMENTS]


def difference(one, other):
    assert [a.shape for a in one] == [b.shape for b in other]
    return max((a - b).abs().max().item() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", ["bottleneck", "fusion"])
@pytest.mark.parametrize("options", [{}, {"leave_out": [0], "reduction": 8}])
def test_folders_written_here_load_in_the_library_and_here_and_formats_mix_in_a_batch(tmp_path, own, kind, options):
    trunk = read_trunk(own / "base")
    torch.manual_seed(3)
    told = conditioning(kind, trunk, **options)
    for value in told.parameters():
        torch.nn.init.normal_(value, std=0.2)  # at 0.3 softmax magnifies rounding, the library's own too, beyond 1e-5
    model = Conditioned(trunk, told).eval()
    place = save_model(model, read_tokens(own / "base"), tmp_path / "m", Recipe(), 64, {"base": "own/base"})
    adapters = {format: place / format for format in FORMATS}
    fusions = {format: place / f"{format}_fusion" for format in FORMATS} if kind == "fusion" else {}
    library, back = the_library(place, adapters, fusions), load_adapters(trunk, adapters)
    assert back.options == told.options
    alone = {f: said_by_the_library(library, first_of(f) if kind == "fusion" else f) for f in FORMATS}
    assert difference(alone["CLF"], alone["PRX"]) > 0.05
    for formats in (MIXED, *([format] * len(DOCUMENTS) for format in FORMATS)):
        assert difference(said(model, formats), [alone[format][i] for i, format in enumerate(formats)]) < 1e-5
    for name, value in back.state_dict().items():
        assert torch.equal(value, told.state_dict()[name]), name


@pytest.mark.parametrize(
    ("base", "name", "made", "said"),
    [
        ({"layers": 1}, "CLF", None, r"CLF: 8 tensors in the file, 4 in the model.*another base model"),
        ({"width": 48}, "CLF", None, "not the same"),
        ({}, "PRX", {"reduction_factor": 4}, "alike in reduction"),
        ({}, "RGN", {"is_parallel": True}, r"the trunk has no such adapter, .*is_parallel.*seq_bn"),
        ({}, "CLF", -1, "7 tensors in the file, 8 in the model"),
        ({}, "CLF", +1, "9 tensors in the file, 8 in the model"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused_by_its_name(tmp_path, own, base, name, made, said):
    trunk = read_trunk(tiny_models.bert(tmp_path / "base", **base))
    folders = {format: own / format for format in FORMATS}
    if isinstance(made, int):  # one tensor less, or one of a layer more
        folders[name] = shutil.copytree(own / name, tmp_path / name)
        tensors = load_file(folders[name] / "adapter.safetensors")
        first = min(tensors)
        more = tensors | {first.replace("layer.0", "layer.7"): tensors[first].clone()}
        less = {key: value for key, value in tensors.items() if key != first}
        save_file(more if made > 0 else less, folders[name] / "adapter.safetensors")
    elif made:
        folders[name] = tiny_models.adapter(own / "base", tmp_path / name, name, 1, **made)
    with pytest.raises(ConfigError, match=said):
        load_adapters(trunk, {name: folders[name]} if name == "RGN" else folders)


@pytest.mark.parametrize("options", [{"reduction": 0}, {"leave_out": [7]}])
def test_sizes_that_do_not_fit_the_trunk_are_refused(options):
    with pytest.raises(ConfigError, match="do not fit 2 layers"):
        Bottleneck(Trunk(Shape(60, 32, 2, 2, 48, 64)), **options)


def test_a_foreign_folder_with_codes_has_a_vector_per_format(tmp_path):
    """As scirepeval_ctrl was made: codes sorted, added by transformers' tokenizer, embeddings resized."""
    base = tiny_models.bert(tmp_path / "base")
    assert not has_codes(base)
    out, plain, tokenizer = coded(tmp_path / "out")
    old = tmp_path / "old"
    old.mkdir()
    for name in ("config.json", "model.safetensors", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(out / name, old)  # what a slow tokenizer of 2022 left
    codes = {name: len(tiny_models.VOCAB) + i for i, name in enumerate(sorted(code_names(FORMATS)))}
    (old / "added_tokens.json").write_text(json.dumps(codes))
    texts = ["a paper of models [SEP] b c d", "w1 w2 w3 " * 200, "a", ""]
    for folder, length, format in product((out, old), (512, 16), FORMATS):
        assert has_codes(folder)
        encoder = TransformersEncoder("x", str(folder), "cls", None, Settings(max_length=length), codes=True)
        assert encoder.formats == FORMATS
        asked = [f"[{format}] {text}" for text in texts]
        given = tokenizer(asked, padding=True, truncation=True, max_length=length, return_tensors="pt")
        with torch.inference_mode():
            expected = plain(given["input_ids"], given["attention_mask"]).last_hidden_state[:, 1]
        assert encoder.encode(texts, format) == pytest.approx(expected.numpy(), abs=1e-5)
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
    with pytest.raises(ConfigError, match=r"tokens \[500\], and there are"):
        parted(tensors, [500])


def test_fusion_is_put_over_trained_adapters_which_it_leaves():
    model = random_model("bottleneck", reduction=8)
    second = fuse(model)
    assert second.trunk is model.trunk and second.conditioning.adapters is model.conditioning.adapters
    assert second.conditioning.options == model.conditioning.options
    moved = second.conditioning.trained(second.trunk)
    assert moved and not {id(value) for value in model.parameters()} & {id(value) for value in moved}
    values = [mixer.value.weight for layer in second.conditioning.mixers for mixer in layer]
    assert all((value - torch.eye(32)).abs().max() < 2e-6 for value in values)
    one, asked = random_model("bottleneck", ["PRX"]), ["PRX"] * len(DOCUMENTS)  # one adapter has all the weight
    assert difference(said(one, asked), said(fuse(one).eval(), asked)) < 1e-4
    with pytest.raises(ConfigError, match="this one is control_codes"):
        fuse(random_model("control_codes"))


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
