"""What an edition of the book holds: every recorded file with its checksum, its rows, the code that made them, since when.

    results/MANIFEST.json    {"edition": "0.1.0", "files": {"real/csfcube/errors.jsonl": {"sha256", "rows", "code", "edition"}}}

The edition is the version in pyproject.toml. A file belongs to the edition in which it was last recorded: what changes after
a release is `unreleased`, as in CHANGELOG.md, and becomes the next edition's when that heading goes; what stays as it was
keeps its own. `scirep edition` says what the manifest no longer says rightly, `scirep edition --write` writes it anew; a
test holds the two together.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import read_jsonl, read_object
from scirep_core.kit.store import sha256_file, write_json
from scirep_core.results import ROOT

MANIFEST = "MANIFEST.json"
UNRELEASED = "unreleased"
WRITE = "scirep edition --write"


class Edition(NamedTuple):
    """A version, and what is recorded under `results/`: path -> sha256, rows (None: not rows), code, edition."""

    version: str
    files: dict[str, dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """Return the manifest's content."""
        return {"edition": self.version, "files": self.files}


def version(root: Path = ROOT) -> str:
    """Return the version that pyproject.toml gives the book."""
    path = root / "pyproject.toml"
    if not path.is_file():
        raise ConfigError(f"{path}: not there. Editions are kept in a checkout of the project")
    return str(tomllib.loads(path.read_text(encoding="utf-8"))["project"]["version"])


def present(root: Path = ROOT) -> str:
    """Return the edition of what is recorded now: `unreleased` while CHANGELOG.md begins with such a heading."""
    path = root / "CHANGELOG.md"
    headings = re.findall(r"^## (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE) if path.is_file() else []
    return UNRELEASED if headings and headings[0].lower() == UNRELEASED else version(root)


def manifest(root: Path = ROOT) -> Edition:
    """Return the manifest as it stands; an empty one where there is none."""
    path = root / "results" / MANIFEST
    if not path.is_file():
        return Edition("", {})
    found = read_object(path)
    return Edition(str(found.get("edition", "")), dict(found.get("files", {})))


def listed(root: Path = ROOT) -> Edition:
    """Return what the manifest should say of the files that are there."""
    before, now, folder = manifest(root).files, present(root), root / "results"
    files: dict[str, dict[str, Any]] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        digest, known = sha256_file(path), before.get(name, {})
        rows, code = _rows(path)
        since = known.get("edition", UNRELEASED) if known.get("sha256") == digest else now
        files[name] = {"sha256": digest, "rows": rows, "code": code, "edition": now if since == UNRELEASED else since}
    return Edition(version(root), files)


def _rows(path: Path) -> tuple[int | None, list[str]]:
    """Return how many result rows a file holds and the code versions that made them; None for another kind of file."""
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        return None, []
    made = [row.get("provenance", {}).get("code_version") for _, row in read_jsonl(path)]
    return len(made), sorted({str(code) for code in made if code})


def faults(root: Path = ROOT) -> list[str]:
    """Return what the manifest says wrongly, a line each, with what to run; [] where it is right."""
    before, now = manifest(root), listed(root)
    differences = []
    if before.version != now.version:
        differences.append(f"edition {before.version or 'none'} in the manifest, {now.version} in pyproject.toml")
    for name in dict.fromkeys((*before.files, *now.files)):
        old, new = before.files.get(name), now.files.get(name)
        if new is None:
            differences.append(f"{name} is listed and not there")
        elif old is None:
            differences.append(f"{name} is not listed")
        elif old != new:
            what = next(key for key in (*new, *old) if old.get(key) != new.get(key))
            was, now_is = (f"{side.get(what)}"[:12] for side in (old, new))
            differences.append(f"{name} is another file than the one listed ({what} {was}, now {now_is})")
    return [f"results/{MANIFEST}: {fault}. Run `{WRITE}`" for fault in differences]


def write(root: Path = ROOT) -> Path:
    """Write the manifest of what is there; return its path."""
    path = root / "results" / MANIFEST
    write_json(path, listed(root).to_json())
    return path
