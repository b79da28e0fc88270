"""Parts of conditioned models: experts stand in the odd blocks, counts are the paper's additions, an expert is its task's alone."""

from __future__ import annotations

import pytest

from scirep_core.encoders.conditioning.parts import routed, walk
from scirep_core.training.variants import BY_TASK


def walked(kind: str):
    return walk(kind, BY_TASK, lambda text: [2, *range(5, 5 + len(text.split())), 3])


def test_the_walk_finds_experts_in_the_odd_blocks_and_counts_what_the_paper_adds():
    dense = walked("plain")
    assert set(dense.copies.values()) == {1}
    attention, feed = walked("mha_experts"), walked("ffn_experts")
    assert {key for key, n in attention.copies.items() if n == 3} == {(i, "attention") for i in range(1, 12, 2)}
    assert {key for key, n in feed.copies.items() if n == 3} == {
        (i, part) for i in range(1, 12, 2) for part in ("feed-forward", "norm after feed-forward")
    }
    assert attention.held - dense.held == 2 * 6 * 4 * (768 * 768 + 768)
    assert feed.held - dense.held == 2 * 6 * (2 * 768 * 3072 + 768 + 3072 + 2 * 768)
    assert walked("instruction").held == dense.held
    assert walked("prefix").trained == walked("prefix").held - dense.held
    assert {one.seen for one in (attention, feed, dense)} == {dense.held}


@pytest.mark.parametrize("kind", ["mha_experts", "ffn_experts"])
def test_one_experts_change_moves_its_own_task_alone(kind):
    start, moved = routed(kind, BY_TASK)
    assert set(start.values()) == {0.0}
    assert moved["search"] > 0.01 and moved["link"] == moved["classification"] == 0.0
