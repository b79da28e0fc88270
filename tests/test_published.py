"""The papers' tables as data: complete, numeric, the same in both of CSFCube's tables, and consistent but for known misprints."""

from __future__ import annotations

import pytest

from scirep_core.kit.errors import ConfigError
from scirep_core.results import Result
from scirep_core.results.published import everything, lookup, table

PRINTED_METRICS = ("ndcg%20", "ndcg%100", "r_precision_published", "p@20", "r@20")
WEIGHTS = {"background": 16, "method": 17, "result": 17}
"""Queries per facet (section 3)."""


def test_tables_3_and_4_are_complete_and_agree():
    three, four = lookup("CS-T3"), lookup("CS-T4")
    systems = list(dict.fromkeys(row for row, _ in four))
    assert len(systems) == 10
    assert len(four) == 10 * 4 * 5
    # Table 3 prints the same figures without NDCG%100; its SPECTER-ID row is lost in the text for result and aggregate
    assert len(three) == 10 * 4 * 4 - 8
    assert all(three[cell].value == four[cell].value for cell in three)


def test_aggregates_fit_their_facets_but_for_the_two_named_misprints():
    printed = lookup("CS-T4")
    total = sum(WEIGHTS.values())
    off = set()
    for row in dict.fromkeys(name for name, _ in printed):
        for metric in PRINTED_METRICS:
            mean = sum(WEIGHTS[f] * printed[row, f"{f}/{metric}"].number for f in WEIGHTS) / total
            if abs(printed[row, f"all/{metric}"].number - mean) > 2:
                off.add((row, metric))
    assert off == {("SentBERT-NLI", "r@20"), ("SuSimCSE-BERT", "r@20")}
    assert "misprint" in printed["SentBERT-NLI", "method/r@20"].note
    assert printed["SuSimCSE-BERT", "background/r@20"].note


def test_ids_are_unique_and_numbers_parse():
    ids = [printed.id for printed in everything()]
    assert len(ids) == len(set(ids))
    for printed in table("CS-T2"):
        assert 0 <= printed.number <= 100


def test_unknown_exhibit_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'CS-T3'"):
        table("CST3")


def test_rounded_and_cut_are_told_apart():
    def row(value):
        return Result("t", "test", "m", "paper", value, 1)

    printed = lookup("CS-T2")["background", "pre/spearman"]  # 0.45
    assert printed.equals(row(0.4549).value)
    assert not printed.equals(row(0.4553).value)
    assert printed.cuts(row(0.4553).value)
    assert not printed.cuts(row(0.4603).value)
    assert not printed.cuts(row(0.4501).value)
