"""Patients: summaries of cases, similar patients and articles on their disease (SciMult 4.3, Tables 5 and 6).

    task              asked for                         relevant
    scimult/ppr       similar patients (zero-shot)      patients with the same problem
    scimult/pmc_ppr   similar patients (supervised)     same problem 2, same topic 1
    scimult/pmc_par   articles                          papers on the problem 2, the topic 1

A patient has a problem of medicine, a sign (every other one of its topic, else of any), an obstacle, a course, sex and age;
the summary is spelled from these. Problems take turns, so that each has equally many patients. Beyond 20 patients a problem
the zero-shot pool grows no more (36 problems, 720 patients), for its recall@20 could not reach 100; the supervised pool goes
on to 10,000. Queries are patients outside the pools. Articles are medical papers first, then others as far as `PAR_POOL`
goes, so that recall@1000 is no gift. Where a problem and its topic have fewer than 10 papers (below about 3,000 papers),
P@10 of pmc_par stays below 100: there are not ten to find.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scirep_core.data.literature.emit.files import scaled, texts, write_lines
from scirep_core.data.literature.emit.scimult.beir import documents, problems_of, topical, write_qrels
from scirep_core.data.literature.emit.scimult.labels import of_fields
from scirep_core.data.literature.latents import Ints, stream
from scirep_core.data.literature.lexicon import Draw, lexicon, spell
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
    """Write the zero-shot files, and the supervised ones in BEIR form and as the bundle's JSON. Nothing without medicine."""
    if not of_fields(literature, "Medicine").any():
        return
    pool = draw_patients(literature, scaled(len(literature), 10_000, 40, 1_200), "patients")
    queries = draw_patients(literature, scaled(len(literature), 500, 3, 72), "patient queries")
    names, asked = [query.patient_id for query in queries], np.array([query.problem for query in queries])

    def similar(task: str, among: list[Patient], names: list[str]) -> list[dict[str, int]]:
        ids, problem = [patient.patient_id for patient in among], np.array([patient.problem for patient in among])
        return topical(root, task, ids, problem, names, asked)

    few = pool[: PER_PROBLEM * len(problems_of("Medicine"))]
    same = similar("scimult/ppr", few, [f"query-{k}" for k in range(len(queries))])
    base = root / "scimult" / "link_prediction_retrieval"
    write_lines(base / "PMCPatientsPPR_patients_test.json", _cases(few, "patient"))
    write_lines(
        base / "PMCPatientsPPR_queries_test.json",
        ({"patient": [name for name, grade in found.items() if grade == 2], "title": q.title, "abstract": q.summary}
         for q, found in zip(queries, same, strict=True)),
    )  # fmt: skip
    bundle = root / "scimult" / "pmc_patients"
    base = bundle / "PMCPatients"
    write_lines(base / "queries" / "test_queries.jsonl", ({"_id": q.patient_id, "text": q.summary} for q in queries))
    for part in ("PAR", "PPR"):
        write_lines(bundle / f"PMCPatients{part}_queries_test.json", _cases(queries, "query"))
    corpus = ({"_id": p.patient_id, "title": p.title, "text": p.summary} for p in pool)
    write_lines(base / "PPR" / "PPR_corpus.jsonl", corpus)
    write_lines(bundle / "PMCPatientsPPR_patients_test.json", _cases(pool, "patient"))
    grades = similar("scimult/pmc_ppr", pool, names)
    write_qrels(base / "PPR" / "PPR_test_qrels.tsv", dict(zip(names, grades, strict=True)))
    articles = _articles(literature)
    write_lines(base / "PAR" / "PAR_corpus.jsonl", documents(literature, articles))
    write_lines(bundle / "PMCPatientsPAR_articles_test.json", texts(literature, articles, "article"))
    problem = literature.latents.problem[articles]
    grades = topical(root, "scimult/pmc_par", literature.ids(articles), problem, names, asked)
    write_qrels(base / "PAR" / "PAR_test_qrels.tsv", dict(zip(names, grades, strict=True)))


def draw_patients(literature: Literature, count: int, purpose: str) -> list[Patient]:
    """Draw patients; problems take turns in a fresh order each round. Ids `<article>-<case>`, as published."""
    rng, problems = stream(literature.seed, purpose), problems_of("Medicine")
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
    complaint = words.problems[any_of(problems_of("Medicine"), draw)] if draw() % 2 else problem
    sign = any_of(words.topics[complaint.topic].patient, draw)
    obstacle = words.obstacles[any_of(words.usual["obstacles"][1], draw)]
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


def _articles(literature: Literature) -> Ints:
    rng, medical = stream(literature.seed, "articles"), of_fields(literature, "Medicine")
    own, rest = (rng.permutation(np.flatnonzero(kind)) for kind in (medical, ~medical))
    own = own[: PAR_POOL // 2]
    return np.sort(np.concatenate([own, rest[: PAR_POOL - len(own)]]))
