"""Ranking as the notes on the published code say, case by case with values worked out by hand; and as trec_eval itself has it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tasks import Scorer

from scirep_core.bench import scoring
from scirep_core.data.task import Judged, Labelled, Qrel, Reviewers, Task, Triple, Triples
from scirep_core.evaluators import pairs, ranking, reviewers, triplets
from scirep_core.kit.errors import ConfigError, DataError, NumericError

LOG3 = math.log2(3)


def task(rows, *metrics) -> Task:
    judged = Judged(tuple(Qrel(*row) for row in rows))
    return Task("t", "proximity", "PRX", metrics or ("map",), judged, "folder", "h")


def line(**at: float) -> dict[str, np.ndarray]:
    """Vectors on a line: the distance to `q` at 0 is the number given."""
    return {"q": np.zeros(1)} | {name: np.array([float(x)]) for name, x in at.items()}


def values(rows, split: str = "test") -> dict[str, float]:
    return {row.metric: row.value for row in rows if row.split == split}


@pytest.mark.parametrize(("protocol", "rank_of_b"), [("paper", 1), ("sound", 2)])
def test_ties_go_by_descending_id_in_trec_eval_and_by_a_hash_when_sound(protocol, rank_of_b):
    """a and b are equally near; only b is relevant. Descending ids: b, a; SHA-256 of "q\\na" is below that of "q\\nb"."""
    (found,) = ranking.evaluate(task([("q", "a", 0), ("q", "b", 1)]), line(a=1, b=-1), protocol)
    assert found.value == pytest.approx(100 / rank_of_b, abs=1e-5)
    assert found.ties == ranking.TIES[protocol]


def test_ties_favour_nothing_when_sound():
    """What is relevant stands first in the file, all are equally near: half of 400 queries have it first, as by chance."""
    rows = [(f"q{i}", cand, int(cand == "a")) for i in range(400) for cand in ("a", "b")]
    vectors = {name: np.zeros(2) for name in ("a", "b", *(f"q{i}" for i in range(400)))}
    (found,) = ranking.evaluate(task(rows), vectors, "sound")
    assert found.value == pytest.approx(75, abs=3.75)  # three standard errors


def test_a_query_without_vector_leaves_the_mean_only_where_dropping_is_asked_for():
    rows = [("q", "a", 1), ("gone", "a", 0), ("gone", "b", 1)]
    with pytest.raises(DataError, match="1 of the 4 ids of t have no vector: gone"):
        ranking.evaluate(task(rows), line(a=1, b=2))
    (found,) = ranking.evaluate(task(rows), line(a=1, b=2), "paper", "drop")
    assert (found.value, found.n, found.pool) == (100.0, 1, "1 of 3 judged pairs scored, 1 of 2 queries")
    assert found.coverage == pytest.approx(1 / 3)


def test_of_a_pair_judged_twice_the_first_row_counts_and_sound_refuses():
    """a is judged 2, then 0; b 1. Ranked b, a: DCG = 1 + 2/log2(3), ideal 2 + 1/log2(3)."""
    rows = [("q", "a", 2), ("q", "b", 1), ("q", "a", 0)]
    (found,) = ranking.evaluate(task(rows, "ndcg"), line(a=2, b=1))
    assert found.value == pytest.approx(100 * (1 + 2 / LOG3) / (2 + 1 / LOG3), abs=1e-5)
    assert "1 pairs judged twice, the first row counts" in found.note
    with pytest.raises(DataError, match=r"pair \(q, a\) is judged twice"):
        ranking.evaluate(task(rows), line(a=2, b=1), "sound")


NDCG = 100 * (2 / LOG3 + 1 / 2) / (2 + 1 / LOG3)


@pytest.mark.parametrize(("rows", "metric", "value"), [
    ([("q", "a", 1), ("r", "a", 0)], "map", 100),
    # TREC-COVID has -1. trec_eval, given a query with no other grade, writes outside its memory
    ([("q", "a", 2), ("q", "b", -1), ("q", "c", 1), *(("r", key, -1) for key in "abc")], "ndcg", NDCG),
])  # fmt: skip
def test_a_query_with_nothing_relevant_scores_zero_and_stays_or_is_left_out_when_sound(rows, metric, value):
    vectors = line(a=2, b=1, c=3) | {"r": np.ones(1)}
    paper, sound = (ranking.evaluate(task(rows, metric), vectors, protocol)[0] for protocol in ("paper", "sound"))
    assert (paper.value, paper.n) == (pytest.approx(value / 2), 2)
    assert (sound.value, sound.n) == (pytest.approx(value), 1)
    notes = ("score 0", "left out")
    assert [paper.note, sound.note] == [f"1 queries with nothing relevant {note}" for note in notes]


def test_a_query_that_is_a_candidate_too_is_asked_for_by_its_own_vector():
    """`q` as a paper lies at 0 next to a, as a query (`q/q`) at 10 next to b."""
    rows = task([("q", "a", 1), ("q", "b", 0), ("r", "q", 1), ("r", "b", 0)])
    vectors = line(a=1, b=9) | {"r": np.array([-1.0])}
    own = vectors | {"q/q": np.array([10.0])}
    assert [ranking.evaluate(rows, these)[0].value for these in (vectors, own)] == [100, 75]


def test_fields_count_alike_however_many_queries_they_have():
    """Art: 1 query, AP 1. Law: 3 queries, AP 1/2 each. Mean over fields 75, over queries it would be 62.5; R@5 is 1."""
    rows = [("q", "a", 1, "Art"), ("q", "b", 0, "Art")]
    rows += [(f"l{i}", x, int(x == "b"), "Law") for i in range(3) for x in ("a", "b")]
    found = ranking.evaluate(task(rows, "map", "r@5"), line(a=1, b=2) | {f"l{i}": np.zeros(1) for i in range(3)})
    parts = {row.split: row for row in found if row.metric == "map"}
    assert {split: row.value for split, row in parts.items()} == {"test": 75, "test/Art": 100, "test/Law": 50}
    assert values(found)["r@5"] == 100
    whole = parts["test"]
    assert (whole.n, whole.note) == (4, "mean of 2 groups")
    assert whole.replicates == pytest.approx((parts["test/Art"].replicates + parts["test/Law"].replicates) / 2)


def test_metrics_share_their_draws():
    """One relevant candidate a query: AP is the reciprocal rank."""
    rng = np.random.default_rng(0)
    rows = [(f"q{i}", f"c{j}", int(j == i % 4)) for i in range(40) for j in range(6)]
    vectors = {name: rng.standard_normal(3) for name in sorted({name for row in rows for name in row[:2]})}
    ap, rr = ranking.evaluate(task(rows, "map", "mrr"), vectors)
    assert np.array_equal(ap.replicates, rr.replicates)
    assert ap.low < ap.value < ap.high


scores = st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-9, 2.0, -1.0])
NAMED = {"map": "map", "ndcg": "ndcg", "r@5": "recall_5", "ndcg@10": "ndcg_cut_10", "mrr": "recip_rank"}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_protocol_paper_is_trec_eval_called_directly(data):
    """Random judgements, some twice, ties, near ties, missing and unjudged candidates: pytrec_eval's mean on the same run."""
    queries, cands = [f"q{i}" for i in range(4)], [f"c{i}" for i in range(7)]
    lists = {query: data.draw(st.lists(st.sampled_from(cands), min_size=1, max_size=7)) for query in queries}
    rows = [(query, cand, data.draw(st.integers(0, 3))) for query in queries for cand in lists[query]]
    there = {"q0", *data.draw(st.sets(st.sampled_from(queries)))}
    vectors = {query: np.array([data.draw(scores), 0.0]) for query in sorted(there)}
    for cand in data.draw(st.sets(st.sampled_from(cands), min_size=1)):
        vectors[cand] = np.array([data.draw(scores), data.draw(scores)])
    qrels: dict[str, dict[str, int]] = {}
    for query, cand, score in rows:
        qrels.setdefault(query, {}).setdefault(cand, score)
    run = {
        query: {c: -float(np.linalg.norm(vectors[c] - vectors[query])) for c in judged if c in vectors}
        for query, judged in qrels.items()
        if query in vectors and any(c in vectors for c in judged)
    }
    if not run:
        with pytest.raises(DataError, match="no query of t has a vector and a candidate"):
            ranking.evaluate(task(rows, *NAMED), vectors, "paper", "drop")
        return
    measures = {"map", "ndcg", "recall.5", "ndcg_cut.10", "recip_rank"}
    direct = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run).values()
    made = ranking.evaluate(task(rows, *NAMED), vectors, "paper", "drop")
    assert {row.similarity for row in made} == {"l2"}
    wanted = {name: 100 * np.mean([one[theirs] for one in direct]) for name, theirs in NAMED.items()}
    assert values(made) == pytest.approx(wanted, abs=1e-6)


FIVE = ("hard_p@5", "hard_p@10", "soft_p@5", "soft_p@10", "mean_of_four")


def angle(degrees: float) -> np.ndarray:
    return np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))])


def match(hard, soft, papers) -> Task:
    payload = Reviewers(tuple(Qrel(*r) for r in hard), tuple(Qrel(*r) for r in soft), papers)
    return Task("r", "reviewer_matching", "PRX", FIVE, payload, "folder", "h", similarity="cosine")


def test_a_reviewer_is_the_mean_of_the_three_best_cosines():
    """r1: cosines 1, 1/2, 1/2, -1 -> mean of three 2/3. r2: .7, .6 -> mean of two .65. Length of vectors is nothing."""
    vectors = {"s": angle(0), "a": 5 * angle(0), "b": angle(60), "c": angle(-60), "d": angle(180)}
    vectors |= {"e": 0.1 * angle(math.degrees(math.acos(0.7))), "f": angle(math.degrees(math.acos(0.6)))}
    judged = [("s", "r1", 0), ("s", "r2", 1)]
    one = match(judged, judged, {"r1": ("a", "b", "c", "d"), "r2": ("e", "f")})
    asked = pairs.ask(one, vectors, "paper", "error", one.metrics, None, "cosine", 0)
    assert reviewers.top_mean(asked, "s", ("a", "b", "c", "d")) == pytest.approx(2 / 3)
    assert reviewers.top_mean(asked, "s", ("e", "f")) == pytest.approx(0.65)
    (found,) = reviewers.evaluate(one, vectors, metrics=["hard_p@1"])
    assert (found.value, found.similarity) == (0, "cosine")  # r1 before r2


def test_precision_divides_by_k_and_the_run_of_hard_pairs_serves_soft():
    """Hard judges r0..r5; r6 is judged softly alone and is never ranked. Order r0, r1, ..., r5.

    Hard: r0 relevant -> P@5 1/5, P@10 1/10. Soft: r0, r4, r5, r6 -> P@5 2/5, P@10 3/10 (r6 is missing). Mean of four 1/4.
    """
    hard = [("s", f"r{i}", int(i == 0)) for i in range(6)]
    soft = [("s", f"r{i}", int(i in (0, 4, 5, 6))) for i in range(7)]
    vectors = {"s": angle(0)} | {f"p{i}": angle(10 * i + 1) for i in range(7)}
    found = values(reviewers.evaluate(match(hard, soft, {f"r{i}": (f"p{i}",) for i in range(7)}), vectors))
    assert found == pytest.approx(dict(zip(FIVE, (20, 10, 40, 30, 25), strict=True)))


def test_mean_of_four_under_sound_is_the_mean_of_four_means_on_different_submissions():
    """s: as relevant as can be (P@5 hard 1/5, soft 1/5); u has nothing hard, soft 2/5. Paper keeps u's zeros in the mean."""
    hard = [("s", "r0", 1), ("s", "r1", 0), ("u", "r0", 0), ("u", "r1", 0)]
    soft = [("s", "r0", 1), ("s", "r1", 0), ("u", "r0", 1), ("u", "r1", 1)]
    vectors = {"s": angle(0), "u": angle(0), "a": angle(5), "b": angle(50)}
    one = match(hard, soft, {"r0": ("a",), "r1": ("b",)})
    paper, sound = (reviewers.evaluate(one, vectors, protocol)[-1] for protocol in ("paper", "sound"))
    assert paper.value == pytest.approx(100 * (0.1 + 0.05 + 0.3 + 0.15) / 4)
    assert sound.value == pytest.approx(100 * (0.2 + 0.1 + 0.3 + 0.15) / 4)
    assert sound.replicates.shape == (1000,) and sound.low <= sound.value <= sound.high
    assert set(np.round(paper.replicates, 3)) <= {11.25, 15.0, 18.75}


def test_a_missing_paper_of_a_reviewer_is_an_error_as_in_the_published_code():
    one, vectors = match([("s", "r0", 1)], [("s", "r0", 1)], {"r0": ("a", "gone")}), {"s": angle(0), "a": angle(1)}
    with pytest.raises(DataError, match="have no vector: gone"):
        reviewers.evaluate(one, vectors)
    found = reviewers.evaluate(one, vectors, "paper", "drop")[0]
    assert (found.value, found.coverage) == pytest.approx((20, 0.5))


def by_name(*ids: str) -> Scorer:
    """Scores a candidate by the number in its name."""
    return Scorer(lambda query, cand: float(cand[1:]), *ids)


def three(*rows: Triple) -> Task:
    return Task("x", "triplets", "PRX", ("accuracy",), Triples(lambda split: iter(rows)), "folder", "h")


def test_a_scorer_takes_the_place_of_vectors_and_names_its_similarity():
    scorer = by_name("q", "c1", "c2", "c3")
    assert isinstance(scorer, pairs.PairScorer) and not isinstance({"q": 1}, pairs.PairScorer)
    (found,) = scoring.evaluate(task([("q", "c1", 1), ("q", "c3", 0), ("q", "c2", 0)]), scorer)
    assert (found.value, found.similarity) == (pytest.approx(100 / 3), "a function")
    assert (found.encoder, found.fingerprint) == ("scorer", "f")
    probed = Task("t", "classification", "CLF", ("f1_macro",), Labelled({"train": (), "test": ()}), "folder", "")
    with pytest.raises(ConfigError, match="scorer scores pairs and has no vectors: t is a classification task"):
        scoring.evaluate(probed, scorer)
    with pytest.raises(ConfigError, match="scores pairs itself"):
        ranking.evaluate(task([("q", "c1", 1)]), scorer, similarity="cosine")
    with pytest.raises(DataError, match="have no vector: c9"):
        ranking.evaluate(task([("q", "c9", 1), ("q", "c1", 0)]), scorer)


def test_a_score_that_is_no_number_is_named_and_never_ranked():
    asked = {ranking: task([("q", "c1", 1), ("q", "cnan", 0)]), triplets: three(Triple("q", "c1", "cnan"))}
    for kind, one in asked.items():
        with pytest.raises(NumericError, match="scorer: the score of query q and candidate cnan is not finite"):
            kind.evaluate(one, by_name("q", "c1", "cnan"))


def test_reviewers_and_triplets_by_a_scorer():
    judged = [("s", "r0", 1), ("s", "r1", 0)]
    one = match(judged, judged, {"r0": ("c1", "c9"), "r1": ("c4", "c5")})
    found = reviewers.evaluate(one, by_name("s", "c1", "c4", "c5", "c9"), metrics=["hard_p@1"])
    assert found[0].value == 100.0  # (1 + 9) / 2 before (4 + 5) / 2
    rows = Triple("q", "c2", "c1"), Triple("q", "c1", "c2"), Triple("q", "c2", "c2")
    (row,) = triplets.evaluate(three(*rows), by_name("q", "c1", "c2"))
    assert row.value == pytest.approx(100 / 3) and row.replicates.shape == (1000,)  # a tie is wrong
