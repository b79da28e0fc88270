"""The encoder in the page: a trained one-pass model as text that a browser runs by itself, without a kernel (own_encoder.js).

    word vectors, matrices      whole numbers from -127 to 127, and a factor a row          1 byte a weight
    biases, norms, formats      single precision                                            4 bytes a weight

Rounding makes another model, close to the first: `unpack` is that model in Python, so that the page's vectors and Python's
can be compared, and so that what is shown of it is measured on it. One forward pass gives the vectors of all four formats
(encoders/conditioning/one_pass.py), which is what makes an answer between two keystrokes possible.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.store import stable_hash
from scirep_core.page.widgets.common import View

if TYPE_CHECKING:
    from scirep_core.encoders.conditioning.base import Conditioned
    from scirep_core.encoders.models.model_store import Saved
    from scirep_core.encoders.trunk_encoder import TrunkEncoder

CAP = 1_000_000
"""Bytes of a packed model in the page."""
STEPS = 127


def whole_numbers(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return (rows, columns) int8 and (rows,) float32 whose product is nearest to the matrix.

    >>> whole_numbers(np.array([[1.0, -0.5]], np.float32))[0].tolist()
    [[127, -64]]
    """
    factors = np.abs(matrix).max(axis=1).astype(np.float32) / np.float32(STEPS)
    factors[factors == 0] = 1
    return np.rint(matrix / factors[:, None]).astype(np.int8), factors


def pack(saved: Saved, made: Mapping[str, Any] | None = None, cap: int = CAP) -> View:
    """Return a saved model as plain JSON values for `open` of own_encoder.js; `made` says how it was made.

    Raises ConfigError for a model that the page cannot run: not one-pass, with a tokenizer that is not BERT's own, scaled
    vectors, or over the cap.
    """
    description, shape = saved.described, saved.model.trunk.shape
    if description.kind != "one_pass" or description.normalised:
        raise ConfigError(
            f"the page runs one-pass models with vectors as they are; this one is {description.kind}"
            f"{', scaled to length 1' if description.normalised else ''}. Train the variant 'one pass dense'"
        )
    if shape.hidden_act != "gelu" or shape.hidden_size % 4:
        found = f"{shape.hidden_act} and {shape.hidden_size}"
        raise ConfigError(f"the page computes exact GELU and widths that 4 divides, not {found}")
    longest = min(description.max_length, shape.max_position_embeddings)
    view: View = {
        "shape": {"dim": shape.hidden_size, "heads": shape.num_attention_heads, "layers": shape.num_hidden_layers,
                  "epsilon": shape.layer_norm_eps, "formats": list(description.routes)},
        "tokens": {**_vocabulary(saved), "length": longest, "separator": description.recipe.separator},
        "weights": _weights(saved.model, longest),
        "made": dict(made or {}),
    }  # fmt: skip
    size = len(json.dumps(view))
    if size > cap:
        raise ConfigError(f"the packed model has {size:,} bytes, over the cap of {cap:,}: train a narrower one")
    return view


def unpack(view: View) -> TrunkEncoder:
    """Return the encoder that the page runs, in Python: the same weights and word pieces.

    Raises ConfigError for weights that are not all there.
    """
    import torch

    from scirep_core.data.text import Recipe
    from scirep_core.encoders.conditioning.base import Conditioned, conditioning
    from scirep_core.encoders.trunk.bert import Shape, Trunk
    from scirep_core.encoders.trunk.tokens import of_words
    from scirep_core.encoders.trunk_encoder import About, TrunkEncoder

    shape, settings = view["shape"], view["tokens"]
    pieces = settings["pieces"].split("\n")
    tokens = of_words({piece: number for number, piece in enumerate(pieces)})
    data, arrays = base64.b64decode(view["weights"]["data"]), dict[str, torch.Tensor]()
    for name, rows, columns, at, factors in view["weights"]["arrays"]:
        if factors < 0:
            arrays[name] = torch.from_numpy(np.frombuffer(data, "<f4", columns, at).copy())
            continue
        whole = np.frombuffer(data, np.int8, rows * columns, at).reshape(rows, columns).astype(np.float32)
        arrays[name] = torch.from_numpy(whole * np.frombuffer(data, "<f4", rows, factors)[:, None])
    wide = len(arrays["layers.0.intermediate.bias"])
    sizes = (shape["dim"], shape["layers"], shape["heads"], wide, settings["length"], 1, shape["epsilon"])
    trunk = Trunk(Shape(len(pieces), *sizes))
    model = Conditioned(trunk, conditioning("one_pass", trunk, tuple(shape["formats"])))
    try:
        trunk.load_state_dict({name: value for name, value in arrays.items() if name != "own"})
        model.conditioning.load_state_dict({"own": arrays["own"]})
    except (RuntimeError, KeyError) as error:
        raise ConfigError(f"the packed model's weights do not fit its shape: {error}") from None
    formats = tuple(form for form in FORMATS if form in shape["formats"])
    recipe, key = Recipe(settings["separator"]), stable_hash(view)[:16]
    about = About(key, shape["dim"], recipe, settings["length"], formats, shared_pass=True)
    return TrunkEncoder("the encoder in the page", lambda: (model, tokens), about)


def _vocabulary(saved: Saved) -> View:
    state = json.loads(saved.tokens.tokenizer.to_str())
    normal = {**(state["normalizer"] or {})}
    asked = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
    berts = state["model"].get("type") == "WordPiece" and state["model"].get("continuing_subword_prefix") == "##"
    if not berts or normal.pop("strip_accents", None) is False or normal != asked:
        raise ConfigError("the page cuts words as BERT's uncased tokenizer does; this model has another tokenizer")
    vocabulary = saved.tokens.tokenizer.get_vocab()
    pieces = [""] * (max(vocabulary.values()) + 1)
    for piece, number in vocabulary.items():
        pieces[number] = piece
    special = [[name, vocabulary[name]] for name in sorted({*saved.tokens.special.values()}) if name in vocabulary]
    return {"pieces": "\n".join(pieces), "special": special, "unknown": vocabulary[saved.tokens.special["unk_token"]],
            "first": saved.tokens.cls, "last": saved.tokens.sep}  # fmt: skip


def _weights(model: Conditioned, longest: int) -> View:
    """Return arrays [name, rows, columns, where, where its factors are or -1] and all their bytes as base64."""
    arrays: list[list[Any]] = []
    data = bytearray()

    def put(values: NDArray[Any]) -> int:
        at = len(data)
        data.extend(values.astype(values.dtype.newbyteorder("<")).tobytes())
        data.extend(b"\0" * (-len(data) % 4))
        return at

    for name, tensor in (*model.trunk.state_dict().items(), *model.conditioning.state_dict().items()):
        values = tensor.cpu().numpy()
        values = values[:longest] if name == "places.weight" else values[:1] if name == "types.weight" else values
        if values.ndim == 1:
            arrays.append([name, 1, len(values), put(values.astype(np.float32)), -1])
            continue
        whole, factors = whole_numbers(values)
        arrays.append([name, *whole.shape, put(whole), put(factors)])
    return {"arrays": arrays, "data": base64.b64encode(bytes(data)).decode()}
