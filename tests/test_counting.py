"""The chapters that count collections: printed tables as data, counts by hand, what is said from what is counted."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from small_files import jsonl, refused

from scirep_core.data import TASKS
from scirep_core.data import task as t
from scirep_core.evaluators.changed import collection
from scirep_core.evaluators.labels import counts as name_counts
from scirep_core.evaluators.labels import matcher
from scirep_core.kit.records import Paper
from scirep_core.page import counting
from scirep_core.page.chapter import Chapter
from scirep_core.page.counting import Gathered
from scirep_core.page.papers.neighbours import COLLECTIONS
from scirep_core.results.published import Printed, lookup, table

PAPERS = (
    Paper("1", "Parsing with stacks", "Parsing is slow. We use a stack. It is fast."),
    Paper("2", "Charts", "A chart is filled."),
    Paper("3", "Charts", "A chart is filled."),
    Paper("4", "Bird song", ""),
)


def task(name, payload, papers=PAPERS, **more):
    spec = TASKS[name]
    return t.Task(name, spec.type, spec.format, (), payload, "folder", f"hash of {name}", texts=lambda: papers, **more)


NAMES = {
    key: t.LabelText(key, name) for key, name in {"c": "Chart", "s": "stack", "b": "bird song", "p": "pars"}.items()
}
FOS = task(
    "scirepeval/fos",
    t.Labelled(
        {"train": (t.Example("1", (1, 1, 0)), t.Example("2", (1, 0, 0))), "test": (t.Example("4", (0, 1, 0)),)},
        multi_label=True,
    ),
)
YEAR = task("scirepeval/pub_year", t.Labelled({"train": (t.Example("1", 0.5),), "test": (t.Example("2", 0.7),)}))
RELISH = task(
    "scirepeval/relish", t.Judged((t.Qrel("1", "2", 2), t.Qrel("1", "3", 0), t.Qrel("1", "4", 0), t.Qrel("2", "3", 1)))
)
COLLECTION = task("neighbours/acl_anth", t.Collection(("1", "2", "3", "4")))
TRIPLES = task(
    "scimult/pretrain_citation",
    t.Triples(lambda split: iter((t.Triple("a", "b", "c"), t.Triple("a", "d", "c")))),
    papers=(),
)
FINE = task("scimult/geography", t.LabelSpace({"1": ("s", "c"), "2": ("b",)}, NAMES, {"1": ("s",), "2": ("c",)}))
COUNTED = [
    (FOS, {"test": 1, "labels": 2}), (RELISH, {"queries": 2, "pairs": 4}), (FINE, {"papers": 2, "labels": 4}),
    (COLLECTION, {"papers": 4}), (TRIPLES, {"train": 2, "queries": 1}),
]  # fmt: skip
"""Other types are counted in test_task_folder.py."""
SCIREPEVAL = [name for name, spec in TASKS.items() if {"V1-T1", "V2-T1"} & set(spec.rows)]


@pytest.fixture
def chapter(tmp_path):
    """A chapter that collects what it shows in `chapter.held`."""
    return Chapter("scirepeval/tasks", {"data": "embedded", "papers": 300, "seed": 0}, tmp_path, held=[])


def test_table_1_has_a_row_for_every_task_of_its_version():
    for exhibit, count in (("V2-T1", 24), ("V1-T1", 25)):
        formats = [p.value for (_, column), p in lookup(exhibit).items() if column == "format"]
        assert len(formats) == count and set(formats) == {"CLF", "RGN", "PRX", "SRCH"}
    for name in SCIREPEVAL:
        title = TASKS[name].title
        assert (title, "metric") in lookup("V2-T1") or (title.removeprefix("SciDocs "), "metric") in lookup("V1-T1")


def test_printed_sizes_are_those_of_the_inventory():
    v2, compared = lookup("V2-T1"), 0
    names = ("train", "test", "train queries", "train pairs", "queries", "pairs", "clusters", "signatures")
    for name in SCIREPEVAL:
        spec = TASKS[name]
        for column, key in ((column, column.replace(" ", "_")) for column in names):
            if (spec.title, column) in v2 and key in spec.expect:
                compared += 1
                assert v2[spec.title, column].number == spec.expect[key], (name, column)
    assert compared > 30
    for exhibit in ("SM-TA1", "SM-TA2"):
        counted = [p.number for p in table(exhibit) if p.column == "#Queries"]
        expected = [spec.expect for spec in TASKS.values() if exhibit in spec.rows]
        assert sorted(counted) == sorted(of.get("queries", of.get("papers")) for of in expected)


def test_both_versions_print_the_same_fields():
    v2, v1 = ({key: p.value for key, p in lookup(exhibit).items()} for exhibit in ("V2-T9", "V1-T8"))
    assert len(v2) == 19 * 3 and v2 == v1


@pytest.mark.parametrize(("value", "bounds"), [
    ("58.3k", (58_250, 58_350)), ("677k", (676_500, 677_500)), ("1199", (1199, 1199)), ("8.48k", (8475, 8485)),
])  # fmt: skip
def test_rounded_statements_stand_for_a_range(value, bounds):
    assert Printed("p", "e", "r", "c", value, "", "").bounds == pytest.approx(bounds)


@pytest.mark.parametrize(("task", "counts"), COUNTED, ids=lambda one: getattr(one, "name", ""))
def test_counts_of_every_type(task, counts):
    assert {name: value for name, value, _ in counting.counts(task)} == counts


def test_labels_and_scores_are_shares_of_papers_and_pairs():
    assert [*counting.label_shares(FOS)] == [
        ("papers with label 0, %", pytest.approx(200 / 3), 3), ("papers with label 1, %", pytest.approx(200 / 3), 3),
    ]  # fmt: skip
    assert [*counting.label_shares(YEAR)] == []
    assert {*counting.score_shares(RELISH)} == {
        ("pairs with score 0, %", 50.0, 4), ("pairs with score 1, %", 25.0, 4), ("pairs with score 2, %", 25.0, 4),
        ("candidates per query", 2.0, 2),
    }  # fmt: skip


def test_lengths_count_tokens_with_both_ends_of_all_texts_or_every_fourth_of_the_first_two_thousand():
    assert counting.token_counts(["stack", "a stack"]) == [3, 4]
    long = task("scirepeval/relish", RELISH.payload, papers=[Paper("1", "word " * 600, "")])
    assert {name: value for name, value, _ in counting.lengths(long)}["texts over 512 tokens, %"] == 100
    assert list(counting.lengths(TRIPLES)) == []
    rising = [Paper(str(i), "word " * (i > 2000), "") for i in range(4000)]  # what is read first is no random sample
    many = task("scirepeval/relish", RELISH.payload, papers=rising)
    for whole, n, share in ((False, 500, 0), (True, 4000, 100 * 1999 / 4000)):
        assert {(v, n) for name, v, n in counting.lengths(many, [3], whole) if "over" in name} == {(share, n)}


@pytest.mark.parametrize(("text", "count"), [
    ("", 0), ("One.", 1), ("One. Two? Three!", 3), ("We use e.g. stacks. 3 of them.", 2), ("No end", 1),
])  # fmt: skip
def test_sentences(text, count):
    assert collection.sentences(text) == count


def test_facts_of_a_collection():
    facts = {row.metric: row.value for row in collection.measure(COLLECTION)}
    for name, value in {
        "papers": 4, "without an abstract": 1, collection.SAME_TEXT: 2, collection.SAME_TITLE: 2,
        "abstracts under 3 sentences, %": 200 / 3, "sentences, mean": 5 / 3,
    }.items():  # fmt: skip
        assert facts[name] == pytest.approx(value), name


ODD = {"e": t.LabelText("e", "--"), "s": t.LabelText("s", "Sjögren's syndrome"), "c": t.LabelText("c", "C++")}


@pytest.mark.parametrize(("labels", "text", "found"), [
    (NAMES, ["A CHART; bird-song, stacks, parsing"], ("c", "b")), (NAMES, ["bird. Song"], ("b",)), (NAMES, [""], ()),
    (NAMES, ["On a bird", "Song of stacks"], ()), (NAMES, ["On a bird song", "Stacks"], ("b",)),  # title and abstract
    (ODD, ["-- x"], ()),
    (ODD, ["In SJO\u0308GREN S SYNDROME"], ("s",)),  # an accent in two codes is one letter
    (ODD, ["Vitamin C."], ("c",)),  # characters that are no letters and digits do not count
])  # fmt: skip
def test_names_match_as_whole_words_in_any_case_within_title_or_abstract(labels, text, found):
    assert matcher(labels)(*text) == found


def test_matching_is_measured_against_gold_and_against_the_lists():
    counts = {name: (value, n) for name, value, n in name_counts(FINE)}
    assert counts["labels per paper, mean"] == (1.5, 2)
    assert counts["gold labels that match (listed), %"] == (pytest.approx(100 / 3), 3)
    assert counts["matching labels that are gold (listed), %"] == (50.0, 2)
    assert counts["papers without a match (listed), %"] == (0.0, 2)
    assert counts["listed matches that the rule finds, %"] == (100.0, 2)
    bare = replace(FINE, payload=replace(FINE.payload, gold=dict.fromkeys(FINE.payload.gold, ())))
    found = {name: value for name, value, _ in name_counts(bare)}  # papers without gold labels have no share of them
    assert not any(name.startswith("gold labels that match") for name in found)
    assert found["matching labels that are gold (listed), %"] == 0.0


def test_tasks_that_are_not_at_hand_are_told_once_a_reason(chapter):
    why = "67 of 67 files are not here"
    counting.say_absent(chapter, Gathered({}, {"scirepeval/fos": why, "scirepeval/drsm": why}))
    said = re.sub(r"<svg.*?</svg>|<[^>]+>", "", "\n".join(chapter.held), flags=re.DOTALL)
    assert "2 tasks are not at hand; 0 are" in said and said.count(why) == 1


def test_a_folder_without_a_collection_leaves_it_out_but_damage_is_an_error(chapter, tmp_path):
    path = jsonl(
        tmp_path / "own" / "iclr" / "iclr.jsonl", [{"paper_id": "1", "title": "Stacks", "abstract": "We push."}]
    )
    chapter.parameters["data"] = str(tmp_path / "own")
    gathered = counting.gather(chapter, COLLECTIONS)
    assert list(gathered.tasks) == ["neighbours/iclr"] and len(gathered.absent) == 6
    path.write_text(json.dumps({"paper_id": "1"}))
    refused(lambda: counting.gather(chapter, COLLECTIONS), "iclr.jsonl:1: ", "title")


def test_real_reads_what_is_at_hand_and_fetches_nothing_large(chapter, monkeypatch, home):
    monkeypatch.delenv("SCIREP_DATA_MIRROR", raising=False)
    monkeypatch.setattr(counting, "samples", lambda wanted: [])
    chapter.parameters["data"] = "real"
    gathered = counting.gather(chapter, ("scirepeval/fos", "neighbours/acl_anth"))
    assert not gathered.tasks and gathered.absent["scirepeval/fos"].endswith("scirep data get scirepeval/fos")


def test_real_samples_are_counted(real_folder, chapter):
    chapter.parameters["data"] = "real"
    gathered = counting.gather(chapter, COLLECTIONS)
    measured = (row for task in gathered.tasks.values() for row in collection.measure(task))
    rows = {(row.task, row.metric): row for row in measured}
    assert rows["sample/acl_anth", "papers"].value == 9_639 and rows["sample/iclr", "papers"].value == 3_519
    assert rows["sample/iclr", collection.SAME_TITLE].value == 0
