"""Pairs of papers of the open literature that belong together, and the negatives beside them.

All that is drawn is drawn by the name of the task and the id of the query, so another query makes no difference.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scirep_core.data import manifests
from scirep_core.data.open import corpora, folder
from scirep_core.data.open.corpora import CLASSIC, Part, Record, links, of_part, records, tsv
from scirep_core.data.task import Qrel, Triple
from scirep_core.kit.records import read_jsonl

LINKED = {"acl": "acl_graph", "vis": "vis", "synergy": "synergy_openalex"}
"""Corpora with citations, authors and references -> their folder."""
MOST_PAPERS = 60
"""Papers of an author name in the whole corpus, at most: of more, the name is likely that of several people."""
SHARED = 5
"""References two coupled papers share, at least (bibliographic coupling)."""
POSITIVES, NEGATIVES = 5, 25
"""Relevant papers of a query that ranks, at most, and random others beside them, as in SciDocs."""
TRIPLETS = 5
"""Triplets of a query, at most; of those of a citing paper two have a hard negative where there is one (SPECTER)."""
HARD = 2

Related = Mapping[str, Collection[str]]
"""Query -> the papers that belong to it."""


# --- what belongs together ----------------------------------------------------------------------------------------------


def cited(corpus: str, papers: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return the papers that each of `papers` cites, among them."""
    found = defaultdict(list)
    for citing, one in links(folder(LINKED[corpus]) / "citations.tsv.gz", papers):
        found[citing].append(one)
    return dict(found)


def linked(corpus: str, papers: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return the papers that cite each of `papers` or are cited by it, among them: none is a negative."""
    return joined(links(folder(LINKED[corpus]) / "citations.tsv.gz", papers))


def authored(papers: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return author -> papers."""
    found = defaultdict(list)
    for key, record in papers.items():
        for author in dict.fromkeys(record.row["author_ids"]):
            found[author].append(key)
    return dict(found)


def bylines(corpus: str, papers: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return author -> those of `papers`, two or more, of authors with `MOST_PAPERS` or fewer in the corpus."""
    everywhere = authored(records(corpus))
    return {author: keys for author, keys in authored(papers).items()
            if len(keys) > 1 and len(everywhere[author]) <= MOST_PAPERS}  # fmt: skip


def same_author(corpus: str, papers: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return the papers that share an author of `bylines` with each of `papers`, among them."""
    return _all_pairs(bylines(corpus, papers))


def coauthored(corpus: str, papers: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return the papers that share any author name with each of `papers`, among them: none is a negative."""
    return _all_pairs(authored(papers))


def _all_pairs(groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return joined(itertools.chain.from_iterable(itertools.combinations(keys, 2) for keys in groups.values()))


def coupled(corpus: str, papers: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return the papers that share `SHARED` references or more with each of `papers`, among them."""
    counts: Counter[tuple[str, str]] = Counter()
    for *_, citing in tsv(folder(LINKED[corpus]) / "shared_references.tsv.gz"):
        counts.update(itertools.combinations(sorted(key for key in citing.split() if key in papers), 2))
    return joined(sorted(pair for pair, count in counts.items() if count >= SHARED))


def joined(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return key -> the keys it is paired with, whichever comes first."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for a, b in pairs:
        found[a][b] = found[b][a] = None
    return {key: list(others) for key, others in found.items()}


# --- searches -----------------------------------------------------------------------------------------------------------


class Searches(NamedTuple):
    """Queries of one corpus and part: their texts, and what is relevant to each, graded."""

    corpus: str
    texts: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, int]]


def phrases(part: Part) -> Searches:
    """Return VIS keyword phrases of two words or more, by the papers of a part that bear them."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    texts = {}
    for key, record in of_part("vis", part).items():
        for text in record.row.get("author_keywords") or ():
            phrase = " ".join(text.lower().split())
            if " " in phrase:
                found[f"phrase:{phrase}"][key] = 1
                texts[f"phrase:{phrase}"] = phrase
    return Searches("vis", texts, found)


def claims() -> Searches:
    """Return SciFact's dev claims, by the abstracts they cite."""
    texts: dict[str, str] = {}
    found: dict[str, dict[str, int]] = {}
    there = records("scifact")
    for _, row in read_jsonl(manifests.fetch("scifact_sample") / "claims_dev.jsonl"):
        if docs := {doc: 1 for one in row["cited_doc_ids"] if (doc := f"scifact:{one}") in there}:
            texts[f"claim:{row['id']}"], found[f"claim:{row['id']}"] = row["claim"], docs
    return Searches("scifact", texts, found)


def questions(corpus: str, part: Part | None) -> Searches:
    """Return the questions of CACM, CISI or Cranfield that are of a part, by its documents; None: all, by all documents."""
    source, name = folder("classic_ir"), CLASSIC[corpus]
    asked = {
        row["query_id"]: " ".join(row["text"].split()) for _, row in read_jsonl(source / f"{name}_queries.jsonl.gz")
    }
    documents = records(corpus) if part is None else of_part(corpus, part)
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for query, doc, grade in tsv(source / f"{name}_qrels.tsv.gz"):
        if doc in documents and part in (None, corpora.part_of(query, corpus)):
            found[query][doc] = int(grade)
    return Searches(corpus, {key: asked[key] for key in found}, found)


# --- negatives ----------------------------------------------------------------------------------------------------------


def drawn(name: str, query: str, pool: Sequence[str], most: int, but: Collection[str]) -> list[str]:
    """Return up to `most` members of a pool, but neither the query nor any of `but`; drawn by task and query."""
    order = random.Random(f"{name}\n{query}").sample(range(len(pool)), min(len(pool), most + len(but) + 1))
    return [pool[i] for i in order if pool[i] != query and pool[i] not in but][:most]


def qrels(
    name: str, related: Related, pool: Sequence[str], group: str = "", strata: Mapping[str, str] | None = None, *,
    near: Related | None = None,
) -> Iterator[Qrel]:  # fmt: skip
    """Yield up to `POSITIVES` relevant papers of each query, drawn, and `NEGATIVES` others of the pool.

    Args:
        strata: paper -> stratum: negatives are of the query's own (papers of one review).
        near: query -> papers that are no negatives either.
    """
    by = defaultdict(list)
    for key in pool:
        by[strata[key] if strata else ""].append(key)
    for query, relevant in related.items():
        barred = {*relevant, *(near or {}).get(query, ())}
        others = drawn(name, query, by[strata[query] if strata else ""], NEGATIVES, barred)
        yield from (
            Qrel(query, key, 1, group) for key in drawn(f"{name} relevant", query, list(relevant), POSITIVES, ())
        )
        yield from (Qrel(query, key, 0, group) for key in others)


def triples(name: str, related: Related, pool: Sequence[str], hard: Related | None = None, most: int | None = TRIPLETS,
            near: Related | None = None) -> Iterator[Triple]:  # fmt: skip
    """Yield triplets of each query: a relevant paper, and one of the pool that is not.

    Args:
        hard: query -> hard negatives, of which up to `HARD` of `TRIPLETS` triplets have one.
        most: triplets of a query; None: one for each relevant paper.
        near: query -> papers that are no negatives either.
    """
    for query, relevant in related.items():
        chosen = random.Random(f"{name}\n{query}").sample(list(relevant), min(len(relevant), most or len(relevant)))
        barred = {*relevant, *(near or {}).get(query, ())}
        hardest = sorted(set((hard or {}).get(query, ())) - barred - {query})
        hardest = random.Random(f"{name}\n{query}\nhard").sample(hardest, len(hardest))
        easy = drawn(name, query, pool, len(chosen), {*barred, *hardest})
        for place, positive in enumerate(chosen):
            negative = (
                hardest.pop() if hardest and place % TRIPLETS < HARD else easy[place] if place < len(easy) else ""
            )
            if negative:
                yield Triple(query, positive, negative)


@functools.cache
def cited_by_cited(corpus: str, part: Part) -> dict[str, set[str]]:
    """Return the papers that are cited by what each paper of a part cites, within the part."""
    cites = cited(corpus, of_part(corpus, part))
    return {query: {far for one in ones for far in cites.get(one, ())} for query, ones in cites.items()}
