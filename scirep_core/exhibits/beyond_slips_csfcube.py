"""Chapter `beyond/slips`, CSFCube: what its tables, its data and its scoring script say of its text (sections 3 to 5, A to F).

    aggregate ~ (16 background + 17 method + 17 result) / 50        within half a point in 48 of 50 cells of Table 4

The collection is not in this build: what needs it is read off our recorded run on the real one, under `results/`.
"""

from __future__ import annotations

import numpy as np

from scirep_core.exhibits.beyond_slips_base import (
    ARITHMETIC,
    CLAIM,
    CODE,
    MISPRINT,
    TEXTS,
    UNSAID,
    Evidence,
    Slip,
    cells,
    counted,
    kept,
    rows,
    worked,
)
from scirep_core.results import metrics
from scirep_core.results.published import lookup

PAPER = "csfcube"
WEIGHTS = {"background": 16, "method": 17, "result": 17}
"""Queries per facet (section 3): `all` is close to their weighted mean, and exactly it up to how folds are cut."""
PRINTED_METRICS = ("ndcg%20", "ndcg%100", "r_precision_published", "p@20", "r@20")
FACETS = tuple(WEIGHTS)
FAR = 2.0
"""Points between an aggregate and its facets; the other 48 cells keep within 1."""
EXAMPLE = (3, 0, 2, 0, 1)
"""A ranking, by its ratings."""


def gap(row: str, metric: str) -> float:
    """Return a printed aggregate minus the mean of its facets, weighted by their queries."""
    printed = lookup("CS-T4")
    parts = sum(WEIGHTS[f] * printed[row, f"{f}/{metric}"].number for f in FACETS) / sum(WEIGHTS.values())
    return printed[row, f"all/{metric}"].number - parts


def wanted(row: str, facet: str, metric: str) -> float:
    """Return what a facet's number would have to be for the printed aggregate to be the mean of the facets."""
    return lookup("CS-T4")[row, f"{facet}/{metric}"].number + gap(row, metric) * sum(WEIGHTS.values()) / WEIGHTS[facet]


def _misfit(row: str, facet: str) -> Evidence:
    printed = cells("CS-T4", cell=(row, f"{facet}/r@20"), whole=(row, "all/r@20"))
    numbers = [printed["whole"], *(lookup("CS-T4")[row, f"{f}/r@20"] for f in FACETS)]
    made = worked("CS-T4", f"{facet} R@20 of {row} from its aggregate", wanted(row, facet, "r@20"), numbers)
    return Evidence(abs(gap(row, "r@20")) > FAR, printed, {"wanted": made})


def _digit() -> Evidence:
    return _misfit("SentBERT-NLI", "method")


def _background() -> Evidence:
    return _misfit("SuSimCSE-BERT", "background")


def _lead(one: str, other: str, place: str) -> dict[str, float]:
    printed = lookup("CS-T4")
    return {m: printed[one, f"{place}/{m}"].number - printed[other, f"{place}/{m}"].number for m in PRINTED_METRICS}


def _bm25() -> Evidence:
    column = "all/r_precision_published"
    printed = cells("CS-T4", bm25=("fabs_bm25", column), tfidf=("fabs_tfidf", column))
    return Evidence(_lead("fabs_bm25", "fabs_tfidf", "all")["r_precision_published"] < 0, printed)


def _in_domain() -> Evidence:
    behind = [m for m, lead in _lead("SPECTER-ID", "SPECTER", "background").items() if lead < 0]
    printed = cells("CS-T4", own=("SPECTER-ID", "background/r@20"), other=("SPECTER", "background/r@20"))
    numbers = [lookup("CS-T4")[row, f"background/{m}"] for row in ("SPECTER-ID", "SPECTER") for m in PRINTED_METRICS]
    count = worked(
        "CS-T4", "metrics with SPECTER-ID behind SPECTER on background", len(behind), numbers, len(PRINTED_METRICS)
    )
    return Evidence(len(behind) > len(PRINTED_METRICS) / 2, printed, {"behind": count})


def _terms() -> Evidence:
    behind = {
        row: [m for m, lead in _lead(row, "fabs_bm25", "all").items() if lead < 0]
        for row in ("SentBERT-PP", "SentBERT-NLI")
    }
    printed = cells("CS-T4", bm25=("fabs_bm25", "all/r@20"), paraphrase=("SentBERT-PP", "all/r@20"))
    numbers = [lookup("CS-T4")[row, f"all/{m}"] for row in (*behind, "fabs_bm25") for m in PRINTED_METRICS]
    made = {
        name: worked("CS-T4", f"metrics with {row} behind fabs_bm25", len(behind[row]), numbers, len(PRINTED_METRICS))
        for name, row in (("pp", "SentBERT-PP"), ("nli", "SentBERT-NLI"))
    }
    return Evidence(all(behind.values()), printed, made)


def _easiest() -> Evidence:
    printed = lookup("CS-T4")
    off = [
        row for row in rows("CS-T4")
        if printed[row, "result/r@20"].number > printed[row, "background/r@20"].number and row != "SuSimCSE-BERT"
    ]  # fmt: skip
    shown = cells("CS-T4", easy=("SPECTER-ID", "background/r@20"), middle=("SPECTER-ID", "result/r@20"))
    count = worked("CS-T4", "systems whose R@20 is highest on result", len(off), printed.values(), len(rows("CS-T4")))
    return Evidence(bool(off), shown, {"off": count})


def _poor() -> Evidence:
    printed, systems = lookup("CS-T4"), rows("CS-T4")
    places = [
        1 + sum(printed[other, f"all/{m}"].number > printed["SPECTER", f"all/{m}"].number for other in systems)
        for m in PRINTED_METRICS
    ]
    made = {
        "place": worked(
            "CS-T4", "worst place of SPECTER in the aggregates", max(places), printed.values(), len(systems)
        ),
        "systems": worked("CS-T4", "systems", len(systems), printed.values(), len(systems)),
    }
    return Evidence(max(places) <= 2, cells("CS-T4", specter=("SPECTER", "all/ndcg%20")), made)


def _queries() -> Evidence:
    printed = cells("CS-T1", pairs=("Query abstract-facet pairs", "all"), papers=("Unique query abstracts", "all"))
    printed |= cells("CS-C4", twice=("papers with two facets", "all"))
    adds = printed["papers"].number + printed["twice"].number == printed["pairs"].number
    return Evidence(adds and printed["papers"].number != printed["pairs"].number, printed)


def _mean() -> Evidence:
    printed = cells("CS-T1", mean=("Candidates rated +2/+3 per query", "avg"))
    found = kept("csfcube/collection", "csfcube/all", "Candidates rated +2/+3 per query (avg)")
    others = [
        p.equals(kept("csfcube/collection", "csfcube/all", f"{row} ({column})").value)
        for (row, column), p in lookup("CS-T1").items() if p != printed["mean"]
    ]  # fmt: skip
    made = {
        "found": found,
        "right": worked("CS-T1", "cells that follow from the ratings", sum(others), lookup("CS-T1").values()),
    }
    off = not printed["mean"].equals(found.value) and not printed["mean"].cuts(found.value)
    return Evidence(off and all(others), printed, made)


def _cut() -> Evidence:
    printed = cells("CS-T2", rho=("background", "pre/spearman"))
    found = kept("csfcube/agreement", "csfcube/background", "pre/spearman")
    others = [
        p.equals(kept("csfcube/agreement", f"csfcube/{row}", column).value)
        for (row, column), p in lookup("CS-T2").items() if p != printed["rho"]
    ]  # fmt: skip
    made = {"found": found, "right": worked("CS-T2", "cells that are rounded", sum(others), lookup("CS-T2").values())}
    return Evidence(printed["rho"].cuts(found.value) and all(others), printed, made)


def _cited() -> Evidence:
    printed = {facet: lookup("CS-C1")["cited rated 0 or 1", facet] for facet in FACETS}
    made = {f"own_{facet}": kept("csfcube/collection", f"csfcube/{facet}", "cited rated 0 or 1") for facet in FACETS}
    return Evidence(all(printed[f].cuts(made[f"own_{f}"].value) for f in FACETS), printed, made)


def _year() -> Evidence:
    printed = cells("CS-C4", first=("first year", "all"))
    found = kept("csfcube/collection", "csfcube/all", "first year")
    return Evidence(found.value != printed["first"].number, printed, {"found": found})


def _scale() -> Evidence:
    found = kept("csfcube/agreement", "csfcube/all", "pairs with a raw rating of -1")
    return Evidence(found.value > 0, {}, {"found": found})


def _r_precision() -> Evidence:
    printed = cells("CS-T4", bm25=("fabs_bm25", "all/r_precision_published"))
    script, standard = (
        kept("csfcube/baselines", "csfcube/all", m, "fabs_bm25", split="test")
        for m in ("r_precision_published", "r_precision")
    )
    ratings = np.array(EXAMPLE)
    made = {
        "script": script, "standard": standard,
        "one": counted("R-Precision of ratings 3 0 2 0 1, script", 100 * metrics.r_precision_published(ratings)),
        "other": counted("R-Precision of ratings 3 0 2 0 1, standard", 100 * metrics.r_precision(ratings)),
    }  # fmt: skip
    fits = printed["bm25"].equals(script.value) and not printed["bm25"].equals(standard.value)
    return Evidence(fits and made["one"].value != made["other"].value, printed, made)


def _discount() -> Evidence:
    ratings = np.array((0, 3, 1, 2))
    usual = ratings / np.log2(np.arange(len(ratings)) + 2)
    ideal = np.sort(ratings)[::-1] / np.log2(np.arange(len(ratings)) + 2)
    made = {
        "script": counted(
            "NDCG of ratings 0 3 1 2, ranks 1 and 2 undiscounted", 100 * metrics.ndcg(ratings, len(ratings))
        ),
        "usual": counted("NDCG of ratings 0 3 1 2, discount log2(rank + 1)", 100 * float(usual.sum() / ideal.sum())),
    }
    printed = cells("CS-T4", bm25=("fabs_bm25", "all/ndcg%20"))
    script = kept("csfcube/baselines", "csfcube/all", "ndcg%20", "fabs_bm25", split="test")
    return Evidence(
        printed["bm25"].equals(script.value) and made["script"].value - made["usual"].value > 1, printed, made
    )


def _folds() -> Evidence:
    printed = cells("CS-T4", p=("fabs_bm25", "method/p@20"))
    folds, queries = (
        kept("csfcube/baselines", "csfcube/method", "p@20", "fabs_bm25", protocol, "test")
        for protocol in ("paper", "sound")
    )
    return Evidence(
        printed["p"].equals(folds.value) and not printed["p"].equals(queries.value),
        printed,
        {"folds": folds, "queries": queries},
    )


def _pools() -> Evidence:
    row = kept("csfcube/baselines", "csfcube/all", "ndcg%20", "specter_pools", split="test")
    printed = cells("CS-T1", pairs=("Query-candidate pairs", "all")) | cells(
        "CS-T4", specter=("SPECTER", "all/ndcg%20")
    )
    ranked = round((row.coverage or 0.0) * printed["pairs"].number)
    made = {"ranked": worked("CS-T1", "pairs in the released SPECTER rankings", ranked, [printed["pairs"]]), "row": row}
    return Evidence(printed["specter"].equals(row.value) and ranked < printed["pairs"].number, printed, made)


SLIPS = (
    Slip("cs-digit-lost", PAPER, "Tables 3 and 4", MISPRINT,
         "R@20 of SentBERT-NLI on method is {cell}.",
         "Its aggregate, {whole}, asks for about {wanted:1}: the digits 2, 8 and 9 are there, moved by one place.",
         "No: no sentence rests on the cell.", _digit),
    Slip("cs-background-recall", PAPER, "Tables 3 and 4", MISPRINT,
         "R@20 of SuSimCSE-BERT on background is {cell}.",
         "Its aggregate, {whole}, asks for about {wanted:1}.",
         "Little: as printed the cell is above SentBERT-PP’s, by its own aggregate it is the lowest but two.", _background),
    Slip("cs-bm25-tfidf", PAPER, "Section 5, reusability", CLAIM,
         "fabs_bm25 is said to do better than fabs_tfidf.",
         "In R-Precision it is behind, {bm25} against {tfidf} aggregated; ahead in the four other metrics.",
         "No: the argument, that a system outside the pools can win, stands on the others.", _bm25),
    Slip("cs-specter-id", PAPER, "Section 5, reusability", CLAIM,
         "SPECTER-ID is said to do better than SPECTER.",
         "True of all five aggregates; on the background facet SPECTER is ahead in {behind} of 5 metrics, R@20 {other} against "
         "{own}.",
         "In part: training in the domain costs something on background.", _in_domain),
    Slip("cs-plm-terms", PAPER, "Section 5, overall results", CLAIM,
         "SPECTER-ID and the SentBERT models are said to be broadly stronger than term baselines.",
         "Aggregated, fabs_bm25 is ahead of SentBERT-PP in {pp} and of SentBERT-NLI in {nli} of 5 metrics; R@20 {bm25} against "
         "{paraphrase}.",
         "Yes, for SentBERT: the order depends on the metric. True of SPECTER-ID in all aggregates.", _terms),
    Slip("cs-easiest-facet", PAPER, "Section 5, overall results", CLAIM,
         "All methods are said to be strongest on background, with result in the middle.",
         "By R@20 {off} systems are strongest on result, SPECTER-ID among them with {middle} against {easy}. It holds in the "
         "four other metrics, and method is the hardest facet in all five.",
         "In part: recall at 20 depends on how many relevant papers there are.", _easiest),
    Slip("cs-specter-poor", PAPER, "Section 5, overall results", CLAIM,
         "SimCSE and SPECTER are singled out for poor overall performance.",
         "SPECTER is in place {place} of {systems} in all five aggregates (NDCG%20 {specter}); only SPECTER-ID is ahead of it.",
         "In part: what is said of SimCSE is right, and the room above SPECTER is real.", _poor),
    Slip("cs-fifty-documents", PAPER, "Abstract, Table 1", TEXTS,
         "The abstract counts 50 diverse query documents; Table 1 {pairs} pairs of abstract and facet.",
         "There are {papers} documents: {twice} of them are asked twice, under two facets.",
         "For intervals: two queries on one paper are not independent.", _queries),
    Slip("cs-mean-relevant", PAPER, "Table 1", ARITHMETIC,
         "{mean} candidates a query are rated 2 or 3 on average.",
         "The released ratings give {found:2}, which is neither rounded nor cut to that. The {right} other cells of the table "
         "are right.",
         "No.", _mean),
    Slip("cs-cut-rho", PAPER, "Table 2", ARITHMETIC,
         "Spearman’s ρ before adjudication on background is {rho}.",
         "The released ratings give {found:4}: the digits are cut. The {right} other cells are rounded.",
         "No.", _cut),
    Slip("cs-cut-cited", PAPER, "Appendix D", ARITHMETIC,
         "{background}, {method} and {result} % of cited candidates are rated 0 or 1.",
         "The released ratings give {own_background:1}, {own_method:1} and {own_result:1} %: all three are cut, not rounded.",
         "No; the point is a little stronger than printed.", _cited),
    Slip("cs-first-year", PAPER, "Section 3", CODE,
         "Queries are said to range from {first:y} on.",
         "The earliest query of the released file is of {found:y}.",
         "No.", _year),
    Slip("cs-scale", PAPER, "Section 4", CODE,
         "Ratings are on a scale from 0 to 3.",
         "{found:0} pairs of the released raw ratings have -1, of which the text says nothing. Table 2 comes out with 0 in "
         "their place.",
         "No: they are few.", _scale),
    Slip("cs-r-precision", PAPER, "Section 5, Tables 3 and 4", CODE,
         "R-Precision is reported, for fabs_bm25 {bm25}.",
         "The published script divides the number of relevant papers by the rank of the last of them: {script:2} on the "
         "collection, where precision at rank R is {standard:2}. On ratings 3 0 2 0 1 it gives {one:1}, the standard {other:1}.",
         "Yes, for comparison with other collections; within the tables all systems are measured alike.", _r_precision),
    Slip("cs-ndcg-form", PAPER, "Section 5", UNSAID,
         "NDCG is named with a citation, without its gain and discount.",
         "The printed {bm25} of fabs_bm25 needs a linear gain with ranks 1 and 2 both undiscounted. On ratings 0 3 1 2 that "
         "form gives {script:1}, the discount by log2(rank + 1) {usual:1}.",
         "Yes, for anyone who scores with another tool.", _discount),
    Slip("cs-fold-means", PAPER, "Tables 3 and 4", UNSAID,
         "Numbers are called averages over queries under two-fold cross-validation.",
         "They are means of two fold means: P@20 of fabs_bm25 on method, printed {p}, is {folds:2} that way and {queries:2} "
         "over the 17 queries. What a baseline without parameters does with the folds is not said.",
         "No: a tenth of a point or two.", _folds),
    Slip("cs-pools", PAPER, "Tables 3 and 4", UNSAID,
         "All rows are of one collection of {pairs} pairs.",
         "The released SPECTER rankings reproduce the printed {specter} ({row:2}) and hold {ranked} pairs: one paper is left "
         "out of its own pool, twice. The term baselines reproduce with all pairs.",
         "No: two pairs, both rated 3.", _pools),
)  # fmt: skip
