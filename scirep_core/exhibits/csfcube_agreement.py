"""Chapter `csfcube/agreement`: Table 2 with intervals, its distribution over queries, over-ruling (section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd

from scirep_core import report
from scirep_core.chapter import Chapter
from scirep_core.datasets.csfcube import FacetCollection
from scirep_core.evaluators import facet_collection as facts
from scirep_core.exhibits import three_kinds
from scirep_core.exhibits.csfcube_collection import compare_with_print
from scirep_core.formats import FACETS
from scirep_core.published import lookup
from scirep_core.results import Result, provenance, recorded

T = TypeVar("T")
CHAPTER = "csfcube/agreement"
LABELS = {"spearman": "Spearman ρ", "alpha": "Krippendorff α", "kappa": "Cohen κ", "percent": "% equal"}
STAGES = {"pre": "before adjudication", "post": "after adjudication"}


def measure(collection: FacetCollection, resamples: int, seed: int) -> tuple[list[Result], list[facts.QueryAgreement]]:
    """Return Table 2 as Result rows (coefficients as printed, agreement in percent) and the per-query agreement."""
    queries = facts.query_agreement(collection)
    rows = [
        Result(
            task=f"csfcube/{cell.facet}", split="all", metric=f"{cell.stage}/{cell.coefficient}", protocol="paper",
            value=cell.value, low=cell.low, high=cell.high, n=cell.n, seed=seed,
            source=collection.source, data_hash=collection.data_hash, provenance=provenance(),
        )
        for cell in facts.agreement_table(queries, resamples, seed)
    ]  # fmt: skip
    overruled = Result(
        task="csfcube/all", split="all", metric="overruled", protocol="paper", n=len(queries), seed=seed,
        value=100 * float(np.mean([query.overruled for query in queries])),
        source=collection.source, data_hash=collection.data_hash, provenance=provenance(),
    )  # fmt: skip
    absent = sum(min(dict(j.raw).values(), default=0) < 0 for judged in collection.judgements.values() for j in judged)
    not_given = replace(overruled, metric="pairs with a raw rating of -1", value=float(absent))
    return [*rows, overruled, not_given], queries


def table2(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show Table 2 (CS-T2), before and after adjudication, and name the cell that does not round to its print."""
    printed = lookup("CS-T2")
    live = {(r.task.partition("/")[2], r.metric): r for r in rows}
    kept = {(r.task.partition("/")[2], r.metric): r for r in recorded(CHAPTER)}
    for stage, text in STAGES.items():
        names = {label: f"{stage}/{name}" for name, label in LABELS.items()}
        chapter.show(
            three_kinds(
                chapter, f"Table 2, {text}: median over queries, 95 % bootstrap interval", "Facet", list(FACETS),
                list(names),
                _relabel(printed, names), _relabel(kept, names), _relabel(live, names),
            )
        )  # fmt: skip
    compare_with_print(chapter, [(kept[key], printed[key]) for key in printed if key in kept], "Table 2")


def _relabel(table: Mapping[tuple[str, str], T], names: Mapping[str, str]) -> dict[tuple[str, str], T]:
    """Return (facet, label) -> number from (facet, metric) -> number."""
    return {(f, label): table[f, name] for label, name in names.items() for f in FACETS if (f, name) in table}


def distribution(chapter: Chapter, queries: Sequence[facts.QueryAgreement]) -> None:
    """Draw Spearman of every query before and after adjudication: what a median of 16 or 17 values hides."""
    figure, axes = report.subplots(1, 3, figsize=(report.WIDTH, 2.8), sharey=True)
    frames = []
    for ax, facet in zip(axes, FACETS, strict=True):
        of_facet = sorted((q for q in queries if q.query.facet == facet), key=lambda q: q.post.spearman)
        for x, query in enumerate(of_facet):
            ax.plot([x, x], [query.pre.spearman, query.post.spearman], color=report.GRID, linewidth=2)
            frames.append(
                {"query": query.query.query_id, "facet": facet, **{f"pre_{k}": v for k, v in query.pre._asdict().items()},
                 **{f"post_{k}": v for k, v in query.post._asdict().items()}, "overruled": query.overruled}
            )  # fmt: skip
        ax.plot([q.pre.spearman for q in of_facet], linestyle="none", **report.MARKS["published"], label="before")
        ax.plot([q.post.spearman for q in of_facet], linestyle="none", **report.MARKS["live"], label="after")
        ax.set_title(f"{facet} (n = {len(of_facet)})")
        ax.set_xticks([])
        ax.set_xlabel("queries, sorted")
    axes[0].set_ylabel("Spearman ρ")
    axes[0].legend(loc="lower right")
    higher = sum(frame["post_spearman"] > frame["pre_spearman"] for frame in frames)
    low = min(frame["pre_spearman"] for frame in frames)
    high = max(frame["pre_spearman"] for frame in frames)
    chapter.figure(
        "per-query", figure, pd.DataFrame(frames),
        caption=f"Agreement on each query: the two annotators with each other (before) and with the adjudicator (after; "
        f"mean of the two). Before adjudication single queries range from {low:.2f} to {high:.2f}.",
        alt=f"Per-query Spearman before and after adjudication, one panel a facet; after is higher on {higher} of {len(frames)}.",
    )  # fmt: skip


def overruled(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say how often the adjudicator over-rules both annotators (CS-C3)."""
    live = next(row for row in rows if row.metric == "overruled")
    kept = next((row for row in recorded(CHAPTER) if row.metric == "overruled"), None)
    printed = next(iter(lookup("CS-C3").values()))
    chapter.say(
        f"The adjudicator over-rules both annotators in {chapter.number(printed)} % of a query's candidates in print,",
        f"{chapter.number(kept)} % recorded on the real collection," if kept else "",
        f"{chapter.number(live)} % live.",
    )


def not_given(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say how many pairs carry a raw rating of -1, live and recorded."""
    metric = "pairs with a raw rating of -1"
    found = {
        kind: [r for r in of if r.metric == metric] for kind, of in (("recorded", recorded(CHAPTER)), ("live", rows))
    }
    said = [f"{chapter.number(of[0], 0)} pairs {kind}" for kind, of in found.items() if of]
    chapter.say(f"Raw ratings of −1: {', '.join(said)}.")


def summary(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say which facet the annotators agree on least before adjudication, from the rows."""
    pre = {r.task.partition("/")[2]: r for r in rows if r.metric == "pre/spearman"}
    worst = min(pre, key=lambda facet: pre[facet].value)
    best = max(pre, key=lambda facet: pre[facet].value)
    low, high = pre[worst], pre[best]
    overlap = (low.high or 0) >= (high.low or 0)
    chapter.say(
        f"Live, the annotators agree least on <strong>{worst}</strong> (ρ = {chapter.number(low)}) and most on "
        f"<strong>{best}</strong> (ρ = {chapter.number(high)}); the intervals of the two medians",
        "overlap, so the order of the facets is not settled by this many queries." if overlap else "do not overlap.",
    )
