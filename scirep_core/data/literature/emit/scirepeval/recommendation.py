"""The recommendation user study: readers rate what two recommenders propose to them (SciMult 4.4, Table 7).

A score is 1 + what query and paper agree in (`AGREEING`), at most 5, and one point off with probability `noise`. File and
columns as Kanakia et al. (2019): methods Content, Behavior and Both; `Similarity` is the recommender's own; about
one row in four has no score, one in 250 stands there twice (then with another score, now and then), one in 600 has half a
point. Low scores are commoner than in the real study. `papers.jsonl` has the texts, which the real study lacks.

Oracle: one-hot blocks of the four latents, so that the inner product is the sum of the weights of those that agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scirep_core.data.literature.emit.files import one_hot, scaled, texts, write_lines, write_oracle, write_tabs
from scirep_core.data.literature.emit.scimult.labels import evaluation_papers
from scirep_core.data.literature.latents import Ints, stream
from scirep_core.data.literature.lexicon import Draw
from scirep_core.data.literature.links import Links, grouped
from scirep_core.data.literature.model import Literature
from scirep_core.data.literature.text import any_of_many, draws

COLUMNS = (
    "PaperId", "RecommendedPaperId", "Method", "StudyScore", "StudyRankByMethod", "StudyRankGlobal", "CooccurrenceCnt",
    "Similarity", "EmbSimilarity", "TfIdfSimilarity", "ComputedRankByMethod", "ComputedRankGlobal",
)  # fmt: skip
AGREEING = {"topic": 1, "problem": 2, "family": 1, "group": 1}
KINDS = ("problem", "topic", "family", "area", "group")
"""What the content recommender matches, one proposal after another."""
FEWEST, MOST = 12, 32  # proposals; those made twice count once


class Shown(NamedTuple):
    """A recommendation: papers, method, how often read together, similarity in 1/10,000, score in half points."""

    query: int
    cand: int
    method: str
    together: int
    similarity: int | None
    score: int | None


def write(root: Path, literature: Literature) -> None:
    """Write the study, the texts of its papers and the oracle."""
    suitable, wanted = literature.cited_by.counts() > 0, scaled(len(literature), 187, 5, 60)
    queries = evaluation_papers(literature, suitable, "recommendation", wanted)
    draw = draws(stream(literature.seed, "recommendation"))
    alike = [(values, grouped(values)) for values in (getattr(literature.latents, kind) for kind in KINDS)]
    shown = [row for i in queries.tolist() for row in _session(literature, i, draw, alike)]
    if not shown:
        return  # the first papers of a literature are not cited yet
    folder = root / "recommendation"
    write_tabs(folder / "user_study_results.tsv", itertools.chain([COLUMNS], _lines(literature, shown)))
    papers = np.unique([i for row in shown for i in (row.query, row.cand)])
    write_lines(folder / "papers.jsonl", texts(literature, papers))
    blocks = [one_hot(getattr(literature.latents, name)[papers], weight**0.5) for name, weight in AGREEING.items()]
    write_oracle(root, "scimult/recommendation", literature.ids(papers), np.concatenate(blocks, axis=1))


def _session(literature: Literature, query: int, draw: Draw, alike: list[tuple[Ints, Links]]) -> Iterator[Shown]:
    noise, citing = round(literature.dials.noise * 65_536), literature.cited_by.of(query)
    proposed = dict[int, str]()
    for k in range(FEWEST + draw() % (MOST - FEWEST + 1)):
        if draw() % 12 < 5:  # read by the same people: cited by the same papers
            beside = literature.cites.of(int(citing[draw() % len(citing)]))
            cand, method = int(beside[draw() % len(beside)]), "Behavior"
        else:
            values, papers = alike[k % len(KINDS)]
            cand, method = any_of_many(papers.of(int(values[query])), draw), "Content"
        if cand != query:
            proposed[cand] = "Both" if proposed.get(cand, method) != method else method
    cands = np.array(list(proposed), dtype=np.int64)
    weighed = [(getattr(literature.latents, name), weight) for name, weight in AGREEING.items()]
    true = np.sum([weight * (value[cands] == value[query]) for value, weight in weighed], axis=0).tolist()
    for (cand, method), agreeing in zip(proposed.items(), true, strict=True):
        together = 0 if method == "Content" else 1 + draw() % 30
        # the recommender sees the agreement through a fog of its own
        similarity = None if draw() % 24 == 0 else min(9_999, 5_000 + 500 * agreeing + draw() % 2_500)
        for _ in range(2 if draw() % 256 == 0 else 1):
            score = 2 * min(5, 1 + agreeing)
            if draw() < noise:
                score = min(10, max(2, score + (2 if draw() % 2 else -2)))
            if draw() % 600 == 0 and noise:
                score = min(9, score + 1)
            yield Shown(query, cand, method, together, similarity, None if draw() % 25 < 6 else score)


def _lines(literature: Literature, shown: Sequence[Shown]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each row; ranks go by the readers' scores and by the recommender's similarity, equal ones share one."""
    for _, rows in itertools.groupby(shown, key=lambda row: row.query):
        session = list(rows)
        for row in session:
            groups = [other for other in session if other.method == row.method], session
            better = [sum((o.score or 0) > (row.score or 0) for o in group) for group in groups]
            closer = [sum((o.similarity or 0) > (row.similarity or 0) for o in group) for group in groups]
            content = row.method != "Behavior" and row.similarity is not None
            yield (
                literature.paper_id(row.query),
                literature.paper_id(row.cand),
                row.method,
                "" if row.score is None else f"{row.score / 2:g}",
                *("" if row.score is None else str(rank + 1) for rank in better),
                str(row.together),
                _part(row.similarity),
                _part(row.similarity) if content else "0",
                _part(row.similarity and row.similarity // 3) if content else "0",
                *(str(rank + 1) for rank in closer),
            )


def _part(number: int | None) -> str:
    return "" if number is None else f"0.{number:04d}"
