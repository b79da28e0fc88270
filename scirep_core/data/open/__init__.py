"""The open literature: real papers under open or public terms, as compact files that are made from public ones.

One collection `open_<source>` each, see `data_manifests/open_<source>.yaml`. A mirror's compact files serve.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scirep_core.data.manifests import fetch
from scirep_core.data.manifests.download import Progress
from scirep_core.kit.errors import UnknownName

SOURCES = (
    "acl_graph", "arxiv_cs", "biomimicry", "classic_ir", "pubmedqa", "reviewer_match", "scifact_corpus",
    "synergy_openalex", "vis",
)  # fmt: skip


def folder(source: str, progress: Progress | None = None, *, session: Any = None) -> Path:
    """Return the verified folder of a source's compact files, brought here first if need be.

    Args:
        source: a name of `SOURCES`.
        progress, session: as of `manifests.fetch`.

    Raises:
        UnknownName: for another name.
        DataError, ConfigError, CacheError: as `manifests.fetch`.
    """
    if source not in SOURCES:
        raise UnknownName("source of the open literature", source, SOURCES)
    return fetch(f"open_{source}", progress, session=session)
