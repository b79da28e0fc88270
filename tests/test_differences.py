"""A difference is known by its field; rows recorded before there was one get it where they are read, and ids stay."""

import hashlib
import json
from pathlib import Path

import pytest

from scirep_core.bench.leaderboard import what_of
from scirep_core.kit.records import read_jsonl
from scirep_core.results import ROOT, Result, from_json, read_results
from scirep_core.results.differences import difference_of, measured, versus

FILES = sorted((ROOT / "results").glob("*/**/*.jsonl*"))


def row(**more):
    given = {"task": "t", "split": "test", "metric": "map", "protocol": "paper", "value": 1.0, "n": 2, "encoder": "a"}
    return given | more


def test_ids_of_recorded_numbers_are_what_they_were_recorded_under():
    """The id on disk was written by the code of that day: it is the id before, of every row."""
    count = 0
    for path in FILES:
        for line, found in read_jsonl(path):
            assert from_json(found, path, line).id == found["id"]
            count += 1
    assert count > 17_000


def test_the_recorded_differences_are_those_there_were():
    """Ids of what was recorded as a difference, before rows had the field: none was lost or added, none was renamed."""
    ids = sorted(found.id for path in FILES for found in read_results(path) if found.against)
    assert (len(ids), hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]) == PINNED


PINNED = (1985, "bac9ca7150cbf636")
"""Those that the names told before, but for six that say `minus` of something else: `gain 2^grade - 1`, and what came since."""


def test_a_difference_is_written_with_what_it_is_against_and_read_again():
    made = Result(**row(encoder=versus("a", "b"), metric=difference_of("map"), against="b"))
    assert from_json(json.loads(json.dumps(made.to_json())), Path("x"), 1) == made
    assert (made.of_systems, made.systems, measured(made.metric)) == (True, ("a", "b"), "map")
    assert "against" not in Result(**row()).to_json()
    assert what_of(Result(**row(metric="difference of map"))) != "difference", "the field alone tells"


@pytest.mark.parametrize(("names", "against"), [
    ({"encoder": "minilm - tfidf", "metric": "difference of map"}, "tfidf"),
    ({"encoder": "a ++ b - a + b", "metric": "difference of map"}, "a + b"),
    ({"encoder": "a - b", "metric": "Holm p of the difference of ndcg%20"}, "b"),
    ({"encoder": "a - b", "metric": "map, difference of a and b"}, "b"),
    ({"metric": "difference of aop@10", "split": "LO-HS - LL-PS"}, "LL-PS"),
    ({"metric": "difference of aop@20 and aop@10"}, "aop@10"),
    ({"metric": "difference of f1, with and without intercept"}, "without intercept"),
    ({"metric": "difference of recall@20, own paper dropped, kept"}, "kept"),
    ({"metric": "t100, Task II minus Task I"}, "Task I"),
    ({"metric": "mrr, 0 to 1, minus as they are"}, "as they are"),
    ({"metric": "b3_f1 - b3_f1_metadata"}, "b3_f1_metadata"),
    ({"metric": "ndcg@10 (gain 2^g - 1)"}, ""),
    ({"metric": "ndcg, gain 2^grade - 1"}, ""),
    ({"metric": "map"}, ""),
    ({"metric": "mrr, 0 to 1"}, ""),
])  # fmt: skip
def test_old_rows_are_known_by_their_names_once(names, against):
    made = from_json(row(**names), Path("x"), 1)
    assert made.against == against
    assert (what_of(made) == "difference") == bool(against)
    assert made.id == ":".join(("live", "", "t", *(row(**names)[k] for k in ("encoder", "metric", "split")), "paper"))
