"""Short queries: ranks as the evaluator has them, clusters and brittle queries found where they are planted, and only there."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from scirep_core.data.perturbations.linguistics import Tools, find_tools
from scirep_core.data.task import Collection, Task
from scirep_core.encoders import SENTENCES
from scirep_core.evaluators import neighbours
from scirep_core.evaluators.short import Texts, phrases, self_retrieval, separation
from scirep_core.evaluators.short.self_retrieval import MRR, ONE, SCALED, T100, TWO
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.records import Paper
from scirep_core.page.papers.neighbours import noise_of_shares
from scirep_core.results import Result

N, DIM = 60, 12
FRESH = itertools.count()


class Reader:
    recipe, formats, by_format, dim = SENTENCES, FORMATS, False, DIM

    def __init__(self, of: Callable[[str], Sequence[float]], name: str = "reader") -> None:
        self.of, self.name, self.fingerprint = of, name, f"reader{next(FRESH)}"

    def encode(self, texts: list[str], format: str) -> np.ndarray:
        return np.array([self.of(text) for text in texts], dtype=np.float32)


def collection(papers: Sequence[Paper] | int = N, name: str = "neighbours/acl_anth", source: str = "folder") -> Task:
    if isinstance(papers, int):
        titles = [f"A title of {'many ' * (i % 7)}words" for i in range(papers)]
        papers = [Paper(f"p{i}", title, "Some words. " * (3 + i % 5)) for i, title in enumerate(titles)]
    ids = Collection(tuple(paper.paper_id for paper in papers))
    return Task(
        name, "alternative_self", "PRX", ("mrr", "median_rank", "t100"), ids, source, "hash", texts=lambda: papers
    )


def drawn(n: int = N, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, DIM)).astype(np.float32)


def texts_of(task: Task, titles: np.ndarray, whole: np.ndarray, reader: Reader | None = None) -> Texts:
    return Texts(task, 0, "minilm", "f", titles, whole, reader)


def noisy(n: int = N, noise: float = 1.5, of: Task | None = None) -> Texts:
    whole = drawn(n)
    return texts_of(of or collection(n), whole + noise * drawn(n, 1), whole)


def by(rows: Sequence[Result]) -> dict[tuple[str, str], Result]:
    return {(row.metric, row.split): row for row in rows}


@pytest.mark.parametrize("most", [1000, 25])
def test_measures_are_the_evaluators_on_the_same_queries(most, monkeypatch):
    monkeypatch.setattr(neighbours, "QUERIES", most)
    texts = noisy()
    vectors = {f"{key}/t": row for key, row in zip(texts.ids, texts.titles, strict=True)}
    vectors |= {f"{key}/ta": row for key, row in zip(texts.ids, texts.whole, strict=True)}
    found = by(self_retrieval.measure(texts))
    for row in neighbours.evaluate(texts.task, vectors):
        own = found[MRR if row.metric == "mrr" else row.metric, row.split]
        scale = 100 if row.metric == "mrr" else 1
        assert own.value * scale == pytest.approx(row.value)
        assert (own.low * scale, own.high * scale) == pytest.approx((row.low, row.high), rel=1e-5)
        assert (own.n, own.note) == (row.n, row.note)


def test_three_averages_of_ranks_and_shares_within_a_rank():
    ranks = np.array([1.0] * 30 + [200.0] * 30)
    rows = {metric: row.value for (metric, _), row in by(self_retrieval.rank_rows(noisy(), ranks, ranks, ONE)).items()}
    assert rows[self_retrieval.HARMONIC] == pytest.approx(1 / np.mean(1 / ranks)) == pytest.approx(1 / rows[MRR])
    assert (rows[self_retrieval.MEAN], rows[self_retrieval.MEDIAN], rows[T100]) == (100.5, 100.5, 50)
    (lost, *_) = self_retrieval.rank_rows(noisy(), np.ones(N), np.full(N, 2.0), ONE)
    assert (lost.metric, lost.note) == (MRR, "with every tie lost: 0.5")
    found = by(self_retrieval.measure(noisy()))
    within = {m: r.value for (m, s), r in found.items() if m.startswith("found within") and s == ONE}
    assert list(within.values()) == sorted(within.values())
    assert "found within rank 100, %" not in within  # there are 60 candidates


def test_ranks_are_stretched_to_the_printed_size_only_of_a_real_sample():
    texts = noisy()
    rows = by(self_retrieval.measure(texts, 35482))
    best = self_retrieval.ranks_of(texts)[ONE][0]
    larger = 1 + (best - 1) * (35482 - 1) / (N - 1)
    assert rows[f"{T100}{SCALED}", ONE].value == pytest.approx(100 * np.mean(larger <= 100))
    assert rows[f"{MRR}{SCALED}", ONE].value == pytest.approx(np.mean(1 / larger))
    for other, size in ((collection(source="embedded"), 35482), (collection(), N), (collection(name="my papers"), 0)):
        assert not [row for row in self_retrieval.measure(noisy(of=other), size) if SCALED in row.metric]


def test_more_candidates_never_help_and_their_cost_is_paired():
    found = self_retrieval.measure(noisy())
    rows = by(found)
    gap = rows[f"{MRR}, Task II minus Task I", TWO]
    assert gap.value == pytest.approx(rows[MRR, TWO].value - rows[MRR, ONE].value)
    assert gap.low <= gap.value <= gap.high <= 0
    assert len({row.id for row in found}) == len(found)


def two_clouds(reader: Reader | None = None) -> Texts:
    far = np.zeros(DIM)
    far[0] = 40
    return texts_of(collection(), drawn() + far, drawn(seed=1) - far, reader)


def test_clouds_that_are_apart_are_measured_without_a_drawing():
    """Pieces of abstracts that lie where titles lie mean length, those that lie with whole texts style."""

    def measured(place: float) -> dict[tuple[str, str], float]:
        reader = Reader(lambda text: [place, *[0.1] * (DIM - 1)])
        return {key: row.value for key, row in by(separation.measure(two_clouds(reader))).items()}

    found = measured(40.0)
    assert (found[separation.PIECES, "line"], measured(-40.0)[separation.PIECES, "line"]) == (100, 0)
    assert found[separation.LINE, "line"] == 100
    assert found[separation.TITLES, "mixing"] == found[separation.WHOLES, "mixing"] == 100
    assert found[separation.COSINES[0], "cosines"] > 0.8 > -0.8 > found[separation.COSINES[2], "cosines"]


def test_one_cloud_is_mixed_and_no_line_divides_it():
    apart = texts_of(collection(400), drawn(400), drawn(400, 1), Reader(lambda text: list(drawn(1, len(text))[0])))
    found = by(separation.measure(apart))
    assert 40 < found[separation.LINE, "line"].value < 60
    for metric in (separation.TITLES, separation.WHOLES):
        assert 45 < found[metric, "mixing"].value < 55
    for row in (found[metric, "cosines"] for metric in separation.COSINES):
        assert row.low < 0 < row.high or abs(row.value) < 0.01


def test_cosines_are_the_plain_means_over_pairs():
    found = by(separation._cosines(noisy(9, of=collection(9))))
    a, b = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (noisy(9).titles, noisy(9).whole))
    off = ~np.eye(9, dtype=bool)
    wanted = [(a @ a.T)[off].mean(), (b @ b.T)[off].mean(), (a @ b.T)[off].mean(), np.diag(a @ b.T).mean()]
    assert [found[metric, "cosines"].value for metric in separation.COSINES] == pytest.approx(wanted, abs=1e-6)


def test_the_share_of_the_title_that_pulls_it_near_is_found():
    papers = [Paper(f"p{i}", "word " * (1 + i), "text " * 30) for i in range(30)]
    whole = np.tile([1.0, 0.0], (30, 1))
    angle = np.linspace(1.2, 0.1, 30)  # the longer the title, the nearer
    texts = texts_of(collection(papers), np.stack([np.cos(angle), np.sin(angle)], axis=1), whole)
    rows = list(separation._lengths(texts))
    share = by(rows)[f"{separation.SPEARMAN}{separation.LENGTHS[2]}", "length"]
    assert share.value == pytest.approx(1)
    assert not [row for row in rows if separation.LENGTHS[0] in row.metric]  # abstracts of one length tell nothing


def test_a_piece_is_as_long_as_the_title():
    assert separation.piece_of("three words here", "one two three four") == "one two three"
    assert separation.piece_of("three words here", "one two three") == ""
    assert separation.piece_of("a title", "") == ""


def test_lengths_change_no_rank_and_a_collection_asked_with_itself_is_first():
    texts = noisy()._replace(titles=noisy().titles * np.linspace(0.01, 90, N)[:, None])
    found = by(self_retrieval.normalised(texts))
    assert found[self_retrieval.CHANGED, ONE].value == found[self_retrieval.STRETCH_CHANGED, ONE].value == 0
    own = f"{ONE}, {self_retrieval.SELF}"
    assert (found[MRR, own].value, found[T100, own].value) == (1, 100)


def test_standardisation_mends_what_one_dimension_spoils():
    """A dimension that only says title or whole text, and is large, decides every cosine: each by its own, it is gone."""
    texts = noisy(noise=0.2)
    loud = [np.concatenate([m, np.full((N, 1), sign) + drawn(N, 7)[:, :1] * 30], axis=1)
            for m, sign in ((texts.titles, 200.0), (texts.whole, -200.0))]  # fmt: skip
    loud[0][:, -1] = 200 + 30 * drawn(N, 8)[:, 0]
    rows = self_retrieval.normalised(texts._replace(titles=loud[0], whole=loud[1]))
    found = by(rows)
    assert found[f"{MRR}, minus as they are", f"{ONE}, {self_retrieval.STANDARDISED[2]}"].low > 0.3


def test_noise_is_that_of_two_samples_of_a_finite_set():
    rng = np.random.default_rng(0)
    papers = np.arange(5032) < 0.2985 * 5032
    gaps = [
        100 * (papers[one].mean() - papers[other].mean())
        for one, other in ((rng.permutation(5032)[:1000], rng.permutation(5032)[:1000]) for _ in range(2000))
    ]
    assert noise_of_shares([29.8, 29.9], "ICLR") == pytest.approx(1.96 * np.std(gaps), rel=0.06)


LINES = (
    "A study of document vectors", "Neural models for sparse data", "One document vector", "Fast parsing of long sentences",
    "A long sentence", "The sparse vector", "Old news", "Rare words in neural model",
)  # fmt: skip


def tagged() -> Tools:
    nouns = ("document", "vectors", "vector", "models", "model", "data", "sentences", "sentence", "words", "news",
             "study")  # fmt: skip
    adjectives = ("neural", "sparse", "long", "old", "rare", "fast")
    tags = dict.fromkeys(nouns, "NOUN") | dict.fromkeys(adjectives, "ADJ")
    return replace(
        find_tools("fallback"), sentences=lambda text: [text], tokens=str.split,
        tags=lambda tokens: [tags.get(token.lower(), "X") for token in tokens],
    )  # fmt: skip


def small() -> Task:
    return collection([Paper(f"p{i}", title, "We count. " * 3) for i, title in enumerate(LINES)])


def test_phrases_are_of_titles_and_both_numbers_are_words_of_the_collection():
    found = phrases.phrases(small().papers.values(), 0, tagged())
    assert {one.text for one in found} == {
        "document vectors", "document vector", "neural models", "neural model", "long sentences", "long sentence", "sparse vector",
    }  # fmt: skip
    one = next(one for one in found if one.text == "document vector")
    foreign, last = one.foreign.split()
    assert (one.number, one.garbled, last) == ("document vectors", "documen vector", "vector") and foreign != "document"
    assert phrases.phrases(small().papers.values(), 0, tagged()) == found
    assert len(phrases.phrases(small().papers.values(), 0, tagged(), most=3)) == 3


@pytest.mark.parametrize(
    ("word", "other"),
    [("vector", "vectors"), ("classes", "classe"), ("class", ""), ("corpus", ""), ("basis", ""), ("news", "")],
)
def test_other_numbers(word, other):
    assert phrases.other_number(word) == other


def hashed(text: str) -> list[float]:
    return list(np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIM))


def base(text: str) -> str:
    """The words without their plural s, a lost last letter of the first word found again."""
    first, last = text.split()
    return f"{ {'documen': 'document', 'neura': 'neural', 'lon': 'long', 'spars': 'sparse'}.get(first, first) } {last.rstrip('s')}"


@pytest.mark.parametrize(("of", "number", "letter"), [
    (lambda text: base(text), (100, 100), (100, 100)),
    (lambda text: text.replace("vectors", "vector").replace("models", "model").replace("sentences", "sentence"),
     (100, 100), (0, 99)),
    (lambda text: f"{base(text).split()[0]} {text.split()[1]}", (0, 99), (100, 100)),
])  # fmt: skip
def test_an_encoder_is_as_brittle_as_it_is(of, number, letter):
    many = collection([Paper(f"p{i}", LINES[i % len(LINES)], "We count. " * 3) for i in range(200)])
    texts = texts_of(many, drawn(200), drawn(200), Reader(lambda text: hashed(of(text))))
    rows = by(list(phrases._of_phrases(texts, phrases.phrases(many.papers.values(), 0, tagged()))))
    for form, (least, most) in ((phrases.NUMBER, number), (phrases.LETTER, letter)):
        assert least <= rows[phrases.OVERLAP, form].value <= most


def planted(of: Callable[[str], Sequence[float]]) -> Texts:
    return texts_of(small(), drawn(8), drawn(8), Reader(of))


def test_a_garbled_phrase_nearer_to_another_is_counted():
    astray, other = np.eye(DIM)[:2].tolist()
    texts = planted(lambda text: astray if "documen " in text or "Virus" in text else other)
    phrase = phrases.Phrase("document vector", "document vectors", "documen vector", "Virus vector")
    assert by(phrases.measure(texts, [phrase]))[phrases.WRONG, phrases.LETTER].value == 100


def test_a_form_without_a_vector_finds_nothing():
    texts = planted(lambda text: [0.0] * DIM if "documen " in text else hashed(text))
    own = [one for one in phrases.phrases(small().papers.values(), 0, tagged()) if one.text.startswith("document")]
    found = by(phrases.measure(texts, own))
    row = found[phrases.OVERLAP, phrases.LETTER]
    assert (row.value, row.note) == (0, "2 forms have no vector and find nothing")
    assert found[phrases.NONE, phrases.LETTER].value == 100
    assert found["cosine with document vector", phrases.GARBLED].note == "no vector of documen vector"


def test_a_collection_without_such_phrases_has_the_strings_of_the_introduction():
    assert {row.split for row in phrases.measure(planted(hashed), [])} == {phrases.GARBLED}


def test_a_drawing_is_the_same_again():
    assert np.array_equal(*(separation.tsne(drawn(40), 3) for _ in range(2)))


def test_a_rank_that_l2_changed_would_be_seen(monkeypatch):
    monkeypatch.setattr(self_retrieval, "unit", lambda m: np.asarray(m) - 0.5)  # no normalisation at all
    rows = self_retrieval.normalised(noisy())
    assert by(rows)[self_retrieval.CHANGED, ONE].value > 0
