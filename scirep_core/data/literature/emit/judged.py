"""Files of judged pools: a query with its candidates (texts), and query, candidate, score (judgements), streamed.

<root>/scirepeval/<config>/<split>/0000.parquet         query, candidates [{doc_id, corpus_id, title, abstract, score, ...}]
<root>/scirepeval_test/<config>/<split>/0000.parquet    query_id, cand_id, score
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scirep_core.data.literature.emit.files import write_parquet
from scirep_core.data.literature.emit.scirepeval.relevance import Pools, Profile, Traits, write_text_oracle
from scirep_core.data.literature.emit.split import FLAT, identified, table
from scirep_core.data.literature.latents import NONE
from scirep_core.data.literature.model import Literature

BARE = {"query": "string", "doc_id": "string"}
"""Columns of a query that is no paper."""
Describe = Callable[[int], Mapping[str, Any]]
"""Further columns of a candidate, from its position."""


def write_texts(
    root: Path,
    literature: Literature,
    config: str,
    split: str,
    pools: Pools,
    asked: Sequence[Mapping[str, Any]] | None = None,
    columns: Mapping[str, Any] | None = None,
    describe: Describe = lambda i: {},
    row: Mapping[str, Any] | None = None,
) -> None:
    """Write queries with their candidates.

    Args:
        asked: further columns of each row, in the order of the queries; those of a bare query hold query and doc_id.
        columns, describe: further columns of a candidate, their types and their values.
        row: types of the columns in `asked`.
    """
    candidate = {**FLAT, **(columns or {}), "score": "int32"}
    kinds = {"query": FLAT, **(row or {}), "candidates": [candidate]}  # a bare query is a row's column
    write_parquet(
        table(root, "scirepeval", config, split),
        kinds,
        _rows(literature, pools, asked or [{}] * len(pools.queries), describe),
    )


def write_asked(
    root: Path, literature: Literature, config: str, tasks: Sequence[str], profile: Profile, pools: Pools,
    asked: Sequence[Mapping[str, str]], wanted: Traits, columns: Mapping[str, Any] | None = None, describe: Describe = lambda i: {},
) -> None:  # fmt: skip
    """Write texts, judgements and oracle of bare queries.

    Args:
        asked: {query, doc_id} of each.
        wanted: what each asks for, NONE where it does not say.
    """
    ids = [row["doc_id"] for row in asked]
    write_texts(root, literature, config, "evaluation", pools, asked, columns, describe, BARE)
    write_judgements(root, literature, config, pools, ids)
    write_text_oracle(root, literature, tasks, profile, pools, ids, wanted)


def _rows(
    literature: Literature, pools: Pools, asked: Sequence[Mapping[str, Any]], describe: Describe
) -> Iterator[dict[str, Any]]:
    for k, query in enumerate(pools.queries.tolist()):
        pairs = zip(pools.table[k].tolist(), pools.grades[k].tolist(), strict=True)
        candidates = [
            {**identified(literature.paper(i)), **describe(i), "score": grade} for i, grade in pairs if i != NONE
        ]
        yield {"query": identified(literature.paper(query)), **asked[k], "candidates": candidates}


def write_judgements(
    root: Path, literature: Literature, config: str, pools: Pools, ids: Sequence[str] | None = None,
    split: str = "test", candidate: Callable[[int], str] | None = None,
) -> None:  # fmt: skip
    """Write the judgements; `ids` are those of bare queries, `candidate` names candidates that are no papers."""
    path = table(root, "scirepeval_test", config, split)
    rows = _pairs(pools, ids or literature.ids(pools.queries), candidate or literature.paper_id)
    write_parquet(path, {"query_id": "string", "cand_id": "string", "score": "int32"}, rows)


def _pairs(pools: Pools, ids: Sequence[str], name: Callable[[int], str]) -> Iterator[dict[str, Any]]:
    for k, query_id in enumerate(ids):
        for i, grade in zip(pools.table[k].tolist(), pools.grades[k].tolist(), strict=True):
            if i != NONE:
                yield {"query_id": query_id, "cand_id": name(i), "score": grade}
