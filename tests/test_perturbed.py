"""Rows of altered texts: values by code, overlaps and similarities by plain loops, paired differences, agreement of tools."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from test_altered import PAPERS as ALTERED
from test_altered import task

from scirep_core.data.perturbations.altered import Made, alter
from scirep_core.data.perturbations.changes import Text
from scirep_core.data.perturbations.linguistics import Tools, find_tools
from scirep_core.data.task import Collection, Task
from scirep_core.encoders.latent import Latent
from scirep_core.evaluators import neighbourhoods, perturbed
from scirep_core.evaluators.changed import tools as tools_
from scirep_core.evaluators.neighbourhoods import overlaps, similarities, standardised
from scirep_core.evaluators.perturbed import Cloud
from scirep_core.evaluators.rows import Asked
from scirep_core.kit.errors import ConfigError
from scirep_core.page.papers import neighbours
from scirep_core.page.papers.neighbours import Subject
from scirep_core.page.parameters import check
from scirep_core.page.rows import way
from scirep_core.results import Result
from scirep_core.results.differences import against_of

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


def drawn(n: int, dim: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = (m.astype(float) / np.linalg.norm(m.astype(float), axis=1, keepdims=True) for m in (a, b))
    return (a @ b.T).astype(np.float32)


@pytest.fixture(params=[1 << 25, 700])
def blocks(request, monkeypatch):
    monkeypatch.setattr(neighbourhoods, "CELLS", request.param)


def test_the_overlap_is_that_of_two_lists(blocks):
    pool, own = drawn(50), np.array([0, 4, 9, 20, 33])
    altered = pool[own] + drawn(5, seed=3)
    everything = np.concatenate([pool, altered])
    chosen = np.array([0, 2, 4])
    for exclude in (False, True):
        expected = []
        for at in chosen:
            lists = []
            for query, place in ((altered[at], 50 + at), (pool[own[at]], own[at])):
                order = np.argsort(-cosines(query[None], everything)[0], kind="stable")
                lists.append([text for text in order if not (exclude and text == place)][:10])
            expected.append(len(set(lists[0]) & set(lists[1])) / 10)
        assert overlaps(altered, pool, own, chosen, (10, 3))[10][exclude].tolist() == expected


def test_an_unchanged_text_overlaps_wholly_and_at_most_nine_in_ten_without_itself():
    pool = drawn(80, 16)
    everyone = np.arange(80)
    assert (overlaps(pool, pool, everyone, everyone, [10])[10].with_self == 1).all()
    assert (overlaps(pool, pool, everyone, everyone, [10])[10].without_self == 0.9).all()


def test_similarities_of_all_pairs_are_those_of_the_full_matrix(blocks):
    vectors = drawn(70) + 0.5
    table = cosines(vectors, vectors).astype(float)
    pairs = table[np.triu_indices(70, 1)]
    found = similarities(vectors)
    assert found[:4] == pytest.approx((pairs.mean(), pairs.std(), pairs.min(), pairs.max()), abs=1e-6)
    assert found.above == pytest.approx((pairs > pairs.mean()).mean())
    assert found.skewness == pytest.approx(stats.skew(pairs), abs=1e-5)
    np.fill_diagonal(table, np.nan)
    assert found.means == pytest.approx(np.nanmean(table, axis=1), abs=1e-6)
    assert found.aboves == pytest.approx(np.nansum(table > pairs.mean(), axis=1) / 69)


def test_standardised_dimensions_have_mean_0_and_deviation_1_and_a_constant_one_is_0():
    vectors = drawn(50) * 3 + 2
    vectors[:, 2] = 7
    found = standardised(vectors)
    assert found.mean(axis=0) == pytest.approx(np.zeros(8), abs=1e-6)
    assert found.std(axis=0) == pytest.approx([1, 1, 0, 1, 1, 1, 1, 1], abs=1e-6)
    assert standardised(vectors[:5], vectors) == pytest.approx(found[:5])


def test_memory_grows_with_the_texts_and_not_with_their_square(monkeypatch):
    monkeypatch.setattr(neighbourhoods, "CELLS", 1 << 20)
    pool = drawn(12_000, 4)
    tracemalloc.start()
    similarities(pool)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20, "of 576 MB for the matrix"


def row(
    metric: str, split: str, value: float, low: float | None = None, high: float | None = None, **more: Any
) -> Result:
    known = {"task": "neighbours/acl_anth", "protocol": "paper", "n": 60, "encoder": "minilm", "source": "embedded",
             "data_hash": "x", "seed": 0} | more  # fmt: skip
    known.setdefault("against", against_of(known["encoder"], metric, split))
    return Result(split=split, metric=metric, value=value, low=low, high=high, **known)


@pytest.mark.parametrize(("shift", "side"), [(5.0, 1), (-5.0, -1), (0.0, 0)])
def test_a_difference_is_paired_draw_by_draw(shift, side):
    noise = np.random.default_rng(0).normal(0, 10, 1000)
    own = np.random.default_rng(1).normal(0, 1, 1000)
    first = row("nn1_ret", "A", 50.0, replicates=(50 + noise).astype(np.float32))
    second = row("nn1_ret", "B", 50.0 - shift, replicates=(50 - shift + noise + own).astype(np.float32))
    found = neighbours.difference(first, second, "B", split="A - B")[0]
    assert found.value == shift and found.split == "A - B" and found.metric == "difference of nn1_ret"
    assert found.low is not None and found.high is not None
    assert way(found) == side
    assert found.high - found.low < 5  # the shared noise of 40 points is gone
    assert neighbours.difference(replace(first, replicates=None), second, "B") == []


def test_an_interval_without_width_at_the_edge_becomes_the_exact_one():
    whole = neighbours.edged(row("nn1_ret", "LL-HS", 100.0, 100.0, 100.0, n=300), 60)
    assert whole.high == 100 and whole.low == pytest.approx(100 * 0.025 ** (1 / 60))
    assert (whole.low / 100) ** 60 == pytest.approx(0.025)
    none = neighbours.edged(row("aop@10", "TDelNN", 0.0, 0.0, 0.0, n=40), 60)
    assert none.low == 0 and none.high == pytest.approx(100 - 100 * 0.025 ** (1 / 40))
    for kept in (row("nn1_ret", "A", 100.0, 98.0, 100.0), row("difference of nn1_ret", "A - B", 0.0, 0.0, 0.0)):
        assert neighbours.edged(kept, 60) == kept


def test_a_category_of_similarities_has_an_interval_of_the_papers_its_codes_share():
    task = Task(
        "neighbours/x", "alternative_self", "PRX", ("mrr",), Collection(tuple(map(str, range(40)))), "folder", "h"
    )
    asked = Asked(task, {}, "paper", "error", (), "cosine", 0)
    draw = np.random.default_rng(5)
    first = draw.standard_normal((40, 8)) + 0.5
    clouds = {
        "T_ARot": Cloud(first, np.arange(40)),
        "T_AShuff": Cloud(first + 0.01 * draw.standard_normal((40, 8)), np.arange(40)),
    }
    found = {(r.metric, r.split): r for r in perturbed.similarity(asked, clouds)}
    one, both = found["inter_mean", "T_ARot"], found["inter_mean", "LL-PS"]
    assert one.low is not None and one.high is not None and both.low is not None and both.high is not None
    assert both.high - both.low == pytest.approx(one.high - one.low, rel=0.15)  # two nearly equal codes: no narrower
    apart = neighbours.difference(one, found["inter_mean", "T_AShuff"], "T_AShuff")[0]
    assert apart.high is not None and apart.low is not None
    assert apart.high - apart.low < 0.1 * (one.high - one.low)  # paired


def test_collections_may_be_none_named_and_encoders_may_not():
    assert check("collections", "") == ""
    assert check("exclude_self", True) is True
    with pytest.raises(Exception, match="encoders"):
        check("encoders", "")


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
    papers = sum(bool(p.abstract) for p in ALTERED)
    rotated, other = rows["identical", "T_ARot"], rows["identical", "T_ASortAsc"]
    assert rotated.n == papers == 3 and rotated.value == pytest.approx(200 / 3)
    assert other.n == 3 and other.note.endswith("1 with one tool alone")
    assert rows["words_in_common", "T_ASortAsc"].n == 2
    assert rows["identical", "T_ASortDesc"].value == 100 == rows["same_tags", "all"].value
    assert all(r.encoder == "fallback" for r in rows.values())


def test_a_large_collection_is_drawn_from():
    many = Subject(task([replace_id(p, i) for i in range(300) for p in ALTERED]), 3, 0, "fallback")
    chosen = tools_.drawn(many.chosen, many.seed)
    assert len(chosen) == tools_.TEXTS == len(set(chosen)) and chosen == sorted(chosen, key=many.ids.index)
    few = Subject(task(), 3, 2, "fallback")
    assert tools_.drawn(few.chosen, few.seed) == few.chosen


def replace_id(paper, at: int):
    return paper._replace(paper_id=f"{paper.paper_id}{at}")
