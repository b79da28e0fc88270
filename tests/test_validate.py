"""A task that is not what it says it is gets found out: coverage, splits, leaks, relevance, counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scirep_core.cli import main
from scirep_core.data import task as t
from scirep_core.data.folder import write_folder
from scirep_core.data.validate import counts, near_duplicates, validate
from scirep_core.kit.records import Paper

TEXTS = {
    "a": "Mosses of the northern slope were counted twice a year by the same pair of observers.",
    "b": "A bridge of steel and oak carries trams across the estuary whatever the wind may do.",
    "c": "Readers of old newspapers remember advertisements better than the leading articles above them.",
    "d": "Two chess clubs exchanged letters for thirty years without a single game being finished.",
}
PAPERS = tuple(Paper(key, f"On {key}", text) for key, text in TEXTS.items())


def task(payload, kind: str | None = None, **more) -> t.Task:
    kind = kind or {t.Judged: "proximity", t.Pooled: "retrieval"}.get(type(payload), "classification")
    return t.Task("toy", kind, "CLF", ("f1",), payload, "folder", "0", texts=lambda: PAPERS, **more)


def examples(ids) -> tuple[t.Example, ...]:
    return tuple(t.Example(k, i % 2) for i, k in enumerate(ids))


def labelled(train="ab", test="cd") -> t.Labelled:
    return t.Labelled({"train": examples(train), "test": examples(test)})


def judged(*rows) -> t.Judged:
    return t.Judged(tuple(t.Qrel(*row) for row in rows))


GOOD = judged(("a", "b", 1), ("a", "c", 0), ("d", "c", 2), ("d", "b", 0))


@pytest.mark.parametrize("payload", [labelled(), GOOD, t.Pooled({"a": {"b": 1}}, ("b", "c", "d"))])
def test_a_sound_task_has_no_findings(payload):
    assert validate(task(payload)) == []


@pytest.mark.parametrize(
    ("payload", "check", "words"),
    [
        (labelled(test="cdx"), "texts", "1 judged ids without a text (x)"),
        (labelled(test="cda"), "splits", "1 papers in two splits (a)"),
        (t.Labelled({"train": examples("ab"), "test": (t.Example("c", 99),)}), "labels", "no training paper has (99)"),
        (judged(("a", "b", 1), ("a", "c", 0), ("a", "a", 0)), "splits", "their own candidates (a)"),
        (judged(("a", "b", 1), ("a", "c", 0), ("a", "b", 0)), "splits", "judged twice (a b)"),
        (judged(("a", "b", 0), ("a", "c", 0)), "relevance", "without a relevant candidate (a)"),
        (judged(("a", "b", 2), ("a", "c", 2)), "relevance", "equally relevant (a)"),
        (t.Pooled({"a": {"b": 0}}, ("b",)), "relevance", "queries without a relevant paper (a)"),
    ],
)
def test_each_fault_is_named(payload, check, words):
    (found,) = [str(f) for f in validate(task(payload)) if f.check == check]
    assert words in found and found.startswith(f"toy: {check}: ")


def test_a_test_text_that_nearly_repeats_a_training_text_is_a_leak():
    changed = TEXTS["a"].replace("twice a year", "thrice a year").upper()
    leaky = replace(task(labelled(test="ce")), texts=lambda: (*PAPERS, Paper("e", "ON A", changed + "!")))
    (found,) = [str(f) for f in validate(leaky) if f.check == "leak"]
    assert "e ~ a" in found
    assert not [f for f in validate(leaky, near=0.99) if f.check == "leak"]


def test_near_duplicates_gives_the_share_by_hand():
    train = {"t": "one two three four five six seven", "u": "nothing in common here at all"}
    test = {"same": "One, two; three four five SIX seven.", "half": "one two three four five zz yy", "short": "one two"}
    shares = {key: (other, share) for key, other, share in near_duplicates(test, train, near=0.3)}
    assert shares == {"same": ("t", 1.0), "half": ("t", pytest.approx(1 / 3))}
    assert near_duplicates({"s": "one two"}, {"t": "one two"}) == [("s", "t", 1.0)]
    assert near_duplicates({}, train) == [] == near_duplicates(test, {})


def test_counts_of_every_type():
    rows = {"train": (t.Triple("a", "b", "c"), t.Triple("a", "c", "d")), "validation": (t.Triple("b", "a"),)}
    names = {"L": t.LabelText("L", "law"), "M": t.LabelText("M", "m")}
    mentions = (t.Signature("1", "a", "x", "k"), t.Signature("2", "b", "x", "k"))
    for payload, expected in (
        (labelled(), {"train": 2, "test": 2, "papers": 4, "labels": 2}),
        (t.Judged((*GOOD.rows, t.Qrel("d", "a", 0, "Law"))), {"queries": 2, "pairs": 5, "groups": 1}),
        (t.Pooled({"a": {"b": 1}}, ("b", "c")), {"queries": 1, "papers": 2}),
        (t.LabelSpace({"a": ("L",)}, names), {"papers": 1, "labels": 2}),
        (t.Reviewers(GOOD.rows, GOOD.rows, {"r": ("a",)}), {"queries": 2, "pairs": 4}),
        (t.Signatures(mentions), {"clusters": 1, "signatures": 2}),
        (t.Collection(("a", "b")), {"papers": 2}),
        (t.Triples(lambda split: iter(rows[split]), ("train", "validation")), {"train": 2, "validation": 1, "queries": 2}),
    ):  # fmt: skip
        assert counts(task(payload)) == expected
    assert "labels" not in counts(task(labelled(), "regression"))


def test_the_command_names_what_is_wrong_with_a_folder(tmp_path, capsys):
    good, bad, half = (tmp_path / name for name in ("good", "bad", "half"))
    for folder, test in ((good, "cd"), (bad, "cda"), (half, "cda")):
        write_folder(task(labelled(test=test)), folder)
    (half / "test.jsonl").write_bytes(b'{"paper_id": "c", "label": 0}\n{"paper_id": "d", "lab\n')
    for folder, code, words in (
        (good, 0, "7 of 7"), (bad, 2, "splits: 1 papers in two splits (a)"), (half, 2, "test.jsonl:2: not a JSON object"),
    ):  # fmt: skip
        with pytest.raises(SystemExit) as left:
            main(["data", "verify", str(folder)])
        said = capsys.readouterr()
        assert left.value.code == code and words in (said.err if folder == half else said.out)


def test_published_counts_are_compared_on_real_data_only():
    real = replace(task(GOOD, "proximity"), name="scirepeval/scidocs_cite", source="real")
    assert [str(f) for f in validate(real)] == [
        "scirepeval/scidocs_cite: counts: 2 queries, the paper prints 1000",
        "scirepeval/scidocs_cite: counts: 4 pairs, the paper prints 29928",
    ]
    assert validate(replace(real, source="embedded")) == []
