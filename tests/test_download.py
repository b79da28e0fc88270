"""The https road: it resumes, it checks, it refuses. Checks C2 (lying servers, cut lines), S3 (redirects), R3 (offline)."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path
from typing import Any

import pytest
import requests
from small_collection import BASE, Answer, Source, description, honest, mirror, settle, sha256

from scirep_core.data.manifests import download, fetch, verify
from scirep_core.data.manifests.download import readable
from scirep_core.kit.errors import CacheError, DataError

BIG = random.Random(3).randbytes(300_000)
FILES = {"big.bin": BIG}
BLOCK = download._BLOCK


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(download, "PAUSE", 0.0)
    return settle(tmp_path, monkeypatch, description(FILES))


def part(folder: Path) -> Path:
    return folder / ".incoming" / f"{sha256(BIG)}.part"


def nothing_stored(folder: Path) -> bool:
    return not (folder / "big.bin").exists() and dict(verify("tiny")) == {"big.bin": "missing"}


def test_a_plain_download(folder: Path) -> None:
    source = Source(honest(FILES))
    said: list[str] = []
    fetch("tiny", said.append, session=source.session())
    assert (folder / "big.bin").read_bytes() == BIG
    assert source.seen == [(BASE + "big.bin", None)] and source.sent == len(BIG)
    assert not (folder / ".incoming").exists()
    assert "300.0 kB. CC0" in said[0] and said[1] == "1/1 tiny/big.bin (300.0 kB)"
    fetch("tiny", said.append, session=source.session())
    assert len(source.seen) == 1 and len(said) == 2


def test_the_mirror_comes_first_and_the_network_fills_in(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"a.txt": b"from the mirror", "big.bin": BIG}
    settle(tmp_path, monkeypatch, description(files), mirrored=True)
    mirror(tmp_path / "mirror", {"a.txt": files["a.txt"]})
    source = Source(honest({"big.bin": BIG}))
    fetch("tiny", session=source.session())
    assert [url for url, _ in source.seen] == [BASE + "big.bin"]
    assert {name: (folder / name).read_bytes() for name in files} == files


def test_a_broken_line_is_resumed_within_the_run(folder: Path) -> None:
    """Two cuts, each resumed at the last whole block: what came before is not sent again."""
    serve, cuts = honest(FILES), iter([100_000, 4 * BLOCK, None])

    def answer(request: requests.PreparedRequest) -> Answer:
        reply = serve(request)
        reply.cut = next(cuts)
        return reply

    source = Source(answer)
    fetch("tiny", session=source.session())
    assert (folder / "big.bin").read_bytes() == BIG
    assert [r for _, r in source.seen] == [None, f"bytes={6 * BLOCK}-", f"bytes={10 * BLOCK}-"]
    assert source.sent == len(BIG) + 100_000 % BLOCK


def test_a_broken_run_is_resumed_by_the_next(folder: Path) -> None:
    serve = honest(FILES)

    def weak(request: requests.PreparedRequest) -> Answer:
        reply = serve(request)
        reply.cut = 40_000
        return reply

    with pytest.raises(DataError, match=r"cannot get tiny/big.bin \(300.0 kB\): .*broke"):
        fetch("tiny", session=Source(weak).session())
    assert nothing_stored(folder) and part(folder).read_bytes() == BIG[: 6 * BLOCK]
    source = Source(serve)
    fetch("tiny", session=source.session())
    assert source.seen == [(BASE + "big.bin", f"bytes={6 * BLOCK}-")] and source.sent == len(BIG) - 6 * BLOCK
    assert (folder / "big.bin").read_bytes() == BIG


def test_a_server_that_ignores_range(folder: Path) -> None:
    part(folder).parent.mkdir(parents=True)
    part(folder).write_bytes(BIG[:1000])
    source = Source(lambda request: Answer(200, BIG))
    fetch("tiny", session=source.session())
    assert (folder / "big.bin").read_bytes() == BIG and source.seen[0][1] == "bytes=1000-"


@pytest.mark.parametrize(
    "strange",
    [
        Answer(416),
        Answer(206, BIG[1000:], Content_Range=f"bytes 999-{len(BIG) - 2}/{len(BIG)}"),
        Answer(206, BIG[1000:], Content_Range=f"bytes 1000-{len(BIG) - 1}/*"),
        Answer(206, BIG[1000:]),
    ],
)
def test_a_strange_answer_to_range_starts_over(strange: Answer, folder: Path) -> None:
    part(folder).parent.mkdir(parents=True)
    part(folder).write_bytes(BIG[:1000])
    source = Source(lambda request: strange if "Range" in request.headers else Answer(200, BIG))
    fetch("tiny", session=source.session())
    assert (folder / "big.bin").read_bytes() == BIG and [r for _, r in source.seen] == ["bytes=1000-", None]


@pytest.mark.parametrize("rest", [b"X" * 1000, b"X" * len(BIG), b"X" * (len(BIG) + 5)])
def test_a_bad_part_is_thrown_away(rest: bytes, folder: Path) -> None:
    part(folder).parent.mkdir(parents=True)
    part(folder).write_bytes(rest)
    fetch("tiny", session=Source(honest(FILES)).session())
    assert (folder / "big.bin").read_bytes() == BIG


def test_a_whole_part_needs_no_network(folder: Path) -> None:
    part(folder).parent.mkdir(parents=True)
    part(folder).write_bytes(BIG)
    source = Source(lambda request: Answer(500))
    fetch("tiny", session=source.session())
    assert (folder / "big.bin").read_bytes() == BIG and source.seen == []


def test_100_random_truncations_are_all_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C2: cut with an honest length, cut with a matching lie, cut without any length; resumed parts included."""
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setattr(download, "_sync", lambda stream: stream.flush())
    data = random.Random(4).randbytes(2000)
    folder = settle(tmp_path, monkeypatch, description({"f.bin": data}))
    rng = random.Random(5)
    for round_ in range(100):
        length = rng.randrange(len(data))
        headers = [{"Content_Length": str(len(data))}, {"Content_Length": str(length)}, {}][round_ % 3]
        source = Source(lambda request, n=length, h=headers: Answer(200, data[:n], **h))  # type: ignore[misc]
        with pytest.raises(DataError, match=r"cannot get tiny/f.bin"):
            fetch("tiny", session=source.session())
        assert len(source.seen) == 3 and not (folder / "f.bin").exists()
    fetch("tiny", session=Source(honest({"f.bin": data})).session())
    assert (folder / "f.bin").read_bytes() == data


@pytest.mark.parametrize("lie", [10, len(BIG) - 1, len(BIG) + 1, 10**12])
def test_a_lying_content_length_changes_nothing(lie: int, folder: Path) -> None:
    """The length is not believed: right content passes, and what is stored is right."""
    source = Source(lambda request: Answer(200, BIG, Content_Length=str(lie)))
    try:
        fetch("tiny", session=source.session())
    except DataError:
        assert nothing_stored(folder)
    else:
        assert (folder / "big.bin").read_bytes() == BIG


def test_wrong_content_of_the_right_size(folder: Path) -> None:
    wrong = BIG[:-1] + bytes([BIG[-1] ^ 1])
    source = Source(lambda request: Answer(200, wrong))
    with pytest.raises(DataError, match=f"wrong content: sha256 {sha256(wrong)}, expected {sha256(BIG)}"):
        fetch("tiny", session=source.session())
    assert nothing_stored(folder) and not part(folder).exists() and len(source.seen) == 1


def test_an_endless_answer_is_cut_off(folder: Path) -> None:
    source = Source(lambda request: Answer(200, BIG * 40))
    with pytest.raises(DataError, match="more than the 300000 bytes"):
        fetch("tiny", session=source.session())
    assert nothing_stored(folder) and not part(folder).exists()


@pytest.mark.parametrize(
    "target",
    [
        "https://elsewhere.example.org/big.bin",
        "http://source.example.org/big.bin",
        "//elsewhere.example.org/big.bin",
        "https://source.example.org.evil.org/big.bin",
        "https://source.example.org:8443/big.bin",
        "https://me@source.example.org/big.bin",
        "file:///etc/passwd",
        "ftp://source.example.org/big.bin",
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_away_is_refused(target: str, status: int, folder: Path) -> None:
    source = Source(lambda request: Answer(status, Location=target))
    with pytest.raises(DataError, match=r"redirects to .* refused"):
        fetch("tiny", session=source.session())
    assert len(source.seen) == 1 and nothing_stored(folder)


def test_a_redirect_within_the_host_is_followed(folder: Path) -> None:
    def answer(request: requests.PreparedRequest) -> Answer:
        return (
            Answer(200, BIG) if str(request.url).endswith("/moved/big.bin") else Answer(302, Location="/moved/big.bin")
        )

    fetch("tiny", session=Source(answer).session())
    assert (folder / "big.bin").read_bytes() == BIG


def test_redirects_in_a_circle(folder: Path) -> None:
    source = Source(lambda request: Answer(302, Location=request.url or ""))
    with pytest.raises(DataError, match="redirects more than 5 times"):
        fetch("tiny", session=source.session())


@pytest.mark.parametrize(("status", "requests_made"), [(404, 1), (403, 1), (304, 1), (206, 1), (503, 3), (429, 3)])
def test_an_http_error(status: int, requests_made: int, folder: Path) -> None:
    source = Source(lambda request: Answer(status, BIG))
    with pytest.raises(DataError, match=f"HTTP {status}"):
        fetch("tiny", session=source.session())
    assert len(source.seen) == requests_made and nothing_stored(folder)


def test_a_passing_http_error(folder: Path) -> None:
    replies = iter([Answer(503), Answer(502), Answer(200, BIG)])
    said: list[str] = []
    fetch("tiny", said.append, session=Source(lambda request: next(replies)).session())
    assert (folder / "big.bin").read_bytes() == BIG
    assert said[1] == "tiny/big.bin: the server answered HTTP 503; trying again"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (requests.ConnectionError("Max retries exceeded\nwith url"), "no connection to source.example.org"),
        (requests.ConnectTimeout("x"), "no answer in time from source.example.org"),
        (requests.exceptions.ChunkedEncodingError("x"), "the connection broke"),
        (ConnectionResetError(104, "reset"), "the connection broke"),
    ],
)
def test_offline_is_one_line_with_both_remedies(error: Exception, words: str, folder: Path) -> None:
    def answer(request: requests.PreparedRequest) -> Answer:
        raise error

    with pytest.raises(DataError) as caught:
        fetch("tiny", session=Source(answer).session())
    line = str(caught.value)
    assert f"cannot get tiny/big.bin (300.0 kB): {words}" in line and "\n" not in line
    assert "Connect to the network" in line and "SCIREP_DATA_MIRROR=DIR with the file at DIR/tiny/big.bin" in line


def test_a_disk_that_fills_up_on_the_way(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(stream: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(download, "_sync", full)
        with pytest.raises(CacheError, match="No space left"):
            fetch("tiny", session=Source(honest(FILES)).session())
    assert nothing_stored(folder)
    fetch("tiny", session=Source(honest(FILES)).session())
    assert (folder / "big.bin").read_bytes() == BIG


def test_what_the_source_is_asked(folder: Path) -> None:
    """No compression (a range of it could not be resumed), timeouts set, the address as the manifest has it."""
    asked: dict[str, Any] = {}
    source = Source(honest(FILES))
    session = source.session()
    plain = session.get

    def get(url: str, **options: Any) -> requests.Response:
        asked.update(options, url=url)
        return plain(url, **options)

    session.get = get  # type: ignore[assignment,method-assign]
    fetch("tiny", session=session)
    assert asked["url"] == BASE + "big.bin" and asked["timeout"] and not asked["allow_redirects"]
    assert asked["headers"]["Accept-Encoding"] == "identity" and "scirep" in asked["headers"]["User-Agent"]


def test_what_lies_on_the_disk_is_checked_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were our own check ever wrong, the second one stands."""
    monkeypatch.setattr(download, "_from_network", lambda file, part, say, session: part.write_bytes(b"x"))
    with pytest.raises(DataError, match="changed while it was stored"):
        fetch("tiny", session=Source(honest(FILES)).session())
    assert nothing_stored(folder)


def test_sizes_read_well() -> None:
    assert [readable(n) for n in (1, 999, 1000, 9_829_829, 5 * 10**9)] == [
        "1 bytes",
        "999 bytes",
        "1.0 kB",
        "9.8 MB",
        "5.0 GB",
    ]
