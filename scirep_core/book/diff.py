"""What changed between two sets of results, or two built sites: the answer to "does a new edition say the same?".

    scirep diff results/real build/html        # what is recorded, and what this build says
    scirep diff build/before build/html        # two sites, file by file
    scirep diff mine.json yours.json           # what `scirep score --json` printed twice

Rows are matched by id, within files of one name; an id that a file holds several times is matched one by one, equal rows
first. Two rows are compared field by field in the order of `Result`. What says when or how fast (`APART`) differs from run
to run and machine to machine: it is counted apart, and is no difference unless asked for. Nothing here writes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.bench.submissions import objects
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.records import grouped, read_jsonl
from scirep_core.kit.store import sha256_file
from scirep_core.results import Result, from_json

APART = ("seconds", "provenance")
"""Fields that say when, where or how fast a number was made, not what it is."""
TIMED = "_seconds']"
"""Ends a parameter that says how long a training took: of that kind too."""
COMPARED = tuple(f.name for f in fields(Result) if f.name not in (*APART, "replicates"))
ROWS = (".jsonl", ".jsonl.gz")
CLIP = 60
"""Characters shown on each side of the place where two lines part."""


class Held(NamedTuple):
    """A row and where it stands, `file:line`."""

    row: Result
    place: str


class First(NamedTuple):
    """The first field in which two rows differ; `by` is B less A where both are numbers. None is a value that is not there."""

    id: str
    field: str
    a: Any
    b: Any
    by: float | None
    at: tuple[str, str]


class Rows(NamedTuple):
    """How two sets of rows differ.

    Attributes:
        both: pairs compared. only_a, only_b: ids without a partner. twice_a, twice_b: ids held several times, how often.
        different: pairs that differ, `fields` in how many of them each field does. apart: the same of what is not compared.
    """

    both: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    different: int
    fields: Mapping[str, int]
    first: First | None
    apart: Mapping[str, int]
    twice_a: Mapping[str, int]
    twice_b: Mapping[str, int]

    @property
    def equal(self) -> bool:
        """Whether both hold the same rows."""
        return not (self.only_a or self.only_b or self.different)


class Parted(NamedTuple):
    """A file that differs: its first differing line, from 1, and what stands there; 0 and sizes for one that is no text."""

    file: str
    line: int
    a: str
    b: str


class Found(NamedTuple):
    """The whole comparison: rows, and of two sites or pages the files; `same` counts files without a difference."""

    rows: Rows | None
    same: int = 0
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    parted: tuple[Parted, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether nothing differs that is compared."""
        return (self.rows is None or self.rows.equal) and not (self.only_a or self.only_b or self.parted)


def compare(a: Path, b: Path, tolerance: float = 0.0, everything: bool = False, rows: bool = False) -> Found:
    """Compare two result files, folders of them, sites or pages.

    Args:
        tolerance: two numbers of which one is no whole number are equal up to it.
        everything: compare `APART` too. rows: of two sites compare their rows alone.

    Raises ConfigError where the two cannot be compared, DataError for a line that is no result row.
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise ConfigError(f"--tolerance {tolerance}: must be a number from 0")
    kinds = [_kind(path) for path in (a, b)]
    if kinds == ["site", "site"] and not rows:
        return _sites(a, b, tolerance, everything)
    if kinds == ["page", "page"]:
        parted = _parted(a, b, b.name)
        return Found(None, int(parted is None), parted=(parted,) if parted else ())
    if "page" in kinds:
        page, other = (a, b) if kinds[0] == "page" else (b, a)
        raise ConfigError(f"{page} is a page and {other} is not: give two pages, two sites, or two sets of result rows")
    return Found(compare_rows(*_matched(a, b), tolerance, everything))


# ---- rows -----------------------------------------------------------------------------------------------------------


def compare_rows(
    a: Mapping[str, Sequence[Held]], b: Mapping[str, Sequence[Held]], tolerance: float = 0.0, everything: bool = False
) -> Rows:
    """Compare rows, given by the name of the file that holds them."""
    first: First | None = None
    both = different = 0
    counted, apart = Counter[str](), Counter[str]()
    only: tuple[list[str], list[str]] = ([], [])
    twice: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for name in dict.fromkeys((*a, *b)):
        left, right = (grouped(side.get(name, ()), lambda held: held.row.id) for side in (a, b))
        for side, known in zip(twice, (left, right), strict=True):
            side.update({number: len(held) for number, held in known.items() if len(held) > 1})
        for number in dict.fromkeys((*left, *right)):
            pairs, rest = _pairs(left.get(number, []), right.get(number, []), tolerance)
            both += len(pairs)
            for missing, alone in zip(only, rest, strict=True):
                missing += [number] * len(alone)
            for one, two in pairs:
                found = list(differing(one.row, two.row, tolerance, COMPARED + APART * everything))
                if not everything:
                    timed = [field for field, _, _ in found if field.endswith(TIMED)]
                    found = [leaf for leaf in found if leaf[0] not in timed]
                    fields_apart = [field for field, _, _ in differing(one.row, two.row, 0.0, APART)]
                    apart.update(list(dict.fromkeys(map(_short, (*timed, *fields_apart)))))
                different += bool(found)
                counted.update({field.partition("[")[0] for field, _, _ in found})
                if found and first is None:
                    field, x, y = found[0]
                    first = First(
                        number, field, x, y, y - x if _number(x) and _number(y) else None, (one.place, two.place)
                    )
    by_field = {name: counted[name] for name in (*COMPARED, *APART) if counted[name]}
    only_a, only_b = map(tuple, only)
    return Rows(both, only_a, only_b, different, by_field, first, dict(apart.most_common()), *map(dict, twice))


def differing(a: Result, b: Result, tolerance: float, names: Sequence[str]) -> Iterator[tuple[str, Any, Any]]:
    """Yield (field, in a, in b) of all that differs, in the order of `names`; of a mapping each key, `by_query['q1']`."""
    for name in names:
        yield from _leaves(name, getattr(a, name), getattr(b, name), tolerance)


def _leaves(name: str, a: Any, b: Any, tolerance: float) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            yield from _leaves(f"{name}[{key!r}]", a.get(key), b.get(key), tolerance)
    elif not _same(a, b, tolerance):
        yield name, a, b


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if _number(a) and _number(b):
        return bool(a == b or (float in (type(a), type(b)) and abs(a - b) <= tolerance))
    return type(a) is type(b) and bool(a == b)


def _short(field: str) -> str:
    """`provenance['versions']['numpy']` as `versions.numpy`."""
    return ".".join(re.findall(r"\['(.*?)'\]", field)) or field


def _pairs(
    a: list[Held], b: list[Held], tolerance: float
) -> tuple[list[tuple[Held, Held]], tuple[list[Held], list[Held]]]:
    """Match rows of one id: equal ones first, the others in order; return the pairs and what is left on each side."""
    pairs, left, right = list[tuple[Held, Held]](), list[Held](), list(b)
    for one in a:
        twin = next((two for two in right if not any(differing(one.row, two.row, tolerance, COMPARED))), None)
        if twin is None:
            left.append(one)
        else:
            pairs.append((one, twin))
            right.remove(twin)
    n = min(len(left), len(right))
    return [*pairs, *zip(left[:n], right[:n], strict=True)], (left[n:], right[n:])


# ---- where rows stand -----------------------------------------------------------------------------------------------


def _kind(path: Path) -> str:
    if path.is_dir():
        return "site" if (path / "index.html").is_file() else "rows"
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder")
    return "rows" if path.name.endswith(ROWS) or _printed(path) else "page"


def _printed(path: Path) -> bool:
    with path.open("rb") as file:
        return path.suffix == ".json" and file.read(256).lstrip().startswith(b"[")


def _files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(p for suffix in ROWS for p in folder.rglob(f"*{suffix}")):
        place = path.relative_to(folder)
        if _hidden(place):
            continue
        name = place.as_posix().removesuffix(".gz").removesuffix(".jsonl").removesuffix(".data/rows")
        if name in found:
            raise ConfigError(f"{folder}: {found[name].name} and {path.name} both hold {name}. Move one away")
        found[name] = path
    if not found:
        raise ConfigError(f"{folder}: neither a built site (index.html) nor result rows ({', '.join(ROWS)}) in it")
    return found


def _matched(a: Path, b: Path) -> tuple[dict[str, list[Held]], dict[str, list[Held]]]:
    left, right = ({path.name: path} if path.is_file() else _files(path) for path in (a, b))
    if a.is_file() and b.is_dir():
        right = {a.name: right[_within(a, right, b)]}
    elif b.is_file() and a.is_dir():
        left = {b.name: left[_within(b, left, a)]}
    elif len(left) == len(right) == 1:
        right = dict(zip(left, right.values(), strict=True))
    if not set(left) & set(right):
        hold = ", ".join(f"{side} holds {', '.join([*files][:3])} ..." for side, files in ((a, left), (b, right)))
        raise ConfigError(f"no file in common: {hold}. Give folders of one kind, such as results/real and build/html")
    return _read(left), _read(right)


def _within(path: Path, many: Mapping[str, Path], folder: Path) -> str:
    chapters = {held.row.chapter for held in _held(path)}
    fits = [name for name in many if any(name == c or name.endswith(f"/{c}") for c in chapters if c)]
    if len(fits) != 1 and len(many) == 1:
        fits = list(many)
    if len(fits) != 1:
        count = f"{len(fits)} files" if fits else "no file"
        named = ", ".join(sorted(chapters)) or "none"
        raise ConfigError(f"{folder}: {count} of chapter {named}, which {path} is of. Name the file")
    return fits[0]


def _read(files: Mapping[str, Path]) -> dict[str, list[Held]]:
    return {name: list(_held(path)) for name, path in files.items()}


def _held(path: Path) -> Iterator[Held]:
    for line, row in objects(path) if path.suffix == ".json" else read_jsonl(path):
        if not isinstance(row, dict) or "task" not in row or "metric" not in row:
            raise DataError(path, line, "not a result row: it has no task or no metric", "Give files of result rows")
        yield Held(from_json(row, path, line), f"{path}:{line}")


# ---- sites ----------------------------------------------------------------------------------------------------------


def _sites(a: Path, b: Path, tolerance: float, everything: bool) -> Found:
    left, right = (_listed(site) for site in (a, b))
    both = [name for name in left if name in right]
    of_rows = [name for name in both if name.endswith(ROWS)]
    parted = [found for name in both if name not in of_rows and (found := _parted(left[name], right[name], name))]
    a_rows, b_rows = (_read({name: side[name] for name in of_rows}) for side in (left, right))
    rows = compare_rows(a_rows, b_rows, tolerance, everything)
    only_a, only_b = (tuple(n for n in one if n not in other) for one, other in ((left, right), (right, left)))
    same = len(both) - len(parted) - len(of_rows)
    return Found(rows if of_rows else None, same, only_a, only_b, tuple(parted))


def _listed(site: Path) -> dict[str, Path]:
    paths = {p.relative_to(site): p for p in sorted(site.rglob("*")) if p.is_file()}
    return {name.as_posix(): path for name, path in paths.items() if not _hidden(name)}


def _hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)


def _parted(a: Path, b: Path, name: str) -> Parted | None:
    if a.stat().st_size == b.stat().st_size and sha256_file(a) == sha256_file(b):
        return None
    try:
        left, right = (path.read_text(encoding="utf-8").split("\n") for path in (a, b))
    except UnicodeDecodeError:
        return Parted(name, 0, f"{a.stat().st_size:,} bytes", f"{b.stat().st_size:,} bytes")
    n = min(len(left), len(right))
    at = next((i for i in range(n) if left[i] != right[i]), n)
    x, y = (lines[at] if at < len(lines) else "" for lines in (left, right))
    column = next((i for i, (p, q) in enumerate(zip(x, y, strict=False)) if p != q), min(len(x), len(y)))
    return Parted(name, at + 1, _clip(x, column), _clip(y, column))


def _clip(text: str, column: int) -> str:
    start, end = max(0, column - CLIP), column + CLIP
    return f"{'…' if start else ''}{text[start:end].strip()}{'…' if end < len(text) else ''}"
