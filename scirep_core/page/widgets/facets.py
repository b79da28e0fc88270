"""The facet explorer: two rankings of one CSFCube query side by side (CSFCube sections 3-5, appendix G).

A reader chooses a query paper, one of its facets, two systems and a cut-off, sees which sentences carry the facet,
what each system put where and why, and how the metrics follow. Everything is computed before: the widget's state
holds rankings as positions in the query's pool, every paper once, and texts only for papers a reader can open (the
first `shown` of any offered system and all relevant ones). Metrics in the page repeat `scirep_core.results.metrics`:

    P, R, NDCG at k (k given, or int(percent / 100 * n)); R-Precision as published (R / rank of the last relevant)
    and standard (precision at rank R); relevant = rating >= 2; values times 100.

The browser half is `facets.js`. Nothing here reads files: a ranked collection in, widget out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import zip_longest
from typing import Any, NamedTuple

from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.evaluators.facets.facet_systems import Ranked
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FACET_OF_LABEL, FACETS
from scirep_core.kit.records import Paper, Query
from scirep_core.page.widgets.common import Explorer, Places, View, check_choice, check_names, complete, table, within
from scirep_core.results.metrics import RELEVANT, score

CAP = 1_450_000
"""Bytes of the data in the page."""

RATINGS = ("unrelated", "related", "similar", "near identical")
"""The words of CSFCube section 4 for the ratings 0 to 3."""

PAIRS, TERMS = 3, 8
"""How many sentence pairs and terms of one reason the page keeps: the strongest ones."""


class FacetExplorer(Explorer, prefix="scx", scripts=("command.js", "facets.js")):
    """The widget. `selection` = {query, facet, systems, cutoff, candidate}: observe it, or set all or part of it.

    `cutoff` is an int (the first k) or a text such as "20%" (of the ranking); `candidate` is a paper id or None.
    """

    def _resolve(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """A new query decides the facet; a new facet alone keeps the paper; a new query closes the opened candidate."""
        view = self._view
        queries = {row["id"]: row for row in view["queries"]}
        systems = [name for name, _ in view["systems"]]
        first = view["queries"][0]
        begun = {"query": first["id"], "facet": first["facet"]}
        start = {**begun, "systems": systems[:2], "cutoff": "20%", "candidate": None}
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
        if new["candidate"] not in (None, *open_to):
            name = new["candidate"]
            raise ConfigError(f"selection: candidate {name!r} is not among those shown for {new['query']!r}")
        return new

    def static_fallback(self) -> str:
        """Return the current selection as HTML that needs no script: query, metrics, first ten of both systems."""
        view, selection = self._view, self.selection
        row = next(row for row in view["queries"] if row["id"] == selection["query"])
        names = [name for name, _ in view["systems"]]
        places = [names.index(system) for system in selection["systems"]]
        heads = [view["systems"][place][1] for place in places]
        rankings = [row["ranks"][place] for place in places]

        def cells(ranking: list[int], position: int) -> list[str]:
            if position >= len(ranking):
                return ["", ""]
            rating, paper = int(row["rated"][ranking[position]]), view["papers"][row["pool"][ranking[position]]]
            known = len(paper) > 1
            text = f"{escape(paper[1])} ({paper[2] or 'year unknown'})" if known else f"paper {escape(paper[0])}"
            return [f'<span style="white-space: nowrap">{rating} {view["ratings"][rating]}</span>', text]

        _, title, year, sentences, labels = view["papers"][row["paper"]]
        kinds = [escape(view["labels"][label]) for label in labels]
        items = [f"[{kind}] {escape(text)}" for text, kind in zip(sentences, kinds, strict=True)]
        lit = [f"<li><strong>{x}</strong></li>" if i in row["lit"] else f"<li>{x}</li>" for i, x in enumerate(items)]
        rated = [[int(row["rated"][position]) for position in ranking] for ranking in rankings]
        values = [metrics(ratings, selection["cutoff"]) for ratings in rated]
        numbers = [["\u2013" if value is None else f"{value:.2f}" for value in column] for column in values]
        ks = [f"k = {cut(selection['cutoff'], len(ranking))} of {len(ranking)}" for ranking in rankings]
        return self.folded(f"Two rankings for one query, as plain tables: {' and '.join(heads)}", [
            f"<p><strong>Query: {escape(title)}</strong> ({year or 'year unknown'}), facet {escape(row['facet'])}: "
            "its sentences are in bold.</p>",
            f"<ol>{''.join(lit)}</ol>",
            table(f"Metrics of this query, in percent; relevant means rated {view['relevant']} or 3",
                  ["metric", *(f"{head} ({k})" for head, k in zip(heads, ks, strict=True))], zip(METRICS, *numbers, strict=True)),
            table("First 10 candidates and their relevance, 0 to 3", ["rank", "rating", heads[0], "rating", heads[1]],
                  [[str(i + 1), *cells(rankings[0], i), *cells(rankings[1], i)] for i in range(10)]),
        ])  # fmt: skip


def explore(
    collection: FacetCollection, ranked: Mapping[str, Ranked], query: str = "", queries: int = 12, shown: int = 10,
    labels: Mapping[str, str] | None = None, parameters: Mapping[str, Any] | None = None,
) -> FacetExplorer:  # fmt: skip
    """Return the explorer over some queries of a ranked collection: the named one first, else evenly over the facets.

    What a reader can open, the first ranks of any system and all relevant papers, every system explains.

    Args:
        ranked: two systems or more; one may leave candidates out.
        shown: how many top ranks of each system carry text.
        labels: what a system is called, where that is not its name.
        parameters: for the papermill command, besides the query and the systems.

    Raises ConfigError without two systems or a query, for a score that is no number, and when the data are over the cap.
    """
    if len(ranked) < 2:
        raise ConfigError(f"systems: {list(ranked)!r} does not name two or more different systems to compare")
    chosen = _spread(collection.queries, queries)
    if query:
        first = collection.find(query)
        chosen = [first, *(q for q in chosen if q != first)][: max(queries, 1)]
    texts = _Texts(Places(), Places(), Places())
    rows = [_query_row(one, collection, ranked, shown, texts) for one in chosen]
    check_names("queries", [row["id"] for row in rows])
    check_names("systems", list(ranked))
    check_names("papers", list(dict.fromkeys(paper[0] for paper in texts.papers)))
    given = {**(parameters or {}), "query": "{query}", "encoders": "{systems}"}
    view = {
        "systems": [[name, (labels or {}).get(name, name)] for name in ranked],
        "ratings": RATINGS,
        "relevant": RELEVANT,
        "labels": list(texts.labels),
        "terms": list(texts.terms),
        "papers": [list(paper) for paper in texts.papers],
        "queries": rows,
        "notebook": "notebooks/csfcube/errors.ipynb",
        "parameters": {key: str(value) for key, value in given.items()},
    }
    why = sum(len(json.dumps(row["why"])) for row in rows)
    remedy = (
        f"offer fewer queries (now {len(rows)}), fewer systems (now {len(ranked)}) or a smaller `shown` (now {shown}); "
        f"texts take {len(json.dumps(view['papers'])):,} bytes, reasons {why:,}"
    )
    return FacetExplorer(within(CAP, view, "facet explorer", remedy))


def _spread(queries: Sequence[Query], count: int) -> list[Query]:
    """Return `count` queries, facets in turn, two-facet papers first so that a reader can switch the facet."""
    papers = [q.paper_id for q in queries]
    by_facet = [sorted((q for q in queries if q.facet == f), key=lambda q: -papers.count(q.paper_id)) for f in FACETS]
    picked = [q for turn in zip_longest(*by_facet) for q in turn if q][:count]
    return [q for q in queries if q in picked]


class _Texts(NamedTuple):
    """Every paper once: (id, title, year, sentences, places of labels), or (id,) where only the position is needed."""

    papers: Places
    labels: Places
    terms: Places

    def place(self, paper_id: str, paper: Paper | None = None) -> int:
        """Return the place of a paper."""
        if paper is None:
            return self.papers[paper_id,]
        kinds = tuple(self.labels[_word(label)] for label in paper.labels)
        return self.papers[paper_id, paper.title, paper.year, tuple(paper.sentences), kinds]


def _word(label: str) -> str:
    return label.removesuffix("_label")


def _query_row(
    query: Query, collection: FacetCollection, ranked: Mapping[str, Ranked], shown: int, texts: _Texts
) -> View:  # fmt: skip
    """Return one query with its pool, ratings, rankings and reasons as positions; adds its papers to the texts."""
    papers, rated = collection.papers, {one.candidate: one.rating for one in collection.judgements[query]}
    paper, pool = papers[query.paper_id], {candidate: position for position, candidate in enumerate(rated)}
    rankings = {name: one.system.rankings[query] for name, one in ranked.items()}
    opened = {candidate for candidate, rating in rated.items() if rating >= RELEVANT}
    opened.update(candidate for ranking in rankings.values() for candidate in ranking[:shown])
    return {
        "id": query.query_id,
        "facet": query.facet,
        "paper": texts.place(query.paper_id, paper),
        "lit": [i for i, label in enumerate(paper.labels) if FACET_OF_LABEL.get(label) == query.facet],
        "match": [_word(label) for label, facet in FACET_OF_LABEL.items() if facet == query.facet],
        "pool": [texts.place(candidate, papers[candidate] if candidate in opened else None) for candidate in pool],
        "rated": "".join(map(str, rated.values())),
        "ranks": [[pool[candidate] for candidate in ranking] for ranking in rankings.values()],
        "why": [
            {str(pool[candidate]): _why(one, query, candidate, name, texts.terms)
             for candidate in rankings[name] if candidate in opened}
            for name, one in ranked.items()
        ],
    }  # fmt: skip


def _why(one: Ranked, query: Query, candidate: str, system: str, known: Places) -> list[Any]:
    """Return [pairs, terms] of a system's reason, strongest first, numbers to three digits; terms by their place in `known`."""
    reason = one.explain(query, candidate)
    if not all(math.isfinite(number) for number in (*(s for _, _, s in reason.pairs), *(w for _, w in reason.terms))):
        where = f"{system!r}, query {query.query_id!r}, candidate {candidate!r}"
        raise ConfigError(f"reasons: {where}: a score is not a finite number")
    pairs = sorted(reason.pairs, key=lambda pair: -pair[2])[:PAIRS]
    terms = sorted(reason.terms, key=lambda term: -term[1])[:TERMS]
    numbered = [[known[term], float(f"{weight:.3g}")] for term, weight in terms]
    return [[[i, j, float(f"{s:.3g}")] for i, j, s in pairs], numbered]


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


METRICS = ("P@k", "R@k", "NDCG@k", "R-Precision (published)", "R-Precision (standard)")


def metrics(ratings: Sequence[int], cutoff: int | str) -> list[float | None]:
    """Return the METRICS of one ranking times 100; the first three are None where the cut-off holds no paper."""
    k = cut(cutoff, len(ratings))
    at_k: list[float | None] = [100 * score(f"{name}@{k}", ratings) if k else None for name in ("p", "r", "ndcg")]
    return [*at_k, *(100 * score(name, ratings) for name in ("r_precision_published", "r_precision"))]
