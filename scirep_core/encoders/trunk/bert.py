"""The trunk: BERT's forward pass (Devlin et al. 2019) over packed tokens, with room for a conditioning in every layer.

    h = norm1(x + attention(x))        y = norm2(h + feed(h))        feed(h) = W2 gelu(W1 h)

`transformers` computes the same; its weight names are read, and written back. What is different: no padding (packing.py);
the last layer computes only the rows that are read; and a conditioning may take a layer's parts and put its own between
them. The same modules train.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from scirep_core.encoders.models.model_folder import BIN, allow_bin, reading
from scirep_core.encoders.trunk.packing import Packed, attend
from scirep_core.encoders.trunk.prepacked import activated, rounded
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import read_object

ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}
"""BERT's names of GELU -> torch's."""


@dataclass(frozen=True)
class Shape:
    """A trunk's size, under the names of config.json."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1

    def __post_init__(self) -> None:
        """Raise ConfigError for a shape that is no BERT's."""
        if self.hidden_act not in ACTIVATIONS:
            raise ConfigError(f"hidden_act {self.hidden_act!r}: the trunk has {', '.join(ACTIVATIONS)}")
        if self.hidden_size % self.num_attention_heads:
            raise ConfigError(f"hidden_size {self.hidden_size} is no multiple of {self.num_attention_heads} heads")


class Layer(nn.Module):
    """One block; `attention` and `feed` return what is added to their input, before the norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        dim, eps = shape.hidden_size, shape.layer_norm_eps
        self.query, self.key, self.value, self.dense = (nn.Linear(dim, dim) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps), nn.LayerNorm(dim, eps)
        self.intermediate = nn.Linear(dim, shape.intermediate_size)
        self.output = nn.Linear(shape.intermediate_size, dim)
        self.dropout = nn.Dropout(shape.hidden_dropout_prob)
        self.heads, self.drop_attention = shape.num_attention_heads, shape.attention_probs_dropout_prob
        self.gelu = ACTIVATIONS[shape.hidden_act]

    def split(self, x: Tensor) -> Tensor:
        """Return (rows, heads, d) of (rows, dim)."""
        return x.view(*x.shape[:-1], self.heads, -1)

    def rows(self, x: Tensor, batch: Packed, read: bool) -> Tensor:
        """Return the rows a layer is to compute: all, or with `read` those that are read."""
        return x[batch.read] if read else x

    def seen(self, x: Tensor, batch: Packed, read: bool = False) -> Tensor:
        """Return (rows, dim): every row's attention over its document, before the output linear."""
        x = rounded(x, self.key)
        q, k, v = self.query(self.rows(x, batch, read)), self.key(x), self.value(x)
        drop = self.drop_attention if self.training else 0.0
        return attend(self.split(q), self.split(k), self.split(v), batch, read, drop).flatten(-2)

    def attention(self, x: Tensor, batch: Packed, read: bool = False) -> Tensor:
        """Return (rows, dim): the attention part."""
        return self.dropout(self.dense(self.seen(x, batch, read)))  # type: ignore[no-any-return]

    def feed(self, h: Tensor) -> Tensor:
        """Return (rows, dim): the feed-forward part."""
        return self.dropout(self.output(activated(self.intermediate, h, self.gelu)))  # type: ignore[no-any-return]

    def forward(self, x: Tensor, batch: Packed, read: bool = False) -> Tensor:
        """Return (rows, dim): the layer as it is, without conditioning."""
        return self.after(self.rows(x, batch, read), self.seen(x, batch, read))

    def after(self, x: Tensor, seen: Tensor) -> Tensor:
        """Return (rows, dim): all that comes after attention, row by row, which is what a compiler can fuse."""
        h = self.norm1(x + self.dropout(self.dense(seen)))
        return self.norm2(h + self.feed(h))  # type: ignore[no-any-return]


class Trunk(nn.Module):
    """Embeddings and layers."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.places = nn.Embedding(shape.max_position_embeddings, shape.hidden_size)
        self.types = nn.Embedding(shape.type_vocab_size, shape.hidden_size)
        self.norm = nn.LayerNorm(shape.hidden_size, shape.layer_norm_eps)
        self.dropout = nn.Dropout(shape.hidden_dropout_prob)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.num_hidden_layers))
        self.apply(initialise)

    def embed(self, words: Tensor, positions: Tensor) -> Tensor:
        """Return (tokens, dim): the first layer's input, of word vectors (tokens, dim) and positions; every token has type 0."""
        return self.dropout(self.norm(words + self.places(positions) + self.types.weight[0]))  # type: ignore[no-any-return]


def initialise(module: nn.Module) -> None:
    """Set a module's own weights as BERT does: N(0, 0.02), no bias, norms at one."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


# ---- weights under transformers' names -------------------------------------------------------------------------------

EMBEDDINGS = {
    "words": "embeddings.word_embeddings", "places": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm",
}  # fmt: skip
LAYER = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "dense": "attention.output.dense", "norm1": "attention.output.LayerNorm",
    "intermediate": "intermediate.dense", "output": "output.dense", "norm2": "output.LayerNorm",
}  # fmt: skip


def published_name(name: str) -> str:
    """Return transformers' name of a trunk's parameter.

    >>> published_name("layers.3.norm1.weight")
    'encoder.layer.3.attention.output.LayerNorm.weight'
    """
    part, _, rest = name.partition(".")
    if part != "layers":
        return f"{EMBEDDINGS[part]}.{rest}"
    number, module, leaf = rest.split(".")
    return f"encoder.layer.{number}.{LAYER[module]}.{leaf}"


def shape_of(folder: Path) -> Shape:
    """Return the shape config.json states. Raises ConfigError where it is no BERT, or a key is missing."""
    config = read_object(folder / "config.json")
    if config.get("model_type") != "bert" or config.get("position_embedding_type", "absolute") != "absolute":
        raise ConfigError(f"{folder / 'config.json'}: model_type {config.get('model_type')!r} is no plain BERT")
    known = {field.name for field in fields(Shape)}
    try:
        return Shape(**{key: value for key, value in config.items() if key in known})
    except TypeError as error:
        raise ConfigError(f"{folder / 'config.json'}: {error}") from None


def config_of(shape: Shape) -> dict[str, Any]:
    """Return config.json of a trunk, as transformers reads it."""
    return {"architectures": ["BertModel"], "model_type": "bert", "pad_token_id": 0, **asdict(shape)}


def load(trunk: Trunk, tensors: Mapping[str, Tensor], source: str) -> Trunk:
    """Copy weights under transformers' names, with or without the prefix `bert.`, into a trunk; returns it.

    What the trunk has no use for (pooler, heads) is left. Raises ConfigError naming a weight that is missing or misshapen.
    """
    own = trunk.state_dict()
    prefix = "bert." if any(name.startswith("bert.encoder.") for name in tensors) else ""
    for name, value in own.items():
        published = prefix + published_name(name)
        old = published.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta")
        found = tensors.get(published, tensors.get(old))
        if found is None or found.shape != value.shape:
            there = "is missing" if found is None else f"has shape {tuple(found.shape)}, not {tuple(value.shape)}"
            raise ConfigError(f"{source}: weight {published} {there}")
        value.copy_(found)
    return trunk


def read_trunk(folder: Path) -> Trunk:
    """Return the trunk of a folder in hub layout, in float32. Raises ConfigError for weights that are missing or damaged."""
    with reading(folder, "weights"):
        return load(Trunk(shape_of(folder)), read_tensors(folder), str(folder)).eval()


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of model.safetensors, of the parts an index names, or of a pickle that is allowed."""
    from safetensors.torch import load_file

    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").is_file():
        return dict(load_file(folder / "model.safetensors"))
    if index.is_file():
        parts = sorted({Path(part).name for part in read_object(index)["weight_map"].values()})
        return {name: value for part in parts for name, value in load_file(folder / part).items()}
    if not allow_bin():
        raise ConfigError(f"{folder}: no model.safetensors")
    return dict(torch.load(folder / BIN, map_location="cpu", weights_only=True))


def tensors_of(trunk: Trunk) -> dict[str, Tensor]:
    """Return a trunk's weights under transformers' names."""
    return {published_name(name): value for name, value in trunk.state_dict().items()}
