"""Numbers with an origin.

A number shown anywhere in the book is a `Result` row: what was measured, on which data (content hash), with which
encoder (fingerprint), under which protocol, by which code. Three kinds stand side by side: *published* (quoted from
a paper), *recorded* (a run of ours, kept under `results/`), *live* (this build). `Result.id` names a number for good:

    kind:chapter:task:encoder:metric:split:protocol
    live:csfcube/baselines:csfcube/method:fabs_bm25:ndcg%20:test:paper
"""

from __future__ import annotations

import functools
import gzip
import importlib.metadata
import json
import math
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import ConfigError, DataError, nearest
from scirep_core.kit.records import read_jsonl
from scirep_core.kit.store import home, sha256_file, stable_hash, write_bytes
from scirep_core.results.differences import BETWEEN, against_of, measured

if TYPE_CHECKING:
    from scirep_core.results.published import Printed

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent
"""Root of the checkout: the book, its notebooks and its recorded results live beside the package. An installed wheel has none."""
VERSIONED = ("numpy", "scipy", "scikit-learn", "torch", "transformers", "tokenizers", "adapters", "sentence-transformers",
             "gensim", "rank-bm25", "pytrec_eval-terrier", "krippendorff")  # fmt: skip


@dataclass(frozen=True)
class Result:
    """One number. `value`, `low`, `high` are on the papers' 0-100 scale, unrounded; `n` counts queries or rows."""

    task: str
    split: str
    metric: str
    protocol: str
    value: float
    n: int
    encoder: str = ""
    low: float | None = None
    high: float | None = None
    kind: str = "live"
    chapter: str = ""
    fingerprint: str = ""
    source: str = ""
    data_hash: str = ""
    similarity: str = ""
    ties: str = ""
    pool: str = ""
    coverage: float | None = None
    seed: int | None = None
    seconds: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    against: str = ""
    """The other side where the number is a difference, or the p of one: a system, code, setting or reading; "" for a score."""
    by_query: dict[str, float] = field(default_factory=dict)
    """Value of each query, where the row is a mean over queries (task `all` only: it holds them all)."""
    replicates: NDArray[np.float32] | None = field(default=None, repr=False, compare=False)
    """(resamples,) bootstrap values, 0-100: the draws depend on task, seed and n alone, so rows of two encoders on one
    task are paired draw by draw. Not part of the JSON row; the score cache keeps them."""

    @property
    def id(self) -> str:
        """Stable name of the number; see the module's first lines."""
        protocol = self.protocol + ("" if self.parameters.get("intercept", True) else "+no-intercept")
        return ":".join((self.kind, self.chapter, self.task, self.encoder, self.metric, self.split, protocol))

    @property
    def of_systems(self) -> bool:
        """Whether the number is a difference of two systems."""
        return bool(self.against) and self.encoder.endswith(f"{BETWEEN}{self.against}")

    @property
    def measure(self) -> str:
        """The metric, of a difference that of both its sides."""
        return measured(self.metric) or self.metric

    @property
    def systems(self) -> tuple[str, str]:
        """The two systems of a difference of systems, the first minus the second."""
        return self.encoder.removesuffix(f"{BETWEEN}{self.against}"), self.against

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object with its id; empty fields are left out."""
        row = asdict(replace(self, replicates=None))
        return {"id": self.id} | {k: v for k, v in row.items() if v is not None and v != "" and v != {}}


PRINTED = "Give what `scirep score --json` prints"
_KINDS: dict[str, tuple[type, ...]] = {"str": (str,), "float": (int, float), "int": (int,), "dict": (dict,)}
_ALL = [f for f in fields(Result) if f.name != "replicates"]
_FIELDS = {f.name: (_KINDS[re.split(r"\W", str(f.type))[0]], "None" in str(f.type)) for f in _ALL}
"""Field -> (what it may be, whether it may be null)."""
_NEEDED = ("task", "split", "metric", "protocol", "value", "n")
_PARAMETERS: dict[str, tuple[type, ...]] = {
    "training_seed": (int,), "trainings": (int,), "width": (int,), "variant": (str,), "base": (str,), "budget": (str,),
    "code": (str,), "settings": (dict,), "sd": (int, float), "values": (list,),
}  # fmt: skip
"""Parameters of a study's rows that tables and `scirep explain` reckon with."""


def from_json(row: Any, path: Path, line: int) -> Result:
    """Return the Result of one JSON object: the one reader of result rows.

    Raises DataError at file:line for an unknown, missing or mistyped field, a number that is not finite, a value by query
    that is no number, or a parameter of a study that is of another type than the study writes. A difference that was
    recorded before rows had `against` gets it by its names; its id stays.
    """
    if not isinstance(row, dict):
        raise DataError(path, line, f"expected a result row, found {type(row).__name__}", PRINTED)
    for key in row:
        if key not in _FIELDS and key != "id":
            raise DataError(path, line, f"unknown field {key!r}", nearest(key, _FIELDS))
    for key in _NEEDED:
        if key not in row:
            raise DataError(path, line, f"not a result row: field {key!r} is missing", PRINTED)
    for key, (kinds, null) in _FIELDS.items():
        if key in row and not (null and row[key] is None):
            _checked(row[key], kinds, key, path, line)
    for key, value in row.get("by_query", {}).items():
        _checked(value, (int, float), f"by_query.{key}", path, line)
    given = row.get("parameters", {})
    for key in given.keys() & _PARAMETERS:
        _checked(given[key], _PARAMETERS[key], f"parameters.{key}", path, line)
    result = Result(**{key: value for key, value in row.items() if key != "id"})
    known = result.against or against_of(result.encoder, result.metric, result.split)
    return result if known == result.against else replace(result, against=known)


def _checked(value: Any, kinds: tuple[type, ...], what: str, path: Path, line: int) -> None:
    infinite = isinstance(value, float) and not math.isfinite(value)
    broken = isinstance(value, str) and not value.isascii() and value.encode("utf-8", "ignore").decode() != value
    if not isinstance(value, kinds) or isinstance(value, bool) or infinite or broken:
        names = " or ".join(kind.__name__ for kind in kinds)
        raise DataError(path, line, f"{what:.60} = {value!r:.60}", f"It must be a {'finite ' * (int in kinds)}{names}")


def read_results(path: Path) -> list[Result]:
    """Read result rows from JSON lines."""
    return [from_json(row, path, line) for line, row in read_jsonl(path)]


def write_results(path: Path, rows: Iterable[Result]) -> None:
    """Write result rows as JSON lines, packed where the name ends in `.gz`."""
    data = "".join(json.dumps(row.to_json(), allow_nan=False) + "\n" for row in rows).encode()
    write_bytes(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


PRINT = "print"
"""Source of rows that are arithmetic on printed numbers."""


def recordings(chapter: str, profile: str = "*", root: Path = ROOT) -> list[Path]:
    """Return the files of our committed runs of a chapter: `results/<profile>/<chapter>.jsonl`, then `<chapter>/*.jsonl` beside
    it, each a run on more data. A profile may be a pattern.
    """
    names = (f"results/{profile}/{chapter}.jsonl", f"results/{profile}/{chapter}/*.jsonl")
    return [path for name in names for path in sorted(root.glob(name))]


def recorded(chapter: str, profile: str = "real") -> list[Result]:
    """Return the rows of our committed runs of a chapter, [] if none was recorded.

    Its arithmetic on printed numbers is left out: a page does that itself, and it is of no data.
    """
    return [row for path in recordings(chapter, profile, ROOT) for row in _of_run(path, path.stat().st_mtime_ns)]


@lru_cache(maxsize=32)
def _of_run(path: Path, written: int) -> list[Result]:
    """Read a committed run once for the many tables of a page: `written` tells a file from what it was before."""
    return [replace(row, kind="recorded") for row in read_results(path) if row.source != PRINT]


def checkout(what: str) -> Path:
    """Return the root of the checkout. Raises ConfigError, saying what needs it, where the package is installed without one."""
    if not (ROOT / "notebooks").is_dir():
        alone = (
            "this is the library alone, which scores, encodes and trains. Clone the project and run `make book` there"
        )
        raise ConfigError(f"{what} needs a checkout of the book: {alone}")
    return ROOT


def runs(root: Path = ROOT) -> Path:
    """Return the folder of executed chapters of a checkout; without one it is in SCIREP_HOME."""
    return root / "book" / "_run" if (root / "notebooks").is_dir() else home() / "runs"


def stored() -> Iterator[tuple[Result, Path]]:
    """Yield every number at hand with the file that holds it: recorded ones, then those of the last book."""
    recordings_, books = ("recorded", ROOT / "results", "*/**/*.jsonl*"), ("live", runs(), "*/**/rows.jsonl")
    for kind, folder, pattern in (recordings_, books):
        for path in sorted(folder.glob(pattern)):
            place = path.relative_to(folder).parts
            if place[0] in ("own", "failed") or any(part.startswith(".") for part in place):
                continue  # a reader's own runs and unfinished ones are not the book
            for row in read_results(path):
                yield replace(row, kind=kind), path


@functools.cache
def code_version() -> str:
    """Return a content hash of the library's source, the same on every machine that holds the same code."""
    kinds = {".py", ".js", ".css", ".csv", ".json", ".toml", ".txt"}
    files = sorted(path for path in PACKAGE.rglob("*") if path.suffix in kinds)
    return stable_hash({str(path.relative_to(PACKAGE)): sha256_file(path) for path in files})[:16]


def anchor(number_id: str) -> str:
    """Return a number's id as an HTML anchor."""
    return "o-" + re.sub(r"[^A-Za-z0-9]+", "-", number_id.replace("+", "plus"))  # a + b is not a ++ b


def code_of(names: Iterable[str]) -> dict[str, str]:
    """Return {file: content hash} of the library's Python files that names stand for: a file, a pattern, a folder and all below.

    What is kept is kept under it. Raises ConfigError for a name that is neither: a file that was moved and went out of a key
    unseen would let rows and models of other code pass for today's.
    """
    found: dict[str, str] = {}
    for name in names:
        files = sorted(PACKAGE.glob(name if name.endswith(".py") else f"{name}/**/*.py"))
        if not files:
            raise ConfigError(
                f"{name!r} is no code of the library. Name it as it is called today in the list CODE it stands in"
            )
        found |= {path.relative_to(PACKAGE).as_posix(): sha256_file(path) for path in files}
    return found


class Dated(Protocol):
    """Data with a version: a task, a collection."""

    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def data_hash(self) -> str: ...  # noqa: D102


def row_of(data: Dated, **common: Any) -> Callable[..., Result]:
    """Return what makes rows of `data`: Result with the data's origin, protocol `paper`, this process's provenance and `common`."""
    filled = {"protocol": "paper", "source": data.source, "data_hash": data.data_hash, "provenance": provenance()}
    return functools.partial(Result, **filled | common)


def arithmetic(exhibit: str, metric: str, value: float, n: int, numbers: Iterable[Printed]) -> Result:
    """Return a number that follows from printed numbers alone; its data hash is that of the numbers."""
    quoted = stable_hash([[p.row, p.column, p.value] for p in numbers])
    return Result(
        task=f"print/{exhibit}", split="all", metric=metric, protocol="paper", value=float(value), n=n,
        source=PRINT, data_hash=quoted, provenance=provenance(), note="arithmetic on printed numbers",
    )  # fmt: skip


def provenance() -> dict[str, Any]:
    """Return code version, package versions and devices of this process."""
    return {"code_version": code_version(), "versions": dict(_versions()), "device": _device()}


def _device() -> str:
    """Return "x86_64 cpu, 2 cores", and the GPU's name where torch is loaded and sees one: else nothing ran on it."""
    cuda = sys.modules["torch"].cuda if "torch" in sys.modules else None
    gpu = f"; {cuda.get_device_name()}" if cuda is not None and cuda.is_available() else ""
    return f"{platform.machine()} cpu, {os.cpu_count()} cores{gpu}"


@functools.cache
def _versions() -> tuple[tuple[str, str], ...]:
    installed = [(name, found) for name in VERSIONED if (found := version(name))]
    return ("python", platform.python_version()), *installed


def version(library: str) -> str:
    """Return an installed library's version, "" where it is not there."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""
