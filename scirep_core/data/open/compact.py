"""What the compact files have in common: collapsed white space, and one row a line in bytes that are always the same."""

from __future__ import annotations

import gzip
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scirep_core.kit.store import sha256_bytes

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
Files = Mapping[str, Sequence[Mapping[str, Any]] | Sequence[Sequence[Any]]]
"""Name of a compact file -> its rows: objects for `.jsonl.gz`, cells under a first row of names for `.tsv.gz`."""
Converter = Callable[[Path, Sequence[int]], Files]
"""Folder of raw files, laid out `<repository>/<path>`, and the authors' running numbers (see `opaque`) -> compact files."""


def clean(text: str | None) -> str:
    """Return a text with each run of white space as one space, none at its ends, and e-mail addresses as [email]; "" for None."""
    return _EMAIL.sub("[email]", " ".join((text or "").split()))


_ENGLISH = frozenset([
    "the", "of", "and", "in", "to", "a", "is", "for", "with", "that", "on", "by", "as", "are", "this", "from", "we", "be", "an",
    "our", "it", "which",
])  # fmt: skip


def is_english(text: str) -> bool:
    """Return whether 15 % or more of a text's words (runs of the letters a to z) are frequent English ones."""
    words = re.findall("[a-z]+", text.lower())
    return sum(word in _ENGLISH for word in words) >= 0.15 * len(words) > 0


def title_key(title: str) -> str:
    """Return what equal titles have in common: letters a to z and digits, in lower case, without accents."""
    letters = (c for c in unicodedata.normalize("NFKD", title.lower()) if not unicodedata.combining(c))
    return " ".join(re.findall("[a-z0-9]+", "".join(letters)))


def once_a_title(papers: Iterable[dict[str, Any]], least: int) -> Iterator[dict[str, Any]]:
    """Yield the papers with an English abstract of `least` characters or more, of those of equal title the first."""
    titles: set[str] = set()
    for paper in papers:
        key, abstract = title_key(paper["title"]), paper["abstract"]
        if len(abstract) >= least and is_english(abstract) and key not in titles:
            titles.add(key)
            yield paper


def bucket(key: str, of: int, start: int = 0) -> int:
    """Return eight hexadecimal digits of an id's SHA-256, from digit `start`, as a number modulo `of`."""
    return int(sha256_bytes(key.encode())[start : start + 8], 16) % of


def by_hash(keys: Iterable[str]) -> list[str]:
    """Return keys in the order of their SHA-256, which says nothing of them."""
    return sorted(keys, key=lambda key: sha256_bytes(key.encode()))


def opaque(names: Iterable[str], prefix: str, numbers: Sequence[int]) -> dict[str, str]:
    """Return name -> prefix and running number, of equal width.

    The published numbers were dealt at random, so that they say nothing of the names; `numbers` has them for the names in
    sorted order. Without it that order itself numbers them. Raises ValueError where there are not as many names as numbers.
    """
    ordered = sorted(set(names))
    if numbers and len(numbers) != len(ordered):
        raise ValueError(f"{len(ordered):,} authors for {len(numbers):,} running numbers")
    dealt = numbers or range(len(ordered))
    width = len(str(max(dealt, default=0)))
    return {name: f"{prefix}{number:0{width}d}" for name, number in zip(ordered, dealt, strict=True)}


def shared_references(cited: Mapping[str, Iterable[str]], papers: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the table of references that two papers or more of a corpus share: number, its paper ("-" outside), who cite it.

    Args:
        cited: paper -> references.
        papers: reference -> paper, where it is one of the corpus.
    """
    citing: dict[str, list[str]] = {}
    for paper, references in cited.items():
        for reference in set(references):
            citing.setdefault(reference, []).append(paper)
    shared = by_hash(r for r, by in citing.items() if len(by) > 1)
    rows = ((f"r{n:05d}", papers.get(r, "-"), " ".join(sorted(citing[r]))) for n, r in enumerate(shared))
    return [("reference", "in_corpus", "citing"), *rows]


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
