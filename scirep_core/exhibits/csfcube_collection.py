"""Chapter `csfcube/collection`: Table 1, Figures 1 and 2, pooling (section 3), appendices B and D."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.evaluators.facets import facet_collection as facts
from scirep_core.exhibits import three_kinds
from scirep_core.exhibits.counting import kinds
from scirep_core.kit.formats import FACET_OF_LABEL, FACETS
from scirep_core.kit.records import Query
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, provenance, recorded
from scirep_core.results.published import Printed, lookup

CHAPTER = "csfcube/collection"


def measure(collection: FacetCollection) -> list[Result]:
    """Return every number of the chapter as Result rows: counts, shares and percentages as the paper prints them."""
    rows = [
        _row(collection, "csfcube/all", f"{name} ({column})", value, len(collection.queries))
        for (name, column), value in facts.statistics_table(collection).items()
    ]
    for facet, (share, n) in facts.cited_share(collection).items():
        rows += [_row(collection, f"csfcube/{facet}", "cited rated 0 or 1", 100 * share, n)] if n else []
    for facet in FACETS:
        count = sum(query.facet == facet for query in collection.queries)
        rows.append(_row(collection, f"csfcube/{facet}", "queries", count, count))
    sizes = [len(collection.candidates(query)) for query in collection.queries]
    years = [info.year for info in collection.info.values()]
    counts = {
        "papers with two facets": len(collection.two_facet_papers()),
        "pools of 250": sum(size > 200 for size in sizes),
        "pools of 100": sum(size <= 200 for size in sizes),
        **({"first year": min(years), "last year": max(years)} if years else {}),
    }
    rows += [_row(collection, "csfcube/all", name, count, len(sizes)) for name, count in counts.items()]
    for (first, second), table in facts.joint_counts(collection).items():
        rows += [
            _row(collection, f"csfcube/{first}+{second}", f"rated {i} and {j}", int(table[i, j]), int(table.sum()))
            for i, j in np.ndindex(table.shape)
        ]
    methods, overlap, pooled = facts.pool_overlap(collection)
    for i, j in np.ndindex(overlap.shape):
        row = _row(
            collection, "csfcube/all", f"listed for {methods[j]} too", 100 * float(overlap[i, j]), int(pooled[i])
        )
        rows.append(replace(row, encoder=methods[i]))
    return rows


def _row(collection: FacetCollection, task: str, metric: str, value: float, n: int) -> Result:
    return Result(
        task=task, split="all", metric=metric, protocol="paper", value=float(value), n=n,
        source=collection.source, data_hash=collection.data_hash, provenance=provenance(),
    )  # fmt: skip


def table1(chapter: Chapter, rows: Iterable[Result]) -> None:
    """Show Table 1 (CS-T1): published, recorded on the real collection, live; and say what differs."""
    printed = lookup("CS-T1")
    live = {r.metric: r for r in rows if r.task == "csfcube/all"}
    kept = {r.metric: r for r in recorded(CHAPTER) if r.task == "csfcube/all"}
    names = {f"{row} ({column})": (row, column) for row, column in printed}
    table = three_kinds(
        chapter, "Table 1 of the paper: statistics of the test collection", "Statistic", list(names), ["Value"],
        {(n, "Value"): printed[k] for n, k in names.items()}, _column(kept, "Value"), _column(live, "Value"),
        decimals=1, labels={name: name.removesuffix(" (all)") for name in names},
    )  # fmt: skip
    chapter.show(table)
    compare_with_print(chapter, [(kept[name], printed[names[name]]) for name in names if name in kept], "Table 1")


def _column(rows: Mapping[str, Result], name: str) -> dict[tuple[str, str], Result]:
    return {(line, name): row for line, row in rows.items()}


def section3(chapter: Chapter, rows: Iterable[Result]) -> None:
    """Show the counts that section 3 gives in its text (CS-C4); pools count as 250 from 201 candidates on."""
    printed = {(f"{row}, {column}" if row == "queries" else row): p for (row, column), p in lookup("CS-C4").items()}

    def named(of: Iterable[Result]) -> dict[str, Result]:
        return {(f"queries, {r.task.partition('/')[2]}" if r.metric == "queries" else r.metric): r for r in of}

    chapter.show(
        three_kinds(
            chapter, "Section 3: queries by facet, pools, years of the query papers", "Count", list(printed), ["Value"],
            {(name, "Value"): p for name, p in printed.items()}, _column(named(recorded(CHAPTER)), "Value"),
            _column(named(rows), "Value"),
        )
    )  # fmt: skip


def compare_with_print(chapter: Chapter, pairs: Sequence[tuple[Result, Printed]], what: str) -> None:
    """Say how many recorded numbers equal the printed ones, and name each that does not."""
    if not pairs:
        return
    equal = sum(printed.equals(row.value) for row, printed in pairs)
    chapter.say(f"Recorded on the real collection: {equal} of {len(pairs)} numbers of {what} equal the printed ones.")
    off = [(row, printed) for row, printed in pairs if not printed.equals(row.value)]
    for cut, why in ((True, "the print cuts the digits instead of rounding"), (False, "they differ")):
        listed = [
            f"{html.escape(printed.row)}, {html.escape(printed.column)}: printed {chapter.number(printed)}, "
            f"the released data give {chapter.number(row, 4 if abs(row.value) < 1 else 2)}"
            for row, printed in off if printed.cuts(row.value) == cut
        ]  # fmt: skip
        if listed:
            chapter.note(f"{'; '.join(listed)}: {why}.")


def figure1(chapter: Chapter, collection: FacetCollection) -> None:
    """Show Figure 1's idea on a live example: one query paper, and two candidates that each match one facet only."""
    best: tuple[int, str, Query, Query, str, str] | None = None
    for paper_id, (first, second) in collection.two_facet_papers().items():
        a = {j.candidate: j.rating for j in collection.judgements[first]}
        b = {j.candidate: j.rating for j in collection.judgements[second]}
        only_a = max(a, key=lambda c: (a[c] - b.get(c, 0), c))
        only_b = max(b, key=lambda c: (b[c] - a.get(c, 0), c))
        margin = (a[only_a] - b.get(only_a, 0)) + (b[only_b] - a.get(only_b, 0))
        if best is None or margin > best[0]:
            best = (margin, paper_id, first, second, only_a, only_b)
    if best is None:
        return
    _, paper_id, first, second, only_a, only_b = best
    rating = {q: {j.candidate: j.rating for j in collection.judgements[q]} for q in (first, second)}

    def card(identifier: str, facets: tuple[str, ...], head: str) -> str:
        paper = collection.papers[identifier]
        sentences = " ".join(
            f"<mark>{html.escape(text)}</mark>" if FACET_OF_LABEL.get(label) in facets else html.escape(text)
            for text, label in zip(paper.sentences, paper.labels, strict=True)
        )
        return f"<p><strong>{head}: {html.escape(paper.title)}</strong><br>{sentences}</p>"

    parts = [card(paper_id, (first.facet, second.facet), "Query")]
    for candidate, lit in ((only_a, first.facet), (only_b, second.facet)):
        marks = ", ".join(f"{q.facet} {rating[q].get(candidate, 0)}" for q in (first, second))
        parts.append(card(candidate, (lit,), f"Similar in {lit} (rated {marks})"))
    chapter.show(f'<div class="scirep-note">{"".join(parts)}</div>')


@report.styled
def figure2(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw Figure 2 (CS-F2): for papers rated under two facets, candidates by rating under each; recorded, then live."""
    for kind, of in kinds(CHAPTER, rows):
        counts = [r for r in of if r.metric.startswith("rated ") and "+" in r.task]
        tables: dict[str, np.ndarray] = {}
        for row in counts:
            i, j = int(row.metric.split()[1]), int(row.metric.split()[3])
            tables.setdefault(row.task.partition("/")[2], np.zeros((4, 4)))[i, j] = row.value
        if not tables:
            chapter.note(f"No paper of the {kind} data is rated under two facets.")
            continue
        figure, axes = report.subplots(1, len(tables), figsize=(report.WIDTH, 2.9), squeeze=False)
        for ax, (pair, table) in zip(axes[0], tables.items(), strict=True):
            report.heat(ax, table, list("0123"), list("0123"))
            first, _, second = pair.partition("+")
            ax.set_xlabel(f"rating for {second}")
            ax.set_ylabel(f"rating for {first}")
        total, zero = (int(sum(t.sum() for t in tables.values())), int(sum(t[0, 0] for t in tables.values())))
        off = int(sum(t[2:, 0].sum() + t[0, 2:].sum() for t in tables.values()))
        both = int(sum(t[2:, 2:].sum() for t in tables.values()))
        chapter.figure(
            f"joint-ratings-{kind}", figure,
            pd.DataFrame([{"facets": r.task.partition("/")[2], "ratings": r.metric, "candidates": r.value} for r in counts]),
            caption=f"{kind.capitalize()}, {counts[0].source} data: candidates of the papers rated under two facets, by their "
            f"rating under each (n = {total} pairs of ratings; the stronger the colour, the more). {off} candidates are "
            f"relevant (2 or 3) under one facet and unrelated (0) under the other; {both} are relevant under both.",
            alt=f"Tables of candidate counts by rating under two facets; {zero} of {total} candidates are rated 0 under both.",
        )  # fmt: skip


@report.styled
def pooling(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw how often a candidate listed for one pooling method is listed for another too (CS-C5, in part)."""
    for kind, of in kinds(CHAPTER, rows):
        shares = [r for r in of if r.metric.startswith("listed for ")]
        if not shares:
            chapter.note(f"The {kind} data do not say which methods brought a candidate in.")
            continue
        methods = list(dict.fromkeys(r.encoder for r in shares))
        sizes = {r.encoder: r.n for r in shares}
        value = {(r.encoder, r.metric.split()[2]): r.value for r in shares}
        overlap = np.array([[value[a, b] for b in methods] for a in methods])
        figure, ax = report.subplots(figsize=(report.WIDTH, 5.6))
        report.heat(ax, overlap, [f"{m} ({sizes[m]})" for m in methods], methods)
        ax.tick_params(axis="x", rotation=45)
        for label in ax.get_xticklabels():
            label.set_ha("right")
        apart = overlap[~np.eye(len(methods), dtype=bool)]
        chapter.figure(
            f"pool-overlap-{kind}", figure,
            pd.DataFrame([{"of": a, "also": b, "percent": value[a, b]} for a in methods for b in methods]),
            caption=f"{kind.capitalize()}, {shares[0].source} data: of the candidates listed for a method (row; how many in "
            f"brackets), the percentage listed for the method of the column too. Off the diagonal the mean is "
            f"{apart.mean():.0f} %.",
            alt="Matrix of the overlap between the pooling methods, in percent of the row's candidates.",
        )  # fmt: skip


def cited(chapter: Chapter, rows: Iterable[Result]) -> None:
    """Show appendix D (CS-C1): how often cited papers are rated 0 or 1."""
    printed = {column: p for (_, column), p in lookup("CS-C1").items()}
    metric = "cited rated 0 or 1"
    live = {r.task.partition("/")[2]: r for r in rows if r.metric == metric}
    kept = {r.task.partition("/")[2]: r for r in recorded(CHAPTER) if r.metric == metric}
    chapter.show(
        three_kinds(
            chapter, "Appendix D: cited candidates rated 0 or 1, in percent", "Facet", list(FACETS), ["%"],
            {(facet, "%"): p for facet, p in printed.items()}, _column(kept, "%"), _column(live, "%"),
        )
    )  # fmt: skip
    compare_with_print(chapter, [(kept[f], printed[f]) for f in FACETS if f in kept], "appendix D")


def appendix_b(chapter: Chapter) -> None:
    """Quote appendix B (CS-C2): agreement of full-text and abstract ratings, whose data were never released."""
    printed = lookup("CS-C2")
    chapter.show(
        report.table(
            ["Coefficient", "published"],
            [[column, chapter.number(p)] for (_, column), p in printed.items()],
            "Appendix B: ratings from full text against ratings from abstracts, 45 pairs (quoted; data not released)",
            [["", "published"]] * len(printed),
        )
    )
