"""Chapter beyond/slips: every item's check finds it, would not find it in a corrected table, and is worded with care."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scirep_core.data import perturbations
from scirep_core.data.perturbations import changes
from scirep_core.evaluators import neighbourhoods
from scirep_core.evaluators.probes import paper_probes
from scirep_core.kit.errors import ConfigError
from scirep_core.page import slip_codes, slip_rules
from scirep_core.page import slips as on_page
from scirep_core.page.blocks import fold
from scirep_core.page.chapter import Chapter
from scirep_core.page.slips import RULES
from scirep_core.results import Result, published, slips
from scirep_core.results.published import Printed, lookup
from scirep_core.results.slips import KINDS, PAPERS, Evidence, Slip, cells, make, number

SLIPS, RIGHT, KNOWN = slips.register()
BY_ID = {slip.id: slip for slip in SLIPS}
METRICS = ("ndcg%20", "ndcg%100", "r_precision_published", "p@20", "r@20")
SETS = tuple(dict.fromkeys(row for row, _ in lookup("TN-T3")))
Place = tuple[str, str, str]
Change = Mapping[Place, str]


@pytest.fixture()
def corrected(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    """Print other values in the papers' tables."""
    real = published.table

    def correct(change: Change) -> None:
        unknown = {p for p in change if (p[1], p[2]) not in {(q.row, q.column) for q in real(p[0])}}
        assert not unknown

        def table(exhibit: str) -> tuple[Printed, ...]:
            return tuple(p._replace(value=change.get((exhibit, p.row, p.column), p.value)) for p in real(exhibit))

        monkeypatch.setattr(published, "table", table)

    return correct


def check(item: Slip) -> Evidence:
    return item.check(RULES, 0)


# ---- the register ----------------------------------------------------------------------------------------------------

EVERY = (*SLIPS, *RIGHT)
BLAME = ("Mysore|O.Gorman|McCallum|Zamani|Singh|Arcy|Cohan|Downey|Feldman|Zhang|Cheng|Shen|Liu|Wang|Gao|Han|Medić|Timkey|"
         "the authors|careless|sloppy|wrongly|mistake|blunder|unfortunately|obviously|clearly")  # fmt: skip
MADE: dict[str, float] = {}
"""The rows of one build by id: each has one value."""


def test_forty_items_or_more_of_five_papers_four_of_each_and_every_kind() -> None:
    assert len(SLIPS) >= 40
    assert len(BY_ID) == len(SLIPS) and not BY_ID.keys() & {one.id for one in RIGHT}
    count = Counter(slip.paper for slip in SLIPS)
    assert count.keys() == PAPERS.keys() and min(count.values()) >= 4
    assert {slip.kind for slip in SLIPS} == set(KINDS)
    assert {one.paper for one in RIGHT} == {one.paper for one in KNOWN} == PAPERS.keys()
    assert all(one.source for one in KNOWN)


@pytest.mark.parametrize("item", EVERY, ids=lambda item: item.id)
def test_check_holds_and_shows_exactly_the_numbers_of_its_evidence(item: Slip) -> None:
    found = check(item)
    assert found.holds is True
    named = {name for text in (item.says, item.shows, item.matters) for name in on_page.fields(text)}
    assert named == found.printed.keys() | found.made.keys()
    assert not found.printed.keys() & found.made.keys()
    for printed in found.printed.values():
        assert lookup(printed.exhibit)[printed.row, printed.column] == printed
    for row in found.made.values():
        assert MADE.setdefault(row.id, row.value) == row.value, row.id


def test_a_slip_weighs_what_its_comment_begins_with() -> None:
    assert {slip.weight for slip in SLIPS} == {"yes", "in part", "no"}
    for matters, said in (("Perhaps.", r"Perhaps.*Yes, In part, No"), ("Nobody minds.", "begins with none")):
        with pytest.raises(ConfigError, match=said):
            _ = replace(SLIPS[0], matters=matters).weight


def test_wording_names_nobody_and_shouts_at_nobody() -> None:
    for slip in SLIPS:
        text = f"{slip.says} {slip.shows} {slip.matters}"
        assert not re.search(rf"\b(?:{BLAME})\b", text, re.IGNORECASE), slip.id
        assert "—" not in text and text.count(". ") <= 8
        assert all(part.endswith(".") for part in (slip.matters, slip.says, slip.shows))


# ---- the general checks ----------------------------------------------------------------------------------------------

A, B = [3.0, 1.0, 2.0, 5.0], [1.0, 1.0, 4.0, 2.0]
BY_HAND = {
    "sum": 11, "product": 30, "mean": 2.75, "lowest": 1, "highest": 5, "cells": 4, "rises": 2, "difference": 3, "ratio": 11 / 8,
    "mean ratio": 1.75, "median ratio": 1.75, "lowest ratio": 0.5, "highest ratio": 3, "above": 2, "below": 1, "not above": 2,
    "not below": 3, "equal": 1, "differ": 3, "apart": 7, "least gap": -2, "largest gap": 3,
}  # fmt: skip


def value(by: str, **how: object) -> float:
    return number(make({"by": by, **how}))


@pytest.mark.parametrize("by", slips.CHECKS)
def test_a_check_by_hand_and_it_moves_with_its_numbers(by: str) -> None:
    sides = {"a": A} if by in ("sum", "product", "mean", "lowest", "highest", "cells", "rises") else {"a": A, "b": B}
    assert value(by, **sides) == pytest.approx(BY_HAND[by])
    others = ([9.0, 1.0, 2.0, 5.0], [0.1, 0.2, 0.3, 0.4], [1.0, 1.0, 4.0, 2.0, 7.0])
    moved = [value(by, **{**sides, "a": other[: len(A) + (len(sides) == 1)]}) for other in others]
    assert any(other != value(by, **sides) for other in moved)
    if "b" in sides:  # one number stands for all
        assert value(by, a=A, b=2) == value(by, a=A, b=[2] * (1 if by in ("difference", "ratio") else 4))


def test_means_of_parts_and_what_a_part_would_have_to_be() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        parts, weights = rng.integers(0, 100, (3, 5)).astype(float), rng.integers(1, 9, 3)
        means = weights @ parts / weights.sum()
        how = {"parts": parts.tolist(), "weights": weights.tolist(), "slack": 0.1}
        for gap in (0.0, 0.3):
            means[2] += gap
            off, right, worst = (
                value(by, a=means.tolist(), **how) for by in ("means off", "means right", "worst mean")
            )
            assert (off, right, worst) == (gap > 0, 5 - (gap > 0), pytest.approx(gap, abs=1e-9))
        column = [*parts[:, 0]]
        found = value("part", a=[means[0]], b=[column[0], 999.0, column[2]], weights=weights.tolist(), which=1)
        assert found == pytest.approx(column[1])
    turned = {"parts": [[1.0, 2.0, 3.0]], "weights": [1]}
    assert [value("turned", a=a, **turned) for a in ([1, 2, 3], [1, 3, 2], [3, 2, 1])] == [0, 1, 3]


def test_rivals_places_and_texts_follow_the_print(corrected: Callable[[Change], None]) -> None:
    cells = {"a": "CS-T4 | SPECTER-ID | all/*", "b": "CS-T4 | * | all/*"}
    lists = {"a": "TN-T1 | * | category"}

    def values() -> list[float]:
        rivals = [value(by, **cells, along="column") for by in ("above all", "below all", "none above")]
        return [*rivals, value("worst place", **cells), *(value(by, text=text, **lists)
                for by, text in (("printed as", "LO-PS"), ("holding", "LO")))]  # fmt: skip

    before = values()
    assert before[:4] == [5, 0, 5, 1]
    corrected({("CS-T4", "SPECTER-ID", "all/p@20"): "0.01", ("CS-T4", "SPECTER", "all/ndcg%20"): "57.22",
               ("TN-T1", "T_ADelDT", "category"): "LO-PS"})  # fmt: skip
    assert values() == [3, 1, 4, 10, before[4] + 1, before[5]]
    recorded = {"a": "CS-T2 | * | *", "chapter": "csfcube/agreement", "task": "csfcube/{row}", "metric": "{column}"}
    assert value("as recorded", **recorded) == 23


def test_every_check_relation_and_rule_is_used() -> None:
    others = {"part", "worst place", "printed as", "holding", "as recorded", "recorded"}
    made = [how for item in EVERY for how in item.made.values()]
    assert {how["by"] for how in made} == {*slips.CHECKS, *slips.MEANS, *slips.RIVALS, *others}
    assert {how["along"] for how in made if "along" in how} == set(slips.ALONG)
    assert {relation.split(" ")[-2] for item in EVERY for relation in item.holds} == set(slips.RELATIONS)
    assert {item.rule for item in EVERY} - {""} == set(RULES)


@pytest.mark.parametrize(("relation", "true"), [
    ("rho cuts found", True), ("rho rounds found", False), ("rho not rounds found", True), ("rho > 0.44", True),
    ("rho > 0.45", False),
    ("rho >= 0.45", True), ("rho < 0.45", False), ("rho <= 0.45", True), ("rho == 0.45", True), ("rho != 0.45", False),
    ("size within hub", True), ("rho within hub", False), ("text is nDCG", True), ("text is ndcg", False), ("text has DC", True),
    ("text not has DC", False),
])  # fmt: skip
def test_relations(relation: str, true: bool) -> None:
    values = {name: Printed("p", "e", "r", "c", text, "", "") for name, text in
              {"rho": "0.45", "hub": "58.3k", "size": "58255", "text": "nDCG"}.items()}  # fmt: skip
    assert slips._holds(relation, {**values, "found": 0.45532994}) is true


@pytest.mark.parametrize(("item", "text"), [
    ({"made": {"x": {"by": "abve", "a": [1], "b": [2]}}}, "did you mean 'above'"),
    ({"made": {"x": {"by": "sum", "a": "cel"}}, "printed": {"cell": "CS-T4 | SPECTER | all/p@20"}}, "did you mean 'cell'"),
    ({"printed": {"cell": "CS-T4 | SPECTER | all/*"}}, "is 5 printed numbers, not one"),
    ({"printed": {"cell": "CS-T4 | SPECTRE | all/p@20"}}, "is 0 printed numbers, not one"),
    ({"holds": ["x above y"]}, "is no relation"),
    ({"made": {"x": {"by": "recorded", "chapter": "csfcube/errors", "task": "t", "metric": "m"}}}, "record the chapter again"),
])  # fmt: skip
def test_a_wrong_entry_is_named(item: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        check(Slip("an-id", "csfcube", "Table 1", "it shows", **item))  # type: ignore[arg-type]


# ---- every check can fail --------------------------------------------------------------------------------------------

TITLE = "title"
SHARES = {"CLF": 2, "RGN": 2, "PRX": 2, "SRCH": 1}
"""Tasks of a format in training, of seven."""
CORRECT: dict[str, Change] = {
    "cs-digit-lost": {("CS-T4", "SentBERT-NLI", "method/r@20"): "28.98"},
    "cs-background-recall": {("CS-T4", "SuSimCSE-BERT", "background/r@20"): "35.78"},
    "cs-bm25-tfidf": {("CS-T4", "fabs_bm25", "all/r_precision_published"): "14.60"},
    "cs-specter-id": {("CS-T4", "SPECTER-ID", "background/r@20"): "57.46"},
    "cs-plm-terms": {("CS-T4", row, f"all/{m}"): "99.00" for row in ("SentBERT-PP", "SentBERT-NLI")
                     for m in METRICS},
    "cs-easiest-facet": {("CS-T4", row, "result/r@20"): "20.00" for row in ("SPECTER-ID", "SentBERT-NLI", "UnSimCSE-BERT")},
    "cs-specter-poor": {("CS-T4", "SPECTER", f"all/{m}"): "1.00" for m in METRICS},
    "cs-mean-relevant": {("CS-T1", "Candidates rated +2/+3 per query", "avg"): "9.9"},
    "cs-cut-rho": {("CS-T2", "background", "pre/spearman"): "0.46"},
    "cs-cut-cited": {("CS-C1", "cited rated 0 or 1", "background"): "80"},
    "cs-first-year": {("CS-C4", "first year", "all"): "1996"},
    "cs-fifty-documents": {("CS-T1", "Unique query abstracts", "all"): "50"},
    "cs-r-precision": {("CS-T4", "fabs_bm25", "all/r_precision_published"): "23.18"},
    "cs-fold-means": {("CS-T4", "fabs_bm25", "method/p@20"): "11.76"},
    "v1-search-cell": {("V1-T9", "CLF+PRX", "In-Train/SRCH"): "72.1"},
    "v1-influential": {("V1-T1", "Highly Influential Citations", "pairs"): "58255"},
    "v1-ablation": {("V1-T3", "SciBERT + MTL CTRL", "In-Train"): "61.9"},
    "v1-abstract-points": {("V1-C6", "over existing single embeddings", "points, up to"): "1.9"},
    "v1-consistently": {("V1-T2", "SciNCL + Adapters + MTL CTRL", "Out-of-Train"): "59.2"},
    "v1-aspire-averages": {("V1-T7", row, "Average"): value for row, value in (
        ("TS ASPIRE CS", "80.1"), ("TS ASPIRE Bio", "80.0"), ("OT ASPIRE CS", "80.0"), ("OT ASPIRE Bio", "79.8"))},
    "v1-random-negatives": {("V1-T1", row, "pairs"): "25000" for row in ("Co-view", "Co-read", "Cite", "Co-cite")},
    "v1-clf-rgn": {("V1-T9", "CLF+RGN", "Out-of-Train/RGN"): "21.5"},
    "v1-times-more": {("V1-C5", "SciRepEval against SPECTER triplets", "documents per domain, times"): "21"},
    "v1-fusion-time": {("V1-T5", "Adapter Fusion", "Inference Time"): "2x"},
    "v2-s2and": {("V2-T1", "S2AND", "clusters"): "10942", ("V2-T1", "S2AND", "signatures"): "68968"},
    "v2-scidocs-rows": {("V2-T1", "SciDocs MAG", "test"): "25003", ("V2-T1", "SciDocs MeSH Diseases", "test"): "23540"},
    "v2-ndgc": {("V2-T1", "Search", "metric"): "nDCG"},
    "v2-all-approaches": {("V2-T2", "SPECTER2 PALs", "Average"): "70.4"},
    "v2-adapters-overall": {("V2-T2", "SPECTER2 PALs", "Average"): "70.6"},
    "v2-two-points": {("V2-T2", "SPECTER2 MTL CTRL", "Average"): "70.9"},
    "v2-mdcr-base": {("V2-T5", "SPECTER2 Base", "MAP"): "33.0"},
    "v2-mdcr-domains": {("V2-T10", field, "BM25/MAP"): "40.0" for field in ("Business", "Psychology")},
    "v2-objective": {("V2-C3", "SciBERT + MTL CTRL", "Out-of-Train"): "72.6"},
    "v2-boost": {("V2-T11", "PRX+SRCH", column): "90.0" for column in ("In-Train/PRX", "In-Train/SRCH", "Out-of-Train/PRX")},
    "v2-regression": {("V2-T11", "RGN+SRCH", "Out-of-Train/SRCH"): "80.0"},
    "v2-counted-twice": {("V2-T2", row, "Average"): f"{(7 * inside.number + 16 * outside.number) / 23:.1f}"
                         for (row, column), inside in lookup("V2-T2").items() if column == "In-Train"
                         for outside in [lookup("V2-T2")[row, "Out-of-Train"]]},
    "v2-uncut": {("V2-T1", "TREC-CoVID", "metric"): "nDCG@10"},
    "v2-fusion-best": {("V2-T2", "SPECTER2 Fusion", "Out-of-Train"): "74.0"},
    "v2-diagonal": {("V2-T3", "out-of-train/Proximity", "PRX"): "45.3"},
    "v2-in-train-column": {
        ("V2-T11", p.row, "In-Train/Avg"):
            f"{sum(n * lookup('V2-T11')[p.row, f'In-Train/{name}'].number for name, n in SHARES.items()) / 7:.1f}"
        for p in cells("V2-T11 | !appendix* | In-Train/Avg")},
    "v2-partitions": {("V2-C1", "formats over random partitions", "points, over"): "2.6"},
    "v2-geology": {("V2-T10", field, "SPECTER2 Adapters + MTL CTRL/MAP"): "30.0" for field in ("Geology", "History")},
    "v2-ten-times": {("V2-C7", "SPECTER2 Base", "times the data of SPECTER"): "8"},
    "v2-fields": {("V2-C7", "SPECTER2 Base", "fields of study"): "19"},
    "v2-reviewers": {("V2-T1", "Paper-Reviewer Matching", "pairs"): "1853"},
    "v2-released": {("V2-T1", *place): value for place, value in (
        (("h-Index of Authors", "test"), "10900"), (("Fields of study (FoS)", "test"), "472"),
        (("Search", "train queries"), "478000"),
        (("SciDocs MAG", "test"), "21300"), (("SciDocs MeSH Diseases", "test"), "20000"))},
    "tn-categories": {("TN-T1", "T_ARot", "category"): "LL-DS"},
    "tn-normalised": {("TN-T9", row, column): lookup("TN-T3")[row, column.replace("L2/", "Task I/")].value
                      for row, column in lookup("TN-T9") if column.startswith("L2/")},
    "tn-task-two": {("TN-T3", name, "Task II/OAG-BERT/T100"): "20.0" for name in SETS},
    "tn-rank-five": {("TN-T3", "Arxiv-QBIO", "Task I/OAG-BERT/T100"): "99.0"},
    "tn-increasing": {("TN-T5", "Threshold", "LL-HS"): "> 15"},
    "tn-higher-is-better": {("TN-T5", "Threshold", "LL-PS"): "50 < AOP-20 < 90"},
    "tn-adjectives-row": {("TN-T7", "T_ADelADJ", "abstract"): "embeddings are in NLP . We introduce a representation "
                          "for computer programs based on language models . We train embeddings using pytorch ."},
    "tn-nouns-row": {("TN-T7", "T_ADelNonNNs", "abstract"): "embeddings NLP representation computer programs language models "
                     "embeddings pytorch"},
    "tn-models-row": {("TN-T7", "TNNU_A", TITLE): "SOURCE CODE EMBEDDINGS from LANGUAGE MODELS"},
    "tn-unchanged-rows": {("TN-T7", "TDelDT_A", TITLE): "-"},
    "tn-letters": {("TN-T7", "T_A_DelNNChar", TITLE): "Soe Cod Emddings from Lguage dels"},
    "tn-one-noun": {("TN-T7", "TRepNNA_A", TITLE): "Source Code Embeddings from Language Models embeddings"},
    "tn-half-spaces": {("TN-T7", "T_A_WS", "title and abstract"): "__".join(
        f"{slip_codes.TITLE}. {slip_codes.ABSTRACT}".split())},
    "tn-ninety": {("TN-T1", "T_ADelDT", "category"): "LO-PS"},
    "tn-phrases": {("TN-T1", "T_ADelTopNNPH", "category"): "LO-DS"},
    "tn-only-nouns": {("TN-T1", "T_ADelNonNNs", "category"): "LO-PS"},
    "tn-irrespective": {("TN-T4", name, "LO-DS/SPECTER"): "75.0" for name in SETS},
    "tn-top-two": {("TN-T3", name, "Task I/SPECTER/T100"): "99.5" for name in SETS},
    "tn-thirty": {("TN-T7", "T_ADelRand", "abstract"): "Contextual are common in . introduce a representation computer based on "
                  "language models . We train deep robust using ."},
    "sm-a4": {("SM-TA4", "Classification (Coarse)", "Vanilla (w/ Hard Negative)"): "75.54",
              ("SM-TA5", "Classification (Coarse)", "MHAExpert (w/ Warm-up)"): "76.31"},
    "sm-hard-all": {("SM-TA4", "Classification (Coarse)", "Vanilla (w/o Hard Negative)"): "75.00"},
    "sm-all-tasks": {(table, "SciMult-MHAExpert", p.column): "99.00" for table in ("SM-T7", "SM-T8")
                     for p in published.table(table) if p.row == "SciMult-MHAExpert"},
    "sm-names-carry": {("SM-TA3", "BioLinkBERT", "Geography/R@20"): "40.00"},
    "sm-coarse-labels": {("SM-TA1", "MAPLE (Coarse)", "#Positive (Query, Candidate) Pairs"): "950000"},
    "sm-decimals": {("SM-T7", "SciNCL", "Average"): "91.5"},
    "sm-generations": {("V1-T2", "SPECTER", "SciDocs"): "88.7", ("V1-T2", "SciBERT", "SciDocs"): "64.5"},
    "sm-one-hard": {("SM-C7", "Citation Prediction Triplets", "negatives that are hard, %"): "100"},
    "sm-coarse-left-out": {("SM-T2", "Classification", "Pre-training"): "MAPLE {CS-Journal, Biology-MeSH, Medicine-MeSH, Coarse}"},
}  # fmt: skip
"""What would have to be printed, for the item not to be one."""
OTHERWISE = {
    "v2-bold": "bold", "sm-stages": "stages", "v2-unshuffled": "drawn", "v2-k-shot": "drawn", "cs-scale": "value",
    "tn-white-space-code": "codes", "tn-random-code": "codes", "tn-own-vector": "same overlaps",
    "cs-ndcg-form": "discount", "cs-pools": "coverage",
}  # fmt: skip
"""Items of which another code, recording or list of numbers would be right -> which of `INSTEAD`."""
WRONG: dict[str, Change] = {
    "cs-aggregates": {("CS-T4", "SPECTER", "all/p@20"): "1.00"},
    "cs-tables": {("CS-T3", "fabs_tfidf", "background/p@20"): "27.20"},
    "v1-adapter-gains": {("V1-C6", "adapter variants over MTL CTRL", "out-of-train, least"): "0.7"},
    "v1-averages": {("V1-T2", "SciNCL", "Average"): "69.3"},
    "v1-own-code": {("V1-T4", "in-train/Classification", "RGN"): "38.8"},
    "v2-averages": {("V2-T2", "MPNet", "Average"): "65.6"},
    "v2-underlines": {("V2-T2", "SPECTER2 Adapters", "Average"): "69.0"},
    "v2-ratios": {("V2-T9", "Art", "Increase Ratio (A/B)"): "1"},
    "v2-domains": {("V2-T10", "Avg", "BM25/MAP"): "34.0"},
    "tn-specter-first": {("TN-T3", "ICLR", "Task I/SciBERT/T100"): "100"},
    "tn-mrr-fits": {("TN-T9", "Arxiv-MATH", "L2/SciBERT/MRR"): "0.5"},
    "tn-oag-lowest": {("TN-T4", "ACL-ANTH", "LO-HS/SciBERT"): "4.0"},
    "tn-codes": {("TN-T1", "T_ARot", "abstract"): "Preserve"},
    "sm-averages": {("SM-T8", "BM25", "Average"): "56.56"},
    "sm-changes": {("SM-T9", "Search", "Prefix"): "-1.26"},
    "sm-almost-all": {("SM-T5", "SciMult-Prefix", f"Cite/R@{k}"): "1.00" for k in (20, 50)},
    "sm-most-cases": {("SM-T7", f"SciMult-{name}", f"{of}/{m}"): "1.00" for name in ("Vanilla", "MHAExpert", "FFNExpert")
                      for of in ("Cite", "Co-cite") for m in ("MAP", "nDCG")},
    "sm-linear": {("SM-T4", "SciNCL", "MeSH Diseases/Linear"): "89.7"},
    "sm-cross-domain": {("SM-T8", "SciMult-Instruction", "NFCorpus/nDCG@10"): "29.99"},
    "sm-always": {("SM-T3", "SciMult-Vanilla", "Average"): "56.33"},
}  # fmt: skip
"""What would have to be printed, for an item of what is right to be wrong."""


def test_every_item_has_a_print_that_its_check_answers_otherwise() -> None:
    assert {*CORRECT, *OTHERWISE} == BY_ID.keys()
    assert WRONG.keys() == {one.id for one in RIGHT}


@pytest.mark.parametrize("item", [one for one in EVERY if one.id not in OTHERWISE], ids=lambda item: item.id)
def test_another_print_is_answered_otherwise(item: Slip, corrected: Callable[[Change], None]) -> None:
    corrected((CORRECT | WRONG)[item.id])
    assert check(item).holds is False


def bold(exhibit: str) -> tuple[Printed, ...]:
    """A table in which the highest number of a row under each foot is in bold."""
    top: dict[tuple[str, str], float] = {}
    for p in TABLE(exhibit):
        place = p.row, p.column.rpartition("/")[2]
        top[place] = max(top.get(place, 0.0), p.number)
    notes = (p.number == top[p.row, p.column.rpartition("/")[2]] for p in TABLE(exhibit))
    return tuple(p._replace(note="printed in bold" * best) for p, best in zip(TABLE(exhibit), notes, strict=True))


def stages(exhibit: str) -> tuple[Printed, ...]:
    stage = TABLE("SM-C8")[0]._replace(column="epochs of the first stage")
    return (*TABLE(exhibit), *([stage] if exhibit == "SM-C8" else []))


def drawn(y: np.ndarray, setting: object, seed: int, said: object) -> Iterator[np.ndarray]:
    """Sixteen of each of two classes, five times."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        yield np.concatenate([rng.choice(np.flatnonzero(y == label), 16, replace=False) for label in (0, 1)])


def same_overlaps(*given: object) -> object:
    return {k: one._replace(without_self=one.with_self) for k, one in OVERLAPS(*given).items()}  # type: ignore[arg-type]


def usual(ratings: np.ndarray, k: int) -> float:
    weights = 1 / np.log2(np.arange(len(ratings)) + 2)
    return float((ratings * weights).sum() / (np.sort(ratings)[::-1] * weights).sum())


TABLE, OVERLAPS, RECORDED = published.table, neighbourhoods.overlaps, slips.recorded
INSTEAD: dict[str, tuple[object, str, object]] = {
    "bold": (published, "table", bold),
    "stages": (published, "table", stages),
    "drawn": (paper_probes, "shots", drawn),
    "codes": (perturbations, "LITERAL", {"T_A_WS": changes.widen, "T_ADelRand": changes.delete_random}),
    "same overlaps": (neighbourhoods, "overlaps", same_overlaps),
    "value": (slips, "recorded", lambda name: [replace(row, value=0.0) for row in RECORDED(name)]),
    "coverage": (slips, "recorded", lambda name: [replace(row, coverage=1.0) for row in RECORDED(name)]),
    "discount": (slip_rules.metrics, "ndcg", usual),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_the_text_says_is_no_slip(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*INSTEAD[OTHERWISE[name]])
    assert check(BY_ID[name]).holds is False


# ---- the page --------------------------------------------------------------------------------------------------------


@pytest.fixture()
def chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Chapter, list[str]]]:
    shown: list[str] = []
    monkeypatch.setattr(Chapter, "show", lambda self, *parts: shown.extend(parts))
    yield Chapter("beyond/slips", {"seed": 3}, tmp_path), shown


def text_of(shown: list[str]) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", " ".join(shown))))


def test_a_card_circles_what_the_numbers_say_and_is_gone_with_its_slip(
    chapter: tuple[Chapter, list[str]], corrected: Callable[[Change], None]
) -> None:
    page, shown = chapter
    slip, columns = BY_ID["cs-bm25-tfidf"], {"one": "CS-T4 | fabs_tfidf; fabs_bm25 | all/r_precision_published"}

    def circled() -> int:
        shown.clear()
        found = on_page.check(page, [slip], 3)
        on_page.card(page, slip, found, "{bm25} < x", columns, lambda row: ["one"] if row["one"] < 14 else [])
        return " ".join(shown).count("circled")

    assert circled() == 1 and f'id="slip-{slip.id}"' in shown[0]
    assert "In R-Precision it is behind, 13.50 against 14.59 aggregated" in text_of(shown)
    own = {row: ("CS-T4", row, "all/r_precision_published") for row in ("fabs_bm25", "fabs_tfidf")}
    corrected({own["fabs_bm25"]: "13.40", own["fabs_tfidf"]: "13.90"})
    assert circled() == 2
    corrected(CORRECT[slip.id])
    assert circled() == 0 and shown == []


def test_every_slip_can_be_searched_and_links_its_numbers(chapter: tuple[Chapter, list[str]]) -> None:
    page, shown = chapter
    found = on_page.check(page, SLIPS, 3)
    table = on_page.searchable(page, SLIPS, found)
    assert all(f'id="slip-{slip.id}"' in table for slip in SLIPS) and table.count("<tr data-paper=") == len(SLIPS)
    assert "{" not in text_of([table]) and "nan" not in text_of([table])
    page.finish()
    drawn = [row for row in page.shown.values() if isinstance(row, Result) and row.kind == "live"]
    assert {row.seed for row in drawn if row.seed is not None} == {3}
    assert "50 < AOP-20 < 70" in text_of(shown)


@pytest.mark.site
def test_slips_are_searched_and_filtered_and_a_link_opens_the_fold(
    chapter: tuple[Chapter, list[str]], tmp_path: Path
) -> None:
    import chromium

    page, _ = chapter
    static = published.FOLDER.parents[2] / "book" / "_static"
    body = fold("all", on_page.searchable(page, SLIPS, on_page.check(page, SLIPS, 0)))
    path = tmp_path / "slips.html"
    head = f'<head><meta charset="utf-8"><script>{(static / "coverage.js").read_text()}</script></head>'
    path.write_text(f'<!DOCTYPE html><html lang="en">{head}<body><section>{body}</section></body></html>')
    with chromium.browser() as started, chromium.tab(started, path.as_uri()) as tab:
        assert tab.open("#slip-tn-letters") == []
        browser, rows = tab.page, "[...document.querySelectorAll('tbody tr')]"

        def seen() -> int:
            return browser.evaluate(f"{rows}.filter((row) => row.checkVisibility()).length")

        assert seen() == len(SLIPS) and browser.inner_text("form output") == f"{len(SLIPS)} of {len(SLIPS)} slips"
        browser.locator("select[name=paper]").select_option("scimult")
        assert seen() == sum(slip.paper == "scimult" for slip in SLIPS)
        browser.locator("select[name=kind]").select_option(label="not stated")
        assert seen() == sum(slip.paper == "scimult" and slip.kind == "not stated" for slip in SLIPS)
        browser.get_by_label("Search").fill("no such word")
        assert seen() == 0 and browser.get_by_label("Search").is_visible()  # the box is not hidden with its rows
        browser.get_by_role("button", name="Show all").click()
        assert seen() == len(SLIPS) and tab.problems == []
