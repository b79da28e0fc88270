"""The embedded SciRepEval, S2AND and MDCR: published layout, honest splits, planted labels and judgements.

Floors and ceilings of every task are in test_inventory.py, what words reach on the page beyond/literature.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter, defaultdict

import numpy as np
import pyarrow.parquet as pq
import pytest
from emitted import Emitted, spellings
from scipy.stats import kendalltau
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC
from small_files import refused

from scirep_core.bench.scoring import evaluate
from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.data.literature import Dials, generate
from scirep_core.data.literature.emit import COLLECTIONS, split, training, write_collection
from scirep_core.data.literature.emit.scirepeval import classification, proximity, regression, search
from scirep_core.data.literature.emit.split import EVALUATION
from scirep_core.data.literature.latents import NONE
from scirep_core.data.literature.lexicon import FIELDS, MAG, lexicon
from scirep_core.data.literature.text import draws
from scirep_core.data.readers import s2and, scirepeval
from scirep_core.evaluators.inputs import tfidf_vectors
from scirep_core.kit.errors import DataError

LABELLED = ("fos", "mesh_descriptors", "biomimicry", "drsm", "scidocs_mag", "scidocs_mesh",
            "cite_count", "pub_year", "peer_review_score", "hIndex", "tweet_mentions")  # fmt: skip
EXACT = ("mesh_descriptors", "biomimicry", "drsm", "scidocs_mag", "scidocs_mesh")
TRAINED = ("fos", "mesh_descriptors", "cite_count", "pub_year")
RANKED = [
    name for name, spec in TASKS.items() if spec.paper == "scirepeval" and spec.type in ("proximity", "adhoc_search")
]
LENT = [name for name, spec in TASKS.items() if name.startswith("scimult/") and spec.reader == "scirepeval"]
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


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return Emitted(tmp_path_factory.mktemp("embedded"), generate(3000, 0), "scirepeval", "s2and", "mdcr")


def pools(world, name):
    task, found = world.task(f"scirepeval/{name}"), defaultdict(dict)
    for row in task.payload.rows:
        assert row.cand_id not in found[f"{row.group} {row.query_id}"], "a pair is judged twice"
        found[f"{row.group} {row.query_id}"][row.cand_id] = row.score
    return found


def columns(path):
    return {f.name: str(f.type).replace("item:", "element:") for f in pq.read_schema(path)}


def test_columns_are_those_of_the_hub(world):
    seen = set()
    for path in sorted((world.root / "scirepeval").rglob("*.parquet")):
        assert [*columns(path).items()] == [*COLUMNS[path.parts[-3]].items()], path
        seen.add(path.parts[-3])
    assert seen == set(COLUMNS)
    for config, part in itertools.product(LABELLED, ("train", "test")):
        found = columns(split.table(world.root, "scirepeval_test", config, part))
        assert found == {"paper_id": "string", "label": LABEL_TYPE[config]}
    assert world.rows("trec_covid")[0]["query"].count("[SEP]") == 2


def test_training_sets_are_read_and_every_class_is_in_every_part(world):
    classes = {"fos": FIELDS, "mesh_descriptors": classification.descriptor_names()}
    for config in (*TRAINED, "cite_prediction"):
        train, validation = (
            list(scirepeval.training(f"scirepeval/{config}", world.root, part)) for part in training.SPLITS
        )
        assert f"scirepeval/{config}" in TRAINING and len(train) >= 300 and len(validation) >= 40
        if config in classes:
            targets = [row.target if isinstance(row.target, tuple) else (row.target,) for row in train]
            assert set(itertools.chain(*targets)) == set(classes[config])
    for config, part in itertools.product(EXACT, ("train", "test")):
        assert set(world.labels(config, part)[1].tolist()) == set(range(scirepeval.CLASSES[config])), (config, part)
    silver = world.labels("fos", "train")[1]  # enough for few-shot learning, as are two classes of 64 shots
    assert silver.shape[1] == len(FIELDS) and silver.sum(axis=0).min() >= 10
    assert min(len(world.labels(config, "train")[0]) for config in ("biomimicry", "drsm")) >= 2 * 64 - 16


NARROW = [Dials(fields=("Computer science",)), Dials(fields=("Medicine",))]


@pytest.mark.parametrize("dials", [*NARROW, Dials(), Dials(fields=("Physics", "History"), noise=0.0)])
@pytest.mark.parametrize("papers", [40, 400])
def test_what_is_written_of_a_narrow_or_small_literature_can_be_read(dials, papers, tmp_path, monkeypatch):
    literature, few = generate(papers, 3, dials), papers == 40 or dials in NARROW  # too few for pools
    if few:
        monkeypatch.setitem(COLLECTIONS, "scirepeval", COLLECTIONS["scirepeval"][:3])
    write_collection(tmp_path, "scirepeval", literature)
    for path in tmp_path.rglob("*.parquet"):
        assert pq.read_metadata(path).num_rows > 0, path
    if dials.fields == ("Computer science",):
        assert not (tmp_path / "scirepeval_test" / "drsm").exists()
        assert not (tmp_path / "scirepeval" / "mesh_descriptors").exists()
    if not few:
        world = Emitted(tmp_path, literature, "s2and", "mdcr")
        for name in RANKED:
            one = world.task(name)
            ceiling, floor = (evaluate(one, kind, metrics=one.metrics[:1])[0].value for kind in ("oracle", "random"))
            assert ceiling > floor, name


def test_a_split_without_a_query_is_left_out_and_the_reader_says_what_to_do(tmp_path):
    write_collection(tmp_path, "scirepeval", generate(300, 0, Dials(fields=("Law",))))
    write_collection(tmp_path, "mdcr", generate(300, 0, Dials(fields=("Law",))))  # no field of MAG
    assert not (tmp_path / "mdcr").exists() and not (tmp_path / "scirepeval" / "same_author" / "validation").exists()
    assert all(pq.read_metadata(path).num_rows > 0 for path in tmp_path.rglob("*.parquet"))
    name, root = "scirepeval/same_author", tmp_path
    refused(lambda: scirepeval.training(name, root, "validation"), "needs more papers", error=DataError)


def test_splits_hang_on_the_paper_alone(world):
    shares = np.bincount(world.part) / len(world.part)
    assert 0.36 < shares[0] < 0.44 and 0.05 < shares[1] < 0.10 and 0.48 < shares[2] < 0.58
    assert (world.part[world.latents.purpose != NONE] == EVALUATION).mean() > 0.65
    order = np.random.default_rng(0).permutation(len(world.part))
    latents = {f.name: getattr(world.latents, f.name)[order] for f in dataclasses.fields(world.latents)}
    other = dataclasses.replace(world.literature, latents=dataclasses.replace(world.latents, **latents))
    assert (split.held_out(other) == world.part[order]).all()


def test_no_evaluation_paper_is_in_a_training_set(world):
    part, place = world.part, world.place
    for config in LABELLED:
        train, test = (world.labelled(config, part)[0] for part in ("train", "test"))
        assert not set(train) & set(test)
        assert (part[np.concatenate([train, test])] == EVALUATION).all()
    for name, number in training.SPLITS.items():
        for config in TRAINED:
            positions = [place[row["doc_id"]] for row in world.rows(config, name)]
            assert (part[positions] == number).all() and len(set(positions)) == len(positions)
        triples = [[place[row[role]["doc_id"]] for role in ("query", "pos", "neg")]
                   for row in world.rows("cite_prediction", name)]  # fmt: skip
        assert (part[triples] != EVALUATION).all() and {part[query] for query, *_ in triples} == {number}
        for config in ("same_author", "high_influence_cite", "search"):
            found = list(scirepeval.training(f"scirepeval/{config}", world.root, name))
            assert found and all(any(row.scores) for row in found)
            assert all(part[place[paper.paper_id]] != EVALUATION for row in found for paper in row.candidates)
            assert config == "search" or all(part[place[row.query.paper_id]] == number for row in found)
    for config in ("same_author", "high_influence_cite"):
        assert {part[place[row.query_id]] for row in world.task(f"scirepeval/{config}").payload.rows} == {EVALUATION}


def test_test_problems_are_new_where_the_tables_say_so(world):
    for config, problem in (("scidocs_mag", world.latents.problem),
                            ("scidocs_mesh", classification.disease_problem(world.literature))):  # fmt: skip
        train, test = (problem[world.labelled(config, part)[0]] for part in ("train", "test"))
        assert not set(train) & set(test)


def test_gold_labels_follow_the_latents(world):
    latents, words, both = world.latents, lexicon(), ("train", "test")
    for i, row in zip(*world.labelled("fos", "test"), strict=True):
        assert set(np.flatnonzero(row)) == {latents.field[i], latents.second_field[i]} - {NONE}
    names = classification.descriptor_names()
    assert len(names) == len(set(names)) == 30
    for i, label in zip(*world.labelled("mesh_descriptors", "test"), strict=True):
        subject, outcome = names[label].rsplit(", ", 1)
        assert subject.lower() == words.areas[latents.area[i]].name.lower()
        assert (outcome == "improved") == (latents.polarity[i] == 0)
    for i, label in zip(*world.labelled("biomimicry", *both), strict=True):
        assert (label == 1) == (latents.biomimetic[i] == 1)
    for i, label in zip(*world.labelled("scidocs_mag", *both), strict=True):
        name = FIELDS[latents.field[i]]
        assert MAG[label] == classification.PARENTS.get(name, name)
    medical = [t.name for t in words.topics if t.field == FIELDS.index("Medicine")]
    for i, label in zip(*world.labelled("scidocs_mesh", *both), strict=True):
        problems = {latents.problem[i], latents.second_problem[i]} - {NONE}
        assert medical[label] in {words.topics[words.problems[p].topic].name for p in problems}
    positions, purposes = world.labelled("drsm", "test")
    assert (purposes == latents.purpose[positions]).all() and (purposes >= 0).all()


def test_silver_labels_err_as_the_dial_says(world):
    exact, truth = generate(3000, 0, Dials(noise=0.0)), world.latents.purpose
    medical = truth != NONE
    assert 0.05 < (classification.annotated(world.literature) != truth)[medical].mean() < 0.3
    assert (classification.annotated(exact) == exact.latents.purpose).all()
    gold, silver = classification.gold_fields(world.literature), classification.silver_fields(world.literature)
    assert 0.1 < (gold != silver).any(axis=1).mean() < 0.3
    missed = (classification.gold_fields(exact) != classification.silver_fields(exact)).any(axis=1)
    assert (exact.latents.second_field[missed] != NONE).all() and missed.any()
    positions, given = world.labelled("fos", "train")
    assert (given == silver[positions]).all()
    told = {row["doc_id"]: (row["labels"], row["labels_text"]) for row in world.rows("fos")}
    for part in ("train", "test"):
        for i, row in zip(*world.labels("fos", part), strict=True):
            numbers = np.flatnonzero(row).tolist()
            assert told[i] == (numbers, [FIELDS[k] for k in numbers])


def test_targets_follow_the_latents(world):
    latents, people, place = world.latents, world.people, world.place
    counts = regression.citations(world.literature)
    assert (counts >= world.literature.cited_by.counts()).all()
    for row in world.rows("cite_count"):
        assert row["n_citations"] == counts[place[row["doc_id"]]]
        assert row["log_citations"] == pytest.approx(np.log1p(row["n_citations"]), abs=6e-5)
    positions, values = world.labelled("pub_year", "test")
    assert values == pytest.approx((latents.year[positions] - 1995) / 24, abs=6e-5)
    highest = regression.author_indices(world.literature)
    positions, values = world.labelled("hIndex", "test")
    assert values.tolist() == [max(highest[people.teams.of(i)]) for i in positions]
    for row in world.rows("peer_review_score_hIndex"):
        assert 3 <= len(row["rating"]) == len(row["confidence"]) <= 5
        assert all(1 <= r <= 10 for r in row["rating"]) and all(1 <= c <= 5 for c in row["confidence"])
        assert row["mean_rating"] == pytest.approx(np.mean(row["rating"]), abs=1e-4)
        assert row["decision"] == ("Accept" if np.mean(row["rating"]) >= 6 - 1e-9 else "Reject")
        assert row["authors"] == [people.name(a) for a in people.teams.of(place[row["doc_id"]])]
    for row in world.rows("tweet_mentions"):
        assert row["count"] == row["mentions"] + row["retweets"] and latents.year[place[row["doc_id"]]] >= 2010
    positions, values = world.labelled("tweet_mentions", "train", "test")
    assert (values == np.add(*regression.tweets(world.literature))[positions]).all()


def test_quiet_people_leave_no_chance_in_reviews_and_tweets():
    quiet = generate(1000, 0, Dials(noise=0.0))
    assert kendalltau(quiet.latents.hype, np.add(*regression.tweets(quiet)))[0] > 0.95
    assert kendalltau(quiet.latents.quality, regression.reviews(quiet).mean())[0] > 0.9
    assert kendalltau(quiet.people.standing, regression.h_indices(quiet))[0] > 0.95


def test_triplets_are_of_a_cited_paper_and_one_that_is_not(world):
    cites, of_query, hard = world.literature.cites, defaultdict(list), []
    for row in world.rows("cite_prediction", "train"):
        query, positive, negative = (world.place[row[role]["doc_id"]] for role in ("query", "pos", "neg"))
        assert positive in cites.of(query) and negative not in cites.of(query) and negative != query
        hard.append(any(negative in cites.of(c) for c in cites.of(query)))
        assert hard[-1] or world.latents.problem[negative] != world.latents.problem[query]
        of_query[query].append((positive, negative))
    assert max(map(len, of_query.values())) == 5
    assert all(len({*column}) == len(pairs) for pairs in of_query.values() for column in zip(*pairs, strict=True))
    assert 0.25 < np.mean(hard) < 0.5


def test_every_query_has_candidates_of_both_kinds_and_no_bare_one_the_id_of_a_paper(world):
    for name in RANKED:
        one, judged = world.task(name), pools(world, name.removeprefix("scirepeval/"))
        assert all(any(scores.values()) and not all(scores.values()) for scores in judged.values()), name
        assert not set(one.queries) & set(one.papers), name


@pytest.mark.parametrize("name", LENT)
def test_scimult_reads_the_same_judgements(world, name):
    assert world.task(name).payload == world.task(f"scirepeval/{TASKS[name].config}").payload


def test_grades_and_sizes(world):
    for name in ("cite", "cocite", "view", "read"):
        found = pools(world, f"scidocs_{name}")
        assert len(found) >= 30 and {(sum(judged.values()), len(judged)) for judged in found.values()} == {(5, 30)}
    of = {name: pools(world, name) for name in ("relish", "trec_covid", "search", "feeds_1", "feeds_m")}
    for name in ("relish", "trec_covid"):
        assert {grade for judged in of[name].values() for grade in judged.values()} == {0, 1, 2}
    for name, size in (("relish", 60), ("search", 10), ("feeds_1", 10)):
        assert {len(judged) for judged in of[name].values()} == {size}
    assert (len(of["trec_covid"]), len(of["search"])) == (50, 120) and len(of["feeds_m"]) > len(of["feeds_1"])
    clicks = [list(judged.values()) for judged in of["search"].values()]
    assert np.mean([row[0] > 0 for row in clicks]) > np.mean([row[5] > 0 for row in clicks]) + 0.1  # position bias
    titles, papers = world.task("scirepeval/feeds_title"), world.task("scirepeval/feeds_1").papers
    assert all(text == papers[query_id.removeprefix("title-")].title for query_id, text in titles.queries.items())
    groups = Counter(row.group for row in world.task("scirepeval/mdcr").payload.rows)
    assert len(groups) == len(MAG) == 19 and "Computer Science" in groups


def test_three_queries_in_four_are_in_the_words_of_papers(world):
    medicine, draw = np.flatnonzero(world.latents.field == FIELDS.index("Medicine")), draws(np.random.default_rng(0))
    own = dict.fromkeys(("query", "lay"), 0)
    for i in 5 * medicine.tolist():
        problem, topic = lexicon().problems[world.latents.problem[i]], lexicon().topics[world.latents.topic[i]]
        what, of, asked, lay = ([s for tree in forms for s in spellings(tree)] for forms in
                                (problem.what, topic.context, problem.query, problem.lay))  # fmt: skip
        for kind, query, others in (("query", search._spelled(world.literature, i, "problem", draw), asked),
                                    ("lay", search._health_query(world.literature, i, draw), lay)):  # fmt: skip
            in_own = query in map(" ".join, itertools.product(what, of))
            assert in_own or any(words in query for words in others), query
            own[kind] += in_own
    assert all(abs(times / (5 * len(medicine)) - 0.75) < 0.03 for times in own.values()), own


def test_a_health_pool_holds_most_papers_on_the_disease(world):
    problem, judged = world.latents.problem, pools(world, "nfcorpus")
    shares = []
    for number, scores in enumerate(judged.values()):
        found = [problem[world.place[i]] for i, score in scores.items() if score == 2]
        assert len(set(found)) == 1, number
        shares.append(len(found) / (problem == found[0]).sum())
    assert np.mean(shares) > 0.95


def test_positives_of_same_author_are_of_one_author_and_negatives_namesakes(world):
    author, people = proximity.signatures(world.literature)[0], world.people
    for row in world.task("scirepeval/same_author").payload.rows:
        one, other = (int(author[world.place[i]]) for i in (row.query_id, row.cand_id))
        assert (one == other) == (row.score == 1) == (one in people.teams.of(world.place[row.cand_id]))
        assert people.block(one) == people.block(other)


def test_cited_means_cited(world):
    for name in ("scidocs_cite", "high_influence_cite", "mdcr"):
        for row in world.task(f"scirepeval/{name}").payload.rows:
            cited = world.place[row.cand_id] in world.literature.cites.of(world.place[row.query_id]).tolist()
            assert cited >= row.score if name == "high_influence_cite" else cited == row.score


def test_reviewers(world):
    payload = world.task("scirepeval/paper_reviewer_matching").payload
    soft, hard = ({(row.query_id, row.cand_id): row.score for row in rows} for rows in (payload.soft, payload.hard))
    assert soft.keys() == hard.keys() and all(soft[pair] >= score for pair, score in hard.items())
    assert 0 < sum(hard.values()) < sum(soft.values()) < len(soft)
    assert all(len(papers) >= 3 for papers in payload.reviewers.values())
    for submission, reviewer in hard:
        assert int(reviewer[1:]) not in world.people.teams.of(world.place[submission])


def test_blocks_of_s2and_hold_several_mentions_and_some_several_people(world):
    rows = world.task("scirepeval/s2and").payload.rows
    assert {row.signature_id.partition("/")[0] for row in rows} == set(s2and.COLLECTIONS)
    of_block = defaultdict(list)
    for row in rows:
        of_block[row.block].append(row)
    assert all(len(block) > 1 for block in of_block.values())
    assert any(len({row.cluster for row in block}) > 1 for block in of_block.values())
    assert {world.part[world.place[row.paper_id]] for row in rows} == {EVALUATION}


def test_improvement_is_not_in_single_words(world):
    """The subject of a descriptor can be read off words; whether it improved hardly can."""
    text_of = {row["doc_id"]: f"{row['title']} {row['abstract']}" for row in world.rows("mesh_descriptors")}
    (known, train), (new, test) = (world.labels("mesh_descriptors", part) for part in ("train", "test"))
    words = TfidfVectorizer(sublinear_tf=True).fit(text_of[i] for i in known)
    inputs, asked = (words.transform(text_of[i] for i in ids) for ids in (known, new))

    def right(of):
        return (LinearSVC(random_state=0).fit(inputs, of(train)).predict(asked) == of(test)).mean()

    assert right(lambda y: y // 2) > 0.7
    assert right(lambda y: y % 2) < 0.85


CEILINGS = {"fos": (93, 100), "cite_count": (50, 85), "peer_review_score": (65, 90), "hIndex": (55, 90),
            "tweet_mentions": (65, 90)}  # fmt: skip


@pytest.mark.parametrize("config", dict.fromkeys([*CEILINGS, *EXACT, "pub_year"]))
def test_the_oracle_has_a_ceiling_where_people_err_and_words_tell_something_but_not_all(world, config):
    task = world.task(f"scirepeval/{config.lower()}")
    task = dataclasses.replace(task, payload=dataclasses.replace(task.payload, few_shot=()))

    def value(vectors):
        return next(row.value for row in evaluate(task, vectors, metrics=task.metrics[:1]) if row.split == "test")

    ceiling, (low, high) = value("oracle"), CEILINGS.get(config, (0, 101))
    assert low < ceiling < high
    if config in ("fos", "pub_year", *EXACT):
        found = value(tfidf_vectors(task))
        assert found > 10 and (config == "pub_year" or found < 0.9 * ceiling)
