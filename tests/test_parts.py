"""Parts of conditioned models: experts stand in the odd blocks, a document meets one of each, an expert is its task's alone."""

from __future__ import annotations

import pytest

from scirep_core.encoders.conditioning.parts import routed, walk
from scirep_core.training.variants import BY_TASK


@pytest.mark.parametrize(
    ("kind", "parts"), [("mha_experts", {"attention"}), ("ffn_experts", {"feed-forward", "norm after feed-forward"})]
)
def test_experts_stand_in_the_odd_blocks_and_one_experts_change_moves_its_own_task_alone(kind, parts):
    dense, walked = (
        walk(one, BY_TASK, lambda text: [2, *range(5, 5 + len(text.split())), 3]) for one in ("plain", kind)
    )
    assert set(dense.copies.values()) == {1} and dense.trained == dense.seen == dense.held == walked.seen < walked.held
    assert {key for key, n in walked.copies.items() if n == 3} == {(i, part) for i in range(1, 12, 2) for part in parts}
    start, moved = routed(kind, BY_TASK)
    assert set(start.values()) == {0.0}
    assert moved["search"] > 0.01 and moved["link"] == moved["classification"] == 0.0
