"""A model card: the README.md of an exported folder, which hubs show (SciRepEval's models are published as such folders)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import yaml

from scirep_core.encoders import MARK, Encoder
from scirep_core.encoders.conditioning.base import CONDITIONINGS
from scirep_core.kit.records import read_object

CONDITIONED = (
    "transformers reads its trunk alone: what tells formats apart is in conditioning.safetensors, for this book"
)
ELSEWHERE = {
    "plain": "",
    "transformers": "",
    "control_codes": "in transformers put [CLF], [RGN], [PRX] or [QRY] before a text: the vector is the state at that token",
    "bottleneck": "in the adapters library: load_adapter(FOLDER/PRX, use_safetensors=True); transformers reads the trunk alone",
}
"""Kind -> how another library gets the same vectors."""
CARD = "README.md"


def elsewhere(kind: str) -> str:
    """Return how another library gets the vectors of a kind of conditioning; "" where its own way does."""
    return ELSEWHERE.get(kind, CONDITIONED)


def card(encoder: Encoder, folder: Path, kind: str, difference: float) -> str:
    """Return the card of an encoder that was written to a folder: what it is, what it reads, how to use it, how it was made.

    Args:
        difference: largest between vectors before and after.
    """
    made = read_object(folder / MARK).get("made", {}) if (folder / MARK).is_file() else {}
    told = dict(_plain(made))
    head: dict[str, Any] = {
        "pipeline_tag": "feature-extraction",
        "library_name": "sentence-transformers" if (folder / "modules.json").is_file() else "transformers",
        "tags": ["scientific-documents", *({"sentence-similarity"} if (folder / "modules.json").is_file() else ())],
    }
    if re.fullmatch(r"[\w.-]+/[\w.-]+", base := told.get("base", "")) and not Path(base).exists():  # a hub's name
        head["base_model"] = base
    recipe, way = encoder.recipe, CONDITIONINGS.get(kind)
    prompts = {"query": recipe.query, "document to be found": recipe.found, "paper": recipe.paper}
    facts = {
        "conditioning": way.paper if way else "none: a model's own files",
        "task formats": ", ".join(encoder.formats),
        "vectors": f"{encoder.dim} numbers",
        "reads": f"title, `{recipe.separator}`, abstract",
        "prompts": "; ".join(f"{name} `{text}`" for name, text in prompts.items() if text) or "none",
        "fingerprint": f"`{encoder.fingerprint}`",
        "export": f"read again, its vectors differ by {difference:.1e} at most",
        **told,
    }
    name = folder.resolve().name
    use = [
        "```python", "import scirep_core", "",
        f'encoder = scirep_core.load_encoder("{name}")  # this folder',
        f'vectors = scirep_core.encode(encoder, ["A title{recipe.separator}An abstract"], "{encoder.formats[0]}")', "```",
    ]  # fmt: skip
    if note := elsewhere(kind):
        use += ["", f"{note[0].upper()}{note[1:]}."]
    return "\n".join([
        "---", yaml.safe_dump(head, sort_keys=False).rstrip(), "---", "", f"# {name}", "",
        "An encoder of scientific documents, written by `scirep export`.", "",
        "| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in facts.items()), "",
        "## Use", "", *use, "",
        "## Scores", "", f"`scirep score scirepeval --encoder {name}` scores it on the benchmark's tasks.", "",
        "## Licence and limits", "", "Weights keep the licence of the model they come from; say here which.", "",
    ])  # fmt: skip


def _plain(made: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield what a table can show of how a model was made; folders of the machine it was made on are left out."""
    for key, value in made.items():
        if isinstance(value, Mapping):
            yield from _plain(value, f"{before}{key}: ")
        elif isinstance(value, list):
            yield from _plain({key: ", ".join(map(str, value))}, before)
        elif isinstance(value, str | int | float) and not PurePath(str(value)).is_absolute():
            yield f"{before}{key}", " ".join(str(value).replace("|", "\\|").split())
