"""Chapter `scimult/search`: Table 8 is decided by its digits, nDCG in every reading is what its definition says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import pytrec_eval
from blank_page import Page
from small_scimult import made

from scirep_core.data.task import Pooled, Task
from scirep_core.evaluators import retrieval
from scirep_core.exhibits import counting
from scirep_core.exhibits import scimult_search as exhibits
from scirep_core.exhibits import scimult_search_real as searches
from scirep_core.exhibits import scimult_systems as systems
from scirep_core.kit.records import Paper
from scirep_core.results import Result

TEXTS = {
    "a": "stack machines parse",
    "b": "bird song",
    "c": "stack of birds",
    "d": "robots",
    "e": "parse trees and stack",
}
QUERIES = {"q1": "stack parse", "q2": "bird"}
SMALL = Task(
    searches.COVID_BEIR, "retrieval", "QRY", ("ndcg@10",), Pooled({"q1": {"a": 1, "e": 2, "d": 0}, "q2": {"b": 2}}, tuple(TEXTS)),
    "embedded", "0" * 16, similarity="dot", texts=lambda: [Paper(key, text, "") for key, text in TEXTS.items()], queries=QUERIES,
)  # fmt: skip


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<svg.*?</svg>|<[^>]+>", " ", text, flags=re.DOTALL))


@pytest.fixture
def page() -> Page:
    return Page(papers=1000, steps=60, encoders="tfidf,bm25")


def scored(scores: list[float], grades: dict[str, int]) -> tuple[Task, dict[str, np.ndarray]]:
    pool = tuple(f"p{i}" for i in range(len(scores)))
    task = Task(
        "small", "retrieval", "QRY", ("ndcg@10",), Pooled({"q": grades}, pool), "embedded", "0", similarity="dot"
    )
    return task, {"q": np.array([1.0])} | {key: np.array([score]) for key, score in zip(pool, scores, strict=True)}


# ---- print -----------------------------------------------------------------------------------------------------------


def test_table_8_is_decided_cell_by_cell(page):
    exhibits.table8(page)
    said = words(page.text)
    assert "15 of the 15 printed averages" in said
    assert (
        "has 4 variants ahead of all baselines on the 4 cross-domain sets and on average, without naming them: 4 are"
        in said
    )
    assert "0 of 5 variants are ahead of all baselines there (Prefix 76.55, SPECTER 2.0 78.22)" in said
    assert "Only SciMult is ahead of BM25 on NFCorpus (30.00)" in said
    assert "FFNExpert is not (27.48)" in said
    assert "Table 3: all; Table 4: all; Table 5: all; Table 8: all but FFNExpert" in said
    assert (
        "thanks to 1 of 5 data sets: TREC-COVID in BEIR (67.22 → 71.18). On the others the mean goes from 66.29 to 66.02"
        in said
    )
    assert "14 of 15 lines are lower in BEIR’s, where LinkBERT falls from 52.45 to 2.28" in said


def test_our_study_stands_beside_the_print(page):
    def value(line: str, column: str, seed: int) -> float:
        return 40.0 + seed + 5 * (line == "SciMult FFNExpert")

    exhibits.ours(page, {"recorded": made("scimult", value), "live": made("scimult", value, range(1), "live")})
    said = words(page.text)
    assert "Recorded: the highest of 7 averages of Table 8 is SciMult FFNExpert’s, 46.0" in said
    assert "Live: the highest of 7 averages of Table 8 is SciMult FFNExpert’s, 45.0" in said
    bare = Page()
    exhibits.ours(bare, {"recorded": [], "live": []})
    assert "no numbers of our own for Table 8" in bare.text


# ---- nDCG ------------------------------------------------------------------------------------------------------------


def test_without_ties_and_unjudged_papers_readings_are_those_of_trec_eval():
    rng = np.random.default_rng(0)
    grades = {f"p{i}": int(rng.integers(0, 2)) for i in range(40)}
    task, vectors = scored(list(rng.permutation(40).astype(float)), grades)
    run = {"q": {key: float(vectors[key][0]) for key in grades}}
    known = pytrec_eval.RelevanceEvaluator({"q": grades}, {"ndcg_cut.10"}).evaluate(run)["q"]["ndcg_cut_10"]
    for row in (*retrieval.evaluate(task, vectors), *retrieval.readings(task, vectors, "ndcg@10").values()):
        assert row.value == pytest.approx(100 * known)


def test_a_judged_paper_outside_the_pool_counts_as_not_found_in_every_reading():
    task, vectors = scored([3.0, 2.0, 1.0], {"p0": 1, "p1": 1, "p2": 1, "gone": 1})
    (plain,) = retrieval.evaluate(task, vectors)
    assert plain.value < 100
    for row in retrieval.readings(task, vectors, "ndcg@10").values():
        assert row.value == pytest.approx(plain.value)


@pytest.mark.parametrize(
    ("reading", "value"),
    [
        ("gain 2^g - 1", (1 / np.log2(3) + 3 / np.log2(5)) / (3 + 1 / np.log2(3))),
        ("judged only", (1 + 2 / np.log2(4)) / (2 + 1 / np.log2(3))),
        ("ties for", (1 + 2 / np.log2(5)) / (2 + 1 / np.log2(3))),
        ("ties against", (1 / np.log2(3) + 2 / np.log2(5)) / (2 + 1 / np.log2(3))),
    ],
)
def test_each_reading_is_its_definition(reading, value):
    # p0 is not judged and ties with p1 (grade 1); p2 has grade 0; p3 has grade 2
    task, vectors = scored([3.0, 3.0, 2.0, 1.0], {"p1": 1, "p2": 0, "p3": 2})
    assert retrieval.readings(task, vectors, "ndcg@10")[reading].value == pytest.approx(100 * value)
    (plain,) = retrieval.evaluate(task, vectors)
    assert plain.value == pytest.approx(100 * (1 / np.log2(3) + 2 / np.log2(5)) / (2 + 1 / np.log2(3)))


def test_readings_are_shown_with_what_they_move(page):
    rows = list(searches.other_readings(SMALL, ("tfidf", "bm25", "minilm")))
    assert {row.encoder for row in rows} == {"tfidf", "bm25"}  # vectors have no ties and no words
    rows += systems.score(SMALL, ("tfidf", "bm25"), ("ndcg@10",))
    searches.show_readings(page, [("live", rows)])
    said = words(page.text)
    assert all(f"{reading} minus trec_eval: TF-IDF" in said for reading in retrieval.READINGS)
    assert "any ranking is perfect" not in said, "d is judged and not relevant"
    data = SMALL.payload
    assert isinstance(data, Pooled)
    right = replace(SMALL, payload=replace(data, relevant={"q1": {"a": 1, "e": 1}, "q2": {"b": 1}}))
    searches.show_readings(page, [("live", list(searches.other_readings(right, ("tfidf",))))])
    assert "every judgement names a relevant paper: with the others left out any ranking is perfect, 100" in words(
        page.text
    )


# ---- searches --------------------------------------------------------------------------------------------------------


def test_systems_floors_and_queries_are_read_off_the_rows(page):
    covid = counting.row(SMALL, "pairs", 3000, 3000)
    rows = [*systems.score(SMALL, ("tfidf", "bm25"), ("ndcg@10",)),
            *(counting.row(SMALL, *count) for count in [*counting.counts(SMALL), *searches.query_words(SMALL)])]  # fmt: skip
    rows += [
        Result(searches.COVID, row.split, row.metric, row.protocol, row.value, row.n)
        for row in rows
        if "words" in row.metric
    ]
    rows += [Result(searches.COVID, "all", "pairs", "paper", covid.value, 3000), *systems.differences(rows)]
    kinds = [("live", rows)]
    searches.systems(page, kinds, (searches.COVID_BEIR,), "small")
    searches.floors(page, kinds)
    searches.two_covids(page, kinds)
    searches.splits(page, kinds)
    said = words(page.text)
    assert "BM25 not told from TF-IDF" in said
    assert "random vectors have an nDCG@10 of" in said
    assert "words of a query 1.5 in TREC-COVID in SciRepEval and 1.5 in TREC-COVID in BEIR" in said
    assert "training claims" not in said


def test_nothing_measured_shows_nothing(page):
    parts: list[Callable] = [searches.floors, searches.splits, searches.two_covids, searches.show_readings]  # type: ignore[type-arg]
    for part in parts:
        part(page, [("live", [])])
    searches.systems(page, [("live", [])], searches.FIVE, "nothing")
    assert page.said == []


def test_real_claims_fall_into_two_splits_and_topics_are_counted(real_folder, page):
    from scirep_core.data import load_task

    claims = load_task(searches.CLAIMS, "real")
    assert isinstance(claims, Task)
    parts = searches.by_split(claims)
    assert {name: len(part.payload.relevant) for name, part in parts.items()} == {"train": 188, "test": 77}  # type: ignore[union-attr]
    rows = list(searches.counts_of_judgements(claims))
    values = {(row.task, row.metric): row.value for row in rows}
    assert values[searches.TOPICS, "BEIR queries that are a topic’s question"] == 50
    assert values[searches.JUDGED, "queries of the test split"] == 323
    assert values[searches.TOPICS, "judgements per query"] == pytest.approx(66_334 / 50)
    searches.two_covids(page, [("recorded", rows)])
    searches.splits(page, [("recorded", rows)])
    said = words(page.text)
    assert "BEIR has 1327 judgements a query" in said and "SciRepEval, in print, 1386.36" in said
    assert "50 of 50 queries of BEIR are the question alone" in said
    assert "SciMult takes all 3237 queries; BEIR’s is of the 323 in the test split" in said
