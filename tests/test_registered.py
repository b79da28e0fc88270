"""The shared battery: what holds of everything that is registered, so that a new row needs no test file of its own.

    encoders        ENCODERS, those that run here: the bundled model, and modules of this package
    metrics         METRICS, and whatever tasks that rank can be asked for
    perturbations   PERTURBATIONS and MORE, on texts of every odd kind
    losses          LOSSES
    tasks           MORE of the inventory, where their files are at hand (the papers' own: test_inventory, test_real_samples)

`pytest tests/test_registered.py -k NAME` runs it for one row. Manifests and notebooks have theirs in test_manifest_inventory
and test_notebook_sources.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_tasks
import small_training
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_perturbations import ABSTRACT, CORNERS, TITLE

from scirep_core import load_encoder, load_task
from scirep_core.bench.scoring import evaluate
from scirep_core.data.folder import read_folder, write_folder
from scirep_core.data.inventory import MORE as TASKS
from scirep_core.data.manifests import load_manifest
from scirep_core.data.perturbations import (
    CATEGORIES,
    KEPT,
    LITERAL,
    MORE,
    PERTURBATIONS,
    perturb,
    perturbation,
    top_phrases,
)
from scirep_core.data.perturbations.altered import alter
from scirep_core.data.perturbations.changes import Parsed
from scirep_core.data.perturbations.linguistics import find_tools
from scirep_core.data.task import Task
from scirep_core.data.text import Recipe
from scirep_core.data.validate import counts, validate
from scirep_core.encoders import ENCODERS
from scirep_core.encoders.vectors.embed import embed
from scirep_core.evaluators import ranking
from scirep_core.evaluators.inputs import vectors_of
from scirep_core.evaluators.labels import scores as label_scores
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS
from scirep_core.results.metrics import ACCEPTED, RELEVANT, check_metrics, examples, from_ranks, parse, score
from scirep_core.training.loop import train
from scirep_core.training.losses import LOSSES, of_triplets

# ---- encoders --------------------------------------------------------------------------------------------------------

HERE = [name for name, spec in ENCODERS.items() if spec.model.startswith(("package:", "scirep_core."))]
STACKS, CHARTS, BIRDS = (
    "Parsing sentences with stacks. We parse sentences with a stack machine.",
    "A stack machine for parsing. Stacks parse long sentences fast.",
    "Bird song in winter woods. We record birds and count their songs.",
)
ODD = [
    "", " ", "\n\t", "\x00", "a \ud800 b", "🚀 models 😀", "\u202e abc אבג", "naïve cafe\u0301", "word " * 4000, "?!", "x" * 5000,
]  # fmt: skip
SEEDED = (
    "import sys, numpy; from scirep_core import load_encoder; e = load_encoder(sys.argv[1])\n"
    "numpy.savez(sys.argv[2], v=e.encode(sys.argv[3:], 'PRX'), f=e.fingerprint)"
)


encoders = pytest.mark.parametrize("name", HERE)


@encoders
def test_an_encoder_says_what_it_is_and_the_same_when_it_is_loaded_again(name: str) -> None:
    encoder = load_encoder(name)
    assert encoder.name == name and ENCODERS[name].text
    assert isinstance(encoder.dim, int) and encoder.dim > 0 and isinstance(encoder.recipe, Recipe)
    assert encoder.formats and set(encoder.formats) <= set(FORMATS)
    assert len(encoder.fingerprint) >= 16 and encoder.fingerprint == load_encoder(name).fingerprint
    assert len({load_encoder(one).fingerprint for one in HERE}) == len(HERE)


@encoders
def test_every_text_has_a_finite_vector_of_the_stated_length(name: str) -> None:
    encoder = load_encoder(name)
    for format in encoder.formats:
        vectors = embed(encoder, ODD, format)
        assert vectors.dtype == np.float32 and vectors.shape == (len(ODD), encoder.dim)
        assert np.isfinite(vectors).all()
    assert encoder.encode(["a"], encoder.formats[0]).dtype == np.float32
    assert encoder.encode([], encoder.formats[0]).shape == (0, encoder.dim)
    with pytest.raises(ConfigError, match="unknown format"):
        encoder.encode(["a"], "SRC")  # type: ignore[arg-type]


@encoders
def test_a_vector_depends_on_its_text_alone_and_what_says_the_same_lies_nearer(name: str) -> None:
    encoder = load_encoder(name)
    texts = [STACKS, "short", BIRDS, CHARTS, "word " * 300, STACKS]
    for format in encoder.formats:
        together, backwards = encoder.encode(texts, format), encoder.encode(texts[::-1], format)[::-1]
        alone = np.concatenate([encoder.encode([text], format) for text in texts])
        assert np.abs(together - alone).max() < 1e-5 and np.abs(together - backwards).max() < 1e-5
        assert np.abs(together[0] - together[5]).max() < 1e-6
        unit = together.astype(float) / np.linalg.norm(together.astype(float), axis=1, keepdims=True)
        assert unit[0] @ unit[3] > unit[0] @ unit[2] + 0.05


@encoders
def test_a_setting_changes_the_fingerprint_or_is_refused(name: str) -> None:
    """A setting that is passed over would give vectors another name than their own."""
    for setting in ({"dtype": "bfloat16"}, {"max_length": 7}):
        try:
            assert load_encoder(name, **setting).fingerprint != load_encoder(name).fingerprint, setting  # type: ignore[arg-type]
        except ConfigError as error:
            assert name in str(error)


@encoders
def test_another_process_gives_the_same_vectors(name: str, tmp_path: Path) -> None:
    """Python's own hashes differ from process to process; the store holds vectors for all of them."""
    words = [sys.executable, "-c", SEEDED, name, str(tmp_path / "v.npz"), STACKS, BIRDS]
    done = subprocess.run(words, env=os.environ | {"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    encoder, stored = load_encoder(name), np.load(tmp_path / "v.npz")
    assert str(stored["f"]) == encoder.fingerprint
    assert np.abs(stored["v"] - encoder.encode([STACKS, BIRDS], "PRX")).max() < 1e-6


@encoders
def test_an_encoder_can_be_scored(name: str) -> None:
    task = small_tasks.all_tasks()["proximity"]
    rows = evaluate(task, vectors_of(task, load_encoder(name)))
    assert [row.metric for row in rows] == ["map", "ndcg", "mrr"] and all(0 < row.value <= 100 for row in rows)


# ---- metrics ---------------------------------------------------------------------------------------------------------

RATINGS = st.lists(st.integers(0, 3), min_size=1, max_size=60)
RANKED = [name.replace("@k", "@5") for name in ACCEPTED["proximity"]]


@pytest.mark.parametrize("name", examples())
def test_a_metric_of_nothing_relevant_is_zero(name: str) -> None:
    assert score(name, [0, 0, 0]) == score(name, [0]) == score(name, []) == 0
    assert parse(name)[0].name in name and parse(name)[0].text


@pytest.mark.parametrize("name", examples())
@settings(deadline=None)
@given(RATINGS, st.data())
def test_a_metric_lies_between_zero_and_one_and_moving_a_relevant_paper_up_never_hurts(name, ranked, data) -> None:
    """So that the ideal order is never beaten."""
    assert 0 <= score(name, ranked) <= score(name, sorted(ranked, reverse=True)) + 1e-12 <= 1 + 2e-12
    i = data.draw(st.integers(0, len(ranked) - 1))
    assert score(name, sorted(ranked[: i + 1], reverse=True) + ranked[i + 1 :]) >= score(name, ranked) - 1e-12


@pytest.mark.parametrize("name", RANKED)
@pytest.mark.parametrize("protocol", ["paper", "sound"])
@settings(deadline=None)
@given(RATINGS.filter(any), st.integers(0, 3))
def test_judged_candidates_and_a_whole_pool_are_scored_alike(name, protocol, ranked, missing) -> None:
    """By the scores of all candidates (proximity, search) and by the ranks of the judged ones (retrieval, labels)."""
    names = [f"p{i:02d}" for i in range(len(ranked) + missing)]
    qrels = {("", "q"): dict(zip(names, [*ranked, *[1] * missing], strict=True))}
    run = {("", "q"): {paper: -float(i) for i, paper in enumerate(names[: len(ranked)])}}
    (found,) = ranking.score_run(qrels, run, [name], protocol)["", "q"]
    ranks = np.array([*range(1, len(ranked) + 1), *[np.inf] * missing], dtype=float)
    assert found == pytest.approx(from_ranks(name, ranks, np.array([*ranked, *[1] * missing])), abs=1e-9)


@pytest.mark.parametrize("name", [name for name in RANKED if parse(name)[0].of_ranks])
@settings(deadline=None)
@given(RATINGS)
def test_facets_are_scored_like_every_other_task(name: str, ranked: list[int]) -> None:
    relevant = (np.array(ranked) >= RELEVANT).astype(int)
    assert score(name, ranked) == pytest.approx(from_ranks(name, np.arange(1.0, len(ranked) + 1), relevant))


@pytest.mark.parametrize("name", RANKED)
def test_equal_scores_are_ordered_as_trec_eval_orders_them(name: str) -> None:
    """Of three candidates with one score the last id comes first, so a relevant one called z is ranked first."""
    tied = dict.fromkeys(("a", "m", "z"), 0.5)
    for grades, rank in (({"a": 0, "m": 0, "z": 1}, 1.0), ({"a": 1, "m": 0, "z": 0}, 3.0)):
        (found,) = ranking.score_run({("", "q"): grades}, {("", "q"): tied}, [name], "paper")["", "q"]
        assert found == pytest.approx(from_ranks(name, np.array([rank]), np.array([1])))


@pytest.mark.parametrize("name", RANKED)
def test_tasks_that_rank_can_be_asked_for_a_metric(name: str) -> None:
    tasks = small_tasks.all_tasks()
    for kind in ("proximity", "groups", "adhoc_search", "retrieval", "label_ranking"):
        check_metrics([name], tasks[kind].type)
        rows = evaluate(tasks[kind], small_tasks.vectors(), metrics=[name])
        assert rows[0].metric == name and all(0 <= row.value <= 100 for row in rows)


PREDICTING = [(kind, name) for kind in ("classification", "regression") for name in ACCEPTED[kind]]


@pytest.mark.parametrize(("kind", "name"), PREDICTING)
def test_a_metric_of_predictions_is_1_for_the_truth_and_knows_no_order_of_rows(kind: str, name: str) -> None:
    rng = np.random.default_rng(0)
    score_of = label_scores.correlation if kind == "regression" else label_scores.label_score
    classes, labels, numbers = rng.integers(0, 2, 40), rng.integers(0, 2, (40, 3)), rng.normal(size=40)
    one_class = [classes] if name == "f1" else [classes, labels]  # F1 is of two classes alone
    for gold in [numbers] if kind == "regression" else one_class:
        guess = np.where(rng.random(gold.shape) < 0.3, rng.permutation(gold), gold)
        order = rng.permutation(len(gold))
        assert score_of(name, gold, gold) == pytest.approx(1)
        assert -1 <= score_of(name, gold, guess) < 1
        assert score_of(name, gold[order], guess[order]) == pytest.approx(score_of(name, gold, guess))
    (row,) = evaluate(small_tasks.all_tasks()[kind], small_tasks.vectors(), metrics=[name], split="test")
    assert row.metric == name and -100 <= row.low <= row.value <= row.high <= 100


# ---- perturbations ---------------------------------------------------------------------------------------------------

CODES = [*PERTURBATIONS, *MORE]
TEXTS = {name: text for name, text in CORNERS.items() if name != "very long"} | {
    "the paper's own": (TITLE, ABSTRACT), "long": (TITLE, " ".join([ABSTRACT] * 4)), "every kind of word": (
        "The new model quickly learns a large graph",
        "It uses 3 small models. They really learn the graph of 7 new words.",
    ),
}  # fmt: skip
WAYS = ("order", "case", "space", "word", "noun", "title noun", "character", "sentence", "antonym")


@pytest.fixture(scope="module")
def parsed() -> dict[str, tuple[Parsed, Parsed]]:
    tools = find_tools("fallback")
    return {name: (Parsed(title, tools), Parsed(abstract, tools)) for name, (title, abstract) in TEXTS.items()}


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_a_defined_outcome_for_every_text_and_changes_the_fields_it_names(code: str, parsed) -> None:
    known, changed = perturbation(code), set()
    for name, (title, abstract) in parsed.items():
        for more in ([], [["model"]]):
            top = top_phrases([abstract.phrases, ["graph"], *more])
            found = perturb("p", title, abstract, code, 3, top)
            assert found == perturb("p", title, abstract, code, 3, top), name
            assert found.applies == (found.title is not None) == (found.abstract is not None) == (not found.reason), (
                name
            )
            if found.applies:
                new = found.title != title.text, found.abstract != abstract.text
                kept = known.title == KEPT, known.abstract == KEPT
                assert not any(a and b for a, b in zip(new, kept, strict=True)), name
                changed.add(tuple(a or b for a, b in zip(new, kept, strict=True)))
    assert (True, True) in changed, "it never changes what it says"


@pytest.mark.parametrize("code", CODES)
def test_the_seed_matters_exactly_where_a_code_says_that_it_draws(code: str, parsed) -> None:
    title, abstract = parsed["long"]
    top = top_phrases([abstract.phrases, ["graph"]])
    made = {perturb("p", title, abstract, code, seed, top)[2:] for seed in range(6)}
    assert (len(made) > 1) == perturbation(code).random


@pytest.mark.parametrize("code", CODES)
def test_a_code_stands_in_a_category_that_its_kind_of_change_allows_and_alters_a_collection(code: str) -> None:
    known = perturbation(code)
    assert known.category in CATEGORIES and known.does in WAYS
    assert known.category.startswith("LL") == (known.does in ("order", "case", "space"))
    assert code not in MORE or code not in {*PERTURBATIONS, *LITERAL}
    task = small_tasks.all_tasks()["alternative_self"]
    made = alter(task, codes=[code], tools="fallback", workers=1).by_code[code]
    assert len(made.ids) == len(made.texts) and len(made.ids) + sum(made.reasons.values()) == len(small_tasks.IDS)


# ---- losses ----------------------------------------------------------------------------------------------------------

N, DIM, CLASSES = 6, 5, 4


def given_to(name: str, seed: int = 0, scale: float = 1.0):
    """Return what a loss learns (float64 tensors) and what it is given, by the names of its parameters."""

    def drawn(*shape: int, at: int = 0):
        return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + at)) * scale

    whole, numbers = torch.Generator().manual_seed(seed + 100), drawn(N, at=1) / scale
    vectors = [drawn(N, DIM, at=i) for i in range(3)]
    first = tuple(inspect.signature(LOSSES[name]).parameters)[:3]
    if first[:2] == ("logits", "targets"):  # classes, or a row of labels: it refuses the other shape
        classes, labels = torch.randint(CLASSES, (N,), generator=whole), torch.randint(2, (N, CLASSES), generator=whole)
        return [drawn(N, CLASSES)], [labels.double() if "binary" in name else classes]
    if first[:2] == ("predicted", "targets"):
        return [drawn(N)], [numbers]
    if first == ("queries", "contexts", "targets"):
        return [vectors[0], torch.cat(vectors[1:])], [torch.arange(N)]
    assert first in (("query", "positive", "negative"), ("queries", "positives", "negatives")), f"{name}: {first}"
    return vectors, []


losses = pytest.mark.parametrize("name", LOSSES)


@losses
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_a_loss_agrees_with_finite_differences_and_it_falls_along_it(name: str, seed: int) -> None:
    learned, rest = given_to(name, seed)
    tensors = tuple(one.requires_grad_() for one in learned)
    assert torch.autograd.gradcheck(lambda *x: LOSSES[name](*x, *rest), tensors)
    start = LOSSES[name](*tensors, *rest)
    assert start.shape == ()
    steps = torch.autograd.grad(start, tensors)
    assert LOSSES[name](*(a - 1e-3 * b for a, b in zip(tensors, steps, strict=True)), *rest) < start


@losses
def test_a_loss_counts_in_32_bits_under_autocast_too(name: str) -> None:
    """On the very numbers that bf16 holds, the loss is that of 32 bits: BERT's inner products are in the hundreds."""
    learned, rest = given_to(name, scale=8.0)
    held = [tensor.bfloat16() for tensor in learned]
    rest = [tensor.float() if tensor.is_floating_point() else tensor for tensor in rest]
    exact = LOSSES[name](*(tensor.float() for tensor in held), *rest)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for tensors in (held, [tensor.float() for tensor in held]):
            found = LOSSES[name](*tensors, *rest)
            assert found.dtype == torch.float32
            torch.testing.assert_close(found, exact, rtol=1e-6, atol=1e-6)


@losses
def test_a_loss_and_its_gradient_stay_finite_for_huge_and_for_equal_vectors(name: str) -> None:
    """At distance 0 a Euclidean norm has no slope, and exp(1000) is no number: one NaN would spoil every weight."""
    for scale in (1e4, 0.0):
        learned, rest = given_to(name, scale=scale or 1.0)
        tensors = [(tensor if scale else tensor * 0 + 1).float().requires_grad_() for tensor in learned]
        found = LOSSES[name](*tensors, *rest)
        assert torch.isfinite(found), scale
        assert all(torch.isfinite(one).all() for one in torch.autograd.grad(found, tensors)), scale


@losses
def test_the_loss_of_nothing_and_of_shapes_that_would_broadcast_is_refused(name: str) -> None:
    learned, rest = given_to(name)
    nothing = [tensor[:0] for tensor in (*learned, *rest)]
    for wrong in (nothing, [learned[0][:1], *learned[1:], *rest]):
        with pytest.raises(ConfigError, match="do not fit together"):
            LOSSES[name](*wrong)


@pytest.mark.parametrize("name", of_triplets())
def test_a_loss_of_triplets_orders_distances_and_can_be_trained_with(name: str, tmp_path: Path) -> None:
    """A nearer positive lowers it, a nearer negative raises it."""
    (query, positive, negative), _ = given_to(name)
    near, far = (
        LOSSES[name](query, (query + positive) / 2, negative),
        LOSSES[name](query, positive, (query + negative) / 2),
    )
    assert near < LOSSES[name](query, positive, negative) < far
    chosen = replace(small_training.CONFIG, steps=3, warmup=1, triplet_loss=name)
    done = train(small_training.model(), [small_training.tasks()[3]], chosen, tmp_path)
    assert np.isfinite(list(done.losses.values())).all() and done.losses


# ---- tasks of other collections --------------------------------------------------------------------------------------


def at_hand(name: str) -> Task:
    manifest, mirror = load_manifest(TASKS[name].manifest), os.environ.get("SCIREP_DATA_MIRROR", "")
    if not mirror or not (Path(mirror) / manifest.mirror).is_dir():
        pytest.skip(f"{name}: SCIREP_DATA_MIRROR has no folder {manifest.mirror}")
    task = load_task(name)
    assert isinstance(task, Task)
    return task


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_what_its_row_and_its_manifest_say_and_can_be_scored_and_kept_as_a_folder(
    name: str, tmp_path
) -> None:
    task, manifest = at_hand(name), load_manifest(TASKS[name].manifest)
    assert (task.name, task.source) == (name, "real") and len(task.data_hash) == 64
    assert [str(finding) for finding in validate(task)] == []
    assert counts(task) == dict(TASKS[name].expect)
    assert manifest.verified == "full" and name in manifest.needed_for
    assert load_task(name).data_hash == task.data_hash
    rows = evaluate(task, "random")
    assert rows and {row.metric for row in rows} >= set(task.metrics)
    write_folder(task, tmp_path / "task")
    again = read_folder(tmp_path / "task")
    assert [row.value for row in evaluate(again, "random")] == [row.value for row in rows]
