"""Short queries: ranks as the evaluator has them, clusters and brittle queries told where they are planted, and only there."""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import blank_page
import numpy as np
import pytest

from scirep_core.data.perturbations.linguistics import Tools, find_tools
from scirep_core.data.task import Collection, Task
from scirep_core.encoders import SENTENCES
from scirep_core.evaluators import neighbours
from scirep_core.exhibits import counting
from scirep_core.exhibits import neighbours_short_brittle as brittle
from scirep_core.exhibits import neighbours_short_clusters as clusters
from scirep_core.exhibits import neighbours_short_compared as compared
from scirep_core.exhibits import neighbours_short_normalised as normalised
from scirep_core.exhibits import neighbours_short_queries as short
from scirep_core.exhibits import neighbours_short_table3 as table3
from scirep_core.exhibits.neighbours_shared import Subject
from scirep_core.exhibits.neighbours_short_queries import MRR, ONE, SCALED, T100, TWO, Texts
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.records import Paper
from scirep_core.results import Result, recorded
from scirep_core.results.published import Printed, lookup

N, DIM = 60, 12
FRESH = itertools.count()


class Page(blank_page.Page):
    """A chapter whose tools are the fallbacks; its text has no tags."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**({"tools": "fallback"} | parameters))

    @property
    def text(self) -> str:
        return re.sub(r"<[^>]*>", "", super().text)


class Reader:
    """An encoder made of a function of the text."""

    recipe, formats, by_format, dim = SENTENCES, FORMATS, False, DIM

    def __init__(self, of: Callable[[str], Sequence[float]], name: str = "reader") -> None:
        self.of, self.name, self.fingerprint = of, name, f"reader{next(FRESH)}"

    def encode(self, texts: list[str], format: str) -> np.ndarray:
        return np.array([self.of(text) for text in texts], dtype=np.float32)


def subject(
    papers: Sequence[Paper] | int = N, name: str = "neighbours/acl_anth", source: str = "folder", **more: Any
) -> Subject:
    if isinstance(papers, int):
        papers = [
            Paper(f"p{i}", f"A title of {'many ' * (i % 7)}words", "Some words. " * (3 + i % 5)) for i in range(papers)
        ]
    ids = tuple(paper.paper_id for paper in papers)
    task = Task(name, "alternative_self", "PRX", ("mrr", "median_rank", "t100"), Collection(ids), source, "hash",
                texts=lambda: papers, **more)  # fmt: skip
    return Subject(task, 0, 0, "fallback")


def drawn(n: int = N, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, DIM)).astype(np.float32)


def noisy(
    n: int = N, noise: float = 1.5, of: Subject | None = None, reader: Reader | None = None, name: str = "minilm"
) -> Texts:
    whole = drawn(n)
    return Texts(of or subject(n), name, "f", whole + noise * drawn(n, 1), whole, reader)


def by(rows: Sequence[Result]) -> dict[tuple[str, str], Result]:
    return {(row.metric, row.split): row for row in rows}


def live(rows: Sequence[Result]) -> list[Result]:
    return [replace(row, kind="live", chapter=short.CHAPTER) for row in rows]


@pytest.fixture(autouse=True)
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "recorded", lambda name: [])


# ---- ranks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1000, 25])
def test_measures_are_the_evaluators_on_the_same_queries(most, monkeypatch):
    monkeypatch.setattr(neighbours, "QUERIES", most)
    monkeypatch.setattr(short, "QUERIES", most)
    texts = noisy()
    vectors = {f"{key}/t": row for key, row in zip(texts.subject.ids, texts.titles, strict=True)}
    vectors |= {f"{key}/ta": row for key, row in zip(texts.subject.ids, texts.whole, strict=True)}
    found = by([row for row in short.measure([texts]) if row.encoder == "minilm"])
    for row in neighbours.evaluate(texts.subject.task, vectors):
        own = found[MRR if row.metric == "mrr" else row.metric, row.split]
        scale = 100 if row.metric == "mrr" else 1
        assert own.value * scale == pytest.approx(row.value)
        assert (own.low * scale, own.high * scale) == pytest.approx((row.low, row.high), rel=1e-5)
        assert (own.n, own.note) == (row.n, row.note)


def test_three_averages_of_ranks_and_shares_within_a_rank():
    texts = noisy()
    ranks = np.array([1.0] * 30 + [200.0] * 30)
    rows = by(short.rank_rows(texts, ranks, ranks, ONE))
    assert (
        rows[short.HARMONIC, ONE].value
        == pytest.approx(1 / np.mean(1 / ranks))
        == pytest.approx(1 / rows[MRR, ONE].value)
    )
    assert rows[short.MEAN, ONE].value == 100.5
    assert rows[short.MEDIAN, ONE].value == 100.5
    assert rows[T100, ONE].value == 50
    within = {
        m: r.value for (m, s), r in by(short.measure([texts])).items() if m.startswith("found within") and s == ONE
    }
    assert list(within.values()) == sorted(within.values())
    assert "found within rank 100, %" not in within  # there are 60 candidates


def test_ties_that_are_lost_are_in_the_note():
    rows = by(short.rank_rows(noisy(), np.ones(N), np.full(N, 2.0), ONE))
    assert rows[MRR, ONE].note == "with every tie lost: 0.5"


def test_ranks_are_stretched_to_the_printed_size_only_of_a_real_sample():
    texts = noisy()
    rows = by([row for row in short.measure([texts]) if row.encoder == "minilm"])
    best = short.ranks_of(texts)[ONE][0]
    larger = 1 + (best - 1) * (35482 - 1) / (N - 1)
    assert rows[f"{T100}{SCALED}", ONE].value == pytest.approx(100 * np.mean(larger <= 100))
    assert rows[f"{MRR}{SCALED}", ONE].value == pytest.approx(np.mean(1 / larger))
    for other in (subject(source="embedded"), subject(name="my papers")):
        assert not [row for row in short.measure([noisy(of=other)]) if SCALED in row.metric]


def test_more_candidates_never_help_and_their_cost_is_paired():
    rows = by([row for row in short.measure([noisy()]) if row.encoder == "minilm"])
    gap = rows[f"{MRR}, Task II minus Task I", TWO]
    assert gap.value == pytest.approx(rows[MRR, TWO].value - rows[MRR, ONE].value)
    assert gap.low <= gap.value <= gap.high <= 0
    assert len({row.id for row in short.measure([noisy()])}) == len(short.measure([noisy()]))


# ---- Table 3 and what it says ----------------------------------------------------------------------------------------


def changed(monkeypatch: pytest.MonkeyPatch, module: Any, exhibit: str, change: Callable[[Printed], str]) -> None:
    found = {key: one._replace(value=change(one)) for key, one in lookup(exhibit).items()}
    monkeypatch.setattr(module, "lookup", lambda name: found if name == exhibit else lookup(name))


def test_an_average_of_inverse_ranks_is_no_rank_in_print():
    page = Page()
    table3.averages_in_print(page)
    assert "5-7 on average: 1 / MRR is 5.3 to 7.2" in page.text
    assert "67.0 to 74.9 % of the queries" in page.text
    assert "above 100 on 7 of 7 sets" in page.text
    assert "is still 68.0 to 75.9" in page.text
    assert "In no sense but the harmonic one" in page.text
    assert "at best 33 % are in the top 100 follows from the table" in page.text
    assert "where it is 9.5 (Arxiv-MATH), 8.5 (ICLR), 7.6 (Arxiv-HEP)" in page.text


def test_a_table_in_which_most_papers_were_found_would_bear_the_average(monkeypatch):
    changed(monkeypatch, table3, "TN-T3", lambda p: "98" if p.column.endswith("T100") else p.value)
    page = Page()
    table3.averages_in_print(page)
    assert "above 100 on 0 of 7 sets" in page.text
    assert "In no sense" not in page.text
    assert "does not follow from the table" in page.text


def test_a_t100_that_rises_with_more_candidates_is_named():
    page = Page()
    table3.task_two_in_print(page)
    assert "rises on 7 of 7 sets, by up to 9.3 points (Arxiv-HEP)" in page.text
    assert "does not explain it either on Arxiv-MATH, Arxiv-HEP, Arxiv-ECON" in page.text


def test_a_t100_that_falls_is_not(monkeypatch):
    changed(monkeypatch, table3, "TN-T3", lambda p: "20.0" if p.column.startswith("Task II") else p.value)
    page = Page()
    table3.task_two_in_print(page)
    assert "rises" not in page.text


def test_table_3_sets_print_recorded_and_live_side_by_side(monkeypatch):
    rows = live(short.measure([noisy(of=subject(source="embedded"))]))
    old = [replace(row, kind="recorded", data_hash="other", value=row.value / 2) for row in rows]
    monkeypatch.setattr(counting, "recorded", lambda name: old if name == short.CHAPTER else [])
    page = Page()
    table3.table3(page, rows)
    shown = "\n".join(page.said)
    for kind in ("published", "recorded", "live"):
        assert f'<td class="{kind}">' in shown
    assert "SPECTER35,482 papers" in page.text
    assert page.text.count("MiniLM") == 2
    assert "60 papers, recorded" in page.text
    table3.say_table3(page, rows)
    table3.ranks_figure(page, rows)
    table3.averages_of_ours(page, rows)
    assert set(page.figures) == {"ranks-recorded-neighbours-acl_anth", "ranks-live-neighbours-acl_anth"}
    kinds = set(page.figures["ranks-live-neighbours-acl_anth"]["kind"])
    assert kinds == {"published", "live"}


def test_every_recorded_collection_is_shown_with_its_own_name_and_size(monkeypatch):
    """ICLR's run is a file of its own beside that of ACL-ANTH: `results/real/neighbours/short_queries/iclr.jsonl`."""
    monkeypatch.setattr(counting, "recorded", recorded)
    page = Page()
    for show in (table3.table3, table3.say_table3, table3.ranks_figure, clusters.separability, clusters.length_table,
                 normalised.say_l2, normalised.variants_table, brittle.overlaps_table, compared.modern):  # fmt: skip
        page.said.clear()
        show(page, [])
        assert ("ACL-ANTH" in page.text and "ICLR" in page.text) or page.figures, show.__name__
    assert set(page.figures) == {"ranks-recorded-sample-acl_anth", "ranks-recorded-sample-iclr"}
    page.said.clear()
    table3.table3(page, [])
    own = page.text.partition("ICLR: the own text")[2]
    assert "MiniLM3,519 papers, recorded0.960" in own and "9,639" not in own
    assert {row["task"] for row in compared.explorer([])._view["rows"]} == {"sample/acl_anth", "sample/iclr"}


def test_a_collection_of_ones_own_is_shown_without_print():
    page = Page()
    rows = live(short.measure([noisy(of=subject(name="my papers"))]))
    table3.table3(page, rows)
    table3.say_table3(page, rows)
    table3.ranks_figure(page, rows)
    assert "SPECTER" not in page.text
    assert set(page.figures) == {"ranks-live-my papers"}


def test_the_three_schemes_are_drawn_with_their_table():
    page = Page()
    table3.figure1(page)
    data = page.figures["figure-1"]
    assert list(data["query"]) == ["title of p", "title of p", "neighbour of p"]
    assert set(data["sought"]) == {"title + abstract of p"}
    assert "title of p" not in data["candidates"][1].split("; ")  # the own title is no candidate of Task II


# ---- clusters --------------------------------------------------------------------------------------------------------


def two_clouds(reader: Reader | None = None) -> Texts:
    far = np.zeros(DIM)
    far[0] = 40
    return Texts(subject(), "minilm", "f", drawn() + far, drawn(seed=1) - far, reader)


def test_clouds_that_are_apart_are_told_without_a_drawing():
    short_ones = Reader(lambda text: [40.0, *[0.1] * (DIM - 1)])  # what is short lies where titles lie
    rows = clusters.measure([two_clouds(short_ones)])
    found = by(rows)
    assert found[clusters.LINE, "line"].value == 100
    assert found[clusters.TITLES, "mixing"].value == found[clusters.WHOLES, "mixing"].value == 100
    assert found[clusters.PIECES, "line"].value == 100
    assert found[clusters.COSINES[0], "cosines"].value > 0.8 > -0.8 > found[clusters.COSINES[2], "cosines"].value
    page = Page()
    clusters.separability(page, live(rows))
    clusters.length_table(page, live(rows))
    assert "more than nine are titles, as the drawing of SciBERT in print suggests, with MiniLM (100.0" in page.text
    assert "length decides more than style" in page.text


def test_pieces_that_lie_with_whole_texts_mean_style():
    rows = live(clusters.measure([two_clouds(Reader(lambda text: [-40.0, *[0.1] * (DIM - 1)]))]))
    page = Page()
    clusters.length_table(page, rows)
    assert by(rows)[clusters.PIECES, "line"].value == 0
    assert "style decides more than length" in page.text


def test_one_cloud_is_mixed_and_no_line_divides_it():
    apart = Texts(
        subject(400), "minilm", "f", drawn(400), drawn(400, 1), Reader(lambda text: list(drawn(1, len(text))[0]))
    )
    found = by(clusters.measure([apart]))
    assert 40 < found[clusters.LINE, "line"].value < 60
    for metric in (clusters.TITLES, clusters.WHOLES):
        row = found[metric, "mixing"]
        assert 45 < row.value < 55
    for metric in clusters.COSINES:
        row = found[metric, "cosines"]
        assert row.low < 0 < row.high or abs(row.value) < 0.01
    page = Page()
    clusters.separability(page, live(list(found.values())))
    assert "With no encoder here do titles keep to themselves" in page.text


def test_cosines_are_the_plain_means_over_pairs():
    found = by(clusters._cosines(noisy(9, of=subject(9))))
    a, b = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (noisy(9).titles, noisy(9).whole))
    off = ~np.eye(9, dtype=bool)
    wanted = [(a @ a.T)[off].mean(), (b @ b.T)[off].mean(), (a @ b.T)[off].mean(), np.diag(a @ b.T).mean()]
    assert [found[metric, "cosines"].value for metric in clusters.COSINES] == pytest.approx(wanted, abs=1e-6)


def test_the_share_of_the_title_that_pulls_it_near_is_found_and_its_sign_said():
    papers = [Paper(f"p{i}", "word " * (1 + i), "text " * 30) for i in range(30)]
    whole = np.tile([1.0, 0.0], (30, 1))
    angle = np.linspace(1.2, 0.1, 30)  # the longer the title, the nearer
    texts = Texts(subject(papers), "minilm", "f", np.stack([np.cos(angle), np.sin(angle)], axis=1), whole)
    rows = live(list(clusters._lengths(texts)))
    share = by(rows)[f"{clusters.SPEARMAN}{clusters.LENGTHS[2]}", "length"]
    assert share.value == pytest.approx(1)
    assert not [row for row in rows if clusters.LENGTHS[0] in row.metric]  # abstracts of one length tell nothing
    page = Page()
    pieces = texts.row(clusters.PIECES, 50.0, 30, "line", low=40.0, high=60.0)
    clusters.length_table(page, live([*rows, pieces]))
    assert "length and style weigh about the same" in page.text
    assert "the nearer the larger its share of the words" in page.text


def test_a_piece_is_as_long_as_the_title():
    assert clusters.piece_of("three words here", "one two three four") == "one two three"
    assert clusters.piece_of("three words here", "one two three") == ""
    assert clusters.piece_of("a title", "") == ""


def test_the_drawing_is_the_same_again_and_of_few_papers(monkeypatch):
    monkeypatch.setattr(clusters, "DRAWN", 20)
    points = [clusters.tsne(drawn(40), 3) for _ in range(2)]
    assert np.array_equal(*points)
    page = Page()
    clusters.draw(page, [noisy(), noisy(noise=0.1, name="lsa")])
    data = page.figures["tsne-neighbours-acl_anth"]
    assert len(data) == 2 * 2 * 20
    assert set(data["text"]) == {"T", "T+A"}


# ---- normalisation ---------------------------------------------------------------------------------------------------


def test_lengths_change_no_rank_and_a_collection_asked_with_itself_is_first():
    texts = noisy()._replace(titles=noisy().titles * np.linspace(0.01, 90, N)[:, None])
    found = by(normalised.measure([texts]))
    assert found[normalised.CHANGED, ONE].value == found[normalised.STRETCH_CHANGED, ONE].value == 0
    own = normalised.CHAPTER_SPLIT.format(normalised.SELF)
    assert (found[MRR, own].value, found[T100, own].value) == (1, 100)
    page = Page()
    normalised.say_l2(page, live(list(found.values())))
    normalised.self_retrieval(page, live(list(found.values())))
    assert "must repeat Table 3, query by query" in page.text
    assert "13 of 14 values of standardised SPECTER are exactly 1 and 100, the other is 0.99 (ACL-ANTH)" in page.text
    assert "standardisation took no encoder here to 1" in page.text


def test_a_rank_that_l2_changed_would_be_seen(monkeypatch):
    monkeypatch.setattr(normalised, "unit", lambda m: np.asarray(m) - 0.5)  # no normalisation at all
    rows = live(normalised.measure([noisy()]))
    assert by(rows)[normalised.CHANGED, ONE].value > 0
    page = Page()
    normalised.say_l2(page, rows)
    assert "must repeat" not in page.text


def test_standardisation_mends_what_one_dimension_spoils():
    """A dimension that only says title or whole text, and is large, decides every cosine: each by its own, it is gone."""
    texts = noisy(noise=0.2)
    loud = [np.concatenate([m, np.full((N, 1), sign) + drawn(N, 7)[:, :1] * 30], axis=1)
            for m, sign in ((texts.titles, 200.0), (texts.whole, -200.0))]  # fmt: skip
    loud[0][:, -1] = 200 + 30 * drawn(N, 8)[:, 0]
    rows = normalised.measure([texts._replace(titles=loud[0], whole=loud[1])])
    found = by(rows)
    gap = found[f"{MRR}, minus as they are", normalised.CHAPTER_SPLIT.format(normalised.EACH)]
    assert gap.low > 0.3
    page = Page()
    normalised.variants_table(page, live([*rows, *short.rank_rows(texts, np.ones(N), np.ones(N), ONE)]))
    assert f"each standardised by its own {gap.value:+.3f}" in page.text
    assert "better" in page.text


def test_papers_with_one_text_cannot_all_be_first():
    whole = np.concatenate([drawn(30), drawn(30)])
    rows = live(normalised.measure([Texts(subject(), "minilm", "f", whole, whole)]))
    page = Page()
    normalised.self_retrieval(page, rows)
    assert "1.000, 0.5000 if it loses its ties" in page.text


def test_printed_l2_columns_are_within_what_other_queries_do():
    page = Page()
    rows = [noisy().row(normalised.SPREAD, 0.8, N, ONE)]
    normalised.l2_in_print(page, live(rows))
    assert len(page.figures["l2-in-print"]) == 42
    assert "MRR goes up in 11 of 21 cells, down in 8; 21 lie within the noise" in page.text
    assert "T100 goes up in 15 of 21 cells, down in 6; 20 lie within the noise" in page.text
    assert "So other queries are enough to explain print" in page.text
    normalised.standardisation_in_print(page)
    assert (
        "SciBERT on 7 of 7 (mean +0.087); SPECTER on 7 of 7 (mean +0.278); OAG-BERT on 0 of 7 (mean -0.042)"
        in page.text
    )


def test_larger_printed_differences_would_be_more_than_noise(monkeypatch):
    changed(
        monkeypatch, normalised, "TN-T9", lambda p: f"{p.number * 0.7:.3f}" if p.column.startswith("L2") else p.value
    )
    page = Page()
    normalised.l2_in_print(page, live([noisy().row(normalised.SPREAD, 0.8, N, ONE)]))
    assert "That is more than other queries explain" in page.text


def test_noise_is_that_of_two_samples_of_a_finite_set():
    one = next(o for o in normalised.noises(1.0) if (o.metric, o.name, o.model) == ("T100", "ICLR", "OAG-BERT"))
    rng = np.random.default_rng(0)
    papers = np.arange(5032) < 0.2985 * 5032
    gaps = [
        100 * (papers[rng.permutation(5032)[:1000]].mean() - papers[rng.permutation(5032)[:1000]].mean())
        for _ in range(2000)
    ]
    assert one.noise == pytest.approx(1.96 * np.std(gaps), rel=0.06)


# ---- brittle queries -------------------------------------------------------------------------------------------------

LINES = (
    "A study of document vectors", "Neural models for sparse data", "One document vector", "Fast parsing of long sentences",
    "A long sentence", "The sparse vector", "Old news", "Rare words in neural model",
)  # fmt: skip


def tagged() -> Tools:
    nouns = {
        "document",
        "vectors",
        "vector",
        "models",
        "model",
        "data",
        "sentences",
        "sentence",
        "words",
        "news",
        "study",
    }
    adjectives = {"neural", "sparse", "long", "old", "rare", "fast"}
    tags = {**dict.fromkeys(nouns, "NOUN"), **dict.fromkeys(adjectives, "ADJ")}
    return replace(
        find_tools("fallback"), sentences=lambda text: [text], tokens=str.split,
        tags=lambda tokens: [tags.get(token.lower(), "X") for token in tokens],
    )  # fmt: skip


def small() -> Subject:
    return subject([Paper(f"p{i}", title, "We count. " * 3) for i, title in enumerate(LINES)])


def test_phrases_are_of_titles_and_both_numbers_are_words_of_the_collection():
    found = brittle.phrases(small(), tagged())
    assert {one.text for one in found} == {
        "document vectors", "document vector", "neural models", "neural model", "long sentences", "long sentence", "sparse vector",
    }  # fmt: skip
    one = next(one for one in found if one.text == "document vector")
    assert (one.number, one.garbled) == ("document vectors", "documen vector")
    assert one.foreign.split()[1] == "vector"
    assert one.foreign.split()[0] != "document"
    assert brittle.phrases(small(), tagged()) == found
    assert len(brittle.phrases(small(), tagged(), most=3)) == 3


@pytest.mark.parametrize(
    ("word", "other"),
    [("vector", "vectors"), ("classes", "classe"), ("class", ""), ("corpus", ""), ("basis", ""), ("news", "")],
)
def test_other_numbers(word, other):
    assert brittle.other_number(word) == other


def hashed(text: str) -> list[float]:
    return list(np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIM))


def base(text: str) -> str:
    """The words without their plural s, a lost last letter of the first word found again."""
    first, last = text.split()
    return f"{ {'documen': 'document', 'neura': 'neural', 'lon': 'long', 'spars': 'sparse'}.get(first, first) } {last.rstrip('s')}"


@pytest.mark.parametrize(
    ("of", "number", "letter", "says"),
    [
        (lambda text: base(text), (100, 100), (100, 100), "which hurts more is not settled"),
        (lambda text: text.replace("vectors", "vector").replace("models", "model").replace("sentences", "sentence"),
         (100, 100), (0, 99), "the letter hurts more"),
        (lambda text: f"{base(text).split()[0]} {text.split()[1]}", (0, 99), (100, 100), "the number hurts more"),
    ],
)  # fmt: skip
def test_an_encoder_is_as_brittle_as_it_is(of, number, letter, says):
    many = subject([Paper(f"p{i}", LINES[i % len(LINES)], "We count. " * 3) for i in range(200)])
    reader = Reader(lambda text: hashed(of(text)))
    texts = Texts(many, "minilm", "f", drawn(200), drawn(200), reader)
    rows = live(list(brittle._of_phrases(texts, brittle.phrases(many, tagged()))))
    for form, (least, most) in ((brittle.NUMBER, number), (brittle.LETTER, letter)):
        assert least <= by(rows)[brittle.OVERLAP, form].value <= most
    page = Page()
    brittle.overlaps_table(page, rows)
    assert says in page.text


def test_a_garbled_phrase_nearer_to_another_is_counted_and_the_example_told():
    def of(text: str) -> list[float]:
        astray = "documen " in text or "Virus" in text
        return [1.0, 0.0, *[0.0] * (DIM - 2)] if astray else [0.0, 1.0, *[0.0] * (DIM - 2)]

    texts = Texts(small(), "minilm", "f", drawn(8), drawn(8), Reader(of))
    phrase = brittle.Phrase("document vector", "document vectors", "documen vector", "Virus vector")
    rows = live(brittle.measure([texts], {texts.subject.task.name: [phrase]}))
    assert by(rows)[brittle.WRONG, brittle.LETTER].value == 100
    page = Page()
    brittle.introduction_table(page, rows)
    assert "MiniLM does what the paper reports of SciBERT (1.00 against 0.00)" in page.text


def test_a_form_without_a_vector_finds_nothing():
    reader = Reader(lambda text: [0.0] * DIM if "documen " in text else hashed(text))
    texts = Texts(small(), "minilm", "f", drawn(8), drawn(8), reader)
    own = [one for one in brittle.phrases(small(), tagged()) if one.text.startswith("document")]
    found = by(brittle.measure([texts], {texts.subject.task.name: own}))
    row = found[brittle.OVERLAP, brittle.LETTER]
    assert row.value == 0
    assert row.note == "2 forms have no vector and find nothing"
    assert found[brittle.NONE, brittle.LETTER].value == 100
    assert found["cosine with document vector", brittle.GARBLED].note == "no vector of documen vector"


def test_shares_count_papers_in_any_order():
    first, second = np.array([[0, 1, 2, 3], [0, 1, 2, 3]]), np.array([[3, 2, 8, 9], [0, 1, 2, 3]])
    assert brittle.shared(first, second, np.array([False, True])).tolist() == [0.5, 0.0]


def test_the_example_is_the_pair_in_the_middle_and_marks_what_one_form_alone_finds():
    whole = np.eye(DIM)[np.arange(60) % DIM].astype(np.float32)  # five papers in each of twelve directions
    first = [0.0] * DIM
    first[:2] = [1.0, 0.9]
    half, none = list(first), [0.0] * 10 + [1.0, 0.9]
    half[1:3] = [0.0, 0.9]
    found = {"a b": first, "a bs": first, "c d": first, "c ds": half, "e f": first, "e fs": none}
    texts = Texts(subject(), "minilm", "f", drawn(60), whole, Reader(lambda text: found[text]))
    own = [brittle.Phrase(text, f"{text}s", "", "") for text in ("e f", "a b", "c d")]
    page = Page()
    brittle.example(page, [texts], {texts.subject.task.name: own})
    assert (
        "the first 10 papers for a phrase and for its other number. 5 are in common, as in the middle of the 3"
        in page.text
    )
    assert "“c d”" in page.text and page.text.count("(only here)") == 10


def test_collections_without_such_phrases_are_passed_over():
    texts = Texts(small(), "minilm", "f", drawn(8), drawn(8), Reader(hashed))
    rows = live(brittle.measure([texts], {texts.subject.task.name: []}))
    page = Page()
    brittle.overlaps_table(page, rows)
    brittle.introduction_table(page, rows)
    brittle.example(page, [texts], {texts.subject.task.name: []})
    assert {row.split for row in rows} == {brittle.GARBLED}


# ---- encoders compared -----------------------------------------------------------------------------------------------


def test_what_a_modern_encoder_changes_follows_from_intervals():
    of = subject()
    good = Texts(of, "minilm", "f", drawn() + 0.1 * drawn(seed=1), drawn())
    bad = Texts(of, "lsa", "g", drawn() + 9 * drawn(seed=1), drawn())
    for pair, says in (
        ((good, bad), "counting terms does worse"),
        ((good._replace(name="lsa"), bad._replace(name="minilm")), "does better"),
    ):
        page = Page()
        compared.modern(page, live(short.measure(pair)))
        assert says in page.text
        assert "94.3 of SPECTER" in page.text
    page = Page()
    compared.modern(page, live(short.measure([bad])))
    assert "This run has no language model" in page.text


def test_the_explorer_holds_both_encoders_and_their_paired_difference():
    of = subject()
    pair = [
        Texts(of, "minilm", "f", drawn() + 0.1 * drawn(seed=1), drawn()),
        Texts(of, "lsa", "g", drawn() + 9 * drawn(seed=1), drawn()),
    ]
    rows = short.measure(pair)
    gaps = list(compared.differences(rows))
    found = {(row.encoder, row.metric, row.split): row for row in [*rows, *gaps]}
    metric = "found within rank 1, %"
    gap = found["minilm - lsa", f"difference of {metric}", ONE]
    assert gap.value == pytest.approx(found["minilm", metric, ONE].value - found["lsa", metric, ONE].value)
    assert gap.low > 0
    widget = compared.explorer(live([*rows, *gaps]))
    assert (widget.selection["first"], widget.selection["second"]) == ("minilm", "lsa")
    assert "MiniLM" in widget.static_fallback()
    assert short.systems_of([*rows, *gaps], of.task.name) == ["minilm", "lsa"]
