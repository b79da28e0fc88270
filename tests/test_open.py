"""The open literature: parts by hash, the leak rule, pairs and negatives, folders made once; counts where the mirror is.

The rules are tested on invented papers (small_open.py); the last tests read the real compact files, or skip.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_open
from small_files import jsonl, mirrored, refused
from small_open import ids

import scirep_core
from scirep_core.bench import suites
from scirep_core.bench.studies.outcome import record
from scirep_core.book.explain import recompute
from scirep_core.data.open import corpora, heldout, pairs, tasks, training
from scirep_core.data.open.compact import bucket
from scirep_core.data.overlap import sought
from scirep_core.data.task import Task, Triples
from scirep_core.evaluators.reviewers import pairs_ordered
from scirep_core.kit.errors import ConfigError, UnknownName
from scirep_core.results import Result, read_results
from scirep_core.training.data import Documents, Reading, TrainTask, build
from scirep_core.training.data.real import open_stream
from scirep_core.training.sets import of_variant
from scirep_core.training.variants import variant

needs_mirror = mirrored("open")


@pytest.fixture
def small(tmp_path, monkeypatch, tiny):
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "home"))
    small_open.settle(tmp_path / "compact", monkeypatch, tiny)
    yield tmp_path / "compact"
    small_open.forget()


def test_parts_are_fifths_by_the_hash_of_the_id_and_of_a_corpus_published_without_its_first_the_second_tests():
    drawn = Counter(corpora.part_of(f"vis:{i}", "vis") for i in range(5_000))
    assert {part: round(count / 500) for part, count in drawn.items()} == {"test": 2, "dev": 2, "train": 6}
    assert corpora.part_of("oa:W10002689", "synergy") == {0: "test", 1: "dev"}.get(bucket("oa:W10002689", 5), "train")
    there = [f"acl:{i}" for i in range(5_000) if bucket(f"acl:{i}", 5) != 0]
    drawn = Counter(corpora.part_of(key, "acl") for key in there)
    assert {key for key in there if corpora.part_of(key, "acl") == "test"} == {k for k in there if bucket(k, 5) == 1}
    assert 0.07 < drawn["dev"] / (drawn["dev"] + drawn["train"]) < 0.13


def test_a_title_that_is_held_out_anywhere_leaves_train_and_dev(small):
    first, second, *others = ids("vis", "train", "vis")
    assert corpora.parts()[first] == "" and corpora.part_of(first, "vis") == "train"
    assert all(corpora.parts()[key] == "train" for key in (second, *others))
    there = small_open.title("vis", int(second[4:]))  # a title of scifact leaves it too
    path = small / "scifact_corpus" / "corpus.jsonl.gz"
    jsonl(path, [{"doc_id": "0", "title": there, "abstract": ["One."]}])
    small_open.forget()
    assert corpora.parts()[second] == ""


def test_scifact_trains_nothing_and_asks_its_dev_claims_of_all_its_abstracts(small):
    made, trained = heldout.scifact(), training.search_triplets()
    assert set(made.queries) == {f"claim:{i}" for i in range(100, 115)}
    assert set(made.payload.pool) == corpora.records("scifact").keys()
    assert not {paper.paper_id for paper in trained.papers} & set(made.payload.pool)
    assert not any(query.startswith("claim:") for query in trained.queries)


def test_short_titles_are_compared_with_their_abstracts(small):
    test, first, second = ids("cacm", "test", "cacm")[0], *ids("cacm", "train", "cacm")[:2]
    texts = {test: "", first: "", second: "It is."}
    rows = [{"doc_id": key, "title": "Sorting.", "abstract": text} for key, text in texts.items()]
    jsonl(small / "classic_ir" / "cacm_docs.jsonl.gz", rows)
    small_open.forget()
    assert [corpora.parts()[key] for key in texts] == ["test", "", "train"]


@pytest.mark.parametrize("relation", [pairs.cited, pairs.same_author, pairs.coupled])
def test_a_pair_counts_only_within_a_part(small, relation):
    for part in ("train", "dev", "test"):
        papers = corpora.of_part("vis", part)
        found = relation("vis", papers)
        assert found and {key for query, others in found.items() for key in (query, *others)} <= papers.keys()
        assert not any(query in others for query, others in found.items())


def test_an_author_name_of_too_many_papers_is_told_by_the_whole_corpus_and_gives_no_negatives(small, monkeypatch):
    # names a0 to a3 have 15 papers in each corpus, at most 9 of them in a part
    monkeypatch.setattr(pairs, "MOST_PAPERS", 14)
    papers = corpora.of_part("vis", "train")
    assert {author[:4] for author in pairs.bylines("vis", papers)} == {"visc"}
    every = {key: record for corpus in pairs.LINKED for key, record in corpora.records(corpus).items()}
    names = {key: set(record.row["author_ids"]) for key, record in every.items()}
    ranked = training.proximity("open/same_author", pairs.same_author, pairs.coauthored).payload
    negatives = [(row.query_id, row.cand_id) for row in ranked.rows if not row.score]
    negatives += [(row.query, row.negative) for row in training.author_triplets("vis", "train")]
    assert len(negatives) > 100 and not any(names[query] & names[other] for query, other in negatives)


@pytest.mark.parametrize("relation", [pairs.cited, pairs.coupled])
def test_no_negative_cites_the_query_or_is_cited_by_it(small, relation):
    of = {corpus: corpora.of_part(corpus, "test") for corpus in pairs.LINKED}
    linked = {key: set(others) for corpus, papers in of.items() for key, others in pairs.linked(corpus, papers).items()}
    linked |= {key: set(others) for key, others in pairs.linked("vis", corpora.of_part("vis", "train")).items()}
    asked = [training.proximity("open/x", relation, pairs.linked), heldout.synergy_reviews()]
    negatives = [(row.query_id, row.cand_id) for made in asked for row in made.payload.rows if not row.score]
    trained = {pairs.cited: training.cite_triplets, pairs.coupled: training.coupling_triplets}[relation]
    negatives += [(row.query, row.negative) for row in trained("vis", "train")]
    assert len(negatives) > 100 and not [pair for pair in negatives if pair[1] in linked.get(pair[0], ())]


def test_coupled_papers_share_five_references_and_an_unknown_citation_count_is_left_out(small):
    found = pairs.coupled("vis", corpora.records("vis"))
    assert "vis:7" not in found  # topic 0 has four
    assert set(found["vis:1"]) == {f"vis:{i}" for i in range(8, small_open.PAPERS, 7)}
    labels = {one.paper_id: one.label for of in training.citations().payload.splits.values() for one in of}
    assert "ml:0" not in labels and "vis:3" not in labels and labels["ml:5"] == pytest.approx(math.log1p(4))


def test_negatives_are_neither_relevant_nor_the_query_and_depend_on_the_query_alone():
    pool = [f"p{i}" for i in range(60)]
    related = {"p0": [f"p{i}" for i in range(1, 9)], "p10": ["p11"]}
    rows = list(pairs.qrels("t", related, pool))
    by = {query: [row for row in rows if row.query_id == query] for query in related}
    assert [sum(row.score for row in by[query]) for query in related] == [pairs.POSITIVES, 1]
    assert all(sum(not row.score for row in of) == pairs.NEGATIVES for of in by.values())
    for query, of in by.items():
        assert not {row.cand_id for row in of if not row.score} & {query, *related[query]}
        assert len({row.cand_id for row in of}) == len(of)
    assert list(pairs.qrels("t", {"p10": ["p11"]}, pool)) == by["p10"]
    assert list(pairs.qrels("u", {"p10": ["p11"]}, pool)) != by["p10"]
    assert pairs.drawn("t", "p0", pool[:3], 25, ["p1"]) == ["p2"] and pairs.drawn("t", "p0", ["p0"], 5, ()) == []


def test_strata_keep_negatives_to_the_query_s_own_review_and_one_without_included_papers_is_not_asked(small):
    review = {key: record.row["reviews"][0] for key, record in corpora.records("synergy").items()}
    negatives = [row for row in heldout.synergy_reviews().payload.rows if not row.score]
    assert negatives and all(review[row.query_id] == review[row.cand_id] for row in negatives)
    made, test = heldout.reviews(), set(ids("synergy", "test", "oa"))
    assert {row.query_id for row in made.payload.rows} == set(made.queries) == {"review:review0", "review:review1"}
    assert {row.cand_id for row in made.payload.rows} == test


def test_two_in_five_triplets_have_a_hard_negative_that_the_query_does_not_cite(small):
    papers = corpora.of_part("vis", "train")
    cited, far = pairs.cited("vis", papers), pairs.cited_by_cited("vis", "train")
    rows = list(training.cite_triplets("vis", "train"))
    assert len(rows) == sum(map(len, cited.values()))
    for row in rows:
        assert row.positive in cited[row.query] and row.negative not in {*cited[row.query], row.query} and row.negative
    with_hard = [query for query, ones in cited.items() if far[query] - set(ones) - {query}]
    hard = Counter(row.query for row in rows if row.negative in far[row.query])
    assert with_hard and all(hard[query] >= 1 for query in with_hard)
    many = list(pairs.triples("t", {"q": [f"p{i}" for i in range(10)]}, [f"n{i}" for i in range(40)],
                              {"q": [f"h{i}" for i in range(40)]}, None))  # fmt: skip
    assert [row.negative[0] for row in many] == list("hhnnnhhnnn")


def test_phrases_have_two_words_and_the_unseen_ones_are_in_no_paper_that_trains(small):
    train, made = pairs.phrases("train"), heldout.phrases() if len(pairs.phrases("test").texts) else None
    assert {"phrase:graph layout"} <= train.texts.keys() and not any("alone" in key for key in train.texts)
    seen = training.search().payload
    assert "phrase:graph layout" in seen.relevant
    assert made is None or not made.queries.keys() & train.texts.keys()


def test_reviewers_order_what_they_rated_and_quarters_are_grades(small):
    made = heldout.reviewer_match()
    hard, profile = made.payload.hard, made.payload.reviewers["p0"]
    assert [(row.query_id, row.score) for row in hard] == [("s2:30", 0), ("s2:31", 9), ("s2:32", 4), ("s2:33", 4)]
    assert "s2:0" not in profile and "s2:2" in profile  # no abstract, no paper
    qrels = {("", row.query_id): {row.cand_id: row.score} for row in hard}
    scores = {"s2:30": {"p0": 0.1}, "s2:31": {"p0": 0.2}, "s2:32": {"p1": 0.3}, "s2:33": {"p1": 0.1}}
    right = {("", query): of for query, of in scores.items()}
    assert pairs_ordered(qrels, right) == {"p0": 1.0}  # p1 gave one grade: there is no order
    assert pairs_ordered(qrels, {**right, ("", "s2:30"): {"p0": 0.2}}) == {"p0": 0.5}
    graded = {("", "a"): {"r": 4}, ("", "b"): {"r": 1}, ("", "c"): {"r": 0}}
    assert pairs_ordered(graded, {("", "a"): {"r": 0.0}, ("", "b"): {"r": 2.0}, ("", "c"): {"r": 1.0}})["r"] == 1 / 8


def test_the_other_papers_questions_are_asked_of_the_same_papers(small):
    links = heldout.link_prediction().payload
    labels = heldout.label_texts("synergy", training.descriptors, "mesh").payload
    assert not links.keep_self and set(links.relevant) < set(links.pool)
    assert {one.name for one in labels.labels.values()} == {"D0", "D1", "D2"}
    assert set(labels.gold) == set(ids("synergy", "test", "oa"))
    assert heldout.collection("acl").payload.counts() == {"papers": small_open.PAPERS}
    made = heldout.pubmedqa().payload  # held out whole, it tests on the same fifth as others
    assert {one.paper_id for one in made.splits["test"]} == set(ids("pubmedqa", "test", "pmid"))
    assert sum(map(len, made.splits.values())) == small_open.PAPERS


def test_a_task_is_made_once_and_made_again_where_its_folder_was_altered(small, monkeypatch):
    task = scirep_core.load_task("open/cite", source="open")
    assert isinstance(task, Task) and (task.name, task.source, task.related) == ("open/cite", "open", "in-train")
    assert {row.group for row in task.payload.rows} == {"acl", "vis", "synergy"}
    made = []
    monkeypatch.setattr(tasks, "_task", lambda name, make=tasks._task: made.append(name) or make(name))
    assert scirep_core.load_task("open/cite").data_hash == task.data_hash and not made
    file = next(Path(os.environ["SCIREP_HOME"]).glob("open/*/cite/qrels.jsonl"))
    file.write_text(file.read_text().replace('"score": 0', '"score": 1', 1))
    assert scirep_core.load_task("open/cite").data_hash == task.data_hash and made == ["open/cite"]


def test_other_compact_files_or_rules_are_another_folder(small, monkeypatch, tmp_path):
    keys, other = [tasks._key()], tmp_path / "other.py"
    other.write_text("")
    (small / "biomimicry" / "more.jsonl.gz").write_bytes(b"")
    small_open.forget()
    keys.append(tasks._key())
    for module in (tasks.overlap, tasks.task_folder, tasks.csfcube, tasks.samples):
        small_open.forget()
        with monkeypatch.context() as patch:
            patch.setattr(module, "__file__", str(other))
            keys.append(tasks._key())
    assert len(set(keys)) == 6
    refused(lambda: scirep_core.load_task("open/same_authors"), "open/same_author", error=UnknownName)


class Words:
    """A tokenizer of our own: a word a number."""

    def ids(self, texts, most):
        return [[101, *(len(word) for word in text.split()[: most - 2]), 102] for text in texts]


def test_training_reads_all_eight_with_their_dev_part(small, monkeypatch):
    for name, *given in (("arxiv_categories", "categories", "arxiv", 20), ("mesh", "mesh_major", "synergy", 5)):
        row = tasks.ROWS[f"open/{name}"]._replace(make=lambda given=given: training.categories(*given))
        monkeypatch.setitem(tasks.ROWS, f"open/{name}", row)
    for split in ("train", "validation"):
        made = build([open_stream(name, split) for name in tasks.TRAINED], Words(), Reading(max_length=16))
        assert [one.name for one in made] == list(tasks.TRAINED)
        assert [one.kind for one in made] == ["multi_label"] * 2 + ["regression"] * 2 + ["triplet"] * 4
        paired = build([open_stream(name, split) for name in tasks.PAIRED], Words(), Reading(max_length=16))
        assert [one.query_format for one in paired] == ["CLF", "CLF", "PRX", "QRY"]
    assert (made[-1].query_format, made[-1].format) == ("QRY", "PRX")
    stream = open_stream("open/year")
    years = [row.target for row in stream.rows()]
    assert stream.mean == pytest.approx(sum(years) / len(years))
    refused(lambda: open_stream("open/cite"), "is not trained on", error=ConfigError)


def test_a_label_is_a_text_that_its_paper_has_and_the_negative_one_it_has_not(small):
    made = training.label_triplets("open/mesh_triplets", "synergy", training.descriptors)
    papers = corpora.records("synergy")
    own = {key: {f"label:{name}" for name in training.descriptors(record)} for key, record in papers.items()}
    rows = [row for split in ("train", "validation") for row in made.payload.rows(split)]
    assert rows and all(row.positive in own[row.query] and row.negative not in own[row.query] for row in rows)
    assert ("label:D1", "D1", "") in {(paper.paper_id, paper.title, paper.abstract) for paper in made.papers}
    assert not {row.query for row in rows} & set(ids("synergy", "test", "oa"))


def test_scimult_trains_on_the_open_literature_with_queries_and_candidates_read_alike():
    def task(name, route, query):
        rows = np.array([[0, 1, 2], [1, 0, 2]])
        return TrainTask(name, route, query, "triplet", Documents(np.zeros(3, np.int32), np.arange(4)), rows)

    there = [task(f"open/{name}_triplets", "PRX", query)
             for name, query in (("mesh", "CLF"), ("cite", "PRX"), ("search", "QRY"))]  # fmt: skip
    named = (variant(f"SciMult Vanilla{more}") for more in ("", " without label negatives", " on search alone"))
    plain, bare, alone = (of_variant(one, there) for one in named)
    assert [(one.format, one.query_format) for one in plain] == [("CLF",) * 2, ("PRX",) * 2, ("QRY",) * 2]
    assert [one.rows[:, 2].tolist() for one in bare] == [[-1, -1], [2, 2], [2, 2]]
    assert [one.name for one in alone] == ["open/search_triplets"]
    assert [one.format for one in of_variant(variant("MTL CTRL"), there)] == ["PRX", "PRX"]


def rows_of_all() -> list[Result]:
    return [Result(unit.task, split, metric, "paper", float(i), 10, encoder="e", source="open", data_hash="d", fingerprint="f")
            for i, unit in enumerate(suites.units("open")) for split, metric in unit.members]  # fmt: skip


def test_the_average_is_over_units_and_refuses_a_silent_subset():
    rows, count = rows_of_all(), len(suites.units("open"))
    made = {row.split: row for row in suites.averages(rows, "open")}
    assert count == 26 and made["all"].value == pytest.approx((count - 1) / 2) and made["all"].task == "open/average"
    assert (made["in-train"].n, made["out-of-train"].n) == (8, 18)
    assert {split: made[split].n for split in ("CLF", "RGN", "PRX", "QRY")} == {"CLF": 7, "RGN": 4, "PRX": 9, "QRY": 6}
    some = [row for row in rows if (row.task, row.split) != ("open/drsm", "24-shot")]
    refused(lambda: suites.averages(some, "open"), "1 missing: drsm (24-shot)", error=ConfigError)


def test_rows_are_recorded_once_with_the_command_that_gives_them_again(tmp_path):
    file, rows = tmp_path / "rows.jsonl", rows_of_all()[:2]
    record(file, [replace(row, by_query={"q": 1.0}) for row in rows], "suite/open", "scirep score open --encoder e")
    record(file, [replace(rows[0], value=7.0)], "suite/open", "scirep score open --encoder e")
    found = {row.task + row.split: row for row in read_results(file)}
    assert len(found) == 2 and found[rows[0].task + rows[0].split].value == 7.0
    assert all(recompute(row) == "scirep score open --encoder e" and not row.by_query for row in found.values())


@needs_mirror
@pytest.mark.parametrize("name", tasks.ROWS)
def test_every_task_has_the_counts_that_are_pinned(name, own_home):
    task, spec = scirep_core.load_task(name), tasks.OPEN[name]
    counts = task.payload.counts()
    assert {key: counts[key] for key in spec.expect} == dict(spec.expect)
    assert (task.type, task.format, task.metrics) == (spec.type, spec.format, spec.metrics)
    assert getattr(task.payload, "few_shot", ()) == spec.few_shot and bool(task.queries) == spec.text_query


@needs_mirror
def test_no_paper_and_no_title_that_is_tested_trains(own_home):
    trained: dict[str, str] = {}
    for name in tasks.TRAINED:
        task = scirep_core.load_task(name)
        if isinstance(task.payload, Triples):
            keys = {key for split in task.payload.splits for row in task.payload.rows(split) for key in row}
        else:
            keys = {one.paper_id for split in ("train", "validation") for one in task.payload.splits[split]}
        trained |= {key: corpora.text_key(task.papers[key]) for key in keys if key in task.papers}
    texts = set(trained.values()) - {""}
    assert len(trained) == 51_443
    for name in (name for name, spec in tasks.OPEN.items() if spec.relation in ("in-train", "out-of-train")):
        task = scirep_core.load_task(name)
        tested = {key: task.papers.get(key) for key in sought(task).titles}
        shared = [key for key, paper in tested.items()
                  if key in trained or (paper and corpora.text_key(paper) in texts)]  # fmt: skip
        assert not shared, f"{name}: {shared[:3]}"
