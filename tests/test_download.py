"""The https road: it resumes, it checks, it refuses. Checks C2 (lying servers, cut lines), S3 (redirects), R3 (offline)."""

from __future__ import annotations

import errno
import os
import random
from types import SimpleNamespace

import pytest
import requests
from small_collection import BASE, Answer, Source, description, honest, mirror, settle, sha256
from small_files import refused

from scirep_core.data.manifests import download, fetch, verify
from scirep_core.kit.errors import CacheError, DataError

BIG = random.Random(3).randbytes(300_000)
FILES = {"big.bin": BIG}
BLOCK = download._BLOCK


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0.0)
    return settle(tmp_path, monkeypatch, description(FILES))


def got(folder, answer, say=lambda line: None):
    """Fetch from a source that answers so, and see that the file is right; return the source."""
    source = Source(answer)
    fetch("tiny", say, session=source.session())
    assert (folder / "big.bin").read_bytes() == BIG
    return source


def not_got(folder, answer, *says, error=DataError):
    """Fetch from a source that answers so, and see it refused with nothing stored; return the source."""
    source = Source(answer)
    refused(lambda: fetch("tiny", session=source.session()), *says, error=error)
    assert not (folder / "big.bin").exists() and dict(verify("tiny")) == {"big.bin": "missing"}
    return source


def ranges(source):
    return [asked for _, asked in source.seen]


def cut(*lengths):
    """An honest source whose answers end early."""
    ends = iter(lengths)

    def answer(request):
        reply = honest(FILES)(request)
        reply.cut = next(ends)
        return reply

    return answer


def part(folder, held=None):
    """Return where a part of the file lies, holding this."""
    path = folder / ".incoming" / f"{sha256(BIG)}.part"
    if held is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(held)
    return path


def test_a_plain_download(folder):
    said: list[str] = []
    source = got(folder, honest(FILES), said.append)
    assert source.seen == [(BASE + "big.bin", None)] and source.sent == len(BIG)
    assert not (folder / ".incoming").exists()
    assert "300.0 kB. CC0" in said[0] and said[1] == "1/1 tiny/big.bin (300.0 kB)"
    assert got(folder, honest(FILES), said.append).seen == [] and len(said) == 2


def test_what_the_source_is_asked(folder):
    """No compression (a range of it could not be resumed), timeouts set, the address as the manifest has it."""
    asked, session = SimpleNamespace(), Source(honest(FILES)).session()
    plain = session.get
    session.get = lambda url, **options: asked.__dict__.update(options, url=url) or plain(url, **options)
    fetch("tiny", session=session)
    assert asked.url == BASE + "big.bin" and asked.timeout and not asked.allow_redirects
    assert asked.headers["Accept-Encoding"] == "identity" and "scirep" in asked.headers["User-Agent"]


def test_the_mirror_comes_first_and_the_network_fills_in(folder, tmp_path, monkeypatch):
    settle(tmp_path, monkeypatch, description({"a.txt": b"from the mirror"} | FILES), mirrored=True)
    mirror(tmp_path / "mirror", {"a.txt": b"from the mirror"})
    assert [url for url, _ in got(folder, honest(FILES)).seen] == [BASE + "big.bin"]
    assert (folder / "a.txt").read_bytes() == b"from the mirror"


def test_a_broken_line_is_resumed_within_the_run_and_by_the_next(folder):
    """At the last whole block: what came before is not sent again."""
    not_got(folder, cut(*[40_000] * 3), "cannot get tiny/big.bin (300.0 kB): ", "broke")
    assert part(folder).read_bytes() == BIG[: 6 * BLOCK]
    source = got(folder, honest(FILES))
    assert ranges(source) == [f"bytes={6 * BLOCK}-"] and source.sent == len(BIG) - 6 * BLOCK
    (folder / "big.bin").unlink()
    source = got(folder, cut(100_000, 4 * BLOCK, None))
    assert ranges(source) == [None, f"bytes={6 * BLOCK}-", f"bytes={10 * BLOCK}-"]
    assert source.sent == len(BIG) + 100_000 % BLOCK


@pytest.mark.parametrize("strange", [
    Answer(416), Answer(206, BIG[1000:], Content_Range=f"bytes 999-{len(BIG) - 2}/{len(BIG)}"),
    Answer(206, BIG[1000:], Content_Range=f"bytes 1000-{len(BIG) - 1}/*"), Answer(206, BIG[1000:]), Answer(200, BIG),
])  # fmt: skip
def test_a_strange_answer_to_range_starts_over_and_one_that_sends_all_is_taken(strange, folder):
    part(folder, BIG[:1000])
    source = got(folder, lambda request: strange if "Range" in request.headers else Answer(200, BIG))
    assert ranges(source) == ["bytes=1000-", *([] if strange.status == 200 else [None])]


@pytest.mark.parametrize("rest", [b"X" * 1000, b"X" * len(BIG), b"X" * (len(BIG) + 5), BIG])
def test_a_bad_part_is_thrown_away_and_a_whole_one_needs_no_network(rest, folder):
    part(folder, rest)
    source = got(folder, honest(FILES))
    assert (source.seen == []) == (rest == BIG)


def test_100_random_truncations_are_all_refused(tmp_path, monkeypatch):
    """C2: cut with an honest length, cut with a matching lie, cut without any length; resumed parts included."""
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setattr(download, "_sync", lambda stream: stream.flush())
    data, rng = random.Random(4).randbytes(2000), random.Random(5)
    folder = settle(tmp_path, monkeypatch, description({"f.bin": data}))
    for round_ in range(100):
        length = rng.randrange(len(data))
        headers = [{"Content_Length": str(len(data))}, {"Content_Length": str(length)}, {}][round_ % 3]
        source = Source(lambda request, n=length, h=headers: Answer(200, data[:n], **h))
        refused(lambda source=source: fetch("tiny", session=source.session()), "cannot get tiny/f.bin")
        assert len(source.seen) == 3 and not (folder / "f.bin").exists()
    fetch("tiny", session=Source(honest({"f.bin": data})).session())
    assert (folder / "f.bin").read_bytes() == data


@pytest.mark.parametrize("lie", [10, len(BIG) - 1, len(BIG) + 1, 10**12])
def test_a_lying_content_length_changes_nothing(lie, folder):
    """The length is not believed: right content passes, and what is stored is right."""
    source = Source(lambda request: Answer(200, BIG, Content_Length=str(lie)))
    try:
        fetch("tiny", session=source.session())
    except DataError:
        assert dict(verify("tiny")) == {"big.bin": "missing"}
    else:
        assert (folder / "big.bin").read_bytes() == BIG


def test_wrong_content_of_the_right_size_and_an_endless_answer(folder):
    wrong = BIG[:-1] + bytes([BIG[-1] ^ 1])
    for content, says in (
        (wrong, f"wrong content: sha256 {sha256(wrong)}, expected {sha256(BIG)}"),
        (BIG * 40, "more than the 300000 bytes"),
    ):
        source = not_got(folder, lambda request, content=content: Answer(200, content), says)
        assert not part(folder).exists() and len(source.seen) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_within_the_host_is_followed_and_one_away_or_in_a_circle_refused(status, folder):
    away, moved = "//elsewhere.example.org/big.bin", "/moved/big.bin"
    source = not_got(folder, lambda request: Answer(status, Location=away), "redirects to ", " refused")
    assert len(source.seen) == 1
    not_got(folder, lambda request: Answer(status, Location=request.url), "redirects more than 5 times")
    got(folder, lambda request: Answer(200, BIG) if request.url.endswith(moved) else Answer(status, Location=moved))


@pytest.mark.parametrize(("status", "requests_made"), [(404, 1), (403, 1), (304, 1), (206, 1), (503, 3), (429, 3)])
def test_an_http_error(status, requests_made, folder):
    assert len(not_got(folder, lambda request: Answer(status, BIG), f"HTTP {status}").seen) == requests_made


def test_a_passing_http_error(folder):
    replies, said = iter([Answer(503), Answer(502), Answer(200, BIG)]), []
    got(folder, lambda request: next(replies), said.append)
    assert said[1] == "tiny/big.bin: the server answered HTTP 503; trying again"


@pytest.mark.parametrize(("error", "words"), [
    (requests.ConnectionError("Max retries exceeded\nwith url"), "no connection to source.example.org"),
    (requests.ConnectTimeout("x"), "no answer in time from source.example.org"),
    (requests.exceptions.ChunkedEncodingError("x"), "the connection broke"),
    (ConnectionResetError(104, "reset"), "the connection broke"),
])  # fmt: skip
def test_offline_is_one_line_with_both_remedies(error, words, folder):
    def answer(request):
        raise error

    remedies = ("Connect to the network", "SCIREP_DATA_MIRROR=DIR with the file at DIR/tiny/big.bin")
    not_got(folder, answer, f"cannot get tiny/big.bin (300.0 kB): {words}", *remedies)


def test_a_disk_that_fills_up_on_the_way_and_one_that_stores_something_else(folder, monkeypatch):
    def full(stream):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(download, "_sync", full)
        not_got(folder, honest(FILES), "No space left", error=CacheError)
    with monkeypatch.context() as patch:  # were our own check ever wrong, the second one stands
        patch.setattr(download, "_from_network", lambda file, part, say, session: part.write_bytes(b"x"))
        not_got(folder, honest(FILES), "changed while it was stored")
    got(folder, honest(FILES))
