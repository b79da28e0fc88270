"""Instructions: every layer sees, before the document, the states of a sentence that says the task (SciMult 3.3, Eq. 4).

    q(n) = Layer_n([x(n-1); q(n-1)]) at q's places        x(n) = the instruction encoder's state after its layer n

Document tokens attend to the instruction and to the document, instruction tokens to the instruction alone. Both have keys and
values by the document encoder's projections.

    Instruction   the instruction encoder is the trunk; everything is trained
    Prefix        the trunk is frozen, and a copy of it encodes the instructions: the copy alone is trained

The paper leaves open what surrounds an instruction. Here it is a text like any other, with [CLS] and [SEP], and its positions
and the document's both count from 0, since two encoders embed them. It is encoded once a batch, whatever the batch's size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from scirep_core.encoders.conditioning.base import Conditioned, Conditioning
from scirep_core.encoders.conditioning.experts import TASK_OF_FORMAT
from scirep_core.encoders.trunk.bert import Layer, Trunk
from scirep_core.encoders.trunk.packing import Packed, attend, pack
from scirep_core.encoders.trunk.tokens import Tokens
from scirep_core.encoders.trunk_encoder import Loaded, TrunkEncoder
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.store import stable_hash

CLASSIFICATION = "Tag a scientific paper with relevant scientific topic classes."
LINK = "Find a pair of scientific papers that one paper cites the other."
SEARCH = "Retrieve a scientific paper that is relevant to the query."
NUMBER = "Estimate a number that describes a scientific paper."
INSTRUCTIONS = {
    "search": SEARCH, "link": LINK, "classification": CLASSIFICATION,
    "CLF": CLASSIFICATION, "RGN": NUMBER, "PRX": LINK, "QRY": SEARCH,
}  # fmt: skip
"""SciMult's Table 1, by task and by SciRepEval's formats; the one for regression, which SciMult does not have, is ours."""


def instructions(
    tokenize: Callable[[str], Sequence[int]], routes: Sequence[str] = FORMATS, texts: Mapping[str, str] = INSTRUCTIONS
) -> dict[str, list[int]]:
    """Return the option `instructions`: each route's text as token ids, which can be saved as JSON.

    Args:
        tokenize: text -> token ids with [CLS] and [SEP].

    Raises ConfigError for a route without a text.
    """
    for route in routes:
        if route not in texts:
            raise ConfigError(f"no instruction for {route!r}; there are some for {', '.join(texts)}")
    return {route: [int(token) for token in tokenize(texts[route])] for route in routes}


class Instruction(Conditioning):
    """Eq. 4 with one encoder for instructions and documents.

    Between layers the rows are those of the documents and, after them, those of the batch's instructions; the last layer
    returns the documents' alone.

    Args:
        instructions: route -> token ids, as `instructions()` makes them.
    """

    kind = "instruction"
    stands = TASK_OF_FORMAT

    def __init__(
        self, trunk: Trunk, routes: Sequence[str] = FORMATS, instructions: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        token_ids = {route: list(ids) for route, ids in (instructions or {}).items()}
        for route in routes:
            ids = token_ids.get(route) or []
            if not ids or not all(0 <= token < trunk.shape.vocab_size for token in ids):
                raise ConfigError(
                    f"{self.kind}: the option instructions has no token ids below {trunk.shape.vocab_size} for {route!r}; "
                    "prefix.instructions(tokenize, routes) makes them"
                )
            if len(ids) > trunk.shape.max_position_embeddings:
                raise ConfigError(
                    f"{self.kind}: the instruction of {route!r} has {len(ids)} tokens, more than the trunk's "
                    f"{trunk.shape.max_position_embeddings} positions"
                )
        super().__init__(trunk, routes, instructions={route: token_ids[route] for route in routes})
        self.told = [token_ids[route] for route in routes]
        self.depth = len(trunk.layers)
        self.packed: dict[tuple[tuple[int, ...], str], Packed] = {}

    def contexts(self, batch: Packed) -> Packed:
        """Return the instructions of the batch's routes, packed; made once for each set of routes."""
        routes, device = tuple(route for route, _, _ in batch.routes), str(batch.ids.device)
        if (routes, device) not in self.packed:
            with torch.inference_mode(False):  # training takes them too, which refuses what was made in inference mode
                self.packed[routes, device] = pack([self.told[route] for route in routes], routes, device)
                _ = self.packed[routes, device].starts  # made when first asked for, so ask here
        return self.packed[routes, device]

    def encoder(self, trunk: Trunk) -> Trunk:
        """Return the encoder that embeds the instructions."""
        return trunk

    def next(self, i: int, layer: Layer, context: Tensor, sentences: Packed) -> Tensor:
        """Return the instructions' states after layer i of their encoder; `layer` is the trunk's."""
        return layer(context, sentences)  # type: ignore[no-any-return]

    def start(self, trunk: Trunk, batch: Packed) -> Tensor:
        """Return (tokens + instruction tokens, dim): q(0), and after it x(0)."""
        sentences, encoder = self.contexts(batch), self.encoder(trunk)
        text = trunk.embed(trunk.words(batch.ids), batch.positions)
        return torch.cat([text, encoder.embed(encoder.words(sentences.ids), sentences.positions)])

    def layer(self, i: int, layer: Layer, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return layer i's output: documents' rows and, but after the last layer, the instructions'."""
        sentences, own = self.contexts(batch), len(batch.ids)
        k, v = layer.split(layer.key(x)), layer.split(layer.value(x))
        text, context = x[:own], x[own:]
        before = {route: (k[own:][rows], v[own:][rows]) for route, _, rows in sentences.routes}
        q = layer.split(layer.query(layer.rows(text, batch, read)))
        drop = layer.drop_attention if layer.training else 0.0
        seen = attend(q, k[:own], v[:own], batch, read, drop, before)
        h = layer.norm1(layer.rows(text, batch, read) + layer.dropout(layer.dense(seen.flatten(-2))))
        y: Tensor = layer.norm2(h + layer.feed(h))
        return y if i == self.depth - 1 else torch.cat([y, self.next(i, layer, context, sentences)])


class Prefix(Instruction):
    """Eq. 4 with an instruction encoder of its own, which starts as a copy of the trunk, before a frozen trunk.

    The copy holds what it uses: the vectors of the instructions' tokens and places, and every layer but the last, whose
    output no document would see.
    """

    kind = "prefix"

    def __init__(self, trunk: Trunk, routes: Sequence[str] = FORMATS, **options: Any) -> None:
        super().__init__(trunk, routes, **options)
        words = sorted({token for ids in self.told for token in ids})
        self.told = [[words.index(token) for token in ids] for ids in self.told]
        self.phi = Trunk(replace(
            trunk.shape, vocab_size=len(words), num_hidden_layers=self.depth - 1, type_vocab_size=1,
            max_position_embeddings=max(len(ids) for ids in self.told),
        ))  # fmt: skip
        theta = trunk.state_dict()
        with torch.no_grad():
            for name, value in self.phi.state_dict().items():
                value.copy_(theta[name][words] if name == "words.weight" else theta[name][: len(value)])

    def encoder(self, trunk: Trunk) -> Trunk:
        """Return the instruction encoder."""
        return self.phi

    def next(self, i: int, layer: Layer, context: Tensor, sentences: Packed) -> Tensor:
        """Return the instructions' states after layer i of the instruction encoder."""
        return self.phi.layers[i](context, sentences)  # type: ignore[no-any-return]

    def trained(self, trunk: Trunk) -> list[nn.Parameter]:
        """Return the instruction encoder's parameters; the trunk stays as it is."""
        return list(self.parameters())


# ---- a trained model told another sentence, at inference alone (SciMult, appendix E.3) --------------------------------


def with_instruction(model: Conditioned, tokens: Tokens, task: str, sentence: str) -> Conditioned:
    """Return a model that is told a task by another sentence; its trunk is the given one's, not a copy.

    Args:
        task: search, link or classification, or a task format that stands for one.
        sentence: in place of the one it was trained with; the other tasks keep theirs.

    Raises ConfigError for a model that is told by something else than a sentence, for Prefix, and for an unknown task.
    """
    conditioning = model.conditioning
    if isinstance(conditioning, Prefix):
        raise ConfigError(
            "prefix cannot be told another sentence: it keeps vectors for the tokens of its own alone. "
            "Take a model of kind instruction"
        )
    if not isinstance(conditioning, Instruction):
        raise ConfigError(f"{conditioning.kind} is not told its task by a sentence. Take a model of kind instruction")
    route = conditioning.routes[conditioning.route(task)]
    own = instructions(lambda text: tokens.ids([text])[0], [route], {route: sentence})
    made = Instruction(model.trunk, conditioning.routes, {**conditioning.options["instructions"], **own})
    return Conditioned(model.trunk, made, model.pooling).train(model.training)


def instructed(encoder: TrunkEncoder, task: str, sentence: str) -> TrunkEncoder:
    """Return an encoder told a task by another sentence; it shares the given one's weights, and has a fingerprint of its own.

    Arguments and errors are those of `with_instruction`, at the first text.
    """

    def load() -> Loaded:
        model, tokens = encoder.loaded
        return with_instruction(model, tokens, task, sentence), tokens

    own = stable_hash([encoder.fingerprint, "told", task, sentence])[:16]
    # what is compiled is the trunk, and that once
    return TrunkEncoder(
        encoder.name, load, encoder.about._replace(fingerprint=own), encoder.settings._replace(compiled=False)
    )
