"""When must a chapter run again, and how does its result appear whole or not at all?

A published chapter is three paths: `<name>.ipynb` as executed, `<name>.data/` with what it wrote, and the hidden
`.<name>.run.json`, which holds the components of its key and the checksums of the other two. The key covers all that
can change the page: cells and metadata, resolved parameters, the library files in reach (`dependencies`), manifests and
recorded results it needs, the lock, Python's minor version, of a chapter with the parameter `tools` which of NLTK's data
are there, and of a chapter made of the others (`"after": "chapters"` in its metadata) their keys and rows. Because the
components are kept, the reason of a rerun can be told: `library changed: results/statistics.py`.

Publishing is a rename of one complete folder into a journal (`.ready`), from which the three paths are installed; a
runner killed in between is completed by the next one. Whatever is unfinished lies in a staging folder that its runner
claims (`kit/store.py`), so that the next runner can tell the dead from the living.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core import results
from scirep_core.book.dependencies import library_files
from scirep_core.data.manifests.files import manifest_folder
from scirep_core.data.perturbations.linguistics import at_hand
from scirep_core.kit.errors import CacheError, ConfigError, nearest, some_of
from scirep_core.kit.records import read_json
from scirep_core.kit.store import beside, held, living, sha256_file, stable_hash, write_json
from scirep_core.page.parameters import Parameter, chapter_name, read_notebook, read_parameters, resolve

PACKAGE = Path(__file__).resolve().parents[1]
Components = dict[str, dict[str, Any]]
AFTER = "chapters"
"""What a chapter may come after: all chapters that come after nothing."""


@dataclass(frozen=True)
class Places:
    """Where things lie. Everything follows from the root of the checkout unless it is given."""

    root: Path = results.ROOT
    package: Path = PACKAGE
    notebooks_folder: Path | None = None
    runs_folder: Path | None = None

    @property
    def notebooks(self) -> Path:
        """Sources of the chapters, `<paper>/<name>.ipynb`."""
        return self.notebooks_folder or self.root / "notebooks"

    @property
    def runs(self) -> Path:
        """Executed chapters, one folder per profile."""
        return self.runs_folder or results.runs(self.root)

    @property
    def manifests(self) -> Path:
        """Data manifests, as `scirep_core.data.manifests` finds them."""
        return manifest_folder(self.root)


class Chapter(NamedTuple):
    """One notebook, read once: what is hashed is what runs, even if the file is edited meanwhile."""

    name: str
    path: Path
    source: dict[str, Any]
    declared: dict[str, Parameter]

    @property
    def about(self) -> dict[str, Any]:
        """`metadata.scirep`."""
        found = self.source["metadata"].get("scirep", {})
        return found if isinstance(found, dict) else {}

    @property
    def last(self) -> bool:
        """Whether it is made of the other chapters' rows, and so is run after them. Raises ConfigError for another `after`."""
        after = self.about.get("after", "")
        if after not in ("", AFTER):
            raise ConfigError(f"{self.name}: metadata.scirep.after is {after!r}: {nearest(str(after), [AFTER])}")
        return bool(after)


# ---- chapters and keys ----------------------------------------------------------------------------------------------


def read_chapter(path: Path) -> Chapter:
    """Read a notebook for running: outputs, execution counts and earlier injections dropped."""
    declared = read_parameters(path)
    source = read_notebook(path)
    cells = [c for c in source["cells"] if "injected-parameters" not in c["metadata"].get("tags", [])]
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    meta = {key: value for key, value in source["metadata"].items() if key not in ("papermill", "widgets")}
    return Chapter(chapter_name(path), path, {**source, "cells": cells, "metadata": meta}, declared)


def find_notebooks(places: Places, only: str | None = None) -> list[Path]:
    """Return the notebooks whose `<paper>/<name>` fits the pattern (also a bare paper or name). Errors if none does."""
    folder = places.notebooks
    every = {
        chapter_name(path): path
        for path in sorted(folder.glob("*/*.ipynb"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }
    if not every:
        raise ConfigError(f"{folder}: no notebooks here. Run from a checkout of the project")
    fits = [path for name, path in every.items() if only is None or _fits(name, only)]
    if not fits:
        raise ConfigError(f"no notebook fits {only!r}: {nearest(str(only), every)}")
    return fits


def _fits(name: str, pattern: str) -> bool:
    return any(fnmatchcase(part, pattern) for part in (name, *name.split("/")))


def values(chapter: Chapter, profile: str) -> dict[str, Any]:
    """Return the complete parameters of a chapter in a profile: `real` sets data=real where it is declared."""
    given = {"data": "real"} if profile == "real" and "data" in chapter.declared else {}
    return resolve(chapter.declared, given, chapter.name)


def components(chapter: Chapter, parameters: Mapping[str, Any], profile: str, places: Places) -> Components:
    """Return what decides a chapter's result, by kind and name. Raises ConfigError for an unknown need."""
    cells = [{key: held for key, held in cell.items() if key != "execution_count"} for cell in chapter.source["cells"]]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    data, results = _needs(chapter, places)
    lock = places.root / "requirements.lock"
    return {
        "notebook": {"cells": stable_hash(cells), "metadata": stable_hash(chapter.about)},
        "parameter": dict(parameters),
        "library": library_files(code, places.package),
        "data manifest": data,
        "recorded results": results,
        "lock": {lock.name: sha256_file(lock) if lock.is_file() else "none"},
        "python": {"version": f"{sys.version_info.major}.{sys.version_info.minor}"},
        "profile": {"name": profile},
        **({"linguistic data": at_hand(str(parameters["tools"]))} if "tools" in chapter.declared else {}),
        **({AFTER: _others(places.runs / profile)} if chapter.last else {}),
    }


def _others(profile: Path) -> dict[str, str]:
    """Return {chapter: hash of its key and of its rows} of what is published, what comes after it left out."""
    found = {}
    for sidecar in sorted(profile.glob("[!.]*/.*.run.json")):
        name, about = sidecar.name[1:].removesuffix(".run.json"), read_json(sidecar)
        if AFTER not in about.get("components", {}):
            rows = about.get("outputs", {}).get(f"{name}.data/rows.jsonl", "")
            found[f"{sidecar.parent.name}/{name}"] = stable_hash([about.get("key", ""), rows])
    return found


def _needs(chapter: Chapter, places: Places) -> tuple[dict[str, str], dict[str, str]]:
    """Hash the manifests a chapter names and the recorded results: its own, and those its patterns fit."""
    data: dict[str, str] = {}
    needs = chapter.about.get("needs", [])
    if not isinstance(needs, list) or not all(isinstance(need, str) and not need.startswith("/") for need in needs):
        hint = "give a list of collections and files"
        raise ConfigError(f"{chapter.name}: metadata.scirep.needs is {needs!r:.60}: {hint}")
    for need in (need for need in needs if "/" not in need and need != "embedded"):
        path = places.manifests / f"{need}.yaml"
        if not path.is_file():
            valid = ["embedded", *(p.stem for p in places.manifests.glob("*.yaml"))]
            raise ConfigError(f"{chapter.name}: metadata.scirep.needs names {need!r}: {nearest(need, valid)}")
        data[need] = sha256_file(path)
    patterns = (need for need in needs if "/" in need)
    files = {path for pattern in patterns for path in places.root.glob(pattern) if path.is_file()}
    files.update(results.recordings(chapter.name, root=places.root))
    return data, {path.relative_to(places.root).as_posix(): sha256_file(path) for path in sorted(files)}


def why(base: Path, now: Components) -> str:
    """Return in a few words why the chapter at `base` (its path without suffix) must run; "" if it need not."""
    sidecar = sidecar_of(base)
    if not sidecar.is_file():
        return "new"
    try:
        stored = json.loads(sidecar.read_text(encoding="utf-8"))
        before, outputs = stored["components"], stored["outputs"]
        if stored["key"] != stable_hash(before):
            return f"output damaged: {sidecar.name}"
        reasons = [text for kind in now if (text := _difference(kind, before.get(kind, {}), now[kind]))]
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"output damaged: {sidecar.name}"
    if reasons:
        return "; ".join(reasons)
    for name, digest in outputs.items():
        path = base.parent / name
        if not path.is_file() or sha256_file(path) != digest:
            return f"output damaged: {name}"
    return ""


def _difference(kind: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    absent = object()
    names = [n for n in (*now, *(b for b in before if b not in now)) if before.get(n, absent) != now.get(n, absent)]
    if not names:
        return ""
    if kind == "parameter":
        return some_of((f"parameter {n} {_short(before, n)} -> {_short(now, n)}" for n in names), 3)
    if kind == "python":
        return f"python {before.get('version')} -> {now.get('version')}"
    if kind in ("lock", "notebook", "profile"):
        return f"{kind} changed"
    return f"{kind} changed: {some_of(names, 3)}"


def _short(values: Mapping[str, Any], name: str) -> str:
    return f"{values[name]!r:.40}" if name in values else "none"


# ---- publishing -----------------------------------------------------------------------------------------------------


def sidecar_of(base: Path) -> Path:
    """Path of the hidden description beside a published chapter."""
    return base.parent / f".{base.name}.run.json"


def seal(ready: Path, name: str, now: Components, more: Mapping[str, Any]) -> None:
    """Describe a finished chapter in `ready` (notebook.ipynb, data/): key, components, checksums under final names."""
    outputs = {f"{name}.ipynb": sha256_file(ready / "notebook.ipynb")}
    for path in sorted((ready / "data").rglob("*")):
        if path.is_file():
            outputs[f"{name}.data/{path.relative_to(ready / 'data').as_posix()}"] = sha256_file(path)
    write_json(ready / "run.json", {**more, "key": stable_hash(now), "components": now, "outputs": outputs})


def publish(ready: Path, profile: Path, name: str, trash: Path) -> Path:
    """Put a sealed chapter in place; return its path without suffix. Needs the profile's lock."""
    journal = profile / ".ready" / name
    journal.parent.mkdir(parents=True, exist_ok=True)
    ready.rename(journal)  # from here on it is complete: a killed runner's successor installs it
    return _install(journal, profile / name, trash)


def roll_forward(profile: Path, trash: Path) -> None:
    """Install what a killed runner had completed but not put in place. Needs the profile's lock."""
    for journal in sorted((profile / ".ready").glob("*/*")):
        _install(journal, profile / journal.relative_to(profile / ".ready"), trash)


def _install(journal: Path, base: Path, trash: Path) -> Path:
    """Move the three paths; every step may be the last one of a killed process, and each may be repeated."""
    base.parent.mkdir(parents=True, exist_ok=True)
    data = base.with_name(f"{base.name}.data")
    if (journal / "data").exists():
        if data.exists():
            data.rename(trash / uuid.uuid4().hex)
        (journal / "data").rename(data)
    for part, final in (("notebook.ipynb", base.with_name(f"{base.name}.ipynb")), ("run.json", sidecar_of(base))):
        if (journal / part).exists():
            (journal / part).replace(final)
    journal.rmdir()
    return base


def deliver(ready: Path, out: Path) -> Path:
    """Copy a sealed chapter to where a reader asked for it: `out`, `<stem>.data/` and the hidden description."""
    base = out.with_suffix("")
    data = base.parent / f"{base.name}.data"
    if data.exists() and not sidecar_of(base).exists():
        raise ConfigError(f"{data}: exists and is not the output of a run. Choose another name for {out.name}")
    try:
        with beside(data, folder=True) as fresh, beside(sidecar_of(base)) as sidecar, beside(out) as notebook:
            # all copies first, so that a full disk leaves what was there; then only renames
            shutil.copytree(ready / "data", fresh, dirs_exist_ok=True)
            shutil.copyfile(ready / "notebook.ipynb", notebook)
            shutil.copyfile(ready / "run.json", sidecar)
            sidecar.replace(sidecar_of(base))
            old = fresh.with_suffix(".old")
            if data.exists():
                data.rename(old)
            fresh.rename(data)
            notebook.replace(out)
            shutil.rmtree(old, ignore_errors=True)
    except (OSError, shutil.Error) as error:
        why_not = getattr(error, "strerror", None) or error
        raise CacheError(f"{out}: cannot write ({why_not}). Free space or choose another place") from None
    return base


def prune(profile: Path, keep: set[str]) -> list[str]:
    """Remove published chapters whose notebook is gone; only paths with a run's description beside them."""
    gone = []
    for sidecar in sorted(profile.glob("[!.]*/.*.run.json")):
        base = sidecar.parent / sidecar.name[1:].removesuffix(".run.json")
        name = base.relative_to(profile).as_posix()
        if name not in keep:
            base.with_name(f"{base.name}.ipynb").unlink(missing_ok=True)
            shutil.rmtree(base.with_name(f"{base.name}.data"), ignore_errors=True)
            sidecar.unlink()
            gone.append(name)
    return gone


# ---- locks and staging ----------------------------------------------------------------------------------------------


@contextmanager
def locked(profile: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a profile's folder; while another runner has it, say so in one line and wait."""
    lock, me = _made(profile) / ".lock", str(os.getpid())
    with held(lock, wait=False, note=me) as free:
        if free:
            yield
            return
    holder = ""
    with suppress(FileNotFoundError):  # it has just finished
        holder = lock.read_text(encoding="ascii")
    say(f"waiting: another runner (process {holder or 'unknown'}) works in {profile}")
    with held(lock, note=me):
        yield


@contextmanager
def staging(runs: Path) -> Iterator[Path]:
    """A fresh folder under `<runs>/.staging`, claimed while in use and removed after; the dead runners' go first."""
    place = _made(runs / ".staging")
    there = [path for path in place.iterdir() if path.is_dir()]  # before the claims, which are older than their folders
    alive = {claim.stem for claim in living(place)}
    for folder in there:
        if folder.name not in alive:
            _remove(folder)
    folder = place / uuid.uuid4().hex[:12]
    with held(folder.with_suffix(".claim")):
        folder.mkdir()
        try:
            yield folder
        finally:
            _remove(folder)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheError(f"{folder}: cannot write ({error.strerror}). Choose another folder for the runs") from None
    return folder


def _remove(folder: Path) -> None:
    sockets = folder / "sockets"
    if sockets.is_symlink() and sockets.readlink().name.startswith("scirep-"):
        shutil.rmtree(sockets.readlink(), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
