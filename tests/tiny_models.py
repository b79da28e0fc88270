"""Tiny random models in folders laid out like the hub's, and cache trees as its library leaves them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = ["a", "b", "c", "d", "paper", "model", "of", "##s", ".", ":", "query", "passage", *(f"w{i}" for i in range(40))]
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
WIDTH = 32
SIZES = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "initializer_range": 0.2}


def bert_model(seed: int = 0, shaken: float = 0.0, **config: Any) -> Any:
    """Return a random BERT of two layers; where it is shaken, biases and norms are not where they began, as after training."""
    import torch
    import transformers

    torch.manual_seed(seed)
    sizes = SIZES | {"vocab_size": len(VOCAB), "intermediate_size": config.get("hidden_size", WIDTH)}
    model = transformers.BertModel(transformers.BertConfig(**sizes | config)).eval()
    for name, value in model.named_parameters():
        if shaken and ("LayerNorm" in name or name.endswith("bias")):
            value.data += shaken * torch.randn_like(value)
    return model


def bert(folder: Path, seed: int = 0, safe: bool = True, width: int = WIDTH, layers: int = 2) -> Path:
    """Write a BERT."""
    import transformers

    model = bert_model(seed, hidden_size=width, num_hidden_layers=layers)
    model.save_pretrained(folder, safe_serialization=safe)
    (folder / "vocab.txt").write_text("\n".join(VOCAB))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def roberta(folder: Path, seed: int = 0) -> Path:
    """Write a RoBERTa of two layers; its separator is </s>."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(seed)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocab = {word: i for i, word in enumerate([*special, *WORDS])}
    backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    names = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "pad_token": "<pad>"}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", mask_token="<mask>", model_max_length=512, **names
    )
    places = {"max_position_embeddings": 514, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config = transformers.RobertaConfig(vocab_size=len(vocab), intermediate_size=32, **places, **SIZES)
    transformers.RobertaModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def mpnet(folder: Path, seed: int = 0) -> Path:
    """Write an MPNet of two layers."""
    import torch
    import transformers

    torch.manual_seed(seed)
    special = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
    places = {"max_position_embeddings": 514, "pad_token_id": 1, "intermediate_size": 32}
    config = transformers.MPNetConfig(vocab_size=len(special) + len(WORDS), **places, **SIZES)
    transformers.MPNetModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join([*special, *WORDS]))
    transformers.MPNetTokenizerFast(str(folder / "vocab.txt"), unk_token="[UNK]").save_pretrained(folder)
    return folder


def pipeline(folder: Path, pooling: str = "mean", normalise: bool = True, length: int | None = None) -> Path:
    """Add the files with which sentence-transformers (version 2, as on the hub) says how a model's tokens are pooled."""
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalise else [])]
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{name}": name.startswith(pooling) for name in ("cls_token", "mean_tokens", "max_tokens")}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": WIDTH, **modes}))
    if normalise:
        (folder / "2_Normalize").mkdir()
    if length:
        text = json.dumps({"max_seq_length": length, "do_lower_case": False})
        (folder / "sentence_bert_config.json").write_text(text)
    return folder


def adapter(base: Path, out: Path, name: str, seed: int, safe: bool = True, **settings: object) -> Path:
    """Write a random bottleneck adapter for a base model, as `adapters` saves it."""
    import torch
    from adapters import AutoAdapterModel, SeqBnConfig

    torch.manual_seed(seed)
    model = AutoAdapterModel.from_pretrained(base)
    model.add_adapter(name, config=SeqBnConfig(**settings))
    for key, value in model.named_parameters():
        if f"adapters.{name}." in key:
            torch.nn.init.normal_(value, std=0.3)
    out.mkdir(parents=True, exist_ok=True)
    model.save_adapter(str(out), name, use_safetensors=safe)
    return out


def outputs(folder: Path, texts: list[str], adapter: Any = None, model: Any = None, length: int = 512) -> list[Any]:
    """Return what transformers says of each text alone, so that nothing is padded: by the folder's model, or by the one given.

    Args:
        adapter: folder of an adapter that is active; the `adapters` library says it then.
    """
    import torch
    import transformers

    kind = transformers.AutoTokenizer if (folder / "config.json").is_file() else transformers.BertTokenizerFast
    tokenizer = kind.from_pretrained(folder)
    if adapter is not None:
        import adapters

        model = adapters.AutoAdapterModel.from_pretrained(folder)
        safe = (adapter / "adapter.safetensors").is_file()
        model.load_adapter(str(adapter), load_as="it", set_active=True, use_safetensors=safe)
    model = (model or transformers.AutoModel.from_pretrained(folder)).eval()
    with torch.no_grad():
        return [model(**tokenizer(text, truncation=True, max_length=length, return_tensors="pt")) for text in texts]


def states_of(model: Any, documents: Sequence[Sequence[int]]) -> list[Any]:
    """Return transformers' last hidden states (tokens, dim) of each document alone, by token ids."""
    import torch

    with torch.no_grad():
        return [model(input_ids=torch.tensor([ids])).last_hidden_state[0] for ids in documents]


def firsts(*asked: Any, **more: Any) -> NDArray[np.float32]:
    """Return (n, dim) last states of first tokens, of what `outputs` gives."""
    return np.stack([out.last_hidden_state[0, 0].numpy() for out in outputs(*asked, **more)])


def cache(home: Path, name: str, folder: Path) -> Path:
    """Copy a folder into a hub cache as the hub's library leaves it: refs/main names a snapshot."""
    tree = home / "hub" / f"models--{name.replace('/', '--')}"
    shutil.copytree(folder, tree / "snapshots" / "abc123")
    (tree / "refs").mkdir()
    (tree / "refs" / "main").write_text("abc123")
    return tree / "snapshots" / "abc123"


def changed(path: Path, **change: object) -> None:
    """Change keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | change))


class Hostile:
    """Makes a file when it is unpickled."""

    def __init__(self, place: Path, by: Any = open) -> None:
        self.place, self.by = place, by

    def __reduce__(self) -> Any:
        return (open, (str(self.place), "w")) if self.by is open else (self.by, (f"touch {self.place}",))


def hidden_states(model: Any, documents: Sequence[Sequence[int]], formats: Sequence[str]) -> list[Any]:
    """Return last hidden states (tokens, dim) of each document of one batch of all, by a model on the trunk."""
    import torch

    with torch.inference_mode():
        batch = model.pack(documents, formats)
        parts = torch.tensor_split(model.hidden(batch), batch.starts[1:-1].tolist())
    back = dict(zip(batch.order.tolist(), parts, strict=True))
    return [back[i] for i in range(len(documents))]
