"""Files by which sentence-transformers, and `model_folder.stated`, know how a model's tokens become one vector.

modules.json                        transformer, pooling, and scaling to length 1 where it is done
1_Pooling/config.json               first token or mean
sentence_bert_config.json           tokens kept of a text; lower-casing
config_sentence_transformers.json   what is put before a bare query, a paper to be found, any other paper
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scirep_core.data.text import Recipe
from scirep_core.kit.store import write_json

MODES = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens"}


def write_pipeline(
    folder: Path, pooling: str, dim: int, length: int, recipe: Recipe, normalised: bool = False, lower: bool = False
) -> None:
    """Write the four files; `pooling` is cls or mean. The separator of title and abstract has no place in them."""
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalised else [])]
    write_json(folder / "modules.json", [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ])  # fmt: skip
    modes: dict[str, Any] = {mode: name == pooling for name, mode in MODES.items()}
    write_json(folder / "1_Pooling" / "config.json", modes | {"word_embedding_dimension": dim})
    if normalised:
        (folder / "2_Normalize").mkdir(exist_ok=True)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": length, "do_lower_case": lower})
    prompts = {"query": recipe.query, "document": recipe.found, "paper": recipe.paper}
    said: dict[str, Any] = {"prompts": prompts, "default_prompt_name": "paper" if recipe.paper else None}
    write_json(folder / "config_sentence_transformers.json", said)
