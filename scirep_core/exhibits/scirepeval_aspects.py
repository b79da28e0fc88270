"""Chapter `scirepeval/aspects`: Table 7 of both versions of SciRepEval (appendix C): papers matched sentence by sentence.

    average   mean over the proximity units: v2 (2 x in-train + 10 x out-of-train) / 12; v1 (2 x in-train + 4 x out-of-train
              + 8 x SciDocs) / 14 in print, 3 out-of-train here: S2AND clusters mentions and ranks nothing

Differences are of the rows' bootstrap values, draw by draw: two systems on one task saw the same queries.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from scirep_core.bench.scoring import score
from scirep_core.bench.systems import is_sentence_matcher
from scirep_core.data import TASKS
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.encoders import aspire
from scirep_core.evaluators import facets, pairs
from scirep_core.evaluators.facets import facet_systems
from scirep_core.exhibits import sign
from scirep_core.exhibits.counting import Gathered, names_in, title
from scirep_core.exhibits.scirepeval_kinds import data_of, kinds_table
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result, arithmetic, recorded
from scirep_core.results.comparison import paired
from scirep_core.results.differences import measured
from scirep_core.results.published import lookup

CHAPTER = "scirepeval/aspects"
_SCIDOCS = [
    (f"scirepeval/scidocs_{name}", metric) for name in ("view", "read", "cite", "cocite") for metric in ("map", "ndcg")
]
_TRAIN = [("scirepeval/same_author", "map"), ("scirepeval/high_influence_cite", "map")]
_REVIEWERS = ("scirepeval/paper_reviewer_matching", "mean_of_four")
UNITS: dict[str, dict[str, list[tuple[str, str]]]] = {
    "V2-T7": {"In-Train": _TRAIN, "Out-of-Train": [_REVIEWERS, ("scirepeval/relish", "ndcg"), *_SCIDOCS]},
    "V1-T7": {"In-Train": _TRAIN, "SciDocs": _SCIDOCS,
              "Out-of-Train": [_REVIEWERS, ("scirepeval/feeds_1", "map"), ("scirepeval/feeds_m", "map")]},
}  # fmt: skip
"""Exhibit -> column of the table -> (task, metric) of the units it averages."""
WEIGHTS = {"V2-T7": {"In-Train": 2, "Out-of-Train": 10}, "V1-T7": {"In-Train": 2, "Out-of-Train": 4, "SciDocs": 8}}
"""Units behind each printed column."""
WANTED = tuple(name for name in TASKS if any(name == task for v in UNITS.values() for u in v.values() for task, _ in u))
PRINTED = {"ts_aspire_cs": "TS ASPIRE CS", "ts_aspire_bio": "TS ASPIRE Bio", "ot_aspire_cs": "OT ASPIRE CS",
           "ot_aspire_bio": "OT ASPIRE Bio", "specter2": "SPECTER2 Adapters"}  # fmt: skip
MAIN = {task: metric for columns in UNITS.values() for units in columns.values() for task, metric in reversed(units)}
"""The metric a task is drawn and counted by: of SciDocs MAP."""
LABELS = {"random": "floor: random vectors", "oracle": "oracle", "tfidf": "TF-IDF", "bm25": "BM25",
          "minilm": "MiniLM, one vector", "ts:minilm": "MiniLM, best sentence pair",
          "ot:minilm": "MiniLM, optimal transport"}  # fmt: skip
BOUNDS = ("random", "oracle")


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter, gathered: Gathered) -> list[Result]:
    """Return the scores of every named system on the proximity tasks at hand, averages, differences; with real data CSFCube."""
    names = names_in(chapter.parameters["encoders"])
    tasks = list(gathered.tasks.values())
    by_system: dict[str, list[Result]] = {}
    where = {"source": chapter.parameters["data"], "papers": chapter.parameters["papers"],
             "data_seed": chapter.parameters["seed"], "seed": chapter.parameters["seed"]}  # fmt: skip
    bounds = [BOUNDS[0], *(BOUNDS[1:] if any(task.oracle is not None for task in tasks) else ())]
    for name in [*names, *(bound for bound in bounds if bound not in names)] if tasks else ():
        if is_sentence_matcher(name):
            pairs.prepare(tasks, name, progress(f"{name}", "sentences encoded"))
        found = [row for row in score(tasks, name, **where) if row.split == "test"]
        by_system[name] = [replace(row, by_query={}) for row in found]
        by_system[name] += averages(by_system[name])
    rows = [row for found in by_system.values() for row in found]
    for one, other in compared(by_system):
        rows += paired(by_system[one], by_system[other])
    if chapter.parameters["data"] == "real":
        rows += csfcube(chapter, names)
    return chapter.record(rows)


def averages(rows: Sequence[Result]) -> list[Result]:
    """Return one system's averages, a row for every column of Table 7 whose units are all there, and for their mean."""
    found = {(row.task, row.metric): row for row in rows}
    made = []
    for exhibit, columns in UNITS.items():
        whole = [unit for units in columns.values() for unit in units]
        for column, units in {**columns, "Average": whole}.items():
            of = units_of(exhibit, column)
            members = [found[unit] for unit in units if unit in found]
            drawn = [row.replicates for row in members if row.replicates is not None]
            if len(drawn) == len(units):
                spread = np.mean(drawn, axis=0, dtype=np.float64)
                low, high = map(float, np.quantile(spread, [0.025, 0.975]))
                value = float(np.mean([row.value for row in members]))
                made.append(replace(
                    members[0], task=f"average/{exhibit}", metric=column, value=value, low=low, high=high, n=len(units),
                    replicates=np.asarray(spread, dtype=np.float32), pool=of, note="",
                ))  # fmt: skip
    return made


def units_of(exhibit: str, column: str) -> str:
    """Return how many units our average of a column has, and of how many the printed one is.

    >>> units_of("V1-T7", "Out-of-Train"), units_of("V2-T7", "Average")
    ('3 of 4 units', '12 units')
    """
    columns = UNITS[exhibit] if column == "Average" else [column]
    ours = sum(len(UNITS[exhibit][name]) for name in columns)
    printed = sum(WEIGHTS[exhibit][name] for name in columns)
    return f"{ours} units" if ours == printed else f"{ours} of {printed} units"


def tasks_of(exhibit: str) -> list[str]:
    """Return the tasks behind one version's table."""
    return list(dict.fromkeys(task for units in UNITS[exhibit].values() for task, _ in units))


def compared(systems: Iterable[str]) -> list[tuple[str, str]]:
    """Return which systems are compared: both ways of matching sentences with one vector of the same encoder, and each other."""
    names = list(systems)
    found = []
    for name in names:
        match, _, base = name.partition(":")
        if match == "ts":
            found += [(name, base), (f"ot:{base}", base), (f"ot:{base}", name)]
    found += [(f"ot{name[2:]}", name) for name in names if name.startswith("ts_aspire")]
    return [(one, other) for one, other in found if one in names and other in names]


def csfcube(chapter: Chapter, names: Sequence[str]) -> list[Result]:
    """Return CSFCube's metrics of sentence matching: the facet's sentences of the query against all of a candidate's."""
    collection = chapter.task("csfcube")
    assert isinstance(collection, FacetCollection)
    metrics = ("ndcg%20", "ndcg%100", "map")
    rows = []
    for name in names:
        if is_sentence_matcher(name):
            rankings, fingerprint = faceted(collection, name)
            system = facets.System(name, rankings, fingerprint, aspire.SIMILARITY[aspire.resolve(name).match])
        elif name in ("tfidf", "bm25"):
            system = facet_systems.rank(collection, f"fabs_{name}").system._replace(name=name)
        else:
            ranked = facet_systems.rank(collection, f"{name}:abstract", progress=progress(name))
            system = ranked.system._replace(name=name)
        rows += facets.evaluate(collection, system, metrics=metrics, seed=chapter.parameters["seed"])
    return [replace(row, by_query={}) for row in rows]


def faceted(collection: FacetCollection, name: str) -> tuple[facets.Rankings, str]:
    """Return rankings by sentence matching, and the fingerprint of what computed them."""
    papers = {key: aspire.document(paper) for key, paper in collection.papers.items()}
    matcher = pairs.matcher_of(name, papers, progress(name, "sentences encoded"))
    scores = {}
    for query in collection.queries:
        wanted = [
            i for i in facet_systems.query_sentences(collection, query) if i < len(matcher.vectors[query.paper_id])
        ]
        own = matcher.vectors[query.paper_id][wanted or slice(None)]  # all, where the model did not read as far
        asked = replace(matcher, vectors={**matcher.vectors, f"{query.paper_id}/q": own})
        scores[query] = asked.scores(query.paper_id, collection.candidates(query))
    return facets.rank_by_scores(collection, scores), matcher.fingerprint


# ---- showing ---------------------------------------------------------------------------------------------------------


def kept(profile: str = "embedded") -> list[Result]:
    """Return our committed run: on the embedded literature of 3,000 papers, or on real data."""
    return recorded(CHAPTER, profile)


def label(name: str) -> str:
    """Return a system's name as the tables show it."""
    return LABELS.get(name, html.escape(name))


def table7(chapter: Chapter, exhibit: str, rows: Sequence[Result]) -> None:
    """Show Table 7 of one version: published, recorded and live averages."""
    quoted = lookup(exhibit)
    of = {kind: {(r.encoder, r.metric): r for r in found if r.task == f"average/{exhibit}"}
          for kind, found in (("recorded", kept()), ("live", rows))}  # fmt: skip
    ours = list(dict.fromkeys(name for cells in of.values() for (name, _), r in cells.items() if not r.of_systems))
    named = {PRINTED[name]: name for name in ours if name in PRINTED}
    lines = [row for row in dict.fromkeys(row for row, _ in quoted) if row not in named]
    lines += [name for name in ours if name not in BOUNDS] + [name for name in BOUNDS if name in ours]
    printed = {(named.get(row, row), column): number for (row, column), number in quoted.items()}
    columns = list(dict.fromkeys(column for _, column in quoted))
    version = "publication (v2)" if exhibit.startswith("V2") else "submission (v1)"
    caption = f"Table 7 of the {version}: mean over proximity tasks, 0 to 100. Printed rows are of the real benchmark"
    for kind, cells in of.items():
        if cells:
            caption += f"; {kind} rows of {data_of(list(cells.values()))}"
    fewer = [column for column in columns if " of " in units_of(exhibit, column)]
    labels = {c: f"{c}<br><small>{'ours: ' if c in fewer else ''}{units_of(exhibit, c)}</small>" for c in columns}
    labels |= {name: label(name) for name in ours}
    chapter.show(kinds_table(chapter, caption, "System", lines, columns, printed, of["recorded"], of["live"], labels))
    if fewer and ours:
        told = " and ".join(f"{units_of(exhibit, column)} ({column})" for column in fewer)
        chapter.say(f"Of the {version} our averages have {told}: S2AND, which ranks nothing, is left out.")


def sums(chapter: Chapter, exhibit: str) -> None:
    """Show whether the printed averages follow from their columns, and by how much they miss."""
    quoted, weights = lookup(exhibit), WEIGHTS[exhibit]
    cells, off = [], []
    for row in dict.fromkeys(row for row, _ in quoted):
        parts = [quoted[row, column] for column in weights]
        total = sum(weights.values())
        value = sum(weights[p.column] * p.number for p in parts) / total
        made = chapter.record([arithmetic(exhibit, f"average of columns, {row}", value, total, parts)])[0]
        gap = quoted[row, "Average"].number - value
        if abs(gap) > 0.1 + 1e-9:  # each number is rounded to 0.1: columns and average may miss by 0.05 each
            off.append((row, gap))
        cells.append([html.escape(row), chapter.number(quoted[row, "Average"]), chapter.number(made), f"{gap:+.2f}"])
    counts = " + ".join(f"{weight} {column}" for column, weight in weights.items())
    chapter.show(report.table(["System", "printed", "from the columns", "difference"], cells,
                              f"{exhibit}: the printed average against the mean of {counts} units",
                              [["", "published", "", ""]] * len(cells)))  # fmt: skip
    if off:
        names = ", ".join(f"{html.escape(row)} ({gap:+.2f})" for row, gap in off)
        chapter.note(f"{exhibit}: {len(off)} of {len(cells)} printed averages are further from their columns than rounding "
                     f"explains: {names}.")  # fmt: skip
    else:
        chapter.say(f"{exhibit}: all {len(cells)} printed averages follow from their columns within rounding.")


def claim(chapter: Chapter, exhibit: str) -> None:
    """Say, from the printed rows, by how much models with several vectors lead ASPIRE's best, column by column."""
    quoted = lookup(exhibit)
    rows = list(dict.fromkeys(row for row, _ in quoted))
    theirs = [row for row in rows if "ASPIRE" in row]
    parts, not_ahead = [], []
    for column in dict.fromkeys(column for _, column in quoted):
        best = max(theirs, key=lambda row: quoted[row, column].number)
        gaps = [(row, quoted[row, column].number - quoted[best, column].number) for row in rows if row not in theirs]
        not_ahead += [f"{html.escape(row)} in {column} ({gap:+.1f})" for row, gap in gaps if round(gap, 1) <= 0]
        parts.append(f"{column}: " + ", ".join(f"{html.escape(row)} {gap:+.1f}" for row, gap in gaps) + f" over {best}")
    chapter.say(
        f"{exhibit}, against the best ASPIRE row of each column. {'; '.join(parts)}.",
        f"Not ahead: {', '.join(not_ahead)}." if not_ahead else "All are ahead.",
    )


def verdict(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say how sentence matching compares with one vector, by version: on the average, and on how many tasks which way."""
    found = [r for r in rows if r.of_systems and r.low is not None and r.high is not None]
    for names in dict.fromkeys(r.systems for r in found):
        one, other = map(label, names)
        mine = [r for r in found if r.systems == names]
        parts = []
        for exhibit in UNITS:
            whole = next((r for r in mine if r.task == f"average/{exhibit}" and measured(r.metric) == "Average"), None)
            tasks = [r for r in mine if r.task in tasks_of(exhibit) and MAIN[r.task] == measured(r.metric)]
            above, below = (sum(sign(r) == way for r in tasks) for way in (1, -1))
            mean = ""
            if whole is not None:
                way = {1: "ahead", -1: "behind", 0: "not told apart"}[sign(whole)]
                mean = (f"over {units_of(exhibit, 'Average')} {way} ({chapter.number(whole, 1, sign=True)}, 95 % interval "
                        f"{whole.low:+.1f} to {whole.high:+.1f}); ")  # fmt: skip
            if tasks:
                parts.append(
                    f"{exhibit[:2].lower()}: {mean}ahead on {above}, behind on {below}, not told apart on "
                    f"{len(tasks) - above - below} of {len(tasks)} tasks"
                )
        if parts:
            chapter.say(
                f"{mine[0].kind.capitalize()}: {one} against {other}. {'. '.join(p[0].upper() + p[1:] for p in parts)}."
            )


def beside_oracle(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say on which tasks a system scores above the oracle; nothing where there is no oracle."""
    found = {(r.task, r.encoder): r.value for r in rows if MAIN.get(r.task) == r.metric}
    tasks = [task for task in MAIN if (task, "oracle") in found]
    if not tasks:
        return
    above = [f"{label(name)} on {title(task)}" for (task, name), value in found.items()
             if name not in BOUNDS and task in tasks and value > found[task, "oracle"]]  # fmt: skip
    told = f"here above it: {', '.join(above)}." if above else f"here nothing is above it on any of {len(tasks)} tasks."
    chapter.say(
        f"{rows[0].kind.capitalize()}: the oracle ranks by what makes papers related in the generator, not by which relations "
        f"were drawn, so luck can put another above it; {told}"
    )


@report.styled
def draw(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw every proximity task: one vector against the two ways of matching sentences, with intervals."""
    found = {(r.task, r.encoder): r for r in rows if MAIN.get(r.task) == r.metric}
    tasks = [task for task in MAIN if (task, "random") in found]
    names = [n for n in dict.fromkeys(name for _, name in found) if n not in BOUNDS]
    if not tasks:
        return
    figure, axes = report.subplots(figsize=(report.WIDTH, 1.2 + 0.13 * len(tasks) * (len(names) + 1)))
    places, frame = np.arange(len(tasks))[::-1], []
    for i, name in enumerate(names):
        at = places + 0.34 - 0.68 * i / max(1, len(names) - 1)
        cells = [found.get((task, name)) for task in tasks]
        colour = report.SERIES[i % len(report.SERIES)]
        for y, cell in zip(at, cells, strict=True):
            if cell is not None and cell.low is not None:
                axes.plot([cell.low, cell.high], [y, y], color=colour, linewidth=1.2)
        there = [(cell.value, y) for cell, y in zip(cells, at, strict=True) if cell is not None]
        axes.plot(
            [v for v, _ in there], [y for _, y in there], "osD^vP"[i % 6], color=colour, label=label(name), markersize=5
        )
        frame += [{"task": task, "metric": MAIN[task], "system": name, "value": c.value, "low": c.low, "high": c.high,
                   "n": c.n}
                  for task, c in zip(tasks, cells, strict=True) if c is not None]  # fmt: skip
    for y, task in zip(places, tasks, strict=True):
        for bound in BOUNDS:
            if (cell := found.get((task, bound))) is not None:
                axes.plot([cell.value] * 2, [y - 0.4, y + 0.4], color=report.FLOOR, linewidth=1,
                          linestyle="-" if bound == "oracle" else (0, (4, 3)))  # fmt: skip
    axes.set_yticks(places, [f"{title(task)} ({found[task, 'random'].n})" for task in tasks])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("task's metric, 0 to 100")
    figure.legend(loc="outside upper left", ncols=3)
    kind = rows[0].kind
    chapter.figure(
        f"tasks-{kind}", figure, pd.DataFrame(frame),
        f"{kind.capitalize()}: proximity tasks of {data_of(rows)} by MAP, nDCG (RELISH) or the mean of four (reviewers); in "
        f"brackets the queries, n. Bars are 95 % bootstrap intervals over queries; dashed line: random vectors, solid: oracle.",
        f"Dot plot of {len(names)} systems on {len(tasks)} proximity tasks with intervals, floor and oracle.",
    )  # fmt: skip


def facets_table(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show CSFCube by one vector and by sentences, recorded on the real collection and live where this run has it."""
    cells: dict[str, Mapping[tuple[str, str], Result]] = {}
    for kind, found in (("recorded", kept("real")), ("live", rows)):
        chosen = [r for r in found if r.task == "csfcube/all" and r.protocol == "paper"]
        cells[kind] = {(r.encoder, r.metric): r for r in chosen}
    names = list(dict.fromkeys(name for of in cells.values() for name, _ in of))
    if not names:
        chapter.note("CSFCube was not run: it needs the real collection (<code>-p data real</code>).")
        return
    columns = ("ndcg%20", "ndcg%100", "map")
    sizes = " or ".join(str(n) for n in sorted({row.n for of in cells.values() for row in of.values()}))
    caption = (
        f"CSFCube, 0 to 100, aggregated over its facets, n = {sizes} queries; with sentence matching, queries search by their "
        "facet’s sentences"
    )
    labels = {name: label(name) for name in names}
    chapter.show(
        kinds_table(chapter, caption, "System", names, columns, {}, cells["recorded"], cells["live"], labels, 2)
    )


def example(chapter: Chapter, gathered: Gathered) -> None:
    """Show one pair of papers, sentence by sentence: distances, the best pair, and the plan that carries one to the other."""
    names = [name for name in names_in(chapter.parameters["encoders"]) if name.startswith("ot")]
    task = gathered.tasks.get("scirepeval/scidocs_cite") or next(iter(gathered.tasks.values()), None)
    if not names or task is None:
        return
    payload = task.payload
    rows = [r for r in getattr(payload, "rows", ()) if r.score > 0]
    if not rows:
        return
    query, cand = rows[0][:2]
    papers = {key: aspire.document(task.papers[key]) for key in (query, cand)}
    matcher = pairs.matcher_of(names[0], papers)
    costs = aspire.distances(matcher.vectors[query], matcher.vectors[cand])
    plan = 100 * aspire.transport(costs, *aspire.marginals(costs))
    for letter, key, count in (("A", query, costs.shape[0]), ("B", cand, costs.shape[1])):
        sentences = papers[key].sentences[:count] or (papers[key].title,)
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
        chapter.show(f"<p><strong>{letter}</strong>: “{html.escape(papers[key].title)}”</p><ol>{items}</ol>")
    header = ["", *(f"B{j + 1}" for j in range(costs.shape[1]))]
    body = [
        [f"A{i + 1}", *(_cell(d, share, d == costs.min()) for d, share in zip(costs[i], plan[i], strict=True))]
        for i in range(costs.shape[0])
    ]
    caption = (
        f"Sentences of A (rows) and of B, which it cites (columns): distance of each pair ({label(names[0])}), the least in bold; "
        "below it, what of the weight moves along it"
    )
    chapter.show(report.table(header, body, caption))
    chapter.say(f"Best pair: {costs.min():.2f}. Transport: {float((plan * costs).sum()) / 100:.2f}.")


def _cell(distance: float, share: float, best: bool) -> str:
    shown = f"<strong>{distance:.2f}</strong>" if best else f"{distance:.2f}"
    return f"{shown}<br><small>{share:.0f} %</small>" if share > 0.5 else shown
