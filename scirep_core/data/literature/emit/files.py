"""What every writer of the embedded collections shares: sizes, files in the published kinds, oracle vectors.

A file is streamed, whole or absent, and equal rows give equal bytes. An oracle has for each id of a task a vector made from
the latents alone, without the noise of people, such that the task's own evaluator (nearest by L2, linear probe, ...) reaches
the ceiling.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scirep_core.data.literature.latents import Ints
from scirep_core.data.literature.model import Literature
from scirep_core.kit.store import atomic

GROUP = 2_000
_ENCODE = json.JSONEncoder(allow_nan=False).encode  # made once: json.dumps would make one a row
Floats = npt.NDArray[np.float32]
Column = tuple[Any, Callable[[int], Any]]
"""A column of a table of papers: its type (see `write_parquet`), and its value by the position of a paper."""
Columns = Mapping[str, Column]


def scaled(papers: int, published: int, percent: float, least: int) -> int:
    """Return how large an embedded task is: a share of the literature, not below `least`, not above the published size."""
    return min(published, max(least, round(papers * percent / 100)))


def write_parquet(path: Path, columns: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to one parquet file, a group at a time.

    Args:
        columns: name -> type of each column: a name of pyarrow's, [type] for a list, or a mapping for a struct.
    """
    import pyarrow
    import pyarrow.parquet

    schema, source = pyarrow.schema([(name, _arrow(kind)) for name, kind in columns.items()]), iter(rows)
    with atomic(path, sync=False) as stream, pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        while group := list(itertools.islice(source, GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))


def write_papers(path: Path, columns: Columns, positions: Iterable[int]) -> None:
    """Write a row for each paper to one parquet file."""
    kind, row = struct(columns)
    write_parquet(path, kind, map(row, positions))


def struct(columns: Columns) -> Column:
    """Return columns as one: an object for each paper."""
    kinds = {name: kind for name, (kind, _) in columns.items()}
    return kinds, lambda i: {name: value(i) for name, (_, value) in columns.items()}


def _arrow(kind: Any) -> Any:
    import pyarrow

    if isinstance(kind, str):
        return pyarrow.type_for_alias(kind)
    if isinstance(kind, Sequence):
        return pyarrow.list_(_arrow(kind[0]))
    return pyarrow.struct([(name, _arrow(inner)) for name, inner in kind.items()])


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON lines, streamed. A path in .gz is gzipped, without a time stamp."""
    with atomic(path, sync=False) as stream:
        packed = gzip.GzipFile("", "wb", 6, stream, mtime=0) if path.suffix == ".gz" else stream
        for row in rows:
            packed.write((_ENCODE(row) + "\n").encode())
        if packed is not stream:
            packed.close()


def write_tabs(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows of cells with tabs between them, streamed."""
    with atomic(path, sync=False) as stream:
        for row in rows:
            stream.write(("\t".join(map(str, row)) + "\n").encode())


def texts(literature: Literature, papers: Ints, key: str = "paper_id") -> Iterator[dict[str, str]]:
    """Yield {key: id, title, abstract} of papers."""
    for paper in literature.papers_at(papers):
        yield {key: paper.paper_id, "title": paper.title, "abstract": paper.abstract}


def write_oracle(root: Path, task: str, ids: Sequence[str], vectors: npt.ArrayLike) -> None:
    """Write `<root>/oracle/<task>.npz`: `ids` (n,) and float32 `vectors` (n, dim). Each id once."""
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != len(ids) or len(set(ids)) != len(ids):
        raise ValueError(f"oracle of {task}: {len(ids)} ids ({len(set(ids))} different), array {array.shape}")
    with atomic(root / "oracle" / f"{task.replace('/', '__')}.npz", sync=False) as stream:
        np.savez(stream, ids=np.array(ids, dtype=np.str_), vectors=array)


def digits(numbers: Ints, width: int = 0) -> Floats:
    """Return (n, width) rows of +1 and -1: the binary digits of each number, lowest first; as many as needed without a width."""
    bits = (numbers[:, None] >> np.arange(width or int(numbers.max()).bit_length() or 1)) & 1
    return (2 * bits - 1).astype(np.float32)


def one_hot(values: Ints, weight: float = 1.0) -> Floats:
    """Return (n, different values) rows with `weight` at the value's place; a negative value gives a row of zeros.

    Two rows with different values lie sqrt(2) * weight apart, so blocks of falling weight make a hierarchy of distances.
    """
    present = np.unique(values[values >= 0])
    rows = np.zeros((len(values), max(1, len(present))), dtype=np.float32)
    known = np.flatnonzero(values >= 0)
    rows[known, np.searchsorted(present, values[known])] = weight
    return rows
