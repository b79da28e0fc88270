"""S1: an archive can do nothing but fill its folder. Every attack is refused, and nothing appears outside the target."""

from __future__ import annotations

import gzip
import io
import random
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_collection import description, mirror, settle
from small_files import contents
from small_files import refused as refuses

from scirep_core.data.manifests import catalogue, fetch, verify
from scirep_core.data.manifests.unpack import MARKER, Limits, faults, unpack
from scirep_core.kit.errors import CacheError, DataError
from scirep_core.kit.store import sha256_file

FILES = {"a.txt": b"alpha " * 50, "sub/b.bin": random.Random(1).randbytes(3000), "sub/deep/c.txt": b"\xc3\xa9"}
KINDS = ("zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz")
DEFAULT = Limits()
Item = tuple[tarfile.TarInfo, bytes]


def regular(name: str, data: bytes = b"x") -> Item:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info, data


def special(name: str, kind: bytes, target: str = "") -> Item:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def tar(path: Path, items: list[Item]) -> Path:
    suffix = path.name.rsplit(".", 1)[1].replace("tgz", "gz")
    with tarfile.open(path, "w:" + suffix.replace("tar", "")) as archive:  # type: ignore[call-overload]
        for info, data in items:
            archive.addfile(info, io.BytesIO(data) if data else None)
    return path


def zipped(path: Path, items: list[tuple[str, bytes]], mode: int = 0, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in items:
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = method, mode << 16
            archive.writestr(info, data)
    return path


def make(path: Path, files: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        return zipped(path, list(files.items()))
    return tar(path, [regular(name, data) for name, data in files.items()])


def refused(archive: Path, tmp_path: Path, *says: str, limits: Limits = DEFAULT) -> None:
    """Unpack, expect a refusal that names the archive and says so, and that nothing but the archive is left."""
    before = sorted(tmp_path.rglob("*"))
    refuses(lambda: unpack(archive, tmp_path / "in" / "target", limits), str(archive), *says)
    (tmp_path / "in").rmdir()
    assert sorted(tmp_path.rglob("*")) == before, "something was left behind or written outside"


def gzipped(path: Path, *parts: bytes) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.writelines(parts)
    return path


def header(name: str, kind: bytes, size: int) -> bytes:
    """The header of an entry that announces a size."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", KINDS)
def test_what_goes_in_comes_out(kind: str, tmp_path: Path) -> None:
    archive = make(tmp_path / f"x.{kind}", FILES)
    folder = unpack(archive, tmp_path / "out" / "x")
    found = contents(folder)
    found.pop(MARKER)
    assert found == FILES and [p.name for p in (tmp_path / "out").iterdir()] == ["x"]
    stamp = (folder / "a.txt").stat().st_mtime_ns
    assert unpack(archive, folder) == folder and (folder / "a.txt").stat().st_mtime_ns == stamp


SPOILS: dict[str, Callable[[Path, Path], Any]] = {
    "alter": lambda archive, folder: (folder / "a.txt").write_bytes(b"omega " * 50),
    "remove": lambda archive, folder: (folder / "sub/b.bin").unlink(),
    "marker gone": lambda archive, folder: (folder / MARKER).unlink(),
    "marker garbled": lambda archive, folder: (folder / MARKER).write_text('{"files": [1]}'),
    "other archive": lambda archive, folder: make(archive, FILES | {"a.txt": b"new"}),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_spoilt_folder_is_unpacked_again(spoil: str, tmp_path: Path) -> None:
    archive = make(tmp_path / "x.zip", FILES)
    folder = unpack(archive, tmp_path / "x")
    SPOILS[spoil](archive, folder)
    assert faults(folder, sha256_file(archive))
    unpack(archive, folder)
    assert not faults(folder, sha256_file(archive))
    assert contents(folder)["a.txt"] == (b"new" if spoil == "other archive" else FILES["a.txt"])


UNSAFE = ["../out", "a/../../out", "/abs", "//abs", "./../out", "a/./b", "a//b", "..", "a\\..\\b", "C:x", "a\nb", "a\x7fb",
          "x" * 256, MARKER]  # fmt: skip


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_unsafe_names(name: str, kind: str, tmp_path: Path) -> None:
    refused(make(tmp_path / f"x.{kind}", {"fine.txt": b"fine", name: b"evil"}), tmp_path, "unsafe name")


@pytest.mark.parametrize("name", ["../out/", "/abs/", "/", "a//b/"])
def test_unsafe_folders(name: str, tmp_path: Path) -> None:
    refused(zipped(tmp_path / "x.zip", [(name, b"")]), tmp_path, "unsafe name")
    if name != "/":  # tarfile reads it as the folder itself, which is harmless
        refused(tar(tmp_path / "x.tar", [special(name, tarfile.DIRTYPE)]), tmp_path, "unsafe name")


def test_a_name_cut_by_nul(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", [("a.txt", b"x")])
    archive.write_bytes(archive.read_bytes().replace(b"a.txt", b"a\x00txt"))
    refused(archive, tmp_path, "unsafe name")


@pytest.mark.parametrize(
    ("kind", "words"),
    [(tarfile.SYMTYPE, "symbolic link"), (tarfile.LNKTYPE, "hard link"),
     *((kind, "device or pipe") for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"V"))],
)  # fmt: skip
@pytest.mark.parametrize("target", ["../../etc/passwd", "/etc/passwd", "fine.txt"])
def test_links_and_devices_in_tar(kind: bytes, words: str, target: str, tmp_path: Path) -> None:
    items = [regular("fine.txt"), special("link", kind, target), regular("link/evil")]
    refused(tar(tmp_path / "x.tar.gz", items), tmp_path, words)


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_zip(mode: int, tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", [("link", b"/etc/passwd")], mode | 0o777)
    refused(archive, tmp_path, "symbolic link" if mode == stat.S_IFLNK else "device or pipe")


def test_encrypted_zip(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", [("a.txt", b"secret")])
    data = bytearray(archive.read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    refused(archive, tmp_path, "encrypted")


@pytest.mark.parametrize(
    ("names", "words"),
    [(["a", "a"], "occurs twice"), (["a", "A"], "occurs twice"), (["d/x", "D/X"], "occurs twice"),
     (["a", "./a"], "occurs twice"), (["a", "a/b"], "lies inside another entry"), (["a/b", "a"], "occurs twice")],
)  # fmt: skip
def test_names_that_clash(names: list[str], words: str, tmp_path: Path) -> None:
    refused(tar(tmp_path / "x.tar", [regular(n) for n in names]), tmp_path, words)


def test_folders_may_repeat(tmp_path: Path) -> None:
    items = [special("./", tarfile.DIRTYPE), special("d", tarfile.DIRTYPE), special("./d/", tarfile.DIRTYPE)]
    folder = unpack(tar(tmp_path / "x.tar", [*items, regular("./d/a")]), tmp_path / "x")
    assert set(contents(folder)) == {"d/a", MARKER}


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_too_many_entries(kind: str, tmp_path: Path) -> None:
    archive = make(tmp_path / f"x.{kind}", {f"f{i}": b"" for i in range(51)})
    refused(archive, tmp_path, "more than 50 entries", limits=Limits(entries=50))
    unpack(archive, tmp_path / "x", Limits(entries=51))


def test_a_million_entries(tmp_path: Path) -> None:
    """The default limits: a small file that announces a million folders is left after the hundred thousandth."""
    folders = special("d", tarfile.DIRTYPE)[0].tobuf() * 1000
    refused(gzipped(tmp_path / "x.tar.gz", *[folders] * 1000), tmp_path, "more than 100000 entries")


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tar.bz2", "tar.xz"])
@pytest.mark.parametrize(
    "files", [{"bomb": bytes(8 << 20)}, {f"b{i}": bytes(1 << 18) for i in range(32)}], ids=["one", "many"]
)
def test_a_bomb_is_not_set_off(kind: str, files: dict[str, bytes], tmp_path: Path) -> None:
    """A thousand to one and more."""
    refused(make(tmp_path / f"x.{kind}", files), tmp_path, "over 1048576 bytes", limits=Limits(ratio=20))


def test_a_total_limit(tmp_path: Path) -> None:
    archive = make(tmp_path / "x.tar", {"a": b"x" * 600, "b": b"x" * 600})
    refused(archive, tmp_path, "over 1000 bytes", limits=Limits(total_bytes=1000))
    unpack(archive, tmp_path / "x", Limits(total_bytes=1200))


TARS: dict[str, tuple[list[bytes], Limits, str]] = {
    "metadata that would fill memory: a tar header may announce any length for a name": (
        [header("././@LongLink", tarfile.GNUTYPE_LONGNAME, 8 << 20), b"a" * (8 << 20)], DEFAULT, "a header of"),
    "headers within headers": (
        [header("x", tarfile.XHDTYPE, 11) + b"11 path=ab\n".ljust(512, b"\0")] * 5000, DEFAULT, "damaged"),
    "what follows the end mark is read for its checksum, and counts too": (
        [regular("a")[0].tobuf(), b"x".ljust(512, b"\0"), bytes(1 << 20)], Limits(total_bytes=1000), "unpacks to more than"),
    "a negative size": ([header("a", tarfile.REGTYPE, -5)], DEFAULT, "does not hold"),
}  # fmt: skip


@pytest.mark.parametrize("case", TARS)
def test_hostile_headers(case: str, tmp_path: Path) -> None:
    parts, limits, words = TARS[case]
    refused(gzipped(tmp_path / "x.tar.gz", *parts, bytes(1024)), tmp_path, words, limits=limits)


@pytest.mark.parametrize("lie", [10, 6000])
def test_a_zip_that_lies_about_its_sizes(lie: int, tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", [("a", b"x" * 5000)])
    archive.write_bytes(archive.read_bytes().replace((5000).to_bytes(4, "little"), lie.to_bytes(4, "little")))
    refused(archive, tmp_path, "damaged")


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_archives(kind: str, tmp_path: Path) -> None:
    """C2 for archives: cut at 20 lengths each; whatever is accepted is complete (a tar has idle padding at its end)."""
    whole = make(tmp_path / f"whole.{kind}", FILES).read_bytes()
    rng = random.Random(2)
    archive = tmp_path / f"x.{kind}"
    accepted = 0
    for length in [0, len(whole) - 1, *(rng.randrange(len(whole)) for _ in range(18))]:
        archive.write_bytes(whole[:length])
        target = tmp_path / f"out{length}"
        try:
            unpack(archive, target)
        except DataError:
            assert not target.exists()
        else:
            accepted += 1
            assert contents(target).items() >= FILES.items()
    assert kind == "tar" or accepted == 0


def test_what_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "x.rar").write_bytes(b"Rar!")
    refused(tmp_path / "x.rar", tmp_path, "not an archive by its name")
    (tmp_path / "x.zip").write_bytes(b"no zip")
    refused(tmp_path / "x.zip", tmp_path, "damaged or unknown")
    refuses(lambda: unpack(tmp_path / "gone.zip", tmp_path / "x"), "file not found")


def test_a_disk_that_cannot_take_it(tmp_path: Path) -> None:
    archive = make(tmp_path / "x.zip", FILES)
    (tmp_path / "file").write_text("not a folder")
    refuses(lambda: unpack(archive, tmp_path / "file" / "x"), "cannot unpack here", error=CacheError)


def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> Path:
    """A mirrored collection whose first file is to be unpacked; returns its folder."""
    described = description(files)
    described["files"][0]["unpack"] = True
    mirror(tmp_path / "mirror", files)
    return settle(tmp_path, monkeypatch, described, mirrored=True)


def test_a_manifest_unpacks_its_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through `fetch`: unpacked beside the archive, verified with it, repaired when a file inside is spoilt."""
    data = make(tmp_path / "pack.tar.gz", FILES).read_bytes()
    folder = packed(tmp_path, monkeypatch, {"d/pack.tar.gz": data, "notes.txt": b"n"})
    said: list[str] = []
    fetch("tiny", said.append)
    assert said[-1] == "tiny: unpacked d/pack.tar.gz" and contents(folder / "d/pack").items() >= FILES.items()
    assert verify("tiny") == [("d/pack.tar.gz", "ok"), ("notes.txt", "ok")]
    (folder / "d/pack/sub/b.bin").write_bytes(b"short")
    assert verify("tiny")[1] == ("d/pack/sub/b.bin", "truncated") and catalogue()[0]["state"] == "partial"
    fetch("tiny")
    assert catalogue()[0]["state"] == "complete" and sorted(p.name for p in folder.iterdir()) == ["d", "notes.txt"]


def test_a_hostile_archive_behind_a_right_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tar(tmp_path / "pack.tar", [special("l", tarfile.SYMTYPE, "/etc")]).read_bytes()
    folder = packed(tmp_path, monkeypatch, {"pack.tar": data})
    refuses(lambda: fetch("tiny"), "symbolic link")
    assert not (folder / "pack").exists() and catalogue()[0]["state"] == "partial"


def test_an_unpack_folder_may_not_clash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed(tmp_path, monkeypatch, {"pack.tar": b"x", "pack/a": b"y"})
    refuses(lambda: fetch("tiny"), "clashes")
