"""The encoder around the trunk: texts to tokens, tokens to packed batches, batches through trunk and conditioning, vectors.

    vector(text, format) = pooled(Conditioned(tokens(text), route of the format))

Texts are sorted by tokens and cut into batches by a budget of tokens, none of them padding; a text's vector depends on
its neighbours only through the rounding of matrix products (below 1e-6 in float32). On a CPU the linear layers are laid
out for oneDNN once (`prepacked.py`), on a GPU the host cuts and packs the next texts while the device computes.

Only torch, numpy, tokenizers and safetensors are needed here: no transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scirep_core.data.text import Recipe
from scirep_core.encoders import check_format, said_by
from scirep_core.encoders.conditioning.base import Conditioned, Conditioning
from scirep_core.encoders.settings import Settings, checked, finished, pick_device, token_batches
from scirep_core.encoders.trunk.number_types import number_type, products_in
from scirep_core.encoders.trunk.packing import in_turn, pack
from scirep_core.encoders.trunk.prepacked import prepack
from scirep_core.encoders.trunk.speed import Speed, flops, now
from scirep_core.encoders.trunk.tokens import Tokens
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format

BUDGET, GPU_BUDGET = 4096, 65536
"""Most tokens of a batch, on a CPU and on a GPU."""
PART, AHEAD = 512, 2
"""Texts that are cut into tokens at a time where a GPU computes meanwhile, and batches it is given before one is read."""
HELD = 24 << 20
"""Bytes that a layer's widest product may hold on a CPU, of which more leave the cache: 4,096 tokens of 1,536 numbers."""
Loaded = tuple[Conditioned, Tokens]


class About(NamedTuple):
    """What is known of an encoder before its weights are read; `Encoder` says what each is.

    Attributes:
        length: tokens kept of a text, special ones and those of the conditioning included.
        by_format: whether vectors depend on the task format.
        shared_pass: whether one forward pass gives the vectors of all formats.
        by_task: whether routes are SciMult's tasks, so that a query and what it is to find take the same one.
    """

    fingerprint: str
    dim: int
    recipe: Recipe
    length: int = 512
    formats: tuple[Format, ...] = FORMATS
    normalised: bool = False
    by_format: bool = True
    shared_pass: bool = False
    by_task: bool = False


class TrunkEncoder:
    """A trunk, its conditioning and its tokens as an Encoder; `load` is called at the first text, and its model is kept.

    The model that `load` returns becomes the encoder's own: it is put on the device, in the number type, and its linear
    layers are laid out anew, after which it can no longer be trained.
    """

    def __init__(self, name: str, load: Callable[[], Loaded], about: About, settings: Settings | None = None) -> None:
        """Name the encoder; nothing is read yet."""
        self.name, self.about, self.settings, self._load = name, about, settings or Settings(), load
        self.seconds: float | None = None
        """Of the last encode's forward passes, packing included, tokenizing excluded but for what a GPU's host does meanwhile."""
        self.speed = Speed()
        """What all of them have done."""

    fingerprint = said_by("about", "fingerprint", "Content hash of all that decides the vectors.")
    dim = said_by("about", "dim", "Length of a vector.")
    formats = said_by("about", "formats", "Task formats the encoder was made for.")
    recipe = said_by("about", "recipe", "How papers and bare queries become texts.")
    by_format = said_by("about", "by_format", "Whether vectors depend on the task format.")
    by_task = said_by("about", "by_task", "Whether both sides of a task are read alike.")
    shared_pass = said_by("about", "shared_pass", "Whether encode_formats gives all at once.")

    @cached_property
    def device(self) -> str:
        """Where the model runs. Raises ConfigError for a device that torch does not see."""
        return pick_device(self.settings.device)

    @cached_property
    def loaded(self) -> Loaded:
        """The model, ready to run, and its tokens."""
        device = self.device
        model, tokens = self._load()
        return ready(model, self.settings.dtype, device, self.settings.compiled), tokens

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors. Raises NumericError naming the text whose vector is not finite."""
        check_format(format)
        if format not in self.formats:
            raise ConfigError(f"{self.name} has no {format}; it has {', '.join(self.formats)}")
        if self.about.shared_pass:
            return self.encode_formats(texts)[format]
        return self._run(texts, format)

    def encode_formats(self, texts: list[str]) -> dict[Format, NDArray[np.float32]]:
        """Return format -> (n, dim) float32 vectors; by one forward pass where the conditioning has it so."""
        if not self.about.shared_pass:
            return {format: self.encode(texts, format) for format in self.formats}
        found = self._run(texts, self.formats[0])
        routes = self.loaded[0].conditioning
        return {format: np.ascontiguousarray(found[:, routes.route(format)]) for format in self.formats}

    def _run(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        model, tokens = self.loaded
        size, ahead = (PART, AHEAD) if self.device.startswith("cuda") else (max(len(texts), 1), 0)
        added, budget = model.conditioning.added(), self._budget(model.trunk.shape.intermediate_size)
        lengths, began = list[int](), 0.0

        def computed() -> Iterator[tuple[list[int], Tensor]]:
            nonlocal began
            for first in range(0, len(texts), size):
                documents = tokens.ids(texts[first : first + size], self.about.length - added)
                began = began or now(self.device)
                own = [len(ids) + added for ids in documents]
                lengths.extend(own)
                for batch in token_batches(own, budget):
                    packed = model.pack([documents[i] for i in batch], [format] * len(batch))
                    yield [first + i for i in batch], model(packed).float()

        vectors: NDArray[np.float32] | None = None
        with torch.inference_mode(), products_in(self.settings.dtype):
            for places, found in in_turn(computed(), ahead):
                if vectors is None:
                    vectors = np.empty((len(texts), *found.shape[1:]), dtype=np.float32)
                vectors[places] = found
        if vectors is None:
            routes = (len(model.conditioning.routes),) if self.about.shared_pass else ()
            return np.empty((0, *routes, self.dim), dtype=np.float32)
        self.seconds = now(self.device) - began
        work = flops(model.trunk.shape, lengths, model.pooling == "cls")
        self.speed = self.speed.plus(Speed(len(texts), sum(lengths), self.seconds, work))
        return finished(self.name, vectors, texts, self.about.normalised)

    def _budget(self, inner: int) -> int:
        """Return the tokens of a batch, where a layer's widest product has `inner` numbers a token."""
        if self.device.startswith("cuda"):
            return GPU_BUDGET
        return min(BUDGET, HELD // (inner * number_type(self.settings.dtype).itemsize))

    def hidden(self, input_ids: Any, attention_mask: Any = None, route: str | None = None) -> Tensor:
        """Return (n, length, dim) float32 last hidden states of padded token ids; zeros where the mask is 0.

        Args:
            input_ids: (n, length) integers.
            attention_mask: (n, length), 1 for a token, 0 for padding; every row has a token. All ones where not given.
            route: a route of the conditioning, or a task format that stands for one. What it adds to a document is added, so
                length grows by it. None runs the tokens as they are, which only layers without conditioning can do.

        Raises ConfigError for an unknown route, for None where layers ask for one, and for what is no such ids.
        """
        model, _ = self.loaded
        added = 0 if route is None else model.conditioning.added()
        words, most = model.conditioning.words(model.trunk), model.trunk.shape.max_position_embeddings - added
        with products_in(self.settings.dtype):
            return padded(model, *checked(input_ids, attention_mask, words, most), route)


def ready(model: Conditioned, dtype: str, device: str, compiled: bool = False) -> Conditioned:
    """Return the model made ready to run, in place: on its device, in its number type, linear layers laid out for it."""
    model.eval().requires_grad_(False).to(device)
    if device == "cpu":
        prepack(model, number_type(dtype))
    else:
        model.to(number_type(dtype))
    return compile_layers(model) if compiled and device != "cpu" else model


def compile_layers(model: Conditioned, **options: Any) -> Conditioned:
    """Have what comes after attention in each layer compiled, in place; `options` are torch.compile's."""
    for layer in model.trunk.layers:
        after: Callable[..., Tensor] = getattr(layer, "after")  # noqa: B009  mypy knows a module list's items as modules
        setattr(layer, "after", torch.compile(after, dynamic=True, **options))  # noqa: B010
    return model


def padded(model: Conditioned, ids: Tensor, seen: Tensor, route: str | None) -> Tensor:
    """Return (n, length, dim) last hidden states of (n, length) token ids; `seen` (n, length) is True for tokens."""
    way = model.conditioning
    if route is None and type(way).layer is not Conditioning.layer:
        raise ConfigError(f"{way.kind}: state a route: {', '.join(way.routes)}")
    number = 0 if route is None else way.route(route)
    rows = [row[keep].tolist() for row, keep in zip(ids, seen, strict=True)]
    inputs = rows if route is None else [way.tokens(row, number) for row in rows]
    batch = pack(inputs, [number] * len(inputs), str(model.trunk.words.weight.device), way.read_at)
    if inputs == rows:  # positions are places in the padded row, as transformers counts them
        places = torch.cat([seen[i].nonzero().flatten() for i in batch.order.tolist()])
        batch = replace(batch, positions=places.to(batch.positions.device))
    with torch.inference_mode():
        states = model.hidden(batch).float().cpu()
    longest = ids.shape[1] if inputs == rows else batch.longest
    out = torch.zeros(len(rows), longest, states.shape[-1])
    for i, own in zip(batch.order.tolist(), states.tensor_split(batch.starts[1:-1].tolist()), strict=True):
        out[i, seen[i].nonzero().flatten() if inputs == rows else slice(len(own))] = own
    return out
