"""The judged pools of the embedded literature: shapes and honesty of the split; test_inventory.py has ceilings and floors."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from scirep_core.bench.scoring import evaluate
from scirep_core.data.inventory import TASKS
from scirep_core.data.literature.emit.scirepeval import authors, judged, proximity, reviewing, search
from scirep_core.data.literature.emit.scirepeval import mdcr as mdcr_writer
from scirep_core.data.literature.emit.split import EVALUATION, TRAIN, VALIDATION, held_out
from scirep_core.data.literature.latents import NONE, Dials
from scirep_core.data.literature.lexicon import MAG
from scirep_core.data.literature.model import Literature, generate
from scirep_core.data.readers import mdcr, s2and, scirepeval
from scirep_core.data.task import Judged, Reviewers, Signatures, Task

WRITERS = (proximity, search, reviewing, authors, mdcr_writer)
EXACT = ("same_author", "nfcorpus")
NOISY = ("high_influence_cite", "relish", "scidocs_cite", "scidocs_cocite", "scidocs_view", "scidocs_read", "feeds_1",
         "feeds_m", "feeds_title", "search", "trec_covid", "mdcr")  # fmt: skip
LENT = ("scimult/coview", "scimult/coread", "scimult/cite_rerank", "scimult/cocite_rerank", "scimult/search",
        "scimult/trec_covid")  # fmt: skip
FIVE_OF_THIRTY = ("scidocs_cite", "scidocs_cocite", "scidocs_view", "scidocs_read")


@pytest.fixture(scope="module")
def literature() -> Literature:
    return generate(1_500, seed=3)


@pytest.fixture(scope="module")
def root(literature: Literature, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranking")
    for writer in WRITERS:
        writer.write(folder, literature)
    return folder


@pytest.fixture(scope="module")
def position(literature: Literature) -> dict[str, int]:
    return {literature.paper_id(i): i for i in range(len(literature))}


@pytest.fixture(scope="module")
def part(literature: Literature) -> dict[str, int]:
    return dict(zip(map(str, literature.latents.paper_number), held_out(literature), strict=True))


def read(root: Path, name: str) -> Task:
    full = name if "/" in name else f"scirepeval/{name}"
    module = {"mdcr": mdcr, "s2and": s2and}.get(name, scirepeval)
    return module.read(TASKS[full], full, root, "embedded")


def pools(task: Task) -> dict[str, dict[str, int]]:
    assert isinstance(task.payload, Judged)
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row in task.payload.rows:
        assert row.cand_id not in found[f"{row.group} {row.query_id}"], "a pair is judged twice"
        found[f"{row.group} {row.query_id}"][row.cand_id] = row.score
    return found


def oracle(task: Task) -> dict[str, np.ndarray]:
    assert task.oracle is not None
    with np.load(task.oracle) as file:
        return dict(zip(file["ids"].tolist(), file["vectors"], strict=True))


@pytest.mark.parametrize("name", EXACT + NOISY)
def test_every_query_has_candidates_of_both_kinds_and_no_bare_one_the_id_of_a_paper(root: Path, name: str) -> None:
    task = read(root, name)
    assert all(any(judged.values()) and not all(judged.values()) for judged in pools(task).values())
    assert not set(task.queries) & set(task.papers)


@pytest.mark.parametrize("name", FIVE_OF_THIRTY)
def test_scidocs_has_five_positives_and_25_negatives(root: Path, name: str) -> None:
    found = pools(read(root, name))
    assert len(found) >= 30
    assert {(sum(judged.values()), len(judged)) for judged in found.values()} == {(5, 30)}


@pytest.mark.parametrize("name", LENT)
def test_scimult_reads_the_same_judgements_with_an_oracle(root: Path, name: str) -> None:
    task = read(root, name)
    assert task.payload == read(root, TASKS[name].config).payload
    assert set(oracle(task)) >= {row.cand_id for row in task.payload.rows}


def test_grades_and_sizes(root: Path) -> None:
    of = {name: pools(read(root, name)) for name in ("relish", "trec_covid", "search", "feeds_1", "feeds_m")}
    grades = {name: {grade for judged in found.values() for grade in judged.values()} for name, found in of.items()}
    assert grades["relish"] == grades["trec_covid"] == {0, 1, 2}
    sizes = {name: {len(judged) for judged in found.values()} for name, found in of.items()}
    assert (sizes["relish"], sizes["search"], sizes["feeds_1"]) == ({60}, {10}, {10})
    assert (len(of["trec_covid"]), len(of["search"])) == (50, 60) and len(of["feeds_m"]) > len(of["feeds_1"])
    clicks = [list(judged.values()) for judged in of["search"].values()]
    assert np.mean([row[0] > 0 for row in clicks]) > np.mean([row[5] > 0 for row in clicks]) + 0.1  # position bias
    titles, papers = read(root, "feeds_title"), read(root, "feeds_1").papers
    assert all(text == papers[query_id.removeprefix("title-")].title for query_id, text in titles.queries.items())


@pytest.mark.parametrize("name", ["same_author", "high_influence_cite", "search"])
def test_training_sees_no_paper_of_evaluation(root: Path, part: dict[str, int], name: str) -> None:
    for split, number in (("train", TRAIN), ("validation", VALIDATION)):
        rows = list(scirepeval.training(f"scirepeval/{name}", root, split))
        assert rows and all(any(row.scores) for row in rows)
        assert all(part[paper.paper_id] != EVALUATION for row in rows for paper in row.candidates)
        assert name == "search" or all(part[row.query.paper_id] == number for row in rows)
    asked = {row.query_id for row in read(root, name).payload.rows}
    assert name == "search" or all(part[query] == EVALUATION for query in asked)


def test_columns_are_the_published_ones(root: Path) -> None:
    paper = ["doc_id", "corpus_id", "title", "abstract"]
    search_more = ["venue", "year", "author_names", "n_citations", "n_key_citations"]
    for config, row, more in (
        ("same_author", ["dataset", "query", "candidates"], []),
        ("relish", ["query", "candidates"], []),
        ("search", ["query", "doc_id", "candidates"], search_more),
        ("trec_covid", ["query", "doc_id", "candidates"], ["date", "doi", "iscovid"]),
    ):
        schema = pq.read_schema(root / "scirepeval" / config / "evaluation" / "0000.parquet")
        assert sorted(schema.names) == sorted(row)
        assert schema.field("candidates").type.value_type.names == [*paper, *more, "score"]
    first = pq.read_table(root / "scirepeval" / "trec_covid" / "evaluation" / "0000.parquet").to_pylist()[0]
    assert first["query"].count("[SEP]") == 2


def test_positives_of_same_author_are_of_one_author_and_negatives_namesakes(
    root: Path, literature: Literature, position: dict[str, int]
) -> None:
    author, _ = proximity.signatures(literature)
    for row in read(root, "same_author").payload.rows:
        one, other = (int(author[position[i]]) for i in (row.query_id, row.cand_id))
        assert (one == other) == (row.score == 1)
        assert literature.people.block(one) == literature.people.block(other)
        assert (one in literature.people.teams.of(position[row.cand_id])) == (row.score == 1)


def test_cited_means_cited(root: Path, literature: Literature, position: dict[str, int]) -> None:
    for name in ("scidocs_cite", "high_influence_cite", "mdcr"):
        for row in read(root, name).payload.rows:
            cited = position[row.cand_id] in literature.cites.of(position[row.query_id]).tolist()
            assert cited or row.score == 0
            assert not cited or row.score == 1 or name == "high_influence_cite"


def test_mdcr_has_the_19_fields(root: Path) -> None:
    groups = Counter(row.group for row in read(root, "mdcr").payload.rows)
    assert len(groups) == len(MAG) == 19 and "Computer Science" in groups


def test_reviewers(root: Path, literature: Literature, position: dict[str, int]) -> None:
    task = read(root, "paper_reviewer_matching")
    payload, vectors = task.payload, oracle(task)
    assert isinstance(payload, Reviewers)
    soft, hard = ({(row.query_id, row.cand_id): row.score for row in rows} for rows in (payload.soft, payload.hard))
    assert soft.keys() == hard.keys() and all(soft[pair] >= score for pair, score in hard.items())
    assert 0 < sum(hard.values()) < sum(soft.values()) < len(soft)
    for submission, reviewer in soft:
        assert int(reviewer[1:]) not in literature.people.teams.of(position[submission])
    assert all(len(papers) >= 3 for papers in payload.reviewers.values())

    def expertise(submission: str, reviewer: str) -> float:
        papers = np.stack([vectors[p] for p in payload.reviewers[reviewer]])
        cosines = papers @ vectors[submission] / np.linalg.norm(papers, axis=1) / np.linalg.norm(vectors[submission])
        return float(np.sort(cosines)[-3:].mean())

    gap = [np.mean([expertise(*pair) for pair, score in hard.items() if score == s]) for s in (0, 1)]
    assert gap[1] > gap[0] + 0.2


def test_s2and_oracle_separates_the_clusters_of_every_block(root: Path, part: dict[str, int]) -> None:
    task = read(root, "s2and")
    assert isinstance(task.payload, Signatures)
    rows, vectors = task.payload.rows, oracle(task)
    assert {row.signature_id.partition("/")[0] for row in rows} == set(s2and.COLLECTIONS)
    of_block = defaultdict(list)
    for row in rows:
        of_block[row.block].append(row)
    assert all(len(block) > 1 for block in of_block.values())
    assert any(len({row.cluster for row in block}) > 1 for block in of_block.values())
    for block in of_block.values():
        for one, other in itertools.product(block, block):
            distance = np.linalg.norm(vectors[one.paper_id] - vectors[other.paper_id])
            assert (distance == 0) if one.cluster == other.cluster else (distance >= 2)
    assert {part[row.paper_id] for row in rows} == {EVALUATION}


def test_distances_of_oracle_vectors_are_likeness() -> None:
    rng = np.random.default_rng(0)
    papers = {name: rng.integers(0, 4, size=60) for name in ("topic", "family")}
    queries, profile = np.arange(5), {"topic": 4, "family": 1}
    asked = judged.at(papers, queries)
    asked["family"] = np.where(np.arange(5) == 2, NONE, asked["family"])
    table = np.tile(np.arange(60), (5, 1))
    likeness = judged.alike(profile, asked, papers, table)
    asking, answers = judged.vectors(profile, asked, asked), judged.vectors(profile, asked, papers)
    squared = ((asking[:, None] - answers[None]) ** 2).sum(axis=2)
    total = squared + 2 * likeness
    assert np.allclose(total, total[:, :1], atol=1e-4)


@pytest.mark.parametrize("papers, dials", [(400, Dials()), (600, Dials(fields=("Physics", "History"), noise=0.0))])
def test_small_literatures_and_few_fields(tmp_path: Path, papers: int, dials: Dials) -> None:
    literature = generate(papers, seed=1, dials=dials)
    for writer in WRITERS:
        writer.write(tmp_path, literature)
    for name in EXACT + NOISY:
        task = read(tmp_path, name)
        ceiling, floor = (evaluate(task, kind, metrics=task.metrics[:1])[0].value for kind in ("oracle", "random"))
        assert ceiling > floor
