"""The data layer seen from outside: manifests are strict, a fetched collection is right to the byte or an error says why.

Checks S3 (what a manifest may say), C1/C2 (damage is noticed), R2 (two processes, full and closed disks), R3 (offline).
"""

from __future__ import annotations

import errno
import os
import random
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from small_collection import Answer, Source, description, honest, mirror, publish, settle, sha256
from small_files import at, contents, mirrored, refused

from scirep_core.data.manifests import catalogue, download, fetch, list_manifests, load_manifest, local_folder, verify
from scirep_core.kit.errors import CacheError, ConfigError
from scirep_core.kit.formats import FACETS
from scirep_core.kit.records import read_json, read_object

FILES = {"LICENSE.md": b"do as you like\n", "data/a.json": b'{"a": 1}\n' * 500, "data/b.csv": b"id,x\n1,2\n" * 30}
needs_mirror = mirrored("csfcube/LICENSE.md")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    mirror(tmp_path / "mirror", FILES)
    return settle(tmp_path, monkeypatch, description(FILES), mirrored=True)


# --- the manifest -----------------------------------------------------------------------------------------------------


def test_a_manifest_says_what_it_says(folder: Path) -> None:
    manifest = load_manifest("tiny")
    assert [f.path for f in manifest.files] == list(FILES)
    assert manifest.bytes == sum(map(len, FILES.values()))
    assert manifest.url_of(manifest.files[1]).endswith("4567/data/a.json")
    assert dict(manifest.expect) == {"rows": 3, "first_id": "1"}
    assert list_manifests() == ["tiny"] and local_folder("tiny") == folder


def first(key: str, value: Any = ...) -> Any:
    """A change to the first file of the manifest; without a value the key goes."""
    return lambda d: changed(d["files"][0], key, value)


def top(key: str, value: Any = ...) -> Any:
    return lambda d: changed(d, key, value)


def within(part: str, key: str, value: Any = ...) -> Any:
    return lambda d: changed(d[part], key, value)


def changed(row: dict[str, Any], key: str, value: Any) -> None:
    row.pop(key) if value is ... else row.update({key: value})


def unseen(verified: str) -> Any:
    """A change: the first file has neither checksum nor size, in a manifest that is verified as said."""
    return lambda d: (d.update(verified=verified), d["files"][0].update(sha256=None, bytes=None))


BAD: dict[str, tuple[Any, str]] = {
    "http": (top("url", "http://source.example.org/{commit}/{source}"), "https"),
    "file": (top("url", "file:///etc/{commit}/{source}"), "https"),
    "ftp": (top("url", "ftp://source.example.org/{commit}/{source}"), "https"),
    "upper-case scheme trick": (top("url", "httpS+x://a.org/{commit}/{source}"), "https"),
    "user and password": (top("url", "https://me:pw@a.org/{commit}/{source}"), "https"),
    "port": (top("url", "https://a.org:8443/{commit}/{source}"), "https"),
    "climbing url": (top("url", "https://a.org/../{commit}/{source}"), "https"),
    "broken host": (top("url", "https://[::1/{commit}/{source}"), "https"),
    "other placeholder": (top("url", "https://a.org/{commit.__class__}/{source}"), "{source}"),
    "no source": (top("url", "https://a.org/{commit}/file"), "{source}"),
    "commit not in url": (top("url", "https://a.org/{source}"), "{commit}"),
    "branch for commit": (top("commit", "master"), "hexadecimal"),
    "homepage": (top("homepage", "http://a.org"), "https"),
    "licence url": (within("licence", "url", "javascript:x"), "https"),
    "licence missing": (top("licence"), "'licence' is missing"),
    "notice missing": (within("licence", "notice"), "'notice' is missing"),
    "licence key": (within("licence", "spxd", "MIT"), "did you mean 'spdx'"),
    "unknown key": (top("tilte", "x"), "did you mean 'title'"),
    "unknown file key": (first("sha265", "x"), "did you mean 'sha256'"),
    "wrong name": (top("name", "other"), "not the file's name"),
    "title a number": (top("title", 3), "'title' must be str"),
    **{f"path {path!r}": (first("path", path), "plain relative path")
       for path in ("/etc/passwd", "../x", "a/../../x", "a\\..\\x", "C:x", ".incoming/x", "a//x", "a\nb")},
    "climbing source": (first("source", "../x"), "plain relative path"),
    "query": (first("source", "x?y"), "plain relative path"),
    "short hash": (first("sha256", "ab"), "64"),
    "upper-case hash": (first("sha256", "A" * 64), "64"),
    "hash a number": (first("sha256", 12), "'sha256' must be str"),
    "zero bytes": (first("bytes", 0), "positive"),
    "negative bytes": (first("bytes", -1), "positive"),
    "bytes true": (first("bytes", True), "'bytes' must be int"),
    "bytes text": (first("bytes", "12"), "'bytes' must be int"),
    "no bytes": (first("bytes"), "'bytes' is missing"),
    "twice": (lambda d: d["files"].append(dict(d["files"][0])), "clashes"),
    "twice but for case": (first("path", "data/A.json"), "clashes"),
    "file and folder": (first("path", "data"), "clashes"),
    "unpack no archive": (first("unpack", True), "cannot unpack"),
    "no files": (top("files", []), "empty"),
    "files a text": (top("files", "all"), "'files' must be list"),
    "file a text": (top("files", ["x"]), "keys and values"),
    "no hash but read": (unseen("full"), "was read"),
    "no hash but some read": (unseen("sample"), "read"),
    "no hash but bytes": (first("sha256", None), "'sha256' must be str"),
    "hash but no bytes": (first("bytes", None), "'bytes' must be int"),
    "verified by half": (top("verified", "half"), "Valid: full, no, sample"),
    "verified: no without quotes": (top("verified", False), "'verified' must be str"),
    "revision not in url": (top("revision", "0" * 40), "{revision}"),
    "revision a branch": (lambda d: d.update(url="https://a.org/{commit}/{revision}/{source}", revision="main"),
                          "refs/convert/parquet"),
    "climbing mirror": (top("mirror", "../else"), "plain relative path"),
    "empty gate": (top("gated", " "), "gated is empty"),
    "gated with a file address": (top("gated", "by hand"), "unless gated"),
    "needed for a list in a list": (top("needed_for", [["a"]]), "not a task's name"),
    "needed for twice": (top("needed_for", ["a/b", "a/b"]), "named once"),
    "redirect to an address": (top("redirects", ["https://b.org"]), "not a domain"),
    "redirect anywhere": (top("redirects", ["*"]), "not a domain"),
    "counts without source": (top("counts", {"rows": 3}), "'source' is missing"),
    "count a text": (top("counts", {"source": "x", "rows": "3"}), "'rows' must be int"),
    "expect a list": (within("expect", "rows", [1]), "'rows' must be int or str"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_manifest_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = description(FILES)
    BAD[case][0](described)
    monkeypatch.setenv("SCIREP_MANIFESTS", str(tmp_path))
    path = publish(tmp_path, {**described, "name": "tiny"})
    if described["name"] != "tiny":
        path.write_text(path.read_text().replace("name: tiny", f"name: {described['name']}"))
    line = refused(lambda: load_manifest("tiny"), BAD[case][1])
    named = re.match(rf"{path}:(\d+): ", line)
    assert named
    if case == "path '../x'":
        assert "../x" in path.read_text().splitlines()[int(named[1]) - 1]


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("name: tiny\nname: tiny\n", 2, "given twice"),
        ("name: tiny\nfiles:\n  - {path: a, path: b}\n", 3, "given twice"),
        ("name: tiny\ntitle: !!python/object/apply:os.system [ls]\n", 2, "not plain YAML"),
        ("name: [tiny\ntitle: x\n", 2, "not plain YAML"),
        ("- a\n- b\n", 1, "keys and values"),
        ("", 1, "keys and values"),
        ("name: \udcff\n", None, "UTF-8"),
    ],
)
def test_a_file_that_is_no_manifest(
    text: str, line: int | None, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIREP_MANIFESTS", str(tmp_path))
    (tmp_path / "tiny.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(lambda: load_manifest("tiny"), at(tmp_path / "tiny.yaml", line), word)


@pytest.mark.parametrize("name", ["tinny", "../tiny", "/etc/passwd", "TINY", ""])
@pytest.mark.parametrize("call", [load_manifest, fetch, verify])
def test_unknown_names_are_refused(name: str, call: Any, folder: Path) -> None:
    refused(lambda: call(name), "Valid: tiny", error=ConfigError)


def test_no_folder_of_manifests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIREP_MANIFESTS", str(tmp_path / "gone"))
    refused(list_manifests, "SCIREP_MANIFESTS", error=ConfigError)


# --- fetching from a mirror -------------------------------------------------------------------------------------------


def test_fetch_brings_every_file_and_says_so(folder: Path) -> None:
    said: list[str] = []
    assert catalogue()[0]["state"] == "absent"
    assert fetch("tiny", said.append) == folder
    assert contents(folder) == FILES
    assert sum("CC0: do as you like" in line for line in said) == 1 and "3 of 3 files, 4.8 kB" in said[0]
    assert verify("tiny") == [(path, "ok") for path in FILES]
    row = {"name": "tiny", "title": "A tiny collection", "paper": "Nobody 2000", "licence": "CC0-1.0", "files": 3}
    row |= {"bytes": sum(map(len, FILES.values())), "unseen": 0, "verified": "no", "gated": False}
    assert catalogue() == [row | {"state": "complete"}]


def test_a_complete_collection_needs_neither_mirror_nor_writing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch("tiny")
    before = {p: p.stat().st_mtime_ns for p in folder.parent.rglob("*")}
    monkeypatch.setenv("SCIREP_DATA_MIRROR", str(folder / "nowhere"))
    said: list[str] = []
    assert fetch("tiny", said.append) == folder
    assert said == [] and {p: p.stat().st_mtime_ns for p in folder.parent.rglob("*")} == before


def test_damage_is_named_and_repaired(folder: Path) -> None:
    fetch("tiny")
    damage: dict[str, Any] = {
        "altered": lambda p: p.write_bytes(bytes([p.read_bytes()[0] ^ 1]) + p.read_bytes()[1:]),
        "truncated": lambda p: p.write_bytes(p.read_bytes()[:-1]),
        "missing": Path.unlink,
    }
    for state, spoil in damage.items():
        spoil(folder / "data/a.json")
        assert dict(verify("tiny")) == {"LICENSE.md": "ok", "data/a.json": state, "data/b.csv": "ok"}
        assert catalogue()[0]["state"] == "partial"
        said: list[str] = []
        fetch("tiny", said.append)
        assert contents(folder) == FILES and "1 of 3 files" in said[0]
        assert ("was " + state in said[1]) == (state != "missing")


def test_every_flipped_bit_is_noticed(folder: Path) -> None:
    """C1 at 150 bits: `verify` never says ok, `fetch` always restores."""
    fetch("tiny")
    rng = random.Random(7)
    for _ in range(150):
        path = rng.choice(list(FILES))
        data = bytearray(FILES[path])
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (folder / path).write_bytes(data)
        assert dict(verify("tiny"))[path] == "altered"
    fetch("tiny")
    assert contents(folder) == FILES


@pytest.mark.parametrize("spoil", [lambda d: d[:-1], lambda d: d + b"x", lambda d: b"X" + d[1:], lambda d: b""])
def test_an_altered_mirror_file_is_named_and_not_stored(spoil: Any, folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "mirror/tiny/data/a.json"
    bad.write_bytes(spoil(FILES["data/a.json"]))
    hashes = (sha256(FILES["data/a.json"]), sha256(bad.read_bytes()))
    refused(lambda: fetch("tiny"), str(bad), *hashes, "unset SCIREP_DATA_MIRROR")
    assert [p for p in folder.rglob("*") if p.is_file()] == [folder / "LICENSE.md"]


def test_a_mirror_that_is_no_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIREP_DATA_MIRROR", "/no/such/mirror")
    refused(lambda: fetch("tiny"), "/no/such/mirror: no such folder", error=ConfigError)


def test_an_address_has_the_source_s_path_and_the_hub_s_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = description(FILES)
    described["files"][1]["source"] = "deep/er/a b.json"
    settle(tmp_path, monkeypatch, described)
    manifest = load_manifest("tiny")
    assert manifest.url_of(manifest.files[1]).endswith("/deep/er/a%20b.json")
    described = unknown(url="https://hub.example.org/resolve/{revision}/{source}", revision="refs/convert/parquet")
    described.pop("commit")
    settle(tmp_path, monkeypatch, described)
    manifest = load_manifest("tiny")
    assert manifest.url_of(manifest.files[0]) == "https://hub.example.org/resolve/refs%2Fconvert%2Fparquet/LICENSE.md"


# --- disks and neighbours ---------------------------------------------------------------------------------------------


def test_a_full_disk_is_one_clear_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter([None, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))])

    def full(stream: Any) -> None:
        if error := next(calls):
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(download, "_sync", full)
        said = refused(lambda: fetch("tiny"), error=CacheError)
    assert re.search(r"No space left on device.*Free space.*SCIREP_HOME.*4.8 kB", said)
    assert [s for _, s in verify("tiny")] == ["ok", "missing", "missing"]
    fetch("tiny")
    assert contents(folder) == FILES


def test_a_home_that_cannot_be_written(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "file"))
    refused(lambda: fetch("tiny"), "cannot write", str(tmp_path / "file"), error=CacheError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_home(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o500)
    refused(lambda: fetch("tiny"), "Permission denied", error=CacheError)


def test_eight_processes_at_once(folder: Path) -> None:
    script = "from scirep_core.data.manifests import fetch; fetch('tiny')"
    running = [subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) for _ in range(8)]
    for process in running:
        assert process.communicate(timeout=60)[1] == b"" and process.returncode == 0
    assert contents(folder) == FILES


def test_who_comes_second_waits(folder: Path) -> None:
    """While another holds the lock nothing is touched; when it lets go the second finds the work done."""
    said: list[str] = []
    folder.parent.mkdir(parents=True)
    second = threading.Thread(target=fetch, args=("tiny", said.append))
    with FileLock(folder.parent / ".tiny.lock"):
        second.start()
        second.join(0.3)
        assert second.is_alive() and not folder.exists()
        assert said == ["tiny: another process is fetching it; waiting"]
        mirror(folder.parent, FILES)
    second.join(10)
    assert len(said) == 1 and contents(folder) == FILES


def test_import_is_light() -> None:
    """The command line reads names before it needs the network: neither requests nor filelock is loaded for that."""
    script = (
        "import sys; from scirep_core.data import manifests; manifests.list_manifests(); "
        "assert not {'requests', 'torch', 'filelock'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# --- content nobody here knew -----------------------------------------------------------------------------------------


def unknown(files: dict[str, bytes] = FILES, **more: Any) -> dict[str, Any]:
    """A manifest whose files nobody here has ever had."""
    described = description(files) | {"verified": "no"} | more
    for row in described["files"]:
        row.update(sha256=None, bytes=None)
    return described


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    mirror(tmp_path / "mirror", FILES)
    monkeypatch.setattr(download, "PAUSE", 0.0)
    return settle(tmp_path, monkeypatch, unknown(), mirrored=True)


def recorded(folder: Path) -> dict[str, Any]:
    return read_object(folder / ".seen.json")


def test_what_comes_is_written_down_and_said_on_stderr(new: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_manifest("tiny").unseen == 3 and load_manifest("tiny").bytes == 0
    assert {state for _, state in verify("tiny")} == {"missing"}
    fetch("tiny")
    said = capsys.readouterr()
    assert said.out == "" and "3 files was not known beforehand" in said.err and ".seen.json" in said.err
    assert {path: new.joinpath(path).read_bytes() for path in FILES} == FILES
    seen = recorded(new)
    assert {path: (row["sha256"], row["bytes"]) for path, row in seen.items()} == {
        path: (sha256(data), len(data)) for path, data in FILES.items()
    }
    assert seen["LICENSE.md"]["from"] == "mirror:tiny/LICENSE.md"
    assert catalogue()[0]["state"] == "complete" and catalogue()[0]["unseen"] == 3
    fetch("tiny")
    assert capsys.readouterr().err == ""


def test_from_then_on_it_must_not_change(new: Path, tmp_path: Path) -> None:
    fetch("tiny")
    (new / "data/a.json").write_bytes(b"[]" + FILES["data/a.json"][2:])
    assert dict(verify("tiny"))["data/a.json"] == "altered"
    said: list[str] = []
    fetch("tiny", said.append)  # the source still has it
    assert (new / "data/a.json").read_bytes() == FILES["data/a.json"]
    assert not any("not known" in line for line in said)
    (new / "data/a.json").unlink()
    (tmp_path / "mirror/tiny/data/a.json").write_bytes(b"other")
    known = ".seen.json: data/a.json from mirror:tiny/data/a.json has sha256"
    refused(lambda: fetch("tiny"), known, sha256(b"other"))
    assert not (new / "data/a.json").exists()


def test_a_damaged_record_is_named(new: Path) -> None:
    fetch("tiny")
    (new / ".seen.json").write_text('{"LICENSE.md": {"sha256": 3, "bytes": 1, "from": ""}}')
    refused(lambda: verify("tiny"), "seen")


def test_files_put_in_place_by_hand(new: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCIREP_DATA_MIRROR")
    mirror(new.parent, FILES)
    assert {state for _, state in verify("tiny")} == {"unknown"} and catalogue()[0]["state"] == "partial"
    assert not (new / ".seen.json").exists()  # looking writes nothing
    fetch("tiny")
    assert catalogue()[0]["state"] == "complete" and recorded(new)["data/a.json"]["from"] == "put in place by hand"


def test_only_a_part(new: Path) -> None:
    fetch("tiny", parts=["data"])
    assert [state for _, state in verify("tiny")] == ["missing", "ok", "ok"] and catalogue()[0]["state"] == "partial"
    refused(lambda: fetch("tiny", parts=["dat"]), "no part 'dat'; did you mean 'data'", error=ConfigError)


def test_the_mirror_may_keep_it_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror(tmp_path / "mirror", FILES, name="family/tiny-files")
    folder = settle(tmp_path, monkeypatch, description(FILES) | {"mirror": "family/tiny-files"}, mirrored=True)
    fetch("tiny")
    assert contents(folder) == FILES


# --- the same over https ----------------------------------------------------------------------------------------------


@pytest.fixture
def online(new: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SCIREP_DATA_MIRROR")
    return new


def test_it_comes_over_https(online: Path) -> None:
    fetch("tiny", session=Source(honest(FILES)).session())
    assert {path: online.joinpath(path).read_bytes() for path in FILES} == FILES
    assert recorded(online)["LICENSE.md"]["from"].startswith("https://source.example.org/0123")
    assert not (online / ".incoming").exists()


@pytest.mark.parametrize(
    ("target", "fine"),
    [
        ("https://cdn.store.example.net/x?signed=1", True),
        ("https://store.example.net/x", True),
        ("https://evilstore.example.net/x", False),
        ("https://store.example.net.evil.org/x", False),
        ("https://store.example.net@evil.org/x", False),
        ("https://store.example.net:8443/x", False),
        ("https://me@store.example.net/x", False),
        ("http://store.example.net/x", False),
        ("ftp://store.example.net/x", False),
        ("file:///etc/passwd", False),
    ],
)
def test_redirects_go_where_the_manifest_says(
    target: str, fine: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = settle(tmp_path, monkeypatch, unknown({"a.bin": b"content"}, redirects=["store.example.net"]))
    moved, there = Answer(302, Location=target), Answer(200, b"content", Content_Length="7")
    source = Source(lambda request: moved if "source.example.org" in str(request.url) else there)
    if fine:
        fetch("tiny", session=source.session())
        assert (folder / "a.bin").read_bytes() == b"content"
    else:
        refused(lambda: fetch("tiny", session=source.session()), "a host the manifest does not name: refused")
        assert len(source.seen) == 1 and not (folder / "a.bin").exists()


BAD_ANSWERS: dict[str, tuple[Answer, str]] = {
    "a page to log in": (Answer(200, b"<html>", Content_Length="6", Content_Type="text/html; charset=utf-8"), "web page"),
    "no length": (Answer(200, b"abc"), "how long"),
    "nothing": (Answer(200, b"", Content_Length="0"), "empty"),
    "too short": (Answer(200, b"abc", Content_Length="5"), "ended after 3 of 5 bytes|broke"),
    "too long": (Answer(200, b"abcdef", Content_Length="5"), "more than the 5 bytes|broke"),
    "packed": (Answer(200, b"abc", Content_Length="3", Content_Encoding="br"), "encoded"),
    "not there": (Answer(404), "HTTP 404"),
    "overloaded": (Answer(503), "HTTP 503"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_what_cannot_be_a_whole_file_is_refused(case: str, online: Path) -> None:
    answer, word = BAD_ANSWERS[case]
    source = Source(lambda request: answer)
    assert re.search(word, refused(lambda: fetch("tiny", session=source.session()), "DIR/tiny/LICENSE.md"))
    assert not (online / "LICENSE.md").exists() and not (online / ".seen.json").exists()


@pytest.mark.parametrize("vouches", [True, False])
def test_a_broken_line_is_resumed_where_the_server_vouches(
    vouches: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random.Random(3).randbytes(3 * download._BLOCK)
    monkeypatch.setattr(download, "PAUSE", 0.0)
    folder = settle(tmp_path, monkeypatch, unknown({"f.bin": data}))
    good, tries = honest({"f.bin": data}), 0

    def answer(request: Any) -> Answer:
        nonlocal tries
        tries += 1
        found = good(request)
        if vouches:
            found.headers["ETag"] = '"v1"'
            assert (tries == 1) or request.headers["If-Range"] == '"v1"'
        found.cut = 2 * download._BLOCK if tries == 1 else None
        return found

    source = Source(answer)
    fetch("tiny", session=source.session())
    assert (folder / "f.bin").read_bytes() == data
    assert [byte_range for _, byte_range in source.seen] == [None, f"bytes={2 * download._BLOCK}-" if vouches else None]


# --- what cannot be downloaded ----------------------------------------------------------------------------------------


def test_a_gated_collection_says_what_to_place_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = unknown(url="https://drive.example.org/", gated="Log in and unpack.", mirror="else/where")
    described.pop("commit")
    folder = settle(tmp_path, monkeypatch, described)
    source = Source(honest(FILES))
    says = ("Log in and unpack.", "data/b.csv", str(folder), "DIR/else/where")
    refused(lambda: fetch("tiny", session=source.session()), *says, error=ConfigError)
    assert source.seen == [] and not folder.exists()
    mirror(tmp_path / "mirror", {"LICENSE.md": FILES["LICENSE.md"]}, name="else/where")
    monkeypatch.setenv("SCIREP_DATA_MIRROR", str(tmp_path / "mirror"))
    line = refused(lambda: fetch("tiny"), "Place data/a.json, data/b.csv in", error=ConfigError)
    assert "LICENSE.md" not in line
    mirror(tmp_path / "mirror", FILES, name="else/where")
    fetch("tiny")
    assert catalogue()[0]["state"] == "complete" and catalogue()[0]["gated"] is True


# --- the real collection ----------------------------------------------------------------------------------------------


def test_the_manifest_of_csfcube_is_what_was_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCIREP_MANIFESTS", raising=False)
    csfcube = load_manifest("csfcube")
    assert len(csfcube.files) == 60 and csfcube.bytes == 9_829_829
    assert sum(f.path.startswith("readable_annotations/") for f in csfcube.files) == 50
    pool = next(f for f in csfcube.files if f.path.startswith("sample_ranked_pools/"))
    assert csfcube.url_of(pool).endswith(f"iesl/CSFCube/{csfcube.commit}/eval_scripts/{pool.path}")
    assert csfcube.expect["rated_pairs"] == 6244 and csfcube.licence.spdx == "CC-BY-NC-4.0"


@needs_mirror
def test_csfcube_is_complete_and_as_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    monkeypatch.delenv("SCIREP_MANIFESTS", raising=False)
    folder = fetch("csfcube")
    states = dict(verify("csfcube"))
    assert len(states) == 60 and set(states.values()) == {"ok"} and contents(folder).keys() == states.keys()
    gold = {(q, f): r for f in FACETS for q, r in read_json(folder / f"test-pid2anns-csfcube-{f}.json").items()}
    expect = load_manifest("csfcube").expect
    assert len(gold) == expect["query_facet_pairs"] and len({q for q, _ in gold}) == expect["query_papers"]
    assert sum(len(rows["cands"]) for rows in gold.values()) == expect["rated_pairs"]
    with_text = {q for q, _ in gold} | {c for rows in gold.values() for c in rows["cands"]}
    assert len(with_text) == expect["texts"]
    assert [expect["first_id"], expect["last_id"]] == [min(with_text, key=int), max(with_text, key=int)]
