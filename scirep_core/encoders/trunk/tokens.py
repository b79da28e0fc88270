"""Text to token ids by the `tokenizers` library alone: a model folder's tokenizer.json, or an old BERT's vocab.txt.

    ids = [CLS] + pieces[: max_length - 2] + [SEP]

The same ids as transformers' fast tokenizer gives: a BERT tokenizer's own `do_lower_case`, `strip_accents` and
`tokenize_chinese_chars` overrule what tokenizer.json says, and special tokens that the small files name are tokens wherever
they stand in a text, so " [SEP] " between title and abstract is one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from scirep_core.encoders.models.model_folder import BERTS, clean, optional, reading, token_text
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.store import atomic

SPECIAL = {
    "unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]",
}  # fmt: skip
"""transformers' names of the special tokens -> BERT's."""


@dataclass(frozen=True)
class Tokens:
    """A tokenizer and the names of its special tokens; `tokenizer` is the library's own object."""

    tokenizer: Tokenizer
    special: Mapping[str, str]

    @property
    def size(self) -> int:
        """How many rows the word embeddings need."""
        return int(max(self.tokenizer.get_vocab().values())) + 1

    @cached_property
    def pad(self) -> int:
        """Id of the padding token; 0 where there is none."""
        return self.id(self.special["pad_token"]) or 0

    @cached_property
    def cls(self) -> int | None:
        """Id of [CLS]."""
        return self.id(self.special["cls_token"])

    @cached_property
    def sep(self) -> int | None:
        """Id of [SEP]."""
        return self.id(self.special["sep_token"])

    def id(self, token: str) -> int | None:
        """Return a token's id, None for one that is not there."""
        found: int | None = self.tokenizer.token_to_id(token)
        return found

    def ids(self, texts: Sequence[str], max_length: int | None = None, special: bool = True) -> list[list[int]]:
        """Return each text's ids, at most max_length of them with [CLS] and [SEP]; `special` False leaves these two out.

        A text of nothing, where no special token surrounds it, is one padding token. Half a surrogate pair, which no UTF-8
        has, is read as a question mark.
        """
        if max_length is None:
            self.tokenizer.no_truncation()
        else:
            self.tokenizer.enable_truncation(max_length)
        found = self.tokenizer.encode_batch_fast([clean(text) for text in texts], add_special_tokens=special)
        return [encoding.ids or [self.pad] * special for encoding in found]

    def add(self, names: Sequence[str]) -> tuple[int, ...]:
        """Add special tokens (control codes) to the vocabulary, in place, and return their ids; known ones keep theirs."""
        self.tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
        found = [self.id(name) for name in names]
        return tuple(number for number in found if number is not None)

    def without(self, names: Sequence[str]) -> Tokens:
        """Return a copy that does not know some added tokens: in a text they are letters again."""
        state = json.loads(self.tokenizer.to_str())
        state["added_tokens"] = [token for token in state["added_tokens"] if token["content"] not in names]
        return Tokens(Tokenizer.from_str(json.dumps(state)), self.special)

    def save(self, folder: Path, max_length: int = 512) -> None:
        """Write tokenizer.json and tokenizer_config.json, as transformers and this file read them."""
        state = json.loads(self.tokenizer.to_str()) | {"truncation": None, "padding": None}
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, **self.special}
        for name, content in (("tokenizer.json", state), ("tokenizer_config.json", config)):
            with atomic(folder / name) as stream:
                stream.write(json.dumps(content, ensure_ascii=False, indent=1).encode())


def of_words(vocabulary: Mapping[str, int], special: Mapping[str, str] | None = None, **normal: Any) -> Tokens:
    """Return BERT's own tokenizer of a vocabulary of word pieces (piece -> id).

    Args:
        special: transformers' names of special tokens -> tokens; BERT's own where not given.
        normal: lowercase, strip_accents, handle_chinese_chars of the library's BertNormalizer.
    """
    names = {**SPECIAL, **(special or {})}
    made = Tokenizer(models.WordPiece(dict(vocabulary), unk_token=names["unk_token"]))
    made.normalizer = normalizers.BertNormalizer(**normal)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece(prefix="##")
    made.add_special_tokens([name for name in names.values() if name in vocabulary])
    cls, sep = names["cls_token"], names["sep_token"]
    if cls not in vocabulary or sep not in vocabulary:
        raise ConfigError(f"a vocabulary without {cls} or {sep} is no BERT's")
    made.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}", pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )  # fmt: skip
    return Tokens(made, names)


def read_tokens(folder: Path, lower: bool = False) -> Tokens:
    """Return a model folder's tokenizer; `lower` puts lower-casing before it. ConfigError where it cannot be read."""
    with reading(folder, "tokenizer"):
        config = optional(folder / "tokenizer_config.json")
        legacy = {} if "added_tokens_decoder" in config else optional(folder / "special_tokens_map.json")
        names = {key: token_text({**config, **legacy}.get(key)) or token for key, token in SPECIAL.items()}
        berts = config.get("tokenizer_class") in (None, *BERTS)
        stated = {
            "lowercase": config.get("do_lower_case", True),
            "strip_accents": config.get("strip_accents"),
            "handle_chinese_chars": config.get("tokenize_chinese_chars", True),
        }
        if (folder / "tokenizer.json").is_file():
            made = Tokens(Tokenizer.from_file(str(folder / "tokenizer.json")), names)
            if berts:
                _overrule(made.tokenizer, stated)
        elif berts and (folder / "vocab.txt").is_file():
            words = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
            words = words[:-1] if words[-1] == "" else words
            made = of_words({word: i for i, word in enumerate(words)}, names, **stated)
        else:
            raise ConfigError(f"{folder}: no tokenizer.json or vocab.txt of a BERT. Save the tokenizer there once more")
        made.tokenizer.no_padding()
        _complete(made, {**config, **legacy}, optional(folder / "added_tokens.json"))
        if lower:
            known = [made.tokenizer.normalizer] if made.tokenizer.normalizer is not None else []
            made.tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *known])
    return made


def _overrule(tokenizer: Tokenizer, stated: Mapping[str, Any]) -> None:
    """Put what a BERT tokenizer's configuration states over the normalizer that tokenizer.json holds."""
    state = json.loads(tokenizer.normalizer.__getstate__())
    if state.get("type") == "BertNormalizer":
        clean_text = bool(state.get("clean_text", True))
        tokenizer.normalizer = normalizers.BertNormalizer(clean_text=clean_text, **stated)


def _complete(made: Tokens, config: Mapping[str, Any], added: Mapping[str, Any]) -> None:
    """Add the tokens that the small files name and the tokenizer does not yet treat as tokens of their own."""
    listed = config.get("added_tokens_decoder") or {}
    wanted = [AddedToken(**listed[number]) for number in sorted(listed, key=int)]
    more = [token_text(token) for token in config.get("additional_special_tokens") or ()]
    special = [*made.special.values(), *(token for token in more if token)]
    wanted += [
        AddedToken(name, special=name in special, normalized=name not in special)
        for name in sorted(added, key=lambda name: int(added[name]))
    ]
    known = {str(token.content) for token in made.tokenizer.get_added_tokens_decoder().values()}
    for token in wanted:
        if token.content not in known:
            made.tokenizer.add_tokens([token])
            known.add(str(token.content))
    inside = {*made.tokenizer.get_vocab(), *more}
    made.tokenizer.add_special_tokens([name for name in special if name in inside and name not in known])
