"""Files nobody here has ever had: fetched once, their hash written down, checked on every later use.

A manifest cannot state the SHA-256 of a file that could not be downloaded when it was written. Such a file is trusted
on first sight, and only then: what came is recorded in `<collection>/.seen.json` before it gets its name, and from
then on it must never change. That finds damage and silent replacement, not a source that was wrong from the start.

    {path: {"sha256": ..., "bytes": ..., "from": address or mirror file}}

Unlike `download`, which knows what it waits for, this can only check the length the server announces. A broken line is
resumed within a run, where the server vouches (If-Range with its ETag) that it is the same file; a new run starts over.
Redirects stay on https and within the domains the manifest names, and a web page in place of a file is refused.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scirep_core.data.manifests import download
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import field, read_object
from scirep_core.kit.store import sha256_bytes, sha256_file, write_json

SEEN = ".seen.json"
_REMEDY = "Connect to the network and run again, or set SCIREP_DATA_MIRROR=DIR with the file at DIR"
_CHANGED = (
    "The source was changed since, or one of the two is damaged: compare, and delete the entry to take the new one"
)


class Unseen(NamedTuple):
    """A file to get: label (also its place in a mirror), address, domains the source may redirect to."""

    label: str
    url: str
    redirects: tuple[str, ...] = ()


class Sight(NamedTuple):
    """What a file was when it was first seen."""

    sha256: str
    bytes: int
    source: str


def read_seen(folder: Path) -> dict[str, Sight]:
    """Return what was recorded in a collection's folder, {} where nothing was. Raises DataError for a damaged record."""
    path = folder / SEEN
    if not path.exists():
        return {}
    seen = {}
    for name, row in read_object(path).items():
        if not isinstance(row, dict):
            raise DataError(path, None, f"entry {name!r:.80} is no object", "Delete the file; get the collection again")
        values = (field(row, key, kind, path, None) for key, kind in (("sha256", str), ("bytes", int), ("from", str)))
        seen[name] = Sight(*values)
    return seen


def remember(folder: Path, name: str, path: Path, source: str) -> None:
    """Record the content of `path` as what <folder>/<name> is from now on.

    Raises DataError where another content was recorded before: a file that changes has no claim to be the published one.
    """
    seen = read_seen(folder)
    digest, size = sha256_file(path), path.stat().st_size
    if name in seen and seen[name].sha256 != digest:
        reason = f"{name} from {source} has sha256 {digest}, but had {seen[name].sha256} when it was first seen"
        raise DataError(folder / SEEN, None, reason, _CHANGED)
    seen[name] = Sight(digest, size, source)
    write_json(
        folder / SEEN, {key: {"sha256": s.sha256, "bytes": s.bytes, "from": s.source} for key, s in seen.items()}
    )


def obtain_unseen(
    file: Unseen, incoming: Path, copy: Path | None, say: Callable[[str], None], connect: Callable[[], Any]
) -> Path:
    """Return a whole file in `incoming`, from the mirror's `copy` where that exists, else over https.

    Raises DataError for an unreachable source or what cannot be a whole file, OSError when the disk cannot take it.
    """
    incoming.mkdir(parents=True, exist_ok=True)
    part = incoming / f"{sha256_bytes(file.label.encode())}.unseen"
    part.unlink(missing_ok=True)
    if copy is None or not copy.is_file():
        _download(file, part, say, connect())
        return part
    try:
        source = copy.open("rb")
    except OSError as error:
        raise DataError(copy, None, f"the mirror's file cannot be read ({error.strerror})") from error
    with source, part.open("wb") as stream:
        shutil.copyfileobj(source, stream)
        stream.flush()
        os.fsync(stream.fileno())
    return part


def _download(file: Unseen, part: Path, say: Callable[[str], None], session: Any) -> None:
    import requests

    reason, etag = "", ""
    for attempt in range(download.TRIES):
        if attempt:
            say(f"{file.label}: {reason}; trying again")
            time.sleep(download.PAUSE * 2 ** (attempt - 1))
        try:
            reason, etag = _attempt(file, part, say, session, etag)
        except (requests.RequestException, ConnectionError, TimeoutError) as error:
            reason = f"the connection to {urlsplit(file.url).hostname} broke ({type(error).__name__})"
        if not reason:
            return
    raise _failure(file, reason)


def _attempt(file: Unseen, part: Path, say: Callable[[str], None], session: Any, etag: str) -> tuple[str, str]:
    """Make one request; return what went wrong, or "", and the ETag that lets the next one go on from here."""
    have = part.stat().st_size if etag and part.exists() else 0
    asked = {"Range": f"bytes={have}-", "If-Range": etag} if have else {}
    with download.ask(file.url, asked, session, partial(_failure, file), file.redirects) as answer:
        status, headers = answer.status_code, answer.headers
        if status not in (200, 206):
            if status not in download._TEMPORARY:
                raise _failure(file, f"the server answered HTTP {status}")
            return f"the server answered HTTP {status}", etag
        size = _size(file, headers, have if status == 206 else 0)
        if size < 0:
            return "the server cannot resume", ""
        have = have if status == 206 else 0
        tag = headers.get("ETag", "")
        etag = "" if tag.startswith("W/") else tag  # a weak one does not promise equal bytes
        return _store(file, part, say, answer, have, size), etag


def _size(file: Unseen, headers: Mapping[str, str], have: int) -> int:
    """Return the announced length of the whole file, -1 where the rest on offer does not begin at `have`."""
    if headers.get("Content-Encoding", "identity") != "identity":
        raise _failure(file, "the server sends the file encoded, so that its length cannot be checked")
    if headers.get("Content-Type", "").startswith("text/html") and not file.url.endswith((".html", ".htm")):
        raise _failure(file, "the server sends a web page in place of the file; it may want a login")
    if have:
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", headers.get("Content-Range", ""))
        if found is None or int(found[1]) != have or int(found[2]) + 1 != int(found[3]):
            return -1
        return int(found[3])
    length = headers.get("Content-Length", "")
    if not length.isdecimal() or int(length) == 0:
        raise _failure(file, "the server does not say how long the file is, or that it is empty")
    return int(length)


def _store(file: Unseen, part: Path, say: Callable[[str], None], answer: Any, have: int, size: int) -> str:
    import requests

    reason = ""
    with part.open("ab" if have else "wb") as stream:
        try:
            for block in answer.iter_content(download._BLOCK):
                if have + len(block) > size:
                    raise _failure(file, f"the server sends more than the {size} bytes it announced")
                stream.write(block)
                if have // download._REPORT < (have := have + len(block)) // download._REPORT:
                    say(f"{file.label}: {download.readable(have)} of {download.readable(size)}")
        except requests.RequestException as error:
            reason = f"the connection broke ({type(error).__name__})"
        stream.flush()
        os.fsync(stream.fileno())
    return reason or ("" if have == size else f"the server ended after {have} of {size} bytes")


def _failure(file: Unseen, reason: str) -> DataError:
    return DataError(file.url, None, f"cannot get {file.label}: {reason}", f"{_REMEDY}/{file.label}")
