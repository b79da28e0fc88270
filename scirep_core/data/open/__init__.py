"""The open literature: real papers under open or public terms, as compact files that are made from public ones.

One collection `open_<source>` each: `data_manifests/open_<source>.yaml` pins the compact files, and a table beside it the public
ones. A mirror's compact files serve; without them the road is

    raw/<repository>/<path>, fetched and verified -> converter -> compact files -> checksums -> final names
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scirep_core.data.manifests import (
    Manifest,
    fetch,
    fetch_raw,
    load_manifest,
    local_folder,
    mirrored,
    running_numbers,
    verify,
)
from scirep_core.data.manifests.download import Progress, silent
from scirep_core.data.manifests.unpack import file_state
from scirep_core.data.open import converters
from scirep_core.data.open.acl import acl_graph
from scirep_core.data.open.compact import Converter, packed
from scirep_core.kit.errors import DataError, check_name
from scirep_core.kit.store import beside

PREFIX = "open_"
SOURCES: dict[str, Converter] = {
    "acl_graph": acl_graph,
    "arxiv_cs": converters.arxiv_cs,
    "biomimicry": converters.biomimicry,
    "classic_ir": converters.classic_ir,
    "pubmedqa": converters.pubmedqa,
    "reviewer_match": converters.reviewer_match,
    "scifact_corpus": converters.scifact_corpus,
    "synergy_openalex": converters.synergy_openalex,
    "vis": converters.vis,
}


def folder(source: str, progress: Progress | None = None, *, session: Any = None) -> Path:
    """Return the verified folder of a source's compact files; they are brought or made here first if need be.

    Args:
        source: a name of `SOURCES`.
        progress, session: as of `manifests.fetch`.

    Raises:
        UnknownName: for another name.
        DataError: as `manifests.fetch`, for raw files that do not read as such, and for compact files other than the pinned ones.
        ConfigError, CacheError: as `manifests.fetch`.
    """
    check_name("source of the open literature", source, SOURCES)
    name = PREFIX + source
    manifest = load_manifest(name)
    mirror = mirrored(manifest)
    if any(state != "ok" and not (mirror and (mirror / path).is_file()) for path, state in verify(name)):
        _make(source, manifest, fetch_raw(name, progress, session=session), progress or silent)
    return fetch(name, progress, session=session)


def _make(source: str, manifest: Manifest, raw: Path, say: Progress) -> None:
    """Convert a source's raw files; its compact files get their final names when all of them were found right."""
    place = local_folder(manifest.name)
    say(f"{manifest.name}: making {len(manifest.files)} files")
    try:
        files = SOURCES[source](raw, running_numbers(manifest))
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise DataError(raw, None, f"cannot be read as {source} ({type(error).__name__}: {error})") from error
    with beside(place / "made", folder=True) as made:
        for file in manifest.files:
            (made / file.path).write_bytes(packed(file.path, files[file.path]))
            if file_state(made / file.path, file.bytes or 0, file.sha256 or "") != "ok":
                remedy = "Its rows may be right but packed otherwise, by another version of zlib"
                raise DataError(raw, None, f"{file.path} as made from it is not the published file", remedy)
        for file in manifest.files:
            (made / file.path).replace(place / file.path)
            say(f"{manifest.name}/{file.path}")
