"""The format explorer: its data, what is counted for it, its plain-HTML twin, and its behaviour in a browser from disk."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import panel
import pytest
from panel import HOSTILE, choose, press, selection

from scirep_core.data.text import Recipe
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.store import stable_hash
from scirep_core.page.chapter import Chapter
from scirep_core.page.papers import formats_explorer as exhibit
from scirep_core.page.widgets import formats as widget_
from scirep_core.page.widgets.formats import FormatExplorer, Model, PaperView, Space, by_chance, facts, shared

WORDS = ["sparse", "kernels", "align", "parsers", "drift", "retrieval", "corpora", "entities", "queries", "graphs"]
FIELDS = ["Art", "Biology", "Chemistry", "Drama", "Economics", "Folklore", "Geology", "History", "Inks"]
N, K = 60, 10
NOTEBOOK = "notebooks/scirepeval/specialisation.ipynb"


def papers(n: int = N) -> list[PaperView]:
    """Fields in turn with unequal shares, years and citations drawn: nothing depends on anything else."""
    rng = random.Random(3)
    made = []
    for i in range(n):
        title = f"{rng.choice(WORDS).capitalize()} {rng.choice(WORDS)} for {rng.choice(WORDS)} {i}"
        field = FIELDS[min(int(rng.expovariate(0.4)), len(FIELDS) - 1)]
        year = 1995 + rng.randrange(25)
        made.append(PaperView(f"p{i}", 100 + i, title, "It says nothing. " * 40, year, field, i % 7))
    made[5] = made[5]._replace(title=HOSTILE, text=HOSTILE, field=f"<i>{FIELDS[1]}</i>")
    return made


PAPERS = papers()
LINKS = [sorted({(i + 1) % N, (i - 1) % N, (i + 7) % N, (i - 7) % N}) for i in range(N)]


def space(format: str, seed: int, near: np.ndarray | None = None) -> Space:
    vectors = np.random.default_rng(seed).normal(size=(N, 3))
    return Space(format, exhibit.neighbours(vectors, K) if near is None else near, vectors[:, :2], 0.5)


THREE = [space(name, seed) for name, seed in (("CLF", 1), ("RGN", 2), ("PRX", 3))]
MODELS = [Model("MIXED", "four vectors", (*THREE, space("QRY", 4, THREE[2].near))),
          Model("TWO & more", "two vectors", (space("CLF", 5), space("PRX", 6)))]  # fmt: skip
"""MIXED has four formats, of which PRX and QRY agree wholly; TWO has two."""
NEAR = [one.near for one in MODELS[0].spaces]


def made(**changes: Any) -> dict[str, Any]:
    return widget_.format_data(**{
        "papers": PAPERS, "models": MODELS, "links": LINKS, "about": "invented",
        "notebook": NOTEBOOK, "parameters": {"papers": "300", "paper": "{paper}"},
    } | changes)  # fmt: skip


BY_AGREEMENT = [f"p{at}" for at in made()["models"][0]["order"]]
MIDDLE = BY_AGREEMENT[N // 2]
"""Papers from those on which formats agree least to those on which most, and the one in the middle."""
REFUSED = [
    (lambda: made(models=[]), "models: none given"), (lambda: made(models=[MODELS[0]._replace(key="<b>")]), "without '<'"),
]  # fmt: skip


@pytest.fixture(scope="module")
def view() -> dict[str, Any]:
    return made()


# ---- what is counted -------------------------------------------------------------------------------------------------


def test_neighbours_are_the_nearest_by_euclidean_distance():
    from sklearn.neighbors import NearestNeighbors

    vectors = np.random.default_rng(0).normal(size=(80, 12)).astype(np.float32) + 50
    _, expected = NearestNeighbors(n_neighbors=K + 1, algorithm="brute").fit(vectors.astype(float)).kneighbors()
    assert np.array_equal(exhibit.neighbours(vectors, K), expected[:, :K])
    same = exhibit.neighbours(np.zeros((5, 2)), 3)
    assert same.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2]], "equal distances: by place"


def test_shared_and_overlap_against_sets():
    rng, p = np.random.default_rng(1), 0.9
    one, two = (np.array([rng.permutation(30)[:K] for _ in range(50)]) for _ in range(2))

    def slow(a, b):
        agree = [len({*a[:d]} & {*b[:d]}) / d for d in range(1, K + 1)]
        return agree[-1] * p**K + (1 - p) / p * sum(x * p**d for d, x in enumerate(agree, start=1))

    pairs = list(zip(one.tolist(), two.tolist(), strict=True))
    assert shared(one, two).tolist() == [len({*a} & {*b}) for a, b in pairs]
    assert np.allclose(exhibit.overlap(one, two), [slow(a, b) for a, b in pairs])
    assert np.allclose(exhibit.overlap(one, one), 1) and np.allclose(exhibit.overlap(one, one + 100), 0)
    swapped, ends = one[:, [1, 0, *range(2, K)]], one[:, [*range(K - 2), K - 1, K - 2]]
    assert (exhibit.overlap(one, swapped) < exhibit.overlap(one, ends)).all(), "the first ranks weigh more"
    assert (shared(one, swapped) == K).all()


def test_facts_by_hand_and_by_chance():
    few = [PaperView("a", 0, "A", "", 2000, "Art", 0), PaperView("b", 1, "B", "", 2002, "Art", 9),
           PaperView("c", 2, "C", "", 2010, "Law", 99), PaperView("d", 3, "D", "", 2000, "Art", 0)]  # fmt: skip
    links = [[1], [0], [], [2]]
    near = np.array([[1, 2], [3, 0], [0, 1], [0, 2]])
    found = {name: values.tolist() for name, values in facts(few, links, near).items()}
    assert found.pop("citations") == pytest.approx([1.5, 1, 1.5, 1])
    assert found == {"field": [1, 2, 0, 1], "linked": [1, 1, 0, 1], "years": [6, 2, 9, 5]}
    # every set of two others, of every paper: what a draw gives on average
    others = np.array([[j for j in range(4) if j != i] for i in range(4)])
    drawn = [facts(few, links, others[:, list(pair)]) for pair in combinations(range(3), 2)]
    for name, value in by_chance(few, links, 2).items():
        assert value == pytest.approx(np.mean([one[name].mean() for one in drawn])), name


def test_levels_hold_about_as_many_papers_each():
    years = [1995 + i % 24 for i in range(240)]
    cuts = widget_.edges(years)
    counts = np.bincount(np.searchsorted(cuts, years, side="right"))
    assert len(cuts) == 5 and counts.max() <= 2 * counts.min()
    for values, expected in (([3, 3], []), ([0] * 90 + [1], []), ([0] * 50 + [1] * 50, [1])):
        assert widget_.edges(values) == expected


def test_a_map_keeps_clusters_and_is_turned_to_the_first():
    group, rng = np.repeat([0, 1, 2], 30), np.random.default_rng(0)
    vectors = (np.eye(3)[group] * 20 + rng.normal(size=(90, 3))).astype(np.float32)
    first, second = exhibit.spaces({"CLF": vectors, "PRX": vectors[:, ::-1]}, seed=0)
    assert (group[exhibit.neighbours(first.places, K)] == group[:, None]).mean() > 0.99 and 0.4 < first.share <= 1
    assert np.array_equal(exhibit.project(vectors, 0), exhibit.project(vectors, 0)), "the same seed, the same map"
    turn = np.array([[np.cos(2.1), -np.sin(2.1)], [np.sin(2.1), np.cos(2.1)]]) @ np.diag([1, -1])
    assert np.allclose(exhibit.turned(first.places @ turn + 5, first.places), first.places - first.places.mean(axis=0))
    assert np.array_equal(exhibit.neighbours(second.places @ turn, K), exhibit.neighbours(second.places, K))


# ---- the data --------------------------------------------------------------------------------------------------------


def test_the_view_holds_what_was_given(view):
    mixed, two = view["models"]
    assert mixed["formats"] == list(FORMATS) and two["formats"] == ["CLF", "PRX"]
    assert mixed["shared"]["2|3"] == K and 0 < mixed["shared"]["0|1"] < K
    assert mixed["shared"]["0|1"] == round(float(shared(*NEAR[:2]).mean()), 4)
    places = np.array(mixed["places"][0])
    assert (places.min(), places.max(), places.shape) == (0, widget_.SIDE, (N, 2))
    totals = np.sum([shared(a, b) for a, b in combinations(NEAR, 2)], axis=0)
    assert np.all(np.diff(totals[mixed["order"]]) >= 0) and sorted(mixed["order"]) == list(range(N))
    frequent = [sum(p.field == name for p in PAPERS) for name in view["fields"]]
    assert frequent == sorted(frequent, reverse=True) and sum(frequent) == N
    assert view["colours"] == ["field", "year", "citations"] and view["asked"] == widget_.ASKED
    assert made()["key"] == view["key"] != made(about="other")["key"]
    assert max(len(row[3]) for row in view["papers"]) <= 340
    alike = made(papers=[p._replace(citations=3) for p in PAPERS])
    assert alike["colours"] == ["field", "year"], "nothing to tell apart by its colour"


def test_the_plain_twin_says_the_same(view):
    html = FormatExplorer(view, paper="p5").static_fallback()
    assert html.count('<tr><th scope="row">') == K + 6 + 4
    both = len({*NEAR[0][5].tolist()} & {*NEAR[1][5].tolist()})
    assert f'<th scope="row">CLF and RGN</th><td>{both}</td>' in html
    first = PAPERS[int(NEAR[0][5][0])]
    assert f"{first.title} ({first.field}, {first.year}, cited {first.citations} times)" in html


# ---- from an encoder to the page -------------------------------------------------------------------------------------


@dataclass
class Toy:
    """An encoder whose vectors say what a format is for: CLF the field, RGN year and citations, PRX and QRY the title."""

    collection: exhibit.Collection
    formats: tuple[str, ...] = FORMATS
    name: str = "toy"
    dim: int = 40
    recipe: Recipe = Recipe()  # noqa: RUF009

    @property
    def fingerprint(self) -> str:
        return stable_hash([self.name, self.formats, [p.paper_id for p in self.collection.views]])[:16]

    def encode(self, texts: list[str], format: str) -> np.ndarray:
        papers_ = {self.recipe.separator.join((p.title, p.text)): p for p in self.collection.views}
        return np.array([self.vector(papers_[text], text, format) for text in texts], dtype=np.float32)

    def vector(self, paper: PaperView, text: str, format: str) -> np.ndarray:
        def drawn(by):
            return np.random.default_rng(int(stable_hash(by)[:8], 16)).normal(size=self.dim)

        noise = drawn([text, format])
        if format == "RGN":
            numbers = [paper.year or 0, 3 * np.log(1 + (paper.citations or 0))]
            return 0.1 * noise + np.pad(numbers, (0, self.dim - 2))
        return 0.1 * noise + drawn(paper.field) if format == "CLF" else noise


@pytest.fixture(scope="module")
def collection():
    return exhibit.sample(400, 0, 120, 0)


@pytest.fixture
def chapter(tmp_path):
    given = {"data": "embedded", "papers": 400, "paper": 0, "seed": 0}
    return Chapter("scirepeval/specialisation", given, tmp_path, held=[])


@pytest.fixture
def looked(chapter, collection):
    return exhibit.look(chapter, {"Toy": Toy(collection), "Half": Toy(collection, ("CLF", "PRX"), "half")}, shown=120)


def test_a_sample_is_drawn_by_its_seed_with_what_the_literature_knows(collection):
    from scirep_core.data.sources import literature

    whole = literature(400, 0)
    assert exhibit.sample(400, 0, 120, 0) == collection != exhibit.sample(400, 0, 120, 1)
    numbers = [p.number for p in collection.views]
    assert len(numbers) == 120 and numbers == sorted(set(numbers)) and 0 not in numbers
    for links, paper in zip(collection.links, collection.views, strict=True):
        text, cited = whole.paper(paper.number), whole.cited_by.of(paper.number).tolist()
        assert (paper.paper_id, paper.title, paper.year) == (text.paper_id, text.title, text.year)
        assert paper.citations == len(cited)
        assert {numbers[j] for j in links} == {*whole.cites.of(paper.number).tolist(), *cited} & {*numbers}
    assert [p.number for p in exhibit.sample(400, 0, 400, 0).views] == list(range(1, 400)), "0 stands for none"
    missing = next(i for i in range(1, 400) if i not in numbers)
    with_it = [p.number for p in exhibit.sample(400, 0, 120, 0, missing).views]
    assert missing in with_it and len(with_it) == 120
    with pytest.raises(ConfigError, match="papers 0 to 399"):
        exhibit.sample(400, 0, 120, 0, 400)


def test_planted_vectors_are_seen_for_what_they_are_and_said_by_their_signs(chapter, collection, looked):
    looked = looked._replace(models=looked.models[:1])
    rows = exhibit.measure(chapter, looked, resamples=200)
    at = {(r.encoder, r.task.partition("/")[2], r.metric): r for r in rows}

    def value(format, metric):
        return at["Toy", format, metric].value

    assert value("CLF", "field") > 2 * value("RGN", "field") and value("RGN", "years") < 0.5 * value("CLF", "years")
    assert value("PRX", "years") == pytest.approx(at["ten papers at random", "all", "years"].value, rel=0.15)
    field = [p.field for p in collection.views]
    alone = np.mean([field.count(name) == 1 for name in field])  # nobody can tell these
    classified = "field by a linear classifier"
    assert value("CLF", classified) > 95 * (1 - alone) > 2 * value("PRX", classified)
    less = " less the other formats' mean"
    assert at["Toy", "CLF", f"field{less}"].low > 0 > at["Toy", "RGN", f"years{less}"].high
    assert value("PRX+QRY", "shared") < 3 and value("PRX+QRY", "overlap") < 0.3
    exhibit.overview(chapter, looked, rows)
    page = "\n".join(chapter.held)
    text = re.sub(r"<[^>]+>", "", page)
    assert "5 ahead, 1 behind, 0 not settled" in text and "ten papers at random" in text
    assert page.count("<strong>ahead</strong>") == 5
    assert {number.id for number in chapter.shown.values()} <= {row.id for row in rows}
    for low, high, name, format, verdict in (
        (-2, -1, "years", "RGN", "ahead"), (1, 2, "years", "RGN", "behind"), (-1, 2, "years", "RGN", "not settled"),
        (1, 2, "field", "CLF", "ahead"), (-2, -1, "linked", "PRX", "behind"),
    ):  # fmt: skip
        key = ("Toy", format, f"{name}{less}")
        other = {**at, key: replace(at[key], value=(low + high) / 2, low=low, high=high)}
        table, _ = exhibit.judged(chapter, looked.models[0], other)
        line = next(line for line in table.split("<tr>") if f'<th scope="row">{exhibit.LABELS[name]}</th>' in line)
        assert f"<strong>{verdict}</strong>" in line


def test_the_explorer_of_a_chapter(chapter, collection, looked):
    paper = collection.views[7]
    widget = exhibit.explorer(chapter, looked, paper=paper.number)
    assert widget.selection == {"paper": paper.paper_id, "colour": "field", "model": "Toy"}
    data = json.loads(widget.data)
    assert data["notebook"] == NOTEBOOK
    assert data["parameters"] == {"data": "embedded", "papers": "400", "seed": "0", "paper": "{paper}"}
    assert [m["formats"] for m in data["models"]] == [["CLF", "RGN", "PRX", "QRY"], ["CLF", "PRX"]]
    vectors = Toy(collection).encode([f"{p.title} [SEP] {p.text}" for p in collection.views], "CLF")
    assert np.array_equal(np.array(data["models"][0]["near"][0]), exhibit.neighbours(vectors, K))
    missing = next(i for i in range(1, 400) if i not in [p.number for p in collection.views])
    with pytest.raises(ConfigError, match=r"is not among .*give it to look"):
        exhibit.explorer(chapter, looked, paper=missing)
    with pytest.raises(ConfigError, match="one vector for all formats"):
        exhibit.look(chapter, {"MiniLM": "minilm"}, shown=120)


# ---- in the browser --------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser, tmp_path, view):
    return panel.opener(browser, tmp_path, lambda data=view, **chosen: FormatExplorer(data, **chosen))


def title(page):
    return page.locator(".sfx-title").inner_text()


def test_the_page_counts_what_python_counts(opened, view):
    page = opened(paper="p0")
    first = page.locator(".sfx-row").count()
    page.locator(".sfx-part button", has_text="Show").click()
    assert page.locator(".sfx-row").count() > first, "neighbours under one format alone are folded at first"
    each, chance = [facts(PAPERS, LINKS, near) for near in NEAR], view["chance"]
    for at in (0, 5, 41):
        choose(page, paper=f"p{at}")
        assert title(page) == PAPERS[at].title
        seen = [re.findall(r"\d+(?:\.\d)?", row) for row in page.locator(".sfx-agree tbody tr").all_inner_texts()]
        for column, row in combinations(range(4), 2):
            both = shared(NEAR[column], NEAR[row])
            assert seen[row - 1][2 * column : 2 * column + 2] == [str(both[at]), f"{both.mean():.1f}"], (row, column)
        lines = page.locator(".sfx-common tbody tr").all_inner_texts()
        told = [line.replace("\t", " ").split("apart")[-1] for line in lines]
        for line, (name, printed) in zip(told, {"field": ".0f", "linked": ".0f", "years": ".1f"}.items(), strict=False):
            wanted = [x for found in each for x in (f"{found[name][at]:{printed}}", f"{found[name].mean():.1f}")]
            assert re.findall(r"\d+(?:\.\d)?", line) == [*wanted, f"{chance[name]:.1f}"], name
        logs = [x for found in each for x in (found["citations"][at], found["citations"].mean())]
        logs.append(chance["citations"])
        assert re.findall(r"×(\d+\.\d)", told[3]) == [f"{10**x:.1f}" for x in logs]
        union = {int(i) for near in NEAR for i in near[at]}
        lines = page.locator(".sfx-row").all()
        rows = {int(r.get_attribute("data-i")): r.locator("td").all_inner_texts() for r in lines}
        ranks = {i: [[*near[at].tolist(), i].index(i) + 1 for near in NEAR] for i in union}
        assert rows == {i: [str(rank) if rank <= K else "–" for rank in of] for i, of in ranks.items()}
        inside = sum(max(of) <= K for of in ranks.values())
        said = page.locator(".sfx-verdict").inner_text()
        assert f"{inside} {'is' if inside == 1 else 'are'} the same under all 4; {len(union)} different papers" in said
        assert f"PRX–QRY {K}" in said or f"PRX–QRY share {K}" in said
    assert page.locator(".sfx-asked").count() == 4 and page.locator(".sfx-part").first.inner_text()[:5] == "Under"


def test_a_click_on_a_dot_or_a_neighbour_chooses_that_paper(opened):
    page = opened(paper="p0")
    for at in (17, 33):
        dot = page.locator(".sfx-map").nth(1).locator("svg > g").first.locator("circle").nth(at).bounding_box()
        spot = (dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
        page.mouse.move(*spot)
        tip = page.locator(".sfx-tip")
        assert tip.is_visible() and PAPERS[at].title in tip.inner_text() and str(PAPERS[at].year) in tip.inner_text()
        assert page.locator(".sfx-hot").count() == 4, "the same paper is ringed on every map"
        page.mouse.click(*spot)
        assert title(page) == PAPERS[at].title and selection(page)["paper"] == f"p{at}"
    row = page.locator(".sfx-row").nth(2)
    other = int(row.get_attribute("data-i"))
    row.locator("td").first.click()
    assert title(page) == PAPERS[other].title and page.evaluate("saved") >= 2
    assert selection(page)["paper"] == f"p{other}"
    assert page.evaluate("location.hash") == f"#formats=p{other},field,MIXED"
    back = page.get_by_role("button", name="Back", exact=True)
    for expected in (33, 17, 0):
        back.click()
        assert title(page) == PAPERS[expected].title
    assert back.is_disabled()
    page.mouse.move(5, 5)
    assert not page.locator(".sfx-tip").is_visible() and page.locator(".sfx-hot").count() == 0


def test_rings_colours_and_order_follow_their_controls(opened, view):
    page = opened(paper="p0")
    places, near = np.array(view["models"][0]["places"]), [of[0] for of in NEAR]
    maps, legend = page.locator(".sfx-map"), page.locator(".sfx-legend button")

    def ringed(side):
        spots = "rings => rings.map((c) => [+c.getAttribute('cx'), +c.getAttribute('cy')])"
        return {tuple(spot) for spot in maps.nth(side).locator(".sfx-ring").evaluate_all(spots)}

    def spots(side, of):
        return {tuple(places[side][i]) for i in near[of]}

    assert ringed(1) == spots(1, 1)
    page.get_by_role("button", name="CLF's 10").click()
    assert (ringed(1), ringed(0)) == (spots(1, 0), spots(0, 0))
    page.get_by_role("button", name="each format's own 10").click()
    assert ringed(1) == spots(1, 1)

    counts = [int(re.findall(r"\d+", field.get_attribute("title"))[0]) for field in legend.all()]
    assert sum(counts) == N and legend.first.inner_text() == view["fields"][0]
    other = ".sfx-map svg > g:first-child > circle:not(.sfx-on)"
    faded = f"getComputedStyle(document.querySelector('{other}')).opacity < 0.5"
    for fades in (True, False):
        legend.nth(1).click()
        page.mouse.move(5, 5)
        assert page.evaluate(faded) == fades, "the others fade, until the field is clicked again"
        if fades:
            second = sum(p.field == view["fields"][1] for p in PAPERS)
            assert maps.first.locator("circle.sfx-on").count() == second == counts[1]

    page.get_by_label("Colour dots by").select_option("year")
    dots = maps.first.locator("svg > g").first.locator("circle")
    for i in (0, 9, 30):
        level = sum(edge <= PAPERS[i].year for edge in view["levels"]["year"])
        assert dots.nth(i).get_attribute("data-c") == f"l{level}"
    assert selection(page)["colour"] == "year" and legend.first.inner_text().startswith("1995")

    page.locator(".sfx-around thead button", has_text="RGN").click()
    assert [int(r.get_attribute("data-i")) for r in page.locator(".sfx-row").all()][:K] == near[1].tolist()
    assert page.evaluate("document.activeElement.textContent") == "RGN", "the button keeps the keyboard"
    assert page.locator("[aria-sort=ascending]").inner_text() == "RGN"

    rare = next(i for i, p in enumerate(PAPERS) if view["fields"].index(p.field) >= 6)
    choose(page, paper=f"p{rare}", colour="field")
    assert legend.first.get_attribute("data-c") == dots.nth(rare).get_attribute("data-c") == "own"
    assert PAPERS[rare].field in legend.first.inner_text()


def test_keyboard_searches_walks_a_map_and_the_neighbours(opened, view):
    page = opened(paper="p17")
    active, keys = "document.activeElement", page.keyboard
    found, box = page.locator(".sfx-found"), page.get_by_label("Find a paper")
    box.focus()
    keys.type("for 17")
    assert found.is_visible() and box.get_attribute("aria-expanded") == "true"
    keys.press("ArrowDown")
    assert page.evaluate(f"document.getElementById({active}.getAttribute('aria-activedescendant')).dataset.i") == "17"
    keys.type("no such words")
    assert "No title has all these words" in found.inner_text()
    keys.press("Escape")
    assert not found.is_visible()

    map_ = page.locator(".sfx-map").nth(2)
    map_.focus()
    assert PAPERS[17].title in page.locator(".sfx-tip").inner_text()
    places, walked = np.array(view["models"][0]["places"][2]), [17]
    for key, axis, sign in (("ArrowRight", 0, 1), ("ArrowDown", 1, 1), ("ArrowLeft", 0, -1), ("ArrowUp", 1, -1)):
        keys.press(key)
        spot = "of => of.flatMap((c) => [+c.getAttribute('cx'), +c.getAttribute('cy')])"
        hot = map_.locator(".sfx-hot").evaluate_all(spot)
        now = next((i for i in range(N) if places[i].tolist() == hot), walked[-1])
        assert now == walked[-1] or sign * (places[now] - places[walked[-1]])[axis] > 0, key
        walked.append(now)
    assert len({*walked}) >= 3
    keys.press("Enter")
    assert title(page) == PAPERS[walked[-1]].title and page.evaluate(f"{active}.className") == "sfx-map"

    names = page.locator(".sfx-name")
    assert page.locator(".sfx-name[tabindex='0']").count() == 1, "one stop for the Tab key"
    names.first.focus()
    press(page, "ArrowDown j ArrowDown k")
    wanted = names.nth(2).inner_text()
    keys.press("Enter")
    assert title(page) == wanted and page.evaluate(f"{active}.classList.contains('sfx-name')")


def test_the_model_can_be_changed_and_each_is_told_of(opened, view):
    page = opened(paper="p3")
    means = {m["key"]: f"{np.mean(list(m['shared'].values())):.1f}" for m in view["models"]}
    verdict, model = page.locator(".sfx-verdict"), page.get_by_label("Model")
    told = f"two formats of MIXED share {means['MIXED']} and of TWO & more {means['TWO & more']}."
    assert told in verdict.inner_text()
    model.select_option("TWO & more")
    assert page.locator(".sfx-column").count() == 2 and page.locator(".sfx-cell").count() == 1
    assert "the same under all 2" in verdict.inner_text() and title(page) == PAPERS[3].title
    assert selection(page) == {"paper": "p3", "colour": "field", "model": "TWO & more"}
    model.select_option("MIXED")
    assert page.locator(".sfx-column").count() == 4
    assert opened(data=made(models=MODELS[:1])).get_by_label("Model").count() == 0, "nothing to choose, no control"


def test_the_command_follows_the_paper(opened):
    page = opened(paper="p3")
    command, begins = page.locator(".sfx-command code"), f"papermill {NOTEBOOK} out.ipynb -p papers 300"
    assert command.inner_text() == f"{begins} -p paper 103"
    page.get_by_label("Next paper").click()
    assert command.inner_text() == f"{begins} -p paper {PAPERS[int(selection(page)['paper'][1:])].number}"
    other = made(parameters={"note": "a b", "hue": "{colour}", "paper": "{paper}"}, notebook="notebooks/x.ipynb")
    page = opened(data=other, paper="p3", colour="year")
    wanted = "papermill notebooks/x.ipynb out.ipynb -p note 'a b' -p hue year -p paper 103"
    assert page.locator(".sfx-command code").inner_text() == wanted


def test_the_name_beside_a_dot_stays_inside_a_narrow_page(opened):
    page = opened(page_width=1200, width=390)
    for one in page.locator(".sfx-map").all():
        one.focus()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
