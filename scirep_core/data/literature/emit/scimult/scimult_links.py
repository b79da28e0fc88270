"""Link prediction by retrieval: find what a paper cites, and what is cited together with it (SciMult 4.3, Table 5).

Queries are papers of the evaluation split, up to 5,000; the lists of all other papers are empty. The pool is the queries,
all that they are linked to, and other papers up to 20,000 (published: 142,009). A query's own paper stays in the pool and
takes a place of the ranking, normally the first.

Published co-citation asks for at least 10 citing papers, and 38 % of the papers (54,543 of 142,009) have such a partner.
A literature of a few thousand has no such pairs; so `at_least` is the largest number from 10 down to 2 at which 38 % of the
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
from scirep_core.data.literature.emit.files import Floats, one_hot, scaled, texts, write_lines, write_oracle
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
    linked = np.unique(np.concatenate([queries, cited.items, together.items]))
    others = np.setdiff1d(np.arange(len(literature)), linked)
    pool = np.union1d(linked, sample(literature, "pool of links", others, max(0, POOL - len(linked))))
    path = root / "scimult" / "link_prediction_retrieval" / "SciDocs_papers_test.json"
    write_lines(path, _rows(literature, pool, queries, cited, together))
    ids = literature.ids(pool)
    vectors = reasons(literature, pool)
    for task in ("scimult/cite", "scimult/cocite"):
        write_oracle(root, task, ids, vectors)


def draw_links(literature: Literature) -> tuple[Ints, Links, Links]:
    """Return query papers, what each cites, and what is cited together with each often enough (both by query)."""
    wanted = scaled(len(literature), QUERIES, 20, 400)
    queries = evaluation_papers(literature, literature.cites.counts() > 0, "links", wanted)
    counted = [literature.cited_with(i, MOST_CITING) for i in queries.tolist()]
    least = at_least([int(counts.max(initial=0)) for _, counts in counted])
    together = [papers[counts >= least] for papers, counts in counted]
    cited, size, linked = [literature.cites.of(i) for i in queries.tolist()], 0, set[int]()
    for i, own, others in zip(queries.tolist(), cited, together, strict=True):
        linked |= {i, *own.tolist(), *others.tolist()}
        if len(linked) > POOL:
            break
        size += 1
    return queries[:size], from_lists(cited[:size]), from_lists(together[:size])


def at_least(most: list[int]) -> int:
    """Return the threshold of co-citation, given how often each paper's most frequent partner is cited with it.

    >>> at_least([12, 11, 3, 2, 1]), at_least([3, 3, 1, 1, 1]), at_least([1, 1])
    (10, 3, 2)
    """
    share, whole = WITH_PARTNER
    enough = (n for n in range(TOGETHER, 1, -1) if sum(m >= n for m in most) * whole >= share * len(most))
    return next(enough, 2)


def _rows(literature: Literature, pool: Ints, queries: Ints, cited: Links, together: Links) -> Iterator[dict[str, Any]]:
    row_of = {int(i): row for row, i in enumerate(queries)}
    for i, text in zip(pool.tolist(), texts(literature, pool, "paper"), strict=True):
        linked = {"cite": cited, "co-cite": together}
        yield text | {
            name: literature.ids(links.of(row_of[i])) if i in row_of else [] for name, links in linked.items()
        }


def reasons(literature: Literature, papers: Ints) -> Floats:
    """Return (n, dim) vectors whose inner products grow with the chance of a citation between two papers."""
    latents, blocks = literature.latents, []
    for name, share in REASONS:
        value = np.zeros(len(papers), dtype=np.int64) if name == "any" else getattr(latents, name)[papers]
        blocks.append(one_hot(value, (share * len(np.unique(value)) / 100) ** 0.5))
    fame = latents.fame[papers]
    rank = (np.searchsorted(np.sort(fame), fame) / max(1, len(fame) - 1)).astype(np.float32)
    # 0.1 to 1: how likely a paper is the most famous of the three proposed
    return np.concatenate(blocks, axis=1) * (0.1 + 0.9 * rank * rank)[:, None]
