"""Chapter `csfcube/errors`: where systems fail (section 6, appendix G), counted instead of picked, and explored."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from itertools import product, zip_longest

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.evaluators import facets
from scirep_core.evaluators.facets.facet_systems import Ranked
from scirep_core.exhibits.counting import kinds
from scirep_core.kit.formats import FACETS
from scirep_core.kit.records import Query
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.page.widgets.facets import CandidateView, FacetExplorer, QueryView, Reason, facet_explorer
from scirep_core.results import Result, provenance, recorded
from scirep_core.results.published import table as printed_table
from scirep_core.results.statistics import bootstrap_folds, holm

CHAPTER = "csfcube/errors"
TOP = 10
LOST = 0.5
"""A relevant candidate counts as lost when it stands in the lower half of the ranking."""
RHO, RHO_P = "rho of NDCG%20 with {name}", "Holm p of NDCG%20 with {name}"
FAILURES = {
    "false positives": f"share of the first {TOP} ranks rated 0 (unrelated)",
    "lost": "share of relevant candidates (rated 2 or 3) in the lower half of the ranking",
}


def measure(collection: FacetCollection, ranked: dict[str, Ranked], resamples: int, seed: int) -> list[Result]:
    """Return, per facet and system, the two failure rates in percent (means over queries with intervals), NDCG%20 of
    every query, its rank correlation with properties of the query, and the ranks of appendix G's quoted candidates."""
    rows = [*_difficulty(collection, ranked, resamples, seed), *_quoted(collection, ranked, seed)]
    for name, system in ranked.items():
        table = np.array([_failures(collection, q, system.system.rankings[q]) for q in collection.queries]).T
        for facet, (i, metric) in product(FACETS, enumerate(FAILURES)):
            asked = [at for at, q in enumerate(collection.queries) if q.facet == facet and not np.isnan(table[i, at])]
            if not asked:
                continue
            low, high = bootstrap_folds(table, [np.array(asked)], resamples, seed)
            rows.append(
                Result(
                    task=f"csfcube/{facet}", split="all", metric=metric, protocol="sound",
                    value=100 * float(table[i, asked].mean()), low=100 * float(low[i]), high=100 * float(high[i]),
                    n=len(asked), encoder=name, fingerprint=system.system.fingerprint, source=collection.source,
                    data_hash=collection.data_hash, similarity=system.system.similarity, ties=facets.TIES, seed=seed,
                    provenance=provenance(),
                )
            )  # fmt: skip
    return rows


def _failures(collection: FacetCollection, query: Query, ranking: Sequence[str]) -> tuple[float, float]:
    """Return the shares of FAILURES; NaN for what is lost of a query that has nothing to lose."""
    rating = {j.candidate: j.rating for j in collection.judgements[query]}
    ordered = np.array([rating[candidate] for candidate in ranking])
    relevant = np.flatnonzero(ordered >= 2)
    lost = float(np.mean(relevant >= LOST * len(ordered))) if len(relevant) else float("nan")
    return float(np.mean(ordered[:TOP] == 0)), lost


def _difficulty(collection: FacetCollection, ranked: dict[str, Ranked], resamples: int, seed: int) -> list[Result]:
    """Return NDCG%20 by query of every system, and per property Spearman's rho with the mean, p and p after Holm."""
    rows = [
        row
        for r in ranked.values()
        for row in facets.evaluate(
            collection, r.system, tasks=["all"], metrics=["ndcg%20"], resamples=resamples, seed=seed
        )
    ]
    mean = np.mean([[row.by_query[q.query_id] for q in collection.queries] for row in rows], axis=0)
    properties = {
        "relevant candidates (rated 2 or 3)": [int((collection.ratings(q) >= 2).sum()) for q in collection.queries],
        "size of the pool": [len(collection.candidates(q)) for q in collection.queries],
        "sentences of the facet": [len(collection.facet_sentences(q)) for q in collection.queries],
        "words of the facet": [sum(len(s.split()) for s in collection.facet_sentences(q)) for q in collection.queries],
        "candidates that the query paper cites": [
            sum("cited" in j.sources for j in collection.judgements[q]) for q in collection.queries
        ],
    }
    tests = {
        name: spearmanr(values, mean) for name, values in properties.items() if len(set(values)) > 1 < len(set(mean))
    }
    adjusted = holm([float(test.pvalue) for test in tests.values()])
    for (name, test), p in zip(tests.items(), adjusted, strict=True):
        for metric, value in ((RHO, test.statistic), (RHO_P, p)):
            rows.append(
                Result(
                    task="csfcube/all", split="all", metric=metric.format(name=name), protocol="sound", value=float(value),
                    n=len(mean), encoder="mean of " + ", ".join(ranked), source=collection.source,
                    data_hash=collection.data_hash, seed=seed, provenance=provenance(),
                )
            )  # fmt: skip
    return rows


def _quoted(collection: FacetCollection, ranked: dict[str, Ranked], seed: int) -> list[Result]:
    """Return the rank of every candidate that appendix G quotes, per system; n is the size of the ranking."""
    known = {query.query_id: query for query in collection.queries}
    rows = []
    for case in (p for p in printed_table("CS-C12") if p.value):
        query = known.get(case.column.partition("/")[0])
        if query is None or case.value not in collection.candidates(query):
            continue
        for name, r in ranked.items():
            order = list(r.system.rankings[query])
            rows.append(
                Result(
                    task=f"csfcube/{query.facet}", split=query.query_id, metric=f"rank of {case.value}", protocol="paper",
                    value=float(order.index(case.value) + 1), n=len(order), encoder=name, source=collection.source,
                    fingerprint=r.system.fingerprint, data_hash=collection.data_hash, seed=seed, provenance=provenance(),
                    note=f"rated {next(j.rating for j in collection.judgements[query] if j.candidate == case.value)}",
                )
            )  # fmt: skip
    return rows


@report.styled
def failures(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw both failure rates by facet and system."""
    rows = [row for row in rows if row.metric in FAILURES]
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
    asked = {facet: row.n for facet in FACETS if (row := live.get(("false positives", facet, names[0])))}
    frame = pd.DataFrame(
        [{"failure": r.metric, "task": r.task, "system": r.encoder, "kind": r.kind, "percent": r.value, "low": r.low,
          "high": r.high, "n": r.n} for r in (*(k for k in recorded(CHAPTER) if k.metric in FAILURES), *rows)]
    )  # fmt: skip
    meanings = "; ".join(f"{name}: {text}" for name, text in FAILURES.items())
    chapter.figure(
        "failures", figure, frame,
        caption=f"Two kinds of failure. {meanings[0].upper()}{meanings[1:]}. Means over n = "
        f"{', '.join(f'{n} {facet}' for facet, n in asked.items())} queries with 95 % bootstrap intervals; recorded: the real "
        "collection.",
        alt=f"Dot plots of false positives and lost relevant papers for {len(names)} systems, one panel a facet.",
    )  # fmt: skip


@report.styled
def shared_difficulty(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw NDCG%20 of every query, mean and range over systems, and give how alike two systems order the queries."""
    import seaborn

    for kind, of in kinds(CHAPTER, rows):
        systems = {r.encoder: r.by_query for r in of if r.metric == "ndcg%20"}
        queries = list(next(iter(systems.values())))
        table = np.array([[scores[q] for q in queries] for scores in systems.values()])
        mean = table.mean(axis=0)
        order = np.argsort(mean, kind="stable")
        figure, ax = report.subplots(figsize=(report.WIDTH, 3.2))
        each = pd.DataFrame([(x, value, queries[k].rpartition("_")[2]) for x, k in enumerate(order) for value in table[:, k]],
                            columns=["query", "NDCG%20", "facet"])  # fmt: skip
        seaborn.pointplot(each, x="query", y="NDCG%20", hue="facet", hue_order=FACETS, palette=report.SERIES[: len(FACETS)],
                          markers=list("osD"), markersize=5, linestyle="none", errorbar=("pi", 100), native_scale=True,
                          err_kws={"color": report.GRID, "linewidth": 3}, ax=ax)  # fmt: skip
        ax.legend(ncols=3, loc="upper left")
        ax.set_ylim(0, 110)
        ax.set_xlabel(f"{len(order)} queries, sorted by the mean over systems")
        ax.set_xticks([])
        frame = pd.DataFrame({n: [scores[queries[k]] for k in order] for n, scores in systems.items()})
        frame.insert(0, "query", [queries[k] for k in order])
        rho = _off(spearmanr(table.T).statistic) if len(table) > 2 else None
        alike = (
            f" Spearman correlation of two systems over the queries, mean over pairs: {rho:.2f}."
            if rho is not None
            else ""
        )
        chapter.figure(
            f"difficulty-{kind}", figure, frame,
            caption=f"{kind.capitalize()}, {of[0].source} data: NDCG%20 (0 to 100) of each query, mean (mark) and range (bar) "
            f"over {len(table)} systems.{alike}",
            alt="Queries sorted by mean NDCG%20 over systems; marks coloured and shaped by facet, bars show the range.",
        )  # fmt: skip


def _off(matrix: np.ndarray) -> float:
    return float(matrix[~np.eye(len(matrix), dtype=bool)].mean())


def what_makes_it_hard(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show rank correlations of query properties with NDCG%20, Holm-corrected, recorded and live."""
    for kind, of in kinds(CHAPTER, rows):
        found = {r.metric: r for r in of}
        names = [m.removeprefix(RHO.format(name="")) for m in found if m.startswith(RHO.format(name=""))]
        if not names:
            chapter.note(
                f"The queries of the {kind} data, or their scores, do not differ: there is nothing to correlate."
            )
            continue
        cells = [
            [
                name,
                chapter.number(found[RHO.format(name=name)], 2, sign=True),
                chapter.number(found[RHO_P.format(name=name)], 3),
            ]
            for name in names
        ]
        count = found[RHO.format(name=names[0])].n
        caption = f"{kind.capitalize()}, {of[0].source} data: what goes with a high NDCG%20, n = {count} queries"
        chapter.show(
            report.table(
                ["Property of the query", "Spearman ρ", "p (Holm)"], cells, caption, [["", kind, kind]] * len(cells)
            )
        )
        settled = [name for name in names if found[RHO_P.format(name=name)].value < 0.05]
        chapter.say(f"Settled at 5 % after correction: {', '.join(settled) or 'none'}.")


def appendix_g(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show where systems put the candidates that appendix G quotes as errors (CS-C12): recorded, or live on real data."""
    for kind, of in kinds(CHAPTER, rows):
        ranks = {
            (r.split, r.metric.removeprefix("rank of "), r.encoder): r for r in of if r.metric.startswith("rank of ")
        }
        if not ranks:
            continue
        systems = list(dict.fromkeys(name for _, _, name in ranks))
        body = []
        for case in (p for p in printed_table("CS-C12") if p.value):
            query, _, quoted = case.column.partition("/")
            cells = [ranks[query, case.value, name] for name in systems if (query, case.value, name) in ranks]
            if cells:
                asked, named = (
                    f"{case.row}<br><code>{query}</code>",
                    f"{quoted}<br><code>{case.value}</code>, {cells[0].note}",
                )
                head = [asked, named, str(cells[0].n)]
                body.append([*head, *(chapter.number(row, 0) for row in cells)])
        header = ["Phenomenon, query", "quoted as", "ranked", *(html.escape(name) for name in systems)]
        caption = f"{kind.capitalize()}, real data: rank of the candidates quoted in appendix G"
        chapter.show(report.table(header, body, caption, [[""] * 3 + [kind] * len(systems)] * len(body)))


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
    explained = {name: _explained(collection, q, ranked.values(), shown) for name, q in ids.items()}
    reasons = {
        n: {
            name: {c: Reason(*r.explain(q, c)) for c in explained[name] if c in r.system.rankings[q]}
            for name, q in ids.items()
        }
        for n, r in ranked.items()
    }
    return facet_explorer(
        views, texts, ratings, rankings, reasons, notebook=chapter.notebook, shown=shown,
        parameters={k: v for k, v in chapter.parameters.items() if k in ("data", "papers") and str(v)},
    )  # fmt: skip


def _explained(collection: FacetCollection, query: Query, ranked: Iterable[Ranked], shown: int) -> Iterable[str]:
    """Return what a reader can open: the first ranks of every system, since each says why it put another's there too."""
    relevant = [j.candidate for j in collection.judgements[query] if j.rating >= 2]
    first = [candidate for r in ranked for candidate in list(r.system.rankings[query])[:shown]]
    return dict.fromkeys([*first, *relevant])


def _sentences(collection: FacetCollection, paper_id: str) -> list[tuple[str, str]]:
    paper = collection.papers[paper_id]
    return [(s, label.removesuffix("_label")) for s, label in zip(paper.sentences, paper.labels, strict=True)]


def _spread(queries: Sequence[Query], count: int) -> list[Query]:
    """Return `count` queries, facets in turn, two-facet papers first so that a reader can switch the facet."""
    papers = [q.paper_id for q in queries]
    by_facet = [sorted((q for q in queries if q.facet == f), key=lambda q: -papers.count(q.paper_id)) for f in FACETS]
    picked = [q for turn in zip_longest(*by_facet) for q in turn if q][:count]
    return [q for q in queries if q in picked]


def summary(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say where each failure is most and least frequent, recorded and live."""
    for kind, of in kinds(CHAPTER, rows):
        for metric in FAILURES:
            worst, best = (f((r for r in of if r.metric == metric), key=lambda r: r.value) for f in (max, min))
            chapter.say(
                f"{kind.capitalize()} ({worst.source} data), most {metric}: <code>{html.escape(worst.encoder)}</code> on "
                f"{worst.task.partition('/')[2]}, {chapter.number(worst, 0)} %; fewest: <code>{html.escape(best.encoder)}</code> "
                f"on {best.task.partition('/')[2]}, {chapter.number(best, 0)} %."
            )
