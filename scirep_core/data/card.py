"""A task folder's README.md: what it holds, and in its head the `configs` by which `datasets.load_dataset` finds its splits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

CARD, WRITTEN = "README.md", "<!-- written by scirep_core: remove this line to keep a text of your own -->"
SPLITS = ("train", "validation", "test")


def is_own(path: Path) -> bool:
    """Return whether a card is a user's own, which is not replaced."""
    return path.is_file() and WRITTEN not in path.read_text(encoding="utf-8", errors="replace")


def configs(files: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the configurations of a folder's files, the judgements first.

    Files of splits are one configuration, `examples`; any other file is its own, called after it, as is its split: of
    judgements `test`. (BEIR's mirrors name theirs so.)
    """
    stems = {name.removesuffix(".jsonl"): name for name in files if name.endswith(".jsonl")}
    split = [{"split": stem, "path": stems[stem]} for stem in SPLITS if stem in stems]
    found: list[dict[str, Any]] = [{"config_name": "examples", "data_files": split}] if split else []
    rest = [stem for stem in stems if stem not in SPLITS]
    for stem in sorted(rest, key=lambda stem: not stem.startswith("qrels")):
        name = "test" if stem.startswith("qrels") else stem
        found.append({"config_name": stem, "data_files": [{"split": name, "path": stems[stem]}]})
    return [one | ({"default": True} if at == 0 else {}) for at, one in enumerate(found)]


def card(config: Mapping[str, Any], files: Mapping[str, int]) -> str:
    """Return the card of a task: `config` is its task.json, `files` its files with their numbers of rows."""
    import yaml  # here: a machine that only trains has none

    head = {"pretty_name": config["name"], "tags": ["scientific-documents", config["type"].replace("_", "-")],
            "configs": configs(files)}  # fmt: skip
    first = head["configs"][0]["config_name"]
    return "\n".join([
        "---", yaml.safe_dump(head, sort_keys=False, allow_unicode=True).rstrip(), "---", WRITTEN, "", f"# {config['name']}", "",
        f"A task of type {config['type'].replace('_', ' ')}, measured by {', '.join(config['metrics'])}.", "",
        "| file | rows |", "|---|---|", *(f"| {name} | {rows:,} |" for name, rows in files.items()), "",
        "```python", "import datasets, scirep_core", "",
        f'rows = datasets.load_dataset("FOLDER", "{first}")',
        'scores = scirep_core.score("FOLDER", "minilm")', "```", "",
        *([str(config["notes"]), ""] if config.get("notes") else []),
    ])  # fmt: skip
