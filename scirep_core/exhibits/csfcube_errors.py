"""Chapter `csfcube/errors`: where systems fail (section 6, appendix G), counted instead of picked, and explored."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from scirep_core import report
from scirep_core.chapter import Chapter
from scirep_core.datasets.csfcube import FacetCollection
from scirep_core.evaluators import facets
from scirep_core.evaluators.facet_systems import Ranked
from scirep_core.explore.facets import CandidateView, FacetExplorer, QueryView, Reason, facet_explorer
from scirep_core.formats import FACETS
from scirep_core.published import table as printed_table
from scirep_core.records import Query
from scirep_core.results import Result, provenance, recorded
from scirep_core.statistics import bootstrap_folds, holm

CHAPTER = "csfcube/errors"
TOP = 10
LOST = 0.5
"""A relevant candidate counts as lost when it stands in the lower half of the ranking."""
FAILURES = {
    "false positives": f"share of the first {TOP} ranks rated 0 (unrelated)",
    "lost": "share of relevant candidates (rated 2 or 3) in the lower half of the ranking",
}


def measure(collection: FacetCollection, ranked: dict[str, Ranked], resamples: int, seed: int) -> list[Result]:
    """Return, per facet and system, the two failure rates in percent: means over queries with bootstrap intervals."""
    rows = []
    for name, system in ranked.items():
        table = np.array([_failures(collection, q, system.system.rankings[q]) for q in collection.queries]).T
        for facet in FACETS:
            columns = np.array([i for i, q in enumerate(collection.queries) if q.facet == facet])
            low, high = bootstrap_folds(table, [columns], resamples, seed)
            rows += [
                Result(
                    task=f"csfcube/{facet}", split="all", metric=metric, protocol="sound",
                    value=100 * float(table[i, columns].mean()), low=100 * float(low[i]), high=100 * float(high[i]),
                    n=len(columns), encoder=name, fingerprint=system.system.fingerprint, source=collection.source,
                    data_hash=collection.data_hash, similarity=system.system.similarity, ties=facets.TIES, seed=seed,
                    provenance=provenance(),
                )
                for i, metric in enumerate(FAILURES)
            ]  # fmt: skip
    return rows


def _failures(collection: FacetCollection, query: Query, ranking: Sequence[str]) -> tuple[float, float]:
    rating = {j.candidate: j.rating for j in collection.judgements[query]}
    ordered = np.array([rating[candidate] for candidate in ranking])
    relevant = np.flatnonzero(ordered >= 2)
    lost = float(np.mean(relevant >= LOST * len(ordered))) if len(relevant) else 0.0
    return float(np.mean(ordered[:TOP] == 0)), lost


def failures(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw both failure rates by facet and system."""
    names = list(dict.fromkeys(row.encoder for row in rows))
    figure, axes = report.subplots(
        len(FAILURES), 3, figsize=(report.WIDTH, 1.0 + 0.62 * len(names) * len(FAILURES)), sharey=True, sharex=True
    )
    live, kept = ({(r.metric, r.task.partition("/")[2], r.encoder): r for r in of} for of in (rows, recorded(CHAPTER)))
    for i, metric in enumerate(FAILURES):
        for ax, facet in zip(axes[i], FACETS, strict=True):
            series = []
            for kind, found in (("recorded", kept), ("live", live)):
                of = {n: found[metric, facet, n] for n in names if (metric, facet, n) in found}
                bounds = {n: (r.low, r.high) for n, r in of.items() if r.low is not None and r.high is not None}
                series.append(report.Dots(kind, {n: r.value for n, r in of.items()}, bounds))
            report.dot_plot(ax, names, series)
            ax.set_title(f"{metric},\n{facet}")
            ax.set_xlim(0, 100)
    for ax in axes[-1]:
        ax.set_xlabel("% (mean over queries)")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    n = {facet: live["lost", facet, names[0]].n for facet in FACETS}
    frame = pd.DataFrame(
        [{"failure": r.metric, "task": r.task, "system": r.encoder, "kind": r.kind, "percent": r.value, "low": r.low,
          "high": r.high, "n": r.n} for r in (*recorded(CHAPTER), *rows)]
    )  # fmt: skip
    meanings = "; ".join(f"{name}: {text}" for name, text in FAILURES.items())
    chapter.figure(
        "failures", figure, frame,
        caption=f"Two kinds of failure. {meanings[0].upper()}{meanings[1:]}. Means over n = "
        f"{', '.join(f'{n[f]} {f}' for f in FACETS)} queries with 95 % bootstrap intervals; recorded: the real collection.",
        alt=f"Dot plots of false positives and lost relevant papers for {len(names)} systems, one panel a facet.",
    )  # fmt: skip


def shared_difficulty(chapter: Chapter, collection: FacetCollection, ranked: dict[str, Ranked]) -> None:
    """Draw NDCG%20 of every query under every system, queries by mean, and say how far systems agree on difficulty."""
    scores = {n: facets.per_query(collection, r.system.rankings, ["ndcg%20"])[0] for n, r in ranked.items()}
    table = np.array(list(scores.values()))
    order = np.argsort(table.mean(axis=0), kind="stable")
    figure, ax = report.subplots(figsize=(report.WIDTH, 3.2))
    low, high = table.min(axis=0)[order], table.max(axis=0)[order]
    positions = np.arange(len(order))
    ax.vlines(positions, 100 * low, 100 * high, color=report.GRID, linewidth=3)
    markers, colours = dict(zip(FACETS, "osD", strict=True)), dict(zip(FACETS, report.SERIES, strict=False))
    for facet in FACETS:
        of = [i for i, k in enumerate(order) if collection.queries[k].facet == facet]
        ax.plot(
            of, 100 * table.mean(axis=0)[order][of], markers[facet], color=colours[facet], label=facet, markersize=5
        )
    ax.legend(ncols=3, loc="upper left")
    ax.set_ylabel("NDCG%20")
    ax.set_xlabel(f"{len(order)} queries, sorted by the mean over systems")
    ax.set_xticks([])
    frame = pd.DataFrame({n: 100 * s[order] for n, s in scores.items()})
    frame.insert(0, "mean", 100 * table.mean(axis=0)[order])
    frame.insert(0, "query", [collection.queries[k].query_id for k in order])
    rho = spearmanr(table.T).statistic if len(table) > 2 else None
    agree = (
        f" Spearman correlation of two systems over the queries, mean over pairs: {_off(rho):.2f}."
        if rho is not None
        else ""
    )
    chapter.figure(
        "difficulty", figure, frame,
        caption=f"NDCG%20 (0 to 100) of each query: mean (mark) and range (bar) over {len(table)} systems.{agree}",
        alt="Queries sorted by mean NDCG%20 over systems; marks coloured and shaped by facet, bars show the range.",
    )  # fmt: skip


def _off(matrix: np.ndarray) -> float:
    return float(matrix[~np.eye(len(matrix), dtype=bool)].mean())


def what_makes_it_hard(chapter: Chapter, collection: FacetCollection, ranked: dict[str, Ranked]) -> None:
    """Show rank correlations of query properties with difficulty, Holm-corrected: which explanations the data carry."""
    mean = np.mean([facets.per_query(collection, r.system.rankings, ["ndcg%20"])[0] for r in ranked.values()], axis=0)
    properties = {
        "relevant candidates (rated 2 or 3)": [int((collection.ratings(q) >= 2).sum()) for q in collection.queries],
        "size of the pool": [len(collection.candidates(q)) for q in collection.queries],
        "sentences of the facet": [len(collection.facet_sentences(q)) for q in collection.queries],
        "words of the facet": [sum(len(s.split()) for s in collection.facet_sentences(q)) for q in collection.queries],
        "candidates that the query paper cites": [
            sum("cited" in j.sources for j in collection.judgements[q]) for q in collection.queries
        ],
    }
    tests = {name: spearmanr(values, mean) for name, values in properties.items() if len(set(values)) > 1}
    adjusted = holm([float(test.pvalue) for test in tests.values()])
    body = [
        [name, f"{test.statistic:+.2f}", f"{test.pvalue:.3f}", f"{p:.3f}"]
        for (name, test), p in zip(tests.items(), adjusted, strict=True)
    ]
    header = ["Property of the query", "Spearman ρ with mean NDCG%20", "p", "p (Holm)"]
    chapter.show(report.table(header, body, f"What goes with a high score, over {len(mean)} queries"))
    settled = [name for name, p in zip(tests, adjusted, strict=True) if p < 0.05]
    chapter.say(
        f"Settled at 5 % after correction: {', '.join(settled)}."
        if settled
        else "None is settled at 5 % after correction."
    )


def appendix_g(chapter: Chapter, collection: FacetCollection, ranked: dict[str, Ranked]) -> None:
    """Show where our systems put the candidates that appendix G quotes as errors (CS-C12); real data only."""
    cases = [p for p in printed_table("CS-C12") if p.value]
    known = {query.query_id: query for query in collection.queries}
    body = []
    for case in cases:
        query = known.get(case.column.partition("/")[0])
        if query is None or case.value not in collection.candidates(query):
            continue
        rating = next(j.rating for j in collection.judgements[query] if j.candidate == case.value)
        size = len(collection.candidates(query))
        ranks = [str(list(r.system.rankings[query]).index(case.value) + 1) for r in ranked.values()]
        kind = case.column.partition("/")[2]
        body.append(
            [
                case.row,
                f"<code>{query.query_id}</code>",
                kind,
                f"<code>{case.value}</code>",
                str(rating),
                str(size),
                *ranks,
            ]
        )
    if not body:
        chapter.note(
            "Appendix G names queries of the real collection. Rerun with <code>-p data real</code> to see where each "
            "system puts the candidates it quotes; below, the same two kinds of error are counted over all queries."
        )
        return
    header = [
        "Phenomenon",
        "Query",
        "quoted as",
        "Candidate",
        "rating",
        "pool",
        *(f"rank: {html.escape(n)}" for n in ranked),
    ]
    chapter.show(report.table(header, body, "Appendix G: ranks of the quoted candidates"))


def explorer(
    chapter: Chapter, collection: FacetCollection, ranked: dict[str, Ranked], query: str, queries: int, shown: int
) -> FacetExplorer:
    """Return the facet explorer over some queries (the chosen one first, then evenly over the facets)."""
    chosen = _spread(collection.queries, queries)
    if query:
        first = collection.find(query)
        chosen = [first, *(q for q in chosen if q != first)][: max(queries, 1)]
    ids = {q.query_id: q for q in chosen}
    papers = {name: collection.papers[q.paper_id] for name, q in ids.items()}
    views = [
        QueryView(name, q.paper_id, q.facet, papers[name].title, papers[name].year, _sentences(collection, q.paper_id))
        for name, q in ids.items()
    ]
    pool = {c for q in chosen for c in collection.candidates(q)}
    texts = {
        c: CandidateView(collection.papers[c].title, collection.papers[c].year, _sentences(collection, c))
        for c in sorted(pool)
    }
    ratings = {name: {j.candidate: j.rating for j in collection.judgements[q]} for name, q in ids.items()}
    rankings = {n: {name: list(r.system.rankings[q]) for name, q in ids.items()} for n, r in ranked.items()}
    reasons = {
        n: {name: {c: Reason(*r.explain(q, c)) for c in _explained(collection, q, r, shown)} for name, q in ids.items()}
        for n, r in ranked.items()
    }
    return facet_explorer(
        views, texts, ratings, rankings, reasons, notebook=chapter.notebook, shown=shown,
        parameters={k: v for k, v in chapter.parameters.items() if k in ("data", "papers") and str(v)},
    )  # fmt: skip


def _explained(collection: FacetCollection, query: Query, ranked: Ranked, shown: int) -> Iterable[str]:
    relevant = [j.candidate for j in collection.judgements[query] if j.rating >= 2]
    return dict.fromkeys([*list(ranked.system.rankings[query])[:shown], *relevant])


def _sentences(collection: FacetCollection, paper_id: str) -> list[tuple[str, str]]:
    paper = collection.papers[paper_id]
    return [(s, label.removesuffix("_label")) for s, label in zip(paper.sentences, paper.labels, strict=True)]


def _spread(queries: Sequence[Query], count: int) -> list[Query]:
    """Return `count` queries, facets in turn, two-facet papers first so that a reader can switch the facet."""
    papers = [q.paper_id for q in queries]
    by_facet = [sorted((q for q in queries if q.facet == f), key=lambda q: -papers.count(q.paper_id)) for f in FACETS]
    turns = [q for row in zip(*by_facet, strict=False) for q in row]
    picked = turns[:count]
    return [q for q in queries if q in picked]


def summary(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say which facet loses the most relevant candidates, and with which system, from the rows."""
    for metric in FAILURES:
        worst = max((r for r in rows if r.metric == metric), key=lambda r: r.value)
        best = min((r for r in rows if r.metric == metric), key=lambda r: r.value)
        chapter.say(
            f"Most {metric}: <code>{html.escape(worst.encoder)}</code> on {worst.task.partition('/')[2]}, "
            f"{chapter.number(worst, 0)} %; fewest: <code>{html.escape(best.encoder)}</code> on "
            f"{best.task.partition('/')[2]}, {chapter.number(best, 0)} %."
        )
