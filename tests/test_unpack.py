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

from scirep_core.data.manifests import catalogue, fetch, verify
from scirep_core.data.manifests.unpack import MARKER, Limits, faults, unpack
from scirep_core.kit.errors import CacheError, DataError

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


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def refused(archive: Path, tmp_path: Path, limits: Limits = DEFAULT) -> str:
    """Unpack, expect one line of refusal, and that nothing but the archive is left; return the line."""
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DataError) as caught:
        unpack(archive, tmp_path / "in" / "target", limits)
    (tmp_path / "in").rmdir()
    assert sorted(tmp_path.rglob("*")) == before, "something was left behind or written outside"
    assert str(archive) in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_what_goes_in_comes_out(kind: str, tmp_path: Path) -> None:
    archive = make(tmp_path / f"x.{kind}", FILES)
    folder = unpack(archive, tmp_path / "out" / "x")
    found = contents(folder)
    found.pop(MARKER)
    assert found == FILES and [p.name for p in (tmp_path / "out").iterdir()] == ["x"]
    stamp = (folder / "a.txt").stat().st_mtime_ns
    assert unpack(archive, folder) == folder and (folder / "a.txt").stat().st_mtime_ns == stamp


@pytest.mark.parametrize("spoil", ["alter", "remove", "marker gone", "marker garbled", "other archive"])
def test_a_spoilt_folder_is_unpacked_again(spoil: str, tmp_path: Path) -> None:
    archive = make(tmp_path / "x.zip", FILES)
    folder = unpack(archive, tmp_path / "x")
    marker = folder / MARKER
    actions: dict[str, Callable[[], Any]] = {
        "alter": lambda: (folder / "a.txt").write_bytes(b"omega " * 50),
        "remove": (folder / "sub/b.bin").unlink,
        "marker gone": marker.unlink,
        "marker garbled": lambda: marker.write_text('{"files": [1]}'),
        "other archive": lambda: make(archive, FILES | {"a.txt": b"new"}),
    }
    actions[spoil]()
    digest = unpack_digest(archive)
    assert faults(folder, digest)
    unpack(archive, folder)
    assert not faults(folder, digest)
    assert contents(folder)["a.txt"] == (b"new" if spoil == "other archive" else FILES["a.txt"])


def unpack_digest(archive: Path) -> str:
    from scirep_core.kit.store import sha256_file

    return sha256_file(archive)


UNSAFE = [
    "../out",
    "a/../../out",
    "/abs",
    "//abs",
    "./../out",
    "a/./b",
    "a//b",
    "..",
    "a\\..\\b",
    "C:x",
    "a\nb",
    "a\x7fb",
    "x" * 256,
    MARKER,
]


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_unsafe_names(name: str, kind: str, tmp_path: Path) -> None:
    archive = tmp_path / f"x.{kind}"
    make(archive, {"fine.txt": b"fine", name: b"evil"})
    assert "unsafe name" in refused(archive, tmp_path)


@pytest.mark.parametrize("name", ["../out/", "/abs/", "/", "a//b/"])
def test_unsafe_folders(name: str, tmp_path: Path) -> None:
    assert "unsafe name" in refused(zipped(tmp_path / "x.zip", [(name, b"")]), tmp_path)
    if name != "/":  # tarfile reads it as the folder itself, which is harmless
        (tmp_path / "x.zip").unlink()
        assert "unsafe name" in refused(tar(tmp_path / "x.tar", [special(name, tarfile.DIRTYPE)]), tmp_path)


def test_a_name_cut_by_nul(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", [("a.txt", b"x")])
    archive.write_bytes(archive.read_bytes().replace(b"a.txt", b"a\x00txt"))
    assert "unsafe name" in refused(archive, tmp_path)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (tarfile.SYMTYPE, "symbolic link"),
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.CHRTYPE, "device or pipe"),
        (tarfile.BLKTYPE, "device or pipe"),
        (tarfile.FIFOTYPE, "device or pipe"),
        (b"V", "device or pipe"),
    ],
)
@pytest.mark.parametrize("target", ["../../etc/passwd", "/etc/passwd", "fine.txt"])
def test_links_and_devices_in_tar(kind: bytes, words: str, target: str, tmp_path: Path) -> None:
    archive = tar(tmp_path / "x.tar.gz", [regular("fine.txt"), special("link", kind, target), regular("link/evil")])
    assert words in refused(archive, tmp_path)


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_zip(mode: int, tmp_path: Path) -> None:
    line = refused(zipped(tmp_path / "x.zip", [("link", b"/etc/passwd")], mode | 0o777), tmp_path)
    assert ("symbolic link" if mode == stat.S_IFLNK else "device or pipe") in line


def test_encrypted_zip(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", [("a.txt", b"secret")])
    data = bytearray(archive.read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    assert "encrypted" in refused(archive, tmp_path)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a", "a"], "occurs twice"),
        (["a", "A"], "occurs twice"),
        (["d/x", "D/X"], "occurs twice"),
        (["a", "./a"], "occurs twice"),
        (["a", "a/b"], "lies inside another entry"),
        (["a/b", "a"], "occurs twice"),
    ],
)
def test_names_that_clash(names: list[str], words: str, tmp_path: Path) -> None:
    assert words in refused(tar(tmp_path / "x.tar", [regular(n) for n in names]), tmp_path)


def test_folders_may_repeat(tmp_path: Path) -> None:
    items = [special("./", tarfile.DIRTYPE), special("d", tarfile.DIRTYPE), special("./d/", tarfile.DIRTYPE)]
    folder = unpack(tar(tmp_path / "x.tar", [*items, regular("./d/a")]), tmp_path / "x")
    assert set(contents(folder)) == {"d/a", MARKER}


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_too_many_entries(kind: str, tmp_path: Path) -> None:
    archive = make(tmp_path / f"x.{kind}", {f"f{i}": b"" for i in range(51)})
    assert "more than 50 entries" in refused(archive, tmp_path, Limits(entries=50))
    unpack(archive, tmp_path / "x", Limits(entries=51))


def test_a_million_entries(tmp_path: Path) -> None:
    """The default limits: a small file that announces a million folders is left after the hundred thousandth."""
    header = special("d", tarfile.DIRTYPE)[0].tobuf()
    with gzip.open(tmp_path / "x.tar.gz", "wb", compresslevel=1) as stream:
        for _ in range(1000):
            stream.write(header * 1000)
    assert "more than 100000 entries" in refused(tmp_path / "x.tar.gz", tmp_path)


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tar.bz2", "tar.xz"])
def test_a_bomb_is_not_set_off(kind: str, tmp_path: Path) -> None:
    """A thousand to one and more; one large file, and many small ones."""
    for files in ({"bomb": bytes(8 << 20)}, {f"b{i}": bytes(1 << 18) for i in range(32)}):
        archive = make(tmp_path / f"x.{kind}", files)
        assert "over 1048576 bytes" in refused(archive, tmp_path, Limits(ratio=20))
        archive.unlink()


def test_a_total_limit(tmp_path: Path) -> None:
    archive = make(tmp_path / "x.tar", {"a": b"x" * 600, "b": b"x" * 600})
    assert "over 1000 bytes" in refused(archive, tmp_path, Limits(total_bytes=1000))
    unpack(archive, tmp_path / "x", Limits(total_bytes=1200))


def test_a_bomb_in_the_header(tmp_path: Path) -> None:
    """Metadata that would fill memory: a tar header may announce any length for a name."""
    name = tarfile.TarInfo("././@LongLink")
    name.type, name.size = tarfile.GNUTYPE_LONGNAME, 8 << 20
    with gzip.open(tmp_path / "x.tar.gz", "wb") as stream:
        stream.write(name.tobuf(tarfile.GNU_FORMAT) + b"a" * (8 << 20) + bytes(1024))
    assert "a header of" in refused(tmp_path / "x.tar.gz", tmp_path)


def test_headers_within_headers(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 11
    header = info.tobuf() + b"11 path=ab\n".ljust(512, b"\0")
    with gzip.open(tmp_path / "x.tar.gz", "wb") as stream:
        stream.write(header * 5000 + bytes(1024))
    assert "damaged" in refused(tmp_path / "x.tar.gz", tmp_path)


def test_a_bomb_after_the_end(tmp_path: Path) -> None:
    """What follows the end mark is read for its checksum, and counts too."""
    with gzip.open(tmp_path / "x.tar.gz", "wb") as stream:
        stream.write(regular("a")[0].tobuf() + b"x".ljust(512, b"\0") + bytes(1 << 20))
    assert "unpacks to more than" in refused(tmp_path / "x.tar.gz", tmp_path, Limits(total_bytes=1000))


def test_a_negative_size(tmp_path: Path) -> None:
    info = tarfile.TarInfo("a")
    info.size = -5
    (tmp_path / "x.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert "does not hold" in refused(tmp_path / "x.tar", tmp_path)


def test_a_zip_that_lies_about_its_sizes(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", [("a", b"x" * 5000)])
    data = archive.read_bytes()
    size = (5000).to_bytes(4, "little")
    for lie in (10, 6000):
        archive.write_bytes(data.replace(size, lie.to_bytes(4, "little")))
        assert "damaged" in refused(archive, tmp_path)


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
    assert "not an archive by its name" in refused(tmp_path / "x.rar", tmp_path)
    (tmp_path / "x.zip").write_bytes(b"no zip")
    assert "damaged or unknown" in refused(tmp_path / "x.zip", tmp_path)
    with pytest.raises(DataError, match="file not found"):
        unpack(tmp_path / "gone.zip", tmp_path / "x")


def test_a_disk_that_cannot_take_it(tmp_path: Path) -> None:
    archive = make(tmp_path / "x.zip", FILES)
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(CacheError, match="cannot unpack here"):
        unpack(archive, tmp_path / "file" / "x")


def test_a_manifest_unpacks_its_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through `fetch`: unpacked beside the archive, verified with it, repaired when a file inside is spoilt."""
    data = make(tmp_path / "pack.tar.gz", FILES).read_bytes()
    described = description({"d/pack.tar.gz": data, "notes.txt": b"n"})
    described["files"][0]["unpack"] = True
    mirror(tmp_path / "mirror", {"d/pack.tar.gz": data, "notes.txt": b"n"})
    folder = settle(tmp_path, monkeypatch, described, mirrored=True)
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
    described = description({"pack.tar": data})
    described["files"][0]["unpack"] = True
    mirror(tmp_path / "mirror", {"pack.tar": data})
    folder = settle(tmp_path, monkeypatch, described, mirrored=True)
    with pytest.raises(DataError, match="symbolic link"):
        fetch("tiny")
    assert not (folder / "pack").exists() and catalogue()[0]["state"] == "partial"


def test_an_unpack_folder_may_not_clash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = description({"pack.tar": b"x", "pack/a": b"y"})
    described["files"][0]["unpack"] = True
    settle(tmp_path, monkeypatch, described)
    with pytest.raises(DataError, match="clashes"):
        fetch("tiny")
