"""One file, checked, from a mirror's copy or over https: the only place of the library that speaks to the network.

The bytes gather in `<sha256>.part`, which a killed or broken run leaves behind and the next one resumes:

    have = size(part)  ->  GET with "Range: bytes=have-"  ->  206: append | 200: start over  ->  SHA-256  ->  rename

Only https, only the host that was asked (redirects: also hosts the manifest names), never more bytes than expected; the
checksum is compared again as the bytes lie on the disk, before the file gets its name. (pooch neither resumes nor bounds.)
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from scirep_core import __version__
from scirep_core.kit.errors import DataError
from scirep_core.kit.store import sha256_file

Progress = Callable[[str], None]
"""Receives one line of text per event; the command line prints it to stderr."""

TRIES, PAUSE = 3, 0.5  # attempts per file and run; seconds before the second, doubled before the third
TIMEOUT = (10, 60)  # seconds to connect, seconds between two blocks
REDIRECTS = 5
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)  # HTTP answers worth another try
_BLOCK = 1 << 14  # a line that breaks costs at most one block
_REPORT = 1 << 26  # a line of progress every 64 MiB


class Wanted(NamedTuple):
    """A file to get: label (<collection>/<path>, also its place in a mirror), address, bytes, SHA-256."""

    label: str
    url: str
    size: int
    sha256: str


def readable(size: int) -> str:
    """Return a number of bytes for reading.

    >>> readable(950), readable(19347), readable(9829829)
    ('950 bytes', '19.3 kB', '9.8 MB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def obtain(file: Wanted, incoming: Path, copy: Path | None, say: Progress, connect: Callable[[], Any]) -> Path:
    """Return `incoming`/<sha256>, whole and right, from the mirror's `copy` where that exists, else over https.

    `connect` gives the `requests.Session` and is called only when the network is needed. Raises DataError for wrong
    content or an unreachable source, OSError when the disk cannot take it.
    """
    incoming.mkdir(parents=True, exist_ok=True)
    part, done = incoming / f"{file.sha256}.part", incoming / file.sha256
    if not done.is_file() or sha256_file(done) != file.sha256:
        if copy is not None and copy.is_file():
            _from_mirror(file, part, copy)
        else:
            _from_network(file, part, say, connect())
        if sha256_file(part) != file.sha256:
            raise DataError(done, None, f"{file.label} changed while it was stored", "Run again")
        part.replace(done)
    return done


def _from_mirror(file: Wanted, part: Path, copy: Path) -> None:
    remedy = "Replace it by the official file, or unset SCIREP_DATA_MIRROR to download"
    try:
        found = sha256_file(copy)
    except OSError as error:
        raise DataError(copy, None, f"the mirror's file cannot be read ({error.strerror})", remedy) from error
    if found != file.sha256:
        raise DataError(copy, None, f"the mirror's file is altered: sha256 {found}, expected {file.sha256}", remedy)
    with copy.open("rb") as source, part.open("wb") as stream:
        shutil.copyfileobj(source, stream)
        _sync(stream)


def _from_network(file: Wanted, part: Path, say: Progress, session: Any) -> None:
    """Complete `part` in at most TRIES attempts; on return its checksum is right."""
    import requests

    reason = ""
    for attempt in range(TRIES):
        if attempt:
            say(f"{file.label}: {reason}; trying again")
            time.sleep(PAUSE * 2 ** (attempt - 1))
        if _have(part) > file.size:
            part.unlink()
        resumed = _have(part) > 0
        try:
            reason = _stream(file, part, say, session) if _have(part) < file.size else ""
        except (requests.ConnectTimeout, requests.ReadTimeout):
            reason = f"no answer in time from {urlsplit(file.url).hostname}"
        except requests.ConnectionError:
            reason = f"no connection to {urlsplit(file.url).hostname}"
        except (requests.RequestException, ConnectionError, TimeoutError) as error:
            reason = f"the connection broke ({type(error).__name__})"
        if _have(part) == file.size:
            found = sha256_file(part)
            if found == file.sha256:
                return
            part.unlink()
            reason = f"wrong content: sha256 {found}, expected {file.sha256}"
            if not resumed:  # else the part was bad, or the source changed in between: once more from the start
                break
    raise _failure(file, reason)


def _stream(file: Wanted, part: Path, say: Progress, session: Any) -> str:
    """Make one request and append what comes to `part`; return what went wrong, or ""."""
    have = _have(part)
    headers = {"Range": f"bytes={have}-"} if have else {}
    with ask(file.url, headers, session, partial(_failure, file)) as answer:
        status, said = answer.status_code, answer.headers
        if have and (status == 416 or status == 206):
            rest = f"bytes {have}-{file.size - 1}/{file.size}"
            if status == 416 or said.get("Content-Range") != rest or said.get("Content-Encoding"):
                part.unlink()
                return "the server cannot resume"
        elif status != 200:
            if status not in _TEMPORARY:
                raise _failure(file, f"the server answered HTTP {status}")
            return f"the server answered HTTP {status}"
        else:
            have = 0  # it ignores Range and sends all
        with part.open("ab" if have else "wb") as stream:
            for block in answer.iter_content(_BLOCK):
                if have + len(block) > file.size:
                    part.unlink()
                    raise _failure(file, f"the server sends more than the {file.size} bytes expected")
                stream.write(block)
                if have // _REPORT < (have := have + len(block)) // _REPORT:
                    say(f"{file.label}: {readable(have)} of {readable(file.size)}")
            _sync(stream)
    return "" if have == file.size else f"the server ended after {have} of {file.size} bytes"


def ask(
    url: str, headers: dict[str, str], session: Any, failure: Callable[[str], DataError], domains: Sequence[str] = ()
) -> Any:
    """Return the streamed answer to a GET; redirects are followed over https, within the host and `domains` alone."""
    own = urlsplit(url).netloc
    # identity: a range of a compressed stream would not continue ours
    headers = {"Accept-Encoding": "identity", "User-Agent": f"scirep-book/{__version__}", **headers}
    for _ in range(REDIRECTS):
        answer = session.get(url, headers=headers, stream=True, timeout=TIMEOUT, allow_redirects=False)
        if not answer.is_redirect:
            return answer
        answer.close()
        url = urljoin(url, answer.headers["Location"])
        host = urlsplit(url).netloc
        allowed = host == own or any(host == name or host.endswith(f".{name}") for name in domains)
        if urlsplit(url).scheme != "https" or not allowed:
            raise failure(
                f"the server redirects to {url!r:.100}, not https or a host the manifest does not name: refused"
            )
    raise failure(f"the server redirects more than {REDIRECTS} times")


def _failure(file: Wanted, reason: str) -> DataError:
    remedy = "Connect to the network and run again (a download resumes), or set SCIREP_DATA_MIRROR=DIR"
    what = f"cannot get {file.label} ({readable(file.size)}): {reason}"
    return DataError(file.url, None, what, f"{remedy} with the file at DIR/{file.label}")


def _have(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _sync(stream: IO[bytes]) -> None:
    stream.flush()
    os.fsync(stream.fileno())
