"""Sentence matching: vectors against transformers directly, matching against hand-worked and brute-force transport."""

from __future__ import annotations

import itertools
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_models

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
    import torch
    import transformers

    model = transformers.BertModel.from_pretrained(folder).eval()
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    with torch.inference_mode():
        ids = torch.tensor([tokenizer.convert_tokens_to_ids(pieces)])
        return model(ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0].numpy()


def vectors(folder: Path, *documents: Document) -> list[np.ndarray]:
    encoder = aspire.sentence_encoder(f"ts:{folder}")
    return [encoder.encode([key(one, i) for i in range(one.size)], "PRX") for one in documents]


DOC = Document("paper a", ("model of w1.", "w2 b w3"))
PIECES = ["[CLS]", "paper", "a", "[SEP]", "model", "of", "w1", ".", "w2", "b", "w3", "[SEP]"]


def test_a_sentence_is_the_mean_of_its_tokens_in_context(model):
    hidden = states(model, PIECES)
    (found,) = vectors(model, DOC)
    assert found == pytest.approx(np.stack([hidden[4:8].mean(0), hidden[8:11].mean(0)]), abs=1e-5)
    alone = states(model, ["[CLS]", "w2", "b", "w3", "[SEP]"])[1:4].mean(0)
    assert np.abs(found[1] - alone).max() > 1e-3  # the rest of the paper is seen


def test_a_title_alone_is_its_own_sentence_without_separator(model):
    hidden = states(model, ["[CLS]", "paper", "a", "[SEP]"])
    (found,) = vectors(model, Document("paper a"))
    assert found == pytest.approx(hidden[1:3].mean(0)[None], abs=1e-5)


def test_an_abstract_without_title_begins_at_once(model):
    hidden = states(model, ["[CLS]", "w2", "b", "[SEP]"])
    assert vectors(model, Document("", ("w2 b",)))[0] == pytest.approx(hidden[1:3].mean(0)[None], abs=1e-5)


def test_what_lies_behind_the_last_word_piece_has_no_vector(model):
    """Title and separator take 3 pieces, sentences 300 each: 497 of 500 are left, so the second is cut, the third gone."""
    long = Document("paper a", tuple(" ".join([f"w{i}"] * 300) for i in range(3)))
    (found,) = vectors(model, long)
    hidden = states(model, ["[CLS]", "paper", "a", "[SEP]", *["w0"] * 300, *["w1"] * 197, "[SEP]"])
    assert found[:2] == pytest.approx(np.stack([hidden[4:304].mean(0), hidden[304:501].mean(0)]), abs=1e-5)
    assert not found[2].any()


def test_a_title_that_fills_the_model_stands_for_the_abstract(model):
    (found,) = vectors(model, Document("w1 " * 600, ("w2 b", "w3")))
    assert found[0].any()
    assert not found[1].any()


def test_neighbours_in_a_batch_change_nothing_and_order_is_kept(model):
    others = [Document("w5", ("w6 w7 w8", "b")), Document("w9 w10 w11"), DOC]
    encoder = aspire.sentence_encoder(f"ts:{model}")
    keys = [key(one, i) for one in others for i in range(one.size)]
    together = encoder.encode(keys[::-1], "PRX")[::-1]
    alone = np.concatenate([part for one in others for part in vectors(model, one)])
    assert together == pytest.approx(alone, abs=1e-5)


def test_vectors_are_unit_where_the_models_own_pipeline_ends_so(tmp_path):
    folder = tiny_models.pipeline(tiny_models.bert(tmp_path / "m"))
    (found,) = vectors(folder, DOC)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)
    hidden = states(folder, ["[CLS]", "paper", "a", "[SEP]", *PIECES[4:]])
    assert found[0] == pytest.approx(hidden[4:8].mean(0) / np.linalg.norm(hidden[4:8].mean(0)), abs=1e-5)


def test_the_fingerprint_is_its_own_and_follows_the_weights(model, tmp_path):
    other = tiny_models.bert(tmp_path / "other", seed=1)
    one, two = (aspire.sentence_encoder(f"ts:{folder}") for folder in (model, other))
    assert len({one.fingerprint, one.base.fingerprint, two.fingerprint}) == 3
    assert aspire.sentence_encoder(f"ot:{model}").fingerprint == one.fingerprint  # the same vectors serve both


def test_a_name_says_number_type_and_a_folder_may_have_signs_in_its_name(model, tmp_path):
    assert aspire.sentence_encoder(f"ts:{model}@cls:bfloat16").base.settings.dtype == "bfloat16"
    odd = shutil.copytree(model, tmp_path / "mine@home")
    one, other = (aspire.sentence_encoder(f"ts:{folder}") for folder in (odd, model))
    assert one.fingerprint == other.fingerprint


def test_the_published_models_are_found_in_a_cache_and_pickles_need_leave(tmp_path, monkeypatch):
    folder = tiny_models.bert(tmp_path / "m", safe=False)
    name = aspire.ASPIRE["ot_aspire_cs"].model
    assert name == "allenai/aspire-contextualsentence-multim-compsci"
    tiny_models.cache(tmp_path / "hf", name, folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf" / "hub"))
    encoder = aspire.sentence_encoder("ot_aspire_cs")
    with pytest.raises(ConfigError, match="SCIREP_ALLOW_BIN"):
        encoder.encode([key(DOC, 0)], "PRX")
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    hidden = states(folder, PIECES)
    assert aspire.sentence_encoder("ot_aspire_cs").encode([key(DOC, 0)], "PRX") == pytest.approx(
        hidden[4:8].mean(0)[None], abs=1e-5
    )


def test_names():
    assert {spec.match for name, spec in aspire.ASPIRE.items() if name.startswith("ts")} == {"ts"}
    assert aspire.resolve("ot:minilm") == aspire.Aspire("minilm", "ot", "minilm, optimal transport of sentences (L2)")
    with pytest.raises(ConfigError, match="did you mean 'ts_aspire_cs'"):
        aspire.resolve("ts_aspire_c")
    with pytest.raises(ConfigError, match="unknown sentence matcher 'ts:'"):
        aspire.resolve("ts:")
    with pytest.raises(ConfigError, match="not a single"):
        aspire.sentence_encoder("ts:minilm+minilm")


# ---------------------------------------------------------------------------------------------------------- sentences


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
def test_split(text, sentences):
    assert split(text) == sentences


def test_a_papers_own_sentences_are_kept():
    paper = Paper("1", "T", "One. Two.", sentences=("One. Two.",), labels=("x",))
    assert aspire.document(paper) == ("T", ("One. Two.",))
    assert aspire.document(Paper("1", "T", "One. Two.")) == ("T", ("One.", "Two."))


# ----------------------------------------------------------------------------------------------------------- matching


def matcher(match: str, **table) -> SentenceMatcher:
    return SentenceMatcher("m", "f", {k: np.array(v, dtype=float) for k, v in table.items()}, match)


def test_text_supervision_is_the_nearest_pair():
    """q: (0, 0), (10, 0). a: (3, 4) lies 5 from the first; (10, 2) lies 2 from the second. b: (0, 1) lies 1 away."""
    found = matcher("ts", q=[(0, 0), (10, 0)], a=[(3, 4), (10, 2)], b=[(50, 50), (0, 1), (9, 9)])
    assert found.scores("q", ["a", "b"]) == pytest.approx([-2, -1])
    assert found.scores("b", ["q"]) == pytest.approx([-1])


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
    a, b = marginals(costs, 1.0)
    heavy = 1 / (1 + math.exp(-1))
    assert a == pytest.approx([heavy, 1 - heavy])
    assert b == pytest.approx([heavy, 1 - heavy])
    a, b = marginals(np.random.default_rng(0).random((4, 7)) * 30)
    assert a == pytest.approx(1 / 4, abs=2e-3)
    assert b == pytest.approx(1 / 7, abs=2e-3)
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


def test_ids_without_text_are_named():
    found = matcher("ts", q=[(0, 0)])
    with pytest.raises(DataError, match="paper gone has no text"):
        found.scores("q", ["gone"])
    with pytest.raises(DataError, match="query gone has no text"):
        found.scores("gone", ["q"])


# -------------------------------------------------------------------------------------------------------------- a task


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
    assert row.value == 100.0
    assert row.similarity == aspire.SIMILARITY[match]
    assert len(found.vectors["q"]) == 2
    assert "empty" not in found
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
