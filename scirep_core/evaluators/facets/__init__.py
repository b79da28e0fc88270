"""Faceted query-by-example: from rankings to the numbers of CSFCube Tables 3 and 4.

Protocol `paper`: each metric is averaged over the queries of a fold, then plainly over the folds; `test` is the mean
of fold1_test and fold2_test, `dev` is fold1_dev alone; `all` uses its own folds over the 50 queries. A left-out
candidate silently changes the metrics of the published script: here it is reported, and still scored the same way.

Protocol `sound`: the plain mean over all queries of the split, every rated candidate ranked (else an error),
percentile bootstrap over queries. Rows of both protocols carry a 95 % interval; `differences` has paired tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.readers.csfcube import TASKS, FacetCollection
from scirep_core.evaluators.rows import similarity_of
from scirep_core.kit.errors import ConfigError, DataError, NumericError, check_name, nearest
from scirep_core.kit.formats import FACETS, PROTOCOLS, Protocol
from scirep_core.kit.records import Query, read_object
from scirep_core.results import Result, row_of
from scirep_core.results.differences import difference_of, versus
from scirep_core.results.metrics import FACET_METRICS, score
from scirep_core.results.statistics import bootstrap_folds, holm, mean_of_folds, paired_randomisation

Rankings = Mapping[Query, Sequence[str]]
"""Candidate ids of every query, best first."""

SPLIT_FOLDS = {"test": ("fold1_test", "fold2_test"), "dev": ("fold1_dev",)}
TIES = "stable sort, ties in gold candidate order"
CHANCE_RUNS = 100


class System(NamedTuple):
    """A ranked system with what its Result rows must say about it."""

    name: str
    rankings: Rankings
    fingerprint: str = ""
    similarity: str = ""
    seconds: float | None = None

    def row(self, collection: FacetCollection, **common: Any) -> Callable[..., Result]:
        """Return what makes the system's rows; see `row_of`."""
        return row_of(
            collection, encoder=self.name, fingerprint=self.fingerprint, similarity=self.similarity, ties=TIES, **common
        )


# ---------------------------------------------------------------------------------------------- rankings, checked


def check(collection: FacetCollection, rankings: Rankings, origin: str = "ranking") -> list[str]:
    """Return one warning per query whose ranking leaves out rated candidates.

    Raises DataError for an unranked query, an empty ranking, an unknown candidate, or a candidate listed twice.
    """

    def fault(query: Query, what: str, remedy: str = "") -> DataError:
        return DataError(origin, None, f"query {query.query_id}{what}", remedy)

    warnings = []
    for query in rankings:
        if query not in collection.judgements:
            raise fault(query, " is not rated", nearest(query.query_id, [one.query_id for one in collection.queries]))
    for query in collection.queries:
        ranked = rankings.get(query)
        if ranked is None:
            raise fault(query, " is not ranked", "Rank every rated query")
        if not len(ranked):
            raise fault(query, ": the ranking is empty", "Rank its candidates")
        known, seen = set(collection.candidates(query)), set[str]()
        for candidate in ranked:
            if candidate not in known:
                hint = f"{len(known)} candidates are rated, e.g. {min(known)}"
                raise fault(query, f": candidate {candidate!r} is not rated", hint)
            if candidate in seen:
                raise fault(query, f": candidate {candidate!r} is ranked twice")
            seen.add(candidate)
        if missing := known - seen:
            some = ", ".join(sorted(missing)[:3]) + (", ..." if len(missing) > 3 else "")
            warnings.append(
                f"{origin}: query {query.query_id} leaves out {len(missing)} of {len(known)} rated candidates ({some}); "
                "the cut-offs and the ideal are computed without them"
            )
    return warnings


def read_rankings(folder: Path, wanted: Sequence[str] = FACETS) -> tuple[dict[Query, list[str]], list[str]]:
    """Read official ranked-pool files, one per facet: {query paper: [[candidate, distance], ...]}.

    Only the order counts. Returns the rankings and warnings about distances that fall along a list, which is what a
    similarity written without negation looks like. Raises DataError naming the file.
    """
    if not folder.is_dir():
        raise DataError(folder, None, "no such folder", "Give a folder with one *-<facet>-ranked.json per facet")
    rankings: dict[Query, list[str]] = {}
    warnings: list[str] = []
    for facet in wanted:
        patterns = (f"*-{facet}-ranked.json", f"{facet}.json", f"*-{facet}.json", f"*{facet}*.json")
        tried = (sorted(folder.glob(pattern)) for pattern in patterns)
        files = next((found for found in tried if found), [])
        if len(files) != 1:
            names = ", ".join(f.name for f in files) or "none"
            raise DataError(folder, None, f"expected one file *{facet}*.json, found {names}")
        for paper_id, entries in read_object(files[0]).items():
            if not isinstance(entries, list):
                raise DataError(files[0], None, f"query {paper_id}: expected a list of [candidate, distance]")
            ranked, distances = _entries(files[0], paper_id, entries)
            rankings[Query(paper_id, facet)] = ranked
            if len(distances) > 1 and distances[0] > distances[-1]:
                warnings.append(
                    f"{files[0].name}: query {paper_id}: distances fall along the list; they look like similarities. "
                    "The order of the list is scored as it stands"
                )
    return rankings, warnings


def _entries(path: Path, paper_id: str, entries: list[object]) -> tuple[list[str], list[float]]:
    ranked, distances = list[str](), list[float]()
    for position, entry in enumerate(entries, start=1):
        parts: list[Any] = entry if isinstance(entry, list) and entry else [entry]
        candidate, *more = parts
        where = f"query {paper_id}, entry {position}"
        if not isinstance(candidate, str | int) or (candidate is entry and not isinstance(entry, str)):
            raise DataError(path, None, f"{where}: {entry!r:.40} is not [candidate, distance]")
        ranked.append(str(candidate))
        if more and not isinstance(more[0], int | float):
            raise DataError(path, None, f"{where}: distance {more[0]!r} is no number")
        distances += map(float, more[:1])
    return ranked, distances


def rank_by_scores(collection: FacetCollection, scores: Mapping[Query, NDArray[np.floating]]) -> dict[Query, list[str]]:
    """Return rankings from scores aligned with `collection.candidates`, higher first, ties in gold order.

    Raises NumericError naming the query and candidate of a score that is not finite.
    """
    rankings = {}
    for query in collection.queries:
        candidates, values = collection.candidates(query), np.asarray(scores[query], dtype=np.float64)
        if not np.isfinite(values).all():
            bad = candidates[int(np.flatnonzero(~np.isfinite(values))[0])]
            raise NumericError(f"query {query.query_id}, candidate {bad}: the score is not a finite number")
        rankings[query] = [candidates[i] for i in np.argsort(-values, kind="stable")]
    return rankings


def rank_by_vectors(
    collection: FacetCollection,
    vectors: Mapping[str, NDArray[np.floating]],
    similarity: str = "l2",
    origin: str = "vectors",
) -> dict[Query, list[str]]:
    """Return rankings from one vector per paper; `<paper>_<facet>`, where present, is the query's own vector.

    CSFCube section 5: L2 distance unless noted. Raises DataError for a missing id, NumericError for NaN.
    """
    similarity = similarity_of(similarity)
    own = {query: query.query_id if query.query_id in vectors else query.paper_id for query in collection.queries}
    wanted = {query: (name, *collection.candidates(query)) for query, name in own.items()}
    missing = [(name, query) for query, ids in wanted.items() for name in ids if name not in vectors]
    if missing:
        first, query = missing[0]
        reason = f"{len(dict(missing))} papers have no vector, e.g. {first} of query {query.query_id}"
        raise DataError(origin, None, reason, "Encode every paper, or drop the rows with --on-missing drop")
    scores = {}
    for query, ids in wanted.items():
        matrix = np.stack([np.asarray(vectors[name], dtype=np.float64) for name in ids])
        if not np.isfinite(matrix).all():
            bad = ids[int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])]
            raise NumericError(f"the vector of {bad} holds NaN or infinity")
        scores[query] = similarities(matrix[0], matrix[1:], similarity)
    return rank_by_scores(collection, scores)


def similarities(query: NDArray[np.float64], others: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return the similarity of one vector (dim,) to many (n, dim); L2 distance comes negated."""
    if similarity_of(name) == "l2":
        return np.asarray(-np.linalg.norm(others - query, axis=1))
    if name == "dot":
        return np.asarray(others @ query)
    norms = np.linalg.norm(others, axis=1) * np.linalg.norm(query)
    return np.asarray(np.divide(others @ query, norms, out=np.zeros(len(others)), where=norms > 0))


# ------------------------------------------------------------------------------------------------------- scoring


def per_query(
    collection: FacetCollection, rankings: Rankings, metrics: Sequence[str] = FACET_METRICS
) -> NDArray[np.float64]:
    """Return (metrics, queries) scores in [0, 1], columns in the order of `collection.queries`."""
    table = np.empty((len(metrics), len(collection.queries)))
    for column, query in enumerate(collection.queries):
        rating = {j.candidate: j.rating for j in collection.judgements[query]}
        ordered = np.array([rating[candidate] for candidate in rankings[query]], dtype=np.int64)
        table[:, column] = [score(name, ordered) for name in metrics]
    return table


def folds_of(collection: FacetCollection, task: str, split: str) -> list[NDArray[np.int64]]:
    """Return the column indices of each fold of a task's split, in the order of `collection.queries`."""
    if task not in TASKS:
        raise ConfigError(f"unknown task csfcube/{task}; {nearest(task, TASKS)}")
    check_name("split", split, SPLIT_FOLDS)
    column = {query: i for i, query in enumerate(collection.queries)}
    if task not in collection.splits:
        raise ConfigError(f"csfcube/{task} is not part of this collection; it has {', '.join(collection.splits)}")
    folds = collection.splits[task]
    return [np.array([column[q] for q in folds[name]], dtype=np.int64) for name in SPLIT_FOLDS[split]]


def evaluate(
    collection: FacetCollection,
    system: System,
    *,
    tasks: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    protocol: Protocol = "paper",
    split: str = "test",
    resamples: int = 2000,
    seed: int = 0,
) -> list[Result]:
    """Return one Result per task and metric of a ranked system; call `check` on its rankings first for warnings."""
    check_name("protocol", protocol, PROTOCOLS)
    metrics = metrics or collection.metrics or FACET_METRICS
    warnings = check(collection, system.rankings, system.name)
    if warnings and protocol == "sound":
        raise DataError(system.name, None, warnings[0].partition(": ")[2], "Rank them all, or use --protocol paper")
    table = per_query(collection, system.rankings, metrics)
    row = system.row(collection, split=split, protocol=protocol, seed=seed, seconds=system.seconds)
    rows = []
    for task in tasks or collection.tasks:
        folds = folds_of(collection, task, split)
        if protocol == "sound":
            folds = [np.concatenate(folds)]
        columns = np.concatenate(folds)
        queries = [collection.queries[i] for i in columns]
        values, (low, high) = mean_of_folds(table, folds), bootstrap_folds(table, folds, resamples, seed)
        ranked = sum(len(system.rankings[query]) for query in queries)
        rated = sum(len(collection.candidates(query)) for query in queries)
        for i, metric in enumerate(metrics):
            each = zip(queries, (100 * table[i, columns]).tolist(), strict=True)
            rows.append(row(
                task=f"csfcube/{task}", metric=metric, value=100 * float(values[i]), low=100 * float(low[i]),
                high=100 * float(high[i]), n=len(columns), pool=f"{ranked} of {rated} rated candidates", coverage=ranked / rated,
                by_query={query.query_id: round(value, 6) for query, value in each if task == "all" and protocol == "paper"},
            ))  # fmt: skip
    return rows


def scored(
    collection: FacetCollection, systems: Sequence[System], metrics: Sequence[str], *, split: str = "test",
    resamples: int = 2000, seed: int = 0,
) -> list[Result]:  # fmt: skip
    """Return rows of systems under both protocols (one that leaves out candidates under `paper` alone), of ceiling and floor.

    The ceiling is `oracle`, scored as a system; the floor is `random`, the mean over `CHANCE_RUNS` random orders.
    """
    rows: list[Result] = []
    asked: dict[str, Any] = {"metrics": metrics, "split": split, "resamples": resamples, "seed": seed}
    for system in systems:
        partial = bool(check(collection, system.rankings, system.name))
        for protocol in PROTOCOLS[: 1 if partial else 2]:
            rows += evaluate(collection, system, protocol=protocol, **asked)
    oracle = System("oracle", oracle_rankings(collection), similarity="the truth")
    rows += evaluate(collection, oracle, **asked)
    row, table = row_of(collection, split=split, seed=seed, encoder="random"), chance(collection, metrics, seed)
    for task in TASKS:
        folds = folds_of(collection, task, split)
        values, n = mean_of_folds(table, folds), int(sum(map(len, folds)))
        note = f"mean of {CHANCE_RUNS} random orders"
        rows += [
            row(task=f"csfcube/{task}", metric=metric, value=100 * float(value), n=n, note=note)
            for metric, value in zip(metrics, values, strict=True)
        ]
    return rows


def differences(
    collection: FacetCollection, systems: Sequence[System], pairs: Sequence[tuple[str, str]], *, metric: str = "ndcg%20",
    split: str = "test", resamples: int = 10000, seed: int = 0,
) -> list[Result]:  # fmt: skip
    """Return per task and pair of systems the paired difference with its interval, p, and p after Holm over the whole list.

    p is that of a paired randomisation test: `resamples` sign flips, or all of them.
    """
    tables = {s.name: per_query(collection, s.rankings, [metric])[0] for s in systems}
    partial = {s.name for s in systems if check(collection, s.rankings, s.name)}
    row = row_of(collection, split=split, seed=seed)
    note = f"paired randomisation, {resamples} sign flips or all; Holm over {len(pairs) * len(TASKS)} tests"
    rows: list[tuple[Result, Result]] = []
    for task in TASKS:
        columns = np.concatenate(folds_of(collection, task, split))
        for first, second in pairs:
            gaps = (tables[first] - tables[second])[columns]
            low, high = bootstrap_folds(gaps[None], [np.arange(len(columns))], resamples, seed)
            of = {
                "task": f"csfcube/{task}", "encoder": versus(first, second), "against": second, "n": len(columns), "note": note,
                "protocol": "paper" if {first, second} & partial else "sound",
            }  # fmt: skip
            gap = row(metric=difference_of(metric), value=100 * gaps.mean(), low=100 * low[0], high=100 * high[0], **of)
            p = row(metric=difference_of(metric, "p of the "), value=paired_randomisation(gaps, resamples, seed), **of)
            rows.append((gap, p))
    adjusted = holm([p.value for _, p in rows])
    return [
        one
        for (gap, p), value in zip(rows, adjusted, strict=True)
        for one in (gap, p, replace(p, metric=difference_of(metric, "Holm p of the "), value=float(value)))
    ]


# ----------------------------------------------------------------------------------------------- floor and ceiling


def oracle_rankings(collection: FacetCollection) -> dict[Query, list[str]]:
    """Return the ceiling: candidates by noise-free relevance where the collection knows it, else by the gold rating."""
    truth = collection.oracle
    scores = {
        query: np.array([truth[query][c] for c in collection.candidates(query)]) if truth else collection.ratings(query)
        for query in collection.queries
    }
    return rank_by_scores(collection, {query: values.astype(np.float64) for query, values in scores.items()})


def random_rankings(collection: FacetCollection, seed: int) -> dict[Query, list[str]]:
    """Return a random order of every pool."""
    rng = np.random.default_rng(seed)
    return rank_by_scores(collection, {q: rng.random(len(collection.candidates(q))) for q in collection.queries})


def chance(collection: FacetCollection, metrics: Sequence[str] = FACET_METRICS, seed: int = 0) -> NDArray[np.float64]:
    """Return (metrics, queries): the mean of each metric over `CHANCE_RUNS` random orders, the floor."""
    rng = np.random.default_rng(seed)
    table = np.empty((len(metrics), len(collection.queries)))
    for column, query in enumerate(collection.queries):
        orders = rng.permuted(np.tile(collection.ratings(query), (CHANCE_RUNS, 1)), axis=1)
        table[:, column] = [np.mean([score(name, order) for order in orders]) for name in metrics]
    return table
