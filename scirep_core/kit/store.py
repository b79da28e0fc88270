"""Files that are either whole or absent.

Everything the project writes goes through here: text and bytes by write-to-temporary, fsync, rename; arrays as
shards whose first line is a JSON header with shape, dtype and the SHA-256 of the payload, checked before use.
A reader can therefore trust any file under its final name, whatever killed the writer.

Who is computing what is said by claims: files locked through the operating system (flock). The kernel drops the lock when the
process ends, however it ends, so there is no claim to be stale, on one machine or on several that share a file system (NFS 4, or
another with locks). The file itself may stay behind; whoever takes the lock next removes it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import CacheError

try:
    import fcntl
except ImportError:  # Windows has none: there what a killed writer left stays
    fcntl = None  # type: ignore[assignment]

MAGIC = "scirep-shard-1"


def home() -> Path:
    """Folder for downloaded data and computed vectors: `SCIREP_HOME`, else the user's cache folder."""
    chosen = os.environ.get("SCIREP_HOME")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs  # a machine that only computes may lack it, and says where

    return Path(platformdirs.user_cache_dir("scirep"))


def sha256_bytes(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_array(array: NDArray[Any]) -> str:
    """Return the hexadecimal SHA-256 of an array's bytes, in C order; of a contiguous one, mapped say, nothing is copied."""
    return hashlib.sha256(np.ascontiguousarray(array).view(np.uint8).data).hexdigest()


def sha256_file(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


WHOLE = 64 << 20
"""Bytes up to which `sampled_hash` reads a file whole."""
_END = 1 << 20


def sampled_hash(path: Path) -> str:
    """Return the SHA-256 of a file; over 64 MB of its size, first and last MB, as reading gigabytes for a name is not worth it.

    A change in the middle of such a file that keeps its size is not noticed.
    """
    size = path.stat().st_size
    if size <= WHOLE:
        return sha256_file(path)
    with path.open("rb") as stream:
        head = stream.read(_END)
        stream.seek(-_END, os.SEEK_END)
        return sha256_bytes(f"{size}\n".encode() + head + stream.read())


def stable_hash(value: Any) -> str:
    """Return the SHA-256 of a JSON-able value, independent of key order: the content key of caches."""
    return sha256_bytes(json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":")).encode())


# ---- what is being written -------------------------------------------------------------------------------------------

_LEFT = re.compile(r"\.(.+)\.[0-9a-z_]{8}\.(part|old)")
"""Names beside a place: of what is to become it, and of the folder that was there."""


def settle(folder: Path, name: str = "") -> None:
    """Finish or clear what killed writers left in a folder, of the place of a name or of all; what the living write stays.

    A folder that had been moved away, and nothing put in its place, comes back; everything else is half written, and goes.
    Raises CacheError where the disk refuses.
    """
    with writing(folder):
        for left in list(folder.iterdir()) if folder.is_dir() else ():
            known = _LEFT.fullmatch(left.name)
            if known is None or (name and known[1] != name) or (handle := _lock(left, wait=False)) is None:
                continue
            try:
                if known[2] == "old" and not left.with_name(known[1]).exists():
                    left.replace(left.with_name(known[1]))
                else:
                    _remove(left)
            finally:
                os.close(handle)


@contextmanager
def beside(path: Path, folder: bool = False) -> Iterator[Path]:
    """A new file, or folder, `.<name>.<random>.part` beside a place, to be filled and renamed to it; else it is removed.

    It is locked while its writer lives; who is killed leaves it behind, and whoever writes the same place next removes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    settle(path.parent, path.name)
    while True:
        part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
        if folder:
            part.mkdir()
        else:
            part.open("xb").close()
        handle = _lock(part, wait=True)
        if part.exists():
            break
        if handle is not None:  # between its making and its locking another writer took it for a dead one's
            os.close(handle)
    try:
        yield part
    finally:
        _remove(part)
        if handle is not None:
            os.close(handle)


def _lock(path: Path, wait: bool) -> int | None:
    """Return a handle that holds a file or folder; None where somebody else does, or nothing can be held here."""
    if fcntl is None:
        return None
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(handle)
        return None
    return handle


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the file system into a CacheError with a remedy."""
    try:
        yield
    except OSError as error:
        remedy = "Free space, fix permissions, or point SCIREP_HOME elsewhere"
        raise CacheError(f"{path}: cannot write ({error.strerror})", remedy) from error


@contextmanager
def atomic(path: Path, sync: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary binary file beside `path`; on success it is synced and renamed to `path`, else removed.

    `sync=False` leaves the syncing to the caller, who writes many files and a marker behind them (`sync_tree`).

    What is there and no regular file (a pipe, /dev/stdout, even where that leads to a file) is written to, never replaced; a
    folder is refused.
    """
    if path.is_dir():
        raise CacheError(f"{path}: is a folder. Give the name of a file")
    if path.exists() and (not path.is_file() or _is_stream(path.absolute())):
        with path.open("wb") as device:
            yield device
        return
    with writing(path), beside(path) as part:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
        part.replace(path)
        if sync:
            _sync(path.parent)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A new folder beside `path`; on success it is renamed to `path`, and a folder that was there goes; else it is removed."""
    with writing(path), beside(path.absolute(), folder=True) as part:
        yield part
        old = part.with_suffix(".old")
        handle = _lock(path, wait=True) if path.exists() else None
        try:
            if path.exists():
                path.replace(old)
            part.replace(path)
            _remove(old)
        finally:
            if handle is not None:
                os.close(handle)
        _sync(path.absolute().parent)


def _is_stream(path: Path) -> bool:
    return path.parent in (Path("/dev"), Path("/dev/fd")) or path.parts[1] == "proc"  # /dev/shm holds files like any


def sync_tree(folder: Path, files: Iterable[Path] | None = None) -> None:
    """Bring the files of a folder to the disk: once, before a marker that vouches for them.

    Args:
        files: those to bring, where other processes write in the folder too; all of them unless given.
    """
    if files is None:
        paths = set(folder.rglob("*"))
    else:
        paths = {path for file in files for path in (file, *file.parents) if folder in path.parents}
    for path in (*paths, folder):
        if not path.is_symlink():
            _sync(path)


def _sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk; Windows opens no folder, and some file systems sync none."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError) if path.is_dir() else nullcontext():
            os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically."""
    with atomic(path) as stream:
        stream.write(data)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 to `path` atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically: sorted keys, indented, NaN refused, so that equal values give equal bytes."""
    write_text(path, json.dumps(value, sort_keys=True, indent=1, allow_nan=False) + "\n")


def write_shard(path: Path, array: np.ndarray, meta: dict[str, Any]) -> None:
    """Write one array with its description as a checksummed shard."""
    payload = np.ascontiguousarray(array).tobytes()
    header = {
        "magic": MAGIC,
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "sha256": sha256_bytes(payload),
        "meta": meta,
    }
    # the header vouches for itself too: a flipped bit in an id is as bad as one in a number
    line = json.dumps(header, sort_keys=True, allow_nan=False)
    with atomic(path) as stream:
        stream.write(f"{sha256_bytes(line.encode())} {line}\n".encode())
        stream.write(payload)


class Header(NamedTuple):
    """What stands before a shard's payload: its shape, number type, SHA-256, and the description it was written with."""

    shape: tuple[int, ...]
    dtype: str
    sha256: str
    meta: dict[str, Any]


REMEDY = "Delete the file; it is computed again on the next run"


def _header(path: Path, stream: IO[bytes]) -> Header:
    first = stream.readline()
    digest, _, line = first.rstrip(b"\n").partition(b" ")
    if digest.decode("ascii", "replace") != sha256_bytes(line) or not first.endswith(b"\n"):
        raise CacheError(f"{path}: damaged header", REMEDY)
    row = json.loads(line)
    if row.get("magic") != MAGIC:
        raise CacheError(f"{path}: no shard of this kind ({row.get('magic')!r:.40})", REMEDY)
    header = Header(tuple(row["shape"]), row["dtype"], row["sha256"], row["meta"])
    size = math.prod(header.shape) * np.dtype(header.dtype).itemsize
    if os.fstat(stream.fileno()).st_size != len(first) + size:
        raise CacheError(f"{path}: content does not match its checksum: its length is wrong", REMEDY)
    return header


def read_header(path: Path) -> Header:
    """Return the header of a shard, checked, without its payload. Raises CacheError for a damaged one or a wrong length."""
    with path.open("rb") as stream:
        return _header(path, stream)


def read_shard(path: Path) -> tuple[np.ndarray, dict[str, Any]]:
    """Return (array, meta) of a shard. Raises CacheError if a single bit differs from what was written."""
    with path.open("rb") as stream:
        header = _header(path, stream)
        payload = stream.read()
    if sha256_bytes(payload) != header.sha256:
        raise CacheError(f"{path}: content does not match its checksum", REMEDY)
    return np.frombuffer(payload, dtype=header.dtype).reshape(header.shape), header.meta


@contextmanager
def held(path: Path, wait: bool = True, note: str = "") -> Iterator[bool]:
    """Hold the lock of a file, made with its folder and removed at the end; `note` (ASCII) is what the file says meanwhile.

    Yields False, and holds nothing, where somebody else does and `wait` is not asked. Raises CacheError where the disk refuses.
    """
    from filelock import FileLock, Timeout  # files are read and written without it

    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=-1 if wait else 0, poll_interval=0.01)
        with suppress(Timeout):
            lock.acquire()
    if not lock.is_locked:
        yield False
        return
    try:
        if note:
            with writing(path):
                path.write_text(note, encoding="ascii")
        yield True
    finally:
        with suppress(OSError):  # before letting go: whoever waits for the removed file notices and makes a new one
            path.unlink(missing_ok=True)
        lock.release()


def living(folder: Path) -> list[Path]:
    """Return the claims (`*.claim`) in a folder that living processes hold; those of dead ones are removed."""
    alive = []
    for path in folder.glob("*.claim"):
        with held(path, wait=False) as mine:
            alive += [] if mine else [path]
    return alive
