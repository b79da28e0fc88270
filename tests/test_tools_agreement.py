"""Agreement of linguistic tools: counted by hand on invented tools."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_altered import PAPERS, task

from scirep_core.data.perturbations.altered import Made, alter
from scirep_core.data.perturbations.changes import Text
from scirep_core.data.perturbations.linguistics import Tools, find_tools
from scirep_core.evaluators.changed import tools as tools_
from scirep_core.page.papers.neighbours import Subject


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
    one = Subject(task(), 0, 0, "fallback")
    rows = {(r.metric, r.split): r for r in tools_.measure(one.asked(), one.chosen)}
    papers = sum(bool(p.abstract) for p in PAPERS)
    rotated, other = rows["identical", "T_ARot"], rows["identical", "T_ASortAsc"]
    assert rotated.n == papers == 3 and rotated.value == pytest.approx(200 / 3)
    assert other.n == 3 and other.note.endswith("1 with one tool alone")
    assert rows["words_in_common", "T_ASortAsc"].n == 2
    assert rows["identical", "T_ASortDesc"].value == 100 == rows["same_tags", "all"].value
    assert all(r.encoder == "fallback" for r in rows.values())


def test_a_large_collection_is_drawn_from():
    many = Subject(task([replace_id(p, i) for i in range(300) for p in PAPERS]), 3, 0, "fallback")
    chosen = tools_.drawn(many.chosen, many.seed)
    assert len(chosen) == tools_.TEXTS == len(set(chosen)) and chosen == sorted(chosen, key=many.ids.index)
    few = Subject(task(), 3, 2, "fallback")
    assert tools_.drawn(few.chosen, few.seed) == few.chosen


def replace_id(paper, at: int):
    return paper._replace(paper_id=f"{paper.paper_id}{at}")
