"""A made-up collection, a mirror of it, and a source on the network that can misbehave: for the tests of the data layer."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from urllib3 import HTTPResponse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SITE = "https://source.example.org/"
BASE = f"{SITE}{COMMIT}/"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def description(files: dict[str, bytes], name: str = "tiny") -> dict[str, Any]:
    """A correct manifest as plain data."""
    return {
        "name": name, "title": "A tiny collection", "paper": "Nobody 2000", "homepage": SITE, "repository": f"{SITE}tiny",
        "commit": COMMIT, "url": f"{SITE}{{commit}}/{{source}}",
        "licence": {"spdx": "CC0-1.0", "url": f"{SITE}cc0", "notice": "CC0: do as you like"},
        "expect": {"rows": 3, "first_id": "1"},
        "files": [{"path": path, "bytes": len(data), "sha256": sha256(data)} for path, data in files.items()],
    }  # fmt: skip


def unknown(files: dict[str, bytes], **more: Any) -> dict[str, Any]:
    """A manifest whose files nobody here has ever had."""
    described = description(files) | {"verified": "no"} | more
    for row in described["files"]:
        row.update(sha256=None, bytes=None)
    return described


def publish(folder: Path, described: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{described['name']}.yaml"
    path.write_text(yaml.safe_dump(described, sort_keys=False), encoding="utf-8")
    return path


def mirror(folder: Path, files: dict[str, bytes], name: str = "tiny") -> Path:
    for path, data in files.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_bytes(data)
    return folder


def settle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, described: dict[str, Any], mirrored: bool = False) -> Path:
    """Point the library at a fresh home and these manifests; return the folder `fetch` will fill."""
    publish(tmp_path / "manifests", described)
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SCIREP_MANIFESTS", str(tmp_path / "manifests"))
    monkeypatch.setenv("SCIREP_DATA_MIRROR", str(tmp_path / "mirror") if mirrored else "")
    return tmp_path / "home" / "data" / described["name"]


def unpacking(place: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> Path:
    """Mirror a collection whose first file is to be unpacked; return the folder `fetch` will fill."""
    described = description(files)
    described["files"][0]["unpack"] = True
    mirror(place / "mirror", files)
    return settle(place, monkeypatch, described, mirrored=True)


class Answer:
    """What the source sends back: status, headers, body; `cut` ends the connection after so many bytes."""

    def __init__(self, status: int, body: bytes = b"", cut: int | None = None, **headers: str) -> None:
        self.status, self.body, self.cut = status, body, cut
        self.headers = {key.replace("_", "-"): value for key, value in headers.items()}


def honest(files: dict[str, bytes]) -> Callable[[requests.PreparedRequest], Answer]:
    """A source that serves the files and understands Range."""

    def answer(request: requests.PreparedRequest) -> Answer:
        data = files.get(str(request.url).removeprefix(BASE))
        if data is None:
            return Answer(404)
        wanted = request.headers.get("Range")
        if not wanted:
            return Answer(200, data, Content_Length=str(len(data)))
        start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        span = f"bytes {start}-{len(data) - 1}/{len(data)}"
        return Answer(206, data[start:], Content_Range=span, Content_Length=str(len(data) - start))

    return answer


class Source(requests.adapters.BaseAdapter):
    """Stands for the https host; keeps the requests it saw and the number of bytes it sent."""

    def __init__(self, answer: Callable[[requests.PreparedRequest], Answer]) -> None:
        super().__init__()
        self.answer, self.seen, self.sent = answer, [], 0

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        self.seen.append((request.url, request.headers.get("Range")))
        answer = self.answer(request)
        body, response = answer.body[: answer.cut], requests.Response()
        self.sent += len(body)
        response.status_code, response.url, response.request = answer.status, request.url, request
        response.headers.update(answer.headers)
        response.raw = HTTPResponse(io.BytesIO(body), answer.headers, answer.status, preload_content=False)
        return response

    def close(self) -> None:
        """Nothing to close."""

    def session(self) -> requests.Session:
        """A session for which this is the whole network."""
        session = requests.Session()
        for scheme in ("https://", "http://", "ftp://", "file://"):
            session.mount(scheme, self)
        return session
