"""What is said of the data in passing: the cap on training sets, citations of citations, papers without an abstract."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from blank_page import Shown

from scirep_core.bench import scoring
from scirep_core.data import TASKS, load_task
from scirep_core.data.readers.scirepeval import PaperTriple, RankedQuery, TrainExample
from scirep_core.data.sources import literature
from scirep_core.data.task import Judged, Qrel, Task, Triple, Triples
from scirep_core.evaluators.reference import tfidf_vectors
from scirep_core.exhibits import scirepeval_limits as limits
from scirep_core.exhibits import scirepeval_titles as titles
from scirep_core.exhibits.counting import Gathered
from scirep_core.kit.records import Paper
from scirep_core.results import Result
from scirep_core.results.published import lookup

GIVEN = {"data": "embedded", "papers": 300, "encoders": "tfidf,bm25", "protocol": "paper", "seed": 0, "quick": True}


@pytest.fixture
def chapter(tmp_path: Path) -> Shown:
    """A chapter that collects what it shows in `chapter.page`."""
    return Shown("scirepeval/baselines", GIVEN, tmp_path)


def text_of(chapter: Shown) -> str:
    return re.sub(r"<[^>]+>", "", "\n".join(chapter.page))


def stored(chapter: Shown) -> dict[str, float]:
    lines = (chapter.folder / "rows.jsonl").read_text().splitlines()
    return {row["metric"]: row["value"] for row in map(json.loads, lines)}


# ---- the cap --------------------------------------------------------------------------------------------------------


def test_training_sets_are_those_of_table_1_and_their_bounds_follow():
    sets = {one.task: one.most for one in limits.training_sets()}
    # v1 Table 1: papers and triplets count once, queries five times
    assert sets == {
        "scirepeval/fos": 676_524, "scirepeval/mesh_descriptors": 2_328_179, "scirepeval/cite_count": 202_774,
        "scirepeval/pub_year": 218_864, "scirepeval/cite_prediction": 819_836, "scirepeval/high_influence_cite": 5 * 65_982,
        "scirepeval/same_author": 5 * 76_489, "scirepeval/search": 5 * 723_343,
    }  # fmt: skip
    assert sum(min(most, 600_000) for most in sets.values()) == 3_533_993
    # v2's search set is smaller and above the cap still, so the totals that it repeats can be the same
    assert {one.task: min(one.most, 600_000) for one in limits.training_sets("V2-T1")} == {
        task: min(most, 600_000) for task, most in sets.items()
    }


def test_caps_are_held_against_the_printed_totals(chapter):
    limits.caps(chapter, Gathered({}, {}))
    said, found = text_of(chapter), stored(chapter)
    assert found["instances of all eight at most, cap 600K"] == 3_533_993
    assert found["instances of all eight at most, cap 400K"] == 2_733_993
    assert found["instances the cap allows beyond those printed"] == pytest.approx(263_993)
    assert "so the first fits, with 263,993 to spare" in said
    assert "The two together would not: the cap is of training alone" in said
    assert "It changes 4 of the 8 sets" in said


def test_other_totals_would_be_judged_otherwise(chapter, monkeypatch):
    printed = lookup("V1-C7")
    changed = {
        key: one._replace(value={"3.27": "3.6", "446": "900"}.get(one.value, one.value)) for key, one in printed.items()
    }
    monkeypatch.setattr(limits, "lookup", lambda exhibit: changed if exhibit == "V1-C7" else lookup(exhibit))
    limits.caps(chapter, Gathered({}, {}))
    assert "so the first does not fit" in text_of(chapter)
    changed.update(
        {
            key: one._replace(value={"3.27": "3.0", "446": "100"}.get(one.value, one.value))
            for key, one in printed.items()
        }
    )
    limits.caps(chapter, Gathered({}, {}))
    assert "the two together fit too" in text_of(chapter)


def test_instances_are_papers_triplets_or_up_to_five_of_a_query():
    papers = [Paper(str(i), f"t{i}", "") for i in range(9)]
    large = RankedQuery(papers[0], tuple(papers[1:9]), (1, 1, 1, 1, 0, 0, 0, 0))  # 16 pairs
    small = RankedQuery(papers[0], tuple(papers[1:4]), (1, 1, 0))  # 2 pairs
    none = RankedQuery(papers[0], tuple(papers[1:3]), (1, 1))
    assert limits.instances([large, small, none]) == (3, 7)
    assert limits.instances([TrainExample(papers[0], "a"), PaperTriple(*papers[:3])]) == (2, 2)


def test_embedded_training_sets_are_counted(chapter):
    task = load_task("scirepeval/cite_prediction", "embedded", 300)
    limits.caps(chapter, Gathered({task.name: task}, {}))
    assert isinstance(task.payload, Triples)
    count = sum(1 for _ in task.payload.rows("train"))
    assert stored(chapter)["training instances"] == count
    assert f"{count:,} of {count:,}" in text_of(chapter)


# ---- citations of citations -----------------------------------------------------------------------------------------


def test_kinds_of_links_are_those_of_the_adjacency_matrix():
    of = literature(300, 0)
    cites = np.zeros((300, 300), dtype=bool)
    for i in range(300):
        cites[i, of.cites.of(i)] = True
    beyond = cites.astype(int) @ cites.astype(int) > 0
    counted = Counter()
    for query in range(0, 300, 7):
        for candidate in range(300):
            linked = {(True, False): 0, (True, True): 1, (False, True): 2, (False, False): 3}
            kind = limits.kind_of(of, query, candidate)
            assert kind == limits.KINDS[linked[bool(cites[query, candidate]), bool(beyond[query, candidate])]]
            counted[kind] += 1
    assert min(counted[kind] for kind in limits.KINDS) > 0


def test_second_hand_citations_are_counted_and_the_printed_share_follows(chapter):
    task = load_task(limits.CITE, "embedded", 300)
    limits.second_hand(chapter, Gathered({task.name: task}, {}))
    found, said = stored(chapter), text_of(chapter)
    assert found["citations of citations among the positives, %"] == pytest.approx(34)
    shares = [found[f"positive pairs, {kind}, %"] for kind in limits.KINDS]
    assert sum(shares) == pytest.approx(100) and shares[2:] == [0, 0]  # the literature's positives are cited
    assert found[f"negative pairs, {limits.KINDS[2]}, %"] > 0
    assert "No positive here is second hand alone" in said


def test_a_positive_that_is_second_hand_is_told(chapter):
    of, task = literature(300, 0), load_task(limits.CITE, "embedded", 300)
    assert isinstance(task, Task) and isinstance(task.payload, Judged)
    query = task.payload.rows[0].query_id
    place = next(i for i in range(300) if of.paper_id(i) == query)
    far = next(i for i in range(300) if limits.kind_of(of, place, i) == limits.KINDS[2])
    changed = replace(task, payload=Judged((Qrel(query, of.paper_id(far), 1), *task.payload.rows)))
    limits.second_hand(chapter, Gathered({task.name: changed}, {}))
    assert "Not every positive here is cited by its query" in text_of(chapter)


def test_without_known_citations_the_count_is_quoted_alone(chapter):
    chapter.parameters["data"] = "real"
    limits.second_hand(chapter, Gathered({}, {}))
    assert len(stored(chapter)) == 1 and "The count is quoted" in text_of(chapter)


# ---- papers without an abstract -------------------------------------------------------------------------------------

WORDS = ["asteroids", "basalt", "cedars", "dunes", "estuaries", "ferns", "glaciers", "herons", "ibises", "junipers"]


def library() -> Iterator[Paper]:
    """Titles say one thing, abstracts another: papers 2k and 2k + 1 share an abstract, 2k + 1 and 2k + 2 a title."""
    for i in range(20):
        yield Paper(str(i), f"On {WORDS[(i + 1) // 2 % 10]}", f"We met {WORDS[i // 2]}.", venue="Notes")


ALIKE = Task(
    "scirepeval/same_author", "proximity", "PRX", ("map",),
    Judged(tuple(Qrel(str(2 * k), str((2 * k + j) % 20), int(j == 1)) for k in range(10) for j in (1, 3, 19))),
    "folder", "", texts=library,
)  # fmt: skip


def test_bare_tasks_read_titles_and_keep_what_else_is_read():
    search = TASKS["scirepeval/search"]
    fields = ("title", "abstract", "venue", "year")
    assert titles.bare(replace(ALIKE, fields=fields)).fields == ("title", "venue", "year")
    assert titles.bare(ALIKE).fields == ("title",)
    assert {TASKS[f"scirepeval/{name}"].format for name in titles.SETS} == {"CLF", "RGN", "PRX", "QRY"} and search


def test_scores_without_abstracts_are_those_of_papers_that_have_none(chapter):
    rows = {(r.encoder, r.metric): r for r in titles.measure(chapter, Gathered({ALIKE.name: ALIKE}, {}))}
    cut = replace(ALIKE, texts=lambda: (paper._replace(abstract="") for paper in library()))
    for text, task in ((titles.WITH, ALIKE), (titles.WITHOUT, cut)):
        (expected,) = [r for r in scoring.evaluate(task, tfidf_vectors(task)) if r.metric == "map"]
        assert rows[f"tfidf{text}", "map"].value == pytest.approx(expected.value)
    with_, without = (rows[f"tfidf{part}", "map"].value for part in (titles.WITH, titles.WITHOUT))
    gap = rows[f"tfidf{titles.LESS}", "difference of map"]
    assert with_ > without + 20 and gap.value == pytest.approx(without - with_) and gap.high < 0
    assert rows["", titles.HAVE].value == 100


def test_what_the_lack_of_abstracts_does_is_said_by_its_interval(chapter, monkeypatch):
    monkeypatch.setattr(titles, "kinds", lambda name, rows: [("live", rows)])
    rows = chapter.record(titles.measure(chapter, Gathered({ALIKE.name: ALIKE}, {})))
    titles.show(chapter, rows)
    assert "Live: without abstracts 2 of 2 scores are lower, 0 higher, and 0 are not told" in text_of(chapter)
    assert "PRX, map, n = 10; 100 % have an abstract" in text_of(chapter)
    turned = [replace(r, low=-1.0, high=1.0) if r.encoder == f"bm25{titles.LESS}" else r for r in rows]
    titles.show(chapter, turned)
    assert "1 of 2 scores are lower, 0 higher, and 1 are not told" in text_of(chapter)


def test_only_small_real_samples_are_scored():
    formats = {
        "sample/same_author": "PRX",
        "sample/cite_count": "RGN",
        "sample/fos": "CLF",
        "scirepeval/cite_count": "RGN",
    }
    tasks = {name: replace(ALIKE, name=name, format=form) for name, form in formats.items()}
    assert [task.name for task in titles.chosen(Gathered(tasks, {}))] == ["scirepeval/cite_count", "sample/same_author"]


def test_the_share_of_titles_is_counted_among_papers_with_both_texts(chapter):
    papers = [Paper(str(i), f"t{i}", "a" if i < 4000 else "") for i in range(5000)]
    task = Task("scirepeval/cite_prediction", "triplets", "PRX", (), Triples(lambda split: iter((Triple("1", "2", "3"),))),
                "folder", "", texts=lambda: papers)  # fmt: skip
    for part in (0.05, 0.5):
        found = titles.share(task, 0, part)
        assert found.n == 4000 and found.low < 100 * part < found.high and found.low < found.value < found.high
    assert titles.share(task, 0, 0.0).value == 0 and titles.share(task, 0, 1.0).value == 100
    assert titles.share(replace(task, texts=lambda: papers[4000:]), 0, 0.05) is None  # nothing to lose


def test_the_printed_share_is_the_default_of_our_trainings(chapter, monkeypatch):
    monkeypatch.setattr(titles, "gather", lambda chapter, names: Gathered({}, {}))
    titles.show_share(chapter)
    assert "Trainings of this book do the same (5 percent unless asked otherwise" in text_of(chapter)
    monkeypatch.setattr(titles, "DataConfig", lambda: type("D", (), {"titles_only": 0.2}))
    titles.show_share(chapter)
    assert "Trainings of this book do otherwise (20 percent" in text_of(chapter)


def test_recorded_rows_are_of_real_samples():
    from scirep_core.results import recorded

    rows = [row for row in recorded("scirepeval/baselines") if titles.WITHOUT in row.encoder]
    assert rows and {row.source for row in rows} == {"real"} and all(isinstance(row, Result) for row in rows)
    assert len({row.id for row in rows}) == len(rows)
