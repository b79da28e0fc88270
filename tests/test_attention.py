"""Attention on a CPU, by either way, is attention; whoever stands beside a document; and one measurement chooses the way."""

from __future__ import annotations

import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from threading import Barrier

import pytest
import torch

from scirep_core.encoders.trunk import attention
from scirep_core.encoders.trunk.packing import attend, pack
from scirep_core.kit.errors import ConfigError


@pytest.fixture(params=attention.WAYS)
def way(request, monkeypatch):
    monkeypatch.setenv("SCIREP_ATTENTION", request.param)
    return request.param


def heads(rows: int, seed: int = 0, size: int = 8) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    return [torch.randn(rows, 2, size) for _ in range(3)]


def exact(*qkv: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(*(x.double() for x in qkv))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, (1e-5, 1e-5, 1e-4)), (torch.bfloat16, (0.02, 0.05, 0.05))])
def test_attention_on_a_cpu_is_attention(dtype, near):
    """Without taking off the maximum where scores allow it, and where they are in the thousands, of either sign."""
    batch = pack([[1] * length for length in (40, 33, 33, 33, 7)])
    for size, most in zip((1.0, 2.0, 60.0), near, strict=True):
        q, k, v = (x.to(dtype) for x in heads(len(batch.ids)))
        for sign in (1, -1):
            many = (q.abs() * size, k.abs() * size * sign, v)
            with torch.no_grad():
                ours, whole = attend(*many, batch), attend(*(x.double() for x in many), batch)
                first = attend(many[0][batch.read], *many[1:], batch, read=True)
            assert ours.dtype == dtype
            assert (ours - whole).abs().max() < most, (size, sign)
            assert torch.equal(first, ours[batch.read]) or os.environ["SCIREP_ATTENTION"] == "fused"


@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-5), (torch.bfloat16, 0.03)])
def test_gradients_of_attention_are_the_formulas(dtype, near):
    drawn = [torch.randn(3, 2, 17, 8, generator=torch.Generator().manual_seed(i)) for i in range(4)]
    double, held = ([x.clone().to(kind).requires_grad_() for x in drawn[:3]] for kind in (torch.float64, dtype))
    ((double[0] @ double[1].mT / 8**0.5).softmax(-1) @ double[2] * drawn[3].double()).sum().backward()
    (attention.block(*held) * drawn[3].to(dtype)).sum().backward()
    for mine, theirs in zip(held, double, strict=True):
        assert (mine.grad - theirs.grad).norm() < near * theirs.grad.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_in_training_drops_weights_and_keeps_their_mean(dtype):
    q, k = (torch.randn(8, 4, 64, 8, dtype=dtype, requires_grad=True) for _ in range(2))
    ones = torch.ones_like(q)
    seen = attention.block(q, k, ones, dropout=0.5).float()  # of each row the sum of the weights left
    assert seen.std() > 0.05 and abs(seen.mean() - 1) < 0.03
    assert torch.equal(attention.block(q, k, ones, dropout=1.0), torch.zeros_like(q))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("score", "value"), [(88.5, 0.25), (88.0, 10.0), (-100.0, 1.0)], ids=["sum", "numerator", "weights"]
)
def test_attention_at_the_edges_of_the_number_type(dtype, score, value):
    """A sum that is infinite where the numerator is a number (0 / inf is 0), the reverse, and weights of few digits."""
    q, k, v = (torch.zeros(1, 1, 2, 4, dtype=dtype) for _ in range(3))
    q[..., 0], k[..., 0] = 2.0, score
    k[0, 0, 1, 0] -= 0.5
    v[0, 0, :, 1] = torch.tensor([value, value / 2])
    with torch.no_grad():
        shares = attention.block(q, k, v) / exact(q, k, v)
    assert shares[..., 1] == pytest.approx(1, abs=1e-5 if dtype == torch.float32 else 0.01)


@pytest.mark.usefixtures("way")
def test_attention_to_what_is_not_finite_is_not_finite():
    q, k, v = (torch.randn(1, 2, 5, 4) for _ in range(3))
    q[0, 1, 3, 2] = float("nan")
    with torch.no_grad():
        seen = attention.block(q, k, v).isfinite().all(-1)
    assert seen.sum() == 9 and not seen[0, 1, 3]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_of_a_document_is_the_same_to_the_bit_whoever_stands_beside_it(dtype):
    """Where all fit, and where the second needs the slower softmax, which its neighbours do not take; odd lengths."""
    for length, size in product((3, 33, 262), (1, 500)):
        q, k, v = (torch.randn(5, 2, length, 8).to(dtype) for _ in range(3))
        q[1] *= size
        with torch.no_grad():
            together = attention.block(q, k, v)
            for i in range(5):
                alone = attention.block(*(x[i : i + 1] for x in (q, k, v)))
                assert torch.equal(alone[0], together[i]), (length, size, i)
        assert (together - exact(q, k, v)).abs().max() < (1e-3 if dtype == torch.float32 else 0.1)


@pytest.mark.parametrize("context", [0, 3])
def test_documents_of_one_length_are_written_out_some_at_a_time(monkeypatch, context):
    """No more weights are held than WEIGHTS, or one document's; where documents are cut changes nothing."""
    monkeypatch.setenv("SCIREP_ATTENTION", "exp2")
    q, k, v = (torch.randn(7, 2, n, 8) for n in (5, 5 + context, 5 + context))
    one, sizes, products = 2 * 5 * (5 + context), [], attention._products
    with torch.no_grad():
        expected = attention.block(q, k, v)
        monkeypatch.setattr(attention, "_products", lambda *x: (sizes.append(len(x[0])), products(*x))[1])
        for most, parts in ((one - 1, [1] * 7), (3 * one, [3, 3, 1]), (7 * one, [7])):
            monkeypatch.setattr(attention, "WEIGHTS", most)
            sizes.clear()
            assert torch.equal(attention.block(q, k, v), expected)
            assert sizes == parts


@pytest.fixture
def unasked(tmp_path, monkeypatch):
    """A home without a choice, and a measurement that says `fused` and how often it was made."""
    made: list[torch.dtype] = []

    def measured(dtype):
        made.append(dtype)
        return {"chosen": "fused", "seconds": {"exp2": [2.0], "fused": [1.0]}}

    monkeypatch.delenv("SCIREP_ATTENTION", raising=False)
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    monkeypatch.setattr(attention, "_measured", measured)
    attention._choice.cache_clear()
    yield made
    attention._choice.cache_clear()


def again(dtype=torch.float32):
    """Ask as the next process does."""
    attention._choice.cache_clear()
    return attention.chosen(dtype)


def test_a_machine_is_measured_once_for_each_number_type_and_the_choice_is_kept(unasked, tmp_path, monkeypatch):
    assert [again() for _ in range(3)] == ["fused"] * 3 and unasked == [torch.float32]
    again(torch.bfloat16)
    assert unasked == [torch.float32, torch.bfloat16]
    kept = sorted((tmp_path / "machine").glob("attention-*.json"))
    told = json.loads(kept[0].read_text())
    assert told["torch"] == torch.__version__ and set(told) == {"machine", "torch", "dtype", "chosen", "seconds"}
    told["chosen"] = "exp2"  # a kept choice decides, whatever a measurement would say now
    for path in kept:
        path.write_text(json.dumps(told | {"dtype": json.loads(path.read_text())["dtype"]}))
    assert again() == "exp2" and len(unasked) == 2
    (tmp_path / "file").write_text("")  # where nothing can be kept the process keeps it
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "file"))
    assert again() == attention.chosen(torch.float32) == "fused" and len(unasked) == 3


@pytest.mark.parametrize("damaged", ["", "{", "[]", '{"chosen": "fused"}', '{"chosen": "best"}', "null", "\xff"])
def test_a_damaged_file_is_measured_anew(unasked, tmp_path, damaged):
    again()
    (path,) = (tmp_path / "machine").iterdir()
    whole = path.read_text()
    path.write_bytes(damaged.encode("latin-1"))
    assert again() == "fused" and len(unasked) == 2
    assert path.read_text() == whole and list((tmp_path / "machine").iterdir()) == [path]


def test_of_several_processes_the_first_decides(unasked, tmp_path, monkeypatch):
    begun = Barrier(4)
    monkeypatch.setattr(attention, "machine", lambda: str(begun.wait() >= 0))  # all have asked before one measures
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(attention._choice.__wrapped__, ["float32"] * 4)) == {"fused"}
    assert unasked == [torch.float32]
    assert len(list((tmp_path / "machine").iterdir())) == 1


def test_a_setting_decides_and_nothing_is_measured(unasked, monkeypatch):
    for name in attention.WAYS:
        monkeypatch.setenv("SCIREP_ATTENTION", name)
        assert attention.chosen(torch.float32) == name
    monkeypatch.setenv("SCIREP_ATTENTION", "fuse")
    with pytest.raises(ConfigError, match=r"SCIREP_ATTENTION='fuse': did you mean 'fused'"):
        attention.chosen(torch.float32)
    assert unasked == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_measurement_runs_both_ways_in_turn_and_leaves_the_threads(monkeypatch, dtype):
    ran, before = [], torch.get_num_threads()

    def watched(name, way):
        return lambda *x: (ran.append((name, torch.get_num_threads())), way(*x))[1]

    for name, way in attention.WAYS.items():
        monkeypatch.setitem(attention.WAYS, name, watched(name, way))
    told = attention._measured(dtype)
    assert ran[:4] == [("exp2", 1), ("fused", 1)] * 2 and len(ran) >= 2 * len(attention.TRIALS)
    assert torch.get_num_threads() == before and told["chosen"] in attention.WAYS
    assert all(math.isfinite(each) for mine in told["seconds"].values() for each in mine)


@pytest.mark.parametrize(
    ("exp2", "fused", "chosen"),
    [([1, 1], [0.9, 0.9], "fused"), ([1, 1], [0.99, 0.95], "exp2"), ([1, 1], [1.2, 0.9], "exp2")],
)
def test_what_is_about_as_fast_is_not_left_to_chance(exp2, fused, chosen):
    share = attention._share({"exp2": exp2, "fused": fused})
    assert ("fused" if share < attention.AHEAD else "exp2") == chosen
