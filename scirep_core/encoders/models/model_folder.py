"""What a model's folder says about itself, read from its small JSON files: nothing heavy is imported for it.

A model is a folder, or a hub name that becomes one. What is read, and who writes it:

    config.json                                  transformers: width, positions
    tokenizer_config.json, special_tokens_map.json   transformers: separator token, longest input
    modules.json, 1_Pooling/config.json          sentence-transformers: pooling, whether vectors are normalised
    sentence_bert_config.json                    sentence-transformers: max_seq_length, lower-casing
    config_sentence_transformers.json            sentence-transformers: prompts put before queries and passages

No code from a model repository is ever run: `screening.py` reads every JSON file before a library does. Weights are
safetensors; `pytorch_model.bin` (a pickle) is read weights-only, and only if SCIREP_ALLOW_BIN=1 says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from scirep_core.data.text import Recipe
from scirep_core.encoders.models.screening import no_code, screen
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.records import read_json, read_object
from scirep_core.kit.store import home, sha256_file, write_json

LOCAL = "local:"
"""Marks a model that no hub has: `local:NAME` is the folder `$SCIREP_HOME/models/NAME`."""
MAX_LENGTH = 512
"""Tokens of a text at most (SciRepEval, section 4.1), unless a caller asks for more."""
BIN = "pytorch_model.bin"
TOKENS = ("tokenizer*", "vocab*", "merges.txt", "spiece.model", "sentencepiece*")
"""Files of which a tokenizer has at least one."""
PATTERNS = (
    "config.json", "model.safetensors", "model-*.safetensors", "model.safetensors.index.json", *TOKENS, "special*",
    "added_tokens.json",
)  # fmt: skip
"""Files that decide vectors; all are part of the fingerprint."""
STATED = ("config_sentence_transformers.json", "modules.json", "sentence_*_config.json", "*_Pooling/config.json")
"""Files of sentence-transformers: what they say is part of the fingerprint, not their bytes."""
OFFSET = ("roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl")
"""Model types whose positions start after the padding token's: 514 positions hold 512 tokens."""
BERTS = ("BertTokenizer", "BertTokenizerFast")
PLAIN = {
    "model_type": ("bert",), "position_embedding_type": ("absolute",), "is_decoder": (False,),
    "hidden_act": ("gelu", "gelu_new", "gelu_pytorch_tanh"),
}  # fmt: skip
"""What config.json says, or leaves out, of a BERT that the trunk runs; model_type it does not leave out."""
PROMPTS = {"query": ("query",), "found": ("document", "passage", "corpus")}
"""What sentence-transformers and mteb call the two sides of a search."""


class Stated(NamedTuple):
    """What a folder says about how texts become vectors; `pooling` is "" where it does not say."""

    pooling: str
    length: int
    normalised: bool
    lower: bool
    separator: str
    prompts: tuple[str, str, str]
    """Before a bare query, before a paper to be found, before any other paper."""


def allow_bin() -> bool:
    """Return whether the reader allows pickled weights to be read, weights-only."""
    return os.environ.get("SCIREP_ALLOW_BIN") == "1"


def find(model: str, patterns: Sequence[str]) -> Path:
    """Return a model's local folder: itself, `local:NAME`, or the hub's. ConfigError says what was tried, or what may run code."""
    folder = Path(model).expanduser()
    if model.startswith(LOCAL):
        name = model.removeprefix(LOCAL)
        folder = home() / "models" / name
        if not (folder / "config.json").is_file():
            raise ConfigError(f"{name} is on no hub. Put config, tokenizer and weights into {folder}")
    elif folder.is_dir():
        folder = folder.resolve()
    else:
        from huggingface_hub import snapshot_download

        try:
            folder = Path(snapshot_download(model, allow_patterns=list(patterns)))
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ConfigError(
                f"{model} is neither in the hub cache nor reachable ({reason:.120}). "
                "Give a local folder with config.json and model.safetensors, or use minilm, which works offline"
            ) from None
    return screen(folder)


def hashes(folder: Path) -> dict[str, str]:
    """Return {file: SHA-256} of all that decides a model's vectors. Raises ConfigError where weights or tokenizer are missing."""
    if not (folder / "config.json").is_file():
        what = "an adapter, not a model" if (folder / "adapter_config.json").is_file() else "no model: no config.json"
        raise ConfigError(f"{folder}: this is {what}. Give the base model's folder, or specter2 by name")
    files = sorted({path for pattern in PATTERNS for path in folder.glob(pattern)})
    if not any(path.suffix == ".safetensors" for path in files):
        if not allow_bin() or not (folder / BIN).is_file():
            raise ConfigError(
                f"{folder}: no model.safetensors. Convert the weights, or set SCIREP_ALLOW_BIN=1 to have "
                f"{BIN} read weights-only"
            )
        files.append(folder / BIN)
    if not any(path.match(pattern) for path in files for pattern in TOKENS):
        raise ConfigError(f"{folder}: no tokenizer. Put its files there: tokenizer.save_pretrained({str(folder)!r})")
    return {path.name: sha256_file(path) for path in files}


@contextmanager
def reading(folder: Path, what: str) -> Iterator[None]:
    """Let a library read a folder that was screened, without loading code; whatever it raises is a ConfigError of one line."""
    screen(folder)
    try:
        with no_code():
            yield
    except (ConfigError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"{folder}: the {what} cannot be read ({reason:.160}). Get or save them again") from None


def clean(text: str) -> str:
    """Return a text that can be written as UTF-8: half a surrogate pair becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def plain_bert(folder: Path) -> bool:
    """Whether the trunk runs a folder's model: a plain BERT, and a tokenizer that `tokens.py` reads as transformers does."""
    config = {key: values[0] for key, values in PLAIN.items() if key != "model_type"}
    config |= read_object(folder / "config.json")
    fast = (folder / "tokenizer.json").is_file()
    kinds = (None, *BERTS, *(["PreTrainedTokenizerFast"] if fast else []))
    tokens = optional(folder / "tokenizer_config.json").get("tokenizer_class") in kinds
    there = fast or (folder / "vocab.txt").is_file()
    return tokens and there and all(config.get(key) in values for key, values in PLAIN.items())


def has_codes(folder: Path) -> bool:
    """Return whether a folder's tokenizer has all four control codes as tokens of their own."""
    known: set[str] = set()
    with suppress(DataError):  # damaged: whoever reads the tokenizer says so
        known |= set(optional(folder / "added_tokens.json"))
        added = optional(folder / "tokenizer.json").get("added_tokens") or ()
        known |= {str(token.get("content")) for token in added if isinstance(token, dict)}
    return {f"[{format}]" for format in FORMATS} <= known


def width(folder: Path) -> int:
    """Return the length of a model's vectors."""
    config = read_object(folder / "config.json")
    value = config.get("hidden_size") or config.get("dim")  # DistilBERT has `dim`
    if not isinstance(value, int):
        raise ConfigError(f"{folder / 'config.json'}: no hidden_size: this is no text encoder")
    return value


def positions(folder: Path) -> int:
    """Return how many tokens a model can read at most."""
    config = read_object(folder / "config.json")
    limit = config.get("max_position_embeddings") or 1 << 30
    offset = int(config.get("pad_token_id") or 0) + 1 if config.get("model_type") in OFFSET else 0
    return int(limit) - offset if limit > 0 else 1 << 30


def length_of(name: str, asked: int | None, own: int, most: int) -> int:
    """Return the tokens kept of a text: as asked, else the model's own. Raises ConfigError outside 3 to `most` positions."""
    length = own if asked is None else asked
    if not 2 < length <= most:
        raise ConfigError(f"{name}: max_length {length} is outside 3-{most}, the positions the model has")
    return length


def stated(folder: Path) -> Stated:
    """Return what a folder says. Raises ConfigError for a pipeline that is not pooling and normalising, or damaged files."""
    with reading(folder, "configuration"):
        tokenizer = optional(folder / "tokenizer_config.json")
        config = next((optional(path) for path in sorted(folder.glob("sentence_*_config.json"))), {})
        pooling, normalised = _pipeline(folder)
        own = config.get("max_seq_length") or tokenizer.get("model_max_length") or MAX_LENGTH
        length, lower = min(int(own), MAX_LENGTH, positions(folder)), bool(config.get("do_lower_case"))
        return Stated(pooling, length, normalised, lower, _separator(folder, tokenizer), _prompts(folder))


def optional(path: Path) -> dict[str, Any]:
    """Return a JSON object of a file, an empty one where there is no file."""
    return read_object(path) if path.is_file() else {}


def _pipeline(folder: Path) -> tuple[str, bool]:
    path = folder / "modules.json"
    if not path.is_file():
        return "", False
    pooling, normalised = "", False
    for module in read_json(path):
        kind, where = str(module.get("type")).rpartition(".")[2], PurePosixPath(str(module.get("path") or "."))
        if where.is_absolute() or ".." in where.parts:
            raise ConfigError(f"{path}: path {str(where)!r} leaves the folder")
        if kind == "Transformer" and where != PurePosixPath("."):
            raise ConfigError(f"{path}: the model itself is in {where}; give {folder / where}@mean or @cls")
        if kind == "Pooling":
            pooling = _pooling(folder / where / "config.json")
        elif kind == "Normalize":
            normalised = True
        elif kind != "Transformer":
            raise ConfigError(f"{path}: a {kind} layer follows the model, which is not supported. Use one that pools")
    return pooling, normalised


def _pooling(path: Path) -> str:
    """Return the one pooling a 1_Pooling/config.json names, written in either of the two ways its library uses."""
    config = optional(path)
    chosen = config.get("pooling_mode")
    named = [chosen] if isinstance(chosen, str) else list(chosen or ())
    named += [
        key.removeprefix("pooling_mode_").removesuffix("_token").removesuffix("_tokens")
        for key, on in config.items()
        if key.startswith("pooling_mode_") and on is True
    ]
    if len(named) != 1 or named[0] not in ("cls", "mean"):
        raise ConfigError(f"{path}: pooling {' + '.join(named) or 'of no kind'} is not supported; cls and mean are")
    return str(named[0])


def _separator(folder: Path, tokenizer: dict[str, Any]) -> str:
    """Return the tokenizer's own separator between spaces; its end token where it has none, as SciRepEval's code does."""
    special = optional(folder / "special_tokens_map.json")
    for key in ("sep_token", "eos_token"):
        for source in (tokenizer, special):
            if token := token_text(source.get(key)):
                return f" {token} "
    return " [SEP] "  # old BERT folders: a vocab.txt and no more


def token_text(token: Any) -> str | None:
    """Return a special token written as text or as an object; None of anything else."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None


def _prompts(folder: Path) -> tuple[str, str, str]:
    config = optional(folder / "config_sentence_transformers.json")
    prompts: dict[str, str] = {str(k): v for k, v in (config.get("prompts") or {}).items() if isinstance(v, str)}
    query, found = (next((prompts[name] for name in PROMPTS[use] if name in prompts), "") for use in ("query", "found"))
    return query, found, prompts.get(str(config.get("default_prompt_name")), "")


def write_pipeline(
    folder: Path, pooling: str, dim: int, length: int, recipe: Recipe, normalised: bool = False, lower: bool = False
) -> None:
    """Write sentence-transformers' four files; `pooling` is cls or mean. The separator of title and abstract has no place there."""
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalised else [])]
    write_json(folder / "modules.json", [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ])  # fmt: skip
    modes = {
        mode: mode.startswith(f"pooling_mode_{pooling}_")
        for mode in ("pooling_mode_cls_token", "pooling_mode_mean_tokens")
    }
    write_json(folder / "1_Pooling" / "config.json", modes | {"word_embedding_dimension": dim})
    if normalised:
        (folder / "2_Normalize").mkdir(exist_ok=True)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": length, "do_lower_case": lower})
    prompts = {"query": recipe.query, "document": recipe.found, "paper": recipe.paper}
    default = "paper" if recipe.paper else None
    write_json(folder / "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": default})
