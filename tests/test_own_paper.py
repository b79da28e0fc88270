"""The own-paper explorer and its encoder: data, plain twin, the tokenizer's ids and Python's vectors in Chromium from disk."""

from __future__ import annotations

import json
import random
import re

import chromium as chromium_
import numpy as np
import panel
import pytest
import torch
from test_trunk import UNPLEASANT

from scirep_core.data.perturbations import PERTURBATIONS, perturb
from scirep_core.data.perturbations.changes import Parsed
from scirep_core.data.perturbations.linguistics import find_tools
from scirep_core.data.text import Recipe
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.models.model_store import Saved, load_model, save_model
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.encoders.trunk.tokens import of_words
from scirep_core.encoders.trunk_encoder import About, TrunkEncoder
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.formats import FORMATS
from scirep_core.page import own_paper as exhibit
from scirep_core.page.widgets.own_encoder import CAP as ENCODER_CAP
from scirep_core.page.widgets.own_encoder import pack, unpack, whole_numbers
from scirep_core.page.widgets.own_paper import CODES, ESM, NEAR, nearest_places, own_paper_data, whole_vectors
from scirep_core.results import recorded
from scirep_core.training.base import wordpieces

N = 60


@pytest.fixture(scope="module")
def shown(own_home) -> exhibit.Shown:
    return exhibit.look(exhibit.read_model(), N, 0)


@pytest.fixture(scope="module")
def found(shown):
    return exhibit.read(shown, 0)


@pytest.fixture(scope="module")
def widget(shown, found):
    return exhibit.explorer(shown, found)


# ------------------------------------------------------------------------------------------------------------- data


def test_the_recorded_encoder_is_under_a_megabyte_and_its_rows_are_its_own(shown):
    assert len(json.dumps(shown.packed)) < ENCODER_CAP
    mine = [row for row in recorded("beyond/own_paper", "embedded") if row.fingerprint == shown.encoder.fingerprint]
    rows = {(row.task, row.metric): row for row in mine}
    assert set(rows) == {(f"rounding/{form}", metric) for form in FORMATS for metric in ("cosine", "shared")}
    assert all(row.value > 0.998 for (_, metric), row in rows.items() if metric == "cosine")


def test_a_damaged_recorded_encoder_is_named_with_the_remedy(tmp_path):
    (tmp_path / "m.json.gz").write_bytes(exhibit.MODEL.read_bytes()[:1000])
    for name in ("m.json.gz", "none.json.gz"):
        with pytest.raises(DataError, match=rf"{name}.*Record it: python -m scirep_core.page.own_paper"):
            exhibit.read_model(tmp_path / name)


def test_examples_are_not_among_the_papers_and_all_have_a_field_and_a_year(shown):
    assert len(shown.papers) == N and len(shown.examples) == exhibit.EXAMPLES + 1
    assert not {one.key for one in shown.examples} & {paper.paper_id for paper in shown.papers}
    assert all(paper.field and paper.year for paper in shown.papers)
    with pytest.raises(ConfigError, match=r"papers = 4000: the literature has 3,000"):
        exhibit.look(shown.packed, 4000, 0)


def test_heads_say_what_scikit_learns_models_say(shown, found):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    names, field = np.unique([paper.field for paper in shown.papers], return_inverse=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000)).fit(shown.vectors["CLF"], field)
    scores = shown.vectors["CLF"] @ found.heads.field[0].T + found.heads.field[1]
    assert (scores.argmax(1) == model.predict(shown.vectors["CLF"])).all() and scores.shape == (N, len(names))
    years = shown.vectors["RGN"] @ found.heads.year[0] + found.heads.year[1]
    assert np.corrcoef(years, [paper.year for paper in shown.papers])[0, 1] > 0.5


def test_whole_vectors_keep_cosines_and_order():
    x = np.random.default_rng(0).normal(size=(200, 64))
    whole = whole_vectors(x)
    cosines = (whole * x).sum(1) / np.linalg.norm(whole.astype(float), axis=1) / np.linalg.norm(x, axis=1)
    assert cosines.min() > 0.9995 and np.abs(whole).max() == 127 and whole.dtype == np.int8
    assert nearest_places(x, x, 1)[:, 0].tolist() == list(range(200))
    tied = np.array([[1.0, 0], [2, 0], [0, 1]])
    assert nearest_places(tied[:1], tied, 3).tolist() == [[0, 1, 2]]


def test_what_does_not_fit_is_refused(shown, found, monkeypatch):
    monkeypatch.setattr("scirep_core.page.widgets.own_paper.CAP", 1000)
    large = r"over the cap of 1,000 .*fewer papers \(now 60\)"
    for papers, said in (([], "papers: none given"), (shown.papers, large)):
        with pytest.raises(ConfigError, match=said):
            own_paper_data(shown.packed, papers, shown.vectors, found.heads, shown.examples, {}, "")


def test_the_plain_twin_has_every_example_and_its_nearest(shown, widget):
    plain = widget.static_fallback()
    assert plain.count("<table") == len(shown.examples) and plain.count("<tr>") == len(shown.examples) * (NEAR + 1)
    first = {form: nearest_places(exhibit.vectors_of(shown.encoder, [shown.examples[0][1:3]])[form],
                                  whole_vectors(shown.vectors[form]), 1)[0, 0] for form in FORMATS}  # fmt: skip
    for place in first.values():
        assert shown.papers[place].title[:100].replace("'", "&#x27;") in plain


# ---------------------------------------------------------------------------------------------------------- browser


RANKS = """() => [...document.querySelectorAll(".opx-lists tbody tr")].map((row) => [row.querySelector("span").textContent,
  row.className, [...row.querySelectorAll("td")].map((cell) => parseInt(cell.textContent) || 0)])"""


def lists_are_where_python_finds_them(page, shown, text, near, forms=FORMATS):
    page.wait_for_timeout(200)
    vectors = exhibit.vectors_of(shown.encoder, [text])
    rows = page.evaluate(RANKS)
    for at, form in enumerate(forms):
        places = nearest_places(vectors[form], whole_vectors(shown.vectors[form]), near)[0]
        titles = {ranks[at]: title for title, _, ranks in rows}
        assert [titles[rank] for rank in range(1, near + 1)] == [shown.papers[place].title[:160] for place in places]
    return vectors


def test_typing_moves_the_lists_to_where_python_finds_them(shown, found, widget, tmp_path, browser):
    page = browser.open(panel.page(tmp_path, widget))
    own = shown.examples[2]
    page.fill(".opx-of-title input", own.title)
    page.fill(".opx-of-abstract textarea", own.abstract)
    vectors = lists_are_where_python_finds_them(page, shown, (own.title, own.abstract), NEAR)
    said = page.inner_text(".opx-year"), page.inner_text(".opx-guess li:first-child")
    heads = found.heads
    names = sorted({paper.field for paper in shown.papers})
    assert said[0] == str(round(float(vectors["RGN"][0] @ heads.year[0] + heads.year[1])))
    assert names[int((vectors["CLF"][0] @ heads.field[0].T + heads.field[1]).argmax())] in said[1]


def test_the_brief_panel_of_the_first_page_reads_one_box_and_lists_the_papers_nearest_by_one_vector(
    shown, widget, tmp_path, browser
):
    page = browser.open(panel.page(tmp_path, widget, brief=True))
    assert page.input_value(".opx-of-title input") == shown.examples[0].title
    assert page.locator("textarea, .opx-change").count() == 0
    page.fill(".opx-of-title input", "galaxies in clusters")
    lists_are_where_python_finds_them(page, shown, ("galaxies in clusters", ""), 5, ["PRX"])
    assert len(page.evaluate(RANKS)) == 5 and page.locator(".opx-apart").count() == 0
    page.select_option(".opx-of-example select", shown.examples[1].key)
    assert page.input_value(".opx-of-title input") == shown.examples[1].title


def test_a_row_is_coloured_where_the_vectors_do_not_share_it(shown, widget, tmp_path, browser):
    page = browser.open(panel.page(tmp_path, widget))
    for example in shown.examples:
        page.select_option(".opx-of-example select", example.key)
        rows = page.evaluate(RANKS)
        assert all((name == "opx-apart") == any(not 0 < rank <= NEAR for rank in ranks) for _, name, ranks in rows)
        assert all(min(rank or NEAR + 1 for rank in ranks) <= NEAR for *_, ranks in rows)


def test_words_that_the_encoder_does_not_know_are_counted_though_it_cuts_them_into_pieces(widget, tmp_path, browser):
    page = browser.open(panel.page(tmp_path, widget, brief=True))
    for text, said in (
        ("asdf qwer zxcv", "of 3 words, of which its vocabulary does not know 3"),
        ("in 1997: qwer!", "of 2 words, of which its vocabulary does not know 1"),
        ("in", "of 1 word, of which its vocabulary does not know none"),
    ):
        page.fill(".opx-of-title input", text)
        page.wait_for_timeout(100)
        assert said in page.inner_text(".opx-cost")


@pytest.mark.parametrize("brief", [False, True])
def test_a_text_of_the_readers_own_is_in_the_link_and_no_example_is_said_to_be_shown(brief, widget, tmp_path, browser):
    address = panel.page(tmp_path, widget, brief=brief)
    page = browser.open(address)
    first = page.input_value(".opx-of-example select")
    page.fill(".opx-of-title input", "Cells, <b>50 %</b> & more")
    if not brief:
        page.fill(".opx-of-abstract textarea", "One line.\nAnother, with a comma.")
        page.select_option(".opx-of-code select", "T_ARot")
    page.wait_for_timeout(300)
    assert page.input_value(".opx-of-example select") == ""
    again = browser.open(page.url)
    more = () if brief else (".opx-of-abstract textarea", ".opx-of-code select")
    for box in (".opx-of-title input", ".opx-lists", *more):
        read = "e => e.value ?? e.innerText"
        assert again.eval_on_selector(box, read) == page.eval_on_selector(box, read), box
    page.select_option(".opx-of-example select", first)  # the first example again, though it was never left for another
    assert "Cells" not in page.input_value(".opx-of-title input")
    page.click("text=Empty")
    page.wait_for_timeout(300)
    assert page.input_value(".opx-of-example select") == "" and page.input_value(".opx-of-title input") == ""
    assert browser.open(page.url).input_value(".opx-of-title input") == ""


def test_hostile_empty_and_endless_texts_are_read(widget, tmp_path, browser):
    page = browser.open(panel.page(tmp_path, widget))
    page.fill(".opx-of-title input", '<img src=x onerror="window.pwned=1">')
    page.fill(".opx-of-abstract textarea", "so it goes on and on. " * 500)
    page.select_option(".opx-of-code select", "T_AShuff")
    page.wait_for_timeout(300)
    assert page.evaluate("window.pwned") is None
    assert "the first 256 are read" in page.inner_text(".opx-cost")
    page.click("text=Draw again")
    page.click("text=Empty both boxes")
    page.wait_for_timeout(200)
    assert "Nothing is typed" in page.inner_text(".opx-cost")
    assert page.inner_text(".opx-changed") == ""


def test_keystrokes_of_one_frame_are_answered_once(shown, widget, tmp_path, browser):
    """200 words, typed faster than a frame is drawn: the text is encoded once, as it stands then."""
    page = browser.open(panel.page(tmp_path, widget))
    words = " ".join(" ".join(text) for text in shown.texts).split()
    said = " ".join(random.Random(0).choices(words, k=200))
    answers = page.evaluate(
        """(text) => new Promise((done) => {
          const box = document.querySelector(".opx-of-abstract textarea");
          let answers = 0;
          new MutationObserver((found) => found.forEach((one) => answers += one.addedNodes.length > 0))
            .observe(document.querySelector(".opx-cost"), { childList: true });
          for (let i = 10; i >= 0; i--) {
            box.value = text.slice(0, text.length - i);
            box.dispatchEvent(new Event("input"));
          }
          requestAnimationFrame(() => setTimeout(() => done(answers), 0));
        })""",
        said,
    )
    assert answers == 1


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
        words = [rng.choice((str, str.upper, str.title))(rng.choice(WORDS)) for _ in range(rng.randrange(1, 60))]
        words.insert(rng.randrange(len(words) + 1), "[SEP]")
        made.append("".join(word + rng.choice((" ", " ", " ", ", ", ". ", "\n")) for word in words))
    return made + STRANGE


SAID = [text for text in texts(510) if "\ud800" not in text]


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Saved:
    """A one-pass model of the size that is trained in a minute; weights large enough that every part matters."""
    tokens = wordpieces([" ".join(WORDS)] * 3, 400)
    torch.manual_seed(0)
    trunk = Trunk(Shape(tokens.size, 64, 2, 4, 256))
    model = Conditioned(trunk, conditioning("one_pass", trunk))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += torch.randn_like(parameter) * (0.1 if parameter.ndim > 1 else 0.05)
    folder = tmp_path_factory.mktemp("own") / "model"
    return load_model(save_model(model, tokens, folder, Recipe(), 256))


@pytest.fixture(scope="module")
def page(saved, chromium, tmp_path_factory):
    """A page from disk, every other request blocked, in which `library` is our module and `model` the packed one."""
    folder = tmp_path_factory.mktemp("page")
    blank = '<!doctype html><meta charset="utf-8"><title>own encoder</title>'
    (folder / "index.html").write_text(blank, encoding="utf-8")
    with chromium_.tab(chromium, f"{folder.as_uri()}/") as tab:
        tab.page.goto(f"{folder.as_uri()}/index.html")
        tab.page.evaluate(
            """async ([source, packed]) => {
              window.library = await import(URL.createObjectURL(new Blob([source], {type: "text/javascript"})));
              window.model = library.open(JSON.parse(packed));
            }""",
            [ESM, json.dumps(pack(saved))],
        )
        yield tab.page
        assert tab.problems == []


def test_changes_are_those_of_the_library(shown, page):
    own = ("A title", "One sentence only."), ("", "We see e.g. A. B. Smith et al. (2020). It works! Does it? Yes.")
    texts = [*shown.texts[:40], *own]
    fixed = [code for code in CODES if not PERTURBATIONS[code].random]
    made = page.evaluate(
        """([codes, texts]) =>
          texts.map(([t, a]) => codes.map((code) => [library.change(code, t, a, 1), library.change(code, t, a, 2)]))""",
        [list(CODES), texts],
    )
    tools = find_tools("fallback")
    for (title, abstract), changes in zip(texts, made, strict=True):
        for code, (first, second) in zip(CODES, changes, strict=True):
            own = perturb("p", Parsed(title, tools), Parsed(abstract, tools), code)
            assert (first is not None) == own.applies, (code, abstract)
            if code in fixed and own.applies:
                assert first == [own.title, own.abstract], code
            if not own.applies or code in fixed:
                assert first == second
            elif code == "T_A_WS":
                assert [re.sub(" +", " ", x) for x in first] == [re.sub(" +", " ", x) for x in (title, abstract)]
            elif code == "T_AShuff":
                assert sorted(first[1].split()) == sorted(abstract.split())
            elif (title, abstract) in shown.texts:  # beyond the literature's words, Python keeps a point in "e.g."
                kept, tokens = first[1].split(), Parsed(abstract, tools).tokens
                assert set(kept) <= set(tokens) and len(kept) == len(tokens) - int(0.3 * len(tokens))
    drawn = [one[CODES.index("T_AShuff")] for one in made[:40]]
    assert sum(first != second for first, second in drawn) > 30


def test_ids_are_the_tokenizers(saved, page):
    found = page.evaluate("(texts) => texts.map((text) => [...model.tokens(text)])", SAID)
    for text, ids, own in zip(SAID, saved.tokens.ids(SAID, 256), found, strict=True):
        assert own == ids, text[:80]
    # no text of Python's reaches a page like this
    half = page.evaluate("() => [...model.tokens('half \\ud800 of a pair')]")
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
    model = Conditioned(trunk, conditioning("plain", trunk))
    plain = load_model(save_model(model, saved.tokens, tmp_path / "p", Recipe(), 256))
    with pytest.raises(ConfigError, match=r"this one is plain.*one pass dense"):
        pack(plain)
    cased = of_words(saved.tokens.tokenizer.get_vocab(), lowercase=False)
    with pytest.raises(ConfigError, match="uncased"):
        pack(saved._replace(tokens=cased))
