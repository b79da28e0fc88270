"""Errors that a reader can act on.

Every error the library raises on purpose is a `ScirepError`: one line that names the thing (file, line, value) and
one remedy. The command line prints the line and exits with code 2; Python callers get the same text. Values come from
files of strangers, so `legible` escapes and cuts every line, whoever wrote it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
LONGEST = 1000
"""Characters of an error's line. What is longer loses its middle: the file stands before it, the remedy behind."""


def legible(text: str, longest: int = LONGEST) -> str:
    r"""Return a text as one line that shows what it holds and no more.

    Whatever a terminal obeys or hides is escaped (control characters, line ends, marks of direction, lone surrogates); of a
    text beyond `longest` characters a third is kept before what is cut out, and the end behind it.

    >>> legible("a" + chr(27) + "[2J" + chr(0x202E) + "b")
    'a\\x1b[2J\\u202eb'
    """
    if len(text) > longest:  # before escaping too: a text may be as long as a file
        text = text[:longest] + text[-longest:]
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    if len(shown) <= longest:
        return shown
    head = 2 * longest // 3
    return f"{shown[:head]} [...] {shown[head + 7 - longest :]}"


class ScirepError(Exception):
    """Base of all errors that bad input can cause. `str(error)` is one complete line, escaped and cut by `legible`."""

    exit_code = 2

    def __init__(self, line: str = "") -> None:
        super().__init__(legible(line))

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross a border of processes whole: by what it holds, not by calling a subclass with the text alone."""
        return _again, (type(self), str(self)), self.__dict__


def _again(kind: type[ScirepError], text: str) -> ScirepError:
    error = kind.__new__(kind, text)
    error.args = (text,)
    return error


class DataError(ScirepError):
    """A file holds something it must not: says `file:line: reason. remedy`."""

    def __init__(self, path: Path | str, line: int | None, reason: str, remedy: str = "") -> None:
        self.path, self.line, self.reason, self.remedy = str(path), line, reason, remedy
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {reason}" + (f". {remedy}" if remedy else ""))


class ConfigError(ScirepError):
    """A parameter, name or option is wrong."""


class UnknownName(ConfigError):
    """A name stands for nothing: says `unknown KIND 'NAME'; did you mean ...`, and what else may be given.

    A caller that tries one kind after another reads `kind` and `name`, never the text.
    """

    def __init__(self, kind: str, name: str, valid: Iterable[str], or_else: str = "") -> None:
        self.kind, self.name = kind, name
        super().__init__(f"unknown {kind} {name!r}; {nearest(name, valid)}{or_else}")


class CacheError(ScirepError):
    """A stored artefact is damaged, incomplete or cannot be written: says `reason. remedy`.

    `reason` alone, path and all, is for a caller who has a remedy of his own.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(reason + (f". {remedy}" if remedy else ""))


class NumericError(ScirepError):
    """A number is not a number: names the document or query it belongs to."""


MOST = 20
"""How many valid names an error lists."""


def some_of(names: Iterable[object], most: int) -> str:
    """Return the first names, with commas between them, and how many more there are.

    >>> some_of(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = [str(name) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a hint that names the valid choice closest to `name`.

    >>> nearest("fabs_bm52", ["fabs_bm25", "minilm_sentences"])
    "did you mean 'fabs_bm25'? Valid: fabs_bm25, minilm_sentences"
    """
    choices = sorted(valid)
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}Valid: {some_of(choices, MOST)}"


def check_name(kind: str, name: str, valid: Collection[str], or_else: str = "") -> None:
    """Raise UnknownName for a name that is none of the valid ones."""
    if name not in valid:
        raise UnknownName(kind, name, valid, or_else)


def look_up(kind: str, name: str, table: Mapping[str, T]) -> T:
    """Return what a registry has under a name. Raises UnknownName."""
    check_name(kind, name, table)
    return table[name]
