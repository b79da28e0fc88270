"""Who is computing what: locked files, which the death of their holder frees.

A claim is a file locked through the operating system (flock): the kernel drops the lock when the process ends, however
it ends, so there is no claim to be stale, on one machine or on several that share a file system (NFS 4, or another
with locks). The file itself may stay behind; whoever takes the lock next removes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from scirep_core.kit.errors import CacheError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the file system into a CacheError with a remedy."""
    try:
        yield
    except Timeout:
        raise
    except OSError as error:
        raise CacheError(
            f"{path}: cannot write ({error.strerror})", "Free space, fix permissions, or point SCIREP_HOME elsewhere"
        ) from error


def acquire(path: Path, wait: bool = True) -> FileLock:
    """Lock a file, made with its folder where it is not there. Raises filelock.Timeout where it is held, unless `wait`."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=-1 if wait else 0, poll_interval=0.01)
        lock.acquire()
    return lock


def release(lock: FileLock) -> None:
    """Remove a lock's file, then let go: whoever waits for the removed file notices and makes a new one."""
    with suppress(OSError):
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def bury(folder: Path) -> list[Path]:
    """Remove the claims (`*.claim`) of dead processes; return those that the living hold."""
    alive = []
    for path in folder.glob("*.claim"):
        try:
            release(acquire(path, wait=False))
        except Timeout:
            alive.append(path)
    return alive
