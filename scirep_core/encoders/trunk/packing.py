"""Documents of unequal length without padding: their tokens one after another, and attention within each document.

    rows of all token-wise layers: sum of lengths, not documents x longest
    attention: softmax(q k' / sqrt(d)) v over the tokens of one's own document only

Documents lie in order of route (the way of conditioning each takes: a task format, an expert), then of length. So each
route is one slice of rows, and documents of equal length lie side by side: a run, attended as one dense block.
A GPU, which would wait for each run, gets all documents at once: in half precision by torch's variable-length attention;
in float32, and where training drops weights, padded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from scirep_core.encoders.trunk.attention import block

HEAD = 8
"""torch's variable-length attention takes heads of multiples of this size; those of PALs are 34 in BERT-base, 17 in MiniLM."""
AT_ONCE = ("cuda",)
"""Devices that get all documents at once. Operations are counted on `meta` along the CPU's road (`counting`)."""


class Run(NamedTuple):
    """Documents of one route and one length: places among the packed documents, and rows among the packed tokens."""

    route: int
    docs: slice
    rows: slice
    size: int
    length: int


class Span(NamedTuple):
    """Where documents begin among rows, (docs + 1,) int32, and the most rows that one has."""

    starts: Tensor
    longest: int


@dataclass(frozen=True)
class Packed:
    """A batch: token ids and positions (tokens,), and where its documents lie.

    Attributes:
        order: (docs,) packed place -> place in the sequence that was given.
        runs: in packed order.
        read_at: place in each document of the token that is read.
    """

    ids: Tensor
    positions: Tensor
    order: Tensor
    runs: tuple[Run, ...]
    read_at: int = 0

    @property
    def docs(self) -> int:
        """How many documents."""
        return len(self.order)

    @cached_property
    def starts(self) -> Tensor:
        """(docs + 1,) int32: the first row of each document, and the number of rows."""
        lengths = np.repeat([run.length for run in self.runs], [run.size for run in self.runs])
        return on(str(self.ids.device), np.concatenate([[0], lengths.cumsum()]).astype(np.int32))

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest document."""
        return max(run.length for run in self.runs)

    @cached_property
    def read(self) -> Tensor:
        """(docs,) the row of each document's token that is read."""
        return self.starts[:-1].long() + self.read_at

    @cached_property
    def routes(self) -> tuple[tuple[int, slice, slice], ...]:
        """(route, its documents, its rows), each route once."""
        found = []
        for route, runs in groupby(self.runs, key=lambda run: run.route):
            several = list(runs)
            found.append((route, slice(several[0].docs.start, several[-1].docs.stop),
                          slice(several[0].rows.start, several[-1].rows.stop)))  # fmt: skip
        return tuple(found)

    def split(self, x: Tensor, read: bool = False) -> tuple[Tensor, ...]:
        """Return each run's part of (tokens, ...), or with `read` of (docs, ...). A slice each would have whole gradients."""
        return torch.split(x, [run.size if read else run.size * run.length for run in self.runs])

    def slices(self, read: bool) -> tuple[tuple[int, slice], ...]:
        """Return (route, slice): of all rows, or with `read` of the rows that are one a document."""
        return tuple((route, docs if read else rows) for route, docs, rows in self.routes)

    def seeing(self, contexts: tuple[tuple[int, int], ...]) -> tuple[Tensor, Span]:
        """Return the rows that documents see when contexts lie behind the tokens: each one's context, then its own.

        Args:
            contexts: (route, rows of its context), in the order in which they lie. The answer is kept with the batch.
        """
        if contexts not in self.seen:
            ends = len(self.ids) + np.cumsum([size for _, size in contexts])
            places = {route: np.arange(end - size, end) for (route, size), end in zip(contexts, ends, strict=True)}
            rows = []
            for run in self.runs:
                context = np.tile(places.get(run.route, np.empty(0, np.int64)), (run.size, 1))
                own = np.arange(run.rows.start, run.rows.stop).reshape(run.size, run.length)
                rows += list(np.concatenate([context, own], axis=1))
            starts = np.cumsum([0, *(len(mine) for mine in rows)], dtype=np.int32)
            device = str(self.ids.device)
            many = Span(on(device, starts), max(len(mine) for mine in rows))
            self.seen[contexts] = on(device, np.concatenate(rows)), many
        return self.seen[contexts]

    @cached_property
    def seen(self) -> dict[tuple[tuple[int, int], ...], tuple[Tensor, Span]]:
        """What `seeing` has found."""
        return {}

    def in_order(self, x: Tensor) -> Tensor:
        """Return (docs, ...) values in the order the documents were given in."""
        back = torch.empty_like(self.order)
        back[self.order] = torch.arange(len(self.order), device=self.order.device)
        return x[back]

    def mean(self, x: Tensor) -> Tensor:
        """Return (docs, dim) float32: the mean over each document's rows of (tokens, dim)."""
        if x.device.type in AT_ONCE:  # unsafe: does not look at the lengths, which would wait for them
            return torch.segment_reduce(x.float(), "mean", lengths=self.starts.diff().long(), unsafe=True)
        parts = zip(self.runs, self.split(x.float()), strict=True)
        return torch.cat([part.view(run.size, run.length, -1).mean(1) for run, part in parts])


def pack(
    documents: Sequence[Sequence[int]], routes: Sequence[int] | None = None, device: str = "cpu", read_at: int = 0
) -> Packed:
    """Return documents' token ids as one batch; `routes` (docs,) are 0 where not given. ValueError for one without tokens."""
    if not documents or not all(documents):
        raise ValueError("a batch needs documents, and each document a token")
    taken = [0] * len(documents) if routes is None else list(routes)
    order = sorted(range(len(documents)), key=lambda i: (taken[i], len(documents[i]), i))
    runs, doc, row = [], 0, 0
    for (route, length), same in groupby(order, key=lambda i: (taken[i], len(documents[i]))):
        count = len(list(same))
        runs.append(Run(route, slice(doc, doc + count), slice(row, row + count * length), count, length))
        doc, row = doc + count, row + count * length
    ids = np.fromiter(chain.from_iterable(documents[i] for i in order), np.int64, row)
    positions = np.concatenate([np.tile(np.arange(run.length), run.size) for run in runs])
    return Packed(on(device, ids), on(device, positions), on(device, np.asarray(order)), tuple(runs), read_at)


def on(device: str, values: NDArray[Any]) -> Tensor:
    """Return numbers as a tensor on a device; a GPU takes them while it computes something else."""
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.startswith("cuda") else tensor.to(device)


def on_host(x: Tensor) -> Callable[[], NDArray[Any]]:
    """Return what gives a tensor as an array; a GPU sends it when it has it, and who asks earlier waits."""
    if not x.is_cuda:
        here = x.cpu().numpy()
        return lambda: here
    host = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
    sent = torch.cuda.Event()  # type: ignore[no-untyped-call]
    host.copy_(x, non_blocking=True)
    sent.record(torch.cuda.current_stream(x.device))

    def array() -> NDArray[Any]:
        sent.synchronize()
        return host.numpy()

    return array


def in_turn(computed: Iterable[tuple[list[int], Tensor]], ahead: int) -> Iterator[tuple[list[int], NDArray[Any]]]:
    """Yield places and arrays of places and tensors, in order, each when `ahead` more have been asked for.

    So a GPU computes while its host cuts and packs what comes next.
    """
    waiting: deque[tuple[list[int], Callable[[], NDArray[Any]]]] = deque()
    for places, x in computed:
        waiting.append((places, on_host(x)))
        if len(waiting) > ahead:
            first, array = waiting.popleft()
            yield first, array()
    for places, array in waiting:
        yield places, array()


def attend(
    q: Tensor, k: Tensor, v: Tensor, batch: Packed, read: bool = False, dropout: float = 0.0,
    before: Mapping[int, tuple[Tensor, Tensor]] | None = None,
) -> Tensor:  # fmt: skip
    """Return (rows, heads, d): each document's queries over its own keys.

    Args:
        q: (tokens, heads, d); with `read` (docs, heads, d): one query a document.
        k, v: (tokens, heads, d).
        before: route -> keys and values (context, heads, d) that every document of it sees too, before its own.
    """
    if q.device.type in AT_ONCE:
        return at_once(q, k, v, batch, read, dropout, before)
    made = []
    for run, *parts in zip(batch.runs, batch.split(q, read), batch.split(k), batch.split(v), strict=True):
        query, key, value = (x.view(run.size, -1, *q.shape[1:]).transpose(1, 2) for x in parts)
        if before is not None and run.route in before:
            extra = (x.transpose(0, 1).expand(run.size, -1, -1, -1) for x in before[run.route])
            key, value = (torch.cat([first.to(own), own], 2) for first, own in zip(extra, (key, value), strict=True))
        seen = block(query, key, value, dropout)
        made.append(seen.transpose(1, 2).reshape(-1, *q.shape[1:]))
    return torch.cat(made)


# ---- all documents at once, on a GPU ---------------------------------------------------------------------------------


def at_once(
    q: Tensor, k: Tensor, v: Tensor, batch: Packed, read: bool = False, dropout: float = 0.0,
    before: Mapping[int, tuple[Tensor, Tensor]] | None = None,
) -> Tensor:  # fmt: skip
    """Return what `attend` does, in a few calls however many lengths there are."""
    asks = sees = Span(batch.starts, batch.longest)
    if read:
        asks = Span(torch.arange(batch.docs + 1, dtype=torch.int32, device=q.device), 1)
    if before:
        rows, sees = batch.seeing(tuple(sorted((route, len(keys)) for route, (keys, _) in before.items())))
        routes = sorted(before)
        k = torch.cat([k, *(before[route][0].to(k) for route in routes)])[rows]
        v = torch.cat([v, *(before[route][1].to(v) for route in routes)])[rows]
    if q.dtype in (torch.float16, torch.bfloat16) and not dropout:
        return variable_length(q, k, v, asks, sees)
    places = torch.arange(sees.longest, device=q.device)
    there = places < sees.starts.diff()[:, None]  # (docs, longest)
    query, key, value = (spread(x, of).transpose(1, 2) for x, of in ((q, asks), (k, sees), (v, sees)))
    seen = F.scaled_dot_product_attention(query, key, value, there[:, None, None], dropout_p=dropout)
    docs = torch.repeat_interleave(asks.starts.diff(), output_size=len(q))  # of each row; a mask would wait for its sum
    return seen.transpose(1, 2)[docs, torch.arange(len(q), device=q.device) - asks.starts[docs]]


def spread(x: Tensor, of: Span) -> Tensor:
    """Return (docs, longest, ...) of packed rows (rows, ...); behind a document's end stand rows of others."""
    places = of.starts[:-1, None].long() + torch.arange(of.longest, device=x.device)
    return x[places.clamp(max=len(x) - 1)]


def variable_length(q: Tensor, k: Tensor, v: Tensor, asks: Span, sees: Span) -> Tensor:
    """Return (rows, heads, d) by torch's variable-length attention: half precision, on a GPU, no dropout; any size of a head."""
    from torch.nn.attention.varlen import varlen_attn

    size = q.shape[-1]
    if size % HEAD:  # zeros add nothing to a product, so the scale stays that of the size
        q, k, v = (F.pad(x, (0, -size % HEAD)) for x in (q, k, v))
    out = varlen_attn(q, k, v, asks.starts, sees.starts, asks.longest, sees.longest, scale=size**-0.5)
    assert isinstance(out, Tensor)
    return out[..., :size]
