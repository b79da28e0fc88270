"""The task explorer: its data, its plain-HTML twin, and its behaviour in a browser from disk without network."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import panel
import pytest
from panel import Browser

from scirep_core.data import load_task
from scirep_core.data.inventory import TASKS
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import (
    Collection,
    Example,
    Judged,
    Labelled,
    LabelSpace,
    LabelText,
    Pooled,
    Qrel,
    Reviewers,
    Signature,
    Signatures,
    Task,
    Triple,
    Triples,
)
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Judgement, Paper, Query
from scirep_core.page.widgets.common import clip, encode
from scirep_core.page.widgets.task_examples import CANDIDATES, MENTIONS, Ref, charts, class_names, grade_word, keep
from scirep_core.page.widgets.task_examples import examples as draw
from scirep_core.page.widgets.tasks import CAP, TEXT, TaskExplorer, task_data

HOSTILE = '</SCRIPT><img src=x onerror="window.pwned=1"><b>bold & "quoted"</b>'
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
    kind, metrics = str(spec.type), spec.metrics
    given = {"texts": lambda: PAPERS, "related": spec.relation} | more
    return Task(name, kind, spec.format, metrics, payload, source, "", **given)  # type: ignore[arg-type]


def triples(split: str) -> Iterator[Triple]:
    yield from [Triple(IDS[i], IDS[i + 1], IDS[i + 2] if i % 2 else "") for i in range(40)]


def texts_of(split: str) -> Iterator[Triple]:
    yield from [
        Triple(f"Query title {i} [SEP] its abstract", f"label name {i} [SEP] its definition", "") for i in range(9)
    ]


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
    graded = {
        "p1": {f"p{i}": i % 3 for i in range(2, 40)},
        "p2": {"p3": 0, "p4": 1},
        "p5": {f"p{i}": 0 for i in range(6, 9)},
    }
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
        task("scimult/geography", LabelSpace({key: tuple(f"L{j}" for j in range(i % 15)) for i, key in enumerate(IDS)}, labels,
                                             dict.fromkeys(IDS[:30], ("L1", "L2")))),
        task("scimult/cite", Pooled({"p1": {f"p{i}": 1 for i in range(2, 30)}, "p2": {"p3": 1}}, tuple(IDS))),
        task("scimult/pretrain_coarse", Triples(texts_of, ("train",)), texts=tuple),
        task("scirepeval/cite_prediction", Triples(triples)),
        Task("mine", "classification", "CLF", ("accuracy",), own, "folder", "", texts=lambda: PAPERS),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def view() -> dict[str, Any]:
    return task_data(demo(), also=TASKS)


def row(view: dict[str, Any], key: str) -> dict[str, Any]:
    return next(found for found in view["tasks"] if found["key"] == key)


# ---- the data -------------------------------------------------------------------------------------------------------


def test_every_task_of_the_inventory_is_listed_with_what_its_paper_prints(view: dict[str, Any]) -> None:
    names = [found["name"] for found in view["tasks"]]
    assert names == [*TASKS, "mine"], "the inventory's order, then others"
    fos, view_ = row(view, "scirepeval/fos"), row(view, "scirepeval/scidocs_view")
    assert ["training rows", None, 676_524] in fos["sizes"] and ["test rows", 20, 471] in fos["sizes"]
    assert ["labels", 3, 23] in fos["sizes"]
    assert fos["source"][:2] == ["embedded", "Invented"] and fos["relation"].startswith("in-train")
    assert view_["sizes"] == [["queries", None, 1_000], ["judged pairs", None, 29_978]] and view_["examples"] == []
    assert fos["used"] == ["V2-T1", "V1-T1"] and view["exhibits"]["V1-T1"][0] == "Table 1"
    cube, mine = row(view, "csfcube"), row(view, "mine")
    assert (
        cube["source"][1] == "Real"
        and "CC BY-NC" in cube["source"][2]
        and "checked against its SHA-256" in cube["source"][2]
    )
    assert mine["source"][1] == "Own folder" and mine["paper"] == "" and view["collections"][-1] == ["", "Other tasks"]
    assert all(len(found["examples"]) <= 6 for found in view["tasks"])
    assert json.loads(json.dumps(view, allow_nan=False)) == json.loads(encode(view))


def test_each_type_shows_what_it_is_made_of(view: dict[str, Any]) -> None:
    def first(key: str) -> dict[str, Any]:
        return row(view, key)["examples"][0]

    def paper(place: int) -> list[Any]:
        return view["papers"][place]

    kinds = {found["type"]: found["examples"][0]["kind"] for found in view["tasks"] if found["examples"]}
    assert len(kinds) == 11 and set(kinds.values()) == {
        "labelled",
        "ranking",
        "labels",
        "reviewers",
        "block",
        "self",
        "triple",
    }
    known = {p.paper_id: p for p in PAPERS}
    for example in row(view, "scirepeval/fos")["examples"]:
        place = IDS.index(paper(example["paper"])[0])
        hot = ((1, int(place % 3 == 0), 0), (0, 1, int(place % 2)))[place >= 40]
        assert example["labels"] == [n for n, on in zip(("Art", "Biology", "Chemistry"), hot, strict=True) if on]
        assert example["split"] == ("test" if place >= 40 else "train")
    assert paper(first("scirepeval/search")["query"])[2].startswith("how to pop")
    assert {example["group"] for example in row(view, "scirepeval/mdcr")["examples"]} == {"Art", "Law"}
    blocks = row(view, "scirepeval/s2and")["examples"]
    assert {example["block"] for example in blocks} == {"a ode 0", "a ode 1"}
    assert all(sum(len(m) for m, _ in b["clusters"]) <= MENTIONS and (b["people"], b["of"]) == (7, 30) for b in blocks)
    reviewers = first("scirepeval/paper_reviewer_matching")["reviewers"]
    assert [r[0] for r in reviewers] == sorted((r[0] for r in reviewers), reverse=True) and {3, 2, 0} == {
        r[0] for r in reviewers
    }
    asked = first("csfcube")
    assert (
        asked["lit"]
        == {"background": ["Asked before.", "We ask."], "method": ["We did."], "result": ["It works."]}[asked["facet"]]
    )
    coarse = first("scimult/pretrain_coarse")
    assert paper(coarse["query"])[1:3] == [f"Query title {paper(coarse['query'])[1][-1]}", "its abstract"]
    assert paper(coarse["positive"])[1].startswith("label name") and coarse["negative"] is None
    assert all(paper(i)[1] == clip(known[paper(i)[0]].title, 220) for i in [first("neighbours/acl_anth")["paper"]])
    labels = next(e for e in row(view, "scimult/geography")["examples"] if e["of"] > 1)
    assert labels["gold"][0][:2] == ["L0", "label 0"] and labels["gold"][1][2].startswith("A sentence")


def test_rankings_are_sorted_and_every_grade_is_there(view: dict[str, Any]) -> None:
    seen = 0
    for found in view["tasks"]:
        for example in found["examples"]:
            if example["kind"] != "ranking":
                continue
            seen += 1
            grades = [grade for grade, _, _ in example["candidates"]]
            assert len(grades) <= CANDIDATES
            ranked = [-1 if grade is None else grade for grade in grades]
            assert ranked == sorted(ranked, reverse=True)
            levels = [grade for grade, _, _ in example["totals"]]
            if len(levels) <= CANDIDATES:
                assert set(grades) == set(levels), found["key"]
            else:
                assert grades[0] == max(levels) and grades[-1] == min(levels)
    assert seen > 15
    wide = keep([i // 2 for i in range(40)], 12, random.Random(0))
    assert len(wide) == 12 and {19, 0} <= {i // 2 for i in wide}
    assert keep([0, None, 2, None], 12, random.Random(0)) == [2, 0, 1, 3]
    few = keep([0] * 50 + [1] * 2 + [2] * 9, 12, random.Random(0))
    assert [sum(a <= i < b for i in few) for a, b in ((0, 50), (50, 52), (52, 61))] == [5, 2, 5], "in turn"


def test_charts_count_everything() -> None:
    given = {t.name if isinstance(t, Task) else f"csfcube/{len(t.tasks)}": t for t in demo()}
    fos = charts(given["scirepeval/fos"])[0]
    assert (
        fos["parts"] == ["train", "test"]
        and fos["rows"][0] == ["Art", [40, 0]]
        and ["Chemistry", [0, 10]] in fos["rows"]
    )
    grades, pool = charts(given["scirepeval/relish"])
    assert [n for _, (n,) in grades["rows"]] == [13, 13, 17] and grades["rows"][0][0] == "2 relevant"
    assert sum(n for _, n in pool["columns"]) == 3 and pool["note"] == "3 in all; smallest 2, median 3, largest 38"
    values = charts(given["scirepeval/cite_count"])[0]
    assert sum(n for _, n in values["columns"]) == 60 and values["columns"][-1][1] >= 10
    uses, each = charts(given["scimult/geography"])
    assert uses["more"].startswith("and 4 more labels, given") and each["columns"][0] == ["0–1", 8]
    assert [n for _, (n,) in charts(given["csfcube/4"])[0]["rows"]] == [21, 21, 24, 24]


def test_a_real_sample_names_its_manifest_and_quotes_no_printed_size() -> None:
    sample = task("scirepeval/relish", Judged((Qrel("p1", "p2", 1), Qrel("p1", "p3", 0))), "real")
    found = task_data([replace(sample, name="sample/same_author", notes="comparable with no published number")])[
        "tasks"
    ][0]
    assert (found["paper"], found["title"]) == ("sample", "Same Author Detection (sample)")
    assert "Manifest scirepeval_sample, every file was checked" in found["source"][2]
    assert all(printed is None for _, _, printed in found["sizes"]) and found["used"] == []
    assert [word for _, word, _ in found["examples"][0]["candidates"]] == ["by the same author", "by a namesake"]


def test_numbered_classes_have_names_where_these_are_known() -> None:
    for name in ("fos", "mesh_descriptors", "drsm", "scidocs_mag", "scidocs_mesh"):
        invented = task(f"scirepeval/{name}", Labelled({"train": (), "test": ()}))
        assert len(set(class_names(invented))) == TASKS[invented.name].expect["labels"]
        assert bool(class_names(replace(invented, source="real"))) == (name == "fos"), (
            "no real class gets an invented name"
        )


def test_words_of_grades() -> None:
    given = {t.name: t for t in demo()}
    assert grade_word(given["csfcube"], 3) == "near identical"
    assert (
        grade_word(given["scirepeval/search"], 7) == "clicked"
        and grade_word(given["scirepeval/search"], 0) == "not clicked"
    )
    assert grade_word(given["scirepeval/mdcr"], 1) == "cited by the query"
    assert grade_word(given["scimult/cite"], None) == "in the pool, not judged"
    assert grade_word(given["mine"], -1) == "grade -1" and grade_word(given["mine"], 1) == "relevant"


def test_same_seed_same_data_and_another_seed_other_examples(view: dict[str, Any]) -> None:
    assert json.dumps(task_data(demo(), also=TASKS)) == json.dumps(view)
    assert task_data(iter(demo()), also=TASKS)["key"] == view["key"]
    other = task_data(demo(), seed=1)
    assert row(other, "scirepeval/fos")["examples"] != row(view, "scirepeval/fos")["examples"]
    assert len(row(task_data(demo(), examples=2), "scirepeval/fos")["examples"]) == 2
    alone = task_data(demo()[:1])
    assert alone["tasks"][0]["examples"] and len(alone["tasks"]) == 1, "what else is shown changes no draw"
    assert [alone["papers"][e["paper"]][0] for e in alone["tasks"][0]["examples"]] == [
        view["papers"][e["paper"]][0] for e in row(view, "scirepeval/fos")["examples"]
    ]


def test_texts_are_cut_and_the_whole_stays_within_its_cap(view: dict[str, Any]) -> None:
    assert max(len(text) for _, _, text, _, _ in view["papers"]) <= TEXT and any(
        t.endswith("…") for _, _, t, _, _ in view["papers"]
    )
    assert len(json.dumps(encode(view))) <= CAP
    whole = task_data(demo())
    most = len(json.dumps(encode(whole))) - 1_500
    tight = task_data(demo(), cap=most)
    assert (
        whole["shortest"] == [600, 600]
        and tight["shortest"][0] < 600 == tight["shortest"][1]
        and len(json.dumps(encode(tight))) <= most
    )
    mains = {e["paper"] for found in tight["tasks"] for e in found["examples"] if e["kind"] in ("labelled", "labels")}
    assert all(tight["papers"][i] in whole["papers"] for i in mains), "candidates give way first"
    with pytest.raises(
        ConfigError, match=r"[\d,]+ bytes.*cap of 9,000.*fewer tasks \(now 15\) or fewer examples of each \(now 6\)"
    ):
        task_data(demo(), cap=9_000)
    assert clip("one two three", 8) == "one two…" and clip("x" * 50, 9) == "x" * 8 + "…" and clip("a\n b", 9) == "a b"


def test_the_plain_twin_has_every_task_with_its_sizes(view: dict[str, Any]) -> None:
    html = TaskExplorer(view).static_fallback()
    assert html.count('<tr><th scope="row">') == 67 and "test rows 20 (printed 471)" in html
    hostile = Task("<b>", "classification", "CLF", (), Labelled({"train": (), "test": ()}), "folder", "")
    with pytest.raises(ConfigError, match="without '<'"):
        task_data([hostile])


def test_selection_follows_python(view: dict[str, Any]) -> None:
    widget = TaskExplorer(view, task="scimult/cite")
    assert widget.selection == {"task": "scimult/cite", "example": 0}
    widget.selection = {"task": "scirepeval/fos", "example": 2}
    widget.selection = {"task": "csfcube"}
    assert widget.selection == {"task": "csfcube", "example": 0}, "another task starts at its first example"
    assert TaskExplorer(view).selection == {"task": "scirepeval/mesh_descriptors", "example": 0}


def test_bad_input_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'scirepeval/fos'"):
        task_data(demo(), also=["scirepeval/fso"])
    with pytest.raises(ConfigError, match="'csfcube@real' is given twice"):
        task_data([faceted(), faceted()])
    with pytest.raises(ConfigError, match="none given"):
        task_data([])
    with pytest.raises(ConfigError, match="examples: 0"):
        task_data(demo(), examples=0)
    both = task_data([task("neighbours/iclr", Collection(tuple(IDS)), source) for source in ("embedded", "real")])
    assert [found["key"] for found in both["tasks"]] == ["neighbours/iclr@embedded", "neighbours/iclr@real"]


def test_an_example_of_a_paper_without_text_is_still_an_example() -> None:
    bare = task(
        "scirepeval/fos",
        Labelled({"train": (Example("nowhere", (1,)),), "test": (Example("p1", (1,)),)}, True),
        texts=tuple,
    )
    found = task_data([bare])
    assert sorted(found["papers"][e["paper"]][1] for e in found["tasks"][0]["examples"]) == ["", ""]
    assert all(
        isinstance(e["paper"], Ref) and e["labels"] == ["Agricultural and Food sciences"] for e in draw(bare, 6, 0)
    )


# ---- in the browser -------------------------------------------------------------------------------------------------


def harness(folder: Path, data: dict[str, Any], theme: str = "", width: int = 1000, task: str | None = None) -> str:
    return panel.page(folder, TaskExplorer(data, task=task), theme, width)


def options(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.stx-option')].map((o) => o.dataset.key)")


def title(page: Any) -> str:
    return page.locator(".stx-title").inner_text()


def test_searching_and_choosing_by_mouse(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view))
    assert sorted(options(page)) == sorted([*TASKS, "mine"])
    assert page.locator(".stx-paper").all_inner_texts() == [name for _, name in view["collections"]]
    page.get_by_label("Find a task").fill("scimult CITE prx")
    assert options(page) == [
        "scimult/cite",
        "scimult/cocite",
        "scimult/cite_rerank",
        "scimult/cocite_rerank",
    ]
    assert page.locator(".stx-found").inner_text() == "4 of 67"
    page.locator("[data-key='scimult/cite']").click()
    assert all(metric in page.locator(".stx-facts").inner_text() for metric in row(view, "scimult/cite")["metrics"])
    assert title(page) == "SciDocs (Cite)" and "Invented" in page.locator(".stx-source").inner_text()
    sizes = page.locator(".stx-sizes tbody tr").all_inner_texts()
    assert [row.split("\t") for row in sizes] == [["queries", "2", "92,214"], ["papers", "60", "142,009"]]
    assert "linked by a citation" in page.locator(".stx-totals").inner_text()
    assert "Table 5" in page.locator(".stx-used").inner_text()
    before = page.locator(".stx-example").inner_text()
    page.get_by_role("button", name="Another example").click()
    assert (
        page.locator(".stx-shown h4").inner_text() == "Example 2 of 2"
        and page.locator(".stx-example").inner_text() != before
    )
    assert panel.selection(page) == {"task": "scimult/cite", "example": 1} and page.evaluate("saved") >= 1
    assert page.evaluate("location.hash") == "#task=scimult/cite,2"
    assert page.evaluate("document.activeElement.textContent") == "Another example", "the button keeps the keyboard"
    page.get_by_role("button", name="Another example").click()
    assert page.locator(".stx-example").inner_text() == before, "after the last comes the first"
    page.get_by_label("Find a task").fill("no such words")
    assert "No task has all these words" in page.locator(".stx-list").inner_text()


def test_keyboard_walks_the_list_and_the_examples(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view))
    order = options(page)
    page.locator(".stx-list").focus()
    page.keyboard.press("Home")
    for key in ("ArrowDown", "j", "ArrowDown", "k"):
        page.keyboard.press(key)
    assert panel.selection(page)["task"] == order[2]
    active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).dataset.key"
    assert page.evaluate(active) == order[2]
    page.keyboard.press("End")
    page.keyboard.press("]")
    assert panel.selection(page)["task"] == order[-1] == "mine"
    box = "(() => { const l = document.querySelector('.stx-list').getBoundingClientRect(), o = document.querySelector('[aria-selected=true]').getBoundingClientRect(); return o.top >= l.top && o.bottom <= l.bottom; })()"  # noqa: E501
    assert page.evaluate(box), "the chosen line is in view"
    page.keyboard.press("/")
    page.keyboard.type("s2and")
    assert options(page) == ["scirepeval/s2and"] and title(page) == "mine"
    page.keyboard.press("Enter")
    assert title(page) == "S2AND" and "S2AND" in (panel.selection(page) and page.locator("[aria-live]").inner_text())
    page.keyboard.press("Escape")
    assert len(options(page)) == 67
    page.keyboard.press("ArrowUp")
    assert panel.selection(page)["task"] == order[order.index("scirepeval/s2and") - 1]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("n")
    assert panel.selection(page) == {"task": "scirepeval/s2and", "example": 1}
    page.keyboard.press("p")
    page.keyboard.press("[")
    assert panel.selection(page) == {"task": order[order.index("scirepeval/s2and") - 1], "example": 0}


def test_chapters_are_linked_where_the_page_knows_its_site(
    browser: Browser, tmp_path: Path, view: dict[str, Any]
) -> None:
    page = browser.open(harness(tmp_path, view, task="csfcube"))
    assert "(chapter csfcube/" in page.locator(".stx-used").inner_text() and page.locator(".stx-used a").count() == 0
    page.evaluate(
        "document.documentElement.dataset.content_root = '../'; fake.set('selection', {task: 'csfcube/all', example: 0})"
    )
    assert page.locator(".stx-used a").first.get_attribute("href").startswith("../csfcube/")


@pytest.mark.parametrize("width", [390, 700, 1200])
def test_picker_and_task_stand_side_by_side_where_there_is_room(
    browser: Browser, tmp_path: Path, view: dict[str, Any], width: int
) -> None:
    page = browser.open(harness(tmp_path, view, width=1200), width=width)
    picker, chosen = (page.locator(place).bounding_box() for place in (".stx-picker", ".stx-task"))
    assert (picker["x"] + picker["width"] <= chosen["x"]) == (width >= 700)
    if width == 390:
        assert picker["y"] + picker["height"] <= chosen["y"]


def test_real_samples_fit_the_explorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.environ.get("SCIREP_DATA_MIRROR"):
        pytest.skip("real samples are not at hand: set SCIREP_DATA_MIRROR to a folder that holds them")
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    found = task_data(load_task(name) for name in ("sample/fos", "sample/search"))
    fos, search = found["tasks"]
    assert ["labels", 23, None] in fos["sizes"] and "ODC-By" in fos["source"][2]
    assert {word for example in search["examples"] for _, word, _ in example["candidates"]} == {
        "clicked",
        "not clicked",
    }


def test_all_embedded_tasks_fit_one_page() -> None:
    whole = task_data(load_task(name, "embedded", 600, 0) for name in TASKS)
    assert len(json.dumps(encode(whole))) <= CAP
    for found in whole["tasks"]:
        assert found["examples"] and found["charts"] and found["source"][1] == "Invented", found["key"]
        assert found["title"] and all(
            ours is not None for name, ours, _ in found["sizes"] if not name.startswith("training")
        ), found
    texts = {
        place
        for found in whole["tasks"]
        for e in found["examples"]
        for place in [e.get("paper", e.get("query"))]
        if place is not None
    }
    assert all(whole["papers"][place][1] or whole["papers"][place][2] for place in texts), "an example without a text"
