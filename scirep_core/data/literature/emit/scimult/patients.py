"""Patients: summaries of cases, similar patients and articles on their disease (SciMult 4.3, Tables 5 and 6).

    task              asked for                         relevant                               ceiling
    scimult/ppr       similar patients (zero-shot)      patients with the same problem         recall@20/50/100 100: at most
                                                                                               20 patients a problem
    scimult/pmc_ppr   similar patients (supervised)     same problem 2, same topic 1           MRR, P@10, nDCG@10, R@1k 100
    scimult/pmc_par   articles                          papers on the problem 2, the topic 1   100; R@1k while a topic has
                                                                                               up to 1,000 papers in the pool

A patient has a problem of medicine, a sign (every other one of its topic, else of any), an obstacle, a course, sex and age;
the summary is spelled from these, similarity goes by the problem alone, and nobody errs: all three are deterministic.
Problems take turns, so that each has equally many patients. Beyond 20 patients a problem the zero-shot pool grows no more
(36 problems, 720 patients), for its recall@20 could not reach 100; the supervised pool goes on to 10,000. Queries are
patients outside the pools. Articles are medical papers first, then others as far as `PAR_POOL` goes, so that recall@1000
is no gift. Where a problem and its topic have fewer than 10 papers (below about 3,000 papers), P@10 of pmc_par stays
below 100: there are not ten to find.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scirep_core.data.literature.emit.files import scaled, texts, write_lines, write_oracle
from scirep_core.data.literature.emit.scimult.beir import (
    documents,
    topical,
    topical_grades,
    write_qrels,
    write_topical_oracle,
)
from scirep_core.data.literature.emit.scimult.labels import of_fields
from scirep_core.data.literature.latents import Ints, stream
from scirep_core.data.literature.lexicon import FIELDS, Draw, lexicon, spell
from scirep_core.data.literature.model import Literature
from scirep_core.data.literature.text import any_of, capital, draws

PER_PROBLEM = 20
PAR_POOL = 20_000


class Patient(NamedTuple):
    """One patient: id, problem (position in the lexicon), title and summary."""

    patient_id: str
    problem: int
    title: str
    summary: str


def write(root: Path, literature: Literature) -> None:
    """Write the zero-shot and the supervised files. Nothing is written for a literature without medicine."""
    if not of_fields(literature, "Medicine").any():
        return
    pool = draw_patients(literature, scaled(len(literature), 10_000, 40, 1_200), "patients")
    queries = draw_patients(literature, scaled(len(literature), 500, 3, 72), "patient queries")
    few = pool[: PER_PROBLEM * len(medical_problems())]
    base = root / "scimult" / "link_prediction_retrieval"
    same = {problem: [p.patient_id for p in few if p.problem == problem] for problem in {q.problem for q in queries}}
    write_lines(base / "PMCPatientsPPR_patients_test.json", _cases(few, "patient"))
    write_lines(
        base / "PMCPatientsPPR_queries_test.json",
        ({"patient": same[q.problem], "title": q.title, "abstract": q.summary} for q in queries),
    )
    _write_oracle(root, "scimult/ppr", few, [f"query-{k}" for k in range(len(queries))], queries)
    write_supervised(root, literature, pool, queries)


def write_supervised(root: Path, literature: Literature, pool: list[Patient], queries: list[Patient]) -> None:
    """Write PAR and PPR in BEIR form and as the bundle's JSON."""
    bundle = root / "scimult" / "pmc_patients"
    base = bundle / "PMCPatients"
    names = [query.patient_id for query in queries]
    problems = np.array([query.problem for query in queries])
    write_lines(base / "queries" / "test_queries.jsonl", ({"_id": q.patient_id, "text": q.summary} for q in queries))
    for part in ("PAR", "PPR"):
        write_lines(bundle / f"PMCPatients{part}_queries_test.json", _cases(queries, "query"))
    # similar patients
    corpus = ({"_id": p.patient_id, "title": p.title, "text": p.summary} for p in pool)
    write_lines(base / "PPR" / "PPR_corpus.jsonl", corpus)
    write_lines(bundle / "PMCPatientsPPR_patients_test.json", _cases(pool, "patient"))
    write_qrels(base / "PPR" / "PPR_test_qrels.tsv", {q.patient_id: _similar(q, pool) for q in queries})
    _write_oracle(root, "scimult/pmc_ppr", pool, names, queries)
    # articles
    articles = _articles(literature)
    write_lines(base / "PAR" / "PAR_corpus.jsonl", documents(literature, articles))
    write_lines(bundle / "PMCPatientsPAR_articles_test.json", texts(literature, articles, "article"))
    grades = topical_grades(literature, articles, problems)
    judged = {name: row for name, row in zip(names, grades, strict=True) if row}
    write_qrels(base / "PAR" / "PAR_test_qrels.tsv", judged)
    write_topical_oracle(root, "scimult/pmc_par", literature, articles, names, problems)


@functools.cache
def medical_problems() -> tuple[int, ...]:
    """Return the positions of the problems of medicine."""
    words, field = lexicon(), FIELDS.index("Medicine")
    return tuple(k for k, p in enumerate(words.problems) if words.topics[p.topic].field == field)


def draw_patients(literature: Literature, count: int, purpose: str) -> list[Patient]:
    """Draw patients; problems take turns in a fresh order each round. Ids `<article>-<case>`, as published."""
    rng, problems = stream(literature.seed, purpose), medical_problems()
    draw = draws(stream(literature.seed, f"{purpose} texts"))
    rounds = [rng.permutation(problems) for _ in range(-(-count // len(problems)))]
    return [
        _patient(f"P{7 * (purpose == 'patients') + 1}{number:06d}-1", problem, draw)
        for number, problem in enumerate(np.concatenate(rounds)[:count].tolist())
    ]


def _patient(patient_id: str, number: int, draw: Draw) -> Patient:
    words = lexicon()
    problem, phrases = words.problems[number], words.phrases
    age = 42 + draw() % 38  # an age at which every problem of the lexicon occurs
    # every other patient complains of something else than what the trouble is
    complaint = words.problems[any_of(medical_problems(), draw)] if draw() % 2 else problem
    sign, obstacle = (
        any_of(words.topics[complaint.topic].patient, draw),
        words.obstacles[any_of(words.usual["obstacles"][1], draw)],
    )
    course, sex = any_of(phrases["course"], draw), any_of(("man", "woman"), draw)
    fill = {
        "sex": lambda: sex,
        "age": lambda: str(age),
        "signs": lambda: spell(sign, draw, {}),
        "problem": lambda: spell(any_of(problem.what, draw), draw, {}),
        "obstacle_clause": lambda: spell(any_of(obstacle[1], draw), draw, {}),
        "course": lambda: spell(any_of(course, draw), draw, {}),
    }
    title, summary = (spell(any_of(phrases[kind], draw), draw, fill) for kind in ("patient_title", "patient"))
    return Patient(patient_id, number, capital(title), capital(summary))


def _cases(patients: list[Patient], key: str) -> Iterator[dict[str, Any]]:
    for patient in patients:
        yield {key: patient.patient_id, "title": patient.title, "abstract": patient.summary}


def _similar(query: Patient, pool: list[Patient]) -> dict[str, int]:
    topic_of = [p.topic for p in lexicon().problems]
    grades = {
        p.patient_id: (topic_of[p.problem] == topic_of[query.problem]) + (p.problem == query.problem) for p in pool
    }
    return {key: grade for key, grade in grades.items() if grade}


def _articles(literature: Literature) -> Ints:
    rng, medical = stream(literature.seed, "articles"), of_fields(literature, "Medicine")
    order = np.concatenate([rng.permutation(np.flatnonzero(kind)) for kind in (medical, ~medical)])
    own = min(int(medical.sum()), PAR_POOL // 2)
    rest = order[int(medical.sum()) :][: PAR_POOL - own]
    return np.sort(np.concatenate([order[:own], rest]))


def _write_oracle(root: Path, task: str, pool: list[Patient], names: list[str], queries: list[Patient]) -> None:
    """Write vectors with one dimension a problem and one a topic, as for articles."""
    problem, asked = (np.array([p.problem for p in group]) for group in ((*pool, *queries), queries))
    write_oracle(root, task, [p.patient_id for p in pool] + names, topical(problem, asked))
