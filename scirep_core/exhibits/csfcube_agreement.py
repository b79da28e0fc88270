"""Chapter `csfcube/agreement`: Table 2 with intervals, its distribution over queries, over-ruling (section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.evaluators.facets import facet_collection as facts
from scirep_core.exhibits import three_kinds
from scirep_core.exhibits.counting import kinds
from scirep_core.exhibits.csfcube_collection import compare_with_print
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FACETS
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, provenance, recorded
from scirep_core.results.published import lookup

T = TypeVar("T")
CHAPTER = "csfcube/agreement"
LABELS = {"spearman": "Spearman ρ", "alpha": "Krippendorff α", "kappa": "Cohen κ", "percent": "% equal"}
STAGES = {"pre": "before adjudication", "post": "after adjudication"}


def measure(collection: FacetCollection, resamples: int, seed: int) -> list[Result]:
    """Return Table 2 as Result rows (coefficients as printed, agreement in percent) and the values of each query.

    Raises ConfigError for a collection that does not hold two annotators' ratings.
    """
    queries = facts.query_agreement(collection)
    if not queries:
        raise ConfigError(
            f"{collection.name}: the gold files hold no annotators' ratings (relevance_ann...), so nothing agrees"
        )
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
    for stage in STAGES:
        rows += [
            Result(
                task=f"csfcube/{facet}", split="all", metric=f"{stage}/{name} of each query", protocol="paper", seed=seed,
                value=float(np.nanmean(list(values.values()))), n=len(values), source=collection.source,
                data_hash=collection.data_hash, by_query=values, provenance=provenance(),
                note="the value is the mean over queries; Table 2 has the median",
            )
            for facet in FACETS
            for name in facts.COEFFICIENTS
            if (values := {
                q.query.query_id: round(float(v), 6)
                for q in queries if q.query.facet == facet and not np.isnan(v := getattr(getattr(q, stage), name))
            })
        ]  # fmt: skip
    return [*rows, overruled, not_given]


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


@report.styled
def distribution(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw Spearman of every query before and after adjudication: what a median of 16 or 17 values hides."""
    for kind, of in kinds(CHAPTER, rows):
        found = {
            (r.task.partition("/")[2], r.metric.partition("/")[0]): r for r in of if "spearman of each" in r.metric
        }
        figure, axes = report.subplots(1, 3, figsize=(report.WIDTH, 2.8), sharey=True)
        frames: list[dict[str, str | float]] = []
        before: list[float] = []
        higher = 0
        for ax, facet in zip(axes, FACETS, strict=True):
            pre, post = found[facet, "pre"].by_query, found[facet, "post"].by_query
            order = sorted(set(pre) & set(post), key=lambda q: (post[q], q))
            frames += [{"facet": facet, "query": q, "before": pre[q], "after": post[q]} for q in order]
            before += [pre[q] for q in order]
            higher += sum(post[q] > pre[q] for q in order)
            for x, query in enumerate(order):
                ax.plot([x, x], [pre[query], post[query]], color=report.GRID, linewidth=2)
            ax.plot([pre[q] for q in order], "o", color=report.SERIES[3], label="before")
            ax.plot([post[q] for q in order], "s", color=report.SERIES[0], label="after")
            ax.set_title(f"{facet} (n = {len(order)})")
            ax.set_xticks([])
            ax.set_xlabel("queries, sorted")
        axes[0].set_ylabel("Spearman ρ")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
        chapter.figure(
            f"per-query-{kind}", figure, pd.DataFrame(frames),
            caption=f"{kind.capitalize()}, {of[0].source} data: agreement on each query of the two annotators with each "
            f"other (before) and with the adjudicator (after; mean of the two). Before adjudication single queries range "
            f"from {min(before):.2f} to {max(before):.2f}.",
            alt=f"Spearman of each query before and after adjudication by facet; after is higher on {higher} of {len(before)}.",
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
    """Say which facet the annotators agree on least and most before adjudication, recorded and live."""
    for kind, of in kinds(CHAPTER, rows):
        pre = {r.task.partition("/")[2]: r for r in of if r.metric == "pre/spearman"}
        worst, best = (f(pre, key=lambda facet: pre[facet].value) for f in (min, max))
        least, most = pre[worst], pre[best]
        meet = "overlap" if (least.high or 0) >= (most.low or 0) else "do not overlap"
        chapter.say(
            f"{kind.capitalize()} ({least.source} data), the annotators agree least on <strong>{worst}</strong> "
            f"(ρ = {chapter.number(least)}) and most on <strong>{best}</strong> (ρ = {chapter.number(most)}); the 95 % intervals "
            f"of these two medians {meet}."
        )
