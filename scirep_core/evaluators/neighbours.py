"""Alternative-self retrieval (short-query retrieval; textual neighbours, section 4, Table 3).

The query is a paper's title alone, what is sought is the same paper as title + abstract. Task I: among the title +
abstract texts of ALL papers. Task II: among these and the titles of all OTHER papers. Vectors `<paper_id>/t` and
`<paper_id>/ta`, cosine.

    rank = 1 + candidates strictly more similar     MRR = mean 1/rank     T100 = share of ranks up to 100

Equal texts make rank 1 impossible for one of a pair; the rank above is the optimistic one, and the note gives the
value with every tie lost where it differs. Protocol `paper` draws 1,000 papers as queries (seeded), `sound` takes all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import Collection
from scirep_core.evaluators.pairs import evaluator
from scirep_core.evaluators.rows import Asked, replicated, sample, sentence, spread_of
from scirep_core.evaluators.search import Pool
from scirep_core.kit.errors import DataError
from scirep_core.results import Result

QUERIES = 1000
Ranks = NDArray[np.float64]
VALUES: dict[str, Callable[[Ranks], float]] = {
    "mrr": lambda ranks: 100 * float(np.mean(1 / ranks)),
    "t100": lambda ranks: 100 * float(np.mean(ranks <= 100)),
    "median_rank": lambda ranks: float(np.median(ranks)),
}


@evaluator(Collection, "cosine")
def evaluate(asked: Asked, data: Collection) -> list[Result]:
    """Return one row per metric for the splits `task-I` and `task-II`; `median_rank` is a rank, not a percentage.

    Raises DataError for a missing vector; with `drop`, a paper that lacks one of its two is left out.
    """
    vector_ids = asked.vector_ids(f"{paper}/{text}" for paper in data.paper_ids for text in ("t", "ta"))
    papers = [paper for paper in data.paper_ids if f"{paper}/t" in vector_ids and f"{paper}/ta" in vector_ids]
    if not papers:
        raise DataError("vectors", None, f"no paper of {asked.task.name} has both vectors, <id>/t and <id>/ta")
    chosen = sample(len(papers), QUERIES if asked.protocol == "paper" else len(papers), asked.seed)
    titles, whole = (asked.matrix([f"{paper}/{text}" for paper in papers]) for text in ("t", "ta"))
    rows = []
    for split, pools in (("task-I", (whole,)), ("task-II", (whole, titles))):
        best, worst = ranks(titles, pools, chosen, asked.similarity)
        for metric in asked.metrics:
            value, lost = VALUES[metric](best), VALUES[metric](worst)
            rows.append(asked.row(
                metric, value, len(chosen), split, **_spread(asked, metric, best), ties="optimistic: strictly more similar",
                coverage=len(papers) / len(data.paper_ids),
                pool=f"{len(papers) * len(pools) - (len(pools) - 1)} texts of {len(papers)} of {len(data.paper_ids)} papers",
                note=sentence(f"with every tie lost: {lost:.6g}" if lost != value else "",
                              f"{len(chosen)} queries drawn" if len(chosen) < len(papers) else ""),
            ))  # fmt: skip
    return rows


def _spread(asked: Asked, metric: str, found: Ranks) -> dict[str, Any]:
    if metric == "median_rank":
        return {"replicates": replicated(asked, len(found), lambda picks: np.median(found[picks], axis=1))}
    return spread_of(asked, 1 / found if metric == "mrr" else (found <= 100).astype(np.float64))


def ranks(
    titles: NDArray[np.floating], pools: Sequence[NDArray[np.floating]], chosen: NDArray[np.int64], similarity: str
) -> tuple[Ranks, Ranks]:
    """Return the (optimistic, pessimistic) ranks of the own text for chosen papers.

    Args:
        titles: (papers, dim) query vectors; `pools[0]` the sought texts, aligned with them; a second pool are the titles
            again, of which the query's own is not a candidate.
    """
    own_title = len(pools[0]) + chosen if len(pools) > 1 else None
    return Pool(np.concatenate(pools), similarity).ranks(titles[chosen], chosen, own_title)
