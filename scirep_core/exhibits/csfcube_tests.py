"""Chapter `csfcube/baselines`, second half: paired tests between systems, recorded beside live, and what they settle."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from scirep_core.data.readers.csfcube import TASKS, FacetCollection
from scirep_core.evaluators import facets
from scirep_core.evaluators.facets.facet_systems import Ranked
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, provenance, recorded
from scirep_core.results.differences import difference_of, versus

CHAPTER = "csfcube/baselines"
PAIRS = (
    ("fabs_bm25", "fabs_tfidf"), ("minilm_sentences", "fabs_tfidf"), ("minilm_sentences", "minilm_abstract"),
    ("minilm_facet", "minilm_sentences"), ("minilm_abstract", "fabs_bm25"), ("fabs_tfidfcbow200", "fabs_cbow200"),
    ("specter_pools", "minilm_abstract"), ("specter_pools", "fabs_bm25"),
)  # fmt: skip
"""The differences that the chapter's claims are about (section 5), as far as their systems are ranked."""
DIFFERENCE, P, P_HOLM = "", "p of the ", "Holm p of the "


def measure(
    collection: FacetCollection, ranked: dict[str, Ranked], metric: str, folds: str, resamples: int, seed: int
) -> list[Result]:
    """Return, per pair and facet, the difference with its interval, p, and p after Holm over the whole list."""
    names = list(ranked)
    pairs = [pair for pair in PAIRS if set(pair) <= set(names)]
    pairs = pairs or [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    systems = [r.system for r in ranked.values()]
    rows = []
    partial = {n for n, r in ranked.items() if facets.check(collection, r.system.rankings, n)}
    for c in facets.compare(collection, systems, pairs, metric=metric, split=folds, resamples=resamples, seed=seed):
        for name, value, low, high in (
            (DIFFERENCE, c.difference, c.low, c.high), (P, c.p, None, None), (P_HOLM, c.p_holm, None, None),
        ):  # fmt: skip
            rows.append(
                Result(
                    task=f"csfcube/{c.task}", split=folds, metric=difference_of(metric, name),
                    protocol="paper" if partial & {c.first, c.second} else "sound",
                    value=value, low=low, high=high, n=c.n, encoder=versus(c.first, c.second), against=c.second,
                    source=collection.source, data_hash=collection.data_hash, seed=seed, provenance=provenance(),
                    note=f"paired randomisation, {resamples} sign flips or all; Holm over {len(pairs) * len(TASKS)} tests",
                )
            )  # fmt: skip
    return rows


def _by_pair(rows: Iterable[Result], metric: str) -> dict[tuple[str, str], tuple[Result, Result, Result]]:
    """Return (pair, facet) -> (difference, p, Holm p)."""
    found = {(r.encoder, r.task.partition("/")[2], r.metric): r for r in rows}
    names = [difference_of(metric, name) for name in (DIFFERENCE, P, P_HOLM)]
    keys = dict.fromkeys((r.encoder, r.task.partition("/")[2]) for r in rows if r.metric == names[0])
    return {(pair, task): tuple(found[pair, task, name] for name in names) for pair, task in keys}  # type: ignore[misc]


def table(chapter: Chapter, rows: Sequence[Result], metric: str) -> None:
    """Show every paired test: points with interval, p and Holm p, recorded on real data and live."""
    live, kept = _by_pair(rows, metric), _by_pair(recorded(CHAPTER), metric)
    body, classes = [], []
    for pair, task in dict.fromkeys([*live, *kept]):
        cells, names = [f"<code>{html.escape(pair).replace(' - ', '</code> − <code>')}</code>", task], ["", ""]
        for kind, found in (("recorded", kept), ("live", live)):
            tests = found.get((pair, task))
            if tests is None:
                cells += ["", ""]
            else:
                points, _, holm = tests
                cells.append(f"{chapter.number(points, 2, sign=True)} {report.interval(points.low, points.high)}")
                cells.append(chapter.number(holm, 3))
            names += [kind, kind]
        body.append(cells)
        classes.append(names)
    header = ["Difference", "Facet", "recorded: points", "p (Holm)", "live: points", "p (Holm)"]
    chapter.show(
        report.table(header, body, f"Paired tests on {metric.upper()}: difference in points, 95 % interval", classes)
    )
    for kind, found in (("Recorded", kept), ("Live", live)):
        if found:
            settled = sum(holm.value < 0.05 for _, _, holm in found.values())
            chapter.say(f"{kind}: {settled} of {len(found)} differences are settled at 5 % after Holm’s correction.")


def sentence_or_abstract(chapter: Chapter, rows: Sequence[Result], metric: str) -> None:
    """Say what the same encoder does sentence by sentence and on whole abstracts (CS-C9), facet by facet."""
    items = []
    for kind, of in (("recorded, real data", recorded(CHAPTER)), ("live", rows)):
        for (pair, task), (points, _, holm) in _by_pair(of, metric).items():
            if pair == "minilm_sentences - minilm_abstract":
                side = (
                    "sentences better"
                    if points.value > 0
                    else "abstracts better"
                    if points.value < 0
                    else "neither better"
                )
                sure = "settled" if holm.value < 0.05 else "not settled"
                items.append(
                    f"<li>{kind}, {task}: {side}, sentences − abstracts {chapter.number(points, 2, sign=True)} points "
                    f"({sure}; p = {chapter.number(holm, 3)} after Holm, n = {points.n})</li>"
                )
    chapter.show(f"<ul>{''.join(items)}</ul>" if items else "<p>MiniLM was not run both ways here.</p>")
