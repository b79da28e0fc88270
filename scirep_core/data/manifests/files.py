"""What a manifest may say: `data_manifests/<name>.yaml` read, every key checked, with the line of each fault.

    name title paper homepage repository url     what it is and where it comes from; `url` holds {source} at its end
    commit, revision     what {commit} and {revision} in `url` stand for: a repository's, a dataset hub's
    verified             full, sample or no: have the real files been read here, all of them, some, or none?
    licence              spdx, url, notice
    counts               published counts, name -> number, and the `source` that printed them
    expect               counts taken from the files themselves
    needed_for           tasks of the inventory that read these files (a test compares; this layer knows no tasks)
    mirror               folder of a mirror with the files; the name where not given
    redirects            domains the source may send us on to (dataset hubs keep their files on other hosts)
    gated                how to get by hand what no plain https request gives: then nothing is downloaded, and `url`
                         is the page to start from
    raw                  table (gzipped, beside the manifest) of the public files that these are made from, see `raw_manifest`
    authors              table (likewise) of the running numbers that stand for authors' names in the files
    files                path, sha256, bytes, source, unpack

`sha256: null, bytes: null` says that nobody here has ever had the file; it is allowed only under `verified: no`, since
whoever read a file could have hashed it. Nobody's silence is taken for a claim: without `verified` it is `no`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import quote

from scirep_core.data.manifests.unpack import SUFFIXES
from scirep_core.kit.errors import ConfigError, DataError, check_name, nearest
from scirep_core.kit.records import field as checked
from scirep_core.kit.records import read_csv, read_yaml, whole
from scirep_core.results import PACKAGE, ROOT

_PART = r"[A-Za-z0-9_][A-Za-z0-9_ .+@=,()-]*(?<![ .])"  # one part of a path: no leading dot, so no "..", nothing hidden
_PATH = re.compile(f"{_PART}(/{_PART})*")
_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(/[^\s\\?#]*)?")  # no user, no port, no query
_DOMAIN = re.compile(r"([a-z0-9-]+\.)+[a-z]{2,}")
_REVISION = re.compile(r"[0-9a-f]{40}|refs/convert/parquet")  # a hub's commit, or the branch its converter writes
_RAW = "https://raw.githubusercontent.com/{source}"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
Verified = Literal["full", "sample", "no"]


@dataclass(frozen=True)
class ManifestFile:
    """One file: local (and mirror) path, SHA-256 and bytes (None: never seen here), path at the source, archive?"""

    path: str
    sha256: str | None
    bytes: int | None
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
    """A collection. `expect` was counted in the files, `counts` were printed by `counts_source`."""

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
    mirror: str = ""
    revision: str = ""
    verified: Verified = "no"
    needed_for: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    counts_source: str = ""
    redirects: tuple[str, ...] = ()
    gated: str = ""
    raw: str = ""
    authors: str = ""

    @property
    def bytes(self) -> int:
        """Size of all files together whose size is known."""
        return sum(file.bytes or 0 for file in self.files)

    @property
    def unseen(self) -> int:
        """How many files nobody here has ever had."""
        return sum(file.sha256 is None for file in self.files)

    def url_of(self, file: ManifestFile) -> str:
        """Return the https address of one file."""
        known = {"{commit}": self.commit, "{revision}": quote(self.revision, safe=""), "{source}": quote(file.source)}
        url = self.url
        for name, value in known.items():
            url = url.replace(name, value)
        return url


def manifest_folder(root: Path = ROOT) -> Path:
    """Folder of the manifests: `SCIREP_MANIFESTS`, else data_manifests/ of the checkout; a wheel has it in the package."""
    chosen = os.environ.get("SCIREP_MANIFESTS")
    packed = PACKAGE / "data_manifests"
    folder = Path(chosen).expanduser() if chosen else packed if packed.is_dir() else root / "data_manifests"
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder of manifests. Set SCIREP_MANIFESTS to one")
    return folder


def list_manifests() -> list[str]:
    """Return the names of all collections, sorted."""
    return sorted(path.stem for path in manifest_folder().glob("*.yaml") if NAME.fullmatch(path.stem))


def load_manifest(name: str) -> Manifest:
    """Read and check data_manifests/<name>.yaml.

    Raises ConfigError for an unknown name, DataError with file:line for whatever is wrong inside.
    """
    names = list_manifests()
    check_name("data collection", name, names)
    path = manifest_folder() / f"{name}.yaml"
    data, lines = read_yaml(path)
    top = _Part(data, path, lines, Manifest)
    told: dict[str, Any] = {key: top.value(key) for key in ("name", "title", "paper")}
    told |= {key: top.https(key) for key in ("url", "homepage", "repository")}
    told |= {key: top.value(key, str, "") for key in ("commit", "revision", "gated", "raw", "authors")}
    told["mirror"] = top.value("mirror", str, name)
    if told["name"] != name:
        raise top.wrong("name", f"name {told['name']!r} is not the file's name {name!r}")
    _check_address(top, told["url"], told["commit"], told["revision"], told["gated"])
    for key in ("mirror", "raw", "authors"):
        if key in data and not _PATH.fullmatch(told[key]):
            raise top.wrong(key, f"{key} {told[key]!r:.100} is not a plain relative path")
    verified = top.value("verified", str, "no")
    if verified not in get_args(Verified):
        raise top.wrong("verified", f"verified {verified!r:.40}", nearest(verified, get_args(Verified)))
    licence, expect, counts = top.part("licence", Licence), top.part("expect"), top.part("counts")
    if "counts" in data:
        told["counts_source"] = counts.value("source")
    rows = enumerate(top.value("files", list))
    files = tuple(_file(row, verified == "no", path, lines.get(("files", i), 1)) for i, row in rows)
    _no_clash(files, path, lines)
    return Manifest(
        **(told | {"gated": " ".join(told["gated"].split())}), files=files, verified=cast(Verified, verified),
        licence=Licence(licence.value("spdx"), licence.https("url"), licence.value("notice")),
        expect={key: expect.value(key, (int, str)) for key in expect.data},
        counts={key: counts.value(key, int) for key in counts.data if key != "source"},
        needed_for=top.named("needed_for", re.compile(r"[a-zA-Z0-9_]+(/[a-zA-Z0-9_]+)?"), "a task's name"),
        redirects=top.named("redirects", _DOMAIN, "a domain"),
    )  # fmt: skip


class _Part:
    """Keys and values of a manifest, or of a part of it, and the lines they stand in; with a `kind`, its fields alone."""

    def __init__(self, data: Any, path: Path, lines: Mapping[Any, int], kind: type | None = None, *place: Any) -> None:
        self.data, self.path, self.lines, self.place = data, path, lines, place
        known = [key.name for key in fields(kind) if key.name != "counts_source"] if kind else data
        for key in data:
            if key not in known:
                raise DataError(path, self.line(), f"unknown key {key!r:.60}", nearest(str(key), known))

    def line(self, *keys: Any) -> int:
        """Return the line of a key, of the part where it is absent."""
        return self.lines.get((*self.place, *keys), self.lines.get(self.place, 1))

    def wrong(self, key: str, reason: str, remedy: str = "") -> DataError:
        """Return the error that says so of a key."""
        return DataError(self.path, self.line(key), reason, remedy)

    def value(self, key: str, kind: type | tuple[type, ...] = str, default: Any = None) -> Any:
        """Return what stands under a key, checked to be of a kind; without a default it must be there."""
        if default is not None and key not in self.data:
            return default
        return checked(self.data, key, kind, self.path, self.line(key))

    def https(self, key: str) -> str:
        """Return an address."""
        address: str = self.value(key)
        if not _ADDRESS.fullmatch(address) or ".." in address:
            raise self.wrong(key, f"{address!r:.100} is not a plain https address", "Use https://")
        return address

    def named(self, key: str, pattern: re.Pattern[str], what: str) -> tuple[str, ...]:
        """Return a list of names."""
        rows = self.value(key, list, [])
        for i, row in enumerate(rows):
            if not isinstance(row, str) or not pattern.fullmatch(row) or row in rows[:i]:
                raise DataError(self.path, self.line(key, i), f"{row!r:.60} is not {what}, named once")
        return tuple(rows)

    def part(self, key: str, kind: type | None = None) -> _Part:
        """Return what stands under a key as a part of its own; without a kind it may be absent."""
        return _Part(self.value(key, dict, None if kind else {}), self.path, self.lines, kind, *self.place, key)


def _check_address(top: _Part, url: str, commit: str, revision: str, gated: str) -> None:
    """Refuse an address without what a fetch fills in, and what does not pin a version."""
    if "gated" in top.data and not gated.strip():
        raise top.wrong("gated", "gated is empty", "Say how to get the files by hand")
    filled = url.replace("{commit}", "").replace("{revision}", "").replace("{source}", "")
    held = ("{commit}" in url) == bool(commit) and ("{revision}" in url) == bool(revision)
    if url.endswith("/{source}") == bool(gated) or set("{}") & set(filled) or not held:
        reason = "url must end in /{source} unless gated, and hold {commit} or {revision} where that is given"
        raise top.wrong("url", reason)
    if commit and not re.fullmatch("[0-9a-f]{40}", commit):
        raise top.wrong("commit", f"commit {commit!r:.60} is not 40 lower-case hexadecimal digits")
    if revision and not _REVISION.fullmatch(revision):
        reason = f"revision {revision!r:.60} is neither 40 lower-case hexadecimal digits nor refs/convert/parquet"
        raise top.wrong("revision", reason)


def raw_manifest(manifest: Manifest) -> Manifest:
    """Return the collection of public files that another one is made from: `raw/<repository>/<path>`, one row of `raw` each.

    The table has the columns repository, commit, path, bytes, sha256. Raises DataError with the line of what is wrong in it,
    ConfigError for a collection that is not made here.
    """
    if not manifest.raw:
        raise ConfigError(f"{manifest.name} is not made of other files: its own are fetched")
    path = manifest_folder() / manifest.raw
    files = []
    for line, row in read_csv(path, ("repository", "commit", "path", "bytes", "sha256"), "\t"):
        places = (f"{row['repository']}/{row['path']}", f"{row['repository']}/{row['commit']}/{row['path']}")
        told = dict(zip(("path", "source"), places, strict=True)) | {"sha256": row["sha256"]}
        files.append(_file(told | {"bytes": whole(row["bytes"], "bytes", path, line)}, False, path, line))
    _no_clash(files, path, {("files", i): i + 2 for i in range(len(files))})
    made = replace(manifest, files=tuple(files), url=_RAW, mirror=f"{manifest.mirror}/raw")
    return replace(made, gated="", raw="", authors="")


def running_numbers(manifest: Manifest) -> list[int]:
    """Return the running numbers of the authors of a collection that is made here, in the order of their names; [] for none."""
    if not manifest.authors:
        return []
    path = manifest_folder() / manifest.authors
    return [whole(row["number"], "number", path, line) for line, row in read_csv(path, ("number",))]


def _file(row: Any, may_be_unseen: bool, path: Path, line: int) -> ManifestFile:
    if not isinstance(row, dict):
        raise DataError(path, line, f"a file must be given by keys and values, found {row!r:.60}")
    told = _Part(row, path, {(): line}, ManifestFile)
    local = told.value("path")
    source, archive = told.value("source", str, local), told.value("unpack", bool, False)
    for value in (local, source):
        if not _PATH.fullmatch(value):
            raise told.wrong("path", f"path {value!r:.100} is not a plain relative path", "Use letters, digits and /")
    if archive and not local.endswith(SUFFIXES):
        raise told.wrong("unpack", f"cannot unpack {local!r}", f"Known archives: {', '.join(SUFFIXES)}")
    if row.get("sha256", "") is None and row.get("bytes", "") is None:
        if not may_be_unseen:
            reason = f"{local!r} has no sha256 and no bytes, but the manifest says that it was read"
            raise told.wrong("sha256", reason, "Fill them in, or say `verified: no`")
        return ManifestFile(local, None, None, source, archive)
    digest, size = told.value("sha256"), told.value("bytes", int)
    if not re.fullmatch("[0-9a-f]{64}", digest):
        reason = f"sha256 of {local!r} is not 64 lower-case hexadecimal digits: {digest!r:.80}"
        raise told.wrong("sha256", reason)
    if size <= 0:
        raise told.wrong("bytes", f"bytes of {local!r} must be positive, found {size}")
    return ManifestFile(local, digest, size, source, archive)


def _no_clash(files: Sequence[ManifestFile], path: Path, lines: Mapping[tuple[Any, ...], int]) -> None:
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
