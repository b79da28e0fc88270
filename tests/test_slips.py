"""Chapter beyond/slips: every item's check finds it, would not find it in a corrected table, and is worded with care."""

from __future__ import annotations

import html
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromium as installed
import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from scirep_core.data import perturbations
from scirep_core.data.perturbations import changes
from scirep_core.evaluators import neighbourhoods
from scirep_core.evaluators.probes import paper_probes
from scirep_core.kit.errors import ConfigError
from scirep_core.page import slip_rules
from scirep_core.page import slips as on_page
from scirep_core.page.blocks import fold
from scirep_core.page.chapter import Chapter
from scirep_core.page.slips import RULES
from scirep_core.results import Result, published, slips
from scirep_core.results.published import Printed, lookup
from scirep_core.results.slips import KINDS, PAPERS, Evidence, Slip, cells, make, number

SLIPS, RIGHT, KNOWN = slips.register()
BY_ID = {slip.id: slip for slip in SLIPS}
Change = Mapping[str, str]
"""Place (exhibit | rows | columns) -> what is printed there instead."""


@pytest.fixture()
def corrected(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    real = published.table

    def correct(change: Change) -> None:
        places = {place: cells(place) for place in change}
        assert all(places.values())
        new = {(p.exhibit, p.row, p.column): change[place] for place, found in places.items() for p in found}

        def table(exhibit: str) -> tuple[Printed, ...]:
            return tuple(p._replace(value=new.get((exhibit, p.row, p.column), p.value)) for p in real(exhibit))

        monkeypatch.setattr(published, "table", table)

    return correct


def check(item: Slip) -> Evidence:
    return item.check(RULES, 0)


# ---- the register ----------------------------------------------------------------------------------------------------

EVERY = (*SLIPS, *RIGHT)
BLAME = ("Mysore|O.Gorman|McCallum|Zamani|Singh|Arcy|Cohan|Downey|Feldman|Zhang|Cheng|Shen|Liu|Wang|Gao|Han|Medić|Timkey|"
         "the authors|careless|sloppy|wrongly|mistake|blunder|unfortunately|obviously|clearly")  # fmt: skip
MADE: dict[str, float] = {}
"""The rows of one build by id: each has one value."""


def test_forty_items_or_more_of_five_papers_four_of_each_and_every_kind() -> None:
    assert len(SLIPS) >= 40
    assert len(BY_ID) == len(SLIPS) and not BY_ID.keys() & {one.id for one in RIGHT}
    count = Counter(slip.paper for slip in SLIPS)
    assert count.keys() == PAPERS.keys() and min(count.values()) >= 4
    assert {slip.kind for slip in SLIPS} == set(KINDS)
    assert {one.paper for one in RIGHT} == {one.paper for one in KNOWN} == PAPERS.keys()
    assert all(one.source for one in KNOWN)


@pytest.mark.parametrize("item", EVERY, ids=lambda item: item.id)
def test_check_holds_and_shows_exactly_the_numbers_of_its_evidence(item: Slip) -> None:
    found = check(item)
    assert found.holds is True
    named = {name for text in (item.says, item.shows, item.matters) for name in on_page.fields(text)}
    assert named == found.printed.keys() | found.made.keys()
    assert not found.printed.keys() & found.made.keys()
    for printed in found.printed.values():
        assert lookup(printed.exhibit)[printed.row, printed.column] == printed
    for row in found.made.values():
        assert MADE.setdefault(row.id, row.value) == row.value, row.id


def test_a_slip_weighs_what_its_comment_begins_with() -> None:
    assert {slip.weight for slip in SLIPS} == {"yes", "in part", "no"}
    for matters, said in (("Perhaps.", r"Perhaps.*Yes, In part, No"), ("Nobody minds.", "begins with none")):
        with pytest.raises(ConfigError, match=said):
            _ = replace(SLIPS[0], matters=matters).weight


def test_wording_names_nobody_and_shouts_at_nobody() -> None:
    for slip in SLIPS:
        text = f"{slip.says} {slip.shows} {slip.matters}"
        assert not re.search(rf"\b(?:{BLAME})\b", text, re.IGNORECASE), slip.id
        assert "—" not in text and text.count(". ") <= 8
        assert all(part.endswith(".") for part in (slip.matters, slip.says, slip.shows))


# ---- the general checks ----------------------------------------------------------------------------------------------

A, B = [3.0, 1.0, 2.0, 5.0], [1.0, 1.0, 4.0, 2.0]
BY_HAND = {
    "sum": 11, "product": 30, "mean": 2.75, "lowest": 1, "highest": 5, "cells": 4, "rises": 2, "difference": 3, "ratio": 11 / 8,
    "mean ratio": 1.75, "median ratio": 1.75, "lowest ratio": 0.5, "highest ratio": 3, "above": 2, "below": 1, "not above": 2,
    "not below": 3, "equal": 1, "differ": 3, "apart": 7, "least gap": -2, "largest gap": 3,
}  # fmt: skip


def value(by: str, **how: object) -> float:
    return number(make({"by": by, **how}))


@pytest.mark.parametrize("by", slips.CHECKS)
def test_a_check_by_hand_and_it_moves_with_its_numbers(by: str) -> None:
    sides = {"a": A} if by in ("sum", "product", "mean", "lowest", "highest", "cells", "rises") else {"a": A, "b": B}
    assert value(by, **sides) == pytest.approx(BY_HAND[by])
    others = ([9.0, 1.0, 2.0, 5.0], [0.1, 0.2, 0.3, 0.4], [1.0, 1.0, 4.0, 2.0, 7.0])
    moved = [value(by, **{**sides, "a": other[: len(A) + (len(sides) == 1)]}) for other in others]
    assert any(other != value(by, **sides) for other in moved)
    if "b" in sides:  # one number stands for all
        assert value(by, a=A, b=2) == value(by, a=A, b=[2] * (1 if by in ("difference", "ratio") else 4))


def test_means_of_parts_and_what_a_part_would_have_to_be() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        parts, weights = rng.integers(0, 100, (3, 5)).astype(float), rng.integers(1, 9, 3)
        means = weights @ parts / weights.sum()
        how = {"parts": parts.tolist(), "weights": weights.tolist(), "slack": 0.1}
        for gap in (0.0, 0.3):
            means[2] += gap
            off, right, worst = (
                value(by, a=means.tolist(), **how) for by in ("means off", "means right", "worst mean")
            )
            assert (off, right, worst) == (gap > 0, 5 - (gap > 0), pytest.approx(gap, abs=1e-9))
        column = [*parts[:, 0]]
        found = value("part", a=[means[0]], b=[column[0], 999.0, column[2]], weights=weights.tolist(), which=1)
        assert found == pytest.approx(column[1])
    turned = {"parts": [[1.0, 2.0, 3.0]], "weights": [1]}
    assert [value("turned", a=a, **turned) for a in ([1, 2, 3], [1, 3, 2], [3, 2, 1])] == [0, 1, 3]


def test_rivals_places_and_texts_follow_the_print(corrected: Callable[[Change], None]) -> None:
    beside = {"a": "CS-T4 | SPECTER-ID | all/*", "b": "CS-T4 | * | all/*"}
    lists = {"a": "TN-T1 | * | category"}

    def values() -> list[float]:
        rivals = [value(by, **beside, along="column") for by in ("above all", "below all", "none above")]
        return [*rivals, value("worst place", **beside), *(value(by, text=text, **lists)
                for by, text in (("printed as", "LO-PS"), ("holding", "LO")))]  # fmt: skip

    before = values()
    assert before[:4] == [5, 0, 5, 1]
    corrected({"CS-T4 | SPECTER-ID | all/p@20": "0.01", "CS-T4 | SPECTER | all/ndcg%20": "57.22",
               "TN-T1 | T_ADelDT | category": "LO-PS"})  # fmt: skip
    assert values() == [3, 1, 4, 10, before[4] + 1, before[5]]
    recorded = {"a": "CS-T2 | * | *", "chapter": "csfcube/agreement", "task": "csfcube/{row}", "metric": "{column}"}
    assert value("as recorded", **recorded) == 23


def test_every_check_relation_and_rule_is_used() -> None:
    others = {"part", "worst place", "printed as", "holding", "as recorded", "recorded"}
    made = [how for item in EVERY for how in item.made.values()]
    assert {how["by"] for how in made} == {*slips.CHECKS, *slips.MEANS, *slips.RIVALS, *others}
    assert {how["along"] for how in made if "along" in how} == set(slips.ALONG)
    assert {relation.split(" ")[-2] for item in EVERY for relation in item.holds} == set(slips.RELATIONS)
    assert {item.rule for item in EVERY} - {""} == set(RULES)


@pytest.mark.parametrize(("relation", "true"), [
    ("rho cuts found", True), ("rho rounds found", False), ("rho not rounds found", True), ("rho > 0.44", True),
    ("rho > 0.45", False),
    ("rho >= 0.45", True), ("rho < 0.45", False), ("rho <= 0.45", True), ("rho == 0.45", True), ("rho != 0.45", False),
    ("size within hub", True), ("rho within hub", False), ("text is nDCG", True), ("text is ndcg", False), ("text has DC", True),
    ("text not has DC", False),
])  # fmt: skip
def test_relations(relation: str, true: bool) -> None:
    values = {name: Printed("p", "e", "r", "c", text, "", "") for name, text in
              {"rho": "0.45", "hub": "58.3k", "size": "58255", "text": "nDCG"}.items()}  # fmt: skip
    assert slips._holds(relation, {**values, "found": 0.45532994}) is true


@pytest.mark.parametrize(("item", "text"), [
    ({"made": {"x": {"by": "abve", "a": [1], "b": [2]}}}, "did you mean 'above'"),
    ({"made": {"x": {"by": "sum", "a": "cel"}}, "printed": {"cell": "CS-T4 | SPECTER | all/p@20"}}, "did you mean 'cell'"),
    ({"printed": {"cell": "CS-T4 | SPECTER | all/*"}}, "is 5 printed numbers, not one"),
    ({"printed": {"cell": "CS-T4 | SPECTRE | all/p@20"}}, "is 0 printed numbers, not one"),
    ({"holds": ["x above y"]}, "is no relation"),
    ({"made": {"x": {"by": "recorded", "chapter": "csfcube/errors", "task": "t", "metric": "m"}}}, "record the chapter again"),
])  # fmt: skip
def test_a_wrong_entry_is_named(item: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        check(Slip("an-id", "csfcube", "Table 1", "it shows", **item))  # type: ignore[arg-type]


# ---- every check can fail --------------------------------------------------------------------------------------------

SHARES = {"CLF": 2, "RGN": 2, "PRX": 2, "SRCH": 1}
"""Tasks of a format in training, of seven."""
COMPUTED: dict[str, Change] = {
    "v2-counted-twice": {
        f"V2-T2 | {inside.row} | Average": f"{(7 * inside.number + 16 * outside.number) / 23:.1f}"
        for inside, outside in zip(cells("V2-T2 | * | In-Train"), cells("V2-T2 | * | Out-of-Train"), strict=True)},
    "v2-in-train-column": {
        f"V2-T11 | {p.row} | In-Train/Avg":
            f"{sum(n * lookup('V2-T11')[p.row, f'In-Train/{name}'].number for name, n in SHARES.items()) / 7:.1f}"
        for p in cells("V2-T11 | !appendix* | In-Train/Avg")},
    "tn-normalised": {f"TN-T9 | {p.row} | {p.column}": lookup("TN-T3")[p.row, p.column.replace("L2/", "Task I/")].value
                      for p in cells("TN-T9 | * | L2/*")},
}  # fmt: skip
CHANGES = tomllib.loads(Path(__file__).with_name("slips.toml").read_text(encoding="utf-8"))
CORRECT: dict[str, Change] = CHANGES["correct"] | COMPUTED
"""What would have to be printed, for the item not to be one."""


def bold(exhibit: str) -> tuple[Printed, ...]:
    """A table in which the highest number of a row under each foot is in bold."""
    top: dict[tuple[str, str], float] = {}
    for p in TABLE(exhibit):
        place = p.row, p.column.rpartition("/")[2]
        top[place] = max(top.get(place, 0.0), p.number)
    notes = (p.number == top[p.row, p.column.rpartition("/")[2]] for p in TABLE(exhibit))
    return tuple(p._replace(note="printed in bold" * best) for p, best in zip(TABLE(exhibit), notes, strict=True))


def stages(exhibit: str) -> tuple[Printed, ...]:
    stage = TABLE("SM-C8")[0]._replace(column="epochs of the first stage")
    return (*TABLE(exhibit), *([stage] if exhibit == "SM-C8" else []))


def drawn(y: np.ndarray, setting: object, seed: int, said: object) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        yield np.concatenate([rng.choice(np.flatnonzero(y == label), 16, replace=False) for label in (0, 1)])


def same_overlaps(*given: object) -> object:
    return {k: one._replace(without_self=one.with_self) for k, one in OVERLAPS(*given).items()}  # type: ignore[arg-type]


def usual(ratings: np.ndarray, k: int) -> float:
    return float(ndcg_score([ratings], [np.arange(len(ratings), 0, -1)]))


TABLE, OVERLAPS, RECORDED = published.table, neighbourhoods.overlaps, slips.recorded
DRAWN = (paper_probes, "shots", drawn)
CODES = (perturbations, "LITERAL", {"T_A_WS": changes.widen, "T_ADelRand": changes.delete_random})
OTHERWISE: dict[str, tuple[object, str, object]] = {
    "v2-bold": (published, "table", bold), "sm-stages": (published, "table", stages), "v2-unshuffled": DRAWN, "v2-k-shot": DRAWN,
    "tn-white-space-code": CODES, "tn-random-code": CODES, "tn-own-vector": (neighbourhoods, "overlaps", same_overlaps),
    "cs-scale": (slips, "recorded", lambda name: [replace(row, value=0.0) for row in RECORDED(name)]),
    "cs-pools": (slips, "recorded", lambda name: [replace(row, coverage=1.0) for row in RECORDED(name)]),
    "cs-ndcg-form": (slip_rules.metrics, "ndcg", usual),
}  # fmt: skip
"""Items of which another code, recording or list of numbers would be right -> what then stands in its place."""


@pytest.mark.parametrize("item", [one for one in EVERY if one.id not in OTHERWISE], ids=lambda item: item.id)
def test_another_print_is_answered_otherwise(item: Slip, corrected: Callable[[Change], None]) -> None:
    corrected((CORRECT | CHANGES["wrong"])[item.id])
    assert check(item).holds is False


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_the_text_says_is_no_slip(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*OTHERWISE[name])
    assert check(BY_ID[name]).holds is False


# ---- the page --------------------------------------------------------------------------------------------------------


@pytest.fixture()
def chapter(tmp_path: Path) -> Chapter:
    """A chapter that collects what it shows in `chapter.held`."""
    return Chapter("beyond/slips", {"seed": 3}, tmp_path, held=[])


def text_of(shown: list[str]) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", " ".join(shown))))


def test_a_card_circles_what_the_numbers_say_and_is_gone_with_its_slip(
    chapter: Chapter, corrected: Callable[[Change], None]
) -> None:
    page, shown = chapter, chapter.held
    slip, columns = BY_ID["cs-bm25-tfidf"], {"one": "CS-T4 | fabs_tfidf; fabs_bm25 | all/r_precision_published"}

    def circled() -> int:
        shown.clear()
        found = on_page.check(page, [slip], 3)
        on_page.card(page, slip, found, "{bm25} < x", columns, lambda row: ["one"] if row["one"] < 14 else [])
        return " ".join(shown).count("circled")

    assert circled() == 1 and f'id="slip-{slip.id}"' in shown[0]
    assert "In R-Precision it is behind, 13.50 against 14.59 aggregated" in text_of(shown)
    corrected(
        {f"CS-T4 | fabs_{row} | all/r_precision_published": to for row, to in (("bm25", "13.40"), ("tfidf", "13.90"))}
    )
    assert circled() == 2
    corrected(CORRECT[slip.id])
    assert circled() == 0 and shown == []


def test_every_slip_can_be_searched_and_links_its_numbers(chapter: Chapter) -> None:
    found = on_page.check(chapter, SLIPS, 3)
    table = on_page.searchable(chapter, SLIPS, found)
    assert all(f'id="slip-{slip.id}"' in table for slip in SLIPS) and table.count("<tr data-paper=") == len(SLIPS)
    assert "{" not in text_of([table]) and "nan" not in text_of([table])
    chapter.finish()
    drawn = [row for row in chapter.shown.values() if isinstance(row, Result) and row.kind == "live"]
    assert {row.seed for row in drawn if row.seed is not None} == {3}
    assert "50 < AOP-20 < 70" in text_of(chapter.held)


@pytest.mark.site
def test_a_link_opens_the_fold_of_a_slip_and_papers_and_kinds_are_chosen(
    chapter: Chapter, chromium: Any, tmp_path: Path
) -> None:
    """What the form does is tested in test_coverage.py, on the page of exhibits."""
    script = (published.FOLDER.parents[2] / "book" / "_static" / "coverage.js").read_text()
    body = fold("all", on_page.searchable(chapter, SLIPS, on_page.check(chapter, SLIPS, 0)))
    path = tmp_path / "slips.html"
    head = f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><script>{script}</script></head>'
    path.write_text(f"{head}<body><section>{body}</section></body></html>")
    with installed.tab(chromium, path.as_uri()) as tab:
        assert tab.open("#slip-tn-letters") == []
        rows = tab.page.locator("tbody tr:visible")
        assert rows.count() == len(SLIPS)
        tab.page.locator("select[name=paper]").select_option("scimult")
        tab.page.locator("select[name=kind]").select_option(label="not stated")
        assert rows.count() == sum(slip.paper == "scimult" and slip.kind == "not stated" for slip in SLIPS)
        tab.page.get_by_label("Search").fill("no such word")
        assert rows.count() == 0 and tab.page.get_by_label("Search").is_visible()  # the box is not hidden with its rows
