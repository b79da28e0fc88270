"""What tests of files share: writing rows, looking at folders, the mirror's collections, and a refusal in one line."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from scirep_core.kit.errors import DataError

MIRROR = Path(os.environ.get("SCIREP_DATA_MIRROR") or "/nowhere")


def mirrored(*paths: str) -> pytest.MarkDecorator:
    """Skip a test on a machine whose mirror lacks one of these."""
    absent = [path for path in paths if not (MIRROR / path).exists()]
    return pytest.mark.skipif(bool(absent), reason=f"needs SCIREP_DATA_MIRROR=DIR with {', '.join(paths)}")


def jsonl(path: Path, rows: Iterable[object]) -> Path:
    """Write one JSON value a line, text as it is; packed where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
    return path


def lay(folder: Path, files: dict[str, Any]) -> Path:
    """Write files below a folder: bytes and text as they are, lists as JSON lines, else one JSON value; return the folder."""
    for name, content in files.items():
        if isinstance(content, list):
            jsonl(folder / name, content)
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, bytes | str) else json.dumps(content)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return what lies below a folder: relative path -> bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def to_windows(path: Path) -> None:
    """Rewrite a file as an editor on Windows saves it: a byte order mark, CR LF."""
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


def refused(call: Callable[[], object], *says: str, error: type[Exception] = DataError) -> str:
    """Call what must be refused, with all of this said; return what is said (one line: `kit.errors.legible`)."""
    with pytest.raises(error) as caught:
        call()
    line = str(caught.value)
    assert all(words in line for words in says), line
    return line


def at(path: Path, line: int | None = None) -> str:
    """Return how a line begins that names a place."""
    return f"{path}: " if line is None else f"{path}:{line}: "
