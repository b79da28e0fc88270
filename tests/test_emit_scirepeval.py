"""The embedded SciRepEval, S2AND and MDCR: published layout, honest splits, planted labels and judgements, reachable ceilings.

Floors and ceilings of every task are in test_inventory.py.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from scipy.stats import kendalltau
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC, LinearSVR

from scirep_core.bench.scoring import evaluate
from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.data.literature import Dials, Literature, generate
from scirep_core.data.literature.emit import split, training
from scirep_core.data.literature.emit.scirepeval import (
    authors,
    classification,
    judged,
    proximity,
    regression,
    reviewing,
    search,
)
from scirep_core.data.literature.emit.scirepeval import mdcr as mdcr_writer
from scirep_core.data.literature.emit.split import EVALUATION
from scirep_core.data.literature.latents import NONE
from scirep_core.data.literature.lexicon import FIELDS, MAG, lexicon
from scirep_core.data.readers import mdcr, s2and, scirepeval
from scirep_core.data.task import Judged, Reviewers, Signatures, Task

WRITERS = (classification, regression, training, proximity, search, reviewing, authors, mdcr_writer)
LABELLED = ("fos", "mesh_descriptors", "biomimicry", "drsm", "scidocs_mag", "scidocs_mesh",
            "cite_count", "pub_year", "peer_review_score", "hIndex", "tweet_mentions")  # fmt: skip
EXACT = ("mesh_descriptors", "biomimicry", "drsm", "scidocs_mag", "scidocs_mesh")
TRAINED = ("fos", "mesh_descriptors", "cite_count", "pub_year")
RANKED = ("same_author", "nfcorpus", "high_influence_cite", "relish", "scidocs_cite", "scidocs_cocite", "scidocs_view",
          "scidocs_read", "feeds_1", "feeds_m", "feeds_title", "search", "trec_covid", "mdcr")  # fmt: skip
LENT = ("scimult/coview", "scimult/coread", "scimult/cite_rerank", "scimult/cocite_rerank", "scimult/search",
        "scimult/trec_covid")  # fmt: skip
TEXT = {"doc_id": "string", "title": "string", "abstract": "string"}
FLAT = {"doc_id": "string", "corpus_id": "uint64", "title": "string", "abstract": "string"}
PART = "struct<doc_id: string, title: string, abstract: string, corpus_id: uint64>"
PAPER = "doc_id: string, corpus_id: uint64, title: string, abstract: string"
FACTS = ", venue: string, year: double, author_names: list<element: string>, n_citations: int32, n_key_citations: int32"


def ranked(query: str = f"struct<{PAPER}>", more: str = "", **further: str) -> dict[str, str]:
    return {"query": query, **further, "candidates": f"list<element: struct<{PAPER}{more}, score: int32>>"}


COLUMNS: dict[str, dict[str, str]] = {
    "fos": FLAT | {"labels": "list<element: int32>", "labels_text": "list<element: string>"},
    "mesh_descriptors": {"doc_id": "string", "mag_id": "int64"} | FLAT | {"descriptor": "string", "qualifier": "string"},
    "biomimicry": {"doc_id": "string", "doi": "string"} | FLAT | {"label": "uint32", "venue": "string"},
    "drsm": FLAT | {"label_type": "string", "label": "string", "class": "int32"},
    "scidocs_mag_mesh": TEXT,
    "cite_count": FLAT | {"venue": "string", "n_citations": "int32", "log_citations": "float"},
    "pub_year": FLAT | {"year": "int32", "venue": "string", "norm_year": "float", "scaled_year": "float",
                        "n_authors": "int32", "norm_authors": "float"},
    "peer_review_score_hIndex": FLAT | {
        "rating": "list<element: int32>", "confidence": "list<element: int32>", "authors": "list<element: string>",
        "decision": "string", "mean_rating": "double", "hIndex": "int32"},
    "tweet_mentions": FLAT | {"index": "int32", "retweets": "int32", "count": "int32", "mentions": "int32"},
    "cite_prediction": {"query": PART, "pos": PART, "neg": PART},
    "same_author": ranked(dataset="string"),
    **dict.fromkeys(("high_influence_cite", "relish", "feeds_1", "feeds_m"), ranked()),
    **dict.fromkeys(("feeds_title", "nfcorpus"), ranked("string", doc_id="string")),
    "search": ranked("string", FACTS, doc_id="string"),
    "trec_covid": ranked("string", ", date: string, doi: string, iscovid: bool", doc_id="string"),
    **dict.fromkeys(("scidocs_view_cite_read", "paper_reviewer_matching"), FLAT),
}  # fmt: skip
LABEL_TYPE = dict.fromkeys(LABELLED, "double") | dict.fromkeys(EXACT, "int32") | {"fos": "list<element: int32>"}


def rows(root: Path, collection: str, config: str, part: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(split.table(root, collection, config, part)).to_pylist()
    return found


def emit(root: Path, literature: Literature) -> Path:
    for writer in WRITERS:
        writer.write(root, literature)
    return root


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


@pytest.fixture(scope="module")
def literature() -> Literature:
    return generate(3000, 0)


@pytest.fixture(scope="module")
def root(literature: Literature, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return emit(tmp_path_factory.mktemp("embedded"), literature)


@pytest.fixture(scope="module")
def place(literature: Literature) -> dict[str, int]:
    return {literature.paper_id(i): i for i in range(len(literature))}


def labels(root: Path, config: str, part: str) -> tuple[list[str], NDArray[Any]]:
    found = rows(root, "scirepeval_test", config, part)
    return [row["paper_id"] for row in found], np.array([row["label"] for row in found])


def at(root: Path, place: dict[str, int], config: str, part: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    ids, values = labels(root, config, part)
    return np.array([place[i] for i in ids]), values


def oracle(root: Path, task: str) -> dict[str, NDArray[np.float32]]:
    with np.load(root / "oracle" / f"{task.replace('/', '__')}.npz") as file:
        return dict(zip(file["ids"].tolist(), file["vectors"], strict=True))


def score(config: str, train: tuple[Any, Any], test: tuple[Any, Any]) -> float:
    """Score as SciRepEval does, with one C and no intercept: the stricter of the two implementations in use."""
    if LABEL_TYPE[config] == "double":
        model: Any = LinearSVR(C=1, fit_intercept=False, random_state=42, max_iter=20_000)
        return 100 * float(kendalltau(test[1], model.fit(*train).predict(test[0]))[0])
    model = LinearSVC(C=10 if config == "fos" else 1, fit_intercept=False, random_state=42, max_iter=20_000)
    model = OneVsRestClassifier(model) if config == "fos" else model
    average = "binary" if config == "biomimicry" else "macro"
    return 100 * float(f1_score(test[1], model.fit(*train).predict(test[0]), average=average, zero_division=0))


@cache
def ceiling(root: Path, config: str) -> float:
    vectors = oracle(root, f"scirepeval/{config.lower()}")
    parts = [labels(root, config, part) for part in ("train", "test")]
    return score(config, *((np.stack([vectors[i] for i in ids]), values) for ids, values in parts))


def texts(root: Path, config: str) -> dict[str, str]:
    found = rows(root, "scirepeval", scirepeval.TEXTS.get(config, config), "evaluation")
    return {row["doc_id"]: f"{row['title']} {row['abstract']}" for row in found}


@cache
def lexical(root: Path, config: str) -> float:
    text_of = texts(root, config)
    (train_ids, train), (test_ids, test) = (labels(root, config, part) for part in ("train", "test"))
    words = TfidfVectorizer(sublinear_tf=True)
    known = words.fit_transform([text_of[i] for i in train_ids])
    return score(config, (known, train), (words.transform([text_of[i] for i in test_ids]), test))


def columns(path: Path) -> dict[str, str]:
    return {f.name: str(f.type).replace("item:", "element:") for f in pq.read_schema(path)}


# --- layout -----------------------------------------------------------------------------------------------------------


def test_columns_are_those_of_the_hub(root: Path) -> None:
    seen = set()
    for path in sorted((root / "scirepeval").rglob("*.parquet")):
        config, found = path.parts[-3], columns(path)
        assert [*found.items()] == [*COLUMNS[config].items()], path
        seen.add(config)
    assert seen == set(COLUMNS)
    for config in LABELLED:
        for part in ("train", "test"):
            found = columns(split.table(root, "scirepeval_test", config, part))
            assert found == {"paper_id": "string", "label": LABEL_TYPE[config]}
    query = pq.read_table(split.table(root, "scirepeval", "trec_covid", "evaluation")).to_pylist()[0]["query"]
    assert query.count("[SEP]") == 2


@pytest.mark.parametrize("config", [*TRAINED, "cite_prediction"])
def test_the_reader_of_training_sets_reads_them(root: Path, config: str) -> None:
    name = f"scirepeval/{config}"
    assert name in TRAINING
    for part, least in (("train", 300), ("validation", 40)):
        found = list(scirepeval.training(name, root, part))
        assert len(found) >= least
        classes = {"fos": FIELDS, "mesh_descriptors": classification.descriptor_names()}.get(config)
        if classes and part == "train":
            targets = [row.target for row in found]  # type: ignore[union-attr]
            assert {name for t in targets for name in (t if isinstance(t, tuple) else (t,))} == set(classes)


def test_there_are_examples_enough_for_few_shot_learning(root: Path) -> None:
    sizes = {config: [len(labels(root, config, part)[0]) for part in ("train", "test")] for config in LABELLED}
    assert min(sizes["biomimicry"][0], sizes["drsm"][0]) >= 2 * 64 - 16
    silver = labels(root, "fos", "train")[1]
    assert silver.shape[1] == len(FIELDS) and silver.sum(axis=0).min() >= 10
    assert all(150 <= sum(both) <= 1100 and both[1] >= 50 for both in sizes.values()), sizes


def test_every_class_is_in_both_parts(root: Path) -> None:
    for config in EXACT:
        for part in ("train", "test"):
            assert set(labels(root, config, part)[1].tolist()) == set(range(scirepeval.CLASSES[config])), (config, part)


NARROW = [Dials(fields=("Computer science",)), Dials(fields=("Medicine",))]


@pytest.mark.parametrize("dials", [*NARROW, Dials(), Dials(fields=("Physics", "History"), noise=0.0)])
@pytest.mark.parametrize("papers", [40, 400])
def test_what_is_written_of_a_narrow_or_small_literature_can_be_read(dials: Dials, papers: int, tmp_path: Path) -> None:
    literature = generate(papers, 3, dials)
    for writer in WRITERS[:3]:
        writer.write(tmp_path, literature)
    for path in tmp_path.rglob("*.parquet"):
        assert pq.read_metadata(path).num_rows > 0, path
    if dials.fields == ("Computer science",):
        assert not (tmp_path / "scirepeval_test" / "drsm").exists()
        assert not (tmp_path / "scirepeval" / "mesh_descriptors").exists()
    if papers == 40 or dials in NARROW:
        return  # too few for pools
    for writer in WRITERS[3:]:
        writer.write(tmp_path, literature)
    for name in RANKED:
        task = read(tmp_path, name)
        ceiling, floor = (evaluate(task, kind, metrics=task.metrics[:1])[0].value for kind in ("oracle", "random"))
        assert ceiling > floor, name


# --- splits -----------------------------------------------------------------------------------------------------------


def test_splits_hang_on_the_paper_alone(literature: Literature) -> None:
    parts = split.held_out(literature)
    shares = np.bincount(parts) / len(parts)
    assert 0.36 < shares[0] < 0.44 and 0.05 < shares[1] < 0.10 and 0.48 < shares[2] < 0.58
    few = literature.latents.purpose != NONE
    assert (parts[few] == split.EVALUATION).mean() > 0.65
    order = np.random.default_rng(0).permutation(len(literature))
    latents = {f.name: getattr(literature.latents, f.name)[order] for f in dataclasses.fields(literature.latents)}
    other = dataclasses.replace(literature, latents=dataclasses.replace(literature.latents, **latents))
    assert (split.held_out(other) == parts[order]).all()


def test_no_evaluation_paper_is_in_a_training_set(root: Path, literature: Literature, place: dict[str, int]) -> None:
    parts = split.held_out(literature)
    for config in LABELLED:
        train, test = (at(root, place, config, part)[0] for part in ("train", "test"))
        assert not set(train) & set(test)
        assert (parts[np.concatenate([train, test])] == split.EVALUATION).all()
    for name, number in training.SPLITS.items():
        for config in TRAINED:
            positions = [place[row["doc_id"]] for row in rows(root, "scirepeval", config, name)]
            assert (parts[positions] == number).all() and len(set(positions)) == len(positions)
        triples = rows(root, "scirepeval", "cite_prediction", name)
        assert (parts[[place[row["query"]["doc_id"]] for row in triples]] == number).all()
        used = [place[row[role]["doc_id"]] for row in triples for role in ("query", "pos", "neg")]
        assert (parts[used] != split.EVALUATION).all()
        for config in ("same_author", "high_influence_cite", "search"):
            found = list(scirepeval.training(f"scirepeval/{config}", root, name))
            assert found and all(any(row.scores) for row in found)
            assert all(parts[place[paper.paper_id]] != EVALUATION for row in found for paper in row.candidates)
            assert config == "search" or all(parts[place[row.query.paper_id]] == number for row in found)
    for config in ("same_author", "high_influence_cite"):
        assert {parts[place[row.query_id]] for row in read(root, config).payload.rows} == {EVALUATION}


def test_a_diseases_test_problems_are_new(root: Path, literature: Literature, place: dict[str, int]) -> None:
    for config, problem in (("scidocs_mag", literature.latents.problem),
                            ("scidocs_mesh", classification.disease_problem(literature))):  # fmt: skip
        train, test = (at(root, place, config, part)[0] for part in ("train", "test"))
        assert not set(problem[train]) & set(problem[test])


def test_rows_are_not_in_order_of_time(root: Path, place: dict[str, int]) -> None:
    """SciRepEval's folds and training streams take rows as they come."""
    for config in LABELLED:
        positions = at(root, place, config, "train")[0]
        assert abs(kendalltau(np.arange(len(positions)), positions)[0]) < 0.2
    positions = np.array([place[row["doc_id"]] for row in rows(root, "scirepeval", "pub_year", "train")])
    assert abs(kendalltau(np.arange(len(positions)), positions)[0]) < 0.1


# --- labels -----------------------------------------------------------------------------------------------------------


def test_gold_labels_follow_the_latents(root: Path, literature: Literature, place: dict[str, int]) -> None:
    latents, words = literature.latents, lexicon()
    for i, row in zip(*at(root, place, "fos", "test"), strict=True):
        about = {latents.field[i], latents.second_field[i]} - {NONE}
        assert set(np.flatnonzero(row)) == about
    names = classification.descriptor_names()
    assert len(names) == len(set(names)) == 30
    for i, label in zip(*at(root, place, "mesh_descriptors", "test"), strict=True):
        subject, outcome = names[label].rsplit(", ", 1)
        assert subject.lower() == words.areas[latents.area[i]].name.lower()
        assert (outcome == "improved") == (latents.polarity[i] == 0)
    for part in ("train", "test"):
        for i, label in zip(*at(root, place, "biomimicry", part), strict=True):
            assert (label == 1) == (latents.biomimetic[i] == 1)
        for i, label in zip(*at(root, place, "scidocs_mag", part), strict=True):
            name = FIELDS[latents.field[i]]
            assert MAG[label] == classification.PARENTS.get(name, name)
        for i, label in zip(*at(root, place, "scidocs_mesh", part), strict=True):
            medical = [t.name for t in words.topics if t.field == FIELDS.index("Medicine")]
            problems = [latents.problem[i], latents.second_problem[i]]
            assert medical[label] in [words.topics[words.problems[p].topic].name for p in problems if p != NONE]
    positions, purposes = at(root, place, "drsm", "test")
    assert (purposes == latents.purpose[positions]).all() and (purposes >= 0).all()


def test_biomimicry_has_hard_negatives_and_few_positives(
    root: Path, literature: Literature, place: dict[str, int]
) -> None:
    positions, values = (np.concatenate(p) for p in zip(*(at(root, place, "biomimicry", s) for s in ("train", "test")),
                                                        strict=True))  # fmt: skip
    assert 0.11 < values.mean() < 0.15
    spoken = literature.latents.biomimetic[positions] == 0
    assert 0.3 < spoken.sum() / values.sum() < 0.7
    other = (values == 0) & ~spoken
    assert {FIELDS[k] for k in literature.latents.field[positions[other]]} <= set(classification.DESIGNS)


def test_silver_labels_err_as_the_dial_says(root: Path, literature: Literature, place: dict[str, int]) -> None:
    medical = literature.latents.purpose != NONE
    truth = literature.latents.purpose[medical]
    assert 0.05 < (classification.annotated(literature)[medical] != truth).mean() < 0.3
    exact = generate(3000, 0, Dials(noise=0.0))
    assert (classification.annotated(exact) == exact.latents.purpose).all()
    gold, silver = classification.gold_fields(literature), classification.silver_fields(literature)
    assert 0.1 < (gold != silver).any(axis=1).mean() < 0.3
    missed = (classification.gold_fields(exact) != classification.silver_fields(exact)).any(axis=1)
    assert (exact.latents.second_field[missed] != NONE).all() and missed.any()
    positions, given = at(root, place, "fos", "train")
    assert (given == silver[positions]).all()
    told = {row["doc_id"]: row for row in rows(root, "scirepeval", "fos", "evaluation")}
    for part in ("train", "test"):
        for i, row in zip(*labels(root, "fos", part), strict=True):
            assert told[i]["labels"] == np.flatnonzero(row).tolist()
            assert told[i]["labels_text"] == [FIELDS[k] for k in told[i]["labels"]]


def test_targets_follow_the_latents(root: Path, literature: Literature, place: dict[str, int]) -> None:
    latents, people = literature.latents, literature.people
    counts = regression.citations(literature)
    assert (counts >= literature.cited_by.counts()).all()
    for row in rows(root, "scirepeval", "cite_count", "evaluation"):
        assert row["n_citations"] == counts[place[row["doc_id"]]]
        assert row["log_citations"] == pytest.approx(np.log1p(row["n_citations"]), abs=6e-5)
    positions, values = at(root, place, "pub_year", "test")
    assert values == pytest.approx((latents.year[positions] - 1995) / 24, abs=6e-5)
    highest = regression.author_indices(literature)
    positions, values = at(root, place, "hIndex", "test")
    assert values.tolist() == [max(highest[people.teams.of(i)]) for i in positions]
    for row in rows(root, "scirepeval", "peer_review_score_hIndex", "evaluation"):
        assert 3 <= len(row["rating"]) == len(row["confidence"]) <= 5
        assert all(1 <= r <= 10 for r in row["rating"]) and all(1 <= c <= 5 for c in row["confidence"])
        assert row["mean_rating"] == pytest.approx(np.mean(row["rating"]), abs=1e-4)
        assert row["decision"] == ("Accept" if np.mean(row["rating"]) >= 6 - 1e-9 else "Reject")
        assert row["authors"] == [people.name(a) for a in people.teams.of(place[row["doc_id"]])]
    for row in rows(root, "scirepeval", "tweet_mentions", "evaluation"):
        assert row["count"] == row["mentions"] + row["retweets"]
        assert latents.year[place[row["doc_id"]]] >= 2010
    for part in ("train", "test"):
        positions, values = at(root, place, "tweet_mentions", part)
        assert (values == np.add(*regression.tweets(literature))[positions]).all()


def test_quiet_people_leave_no_chance_in_reviews_and_tweets() -> None:
    quiet = generate(1000, 0, Dials(noise=0.0))
    assert kendalltau(quiet.latents.hype, np.add(*regression.tweets(quiet)))[0] > 0.95
    assert kendalltau(quiet.latents.quality, regression.reviews(quiet).mean())[0] > 0.9
    assert kendalltau(quiet.people.standing, regression.h_indices(quiet))[0] > 0.95


# --- triplets ---------------------------------------------------------------------------------------------------------


def test_triplets_are_cited_and_not_cited(root: Path, literature: Literature, place: dict[str, int]) -> None:
    cites, problem = literature.cites, literature.latents.problem
    of_query: dict[int, list[tuple[int, int]]] = {}
    hard = easy = 0
    for row in rows(root, "scirepeval", "cite_prediction", "train"):
        query, positive, negative = (place[row[role]["doc_id"]] for role in ("query", "pos", "neg"))
        assert positive in cites.of(query)
        assert negative not in cites.of(query) and negative != query
        second_hand = any(negative in cites.of(c) for c in cites.of(query))
        hard, easy = hard + second_hand, easy + (not second_hand)
        assert second_hand or problem[negative] != problem[query]
        of_query.setdefault(query, []).append((positive, negative))
    assert max(map(len, of_query.values())) == 5
    for pairs in of_query.values():
        assert len({p for p, _ in pairs}) == len({n for _, n in pairs}) == len(pairs)
    assert 0.25 < hard / (hard + easy) < 0.5


def test_the_oracle_of_triplets_prefers_the_cited(root: Path) -> None:
    vectors, right = oracle(root, "scirepeval/cite_prediction"), []
    for row in rows(root, "scirepeval", "cite_prediction", "train"):
        query, positive, negative = (vectors[row[role]["doc_id"]] for role in ("query", "pos", "neg"))
        right.append(np.linalg.norm(query - positive) < np.linalg.norm(query - negative))
    assert 0.75 < np.mean(right) < 0.99


# --- judged pools ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RANKED)
def test_every_query_has_candidates_of_both_kinds_and_no_bare_one_the_id_of_a_paper(root: Path, name: str) -> None:
    task = read(root, name)
    assert all(any(judged.values()) and not all(judged.values()) for judged in pools(task).values())
    assert not set(task.queries) & set(task.papers)


@pytest.mark.parametrize("name", LENT)
def test_scimult_reads_the_same_judgements_with_an_oracle(root: Path, name: str) -> None:
    task = read(root, name)
    assert task.payload == read(root, TASKS[name].config).payload
    assert set(oracle(root, name)) >= {row.cand_id for row in task.payload.rows}


def test_grades_and_sizes(root: Path) -> None:
    for name in ("cite", "cocite", "view", "read"):
        found = pools(read(root, f"scidocs_{name}"))
        assert len(found) >= 30 and {(sum(judged.values()), len(judged)) for judged in found.values()} == {(5, 30)}
    of = {name: pools(read(root, name)) for name in ("relish", "trec_covid", "search", "feeds_1", "feeds_m")}
    grades = {name: {grade for judged in found.values() for grade in judged.values()} for name, found in of.items()}
    assert grades["relish"] == grades["trec_covid"] == {0, 1, 2}
    sizes = {name: {len(judged) for judged in found.values()} for name, found in of.items()}
    assert (sizes["relish"], sizes["search"], sizes["feeds_1"]) == ({60}, {10}, {10})
    assert (len(of["trec_covid"]), len(of["search"])) == (50, 120) and len(of["feeds_m"]) > len(of["feeds_1"])
    clicks = [list(judged.values()) for judged in of["search"].values()]
    assert np.mean([row[0] > 0 for row in clicks]) > np.mean([row[5] > 0 for row in clicks]) + 0.1  # position bias
    titles, papers = read(root, "feeds_title"), read(root, "feeds_1").papers
    assert all(text == papers[query_id.removeprefix("title-")].title for query_id, text in titles.queries.items())


def test_positives_of_same_author_are_of_one_author_and_negatives_namesakes(
    root: Path, literature: Literature, place: dict[str, int]
) -> None:
    author, _ = proximity.signatures(literature)
    for row in read(root, "same_author").payload.rows:
        one, other = (int(author[place[i]]) for i in (row.query_id, row.cand_id))
        assert (one == other) == (row.score == 1)
        assert literature.people.block(one) == literature.people.block(other)
        assert (one in literature.people.teams.of(place[row.cand_id])) == (row.score == 1)


def test_cited_means_cited(root: Path, literature: Literature, place: dict[str, int]) -> None:
    for name in ("scidocs_cite", "high_influence_cite", "mdcr"):
        for row in read(root, name).payload.rows:
            cited = place[row.cand_id] in literature.cites.of(place[row.query_id]).tolist()
            assert cited or row.score == 0
            assert not cited or row.score == 1 or name == "high_influence_cite"


def test_mdcr_has_the_19_fields(root: Path) -> None:
    groups = Counter(row.group for row in read(root, "mdcr").payload.rows)
    assert len(groups) == len(MAG) == 19 and "Computer Science" in groups


def test_reviewers(root: Path, literature: Literature, place: dict[str, int]) -> None:
    task = read(root, "paper_reviewer_matching")
    payload, vectors = task.payload, oracle(root, task.name)
    assert isinstance(payload, Reviewers)
    soft, hard = ({(row.query_id, row.cand_id): row.score for row in rows} for rows in (payload.soft, payload.hard))
    assert soft.keys() == hard.keys() and all(soft[pair] >= score for pair, score in hard.items())
    assert 0 < sum(hard.values()) < sum(soft.values()) < len(soft)
    for submission, reviewer in soft:
        assert int(reviewer[1:]) not in literature.people.teams.of(place[submission])
    assert all(len(papers) >= 3 for papers in payload.reviewers.values())

    def expertise(submission: str, reviewer: str) -> float:
        papers = np.stack([vectors[p] for p in payload.reviewers[reviewer]])
        cosines = papers @ vectors[submission] / np.linalg.norm(papers, axis=1) / np.linalg.norm(vectors[submission])
        return float(np.sort(cosines)[-3:].mean())

    gap = [np.mean([expertise(*pair) for pair, score in hard.items() if score == s]) for s in (0, 1)]
    assert gap[1] > gap[0] + 0.2


def test_s2and_oracle_separates_the_clusters_of_every_block(
    root: Path, literature: Literature, place: dict[str, int]
) -> None:
    task = read(root, "s2and")
    assert isinstance(task.payload, Signatures)
    rows, vectors = task.payload.rows, oracle(root, task.name)
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
    assert set(split.held_out(literature)[[place[row.paper_id] for row in rows]]) == {EVALUATION}


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


# --- difficulty -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "least", "most"),
    [("fos", 93, 100), ("cite_count", 50, 85), ("peer_review_score", 65, 90), ("hIndex", 55, 90),
     ("tweet_mentions", 65, 90)],
)  # fmt: skip
def test_the_oracle_has_a_ceiling_where_people_err(root: Path, config: str, least: float, most: float) -> None:
    assert least < ceiling(root, config) < most


@pytest.mark.parametrize("config", ["fos", *EXACT, "pub_year"])
def test_words_tell_something_but_not_all(root: Path, config: str) -> None:
    found = lexical(root, config)
    assert config == "pub_year" or found < 0.9 * ceiling(root, config)
    assert config == "biomimicry" or found > 10


def test_improvement_is_not_in_single_words(root: Path) -> None:
    """The subject of a descriptor can be read off words; whether it improved hardly can."""
    text_of = texts(root, "mesh_descriptors")
    (train_ids, train), (test_ids, test) = (labels(root, "mesh_descriptors", part) for part in ("train", "test"))
    words = TfidfVectorizer(sublinear_tf=True)
    known, new = words.fit_transform([text_of[i] for i in train_ids]), words.transform([text_of[i] for i in test_ids])

    def right(of: Any) -> float:
        return float((LinearSVC(random_state=0).fit(known, of(train)).predict(new) == of(test)).mean())

    assert right(lambda y: y // 2) > 0.7
    assert right(lambda y: y % 2) < 0.85
