"""The open literature: real papers under open or public terms, as compact files that are made from public ones."""

from __future__ import annotations

import os
from pathlib import Path

from scirep_core.kit.errors import ConfigError


def folder(source: str) -> Path:
    """Return the folder of a source's compact files. Raises ConfigError where no mirror has them."""
    mirror = os.environ.get("SCIREP_DATA_MIRROR")
    place = Path(mirror).expanduser() / "open" / source if mirror else None
    if place is None or not place.is_dir():
        raise ConfigError(f"open/{source} is not here: let SCIREP_DATA_MIRROR name a folder that holds open/{source}")
    return place
