"""Archives opened without trust: every entry is checked before a byte of it is written.

A zip or tar from elsewhere may name files outside the target, plant links, or swell a thousandfold. Here an entry is
written only if it is a plain file or folder, under a plain relative name, named once, and within the limits:

    entries <= limits.entries,   sum of sizes <= min(limits.total_bytes, max(FREE_BYTES, limits.ratio * archive size))

Sizes are counted while writing, not believed. Content goes to a temporary folder, a marker listing every file with its
size and SHA-256 is written last, then the folder is renamed: it is whole under its final name or it is absent.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from scirep_core.kit.errors import CacheError, DataError, ScirepError
from scirep_core.kit.records import read_json
from scirep_core.kit.store import beside, sha256_file, write_json

MARKER = ".unpacked.json"
SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
FREE_BYTES = 1 << 20  # a harmless total: up to here no compression ratio is called a bomb
_BLOCK = 1 << 16
_LARGEST_READ = 1 << 20  # a tar header block larger than this is an attack on memory
_DAMAGE: tuple[type[Exception], ...] = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error)
_DAMAGE += (EOFError, ValueError, OverflowError, NotImplementedError, RecursionError)  # headers within headers recurse
_REMEDY = "Nothing was unpacked; take the archive from its official source"


@dataclass(frozen=True)
class Limits:
    """What an archive may hold: number of entries, bytes in all, bytes per byte of the archive."""

    entries: int = 100_000
    total_bytes: int = 16 << 30
    ratio: int = 200


class _Entry(NamedTuple):
    name: str
    kind: str  # "file", "folder", or in words what it is instead
    size: int
    open: Callable[[], Any]


def unpack(archive: Path, folder: Path, limits: Limits = Limits(), scratch: Path | None = None) -> Path:
    """Unpack `archive` into `folder`, which afterwards holds exactly its files and the marker; return `folder`.

    Does nothing where the folder already holds this archive intact. `scratch` is a folder of the same file system
    for the temporary work (default: beside `folder`). Raises DataError for an archive that is damaged or refused,
    CacheError when the disk cannot take it.
    """
    if not archive.is_file():
        raise DataError(archive, None, "file not found")
    digest = sha256_file(archive)
    if not faults(folder, digest):
        return folder
    try:
        with beside((scratch or folder.parent) / folder.name, folder=True) as work:
            content = work / "content"
            content.mkdir()
            files = _extract(archive, content, limits)
            write_json(content / MARKER, {"archive": digest, "files": files})
            folder.parent.mkdir(parents=True, exist_ok=True)
            if folder.exists():
                folder.rename(work / "old")
            content.rename(folder)
    except OSError as error:
        if faults(folder, digest):  # else another process was faster, and its folder is as good as ours
            reason = f"{folder}: cannot unpack here ({error.strerror or error})"
            raise CacheError(reason, "Free space or fix permissions") from error
    return folder


def faults(folder: Path, archive_sha256: str) -> list[tuple[str, str]]:
    """Return (path, state) for everything in an unpacked folder that is not as the archive had it; [] if intact."""
    try:
        marker = read_json(folder / MARKER)
        listed = {str(name): (int(size), str(digest)) for name, (size, digest) in marker["files"].items()}
        same = marker["archive"] == archive_sha256
    except (ScirepError, OSError, ValueError, TypeError, KeyError, AttributeError):
        return [(MARKER, "missing" if not (folder / MARKER).exists() else "altered")]
    if not same:
        return [(MARKER, "altered")]
    states = ((name, file_state(folder / name, *expected)) for name, expected in listed.items())
    return [(name, state) for name, state in states if state != "ok"]


def file_state(path: Path, size: int, sha256: str) -> str:
    """Return what a file is against its checksum: ok, missing, truncated, altered, unreadable or "not a file"."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return "not a file"
        if found.st_size != size:
            return "truncated" if found.st_size < size else "altered"
        return "ok" if sha256_file(path) == sha256 else "altered"
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError:
        return "unreadable"


def _extract(archive: Path, target: Path, limits: Limits) -> dict[str, tuple[int, str]]:
    packed = archive.stat().st_size
    budget = min(limits.total_bytes, max(FREE_BYTES, limits.ratio * packed))
    files: dict[str, tuple[int, str]] = {}
    used: dict[str, str] = {}
    total = 0
    try:
        with ExitStack() as stack:
            for count, entry in enumerate(_entries(archive, budget, limits, stack), start=1):
                if count > limits.entries:
                    raise DataError(archive, None, f"holds more than {limits.entries} entries", _REMEDY)
                name = entry.name.rstrip("/") if entry.kind == "folder" else entry.name
                name = name.removeprefix("./")
                reason = _objection(entry, name, used)
                if not reason and total + entry.size > budget:
                    reason = f"brings the content over {budget} bytes, from {packed} packed"
                if reason:
                    raise DataError(archive, None, f"entry {entry.name!r:.100} {reason}", _REMEDY)
                if entry.kind == "folder":
                    (target / name).mkdir(parents=True, exist_ok=True)
                else:
                    files[name] = _copy(entry, target / name)
                    total += entry.size
    except _DAMAGE as error:
        raise DataError(archive, None, f"damaged or unknown archive ({error})", _REMEDY) from error
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # the disk's fault; a decompressor gives no number
            raise
        raise DataError(archive, None, f"damaged or unknown archive ({error})", _REMEDY) from error
    return files


def _objection(entry: _Entry, name: str, used: dict[str, str]) -> str:
    """Return why an entry is refused, or ""; enter its name in `used` (case folded: {name: "file" or "folder"})."""
    if entry.kind not in ("file", "folder"):
        return f"is {entry.kind}"
    if entry.kind == "folder" and name in ("", "."):
        return "has an unsafe name" if entry.name.startswith("/") else ""
    parts = name.split("/")
    unsafe = any(part in ("", ".", "..") or len(os.fsencode(part)) > 255 for part in parts)
    if unsafe or re.search(r"[\\:\x00-\x1f\x7f\ud800-\udfff]", name) or name == MARKER:
        return "has an unsafe name"
    for depth in range(1, len(parts)):
        if used.setdefault("/".join(parts[:depth]).casefold(), "folder") != "folder":
            return "lies inside another entry, which is a file"
    before = used.get(name.casefold())
    used[name.casefold()] = entry.kind
    return "occurs twice" if before and not before == entry.kind == "folder" else ""


def _copy(entry: _Entry, path: Path) -> tuple[int, str]:
    """Write one entry's content to a new file, synced; return its (bytes, SHA-256)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with entry.open() as source, path.open("xb") as stream:
        while block := source.read(_BLOCK):
            size += len(block)
            if size > entry.size:
                break
            digest.update(block)
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())
    if size != entry.size:
        raise zipfile.BadZipFile(f"entry {entry.name!r:.100} does not hold the {entry.size} bytes it declares")
    return size, digest.hexdigest()


def _entries(archive: Path, budget: int, limits: Limits, stack: ExitStack) -> Iterator[_Entry]:
    """Yield the entries of a zip or tar file in its order; nothing is written here."""
    name = archive.name.lower()
    if name.endswith(".zip"):
        yield from _zip_entries(stack.enter_context(zipfile.ZipFile(archive)))
        return
    openers: dict[str, Callable[..., Any]] = {"gz": gzip.open, "tgz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
    if not name.endswith(SUFFIXES):
        raise DataError(archive, None, "not an archive by its name", f"Known: {', '.join(SUFFIXES)}")
    raw: IO[bytes] = stack.enter_context(openers.get(name.rsplit(".", 1)[1], open)(archive, "rb"))
    # headers and padding come on top of the content: at most a few blocks of 512 bytes each
    metered = _Metered(raw, budget + 4096 * min(limits.entries, 1 + budget // 512))
    with tarfile.open(fileobj=metered, mode="r:") as tar:  # type: ignore[call-overload]
        yield from _tar_entries(tar)
    if metered.last != bytes(512):  # tarfile takes a cut or garbled header for the end
        raise tarfile.ReadError("ends before its end mark")
    while metered.read(_BLOCK):  # to the end: a compressed stream keeps its checksum there
        pass


def _zip_entries(container: zipfile.ZipFile) -> Iterator[_Entry]:
    for info in container.infolist():
        mode = info.external_attr >> 16
        kind = "folder" if info.is_dir() else "file"
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "a device or pipe"
        elif info.flag_bits & 1:
            kind = "encrypted"
        # orig_filename: `filename` is already cut at a NUL
        yield _Entry(info.orig_filename, kind, info.file_size, lambda info=info: container.open(info))  # type: ignore[misc]


def _tar_entries(tar: tarfile.TarFile) -> Iterator[_Entry]:
    for member in tar:
        if member.issym() or member.islnk():
            kind = "a symbolic link" if member.issym() else "a hard link"
        elif member.issparse() or not (member.isreg() or member.isdir()):
            kind = "sparse" if member.issparse() else "a device or pipe"
        else:
            kind = "folder" if member.isdir() else "file"
        yield _Entry(member.name, kind, member.size, lambda member=member: tar.extractfile(member))  # type: ignore[misc]


class _Metered:
    """A decompressed stream that ends in an error once it has given more than `limit` bytes."""

    def __init__(self, raw: IO[bytes], limit: int) -> None:
        self.raw, self.limit, self.last = raw, limit, b""

    def read(self, size: int) -> bytes:
        if size > _LARGEST_READ:
            raise tarfile.ReadError(f"a header of {size} bytes")
        self.last = self.raw.read(size)
        if self.raw.tell() > self.limit:
            raise tarfile.ReadError(f"unpacks to more than {self.limit} bytes")
        return self.last

    def seek(self, position: int) -> int:
        if position <= self.limit:  # a forward seek decompresses all it passes
            self.raw.seek(position)
            return position
        raise tarfile.ReadError(f"unpacks to more than {self.limit} bytes")

    def tell(self) -> int:
        return self.raw.tell()
