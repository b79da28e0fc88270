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
from scirep_core.evaluators.facets.facet_failures import HOLM_P, RHO, chance, difficulty, failures
from scirep_core.kit.errors import ConfigError, DataError, NumericError
from scirep_core.kit.records import Query
from scirep_core.results.published import lookup

FACETS = ("background", "method", "result")
PRINTED = ("r_precision_published", "p@20", "r@20", "ndcg%100", "ndcg%20")


def printed_rows(name: str) -> dict[tuple[str, str], str]:
    return {key[1]: p for key, p in lookup("CS-T4").items() if key[0] == name}


def assert_printed(rows, printed):
    """All twenty figures, to the printed decimals."""
    got = {f"{r.task.partition('/')[2]}/{r.metric}": f"{r.value:05.2f}" for r in rows}
    assert len(got) == 20
    assert got == {column: printed[column].value for column in got}


def test_official_specter_pools_give_all_twenty_printed_figures(real, real_folder):
    rankings, warnings = facets.read_rankings(real_folder / "sample_ranked_pools")
    assert warnings == []
    rows = facets.evaluate(real, System("specter_pools", rankings), metrics=PRINTED)
    assert_printed(rows, printed_rows("SPECTER"))


def test_specter_pools_leave_out_the_same_paper_twice_and_that_is_said(real, real_folder):
    rankings, _ = facets.read_rankings(real_folder / "sample_ranked_pools")
    warnings = facets.check(real, rankings)
    assert len(warnings) == 2
    assert all("8781666" in line for line in warnings)
    with pytest.raises(DataError, match="leaves out 1 of 101"):
        facets.evaluate(real, System("specter_pools", rankings), protocol="sound")


def test_bm25_gives_all_twenty_printed_figures(real):
    ranked = facet_systems.rank(real, "bm25")
    rows = facets.evaluate(real, ranked.system, metrics=PRINTED)
    assert_printed(rows, printed_rows("fabs_bm25"))


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


# ------------------------------------------------------------------------------------------------ the tiny one


def gold_order(collection):
    return {q: list(collection.candidates(q)) for q in collection.queries}


def test_folds_are_averaged_as_published(tiny):
    rankings = gold_order(tiny)
    rankings[Query("2", "method")] = ["3", "4", "1"]  # the one relevant paper last: reciprocal rank 1/3
    rows = {(r.task, r.metric): r for r in facets.evaluate(tiny, System("s", rankings), metrics=["mrr"])}
    # method: fold1 = {1_method}: relevant at rank 2 -> 1/2; fold2 = {2_method}: 1/3
    assert rows["csfcube/method", "mrr"].value == pytest.approx(100 * (1 / 2 + 1 / 3) / 2)
    # all: fold1 = {1_background: 1, 1_method: 1/2}, fold2 = {2_method: 1/3, 3_result: 1/3}
    assert rows["csfcube/all", "mrr"].value == pytest.approx(100 * ((1 + 1 / 2) / 2 + 1 / 3) / 2)
    dev = facets.evaluate(tiny, System("s", rankings), metrics=["mrr"], split="dev", tasks=["method"])
    assert dev[0].value == pytest.approx(100 / 3)  # dev is fold1_dev alone: 2_method
    sound = facets.evaluate(tiny, System("s", rankings), metrics=["mrr"], protocol="sound", tasks=["all"])
    assert sound[0].value == pytest.approx(100 * (1 + 1 / 2 + 1 / 3 + 1 / 3) / 4)
    assert sound[0].n == 4


def test_ties_keep_gold_order(tiny):
    ranked = facets.rank_by_scores(tiny, {q: np.zeros(len(tiny.candidates(q))) for q in tiny.queries})
    assert ranked == gold_order(tiny)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop(Query("1", "method")), "query 1_method is not ranked"),
        (lambda r: r.__setitem__(Query("1", "method"), []), "query 1_method: the ranking is empty"),
        (lambda r: r[Query("1", "method")].append("77"), "candidate '77' is not rated"),
        (lambda r: r[Query("1", "method")].append("2"), "candidate '2' is ranked twice"),
        (lambda r: r.__setitem__(Query("9", "method"), ["1"]), "query 9_method is not rated"),
    ],
)
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
    scores[Query("2", "method")][1] = np.nan
    with pytest.raises(NumericError, match="query 2_method, candidate 3"):
        facets.rank_by_scores(tiny, scores)
    vectors = {p: np.ones(2) for p in tiny.papers} | {"4": np.array([1, np.inf])}
    with pytest.raises(NumericError, match="vector of 4"):
        facets.rank_by_vectors(tiny, vectors)


def test_similarities_by_hand():
    query, others = np.array([1.0, 0.0]), np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert facets.similarities(query, others, "l2") == pytest.approx([-1, -np.sqrt(2), -1])
    assert facets.similarities(query, others, "cosine") == pytest.approx([1, 0, 0])
    assert facets.similarities(query, others, "dot") == pytest.approx([2, 0, 0])


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


def test_paired_comparison_has_holm_over_all_tasks(tiny):
    good, bad = gold_order(tiny), {q: list(reversed(tiny.candidates(q))) for q in tiny.queries}
    found = facets.differences(tiny, [System("a", good), System("b", bad)], [("a", "b")], metric="map")
    gaps, ps, adjusted = found[::3], found[1::3], found[2::3]
    assert [gap.task for gap in gaps] == [f"csfcube/{task}" for task in TASKS]
    assert {(row.encoder, row.against, row.protocol) for row in found} == {("a - b", "b", "sound")}
    assert [row.metric for row in found[:3]] == [
        f"{what}difference of map" for what in ("", "p of the ", "Holm p of the ")
    ]
    assert all(p.value <= holm.value <= 1 for p, holm in zip(ps, adjusted, strict=True))
    assert gaps[TASKS.index("background")].value == pytest.approx(100 * (1 - 1 / 3))
    assert ps[TASKS.index("background")].value == 0.5  # two queries: of four sign patterns, two are as extreme


def test_ceiling_and_floor_are_scored_beside_the_systems_and_partial_rankings_by_the_paper_alone(tiny):
    part = {query: order[:-1] for query, order in gold_order(tiny).items()}
    rows = facets.scored(tiny, [System("whole", gold_order(tiny)), System("part", part)], ["map"], resamples=10)
    protocols = {
        name: {row.protocol for row in rows if row.encoder == name} for name in ("whole", "part", "oracle", "random")
    }
    assert protocols == {"whole": {"paper", "sound"}, "part": {"paper"}, "oracle": {"paper"}, "random": {"paper"}}
    floor = {row.task: row.value for row in rows if row.encoder == "random"}
    assert all(floor[row.task] < row.value for row in rows if row.encoder == "oracle")
    differences = facets.differences(
        tiny, [System("a", gold_order(tiny)), System("b", part)], [("a", "b")], metric="map"
    )
    assert {row.protocol for row in differences} == {"paper"}


@pytest.mark.parametrize("name", ["cos", "L2", "euclidean"])
def test_unknown_similarities_are_never_taken_for_another(tiny, name):
    with pytest.raises(ConfigError, match="unknown similarity"):
        facets.rank_by_vectors(tiny, {p: np.ones(2) for p in tiny.papers}, name)
    with pytest.raises(ConfigError, match="unknown similarity"):
        facets.similarities(np.ones(2), np.ones((1, 2)), name)


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


def test_rows_of_all_carry_every_query(tiny):
    row = facets.evaluate(tiny, System("s", gold_order(tiny)), metrics=["mrr"], tasks=["all"])[0]
    assert row.by_query == {"1_background": 100, "1_method": 50, "2_method": 100, "3_result": pytest.approx(100 / 3)}


# ---- where rankings fail ----------------------------------------------------------------------------------------------


def gold(collection, turned=False):
    """Return the gold order of candidates, or its reverse, as a system."""
    step = -1 if turned else 1
    return System("s", {query: list(collection.candidates(query))[::step] for query in collection.queries})


def test_failures_are_shares_of_the_first_ranks_and_of_what_can_be_lost(tiny):
    rows = {(r.task, r.metric): r for r in failures(tiny, [gold(tiny)], 100, 0)}
    # 1_method: 1 3 0, its one relevant paper is in the middle of three; 2_method: 2 0 0
    assert rows["csfcube/method", "false positives"].value == pytest.approx(100 * (1 / 3 + 2 / 3) / 2)
    assert rows["csfcube/method", "lost"].value == 0
    turned = {(r.task, r.metric): r for r in failures(tiny, [gold(tiny, True)], 100, 0)}
    assert turned["csfcube/method", "lost"].value == 50  # 2_method: last of three
    blind = {(r.task, r.metric): r.value for r in chance(tiny)}
    assert (
        blind["csfcube/method", "false positives"] == rows["csfcube/method", "false positives"].value
    )  # pools under ten
    assert blind["csfcube/method", "lost"] == pytest.approx(100 / 3)  # the last of three places


def test_a_query_without_relevant_papers_has_nothing_to_lose(tiny):
    query = Query("2", "method")
    unrelated = tuple(judged._replace(rating=0) for judged in tiny.judgements[query])
    less = replace(tiny, judgements=tiny.judgements | {query: unrelated})
    turned = gold(less, True).rankings | {Query("1", "method"): ["2", "4", "3"]}
    rows = {(r.task, r.metric): r for r in failures(less, [System("s", turned)], 100, 0)}
    assert (rows["csfcube/method", "lost"].value, rows["csfcube/method", "lost"].n) == (100, 1)
    assert rows["csfcube/method", "false positives"].n == 2
    none = replace(tiny, judgements={q: tuple(j._replace(rating=0) for j in of) for q, of in tiny.judgements.items()})
    assert {r.metric for r in failures(none, [gold(none)], 100, 0)} == {"false positives"}
    scores = facets.evaluate(none, gold(none), tasks=["all"], metrics=["ndcg%20"], resamples=100)
    assert difficulty(none, scores, 0) == []  # every score is 0: there is nothing to correlate


def test_what_goes_with_the_score_is_a_rank_correlation_over_queries(real):
    scores = facets.evaluate(
        real, facet_systems.rank(real, "bm25").system, tasks=["all"], metrics=["ndcg%20"], resamples=100
    )
    rows = {row.metric: row for row in difficulty(real, scores, 0)}
    size = [len(real.candidates(query)) for query in real.queries]
    score = [scores[0].by_query[query.query_id] for query in real.queries]
    assert rows[f"{RHO}size of the pool"].value == pytest.approx(spearmanr(size, score).statistic)
    least = [row.value for metric, row in rows.items() if metric.startswith(HOLM_P)]
    assert len(least) == 5 and min(least) < 0.05 < max(least)
