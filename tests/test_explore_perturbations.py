"""The perturbation explorer: its edits, its data, what a typed text is answered, its plain twin, and its behaviour in a browser."""

from __future__ import annotations

import functools
import html as html_
import itertools
import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import panel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panel import HOSTILE, choose, selection
from test_altered import task
from test_changed_texts import Letters

from scirep_core.data.perturbations import CATEGORIES, PERTURBATIONS
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Paper
from scirep_core.page.papers import neighbours_explorer as exploring
from scirep_core.page.papers.neighbours import Subject
from scirep_core.page.widgets import perturbations
from scirep_core.page.widgets.perturbations import CODES, LONGEST, OWN, PerturbationExplorer, arranged, edits, marked

TOPICS = ("graphs", "parsers", "corpora", "kernels", "queries", "entities", "vectors")
UNIT = r"\w+(?:[-'’]\w+)*|[^\w\s]"
PLACES = {code: at for at, code in enumerate(CODES)}
BY_CATEGORY = sorted(CODES, key=lambda code: (CATEGORIES.index(PERTURBATIONS[code].category), PLACES[code]))
ENCODERS = [Letters("minilm"), Letters("cased", lower=False)]


def papers(n: int = 30) -> list[Paper]:
    made = []
    for i in range(n):
        one, two = TOPICS[i % 7], TOPICS[(3 * i + 1) % 7]
        text = (
            f"We train large models of {one} on {two}. The {two} grow quickly in {1990 + i} steps. "
            f"It is a deep question whether {one} help. Old {two} are rare."
        )
        made.append(Paper(f"p{i:02d}", f"The large {one} of sparse {two} number {i}", text))
    made[0] = made[0]._replace(title=f"Graphs {HOSTILE}")
    made[4] = made[4]._replace(abstract="")
    made[12] = made[12]._replace(title="Graphs")
    return made


PAPERS = papers()
SUBJECT = Subject(task(PAPERS), 0, 0, "fallback")


def made() -> PerturbationExplorer:
    chapter: Any = SimpleNamespace(notebook="notebooks/neighbours/perturbations.ipynb")
    return exploring.explorer(chapter, SUBJECT, ENCODERS)


explorer = functools.cache(made)


@pytest.fixture(scope="module")
def view() -> dict[str, Any]:
    return json.loads(explorer().data)


@pytest.fixture
def live(view) -> PerturbationExplorer:
    """An explorer that is answered by a kernel."""
    spaces = [exploring.Space(encoder, SUBJECT.whole(encoder)) for encoder in ENCODERS]
    return PerturbationExplorer(view, exploring.Answering(SUBJECT, spaces))


def changed(code: str, paper: str) -> Any:
    """Return a changed text, None where the code does not apply."""
    altered = SUBJECT.made.by_code[code]
    return altered.texts[altered.ids.index(paper)] if paper in altered.ids else None


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors.astype(float) / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


# ---- edits -----------------------------------------------------------------------------------------------------------


def applied(before: str, change: list[Any]) -> list[str]:
    """Return the words and marks that a change leaves."""
    parts = [op if isinstance(op, str) else op[2] if len(op) == 3 else before[op[0] : op[1]] for op in change]
    return re.findall(UNIT, " ".join(parts))


TOKENS = st.lists(st.sampled_from(["a", "deep", "model", ".", "NLP", "don't", "x-ray", "Über"]), max_size=12)
TEXTS = TOKENS.map(" ".join)


@given(TEXTS, TEXTS)
def test_an_edit_gives_the_other_text(before, after):
    change = edits(before, after)
    assert (change is None) == (before == after)
    if change is not None:
        assert applied(before, change) == after.split()
        kept = [op for op in change if not isinstance(op, str)]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(kept)), "ranges in order, none twice"


def test_white_space_counts_only_where_it_is_asked_for_and_moved_sentences_are_found():
    assert edits("a b", "a  b") == [[0, 3]] and edits("a b", "a   b", spaces=True) == [[0, 1], [1, 2, "   "], [2, 3]]
    assert edits("NLP.", "NLP .") == [[0, 4]], "a token that a tokenizer parted is not another word"
    assert arranged(["A.", "B c.", "A."], "B c. A. A.") == [1, 0, 2]
    assert arranged(["A", "A b"], "A b A") == [1, 0], "of two that fit the longer one"
    assert arranged(["A.", "B."], "A. B. C.") is None and arranged(["A.", "B."], "B.") is None


def test_marked_changes_are_html_without_the_datas_markup():
    before = 'We <b>train</b> "models"'
    text = marked(before, edits(before, "We train deep models"))
    assert "<b>" not in text and "<ins>deep</ins>" in text and "&lt;" in text
    plain = html_.unescape(re.sub(r"<ins>.*?</ins>|<(/?)del>", "", text))
    assert plain.replace(" ", "") == before.replace(" ", ""), "without what was added it is the original"
    assert marked("A b", edits("A b", "A B")) == "A <ins>B</ins>", "another case needs no struck twin"
    assert marked("A. B.", {"order": [1, 0]}, [[0, 2], [3, 5]]) == "(2) B. (1) A."


# ---- the data --------------------------------------------------------------------------------------------------------


def test_it_opens_where_an_original_is_farthest_from_its_changed_text(view):
    opened = exploring.farthest(explorer())
    ranks = {
        (paper["id"], code): max(rank for *_, rank, _ in change[3])
        for paper in view["papers"] for code, change in zip(CODES, paper["codes"], strict=True) if not isinstance(change, str)
    }  # fmt: skip
    assert ranks[opened["paper"], opened["code"]] == max(ranks.values()) > 1


def test_what_is_shown_is_where_the_vectors_are(view):
    ids = [paper["id"] for paper in view["papers"]]
    assert [row[0] for row in view["codes"]] == list(CODES) and view["total"] == len(PAPERS)
    assert len(ids) == exploring.PAPERS and "p04" not in ids, "it has no abstract"
    for (side, encoder), paper in itertools.product(enumerate(ENCODERS), view["papers"]):
        whole, own = unit(SUBJECT.whole(encoder)), SUBJECT.ids.index(paper["id"])
        for code in ("T_ADelNN", "TDelNN", "T_ARot"):
            text = encoder.recipe.of_paper(Paper("x", *changed(code, paper["id"])))
            scores = whole @ unit(encoder.encode([text], "PRX")[0])
            x, y, cosine, rank, near = paper["codes"][PLACES[code]][3][side]
            assert cosine == pytest.approx(scores[own], abs=1e-4) and rank == 1 + (scores > scores[own] + 1e-6).sum()
            others = [i for i in np.argsort(-scores, kind="stable").tolist() if i != own]
            assert sorted(scores[near].round(6)) == sorted(scores[others[:5]].round(6)) and own not in near
            assert np.isfinite([x, y]).all()
        assert all(str(i) in view["titles"] for i in paper["near"][side])


def test_a_map_is_the_first_two_principal_components(view):
    from sklearn.decomposition import PCA

    whole, map_ = unit(SUBJECT.whole(ENCODERS[0])), view["encoders"][0]
    pca = PCA(2).fit(whole)
    places = np.array([[x, y] for _, x, y in map_["points"]], float)
    assert len(places) == len(PAPERS) and places.min() >= 0 and places.max() <= 1000
    apart = [np.linalg.norm(p[:, None] - p[None], axis=2) for p in (places, pca.transform(whole))]
    assert np.corrcoef(apart[0].ravel(), apart[1].ravel())[0, 1] > 0.9999
    assert map_["held"] == pytest.approx(pca.explained_variance_ratio_.sum(), abs=1e-3)


def test_changes_and_reasons_are_those_of_the_papers(view):
    known = {p.paper_id: (p.title, p.abstract) for p in PAPERS}
    for paper, (code, at) in itertools.product(view["papers"], PLACES.items()):
        entry, text = paper["codes"][at], changed(code, paper["id"])
        if text is None:
            assert isinstance(entry, str) and entry and "does not apply" not in entry, code
            continue
        for change, before, after in zip(entry[:2], known[paper["id"]], text, strict=True):
            if isinstance(change, dict):
                assert " ".join(before[slice(*paper["sentences"][i])] for i in change["order"]) == after
            elif change is None:
                assert before == after
            elif PERTURBATIONS[code].does != "space":
                assert applied(before, change) == re.findall(UNIT, after)


def offered(*names: str) -> dict[str, Any]:
    view = json.loads(explorer().data)
    papers_ = [view["papers"][0] | {"id": name} for name in names]
    return perturbations.perturbation_data(papers_, view["encoders"], {}, 30, 5, "", "", {})


REFUSED = [
    (lambda: offered("p", "p"), "'p' is given twice"), (offered, "papers: none given"), (lambda: offered(OWN), "called 'own'"),
]  # fmt: skip


def test_the_plain_twin_says_the_same(view):
    def twin(paper: dict[str, Any], code: str) -> str:
        return PerturbationExplorer(view, paper=paper["id"], code=code).static_fallback()

    hostile = next(p for p in view["papers"] if HOSTILE in p["title"])
    for code in ("T_ARot", "T_ADelNN", "T_A_WS", "TNNU_A"):
        text = twin(hostile, code)
        assert "&lt;" in text and text.count('<tr><th scope="row">') == 32 + 2
    every = [(paper, code) for paper in view["papers"] for code in CODES]
    paper, code = next((paper, code) for paper, code in every if isinstance(paper["codes"][PLACES[code]], str))
    text = twin(paper, code)
    assert "does not apply: " in text and text.count('<tr><th scope="row">') == 32
    first, text = view["papers"][0], twin(view["papers"][0], "T_ADelNN")
    assert f"<td>{first['codes'][PLACES['T_ADelNN']][3][0][2]:.3f}</td>" in text and "<del>" in text
    assert exploring.plain(None).startswith("<p>No collection")


# ---- a typed text ----------------------------------------------------------------------------------------------------

ABSTRACT = "We train deep models. They are old. The graphs grow in 3 steps. It works."
TYPED = {"title": "Large graphs of words", "abstract": ABSTRACT}


def asked(widget: PerturbationExplorer, n: int, **fields: str) -> dict[str, Any]:
    widget.asked = {"n": n, "by": "me", **fields}
    return json.loads(widget.answer) if widget.answer else {}


def test_a_typed_text_is_answered_with_its_32_neighbours_and_maps(live):
    assert asked(live, 1) == {"n": 1, "by": "me"}, "somebody is there"
    with pytest.raises(ConfigError):
        live.selection = {"paper": OWN}
    said = asked(live, 2, **TYPED)
    paper = said["paper"]
    assert (said["n"], paper["id"], paper["place"], paper["title"]) == (2, OWN, None, TYPED["title"])
    codes = dict(zip(CODES, paper["codes"], strict=True))
    assert codes["T_ARot"][1] == {"order": [2, 3, 0, 1]}
    assert applied(TYPED["title"], codes["TDelNN_A"][0]) == ["Large", "of"]
    assert isinstance(codes["TDelDT_A"], str), "no determiner in the title"
    assert codes["T_A_WS"][3][0][2:4] == [1.0, 1], "what an encoder does not read lies on its original"
    after = {i for change in codes.values() if not isinstance(change, str) for placed in change[3] for i in placed[4]}
    assert {i for near in paper["near"] for i in near} | after == {int(i) for i in said["titles"]}
    for near, points in zip(paper["near"], said["points"], strict=True):
        assert {*near} <= {point[0] for point in points}
    live.selection = {"paper": OWN}
    other = asked(live, 3, title="Old kernels", abstract="")["paper"]
    assert other["codes"][PLACES["T_ARot"]] == "no abstract" and other["near"] != paper["near"]


def test_what_cannot_be_answered_is_said_and_nobody_there_says_nothing(live, view):
    assert asked(live, 1, title=" ", abstract="") == {"n": 1, "by": "me", "error": "Type a title or an abstract."}
    assert asked(live, 2, title="a", abstract="b " * LONGEST)["error"] == f"At most {LONGEST:,} characters, please."
    assert asked(PerturbationExplorer(view), 1, **TYPED) == {}


# ---- in the browser --------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser, tmp_path, view):
    return panel.opener(browser, tmp_path, lambda **chosen: PerturbationExplorer(view, **chosen), asked={}, answer="")


def words(texts):
    return [re.findall(r"\w+", text) for text in texts]


RESULT = """() => [...document.querySelectorAll('.spx-text p:not(.spx-why)')].map((p) => {
  const copy = p.cloneNode(true);
  copy.querySelectorAll('del, .spx-sr, .spx-sentence b').forEach((node) => node.remove());
  return copy.textContent;
})"""


def test_the_page_shows_each_text_and_the_numbers_of_python(opened, view):
    tab, (first, second) = opened(), view["papers"][:2]
    for paper, code in [*((first, code) for code in CODES), *((second, code) for code in CODES[::5])]:
        entry, category = paper["codes"][PLACES[code]], view["codes"][PLACES[code]][1]
        choose(tab, paper=paper["id"], code=code)
        shown = words(tab.evaluate(RESULT))
        assert tab.locator(".spx-tag").inner_text() == view["called"].get(category, category)
        if isinstance(entry, str):
            assert entry in tab.locator(".spx-why").inner_text() and tab.locator(".spx-cosine").count() == 0
            assert shown == words([paper["title"], paper["abstract"]])
            continue
        assert shown == words(changed(code, paper["id"])), code
        assert tab.locator(".spx-kept").inner_text() == f"{entry[2]} % of the words kept"
        for side, (_, _, cosine, rank, near) in enumerate(entry[3]):
            section, stays = tab.locator(".spx-side").nth(side), len({*near} & {*paper["near"][side]})
            told = [section.locator(f".spx-{name}").inner_text() for name in ("cosine", "rank", "share")]
            assert told == [f"{cosine:.3f}", "the nearest" if rank == 1 else f"number {rank}", f"{stays} of 5"]
            lists = [section.locator("ol").nth(k) for k in (0, 1)]
            seen = [of.locator("li").evaluate_all("of => of.map((one) => +one.dataset.i)") for of in lists]
            assert seen == [paper["near"][side], near] and lists[1].locator(".spx-stays-on").count() == stays


def test_moved_sentences_widened_spaces_and_case_are_seen(opened, view):
    tab = opened(paper=view["papers"][1]["id"], code="T_ARot")
    deleted = tab.locator(".spx-text del")
    assert tab.locator(".spx-sentence b").all_inner_texts() == ["3", "4", "1", "2"]
    assert tab.locator(".spx-moved").count() == 4
    choose(tab, code="T_A_WS")
    wide = [len(mark.split("spaces")[-1].strip()) for mark in tab.locator(".spx-space").all_inner_texts()]
    assert deleted.count() == 0 and wide and min(wide) >= 2 and max(wide) <= 5
    choose(tab, code="TNNU_A")
    assert deleted.count() == 0 and tab.locator(".spx-title ins").first.inner_text().isupper()
    choose(tab, code="T_ADelNN")
    assert deleted.count() > 3 and deleted.first.is_visible()
    tab.get_by_label("hide what was deleted").check()
    assert not deleted.first.is_visible()


def test_the_changes_are_one_stop_for_the_tab_key_and_the_keyboard_stays_with_the_chosen_one(opened, view):
    tab, ids = opened(code="T_ARot"), [p["id"] for p in view["papers"]]
    stop, at = tab.locator(".spx-codes button[tabindex='0']"), BY_CATEGORY.index("T_ARot")
    assert stop.count() == 1
    stop.focus()
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.dataset.code") == BY_CATEGORY[at + 1]
    tab.get_by_label("Next change").click()
    assert selection(tab)["code"] == BY_CATEGORY[at + 2]
    said = tab.locator(".spx > [aria-live]").inner_text()
    assert said.startswith(BY_CATEGORY[at + 2]) and "MiniLM: cosine" in said
    tab.get_by_label("Paper", exact=True).select_option(ids[2])
    tab.locator(".spx-codes [data-code=TDelNN_A]").click()
    assert selection(tab) == {"paper": ids[2], "code": "TDelNN_A"} and tab.evaluate("saved") >= 3
    assert tab.locator(".spx-codes [aria-pressed=true]").count() == 1


def test_a_pointed_neighbour_is_ringed_on_its_map(opened, view):
    tab = opened(code="TDelNN")
    side, ring = tab.locator(".spx-side").nth(1), tab.locator(".spx-hot")
    item = side.locator("li").nth(7)
    assert not item.is_visible(), "only the first encoder's papers are listed unasked"
    side.locator("summary").click()
    item.hover()
    x, y = next(spot for at, *spot in view["encoders"][1]["points"] if at == int(item.get_attribute("data-i")))
    assert ring.count() == 1 and [ring.get_attribute(name) for name in ("cx", "cy")] == [str(x), str(y)]
    tab.mouse.move(2, 2)
    label = tab.locator(".spx-map svg").first.get_attribute("aria-label")
    assert ring.count() == 0 and label.startswith("Map under MiniLM: the changed text lies")
    assert tab.locator(".spx-side").first.locator(".spx-dot").count() == len(PAPERS)


def test_text_boxes_appear_only_where_a_kernel_answers(opened, view, live):
    tab = opened()
    own, status = tab.locator(".spx-own"), tab.locator(".spx-status")
    hint = tab.locator(".spx-hint", has_text="In JupyterLab")
    title, abstract = tab.get_by_label("Your title"), tab.get_by_label("Your abstract")
    button = tab.get_by_role("button", name="Change it in all 32 ways")
    assert not own.is_visible() and hint.is_visible() and explorer()._view["opened"] in hint.inner_text()

    def answer() -> None:
        live.asked = tab.evaluate("fake.get('asked')")
        tab.evaluate("answer => fake.set('answer', answer)", live.answer)

    answer()
    assert own.is_visible() and not hint.is_visible()
    title.fill(TYPED["title"])
    abstract.fill(TYPED["abstract"])
    button.click()
    assert "Changing" in status.inner_text()
    title.fill(TYPED["title"] + " and marks")
    tab.keyboard.press("Enter")
    assert tab.evaluate("fake.get('asked').title") == TYPED["title"], "one question at a time"
    answer()
    assert tab.evaluate("fake.get('asked').title") == TYPED["title"] + " and marks", "then what was typed meanwhile"
    answer()
    assert status.inner_text() == "" and "and marks" in " ".join(tab.evaluate(RESULT))
    assert selection(tab)["paper"] == OWN == tab.get_by_label("Paper", exact=True).input_value()
    assert tab.evaluate("document.activeElement.type") == "text"
    head = tab.locator(".spx-side").first.locator(".spx-head").inner_text()
    assert head.count("of 31") == 1, "its own text joins the papers"
    change = json.loads(live.answer)["paper"]["codes"][PLACES["T_ADelNN"]]
    assert tab.locator(".spx-cosine").first.inner_text() == f"{change[3][0][2]:.3f}"
    assert OWN not in tab.evaluate("location.hash"), "nobody else has it"
    title.fill("")
    abstract.fill("x " * LONGEST)
    button.click()
    answer()
    answer()  # where the page had asked by itself meanwhile
    assert status.inner_text() == f"At most {LONGEST:,} characters, please."
    tab.keyboard.press(".")
    assert selection(tab)["paper"] == view["papers"][0]["id"]


def test_typing_alone_asks_after_a_pause(opened):
    tab = opened()
    tab.evaluate("fake.set('answer', JSON.stringify({ n: 1, by: 'x' }))")
    tab.get_by_label("Your title").press_sequentially("Old graphs [now], and then.", delay=5)
    assert "title" not in tab.evaluate("fake.get('asked')")
    assert selection(tab)["code"] == "T_ADelNN", "brackets are text here"
    tab.wait_for_function("fake.get('asked').title === 'Old graphs [now], and then.'", timeout=3000)
