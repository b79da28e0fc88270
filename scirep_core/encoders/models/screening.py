"""A model folder from a stranger: what its JSON files may say before a library sees them.

Some keys of such files name Python to import, a second folder or hub repository to load (and with it, whether its code is
trusted), or a kernel to fetch. So every JSON file of the folder is read by us first, keys that name code or another model
are refused at any depth, and `model_type` is one of the text encoders below, whose configurations nest no model.
A library is then given the configuration object that this file makes, and while it reads, its loader of code raises.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.records import read_object

MODEL_TYPES = (
    "albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet", "roberta",
    "xlm-roberta", "xlm-roberta-xl",
)  # fmt: skip
"""Text encoders of transformers whose configuration holds numbers and names, and no second model."""
TOKENIZERS = re.compile(
    r"(Albert|Bert|Camembert|Deberta|DebertaV2|DistilBert|Electra|GPT2|MPNet|Roberta|XLMRoberta|PreTrained)Tokenizer(Fast)?"
)
"""Tokenizer classes of these models; others of transformers load further folders, or programs."""
MODULES = re.compile(r"sentence_transformers(\.\w+)*\.\w+")
"""What a modules.json may name: classes of sentence-transformers itself."""
CODE = re.compile(r"auto_map|auto_mapping|trust_remote_code|code_revision|custom_generate|_?attn_implementation.*")
"""Keys that name, or trust, code of a repository or a kernel of the hub."""
OTHER = re.compile(r"peft_type|base_model_name_or_path|quantization_config|(use_timm_|use_pretrained_)?backbone(_\w+)?")
"""Keys by which a library loads another model than the folder's, or other weights than these."""
NAME = "_name_or_path"
"""Where a model was saved from: a note at the top of a file, an order to load it further down."""
VOCABULARIES = ("added_tokens.json", "tokenizer.json", "vocab.json")
"""Files that hold tokens as keys, where a token may be called as it likes."""
MOST, MOST_BYTES = 1000, 256 << 20


def screen(folder: Path) -> Path:
    """Return a model's folder, or raise ConfigError naming the file and the key that could make a library run code.

    Reads every JSON file in it, at any depth; a file that has not changed is read once a process.
    """
    for path in _files(folder):
        state = path.stat()
        if reason := _fault(path, state.st_size, state.st_mtime_ns):
            raise ConfigError(f"{path}: {reason}")
    return folder


def _files(folder: Path) -> Iterator[Path]:
    """Yield the JSON files of a folder, through links too, as a library would open them."""
    seen = 0
    for place, _, names in os.walk(folder, followlinks=True):
        found = [path for name in sorted(names) if name.endswith(".json") and (path := Path(place, name)).is_file()]
        seen += 1 + len(found)
        if seen > MOST:
            raise ConfigError(f"{folder}: over {MOST} folders and files of settings. Give the folder of one model")
        yield from found


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it is written, a key that is there twice included."""


@lru_cache(maxsize=4096)
def _fault(path: Path, size: int, changed: int) -> str:
    """Return what is wrong with a file, "" where nothing is; size and time of change are part of the cache's key."""
    if size > MOST_BYTES:
        return f"{size / 1e6:.0f} MB are too many for a file of settings"
    try:
        value = json.loads(path.read_bytes().decode("utf-8-sig", "surrogateescape"), object_pairs_hook=_Pairs)
    except RecursionError:
        return "nested too deeply to be such a file"
    except ValueError:  # no JSON: no library reads it either, and whoever needs it says so
        return ""
    return next(_faults(value, path.name), "")


def _faults(value: Any, name: str) -> Iterator[str]:
    open_values: list[tuple[int, Any]] = [(0, value)]
    while open_values:
        depth, value = open_values.pop()
        if isinstance(value, _Pairs):
            if name in VOCABULARIES and all(type(item) is int for _, item in value):
                continue
            for key, item in value:
                if reason := _refused(key, item, depth, name):
                    yield f"{reason}. No code of a model folder is run here, and no second model is loaded from it"
                open_values.append((depth + 1, item))
        elif isinstance(value, list):
            open_values += [(depth + 1, item) for item in value]


def _refused(key: str, value: Any, depth: int, name: str) -> str:
    """Return why a key may not stand where it does, "" where it may."""
    if CODE.fullmatch(key):
        return f"{key!r} names code to run"
    if OTHER.fullmatch(key) or (key == NAME and depth):
        return f"{key!r} names another model to load"
    if key == "model_type" and name != "config_sentence_transformers.json":
        if depth:
            return f"model_type {value!r} inside another model's configuration"
        if value not in MODEL_TYPES:
            return f"model_type {value!r} is no text encoder; {nearest(str(value), MODEL_TYPES)}"
    if key == "tokenizer_class" and value is not None and not (isinstance(value, str) and TOKENIZERS.fullmatch(value)):
        return f"tokenizer_class {value!r} is no tokenizer of a text encoder ({', '.join(MODEL_TYPES)})"
    if key == "type" and name == "modules.json" and not (isinstance(value, str) and MODULES.fullmatch(value)):
        return f"module type {value!r} is no class of sentence-transformers"
    return ""


def library_config(folder: Path) -> Any:
    """Return transformers' configuration object of a screened folder, of the class that its model_type names.

    A config.json without one is a BERT, as the first BERTs were saved; transformers would guess from the folder's name.
    Raises ConfigError for a folder that may not be read.
    """
    import transformers

    given = read_object(screen(folder) / "config.json")
    kind = given.get("model_type", "bert")
    return transformers.CONFIG_MAPPING[kind].from_dict({**given, "model_type": kind})


@contextmanager
def no_code() -> Iterator[None]:
    """Have transformers' loader of a repository's code raise ConfigError while a library reads a folder."""
    loader = sys.modules.get("transformers.dynamic_module_utils")
    if loader is None:  # not imported: nothing could load code
        yield
        return
    own = {name: getattr(loader, name) for name in ("get_class_in_module", "get_class_from_dynamic_module")}

    def refuse(*_: Any, **__: Any) -> None:
        raise ConfigError("the folder asks for code of its own to be run, which is never done")

    try:
        vars(loader).update(dict.fromkeys(own, refuse))
        yield
    finally:
        vars(loader).update(own)
