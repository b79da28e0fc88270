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

from scirep_core.kit.store import writing


@contextmanager
def held(path: Path, wait: bool = True, note: str = "") -> Iterator[bool]:
    """Hold the lock of a file, made with its folder and removed at the end; `note` (ASCII) is what the file says meanwhile.

    Yields False, and holds nothing, where somebody else does and `wait` is not asked. Raises CacheError where the disk refuses.
    """
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
