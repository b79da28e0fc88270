"""One pass: every format's token beside one document that does not see them; four vectors for one forward pass. Ours.

    document tokens attend to the document            their states are the plain trunk's, whatever the formats
    format token f attends to itself and the document  vector of f = its last hidden state

    s = [q k' ; q . k_f] / sqrt(d)        softmax(s) = [p ; p_f]        out = p v + p_f v_f        k, v of the document

SciRepEval's control codes (section 4.1) tell the document which format it is read for, and so need a pass a format. Here
the document is read once, neutrally, and each format's token asks it its own question. No paper of the five has it. A paper
that has labels of several formats can take every loss at no extra encoding (dense labels).

A format token begins where [CLS] stands, at position 0, as [CLS]'s word vector plus a vector of its own. That vector is 0
before training: all formats then ask what [CLS] asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scirep_core.encoders.conditioning.base import Conditioning
from scirep_core.encoders.trunk.bert import Layer, Trunk
from scirep_core.encoders.trunk.packing import AT_ONCE, Packed, attend
from scirep_core.kit.formats import FORMATS


class OnePass(Conditioning):
    """A vector of its own per route: `own` (routes, dim). Between layers the formats' rows come after the documents'.

    A batch's rows are (tokens, dim), then (docs, routes, dim) in packed order. The last layer returns the formats' states
    where the read ones are asked for, (docs, routes, dim), and the documents' else.
    """

    kind = "one_pass"
    shared_pass = True

    def __init__(self, trunk: Trunk, routes: Sequence[str] = FORMATS) -> None:
        super().__init__(trunk, routes)
        self.own = nn.Parameter(torch.zeros(len(self.routes), trunk.shape.hidden_size))
        self.depth = len(trunk.layers)

    def start(self, trunk: Trunk, batch: Packed) -> Tensor:
        """Return (tokens + docs * routes, dim): the documents' tokens, then each document's format tokens."""
        words = trunk.words(batch.ids)
        asked = (words[batch.read][:, None] + self.own.to(words.dtype)).flatten(0, 1)
        places = torch.cat([batch.positions, batch.positions.new_zeros(len(asked))])
        return trunk.embed(torch.cat([words, asked]), places)

    def layer(self, i: int, layer: Layer, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return layer i's output; of the last layer the formats' rows (docs, routes, dim) with `read`, else the documents'."""
        tokens, drop = len(batch.ids), layer.drop_attention if layer.training else 0.0
        rows = x[tokens:] if read else x
        q, k, v = (layer.split(y) for y in (layer.query(rows), layer.key(x), layer.value(x)))
        seen = [] if read else [attend(q[:tokens], k[:tokens], v[:tokens], batch, dropout=drop)]
        seen.append(ask(q if read else q[tokens:], k, v, batch, drop))
        h = layer.norm1(rows + layer.dropout(layer.dense(torch.cat(seen).flatten(-2))))
        y: Tensor = layer.norm2(h + layer.feed(h))
        if read:
            return y.view(batch.docs, len(self.routes), -1)
        return y[:tokens] if i == self.depth - 1 else y


def ask(q: Tensor, k: Tensor, v: Tensor, batch: Packed, dropout: float = 0.0) -> Tensor:
    """Return (docs * routes, heads, d): each format token's attention over itself and its document.

    Args:
        q: (docs * routes, heads, d).
        k, v: (tokens + docs * routes, heads, d), the documents' and after them the formats' own.
    """
    tokens, docs = len(batch.ids), batch.docs
    mine, own_k, own_v = (x.view(docs, -1, *x.shape[1:]).transpose(1, 2) for x in (q, k[tokens:], v[tokens:]))
    alone = (mine * own_k).sum(-1, keepdim=True)  # q . k_f
    made = []
    for some, rows, empty in blocks(batch):
        key, value = (x[rows].view(some.stop - some.start, -1, *x.shape[1:]).transpose(1, 2) for x in (k, v))
        scores = mine[some] @ key.transpose(2, 3)
        if empty is not None:
            scores = scores.masked_fill(empty[:, None, None], -math.inf)
        scores = torch.cat([scores, alone[some].to(scores)], -1) / math.sqrt(q.shape[-1])
        p = F.dropout(F.softmax(scores, -1), dropout).to(value)
        made.append(p[..., :-1] @ value + p[..., -1:] * own_v[some])
    return torch.cat(made).transpose(1, 2).flatten(0, 1)


def blocks(batch: Packed) -> Iterator[tuple[slice, slice | Tensor, Tensor | None]]:
    """Yield (documents, their rows, where there is none) so that documents of a block have one length.

    On a CPU they are the runs. A GPU, which would wait for each, gets all documents as one block, padded: the few rows that
    the formats add make this cheap. Rows are (docs, longest), and where a document has ended, (docs, longest) True.
    """
    if batch.ids.device.type not in AT_ONCE:
        yield from ((run.docs, run.rows, None) for run in batch.runs)
        return
    places = torch.arange(batch.longest, device=batch.ids.device)
    starts = batch.starts.long()
    empty = places >= starts.diff()[:, None]
    yield slice(0, batch.docs), (starts[:-1, None] + places).masked_fill(empty, 0), empty
