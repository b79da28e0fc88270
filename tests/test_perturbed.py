"""Rows of altered texts: values by code and category, intervals that draw papers, counts of queries."""

from __future__ import annotations

import numpy as np
import pytest

from scirep_core.data.task import Collection, Task
from scirep_core.encoders.latent import Latent
from scirep_core.evaluators import perturbed
from scirep_core.evaluators.perturbed import Cloud
from scirep_core.evaluators.rows import Asked
from scirep_core.kit.errors import ConfigError

PAPERS = 40
TASK = Task(
    "neighbours/x", "alternative_self", "PRX", ("mrr",), Collection(tuple(map(str, range(PAPERS)))), "folder", "hash"
)
ASKED = Asked(TASK, {}, "paper", "error", (), "cosine", 0)
POOL = np.random.default_rng(0).standard_normal((PAPERS, 16)).astype(np.float32)


def cloud(noise: float, own=range(PAPERS), seed: int = 1) -> Cloud:
    own = np.array(own)
    return Cloud(
        POOL[own] + noise * np.random.default_rng(seed).standard_normal((len(own), 16)).astype(np.float32), own
    )


CLOUDS = {
    "T_ARot": cloud(0),
    "T_AShuff": cloud(2.0),
    "T_ADelNN": cloud(9.0, range(0, 40, 2)),
    "TDelNN": cloud(1.5, [3, 4, 5, 6]),
}


def by(rows):
    return {(row.metric, row.split): row for row in rows}


def test_retrieval_by_code_is_a_share_and_by_category_the_mean_of_shares():
    found = by(perturbed.retrieval(ASKED, POOL, CLOUDS))
    assert found["nn1_ret", "T_ARot"].value == 100 and found["nn1_ret", "T_ARot"].n == 40
    codes = [found["nn10_ret", code] for code in ("T_ADelNN", "TDelNN")]
    assert [row.n for row in codes] == [20, 4]
    category, pooled = found["nn10_ret", "LO-DS"], found["nn10_ret_pooled", "LO-DS"]
    assert category.value == pytest.approx(np.mean([row.value for row in codes]))
    assert pooled.value == pytest.approx((codes[0].value * 20 + codes[1].value * 4) / 24)
    assert category.n == pooled.n == 24 and category.note == "over 2 codes"
    assert not any(split == "LL-HS" for _, split in found)
    assert all(row.low <= row.value <= row.high for row in found.values() if row.metric != "median_rank")


def test_intervals_draw_the_same_papers_for_every_code():
    twins = {"T_ARot": cloud(2.0), "T_AShuff": cloud(2.0)}
    found = by(perturbed.retrieval(ASKED, POOL, twins))
    a, b, both = (found["nn1_ret", split].replicates for split in ("T_ARot", "T_AShuff", "LL-PS"))
    assert (a == b).all() and both == pytest.approx(a)  # two equal codes are no more evidence than one


def test_an_interval_covers_the_truth_as_often_as_it_says():
    truth, inside = 60.0, 0
    for seed in range(200):
        hits = (np.random.default_rng(seed).random(PAPERS) < truth / 100).astype(float)
        asked = ASKED._replace(seed=seed)
        row = by(perturbed._rows(asked, "nn1_ret", {"T_ARot": hits}, {"T_ARot": cloud(0)}, PAPERS, ""))[
            "nn1_ret", "T_ARot"
        ]
        inside += row.low <= truth <= row.high
    assert 0.87 <= inside / 200 <= 0.99


def test_a_vector_counts_as_the_originals_up_to_rounding_and_whatever_its_length():
    moved = Cloud(np.concatenate([3 * POOL[:2], POOL[2:4] + 1e-4, POOL[5:6]]), np.arange(5))
    rows = perturbed.same_vector(
        ASKED, POOL, {"T_ARot": moved, "TDelNN": cloud(1.5), "T_ADelNN": Cloud(POOL[:0], np.arange(0))}
    )
    assert {row.split: (row.value, row.n) for row in rows} == {"T_ARot": (80, 5), "TDelNN": (0, 40)}


def test_overlap_draws_its_papers_and_says_how_many():
    both = perturbed.overlap(ASKED, POOL, CLOUDS, queries=10)
    found, alone = by(both.with_self), by(both.without_self)
    assert found["aop@10", "T_ARot"].value == 100 and found["aop@10", "T_ARot"].n == 10
    assert found["aop@10", "TDelNN"].n == 4
    assert found["aop@10", "LO-DS"].value == pytest.approx(
        np.mean([found["aop@10", code].value for code in ("T_ADelNN", "TDelNN")])
    )
    assert alone["aop@10", "T_ARot"].value == pytest.approx(90)


def test_similarities_are_given_by_code_and_joined_by_category():
    found = by(perturbed.similarity(ASKED, CLOUDS))
    assert {split for _, split in found} == {*CLOUDS, "LL-PS", "LO-DS"}
    for metric, join in (("inter_mean", np.mean), ("inter_min", min), ("inter_max", max)):
        assert found[metric, "LO-DS"].value == pytest.approx(
            join([found[metric, code].value for code in ("T_ADelNN", "TDelNN")])
        )
    row = found["inter_mean", "T_ARot"]
    assert row.low < row.value < row.high and row.pool == "780 pairs"
    assert found["inter_min", "T_ARot"].low is None


def test_the_interval_of_a_mean_over_pairs_is_that_of_its_documents():
    """Drawn anew 300 times from one cloud of normal vectors, 95 % of the intervals hold the mean of all draws."""
    values = []
    for seed in range(300):
        vectors = np.random.default_rng(seed).standard_normal((30, 5)) + 0.6
        row = by(perturbed.similarity(ASKED, {"T_ARot": Cloud(vectors, np.arange(30))}))["inter_mean", "T_ARot"]
        values.append((row.low, row.value, row.high))
    low, value, high = np.array(values).T
    assert 0.88 <= np.mean((low <= value.mean()) & (value.mean() <= high)) <= 0.99


def test_codes_that_apply_nowhere_leave_no_row():
    nothing = {"T_ADelNum": Cloud(np.empty((0, 16), np.float32), np.empty(0, np.int64)), "T_ARot": CLOUDS["T_ARot"]}
    for rows in (
        perturbed.retrieval(ASKED, POOL, nothing),
        *perturbed.overlap(ASKED, POOL, nothing),
        perturbed.similarity(ASKED, nothing),
    ):
        assert {row.split for row in rows} == {"T_ARot", "LL-PS"}


CORPUS = [
    "large graphs of words",
    "graphs of words grow",
    "dense data and models",
    "models of data",
    "words and models",
]


def test_latent_words_do_not_see_order_and_latent_characters_see_a_lost_letter():
    words, letters = Latent("lsa", CORPUS, 3), Latent("characters", CORPUS, 3)
    a, b = words.encode(["graphs of words", "WORDS  of graphs"], "PRX")
    assert a == pytest.approx(b) and np.linalg.norm(a) == pytest.approx(1)
    assert not words.encode(["grahps"], "PRX").any() and letters.encode(["graph"], "PRX").any()
    assert words.encode(["unknown"], "PRX").tolist() == [[0] * words.dim]


def test_a_latent_encoder_is_named_by_its_corpus():
    assert Latent("lsa", CORPUS).fingerprint == Latent("lsa", CORPUS[::-1]).fingerprint
    assert Latent("lsa", CORPUS).fingerprint != Latent("lsa", CORPUS[1:]).fingerprint
    with pytest.raises(ConfigError, match="characters"):
        Latent("caracters", CORPUS)


@pytest.mark.parametrize(("corpus", "terms"), [([], 0), (["large graphs"], 0), (["graphs", "graphs grow", "data"], 1)])
def test_texts_that_share_no_terms_have_no_latent_dimensions(corpus, terms):
    with pytest.raises(ConfigError, match=f"lsa: {terms} terms stand in two of {len(corpus)} different texts"):
        Latent("lsa", corpus).encode(["graphs"], "PRX")
