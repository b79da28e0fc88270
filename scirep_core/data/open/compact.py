"""What the compact files have in common: collapsed white space, and one row a line in bytes that are always the same."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
Files = Mapping[str, Sequence[Mapping[str, Any]] | Sequence[Sequence[Any]]]
"""Name of a compact file -> its rows: objects for `.jsonl.gz`, cells under a first row of names for `.tsv.gz`."""
Converter = Callable[[Path], Files]
"""Folder of raw files, laid out `<repository>/<path>` -> compact files."""


def clean(text: str | None) -> str:
    """Return a text with each run of white space as one space, none at its ends, and e-mail addresses as [email]; "" for None."""
    return _EMAIL.sub("[email]", " ".join((text or "").split()))


def packed(name: str, rows: Iterable[Any]) -> bytes:
    """Return the bytes of a compact file: UTF-8 JSON lines or tab-separated cells, gzipped without name and time."""
    if name.endswith(".jsonl.gz"):
        lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False) for row in rows)
    else:
        lines = ("\t".join(map(str, row)) for row in rows)
    stream = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, stream, mtime=0) as pack:
        pack.writelines(f"{line}\n".encode() for line in lines)
    return stream.getvalue()
