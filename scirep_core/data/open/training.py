"""The eight in-train tasks of the open literature: what trains, and what scores it on unseen papers.

    trained on                       scored by                   of
    open/arxiv_categories            itself                      arXiv: categories of 100 papers or more, several a paper
    open/mesh                        itself                      SYNERGY: major descriptors of 40 papers or more, several a paper
    open/citations                   itself                      ML papers, SYNERGY, VIS: ln(1 + count)
    open/year                        itself                      ACL, SYNERGY, VIS
    open/cite_triplets               open/cite                   ACL, VIS, SYNERGY
    open/same_author_triplets        open/same_author            ACL, VIS, SYNERGY
    open/coupling_triplets           open/coupling               ACL, VIS, SYNERGY
    open/search_triplets             open/search                 VIS phrases, CACM and CISI questions

Training reads the splits `train` and `validation` (the dev part) of the left column; scores are of the test part. Where search is
scored, the phrases are those that training knows too (`open/phrases` has the others), over one pool of three collections.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from scirep_core.data.open import pairs
from scirep_core.data.open.corpora import Part, Record, of_part, records, texts
from scirep_core.data.open.pairs import LINKED, Related, Searches
from scirep_core.data.task import Example, Judged, Label, Labelled, Payload, Pooled, Qrel, Triple, Triples
from scirep_core.kit.records import Paper

SPLITS: dict[str, Part] = {"train": "train", "validation": "dev", "test": "test"}
"""Split of a task -> part of the papers."""
TRAINING: dict[str, Part] = {"train": "train", "validation": "dev"}
"""Of a task that trains alone."""


class Made(NamedTuple):
    """A task's judgements and texts, as they are written into its folder."""

    payload: Payload
    papers: Sequence[Paper]
    queries: Mapping[str, str] = {}


# --- classification and regression ------------------------------------------------------------------------------------


def labelled(
    label: Callable[[Record], Label | None], *corpora: str, names: Sequence[str] = (), multi_label: bool = False
) -> Made:
    """Return the papers of corpora that have a label, by part."""
    splits: dict[str, tuple[Example, ...]] = {}
    papers: list[Paper] = []
    for split, part in SPLITS.items():
        rows = [(record, value) for corpus in corpora for record in of_part(corpus, part).values()
                if (value := label(record)) is not None]  # fmt: skip
        splits[split] = tuple(Example(record.paper.paper_id, value) for record, value in rows)
        papers += [record.paper for record, _ in rows]
    return Made(Labelled(splits, multi_label, label_names=tuple(names)), papers)


def categories(column: str, corpus: str, least: int) -> Made:
    """Return a multi-label task: the values of a column that `least` papers of the corpus have."""
    counts = Counter(value for record in records(corpus).values() for value in set(record.row.get(column) or ()))
    names = sorted(value for value, count in counts.items() if count >= least)

    def label(record: Record) -> Label | None:
        own = set(record.row.get(column) or ())
        row = tuple(int(name in own) for name in names)
        return row if any(row) else None

    return labelled(label, corpus, names=names, multi_label=True)


def citations() -> Made:
    """Return ln(1 + citations); a count of -1 is unknown."""
    columns = {"ml": "gs_citation", "synergy": "cited_by_count", "vis": "crossref_citations"}

    def label(record: Record) -> Label | None:
        count = record.row.get(columns[record.corpus])
        return None if count is None or count < 0 else math.log1p(count)

    return labelled(label, *columns)


def year() -> Made:
    """Return years of publication."""
    return labelled(lambda record: record.paper.year, "acl", "synergy", "vis")


# --- proximity --------------------------------------------------------------------------------------------------------

Relation = Callable[[str, Mapping[str, Record]], Related]


def proximity(name: str, relation: Relation, near: Relation) -> Made:
    """Return ranking with random negatives, none of them `near`, on the test parts, a group a corpus."""
    rows = [row for corpus in LINKED for papers in (of_part(corpus, "test"),)
            for row in pairs.qrels(name, relation(corpus, papers), list(papers), corpus, near=near(corpus, papers))]  # fmt: skip
    return judged(rows, *LINKED)


def judged(rows: Sequence[Qrel], *corpora: str) -> Made:
    """Return judged pairs of papers of corpora."""
    return Made(Judged(tuple(rows)), texts((key for row in rows for key in row[:2]), *corpora))


def triplets(name: str, of: Callable[[str, Part], Iterable[Triple]]) -> Made:
    """Return triplets of train and dev, corpus by corpus."""
    rows = {split: [row for corpus in LINKED for row in of(corpus, part)]
            for split, part in TRAINING.items()}  # fmt: skip
    return _triples(rows, texts((key for of_one in rows.values() for row in of_one for key in row), *LINKED))


def _triples(
    rows: Mapping[str, Sequence[Triple]], papers: Sequence[Paper], queries: Mapping[str, str] | None = None
) -> Made:
    return Made(Triples.of({split: partial(iter, of) for split, of in rows.items()}), papers, queries or {})


def cite_triplets(corpus: str, part: Part) -> Iterable[Triple]:
    """Return a triplet for each citation; hard negatives are cited by a cited paper; none is linked to the paper itself."""
    papers = of_part(corpus, part)
    return pairs.triples("open/cite", pairs.cited(corpus, papers), list(papers), pairs.cited_by_cited(corpus, part), None,
                         pairs.linked(corpus, papers))  # fmt: skip


def author_triplets(corpus: str, part: Part) -> Iterable[Triple]:
    """Return triplets of each author: one of the papers, the others, and papers that share no author name with it."""
    papers = of_part(corpus, part)
    near, pool = pairs.coauthored(corpus, papers), list(papers)
    for author, (query, *others) in pairs.bylines(corpus, papers).items():
        chosen = pairs.drawn("open/same_author", author, others, pairs.TRIPLETS, ())
        others = pairs.drawn("open/same_author", f"{author}\n{query}", pool, len(chosen), {*near[query], query})
        yield from (Triple(query, *pair) for pair in zip(chosen, others, strict=False))


def coupling_triplets(corpus: str, part: Part) -> Iterable[Triple]:
    """Return a triplet for each pair of coupled papers, the query the one that comes first."""
    papers = of_part(corpus, part)
    place = {key: i for i, key in enumerate(papers)}
    related = pairs.coupled(corpus, papers)
    once = {key: [other for other in others if place[other] > place[key]] for key, others in related.items()}
    pool, near = list(papers), pairs.linked(corpus, papers)
    for query, others in once.items():
        negatives = pairs.drawn("open/coupling", query, pool, len(others), {*related[query], *near.get(query, ())})
        yield from (Triple(query, *pair) for pair in zip(others, negatives, strict=False))


# --- labels as texts ---------------------------------------------------------------------------------------------------

CATEGORIES = {
    "cs.AI": "Artificial Intelligence", "cs.CE": "Computational Engineering, Finance, and Science",
    "cs.CL": "Computation and Language", "cs.CR": "Cryptography and Security",
    "cs.CV": "Computer Vision and Pattern Recognition", "cs.CY": "Computers and Society",
    "cs.DC": "Distributed, Parallel, and Cluster Computing", "cs.ET": "Emerging Technologies", "cs.GR": "Graphics",
    "cs.GT": "Computer Science and Game Theory", "cs.HC": "Human-Computer Interaction", "cs.IR": "Information Retrieval",
    "cs.IT": "Information Theory", "cs.LG": "Machine Learning", "cs.MA": "Multiagent Systems", "cs.MM": "Multimedia",
    "cs.RO": "Robotics", "cs.SD": "Sound", "cs.SE": "Software Engineering", "cs.SY": "Systems and Control",
    "eess.AS": "Audio and Speech Processing", "eess.IV": "Image and Video Processing", "eess.SP": "Signal Processing",
    "eess.SY": "Systems and Control", "math.OC": "Optimization and Control", "stat.ML": "Machine Learning",
}  # fmt: skip
"""arXiv's names of its categories of 100 papers or more; two pairs are one category under two codes."""
Labels = Callable[[Record], Iterable[str]]


def descriptors(record: Record) -> Iterable[str]:
    """Return a paper's major MeSH descriptors."""
    return dict.fromkeys(record.row.get("mesh_major") or ())


def subjects(record: Record) -> Iterable[str]:
    """Return the names of a paper's arXiv categories."""
    return dict.fromkeys(CATEGORIES[code] for code in record.row["categories"] if code in CATEGORIES)


def label_triplets(name: str, corpus: str, labels: Labels) -> Made:
    """Return triplets of papers: one of its labels, and a label it has not; labels are papers of a title alone (SciMult 3.4).

    Hard negatives are labels of papers that it cites, is cited by or shares an author with, where the corpus knows.
    """
    rows: dict[str, list[Triple]] = {}
    texts_of: dict[str, Paper] = {}
    for split, part in TRAINING.items():
        papers = of_part(corpus, part)
        own = {key: [f"label:{label}" for label in labels(record)] for key, record in papers.items()}
        near = [pairs.linked(corpus, papers), pairs.coauthored(corpus, papers)] if corpus in LINKED else []
        hard = {key: {label for of in near for other in of.get(key, ()) for label in own[other]} for key in own}
        pool = sorted({label for ones in own.values() for label in ones})
        texts_of |= {label: Paper(label, label.removeprefix("label:"), "") for label in pool}
        rows[split] = [*pairs.triples(name, {key: ones for key, ones in own.items() if ones}, pool, hard)]
    queries = texts(dict.fromkeys(row.query for of in rows.values() for row in of), corpus)
    return _triples(rows, [*queries, *texts_of.values()])


# --- search -----------------------------------------------------------------------------------------------------------

ASKED = ("vis", "cacm", "cisi")


def searches(part: Part) -> list[Searches]:
    """Return the searches of a part: phrases, questions."""
    return [pairs.phrases(part), *(pairs.questions(corpus, part) for corpus in ("cacm", "cisi"))]


def search_triplets() -> Made:
    """Return triplets of queries: a relevant paper and a random one of the same collection."""
    rows: dict[str, list[Triple]] = {}
    queries: dict[str, str] = {}
    for split, part in TRAINING.items():
        rows[split] = []
        for one in searches(part):
            pool = list(of_part(one.corpus, part))
            made = [*pairs.triples("open/search", one.relevant, pool)]
            rows[split] += made
            queries |= {row.query: one.texts[row.query] for row in made}
    return _triples(rows, texts((key for of in rows.values() for row in of for key in row[1:]), *ASKED), queries)


def search() -> Made:
    """Return retrieval on the test part: the phrases that training has too, and the questions of CACM and CISI."""
    _, *questions = searches("test")
    return pooled([tested_phrases(known=True), *questions], {corpus: of_part(corpus, "test") for corpus in ASKED})


def tested_phrases(known: bool) -> Searches:
    """Return the phrases of the test part that papers of train or dev bear, or those that none of them does."""
    trained = pairs.phrases("train").texts.keys() | pairs.phrases("dev").texts.keys()
    asked = pairs.phrases("test")
    return asked._replace(relevant={key: of for key, of in asked.relevant.items() if (key in trained) == known})


def pooled(asked: Sequence[Searches], pools: Mapping[str, Mapping[str, Record]]) -> Made:
    """Return retrieval of all that searches ask, from one pool."""
    relevant = {key: grades for one in asked for key, grades in one.relevant.items()}
    pool = [record.paper for papers in pools.values() for record in papers.values()]
    queries = {key: one.texts[key] for one in asked for key in one.relevant}
    return Made(Pooled(relevant, tuple(paper.paper_id for paper in pool), text_query=True), pool, queries)
