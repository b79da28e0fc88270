"""Chapter `csfcube/baselines`: Tables 3 and 4, Figure 3, section 5's claims, the tables' own misprints."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import pandas as pd

from scirep_core.data.readers.csfcube import TASKS, FacetCollection
from scirep_core.evaluators import facets
from scirep_core.evaluators.facets import System, facet_systems
from scirep_core.evaluators.facets.facet_systems import SYSTEMS, Ranked
from scirep_core.exhibits import Key, by_key, three_kinds
from scirep_core.exhibits.counting import kinds
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FACETS
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result, provenance, recorded
from scirep_core.results.metrics import FACET_METRICS
from scirep_core.results.published import Printed, lookup
from scirep_core.results.statistics import mean_of_folds

CHAPTER = "csfcube/baselines"
PRINTED_METRICS = ("ndcg%20", "ndcg%100", "r_precision_published", "p@20", "r@20")
LABELS = {
    "r_precision_published": "R-Precision as published", "r_precision": "R-precision", "p@20": "P@20", "r@20": "R@20",
    "ndcg%20": "NDCG%20", "ndcg%100": "NDCG%100", "map": "MAP", "mrr": "MRR",
}  # fmt: skip
WEIGHTS = {"background": 16, "method": 17, "result": 17}
"""Queries per facet (section 3): `all` is close to their weighted mean, and exactly it up to how folds are cut."""


def metrics_for(ndcg_percent: int) -> tuple[str, ...]:
    """Return the chapter's metrics with one more NDCG cut if the parameters ask for it."""
    extra = f"ndcg%{ndcg_percent}"
    return FACET_METRICS if extra in FACET_METRICS else (*FACET_METRICS, extra)


def rank_all(chapter: Chapter, collection: FacetCollection, names: str | list[str], seed: int) -> dict[str, Ranked]:
    """Rank the collection with every named system; one that needs what is not here is left out and named.

    An unknown name is an error; so is a list of which nothing is left.
    """
    ranked: dict[str, Ranked] = {}
    folder = chapter.files("csfcube")
    for name in names.split(",") if isinstance(names, str) else names:
        canonical, named = facet_systems.resolve(name.strip())
        if named.kind == "pools" and not (folder / named.base).is_dir():
            chapter.note(f"{canonical} is left out: published rankings exist for the real collection only.")
            continue
        ranked[canonical] = facet_systems.rank(
            collection, canonical, folder=folder, seed=seed, progress=progress(canonical)
        )  # fmt: skip
    if not ranked:
        raise ConfigError(
            f"encoders = {names!r}: none of these systems can rank {collection.source} data; name another"
        )
    return ranked


def measure(
    collection: FacetCollection,
    ranked: dict[str, Ranked],
    metrics: Sequence[str],
    folds: str,
    resamples: int,
    seed: int,
) -> list[Result]:
    """Return rows of every system under both protocols, then of floor (random orders) and ceiling (oracle)."""
    rows = []
    for name, system in ranked.items():
        rows += facets.evaluate(
            collection, system.system, metrics=metrics, split=folds, resamples=resamples, seed=seed
        )  # fmt: skip
        if not facets.check(collection, system.system.rankings, name):
            rows += facets.evaluate(
                collection, system.system, metrics=metrics, protocol="sound", split=folds, resamples=resamples, seed=seed
            )  # fmt: skip
    oracle = System("oracle", facets.oracle_rankings(collection), similarity="the truth")
    rows += facets.evaluate(collection, oracle, metrics=metrics, split=folds, resamples=resamples, seed=seed)
    return [*rows, *floor(collection, metrics, folds, seed)]


def floor(collection: FacetCollection, metrics: Sequence[str], folds: str, seed: int) -> list[Result]:
    """Return the chance score of every task and metric: the mean over random orders."""
    table = facets.chance(collection, metrics, seed)
    rows = []
    for task in TASKS:
        of_task = facets.folds_of(collection, task, folds)
        values = mean_of_folds(table, of_task)
        rows += [
            Result(
                task=f"csfcube/{task}", split=folds, metric=metric, protocol="paper", value=100 * float(value),
                n=int(sum(map(len, of_task))), encoder="random", source=collection.source,
                data_hash=collection.data_hash, seed=seed, provenance=provenance(),
                note=f"mean of {facets.CHANCE_RUNS} random orders",
            )
            for metric, value in zip(metrics, values, strict=True)
        ]  # fmt: skip
    return rows


# ------------------------------------------------------------------------------------------------------- the tables


def printed_cell(encoder: str, task: str, metric: str) -> Printed | None:
    """Return the printed number of a system's cell, None where the paper has none (it prints the test split only)."""
    name = SYSTEMS[encoder].printed if encoder in SYSTEMS else encoder
    return lookup("CS-T4").get((name, f"{task}/{metric}"))


def tables(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show Tables 3 and 4 (CS-T3, CS-T4): one table a facet, published, recorded and live under every metric."""
    live, kept = by_key(rows, split=rows[0].split), by_key(recorded(CHAPTER), split=rows[0].split)
    ours = list(dict.fromkeys([*(r.encoder for r in rows), *(key[1] for key in kept)]))
    quoted = [row for row, _ in lookup("CS-T4")]
    only_printed = [
        name for name in dict.fromkeys(quoted) if name not in {SYSTEMS[o].printed for o in ours if o in SYSTEMS}
    ]
    lines = [o for o in ours if o not in ("random", "oracle")] + only_printed + ["random", "oracle"]
    quotable = lines if rows[0].split == "test" else []  # the paper prints no other split
    labels = {"random": "floor: random order", "oracle": "ceiling: oracle (real data: the gold order)"}
    for task in ("all", *FACETS):
        caption = f"Tables 3 and 4, {'aggregated' if task == 'all' else task}: {rows[0].split} split, protocol paper"
        table = three_kinds(
            chapter, caption, "System", lines, PRINTED_METRICS,
            {(n, m): p for n in quotable for m in PRINTED_METRICS if (p := printed_cell(n, task, m))},
            _cells(kept, task), _cells(live, task),
            labels=labels | LABELS,
        )  # fmt: skip
        heading = "Aggregated over the three facets" if task == "all" else task.capitalize()
        chapter.show(f"<details{' open' if task == 'all' else ''}><summary>{heading}</summary>{table}</details>")


def _cells(rows: dict[Key, Result], task: str) -> dict[tuple[str, str], Result]:
    return {(encoder, metric): row for (of, encoder, metric), row in rows.items() if of == f"csfcube/{task}"}


def against_print(chapter: Chapter) -> None:
    """Say, system by system, how many recorded numbers equal the printed ones and how far the others are."""
    kept = by_key(recorded(CHAPTER))
    lines = []
    for encoder, named in SYSTEMS.items():
        pairs = []
        for task in TASKS:
            for metric in PRINTED_METRICS:
                row, printed = kept.get((f"csfcube/{task}", encoder, metric)), printed_cell(encoder, task, metric)
                if named.printed and row is not None and printed is not None:
                    pairs.append((row, printed))
        if pairs:
            gaps = [row.value - printed.number for row, printed in pairs]
            equal = sum(printed.equals(row.value) for row, printed in pairs)
            lines.append(
                [f"<code>{encoder}</code>", f"{equal} of {len(pairs)}", _signed(min(gaps)), _signed(max(gaps))]
            )
    if lines:
        header = ["System", "equal to the print", "lowest difference", "highest difference"]
        chapter.show(report.table(header, lines, "Recorded on the real collection against Tables 3 and 4"))


def _signed(value: float) -> str:
    """Return a difference with its sign; one that rounds to nothing has none."""
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


@report.styled
def overview(chapter: Chapter, rows: Sequence[Result], metric: str) -> None:
    """Draw one metric per facet and system: published hollow, recorded solid, live in the accent colour."""
    live, kept = by_key(rows, split=rows[0].split), by_key(recorded(CHAPTER), split=rows[0].split)
    names = [n for n in dict.fromkeys(r.encoder for r in rows) if n not in ("random", "oracle")]
    names += [n for n in dict.fromkeys(key[1] for key in kept) if n not in (*names, "random", "oracle")]
    figure, grid = report.subplots(2, 2, figsize=(report.WIDTH, 1.6 + 0.84 * len(names)), sharey=True, sharex=True)
    axes = grid.flat
    frames = []
    for ax, task in zip(axes, ("background", "method", "result", "all"), strict=True):
        quoted = {n: p.number for n in names if rows[0].split == "test" and (p := printed_cell(n, task, metric))}
        series = [
            report.Dots("published", quoted),
            report.Dots("recorded", *_dots(kept, names, task, metric)),
            report.Dots("live", *_dots(live, names, task, metric)),
        ]
        report.dot_plot(
            ax, names, series, *(live[f"csfcube/{task}", bound, metric].value for bound in ("random", "oracle"))
        )
        ax.set_title(task)
        ax.set_xlim(0, 104)
        for n in names:
            frames += [{"task": task, "system": n, "kind": s.kind, "value": s.values[n], "low": s.bounds.get(n, (None,))[0],
                        "high": s.bounds.get(n, (None, None))[1]} for s in series if n in s.values]  # fmt: skip
    for ax in grid[1]:
        ax.set_xlabel(LABELS.get(metric, metric))
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    source = rows[0].source
    count = {task: live[f"csfcube/{task}", "random", metric].n for task in TASKS}
    chapter.figure(
        f"overview-{metric.replace('%', '-')}", figure, pd.DataFrame(frames),
        caption=f"{LABELS.get(metric, metric)} (0 to 100) by facet, {rows[0].split} split; "
        f"n = {count['background']}, {count['method']}, {count['result']} and {count['all']} queries; "
        f"bars are 95 % bootstrap intervals over queries. "
        f"Published and recorded: the real collection. Live, floor and ceiling: {source} data.",
        alt=f"Dot plot of {metric} for {len(names)} systems on each facet and over all, with intervals, floor and ceiling.",
    )  # fmt: skip


def _dots(
    rows: dict[Key, Result], names: Sequence[str], task: str, metric: str
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    found = {n: row for n in names if (row := rows.get((f"csfcube/{task}", n, metric)))}
    bounds = {name: (r.low, r.high) for name, r in found.items() if r.low is not None and r.high is not None}
    return {name: r.value for name, r in found.items()}, bounds


def figure3(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw Figure 3 (CS-F3): per-query NDCG%20 of papers rated under two facets; SPECTER recorded, the best system live."""
    for kind, of in kinds(CHAPTER, rows):
        found = {r.encoder: r for r in of if (r.task, r.metric, r.protocol) == ("csfcube/all", "ndcg%20", "paper")}
        system = "specter_pools" if "specter_pools" in found else best_system(of)
        scores = found[system].by_query
        papers: dict[str, list[str]] = {}
        for facet in FACETS:
            for query in scores:
                if query.endswith(f"_{facet}"):
                    papers.setdefault(query.rpartition("_")[0], []).append(query)
        pairs = sorted((p for p in papers.values() if len(p) == 2), key=lambda p: (scores[p[1]] - scores[p[0]], p))
        if not pairs:
            continue
        _two_facets(chapter, kind, found[system], pairs)


@report.styled
def _two_facets(chapter: Chapter, kind: str, row: Result, pairs: Sequence[Sequence[str]]) -> None:
    scores = row.by_query
    kinds = sorted({tuple(query.rpartition("_")[2] for query in pair) for pair in pairs})
    colours, markers = dict(zip(FACETS, report.SERIES, strict=False)), dict(zip(FACETS, "osD", strict=True))
    figure, axes = report.subplots(1, len(kinds), figsize=(report.WIDTH, 3.4), sharey=True, squeeze=False)
    for ax, facets_ in zip(axes[0], kinds, strict=True):
        of_kind = [pair for pair in pairs if tuple(query.rpartition("_")[2] for query in pair) == facets_]
        for x, pair in enumerate(of_kind):
            ax.plot([x, x], [scores[query] for query in pair], color=report.GRID, linewidth=2)
            for query, facet in zip(pair, facets_, strict=True):
                ax.plot(x, scores[query], markers[facet], color=colours[facet])
        names = [pair[0].rpartition("_")[0] for pair in of_kind]
        ax.set_xticks(range(len(of_kind)), names, rotation=60, ha="right", fontsize=8)
        ax.set_title(" and ".join(facets_))
        ax.set_ylim(0, 100)
    axes[0][0].set_ylabel("NDCG%20")
    for facet in FACETS:
        axes[0][0].plot([], [], markers[facet], color=colours[facet], label=facet)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    gap = float(np.median([abs(scores[b] - scores[a]) for a, b in pairs]))
    chapter.figure(
        f"two-facets-{kind}", figure, pd.DataFrame([{"query": q, "ndcg%20": scores[q]} for pair in pairs for q in pair]),
        caption=f"{kind.capitalize()}, {row.source} data: NDCG%20 (0 to 100) of <code>{html.escape(row.encoder)}</code> on the "
        f"{len(pairs)} papers rated under two facets, one panel a pair of facets, sorted by the difference. The median gap "
        f"between the two facets of a paper is {gap:.1f} points. The paper draws this for SPECTER-ID, whose rankings were "
        f"never released.",
        alt=f"Per-query NDCG%20 of {row.encoder} for papers with two facets; the two facets of a paper joined by a line.",
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ claims, read off


def facet_order(chapter: Chapter, rows: Sequence[Result], metric: str = "ndcg%20") -> None:
    """Say for how many systems method is the hardest and background the easiest facet (CS-C7): print, recorded, live."""
    sources: dict[str, dict[tuple[str, str], float]] = {"published": {}, "recorded": {}, "live": {}}
    for (row, column), printed in lookup("CS-T4").items():
        task, _, name = column.partition("/")
        if name == metric:
            sources["published"][row, task] = printed.number
    for kind, found in (
        ("recorded", by_key(recorded(CHAPTER), split=rows[0].split)),
        ("live", by_key(rows, split=rows[0].split)),
    ):
        for (task, encoder, name), result in found.items():
            if name == metric and encoder not in ("random", "oracle"):
                sources[kind][encoder, task.partition("/")[2]] = result.value
    sentences = []
    for kind, table in sources.items():
        names = list(dict.fromkeys(name for name, _ in table))
        if not names:
            continue
        hardest = sum(min(FACETS, key=lambda f: table[name, f]) == "method" for name in names)
        easiest = sum(max(FACETS, key=lambda f: table[name, f]) == "background" for name in names)
        sentences.append(
            f"{kind}: method is the hardest facet for {hardest} of {len(names)} systems, background the easiest for {easiest}"
        )
    chapter.say("By NDCG%20, " + "; ".join(sentences) + ".")


def order_of_systems(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say how alike NDCG%20 and NDCG%100 order the systems (CS-C10), as Kendall's tau."""
    from scipy.stats import kendalltau  # most of a second to import

    tables = {
        "published": {(p.row, p.column): p.number for p in lookup("CS-T4").values()},
        **{
            kind: {
                (r.encoder, f"{r.task.partition('/')[2]}/{r.metric}"): r.value
                for r in by_key(of, split=rows[0].split).values()
            }
            for kind, of in kinds(CHAPTER, rows)
        },
    }
    sentences = []
    for kind, table in tables.items():
        names = [n for n in dict.fromkeys(name for name, _ in table) if n not in ("random", "oracle")]
        taus = {
            task: kendalltau([table[n, f"{task}/ndcg%20"] for n in names], [table[n, f"{task}/ndcg%100"] for n in names]).statistic
            for task in TASKS
        } if len(names) > 2 else {}  # fmt: skip
        if taus:
            listed = ", ".join(f"{task} {tau:.2f}" for task, tau in taus.items())
            sentences.append(f"{kind} ({len(names)} systems): {listed}")
    chapter.say("Kendall’s τ between the order of systems by NDCG%20 and by NDCG%100: " + "; ".join(sentences) + ".")


def misprints(chapter: Chapter) -> None:
    """Check the printed tables against themselves: the aggregate must be near the weighted mean of the facets."""
    printed = lookup("CS-T4")
    total = sum(WEIGHTS.values())
    residuals = []
    for row in dict.fromkeys(name for name, _ in printed):
        for metric in PRINTED_METRICS:
            parts = sum(WEIGHTS[f] * printed[row, f"{f}/{metric}"].number for f in FACETS) / total
            residuals.append((printed[row, f"all/{metric}"].number - parts, row, metric))
    typical = float(np.median([abs(gap) for gap, _, _ in residuals]))
    outliers = sorted((r for r in residuals if abs(r[0]) > max(10 * typical, 1.0)), key=lambda r: -abs(r[0]))
    body = [
        [html.escape(row), LABELS[metric], chapter.number(printed[row, f"all/{metric}"]), f"{gap:+.2f}",
         "; ".join(f"{f}: {p.note}" for f in FACETS if (p := printed[row, f"{f}/{metric}"]).note)]
        for gap, row, metric in outliers
    ]  # fmt: skip
    chapter.say(
        f"Each aggregated number should lie near the mean of its three facets, weighted by their queries. Over the "
        f"{len(residuals)} printed aggregates the median distance is {typical:.2f} points; these stand out:"
    )
    header = ["System", "Metric", "printed aggregate", "aggregate − facets", "what it must be"]
    chapter.show(report.table(header, body, "Printed numbers that contradict their own table"))


def reuse_in_print(chapter: Chapter) -> None:
    """Show the reusability argument (CS-C8) in the paper's own numbers: systems outside the pools against those inside."""
    printed = lookup("CS-T4")
    pairs = [("fabs_bm25", "fabs_tfidf"), ("SPECTER-ID", "SPECTER"), ("SentBERT-PP", "fabs_tfidf")]
    body = []
    for outside, inside in pairs:
        cells = [f"{html.escape(outside)} − {html.escape(inside)}"]
        for metric in PRINTED_METRICS:
            gap = printed[outside, f"all/{metric}"].number - printed[inside, f"all/{metric}"].number
            cells.append(f"{gap:+.2f}")
        body.append(cells)
    against = [
        f"{row[0]} on {LABELS[m]} ({cell})"
        for row in body
        for m, cell in zip(PRINTED_METRICS, row[1:], strict=True)
        if cell.startswith("-")
    ]
    header = ["Not in the pools − in the pools", *(LABELS[m] for m in PRINTED_METRICS)]
    chapter.show(report.table(header, body, "Section 5, reusability: differences of printed aggregates"))
    if against:
        chapter.note("The paper’s own tables contradict the claim in: " + "; ".join(against) + ".")


def best_system(rows: Sequence[Result], metric: str = "ndcg%20") -> str:
    """Return the ranked system with the highest aggregated score."""
    of = {r.encoder: r.value for r in rows if r.task == "csfcube/all" and r.metric == metric and r.protocol == "paper"}
    return max((name for name in of if name not in ("random", "oracle")), key=lambda name: of[name])
