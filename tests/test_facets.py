"""Faceted ranking: the printed numbers on the real collection, hand-computed ones on the tiny, refusals."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from scirep_core.data.readers.csfcube import TASKS
from scirep_core.evaluators import facets
from scirep_core.evaluators.facets import System, facet_collection, facet_systems
from scirep_core.evaluators.facets.facet_failures import EXPECTED, HOLM_P, RHO, chance, difficulty, failures
from scirep_core.kit.errors import ConfigError, DataError, NumericError
from scirep_core.kit.records import Query
from scirep_core.results.published import lookup

FACETS = ("background", "method", "result")
PRINTED = ("r_precision_published", "p@20", "r@20", "ndcg%100", "ndcg%20")


@pytest.mark.parametrize(("name", "printed"), [("specter_pools", "SPECTER"), ("bm25", "fabs_bm25")])
def test_published_pools_and_bm25_give_all_twenty_printed_figures(name, printed, real, real_folder):
    system = facet_systems.rank(real, name, folder=real_folder).system
    rows = facets.evaluate(real, system, metrics=PRINTED)
    got = {f"{r.task.partition('/')[2]}/{r.metric}": f"{r.value:05.2f}" for r in rows}
    quoted = {column: p.value for (row, column), p in lookup("CS-T4").items() if row == printed}
    assert len(got) == 20 and got == {column: quoted[column] for column in got}


def test_table_1_and_appendix_d_match(real):
    table = facet_collection.statistics_table(real)
    for (row, column), printed in lookup("CS-T1").items():
        value = table[row, column]
        if (row, column) == ("Candidates rated +2/+3 per query", "avg"):
            assert f"{value:.1f}" == "9.9"  # printed 9.8: the data say 9.92
        else:
            assert f"{value:.{printed.decimals}f}" == printed.value
    for facet, (share, n) in facet_collection.cited_share(real).items():
        printed = lookup("CS-C1")["cited rated 0 or 1", facet]
        assert int(100 * share) == printed.number  # the print cuts the digits
        assert n > 200


def test_all_24_cells_of_table_2_match_one_of_them_cut(real):
    cells = facet_collection.agreement_table(facet_collection.query_agreement(real), 100, 0)
    printed = lookup("CS-T2")
    by_cell = {(cell.facet, f"{cell.stage}/{cell.coefficient}"): cell for cell in cells}
    assert len(printed) == 24
    off = [cell for cell, p in printed.items() if not p.equals(by_cell[cell].value)]
    assert off == [("background", "pre/spearman")]  # 0.4553 printed as 0.45
    assert printed[off[0]].cuts(by_cell[off[0]].value)


def gold_order(collection, step=1):
    return {q: list(collection.candidates(q))[::step] for q in collection.queries}


def scores_of(rows):
    return {(r.task, r.metric): r.value for r in rows}


def test_folds_are_averaged_as_published(tiny):
    rankings = gold_order(tiny)
    rankings[Query("2", "method")] = ["3", "4", "1"]  # the one relevant paper last: reciprocal rank 1/3
    values = scores_of(facets.evaluate(tiny, System("s", rankings), metrics=["mrr"]))
    # method: fold1 = {1_method}: relevant at rank 2 -> 1/2; fold2 = {2_method}: 1/3
    assert values["csfcube/method", "mrr"] == pytest.approx(100 * (1 / 2 + 1 / 3) / 2)
    # all: fold1 = {1_background: 1, 1_method: 1/2}, fold2 = {2_method: 1/3, 3_result: 1/3}
    assert values["csfcube/all", "mrr"] == pytest.approx(100 * ((1 + 1 / 2) / 2 + 1 / 3) / 2)
    (dev,) = facets.evaluate(tiny, System("s", rankings), metrics=["mrr"], split="dev", tasks=["method"])
    assert dev.value == pytest.approx(100 / 3)  # dev is fold1_dev alone: 2_method
    (sound,) = facets.evaluate(tiny, System("s", rankings), metrics=["mrr"], protocol="sound", tasks=["all"])
    assert (sound.value, sound.n) == (pytest.approx(100 * (1 + 1 / 2 + 1 / 3 + 1 / 3) / 4), 4)
    (whole,) = facets.evaluate(tiny, System("s", gold_order(tiny)), metrics=["mrr"], tasks=["all"])
    assert whole.by_query == {"1_background": 100, "1_method": 50, "2_method": 100, "3_result": pytest.approx(100 / 3)}


@pytest.mark.parametrize(("change", "message"), [
    (lambda r: r.pop(Query("1", "method")), "query 1_method is not ranked"),
    (lambda r: r.__setitem__(Query("1", "method"), []), "query 1_method: the ranking is empty"),
    (lambda r: r[Query("1", "method")].append("77"), "candidate '77' is not rated"),
    (lambda r: r[Query("1", "method")].append("2"), "candidate '2' is ranked twice"),
    (lambda r: r.__setitem__(Query("9", "method"), ["1"]), "query 9_method is not rated"),
])  # fmt: skip
def test_wrong_rankings_are_named(tiny, change, message):
    rankings = gold_order(tiny)
    change(rankings)
    with pytest.raises(DataError, match=message):
        facets.evaluate(tiny, System("s", rankings))


def test_left_out_candidate_is_a_warning_and_counts_as_published(tiny):
    rankings = gold_order(tiny)
    rankings[Query("1", "method")] = ["3"]
    (warning,) = facets.check(tiny, rankings)
    assert "leaves out 2 of 3" in warning
    with pytest.raises(DataError, match="leaves out 2 of 3"):
        facets.evaluate(tiny, System("s", rankings), protocol="sound")
    row = facets.evaluate(tiny, System("s", rankings), metrics=["ndcg%100"], tasks=["method"])[0]
    assert row.coverage == pytest.approx(4 / 6)


def test_ranked_pool_files_are_read_by_order_and_distances_that_fall_are_reported(tiny, tmp_path):
    for facet in FACETS:
        queries = [q for q in tiny.queries if q.facet == facet]
        entries = {q.paper_id: [[c, 1.0 - i] for i, c in enumerate(tiny.candidates(q))] for q in queries}
        (tmp_path / f"mine-{facet}-ranked.json").write_text(json.dumps(entries))
    rankings, warnings = facets.read_rankings(tmp_path)
    assert rankings == gold_order(tiny)
    assert len(warnings) == 4
    assert "similarities" in warnings[0]
    (tmp_path / "mine-method-ranked.json").unlink()
    with pytest.raises(DataError, match=r"expected one file \*method\*.json, found none"):
        facets.read_rankings(tmp_path)


def test_nan_scores_and_vectors_are_named(tiny):
    scores = {q: np.zeros(3) for q in tiny.queries}
    assert facets.rank_by_scores(tiny, scores) == gold_order(tiny)  # ties keep it
    scores[Query("2", "method")][1] = np.nan
    with pytest.raises(NumericError, match="query 2_method, candidate 3"):
        facets.rank_by_scores(tiny, scores)
    vectors = {p: np.ones(2) for p in tiny.papers} | {"4": np.array([1, np.inf])}
    with pytest.raises(NumericError, match="vector of 4"):
        facets.rank_by_vectors(tiny, vectors)


@pytest.mark.parametrize(("name", "wanted"), [("l2", [-1, -np.sqrt(2), -1]), ("cosine", [1, 0, 0]), ("dot", [2, 0, 0])])
def test_similarities_by_hand(name, wanted):
    others = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert facets.similarities(np.array([1.0, 0.0]), others, name) == pytest.approx(wanted)


def test_oracle_is_the_ceiling_and_chance_the_floor(tiny):
    metrics = ["ndcg%100", "map"]
    best = facets.per_query(tiny, facets.oracle_rankings(tiny), metrics)
    assert best == pytest.approx(np.ones_like(best))
    floor = facets.chance(tiny, metrics)
    assert (floor < 1).all()
    # one relevant of three, random order: the mean reciprocal rank is (1 + 1/2 + 1/3) / 3
    column = tiny.queries.index(Query("2", "method"))
    assert floor[1, column] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=0.08)


def test_unknown_task_split_protocol_are_refused(tiny):
    system = System("s", gold_order(tiny))
    for wrong, message in (({"tasks": ["metod"]}, "did you mean 'method'"), ({"split": "tset"}, "did you mean 'test'"),
                           ({"protocol": "papre"}, "did you mean 'paper'")):  # fmt: skip
        with pytest.raises(ConfigError, match=message):
            facets.evaluate(tiny, system, **wrong)
    for name in ("cos", "L2", "euclidean"):  # never taken for another
        with pytest.raises(ConfigError, match="unknown similarity"):
            facets.rank_by_vectors(tiny, {p: np.ones(2) for p in tiny.papers}, name)


def test_paired_comparison_has_holm_over_all_tasks(tiny):
    systems = [System("a", gold_order(tiny)), System("b", gold_order(tiny, -1))]
    found = facets.differences(tiny, systems, [("a", "b")], metric="map")
    gaps, ps, adjusted = found[::3], found[1::3], found[2::3]
    assert [gap.task for gap in gaps] == [f"csfcube/{task}" for task in TASKS]
    assert {(row.encoder, row.against, row.protocol) for row in found} == {("a - b", "b", "sound")}
    whats = ("", "p of the ", "Holm p of the ")
    assert [row.metric for row in found[:3]] == [f"{what}difference of map" for what in whats]
    assert all(p.value <= holm.value <= 1 for p, holm in zip(ps, adjusted, strict=True))
    assert gaps[TASKS.index("background")].value == pytest.approx(100 * (1 - 1 / 3))
    assert ps[TASKS.index("background")].value == 0.5  # two queries: of four sign patterns, two are as extreme


def test_ceiling_and_floor_are_scored_beside_the_systems_and_partial_rankings_by_the_paper_alone(tiny):
    whole = System("whole", gold_order(tiny))
    part = System("part", {query: order[:-1] for query, order in whole.rankings.items()})
    rows = facets.scored(tiny, [whole, part], ["map"], resamples=10)
    protocols: dict[str, set[str]] = {}
    for row in rows:
        protocols.setdefault(row.encoder, set()).add(row.protocol)
    assert protocols == {"whole": {"paper", "sound"}, "part": {"paper"}, "oracle": {"paper"}, "random": {"paper"}}
    floor = {row.task: row.value for row in rows if row.encoder == "random"}
    assert all(floor[row.task] < row.value for row in rows if row.encoder == "oracle")
    differences = facets.differences(tiny, [whole, part], [("whole", "part")], metric="map")
    assert {row.protocol for row in differences} == {"paper"}


WRONG_POOLS = ("[]", "null", '"x"', "[" * 100000, '{"1": null}', '{"1": [[]]}', '{"1": [[[]]]}', "\xff{")


@pytest.mark.parametrize(("content", "message"), [
    *((content, "") for content in WRONG_POOLS),
    ('{"1": [["2", "near"]]}', "query 1, entry 1: distance 'near' is no number"),
    ('{"1": [["2", NaN]]}', "NaN is not a JSON number"),
    ('{"1": ["2"], "1": ["3"]}', "key '1' is there twice"),
])  # fmt: skip
def test_ranked_pools_of_any_wrong_shape_are_one_line(tmp_path, content, message):
    for facet in FACETS:
        (tmp_path / f"a-{facet}-ranked.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match=rf"a-background-ranked\.json.*{message}") as caught:
        facets.read_rankings(tmp_path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_facet_alone_needs_only_its_own_queries(tiny, tmp_path):
    method = tiny.only("method")
    assert {q.facet for q in method.queries} == {"method"}
    entries = {q.paper_id: list(tiny.candidates(q)) for q in method.queries}
    (tmp_path / "x-method-ranked.json").write_text(json.dumps(entries))
    rankings, _ = facets.read_rankings(tmp_path, ["method"])
    rows = facets.evaluate(method, System("x", rankings), metrics=["mrr"])
    assert [r.task for r in rows] == ["csfcube/method"]
    with pytest.raises(ConfigError, match="not part of this collection"):
        facets.evaluate(method, System("x", rankings), tasks=["all"])


def failed(collection, rankings):
    return failures(collection, [System("s", rankings)], 100, 0)


def test_failures_are_shares_of_the_first_ranks_and_of_what_can_be_lost(tiny):
    found, turned = (scores_of(failed(tiny, gold_order(tiny, step))) for step in (1, -1))
    # 1_method: 1 3 0, its one relevant paper is in the middle of three; 2_method: 2 0 0
    assert found["csfcube/method", "false positives"] == pytest.approx(100 * (1 / 3 + 2 / 3) / 2)
    assert found["csfcube/method", "lost"] == 0
    assert turned["csfcube/method", "lost"] == 50  # 2_method: last of three
    blind = scores_of(chance(tiny))
    assert blind["csfcube/method", "false positives"] == found["csfcube/method", "false positives"]  # pools under ten
    assert blind["csfcube/method", "lost"] == pytest.approx(100 / 3)  # the last of three places


def test_the_expected_ndcg_of_a_query_is_the_mean_over_random_orders(real):
    expected = next(row for row in chance(real) if row.metric == EXPECTED)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(200):
        orders = {query: list(rng.permutation(list(real.candidates(query)))) for query in real.queries}
        scores = facets.evaluate(real, System("s", orders), tasks=["all"], metrics=["ndcg%20"], resamples=1)
        drawn.append(list(scores[0].by_query.values()))
    of_query = np.array([expected.by_query[name] for name in scores[0].by_query])
    error = np.std(drawn, axis=0, ddof=1) / np.sqrt(len(drawn))
    assert np.all(np.abs(np.mean(drawn, axis=0) - of_query) < 5 * error)
    means = np.mean(drawn, axis=1)
    assert abs(means.mean() - of_query.mean()) < 4 * means.std(ddof=1) / np.sqrt(len(means))
    assert expected.value == pytest.approx(of_query.mean())


def unrelated(collection, *queries):
    nothing = {q: tuple(judged._replace(rating=0) for judged in collection.judgements[q]) for q in queries}
    return replace(collection, judgements=collection.judgements | nothing)


def test_a_query_without_relevant_papers_has_nothing_to_lose(tiny):
    less = unrelated(tiny, Query("2", "method"))
    turned = gold_order(less, -1) | {Query("1", "method"): ["2", "4", "3"]}
    rows = {(r.task, r.metric): r for r in failed(less, turned)}
    assert (rows["csfcube/method", "lost"].value, rows["csfcube/method", "lost"].n) == (100, 1)
    assert rows["csfcube/method", "false positives"].n == 2
    none = unrelated(tiny, *tiny.queries)
    assert {r.metric for r in failed(none, gold_order(none))} == {"false positives"}
    system = System("s", gold_order(none))
    scores = facets.evaluate(none, system, tasks=["all"], metrics=["ndcg%20"], resamples=100)
    assert difficulty(none, scores, 0) == []  # every score is 0: there is nothing to correlate


def test_what_goes_with_the_score_is_a_rank_correlation_over_queries(real):
    system = facet_systems.rank(real, "bm25").system
    scores = facets.evaluate(real, system, tasks=["all"], metrics=["ndcg%20"], resamples=100)
    rows = {row.metric: row for row in difficulty(real, scores, 0)}
    size = [len(real.candidates(query)) for query in real.queries]
    score = [scores[0].by_query[query.query_id] for query in real.queries]
    assert rows[f"{RHO}size of the pool"].value == pytest.approx(spearmanr(size, score).statistic)
    least = [row.value for metric, row in rows.items() if metric.startswith(HOLM_P)]
    assert len(least) == 5 and min(least) < 0.05 < max(least)
