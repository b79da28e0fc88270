"""Attention of documents of one length on a CPU, by the faster of two ways: a measurement of this machine chooses.

    softmax(q k' / sqrt(d)) v

    exp2     plain products with exp2 between them: some processors take four times as long for torch's exp, which is MKL's
    fused    torch's scaled_dot_product_attention: holds no weights, so the faster where memory is slow or exp is fast
    traced   plain products with softmax between them, of which torch keeps what a gradient needs: training in bfloat16

By either way a document's states are the same to the bit whoever stands beside it. The two differ by rounding (1e-6 in
float32), as machines do, so the choice is no part of a fingerprint. It is made once, at the first use, and kept in
SCIREP_HOME for this processor, version of torch and number type. SCIREP_ATTENTION=exp2 or fused decides instead.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from scirep_core.encoders.trunk.number_types import at_threads, machine
from scirep_core.kit.errors import CacheError, ConfigError, nearest
from scirep_core.kit.store import held, home, stable_hash, write_json

WEIGHTS = 2 << 20
"""Most attention weights that are held at once on a CPU (8 MB in float32), or those of one document."""
ROWS = 8
"""Rows of a product from which on MKL adds up every row in one order, whatever their number (measured: 8)."""
TRIALS = ((4, 12, 64, 32), (1, 12, 256, 32), (1, 12, 128, 64))
"""Documents, heads, tokens and size of a head that are measured: titles and abstracts in MiniLM, one in BERT-base."""
LONGEST = 0.25
"""Seconds of CPU time after which no further round is begun."""
AHEAD = 0.95
"""exp2 is taken unless fused takes less than this share of its time: what is about as fast is not left to chance."""


Way = Callable[[Tensor, Tensor, Tensor], Tensor]


def block(q: Tensor, k: Tensor, v: Tensor, dropout: float = 0.0) -> Tensor:
    """Return (n, heads, length, d): softmax(q k' / sqrt(d)) v of n documents of one length."""
    fit = q.device.type == "cpu" and q.dtype in (torch.float32, torch.bfloat16)
    if fit and q.dtype == torch.bfloat16 and torch.is_grad_enabled():
        return traced(q, k, v, dropout)
    if not fit or dropout or torch.is_grad_enabled():
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
    if q.shape[2] == 1 and k.shape[2] > 1:
        # A single row MKL adds up in another order: so that a token read alone is what it is among all rows, its query is
        # asked several times over.
        return block(q.repeat(1, 1, min(ROWS, k.shape[2]), 1), k, v)[:, :, :1]
    return WAYS[chosen(q.dtype)](q, k, v)


def written_out(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return `block` by plain products, some documents at a time; no gradient."""
    return _by_parts(_products, q, k, v, max(1, WEIGHTS // (q.shape[1] * q.shape[2] * k.shape[2])))


def _by_parts(way: Way, q: Tensor, k: Tensor, v: Tensor, size: int = 1) -> Tensor:
    parts = [way(*(x[i : i + size] for x in (q, k, v))) for i in range(0, len(q), size)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _products(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return `block`: 2^s / sum(2^s), s = q k' log2(e) / sqrt(d).

    exp2 takes one document at a time: the last numbers that fill no register are computed otherwise, and where they lie is not
    to depend on the neighbours. The maximum is not taken off first, one pass less: it may be 88 before e^s leaves the number
    type, and all-MiniLM's reach 83 on real abstracts. Where a sum leaves it, the softmax that takes it off is taken.
    """
    n, heads, length, d = q.shape
    q3, k3, v3 = (x.reshape(n * heads, -1, d) for x in (q, k, v))
    weights = q.new_empty(n * heads, length, k.shape[2])
    torch.baddbmm(weights, q3, k3.transpose(1, 2), beta=0, alpha=math.log2(math.e) * d**-0.5, out=weights)
    for of_one in weights.view(n, heads, length, -1):
        of_one.exp2_()
    total = weights.sum(-1, keepdim=True)
    least, most = total.aminmax()
    seen: Tensor = torch.bmm(weights, v3).div_(total)
    if least > 1e-30 and most < math.inf and seen.sum().isfinite():
        return seen.view(n, heads, length, d)
    if n > 1:
        return _by_parts(_products, q, k, v)
    return _softmax(q, k, v)


def fused(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return `block` by torch's fused attention; what is not a number in a query stays none, which torch makes one.

    In bfloat16 one document at a time: how torch lays out the keys depends on how many there are.
    """
    if len(q) > 1 and (q.dtype == torch.bfloat16 or not _finite(q)):
        return _by_parts(fused, q, k, v)
    if not _finite(q):
        return _softmax(q, k, v)
    return F.scaled_dot_product_attention(q, k, v)


def traced(q: Tensor, k: Tensor, v: Tensor, dropout: float = 0.0) -> Tensor:
    """Return `block` by products that autograd follows, n documents' weights held: the faster one in bfloat16 alone."""
    weights = F.softmax(q @ k.transpose(2, 3) * q.shape[-1] ** -0.5, -1)
    return _dropped(weights, dropout) @ v


def _dropped(weights: Tensor, share: float) -> Tensor:
    """Return weights, a share of them 0 and the others larger, by 16 random bits each; torch draws 64, in one thread."""
    if not share:
        return weights
    words = torch.empty(-(-weights.numel() // 4), dtype=torch.int64).random_(-(1 << 63), None)
    drawn = words.view(torch.int16)[: weights.numel()].view(weights.shape)
    last = -(1 << 15) + max(1, round(share * (1 << 16))) - 1
    return weights.masked_fill(drawn <= last, 0) / max(1 - share, 2**-16)


def _finite(x: Tensor) -> bool:
    least, most = x.aminmax()  # each is none where a number is none
    return math.isfinite(least) and math.isfinite(most)


def _softmax(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return `block` as the formula has it, in float32, the maximum taken off."""
    kind, (q, k, v) = q.dtype, (x.float() for x in (q, k, v))
    seen: Tensor = (q @ k.transpose(2, 3) * q.shape[-1] ** -0.5).softmax(-1) @ v
    return seen.to(kind)


WAYS: dict[str, Way] = {"exp2": written_out, "fused": fused}
"""By name; the first is taken where both are about as fast."""


# ---- which -----------------------------------------------------------------------------------------------------------


def chosen(dtype: torch.dtype) -> str:
    """Return the name of the way of this machine. Raises ConfigError for an unknown SCIREP_ATTENTION."""
    asked = os.environ.get("SCIREP_ATTENTION")
    if not asked:
        return _choice(str(dtype).removeprefix("torch."))
    if asked not in WAYS:
        raise ConfigError(f"SCIREP_ATTENTION={asked!r}: {nearest(asked, WAYS)}")
    return asked


@cache
def _choice(dtype: str) -> str:
    """Return what SCIREP_HOME says, or what is measured now and kept there; where nothing can be kept, for this process."""
    key = {"machine": machine(), "torch": torch.__version__, "dtype": dtype}
    measured = cache(lambda: _measured(getattr(torch, dtype)))
    try:
        path = home() / "machine" / f"attention-{stable_hash(key)[:16]}.json"
        if (found := _read(path, key)) is None:
            with held(path.with_suffix(".lock")):  # all processes are to go by the first one's choice
                if (found := _read(path, key)) is None:
                    write_json(path, key | measured())
                    found = _read(path, key)
    except (ImportError, CacheError):  # a bare machine lacks the library that knows a user's folders; a disk may refuse
        found = None
    return found or str(measured()["chosen"])


def _read(path: Path, key: dict[str, Any]) -> str | None:
    """Return what a file says of this machine; None where there is no file, or one that is damaged."""
    try:
        record = json.loads(path.read_bytes())
        return record["chosen"] if record["chosen"] in WAYS and key.items() <= record.items() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _measured(dtype: torch.dtype) -> dict[str, Any]:
    """Return the way that takes less time, and the seconds of each trial by each way: the best of many rounds, in turn.

    By one thread, and of its own CPU time. A first round in which one way takes four times as long is enough.
    """
    draw = torch.Generator().manual_seed(0)
    given = [
        # as a layer leaves them, token by token
        [torch.randn(n, tokens, heads, d, generator=draw).transpose(1, 2).to(dtype) for _ in range(3)]
        for n, heads, tokens, d in TRIALS
    ]
    best, began = {name: [math.inf] * len(given) for name in WAYS}, time.thread_time()
    with at_threads(1), torch.inference_mode():
        for number in range(50):
            for i, qkv in enumerate(given):
                for name, way in WAYS.items():
                    start = time.thread_time()
                    way(*qkv)
                    best[name][i] = min(best[name][i], time.thread_time() - start)
            if time.thread_time() - began > LONGEST and (number > 1 or not 0.25 < _share(best) < 4):
                break
    return {"chosen": "fused" if _share(best) < AHEAD else "exp2", "seconds": best}


def _share(seconds: dict[str, list[float]]) -> float:
    """Return fused's share of exp2's time, the geometric mean over trials: a long one counts no more than a short one."""
    pairs = zip(seconds["fused"], seconds["exp2"], strict=True)
    return math.prod(new / old for new, old in pairs) ** (1 / len(seconds["exp2"]))
