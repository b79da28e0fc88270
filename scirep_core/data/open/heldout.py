"""The out-of-train tasks of the open literature, from collections that train nothing, or from test parts alone.

Beside the suite (`tasks.ROWS`) stand the other papers' questions on the same papers: four collections for textual neighbours, link
prediction and labels for SciMult.

A collection without a split of its own has one by hash: what is not test (`corpora.part_of`) fits the probe.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable

from scirep_core.data.open import folder, pairs
from scirep_core.data.open.corpora import Record, faceted, links, of_part, part_of, records, sample, texts, tsv
from scirep_core.data.open.pairs import drawn
from scirep_core.data.open.training import Labels, Made, judged, labelled, pooled, tested_phrases
from scirep_core.data.task import (
    Collection,
    Example,
    Judged,
    Label,
    Labelled,
    LabelSpace,
    LabelText,
    Pooled,
    Qrel,
    Reviewers,
    Triples,
)  # fmt: skip
from scirep_core.kit.records import read_jsonl

TRACKS = ("ACL2020", "EMNLP2021")
"""Conferences whose track labels are clean (of those of 2018 to 2020 EMNLP's are not)."""
SAME_TRACK = {
    "Dialogue and Interactive Systems": "Dialog and Interactive Systems",
    "Machine Translation": "Machine Translation and Multilinguality",
    "Computational Social Science and Social Media": "Computational Social Science and Cultural Analytics",
}  # fmt: skip
"""ACL's name of a track -> EMNLP's."""
NO_TOPIC = ("Multidisciplinary and Area Chair COI", "Theme")
LEAST = 40
"""Papers of a track, at least."""
LAST_CONFERENCE = 2020
"""From 2021 on all of VIS is one conference."""
EXPERTISE = 4
"""Grades of a point of expertise: reviewers rate by quarters, from 1."""


# --- classification, regression ---------------------------------------------------------------------------------------


def by_hash(corpus: str, label: Callable[[Record], Label | None], names: tuple[str, ...]) -> Made:
    """Return a collection that is held out whole, split by hash."""
    splits: dict[str, list[Example]] = {"train": [], "test": []}
    for key, record in records(corpus).items():
        if (value := label(record)) is not None:
            splits["test" if part_of(key, corpus) == "test" else "train"].append(Example(key, value))
    papers = [record.paper for record in records(corpus).values()]
    rows = {split: tuple(examples) for split, examples in splits.items()}
    return Made(Labelled(rows, label_names=names), papers)


def biomimicry() -> Made:
    """Return whether a paper is on biomimicry."""
    return by_hash("biomimicry", lambda record: int(record.row["is_biomimicry"]), ("no", "yes"))


def pubmedqa() -> Made:
    """Return the answer to the question that a paper's title is."""
    names = ("maybe", "no", "yes")
    return by_hash("pubmedqa", lambda record: names.index(record.row["decision"]), names)


def tracks(record: Record) -> tuple[str, ...]:
    """Return the track a paper was submitted to, if it is one of `LEAST` papers or more."""
    name = _track(record)
    return (name,) if name in _tracks() else ()


@functools.cache
def _tracks() -> tuple[str, ...]:
    counts = Counter(name for record in records("acl").values() if (name := _track(record)))
    return tuple(sorted(name for name, count in counts.items() if count >= LEAST))


def _track(record: Record) -> str | None:
    name = record.row.get("area") if record.row.get("area_source") in TRACKS else None
    return None if name in NO_TOPIC else SAME_TRACK.get(str(name), name)


def acl_tracks() -> Made:
    """Return the track a paper was submitted to."""
    place = {name: i for i, name in enumerate(_tracks())}
    return labelled(lambda record: place.get(_track(record) or ""), "acl", names=_tracks())


def vis_conference() -> Made:
    """Return at which conference of VIS a paper was shown, up to `LAST_CONFERENCE`."""
    names = ("InfoVis", "SciVis", "VAST", "Vis", "journal")

    def label(record: Record) -> Label | None:
        name = record.row.get("conference")
        return None if name is None or record.row["year"] > LAST_CONFERENCE else names.index(name)

    return labelled(label, "vis", names=names)


def vis_downloads() -> Made:
    """Return ln(1 + full-text views)."""

    def label(record: Record) -> Label | None:
        count = record.row.get("downloads")
        return None if count is None else math.log1p(count)

    return labelled(label, "vis")


def of_sample(name: str) -> Made:
    """Return a real sample as it is."""
    task = sample(name)
    return Made(task.payload, [*task.texts()], task.queries)


# --- proximity --------------------------------------------------------------------------------------------------------


def csfcube() -> Made:
    """Return CSFCube with one vector a paper: a group a facet, graded candidates."""
    collection = faceted()
    rows = tuple(
        Qrel(query.paper_id, one.candidate, one.rating, query.facet)
        for query, judged in collection.judgements.items() for one in judged if one.candidate != query.paper_id
    )  # fmt: skip
    wanted = {key for row in rows for key in row[:2]}
    return Made(Judged(rows), [paper for key, paper in collection.papers.items() if key in wanted])


def reviewer_match() -> Made:
    """Return submissions with the expertise a reviewer stated, in quarters from 1, and each reviewer's own papers."""
    source, there = folder("reviewer_match"), records("reviewer_match")
    profiles = {row["participant"]: tuple(key for key in row["papers"] if key in there)
                for _, row in read_jsonl(source / "profiles.jsonl.gz")}  # fmt: skip
    rows = tuple(Qrel(paper, reviewer, round((float(expertise) - 1) * EXPERTISE))
                 for reviewer, paper, expertise in tsv(source / "ratings.tsv.gz")
                 if paper in there and profiles.get(reviewer))  # fmt: skip
    profiles = {reviewer: papers for reviewer, papers in profiles.items() if papers}
    wanted = [key for papers in profiles.values() for key in papers]
    return Made(Reviewers(rows, rows, profiles), texts((*wanted, *(row.query_id for row in rows)), "reviewer_match"))


def specter() -> Made:
    """Return SPECTER's citation triplets: the cited paper against the negative and random papers, `NEGATIVES` together."""
    task = sample("cite_prediction")
    assert isinstance(task.payload, Triples)
    rows = []
    for query, positive, negative in task.payload.rows("train"):
        others = drawn("open/specter", query, list(task.papers), pairs.NEGATIVES - 1, (positive, negative))
        rows += [Qrel(query, positive, 1), Qrel(query, negative, 0), *(Qrel(query, key, 0) for key in others)]
    return Made(Judged(tuple(rows)), [*task.texts()])


def cacm_links() -> Made:
    """Return CACM's citation links, which have no direction, in its test part, against random negatives."""
    papers = of_part("cacm", "test")
    related = pairs.joined(links(folder("classic_ir") / "cacm_links.tsv.gz", papers))
    return judged([*pairs.qrels("open/cacm_links", related, list(papers))], "cacm")


def synergy_reviews() -> Made:
    """Return SYNERGY's citations in the test part, as in `open/cite`, against papers that the same review's search gave."""
    papers = of_part("synergy", "test")
    review = {key: record.row["reviews"][0] for key, record in papers.items()}
    rows = pairs.qrels("open/synergy_reviews", pairs.cited("synergy", papers), list(papers), strata=review,
                       near=pairs.linked("synergy", papers))  # fmt: skip
    return judged([*rows], "synergy")


# --- search -----------------------------------------------------------------------------------------------------------


def scifact() -> Made:
    """Return SciFact's dev claims against all its abstracts, most of which no claim of these judges."""
    return pooled([pairs.claims()], {"scifact": records("scifact")})


def cranfield() -> Made:
    """Return Cranfield's questions, graded."""
    return pooled([pairs.questions("cranfield", None)], {"cranfield": records("cranfield")})


def phrases() -> Made:
    """Return VIS phrases that no paper of train or dev bears."""
    return pooled([tested_phrases(known=False)], {"vis": of_part("vis", "test")})


def reviews() -> Made:
    """Return the titles of systematic reviews, and which of the papers their searches gave were included.

    A review of which the test part has no included paper is left out: no ranking of the others is better than another.
    """
    source, papers = folder("synergy_openalex"), of_part("synergy", "test")
    queries = {f"review:{row['review']}": row["title"] for _, row in read_jsonl(source / "reviews.jsonl.gz")}
    rows = tuple(Qrel(f"review:{review}", work, int(included))
                 for review, work, included in tsv(source / "review_labels.tsv.gz") if work in papers)  # fmt: skip
    asked = {row.query_id for row in rows if row.score}
    rows = tuple(row for row in rows if row.query_id in asked)
    return Made(Judged(rows, True), texts((row.cand_id for row in rows), "synergy"),
                {key: text for key, text in queries.items() if key in asked})  # fmt: skip


# --- beside the suite: the other papers' questions ----------------------------------------------------------------------


def collection(*corpora_: str) -> Made:
    """Return whole corpora for short-query retrieval (textual neighbours 4): each paper is asked for by its own title.

    Train parts are among them, so this is for encoders that were not trained on the open literature.
    """
    papers = [record.paper for corpus in corpora_ for record in records(corpus).values()]
    return Made(Collection(tuple(paper.paper_id for paper in papers)), papers)


def link_prediction() -> Made:
    """Return citations as retrieval from the test parts of three corpora (SciMult 4.3); the query's own paper is taken out."""
    pools = {corpus: of_part(corpus, "test") for corpus in pairs.LINKED}
    relevant = {query: dict.fromkeys(ones, 1) for corpus, papers in pools.items()
                for query, ones in pairs.cited(corpus, papers).items()}  # fmt: skip
    papers = [record.paper for of in pools.values() for record in of.values()]
    return Made(Pooled(relevant, tuple(paper.paper_id for paper in papers), keep_self=False), papers)


def label_texts(corpus: str, labels: Labels, prefix: str = "label") -> Made:
    """Return a corpus's test part with all labels of the corpus as texts to be ranked (SciMult 4.2)."""
    gold = {
        key: tuple(f"{prefix}:{name}" for name in labels(record)) for key, record in of_part(corpus, "test").items()
    }
    gold = {key: own for key, own in gold.items() if own}
    names = sorted({name for record in records(corpus).values() for name in labels(record)})
    found = {f"{prefix}:{name}": LabelText(f"{prefix}:{name}", name) for name in names}
    return Made(LabelSpace(gold, found), texts(gold, corpus))
