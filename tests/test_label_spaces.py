"""Label spaces: words on them have BM25's scores, the rule alone is the mean over all orders, samples become label spaces."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from rank_bm25 import BM25Okapi
from small_scimult import searched

from scirep_core.bench import label_spaces, scoring
from scirep_core.bench.systems import load_system
from scirep_core.data.task import Example, Labelled, LabelSpace, LabelText, Task
from scirep_core.encoders import lexical
from scirep_core.evaluators.labels import matching_alone
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import Paper
from scirep_core.page.papers import scimult
from scirep_core.results.differences import measured

TEXTS = "stack machines parse sentences, bird song in the forest, a chart of parse trees, robots plan with stack"
PAPERS = tuple(Paper(str(i), text, "") for i, text in enumerate(TEXTS.split(", ")))
NAMES = {key: LabelText(key, name) for key, name in
         {"s": "Stack", "p": "Parse trees", "b": "Bird song", "r": "Robots", "n": "Neutron stars"}.items()}  # fmt: skip
GOLD = {"0": ("s", "p"), "1": ("b",), "2": ("p",), "3": ("n",)}
MATCHED = {"0": ("s", "r"), "1": ("b",), "2": ("p",), "3": ("s", "r")}
SPACE = Task(
    "labels/small", "label_ranking", "CLF", ("recall@1", "recall@2"), LabelSpace(GOLD, NAMES, MATCHED), "real", "0" * 16,
    similarity="dot", texts=lambda: PAPERS,
)  # fmt: skip


def test_words_on_a_label_space_have_the_scores_of_bm25okapi():
    given = load_system("bm25").on(SPACE)
    index = BM25Okapi([lexical.tokens(label.name) for label in NAMES.values()])
    for paper in PAPERS:
        want = index.get_scores(lexical.tokens(paper.title))
        assert given.scores(paper.paper_id, list(NAMES)) == pytest.approx(list(want), abs=1e-5)
    rows = {row.metric: row.value for row in scoring.evaluate(SPACE, given, name="bm25")}
    assert rows["recall@1"] == pytest.approx(100 * (0.5 + 1 + 1 + 0) / 4)
    pool = searched({"0": {"2": 1}}, ("0", "2"), name="small", texts=lambda: PAPERS)
    for name in ("tfidf", "bm25"):  # a query that is in the pool is nearest to itself
        (row,) = scoring.evaluate(pool, load_system(name).on(pool), metrics=("recall@1",))
        assert row.value == 0 and row.pool.startswith("2 of 2 papers")


def test_the_rule_alone_is_the_mean_over_all_orders():
    found = {row.metric: row.value for row in matching_alone(SPACE, ("recall@1", "recall@2"))}
    space, keys = SPACE.payload, list(NAMES)
    for k in (1, 2):
        recalls = []
        for paper, gold in GOLD.items():
            matched = set(space.matched[paper])
            orders = [sorted(order, key=lambda key, m=matched: key not in m) for order in itertools.permutations(keys)]
            recalls.append(np.mean([len(set(order[:k]) & set(gold)) / len(gold) for order in orders]))
        assert found[f"recall@{k}_name_match"] == pytest.approx(100 * float(np.mean(recalls)))


def test_a_sample_becomes_a_label_space_and_a_foreign_class_is_an_error():
    sample = Task("sample/small", "classification", "CLF", ("f1_macro",), Labelled(
        {"train": (Example("0", 0),), "test": (Example("1", 1),)}, label_names=("Stack", "Bird song")), "real", "0" * 16,
        texts=lambda: PAPERS)  # fmt: skip
    made_of = label_spaces.label_space(sample, "labels/small")
    space = made_of.payload
    assert space.gold == space.matched == {"0": ("label:0",), "1": ("label:1",)} and "f1_macro" in made_of.metrics
    among = label_spaces.label_space(sample, "labels/all", list(NAMES.values()), papers=["1"]).payload
    assert among.gold == {"1": ("b",)}
    for few, many in ([NAMES["s"]], 1), ([], 0):
        with pytest.raises(DataError, match=f"is not among the {many} label texts"):
            label_spaces.label_space(sample, "labels/all", few)


def test_what_definitions_add_is_paired_and_names_alone_have_none():
    space = SPACE.payload
    labels = {key: name._replace(definition="of birds") for key, name in NAMES.items()}
    defined = replace(SPACE, payload=replace(space, labels=labels))
    bare = label_spaces.names_alone(defined)
    assert bare.data_hash != defined.data_hash
    first, second = (scimult.score(task, ("bm25",), bounds=False) for task in (defined, bare))
    values = [{row.metric: row.value for row in rows} for rows in (first, second)]
    gaps = list(scimult.changed(first, second, "names and definitions, names alone", "names alone"))
    assert gaps
    for gap in gaps:
        metric = measured(gap.metric).partition(",")[0]
        assert gap.value == pytest.approx(values[0][metric] - values[1][metric])


def test_real_names_of_mesh_are_ranked_for_real_papers(real_folder):
    found = label_spaces.real_tasks()
    space = found[label_spaces.ALL_MESH].payload
    assert (len(space.gold), len(space.labels)) == (206, 27_455)
    alone = {row.metric: row.value for row in matching_alone(found[label_spaces.ALL_MESH], label_spaces.CUTS)}
    assert alone["recall@20_name_match"] == pytest.approx(39.3, abs=0.1)
    assert len(found[label_spaces.HELD_OUT].payload.gold) == 76  # type: ignore[union-attr]


def test_without_the_names_of_mesh_there_is_no_such_space_and_what_is_malformed_is_an_error(
    monkeypatch, tmp_path, real_folder
):
    def refusing(path: object, reason: str):
        def refuse(name: str) -> None:
            raise DataError(path, None, reason)

        return refuse

    monkeypatch.setattr(label_spaces, "fetch", refusing("mesh", "cannot be had"))
    assert label_spaces.ALL_MESH not in label_spaces.real_tasks()
    (tmp_path / "terms.tsv").write_text("no table\n")
    for fetch, said in (
        (lambda name: tmp_path, r"terms\.tsv"),
        (refusing(tmp_path / "terms.tsv", "the file is altered"), "altered"),
    ):
        monkeypatch.setattr(label_spaces, "fetch", fetch)
        with pytest.raises(DataError, match=said):
            label_spaces.mesh_labels()
