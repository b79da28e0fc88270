"""The recommendation user study (Kanakia et al. 2019), SciMult's Recommendation task (section 4.4, Table 7).

Authors rated papers recommended to their own papers from 1 to 5. One row a rating, tab-separated:

    PaperId  RecommendedPaperId  Method  StudyScore  ...  Similarity  ...

Rows with an empty score were shown but not rated: they are skipped and counted. Some pairs stand there twice; both rows
are kept in file order, the scorer's protocol decides which counts. A few scores are half points; trec_eval needs whole
grades, and how SciMult rounded is not said: we round half up (2.5 -> 3), grade = floor(score + 1/2), and count them.
`Similarity` is the "Kanakia et al." row of Table 7: read it with `rows`. SciMult's own file is accepted too: one JSON
line a paper with `score` {id: grade}, empty for what is only a candidate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scirep_core.data.inventory import TaskSpec
from scirep_core.data.rows import Line, to_id
from scirep_core.data.tables import Found, counted, first_of, papers_in, stream
from scirep_core.data.task import Judged, Qrel
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import read_csv

STUDY = "user_study_results.tsv"
PAPERS = "papers.jsonl"
RELEASED = "link_prediction_reranking/Recommendation_papers_test.json"
BEST = 5


class StudyRow(NamedTuple):
    """One recommendation of the study: score 1-5 or None (not rated), Kanakia's similarity or None (not computed)."""

    query_id: str
    cand_id: str
    method: str
    score: float | None
    similarity: float | None


def read(spec: TaskSpec, root: Path) -> Found:
    """Read the user study, or SciMult's form of it where the study is not there.

    Texts come from `papers.jsonl` beside the study where it exists (the study itself names ids only). Raises DataError
    for a malformed row, a score outside 1-5, or an id that `papers.jsonl` lacks.
    """
    folder = root / spec.manifest
    path = first_of(folder / STUDY, folder / RELEASED, root / "scimult" / RELEASED)
    found = _released(path) if path.name != STUDY else _study(path)
    return found._replace(similarity="dot")


def rows(path: Path) -> Iterator[tuple[int, StudyRow]]:
    """Yield (line, row) of the study, rated or not, streamed."""
    columns = ("PaperId", "RecommendedPaperId", "Method", "StudyScore", "Similarity")
    for line, row in read_csv(path, columns, "\t"):
        query, cand = to_id(row["PaperId"], path, line), to_id(row["RecommendedPaperId"], path, line)
        score = _number(row["StudyScore"], "StudyScore", path, line)
        if score is not None:
            _check(score, path, line)
        yield line, StudyRow(query, cand, row["Method"], score, _number(row["Similarity"], "Similarity", path, line))


def grade(score: float) -> int:
    """Return a whole grade, halves rounded up.

    >>> [grade(x) for x in (2, 2.5, 3.5)]
    [2, 3, 4]
    """
    return math.floor(score + 0.5)


def _study(path: Path) -> Found:
    judged: list[tuple[int, Qrel]] = []
    skipped = halves = 0
    for line, row in rows(path):
        if row.score is None:
            skipped += 1
            continue
        halves += row.score != grade(row.score)
        judged.append((line, Qrel(row.query_id, row.cand_id, grade(row.score))))
    if not judged:
        raise DataError(path, None, "no row is rated", "Fetch the file again")
    pairs = {(row.query_id, row.cand_id) for _, row in judged}
    notes = (
        counted(skipped, "rows without a score skipped"),
        counted(halves, "half-point scores rounded up"),
        counted(len(judged) - len(pairs), "rows repeat a pair; kept in file order"),
    )
    payload, texts = Judged(tuple(row for _, row in judged)), path.parent / PAPERS
    if not texts.is_file():
        return Found(payload, tuple, (path,), (*notes, "ids only: no texts"))
    there = {paper.paper_id for paper, _ in papers_in(texts, "paper_id", what="paper")}
    for line, rating in judged:
        for key in rating[:2]:
            if key not in there:
                raise DataError(path, line, f"paper {key} is not in {PAPERS}", "Add it, or take its rows out")
    return Found(payload, stream(texts, "paper_id"), (path, texts), notes)


def _released(path: Path) -> Found:
    there, judged, halves = set[str](), [], 0
    for paper, row in papers_in(path):
        there.add(paper.paper_id)
        scores = Line(row.value("score", dict), path, row.line)
        for cand in scores:
            score = scores.value(cand, (int, float))
            _check(score, path, row.line)
            halves += score != grade(score)
            judged.append((row, Qrel(paper.paper_id, to_id(cand, path, row.line), grade(score))))
    for row, rated in judged:
        if rated.cand_id not in there:
            raise row.wrong(f"candidate {rated.cand_id} of {rated.query_id} is no paper of this file")
    if not judged:
        raise DataError(path, None, "no paper has a score", "Fetch the file again")
    notes = (counted(halves, "half-point scores rounded up"),)
    return Found(Judged(tuple(row for _, row in judged)), stream(path), (path,), notes)


def _number(text: str, column: str, path: Path, line: int) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(path, line, f"{column} {text!r:.40} is no number")
    return value


def _check(score: float, path: Path, line: int) -> None:
    if not 1 <= score <= BEST:
        raise DataError(path, line, f"score {score} is outside 1-{BEST}")
