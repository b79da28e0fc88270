"""Writes the embedded literature as the collections of the five papers, each in its published layout.

Sizes follow the literature up to the published sizes, so that cost stays linear; planted.py says what decides a label and
whether people err in it.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from scirep_core.data.literature.model import Literature

COLLECTIONS: dict[str, tuple[str, ...]] = {
    "literature": ("corpus",),
    "scirepeval": (
        "scirepeval.classification",
        "scirepeval.regression",
        "training",
        "scirepeval.proximity",
        "scirepeval.search",
        "scirepeval.reviewing",
    ),
    "s2and": ("scirepeval.authors",),
    "mdcr": ("scirepeval.mdcr",),
    "scimult": ("scimult.labels", "scimult.scimult_links", "scimult.patients", "scimult.pretraining"),
    "maple": ("scimult.maple",),
    "beir": ("scimult.beir",),
    "recommendation": ("scirepeval.recommendation",),
    "neighbours": ("neighbours",),
}
"""Collection -> modules of this folder whose `write(root, literature)` makes it."""


def write_collection(root: Path, name: str, literature: Literature) -> None:
    """Write one collection below `root`. Raises KeyError for a name that is not in `COLLECTIONS`."""
    for module in COLLECTIONS[name]:
        importlib.import_module(f"{__name__}.{module}").write(root, literature)
