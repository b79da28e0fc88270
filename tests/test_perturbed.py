"""Rows of altered texts: values by code, overlaps and similarities by plain loops, paired differences, agreement of tools."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from counted import peak
from scipy import stats
from small_files import refused
from test_altered import PAPERS as ALTERED
from test_altered import task
from test_search import drawn

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
from scirep_core.page.rows import way
from scirep_core.results import Result
from scirep_core.results.differences import against_of

pytestmark = pytest.mark.usefixtures("home")
PAPERS = 40
IDS = tuple(map(str, range(PAPERS)))
ASKED = Asked(Task("neighbours/x", "alternative_self", "PRX", ("mrr",), Collection(IDS), "folder", "hash"),
              {}, "paper", "error", (), "cosine", 0)  # fmt: skip


POOL = drawn(PAPERS, 16)


def cloud(noise, own=range(PAPERS)):
    own = np.array(own, dtype=np.int64)
    return Cloud(POOL[own] + noise * drawn(len(own), 16, 1), own)


NOWHERE = cloud(0, [])
CLOUDS = {
    "T_ARot": cloud(0), "T_AShuff": cloud(2.0), "T_ADelNN": cloud(9.0, range(0, 40, 2)), "TDelNN": cloud(1.5, [3, 4, 5, 6]),
}  # fmt: skip
DISSIMILAR = ("T_ADelNN", "TDelNN")


def by(rows):
    return {(row.metric, row.split): row for row in rows}


def test_retrieval_by_code_is_a_share_and_by_category_the_mean_of_shares():
    found = by(perturbed.retrieval(ASKED, POOL, CLOUDS))
    assert found["nn1_ret", "T_ARot"].value == 100 and found["nn1_ret", "T_ARot"].n == 40
    (a, b), category, pooled = (
        [found["nn10_ret", code] for code in DISSIMILAR], found["nn10_ret", "LO-DS"], found["nn10_ret_pooled", "LO-DS"],
    )  # fmt: skip
    assert (a.n, b.n, category.n, pooled.n, category.note) == (20, 4, 24, 24, "over 2 codes")
    assert category.value == pytest.approx((a.value + b.value) / 2)
    assert pooled.value == pytest.approx((a.value * 20 + b.value * 4) / 24)
    assert not any(split == "LL-HS" for _, split in found)
    assert all(row.low <= row.value <= row.high for row in found.values() if row.metric != "median_rank")


def test_intervals_draw_the_same_papers_for_every_code():
    found = by(perturbed.retrieval(ASKED, POOL, {"T_ARot": cloud(2.0), "T_AShuff": cloud(2.0)}))
    a, b, both = (found["nn1_ret", split].replicates for split in ("T_ARot", "T_AShuff", "LL-PS"))
    assert (a == b).all() and both == pytest.approx(a)  # two equal codes are no more evidence than one


def test_intervals_cover_the_truth_as_often_as_they_say():
    """Shares of papers, and means over pairs, whose interval is that of the documents: drawn anew, about 95 % hold it."""
    shares, means = [], []
    for seed in range(300):
        hits, vectors = np.random.default_rng(seed).random(PAPERS) < 0.6, drawn(30, 5, seed) + 0.6
        share = {"T_ARot": hits.astype(float)}
        rows = perturbed._rows(ASKED._replace(seed=seed), "nn1_ret", share, {"T_ARot": cloud(0)}, PAPERS, "")
        shares.append(by(rows)["nn1_ret", "T_ARot"])
        means.append(by(perturbed.similarity(ASKED, {"T_ARot": Cloud(vectors, np.arange(30))}))["inter_mean", "T_ARot"])
    for rows, truth in ((shares, 60.0), (means, np.mean([row.value for row in means]))):
        assert 0.88 <= np.mean([row.low <= truth <= row.high for row in rows]) <= 0.99


def test_a_vector_counts_as_the_originals_up_to_rounding_and_whatever_its_length():
    moved = Cloud(np.concatenate([3 * POOL[:2], POOL[2:4] + 1e-4, POOL[5:6]]), np.arange(5))
    rows = perturbed.same_vector(ASKED, POOL, {"T_ARot": moved, "TDelNN": cloud(1.5), "T_ADelNN": NOWHERE})
    assert {row.split: (row.value, row.n) for row in rows} == {"T_ARot": (80, 5), "TDelNN": (0, 40)}


def test_overlap_draws_its_papers_and_says_how_many():
    both = perturbed.overlap(ASKED, POOL, CLOUDS, queries=10)
    found, alone = by(both.with_self), by(both.without_self)
    assert found["aop@10", "T_ARot"].value == 100 and found["aop@10", "T_ARot"].n == 10
    assert found["aop@10", "TDelNN"].n == 4 and alone["aop@10", "T_ARot"].value == pytest.approx(90)
    mean = np.mean([found["aop@10", code].value for code in DISSIMILAR])
    assert found["aop@10", "LO-DS"].value == pytest.approx(mean)


def test_similarities_are_given_by_code_and_joined_by_category():
    found = by(perturbed.similarity(ASKED, CLOUDS))
    assert {split for _, split in found} == {*CLOUDS, "LL-PS", "LO-DS"}
    for metric, join in (("inter_mean", np.mean), ("inter_min", min), ("inter_max", max)):
        assert found[metric, "LO-DS"].value == pytest.approx(join([found[metric, code].value for code in DISSIMILAR]))
    row = found["inter_mean", "T_ARot"]
    assert row.low < row.value < row.high and row.pool == "780 pairs" and found["inter_min", "T_ARot"].low is None


def test_a_category_of_similarities_has_an_interval_of_the_papers_its_codes_share():
    first = drawn(40, seed=5) + 0.5
    clouds = {"T_ARot": first, "T_AShuff": first + 0.01 * drawn(40, seed=6)}
    found = by(perturbed.similarity(ASKED, {code: Cloud(vectors, np.arange(40)) for code, vectors in clouds.items()}))
    one, other, both = (found["inter_mean", split] for split in ("T_ARot", "T_AShuff", "LL-PS"))
    (apart,) = neighbours.difference(one, other, "T_AShuff")
    width = one.high - one.low
    assert both.high - both.low == pytest.approx(width, rel=0.15)  # two nearly equal codes: no narrower
    assert apart.high - apart.low < 0.1 * width  # paired


def test_codes_that_apply_nowhere_leave_no_row():
    nothing = {"T_ADelNum": NOWHERE, "T_ARot": CLOUDS["T_ARot"]}
    overlap = perturbed.overlap(ASKED, POOL, nothing)
    for rows in (perturbed.retrieval(ASKED, POOL, nothing), *overlap, perturbed.similarity(ASKED, nothing)):
        assert {row.split for row in rows} == {"T_ARot", "LL-PS"}


TEXTS = "large graphs of words, graphs of words grow, dense data and models, models of data, words and models"
CORPUS = TEXTS.split(", ")


def test_latent_words_do_not_see_order_and_latent_characters_see_a_lost_letter():
    words, letters = Latent("lsa", CORPUS, 3), Latent("characters", CORPUS, 3)
    a, b = words.encode(["graphs of words", "WORDS  of graphs"], "PRX")
    assert a == pytest.approx(b) and np.linalg.norm(a) == pytest.approx(1)
    assert not words.encode(["grahps"], "PRX").any() and letters.encode(["graph"], "PRX").any()
    assert words.encode(["unknown"], "PRX").tolist() == [[0] * words.dim]


def test_a_latent_encoder_is_named_by_its_corpus_which_must_share_terms():
    fingerprint = Latent("lsa", CORPUS).fingerprint
    assert fingerprint == Latent("lsa", CORPUS[::-1]).fingerprint != Latent("lsa", CORPUS[1:]).fingerprint
    refused(lambda: Latent("caracters", CORPUS), "characters", error=ConfigError)
    for corpus, terms in (([], 0), (["large graphs"], 0), (["graphs", "graphs grow", "data"], 1)):
        said = f"lsa: {terms} terms stand in two of {len(corpus)} different texts"
        refused(lambda corpus=corpus: Latent("lsa", corpus).encode(["graphs"], "PRX"), said, error=ConfigError)


def cosines(a, b):
    a, b = (m.astype(float) / np.linalg.norm(m.astype(float), axis=1, keepdims=True) for m in (a, b))
    return (a @ b.T).astype(np.float32)


@pytest.fixture(params=[1 << 25, 700])
def blocks(request, monkeypatch):
    monkeypatch.setattr(neighbourhoods, "CELLS", request.param)


@pytest.mark.parametrize("exclude", [False, True])
def test_the_overlap_is_that_of_two_lists(blocks, exclude):
    pool, own, chosen, expected = drawn(50), np.array([0, 4, 9, 20, 33]), np.array([0, 2, 4]), []
    altered = pool[own] + drawn(5, seed=3)
    everything = np.concatenate([pool, altered])
    for at in chosen:
        lists = []
        for query, place in ((altered[at], 50 + at), (pool[own[at]], own[at])):
            order = np.argsort(-cosines(query[None], everything)[0], kind="stable")
            lists.append([text for text in order if not (exclude and text == place)][:10])
        expected.append(len(set(lists[0]) & set(lists[1])) / 10)
    assert overlaps(altered, pool, own, chosen, (10, 3))[10][exclude].tolist() == expected


def test_an_unchanged_text_overlaps_wholly_and_at_most_nine_in_ten_without_itself():
    pool, everyone = drawn(80, 16), np.arange(80)
    found = overlaps(pool, pool, everyone, everyone, [10])[10]
    assert (found.with_self == 1).all() and (found.without_self == 0.9).all()


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
    assert peak(lambda: similarities(pool)) < 64 << 20, "of 576 MB for the matrix"


def row(metric, split, value, low=None, high=None, n=60, **more):
    return Result(
        "neighbours/acl_anth", split, metric, "paper", value, n, encoder="minilm", source="embedded", data_hash="x", seed=0,
        against=against_of("minilm", metric, split), low=low, high=high, **more,
    )  # fmt: skip


@pytest.mark.parametrize(("shift", "side"), [(5.0, 1), (-5.0, -1), (0.0, 0)])
def test_a_difference_is_paired_draw_by_draw(shift, side):
    noise, own = np.random.default_rng(0).normal(0, 10, 1000), np.random.default_rng(1).normal(0, 1, 1000)
    first = row("nn1_ret", "A", 50.0, replicates=(50 + noise).astype(np.float32))
    second = row("nn1_ret", "B", 50.0 - shift, replicates=(50 - shift + noise + own).astype(np.float32))
    (found,) = neighbours.difference(first, second, "B", split="A - B")
    assert (found.value, found.split, found.metric, way(found)) == (shift, "A - B", "difference of nn1_ret", side)
    assert 0 < found.high - found.low < 5  # the shared noise of 40 points is gone
    assert neighbours.difference(replace(first, replicates=None), second, "B") == []


def test_an_interval_without_width_at_the_edge_becomes_the_exact_one():
    whole = neighbours.edged(row("nn1_ret", "LL-HS", 100.0, 100.0, 100.0, n=300), 60)
    assert whole.high == 100 and (whole.low / 100) ** 60 == pytest.approx(0.025)
    none = neighbours.edged(row("aop@10", "TDelNN", 0.0, 0.0, 0.0, n=40), 60)
    assert none.low == 0 and none.high == pytest.approx(100 - 100 * 0.025 ** (1 / 40))
    for kept in (row("nn1_ret", "A", 100.0, 98.0, 100.0), row("difference of nn1_ret", "A - B", 0.0, 0.0, 0.0)):
        assert neighbours.edged(kept, 60) == kept


def tools(tags, phrases, antonyms):
    return Tools(
        lambda text: [part.strip() + " ." for part in text.split(".") if part.strip()], str.split,
        lambda tokens: [tags.get(token, "X") for token in tokens], lambda tokens: [p for p in phrases if p in " ".join(tokens)],
        antonyms.get, {"tags": "NLTK"},
    )  # fmt: skip


ADJECTIVES = {"big": "small", "old": "new"}
ONE = tools({"big": "ADJ", "model": "NOUN", "runs": "VERB", "old": "ADJ"}, ["big model", "old idea"], ADJECTIVES)
OTHER = tools({"big": "ADJ", "model": "VERB", "runs": "VERB"}, ["big model"], {"big": "little"})


def test_each_share_is_counted_on_the_references_tokens():
    found = tools_.compare(["big model runs . old idea runs", "", "big model"], ONE, OTHER)
    assert found.texts == 2, "an empty abstract is left out"
    # tokens: big model runs . old idea runs . | big model . : model (twice) and old have another tag
    for (metric, split), share in {
        ("same_sentences", "all"): (2, 2), ("same_tokens", "all"): (2, 2), ("same_tags", "all"): (8, 11),
        ("precision", "VERB"): (2, 4), ("recall", "VERB"): (2, 2), ("precision", "NOUN"): (0, 0), ("recall", "NOUN"): (0, 2),
        ("phrase_precision", "all"): (2, 2), ("phrase_recall", "all"): (2, 3), ("phrase_f1", "all"): (4, 5),
        ("same_antonyms", "all"): (0, 3), ("opposites_found", "all"): (2, 3),
    }.items():  # fmt: skip
        assert tuple(part.sum() for part in found.shares[metric, split]) == share, (metric, split)
    split = tools_.compare(["big ; model"], ONE, replace(OTHER, sentences=lambda text: text.split(";")))
    assert [part.tolist() for part in split.shares["same_sentences", "all"]] == [[0], [1]]


@pytest.mark.parametrize(("one", "other", "share"), [
    (Text("a b", "c c"), Text("b", "c d"), 2 * 2 / 7), (Text("", ""), Text("", ""), 1), (Text("a", ""), Text("", ""), 0),
])  # fmt: skip
def test_words_in_common_counts_each_word_as_often_as_it_stands(one, other, share):
    assert tools_.words_in_common(one, other) == pytest.approx(share)


def test_by_code_identical_neighbours_are_shares_of_the_papers_with_any(monkeypatch):
    def both(given, papers, seed, tools, progress):
        made = alter(given, papers, seed=seed, tools="fallback")
        if tools == "fallback":
            return made
        rotated, ascending = made.by_code["T_ARot"], made.by_code["T_ASortAsc"]
        texts = (Text("another title", rotated.texts[0].abstract), *rotated.texts[1:])
        fewer = replace(ascending, ids=rotated.ids[1:], texts=rotated.texts[1:])
        return Made(made.by_code | {"T_ARot": replace(rotated, texts=texts), "T_ASortAsc": fewer}, made.tools)

    monkeypatch.setattr(tools_, "alter", both)
    monkeypatch.setattr(tools_, "reference", lambda: (find_tools("fallback"), ""))
    one = Subject(task(), 0, 0, "fallback")
    rows = by(tools_.measure(one.asked(), one.chosen))
    rotated, other = rows["identical", "T_ARot"], rows["identical", "T_ASortAsc"]
    assert rotated.n == other.n == sum(bool(p.abstract) for p in ALTERED) == 3
    assert rotated.value == pytest.approx(200 / 3) and other.note.endswith("1 with one tool alone")
    assert rows["words_in_common", "T_ASortAsc"].n == 2
    assert rows["identical", "T_ASortDesc"].value == 100 == rows["same_tags", "all"].value
    assert {r.encoder for r in rows.values()} == {"fallback"}


def test_a_large_collection_is_drawn_from():
    papers = [p._replace(paper_id=f"{p.paper_id}{i}") for i in range(300) for p in ALTERED]
    many, few = Subject(task(papers), 3, 0, "fallback"), Subject(task(), 3, 2, "fallback")
    chosen = tools_.drawn(many.chosen, many.seed)
    assert len(chosen) == tools_.TEXTS == len(set(chosen)) and chosen == sorted(chosen, key=many.ids.index)
    assert tools_.drawn(few.chosen, few.seed) == few.chosen
