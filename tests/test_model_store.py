"""Trained models as folders: what was saved is what is loaded, transformers reads it too, and damage is noticed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from test_conditioning_oracles import model as conditioned
from tiny_models import VOCAB

from scirep_core.data.text import Recipe
from scirep_core.encoders import load_encoder
from scirep_core.encoders.conditioning.base import CONDITIONINGS, Conditioned
from scirep_core.encoders.models.model_store import MARK, describe, is_saved, load_model, save_model
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.encoders.trunk.tokens import of_words
from scirep_core.kit.errors import ConfigError, DataError, NumericError
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.store import stable_hash

SHAPE = Shape(len(VOCAB), 32, 2, 2, 32, 64)
RECIPE = Recipe(" [SEP] ", "query: ", "found: ", "paper: ")
TEXTS = ["a paper of w1 w2 [SEP] a model . w3", "b", "query : w7 w8 w9 w10 [PRX] c d", "w1 " * 30]


def tokens():
    return of_words({word: i for i, word in enumerate(VOCAB)})


def model(*given, spare=0, **more):
    """A model as after training: nothing is where it began."""
    return conditioned(*given, shape=replace(SHAPE, vocab_size=SHAPE.vocab_size + spare), **more)


def saved(place, *given, **changed):
    """Save a model under the recipe and length of all tests; return its folder."""
    return save_model(model(*given, **changed), tokens(), place, RECIPE, 24)


def vectors(model, tokens, texts=TEXTS, length=24):
    """(formats, texts, dim); of a shared pass (formats, texts, routes, dim)."""
    with torch.inference_mode():
        ids = tokens.ids(texts, length)
        return torch.stack([model(model.pack(ids, [format] * len(ids))) for format in FORMATS])


OTHERS = [
    {"kind": "bottleneck", "pooling": "mean", "reduction": 4, "leave_out": [0]},
    {"kind": "control_codes", "spare": 9},  # more words than its tokenizer has
]


@pytest.mark.parametrize("given", [*({"kind": kind} for kind in CONDITIONINGS), *OTHERS])
def test_every_kind_comes_back_as_it_was_and_is_an_encoder(tmp_path, given):
    first, made = model(**given), {"seed": 3, "steps": 10}
    save_model(first, tokens(), tmp_path / "m", RECIPE, 24, made)
    back, words, told = load_model(tmp_path / "m")
    assert told[:8] == (
        given["kind"], FORMATS, first.conditioning.options, first.pooling, RECIPE, 24, False, made
    )  # fmt: skip
    assert given.keys() - {"kind", "pooling", "spare"} <= first.conditioning.options.keys()
    assert words.ids(TEXTS, 24) == tokens().ids(TEXTS, 24)  # a code in a text is letters, as it was in training
    assert torch.equal(vectors(back, words), vectors(first, tokens())) and not back.training
    before, after = first.state_dict(), back.state_dict()
    assert list(before) == list(after)
    changed = [name for name in before if not torch.equal(before[name], after[name])]
    assert changed == (["trunk.words.weight"] if "spare" in given else [])  # codes take spare rows
    save_model(back, words, tmp_path / "again", RECIPE, 24, made)
    assert describe(tmp_path / "again") == describe(tmp_path / "m")  # to the byte
    encoder, kind = load_encoder(str(tmp_path / "again")), given["kind"]
    assert (encoder.dim, encoder.formats, encoder.recipe) == (32, FORMATS, RECIPE)
    assert (encoder.by_format, encoder.shared_pass) == (kind != "plain", kind == "one_pass")
    for number, exact in enumerate(vectors(first, tokens(), TEXTS, 24 - first.conditioning.added())):
        exact = exact[:, number] if exact.ndim == 3 else exact
        assert np.abs(encoder.encode(TEXTS, FORMATS[number]) - exact.numpy()).max() < 1e-5
    elsewhere = shutil.copytree(tmp_path / "again", tmp_path / "elsewhere")
    assert load_encoder(str(elsewhere)).fingerprint == encoder.fingerprint


@pytest.mark.parametrize("kind", ["plain", "control_codes"])
def test_plain_transformers_reads_the_folder(tmp_path, kind):
    import transformers

    first = model(kind)
    save_model(first, tokens(), tmp_path / "m", RECIPE, 24)
    theirs = transformers.AutoModel.from_pretrained(tmp_path / "m").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    told = kind == "control_codes"
    assert len(tokenizer) == theirs.config.vocab_size == len(VOCAB) + 4 * told
    for number, format in enumerate(FORMATS):
        text = "a paper of w1 w2 [SEP] a model . w3"
        batch = tokenizer(f"[{format}] {text}" if told else text, return_tensors="pt")
        with torch.inference_mode():
            hidden = theirs(**batch).last_hidden_state[0, 1 if told else 0]
        assert (hidden - vectors(first, tokens(), [text])[number, 0]).abs().max() < 1e-5


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("{m}@mean", "pools as it was trained"),
        ("{m}#PRXX", "unknown format 'PRXX'.*PRX"),
        ("{m}#", "unknown format ''"),
        ("{m}#QRY", "has no QRY; it has PRX"),
        ("#PRX", "no name is given"),
        ("{m}+{m}#ABC", "unknown format 'ABC'"),
    ],
)
def test_a_name_that_asks_for_what_is_not_there_is_one_clear_line(tmp_path, name, said):
    place = saved(tmp_path / "m", "bottleneck", routes=("PRX",))
    with pytest.raises(ConfigError, match=said):
        load_encoder(name.format(m=place))


def test_settings_of_the_caller_change_the_fingerprint_and_routes_of_tasks_stand_for_formats(tmp_path):
    tasks = saved(tmp_path / "tasks", "ffn_experts", routes=("classification", "link", "search"))
    assert load_encoder(str(tasks)).formats == ("CLF", "PRX", "QRY")
    place = str(saved(tmp_path / "m"))
    made = [load_encoder(place), load_encoder(place, max_length=12), load_encoder(place, dtype="bfloat16")]
    assert len({encoder.fingerprint for encoder in made}) == 3
    assert load_encoder(place, max_length=24).fingerprint == made[0].fingerprint
    long = ["w1 " * 30]
    assert np.abs(made[1].encode(long, "PRX") - made[0].encode(["w1 " * 10], "PRX")).max() < 1e-6
    for wrong in (65, 2, 0):
        with pytest.raises(ConfigError, match=f"max_length {wrong} is outside 3-64"):
            load_encoder(place, max_length=wrong)
    with pytest.raises(ConfigError, match="unknown dtype 'float64'; did you mean 'float16'"):
        load_encoder(place, dtype="float64")


def test_the_fingerprint_names_what_decides_vectors_and_no_more(tmp_path):
    def made(name, first=None, recipe=RECIPE, length=24, normalised=False, **more):
        told = more.pop("tokens", tokens())
        save_model(first or model(), told, tmp_path / name, recipe, length, more, normalised)
        return describe(tmp_path / name).fingerprint

    other = tokens()
    other.add(["w40"])  # not among the words of the first
    wide = Conditioned(Trunk(replace(SHAPE, vocab_size=len(VOCAB) + 1)), model().conditioning)
    prints = {
        "as it is": made("a"), "weights": made("b", model(seed=1)), "pooling": made("c", model(pooling="mean")),
        "kind": made("d", model("control_codes")), "recipe": made("e", recipe=Recipe(". ")),
        "length": made("f", length=23), "normalised": made("i", normalised=True), "tokenizer": made("g", wide, tokens=other),
        "eps": made("h", Conditioned(Trunk(replace(SHAPE, layer_norm_eps=1e-5)), model().conditioning)),
    }  # fmt: skip
    assert len(set(prints.values())) == len(prints), prints
    assert made("elsewhere", seconds=3.5) == prints["as it is"]  # neither its place nor how it was made


def test_a_model_takes_the_place_of_an_earlier_one_and_of_nothing_else(tmp_path):
    place = saved(tmp_path / "m")
    saved(place, "control_codes", seed=1)
    assert load_model(place).described.kind == "control_codes"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]  # nothing half-written stays
    for name in ("mine", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds something else"):
        saved(tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"
    with pytest.raises(ConfigError, match="no model saved by scirep train"):
        load_model(tmp_path / "empty")
    assert is_saved(saved(tmp_path / "empty"))


def test_what_cannot_be_saved_leaves_the_earlier_model(tmp_path):
    place = saved(tmp_path / "m")
    before, broken, more = describe(place), model(), tokens()
    with torch.no_grad():
        broken.trunk.words.weight[3, 3] = float("nan")
    more.add(["w40"])
    for wrong, words, made, said in (
        (broken, tokens(), {}, r"word_embeddings\.weight is not finite"), (model(), tokens(), {"path": tmp_path}, "must be JSON"),
        (model(), more, {}, "do not belong together"), (model("control_codes"), more, {}, "do not belong together"),
    ):  # fmt: skip
        with pytest.raises((NumericError, ConfigError), match=said):
            save_model(wrong, words, place, RECIPE, 24, made)
    assert describe(place) == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_bit_that_flipped_in_any_file_is_noticed(tmp_path):
    place = saved(tmp_path / "m", "control_codes")
    for path in [path for path in sorted(place.rglob("*")) if path.is_file()]:
        good = path.read_bytes()
        for content in (good[: len(good) // 2], bytes([*good[:-9], good[-9] ^ 1, *good[-8:]])):
            path.write_bytes(content)
            with pytest.raises((ConfigError, DataError), match=str(path) if path.name != MARK else MARK):
                load_model(place)
        path.unlink()
        with pytest.raises(ConfigError, match=r"missing|no scirep\.json"):
            load_model(place)
        path.write_bytes(good)
    load_model(place)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "control_code"}, "control_codes"),
        ({"kind": 3}, "'kind' must be str"),
        ({"layout": 2}, "Update scirep"),
        ({"routes": []}, "routes must be"),
        ({"routes": ["CLF", "CLF"]}, "routes must be"),
        ({"pooling": "max"}, "unknown pooling 'max'"),
        ({"max_length": 2}, "max_length must be 3"),
        ({"options": {"redaction": 4}}, "redaction"),
        ({"files": {"../config.json": "00"}}, "none of this folder's"),
        ({"files": {}}, "files must name config.json"),
        ({"prompts": {}}, "'query' is missing"),
        ({"made": None}, "'made' must be dict"),
    ],
)
def test_a_mark_that_says_nonsense_is_one_clear_line(tmp_path, change, said):
    place = saved(tmp_path / "m", "bottleneck")
    mark = json.loads((place / MARK).read_text())
    del mark["sha256"]
    mark |= change
    (place / MARK).write_text(json.dumps(mark | {"sha256": stable_hash(mark)}))
    with pytest.raises((ConfigError, DataError), match=said) as error:
        load_model(place)
    assert MARK in str(error.value)
