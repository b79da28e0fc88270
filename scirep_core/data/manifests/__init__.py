"""Real data, byte for byte: `data_manifests/<name>.yaml` -> a folder of verified files.

A manifest (see `manifest_files`) names the official source at a fixed commit, the licence, and each file with its size
and SHA-256. `fetch` takes each file from the mirror (`SCIREP_DATA_MIRROR=DIR` serves DIR/<mirror>/<path>) or over
https, and puts it under its final name in SCIREP_HOME/data/<name>/ only after its checksum was found right:

    source -> .incoming/<sha256>.part (resumable) -> checksum -> .incoming/<sha256> -> rename -> <path>

So whatever kills it, no wrong file has a final name, and the next run goes on where the last one stopped. Files
already there are read and checked again before they are trusted. Nothing but https is spoken, no redirect leaves the
host, and nothing longer than its manifest says is stored. `SCIREP_MANIFESTS=DIR` replaces the folder of manifests.

Two kinds of collection promise less, and say so. `gated` ones are never downloaded, only taken from a mirror or from where
the reader put them. Of files that nobody here could download when the manifest was written it states no SHA-256: what comes
is trusted on first sight, recorded in `.seen.json` before it gets its name, and must never change from then on. That finds
damage and silent replacement, not a source that was wrong from the start.

    {path: {"sha256": ..., "bytes": ..., "from": address or mirror file}}
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path
from typing import Any

from scirep_core.data.manifests.download import Progress, Wanted, obtain, readable, silent
from scirep_core.data.manifests.files import (
    NAME,
    Licence,
    Manifest,
    ManifestFile,
    list_manifests,
    load_manifest,
    manifest_folder,
    raw_manifest,
    running_numbers,
)
from scirep_core.data.manifests.unpack import faults, file_state, unpack
from scirep_core.kit.errors import CacheError, ConfigError, DataError, nearest, some_of
from scirep_core.kit.records import field, read_object
from scirep_core.kit.store import home, sha256_file, write_json

__all__ = [
    "Licence", "Manifest", "ManifestFile", "catalogue", "chosen", "fetch", "fetch_raw", "list_manifests",
    "load_manifest", "local_folder", "manifest_folder", "mirrored", "missing", "running_numbers", "size_of", "verify",
]  # fmt: skip
_INCOMING, _SEEN = ".incoming", ".seen.json"
_NAMED = 5  # files an error lists
_UNKNOWN = "unknown"  # there, but not yet written down: a file put in place by hand


# --- what is here -----------------------------------------------------------------------------------------------------


def local_folder(name: str) -> Path:
    """Return SCIREP_HOME/data/<name>, where `fetch` puts the collection; it need not exist yet."""
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not the name of a data collection: {nearest(name, list_manifests())}")
    return home() / "data" / name


def missing(name: str, parts: Sequence[str] = ()) -> list[ManifestFile]:
    """Return the files of a collection, or of parts of it, that neither SCIREP_HOME nor the mirror has; none is read.

    Raises ConfigError for an unknown name or part.
    """
    manifest = load_manifest(name)
    places = [place for place in (local_folder(name), mirrored(manifest)) if place]
    return [file for file in chosen(manifest, parts) if not any((place / file.path).is_file() for place in places)]


def mirrored(manifest: Manifest) -> Path | None:
    """Return the folder of a collection in the mirror, there or not; None without a mirror."""
    mirror = _mirror()
    return mirror / manifest.mirror if mirror else None


def _mirror() -> Path | None:
    chosen = os.environ.get("SCIREP_DATA_MIRROR")
    return Path(chosen).expanduser() if chosen else None


def verify(name: str) -> list[tuple[str, str]]:
    """Read every file again and return (path, state).

    States: ok, missing, truncated, altered, unreadable, "not a file", or unknown: put in place by hand and without a
    published checksum; `fetch` writes down what it is. For an archive that is unpacked, each of its files that is not
    ok follows as (<folder>/<path>, state).
    """
    return _states(load_manifest(name), local_folder(name))


def catalogue() -> list[dict[str, Any]]:
    """Return one row per collection.

    name, title, paper, licence; files, bytes (those known), unseen (files without a published checksum); verified
    (full, sample, no: have the real files been read here?); gated; state (absent, partial, complete).
    """
    rows = []
    for manifest in map(load_manifest, list_manifests()):
        states = {state for _, state in _states(manifest, local_folder(manifest.name))}
        rows.append({
            "name": manifest.name, "title": manifest.title, "paper": manifest.paper, "licence": manifest.licence.spdx,
            "files": len(manifest.files), "bytes": manifest.bytes, "unseen": manifest.unseen, "verified": manifest.verified,
            "gated": bool(manifest.gated),
            "state": "complete" if states == {"ok"} else "absent" if states == {"missing"} else "partial",
        })  # fmt: skip
    return rows


def _states(manifest: Manifest, folder: Path, files: Sequence[ManifestFile] | None = None) -> list[tuple[str, str]]:
    rows = []
    seen = _read_seen(folder)
    for file in manifest.files if files is None else files:
        path, known = folder / file.path, _known(file, seen)
        if known is None:
            state = _UNKNOWN if path.is_file() else "not a file" if path.exists() else "missing"
            rows.append((file.path, state))
            continue
        digest, size = known
        rows.append((file.path, file_state(path, size, digest)))
        if file.unpack:
            rows += [(f"{file.unpacked}/{n}", state) for n, state in faults(folder / file.unpacked, digest)]
    return rows


def _known(file: ManifestFile, seen: dict[str, dict[str, Any]]) -> tuple[str, int] | None:
    if file.sha256 is not None and file.bytes is not None:
        return file.sha256, file.bytes
    row = seen.get(file.path)
    return (row["sha256"], row["bytes"]) if row else None


def _read_seen(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what was recorded in a collection's folder, {} where nothing was. Raises DataError for a damaged record."""
    path = folder / _SEEN
    seen = read_object(path) if path.exists() else {}
    for name, row in seen.items():
        if not isinstance(row, dict):
            raise DataError(path, None, f"entry {name!r:.80} is no object", "Delete the file; get the collection again")
        for key, kind in (("sha256", str), ("bytes", int), ("from", str)):
            field(row, key, kind, path, None)
    return seen


def _remember(folder: Path, name: str, path: Path, source: str) -> bool:
    """Record the content of `path` as what <folder>/<name> is from now on; return whether it is new.

    Raises DataError where another content was recorded before: a file that changes has no claim to be the published one.
    """
    seen = _read_seen(folder)
    digest, new = sha256_file(path), name not in seen
    if not new and (before := seen[name]["sha256"]) != digest:
        reason = f"{name} from {source} has sha256 {digest}, but had {before} when it was first seen"
        remedy = "The source was changed since, or one of the two is damaged: compare, and delete the entry to take the new one"
        raise DataError(folder / _SEEN, None, reason, remedy)
    seen[name] = {"sha256": digest, "bytes": path.stat().st_size, "from": source}
    write_json(folder / _SEEN, seen)
    return new


# --- fetching ---------------------------------------------------------------------------------------------------------


def fetch(name: str, progress: Progress | None = None, *, session: Any = None, parts: Sequence[str] = ()) -> Path:
    """Bring a collection here, every byte checked, and return its folder.

    Files that are here and right are kept, altered ones are replaced. Safe to call from several processes at once.

    Args:
        name: a collection of `list_manifests()`.
        progress: receives a line per event. That content was not known beforehand is said on stderr without it too.
        session: replaces the `requests.Session` of the https path.
        parts: files, or folders with all that is in them, where not the whole collection is wanted.

    Raises:
        DataError: one line with the remedy, when a file cannot be had or its content is wrong.
        ConfigError: for an unknown name or part; for a gated collection, saying what to place where.
        CacheError: when the disk cannot take it.
    """
    manifest = load_manifest(name)
    return _fetch(manifest, chosen(manifest, parts), local_folder(name), progress, session)


def fetch_raw(name: str, progress: Progress | None = None, *, session: Any = None) -> Path:
    """Bring the public files here that a collection is made from, and return their folder, laid out `<repository>/<path>`.

    Arguments and errors as of `fetch`; ConfigError also for a collection that is not made here.
    """
    manifest = raw_manifest(load_manifest(name))
    return _fetch(manifest, manifest.files, local_folder(name) / "raw", progress, session)


def _fetch(
    manifest: Manifest, files: tuple[ManifestFile, ...], folder: Path, progress: Progress | None, session: Any
) -> Path:
    if all(state == "ok" for _, state in _states(manifest, folder, files)):
        return folder  # nothing to write: works in a read-only home too
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder, progress or silent):
            _bring(manifest, files, folder, progress, session)
    except OSError as error:
        error = error.__cause__ if isinstance(error.__cause__, OSError) else error
        raise CacheError(
            f"{folder}: cannot write ({error.strerror or error}). Free space, fix permissions, "
            f"or point SCIREP_HOME elsewhere; {manifest.name} takes {readable(manifest.bytes)}"
        ) from error
    return folder


def chosen(manifest: Manifest, parts: Sequence[str]) -> tuple[ManifestFile, ...]:
    """Return the files of some parts (files, or folders with all that is in them) of a collection; of the whole for none.

    Raises ConfigError for a part it has not.
    """
    for part in parts:
        if not any(_within(file, part) for file in manifest.files):
            there = {file.path.partition("/")[0] for file in manifest.files}
            raise ConfigError(f"{manifest.name} has no part {part!r}; {nearest(part, there)}")
    return tuple(f for f in manifest.files if not parts or any(_within(f, part) for part in parts))


def size_of(files: Sequence[ManifestFile]) -> str:
    """Return the size of files together for reading, "" where one of them is not known."""
    return readable(sum(file.bytes or 0 for file in files)) if all(file.bytes for file in files) else ""


def _within(file: ManifestFile, part: str) -> bool:
    return file.path == part or file.path.startswith(f"{part.rstrip('/')}/")


def _lock(folder: Path, say: Progress) -> AbstractContextManager[object]:
    """Let one process at a time write into `folder`; a killed one lets go by itself."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder.parent / f".{folder.name}.lock")
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        say(f"{folder.name}: another process is fetching it; waiting")
        return lock.acquire()


def _bring(
    manifest: Manifest, files: tuple[ManifestFile, ...], folder: Path, progress: Progress | None, session: Any
) -> None:
    say = progress or silent
    before = dict(_states(manifest, folder, files))  # again: another process may have been at work while we waited
    wanted = [file for file in files if before[file.path] != "ok"]
    mirror = _mirror()
    if wanted:
        if mirror and not mirror.is_dir():
            raise ConfigError(f"SCIREP_DATA_MIRROR={mirror}: no such folder. Correct it, or unset it to download")
        if manifest.gated:
            _by_hand(manifest, [file for file in wanted if before[file.path] != _UNKNOWN], folder, mirror)
        total = size_of(wanted) or "size unknown"
        say(f"{manifest.name}: {len(wanted)} of {len(manifest.files)} files, {total}. {manifest.licence.notice}")

    @cache
    def connect() -> Any:  # one connection for all files, none where the mirror has them
        import requests

        return session or requests.Session()

    incoming = folder / _INCOMING
    new = 0
    for number, file in enumerate(wanted, start=1):
        path, state, place = folder / file.path, before[file.path], f"{manifest.mirror}/{file.path}"
        copy = mirror / place if mirror else None
        if state == _UNKNOWN:
            staged, source = path, "put in place by hand"
        else:
            request = Wanted(place, manifest.url_of(file), file.bytes, file.sha256, manifest.redirects)
            staged = obtain(request, incoming, copy, say, connect)
            source = f"mirror:{place}" if copy and copy.is_file() else request.url
        if file.sha256 is None:
            new += _remember(folder, file.path, staged, source)
        size = staged.stat().st_size
        path.parent.mkdir(parents=True, exist_ok=True)
        staged.replace(path)
        repaired = "" if state in ("missing", _UNKNOWN) else f", was {state}: replaced"
        say(f"{number}/{len(wanted)} {manifest.name}/{file.path} ({readable(size)}{repaired})")
    if new:
        warn = progress or partial(print, file=sys.stderr)
        warn(f"{manifest.name}: the content of {new} files was not known beforehand. What came is written down in "
             f"{folder / _SEEN} and checked from now on; nobody here has compared it with the original")  # fmt: skip
    seen = _read_seen(folder)
    for file in files:
        known = _known(file, seen)
        if file.unpack and known and faults(folder / file.unpacked, known[0]):
            unpack(folder / file.path, folder / file.unpacked, scratch=incoming)
            say(f"{manifest.name}: unpacked {file.path}")
    shutil.rmtree(incoming, ignore_errors=True)


def _by_hand(manifest: Manifest, wanted: list[ManifestFile], folder: Path, mirror: Path | None) -> None:
    """Refuse, before anything is written, what neither the mirror nor the reader has brought."""
    missing = [f.path for f in wanted if mirror is None or not (mirror / manifest.mirror / f.path).is_file()]
    if missing:
        raise ConfigError(
            f"{manifest.name} cannot be downloaded: {manifest.gated} Place {some_of(missing, _NAMED)} in "
            f"{folder}, or in DIR/{manifest.mirror} with SCIREP_DATA_MIRROR=DIR, and run again"
        )
