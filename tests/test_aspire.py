"""Sentence matching: vectors against transformers directly, matching against hand-worked and brute-force transport."""

from __future__ import annotations

import itertools
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import transformers

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import Judged, Qrel, Task
from scirep_core.encoders import aspire
from scirep_core.encoders.aspire import Document, SentenceMatcher, key, marginals, split, transport
from scirep_core.evaluators import EVALUATORS, pairs
from scirep_core.evaluators.facets import facet_systems
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.records import Judgement, Paper, Query


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return tiny_models.bert(tmp_path_factory.mktemp("bert") / "model")


def states(folder: Path, pieces: list[str]) -> np.ndarray:
    """Last hidden states of one sequence of word pieces, asked of transformers itself."""
    ids = [tiny_models.VOCAB.index(piece) for piece in pieces]
    return tiny_models.states_of(transformers.BertModel.from_pretrained(folder).eval(), [ids])[0].numpy()


def vectors(folder: Path, *documents: Document) -> list[np.ndarray]:
    encoder = aspire.sentence_encoder(f"ts:{folder}")
    return [encoder.encode([key(one, i) for i in range(one.size)], "PRX") for one in documents]


DOC = Document("paper a", ("model of w1.", "w2 b w3"))
PIECES = ["[CLS]", "paper", "a", "[SEP]", "model", "of", "w1", ".", "w2", "b", "w3", "[SEP]"]
HEAD = PIECES[:4]
LONG = Document("paper a", tuple(" ".join([f"w{i}"] * 300) for i in range(3)))
"""Title and separator take 3 pieces, sentences 300 each: 497 of 500 are left, so the second is cut, the third gone."""


@pytest.mark.parametrize(
    ("document", "pieces", "spans"),
    [
        (DOC, PIECES, [(4, 8), (8, 11)]),
        (Document("paper a"), HEAD, [(1, 3)]),  # a title alone has no separator
        (Document("", ("w2 b",)), ["[CLS]", "w2", "b", "[SEP]"], [(1, 3)]),
        (LONG, [*HEAD, *["w0"] * 300, *["w1"] * 197, "[SEP]"], [(4, 304), (304, 501), None]),
        (Document("w1 " * 600, ("w2 b", "w3")), ["[CLS]", *["w1"] * 500, "[SEP]"], [(1, 501), None]),  # stands for it
    ],
)
def test_a_sentence_is_the_mean_of_its_tokens_in_context(model, document, pieces, spans):
    hidden = states(model, pieces)
    wanted = [hidden[slice(*span)].mean(0) if span else np.zeros(tiny_models.WIDTH) for span in spans]
    assert vectors(model, document)[0] == pytest.approx(np.stack(wanted), abs=1e-5)


def test_neighbours_in_a_batch_change_nothing_and_order_is_kept(model):
    others = [Document("w5", ("w6 w7 w8", "b")), Document("w9 w10 w11"), DOC]
    encoder = aspire.sentence_encoder(f"ts:{model}")
    keys = [key(one, i) for one in others for i in range(one.size)]
    together = encoder.encode(keys[::-1], "PRX")[::-1]
    alone = np.concatenate([part for one in others for part in vectors(model, one)])
    assert together == pytest.approx(alone, abs=1e-5)


def test_vectors_are_unit_where_the_models_own_pipeline_ends_so(tmp_path):
    folder = tiny_models.pipeline(tiny_models.bert(tmp_path / "m"))
    (found,), sentence = vectors(folder, DOC), states(folder, PIECES)[4:8].mean(0)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)
    assert found[0] == pytest.approx(sentence / np.linalg.norm(sentence), abs=1e-5)


def test_the_fingerprint_is_its_own_and_follows_the_weights(model, tmp_path):
    other, odd = tiny_models.bert(tmp_path / "other", seed=1), shutil.copytree(model, tmp_path / "mine@home")
    one, two, same = (aspire.sentence_encoder(f"ts:{folder}") for folder in (model, other, odd))
    assert len({one.fingerprint, one.base.fingerprint, two.fingerprint}) == 3
    assert aspire.sentence_encoder(f"ot:{model}").fingerprint == one.fingerprint  # the same vectors serve both
    assert same.fingerprint == one.fingerprint
    assert aspire.sentence_encoder(f"ts:{model}@cls:bfloat16").base.settings.dtype == "bfloat16"


def test_the_published_models_are_found_in_a_cache_and_pickles_need_leave(tmp_path, monkeypatch):
    folder = tiny_models.bert(tmp_path / "m", safe=False)
    tiny_models.cache(tmp_path / "hf", "allenai/aspire-contextualsentence-multim-compsci", folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf" / "hub"))
    encoder = aspire.sentence_encoder("ot_aspire_cs")
    with pytest.raises(ConfigError, match="SCIREP_ALLOW_BIN"):
        encoder.encode([key(DOC, 0)], "PRX")
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    (found,) = aspire.sentence_encoder("ot_aspire_cs").encode([key(DOC, 0)], "PRX")
    assert found == pytest.approx(states(folder, PIECES)[4:8].mean(0), abs=1e-5)


def test_names():
    assert {spec.match for name, spec in aspire.ASPIRE.items() if name.startswith("ts")} == {"ts"}
    assert aspire.resolve("ot:minilm") == aspire.Aspire("minilm", "ot", "minilm, optimal transport of sentences (L2)")
    for name, said in (("ts_aspire_c", "did you mean 'ts_aspire_cs'"), ("ts:", "unknown sentence matcher 'ts:'"),
                       ("ts:minilm+minilm", "not a single")):  # fmt: skip
        with pytest.raises(ConfigError, match=said):
            aspire.sentence_encoder(name)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", ()),
        ("  One only  ", ("One only",)),
        ("We count. We stop.", ("We count.", "We stop.")),
        ("Is it so? Yes! It is.", ("Is it so?", "Yes!", "It is.")),
        ("By 3.5 % in v2.1 alone. Then more.", ("By 3.5 % in v2.1 alone.", "Then more.")),
        ("See e.g. Ode et al. 2019 and Fig. 3. Next.", ("See e.g. Ode et al. 2019 and Fig. 3.", "Next.")),
        ("As A. Ode said. Fine.", ("As A. Ode said.", "Fine.")),
        ('He said "stop." Then (we did.) And 7 more.', ('He said "stop."', "Then (we did.)", "And 7 more.")),
        ("no capital. after this stays one", ("no capital. after this stays one",)),
        ("Done. 12 of them left.", ("Done.", "12 of them left.")),
    ],
)
def test_a_paper_has_its_own_sentences_or_those_that_are_found(text, sentences):
    assert split(text) == sentences
    assert aspire.document(Paper("1", "T", text)) == ("T", sentences)
    assert aspire.document(Paper("1", "T", text, sentences=("One. Two.",), labels=("x",))) == ("T", ("One. Two.",))


def matcher(match: str, **table) -> SentenceMatcher:
    return SentenceMatcher("m", "f", {k: np.array(v, dtype=float) for k, v in table.items()}, match)


def test_text_supervision_is_the_nearest_pair():
    """q: (0, 0), (10, 0). a: (3, 4) lies 5 from the first; (10, 2) lies 2 from the second. b: (0, 1) lies 1 away."""
    found = matcher("ts", q=[(0, 0), (10, 0)], a=[(3, 4), (10, 2)], b=[(50, 50), (0, 1), (9, 9)])
    assert found.scores("q", ["a", "b"]) == pytest.approx([-2, -1])
    assert found.scores("b", ["q"]) == pytest.approx([-1])
    for query, wanted, said in (("q", "gone", "paper gone has no text"), ("gone", "q", "query gone has no text")):
        with pytest.raises(DataError, match=said):
            found.scores(query, [wanted])


def brute_force(costs, a, b) -> float:
    """The least cost over all corners of the transport polytope: bases of the constraints, solved one by one."""
    rows, columns = costs.shape
    system = np.array([[float(cell // columns == i) for cell in range(costs.size)] for i in range(rows)]
                      + [[float(cell % columns == j) for cell in range(costs.size)] for j in range(columns - 1)])  # fmt: skip
    right, best = np.concatenate([a, b[:-1]]), math.inf
    for basis in itertools.combinations(range(costs.size), len(right)):
        part = system[:, basis]
        if abs(np.linalg.det(part)) > 1e-9 and (amounts := np.linalg.solve(part, right)).min() > -1e-12:
            best = min(best, float(amounts @ costs.ravel()[list(basis)]))
    return best


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (1, 3), (3, 3)])
def test_transport_is_the_least_cost_of_all(shape):
    rng = np.random.default_rng(sum(shape))
    for _ in range(5):
        costs = rng.random(shape) * 10
        a, b = marginals(costs, temperature=2.0)
        plan = transport(costs, a, b)
        assert np.sum(plan * costs) == pytest.approx(brute_force(costs, a, b), abs=1e-9)
        assert (plan.sum(1), plan.sum(0)) == (pytest.approx(a), pytest.approx(b))


def test_marginals_follow_each_sentences_best_match_and_sum_to_one():
    """Row minima 1 and 2, column minima 1 and 2: e^-1 and e^-2 at temperature 1; all alike at 5000."""
    costs = np.array([[1.0, 3.0], [2.0, 2.0]])
    heavy = 1 / (1 + math.exp(-1))
    assert np.array(marginals(costs, 1.0)) == pytest.approx(np.array([[heavy, 1 - heavy]] * 2))
    a, b = marginals(np.random.default_rng(0).random((4, 7)) * 30)
    assert (a, b) == (pytest.approx(1 / 4, abs=2e-3), pytest.approx(1 / 7, abs=2e-3))
    assert (a.sum(), b.sum()) == (pytest.approx(1), pytest.approx(1))


def test_pairs_scored_together_and_alone_get_one_score():
    rng = np.random.default_rng(4)
    table = {name: rng.standard_normal((size, 6)) * 5 for name, size in {"q": 4, "a": 1, "b": 9, "c": 4}.items()}
    for match in ("ts", "ot"):
        found = matcher(match, **table)
        together = found.scores("q", ["a", "b", "c"])
        assert together == pytest.approx([found.scores("q", [one])[0] for one in "abc"], abs=1e-9)
        assert together == pytest.approx([found.scores(one, ["q"])[0] for one in "abc"], abs=1e-9)  # symmetric
        assert found.scores("q", ["q"]) == pytest.approx([0], abs=1e-9)


def test_transport_sees_all_sentences_where_the_best_pair_sees_one():
    """a shares one sentence with q exactly and nothing else; b is near in both: ts prefers a, ot prefers b."""
    table = {"q": [(0, 0), (10, 0)], "a": [(0, 0), (10, 30)], "b": [(0, 1), (10, 1)]}
    assert np.argmax(matcher("ts", **table).scores("q", ["a", "b"])) == 0
    assert np.argmax(matcher("ot", **table).scores("q", ["a", "b"])) == 1
    assert matcher("ot", **table).scores("q", ["a", "b"]) == pytest.approx([-15, -1], abs=0.1)


def task() -> Task:
    papers = [Paper("q", "paper a", "model of w1. W2 b w3."), Paper("near", "paper a", "model of w1. W2 b w4."),
              Paper("far", "w20 w21", ""), Paper("empty", "", "")]  # fmt: skip
    rows = (Qrel("q", "near", 1), Qrel("q", "far", 0))
    return Task("t", "proximity", "PRX", ("map",), Judged(rows), "folder", "h", texts=lambda: papers)


@pytest.mark.parametrize("match", ["ts", "ot"])
def test_a_task_is_scored_and_its_vectors_are_stored(model, match, monkeypatch):
    found = pairs.matcher_of(f"{match}:{model}", pairs.documents_of(task()))
    assert isinstance(found, pairs.PairScorer)
    row = EVALUATORS["proximity"](task(), found)[0]
    assert (row.value, row.similarity) == (100.0, aspire.SIMILARITY[match])
    assert len(found.vectors["q"]) == 2 and "empty" not in found
    monkeypatch.setattr(aspire.SentenceEncoder, "encode", lambda *_: pytest.fail("the store has them"))
    again = pairs.matcher_of(f"{match}:{model}", pairs.documents_of(task()))
    assert again.fingerprint == found.fingerprint
    assert np.array_equal(again.scores("q", ["near", "far"]), found.scores("q", ["near", "far"]))


def test_a_facet_is_searched_by_its_own_sentences_and_by_all_where_none_was_read(monkeypatch):
    papers = {
        key: Paper(key, key, "", sentences=("One.", "Two."), labels=("background_label", "method_label"))
        for key in "qab"
    }
    asked = {Query("q", facet): (Judgement("a", 0), Judgement("b", 3)) for facet in ("method", "background", "result")}
    found = matcher("ts", q=[(0, 0), (10, 0)], a=[(0, 1)], b=[(10, 2)])
    monkeypatch.setattr(facet_systems, "matcher_of", lambda name, documents, progress: found)
    system = facet_systems.rank_matched(FacetCollection("csfcube", "real", papers, asked, {}, {}, ""), "ts:minilm")
    first = {query.facet: ranking[0] for query, ranking in system.rankings.items()}
    assert first == {"method": "b", "background": "a", "result": "a"}
    assert (system.name, system.fingerprint) == ("ts:minilm", "f")
