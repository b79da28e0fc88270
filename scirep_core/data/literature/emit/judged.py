"""Files of judged pools: a query with its candidates (texts), and query, candidate, score (judgements), streamed.

    <root>/scirepeval/<config>/<split>/0000.parquet         query, candidates [{doc_id, corpus_id, title, abstract, score, ...}]
    <root>/scirepeval_test/<config>/<split>/0000.parquet    query_id, cand_id, score

Texts are written in chunks of queries, the papers of a chunk in order of time, so that a large literature is written
with little memory and few jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scirep_core.data.literature.emit.files import write_parquet
from scirep_core.data.literature.emit.scirepeval.relevance import Pools, groups_of
from scirep_core.data.literature.emit.split import FLAT, identified, schema, table
from scirep_core.data.literature.latents import NONE, Ints
from scirep_core.data.literature.model import Literature

CHUNK = 2_000
Describe = Callable[[int], Mapping[str, Any]]
"""Further columns of a candidate, from its position."""


def write_flat(root: Path, literature: Literature, config: str, positions: Ints, shard: int = 0) -> None:
    """Write the texts of papers, each once."""
    path = table(root, "scirepeval", config, "evaluation").with_name(f"{shard:04d}.parquet")
    write_parquet(path, (identified(paper) for paper in literature.papers_at(np.unique(positions))), schema(FLAT))


def write_texts(
    root: Path,
    literature: Literature,
    config: str,
    split: str,
    pools: Pools,
    asked: Sequence[Mapping[str, Any]] | None = None,
    columns: Mapping[str, Any] | None = None,
    describe: Describe | None = None,
    row: Mapping[str, Any] | None = None,
) -> None:
    """Write queries with their candidates.

    Args:
        asked: further columns of each row, in the order of the queries; those of a bare query hold query and doc_id.
        columns, describe: further columns of a candidate, their types (as of split.schema) and their values.
        row: types of the columns in `asked`.
    """
    candidate = {**FLAT, **(columns or {}), "score": "int32"}
    kinds = schema({"query": FLAT, **(row or {}), "candidates": [candidate]})  # a bare query is a row's column
    write_parquet(table(root, "scirepeval", config, split), _rows(literature, pools, asked, describe), kinds)


def _rows(
    literature: Literature, pools: Pools, asked: Sequence[Mapping[str, Any]] | None, describe: Describe | None
) -> Iterator[dict[str, Any]]:
    for chunk in groups_of(np.arange(len(pools.queries)), CHUNK):
        needed = np.unique(np.concatenate([pools.queries[chunk], pools.table[chunk].ravel()]))
        needed = needed[needed != NONE]
        texts = map(identified, literature.papers_at(needed))
        papers: dict[int, dict[str, Any]] = dict(zip(needed.tolist(), texts, strict=True))
        if describe is not None:
            papers = {i: {**paper, **describe(i)} for i, paper in papers.items()}
        for k in chunk:
            row = dict(asked[k]) if asked is not None else {}
            row.setdefault("query", papers[int(pools.queries[k])])
            pairs = zip(pools.table[k].tolist(), pools.grades[k].tolist(), strict=True)
            yield row | {"candidates": [{**papers[i], "score": grade} for i, grade in pairs if i != NONE]}


def write_judgements(
    root: Path, literature: Literature, config: str, pools: Pools, ids: Sequence[str] | None = None, split: str = "test"
) -> None:
    """Write the judgements; `ids` are those of bare queries."""
    kinds = schema({"query_id": "string", "cand_id": "string", "score": "int32"})
    write_parquet(table(root, "scirepeval_test", config, split), _pairs(literature, pools, ids), kinds)


def _pairs(literature: Literature, pools: Pools, ids: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    for k, query in enumerate(pools.queries.tolist()):
        query_id = ids[k] if ids is not None else literature.paper_id(query)
        for i, grade in zip(pools.table[k].tolist(), pools.grades[k].tolist(), strict=True):
            if i != NONE:
                yield {"query_id": query_id, "cand_id": literature.paper_id(i), "score": grade}
