"""Link prediction by retrieval: find what a paper cites, and what is cited together with it (SciMult 4.3, Table 5).

    task            planted                                     ceiling (oracle)
    scimult/cite    the references of citations.py              NOT 100: which of the suitable papers is cited is chance; the
                                                                oracle knows why papers are cited (same problem, method,
                                                                topic, area, field) and how famous they are
    scimult/cocite  papers cited together by `at least` papers  the same reasons: NOT 100

Queries are papers of the evaluation split, up to 5,000; the lists of all other papers are empty. The pool is the queries,
all that they are linked to, and other papers up to 20,000 (published: 142,009). A query's own paper stays in the pool and
takes a place of the ranking, normally the first.

Published co-citation asks for at least 10 citing papers, and 38 % of the papers (54,543 of 142,009) have such a partner.
A literature of a few thousand has no such pairs; so `at least` is the largest number from 10 down to 2 at which 38 % of the
query papers have a partner, and 2 where there is none.

Oracle: the inner product of two papers is the sum of the shares of the reasons they share (`REASONS` of citations.py, each
divided by the usual number of papers that share it), times a factor of each for its fame: three candidates are drawn and
the most famous is cited. That a cited paper is older than the citing one is in no inner product, as every paper has one
vector in both roles.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scirep_core.data.literature.citations import REASONS
from scirep_core.data.literature.emit.files import Floats, one_hot, scaled, write_lines, write_oracle
from scirep_core.data.literature.emit.scimult.labels import evaluation_papers
from scirep_core.data.literature.emit.split import sample
from scirep_core.data.literature.latents import Ints
from scirep_core.data.literature.links import Links, from_lists
from scirep_core.data.literature.model import Literature

POOL = 20_000
QUERIES = 5_000
WITH_PARTNER = (54_543, 142_009)
TOGETHER = 10
MOST_CITING = 2_000


def write(root: Path, literature: Literature) -> None:
    """Write `SciDocs_papers_test.json` and the oracles of both tasks."""
    queries, cited, together = draw_links(literature)
    if not len(queries):
        return  # the first papers of a literature cite nothing
    pool = _pool(literature, queries, cited, together)
    path = root / "scimult" / "link_prediction_retrieval" / "SciDocs_papers_test.json"
    write_lines(path, _rows(literature, pool, queries, cited, together))
    ids = literature.ids(pool)
    vectors = reasons(literature, pool)
    for task in ("scimult/cite", "scimult/cocite"):
        write_oracle(root, task, ids, vectors)


def draw_links(literature: Literature) -> tuple[Ints, Links, Links]:
    """Return query papers, what each cites, and what is cited together with each often enough (both by query)."""
    suitable = literature.cites.counts() > 0
    wanted = scaled(len(literature), QUERIES, 20, 400)
    queries = evaluation_papers(literature, suitable, "links", wanted)
    counted = [literature.cited_with(i, MOST_CITING) for i in queries.tolist()]
    least = at_least([int(counts.max(initial=0)) for _, counts in counted])
    together = [papers[counts >= least] for papers, counts in counted]
    rows, linked = [], set[int]()
    cited = [literature.cites.of(i) for i in queries.tolist()]
    for row, i in enumerate(queries.tolist()):
        more = linked | {i, *cited[row].tolist(), *together[row].tolist()}
        if len(more) > POOL:
            break
        rows.append(row)
        linked = more
    return queries[rows], from_lists([cited[row] for row in rows]), from_lists([together[row] for row in rows])


def at_least(most: list[int]) -> int:
    """Return the threshold of co-citation, given how often each paper's most frequent partner is cited with it.

    >>> at_least([12, 11, 3, 2, 1]), at_least([3, 3, 1, 1, 1]), at_least([1, 1])
    (10, 3, 2)
    """
    share, whole = WITH_PARTNER
    for count in range(TOGETHER, 1, -1):
        if sum(m >= count for m in most) * whole >= share * len(most):
            return count
    return 2


def _pool(literature: Literature, queries: Ints, cited: Links, together: Links) -> Ints:
    linked = np.unique(np.concatenate([queries, cited.items, together.items]))
    others = np.setdiff1d(np.arange(len(literature)), linked)
    return np.union1d(linked, sample(literature, "pool of links", others, max(0, POOL - len(linked))))


def _rows(literature: Literature, pool: Ints, queries: Ints, cited: Links, together: Links) -> Iterator[dict[str, Any]]:
    row_of = {int(i): row for row, i in enumerate(queries)}
    for i, paper in zip(pool.tolist(), literature.papers_at(pool), strict=True):
        row = row_of.get(i)
        links = [[literature.paper_id(k) for k in (() if row is None else found.of(row).tolist())]
                 for found in (cited, together)]  # fmt: skip
        yield {
            "paper": paper.paper_id,
            "title": paper.title,
            "abstract": paper.abstract,
            "cite": links[0],
            "co-cite": links[1],
        }


def reasons(literature: Literature, papers: Ints) -> Floats:
    """Return (n, dim) vectors whose inner products grow with the chance of a citation between two papers."""
    latents, blocks = literature.latents, []
    for name, share in REASONS:
        value = np.zeros(len(papers), dtype=np.int64) if name == "any" else getattr(latents, name)[papers]
        blocks.append(one_hot(value, (share * len(np.unique(value)) / 100) ** 0.5))
    return np.concatenate(blocks, axis=1) * fame_factor(latents.fame[papers])[:, None]


def fame_factor(fame: Ints) -> Floats:
    """Return (n,) how likely a paper is the most famous of the three proposed, from its rank in fame; 0.1 to 1."""
    rank = np.searchsorted(np.sort(fame), fame)
    share = (rank / max(1, len(fame) - 1)).astype(np.float32)
    return 0.1 + 0.9 * share * share
