"""The small base: its vectors against the definition, what it starts as, its negatives, and that it learns."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

from scirep_core.data import locate
from scirep_core.data.readers.scirepeval import training
from scirep_core.encoders import load_encoder
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.models.model_store import load_model
from scirep_core.kit.errors import ConfigError
from scirep_core.training import base
from scirep_core.training.data import Documents, Reading, build, stream

TEXTS = [
    "bees visit flowers in the meadow", "bees and flowers in the garden", "flowers of the meadow and bees",
    "courts apply law in the state", "law and courts of the state", "the courts of law in the garden",
] * 3  # fmt: skip


@pytest.fixture(scope="module")
def root() -> Path:
    return locate("scirepeval/fos", "embedded", 500, 0)


@pytest.fixture(scope="module")
def tokens(root: Path):
    return base.wordpieces(base.training_texts(root), 3000)


def test_word_pieces_are_berts_and_the_same_every_time(tokens, root):
    again = base.wordpieces(base.training_texts(root), 3000)
    assert again.tokenizer.get_vocab() == tokens.tokenizer.get_vocab()
    assert tokens.size <= 3000
    assert tokens.pad == 0
    (ids,) = tokens.ids(["Climate [SEP] the climate"])
    assert ids[0] == tokens.cls
    assert ids[-1] == tokens.sep
    assert tokens.sep in ids[1:-1]
    assert ids[1] == ids[-2] != tokens.id("[UNK]")
    pieces = tokens.ids(list(base.training_texts(root)), 512)
    assert np.mean([tokens.id("[UNK]") in ids for ids in pieces]) < 0.01
    with pytest.raises(ConfigError, match="some thousands"):
        base.wordpieces(TEXTS, 4)


def test_the_texts_of_the_vocabulary_are_training_texts_each_once(root, monkeypatch):
    texts = list(base.training_texts(root))
    assert len(texts) == len(set(texts)) > 200
    monkeypatch.setattr(base, "MOST_TEXTS", 30)
    assert list(base.training_texts(root)) == texts[:30]


def test_presence_counts_a_token_once_a_document_and_no_special_one():
    tokens = base.wordpieces(TEXTS, 200)
    the, bees = tokens.id("the"), tokens.id("bees")
    ids = [tokens.cls, the, bees, the, tokens.sep, tokens.cls, the, tokens.sep]
    found = base.presence(Documents(np.array(ids, np.int32), np.array([0, 5, 8])), tokens).toarray()
    assert found.sum() == 3
    assert (found[0, the], found[0, bees], found[1, the]) == (1, 1, 1)


def test_ppmi_vectors_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    counts = (rng.random((40, 12)) < 0.3).astype(np.float32)
    counts[:, 11] = 0  # a token that occurs nowhere
    together = counts.T @ counts
    np.fill_diagonal(together, 0)
    total = together.sum(1)
    context = total**0.75 / (total**0.75).sum()
    table = np.zeros_like(together)
    for a, b in np.argwhere(together > 0):
        table[a, b] = max(0.0, math.log(together[a, b] / (total[a] * context[b])))
    left, singular, _ = np.linalg.svd(table)
    expected = left[:, :5] * singular[:5]
    found = base.ppmi_vectors(sparse.csr_matrix(counts), 5, seed=0)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)
    assert not found[11].any()
    with pytest.raises(ConfigError, match="Take more papers"):
        base.ppmi_vectors(sparse.csr_matrix(counts), 12, seed=0)


def test_token_vectors_are_one_long_and_words_of_every_text_are_quiet():
    tokens = base.wordpieces(TEXTS, 200)
    vectors = base.token_vectors(TEXTS, tokens, 8, seed=0)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    loud = {word: float(np.linalg.norm(vectors[tokens.id(word), :-1])) for word in ("the", "bees", "meadow")}
    assert loud["the"] == pytest.approx(0, abs=1e-6)
    assert loud["meadow"] > loud["bees"] > 0.3
    assert vectors[tokens.cls].tolist() == vectors[tokens.sep].tolist() == [0] * 7 + [1]
    bees, flowers, law = (vectors[tokens.id(word), :-1] for word in ("bees", "flowers", "law"))
    assert bees @ flowers > 3 * abs(bees @ law)


def test_at_first_the_vector_is_about_the_mean_of_the_tokens(tokens, root):
    texts = list(base.training_texts(root))[:120]
    vectors = base.token_vectors(texts, tokens, 32, seed=0)
    trunk = base.warm_trunk(vectors, layers=2, heads=4, seed=0)
    model = Conditioned(trunk, conditioning("plain", trunk)).eval()
    documents = tokens.ids(texts, 64)
    with torch.inference_mode():
        found = model(model.pack(documents, ["PRX"] * len(documents))).numpy()
    mean = np.stack([vectors[ids].mean(0) for ids in documents])
    apart = [np.linalg.norm(x[:, None] - x[None], axis=2)[np.triu_indices(len(x), 1)] for x in (found, mean)]
    assert np.corrcoef(*apart)[0, 1] > 0.9


def test_negatives_by_field_are_four_near_two_far_four_cited_by_what_is_cited():
    fields = {str(i): frozenset(["a" if i < 40 else "b"]) for i in range(80)}
    cites = {"0": ["1", "2"], "1": ["3", "4", "5"], "2": ["6", "7", "0", "1"], "50": ["51"]}
    rows = list(base.triplets_by_field(cites, fields, sorted(fields), seed=0))
    assert rows == list(base.triplets_by_field(cites, fields, sorted(fields), seed=0))
    assert rows != list(base.triplets_by_field(cites, fields, sorted(fields), seed=1))
    first = [row for row in rows if row[0] == "0"]
    assert len(first) == 10
    assert [positive for _, positive, _ in first] == ["1", "2"] * 5
    negatives = [negative for _, _, negative in first]
    assert len(set(negatives)) == 10
    assert not {"0", "1", "2"} & set(negatives)
    assert set(negatives[:4]) <= {"3", "4", "5", "6", "7"}
    assert [fields[key] for key in negatives[4:]] == [frozenset("a")] * 4 + [frozenset("b")] * 2
    assert len([row for row in rows if row[0] == "50"]) == 6  # its citation cites nothing: no hard ones


def test_the_embedded_triplets_by_field_are_of_training_papers(root):
    known = {row.paper.paper_id for row in training("scirepeval/fos", root)}
    triples = base.specter2_triples(root, seed=0)
    assert len(triples) > 500
    assert {paper.paper_id for triple in triples for paper in triple} <= known
    assert all(len({paper.paper_id for paper in triple}) == 3 for triple in triples)


def test_the_citation_task_is_of_the_negatives_asked_for(root, tokens):
    published = base.citation_task(root, tokens, "specter", 32, seed=0)
    by_field = base.citation_task(root, tokens, "specter2", 32, seed=0)
    assert published.kind == by_field.kind == "triplet"
    assert len(by_field) > len(published)
    assert published.documents.lengths.max() == 32


@pytest.fixture(scope="module")
def made(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Return steps -> folder of a base."""
    at = tmp_path_factory.mktemp("bases")
    return {
        steps: base.small_base(
            root, width=32, steps=steps, folder=at / str(steps), max_length=48, vocabulary=3000, seed=1
        )
        for steps in (0, 60)
    }


def right(folder: Path, root: Path) -> float:
    """Return the share of the published training triplets whose positive is nearer."""
    model, tokens, _ = load_model(folder)
    (task,) = build([stream("scirepeval/cite_prediction", root)], tokens, Reading(titles_only=0.0, max_length=48))
    documents = task.documents.of(range(task.documents.docs))
    with torch.inference_mode():
        vectors = model.eval()(model.pack(documents, ["PRX"] * len(documents)))
    query, positive, negative = (vectors[torch.from_numpy(task.rows[:, i])] for i in range(3))
    return float(((query - positive).norm(dim=1) < (query - negative).norm(dim=1)).float().mean())


def test_it_starts_well_above_chance_and_learns(made, root):
    start, trained = (right(made[steps], root) for steps in (0, 60))
    assert start > 0.55
    assert trained > start + 0.08


def test_it_is_a_folder_any_encoder_is_and_the_same_from_the_same_seed(made, root, tmp_path):
    encoder = load_encoder(str(made[60]))
    assert encoder.dim == 32
    assert encoder.encode(["bees [SEP] in the meadow"], "QRY").shape == (1, 32)
    settings = {"width": 32, "steps": 2, "max_length": 24, "vocabulary": 3000}
    a, b, c = (
        load_encoder(str(base.small_base(root, folder=tmp_path / name, seed=seed, **settings))).fingerprint
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert a == b != c


@pytest.mark.parametrize("wrong", [{"width": 4}, {"width": 30}, {"layers": 0}])
def test_a_size_that_makes_no_model_is_refused(root, tmp_path, wrong):
    with pytest.raises(ConfigError, match="the heads divide it"):
        base.small_base(root, folder=tmp_path / "x", **wrong)
