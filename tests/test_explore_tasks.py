"""The task explorer: its data, its plain-HTML twin, and its behaviour in a browser from disk without network."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import panel
import pytest
from panel import HOSTILE, press, selection

from scirep_core.data import load_task
from scirep_core.data.inventory import TASKS
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.rows import Example, LabelText, Qrel, Signature, Triple
from scirep_core.data.task import Collection, Judged, Labelled, LabelSpace, Pooled, Reviewers, Signatures, Task, Triples
from scirep_core.kit.records import Judgement, Paper, Query
from scirep_core.page.widgets.common import clip, encode
from scirep_core.page.widgets.task_examples import CANDIDATES, MENTIONS, Ref, charts, class_names, grade_word, keep
from scirep_core.page.widgets.task_examples import examples as draw
from scirep_core.page.widgets.tasks import CAP, TEXT, TaskExplorer, task_data

WORDS = ["sparse", "kernels", "align", "parsers", "drift", "retrieval", "corpora", "entities", "queries", "graphs"]
LONG = "A sentence that goes on about stacks and queues and says nothing. "


def papers(n: int = 60) -> list[Paper]:
    rng = random.Random(5)
    made = [
        Paper(f"p{i}", f"{rng.choice(WORDS).capitalize()} {rng.choice(WORDS)} for {rng.choice(WORDS)} {i}",
              " ".join(rng.choices(WORDS, k=rng.randint(40, 160))).capitalize() + ".", 2000 + i % 20, venue="Stack Days")
        for i in range(n)
    ]  # fmt: skip
    made[0] = Paper("p0", HOSTILE, LONG * 20, None)
    return made


PAPERS = papers()
IDS = [paper.paper_id for paper in PAPERS]


def task(name: str, payload: Any, source: str = "embedded", **more: Any) -> Task:
    spec = TASKS[name]
    given = {"texts": lambda: PAPERS, "related": spec.relation} | more
    return Task(name, str(spec.type), spec.format, spec.metrics, payload, source, "", **given)


def triples(split: str) -> Iterator[Triple]:
    for i in range(40):
        yield Triple(IDS[i], IDS[i + 1], IDS[i + 2] if i % 2 else "")


def texts_of(split: str) -> Iterator[Triple]:
    for i in range(9):
        yield Triple(f"Query title {i} [SEP] its abstract", f"label name {i} [SEP] its definition", "")


def faceted() -> FacetCollection:
    lines, kinds = ("Asked before.", "We ask.", "We did.", "It works."), ("background", "objective", "method", "result")
    shown = {p.paper_id: p._replace(sentences=lines, labels=tuple(f"{k}_label" for k in kinds)) for p in PAPERS}
    asked = {Query(f"p{i}", facet): tuple(Judgement(f"p{j}", j % 4) for j in range(20, 50)) for i, facet in enumerate(
        ("background", "method", "result"), start=1)}  # fmt: skip
    return FacetCollection("csfcube", "real", shown, asked, {}, {}, "")


def demo() -> list[Task | FacetCollection]:
    """One task of every type, by hand, under names of the inventory; and a task of a reader's own."""
    rng = random.Random(1)
    labels = {f"L{i}": LabelText(f"L{i}", f"label {i}", LONG * 6 if i % 2 else "") for i in range(30)}
    gold = {key: tuple(f"L{j}" for j in range(i % 15)) for i, key in enumerate(IDS)}
    few = {"p2": {"p3": 0, "p4": 1}, "p5": {f"p{i}": 0 for i in range(6, 9)}}
    graded = {"p1": {f"p{i}": i % 3 for i in range(2, 40)}, **few}
    own = Labelled({"train": (Example("p1", 0),), "test": (Example("p2", 1),)}, label_names=("<i>first</i>", "second"))
    return [
        task("scirepeval/fos", Labelled(
            {"train": tuple(Example(key, (1, int(i % 3 == 0), 0)) for i, key in enumerate(IDS[:40])),
             "test": tuple(Example(key, (0, 1, int(i % 2))) for i, key in enumerate(IDS[40:]))},
            multi_label=True, label_names=("Art", "Biology", "Chemistry"))),
        task("scirepeval/cite_count", Labelled({"train": tuple(Example(key, round(rng.random() * 6, 4)) for key in IDS[:50]),
                                                "test": tuple(Example(key, 6.5) for key in IDS[50:])})),
        task("scirepeval/relish", Judged(tuple(Qrel(q, c, g) for q, row in graded.items() for c, g in row.items()))),
        task("scirepeval/search", Judged(tuple(Qrel(f"q{q}", f"p{c}", c % 16) for q in range(8) for c in range(q, q + 20)), True),
             queries={f"q{q}": f"how to pop {q}" for q in range(8)}),
        task("scirepeval/mdcr", Judged((Qrel("p1", "p2", 1, "Art"), Qrel("p1", "p3", 0, "Art"), Qrel("p1", "p4", 1, "Law")))),
        task("scirepeval/s2and", Signatures(tuple(
            Signature(f"s{i}", key, f"a ode {i // 30}", f"c{i % 7}", "A. Ode", HOSTILE) for i, key in enumerate(IDS)))),
        task("scirepeval/paper_reviewer_matching", Reviewers(
            tuple(Qrel("p1", f"r{i}", int(i == 0)) for i in range(9)), tuple(Qrel("p1", f"r{i}", int(i < 3)) for i in range(9)),
            {f"r{i}": tuple(IDS[5 + i : 12 + i]) for i in range(9)})),
        faceted(),
        faceted().only("all"),
        task("neighbours/acl_anth", Collection(tuple(IDS))),
        task("scimult/geography", LabelSpace(gold, labels, dict.fromkeys(IDS[:30], ("L1", "L2")))),
        task("scimult/cite", Pooled({"p1": {f"p{i}": 1 for i in range(2, 30)}, "p2": {"p3": 1}}, tuple(IDS))),
        task("scimult/pretrain_coarse", Triples(texts_of, ("train",)), texts=tuple),
        task("scirepeval/cite_prediction", Triples(triples)),
        Task("mine", "classification", "CLF", ("accuracy",), own, "folder", "", texts=lambda: PAPERS),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def view() -> dict[str, Any]:
    return task_data(demo(), also=TASKS)


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    return {task.name if isinstance(task, Task) else f"csfcube/{len(task.tasks)}": task for task in demo()}


def row(view: dict[str, Any], key: str) -> dict[str, Any]:
    return next(found for found in view["tasks"] if found["key"] == key)


def stands(view: dict[str, Any]) -> int:
    """Return the bytes of a view as it stands in the page."""
    return len(json.dumps(encode(view)))


# ---- the data -------------------------------------------------------------------------------------------------------


def test_every_task_of_the_inventory_is_listed_with_what_its_paper_prints(view):
    assert [found["name"] for found in view["tasks"]] == [*TASKS, "mine"], "the inventory's order, then others"
    names = ("scirepeval/fos", "scirepeval/scidocs_view", "csfcube", "mine")
    fos, viewed, cube, mine = (row(view, name) for name in names)
    for size in (["training rows", None, 676_524], ["test rows", 20, 471], ["labels", 3, 23]):
        assert size in fos["sizes"]
    assert fos["source"][:2] == ["embedded", "Invented"] and fos["relation"].startswith("in-train")
    assert viewed["sizes"] == [["queries", None, 1_000], ["judged pairs", None, 29_978]] and viewed["examples"] == []
    assert fos["used"] == ["V2-T1", "V1-T1"] and view["exhibits"]["V1-T1"][0] == "Table 1 of v1"
    _, badge, sentence = cube["source"]
    assert badge == "Real" and "CC BY-NC" in sentence and "checked against its SHA-256" in sentence
    assert mine["source"][1] == "Own folder" and mine["paper"] == "" and view["collections"][-1] == ["", "Other tasks"]
    assert all(len(found["examples"]) <= 6 for found in view["tasks"])


def test_each_type_shows_what_it_is_made_of(view):
    papers, known = view["papers"], {p.paper_id: p for p in PAPERS}

    def examples(key):
        return row(view, key)["examples"]

    kinds = {found["type"]: found["examples"][0]["kind"] for found in view["tasks"] if found["examples"]}
    assert len(kinds) == 11
    assert {*kinds.values()} == {"labelled", "ranking", "labels", "reviewers", "block", "self", "triple"}
    for example in examples("scirepeval/fos"):
        place = IDS.index(papers[example["paper"]][0])
        hot = ((1, int(place % 3 == 0), 0), (0, 1, int(place % 2)))[place >= 40]
        assert example["labels"] == [n for n, on in zip(("Art", "Biology", "Chemistry"), hot, strict=True) if on]
        assert example["split"] == ("test" if place >= 40 else "train")
    assert papers[examples("scirepeval/search")[0]["query"]][2].startswith("how to pop")
    assert {example["group"] for example in examples("scirepeval/mdcr")} == {"Art", "Law"}
    blocks = examples("scirepeval/s2and")
    assert {example["block"] for example in blocks} == {"a ode 0", "a ode 1"}
    assert all(sum(len(m) for m, _ in b["clusters"]) <= MENTIONS and (b["people"], b["of"]) == (7, 30) for b in blocks)
    grades = [reviewer[0] for reviewer in examples("scirepeval/paper_reviewer_matching")[0]["reviewers"]]
    assert grades == sorted(grades, reverse=True) and {*grades} == {3, 2, 0}
    lit = {"background": ["Asked before.", "We ask."], "method": ["We did."], "result": ["It works."]}
    assert all(asked["lit"] == lit[asked["facet"]] for asked in examples("csfcube"))
    coarse = examples("scimult/pretrain_coarse")[0]
    query = papers[coarse["query"]]
    assert query[1:3] == [f"Query title {query[1][-1]}", "its abstract"]
    assert papers[coarse["positive"]][1].startswith("label name") and coarse["negative"] is None
    shown = papers[examples("neighbours/acl_anth")[0]["paper"]]
    assert shown[1] == clip(known[shown[0]].title, 220)
    labels = next(e for e in examples("scimult/geography") if e["of"] > 1)
    assert labels["gold"][0][:2] == ["L0", "label 0"] and labels["gold"][1][2].startswith("A sentence")


def test_rankings_are_sorted_and_every_grade_is_there(view):
    rankings = [e for found in view["tasks"] for e in found["examples"] if e["kind"] == "ranking"]
    for example in rankings:
        grades, levels = [grade for grade, *_ in example["candidates"]], [grade for grade, *_ in example["totals"]]
        ranked = [-1 if grade is None else grade for grade in grades]
        assert len(grades) <= CANDIDATES and ranked == sorted(ranked, reverse=True)
        if len(levels) <= CANDIDATES:
            assert {*grades} == {*levels}
        else:
            assert grades[0] == max(levels) and grades[-1] == min(levels)
    assert len(rankings) > 15
    wide = keep([i // 2 for i in range(40)], 12, random.Random(0))
    assert len(wide) == 12 and {19, 0} <= {i // 2 for i in wide}
    assert keep([0, None, 2, None], 12, random.Random(0)) == [2, 0, 1, 3]
    few = keep([0] * 50 + [1] * 2 + [2] * 9, 12, random.Random(0))
    assert [sum(a <= i < b for i in few) for a, b in ((0, 50), (50, 52), (52, 61))] == [5, 2, 5], "in turn"


def test_charts_count_everything(given):
    fos = charts(given["scirepeval/fos"])[0]
    assert fos["parts"] == ["train", "test"]
    assert fos["rows"][0] == ["Art", [40, 0]] and ["Chemistry", [0, 10]] in fos["rows"]
    grades, pool = charts(given["scirepeval/relish"])
    assert [n for _, (n,) in grades["rows"]] == [13, 13, 17] and grades["rows"][0][0] == "2 relevant"
    assert sum(n for _, n in pool["columns"]) == 3 and pool["note"] == "3 in all; smallest 2, median 3, largest 38"
    values = charts(given["scirepeval/cite_count"])[0]["columns"]
    assert sum(n for _, n in values) == 60 and values[-1][1] >= 10
    uses, each = charts(given["scimult/geography"])
    assert uses["more"].startswith("and 4 more labels, given") and each["columns"][0] == ["0–1", 8]
    assert [n for _, (n,) in charts(given["csfcube/4"])[0]["rows"]] == [21, 21, 24, 24]


def test_a_real_sample_names_its_manifest_and_quotes_no_printed_size():
    sample = task("scirepeval/relish", Judged((Qrel("p1", "p2", 1), Qrel("p1", "p3", 0))), "real")
    sample = replace(sample, name="sample/same_author", notes="comparable with no published number")
    (found,) = task_data([sample])["tasks"]
    assert (found["paper"], found["title"]) == ("sample", "Same Author Detection (sample)")
    said = ("Manifest scirepeval_sample, every file was checked", "ODC-By")
    assert all(words in found["source"][2] for words in said)
    assert all(printed is None for _, _, printed in found["sizes"]) and found["used"] == []
    assert [word for _, word, _ in found["examples"][0]["candidates"]] == ["by the same author", "by a namesake"]


def test_numbered_classes_have_names_where_these_are_known():
    for name in ("fos", "mesh_descriptors", "drsm", "scidocs_mag", "scidocs_mesh"):
        invented = task(f"scirepeval/{name}", Labelled({"train": (), "test": ()}))
        assert len({*class_names(invented)}) == TASKS[invented.name].expect["labels"]
        real = class_names(replace(invented, source="real"))
        assert bool(real) == (name == "fos"), "no real class gets an invented name"


@pytest.mark.parametrize(("name", "grade", "word"), [
    ("csfcube/4", 3, "near identical"), ("scirepeval/search", 7, "clicked"), ("scirepeval/search", 0, "not clicked"),
    ("scirepeval/mdcr", 1, "cited by the query"), ("scimult/cite", None, "in the pool, not judged"), ("mine", -1, "grade -1"),
    ("mine", 1, "relevant"),
])  # fmt: skip
def test_words_of_grades(given, name, grade, word):
    assert grade_word(given[name], grade) == word


def test_same_seed_same_data_and_another_seed_other_examples(view):
    fos = row(view, "scirepeval/fos")["examples"]
    assert task_data(iter(demo()), also=TASKS) == view
    assert row(task_data(demo(), seed=1), "scirepeval/fos")["examples"] != fos
    assert len(row(task_data(demo(), examples=2), "scirepeval/fos")["examples"]) == 2
    alone = task_data(demo()[:1])
    (drawn,) = [found["examples"] for found in alone["tasks"]]
    ids = [[of["papers"][e["paper"]][0] for e in some] for of, some in ((alone, drawn), (view, fos))]
    assert ids[0] == ids[1] != [], "what else is shown changes no draw"


def test_texts_are_cut_and_the_whole_stays_within_its_cap(view, monkeypatch):
    texts = [text for _, _, text, _, _ in view["papers"]]
    assert max(map(len, texts)) <= TEXT and any(text.endswith("…") for text in texts) and stands(view) <= CAP
    whole = task_data(demo())
    monkeypatch.setattr("scirep_core.page.widgets.tasks.CAP", stands(whole) - 1_500)
    tight = task_data(demo())
    assert whole["shortest"] == [600, 600] and stands(tight) <= stands(whole) - 1_500
    assert tight["shortest"][0] < 600 == tight["shortest"][1]
    mains = {e["paper"] for found in tight["tasks"] for e in found["examples"] if e["kind"] in ("labelled", "labels")}
    assert all(tight["papers"][i] in whole["papers"] for i in mains), "candidates give way first"
    assert clip("one two three", 8) == "one two…" and clip("x" * 50, 9) == "x" * 8 + "…" and clip("a\n b", 9) == "a b"


def test_the_plain_twin_has_every_task_with_its_sizes(view):
    html = TaskExplorer(view, task="scimult/cite").static_fallback()
    assert html.count('<tr><th scope="row">') == 67 and "test rows 20 (printed 471)" in html


MARKUP = Task("<b>", "classification", "CLF", (), Labelled({"train": (), "test": ()}), "folder", "")
REFUSED = [
    (lambda: task_data(demo(), also=["scirepeval/fso"]), "did you mean 'scirepeval/fos'"), (lambda: task_data([]), "none given"),
    (lambda: task_data([faceted(), faceted()]), "'csfcube@real' is given twice"),
    (lambda: task_data(demo(), examples=0), "examples: 0"), (lambda: task_data([MARKUP]), "without '<'"),
]  # fmt: skip


def test_two_sources_of_a_task_stand_apart_and_a_paper_without_text_is_still_an_example():
    both = task_data([task("neighbours/iclr", Collection(tuple(IDS)), source) for source in ("embedded", "real")])
    assert [found["key"] for found in both["tasks"]] == ["neighbours/iclr@embedded", "neighbours/iclr@real"]
    splits = {"train": (Example("nowhere", (1,)),), "test": (Example("p1", (1,)),)}
    bare = task("scirepeval/fos", Labelled(splits, True), texts=tuple)
    found = task_data([bare])
    assert [found["papers"][e["paper"]][1] for e in found["tasks"][0]["examples"]] == ["", ""]
    for example in draw(bare, 6, 0):
        assert isinstance(example["paper"], Ref) and example["labels"] == ["Agricultural and Food sciences"]


# ---- in the browser -------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser, tmp_path, view):
    return panel.opener(browser, tmp_path, lambda **chosen: TaskExplorer(view, **chosen))


def options(page):
    return page.locator(".stx-option").evaluate_all("of => of.map((o) => o.dataset.key)")


def title(page):
    return page.locator(".stx-title").inner_text()


def test_searching_and_choosing_by_mouse(opened, view):
    page = opened()
    find, example = page.get_by_label("Find a task"), page.locator(".stx-example")
    another = page.get_by_role("button", name="Another example")
    assert sorted(options(page)) == sorted([*TASKS, "mine"])
    assert page.locator(".stx-paper").all_inner_texts() == [name for _, name in view["collections"]]
    find.fill("scimult CITE prx")
    assert options(page) == [f"scimult/{name}" for name in ("cite", "cocite", "cite_rerank", "cocite_rerank")]
    assert page.locator(".stx-found").inner_text() == "4 of 67"
    page.locator("[data-key='scimult/cite']").click()
    assert title(page) == "SciDocs (Cite)"
    told = {".stx-source": ["Invented"], ".stx-totals": ["linked by a citation"], ".stx-used": ["Table 5"],
            ".stx-facts": row(view, "scimult/cite")["metrics"]}  # fmt: skip
    for place, words in told.items():
        assert all(word in page.locator(place).inner_text() for word in words)
    sizes = page.locator(".stx-sizes tbody tr").all_inner_texts()
    assert [row.split("\t") for row in sizes] == [["queries", "2", "92,214"], ["papers", "60", "142,009"]]
    before = example.inner_text()
    another.click()
    assert page.locator(".stx-shown h4").inner_text() == "Example 2 of 2" and example.inner_text() != before
    assert selection(page) == {"task": "scimult/cite", "example": 1} and page.evaluate("saved") >= 1
    assert page.evaluate("location.hash") == "#task=scimult/cite,2"
    assert page.evaluate("document.activeElement.textContent") == "Another example", "the button keeps the keyboard"
    another.click()
    assert example.inner_text() == before, "after the last comes the first"
    find.fill("no such words")
    assert "No task has all these words" in page.locator(".stx-list").inner_text()


def test_the_list_follows_the_keyboard(opened):
    page = opened()
    page.locator(".stx-list").focus()
    press(page, "ArrowDown End")
    active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).dataset.key"
    assert page.evaluate(active) == "mine"
    list_, chosen = (page.locator(place).bounding_box() for place in (".stx-list", "[aria-selected=true]"))
    ends = [(box["y"], box["y"] + box["height"]) for box in (list_, chosen)]
    assert ends[1][0] >= ends[0][0] and ends[1][1] <= ends[0][1], "the chosen line is in view"
    press(page, "/ s 2 a n d")
    assert options(page) == ["scirepeval/s2and"] and title(page) == "mine"
    press(page, "Enter Escape")
    assert title(page) == "S2AND" and len(options(page)) == 67


def test_chapters_are_linked_where_the_page_knows_its_site(opened):
    page = opened(task="csfcube")
    assert "(chapter csfcube/" in page.locator(".stx-used").inner_text() and page.locator(".stx-used a").count() == 0
    page.evaluate("document.documentElement.dataset.content_root = '../'")
    panel.choose(page, task="csfcube/all", example=0)
    assert page.locator(".stx-used a").first.get_attribute("href").startswith("../csfcube/")


def test_all_embedded_tasks_fit_one_page():
    whole = task_data(load_task(name, "embedded", 600, 0) for name in TASKS)
    assert stands(whole) <= CAP
    for found in whole["tasks"]:
        assert all(found[name] for name in ("title", "examples", "charts")), found["key"]
        assert found["source"][1] == "Invented"
        here = [ours for name, ours, _ in found["sizes"] if not name.startswith("training")]
        assert None not in here, found["key"]
        texts = [e.get("paper", e.get("query")) for e in found["examples"]]
        assert all(any(whole["papers"][at][1:3]) for at in texts if at is not None), "an example without a text"
