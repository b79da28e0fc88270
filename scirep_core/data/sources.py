"""Where the files of a task are: the embedded literature (written on first use), the real collections, a folder.

Embedded files live in one root per size, seed and version of the generator: <home>/embedded/<papers>-<seed>-<code>/. Each
collection below it (of a task: the one its reader is named after) is sealed by a list of its files with their hashes, written
last: a collection whose seal is missing or wrong is written again. A file lock lets several processes share a root.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from scirep_core.data import manifests
from scirep_core.data.inventory import TASKS, TaskSpec
from scirep_core.data.readers import mdcr, scimult, scirepeval
from scirep_core.data.tables import data_hash
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.records import read_object
from scirep_core.kit.store import home, sha256_file, sync_tree, write_json, writing

if TYPE_CHECKING:
    from scirep_core.data.literature import Literature

PAPERS = 3000
"""Size of the embedded literature unless a caller says otherwise."""
FEWEST, MOST = 300, 10_000_000
"""Sizes at which every collection can be filled, and ids are different."""
CSFCUBE_MOST = 2000
"""CSFCube has a literature of its own, of computer science alone, and no larger: pools of the published depth hold too
many relevant papers of a larger one."""
READ_AGAIN = 4 << 20  # bytes up to which a sealed file is hashed again on every use; of larger ones the size is checked
FOLDERS = {"scirepeval": ("scirepeval", "scirepeval_test"), "neighbours": ("acl_anthology", "iclr", "arxiv")}
"""Folders a collection writes, where they are not one of its own name."""


def embedded_root(papers: int, seed: int) -> Path:
    """Return the folder of one embedded literature; nothing is written yet."""
    return home() / "embedded" / f"{papers}-{seed}-{generator_version()}"


@functools.cache
def generator_version() -> str:
    """Return a content hash of the generator: another generator, another root."""
    from scirep_core.data import literature

    package = Path(literature.__file__).parent
    return data_hash(package, (p for p in package.rglob("*") if p.suffix in (".py", ".json")))[:12]


def check_size(papers: int, seed: int = 0) -> None:
    """Raise ConfigError for a literature too small to hold every task, or too large, or a seed below 0."""
    if type(papers) is not int or not FEWEST <= papers <= MOST:
        raise ConfigError(f"papers = {papers!r}: an embedded literature has {FEWEST} to {MOST:,}")
    if type(seed) is not int or seed < 0:
        raise ConfigError(f"seed = {seed!r}: seeds are 0, 1, 2 ...")


def ensure(root: Path, collection: str, papers: int, seed: int) -> Path:
    """Write an embedded collection below `root` unless it is there, whole and unaltered. Returns `root`.

    Raises ConfigError as `check_size` does, CacheError where the folder cannot be written.
    """
    check_size(papers, seed)
    return sealed(root, collection, lambda: _write(root, collection, papers, seed))


def sealed(root: Path, collection: str, write: Callable[[], Iterable[Path]]) -> Path:
    """Have a collection written below `root` unless it is there, whole and unaltered. Returns `root`.

    Args:
        write: writes it, and returns its files. A lock keeps other processes from it.

    Raises CacheError where the folder cannot be written.
    """
    if sound(root, collection):
        return root
    from filelock import FileLock  # names are read without it

    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{collection}.lock"):  # its file stays: whoever finds all whole takes no lock
            if not sound(root, collection):
                seal = seal_of(root, collection)
                seal.unlink(missing_ok=True)
                for folder in _folders(collection):
                    shutil.rmtree(root / folder, ignore_errors=True)
                files = sorted(write())
                sync_tree(root, files)  # other collections may be written beside this one
                write_json(seal, {p.relative_to(root).as_posix(): [p.stat().st_size, sha256_file(p)] for p in files})
    return root


def seal_of(root: Path, collection: str) -> Path:
    """Return the file that lists a written collection: {path below `root`: [bytes, SHA-256]}."""
    return root / ".sealed" / f"{collection}.json"


def _write(root: Path, collection: str, papers: int, seed: int) -> list[Path]:
    if collection == "csfcube":
        from scirep_core.data.literature import write_csfcube

        write_csfcube(root / "csfcube", min(papers, CSFCUBE_MOST), seed)
    else:
        from scirep_core.data.literature.emit import write_collection

        write_collection(root, collection, literature(papers, seed))
    files = [p for folder in _folders(collection) for p in (root / folder).rglob("*") if p.is_file()]
    oracles = (oracle_of(root, name) for name, spec in TASKS.items() if spec.reader == collection)
    return files + [path for path in oracles if path]


@functools.lru_cache(maxsize=1)
def literature(papers: int, seed: int) -> Literature:
    """Return the generated literature, kept for the next collection of the same root."""
    from scirep_core.data.literature import generate

    return generate(papers, seed)


def sound(root: Path, collection: str) -> bool:
    """Return whether a sealed collection is there as it was written."""
    try:
        seal = read_object(seal_of(root, collection))
        listed = [(root / name, size, digest) for name, (size, digest) in seal.items()]
    except (DataError, TypeError, ValueError):  # no seal, or a damaged one
        return False
    return all(
        path.is_file() and path.stat().st_size == size and (size > READ_AGAIN or sha256_file(path) == digest)
        for path, size, digest in listed
    )


def _folders(collection: str) -> tuple[str, ...]:
    return FOLDERS.get(collection, (collection,))


def real_parts(spec: TaskSpec) -> dict[str, tuple[str, ...]]:
    """Return manifest -> the parts of it one task needs; () is the whole. The hub's texts alone are 24 GB."""
    if spec.reader == "scirepeval":
        texts = scirepeval.TEXTS.get(spec.config, spec.config)
        if spec.type == "triplets":
            return {scirepeval.TEXT_COLLECTION: (texts,)}
        labels = (spec.config, *(("reviewers",) if spec.type == "reviewer_matching" else ()))
        return {scirepeval.TEXT_COLLECTION: (f"{texts}/evaluation",), scirepeval.LABEL_COLLECTION: labels}
    kind, _, part = spec.config.partition("/")
    parts: dict[str, tuple[str, ...]] = {
        "beir": (f"{spec.config}.zip",),
        "neighbours": (f"{spec.config}.jsonl.gz",),
        "mdcr": (mdcr.BENCHMARK, mdcr.DATA),
        "scimult": tuple(name.format(part) for name in scimult.FILES.get(spec.config, scimult.FILES.get(kind, ()))),
    }
    return {spec.manifest: parts.get(spec.reader, ())}


def scored_parts(collections: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return manifest -> the parts that scoring the tasks of some collections reads, () for the whole.

    Training sets, by far the larger part, are left out, and so are tasks whose files were never published.
    """
    parts: dict[str, tuple[str, ...]] = {name: () for name in collections if name in manifests.list_manifests()}
    tasks = {name: spec for name, spec in TASKS.items() if spec.manifest in parts and spec.type != "triplets"}
    for manifest in {spec.manifest for spec in tasks.values()}:
        parts.pop(manifest)
    for spec in tasks.values():
        wanted = real_parts(spec)
        try:
            for manifest, some in wanted.items():
                manifests.missing(manifest, some)
        except ConfigError:  # not published
            continue
        parts |= {manifest: (*parts.get(manifest, ()), *some) for manifest, some in wanted.items()}
    return parts


def away(name: str) -> str:
    """Return which parts of a task's real data lie neither in SCIREP_HOME nor in the mirror, how large they are and what gets
    them; "" if all are there. Files are looked for, not read; nothing is fetched.
    """
    lines, absent, total = [], [], 0
    for manifest, parts in real_parts(TASKS[name]).items():
        if manifest not in manifests.list_manifests():
            return f"no manifest {manifest!r}"
        try:
            files = manifests.missing(manifest, parts)
        except ConfigError:  # the inventory names a part that was never published, or no more
            return f"{manifest} does not list {', '.join(parts)}: not published"
        total += len(manifests.chosen(manifests.load_manifest(manifest), parts))
        absent += files
        lines += [f"{manifest}: {', '.join(parts) or 'all of it'}"] if files else []
    if not absent:
        return ""
    size = manifests.size_of(absent) or "size not stated"
    return f"{len(absent)} of {total} files are not here ({'; '.join(lines)}; {size}): scirep data get {name}"


def oracle_of(root: Path, name: str) -> Path | None:
    """Return `<root>/oracle/<name, "/" as "__">.npz` where it exists."""
    path = root / "oracle" / f"{name.replace('/', '__')}.npz"
    return path if path.is_file() else None


def root_of(name: str, source: str, papers: int, seed: int) -> Path:
    """Return the folder below which the files of task `name` lie, fetched or written first if need be."""
    spec = TASKS[name]
    if source == "real":
        for manifest, parts in real_parts(spec).items():
            folder = manifests.fetch(manifest, parts=parts)
        return folder.parent
    if source == "embedded":
        return ensure(embedded_root(papers, seed), spec.reader, papers, seed)
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise ConfigError(f"data {source!r} is neither embedded, real, nor an existing folder")
    return folder
