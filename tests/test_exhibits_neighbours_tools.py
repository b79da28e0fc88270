"""Agreement of linguistic tools: counted by hand on invented tools, and what the page says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_altered import PAPERS, task
from test_exhibits_affinity import Page

from scirep_core.data.perturbations.altered import Made, alter
from scirep_core.data.perturbations.changes import Text
from scirep_core.data.perturbations.linguistics import Tools, find_tools
from scirep_core.exhibits import counting
from scirep_core.exhibits import neighbours_tools as tools_
from scirep_core.exhibits.neighbours_shared import Subject

CHAPTER = "neighbours/perturbations"


def tools(tags: dict[str, str], phrases: list[str], antonyms: dict[str, str], end: str = ".") -> Tools:
    return Tools(
        lambda text: [part.strip() + " " + end for part in text.split(end) if part.strip()], str.split,
        lambda tokens: [tags.get(token, "X") for token in tokens], lambda tokens: [p for p in phrases if p in " ".join(tokens)],
        antonyms.get, {"tags": "NLTK"},
    )  # fmt: skip


ONE = tools(
    {"big": "ADJ", "model": "NOUN", "runs": "VERB", "old": "ADJ"},
    ["big model", "old idea"],
    {"big": "small", "old": "new"},
)
OTHER = tools({"big": "ADJ", "model": "VERB", "runs": "VERB"}, ["big model"], {"big": "little"})


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))


def share(found: tools_.Compared, metric: str, split: str = "all") -> tuple[float, float]:
    top, below = found.shares[metric, split]
    return float(top.sum()), float(below.sum())


def test_each_share_is_counted_on_the_references_tokens():
    found = tools_.compare(["big model runs . old idea runs", "", "big model"], ONE, OTHER)
    assert found.texts == 2, "an empty abstract is left out"
    assert share(found, "same_sentences") == share(found, "same_tokens") == (2, 2)
    # tokens: big model runs . old idea runs . | big model . : model (twice) and old have another tag
    assert share(found, "same_tags") == (8, 11)
    assert share(found, "precision", "VERB") == (2, 4) and share(found, "recall", "VERB") == (2, 2)
    assert share(found, "precision", "NOUN") == (0, 0) and share(found, "recall", "NOUN") == (0, 2)
    assert share(found, "phrase_precision") == (2, 2) and share(found, "phrase_recall") == (2, 3)
    assert share(found, "phrase_f1") == (4, 5)
    assert share(found, "same_antonyms") == (0, 3) and share(found, "opposites_found") == (2, 3)
    split = tools_.compare(["big ; model"], ONE, replace(OTHER, sentences=lambda text: text.split(";")))
    assert share(split, "same_sentences") == (0, 1)


def test_words_in_common_counts_each_word_as_often_as_it_stands():
    assert tools_.words_in_common(Text("a b", "c c"), Text("b", "c d")) == pytest.approx(2 * 2 / 7)
    assert tools_.words_in_common(Text("", ""), Text("", "")) == 1
    assert tools_.words_in_common(Text("a", ""), Text("", "")) == 0


def test_by_code_identical_neighbours_are_shares_of_the_papers_with_any(monkeypatch):
    def both(given, papers, seed, tools, progress):
        made = alter(given, papers, seed=seed, tools="fallback")
        if tools == "fallback":
            return made
        rotated = made.by_code["T_ARot"]
        texts = (Text("another title", rotated.texts[0].abstract), *rotated.texts[1:])
        by_code = made.by_code | {
            "T_ARot": replace(rotated, texts=texts),
            "T_ASortAsc": replace(made.by_code["T_ASortAsc"], ids=rotated.ids[1:], texts=rotated.texts[1:]),
        }
        return Made(by_code, made.tools)

    monkeypatch.setattr(tools_, "alter", both)
    monkeypatch.setattr(tools_, "reference", lambda: (find_tools("fallback"), ""))
    rows = {(r.metric, r.split): r for r in tools_.measure(Subject(task(), 0, 0, "fallback"))}
    papers = sum(bool(p.abstract) for p in PAPERS)
    one, other = rows["identical", "T_ARot"], rows["identical", "T_ASortAsc"]
    assert one.n == papers == 3 and one.value == pytest.approx(200 / 3)
    assert other.n == 3 and other.note.endswith("1 with one tool alone")
    assert rows["words_in_common", "T_ASortAsc"].n == 2
    assert rows["identical", "T_ASortDesc"].value == 100 == rows["same_tags", "all"].value
    assert all(r.encoder == "fallback" for r in rows.values())


def test_a_large_collection_is_drawn_from():
    many = Subject(task([replace_id(p, i) for i in range(300) for p in PAPERS]), 3, 0, "fallback")
    chosen = tools_.drawn(many)
    assert len(chosen) == tools_.TEXTS == len(set(chosen)) and chosen == sorted(chosen, key=many.ids.index)
    assert tools_.drawn(Subject(task(), 3, 2, "fallback")) == Subject(task(), 3, 2, "fallback").chosen


def replace_id(paper, at: int):
    return paper._replace(paper_id=f"{paper.paper_id}{at}")


def rows_of(identical: dict[str, float], common: dict[str, float], kind: str = "live"):
    asked = Subject(task(), 0, 0, "fallback").asked()
    return [
        replace(asked.row(metric, value, 40, code, encoder="fallback", low=value - 1, high=value + 1), kind=kind)
        for metric, values in (("identical", identical), ("words_in_common", common))
        for code, value in values.items()
    ]


def page(monkeypatch, rows, recorded=(), why="") -> Page:
    shown = Page()
    shown.name = CHAPTER
    monkeypatch.setattr(counting, "recorded", lambda name: list(recorded))
    monkeypatch.setattr(tools_, "reference", lambda: (None, why) if why else (ONE, ""))
    tools_.show(shown, rows)
    return shown


def test_what_is_said_of_codes_follows_from_the_shares(monkeypatch):
    rows = rows_of({"T_ARot": 97, "T_ADelNN": 20, "T_ADelADJ": 60}, {"T_ARot": 99, "T_ADelNN": 70, "T_ADelADJ": 96})
    said = page(monkeypatch, rows).text
    assert "1 of 3 codes come out identical for at least 95 % of the papers, 1 for fewer than half." in said
    assert "2 of 3 are at least 95 % the same text; least is T_ADelNN with 70.0 % of the words in common." in said
    other = page(monkeypatch, rows_of({"T_ARot": 97, "T_ADelNN": 98}, {"T_ARot": 60, "T_ADelNN": 99})).text
    assert (
        "2 of 2 codes come out identical" in other and ", 0 for fewer than half" in other and "least is T_ARot" in other
    )


def test_without_nltk_the_recorded_numbers_stand_and_the_page_says_so(monkeypatch):
    kept = rows_of({"T_ARot": 91}, {"T_ARot": 92}, "recorded")
    said = page(monkeypatch, [], kept, "NLTK has no data for tags. Get them by X").text
    assert "cannot be measured in this run: NLTK has no data for tags. Get them by X." in said
    assert "The numbers below are our recorded run." in said and "91.0" in said and "Recorded, " in said
    alone = page(monkeypatch, [], [], "NLTK has no data").text
    assert "No run of ours was recorded yet." in alone and "<table" not in alone
    both = page(
        monkeypatch, rows_of({"T_ARot": 97}, {"T_ARot": 99}), [replace(r, data_hash="other") for r in kept]
    ).text
    assert both.index("Recorded, ") < both.index("Live, ") and "cannot be measured" not in both
