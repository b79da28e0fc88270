"""Real data, byte for byte: `data_manifests/<name>.yaml` -> a folder of verified files.

A manifest names the official source at a fixed commit, the licence, and each file with its size and SHA-256. `fetch`
takes each file from the mirror (`SCIREP_DATA_MIRROR=DIR` serves DIR/<name>/<path>) or over https, and puts it under
its final name in SCIREP_HOME/data/<name>/ only after its checksum was found right:

    source -> .incoming/<sha256>.part (resumable) -> checksum (pooch) -> .incoming/<sha256> -> rename -> <path>

So whatever kills it, no wrong file has a final name, and the next run goes on where the last one stopped. Files
already there are read and checked again before they are trusted. Nothing but https is spoken, no redirect leaves the
host, and nothing longer than its manifest says is stored. `SCIREP_MANIFESTS=DIR` replaces the folder of manifests.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scirep_core.download import Progress, Wanted, obtain, readable
from scirep_core.errors import CacheError, ConfigError, DataError, nearest
from scirep_core.records import field as checked
from scirep_core.store import home
from scirep_core.unpack import SUFFIXES, faults, file_state, unpack

_INCOMING = ".incoming"
_PART = r"[A-Za-z0-9_][A-Za-z0-9_ .+@=,()-]*(?<![ .])"  # one part of a path: no leading dot, so no "..", nothing hidden
_PATH = re.compile(f"{_PART}(/{_PART})*")
_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(/[^\s\\?#]*)?")  # no user, no port, no query
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_FILE_KEYS = ("path", "source", "sha256", "bytes", "unpack")
_LICENCE_KEYS = ("spdx", "url", "notice")
_KEYS = ("name", "title", "paper", "homepage", "repository", "commit", "url", "licence", "expect", "files")


@dataclass(frozen=True)
class ManifestFile:
    """One file: local (and mirror) path, SHA-256, bytes, path at the source, whether it is an archive to unpack."""

    path: str
    sha256: str
    bytes: int
    source: str
    unpack: bool = False

    @property
    def unpacked(self) -> str:
        """The folder an archive is unpacked into: its path without the suffix."""
        return self.path[: -max(len(s) for s in SUFFIXES if self.path.endswith(s))]


@dataclass(frozen=True)
class Licence:
    """The terms of a collection: SPDX name, address of the text, one line for the reader."""

    spdx: str
    url: str
    notice: str


@dataclass(frozen=True)
class Manifest:
    """A collection. `url` is https with {commit} and {source} to fill in; `expect` holds counts readers can check."""

    name: str
    title: str
    paper: str
    homepage: str
    repository: str
    url: str
    licence: Licence
    files: tuple[ManifestFile, ...]
    commit: str = ""
    expect: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(file.bytes for file in self.files)

    def url_of(self, file: ManifestFile) -> str:
        """Return the https address of one file."""
        return self.url.replace("{commit}", self.commit).replace("{source}", quote(file.source))


# --- reading manifests ------------------------------------------------------------------------------------------------


def manifest_folder() -> Path:
    """Folder of the manifests: `SCIREP_MANIFESTS`, else data_manifests/ beside the package in the checkout."""
    chosen = os.environ.get("SCIREP_MANIFESTS")
    folder = Path(chosen).expanduser() if chosen else Path(__file__).resolve().parent.parent / "data_manifests"
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder of manifests. Install from a checkout, or set SCIREP_MANIFESTS")
    return folder


def list_manifests() -> list[str]:
    """Return the names of all collections, sorted."""
    return sorted(path.stem for path in manifest_folder().glob("*.yaml") if _NAME.fullmatch(path.stem))


def load_manifest(name: str) -> Manifest:
    """Read and check data_manifests/<name>.yaml.

    Raises ConfigError for an unknown name, DataError with file:line for whatever is wrong inside.
    """
    names = list_manifests()
    if name not in names:
        raise ConfigError(f"no data collection {name!r}: {nearest(name, names)}")
    path = manifest_folder() / f"{name}.yaml"
    data, lines = _read_yaml(path)
    _only(data, _KEYS, path, 1)

    def top(key: str) -> Any:
        return checked(data, key, str, path, lines.get((key,), 1))

    def https(value: str, *where: Any) -> str:
        if not _ADDRESS.fullmatch(value) or ".." in value:
            raise DataError(path, lines.get(where, 1), f"{value!r:.100} is not a plain https address", "Use https://")
        return value

    if top("name") != name:
        raise DataError(path, lines.get(("name",)), f"name {data['name']!r} is not the file's name {name!r}")
    url, commit = https(top("url"), "url"), top("commit") if "commit" in data else ""
    filled = url.replace("{commit}", "").replace("{source}", "")
    if not url.endswith("/{source}") or set("{}") & set(filled) or ("{commit}" in url) != bool(commit):
        raise DataError(path, lines[("url",)], "url must end in /{source}, and hold {commit} where commit is given")
    if commit and not re.fullmatch("[0-9a-f]{40}", commit):
        raise DataError(path, lines[("commit",)], f"commit {commit!r:.60} is not 40 lower-case hexadecimal digits")
    licence = checked(data, "licence", dict, path, lines.get(("licence",), 1))
    _only(licence, _LICENCE_KEYS, path, lines[("licence",)])
    terms = {k: checked(licence, k, str, path, lines.get(("licence", k), lines[("licence",)])) for k in _LICENCE_KEYS}
    https(terms["url"], "licence", "url")
    expect = checked(data, "expect", dict, path, lines[("expect",)]) if "expect" in data else {}
    for key in expect:
        checked(expect, key, (int, str), path, lines.get(("expect", key), lines[("expect",)]))
    rows = checked(data, "files", list, path, lines.get(("files",), 1))
    files = tuple(_file(row, path, lines.get(("files", i), 1)) for i, row in enumerate(rows))
    _no_clash(files, path, lines)
    return Manifest(
        name=name,
        title=top("title"),
        paper=top("paper"),
        homepage=https(top("homepage"), "homepage"),
        repository=https(top("repository"), "repository"),
        url=url,
        licence=Licence(**terms),
        files=files,
        commit=commit,
        expect=expect,
    )


def _read_yaml(path: Path) -> tuple[dict[str, Any], dict[tuple[Any, ...], int]]:
    """Return a YAML mapping and the line of each of its parts; a key given twice is an error, plain data only."""
    import yaml

    lines: dict[tuple[Any, ...], int] = {}

    def walk(node: Any, where: tuple[Any, ...]) -> None:
        lines[where] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode) and len(where) < 3:
            for key, value in node.value:
                if (*where, key.value) in lines:
                    raise DataError(path, key.start_mark.line + 1, f"key {key.value!r:.60} is given twice")
                walk(value, (*where, key.value))
        elif isinstance(node, yaml.SequenceNode) and len(where) < 3:
            for position, value in enumerate(node.value):
                walk(value, (*where, position))

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(path.read_bytes().decode("utf-8"))
        try:
            node = loader.get_single_node()
            if not isinstance(node, yaml.MappingNode):
                raise DataError(path, 1, "expected keys and values at the top level")
            walk(node, ())
            return loader.construct_document(node), lines
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = " ".join(str(getattr(error, "problem", None) or "not readable").split())
        raise DataError(path, mark.line + 1 if mark else None, f"not plain YAML: {reason}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(path, None, f"not a UTF-8 file of plain YAML: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})") from None


def _only(row: Mapping[Any, Any], keys: Iterable[str], path: Path, line: int) -> None:
    for key in row:
        if key not in keys:
            raise DataError(path, line, f"unknown key {key!r:.60}", nearest(str(key), keys))


def _file(row: Any, path: Path, line: int) -> ManifestFile:
    if not isinstance(row, dict):
        raise DataError(path, line, f"a file must be given by keys and values, found {row!r:.60}")
    _only(row, _FILE_KEYS, path, line)
    local, digest = checked(row, "path", str, path, line), checked(row, "sha256", str, path, line)
    source = checked(row, "source", str, path, line) if "source" in row else local
    archive = checked(row, "unpack", bool, path, line) if "unpack" in row else False
    for value in (local, source):
        if not _PATH.fullmatch(value):
            raise DataError(
                path, line, f"path {value!r:.100} is not a plain relative path", "Use letters, digits and /"
            )
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise DataError(path, line, f"sha256 of {local!r} is not 64 lower-case hexadecimal digits: {digest!r:.80}")
    if (size := checked(row, "bytes", int, path, line)) <= 0:
        raise DataError(path, line, f"bytes of {local!r} must be positive, found {size}")
    if archive and not local.endswith(SUFFIXES):
        raise DataError(path, line, f"cannot unpack {local!r}", f"Known archives: {', '.join(SUFFIXES)}")
    return ManifestFile(local, digest, size, source, archive)


def _no_clash(files: tuple[ManifestFile, ...], path: Path, lines: Mapping[tuple[Any, ...], int]) -> None:
    """Refuse a manifest without files, and two files of one name or one inside the other (letter case ignored)."""
    if not files:
        raise DataError(path, lines.get(("files",)), "files is empty")
    names: set[str] = set()
    folders: set[str] = set()
    for i, file in enumerate(files):
        for name in (file.path, file.unpacked) if file.unpack else (file.path,):
            folded = name.casefold()
            above = {folded[:k] for k, letter in enumerate(folded) if letter == "/"}
            if folded in names | folders or above & names:
                raise DataError(path, lines[("files", i)], f"path {name!r} clashes with an earlier one")
            names.add(folded)
            folders |= above


# --- what is here -----------------------------------------------------------------------------------------------------


def local_folder(name: str) -> Path:
    """Return SCIREP_HOME/data/<name>, where `fetch` puts the collection; it need not exist yet."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not the name of a data collection: {nearest(name, list_manifests())}")
    return home() / "data" / name


def verify(name: str) -> list[tuple[str, str]]:
    """Read every file again and return (path, state): ok, missing, truncated, altered, unreadable or "not a file".

    For an archive that is unpacked, each of its files that is not ok follows as (<folder>/<path>, state).
    """
    return _states(load_manifest(name), local_folder(name))


def is_complete(name: str) -> bool:
    """Return whether every file of a collection is here with the right checksum (reads them all)."""
    return all(state == "ok" for _, state in verify(name))


def catalogue() -> list[dict[str, Any]]:
    """Return one row per collection: name, title, paper, licence, files, bytes, state (absent, partial, complete)."""
    rows = []
    for manifest in map(load_manifest, list_manifests()):
        states = {state for _, state in _states(manifest, local_folder(manifest.name))}
        state = "complete" if states == {"ok"} else "absent" if states == {"missing"} else "partial"
        row = {
            "name": manifest.name,
            "title": manifest.title,
            "paper": manifest.paper,
            "licence": manifest.licence.spdx,
        }
        rows.append(row | {"files": len(manifest.files), "bytes": manifest.bytes, "state": state})
    return rows


def _states(manifest: Manifest, folder: Path) -> list[tuple[str, str]]:
    rows = []
    for file in manifest.files:
        rows.append((file.path, file_state(folder / file.path, file.bytes, file.sha256)))
        if file.unpack:
            rows += [(f"{file.unpacked}/{n}", state) for n, state in faults(folder / file.unpacked, file.sha256)]
    return rows


# --- fetching ---------------------------------------------------------------------------------------------------------


def fetch(name: str, progress: Progress | None = None, *, session: Any = None) -> Path:
    """Bring a collection here, every byte checked, and return its folder.

    Files that are here and right are kept, altered ones are replaced. Safe to call from several processes at once.
    `session` replaces the `requests.Session` of the https path. Raises DataError (one line with the remedy) when a
    file cannot be had or its content is wrong, CacheError when the disk cannot take it.
    """
    manifest, folder = load_manifest(name), local_folder(name)
    if all(state == "ok" for _, state in _states(manifest, folder)):
        return folder  # nothing to write: works in a read-only home too
    say = progress or (lambda event: None)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder, say):
            _bring(manifest, folder, say, session)
    except OSError as error:
        error = error.__cause__ if isinstance(error.__cause__, OSError) else error
        raise CacheError(
            f"{folder}: cannot write ({error.strerror or error}). Free space, fix permissions, "
            f"or point SCIREP_HOME elsewhere; {manifest.name} takes {readable(manifest.bytes)}"
        ) from error
    return folder


@contextmanager
def _lock(folder: Path, say: Progress) -> Iterator[None]:
    """Let one process at a time write into `folder`; a killed one lets go by itself."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder.parent / f".{folder.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"{folder.name}: another process is fetching it; waiting")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _bring(manifest: Manifest, folder: Path, say: Progress, session: Any) -> None:
    before = dict(_states(manifest, folder))  # again: another process may have been at work while we waited
    wanted = [file for file in manifest.files if before[file.path] != "ok"]
    chosen = os.environ.get("SCIREP_DATA_MIRROR")
    mirror = Path(chosen).expanduser() if chosen else None
    if wanted:
        if mirror and not mirror.is_dir():
            raise ConfigError(f"SCIREP_DATA_MIRROR={mirror}: no such folder. Correct it, or unset it to download")
        total = readable(sum(file.bytes for file in wanted))
        say(f"{manifest.name}: {len(wanted)} of {len(manifest.files)} files, {total}. {manifest.licence.notice}")

    @cache
    def connect() -> Any:  # one connection for all files, none where the mirror has them
        import requests

        return session or requests.Session()

    incoming = folder / _INCOMING
    for number, file in enumerate(wanted, start=1):
        repaired = "" if before[file.path] == "missing" else f", was {before[file.path]}: replaced"
        label = f"{manifest.name}/{file.path}"
        request = Wanted(label, manifest.url_of(file), file.bytes, file.sha256)
        staged = obtain(request, incoming, mirror / label if mirror else None, say, connect)
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        staged.replace(folder / file.path)
        say(f"{number}/{len(wanted)} {label} ({readable(file.bytes)}{repaired})")
    for file in manifest.files:
        if file.unpack and faults(folder / file.unpacked, file.sha256):
            unpack(folder / file.path, folder / file.unpacked, scratch=incoming)
            say(f"{manifest.name}: unpacked {file.path}")
    shutil.rmtree(incoming, ignore_errors=True)
