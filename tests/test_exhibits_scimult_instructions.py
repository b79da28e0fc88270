"""Chapter `scimult/link_prediction`: Tables A6 and A7 decided by digits; one model told seven sentences, as its words follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_scimult import searched, small_page, told_by, words

from scirep_core.bench import scoring
from scirep_core.data.task import Judged, Qrel, Task
from scirep_core.encoders.conditioning.prefix import INSTRUCTIONS
from scirep_core.evaluators import inputs
from scirep_core.exhibits import counting
from scirep_core.exhibits import scimult_instructions as exhibits
from scirep_core.exhibits.scimult_shared import TABLES
from scirep_core.kit.records import Paper
from scirep_core.results import Result
from scirep_core.results.differences import difference_of, measured
from scirep_core.results.published import lookup

TEXTS = {f"p{i}": f"w{i} w{i * i % 7} w{i * 3 % 5}" for i in range(12)}
PAPERS = tuple(Paper(key, text, "") for key, text in TEXTS.items())
OWN = {task: INSTRUCTIONS[task] for task in ("search", "link", "classification")}
Told = Mapping[tuple[str, str, str], Result]


def encoder(**changed: str) -> Any:
    return told_by(OWN | changed, tuple(TEXTS.values()), tuple(exhibits.SENTENCES.values()))


def tasks() -> list[Task]:
    """Every task of Tables 5 and 7, small: three pools and five sets of candidates."""
    keys, made = list(TEXTS), []
    for i, name in enumerate(dict.fromkeys(task for table in exhibits.AVERAGED for task, _ in TABLES[table])):
        asked = keys[i : i + 4]
        if any((name, "recall@20") in TABLES[table] for table in exhibits.AVERAGED):
            relevant = {q: {keys[(keys.index(q) + 3) % 12]: 1} for q in asked}
            made.append(searched(relevant, keys, name=name, texts=lambda: PAPERS, similarity="dot"))
            continue
        rows = tuple(Qrel(q, c, int(j % 3 == 0) * (1 + j % 2)) for q in asked for j, c in enumerate(keys) if c != q)
        made.append(Task(name, "proximity", "PRX", ("map",), Judged(rows), "embedded", "0" * 16, texts=lambda: PAPERS))
    return made


@pytest.fixture(scope="module")
def rows() -> list[Result]:
    return list(exhibits.told(encoder(), tasks()))


# ---- print -----------------------------------------------------------------------------------------------------------


def test_printed_instructions_are_compared_pair_by_pair():
    exhibits.printed(page := small_page())
    said = words(page.text)
    assert (
        "Co-view: Cite, Co-read: Co-cite, Cite: Co-cite, Co-cite: Cite. It is the one for its own kind in 0 of 4"
        in said
    )
    assert "in most cases: in 15 of 16 comparisons" in said
    assert "0.40 points (Link Prediction (Retrieval)) and 0.04 points (Link Prediction (Reranking))" in said


def test_the_sentences_are_those_of_the_tables_and_tea_has_as_many_words_as_the_trained_one():
    assert lookup("SM-T1")["Link Prediction", "instruction"].value == exhibits.SENTENCES[exhibits.TRAINED]
    assert lookup("SM-T1")["Search", "instruction"].value == exhibits.SENTENCES[exhibits.SEARCHES]
    named = {f"{name} Instruction" for name in exhibits.SENTENCES if name not in exhibits.CONTROLS}
    assert named == {column for table in ("SM-TA6", "SM-TA7") for _, column in lookup(table)}
    assert {f"{link} Prediction" for link in exhibits.LINKS.values()} == {row for row, _ in lookup("SM-TA6")}
    assert set(exhibits.AVERAGED.values()) == {row for row, _ in lookup("SM-TA7")}
    lengths = {name: len(text.split()) for name, text in exhibits.SENTENCES.items()}
    assert lengths[exhibits.TEA] == lengths[exhibits.TRAINED] == 12
    assert len(set(exhibits.SENTENCES.values())) == 7


# ---- measuring -------------------------------------------------------------------------------------------------------


def test_every_sentence_has_the_scores_of_a_model_made_with_it(rows):
    found = {(row.task, row.encoder, row.metric): row for row in rows}
    for name, sentence in exhibits.SENTENCES.items():
        made, label = encoder(link=sentence), exhibits.label(name)
        cells = {
            (task.name, row.metric): row.value
            for task in tasks()
            for row in scoring.evaluate(
                task, inputs.vectors_of(task, made), metrics=[m for t in exhibits.AVERAGED for k, m in TABLES[t] if k == task.name],
                similarity="dot",
            )
        }  # fmt: skip
        for task in exhibits.LINKS:
            assert found[task, label, "map"].value == pytest.approx(cells[task, "map"]), (name, task)
        for table, columns in ((table, TABLES[table]) for table in exhibits.AVERAGED):
            row = found[f"scimult/{table}", label, "average"]
            assert row.value == pytest.approx(sum(cells[key] for key in columns) / len(columns)), (name, table)
            assert row.n == len(columns)
    assert len({round(found["scimult/SM-T7", exhibits.label(n), "average"].value, 6) for n in exhibits.SENTENCES}) > 3


def test_differences_are_from_the_trained_sentence_and_lie_in_their_intervals(rows):
    found = {(row.task, row.encoder, row.metric): row for row in rows}
    gaps = [row for row in rows if row.against]
    assert len(gaps) == 6 * (len(exhibits.LINKS) + len(exhibits.AVERAGED))
    for gap in gaps:
        metric = measured(gap.metric).partition(",")[0]
        trained = found[gap.task, exhibits.label(exhibits.TRAINED), metric]
        assert gap.value == pytest.approx(found[gap.task, gap.encoder, metric].value - trained.value)
        assert gap.low is not None and gap.high is not None and gap.low - 1e-6 <= gap.value <= gap.high + 1e-6
    assert any(gap.value for gap in gaps)


def test_how_far_vectors_move_is_counted_over_texts_and_over_pairs(rows):
    found = {(row.encoder, row.metric): row.value for row in rows if row.task == exhibits.ALL}
    trained = encoder().encode(list(TEXTS.values()), "PRX").astype(float)
    tea = encoder(link=exhibits.SENTENCES[exhibits.TEA]).encode(list(TEXTS.values()), "PRX").astype(float)

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    moved = np.mean([cosine(a, b) for a, b in zip(trained, tea, strict=True)])
    apart = np.mean([cosine(a, b) for a, b in permutations(trained, 2)])
    assert found[exhibits.label(exhibits.TEA), exhibits.COSINE] == pytest.approx(moved, abs=1e-5)
    assert found[exhibits.label(exhibits.TRAINED), exhibits.APART] == pytest.approx(apart, abs=1e-5)
    assert found[exhibits.label(exhibits.TEA), exhibits.PIECES] == 13  # with the full stop
    assert (exhibits.label(exhibits.TRAINED), exhibits.COSINE) not in found


def test_the_model_is_the_live_studys_and_nothing_is_trained_on_real_data(monkeypatch):
    asked: dict[str, Any] = {}

    def obtain(name: str, seed: int, given: Any, on: str) -> list[SimpleNamespace]:
        asked.update(name=name, seed=seed, papers=given.papers, steps=given.train["steps"], on=on)
        return [SimpleNamespace(encoder="folder")]

    monkeypatch.setattr(exhibits, "obtain", obtain)
    monkeypatch.setattr(exhibits, "load_encoder", lambda name: encoder())
    monkeypatch.setattr(counting, "gather", lambda page, names: counting.Gathered({t.name: t for t in tasks()}, {}))
    found = exhibits.measure(small_page(papers=500, steps=7))
    assert asked == {"name": "SciMult Instruction", "seed": 0, "papers": 500, "steps": 7, "on": "embedded untrained"}
    assert len({row.id for row in found}) == len(found) == 7 * 6 + 6 * 6 + 7 + 6 + 1
    assert all(row.replicates is None and not row.by_query for row in found)
    asked.clear()
    for data in ("real", "some/folder"):
        exhibits.show(page := small_page(data=data), exhibits.measure(page))
        assert asked == {}
        assert "-p data embedded" in page.text


# ---- showing ---------------------------------------------------------------------------------------------------------


def test_ours_stands_beside_the_print_and_the_words_follow_the_rows(rows):
    exhibits.show(page := small_page(), rows)
    said = words(page.text)
    assert "Boil the water" in said and said.count("81.47") == said.count("49.35") == 1
    gaps = [row for row in rows if row.metric == difference_of(f"map, {exhibits.GAP}")]
    ups = sum((row.low or 0) > 0 for row in gaps)
    assert f"of 24 differences in MAP from the trained sentence {ups} are settled above 0" in said
    assert "about 1.2 leave out 0 by chance" in said
    maps = {(row.task, row.encoder): row.value for row in rows if row.metric == "map"}
    four = ("Co-view", "Co-read", "Cite", "Co-cite")
    best = {link: max(four, key=lambda n, t=task: maps[t, exhibits.label(n)]) for task, link in exhibits.LINKS.items()}  # type: ignore[misc]
    assert ", ".join(f"{link}: {name}" for link, name in best.items()) in said
    assert f"its own kind in {sum(link == name for link, name in best.items())} of 4" in said


def shifted(rows: list[Result], *tea: tuple[float, float]) -> list[Result]:
    """The rows with other intervals of the tea sentence's differences on the two averages."""
    ends = dict(zip((f"scimult/{table}" for table in exhibits.AVERAGED), tea, strict=True))
    own = difference_of(f"average, {exhibits.GAP}")
    return [
        replace(row, low=ends[row.task][0], high=ends[row.task][1])
        if (row.encoder, row.metric) == (exhibits.label(exhibits.TEA), own)
        else row
        for row in rows
    ]


@pytest.mark.parametrize(
    ("tea", "verdict"),
    [
        (((-1, 1), (-2, 1)), "is not told from the trained one on either average; 2.00 points is the most"),
        (((-3, -1), (-2, -1)), "is behind the trained one on both averages"),
        (((-3, -1), (-2, 1)), "is told from the trained one, and is not behind it on both averages"),
        (((1, 2), (-2, 1)), "is told from the trained one, and is not behind it on both averages"),
    ],
)
def test_what_tea_shows_is_decided_by_its_two_intervals(rows, tea, verdict):
    exhibits.show(page := small_page(), shifted(rows, *tea))
    assert f"The sentence about tea {verdict}" in words(page.text)
    assert words(page.text).count("The sentence about tea") == 1


@pytest.mark.parametrize(("cosine", "further"), [(0.2, True), (0.9999, False)])
def test_moving_further_than_two_texts_are_apart_is_said_where_it_is_so(rows, cosine, further):
    made = [replace(row, value=cosine) if row.metric == exhibits.COSINE else row for row in rows]
    made = [replace(row, value=0.5) if row.metric == exhibits.APART else row for row in made]
    exhibits.show(page := small_page(), made)
    assert ("further than two texts are apart" in page.text) is further
