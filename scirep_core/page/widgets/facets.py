"""The facet explorer: two rankings of one CSFCube query side by side (CSFCube sections 3-5, appendix G).

A reader chooses a query paper, one of its facets, two systems and a cut-off, sees which sentences carry the facet,
what each system put where and why, and how the metrics follow. Everything is computed before: the widget's state
holds rankings as positions in the query's pool, every paper once, and texts only for papers a reader can open (the
first `shown` of any offered system and all relevant ones). Metrics in the page repeat `scirep_core.results.metrics`:

    P, R, NDCG at k (k given, or int(percent / 100 * n)); R-Precision as published (R / rank of the last relevant)
    and standard (precision at rank R); relevant = rating >= 2; values times 100.

The browser half is `facets.js`. Nothing here reads files: plain data in, widget out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import zip_longest
from typing import Any, NamedTuple

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.evaluators.facets.facet_systems import Ranked, Reason
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.formats import FACETS
from scirep_core.kit.records import Query
from scirep_core.page.widgets.common import (
    Explorer,
    View,
    check_choice,
    check_distinct,
    check_names,
    complete,
    folded,
    module,
    style,
    table,
    within,
)
from scirep_core.results.metrics import RELEVANT, score

ESM, CSS = module("scx", "command.js", "facets.js"), style("scx", "facets.css")
CAP = 1_450_000
"""Bytes of the data in the page."""

RATINGS = ("unrelated", "related", "similar", "near identical")
"""The words of CSFCube section 4 for the ratings 0 to 3."""

MERGED = {"background": ("background", "objective")}
"""Sentence labels that make up a facet, where that is more than the facet's own name (CSFCube section 3)."""

PAIRS, TERMS = 3, 8
"""How many sentence pairs and terms of one reason the page keeps: the strongest ones."""


class QueryView(NamedTuple):
    """One query: `query_id` is "<paper_id>_<facet>", `sentences` are (text, label) in order."""

    query_id: str
    paper_id: str
    facet: str
    title: str
    year: int | None
    sentences: Sequence[tuple[str, str]]


class CandidateView(NamedTuple):
    """One candidate paper: `sentences` are (text, label) in order."""

    title: str
    year: int | None
    sentences: Sequence[tuple[str, str]]


Reasons = Mapping[str, Mapping[str, Mapping[str, Reason]]]


class FacetExplorer(Explorer):
    """The widget. `selection` = {query, facet, systems, cutoff, candidate}: observe it, or set all or part of it.

    `cutoff` is an int (the first k) or a text such as "20%" (of the ranking); `candidate` is a paper id or None.
    """

    _esm = ESM
    _css = CSS

    def _resolve(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        return resolve(self._view, before, wanted)

    def static_fallback(self) -> str:
        """Return the current selection as HTML that needs no script: query, metrics, first ten of both systems."""
        return fallback(self._view, self.selection)


def facet_explorer(
    queries: Sequence[QueryView],
    candidates: Mapping[str, CandidateView],
    ratings: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Mapping[str, Sequence[str]]],
    reasons: Reasons | None = None,
    systems: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    notebook: str = "notebooks/csfcube/errors.ipynb",
    parameters: Mapping[str, Any] | None = None,
    cap: int = CAP,
    shown: int = 20,
) -> FacetExplorer:
    """Build the explorer from plain data.

    Args:
        queries: in the order they are offered; candidates: paper id to text; ratings: query id to candidate to 0-3.
        rankings: system to query id to candidate ids, best first. A system may leave candidates out.
        reasons: system to query id to candidate id to Reason, as far as known.
        systems: which to offer, two or more (default: all of `rankings`); labels: system to the name shown.
        notebook, parameters: for the papermill command. Values "{query}", "{systems}", "{facet}", "{cutoff}" follow
            the selection; without such values `query` and `encoders` are added.
        cap: greatest size in bytes of the data in the page; shown: how many top ranks of each system carry text.

    Raises ConfigError on inconsistent input, and when the data are over the cap.
    """
    names = list(rankings if systems is None else systems)
    if len(names) < 2 or len(set(names)) != len(names):
        raise ConfigError(f"systems: {names!r} does not name two or more different systems to compare")
    for name in names:
        if name not in rankings:
            raise ConfigError(f"systems: no ranking for {name!r}; {nearest(name, rankings)}")
    check_names("queries", [query.query_id for query in queries])
    texts = _Texts()
    rows = [_query_row(query, candidates, ratings, rankings, reasons or {}, names, shown, texts) for query in queries]
    check_names("systems", names)
    check_names("papers", list(dict.fromkeys(paper[0] for paper in texts.papers)))
    given = {key: _flag(value) for key, value in (parameters or {}).items()}
    follows = {} if any("{" in value for value in given.values()) else {"query": "{query}", "encoders": "{systems}"}
    view = {
        "systems": [[name, (labels or {}).get(name, name)] for name in names],
        "ratings": RATINGS,
        "relevant": RELEVANT,
        "labels": list(texts.labels),
        "terms": list(texts.terms),
        "papers": texts.papers,
        "queries": rows,
        "notebook": notebook,
        "parameters": {**given, **follows},
    }
    why = sum(len(json.dumps(row["why"])) for row in rows)
    remedy = (
        f"offer fewer queries (now {len(queries)}), fewer systems (now {len(names)}) or a smaller `shown` (now {shown}); "
        f"texts take {len(json.dumps(texts.papers)):,} bytes, reasons {why:,}"
    )
    return FacetExplorer(within(cap, view, "facet explorer", remedy))


def explore(
    collection: FacetCollection, ranked: Mapping[str, Ranked], query: str = "", queries: int = 12, shown: int = 10,
    labels: Mapping[str, str] | None = None, parameters: Mapping[str, Any] | None = None,
) -> FacetExplorer:  # fmt: skip
    """Return the explorer over some queries of a ranked collection: the named one first, else evenly over the facets.

    What a reader can open, the first ranks of any system and all relevant papers, every system explains.
    """
    chosen = _spread(collection.queries, queries)
    if query:
        first = collection.find(query)
        chosen = [first, *(q for q in chosen if q != first)][: max(queries, 1)]
    judged = {q.query_id: {j.candidate: j.rating for j in collection.judgements[q]} for q in chosen}
    rankings = {name: {q.query_id: list(r.system.rankings[q]) for q in chosen} for name, r in ranked.items()}
    opened = {
        name: {c for of in rankings.values() for c in of[name][:shown]} | {c for c, rating in rated.items() if rating >= RELEVANT}
        for name, rated in judged.items()
    }  # fmt: skip
    papers = {paper: collection.papers[paper] for paper in sorted({c for rated in judged.values() for c in rated})}
    sources = [collection.papers[q.paper_id] for q in chosen]
    return facet_explorer(
        [QueryView(q.query_id, q.paper_id, q.facet, p.title, p.year, _sentences(p)) for q, p in zip(chosen, sources, strict=True)],
        {name: CandidateView(paper.title, paper.year, _sentences(paper)) for name, paper in papers.items()},
        judged, rankings,
        {name: {q.query_id: {c: r.explain(q, c) for c in rankings[name][q.query_id] if c in opened[q.query_id]} for q in chosen}
         for name, r in ranked.items()},
        labels=labels, shown=shown, parameters=parameters,
    )  # fmt: skip


def _sentences(paper: Any) -> list[tuple[str, str]]:
    return [(s, label.removesuffix("_label")) for s, label in zip(paper.sentences, paper.labels, strict=True)]


def _spread(queries: Sequence[Query], count: int) -> list[Query]:
    """Return `count` queries, facets in turn, two-facet papers first so that a reader can switch the facet."""
    papers = [q.paper_id for q in queries]
    by_facet = [sorted((q for q in queries if q.facet == f), key=lambda q: -papers.count(q.paper_id)) for f in FACETS]
    picked = [q for turn in zip_longest(*by_facet) for q in turn if q][:count]
    return [q for q in queries if q in picked]


class _Texts:
    """Every paper once: [id, title, year, sentences, label numbers], or [id] where only the position is needed."""

    def __init__(self) -> None:
        self.papers: list[list[Any]] = []
        self.labels: dict[str, int] = {}
        self.terms: dict[str, int] = {}
        self._index: dict[str, int] = {}

    def add(self, paper_id: str, view: CandidateView | None = None) -> int:
        """Return the index of a paper; equal content shares one entry."""
        row: list[Any] = [paper_id]
        if view is not None:
            kinds = [self.labels.setdefault(x.removesuffix("_label"), len(self.labels)) for _, x in view.sentences]
            row += [view.title, view.year, [text for text, _ in view.sentences], kinds]
        key = json.dumps(row)
        if key not in self._index:
            self._index[key] = len(self.papers)
            self.papers.append(row)
        return self._index[key]


def _query_row(
    query: QueryView,
    candidates: Mapping[str, CandidateView],
    ratings: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Mapping[str, Sequence[str]]],
    reasons: Reasons,
    systems: Sequence[str],
    shown: int,
    texts: _Texts,
) -> View:
    """Return one query with its pool, ratings, rankings and reasons as positions; adds its papers to the texts."""
    name = query.query_id
    if name != f"{query.paper_id}_{query.facet}":
        raise ConfigError(f"query {name!r}: the id must be {query.paper_id}_{query.facet} (paper id, facet)")
    if not ratings.get(name):
        raise ConfigError(f"ratings: none for query {name!r}; give its candidates a rating of 0 to 3")
    pool = {candidate: position for position, candidate in enumerate(ratings[name])}
    for candidate, rating in ratings[name].items():
        if rating not in (0, 1, 2, 3):
            raise ConfigError(f"ratings: query {name!r}, candidate {candidate!r}: {rating!r} is not 0, 1, 2 or 3")
    opened = {candidate for candidate, rating in ratings[name].items() if rating >= RELEVANT}
    ranks: list[list[int]] = []
    for system in systems:
        ranking = rankings[system].get(name)
        if not ranking:
            raise ConfigError(f"rankings: {system!r} has none for query {name!r}; rank it, or leave the query out")
        check_distinct(f"rankings: {system!r}, query {name!r}", ranking)
        unknown = next((candidate for candidate in ranking if candidate not in pool), None)
        if unknown is not None:
            raise ConfigError(f"rankings: {system!r}, query {name!r}: {unknown!r} has no rating; drop it or rate it")
        ranks.append([pool[candidate] for candidate in ranking])
        opened.update(ranking[:shown])
    missing = next((candidate for candidate in pool if candidate in opened and candidate not in candidates), None)
    if missing is not None:
        raise ConfigError(f"candidates: no title and text for {missing!r}, which query {name!r} shows")
    wanted = MERGED.get(query.facet, (query.facet,))
    return {
        "id": name,
        "facet": query.facet,
        "paper": texts.add(query.paper_id, CandidateView(query.title, query.year, query.sentences)),
        "lit": [i for i, (_, label) in enumerate(query.sentences) if label.removesuffix("_label") in wanted],
        "match": list(wanted),
        "pool": [texts.add(candidate, candidates[candidate] if candidate in opened else None) for candidate in pool],
        "rated": "".join(str(int(rating)) for rating in ratings[name].values()),
        "ranks": ranks,
        "why": [
            {
                str(pool[candidate]): _why(
                    reason,
                    f"reasons: {system!r}, query {name!r}, candidate {candidate!r}",
                    (len(query.sentences), len(candidates[candidate].sentences)),
                    texts.terms,
                )
                for candidate, reason in reasons.get(system, {}).get(name, {}).items()
                if candidate in opened
            }
            for system in systems
        ],
    }


def _why(reason: Reason, where: str, size: tuple[int, int], known: dict[str, int]) -> list[Any]:
    """Return [pairs, terms], strongest first, numbers to three digits; terms by their number in `known`."""
    numbers = [pair[2] for pair in reason.pairs] + [weight for _, weight in reason.terms]
    if not all(math.isfinite(number) for number in numbers):
        raise ConfigError(f"{where}: a score is not a finite number")
    for i, j, _ in reason.pairs:
        if not (0 <= i < size[0] and 0 <= j < size[1]):
            raise ConfigError(f"{where}: sentence pair ({i}, {j}) is outside {size[0]} x {size[1]} sentences")
    pairs = sorted(reason.pairs, key=lambda pair: -pair[2])[:PAIRS]
    terms = sorted(reason.terms, key=lambda term: -term[1])[:TERMS]
    numbered = [[known.setdefault(term, len(known)), float(f"{weight:.3g}")] for term, weight in terms]
    return [[[i, j, float(f"{s:.3g}")] for i, j, s in pairs], numbered]


def _flag(value: Any) -> str:
    return ",".join(str(v) for v in value) if isinstance(value, (list, tuple)) else str(value)


def resolve(view: View, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return a complete, consistent selection: `wanted` over `before` over the default. Raises ConfigError.

    A new query decides the facet; a new facet alone keeps the paper; a new query closes the opened candidate.
    """
    queries = {row["id"]: row for row in view["queries"]}
    systems = [name for name, _ in view["systems"]]
    first = view["queries"][0]
    start = {"query": first["id"], "facet": first["facet"], "systems": systems[:2], "cutoff": "20%", "candidate": None}
    old, new = {**start, **before}, complete(start, before, wanted)
    if new["query"] == old["query"] and new["facet"] != old["facet"] and old["query"] in queries:
        new["query"] = f"{view['papers'][queries[old['query']]['paper']][0]}_{new['facet']}"
    check_choice("query", new["query"], queries)
    row = queries[new["query"]]
    new["facet"] = row["facet"]
    pair = new["systems"]
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or pair[0] == pair[1]:
        raise ConfigError(f"selection: systems must be two different names, not {pair!r}")
    for name in pair:
        check_choice("system", name, systems)
    new["systems"] = list(pair)
    new["cutoff"] = parse_cutoff(new["cutoff"])
    if new["query"] != old["query"] and new["candidate"] == old["candidate"]:
        new["candidate"] = None
    open_to = {view["papers"][i][0] for i in row["pool"] if len(view["papers"][i]) > 1}
    if new["candidate"] is not None and new["candidate"] not in open_to:
        raise ConfigError(f"selection: candidate {new['candidate']!r} is not among those shown for {new['query']!r}")
    return new


def parse_cutoff(cutoff: int | str) -> int | str:
    """Return a cut-off as an int (top k) or "<1..100>%". Raises ConfigError."""
    text = str(cutoff)
    percent, digits = text.endswith("%"), text.removesuffix("%")
    if isinstance(cutoff, bool) or not (digits.isascii() and digits.isdigit()) or int(digits) < 1:
        raise ConfigError(f"selection: cutoff {cutoff!r} must be a whole number from 1 or a text such as '20%'")
    if percent and int(digits) > 100:
        raise ConfigError(f"selection: cutoff {cutoff!r} is over 100%")
    return f"{int(digits)}%" if percent else int(digits)


def cut(cutoff: int | str, n: int) -> int:
    """Return k of a cut-off for a ranking of n: as given, or int(percent / 100 * n), the published truncation."""
    return cutoff if isinstance(cutoff, int) else int(int(cutoff.removesuffix("%")) / 100 * n)


METRICS = ("P@k", "R@k", "NDCG@k", "R-Precision (published)", "R-precision (standard)")


def metrics(ratings: Sequence[int], cutoff: int | str) -> list[float | None]:
    """Return the METRICS of one ranking times 100; the first three are None where the cut-off holds no paper."""
    k = cut(cutoff, len(ratings))
    at_k: list[float | None] = [100 * score(f"{name}@{k}", ratings) if k else None for name in ("p", "r", "ndcg")]
    return [*at_k, *(100 * score(name, ratings) for name in ("r_precision_published", "r_precision"))]


def fallback(view: View, selection: Mapping[str, Any], depth: int = 10) -> str:
    """Return one selection as HTML without script; the widget folds it away when it starts."""
    row = next(row for row in view["queries"] if row["id"] == selection["query"])
    names = [name for name, _ in view["systems"]]
    places = [names.index(system) for system in selection["systems"]]
    heads = [view["systems"][place][1] for place in places]
    rankings = [row["ranks"][place] for place in places]

    def cells(ranking: list[int], position: int) -> list[str]:
        if position >= len(ranking):
            return ["", ""]
        rating, paper = int(row["rated"][ranking[position]]), view["papers"][row["pool"][ranking[position]]]
        text = f"{escape(paper[1])} ({paper[2] or 'year unknown'})" if len(paper) > 1 else f"paper {escape(paper[0])}"
        return [f'<span style="white-space: nowrap">{rating} {view["ratings"][rating]}</span>', text]

    _, title, year, sentences, labels = view["papers"][row["paper"]]
    items = [f"[{escape(view['labels'][label])}] {escape(text)}" for text, label in zip(sentences, labels, strict=True)]
    lit = [f"<li><strong>{x}</strong></li>" if i in row["lit"] else f"<li>{x}</li>" for i, x in enumerate(items)]
    values = [
        metrics([int(row["rated"][position]) for position in ranking], selection["cutoff"]) for ranking in rankings
    ]
    numbers = [["\u2013" if value is None else f"{value:.2f}" for value in column] for column in values]
    ks = [f"k = {cut(selection['cutoff'], len(ranking))} of {len(ranking)}" for ranking in rankings]
    return folded("scx", view["key"], f"Two rankings for one query, as plain tables: {' and '.join(heads)}", [
        f"<p><strong>Query: {escape(title)}</strong> ({year or 'year unknown'}), facet {escape(row['facet'])}: "
        "its sentences are in bold.</p>",
        f"<ol>{''.join(lit)}</ol>",
        table(f"Metrics of this query, in percent; relevant means rated {view['relevant']} or 3",
              ["metric", *(f"{head} ({k})" for head, k in zip(heads, ks, strict=True))], zip(METRICS, *numbers, strict=True)),
        table(f"First {depth} candidates and their relevance, 0 to 3", ["rank", "rating", heads[0], "rating", heads[1]],
              [[str(i + 1), *cells(rankings[0], i), *cells(rankings[1], i)] for i in range(depth)]),
    ])  # fmt: skip
