"""The encoder in the page: its ids are the tokenizer's, its vectors Python's, in Chromium from disk, between two keystrokes."""

from __future__ import annotations

import json
import random

import chromium
import numpy as np
import pytest
import torch
from test_trunk import UNPLEASANT
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from tokenizers.normalizers import BertNormalizer

from scirep_core.data.text import Recipe
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.models.model_store import Saved, load_model, save_model
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.encoders.trunk.tokens import Tokens, of_words
from scirep_core.encoders.trunk_encoder import About, TrunkEncoder
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS
from scirep_core.page.widgets.own_encoder import pack, unpack, whole_numbers
from scirep_core.page.widgets.own_paper import ESM

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    "Évaluer", "naïve", "café", "retrieval", "of", "scientific", "documents", "by", "graph-based", "re-ranking,", "3.5-fold;",
    "neighbours'", "textual", "modelling", "ΣΟΦΟΣ", "İstanbul", "straße", "模型", "研究", "learning", "representations",
    "citations", "adapters", "formats", "β-catenin",
]  # fmt: skip
STRANGE = [
    *UNPLEASANT, "ΣΟΦΟΣ ΑΣ", "İstanbul STRASSE ẞ", "one\u00a0two\u2003three\u200bfour\u0085five", "Ａ　Ｂ", "e\u0301\u0327 ﬃ Ǆ",
    "$5 + 3 = 8 < 9 ~ ^ | `x`", "§ 4 ¶ € ± × ÷ ° №", "[SEP][SEP] [sep]", "\ufeffstart \ufffd end", "नमस्ते दुनिया", "สวัสดี",
    "한국어 문장", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠀀𠀁", "a" * 101, "b" * 100,
]  # fmt: skip


def texts(n: int = 500) -> list[str]:
    """Own words in many spellings and lengths, and every strange text."""
    rng = random.Random(0)
    made = []
    for _ in range(n - len(STRANGE)):
        words = [rng.choice((str, str.upper, str.title))(rng.choice(WORDS)) for _ in range(rng.randrange(1, 200))]
        words.insert(rng.randrange(len(words) + 1), "[SEP]")
        made.append("".join(word + rng.choice((" ", " ", " ", ", ", ". ", "\n")) for word in words))
    return made + STRANGE


SAID = [text for text in texts(510) if "\ud800" not in text]


def tokens_of(said: list[str]) -> Tokens:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(
        said, trainers.WordPieceTrainer(vocab_size=400, special_tokens=SPECIAL, show_progress=False)
    )
    return of_words(made.get_vocab())


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Saved:
    """A one-pass model of the size that is trained in a minute; weights large enough that every part matters."""
    tokens = tokens_of([" ".join(WORDS)] * 3)
    torch.manual_seed(0)
    trunk = Trunk(Shape(tokens.size, 64, 2, 4, 256))
    model = Conditioned(trunk, conditioning("one_pass", trunk))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += torch.randn_like(parameter) * (0.1 if parameter.ndim > 1 else 0.05)
    folder = tmp_path_factory.mktemp("own") / "model"
    return load_model(save_model(model, tokens, folder, Recipe(), 256))


@pytest.fixture(scope="module")
def page(saved, tmp_path_factory):
    """A page from disk, every other request blocked, in which `model` is the packed one."""
    folder = tmp_path_factory.mktemp("page")
    blank = '<!doctype html><meta charset="utf-8"><title>own encoder</title>'
    (folder / "index.html").write_text(blank, encoding="utf-8")
    with chromium.browser() as started, chromium.tab(started, f"{folder.as_uri()}/") as tab:
        tab.page.goto(f"{folder.as_uri()}/index.html")
        tab.page.evaluate(
            """async ([source, packed]) => {
              const module = await import(URL.createObjectURL(new Blob([source], {type: "text/javascript"})));
              window.model = module.open(JSON.parse(packed));
            }""",
            [ESM, json.dumps(pack(saved))],
        )
        yield tab.page
        assert tab.problems == []


def test_ids_are_the_tokenizers(saved, page):
    found = page.evaluate("(texts) => texts.map((text) => [...model.tokens(text)])", SAID)
    for text, ids, own in zip(SAID, saved.tokens.ids(SAID, 256), found, strict=True):
        assert own == ids, text[:80]
    half = page.evaluate(
        "() => [...model.tokens('half \\ud800 of a pair')]"
    )  # no text of Python's reaches a page like this
    assert half == saved.tokens.ids(["half \ud800 of a pair"])[0]


def test_vectors_are_pythons_to_1e4_under_every_format_on_500_texts(saved, page):
    found = page.evaluate(
        "(texts) => texts.map((t) => { const v = model.encode(t); return model.formats.map((f) => [...v[f]]); })", SAID
    )
    assert len(SAID) >= 500
    for f, vectors in enumerate(unpack(pack(saved)).encode_formats(SAID)[form] for form in FORMATS):
        own = np.array([rows[f] for rows in found])
        assert np.abs(own - vectors).max() <= 1e-4
        assert np.linalg.norm(vectors, axis=1).min() > 1  # so that the bound says something
    spread = np.array([rows[0] for rows in found]).std(axis=0)
    assert spread.min() > 0.01


def test_rounding_is_to_the_nearest_whole_number_of_a_row():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(50, 64)).astype(np.float32)
    matrix[3] = 0
    whole, factors = whole_numbers(matrix)
    assert np.abs(whole).max() == 127 and (whole[3] == 0).all()
    assert (np.abs(whole * factors[:, None] - matrix) <= factors[:, None] * 0.5001).all()


def test_the_packed_model_is_the_saved_one_but_for_rounding(saved):
    told = TrunkEncoder("x", lambda: (saved.model, saved.tokens), About("x", 64, Recipe(), 256, shared_pass=True))
    whole, small = told.encode_formats(SAID), unpack(pack(saved)).encode_formats(SAID)
    for form in FORMATS:
        a, b = whole[form], small[form]
        cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        assert cosines.min() > 0.999 and np.abs(a - b).max() > 1e-4


def test_a_model_of_the_literatures_size_fits_its_room(saved):
    assert len(json.dumps(pack(saved))) < 400_000
    with pytest.raises(ConfigError, match="over the cap of 1,000"):
        pack(saved, cap=1000)


def test_a_model_the_page_cannot_run_is_refused(saved, tmp_path):
    trunk = saved.model.trunk
    plain = load_model(
        save_model(Conditioned(trunk, conditioning("plain", trunk)), saved.tokens, tmp_path / "p", Recipe(), 256)
    )
    with pytest.raises(ConfigError, match=r"this one is plain.*one pass dense"):
        pack(plain)
    cased = of_words(saved.tokens.tokenizer.get_vocab(), lowercase=False)
    with pytest.raises(ConfigError, match="uncased"):
        pack(saved._replace(tokens=cased))
