"""SciFact, NFCorpus and TREC-COVID in BEIR form, from papers of the life sciences (SciMult 4.4, Table 8).

    task                     planted                                         relevant
    scimult/scifact          claims spelled from a paper's finding, method   papers whose method, finding (aspect, condition)
                             and, in some wordings, problem; 25 % negated,   and, where named, problem are the claim's
                             20 % about a finding the paper does not have
    scimult/nfcorpus         questions on problems, one in three in lay      papers on the problem 2, on its topic 1
                             words
    scimult/trec_covid_beir  50 questions on problems of medicine, biology   the same; others of the area 0

Judgements follow from the latents and are complete: the oracle's nDCG@10 is 100. Evidence is SUPPORT where polarity agrees,
CONTRADICT where it differs or the claim is negated; claims without evidence keep the paper they were made for, as
`cited_doc_ids` and as a judgement, as in BEIR's form. `claims_{train,dev}.jsonl` are in SciFact's own layout.
Claims come from papers of the evaluation split; the documents are of all splits.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scirep_core.data.literature.emit.files import Floats, scaled, write_lines, write_oracle, write_tabs
from scirep_core.data.literature.emit.scimult.labels import evaluation_papers, of_fields
from scirep_core.data.literature.emit.split import sample
from scirep_core.data.literature.latents import NONE, Ints, stream
from scirep_core.data.literature.lexicon import FIELDS, Choice, Draw, Problem, Slot, Tree, lexicon, spell
from scirep_core.data.literature.model import Literature
from scirep_core.data.literature.text import any_of, capital, draws

CLAIM_FIELDS = ("Biology", "Medicine", "Psychology")
HEALTH_FIELDS = ("Biology", "Medicine", "Agricultural and Food sciences")
COVID_FIELDS = ("Medicine", "Biology")
Grades = Mapping[str, Mapping[str, int]]
Row = Mapping[str, Any]


class Asked(NamedTuple):
    """What a claim asserts: its text, what must agree, the polarity (NONE: no evidence), negated."""

    text: str
    key: tuple[int, ...]
    polarity: int
    negated: bool


def write(root: Path, literature: Literature) -> None:
    """Write the three sets. Nothing is written for a literature without medicine."""
    if (literature.latents.field == FIELDS.index("Medicine")).any():
        _scifact(root, literature)
        _nfcorpus(root, literature)
        _trec_covid(root, literature)


def write_set(
    folder: Path, documents: Iterable[Row], names: Sequence[str], texts: Iterable[str], grades: Sequence[Mapping[str, int]],
    parts: Mapping[str, slice], metadata: Iterable[Row] = itertools.repeat({}),
) -> None:  # fmt: skip
    """Write a set in BEIR form; `parts`: split -> which of the queries are in it."""
    write_lines(folder / "corpus.jsonl", documents)
    queries = zip(names, texts, metadata, strict=False)
    write_lines(
        folder / "queries.jsonl", ({"_id": name, "text": text, "metadata": more} for name, text, more in queries)
    )
    for split, rows in parts.items():
        write_qrels(folder / "qrels" / f"{split}.tsv", dict(zip(names[rows], grades[rows], strict=True)))


def write_qrels(path: Path, grades: Grades) -> None:
    """Write judgements as a tab file with BEIR's header."""
    rows = ((query, document, grade) for query, row in grades.items() for document, grade in row.items())
    write_tabs(path, itertools.chain([("query-id", "corpus-id", "score")], rows))


def documents(literature: Literature, papers: Ints) -> Iterator[dict[str, Any]]:
    """Yield papers as documents of a corpus."""
    for paper in literature.papers_at(papers):
        yield {"_id": paper.paper_id, "title": paper.title, "text": paper.abstract, "metadata": {"year": paper.year}}


def corpus_of(literature: Literature, fields: Sequence[str], purpose: str, count: int) -> Ints:
    """Return up to `count` papers of some fields, ascending."""
    return sample(literature, f"corpus of {purpose}", np.flatnonzero(of_fields(literature, *fields)), count)


def _scifact(root: Path, literature: Literature) -> None:
    corpus = corpus_of(literature, CLAIM_FIELDS, "scifact", 5_183)
    inside = np.zeros(len(literature), dtype=np.bool_)
    inside[corpus] = True
    wanted = scaled(len(literature), 1_109, 5, 120)
    sources = evaluation_papers(literature, inside, "scifact", wanted)
    if not len(sources):
        return
    rng = stream(literature.seed, "claims")
    draw = draws(rng)
    claims = [_claim(literature, int(sources[k % len(sources)]), draw) for k in range(wanted)]
    claims = list({claim.text: claim for claim in claims}.values())
    found, names = _agreeing(literature, corpus, claims), numbers_outside(literature, corpus, len(claims))
    grades = [{literature.paper_id(i): 1 for i in papers} for papers in found]
    folder, train = root / "beir" / "scifact", len(claims) * 809 // 1_109
    parts = {"train": slice(train), "test": slice(train, None)}
    write_set(folder, documents(literature, corpus), names, [claim.text for claim in claims], grades, parts)
    made = zip(names, claims, found, strict=True)
    rows = [_original(literature, int(name), claim, papers) for name, claim, papers in made]
    write_lines(folder / "claims_train.jsonl", rows[:train])
    write_lines(folder / "claims_dev.jsonl", rows[train:])
    answers: Floats = np.zeros((len(corpus), len(claims)), dtype=np.float32)
    for number, papers in enumerate(found):
        answers[np.searchsorted(corpus, papers), number] = 1
    vectors = np.concatenate([answers, np.eye(len(claims), dtype=np.float32)])
    write_oracle(root, "scimult/scifact", literature.ids(corpus) + names, vectors)


@functools.cache
def _slots(tree: Tree) -> frozenset[str]:
    names = {part.name for part in tree if isinstance(part, Slot)}
    return frozenset(names.union(*(_slots(o) for part in tree if isinstance(part, Choice) for o in part.options)))


def _claim(literature: Literature, i: int, draw: Draw) -> Asked:
    """Spell one claim from paper i: supported, negated, or about a finding that it does not have."""
    latents, kind = literature.latents, draw() % 20
    templates = lexicon().phrases["claim"]["refuted" if kind < 5 else "supported"]
    fill = dict(literature.writer.fill(i, draw))
    second = draw() % 2 and latents.second_method[i] != NONE
    if second:
        fill["method"] = fill["second"]
    problem, method = int(latents.problem[i]), int((latents.second_method if second else latents.method)[i])
    prefix = "second_" if draw() % 3 == 0 and latents.second_aspect[i] != NONE else ""
    if prefix:
        fill["finding"] = fill["finding2"]
    aspect, condition, polarity = (
        int(getattr(latents, prefix + name)[i]) for name in ("aspect", "condition", "polarity")
    )
    template = any_of(templates, draw)
    if kind >= 16:  # no evidence: another paper's finding, said of this paper's problem and method
        template = any_of([t for t in templates if {"doing", "method"} <= _slots(t)], draw)
        fill["finding"] = literature.writer.fill(_elsewhere(literature, i, draw), draw)["finding"]
        return Asked(capital(spell(template, draw, fill)), (problem, method), NONE, False)
    named = problem if "doing" in _slots(template) else NONE
    return Asked(capital(spell(template, draw, fill)), (named, method, aspect, condition), polarity, kind < 5)


def _elsewhere(literature: Literature, i: int, draw: Draw) -> int:
    """Return a paper whose finding is about something paper i does not speak of."""
    latents = literature.latents
    for _ in range(64):
        other = (draw() << 16 | draw()) % len(literature)
        if latents.aspect[other] not in (latents.aspect[i], latents.second_aspect[i]):
            break
    return other


def _agreeing(literature: Literature, corpus: Ints, claims: Sequence[Asked]) -> list[list[int]]:
    found = defaultdict[tuple[int, ...], list[int]](list)
    columns = ("problem", "method", "second_method", "aspect", "condition", "second_aspect", "second_condition")
    wanted = {claim.key for claim in claims}
    table = np.stack([getattr(literature.latents, name)[corpus] for name in columns], axis=1)
    for i, (problem, first, second, *rest) in zip(corpus.tolist(), table.tolist(), strict=True):
        keys = set[tuple[int, ...]]()
        for method in (first, second):
            keys.add((problem, method))
            for finding in (tuple(rest[:2]), tuple(rest[2:])):
                keys |= {(problem, method, *finding), (NONE, method, *finding)}
        for key in keys & wanted:
            found[key].append(i)
    return [found[claim.key] for claim in claims]


def _original(literature: Literature, number: int, claim: Asked, papers: Sequence[int]) -> dict[str, Any]:
    """Return a claim as SciFact writes it, with the sentences (from 0) that speak for or against it."""
    evidence = {}
    for i in papers if claim.polarity != NONE else ():
        latents, labels = literature.latents, literature.paper(i).labels
        results = [k for k, label in enumerate(labels) if label == "result_label"]
        second = int((latents.aspect[i], latents.condition[i]) != claim.key[2:])  # which finding it is about
        polarity = int((latents.polarity, latents.second_polarity)[second][i])
        agrees = (polarity == claim.polarity) != claim.negated
        sentences = [results[min(second, len(results) - 1)]] if results else []
        evidence[literature.paper_id(i)] = [{"sentences": sentences, "label": "SUPPORT" if agrees else "CONTRADICT"}]
    cited = [int(literature.paper_id(i)) for i in papers]
    return {"id": number, "claim": claim.text, "evidence": evidence, "cited_doc_ids": cited}


def _nfcorpus(root: Path, literature: Literature) -> None:
    words, latents = lexicon(), literature.latents
    corpus = corpus_of(literature, HEALTH_FIELDS, "nfcorpus", 3_633)
    problems = [k for k in np.unique(latents.problem[corpus]).tolist() if words.problems[k].lay]
    draw = draws(stream(literature.seed, "health queries"))
    asked = dict[str, int]()
    for k in range(scaled(len(literature), 3_237, 4, 108)):
        number = problems[k % len(problems)]
        problem = words.problems[number]
        # one reader in three knows the name
        lay = problem.name if draw() % 3 == 0 else spell(any_of(problem.lay, draw), draw, {})
        text = spell(any_of(words.phrases["health_query"], draw), draw, {"lay": lay.__str__})
        asked.setdefault(capital(text), number)
    texts, numbers = list(asked), np.array(list(asked.values()))
    names = [f"PLAIN-{k}" for k in range(1, len(texts) + 1)]
    parts = {"train": (0, 80), "dev": (80, 90), "test": (90, 100)}  # per cent of the queries, as published
    cut = {split: slice(len(names) * a // 100, len(names) * b // 100) for split, (a, b) in parts.items()}
    grades = topical(root, "scimult/nfcorpus", literature.ids(corpus), latents.problem[corpus], names, numbers)
    write_set(root / "beir" / "nfcorpus", documents(literature, corpus), names, texts, grades, cut)


def _trec_covid(root: Path, literature: Literature) -> None:
    words, latents = lexicon(), literature.latents
    corpus = corpus_of(literature, COVID_FIELDS, "trec-covid", 171_332)
    candidates = np.concatenate([problems_of(field) for field in COVID_FIELDS])
    numbers = candidates[np.isin(candidates, latents.problem[corpus])][:50]
    draw, phrases = draws(stream(literature.seed, "covid queries")), words.phrases["topic_query"]
    questions, queries = list[str](), list[dict[str, str]]()
    for number in numbers.tolist():
        fill = asking(words.problems[number], draw)
        question, query = (capital(spell(any_of(phrases[part], draw), draw, fill)) for part in ("question", "query"))
        questions.append(question)
        queries.append({"query": query})
    names, ids = numbers_outside(literature, corpus, len(numbers)), literature.ids(corpus)
    grades = topical(root, "scimult/trec_covid_beir", ids, latents.problem[corpus], names, numbers, deep=True)
    folder, parts = root / "beir" / "trec-covid", {"test": slice(None)}
    write_set(folder, documents(literature, corpus), names, questions, grades, parts, queries)


def asking(problem: Problem, draw: Draw) -> dict[str, Any]:
    """Return the slot writers of the queries about a problem."""
    gerund, noun = any_of(problem.acts, draw)

    def what() -> str:
        return spell(any_of(problem.what, draw), draw, {})

    def lay() -> str:
        return spell(any_of(problem.lay, draw), draw, {}) if problem.lay else f"{spell(noun, draw, {})} {what()}"

    return {
        "query": lambda: spell(any_of(problem.query, draw), draw, {}),
        "doing": lambda: f"{spell(gerund, draw, {})} {what()}",
        "lay_or_task": lay,
        "topic": lambda: spell(any_of(lexicon().topics[problem.topic].context, draw), draw, {}),
    }


@functools.cache
def problems_of(field: str) -> tuple[int, ...]:
    """Return the positions of the problems of a field."""
    words, number = lexicon(), FIELDS.index(field)
    return tuple(k for k, problem in enumerate(words.problems) if words.topics[problem.topic].field == number)


def topical(
    root: Path, task: str, ids: Sequence[str], problem: Ints, names: Sequence[str], asked: Ints, deep: bool = False,
) -> list[dict[str, int]]:  # fmt: skip
    """Write the oracle of queries that ask for a problem each, and return their grades.

    A thing with the same problem has grade 2, with the same topic 1, with `deep` one of the same area 0; the oracle has a
    dimension for every problem asked for and one for its topic.

    Args:
        ids, problem: of the things that are ranked; `names`, `asked`: of the queries.
    """
    words = lexicon()
    topic = np.array([p.topic for p in words.problems])
    area = np.array([t.area for t in words.topics])[topic]
    grades = dict[int, dict[str, int]]()
    for number in np.unique(asked).tolist():
        grade = (topic[problem] == topic[number]).astype(np.int64) + (problem == number)
        rows = np.flatnonzero(area[problem] == area[number] if deep else grade > 0)
        grades[number] = dict(zip([ids[k] for k in rows.tolist()], grade[rows].tolist(), strict=True))
    everything = np.concatenate([problem, asked])
    blocks = [values[:, None] == np.unique(wanted) for values, wanted in
              ((everything, asked), (topic[everything], topic[asked]))]  # fmt: skip
    write_oracle(root, task, [*ids, *names], np.concatenate(blocks, axis=1))
    return [grades[number] for number in asked.tolist()]


def numbers_outside(literature: Literature, corpus: Ints, count: int) -> list[str]:
    """Return the ids 1, 2, 3 ... of queries, without those that a document happens to have."""
    taken = set(literature.latents.paper_number[corpus].tolist())
    return [str(k) for k in itertools.islice((k for k in itertools.count(1) if k not in taken), count)]
