"""Chapter `scimult/link_prediction`: statements follow the digits, choices outside the encoder are measured, one line comes out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from blank_page import Page
from small_scimult import made, searched, small_page, words

from scirep_core.data.manifests import fetch
from scirep_core.data.readers.recommendation import STUDY, StudyRow
from scirep_core.data.task import Judged, Qrel, Task
from scirep_core.exhibits import scimult_link_choices as choices
from scirep_core.exhibits import scimult_links as exhibits
from scirep_core.exhibits import scimult_recommendation as recommendation
from scirep_core.exhibits.scimult_recommendation import Reading
from scirep_core.exhibits.scimult_systems import by_cell
from scirep_core.kit.records import Paper
from scirep_core.results import Result
from scirep_core.results.differences import difference_of

FILE = """PaperId\tRecommendedPaperId\tMethod\tStudyScore\tSimilarity
1\ta\tContent\t5\t0.9
1\tb\tContent\t2.5\t0.9
1\tc\tContent\t1\t
1\ta\tBehavior\t4\t0.9
2\td\tContent\t3\t0.2
2\te\tContent\t4\t0.7
3\tf\tContent\t4\t
4\tg\tContent\t\t0.8
"""


@pytest.fixture
def page() -> Page:
    return small_page()


# ---- print -----------------------------------------------------------------------------------------------------------


def test_table_5_is_won_in_44_of_45_cells_and_the_other_is_named(page):
    exhibits.retrieval(page)
    said = words(page.text)
    assert "15 of the 15 printed averages" in said
    assert "in 44 of 45 cells. Not so Vanilla on Patient-to-Patient, R@20: 41.61 against BM25’s 42.20" in said


def test_table_6_has_the_orders_of_a_leaderboard_and_names_what_was_lost(page):
    exhibits.patients(page)
    said = words(page.text)
    assert "DPR (SciMult-MHAExpert) is first in 8 of 8 columns" in said
    assert "Patient-to-Article Retrieval: the lines are printed in the order of P@10." in said
    assert "Patient-to-Patient Retrieval: the lines are printed in the order of MRR and nDCG@10." in said
    assert "4 numbers (SentBERT) are missing in the text at hand" in said


def test_table_7_is_decided_and_its_average_taken_apart(page):
    exhibits.reranking(page)
    said = words(page.text)
    assert (
        "in 32 of 40 (Vanilla 8, MHAExpert 8, FFNExpert 6, Prefix 6, Instruction 4); all that they lose are of" in said
    )
    assert "are of Co-view and Co-read" in said
    assert "in 5 and 14 of 40 cells, of all baselines at once in 5" in said
    assert (
        "quotes that 40.5 % of SciDocs’ papers occur in the training data, and adds Recommendation for that reason"
        in said
    )
    assert "Vanilla and MHAExpert are ahead of all baselines in all 3 columns" in said
    assert "On average 0 of 5 variants are ahead" in said
    assert "instead of the columns would be SciNCL 91.660, SPECTER 2.0 91.424, MHAExpert 91.345 at the top" in said
    assert "in 3 of 11 columns. Without the two of Cite the averages are 90.47 and 90.61" in said


def test_quoted_numbers_are_of_more_than_one_evaluation(page):
    exhibits.quoted(page)
    said = words(page.text)
    for line in ("SciBERT 64.53 69.0 +4.47", "SentBERT 74.15 not printed", "SPECTER 88.65 89.1 +0.45", "SciNCL 90.80 90.8 +0.00",
                 "SPECTER 2.0 90.65 not printed"):  # fmt: skip
        assert line in said
    assert "PubMedBERT" not in said and "Citeomatic" not in said  # not all of the ten are quoted
    assert "The mean of SciNCL is SciRepEval’s, to within rounding; those of SciBERT and SPECTER are not" in said
    # MAP and nDCG of Co-view: Vanilla 83.99 and 91.68, MHAExpert 83.92 and 91.60, against SPECTER's 83.6 and 91.5
    assert "0.45 points apart on average. Of the 32 cells" in said and "less than that in 4." in said


def test_a_mean_that_agreed_would_be_said_to_agree(page, monkeypatch):
    known = exhibits.lookup(exhibits.EVALUATED)
    other = dict(known) | {("SPECTER", "SciDocs"): known["SPECTER", "SciDocs"]._replace(value="88.7")}
    monkeypatch.setattr(
        exhibits, "lookup", lambda e, real=exhibits.lookup: other if e == exhibits.EVALUATED else real(e)
    )
    exhibits.quoted(page)
    assert "The mean of SPECTER and SciNCL is SciRepEval’s" in words(page.text)


def test_our_study_stands_beside_the_print(page):
    def value(line: str, column: str, seed: int) -> float:
        return 50.0 + seed + 10 * (line == "SciMult Prefix")

    kinds = {"recorded": made("scimult", value), "live": []}
    exhibits.ours(page, exhibits.FOUND, kinds)
    exhibits.ours(page, exhibits.ORDERED, kinds)
    said = words(page.text)
    assert "Recorded: the highest of 7 averages of Table 5 is SciMult Prefix’s, 61.0" in said
    assert "Recorded: the highest of 7 averages of Table 7 is SciMult Prefix’s, 61.0" in said
    assert "live" not in page.said[0].partition("</thead>")[0]


# ---- choices ---------------------------------------------------------------------------------------------------------


def vectors(**rows: tuple[float, float]) -> dict[str, np.ndarray]:
    return {key: np.array(row, dtype=np.float32) for key, row in rows.items()}


def values(rows: Any) -> dict[str, float]:
    return {row.metric: row.value for row in rows}


def test_the_own_paper_takes_a_place_and_a_long_vector_can_come_before_it(page):
    given = vectors(q=(1, 0), near=(0.9, 0.1), long=(5, 5), other=(0, 1))
    task = searched({"q": {"near": 1}}, ("q", "near", "long", "other"))
    assert values(choices.own_paper(task, "small", given, "dot"))[choices.OWN_FIRST] == 0.0  # `long` is nearer
    assert values(choices.own_paper(task, "small", given, "cosine"))[choices.OWN_FIRST] == 100.0
    others = tuple(f"{i}" for i in range(19))
    crowded = {key: np.array([0.95, 0.3], dtype=np.float32) for key in others}
    many = searched({"q": {"near": 1}}, ("q", *others, "near"))
    rows = list(choices.own_paper(many, "small", given | crowded, "dot"))
    found = values(rows)
    assert (found["recall@20 (own paper kept)"], found["recall@20 (own paper dropped)"]) == (0.0, 100.0)
    assert "recall@20" not in found  # the study's own number of that name is a mean over trainings
    assert found[f"difference of recall@20, {choices.KEPT_OR_NOT}"] == 100.0
    assert found[choices.OWN_FIRST] == 100.0
    choices.show_own_paper(first := small_page(), rows)
    assert "The own paper is found first for 100.0 % of the queries" in words(first.text)
    choices.show_own_paper(page, [*rows, *choices.own_paper(task, "small", given, "dot")])
    said = words(page.text)
    assert (
        "small on SciDocs (Cite) +100.0" in said
        and "The own paper is found first for 0.0 to 100.0 % of the queries" in said
    )


def test_patients_are_scored_by_words_and_by_the_live_models_and_their_pools_are_counted(page, monkeypatch):
    texts = {"q": "cough and fever", "a": "fever", "b": "cough", "c": "rash"}
    papers = [Paper(key, text, "") for key, text in texts.items()]
    tasks = {
        name: searched(
            {"q": {"c": 1}}, ("a", "b", "c"), name=name, texts=lambda: papers, similarity="cosine", keep_self=False
        )
        for name in choices.PATIENTS
    }
    given = vectors(q=(1, 0), a=(0.5, 0), b=(0.4, 0.1), c=(3, 9))  # c is first by the inner product, last by cosine
    model = SimpleNamespace(on=lambda task: given)
    monkeypatch.setattr(choices, "trained", lambda chapter: {"SciMult Vanilla": model})
    monkeypatch.setattr(choices.counting, "gather", lambda chapter, names: choices.counting.Gathered(tasks, {}))
    rows = choices.measure(page)
    found = by_cell(rows)
    for task in choices.PATIENTS:
        assert found[task, "SciMult Vanilla", "mrr"].value == 100.0
        assert {name for t, name, metric in found if (t, metric) == (task, "mrr")} == {
            "tfidf",
            "bm25",
            "random",
            "SciMult Vanilla",
        }
    choices.show_patients(page, rows)
    said = words(page.text)
    assert "PMC-Patients (PAR, supervised) MRR" in said and "nDCG@10" in said
    assert "The pools are small, so that the last metric says little: 3 in PMC-Patients (PAR, supervised)" in said
    assert "random vectors have an R@1K of 100.0" in said


def test_three_similarities_order_the_same_vectors_differently_and_the_page_says_how_far(page):
    given = vectors(q=(1, 0), a=(0.8, 0), b=(9, 9), c=(1, 0.1))
    rows = tuple(Qrel("q", cand, score) for cand, score in (("a", 1), ("b", 0), ("c", 0)))
    task = Task("scimult/coview", "proximity", "PRX", ("map",), Judged(rows), "embedded", "0" * 16)
    found = list(choices.three_ways(task, "SciMult Vanilla", given))
    by_metric = values(found)
    assert by_metric["map (dot)"] == pytest.approx(100 / 3)
    assert by_metric["map (cosine)"] == pytest.approx(100)
    assert by_metric["map (l2)"] == pytest.approx(50)  # c is shorter of the way
    choices.show_similarities(page, found)
    assert "by +16.7 16.7 to 16.7 (−L2, SciMult Vanilla, SciDocs (Co-view)) to +66.7" in words(page.text)


def test_where_nothing_was_measured_the_page_says_how_to(page):
    choices.show_triplets(page, [("live", [])])
    assert page.said == []
    for n, part in enumerate((choices.show_own_paper, choices.show_similarities, choices.show_patients), start=1):
        part(page, [])
        assert len(page.said) == n and "-p data embedded" in page.said[-1]
    recommendation.show(page, [("live", [])])
    assert "scirep data get recommendation" in page.text


# ---- the line that can be recomputed ---------------------------------------------------------------------------------


@pytest.fixture
def study(tmp_path):
    path = tmp_path / STUDY
    path.write_text(FILE)
    return path


def test_readings_differ_in_what_they_say(study):
    queries = recommendation.rated(study)
    assert {key: len(rows) for key, rows in queries.items()} == {"1": 4, "2": 2, "3": 1}
    first = recommendation.values(queries, Reading())
    assert set(first) == {"1", "2"}  # 3 has no similarity, 4 no rating
    # ties go to the higher id: b (2.5 -> 3) before a (5)
    assert first["1"][2] == pytest.approx((3 + 5 / np.log2(3)) / (5 + 3 / np.log2(3)))
    in_file = recommendation.values(queries, Reading(ties="file"))
    assert in_file["1"][2] == pytest.approx(1)
    down = recommendation.values(queries, Reading(halves="down"))
    assert down["1"][2] == pytest.approx((2 + 5 / np.log2(3)) / (5 + 2 / np.log2(3)))
    second = recommendation.values(queries, Reading(twice="last"))
    assert second["1"][2] == pytest.approx((3 + 4 / np.log2(3)) / (4 + 3 / np.log2(3)))
    steep = recommendation.values(queries, Reading(gain="exponential"))
    assert steep["1"][2] == pytest.approx((7 + 31 / np.log2(3)) / (31 + 7 / np.log2(3)))
    assert set(recommendation.values(queries, Reading(missing="last", every=True))) == {"1", "2", "3"}


def test_the_first_reading_is_that_of_trec_eval():
    rng = np.random.default_rng(0)
    queries = {
        f"q{i}": [
            StudyRow(f"q{i}", f"{j:03}", "", float(rng.integers(1, 6)), float(round(rng.random(), 1)))
            for j in range(14)
        ]
        for i in range(20)
    }
    found = recommendation.values(queries, Reading())
    qrels = {q: {r.cand_id: int(r.score or 0) for r in rows} for q, rows in queries.items()}
    run = {q: {r.cand_id: float(r.similarity or 0) for r in rows} for q, rows in queries.items()}
    known = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.5,10", "ndcg"}).evaluate(run)
    for query, scores in found.items():
        assert scores == pytest.approx([known[query][m] for m in ("ndcg_cut_5", "ndcg_cut_10", "ndcg")])


def test_the_printed_line_comes_out_close_with_the_linear_gain(real_folder, page):
    rows = recommendation.measure(fetch("recommendation") / STUDY)
    found = values(rows)
    assert [round(found[f"{m}, as trec_eval"], 2) for m in recommendation.METRICS] == [83.50, 87.38, 93.33]
    assert found["ndcg@5, gain 2^grade - 1"] < 75
    assert (found["rated queries"], found["queries with a similarity"]) == (147, 144)
    recommendation.show(page, [("live", rows)])
    said = words(page.text)
    assert "Nearest to the print is “as trec_eval”, off by up to 0.38 points" in said
    assert "the print has the linear one" in said


def test_triplets_are_shown_with_who_is_ahead(page):
    base: dict[str, Any] = {"split": "train", "protocol": "paper", "n": 200, "source": "real", "data_hash": "0" * 16}
    gap = {"low": 5.0, "high": 15.0, "against": "tfidf", **base}
    rows = [
        Result(choices.TRIPLETS, metric="accuracy", value=80.0, encoder="tfidf", **base),
        Result(choices.TRIPLETS, metric="accuracy", value=90.0, encoder="minilm", **base),
        Result(choices.TRIPLETS, metric=difference_of("accuracy"), value=10.0, encoder="minilm - tfidf", **gap),
    ]
    choices.show_triplets(page, [("live", rows)])
    assert "MiniLM ahead of TF-IDF, +10.0" in words(page.text)
