"""The format explorer: its data, what is counted for it, its plain-HTML twin, and its behaviour in a browser from disk."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import panel
import pytest
from panel import Browser

from scirep_core.data.text import Recipe
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.store import stable_hash
from scirep_core.page.chapter import Chapter
from scirep_core.page.papers import formats_explorer as exhibit
from scirep_core.page.widgets.common import encode
from scirep_core.page.widgets.formats import (
    ASKED,
    SIDE,
    FormatExplorer,
    Model,
    PaperView,
    Space,
    by_chance,
    edges,
    facts,
    format_data,
    shared,
)

HOSTILE = '</SCRIPT><img src=x onerror="window.pwned=1"><b>bold & "quoted"</b>'
WORDS = ["sparse", "kernels", "align", "parsers", "drift", "retrieval", "corpora", "entities", "queries", "graphs"]
FIELDS = ["Art", "Biology", "Chemistry", "Drama", "Economics", "Folklore", "Geology", "History", "Inks"]
N, K = 60, 10


def papers(n: int = N) -> list[PaperView]:
    """Fields in turn with unequal shares, years and citations drawn: nothing depends on anything else."""
    rng = random.Random(3)
    made = []
    for i in range(n):
        title = f"{rng.choice(WORDS).capitalize()} {rng.choice(WORDS)} for {rng.choice(WORDS)} {i}"
        field = FIELDS[min(int(rng.expovariate(0.4)), len(FIELDS) - 1)]
        made.append(
            PaperView(f"p{i}", 100 + i, title, "It says nothing. " * 40, 1995 + rng.randrange(25), field, i % 7)
        )
    made[5] = made[5]._replace(title=HOSTILE, text=HOSTILE, field=f"<i>{FIELDS[1]}</i>")
    return made


PAPERS = papers()
LINKS = [sorted({(i + 1) % N, (i - 1) % N, (i + 7) % N, (i - 7) % N}) for i in range(N)]


def space(format: str, seed: int, near: np.ndarray | None = None) -> Space:
    vectors = np.random.default_rng(seed).normal(size=(N, 3))
    return Space(format, exhibit.neighbours(vectors, K) if near is None else near, vectors[:, :2], 0.5)


def models() -> list[Model]:
    """MIXED has four formats, of which PRX and QRY agree wholly; TWO has two."""
    four = [space(name, seed) for name, seed in (("CLF", 1), ("RGN", 2), ("PRX", 3))]
    return [
        Model("MIXED", "four vectors", (*four, space("QRY", 4, four[2].near))),
        Model("TWO & more", "two vectors", (space("CLF", 5), space("PRX", 6))),
    ]


def made(**changes: Any) -> dict[str, Any]:
    return format_data(**{
        "papers": PAPERS, "models": models(), "links": LINKS, "about": "invented",
        "notebook": "notebooks/scirepeval/specialisation.ipynb", "parameters": {"papers": "300", "paper": "{paper}"},
    } | changes)  # fmt: skip


@pytest.fixture(scope="module")
def view() -> dict[str, Any]:
    return made()


def of(view: dict[str, Any], paper: str) -> int:
    return next(i for i, row in enumerate(view["papers"]) if row[0] == paper)


# ---- what is counted -------------------------------------------------------------------------------------------------


def test_neighbours_are_the_nearest_by_euclidean_distance() -> None:
    from sklearn.neighbors import NearestNeighbors

    vectors = np.random.default_rng(0).normal(size=(80, 12)).astype(np.float32) + 50
    found = exhibit.neighbours(vectors, K)
    _, expected = NearestNeighbors(n_neighbors=K + 1, algorithm="brute").fit(vectors.astype(float)).kneighbors()
    assert np.array_equal(found, expected[:, :K])
    same = exhibit.neighbours(np.zeros((5, 2)), 3)
    assert same.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2]], "equal distances: by place"


def test_shared_and_overlap_against_sets() -> None:
    rng = np.random.default_rng(1)
    one, two = (np.array([rng.permutation(30)[:K] for _ in range(50)]) for _ in range(2))
    assert shared(one, two).tolist() == [len(set(a) & set(b)) for a, b in zip(one.tolist(), two.tolist(), strict=True)]
    p = 0.9

    def slow(a: list[int], b: list[int]) -> float:
        agree = [len(set(a[:d]) & set(b[:d])) / d for d in range(1, K + 1)]
        return agree[-1] * p**K + (1 - p) / p * sum(x * p**d for d, x in enumerate(agree, start=1))

    assert np.allclose(exhibit.overlap(one, two), [slow(a, b) for a, b in zip(one.tolist(), two.tolist(), strict=True)])
    assert np.allclose(exhibit.overlap(one, one), 1)
    assert np.allclose(exhibit.overlap(one, one + 100), 0)
    swapped = one[:, [1, 0, *range(2, K)]]
    ends = one[:, [*range(K - 2), K - 1, K - 2]]
    assert (exhibit.overlap(one, swapped) < exhibit.overlap(one, ends)).all(), "the first ranks weigh more"
    assert (shared(one, swapped) == K).all()


def test_facts_by_hand_and_by_chance() -> None:
    few = [PaperView("a", 0, "A", "", 2000, "Art", 0), PaperView("b", 1, "B", "", 2002, "Art", 9),
           PaperView("c", 2, "C", "", 2010, "Law", 99), PaperView("d", 3, "D", "", 2000, "Art", 0)]  # fmt: skip
    near = np.array([[1, 2], [3, 0], [0, 1], [0, 2]])
    found = facts(few, [[1], [0], [], [2]], near)
    assert found["field"].tolist() == [1, 2, 0, 1]
    assert found["linked"].tolist() == [1, 1, 0, 1]
    assert found["years"].tolist() == [6, 2, 9, 5]
    assert np.allclose(found["citations"], [1.5, 1, 1.5, 1])
    # every set of two others, of every paper: what a draw gives on average
    sets = [np.array(pair) for pair in combinations(range(3), 2)]
    others = np.array([[j for j in range(4) if j != i] for i in range(4)])
    drawn = [facts(few, [[1], [0], [], [2]], others[:, pair]) for pair in sets]
    chance = by_chance(few, [[1], [0], [], [2]], 2)
    for name, value in chance.items():
        assert value == pytest.approx(np.mean([one[name].mean() for one in drawn])), name


def test_levels_hold_about_as_many_papers_each() -> None:
    years = [1995 + i % 24 for i in range(240)]
    cuts = edges(years)
    counts = np.bincount(np.searchsorted(cuts, years, side="right"))
    assert len(cuts) == 5 and counts.max() <= 2 * counts.min()
    assert edges([3, 3]) == [] and edges([0] * 90 + [1]) == []
    assert edges([0] * 50 + [1] * 50) == [1]


def test_a_map_keeps_clusters_and_is_turned_to_the_first() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 30)
    vectors = (np.eye(3)[group] * 20 + rng.normal(size=(90, 3))).astype(np.float32)
    first, second = exhibit.spaces({"CLF": vectors, "PRX": vectors[:, ::-1]}, seed=0)
    near = exhibit.neighbours(first.places, K)
    assert (group[near] == group[:, None]).mean() > 0.99 and 0.4 < first.share <= 1
    assert np.array_equal(exhibit.project(vectors, 0), exhibit.project(vectors, 0)), "the same seed, the same map"
    angle = 2.1
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ np.diag([1, -1])
    there = first.places - first.places.mean(axis=0)
    assert np.allclose(exhibit.turned(first.places @ turn + 5, first.places), there)
    assert np.array_equal(exhibit.neighbours(second.places @ turn, K), exhibit.neighbours(second.places, K))


# ---- the data --------------------------------------------------------------------------------------------------------


def test_the_view_holds_what_was_given(view: dict[str, Any]) -> None:
    assert json.loads(encode(view)) == json.loads(json.dumps(view, allow_nan=False)) and "<" not in encode(view)
    mixed, two = view["models"]
    assert mixed["formats"] == list(FORMATS) and two["formats"] == ["CLF", "PRX"]
    assert mixed["shared"]["2|3"] == K and 0 < mixed["shared"]["0|1"] < K
    assert mixed["shared"]["0|1"] == round(float(shared(*(s.near for s in models()[0].spaces[:2])).mean()), 4)
    places = np.array(mixed["places"][0])
    assert places.min() == 0 and places.max() == SIDE and places.shape == (N, 2)
    totals = np.sum([shared(a.near, b.near) for a, b in combinations(models()[0].spaces, 2)], axis=0)
    assert np.all(np.diff(totals[mixed["order"]]) >= 0) and sorted(mixed["order"]) == list(range(N))
    assert len(view["fields"]) == len({p.field for p in PAPERS}) and view["papers"][0][5] is not None
    frequent = [sum(p.field == name for p in PAPERS) for name in view["fields"]]
    assert frequent == sorted(frequent, reverse=True)
    assert view["colours"] == ["field", "year", "citations"] and view["asked"] == ASKED
    assert made()["key"] == view["key"] != made(about="other")["key"]
    assert max(len(row[3]) for row in view["papers"]) <= 340
    alike = made(papers=[p._replace(citations=3) for p in PAPERS])
    assert alike["colours"] == ["field", "year"], "nothing to tell apart by its colour"


def test_a_name_or_a_size_that_a_page_cannot_hold_is_named() -> None:
    for text, changes in (
        ("models: none given", {"models": []}),
        ("without '<'", {"models": [models()[0]._replace(key="<b>")]}),
        (r"[\d,]+ bytes.*cap of 900,000.*fewer papers \(now 60\) or fewer models \(now 2\)", {"about": "x" * 900_000}),
    ):
        with pytest.raises(ConfigError, match=text):
            made(**changes)


def test_selection_follows_python(view: dict[str, Any]) -> None:
    widget = FormatExplorer(view, colour="year")
    middle = view["papers"][view["models"][0]["order"][N // 2]][0]
    assert widget.selection == {"paper": middle, "colour": "year", "model": "MIXED"}, (
        "neither the best nor the worst case"
    )
    widget.selection = {"paper": "p3"}
    widget.selection = {"model": "TWO & more"}
    assert widget.selection == {"paper": "p3", "colour": "year", "model": "TWO & more"}
    assert FormatExplorer(view).selection["colour"] == "field"


def test_the_plain_twin_says_the_same(view: dict[str, Any]) -> None:
    widget = FormatExplorer(view, paper="p5")
    html = widget.static_fallback()
    assert html.count('<tr><th scope="row">') == K + 6 + 4
    near = [space_.near[5] for space_ in models()[0].spaces]
    assert f'<th scope="row">CLF and RGN</th><td>{len(set(near[0].tolist()) & set(near[1].tolist()))}</td>' in html
    first = PAPERS[int(near[0][0])]
    assert f"{first.title} ({first.field}, {first.year}, cited {first.citations} times)" in html


# ---- from an encoder to the page -------------------------------------------------------------------------------------


RECIPE = Recipe()


@dataclass
class Toy:
    """An encoder whose vectors say what a format is for: CLF the field, RGN year and citations, PRX and QRY the title."""

    collection: exhibit.Collection
    formats: tuple[str, ...] = FORMATS
    name: str = "toy"
    dim: int = 40
    recipe: Recipe = RECIPE

    @property
    def fingerprint(self) -> str:
        return stable_hash([self.name, self.formats, [p.paper_id for p in self.collection.views]])[:16]

    def encode(self, texts: list[str], format: str) -> np.ndarray:
        by = {self.recipe.separator.join((p.title, p.text)): p for p in self.collection.views}
        rows = []
        for text in texts:
            paper, noise = (
                by[text],
                np.random.default_rng(int(stable_hash([text, format])[:8], 16)).normal(size=self.dim),
            )
            if format == "CLF":
                noise = 0.1 * noise + np.random.default_rng(int(stable_hash(paper.field)[:8], 16)).normal(size=self.dim)
            elif format == "RGN":
                noise = 0.1 * noise + np.array(
                    [paper.year or 0, 3 * np.log(1 + (paper.citations or 0)), *[0] * (self.dim - 2)]
                )
            rows.append(noise)
        return np.array(rows, dtype=np.float32)


@pytest.fixture(scope="module")
def collection() -> exhibit.Collection:
    return exhibit.sample(400, 0, 120, 0)


@pytest.fixture
def chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chapter:
    """A chapter that collects what it shows in `chapter.page`."""
    found = Chapter("scirepeval/specialisation", {"data": "embedded", "papers": 400, "paper": 0, "seed": 0}, tmp_path)
    found.page = []  # type: ignore[attr-defined]
    monkeypatch.setattr(found, "show", lambda *parts: found.page.append("\n".join(parts)))  # type: ignore[attr-defined]
    return found


def test_a_sample_is_drawn_by_its_seed_with_what_the_literature_knows(collection: exhibit.Collection) -> None:
    from scirep_core.data.sources import literature

    whole = literature(400, 0)
    assert exhibit.sample(400, 0, 120, 0) == collection != exhibit.sample(400, 0, 120, 1)
    numbers = [p.number for p in collection.views]
    assert len(numbers) == 120 and numbers == sorted(set(numbers)) and 0 not in numbers
    for at, paper in enumerate(collection.views):
        text = whole.paper(paper.number)
        assert (paper.paper_id, paper.title, paper.year) == (text.paper_id, text.title, text.year)
        assert paper.citations == len(whole.cited_by.of(paper.number))
        linked = {numbers[j] for j in collection.links[at]}
        cites = {*whole.cites.of(paper.number).tolist(), *whole.cited_by.of(paper.number).tolist()}
        assert linked == cites & set(numbers)
    assert [p.number for p in exhibit.sample(400, 0, 400, 0).views] == list(range(1, 400)), "0 stands for none"
    missing = next(i for i in range(1, 400) if i not in numbers)
    with_it = exhibit.sample(400, 0, 120, 0, missing)
    assert missing in [p.number for p in with_it.views] and len(with_it.views) == 120
    with pytest.raises(ConfigError, match="papers 0 to 399"):
        exhibit.sample(400, 0, 120, 0, 400)


def test_planted_vectors_are_seen_for_what_they_are(chapter: Chapter, collection: exhibit.Collection) -> None:
    looked = exhibit.look(chapter, {"Toy": Toy(collection)}, shown=120)
    rows = {(r.encoder, r.task, r.metric): r for r in exhibit.measure(chapter, looked, resamples=200)}

    def value(format: str, metric: str) -> float:
        return rows["Toy", f"neighbours/{format}", metric].value

    assert value("CLF", "field") > 2 * value("RGN", "field") and value("RGN", "years") < 0.5 * value("CLF", "years")
    chance = rows["ten papers at random", "neighbours/all", "years"].value
    assert value("PRX", "years") == pytest.approx(chance, rel=0.15)
    alone = np.mean(
        [sum(q.field == p.field for q in collection.views) == 1 for p in collection.views]
    )  # nobody can tell these
    assert (
        value("CLF", "field by a linear classifier")
        > 95 * (1 - alone)
        > 2 * value("PRX", "field by a linear classifier")
    )
    asked = rows["Toy", "neighbours/CLF", "field less the other formats' mean"]
    assert asked.low is not None and asked.low > 0
    assert rows["Toy", "neighbours/RGN", "years less the other formats' mean"].high < 0  # type: ignore[operator]
    assert value("PRX+QRY", "shared") < 3 and value("PRX+QRY", "overlap") < 0.3
    exhibit.overview(chapter, looked, list(rows.values()))
    page = "\n".join(chapter.page)  # type: ignore[attr-defined]
    text = re.sub(r"<[^>]+>", "", page)
    assert "5 ahead, 1 behind, 0 not settled" in text and "ten papers at random" in text
    assert page.count("<strong>ahead</strong>") == 5
    assert {number.id for number in chapter.shown.values()} <= {row.id for row in rows.values()}


def test_what_the_sentences_say_follows_the_signs(chapter: Chapter, collection: exhibit.Collection) -> None:
    looked = exhibit.look(chapter, {"Toy": Toy(collection)}, shown=120)
    rows = exhibit.measure(chapter, looked, resamples=100)
    at = {(r.encoder, r.task.partition("/")[2], r.metric): r for r in rows}
    from dataclasses import replace

    def said(low: float, high: float, name: str = "years", format: str = "RGN") -> str:
        key = ("Toy", format, f"{name} less the other formats' mean")
        changed_ = {**at, key: replace(at[key], value=(low + high) / 2, low=low, high=high)}
        table, _ = exhibit.judged(chapter, looked.models[0], changed_)
        return next(line for line in table.split("<tr>") if f'<th scope="row">{exhibit.LABELS[name]}</th>' in line)

    assert "<strong>ahead</strong>" in said(-2, -1) and "<strong>behind</strong>" in said(1, 2)
    assert "<strong>not settled</strong>" in said(-1, 2)
    assert "<strong>ahead</strong>" in said(1, 2, "field", "CLF") and "<strong>behind</strong>" in said(
        -2, -1, "linked", "PRX"
    )


def test_the_explorer_of_a_chapter(chapter: Chapter, collection: exhibit.Collection) -> None:
    toy = Toy(collection)
    looked = exhibit.look(chapter, {"Toy": toy, "Half": Toy(collection, ("CLF", "PRX"), "half")}, shown=120)
    number = collection.views[7].number
    widget = exhibit.explorer(chapter, looked, paper=number)
    assert widget.selection == {"paper": collection.views[7].paper_id, "colour": "field", "model": "Toy"}
    data = json.loads(widget.data)
    assert data["notebook"] == "notebooks/scirepeval/specialisation.ipynb"
    assert data["parameters"] == {"data": "embedded", "papers": "400", "seed": "0", "paper": "{paper}"}
    assert [m["formats"] for m in data["models"]] == [["CLF", "RGN", "PRX", "QRY"], ["CLF", "PRX"]]
    near = np.array(data["models"][0]["near"][0])
    assert np.array_equal(
        near, exhibit.neighbours(toy.encode([f"{p.title} [SEP] {p.text}" for p in collection.views], "CLF"), K)
    )
    with pytest.raises(ConfigError, match=r"paper 0*1 is not among|give it to look"):
        exhibit.explorer(
            chapter, looked, paper=next(i for i in range(1, 400) if i not in [p.number for p in collection.views])
        )
    with pytest.raises(ConfigError, match="one vector for all formats"):
        exhibit.look(chapter, {"One": Toy(collection, ("PRX",), "one")}, shown=120)


def test_a_saved_model_is_looked_at_by_its_folder(chapter: Chapter, tmp_path: Path) -> None:
    from small_base import hand_made_base

    from scirep_core.encoders.conditioning.base import Conditioned, conditioning
    from scirep_core.encoders.models.model_store import load_model, save_model
    from scirep_core.training.variants import budget

    given = budget("tiny")
    plain = load_model(hand_made_base(tmp_path / "base", given))
    trunk = plain.model.trunk
    folder = save_model(Conditioned(trunk, conditioning("bottleneck", trunk, reduction=4)), plain.tokens, tmp_path / "a-model",
                        Recipe(), given.max_length)  # fmt: skip
    looked = exhibit.look(chapter, {"a-model": folder}, shown=40)
    widget = exhibit.explorer(chapter, looked)
    assert [m.key for m in looked.models] == ["a-model"] and len(json.loads(widget.data)["papers"]) == 40
    with pytest.raises(ConfigError, match="one vector for all formats"):
        exhibit.look(chapter, {"base": tmp_path / "base"}, shown=40)


# ---- in the browser --------------------------------------------------------------------------------------------------


def harness(folder: Path, data: dict[str, Any], theme: str = "", width: int = 1000, **chosen: str) -> str:
    return panel.page(folder, FormatExplorer(data, **chosen), theme, width)


def title(page: Any) -> str:
    return str(page.locator(".sfx-title").inner_text())


def choose(page: Any, **changes: str) -> None:
    page.evaluate("s => fake.set('selection', { ...fake.get('selection'), ...s })", changes)


def test_the_page_counts_what_python_counts(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view, paper="p0"))
    first = page.locator(".sfx-row").count()
    page.locator(".sfx-part button", has_text="Show").click()
    assert page.locator(".sfx-row").count() > first, "neighbours under one format alone are folded at first"
    spaces_ = models()[0].spaces
    for paper in ("p0", "p5", "p41"):
        choose(page, paper=paper)
        at = int(paper[1:])
        assert title(page) == PAPERS[at].title
        cells = page.locator(".sfx-agree tbody tr").all_inner_texts()
        seen = [re.findall(r"\d+(?:\.\d)?", row) for row in cells]
        for row in range(3):
            for col in range(row + 1):
                both = shared(spaces_[col].near, spaces_[row + 1].near)
                assert seen[row][2 * col : 2 * col + 2] == [str(both[at]), f"{both.mean():.1f}"], (row, col)
        each = [facts(PAPERS, LINKS, space_.near) for space_ in spaces_]
        told = [
            line.replace("\t", " ").split("apart")[-1]
            for line in page.locator(".sfx-common tbody tr").all_inner_texts()
        ]
        for line, (name, printed) in zip(
            told, (("field", "{:.0f}"), ("linked", "{:.0f}"), ("years", "{:.1f}")), strict=False
        ):
            numbers = re.findall(r"\d+(?:\.\d)?", line)
            wanted = [x for found in each for x in (printed.format(found[name][at]), f"{found[name].mean():.1f}")]
            assert numbers == [*wanted, f"{view['chance'][name]:.1f}"], name
        factor = re.findall(r"×(\d+\.\d)", told[3])
        assert factor == [x for found in each for x in (f"{10 ** found['citations'][at]:.1f}", f"{10 ** found['citations'].mean():.1f}")] + [  # noqa: E501
            f"{10 ** view['chance']['citations']:.1f}"]  # fmt: skip
        union = {int(i) for space_ in spaces_ for i in space_.near[at]}
        rows = {
            int(r.get_attribute("data-i")): r.locator("td").all_inner_texts() for r in page.locator(".sfx-row").all()
        }
        assert set(rows) == union
        for i, ranks in rows.items():
            expected = [[*space_.near[at].tolist(), i].index(i) + 1 for space_ in spaces_]
            assert ranks == [str(rank) if rank <= K else "–" for rank in expected]
        inside = sum(all(i in space_.near[at] for space_ in spaces_) for i in union)
        said = page.locator(".sfx-verdict").inner_text()
        assert f"{inside} {'is' if inside == 1 else 'are'} the same under all 4; {len(union)} different papers" in said
        assert f"PRX–QRY {K}" in said or f"PRX–QRY share {K}" in said
    assert page.locator(".sfx-asked").count() == 4 and page.locator(".sfx-part").first.inner_text()[:5] == "Under"


def test_a_click_on_a_dot_or_a_neighbour_chooses_that_paper(
    browser: Browser, tmp_path: Path, view: dict[str, Any]
) -> None:
    page = browser.open(harness(tmp_path, view, paper="p0"))
    for at in (17, 33):
        dot = page.locator(".sfx-map").nth(1).locator("svg > g").first.locator("circle").nth(at).bounding_box()
        spot = (dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
        page.mouse.move(*spot)
        tip = page.locator(".sfx-tip")
        assert tip.is_visible() and PAPERS[at].title in tip.inner_text() and str(PAPERS[at].year) in tip.inner_text()
        assert page.locator(".sfx-hot").count() == 4, "the same paper is ringed on every map"
        page.mouse.click(*spot)
        assert title(page) == PAPERS[at].title and panel.selection(page)["paper"] == f"p{at}"
    row = page.locator(".sfx-row").nth(2)
    other = int(row.get_attribute("data-i"))
    row.locator("td").first.click()
    assert (
        title(page) == PAPERS[other].title
        and panel.selection(page)["paper"] == f"p{other}"
        and page.evaluate("saved") >= 2
    )
    assert page.evaluate("location.hash") == f"#formats=p{other},field,MIXED"
    back = page.get_by_role("button", name="Back", exact=True)
    for expected in (33, 17, 0):
        back.click()
        assert title(page) == PAPERS[expected].title
    assert back.is_disabled()
    page.mouse.move(5, 5)
    assert not page.locator(".sfx-tip").is_visible() and page.locator(".sfx-hot").count() == 0


def test_rings_colours_and_order_follow_their_controls(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view, paper="p0"))
    places = np.array(view["models"][0]["places"])

    def ringed(side: int) -> set[tuple[int, int]]:
        found = page.evaluate(
            "([side, sort]) => [...document.querySelectorAll('.sfx-map')[side].querySelectorAll(sort)].map("
            "(c) => [+c.getAttribute('cx'), +c.getAttribute('cy')])",
            [side, ".sfx-ring"],
        )
        return {tuple(pair) for pair in found}

    near = [space_.near[0] for space_ in models()[0].spaces]
    assert ringed(1) == {tuple(places[1][i]) for i in near[1]}
    page.get_by_role("button", name="CLF's 10").click()
    assert ringed(1) == {tuple(places[1][i]) for i in near[0]} and ringed(0) == {tuple(places[0][i]) for i in near[0]}
    page.get_by_role("button", name="each format's own 10").click()
    assert ringed(1) == {tuple(places[1][i]) for i in near[1]}

    fields = page.locator(".sfx-legend button").all()
    counts = [int(re.findall(r"\d+", field.get_attribute("title"))[0]) for field in fields]
    assert sum(counts) == N and fields[0].inner_text() == view["fields"][0]
    page.locator(".sfx-legend button").nth(1).click()
    second = sum(p.field == view["fields"][1] for p in PAPERS)
    assert page.locator(".sfx-map").first.locator("circle.sfx-on").count() == second == counts[1]
    faded = (
        "getComputedStyle(document.querySelector('.sfx-map svg > g:first-child > circle:not(.sfx-on)')).opacity < 0.5"
    )
    page.mouse.move(5, 5)
    assert page.evaluate(faded), "the others fade"
    page.locator(".sfx-legend button").nth(1).click()
    page.mouse.move(5, 5)
    assert not page.evaluate(faded)

    page.get_by_label("Colour dots by").select_option("year")
    dots = page.locator(".sfx-map").first.locator("svg > g").first.locator("circle")
    for i in (0, 9, 30):
        level = sum(edge <= PAPERS[i].year for edge in view["levels"]["year"])  # type: ignore[operator]
        assert dots.nth(i).get_attribute("data-c") == f"l{level}"
    assert panel.selection(page)["colour"] == "year" and page.locator(
        ".sfx-legend button"
    ).first.inner_text().startswith("1995")

    page.locator(".sfx-around thead button", has_text="RGN").click()
    assert [int(r.get_attribute("data-i")) for r in page.locator(".sfx-row").all()][:K] == near[1].tolist()
    assert page.evaluate("document.activeElement.textContent") == "RGN", "the button keeps the keyboard"
    assert page.locator("[aria-sort=ascending]").inner_text() == "RGN"

    rare = next(i for i, p in enumerate(PAPERS) if view["fields"].index(p.field) >= 6)
    choose(page, paper=f"p{rare}", colour="field")
    assert page.locator(".sfx-legend button").first.get_attribute("data-c") == "own"
    assert PAPERS[rare].field in page.locator(".sfx-legend button").first.inner_text()
    assert dots.nth(rare).get_attribute("data-c") == "own"


def test_keyboard_alone_goes_everywhere(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view))
    order = view["models"][0]["order"]
    middle = N // 2
    assert title(page) == PAPERS[order[middle]].title
    page.get_by_label("Previous paper").focus()
    page.keyboard.press("]")
    assert title(page) == PAPERS[order[middle + 1]].title
    page.keyboard.press("b")
    assert title(page) == PAPERS[order[middle]].title
    page.keyboard.press("Enter")
    assert title(page) == PAPERS[order[middle - 1]].title
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") == "range"
    page.keyboard.press("Home")
    assert title(page) == PAPERS[order[0]].title, "the one whose formats agree least"
    page.keyboard.press("End")
    assert title(page) == PAPERS[order[-1]].title
    page.keyboard.press("b")
    assert title(page) == PAPERS[order[middle - 1]].title, "back is where the slider started"

    page.get_by_label("Find a paper").focus()
    page.keyboard.type("for 17")
    assert (
        page.locator(".sfx-found").is_visible()
        and page.get_by_label("Find a paper").get_attribute("aria-expanded") == "true"
    )
    page.keyboard.press("ArrowDown")
    active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).dataset.i"
    assert page.evaluate(active) == "17"
    page.keyboard.press("Enter")
    assert title(page) == PAPERS[17].title and not page.locator(".sfx-found").is_visible()
    page.keyboard.type("no such words")
    assert "No title has all these words" in page.locator(".sfx-found").inner_text()
    page.keyboard.press("Escape")
    assert not page.locator(".sfx-found").is_visible()

    box = page.locator(".sfx-map").nth(2)
    box.focus()
    places = np.array(view["models"][0]["places"][2])
    assert PAPERS[17].title in page.locator(".sfx-tip").inner_text()
    at, walked = 17, 0
    for key, axis, sign in (("ArrowRight", 0, 1), ("ArrowDown", 1, 1), ("ArrowLeft", 0, -1), ("ArrowUp", 1, -1)):
        page.keyboard.press(key)
        hot = page.evaluate(
            "[...document.querySelectorAll('.sfx-map')[2].querySelectorAll('.sfx-hot')].flatMap("
            "(c) => [+c.getAttribute('cx'), +c.getAttribute('cy')])"
        )
        found = next((i for i in range(N) if places[i].tolist() == hot), at)
        assert found == at or sign * (places[found] - places[at])[axis] > 0, key
        walked += found != at
        at = found
    assert walked >= 2
    page.keyboard.press("Enter")
    assert title(page) == PAPERS[at].title and page.evaluate("document.activeElement.className") == "sfx-map"

    names = page.locator(".sfx-name")
    assert page.locator(".sfx-name[tabindex='0']").count() == 1, "one stop for the Tab key"
    names.first.focus()
    for key in ("ArrowDown", "j", "ArrowDown", "k"):
        page.keyboard.press(key)
    wanted = names.nth(2).inner_text()
    assert page.evaluate("document.activeElement.textContent") == wanted
    page.keyboard.press("Enter")
    assert title(page) == wanted and page.evaluate("document.activeElement.classList.contains('sfx-name')")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.textContent") == names.last.inner_text()
    assert panel.selection(page)["paper"] and wanted in page.locator("[aria-live]").inner_text()


def test_the_model_can_be_changed_and_each_is_told_of(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view, paper="p3"))
    means = {m["key"]: f"{np.mean(list(m['shared'].values())):.1f}" for m in view["models"]}
    said = page.locator(".sfx-verdict").inner_text()
    assert f"two formats of MIXED share {means['MIXED']} and of TWO & more {means['TWO & more']}." in said
    page.get_by_label("Model").select_option("TWO & more")
    assert page.locator(".sfx-column").count() == 2 and page.locator(".sfx-cell").count() == 1
    assert "the same under all 2" in page.locator(".sfx-verdict").inner_text() and title(page) == PAPERS[3].title
    assert panel.selection(page) == {"paper": "p3", "colour": "field", "model": "TWO & more"}
    page.get_by_label("Model").select_option("MIXED")
    assert page.locator(".sfx-column").count() == 4
    alone = made(models=models()[:1])
    page = browser.open(harness(tmp_path, alone))
    assert page.get_by_label("Model").count() == 0, "nothing to choose, no control"


def test_the_command_follows_the_paper(browser: Browser, tmp_path: Path, view: dict[str, Any]) -> None:
    page = browser.open(harness(tmp_path, view, paper="p3"))
    command = page.locator(".sfx-command code")
    assert (
        command.inner_text()
        == "papermill notebooks/scirepeval/specialisation.ipynb out.ipynb -p papers 300 -p paper 103"
    )
    page.get_by_label("Next paper").click()
    now = int(panel.selection(page)["paper"][1:])
    assert command.inner_text().endswith(f"-p paper {PAPERS[now].number}")
    page.get_by_role("button", name="Copy as papermill command").click()
    page.wait_for_function("document.querySelector('.sfx-status').textContent !== ''")
    assert page.locator(".sfx-status").inner_text() in ("Copied", "Press Ctrl+C to copy the selected command")
    other = made(parameters={"note": "a b", "hue": "{colour}", "paper": "{paper}"}, notebook="notebooks/x.ipynb")
    page = browser.open(harness(tmp_path, other, paper="p3", colour="year"))
    assert (
        page.locator(".sfx-command code").inner_text()
        == "papermill notebooks/x.ipynb out.ipynb -p note 'a b' -p hue year -p paper 103"
    )


@pytest.mark.parametrize("width", [390, 700, 1200])
def test_four_maps_stand_in_a_row_where_there_is_room(browser: Browser, tmp_path: Path, view: Any, width: int) -> None:
    page = browser.open(harness(tmp_path, view, width=1200), width=width)
    tops = {round(page.locator(".sfx-map").nth(side).bounding_box()["y"]) for side in range(4)}
    assert len(tops) == (1 if width >= 700 else 2)
    for side in range(4):
        page.locator(".sfx-map").nth(side).focus()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the name beside a dot stays inside"
