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
    files                path, sha256, bytes, source, unpack

`sha256: null, bytes: null` says that nobody here has ever had the file; it is allowed only under `verified: no`, since
whoever read a file could have hashed it. Nobody's silence is taken for a claim: without `verified` it is `no`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from scirep_core.data.manifests.unpack import SUFFIXES
from scirep_core.kit.errors import ConfigError, DataError, nearest
from scirep_core.kit.settings_files import read_yaml
from scirep_core.kit.validation import matching, validated
from scirep_core.results import PACKAGE, ROOT

_PART = r"[A-Za-z0-9_][A-Za-z0-9_ .+@=,()-]*(?<![ .])"  # one part of a path: no leading dot, so no "..", nothing hidden
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
Verified = Literal["full", "sample", "no"]
Place = Annotated[str, matching(f"{_PART}(/{_PART})*", "a plain relative path: use letters, digits and /")]
Https = Annotated[
    str, matching(r"(?!.*\.\.)https://[A-Za-z0-9.-]+(/[^\s\\?#]*)?", "a plain https address")
]  # no user, no port, no query
Digest = Annotated[str, matching("[0-9a-f]{64}", "64 lower-case hexadecimal digits")]
Commit = Annotated[str, matching("([0-9a-f]{40})?", "40 lower-case hexadecimal digits")]
Revision = Annotated[  # a hub's commit, or the branch its converter writes
    str, matching("([0-9a-f]{40}|refs/convert/parquet)?", "40 lower-case hexadecimal digits or refs/convert/parquet")
]
TaskName = Annotated[str, matching(r"[a-zA-Z0-9_]+(/[a-zA-Z0-9_]+)?", "a task's name")]
Domain = Annotated[str, matching(r"([a-z0-9-]+\.)+[a-z]{2,}", "a domain")]


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("holds a name that is not named once")
    return names


def _number_or_text(value: Any) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"must be int or str, found {value!r:.60}")
    return value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ManifestFile(_Strict):
    """One file: local (and mirror) path, SHA-256 and bytes (None: never seen here), path at the source, archive?"""

    path: Place
    sha256: Digest | None
    bytes: PositiveInt | None
    source: Place = Field(default_factory=lambda given: given.get("path", ""))
    unpack: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.sha256 is None) != (self.bytes is None):
            raise ValueError(f"of {self.path!r} lack sha256 or bytes: give both, or null for both")
        if self.unpack and not self.path.endswith(SUFFIXES):
            raise ValueError(f"hold {self.path!r}, which we cannot unpack. Known archives: {', '.join(SUFFIXES)}")
        return self

    @property
    def unpacked(self) -> str:
        """The folder an archive is unpacked into: its path without the suffix."""
        return self.path[: -max(len(s) for s in SUFFIXES if self.path.endswith(s))]


class Licence(_Strict):
    """The terms of a collection: SPDX name, address of the text, one line for the reader."""

    spdx: str
    url: Https
    notice: str


class Counts(_Strict):
    """Numbers by name, as `source` printed them."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, int] = Field(init=False)
    source: str


class Manifest(_Strict):
    """A collection. `expect` was counted in the files, `counts` were printed by `counts_source`."""

    name: str
    title: str
    paper: str
    homepage: Https
    repository: Https
    commit: Commit = ""
    revision: Revision = ""
    gated: str = ""
    url: Https
    redirects: Annotated[tuple[Domain, ...], Field(strict=False), AfterValidator(_once)] = ()
    mirror: Place = Field(default_factory=lambda given: given.get("name", ""))
    verified: Verified = "no"
    needed_for: Annotated[tuple[TaskName, ...], Field(strict=False), AfterValidator(_once)] = ()
    licence: Licence
    printed: Counts = Field(default=Counts.model_construct(source=""), alias="counts")
    expect: dict[str, Annotated[Any, AfterValidator(_number_or_text)]] = Field(default_factory=dict)
    files: Annotated[tuple[ManifestFile, ...], Field(strict=False, min_length=1)]

    @field_validator("gated")
    @classmethod
    def _says_how(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty: say how to get the files by hand")
        return " ".join(value.split())

    @field_validator("url")
    @classmethod
    def _holds(cls, url: str, others: ValidationInfo) -> str:
        given = others.data
        filled = url.replace("{commit}", "").replace("{revision}", "").replace("{source}", "")
        held = all((f"{{{name}}}" in url) == bool(given.get(name)) for name in ("commit", "revision"))
        if url.endswith("/{source}") == bool(given.get("gated")) or set("{}") & set(filled) or not held:
            raise ValueError("must end in /{source} unless gated, and hold {commit} or {revision} where that is given")
        return url

    @property
    def counts(self) -> dict[str, int]:
        """Published numbers by name."""
        return dict(self.printed.__pydantic_extra__)

    @property
    def counts_source(self) -> str:
        """Who printed them."""
        return self.printed.source

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

    def refusal(place: tuple[Any, ...], reason: str, remedy: str) -> DataError:
        return DataError(
            path, next(lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in lines), reason, remedy
        )

    manifest = validated(Manifest, data, refusal)
    if manifest.name != name:
        raise refusal(("name",), f"name {manifest.name!r} is not the file's name {name!r}", "")
    for i, file in enumerate(manifest.files):
        if file.sha256 is None and manifest.verified != "no":
            reason = f"{file.path!r} has no sha256 and no bytes, but the manifest says that it was read"
            raise refusal(("files", i), reason, "Fill them in, or say `verified: no`")
    _no_clash(manifest.files, path, lines)
    return manifest


def _no_clash(files: tuple[ManifestFile, ...], path: Path, lines: Mapping[tuple[Any, ...], int]) -> None:
    """Refuse two files of one name or one inside the other (letter case ignored)."""
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
