"""The leak check: ids, titles, queries and pairs by hand; files, memory, the command; what the embedded literature keeps apart."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counted import peak
from small_files import jsonl, refused
from small_tasks import all_tasks

from scirep_core import load_task
from scirep_core.data.overlap import (
    Share,
    Sought,
    Text,
    Unit,
    check,
    overlap,
    sought,
    sought_in,
    title_key,
    training_units,
    units_in,
)
from scirep_core.kit.errors import ConfigError

LONG = {
    "a": "Swarms of small robots",
    "b": "Parsing with two stacks",
    "c": "Bird song in winter towns",
    "d": "Editorial",
}
PAIRS = (("a", "b", True), ("a", "c", False), ("q", "b", True), ("q", "d", False))
TASK = Sought("hand", LONG, frozenset("a"), {"q": "stack"}, PAIRS)


def one(*units: Unit, task: Sought = TASK):
    return overlap("train", units, [task])[0]


def unit(query: Text | None, *positives: Text, negative: Text | None = None) -> Unit:
    return Unit(query, (*((p, True) for p in positives), *(((negative, False),) if negative else ())))


def test_titles_are_compared_by_letters_and_digits_and_short_ones_say_nothing():
    for first, second, same in (
        ("Pre-training  of BERTs: A Survey", "pretraining of berts — a survey.", True),
        ("Étude des réseaux neuronaux", "Etude des reseaux neuronaux", True),
        ("STRASSE und Brücke heute", "straße und brücke heute", True),
        ("On the growth of trees", "On the growth of tree", False),
    ):
        assert (title_key(first) == title_key(second)) is same
    assert title_key("Introduction") == ""
    found = one(unit(Text("x", "Editorial"), Text("y", "EDITORIAL!")))
    assert (found.papers.seen, found.short_titles) == (0, 1)
    assert one(unit(None, Text("d"))).papers == Share(1, 4, ("d",))  # by id it can still be told


def test_shares_are_of_papers_queries_and_pairs():
    found = one(unit(Text("z", "swarms of SMALL robots"), Text("b"), negative=Text("zz", "Nothing of the kind here")))
    shares = {name: value[:2] for name, value in found._asdict().items() if isinstance(value, Share)}
    assert shares == {
        "papers": (2, 4), "by_id": (1, 4), "by_title": (1, 4), "queries": (1, 2), "asked": (1, 2),
        "both_seen": (1, 4), "trained_on": (1, 4), "as_positive": (1, 2), "other_title": (0, 4),
    }  # fmt: skip
    assert found.rows == 1


SEEN: dict[str, tuple[list[Unit], dict[str, tuple[str, ...]]]] = {
    "by id or by title": (
        [unit(Text("z", "swarms of SMALL robots"), Text("b"))], {"by_title": ("a",), "by_id": ("b",), "trained_on": ("a b",)}),
    "an id under another title is of another collection": (
        [unit(Text("a", "Something else entirely, on bread"), Text("b", "Parsing with two stacks"))],
        {"papers": ("b",), "other_title": ("a",), "trained_on": ()}),
    "both seen is not yet trained on": (
        [unit(Text("a"), Text("x")), unit(Text("y"), Text("b"), negative=Text("c"))],
        {"both_seen": ("a b", "a c"), "trained_on": ()}),
    "a negative pair is trained on, but not as a positive": (
        [unit(Text("b"), Text("x"), negative=Text("a"))], {"trained_on": ("a b",), "as_positive": ()}),
    "direction does not matter": ([unit(Text("b"), Text("a"))], {"as_positive": ("a b",)}),
    "what is not relevant is no positive": ([unit(Text("a"), Text("c"))], {"trained_on": ("a c",), "as_positive": ()}),
    "a positive pair stays one when it is a negative elsewhere": (
        [unit(Text("a"), Text("b")), unit(Text("a"), Text("x"), negative=Text("b"))], {"as_positive": ("a b",)}),
    "a bare query is told by its text": (
        [unit(Text("", " STACK "), Text("b"))], {"queries": ("q",), "asked": ("q",), "as_positive": ("q b",)}),
    "ids of queries belong to no one": ([unit(Text("q"), Text("b"))], {"queries": ()}),
}  # fmt: skip
"""What is seen, by which rows of training."""


@pytest.mark.parametrize("case", SEEN)
def test_what_is_seen_is_named(case):
    units, expected = SEEN[case]
    found = one(*units)
    assert {name: getattr(found, name).first for name in expected} == expected
    assert all(getattr(found, name).seen == len(first) for name, first in expected.items())


def test_papers_of_equal_title_are_all_seen_and_each_task_is_counted_for_itself_in_one_pass():
    twins = Sought("twins", {"1": "One and the same long title", "2": "One and the same long title!"})
    assert one(unit(None, Text("", "one and the same LONG title")), task=twins).papers.seen == 2
    other = Sought("other", {"b": "Parsing with two stacks", "e": ""})
    first, second = overlap("train", iter([unit(Text("a"), Text("b"))]), [TASK, other])
    assert (first.papers.seen, second.papers.seen, second.trained_on.of) == (2, 1, 0)
    refused(lambda: overlap("empty", [], [TASK]), "no training row")


def test_every_type_of_task_has_an_evaluation_side():
    tasks = all_tasks()
    for name, task in tasks.items():
        if task.type == "triplets":
            refused(lambda task=task: sought(task), "is training data", error=ConfigError)
            continue
        found = sought(task)
        assert found.titles, name
        places = found.titles.keys() | found.bare.keys()
        assert all(q in places and c in places for q, c, _ in found.pairs), name
        assert found.queries <= found.titles.keys(), name
    assert sought(tasks["classification"]).titles.keys() == {f"p{i}" for i in range(3, 9)}  # the test split
    assert sought(tasks["adhoc_search"]).bare == {"q1": "how to pop"}
    assert sought(tasks["proximity"]).pairs == (
        ("p0", "p1", True), ("p0", "p2", False), ("p0", "p3", True), ("p4", "p5", False), ("p4", "p6", True),
    )  # fmt: skip


ROWS = [
    {"query": {"doc_id": "a", "title": LONG["a"]}, "pos": {"doc_id": "b"}, "neg": {"corpus_id": 7, "title": "n"}},
    {"query": "a", "positive": "c", "negative": "x"},
    {"query": "stack", "candidates": [{"doc_id": "b", "score": 2, "title": None}, {"doc_id": "d", "score": 0}]},
    {"paper_id": 9, "title": "T"},
]
UNITS = [
    Unit(Text("a", LONG["a"]), ((Text("b"), True), (Text("7", "n"), False))),
    Unit(Text("a"), ((Text("c"), True), (Text("x"), False))),
    Unit(Text("", "stack"), ((Text("b"), True), (Text("d"), False))),
    Unit(None, ((Text("9", "T"), False),)),
]


def test_files_of_every_form(tmp_path):
    path = jsonl(tmp_path / "train.jsonl", ROWS)
    assert list(units_in(path)) == UNITS
    assert list(training_units(str(jsonl(tmp_path / "train.jsonl.gz", ROWS)))) == UNITS
    assert sought_in(path).titles.keys() == {"a", "b", "7", "c", "x", "stack", "d", "9"}
    part = {"doc_id": "a", "title": "T", "abstract": "not read", "corpus_id": 3}  # as the hub has it
    pq.write_table(pa.Table.from_pylist([{"query": part, "pos": part, "neg": part}]), tmp_path / "x.parquet")
    text = Text("a", "T")
    assert list(units_in(tmp_path / "x.parquet")) == [Unit(text, ((text, True), (text, False)))]


def test_what_is_no_training_data_is_refused(tmp_path):
    for row, says in (
        ({"abstract": "x"}, "train.jsonl:2: neither"),
        ({"query": {"abstract": "x"}, "pos": "a"}, ":2: query has neither"),
        ({"query": 1.5, "pos": "a"}, ":2: field 'query' must be"),
    ):
        path = jsonl(tmp_path / "train.jsonl", [ROWS[1], row])
        refused(lambda path=path: list(units_in(path)), says)
    says = "scirepeval/relish is no training data"
    refused(lambda: training_units("scirepeval/relish"), says, error=ConfigError)
    says = "did you mean 'scirepeval/cite_prediction'"
    refused(lambda: training_units("scirepeval/cite_predicton"), says, error=ConfigError)


def test_memory_does_not_grow_with_the_training_set():
    def held(n):
        rows = (unit(Text(f"q{i}", f"A title of training paper {i}"), Text(f"p{i}")) for i in range(n))
        title_key.cache_clear()
        return peak(lambda: overlap("train", rows, [TASK]))

    few = held(20_000)  # the cache of titles is full by then
    assert held(40_000) < 1.1 * few


def test_the_command_prints_counts_and_json(tmp_path, scirep):
    words = ("data", "overlap", jsonl(tmp_path / "train.jsonl", ROWS))
    papers = jsonl(tmp_path / "mine.jsonl", [{"paper_id": "b", "title": "X"}])
    code, out, _ = scirep(*words, papers)
    assert code == 0 and "1 of 1 (100.0 %)" in out
    (row,) = json.loads(scirep(*words, papers, "--json")[1])
    assert (row["task"], row["rows"]) == ("mine.jsonl", 4)
    assert row["papers"] == {"seen": 1, "of": 1, "percent": 100.0, "first": ["b"]}
    code, _, err = scirep(*words, "scirepeval/relsh")
    assert code == 2 and "did you mean 'scirepeval/relish'" in err and "Traceback" not in err


RANKED = ("same_author", "high_influence_cite", "scidocs_cite", "scidocs_cocite", "relish", "search", "mdcr")


def test_triplets_of_the_embedded_literature_ask_no_query_of_evaluation_but_show_its_candidates():
    for found in check("scirepeval/cite_prediction", [f"scirepeval/{name}" for name in RANKED], papers=600):
        unseen = (found.queries, found.both_seen, found.trained_on, found.other_title)
        assert [share.seen for share in unseen] == [0] * 4, found.task
        # candidates may be of any split
        assert found.by_id.seen == found.by_title.seen == found.papers.seen > 0, found.task
    # SciMult's pairs are told by title, as their ids are hashes
    (found,) = check("scimult/pretrain_citation", ["scirepeval/scidocs_cite"], papers=600)
    assert (found.by_id.seen, found.queries.seen) == (0, 0) and found.by_title.seen > 0


def test_a_bare_query_of_triplets_is_known_by_its_words():
    name = "scimult/pretrain_search"
    train, task = load_task(name, papers=600), load_task("scirepeval/search", papers=600)
    texts = {paper.paper_id: paper.title for paper in train.texts()}
    asked, *_ = next(train.payload.rows(train.payload.splits[0]))
    key = next(iter(task.queries))
    planted = replace(task, queries={**task.queries, key: texts[asked].upper()})  # short, and in another case
    (found,) = overlap(name, training_units(name, papers=600), [sought(planted)])
    assert found.queries.seen == 1 and found.queries.first == (key,)
