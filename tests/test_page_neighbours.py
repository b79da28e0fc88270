"""What the chapters on the 32 neighbours measure alike: paired differences, exact bounds, similarities of all pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scirep_core.data.task import Collection, Task
from scirep_core.evaluators import neighbourhoods, perturbed
from scirep_core.evaluators.perturbed import Cloud
from scirep_core.evaluators.rows import Asked
from scirep_core.page.papers import neighbours
from scirep_core.page.parameters import check
from scirep_core.page.rows import way
from scirep_core.results import Result
from scirep_core.results.differences import against_of


def row(
    metric: str, split: str, value: float, low: float | None = None, high: float | None = None, **more: Any
) -> Result:
    known = {"task": "neighbours/acl_anth", "protocol": "paper", "n": 60, "encoder": "minilm", "source": "embedded",
             "data_hash": "x", "seed": 0} | more  # fmt: skip
    known.setdefault("against", against_of(known["encoder"], metric, split))
    return Result(split=split, metric=metric, value=value, low=low, high=high, **known)


@pytest.mark.parametrize(("shift", "side"), [(5.0, 1), (-5.0, -1), (0.0, 0)])
def test_a_difference_is_paired_draw_by_draw(shift, side):
    noise = np.random.default_rng(0).normal(0, 10, 1000)
    own = np.random.default_rng(1).normal(0, 1, 1000)
    first = row("nn1_ret", "A", 50.0, replicates=(50 + noise).astype(np.float32))
    second = row("nn1_ret", "B", 50.0 - shift, replicates=(50 - shift + noise + own).astype(np.float32))
    found = neighbours.difference(first, second, "B", split="A - B")[0]
    assert found.value == shift and found.split == "A - B" and found.metric == "difference of nn1_ret"
    assert found.low is not None and found.high is not None
    assert way(found) == side
    assert found.high - found.low < 5  # the shared noise of 40 points is gone
    assert neighbours.difference(replace(first, replicates=None), second, "B") == []


def test_an_interval_without_width_at_the_edge_becomes_the_exact_one():
    whole = neighbours.edged(row("nn1_ret", "LL-HS", 100.0, 100.0, 100.0, n=300), 60)
    assert whole.high == 100 and whole.low == pytest.approx(100 * 0.025 ** (1 / 60))
    assert (whole.low / 100) ** 60 == pytest.approx(0.025)
    none = neighbours.edged(row("aop@10", "TDelNN", 0.0, 0.0, 0.0, n=40), 60)
    assert none.low == 0 and none.high == pytest.approx(100 - 100 * 0.025 ** (1 / 40))
    for kept in (row("nn1_ret", "A", 100.0, 98.0, 100.0), row("difference of nn1_ret", "A - B", 0.0, 0.0, 0.0)):
        assert neighbours.edged(kept, 60) == kept


def test_skewness_is_that_of_all_pairs_whatever_the_blocks(monkeypatch):
    from scipy.stats import skew

    vectors = np.random.default_rng(3).standard_normal((70, 6)) + 0.5
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = (unit @ unit.T)[np.triu_indices(70, 1)]
    for cells in (1 << 25, 500):
        monkeypatch.setattr(neighbourhoods, "CELLS", cells)
        assert neighbourhoods.similarities(vectors).skewness == pytest.approx(skew(pairs), abs=1e-5)
    assert neighbourhoods.similarities(np.ones((5, 3))).skewness == 0


def test_a_category_of_similarities_has_an_interval_of_the_papers_its_codes_share():
    task = Task(
        "neighbours/x", "alternative_self", "PRX", ("mrr",), Collection(tuple(map(str, range(40)))), "folder", "h"
    )
    asked = Asked(task, {}, "paper", "error", (), "cosine", 0)
    draw = np.random.default_rng(5)
    first = draw.standard_normal((40, 8)) + 0.5
    clouds = {
        "T_ARot": Cloud(first, np.arange(40)),
        "T_AShuff": Cloud(first + 0.01 * draw.standard_normal((40, 8)), np.arange(40)),
    }
    found = {(r.metric, r.split): r for r in perturbed.similarity(asked, clouds)}
    one, both = found["inter_mean", "T_ARot"], found["inter_mean", "LL-PS"]
    assert one.low is not None and one.high is not None and both.low is not None and both.high is not None
    assert both.high - both.low == pytest.approx(one.high - one.low, rel=0.15)  # two nearly equal codes: no narrower
    apart = neighbours.difference(one, found["inter_mean", "T_AShuff"], "T_AShuff")[0]
    assert apart.high is not None and apart.low is not None
    assert apart.high - apart.low < 0.1 * (one.high - one.low)  # paired


def test_collections_may_be_none_named_and_encoders_may_not():
    assert check("collections", "") == ""
    assert check("exclude_self", True) is True
    with pytest.raises(Exception, match="encoders"):
        check("encoders", "")
