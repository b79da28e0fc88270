"""S1: an archive can do nothing but fill its folder. Every attack is refused, and nothing appears outside the target."""

from __future__ import annotations

import gzip
import io
import random
import stat
import tarfile
import zipfile

import pytest
from small_collection import unpacking
from small_files import contents
from small_files import refused as refuses

from scirep_core.data.manifests import catalogue, fetch, verify
from scirep_core.data.manifests.unpack import MARKER, Limits, faults, unpack
from scirep_core.kit.errors import CacheError, DataError
from scirep_core.kit.store import sha256_file

FILES = {"a.txt": b"alpha " * 50, "sub/b.bin": random.Random(1).randbytes(3000), "sub/deep/c.txt": b"\xc3\xa9"}
KINDS = ("zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz")
DEFAULT = Limits()


def entry(name, data=b"", kind=tarfile.REGTYPE, target=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data), kind, target
    return info, data


def tar(path, items):
    suffix = path.name.rsplit(".", 1)[1].replace("tgz", "gz")
    with tarfile.open(path, "w:" + suffix.replace("tar", "")) as archive:
        for info, data in items:
            archive.addfile(info, io.BytesIO(data) if data else None)
    return path


def zipped(path, items, mode=0):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in items:
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, mode << 16
            archive.writestr(info, data)
    return path


def make(path, files):
    if path.suffix == ".zip":
        return zipped(path, list(files.items()))
    return tar(path, [entry(name, data) for name, data in files.items()])


def refused(archive, *says, limits=DEFAULT):
    """Unpack, expect a refusal that names the archive and says so, and that nothing but the archive is left."""
    before = sorted(archive.parent.rglob("*"))
    refuses(lambda: unpack(archive, archive.parent / "in" / "target", limits), str(archive), *says)
    (archive.parent / "in").rmdir()
    assert sorted(archive.parent.rglob("*")) == before, "something was left behind or written outside"


def gzipped(path, *parts):
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.writelines(parts)
    return path


def header(name, kind, size):
    info = entry(name, kind=kind)[0]
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", KINDS)
def test_what_goes_in_comes_out_and_only_if_the_archive_is_whole(kind, tmp_path):
    archive = make(tmp_path / f"x.{kind}", FILES)
    folder = unpack(archive, tmp_path / "out" / "x")
    assert contents(folder).items() > FILES.items() and contents(folder).keys() == {*FILES, MARKER}
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["x"]
    stamp = (folder / "a.txt").stat().st_mtime_ns
    assert unpack(archive, folder) == folder and (folder / "a.txt").stat().st_mtime_ns == stamp
    # C2 for archives: cut at 20 lengths each; whatever is accepted is complete (a tar has idle padding at its end)
    whole, rng, accepted = archive.read_bytes(), random.Random(2), 0
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


SPOILS = {
    "alter": lambda archive, folder: (folder / "a.txt").write_bytes(b"omega " * 50),
    "remove": lambda archive, folder: (folder / "sub/b.bin").unlink(),
    "marker gone": lambda archive, folder: (folder / MARKER).unlink(),
    "marker garbled": lambda archive, folder: (folder / MARKER).write_text('{"files": [1]}'),
    "other archive": lambda archive, folder: make(archive, FILES | {"a.txt": b"new"}),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_spoilt_folder_is_unpacked_again(spoil, tmp_path):
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
def test_unsafe_names(name, tmp_path):
    for kind in ("zip", "tar", "tar.gz"):
        refused(make(tmp_path / f"x.{kind}", {"fine.txt": b"fine", name: b"evil"}), "unsafe name")


def test_unsafe_folders_and_a_name_cut_by_nul(tmp_path):
    for name in ("../out/", "/abs/", "a//b/", "/"):
        refused(zipped(tmp_path / "x.zip", [(name, b"")]), "unsafe name")
        if name != "/":  # tarfile reads it as the folder itself, which is harmless
            refused(tar(tmp_path / "x.tar", [entry(name, kind=tarfile.DIRTYPE)]), "unsafe name")
    archive = zipped(tmp_path / "x.zip", [("a.txt", b"x")])
    archive.write_bytes(archive.read_bytes().replace(b"a.txt", b"a\x00txt"))
    refused(archive, "unsafe name")


LINKS = {tarfile.SYMTYPE: "symbolic link", tarfile.LNKTYPE: "hard link"}


@pytest.mark.parametrize("target", ["../../etc/passwd", "/etc/passwd", "fine.txt"])
def test_links_and_devices_in_tar(target, tmp_path):
    for kind in (*LINKS, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"V"):
        items = [entry("fine.txt", b"x"), entry("link", kind=kind, target=target), entry("link/evil", b"x")]
        refused(tar(tmp_path / "x.tar.gz", items), LINKS.get(kind, "device or pipe"))


def test_links_devices_and_secrets_in_zip(tmp_path):
    for mode in (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK):
        archive = zipped(tmp_path / "x.zip", [("link", b"/etc/passwd")], mode | 0o777)
        refused(archive, "symbolic link" if mode == stat.S_IFLNK else "device or pipe")
    data = bytearray(zipped(tmp_path / "x.zip", [("a.txt", b"secret")]).read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "x.zip").write_bytes(data)
    refused(tmp_path / "x.zip", "encrypted")


@pytest.mark.parametrize(("names", "words"), [
    ("a a", "occurs twice"), ("a A", "occurs twice"), ("d/x D/X", "occurs twice"), ("a ./a", "occurs twice"),
    ("a a/b", "lies inside another entry"), ("a/b a", "occurs twice"),
])  # fmt: skip
def test_names_that_clash(names, words, tmp_path):
    refused(tar(tmp_path / "x.tar", [entry(name, b"x") for name in names.split()]), words)


def test_folders_may_repeat(tmp_path):
    folders = [entry(name, kind=tarfile.DIRTYPE) for name in ("./", "d", "./d/")]
    folder = unpack(tar(tmp_path / "x.tar", [*folders, entry("./d/a", b"x")]), tmp_path / "x")
    assert set(contents(folder)) == {"d/a", MARKER}


def test_limits(tmp_path):
    for kind in ("zip", "tar.gz"):
        archive = make(tmp_path / f"x.{kind}", {f"f{i}": b"" for i in range(51)})
        refused(archive, "more than 50 entries", limits=Limits(entries=50))
        unpack(archive, tmp_path / kind, Limits(entries=51))
    archive = make(tmp_path / "x.tar", {"a": b"x" * 600, "b": b"x" * 600})
    refused(archive, "over 1000 bytes", limits=Limits(total_bytes=1000))
    unpack(archive, tmp_path / "x", Limits(total_bytes=1200))
    # the default limits: a small file that announces a million folders is left after the hundred thousandth
    folders = entry("d", kind=tarfile.DIRTYPE)[0].tobuf() * 1000
    refused(gzipped(tmp_path / "y.tar.gz", *[folders] * 1000), "more than 100000 entries")


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tar.bz2", "tar.xz"])
def test_a_bomb_is_not_set_off(kind, tmp_path):
    for files in ({"bomb": bytes(8 << 20)}, {f"b{i}": bytes(1 << 18) for i in range(32)}):
        refused(make(tmp_path / f"x.{kind}", files), "over 1048576 bytes", limits=Limits(ratio=20))


TARS = {
    "metadata that would fill memory: a tar header may announce any length for a name": (
        [header("././@LongLink", tarfile.GNUTYPE_LONGNAME, 8 << 20), b"a" * (8 << 20)], DEFAULT, "a header of"),
    "headers within headers": (
        [header("x", tarfile.XHDTYPE, 11) + b"11 path=ab\n".ljust(512, b"\0")] * 5000, DEFAULT, "damaged"),
    "what follows the end mark is read for its checksum, and counts too": (
        [entry("a", b"x")[0].tobuf(), b"x".ljust(512, b"\0"), bytes(1 << 20)], Limits(total_bytes=1000), "unpacks to more than"),
    "a negative size": ([header("a", tarfile.REGTYPE, -5)], DEFAULT, "does not hold"),
}  # fmt: skip


@pytest.mark.parametrize("case", TARS)
def test_hostile_headers(case, tmp_path):
    parts, limits, words = TARS[case]
    refused(gzipped(tmp_path / "x.tar.gz", *parts, bytes(1024)), words, limits=limits)


@pytest.mark.parametrize("lie", [10, 6000])
def test_a_zip_that_lies_about_its_sizes(lie, tmp_path):
    archive = zipped(tmp_path / "x.zip", [("a", b"x" * 5000)])
    archive.write_bytes(archive.read_bytes().replace((5000).to_bytes(4, "little"), lie.to_bytes(4, "little")))
    refused(archive, "damaged")


def test_what_is_no_archive_and_a_disk_that_cannot_take_one(tmp_path):
    for name, says in (("x.rar", "not an archive by its name"), ("x.zip", "damaged or unknown")):
        (tmp_path / name).write_bytes(b"Rar!")
        refused(tmp_path / name, says)
    refuses(lambda: unpack(tmp_path / "gone.zip", tmp_path / "x"), "file not found")
    archive = make(tmp_path / "x.zip", FILES)
    refuses(lambda: unpack(archive, tmp_path / "x.rar" / "x"), "cannot unpack here", error=CacheError)


def test_a_manifest_unpacks_its_archive(tmp_path, monkeypatch):
    """Through `fetch`: unpacked beside the archive, verified with it, repaired when a file inside is spoilt."""
    files = {"d/pack.tar.gz": make(tmp_path / "pack.tar.gz", FILES).read_bytes(), "notes.txt": b"n"}
    folder = unpacking(tmp_path, monkeypatch, files)
    said: list[str] = []
    fetch("tiny", said.append)
    assert said[-1] == "tiny: unpacked d/pack.tar.gz" and contents(folder / "d/pack").items() >= FILES.items()
    assert verify("tiny") == [("d/pack.tar.gz", "ok"), ("notes.txt", "ok")]
    (folder / "d/pack/sub/b.bin").write_bytes(b"short")
    assert verify("tiny")[1] == ("d/pack/sub/b.bin", "truncated") and catalogue()[0]["state"] == "partial"
    fetch("tiny")
    assert catalogue()[0]["state"] == "complete" and sorted(p.name for p in folder.iterdir()) == ["d", "notes.txt"]


def test_a_hostile_archive_behind_a_right_checksum_and_a_folder_that_clashes(tmp_path, monkeypatch):
    link = entry("l", kind=tarfile.SYMTYPE, target="/etc")
    folder = unpacking(tmp_path, monkeypatch, {"pack.tar": tar(tmp_path / "pack.tar", [link]).read_bytes()})
    refuses(lambda: fetch("tiny"), "symbolic link")
    assert not (folder / "pack").exists() and catalogue()[0]["state"] == "partial"
    unpacking(tmp_path, monkeypatch, {"pack.tar": b"x", "pack/a": b"y"})
    refuses(lambda: fetch("tiny"), "clashes")
