"""One file, checked, from a mirror's copy or over https: the only place of the library that speaks to the network.

The bytes gather in `<sha256>.part`, which a killed or broken run leaves behind and the next one resumes:

    have = size(part)  ->  GET with "Range: bytes=have-"  ->  206: append | 200: start over  ->  SHA-256  ->  rename

Only https, only the host that was asked (redirects: also hosts the manifest names), never more bytes than expected; the
checksum is compared again as the bytes lie on the disk, before the file gets its name. (pooch neither resumes nor bounds.)

Of a file that nobody here has ever had only the length can be checked that the server announces. It is resumed within a run,
where the server vouches (If-Range with its ETag) that it is the same file; a new run starts over. A web page in place of a
file is refused.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from scirep_core import __version__
from scirep_core.kit.errors import DataError
from scirep_core.kit.store import sha256_bytes, sha256_file

Progress = Callable[[str], None]
"""Receives one line of text per event; the command line prints it to stderr."""


def silent(event: str) -> None:
    """Receive a line of progress where nobody listens."""


TRIES, PAUSE = 3, 0.5  # attempts per file and run; seconds before the second, doubled before the third
TIMEOUT = (10, 60)  # seconds to connect, seconds between two blocks
REDIRECTS = 5
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)  # HTTP answers worth another try
_BLOCK = 1 << 14  # a line that breaks costs at most one block
_REPORT = 1 << 26  # a line of progress every 64 MiB


class Wanted(NamedTuple):
    """A file to get.

    Attributes:
        label: <collection>/<path>, also its place in a mirror.
        url: its address.
        size, sha256: None of a file that nobody here has ever had.
        redirects: domains that the source may send us on to.
    """

    label: str
    url: str
    size: int | None = None
    sha256: str | None = None
    redirects: tuple[str, ...] = ()


def readable(size: int) -> str:
    """Return a number of bytes for reading.

    >>> [readable(size) for size in (999, 1000, 9829829, 5 * 10**9)]
    ['999 bytes', '1.0 kB', '9.8 MB', '5.0 GB']
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def obtain(file: Wanted, incoming: Path, copy: Path | None, say: Progress, connect: Callable[[], Any]) -> Path:
    """Return a file of `incoming`, whole and right, from the mirror's `copy` where that exists, else over https.

    `connect` gives the `requests.Session` and is called only when the network is needed. Raises DataError for wrong
    content, what cannot be a whole file, or an unreachable source, OSError when the disk cannot take it.
    """
    incoming.mkdir(parents=True, exist_ok=True)
    name = file.sha256 or sha256_bytes(file.label.encode())
    part, done = incoming / f"{name}.part", incoming / name
    if file.sha256 is None:
        part.unlink(missing_ok=True)  # nothing vouches that what a killed run left is of the same file
    elif done.is_file() and sha256_file(done) == file.sha256:
        return done
    if copy is not None and copy.is_file():
        _from_mirror(file, part, copy)
    else:
        _from_network(file, part, say, connect())
    if file.sha256 is not None and sha256_file(part) != file.sha256:
        raise DataError(done, None, f"{file.label} changed while it was stored", "Run again")
    part.replace(done)
    return done


def _from_mirror(file: Wanted, part: Path, copy: Path) -> None:
    remedy = "Replace it by the official file, or unset SCIREP_DATA_MIRROR to download"
    try:
        found = sha256_file(copy)
    except OSError as error:
        raise DataError(copy, None, f"the mirror's file cannot be read ({error.strerror})", remedy) from error
    if file.sha256 not in (None, found):
        raise DataError(copy, None, f"the mirror's file is altered: sha256 {found}, expected {file.sha256}", remedy)
    with copy.open("rb") as source, part.open("wb") as stream:
        shutil.copyfileobj(source, stream)
        _sync(stream)


def _from_network(file: Wanted, part: Path, say: Progress, session: Any) -> None:
    """Complete `part` in at most TRIES attempts; on return its checksum is right, or its length where no checksum is known."""
    import requests

    host, size, reason, etag = urlsplit(file.url).hostname, file.size, "", ""
    for attempt in range(TRIES):
        if attempt:
            say(f"{file.label}: {reason}; trying again")
            time.sleep(PAUSE * 2 ** (attempt - 1))
        if size is None or _have(part) > size or (file.sha256 is None and not etag):
            part.unlink(missing_ok=True)
        resumed = _have(part) > 0
        try:
            if _have(part) != size:
                with _ask(file, _have(part), etag, session) as answer:
                    reason = _refused(file, part, size, answer)
                    if not reason and file.sha256 is None and not _have(part):
                        size, etag = _announced(file, answer.headers)
                    reason = reason or _store(file, part, size or 0, answer, say)
        except (requests.ConnectTimeout, requests.ReadTimeout):
            reason = f"no answer in time from {host}"
        except requests.ConnectionError:
            reason = f"no connection to {host}"
        except (requests.RequestException, ConnectionError, TimeoutError) as error:
            reason = f"the connection broke ({type(error).__name__})"
        if _have(part) == size:
            found = sha256_file(part)
            if file.sha256 in (None, found):
                return
            part.unlink()
            reason = f"wrong content: sha256 {found}, expected {file.sha256}"
            if not resumed:  # else the part was bad, or the source changed in between: once more from the start
                break
    raise _failure(file, reason)


def _refused(file: Wanted, part: Path, size: int | None, answer: Any) -> str:
    """Return what is wrong with an answer's head, or ""; a part that it does not go on from is removed."""
    status, headers, have = answer.status_code, answer.headers, _have(part)
    if have and status in (206, 416):
        rest = f"bytes {have}-{(size or 0) - 1}/{size}"
        if status == 206 and headers.get("Content-Range") == rest and not headers.get("Content-Encoding"):
            return ""
        part.unlink()
        return "the server cannot resume"
    if status == 200:
        part.unlink(missing_ok=True)  # it ignores Range and sends all
        return ""
    if status not in _TEMPORARY:
        raise _failure(file, f"the server answered HTTP {status}")
    return f"the server answered HTTP {status}"


def _announced(file: Wanted, headers: Mapping[str, str]) -> tuple[int, str]:
    """Return the length of a file as the server announces it, and the ETag by which it vouches for its bytes ("" for none)."""
    if headers.get("Content-Encoding", "identity") != "identity":
        raise _failure(file, "the server sends the file encoded, so that its length cannot be checked")
    if headers.get("Content-Type", "").startswith("text/html") and not file.url.endswith((".html", ".htm")):
        raise _failure(file, "the server sends a web page in place of the file; it may want a login")
    length, etag = headers.get("Content-Length", ""), headers.get("ETag", "")
    if not length.isdecimal() or int(length) == 0:
        raise _failure(file, "the server does not say how long the file is, or that it is empty")
    return int(length), "" if etag.startswith("W/") else etag  # a weak one does not promise equal bytes


def _store(file: Wanted, part: Path, size: int, answer: Any, say: Progress) -> str:
    have = _have(part)
    with part.open("ab") as stream:
        for block in answer.iter_content(_BLOCK):
            if have + len(block) > size:
                part.unlink()
                raise _failure(file, f"the server sends more than the {size} bytes expected")
            stream.write(block)
            if have // _REPORT < (have := have + len(block)) // _REPORT:
                say(f"{file.label}: {readable(have)} of {readable(size)}")
        _sync(stream)
    return "" if have == size else f"the server ended after {have} of {size} bytes"


def _ask(file: Wanted, have: int, etag: str, session: Any) -> Any:
    """Return the streamed answer to a GET of what is missing; redirects stay on https, and within the host and `file.redirects`."""
    url, own = file.url, urlsplit(file.url).netloc
    # identity: a range of a compressed stream would not continue ours
    headers = {"Accept-Encoding": "identity", "User-Agent": f"scirep-book/{__version__}"}
    if have:
        headers |= {"Range": f"bytes={have}-"} | ({"If-Range": etag} if etag else {})
    for _ in range(REDIRECTS):
        answer = session.get(url, headers=headers, stream=True, timeout=TIMEOUT, allow_redirects=False)
        if not answer.is_redirect:
            return answer
        answer.close()
        url = urljoin(url, answer.headers["Location"])
        host = urlsplit(url).netloc
        allowed = host == own or any(host == name or host.endswith(f".{name}") for name in file.redirects)
        if urlsplit(url).scheme != "https" or not allowed:
            reason = f"the server redirects to {url!r:.100}, not https or a host the manifest does not name: refused"
            raise _failure(file, reason)
    raise _failure(file, f"the server redirects more than {REDIRECTS} times")


def _failure(file: Wanted, reason: str) -> DataError:
    size = f" ({readable(file.size)})" if file.size else ""
    again = "run again (a download resumes)" if file.sha256 else "run again"
    remedy = f"Connect to the network and {again}, or set SCIREP_DATA_MIRROR=DIR with the file at DIR/{file.label}"
    return DataError(file.url, None, f"cannot get {file.label}{size}: {reason}", remedy)


def _have(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _sync(stream: IO[bytes]) -> None:
    stream.flush()
    os.fsync(stream.fileno())
