"""The perturbation explorer: its edits, its data, what a typed text is answered, its plain twin, and its behaviour in a browser."""

from __future__ import annotations

import functools
import html as html_
import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import panel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panel import Browser
from test_altered import task
from test_changed_texts import Letters

from scirep_core.data.perturbations import CATEGORIES, PERTURBATIONS
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Paper
from scirep_core.page.papers import neighbours_explorer as exploring
from scirep_core.page.papers.neighbours import Subject
from scirep_core.page.widgets.perturbations import (
    CODES,
    LONGEST,
    OWN,
    PerturbationExplorer,
    arranged,
    edits,
    marked,
    perturbation_data,
)

HOSTILE = '</SCRIPT><img src=x onerror="window.pwned=1"><b>bold & "quoted"</b>'
TOPICS = ("graphs", "parsers", "corpora", "kernels", "queries", "entities", "vectors")
UNIT = r"\w+(?:[-'’]\w+)*|[^\w\s]"
PLACES = {code: at for at, code in enumerate(CODES)}


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


ENCODERS = [Letters("minilm"), Letters("cased", lower=False)]


@functools.cache
def subject_() -> Subject:
    return Subject(task(PAPERS), 0, 0, "fallback")


@functools.cache
def explorer() -> PerturbationExplorer:
    chapter: Any = SimpleNamespace(notebook="notebooks/neighbours/perturbations.ipynb")
    return exploring.explorer(chapter, subject_(), ENCODERS)


@pytest.fixture(scope="module")
def subject() -> Subject:
    return subject_()


@pytest.fixture(scope="module")
def widget() -> PerturbationExplorer:
    return explorer()


@pytest.fixture(scope="module")
def view(widget: PerturbationExplorer) -> dict[str, Any]:
    return json.loads(widget.data)


def test_it_opens_where_an_original_is_farthest_from_its_changed_text(widget, view):
    opened = exploring.farthest(widget)
    ranks = {
        (paper["id"], code): max(rank for *_, rank, _ in change[3])
        for paper in view["papers"]
        for code, change in zip(CODES, paper["codes"], strict=True)
        if not isinstance(change, str)
    }
    assert ranks[opened["paper"], opened["code"]] == max(ranks.values()) > 1


# ---- edits -----------------------------------------------------------------------------------------------------------


def applied(before: str, change: list[Any]) -> list[str]:
    """Return the words and marks that a change leaves."""
    parts = [op if isinstance(op, str) else op[2] if len(op) == 3 else before[op[0] : op[1]] for op in change]
    return re.findall(UNIT, " ".join(parts))


WORDS = st.lists(st.sampled_from(["a", "deep", "model", ".", "NLP", "don't", "x-ray", "Über"]), max_size=12).map(
    " ".join
)


@given(WORDS, WORDS)
def test_an_edit_gives_the_other_text(before, after):
    change = edits(before, after)
    assert (change is None) == (before == after)
    if change is not None:
        assert applied(before, change) == after.split()
        kept = [op for op in change if not isinstance(op, str)]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(kept)), "ranges in order, none twice"


def test_white_space_counts_only_where_it_is_asked_for():
    assert edits("a b", "a  b") == [[0, 3]] and edits("a b", "a   b", spaces=True) == [[0, 1], [1, 2, "   "], [2, 3]]
    assert edits("NLP.", "NLP .") == [[0, 4]], "a token that a tokenizer parted is not another word"


def test_sentences_in_another_order_are_found():
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


def test_what_is_shown_is_where_the_vectors_are(view: dict[str, Any], subject: Subject):
    made = subject.made.by_code
    assert [row[0] for row in view["codes"]] == list(CODES) and view["total"] == len(PAPERS)
    assert len(view["papers"]) == exploring.PAPERS and "p04" not in [p["id"] for p in view["papers"]], (
        "it has no abstract"
    )
    for side, encoder in enumerate(ENCODERS):
        whole = subject.whole(encoder).astype(float)
        whole /= np.linalg.norm(whole, axis=1, keepdims=True)
        for paper in view["papers"]:
            own = subject.ids.index(paper["id"])
            for code in ("T_ADelNN", "TDelNN", "T_ARot"):
                found = paper["codes"][PLACES[code]]
                text = made[code].texts[made[code].ids.index(paper["id"])]
                vector = encoder.encode([encoder.recipe.of_paper(Paper("x", *text))], "PRX")[0].astype(float)
                scores = whole @ vector / max(np.linalg.norm(vector), 1e-12)
                x, y, cosine, rank, near = found[3][side]
                assert cosine == pytest.approx(scores[own], abs=1e-4)
                assert rank == 1 + (scores > scores[own] + 1e-6).sum()
                others = [i for i in np.argsort(-scores, kind="stable").tolist() if i != own]
                assert sorted(scores[near].round(6)) == sorted(scores[others[:5]].round(6)) and own not in near
                assert np.isfinite([x, y]).all()
            assert all(str(i) in view["titles"] for i in paper["near"][side])


def test_a_map_is_the_first_two_principal_components(view: dict[str, Any], subject: Subject):
    from sklearn.decomposition import PCA

    whole = subject.whole(ENCODERS[0]).astype(float)
    whole /= np.linalg.norm(whole, axis=1, keepdims=True)
    pca = PCA(2).fit(whole)
    places = np.array([[x, y] for _, x, y in view["encoders"][0]["points"]], float)
    wanted = pca.transform(whole)
    assert len(places) == len(PAPERS) and places.min() >= 0 and places.max() <= 1000
    apart = [np.linalg.norm(p[:, None] - p[None], axis=2) for p in (places, wanted)]
    assert np.corrcoef(apart[0].ravel(), apart[1].ravel())[0, 1] > 0.9999
    assert view["encoders"][0]["held"] == pytest.approx(pca.explained_variance_ratio_.sum(), abs=1e-3)


def test_changes_and_reasons_are_those_of_the_papers(view: dict[str, Any], subject: Subject):
    known = {p.paper_id: p for p in PAPERS}
    for paper in view["papers"]:
        for code, entry in zip(CODES, paper["codes"], strict=True):
            altered = subject.made.by_code[code]
            assert isinstance(entry, str) == (paper["id"] not in altered.ids), code
            if isinstance(entry, str):
                assert entry and "does not apply" not in entry, (code, entry)
                continue
            text = altered.texts[altered.ids.index(paper["id"])]
            for change, before, after in zip(
                entry, (known[paper["id"]].title, known[paper["id"]].abstract), text, strict=False
            ):
                if isinstance(change, dict):
                    spans = [before[slice(*paper["sentences"][i])] for i in change["order"]]
                    assert " ".join(spans) == after
                elif change is not None and PERTURBATIONS[code].does != "space":
                    assert applied(before, change) == re.findall(UNIT, after)
                elif change is None:
                    assert before == after


def test_the_data_are_small_and_what_a_page_cannot_hold_is_named(widget, view, monkeypatch):
    assert len(json.dumps(widget.data)) < 100_000 and "<" not in widget.data

    def given(*names: str) -> dict[str, Any]:
        return perturbation_data(
            [view["papers"][0] | {"id": name} for name in names], view["encoders"], {}, 30, 5, "", "", {}
        )

    for names, text in ((("p", "p"), "'p' is given twice"), ((), "papers: none given"), ((OWN,), "called 'own'"),
                        (("<b>",), "without '<'")):  # fmt: skip
        with pytest.raises(ConfigError, match=text):
            given(*names)
    monkeypatch.setattr("scirep_core.page.widgets.perturbations.CAP", 500)
    with pytest.raises(
        ConfigError, match=r"over the cap of 500 bytes .* fewer papers \(now 1\) or fewer encoders \(now 2\)"
    ):
        given("p")


def test_the_plain_twin_says_the_same_and_holds_no_markup_of_the_data(view: dict[str, Any]):
    hostile = next(p["id"] for p in view["papers"] if "SCRIPT" in p["title"])
    for code in ("T_ARot", "T_ADelNN", "T_A_WS", "TNNU_A"):
        text = PerturbationExplorer(view, paper=hostile, code=code).static_fallback()
        assert "<img" not in text and "<b>bold" not in text and "&lt;" in text
        assert text.count('<tr><th scope="row">') == 32 + 2
    absent = next(
        (p, CODES[at]) for p in view["papers"] for at, entry in enumerate(p["codes"]) if isinstance(entry, str)
    )
    text = PerturbationExplorer(view, paper=absent[0]["id"], code=absent[1]).static_fallback()
    assert "does not apply: " in text and text.count('<tr><th scope="row">') == 32
    chosen = PerturbationExplorer(view, code="T_ADelNN")
    entry = view["papers"][0]["codes"][PLACES["T_ADelNN"]]
    assert f"<td>{entry[3][0][2]:.3f}</td>" in chosen.static_fallback() and "<del>" in chosen.static_fallback()
    assert exploring.plain(None).startswith("<p>No collection")


# ---- a typed text ----------------------------------------------------------------------------------------------------

TYPED = {
    "title": "Large graphs of words",
    "abstract": "We train deep models. They are old. The graphs grow in 3 steps. It works.",
}


def asked(widget: PerturbationExplorer, n: int, **fields: str) -> dict[str, Any]:
    widget.asked = {"n": n, "by": "me", **fields}
    return json.loads(widget.answer) if widget.answer else {}


def test_a_typed_text_is_answered_with_its_32_neighbours_and_maps(view: dict[str, Any], subject: Subject):
    spaces = exploring.spaces(subject, ENCODERS)
    live = PerturbationExplorer(view, exploring.Answering(subject, spaces))
    assert asked(live, 1) == {"n": 1, "by": "me"}, "somebody is there"
    with pytest.raises(ConfigError):
        live.selection = {"paper": OWN}
    said = asked(live, 2, **TYPED)
    paper = said["paper"]
    assert said["n"] == 2 and paper["id"] == OWN and paper["place"] is None and paper["title"] == TYPED["title"]
    assert len(paper["codes"]) == 32 and paper["codes"][PLACES["T_ARot"]][1] == {"order": [2, 3, 0, 1]}
    assert applied(TYPED["title"], paper["codes"][PLACES["TDelNN_A"]][0]) == ["Large", "of"]
    assert isinstance(paper["codes"][PLACES["TDelDT_A"]], str), "no determiner in the title"
    near = {i for row in paper["near"] for i in row} | {
        i for c in paper["codes"] if not isinstance(c, str) for p in c[3] for i in p[4]
    }
    assert near == {int(i) for i in said["titles"]}
    assert all(
        near_ <= {point[0] for point in points}
        for near_, points in zip(map(set, paper["near"]), said["points"], strict=True)
    )
    assert paper["codes"][PLACES["T_A_WS"]][3][0][2:4] == [1.0, 1], "what an encoder does not read lies on its original"
    live.selection = {"paper": OWN}
    other = asked(live, 3, title="Old kernels", abstract="")
    assert other["paper"]["codes"][PLACES["T_ARot"]] == "no abstract" and other["paper"]["near"] != paper["near"]


def test_what_cannot_be_answered_is_said_and_nobody_there_says_nothing(view: dict[str, Any], subject: Subject):
    live = PerturbationExplorer(view, exploring.Answering(subject, exploring.spaces(subject, ENCODERS)))
    assert asked(live, 1, title=" ", abstract="") == {"n": 1, "by": "me", "error": "Type a title or an abstract."}
    assert asked(live, 2, title="a", abstract="b " * LONGEST)["error"] == f"At most {LONGEST:,} characters, please."
    assert asked(PerturbationExplorer(view), 1, **TYPED) == {}


# ---- in the browser --------------------------------------------------------------------------------------------------


def harness(folder: Path, data: dict[str, Any], **chosen: str) -> str:
    return panel.page(folder, PerturbationExplorer(data, **chosen), asked={}, answer="")


def choose(tab: Any, **changes: str) -> None:
    tab.evaluate("s => fake.set('selection', { ...fake.get('selection'), ...s })", changes)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


RESULT = """() => [...document.querySelectorAll('.spx-text p:not(.spx-why)')].map((p) => {
  const copy = p.cloneNode(true);
  copy.querySelectorAll('del, .spx-sr, .spx-sentence b').forEach((node) => node.remove());
  return copy.textContent;
})"""


def test_the_page_shows_each_text_and_the_numbers_of_python(
    browser: Browser, tmp_path: Path, view: dict[str, Any], subject: Subject
):
    tab = browser.open(harness(tmp_path, view))
    for paper in view["papers"][:2]:
        for at, (code, entry) in list(enumerate(zip(CODES, paper["codes"], strict=True)))[
            :: 1 if paper is view["papers"][0] else 5
        ]:
            choose(tab, paper=paper["id"], code=code)
            shown = tab.evaluate(RESULT)
            whole = tab.locator(".spx").inner_text()
            assert not any(slip in whole for slip in ("undefined", "[object", "NaN", "null")), code
            assert tab.locator(".spx-tag").inner_text() == view["called"].get(
                view["codes"][at][1], view["codes"][at][1]
            )
            if isinstance(entry, str):
                assert entry in tab.locator(".spx-why").inner_text() and [words(s) for s in shown] == [
                    words(paper["title"]),
                    words(paper["abstract"]),
                ]
                assert tab.locator(".spx-cosine").count() == 0
                continue
            altered = subject.made.by_code[code]
            text = altered.texts[altered.ids.index(paper["id"])]
            assert [words(s) for s in shown] == [words(field) for field in text], code
            assert tab.locator(".spx-kept").inner_text() == f"{entry[2]} % of the words kept"
            for side, (_, _, cosine, rank, near) in enumerate(entry[3]):
                section = tab.locator(".spx-side").nth(side)
                assert section.locator(".spx-cosine").inner_text() == f"{cosine:.3f}"
                assert section.locator(".spx-rank").inner_text() == ("the nearest" if rank == 1 else f"number {rank}")
                stays = len(set(near) & set(paper["near"][side]))
                assert section.locator(".spx-share").inner_text() == f"{stays} of 5"
                lists = section.locator("ol")
                seen = [[int(i.get_attribute("data-i")) for i in lists.nth(k).locator("li").all()] for k in (0, 1)]
                assert seen == [paper["near"][side], near]
                assert lists.nth(1).locator(".spx-stays-on").count() == stays
    assert tab.evaluate("window.pwned") is None and tab.locator(".spx img, .spx-title b").count() == 0


def test_moved_sentences_widened_spaces_and_case_are_seen(browser: Browser, tmp_path: Path, view: dict[str, Any]):
    tab = browser.open(harness(tmp_path, view, paper=view["papers"][1]["id"], code="T_ARot"))
    assert [b.inner_text() for b in tab.locator(".spx-sentence b").all()] == ["3", "4", "1", "2"] and tab.locator(
        ".spx-moved"
    ).count() == 4
    choose(tab, code="T_A_WS")
    assert tab.locator(".spx-text del").count() == 0
    wide = [len(mark.inner_text().split("spaces")[-1].strip()) for mark in tab.locator(".spx-space").all()]
    assert wide and min(wide) >= 2 and max(wide) <= 5
    choose(tab, code="TNNU_A")
    assert tab.locator(".spx-text del").count() == 0 and tab.locator(".spx-title ins").first.inner_text().isupper()
    choose(tab, code="T_ADelNN")
    deleted = tab.locator(".spx-text del")
    assert deleted.count() > 3 and deleted.first.is_visible()
    tab.get_by_label("hide what was deleted").check()
    assert not deleted.first.is_visible()


def test_keyboard_alone_goes_everywhere(browser: Browser, tmp_path: Path, view: dict[str, Any]):
    tab = browser.open(harness(tmp_path, view, code="T_ARot"))
    order = sorted(CODES, key=lambda code: (CATEGORIES.index(PERTURBATIONS[code].category), PLACES[code]))
    assert tab.locator(".spx-codes button[tabindex='0']").count() == 1, "one stop for the Tab key"
    tab.locator(".spx-codes button[tabindex='0']").focus()
    for key, move in (("ArrowRight", 1), ("ArrowDown", 1), ("ArrowLeft", -1), ("]", 1), ("[", -1)):
        before = panel.selection(tab)["code"]
        tab.keyboard.press(key)
        now = panel.selection(tab)["code"]
        assert now == order[(order.index(before) + move) % 32], key
        assert tab.evaluate("document.activeElement.dataset.code") == now, "the keyboard stays with the change"
    tab.keyboard.press("End")
    assert panel.selection(tab)["code"] == order[-1]
    tab.keyboard.press("ArrowRight")
    assert panel.selection(tab)["code"] == order[0]
    ids = [p["id"] for p in view["papers"]]
    tab.keyboard.press(".")
    assert panel.selection(tab)["paper"] == ids[1]
    tab.keyboard.press(",")
    tab.keyboard.press(",")
    assert panel.selection(tab)["paper"] == ids[-1]
    said = tab.locator(".spx > [aria-live]").inner_text()
    assert said.startswith(order[0]) and "MiniLM: cosine" in said
    tab.get_by_label("Next change").click()
    assert panel.selection(tab)["code"] == order[1] and tab.evaluate("saved") >= 8
    tab.get_by_label("Paper", exact=True).select_option(ids[2])
    assert panel.selection(tab)["paper"] == ids[2]
    tab.locator(".spx-codes [data-code=TDelNN_A]").click()
    assert panel.selection(tab)["code"] == "TDelNN_A" and tab.locator(".spx-codes [aria-pressed=true]").count() == 1


def test_a_pointed_neighbour_is_ringed_on_its_map(browser: Browser, tmp_path: Path, view: dict[str, Any]):
    tab = browser.open(harness(tmp_path, view, code="TDelNN"))
    side = tab.locator(".spx-side").nth(1)
    item = side.locator("li").nth(7)
    assert not item.is_visible(), "only the first encoder's papers are listed unasked"
    side.locator("summary").click()
    at = int(item.get_attribute("data-i"))
    item.hover()
    x, y = next((x, y) for i, x, y in view["encoders"][1]["points"] if i == at)
    ring = tab.locator(".spx-hot")
    assert ring.count() == 1 and (ring.get_attribute("cx"), ring.get_attribute("cy")) == (str(x), str(y))
    tab.mouse.move(2, 2)
    assert tab.locator(".spx-hot").count() == 0
    assert (
        tab.locator(".spx-map svg")
        .first.get_attribute("aria-label")
        .startswith("Map under MiniLM: the changed text lies")
    )
    assert tab.locator(".spx-side").first.locator(".spx-dot").count() == len(PAPERS)


def test_text_boxes_appear_only_where_a_kernel_answers(
    browser: Browser, tmp_path: Path, view: dict[str, Any], subject: Subject
):
    tab = browser.open(harness(tmp_path, view))
    own, hint = tab.locator(".spx-own"), tab.locator(".spx-hint", has_text="In JupyterLab")
    assert (
        not own.is_visible() and hint.is_visible() and "notebooks/neighbours/perturbations.ipynb" in hint.inner_text()
    )
    live = PerturbationExplorer(view, exploring.Answering(subject, exploring.spaces(subject, ENCODERS)))

    def answer() -> None:
        live.asked = tab.evaluate("fake.get('asked')")
        tab.evaluate("answer => fake.set('answer', answer)", live.answer)

    answer()
    assert own.is_visible() and not hint.is_visible()
    tab.get_by_label("Your title").fill(TYPED["title"])
    tab.get_by_label("Your abstract").fill(TYPED["abstract"])
    tab.get_by_role("button", name="Change it in all 32 ways").click()
    assert "Changing" in tab.locator(".spx-status").inner_text()
    tab.get_by_label("Your title").fill(TYPED["title"] + " and marks")
    tab.keyboard.press("Enter")
    assert tab.evaluate("fake.get('asked').title") == TYPED["title"], "one question at a time"
    answer()
    assert tab.evaluate("fake.get('asked').title") == TYPED["title"] + " and marks", "then what was typed meanwhile"
    answer()
    assert tab.locator(".spx-status").inner_text() == ""
    assert panel.selection(tab)["paper"] == OWN and tab.get_by_label("Paper", exact=True).input_value() == OWN
    assert "and marks" in " ".join(tab.evaluate(RESULT)) and tab.evaluate("document.activeElement.type") == "text"
    assert tab.locator(".spx-side").first.locator(".spx-head").inner_text().count("of 31") == 1, (
        "its own text joins the papers"
    )
    own_paper = json.loads(live.answer)["paper"]
    assert tab.locator(".spx-cosine").first.inner_text() == f"{own_paper['codes'][PLACES['T_ADelNN']][3][0][2]:.3f}"
    assert OWN not in tab.evaluate("location.hash"), "nobody else has it"
    tab.get_by_label("Your title").fill("")
    tab.get_by_label("Your abstract").fill("x " * LONGEST)
    tab.get_by_role("button", name="Change it in all 32 ways").click()
    answer()
    assert tab.locator(".spx-status").inner_text() == f"At most {LONGEST:,} characters, please."
    tab.keyboard.press(".")
    assert panel.selection(tab)["paper"] == view["papers"][0]["id"]


def test_typing_alone_asks_after_a_pause(browser: Browser, tmp_path: Path, view: dict[str, Any]):
    tab = browser.open(harness(tmp_path, view))
    tab.evaluate("fake.set('answer', JSON.stringify({ n: 1, by: 'x' }))")
    tab.get_by_label("Your title").press_sequentially("Old graphs [now], and then.", delay=5)
    assert "title" not in tab.evaluate("fake.get('asked')") and panel.selection(tab)["code"] == "T_ADelNN", (
        "brackets are text here"
    )
    tab.wait_for_function("fake.get('asked').title === 'Old graphs [now], and then.'", timeout=3000)
