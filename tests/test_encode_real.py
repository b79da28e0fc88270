"""Real abstracts and the embedded suite have the vectors that sentence-transformers gives them, whatever lies beside them.

How fast each is, `scirep bench` measures (bench/speed/race.py), on the machine at hand.
"""

from __future__ import annotations

import os
import zlib

import numpy as np
import pytest

from scirep_core import load_encoder, load_task
from scirep_core.bench.speed import race
from scirep_core.data import TASKS
from scirep_core.data.task import Task
from scirep_core.encoders.vectors.embed import embed
from scirep_core.evaluators.inputs import inputs

pytestmark = pytest.mark.slow
EVERY = 96
LENGTH = 512
"""Tokens kept of a real text, as SciRepEval's encoders read them (section 4.1); MiniLM's own 256 leave less to pad."""


def theirs(length=None):
    """Return encode of the library that most people use, as they use it: batches of 32, its own sorting."""
    encoder = load_encoder("minilm")
    lane = race.LANES[race.THEIRS].make(race.Runner("minilm", encoder.folder, length or encoder.length, "cpu"))
    return lane.encode


@pytest.fixture(scope="module")
def real_abstracts():
    """Some of the real texts of the samples, and their vectors by sentence-transformers."""
    if not os.environ.get("SCIREP_DATA_MIRROR"):
        pytest.skip("SCIREP_DATA_MIRROR is not set: no real abstracts on this machine")
    texts = race.abstracts()[:24]
    return texts, theirs(LENGTH)(texts)


@pytest.mark.parametrize("attention", ["exp2", "fused"])
def test_real_abstracts_have_the_vectors_of_sentence_transformers(real_abstracts, attention, monkeypatch):
    monkeypatch.setenv("SCIREP_ATTENTION", attention)
    texts, wanted = real_abstracts
    exact = load_encoder("minilm", max_length=LENGTH).encode(texts, "PRX")
    assert np.abs(exact - wanted).max() < 1e-5
    few = texts[:6]  # a processor without bfloat16 takes seconds for each
    rounded = load_encoder("minilm", dtype="bfloat16", max_length=LENGTH).encode(few, "PRX")
    assert (1 - (rounded * wanted[: len(few)]).sum(1)).max() <= 1e-4


def test_the_suite_has_the_vectors_of_sentence_transformers():
    """Every 96th text of the suite, by hash, for each format it is asked for, through the vector store."""
    encoder = load_encoder("minilm")
    tasks = [load_task(name, "embedded") for name in TASKS if name.startswith("scirepeval/")]
    wanted = {value for task in tasks if isinstance(task, Task) for value in inputs(task, encoder.recipe).values()}
    sample = sorted((value.format, value.text) for value in wanted if zlib.crc32(value.text.encode()) % EVERY == 0)
    by_format = {f: [text for g, text in sample if g == f] for f, _ in sample}
    assert len({text for _, text in sample}) > 20
    encode = theirs()
    for format, texts in by_format.items():
        assert np.abs(embed(encoder, texts, format) - encode(texts)).max() < 1e-5
