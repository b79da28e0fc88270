"""The https road: it resumes, it checks, it refuses. Checks C2 (lying servers, cut lines), S3 (redirects), R3 (offline)."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from small_collection import BASE, Answer, Source, description, honest, mirror, settle, sha256
from small_files import refused

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


def got(folder: Path, answer: Callable[[requests.PreparedRequest], Answer], say: Any = lambda line: None) -> Source:
    """Fetch from a source that answers so, and see that the file is right; return the source."""
    source = Source(answer)
    fetch("tiny", say, session=source.session())
    assert (folder / "big.bin").read_bytes() == BIG
    return source


def not_got(
    folder: Path, answer: Callable[[requests.PreparedRequest], Answer], *says: str, error: Any = DataError
) -> Source:
    """Fetch from a source that answers so, and see it refused with nothing stored; return the source."""
    source = Source(answer)
    refused(lambda: fetch("tiny", session=source.session()), *says, error=error)
    assert nothing_stored(folder)
    return source


def cut(*lengths: int | None) -> Callable[[requests.PreparedRequest], Answer]:
    """An honest source whose answers end early."""
    serve, ends = honest(FILES), iter(lengths)

    def answer(request: requests.PreparedRequest) -> Answer:
        reply = serve(request)
        reply.cut = next(ends)
        return reply

    return answer


def part(folder: Path, held: bytes | None = None) -> Path:
    """Return where a part of the file lies, holding this."""
    path = folder / ".incoming" / f"{sha256(BIG)}.part"
    if held is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(held)
    return path


def nothing_stored(folder: Path) -> bool:
    return not (folder / "big.bin").exists() and dict(verify("tiny")) == {"big.bin": "missing"}


def test_a_plain_download(folder: Path) -> None:
    said: list[str] = []
    source = got(folder, honest(FILES), said.append)
    assert source.seen == [(BASE + "big.bin", None)] and source.sent == len(BIG)
    assert not (folder / ".incoming").exists()
    assert "300.0 kB. CC0" in said[0] and said[1] == "1/1 tiny/big.bin (300.0 kB)"
    assert got(folder, honest(FILES), said.append).seen == [] and len(said) == 2


def test_the_mirror_comes_first_and_the_network_fills_in(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(tmp_path, monkeypatch, description({"a.txt": b"from the mirror", "big.bin": BIG}), mirrored=True)
    mirror(tmp_path / "mirror", {"a.txt": b"from the mirror"})
    assert [url for url, _ in got(folder, honest(FILES)).seen] == [BASE + "big.bin"]
    assert (folder / "a.txt").read_bytes() == b"from the mirror"


def test_a_broken_line_is_resumed_within_the_run(folder: Path) -> None:
    """Two cuts, each resumed at the last whole block: what came before is not sent again."""
    source = got(folder, cut(100_000, 4 * BLOCK, None))
    assert [r for _, r in source.seen] == [None, f"bytes={6 * BLOCK}-", f"bytes={10 * BLOCK}-"]
    assert source.sent == len(BIG) + 100_000 % BLOCK


def test_a_broken_run_is_resumed_by_the_next(folder: Path) -> None:
    not_got(folder, cut(*[40_000] * 3), "cannot get tiny/big.bin (300.0 kB): ", "broke")
    assert part(folder).read_bytes() == BIG[: 6 * BLOCK]
    source = got(folder, honest(FILES))
    assert source.seen == [(BASE + "big.bin", f"bytes={6 * BLOCK}-")] and source.sent == len(BIG) - 6 * BLOCK


def test_a_server_that_ignores_range(folder: Path) -> None:
    part(folder, BIG[:1000])
    assert got(folder, lambda request: Answer(200, BIG)).seen[0][1] == "bytes=1000-"


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
    part(folder, BIG[:1000])
    source = got(folder, lambda request: strange if "Range" in request.headers else Answer(200, BIG))
    assert [r for _, r in source.seen] == ["bytes=1000-", None]


@pytest.mark.parametrize("rest", [b"X" * 1000, b"X" * len(BIG), b"X" * (len(BIG) + 5)])
def test_a_bad_part_is_thrown_away(rest: bytes, folder: Path) -> None:
    part(folder, rest)
    got(folder, honest(FILES))


def test_a_whole_part_needs_no_network(folder: Path) -> None:
    part(folder, BIG)
    assert got(folder, lambda request: Answer(500)).seen == []


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
        refused(lambda source=source: fetch("tiny", session=source.session()), "cannot get tiny/f.bin")
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
    says = f"wrong content: sha256 {sha256(wrong)}, expected {sha256(BIG)}"
    source = not_got(folder, lambda request: Answer(200, wrong), says)
    assert not part(folder).exists() and len(source.seen) == 1


def test_an_endless_answer_is_cut_off(folder: Path) -> None:
    not_got(folder, lambda request: Answer(200, BIG * 40), "more than the 300000 bytes")
    assert not part(folder).exists()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_away_is_refused(status: int, folder: Path) -> None:
    away = "//elsewhere.example.org/big.bin"
    source = not_got(folder, lambda request: Answer(status, Location=away), "redirects to ", " refused")
    assert len(source.seen) == 1


def test_a_redirect_within_the_host_is_followed(folder: Path) -> None:
    moved = "/moved/big.bin"
    got(folder, lambda request: Answer(200, BIG) if str(request.url).endswith(moved) else Answer(302, Location=moved))


def test_redirects_in_a_circle(folder: Path) -> None:
    not_got(folder, lambda request: Answer(302, Location=request.url or ""), "redirects more than 5 times")


@pytest.mark.parametrize(("status", "requests_made"), [(404, 1), (403, 1), (304, 1), (206, 1), (503, 3), (429, 3)])
def test_an_http_error(status: int, requests_made: int, folder: Path) -> None:
    assert len(not_got(folder, lambda request: Answer(status, BIG), f"HTTP {status}").seen) == requests_made


def test_a_passing_http_error(folder: Path) -> None:
    replies = iter([Answer(503), Answer(502), Answer(200, BIG)])
    said: list[str] = []
    got(folder, lambda request: next(replies), said.append)
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

    remedies = ("Connect to the network", "SCIREP_DATA_MIRROR=DIR with the file at DIR/tiny/big.bin")
    not_got(folder, answer, f"cannot get tiny/big.bin (300.0 kB): {words}", *remedies)


def test_a_disk_that_fills_up_on_the_way(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(stream: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(download, "_sync", full)
        not_got(folder, honest(FILES), "No space left", error=CacheError)
    got(folder, honest(FILES))


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
    not_got(folder, honest(FILES), "changed while it was stored")


def test_sizes_read_well() -> None:
    sizes = {1: "1 bytes", 999: "999 bytes", 1000: "1.0 kB", 9_829_829: "9.8 MB", 5 * 10**9: "5.0 GB"}
    assert {size: readable(size) for size in sizes} == sizes
