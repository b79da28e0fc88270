"""Table 2 and its kin as printed, against themselves (`scirepeval_print`)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from blank_page import Shown

from scirep_core.exhibits import scirepeval_print as printed
from scirep_core.results.published import lookup

# ---- the printed tables ----------------------------------------------------------------------------------------------


def test_tables_are_complete():
    sizes = {"V2-T2": (12, 3), "V2-T8": (8, 3), "V1-T2": (9, 4), "V1-T3": (8, 4)}
    for exhibit, (rows, columns) in sizes.items():
        assert len(printed.rows_of(exhibit)) == rows
        assert len(lookup(exhibit)) == rows * columns
    # six rows of each Table 2 are means of five runs; the single-run tables print no deviation
    for exhibit, count in (("V2-T2", 18), ("V1-T2", 24), ("V2-T8", 0), ("V1-T3", 0)):
        assert sum(bool(p.std) for p in lookup(exhibit).values()) == count
    table7 = lookup("SM-T7")
    assert len(table7) == 14 * 12 + 8 + 3


def test_the_same_models_have_the_same_numbers_in_two_tables():
    v1, v2 = lookup("V1-T2"), lookup("V2-T2")
    for row in ("SciBERT", "SPECTER", "SciNCL"):  # in-train tasks did not change between the versions
        assert v1[row, "In-Train"].value == v2[row, "In-Train"].value


def test_printed_averages_are_weighted_means_of_their_parts_within_rounding():
    off = {}
    for exhibit in printed.TABLES:
        for row in printed.rows_of(exhibit):
            gap = lookup(exhibit)[row, "Average"].number - printed.weighted(exhibit, row)
            assert abs(gap) <= 0.1 + 1e-9, (exhibit, row)
            if f"{printed.weighted(exhibit, row):.1f}" != lookup(exhibit)[row, "Average"].value:
                off[exhibit, row] = round(gap, 3)
    assert off == {
        ("V2-T2", "SciBERT"): 0.056, ("V2-T2", "SPECTER2 MTL CTRL"): 0.074, ("V2-T2", "SPECTER2 PALs"): 0.1,
        ("V1-T2", "SciBERT"): 0.057, ("V1-T3", "SciBERT + MTL CTRL"): 0.068,
        ("V1-T3", "SciBERT + Adapters + MTL CTRL"): 0.068,
    }  # fmt: skip


def test_other_weights_do_not_give_the_printed_averages():
    """20 units out of train, not 16 tasks; 10 units of SciDocs, not 6: else nearly every row would be off."""
    for exhibit, weights in (("V2-T2", (7, 16)), ("V1-T2", (7, 11, 6))):
        parts = list(printed.TABLES[exhibit])
        wrong = 0
        for row in printed.rows_of(exhibit):
            values = [lookup(exhibit)[row, part].number for part in parts]
            mean = float(np.average(values, weights=weights))
            wrong += abs(mean - lookup(exhibit)[row, "Average"].number) > 0.1
        assert wrong > 0.9 * len(printed.rows_of(exhibit))


def test_means_of_table_7_follow_from_its_parts():
    table = lookup("SM-T7")
    for model in dict.fromkeys(row for row, _ in table):
        if (model, "Average") in table:
            parts = [p.number for (row, column), p in table.items() if row == model and column != "Average"]
            assert len(parts) == 11
            assert np.mean(parts) == pytest.approx(table[model, "Average"].number, abs=0.0101)


@pytest.fixture
def chapter(tmp_path: Path) -> Shown:
    """A chapter that collects what it shows in `chapter.page`."""
    given = {
        "data": "embedded",
        "papers": 300,
        "encoders": "tfidf,bm25,minilm",
        "protocol": "paper",
        "seed": 0,
        "quick": True,
    }
    made = Shown("scirepeval/baselines", given, tmp_path)
    return made


def text_of(chapter: Shown) -> str:
    return re.sub(r"<svg.*?</svg>|<[^>]+>", "", "\n".join(chapter.page), flags=re.DOTALL)


def stored(chapter: Shown) -> list[dict]:
    return [json.loads(line) for line in (chapter.folder / "rows.jsonl").read_text().splitlines()]


def test_averages_are_checked_in_words(chapter):
    printed.check_averages(chapter)
    said = text_of(chapter)
    assert "31 of the 37 printed averages" in said
    assert "no row is further off than that" in said
    printed.check_averages(chapter, "untrained")
    printed.check_averages(chapter, "trained")
    parts = text_of(chapter).partition(said)[2]
    assert {row["n"] for row in stored(chapter) if row["task"] == "print/V1-T2"} == {28}  # units
    assert {row["n"] for row in stored(chapter) if row["task"] == "print/V2-T2"} == {27}
    assert "7 of the 9 printed averages" in parts and "24 of the 28 printed averages" in parts
    printed.tables(chapter)
    marked = sum("underlined" in p.note for exhibit in printed.TABLES for p in lookup(exhibit).values())
    assert "\n".join(chapter.page).count("<u style=") == marked == 21
    assert "<strong>" in "\n".join(chapter.page)


def test_a_wrong_average_is_a_contradiction(chapter, monkeypatch):
    changed = {
        key: p._replace(value="70.6") if key == ("SciNCL", "Average") else p for key, p in lookup("V2-T2").items()
    }
    monkeypatch.setattr(printed, "lookup", lambda exhibit: changed if exhibit == "V2-T2" else lookup(exhibit))
    printed.check_averages(chapter)
    assert "beyond that are V2-T2, SciNCL" in text_of(chapter)


def test_underlines_are_what_tukey_gives_or_within_rounding(chapter):
    columns = {(c.exhibit, c.column): c for e in ("V2-T2", "V1-T2") for c in printed.columns_tested(e)}
    assert columns["V2-T2", "Out-of-Train"].tied == {"SPECTER2 Adapters", "SPECTER2 Fusion"}
    assert columns["V1-T2", "Out-of-Train"].best == ("SciNCL + Adapters", "SciNCL + Adapters + MTL CTRL")
    assert columns["V1-T2", "Out-of-Train"].tied == {"SciNCL + Adapter Fusion"}
    differ = {key for key, c in columns.items() if c.tied != c.underlined}
    assert differ == {("V2-T2", "Average"), ("V1-T2", "Average")}
    assert not any(c.wrong for c in columns.values())
    printed.underlines(chapter)
    assert "In 5 of 7 columns the underlined rows are exactly those" in text_of(chapter)
    assert "in 2 more the difference lies within the rounding" in text_of(chapter)


def test_underlines_are_shown_and_those_of_the_best_are_not_counted(chapter):
    printed.underlines(chapter)
    said = text_of(chapter)
    assert "V1-T2: SciDocsF(5, 24) = 83SciNCL + Adapters + MTL CTRLnonenoneSciNCL + Adapters + MTL CTRL" in said
    assert "not counted: it does not differ from itself (SciNCL + Adapters + MTL CTRL in V1-T2, SciDocs)" in said


def test_claims_are_held_against_the_tables(chapter):
    verdicts = {
        (claim.exhibit, claim.about): printed.verdict(claim, printed.stated(claim), printed.differences(claim))
        for claim in printed.CLAIMS
    }
    assert verdicts == {
        ("V2-C4", "several embeddings a paper over one"): "in part: not for SPECTER2 PALs: +0.9",
        ("V2-C4", "adapters over control codes"): "in part: not for SPECTER2 PALs: -0.5",
        ("V2-C4", "adapters over control codes, out of train"):
            "in part: the most is +0.8, but not for SPECTER2 PALs: -0.5",
        ("V2-C4", "several embeddings over SciNCL, the best before"):
            "in part: not for SPECTER2 MTL CTRL: +1.6; SPECTER2 PALs: +1.1",
        ("V2-C4", "the ensemble over each of its two"): "yes",
        ("V2-C5", "Base against MTL CLS"): "yes, within a standard deviation",
        ("V2-C5", "general encoders over SciBERT"): "yes",
        ("V2-C5", "citation-trained over general encoders"): "yes",
        ("V2-C5", "the same, in-train tasks alone"):
            "in part: not for SPECTER − E5-base-v2: -1.0; SciNCL − E5-base-v2: -0.1",
        ("V1-C6", "several embeddings a paper over one"): "yes: the most is +1.5",
        ("V1-C6", "adapters over control codes"): "yes",
        ("V1-C6", "adapters over control codes, out of train"): "yes",
        ("V1-C6", "several embeddings over SciNCL, the best before"): "no: the most is +1.9",
        ("V1-C6", "the ensemble over each of its two"):
            "in part: not for SciNCL + Adapters + MTL CTRL − SciNCL + Adapters, Out-of-Train: +0.0",
    }  # fmt: skip
    printed.claims(chapter, ("V2-C5",))
    assert "Of 4 sentences 3 hold, 1 in part and 0 not." in text_of(chapter)
    assert "ensemble" not in text_of(chapter)
    printed.claims(chapter, ("V2-C4", "V1-C6"))
    said = text_of(chapter)
    assert "Of 10 sentences 4 hold, 5 in part and 1 not." in said
    assert "over 2" in said
    assert "1.4 to 2" in said
    assert "up to 0.8" in said


def test_a_claim_that_nothing_supports_is_refuted():
    claim = next(c for c in printed.CLAIMS if c.about == "adapters over control codes")
    found = dict.fromkeys(printed.differences(claim), -1.0)
    assert printed.verdict(claim, printed.stated(claim), found).startswith("no: not for SPECTER2 Adapters: -1.0")
