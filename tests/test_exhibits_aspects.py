"""Tables 5, 7 and 10 of SciRepEval: complete and as printed; what the chapters say of them follows from their numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import blank_page
import numpy as np
import pytest

from scirep_core.exhibits import scirepeval_aspects as aspects
from scirep_core.exhibits import scirepeval_kinds as kinds
from scirep_core.exhibits import scirepeval_mdcr as mdcr
from scirep_core.exhibits.counting import Gathered
from scirep_core.results import Result
from scirep_core.results.comparison import paired
from scirep_core.results.published import lookup, table


class Page(blank_page.Page):
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**{"papers": 300, "encoders": "bm25"} | parameters)


# ---- the printed tables ----------------------------------------------------------------------------------------------


def test_the_tables_are_complete():
    assert len(table("V2-T10")) == 20 * 5 * 2
    assert len(mdcr.fields()) == 19
    assert len(table("V2-T5")) == 6 * 2
    assert len(table("V2-T7")) == 6 * 3
    assert len(table("V1-T7")) == 6 * 4
    assert len(table("SR-MDCR")) == 20 * 2
    for name in ("V2-T10", "V2-T5", "V2-T7", "V1-T7", "SR-MDCR"):
        assert all(0 < printed.number < 100 for printed in table(name))
    ten = lookup("V2-T10")
    assert (ten["Geology", "SPECTER2 Adapters + MTL CTRL/MAP"].value, ten["Sociology", "BM25/R@5"].value) == (
        "34.1",
        "20.5",
    )


def test_averages_of_table_7_follow_in_the_publication_and_not_for_aspire_in_the_submission():
    v2, v1 = Page(), Page()
    aspects.sums(v2, "V2-T7")
    aspects.sums(v1, "V1-T7")
    assert "V2-T7: all 6 printed averages follow from their columns within rounding" in v2.text
    assert "4 of 6 printed averages are further from their columns than rounding explains" in v1.text
    assert "TS ASPIRE CS (-0.19)" in v1.text
    assert "SciNCL + Adapters (" not in v1.text.partition("rounding explains")[2]


# ---- ours ------------------------------------------------------------------------------------------------------------


def row(task: str, metric: str, encoder: str, value: float, split: str = "test", n: int = 20, seed: int = 0) -> Result:
    spread = (value + np.random.default_rng(seed).normal(0, 1, 1000)).astype(np.float32)
    return Result(task, split, metric, "paper", value, n, encoder, value - 2, value + 2, source="embedded", data_hash="h",
                  seed=0, replicates=spread)  # fmt: skip


def of_system(encoder: str, shift: float) -> list[Result]:
    units = {unit for columns in aspects.UNITS.values() for found in columns.values() for unit in found}
    return [row(task, metric, encoder, 50 + shift + 10 * (task == "scirepeval/same_author"), seed=i)
            for i, (task, metric) in enumerate(sorted(units))]  # fmt: skip


def test_averages_weigh_units_as_table_7_does():
    found = {(r.task, r.metric): r for r in aspects.averages(of_system("minilm", 0))}
    assert found["average/V2-T7", "In-Train"].value == 55
    assert found["average/V2-T7", "Out-of-Train"].value == 50
    assert found["average/V2-T7", "Average"].value == pytest.approx(50 + 10 / 12)
    assert found["average/V1-T7", "SciDocs"].n == 8
    assert found["average/V1-T7", "Out-of-Train"].pool == "3 of 4 units"
    assert found["average/V1-T7", "Average"].pool == "13 of 14 units"
    assert found["average/V2-T7", "Average"].pool == "12 units"
    assert found["average/V1-T7", "Average"].value == pytest.approx(50 + 10 / 13)
    whole = found["average/V2-T7", "Average"]
    assert whole.high - whole.low < 2  # of independent tasks the errors cancel
    partial = [r for r in of_system("minilm", 0) if r.task != "scirepeval/relish"]
    assert {(r.task, r.metric) for r in aspects.averages(partial)} == {
        ("average/V2-T7", "In-Train"),
        *(("average/V1-T7", c) for c in ("In-Train", "Out-of-Train", "SciDocs", "Average")),
    }  # never of a silent subset


def test_differences_are_paired_and_the_sentence_follows_their_intervals():
    one, other = (rows + aspects.averages(rows) for rows in (of_system("ts:minilm", 3), of_system("minilm", 0)))
    gaps = paired(one, other)
    assert {round(r.value, 6) for r in gaps} == {3.0}
    assert all(r.low == pytest.approx(3, abs=1e-4) for r in gaps)  # the same draws: no spread at all
    page = Page()
    aspects.verdict(page, gaps)
    assert "MiniLM, best sentence pair against MiniLM, one vector. V2: over 12 units ahead (+3.0" in page.text
    assert "ahead on 8, behind on 0, not told apart on 0 of 8 tasks. V1: over 13 of 14 units ahead" in page.text
    assert "ahead on 9, behind on 0, not told apart on 0 of 9 tasks." in page.text
    feeds = Page()
    aspects.verdict(feeds, [replace(r, low=-9.0, high=-1.0) if "feeds" in r.task else r for r in gaps])
    assert "ahead on 8, behind on 0, not told apart on 0 of 8 tasks" in feeds.text  # Feeds is none of v2's
    assert "ahead on 7, behind on 2, not told apart on 0 of 9 tasks" in feeds.text
    page = Page()
    aspects.verdict(page, [replace(r, low=-1.0) for r in gaps])
    assert "not told apart (+3.0" in page.text
    assert aspects.compared(["minilm", "ts:minilm", "ot:minilm", "tfidf"]) == [
        ("ts:minilm", "minilm"), ("ot:minilm", "minilm"), ("ot:minilm", "ts:minilm")]  # fmt: skip


def test_tables_and_figures_take_rows_of_any_kind():
    page = Page()
    rows = [r for name, shift in (("random", -20), ("minilm", 0), ("oracle", 20)) for r in of_system(name, shift)]
    rows += aspects.averages(of_system("minilm", 0))
    aspects.table7(page, "V2-T7", rows)
    aspects.draw(page, rows)
    aspects.claim(page, "V2-T7")
    aspects.facets_table(page, [])
    assert "TS ASPIRE CS" in page.text
    assert "0 to 100" in page.text
    assert "Not ahead" not in page.text
    assert "MiniLM, one vector" in page.text
    assert list(page.figures) == ["tasks-live"]
    assert "Average: SPECTER2 MTL CTRL +0.5, SPECTER2 Adapters +0.8 over OT ASPIRE CS" in page.text


def test_table_7_says_of_how_many_units_ours_are():
    v2, v1 = Page(), Page()
    rows = aspects.averages(of_system("minilm", 0))
    aspects.table7(v2, "V2-T7", rows)
    aspects.table7(v1, "V1-T7", rows)
    assert "ours: 3 of 4 units" in v1.text
    assert "our averages have 3 of 4 units (Out-of-Train) and 13 of 14 units (Average)" in v1.text
    assert " of " not in v2.text.partition("<tbody>")[0].partition("</caption>")[2]
    assert "our averages have" not in v2.text


def test_claims_of_several_vectors_name_the_cells_in_which_they_are_not_ahead():
    page = Page()
    aspects.claim(page, "V1-T7")
    assert "Not ahead: SciNCL + MTL CTRL in SciDocs (-0.2)." in page.text


def test_the_oracle_is_named_where_it_is_beaten():
    page, other = Page(), Page()
    aspects.beside_oracle(page, [*of_system("oracle", 5), *of_system("minilm", 0)])
    assert "nothing is above it on any of 10 tasks" in page.text
    rows = [replace(r, value=99.0) if r.task == "scirepeval/relish" else r for r in of_system("minilm", 0)]
    aspects.beside_oracle(other, [*of_system("oracle", 5), *rows])
    assert "here above it: MiniLM, one vector on RELISH" in other.text


def test_a_kind_without_numbers_has_no_column_and_is_named_once(monkeypatch):
    rows = aspects.averages(of_system("minilm", 0))
    page = Page()
    monkeypatch.setattr(aspects, "kept", lambda profile="embedded": [])
    aspects.table7(page, "V2-T7", rows)
    kinds.recording(page, [])
    assert ">recorded<" not in page.text
    assert page.text.count("No run of ours is recorded") == 1
    page = Page()
    monkeypatch.setattr(aspects, "kept", lambda profile="embedded": [replace(r, kind="recorded") for r in rows])
    aspects.table7(page, "V2-T7", rows)
    kinds.recording(page, aspects.kept())
    assert ">recorded<" in page.text
    assert "recorded rows of the embedded literature" in page.text
    assert "Recorded: our committed run on the embedded literature." in page.text
    assert kinds.data_of([replace(r, source="real") for r in rows]) == "real data"


def test_a_pair_of_papers_is_a_table_of_numbers_below_its_sentences(monkeypatch):
    from small_tasks import all_tasks

    task, page = all_tasks()["proximity"], Page(encoders="ot:x")
    vectors = {key: np.eye(3)[: 1 + i % 3] for i, key in enumerate(task.papers)}
    monkeypatch.setattr(aspects.pairs, "matcher_of", lambda name, papers: SimpleNamespace(vectors=vectors))
    aspects.example(page, Gathered({task.name: task}, {}))
    table = page.text.partition("<table")[2]
    assert ">A1<" in table and ">B1<" in table
    assert all(sentence not in table for sentence in re.findall("<li>(.*?)</li>", page.text))
    assert page.text.count("<ol>") == 2
