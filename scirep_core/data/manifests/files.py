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

Not pydantic, as for the settings of a training: both are read on machines that have torch and little else, and to tell its
faults with file, line and nearest key took 48 more lines than this.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import quote

from scirep_core.data.manifests.unpack import SUFFIXES
from scirep_core.kit.errors import ConfigError, DataError, nearest
from scirep_core.kit.records import field as checked
from scirep_core.kit.records import read_csv, whole
from scirep_core.kit.settings_files import read_yaml
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
    if name not in names:
        raise ConfigError(f"no data collection {name!r}: {nearest(name, names)}")
    path = manifest_folder() / f"{name}.yaml"
    data, lines = read_yaml(path)
    _only(data, Manifest, path, 1)

    def top(key: str, kind: type = str, default: Any = None) -> Any:
        if default is not None and key not in data:
            return default
        return checked(data, key, kind, path, lines.get((key,), 1))

    def https(value: str, *where: Any) -> str:
        if not _ADDRESS.fullmatch(value) or ".." in value:
            raise DataError(path, lines.get(where, 1), f"{value!r:.100} is not a plain https address", "Use https://")
        return value

    def named(key: str, pattern: re.Pattern[str], what: str) -> tuple[str, ...]:
        rows = top(key, list, [])
        for i, row in enumerate(rows):
            if not isinstance(row, str) or not pattern.fullmatch(row) or row in rows[:i]:
                raise DataError(path, lines[(key, i)], f"{row!r:.60} is not {what}, named once")
        return tuple(rows)

    if top("name") != name:
        raise DataError(path, lines.get(("name",)), f"name {data['name']!r} is not the file's name {name!r}")
    url, commit, revision = https(top("url"), "url"), top("commit", str, ""), top("revision", str, "")
    mirror, gated = top("mirror", str, name), top("gated", str, "")
    raw, authors = top("raw", str, ""), top("authors", str, "")
    if "gated" in data and not gated.strip():
        raise DataError(path, lines[("gated",)], "gated is empty", "Say how to get the files by hand")
    filled = url.replace("{commit}", "").replace("{revision}", "").replace("{source}", "")
    held = ("{commit}" in url) == bool(commit) and ("{revision}" in url) == bool(revision)
    if url.endswith("/{source}") == bool(gated) or set("{}") & set(filled) or not held:
        reason = "url must end in /{source} unless gated, and hold {commit} or {revision} where that is given"
        raise DataError(path, lines[("url",)], reason)
    if commit and not re.fullmatch("[0-9a-f]{40}", commit):
        raise DataError(path, lines[("commit",)], f"commit {commit!r:.60} is not 40 lower-case hexadecimal digits")
    if revision and not _REVISION.fullmatch(revision):
        reason = f"revision {revision!r:.60} is neither 40 lower-case hexadecimal digits nor refs/convert/parquet"
        raise DataError(path, lines[("revision",)], reason)
    verified = top("verified", str, "no")
    if verified not in get_args(Verified):
        raise DataError(path, lines[("verified",)], f"verified {verified!r:.40}", nearest(verified, get_args(Verified)))
    for key, place in (("mirror", mirror), ("raw", raw), ("authors", authors)):
        if not _PATH.fullmatch(place) and key in data:
            raise DataError(path, lines[(key,)], f"{key} {place!r:.100} is not a plain relative path")
    licence = top("licence", dict)
    _only(licence, Licence, path, lines[("licence",)])
    terms = {k: checked(licence, k, str, path, lines.get(("licence", k), lines[("licence",)])) for k in _keys(Licence)}
    https(terms["url"], "licence", "url")
    expect, counts = top("expect", dict, {}), dict(top("counts", dict, {}))
    for key in expect:
        checked(expect, key, (int, str), path, lines.get(("expect", key), lines[("expect",)]))
    source = checked(counts, "source", str, path, lines[("counts",)]) if "counts" in data else ""
    counts.pop("source", None)
    for key in counts:
        checked(counts, key, int, path, lines.get(("counts", key), lines.get(("counts",))))
    rows = top("files", list)
    files = tuple(_file(row, verified == "no", path, lines.get(("files", i), 1)) for i, row in enumerate(rows))
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
        mirror=mirror,
        revision=revision,
        verified=cast(Verified, verified),
        needed_for=named("needed_for", re.compile(r"[a-zA-Z0-9_]+(/[a-zA-Z0-9_]+)?"), "a task's name"),
        counts=counts,
        counts_source=source,
        redirects=named("redirects", _DOMAIN, "a domain"),
        gated=" ".join(gated.split()),
        raw=raw,
        authors=authors,
    )


def raw_manifest(manifest: Manifest) -> Manifest:
    """Return the collection of public files that another one is made from: `raw/<repository>/<path>`, one row of `raw` each.

    The table has the columns repository, commit, path, bytes, sha256. Raises DataError with the line of what is wrong in it,
    ConfigError for a collection that is not made here.
    """
    if not manifest.raw:
        raise ConfigError(f"{manifest.name} is not made of other files: its own are fetched")
    path = manifest_folder() / manifest.raw
    files = tuple(
        _file(
            {
                "path": f"{row['repository']}/{row['path']}",
                "source": f"{row['repository']}/{row['commit']}/{row['path']}",
                "bytes": whole(row["bytes"], "bytes", path, line),
                "sha256": row["sha256"],
            },
            False,
            path,
            line,
        )
        for line, row in read_csv(path, ("repository", "commit", "path", "bytes", "sha256"), "\t")
    )
    _no_clash(files, path, {("files", i): i + 2 for i in range(len(files))})
    return replace(manifest, files=files, url=_RAW, mirror=f"{manifest.mirror}/raw", gated="", raw="", authors="")


def running_numbers(manifest: Manifest) -> list[int]:
    """Return the running numbers of the authors of a collection that is made here, in the order of their names; [] for none."""
    if not manifest.authors:
        return []
    path = manifest_folder() / manifest.authors
    return [whole(row["number"], "number", path, line) for line, row in read_csv(path, ("number",))]


def _keys(kind: type) -> list[str]:
    return [key.name for key in fields(kind) if key.name != "counts_source"]  # that one stands in `counts`


def _only(row: Mapping[Any, Any], kind: type, path: Path, line: int) -> None:
    for key in row:
        if key not in _keys(kind):
            raise DataError(path, line, f"unknown key {key!r:.60}", nearest(str(key), _keys(kind)))


def _file(row: Any, may_be_unseen: bool, path: Path, line: int) -> ManifestFile:
    if not isinstance(row, dict):
        raise DataError(path, line, f"a file must be given by keys and values, found {row!r:.60}")
    _only(row, ManifestFile, path, line)
    local = checked(row, "path", str, path, line)
    source = checked(row, "source", str, path, line) if "source" in row else local
    archive = checked(row, "unpack", bool, path, line) if "unpack" in row else False
    for value in (local, source):
        if not _PATH.fullmatch(value):
            raise DataError(
                path, line, f"path {value!r:.100} is not a plain relative path", "Use letters, digits and /"
            )
    if archive and not local.endswith(SUFFIXES):
        raise DataError(path, line, f"cannot unpack {local!r}", f"Known archives: {', '.join(SUFFIXES)}")
    if "sha256" in row and "bytes" in row and row["sha256"] is None and row["bytes"] is None:
        if not may_be_unseen:
            reason = f"{local!r} has no sha256 and no bytes, but the manifest says that it was read"
            raise DataError(path, line, reason, "Fill them in, or say `verified: no`")
        return ManifestFile(local, None, None, source, archive)
    digest, size = checked(row, "sha256", str, path, line), checked(row, "bytes", int, path, line)
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise DataError(path, line, f"sha256 of {local!r} is not 64 lower-case hexadecimal digits: {digest!r:.80}")
    if size <= 0:
        raise DataError(path, line, f"bytes of {local!r} must be positive, found {size}")
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
