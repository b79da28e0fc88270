"""Control codes, adapters and fusion on the trunk. Oracles: the `adapters` library, and plain transformers."""

from __future__ import annotations

import json
import logging
import shutil
from itertools import product

import pytest
import tiny_models
import torch
from test_conditioning_oracles import model as conditioned
from test_export import coded
from tiny_models import hidden_states

from scirep_core.data.text import Recipe
from scirep_core.encoders.conditioning.adapter_folder import load_adapters
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
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


def said_by_the_library(folder, fused):
    """Return format -> last hidden states of each document, by a folder's adapters or by their fusions."""
    from adapters import AutoAdapterModel, Fuse

    logging.getLogger("adapters").setLevel(logging.ERROR)
    model, found = AutoAdapterModel.from_pretrained(folder).eval(), {}
    for format in FORMATS:
        model.load_adapter(str(folder / format), use_safetensors=True)
    for format in FORMATS:
        if fused:
            model.load_adapter_fusion(str(folder / f"{format}_fusion"), set_active=False, use_safetensors=True)
        # a fusion's own format stands first, as its folder is named
        model.set_active_adapters(Fuse(format, *(f for f in FORMATS if f != format)) if fused else format)
        found[format] = tiny_models.states_of(model, DOCUMENTS)
    return found


def difference(one, other):
    assert [a.shape for a in one] == [b.shape for b in other]
    return max((a - b).abs().max().item() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", ["bottleneck", "fusion"])
@pytest.mark.parametrize("options", [{}, {"leave_out": [0], "reduction": 8}])
def test_folders_written_here_load_in_the_library_and_here_and_formats_mix_in_a_batch(tmp_path, kind, options):
    base = tiny_models.bert(tmp_path / "base")
    trunk = read_trunk(base)
    torch.manual_seed(3)
    told = conditioning(kind, trunk, **options)
    for value in told.parameters():
        torch.nn.init.normal_(value, std=0.2)  # at 0.3 softmax magnifies rounding, the library's own too, beyond 1e-5
    made = Conditioned(trunk, told).eval()
    place = save_model(made, read_tokens(base), tmp_path / "m", Recipe(), 64, {"base": "own/base"})
    back, alone = load_adapters(trunk, {f: place / f for f in FORMATS}), said_by_the_library(place, kind == "fusion")
    assert back.options == told.options
    assert difference(alone["CLF"], alone["PRX"]) > 0.05
    for formats in (MIXED, *([format] * len(DOCUMENTS) for format in FORMATS)):
        assert (
            difference(hidden_states(made, DOCUMENTS, formats), [alone[format][i] for i, format in enumerate(formats)])
            < 1e-5
        )
    for name, value in back.state_dict().items():
        assert torch.equal(value, told.state_dict()[name]), name


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
    first = conditioned("bottleneck")
    second = fuse(first)
    assert second.trunk is first.trunk and second.conditioning.adapters is first.conditioning.adapters
    assert second.conditioning.options == first.conditioning.options
    moved = second.conditioning.trained(second.trunk)
    assert moved and not {id(value) for value in first.parameters()} & {id(value) for value in moved}
    values = [mixer.value.weight for layer in second.conditioning.mixers for mixer in layer]
    assert all((value - torch.eye(24)).abs().max() < 2e-6 for value in values)
    one = conditioned("bottleneck", ["PRX"])  # one adapter has all the weight
    states = [hidden_states(of, DOCUMENTS[:1], ["PRX"]) for of in (one, fuse(one).eval())]
    assert difference(*states) < 1e-4
    with pytest.raises(ConfigError, match="this one is control_codes"):
        fuse(conditioned("control_codes"))


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
    of = conditioned("control_codes")
    assert of.conditioning.tokens([2, 7, 3], 1) == [2, 61, 7, 3] and of.conditioning.added() == 1
    batch = of.pack([[2, 7, 3], [2, 3]], ["PRX", "QRY"])
    assert batch.ids[batch.read].tolist() == [62, 63]
    with pytest.raises(ConfigError, match="has no XYZ; it has CLF, RGN, PRX, QRY"):
        of.pack([[2, 3]], ["XYZ"])
