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
from scripts import alone
from small_collection import Answer, Source, description, honest, mirror, publish, settle, sha256, unknown
from small_files import at, contents, refused

from scirep_core.data.manifests import catalogue, download, fetch, list_manifests, load_manifest, local_folder, verify
from scirep_core.kit.errors import CacheError, ConfigError
from scirep_core.kit.records import read_object

FILES = {"LICENSE.md": b"do as you like\n", "data/a.json": b'{"a": 1}\n' * 500, "data/b.csv": b"id,x\n1,2\n" * 30}
A = "data/a.json"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    mirror(tmp_path / "mirror", FILES)
    return settle(tmp_path, monkeypatch, description(FILES), mirrored=True)


def test_a_manifest_says_what_it_says(folder, tmp_path, monkeypatch):
    manifest = load_manifest("tiny")
    assert [f.path for f in manifest.files] == list(FILES)
    assert manifest.bytes == sum(map(len, FILES.values()))
    assert manifest.url_of(manifest.files[1]).endswith("4567/data/a.json")
    assert dict(manifest.expect) == {"rows": 3, "first_id": "1"}
    assert list_manifests() == ["tiny"] and local_folder("tiny") == folder
    described = unknown(
        FILES, url="https://hub.example.org/resolve/{revision}/{source}", revision="refs/convert/parquet"
    )
    described["files"][0]["source"] = "deep/er/a b.json"
    described.pop("commit")
    settle(tmp_path, monkeypatch, described)
    address = load_manifest("tiny").url_of(load_manifest("tiny").files[0])
    assert address == "https://hub.example.org/resolve/refs%2Fconvert%2Fparquet/deep/er/a%20b.json"


def changed(described, key, value):
    """Set a key of a manifest, of its licence ... or of its first file (`files/path`); without a value (...) it goes."""
    part, _, name = key.rpartition("/")
    row = described if not part else described["files"][0] if part == "files" else described[part]
    row.pop(name) if value is ... else row.update({name: value})


ADDRESSES = (
    "http://a.org/{commit}/{source}", "file:///etc/{commit}/{source}", "ftp://a.org/{commit}/{source}",
    "httpS+x://a.org/{commit}/{source}", "https://me:pw@a.org/{commit}/{source}", "https://a.org:8443/{commit}/{source}",
    "https://a.org/../{commit}/{source}", "https://[::1/{commit}/{source}",
)  # fmt: skip
PATHS = ("/etc/passwd", "../x", "a/../../x", "a\\..\\x", "C:x", ".incoming/x", "a//x", "a\nb")
UNSEEN = {"files/sha256": None, "files/bytes": None}
BAD: list[tuple[str, str, tuple[Any, ...]]] = [
    # key, what is said, of which values
    ("url", "https", ADDRESSES),
    ("url", "{source}", ("https://a.org/{commit.__class__}/{source}", "https://a.org/{commit}/file")),
    ("url", "{commit}", ("https://a.org/{source}",)),
    ("commit", "hexadecimal", ("master",)),
    ("homepage", "https", ("http://a.org",)),
    ("licence", "'licence' is missing", (...,)),
    ("licence/url", "https", ("javascript:x",)),
    ("licence/notice", "'notice' is missing", (...,)),
    ("licence/spxd", "did you mean 'spdx'", ("MIT",)),
    ("tilte", "did you mean 'title'", ("x",)),
    ("name", "not the file's name", ("other",)),
    ("title", "'title' must be str", (3,)),
    ("files", "empty", ([],)),
    ("files", "'files' must be list", ("all",)),
    ("files", "keys and values", (["x"],)),
    ("files", "clashes", ([{"path": "a", "bytes": 1, "sha256": "0" * 64} for _ in range(2)],)),
    ("files/sha265", "did you mean 'sha256'", ("x",)),
    ("files/path", "plain relative path", PATHS),
    ("files/path", "clashes", ("data/A.json", "data")),
    ("files/source", "plain relative path", ("../x", "x?y")),
    ("files/sha256", "64", ("ab", "A" * 64)),
    ("files/sha256", "'sha256' must be str", (12, None)),
    ("files/bytes", "positive", (0, -1)),
    ("files/bytes", "'bytes' must be int", (True, "12", None)),
    ("files/bytes", "'bytes' is missing", (...,)),
    ("files/unpack", "cannot unpack", (True,)),
    ("verified", "Valid: full, no, sample", ("half",)),
    ("verified", "'verified' must be str", (False,)),
    ("revision", "{revision}", ("0" * 40,)),
    ("mirror", "plain relative path", ("../else",)),
    ("gated", "gated is empty", (" ",)),
    ("gated", "unless gated", ("by hand",)),
    ("needed_for", "not a task's name", ([["a"]],)),
    ("needed_for", "named once", (["a/b", "a/b"],)),
    ("redirects", "not a domain", (["https://b.org"], ["*"])),
    ("counts", "'source' is missing", ({"rows": 3},)),
    ("counts", "'rows' must be int", ({"source": "x", "rows": "3"},)),
    ("expect/rows", "'rows' must be int or str", ([1],)),
]
TOGETHER: list[tuple[dict[str, Any], str]] = [
    ({"verified": "full"} | UNSEEN, "was read"), ({"verified": "sample"} | UNSEEN, "read"),
    ({"url": "https://a.org/{commit}/{revision}/{source}", "revision": "main"}, "refs/convert/parquet"),
    *(({key: value}, says) for key, says, values in BAD for value in values),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "says"), TOGETHER, ids=map(str, range(len(TOGETHER))))
def test_a_bad_manifest_is_refused(changes, says, tmp_path, monkeypatch):
    described = description(FILES)
    for key, value in changes.items():
        changed(described, key, value)
    path = publish(tmp_path, described).rename(tmp_path / "tiny.yaml")
    monkeypatch.setenv("SCIREP_MANIFESTS", str(tmp_path))
    named = re.match(rf"{path}:(\d+): ", refused(lambda: load_manifest("tiny"), says))
    assert named and (changes != {"files/path": "../x"} or "../x" in path.read_text().splitlines()[int(named[1]) - 1])


@pytest.mark.parametrize(("text", "line", "word"), [
    ("name: tiny\nname: tiny\n", 2, "given twice"), ("name: tiny\nfiles:\n  - {path: a, path: b}\n", 3, "given twice"),
    ("name: tiny\ntitle: !!python/object/apply:os.system [ls]\n", 2, "not plain YAML"),
    ("name: [tiny\ntitle: x\n", 2, "not plain YAML"), ("- a\n- b\n", 1, "keys and values"), ("", 1, "keys and values"),
    ("name: \udcff\n", None, "UTF-8"),
])  # fmt: skip
def test_a_file_that_is_no_manifest(text, line, word, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIREP_MANIFESTS", str(tmp_path))
    (tmp_path / "tiny.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(lambda: load_manifest("tiny"), at(tmp_path / "tiny.yaml", line), word)


def test_unknown_names_are_refused(folder):
    for name in ("tinny", "../tiny", "/etc/passwd", "TINY", ""):
        for call in (load_manifest, fetch, verify, local_folder):
            if (name, call) != ("tinny", local_folder):  # it need not be there
                refused(lambda call=call, name=name: call(name), "Valid: tiny", error=ConfigError)


@pytest.mark.parametrize(
    ("variable", "value", "says", "error"),
    [("SCIREP_MANIFESTS", "gone", "SCIREP_MANIFESTS", ConfigError), ("SCIREP_HOME", "file", "cannot write", CacheError),
     ("SCIREP_DATA_MIRROR", "gone", "gone: no such folder", ConfigError)],
)  # fmt: skip
def test_a_place_that_cannot_be_used_is_named(variable, value, says, error, folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv(variable, str(tmp_path / value))
    refused(lambda: fetch("tiny"), says, str(tmp_path / value), error=error)


def test_fetch_brings_every_file_says_so_and_then_needs_neither_mirror_nor_writing(folder, monkeypatch):
    said: list[str] = []
    assert catalogue()[0]["state"] == "absent"
    assert fetch("tiny", said.append) == folder
    assert contents(folder) == FILES
    assert sum("CC0: do as you like" in line for line in said) == 1 and "3 of 3 files, 4.8 kB" in said[0]
    assert verify("tiny") == [(path, "ok") for path in FILES]
    row = {"name": "tiny", "title": "A tiny collection", "paper": "Nobody 2000", "licence": "CC0-1.0", "files": 3}
    row |= {"bytes": sum(map(len, FILES.values())), "unseen": 0, "verified": "no", "gated": False}
    assert catalogue() == [row | {"state": "complete"}]
    before = {p: p.stat().st_mtime_ns for p in folder.parent.rglob("*")}
    monkeypatch.setenv("SCIREP_DATA_MIRROR", str(folder / "nowhere"))
    assert fetch("tiny", said.clear) == folder
    assert said and {p: p.stat().st_mtime_ns for p in folder.parent.rglob("*")} == before


def test_damage_is_named_and_repaired(folder):
    fetch("tiny")
    damage = {"altered": bytes([FILES[A][0] ^ 1]) + FILES[A][1:], "truncated": FILES[A][:-1], "missing": None}
    for state, content in damage.items():
        (folder / A).unlink() if content is None else (folder / A).write_bytes(content)
        assert dict(verify("tiny")) == {"LICENSE.md": "ok", A: state, "data/b.csv": "ok"}
        assert catalogue()[0]["state"] == "partial"
        said: list[str] = []
        fetch("tiny", said.append)
        assert contents(folder) == FILES and "1 of 3 files" in said[0]
        assert ("was " + state in said[1]) == (state != "missing")
    rng = random.Random(7)
    for _ in range(150):  # C1: every flipped bit is noticed
        path = rng.choice(list(FILES))
        data = bytearray(FILES[path])
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (folder / path).write_bytes(data)
        assert dict(verify("tiny"))[path] == "altered"
    fetch("tiny")
    assert contents(folder) == FILES


@pytest.mark.parametrize("spoilt", [FILES[A][:-1], FILES[A] + b"x", b"X" + FILES[A][1:], b""])
def test_an_altered_mirror_file_is_named_and_not_stored(spoilt, folder, tmp_path):
    bad = mirror(tmp_path / "mirror", {A: spoilt}) / "tiny" / A
    refused(lambda: fetch("tiny"), str(bad), sha256(FILES[A]), sha256(spoilt), "unset SCIREP_DATA_MIRROR")
    assert [p for p in folder.rglob("*") if p.is_file()] == [folder / "LICENSE.md"]


def test_a_full_disk_is_one_clear_line(folder, monkeypatch):
    failures = iter([None, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))])

    def full(stream):
        if error := next(failures):
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(download, "_sync", full)
        said = refused(lambda: fetch("tiny"), error=CacheError)
    assert re.search(r"No space left on device.*Free space.*SCIREP_HOME.*4.8 kB", said)
    assert [s for _, s in verify("tiny")] == ["ok", "missing", "missing"]
    fetch("tiny")
    assert contents(folder) == FILES


def test_eight_processes_at_once(folder):
    script = "from scirep_core.data.manifests import fetch; fetch('tiny')"
    running = [subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) for _ in range(8)]
    for process in running:
        assert process.communicate()[1] == b"" and process.returncode == 0
    assert contents(folder) == FILES


def test_who_comes_second_waits(folder):
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


def test_import_is_light():
    """The command line reads names before it needs the network: neither requests nor filelock is loaded for that."""
    names = "import sys; from scirep_core.data import manifests; manifests.list_manifests(); "
    alone(names + "assert not {'requests', 'torch', 'filelock'} & set(sys.modules)")


@pytest.fixture
def new(tmp_path, monkeypatch):
    mirror(tmp_path / "mirror", FILES)
    monkeypatch.setattr(download, "PAUSE", 0.0)
    return settle(tmp_path, monkeypatch, unknown(FILES), mirrored=True)


def recorded(folder: Path):
    return read_object(folder / ".seen.json")


def test_what_comes_is_written_down_said_on_stderr_and_must_not_change_from_then_on(new, tmp_path, capsys):
    assert load_manifest("tiny").unseen == 3 and load_manifest("tiny").bytes == 0
    assert {state for _, state in verify("tiny")} == {"missing"}
    fetch("tiny")
    said = capsys.readouterr()
    assert said.out == "" and "3 files was not known beforehand" in said.err and ".seen.json" in said.err
    assert contents(new).items() >= FILES.items()
    assert {path: (row["sha256"], row["bytes"]) for path, row in recorded(new).items()} == {
        path: (sha256(data), len(data)) for path, data in FILES.items()
    }
    assert recorded(new)["LICENSE.md"]["from"] == "mirror:tiny/LICENSE.md"
    assert catalogue()[0]["state"] == "complete" and catalogue()[0]["unseen"] == 3
    (new / A).write_bytes(b"[]" + FILES[A][2:])
    assert dict(verify("tiny"))[A] == "altered"
    fetch("tiny")  # the source still has it
    assert contents(new).items() >= FILES.items() and capsys.readouterr().err == ""
    (new / A).unlink()
    (tmp_path / "mirror/tiny" / A).write_bytes(b"other")
    refused(lambda: fetch("tiny"), f".seen.json: {A} from mirror:tiny/{A} has sha256", sha256(b"other"))
    assert not (new / A).exists()
    (new / ".seen.json").write_text('{"LICENSE.md": {"sha256": 3, "bytes": 1, "from": ""}}')
    refused(lambda: verify("tiny"), ".seen.json: field 'sha256'")
    (new / ".seen.json").write_text('{"LICENSE.md": 3}')
    refused(lambda: verify("tiny"), "entry 'LICENSE.md' is no object")


def test_files_put_in_place_by_hand(new, monkeypatch):
    monkeypatch.delenv("SCIREP_DATA_MIRROR")
    mirror(new.parent, FILES)
    assert {state for _, state in verify("tiny")} == {"unknown"} and catalogue()[0]["state"] == "partial"
    assert not (new / ".seen.json").exists()  # looking writes nothing
    fetch("tiny")
    assert catalogue()[0]["state"] == "complete" and recorded(new)[A]["from"] == "put in place by hand"


def test_only_a_part(new):
    fetch("tiny", parts=["data"])
    assert [state for _, state in verify("tiny")] == ["missing", "ok", "ok"] and catalogue()[0]["state"] == "partial"
    refused(lambda: fetch("tiny", parts=["dat"]), "no part 'dat'; did you mean 'data'", error=ConfigError)


AWAY = (
    "https://evilstore.example.net/x", "https://store.example.net.evil.org/x", "https://store.example.net@evil.org/x",
    "https://store.example.net:8443/x", "https://me@store.example.net/x", "http://store.example.net/x",
    "ftp://store.example.net/x", "file:///etc/passwd",
)  # fmt: skip


@pytest.mark.parametrize("to", ["https://cdn.store.example.net/x?signed=1", "https://store.example.net/x", *AWAY])
def test_redirects_go_where_the_manifest_says_and_nowhere_else(to, tmp_path, monkeypatch):
    folder = settle(tmp_path, monkeypatch, unknown({"a.bin": b"content"}, redirects=["store.example.net"]))
    moved, there = Answer(302, Location=to), Answer(200, b"content", Content_Length="7")
    source = Source(lambda request: moved if "source.example.org" in str(request.url) else there)
    if to in AWAY:
        refused(lambda: fetch("tiny", session=source.session()), "a host the manifest does not name: refused")
        assert len(source.seen) == 1 and not (folder / "a.bin").exists()
        return
    fetch("tiny", session=source.session())
    assert (folder / "a.bin").read_bytes() == b"content" and not (folder / ".incoming").exists()
    assert recorded(folder)["a.bin"]["from"].startswith("https://source.example.org/0123")


BAD_ANSWERS = {
    "a page to log in": (Answer(200, b"<html>", Content_Length="6", Content_Type="text/html; charset=utf-8"), "web page"),
    "no length": (Answer(200, b"abc"), "how long"),
    "nothing": (Answer(200, b"", Content_Length="0"), "empty"),
    "too short": (Answer(200, b"abc", Content_Length="5"), "ended after 3 of 5 bytes|broke"),
    "too long": (Answer(200, b"abcdef", Content_Length="5"), "more than the 5 bytes|broke"),
    "packed": (Answer(200, b"abc", Content_Length="3", Content_Encoding="br"), "encoded"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_what_cannot_be_a_whole_file_is_refused(case, new, monkeypatch):
    monkeypatch.delenv("SCIREP_DATA_MIRROR")
    answer, word = BAD_ANSWERS[case]
    source = Source(lambda request: answer)
    assert re.search(word, refused(lambda: fetch("tiny", session=source.session()), "DIR/tiny/LICENSE.md"))
    assert not (new / "LICENSE.md").exists() and not (new / ".seen.json").exists()


@pytest.mark.parametrize("etag", ['"v1"', ""])
def test_a_broken_line_is_resumed_where_the_server_vouches(etag, tmp_path, monkeypatch):
    data, broken = random.Random(3).randbytes(3 * download._BLOCK), 2 * download._BLOCK
    monkeypatch.setattr(download, "PAUSE", 0.0)
    folder = settle(tmp_path, monkeypatch, unknown({"f.bin": data}))

    def answer(request):
        found = honest({"f.bin": data})(request)
        found.headers |= {"ETag": etag} if etag else {}
        assert len(source.seen) == 1 or request.headers.get("If-Range", "") == etag
        found.cut = broken if len(source.seen) == 1 else None
        return found

    source = Source(answer)
    fetch("tiny", session=source.session())
    assert (folder / "f.bin").read_bytes() == data
    assert [byte_range for _, byte_range in source.seen] == [None, f"bytes={broken}-" if etag else None]


def test_a_gated_collection_says_what_to_place_where(tmp_path, monkeypatch):
    described = unknown(FILES, url="https://drive.example.org/", gated="Log in and unpack.", mirror="else/where")
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
